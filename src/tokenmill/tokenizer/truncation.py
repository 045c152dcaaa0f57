"""Cut text to a number of tokens, without encoding more of it than needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import UsageError
from .offsets import token_sizes

if TYPE_CHECKING:
    from .core import Core
    from .special import Plan


def truncate(core: Core, text: str, max_tokens: int, plan: Plan) -> str:
    """The longest prefix of `text` that ends with a token and takes at most `max_tokens` tokens."""
    if max_tokens < 0:
        raise UsageError(f"max_tokens is {max_tokens}; give 0 or more")
    return core.chunker(text, plan).next_chunk(max_tokens)


def split_at(core: Core, text: str, max_tokens: int, plan: Plan) -> list[str]:
    """`text` in chunks, each what `truncate` returns for the rest."""
    if max_tokens < 1:
        raise UsageError(f"max_tokens is {max_tokens}; give 1 or more")
    chunker = core.chunker(text, plan)
    chunks = []
    while not chunker.done:
        chunk = chunker.next_chunk(max_tokens)
        if not chunk:
            raise UsageError(f"{chunker.next_unit()!r} alone takes more than {max_tokens} tokens; allow more")
        chunks.append(chunk)
    return chunks


class Chunker:
    """Walks over the sections of a text. The next chunk begins at byte `at` of section number `section`."""

    def __init__(self, core: Core, text: str, plan: Plan):
        self.core, self.plan = core, plan
        sections = core.sections(text, plan.allowed)
        self.sections = [(section.encode(), token, prefix) for section, token, prefix in sections]
        self.section = self.at = 0

    @property
    def done(self) -> bool:
        return self.section == len(self.sections)

    def next_unit(self) -> str:
        """The next added token or character: what cannot be cut."""
        data, token, _ = self.sections[self.section]
        return data.decode() if token else data[self.at :].decode()[0]

    def next_chunk(self, max_tokens: int) -> str:
        """The next chunk; "" if not even one character fits.

        A prefix may take more tokens than the text had there, because its last pretoken is cut short. So each candidate
        is counted, and fewer tokens are tried until it fits.
        """
        for tokens in range(max_tokens, 0, -1):
            section, at = self._end_of(tokens)
            chunk = self._between(section, at)
            if self.core.count(chunk, self.plan) <= max_tokens:
                self.section, self.at = section, at
                return chunk
        return ""

    def _between(self, section: int, at: int) -> str:
        """The text from the current position to byte `at` of `section`."""
        if section == self.section:
            return self.sections[section][0][self.at : at].decode() if at else ""
        parts = [self.sections[self.section][0][self.at :]]
        parts += [data for data, _, _ in self.sections[self.section + 1 : section]]
        parts += [self.sections[section][0][:at]] if at else []
        return b"".join(parts).decode()

    def _end_of(self, tokens: int) -> tuple[int, int]:
        """The section and byte where the next `tokens` tokens end, moved back to the start of a character."""
        section, at = self.section, self.at
        while section < len(self.sections):
            data, token, _ = self.sections[section]
            if token is not None:
                if tokens == 0:
                    break
                tokens -= 1
            else:
                used, end = self._end_in_section(section, at, tokens)
                if end < len(data):
                    while end > at and 0x80 <= data[end] < 0xC0:
                        end -= 1
                    return section, end
                tokens -= used
            section, at = section + 1, 0
        return section, 0

    def _end_in_section(self, section: int, at: int, tokens: int) -> tuple[int, int]:
        """The same in one ordinary section: the tokens used, and the byte after the last one."""
        vocabulary = self.core.vocabulary
        data, _, prefix = self.sections[section]
        if (section, at) == (self.section, self.at):  # the chunk begins here, and is a text of its own
            rule, bare = vocabulary.add_prefix_space, not data.startswith(b" ", at)
            prefix = b" " if self.core.added.prepends or rule == "text" or (rule and bare) else b""
        if prefix:
            data, at, cut = prefix + data[at:], 0, at - 1
        else:
            cut = 0
        used, start, ids = self.core.encode_until(data, at, tokens)
        if ids:
            ids = ids[: tokens - used]
            start += sum(token_sizes(ids, data[start:], vocabulary)) if ids else 0
            used += len(ids)
        return used, max(start + cut, at)
