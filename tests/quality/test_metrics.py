"""Figures beside figures worked out by hand or in another way."""

import math
import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from quality_examples import BYTES, make_vocabulary, random_events, random_pretokens

from command_line import CliRunner
from tokenmill import (
    AddedToken,
    Normalization,
    Tokenizer,
    WordCounts,
    compare,
    extend,
    inspect,
    load,
    shrink,
    train_from_iterator,
)
from tokenmill.cli.main import app
from tokenmill.errors import UsageError
from tokenmill.quality import evaluation_text, usage
from tokenmill.quality.evaluation_text import EvaluationText
from tokenmill.quality.metrics import ALPHA, mean_token_characters, renyi_efficiency, text_table, word_initial_share
from tokenmill.quality.scripts import scripts_table
from tokenmill.quality.token_lists import (
    rare_table,
    unused_table,
)
from tokenmill.quality.usage import measure_usage, ordinary_tokens

LOW = make_vocabulary([*BYTES, b"ow", b"low", b" low"], [(111, 119, 256), (108, 256, 257), (32, 257, 258)])
COUNTS = WordCounts.from_mapping({b"low": 5, b"lower": 2, b"how": 3, b" low": 4, "é".encode(): 1})


def test_usage():
    usage = replace(measure_usage(Tokenizer(LOW), COUNTS), words=15)
    assert {id: n for id, n in enumerate(usage.by_id.tolist()) if n} == {
        257: 7, ord("e"): 2, ord("r"): 2, ord("h"): 3, 256: 3, 258: 4, 0xC3: 1, 0xA9: 1
    }  # fmt: skip
    assert usage.tokens == 7 + 2 + 2 + 3 + 3 + 4 + 2
    assert usage.pretokens == 15 and usage.bytes == 15 + 10 + 9 + 16 + 2 and usage.characters == usage.bytes - 1
    assert usage.tokens_by_pretoken.tolist() == [1, 3, 2, 1, 2]
    double = usage + usage
    assert double.tokens == 2 * usage.tokens and double.words == 30 and double.by_id[257] == 14


@pytest.mark.parametrize("order", ["merges", "ranks", "events"])
def test_pretokens_at_once_and_one_by_one(order, monkeypatch):
    """All pretokens of a slice in one call, cut apart by the sizes of their tokens; an empty pretoken among them."""
    for seed in range(30):
        rng = random.Random(seed)
        tokens, events = random_events(rng, b"abc", 20, 0.2 if order == "events" else 0.0)
        tok = Tokenizer(make_vocabulary(tokens, None if order == "ranks" else events, order))
        pretokens = list(dict.fromkeys([*random_pretokens(rng, b"abc", 40), b"", b"abcabc"]))
        offsets = np.cumsum([0, *map(len, pretokens)]).astype(np.uint64)
        arena = np.frombuffer(b"".join(pretokens), np.uint8)
        counts = WordCounts(arena, offsets, np.ones(len(pretokens), np.uint64))
        monkeypatch.setattr(usage, "SLICE", rng.randint(1, 200))
        ids, numbers = usage.encode_pretokens(tok, counts)
        each = [tok.encode_bytes(pretoken) for pretoken in pretokens]
        assert ids.tolist() == [id for of in each for id in of] and numbers.tolist() == list(map(len, each))


def judged(usage):
    return evaluation_text.Judgement(Tokenizer(LOW), len(ordinary_tokens(LOW)), {}, usage, None, [])


def test_text_table():
    figures = dict(text_table(judged(replace(measure_usage(Tokenizer(LOW), COUNTS), words=15))).rows)
    assert figures["bytes per token"].value == 52 / 23
    assert figures["words per token"].value == 15 / 23
    assert figures["tokens per word"].value == 23 / 15
    assert figures["vocabulary used"].value == 8 / 259
    assert figures["word-initial, of the tokens of the text"].value == 4 / 23
    unknown = dict(text_table(judged(measure_usage(Tokenizer(LOW), COUNTS))).rows)
    assert unknown["words"].value is None and str(unknown["words"]) == "unknown"


