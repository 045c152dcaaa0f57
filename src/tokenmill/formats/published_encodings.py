"""Tokenizers by name: the published encodings, and repositories on the Hugging Face hub. Both are read from caches.

A published encoding has the SHA-256 of its files, a split pattern and special tokens. Its files are in tiktoken's cache folder
(TIKTOKEN_CACHE_DIR, else DATA_GYM_CACHE_DIR, else data-gym-cache in the folder for temporary files; a file is named by the SHA-1
of its address) or in ours (TOKENMILL_CACHE, else tokenmill in the user's cache folder; none if the variable is empty). They are
downloaded only if the caller allows it, and used only if their hash is right.

A name on the hub is "org/name" or "org/name@revision"; the default revision is `main`. Its files are in the hub's cache on this
machine (HF_HUB_CACHE, else hub in HF_HOME, else ~/.cache/huggingface/hub):
    models--org--name/refs/main                 the commit of a branch or a tag
    models--org--name/snapshots/<commit>/...    the files
huggingface_hub downloads them, only if the caller allows it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import FormatError, InputError, OptionName, OutputError, require
from ..split.patterns import PATTERNS
from ..vocabulary import AddedToken, Normalization, Vocabulary
from ..vocabulary.vocabulary import packed_vocabulary

_HOST = "https://openaipublic.blob.core.windows.net/"
_TIMEOUT = 60  # seconds without a response
_MOST_BYTES = 1 << 26  # of a published file
_HUB_NAME = re.compile(r"([A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(?:@([A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)*))?")
_COMMIT = re.compile("[0-9a-f]{40}")
# Files of a tokenizer and its settings.
FILES = ("*.json", "*.model", "*.txt", "*.tiktoken", "*.jinja", "events.txt")
_ADVICE = {  # by the exceptions of huggingface_hub
    "GatedRepoError": "Accept the licence on the model's page on the hub, and run `hf auth login` once.",
    "RepositoryNotFoundError": "Check the name. If the repository is private, run `hf auth login` once.",
}


class Published(NamedTuple):
    """A published encoding: its files (address below the host -> SHA-256), split pattern, special tokens by text.

    empty: the id of an empty token at the end of the file, to which no text is encoded.
    """

    files: dict[str, str]
    split: str
    special_tokens: Callable[[], dict[str, int]] = dict
    normalizers: tuple[str, ...] = ()
    empty: int | None = None


_R50K = {"encodings/r50k_base.tiktoken": "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"}
_P50K = {"encodings/p50k_base.tiktoken": "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069"}
_CL100K = {"encodings/cl100k_base.tiktoken": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"}
_O200K = {"encodings/o200k_base.tiktoken": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"}
_GPT2 = {
    "gpt-2/encodings/main/encoder.json": "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
    "gpt-2/encodings/main/vocab.bpe": "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
}


def _end() -> dict[str, int]:
    return {"<|endoftext|>": 50256}


def _fill_in_the_middle(first: int) -> dict[str, int]:
    return {f"<|fim_{name}|>": id for id, name in enumerate(("prefix", "middle", "suffix"), first)}


def _harmony() -> dict[str, int]:
    """The id 200018 has two names; it is decoded as the last one, <|endofprompt|>, as tiktoken does."""
    names = {
        199998: "startoftext", 199999: "endoftext", 200002: "return", 200003: "constrain", 200005: "channel",
        200006: "start", 200007: "end", 200008: "message", 200012: "call", 200018: "endofprompt",
    }  # fmt: skip
    ids = {f"<|{names.get(id, f'reserved_{id}')}|>": id for id in range(199998, 201088)}
    return {"<|reserved_200018|>": 200018, **ids}


def _llama3() -> dict[str, int]:
    names = {0: "begin_of_text", 1: "end_of_text", 6: "start_header_id", 7: "end_header_id", 9: "eot_id"}
    reserved = iter(range(256))
    return {
        f"<|{names[n] if n in names else f'reserved_special_token_{next(reserved)}'}|>": 128000 + n for n in range(256)
    }


def _llama4() -> dict[str, int]:
    def reserved(kind: str, numbers: range) -> list[str]:
        return [f"{kind}reserved_special_token_{n}" for n in numbers]

    names = [
        "begin_of_text", "end_of_text", "fim_prefix", "fim_middle", "fim_suffix", "header_start", "header_end", "eom",
        "eot", "step", *reserved("text_post_train_", range(6)), "python_start", "python_end", "finetune_right_pad",
        *reserved("text_post_train_", range(8, 69)), "image_start", "image_end", *reserved("vision_", range(2)),
        "tile_x_separator", "tile_y_separator", *reserved("vision_", range(2, 6)), "image",
        *reserved("vision_", range(6, 7)), "patch", *reserved("vision_", range(7, 1048)), *reserved("reasoning_", range(8)),
        "reasoning_thinking_start", "reasoning_thinking_end",
    ]  # fmt: skip
    names += reserved("", range(2048 - len(names)))
    return {f"<|{name}|>": id for id, name in enumerate(names, 200000)}


def _qwen() -> dict[str, int]:
    names = ["endoftext", "im_start", "im_end", *(f"extra_{n}" for n in range(205))]
    return {f"<|{name}|>": id for id, name in enumerate(names, 151643)}


# Of two encodings with the same file, a file with that hash is read as the first.
PUBLISHED = {
    "gpt2": Published(_GPT2, "gpt2", _end),
    "r50k_base": Published(_R50K, "gpt2", _end),
    "p50k_base": Published(_P50K, "gpt2", _end),
    "p50k_edit": Published(_P50K, "gpt2", lambda: _end() | _fill_in_the_middle(50281)),
    "cl100k_base": Published(
        _CL100K, "cl100k", lambda: {"<|endoftext|>": 100257, **_fill_in_the_middle(100258), "<|endofprompt|>": 100276}
    ),
    "o200k_base": Published(_O200K, "o200k", lambda: {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}),
    "o200k_harmony": Published(_O200K, "o200k", _harmony),
}

# Files of ranks of published models, recognized by their hash. They have no name here, and are not downloaded.
RANK_FILES = {
    "82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55": Published({}, "llama3", _llama3),
    "d0bdbaf59b0762c8c807617e2d8ea51420eb1b1de266df2495be755c8e0ed6ed": Published({}, "o200k", _llama4),
    "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186": Published({}, "qwen2", _qwen, ("NFC",)),
    # Whisper. How many languages its special tokens name, from 50257 on, is not in the file: give them by special_tokens.
    "b34b360dbb493e781e479794586d661700670d65564001f23024971d1f2fa126": Published({}, "gpt2", empty=50256),
    # Kimi K2. The names of its special tokens, from 163584 on, are not in the file: give them by special_tokens.
    "b6c497a7469b33ced9c38afb1ad6e47f03f5e5dc05f15930799210ec050c5103": Published({}, "kimi-k2"),
}


def known_by_hash(data: bytes) -> Published | None:
    """Return the published encoding of a file with this content; None for other files."""
    digest = hashlib.sha256(data).hexdigest()
    named = (known for known in PUBLISHED.values() if digest in known.files.values())
    return RANK_FILES.get(digest) or next(named, None)


def published_vocabulary(known: Published, contents: list[bytes], file: str) -> Vocabulary:
    """Return the vocabulary of a published encoding, from the content of its files."""
    from .merges_txt import parse_pair  # late: to find a file, nothing is parsed
    from .rank_files import parse_tiktoken

    added = tuple(AddedToken(content, id) for content, id in known.special_tokens().items())
    if len(contents) == 2:
        packed = parse_pair(contents[0], contents[1], file, file, added).packed
    else:
        packed = parse_tiktoken(contents[0].removesuffix(f"= {known.empty}\n".encode()), file)
    empty = () if known.empty is None else ((known.empty, b""),)
    return packed_vocabulary(
        packed,
        split_patterns=(PATTERNS[known.split],),
        added_tokens=added,
        normalization=Normalization(known.normalizers),
        decode_only=empty,
    )


def published_file(name: str, file: str, digest: str, download: bool) -> bytes:
    """Return a file of the published encoding `name`, from tiktoken's cache folder or ours, or downloaded if `download`."""
    url = _HOST + file
    theirs = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if theirs is None:
        import tempfile  # late: most tokenizers are files

        theirs = os.path.join(tempfile.gettempdir(), "data-gym-cache")
    ours = os.environ.get("TOKENMILL_CACHE")
    if ours is None:
        user = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        ours = os.path.join(user, "tokenmill") if os.path.isabs(user) else ""
    paths = [Path(theirs, hashlib.sha1(url.encode()).hexdigest())] if theirs else []
    paths += [Path(ours, file.replace("/", "_"))] if ours else []
    damaged = []
    for path in paths:
        if (data := _cached(path)) is not None:
            if hashlib.sha256(data).hexdigest() == digest:
                return data
            damaged.append(path)
    if not download:
        looked = ", ".join(map(str, paths))
        wrong = f" ({', '.join(map(str, damaged))} is there, but damaged: its hash is wrong)" if damaged else ""
        raise InputError(
            f"the published encoding {name!r} is not on this machine: looked for {looked}{wrong}. Allow the download with ",
            OptionName("download", True),
            f", or put {url} there.",
        )
    data = _download(url)
    if hashlib.sha256(data).hexdigest() != digest:
        raise FormatError(
            f"{url}: the download is not the published file: its SHA-256 is not {digest}. Try again, or use another network."
        )
    if ours:
        from ..jobs.outputs import atomic_file  # late: files on this machine need none

        with contextlib.suppress(OutputError), atomic_file(paths[-1]) as output:
            output.write(data)
    return data


