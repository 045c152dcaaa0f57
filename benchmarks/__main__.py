"""make bench: every topic beside the peers in fresh processes; then the README's tables.

python -m benchmarks [TOPIC...]      # all but the playground, if none is named
"""

from __future__ import annotations

import importlib
import sys

from . import render
from .harness import SHARED, save

TOPICS = ("train", "merge_loop", "split", "count", "encode")
NAMED = ("playground",)  # needs Chromium and Node, too: run only where it is named

if not (SHARED / "corpus").is_dir():
    sys.exit(f"the benchmarks need the real corpora in {SHARED}; name their folder in TOKENMILL_SHARED")
topics = sys.argv[1:] or TOPICS
if unknown := set(topics) - {*TOPICS, *NAMED}:
    sys.exit(f"no such topic: {', '.join(sorted(unknown))}; there are {', '.join(TOPICS + NAMED)}")
for topic in topics:
    save(topic, importlib.import_module(f".{topic}", __package__).run())
render.main()
