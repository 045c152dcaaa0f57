"""Ids to bytes and text."""

import re
from random import Random

import numpy as np
import pytest

import tokenmill
from tokenmill import AddedToken, Tokenizer, Vocabulary
from tokenmill.errors import UnknownTokenError, UsageError, WrongTypeError


@pytest.mark.parametrize("wrong", [-1, 500, 2**31, 2**63, 2**64, -(2**70)])
def test_an_id_out_of_range_is_named(tok, wrong):
    for decode in (tok.decode, tok.decode_bytes, tok.decode_tokens_bytes, tok.decode_with_offsets):
        with pytest.raises(UnknownTokenError, match=f"^{wrong} is not an id"):
            decode([97, wrong])
    with pytest.raises(KeyError, match=str(wrong)):
        tok.decode_single_token_bytes(wrong)
    with pytest.raises(UnknownTokenError, match=str(wrong)):
        tok.decode_batch([[97], [wrong]], num_threads=2)


@pytest.mark.parametrize("wrong", ["12", [1, "2"], [1.0], [[1, 2]], np.array([[1, 2]]), np.array([1.0]), [None]])
@pytest.mark.parametrize("method", ["decode", "decode_bytes", "decode_with_offsets"])
def test_an_id_of_another_type_is_named(tok, method, wrong):
    with pytest.raises(WrongTypeError, match=r"an id is an integer, not (str|float64|float|list|ndarray|NoneType)"):
        getattr(tok, method)(wrong)


def test_what_is_no_token(tok):
    with pytest.raises(UnknownTokenError, match="is not a token of the vocabulary"):
        tok.encode_single_token("\ud800")
    with pytest.raises(TypeError, match="it must be text or bytes"):
        tok.encode_single_token(5)
    assert tok.encode_single_token(bytearray(b"a")) == tok.encode_single_token(memoryview(b"a")) == 97


def test_errors_are_treated_as_told(tok):
    broken = [0xE2, 0x82, 97]
    assert tok.decode(broken) == "\ufffda" == tok.decode(broken, errors="replace")
    assert tok.decode(broken, errors="ignore") == "a"
    assert tok.decode(broken, "backslashreplace") == "\\xe2\\x82a"
    with pytest.raises(UnicodeDecodeError):
        tok.decode(broken, errors="strict")
    for wrong in ("no such handler", 5, None, "a\0b"):
        for call in (
            lambda wrong=wrong: tok.decode(broken, wrong),
            lambda wrong=wrong: tok.stream_decoder(errors=wrong),
        ):
            with pytest.raises(
                UsageError, match=f"errors is {re.escape(repr(wrong))}; .* 'replace', 'strict' or 'ignore'"
            ):
                call()


def test_every_id_alone(tok):
    for id in range(tok.n_vocab):
        assert tok.decode_bytes([id]) == tok.decode_single_token_bytes(id) == tok.vocabulary.token_bytes(id)


def test_many_ids(tok, text):
    """Past the number from which the GIL is given up, and to the last byte of the buffer."""
    ids = tok.encode(text)
    for n in range(len(ids)):
        assert tok.decode_bytes(ids[n:]) == b"".join(tok.decode_tokens_bytes(ids[n:]))
    assert tok.decode(ids * 500) == text * 500


ALPHABETS = {
    "ascii": "ab c\n",
    "latin": "ab\x80é\xff",
    "greek": "aΩé\u07ff",
    "basic": "a漢\u0800\ud7ff\ue000\uffff",
    "astral": "a🙂\U00010000\U0010ffff漢é",
}


@pytest.mark.parametrize("kind", ALPHABETS)
def test_every_width_of_text(kind):
    """Tokens that end inside of characters, at every place of the buffer that they go through; long tokens too."""
    rng = Random(kind)
    letters = ALPHABETS[kind]
    longs = ["".join(rng.choices(letters, k=n)).encode() for n in (2, 3, 5, 17, 200, 5000)]
    cuts = [long[rng.randrange(4) : len(long) - rng.randrange(4)] for long in longs]
    tokens = list(dict.fromkeys([*(bytes([i]) for i in range(256)), *longs, *cuts]))
    tok = Tokenizer(Vocabulary(tuple(token for token in tokens if token), ()))
    ids_of = {token: id for id, token in enumerate(tok.vocabulary.tokens)}
    for _ in range(25):
        data = b"".join(rng.choices([*longs[:5], *(letter.encode() for letter in letters)], k=rng.choice([1, 3, 3000])))
        ids = list(data)
        for long in rng.sample(longs, 2):
            at = rng.choice([0, len(ids)])
            ids[at:at] = [ids_of[long]]
        expected = b"".join(tok.decode_tokens_bytes(ids)).decode()
        for given in (ids, tuple(ids), np.array(ids, np.uint32), np.array(ids, np.int64), np.array(ids, np.uint16)):
            assert tok.decode(given) == expected
        assert tok.decode_bytes(ids) == expected.encode()


