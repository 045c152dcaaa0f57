"""The local page: a small server on the loopback interface that serves the page and packed vocabularies.

The browser does the encoding, so the server never sees a text. It answers only to its own names in the Host header,
refuses requests of other pages (Origin, Sec-Fetch-Site), limits the size of uploads, and reads them with the library's
own loaders in a temporary folder.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from typing import Any
from urllib.parse import parse_qs, quote

from ..errors import ConversionError, TokenmillError, UsageError, printable
from ..formats import read
from ..quality.names import COMMON, tokenizer_name
from ..split.patterns import PATTERNS
from ..vocabulary import Vocabulary
from .pack import Shown, pack

STATIC = Path(__file__).parent / "static"
STARTER = Path(__file__).parent / "starter.tiktoken"
DEFAULT_PORT = 8765
MOST_BYTES = 64 << 20  # of an upload; the largest published tokenizer.json has about 30 MB
MOST_FILES = 16
_MOST_HEAD = 64 << 10
_BINARY = "application/octet-stream"
_JSON = "application/json"
_POSTED = ("/open", "/open-path")
_CONTENT_TYPES = {
    ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8", ".json": _JSON, ".tmpack": _BINARY,
}  # fmt: skip

# The page may only load its own files. index.html holds the same policy for static hosts.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types tokenmill"
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-cache",
}


def page_files() -> dict[str, bytes]:
    """Return the built files of the page by name."""
    return {path.name: path.read_bytes() for path in sorted(STATIC.iterdir()) if path.suffix in _CONTENT_TYPES}


def starter() -> tuple[str, Vocabulary]:
    """Return the name and the vocabulary of the default tokenizer: 4,096 tokens of English, code and some other languages."""
    return STARTER.stem, read(STARTER, "cl100k")


def site_files(packs: Sequence[tuple[str, bytes]], **catalog: Any) -> dict[str, bytes]:
    """Return the files of a site by name: the page, the packed tokenizers, and the catalog, which the page reads first."""
    listed = [{"name": name, "pack": f"packs/{i}.tmpack"} for i, (name, _) in enumerate(packs)]
    files = page_files() | {each["pack"]: packed for each, (_, packed) in zip(listed, packs, strict=True)}
    catalog = {**catalog, "version": 1, "tokenizers": listed}
    return {**files, "catalog.json": json.dumps(catalog, ensure_ascii=False, separators=(",", ":")).encode()}


class Server(ThreadingHTTPServer):
    """The server of the page.

    tokenizers: their names and packed vocabularies.
    port: on 127.0.0.1; None for DEFAULT_PORT, or any port if that is in use.
    allow_paths: whether the page may open any file of this machine as a tokenizer.
    live: a training that the page watches.
    """

    request_queue_size = 128
    allow_reuse_port = False

    def __init__(
        self,
        tokenizers: Sequence[tuple[str, bytes]],
        port: int | None = None,
        allow_paths: bool = False,
        live: LiveTraining | None = None,
    ) -> None:
        try:
            super().__init__(("127.0.0.1", DEFAULT_PORT if port is None else port), _Handler)
        except OSError as error:
            if port:
                advice = "Choose another port, or leave it out."
                raise UsageError(f"port {port} cannot be used: {error.strerror}. {advice}") from error
            super().__init__(("127.0.0.1", 0), _Handler)
        self.allow_paths, self.live = allow_paths, live
        self.hosts = {f"{host}:{self.server_port}" for host in ("127.0.0.1", "localhost")}
        self.origins = {f"http://{host}" for host in self.hosts}
        limits = {"bytes": MOST_BYTES, "files": MOST_FILES, "paths": allow_paths, "splits": list(PATTERNS)}
        files = site_files(tokenizers, opens=limits, live=live is not None)
        self.files = {f"/{name}": (_CONTENT_TYPES[Path(name).suffix], content) for name, content in files.items()}
        self.files["/"] = self.files["/index.html"]
        self.one_at_a_time = threading.Lock()  # ten dropped files must not take ten times the memory

    def server_bind(self) -> None:
        TCPServer.server_bind(self)  # HTTPServer would ask the network for the name of the address too
        self.server_port = self.server_address[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):  # the browser hung up
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """Answers the requests of the page, and refuses those that do not come from it."""

    server: Server
    protocol_version = "HTTP/1.1"
    timeout = 60  # seconds without a byte

    def answer(self) -> None:
        path, _, words = self.path.partition("?")
        query = {name: values[-1] for name, values in parse_qs(words).items()}
        if problem := self.problem():
            self.refuse(problem, 403)
        elif self.headers.get("Upgrade") is not None:
            self.refuse("this server speaks HTTP/1.1 only", 400)
        elif self.command not in ("GET", "HEAD", "POST") or (self.command == "POST") != (path in _POSTED):
            self.refuse("no such file", 404 if self.command in ("GET", "HEAD") else 405)
        elif self.command == "POST":
            self.open(path, query)
        elif path in self.server.files:
            self.reply(*self.server.files[path])
        elif path == "/training" and self.server.live is not None:
            first = query.get("from", "0")
            state = self.server.live.state(int(first[:9]) if first.isdecimal() else 0)
            self.reply(_JSON, json.dumps(state, default=bytes.hex).encode())
        else:
            self.refuse("no such file", 404)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = answer

    def open(self, path: str, query: Mapping[str, str]) -> None:
        """Answer with the packed tokenizer of an upload or of a path, or with an error."""
        split = query.get("split")
        load: Callable[[], tuple[str, bytes]]
        try:
            if path == "/open-path":
                if not self.server.allow_paths:
                    return self.refuse("to open paths, start the playground with `tokenmill play --paths`", 403)
                file = _requested_path(self.body(_MOST_HEAD))
                load = partial(_pack_path, file, split, tokenizer_name(file), printable(file.name))
            else:
                files = _unframe(self.body(MOST_BYTES + _MOST_HEAD))
                load = partial(_pack_files, files, query.get("folder", ""), split)
        except TokenmillError as error:
            return self.refuse(str(error), 400)
        try:
            with self.server.one_at_a_time:
                name, packed = load()
        except UsageError as error:  # a missing split pattern is a question to the user, not a failure
            return self.refuse(str(error), 422) if split else self.refuse(str(error), 200, splits=list(PATTERNS))
        except (TokenmillError, OSError) as error:
            return self.refuse(str(error), 422)
        self.reply(_BINARY, packed, name=name)

    def body(self, most: int) -> bytes:
        """Return the body of the request. Raises UsageError if it has more than `most` bytes or no Content-Length."""
        length = self.headers.get("Content-Length", "")
        if not re.fullmatch("[0-9]{1,19}", length) or int(length) > most:
            raise UsageError(f"too large: at most {most >> 20} MiB can be opened here")
        body = self.rfile.read(int(length))
        self.has_body = False
        return body

    def refuse(self, error: str, status: int, **more: Any) -> None:
        self.reply(_JSON, json.dumps({"error": error, **more}).encode(), status)

    def reply(self, content_type: str, content: bytes, status: int = 200, name: str | None = None) -> None:
        self.close_connection = self.close_connection or self.has_body
        self.send_response(status)
        if name is not None:
            self.send_header("X-Name", quote(name))
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)
        if self.has_body:  # the answer is lost if the connection is closed while the body arrives
            self.connection.settimeout(0.5)
            with contextlib.suppress(OSError):
                any(not self.rfile.read1(1 << 16) for _ in range(2 * MOST_BYTES >> 16))

    def parse_request(self) -> bool:
        parsed = super().parse_request()
        self.has_body = parsed and ("Content-Length" in self.headers or "Transfer-Encoding" in self.headers)
        return parsed

    def end_headers(self) -> None:
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        super().end_headers()

    def version_string(self) -> str:
        return "tokenmill"

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: the terminal shows the address only."""

    def problem(self) -> str | None:
        """Return the reason to refuse the request, or None."""
        hosts, origins = self.headers.get_all("Host", []), self.headers.get_all("Origin", [])
        if len(hosts) != 1 or hosts[0].lower() not in self.server.hosts:
            return "foreign Host header: this server answers only to its own name"
        if any(origin.lower() not in self.server.origins for origin in origins) or len(origins) > 1:
            return "foreign Origin header: only the page itself may ask"
        if self.command not in ("GET", "HEAD") and not origins:
            return "no Origin header: only the page itself may ask"
        if any(site not in ("same-origin", "none") for site in self.headers.get_all("Sec-Fetch-Site", [])):
            return "a request from another site: only the page itself may ask"
        return None


