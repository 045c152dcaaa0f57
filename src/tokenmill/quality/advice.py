"""Advice on a text: each change that a command can make is made in memory, and its gain and cost are measured.

A change that the vocabulary does not take, or that gains nothing on the text, is not advised.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import asdict, dataclass

from ..counting import WordCounts
from ..errors import UsageError
from ..sources.blocks import ReadOptions
from ..tokenizer import Tokenizer
from ..vocabulary.lazy import lazy
from .evaluation_text import EvaluationText
from .extending import Replaced, replace
from .pruning import Pruned, can_lose_tokens, prune, shrink
from .references import JUNK, Figures
from .superwords import joins_words
from .usage import measure_usage

MOST_MEASURED = 500_000  # distinct pretokens; to change a vocabulary on more takes longer than a minute
GAIN = 0.001  # of the tokens of the text; less is not worth new rows


@dataclass(frozen=True)
class Change:
    """A changed vocabulary on the text. dropped: tokens removed or replaced. tokens: more (or fewer) of the text, as a share."""

    dropped: int
    tokens: float

    @property
    def cost(self) -> str:
        """The effect on the number of tokens of this text."""
        if not self.tokens:
            return ", and this text keeps its tokens"
        share = f"{100 * abs(self.tokens):.2f} %" if abs(self.tokens) >= 5e-5 else "less than 0.01 %"
        return f", and this text takes {share} {'more' if self.tokens > 0 else 'fewer'} tokens"


@dataclass(frozen=True)
class Subject:
    """The tokenizer, its figures, and the text, if there is one."""

    tok: Tokenizer
    figures: Figures
    text: EvaluationText | None

    @property
    def path(self) -> str:
        """The tokenizer in a command."""
        return shlex.quote(self.tok.name) if self.tok.source is not None else "TOKENIZER"

    @property
    def sources(self) -> str:
        """The text in a command, with the options that it is read with."""
        if self.text is None or not self.text.given:
            return "TEXT"
        default = asdict(ReadOptions())
        read = {name: value for name, value in asdict(self.text.read).items() if value != default[name]}
        given: list[tuple[str, str]] = [(name, str(read[name])) for name in ("unit", "separator") if name in read]
        given += [("field", name) for name in self.text.read.fields if "field" in read]
        flags = [f"--{name}={shlex.quote(value)}" for name, value in given]
        return " ".join([*map(shlex.quote, self.text.given), *flags, *["--skip-damaged"] * ("skip_damaged" in read)])

    @property
    def trained_here(self) -> bool:
        """Whether its file shows that the user trained it. Pruning gives a published vocabulary events, but no event counts."""
        return len(self.tok.vocabulary.event_counts) > 0

    @lazy
    def counts(self) -> WordCounts | None:
        """The word counts that changes are measured on; None without text, or with too much of it."""
        if self.text is None or self.tok.vocabulary.library is not None:
            return None
        counts = self.text.together(self.tok)
        return counts if len(counts) <= MOST_MEASURED else None

    @lazy
    def without_swallowed(self) -> Change | None:
        """`prune --ios`."""
        return self._measured(lambda counts: prune(self.tok, ios=JUNK, counts=counts))

    @lazy
    def without_unused(self) -> Change | None:
        """`prune` to the tokens that the text uses."""
        return self._measured(lambda counts: shrink(self.tok, text=counts))

    @lazy
    def with_replaced(self) -> Change | None:
        """`extend --reuse`."""
        return self._measured(lambda counts: replace(self.tok, counts))

    def pruning(self, options: str, change: Change | None) -> list[str]:
        """What `prune` with these options does, if it does anything. Too much text is not measured."""
        command = f"`tokenmill prune {self.path} {self.sources}{options}` drops"
        if change is not None:
            return [f"{command} {change.dropped:,} tokens{change.cost}."] if change.dropped else []
        if self.text is not None and self.counts is None and can_lose_tokens(self.tok.vocabulary):
            return [f"{command} them; for so much text it says the cost only when it runs."]
        return []

    def _measured(self, change: Callable[[WordCounts], Pruned | Replaced]) -> Change | None:
        if self.counts is None:
            return None
        try:
            new = change(self.counts)
        except UsageError:  # not for such a vocabulary
            return None
        before, after = (measure_usage(tok, self.counts).tokens for tok in (self.tok, new.tok))
        dropped = new.dropped if isinstance(new, Pruned) else int((new.id_map < 0).sum())
        return Change(dropped, after / max(1, before) - 1)


def percent(share: float | None) -> str:
    return f"{100 * (share or 0):.1f} %".replace("-", "\u2212")


def against_swallowed(of: Subject) -> str:
    """Return advice on swallowed tokens, from what `train` and `prune` accept for such a vocabulary."""
    vocabulary, advice = of.tok.vocabulary, []
    if of.trained_here:
        superwords = not vocabulary.has_superwords and joins_words(vocabulary)
        how = f"`--superwords boundless --refine {JUNK}`" if superwords else f"`--refine {JUNK}`"
        on = " on text like yours" if vocabulary.removed else ""
        advice.append(
            f"A training with {how}{on} leaves fewer of them, not none; few tokens of a text are saved by that."
        )
    advice += of.pruning(f" --ios {JUNK} -o pruned", of.without_swallowed)
    return " ".join(advice) or "They cannot be removed from this vocabulary; choose another one if rows are scarce."


def against_unused(of: Subject) -> str:
    """Return advice on tokens that the text does not use."""
    commands = of.pruning(" -o smaller", of.without_unused)
    if (change := of.with_replaced) and change.tokens <= -GAIN:
        commands.append(
            f"`tokenmill extend {of.path} {of.sources} --reuse {change.dropped} -o better` gives {change.dropped:,} ids to new "
            f"tokens{change.cost}."
        )
    return " ".join(commands) or "They cannot be removed from this vocabulary."
