"""Normalization: that of Hugging Face tokenizers, which has the tables of Unicode 9.0, on every Python."""

import base64
import functools
import random
import unicodedata
from array import array
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import normalizers

from code_points import code_points
from tokenmill import Tokenizer, Vocabulary
from tokenmill.errors import FormatError
from tokenmill.tokenizer import normalization
from tokenmill.tokenizer.normalization import normalizer_of
from tokenmill.vocabulary import AddedToken, Normalization

FORMS = ("NFC", "NFD", "NFKC", "NFKD")
SEQUENCES = (("NFD", "Lowercase", "StripAccents"), ("NFKD", "Lowercase"), ("Lowercase", "StripAccents", "NFC"))
CODES = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def both(form: str, text: str) -> tuple[str, str, str]:
    return getattr(normalizers, form)().normalize_str(text), normalizer_of([form])(text)


@functools.cache
def special() -> list[str]:
    """The characters whose normalization is more than nothing, and those that Unicode 9.0 does not assign."""
    young = [ord(found) for found in normalization._unassigned().findall("".join(map(chr, range(0xD800))))]
    young += range(0x10000, 0x20000)
    changed = [c for c in CODES if unicodedata.combining(chr(c)) or unicodedata.decomposition(chr(c))]
    return [chr(c) for c in {*young, *changed}]


@pytest.mark.parametrize(
    ("form", "text", "expected"),
    [
        ("NFKC", "\u32ff", "\u32ff"),  # the era name Reiwa: Unicode 12.1 takes it apart
        ("NFC", "\u0c15\u0c4d\u0c3c", "\u0c15\u0c4d\u0c3c"),  # the Telugu nukta: Unicode 14 moves it forward
        ("NFC", "e\u0301\u32ffe\u0301", "\xe9\u32ff\xe9"),
        ("NFC", "\u1100\u1161\u11a8", "\uac01"),
    ],
)
def test_examples(form, text, expected):
    assert both(form, text) == (expected, expected)


@pytest.mark.parametrize("form", FORMS)
def test_every_code_point_alone_and_beside_others(form):
    """One text for each shape, with a line feed between: nothing moves or composes across it."""
    for shape, characters in [("*", code_points())] + [
        (shape, special())
        for shape in (
            "*\u0301",
            "a*",
            "a*\u0301",
            "a\u0301*",
            "a*\u0327",
            "*\u093c",
            "\u1100*",
            "*\u1161",
            "\uac00*",
            "**",
        )
    ]:
        theirs, ours = both(form, "\n".join(shape.replace("*", character) for character in characters))
        assert theirs == ours, shape


@pytest.mark.parametrize("form", FORMS)
def test_runs_of_special_characters(form):
    rng = random.Random(9)
    characters = special()
    theirs, ours = both(form, "".join(rng.choice(characters) if rng.random() < 0.7 else "a" for _ in range(300_000)))
    assert theirs == ours


@given(
    st.sampled_from(FORMS),
    st.text(st.sampled_from("ae\u0301\u0327\u0c4d\u0c3c\u32ff\u1100\u1161\u11a8\uac00\ufb01\U0001f9ff"), max_size=12),
)
def test_short_texts(form, text):
    theirs, ours = both(form, text)
    assert theirs == ours == normalizer_of([form])(ours)


@pytest.mark.parametrize("steps", [("NFKC", "Lowercase"), *SEQUENCES])
def test_every_code_point_between_others_by_the_kernel(steps):
    """By several steps: a character changes alone only where no other can combine with what it becomes."""
    tok = Tokenizer(Vocabulary(tuple(bytes([i]) for i in range(256)), ("cl100k",), normalization=Normalization(steps)))
    change, rng, seldom = normalizer_of(steps), random.Random(3), special()
    for shape in ("*", "A*", "*\u0301", "*É", "I*\u0307", "\u1100*\u11a8", "*\u3099"):
        characters = [*code_points(), *seldom] if shape == "*" else rng.sample(seldom, 4000)
        texts = [shape.replace("*", character) for character in characters]
        text = "\n".join(texts)
        assert tok.decode_bytes(tok.encode_to_numpy(text)) == change(text).encode(), shape
        for _ in range(200):
            text = "".join(rng.choices(texts, k=rng.randint(1, 4)))
            assert tok.decode_bytes(tok.encode(text)) == change(text).encode(), text


