"""The static site: the page and packed vocabularies, for any file host. It needs no server."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from ..errors import UsageError
from ..jobs.outputs import atomic_folder, make_folder, open_output, refuse_folder
from ..vocabulary import Vocabulary
from .pack import TokenCounts, pack
from .server import catalog, page_files

_MARK = '"made_by":"tokenmill play"'


def export(
    tokenizers: Sequence[tuple[str, Vocabulary]],
    folder: str | os.PathLike[str],
    counts: Mapping[str, TokenCounts] | None = None,
    *,
    sources: Mapping[str, str] | None = None,
    overwrite: bool = False,
) -> dict[str, int]:
    """Write the playground with `tokenizers` (names and vocabularies) as a static site. Returns the sizes of the files.

    The site encodes in the browser, with the same ids as the library, and loads only its own files. It needs any web
    server, because browsers do not run such pages from files. A
    folder that holds anything but an earlier export is refused.
    overwrite: replace an earlier export. Without it that is an OutputError.
    counts: for some of the names, how often each token is used.
    sources: for some of the names, the file or folder that it was read from.
    """
    if not tokenizers:
        raise UsageError("a static site needs at least one tokenizer, because it cannot open files without a server")
    target = Path(folder)
    is_own = partial(_is_own, target)
    refuse_folder(folder, is_own, overwrite=overwrite)
    files = page_files()
    for i, (name, vocabulary) in enumerate(tokenizers):
        files[f"packs/{i}.tmpack"] = pack(vocabulary, name, (counts or {}).get(name), (sources or {}).get(name, ""))
    listing = {"made_by": "tokenmill play", **catalog([name for name, _ in tokenizers])}
    files["catalog.json"] = json.dumps(listing, ensure_ascii=False, separators=(",", ":")).encode()
    with atomic_folder(folder, is_own) as beside:
        make_folder(beside / "packs")
        for name, content in files.items():
            with open_output(beside / name) as file:
                file.write(content)
    return {name: len(content) for name, content in files.items()}


def _is_own(target: Path, path: Path) -> bool:
    """Return whether `path`, in the folder `target`, is a part of an export."""
    mark = target / "catalog.json"
    ours = {"catalog.json", "packs", *(name.split("/")[0] for name in page_files())}
    return path.name in ours and mark.is_file() and _MARK in mark.read_text("utf-8", errors="replace")
