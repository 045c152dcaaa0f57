"""Small files that say they are hundreds of megabytes: each reader's memory is bounded by plain bytes, whatever a file claims."""

import bz2
import gzip
import lzma
import struct
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

import tokenmill

MB = 1 << 20
BOUND = 300 * MB  # beside the imports: a window of 128 MiB and buffers; each of these files has 400 MiB or more

# Reads all documents of a file, or as many bytes as it has, and prints the growth of the peak of its memory.
READ = """
import resource, sys
import pyarrow.parquet, zstandard, lzma, bz2, rapidgzip
from tokenmill.sources import decompress
from tokenmill.sources.blocks import Block, ReadOptions
from tokenmill.sources.documents import open_source
path, unit, limit = sys.argv[1:]
decompress.THREADS_FROM = 0
options = ReadOptions(unit, max_document_bytes=int(limit))
source = open_source(path, options, cut=lambda buffer, start, end: end, binary="count")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
block, total = Block(), 0
while source.draw(block):
    block.finish()
    total += block.nbytes
print(total, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
print(*block.skips)
"""


def read(path, unit="file", limit=16 * MB):
    """The bytes that were read, the growth of the memory, and what was said at the end."""
    environment = {"PYTHONPATH": str(Path(tokenmill.__file__).parents[1]), "PATH": ""}
    command = [sys.executable, "-c", READ, str(path), unit, str(limit)]
    result = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, timeout=250)
    figures, _, said = result.stdout.partition("\n")
    return *map(int, figures.split()), said


SKIPPABLE = b"\x50\x2a\x4d\x18\x04\0\0\0skip"


def zst_frame(blocks):
    """A frame of 4 stored bytes for each block of 128 KiB of zeros, with a window of 128 KiB (RFC 8878, 3.1.1)."""
    header = b"\x28\xb5\x2f\xfd" + bytes([0, 7 << 3])
    block = struct.pack("<I", 1 << 17 << 3 | 1 << 1)[:3] + b"\0"
    return header + block * (blocks - 1) + bytes([block[0] | 1]) + block[1:]


BOMBS = {
    "one-frame.zst": lambda: zst_frame(3200),
    "many-frames.zst": lambda: SKIPPABLE + zst_frame(40) * 80,
    "frames-of-a-megabyte.zst": lambda: zstandard.compress(bytes(MB)) * 400,
    "empty-frames.zst": lambda: zstandard.compress(b"") * 200_000 + zst_frame(3200),
    "one-member.gz": lambda: gzip.compress(bytes(400 * MB), 1),
    "many-members.gz": lambda: gzip.compress(bytes(40 * MB), 1) * 10,
    "many-streams.bz2": lambda: bz2.compress(bytes(40 * MB), 9) * 10,
    "many-streams.xz": lambda: lzma.compress(bytes(40 * MB), preset=0) * 10,
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_compressed_file_of_400_megabytes(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(BOMBS[name]())
    nbytes, growth, said = read(path)
    assert nbytes >= 400 * MB
    assert growth < BOUND
    assert said == "\n"


def test_padding_of_a_xz_is_passed_over(tmp_path):
    path = tmp_path / "a.xz"
    path.write_bytes(lzma.compress(b"one\n") + bytes(100 * MB) + lzma.compress(b"two\n"))
    assert read(path)[::2] == (8, "\n")


def test_a_parquet_file_whose_rows_are_one_long_string(tmp_path):
    path = tmp_path / "a.parquet"
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 2000, pa.int32()), pa.array(["x" * MB]))
    pq.write_table(pa.table({"text": texts}), path, compression="zstd", store_schema=False)
    nbytes, growth, _ = read(path)
    assert nbytes == 2000 * MB
    assert growth < BOUND


def test_a_parquet_file_with_a_dictionary_of_400_megabytes(tmp_path):
    path = tmp_path / "a.parquet"
    texts = [f"{i}" + "x" * 2 * MB for i in range(200)]
    pq.write_table(pa.table({"text": texts}), path, compression="zstd", dictionary_pagesize_limit=2 << 30)
    nbytes, growth, said = read(path)
    assert nbytes == 0 and "a page of it takes 4" in said
    assert growth < BOUND


def test_a_parquet_file_with_a_page_of_400_megabytes_after_others(tmp_path):
    path = tmp_path / "a.parquet"
    table = pa.table({"text": pa.array(["small"] * 500 + ["x" * 400 * MB], pa.large_string())})
    pq.write_table(table, path, compression="zstd", use_dictionary=False, write_batch_size=100)
    nbytes, growth, said = read(path)
    assert nbytes == 0 and "a page of it takes 4" in said
    assert growth < BOUND


def test_a_parquet_file_of_many_pages_that_repeat_themselves(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["x" * 1000] * 300_000}), path, compression="zstd", use_dictionary=False)
    nbytes, growth, said = read(path)
    assert nbytes == 300_000_000 and said == "\n"
    assert growth < BOUND
