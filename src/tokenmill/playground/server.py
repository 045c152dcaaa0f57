"""The local page: a small server on the loopback interface that hands out the page and packed vocabularies.

Encoding happens in the browser, so the server never sees a text. What it accepts is guarded: it answers only to its own
names in the Host header, refuses requests that a foreign page makes (Origin, Sec-Fetch-Site), takes uploads of bounded
size, and reads them with the library's own loaders in a temporary folder.
"""

from __future__ import annotations

import json
import re
import socket
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import TokenmillError, UsageError, require
from ..vocabulary import Vocabulary
from .pack import TokenCounts, pack

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = [
    "DEFAULT_PORT",
    "MOST_BYTES",
    "MOST_FILES",
    "STATIC",
    "bind",
    "catalog",
    "make_app",
    "name_of",
    "page_files",
    "serve",
]

STATIC = Path(__file__).parent / "static"
DEFAULT_PORT = 8765
MOST_BYTES = 64 << 20  # of an upload: the largest published tokenizer.json has some 30 MB
MOST_FILES = 16
_MOST_HEAD = 64 << 10
_KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}

# What the page may do: nothing but load its own files. The same policy stands in index.html, for static hosts.
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
    """The files of the page by name, as they were built."""
    return {path.name: path.read_bytes() for path in sorted(STATIC.iterdir()) if path.suffix in _KINDS}


def catalog(names: Sequence[str]) -> dict[str, Any]:
    """What the page reads first: the tokenizers that it finds beside it."""
    return {
        "version": 1,
        "tokenizers": [{"name": name, "pack": f"packs/{i}.tmpack"} for i, name in enumerate(names)],
    }


def make_app(tokenizers: Sequence[tuple[str, bytes]], port: int, allow_paths: bool = False) -> Starlette:
    """The application that serves the page with `tokenizers`: their names and packed vocabularies.

    port: the port it is reached at, which the Host and Origin headers must name.
    allow_paths: whether the page may ask for any file of this machine to be opened as a tokenizer.
    """
    require("starlette", "play", "the playground")
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    from ..vocabulary.patterns import PATTERNS

    files = page_files()
    listing = catalog([name for name, _ in tokenizers])
    listing["opens"] = {"bytes": MOST_BYTES, "files": MOST_FILES, "paths": allow_paths, "splits": list(PATTERNS)}
    one_at_a_time = threading.Lock()

    async def page(request: Request) -> Response:
        name = request.path_params.get("name", "index.html")
        if name not in files:
            return JSONResponse({"error": "no such file"}, 404)
        return Response(files[name], media_type=_KINDS[Path(name).suffix])

    async def list_tokenizers(request: Request) -> Response:
        return JSONResponse(listing)

    async def get_pack(request: Request) -> Response:
        number = request.path_params["number"]
        if number >= len(tokenizers):
            return JSONResponse({"error": "no such tokenizer"}, 404)
        return Response(tokenizers[number][1], media_type="application/octet-stream")

    async def open_files(request: Request) -> Response:
        try:
            uploaded = _unframe(await _body(request, MOST_BYTES + _MOST_HEAD))
        except TokenmillError as error:
            return JSONResponse({"error": str(error)}, 400)
        return await _answer(lambda split: _pack_files(uploaded, split), request.query_params.get("split"))

    async def open_path(request: Request) -> Response:
        if not allow_paths:
            return JSONResponse({"error": "paths are opened only where `tokenmill play` was started with --paths"}, 403)
        try:
            path = json.loads(await _body(request, _MOST_HEAD))["path"]
            if not isinstance(path, str) or "\0" in path:
                raise ValueError
        except (ValueError, KeyError, TypeError, TokenmillError):
            return JSONResponse({"error": 'expected {"path": "..."}'}, 400)
        return await _answer(
            lambda split: _pack_path(Path(path).expanduser(), split), request.query_params.get("split")
        )

    async def _answer(open: Callable[[str | None], tuple[str, bytes]], split: str | None) -> Response:
        from urllib.parse import quote

        from starlette.concurrency import run_in_threadpool

        def guarded() -> tuple[str, bytes]:
            with one_at_a_time:  # so that ten dropped files do not take ten times the memory
                return open(split)

        try:
            name, packed = await run_in_threadpool(guarded)
        except UsageError as error:
            if split:
                return JSONResponse({"error": str(error)}, 422)
            return JSONResponse({"error": str(error), "splits": list(PATTERNS)})  # a question, not a failure
        except TokenmillError as error:
            return JSONResponse({"error": str(error)}, 422)
        return Response(packed, media_type="application/octet-stream", headers={"X-Name": quote(name)})

    return Starlette(
        routes=[
            Route("/", page),
            Route("/catalog.json", list_tokenizers),
            Route("/packs/{number:int}.tmpack", get_pack),
            Route("/open", open_files, methods=["POST"]),
            Route("/open-path", open_path, methods=["POST"]),
            Route("/{name}", page),
        ],
        middleware=[Middleware(_Guard, port=port)],
    )


