"""Each program in fuzz/ still runs: a second of random input each."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("program", sorted(path.name for path in (ROOT / "fuzz").glob("*.py")))
def test_a_second_of_random_input(program):
    command = [sys.executable, str(ROOT / "fuzz" / program), "1", "7"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=250)
    assert ended.returncode == 0, ended.stderr
    assert "no defect found" in ended.stdout or "number_of_executed_units" in ended.stderr  # which atheris prints
