"""What a text says about a tokenizer: the data for the tables and the pictures."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from operator import add

from ..counting import WordCounts
from ..jobs.progress import Progress
from ..tokenizer import Tokenizer
from .evaluation_text import EvaluationText
from .junk import Swallowed, swallowed_tokens
from .metrics import ratio, scripts_table
from .replay import replay
from .tables import Table
from .usage import Usage, ordinary_tokens


@dataclass(frozen=True, eq=False)
class Judgement:
    """A tokenizer on a text.

    size: the number of ordinary tokens. usages: by domain. usage: of all text.
    scripts: the figures by script. swallowed: each token with its highest IoS.
    """

    tok: Tokenizer
    size: int
    usages: dict[str, Usage]
    usage: Usage
    scripts: Table
    swallowed: list[Swallowed]

    def fertility(self) -> dict[str, float | None]:
        """Tokens per word by domain."""
        return {domain: ratio(usage.tokens, usage.words) for domain, usage in self.usages.items()}


def judge(tok: Tokenizer, text: EvaluationText, progress: Progress | None = None) -> Judgement:
    """Encode the text with `tok`, and replay its merges over it."""
    parts = [text.counts(domain, tok, progress) for domain in text.names]
    apart = text.together(tok, progress) if len(tok.vocabulary.superwords) else WordCounts.merge(parts)
    with ThreadPoolExecutor(1, "tokenmill-judge") as pool:
        encoded = pool.submit(_encoded, tok, text, parts)
        swallowed = swallowed_tokens(tok.vocabulary, replay(tok.vocabulary, apart, progress))
        usages, scripts = encoded.result()
    return Judgement(tok, len(ordinary_tokens(tok)), usages, reduce(add, usages.values()), scripts, swallowed)


def _encoded(tok: Tokenizer, text: EvaluationText, parts: list[WordCounts]) -> tuple[dict[str, Usage], Table]:
    """The usages of the domains, and the figures by script."""
    usages = text.usages(tok)
    return usages, scripts_table(zip(parts, usages.values(), strict=True))
