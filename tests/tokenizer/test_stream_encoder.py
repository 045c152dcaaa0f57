"""The streaming encoder: joined, its ids are encode's, wherever the text is cut; and it holds back little."""

import copy
import pickle
import random

import pytest

import tokenmill
from tokenmill import AddedToken, Normalization, Tokenizer, Vocabulary
from tokenmill.errors import SpecialTokenError

BYTES = tuple(bytes([byte]) for byte in range(256))


def streamed(tok, parts, **special):
    stream = tok.stream_encoder(**special)
    return [id for part in parts for id in stream.feed(part)] + stream.finish()


@pytest.fixture(scope="module")
def nasty(text):
    return text[:160] + " a<|user|>b \n\n  1234 é\u0301 \U0001f600<|endof <|endoftext|>天地\ud800x \ud83d\ude00 \t"


@pytest.mark.parametrize("split", ["gpt2", "cl100k", "o200k", "llama3", "whitespace", "deepseek-v3", r"\w+|\b."])
def test_every_cut_gives_the_ids_of_encode(split, text, nasty):
    tok = tokenmill.train_from_iterator([text] * 3, 400, split=split, special_tokens=["<|endoftext|>", "<|user|>"])
    wanted = tok.encode(nasty, allowed_special="all")
    for at in range(len(nasty) + 1):
        assert streamed(tok, [nasty[:at], nasty[at:]], allowed_special="all") == wanted
    assert streamed(tok, nasty, allowed_special="all") == wanted  # a character at a time
    ordinary = tok.encode_ordinary(nasty)
    assert streamed(tok, nasty, disallowed_special=()) == ordinary
    chosen = random.Random(split)
    for _ in range(30):
        cuts = sorted(chosen.choices(range(len(nasty)), k=5))
        parts = [nasty[a:b] for a, b in zip([0, *cuts], [*cuts, len(nasty)], strict=True)]
        assert streamed(tok, parts, disallowed_special=()) == ordinary


def test_a_copy_of_a_stream_shares_no_buffer(tok):
    for change in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="a StreamEncoder cannot be pickled or copied; pickle the Tokenizer"):
            change(tok.stream_encoder())
    ids = tok.encode("天地")
    stream = tok.stream_decoder()
    stream.feed(ids[:1])
    for copied in (copy.copy(stream), copy.deepcopy(stream), pickle.loads(pickle.dumps(stream))):
        assert stream.feed([]) + copied.feed(ids[1:]) + copied.finish() == "天地"
    assert stream.feed(ids[1:]) + stream.finish() == "天地"


def test_a_special_token_in_two_parts_is_found(tok):
    stream = tok.stream_encoder()
    stream.feed("low <|endof")
    with pytest.raises(SpecialTokenError, match="endoftext"):
        stream.feed("text|> low low low"), stream.finish()


def test_ids_come_soon_and_little_is_held_back(tok, text):
    stream = tok.stream_encoder()
    given, most = [], 0
    for word in (text * 20).split(" "):
        given += stream.feed(word + " ")
        most = max(most, len(stream._buffer))
    assert most < 100 and len(given) > 0.98 * len(tok.encode(text * 20))
    assert given + stream.finish() == tok.encode((text * 20).replace("\n\n\t", "\n\n\t") + " ")
    assert stream.feed("low lower") == tok.encode("low") and stream.finish() == tok.encode(" lower")  # it began again


def test_a_long_pretoken_costs_no_quadratic_time(tok, monkeypatch):
    stream = tok.stream_encoder()
    searched, scanner = [0], stream._splitter.scanner

    class Counting:
        def certain_cut(self, data, start, end):
            searched[0] += max(0, end - start)
            return scanner.certain_cut(data, start, end)

    monkeypatch.setattr(stream._splitter, "scanner", Counting())
    ids = [id for _ in range(2000) for id in stream.feed("x" * 20)] + stream.finish()
    assert ids == tok.encode("x" * 40_000)
    assert searched[0] < 4 * 40_000


@pytest.mark.parametrize(
    "fields",
    [
        {"normalization": Normalization(("NFC",))},
        {"normalization": Normalization((), True)},
        {"added_tokens": (AddedToken("<x>", 256, special=False, lstrip=True),)},
        {"added_tokens": (AddedToken("<x>", 256, special=False), AddedToken("<x>y", 257, special=False))},
    ],
)
def test_other_kinds_of_tokenizers(fields):
    tok = Tokenizer(Vocabulary(BYTES, ("gpt2",), **fields))
    text = "e\u0301 <x>y  <x> é<x"
    for at in range(len(text) + 1):
        assert streamed(tok, [text[:at], text[at:]]) == tok.encode(text)


def test_a_special_token_before_text_without_a_cut(tok):
    """The place that was searched last lies inside the token, or behind it: it is found all the same."""
    for after in range(40):
        text = "low<|endoftext|>" + "x" * after
        wanted = tok.encode(text, allowed_special="all")
        assert streamed(tok, text, allowed_special="all") == wanted, after
        with pytest.raises(SpecialTokenError, match="endoftext"):
            streamed(tok, text)


def test_no_cut_is_inside_a_special_token():
    """Wherever the search begins, as for the borders of the spans that tasks count."""
    chosen = random.Random(3)
    splitter = tokenmill.split.Splitter("cl100k", special_tokens=["<|endoftext|>", "<| |>", "a b"])
    for _ in range(300):
        text = "".join(chosen.choices(["<|endoftext|>", "<| |>", "low ", "a b", "\n", "x", "'s "], k=12)).encode()
        start, length = sorted(chosen.choices(range(len(text) + 1), k=2))
        place = splitter.certain_cut(text, start, length)
        for token in splitter.special_tokens:
            at = text.find(token.encode())
            while at >= 0:
                assert not at < place < at + len(token), (text, start, length)
                at = text.find(token.encode(), at + 1)
