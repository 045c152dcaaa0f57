"""The interface of Tokenizer: what each verb gives, in all its forms."""

import copy
import pickle
import random
import sys
from array import array
from itertools import pairwise

import numpy as np
import pytest

import tokenmill
from naive_encoder import NaiveEncoder
from tokenmill import AddedToken, Normalization, Tokenizer, Vocabulary
from tokenmill.errors import FormatError, PatternError, UnknownTokenError, UsageError, WrongTypeError
from tokenmill.split.patterns import PATTERNS

BYTES = tuple(bytes([i]) for i in range(256))


def test_round_trip(tok, text):
    ids = tok.encode(text)
    assert len(ids) < len(text.encode()) / 2
    assert tok.decode(ids) == text
    assert tok.decode_bytes(ids) == text.encode()
    assert b"".join(tok.decode_tokens_bytes(ids)) == text.encode()
    assert tok.encode("") == [] and tok.decode([]) == ""


def test_every_way_gives_the_same_ids(tok, text):
    for sample in ("", "a", text, text * 400):  # short, and past the size from which the GIL is given up
        ids = tok.encode(sample)
        assert tok.encode_ordinary(sample) == ids
        assert tok.encode_bytes(sample.encode()) == ids
        assert tok.encode_batch([sample]) == tok.encode_ordinary_batch([sample]) == [ids]
        assert tok.count_tokens(sample) == len(ids)
        assert tok.encode_with_offsets(sample).ids == ids
        array_ = tok.encode_to_numpy(sample)
        assert array_.dtype == np.uint32 and array_.flags.writeable and array_.tolist() == ids
        assert tok.encode_to_numpy(sample.encode()).tolist() == ids


def test_batches(tok, text):
    texts = [text[i : i + 7 * i % 50] for i in range(300)] + ["", text * 50] + [text] * 3000
    expected = [tok.encode(t) for t in texts]
    for threads in (None, 1, 2, 7):
        assert tok.encode_batch(texts, num_threads=threads) == expected
        assert tok.encode_ordinary_batch(iter(texts), num_threads=threads) == expected
        ids, offsets = tok.encode_batch_to_numpy(texts, num_threads=threads)
        assert [ids[a:b].tolist() for a, b in pairwise(offsets)] == expected
        assert tok.decode_batch(expected, num_threads=threads) == texts
        assert tok.decode_bytes_batch(expected, num_threads=threads) == [t.encode() for t in texts]
    assert tok.encode_batch([]) == [] and tok.decode_batch([]) == []
    ids, offsets = tok.encode_batch_to_numpy([])
    assert ids.tolist() == [] and offsets.tolist() == [0]
    with pytest.raises(UsageError, match="num_threads is 0"):
        tok.encode_batch(texts, num_threads=0)
    with pytest.raises(WrongTypeError, match="num_threads is '2', of the type str; it must be a whole number or None"):
        tok.encode("low " * (1 << 18), num_threads="2")


def test_wrong_types(tok):
    for wrong in (None, 7, ["low"]):
        with pytest.raises((TypeError, AttributeError)):
            tok.encode(wrong)
        with pytest.raises((TypeError, AttributeError)):
            tok.encode_batch([wrong])
    for wrong in (["a"], [1.5], [None], 7):
        with pytest.raises(TypeError):
            tok.decode(wrong)
    for wrong in (np.uint16(65), np.int64(65), np.array(65)):  # NumPy lets these seem to be iterable
        with pytest.raises(WrongTypeError, match="a list or an array of integers, not "):
            tok.decode(wrong)
        with pytest.raises(WrongTypeError):
            tok.decode_batch([wrong])
    for wrong in (None, 65):
        with pytest.raises(WrongTypeError, match="must be text or bytes"):
            tok.token_to_id(wrong)
    for wrong in (None, "65", 65.0):
        with pytest.raises(WrongTypeError, match="must be a whole number"):
            tok.is_special_token(wrong)
    with pytest.raises(WrongTypeError, match="it must be a list of lists of whole numbers"):
        tok.decode_batch(None)


@pytest.mark.parametrize("num_threads", [1, 2])
def test_the_text_of_a_batch_that_is_not_one_is_named(tok, num_threads):
    texts = [*["low tower"] * 50, float("nan"), *["low tower"] * 50]
    for encode in (tok.encode_batch, tok.encode_ordinary_batch, tok.encode_batch_to_numpy):
        with pytest.raises(WrongTypeError, match=r"^texts\[50\] is nan; it must be str or bytes$"):
            encode(texts, num_threads=num_threads)


def test_single_tokens(tok):
    id = tok.encode_single_token(" the")
    assert tok.decode_single_token_bytes(id) == b" the" and tok.encode_single_token(b" the") == id
    assert tok.decode_single_token_bytes(tok.encode_single_token("<|endoftext|>")) == b"<|endoftext|>"
    assert tok.encode_single_token(b"\xff") == 255
    with pytest.raises(KeyError, match="'no such token' is not a token"):
        tok.encode_single_token("no such token")


