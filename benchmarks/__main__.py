"""make bench: training beside the peers, the merge loop, the steps of the chapter; then the README's table."""

from __future__ import annotations

import sys

from . import merge_loop, render, train
from .harness import SHARED, save

if not (SHARED / "corpus").is_dir():
    sys.exit(f"the benchmarks need the real corpora in {SHARED}; name their folder in TOKENMILL_SHARED")
save("train", train.run())
save("merge_loop", merge_loop.run())
render.main()