def _cached(path: Path) -> bytes | None:
    """Return the content of a file in a cache folder, or None. Others may write there: no link is followed, no device is read."""
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags)
    except OSError:
        return None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):  # a folder cannot even be opened as a file of Python
        os.close(descriptor)
        return None
    with open(descriptor, "rb") as file:
        return file.read(_MOST_BYTES)


def _download(url: str) -> bytes:
    import urllib.error  # late: it takes longer to import than the rest of the package
    import urllib.request

    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT) as answer:
            return answer.read(_MOST_BYTES)
    except (urllib.error.URLError, OSError) as error:
        raise InputError(
            f"cannot download {url}: {getattr(error, 'reason', error)}. Check the network, or fetch the file elsewhere and load it by path."
        ) from error


def hub_name(path: str | os.PathLike) -> tuple[str, str] | None:
    """Return the repository on the hub and the revision that `path` may name, or None.

    >>> hub_name("org/name@v1.0"), hub_name("/org/name")
    (('org/name', 'v1.0'), None)
    """
    match = _HUB_NAME.fullmatch(os.fspath(path))
    return (match[1], match[2] or "main") if match else None


def cache_folder() -> Path:
    if own := os.environ.get("HF_HUB_CACHE"):
        return Path(own)
    if home := os.environ.get("HF_HOME"):
        return Path(home) / "hub"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "huggingface" / "hub"


def cached_repository(repository: str, revision: str) -> Path | None:
    """Return the folder of a revision in the cache, named by its commit; None if it does not exist."""
    folder = cache_folder() / f"models--{repository.replace('/', '--')}"
    ref = folder / "refs" / revision
    commit = ref.read_text().strip() if ref.is_file() else revision
    snapshot = folder / "snapshots" / commit
    return snapshot if _COMMIT.fullmatch(commit) and snapshot.is_dir() else None


def download_repository(repository: str, revision: str) -> Path:
    """Download the tokenizer files of a repository into the cache. Return the folder of the revision."""
    hub: Any = require("huggingface_hub", "hub", f"downloading {repository}")
    try:
        return Path(hub.snapshot_download(repository, revision=revision, allow_patterns=list(FILES)))
    except Exception as error:  # of the network, the hub, its cache: many classes, whose common base is Exception
        reason = " ".join(str(error).split()).rstrip(".")
        advice = _ADVICE.get(
            type(error).__name__, "Check the name, the revision, the network, and whether the repository needs a token."
        )
        raise InputError(f"cannot download {repository} at {revision}: {reason}. {advice}") from error
