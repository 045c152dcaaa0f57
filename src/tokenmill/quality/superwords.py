"""Superwords: tokens of two words or more, a word being a run of characters other than white space."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from ..split import Splitter
from ..tokenizer import Tokenizer
from ..vocabulary import Vocabulary
from .judgement import Judgement
from .metrics import ratio
from .tables import Column, Table, Token
from .usage import Usage, texts_of_tokens, token_cells

MOST_USED = 50
ENDS = ("a word", "punctuation", "white space")


def superwords_of(tok: Tokenizer) -> list[Token]:
    """The tokens of two words or more, by id; none where the split pattern cuts between words.

    A plain vocabulary has tokens with a no-break space inside, which do not span words for its pattern.
    """
    if not joins_words(tok.vocabulary):
        return []
    texts = texts_of_tokens(tok.vocabulary)
    one = {id for id, text in texts.items() if len(text.split(None, 1)) < 2}  # most tokens
    return [token for token in token_cells(tok.vocabulary) if token.id not in one and words_in(token) > 1]


@lru_cache(maxsize=8)
def joins_words(vocabulary: Vocabulary) -> bool:
    """Whether training could merge across words: superwords of whole pretokens, or a pattern that keeps words together."""
    return vocabulary.has_superwords or len(Splitter(*vocabulary.split_patterns).ends(b"of the")) == 1


# Why tokenizers are left out of figures by script.
LEFT_OUT = (
    "Tokenizers with superwords are left out: their pretokens are runs of words, which may be of several scripts."
)


def with_words_as_pretokens(judged: Mapping[str, Judgement]) -> Mapping[str, Judgement]:
    """The tokenizers without superwords, since only their figures by script can be compared. All, if each has superwords."""
    return {name: of for name, of in judged.items() if not superwords_of(of.tok)} or judged


def words_in(token: Token) -> int:
    """The number of words in a token.

    >>> words_in(Token(300, b" of the")), words_in(Token(301, b" the"))
    (2, 1)
    """
    return len(token.content.decode(errors="replace").split())


def end_of(token: Token) -> str:
    """Return the kind of a token's end: one of ENDS."""
    last = token.content.decode(errors="replace")[-1]
    return ENDS[2] if last.isspace() else ENDS[0] if last.isalnum() else ENDS[1]


def superwords_table(judged: Mapping[str, Judgement]) -> Table:
    """Return the share of superwords in the vocabulary and in the text, and their kinds of ends."""
    rows = []
    for name, of in judged.items():
        found = superwords_of(of.tok)
        uses = [int(of.usage.by_id[token.id]) for token in found]
        words = sum(words_in(token) * used for token, used in zip(found, uses, strict=True))
        ends = [ratio(sum(end_of(token) == end for token in found), len(found)) for end in ENDS]
        share = ratio(sum(uses), of.usage.tokens)
        rows.append((name, len(found), ratio(len(found), of.size), share, ratio(words, sum(uses)), *ends))
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


def most_used_table(name: str, tok: Tokenizer, usage: Usage) -> Table:
    """The superwords that the text uses most. name: of the tokenizer."""
    rows = []
    for token in superwords_of(tok):
        used = int(usage.by_id[token.id])
        if used:
            rows.append((token, words_in(token), end_of(token), used, ratio(used, usage.tokens)))
    rows.sort(key=lambda row: (-row[3], row[0].id))
    columns = (
        Column("token", "token"),
        Column("words", "count"),
        Column("ends with"),
        Column("used", "count"),
        Column("of the tokens of the text", "share"),
    )
    return Table(f"superwords_{name}", f"Superwords used most: {name}", columns, rows[:MOST_USED], listing=True)