def _requested_path(body: bytes) -> Path:
    try:
        path = json.loads(body)["path"]
        if not isinstance(path, str) or "\0" in path:
            raise ValueError
        os.fsencode(path)
        return Path(path).expanduser()
    except (ValueError, KeyError, TypeError, RuntimeError) as error:  # JSON nested too deep; no such user
        raise UsageError('expected {"path": "..."}') from error


def _unframe(body: bytes) -> list[tuple[str, bytes]]:
    """Return the files of an upload: the length of the head (4 bytes), the head (JSON: name and size of each), the contents."""
    wrong = UsageError("the upload is damaged: it does not contain the files that its head lists")
    length = int.from_bytes(body[:4], "little")
    if len(body) < 4 + length or length > _MOST_HEAD:
        raise wrong
    try:
        head = [(str(file["name"]), int(file["size"])) for file in json.loads(body[4 : 4 + length])]
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise wrong from error
    if not 1 <= len(head) <= MOST_FILES or any(size < 0 for _, size in head):
        raise UsageError(f"a tokenizer is 1 to {MOST_FILES} files; the upload has {len(head)}")
    files, offset = dict[str, bytes](), 4 + length
    for path, size in head:
        # The file name with plain characters only. The loaders recognize some files by name.
        name = re.sub(r"[^A-Za-z0-9._-]", "_", re.split(r"[/\\]", path)[-1])[-100:].lstrip(".") or "file"
        while name in files:  # names that differ in other characters only
            name = f"_{name}"
        files[name] = body[offset : offset + size]
        offset += size
    if offset != len(body):
        raise wrong
    return [*files.items()]


