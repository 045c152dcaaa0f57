"""Vocabulary: what it says of itself, and that no invalid one can be made."""

import pickle
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenmill import Tokenizer
from tokenmill.errors import FormatError, UsageError
from tokenmill.vocabulary import MAX_ID, PATTERNS, AddedToken, Normalization, Vocabulary

BYTES = tuple(bytes([i]) for i in range(256))


def picky(**fields):
    """258 = ab is removed for good; 256 = abc is removed and merged again; 257 is special."""
    events = [(97, 98, 258), (258, 99, 256), (256, -1, -1), (258, 99, 256), (258, -1, -1)]
    tokens = (*BYTES, b"abc", None, b"ab")
    options = {"events": np.array(events, np.int32), "added_tokens": (AddedToken("<s>", 257),)} | fields
    return Vocabulary(tokens, ("x",), "events", **options)


def test_removed_tokens_and_size():
    vocabulary = picky()
    assert vocabulary.removed == {258}
    assert vocabulary.n_vocab == 258
    assert vocabulary.special_tokens == {"<s>": 257}
    assert vocabulary.token_bytes(257) == b"<s>"
    assert vocabulary.token_bytes(256) == b"abc"
    assert vocabulary.token_bytes(-1) is None and vocabulary.token_bytes(999) is None
    assert vocabulary.event_list()[2] == ("remove", 256)
    assert vocabulary.event_list()[0] == ("merge", 97, 98, 258)


def test_fingerprint_tells_what_decides_ids():
    plain = Vocabulary(BYTES, ("a",))
    assert plain.fingerprint() == Vocabulary((*BYTES, None), ["a"], notes=("x",)).fingerprint()
    others = [
        Vocabulary(BYTES, ("b",)),
        Vocabulary((*BYTES, b"ab"), ("a",)),
        Vocabulary(BYTES, ("a",), whole_pretokens=False),
        Vocabulary(BYTES, ("a",), added_tokens=(AddedToken("<s>", 256),)),
        Vocabulary(BYTES, ("a",), normalization=Normalization(("NFC",))),
        Vocabulary(BYTES, ("a",), "merges"),
        picky(),
    ]
    assert len({v.fingerprint() for v in [plain, *others]}) == len(others) + 1


def test_a_pattern_may_be_given_by_name():
    assert Vocabulary(BYTES, ("gpt2",)).split_patterns == (PATTERNS["gpt2"],)


def test_nothing_can_be_changed():
    vocabulary = picky()
    with pytest.raises(ValueError, match="read-only"):
        vocabulary.events[0, 0] = 98
    with pytest.raises(AttributeError, match=r"vocabulary.replace\(tokens="):
        vocabulary.tokens = ()
    again = pickle.loads(pickle.dumps(vocabulary))
    assert again.fingerprint() == vocabulary.fingerprint() and again.removed == {258}
    with pytest.raises(ValueError, match="read-only"):
        again.events[0, 0] = 98
    rows = np.array([(97, 98, 256)])
    merges = Vocabulary((*BYTES, b"ab"), (), "merges", rows)
    rows[0] = 0
    assert merges.events.tolist() == [[97, 98, 256]] and merges.events.dtype == np.int32


def test_a_field_that_there_is_not():
    vocabulary = Vocabulary(BYTES, (), added_tokens=(AddedToken("<s>", 256),))
    assert vocabulary.replace(added_tokens=()).special_tokens == {}
    with pytest.raises(TypeError, match="colour"):
        vocabulary.replace(colour="red")
    for values, fields in [((BYTES,), {}), ((BYTES, ()), {"tokens": BYTES}), ((BYTES, ()), {"colour": "red"})]:
        with pytest.raises(TypeError, match="Vocabulary"):
            Vocabulary(*values, **fields)


