"""The local server: who may ask, what may be uploaded, and that nothing it is given does harm."""

import contextlib
import http.client
import json
import socket
import struct
import threading

import pytest

from tokenmill import formats
from tokenmill.errors import UsageError
from tokenmill.playground import server as playground
from tokenmill.playground.pack import pack
from tokenmill.split.patterns import PATTERNS
from tokenmill.vocabulary import Vocabulary

BYTES = Vocabulary(tuple(bytes([b]) for b in range(256)), (PATTERNS["gpt2"],))


def start(allow_paths):
    server = playground.Server([("bytes", pack("bytes", BYTES))], allow_paths=allow_paths)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)  # half a second else
    thread.start()

    def stop():
        server.shutdown()
        thread.join(10)
        server.server_close()

    return server.server_port, stop


@pytest.fixture(scope="module")
def port():
    port, stop = start(allow_paths=False)
    yield port
    stop()


@pytest.fixture(scope="module")
def open_port():
    port, stop = start(allow_paths=True)
    yield port
    stop()


def ask(port, path="/", method="GET", body=None, **headers):
    """Status, headers and body of the answer; headers given as None are left out."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    names = {"Host": f"127.0.0.1:{port}", **{name.replace("_", "-"): value for name, value in headers.items()}}
    if body is not None:
        names.setdefault("Content-Length", str(len(body)))
        names.setdefault("Origin", f"http://127.0.0.1:{port}")
    for name, value in names.items():
        if value is not None:
            connection.putheader(name, value)
    connection.endheaders(body)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, content


def frame(files):
    head = json.dumps([{"name": name, "size": len(content)} for name, content in files.items()]).encode()
    return len(head).to_bytes(4, "little") + head + b"".join(files.values())


def test_the_page_and_its_files(port):
    status, headers, body = ask(port)
    assert status == 200 and headers["content-type"].startswith("text/html") and b"tokenmill" in body
    for name in ("app.js", "worker.js", "style.css"):
        status, headers, body = ask(port, f"/{name}")
        kind = "text/css" if name.endswith(".css") else "text/javascript"
        assert status == 200 and headers["content-type"].startswith(kind) and body
    listing = json.loads(ask(port, "/catalog.json")[2])
    assert [one["name"] for one in listing["tokenizers"]] == ["bytes"]
    assert ask(port, "/" + listing["tokenizers"][0]["pack"])[2] == pack("bytes", BYTES)
    assert ask(port, "/packs/1.tmpack")[0] == 404
    assert ask(port, Host=f"localhost:{port}")[0] == 200


def test_every_answer_has_the_security_headers(port):
    for path, host in (("/", None), ("/no-such", None), ("/", "evil.example")):
        _, headers, _ = ask(port, path, **({"Host": host} if host else {}))
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert "require-trusted-types-for 'script'" in policy and "unsafe" not in policy and "*" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:{port}", "127.0.0.1:{port}.evil", "", None])  # fmt: skip
def test_a_foreign_host_is_refused(port, host):
    status, _, body = ask(port, Host=None if host is None else host.format(port=port))
    assert status in (400, 403) and b"tokenmill" not in body


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1", "http://127.0.0.1:{port}.evil", "file://"])  # fmt: skip
def test_a_foreign_origin_is_refused(port, origin):
    assert ask(port, Origin=origin.format(port=port))[0] == 403
    assert ask(port, "/open", "POST", frame({"x": b""}), Origin=origin.format(port=port))[0] == 403


def test_a_request_from_another_site_is_refused(port):
    assert ask(port, "/catalog.json", Sec_Fetch_Site="cross-site")[0] == 403
    assert ask(port, "/catalog.json", Sec_Fetch_Site="same-site")[0] == 403
    assert ask(port, "/catalog.json", Sec_Fetch_Site="same-origin")[0] == 200
    assert ask(port, "/open", "POST", frame({"x": b""}), Origin=None)[0] == 403


@pytest.mark.parametrize("path", ["/../pyproject.toml", "/..%2f..%2fserver.py", "/%2e%2e/server.py", "/static/app.js", "/server.py", "/packs/..%2f0.tmpack", "//etc/passwd", "/packs/-1.tmpack", "/packs/99999999999999999999.tmpack"])  # fmt: skip
def test_nothing_but_the_page_is_served(port, path):
    status, _, body = ask(port, path)
    assert status == 404 and b"import" not in body


def test_only_the_loopback_interface_is_bound():
    with playground.Server([]) as server:
        host, port = server.socket.getsockname()
        assert (host, port) == ("127.0.0.1", server.server_port)
        with pytest.raises(UsageError, match="cannot be used"):
            playground.Server([], port)
    with playground.Server([], 0) as server:
        assert server.server_port not in (0, playground.DEFAULT_PORT)


def test_an_upload_is_bounded(port, monkeypatch):
    status, _, body = ask(port, "/open", "POST", b"", Content_Length=str(playground.MOST_BYTES * 2))
    assert status == 400 and b"MiB" in body
    # Without a length, reading stops at the bound.
    monkeypatch.setattr(playground, "MOST_BYTES", 100_000)
    monkeypatch.setattr(playground, "_MOST_HEAD", 1000)
    small, stop = start(allow_paths=False)
    try:
        connection = socket.create_connection(("127.0.0.1", small), timeout=20)
        head = f"POST /open HTTP/1.1\r\nHost: 127.0.0.1:{small}\r\nOrigin: http://127.0.0.1:{small}\r\nTransfer-Encoding: chunked\r\n\r\n"
        connection.sendall(head.encode())
        sent = 0
        try:
            for _ in range(200):
                connection.sendall(b"4000\r\n" + b"x" * 0x4000 + b"\r\n")
                sent += 0x4000
        except OSError:
            pass  # the server hung up, as it may
        answer = b""
        with contextlib.suppress(OSError):
            answer = connection.recv(4096)
        assert not answer or b" 400 " in answer.split(b"\r\n")[0]
        connection.close()
        assert ask(small)[0] == 200
    finally:
        stop()


@pytest.mark.parametrize(
    "body",
    [
        b"", b"\xff\xff\xff\xff", b"\x02\0\0\0{}", b"\x02\0\0\0[]", b"\x04\0\0\0null", frame({"a": b"x"})[:-1], frame({"a": b"x"}) + b"y",
        b"\x19\0\0\0" + b'[{"name":"a","size":-1}] ', frame({f"f{i}": b"" for i in range(17)}),
    ],
)  # fmt: skip
def test_damaged_uploads_are_one_error(port, body):
    status, headers, answer = ask(port, "/open", "POST", body)
    assert status == 400 and headers["content-type"] == "application/json"
    assert set(json.loads(answer)) == {"error"}


def test_an_uploaded_tokenizer_comes_back_packed(port, tmp_path):
    formats.write(BYTES, tmp_path / "x.tiktoken", "tiktoken")
    content = (tmp_path / "x.tiktoken").read_bytes()
    status, headers, body = ask(port, "/open", "POST", frame({"../../x y.tiktoken": content}))
    assert status == 200 and headers["content-type"] == "application/json"
    assert json.loads(body)["splits"] == list(PATTERNS)  # it asks
    status, headers, body = ask(port, "/open?split=gpt2", "POST", frame({"../../x y.tiktoken": content}))
    assert status == 200 and headers["x-name"] == "x_y"
    assert body == pack("x_y", BYTES, None, "x_y.tiktoken")
    status, headers, _ = ask(port, "/open?split=gpt2&folder=my%2Ftok", "POST", frame({"x.tiktoken": content}))
    assert status == 200 and headers["x-name"] == "tok"
    status, _, body = ask(port, "/open?split=%28", "POST", frame({"x.tiktoken": content}))
    assert status == 422 and b"split pattern" in body


@pytest.mark.parametrize("content", [b"", b"\0" * 50, b'{"model": 3, "merges": 4}', b'{"model": {"type": "BPE", "vocab": {}, "merges": [["a"]]}}', b"!!! 0\n", b"\x80\x04\x95evil pickle", b"[" * 100_000])  # fmt: skip
def test_damaged_tokenizers_are_one_error_that_does_not_tell_where_they_lay(port, content):
    status, _, body = ask(port, "/open", "POST", frame({"tokenizer.json": content}))
    assert status in (200, 422)
    answer = json.loads(body)
    assert answer["error"] and "/tmp" not in answer["error"] and "Traceback" not in answer["error"]


def test_paths_open_only_where_allowed(port, open_port, tmp_path):
    formats.write(BYTES, tmp_path / "mine", "merges") if BYTES.order != "ranks" else formats.write(
        BYTES, tmp_path / "mine.tiktoken", "tiktoken"
    )
    body = json.dumps({"path": str(tmp_path / "mine.tiktoken")}).encode()
    assert ask(port, "/open-path", "POST", body)[0] == 403
    status, headers, answer = ask(open_port, "/open-path?split=gpt2", "POST", body)
    assert (status, headers["x-name"]) == (200, "mine") and answer == pack("mine", BYTES, None, "mine.tiktoken")
    status, _, answer = ask(open_port, "/open-path", "POST", json.dumps({"path": "/no/such"}).encode())
    assert status == 422 and b"no such file" in answer
    for wrong in (b"", b"[]", b'{"path": 3}', b'{"path": "a\\u0000b"}', b"x" * 100_000):
        assert ask(open_port, "/open-path", "POST", wrong)[0] == 400


def test_methods_that_are_not_meant(port):
    for method in ("PUT", "DELETE", "PATCH"):
        assert ask(port, "/", method, b"")[0] == 405
    assert ask(port, "/open", "GET")[0] in (404, 405)


@pytest.mark.parametrize("name", ["9" * 5000, "9" * 5000 + ".tmpack", "-1.tmpack", "1.tmpack", "x", "0"])
def test_packs_that_are_not_there(port, name):
    assert ask(port, f"/packs/{name}")[0] == 404


def test_file_names_of_other_characters_differ(port):
    files = {"mine.tiktoken": playground.STARTER.read_bytes()}
    for names in (("\u8bf4\u660e.txt", "\u6587\u6863.txt"), ("a/x y", "b/x_y")):
        files |= dict.fromkeys(names, b"a note")
    assert len({name for name, _ in playground._unframe(frame(files))}) == 5


def framed(head):
    return len(head).to_bytes(4, "little") + head


@pytest.mark.parametrize(
    "head", [b"[" * 60_000, b'{"a":' * 10_000, b'[{"name": "a", "size": 1e999}]', b"[" + b"9" * 5000 + b"]"]
)
def test_damaged_heads_are_one_error(port, head):
    status, _, body = ask(port, "/open", "POST", framed(head), Origin=f"http://127.0.0.1:{port}")
    assert status == 400 and "damaged" in json.loads(body)["error"]


def test_a_deeply_nested_file_is_one_error(port):
    content = b"[" * 200_000
    head = json.dumps([{"name": "tokenizer.json", "size": len(content)}]).encode()
    status, _, body = ask(port, "/open", "POST", framed(head) + content, Origin=f"http://127.0.0.1:{port}")
    assert status == 422 and "tokenizer.json" in json.loads(body)["error"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"path":' + b"[" * 30_000, 400),
        (b'{"path": "\\ud800"}', 400),
        (b'{"path": "~nobody-has-this-name/x"}', 400),
        (json.dumps({"path": "/" + "x" * 5000}).encode(), 422),
    ],
)
def test_paths_that_cannot_be(open_port, body, expected):
    assert ask(open_port, "/open-path", "POST", body, Origin=f"http://127.0.0.1:{open_port}")[0] == expected


def test_a_web_socket_is_refused(port):
    keys = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec_WebSocket_Key": "AAAAAAAAAAAAAAAAAAAAAA=="}
    assert 400 <= ask(port, "/", Sec_WebSocket_Version="13", **keys)[0] < 500
    assert 400 <= ask(port, "/", Upgrade="h2c", Connection="Upgrade")[0] < 500


def test_a_name_that_is_not_utf_8(tmp_path):
    from tokenmill.quality.names import tokenizer_name

    assert tokenizer_name("a/caf\udce9.tiktoken") == "caf\ufffd"


@pytest.mark.parametrize("request_line", ["GET http://[ HTTP/1.1", "GET /?%5B=[ HTTP/1.1", "POST /open HTTP/1.1"])
def test_odd_requests_are_answered(capfd, request_line):
    port, stop = start(allow_paths=False)
    head = f"{request_line}\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\nConnection: close\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(f"{head}Content-Length: {'9' * 5000}\r\n\r\n".encode())
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(100).split()[1] in (b"200", b"400", b"404")
    stop()
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("reset", [False, True])
def test_an_upload_that_is_cancelled_is_no_failure(capfd, reset):
    port, stop = start(allow_paths=False)
    head = f"POST /open HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\nContent-Length: 90000\r\n\r\n"
    for sent in (head[:30], head, head + "x" * 1000):
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(sent.encode())
            if reset:  # closed without a goodbye
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert ask(port)[0] == 200
    for thread in threading.enumerate():
        if "process_request" in thread.name:
            thread.join(10)
    stop()
    assert "Traceback" not in capfd.readouterr().err
