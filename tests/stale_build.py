"""Which sources are newer than the compiled modules that depend on them."""

import re
from pathlib import Path


def stale_kernels(src: Path) -> list[str]:
    """The sources that are newer than a compiled module which depends on them, as the compiler sees it.

    A kernel depends on its own file, the .pxd beside it, the .pxd that any of these cimports, and the headers they name.
    """
    stale = set()
    for kernel in src.rglob("_*_cy.py"):
        built = max((so.stat().st_mtime for so in kernel.parent.glob(f"{kernel.stem}.*.so")), default=0.0)
        for source in kernel_sources(src, kernel):
            if source.stat().st_mtime > built:
                stale.add(source.relative_to(src).as_posix())
    return sorted(stale)


def kernel_sources(src: Path, kernel: Path) -> set[Path]:
    """All files below `src` that a kernel is compiled from."""
    found: set[Path] = set()
    waiting = [kernel, kernel.with_suffix(".pxd")]
    for path in waiting:  # grows while it is walked
        if path in found or not path.is_file():
            continue
        found.add(path)
        text = path.read_text("utf-8")
        for module in re.findall(r"(?:cimports\.|^from |^cimport )(tokenmill[\w.]*)", text, re.MULTILINE):
            waiting.append((src / module.replace(".", "/")).with_suffix(".pxd"))
        for header in re.findall(r'(?:from|include) "([\w/.]+\.h)"', text):
            waiting += [src / header, path.parent / header]
    return found
