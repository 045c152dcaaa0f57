"""One table of names, for split patterns and for published encodings: `split="gpt-4o"` and `load("gpt-4o")` both work."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..errors import PatternError
from .patterns import CHAINS, PATTERNS

# A split pattern, the published encoding that has it ("-" for none), and the models that use them. A model is also
# the one for names that continue it with a hyphen: gpt-4o for gpt-4o-mini.
_TABLE = """
gpt2         gpt2           gpt-2
gpt2         r50k_base      text-davinci-001 text-curie-001 text-babbage-001 text-ada-001 davinci curie babbage ada
gpt2         r50k_base      text-similarity text-search code-search
gpt2         p50k_base      text-davinci-002 text-davinci-003 code-davinci code-cushman davinci-codex cushman-codex
gpt2         p50k_edit      text-davinci-edit code-davinci-edit
gpt2         -              olmo
cl100k       cl100k_base    gpt-4 gpt-3.5 gpt-35 davinci-002 babbage-002 text-embedding
o200k        o200k_base     gpt-4o gpt-4.1 gpt-4.5 gpt-5 gpt-5.1 gpt-5.2 chatgpt-4o o1 o3 o4
o200k        o200k_harmony  gpt-oss
o200k        -              llama4
llama3       -              llama3 llama3.1 llama3.2 llama3.3 glm4
qwen2        -              qwen2 qwen2.5 qwen3
qwen3.5      -              qwen3.5
kimi-k2      -              kimi-k2
tekken       -              mistral-nemo
deepseek-v3  -              deepseek-v3 deepseek-r1
starcoder    -              starcoder starcoder2 exaone exaone3
"""
_PLAIN_WORD = re.compile(r"[A-Za-z][\w.:-]+")


def _key(name: str) -> str:
    """Return the name without its separators, but for one between a digit and a letter: gpt-4-o is not gpt-4o."""
    return re.sub("(?<![0-9])[-_:]|[-_:](?![a-z])", "", name.lower())


def pattern_names() -> list[str]:
    """Return the names of the split patterns, without those of encodings and models."""
    return [*PATTERNS, *CHAINS]


_PATTERN_OF = {_key(name): name for name in pattern_names()}
_ENCODING_OF: dict[str, str] = {}
_MODELS: dict[str, str] = {}  # by their keys
for _pattern, _encoding, *_models in map(str.split, _TABLE.strip().splitlines()):
    _MODELS |= {_key(model): model for model in _models}
    _published = [] if _encoding == "-" else [_encoding, _encoding.removesuffix("_base"), *_models]
    _ENCODING_OF |= {_key(name): _encoding for name in _published}
    _PATTERN_OF = {_key(name): _pattern for name in (*_published, *_models)} | _PATTERN_OF


def _find(name: str, table: dict[str, str]) -> str | None:
    name = name.lower().removeprefix("ft:")
    ends = [len(name), *reversed([separator.start() for separator in re.finditer("[-_:]", name)])]
    begins = [_key(name[:end]) for end in ends]
    return next((table[begin] for begin in begins if begin in table and (begin in _MODELS or begin == begins[0])), None)


def encoding_name(name: str) -> str | None:
    """Return the published encoding of this name, or of the model with this name; None without one.

    >>> encoding_name("gpt-4o-mini"), encoding_name("CL100K"), encoding_name("llama3")
    ('o200k_base', 'cl100k_base', None)
    """
    return _find(name, _ENCODING_OF)


def nearest(name: str, encodings: bool = False) -> str:
    """Return a question for an error message, " Did you mean ...?", or "" if no name is near."""
    import difflib

    table = _ENCODING_OF if encodings else _PATTERN_OF
    known = [name for name in (*table.values(), *_MODELS.values()) if _key(name) in table]
    longer = [other for other in known if other.startswith(name.lower())]
    near = dict.fromkeys([*longer, *difflib.get_close_matches(name.lower(), known, 3, 0.6)])
    return f" Did you mean {' or '.join(map(repr, list(near)[:3]))}?" if near else ""


def is_named(pattern: str) -> bool:
    """Return whether a regular expression is a named split pattern, or one of a named chain."""
    return pattern in PATTERNS.values() or any(pattern in chain for chain in CHAINS.values())


def is_plain_word(pattern: str) -> bool:
    """Return whether a pattern looks like a name: as a regular expression it would match this one word."""
    return _PLAIN_WORD.fullmatch(pattern) is not None


def regular_expressions(patterns: Iterable[str]) -> tuple[str, ...]:
    """Return the split patterns as regular expressions: a name is replaced by its pattern or its patterns.

    Raises PatternError for a plain word that is not a name.

    >>> regular_expressions(["whitespace"])
    ('\\\\s\\\\S*+|\\\\S++',)
    """
    expressions: list[str] = []
    for pattern in patterns:
        if not isinstance(pattern, str) or not pattern or re.search("[\ud800-\udfff]", pattern):
            raise PatternError(f"the split pattern {pattern!r:.60} is not a name or a regular expression")
        name = _find(pattern, _PATTERN_OF) if is_plain_word(pattern) else None
        if name is None and is_plain_word(pattern):
            raise PatternError(
                f"{pattern!r} is not the name of a split pattern.{nearest(pattern)} "
                f"The names are {', '.join(pattern_names())}. To split at this very word, write '(?:{pattern})'."
            )
        expressions += [pattern] if name is None else CHAINS.get(name) or [PATTERNS[name]]
    return tuple(expressions)
