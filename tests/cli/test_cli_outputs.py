"""Every command refuses an output that exists, says what is there, and writes over it with --force."""

import contextlib
import gzip
import re
from pathlib import Path

import numpy as np
import pytest

import tokenmill
from command_line import CliRunner
from tokenmill.cli import _console
from tokenmill.cli.main import app
from tokenmill.errors import OutputError
from tokenmill.jobs.outputs import refuse_existing, refuse_folder
from tokenmill.jobs.work import JobOptions
from tokenmill.jobs.working_folder import alone, path_beside, working_folder

TEXT = "low lower lowest, new newer newest\n" * 40


@pytest.fixture
def folder(tmp_path):
    """A corpus, and a tokenizer with ids to prune."""
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / "ids").write_text("265\n264\n")
    tokenmill.train(tmp_path / "a.txt", 266).save(tmp_path / "tok")
    tokenmill.count(tmp_path / "a.txt").save(tmp_path / "counts")
    return tmp_path


def run(folder, *arguments):
    with contextlib.chdir(folder):
        return CliRunner(env={"COLUMNS": "300"}).invoke(app, list(arguments))


@pytest.mark.parametrize(
    "command",
    [
        "train a.txt --vocab-size 260",
        "count a.txt",
        "clean text a.txt",
        "convert tok --to huggingface",
        "play --export",
    ],
)
@pytest.mark.parametrize("force", [[], ["--force"]])
def test_no_folder_replaces_a_file(folder, command, force):
    (folder / "out").write_text("mine")
    words = command.split()
    words += [] if words[0] in ("play", "convert") else ["-o"]
    words = ["convert", "tok", "out", *words[2:]] if words[0] == "convert" else [*words, "out"]
    result = run(folder, *words, *force)
    assert result.exit_code == 1 and "out: a file has that name. Choose another output." in result.stderr, result.stderr
    assert (folder / "out").read_text() == "mine"


def contents(path):
    return {p: p.read_bytes() for p in ([path] if path.is_file() else sorted(path.rglob("*"))) if p.is_file()}


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        ("train a.txt --vocab-size 260 -o out", "out"),
        ("extend tok a.txt --vocab-size 267 -o out", "out"),
        ("prune tok --ids ids -o out", "out"),
        ("prune tok a.txt -o out", "out"),
        ("extend tok a.txt --reuse 0 -o out", "out"),
        ("convert tok out --to huggingface", "out"),
        ("convert tok out --to tiktoken", "out"),
        ("count a.txt -o out", "out"),
        ("count --merge counts -o out.ddfreq", "out.ddfreq"),
        ("count --merge counts -o out", "out"),
        ("clean text a.txt -o out", "out"),
        ("encode a.txt --tokenizer tok -o out", "out"),
        ("encode a.txt --tokenizer tok --no-end-of-text -o out.bin", "out.bin"),
        ("encode a.txt --tokenizer tok --no-end-of-text -o out.npy", "out.npy"),
        ("decode ids --tokenizer tok -o out", "out"),
        ("inspect tok a.txt --html out.html", "out.html"),
        ("compare tok --on a.txt --html out.html", "out.html"),
        ("play tok --export out", "out"),
    ],
)
def test_an_output_that_exists_is_refused_without_force(folder, arguments, output):
    place = folder / output
    assert run(folder, *arguments.split()).exit_code == 0
    if arguments.startswith("clean"):  # the same command is not refused: it is finished
        assert run(folder, *arguments.split()).exit_code == 0
        arguments += " --min-chars 3"
    before = contents(place)
    refused = run(folder, *arguments.split())
    assert refused.exit_code == 1 and "--force" in refused.stderr and output in refused.stderr, refused.output
    assert "overwrite=" not in refused.stderr
    assert contents(place) == before
    forced = run(folder, *arguments.split(), "--force")
    assert forced.exit_code == 0, forced.output


def test_what_is_there_is_named(tmp_path):
    (tmp_path / "file").write_bytes(b"x" * 1234)
    (tmp_path / "folder").mkdir()
    refuse_existing(tmp_path / "nothing")
    refuse_folder(tmp_path / "folder", Path.is_file)
    for name in "abcd":
        (tmp_path / "folder" / name).touch()
    with pytest.raises(OutputError, match=r"file exists: a file of 1,234 bytes. .*overwrite=True"):
        refuse_existing(tmp_path / "file")
    with pytest.raises(OutputError, match=r"folder exists: a folder with a, b, c and others"):
        refuse_folder(tmp_path / "folder", Path.is_file)
    refuse_existing(tmp_path / "file", overwrite=True)
    refuse_folder(tmp_path / "folder", Path.is_file, overwrite=True)
    with pytest.raises(OutputError, match="a folder has that name"):
        refuse_existing(tmp_path / "folder", overwrite=True)