def character_map(units: dict[int, int], size: int, replacements: bytes) -> tuple[str, str, str]:
    data = array("I", [units.get(at, 0) for at in range(size)]).tobytes()
    return "CharacterMap", base64.b64encode(len(data).to_bytes(4, "little") + data + replacements).decode(), ""


# The root leads to the unit 1 ^ 97 for "a", where a key ends; its replacement is at 96 ^ 200.
KEY_A = {0: 1 << 10, 96: 97 | 1 << 8 | 200 << 10, 168: 1 << 31}


def test_a_character_map():
    normalize = normalizer_of([character_map(KEY_A, 169, b"bc\0")])
    assert normalize("aXa\r\na\xe9") == "bcXbc\r\nbc\xe9"
    with patch("binascii.a2b_base64", side_effect=AssertionError):  # the map is read once, not for each text
        assert normalize("a") == "bc"


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (character_map({}, 0, b""), "cut short"),
        (character_map(KEY_A, 100, b"bc\0"), "damaged"),
        (character_map(KEY_A, 169, b"bc"), "damaged"),
        (character_map(KEY_A, 169, b"\xff\0"), "damaged"),
        (
            character_map({byte: byte | byte << 10 for byte in range(1, 256)}, 256, b"\0"),
            "too many keys",
        ),  # each leads to all
    ],
)
def test_a_damaged_character_map(step, message):
    with pytest.raises(FormatError, match=f"the character map is .*{message}"):
        normalizer_of([step])("a")


@pytest.mark.parametrize(
    "steps",
    [
        (),
        ("NFC",),
        ("NFKC", "Lowercase"),
        ("NFC", ("ReplaceRegex", " {2,}", " ")),
        (("ReplaceRegex", "(?<=e) | (?=a)", "_"),),
        (("ReplaceRegex", "[^a]", "é"),),
    ],
)
@pytest.mark.parametrize("split", ["gpt2", r"\b\w+\b|.|\n"])  # by the kernel and by the regex module
@pytest.mark.filterwarnings("ignore:the split pattern")
def test_bytes_that_are_not_utf8_stay_in_every_vocabulary(steps, split):
    settings = {"normalization": Normalization(steps)} if steps else {}
    tok = Tokenizer(Vocabulary(tuple(bytes([byte]) for byte in range(256)), (split,), **settings))
    for data in (b"\xff abc", b"a\xe2\x82 e\xcc\x81 \xff", b"\xed\xa0\x80", b"caf\xe9  \xff low"):
        ids = tok.encode_to_numpy(data)
        expected = tok._core.added.normalize(data.decode("utf-8", "surrogateescape"))
        assert tok.decode_bytes(ids) == expected.encode("utf-8", "surrogateescape")
        assert ids.tolist() == tok.encode_bytes(data) or settings


