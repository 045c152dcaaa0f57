"""The slow twin of formats/_bpe_tables_cy.py: the Vocabulary of a BPE model, made of a dictionary and lists."""

from __future__ import annotations

from functools import partial

import numpy as np

from tokenmill.formats.byte_alphabet import to_token
from tokenmill.formats.merges_txt import listed_tables
from tokenmill.vocabulary import Vocabulary


class NaiveTables(dict):
    """The ids by text. rows: the merges."""

    rows: np.ndarray

    def text_of(self, id):
        return next(text for text in self if self[text] == id)


def naive_tables(node, merges, bad) -> NaiveTables:
    listed_tables(node, merges, bad)  # raises the errors
    tables = NaiveTables(node.value)
    pairs = [merge.split(" ") if isinstance(merge, str) else merge for merge in merges]
    rows = {(tables[left], tables[right]): tables[left + right] for left, right in reversed(pairs)}
    tables.rows = np.array([(*pair, new) for pair, new in rows.items()][::-1], np.int32).reshape(-1, 3)
    return tables


def naive_vocabulary(vocab: NaiveTables, mark, byte_fallback, added):
    """As merges_txt.merged_vocabulary."""
    tokens: list[bytes | None] = [None] * (max(vocab.values(), default=-1) + 1)
    decode_only = {}
    byte_texts = [f"<0x{byte:02X}>" for byte in range(256)] if byte_fallback else []
    for text, id in vocab.items():
        if text in byte_texts:
            tokens[id] = bytes([byte_texts.index(text)])
        elif mark is None:
            tokens[id] = to_token(text) or None
            if tokens[id] is None and text not in {token.content for token in added}:
                decode_only[id] = text.encode()
        elif text and not (mark and " " in text):
            tokens[id] = (text.replace(mark, " ") if mark else text).encode()
        else:
            decode_only[id] = text.encode()
    rows = vocab.rows[~np.isin(vocab.rows, [*decode_only]).any(axis=1)]
    made = set(rows[:, 2].tolist())
    for token in added:
        decode_only.pop(token.id, None)
        ordinary = token.id in made or len(token.content) == 1 or vocab.get(token.content) != token.id
        if token.id < len(tokens) and not ordinary and len(tokens[token.id] or b"") != 1:
            tokens[token.id] = None
    while tokens and tokens[-1] is None:
        tokens.pop()
    fields = {"order": "merges", "added_tokens": added, "alphabet": "bytes" if mark is None else "characters"}
    fields |= {"byte_tokens": [vocab.get(text) for text in byte_texts]}
    fields |= {"decode_only": tuple(sorted(decode_only.items())), "events": rows}
    return partial(Vocabulary, tokens, **fields)
