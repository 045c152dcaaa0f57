"""Plain text: a document is a file, a line, a run of lines between blank ones, or the text between separators.

UTF-8 is the only encoding that is read as it is; text with a byte order mark of UTF-16 or UTF-32 is turned into UTF-8.
A document that is not UTF-8, or whose end cannot be read, is damaged: an error, or left out whole.
"""

from __future__ import annotations

from array import array

from ..errors import InputError
from ._cut_cy import Cutter, count_byte
from .blocks import Binary, Block, Cut, ReadOptions, Span, StreamSource, too_long
from .find import Skip, Source, can_read_again
from .remote import RemoteError
from .streams import Pause


class FileSource(StreamSource):
    """A file that is one document. With `cut` it is read in several blocks, and may be divided into spans.

    whole: whether to read the file once before, so that no block of a damaged file is returned. A pipe is one block.
    cut: called as cut(buffer, 0, length), returns an offset where the text may be cut whatever follows, or 0. Without
        `cut` the document is one block, and is skipped if it is longer than the limit.
    """

    def __init__(
        self,
        source: Source,
        options: ReadOptions,
        span: Span | None = None,
        binary: Binary | None = None,
        cut: Cut | None = None,
        whole: bool = False,
    ) -> None:
        super().__init__(source, options, span, binary)
        self._whole = whole and cut is not None and can_read_again(source)
        self._cut = None if whole and not self._whole else cut

    def _damage(self) -> str:
        """Return why the whole file cannot be read; "" if it can."""
        reading, block = FileSource(self.source, self._options, cut=self._cut), Block()
        reading.utf8 = self.utf8
        while reading.draw(block):
            block.finish()
            if block.skips:
                reading.close()
                return block.skips[0].reason
        return ""

    def _fill(self, block: Block) -> None:
        if self._whole and (reason := self._damage()):
            block.skips.append(Skip(self.name, "", reason))
            self.done = True
            return
        self._whole = False
        block.start = self._position()
        limit = self._options.max_document_bytes
        end = length = 0
        while not end and not self.done:
            try:
                length, self.done = self._read_on(block)
            except InputError as error:  # the blocks before the damage were returned, so the last one is too
                if self._cut is None or isinstance(error, RemoteError):
                    raise
                length, self.done = len(self._rest), True
                block.skips.append(Skip(self.name, "", str(error).removeprefix(f"{self.name}: ")))
            if self._cut is None and limit is not None and length > limit:
                reason = f"{too_long(limit)}, or unit (--unit) divides the file into documents"
                block.skips.append(Skip(self.name, "", reason))
                self.done = True
                return
            if self.done:
                end = length
            elif self._cut is not None:
                end = self._cut(block.buffer, 0, length)
            self._rest = bytes(memoryview(block.buffer)[end:length])
        block.data, block.ends = block.buffer, array("Q", [end])
        block.goes_on = not self.done
        self.resume_at = [self._position()]


class CutSource(StreamSource):
    """A text file of many documents, cut by a kernel. `resume_at` is [offset, number of the next document]."""

    _tag_size = 0  # bytes of a document's tag, which is the separator of the cutter

    def __init__(
        self, source: Source, options: ReadOptions, span: Span | None = None, binary: Binary | None = None
    ) -> None:
        super().__init__(source, options, span, binary)
        limit = -1 if options.max_document_bytes is None else options.max_document_bytes
        lines = options.unit != "separator"
        self._mark = b"\n" if lines else options.separator.encode()
        self._cut = lambda buffer, start, length: buffer.find(b"\n", start, length) + 1
        self._cutter = Cutter(self._mark, limit, options.unit == "blank", self.format == "jsonl", lines)
        self.resume_at = [0, self._cutter.number]
        self.label = "line #" if lines else "byte #"

    def _open(self, pause: Pause) -> None:
        super()._open(pause)
        self._cutter.number = self.resume_at[1]
        if self._span_start:
            self.label += f" after byte {self._span_start:,}"

    def _fill(self, block: Block) -> None:
        cutter, n = self._cutter, 0
        block.label = self.label
        while not n and not self.done:
            length, self.done = self._read_on(block)
            room = count_byte(block.buffer, length, self._mark[0]) + 1
            ends, numbers = array("Q", bytes(8 * room)), array("Q", bytes(8 * room))
            n, used = cutter.cut(block.buffer, length, self.done, ends, numbers)
            self._rest = bytes(memoryview(block.buffer)[used:length])
        del ends[n:], numbers[n:]
        block.data, block.ends, block.numbers = block.buffer, ends, numbers
        for number in cutter.too_long:
            block.skip(number - self._tag_size, too_long(self._options.max_document_bytes))
        cutter.too_long.clear()
        self.resume_at = [self._position(), cutter.number]