def test_in_python(folder):
    tok, counts, text = tokenmill.load(folder / "tok"), tokenmill.WordCounts.load(folder / "counts"), folder / "a.txt"
    options = tokenmill.EncodeOptions(end_of_text=False)
    writers = {
        "tok": lambda overwrite: tok.save(folder / "tok", overwrite=overwrite),
        "counts": lambda overwrite: counts.save(folder / "counts", overwrite=overwrite),
        "sum": lambda overwrite: tokenmill.add_up([folder / "counts"], folder / "sum", overwrite=overwrite),
        "counted": lambda overwrite: tokenmill.count_to_folder(
            text, folder / "counted", job=JobOptions(overwrite=overwrite)
        ),
        "t.bin": lambda overwrite: tokenmill.encode_files(
            tok, text, folder / "t.bin", options=options, job=JobOptions(overwrite=overwrite)
        ),
    }
    for name, write in writers.items():
        if not (folder / name).exists():
            write(False)
        with pytest.raises(OutputError, match="overwrite=True"):
            write(False)
        write(True)


def test_a_tokenizer_is_saved_beside_a_model(folder):
    """A folder with other files is not an output that exists."""
    (folder / "model").mkdir()
    (folder / "model" / "model.safetensors").write_bytes(b"weights")
    tok = tokenmill.load(folder / "tok")
    tok.save(folder / "model")
    assert (folder / "model" / "model.safetensors").read_bytes() == b"weights"
    with pytest.raises(OutputError, match=r"model/tokenizer.json exists"):
        tok.save(folder / "model")


def test_training_is_refused_before_it_begins(folder, monkeypatch):
    monkeypatch.setattr("tokenmill.training.Training.run", lambda self: pytest.fail("trained"))
    assert run(folder, "train", "a.txt", "--vocab-size", "260", "-o", "tok").exit_code == 1


def test_an_interrupted_publication_goes_on_without_overwriting(folder):
    """What is in the place then may be its own. Before, it is of somebody else."""
    output = folder / "out"
    output.mkdir()
    (output / "old").touch()
    with pytest.raises(KeyError), working_folder(path_beside(output), output, {}) as job:
        job.save("state", 1)
        raise KeyError
    with pytest.raises(OutputError):
        JobOptions().check_output(output, Path.is_file, [])
    with pytest.raises(KeyError), working_folder(path_beside(output), output, {}) as job:
        job.save("files", ["output"])
        raise KeyError
    JobOptions().check_output(output, Path.is_file, [])
    with pytest.raises(OutputError):
        JobOptions(resume=False).check_output(output, Path.is_file, [])


def test_ctrl_c_says_that_the_same_command_goes_on(folder, monkeypatch):
    """Only if something was saved to go on from."""

    def interrupted(tok, sources, output, *rest, **options):
        with working_folder(path_beside(Path(output)), output, {}) as job:
            if saved:
                job.save("state", 1)
            raise KeyboardInterrupt

    monkeypatch.setattr("tokenmill.token_files.encoding.encode_files", interrupted)
    for saved in (False, True):
        result = run(folder, *"encode a.txt --tokenizer tok --no-end-of-text -o t.bin".split())
        assert result.exit_code == 130 and "stopped" in result.stderr
        assert ("Run the same command to resume" in result.stderr) is saved
    assert not (folder / "t.bin").exists()


def test_a_long_document_is_named(folder, monkeypatch):
    monkeypatch.setattr(_console, "LONG_DOCUMENT", 1000)
    commands = (
        "count a.txt -o c",
        "train a.txt --vocab-size 260 -o t",
        "encode a.txt --tokenizer tok --no-end-of-text -o t.npy",
        "clean text a.txt -o cleaned",
    )
    for command in commands:
        result = run(folder, *command.split())
        what = "a.txt of 0 MB is " + ("cut into documents" if "clean" in command else "one document")
        assert result.exit_code == 0 and what in result.stderr, result.output
        assert "--unit line, blank or separator" in result.stderr
        again = run(folder, *command.split(), "--force", "--unit", "line")
        assert again.exit_code == 0 and "a.txt of 0 MB" not in again.stderr
    assert np.load(folder / "t.npy").size


