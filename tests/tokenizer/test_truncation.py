"""truncate, chunks, count_tokens and encode_with_offsets: never inside a character, never one token too many."""

import pytest

import tokenmill
from tokenmill import AddedToken, Normalization, Tokenizer, Vocabulary
from tokenmill.errors import SpecialTokenError, UsageError

BYTES = tuple(bytes([i]) for i in range(256))
MIXED = "low 漢字🙂 lower… é\u0301 \U0001f469\u200d\U0001f469\u200d\U0001f467 newest   wide\n\n  x"


def test_truncate(tok, text):
    for sample in (text, MIXED):
        ids = tok.encode(sample)
        for most in range(len(ids) + 2):
            cut = tok.truncate(sample, most)
            assert sample.startswith(cut) and tok.count_tokens(cut) <= most
            whole = tok.decode_bytes(ids[:most]).decode(errors="ignore")
            assert len(cut) <= len(whole)
            if tok.count_tokens(whole) <= most:  # nothing had to be given back
                assert cut == whole
        assert tok.truncate(sample, len(ids)) == sample
        assert tok.truncate(sample, int(1e30)) == sample  # transformers' model_max_length where there is no limit


def test_the_kernel_finds_the_prefix_of_the_spans(tok, text, monkeypatch):
    by_kernel = tok._core.truncate
    monkeypatch.setattr(tok._core, "truncate", lambda *_: None)  # the spans tell
    for sample in (text, MIXED, "low " * 300, "\ud800 low lower"):
        for most in range(len(tok.encode(sample)) + 2):
            assert tok.truncate(sample, most) == by_kernel(sample, most, tok._core.plan())
    monkeypatch.undo()
    special = "low<|endoftext|> low low"
    most = len(tok.encode("low")) + 1
    assert tok.truncate(special, most, allowed_special="all") == "low<|endoftext|>"
    with pytest.raises(SpecialTokenError):
        tok.truncate(special, 1)


def test_truncate_looks_no_further_than_it_must(tok, text):
    assert tok.truncate(text * 100_000, 3) == tok.truncate(text, 3)  # 40 MB, and at once


def test_split_at(tok, text):
    for sample in (text * 3, MIXED * 5):
        for most in (4, 5, 17, 100, 10_000):
            chunks = tok.chunks(sample, most)
            assert "".join(chunks) == sample and all(chunks)
            assert all(tok.count_tokens(chunk) <= most for chunk in chunks)
            rest = sample
            for chunk in chunks:
                assert chunk == tok.truncate(rest, most)
                rest = rest[len(chunk) :]
    assert tok.chunks("", 5) == []


def test_a_character_that_does_not_fit(tok):
    assert tok.truncate("🙂", 2) == "" and tok.truncate("a🙂", 2) == "a"
    with pytest.raises(UsageError, match="'🙂' alone needs more than 2 tokens"):
        tok.chunks("low 🙂", 2)
    with pytest.raises(UsageError, match="max_tokens is 0"):
        tok.chunks("low", 0)
    with pytest.raises(UsageError, match="max_tokens is -1"):
        tok.truncate("low", -1)
    assert tok.truncate("low", 0) == "" == tok.truncate("", 5)


def test_added_tokens_are_not_cut(tok):
    text = "low<|user|> low<|endoftext|><|endoftext|>"
    options = {"allowed_special": "all"}
    n = tok.count_tokens(text, **options)
    cuts = [tok.truncate(text, most, **options) for most in range(n + 1)]
    assert cuts[-1] == text and cuts[-2] == text[: -len("<|endoftext|>")]
    assert all(tok.count_tokens(cut, **options) <= most for most, cut in enumerate(cuts))
    assert sorted(cuts, key=len) == cuts
    assert "".join(tok.chunks(text, 2, **options)) == text
    with pytest.raises(SpecialTokenError):
        tok.truncate(text, 2)
    assert tok.truncate(text, tok.count_tokens("low") + 1, disallowed_special=()).startswith("low<")


def test_a_pretoken_cut_short_may_take_more_tokens():
    """Without the b that follows, the a's merge otherwise: what was found does not fit, and less is tried."""
    tok = Tokenizer(Vocabulary((*BYTES, b"ab", b"aab", b"aaab"), ()))
    for most in range(4):
        cut = tok.truncate("aaabaaab", most)
        assert tok.count_tokens(cut) <= most
    assert tok.truncate("aaab", 1) == "aaab" and tok.truncate("aaabx", 1) == "aaab"


def test_normalized_text_and_prefix_space():
    vocabulary = Vocabulary((*BYTES, b" a", "é".encode()), ("gpt2",), normalization=Normalization(("NFC",), True))
    tok = Tokenizer(vocabulary)
    assert tok.truncate("abe\u0301x", 3) == "abe\u0301"
    chunks = tok.chunks("abe\u0301 xe\u0301", 2)
    assert "".join(chunks) == "abe\u0301 xe\u0301" and all(tok.count_tokens(chunk) <= 2 for chunk in chunks)


def test_tokens_that_are_always_found():
    tok = Tokenizer(Vocabulary(BYTES, ("gpt2",), added_tokens=(AddedToken("  ", 300, special=False),)))
    assert tok.truncate("a  b", 2) == "a  " and tok.chunks("a  b  ", 1) == ["a", "  ", "b", "  "]


def test_spans_tile_the_text(tok, text):
    for sample in (text, MIXED):
        spans = tok.encode_with_offsets(sample)
        data = sample.encode()
        assert spans.text == sample and spans.ids == tok.encode(sample)
        assert [data[a:b] for a, b in spans.bytes.tolist()] == tok.decode_tokens_bytes(spans.ids)
        assert spans.bytes[0, 0] == 0 and spans.bytes[-1, 1] == len(data)
        assert (spans.bytes[1:, 0] == spans.bytes[:-1, 1]).all()
        for (a, b), (first, last) in zip(spans.bytes.tolist(), spans.characters.tolist(), strict=True):
            assert len(sample[:first].encode()) <= a < b <= len(sample[:last].encode())
            assert len(sample[: first + 1].encode()) > a and len(sample[: last - 1].encode()) < b
    empty = tok.encode_with_offsets("")
    assert empty.ids == [] and empty.bytes.shape == empty.characters.shape == (0, 2)


def test_spans_of_added_tokens(tok):
    spans = tok.encode_with_offsets("é<|user|>低", allowed_special="all")
    at = spans.ids.index(499)
    assert spans.bytes[at].tolist() == [2, 10] and spans.characters[at].tolist() == [1, 9]
    assert spans.bytes[-1, 1] == 13 and spans.characters[-1, 1] == 10


def test_text_behind_an_added_token_has_no_space_put_before_it():
    """With the rule "first", only the start of a text has one, so all of this text is two tokens."""
    tokens = (*(bytes([byte]) for byte in range(256)), b"ab")
    tok = Tokenizer(
        Vocabulary(
            tokens,
            (),
            added_tokens=(AddedToken("<x>", 257),),
            normalization=Normalization((), "first"),
            whole_pretokens=False,
        )
    )
    assert tok.encode("<x>ab", allowed_special="all") == [257, 256]
    assert tok.truncate("<x>ab", 2, allowed_special="all") == "<x>ab"
    assert tok.chunks("<x>abab", 2, allowed_special="all") == ["<x>ab", "ab"]


def test_a_lone_surrogate_is_a_replacement_character():
    tok = tokenmill.train_from_iterator(["low lower lowest"], vocab_size=262)
    assert tok.truncate("\ud800 low", 3) == "\ufffd"
    assert "".join(tok.chunks("\ud800 low", 3)) == "\ufffd low"
