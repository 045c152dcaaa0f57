"""The data for the tables and the charts: one tokenizer measured on one text."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import reduce
from operator import add

from ..counting import WordCounts
from ..errors import UsageError
from ..jobs.progress import Progress
from ..tokenizer import Tokenizer
from .evaluation_text import EvaluationText, is_guest
from .metrics import ratio, scripts_table
from .replay import Replay, Swallowed, makes_each_token_once, replay, replay_of_encoding, swallowed_tokens
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
    if is_guest(tok):  # no merges to replay, no pretokens
        usages, counts = text.usages(tok, progress), []
    else:
        counts = text.counts(tok, progress)
    replaying: Future[Replay] | None = None
    with ThreadPoolExecutor(1, "tokenmill-judge") as pool:
        if makes_each_token_once(tok.vocabulary):
            pool.submit(text.sample)  # it also counts the words, which the usages ask for
        elif counts:
            single = text.together(tok, progress) if tok.vocabulary.has_superwords else WordCounts.merge(counts)
            replaying = pool.submit(replay, tok.vocabulary, single, progress)
        if counts:
            usages = text.usages(tok, progress if replaying is None else None)
        scripts = scripts_table(zip(counts, usages.values(), strict=False))
    usage = reduce(add, usages.values())
    if not usage.tokens:
        raise UsageError(f"the text is empty ({', '.join(text.names)}): there is nothing to judge")
    swallowed: list[Swallowed] = []
    if counts:
        own = usage.by_id - text.added(tok)
        happened = replaying.result() if replaying else replay_of_encoding(tok.vocabulary, own)
        swallowed = swallowed_tokens(tok.vocabulary, happened)
    return Judgement(tok, len(ordinary_tokens(tok.vocabulary)), usages, usage, scripts, swallowed)
