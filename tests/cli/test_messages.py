"""Errors on the command line name its options, not Python arguments."""

import os
import subprocess
import sys
from functools import partial

import pytest
from click import Context
from click.testing import CliRunner

from tokenmill.cli._messages import name_options
from tokenmill.cli.main import app


@pytest.mark.parametrize(
    ("verb", "message", "expected"),
    [
        ("decode", "Skip it with any_tokenizer=True (--any-tokenizer).", "Skip it with --any-tokenizer."),
        ("decode", 'Name it: dtype="uint16" (--dtype uint16) or "uint32".', 'Name it: --dtype uint16 or "uint32".'),
        ("decode", "dtype is 'object'; give", "--dtype is 'object'; give"),
        ("count", "delete x (or use resume=False, --no-resume).", "delete x (or use --no-resume)."),
        ("count", "or use resume=False.", "or use --no-resume."),
        ("count", "Pass on_skip=... to leave it out", "Pass --skip-damaged to leave it out"),
        ("count", "pass binary='skip' to", "pass --binary skip to"),
        ("encode", "with end_of_text=False it", "with --no-end-of-text it"),
        ("encode", "(end_of_text=..., --end-of-text), or", "(--end-of-text), or"),
        ("train", "min_pair_count is 0; it must be", "--min-pair-count is 0; it must be"),
        ("train", "coverage and unknown_token are for", "coverage and --unknown-token are for"),
        ("train", "vocab_size is 3, but", "--vocab-size is 3, but"),
        ("extend", "Leave out refine=... to", "Leave out --refine to"),
        ("train", "min_count.txt, a/vocab_size, split_pattern", "min_count.txt, a/vocab_size, split_pattern"),
        ("inspect", "on_skip=True is not of this verb", "on_skip=True is not of this verb"),
    ],
)
def test_arguments_become_options(verb, message, expected):
    assert name_options(message, app.get_command(Context(app), verb)) == expected


@pytest.mark.parametrize("option", ["--min-count", "--vocab-size", "--max-token-bytes"])
def test_a_wrong_value_names_the_option(tmp_path, option):
    (tmp_path / "a.txt").write_text("low lower lowest")
    values = {"--vocab-size": "300"} | {option: "-1"}
    arguments = [word for pair in values.items() for word in pair]
    result = CliRunner().invoke(app, ["train", str(tmp_path / "a.txt"), "-o", str(tmp_path / "t"), *arguments])
    assert result.exit_code == 2 and f"{option} is -1" in result.stderr
    assert "_" not in result.stderr.replace(str(tmp_path), "")


def test_results_in_a_pipe_are_utf8_whatever_the_locale(tmp_path):
    """A pipe on Windows has the system's code page, without most characters."""
    text, made = tmp_path / "t.txt", str(tmp_path / "t")
    text.write_text("漢字 \n" * 9, encoding="utf-8")
    run = partial(subprocess.run, env=os.environ | {"PYTHONIOENCODING": "cp1252"}, check=True, capture_output=True)
    program = [sys.executable, "-m", "tokenmill"]
    run([*program, "train", str(text), "--vocab-size", "261", "-o", made])
    assert "漢" in run([*program, "inspect", made, str(text)]).stdout.decode("utf-8")


@pytest.mark.parametrize(
    ("arguments", "missing"),
    [
        (["check"], "TOKENIZER"),
        (["check", "tok"], "--against"),
        (["decode"], "--tokenizer"),
        (["encode", "text.txt"], "--tokenizer"),
        (["train", "text.txt"], "--output"),
        (["convert"], "TOKENIZER"),
        (["inspect"], "TOKENIZER"),
        (["compare"], "TOKENIZERS"),
        (["count"], "SOURCES"),
        (["prune"], "TOKENIZER"),
        (["extend"], "TOKENIZER"),
        (["clean"], "KIND"),
    ],
)
def test_what_is_missing_is_named(arguments, missing):
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2 and "Missing" in result.output and missing in result.output
