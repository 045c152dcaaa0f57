"""What is lost by exporting a Picky tokenizer: the figures equal those of the slow encoders and of other libraries."""

import random

import pytest

import tokenmill
from naive_encoder import NaiveEncoder
from tokenmill import Splitter, Tokenizer, WordCounts
from tokenmill.errors import ConversionError, InputError, UsageError
from tokenmill.formats.rank_merges import present_by_rank
from tokenmill.tokenizer.export_loss import ExportLoss, export_loss, sample_counts


def some_text(seed: int, words: int = 3000) -> str:
    rng = random.Random(seed)
    stems = ["".join(rng.choices("abcde", k=rng.randrange(1, 7))) for _ in range(60)]
    return " ".join(rng.choice(stems) + rng.choice(["", "", "ed", "ade"]) for _ in range(words)) + "\n"


def picky(seed: int = 0) -> Tokenizer:
    return tokenmill.train_from_iterator([some_text(seed)], 330, refine=0.6, special_tokens=["<|end|>"])


def by_hand(tok: Tokenizer, text: str) -> ExportLoss:
    """The cost pretoken by pretoken, as the definitions have it."""
    splitter = Splitter(*tok.vocabulary.split_patterns)
    events = NaiveEncoder(tok.vocabulary, splitter.ends)
    ranks = NaiveEncoder(present_by_rank(tok.vocabulary), splitter.ends)
    pairs = [(events.encode_pretoken(p.encode()), ranks.encode_pretoken(p.encode())) for p in splitter.split(text)]
    return ExportLoss(
        len(pairs), sum(a != b for a, b in pairs), sum(len(a) for a, _ in pairs), sum(len(b) for _, b in pairs)
    )


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    path = tmp_path_factory.mktemp("cost") / "held-out.txt"
    path.write_text(some_text(0, 2000) + some_text(1, 500))
    return path


@pytest.mark.parametrize("seed", range(4))
def test_the_loss_is_that_of_the_slow_encoders(seed, tmp_path):
    tok, text = picky(seed), some_text(seed) + some_text(seed + 10)
    (tmp_path / "a.txt").write_text(text)
    expected = by_hand(tok, text)
    assert 0 < expected.differing < expected.pretokens and expected.tokens != expected.other_tokens
    counts = tokenmill.count(tmp_path / "a.txt")
    counts.save(tmp_path / "counts")
    halves = [tmp_path / "x.txt", tmp_path / "y.txt"]
    half = text.index("\n") + 1
    halves[0].write_text(text[:half])
    halves[1].write_text(text[half:])
    for given in (tmp_path / "a.txt", f"{tmp_path}/a.*", halves, counts, tmp_path / "counts", [tmp_path / "counts"]):
        assert export_loss(tok, given) == expected
    twice = export_loss(tok, [tmp_path / "counts", tmp_path / "a.txt"])
    assert (twice.pretokens, twice.differing) == (2 * expected.pretokens, 2 * expected.differing)


def test_other_libraries_need_as_many_tokens(sample, tmp_path, capsys):
    tok, text = picky(), sample.read_text()
    loss = tok.export_loss(sample)
    assert loss == by_hand(tok, text)
    notes = tok.save(tmp_path / "tok")
    tok.save(tmp_path / "one.tiktoken", format="tiktoken", lossy=True)
    assert len(notes) == 1 and "events.txt" in notes[0]
    encoding, theirs = tok.to_tiktoken(lossy=True), tok.to_hf(lossy=True)
    assert len(encoding.encode(text)) == len(theirs.encode(text).ids) == loss.other_tokens
    assert len(tok.encode(text)) == loss.tokens
    assert capsys.readouterr().out == ""  # the library prints nothing
    share, more = loss.differing / loss.pretokens, loss.other_tokens / loss.tokens - 1
    assert str(loss) == (
        f"without events: {loss.differing:,} of {loss.pretokens:,} pretokens ({share:.3%}) get other ids than in event "
        f"order; {loss.other_tokens:,} tokens instead of {loss.tokens:,} ({more:+.3%})"
    )


def test_where_there_is_nothing_to_measure(sample):
    assert export_loss(tokenmill.train_from_iterator([some_text(0)], 300), sample) is None
    assert str(ExportLoss(0, 0, 0, 0)).endswith("0 tokens instead of 0 (+0.000%)")


def test_a_sample_that_cannot_be_measured(sample):
    tok = picky()
    with pytest.raises(InputError, match=r"none\.txt"):
        export_loss(tok, "none.txt")
    with pytest.raises(UsageError, match="cut by"):
        export_loss(tok, tokenmill.count(sample, split="gpt2"))
    with pytest.raises(ConversionError, match="lossy=True"):
        tok.to_tiktoken()


def test_a_sample_of_word_counts():
    counts = WordCounts.from_mapping({b"the": 600, b"low": 300, b"rare": 2}, ("x",))
    assert sample_counts(counts, 902) is counts
    share = sample_counts(counts, 3)
    assert dict(share.items()) == {b"the": 2, b"low": 1} and share.split_patterns == ("x",)
    rng = random.Random(5)
    many = {b"%d" % i: rng.choice([1, 1, 2, 50, 2**40]) for i in range(200)}
    share = dict(sample_counts(WordCounts.from_mapping(many), 10_000).items())
    total = sum(many.values())
    assert sum(share.values()) == pytest.approx(10_000, rel=0.01)
    for pretoken, count in many.items():
        assert abs(share.get(pretoken, 0) - count * 10_000 / total) < 1.01
