"""Extend a vocabulary: more tokens, with every old id unchanged.

Training continues from the vocabulary: the text is encoded with it, and the most frequent pair of adjacent tokens is
merged, again and again. A model keeps the rows of its embedding table and gets new rows after them.

A Picky tokenizer continues with Picky BPE: encoding replays its events over the text, and new events follow. A plain
tokenizer continues with Picky BPE if a threshold is given. Its merges become the first events, provided that replaying
them in order gives the same ids.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..errors import OptionName, UsageError
from ..jobs.progress import Progress
from ..options import fields_of, takes_options
from ..sources.blocks import ReadOptions
from ..tokenizer import Tokenizer
from ..training import extend_vocabulary
from ..training.options import MergeOptions
from ..vocabulary.validation import checked_special_tokens
from .evaluation_text import EvaluationText, Text
from .removals import in_event_order
from .usage import segment


@dataclass(frozen=True, kw_only=True)
class _Options(MergeOptions):
    text: Text = field(kw_only=False)
    vocab_size: int = field(kw_only=False)
    read: ReadOptions | None = None
    progress: Progress | None = None


@takes_options(_Options)
def extend(tok: Tokenizer, given: _Options) -> Tokenizer:
    """Train a tokenizer further on `text`: files, folders, globs, or word counts cut by its own split pattern.

    vocab_size: the number of ids of the result, old ones and special tokens included. New tokens follow the old ids, new
        special tokens come last. If the text runs out of pairs first, there are fewer.
    read: how text files are cut into documents, and which field or column holds the text.
    options: see MergeOptions. Without `refine`, a Picky tokenizer continues with the threshold it was trained with, and
        a plain one stays plain. Tokens of `tok` are never removed. New tokens may be, and tokens that were removed from
        `tok` may come back under a new id.
    Raises UsageError for an alphabet of characters, and for a plain tokenizer whose merges are not a list of events.

    >>> larger = extend(tok, "medicine/*.txt", 40_000)
    >>> larger.n_vocab, larger.decode([300]) == tok.decode([300])
    (40000, True)
    """
    if len(tok.vocabulary.superwords):
        raise UsageError("a tokenizer with superwords of whole pretokens (BoundlessBPE) cannot be extended")
    if given.refine is not None and tok.vocabulary.order != "events":
        tok = in_event_order(tok, "Leave out ", OptionName("refine", ...), " to extend it with plain BPE.")
    options = {name: getattr(given, name) for name in fields_of(MergeOptions)}
    options["special_tokens"] = checked_special_tokens(given.special_tokens)
    special = (*tok.vocabulary.special_tokens, *options["special_tokens"])
    counts = EvaluationText(given.text, given.num_threads, given.read, special).together(tok, given.progress)
    counts = counts.cut_out(token.encode() for token in special)
    ids, numbers = segment(tok, counts, given.progress)
    offsets = np.zeros(len(counts) + 1, np.uint64)
    np.cumsum(numbers, out=offsets[1:])
    options["progress"] = given.progress
    larger = extend_vocabulary(counts, given.vocab_size, tok.vocabulary, ids, offsets, **options)
    return Tokenizer(larger, name=tok.name)
