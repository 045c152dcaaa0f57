"""One member of a .7z archive as a stream, in bounded memory.

py7zr reads the archive's header. The data are decompressed here, in steps: py7zr returns a member in chunks as large
as the memory allows (87 MB in one chunk were seen), which a small archive of zeros would turn into gigabytes.
StackExchange's archives are packed by bzip2; LZMA is what 7z packs by when nothing else is asked for.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Iterator
from typing import Any

from ..errors import InputError, require
from .decompress import MemberReader, PlainChunks, max_window

# The ids of the methods, as 7-Zip's own list has them. X86 is a filter that py7zr puts before LZMA2.
LZMA1, LZMA2, X86, BZIP2 = b"\x03\x01\x01", b"\x21", b"\x03\x03\x01\x03", b"\x04\x02\x02"


def open_member(archive: str, file: Any, member: str) -> PlainChunks:
    """The bytes of the member called `member` (any case, in any folder), or of the only member there is."""
    py7zr = require("py7zr", "corpus", f"reading {archive}")
    try:
        header = py7zr.SevenZipFile(file)
        members = [f for f in header.files if not f.is_directory and f.folder is not None]
        named = [f for f in members if f.filename.rsplit("/", 1)[-1].lower() == member.lower()]
        if not named and len(members) == 1:
            named = members
        if not named:
            names = ", ".join(f.filename for f in members[:5]) or "nothing"
            raise ValueError(f"no {member} in it, but {names}")
        return MemberOf7z(header, named[0], file)
    except NotImplementedError as error:
        raise InputError(
            f"{archive}: it is packed by a method other than bzip2 and LZMA. Unpack it (7z x {archive})."
        ) from error
    except Exception as error:  # py7zr lets many kinds of exceptions out where a header is damaged
        why = str(error) or type(error).__name__
        raise InputError(f"{archive}: cannot be read as a 7z archive: {why}. Fetch it again, or unpack it.") from error


class MemberOf7z(PlainChunks):
    """The bytes of one member, checked against its CRC at the end."""

    def __init__(self, archive: Any, member: Any, file: Any) -> None:
        streams = archive.header.main_streams
        folders = streams.unpackinfo.folders
        index = next(i for i, folder in enumerate(folders) if folder is member.folder)
        first = sum(len(folder.packed_indices) for folder in folders[:index])
        if len(member.folder.packed_indices) != 1:
            raise NotImplementedError
        decompressor = _decompressor(member.folder)
        file.seek(archive.afterheader + streams.packinfo.packpos + sum(streams.packinfo.packsizes[:first]))
        self._folder = MemberReader(file, lambda: decompressor, streams.packinfo.packsizes[first])
        before = sum(f.uncompressed for f in archive.files if f.folder is member.folder and f.id < member.id)
        self._chunks = self._cut_out(before, member.uncompressed, member.crc32)

    def stored_position(self) -> int:
        return self._folder.stored_position()

    def _cut_out(self, before: int, left: int, expected_crc: int | None) -> Iterator[bytes]:
        """The member that begins `before` bytes after the front of its solid folder."""
        crc = 0
        while left:
            data = next(self._folder)
            skipped, before = data[:before], max(0, before - len(data))
            if plain := data[len(skipped) : len(skipped) + left]:
                left -= len(plain)
                crc = zlib.crc32(plain, crc)
                if not left and expected_crc not in (None, crc):
                    raise ValueError("the checksum of the member is wrong")
                yield plain


def _decompressor(folder: Any) -> Any:
    """The decompressor of a folder."""
    methods = [bytes(coder["method"]) for coder in folder.coders]
    if methods == [BZIP2]:
        return bz2.BZ2Decompressor()
    if methods not in ([LZMA1], [LZMA2], [LZMA2, X86]):
        raise NotImplementedError
    kind, properties = lzma.FILTER_LZMA1 if methods == [LZMA1] else lzma.FILTER_LZMA2, folder.coders[0]["properties"]
    filters = [{"id": lzma.FILTER_X86}] if X86 in methods else []
    filters.append(lzma._decode_filter_properties(kind, properties))  # type: ignore[attr-defined]  # py7zr calls it too
    if filters[-1]["dict_size"] > max_window():
        raise ValueError(f"it needs {filters[-1]['dict_size']:,} bytes of memory, more than half of what is free")
    return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=filters)
