"""Errors on the command line name its options, not Python arguments."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

import tokenmill
from command_line import CliRunner, program
from tokenmill import Tokenizer, Vocabulary
from tokenmill.cli._commands import spelled
from tokenmill.cli.main import app, verb_of
from tokenmill.errors import FormatError, InputError, OptionName, UsageError


@pytest.mark.parametrize(
    ("verb", "option", "expected"),
    [
        ("decode", OptionName("any_tokenizer", True), "--any-tokenizer"),
        ("decode", OptionName("dtype", "uint16"), "--dtype uint16"),
        ("count", OptionName("resume", False), "--no-resume"),
        ("count", OptionName("on_skip", ...), "--skip-damaged"),
        ("encode", OptionName("end_of_text", False), "--no-end-of-text"),
        ("encode", OptionName("end_of_text", ...), "--end-of-text"),
        ("train", OptionName("min_pair_count"), "--min-pair-count"),
        ("train", OptionName("overwrite", True), "--force"),
        ("clean", OptionName("kind"), "KIND"),
        ("inspect", OptionName("on_skip", ...), "--skip-damaged"),
    ],
)
def test_options_are_spelt_as_the_command_line_has_them(verb, option, expected):
    command = verb_of(verb)
    quoted = "'<|--end-of-text|>' and min_count=0 stay"
    assert spelled(UsageError(option, f": {quoted}"), command.fields) == f"{expected}: {quoted}"


def test_python_spells_options_as_arguments():
    error = UsageError(OptionName("resume", False), " or ", OptionName("unit", ...), " or ", OptionName("field"))
    assert str(error) == "resume=False or unit=... or field"


@pytest.mark.parametrize(
    ("arguments", "option", "path"),
    [
        ("encode {text} --tokenizer {tok} --end-of-text x", "--end-of-text", "lines of ids"),
        ("encode {text} --tokenizer {tok} --no-end-of-text", "--no-end-of-text", "lines of ids"),
        ("encode {text} --tokenizer {tok} --num-threads 2", "--num-threads", "lines of ids"),
        ("encode {text} --tokenizer {tok} --json", "--json", "lines of ids"),
        ("count --merge {text} -o {out} --engine ray", "--engine", "--merge"),
        ("count --merge {text} -o {out} --split gpt2", "--split", "--merge"),
        ("count --merge {text} -o {out} --unit line", "--unit", "--merge"),
        ("train {text} --vocab-size 300 -o {out} --window 3", "--window", "--parity"),
        ("train {text} --vocab-size 300 -o {out} --coverage 0.5", "--coverage", "--alphabet characters"),
        ("train {text} --vocab-size 300 -o {out} --separator x", "--separator", "--unit separator"),
        ("prune {tok} --script Latin --min-uses 2 -o {out}", "--min-uses", "without text"),
        ("extend {tok} {text} --reuse 3 --vocab-size 300 -o {out}", "--vocab-size", "--reuse"),
        ("play {tok} --export {out} --port 80", "--port", "--export"),
        ("play {tok} --export {out} --paths", "--paths", "--export"),
        ("play --counts {text} --export {out}", "--counts", "a tokenizer"),
    ],
)
def test_an_option_that_is_not_used_is_refused(tmp_path, arguments, option, path):
    text, tok = tmp_path / "a.txt", tmp_path / "tok"
    text.write_text("low lower lowest")
    tokenmill.train(text, 260).save(tok)
    words = arguments.format(text=text, tok=tok, out=tmp_path / "out").split()
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2 and option in result.stderr and path in result.stderr, result.output
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("--vocab-size 257", "--vocab-size is 257, but the 260 old ids and 0 special tokens need 260"),
        ("--reuse 900", "only 4 tokens can be replaced, not 900"),
    ],
)
def test_what_cannot_be_extended_names_options_of_the_command(tmp_path, more, message):
    (tmp_path / "a.txt").write_text("low lower lowest")
    tokenmill.train(tmp_path / "a.txt", 260).save(tmp_path / "tok")
    words = ["extend", str(tmp_path / "tok"), str(tmp_path / "a.txt"), "-o", str(tmp_path / "out"), *more.split()]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2 and message in result.stderr, result.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("extend chars bad.jsonl --vocab-size 300", "a vocabulary of characters cannot be extended"),
        ("extend chars bad.jsonl --reuse 1", "tokens of a vocabulary of characters cannot be replaced"),
        ("extend bound bad.jsonl --vocab-size 300", "(BoundlessBPE) cannot be extended"),
        ("extend plain bad.jsonl --vocab-size 259", "but the 260 old ids"),
        ("extend plain bad.jsonl --vocab-size 300 --special-token low", "'low' is spelt like an ordinary token"),
        ("prune bound bad.jsonl", "tokens cannot be removed"),
        ("prune picky bad.jsonl --ios 0.9", "--ios is for plain tokenizers"),
        ("prune plain bad.jsonl --script x", "'x' is not a Unicode script"),
        ("prune plain bad.jsonl --script=", "'' is not a Unicode script"),
        ("prune plain counts --unit line", "--unit is not used by word counts"),
        ("extend plain counts --vocab-size 300 --field x", "--field is not used by word counts"),
        (
            "train --parity --language a=counts b=counts --dev a=counts b=counts --vocab-size 300 --unit line",
            "--unit is not",
        ),
        ("train --parity --language a=counts b=counts --ratio a=1 b=1 --vocab-size 300 --field x", "--field is not"),
        (
            "train --parity --language a=counts b=counts --ratio a=1 b=1 --vocab-size 300 --memory-limit 1GB",
            "--memory-limit is",
        ),
        ("train bad.jsonl --vocab-size 300 --special-token a", "'a' is spelt like an ordinary token"),
        ("train bad.jsonl --vocab-size 32,768", "Commas separate sizes, here 32 and 768; write one size without them"),
        ("train bad.jsonl --vocab-size 128,000", "Commas separate sizes, here 128 and 0; write one size without them"),
        ("train counts --superwords boundless --text a.txt --field x --vocab-size 300", "Leave out --field"),
        (
            "train --parity --language a=a.txt b=a.txt --vocab-size 300",
            "(--dev; best the same text, translated) or --ratio",
        ),
    ],
)
def test_what_cannot_work_is_said_before_the_text_is_read(tokenizers_of_all_kinds, monkeypatch, words, message):
    monkeypatch.chdir(tokenizers_of_all_kinds)
    result = CliRunner().invoke(app, [*words.split(" "), "-o", "out"])
    assert result.exit_code == 2 and message in result.stderr.replace("\n", " "), result.output
    assert not (tokenizers_of_all_kinds / "out").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("check plain --against plain --field x", "--field is not used by a command without text"),
        ("check plain --against plain --skip-damaged", "--skip-damaged is not used by a command without text"),
        ("convert plain out --to merges --unit line", "--unit is not used by a command without text"),
        ("inspect plain --unit line", "--unit is not used by an inspection without text"),
        ("inspect plain --threshold 0.5", "--threshold is not used by an inspection without text"),
        ("inspect plain --num-threads 2", "--num-threads is not used by an inspection without text"),
        ("inspect plain counts --field x", "--field is not used by word counts"),
        ("compare plain picky --on counts --unit line", "--unit is not used by word counts"),
        ("verify ids.bin --drop-unknown", "--drop-unknown is not used by verifying without --tokenizer"),
        ("verify ids.bin --dtype uint16 --num-threads 2", "--num-threads is not used by verifying without sources"),
        ("clean wikipedia a.txt -o out --unit line", "--unit is not used by cleaning wikipedia"),
        ("check plain --against plain --fuzz 99999999999999999999", "--fuzz must be below 2**63"),
        ("count a.txt -o out --num-threads 65537", "--num-threads is 65537; it must be at most 65536"),
        ("decode ids.txt --tokenizer plain --any-tokenizer", "--any-tokenizer is not used by decoding lines of ids"),
    ],
)
def test_an_option_that_the_command_would_not_use_is_refused(tokenizers_of_all_kinds, monkeypatch, words, message):
    monkeypatch.chdir(tokenizers_of_all_kinds)
    result = CliRunner().invoke(app, words.split(" "))
    assert result.exit_code == 2 and message in result.stderr.replace("\n", " "), result.output
    assert not (tokenizers_of_all_kinds / "out").exists()


@pytest.fixture(scope="module")
def tokenizers_of_all_kinds(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kinds")
    (folder / "a.txt").write_text("low lower lowest low")
    (folder / "ids.bin").write_bytes(b"a\0b\0")
    (folder / "ids.txt").write_text("97 98\n")
    (folder / "bad.jsonl").write_text('{"text": "low"}\n{\n')
    tokenmill.train(folder / "a.txt", 260).save(folder / "plain")
    tokenmill.train(folder / "a.txt", 260, refine=0.9).save(folder / "picky")
    tokenmill.train_from_iterator(["of the of the"] * 9, 265, superwords="boundless").save(folder / "bound")
    tokenmill.train(folder / "a.txt", 12, alphabet="characters").save(folder / "chars")
    tokenmill.count(folder / "a.txt").save(folder / "counts")
    return folder


def test_an_empty_text_is_called_empty(tmp_path):
    (tmp_path / "a.txt").write_text("low lower lowest")
    (tmp_path / "empty.txt").write_text("")
    tok = tokenmill.train(tmp_path / "a.txt", 260)
    tok.save(tmp_path / "tok")
    words = [
        "extend",
        str(tmp_path / "tok"),
        str(tmp_path / "empty.txt"),
        "--vocab-size",
        "270",
        "-o",
        str(tmp_path / "out"),
    ]
    result = CliRunner().invoke(app, words)
    message = "the corpus is empty: it has no pretoken to train on. Check that the sources contain text"
    assert result.exit_code == 1 and message in result.stderr, result.output
    result = CliRunner().invoke(app, ["prune", *words[1:3], *words[-2:]])
    message = "the text is empty (empty). Check that the sources contain text"
    assert result.exit_code == 2 and message in result.stderr, result.output
    with pytest.raises(InputError, match="the corpus is empty"):
        tokenmill.extend(tok, tmp_path / "empty.txt", 270)


def test_both_types_of_raw_ids_are_spelt_as_options(tmp_path):
    (tmp_path / "a.txt").write_text("low lower lowest")
    tokenmill.train(tmp_path / "a.txt", 260).save(tmp_path / "tok")
    (tmp_path / "t.bin").write_bytes(bytes(8))
    result = CliRunner().invoke(
        app, ["decode", str(tmp_path / "t.bin"), "--tokenizer", str(tmp_path / "tok"), "--any-tokenizer"]
    )
    assert result.exit_code == 1 and "name their type: --dtype uint16 or --dtype uint32." in result.stderr, (
        result.output
    )
    with pytest.raises(FormatError, match=r"name their type: dtype='uint16' or dtype='uint32'\."):
        tokenmill.load_tokens(tmp_path / "t.bin")


def test_verbs_and_their_help():
    assert "Did you mean 'train'" in CliRunner().invoke(app, ["trian"]).stderr
    shown = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["train", "--help"]).stdout
    assert CliRunner(env={"COLUMNS": "80"}).invoke(app, ["help", "train"]).stdout == shown
    assert len(shown.splitlines()) <= 105
    assert shown.index("tokenmill train corpus") < shown.index("Required:") < shown.index("Training:")


@pytest.mark.parametrize(
    ("words", "completions"),
    [
        ("train --superwords ", ["superbpe", "boundless"]),
        ("clean w", ["wikipedia"]),
        ("train --split l", ["llama3"]),
        ("train --superwords superbpe --stage2-split cl", ["cl100k"]),
        ("inspect tok --split=dee", ["--split=deepseek-v3"]),
        ("prune --script L", ["Latin", "Lao"]),
        ("train --unit=l", ["--unit=line"]),
        ("train --unit = l", ["line"]),  # as bash splits it
        ("train --unit =", ["file", "line", "blank", "separator"]),
        ("train --split=[a-z] ", []),
        ("clean --force w", ["wikipedia"]),
        ("train --super", ["--superwords"]),
        ("count --no-", ["--no-resume"]),
        ("train cor", []),  # files are completed by the shell
        ("train -o ou", []),
        ("encode --tokenizer to", []),
        ("inspect to", []),
    ],
)
def test_completion_offers_values_and_leaves_files_to_the_shell(words, completions):
    from tokenmill.cli._completion import completions as complete

    assert complete(words.split(" ")) == completions


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_verbs_values_and_files(tmp_path):
    from tokenmill.cli._completion import script

    (tmp_path / "corpus.txt").touch()
    (tmp_path / "tokenmill").write_text(f'#!/bin/sh\nexec {sys.executable} -m tokenmill "$@"\n')
    (tmp_path / "tokenmill").chmod(0o755)
    tried = """COMP_WORDS=({}); COMP_CWORD={}; COMPREPLY=(); _tokenmill; echo "${{COMPREPLY[*]}}"\n"""
    lines = [
        tried.format("tokenmill tr", 1),
        tried.format("tokenmill clean wi", 2),
        tried.format("tokenmill train c", 2),
        tried.format("tokenmill train --unit = l", 4),
    ]
    ran = subprocess.run(
        ["bash", "-c", script("bash") + "\n" + "".join(lines)],
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        cwd=tmp_path, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert ran.stdout.splitlines() == ["train", "wikipedia", "", "line"], ran.stderr


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
    tokenmill.train(text, 261).save(made)
    command, environment = program("inspect --all", made, text), os.environ | {"PYTHONIOENCODING": "cp1252"}
    shown = subprocess.run(command, env=environment, check=True, capture_output=True).stdout
    assert "漢" in shown.decode("utf-8")


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
        (["compare"], "TOKENIZERS, --on"),
        (["encode", "a.txt", "-o", "t.bin"], "--tokenizer"),
        (["convert", "tok"], "OUTPUT, --to"),
        (["count"], "SOURCES"),
        (["clean", "dump.xml.bz2", "-o", "out"], "KIND"),
        (["clean", "text", "-o", "out"], "SOURCES"),
        (["prune"], "TOKENIZER"),
        (["extend"], "TOKENIZER"),
        (["clean"], "KIND (wikipedia, stackexchange, fineweb, text), SOURCES, --output"),
    ],
)
def test_what_is_missing_is_named(arguments, missing):
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2 and "Missing" in result.output and missing in result.output


def test_a_reader_that_has_seen_enough_of_the_help_is_no_traceback():
    for words in (["--help"], ["train", "--help"]):
        process = subprocess.Popen(
            [sys.executable, "-m", "tokenmill", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        process.stdout.close()
        assert process.stderr.read() == b""
        process.stderr.close()
        process.wait()


def test_no_control_character_of_a_name_or_a_token_is_printed_as_it_is(tmp_path):
    """They could change the terminal."""
    name = "a\x1b[31m\x9b"
    (tmp_path / f"{name}.txt").write_text("low lower lowest " * 9, encoding="utf-8")
    Tokenizer(Vocabulary((*(bytes([i]) for i in range(256)), "\x9b".encode()), ())).save(tmp_path / "tok")
    inspect = ["inspect", str(tmp_path / "tok"), str(tmp_path / f"{name}.txt")]
    for words in ([*inspect, "--all"], [*inspect, "--json"], ["inspect", name], ["inspect", "tok", f"--{name}"]):
        result = CliRunner().invoke(app, words)
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", result.output), words
        assert "[31m" in result.output
    assert json.loads(CliRunner().invoke(app, [*inspect, "--json"]).stdout)


def test_too_little_memory_is_one_message(tmp_path, monkeypatch):
    def without_memory(*arguments, **options):
        raise MemoryError

    (tmp_path / "text.txt").write_text("low lower")
    monkeypatch.setattr("tokenmill.train_job.Train.run", without_memory)
    words = ["train", str(tmp_path / "text.txt"), "--vocab-size", "300", "-o", str(tmp_path / "tok")]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 1
    assert "there is not enough memory" in result.stderr and "Traceback" not in result.stderr
