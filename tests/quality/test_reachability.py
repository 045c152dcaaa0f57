"""Tokens no text gives: made on purpose, one for each reason, and checked against every short text."""

import itertools
import os
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from quality_examples import BYTES, make_vocabulary, random_events

from tokenmill import AddedToken, Normalization, Tokenizer, WordCounts, inspect
from tokenmill.quality.reachability import completions, partial_table, reach_of_tokens, unreachable_table
from tokenmill.quality.usage import measure_usage
from tokenmill.split.patterns import PATTERNS

SWEEP = int(os.environ.get("TOKENMILL_SWEEP", "1"))


def reasons(tok):
    return {
        tok.decode_single_token_bytes(id): found.reason for id, found in reach_of_tokens(tok).items() if found.reason
    }


NOT_UTF8 = {bytes([b]): "not UTF-8" for b in [0xC0, 0xC1, *range(0xF5, 0x100)]}


def test_a_clean_vocabulary_has_none_but_bytes():
    tok = Tokenizer(make_vocabulary([*BYTES, b"ow", b"low"], [(111, 119, 256), (108, 256, 257)]))
    assert reasons(tok) == NOT_UTF8
    assert reach_of_tokens(tok)[257].witness == "low"


def test_merges():
    """abc is built from ab, but a later-listed, earlier-ranked bc takes the b away."""
    events = [(98, 99, 256), (97, 98, 257), (257, 99, 258)]
    tok = Tokenizer(make_vocabulary([*BYTES, b"bc", b"ab", b"abc"], events, whole_pretokens=False))
    assert reasons(tok) == NOT_UTF8 | {b"abc": "merges"}
    assert [row[1] for row in unreachable_table(tok, reach_of_tokens(tok)).rows[:2]] == ["merges", "not UTF-8"]
    whole = Tokenizer(make_vocabulary([*BYTES, b"bc", b"ab", b"abc"], events))
    assert reasons(whole) == NOT_UTF8


def test_an_alphabet_with_gaps():
    """Vocabularies exist that lack bytes: what cannot be encoded is no witness, and no crash."""
    tok = Tokenizer(make_vocabulary([b"a", b"b", b"ab", b"ax", b"ba"], [(0, 1, 2)]))
    assert reasons(tok) == {}
    assert reasons(Tokenizer(make_vocabulary([b"a", b"x", b"ay"], [], whole_pretokens=False))) == {b"ay": "merges"}


def test_split():
    tok = Tokenizer(make_vocabulary([*BYTES, b"a "], [(97, 32, 256)], split_patterns=(r"\S+|\s+",)))
    assert reasons(tok)[b"a "] == "split"


def test_split_but_in_a_contraction():
    """o200k keeps the end of a contraction in the word, so I' is a token before an S or RE, and cut before all else."""
    tokens = [*BYTES, b"I'"]
    tok = Tokenizer(make_vocabulary(tokens, [(73, 39, 256)], split_patterns=(PATTERNS["o200k"],)))
    assert tok.encode("I'") == [73, 39] == tok.encode("I'A")[:2]
    assert reach_of_tokens(tok)[256].reason == ""


def test_split_only_where_it_stands_alone():
    r"""A line feed alone is a pretoken, and two of them, but this pattern leaves the last of several to what follows."""
    tokens = [*BYTES, b"\n\n"]
    pattern = r"\s+(?!\S)|\s?\S+|\s"
    tok = Tokenizer(make_vocabulary(tokens, [(10, 10, 256)], split_patterns=(pattern,)))
    assert tok.encode("\n\na") != [256, 97]
    assert reach_of_tokens(tok)[256].reason == ""


def test_added():
    """An added token of two spaces that any text is searched for leaves none for the ordinary one of three."""
    events = [(32, 32, 256), (256, 32, 257)]
    tokens = make_vocabulary([*BYTES, b"  ", b"   "], events, added_tokens=(AddedToken("  ", 258, special=False),))
    assert reasons(Tokenizer(tokens)) == NOT_UTF8 | {b"  ": "added", b"   ": "added"}
    special = make_vocabulary([*BYTES, b"  ", b"   "], events, added_tokens=(AddedToken("  ", 258),))
    assert reasons(Tokenizer(special)) == NOT_UTF8


