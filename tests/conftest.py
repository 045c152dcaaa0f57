"""Shared by all tests: the place of the real corpora, and a guard against stale builds."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import hypothesis
import pytest

from stale_build import stale_kernels

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("TOKENMILL_SHARED", ROOT.parent / "shared"))

_SLOW = {"browser", "cluster", "test_readme.py", "test_typing.py"}  # folders and files

# Tests check results, not times: a busy machine is not a failure.
hypothesis.settings.register_profile("patient", deadline=None)
hypothesis.settings.load_profile("patient")

os.environ["TOKENMILL_CACHE"] = ""  # nothing is kept between tests
os.fsync = lambda descriptor: None  # tests wait for a slow disk most of their time; none of them cuts the power

# With the compiled modules on disk, a process under test starts twice as fast.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    """Allow each test of a larger sweep an hour."""
    if int(os.environ.get("TOKENMILL_SWEEP", "1")) > 1:
        config.option.timeout = 3600


def pytest_collection_modifyitems(items):
    """The slowest files go first: at the end, one process would wait for the other."""
    items.sort(key=lambda item: not _SLOW.intersection((item.path.parent.name, item.path.name)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """With --dist loadfile, give the folder cluster/ to one process as if it were a file: it starts one Ray."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class OneCluster(LoadFileScheduling):
        def _split_scope(self, nodeid):
            scope = super()._split_scope(nodeid)
            return "cluster" if "/cluster/" in scope else scope

    return OneCluster(config, log)


def pytest_sessionstart(session):
    """Refuse to test a compiled module that is older than its sources."""
    import tokenmill

    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a background job; processes under test inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if ROOT not in Path(tokenmill.__file__).resolve().parents:
        return
    if stale := stale_kernels(ROOT / "src"):
        pytest.exit(f"{stale[0]} is newer than a module compiled from it: run `make build`", returncode=4)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with corpus/ and vocab/; tests that need it are skipped where it is absent."""
    if not (SHARED / "corpus").is_dir():
        pytest.skip(f"needs the real corpora in {SHARED} (set TOKENMILL_SHARED)")
    return SHARED


@pytest.fixture(scope="session")
def corpus_bytes(shared):
    """corpus_bytes("en", 10_000_000): the first bytes of a shared corpus, cut at the last newline."""
    import zstandard

    def read(name: str, size: int = -1) -> bytes:
        with zstandard.open(shared / "corpus" / f"{name}.txt.zst", "rb") as file:
            data = file.read(size)
        return data if size < 0 else data[: data.rfind(b"\n") + 1]

    return read


@pytest.fixture(scope="session")
def chromium():
    """The one Chromium of the session, driven by Playwright; tests that need it are skipped where either is absent.

    Playwright's synchronous interface can be started only once in a process, so no test starts its own. Its driver, a
    child process, stays until the session's end.
    """
    api = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install 'tokenmill[test]'")
    names = ("chromium", "chromium-browser", "google-chrome")
    path = os.environ.get("TOKENMILL_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if path is None:
        pytest.skip("needs Chromium: apt-get install chromium, or name one in TOKENMILL_CHROMIUM")
    quiet = ("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, headless=True, args=["--no-sandbox", "--disable-gpu", *quiet]
        )
        yield browser
        browser.close()


@pytest.fixture
def full_disk(tmp_path):
    """A file system of 256 kB; tests that need one are skipped where mounting is not permitted."""
    folder = tmp_path / "small-disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("needs permission to mount a small tmpfs")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)
