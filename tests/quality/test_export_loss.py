"""What is lost by exporting a Picky tokenizer: the figures equal those of the slow encoders and of other libraries."""

import functools
import random

import pytest
import transformers

import tokenmill
from naive_encoder import NaiveEncoder
from tokenmill import Splitter, Tokenizer
from tokenmill.errors import ConversionError, InputError, UsageError
from tokenmill.formats.rank_merges import present_by_rank
from tokenmill.quality.certificate import ExportLoss, export_loss


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
    pretokens = [pretoken.encode() for pretoken in splitter.split(text)]
    by_events = [events.encode_pretoken(pretoken) for pretoken in pretokens]
    others = [
        [ranks.encode_pretoken(pretoken) for pretoken in pretokens],
        [longest_match(tok, pretoken) for pretoken in pretokens],
    ]
    differing = [sum(a != b for a, b in zip(by_events, other, strict=True)) for other in others]
    tokens, by_rank, by_longest = (sum(map(len, found)) for found in (by_events, *others))
    return ExportLoss(len(pretokens), differing[0], tokens, by_rank, differing[1], by_longest)


@functools.cache
def longest_match(tok: Tokenizer, pretoken: bytes) -> list[int]:
    """The longest token that begins the pretoken, then the longest that begins the rest."""
    if not pretoken:
        return []
    ids = {token: id for id, token in enumerate(present_by_rank(tok.vocabulary).tokens)}
    end = next(end for end in range(len(pretoken), 0, -1) if pretoken[:end] in ids)
    return [ids[pretoken[:end]], *longest_match(tok, pretoken[end:])]


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
    loss = tokenmill.export_loss(tok, sample)
    assert loss == by_hand(tok, text)
    notes = tok.save(tmp_path / "tok")
    tok.save(tmp_path / "one.tiktoken", format="tiktoken", lossy=True)
    assert len(notes) == 1 and "events.txt" in notes[0]
    encoding, theirs = tok.to_tiktoken(lossy=True), tok.to_hf(lossy=True)
    assert len(encoding.encode(text)) == len(theirs.encode(text).ids) == loss.other_tokens
    assert len(tok.encode(text)) == loss.tokens
    assert capsys.readouterr().out == ""  # the library prints nothing
    share, more = loss.differing / loss.pretokens, loss.other_tokens / loss.tokens - 1
    assert str(loss).split("\n")[0] == (
        f"without events, merged by rank: {loss.differing:,} of {loss.pretokens:,} pretokens ({100 * share:.3g}%) get other ids "
        f"than in event order; {loss.other_tokens:,} tokens instead of {loss.tokens:,} ({more:+.3%})"
    )


@pytest.mark.parametrize("alphabet", ["bytes", "characters"])
def test_the_longest_match_export_in_hugging_face(alphabet, tmp_path):
    """transformers' own WordPiece gives the ids of the definition, and as many tokens as measured."""
    text = some_text(0) + "été <|end|>\n\n" + some_text(1)
    options = {"unknown_token": "<unk>"} if alphabet == "characters" else {}
    size = 330 if alphabet == "bytes" else 80
    trained = [some_text(0) + "été ne"]
    tok = tokenmill.train_from_iterator(
        trained, size, refine=0.6, special_tokens=["<|end|>"], alphabet=alphabet, **options
    )
    with pytest.raises(ConversionError, match="lossy=True"):
        tok.save(tmp_path / "tok", format="longest-match")
    tok.save(tmp_path / "tok", format="longest-match", lossy=True)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "tok")
    splitter = Splitter(*tok.vocabulary.split_patterns)
    ids: list[int] = []
    for part in text.partition("<|end|>"):
        pretokens = [] if part == "<|end|>" else [pretoken.encode() for pretoken in splitter.split(part)]
        ids += [tok.vocabulary.special_tokens["<|end|>"]] if part == "<|end|>" else []
        ids += [id for pretoken in pretokens for id in longest_match(tok, pretoken)]
    assert theirs.encode(text, add_special_tokens=False) == ids
    assert theirs.decode(ids) == text
    ordinary = text.replace("<|end|>", "")
    loss = tokenmill.export_loss(tok, tokenmill.count_iterator([ordinary]))
    assert len(theirs.encode(ordinary, add_special_tokens=False)) == loss.longest_tokens
    if alphabet == "characters":
        assert theirs.encode("béñd", add_special_tokens=False) == [tok.vocabulary.unknown]
    assert tokenmill.load(tmp_path / "tok").encode(text, allowed_special="all") == ids
    with pytest.raises(ConversionError, match="Picky"):
        tokenmill.train_from_iterator(trained, 300).save(tmp_path / "no", format="longest-match", lossy=True)


def test_where_there_is_nothing_to_measure(sample):
    assert export_loss(tokenmill.train_from_iterator([some_text(0)], 300), sample) is None
    assert str(ExportLoss(0, 0, 0, 0, 0, 0)).endswith("0 tokens instead of 0 (+0.000%)")


def test_a_sample_that_cannot_be_measured(sample):
    tok = picky()
    with pytest.raises(InputError, match=r"none\.txt"):
        export_loss(tok, "none.txt")
    with pytest.raises(UsageError, match="cut by"):
        export_loss(tok, tokenmill.count(sample, split="gpt2"))
    with pytest.raises(ConversionError, match="lossy=True"):
        tok.to_tiktoken()