def test_normalizer():
    token = "e\u0301".encode()
    events = [(token[0], token[1], 256), (256, token[2], 257)]
    tok = Tokenizer(make_vocabulary([*BYTES, token[:2], token], events, normalization=Normalization(("NFC",))))
    assert len(token) == 3 and reasons(tok)[token] == "normalizer"


def test_not_utf8_and_no_witness():
    tokens = [*BYTES, b"\xa9a\xff", b"\xe4\xb8\xad", b"\xe4\xb8", b"\xed\xa0"]
    events = [(0xE4, 0xB8, 258), (258, 0xAD, 257), (0xED, 0xA0, 259)]
    tok = Tokenizer(make_vocabulary(tokens, events))
    found = reasons(tok)
    assert found[b"\xa9a\xff"] == "not UTF-8"
    assert found[b"\xed\xa0"] == "not UTF-8"  # half a surrogate
    assert b"\xe4\xb8" not in found
    witness = reach_of_tokens(tok)[258].witness
    assert 258 in tok.encode(witness) and witness != "中"
    assert {row[0].id for row in partial_table(tok, reach_of_tokens(tok)).rows} == {256, 258, 259}


def test_the_tried_characters_are_of_all_planes():
    """Assigned characters that begin with F0 90, F0 91 or F0 92 are more than are tried."""
    tokens = [*BYTES, b"\xf0\x90", b"\xf0\x91", b"\xf0\x92"]
    tok = Tokenizer(make_vocabulary(tokens, [(0xF0, 0x90 + i, 256 + i) for i in range(3)]))
    assert reasons(tok) == NOT_UTF8 and 0xF0 in tok.encode(reach_of_tokens(tok)[0xF0].witness)


def test_characters_that_normalization_changes_are_utf8():
    """All characters of U+F900 to U+FAFF that begin with these bytes become others: texts were tried, none has the token."""
    tok = Tokenizer(make_vocabulary([*BYTES, b"\xef\xa6"], [(0xEF, 0xA6, 256)], normalization=Normalization(("NFC",))))
    assert reach_of_tokens(tok)[256].reason == "no witness"


def test_used_tokens_are_reachable():
    """Text that is no UTF-8 can give what no text gives."""
    tok = Tokenizer(make_vocabulary([*BYTES, b"\xff\xff"], [(255, 255, 256)]))
    usage = measure_usage(tok, WordCounts.from_mapping({b"\xff\xff": 1}))
    assert reach_of_tokens(tok)[256].reason == "not UTF-8"
    assert reach_of_tokens(tok, usage)[256].reason == ""
    assert partial_table(tok, reach_of_tokens(tok, usage), usage).rows[0][1] == 1


@pytest.mark.parametrize("order", ["merges", "events", "ranks"])
def test_against_every_short_text(order):
    """With two letters and no split, a token said to be out of reach appears in no text of up to 9 letters."""
    for seed in range(12 * SWEEP):
        rng = random.Random(seed)
        tokens, events = random_events(rng, b"ab", 12, 0.3 if order == "events" else 0.0)
        rng.shuffle(events) if order == "merges" else None
        tokens = [token if 97 <= token[0] <= 98 else None for token in tokens]
        vocabulary = make_vocabulary(tokens, None if order == "ranks" else events, order, whole_pretokens=False)
        tok = Tokenizer(vocabulary)
        seen: dict[int, str] = {}
        for length in range(1, 10):
            for letters in itertools.product("ab", repeat=length):
                text = "".join(letters)
                for id in tok.encode_bytes(text.encode()):
                    seen.setdefault(id, text)
        for id, found in reach_of_tokens(tok).items():
            assert bool(found.reason) == (id not in seen), (seed, tokens[id], found, seen.get(id))
            assert not found.reason or found.reason == "merges"
            assert found.witness is None or id in tok.encode(found.witness)


