"""Random patterns on random text: the scanner against its slow twin, and its two paths against each other."""

import os
import warnings

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from split_strategies import data, ends_of, patterns, reference_ends, texts

from tokenmill.split import Splitter
from tokenmill.split._scan_cy import Scanner
from tokenmill.split.names import is_plain_word
from tokenmill.split.patterns import CHAINS, PATTERNS

FACTOR = int(os.environ.get("TOKENMILL_SWEEP", "1"))
NAMED = sorted(PATTERNS)
ROOMS = st.sampled_from([1, 2, 3, 4, 7, 84, 100, 200, 5000])


def splitter_of(*pattern: str) -> Splitter:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Splitter(*(f"(?:{text})" if is_plain_word(text) else text for text in pattern))  # "aa" is not a pattern


def scanner_of(*pattern: str) -> Scanner:
    scanner = splitter_of(*pattern).scanner
    assume(scanner is not None)
    return scanner


@given(patterns(), st.lists(texts(), min_size=1, max_size=4), ROOMS)
@settings(max_examples=30 * FACTOR, deadline=None)
def test_any_pattern_gives_the_pretokens_of_the_regex_module(pattern, some, room):
    splitter = splitter_of(pattern)
    assume(splitter.scanner is not None)
    for text in some:
        assert ends_of(splitter.scanner, text.encode(), room) == reference_ends(splitter.patterns, text.encode())


@pytest.mark.parametrize("name", NAMED)
@given(data(), ROOMS)
@settings(max_examples=40 * FACTOR, deadline=None)
def test_named_patterns_on_any_bytes(name, text, room):
    splitter = Splitter(name)
    assert ends_of(splitter.scanner, text, room) == reference_ends(splitter.patterns, text)


@given(patterns(), data(), ROOMS, ROOMS)
@settings(max_examples=30 * FACTOR, deadline=None)
def test_the_fast_lane_and_the_scalar_path_agree(pattern, text, room, other_room):
    scanner = scanner_of(pattern)
    scalar = Scanner(scanner.tables, None, True)
    assert not scalar.uses_simd
    assert ends_of(scanner, text, room) == ends_of(scalar, text, other_room)


@given(st.lists(patterns(1), min_size=2, max_size=3), data(60), ROOMS)
@settings(max_examples=30 * FACTOR, deadline=None)
def test_several_patterns_one_inside_the_other(several, text, room):
    scanner = scanner_of(*several)
    assert ends_of(scanner, text, room) == reference_ends(tuple(several), text)


AT_ONCE = [r"\p{N}", r"\p{N}{1,3}", "[日é]+", "a", "[ab]{1,2}", r"\s", r"\p{L}+|\s", "(?:ab?)+", r"\p{L}{2}", "n+"]


@given(st.lists(st.sampled_from(AT_ONCE), min_size=1, max_size=2), patterns(), data(60), ROOMS, ROOMS)
@settings(max_examples=40 * FACTOR, deadline=None)
def test_patterns_that_run_as_one_transducer(outer, inner, text, room, other_room):
    scanner = scanner_of(*outer, inner)
    expected = reference_ends(splitter_of(*outer, inner).patterns, text)
    assert ends_of(scanner, text, room) == expected
    if scanner.composed is not None:  # any end is a start
        at = expected[len(expected) // 2] if expected else 0
        assert [end for end in expected if end > at] == [at + end for end in ends_of(scanner, text[at:], other_room)]


@pytest.mark.parametrize(
    "chain", [CHAINS["deepseek-v3"], (r"\p{N}{1,3}", "cl100k"), *((r"\p{N}", name) for name in NAMED)]
)
@given(data(), ROOMS)
@settings(max_examples=40 * FACTOR, deadline=None)
def test_named_chains_on_any_bytes(chain, text, room):
    splitter = Splitter(*chain)
    assert splitter.scanner.composed is not None
    assert ends_of(splitter.scanner, text, room) == reference_ends(splitter.patterns, text)


@pytest.mark.parametrize("outer, inner", [("a{2}", "a"), (r"\p{N}{1,3}", r"\p{N}"), ("[ab]{1,2}", "a"), ("ab|a", "b")])
def test_patterns_that_would_count_anew_after_a_cut_are_not_composed(outer, inner):
    splitter = splitter_of(outer, inner)
    assert splitter.scanner.composed is None
    for room in (1, 3, 100):
        text = b"aaabab1234567aab" * 30
        assert ends_of(splitter.scanner, text, room) == reference_ends(splitter.patterns, text)


@pytest.mark.parametrize("unit", ["  \n", " \n ", "a", "1", "日", "    1\n\n "])
def test_a_long_run_in_a_chain_is_cut_in_linear_time(unit):
    text = (unit * 1_000_000)[:1_000_000].encode()
    scanner = Splitter("deepseek-v3").scanner
    assert ends_of(scanner, text, 1 << 20) == ends_of(scanner, text, 200)


@given(st.one_of(st.sampled_from(NAMED), patterns()), data(60), data(60), data(60))
@settings(max_examples=60 * FACTOR, deadline=None)
def test_a_certain_cut_is_one_whatever_stands_around(pattern, text, before, after):
    scanner = splitter_of(pattern).scanner
    cut = scanner.certain_cut(text) if scanner is not None else 0
    if not cut:  # nothing is claimed; `assume` would fail hypothesis' health check where many texts have no cut
        return
    left, right = before + text[:cut], text[cut:] + after
    apart = ends_of(scanner, left, 5000) + [len(left) + end for end in ends_of(scanner, right, 5000)]
    assert apart == ends_of(scanner, left + right, 5000)


CUT_CHAINS = st.one_of(
    st.sampled_from([*CHAINS.values(), (r"\p{N}", "gpt2"), ("gpt2", r"\p{N}{1,3}"), (r"\p{N}{1,3}", "[日é]+", "gpt2")]),
    st.tuples(st.sampled_from(AT_ONCE), st.one_of(st.sampled_from(NAMED), patterns())),
    st.lists(patterns(1), min_size=2, max_size=3),
)


@given(CUT_CHAINS, data(60), data(60), data(60))
@settings(max_examples=60 * FACTOR, deadline=None)
def test_a_certain_cut_of_a_chain_is_one_in_its_slow_twin(chain, text, before, after):
    splitter = splitter_of(*chain)
    cut = splitter.scanner.certain_cut(text) if splitter.scanner is not None else 0
    if not cut:
        return
    left, right = before + text[:cut], text[cut:] + after
    apart = reference_ends(splitter.patterns, left)
    apart += [len(left) + end for end in reference_ends(splitter.patterns, right)]
    assert apart == reference_ends(splitter.patterns, left + right)


def test_a_chain_has_the_certain_cuts_of_its_inner_pattern():
    text = "some words\nمع الكلمات".encode()
    expected = Splitter("gpt2").scanner.certain_cut(text)
    assert expected > 11
    assert Splitter(r"\p{N}", "gpt2").scanner.certain_cut(text) == expected
    assert Splitter(r"\p{N}{1,3}", "[一-龥]+", "gpt2").scanner.certain_cut(text) == expected


@given(data(100, invalid=False), data(100))
@settings(max_examples=60 * FACTOR, deadline=None)
def test_a_certain_cut_begins_no_earlier_than_asked(text, more):
    scanner = Splitter("cl100k").scanner
    whole = text + b"\nx" + more
    cut = scanner.certain_cut(whole)
    assert cut > len(text), "a newline before a letter is a certain cut"
    assert scanner.certain_cut(whole, cut) in (0, *range(cut + 1, len(whole)))
