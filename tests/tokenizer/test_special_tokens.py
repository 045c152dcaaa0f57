"""Added tokens in text: what is allowed, what is refused, what wins where they overlap."""

import re
from collections.abc import Iterator
from random import Random

import pytest
import tokenizers
from random_vocabularies import SWEEP

from code_points import code_points
from tokenmill import AddedToken, Normalization, Tokenizer, Vocabulary
from tokenmill.errors import SpecialTokenError, UsageError
from tokenmill.tokenizer.normalization import normalizer_of
from tokenmill.tokenizer.special import has_word_character

CODES = list(map(ord, code_points()))
BYTES = tuple(bytes([i]) for i in range(256))
EOT = "<|endoftext|>"


def make(*added: AddedToken | str, **options) -> Tokenizer:
    tokens = [AddedToken(a, 300 + i) if isinstance(a, str) else a for i, a in enumerate(added)]
    return Tokenizer(Vocabulary(BYTES, ("gpt2",), added_tokens=tuple(tokens), **options))


def test_text_never_becomes_a_control_token_by_itself(tok):
    with pytest.raises(SpecialTokenError) as error:
        tok.encode(f"low {EOT} lower")
    for way_out in (f"allowed_special={{'{EOT}'}}", "special_tokens_set - {", "disallowed_special=()"):
        assert way_out in str(error.value)
    assert isinstance(error.value, ValueError)
    ordinary = tok.encode(EOT, disallowed_special=())
    assert ordinary == tok.encode_ordinary(EOT) == tok.encode_bytes(EOT.encode()) and len(ordinary) > 1
    assert tok.encode(EOT, disallowed_special={"<|user|>"}) == ordinary
    assert tok.encode(EOT, allowed_special={"<|user|>"}, disallowed_special=()) == ordinary


def test_allowed(tok):
    for allowed in ("all", {EOT}, [EOT], frozenset({EOT, "<|user|>", "something else"})):
        assert tok.encode(f"{EOT}low{EOT}{EOT}", allowed_special=allowed) == [498, *tok.encode("low"), 498, 498]
    with pytest.raises(SpecialTokenError, match="user"):
        tok.encode(f"<|user|>{EOT}", allowed_special={EOT})
    with pytest.raises(SpecialTokenError):  # disallowed wins over allowed
        tok.encode(EOT, allowed_special={EOT}, disallowed_special={EOT})
    with pytest.raises(SpecialTokenError, match="low"):  # any text may be refused
        tok.encode("lower", disallowed_special={"low"})


def test_wrong_arguments(tok):
    for options in ({"allowed_special": EOT}, {"disallowed_special": EOT}):
        with pytest.raises(UsageError, match="'all'"):
            tok.encode("low", **options)
    for wrong in ({5}, b"<", 5, [None]):
        with pytest.raises(TypeError, match="are collections of texts, or 'all'"):
            tok.encode("low", disallowed_special=wrong)


@pytest.mark.parametrize("name", ["encode", "encode_to_numpy", "encode_with_offsets", "count_tokens", "encode_batch"])
def test_all_verbs_refuse_and_allow_alike(tok, name):
    verb = getattr(tok, name)
    text = f"low {EOT}"
    argument = [text] if name == "encode_batch" else text
    with pytest.raises(SpecialTokenError, match="allowed_special"):
        verb(argument)
    result = verb(argument, allowed_special="all")
    expected = tok.encode(text, allowed_special="all")
    assert expected[-1] == 498
    result = {"encode_with_offsets": lambda r: r.ids, "encode_batch": lambda r: r[0]}.get(name, lambda r: r)(result)
    assert (result == len(expected)) if name == "count_tokens" else (list(result) == expected)


def test_long_texts(tok, text):
    """Past the size from which the GIL is given up, with tokens at both ends and at borders of blocks of 64 bytes."""
    for gap in (0, 1, 50, 51, 62, 63, 64, 65, 5000):
        long = EOT + "x" * gap + EOT + text * 40 + EOT
        ids = tok.encode(long, allowed_special="all")
        middle = tok.encode("x" * gap)
        assert ids == [498, *middle, 498, *tok.encode(text * 40), 498]
        with pytest.raises(SpecialTokenError):
            tok.encode("x" * (5000 + gap) + EOT)


