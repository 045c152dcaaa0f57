"""Tokenizers by their name on the Hugging Face hub: "org/name" or "org/name@revision".

They are looked for in the hub's cache on this machine (HF_HUB_CACHE, else hub in HF_HOME, else ~/.cache/huggingface/hub), which has
    models--org--name/refs/main                 the commit of a branch or a tag
    models--org--name/snapshots/<commit>/...    the files
Without a revision it is `main`. huggingface_hub downloads, and only where the caller allows it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from ..errors import InputError, require

_NAME = re.compile(r"([A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(?:@([A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)*))?")
_COMMIT = re.compile("[0-9a-f]{40}")
# What may hold a tokenizer, or says more about it.
FILES = ("*.json", "*.model", "*.txt", "*.tiktoken", "*.jinja", "events.txt")

_ADVICE = {  # by the exceptions of huggingface_hub
    "GatedRepoError": "Accept the licence on the model's page on the hub, and run `hf auth login` once.",
    "RepositoryNotFoundError": "Check the name. If the repository is private, run `hf auth login` once.",
}


def hub_name(path: str | os.PathLike) -> tuple[str, str] | None:
    """The repository on the hub and the revision that `path` may name, or None.

    >>> hub_name("org/name@v1.0"), hub_name("/org/name")
    (('org/name', 'v1.0'), None)
    """
    found = _NAME.fullmatch(os.fspath(path))
    return (found[1], found[2] or "main") if found else None


def cache_folder() -> Path:
    if own := os.environ.get("HF_HUB_CACHE"):
        return Path(own)
    if home := os.environ.get("HF_HOME"):
        return Path(home) / "hub"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "huggingface" / "hub"


def cached(repository: str, revision: str) -> Path | None:
    """The folder of a revision in the cache; its name is the commit. None if it is not there."""
    folder = cache_folder() / f"models--{repository.replace('/', '--')}"
    ref = folder / "refs" / revision
    commit = ref.read_text().strip() if ref.is_file() else revision
    found = folder / "snapshots" / commit
    return found if _COMMIT.fullmatch(commit) and found.is_dir() else None


def download(repository: str, revision: str) -> Path:
    """Download the tokenizer files of a repository into the cache. The folder of the revision."""
    hub: Any = require("huggingface_hub", "hub", f"downloading {repository}")
    try:
        return Path(hub.snapshot_download(repository, revision=revision, allow_patterns=list(FILES)))
    except Exception as error:  # of the network, of the hub, of its cache: many classes, whose common base is Exception
        reason = " ".join(str(error).split()).rstrip(".")
        advice = _ADVICE.get(
            type(error).__name__, "Check the name, the revision, the network, and whether the repository needs a token."
        )
        raise InputError(f"cannot download {repository} at {revision}: {reason}. {advice}") from error
