"""Weights of sources: exact rationals, the same counts on every way, and training that follows them."""

import json
import random
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

import tokenmill
import tokenmill.counting.options as count_options
import tokenmill.counting.threads as threads
import tokenmill.sources.blocks as reading
from tokenmill import Splitter, WordCounts
from tokenmill.counting import CountOptions, count
from tokenmill.counting.add_saved import add_up
from tokenmill.counting.to_folder import count_to_folder
from tokenmill.counting.weights import checked_weights
from tokenmill.errors import FormatError, UsageError
from tokenmill.jobs.work import JobOptions
from trained import train_from_counts

WORDS = r" [^ ]*|[^ ]+"
WEIGHTS = {"a.txt": "3/2", "more": Fraction(1, 3)}


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    """a.txt, b.txt and the folder more, which is the working directory's."""
    rng = random.Random(11)
    for name in ("a.txt", "b.txt", "more/c.txt", "more/d.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(" ".join(str(int(rng.paretovariate(0.5)) % 10**4) * 4 for _ in range(3000)))
    monkeypatch.chdir(tmp_path)
    return ["a.txt", "b.txt", "more/c.txt", "more/d.txt"]


def expected(weights: dict[str, Fraction], scale: int) -> dict[bytes, int]:
    """By definition: each occurrence adds its source's weight."""
    total: Counter[bytes] = Counter()
    for name, weight in weights.items():
        for word in Splitter(WORDS).split(Path(name).read_text()):
            total[word.encode()] += weight * scale
    assert all(value.denominator == 1 for value in total.values())
    return {word: int(value) for word, value in total.items()}


RIGHT = {"a.txt": Fraction(3, 2), "b.txt": Fraction(1), "more/c.txt": Fraction(1, 3), "more/d.txt": Fraction(1, 3)}


@pytest.mark.filterwarnings("ignore:the split pattern")
@pytest.mark.parametrize("pattern", [WORDS, r"(?<= )[^ ]+| |[^ ]+"])
@pytest.mark.parametrize("num_threads", [1, 3])
def test_counts_are_weighted_exactly(corpus, pattern, num_threads, monkeypatch):
    monkeypatch.setattr(reading, "BLOCK", 2000)
    monkeypatch.setattr(threads, "WORK", 1)
    counts = count(corpus, split=pattern, options=CountOptions(weights=WEIGHTS), num_threads=num_threads)
    assert counts.scale == 6
    if pattern == WORDS:
        assert dict(counts.items()) == expected(RIGHT, 6)
    else:
        plain = {name: dict(count([name], split=pattern).items()) for name in corpus}
        for word, times in counts.items():
            assert times == sum(6 * RIGHT[name] * plain[name].get(word, 0) for name in corpus)
    assert [(part.source, part.weight) for part in counts.mixture] == [
        ("a.txt", "3/2"),
        ("more", "1/3"),
        ("other sources", "1"),
    ]
    assert sum(part.bytes for part in counts.mixture) == counts.total_bytes


def test_the_same_bytes_spilled_resumed_or_not(corpus, tmp_path, monkeypatch):
    options = CountOptions(weights=WEIGHTS, min_count=2)
    summary = count_to_folder(corpus, "whole", split=WORDS, options=options)
    assert sum(each["share"] for each in summary.shares) == pytest.approx(1, abs=1e-5)  # each is rounded
    assert summary.shares[0]["share"] == pytest.approx(
        1.5 * summary.shares[0]["bytes"] / sum(Fraction(each["weight"]) * each["bytes"] for each in summary.shares),
        abs=1e-6,
    )
    right = {word: times for word, times in expected(RIGHT, 6).items() if times >= 2 * 6}
    assert dict(WordCounts.load("whole").items()) == right
    monkeypatch.setattr(count_options, "LEAST_MEMORY", 1)
    monkeypatch.setattr(threads, "PER_THREAD", 1)
    monkeypatch.setattr(reading, "BLOCK", 2000)
    spilled = count_to_folder(
        corpus, "spilled", split=WORDS, options=CountOptions(weights=WEIGHTS, min_count=2, memory_limit=1)
    )
    assert spilled.spills

    original, documents = threads.Counter.count_block, []

    def fail_at_last(counter, block):
        original(counter, block)
        documents.extend(block.texts())
        if len(documents) > 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(threads.Counter, "count_block", fail_at_last)
    job = JobOptions(num_threads=1, checkpoint_every=0.0)
    with pytest.raises(KeyboardInterrupt):
        count_to_folder(corpus, "resumed", split=WORDS, options=options, job=job)
    monkeypatch.setattr(threads.Counter, "count_block", original)
    resumed = count_to_folder(corpus, "resumed", split=WORDS, options=options, job=job)
    assert resumed.resumed_bytes > 0
    assert resumed.shares == summary.shares
    for other in ("spilled", "resumed"):
        for path in (tmp_path / "whole").iterdir():
            assert path.read_bytes() == (tmp_path / other / path.name).read_bytes()


def test_saved_counts_are_weighted_too(corpus, tmp_path):
    for name in ("a", "b"):
        count_to_folder([f"{name}.txt"], name, split=WORDS)
    count_to_folder(["a.txt", "b.txt"], "text", split=WORDS, options=CountOptions(weights={"b.txt": 0.25}))
    WordCounts.from_mapping(dict(WordCounts.load("b").items())).save("foreign", overwrite=True)
    for number, inputs in enumerate((["a", "b"], ["b", "a"])):
        summary = add_up(inputs, f"sum{number}", weights={"b": "1/4"})
        assert dict(WordCounts.load(f"sum{number}").items()) == dict(WordCounts.load("text").items())
        assert {each["source"]: each["weight"] for each in summary.shares} == {"b": "1/4", "other sources": "1"}
    add_up(["b"], "b.ddfreq")
    add_up(["a", "b.ddfreq"], "sum3", weights={"b.ddfreq": "1/4"})
    assert dict(WordCounts.load("sum3").items()) == dict(WordCounts.load("text").items())
    with pytest.raises(UsageError, match="different common denominators, 1 and 4"):
        add_up(["a", "text"], "no")
    with pytest.raises(UsageError, match="different common denominators, 1 and 4"):
        WordCounts.load("a") + WordCounts.load("text")
    with pytest.raises(UsageError, match="cannot be weighted again"):
        add_up(["text"], "no", weights={"text": 2})
    both = WordCounts.load("text") + WordCounts.load("text")
    assert both.scale == 4
    assert len(both.mixture) == 2  # of the same name and weight


def test_shares_of_a_sum_are_of_all_its_text(corpus):
    def counted(*names, **weights):
        return count(names, split=WORDS, options=CountOptions(weights={f"{name}.txt": 2 for name in weights}))

    size = {name: Path(name).stat().st_size for name in corpus}
    both = counted("a.txt", "more/c.txt", a=2) + counted("b.txt") + counted("a.txt", "more/d.txt", a=2)
    others = size["more/c.txt"] + size["more/d.txt"] + size["b.txt"]
    assert both.mixture == (("a.txt", "2", 2 * size["a.txt"]), ("other sources", "1", others))
    assert sum(part.bytes for part in both.mixture) == both.total_bytes
    assert (counted("a.txt") + counted("b.txt")).mixture == ()
    assert [part.source for part in counted("a.txt", a=2).mixture] == ["a.txt"]  # there is no other text


def test_training_follows_the_weights(corpus):
    options = {"special_tokens": ["12"], "min_count": 2, "min_pair_count": 3}
    tok = tokenmill.train(corpus, 300, split=WORDS, weights=WEIGHTS, **options)
    splitter = Splitter(WORDS, special_tokens=["12"])
    naive = WordCounts.from_mapping(
        dict(count(corpus, split=splitter, options=CountOptions(weights=WEIGHTS)).items()), split_patterns=(WORDS,)
    )
    options |= {"min_count": 12, "min_pair_count": 18}
    assert tok.vocabulary.events.tolist() == train_from_counts(naive, 300, **options).events.tolist()
    assert tok != tokenmill.train(corpus, 300, split=WORDS, **(options | {"min_count": 2, "min_pair_count": 3}))
    equal = tokenmill.train(corpus, 300, split=WORDS, weights={"a.txt": 7, "b.txt": "7", "more": 7})
    assert equal == tokenmill.train(corpus, 300, split=WORDS)


def test_min_count_is_of_the_weighted_count(tmp_path):
    (tmp_path / "a").write_text("xxy")
    (tmp_path / "b").write_text("xzzz")
    options = CountOptions(weights={str(tmp_path / "b"): "1/2"}, min_count=2)
    counts = count([tmp_path / "a", tmp_path / "b"], split="[a-z]", options=options)
    assert dict(counts.items()) == {b"x": 5}  # 2 1/2 times; z: 1 1/2 times
    counts.save(tmp_path / "saved")
    assert dict(WordCounts.load(tmp_path / "saved", min_count=3).items()) == {}
    assert len(counts.prune(3)) == 0


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"a.txt": 0}, "the weight of a.txt is 0; write a number from"),
        ({"a.txt": "-1/2"}, "write a number from"),
        ({"a.txt": "1e99999999"}, "write a number from"),  # none of these is written out
        ({"a.txt": "1e-99999999"}, "write a number from"),
        ({"a.txt": "1e5000"}, "write a number from"),
        ({"a.txt": float("nan")}, "write a number from"),
        ({"a.txt": "half"}, "the weight of a.txt is 'half'"),
        ({"a.txt": "1/0"}, "the weight of a.txt is '1/0'"),
        ({"a.txt": "1/1000003", "b.txt": "1/1000033"}, "ratios of smaller numbers"),
        ({"a.txt": 2, "a*": 3}, "a.txt has two weights, of a.txt and of a"),
        ({"corpus.txt": 2}, "corpus.txt is not among the sources"),
    ],
)
def test_wrong_weights(corpus, weights, message, tmp_path):
    (tmp_path / "corpus.txt").write_text("x")
    with pytest.raises(UsageError, match=message):
        count(corpus, split=WORDS, options=CountOptions(weights=weights))


