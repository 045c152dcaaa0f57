"""What tokenizer.json, merges.txt and .ddtok share: tokens as a table of text -> id, and merges as pairs of texts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, NoReturn

from ..errors import ConversionError
from ..vocabulary import AddedToken, Vocabulary
from .byte_alphabet import tokens_of_texts
from .file_content import Json, place_tokens, show
from .rank_merges import merges_of_ranks, only_whole, ranks_of

if TYPE_CHECKING:
    import numpy as np


def read_tokens(
    node: Json, vocab: dict[str, int], added: Collection[str], byte_level: bool = True
) -> list[bytes | None]:
    """The bytes of each entry of `vocab`, which stands at `node`, by id. `added`: entries that are added tokens.

    An added token with characters outside of the byte alphabet stands for its own text, and is left out here.
    """
    texts = list(vocab)
    found: list[bytes | None]
    if byte_level:
        found = tokens_of_texts(texts)
    else:
        try:
            found = [text.encode() for text in texts]
        except UnicodeEncodeError as error:
            node.fail(f"the token {show(error.object)} is not Unicode text: it holds a lone surrogate")
    foreign = (text for text, token in zip(texts, found, strict=True) if token is None and text not in added)
    if (text := next(foreign, None)) is not None:
        node.fail(f"the token {show(text)} has characters outside of the byte alphabet, and it is not an added token")
    return place_tokens(found, list(vocab.values()), node.file, lambda n: f"at {node.where}[{show(texts[n])}]")


def split_merges(merges: Sequence[str], bad: Callable[[int, str], NoReturn]) -> tuple[list[str], list[str]]:
    """The left and the right parts of merges written "a b". bad(n, what): raises the error of the nth."""
    for n, merge in enumerate(merges):
        if type(merge) is not str or merge.count(" ") != 1 or len(merge) < 3 or " " in (merge[0], merge[-1]):
            bad(n, f"expected two tokens with a space between, found {show(merge)}")
    sides = " ".join(merges).split(" ") if merges else []
    return sides[::2], sides[1::2]


def read_rows(
    lefts: Sequence[str], rights: Sequence[str], vocab: dict[str, int], bad: Callable[[int, str], NoReturn]
) -> np.ndarray:
    """The merges as int32 rows (left id, right id, new id). Of a pair that is listed twice the last one counts.

    bad(n, what): raises the error of the nth merge.
    """
    import numpy as np

    rows = np.empty((len(lefts), 3), np.int32)
    for column, texts in enumerate((lefts, rights, list(map(str.__add__, lefts, rights)))):
        try:
            rows[:, column] = np.fromiter(map(vocab.__getitem__, texts), np.int32, len(texts))
        except KeyError as error:
            n = texts.index(error.args[0])
            part = ("left part", "right part", "result")[column]
            merge = f"{show(lefts[n])} + {show(rights[n])}"
            bad(n, f"the {part} {show(texts[n])} of the merge {merge} is not in the vocabulary")
    pairs = (rows[:, 0].astype(np.int64) << 32) | rows[:, 1]
    _, last = np.unique(pairs[::-1], return_index=True)
    return rows if len(last) == len(pairs) else rows[np.sort(len(pairs) - 1 - last)]


def drop_added(tokens: list[bytes | None], added: Collection[AddedToken], rows: np.ndarray) -> list[bytes | None]:
    """`tokens` without the model's own entries for added tokens.

    Hugging Face never uses them, because it finds added tokens before it splits text. Here they would turn text into a
    control token that the caller did not allow. An entry that is a byte, or that a merge makes, is an ordinary token too.
    """
    made = set(rows[:, 2].tolist())
    for token in added:
        if token.id < len(tokens) and token.id not in made and len(tokens[token.id] or b"") != 1:
            tokens[token.id] = None
    while tokens and tokens[-1] is None:
        tokens.pop()
    return tokens


def put_added(vocab: dict[str, int], content: str, id: int, target: str) -> None:
    """Put an added token into the table that `target` holds; ConversionError if an ordinary token is spelt like it."""
    if vocab.setdefault(content, id) != id:
        raise ConversionError(
            f"the added token {content!r} (id {id}) is spelt like the ordinary token with the id {vocab[content]}, and "
            f"{target} can hold only one of them"
        )


def tokens_and_merges(
    vocabulary: Vocabulary, target: str, whole_pretokens: bool
) -> tuple[list[bytes | None], list[list[int]], list[str]]:
    """The tokens by id that a format of tokens and merges can hold, the merges, and notes on what was left out.

    whole_pretokens: whether the format has the rule that a pretoken which is a token becomes that token. Without it, a token
    that only this rule makes is a ConversionError.
    """
    if vocabulary.alphabet != "bytes" and not whole_pretokens:
        raise ConversionError(
            f"{target} begins with bytes, and this vocabulary with characters. Write tokenizer.json instead."
        )
    notes: list[str] = []
    tokens = list(vocabulary.tokens)
    only_so = None
    if vocabulary.order == "merges":
        rows = vocabulary.events.tolist()
        if vocabulary.whole_pretokens and not whole_pretokens:
            only_so = only_whole(tokens, rows)
    else:
        tokens, notes = ranks_of(vocabulary, target)
        merges, unbuilt = merges_of_ranks(tokens)
        rows = merges.tolist()
        if unbuilt and not whole_pretokens:
            only_so = unbuilt[0]
    if only_so is not None:
        raise ConversionError(
            f"{tokens[only_so]!r} (id {only_so}) is made only where a whole pretoken is this token, and {target} does not "
            "have that rule, so text would get other ids. Write tokenizer.json instead."
        )
    last = {token: id for id, token in enumerate(tokens)}
    made = {new for _, _, new in rows}
    for id, token in enumerate(tokens):
        if token is not None and last[token] != id:
            if id in made or vocabulary.whole_pretokens:
                two_ids = f"{token!r} has two ids, {id} and {last[token]}"
                raise ConversionError(f"{two_ids}, and {target} can hold only one for each token")
            tokens[id] = None
            notes.append(f"the id {id}, which is never given out, is left out: {token!r} has the id {last[token]}")
    return tokens, rows, notes
