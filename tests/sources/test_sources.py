"""Finding sources, and opening them whatever they are compressed with, damaged or not."""

import bz2
import gzip
import lzma
import os
import random
import shutil
import subprocess
import sys

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from tokenmill.corpus import read_documents
from tokenmill.errors import InputError, MissingExtraError, UsageError
from tokenmill.sources import decompress
from tokenmill.sources.find import find_sources
from tokenmill.sources.streams import ByteStream

SWEEP = int(os.environ.get("TOKENMILL_SWEEP", "1"))
COMPRESS = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}
PLAIN = b"".join(b"line %d, %d\n" % (i, i * i * 7919 % 104_729) for i in range(30_000))


def drain(stream):
    """All the bytes that can be read, and the error that ended it."""
    got = bytearray()
    try:
        with stream:
            while data := stream.read(1 << 16):
                got += data
    except InputError as error:
        return bytes(got), error
    return bytes(got), None


@pytest.mark.parametrize("suffix", COMPRESS)
def test_every_compression_gives_the_same_bytes(tmp_path, suffix):
    file = tmp_path / f"a.txt{suffix}"
    file.write_bytes(COMPRESS[suffix](PLAIN))
    with ByteStream(file) as stream:
        assert stream.read(len(PLAIN) + 1) == PLAIN
        assert stream.stored_position() == file.stat().st_size


@pytest.mark.parametrize("suffix", [s for s in COMPRESS if s])
def test_parts_compressed_one_by_one_are_one_stream(tmp_path, suffix):
    file = tmp_path / f"a.txt{suffix}"
    file.write_bytes(b"".join(COMPRESS[suffix](PLAIN[i : i + 99_999]) for i in range(0, len(PLAIN), 99_999)))
    assert drain(ByteStream(file)) == (PLAIN, None)


@pytest.mark.parametrize("suffix", [s for s in COMPRESS if s])
@pytest.mark.parametrize("threads_from", [0, 1 << 40])
def test_a_file_that_was_cut_off_gives_what_it_has_and_one_error(tmp_path, suffix, threads_from, monkeypatch):
    monkeypatch.setattr(decompress, "THREADS_FROM", threads_from)
    whole = COMPRESS[suffix](PLAIN)
    rng = random.Random(0)
    file = tmp_path / f"a.txt{suffix}"
    for size in [len(whole) - 1, len(whole) - 5, 3, *(rng.randrange(10, len(whole)) for _ in range(6 * SWEEP))]:
        file.write_bytes(whole[:size])
        got, error = drain(ByteStream(file))
        assert PLAIN.startswith(got)
        assert error is not None, f"{size} bytes of {len(whole)}"
        assert str(file) in str(error)
        assert f"after {len(got):,} bytes" in str(error)


