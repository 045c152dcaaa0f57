"""`Pipeline`: the parts of a tokenizer.json that split patterns and merges of bytes cannot express."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

BYTE_LEVEL = "ByteLevel"


@dataclass(frozen=True)
class Pipeline:
    """The steps of a tokenizer that plain Python runs: WordPiece, Unigram, and BPE behind an unusual pre-tokenizer.

    texts: each token by id as the file spells it: "##ing", "\u2581the", "Ġthe"; None for an id without one.
    model: the settings of the model, under the names of tokenizer.json: "type" is "BPE", "WordPiece", "WordLevel" or "Unigram".
    pre_tokenizer, decoder: these sections of tokenizer.json; None for none.
    scores: the score of each token by id, for Unigram.
    """

    texts: tuple[str | None, ...]
    model: Mapping[str, Any]
    pre_tokenizer: Mapping[str, Any] | None = None
    decoder: Mapping[str, Any] | None = None
    scores: tuple[float, ...] = ()

    @property
    def byte_level(self) -> bool:
        """Whether the pre-tokenizer writes the bytes of a text in GPT-2's byte alphabet."""
        return any(step["type"] == BYTE_LEVEL for step in steps_of(self.pre_tokenizer))

    @property
    def mark(self) -> str:
        """What the pre-tokenizer writes for a space: U+2581 in SentencePiece's files, "" where it keeps spaces."""
        marks = [step["replacement"] for step in steps_of(self.pre_tokenizer) if step["type"] == "Metaspace"]
        return marks[0] if marks else ""

    def digest_text(self) -> str:
        """Everything that decides ids and text, as one text."""
        parts = self.texts, dict(self.model), self.pre_tokenizer, self.decoder, self.scores
        return json.dumps(parts, sort_keys=True)


def steps_of(section: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    """The steps of a section of tokenizer.json in order, those of a Sequence one by one."""
    if section is None:
        return []
    if section["type"] != "Sequence":
        return [section]
    members = section.get("pretokenizers") or section.get("decoders") or ()
    return [step for member in members for step in steps_of(member)]