AB = (*BYTES, b"ab", b"abc", None)
SUPERWORDS = {
    "tokens": (*BYTES, b"ab", b"abc", b"bc", b"abcc"),
    "split_patterns": (".",),
    "order": "events",
    "events": [(97, 98, 256), (98, 99, 258)],
    "whole_pretokens": False,
}
BAD = {
    "events of ranks": ("has 1 events", {"events": [(97, 98, 256)]}),
    "no such order": ("order is 'rank'", {"order": "rank"}),
    "no such alphabet": ("alphabet is 'latin'", {"alphabet": "latin"}),
    "no such normalizer": ("the normalizer 'Uppercase' is not one", {"normalization": Normalization(("Uppercase",))}),
    "no such normalization": ("normalization is 'NFC'; expected a Normalization", {"normalization": "NFC"}),
    "a list of normalizers": ("expected a Normalization, with a tuple", {"normalization": Normalization(["NFC"])}),
    "no such place for a space": ("add_prefix_space is 1", {"normalization": Normalization((), 1)}),
    "no such spaces to strip": ("strip_decoded is 'all'", {"normalization": Normalization(strip_decoded="all")}),
    "not a flag": ("whole_pretokens is 'no'", {"whole_pretokens": "no"}),
    "no tokens": ("tokens is 5", {"tokens": 5}),
    "no added token": ("contains '<a>'; expected an AddedToken", {"added_tokens": ("<a>",)}),
    "refine is text": (
        "refine is '0.9'",
        {"order": "events", "events": [(97, 98, 256), (256, 99, 257)], "refine": "0.9"},
    ),
    "a text for a token": ("id 1 is 'b'; expected bytes", {"tokens": (b"a", "b")}),
    "an empty token": ("id 1 is empty", {"tokens": (b"a", b"")}),
    "a token twice": ("b'a' occurs twice, with the ids 0 and 2", {"tokens": (b"a", None, b"a")}),
    "one text for patterns": ("expected a tuple", {"split_patterns": "gpt2"}),
    "an empty pattern": ("the split pattern ''", {"split_patterns": ("",)}),
    "the unknown token": ("has the id 258", {"unknown": 258}),
    "the unknown token out of range": ("has the id -1", {"unknown": -1}),
    "refine of ranks": ("refine is 0.9", {"refine": 0.9}),
    "refine out of range": ("refine is 2", {"order": "events", "events": [(97, 98, 256), (256, 99, 257)], "refine": 2}),
    "an added token twice": ("'<a>' occurs twice", {"added_tokens": (AddedToken("<a>", 300), AddedToken("<a>", 301))}),
    "an empty added token": ("'' is empty", {"added_tokens": (AddedToken("", 300),)}),
    "a lone surrogate": ("lone surrogate", {"added_tokens": (AddedToken("\ud800", 300),)}),
    "an added id below": ("the id -1 of", {"added_tokens": (AddedToken("<a>", -1),)}),
    "an added id above": (f"to {MAX_ID}", {"added_tokens": (AddedToken("<a>", MAX_ID + 1),)}),
    "the shape of events": ("shape (1, 2)", {"order": "merges", "events": [(97, 98)]}),
    "the type of events": ("type float64", {"order": "merges", "events": [(97.0, 98.0, 256.0)]}),
    "no events": ("type object", {"order": "merges", "events": None}),
    "rows of several lengths": ("(n, 3)", {"order": "merges", "events": [(97, 98), (1, 2, 3)]}),
    "an id out of range": ("event 0: (97, 98, 999) names the id 999", {"order": "merges", "events": [(97, 98, 999)]}),
    "an id past int32": ("names the id", {"order": "merges", "events": [(97, 98, 256 + 2**32)]}),
    "an unused id": ("names the id 258", {"order": "merges", "events": [(97, 258, 256)]}),
    "a removal among merges": ("names the id -1", {"order": "merges", "events": [(97, 98, 256), (256, -1, -1)]}),
    "half a removal": ("names the id -1", {"order": "events", "events": [(97, 98, 256), (256, -1, 97)]}),
    "another spelling": ("event 1: merges b'ab'", {"order": "merges", "events": [(97, 98, 256), (256, 98, 257)]}),
    "a pair twice": ("merged already by event 0", {"order": "merges", "events": [(97, 98, 256), (97, 98, 256)]}),
    "a part after the whole": (
        "event 0: the token 256",
        {"order": "events", "events": [(256, 99, 257), (97, 98, 256)]},
    ),
    "a part removed": (
        "event 2: the token 256",
        {"order": "events", "events": [(97, 98, 256), (256, -1, -1), (256, 99, 257)]},
    ),
    "a byte removed": ("no merge makes it", {"order": "events", "events": [(97, -1, -1)]}),
    "removed twice": (
        "event 3: the token 256",
        {"order": "events", "events": [(97, 98, 256), (256, 99, 257), (256, -1, -1), (256, -1, -1)]},
    ),
    "no event makes it": ("no event makes the token b'abc'", {"order": "events", "events": [(97, 98, 256)]}),
    "a byte without a token": ("byte_tokens has 255 ids", {"byte_tokens": range(255)}),
    "the token of another byte": ("the byte 0x00 has the id 1", {"byte_tokens": (1, *range(1, 256))}),
    "text to decode only": ("decode_only contains (300, 'a')", {"decode_only": [(300, "a")]}),
    "an ordinary token to decode only": ("is that of b'ab' too", {"decode_only": [(256, b"x")]}),
    "superwords of merges": (
        'superwords are for order "events"',
        {"order": "merges", "events": [(97, 98, 256)], "superwords": [(256, 99, 257)]},
    ),
    "a superword twice": (
        "superwords is made twice",
        SUPERWORDS | {"superwords": [(256, 99, 257), (97, 258, 257)]},
    ),
    "a superword that an event makes": (
        "superwords is made twice",
        SUPERWORDS | {"superwords": [(97, 98, 256)]},
    ),
    "a part of a superword after it": (
        "event 2: a part of this superword",
        SUPERWORDS | {"superwords": [(257, 99, 259), (256, 99, 257)]},
    ),
}