def test_one_default_unit(folder):
    """Clean, count, train and encode take a file for one document."""
    import json

    tok = "--tokenizer tok --no-end-of-text"
    commands = ("count a.txt -o c", "train a.txt --vocab-size 260 -o t", f"encode a.txt {tok} -o t.npy")
    for command in commands:
        assert json.loads(run(folder, *command.split(), "--json").stdout)["documents"] == 1
        assert (
            json.loads(run(folder, *command.split(), *"--json --force --unit line".split()).stdout)["documents"] == 40
        )
    assert json.loads(run(folder, *"clean text a.txt -o cleaned --json".split()).stdout)["documents_in"] == 1


def test_force_replaces_only_an_earlier_output_of_the_same_verb(folder):
    """Not a folder with a source in it, or with anything else; not the current folder, a link or a device."""
    (folder / "cp").mkdir()
    (folder / "cp" / "a.txt").write_text(TEXT)
    (folder / "link").symlink_to(folder / "counts")
    (folder / "model").mkdir()
    (folder / "model" / "weights").write_text("w")
    commands = {
        "count cp -o cp --force": "cp contains cp/a.txt, which this command reads",
        "count a.txt -o cp --force": "cp is a folder with other files: a.txt",
        "count --merge counts -o . --force": "is the current folder",
        "count a.txt -o link --force": "link is a symbolic link",
        "count a.txt -o tok --force": "tok is a folder with other files: ",
        "count a.txt -o /dev/null --force": "a file has that name",
        "count --merge counts -o cp --force": "cp is a folder with other files: a.txt",
        "clean text a.txt -o cp --force": "cp is a folder with other files: a.txt",
        "clean text cp -o cp --force": "cp is",
        "play tok --export cp --force": "cp is a folder with other files: a.txt",
        "encode a.txt --tokenizer tok --no-end-of-text -o a.txt --format bin --force": "this command reads",
        "encode a.txt --tokenizer tok -o cp --force": "is a folder, and lines of ids go to one file",
        "train a.txt --vocab-size 260 -o ": "--output is empty",
        "encode a.txt --tokenizer tok -o -": "standard output is /dev/stdout",
        "decode ids --tokenizer tok -o -": "standard output is /dev/stdout",
        "inspect tok --html -": "standard output is /dev/stdout",
        "train a.txt --vocab-size 260 -o -": "standard output is /dev/stdout",
        "count a.txt -o -": "standard output is /dev/stdout",
        "encode a.txt --tokenizer tok --no-end-of-text -o x.npy --format bin": "suffix of another format",
        "encode a.txt --tokenizer tok --no-end-of-text -o x.idx --format bin": "suffix of another format",
        "encode a.txt --tokenizer tok -o x.npy --format text": "suffix of another format than text. Name the output x.txt",
    }
    before = contents(folder)
    for command, message in commands.items():
        result = run(folder, *command.split(" "))
        assert result.exit_code in (1, 2) and message in " ".join(result.stderr.split()), (command, result.output)
        assert contents(folder) == before, command
    assert (
        run(folder, *"train a.txt --vocab-size 260 -o model".split()).exit_code == 0
    )  # a tokenizer goes beside a model
    assert (folder / "model" / "weights").read_text() == "w"


