"""Compile the kernels: every `_*_cy.py` below src/ is one extension module, found by its name."""

import functools
import os
import re
import shlex
import shutil
import sys
import sysconfig
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.modified import newer_group

SRC = Path("src")
CORES = os.cpu_count() or 1
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": False,
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": False,
    "infer_types": True,
    "freethreading_compatible": True,  # a Python without the GIL keeps it off
}

# `make fuzz`: TOKENMILL_SANITIZE=address,undefined builds kernels that report every bad access.
SANITIZE = os.environ.get("TOKENMILL_SANITIZE")
SANITIZER = [f"-fsanitize={SANITIZE}"] if SANITIZE else []
UNIX_FLAGS = [*SANITIZER, "-fno-omit-frame-pointer", "-O1", "-g"] if SANITIZE else ["-O3", "-g0"]
UNIX_FLAGS += ["-fno-strict-aliasing", "-Wno-unused-function", "-Wno-sign-compare"]  # Cython mixes signs
MSVC_FLAGS = ["/O2", "/utf-8", "/std:c11", "/wd4244", "/wd4267", "/wd4018", "/wd4146"]  # conversions that Cython writes


class BuildKernels(build_ext):
    """Compile with the flags of the compiler at hand, which is known only now, and say which kernel of how many."""

    stale: tuple[str, ...] = ()

    def run(self) -> None:
        if self.extensions:
            refuse_without_compiler()
            translate(self.extensions)
        super().run()

    def build_extensions(self) -> None:
        flags = MSVC_FLAGS if self.compiler.compiler_type == "msvc" else UNIX_FLAGS
        for extension in self.extensions:
            extension.extra_compile_args = flags
        stale = (of for of in self.extensions if self.force or self._is_stale(of))
        self.stale = tuple(of.name for of in stale)
        super().build_extensions()

    def _is_stale(self, extension: Extension) -> bool:
        return newer_group([*extension.sources, *extension.depends], self.get_ext_fullpath(extension.name), "newer")

    def build_extension(self, extension: Extension) -> None:
        if extension.name in self.stale:
            number = 1 + self.stale.index(extension.name)
            print(f"kernel {number} of {len(self.stale)}: {extension.name}", file=sys.stderr, flush=True)
        super().build_extension(extension)


INSTALL = "apt-get install gcc python3-dev (Debian, Ubuntu), dnf install gcc python3-devel (Fedora), or xcode-select --install (macOS)"


def refuse_without_compiler() -> None:
    """Exit with the packages to install, before Cython begins, if there is no C compiler or no Python.h."""
    program = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")[0]
    if os.name == "nt":  # setuptools looks for Microsoft's compiler, and its error names the download
        return
    if shutil.which(program) is None:
        sys.exit(f"error: no C compiler {program!r} to compile the kernels. Install one: {INSTALL}")
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        sys.exit(f"error: no Python.h to compile the kernels with. Install it: {INSTALL}")


@functools.cache
def headers_of(path: str) -> frozenset[str]:
    """The headers of this project that a C file includes, also through other headers."""
    found = [f"src/{name}" for name in re.findall(r'#include "(tokenmill/[^"]+)"', Path(path).read_text("utf-8"))]
    return frozenset(found).union(*map(headers_of, found))


def translate(extensions: list[Extension]) -> None:
    """Put the C file that Cython writes in the place of each source. Only a build needs it, not a source distribution."""
    translated = cythonize(
        extensions,
        build_dir="build/cython",  # the generated C never lies in the source tree, so no wheel carries it
        compiler_directives=DIRECTIVES,
        include_path=["src"],
        nthreads=CORES,
        annotate=bool(os.environ.get("TOKENMILL_ANNOTATE")),  # HTML of each kernel in build/cython
    )
    for extension, made in zip(extensions, translated, strict=True):
        extension.sources = made.sources
        extension.depends = sorted(headers_of(made.sources[0]))  # a change of one compiles the kernel again


kernels = [
    Extension(
        ".".join(path.relative_to(SRC).with_suffix("").parts),
        [path.as_posix()],
        include_dirs=["src"],
        extra_link_args=SANITIZER,
    )
    for path in sorted(SRC.rglob("_*_cy.py"))
]

COMPILED = os.environ.get("TOKENMILL_COMPILED")  # the Makefile has compiled the kernels in place

if __name__ == "__main__":  # Cython's processes import this file where they do not fork: Python 3.14, macOS, Windows
    setup(
        ext_modules=[] if COMPILED else kernels,
        cmdclass={"build_ext": BuildKernels},
        options={"build_ext": {"parallel": CORES}},
    )
