"""What make does, without doing it."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_make_test_after_make_demo_compiles_nothing(tmp_path):
    def commands(target: str) -> str:
        dry_run = ["make", "-n", target, f"VENV={tmp_path}"]
        return subprocess.run(dry_run, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert "build_ext --inplace" in commands("demo") and "about a minute" in commands("demo")
    (tmp_path / "bin").mkdir()
    later = time.time() + 3600  # as after `make demo`
    for name in ("bin/python", ".compiled", ".base"):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (later, later))
    assert "build_ext" not in commands("demo")
    installs = [line for line in commands("test").splitlines() if "pip install" in line]
    assert "build_ext" not in commands("test") and len(installs) == 1
    assert installs[0].startswith("TOKENMILL_COMPILED=1 ") and "--no-build-isolation" in installs[0]


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_make_wheel_makes_the_folder_of_its_log(tmp_path):
    dry_run = ["make", "-n", "wheel", f"VENV={tmp_path}"]
    said = subprocess.run(dry_run, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "mkdir -p build " in said and said.index("mkdir -p build ") < said.index("build/wheel.log")


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_make_wheel_repairs_only_on_linux(tmp_path):
    """auditwheel refuses to run elsewhere."""

    def commands(system: str) -> str:
        dry_run = ["make", "-n", "wheel", f"VENV={tmp_path}", f"SYSTEM={system}"]
        return subprocess.run(dry_run, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert "auditwheel repair --wheel-dir dist" in commands("Linux")
    assert "auditwheel" not in commands("Darwin") and "cp build/wheel/*.whl dist/" in commands("Darwin")
