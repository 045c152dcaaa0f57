"""tokenmill train: what it makes, what it says, and how it ends when something is wrong."""

import gzip
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

import pytest

import tokenmill
from command_line import call as run
from command_line import program
from tokenmill.errors import ConversionError, UsageError
from tokenmill.formats.writing import write

TEXT = "The cat sat on the mat. The dog sat on the log, and the cats watched.\n" * 50


def run_process(*arguments):
    """A process of its own, whose peak of memory is that of the command."""
    command = [sys.executable, "-m", "tokenmill", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text(TEXT)
    return path


def test_superwords_from_text_and_from_saved_counts(corpus, tmp_path):
    options = ["--vocab-size", 330, "--superwords", "superbpe", "--stage1-size", 290]
    result = run("train", corpus, *options, "-o", tmp_path / "a", "--json", "--memory-limit", "200MB")
    assert result.exit_code == 0, result.stderr
    assert result.stderr.startswith("the stage before superwords will need up to ")
    assert json.loads(result.stdout)["bytes_per_token"] > 5
    assert any(token.count(b" ") > 1 for token in tokenmill.load(tmp_path / "a").vocabulary.tokens if token)
    assert run("count", corpus, "-o", tmp_path / "counts").exit_code == 0
    assert run("train", tmp_path / "counts", *options, "--text", corpus, "-o", tmp_path / "b").exit_code == 0
    assert (tmp_path / "a" / "tokenizer.json").read_bytes() == (tmp_path / "b" / "tokenizer.json").read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--superwords", "superbpe"], "--stage1-size"),
        (["--stage1-size", 290], "--superwords"),
        (["--superwords", "superbpe", "--stage1-size", 290, "--refine", 0.9], "without --refine"),
        (["--text", "a.txt"], "--text"),
    ],
)
def test_wrong_options_of_superwords(options, message, corpus, tmp_path):
    result = run("train", corpus, "--vocab-size", 330, "-o", tmp_path / "tok", *options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_train_makes_a_tokenizer_and_says_what_it_made(corpus, tmp_path):
    result = run("train", corpus, "--vocab-size", 280, "-o", tmp_path / "tok", "--special-token", "<|end|>", "--json")
    assert result.exit_code == 0, result.stderr
    summary = json.loads(result.stdout)
    assert summary["documents"] == 1
    assert summary["bytes"] == len(TEXT)
    assert summary["ids"] == 280
    assert {"count", "train", "save"} <= summary["seconds"].keys()
    tok = tokenmill.load(tmp_path / "tok")
    assert tok.n_vocab == 280
    assert tok.special_tokens_set == {"<|end|>"}
    assert summary["bytes_per_token"] == round(len(TEXT) / len(tok.encode(TEXT)), 4)


def test_train_from_saved_counts_gives_the_same_bytes(corpus, tmp_path):
    assert run("count", corpus, "-o", tmp_path / "counts").exit_code == 0
    assert run("train", tmp_path / "counts", "--vocab-size", 300, "-o", tmp_path / "a").exit_code == 0
    assert run("train", corpus, "--vocab-size", 300, "-o", tmp_path / "b").exit_code == 0
    for name in os.listdir(tmp_path / "b"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_picky_training_says_that_other_programs_need_an_export(corpus, tmp_path):
    wanted = ("train", corpus, "--vocab-size", 300, "--force", "-o", tmp_path / "tok")
    assert "--to longest-match --lossy" in run(*wanted, "--refine", 0.6).stderr
    assert "--to longest-match" not in run(*wanted).stderr


def test_rare_pretokens_of_saved_counts_are_not_loaded_and_the_need_of_memory_is_stated(corpus, tmp_path):
    corpus.write_text(TEXT + "Once only. ")
    assert run("count", corpus, "-o", tmp_path / "counts").exit_code == 0
    whole, pruned = (tokenmill.WordCounts.load(tmp_path / "counts", min_count=min_count) for min_count in (1, 2))
    assert dict(pruned.items()) == {pretoken: count for pretoken, count in whole.items() if count > 1}
    assert len(pruned) < len(whole)
    made = []
    for source in (tmp_path / "counts", corpus):
        options = "--vocab-size", 300, "--min-count", 2, "-o", tmp_path / "t", "--json", "--force"
        result = run_process("train", source, *options)
        assert result.returncode == 0, result.stderr
        announced = re.match(r"training will need up to (\d+) MiB of memory\n", result.stderr)
        peak = next(value for key, value in json.loads(result.stdout).items() if key.startswith("peak_memory"))
        assert announced and int(announced[1]) <= 1.5 * peak
        made.append((tmp_path / "t" / "tokenizer.json").read_bytes())
    assert made[0] == made[1]
    result = run("train", tmp_path / "counts", "--vocab-size", 300, "--min-count", 10**6, "-o", tmp_path / "t2")
    assert result.exit_code == 1
    assert "Lower --min-count" in result.stderr


def test_the_need_of_memory_includes_that_of_saving_many_tokens(corpus, tmp_path):
    rng = random.Random(5)
    (tmp_path / "words.txt").write_text(" ".join("".join(rng.choices("abcdefghij", k=9)) for _ in range(90_000)))
    result = run_process("train", tmp_path / "words.txt", "--vocab-size", "120k", "-o", tmp_path / "t", "--json")
    assert result.returncode == 0, result.stderr
    announced = int(re.match(r"training will need up to (\d+) MiB of memory\n", result.stderr)[1])
    assert 0.6 * announced <= json.loads(result.stdout)["peak_memory_mib"] <= 1.05 * announced
    few = run_process("train", corpus, "--vocab-size", "2m", "-o", tmp_path / "u")
    assert int(re.match(r"training will need up to (\d+) MiB", few.stderr)[1]) < 100


def test_the_need_of_memory_includes_that_of_many_removals(tmp_path):
    rng = random.Random(5)
    (tmp_path / "words.txt").write_text(" ".join("".join(rng.choices("abcdefghij", k=9)) for _ in range(40_000)))
    options = "--vocab-size", "60k", "--refine", "0.2"
    result = run_process("train", tmp_path / "words.txt", *options, "-o", tmp_path / "t", "--json")
    assert result.returncode == 0, result.stderr
    announced = int(re.match(r"training will need up to (\d+) MiB of memory\n", result.stderr)[1])
    assert 0.5 * announced <= json.loads(result.stdout)["peak_memory_mib"] <= 1.05 * announced


def test_a_size_that_the_text_does_not_reach_has_no_gain_of_a_doubling(corpus, tmp_path):
    page = tmp_path / "sizes.html"
    result = run("train", corpus, "--vocab-size", "300,600,9000", "-o", tmp_path / "t", "--json", "--html", page)
    assert result.exit_code == 0, result.stderr
    sizes = json.loads(result.stdout)["sizes"]
    ids = json.loads(result.stdout)["ids"]
    assert (ids < 9000 and sizes[1]["gain_of_a_doubling_share"] is not None) or ids < 600
    assert sizes[2]["gain_of_a_doubling_share"] is None
    assert f"ran out of pairs at {ids:,} ids" in page.read_text()


def test_close_sizes_have_no_gain_of_a_doubling(tmp_path):
    rng = random.Random(5)
    (tmp_path / "words.txt").write_text(" ".join("".join(rng.choices("abcdefghij", k=9)) for _ in range(1000)))
    result = run("train", tmp_path / "words.txt", "--vocab-size", "260,264,330,400", "-o", tmp_path / "t", "--json")
    assert result.exit_code == 0, result.stderr
    sizes = json.loads(result.stdout)["sizes"]
    assert [size["gain_share"] is None for size in sizes] == [True, False, False, False]
    assert [size["gain_of_a_doubling_share"] is None for size in sizes] == [True, True, False, True]


@pytest.mark.parametrize("packed", [False, True])
def test_memory_is_free_when_it_is_needed(corpus, tmp_path, packed):
    """No word counts while plain BPE trains; no NumPy beside a decompressor, which may hold 128 MiB."""
    path = corpus
    if packed:
        path = tmp_path / "corpus.txt.gz"
        path.write_bytes(gzip.compress(corpus.read_bytes()))
    code = f"""
import gc, sys
from tokenmill.counting import WordCounts
from tokenmill.counting.threads import Threads
join = Threads.join
def joined(self, watch):
    join(self, watch)
    assert ("numpy" in sys.modules) != {packed}
    from tokenmill.training import Training
    train = Training.run
    def run(self):
        assert not [each for each in gc.get_objects() if isinstance(each, WordCounts)]
        return train(self)
    Training.run = run
Threads.join = joined
from tokenmill.cli import entry
sys.argv = ["tokenmill", "train", {str(path)!r}, "--vocab-size", "300", "-o", {str(tmp_path / "out")!r}]
entry()
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    assert "bytes per token" in result.stderr


def test_too_little_memory_is_said_before_training():
    from tokenmill.training.trainer import memory_note

    assert "up to 3 MiB of memory, but only 2 MiB are free" in memory_note(3 << 20, 2 << 20)


def test_the_result_does_not_depend_on_threads_or_files(corpus, tmp_path):
    lines = TEXT.splitlines(keepends=True)
    (tmp_path / "one.jsonl").write_text("".join(json.dumps({"text": line}) + "\n" for line in lines))
    (tmp_path / "many").mkdir()
    for i, line in enumerate(lines):
        (tmp_path / "many" / f"{i:03}.txt").write_text(line)
    made = []
    for source in (tmp_path / "one.jsonl", tmp_path / "many", f"{tmp_path}/many/*.txt"):
        for threads in (1, 2, 7):
            out = tmp_path / f"tok{len(made)}"
            result = run("train", source, "--vocab-size", 290, "-o", out, "--num-threads", threads)
            assert result.exit_code == 0, result.stderr
            made.append({name: (out / name).read_bytes() for name in os.listdir(out)})
    assert all(files == made[0] for files in made)


def test_a_corpus_that_runs_out_of_pairs_keeps_its_tokens(tmp_path):
    (tmp_path / "a.txt").write_text("abab")
    result = run("train", tmp_path / "a.txt", "--vocab-size", 1000, "-o", tmp_path / "tok", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["ids"] == 258
    assert "ran out of pairs" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["{tmp}/missing.txt", "--vocab-size", "300"], 1, "missing.txt"),
        (["{corpus}", "--vocab-size", "255"], 2, "256"),
        (["{corpus}", "--vocab-size", "256", "--special-token", "<s>"], 2, "257"),
        (["{corpus}", "--vocab-size", "300", "--split", "(unclosed"], 2, "unclosed"),
        (["{corpus}", "--vocab-size", "300", "--special-token", ""], 2, "special token '' is empty"),
        (["{corpus}", "--vocab-size", "300", "--alphabet", "magic"], 2, "magic"),
        (["{corpus}", "--vocab-size", "many"], 2, "--vocab-size"),
        (
            ["{corpus}", "--vocab-size", "2097153"],
            2,
            "--vocab-size is 2,097,153; the files of a tokenizer have at most",
        ),
        (["{tmp}/empty.txt", "--vocab-size", "300"], 1, "empty"),
        (["{tmp}/broken.zst", "--vocab-size", "300"], 1, "broken.zst"),
        (["{tmp}/binary.bin", "--vocab-size", "300"], 1, "looks binary"),
    ],
)
def test_a_mistake_is_one_message(corpus, tmp_path, arguments, code, message):
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "broken.zst").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(range(40)))
    (tmp_path / "binary.bin").write_bytes(bytes(range(256)) * 10)
    result = run("train", *(a.format(tmp=tmp_path, corpus=corpus) for a in arguments), "-o", tmp_path / "tok")
    assert result.exit_code == code, result.stderr
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "tok").exists()


def test_counts_do_not_take_a_split_pattern(corpus, tmp_path):
    assert run("count", corpus, "-o", tmp_path / "counts").exit_code == 0
    result = run("train", tmp_path / "counts", "--split", "gpt2", "--vocab-size", 300, "-o", tmp_path / "tok")
    assert result.exit_code == 2
    assert "leave out --split" in result.stderr


@pytest.mark.parametrize("sizes", ["300", "300,310"])
def test_a_tokenizer_is_not_written_into_the_folder_that_is_read(sizes, corpus, tmp_path):
    assert run("count", corpus, "-o", tmp_path / "counts").exit_code == 0
    before = sorted(os.listdir(tmp_path / "counts"))
    for force in ([], ["--force"]):
        result = run("train", tmp_path / "counts", "--vocab-size", sizes, "-o", tmp_path / "counts", *force)
        assert result.exit_code == 2 and "this command reads. Name another output" in result.stderr
    result = run("extend", "gpt2", tmp_path / "counts", "--vocab-size", 50300, "-o", tmp_path / "counts")
    assert result.exit_code in (1, 2) and sorted(os.listdir(tmp_path / "counts")) == before


def test_a_full_disk_leaves_nothing(corpus, full_disk):
    (full_disk / "filler").write_bytes(b"x" * 256_000)
    result = run("train", corpus, "--vocab-size", 280, "-o", full_disk / "tok")
    assert result.exit_code == 1
    assert "No space left" in result.stderr
    assert os.listdir(full_disk) == ["filler"]


def test_ctrl_c_ends_with_130_and_nothing_half_written(tmp_path):
    os.mkfifo(tmp_path / "endless.txt")  # a source that never ends: the process can only be stopped
    command = program("train --vocab-size 1000 -o", tmp_path / "tok", tmp_path / "endless.txt")
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    with open(tmp_path / "endless.txt", "wb") as pipe:
        for i in range(100):
            pipe.write(b"all work and no play %d\n" % i * 1000)
        pipe.flush()
        time.sleep(0.1)  # nearly all was read: the pipe itself holds little
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert not (tmp_path / "tok").exists()


@pytest.mark.parametrize(
    ("options", "works"),
    [
        ({}, "tiktoken transformers llama.cpp"),
        ({"special_tokens": ["<e>"]}, "tiktoken transformers llama.cpp"),
        ({"split": "cl100k"}, "tiktoken transformers"),
        ({"split": "gpt2"}, "tiktoken transformers llama.cpp"),
        ({"normalize": ["lowercase"]}, "transformers"),
        ({"alphabet": "characters", "unknown_token": "<u>"}, "transformers"),
        ({"superwords": "superbpe", "stage1_size": 280}, "tiktoken transformers"),
        ({"superwords": "boundless"}, ""),
        ({"refine": 0.9}, ""),
    ],
)
def test_a_target_is_checked_before_training_as_converting_does_after_it(options, works, corpus, tmp_path):
    tok = tokenmill.train(corpus, vocab_size=300, **options)
    for target, format in (("tiktoken", "tiktoken"), ("transformers", "huggingface"), ("llama.cpp", "gguf")):
        if target in works.split():
            write(tok.vocabulary, tmp_path / target, format)
            assert tokenmill.train(corpus, vocab_size=300, **options, target=target) == tok
            continue
        with pytest.raises(UsageError, match=f"{target} cannot load a tokenizer that these options train"):
            tokenmill.train(tmp_path / "missing.txt", vocab_size=300, **options, target=target)
        if format != "huggingface":  # which has the events in a file beside it
            with pytest.raises(ConversionError):
                write(tok.vocabulary, tmp_path / target, format)


def test_ddfreq_files_need_no_split(corpus, tmp_path):
    (tmp_path / "lines.txt").write_text("no newline joins a word\n" + TEXT)
    for command in (
        ["count", "lines.txt", "--split", "ddtokens", "-o", "c.ddfreq"],
        ["train", "lines.txt", "--split", "ddtokens", "--vocab-size", 290, "-o", "a"],
        ["train", "c.ddfreq", "--vocab-size", 290, "-o", "b"],
    ):
        result = run(*command, cwd=tmp_path)
        assert result.exit_code == 0, result.stderr
    assert "c.ddfreq does not name its split pattern; training uses ddtokens" in result.stderr
    assert (tmp_path / "a" / "tokenizer.json").read_bytes() == (tmp_path / "b" / "tokenizer.json").read_bytes()
    assert not any(b"\n" in token for token in tokenmill.load(tmp_path / "b").vocabulary.tokens[256:])


def test_counts_in_a_ddfreq_file_train_the_same_tokenizer(corpus, tmp_path):
    counts = tmp_path / "counts.ddfreq"
    assert run("count", corpus, "-o", tmp_path / "counts").exit_code == 0
    assert run("count", "--merge", tmp_path / "counts", "-o", counts).exit_code == 0
    nameless = run("train", counts, "--vocab-size", 280, "-o", tmp_path / "a")
    assert nameless.exit_code == 2 and "without their split pattern: name it with --split" in nameless.stderr
    assert run("train", counts, "--vocab-size", 280, "--split", "llama3", "-o", tmp_path / "a").exit_code == 0
    assert run("train", corpus, "--vocab-size", 280, "-o", tmp_path / "b").exit_code == 0
    made = [(tmp_path / name / "tokenizer.json").read_bytes() for name in "ab"]
    assert made[0] == made[1]
    text = run("count", counts, "-o", tmp_path / "c")
    assert text.exit_code == 2 and "contains word counts, not text" in text.stderr
    for verb in (["train", corpus, "--vocab-size", 280], ["count"]):
        text = run(*verb, tmp_path / "counts", "-o", tmp_path / "c")
        assert text.exit_code == 1 and ".parquet: contains word counts, not text" in text.stderr


def test_standard_input_is_counted_and_trained_on_like_a_file(corpus, tmp_path):
    made = []
    for name, source in (("a", "-"), ("b", corpus)):
        given = corpus.read_text() if source == "-" else None
        for verb in (["train", source, "--vocab-size", 280], ["count", source]):
            result = run(*verb, "-o", tmp_path / f"{verb[0]}-{name}", input=given)
            assert result.exit_code == 0, result.stderr
        counts = tokenmill.WordCounts.load(tmp_path / f"count-{name}")
        made.append(((tmp_path / f"train-{name}" / "tokenizer.json").read_bytes(), dict(counts.items())))
    assert made[0] == made[1]


def folder_bytes(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("refine", [[], ["--refine", 0.6]])
def test_several_sizes_are_those_of_separate_trainings(refine, corpus, tmp_path):
    options = ["--special-token", "<|end|>", *refine]
    sizes = run("train", corpus, "--vocab-size", "264,260,300", *options, "-o", tmp_path / "sizes", "--json")
    assert sizes.exit_code == 0, sizes.stderr
    for size in (260, 264, 300):
        assert run("train", corpus, "--vocab-size", size, *options, "-o", tmp_path / str(size)).exit_code == 0
        assert folder_bytes(tmp_path / "sizes" / str(size)) == folder_bytes(tmp_path / str(size))
    assert [row["vocabulary_size"] for row in json.loads(sizes.stdout)["sizes"]] == [260, 264, 300]


def test_several_sizes_on_held_out_text(corpus, tmp_path):
    held_out = tmp_path / "held-out.txt"
    held_out.write_text("The cat watched the log.\n" * 7)
    page = tmp_path / "sizes.html"
    arguments = ("--vocab-size", "260,280", "--held-out", held_out, "--html", page, "-o", tmp_path / "sizes")
    result = run("train", corpus, *arguments)
    assert result.exit_code == 0, result.stderr
    for size in (260, 280):
        used = len(tokenmill.load(tmp_path / "sizes" / str(size)).encode(held_out.read_text()))
        assert re.search(rf"\b{size} +{used} +{held_out.stat().st_size / used:.3f}\b", result.stdout)
    assert "<svg" in page.read_text()
    again = run("train", corpus, *arguments)
    assert again.exit_code == 1
    assert "pass --force" in again.stderr


@pytest.mark.parametrize(
    ("name", "front", "options", "message"),
    [
        ("a.txt", b"low\0\1", (), "a.txt: looks binary"),
        ("a.txt", b"low \xff lower", (), "a.txt: not UTF-8"),
        ("a.gz", b"\x1f\x8b\x08\0", (), "a.gz: damaged or cut off"),
        ("a.jsonl", b'{"text": "low"', (), "a.jsonl, line 1: not JSON"),
        ("a.txt", b"low", ("--field", "x"), "a.txt has no fields"),
    ],
)
def test_held_out_text_that_cannot_be_read_is_an_error_before_training(name, front, options, message, corpus, tmp_path):
    held_out = tmp_path / name
    held_out.write_bytes(front)
    result = run("train", corpus, "--vocab-size", 300, "--held-out", held_out, *options, "-o", tmp_path / "tok")
    assert result.exit_code in (1, 2) and message in result.stderr, result.stderr
    assert not (tmp_path / "tok").exists()


def test_held_out_text_of_a_training_on_counts_has_its_field(corpus, tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps({"body": TEXT}) + "\n")
    assert run("count", corpus, "-o", tmp_path / "counts").exit_code == 0
    arguments = ["train", tmp_path / "counts", "--vocab-size", 300, "--field", "body", "-o", tmp_path / "tok"]
    refused = run(*arguments)
    assert refused.exit_code == 2 and "--field is not used by a training on saved word counts" in refused.stderr
    result = run(*arguments, "--held-out", tmp_path / "a.jsonl")
    assert result.exit_code == 0 and " 3.684" in result.stdout, result.stderr


def test_held_out_text_without_a_byte_has_no_bytes_per_token(corpus, tmp_path):
    (tmp_path / "empty.txt").touch()
    result = run("train", corpus, "--vocab-size", 300, "--held-out", tmp_path / "empty.txt", "-o", tmp_path / "tok")
    assert result.exit_code == 2 and "tok is saved, but" in result.stderr and "the text is empty" in result.stderr


def test_held_out_text_that_is_damaged_at_its_end_says_that_the_tokenizer_is_saved(corpus, tmp_path):
    held_out = tmp_path / "en.txt"
    held_out.write_bytes(b"low lower\n" * 200_000 + b"\xff")
    result = run("train", corpus, "--vocab-size", 300, "--held-out", f"en={held_out}", "-o", tmp_path / "tok")
    assert result.exit_code == 1 and "tok is saved, but" in result.stderr and "not UTF-8" in result.stderr
    assert "Traceback" not in result.stderr
    assert tokenmill.load(tmp_path / "tok").n_vocab > 256


def test_superwords_at_several_sizes_are_measured_on_text(corpus, tmp_path):
    options = ["--superwords", "superbpe", "--stage1-size", 270]
    result = run("train", corpus, "--vocab-size", "275,290", *options, "-o", tmp_path / "sizes", "--json")
    assert result.exit_code == 0, result.stderr
    for row in json.loads(result.stdout)["sizes"]:
        tok = tokenmill.load(tmp_path / "sizes" / str(row["vocabulary_size"]))
        assert row["tokens_of_the_text"] == len(tok.encode(TEXT))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--vocab-size", "300,,"], "'' is not a whole number"),
        (["--vocab-size", "300,200"], "--vocab-size is 200, but the 256 bytes need at least 256"),
        (["--vocab-size", "300", "--html", "x.html"], "give several, e.g. 16k,32k,64k, or --held-out"),
        (["--vocab-size", "300,400", "--held-out", "missing.txt"], "missing.txt: no such file or folder"),
    ],
)
def test_wrong_options_of_several_sizes(options, message, corpus, tmp_path):
    result = run("train", corpus, "-o", tmp_path / "tok", *options)
    assert result.exit_code != 0
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_sizes_beyond_the_corpus_are_named(tmp_path):
    (tmp_path / "small.txt").write_text("low lower")
    result = run("train", tmp_path / "small.txt", "--vocab-size", "258,300,400", "-o", tmp_path / "sizes")
    assert "ran out of pairs" in result.stderr
    assert f"The same tokens are in {tmp_path / 'sizes' / '300'}." in result.stderr.replace("\n", "")


def test_weights_and_the_share_of_each_source(corpus, tmp_path):
    (tmp_path / "b.txt").write_text("The fog and the frog. " * 40)
    weight = ["--weight", f"{tmp_path / 'b.txt'}=3/2"]
    result = run("train", corpus, tmp_path / "b.txt", *weight, "--vocab-size", 280, "-o", tmp_path / "tok")
    assert result.exit_code == 0, result.stderr
    size, other = 1.5 * (tmp_path / "b.txt").stat().st_size, corpus.stat().st_size
    assert f"b.txt x 3/2 {100 * size / (size + other):.2f}%" in re.sub(r"\s+", " ", result.stderr)
    weights = {str(tmp_path / "b.txt"): "3/2"}
    assert tokenmill.load(tmp_path / "tok") == tokenmill.train([corpus, tmp_path / "b.txt"], 280, weights=weights)
    assert run("count", corpus, tmp_path / "b.txt", *weight, "-o", tmp_path / "counts").exit_code == 0
    saved = run("train", tmp_path / "counts", "--vocab-size", 280, "-o", tmp_path / "tok2", "--json")
    assert tokenmill.load(tmp_path / "tok2") == tokenmill.load(tmp_path / "tok")
    shares = json.loads(saved.stdout)["shares"]
    assert shares[0]["weight"] == "3/2"
    assert sum(each["share"] for each in shares) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    ("weight", "message"),
    [("corpus.txt", "write it like SRC=3/2"), ("{}=x", "write a number from"), ("{}=2", "tokenmill count --merge")],
)
def test_wrong_weights(weight, message, corpus, tmp_path):
    tokenmill.WordCounts.from_mapping({b"low": 1}, split_patterns=("[a-z]+",)).save(tmp_path / "counts")
    source = tmp_path / "counts" if "merge" in message else corpus
    result = run("train", source, "--weight", weight.format(source), "--vocab-size", 280, "-o", tmp_path / "tok")
    assert result.exit_code == 2, result.stderr
    assert message in re.sub(r"\s+", " ", result.stderr)
