"""What all commands share: help, --version, --quiet, --verbose, sizes, names of options, JSON keys, progress."""

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys

import pytest

import tokenmill
from command_line import CliRunner
from tokenmill.cli import _console
from tokenmill.cli._commands import names_of
from tokenmill.cli._verbs import PANELS, VERBS, help_text
from tokenmill.cli.main import app, verb_of
from tokenmill.errors import UsageError
from tokenmill.options import whole_number

COMMANDS = {verb: verb_of(verb) for verb in VERBS}
TEXT = "low lower lowest, new newer newest; how slow the show goes\n" * 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("options")
    (place / "a.txt").write_text(TEXT)
    (place / "a.jsonl").write_text("".join(json.dumps({"body": line}) + "\n" for line in TEXT.splitlines()))
    (place / "bad.jsonl").write_text('{"text": "low"}\n' + "{\n" * 30)
    (place / "ids").write_text("270\n271\n")
    tokenmill.train(place / "a.txt", 272).save(place / "tok")
    return place


def run(folder, *arguments, code=0, columns=200):
    with contextlib.chdir(folder):
        result = CliRunner(env={"COLUMNS": str(columns)}).invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    return result


def program(*arguments, **environment):
    source = os.path.dirname(os.path.dirname(tokenmill.__file__))
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": source, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def program_of(command):
    """A line for the shell, run."""
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(tokenmill.__file__))}
    return subprocess.run(
        command, shell=True, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
    )


def test_help_begins_with_what_a_newcomer_needs():
    assert list(VERBS)[:3] == ["train", "encode", "play"] and list(PANELS)[-1] == "Evaluate a tokenizer"
    assert len(VERBS) <= 14
    printed = program("-m", "tokenmill", "--help")
    assert printed.returncode == 0 and printed.stdout == help_text() + "\n"
    assert program("-m", "tokenmill").returncode == 2
    assert max(map(len, help_text().splitlines())) <= 80


def test_the_longest_help_fits_two_screens():
    shown = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["train", "--help"]).stdout.splitlines()
    assert len(shown) <= 100 and max(map(len, shown)) <= 80
    assert sum(line.endswith(" \\") for line in shown) == 3, "examples go on in the next line, ready to paste"


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb(verb):
    assert COMMANDS[verb].doc.splitlines()[0] == VERBS[verb] + "."
    shown = CliRunner(env={"COLUMNS": "120"}).invoke(app, [verb, "--help"])
    assert shown.exit_code == 0 and "Output" in shown.stdout and "--quiet" in shown.stdout
    for field in COMMANDS[verb].fields.values():
        assert field.option.help, (verb, field.name)


def test_defaults_are_shown():
    shown = re.sub(r"[\s│]+", " ", CliRunner(env={"COLUMNS": "120"}).invoke(app, ["clean", "--help"]).stdout)
    for default in ("default: file", "default: text", "default: 16MiB", "default: 256MiB", "default: 1GiB"):
        assert default in shown


def test_one_name_and_one_meaning_for_each_option():
    """An option that several verbs have looks alike in all of them, apart from what is named here."""
    own = {"--output", "--split", "--memory-limit", "--sample", "--json", "--special-token", "--refine", "--min-count"}
    own |= {"--special", "--counts", "--format", "--vocab-size"}
    seen = {}
    for verb, command in COMMANDS.items():
        for field in command.fields.values():
            for name in {name for name in names_of(field) if name.startswith("--")} - own:
                look = (field.option.help, names_of(field), field.many, field.option.section)
                assert seen.setdefault(name, (verb, look))[1] == look, (name, verb, seen[name][0])
    for old in ("--num-workers", "--memory-limit-mb", "--shard-mb", "--max-document-mb", "--overwrite"):
        assert old not in seen


def test_every_verb_that_reads_text_takes_the_same_options():
    for verb in (
        "clean",
        "count",
        "train",
        "extend",
        "prune",
        "encode",
        "convert",
        "check",
        "inspect",
        "compare",
    ):
        defaults = {field.name: field.default for field in COMMANDS[verb].fields.values()}
        assert {name: defaults[name] for name in ("unit", "separator", "field")} == {
            "unit": "file",
            "separator": "",
            "field": "text",
        }


