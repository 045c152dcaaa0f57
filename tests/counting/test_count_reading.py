"""Sources: compressions and their damage, JSON lines, binary files, invalid UTF-8."""

import bz2
import gzip
import json
import lzma
import os
import random

import pytest
import zstandard

import tokenmill.sources.blocks as reading
from tokenmill.counting import CountOptions, count
from tokenmill.errors import InputError
from tokenmill.sources.blocks import ReadOptions

WORDS = r" [^ ]*|[^ ]+"
TEXT = b"".join(b"line %d of the text is here\n" % (i * 7919 % 100003) for i in range(20_000))

PACKERS = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}


def items(counts):
    return dict(counts.items())


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    path = tmp_path_factory.mktemp("plain") / "a.txt"
    path.write_bytes(TEXT)
    return items(count(path, split=WORDS))


@pytest.mark.parametrize("suffix", PACKERS)
def test_compressed_files_count_like_plain_ones(tmp_path, plain, suffix):
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(PACKERS[suffix](TEXT))
    seen = []
    counts = count(path, split=WORDS, progress=lambda *now: seen.append(now))
    assert items(counts) == plain
    assert counts.total_bytes == len(TEXT)
    assert seen[-1] == ("count", path.stat().st_size, path.stat().st_size)


@pytest.mark.parametrize("suffix", PACKERS)
def test_several_compressed_streams_in_one_file(tmp_path, plain, suffix):
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(b"".join(PACKERS[suffix](TEXT[i : i + 100_000]) for i in range(0, len(TEXT), 100_000)))
    assert items(count(path, split=WORDS)) == plain


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("keep", [0, 0.5, -1])
def test_a_file_that_was_cut_off_is_an_error(tmp_path, suffix, keep):
    path = tmp_path / f"cut.txt{suffix}"
    packed = PACKERS[suffix](TEXT)
    path.write_bytes(packed[: int(len(packed) * keep) if keep >= 0 else keep])
    with pytest.raises(
        InputError, match=r"cut\.txt.*: damaged or cut off after .* \((it ends in the middle|it is empty)"
    ):
        count(path, split=WORDS)


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_file_with_damage_inside_is_an_error(tmp_path, suffix):
    path = tmp_path / f"bad.txt{suffix}"
    packed = bytearray(PACKERS[suffix](TEXT))
    packed[len(packed) // 2 : len(packed) // 2 + 64] = b"\x55" * 64
    path.write_bytes(packed)
    with pytest.raises(InputError, match=r"bad\.txt.*: damaged or cut off after"):
        count(path, split=WORDS)


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_plain_file_under_a_compressed_name_is_an_error(tmp_path, suffix):
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(TEXT)
    with pytest.raises(InputError, match=r"a\.txt.*damaged"):
        count(path, split=WORDS)


def test_a_bomb_is_read_in_blocks(tmp_path):
    path = tmp_path / "bomb.txt.zst"
    path.write_bytes(zstandard.ZstdCompressor(level=19).compress(b" a" * 100_000_000))
    assert path.stat().st_size < 50_000
    assert items(count(path, split=WORDS)) == {b" a": 100_000_000}


def test_json_lines(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    texts = ["a b", "", "é\n漢", "\ud800 x", "line\u2028separator"]
    lines = [json.dumps({"id": i, "text": text}) for i, text in enumerate(texts)]
    path.write_bytes(gzip.compress(("\r\n".join(lines) + "\n\n  \n").encode()))
    counts = count(path, split=WORDS)
    expected = {
        b"a": 1,
        b" b": 1,
        "é\n漢".encode(): 1,
        "\ufffd".encode(): 1,
        b" x": 1,
        "line\u2028separator".encode(): 1,
    }
    assert items(counts) == expected
    assert counts.documents == 5


def test_json_lines_in_small_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "BLOCK", 100)
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(json.dumps({"content": "word " * i}) for i in range(60)))
    counts = count(path, split=WORDS, options=CountOptions(read=ReadOptions(field="content")), num_threads=3)
    assert counts.documents == 60
    assert counts.total_bytes == sum(5 * i for i in range(60))
    assert items(counts) == {b"word": 59, b" word": sum(range(59)), b" ": 59}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"line 3: not JSON"),
        ('"text"', r"line 3: JSON, but a string; expected an object with the field 'text'"),
        ('{"body": "x"}', r"line 3: the field 'text' is missing; the fields are 'body'"),
        ('{"text": 5}', r"line 3: the field 'text' is a number, not text"),
        ("\udcff", r"line 3: not UTF-8"),
        ("[" * 100_000, r"line 3: JSON that is nested too deeply"),
    ],
)
def test_a_bad_json_line_is_named(tmp_path, line, message):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "fine"}\n\n' + line + '\n{"text": "fine"}', errors="surrogateescape")
    with pytest.raises(InputError, match=message):
        count(path, split=WORDS)


