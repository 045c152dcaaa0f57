"""The commands that judge and change vocabularies, as a user runs them."""

import contextlib
import json

import numpy as np
import pytest
from quality_examples import random_text

import tokenmill
from command_line import CliRunner
from tokenmill import formats
from tokenmill.cli.main import app

TEXT = "low lower lowest, new newer newest; how slow the show goes\n" * 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("commands")
    (folder / "a.txt").write_text(TEXT, encoding="utf-8")
    (folder / "b.txt").write_text("the slower the lower\n" * 10, encoding="utf-8")
    tokenmill.train(folder / "a.txt", 278).save(folder / "large")
    tokenmill.train(folder / "a.txt", 265).save(folder / "small")
    return folder


def run(folder, *arguments, code=0, input=""):
    """The command run in this process, in `folder`."""
    with contextlib.chdir(folder):
        result = CliRunner(env={"COLUMNS": "200"}).invoke(app, [str(argument) for argument in arguments], input)
    assert result.exit_code == code, result.output
    return result


def table(result, key):
    return next(t for t in json.loads(result.stdout)["tables"] if t["key"] == key)


def test_inspect(folder):
    result = run(folder, "inspect", "large", "a.txt", "b.txt", "--json", "--top", "5")
    answer = json.loads(result.stdout)
    tok = tokenmill.load(folder / "large")
    assert answer["fingerprint"] == tok.vocabulary.fingerprint() and answer["domains"] == ["a", "b"]
    rows = {row["source"]: row for row in table(result, "domains")["rows"]}
    assert rows["a"]["tokens"] == len(tok.encode(TEXT)) and rows["a"]["bytes"] == len(TEXT)
    assert rows["a"]["tokens_per_word"] == len(tok.encode(TEXT)) / len(TEXT.split())
    assert table(result, "longest")["total"] == 278 and len(table(result, "longest")["rows"]) == 5
    assert {row["t"] for row in table(result, "thresholds")["rows"]} == {0.6, 0.7, 0.8, 0.9, 1.0}