def test_bytes_that_are_no_text_go_through_the_handlers():
    tok = Tokenizer(Vocabulary((*(bytes([i]) for i in range(256)), "é".encode(), b"\xe2\x82", b"ab" * 3000), ()))
    rng = Random(1)
    for _ in range(400):
        ids = rng.choices(
            [97, 98, 0xC3, 0xA9, 0xED, 0xA0, 0x80, 0xF0, 0xF4, 0x90, 256, 257], k=rng.choice([2, 9, 1500])
        )
        ids += [258] * rng.randrange(2)
        data = b"".join(tok.decode_tokens_bytes(ids))
        for errors in ("replace", "ignore", "backslashreplace"):
            assert tok.decode(ids, errors) == data.decode(errors=errors)
    for alone in ([0x80], [0xC3], [0xFF] * 2000, [0xED, 0xA0, 0x80], [0xF0, 0x9F, 0x99]):
        assert tok.decode(alone) == bytes(alone).decode(errors="replace")
        with pytest.raises(UnicodeDecodeError):
            tok.decode(alone, "strict")


def test_ids_of_odd_types(tok):
    """Subclasses of int, NumPy's numbers, and what only looks like an int; the error names the id."""
    assert tok.decode([True, np.int8(97), 98]) == "\x01ab"
    assert tok.decode(iter([97, 98])) == "ab" and tok.decode(np.array([[97, 98]])[0]) == "ab"
    assert tok.decode(np.array([97, 98, 99])[::2]) == "ac"
    for wrong in ([97, 1 << 40], [97, np.int64(-5)], np.array([97, 2**32 - 1], np.uint32), np.array([97, -1])):
        with pytest.raises(UnknownTokenError):
            tok.decode(wrong)


def test_offsets(tok):
    ids = tok.encode("low 漢🙂 é")
    decoded, offsets = tok.decode_with_offsets(ids)
    assert decoded == "low 漢🙂 é" and len(offsets) == len(ids)
    for id, offset in zip(ids, offsets, strict=True):
        token = tok.decode_single_token_bytes(id)
        if token.decode(errors="ignore"):
            assert decoded.startswith(token.decode(errors="ignore"), offset)
    with pytest.raises(UnicodeDecodeError):
        tok.decode_with_offsets([0xE2])


def test_stream(tok, text):
    ids = tok.encode(text + "🙂漢é")
    stream = tok.stream_decoder()
    given = [stream.feed(id) for id in ids]
    assert "".join(given) + stream.finish() == text + "🙂漢é"
    assert "\ufffd" not in "".join(given)
    for size in (2, 3, 50):
        stream = tok.stream_decoder()
        parts = [stream.feed(ids[i : i + size]) for i in range(0, len(ids), size)]
        assert "".join(parts) == text + "🙂漢é"


def test_stream_that_ends_inside_a_character(tok):
    stream = tok.stream_decoder()
    assert [stream.feed(byte) for byte in "é🙂".encode()[:5]] == ["", "é", "", "", ""]
    assert stream.finish() == "\ufffd"
    assert stream.feed(97) == "a" and stream.finish() == ""  # it begins anew
    assert [stream.feed(0xFF), stream.feed(97)] == ["\ufffd", "a"]
    strict = tok.stream_decoder(errors="strict")
    with pytest.raises(UnicodeDecodeError):
        strict.feed(0xFF)


def test_stream_takes_numpy(tok):
    stream = tok.stream_decoder()
    assert stream.feed(np.int64(97)) + stream.feed(np.array([98, 99])) == "abc"


@pytest.mark.parametrize("method", ["decode", "decode_bytes"])
def test_a_list_that_its_own_item_shortens(tok, method):
    """An item's __index__ may run any code, so the kernel must not trust the length that it read before."""

    class Shortens:
        def __index__(self):
            ids.clear()
            return 97

    ids = [Shortens(), *[97] * 1_000_000]
    with pytest.raises(UsageError, match="had 1000001 ids and has 0 now"):
        getattr(tok, method)(ids)


