"""The guard against stale builds sees every file that a kernel is compiled from."""

import os
import time
from pathlib import Path

import tokenmill
from stale_build import kernel_sources, stale_kernels

SRC = Path(tokenmill.__file__).parents[1]


def test_headers_and_declarations_of_other_folders_belong_to_a_kernel():
    names = {path.name for path in kernel_sources(SRC, SRC / "tokenmill" / "counting" / "_table_cy.py")}
    assert {"_table_cy.py", "_table_cy.pxd", "_scan_cy.pxd", "_simd_scan.h", "_chain_state.h"} <= names


def test_a_changed_header_is_seen(tmp_path):
    folder = tmp_path / "tokenmill" / "part"
    folder.mkdir(parents=True)
    (folder / "_a_cy.py").write_text("import cython\n")
    (folder / "_a_cy.pxd").write_text("from tokenmill.part._b cimport x\n")
    (folder / "_b.pxd").write_text('cdef extern from "tokenmill/part/_b.h" nogil:\n    int x\n')
    (folder / "_b.h").write_text('#include "tokenmill/part/_c.h"\n')
    (folder / "_c.h").write_text("")
    (folder / "_unused.h").write_text("")
    (folder / "_a_cy.cpython-311.so").write_text("")
    assert stale_kernels(tmp_path) == []
    later = time.time() + 10
    for name in ("_unused.h", "_a_cy.py", "_a_cy.pxd", "_b.pxd", "_b.h", "_c.h"):
        before = os.stat(folder / name)
        os.utime(folder / name, (later, later))
        assert stale_kernels(tmp_path) == ([] if name == "_unused.h" else [f"tokenmill/part/{name}"])
        os.utime(folder / name, (before.st_atime, before.st_mtime))
    (folder / "_a_cy.cpython-311.so").unlink()
    assert len(stale_kernels(tmp_path)) == 5
