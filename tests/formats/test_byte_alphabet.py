"""The byte alphabet is that of Hugging Face."""

from hypothesis import given
from hypothesis import strategies as st
from tokenizers import pre_tokenizers

from tokenmill.formats.byte_alphabet import CHARACTERS, to_text, to_token


def test_it_is_the_alphabet_of_hugging_face():
    assert set(CHARACTERS) == set(pre_tokenizers.ByteLevel.alphabet())
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    for text in ("".join(map(chr, range(0x80))), "\u00ad\u0100\u0143 漢字 \U0001f600\u007f"):
        assert to_text(text.encode()) == level.pre_tokenize_str(text)[0][0]


@given(st.binary())
def test_bytes_come_back(token):
    assert to_token(to_text(token)) == token


@given(st.text(st.sampled_from("aĠÃ 漢\ud800\U0001f600Ń\u0144")))
def test_texts_outside_of_the_alphabet_are_none(text):
    inside = all(character in CHARACTERS for character in text)
    assert to_token(text) == (bytes(map(CHARACTERS.index, text)) if inside else None)
