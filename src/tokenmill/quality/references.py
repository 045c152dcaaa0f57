"""Published vocabularies as a measure: their figures on a public sample of text, which comes with the package.

assets/references.json holds the sample and the figures; scripts/make_reference_table.py makes it. A tokenizer is measured on
the same sample, so like is compared with like.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from ..errors import UsageError
from ..jobs.progress import Progress
from ..tokenizer import Tokenizer
from .evaluation_text import count_texts
from .metrics import gini, ordinary_tokens, ratio, unknown_ids
from .replay import replay, swallowed_tokens
from .tables import Column, Table

JUNK = 0.9  # the IoS from which a token counts as junk, here and in the verdict
PROSE, CODE, ENGLISH = "English prose", "Python code", "English"


@dataclass(frozen=True)
class Figures:
    """The figures of one tokenizer on the sample.

    ids: the size of its vocabulary. ordinary: its tokens that text can produce. tokens: by domain of the sample.
    None for a domain with a character that has no token.
    used: ordinary tokens that occur; None if a domain cannot be encoded. swallowed: tokens with an IoS of 0.9 or more; None without merges.
    """

    ids: int
    ordinary: int
    used: int | None
    swallowed: int | None
    tokens: Mapping[str, int | None]

    @property
    def languages(self) -> dict[str, int]:
        """Tokens by language, of messages that are the same in each."""
        return {name: n for name, n in self.tokens.items() if name not in (PROSE, CODE) and n is not None}

    @property
    def gini(self) -> float | None:
        """The Gini coefficient of the tokens of the languages; None if one of them cannot be encoded."""
        return None if None in self.tokens.values() else gini(self.languages.values())

    @property
    def swallowed_share(self) -> float | None:
        """The share of the ordinary tokens that are swallowed."""
        return ratio(self.swallowed, self.ordinary)

    @property
    def premiums(self) -> dict[str, float]:
        """Tokens of each language as a multiple of English's."""
        english = self.languages.get(ENGLISH)
        return {name: tokens / english for name, tokens in self.languages.items()} if english else {}

    def peers(self) -> dict[str, Figures]:
        """The published vocabularies of the same size class, which is half to twice as many ids; not the vocabulary itself."""
        return {name: of for name, of in references([self]).items() if of.ids / 2 <= self.ids <= 2 * of.ids}

    def bytes_per_token(self, domain: str) -> float | None:
        """Bytes per token of one domain."""
        return ratio(len(sample()[domain].encode()), self.tokens.get(domain))


Samples = Mapping[str, Figures]  # by the names of the tokenizers


def on_sample(tok: Tokenizer, progress: Progress | None = None, text: Mapping[str, str] | None = None) -> Figures:
    """The figures of a tokenizer on the shipped sample, or on other texts by domain."""
    text = sample() if text is None else text
    tokens: dict[str, int | None] = dict.fromkeys(text)
    used: set[int] | None = set()
    unknown = unknown_ids(tok.vocabulary)
    for number, (name, of) in enumerate(text.items(), 1):
        try:
            ids = tok.encode(of, disallowed_special=())
            used = None if used is None else used.union(ids)
            tokens[name] = len(ids) if unknown.isdisjoint(ids) else None
        except UsageError:  # a character without a token
            used = None
        if progress is not None:
            progress("sample", number, len(text))
    junk, ordinary = None, ordinary_tokens(tok.vocabulary)
    if tok.vocabulary.library is None:
        counted = count_texts(tok, text.values(), num_threads=1)
        swallowed = swallowed_tokens(tok.vocabulary, replay(tok.vocabulary, counted.counts))
        junk = sum(token.ios >= JUNK for token in swallowed)
    return Figures(tok.n_vocab, len(ordinary), None if used is None else len(used & ordinary.keys()), junk, tokens)


def asset(name: str) -> str:
    """The text of a file that comes with the package."""
    return resources.files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def _table() -> dict:
    return json.loads(asset("references.json"))


def sample() -> dict[str, str]:
    """The shipped text by domain: English prose, Python code, and the same messages in 20 languages."""
    return _table()["sample"]


def references(but: Collection[Figures] = ()) -> dict[str, Figures]:
    """The figures of published vocabularies on the sample, by name, `but` those that encode it as a tokenizer in hand does."""
    known = {name: Figures(**figures) for name, figures in _table()["vocabularies"].items()}
    return {name: of for name, of in known.items() if all(of.tokens != other.tokens for other in but)}


def references_table(measured: Samples) -> Table:
    """Tokenizers next to the published vocabularies, all on the sample."""
    rows = []
    for name, of in {**measured, **references(measured.values())}.items():
        dearest = max(of.premiums, key=of.premiums.__getitem__, default=None)
        lacking = [domain for domain, tokens in of.tokens.items() if tokens is None]
        most = f"no token for some of {', '.join(lacking)}"
        if dearest is not None and not lacking:
            most = f"{dearest} {of.premiums[dearest]:.1f}×"
        density = of.bytes_per_token(PROSE), of.bytes_per_token(CODE)
        rows.append((name, of.ids, *density, of.gini, most, ratio(of.used, of.ordinary), of.swallowed_share))
    columns = (
        Column("tokenizer"),
        Column("ids", "count"),
        Column("bytes per token, English", "number", digits=3, best="max"),
        Column("bytes per token, Python", "number", digits=3, best="max"),
        Column("Gini of 20 languages", "number", "0: every language takes the same number of tokens", 3, best="min"),
        Column("costs most", help="the language with the most tokens, as a multiple of English"),
        Column("used", "share", "of the vocabulary; the sample is small"),
        Column(f"IoS ≥ {JUNK}", "share", "of the vocabulary, on the sample", best="min"),
    )
    note = (
        f"All measured on one public sample, {_table()['about']['name']}: English prose, Python code, and the same messages in 20 "
        "languages. It comes with tokenmill. Ids include special tokens, except for kimi-k2, whose file does not name them."
    )
    return Table("references", "Compared with published vocabularies, on a public sample", columns, rows, note)
