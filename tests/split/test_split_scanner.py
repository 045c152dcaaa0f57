"""The kernel: where it may read, what it does with long runs, and that its tables are what they should be."""

import ctypes
import itertools
import mmap
import os
import platform
import random
import sys
import unicodedata

import pytest
from split_strategies import ends_of, reference_ends

from tokenmill.split import Splitter
from tokenmill.split._scan_cy import Scanner
from tokenmill.split.alphabet import CATEGORIES, NotRegular, case_orbits, category, property_set
from tokenmill.split.automaton import automaton_of
from tokenmill.split.compiler import compile_pattern
from tokenmill.split.patterns import PATTERNS
from tokenmill.split.transducer import Maker, certain_cuts

SAMPLE = "It's  1984,\n\n   isn’t IT? 東京 12345 naïve\t\twe'll\u3000x — Привет, мир!! \U0001f600\r\n  end "


def scanners(pattern: str) -> list[Scanner]:
    tables = compile_pattern(PATTERNS.get(pattern, pattern))
    return [Scanner(tables), Scanner(tables, None, True)]


@pytest.mark.parametrize("name", PATTERNS)
def test_every_named_pattern_has_the_fast_lane(name):
    fast, scalar = scanners(name)
    assert not scalar.uses_simd
    if sys.platform == "win32" or (platform.machine() == "x86_64" and not os.path.exists("/proc/cpuinfo")):
        pytest.skip("the system does not tell whether the processor has AVX2")
    if platform.machine() == "x86_64":
        with open("/proc/cpuinfo") as file:
            assert fast.uses_simd == (" avx2 " in file.read())
    else:
        assert fast.uses_simd == (platform.machine() in ("aarch64", "arm64"))


@pytest.mark.parametrize("name", PATTERNS)
def test_every_prefix_and_every_suffix(name):
    text = SAMPLE.encode() * 2
    for scanner in scanners(name):
        for cut in range(len(text) + 1):
            assert ends_of(scanner, text[:cut], 1000) == reference_ends((PATTERNS[name],), text[:cut])
            assert ends_of(scanner, text[cut:], 90) == reference_ends((PATTERNS[name],), text[cut:])


@pytest.mark.parametrize("name", PATTERNS)
def test_the_fast_lane_knows_every_character_of_two_and_three_bytes(name):
    """In order and shuffled: each stands at many places of a block, beside others that begin with the same byte."""
    fast, scalar = scanners(name)
    characters = [chr(code) for code in range(0x80, 0x10000) if not 0xD800 <= code < 0xE000]
    for text in ("".join(characters), "".join(random.Random(3).sample(characters, len(characters)))):
        data = text.encode()
        assert ends_of(fast, data, 5000) == ends_of(scalar, data, 5000)


@pytest.mark.parametrize("name", ["gpt2", "cl100k", "o200k"])
def test_nothing_is_read_outside_of_the_text(name):
    """The text lies at the very end, and at the very begin, of what may be read: a page without access is beside it."""
    page = mmap.PAGESIZE
    area = mmap.mmap(-1, 3 * page)
    address = ctypes.addressof(ctypes.c_char.from_buffer(area))
    libc = ctypes.CDLL(None, use_errno=True)
    for forbidden in (address, address + 2 * page):
        assert libc.mprotect(ctypes.c_void_p(forbidden), page, mmap.PROT_NONE if hasattr(mmap, "PROT_NONE") else 0) == 0
    middle = memoryview((ctypes.c_char * page).from_address(address + page)).cast("B")
    whole = SAMPLE.encode() + b"\xe4\xb8"
    for scanner, length in itertools.product(scanners(name), [*range(1, len(whole)), len(whole)]):
        text = whole[:length]
        expected = ends_of(scanner, text, 5000)
        for place in (slice(0, length), slice(page - length, page)):
            middle[place] = text
            assert ends_of(scanner, middle[place], 5000) == expected
            scanner.certain_cut(middle[place])


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("unit", ["a", " ", "\n", " \n", "1", "!", "'", "é", "東", "\u3000", "'l", "a'", "\xa0 "])
def test_a_long_run_is_cut_in_linear_time(name, unit):
    """A megabyte of anything takes no longer than its bytes; quadratic work would hang here."""
    text = (unit * 1_000_000)[:1_000_000].encode()
    ends = [ends_of(scanner, text, 1 << 20) for scanner in scanners(name)]
    assert ends[0] == ends[1] and ends[0][-1] == len(text)
    short = (unit * 300)[:300].encode()
    assert ends_of(scanners(name)[0], short, 1 << 20) == reference_ends((PATTERNS[name],), short)


