"""Text that anyone can get, from the wheels of two packages.

- *en*: the documentation of botocore's service models, without markup. Each paragraph occurs once.
- *multi*: the translated messages of Django, one a line. Each occurs once in a language.
- *code*: the Python sources of Django.

pip downloads the wheels, whose versions are fixed, so everyone has the same bytes. TOKENMILL_BENCH_CACHE is the folder for them.
"""

from __future__ import annotations

import gzip
import html
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from .harness import CACHE

WHEELS = {"botocore": "1.40.0", "django": "5.2"}
SOURCES = {"en": "botocore", "multi": "django", "code": "django"}


def wheel(package: str) -> zipfile.ZipFile:
    folder = CACHE / "wheels"
    start = f"{package}-{WHEELS[package]}-"

    def found() -> list[Path]:
        return [path for path in folder.glob("*.whl") if path.name.lower().startswith(start)]

    if not found():
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        subprocess.run([*pip, "--dest", str(folder), f"{package}=={WHEELS[package]}"], check=True)
    return zipfile.ZipFile(found()[0])


def documentation(model: object) -> Iterator[str]:
    """The texts of a service model, without markup."""
    if isinstance(model, dict):
        for key, value in model.items():
            if key == "documentation" and isinstance(value, str):
                yield from (html.unescape(re.sub(r"<[^>]+>", "", part)) for part in re.split(r"</?p>|\n", value))
            else:
                yield from documentation(value)
    elif isinstance(model, list):
        for value in model:
            yield from documentation(value)


def paragraphs(package: zipfile.ZipFile) -> Iterator[str]:
    for name in sorted(package.namelist()):
        if name.endswith("service-2.json.gz"):
            yield from documentation(json.loads(gzip.decompress(package.read(name))))


def messages(package: zipfile.ZipFile) -> Iterator[str]:
    for name in sorted(package.namelist()):
        if name.endswith(".po") and "/locale/en/" not in name:
            text = package.read(name).decode()
            for found in re.findall(r'^msgstr(?:\[\d\])? ((?:"(?:[^"\\]|\\.)*"\n)+)', text, re.MULTILINE):
                yield "".join(json.loads(line) for line in found.splitlines()).replace("\n", " ")


def sources(package: zipfile.ZipFile) -> Iterator[str]:
    yield from (package.read(name).decode() for name in sorted(package.namelist()) if name.endswith(".py"))


def once(texts: Iterable[str]) -> Iterator[str]:
    """The texts without those that were seen before, and without short ones."""
    seen: set[str] = set()
    for text in map(str.strip, texts):
        if len(text) > 20 and text not in seen:
            seen.add(text)
            yield text


def public_file(name: str, limit: int | None = None) -> Path:
    """The corpus `name` (en, multi, code), or the first `limit` bytes of it: made once, in the cache."""
    path = CACHE / (f"public-{name}.txt" if limit is None else f"public-{name}-{limit}.txt")
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        if limit is None:
            with wheel(SOURCES[name]) as package:
                found = {"en": paragraphs, "multi": messages, "code": sources}[name](package)
                text = "".join(found) if name == "code" else "".join(f"{each}\n" for each in once(found))
            path.write_text(text, encoding="utf-8", newline="")
        else:
            data = public_file(name).read_bytes()[:limit]
            path.write_bytes(data[: data.rfind(b"\n") + 1])
    return path
