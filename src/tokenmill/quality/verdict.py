"""The verdict: three to five sentences that say what was found, from where on it counts, what it means and what to do."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ..errors import UsageError
from ..tokenizer import Tokenizer
from .documents import Interval
from .judgement import Judgement
from .junk import ENOUGH
from .languages import FAIR
from .metrics import ratio, used_tokens
from .pruning import can_lose_tokens, lasting_tokens
from .references import CODE, JUNK, PROSE, Figures, references
from .removals import in_event_order
from .reporting import Finding, Level
from .superwords import superwords_of
from .usage import ordinary_tokens

MOST = 5
UNUSED, SWALLOWED, UNREACHABLE = 0.1, 0.01, 0.001  # shares of the vocabulary from which on a finding counts
SHORT = 20  # tokens of the text for each of the vocabulary; a shorter text leaves good tokens unused
DENSER = 0.95  # of the bytes per token of a published vocabulary of about this size or less
ALIKE = 0.01  # a smaller difference of Gini coefficients is not worth a choice
ORDER: Mapping[Level, int] = {"act": 0, "look": 1, "good": 2}


def worst_first(findings: Sequence[Finding | None]) -> list[Finding]:
    """The findings that there are, those to act on first, at most MOST."""
    found = [finding for finding in findings if finding is not None]
    return sorted(found, key=lambda finding: ORDER[finding.level])[:MOST]


def verdict(
    tok: Tokenizer,
    judged: Judgement | None,
    figures: Figures,
    unreachable: Collection[int],
    beside: Mapping[str, float],
    density: float | None,
) -> list[Finding]:
    """The findings on one tokenizer.

    unreachable: the ids of the tokens that no text produces.
    beside: bytes per token of published vocabularies on a sample of the text; `density`: the tokenizer's own there.
    """
    on_text = [_swallowed(judged, figures), _unused(judged, figures)] if judged else []
    compression = _density_on_text(density, beside) if density and beside else _density(figures)
    return worst_first([*on_text, _languages(figures), compression, _unreachable(tok, unreachable)])


def _percent(share: float | None) -> str:
    return f"{100 * (share or 0):.1f} %".replace("-", "\u2212")


def _median(figures: Sequence[float | None]) -> float:
    known = sorted(figure for figure in figures if figure is not None)
    return known[len(known) // 2]


def _swallowed(judged: Judgement, figures: Figures) -> Finding:
    found = [token for token in judged.swallowed if token.ios >= JUNK]
    sure = sum(token.before >= ENOUGH for token in found)
    share = ratio(len(found), judged.size) or 0.0
    usual = _median([ratio(of.swallowed, of.ordinary) for of in references().values()])
    return Finding(
        "swallowed",
        "act" if share >= SWALLOWED else "good",
        f"{len(found):,} tokens ({_percent(share)}) were almost always swallowed by a longer one; {sure:,} of them occurred "
        f"{ENOUGH} times or more.",
        f"IoS ≥ {JUNK} for {_percent(SWALLOWED)} of the vocabulary",
        "They are steps on the way to longer tokens, and a model hardly sees them alone. On the public sample it is "
        f"{_percent(ratio(figures.swallowed, figures.ordinary))}, and {_percent(usual)} for the median published vocabulary.",
        _against_swallowed(judged.tok, len(found)) if share >= SWALLOWED else "Nothing needs to be done.",
    )


def _against_swallowed(tok: Tokenizer, places: int) -> str:
    """What to do about swallowed tokens, of what `train` and `prune` accept for such a vocabulary."""
    vocabulary, how = tok.vocabulary, f"Retrain with `--refine {JUNK}`"
    if vocabulary.order == "events" and vocabulary.removed:
        how += " on text like yours"
    elif not len(vocabulary.superwords) and superwords_of(tok):
        how = f"Retrain with `--superwords boundless --refine {JUNK}`, as SuperBPE is trained without `--refine`"
    how += f". Better tokens then take their {places:,} places."
    try:
        if vocabulary.order == "events" or not can_lose_tokens(vocabulary):
            return how
        in_event_order(tok, "")
    except UsageError:
        return how
    return f"{how} Or drop them with `tokenmill prune TOKENIZER TEXT --ios {JUNK} -o OUT`."


def _unused(judged: Judgement, figures: Figures) -> Finding:
    vocabulary, unused = judged.tok.vocabulary, judged.size - used_tokens(judged.tok, judged.usage)
    share = ratio(unused, judged.size) or 0.0
    times = judged.usage.tokens / max(1, judged.size)
    usual = _median([1 - of.used / of.ordinary for of in references().values()])
    over, short = share >= UNUSED, times < SHORT
    if short:
        action = "Judge on more text before you act on this."
    elif over:
        action = "Train on text like yours."
        if can_lose_tokens(vocabulary):
            action += " Or drop these tokens with `tokenmill prune TOKENIZER TEXT -o OUT`."
            if vocabulary.alphabet == "bytes" and (vocabulary.order != "events" or vocabulary.refine is not None):
                action += " Or give their ids to others with `tokenmill extend TOKENIZER TEXT --reuse 0 -o OUT`."
    else:
        action = "Nothing needs to be done."
    return Finding(
        "unused",
        "look" if over and short else "act" if over else "good",
        f"{unused:,} tokens ({_percent(share)}) never occur in this text of {judged.usage.tokens:,} tokens.",
        f"{_percent(UNUSED)} of the vocabulary, in a text of at least {SHORT} times as many tokens (here {times:,.1f} times)",
        "Each costs a row of the embedding table that is never trained. On the public sample, which is small, "
        f"{_percent(1 - figures.used / figures.ordinary)} are unused, and {_percent(usual)} for the median published vocabulary.",
        action,
    )


def _languages(figures: Figures) -> Finding:
    value = figures.gini or 0.0
    premiums = figures.premiums
    dearest = max(premiums, key=premiums.__getitem__)
    best, least = min(((name, of.gini or 0.0) for name, of in references([figures]).items()), key=lambda item: item[1])
    return Finding(
        "languages",
        "look" if value >= FAIR else "good",
        f"{dearest} takes {premiums[dearest]:.1f} times as many tokens as English for the same messages; the Gini coefficient "
        f"over 20 languages is {value:.2f}.",
        f"a Gini coefficient of {FAIR}",
        f"Speakers of such languages pay more, wait longer, and fit less into a context. The fairest published vocabulary here, "
        f"{best}, has {least:.2f}.",
        "If the model is to serve these languages, train on more text in them; else nothing needs to be done."
        if value >= FAIR
        else "Nothing needs to be done.",
    )


def _density(figures: Figures) -> Finding:
    """Compression on the sample, beside vocabularies of about this size or less."""
    others = references([figures])
    alike = {name: of for name, of in others.items() if of.ids <= 1.25 * figures.ids}
    peers = alike or others
    best = {domain: max(peers, key=lambda name: peers[name].bytes_per_token(domain) or 0) for domain in (PROSE, CODE)}
    own = {domain: figures.bytes_per_token(domain) or 0.0 for domain in best}
    theirs = {domain: peers[name].bytes_per_token(domain) or 0.0 for domain, name in best.items()}
    low = [domain for domain in best if own[domain] < DENSER * theirs[domain]]
    parts = [f"{own[domain]:.2f} bytes of {domain} ({best[domain]}: {theirs[domain]:.2f})" for domain in best]
    return Finding(
        "density",
        "look" if low else "good",
        f"A token holds {' and '.join(parts)} on the public sample.",
        f"less than {_percent(DENSER)} of the best published vocabulary"
        + (" of about this size or less" if alike else "; none here is of about this size or less"),
        "The same text costs more or fewer tokens, and so more or less compute.",
        f"If such text matters to you, train on more of it: {' and '.join(low)}."
        if low
        else "Nothing needs to be done.",
    )


def _density_on_text(density: float, beside: Mapping[str, float]) -> Finding:
    best = max(beside, key=beside.__getitem__)
    low = density < DENSER * beside[best]
    return Finding(
        "density",
        "look" if low else "good",
        f"A token holds {density:.2f} bytes of your text; "
        + ", ".join(f"{name} {value:.2f}" for name, value in beside.items())
        + " on the same sample of it.",
        f"less than {_percent(DENSER)} of the best published vocabulary on this machine",
        "The same text costs more or fewer tokens, and so more or less compute.",
        f"Train on more text like this, or use {best}." if low else "Nothing needs to be done.",
    )


def _unreachable(tok: Tokenizer, unreachable: Collection[int]) -> Finding:
    vocabulary, tokens = tok.vocabulary, ordinary_tokens(tok)
    removable = can_lose_tokens(vocabulary)
    alphabet = lasting_tokens(vocabulary) if removable else {id for id, token in tokens.items() if len(token) == 1}
    spare = len(set(unreachable) - alphabet)
    over = spare > UNREACHABLE * len(tokens)
    if not over:
        action = "Nothing needs to be done."
    elif removable:
        action = (
            "Drop what is not in the alphabet with `tokenmill prune TOKENIZER --ids FILE -o OUT`. The file has one id per "
            "line; `tokenmill inspect TOKENIZER --json --top 0` lists the ids."
        )
    else:
        action = "Reuse their ids, for example for added tokens."
    of_alphabet = f", {spare:,} of them not in the alphabet" if spare else ", all of them in the alphabet"
    return Finding(
        "unreachable",
        "act" if over else "good",
        f"{len(unreachable):,} tokens cannot be produced by any text that was tried{of_alphabet if unreachable else ''}.",
        f"{_percent(UNREACHABLE)} of the vocabulary, without the alphabet: the single bytes or characters",
        "Their rows of the embedding table are never trained, and a model may still output them.",
        action,
    )


def compared(
    judged: Mapping[str, Judgement], figures: Mapping[str, Figures], differences: Mapping[str, Interval | None]
) -> list[Finding]:
    """The findings on several tokenizers. differences: tokens relative to the first, with their intervals."""
    if len(judged) == 1:
        ((name, only),) = judged.items()
        return worst_first([_swallowed(only, figures[name]), _unused(only, figures[name]), _languages(figures[name])])
    return worst_first(
        [
            _fewest(judged, differences),
            _fairest(figures),
            _least(
                "swallowed",
                {name: ratio(sum(t.ios >= JUNK for t in of.swallowed), of.size) for name, of in judged.items()},
                "tokens that were almost always swallowed by longer ones",
                f"IoS ≥ {JUNK} for {_percent(SWALLOWED)} of the vocabulary",
                "IoS is the share of a token's occurrences that one merge takes; such tokens are steps on the way to longer ones.",
                f"Retrain with `--refine {JUNK}` where you can.",
            ),
            _least(
                "unused",
                {name: 1 - (ratio(used_tokens(of.tok, of.usage), of.size) or 0) for name, of in judged.items()},
                "tokens that never occur in this text",
                f"{_percent(UNUSED)} of the vocabulary",
                "Unused tokens cost rows of the embedding table. A larger vocabulary leaves more unused on the same text.",
                "Compare vocabularies of one size"
                + (
                    ", or drop unused tokens with `tokenmill prune TOKENIZER TEXT -o OUT`."
                    if all(can_lose_tokens(of.tok.vocabulary) for of in judged.values())
                    else "."
                ),
            ),
        ]
    )


def _fewest(judged: Mapping[str, Judgement], differences: Mapping[str, Interval | None]) -> Finding:
    tokens = {name: of.usage.tokens for name, of in judged.items()}
    base = next(iter(tokens))
    best, second = sorted(tokens, key=tokens.__getitem__)[:2]
    other = second if best == base else base
    interval = differences.get(second if best == base else best)
    if interval is not None and best == base:  # the other way round
        interval = Interval(1 / interval.ratio, 1 / interval.high, 1 / interval.low)
    statement = (
        f"{best} needs the fewest tokens: {_percent(1 - tokens[best] / max(1, tokens[other]))} fewer than {other}"
    )
    if interval is not None:
        statement += f" (95 % interval {_percent(1 - interval.high)} to {_percent(1 - interval.low)})"
    meaning = "Fewer tokens mean less compute for the same text."
    sizes = {of.size for of in judged.values()}
    if max(sizes) > 1.25 * min(sizes):
        meaning += " The vocabularies differ in size, and a larger one should need fewer."
    unsure = interval is None or interval.low <= 1 <= interval.high
    return Finding(
        "density",
        "look" if unsure or best != base else "good",
        statement + ".",
        "an interval that does not contain 0 %, by bootstrap over documents",
        meaning,
        "Compare on more documents: this text does not tell them apart."
        if unsure
        else f"Use {best} for text like this.",
    )


def _fairest(figures: Mapping[str, Figures]) -> Finding:
    values = {name: of.gini or 0.0 for name, of in figures.items()}
    best, worst = min(values, key=values.__getitem__), max(values, key=values.__getitem__)
    over, alike = values[worst] >= FAIR, values[worst] - values[best] < ALIKE
    if alike:
        low, high = f"{values[best]:.2f}", f"{values[worst]:.2f}"
        told = f"a Gini coefficient of {low} each" if low == high else f"Gini coefficients of {low} to {high}"
        statement = f"No tokenizer is fairer to languages than the others: {told}"
    else:
        statement = f"{best} treats languages most alike: a Gini coefficient of {values[best]:.2f}; {worst} has {values[worst]:.2f}"
    action = (
        "Train on more text in the languages that matter to you." if alike else f"For several languages use {best}."
    )
    return Finding(
        "languages",
        "look" if over else "good",
        f"{statement}, over 20 languages.",
        f"a Gini coefficient of {FAIR}",
        "0 means that the same messages take the same number of tokens in every language.",
        action if over else "Nothing needs to be done.",
    )


def _least(
    key: str, shares: Mapping[str, float | None], what: str, threshold: str, meaning: str, advice: str
) -> Finding:
    known = {name: share or 0.0 for name, share in shares.items()}
    best, worst = min(known, key=known.__getitem__), max(known, key=known.__getitem__)
    over = known[worst] >= (SWALLOWED if key == "swallowed" else UNUSED)
    return Finding(
        key,
        "look" if over else "good",
        f"{best} has the smallest share of {what}: {_percent(known[best])} of its vocabulary; {worst} has {_percent(known[worst])}.",
        threshold,
        meaning,
        advice if over else "Nothing needs to be done.",
    )
