"""The named split patterns."""

from collections.abc import Iterable

from ..errors import PatternError

_O200K_CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"

PATTERNS: dict[str, str] = {
    # OpenAI's GPT-2, r50k and p50k, as tiktoken writes it.
    "gpt2": r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s""",
    # GPT-3.5 and GPT-4, as tiktoken writes it.
    "cl100k": r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|"""
    r"""\s++$|\s*[\r\n]|\s+(?!\S)|\s""",
    # GPT-4o, as tiktoken writes it.
    "o200k": "|".join(
        [
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + _O200K_CONTRACTIONS,
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + _O200K_CONTRACTIONS,
            r"\p{N}{1,3}",
            r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
            r"\s*[\r\n]+",
            r"\s+(?!\S)",
            r"\s+",
        ]
    ),
    # Llama 3, as in its tokenizer.json. Unlike cl100k, it has no alternative for all trailing white space.
    "llama3": r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"""
    r"""\s*[\r\n]+|\s+(?!\S)|\s+""",
    # Qwen 2 and later: digits one by one.
    "qwen2": r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|"""
    r"""\s*[\r\n]+|\s+(?!\S)|\s+""",
    # nanochat: at most two digits in a pretoken, and one newline in the white-space alternative.
    "nanochat": r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*|"""
    r"""\s*[\r\n]|\s+(?!\S)|\s+""",
    # ddtokens: each white-space character begins a new pretoken.
    "whitespace": r"\s\S*+|\S++",
}


def regular_expressions(patterns: Iterable[str]) -> tuple[str, ...]:
    """The split patterns as regular expressions: a name becomes the pattern it stands for.

    >>> regular_expressions(["whitespace"])
    ('\\\\s\\\\S*+|\\\\S++',)
    """
    for pattern in patterns:
        if not isinstance(pattern, str) or not pattern:
            raise PatternError(f"the split pattern {pattern!r:.60} is not a name or a regular expression")
    return tuple(PATTERNS.get(pattern, pattern) for pattern in patterns)