@pytest.mark.parametrize("said, fields", BAD.values(), ids=BAD)
def test_a_bad_vocabulary_is_a_format_error(said, fields):
    with pytest.raises(FormatError, match=re.escape(said)):
        Vocabulary(**{"tokens": AB, "split_patterns": ()} | fields)


IDS = st.sampled_from([-1, 0, 1, 2, 3, 4, 5, 6, 7, 2**31, 2**40])
TOKENS = st.lists(st.sampled_from([None, b"", b"a", b"b", b"ab", b"abb", b"ba", "é".encode(), "a"]), max_size=8)
ROWS = st.lists(st.tuples(IDS, IDS, IDS), max_size=6)


@settings(max_examples=500, deadline=None)
@given(
    TOKENS,
    ROWS,
    st.sampled_from(["ranks", "merges", "events", None]),
    st.lists(st.builds(AddedToken, st.text(max_size=2), IDS, st.booleans()), max_size=2),
    st.sampled_from(["bytes", "characters", 3]),
    st.none() | IDS,
    st.booleans(),
    st.lists(st.sampled_from(["a", "", "gpt2", "(", 7]), max_size=1),
)
def test_any_input_is_a_vocabulary_that_encodes_or_a_format_error(
    tokens, rows, order, added, alphabet, unknown, whole, patterns
):
    """Never another error: whatever the constructor takes, a Tokenizer can be made of it, and its ids decode."""
    try:
        vocabulary = Vocabulary(
            tokens, patterns, order, [] if order == "ranks" else rows, added, whole, alphabet, unknown
        )
    except FormatError:
        return
    try:
        tok = Tokenizer(vocabulary)
        ids = tok.encode("abbab", allowed_special="all")
    except UsageError:  # a letter that no token spells; a pattern that is not a regular expression
        return
    assert all(vocabulary.token_bytes(id) is not None and id not in vocabulary.removed for id in ids)
    if unknown is None and not added:
        assert tok.decode(ids) == "abbab"


@pytest.mark.parametrize("order", ["ranks", "merges", "events"])
def test_other_settings_leave_the_tokens_and_merges_as_they_are(order, monkeypatch):
    tokens = (*(bytes([byte]) for byte in range(256)), b"ab", b"abc")
    events = () if order == "ranks" else ((97, 98, 256), (256, 99, 257))
    added = (AddedToken("<a>", 300),)
    before = Vocabulary(tokens, (PATTERNS["gpt2"],), order=order, events=events, added_tokens=added)
    assert before.n_vocab == 301 and before.fingerprint()
    expected = Vocabulary(tokens, (PATTERNS["cl100k"],), order=order, events=events)
    if order != "events":
        monkeypatch.setattr("tokenmill.vocabulary.validation.checked_events", None)  # not called
    after = before.replace(added_tokens=(), split_patterns=("cl100k",))
    assert (after.n_vocab, after.fingerprint()) == (258, expected.fingerprint())
    assert before.n_vocab == 301 and before.added_tokens == added
    with pytest.raises(FormatError, match="normal"):
        before.replace(normalization=Normalization(("nonesuch",)))
    with pytest.raises(FormatError, match="the unknown token has the id 999"):
        before.replace(unknown=999)
    with pytest.raises(FormatError, match="the id 97 is in decode_only"):
        before.replace(decode_only=((97, b"x"),))


def test_the_repr_of_a_vocabulary_is_one_line():
    tokens = tuple(bytes([byte]) for byte in range(256))
    assert repr(Vocabulary(tokens, ("gpt2",))) == "<Vocabulary of 256 ids, order 'ranks'>"