@pytest.mark.parametrize("steps", [("NFC",), ("NFD",), ("NFKC", "Lowercase"), ("StripAccents",), *SEQUENCES])
@pytest.mark.parametrize("pattern", ["cl100k", "gpt2", "qwen2"])
def test_only_windows_of_a_long_text_are_normalized_and_the_ids_are_those_of_the_whole(steps, pattern):
    bytes_ = tuple(bytes([byte]) for byte in range(256))
    tokens = (*bytes_, *(word.encode() for word in (" low", "é", " é", "e\u0301", " 가", "LOW", "\u0301", " x")))
    tok = Tokenizer(Vocabulary(tokens, (pattern,), normalization=Normalization(steps)))
    plain = Tokenizer(Vocabulary(tokens, (pattern,)))
    rng = random.Random(8)
    rare = ["e\u0301", "\u0301", "\u1100\u1161", "ﬁ", "é", "\u0323\u0301", "LOW", "\u212b", "\ufffd", " \u0301"]
    rare += [
        "\xa0",
        "\u2026",
        "\ufdfa",
        "\u0628\u0651\u064e",
        "\u064e\u0327\u0651",
        "\u0344",
        "\u0c15\u0c4d\u0c3c",
        "\u0301" * 40 + "\u0316",
    ]
    for share in (0.001, 0.01, 0.1, 0.6):
        for _ in range(4):
            common = [" low", " x", " lower case", "'s", "\n", "  ", " 123", ". ", " 漢字", "é"]
            text = "".join(rng.choice(rare if rng.random() < share else common) for _ in range(rng.randint(800, 5000)))
            expected = plain.encode(normalizer_of(steps)(text))
            assert tok.encode(text) == expected
            spans = tok.encode_with_offsets(text)
            assert spans.ids == expected and ("StripAccents" in steps or spans.bytes[-1, 1] == len(text.encode()))
            broken = text.encode() + b"\xff" + text.encode()
            whole = normalizer_of(steps)(broken.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
            assert tok.encode_to_numpy(broken).tolist() == plain.encode_bytes(whole)


@pytest.mark.parametrize("steps", [("NFC",), ("NFKC",), ("NFC", "Lowercase"), *SEQUENCES])
def test_what_changes_is_found_behind_much_text_that_does_not(steps):
    """The kernel has seen the scripts, so vector instructions pass over their letters up to the first mark."""
    rng = random.Random(21)
    change = normalizer_of(steps)
    tok = Tokenizer(Vocabulary(tuple(bytes([i]) for i in range(256)), ("cl100k",), normalization=Normalization(steps)))
    scripts = [
        [chr(rng.randrange(first, last)) for _ in range(200)]
        for first, last in (
            (0x61, 0x7B),
            (0xE0, 0x180),
            (0x380, 0x400),
            (0x400, 0x530),
            (0x5D0, 0x660),
            (0x900, 0xA80),
            (0x3040, 0x3100),
            (0x4E00, 0xA000),
            (0xAC00, 0xD7A4),
            (0x1F300, 0x1F600),
        )
    ]
    tok.encode("".join(map("".join, scripts)) * 40)
    odd = [chr(c) for c in (0x301, 0x308, 0x323, 0x345, 0x387, 0x3099, 0x93C, 0x94D, 0x653, 0x64B, 0x1161, 0x11A8)]
    odd += ["\u212b", "\u2000", "\ufb01", "\xa0", "\u0344", "\u1e9b\u0323", "\U0001d15e"]
    for round in range(400):
        letters = "".join(
            rng.choice(rng.choice(scripts[:1] + rng.sample(scripts, 2))) for _ in range(rng.randint(1, 400))
        )
        text = "".join(letter + rng.choice(odd) if rng.random() < 0.004 * (round % 9) else letter for letter in letters)
        data = bytearray(text.encode())
        for _ in range(rng.choice((0, 0, 3))):  # not UTF-8
            data[rng.randrange(len(data))] = rng.choice((0x80, 0xBF, 0xC3, 0xE3, 0xF0, 0xFF, 0x20))
        expected = change(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        assert tok.decode_bytes(tok.encode_to_numpy(bytes(data))) == expected


def test_the_pairs_that_compose_are_those_of_python():
    """All but the youngest, which no tokenizer composes, and Hangul, which has a rule."""
    unassigned = normalization._unassigned()
    expected = set()
    for code in CODES:
        parts = unicodedata.normalize("NFD", chr(code))
        if len(parts) > 1 and unicodedata.normalize("NFC", chr(code)) == chr(code) and not 0xAC00 <= code < 0xD7A4:
            starter = unicodedata.normalize("NFC", parts[:-1])
            if not unassigned.search(chr(code) + parts):
                expected.add((starter, parts[-1]))
    assert expected == {pair for pair in normalization._compositions() if not unassigned.search("".join(pair))}


@pytest.mark.parametrize(
    "steps", [("NFC",), ("NFKC",), ("NFD",), ("NFKC", "Lowercase"), ("NFC", "Lowercase"), *SEQUENCES]
)
def test_long_texts_are_normalized_where_they_must_be(steps):
    """The ids of texts of which few characters change are those of the text that is normalized as a whole."""
    rng = random.Random(5)
    tokens = tuple(bytes([i]) for i in range(256))
    change = normalizer_of(steps)

    def tokenizer(normalizers, token):
        added = (
            AddedToken("  ", 300, special=False, normalized=True),
            AddedToken(token, 301, special=False, normalized=True),
        )
        return Tokenizer(Vocabulary(tokens, ("cl100k",), normalization=Normalization(normalizers), added_tokens=added))

    tok, plain = tokenizer(steps, "éb"), tokenizer((), change("éb"))
    words = [
        "\u0641\u064e\u0651\u0644", "\u0641\u0651\u064e\u0644", "\u0915\u093c", "\u0928\u093c", "\u0921\u093c\u0940", "e\u0301b", "a\u0323\u0302",
        "\xe2\u0323", "\xe2\u0316\u0301", "x\u0301", "\u0301", "\u1100\u1161\u11a8", "\uac00\u11a8", "\uac00\u0301", "\u304b\u3099", "\u30f3\u3099",
        "\u4e2d\u6587", "\u0635\u0648\u0628", "low", "\uff11", "\ufb01", "\xa0", "9", ".", "(", "İ", "\u0b47\u0b3e", "\u0b47\u0b3c\u0b3e", "\u0301\u09be", "\n", "  ",
    ]  # fmt: skip
    for few in (1, 3, 30):
        for _ in range(20):
            odd = rng.sample(words, 6)
            text = "".join(
                rng.choice(odd) + rng.choice(("", " ", "  "))
                if rng.random() < few / 30
                else "\u0635\u0648 " + rng.choice("abç. ")
                for _ in range(rng.choice((20, 200, 600)))
            )
            expected = plain.encode(change(text))
            assert tok.encode(text) == expected
            assert tok.encode_with_offsets(text).ids == expected


@pytest.mark.parametrize(("pattern", "expected"), [("a*", "-b-c-"), ("a*?", "-b-a-a-c-"), ("(?=a)", "b-a-ac")])
def test_a_pattern_that_matches_nothing_is_replaced_as_in_rust(pattern, expected):
    """No empty match is directly after another match."""
    step = ("ReplaceRegex", pattern, "-")
    assert normalizer_of([step])("baac") == normalization.align([step], "baac")[0] == expected


def test_a_cut_before_a_letter_that_joins_a_mark():
    """The pattern cuts before e, and the accent makes it another letter; or before a capital, which becomes small."""
    tokens = (*(bytes([i]) for i in range(256)), "é".encode(), "té".encode(), b"tt")
    merges = [(0xC3, 0xA9, 256), (ord("t"), 256, 257), (ord("t"), ord("t"), 258)]
    for step, pattern, text, ids in [("NFC", "e|[^e]+", "te\u0301", [257]), ("Lowercase", "T|[^T]+", "tT", [258])]:
        normalization = Normalization((step,))
        tok = Tokenizer(Vocabulary(tokens, (pattern,), "merges", merges, (), False, normalization=normalization))
        assert tok.encode(text) == tok.to_hf().encode(text).ids == ids
        assert tok.encode(f"{text}," * 200) == tok.to_hf().encode(f"{text}," * 200).ids
        assert tok.encode_batch([text] * 9) == [ids] * 9


@pytest.mark.parametrize("step", ["Lowercase", "StripAccents"])
def test_every_character_as_in_tokenizers(step):
    """Also letters and marks that are others in the Unicode of an old Python, or of a new one."""
    theirs, ours = getattr(normalizers, step)(), normalizer_of([step])
    points = [*range(0xD800), *range(0xE000, 0x110000)]
    for start in range(0, len(points), 128):
        text = "".join(map(chr, points[start : start + 128]))
        assert ours(text) == theirs.normalize_str(text), hex(points[start])
