"""Bytes per token has one definition: raw bytes of the text divided by the tokens of its encoding, for every tokenizer."""

import re

import pytest
import tokenizers
from quality_examples import random_text
from tokenizers import models, normalizers, pre_tokenizers, trainers

import tokenmill
from tokenmill import Tokenizer, WordCounts
from tokenmill.quality.evaluation_text import EvaluationText
from tokenmill.quality.usage import measure_usage

TEXT = (random_text(3, 40) + "\nNaïve CAFÉS  ﬁnd ½ of   it, e\u0301t\u00e9\u00a0: 漢字 [MASK] low▁er\n") * 30


def by_hand(tok: Tokenizer, text: str) -> float:
    return len(text.encode()) / len(tok.encode(text, disallowed_special=()))


def of_library(tmp_path, kind):
    normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase(), normalizers.StripAccents()])
    if kind == "wordpiece":
        tok = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tok.normalizer, tok.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(vocab_size=300, special_tokens=["[UNK]", "[MASK]"])
    elif kind == "unigram":
        tok = tokenizers.Tokenizer(models.Unigram())
        tok.normalizer, tok.pre_tokenizer = normalizers.NFKC(), pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(vocab_size=200, unk_token="<unk>", special_tokens=["<unk>"])
    elif kind == "sentencepiece":
        tok = tokenizers.Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=False))
        tok.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
        trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=["<unk>"], show_progress=False)
    else:
        tok = tokenizers.Tokenizer(models.BPE())
        tok.normalizer, tok.pre_tokenizer = normalizer, pre_tokenizers.ByteLevel(add_prefix_space=True)
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, special_tokens=["[MASK]"])
    tok.train_from_iterator(TEXT.splitlines() * 3, trainer)
    tok.save(str(tmp_path / "tokenizer.json"))
    return tokenmill.load(tmp_path / "tokenizer.json")


@pytest.mark.parametrize("kind", ["wordpiece", "unigram"])
def test_progress_and_reach_of_a_library(tmp_path, kind):
    """The bar moves while the library encodes. Which tokens it never makes is not known."""
    tok, told = of_library(tmp_path, kind), []
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text(TEXT, encoding="utf-8", newline="")
    found = tokenmill.inspect(
        tok, text=[tmp_path / "a.txt", tmp_path / "b.txt"], progress=lambda *step: told.append(step)
    )
    size = len(TEXT.encode())
    assert [step[1:] for step in told if step[0] == "encode"][-1] == (2 * size, 2 * size)
    assert all(of.key != "unreachable" for of in found.findings)
    assert not {"unreachable", "partial"} & {table.key for table in found.tables}
    assert all("no text produces" not in label for label, _ in found.tiles)


OURS = {
    "plain": {},
    "picky": {"refine": 0.8},
    "characters": {"alphabet": "characters"},
    "boundless": {"superwords": "boundless"},
}


@pytest.mark.parametrize("kind", ["wordpiece", "unigram", "sentencepiece", "normalized", *OURS])
def test_of_each_family(tmp_path, kind):
    if kind in OURS:
        tok = tokenmill.train_from_iterator([TEXT], 400, **OURS[kind])
    else:
        tok = of_library(tmp_path, kind)
    (tmp_path / "text.txt").write_text(TEXT, encoding="utf-8", newline="")
    usage = EvaluationText(tmp_path / "text.txt").usages(tok)["text"]
    assert usage.bytes / usage.tokens == by_hand(tok, TEXT)
    assert usage.characters == len(TEXT) and int(usage.by_id.sum()) == usage.tokens
    found = tokenmill.compare({"one": tok}, tmp_path / "text.txt")
    assert found.table("compression").column("bytes per token") == [by_hand(tok, TEXT)]
    found = tokenmill.inspect(tok, text=tmp_path / "text.txt")
    assert found.table("domains").column("bytes per token") == [by_hand(tok, TEXT)]


def test_rare_pretokens_that_were_left_out_have_neither_bytes_nor_tokens(tmp_path):
    counts = tokenmill.count_iterator([TEXT + " once upon"], min_count=2)
    tok = tokenmill.train_from_counts(counts, 300)
    usage = measure_usage(tok, counts)
    assert usage.bytes == sum(len(pretoken) * n for pretoken, n in counts.items()) < counts.total_bytes
    assert usage.tokens == sum(len(tok._core.encode_pretoken(pretoken)) * n for pretoken, n in counts.items())
    assert isinstance(counts, WordCounts)