def test_inspect_for_people(folder):
    plain = run(folder, "inspect", "large", "a.txt").stdout
    assert "Tokens that a threshold would call junk" in plain and "bytes per token" in plain
    assert run(folder, "inspect", "large", "--markdown").stdout.startswith("# Inspection of large\n")
    result = run(folder, "inspect", "large", "a.txt", "--html", "report.html")
    assert result.stdout == "" and "report.html" in result.stderr
    assert (folder / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_the_level_and_the_threshold_of_each_finding(folder):
    findings = json.loads(run(folder, "inspect", "large", "a.txt", "--json").stdout)["findings"]
    for form, begin in ([], ""), (["--markdown"], "**"):
        shown = " ".join(run(folder, "inspect", "large", "a.txt", *form).stdout.replace("\\", "").split())
        for of in findings:
            assert (
                f"- {begin}{of['level'].capitalize()}: {of['statement']}{begin} Threshold: {of['threshold']}." in shown
            )


def test_a_command_is_a_line_of_its_own(folder):
    """Not wrapped, so that it can be pasted."""
    name = f"{'long-name-' * 10}.txt"
    (folder / name).write_text(random_text(1, 30) * 300)
    tokenmill.train_from_iterator([random_text(1)], 1000).save(folder / "published")
    lines = run(folder, "inspect", "published", name).stdout.splitlines()
    assert f"    tokenmill prune published {name} --ios 0.9 -o pruned" in lines


def test_inspect_counts(folder):
    tokenmill.count(folder / "a.txt").save(folder / "counts")
    from_counts = table(run(folder, "inspect", "large", "counts", "--json"), "junk")
    assert from_counts == table(run(folder, "inspect", "large", "a.txt", "--json"), "junk")
    tokenmill.count(folder / "a.txt", split="gpt2").save(folder / "gpt2-counts")
    assert "cut by" in run(folder, "inspect", "large", "gpt2-counts", code=2).stderr


def test_names_of_tokenizers(folder):
    """NAME=FILE names a tokenizer, as it names a text."""
    result = run(folder, "compare", "ours=large", "theirs=large", "--on", "a.txt", "--json")
    assert [row["tokenizer"] for row in table(result, "compression")["rows"]] == ["ours", "theirs"]
    assert json.loads(run(folder, "inspect", "ours-3.1=large", "--json").stdout)["tokenizer"] == "ours-3.1"
    # The name of a column of its own: both are in the JSON.
    result = run(folder, "compare", "source=large", "b=small", "--on", "a.txt", "--json")
    (row,) = table(result, "domain_bytes")["rows"]
    assert row["source"] == "a" and row["source (2)"] == len(TEXT) / len(tokenmill.load(folder / "large").encode(TEXT))
    assert (
        "two tokenizers have the same name"
        in run(folder, "compare", "a=large", "a=small", "--on", "a.txt", code=2).output
    )


def test_a_split_pattern_is_for_the_files_without_one(folder):
    """A file without a pattern beside one that has its own: --split is for the first, and an error if none needs it."""
    formats.write(tokenmill.train(folder / "a.txt", 270, split="gpt2").vocabulary, folder / "mine.tiktoken", "tiktoken")
    (folder / "mine.tiktoken").rename(folder / "bare.tiktoken")  # from the file that tells the pattern
    run(folder, "compare", "bare.tiktoken", "large", "--on", "a.txt", code=2)
    result = run(folder, "compare", "bare.tiktoken", "large", "--split", "gpt2", "--on", "a.txt", "--json")
    assert [row["tokenizer"] for row in table(result, "compression")["rows"]] == ["bare", "large"]
    run(folder, "play", "large", "bare.tiktoken", "--split", "gpt2", "--export", "site")
    for arguments in (("compare", "large", "small", "--on", "a.txt"), ("check", "large", "--against", "large")):
        assert "Leave out --split" in run(folder, *arguments, "--split", "gpt2", code=2).stderr


def test_a_pipe_is_read_once(folder):
    """Where a report needs the text again, a pipe would be empty, and the figures those of nothing."""
    tokenmill.train(folder / "a.txt", 280, split="gpt2").save(folder / "gpt2")
    tokenmill.train(folder / "a.txt", 290, superwords="boundless").save(folder / "boundless")
    for arguments in (("compare", "large", "gpt2", "--on", "-", "b.txt"), ("inspect", "boundless", "-")):
        assert "read only once, and this needs 2 passes" in run(folder, *arguments, input=TEXT, code=2).stderr
    rows = table(run(folder, "compare", "large", "small", "--on", "-", "--json", input=TEXT), "compression")["rows"]
    assert [row["tokens_of_the_text"] for row in rows] == [
        len(tokenmill.load(folder / name).encode(TEXT)) for name in ("large", "small")
    ]


def test_compare(folder):
    result = run(folder, "compare", "large", "small", "--on", "a.txt", "b.txt", "--json")
    rows = table(result, "compression")["rows"]
    assert [row["tokenizer"] for row in rows] == ["large", "small"]
    assert rows[0]["relative_share"] == 1 < rows[1]["relative_share"]
    assert table(result, "domain_fertility")["rows"][1]["source"] == "b"
    first = run(folder, "compare", "--on", "a.txt", "b.txt", "--html", "both.html", "--json", "large", "small")
    assert json.loads(first.stdout)["tables"] == json.loads(result.stdout)["tables"] and (folder / "both.html").exists()
    assert "Compression" in run(folder, "compare", "large", "--on", "a.txt").stdout


def test_shrink(folder):
    result = run(folder, "prune", "large", "b.txt", "b.txt", "-o", "pruned", "--json")
    summary = json.loads(result.stdout)
    old, new = tokenmill.load(folder / "large"), tokenmill.load(folder / "pruned")
    id_map = np.load(folder / "pruned" / "id_map.npy")
    assert summary["ids"] == new.n_vocab < 278 and summary["dropped"] == 278 - new.n_vocab
    text = (folder / "b.txt").read_text(encoding="utf-8")
    assert new.encode(text) == id_map[old.encode(text)].tolist()
    found = summary["certificate"]
    assert found["alike"] == found["pretokens"] > 0 and found["tokens"] == found["new_tokens"] == 2 * len(
        old.encode(text)
    )
    run(folder, "prune", "large", "--script", "Greek", "--script", "Cyrl", "-o", "no-latin")
    assert tokenmill.load(folder / "no-latin").n_vocab < new.n_vocab
    (folder / "huge").write_text("9" * 5000)  # more digits than int() takes
    assert "huge, line 1: '999" in run(folder, "prune", "large", "--ids", "huge", "-o", "no", code=1).stderr
    assert "not a Unicode script" in run(folder, "prune", "large", "--script", "x", "-o", "no", code=2).stderr
    assert (
        "name what to keep (a text, --script) or what to remove (--ids, --unreachable, or --ios with a text)"
        in run(folder, "prune", "large", "-o", "no", code=2).stderr
    )


def test_prune_by_ios(folder):
    (folder / "stems.txt").write_text(random_text(0), encoding="utf-8")
    tokenmill.train(folder / "stems.txt", 330).save(folder / "plain")
    wanted = ("prune", "plain", "stems.txt", "--ios", "0.9", "-o", "cleaned", "--force")
    summary = json.loads(run(folder, *wanted, "--json").stdout)
    old, new = tokenmill.load(folder / "plain"), tokenmill.load(folder / "cleaned")
    assert new.vocabulary.order == "events" and summary["ids"] == new.n_vocab == 330 - summary["dropped"] < 330
    assert summary["certificate"]["tokens"] == len(old.encode((folder / "stems.txt").read_text(encoding="utf-8")))
    told = run(folder, *wanted).stderr
    assert "certificate: " in told and "only tokenmill encodes by events" in told
    assert "what to remove (--ids" in run(folder, "prune", "plain", "--ios", "0.9", "-o", "no", code=2).stderr
    assert "encodes by events already" in run(folder, *wanted[:1], "cleaned", *wanted[2:5], "-o", "no", code=2).stderr


def test_replace(folder):
    (folder / "other.txt").write_text(random_text(7), encoding="utf-8")
    wanted = ("extend", "large", "other.txt", "--reuse", "9", "-o", "replaced", "--force")
    summary = json.loads(run(folder, *wanted, "--json").stdout)
    old, new = tokenmill.load(folder / "large"), tokenmill.load(folder / "replaced")
    id_map = np.load(folder / "replaced" / "id_map.npy")
    rows = json.loads((folder / "replaced" / "new_rows.json").read_text(encoding="utf-8"))
    assert summary["replaced"] == len(rows) == (id_map < 0).sum() == 9 and summary["ids_left_without_token"] == 0
    assert new.n_vocab == old.n_vocab and all(new.decode([int(id)]) == old.decode(rows[id]) for id in rows)
    assert summary["certificate"]["new_tokens"] < summary["certificate"]["tokens"]
    assert "certificate: " in run(folder, *wanted).stderr
    first = (folder / "replaced" / "tokenizer.json").read_bytes()
    run(folder, *wanted, "--keep", "b.txt")
    assert (folder / "replaced" / "tokenizer.json").read_bytes() != first
    worth = table(run(folder, "inspect", "large", "other.txt", "--json"), "worth_replacing")["rows"][0]["tokens"]
    run(folder, "extend", "large", "other.txt", "--reuse", "0", "-o", "as-many")
    assert 0 < worth == (np.load(folder / "as-many" / "id_map.npy") < 0).sum() <= 22
    (folder / "few.txt").write_text("xy xy xy", encoding="utf-8")
    assert "ran out of pairs" in run(folder, "extend", "large", "few.txt", "--reuse", "9", "-o", "few").stderr


def test_prune(folder):
    (folder / "ids").write_text("277\n\n276\n", encoding="utf-8")
    run(folder, "prune", "large", "--ids", "ids", "-o", "pruned2")
    assert (
        tokenmill.load(folder / "pruned2").n_vocab == 276
        and (np.load(folder / "pruned2" / "id_map.npy")[276:] == -1).all()
    )
    (folder / "bad").write_text("1\nx\n", encoding="utf-8")
    assert "line 2: 'x' is not an id" in run(folder, "prune", "large", "--ids", "bad", "-o", "no", code=1).stderr
    assert not (folder / "no").exists()


def test_prune_of_picky(folder):
    (folder / "words.txt").write_text(random_text(0), encoding="utf-8")
    tokenmill.train(folder / "words.txt", 330, refine=0.6).save(folder / "picky")
    (folder / "some").write_text("\n".join(map(str, range(320, 330))), encoding="utf-8")
    result = run(folder, "prune", "picky", "--ids", "some", "-o", "picky-small", "--json")
    assert json.loads(result.stdout)["ids"] == 320 and "only tokenmill encodes by events" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("inspect", "large", "a.txt", "--json", "--markdown"), "choose one"),
        (("compare", "large", "small"), "Missing --on"),
        (("compare", "large", "large", "--on", "a.txt"), "have the same name"),
        (("prune", "large", "-o", "no"), "what to remove (--ids"),
        (("compare", "--on", "a.txt"), "Missing TOKENIZERS"),
        (
            ("convert", "large", "no", "--to", "tiktoken", "--special-token", "<x>"),
            "expected TEXT=ID, such as '<|endoftext|>=50256'",
        ),
        (("extend", "large", "-o", "no"), "without text, give --special-token and no --vocab-size"),
        (("extend", "large", "a.txt", "-o", "no"), "give --vocab-size, the number of ids to train to, or --reuse"),
    ],
)
def test_wrong_calls(folder, arguments, message):
    assert message in " ".join(run(folder, *arguments, code=2).stderr.split())


