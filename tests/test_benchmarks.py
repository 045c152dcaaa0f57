"""The benchmarks' own tools: the quick table, public text, the adapter of tokbench and the account of many cores, on tiny texts."""

import ast
import gzip
import importlib
import json
import os
import shutil
import subprocess
import sys
import zipfile

import pytest
from benchmarks import harness, public, quick, render, scaling, tables, train_jobs

import tokenmill


def test_the_quick_table_compares_with_each_peer():
    encoded = {
        "tokenmill": [{"bytes": 2e6, "load": 0.02, "cold": 0.02, "warm": 0.01}] * 5,
        "tiktoken": [{"bytes": 2e6, "load": 0.06, "cold": 0.2, "warm": 0.15}] * 5,
    }
    train = {"tokenmill": [{"cpu": 0.5, "peak_mib": 80.4}] * 5, "rustbpe": [{"cpu": 6.0}, {"cpu": 5.0}]}
    rows = quick.quick({"train": train, "en": encoded, "multi": encoded, "code": encoded})
    assert "|  | tokenmill | rustbpe | tiktoken |" in rows
    assert "| train | 20.0 MB/s (20.0 to 20.0) | 10.0x, 12.0x (2 rounds) |  |" in rows
    assert "| encode en, import, load, first call | 50.0 MB/s (50.0 to 50.0) |  | 6.50x (6.50 to 6.50) |" in rows
    assert "| encode en, later calls | 200 MB/s (200 to 200) |  | 15.0x (15.0 to 15.0) |" in rows


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([1.1, 1.3, 1.2, 1.5, 1.4], "1.30x (1.10 to 1.50)"),
        ([1.1, 1.3, 1.2], "1.20x (1.10 to 1.30, 3 rounds)"),
        ([1.5, 1.1], "1.10x, 1.50x (2 rounds)"),  # two rounds have no median
        ([12.34], "12.3x (one round)"),
    ],
)
def test_a_figure_says_its_range_and_its_rounds(values, shown):
    assert harness.spread(values, "x") == shown
    ours, theirs = [{"wall": 1.0}] * len(values), [{"wall": value} for value in values]
    assert harness.times(theirs, ours) == shown
    assert render.compared(theirs, ours) == shown.replace("x", "x slower")
    assert render.compared(ours, theirs).startswith(harness.spread(values, "x faster").split(" (")[0])


def test_a_range_that_includes_one_is_a_tie():
    level = [{"wall": 0.9}, {"wall": 1.1}, {"wall": 1.2}]
    assert harness.times(level, [{"wall": 1.0}] * 3) == "tie (0.90 to 1.20, 3 rounds)"
    assert render.compared(level, [{"wall": 1.0}] * 3) == "tie (0.90 to 1.20, 3 rounds)"


@pytest.mark.parametrize("library", ["tokenmill", "rustbpe", "tokenizers", "gigatoken", "bpeasy"])
def test_the_trainers_save_nothing(library, tmp_path, monkeypatch):
    if library != "tokenmill":
        pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("The cat sat on the mat.\n" * 200)
    getattr(train_jobs, library)("text.txt", 270)
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]
    assert "Nothing is saved" in "\n".join(tables.training(harness.saved("train")["results"]))


def test_public_text_has_no_markup_and_no_paragraph_twice(tmp_path, monkeypatch):
    model = {"documentation": "<p>Creates a <b>bucket</b>.</p><p>See R&amp;D for this call.</p>", "shapes": [{"documentation": "<p>Creates a <b>bucket</b>.</p>"}]}  # fmt: skip
    folder = tmp_path / "wheels"
    folder.mkdir()
    with zipfile.ZipFile(folder / f"Botocore-{public.WHEELS['botocore']}-py3-none-any.whl", "w") as package:
        package.writestr("botocore/data/s3/2006/service-2.json.gz", gzip.compress(json.dumps(model).encode()))
    with zipfile.ZipFile(folder / f"django-{public.WHEELS['django']}-py3-none-any.whl", "w") as package:
        message = 'msgid "a"\nmsgstr ""\n"Der erste Teil einer "\n"Nachricht\\n"\n\n'
        package.writestr("django/conf/locale/de/LC_MESSAGES/django.po", message * 2)
        package.writestr("django/a.py", "x = 1\n")
    monkeypatch.setattr(public, "CACHE", tmp_path)
    assert public.public_file("en").read_text() == "See R&D for this call.\n"  # shorter ones are left out
    assert public.public_file("multi").read_text() == "Der erste Teil einer Nachricht\n"
    assert public.public_file("code", 100).read_text() == "x = 1\n"


