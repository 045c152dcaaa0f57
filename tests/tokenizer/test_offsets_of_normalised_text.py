"""Spans in the text that was given, where the tokenizer changes it first."""

import json

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from tokenmill import Tokenizer, load
from tokenmill.tokenizer.normalization import align, normalizer_of
from tokenmill.vocabulary import AddedToken, Normalization, Vocabulary

BYTES = tuple(bytes([i]) for i in range(256))
STEPS = [
    ("NFC",), ("NFD",), ("NFKC", "Lowercase"), ("NFKD", "StripAccents"), (("Strip", True, True),), (("Replace", "ab", "xyz"),),
    (("Replace", "a", ""), "NFC"), (("ReplaceRegex", " {2,}", " "), ("Prepend", "_")), (("Prepend", "_"), ("Strip", False, True)),
]  # fmt: skip
LETTERS = st.text(st.sampled_from("ab éÉe\u0301\u0327ﬁ\u1100\u1161\u11a8각 İ\uff8a\uff9e\u3131\uffc2"), max_size=14)


@pytest.mark.parametrize("steps", STEPS)
@given(text=LETTERS)
def test_align_changes_text_as_the_normalizer_does(steps, text):
    changed, starts, ends = align(steps, text)
    assert changed == normalizer_of(steps)(text)
    assert len(starts) == len(ends) == len(changed)
    assert all(0 <= start <= end <= len(text) for start, end in zip(starts, ends, strict=True))
    assert starts == sorted(starts) and ends == sorted(ends)
    for character, start, end in zip(changed, starts, ends, strict=True):
        assert character in changed and (start == end or character in normalizer_of(steps)(text[start:end]) + "_xyz ")


def vocabulary(steps):
    added = (AddedToken("<a>", 300, special=False), AddedToken("éb", 301, special=False, normalized=True))
    return Vocabulary(BYTES, ("gpt2",), normalization=Normalization(steps), added_tokens=added)


@pytest.mark.parametrize("steps", STEPS)
@given(text=LETTERS)
def test_spans_are_in_the_text_given(steps, text):
    tok = Tokenizer(vocabulary(steps))
    text = f"{text}<a>e\u0301b {text}"
    spans = tok.encode_with_offsets(text)
    assert spans.ids == tok.encode(text) and spans.text == text
    assert "<a>" in [text[start:end] for start, end in spans.characters.tolist()]
    for n in (1, 4):
        chunks = tok.chunks(text, n + 40)
        assert "".join(chunks) == text and all(tok.count_tokens(chunk) <= n + 40 for chunk in chunks)
        assert text.startswith(tok.truncate(text, n)) and tok.count_tokens(tok.truncate(text, n)) <= n


@pytest.mark.parametrize("steps", [("NFC",), ("NFD",), ("NFKC", "Lowercase"), ("NFKD", "StripAccents"), ("Lowercase",)])
@given(text=LETTERS)
def test_spans_are_those_of_tokenizers(steps, text):
    """They begin where tokenizers' do, and end there or later: with the last character that became part of the token."""
    tok = Tokenizer(Vocabulary(BYTES, ("gpt2",), normalization=Normalization(steps)))
    theirs, spans = tok.to_hf().encode(text), tok.encode_with_offsets(text)
    assert spans.ids == theirs.ids
    for (start, end), (their_start, their_end) in zip(spans.characters.tolist(), theirs.offsets, strict=True):
        assert start <= their_start and end >= their_end, (start, end, their_start, their_end)


def test_a_decomposed_character_does_not_shift_later_spans():
    tok = Tokenizer(Vocabulary((*BYTES, b" ok"), ("gpt2",), normalization=Normalization(("NFC",))))
    text = "cafe\u0301 ok"
    spans = tok.encode_with_offsets(text)
    assert [text[start:end] for start, end in spans.characters.tolist()] == ["c", "a", "f", "e\u0301", "e\u0301", " ok"]


def normalized_spans_of(tok, text):
    """tokenizers' offsets in the text after its normalizer, that text, and ours."""
    theirs = tok.to_hf()
    text = theirs.normalizer.normalize_str(text)
    bare = type(theirs).from_str(json.dumps(json.loads(theirs.to_str()) | {"normalizer": None}))
    return bare.encode(text, add_special_tokens=False).offsets, text


@pytest.mark.parametrize(
    "steps", [("NFC",), ("NFKC", "Lowercase"), ("NFKD", "StripAccents"), (("Replace", "ab", "xyz"),)]
)
@given(text=LETTERS)
def test_normalized_spans_are_those_of_tokenizers(steps, text):
    tok, text = (
        Tokenizer(
            Vocabulary(BYTES, ("gpt2",), normalization=Normalization(steps), added_tokens=(AddedToken("<>", 256),))
        ),
        f"{text}<>{text}",
    )
    spans = tok.encode_with_offsets(text, normalized=True, allowed_special="all")
    assert ([*map(tuple, spans.characters.tolist())], spans.text) == normalized_spans_of(tok, text)


def test_normalized_spans_of_a_library(tmp_path):
    model = tokenizers.models.WordPiece({"[UNK]": 0, "cafe": 1, "##s": 2, "[SEP]": 3}, unk_token="[UNK]")
    theirs = tokenizers.Tokenizer(model)
    theirs.normalizer = tokenizers.normalizers.BertNormalizer()
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    theirs.add_special_tokens(["[SEP]"])
    theirs.save(str(tmp_path / "tokenizer.json"))
    tok = load(tmp_path / "tokenizer.json")
    spans = tok.encode_with_offsets("CAFE\u0301s[SEP]x", normalized=True, allowed_special="all")
    assert (spans.ids, spans.text) == ([1, 2, 3, 0], "cafes[SEP]x")
    assert spans.characters.tolist() == [[0, 4], [4, 5], [5, 10], [10, 11]]
