"""make bench: run every topic against its peers in fresh processes, then render the tables.

python -m benchmarks [TOPIC...]      # without a topic: all except the playground
"""

from __future__ import annotations

import importlib
import sys

from . import render
from .harness import SHARED, save

TOPICS = ("train", "merge_loop", "superwords", "split", "count", "encode", "calls", "families", "token_files", "stages")
NAMED = ("playground", "growth")  # only by name: one needs Chromium and Node, the other 10 GB of disk and some minutes

if not (SHARED / "corpus").is_dir():
    sys.exit(f"the benchmarks need the real corpora, which are not in {SHARED}: set TOKENMILL_SHARED to their folder")
topics = sys.argv[1:] or TOPICS
if unknown := set(topics) - {*TOPICS, *NAMED}:
    sys.exit(f"unknown topic: {', '.join(sorted(unknown))}. The topics are {', '.join(TOPICS + NAMED)}")
for topic in topics:
    save(topic, importlib.import_module(f".{topic}", __package__).run())
render.main()
