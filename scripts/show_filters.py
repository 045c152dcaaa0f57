"""What each cleaning filter changes on samples of text: docs/reference/filters.md.

    python scripts/show_filters.py DUMP... > docs/reference/filters.md

Each DUMP is KIND=FILE[,FILE...], with KIND wikipedia, stackexchange or fineweb. Every filter runs alone on the text of
each document, after the markup is gone. The examples are drawn with a fixed seed.
"""

from __future__ import annotations

import difflib
import random
import re
import sys
from pathlib import Path

from tokenmill import read_documents
from tokenmill.corpus.filters import FILTER_SETS, FILTERS
from tokenmill.corpus.html import html_to_text
from tokenmill.corpus.report import Tally
from tokenmill.corpus.wikitext import wikitext_to_text

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.pages import table

EXAMPLES = 10
WIDTH = 50  # characters shown on each side of a change
LEAD = """\
The effect of each filter of `tokenmill clean`, run alone on samples of text, with random examples. `wikipedia` and `stackexchange`
are parts of real dumps. `fineweb` is documentation of git, Linux and Debian in a Parquet file with FineWeb's columns, not text of
FineWeb. If a filter removes fewer characters than it inserts, the number is negative. The filter sets are:
"""


def texts(kind: str, files: list[str]) -> list[str]:
    """The prose of every document, as the filters get it."""
    found = []
    for document in read_documents(files, max_document_bytes=None):
        if kind == "wikipedia":
            found += [s.text for s in wikitext_to_text(document.text) if not s.verbatim]
        elif kind == "stackexchange":
            found += [s.text for s in html_to_text(document.text) if not s.verbatim]
        else:
            found.append(document.text)
    return found


def example(before: str, after: str, rng: random.Random) -> tuple[str, str]:
    """A random changed place of a line, before and after."""
    old, new = before.split("\n"), after.split("\n")
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    changes = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    changes = [code for code in changes if any(map(str.strip, old[code[1] : code[2]]))] or changes
    _, a, b, c, d = rng.choice(changes)
    lines, others = old[a:b], new[c:d]
    if len(lines) == len(others):  # the same lines, changed
        at = rng.randrange(len(lines))
        lines, others = lines[at : at + 1], others[at : at + 1]
    left, right = "\n".join(lines).strip("\n"), "\n".join(others).strip("\n")
    same = 0
    while same < min(len(left), len(right)) and left[same] == right[same]:
        same += 1
    start = max(0, same - WIDTH // 2)
    return left[start : start + WIDTH], right[start : start + WIDTH]


def cell(text: str) -> str:
    shown = text.replace("\n", "⏎").replace("\t", "⇥")
    shown = re.sub(r"^ | $| (?= )|(?<= ) ", "␣", shown)  # pages collapse spaces
    shown = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in shown)
    return f"`` {shown.replace('|', '¦').replace('``', '` `')} ``" if shown else "(nothing)"


def main() -> None:
    dumps = {}
    for argument in sys.argv[1:]:
        kind, _, files = argument.partition("=")
        dumps[kind] = texts(kind, files.split(","))
    print("# Cleaning filters\n")
    print(LEAD)
    for name, members in FILTER_SETS.items():
        print(f"- `{name}`: {', '.join(f'`{member}`' for member in members)}")
    print(
        "\nIn the examples, ⏎ is the end of a line, ⇥ a tab, ¦ a pipe, and ␣ a space next to another space or at either end.\n"
    )
    for name, apply in FILTERS.items():
        print(f"## {name}\n\n{apply.does}\n")
        rows = []
        places: list[tuple[str, str, str]] = []
        for kind, documents in dumps.items():
            rng = random.Random(f"{name} {kind}")
            changed = [(text, new) for text in documents if (new := apply(text, Tally())) != text]
            size, fewer = sum(map(len, documents)), sum(len(old) - len(new) for old, new in changed)
            rows.append([kind, *(f"{n:,}" for n in (len(documents), len(changed), size, fewer))])
            for old, new in rng.sample(changed, min(3 * EXAMPLES, len(changed))):
                before, after = example(old, new, rng)
                if before.strip() and sum(place[0] == kind for place in places) < EXAMPLES:
                    places.append((kind, before, after))
        print(*table(["sample", "texts", "changed", "characters before", "characters removed"], rows), sep="\n")
        if places:
            examples = ([kind, cell(old), cell(new)] for kind, old, new in places)
            print("", *table(["sample", "before", "after"], examples), sep="\n")
        print()


if __name__ == "__main__":
    main()