def test_the_longest_of_those_at_one_place_wins():
    tok = make("<a>", "<a><b>", "<b>")
    assert tok.encode("<a><b>", allowed_special="all") == [301]
    assert tok.encode("<a><b>", allowed_special={"<a>", "<b>"}, disallowed_special=()) == [300, 302]
    assert tok.encode("<a><b>", allowed_special={"<b>"}, disallowed_special=()) == [*b"<a>", 302]


def test_overlapping_and_nested():
    tok = make("<|x|>", "|><|", "<|a<|x|>b|>")
    assert tok.encode("<|x|><|", allowed_special="all") == [300, *b"<|"]
    assert tok.encode("<|x|><|", allowed_special={"|><|"}, disallowed_special=()) == [*b"<|x", 301]
    assert tok.encode("<|a<|x|>b|>", allowed_special="all") == [302]
    assert tok.encode("<|a<|x|>b|>", allowed_special={"<|x|>"}, disallowed_special=()) == [*b"<|a", 300, *b"b|>"]


def test_many_tokens_with_many_beginnings():
    """More beginnings than the quick scan holds, and tokens of one byte."""
    contents = [chr(0x4E00 + i) + "x" * (i % 5) for i in range(300)] + [
        "~",
        "é",
        *(f"{chr(i)}<" for i in range(33, 60)),
    ]
    tok = make(*contents)
    for i, content in enumerate(contents):
        text = "low " * 30 + content + " wer"
        assert tok.encode(text, allowed_special="all") == [*b"low " * 30, 300 + i, *b" wer"], content
        with pytest.raises(SpecialTokenError):
            tok.encode(text)


@pytest.mark.parametrize("patterns", [("cl100k",), ()])
@pytest.mark.parametrize("steps", [(), ("NFC",), ("NFKC", "Lowercase")])
def test_many_short_stretches(steps, patterns):
    """Searches, checks of normalization and cuts that go beyond a stretch change nothing."""
    raw, normal = ("\n", "\n\n", "<b>", "\u2581\u2581", "é|"), ("  ", "   ", "ü#", "\u0301")
    words = ("lo", "low", "er", "ab", " x", "é", "漢字", "e\u0301", "\u0301")
    tokens = BYTES + tuple(map(str.encode, words))
    added = tuple(AddedToken(t, 300 + i, special=False, normalized=t in normal) for i, t in enumerate(raw + normal))
    ids = {token.content: token.id for token in added}
    plain = Tokenizer(Vocabulary(tokens, patterns))
    tok = Tokenizer(Vocabulary(tokens, patterns, added_tokens=added, normalization=Normalization(steps)))
    change, rng = normalizer_of(steps), Random(f"{steps} {patterns}")

    def split(text: str, contents: tuple[str, ...]) -> list[str]:
        return re.split("(" + "|".join(map(re.escape, sorted(contents, key=len, reverse=True))) + ")", text)

    def expected(text: str) -> Iterator[int]:
        for i, stretch in enumerate(split(text, raw)):
            for k, part in enumerate(split(change(stretch), normal) if i % 2 == 0 else ["", stretch]):
                yield from [ids[part]] if k % 2 else plain.encode(part)

    texts = []
    for _ in range(60 * SWEEP):
        rare = rng.choices(["e\u0301", "\u0323", "ﬁ", "LOW", "漢", "é", *raw, *normal], k=rng.randint(1, 4))
        share, longest = rng.choice([0, 0.01, 0.1, 0.4]), rng.choice([5, 40, 90, 300])
        lines = []
        while sum(map(len, lines)) < rng.choice([100, 3000]):
            letters = rng.choice(["abelowr x", "漢字かな", "жизнь é", "abe漢 x"])
            line = rng.choices(letters, k=rng.randint(0, longest))
            lines.append("".join(rng.choice(rare) if rng.random() < share else letter for letter in line))
            lines.append(rng.choice([*raw, "\n", *rare]))
        texts.append("".join(lines))
        assert tok.encode(texts[-1]) == list(expected(texts[-1]))
    assert tok.encode_batch(texts, num_threads=1) == [list(expected(text)) for text in texts]


def test_tokens_that_are_not_special_are_always_found():
    tok = make(AddedToken("  ", 300, special=False), AddedToken("   ", 301, special=False), EOT)
    assert (
        tok.encode("a  b   c     d") == tok.encode_ordinary("a  b   c     d") == [97, 300, 98, 301, 99, 301, 300, 100]
    )
    assert tok.encode_bytes(b"a  b") == [97, 32, 32, 98]  # bytes are bytes
    assert tok.special_tokens_set == {EOT}


