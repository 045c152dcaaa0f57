"""One member of a .7z archive as a stream, in bounded memory.

py7zr reads the archive's header. The data are decompressed here, in steps: py7zr gives a member in chunks as large
as the memory allows (87 MB in one chunk were seen), which a small archive of zeros would turn into gigabytes. What is
packed by a rarer method goes through the 7z program, if that is installed.
"""

from __future__ import annotations

import bz2
import lzma
import os
import shutil
import struct
import subprocess
import zlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from ..errors import InputError, require
from .decompress import PLAIN_STEP, Chunks, Members, Zlib

PROGRAMS = ("7zz", "7z", "7za", "7zr")

# The ids of the methods, as 7-Zip's own list of them has them.
COPY, DELTA, LZMA2, LZMA1 = b"\x00", b"\x03", b"\x21", b"\x03\x01\x01"
X86, PPMD, DEFLATE, BZIP2 = b"\x03\x03\x01\x03", b"\x03\x04\x01", b"\x04\x01\x08", b"\x04\x02\x02"


def open_member(archive: str, file: Any, member: str) -> Chunks:
    """The bytes of the member called `member` (any case, in any folder), or of the only member there is."""
    py7zr = require("py7zr", "corpus", f"reading {archive}")
    try:
        header = py7zr.SevenZipFile(file)
        members = [f for f in header.files if not f.is_directory and f.folder is not None]
        found = [f for f in members if f.filename.rsplit("/", 1)[-1].lower() == member.lower()]
        if not found and len(members) == 1:
            found = members
        if not found:
            names = ", ".join(f.filename for f in members[:5]) or "nothing"
            raise ValueError(f"no {member} in it, but {names}")
        try:
            return _Member(header, found[0], file)
        except NotImplementedError as error:  # pyppmd, for one, crashes the process when its output is bounded
            program = next(filter(None, map(shutil.which, PROGRAMS)), None)
            if program and os.path.isfile(archive):
                return _Program(program, os.path.abspath(archive), found[0].filename)
            raise ValueError(
                f"it is packed by a method that only the 7z program reads ({error}): install that"
            ) from error
    except Exception as error:  # py7zr lets many kinds of exceptions out where a header is damaged
        why = str(error) or type(error).__name__
        raise InputError(f"{archive}: cannot be read as a 7z archive: {why}. Fetch it again, or unpack it.") from error


class _Member(Chunks):
    """The bytes of one member, checked against its CRC at the end."""

    def __init__(self, archive: Any, member: Any, file: Any) -> None:
        streams = archive.header.main_streams
        folders = streams.unpackinfo.folders
        index = next(i for i, folder in enumerate(folders) if folder is member.folder)
        first = sum(len(folder.packed_indices) for folder in folders[:index])
        if len(member.folder.packed_indices) != 1:
            raise NotImplementedError("BCJ2")
        decompressor = _decompressor(member.folder)
        file.seek(archive.afterheader + streams.packinfo.packpos + sum(streams.packinfo.packsizes[:first]))
        self._folder = Members(file, lambda: decompressor, streams.packinfo.packsizes[first])
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


class _Program(Chunks):
    """A member that the 7z program unpacks, for the methods that are not read here."""

    def __init__(self, program: str, archive: str, member: str) -> None:
        command = [program, "x", "-so", "-bd", "-y", "--", archive, member]
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
        self._chunks = self._unpack()

    def stored_position(self) -> int:
        return 0

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _unpack(self) -> Iterator[bytes]:
        assert self._process.stdout is not None and self._process.stderr is not None
        while data := self._process.stdout.read(PLAIN_STEP):
            yield data
        if self._process.wait():
            words = self._process.stderr.read(1000).decode(errors="replace").split()
            raise ValueError(f"7z ended with code {self._process.returncode}: {' '.join(words)}")


def _decompressor(folder: Any) -> Any:
    """The decompressor of a folder: one compression, perhaps with a delta or branch filter that liblzma knows."""
    methods = [bytes(coder["method"]) for coder in folder.coders]
    properties = [coder.get("properties") or b"" for coder in folder.coders]
    # The filter for x86 holds back its last bytes until the compression below says that it ends, which LZMA1 does not.
    if methods in ([LZMA1], [LZMA1, DELTA], [LZMA2], [LZMA2, DELTA], [LZMA2, X86]):
        filters = [_lzma_filter(m, p) for m, p in zip(methods, properties, strict=True)]
        return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=filters[::-1])
    if methods == [BZIP2]:
        return bz2.BZ2Decompressor()
    if methods == [DEFLATE]:
        return Zlib(-zlib.MAX_WBITS)
    if methods == [COPY]:
        return SimpleNamespace(eof=False, needs_input=True, decompress=lambda data, size: bytes(data))
    raise NotImplementedError(", ".join("PPMd" if m == PPMD else m.hex() for m in methods))


def _lzma_filter(method: bytes, properties: bytes) -> dict[str, int]:
    if method == X86:
        return {"id": lzma.FILTER_X86}
    if method == DELTA:
        return {"id": lzma.FILTER_DELTA, "dist": properties[0] + 1}
    if method == LZMA2:
        bits = properties[0]  # the dictionary's size as 7z and xz write it: 2 or 3, shifted
        return {"id": lzma.FILTER_LZMA2, "dict_size": min((2 | bits & 1) << (bits // 2 + 11), 2**32 - 1)}
    packed, size = struct.unpack("<BI", properties)
    return {"id": lzma.FILTER_LZMA1, "lc": packed % 9, "lp": packed // 9 % 5, "pb": packed // 45, "dict_size": size}
