"""Compile and link every kernel for systems that are not at hand, with clang from the package ziglang; warnings are errors.

    python scripts/compile_targets.py [TARGET ...] [--python-source FOLDER]

A target is a name below; without one, all are tried. Windows needs CPython's source tree for its own pyconfig.h: unpack the
source of CPython 3.11 or newer (Debian: `apt-get source python3.11`) and name the folder. The results cannot run here. The
script shows that the compiler of a system accepts the kernels and, for Windows, that every name they call exists there.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import runpy
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGETS = {
    "linux-x86_64": "x86_64-linux-gnu",
    "linux-arm64": "aarch64-linux-gnu",
    "musl-x86_64": "x86_64-linux-musl",
    "macos-arm64": "aarch64-macos",
    "macos-x86_64": "x86_64-macos",
    "windows-x86_64": "x86_64-windows-gnu",
    "windows-arm64": "aarch64-windows-gnu",
    "windows-msvc": "x86_64-pc-windows-msvc",
}
FLAGS = ["-O1", "-fno-strict-aliasing", "-Werror", "-Wno-unused-function", "-Wno-sign-compare"]
# pyconfig.h sets MS_WIN64 for Microsoft's compiler only; the abs() of a Py_ssize_t is Cython's.
WINDOWS_FLAGS = ["-DMS_WIN64", "-Wno-absolute-value"]
# clang-cl with the flags that setup.py gives to Microsoft's compiler, and as that compiler to the preprocessor. Microsoft's own headers
# are not free, so those of mingw-w64 stand in: what they define for another compiler is undone. Nothing is linked.
MSVC_FLAGS = ["-DMS_WIN64", "-D_PID_T_", "-DWIN_PTHREADS_PTHREAD_COMPAT_H", "-DWIN_PTHREADS_TIME_H"]
MSVC_FIRST = """#include <_mingw.h>
#undef __attribute__
#undef __MINGW_ATTRIB_DEPRECATED
#define __MINGW_ATTRIB_DEPRECATED
#undef __MINGW_ATTRIB_NORETURN
#define __MINGW_ATTRIB_NORETURN
"""


def main() -> None:
    """Compile for each target that was asked for; exit with 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--python-source", type=Path, help="CPython's source tree, for Windows")
    options = parser.parse_args()
    unknown = sorted(set(options.targets) - set(TARGETS))
    if unknown:
        parser.error(f"unknown target {unknown[0]!r}; the targets are {', '.join(TARGETS)}")
    python_source = options.python_source and options.python_source.resolve()
    os.chdir(ROOT)
    setup = runpy.run_path("setup.py")
    setup["translate"](setup["kernels"])
    sources = [Path(kernel.sources[0]) for kernel in setup["kernels"]]
    failed = [name for name in options.targets or TARGETS if not compile_all(name, sources, python_source)]
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def compile_all(name: str, sources: list[Path], python_source: Path | None) -> bool:
    """Compile and link each source for one target, print what fails, and return whether nothing did."""
    windows = name.startswith("windows")
    if windows and python_source is None:
        print(f"{name}: left out; it needs --python-source")
        return True
    headers = [python_source / "PC", python_source / "Include"] if windows else [Path(sysconfig.get_path("include"))]
    include = ["-Isrc", *(f"-I{folder}" for folder in headers)]
    command = [sys.executable, "-m", "ziglang", "cc", "-target", TARGETS[name], *FLAGS, *include]
    command += WINDOWS_FLAGS if windows else ["-fPIC"]

    with tempfile.TemporaryDirectory(prefix="tokenmill-") as folder:
        if name == "windows-msvc":
            command = msvc_command(Path(folder), include)

        def build(number: int) -> str:
            """Build one kernel; returns what the compiler said, or "" if all is well."""
            source, target = sources[number], Path(folder, f"{number}.o")
            if name == "windows-msvc":
                said = run([*command, "/c", str(source), f"/Fo{target}"])
            else:
                said = run([*command, "-c", str(source), "-o", str(target)]) or link(name, target)
            return said and f"{source.name}: {said}"

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            failures = [text for text in pool.map(build, range(len(sources))) if text]
    print(*failures, sep="\n", file=sys.stderr, end="\n" if failures else "")
    done = "compile" if name == "windows-msvc" else "compile and link"
    print(f"{name}: {len(sources) - len(failures)} of {len(sources)} kernels {done}", flush=True)
    return not failures


def msvc_command(folder: Path, include: list[str]) -> list[str]:
    """The command of clang-cl with the flags of setup.py."""
    import ziglang

    lib = Path(ziglang.__file__).parent / "lib"
    first = folder / "first.h"
    first.write_text(MSVC_FIRST)
    flags = re.search(r"^MSVC_FLAGS = (\[.*?\])", (ROOT / "setup.py").read_text(), re.M)
    assert flags
    command = [sys.executable, "-m", "ziglang", "clang", "--driver-mode=cl", f"--target={TARGETS['windows-msvc']}"]
    headers = ["-imsvc", str(lib / "include"), "-imsvc", str(lib / "libc" / "include" / "any-windows-any")]
    return [*command, *ast.literal_eval(flags[1]), *include, *headers, *MSVC_FLAGS, f"/FI{first}"]


def link(name: str, compiled: Path) -> str:
    """Link one kernel. On Windows every name needs a library, so one is made of the names that are CPython's."""
    zig = [sys.executable, "-m", "ziglang"]
    flags = ["-shared", "-o", str(compiled.with_suffix(".out")), str(compiled)]
    if name.startswith("macos"):
        flags += ["-undefined", "dynamic_lookup"]
    if name.startswith("windows"):
        found = re.findall(rb"(?<![A-Za-z0-9_])(?:__imp_)?(_?Py[A-Za-z]*_\w+)", compiled.read_bytes())
        names = sorted({name.decode() for name in found})
        exports, library = compiled.with_suffix(".def"), compiled.with_suffix(".lib")
        exports.write_text("LIBRARY python3.dll\nEXPORTS\n" + "".join(f"{name}\n" for name in names))
        machine = "arm64" if "arm64" in name else "i386:x86-64"
        said = run([*zig, "dlltool", "-m", machine, "-d", str(exports), "-l", str(library)])
        if said:
            return said
        flags.append(str(library))
    return run([*zig, "cc", "-target", TARGETS[name], *flags])


def run(command: list[str]) -> str:
    """Run a command; returns what it wrote to stderr if it failed, else ""."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stderr.strip() or f"exit code {done.returncode}" if done.returncode else ""


if __name__ == "__main__":
    main()