@pytest.mark.parametrize(
    "command",
    [
        "inspect tok a.txt --html {a.txt}",
        "inspect tok en=a.txt --html {a.txt}",
        "inspect tok texts --html {texts/b.txt}",
        "inspect tok --html {tok/tokenizer.json}",
        "inspect tok/tokenizer.json --html {tok/tokenizer_config.json}",
        "inspect tok counts --html {counts/counts-00000-of-00001.parquet}",
        "compare tok mine=tok --on texts/*.txt --html {texts/b.txt}",
        "compare tok cl=tok/tokenizer.json --on texts --html {tok/tokenizer.json}",
        "train a.txt --vocab-size 260 -o out --log {a.txt}",
        "train a.txt --vocab-size 260,262 -o out --html {a.txt}",
        "train a.txt --vocab-size 260 --held-out texts -o out --html {texts/b.txt}",
        "train a.txt --vocab-size 260 --held-out texts -o out --log {texts/b.txt}",
        "train --parity --language en=a.txt b=texts --ratio en=1 b=1 --vocab-size 260 -o out --log {texts/b.txt}",
        "train tok/tokenizer.json --vocab-size 260 -o tok",
        "train tok --vocab-size 260 -o tok",
        "count --merge counts -o counts",
        "count --merge a.ddfreq -o a.ddfreq",
        "clean text out.report.json -o out",
        "encode a.txt --tokenizer tok -o {a.txt} --format text",
        "encode a.txt --tokenizer tok -o {tok/tokenizer.json} --format text",
        "encode x.bin.json --tokenizer tok --no-end-of-text -o x.bin",
        "encode a.txt --tokenizer x.bin.json --no-end-of-text -o x.bin",
        "encode x.idx --tokenizer tok --no-end-of-text -o x.bin --format megatron",
        "decode ids --tokenizer tok -o {ids}",
        "decode ids --tokenizer tok -o {tok/tokenizer.json}",
        "prune tok --ids ids -o tok",
        "prune tok --ids smaller/tokenizer.json -o smaller",
        "extend tok a.txt --vocab-size 267 -o tok",
        "extend tok a.txt --reuse 0 --keep smaller -o smaller",
        "extend tok a.txt --reuse 0 --keep model/new_rows.json -o model",
        "train a.txt --vocab-size 260 --held-out smaller -o smaller",
        "convert tok smaller --to huggingface --sample smaller/tokenizer.json",
        "convert tok tok --to huggingface",
        "convert x.bin.json {x.bin.json} --to tiktoken",
        "play page.html --export {page.html}",
    ],
)
def test_no_output_replaces_what_the_command_reads(folder, command):
    """Whatever the output is called: {} is the file, a symbolic link to it, or another name of it."""
    (folder / "texts").mkdir()
    (folder / "texts" / "b.txt").write_text(TEXT)
    for name in ("smaller", "model"):
        (folder / name).mkdir()
    (folder / "model" / "weights").write_text("w")
    for name in ("out.report.json", "x.idx", "smaller/tokenizer.json", "model/new_rows.json"):
        (folder / name).write_text(TEXT)
    for name in ("x.bin.json", "page.html"):
        (folder / name).write_bytes((folder / "tok" / "tokenizer.json").read_bytes())
    assert run(folder, *"count --merge counts -o a.ddfreq".split()).exit_code == 0
    if match := re.search("{(.*)}", command):
        (folder / "hard.txt").hardlink_to(folder / match[1])
        (folder / "soft.txt").symlink_to(match[1])
    names = [match[1], "hard.txt", "soft.txt"] if match else [""]
    before = contents(folder)
    for name in names:
        result = run(folder, *re.sub("{.*}", name, command).split(), "--force")
        assert result.exit_code == 2 and "this command reads. Name another output." in result.stderr, result.output
        assert contents(folder) == before, command


@pytest.mark.parametrize(
    "command",
    [
        "260,262 -o out --html page --log page",
        "260,262 -o out --html link/page --log page",
        "260,262 -o out --html out",
        "260,262 -o out --html out/260",
        "260,262 -o out --log out/262/tokenizer.json",
        "260 -o out --log out",
        "260 -o out --log out/../out/tokenmill.json",
        "260 --for sentencepiece -o a.model --log a.model",
    ],
)
def test_two_outputs_are_two_files(folder, command):
    (folder / "link").symlink_to(folder)
    before = contents(folder)
    result = run(folder, *f"train a.txt --vocab-size {command} --force".split())
    assert result.exit_code == 2 and "is another output of this command too" in result.stderr, result.output
    assert contents(folder) == before
    beside = run(folder, *"train a.txt --vocab-size 260,262 -o sizes --html sizes/page --log sizes/log".split())
    assert beside.exit_code == 0 and {path.name for path in (folder / "sizes").iterdir()} == {
        *"260 262 page log".split()
    }


@pytest.mark.parametrize(
    "command",
    [
        "count bad.txt bad.gz -o out",
        "train bad.txt bad.gz --vocab-size 260 -o out",
        "clean text bad.txt -o out",
        "encode bad.txt bad.gz --tokenizer tok -o out",
        "encode bad.txt bad.gz --tokenizer tok",
        "encode bad.txt bad.gz --tokenizer tok --no-end-of-text -o out.bin",
        "prune tok bad.txt bad.gz -o out",
        "extend tok bad.txt bad.gz --vocab-size 270 -o out",
        "inspect tok bad.txt bad.gz --html out",
        "compare tok --on bad.txt bad.gz --html out",
    ],
)
def test_damaged_sources_alone_are_an_error(folder, command):
    """With --skip-damaged too. Each is named, and nothing is written."""
    (folder / "bad.txt").write_bytes(b"bad \xff")
    (folder / "bad.gz").write_bytes(gzip.compress(TEXT.encode())[:20])
    before = set(folder.rglob("*"))
    result = run(folder, *command.split(), "--skip-damaged")
    assert result.exit_code and result.stdout == "" and "error: " in result.stderr, result.output
    assert "bad.txt: not UTF-8" in result.stderr
    assert set(folder.rglob("*")) == before


