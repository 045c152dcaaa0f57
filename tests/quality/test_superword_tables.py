"""What `compare` says of tokens that span words."""

import json

import pytest

import tokenmill
from command_line import CliRunner
from tokenmill.cli.main import app
from tokenmill.quality import evaluation_text
from tokenmill.quality.charts import colors
from tokenmill.quality.tables import Token
from tokenmill.quality.token_lists import end_of, words_in

TEXT = "of the cat, in the house. It is of the end\n" * 40


@pytest.fixture(scope="module")
def toks():
    plain = tokenmill.train_from_iterator([TEXT], 320)
    superwords = tokenmill.train_from_iterator([TEXT], 320, superwords="superbpe", stage1_size=280)
    return superwords, plain


def test_compare_shows_superwords(toks, tmp_path):
    superwords, plain = toks
    (tmp_path / "text.txt").write_text(TEXT)
    found = tokenmill.compare({"plain": plain, "super": superwords}, tmp_path / "text.txt")
    table = found.table("superwords")
    assert table.column("tokenizer") == ["plain", "super"]
    spanning = [token for token in superwords.vocabulary.tokens if token and len(token.split()) > 1]
    assert table.column("superwords") == [0, len(spanning)]
    ids = superwords.encode(TEXT)
    used = [superwords.decode_single_token_bytes(id) for id in ids]
    share = sum(token in spanning for token in used) / len(ids)
    assert table.column("of the tokens of the text") == [0, pytest.approx(share)]
    most = found.table("superwords_super")
    assert most.column("used") == sorted(most.column("used"), reverse=True)
    assert sum(most.column("used")) == sum(token in spanning for token in used)
    by_script = found.table("scripts")
    assert [column.name for column in by_script.columns] == ["script", "plain"] and "left out" in by_script.note
    chart = next(chart for chart in found.charts if chart.key == "scripts")
    assert [series.name for series in chart.series] == ["plain"] and "left out" in chart.note


def test_a_tokenizer_has_one_colour_in_all_charts(toks, tmp_path):
    superwords, plain = toks
    (tmp_path / "text.txt").write_text(TEXT)
    found = tokenmill.compare({"super": superwords, "plain": plain}, tmp_path / "text.txt")
    colours = {
        chart.key: dict(zip((of.name for of in chart.series), colors(chart), strict=True)) for chart in found.charts
    }
    assert colours["scripts"] == {"plain": 1} and colours["ios"]["plain"] == 1
    scripts = found.to_html().split('id="c-scripts"')[1].split("</figure>")[0]
    assert 'class="bar s2"' in scripts and 'class="bar s1"' not in scripts


def test_inspect_judges_superwords_of_whole_pretokens(tmp_path):
    """Their tokens cannot be replaced, so no table says which are worth it."""
    (tmp_path / "text.txt").write_text(TEXT, encoding="utf-8")
    tok = tokenmill.train_from_iterator([TEXT], 280, superwords="boundless")
    found = tokenmill.inspect(tok, text=tmp_path / "text.txt")
    keys = {table.key for table in found.tables}
    assert "worth_replacing" not in keys and "text" in keys
    assert dict(found.table("text").rows)["tokens"].value == len(tok.encode(TEXT))
    assert "pretokens" not in dict(found.table("text").rows)  # superwords join some of them
    assert {*found.table("scripts").column("tokens per pretoken")} == {None}
    assert not any("tokenmill prune" in of.advice or "tokenmill shrink" in of.advice for of in found.findings)
    assert "superwords of whole pretokens" in str(dict(found.table("vocabulary").rows)["merging"])
    picky = tokenmill.inspect(tokenmill.train_from_iterator([TEXT], 280, refine=0.9))
    assert "superwords" not in str(dict(picky.table("vocabulary").rows)["merging"])


@pytest.mark.parametrize("sampled", [False, True])
def test_train_tells_the_bytes_per_token_of_superwords(sampled, tmp_path, monkeypatch):
    """The text is encoded, since word counts do not tell which superwords it uses; of much text, a sample."""
    (tmp_path / "text.txt").write_text(TEXT, encoding="utf-8")
    if sampled:
        monkeypatch.setattr(evaluation_text, "MOST_BYTES", 1000)
    wanted = [
        "train",
        str(tmp_path / "text.txt"),
        "--vocab-size",
        "320",
        "--superwords",
        "superbpe",
        "--stage1-size",
        "280",
        "--unit",
        "line",
    ]
    result = CliRunner().invoke(app, [*wanted, "-o", str(tmp_path / "tok"), "--json"])
    assert result.exit_code == 0, result.output
    tok = tokenmill.load(tmp_path / "tok")
    lines = TEXT.splitlines()[:: 1 + sampled]
    density = len("".join(lines)) / sum(map(len, tok.encode_batch(lines)))
    name = "bytes_per_token_of_a_sample" if sampled else "bytes_per_token"
    assert json.loads(result.stdout)[name] == round(density, 4)


def test_plain_tokenizers_have_no_such_table(toks, tmp_path):
    (tmp_path / "text.txt").write_text(TEXT)
    found = tokenmill.compare({"plain": toks[1]}, tmp_path / "text.txt")
    assert not any(table.key.startswith("superwords") for table in found.tables)


def test_words_and_ends():
    assert [words_in(Token(0, token)) for token in (b" of the", b" the", b" ", b"a, b", b"\xff a")] == [2, 1, 0, 2, 2]
    assert [end_of(Token(0, token)) for token in (b" of the", b" of the ", b"it, and,", b"end of\n")] == [
        "a word",
        "white space",
        "punctuation",
        "white space",
    ]
