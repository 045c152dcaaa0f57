"""Cut text to a number of tokens, without encoding more of it than that number takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import UsageError
from .offsets import token_sizes

if TYPE_CHECKING:
    from .tokenizer import Tokenizer

__all__ = ["split_at", "truncate"]


def truncate(tok: Tokenizer, text: str, max_tokens: int, allowed: frozenset[str]) -> str:
    """The longest beginning of `text` that ends with a token and takes at most `max_tokens` of them."""
    if max_tokens < 0:
        raise UsageError(f"max_tokens is {max_tokens}; give 0 or more")
    return _Cutter(tok, text, allowed).next_chunk(max_tokens)


def split_at(tok: Tokenizer, text: str, max_tokens: int, allowed: frozenset[str]) -> list[str]:
    """`text` in chunks, each the longest beginning of what is left."""
    if max_tokens < 1:
        raise UsageError(f"max_tokens is {max_tokens}; give 1 or more")
    cutter = _Cutter(tok, text, allowed)
    chunks = []
    while not cutter.done:
        chunk = cutter.next_chunk(max_tokens)
        if not chunk:
            raise UsageError(f"{cutter.next_unit()!r} alone takes more than {max_tokens} tokens; allow more")
        chunks.append(chunk)
    return chunks


class _Cutter:
    """Walks over the sections of a text; `section` and `at` (a byte of it) are where the next chunk begins."""

    def __init__(self, tok: Tokenizer, text: str, allowed: frozenset[str]):
        self.tok, self.allowed = tok, allowed
        self.sections = [(section.encode(), token) for section, token, _ in tok._sections(text, allowed)]
        self.section = self.at = 0

    @property
    def done(self) -> bool:
        return self.section == len(self.sections)

    def next_unit(self) -> str:
        """What cannot be cut: the next added token or character."""
        data, token = self.sections[self.section]
        return data.decode() if token else data[self.at :].decode()[0]

    def next_chunk(self, max_tokens: int) -> str:
        """The next chunk; "" if not even one character fits.

        A beginning of a text may take more tokens than the text had there: its last pretoken is cut short, and a
        character that is cut is left out. So what was found is counted, and fewer tokens tried until it fits.
        """
        for tokens in range(max_tokens, 0, -1):
            section, at = self._reach(tokens)
            chunk = self._between(section, at)
            if self.tok._count(chunk, self.allowed) <= max_tokens:
                self.section, self.at = section, at
                return chunk
        return ""

    def _between(self, section: int, at: int) -> str:
        """The text from here to byte `at` of `section`."""
        if section == self.section:
            return self.sections[section][0][self.at : at].decode() if at else ""
        parts = [self.sections[self.section][0][self.at :]]
        parts += [data for data, _ in self.sections[self.section + 1 : section]]
        parts += [self.sections[section][0][:at]] if at else []
        return b"".join(parts).decode()

    def _reach(self, tokens: int) -> tuple[int, int]:
        """How far from here `tokens` tokens take the text, back to the beginning of a character."""
        section, at = self.section, self.at
        while section < len(self.sections):
            data, token = self.sections[section]
            if token is not None:
                if tokens == 0:
                    break
                tokens -= 1
            else:
                used, end = self._reach_in(data, at, tokens)
                if end < len(data):
                    while end > at and 0x80 <= data[end] < 0xC0:
                        end -= 1
                    return section, end
                tokens -= used
            section, at = section + 1, 0
        return section, 0

    def _reach_in(self, data: bytes, at: int, tokens: int) -> tuple[int, int]:
        """The same within an ordinary section: tokens used, and the byte after the last one."""
        vocabulary = self.tok.vocabulary
        prefix = b" " if vocabulary.add_prefix_space and not data.startswith(b" ", at) else b""
        if prefix:
            data, at, cut = prefix + data[at:], 0, at - 1
        else:
            cut = 0
        used, start, ids = self.tok._encoder.reach(data, at, tokens)
        if ids:
            ids = ids[: tokens - used]
            start += sum(token_sizes(ids, data[start:], vocabulary)) if ids else 0
            used += len(ids)
        return used, max(start + cut, at)
