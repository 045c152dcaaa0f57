"""The data for the tables and the charts: one tokenizer measured on one text."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import reduce
from operator import add

from ..errors import UsageError
from ..jobs.progress import Progress
from ..tokenizer import Tokenizer
from .evaluation_text import EvaluationText, is_guest
from .metrics import ratio, scripts_table
from .replay import Swallowed, replay, swallowed_tokens
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
    usages: dict[str, Usage] = field(repr=False)
    usage: Usage
    scripts: Table
    swallowed: list[Swallowed] = field(repr=False)

    def fertility(self) -> dict[str, float | None]:
        """Tokens per word by domain."""
        return {domain: ratio(usage.tokens, usage.words) for domain, usage in self.usages.items()}


def judge(tok: Tokenizer, text: EvaluationText, progress: Progress | None = None) -> Judgement:
    """Encode the text with `tok`, and find how often each of its merges happens."""
    counts = [] if is_guest(tok) else text.counts(tok, progress)  # a guest has no merges to replay, and no pretokens
    swallowed: list[Swallowed] = []
    with ThreadPoolExecutor(1, "tokenmill-judge") as pool:
        replaying = pool.submit(replay, tok.vocabulary, text.together(tok, progress), progress) if counts else None
        usages = text.usages(tok, None if counts else progress)
        scripts = scripts_table(zip(counts, usages.values(), strict=False))
        if replaying is not None:
            swallowed = swallowed_tokens(tok.vocabulary, replaying.result())
    usage = reduce(add, usages.values())
    if not usage.tokens:
        raise UsageError(f"the text is empty ({', '.join(text.names)}): there is nothing to judge")
    return Judgement(tok, len(ordinary_tokens(tok.vocabulary)), usages, usage, scripts, swallowed)
