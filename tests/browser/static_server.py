"""A server of plain files, for what the playground exports."""

import contextlib
import http.server
import threading


@contextlib.contextmanager
def file_server(folder):
    """A server that knows nothing but files, as a static host does."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args, **options):
            super().__init__(*args, directory=folder, **options)

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
