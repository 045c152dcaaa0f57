"""The slow twin of superword training: SuperBPE straight from its definition, on all segments of the text at once.

    Liu, Hayase, Hofmann, Oh, Smith, Choi: SuperBPE: Space Travel for Language Models, 2025 (arXiv 2503.13423)

It shares no code with the package.

Stage 1    Plain BPE on the pretokens of the word pattern, each with its count, up to `stage1_size` tokens.
Stage 2    Each document is cut into lines; a newline stays with its line. Each line is cut by the second pattern. The parts
           begin as bytes, and the merges of stage 1 are applied in order. Then the most frequent pair is merged, again and
           again. A pair is left out if its token would contain a colon and a space, or more than `max_words` words.

A word is a non-empty part of a token between spaces. Ties: the higher count, then the smaller (left id, right id).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import regex

STAGE2 = r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]{2,}[\r\n/]*| +(?!\S)"
Merge = tuple[int, int, int]


def split(pattern: str, text: str) -> list[bytes]:
    """The matches of `pattern` and the text between them."""
    parts, at = [], 0
    for match in regex.finditer(pattern, text):
        parts += [text[at : match.start()], match.group()]
        at = match.end()
    return [part.encode() for part in [*parts, text[at:]] if part]


def segments(pattern: str, texts: Iterable[str]) -> list[bytes]:
    """The parts of stage 2."""
    lines = [line for text in texts for line in regex.findall(r"[^\n]*\n|[^\n]+", text)]
    return [part for line in lines for part in split(pattern, line)]


def allowed(token: bytes, max_words: int | None, colon_veto: bool) -> bool:
    """Whether stage 2 may make this token."""
    words = [word for word in token.split(b" ") if word]
    return not (colon_veto and b": " in token) and (max_words is None or len(words) <= max_words)


def apply(ids: list[int], merge: Merge) -> list[int]:
    """`ids` with one merge applied from left to right."""
    left, right, new = merge
    done: list[int] = []
    for id in ids:
        if done and done[-1] == left and id == right:
            done[-1] = -1 - new  # not to be merged again in this step
        else:
            done.append(id)
    return [-1 - id if id < 0 else id for id in done]


def grow(
    parts: Counter[tuple[int, ...]], tokens: list[bytes], size: int, fits=lambda token: True, least=1
) -> list[Merge]:
    """Merge the best pair until there are `size` tokens."""
    merges: list[Merge] = []
    while len(tokens) < size:
        pairs: Counter[tuple[int, int]] = Counter()
        for ids, count in parts.items():
            for i in range(len(ids) - 1):
                pairs[ids[i], ids[i + 1]] += count
        ranked = [(-n, *pair) for pair, n in pairs.items() if n >= least and fits(tokens[pair[0]] + tokens[pair[1]])]
        if not ranked:
            break
        _, left, right = min(ranked)
        merges.append((left, right, len(tokens)))
        tokens.append(tokens[left] + tokens[right])
        merged: Counter[tuple[int, ...]] = Counter()
        for ids, count in parts.items():
            merged[tuple(apply(list(ids), merges[-1]))] += count
        parts = merged
    return merges


def train_superbpe(
    texts: list[str],
    word_pattern: str,
    sizes: tuple[int, int],
    stage2: str = STAGE2,
    max_words: int | None = 4,
    colon_veto: bool = True,
    min_pair_count: int = 1,
) -> tuple[list[bytes], list[Merge]]:
    """The tokens by id, and the merges of both stages. sizes: of stage 1 and in all, with the 256 bytes.

    >>> tokens, merges = train_superbpe(["of the of the of the, of the"], r" ?\\w+|\\W", (260, 262))
    >>> tokens[256:]
    [b' t', b'he', b'of', b' the', b'of the', b' of the']
    """
    tokens = [bytes([i]) for i in range(256)]
    words = Counter(tuple(part) for text in texts for part in split(word_pattern, text))
    merges = grow(words, tokens, sizes[0], least=min_pair_count)
    encoded: Counter[tuple[int, ...]] = Counter()
    for part, count in Counter(segments(stage2, texts)).items():
        ids = list(part)
        for merge in merges:
            ids = apply(ids, merge)
        encoded[tuple(ids)] += count
    fits = lambda token: allowed(token, max_words, colon_veto)  # noqa: E731
    return tokens, merges + grow(encoded, tokens, sizes[1], fits, min_pair_count)
