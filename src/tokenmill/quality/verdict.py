"""The verdict: one sentence, then findings sorted by their cost, graded against published vocabularies.

A figure is red only if it is worse than that of every published vocabulary of the same size class, which is half to twice as
many ids, and bad for every use. A figure that is bad for some uses only, such as other languages or code, is never red: a
vocabulary that was cut to one text must be worse on others. Figures without published values on the same text are not graded.

Advice on a text is measured: each change that a command can make is made in memory. A change that the vocabulary does not
allow, or that gains nothing on the text, is not advised.
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
from .content import Finding, Level
from .evaluation_text import EvaluationText, Judgement
from .extending import replace
from .pruning import Changed, can_lose_tokens, lasting_tokens, prune, shrink
from .references import CODE, ENGLISH, JUNK, PROSE, Figures, references
from .replay import ENOUGH
from .token_lists import joins_words
from .usage import measure_usage, ordinary_tokens, ratio, texts_of_tokens, used_tokens

UNUSED, UNREACHABLE = 0.1, 0.001  # shares of the vocabulary from which a finding is worth a look
SHORT = 20  # tokens of the text for each token of the vocabulary; a shorter text leaves good tokens unused
CHEAP, DEAR, MOST_NAMED = 1.5, 3.0, 3  # tokens of a language relative to English; languages named in the summary
MOST_MEASURED = 500_000  # distinct pretokens; changing a vocabulary on more takes over a minute
EVALUATE_MORE = "Evaluate on more text before you act on this."
CALLS = ("look", "act")  # the levels that call for advice
GAIN = 0.001  # of the tokens of the text; less is not worth new rows


@dataclass(frozen=True)
class Change:
    """A changed vocabulary on the text. dropped: removed or replaced tokens. tokens: relative change of the tokens of the text."""

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
    """The tokenizer that is judged, its figures, and the text, if there is one."""

    tok: Tokenizer
    figures: Figures
    text: EvaluationText | None

    @property
    def path(self) -> str:
        """The tokenizer as an argument of a command, with the split pattern if its file has none."""
        if (source := self.tok.source) is None:
            return "TOKENIZER"
        return _word(self.tok.name) + (f" --split={shlex.quote(source.split)}" if source.split else "")

    @property
    def sources(self) -> str:
        """The text as arguments of a command, with its reading options. TEXT stands for one that cannot be read again."""
        if self.text is None or not self.text.arguments:
            return "TEXT"
        if not all(
            map(can_read_again, chain(*(files for files in self.text.sources.values() if isinstance(files, list))))
        ):
            return "TEXT"
        default = asdict(ReadOptions())
        read = {name: value for name, value in asdict(self.text.read).items() if value != default[name]}
        options: list[tuple[str, str]] = [(name, str(read[name])) for name in ("unit", "separator") if name in read]
        options += [("field", name) for name in self.text.read.fields if "field" in read]
        flags = [f"--{name}={shlex.quote(value)}" for name, value in options]
        return " ".join([*map(_word, self.text.arguments), *flags, *["--skip-damaged"] * ("skip_damaged" in read)])

    @property
    def trained_here(self) -> bool:
        """True if the file shows that the user trained it. Pruning gives a published vocabulary events, but no event counts."""
        return len(self.tok.vocabulary.event_counts) > 0

    @lazy
    def counts(self) -> WordCounts | None:
        """The word counts on which changes are measured; None without text, or with too much of it."""
        if self.text is None or self.tok.vocabulary.library is not None:
            return None
        counts = self.text.merged_counts(self.tok)
        return counts if len(counts) <= MOST_MEASURED else None

    def pruning(self, options: str, change: Change | None) -> list[str]:
        """Return the advice to call `prune` with these options, if it would change anything. It is not tried on too much text."""
        command = f"`tokenmill prune {self.path} {self.sources}{options}` removes"
        if change is not None:
            return [f"{command} {plural(change.dropped, 'token')}{change.cost}."] if change.dropped else []
        if self.text is not None and self.counts is None and can_lose_tokens(self.tok.vocabulary):
            return [f"{command} them. The cost is not shown here, because the text has too many distinct pretokens."]
        return []

    def changed(self, change: Callable[[], Changed]) -> Changed | None:
        """Return the result of a change; None if the vocabulary does not allow it, or if a command could not save the result."""
        try:
            new = change()
            if new.dropped:
                checked_files(new.tok.vocabulary, Path("tokenizer"), tokenizer=Tokenizer)
        except (UsageError, ConversionError):
            return None
        return new

    def measured(self, change: Callable[[EvaluationText], Changed]) -> Change | None:
        """Return the result of a change on the text; None without text, with too much of it, or if `changed` returns None."""
        if (counts := self.counts) is None:
            return None
        if (new := self.changed(partial(change, EvaluationText(counts, normalized=True)))) is None:
            return None
        before, after = (measure_usage(tok, counts).tokens for tok in (self.tok, new.tok))
        return Change(new.dropped, after / max(1, before) - 1)


def _word(path: str) -> str:
    """Return a path as an argument of a command: quoted, and not an option."""
    return shlex.quote(f"./{path}" if path.startswith("-") else path)


def percent(share: float | None) -> str:
    return f"{100 * (share or 0):.1f}%".replace("-", "\u2212")


@dataclass(frozen=True)
class Standing:
    """A figure and those of published vocabularies of the same size class. high: whether more is better."""

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
        """The share of tokens that the best peer saves, if more is better; 0 without peers."""
        return 1 - self.value / self.peers[self.best] if self.peers else 0.0

    def criterion(self, comparison: str) -> str:
        """Return the criterion of the grade, such as "worse than most of" the peers."""
        return f"{comparison} the published vocabularies of this size class{'' if self.peers else '; there are none'}"

    def __str__(self) -> str:
        """The rank in brackets; "" without peers, which the summary mentions."""
        if not self.peers:
            return ""
        if self.better_than == len(self.peers):
            return f" (as good as the best of {len(self.peers)} published ones of about this size)"
        rank = 1 + len(self.peers) - self.better_than
        return f" (rank {rank} of {len(self.peers) + 1} among published ones of about this size)"


def standing_of(figures: Figures, figure: Callable[[Figures], float | None], high: bool = False) -> Standing | None:
    """Return the standing of a figure on the sample; None if the vocabulary lacks characters of the sample."""
    if (own := figure(figures)) is None:
        return None
    return Standing(own, {name: figure(peer) or 0.0 for name, peer in figures.peers().items()}, high)


def by_cost(findings: Sequence[Finding | None]) -> list[Finding]:
    """Return the findings without None, the most expensive first."""
    return sorted((finding for finding in findings if finding is not None), key=lambda finding: -finding.cost)


def densities(figures: Figures) -> dict[str, Standing]:
    """Return the standings of the bytes per token of English prose and of code."""
    measures = {domain: methodcaller("bytes_per_token", domain) for domain in (PROSE, CODE)}
    standings = {domain: standing_of(figures, measure, high=True) for domain, measure in measures.items()}
    return {domain: standing for domain, standing in standings.items() if standing is not None}


def summary(figures: Figures) -> str:
    """Return one sentence: the text that the vocabulary is good for."""
    standings = densities(figures)
    levels = {
        name: standings[domain].level for domain, name in ((PROSE, ENGLISH), (CODE, "code")) if domain in standings
    }
    good = [name for name, level in levels.items() if level == "good"]
    weak = [name for name, level in levels.items() if level in CALLS]
    premiums = sorted(figures.premiums.items(), key=lambda item: -item[1])
    dear = [name for name, times in premiums if times >= DEAR]
    if figures.peers():  # a vocabulary of only the bytes treats most languages equally badly
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
    """Return the names as prose. Those beyond `most` are only counted: "Georgian, Hindi and 3 more"."""
    more = [] if most is None or len(names) <= most else [f"{len(names) - most} more"]
    *first, last = [*names[:most], *more]
    return f"{', '.join(first)} and {last}" if first else last


def verdict(subject: Subject, judged: Judgement | None, unreachable: Collection[int] | None) -> list[Finding]:
    """Return the findings on one tokenizer. unreachable: the ids that no text produces; None if they are not known."""
    on_text = [_swallowed(subject, judged), _unused(subject, judged)] if judged else []
    unreached = None if unreachable is None else _unreachable(subject, unreachable)
    return by_cost([*on_text, _languages(subject), _density(subject), unreached])


def _swallowed(subject: Subject, judged: Judgement) -> Finding | None:
    if judged.swallowed is None:
        return None
    swallowed = [token for token in judged.swallowed if token.ios >= JUNK]
    sure = sum(token.before >= ENOUGH for token in swallowed)
    standing = standing_of(subject.figures, attrgetter("swallowed_share"))
    level: Level = standing.level if standing else "ungraded"
    share = ratio(len(swallowed), judged.size) or 0.0
    long = judged.usage.tokens >= SHORT * judged.size
    published = [other.swallowed_share or 0.0 for other in references().values()]
    if not (standing and standing.peers) and share > max(published):
        level = "look"  # more than any published one of any size
    elif share <= min(published) and long:  # as after `prune --ios` on this text
        level = "good"
    vocabulary, advice = subject.tok.vocabulary, []
    if level in CALLS and subject.trained_here:  # `train` accepts these options for such a vocabulary
        superwords = not vocabulary.has_superwords and joins_words(vocabulary)
        options = f"`--superwords boundless --refine {JUNK}`" if superwords else f"`--refine {JUNK}`"
        text = " on text like yours" if vocabulary.removed else ""
        advice = [
            f"Training with {options}{text} leaves fewer of them. It hardly changes the number of tokens of a text."
        ]
    if level in CALLS and not long:
        advice.append(EVALUATE_MORE)
    elif level in CALLS:
        change = subject.measured(lambda counts: prune(subject.tok, ios=JUNK, counts=counts))
        advice += subject.pruning(f" --ios {JUNK} -o pruned", change)
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
        f"{percent(subject.figures.swallowed_share)}{standing or ''}.",
        " ".join(advice),
        share,
    )


def _unused(subject: Subject, judged: Judgement) -> Finding:
    unused = judged.size - used_tokens(subject.tok, judged.usage)
    times = judged.usage.tokens / max(1, judged.size)
    removable = subject.measured(lambda counts: shrink(subject.tok, text=counts)) if times >= SHORT else None
    spare = 0.0 if removable is None else (ratio(removable.dropped, judged.size) or 0.0)
    look = spare >= UNUSED
    exception = ""
    if removable and removable.dropped < unused:
        lasting = f"{unused - removable.dropped:,} of them cannot" if removable.dropped else "none of them can"
        exception = f", and {lasting} be removed"
    advice = EVALUATE_MORE if times < SHORT else ""
    if look:
        commands = subject.pruning(" -o smaller", removable)
        if (change := subject.measured(lambda counts: replace(subject.tok, counts))) and change.tokens <= -GAIN:
            command = f"`tokenmill extend {subject.path} {subject.sources} --reuse {change.dropped} -o better`"
            commands.append(f"{command} gives {change.dropped:,} ids to new tokens{change.cost}.")
        advice = " ".join(commands) or "They cannot be removed from this vocabulary."
    return Finding(
        "unused",
        "look" if look else "ungraded" if times < SHORT else "good",
        f"This text of {plural(judged.usage.tokens, 'token')} does not use {plural(unused, 'token')} "
        f"({percent(ratio(unused, judged.size))}) of the vocabulary{exception}.",
        f"{percent(UNUSED)} of the vocabulary can be removed, on a text of at least {SHORT} times as many tokens as the "
        f"vocabulary has (here {times:,.1f} times)",
        "If the model sees only text like this, their rows of the embedding table are never trained.",
        advice,
        spare,
    )


def _languages(subject: Subject) -> Finding | None:
    figures = subject.figures
    standing, premiums = standing_of(figures, attrgetter("gini")), figures.premiums
    if standing is None:
        return None
    dearest = max(premiums, key=premiums.__getitem__)
    tokens = sorted(sum(peer.languages.values()) for peer in figures.peers().values())
    median = tokens[len(tokens) // 2] if tokens else 0
    fairest = min(references([figures]).items(), key=lambda item: item[1].gini or 1)
    advice = f"Where such languages matter, use a fairer one: {fairest[0]} has {fairest[1].gini:.2f}."
    if subject.trained_here:
        advice = "If the model is to serve such languages, train on more text in them."
    return Finding(
        "languages",
        "look" if standing.level == "act" else standing.level,  # bad for some uses only
        f"{dearest} needs {premiums[dearest]:.1f} times as many tokens as English for the same messages; the Gini coefficient "
        f"over {len(premiums)} languages is {standing.value:.2f}{standing}.",
        standing.criterion("worse than three quarters of"),
        "Speakers of such languages pay more, wait longer, and fit less into a context.",
        advice if standing.level in CALLS else "",
        1 - min(1.0, median / max(1, sum(figures.languages.values()))) if tokens else 0.0,
    )


def _density(subject: Subject) -> Finding | None:
    standings = densities(subject.figures)
    if not standings:
        return None
    domain, worst = max(standings.items(), key=lambda item: item[1].loss)
    low = [name for name, standing in standings.items() if standing.level in CALLS]
    best = worst.best if worst.peers else ""
    advice = ""
    if low and subject.trained_here:
        advice = f"Train on more of it: {listed(low)}."
    elif low:
        advice = f"Where {listed(low)} {'matter' if low[1:] else 'matters'}, use {best}."
    meaning = "More bytes per token mean less compute for the same text."
    if best and worst.loss > 0:
        meaning = f"The best of its size there, {best}, needs {percent(worst.loss)} fewer tokens for {domain}."
    contents = [f"{standing.value:.2f} bytes of {name}{standing}" for name, standing in standings.items()]
    return Finding(
        "density",
        "look" if low else worst.level,
        f"A token contains {' and '.join(contents)}, on the public sample.",
        worst.criterion("fewer bytes than three quarters of"),
        meaning,
        advice,
        max(0.0, worst.loss),
    )


def _unreachable(subject: Subject, unreachable: Collection[int]) -> Finding:
    vocabulary = subject.tok.vocabulary
    tokens, texts = ordinary_tokens(vocabulary), texts_of_tokens(vocabulary)
    spare = sum(len(tokens.get(id, b"")) != 1 and len(texts.get(id, "")) != 1 for id in unreachable)
    look = spare > UNREACHABLE * len(tokens)
    advice = ""
    removable = set(unreachable) - lasting_tokens(vocabulary) if can_lose_tokens(vocabulary) else set()
    pruned = subject.changed(lambda: prune(subject.tok, ids=removable)) if look and removable else None
    if pruned and pruned.dropped:
        text = "" if subject.text is None else f" {subject.sources}"
        command = f"`tokenmill prune {subject.path}{text} --unreachable -o smaller`"
        advice = f"{command} removes {plural(pruned.dropped, 'token')}."
    elif pruned:
        advice = "They stay, since other tokens are built from them."
    elif look:
        advice = "Reuse their ids, for example for added tokens."
    alphabet = f", {spare:,} of them not in the alphabet" if spare else ", all of them in the alphabet"
    return Finding(
        "unreachable",
        "look" if look else "good",
        f"{plural(len(unreachable), 'token')} {'is' if len(unreachable) == 1 else 'are'} unreachable"
        f"{alphabet if unreachable else ''}.",
        f"{percent(UNREACHABLE)} of the vocabulary, without the alphabet: the single bytes or characters",
        "No text produces such tokens, so their rows of the embedding table are never trained, but a model may still output them.",
        advice,
        spare / max(1, len(tokens)),
    )
