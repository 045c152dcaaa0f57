"""make bench: run every topic against its peers in fresh processes, then render the tables.

python -m benchmarks [--quick] [TOPIC...]      # without a topic: all but those that are run only by name

A library may be in an environment of its own: TOKENMILL_PYTHON_GIGATOKEN is the path of an interpreter that has gigatoken. With
TOKENMILL_PYTHON_TOKENIZERS_NEXT, a pre-release of tokenizers is measured beside the one that is installed.
"""

from __future__ import annotations

import importlib
import sys

from . import render, tables
from .harness import save, shared_file

# Only by name: the first needs Chromium and Node, the second 10 GB of disk and some minutes, the third a tokenizers with its trainer,
# the fourth the trainers' tools.
NAMED = ("playground", "growth", "parity", "trainers")

TOPICS = [topic for topic in tables.TOPICS if topic not in NAMED]
topics = [word for word in sys.argv[1:] if word != "--quick"] or TOPICS
if unknown := set(topics) - {*tables.TOPICS}:
    sys.exit(f"unknown topic: {', '.join(sorted(unknown))}. The topics are {', '.join(tables.TOPICS)}")
if {*topics} != {"quick"}:
    shared_file("corpus")
for topic in topics:
    results = importlib.import_module(f".{topic}", __package__).run()
    save(topic, results)
    print("\n".join(tables.TOPICS[topic](results)))
render.main()
