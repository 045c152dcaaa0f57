"""The data that tokenizer.json, merges.txt and .ddtok share: tokens as a table of text -> id, and merges as pairs of texts."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any, NoReturn

from ..errors import ConversionError
from ..vocabulary import AddedToken, Vocabulary
from ..vocabulary.validation import EventError
from ..vocabulary.vocabulary import packed_vocabulary
from ._bpe_tables_cy import BpeTables, tables_of
from .file_content import Json, place_tokens, show
from .pieces import BYTE_TEXTS
from .rank_merges import merges_of_ranks, only_whole, ranks_of


def merged_vocabulary(
    tables: BpeTables, mark: str | None, byte_fallback: bool, added: Collection[AddedToken]
) -> Callable[..., Vocabulary]:
    """The function that makes the Vocabulary of a model from its other fields.

    mark: what stands for a space in the texts; None where they are in the byte alphabet. byte_fallback: whether the entries <0x00>
    to <0xFF> stand for bytes. No text gets an entry that has a space beside the mark, or characters outside of the alphabet; it is
    decoded to its own text, and its merges are left out.

    The model's own entries for added tokens are left out. Hugging Face never uses them, because it finds added tokens before it
    splits text. Here they would turn text into a control token that the caller did not allow. An entry that is a byte or a
    character, or that a merge makes, is an ordinary token too.
    """
    byte_ids = [tables.get(text) for text in BYTE_TEXTS] if byte_fallback else []
    bytes_of = {id: byte for byte, id in enumerate(byte_ids) if id is not None}
    contents, ids = {token.content.encode("utf-8", "replace") for token in added}, {token.id for token in added}
    apart = tables.place(mark, bytes_of)
    decode_only = {id: text for id, text in apart.items() if mark is not None or text not in contents}
    named = {token.id for token in added if len(token.content) > 1 and tables.get(token.content) == token.id}
    try:
        *packed, events = tables.finish(decode_only, bytes_of, named)
    except ValueError as error:
        row, id = error.args
        raise EventError(row, f"the token with the id {id} is a byte or an added token, which no merge names") from None
    return partial(
        packed_vocabulary,
        tuple(packed),
        events,
        order="merges",
        added_tokens=tuple(added),
        alphabet="bytes" if mark is None else "characters",
        byte_tokens=tuple(byte_ids),
        decode_only=tuple((id, text) for id, text in decode_only.items() if id not in ids),
    )


def listed_tables(node: Json, merges: list[Any], bad: Callable[[int, str], NoReturn]) -> BpeTables:
    """The tables of the vocabulary at `node`, and of merges written "a b" or ["a", "b"].

    bad(n, what): raises the error of the nth merge. FormatError for what is wrong in the vocabulary.
    """
    vocab: dict[str, int] = node.expect(dict)
    texts = [*vocab]
    placed = place_tokens(texts, [*vocab.values()], node.file, lambda n: f"at {node.where}[{show(texts[n])}]")
    try:
        tables = tables_of(placed)
    except ValueError as error:
        node.fail(f"the token {show(placed[int(str(error))])} is not Unicode text: it contains a lone surrogate")
    for n, merge in enumerate(merges):
        pair = merge.split(" ") if type(merge) is str else merge
        left, right = pair if type(pair) is list and len(pair) == 2 else ("", "")
        if not (type(left) is type(right) is str and left and right):
            kind = "two tokens with a space between" if type(merge) is str else "a pair of tokens"
            bad(n, f"expected {kind}, found {show(merge)}")
        row = vocab.get(left), vocab.get(right), vocab.get(left + right)
        if None in row:
            part, text = (("left part", left), ("right part", right), ("result", left + right))[row.index(None)]
            bad(n, f"the {part} {show(text)} of the merge {show(left)} + {show(right)} is not in the vocabulary")
        tables.put_row(*row)
    return tables


def put_added(vocab: dict[str, int], content: str, id: int, target: str) -> None:
    """Put an added token into the table that `target` holds; ConversionError if an ordinary token is spelt like it."""
    if vocab.setdefault(content, id) != id:
        raise ConversionError(
            f"the added token {content!r} (id {id}) is spelt like the ordinary token with the id {vocab[content]}, and "
            f"{target} can represent only one of them"
        )


def refuse_flags(vocabulary: Vocabulary, target: str) -> None:
    """Raise ConversionError for an added token with a flag that `target` cannot hold."""
    for token in vocabulary.added_tokens:
        if flags := [flag for flag in ("lstrip", "rstrip", "single_word") if getattr(token, flag)]:
            raise ConversionError(
                f"the added token {token.content!r} has {', '.join(flags)}, which {target} cannot represent. Write tokenizer.json instead."
            )


def tokens_and_merges(
    vocabulary: Vocabulary, target: str, whole_pretokens: bool
) -> tuple[list[bytes | None], list[list[int]], list[str]]:
    """The tokens by id that a format of tokens and merges can hold, the merges, and notes on what was left out.

    whole_pretokens: whether the format has the rule that a pretoken which is a token becomes that token. Without it, a token
    that only this rule makes is a ConversionError.
    """
    if vocabulary.library is not None or (vocabulary.alphabet != "bytes" and not whole_pretokens):
        raise ConversionError(
            f"{target} begins with bytes, and this vocabulary with characters. Write tokenizer.json instead."
        )
    notes: list[str] = []
    tokens = list(vocabulary.tokens)
    only_so = None
    if vocabulary.order in ("merges", "scores"):
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
    apart = {*vocabulary.byte_tokens}
    last = {token: id for id, token in enumerate(tokens) if id not in apart}
    made = {new for _, _, new in rows}
    for id, token in enumerate(tokens):
        if token is not None and id not in apart and last[token] != id:
            if id in made or vocabulary.whole_pretokens:
                two_ids = f"{token!r} has two ids, {id} and {last[token]}"
                raise ConversionError(f"{two_ids}, and {target} can represent only one for each token")
            tokens[id] = None
            notes.append(f"the id {id}, which is never given out, is left out: {token!r} has the id {last[token]}")
    return tokens, rows, notes
