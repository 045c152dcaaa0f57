"""The verdict: one sentence, then findings in the order of what they cost, graded against published vocabularies.

A figure is red only where it is worse than that of every published vocabulary of the same size class, which is half to
twice as many ids, and bad for every use. What is bad for some uses only, such as other languages or code, is never red: a
vocabulary that was cut to one text has to be worse on others. Figures that nobody published on the same text are not graded.

Advice on a text is measured: each change that a command can make is made in memory. A change that the vocabulary does not
take, or that gains nothing on the text, is not advised.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from operator import attrgetter, methodcaller
from pathlib import Path

from ..counting import WordCounts
from ..errors import ConversionError, UsageError, plural
from ..formats.writing import checked_files
from ..sources.blocks import ReadOptions
from ..sources.find import can_read_again
from ..tokenizer import Tokenizer
from ..vocabulary.lazy import lazy
from .evaluation_text import EvaluationText, Judgement
from .extending import replace
from .metrics import measure_usage, ordinary_tokens, ratio, texts_of_tokens, used_tokens
from .pruning import Changed, can_lose_tokens, lasting_tokens, prune, shrink
from .references import CODE, ENGLISH, JUNK, PROSE, Figures, references
from .replay import ENOUGH
from .reporting import Finding, Level
from .token_lists import joins_words

UNUSED, UNREACHABLE = 0.1, 0.001  # shares of the vocabulary from which on a finding counts
SHORT = 20  # tokens of the text for each of the vocabulary; a shorter text leaves good tokens unused
CHEAP, DEAR, MOST_NAMED = 1.5, 3.0, 3  # tokens of a language relative to English; languages named in the sentence
MOST_MEASURED = 500_000  # distinct pretokens; to change a vocabulary on more takes longer than a minute
EVALUATE_MORE = "Evaluate on more text before you act on this."
CALLS = ("look", "act")  # the levels that call for advice
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
        share = f"{100 * abs(self.tokens):.2f}%" if abs(self.tokens) >= 5e-5 else "less than 0.01%"
        return f", and this text then needs {share} {'more' if self.tokens > 0 else 'fewer'} tokens"


@dataclass(frozen=True)
class Subject:
    """The tokenizer, its figures, and the text, if there is one."""

    tok: Tokenizer
    figures: Figures
    text: EvaluationText | None

    @property
    def path(self) -> str:
        """The tokenizer in a command, with the split pattern that its file does not have."""
        if (source := self.tok.source) is None:
            return "TOKENIZER"
        return _word(self.tok.name) + (f" --split={shlex.quote(source.split)}" if source.split else "")

    @property
    def sources(self) -> str:
        """The text in a command, with the options that it is read with. TEXT stands for one that a command cannot read again."""
        files = [] if self.text is None else [of for of in self.text.sources.values() if isinstance(of, list)]
        if self.text is None or not self.text.arguments or not all(map(can_read_again, chain(*files))):
            return "TEXT"
        default = asdict(ReadOptions())
        read = {name: value for name, value in asdict(self.text.read).items() if value != default[name]}
        given: list[tuple[str, str]] = [(name, str(read[name])) for name in ("unit", "separator") if name in read]
        given += [("field", name) for name in self.text.read.fields if "field" in read]
        flags = [f"--{name}={shlex.quote(value)}" for name, value in given]
        return " ".join([*map(_word, self.text.arguments), *flags, *["--skip-damaged"] * ("skip_damaged" in read)])

    @property
    def trained_here(self) -> bool:
        """Whether its file shows that the user trained it. Pruning gives a published vocabulary events, but no event counts."""
        return len(self.tok.vocabulary.event_counts) > 0

    @lazy
    def counts(self) -> WordCounts | None:
        """The word counts that changes are measured on; None without text, or with too much of it."""
        if self.text is None or self.tok.vocabulary.library is not None:
            return None
        counts = self.text.merged_counts(self.tok)
        return counts if len(counts) <= MOST_MEASURED else None

    def pruning(self, options: str, change: Change | None) -> list[str]:
        """The advice to call `prune` with these options, if it would change anything. It is not tried on too much text."""
        command = f"`tokenmill prune {self.path} {self.sources}{options}` removes"
        if change is not None:
            return [f"{command} {plural(change.dropped, 'token')}{change.cost}."] if change.dropped else []
        if self.text is not None and self.counts is None and can_lose_tokens(self.tok.vocabulary):
            return [f"{command} them. The cost is not shown here, because the text has too many distinct pretokens."]
        return []

    def changed(self, change: Callable[[], Changed]) -> Changed | None:
        """The result of a change; None where the vocabulary does not take it, or where a command could not save the result."""
        try:
            new = change()
            if new.dropped:
                checked_files(new.tok.vocabulary, Path("tokenizer"), tokenizer=Tokenizer)
        except (UsageError, ConversionError):
            return None
        return new

    def measured(self, change: Callable[[EvaluationText], Changed]) -> Change | None:
        """The result of a change on the text; None where there is no text, or too much of it, or the vocabulary does not take it."""
        if (counts := self.counts) is None or (
            new := self.changed(partial(change, EvaluationText(counts, normalized=True)))
        ) is None:
            return None
        before, after = (measure_usage(tok, counts).tokens for tok in (self.tok, new.tok))
        return Change(new.dropped, after / max(1, before) - 1)


def _word(path: str) -> str:
    """A path as a word of a command: quoted, and not an option."""
    return shlex.quote(f"./{path}" if path.startswith("-") else path)


def percent(share: float | None) -> str:
    return f"{100 * (share or 0):.1f}%".replace("-", "\u2212")


@dataclass(frozen=True)
class Standing:
    """A figure among those of published vocabularies of the same size class. high: whether more is better."""

    value: float
    peers: Mapping[str, float]
    high: bool = False

    @property
    def better_than(self) -> int:
        return sum(self.value >= other if self.high else self.value <= other for other in self.peers.values())

    @property
    def best(self) -> str:
        return (max if self.high else min)(self.peers, key=self.peers.__getitem__)

    @property
    def level(self) -> Level:
        if not self.peers:
            return "ungraded"
        if 4 * self.better_than > len(self.peers):
            return "good"
        return "look" if self.better_than or len(self.peers) < 3 else "act"

    @property
    def loss(self) -> float:
        """The share of tokens that the best peer saves, where more is better; 0 without peers."""
        return 1 - self.value / self.peers[self.best] if self.peers else 0.0

    def criterion(self, words: str) -> str:
        """The criterion of the grade in words, after which peers are named."""
        return f"{words} the published vocabularies of this size class{'' if self.peers else '; there are none'}"

    def __str__(self) -> str:
        """The rank in brackets; without peers nothing, since the summary says so."""
        if not self.peers:
            return ""
        if self.better_than == len(self.peers):
            return f" (as good as the best of {len(self.peers)} published ones of about this size)"
        rank = 1 + len(self.peers) - self.better_than
        return f" (rank {rank} of {len(self.peers) + 1} among published ones of about this size)"


def standing_of(figures: Figures, figure: Callable[[Figures], float | None], high: bool = False) -> Standing | None:
    """A figure of the sample among those of peers; None if the vocabulary lacks characters of the sample."""
    if (own := figure(figures)) is None:
        return None
    return Standing(own, {name: figure(of) or 0.0 for name, of in figures.peers().items()}, high)


def by_cost(findings: Sequence[Finding | None]) -> list[Finding]:
    """The findings that there are, the most expensive first."""
    return sorted((of for of in findings if of is not None), key=lambda of: -of.cost)


def densities(figures: Figures) -> dict[str, Standing]:
    """The bytes per token of English prose and of code, each among those of peers."""
    found = {
        domain: standing_of(figures, methodcaller("bytes_per_token", domain), high=True) for domain in (PROSE, CODE)
    }
    return {domain: standing for domain, standing in found.items() if standing is not None}


def summary(figures: Figures) -> str:
    """Return one sentence: the text that the vocabulary is good for."""
    levels = {{PROSE: ENGLISH, CODE: "code"}[domain]: of.level for domain, of in densities(figures).items()}
    good = [name for name, level in levels.items() if level == "good"]
    weak = [name for name, level in levels.items() if level in CALLS]
    premiums = sorted(figures.premiums.items(), key=lambda item: -item[1])
    dear = [name for name, times in premiums if times >= DEAR]
    if figures.peers():  # a vocabulary of the bytes alone treats most languages alike, all badly
        good += [name for name, times in reversed(premiums) if name != ENGLISH and times <= CHEAP][:MOST_NAMED]
    lacking = [name for name, tokens in figures.tokens.items() if tokens is None]
    clauses = [] if figures.peers() else ["too far from the sizes of published vocabularies to be graded"]
    clauses += [f"good for {listed(good)}"] if good else []
    clauses += [f"weaker than others of its size for {listed(weak)}"] if weak else []
    clauses += [f"costly for {listed(dear, MOST_NAMED)}"] if dear else []
    clauses += [f"without some characters of {listed(lacking, MOST_NAMED)}"] if lacking else []
    text = ", ".join(clauses) or "as others of its size"
    return text[0].upper() + text[1:] + "."


def listed(names: Sequence[str], most: int | None = None) -> str:
    """The names as prose. Those beyond `most` are only counted: "Georgian, Hindi and 3 more"."""
    more = [] if most is None or len(names) <= most else [f"{len(names) - most} more"]
    *first, last = [*names[:most], *more]
    return f"{', '.join(first)} and {last}" if first else last


def verdict(of: Subject, judged: Judgement | None, unreachable: Collection[int] | None) -> list[Finding]:
    """The findings on one tokenizer. unreachable: the ids of the tokens that no text produces; None if they are not known."""
    on_text = [_swallowed(of, judged), _unused(of, judged)] if judged else []
    never = None if unreachable is None else _unreachable(of, unreachable)
    return by_cost([*on_text, _languages(of), _density(of), never])


def _swallowed(of: Subject, judged: Judgement) -> Finding | None:
    if judged.swallowed is None:
        return None
    swallowed = [token for token in judged.swallowed if token.ios >= JUNK]
    sure = sum(token.before >= ENOUGH for token in swallowed)
    standing = standing_of(of.figures, attrgetter("swallowed_share"))
    level: Level = standing.level if standing else "ungraded"
    share = ratio(len(swallowed), judged.size) or 0.0
    long = judged.usage.tokens >= SHORT * judged.size
    published = [other.swallowed_share or 0.0 for other in references().values()]
    if not (standing and standing.peers) and share > max(published):
        level = "look"  # more than any published one, of whatever size
    elif share <= min(published) and long:  # as after `prune --ios` on this text
        level = "good"
    vocabulary, advice = of.tok.vocabulary, []
    if level in CALLS and of.trained_here:  # what `train` accepts for such a vocabulary
        superwords = not vocabulary.has_superwords and joins_words(vocabulary)
        how = f"`--superwords boundless --refine {JUNK}`" if superwords else f"`--refine {JUNK}`"
        on = " on text like yours" if vocabulary.removed else ""
        advice = [f"Training with {how}{on} leaves fewer of them. It hardly changes the number of tokens of a text."]
    if level in CALLS and not long:
        advice.append(EVALUATE_MORE)
    elif level in CALLS:
        change = of.measured(lambda counts: prune(of.tok, ios=JUNK, counts=counts))
        advice += of.pruning(f" --ios {JUNK} -o pruned", change)
        advice = advice or ["They cannot be removed from this vocabulary; choose another one if rows are scarce."]
    statement = "No token was almost always swallowed by a longer one."
    if swallowed:
        statement = (
            f"{plural(len(swallowed), 'token')} ({percent(share)}) {'was' if len(swallowed) == 1 else 'were'} almost always "
            f"swallowed by a longer one; {sure:,} of them occurred {ENOUGH} times or more."
        )
    return Finding(
        "swallowed",
        level,
        statement,
        f"IoS ≥ {JUNK}; the grade is that of the public sample, where published vocabularies were measured too",
        f"Such tokens are intermediate steps to longer ones, and a model rarely sees them alone. On the public sample, the share is "
        f"{percent(of.figures.swallowed_share)}{standing or ''}.",
        " ".join(advice),
        share,
    )


def _unused(of: Subject, judged: Judgement) -> Finding:
    unused = judged.size - used_tokens(of.tok, judged.usage)
    times = judged.usage.tokens / max(1, judged.size)
    removable = of.measured(lambda counts: shrink(of.tok, text=counts)) if times >= SHORT else None
    spare = 0.0 if removable is None else (ratio(removable.dropped, judged.size) or 0.0)
    look = spare >= UNUSED
    stay = ""
    if removable and removable.dropped < unused:
        left = f"{unused - removable.dropped:,} of them cannot" if removable.dropped else "none of them can"
        stay = f", and {left} be removed"
    advice = EVALUATE_MORE if times < SHORT else ""
    if look:
        commands = of.pruning(" -o smaller", removable)
        if (change := of.measured(lambda counts: replace(of.tok, counts))) and change.tokens <= -GAIN:
            commands.append(
                f"`tokenmill extend {of.path} {of.sources} --reuse {change.dropped} -o better` gives {change.dropped:,} ids to "
                f"new tokens{change.cost}."
            )
        advice = " ".join(commands) or "They cannot be removed from this vocabulary."
    return Finding(
        "unused",
        "look" if look else "ungraded" if times < SHORT else "good",
        f"This text of {plural(judged.usage.tokens, 'token')} does not use {plural(unused, 'token')} "
        f"({percent(ratio(unused, judged.size))}) of the vocabulary{stay}.",
        f"{percent(UNUSED)} of the vocabulary can be removed, on a text of at least {SHORT} times as many tokens as the "
        f"vocabulary has (here {times:,.1f} times)",
        "If the model sees only text like this, their rows of the embedding table are never trained.",
        advice,
        spare,
    )


def _languages(of: Subject) -> Finding | None:
    standing, premiums = standing_of(of.figures, attrgetter("gini")), of.figures.premiums
    if standing is None:
        return None
    dearest = max(premiums, key=premiums.__getitem__)
    tokens = sorted(sum(other.languages.values()) for other in of.figures.peers().values())
    median = tokens[len(tokens) // 2] if tokens else 0
    fairest = min(references([of.figures]).items(), key=lambda item: item[1].gini or 1)
    advice = f"Where such languages matter, use a fairer one: {fairest[0]} has {fairest[1].gini:.2f}."
    if of.trained_here:
        advice = "If the model is to serve such languages, train on more text in them."
    return Finding(
        "languages",
        "look" if standing.level == "act" else standing.level,  # bad for some uses only
        f"{dearest} needs {premiums[dearest]:.1f} times as many tokens as English for the same messages; the Gini coefficient "
        f"over {len(premiums)} languages is {standing.value:.2f}{standing}.",
        standing.criterion("worse than three quarters of"),
        "Speakers of such languages pay more, wait longer, and fit less into a context.",
        advice if standing.level in CALLS else "",
        1 - min(1.0, median / max(1, sum(of.figures.languages.values()))) if tokens else 0.0,
    )


def _density(of: Subject) -> Finding | None:
    standings = densities(of.figures)
    if not standings:
        return None
    domain, worst = max(standings.items(), key=lambda item: item[1].loss)
    low = [name for name, standing in standings.items() if standing.level in CALLS]
    best = worst.best if worst.peers else ""
    advice = ""
    if low and of.trained_here:
        advice = f"Train on more of it: {listed(low)}."
    elif low:
        advice = f"Where {listed(low)} {'matter' if low[1:] else 'matters'}, use {best}."
    meaning = "More bytes per token mean less compute for the same text."
    if best and worst.loss > 0:
        meaning = f"The best of its size there, {best}, needs {percent(worst.loss)} fewer tokens for {domain}."
    held = [f"{standing.value:.2f} bytes of {name}{standing}" for name, standing in standings.items()]
    return Finding(
        "density",
        "look" if low else worst.level,
        f"A token contains {' and '.join(held)}, on the public sample.",
        worst.criterion("fewer bytes than three quarters of"),
        meaning,
        advice,
        max(0.0, worst.loss),
    )


def _unreachable(of: Subject, unreachable: Collection[int]) -> Finding:
    vocabulary, tokens = of.tok.vocabulary, ordinary_tokens(of.tok.vocabulary)
    texts = texts_of_tokens(vocabulary)
    spare = sum(len(tokens.get(id, b"")) != 1 and len(texts.get(id, "")) != 1 for id in unreachable)
    over = spare > UNREACHABLE * len(tokens)
    advice = ""
    loose = set(unreachable) - lasting_tokens(vocabulary) if can_lose_tokens(vocabulary) else set()
    pruned = of.changed(lambda: prune(of.tok, ids=loose)) if over and loose else None
    if pruned and pruned.dropped:
        text = "" if of.text is None else f" {of.sources}"
        advice = (
            f"`tokenmill prune {of.path}{text} --unreachable -o smaller` removes {plural(pruned.dropped, 'token')}."
        )
    elif pruned:
        advice = "They stay, since other tokens are built from them."
    elif over:
        advice = "Reuse their ids, for example for added tokens."
    of_alphabet = f", {spare:,} of them not in the alphabet" if spare else ", all of them in the alphabet"
    return Finding(
        "unreachable",
        "look" if over else "good",
        f"{plural(len(unreachable), 'token')} {'is' if len(unreachable) == 1 else 'are'} unreachable"
        f"{of_alphabet if unreachable else ''}.",
        f"{percent(UNREACHABLE)} of the vocabulary, without the alphabet: the single bytes or characters",
        "No text produces such tokens, so their rows of the embedding table are never trained, but a model may still output them.",
        advice,
        spare / max(1, len(tokens)),
    )