def test_facts(tok):
    assert tok.n_vocab == 500 and tok.max_token_value == 499
    assert tok.special_tokens_set == {"<|endoftext|>", "<|user|>"}
    assert tok.eot_token == 498 and tok.is_special_token(498) and not tok.is_special_token(5)
    assert len(tok.mergeable_ranks) == 498 and tok.mergeable_ranks[b"a"] == 97
    assert tok.token_byte_values() == sorted(tok.mergeable_ranks) and len(tok.token_byte_values()) == 498
    assert tok.split_pattern == tokenmill.Splitter("llama3").patterns[0]
    assert tok.events[0][0] == "merge" and len(tok.events) >= 498 - 256
    assert "500 ids" in repr(tok)
    with pytest.raises(KeyError, match="it has none"):
        _ = Tokenizer(Vocabulary(BYTES, ())).eot_token
    many = tuple(tokenmill.AddedToken(f"<|{n}|>", 256 + n) for n in range(200))
    with pytest.raises(KeyError, match=r"it has <\|0\|>, .*, <\|11\|> and 188 more"):
        _ = Tokenizer(Vocabulary(BYTES, (), added_tokens=many)).eot_token


def test_equality_copies_and_pickles(tok, text):
    twin = Tokenizer(Vocabulary(BYTES, ("gpt2",)))
    assert tok != twin and tok != "tok" and len({tok, twin, copy.copy(tok), copy.deepcopy(tok)}) == 2
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(tok, protocol))
        assert again == tok and hash(again) == hash(tok) and again.encode(text) == tok.encode(text)
        assert again.name == tok.name


def test_unknown_characters():
    """Characters outside of the alphabet, one id each; bytes that are no character as well."""
    vocabulary = Vocabulary(
        (b"l", b"o", b"w", "é".encode(), b"<unk>", b"lo"),
        (),
        "merges",
        np.array([(0, 1, 5)], np.int32),
        alphabet="characters",
        unknown=4,
    )
    tok = Tokenizer(vocabulary)
    assert tok.encode("loéw漢x🙂") == [5, 3, 2, 4, 4, 4]
    assert tok.encode_bytes(b"lo\xe6\xbc\xff") == [5, 4, 4, 4]
    spans = tok.encode_with_offsets("x漢lo🙂é")
    assert spans.bytes.tolist() == [[0, 1], [1, 4], [4, 6], [6, 10], [10, 12]]
    assert spans.characters.tolist() == [[0, 1], [1, 2], [2, 4], [4, 5], [5, 6]]
    assert tok.truncate("x漢lo🙂é", 3) == "x漢lo"


def test_bytes_without_a_token():
    tokens = tuple(token for token in BYTES if token != b"\xf0")
    with pytest.raises(UsageError, match=r"no token for b'\\xf0'"):
        Tokenizer(Vocabulary(tokens, ())).encode("a🙂")
    assert Tokenizer(Vocabulary(tokens, (), unknown=7)).encode("🙂")[0] == 7
    assert Tokenizer(Vocabulary((*tokens, "🙂".encode()[:2]), ())).encode("🙂")[0] == 255  # the pair is a token


def test_normalization_and_prefix_space():
    vocabulary = Vocabulary((*BYTES, b" a"), ("gpt2",), normalization=Normalization(("NFC",), True))
    tok = Tokenizer(vocabulary)
    assert tok.encode("abc") == [256, 98, 99] and tok.encode(" abc") == [256, 98, 99]
    assert tok.encode("e\u0301") == [32, *"é".encode()]
    spans = tok.encode_with_offsets("abe\u0301")
    assert spans.text == "abe\u0301" and spans.bytes.tolist() == [[0, 1], [1, 2], [2, 5], [2, 5]]
    assert spans.characters.tolist() == [[0, 1], [1, 2], [2, 4], [2, 4]]
    with pytest.raises(FormatError, match="the normalizer 'Uppercase' is not one"):
        Tokenizer(Vocabulary(BYTES, (), normalization=Normalization(("Uppercase",))))


def test_removed_tokens_are_never_given_out():
    events = np.array([(97, 98, 256), (256, 99, 257), (256, -1, -1)], np.int32)
    vocabulary = Vocabulary((*BYTES, b"ab", b"abc"), (), "events", events)
    tok = Tokenizer(vocabulary)
    assert tok.encode("ab") == [97, 98] and tok.encode("abcab") == [257, 97, 98]
    assert b"ab" not in tok.mergeable_ranks
    with pytest.raises(UnknownTokenError, match="256 is not an id"):
        tok.decode([256])
    assert tok.encode("abcab") == NaiveEncoder(vocabulary, lambda data: [len(data)]).encode(b"abcab")


