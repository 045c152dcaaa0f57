"""Extend a vocabulary: more tokens, with every old id unchanged.

Training continues from the vocabulary: the text is encoded with it, and the most frequent pair of adjacent tokens is
merged, again and again. A model keeps the rows of its embedding table and gets new rows after them.

A Picky tokenizer continues with Picky BPE: encoding replays its events over the text, and new events follow. A plain
tokenizer continues with Picky BPE if a threshold is given. Its merges become the first events, provided that replaying
them in order gives the same ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..api import MergeOptions
from ..errors import OptionName, UsageError, suggests_options
from ..sources.blocks import ReadOptions
from ..tokenizer import Tokenizer
from ..training import extend_vocabulary
from ..vocabulary.validation import checked_special_tokens
from .evaluation_text import EvaluationText, Text
from .removals import in_event_order
from .usage import segment

if TYPE_CHECKING:
    from typing import Unpack


@suggests_options(*MergeOptions.__optional_keys__)
def extend(
    tok: Tokenizer,
    text: Text,
    vocab_size: int,
    *,
    read: ReadOptions | None = None,
    **options: Unpack[MergeOptions],
) -> Tokenizer:
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
    if options.get("refine") is not None and tok.vocabulary.order != "events":
        tok = in_event_order(tok, "Leave out ", OptionName("refine", ...), " to extend it with plain BPE.")
    progress = options.get("progress")
    options["special_tokens"] = checked_special_tokens(options.get("special_tokens", ()))
    special = (*tok.vocabulary.special_tokens, *options["special_tokens"])
    counts = EvaluationText(text, options.get("num_threads"), read, special).together(tok, progress)
    counts = counts.cut_out(token.encode() for token in special)
    ids, numbers = segment(tok, counts, progress)
    offsets = np.zeros(len(counts) + 1, np.uint64)
    np.cumsum(numbers, out=offsets[1:])
    return Tokenizer(extend_vocabulary(counts, vocab_size, tok.vocabulary, ids, offsets, **options), name=tok.name)
