"""The data that tokenizer.json, merges.txt and .ddtok share: tokens as a table of text -> id, and merges as pairs of texts."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Sequence
from functools import partial
from itertools import chain, repeat
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from ..errors import ConversionError
from ..vocabulary import AddedToken, Vocabulary
from ..vocabulary.vocabulary import packed_vocabulary
from .byte_alphabet import tokens_of_texts
from .file_content import MAX_ID, Json, place_tokens, show
from .rank_merges import merges_of_ranks, only_whole, ranks_of

if TYPE_CHECKING:
    import numpy as np

    from ._bpe_tables_cy import BpeTables


_BYTE_TEXTS = [f"<0x{byte:02X}>" for byte in range(256)]
_Table = tuple[list[bytes | None], dict[int, bytes]]  # tokens by id, and `decode_only` of Vocabulary


class ModelTable(NamedTuple):
    """The tokens and the merges of a model without the entries of added tokens, and what Vocabulary has beside them.

    vocabulary: makes the Vocabulary of these tokens and merges from its other fields. all_bytes: whether each byte has a token.
    """

    vocabulary: Callable[..., Vocabulary]
    all_bytes: bool
    byte_tokens: tuple[int | None, ...]
    decode_only: tuple[tuple[int, bytes], ...]


def packed_table(
    tables: BpeTables, mark: str | None, byte_fallback: bool, added: Collection[AddedToken]
) -> ModelTable | None:
    """The table of what the kernel read; None where that is wrong. mark: None where texts are in the byte alphabet."""
    byte_ids = _byte_ids(tables) if byte_fallback else ()
    contents, ids = {token.content.encode("utf-8", "replace") for token in added}, {token.id for token in added}
    decode_only = {id: text for id, text in tables.place(mark).items() if mark is not None or text not in contents}
    if byte_ids:
        tables.put_bytes(byte_ids)
    named = {token.id for token in added if len(token.content) > 1}
    finished = tables.finish([*decode_only], [id for id in byte_ids if id is not None], [*named])
    if finished is None:
        return None
    blob, sizes, events, all_bytes = finished
    kept = tuple((id, text) for id, text in decode_only.items() if id not in ids)
    return ModelTable(partial(packed_vocabulary, (blob, sizes), events), all_bytes, tuple(byte_ids), kept)


def listed_table(
    node: Json,
    sides: tuple[list[str], list[str]],
    bad: Callable[[int, str], NoReturn],
    mark: str | None,
    byte_fallback: bool,
    added: Collection[AddedToken],
) -> ModelTable:
    """The table of the vocabulary at `node`, and of merges, by their left and their right parts.

    bad(n, what): raises the error of the nth merge. mark: None where texts are in the byte alphabet.
    """
    vocab: dict[str, int] = node.expect(dict)
    if mark is None:
        table = _bytes_table(node, vocab, {token.content for token in added})
    else:
        table = _text_table(node, vocab, mark, byte_fallback)
    tokens, events, decode_only = _without_added(*table, added, _rows(*sides, vocab, bad))
    all_bytes = {*tokens} >= {bytes([byte]) for byte in range(256)}
    byte_tokens = tuple(_byte_ids(vocab)) if byte_fallback else ()
    return ModelTable(partial(Vocabulary, tokens, events=events), all_bytes, byte_tokens, decode_only)


def _byte_ids(vocab: dict[str, int] | BpeTables) -> list[int | None]:
    """The ids of the entries <0x00> to <0xFF>, which stand for bytes."""
    return [vocab.get(text) for text in _BYTE_TEXTS]


def _bytes_table(node: Json, vocab: dict[str, int], added: Collection[str]) -> _Table:
    """The tokens of `vocab`, which is at `node`, where it is written in the byte alphabet. `added`: the added tokens.

    No text gets an entry that is empty or has characters outside of the alphabet; it is decoded to its own text.
    """
    texts = list(vocab)
    found = tokens_of_texts(texts)
    apart = {n for n, token in enumerate(found) if not token}
    for n in apart:
        found[n] = None
    tokens = _placed(node, texts, found, vocab)
    decode_only = {vocab[texts[n]]: _utf8(texts[n], node) for n in apart if texts[n] not in added}
    return tokens, decode_only


def _text_table(node: Json, vocab: dict[str, int], mark: str, byte_fallback: bool) -> _Table:
    """The tokens of `vocab`, which is at `node`, where it is written as plain text with `mark` for a space.

    byte_fallback: whether the entries <0x00> to <0xFF> stand for bytes. No text gets an entry that has a space itself.
    """
    bytes_of = {text: byte for byte, text in enumerate(_BYTE_TEXTS) if byte_fallback and text in vocab}
    texts = [text for text in vocab if text not in bytes_of and not (mark and " " in text) and text]
    found: list[bytes | None] = [_utf8(text.replace(mark, " ") if mark else text, node) for text in texts]
    tokens = _placed(node, [*texts, *bytes_of], [*found, *[None] * len(bytes_of)], vocab)
    kept = {*texts, *bytes_of}
    decode_only = {id: _utf8(text, node) for text, id in vocab.items() if text not in kept and _is_id(id, text, node)}
    for text, byte in bytes_of.items():
        tokens[vocab[text]] = bytes([byte])
    return tokens, decode_only


def _placed(node: Json, texts: list[str], found: list[bytes | None], vocab: dict[str, int]) -> list[bytes | None]:
    ids = list(map(vocab.__getitem__, texts))
    return place_tokens(found, ids, node.file, lambda n: f"at {node.where}[{show(texts[n])}]")


def _is_id(id: object, text: str, node: Json) -> bool:
    if type(id) is not int or not 0 <= id <= MAX_ID:
        node.fail(f"the id {show(id)} of {show(text)} is not an integer from 0 to {MAX_ID}")
    return True


def _utf8(text: str, node: Json) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        node.fail(f"the token {show(text)} is not Unicode text: it contains a lone surrogate")


def sides_of_merges(node: Json) -> tuple[list[str], list[str]]:
    """The left and the right parts of the merges of a tokenizer.json, written "a b" or ["a", "b"]."""
    merges = node.expect(list)

    def bad(n: int, what: str) -> NoReturn:
        Json(merges[n], node.file, f"{node.where}[{n}]").fail(what)

    if merges and type(merges[0]) is str:
        return split_merges(merges, bad)
    all_pairs = set(map(type, merges)) <= {list} and set(map(len, merges)) <= {2}
    if not all_pairs or not set(map(type, chain.from_iterable(merges))) <= {str}:
        for n, merge in enumerate(merges):
            if type(merge) is not list or list(map(type, merge)) != [str, str]:
                bad(n, f"expected a pair of tokens, found {show(merge)}")
    return [left for left, _ in merges], [right for _, right in merges]


def split_merges(merges: Sequence[str], bad: Callable[[int, str], NoReturn]) -> tuple[list[str], list[str]]:
    """The left and the right parts of merges written "a b". bad(n, what): raises the error of the nth."""
    with contextlib.suppress(TypeError):  # not all are str
        sides = " ".join(merges).split(" ") if merges else []
        if "" not in sides and set(map(str.count, merges, repeat(" "))) <= {1}:
            return sides[::2], sides[1::2]
    for n, merge in enumerate(merges):
        if type(merge) is not str or merge.count(" ") != 1 or len(merge) < 3 or " " in (merge[0], merge[-1]):
            bad(n, f"expected two tokens with a space between, found {show(merge)}")
    raise AssertionError("no merge is wrong")


def _rows(
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


def _without_added(
    tokens: list[bytes | None], decode_only: dict[int, bytes], added: Collection[AddedToken], rows: np.ndarray
) -> tuple[tuple[bytes | None, ...], np.ndarray, tuple[tuple[int, bytes], ...]]:
    """The tokens, merges and `decode_only` of a Vocabulary, without the model's own entries for added tokens.

    Hugging Face never uses them, because it finds added tokens before it splits text. Here they would turn text into a
    control token that the caller did not allow. An entry that is a byte or a character, or that a merge makes, is an
    ordinary token too. Merges of tokens that no text gets are left out.
    """
    if decode_only:
        import numpy as np

        rows = rows[~np.isin(rows, [*decode_only]).any(axis=1)]
    made = set(rows[:, 2].tolist())
    for token in added:
        decode_only.pop(token.id, None)
        if (
            token.id < len(tokens)
            and token.id not in made
            and len(tokens[token.id] or b"") != 1
            and len(token.content) > 1
        ):
            tokens[token.id] = None
    while tokens and tokens[-1] is None:
        tokens.pop()
    return tuple(tokens), rows, tuple(sorted(decode_only.items()))


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