def test_a_pretoken_begins_where_a_cut_is_certain():
    scanner = Splitter("cl100k").scanner
    text = b"some words\nmore words"
    assert scanner.certain_cut(text) == 15  # before " words"; a pretoken may yet begin or not inside of a word
    assert scanner.certain_cut(text, 15) == 0
    assert scanner.certain_cut("名前\n東京".encode()) == 7
    assert scanner.certain_cut(b"\n\xe6\x9d") == 0  # perhaps the first bytes of a letter, perhaps not
    assert scanner.certain_cut(b"a  ") == 1
    assert scanner.certain_cut(b"a") == scanner.certain_cut(b"") == 0
    assert Splitter().scanner.certain_cut(text) == 0


def brute_force_certain(pattern: str, letters: str) -> set[tuple[str, str]]:
    """The pairs between which no context of up to three letters on either side spoils the cut."""
    splitter = Splitter(pattern)
    words = ["".join(word) for n in range(4) for word in itertools.product(letters, repeat=n)]
    certain = set()
    for a, b in itertools.product(letters, repeat=2):
        if all(
            splitter.split(x + a) + splitter.split(b + y) == splitter.split(x + a + b + y)
            for x in words
            for y in words[:21]
        ):
            certain.add((a, b))
    return certain


@pytest.mark.parametrize("pattern", ["cl100k", "gpt2", "whitespace", r"a+b|\s", r"\w+|\W", "a(?=b)|b?a"])
def test_certain_cuts_are_those_of_brute_force(pattern):
    letters = "a1 \n" if pattern in PATTERNS else "ab1 "
    tables = compile_pattern(PATTERNS.get(pattern, pattern))
    width, classes = tables.alphabet.size + 1, tables.alphabet.ascii
    found = {
        (a, b)
        for a, b in itertools.product(letters, repeat=2)
        if tables.certain[classes[ord(a)] * width + classes[ord(b)]] == 1
    }
    assert found <= brute_force_certain(pattern, letters)
    assert found, "the pattern has certain cuts"


def test_the_automata_are_small():
    """The figures of the comments: a change that makes them grow should be noticed."""
    sizes = {}
    for name, pattern in PATTERNS.items():
        automaton, _ = automaton_of(pattern)
        assert certain_cuts(automaton)
        machine = Maker(automaton).make()
        following = [{row[c][0] for row in machine.steps} for c in range(automaton.classes)]
        sizes[name] = (len(automaton.steps), len(machine.steps), max(map(len, following)))
    assert sizes["cl100k"] == (19, 22, 5)
    assert max(size[2] for size in sizes.values()) == 6


@pytest.mark.parametrize(
    "pattern", [r"\w{1,1000}x", r"(?:a|b)*a(?:a|b){12}", r"(?:(?:a{100}){100}){100}", r"(?:\w{1,90}\s){1,90}"]
)
def test_a_pattern_that_explodes_is_refused_soon(pattern):
    with pytest.raises(NotRegular):
        compile_pattern(pattern)


def test_a_pattern_whose_transducer_is_too_large_runs_on_the_automaton():
    pattern = r"(?:\w{1,40}\s){1,20}|."
    splitter = Splitter(pattern)
    text = "some words and others, then more of them " * 5
    assert splitter.split(text) == Splitter(pattern).split(text)
    assert list(splitter.ends(text.encode())) == reference_ends((pattern,), text.encode())


def test_categories_are_those_of_python_for_what_python_knows():
    """Unicode gives a character another category only rarely: 12 did so from version 14 to 16."""
    pairs = [(CATEGORIES[category(code)], unicodedata.category(chr(code))) for code in range(0x110000)]
    assert sum(ours != theirs and "Cn" not in (ours, theirs) for ours, theirs in pairs) < 40


def test_case_orbits():
    orbits = {frozenset(orbit) for orbit in case_orbits()}
    assert {0x4B, 0x6B, 0x212A} in orbits and {0x53, 0x73, 0x17F} in orbits and {0xDF, 0x1E9E} in orbits
    assert not any({0x130, 0x131} & orbit for orbit in orbits), "the Turkish i have no kin"
    assert {0x3A3, 0x3C3, 0x3C2} in orbits and {0x13A0, 0xAB70} in orbits
    members = [char for orbit in orbits for char in orbit]
    assert len(members) == len(set(members))


def test_properties():
    assert property_set("Han").args[0][0] == (0x2E80, 0x2E99)
    assert property_set("hani") == property_set("Script=Han") == property_set("sc=Hani")
    assert property_set("Lu") == property_set("Uppercase_Letter") == property_set("gc=Lu")
    assert property_set("L&") == property_set("LC")
    assert property_set("Nonsense") is None


def test_a_scalar_scanner_can_be_asked_for(monkeypatch):
    monkeypatch.setenv("TOKENMILL_SCALAR", "1")
    assert not Splitter("cl100k").scanner.uses_simd
    monkeypatch.delenv("TOKENMILL_SCALAR")
    assert Splitter("cl100k").scanner.uses_simd or not os.path.exists("/proc/cpuinfo")