def test_empty_counts():
    usage = measure_usage(Tokenizer(LOW), WordCounts.from_mapping({}))
    figures = dict(text_table(judged(usage)).rows)
    assert figures["bytes per token"].value is None and figures["vocabulary used"].value == 0


def test_vocabulary_figures():
    tok = Tokenizer(make_vocabulary([*BYTES, " é".encode(), b" \n", b"\n\t", "é".encode()]))
    assert word_initial_share(tok) == 1 / 260
    assert mean_token_characters(tok) == (192 + 2 + 2 + 2 + 1) / 260  # 64 bytes begin no character


@given(st.lists(st.integers(0, 10**6), min_size=2, max_size=30))
def test_renyi(counts):
    total = sum(counts)
    value = renyi_efficiency(np.array(counts, np.uint64), len(counts))
    if total == 0:
        assert value is None
        return
    expected = math.log(sum((n / total) ** ALPHA for n in counts if n)) / (1 - ALPHA) / math.log(len(counts))
    assert value == pytest.approx(expected, abs=1e-9) and -1e-9 <= value <= 1 + 1e-9


def test_scripts():
    pretokens = {" слово": 3, "word": 2, "漢字": 1, "123": 7, "ひらがな": 1, "!é": 1, "ⴰ": 1}
    counts = WordCounts.from_mapping({pretoken.encode(): n for pretoken, n in pretokens.items()} | {b"\xff\xfe": 2})
    tok = Tokenizer(make_vocabulary(BYTES, []))
    table = scripts_table([(counts, measure_usage(tok, counts), counts)])
    figures = {row[0]: row[1:] for row in table.rows}
    assert figures["Cyrillic"] == (33, 33, 1.0, 18 / 33, 11.0)
    assert figures["Latin"] == (8 + 3, 11, 1.0, 10 / 11, 11 / 3)
    assert figures["Han"][0] == 6 and figures["Hiragana"][0] == 12 and figures["Other"][0] == 3
    assert figures["no letters"][:2] == (25, 25) and figures["no letters"][4] is None


def test_scripts_that_only_the_second_tokenizer_cuts_apart(tmp_path):
    (tmp_path / "a.txt").write_text("abc\u6f22 " * 30)
    whole, apart = (train_from_iterator(["abc\u6f22 "], 257, split=split) for split in (r"\S+|\s+", r"[a-z]+|[^a-z]+"))
    table = compare({"whole": whole, "apart": apart}, tmp_path / "a.txt").table("scripts")
    assert table.pairs("script", "whole")["Han"] is None and table.pairs("script", "apart")["Han"] == 1.0


def test_lists():
    extra = ["é".encode(), "e\u0301".encode(), b"Low", b"----", b" ---- ", b"  ", b"\n\n\n", "\u3000".encode(), b"---"]
    tok = Tokenizer(make_vocabulary([*BYTES, b"low", b" low", *extra]))
    usage = measure_usage(tok, WordCounts.from_mapping({b"low": 3, b" low": 200, b"Low": 1}))
    assert [row[:2] for row in rare_table(tok, usage, 100).rows] == [
        (rare, n) for rare, n in [(_token(tok, b"Low"), 1), (_token(tok, b"low"), 3)]
    ]
    assert b"Low" not in {row[0].content for row in unused_table(tok, usage).rows}
    assert len(unused_table(tok, usage).rows) == len(BYTES) + len(extra) - 1


def _token(tok, content):
    from tokenmill.quality.tables import Token

    return Token(tok.encode_single_token(content), content)


