"""Small vocabularies of every kind, and texts that have tripped encoders."""

import itertools

import numpy as np

from naive_training import train_naive
from tokenmill import train_from_iterator
from tokenmill.split.patterns import PATTERNS
from tokenmill.vocabulary import AddedToken, Normalization, Vocabulary

TEXT = (
    """The quick brown fox jumps over the lazy dog. The fox isn't quick: it's lazy, they've said; we'll see.
def lower(newest, widest):\n    return newest + widest  # lowest of the low, the newest of the new\n
Größe und Äußerung, naïve café, ρυθμός, русские слова, 日本語の文, 한국어 문장, العربية, हिन्दी, ไทย.
1234567 times 3.14159, 2026-11-21; aaaa aaaaaaa ababab abcabcabc   spaces\t\ttabs\r\nlines\n\n\n
👩‍👩‍👧 🇯🇵 👍🏽 ❤️ <|endoftext|> low lower lowest newer newest wider widest low low lower
"""
    * 3
)

SPECIAL = (
    AddedToken("<|endoftext|>", 1000),
    AddedToken("<|end|>", 1001),
    AddedToken("<|endoftext|><|end|>", 1002),
)


def pretokens(split):
    from collections import Counter

    from tokenmill.split import Splitter

    return (
        Counter(pretoken.encode() for pretoken in Splitter(*split).split(TEXT)) if split else Counter([TEXT.encode()])
    )


def trained(split, size=900):
    """Bytes and merges of a plain training on TEXT."""
    tokens = [bytes([b]) for b in range(256)]
    merges, _ = train_naive(pretokens(split).items(), tokens, size)
    return tokens, merges


def vocabularies():
    """Names and vocabularies: each way to merge, each rule about pretokens, each kind of added token."""
    gpt2, cl100k = (PATTERNS["gpt2"],), (PATTERNS["cl100k"],)
    tokens, merges = trained(gpt2)
    events = np.array(merges, np.int32)
    shuffled = [tokens[i] for i in np.random.default_rng(5).permutation(len(tokens))]
    flags = (
        AddedToken("<mask>", 1000, lstrip=True),
        AddedToken("<pad>", 1001, rstrip=True, special=False),
        AddedToken("new", 1002, special=False, single_word=True),
        AddedToken("É", 1003, special=False, normalized=True),
        AddedToken("  ", 1004, special=False),
    )
    return [
        ("ranks", Vocabulary(tuple(tokens), gpt2, added_tokens=SPECIAL)),
        ("merges", Vocabulary(tuple(tokens), gpt2, "merges", events, SPECIAL, whole_pretokens=False)),
        ("whole", Vocabulary(tuple(tokens), cl100k, "merges", events, SPECIAL, whole_pretokens=True)),
        ("shuffled", Vocabulary(tuple(shuffled), (PATTERNS["o200k"],))),
        (
            "no-bytes",
            Vocabulary((*(bytes([b]) for b in range(32, 127)), b"ab", b"abc", b"ca", b"\n"), (), whole_pretokens=False),
        ),
        (
            "flags",
            Vocabulary(tuple(tokens), gpt2, "merges", events, flags, False, normalization=Normalization(("NFC",))),
        ),
        (
            "prefix",
            Vocabulary(tuple(tokens), gpt2, "merges", events, SPECIAL, False, normalization=Normalization((), True)),
        ),
        ("nested", Vocabulary(tuple(tokens), (r"\p{N}{1,2}|\n", PATTERNS["llama3"]))),
        ("gaps", Vocabulary(tuple(tokens), (r"[a-m]+|\s+(?!\S)|(?i:fox)",))),
        ("characters", characters()),
        ("picky", picky()),
        ("sentencepiece", sentencepiece()),
        ("first", sentencepiece(normalization=Normalization((), "first", "▁"))),
        (
            "lines",
            sentencepiece(normalization=Normalization((("Replace", " ", "▁"),), False, "▁")).replace(
                split_patterns=(r"[^\n]+|\n+",)
            ),
        ),
        ("boundless", boundless()),
    ]


def characters():
    """A vocabulary whose training began with characters, some of which it does not have."""
    alphabet = sorted({c for c in TEXT if c not in "ह中日👍z"})
    tokens = [c.encode() for c in alphabet]
    number = {token: i for i, token in enumerate(tokens)}
    words = [([number[c.encode()] for c in word], 1) for word in TEXT.split() if all(c in alphabet for c in word)]
    merges, _ = train_naive(words, tokens, len(tokens) + 200)
    tokens.append(None)
    unknown = len(tokens) - 1
    return Vocabulary(
        tuple(tokens), (PATTERNS["whitespace"],), "merges", np.array(merges, np.int32),
        (AddedToken("<unk>", unknown),), False, alphabet="characters", unknown=unknown,
    )  # fmt: skip


