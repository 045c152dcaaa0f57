"""The front end's own checks, where Node and its packages are: tests, types, lint, and that what is built is current."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WEB = ROOT / "web"
STATIC = ROOT / "src" / "tokenmill" / "playground" / "static"


@pytest.fixture(scope="module")
def node():
    if shutil.which("node") is None:
        pytest.skip("needs Node")
    if not (WEB / "node_modules" / ".package-lock.json").exists():
        pytest.skip("needs the front end's packages: npm ci in web/")

    def run(*arguments):
        return subprocess.run(["node", *arguments], cwd=WEB, capture_output=True, text=True, timeout=240)

    return run


def test_the_built_files_match_their_sources(node, tmp_path):
    done = node("build.mjs", str(tmp_path))
    assert done.returncode == 0, done.stderr
    built = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    kept = {path.name: path.read_bytes() for path in STATIC.iterdir()}
    assert built == kept, "run `npm run build` in web/ and commit src/tokenmill/playground/static"


def test_the_front_end_tests_pass(node):
    done = node("test.mjs")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


@pytest.mark.parametrize(
    "command",
    [["node_modules/typescript/bin/tsc", "--noEmit"], ["node_modules/@biomejs/biome/bin/biome", "check", "."]],
)
def test_types_and_lint(node, command):
    done = node(*command)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def test_the_lock_file_names_no_registry():
    assert '"resolved"' not in (WEB / "package-lock.json").read_text()


def test_source_files_stay_short():
    for path in [*WEB.glob("src/**/*.*"), *WEB.glob("test/*.ts"), *WEB.glob("*.mjs")]:
        assert len(path.read_text().splitlines()) <= 500, path