def test_domains(tmp_path, monkeypatch):
    (tmp_path / "de").mkdir()
    for name, text in {
        "en.txt": "low  low\u00a0lower",
        "fr.txt": "bas",
        "de/a.txt": "tief",
        "de/b.txt": "tiefer",
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    tok = Tokenizer(make_vocabulary(BYTES, [], split_patterns=(r"\S+|\s+",)))
    several = EvaluationText([tmp_path / "en.txt", tmp_path / "de"])
    assert several.names == ["en", "de"]
    assert several.surveyed[0] == {"en": 3, "de": 2}
    assert Counter(dict(several.counts(tok)[0].items())) == Counter(
        {b"low": 2, b"  ": 1, "\u00a0".encode(): 1, b"lower": 1}
    )
    assert EvaluationText(tmp_path / "de").names == ["a", "b"]
    assert EvaluationText([f"{tmp_path}/de/*.txt", tmp_path / "fr.txt"]).names == ["de", "fr"]
    assert EvaluationText([f"{tmp_path}/de/*.txt", tmp_path / "de"]).names == [f"{tmp_path}/de", f"{tmp_path}/de (2)"]
    monkeypatch.setattr(evaluation_text, "MOST_FILES", 1)
    assert EvaluationText(tmp_path / "de").names == ["de"]
    assert EvaluationText({"x": [tmp_path / "en.txt"], "y": COUNTS}).names == ["x", "y"]
    usages = several.usages(tok)
    assert usages["en"].tokens == usages["en"].bytes == len("low  low\u00a0lower".encode())


def test_text_is_normalized_for_a_tokenizer_that_does(tmp_path):
    text = "e\u0301te\u0301 d\n \n" * 3
    (tmp_path / "fr.txt").write_text(text, encoding="utf-8")
    (tmp_path / "fr.jsonl").write_text('{"text": "e\\u0301"}\n{"text": "x"}\n', encoding="utf-8")
    tok = Tokenizer(make_vocabulary(BYTES, [], split_patterns=(r"\w+|\W+",), normalization=Normalization(("NFC",))))
    plain = Tokenizer(make_vocabulary(BYTES, [], split_patterns=(r"\w+|\W+",)))
    domains = EvaluationText([tmp_path / "fr.txt", tmp_path / "fr.jsonl"])
    usages = domains.usages(tok)
    first = next(iter(usages))
    assert (
        usages[first].tokens == len(tok.encode(text)) < len(plain.encode(text)) == domains.usages(plain)[first].tokens
    )
    assert dict(domains.counts(tok)[1].items()) == {"é".encode(): 1, b"x": 1}


@pytest.mark.parametrize("patterns", [(r"\w+|\W+",), ()])
def test_text_is_searched_for_added_tokens(tmp_path, patterns):
    """As `encode_ordinary` does: those that are not special are found in any text, with their flags."""
    text = "low <x> low<y>  low <z> é<x>"
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    added = (
        AddedToken("<x>", 258, special=False, lstrip=True),
        AddedToken("<y>", 260, special=False, rstrip=True),
        AddedToken("<z>", 261),
    )
    tok = Tokenizer(
        make_vocabulary(
            [*BYTES, b"ow", b"low"],
            [(111, 119, 256), (108, 256, 257)],
            split_patterns=patterns,
            added_tokens=added,
            normalization=Normalization((), True),
        )
    )
    usage = EvaluationText(tmp_path / "a.txt").usages(tok)["a"]
    expected = Counter(tok.encode_ordinary(text))
    assert {id: n for id, n in enumerate(usage.by_id.tolist()) if n} == expected
    assert usage.tokens == expected.total() and usage.words == len(text.split())


def test_a_glob_of_one_file_has_the_name_of_the_file(tmp_path, monkeypatch):
    (tmp_path / "clean").mkdir()
    for name in ("clean/a.txt", "b.txt"):
        (tmp_path / name).write_text("low")
    monkeypatch.chdir(tmp_path)
    assert EvaluationText(["clean/*.txt", "b.txt"]).names == ["a", "b"]
    assert EvaluationText(["clean", "*.txt"]).names == ["clean", "b"]


def test_text_without_a_token(tmp_path):
    """A normalizer may leave nothing of a text; that is not an empty text."""
    (tmp_path / "a.txt").write_text(" \n" * 9)
    (tmp_path / "empty.txt").write_text("")
    tok = Tokenizer(make_vocabulary(BYTES, normalization=Normalization((("Strip", True, True),))), name="bare")
    with pytest.raises(UsageError, match=r"bare makes no token of the text \(a\)"):
        inspect(tok, text=tmp_path / "a.txt")
    with pytest.raises(UsageError, match="the text is empty"):
        inspect(tok, text=tmp_path / "empty.txt")


def test_counts_of_another_split_are_refused():
    tok = Tokenizer(make_vocabulary(BYTES, [], split_patterns=(r"\S+|\s+",)))
    counts = WordCounts.from_mapping({b"low": 1}, split_patterns=(r"\w+",))
    with pytest.raises(UsageError, match="cut by"):
        EvaluationText(counts).counts(tok)
    assert EvaluationText(counts).surveyed[0] == {}
    with pytest.raises(UsageError, match="no text"):
        EvaluationText([])


LOWERED = make_vocabulary(BYTES, [], split_patterns=(r"\w+|\W+",), normalization=Normalization(("Lowercase",)))
SPACES = make_vocabulary(BYTES, [], split_patterns=(r"\w+|\W+",), added_tokens=(AddedToken("  ", 256, special=False),))


@pytest.mark.parametrize(
    ("vocabulary", "pretoken", "does"),
    [(LOWERED, "RUN", "normalizes"), (SPACES, "   ", "finds an added token in")],
)
def test_counts_of_text_that_the_tokenizer_would_change_are_refused(vocabulary, pretoken, does):
    tok = Tokenizer(vocabulary)
    counts = WordCounts.from_mapping({"run": 5, pretoken: 2}, split_patterns=vocabulary.split_patterns)
    for judge in (
        lambda: inspect(tok, text=counts),
        lambda: compare([tok], {"x": counts}),
        lambda: shrink(tok, text=counts),
        lambda: extend(tok, counts, 300),
    ):
        with pytest.raises(UsageError, match=f"contain '{pretoken}', .* {does} it|in it.*; give the text itself"):
            judge()


@pytest.mark.parametrize("vocabulary", [LOWERED, SPACES])
def test_counts_of_text_that_the_tokenizer_leaves_as_it_is(vocabulary):
    tok = Tokenizer(vocabulary)
    counts = WordCounts.from_mapping({"run": 5, " ": 2, b"\xff": 1, b"": 1}, split_patterns=vocabulary.split_patterns)
    assert EvaluationText(counts).usage(tok).tokens == 18


def test_sizes_are_compared_on_the_counts_of_their_training(tmp_path):
    """What two steps make of a text may change if they are taken again: only word counts given by a caller are checked."""
    (tmp_path / "a.txt").write_text("J\u030cab jab " * 30, encoding="utf-8")
    options = ["--normalize", "nfc,lowercase", "--vocab-size", "260,262", "-o", str(tmp_path / "tok")]
    made = CliRunner().invoke(app, ["train", str(tmp_path / "a.txt"), *options])
    assert made.exit_code == 0, made.output
    tok = load(tmp_path / "tok" / "262")
    assert tok.encode("J\u030cab") != tok.encode(tok.decode(tok.encode("J\u030cab")))


def test_scripts_of_normalized_text(tmp_path):
    """Bytes and characters are those of the text before normalization."""
    text = "\ud55c\uae00\n" * 30
    (tmp_path / "ko.txt").write_text(text, encoding="utf-8")
    tok = train_from_iterator([text], 258, split="llama3", normalize=["nfd"])
    table = inspect(tok, text=tmp_path / "ko.txt").table("scripts")
    assert table.pairs("script", "bytes") == {"Hangul": 180, "no letters": 30}
    hangul = table.pairs("script", "tokens")["Hangul"]
    assert hangul == 30 * len(tok.encode("\ud55c\uae00"))
    assert table.pairs("script", "characters per token")["Hangul"] == 60 / hangul