def test_what_weights_do_not_go_with(corpus):
    with pytest.raises(UsageError, match="not used by superwords"):
        tokenmill.train(corpus, 400, weights={"a.txt": 2}, superwords="superbpe", stage1_size=300)
    counts = count(corpus, split="cl100k", options=CountOptions(weights={"a.txt": 2}))
    with pytest.raises(UsageError, match="not for weighted word counts"):
        tokenmill.train_from_counts(counts, 400, text=corpus, superwords="superbpe", stage1_size=300)


def test_extend_compares_weighted_counts_with_its_limits(corpus):
    plain = count(corpus, split=WORDS)
    tok = tokenmill.train_from_counts(plain, 270)
    weights = CountOptions(weights=dict.fromkeys(corpus, "1/2"))
    half = tokenmill.extend(tok, count(corpus, split=WORDS, options=weights), 300, min_count=2, min_pair_count=10)
    assert half == tokenmill.extend(tok, plain, 300, min_count=4, min_pair_count=20)


def test_counts_that_pass_64_bits_are_an_error(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("x " * 10)
    monkeypatch.setattr("tokenmill.counting.weights.MOST", 2**62)
    with pytest.raises(UsageError, match="may pass 2"):
        count(tmp_path / "a.txt", split=WORDS, options=CountOptions(weights={str(tmp_path / "a.txt"): 2**60}))


@pytest.mark.parametrize("weight", ["1/0", "-1", "0", "1e99999999", "9000000000"])
def test_damaged_weights_of_saved_counts(tmp_path, weight):
    import pyarrow.parquet as pq

    from tokenmill.counting.store import KEY

    WordCounts.from_mapping({b"a": 1}).save(tmp_path / "counts")
    (path,) = (tmp_path / "counts").iterdir()
    table = pq.read_table(path)
    about = json.loads(table.schema.metadata[KEY]) | {"mixture": [["a", weight, 5]]}
    pq.write_table(table.replace_schema_metadata({KEY: json.dumps(about)}), path)
    with pytest.raises(FormatError, match="metadata that cannot be read"):
        WordCounts.load(tmp_path / "counts")


def test_weights_are_exact():
    assert checked_weights({"a": 0.1, "b": "2/4", "c": " 3 "}) == (("a", "1/10"), ("b", "1/2"), ("c", "3"))
