"""The shell and Python blocks of the README, the tour and the how-tos run as printed, and print what the pages show.

Each page is one shell session, its Python blocks in the same folder. A block below the comment
`<!-- needs the real corpora -->` runs where they are, with their files in the folder.

Lines after a command are its output, with `...` for lines left out. In Python blocks the comment of a `print`, beside or
below it, is a line of the output. Times, speeds and memory are not compared. The pages print figures of one standard
library: with another Python, all figures and quoted tokens are masked, and only the words are compared.
"""

import hashlib
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import tokenmill

README = Path(__file__).resolve().parents[1] / "README.md"
SHARED = Path(os.environ.get("TOKENMILL_SHARED", README.parent.parent / "shared"))
DOCS = README.parent / "docs"
PAGES = [README, DOCS / "tour.md", *sorted((DOCS / "how-to").glob("*.md"))]

NEEDS = "<!-- needs the real corpora -->"
STANDARD_LIBRARY = "d473da6a900c30c4"  # of the Python that printed the pages
END_OF_COMMAND = "\x1e"


def standard_library() -> str:
    """A hash of the modules that the pages train on."""
    root = Path(sysconfig.get_path("stdlib"))
    digest = hashlib.sha256()
    for path in sorted(file for folder in (".", "asyncio", "email", "json") for file in (root / folder).glob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def blocks(page: Path, corpora: bool) -> list[tuple[str, str, bool]]:
    """The fenced blocks of a page that can be run: language, text, and whether it reads the real corpora."""
    matches = re.findall(
        rf"^({NEEDS}\n)?```(console|python)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    return [(language, text, bool(needs)) for needs, language, text in matches if corpora or not needs]


def commands(block: str) -> list[tuple[str, list[str]]]:
    """Each command of a console block with its continuation lines, and the lines of output below it."""
    result: list[tuple[str, list[str]]] = []
    continues = False
    for line in block.splitlines():
        if line.startswith("$ "):
            result.append((line[2:], []))
        elif continues:
            result[-1] = (f"{result[-1][0]}\n{line}", [])
        else:
            result[-1][1].append(line)
        continues = line.endswith("\\")
    return result


def printed(code: str) -> list[str]:
    """The comments of the `print` calls of a Python block, with `...` for the lines between them."""
    lines = ["..."]
    for match in re.finditer(r"^ *print\(.*\)(?:  # (.+)|\n# (.+))$", code, re.MULTILINE):
        lines += [match[1] or match[2], "..."]
    return lines if len(lines) > 1 else []


def masked(lines: list[str], exact: bool) -> str:
    """The lines as one, without the width of columns and without what differs from run to run."""
    text = "\n".join(lines)
    text = re.sub(r"^(seconds|MB per second|peak memory \(MiB\)) .*", r"\1 #", text, flags=re.MULTILINE)
    text = re.sub(r"\b\d[\d.,]*(?= ?(s|ms|MB/s|MiB)\b)", "#", text)
    text = re.sub(r"\b(tiktoken|tokenizers) \d[\d.]*\d", r"\1 #", text)
    if not exact:
        text = re.sub(r'"[^"\n]*"|[+-]?\d[\d,]*(\.\d+)?', "#", text)
        text = re.sub(r"#(,?\s+#)+", "#", re.sub(r"\[\s+", "[", text))  # as many tokens or columns as there are
    return " ".join(text.split())


def agrees(expected: list[str], output: list[str], exact: bool) -> bool:
    """Whether the output is as expected, with anything in place of `...`."""
    parts = [re.escape(part.strip()) for part in masked(expected, exact).split("...")]
    return bool(re.fullmatch(".*?".join(parts), masked(output, exact).replace("...", "")) or expected == [])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page_runs_as_printed(page, tmp_path):
    corpora = SHARED / "corpus"
    runnable = blocks(page, corpora.is_dir())
    if not runnable:
        pytest.skip("the page has nothing to run" + (" without the real corpora" if blocks(page, True) else ""))
    if any(needs for _, _, needs in runnable):
        for path in (*corpora.iterdir(), *(SHARED / "vocab").glob("*")):
            (tmp_path / path.name).symlink_to(path)
    if page == README:  # its commands are for a corpus of the reader's
        (tmp_path / "corpus").mkdir()
        for path in Path(sysconfig.get_path("stdlib")).glob("*.py"):
            (tmp_path / "corpus" / f"{path.stem}.txt").write_bytes(path.read_bytes())
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
    calls: list[tuple[str, list[str]]] = []
    for number, (language, text, _) in enumerate(runnable):
        if language == "console":
            calls += commands(text)
        else:
            (tmp_path / f"block{number}.py").write_text(text, encoding="utf-8")
            calls.append((f"python block{number}.py", printed(text)))
    script = "\n".join(f"{call}\nprintf '\\x1e'" for call, _ in calls)
    result = subprocess.run(
        ["bash", "-c", f"set -euo pipefail\nexec 2>&1\n{script}"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        timeout=280,
    )
    assert result.returncode == 0, f"{script}\n{result.stdout[-6000:]}"
    exact = standard_library() == STANDARD_LIBRARY
    for (call, expected), output in zip(calls, result.stdout.split(END_OF_COMMAND), strict=False):
        assert agrees(expected, output.splitlines(), exact), f"$ {call}\n{output}"


def test_outputs_are_compared():
    block = "$ tokenmill train a \\\n    b\ntokens  8,192\n...\nseconds  count 0.4\n$ true\n"
    (call, expected), (other, nothing) = commands(block)
    assert call == "tokenmill train a \\\n    b" and other == "true" and not nothing
    output = ["tokens 8,192", "special tokens 1", "peak memory (MiB) 104", "seconds count 0.9"]
    for exact in (True, False):
        assert agrees(expected, output, exact)
        assert not agrees(expected, ["token 8,192", *output[1:]], exact)
        assert not agrees(expected, [*output, "another line"], exact)
    assert not agrees(expected, ["tokens 8,191", *output[1:]], exact=True)
    assert printed("print(1)  # 1\nx = 2  # no output\nprint(x)\n# 2\n") == ["...", "1", "...", "2", "..."]
