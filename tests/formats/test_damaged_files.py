"""Files of every format, damaged at random: one error of our own, or a vocabulary that works."""

import importlib.util
import os
from pathlib import Path

import pytest

SWEEP = int(os.environ.get("TOKENMILL_SWEEP", "1"))


@pytest.fixture(scope="module")
def loaders():
    path = Path(__file__).resolve().parents[2] / "fuzz" / "loaders.py"
    spec = importlib.util.spec_from_file_location("fuzz_loaders", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore:the split pattern")
def test_whatever_a_file_holds_is_a_vocabulary_or_one_error(loaders):
    assert loaders.run_random(2000 * SWEEP, 3600, seed=1) == 2000 * SWEEP


def test_the_whole_files_of_every_layout_are_read(loaders, monkeypatch):
    read = []
    monkeypatch.setattr(loaders, "use", lambda vocabulary, folder: read.append(vocabulary))
    for data in loaders.seeds():
        loaders.one_input(data)
    assert len(read) == len(loaders.LAYOUTS)