def test_the_field_is_read_by_every_verb(folder, tmp_path):
    commands = (
        "count a.jsonl -o {out}/c",
        "train a.jsonl --vocab-size 260 -o {out}/t",
        "extend tok a.jsonl --vocab-size 273 -o {out}/e",
        "prune tok a.jsonl -o {out}/s",
        "prune tok a.jsonl --ios 0.9 -o {out}/p",
        "extend tok a.jsonl --reuse 1 -o {out}/r",
        "encode a.jsonl --tokenizer tok -o {out}/ids",
        "check tok --against tok a.jsonl --fuzz 0",
        "inspect tok a.jsonl --json",
        "compare tok --on a.jsonl --json",
        "clean text a.jsonl -o {out}/clean",
    )
    for command in commands:
        words = command.format(out=tmp_path).split()
        assert run(folder, *words, "--field", "body").exit_code == 0
        with contextlib.chdir(folder):
            wrong = CliRunner().invoke(app, [*words, "--force"] if "-o" in words else words)
        assert wrong.exit_code == 1 + (words[0] == "check") or "no document was kept" in wrong.stderr, command
    found = json.loads(run(folder, "inspect", "tok", "a.jsonl", "--field", "body", "--json").stdout)
    text = {row["what"]: row["value"] for row in next(t for t in found["tables"] if t["key"] == "text")["rows"]}
    assert text["bytes"] == len(TEXT) - 40


def test_version():
    for arguments in (["--version"], ["-V"]):
        assert program("-m", "tokenmill", *arguments).stdout == f"tokenmill {tokenmill.__version__}\n"


@pytest.mark.parametrize(
    ("text", "number"),
    [("32768", 32768), ("32_768", 32768), ("32k", 32_000), ("1GB", 10**9), ("512MiB", 512 << 20), ("-1", -1),
     ("2.01k", 2010), ("1.07GB", 1_070_000_000), ("9007199254740993k", 9007199254740993000)],
)  # fmt: skip
def test_numbers_as_people_write_them(text, number):
    assert whole_number(text) == number


@pytest.mark.parametrize("text", ["9" * 5000, "1.0001k", "1iB", "1e3", "1.5", "", "k"])
def test_numbers_that_are_not_whole(text):
    with pytest.raises(UsageError, match="is not a whole number; write it like 32768"):
        whole_number(text)


def test_sizes_on_the_command_line(folder, tmp_path):
    made = json.loads(run(folder, *f"train a.txt --vocab-size 0.27k -o {tmp_path}/t --json".split()).stdout)
    assert made["ids"] == 270
    refused = run(folder, *f"train a.txt --vocab-size many -o {tmp_path}/u".split(), code=2)
    assert "32k" in refused.stderr and "--vocab-size" in refused.stderr


def test_quiet(folder, tmp_path):
    train = f"train a.txt --vocab-size 260 -o {tmp_path}/t --force"
    assert "peak memory" in run(folder, *train.split()).stderr
    assert run(folder, *train.split(), "--quiet").output == ""
    assert json.loads(run(folder, *train.split(), "-q", "--json").output)["ids"] == 260
    assert "error: " in run(folder, *train.replace("a.txt", "none.txt").split(), "-q", code=1).stderr


def test_verbose_lists_all_and_says_where_errors_come_from(folder, tmp_path):
    encode = f"encode bad.jsonl --tokenizer tok --no-end-of-text -o {tmp_path}/t.bin --force --skip-damaged"
    short, long = run(folder, *encode.split()).stderr, run(folder, *encode.split(), "-v").stderr
    assert short.count("left out: ") == 20 and "10 more; --verbose lists all" in short
    assert long.count("left out: ") == 30
    missing = f"count none.txt -o {tmp_path}/c".split()
    assert "Traceback" not in run(folder, *missing, code=1).stderr
    assert "Traceback" in run(folder, *missing, "--verbose", code=1).stderr
    assert "Traceback" not in run(folder, *missing, code=1).stderr


def test_completion_of_verbs():
    assert program("-m", "tokenmill", "co", _TOKENMILL_COMPLETE="1").stdout.split() == ["count", "convert", "compare"]
    assert program("-m", "tokenmill", "help", "pl", _TOKENMILL_COMPLETE="1").stdout.split() == ["play"]
    assert "complete -o" in program("-m", "tokenmill", "--completion", "bash").stdout
    assert "compdef" in program("-m", "tokenmill", "--completion", "zsh").stdout
    wrong = program("-m", "tokenmill", "--completion", "sh")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr == "error: --completion is 'sh'; known are bash, zsh, fish\n"


