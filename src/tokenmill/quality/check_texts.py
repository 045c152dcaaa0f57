"""Texts on which tokenizers differ: a fixed sample of edge cases, and generated texts from two vocabularies.

Most differences are at the edges: runs of white space, digits in threes, contractions in capitals, characters that
normalization changes, bytes that are not UTF-8, overlapping special tokens, and tokens that only one of the two has. The
generated texts are made of these.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from ..vocabulary import Vocabulary

EDGE_CASES = (
    "", " ", "  ", "\n", "\r\n", "\t\t\t", " \n \r\n\t \n", "a", " a", "a ", "  a", "\na", "a\n\n\nb", "a  \n  b",
    "x\u00a0y", "Hello, world!", "The quick brown fox jumps over the lazy dog.", "naïve façade, Ærøskøbing, Þórr",
    "don't DON'T don’t I'LL we'Ve 'tis", "it'ſ K'S ſ'ſ", "0 12 345 6789 01234567890", "3.14159 1,000,000 ½ ² Ⅷ ٣ ४५६",
    "x=y+1; if(a!=b){return!c}", "def f(x):\n    return x ** 2\n",
    "\tfor (int i = 0; i < n; ++i)\r\n\t\tsum += a[i];\r\n", "https://example.org/a_b?c=d&e=%20#f",
    "foo_bar fooBar FooBAR FOO-bar", "....... !!! ??? --- ___ ***", "“quoted” ‘single’ «guillemets»", "漢字とひらがなとカタカナ",
    "한국어 문장입니다.", "Русский текст, українська мова", "Ελληνικά κείμενα", "שלום עולם", "مرحبا بالعالم", "हिन्दी भाषा",
    "ภาษาไทยไม่มีช่องว่าง", "tiếng Việt có dấu", "e\u0301 n\u0303 \u212b \ufb01 \u1e9b\u0323",
    "\uac00\u1100\u1161\u11a8", "👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪 👍🏽", "\U0001f600\U0001f600\U0001f600", "a\u200bb\u200dc\ufeffd",
    "\x00\x01\x1b[0m\x7f", "\u0085\u2028\u2029\u3000\u180e\u1680", "\ue000\U000f0000\U0010ffff", "𝕬𝖇𝖈 𝟙𝟚𝟛",
    "ǅ ᾼ ʰ ª ー 々", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", " " * 300, "\n" * 40,
    "ab" * 60, "<|endoftext|>", "a<|endoftext|>b <|endoftext|> <|endoftext", "<|endoftext|><|endoftext|>",
    "<|im_start|>user\nhi<|im_end|>", "[MASK] <s> </s> <pad> <unk>", "2024-01-31T23:59:59Z", "user@example.com",
    "C:\\path\\to\\file.txt", "SELECT * FROM t WHERE a='b''c';", "<div class=\"x\">&nbsp;</div>",
    "{\"a\": [1, 2.5e-3, null]}",
)  # fmt: skip

_PARTS = (
    " ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u3000", "\u2028", "a", "s", "t", "ll", "RE", "'", "'s", "’", "\u017f",
    "0", "7", "123", "\u00bd", "\u0663", ".", ",", "!", "/", "_", "-", "(", ")", "\"", "#", "é", "e\u0301", "\u0301",
    "ß", "İ", "ﬁ", "漢", "字", "ア", "한", "я", "Ж", "ω", "ש", "م", "ह", "ไ", "👍", "🏽", "\u200d", "\ufe0f", "\U0001f1e9",
    "\x00", "\x7f", "\ufffd", "ǅ", "ʰ", "ª", "\u0e33", "\U00010400", "\u0378",
)  # fmt: skip


def distinguishing_texts(vocabulary: Vocabulary, other: Vocabulary, limit: int = 4000) -> Iterator[str]:
    """Texts that contain the tokens and added tokens that only one of the two has, or under another id."""
    differing_added = {*vocabulary.added_tokens} ^ {*other.added_tokens}
    for added in sorted(differing_added, key=lambda added: (added.id, added.content)):
        yield from (added.content, f"a{added.content}b", f" {added.content} {added.content}")
    differing: list[bytes] = []
    if vocabulary.tokens == other.tokens and vocabulary.removed == other.removed:
        return
    for mine, theirs in ((vocabulary, other), (other, vocabulary)):
        known = {(token, id) for id, token in enumerate(theirs.tokens) if id not in theirs.removed}
        differing += [
            token
            for id, token in enumerate(mine.tokens)
            if token is not None and id not in mine.removed and (token, id) not in known
        ]
    for token in differing[:: max(1, len(differing) // limit)]:
        text = token.decode("utf-8", "ignore")
        yield from (text, f"a{text} {text}")


def texts_of_tokens(vocabularies: Sequence[Vocabulary], seed: int, together: int = 32) -> Iterator[str]:
    """The tokens of the vocabularies that are text, a few in each text: one on each line, then in pairs without a space.

    A merge that one vocabulary does at another rank shows on the token that it makes, or on one beside it.
    """
    tokens = {token for vocabulary in vocabularies for token in vocabulary.tokens if token}
    texts = sorted(text for token in tokens if "\ufffd" not in (text := token.decode("utf-8", "replace")))
    for joint in ("\n", ""):
        for start in range(0, len(texts), together):
            yield joint.join(texts[start : start + together])
        random.Random(seed).shuffle(texts)


def fuzzed_texts(vocabularies: Sequence[Vocabulary], count: int, seed: int) -> Iterator[str]:
    """Generate `count` texts: tokens of the vocabularies, added tokens whole and cut, edge cases, and changed samples."""
    chosen = random.Random(seed)
    tokens = [[token for token in vocabulary.tokens if token] or [b"a"] for vocabulary in vocabularies]
    added = [token.content for vocabulary in vocabularies for token in vocabulary.added_tokens]

    def part() -> str:
        kind = chosen.random()
        if kind < 0.5:
            return chosen.choice(chosen.choice(tokens)).decode("utf-8", "ignore")
        if kind < 0.55 and added:
            content = chosen.choice(added)
            return content if chosen.random() < 0.6 else content[: chosen.randint(1, len(content))]
        if kind < 0.6:
            return chr(chosen.choice((chosen.randrange(0xD800), chosen.randrange(0xE000, 0x110000))))
        if kind < 0.65:
            return chosen.choice(_PARTS) * chosen.randint(2, 20)
        return chosen.choice(_PARTS)

    for _ in range(count):
        if chosen.random() < 0.2:
            text = chosen.choice(EDGE_CASES)
            at = chosen.randint(0, len(text))
            yield text[:at] + part() + text[at + chosen.randint(0, 2) :]
        else:
            yield "".join(part() for _ in range(chosen.randint(1, 12)))


def fuzzed_bytes(vocabularies: Sequence[Vocabulary], count: int, seed: int) -> Iterator[bytes]:
    """Generate `count` byte strings, mostly not UTF-8: tokens of the vocabularies, cut and joined, and random bytes."""
    chosen = random.Random(seed)
    tokens = [[token for token in vocabulary.tokens if token] or [b"a"] for vocabulary in vocabularies]
    for _ in range(count):
        parts = []
        for _ in range(chosen.randint(1, 8)):
            token = chosen.choice(chosen.choice(tokens))
            parts.append(token[chosen.randint(0, len(token) - 1) :] if chosen.random() < 0.7 else chosen.randbytes(2))
        yield b"".join(parts)
