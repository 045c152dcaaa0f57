"""Figures of published vocabularies on a public sample of text, for comparison with those of a tokenizer on the same sample.

assets/references.json contains the sample and the figures. scripts/make_reference_table.py writes it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from operator import itemgetter

from ..errors import UsageError
from ..jobs.progress import Progress
from ..tokenizer import Tokenizer
from .evaluation_text import count_texts
from .metrics import gini
from .replay import replay, swallowed_tokens
from .tables import Column, Table
from .usage import ordinary_tokens, ratio, unknown_ids

JUNK = 0.9  # the IoS from which a token counts as junk, here and in the verdict
PROSE, CODE, ENGLISH = "English prose", "Python code", "English"


@dataclass(frozen=True)
class Figures:
    """The figures of one tokenizer on the sample.

    ids: the size of its vocabulary. ordinary: the number of tokens that text can produce.
    used: the number of ordinary tokens that occur; None if a domain cannot be encoded.
    swallowed: the number of tokens with an IoS of JUNK or more; None without merges.
    tokens: by domain of the sample; None for a domain with a character that has no token.
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
        return {name: peer for name, peer in references([self]).items() if peer.ids / 2 <= self.ids <= 2 * peer.ids}

    def bytes_per_token(self, domain: str) -> float | None:
        return ratio(len(sample()[domain].encode()), self.tokens.get(domain))


Samples = Mapping[str, Figures]  # by the names of the tokenizers


def on_sample(tok: Tokenizer, progress: Progress | None = None, text: Mapping[str, str] | None = None) -> Figures:
    """Return the figures of a tokenizer on the shipped sample, or on other texts by domain."""
    text = sample() if text is None else text
    tokens: dict[str, int | None] = dict.fromkeys(text)
    used: set[int] | None = set()
    unknown = unknown_ids(tok.vocabulary)
    for number, (name, document) in enumerate(text.items(), 1):
        try:
            ids = tok.encode(document, disallowed_special=())
            used = None if used is None else used.union(ids)
            tokens[name] = len(ids) if unknown.isdisjoint(ids) and not tok.count_dropped(document) else None
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
    """Return the text of a file in assets/."""
    return resources.files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def _table() -> dict:
    return json.loads(asset("references.json"))


def sample() -> dict[str, str]:
    """The shipped text by domain: English prose, Python code, and the same messages in 20 languages."""
    return _table()["sample"]


def references(but: Collection[Figures] = ()) -> dict[str, Figures]:
    """Return the figures of published vocabularies by name, without those that encode the sample like one of `but`."""
    published = {name: Figures(**figures) for name, figures in _table()["vocabularies"].items()}
    return {name: each for name, each in published.items() if all(each.tokens != other.tokens for other in but)}


def references_table(measured: Samples) -> Table:
    """Tokenizers next to the published vocabularies, all on the sample."""
    rows = []
    for name, each in {**measured, **references(measured.values())}.items():
        lacking = [domain for domain, tokens in each.tokens.items() if tokens is None]
        dearest = f"no token for some of {', '.join(lacking)}"
        if each.premiums and not lacking:
            language, premium = max(each.premiums.items(), key=itemgetter(1))
            dearest = f"{language} {premium:.1f}×"
        density = each.bytes_per_token(PROSE), each.bytes_per_token(CODE)
        used = ratio(each.used, each.ordinary)
        rows.append((name, each.ids, *density, each.gini, dearest, used, each.swallowed_share))
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