def _pack_files(files: list[tuple[str, bytes]], folder: str, split: str | None) -> tuple[str, bytes]:
    """Return the name and the packed tokenizer of uploaded files. They are named by their folder if they come from one."""
    names = sorted(name for name, _ in files)
    name = tokenizer_name(Path(folder, COMMON[0])) if folder else " + ".join(sorted(Path(each).stem for each in names))
    source = printable(folder) if folder else " + ".join(names)
    with tempfile.TemporaryDirectory(prefix="tokenmill-play-") as temporary:
        for file, content in files:
            Path(temporary, file).write_bytes(content)
        try:
            return _pack_path(Path(temporary, names[0] if len(files) == 1 else ""), split, name[:80], source[:80])
        except TokenmillError as error:
            message = str(error).replace(f"{temporary}/", "").replace(temporary, "the folder")
            raise type(error)(message) from error


def _pack_path(path: Path, split: str | None, name: str, source: str) -> tuple[str, bytes]:
    return name, pack(name, read(path, split), None, source)


def serve(
    tokenizers: Sequence[Shown],
    port: int | None = None,
    *,
    allow_paths: bool = False,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve the playground on 127.0.0.1 until interrupted. ready: called with the address once the server answers."""
    packed = [(each[0], pack(*each)) for each in tokenizers]
    with Server(packed, port, allow_paths) as server, contextlib.suppress(KeyboardInterrupt):  # Ctrl-C ends it
        if ready is not None:
            ready(f"http://127.0.0.1:{server.server_port}/")
        server.serve_forever()


class LiveTraining:
    """A local server whose page polls the state of a training.

    events: the `Events` that the training calls (cli/train.py).
    ready: called with the address of the view that shows the training.
    """

    def __init__(self, events: Any, ready: Callable[[str], None]) -> None:
        self.events, self.over = events, False
        self.tokenizer: dict[str, str] | None = None
        self.server = Server([(STARTER.stem, pack(*starter()))], live=self)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        ready(f"http://127.0.0.1:{self.server.server_port}/#view=training")

    def state(self, first: int) -> dict[str, Any]:
        """Return the state for JSON (bytes in hex), with the counts of the merges from number `first` on."""
        stage, done, total = self.events.stage
        return {
            "stage": stage,
            "done": done,
            "total": total,
            "over": self.over,
            "removals": self.events.removals,
            "counts": self.events.counts[first:].tolist(),
            "tokenizer": self.tokenizer,
            "latest": [asdict(event) for event in list(self.events.latest)],
        }

    def publish(self, name: str, vocabulary: Vocabulary) -> None:
        """End the training on the page, and add the trained vocabulary to it, if the page can show it."""
        with contextlib.suppress(ConversionError):
            self.server.files["/packs/trained.tmpack"] = _BINARY, pack(name, vocabulary)
            self.tokenizer = {"name": name, "pack": "packs/trained.tmpack"}
        self.over = True
