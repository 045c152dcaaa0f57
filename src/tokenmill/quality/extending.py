"""Add tokens to a vocabulary: `extend` under new ids, `replace` under the ids of the tokens that a text uses least.

Training continues from the vocabulary: the text is encoded with it, and the most frequent pair of adjacent tokens is
merged, again and again. A model keeps the rows of its embedding table and gets new rows after them.

A Picky tokenizer continues with Picky BPE: encoding replays its events over the text, and new events follow. A plain
tokenizer continues with Picky BPE if a threshold is given. Its merges become the first events, provided that replaying
them in order gives the same ids.

To replace, the tokens that the text uses least are removed, and training continues with their ids. New merges come after all
old ones, so a text in which none of them applies keeps its ids, unless it used a removed token. The merges decide the order,
not the ids, so a vocabulary of ranks becomes one of merges: tokenizer.json can hold it, a .tiktoken file cannot.

A token that other tokens are merged from is removed only after them. A Picky vocabulary can use removed tokens to build
others, so any of its tokens can be removed: the removal follows the other events.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

import numpy as np

from ..counting import WordCounts
from ..counting.weights import scaled
from ..errors import OptionName, UsageError, plural, suggests_options
from ..jobs.progress import Progress, drawn
from ..options import fields_of, takes_options
from ..sources.blocks import ReadOptions
from ..tokenizer import Tokenizer
from ..training import extend_vocabulary
from ..training.options import MergeOptions
from ..training.trainer import checked_options
from ..vocabulary import Vocabulary
from ..vocabulary.surgery import renumber, with_removals
from ..vocabulary.validation import checked_special_tokens
from .evaluation_text import EvaluationText, Text
from .pruning import Changed, in_event_order, lasting_tokens
from .replay import ENOUGH, events_of, parts_by_token
from .tables import Column, Table
from .usage import Usage, encode_pretokens, measure_usage, one_pretoken, ordinary_tokens, ratio


@dataclass(frozen=True, kw_only=True)
class _Options(MergeOptions):
    text: Text = field(kw_only=False)
    vocab_size: int = field(kw_only=False)
    read: ReadOptions | None = None
    progress: Progress | bool | None = None


@takes_options(_Options)
def extend(tok: Tokenizer, options: _Options) -> Tokenizer:
    """Train a tokenizer further on `text`: files, folders, globs, or word counts cut by its own split pattern.

    vocab_size: the number of ids of the result, old ones and special tokens included. New tokens follow the old ids, new
        special tokens come last. If the text runs out of pairs first, there are fewer.
    read: how text files are cut into documents, and which field or column contains the text.
    options: `special_tokens`, `min_count`, `min_pair_count`, `max_token_bytes`, `refine` and `num_threads`, as for `train`.
        Without `refine`, a Picky tokenizer continues with the threshold it was trained with, and a plain one stays plain.
        Tokens of `tok` are never removed. New tokens may be, and tokens that were removed from `tok` may come back under a
        new id.
    Raises UsageError for an alphabet of characters, and for a plain tokenizer whose merges are not a list of events.

    >>> larger = extend(tok, "medicine/*.txt", 40_000)
    >>> larger.n_vocab, larger.decode([300]) == tok.decode([300])
    (40000, True)
    """
    if tok.vocabulary.has_superwords:
        raise UsageError("a tokenizer with superwords of whole pretokens (BoundlessBPE) cannot be extended")
    if options.refine is not None and tok.vocabulary.order != "events":
        tok = in_event_order(tok, "Leave out ", OptionName("refine", ...), " to extend it with plain BPE.")
    training = {name: getattr(options, name) for name in fields_of(MergeOptions)}
    training["special_tokens"] = checked_special_tokens(options.special_tokens)
    special = (*tok.vocabulary.special_tokens, *training["special_tokens"])
    checked_options(tok.vocabulary, options.vocab_size, **training)  # raises before the text is counted
    with drawn(options.progress) as show:
        text = EvaluationText(options.text, options.num_threads, options.read, special)
        counts = text.merged_counts(tok, show)
        counts = counts.cut_out((token.encode() for token in special), least=scaled(options.min_count, counts.scale))
        larger = _trained_further(tok, counts, options.vocab_size, show, **training)
    return Tokenizer(larger, name=tok.name)


@suggests_options
def replace(
    tok: Tokenizer,
    text: Text | EvaluationText,
    *,
    number: int | None = None,
    keep: Text | None = None,
    read: ReadOptions | None = None,
    num_threads: int | None = None,
    progress: Progress | bool | None = None,
) -> Changed:
    """Replace the tokens that `text` uses least with tokens for this text. The vocabulary must be byte-level.

    text: files, folders, globs or word counts.
    number: the number of tokens to replace; by default that of the table "worth_replacing" of `inspect`.
    keep: more text, whose tokens count as used too. New tokens are trained on `text` only.
        Special tokens are cut out of both.
    read: how text files are cut into documents, and which field or column contains the text.
    If the text runs out of pairs, the last ids stay without a token. A replaced token can come back under its old id.

    >>> better = replace(tok, "src/**/*.py", number=2000)
    >>> better.tok.decode([310]) == tok.decode([310]), better.new_rows[99_871]
    (True, [1677, 2849])
    """
    if tok.vocabulary.alphabet != "bytes":
        raise UsageError("tokens of a vocabulary of characters cannot be replaced; only those of bytes can")
    lasting_tokens(tok.vocabulary)  # raises for what cannot lose tokens
    if number is not None and not (isinstance(number, (int, np.integer)) and number >= 1):
        raise UsageError(f"number is {number}; give how many tokens to replace, at least 1")
    with drawn(progress) as show:
        special = [token.encode() for token in tok.vocabulary.special_tokens]
        counts = EvaluationText.of(text, num_threads, read).merged_counts(tok, show).cut_out(special)
        usage = measure_usage(tok, counts, progress=show)
        uses = usage.by_id
        if keep is not None:
            others = EvaluationText(keep, num_threads, read).merged_counts(tok, show).cut_out(special)
            uses = uses + measure_usage(tok, others, progress=show).by_id
        wanted = worth_replacing(tok, usage, uses)[0] if number is None else number
        removed = [id for id, _ in islice(least_used(tok, uses), wanted)]
        if len(removed) < (number or 0):
            raise UsageError(f"only {plural(len(removed), 'token')} can be replaced, not {number:,}")
        return _replaced(tok, sorted(removed), counts, show)


def least_used(tok: Tokenizer, uses: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield the tokens in the order in which they can be removed, the least used first, each with its uses.

    uses: by id. Of equally used tokens, the one with the highest id is first. A token comes after those that are merged from
    it, and inherits their uses.
    """
    # Events can make a part and remove it again, so no part has to stay.
    parts = {} if tok.vocabulary.order == "events" else parts_by_token(tok.vocabulary)
    children = Counter(chain.from_iterable(parts.values()))
    removable = ordinary_tokens(tok.vocabulary).keys() - lasting_tokens(tok.vocabulary)
    uses_left = dict(enumerate(uses.tolist()))
    ready = [(uses_left[id], -id) for id in removable if not children[id]]
    heapq.heapify(ready)
    while ready:
        used, negative_id = heapq.heappop(ready)
        yield -negative_id, used
        for part in parts.get(-negative_id, ()):
            uses_left[part] += used
            children[part] -= 1
            if not children[part] and part in removable:
                heapq.heappush(ready, (uses_left[part], -part))


