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
import socket
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import TokenmillError, UsageError, printable, require
from ..quality.names import COMMON, tokenizer_name
from ..vocabulary import Vocabulary
from .pack import TokenCounts, pack

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

STATIC = Path(__file__).parent / "static"
DEFAULT_PORT = 8765
MOST_BYTES = 64 << 20  # of an upload; the largest published tokenizer.json has about 30 MB
MOST_FILES = 16
_MOST_HEAD = 64 << 10
_KINDS = {
    ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".txt": "text/plain",
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
    """The built files of the page by name."""
    return {path.name: path.read_bytes() for path in sorted(STATIC.iterdir()) if path.suffix in _KINDS}


def catalog(names: Sequence[str]) -> dict[str, Any]:
    """The list of tokenizers, which the page reads first."""
    return {
        "version": 1,
        "tokenizers": [{"name": name, "pack": f"packs/{i}.tmpack"} for i, name in enumerate(names)],
    }


def make_app(tokenizers: Sequence[tuple[str, bytes]], port: int, allow_paths: bool = False) -> Starlette:
    """The application that serves the page with `tokenizers`: their names and packed vocabularies.

    port: the port it is reached at, which the Host and Origin headers must name.
    allow_paths: whether the page may open any file of this machine as a tokenizer.
    """
    require("starlette", "play", "the playground")
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.routing import Route

    handlers = _Handlers(tokenizers, allow_paths)
    return Starlette(
        routes=[
            Route("/", handlers.page),
            Route("/catalog.json", handlers.catalog),
            Route("/packs/{name}", handlers.pack),
            Route("/open", handlers.open_files, methods=["POST"]),
            Route("/open-path", handlers.open_path, methods=["POST"]),
            Route("/{name}", handlers.page),
        ],
        middleware=[Middleware(_Guard, port=port)],
    )


class _Handlers:
    """The requests of the page."""

    def __init__(self, tokenizers: Sequence[tuple[str, bytes]], allow_paths: bool):
        from ..split.patterns import PATTERNS

        self.files = page_files()
        self.packs = {f"{i}.tmpack": packed for i, (_, packed) in enumerate(tokenizers)}
        self.splits = list(PATTERNS)
        self.allow_paths = allow_paths
        self.listing = catalog([name for name, _ in tokenizers])
        limits = {"bytes": MOST_BYTES, "files": MOST_FILES}
        self.listing["opens"] = limits | {"paths": allow_paths, "splits": self.splits}
        self.one_at_a_time = threading.Lock()  # ten dropped files must not take ten times the memory

    async def page(self, request: Request) -> Response:
        name = request.path_params.get("name", "index.html")
        return _file(self.files.get(name), _KINDS.get(Path(name).suffix, ""))

    async def catalog(self, request: Request) -> Response:
        return _json(self.listing)

    async def pack(self, request: Request) -> Response:
        return _file(self.packs.get(request.path_params["name"]))

    async def open_files(self, request: Request) -> Response:
        try:
            uploaded = _unframe(await _body(request, MOST_BYTES + _MOST_HEAD))
        except TokenmillError as error:
            return _json({"error": str(error)}, 400)
        folder = request.query_params.get("folder", "")
        return await self.answer(lambda split: _pack_files(uploaded, folder, split), request.query_params.get("split"))

    async def open_path(self, request: Request) -> Response:
        if not self.allow_paths:
            return _json({"error": "to open paths, start the playground with `tokenmill play --paths`"}, 403)
        try:
            path = json.loads(await _body(request, _MOST_HEAD))["path"]
            if not isinstance(path, str) or "\0" in path:
                raise ValueError
            os.fsencode(path)
            place = Path(path).expanduser()
        except (ValueError, KeyError, TypeError, RuntimeError, TokenmillError):  # JSON nested too deep; no such user
            return _json({"error": 'expected {"path": "..."}'}, 400)
        return await self.answer(
            lambda split: _pack_path(place, split, tokenizer_name(place), printable(place.name)), request.query_params.get("split")
        )

    async def answer(self, open: Callable[[str | None], tuple[str, bytes]], split: str | None) -> Response:
        """The packed tokenizer that `open` gives for a split pattern, or why there is none."""
        from urllib.parse import quote

        from starlette.concurrency import run_in_threadpool
        from starlette.responses import Response

        def guarded() -> tuple[str, bytes]:
            with self.one_at_a_time:
                return open(split)

        try:
            name, packed = await run_in_threadpool(guarded)
        except UsageError as error:
            if split:
                return _json({"error": str(error)}, 422)
            return _json({"error": str(error), "splits": self.splits})  # a question, not a failure
        except (TokenmillError, OSError) as error:
            return _json({"error": str(error)}, 422)
        return Response(packed, media_type="application/octet-stream", headers={"X-Name": quote(name)})


def _json(content: dict[str, Any], status: int = 200) -> Response:
    from starlette.responses import JSONResponse

    return JSONResponse(content, status)


def _file(content: bytes | None, kind: str = "application/octet-stream") -> Response:
    from starlette.responses import Response

    return _json({"error": "no such file"}, 404) if content is None else Response(content, media_type=kind)


class _Guard:
    """Refuses requests that do not come from the page itself, and adds the security headers to every answer."""

    def __init__(self, app: Callable, port: int):
        self.app = app
        self.hosts = {f"{host}:{port}" for host in ("127.0.0.1", "localhost")}
        self.origins = {f"http://{host}" for host in self.hosts}

    async def __call__(self, scope: dict, receive: Callable, send: Callable) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # a WebSocket: closed before it is accepted, it gets status 403
            await receive()
            await send({"type": "websocket.close"})
            return

        async def send_guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                extra = [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]
                message["headers"] = [*message.get("headers", []), *extra]
            await send(message)

        from starlette.responses import PlainTextResponse

        problem = self.problem(scope)
        if problem is not None:
            await PlainTextResponse(problem, 403)(scope, receive, send_guarded)
        elif any(name.lower() == b"upgrade" for name, _ in scope["headers"]):
            await PlainTextResponse("this server speaks HTTP/1.1 only", 400)(scope, receive, send_guarded)
        else:
            await self.app(scope, receive, send_guarded)

    def problem(self, scope: dict) -> str | None:
        """The reason to refuse a request, or None."""
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        if len(headers.get("host", [])) != 1 or headers["host"][0].lower() not in self.hosts:
            return "foreign Host header: this server answers only to its own name"
        origins = headers.get("origin", [])
        if any(origin.lower() not in self.origins for origin in origins) or len(origins) > 1:
            return "foreign Origin header: only the page itself may ask"
        if scope["method"] not in ("GET", "HEAD") and not origins:
            return "no Origin header: only the page itself may ask"
        if any(site not in ("same-origin", "none") for site in headers.get("sec-fetch-site", [])):
            return "a request from another site: only the page itself may ask"
        return None


async def _body(request: Request, most: int) -> bytes:
    """The body of a request, of at most `most` bytes. Never holds more than that."""
    length = request.headers.get("content-length", "0")
    if length.isdigit() and int(length) <= most:
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > most:
                break
        else:
            return bytes(body)
    raise UsageError(f"too large: at most {most >> 20} MiB can be opened here")


def _unframe(body: bytes) -> list[tuple[str, bytes]]:
    """The files of an upload: the length of the head (4 bytes), the head (JSON: name and size of each), the contents."""
    wrong = UsageError("the upload is damaged: it does not hold the files that its head lists")
    length = int.from_bytes(body[:4], "little")
    if len(body) < 4 + length or length > _MOST_HEAD:
        raise wrong
    try:
        head = [(str(file["name"]), int(file["size"])) for file in json.loads(body[4 : 4 + length])]
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise wrong from error
    if not 1 <= len(head) <= MOST_FILES or any(size < 0 for _, size in head):
        raise UsageError(f"a tokenizer is 1 to {MOST_FILES} files; the upload has {len(head)}")
    files, at = [], 4 + length
    for name, size in head:
        files.append((_safe_name(name), body[at : at + size]))
        at += size
    if at != len(body) or len({name for name, _ in files}) != len(files):
        raise wrong
    return files


def _safe_name(name: str) -> str:
    """The last part of a file name, plain characters only. The loaders recognise some files by name."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", re.split(r"[/\\]", name)[-1])[-100:].lstrip(".") or "file"


def _pack_files(files: list[tuple[str, bytes]], folder: str, split: str | None) -> tuple[str, bytes]:
    """The name and the pack of uploaded files, which are named by their folder if they come from one."""
    first = files[0][0]
    name = tokenizer_name(Path(folder, COMMON[0])) if folder else " + ".join(sorted(Path(one).stem for one, _ in files))
    source = printable(folder) if folder else " + ".join(sorted(one for one, _ in files))
    with tempfile.TemporaryDirectory(prefix="tokenmill-play-") as place:
        for file, content in files:
            Path(place, file).write_bytes(content)
        try:
            return _pack_path(Path(place, first) if len(files) == 1 else Path(place), split, name[:80], source[:80])
        except TokenmillError as error:
            message = str(error).replace(f"{place}/", "").replace(place, "the folder")
            raise type(error)(message) from error


def _pack_path(path: Path, split: str | None, name: str, source: str) -> tuple[str, bytes]:
    from ..formats import read

    return name, pack(read(path, split), name, None, source)


def bind(port: int | None = None) -> socket.socket:
    """A listening socket on 127.0.0.1: at `port`; without one at DEFAULT_PORT, or at any port if that is taken."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port or DEFAULT_PORT))
    except OSError as error:
        if port:
            listener.close()
            message = f"port {port} cannot be used: {error.strerror}. Choose another port, or leave it out."
            raise UsageError(message) from error
        listener.bind(("127.0.0.1", 0))
    listener.listen(128)
    return listener


def serve(
    tokenizers: Sequence[tuple[str, Vocabulary]],
    port: int | None = None,
    *,
    counts: Mapping[str, TokenCounts] | None = None,
    sources: Mapping[str, str] | None = None,
    allow_paths: bool = False,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve the playground on 127.0.0.1 until interrupted.

    tokenizers: the names and vocabularies on the page at first.
    counts: for some of the names, how often each token is used.
    sources: for some of the names, the file or folder that it was read from.
    ready: called with the address once the server answers.
    """
    uvicorn = require("uvicorn", "play", "the playground")
    packed = [
        (name, pack(vocabulary, name, (counts or {}).get(name), (sources or {}).get(name, "")))
        for name, vocabulary in tokenizers
    ]
    listener = bind(port)
    number = listener.getsockname()[1]
    app = make_app(packed, number, allow_paths)

    class Server(uvicorn.Server):  # type: ignore[name-defined]
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if ready is not None and self.started:
                ready(f"http://127.0.0.1:{number}/")

    config = uvicorn.Config(
        app,
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="off",
        timeout_graceful_shutdown=1,
    )
    with listener, contextlib.suppress(KeyboardInterrupt):  # Ctrl-C is the way to stop the server
        Server(config).run(sockets=[listener])