def test_help_and_a_line_to_encode_import_little(folder):
    """Each of these would take longer than the work itself."""
    (folder / "line").write_text("low lower\n")
    code = (
        "import os, sys, tokenmill.cli as cli; sys.argv = {}; os._exit = sys.exit\n"
        "try:\n cli.entry()\nexcept SystemExit: pass\n"
        "print(*(name for name in {} if name in sys.modules), file=sys.stderr)"
    )
    heavy = ["click", "rich", "dataclasses", "numpy", "regex", "pyarrow", "tokenmill.tokenizer"]
    assert program("-c", code.format(["tokenmill", "--help"], heavy)).stderr == "\n"
    argv = ["tokenmill", "encode", str(folder / "line"), "--tokenizer", str(folder / "tok")]
    heavy = ["rich.console", "regex", "pyarrow", "tokenmill.training", "tokenmill.quality", "fsspec"]
    assert program("-c", code.format(argv, heavy)).stderr == "\n"


def test_keys_of_json_are_in_snake_case(folder, tmp_path):
    commands = (
        f"count a.txt -o {tmp_path}/c --json",
        f"train a.txt --vocab-size 260 -o {tmp_path}/t --json",
        f"extend tok a.txt --vocab-size 273 -o {tmp_path}/e --json",
        f"prune tok --ids ids -o {tmp_path}/p --json",
        f"prune tok a.txt -o {tmp_path}/s --json",
        f"extend tok a.txt --reuse 0 -o {tmp_path}/r --json",
        f"encode a.txt --tokenizer tok --no-end-of-text -o {tmp_path}/t.bin --json",
        f"convert tok {tmp_path}/x --to huggingface --json",
        "check tok --against tok --fuzz 0 --json",
        f"clean text a.txt -o {tmp_path}/clean --json",
        "inspect tok a.txt --json",
    )

    def keys(value):
        if isinstance(value, dict):
            for key, inner in value.items():
                yield key
                yield from keys(inner) if key not in ("readers", "removed_by_kind") else ()
        elif isinstance(value, list):
            for inner in value:
                yield from keys(inner)

    for command in commands:
        found = json.loads(run(folder, *command.split()).stdout)
        assert [key for key in keys(found) if not re.fullmatch("[a-z0-9_]+", key)] == [], command
        assert not {"memory", "speed"} & set(keys(found)), command


@pytest.mark.parametrize("columns", [60, 100])
def test_no_table_cuts_a_value(folder, columns, monkeypatch):
    wide = json.loads(run(folder, "inspect", "tok", "a.txt", "--json").stdout)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    from tokenmill.cli._tables import print_table
    from tokenmill.quality.judging import inspect as inspect_tokenizer

    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    for table in inspect_tokenizer(tokenmill.load(folder / "tok"), text=folder / "a.txt").tables:
        print_table(table.head(5))
    shown = re.sub(r"\s+", "", sys.stdout.getvalue())
    assert "…" not in shown
    for table in wide["tables"]:
        if table["key"] in ("domains", "thresholds", "scripts", "text"):
            for row in table["rows"]:
                for value in row.values():
                    if isinstance(value, int):
                        assert f"{value:,}" in shown, (table["key"], row)
    assert tokenmill.load(folder / "tok").vocabulary.fingerprint() in shown


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_labelled_with_speed_and_time_left(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")
    with _console.progress_bar() as progress:
        progress("count", 0, 4_000_000)
        progress("count", 2_000_000, 4_000_000)
        _console.say("a note")
        progress("merge", 10, 20)
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", sys.stderr.getvalue())
    lines = [line for line in re.split(r"[\r\n]+", plain) if line.strip()]
    assert any("Counting" in line and "50%" in line and "MB" in line for line in lines)
    assert any("Merging" in line and "10" in line for line in lines)
    assert [line for line in lines if "a note" in line] == ["a note"]
    assert _console.verbosity.live is None


def test_inspect_prints_five_tables_and_says_how_to_see_the_rest(folder):
    short, long = run(folder, "inspect", "tok", "a.txt"), run(folder, "inspect", "tok", "a.txt", "--all")
    assert "more tables: --all" in short.stderr and "--all" not in long.stderr
    assert "The vocabulary" in short.stdout and "By script" not in short.stdout and "By script" in long.stdout
    assert (
        "--all is not used by JSON, Markdown and HTML"
        in run(folder, "inspect", "tok", "--all", "--json", code=2).stderr
    )


def test_bars_reach_their_end(monkeypatch):
    """A total may be an estimate: what is done is done."""
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")
    with _console.progress_bar() as progress:
        progress("merge", 98, 100)
    assert "100%" in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", sys.stderr.getvalue())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "--vocab-sise", "300"], "--vocab-sise is not an option. Did you mean '--vocab-size'?"),
        (["count", "a.txt", "--tokenizer", "tok"], "--tokenizer is not an option. See tokenmill count --help"),
        (["train", "a.txt", "--json=yes"], "--json takes no value"),
        (["train", "a.txt", "--vocab-size"], "--vocab-size needs a value"),
        (["train", "a.txt", "--superwords", "--vocab-size", "300", "-o", "t"], "--superwords needs a value"),
        (["encode", "a.txt", "--tokenizer", "tok", "--begin-of-text", "-o", "t.bin"], "--begin-of-text needs a value"),
        (["train"], "Missing SOURCES, --vocab-size, --output. See"),
        (["train", "--language", "en=a"], "Missing --vocab-size, --output. See"),
        (["train", "a.txt", "--vocab-size", "300", "-o", "t", "--held-out"], "--held-out needs a value"),
        (["count", "a.txt", "-o", "t", "--split", "gpt2", "--split"], "--split needs a value"),
        (["convert", "tok", "out", "more", "--to", "ddtok"], "'more' is one argument too many"),
        (["encode", "a.txt", "--tokenizer", "tok", "-o", "t.bin", "--end-of-text", "x", "--no-end-of-text"], "exclude each other"),
        (["nspect", "tok"], "'nspect' is not a verb. Did you mean 'inspect'?"),
        (["hlep"], "Did you mean 'help'?"),
        (["train", "--parity", "--language", "en=a", "hi=b", "--ratio", "en=1e99999999", "hi=1", "--vocab-size", "270", "-o", "t"], "the ratio of en"),
        (["train", "--parity", "--language", "en=a", "hi=b", "--ratio", "en=1", "2", "hi=1", "--vocab-size", "270", "-o", "t"], "--ratio has 2 values for en: 1, 2; give one"),
        (["inspect", "tok", "--threshold", "nan"], "--threshold is not a number"),
        (["train", "a.txt", "--vocab-size", "270", "-o", "t", "--split", "\udcff+"], "the split pattern '\\udcff+' is not a name"),
    ],
)  # fmt: skip
def test_wrong_words_are_one_message(folder, words, message):
    assert message in run(folder, *words, code=2).stderr