def worth_replacing(tok: Tokenizer, usage: Usage, uses: np.ndarray) -> tuple[int, int, int]:
    """Estimate how many tokens are worth replacing on the text of `usage`: it uses them less often than new ones.

    Compares the least used tokens, by their `uses`, with the most frequent pairs of adjacent tokens, of ENOUGH occurrences
    or more. Pairs overlap, and merging one makes others, so this is an estimate.
    Returns the number of tokens, the most uses of one of them, and the fewest occurrences of as many pairs.
    """
    ids, lengths = usage.ids, usage.tokens_by_pretoken
    begins_pair = np.ones(len(ids), bool)
    begins_pair[np.cumsum(lengths)[lengths > 0] - 1] = False  # the last token of each pretoken
    left = np.flatnonzero(begins_pair)
    pairs, pair_numbers = np.unique((ids[left].astype(np.uint64) << np.uint64(32)) | ids[left + 1], return_inverse=True)
    occurrences = np.zeros(len(pairs), np.uint64)
    np.add.at(occurrences, pair_numbers, np.repeat(usage.counts, lengths)[left])
    tokens = most_used = fewest = 0
    for (_, used), gained in zip(least_used(tok, uses), np.sort(occurrences)[::-1].tolist(), strict=False):
        if gained <= used or gained < ENOUGH:
            break
        tokens, most_used, fewest = tokens + 1, max(most_used, used), gained
    return tokens, most_used, fewest