def test_the_adapter_of_tokbench_speaks_its_protocol(tmp_path):
    """With a stand-in for the `python/harness.py` of a clone of tokbench, which times and hashes."""
    engine = tmp_path / "engines" / "tokenmill"
    engine.mkdir(parents=True)
    shutil.copy(harness.ROOT / "benchmarks" / "tokbench" / "run.py", engine)
    (tmp_path / "python").mkdir()
    (tmp_path / "python" / "harness.py").write_text(
        """import argparse, json, pathlib
def args_parser():
    parser = argparse.ArgumentParser()
    for name in ("--model", "--corpus"):
        parser.add_argument(name, type=pathlib.Path, required=True)
    return parser
def unsupported(version, lang, why):
    print(json.dumps({"version": version, "lang": lang, "unsupported": why}))
    raise SystemExit(0)
def run(name, version, lang, load, encode, args, also_computes="", internally_parallel=False):
    ids = list(encode(load(), args.corpus.read_text()))
    print(json.dumps({"name": name, "version": version, "lang": lang, "ids": ids, "parallel": internally_parallel}))
"""
    )
    tok = tokenmill.train_from_iterator(["low lower lowest"] * 9, 270, special_tokens=["<|end|>"])
    tok.save(tmp_path / "model")
    text = tmp_path / "text.txt"
    text.write_text("lowest low<|end|>")

    def adapter(model: str) -> dict:
        command = [sys.executable, str(engine / "run.py"), "--model", str(tmp_path / model), "--corpus", str(text)]
        return json.loads(
            subprocess.check_output(command, text=True, env={**os.environ, "PYTHONPATH": str(harness.ROOT / "src")})
        )

    found = adapter("model")
    assert found["ids"] == tok.encode("lowest low<|end|>", allowed_special="all")
    assert found["name"] == "tokenmill" and found["lang"] == "python" and not found["parallel"]
    assert "tokenizer.json" in adapter("nothing")["unsupported"]


@pytest.mark.parametrize("path", sorted((harness.ROOT / "benchmarks").glob("*.py")), ids=lambda path: path.stem)
def test_a_benchmark_imports_names_that_are_there(path):
    """Most are imported in functions, which no test runs."""
    for each in ast.walk(ast.parse(path.read_text())):
        if isinstance(each, ast.ImportFrom) and (each.module or "").startswith("tokenmill"):
            module = importlib.import_module(each.module)
            for name in each.names:
                assert hasattr(module, name.name) or importlib.import_module(f"{each.module}.{name.name}")


def test_a_result_names_the_machine():
    about = harness.environment()
    assert {"cpu", "flags", "governor", "load", "commit", "versions"} <= set(about)
    assert "governor" in render.taken_on(about) and about["date"] in render.taken_on(about)
    assert "load" not in render.taken_on({"date": "d", "cores": 2, "cpu": "c", "python": "3"})  # older results


def test_a_result_needs_no_git(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert harness.commit() == ""


def test_a_library_may_be_in_an_environment_of_its_own(monkeypatch):
    assert harness.version_of("tokenizers_next") is None
    monkeypatch.setenv("TOKENMILL_PYTHON_TIKTOKEN", "/somewhere/python")
    assert harness.python_of("tiktoken") == "/somewhere/python"
    assert harness.python_of("rustbpe") == sys.executable
    assert harness.pythons()["tiktoken"] == "/somewhere/python"


def test_the_account_of_many_cores():
    # 1.6 s that threads share and 0.1 s that they do not take 0.2 s on 16 cores.
    assert scaling.on_cores(1.7, 0.1, 16) == (0.2, 0.5)


def test_the_account_of_a_command(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("The cat sat on the mat.\n" * 2000)
    command = [sys.executable, "-m", "benchmarks.scaling", "job", "train", str(text), "2"]
    found = json.loads(subprocess.check_output(command, cwd=harness.ROOT, text=True))
    assert 0 < found["serial"] <= found["total"]
    assert found["peak_mib"] > 10