def test_invalid_utf8_is_counted_as_bytes_where_binary_files_are(tmp_path):
    path = tmp_path / "latin1.txt"
    data = "un café à la crème ".encode("latin-1") * 10 + b"\xff \xed\xa0\x80 \xc3"
    path.write_bytes(data)
    counts = count(path, split=WORDS, options=CountOptions(binary="count"))
    assert sum(len(pretoken) * n for pretoken, n in counts.items()) == len(data)
    assert items(counts)[" café".encode("latin-1")] == 10
    with pytest.raises(InputError, match="not UTF-8: the byte 0xe9 at 6"):
        count(path, split=WORDS)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"text\0text", "a NUL byte at offset 4"),
        (random.Random(1).randbytes(500_000).replace(b"\0", b"\1"), "are not UTF-8"),
        ("Текст в другой кодировке. ".encode("cp1251") * 5, "if it is text of another encoding, convert it"),
    ],
)
def test_a_binary_file_is_an_error_unless_asked_for(tmp_path, data, message):
    path = tmp_path / "data.bin"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"data\.bin: looks binary: .*" + message):
        count(path, split=WORDS)
    counts = count(path, split=WORDS, options=CountOptions(binary="count"))
    assert sum(len(pretoken) * n for pretoken, n in counts.items()) == len(data) == counts.total_bytes
    (tmp_path / "text.txt").write_text("some text")
    counts = count(tmp_path, split=WORDS, options=CountOptions(binary="skip"))
    assert items(counts) == {b"some": 1, b" text": 1}
    assert counts.documents == 1


def test_a_nul_far_inside_is_text(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"a" * 100_000 + b" \0 b")
    assert items(count(tmp_path / "a.txt", split=WORDS)) == {b"a" * 100_000: 1, b" \0": 1, b" b": 1}


def test_a_text_without_any_cut_is_one_pretoken(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"a" * 5_000_000)
    assert items(count(tmp_path / "a.txt", split=WORDS)) == {b"a" * 5_000_000: 1}


def test_a_large_bz2_of_many_streams(tmp_path):
    path = tmp_path / "a.txt.bz2"
    packed = [bz2.compress(random.Random(i).randbytes(90_000).hex().encode() + b" ") for i in range(20)]
    path.write_bytes(bz2.compress(TEXT) + b"".join(packed))
    assert path.stat().st_size > 1 << 20  # read on all cores
    (tmp_path / "b.txt").write_bytes(bz2.decompress(path.read_bytes()))
    assert items(count(path, split=WORDS)) == items(count(tmp_path / "b.txt", split=WORDS))


def test_urls_are_sources(tmp_path):
    import fsspec

    files = fsspec.filesystem("memory")
    files.pipe("/corpus/a.txt", TEXT[:200_000])
    files.pipe("/corpus/b.txt.gz", gzip.compress(TEXT[200_000:]))
    files.pipe("/corpus/b.txt.zst", PACKERS[".zst"](b"zst"))
    (tmp_path / "a.txt").write_bytes(TEXT[:200_000])
    (tmp_path / "b.txt").write_bytes(TEXT[200_000:])
    (tmp_path / "c.txt").write_bytes(b"zst")
    seen = []
    counts = count("memory://corpus", split=WORDS, progress=lambda *now: seen.append(now))
    assert items(counts) == items(count(tmp_path, split=WORDS))
    assert counts.documents == 3
    assert seen[-1][1] == seen[-1][2] > 200_000


def test_missing_and_forbidden_files(tmp_path):
    with pytest.raises(InputError, match=r"nothing\.txt"):
        count(tmp_path / "nothing.txt", split=WORDS)
    path = tmp_path / "secret.txt"
    path.write_text("x")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(InputError, match=r"secret\.txt: cannot be read: Permission denied"):
        count(path, split=WORDS)


def test_a_folder_without_permission_stops_or_is_left_out(tmp_path, monkeypatch):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.txt").write_text("some words")
    scandir = os.scandir

    def refusing(path):
        if os.fspath(path).endswith("/b"):
            raise PermissionError(13, "Permission denied", os.fspath(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    with pytest.raises(InputError, match="b: the folder cannot be read: Permission denied"):
        count(tmp_path, split=WORDS)
    skips = []
    assert count(tmp_path, split=WORDS, on_skip=skips.append).total_bytes == 10
    assert [str(skip).removeprefix(f"{tmp_path}/") for skip in skips] == [
        "b: the folder cannot be read: Permission denied"
    ]


def test_empty_files_are_empty_documents(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"")
    (tmp_path / "b.jsonl").write_bytes(b"")
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress(b""))
    counts = count(tmp_path, split=WORDS)
    assert (len(counts), counts.documents, counts.total_bytes) == (0, 2, 0)