def test_an_unknown_id_that_shortens_its_list_is_named(tok):
    class Unknown:
        def __index__(self):
            ids.clear()
            return -5

        def __str__(self):
            return "minus five"

    ids = [Unknown()]
    with pytest.raises(UnknownTokenError, match="minus five is not an id"):
        tok.decode(ids)


@pytest.fixture(scope="module")
def published(shared, tmp_path_factory):
    """load(name): a published tokenizer of the shared folder."""
    import zstandard

    folder = tmp_path_factory.mktemp("published")

    def load(name):
        path = folder / name
        path.write_bytes(zstandard.open(shared / "vocab" / f"{name}.zst", "rb").read())
        return tokenmill.load(path)

    return load


@pytest.mark.parametrize(
    "name",
    ["llama2-sentencepiece.model", "llama2-tokenizer.json", "mistral-v3-tokenizer.json", "phi3-tokenizer.json",
     "gemma2-tokenizer.json", "gpt2-tokenizer.json", "whisper-tiny-tokenizer.json", "qwen3-tokenizer.json"],
)  # fmt: skip
def test_all_ways_to_decode_give_the_same_text(published, name):
    """Random ids, byte tokens among them, and encoded texts: at once, id by id, in chunks, and with offsets."""
    tok, chosen = published(name), Random(name)
    known = [id for id in range(tok.n_vocab) if tok.vocabulary.token_bytes(id) is not None]
    first = known[:300]  # the byte tokens of SentencePiece-style files
    samples = [chosen.choices(chosen.choice([known, first]), k=chosen.randrange(12)) for _ in range(600)]
    samples += [tok.encode_ordinary(text) for text in (" a", "  b", "x \u6f22\u5b57 \U0001f99c\n", "\u2581a", "")]
    for ids in samples:
        text = tok.decode(ids)
        stream = tok.stream_decoder()
        assert "".join(map(stream.feed, ids)) + stream.finish() == text, ids
        middle = chosen.randrange(len(ids) + 1)
        assert stream.feed(ids[:middle]) + stream.feed(ids[middle:]) + stream.finish() == text, ids
        try:
            whole, starts = tok.decode_with_offsets(ids)
        except UnicodeDecodeError:
            continue
        assert whole == text and len(starts) == len(ids) and starts == sorted(starts), ids
        for id, start in zip(ids, starts, strict=True):
            token = tok.decode_single_token_bytes(id).decode("utf-8", "ignore").lstrip(" ")
            assert not token or token[0] in text[start:], ids


class Counting(frozenset):
    """A set that counts how often it is asked."""

    asked = 0

    def __contains__(self, item):
        self.asked += 1
        return super().__contains__(item)


def test_a_stream_looks_at_each_byte_token_of_a_run_once(published):
    tok = published("llama2-sentencepiece.model")
    stream, ids = tok.stream_decoder(), tok.encode("\U0001f99c" * 500)
    stream._byte_tokens = Counting(stream._byte_tokens)
    assert len(ids) > 2000 and "".join(map(stream.feed, ids)) + stream.finish() == tok.decode(ids)
    assert stream._byte_tokens.asked <= len(ids)


def test_special_tokens_are_left_out_on_request():
    tokens = tuple(bytes([byte]) for byte in range(256))
    added = (AddedToken("<s>", 256), AddedToken("<b>", 257, special=False))
    tok = Tokenizer(Vocabulary(tokens, ("gpt2",), added_tokens=added))
    ids = [256, *b"low", 257, 256]
    assert tok.decode(ids) == "<s>low<b><s>" and tok.decode(ids, skip_special_tokens=True) == "low<b>"
    assert tok.decode(np.array(ids, np.uint32), skip_special_tokens=True) == "low<b>"
    assert tok.decode_batch([ids, []], skip_special_tokens=True) == ["low<b>", ""]
    stream = tok.stream_decoder(skip_special_tokens=True)
    assert stream.feed(256) + stream.feed(ids[1:]) + stream.finish() == "low<b>"
    assert tok.is_special_token(256) and not tok.is_special_token(257)
    for wrong in (5, None, [[1]], np.zeros((1, 1), int)):
        with pytest.raises(WrongTypeError, match="ids are a list or an array of integers"):
            tok.decode(wrong, skip_special_tokens=True)
    for wrong in (None, 1.5, np.array(5)):
        with pytest.raises(WrongTypeError, match="ids are a list or an array of integers"):
            stream.feed(wrong)