def test_damage_inside_a_bz2_is_found_at_the_same_place_by_one_core_and_by_many(tmp_path, monkeypatch):
    whole = bytearray(bz2.compress(os.urandom(1_500_000) + PLAIN))
    whole[len(whole) * 3 // 4] ^= 0xFF
    file = tmp_path / "a.bz2"
    file.write_bytes(whole)
    monkeypatch.setattr(decompress, "THREADS_FROM", 1 << 40)
    serial, serial_error = drain(ByteStream(file))
    monkeypatch.setattr(decompress, "THREADS_FROM", 0)
    monkeypatch.setattr(decompress, "available_cores", lambda: 2)
    parallel, parallel_error = drain(ByteStream(file))
    assert len(serial) > 500_000
    assert serial == parallel
    assert str(serial_error) == str(parallel_error)


def in_parts(suffix):
    """A file of many frames, members or blocks, in the ways that other programs write them."""
    pieces = [PLAIN[i : i + 40_000] for i in range(0, len(PLAIN), 40_000)]
    if suffix == ".xz":
        return packed_by_xz(PLAIN) or b"".join(map(lzma.compress, pieces))
    if suffix != ".zst":
        return b"".join(map(COMPRESS[suffix], [pieces[0], b"", *pieces[1:]]))
    ways = (
        zstandard.ZstdCompressor(write_checksum=True).compress,
        lambda data: (
            (made := zstandard.ZstdCompressor().compressobj()).compress(data) + made.flush()
        ),  # without its size
        lambda data: b"\x53\x2a\x4d\x18\x04\0\0\0skip" + zstandard.compress(data),  # as pzstd
    )
    return b"".join(ways[i % 3](data) for i, data in enumerate([*pieces, bytes(300_000), b""]))


def packed_by_xz(data):
    """Blocks of one stream, as `xz -T2` writes them; None where the program is not installed."""
    if not shutil.which("xz"):
        return None
    return subprocess.run(["xz", "-T2", "--block-size=50000"], input=data, capture_output=True, check=True).stdout


@pytest.mark.parametrize("suffix", [s for s in COMPRESS if s])
def test_parts_written_by_other_programs_are_one_stream(tmp_path, suffix):
    file = tmp_path / f"a.txt{suffix}"
    file.write_bytes(in_parts(suffix) + bytes(999))
    plain, error = drain(ByteStream(file))
    assert plain.startswith(PLAIN) and not plain[len(PLAIN) :].strip(b"\0")
    assert error is None


def test_threads_change_no_byte_and_no_message_of_a_bz2(tmp_path, monkeypatch):
    whole, rng = in_parts(".bz2"), random.Random(4)
    changed = [whole, bz2.compress(PLAIN), whole + bytes(999), whole + b"garbage", whole + whole[:7], whole + whole]
    for _ in range(5 * SWEEP):
        at = rng.randrange(len(whole))
        changed += [whole[:at], whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(8)]) + whole[at + 1 :]]
    monkeypatch.setattr(decompress, "available_cores", lambda: 2)
    for n, data in enumerate(changed):
        file = tmp_path / "a.txt.bz2"
        file.write_bytes(data)
        results = []
        for threads_from in (1 << 40, 0):
            monkeypatch.setattr(decompress, "THREADS_FROM", threads_from)
            results.append(drain(ByteStream(file)))
        assert results[0][1] is None or n > 1
        assert results[0][0] == results[1][0]
        assert str(results[0][1]) == str(results[1][1])


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_a_program_that_leaves_a_compressed_file_open_ends(tmp_path, suffix):
    file = tmp_path / f"a.txt{suffix}"
    file.write_bytes(COMPRESS[suffix](os.urandom(1_100_000)))
    code = "import sys; from tokenmill.sources.streams import ByteStream; s = ByteStream(sys.argv[1]); print(len(s.read(9)))"
    done = subprocess.run([sys.executable, "-c", code, file], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "9\n", "")


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda path: os.truncate(path, 100_000), "changed while it was read, from [0-9,]+ to 100,000 bytes"),
        (lambda path: path.open("ab").write(b"more\n"), "changed while it was read, from [0-9,]+ to [0-9,]+ bytes"),
        (lambda path: path.write_bytes(path.read_bytes()[::-1]), "changed while it was read. Wait"),
    ],
)
def test_a_file_that_is_written_to_while_it_is_read_is_damaged(tmp_path, suffix, change, problem):
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(COMPRESS.get(suffix, bytes)(random.Random(1).randbytes(1_000_000)))
    os.utime(path, (1, 1))
    with ByteStream(path) as stream:
        assert len(stream.read(10)) == 10
        change(path)
        with pytest.raises(InputError, match=rf"a.txt{suffix}: {problem}"):
            while stream.read(1 << 16):
                pass


def test_a_parquet_file_that_is_written_to_while_it_is_read_is_damaged(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["a"] * 3}), path, row_group_size=1)
    documents = read_documents(path)
    assert next(documents).text == "a"
    os.utime(path, (1, 1))
    with pytest.raises(InputError, match=r"a.parquet: changed while it was read"):
        list(documents)


def test_another_file_that_takes_the_name_of_one_that_is_read_is_not_read(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"old\n" * 100_000)
    (tmp_path / "new.txt").write_bytes(b"new\n" * 200_000)
    with ByteStream(tmp_path / "a.txt") as stream:
        assert stream.read(4) == b"old\n"
        os.replace(tmp_path / "new.txt", tmp_path / "a.txt")
        assert stream.read(1 << 20) == b"old\n" * 99_999


def test_a_7z_archive_is_refused_with_what_to_do(tmp_path):
    (tmp_path / "Posts.7z").write_bytes(b"7z\xbc\xaf\x27\x1c")
    with pytest.raises(InputError, match="a 7z archive"):
        ByteStream(tmp_path / "Posts.7z")


