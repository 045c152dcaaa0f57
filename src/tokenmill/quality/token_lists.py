"""Lists of tokens worth a look: removed, exchanged, unused, rare and longest tokens, and superwords.

A superword is a token of two words or more, a word being a run of characters other than white space.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import chain, repeat, zip_longest

from ..split import Splitter
from ..tokenizer import Tokenizer
from ..vocabulary import Vocabulary
from .evaluation_text import Judgement, Judgements
from .tables import Cell, Column, Table, Token
from .usage import Usage, ordinary_tokens, ratio, texts_of_tokens, token_cells

MOST_LONGEST = 1000
MOST_USED = 50
ENDS = ("a word", "punctuation", "white space")


def removed_table(tok: Tokenizer, usage: Usage | None) -> Table:
    """The tokens that training removed, the last first, and those that have their rows: the last that training made."""
    vocabulary = tok.vocabulary
    ios_of_removed: dict[int, float | None] = {}
    remaining: dict[int, None] = {}
    counts = vocabulary.event_counts.tolist() or [(0, 0)] * len(vocabulary.events)
    for (left, right, new), (merged, before) in zip(vocabulary.events.tolist(), counts, strict=True):
        if right < 0:
            ios_of_removed[left] = merged / before if before else None
            remaining.pop(left, None)
        else:
            ios_of_removed.pop(new, None)
            remaining[new] = None
    removed = [id for id in reversed(ios_of_removed) if id in vocabulary.removed]
    rows: list[tuple[Cell, ...]] = []
    for id, instead in zip(removed, chain(reversed(remaining), repeat(None)), strict=False):
        used = None if usage is None or instead is None else int(usage.by_id[instead])
        new = None if instead is None else Token(instead, vocabulary.tokens[instead] or b"")
        rows.append((Token(id, vocabulary.tokens[id] or b""), ios_of_removed[id], new, used))
    columns = (
        Column("removed", "token"),
        Column("IoS", "ios", "the IoS that caused the removal"),
        Column("instead", "token"),
        Column("used", "count", "times in this text"),
    )
    note = (
        "In training, each removal freed a row. The tokens that were made last have these rows: without removals training "
        "would have ended before them. Where `prune` removed a token, nothing replaced it."
    )
    return Table("removed", "Removed tokens and their replacements", columns, rows, note, listing=True)


def exchanged_table(base: str, other: str, judged: Judgements) -> Table:
    """The tokens that only one of two vocabularies has, each side by its uses, the most used first."""
    cells = {name: token_cells(judged[name].tok.vocabulary) for name in (base, other)}
    sides = []
    for own, theirs in ((base, other), (other, base)):
        uses, known = judged[own].usage.by_id, {token.content for token in cells[theirs]}
        only = [(token, int(uses[token.id])) for token in cells[own] if token.content not in known]
        sides.append(sorted(only, key=lambda row: (-row[1], row[0].id)))
    rows = [(*left, *right) for left, right in zip_longest(*sides, fillvalue=(None, None))]
    columns = (
        Column(f"only in {base}", "token", json_key="removed"),
        Column("used", "count", "times in this text", json_key="removed_used"),
        Column(f"only in {other}", "token", json_key="instead"),
        Column("used there", "count", "times in this text", json_key="instead_used"),
    )
    note = (
        f"{len(sides[0]):,} tokens are only in {base}, {len(sides[1]):,} only in {other}; the most used of each first."
    )
    title = f"Tokens of {base} that {other} lacks, and what it has instead"
    return Table(f"exchanged_{other}", title, columns, rows, note, listing=True)


def unused_table(tok: Tokenizer, usage: Usage) -> Table:
    """Tokens that the text never uses, the oldest first, because they were the most frequent ones in training."""
    uses = usage.by_id.tolist()
    unused = [token for token in token_cells(tok.vocabulary) if uses[token.id] == 0]
    rows = [(token,) for token in sorted(unused, key=lambda token: len(token.content) == 1)]
    note = (
        "In the order of their ids, single bytes last. Training gives low ids to frequent tokens, so the first ones show "
        "best how this text differs from the training text."
    )
    return Table("unused", "Tokens never used on this text", (Column("token", "token"),), rows, note, listing=True)


def rare_table(tok: Tokenizer, usage: Usage, below: int) -> Table:
    """Tokens used, but fewer than `below` times, the rarest first."""
    uses = usage.by_id.tolist()
    cells = ((token, uses[token.id]) for token in token_cells(tok.vocabulary))
    rows = [(token, used, 1e6 * used / usage.tokens) for token, used in cells if 0 < used < below]
    rows.sort(key=lambda row: (row[1], row[0].id))
    columns = (Column("token", "token"), Column("used", "count"), Column("per million tokens", "number", digits=3))
    note = "The rarest first, then the oldest. A model trained on such text sees too little of them to learn their meaning."
    return Table("rare", f"Tokens used fewer than {below:,} times", columns, rows, note, listing=True)


def longest_table(tok: Tokenizer, usage: Usage | None = None) -> Table:
    """The longest tokens, such as long runs of one character or of white space."""
    texts, uses = texts_of_tokens(tok.vocabulary), None if usage is None else usage.by_id
    rows: list[tuple[Cell, ...]] = []
    by_length = sorted(ordinary_tokens(tok.vocabulary).items(), key=lambda item: -len(item[1]))
    for id, token in by_length[:MOST_LONGEST]:
        used = None if uses is None else int(uses[id])
        rows.append((Token(id, token), len(token), len(texts[id]) if id in texts else None, used))
    columns = (Column("token", "token"), *(Column(name, "count") for name in ("bytes", "characters", "used")))
    return Table("longest", "Longest tokens", columns, rows, listing=True)


def superwords_of(tok: Tokenizer) -> list[Token]:
    """Return the tokens of two words or more, by id; none if the split pattern cuts between words.

    The tokens of a plain vocabulary that contain a no-break space do not span words for its pattern.
    """
    if not joins_words(tok.vocabulary):
        return []
    return [token for token in token_cells(tok.vocabulary) if words_in(token) > 1]


@lru_cache(maxsize=8)
def joins_words(vocabulary: Vocabulary) -> bool:
    """Return whether training could merge across words: superwords of whole pretokens, or a pattern that joins words."""
    return vocabulary.has_superwords or len(Splitter(*vocabulary.split_patterns).ends(b"of the")) == 1


# The reason why tokenizers are left out of figures by script.
LEFT_OUT = "Tokenizers with superwords are left out: their pretokens are runs of words. So are WordPiece and Unigram, which have none."


def with_words_as_pretokens(judged: Judgements) -> Judgements:
    """Return the tokenizers whose figures by script can be compared: those with pretokens and no superwords; if none, all."""
    return {name: each for name, each in judged.items() if each.scripts.rows and not superwords_of(each.tok)} or judged


def words_in(token: Token) -> int:
    """Return the number of words in a token: 2 in b" of the"."""
    return len(token.content.decode(errors="replace").split())


def end_of(token: Token) -> str:
    """Return the kind of a token's end: one of ENDS."""
    last = token.content.decode(errors="replace")[-1]
    return ENDS[2] if last.isspace() else ENDS[0] if last.isalnum() else ENDS[1]


