"""Special tokens in the text: cut out as borders between documents, and never learned."""

import itertools
import random

import pytest

import tokenmill
from command_line import CliRunner
from tokenmill import Splitter, WordCounts
from tokenmill.cli.main import app
from tokenmill.counting import threads, to_memory
from tokenmill.sources import blocks

END = "<|endoftext|>"


def documents_of(text, special):
    """The slow twin: leftmost matches, the longest first."""
    parts, part, at = [], "", 0
    while at < len(text):
        found = max((token for token in special if text.startswith(token, at)), key=len, default="")
        if found:
            parts.append(part)
            part, at = "", at + len(found)
        else:
            part, at = part + text[at], at + 1
    return [part for part in [*parts, part] if part]


def test_a_declared_token_is_not_learned_as_text(tmp_path):
    text = f"low lower lowest{END}" * 200
    (tmp_path / "a.txt").write_text(text)
    for tok in (
        tokenmill.train(tmp_path / "a.txt", 300, special_tokens=[END]),
        tokenmill.train_from_iterator([text], 300, special_tokens=[END]),
    ):
        assert not any(part in token for token in tok.token_byte_values() for part in (b"end", b"of", b"<|", b"|>"))
        assert tok.events == tokenmill.train_from_iterator(["low lower lowest"] * 200, 299).events


def test_it_may_be_learned_as_text_but_never_whole():
    texts = [f"low{END} lower{END}"] * 50
    tok = tokenmill.train_from_iterator(texts, 300, special_tokens=[END], special_tokens_as_text=True)
    assert b"endoftext" in tok.token_byte_values()
    for split in (r"\S+|\s+", "whitespace"):  # the whole token is within a pretoken
        tok = tokenmill.train_from_iterator(
            texts, 300, split=split, special_tokens=[END], special_tokens_as_text=True, min_pair_count=2
        )
        assert tok.vocabulary.special_tokens == {END: tok.n_vocab - 1}
        assert not any(END.encode() in token for token in tok.token_byte_values())


@pytest.mark.parametrize("refine", [None, 0.9])
def test_no_merge_spells_a_special_token(refine):
    counts = WordCounts.from_mapping({b"<end>": 50, b"a<end>b<end>": 9, b"<en": 3, b"ab": 1}, split_patterns=("x",))
    cut = counts.cut_out([b"<end>"])
    assert dict(cut.items()) == {b"a": 9, b"b": 9, b"<en": 3, b"ab": 1} and cut.split_patterns == ("x",)
    assert counts.cut_out([b"<end>>", b"zz"]) is counts
    tok = tokenmill.train_from_counts(counts, 262, special_tokens=["<end>"], refine=refine)
    assert b"<end>" not in tok.token_byte_values() and tok.n_vocab < 262


@pytest.mark.parametrize("seed", range(20))
def test_the_cut_is_the_slow_twins_for_any_blocks_and_threads(seed, tmp_path, monkeypatch):
    chosen = random.Random(seed)
    special = [["<|a|>", "<|ab|>"], ["aa"], ["ab", "bab"], ["<s>", "[x]", "é é"]][seed % 4]
    text = "".join(chosen.choices([*special, "a", "b", " ", "<", "|", ">", "é", "\n", "low "], k=400))
    wanted = WordCounts.merge([count_one(part) for part in documents_of(text, special)])
    (tmp_path / "a.txt").write_text(text)
    for block, number in itertools.product((16, 50, 1 << 20), (1, 2)):
        monkeypatch.setattr(blocks, "BLOCK", block)
        monkeypatch.setattr(to_memory, "BLOCK", block)
        monkeypatch.setattr(threads, "WORK", 1)
        for split in ("cl100k", r"\w\w?(?<=\w)|\W"):  # the second runs in the regex module
            splitter = Splitter(split, special_tokens=special)
            found = tokenmill.count(tmp_path / "a.txt", split=splitter, num_threads=number)
            if split == "cl100k":
                assert dict(found.items()) == dict(wanted.items())
            assert dict(tokenmill.count_iterator([text], split=splitter).items()) == dict(found.items())
        assert found.documents == 1


def count_one(text):
    return tokenmill.count_iterator([text], split="cl100k", num_threads=1)


def test_rare_pretokens_are_left_out_before_the_cut(tmp_path):
    """So training on saved counts, which are loaded without them, is the same."""
    counts = WordCounts.from_mapping({b"abc<end>": 1, b"<end>abc": 1, b"abc": 1, b"xy<end>": 2}, split_patterns=("x",))
    assert dict(counts.cut_out([b"<end>"], least=2).items()) == {b"xy": 2}
    counts.save(tmp_path / "counts")
    options = {"special_tokens": ["<end>"], "min_count": 2}
    tok = tokenmill.train_from_counts(counts, 300, **options)
    assert tok.token_byte_values()[-1] != b"abc" and b"xy" in tok.token_byte_values()
    assert tok == tokenmill.train(tmp_path / "counts", 300, **options)
    small = tokenmill.train_from_iterator(["q"], 256, split="x")
    larger = tokenmill.extend(small, counts, 300, **options)
    assert larger.events == tok.events


def test_the_command_line_cuts_them_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text(f"low lower lowest{END}" * 200)
    run = CliRunner().invoke

    def tokens(name):
        return tokenmill.load(name).token_byte_values()

    train = ["train", "a.txt", "--vocab-size", "290", "--special-token", END]
    assert run(app, [*train, "-o", "cut"]).exit_code == 0 and b"text" not in tokens("cut")
    assert run(app, [*train, "--special-tokens-as-text", "-o", "kept"]).exit_code == 0
    assert b"endoftext" in tokens("kept")
    assert run(app, ["count", "a.txt", "--special-token", END, "-o", "counts"]).exit_code == 0
    assert set(dict(WordCounts.load("counts").items())) == {b"low", b" lower", b" lowest"}
    more = run(app, ["extend", "cut", "a.txt", "--vocab-size", "300", "-o", "more"])
    assert more.exit_code == 0 and b"text" not in tokens("more")


ROLES = {"bos": "<|start|>", "pad": "<|fill|>", "unk": "<|what|>"}


def test_roles_are_saved_for_other_engines(tmp_path):
    transformers = pytest.importorskip("transformers")
    (tmp_path / "a.txt").write_text("low lower lowest\n" * 99)
    named = [f"{role}={text}" for role, text in ROLES.items()]
    command = ["train", str(tmp_path / "a.txt"), "--vocab-size", "300", "--special-token", END, "--role", *named]
    assert CliRunner().invoke(app, [*command, "-o", str(tmp_path / "tok")]).exit_code == 0
    tok = tokenmill.train_from_iterator(["low lower lowest\n" * 99], 300, special_tokens=[END], roles=ROLES)
    tok.save(tmp_path / "python")
    expected = {f"{role}_token": text for role, text in {**ROLES, "eos": END}.items()}
    for name in ("tok", "python"):
        assert transformers.AutoTokenizer.from_pretrained(tmp_path / name).special_tokens_map == expected
        assert tokenmill.load(tmp_path / name).as_transformers().special_tokens_map == expected
    with pytest.raises(tokenmill.errors.UsageError, match="roles has 'foo'; known are bos, eos"):
        tokenmill.train_from_iterator(["low"], 300, roles={"foo": "<|x|>"})
    with pytest.raises(tokenmill.errors.UsageError, match=r"roles has 2 values for pad: <a>, <b>; give one"):
        tokenmill.train_from_iterator(["low"], 300, roles=["pad=<a>", "pad=<b>"])