def worth_table(tok: Tokenizer, usage: Usage) -> Table:
    """The number of tokens that are worth replacing on the text of `usage`."""
    tokens, most_used, fewest = worth_replacing(tok, usage, usage.by_id)
    columns = (
        Column("tokens", "count", "used less often than new ones would be"),
        Column("of the vocabulary", "share"),
        Column("used at most", "count", "the uses of the most used of them"),
        Column("a new one at least", "count", "occurrences of the least frequent of as many pairs of adjacent tokens"),
    )
    note = (
        f"Compares the least used tokens with the most frequent pairs of adjacent tokens, of {ENOUGH} occurrences or more. An "
        "estimate: merging one pair changes others. `tokenmill extend --reuse` gives their ids to new tokens; judge on all the text that a model must read."
    )
    row = (tokens, ratio(tokens, len(ordinary_tokens(tok.vocabulary))), most_used, fewest)
    return Table("worth_replacing", "Tokens worth replacing on this text", columns, [row], note)


def _trained_further(
    tok: Tokenizer, counts: WordCounts, size: int, progress: Progress | None, **options: Any
) -> Vocabulary:
    """Return the vocabulary of `tok`, trained on `counts` to `size` ids."""
    ids, lengths = encode_pretokens(tok, counts, progress)
    offsets = np.zeros(len(counts) + 1, np.uint64)
    np.cumsum(lengths, out=offsets[1:])
    return extend_vocabulary(counts, size, tok.vocabulary, ids, offsets, progress=progress, **options)


def _replaced(tok: Tokenizer, removed: list[int], counts: WordCounts, progress: Progress | None) -> Changed:
    """Return `tok` with new tokens, trained on `counts`, under the ids `removed`."""
    remaining = Tokenizer(_without(tok.vocabulary, removed))
    first = remaining.vocabulary.n_vocab
    trained = _trained_further(remaining, counts, first + len(removed), progress)

    old_ids = {tok.vocabulary.tokens[id]: id for id in removed}
    new_tokens = dict(enumerate(trained.tokens[first : trained.n_vocab], first))
    new_ids = {id: old_ids.pop(token) for id, token in new_tokens.items() if token in old_ids}  # the same token is back
    free_ids = iter(sorted(old_ids.values()))
    new_ids |= {id: next(free_ids) for id in new_tokens if id not in new_ids}
    size = max(trained.n_vocab, tok.n_vocab, len(trained.tokens), len(tok.vocabulary.tokens))
    renumbering = np.arange(size, dtype=np.int32)
    renumbering[[*new_ids]] = [*new_ids.values()]
    renumbering[sorted(trained.removed)] = range(tok.n_vocab, tok.n_vocab + len(trained.removed))
    better = renumber(trained, renumbering)
    id_map = np.arange(tok.n_vocab, dtype=np.int32)
    id_map[removed] = -1
    encode = one_pretoken(tok.vocabulary).encode_bytes
    rows = {new_id: encode(new_tokens[id] or b"") for id, new_id in new_ids.items()}
    dropped = int((id_map < 0).sum())
    return Changed(Tokenizer(better, name=tok.name), id_map, dropped, new_rows=dict(sorted(rows.items())))


def _without(vocabulary: Vocabulary, removed: list[int]) -> Vocabulary:
    """Return the vocabulary without the tokens `removed`; all ids stay the same."""
    if vocabulary.order == "events":
        return with_removals(vocabulary, removed)
    if vocabulary.order == "ranks":
        vocabulary = vocabulary.replace(order="merges", events=events_of(vocabulary))
    id_map = np.arange(max(len(vocabulary.tokens), vocabulary.n_vocab), dtype=np.int32)
    id_map[removed] = -1
    return renumber(vocabulary, id_map)