class _Guard:
    """Refuses what does not come from the page itself, and puts the security headers on every answer."""

    def __init__(self, app: Callable, port: int):
        self.app = app
        self.hosts = {f"{host}:{port}" for host in ("127.0.0.1", "localhost")}
        self.origins = {f"http://{host}" for host in self.hosts}

    async def __call__(self, scope: dict, receive: Callable, send: Callable) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # there are no web sockets here

        async def send_guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                extra = [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]
                message["headers"] = [*message.get("headers", []), *extra]
            await send(message)

        problem = self.problem(scope)
        if problem is None:
            await self.app(scope, receive, send_guarded)
            return
        from starlette.responses import PlainTextResponse

        await PlainTextResponse(problem, 403)(scope, receive, send_guarded)

    def problem(self, scope: dict) -> str | None:
        """Why a request is refused, or None."""
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        if len(headers.get("host", [])) != 1 or headers["host"][0].lower() not in self.hosts:
            return "foreign Host header: this server answers to the name it was started under only"
        origins = headers.get("origin", [])
        if any(origin.lower() not in self.origins for origin in origins) or len(origins) > 1:
            return "foreign Origin header: only the page itself may ask"
        if scope["method"] not in ("GET", "HEAD") and not origins:
            return "no Origin header: only the page itself may ask"
        if any(site not in ("same-origin", "none") for site in headers.get("sec-fetch-site", [])):
            return "a request from another site: only the page itself may ask"
        return None


async def _body(request: Request, most: int) -> bytes:
    """The body of a request, of at most `most` bytes; nothing more than that is ever held."""
    length = request.headers.get("content-length", "0")
    if length.isdigit() and int(length) <= most:
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > most:
                break
        else:
            return bytes(body)
    raise UsageError(f"more than the {most >> 20} MiB that may be opened here")


def _unframe(body: bytes) -> list[tuple[str, bytes]]:
    """The files of an upload: the length of a head (4 bytes), the head (JSON: name and size of each), the contents."""
    wrong = UsageError("the upload is damaged: it does not hold the files that its head announces")
    length = int.from_bytes(body[:4], "little")
    if len(body) < 4 + length or length > _MOST_HEAD:
        raise wrong
    try:
        head = [(str(file["name"]), int(file["size"])) for file in json.loads(body[4 : 4 + length])]
    except (ValueError, KeyError, TypeError) as error:
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
    """The last part of a file's name, of plain characters only; the loaders know some files by their names."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", re.split(r"[/\\]", name)[-1])[-100:].lstrip(".") or "file"


def _pack_files(files: list[tuple[str, bytes]], split: str | None) -> tuple[str, bytes]:
    from ..formats import read

    with tempfile.TemporaryDirectory(prefix="tokenmill-play-") as folder:
        for name, content in files:
            Path(folder, name).write_bytes(content)
        try:
            vocabulary = read(Path(folder, files[0][0]) if len(files) == 1 else folder, split)
        except TokenmillError as error:
            message = str(error).replace(f"{folder}/", "").replace(folder, "the folder")
            raise type(error)(message) from error
    name = name_of(Path(files[0][0])) if len(files) == 1 and files[0][0] != "tokenizer.json" else "opened"
    return name, pack(vocabulary, name)


def _pack_path(path: Path, split: str | None) -> tuple[str, bytes]:
    from ..formats import read

    vocabulary = read(path, split)
    name = name_of(path)
    return name, pack(vocabulary, name)


def name_of(path: Path) -> str:
    """What the page calls the tokenizer at `path`: the name of its folder or of its file."""
    name = path.name
    for suffix in (".gz", ".bz2", ".xz", ".zst"):
        name = name.removesuffix(suffix)
    if name in ("tokenizer.json", "vocab.json", "merges.txt", "vocab.ddtok", "merges.ddtok"):
        name = path.absolute().parent.name
    for suffix in (".tiktoken", ".json"):
        name = name.removesuffix(suffix)
    return name.replace(",", "_") or str(path)


def bind(port: int | None = None) -> socket.socket:
    """A listening socket on 127.0.0.1: at `port`, or at DEFAULT_PORT if that is free, or else at any free port."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    wanted = [port] if port else [DEFAULT_PORT, 0]
    for number in wanted:
        try:
            listener.bind(("127.0.0.1", number))
            break
        except OSError as error:
            if number == wanted[-1]:
                listener.close()
                raise UsageError(
                    f"port {number} cannot be used: {error.strerror}. Choose another with --port, or leave it out."
                ) from error
    listener.listen(128)
    return listener


def serve(
    tokenizers: Sequence[tuple[str, Vocabulary]],
    port: int | None = None,
    *,
    counts: Mapping[str, TokenCounts] | None = None,
    allow_paths: bool = False,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve the playground on 127.0.0.1 until interrupted.

    tokenizers: names and vocabularies to begin with. counts: for some of the names, the use of each token.
    ready: called with the address once it answers.
    """
    uvicorn = require("uvicorn", "play", "the playground")
    packed = [(name, pack(vocabulary, name, (counts or {}).get(name))) for name, vocabulary in tokenizers]
    listener = bind(port)
    number = listener.getsockname()[1]
    app = make_app(packed, number, allow_paths)

    class Server(uvicorn.Server):  # type: ignore[name-defined]
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if ready is not None and self.started:
                ready(f"http://127.0.0.1:{number}/")

    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, lifespan="off", timeout_graceful_shutdown=1
    )
    try:
        Server(config).run(sockets=[listener])
    except KeyboardInterrupt:
        pass  # how a server is meant to end
    finally:
        listener.close()
