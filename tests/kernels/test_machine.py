import subprocess
import sys

from tokenmill.kernels.machine import available_cores, free_memory


def test_memory_and_cores_are_positive():
    assert 1 << 20 < free_memory() < 1 << 50
    assert 1 <= available_cores() < 1 << 20


def test_the_peak_of_memory_is_not_that_of_the_parent_process():
    code = "from tokenmill.kernels.machine import peak_memory; print(peak_memory())"
    held = bytearray(b"x") * (300 << 20)
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0 <= int(result.stdout) < len(held)
