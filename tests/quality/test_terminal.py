"""Tables in a terminal: at any width every figure is whole, and no line is wider unless the table is turned."""

import pytest
from quality_examples import random_text
from rich.cells import cell_len

import tokenmill
from tokenmill.quality.tables import NUMERIC, Column, Table, Token, cell_text
from tokenmill.quality.terminal import lines_of


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "a.txt"
    path.write_text(random_text(1, 30) * 20, encoding="utf-8")
    toks = {
        f"tokenizer-{size}": tokenmill.train_from_iterator([random_text(1)], size, superwords="boundless")
        for size in (300, 500)
    }
    found = tokenmill.inspect(toks["tokenizer-500"], text=path), tokenmill.compare(toks, path)
    wide = Table("w", "漢字", (Column("字", "sample"), Column("n", "number", digits=3)), [("漢字" * 40, 1234567.891)])
    return [table.head(5) for report in found for table in report.tables] + [wide]


@pytest.mark.parametrize("width", range(50, 201))
def test_no_figure_is_cut_at_any_width(tables, width):
    for table in tables:
        lines = [line.plain for line in lines_of(table, width)]
        text = "\n".join(lines)
        turned = table.rows and f"\n{table.columns[0].name}: " in text
        if not turned:
            assert max(map(cell_len, lines[1:]), default=0) <= width, table.title
        for row in table.rows:
            for value, column in zip(row, table.columns, strict=True):
                if column.kind in NUMERIC:
                    assert cell_text(value, column) in text, (table.title, column.name)
                if isinstance(value, Token):
                    assert str(value.id) in text
        if not turned and not any(column.kind == "figure" for column in table.columns):
            words = {word for column in table.columns if column.kind in NUMERIC for word in column.name.split()}
            assert all(word in text for word in words if table.rows)


def test_the_name_of_a_row_is_not_folded_where_other_text_can_be():
    columns = (Column("tokenizer"), Column("n", "count"), Column("note"))
    rows = [("command-r-plus", 255_029, "costs most in Bengali " * 3)]
    lines = [line.plain for line in lines_of(Table("t", "t", columns, rows), 45)]
    assert any("command-r-plus" in line for line in lines), lines


def test_tables_for_notebooks():
    pandas = pytest.importorskip("pandas")
    rows = [(Token(5, b"<a"), 1200, 0.5), (Token(6, b"b"), None, None)]
    table = Table("t", "Title", (Column("token", "token"), Column("n", "count"), Column("s", "share")), rows)
    assert repr(table) == "<Table 't': Title, 2 rows of 3>"
    shown = table._repr_html_()
    assert "<td>1,200</td>" in shown and "&lt;a" in shown and "50.00%" in shown
    frame = table.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and list(frame["token"]) == [b"<a", b"b"]
    assert frame["n"][0] == 1200 and list(frame.columns) == ["token", "n", "s"]
