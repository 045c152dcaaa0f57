"""Make src/tokenmill/quality/assets/references.json: a public sample of text, and the figures of published vocabularies on it.

python scripts/make_reference_table.py Django-5.2.tar.gz NAME=TOKENIZER...

The sample comes from the source archive of Django 5.2, which anybody can get with `pip download --no-deps --no-binary :all:
django==5.2`: its documentation (English prose), its own code (Python), and the messages that it has in each of LANGUAGES.
The messages are the same in each language, so the numbers of tokens can be compared. Django's licence (BSD) permits copies;
its notice goes with the sample. A tokenizer is anything that `tokenmill.load` reads, such as cl100k_base.
"""

from __future__ import annotations

import argparse
import gettext
import hashlib
import io
import json
import tarfile
from dataclasses import asdict
from pathlib import Path

import tokenmill
from tokenmill.quality.references import on_sample

SHA256 = "1a47f7a7a3d43ce64570d350e008d2949abe8c7e21737b351b6a1611277c6d89"
OUTPUT = Path(__file__).parents[1] / "src/tokenmill/quality/assets/references.json"
LANGUAGES = {
    "English": "en", "German": "de", "French": "fr", "Spanish": "es", "Finnish": "fi", "Turkish": "tr", "Vietnamese": "vi",
    "Russian": "ru", "Greek": "el", "Hebrew": "he", "Arabic": "ar", "Persian": "fa", "Hindi": "hi", "Bengali": "bn",
    "Thai": "th", "Georgian": "ka", "Armenian": "hy", "Chinese": "zh_Hans", "Japanese": "ja", "Korean": "ko",
}  # fmt: skip
PROSE = ("overview", "tutorial01", "tutorial02", "tutorial04", "tutorial05")
CODE = ("http/request.py", "core/paginator.py", "utils/text.py", "db/models/aggregates.py")


def sample_of(archive: tarfile.TarFile) -> dict[str, str]:
    """The text of each domain."""
    root = archive.getnames()[0].split("/")[0]

    def read(name: str) -> bytes:
        file = archive.extractfile(f"{root}/{name}")
        assert file is not None
        return file.read()

    present = set(archive.getnames())
    catalogs = [
        name
        for name in archive.getnames()
        if name.startswith(f"{root}/django/") and name.endswith("/en/LC_MESSAGES/django.mo")
    ]
    messages = {}
    for language, code in LANGUAGES.items():
        found: dict[str, str] = {}
        for catalog in catalogs:
            name = catalog.replace("/en/", f"/{code}/")
            source = catalog.replace("/en/", "/de/") if code == "en" else name  # English is the text of the keys
            if source not in present:
                continue
            entries = gettext.GNUTranslations(io.BytesIO(archive.extractfile(source).read()))._catalog  # type: ignore[union-attr, attr-defined]
            texts = {key: text for key, text in entries.items() if isinstance(key, str) and key and text}
            found |= {key: key if code == "en" else text for key, text in texts.items() if not set("\x04%{") & set(key)}
        messages[language] = found
    shared = sorted(set.intersection(*map(set, messages.values())))
    shared = [key for key in shared if " " in key]
    sample = {
        "English prose": "".join(read(f"docs/intro/{name}.txt").decode() for name in PROSE),
        "Python code": "".join(read(f"django/{name}").decode() for name in CODE),
    }
    return sample | {language: "\n".join(found[key] for key in shared) + "\n" for language, found in messages.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("archive", type=Path)
    parser.add_argument("tokenizers", nargs="+", metavar="NAME=TOKENIZER")
    arguments = parser.parse_args()
    data = arguments.archive.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    if digest != SHA256:
        raise SystemExit(f"{arguments.archive} has the SHA-256 {digest}, not {SHA256}: it is not Django-5.2.tar.gz")
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        sample = sample_of(archive)
        notice = archive.extractfile(f"{archive.getnames()[0].split('/')[0]}/LICENSE").read().decode()  # type: ignore[union-attr]
    vocabularies = {}
    for given in arguments.tokenizers:
        name, _, path = given.partition("=")
        vocabularies[name] = asdict(on_sample(tokenmill.load(path or name), text=sample))
        print(name, vocabularies[name])
    about = {"name": "Django 5.2: documentation, code and messages", "sha256": digest, "licence": notice}
    table = {"about": about, "vocabularies": vocabularies, "sample": sample}
    OUTPUT.write_text(json.dumps(table, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    print(f"{OUTPUT}: {OUTPUT.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