def test_files_folders_and_globs_in_order(tmp_path):
    for name in ("b.txt", "a.txt", "sub/c.txt", "sub/.hidden", ".git/d.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    names = [p.relative_to(tmp_path).as_posix() for p in find_sources(tmp_path)]
    assert names == ["a.txt", "b.txt", "sub/c.txt"]
    assert find_sources([tmp_path / "b.txt", f"{tmp_path}/a*"]) == [tmp_path / "b.txt", tmp_path / "a.txt"]
    assert find_sources(f"{tmp_path}/**/*.txt")[-1] == tmp_path / "sub" / "c.txt"


def test_a_broken_link_in_a_folder_is_told(tmp_path):
    """Its text may be what somebody wants to train on."""
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "b.txt").symlink_to("a.txt")
    (tmp_path / "c.txt").symlink_to("gone")
    with pytest.raises(
        InputError, match=r"c.txt: a link to a file that does not exist. To leave it out, pass skip_dama"
    ):
        find_sources(tmp_path)
    skips = []
    assert find_sources(tmp_path, skips.append) == [tmp_path / "a.txt", tmp_path / "b.txt"]
    assert [str(skip) for skip in skips] == [f"{tmp_path / 'c.txt'}: a link to a file that does not exist"]


def test_what_is_not_there_is_told(tmp_path):
    (tmp_path / "empty").mkdir()
    for source, why in (
        (tmp_path / "no", "no such file"),
        (f"{tmp_path}/*.x", "no file matches"),
        (tmp_path / "empty", "no files"),
    ):
        with pytest.raises(InputError, match=why):
            find_sources(source)
    with pytest.raises(InputError, match="no sources"):
        find_sources([])
    for source in ("", ["", tmp_path]):
        with pytest.raises(UsageError, match="the name of a source is empty"):
            find_sources(source)


def test_urls_through_fsspec():
    memory = fsspec.filesystem("memory")
    memory.pipe(
        {
            "/c/a.txt": b"one\n",
            "/c/b.txt.zst": COMPRESS[".zst"](b"two\n"),
            "/c/d/e.txt.bz2": COMPRESS[".bz2"](b"three\n"),
        }
    )
    try:
        assert find_sources("memory://c/*.txt") == ["memory:///c/a.txt"]
        assert [d.text for d in read_documents("memory://c", unit="line")] == ["one", "two", "three"]
        assert [(d.text, d.source) for d in read_documents("memory://c/a.txt")] == [("one\n", "memory:///c/a.txt")]
        with pytest.raises(InputError, match="no such file"):
            find_sources("memory://c/none")
    finally:
        memory.rm("/c", recursive=True)


def test_urls_nobody_can_open():
    with pytest.raises(UsageError, match="nonsense"):
        find_sources("nonsense://x/y")
    pytest.importorskip("huggingface_hub")  # hf:// is known, so only the network would be missing
    try:
        import s3fs  # noqa: F401
    except ImportError:
        with pytest.raises(MissingExtraError, match="s3fs"):
            find_sources("s3://bucket/key")


PERMISSION = """
import os, sys
from tokenmill.corpus import read_documents
from tokenmill.errors import InputError
os.setgroups([]); os.setgid(65534); os.setuid(65534)
skipped = []
print([d.text for d in read_documents(sys.argv[1], on_skip=skipped.append)])
print(sorted(str(s).replace(sys.argv[1], "") for s in skipped))
try:
    list(read_documents(sys.argv[1]))
except InputError as error:
    print(str(error).replace(sys.argv[1], ""))
"""


def test_folders_and_files_without_permission(tmp_path):
    if os.getuid():
        pytest.skip("only root can become somebody else")
    folder = tmp_path / "c"
    for name in ("a/x.txt", "b/y.txt", "z.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    (folder / "a").chmod(0)
    (folder / "z.txt").chmod(0)
    for path in (folder, *list(tmp_path.parents)[:3], tmp_path):
        path.chmod(0o755)
    run = subprocess.run([sys.executable, "-c", PERMISSION, str(folder)], capture_output=True, text=True)
    (folder / "a").chmod(0o755)
    assert run.stdout.splitlines() == [
        "['b/y.txt']",
        "['/a: the folder cannot be read: Permission denied', '/z.txt: cannot be read: Permission denied']",
        "/a: the folder cannot be read: Permission denied. To leave it out, pass skip_damaged=True.",
    ], run.stderr
