"""Give a vocabulary more tokens: `extend` under new ids, `replace` under those of tokens that a text uses least.

Training continues from the vocabulary: the text is encoded with it, and the most frequent pair of adjacent tokens is
merged, again and again. A model keeps the rows of its embedding table and gets new rows after them.

A Picky tokenizer continues with Picky BPE: encoding replays its events over the text, and new events follow. A plain
tokenizer continues with Picky BPE if a threshold is given. Its merges become the first events, provided that replaying
them in order gives the same ids.

To replace, the tokens that the text uses least are removed, and training continues with their ids. New merges come after all
old ones, so a text in which none of them applies keeps its ids, unless it used a removed token. The merges decide the order,
not the ids, so a vocabulary of ranks becomes one of merges: tokenizer.json can hold it, a .tiktoken file cannot.

A token that other tokens are merged from is removed only after them. A Picky vocabulary makes removed tokens on the way to
others, so there any token can be removed: its removal follows the other events.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
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
from .metrics import Usage, measure_usage, one_pretoken, ordinary_tokens, ratio, segment
from .pruning import Changed, in_event_order, lasting_tokens
from .replay import ENOUGH, events_of, parts_by_token
from .tables import Column, Table


@dataclass(frozen=True, kw_only=True)
class _Options(MergeOptions):
    text: Text = field(kw_only=False)
    vocab_size: int = field(kw_only=False)
    read: ReadOptions | None = None
    progress: Progress | bool | None = None


@takes_options(_Options)
def extend(tok: Tokenizer, given: _Options) -> Tokenizer:
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
    if given.refine is not None and tok.vocabulary.order != "events":
        tok = in_event_order(tok, "Leave out ", OptionName("refine", ...), " to extend it with plain BPE.")
    options = {name: getattr(given, name) for name in fields_of(MergeOptions)}
    options["special_tokens"] = checked_special_tokens(given.special_tokens)
    special = (*tok.vocabulary.special_tokens, *options["special_tokens"])
    checked_options(tok.vocabulary, given.vocab_size, **options)  # raises before the text is counted
    with drawn(given.progress) as show:
        counts = EvaluationText(given.text, given.num_threads, given.read, special).together(tok, show)
        counts = counts.cut_out((token.encode() for token in special), least=scaled(given.min_count, counts.scale))
        larger = _continued(tok, counts, given.vocab_size, show, **options)
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
    number: how many tokens to replace; by default as many as the table "worth_replacing" of `inspect` estimates.
    keep: more text, whose tokens are counted as used too. New tokens are trained on `text` only.
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
    read = read or ReadOptions()
    with drawn(progress) as show:
        counts = EvaluationText.of(text, num_threads, read).together(tok, show)
        usage = measure_usage(tok, counts, progress=show)
        uses = usage.by_id
        if keep is not None:
            others = EvaluationText(keep, num_threads, read).together(tok, show)
            uses = uses + measure_usage(tok, others, progress=show).by_id
        wanted = worth_replacing(tok, usage, uses)[0] if number is None else number
        going = [id for id, _ in islice(least_used(tok, uses), wanted)]
        if len(going) < (number or 0):
            raise UsageError(f"only {plural(len(going), 'token')} can be replaced, not {number:,}")
        return _with_new(tok, sorted(going), counts, show)


def least_used(tok: Tokenizer, uses: np.ndarray) -> Iterator[tuple[int, int]]:
    """The tokens in the order in which they can be removed, the least used first, each with its uses.

    uses: by id. Of equally used tokens, the one with the highest id is first. A token comes after those that are merged from
    it, and inherits their uses.
    """
    # Where events decide, a part can be made and removed again: nothing has to stay for it.
    parts = {} if tok.vocabulary.order == "events" else parts_by_token(tok.vocabulary)
    children = Counter(part for several in parts.values() for part in several)
    removable = ordinary_tokens(tok.vocabulary).keys() - lasting_tokens(tok.vocabulary)
    used = dict(enumerate(uses.tolist()))
    ready = [(used[id], -id) for id in removable if not children[id]]
    heapq.heapify(ready)
    while ready:
        times, negative = heapq.heappop(ready)
        yield -negative, times
        for part in parts.get(-negative, ()):
            used[part] += times
            children[part] -= 1
            if not children[part] and part in removable:
                heapq.heappush(ready, (used[part], -part))


def worth_replacing(tok: Tokenizer, usage: Usage, uses: np.ndarray) -> tuple[int, int, int]:
    """Estimate how many tokens are worth replacing on the text of `usage`: it uses them less often than new ones.

    Compares the least used tokens, by their `uses`, with the most frequent pairs of adjacent tokens, of ENOUGH occurrences
    or more. Pairs overlap, and merging one makes others, so this is an estimate.
    Returns the number of tokens, the most uses of one of them, and the fewest occurrences of as many pairs.
    """
    ids, lengths = usage.ids, usage.tokens_by_pretoken
    inside = np.ones(len(ids), bool)
    inside[np.cumsum(lengths)[lengths > 0] - 1] = False  # the last token of each pretoken begins no pair
    first = np.flatnonzero(inside)
    pairs, places = np.unique((ids[first].astype(np.uint64) << np.uint64(32)) | ids[first + 1], return_inverse=True)
    gains = np.zeros(len(pairs), np.uint64)
    np.add.at(gains, places, np.repeat(usage.counts, lengths)[first])
    tokens = used = least = 0
    for (_, times), gained in zip(least_used(tok, uses), np.sort(gains)[::-1].tolist(), strict=False):
        if gained <= times or gained < ENOUGH:
            break
        tokens, used, least = tokens + 1, max(used, times), gained
    return tokens, used, least


def worth_table(tok: Tokenizer, usage: Usage) -> Table:
    """Return the number of tokens that are worth replacing on the text of `usage`."""
    tokens, used, least = worth_replacing(tok, usage, usage.by_id)
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
    row = (tokens, ratio(tokens, len(ordinary_tokens(tok.vocabulary))), used, least)
    return Table("worth_replacing", "Tokens worth replacing on this text", columns, [row], note)


def _continued(tok: Tokenizer, counts: WordCounts, size: int, progress: Progress | None, **options: Any) -> Vocabulary:
    """The vocabulary of `tok`, trained further on `counts` to `size` ids."""
    ids, numbers = segment(tok, counts, progress)
    offsets = np.zeros(len(counts) + 1, np.uint64)
    np.cumsum(numbers, out=offsets[1:])
    return extend_vocabulary(counts, size, tok.vocabulary, ids, offsets, progress=progress, **options)


def _with_new(tok: Tokenizer, going: list[int], counts: WordCounts, progress: Progress | None) -> Changed:
    """`tok` with new tokens, trained on `counts`, under the ids `going`."""
    remaining = Tokenizer(_without(tok.vocabulary, going))
    first = remaining.vocabulary.n_vocab
    trained = _continued(remaining, counts, first + len(going), progress)

    old_ids = {tok.vocabulary.tokens[id]: id for id in going}
    spelt = dict(enumerate(trained.tokens[first : trained.n_vocab], first))
    places = {id: old_ids.pop(token) for id, token in spelt.items() if token in old_ids}  # back under their old ids
    free = iter(sorted(old_ids.values()))
    places |= {id: next(free) for id in spelt if id not in places}
    size = max(trained.n_vocab, tok.n_vocab, len(trained.tokens), len(tok.vocabulary.tokens))
    id_map = np.arange(size, dtype=np.int32)
    for id, place in places.items():
        id_map[id] = place
    for number, id in enumerate(sorted(trained.removed)):
        id_map[id] = tok.n_vocab + number
    better = renumber(trained, id_map)
    kept = np.arange(tok.n_vocab, dtype=np.int32)
    kept[going] = -1
    parts = one_pretoken(tok.vocabulary)
    rows = {place: parts.encode_bytes(spelt[id] or b"") for id, place in places.items()}
    dropped = int((kept < 0).sum())
    return Changed(Tokenizer(better, name=tok.name), kept, dropped, new_rows=dict(sorted(rows.items())))


def _without(vocabulary: Vocabulary, going: list[int]) -> Vocabulary:
    """The vocabulary without some of its tokens; all ids stay the same."""
    if vocabulary.order == "events":
        return with_removals(vocabulary, going)
    if vocabulary.order == "ranks":
        vocabulary = vocabulary.replace(order="merges", events=events_of(vocabulary))
    id_map = np.arange(max(len(vocabulary.tokens), vocabulary.n_vocab), dtype=np.int32)
    id_map[going] = -1
    return renumber(vocabulary, id_map)
