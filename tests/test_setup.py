"""setup.py gives each compiler flags that it knows."""

import json
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FLAGS_OF = """
import json, sys, types
from setuptools import Extension
from setuptools.command.build_ext import build_ext
from distutils.core import run_setup
command = run_setup("setup.py", ["build_ext"], "init").get_command_obj("build_ext")
command.force = True
command.extensions = [Extension("kernel", ["kernel.c"])]
command.compiler = types.SimpleNamespace(compiler_type=sys.argv[1])
build_ext.build_extensions = lambda self: print(json.dumps(self.extensions[0].extra_compile_args))
command.build_extensions()
"""


@pytest.mark.parametrize(("compiler", "first"), [("msvc", "/"), ("unix", "-"), ("mingw32", "-")])
def test_flags_are_those_of_the_compiler(compiler, first, monkeypatch):
    if not (ROOT / "setup.py").exists():
        pytest.skip("needs the source tree")
    monkeypatch.setenv("TOKENMILL_COMPILED", "1")  # no kernel is compiled here
    command = [sys.executable, "-c", FLAGS_OF, compiler]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    flags = json.loads(result.stdout.splitlines()[-1])
    assert flags and all(flag.startswith(first) for flag in flags)


def test_a_process_that_imports_setup_py_builds_nothing(monkeypatch):
    """Cython compiles in processes, which import the main file where they are not forked."""
    if not (ROOT / "setup.py").exists():
        pytest.skip("needs the source tree")
    program = "import runpy, setuptools; setuptools.setup = None; runpy.run_path('setup.py', run_name='__mp_main__')"
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


def test_without_a_compiler_one_line_says_what_to_install(monkeypatch):
    if not (ROOT / "setup.py").exists() or os.name == "nt":
        pytest.skip("needs the source tree")
    monkeypatch.setenv("CC", "/nonexistent/cc")
    monkeypatch.delenv("TOKENMILL_COMPILED", raising=False)
    result = subprocess.run([sys.executable, "setup.py", "build_ext"], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 1 and result.stderr.count("\n") == 1 and "apt-get install gcc" in result.stderr


@pytest.mark.skipif(shutil.which("git") is None or not (ROOT / ".git").exists(), reason="needs a clone")
def test_a_source_distribution_has_every_file_and_needs_no_compiler(tmp_path):
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    program = f"""
import sys, setuptools
from distutils.core import run_setup
distribution = run_setup("setup.py", ["sdist"], "init")
distribution.get_command_obj("egg_info").egg_base = {str(tmp_path)!r}
command = distribution.get_command_obj("sdist")
command.make_distribution = lambda: print(*command.filelist.files, sep="\\n", file=sys.stderr)
command.archive_files = []
command.run()
"""
    environment = {**os.environ, "CC": "/nonexistent/cc"}
    command = [sys.executable, "-c", program]
    listed = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stderr
    assert {*filter(None, tracked)} <= {*listed.splitlines()}
    assert not [name for name in listed.splitlines() if name.endswith((".so", ".c"))]


def test_a_kernel_is_compiled_again_for_the_headers_that_it_includes(tmp_path, monkeypatch):
    if not (ROOT / "setup.py").exists():
        pytest.skip("needs the source tree")
    monkeypatch.chdir(ROOT)
    kernel = tmp_path / "kernel.c"
    kernel.write_text('#include "Python.h"\n    #include "tokenmill/split/_simd_scan.h"\n')
    headers = runpy.run_path("setup.py")["headers_of"](str(kernel))
    names = "split/_simd_scan.h", "split/_byte_pairs.h", "split/_simd_lanes.h", "kernels/_utf8.h", "kernels/_platform.h"
    assert headers == {f"src/tokenmill/{name}" for name in names}