@pytest.mark.parametrize("kind", ["wordpiece", "unigram"])
def test_a_vocabulary_without_merges_has_no_ios(tmp_path, kind):
    """Nothing is said of its swallowed tokens: 0% would be the best of all."""
    plain, other = tokenmill.train_from_iterator([TEXT], 400), of_library(tmp_path, kind)
    (tmp_path / "text.txt").write_text(TEXT, encoding="utf-8", newline="")
    one = tokenmill.inspect(other, text=tmp_path / "text.txt")
    assert str(one.table("vocabulary").pairs("what", "value")["split pattern"]) == "by the library"
    assert "swallowed" not in {finding.key for finding in one.findings}
    assert not {table.key for table in one.tables} & {"thresholds", "junk"}
    assert "IoS" not in str(one.tiles) and one.table("references").column("IoS ≥ 0.9")[0] is None
    both = tokenmill.compare({"plain": plain, "other": other}, tmp_path / "text.txt")
    assert both.table("vocabularies").column("IoS ≥ 0.9")[1] is None
    (found,) = (finding for finding in both.findings if finding.key == "swallowed")
    assert "other" not in found.statement
    assert next(tile[1] for tile in both.tiles if "IoS" in tile[0])[1][1:] == ("–", False)
    (chart,) = (chart for chart in both.charts if chart.key == "ios")
    assert [series.name for series in chart.series] == ["plain"]
    assert [column.name for column in both.table("scripts").columns] == ["script", "plain"]
    assert both.to_html() and both.to_markdown() and both.to_json()


@pytest.mark.parametrize("kind", ["wordpiece", "unigram"])
def test_an_unknown_token_is_no_encoding(tmp_path, kind):
    """One unknown token for a word would make the languages cheapest that a vocabulary does not know."""
    plain, other = tokenmill.train_from_iterator([TEXT], 300), of_library(tmp_path, kind)
    (tmp_path / "text.txt").write_text("low\n" + "ქართული ენა, " * 300, encoding="utf-8")
    both = tokenmill.compare({"plain": plain, "other": other}, tmp_path / "text.txt")
    assert both.table("references").column("Gini of 20 languages")[1] is None
    assert "no token for some of" in both.table("references").column("costs most")[1]
    assert "languages" not in {finding.key for finding in both.findings}
    density = next(finding for finding in both.findings if finding.key == "density")
    assert density.statement.startswith("other needs the fewest tokens") and density.level == "look"
    assert re.search(r"other uses its unknown token [\d,]+ times", density.advice)
    assert both.summary.startswith("other needs the fewest tokens for this text, but cannot represent all of it")
    one = tokenmill.inspect(other, text=tmp_path / "text.txt")
    assert "without some characters of" in one.summary
    text = one.table("text").pairs("what", "value")
    assert text["unknown tokens"].value > 0 and "dropped characters" not in text
    assert "unknown tokens" not in tokenmill.inspect(plain, text=tmp_path / "text.txt").table("text").column("what")


def test_dropped_characters_are_no_compression(tmp_path):
    """Text that is dropped costs no token, so a tokenizer that knows little of the text seems the best."""
    tokenmill.train_from_iterator([TEXT], 60, alphabet="characters").save(tmp_path / "few")
    with pytest.warns(UserWarning, match="dropped"):
        few = tokenmill.load(tmp_path / "few", drop_unknown=True)
    (tmp_path / "text.txt").write_text("low\n" + "ქართული " * 300, encoding="utf-8")
    both = tokenmill.compare({"few": few, "plain": tokenmill.train_from_iterator([TEXT], 300)}, tmp_path / "text.txt")
    assert both.summary.startswith("few needs the fewest tokens for this text, but cannot represent all of it")
    density = next(finding for finding in both.findings if finding.key == "density")
    assert density.advice == "few drops 2,100 characters: it cannot represent all of this text."
    assert "Georgian" in both.table("references").column("costs most")[0]
    assert both.table("references").column("Gini of 20 languages")[0] is None
    one = tokenmill.inspect(few, text=tmp_path / "text.txt")
    assert str(one.table("text").pairs("what", "value")["dropped characters"]) == "2,100"
