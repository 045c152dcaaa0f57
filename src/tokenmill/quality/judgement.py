"""What a text says about a tokenizer: the data for the tables and the pictures."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from operator import add

from ..counting import WordCounts
from ..jobs.progress import Progress
from ..tokenizer import Tokenizer
from .evaluation_text import EvaluationText
from .junk import Swallowed, swallowed_tokens
from .metrics import ratio, scripts_table
from .replay import Replay, makes_each_token_once, replay, replay_of_encoding
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
    """Encode the text with `tok`, and find how often each of its merges happens."""
    parts = [text.counts(domain, tok, progress) for domain in text.names]
    replaying: Future[Replay] | None = None
    with ThreadPoolExecutor(1, "tokenmill-judge") as pool:
        if makes_each_token_once(tok.vocabulary):
            pool.submit(text.sample)  # it also counts the words, which the usages ask for
        else:
            replaying = pool.submit(_replayed, tok, text, parts, progress)
        usages = text.usages(tok, progress if replaying is None else None)
        scripts = scripts_table(zip(parts, usages.values(), strict=True))
    usage = reduce(add, usages.values())
    replayed = replaying.result() if replaying else replay_of_encoding(tok.vocabulary, usage.by_id - text.added(tok))
    swallowed = swallowed_tokens(tok.vocabulary, replayed)
    return Judgement(tok, len(ordinary_tokens(tok)), usages, usage, scripts, swallowed)


def _replayed(tok: Tokenizer, text: EvaluationText, parts: list[WordCounts], progress: Progress | None) -> Replay:
    apart = text.together(tok, progress) if len(tok.vocabulary.superwords) else WordCounts.merge(parts)
    return replay(tok.vocabulary, apart, progress)