def sentencepiece(**changes):
    """A vocabulary with SentencePiece's rules: spaces marked, characters without a token as bytes, one rank for a token."""
    plain = characters()
    apart = [bytes([b]) for b in range(256)]
    words = [f" {word}" for word in TEXT.split()]
    alphabet = [token for token in plain.tokens if token and len(token.decode()) == 1] + [b" "]
    tokens = [b"<unk>", *apart, *alphabet]
    number = {token: i for i, token in enumerate(tokens) if i > 256}
    lists = [([number[c.encode()] for c in word], 1) for word in words if all(c.encode() in number for c in word)]
    rows = []
    for left, right, new in train_naive(lists, tokens, len(tokens) + 200)[0]:
        rows.append((left, right, new))
        number[tokens[new]] = new
        halves = [(tokens[new][:i], tokens[new][i:]) for i in range(1, len(tokens[new]))]
        others = [(number[a], number[b], new) for a, b in halves if a in number and b in number]
        rows += [row for row in others if row not in rows]
    fields = {
        "normalization": Normalization((("Prepend", "▁"), ("Replace", " ", "▁")), False, "▁"), "alphabet": "characters",
        "byte_tokens": tuple(range(1, 257)), "unknown": 0, "fuse_unknown": True, "whole_pretokens": False,
        "added_tokens": (AddedToken("<unk>", 0), AddedToken("<s>", len(tokens)), AddedToken("new", len(tokens) + 1, special=False)),
    }  # fmt: skip
    return Vocabulary((None, *tokens[1:]), (), "scores", np.array(rows, np.int32), **{**fields, **changes})


def picky(threshold=0.5, size=700):
    """A Picky vocabulary, with removals and second chances, from the definitions."""
    tokens = [bytes([b]) for b in range(256)]
    words = [([*pretoken], count) for pretoken, count in pretokens((PATTERNS["cl100k"],)).items()]
    ids, pair, gone, events = {t: i for i, t in enumerate(tokens)}, {}, set(), []

    def frequency(id):
        return sum(count * word.count(id) for word, count in words)

    def apart(id):
        return [part for half in pair[id] for part in (apart(half) if half in gone else [half])]

    def replaced(word, old, new):
        out, i = [], 0
        while i < len(word):
            if word[i : i + len(old)] == old:
                out += new
                i += len(old)
            else:
                out.append(word[i])
                i += 1
        return out

    while len(tokens) - len(gone) < size and len(events) < 900:
        counts = {}
        for word, count in words:
            for one in itertools.pairwise(word):
                counts[one] = counts.get(one, 0) + count
        if not counts:
            break
        left, right = min(counts, key=lambda one: (-counts[one], one))
        joined = tokens[left] + tokens[right]
        new = ids.setdefault(joined, len(tokens))
        if new == len(tokens):
            tokens.append(joined)
        pair.setdefault(new, (left, right))
        gone.discard(new)
        before = {id: frequency(id) for id in (left, right)}
        had = frequency(new)
        words = [(replaced(word, [left, right], [new]), count) for word, count in words]
        times = frequency(new) - had
        events.append((left, right, new))
        for half in dict.fromkeys((left, right)):
            if half >= 256 and (2 if left == right else 1) * times / before[half] >= threshold:
                gone.add(half)
                words = [(replaced(word, [half], apart(half)), count) for word, count in words]
                events.append((half, -1, -1))
    return Vocabulary(
        tuple(tokens), (PATTERNS["cl100k"],), "events", np.array(events, np.int32), whole_pretokens=False,
        added_tokens=(AddedToken("<|endoftext|>", len(tokens)),),
    )  # fmt: skip


def boundless():
    """Superwords of whole pretokens, over events with removals."""
    options = {"split": "cl100k", "refine": 0.7, "min_pair_count": 1, "special_tokens": ["<|endoftext|>"]}
    vocabulary = train_from_iterator([TEXT], 550, superwords="boundless", **options).vocabulary
    assert len(vocabulary.superwords) > 40 and vocabulary.removed
    return vocabulary


EDGE_CASES = [
    "", " ", "\n", "\r\n", "\r", "\t \t", "  \n  ", "a", "aa", "aaa", "a" * 1000, " " * 700, "\n" * 300, "ab" * 400,
    "<|endoftext|>", "<|endoftext|><|end|>", "<|endoftext|><|endoftext|><|end|>x", "<|endof<|endoftext|>text|>",
    "x<mask> y", "  <mask>  <pad>  z", "<pad> \u00a0\u2003x", "new renew newer new_ new", "new\u0301", "\u2028new\u2028",
    "E\u0301 É e\u0301 é", "\u1e9b\u0323", "ﬁ", "Å Å", "각 \u1100\u1161\u11a8", "\u0130\u0131ſK",
    "it's IT'S we'LL they'Ve 'tis don't 'S 'ſ", "'s't're've'm'll'd", "'", "''ll",
    "1234567 12 1 ٣٤٥ ⅣⅤ ²³", "x\u001cy\u001fz \u0085 \u180e \ufeff \u200b", "\u3000日本\u3000語",
    "👩‍👩‍👧‍👦", "🇯🇵🇧🇷", "❤️", "\U0010ffff\U000e0001", "z\u0300\u0301\u0302\u0303", "हिन्दी", "กำ", "\u202eabc\u202c",
    "\ud800", "a\udc00b", "\udc00\ud800", "\ud83d", "x\ud83dy\udc4d", "\x00\x01\x7f", "\ufffd\ufffe",
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "&lt;b&gt; &amp;", "' OR 1=1 --", "a\u0000b",
    "zzzz z", "日中", "नमस्ते 中文 z",
]  # fmt: skip
