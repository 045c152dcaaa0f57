"""Files on a web server that fails: the text is that of the file, or there is one error. Never other bytes."""

import functools
import gzip
import http.server
import json
import random
import re
import threading
import zipfile

import pytest
from fsspec.implementations.zip import ZipFileSystem

import tokenmill
from tokenmill.corpus import CleanOptions
from tokenmill.errors import InputError, UsageError
from tokenmill.jobs.working_folder import fingerprint
from tokenmill.sources import blocks, remote
from tokenmill.sources.documents import read_documents
from tokenmill.token_files import encoded_folder

pytest.importorskip("aiohttp")
LINES = [random.Random(n).randbytes(20).hex() for n in range(2000)]
OPTIONS = tokenmill.EncodeOptions(end_of_text=False)
TEXT = "".join(json.dumps({"text": line}) + "\n" for line in LINES).encode()


class Server:
    """Serves files from memory, with the faults that are told before.

    faults: by the number of a request for content: "drop" ends the connection half-way, "503" and "404" refuse, "short" gives
        fewer bytes than asked for, a function is called before the answer. ranges: whether parts of files are given. lengths: whether the
        size of a file is told; without it, ranges must be False.
    listings: what a hub or a bucket says of the files, made anew for each request: such requests are not counted.
    """

    def __init__(self):
        self.files, self.faults, self.requests, self.ranges, self.tags = {}, {}, 0, True, True
        self.lengths = True
        self.listings = {}
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_HEAD(self):
                self.answer(False)

            def do_GET(self):
                self.answer(True)

            def answer(self, content):
                path = self.path.partition("?")[0]
                listing = server.listings.get(path)
                if listing is not None:
                    data = json.dumps(listing()).encode()
                    self.send_response(200)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    return self.wfile.write(data)
                data = server.files.get(path)
                if data is None:
                    return self.send_error(404)
                fault = None
                if content:
                    fault = server.faults.get(server.requests)
                    server.requests += 1
                if callable(fault):
                    fault = fault()
                    data = server.files[path]
                if fault in ("503", "404", "403"):
                    return self.send_error(int(fault))
                span = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", "")) if server.ranges else None
                start, end = (int(span[1]), min(int(span[2]) + 1, len(data))) if span else (0, len(data))
                body = data[start:end]
                if fault == "short":
                    body = body[:-10]
                self.send_response(206 if span else 200)
                if server.ranges:
                    self.send_header("Accept-Ranges", "bytes")
                if span:
                    self.send_header("Content-Range", f"bytes {start}-{start + len(body) - 1}/{len(data)}")
                if server.tags:
                    self.send_header("ETag", f'"{hash(data)}"')
                if server.lengths:
                    self.send_header("Content-Length", str(len(body)))
                else:
                    self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                if content and not server.lengths:
                    self.wfile.write(f"{len(body):x}\r\n".encode())
                if content:
                    self.wfile.write(body[: len(body) // 2] if fault == "drop" else body)
                if content and not server.lengths and fault != "drop":
                    self.wfile.write(b"\r\n0\r\n\r\n")
                if fault == "drop":
                    self.close_connection = True

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(remote, "BLOCK", 1 << 14)
    monkeypatch.setattr(remote, "WAITS", [0.01, 0.01, 0.01])
    server = Server()
    server.files["/a.jsonl"] = TEXT
    server.files["/a.jsonl.gz"] = gzip.compress(TEXT)
    yield server
    server.http.shutdown()
    server.http.server_close()


def texts(*urls):
    return [document.text for document in read_documents(urls)]


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize(
    ("name", "fault"),
    [
        *((name, fault) for name in ("a.jsonl", "a.jsonl.gz") for fault in ("drop", "short", "503")),
        ("a.jsonl?download=true", None),
        ("a.jsonl.gz?b=1.5#c", "drop"),
    ],
)
def test_a_request_that_fails_is_made_again(server, name, ranges, fault):
    server.ranges = ranges
    server.faults = {n: fault for n in (0, 2, 3, 5)} if fault else {}
    assert texts(f"{server.address}/{name}") == LINES
    assert server.requests > (3 if ranges and fault else 0)


def test_archives(server, tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("b/c.jsonl", TEXT)
        archive.writestr("d.txt", "other")
    server.files["/a.zip"] = (tmp_path / "a.zip").read_bytes()
    for place in (tmp_path / "a.zip", f"{server.address}/a.zip"):
        assert texts(f"zip://b/c.jsonl::{place}") == texts(f"zip://**/*.jsonl::{place}") == LINES
    assert texts(f"zip://::{tmp_path / 'a.zip'}") == [*LINES, "other"]


def test_parquet(server, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"text": LINES}), tmp_path / "a.parquet", row_group_size=300, compression="none")
    server.files["/a.parquet"] = (tmp_path / "a.parquet").read_bytes()
    server.faults = {n: ("drop", "short", "503")[n % 3] for n in range(0, 40, 2)}
    assert texts(f"{server.address}/a.parquet") == LINES

    def change():
        server.files["/a.parquet"] = server.files["/a.parquet"].replace(b"aa", b"bb")

    server.faults = {server.requests + 6: change}
    with pytest.raises(InputError, match=r"a.parquet: the file was replaced while it was read: its ETag was "):
        texts(f"{server.address}/a.parquet")


@pytest.mark.parametrize("ranges", [True, False])
def test_a_server_that_stays_away_is_one_error(server, ranges):
    server.ranges = ranges
    server.faults = dict.fromkeys(range(2, 100), "503")
    with pytest.raises(InputError, match=r"a.jsonl: .*503"):
        texts(f"{server.address}/a.jsonl")
    requests = server.requests
    server.faults = dict.fromkeys(range(requests, 1000), "403")
    with pytest.raises(InputError, match=r"a.jsonl: .*403"):
        texts(f"{server.address}/a.jsonl")
    assert server.requests == requests + 1  # what is forbidden is not asked for again
    with pytest.raises(InputError, match="no such file"):
        texts(f"{server.address}/b.jsonl")
    server.http.shutdown()
    server.http.server_close()
    with pytest.raises(InputError, match=r"cannot list .*a.jsonl: Connect"):
        texts(f"{server.address}/a.jsonl")


@pytest.mark.parametrize("same_size", [True, False])
@pytest.mark.parametrize("tags", [True, False])
def test_a_file_that_is_replaced_is_one_error(server, tmp_path, same_size, tags):
    server.tags = tags

    def change():
        server.files["/a.jsonl"] = TEXT.replace(b"a", b"b") + (b"" if same_size else b'{"text": "more"}\n')

    server.faults = {2: change}
    tok = tokenmill.train_from_iterator(LINES[:50], 300)
    if same_size and not tags:
        return  # nothing tells the two files apart
    with pytest.raises(InputError, match=r"was replaced while it was read: its (ETag|size) was "):
        tokenmill.encode_files(tok, f"{server.address}/a.jsonl", tmp_path / "a.npy", format="npy", options=OPTIONS)
    assert not (tmp_path / "a.npy").exists()


def test_a_replaced_file_is_not_resumed(server, tmp_path):
    """The ids of a job that was interrupted are not joined with those of another file."""
    tok = tokenmill.train_from_iterator(LINES[:50], 300)
    options = tokenmill.JobOptions(checkpoint_every=0)
    encode = functools.partial(
        tokenmill.encode_files, tok, f"{server.address}/a.jsonl", tmp_path / "a.bin", job=options
    )
    server.faults = dict.fromkeys(range(4, 1000), "503")
    with pytest.raises(InputError):
        encode(options=OPTIONS)
    server.faults = {}
    assert encode(options=OPTIONS).documents == len(LINES)
    assert [tok.decode(ids) for ids in tokenmill.load_tokens(tmp_path / "a.bin")] == LINES


@pytest.mark.parametrize("how", ["encode", "count", "clean"])
def test_a_file_of_the_same_size_that_replaced_another_is_not_resumed(server, tmp_path, monkeypatch, how):
    monkeypatch.setattr(blocks, "BLOCK", 10_000)
    monkeypatch.setattr(encoded_folder, "JOB_BYTES", 1)
    tok = tokenmill.train_from_iterator(LINES[:50], 300)
    job, url = tokenmill.JobOptions(num_threads=1, checkpoint_every=0), f"{server.address}/a.jsonl"
    run = {
        "encode": lambda: tokenmill.encode_files(tok, url, tmp_path / "a.bin", job=job, options=OPTIONS),
        "count": lambda: tokenmill.count_to_folder(url, tmp_path / "counts", job=job),
        "clean": lambda: tokenmill.clean(
            "text", url, tmp_path / "clean", job=job, options=CleanOptions(shard_bytes=1000, min_chars=1)
        ),
    }[how]
    server.faults = dict.fromkeys(range(4, 1000), "503")
    with pytest.raises(InputError, match="503"):
        run()
    assert [*tmp_path.rglob("*.json")], "it was saved"
    server.faults = {}
    server.files["/a.jsonl"] = TEXT.replace(b"a", b"b")
    with pytest.raises(UsageError, match=r"unfinished job with different sources"):
        run()


def test_an_archive_of_the_same_size_that_replaced_another_is_another_source(tmp_path):
    def hash_of(text):
        with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
            archive.writestr("a.txt", text)
        ZipFileSystem.clear_instance_cache()
        return fingerprint([f"zip://a.txt::{tmp_path / 'a.zip'}"])

    assert hash_of("one") == hash_of("one") != hash_of("two")


@pytest.mark.parametrize(
    ("fault", "name", "skip_damaged"),
    [
        ("503", "a.jsonl", True), ("503", "a.jsonl", False), ("drop", "a.jsonl.gz", True), ("drop", "a.txt", True),
        ("503", "a.parquet", False), ("short", "a.parquet", True),
    ],
)  # fmt: skip
def test_a_request_that_fails_for_good_is_never_left_out(server, tmp_path, fault, name, skip_damaged):
    """A server that stays away is not damage: half of a file would be missing without a word."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    lines = LINES * 2
    pq.write_table(pa.table({"text": lines}), tmp_path / "a.parquet", row_group_size=300, compression="none")
    server.files["/a.parquet"] = (tmp_path / "a.parquet").read_bytes()
    server.files["/a.txt"] = TEXT
    tok = tokenmill.train_from_iterator(LINES[:50], 300)
    read = tokenmill.ReadOptions(skip_damaged=skip_damaged)
    url = f"{server.address}/{name}"
    for first in (1, 4) if name.endswith("parquet") else (1, 3):
        for run in (
            lambda: tokenmill.encode_files(
                tok, url, tmp_path / "a.bin", options=tokenmill.EncodeOptions(end_of_text=False, read=read)
            ),
            lambda: tokenmill.count(url, options=tokenmill.CountOptions(read=read)),
            lambda: [*read_documents(url, skip_damaged=skip_damaged)],
        ):
            server.faults = dict.fromkeys(range(server.requests + first, server.requests + 1000), fault)
            with pytest.raises(InputError, match=rf"{name}: cannot be read: .*\. Run the command again") as caught:
                run()
            assert "skip_damaged" not in str(caught.value)
    assert not (tmp_path / "a.bin").exists()


def test_a_stream_of_unknown_length_is_read_again_and_stops_a_job(server):
    server.lengths = server.ranges = False
    server.faults = {1: "drop", 2: "503"}
    assert texts(f"{server.address}/a.jsonl") == LINES
    server.faults = dict.fromkeys(range(server.requests + 1, server.requests + 1000), "drop")
    with pytest.raises(InputError, match=r"a.jsonl: cannot be read: "):
        [*read_documents(f"{server.address}/a.jsonl", skip_damaged=True)]


def test_damage_in_an_archive_is_damage(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.jsonl", TEXT)
        archive.writestr("b.jsonl", TEXT)
    data = bytearray((tmp_path / "a.zip").read_bytes())
    data[len(TEXT) // 2] ^= 1
    (tmp_path / "a.zip").write_bytes(data)
    url = f"zip://*.jsonl::{tmp_path / 'a.zip'}"
    with pytest.raises(InputError, match=r"a.jsonl.*damaged or cut off.*CRC"):
        texts(url)
    assert [document.text for document in read_documents(url, skip_damaged=True)][-len(LINES) :] == LINES


@pytest.fixture
def hub(server, monkeypatch):
    """A stand-in for the hub, and the URL of a file in it."""
    huggingface_hub = pytest.importorskip("huggingface_hub")
    name = "/datasets/ours/web/resolve/main/data/a.jsonl"
    server.files[name] = TEXT
    server.listings["/api/datasets/ours/web"] = lambda: {"id": "ours/web", "sha": "0" * 40}
    server.listings["/api/datasets/ours/web/revision/main"] = server.listings["/api/datasets/ours/web"]
    server.listings["/api/datasets/ours/web/tree/main"] = lambda: [{"type": "directory", "path": "data", "oid": "1"}]
    server.listings["/api/datasets/ours/web/tree/main/data"] = lambda: [
        {"type": "file", "path": "data/a.jsonl", "size": len(server.files[name]), "oid": f"{hash(server.files[name])}"}
    ]
    server.name = name
    address = server.address + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", server.address)
    monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", address)
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # its own client waits and asks again, too
    huggingface_hub.HfFileSystem.clear_instance_cache()
    yield server
    huggingface_hub.HfFileSystem.clear_instance_cache()


@pytest.mark.parametrize("url", ["hf://datasets/ours/web/data/a.jsonl", "hf://datasets/ours/web/data/*.jsonl"])
@pytest.mark.parametrize("fault", [None, "drop", "short", "503"])
def test_the_hub(hub, url, fault):
    hub.faults = dict.fromkeys((0, 2, 3, 5), fault)
    assert texts(url) == LINES
    assert hub.requests > 4


def test_a_hub_that_refuses_or_changes_is_one_error(hub):
    hub.faults = dict.fromkeys(range(2, 1000), "403")
    with pytest.raises(InputError, match=r"a.jsonl: .*403"):
        texts("hf://datasets/ours/web/data/a.jsonl")
    with pytest.raises(InputError, match=r"b.jsonl: no such file"):
        texts("hf://datasets/ours/web/data/b.jsonl")

    def change():
        hub.files[hub.name] = TEXT.replace(b"a", b"b")

    hub.faults = {hub.requests + 2: change}
    with pytest.raises(InputError, match=r"a.jsonl: the file was replaced while it was read: its blob_id was "):
        texts("hf://datasets/ours/web/data/a.jsonl")


@pytest.mark.parametrize("fault", [None, "drop", "short", "503"])
def test_google_cloud_storage(server, monkeypatch, fault):
    gcsfs = pytest.importorskip("gcsfs")
    name = "/download/storage/v1/b/bucket/o/a.jsonl"
    server.files[name] = TEXT
    server.listings["/storage/v1/b/bucket/o"] = lambda: {"items": [server.listings["/storage/v1/b/bucket/o/a.jsonl"]()]}
    server.listings["/storage/v1/b/bucket/o/a.jsonl"] = lambda: {
        "name": "a.jsonl",
        "bucket": "bucket",
        "size": f"{len(server.files[name])}",
        "generation": f"{hash(server.files[name])}",
    }
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.address)
    gcsfs.GCSFileSystem.clear_instance_cache()
    server.faults = dict.fromkeys((0, 3), fault)
    for url in ("gs://bucket/a.jsonl", "gs://bucket/*.jsonl"):
        assert texts(url) == LINES

    def change():
        server.files[name] = TEXT.replace(b"a", b"b")

    server.faults = {server.requests + 2: change}
    with pytest.raises(InputError, match=r"a.jsonl: the file was replaced while it was read: its generation was "):
        texts("gs://bucket/a.jsonl")
