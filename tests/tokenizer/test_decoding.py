"""Ids to bytes and text."""

import pytest

from tokenmill.errors import UnknownTokenError


@pytest.mark.parametrize("wrong", [-1, 500, 2**31, 2**63, 2**64, -(2**70)])
def test_an_id_out_of_range_is_named(tok, wrong):
    for decode in (tok.decode, tok.decode_bytes, tok.decode_tokens_bytes, tok.decode_with_offsets):
        with pytest.raises(UnknownTokenError, match=f"^{wrong} is no id"):
            decode([97, wrong])
    with pytest.raises(KeyError, match=str(wrong)):
        tok.decode_single_token_bytes(wrong)
    with pytest.raises(UnknownTokenError, match=str(wrong)):
        tok.decode_batch([[97], [wrong]], num_threads=2)


def test_errors_are_treated_as_told(tok):
    broken = [0xE2, 0x82, 97]
    assert tok.decode(broken) == "\ufffda" == tok.decode(broken, errors="replace")
    assert tok.decode(broken, errors="ignore") == "a"
    assert tok.decode(broken, "backslashreplace") == "\\xe2\\x82a"
    with pytest.raises(UnicodeDecodeError):
        tok.decode(broken, errors="strict")
    with pytest.raises(LookupError):
        tok.decode(broken, errors="no such handler")


def test_every_id_alone(tok):
    for id in range(tok.n_vocab):
        assert tok.decode_bytes([id]) == tok.decode_single_token_bytes(id) == tok.vocabulary.token_bytes(id)


def test_many_ids(tok, text):
    """Past the number from which the GIL is given up, and to the last byte of the buffer."""
    ids = tok.encode(text)
    for n in range(len(ids)):
        assert tok.decode_bytes(ids[n:]) == b"".join(tok.decode_tokens_bytes(ids[n:]))
    assert tok.decode(ids * 500) == text * 500


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
    np = pytest.importorskip("numpy")
    stream = tok.stream_decoder()
    assert stream.feed(np.int64(97)) + stream.feed(np.array([98, 99])) == "abc"
