"""The playground's page in the shared Chromium: from the local server, and as a static site."""

import contextlib
import threading

import pytest
from static_server import file_server


@pytest.fixture(scope="session")
def serve():
    """serve(folder): the address of its files. A page may ask for more until it is closed, so servers stay for the session."""
    with contextlib.ExitStack() as servers:
        yield lambda folder: servers.enter_context(file_server(folder))


@pytest.fixture(scope="session")
def small_tokenizers():
    """Names and vocabularies of every kind that the encoder knows, without any file: see playground_examples."""
    from playground_examples import vocabularies

    return vocabularies()


class Local:
    """The local server in a thread."""

    def __init__(self, tokenizers, allow_paths=False):
        from tokenmill.playground.pack import pack
        from tokenmill.playground.server import Server

        self.server = Server([(name, pack(name, v)) for name, v in tokenizers], allow_paths=allow_paths)
        self.port = self.server.server_port
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()
        self.address = f"http://127.0.0.1:{self.port}/"

    def stop(self):
        self.server.shutdown()
        self.thread.join(10)
        self.server.server_close()


@pytest.fixture(scope="session")
def local(small_tokenizers):
    """The local server with the small tokenizers, paths allowed."""
    local = Local(small_tokenizers, allow_paths=True)
    yield local
    local.stop()


@pytest.fixture(scope="session")
def site(small_tokenizers, tmp_path_factory, serve):
    """The address of the static export of the small tokenizers, served as files."""
    from tokenmill.playground.export import export

    folder = tmp_path_factory.mktemp("site") / "site"
    export(small_tokenizers, folder)
    return serve(folder)


class Problems(list):
    """What a page complained of: errors in scripts, refused or foreign requests, violations of its policy."""

    def __init__(self):
        self.listeners = {}  # of each page

    def watch(self, page, address):
        listeners = self.listeners[page] = {
            "pageerror": lambda error: self.append(f"error: {error}"),
            "console": lambda message: self.append(message.text) if message.type in ("error", "warning") else None,
            "request": lambda request: self.foreign(request.url, address),
        }
        for event, listener in listeners.items():
            page.on(event, listener)

    def leave(self, page):
        for event, listener in self.listeners[page].items():
            page.remove_listener(event, listener)

    def foreign(self, url, address):
        if not url.startswith((address, "blob:", "data:")):
            self.append(f"a request to {url}")


class SettledPage:
    """A page that is read and used only while nothing is awaited: the worker has answered, and all is drawn.

    `raw` is the page without waiting, for tests of what happens meanwhile.
    """

    def __init__(self, page):
        self.raw = page

    def __getattr__(self, name):
        if not name.startswith(("wait_for", "set_default", "on", "problems", "close", "goto")):
            self.raw.wait_for_function("() => !globalThis.tokenmill?.busy")
        return getattr(self.raw, name)


VIEWPORT = {"width": 1200, "height": 800}


@pytest.fixture(scope="module")
def tab(chromium):
    """The page that the tests of a file use one after another: a new one takes as long as loading the site."""
    context = chromium.new_context(viewport=VIEWPORT)
    yield context.new_page()
    context.close()


@pytest.fixture
def open_page(chromium, tab):
    """open_page(address, fragment="", **context options): a settled page. It must not complain by the end.

    The first page without options is `tab`, the others are new.
    """
    contexts, problems, free = [], Problems(), [tab]

    def open(address, fragment="", **options):
        if free and not options:
            page = free.pop()
        else:
            contexts.append(chromium.new_context(**{"viewport": VIEWPORT, **options}))
            page = contexts[-1].new_page()
        page.set_default_timeout(60_000)
        problems.watch(page, address.split("#")[0])
        page.problems = problems
        page.goto(address + fragment)
        page.wait_for_selector("#tokens .t, #message.problem, #panel-tokens[hidden]", state="attached")
        return SettledPage(page)

    yield open
    for context in contexts:
        context.close()
    if not free:
        tab.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
        tab.goto("about:blank")  # another fragment alone would not load the site again
        tab.set_viewport_size(VIEWPORT)
        tab.context.unroute_all()
        problems.leave(tab)
    assert not problems
