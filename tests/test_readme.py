"""The README's tour runs as it is printed: its commands in one shell, its Python in the same folder.

A block below the comment `<!-- needs the real corpora -->` runs where they are, with their files in the folder.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tokenmill

README = Path(__file__).resolve().parents[1] / "README.md"
SHARED = Path(os.environ.get("TOKENMILL_SHARED", README.parent.parent / "shared"))
PAGES = [README, *sorted((README.parent / "docs" / "how-to").glob("*.md"))]


NEEDS = "<!-- needs the real corpora -->"


def blocks(page: Path, corpora: bool) -> list[tuple[str, str]]:
    """The fenced blocks of a page that can be run: (language, text)."""
    found = re.findall(
        rf"^({NEEDS}\n)?```(console|python)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    return [(language, text) for needs, language, text in found if corpora or not needs]


def commands(block: str) -> str:
    """The lines after a prompt, with their continuation lines."""
    lines = block.splitlines()
    kept, going_on = [], False
    for line in lines:
        if line.startswith("$ "):
            line, going_on = line[2:], True
        elif not going_on:
            continue
        kept.append(line)
        going_on = line.endswith("\\")
    return "\n".join(kept)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page_runs_as_printed(page, tmp_path):
    corpora = SHARED / "corpus"
    runnable = blocks(page, corpora.is_dir())
    if not runnable:
        pytest.skip("the page has nothing to run" + (" without the real corpora" if blocks(page, True) else ""))
    if len(blocks(page, False)) < len(runnable):
        for path in (*corpora.iterdir(), *(SHARED / "vocab").glob("*")):
            (tmp_path / path.name).symlink_to(path)
    commands_folder = tmp_path / "bin"  # `tokenmill` and `python` are those of the Python that runs the tests
    commands_folder.mkdir()
    for name, arguments in (("tokenmill", "-m tokenmill"), ("python", "")):
        (commands_folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
        (commands_folder / name).chmod(0o755)
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(tokenmill.__file__).parents[1]),
        "PATH": f"{commands_folder}:{os.environ['PATH']}",
        "COLUMNS": "100",
    }
    script = ["set -euo pipefail"]
    for number, (language, text) in enumerate(runnable):
        if language == "console":
            script.append(commands(text))
        else:
            (tmp_path / f"block{number}.py").write_text(text, encoding="utf-8")
            script.append(f"python block{number}.py")
    result = subprocess.run(
        ["bash", "-c", "\n".join(script)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=280
    )
    assert result.returncode == 0, f"{script}\n{result.stdout[-3000:]}\n{result.stderr[-3000:]}"