@pytest.mark.parametrize("order", ["merges", "ranks"])
def test_parts_of_characters_against_every_short_text(order):
    """The first byte of these characters merges with every byte after it, unless a token across characters takes that first."""
    characters = "aé©Èè"
    found, starved = 0, [bytes([lead, byte]) for lead in b"\xc2\xc3" for byte in range(0x80, 0xC0)]
    texts = ["".join(letters) for length in range(1, 5) for letters in itertools.product(characters, repeat=length)]
    for seed in range(12 * SWEEP):
        rng = random.Random(seed)
        tokens = list(BYTES)
        events: list[tuple[int, int, int]] = []

        def merge(left, right, tokens=tokens, events=events):
            if left + right not in tokens:
                events.append((tokens.index(left), tokens.index(right), len(tokens)))
                tokens.append(left + right)

        for _ in range(rng.randint(1, 6)):
            before, after = (rng.choice(characters[n:]).encode() for n in (1, 0))
            merge(before[-1:], after[:1])
            if rng.random() < 0.5:
                merge(rng.choice(characters).encode()[-1:], before[-1:] + after[:1])
        for pair in rng.sample(starved, len(starved)):
            merge(pair[:1], pair[1:])
        tok = Tokenizer(make_vocabulary(tokens, None if order == "ranks" else events, order, whole_pretokens=False))
        seen = {id for text in texts for id in tok.encode(text)}
        for id, of in reach_of_tokens(tok).items():
            assert not of.reason or id not in seen, (seed, tokens[id], of)
            assert of.witness is None or id in tok.encode(of.witness)
            found += tokens[id] in (b"\xc2", b"\xc3") and not of.reason
    assert found > 5


def test_decode_only():
    """An id that the file has for decoding only counts as a token that no text produces, and can be removed."""
    tok = Tokenizer(make_vocabulary([*BYTES, None], [], decode_only=((256, b"low"),)))
    assert reasons(tok) == NOT_UTF8 | {b"low": "decode-only"}
    assert unreachable_table(tok, reach_of_tokens(tok)).rows[0][0].id == 256
    found = inspect(tok)
    assert found.table("vocabulary").pairs("what", "value")["decode-only tokens"].value == 1
    assert "14 tokens are unreachable, 1 of them not in the alphabet" in str(found.findings)
    assert "removes 1 token." in str(found.findings)


@given(st.text(min_size=1, max_size=4), st.data())
def test_completions_hold_the_token(text, data):
    encoded = text.encode("utf-8", "replace")
    start = data.draw(st.integers(0, len(encoded) - 1))
    token = encoded[start : data.draw(st.integers(start + 1, len(encoded)))]
    try:
        token.decode()
        return
    except UnicodeDecodeError:
        found = list(itertools.islice(completions(token), 200))
    assert found
    for completed in found:
        assert token in completed.encode()
        assert len(completed.encode()) <= len(token) + 6


@pytest.mark.parametrize(
    "token", [b"\xff", b"a\xffb", b"\xc3a", b"\x80\x80\x80\x80", b"\xed\xa0", b"\xf5\x80", b"\xc0"]
)
def test_completions_of_what_is_no_text(token):
    assert list(completions(token)) == []


def test_completions_reach_every_end():
    """Both ends change, each with each: the heads that end in A9 with the tails that begin with C3."""
    found = list(completions(b"\xa9 \xc3"))
    assert len(found) == len(set(found))
    assert {text[-1] for text in found} == {chr(c) for c in range(0xC0, 0x100)}
    assert "é À" in found and "中À" not in found


def test_completions_hold_unassigned_characters_too():
    """After the assigned ones: where a split pattern treats them otherwise, only they may produce the token."""
    found = list(completions(b"\xf0\x9f\xab"))
    assert {*found} == {chr(code) for code in range(0x1FAC0, 0x1FB00)} and found[-1] == chr(0x1FAFF)