def superwords_table(judged: Judgements) -> Table:
    """The share of superwords in the vocabulary and in the text, and the kinds of their ends."""
    rows = []
    for name, each in judged.items():
        superwords = superwords_of(each.tok)
        uses = [int(each.usage.by_id[token.id]) for token in superwords]
        words = sum(words_in(token) * used for token, used in zip(superwords, uses, strict=True))
        ends = [ratio(sum(end_of(token) == end for token in superwords), len(superwords)) for end in ENDS]
        number, share = len(superwords), ratio(sum(uses), each.usage.tokens)
        rows.append((name, number, ratio(number, each.size), share, ratio(words, sum(uses)), *ends))
    columns = (
        Column("tokenizer"),
        Column("superwords", "count", "tokens of two words or more"),
        Column("of the vocabulary", "share"),
        Column("of the tokens of the text", "share"),
        Column("words in each", "number", "mean over the text"),
        *(Column(f"end with {end}", "share", "of the superwords of the vocabulary") for end in ENDS),
    )
    note = "Fewer tokens for a text are not yet a better model: what superwords are worth is measured with models."
    return Table("superwords", "Tokens that span words", columns, rows, note)


def most_used_table(name: str, judged: Judgement) -> Table:
    """The superwords that the text uses most. name: the name of the tokenizer."""
    usage = judged.usage
    uses = [(token, int(usage.by_id[token.id])) for token in superwords_of(judged.tok)]
    uses.sort(key=lambda row: (-row[1], row[0].id))
    rows = [(token, words_in(token), end_of(token), used, ratio(used, usage.tokens)) for token, used in uses if used]
    columns = (
        Column("token", "token"),
        Column("words", "count"),
        Column("ends with"),
        Column("used", "count"),
        Column("of the tokens of the text", "share"),
    )
    return Table(f"superwords_{name}", f"Superwords used most: {name}", columns, rows[:MOST_USED], listing=True)