def test_clean_replaces_its_own_shards_only(folder):
    command = "clean text a.txt -o out --format text"
    assert run(folder, *command.split()).exit_code == 0
    shards = contents(folder / "out")
    again = run(folder, *command.split(), *"--min-chars 3 --force".split())
    assert again.exit_code == 0 and contents(folder / "out") == shards
    refused = run(folder, "clean", "text", *map(str, (folder / "out").glob("shard*")), "-o", "out", "--force")
    assert refused.exit_code == 2 and "this command reads" in refused.stderr
    (folder / "out" / "notes").write_text("mine")
    refused = run(folder, *command.split(), *"--min-chars 4 --force".split())
    assert refused.exit_code == 1 and "other files: notes" in refused.stderr
    assert contents(folder / "out") == shards | {folder / "out" / "notes": b"mine"}


def test_text_goes_to_a_device(folder):
    for command in ("encode a.txt --tokenizer tok -o /dev/null", "decode ids --tokenizer tok -o /dev/null"):
        assert run(folder, *command.split()).exit_code == 0
    assert not Path("/dev/null").is_file()


def test_a_replacement_appears_whole(folder, monkeypatch):
    """The tokenizer, the id map and the rows for new tokens come in one step."""

    def stop(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("tokenmill.jobs.outputs.publish", stop)
    stopped = run(folder, *"extend tok a.txt --reuse 0 -o out".split())
    assert stopped.exit_code == 130 and not (folder / "out").exists()
    monkeypatch.undo()
    monkeypatch.setattr("tokenmill.quality.certificate.certify", stop)
    stopped = run(folder, *"extend tok a.txt --reuse 0 -o elsewhere".split())
    assert stopped.exit_code == 130 and "elsewhere" in stopped.stderr.partition("finished before: ")[2], stopped.stderr
    monkeypatch.undo()
    assert run(folder, *"extend tok a.txt --reuse 0 -o out".split()).exit_code == 0
    assert {"tokenizer.json", "id_map.npy", "new_rows.json"} <= {path.name for path in (folder / "out").iterdir()}


def test_a_source_that_cannot_be_read_is_not_called_an_output(folder):
    mem = Path("/proc/self/mem")
    if not mem.exists():
        pytest.skip("needs a file whose first byte cannot be read")
    for command in (
        f"count {mem} -o c",
        f"encode {mem} --tokenizer tok --no-end-of-text -o t.bin",
        f"encode {mem} --tokenizer tok -o t.txt",
        f"train {mem} --vocab-size 260 -o t",
    ):
        result = run(folder, *command.split())
        assert result.exit_code == 1 and "cannot write" not in result.stderr and str(mem) in result.stderr, (
            result.output
        )


def test_an_output_that_another_process_writes_is_refused_before_the_work(folder, monkeypatch):
    """Those that appear in one step at the end, too."""
    monkeypatch.setattr("tokenmill.sources.documents.open_source", lambda *_, **options: pytest.fail("text was read"))
    commands = (
        "train a.txt --vocab-size 260 -o out",
        "prune tok a.txt -o out",
        "extend tok a.txt --vocab-size 260 -o out",
        "encode a.txt --tokenizer tok -o out",
        "encode a.txt --tokenizer tok --no-end-of-text --format bin -o out",
        "decode ids.txt --tokenizer tok -o out",
    )
    (folder / "ids.txt").write_text("1 2")
    for command in commands:
        with alone(folder / "out"):
            result = run(folder, *command.split(), "--force")
        assert result.exit_code == 2 and "another process is writing out" in result.stderr, command
        assert not list(folder.glob("*out*")), command
    # A folder that is there already is locked too.
    with alone(folder / "tok"):
        result = run(folder, "train", "a.txt", "--vocab-size", "260", "-o", "tok", "--force")
    assert result.exit_code == 2 and "another process is writing tok" in result.stderr


def test_a_lock_needs_no_place_beside_a_folder_that_stays(folder):
    """Such as the root of a disk. The folders that were made for a lock are deleted with it."""
    for output in (None, "/", "/dev/stdout", folder / "new" / "below" / "out"):
        with alone(output):
            pass
    assert not (folder / "new").exists()
