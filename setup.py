"""Compile the kernels: every `_*_cy.py` below src/ is one extension module, found by its name."""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

SRC = Path("src")
CORES = os.cpu_count() or 1
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": False,
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": False,
    "freethreading_compatible": True,  # a Python without the GIL keeps it off
}

# `make fuzz`: TOKENMILL_SANITIZE=address,undefined builds kernels that tell of every bad access.
SANITIZE = os.environ.get("TOKENMILL_SANITIZE")
FLAGS = [f"-fsanitize={SANITIZE}", "-fno-omit-frame-pointer", "-O1", "-g"] if SANITIZE else ["-O3", "-g0"]
FLAGS += ["-Wno-unused-function", "-Wno-sign-compare"]  # a kernel uses a part of its headers; Cython mixes signs

kernels = [
    Extension(
        ".".join(path.relative_to(SRC).with_suffix("").parts),
        [path.as_posix()],
        include_dirs=["src"],
        depends=[p.as_posix() for p in sorted(SRC.rglob("*.h"))],
        extra_compile_args=[*FLAGS, "-fno-strict-aliasing"],
        extra_link_args=FLAGS if SANITIZE else [],
    )
    for path in sorted(SRC.rglob("_*_cy.py"))
]

COMPILED = os.environ.get("TOKENMILL_COMPILED")  # the Makefile has compiled the kernels in place

setup(
    ext_modules=[]
    if COMPILED
    else cythonize(
        kernels,
        build_dir="build/cython",  # the generated C never lies in the source tree, so no wheel carries it
        compiler_directives=DIRECTIVES,
        include_path=["src"],
        nthreads=CORES,
        annotate=bool(os.environ.get("TOKENMILL_ANNOTATE")),  # HTML of each kernel in build/cython
    ),
    options={"build_ext": {"parallel": CORES}},
)
