"""The static site: the page and packed vocabularies, for any file host, or all of it in one HTML file. It needs no server."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ..errors import UsageError
from ..jobs.outputs import atomic_files, atomic_folder, make_folder, open_output, refuse_existing, refuse_folder
from ..quality.page import allowed
from .pack import Shown, pack, split_tables
from .server import page_files, site_files

_MARK = '"made_by":"tokenmill play"'


def export(tokenizers: Sequence[Shown], folder: str | os.PathLike[str], *, overwrite: bool = False) -> dict[str, int]:
    """Write the playground with `tokenizers` as a static site that encodes in the browser. Return the size of each file.

    folder: the folder of a site for any web server, since browsers do not run such pages from files. With `overwrite` it
        replaces an earlier export, nothing else. A name that ends in .html is one file, which browsers open without a server.
    """
    if not tokenizers:
        raise UsageError("a static site needs at least one tokenizer, because it cannot open files without a server")
    target = Path(folder)
    packs = [(each[0], pack(*each)) for each in tokenizers]
    splits = split_tables([vocabulary for _, vocabulary, *_ in tokenizers])
    if target.suffix == ".html":
        refuse_existing(folder, overwrite=overwrite)
        page = _one_file(packs, splits)
        atomic_files({target: page}, overwrite=overwrite)
        return {target.name: len(page)}
    is_own = partial(_is_own, target)
    refuse_folder(folder, is_own, overwrite=overwrite)
    tables = {"names": splits[0], "source": "packs/splits.tmpack"}
    files = {**site_files(packs, made_by="tokenmill play", splits=tables), "packs/splits.tmpack": splits[1]}
    with atomic_folder(folder, is_own, overwrite=overwrite) as beside:
        make_folder(beside / "packs")
        for name, content in files.items():
            with open_output(beside / name) as file:
                file.write(content)
    return {name: len(content) for name, content in files.items()}


def _one_file(packs: Sequence[tuple[str, bytes]], splits: tuple[list[str], bytes]) -> bytes:
    """Return the page as one HTML file that contains the styles, scripts and packed tokenizers. Its policy lists their hashes."""
    files = {name: content.decode() for name, content in page_files().items()}
    listing = [{"name": name, "pack": base64.b64encode(packed).decode()} for name, packed in packs]
    tables = {"names": splits[0], "source": base64.b64encode(splits[1]).decode()}
    data = {"catalog": {"version": 1, "tokenizers": listing, "splits": tables}, "worker": files["worker.js"]}
    embedded = json.dumps(data).replace("<", "\\u003c")
    page, style, script = files["index.html"], files["style.css"], files["app.js"]
    scripts = f'<script type="application/json" id="embedded">{embedded}</script>\n<script>{script}</script>\n'
    for old, new in (
        ("script-src 'self'", f"script-src {allowed(script)}"),
        ("style-src 'self'", f"style-src {allowed(style)}"),
        ("img-src 'self'; connect-src 'self'; worker-src 'self'", "worker-src blob:"),
        ('<link rel="icon" href="icon.svg">\n', ""),
        ('<link rel="stylesheet" href="style.css">', f"<style>{style}</style>"),
        ('<script src="file.js"></script>\n<script defer src="app.js"></script>\n', ""),
        ("</body>", f"{scripts}</body>"),
    ):
        page = page.replace(old, new, 1)
    return page.encode()


def _is_own(target: Path, path: Path) -> bool:
    """Return whether `path` is a file or folder of the export in the folder `target`."""
    catalog = target / "catalog.json"
    is_known = path.name in {catalog.name, "packs", *page_files()}
    return is_known and catalog.is_file() and _MARK in catalog.read_text("utf-8", errors="replace")