def test_added_tokens_far_above_the_others():
    tok = Tokenizer(Vocabulary(BYTES, (), added_tokens=(AddedToken("<far>", 5_000_000),)))
    assert tok.n_vocab == 5_000_001
    assert tok.encode("a<far>", allowed_special="all") == [97, 5_000_000] and tok.decode([5_000_000]) == "<far>"


def test_ids_in_other_containers(tok, text):
    ids = tok.encode(text)
    for other in (tuple(ids), iter(ids), np.array(ids), np.array(ids, np.uint32), np.array(ids, np.uint16)):
        assert tok.decode_bytes(other) == text.encode()
    assert tok.decode(array("I", ids)) == tok.decode(np.array(ids)[::1]) == text
    assert tok.decode(np.array(ids * 2, np.int64)[::2]) == tok.decode((ids * 2)[::2])
    assert tok.decode([np.int64(id) for id in ids]) == text


@pytest.mark.parametrize("kind", ["a\u00e9", "a\u00e9\u4e2d", "a\u00e9\u4e2d\U0001f642"])
def test_long_texts_of_each_width(kind):
    """Their UTF-8 is made by the kernel, and not kept with the str."""
    tok = Tokenizer(Vocabulary(BYTES, ("whitespace",)))
    rng = random.Random(6)
    text = "".join(rng.choices(kind + " " * 3 + "bcdefghijkl" * rng.randint(0, 3), k=600_000))
    before = sys.getsizeof(text)
    for part in (text, text[: (1 << 19) - 1], text[: 1 << 19] + kind[-1]):
        assert tok.encode(part) == list(part.encode())
        assert tok.encode_to_numpy(part).tobytes() == np.frombuffer(part.encode(), np.uint8).astype(np.uint32).tobytes()
    assert sys.getsizeof(text) == before
    broken = text + "\ud800" + text
    assert tok.encode(broken) == list(broken.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode())


def test_encode_bytes_takes_bytes_only(tok):
    """An int was taken for so many zero bytes."""
    for wrong in (3, 10**11, "low", np.str_("low"), [108, 111, 119], None):
        with pytest.raises(TypeError, match=r"it must be a?.*bytes"):
            tok.encode_bytes(wrong)
    for data in (bytearray(b"low"), memoryview(b"slow")[1:], np.frombuffer(b"low", np.uint8)):
        assert tok.encode_bytes(data) == tok.encode_bytes(b"low")


def test_from_what_tiktoken_is_made_of():
    tiktoken = pytest.importorskip("tiktoken")
    ranks = {**{bytes([byte]): byte for byte in range(256)}, b"lo": 256, b"low": 257}
    parts = {"mergeable_ranks": ranks, "special_tokens": {"<s>": 300}}
    theirs = tiktoken.Encoding("mine", pat_str=PATTERNS["cl100k"], **parts)
    tok = Tokenizer.from_ranks(ranks, split=PATTERNS["cl100k"], special_tokens={"<s>": 300}, name="mine")
    assert tok.encode("low<s>lower", allowed_special="all") == theirs.encode("low<s>lower", allowed_special="all")
    assert tok.name == "mine" and tok.n_vocab == theirs.n_vocab
    with pytest.raises(ValueError, match="disallowed special token"):
        tok.encode("low<s>")


def test_a_special_token_cannot_have_the_id_of_an_ordinary_token(tmp_path):
    """Text with the ordinary token was decoded to the special token."""
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"<s>": 256}
    with pytest.raises(UsageError, match=r"'<t>' cannot have the id 97: it is that of the token b'a'"):
        Tokenizer.from_ranks(ranks, split="gpt2", special_tokens={"<t>": 97})
    tok = Tokenizer.from_ranks(ranks, split="gpt2", special_tokens={"<s>": 256, "<t>": 300})
    assert tok.encode("<s><t>", allowed_special="all") == [256, 300]
    tok.save(tmp_path / "t", format="tiktoken")
    with pytest.raises(UsageError, match="'<u>' cannot have the id 97"):
        tokenmill.load(tmp_path / "t", split="gpt2", special_tokens={"<u>": 97})


def test_a_wrong_pattern_of_ranks_is_an_error_before_the_first_text():
    for pattern in ("(", r"\p{Foo}"):
        with pytest.raises(PatternError, match=r"not closed|unknown property"):
            Tokenizer.from_ranks({b"a": 0}, split=pattern)


@pytest.mark.parametrize("id", [-1, 5])
def test_ranks_with_an_id_that_loses_a_token_are_refused(id):
    ranks = {**{bytes([byte]): byte for byte in range(256)}, b"lo": id}
    with pytest.raises(UsageError, match="a negative id, or one that two tokens share"):
        Tokenizer.from_ranks(ranks, split="gpt2")