def test_words_may_stand_in_any_order_and_form(folder, tmp_path):
    first = run(folder, "train", "--vocab-size=270", f"-o{tmp_path}/a", "a.txt", "-qv")
    run(folder, "train", "-q", "-o", tmp_path / "b", "--vocab-size", "270", "--", "a.txt")
    assert first.stdout == "" and tokenmill.load(tmp_path / "a") == tokenmill.load(tmp_path / "b")
    assert json.loads(run(folder, "compare", "tok", "--json", "--on", "a.jsonl", "a.jsonl", "--field", "body").stdout)


@pytest.mark.parametrize(
    ("words", "closed"),
    [
        *(("encode --tokenizer tok", closed) for closed in ("<&-", ">&-", "2>&-", ">&- 2>&-")),
        ("decode --tokenizer tok", "<&-"),
        ("inspect tok", ">&-"),
        ("check tok --against tok --fuzz 0", ">&- 2>&-"),
        ("--version", "2>&-"),
        ("--version", ">&- 2>&-"),
        ("--completion zsh", ">&-"),
    ],
)
def test_closed_streams(folder, words, closed):
    command = f"cd {shlex.quote(str(folder))}; {sys.executable} -m tokenmill {words} {closed}"
    ended = program_of(command)
    writes, reads = words.startswith(("--", "inspect", "encode")), words.startswith(("decode", "encode"))
    assert ended.returncode == int((writes and closed.startswith(">")) or (reads and closed == "<&-")), ended.stderr
    assert ("standard input is closed" in ended.stderr) == (reads and closed == "<&-")
    assert "Traceback" not in ended.stderr and "Errno" not in ended.stderr
    assert ended.stderr.count("error:") <= 1


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names are UTF-8 there")
def test_names_that_are_not_utf_8(folder, tmp_path):
    name = os.fsdecode(b"tok\xff")
    run(tmp_path, "train", folder / "a.txt", "--vocab-size", "260", "-o", name)
    run(tmp_path, "inspect", name, folder / "a.txt", "--html", os.fsdecode(b"r\xff.html"))
    run(tmp_path, "play", name, "--export", os.fsdecode(b"site\xff"))
    assert b"site\xff" in os.listdir(os.fsencode(tmp_path)) and b"r\xff.html" in os.listdir(os.fsencode(tmp_path))