def test_missing_files(folder):
    assert "no such file" in run(folder, "inspect", "large", "none.txt", code=1).stderr
    run(folder, "inspect", "none", "a.txt", code=1)


def test_extend(folder):
    result = run(
        folder, "extend", "small", "b.txt", "--vocab-size", "270", "--special-token", "<|x|>", "-o", "larger", "--json"
    )
    assert json.loads(result.stdout) == {"tokenizer": "larger", "ids_before": 265, "ids": 270}
    small, larger = tokenmill.load(folder / "small"), tokenmill.load(folder / "larger")
    assert larger.special_tokens_set == {"<|x|>"}
    assert all(larger.decode([id]) == small.decode([id]) for id in range(265))
    short = run(folder, "extend", "small", "b.txt", "--vocab-size", "5000", "-o", "larger2")
    assert "ran out of pairs" in short.stderr


def test_extend_a_picky_tokenizer(folder):
    for seed, name in enumerate(("first", "second")):
        (folder / f"{name}.txt").write_text(random_text(seed), encoding="utf-8")
    tokenmill.train(folder / "first.txt", 300, refine=0.6).save(folder / "picky-a")
    wanted = ("extend", "picky-a", "first.txt", "second.txt", "--vocab-size", "350", "-o", "picky-b", "--force")
    result = run(folder, *wanted, "--json")
    found = json.loads(result.stdout)
    small, larger = tokenmill.load(folder / "picky-a"), tokenmill.load(folder / "picky-b")
    assert found["ids"] == larger.n_vocab == 350 and found["removed_tokens"] == len(larger.vocabulary.removed) > 0
    assert all(larger.decode([id]) == small.decode([id]) for id in range(300))
    run(folder, *wanted, "--refine", "1.0")
    assert tokenmill.load(folder / "picky-b").vocabulary.refine == 1.0
    run(folder, "extend", "large", "b.txt", "--vocab-size", "290", "--refine", "0.9", "-o", "now-picky")
    assert tokenmill.load(folder / "now-picky").vocabulary.order == "events"


