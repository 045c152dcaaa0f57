"""model.json of picky_bpe, the program of the Picky BPE paper.

    {"tokens": [{"id", "str", "special", "present", "left", "right", ...}, ...], "id2int": {"<id>": <id in text>, ...}, ...}

picky_bpe merges by id and cuts up removed tokens when all merges of a word are done, so here the removals follow all merges, the
latest token first. A word that is a token becomes that token at once. Words stand between spaces, lines are stripped.
"""

from __future__ import annotations

from ..vocabulary import AddedToken, Normalization, Vocabulary
from ..vocabulary.normalization import MARK
from .file_content import MAX_ID, Json
from .huggingface_sections import METASPACE_SPLIT
from .rank_merges import merges_by_rank

_UNKNOWN = "<UNK>"
_STEPS = (
    ("Strip", True, True),
    ("ReplaceRegex", r"[^\S\n]*\n[^\S\n]*", " "),
    ("Prepend", MARK),
    ("Replace", " ", MARK),
)


def parse_picky_json(root: Json) -> Vocabulary:
    """Return the vocabulary of a model.json. FormatError names the JSON path."""
    items = {item["id"].expect(int): item for item in root["tokens"]}
    ids = _ids(root, items)
    tokens: list[bytes | None] = [None] * len(ids)
    added, merges, removals = [], [], []
    for old in sorted(items):
        item, id = items[old], ids[old]
        text = item["str"].expect(str)
        if item["special"].expect(bool):
            added.append(AddedToken(text, id))
            continue
        tokens[id] = text.replace(MARK, " ").encode()
        if not item["left"].absent:
            sides = [item[side].expect(int) for side in ("left", "right")]
            if not ids.keys() >= set(sides):
                item.fail("a part of this token is not in the file")
            merges.append((ids[sides[0]], ids[sides[1]], id))
        if not item["present"].expect(bool):
            removals.append((id, -1, -1))
    unknown = next((token.id for token in added if token.content == _UNKNOWN), None)
    if unknown is None:
        root["tokens"].fail(f"has no token {_UNKNOWN}")
    encode = merges_by_rank(tokens, [list(row) for row in merges], characters=True)
    other = [word for id, _, _ in removals if (word := tokens[id] or b"").startswith(b" ") and encode(word) != [id]]
    notes = [
        f"{len(other)} removed words may get other ids than picky_bpe gives, such as {word.decode()!r}"
        for word in other[:1]
    ]
    return Vocabulary(
        tokens,
        (METASPACE_SPLIT,),
        "events",
        [*merges, *reversed(removals)],
        added,
        alphabet="characters",
        unknown=unknown,
        normalization=Normalization(_STEPS, False, MARK, "space"),
        notes=notes,
    )


def _ids(root: Json, items: dict[int, Json]) -> dict[int, int]:
    """Return the id in text of each token by its own id: that of the file if present, the next ones for removed tokens."""
    ids = {old: root["id2int"][str(old)].expect(int) for old, item in items.items() if item["present"].expect(bool)}
    if sorted(ids.values()) != [*range(len(ids))]:
        root["id2int"].fail(f"its ids are not 0 to {len(ids) - 1}, one for each present token")
    if len(items) > MAX_ID:
        root["tokens"].fail(f"contains {len(items)} tokens, more than {MAX_ID}")
    return ids | {old: id for id, old in enumerate(sorted(items.keys() - ids.keys()), len(ids))}