def test_flags():
    strip = make(AddedToken("<m>", 300, lstrip=True, rstrip=True))
    assert strip.encode("a \n<m>\u3000\tb", allowed_special="all") == [97, 300, 98]
    assert strip.encode("<m> <m>", allowed_special="all") == [300, 300]
    spans = strip.encode_with_offsets("a <m> b", allowed_special="all")
    assert spans.bytes.tolist() == [[0, 1], [1, 6], [6, 7]] and spans.text == "a <m> b"
    word = make(AddedToken("low", 300, special=False, single_word=True))
    assert word.encode("low lower slow low.") == [300, *b" lower slow ", 300, 46]
    assert word.encode("élow low_ low") == [*"élow low_ ".encode(), 300]


def test_normalized_tokens_are_found_after_normalization():
    raw, changed = AddedToken("e\u0301", 300, special=False), AddedToken("e\u0301", 300, special=False, normalized=True)
    options = {"normalization": Normalization(("NFC",))}
    assert make(raw, **options).encode("e\u0301 é") == [300, *" é".encode()]
    assert make(changed, **options).encode("e\u0301 é") == [300, 32, 300]


def test_a_token_in_white_space_that_another_has_taken_is_gone():
    """As in Hugging Face: `<m>` takes the line feed, and nothing is left of the token that is one."""
    for lstrip, expected in ((True, [300, 97]), (False, [300, 301, 97])):
        tok = make(AddedToken("<m>", 300, rstrip=True), AddedToken("\n", 301, special=False, lstrip=lstrip))
        assert tok.encode("<m>\na", allowed_special="all") == expected
    tok = make(AddedToken("\n", 300, special=False, lstrip=True, rstrip=True))
    assert tok.encode("a \n\n b\nc") == [97, 300, 98, 300, 99]


def test_single_word_knows_every_code_point_as_tokenizers_does():
    tok = make(AddedToken("<m>", 300, special=False, single_word=True))
    hf = tokenizers.Tokenizer(tokenizers.models.BPE({"a": 0}, []))
    hf.add_tokens([tokenizers.AddedToken("<m>", single_word=True, normalized=False)])
    found = {c for c in CODES if hf.encode(f"{chr(c)}<m>").tokens[-1:] == ["<m>"]}
    assert {c for c in CODES if not has_word_character(chr(c))} == found
    some = [c for c in CODES if c % 97 == 0]
    assert {c for c in some if tok.encode(f"<m>{chr(c)}")[0] == 300} == found.intersection(some)


def test_lone_surrogates(tok):
    replacement = tok.encode("\ufffd")
    assert tok.encode("\ud800") == replacement
    assert tok.encode("\ud83d\ude42") == tok.encode("🙂")
    assert tok.encode(f"\udfff{EOT}", allowed_special="all") == [*replacement, 498]
    assert tok.encode_batch(["low", "\ud800"]) == [tok.encode("low"), replacement]
    assert tok.encode_to_numpy("\ud800").tolist() == replacement and tok.count_tokens("\ud800") == len(replacement)
    assert tok.encode_with_offsets("a\ud800").text == "a\ufffd"
    with pytest.raises(SpecialTokenError):
        tok.encode(f"\udfff{EOT}")


@pytest.mark.parametrize("words", ["", "low", " low é" * 30, " a b" * 2000])
@pytest.mark.parametrize("count", [1, 100, 344, 345, 512, 5000])
def test_any_number_of_tokens_with_any_text_between(words, count):
    """Pretokens and added tokens wait to be looked up together: where they become too many, and where none is left."""
    tok = make(
        AddedToken("|", 300), AddedToken("[x]", 301, lstrip=True, rstrip=True), normalization=Normalization(("NFC",))
    )
    count = count if len(words) < 100 else min(count, 20)
    between = tok.encode_ordinary(words)
    text = ("|" + words) * count + " [x] [x]  [x]" + "|" * count + "e\u0301" + "|"
    ids = [300, *between] * count + [301] * 3 + [300] * count + tok.encode_ordinary("é") + [300]
    assert tok.encode(text, allowed_special="all") == ids
    assert tok.count_tokens(text, allowed_special="all") == len(ids)
    assert tok.encode_with_offsets(text, allowed_special="all").ids == ids
