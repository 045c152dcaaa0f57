"""An object store that fails: the text is that of the object, or there is one error. Never other bytes."""

import json
import re
import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tokenmill
from tokenmill.errors import InputError
from tokenmill.sources import remote
from tokenmill.sources.documents import read_documents

moto = pytest.importorskip("moto.server")
s3fs = pytest.importorskip("s3fs")
serving = pytest.importorskip("werkzeug.serving")
LINES = [f"{number} line of the object" * 3 for number in range(3000)]
JSONL = "".join(json.dumps({"text": line}) + "\n" for line in LINES).encode()
OPTIONS = tokenmill.EncodeOptions(end_of_text=False)


class Store:
    """moto's server with faults: by the number of a request for a part of an object."""

    def __init__(self):
        self.faults, self.requests = {}, 0
        app = moto.DomainDispatcherApplication(moto.create_backend_app)

        def serve(environ, start_response):
            fault = None
            if environ["REQUEST_METHOD"] == "GET" and "HTTP_RANGE" in environ:
                fault = self.faults.get(self.requests)
                self.requests += 1
            if callable(fault):
                fault = fault()
            if fault in ("503", "403"):
                code = {"503": "SlowDown", "403": "AccessDenied"}[fault]
                start_response(f"{fault} {code}", [("Content-Type", "application/xml")])
                return [f"<Error><Code>{code}</Code><Message>no</Message></Error>".encode()]
            body = app(environ, start_response)
            if fault != "drop":
                return body
            body = b"".join(body)
            return [body[: len(body) // 2]]  # the connection ends before the length that was announced

        self.http = serving.make_server("127.0.0.1", 0, serve, threaded=True)
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture(scope="module")
def running():
    store = Store()
    yield store
    store.http.shutdown()
    store.http.server_close()


@pytest.fixture
def store(running, monkeypatch):
    monkeypatch.setattr(remote, "BLOCK", 1 << 16)
    monkeypatch.setattr(remote, "WAITS", [0.01, 0.01, 0.01])
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{running.http.server_port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.setattr(s3fs.S3FileSystem, "retries", 1)
    s3fs.S3FileSystem.clear_instance_cache()
    running.faults, running.requests = {}, 0
    running.files = s3fs.S3FileSystem()
    if not running.files.exists("corpus"):
        running.files.mkdir("corpus")
    running.files.pipe("corpus/a.jsonl", JSONL)
    return running


@pytest.fixture(scope="module")
def tok():
    return tokenmill.train_from_iterator(LINES[:50], 300)


def ids_of(tok, source, output, options=OPTIONS, **job):
    made = tokenmill.encode_files(tok, source, output, format="bin", options=options, job=tokenmill.JobOptions(**job))
    return made.path.read_bytes()


@pytest.mark.parametrize("fault", ["drop", "503", None])
def test_a_request_that_fails_is_made_again(store, tok, tmp_path, fault):
    (tmp_path / "a.jsonl").write_bytes(JSONL)
    pq.write_table(pa.table({"text": LINES}), tmp_path / "b.parquet", row_group_size=500, compression="none")
    store.files.put(str(tmp_path / "b.parquet"), "corpus/sub/b.parquet")
    for name in ("a.jsonl", "b.parquet"):
        url = "s3://corpus/a.jsonl" if name == "a.jsonl" else "s3://corpus/*/*.parquet"
        store.faults, store.requests = dict.fromkeys((0, 2, 3, 5), fault), 0
        assert ids_of(tok, url, tmp_path / "s3.bin", overwrite=True) == ids_of(
            tok, tmp_path / name, tmp_path / f"{name}.bin"
        )
        assert store.requests > 3
    parts = [
        ids_of(
            tok, "s3://corpus/a.jsonl", tmp_path / "p.bin", tokenmill.EncodeOptions(end_of_text=False, part=f"{k}/3")
        )
        for k in (1, 2, 3)
    ]
    assert b"".join(parts) == (tmp_path / "a.jsonl.bin").read_bytes()


def test_a_store_that_refuses_is_one_error(store):
    for fault, reason in (("503", "SlowDown|reduce|503|no"), ("403", "Forbidden|AccessDenied|denied|no")):
        store.faults, store.requests = dict.fromkeys(range(2, 1000), fault), 0
        with pytest.raises(InputError, match=rf"s3://corpus/a.jsonl: .*({reason})"):
            list(read_documents("s3://corpus/a.jsonl"))
        assert store.requests == (6 if fault == "503" else 3), "what is forbidden is not asked for again"
    for url in ("s3://corpus/b.jsonl", "s3://no-bucket/a.jsonl"):
        with pytest.raises(InputError, match=re.escape(f"{url}: no such file or folder. Check the URL.")):
            list(read_documents(url))
    with pytest.raises(InputError, match="no file matches"):
        list(read_documents("s3://corpus/*.txt"))


def test_an_object_that_is_replaced_is_one_error(store, tok, tmp_path):
    def change():
        store.files.pipe("corpus/a.jsonl", JSONL.replace(b"line", b"LINE"))

    store.faults = {2: change}
    with pytest.raises(
        InputError, match=r"s3://corpus/a.jsonl: the file was replaced while it was read: its ETag was "
    ):
        ids_of(tok, "s3://corpus/a.jsonl", tmp_path / "a.bin")
    assert not (tmp_path / "a.bin").exists()


def test_an_interrupted_job_goes_on_with_the_same_object_only(store, tok, tmp_path):
    expected = ids_of(tok, "s3://corpus/a.jsonl", tmp_path / "whole.bin")
    for changed in (False, True):
        store.files.pipe("corpus/a.jsonl", JSONL)
        store.faults, store.requests = dict.fromkeys(range(3, 1000), "503"), 0
        with pytest.raises(InputError):
            ids_of(tok, "s3://corpus/a.jsonl", tmp_path / f"{changed}.bin", checkpoint_every=0)
        store.faults = {}
        if changed:
            store.files.pipe("corpus/a.jsonl", JSONL.replace(b"line", b"LINE"))
        ids = ids_of(tok, "s3://corpus/a.jsonl", tmp_path / f"{changed}.bin", checkpoint_every=0)
        whole = ids_of(tok, "s3://corpus/a.jsonl", tmp_path / "whole.bin", overwrite=True) if changed else expected
        assert ids == whole
