"""merges.ddtok and vocab.ddtok, the two files of ddtokens: fields between tabs, one merge or one token a line.

    merges.ddtok    LEFT<tab>RIGHT, the earliest merge first, after lines of comment that begin with "#"
    vocab.ddtok     ID<tab>TOKEN, the 256 bytes first, then one token for each merge

Tokens are printable ASCII; a backslash is written \\\\\\\\, a newline \\\\n, a tab \\\\t and every other byte \\\\xHH. ddtokens knows
one split pattern (here "ddtokens") and no special tokens. Two merges that give the same bytes have a line each in
vocab.ddtok; the last one is the token's id. A merge whose left token begins with "#" looks like a comment to ddtokens'
own reader, so it is written \\\\x23.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator

from ..errors import ConversionError
from ..vocabulary import AddedToken, Vocabulary
from .file_content import MAX_ID, decode_utf8, fail, lines_of, show
from .merges_txt import losses, tokens_and_merges

SPLIT = "ddtokens"
_TITLE = "# ddtokens merge rules"
_TOTAL = re.compile(r"^# total merges: (\d{1,9})\r?$", re.MULTILINE)
_NAMED = {"\\": 0x5C, "n": 0x0A, "t": 0x09, "r": 0x0D}
_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{2}|[\\ntr]|)")
_WRITTEN = [
    {0x5C: "\\\\", 0x0A: "\\n", 0x09: "\\t"}.get(byte, chr(byte) if 0x20 <= byte < 0x7F else f"\\x{byte:02x}")
    for byte in range(256)
]


def looks_like_ddtok(data: bytes) -> bool:
    """Return whether `data` begins like merges.ddtok or vocab.ddtok."""
    return re.match(rb"# ddtokens |\d+\t\\x00\r?\n", data) is not None


def parse_ddtok(
    vocab_data: bytes, merges_data: bytes, vocab_file: str, merges_file: str, added: Collection[AddedToken] = ()
) -> Vocabulary:
    """Return the vocabulary of vocab.ddtok and merges.ddtok, without a split pattern. FormatError names the line."""
    tokens: list[bytes | None] = []
    ids: dict[bytes, int] = {}
    for number, id_text, text in _fields(vocab_data, vocab_file, "an id, a tab and a token"):
        if not (id_text.isascii() and id_text.isdigit() and len(id_text) < 10 and int(id_text) <= MAX_ID):
            fail(vocab_file, f"line {number}", f"the id {show(id_text)} is not an integer from 0 to {MAX_ID}")
        id, token = int(id_text), _unescape(text, vocab_file, number)
        tokens += [None] * (id + 1 - len(tokens))
        if tokens[id] is not None:
            fail(vocab_file, f"line {number}", f"the id {id} of {show(token)} is that of {show(tokens[id])} already")
        tokens[id] = token
        ids[token] = id
    missing = {bytes([byte]) for byte in range(256)} - ids.keys()
    if missing:
        fail(vocab_file, "", f"{len(missing)} of the 256 bytes have no token, such as {min(missing)!r}")

    rows: list[tuple[int, int, int]] = []
    for number, *sides in _fields(merges_data, merges_file, "two tokens with a tab between"):
        left, right = (_unescape(side, merges_file, number) for side in sides)
        for token in (left, right, left + right):
            if token not in ids:
                fail(merges_file, f"line {number}", f"the token {show(token)} is not in {vocab_file}")
        rows.append((ids[left], ids[right], ids[left + right]))
    total = _TOTAL.search(decode_utf8(merges_data, merges_file))
    if total and int(total[1]) != len(rows):
        what = f"the header says {total[1]} merges, and the file has {len(rows)}: it is cut short or changed"
        fail(merges_file, "", what)
    n_merges = Counter(new for _, _, new in rows)
    for id, listed in enumerate(tokens):  # ddtokens assigns a token two ids if two merges make the same bytes
        if listed is not None and (last := ids[listed]) != id:
            n_merges[last] -= 1
            if n_merges[last] < 1:
                fail(vocab_file, "", f"the token {show(listed)} occurs twice, with the ids {id} and {last}")
    return Vocabulary(tuple(tokens), (), "merges", rows, tuple(added), whole_pretokens=False)


def _fields(data: bytes, file: str, expected: str) -> Iterator[tuple[int, str, str]]:
    """Yield the lines with their numbers, each cut at its tab. Comments and empty lines are left out."""
    for number, line in enumerate(lines_of(decode_utf8(data, file)), 1):
        if not line or (line.startswith("#") and "\t" not in line):
            continue
        first, _, second = line.partition("\t")
        if not first or not second or "\t" in second:
            fail(file, f"line {number}", f"expected {expected}, found {show(line)}")
        yield number, first, second


def _unescape(text: str, file: str, number: int) -> bytes:
    def byte(match: re.Match[str]) -> str:
        if not (code := match[1]):
            what = "has a backslash that begins none of \\\\, \\n, \\t, \\r and \\xHH"
            fail(file, f"line {number}", f"{show(text)} {what}")
        return chr(int(code[1:], 16) if code[0] == "x" else _NAMED[code])

    if not text.isascii():
        fail(file, f"line {number}", f"{show(text)} is not ASCII; other bytes are written \\xHH")
    return (_ESCAPE.sub(byte, text) if "\\" in text else text).encode("latin-1")


def ddtok_bytes(vocabulary: Vocabulary) -> tuple[bytes, bytes, list[str]]:
    """Return the contents of vocab.ddtok and merges.ddtok, and notes on losses."""
    tokens, rows, notes = tokens_and_merges(vocabulary, "merges.ddtok", whole_pretokens=False)
    texts = ["".join(map(_WRITTEN.__getitem__, token or b"")) for token in tokens]
    starts = {token: id for id, token in enumerate(tokens) if token is not None and len(token) == 1}
    first = [starts.get(bytes([byte]), -1) for byte in range(256)]
    if -1 in first:
        raise ConversionError(
            f"ddtokens has a token for each of the 256 bytes, and this vocabulary has none for 0x{first.index(-1):02x}"
        )
    others = [id for id, token in enumerate(tokens) if token is not None and len(token) > 1]
    vocab_lines = [f"{id}\t{texts[id]}" for id in first + others]
    merge_lines = [_TITLE, f"# total merges: {len(rows)}"]
    for left, right, _ in rows:
        start = "\\x23" + texts[left][1:] if texts[left].startswith("#") else texts[left]
        merge_lines.append(f"{start}\t{texts[right]}")
    return "\n".join([*vocab_lines, ""]).encode(), "\n".join([*merge_lines, ""]).encode(), notes + losses(vocabulary)
