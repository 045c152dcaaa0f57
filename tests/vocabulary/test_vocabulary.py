"""Vocabulary: what it says of itself."""

import numpy as np
import pytest

from tokenmill.errors import UsageError
from tokenmill.vocabulary import AddedToken, Vocabulary

BYTES = tuple(bytes([i]) for i in range(256))


def picky():
    """258 = ab is removed for good; 256 = abc is removed and merged again; 257 is special."""
    events = [(97, 98, 258), (258, 99, 256), (258, -1, -1), (256, -1, -1), (258, 99, 256)]
    tokens = (*BYTES, b"abc", None, b"ab")
    return Vocabulary(tokens, ("x",), "events", np.array(events, np.int32), (AddedToken("<s>", 257),))


def test_removed_tokens_and_size():
    vocabulary = picky()
    assert vocabulary.removed == {258}
    assert vocabulary.n_vocab == 258
    assert vocabulary.special_tokens == {"<s>": 257}
    assert vocabulary.token_bytes(257) == b"<s>"
    assert vocabulary.token_bytes(256) == b"abc"
    assert vocabulary.token_bytes(-1) is None and vocabulary.token_bytes(999) is None
    assert vocabulary.event_list()[2] == ("remove", 258)
    assert vocabulary.event_list()[0] == ("merge", 97, 98, 258)


def test_order_and_events_go_together():
    with pytest.raises(UsageError, match="events"):
        Vocabulary(BYTES, (), "merges")
    with pytest.raises(UsageError, match="events"):
        Vocabulary(BYTES, (), "ranks", np.zeros((0, 3), np.int32))


def test_fingerprint_tells_what_decides_ids():
    plain = Vocabulary(BYTES, ("a",))
    assert plain.fingerprint() == Vocabulary(BYTES, ("a",)).fingerprint()
    others = [
        Vocabulary(BYTES, ("b",)),
        Vocabulary((*BYTES, b"ab"), ("a",)),
        Vocabulary(BYTES, ("a",), whole_pretokens=False),
        Vocabulary(BYTES, ("a",), added_tokens=(AddedToken("<s>", 256),)),
        Vocabulary(BYTES, ("a",), normalizers=("NFC",)),
        Vocabulary(BYTES, ("a",), "merges", np.zeros((0, 3), np.int32)),
        picky(),
    ]
    assert len({v.fingerprint() for v in [plain, *others]}) == len(others) + 1
