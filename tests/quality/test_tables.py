"""Tables and their forms: nothing invisible, nothing that breaks Markdown."""

import json
import re
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from tokenmill.quality.tables import Column, Figure, Table, Token, cell_text, quoted
from tokenmill.tokenizer.display import visible

TABLE = Table(
    "junk",
    "Junk | <b>",
    (Column("token", "token"), Column("n", "count"), Column("share", "share"), Column("why", "sample")),
    [(Token(7, b"a|`\n"), 1234, 0.5, "x"), (Token(8, b"\xff"), None, None, None), (Token(9, b"b"), 1, 1.0, " |")],
    "A *note*.",
    listing=True,
)


def test_markdown():
    assert TABLE.to_markdown() == "\n".join(
        [
            "### Junk \\| \\<b\\>",
            "",
            "A \\*note\\*.",
            "",
            "| token | n | share | why |",
            "| :-- | --: | --: | :-- |",
            '| ``"a\\|`\\n"`` 7 | 1,234 | 50.00% | `"x"` |',
            '| `"\\xff"` 8 |  |  |  |',
            '| `"b"` 9 | 1 | 100.00% | `" \\|"` |',
        ]
    )


def test_json():
    table = json.loads(json.dumps(TABLE.head(1).to_json()))
    assert table["total"] == 3
    assert table["rows"] == [
        {"token": {"id": 7, "text": "a|`\n", "hex": "617c600a"}, "n": 1234, "share": 0.5, "why": "x"}
    ]
    figures = Table(
        "f", "F", (Column("what"), Column("value", "figure")), [("bytes", Figure(3.25, Column("", "number")))]
    )
    assert figures.to_json()["rows"] == [{"what": "bytes", "value": 3.25}]


def test_head_cuts_lists_only():
    assert len(TABLE.head(2).rows) == 2 and TABLE.head(2).total == 3 and TABLE.head(None) is TABLE
    assert TABLE.head(2).head(1).total == 3
    plain = Table("t", "T", TABLE.columns, TABLE.rows)
    assert plain.head(1) is plain
    assert TABLE.column("n") == [1234, None, 1]


def test_ios_is_cut_not_rounded():
    assert cell_text(0.99999, Column("IoS", "ios")) == "0.999"
    assert cell_text(1.0, Column("IoS", "ios")) == "1.000"


def test_combining_mark_has_a_carrier():
    assert visible("\u0301a".encode()) == [("text", "\u25cc\u0301a")]
    assert visible("a\u0301".encode()) == [("text", "a\u0301")]


@given(st.binary(max_size=12) | st.text(max_size=8).map(str.encode))
def test_quoted_reads_back(data):
    text = quoted(data)
    assert text.isprintable() and text[0] == text[-1] == '"'
    back = b"".join(
        bytes([int(part[2:], 16)]) if re.fullmatch(r"\\x[89a-f].", part) else _read(part).encode()
        for part in re.findall(r"\\x..|\\u.{4}|\\U.{8}|\\.|[^\\]", text[1:-1])
    )
    assert back == data


def _read(part: str) -> str:
    return part if len(part) == 1 else part.encode().decode("unicode_escape")


@given(st.binary(max_size=12) | st.text(max_size=8).map(str.encode))
def test_visible_shows_everything(data):
    for kind, text in visible(data):
        assert kind in ("text", "space", "escape") and text.isprintable()
        assert kind != "text" or not any(unicodedata.category(c) in ("Cc", "Cf", "Zs", "Zl", "Zp") for c in text)


@given(st.lists(st.binary(max_size=8), min_size=1, max_size=4), st.text(max_size=8))
def test_markdown_rows_keep_their_columns(tokens, text):
    rows = [(Token(i, token), text, Token(i, token)) for i, token in enumerate(tokens)]
    table = Table("t", text, (Column("a", "token"), Column("b", "sample"), Column("c", "token")), rows)
    lines = table.to_markdown().split("\n")[-len(rows) :]
    for line in lines:
        assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == 4, line


def test_figures_that_look_the_same_are_equally_good():
    columns = (Column("tokenizer"), Column("Gini", "number", digits=3, best="min"))
    assert Table("a", "A", columns, [("a", 0.2974), ("b", 0.2971), ("c", 0.4)]).best() == {(0, 1), (1, 1)}
    assert not Table("a", "A", columns, [("a", 0.2974), ("b", 0.2971)]).best()