def test_file_names_that_are_not_utf_8(tmp_path, folder):
    """The report was written after all the work, and a name with other bytes ended it in a traceback."""
    import os

    text = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.txt")
    tokenizer = os.fsdecode(os.fsencode(tmp_path) + b"/tok\xff")
    with open(text, "w") as file:
        file.write("low lower lowest " * 50)
    (folder / "large").exists()
    tokenmill.train_from_iterator(["low lower"], 262).save(tokenizer)
    for form in ("--json", "--markdown", "--all"):
        assert "caf\ufffd" in run(tmp_path, "inspect", tokenizer, text, form).stdout
    run(tmp_path, "inspect", tokenizer, text, "--html", "report.html")
    assert "caf\ufffd" in (tmp_path / "report.html").read_text("utf-8")
    run(tmp_path, "compare", tokenizer, folder / "large", "--on", text, text + "/..", "--html", "c.html", code=1)
    run(tmp_path, "compare", tokenizer, folder / "large", "--on", text, "--html", "c.html")
    assert "tok\ufffd" in (tmp_path / "c.html").read_text("utf-8")


def test_compare_prints_as_many_rows_as_asked_for(folder):
    command = ["compare", "large", "small", "--on", "a.txt", "--json"]
    lengths = {}
    for top in (None, 3, 0):
        more = [] if top is None else ["--top", str(top)]
        lengths[top] = len(table(run(folder, *command, *more), "exchanged_small")["rows"])
    assert lengths[3] == 3 and lengths[None] == 10 < lengths[0]
