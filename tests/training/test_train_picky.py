"""Picky BPE: the kernel against the oracle, event by event, and what the definitions say of small cases."""

import json
import os
import random
import subprocess
import sys

import pytest

import tokenmill
from naive_replay import removal_parts, replay_events
from naive_training import train_naive
from tokenmill import WordCounts
from tokenmill.errors import UsageError
from tokenmill.tokenizer import Tokenizer
from tokenmill.training import Options, loops
from tokenmill.training.alphabet import byte_alphabet
from trained import by_both_algorithms, train_by_textbook, train_from_counts

SWEEP = int(os.environ.get("TOKENMILL_SWEEP", "1"))
COUNTS = [1, 1, 1, 2, 3, 5, 10, 100, 70_000, 2**33]
THRESHOLDS = [0.01, 0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0]


def random_words(rng: random.Random) -> dict[bytes, int]:
    letters = [rng.randrange(256) for _ in range(rng.choice([1, 2, 2, 3, 4, 8]))]
    return {
        bytes(rng.choices(letters, k=rng.choice([1, 2, 3, 4, 5, 8, 12, 20, 30]))): rng.choice(COUNTS)
        for _ in range(rng.choice([1, 2, 3, 5, 8, 20]))
    }


def oracle(words: dict[bytes, int], vocab_size: int, threshold: float | None, **options):
    """Events, tokens and segmented pretokens by the definitions; ids as training gives them, before they are made dense."""
    tokens = [bytes([byte]) for byte in range(256)]
    events, pretokens = train_naive(words.items(), tokens, vocab_size, threshold, **options)
    return events, tokens, pretokens


def second_chances(events) -> int:
    """How many merges brought back a removed token."""
    removed, n = set(), 0
    for left, right, new in events:
        if right < 0:
            removed.add(left)
        elif new in removed:
            removed.discard(new)
            n += 1
    return n


@pytest.mark.parametrize("seed", range(8 * SWEEP))
def test_random_corpora(seed, monkeypatch):
    rng = random.Random(seed)
    removals = chances = 0
    for _ in range(300):
        monkeypatch.setattr(loops, "_MAX_NODES_32", rng.choice([5, 2**32 - 1]))
        monkeypatch.setattr(loops, "_SLICE", rng.choice([1, 2, 7, 1 << 20]))
        words = random_words(rng)
        options = {
            "vocab_size": 256 + rng.choice([1, 3, 10, 30, 60]),
            "refine": rng.choice([*THRESHOLDS, rng.uniform(1e-6, 1)]),
            "min_pair_count": rng.choice([1, 1, 2, 5]),
            "max_token_bytes": rng.choice([None, None, 2, 3, 5, 8]),
            "special_tokens": rng.choice([[], [], ["<s>"], ["<s>", "</s>"]]),
        }
        if options["vocab_size"] < 256 + len(options["special_tokens"]):
            continue
        heap = by_both_algorithms(WordCounts.from_mapping(words), **options)
        removals += sum(right < 0 for _, right, _ in heap.events.tolist())
        chances += second_chances(heap.events.tolist())
    assert removals > 500 and chances > 100


@pytest.mark.parametrize("wide", [False, True])
def test_segments_are_written_anew(monkeypatch, wide):
    """Without spare memory, in each step."""
    monkeypatch.setattr(loops, "_SPARE", 0)
    monkeypatch.setattr(loops, "_MAX_NODES_32", 5 if wide else 2**32 - 1)
    rng, chances = random.Random(3), 0
    for _ in range(300):
        options = {"vocab_size": 256 + rng.choice([10, 30, 60]), "refine": rng.choice(THRESHOLDS)}
        heap = by_both_algorithms(WordCounts.from_mapping(random_words(rng)), **options)
        chances += second_chances(heap.events.tolist())
    assert chances > 100


def test_dead_positions_take_bounded_memory(tmp_path):
    rng = random.Random(5)
    words = ("".join(rng.choices("abcdefghij", k=rng.randrange(3, 14))) for _ in range(40_000))
    (tmp_path / "words.txt").write_text(" ".join(words))
    peaks = []
    for threshold in ("0.02", "0.9"):
        options = ["--vocab-size", "5k", "--refine", threshold, "-o", str(tmp_path / threshold), "--json"]
        command = [sys.executable, "-m", "tokenmill", "train", str(tmp_path / "words.txt"), *options]
        result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
        peaks.append(json.loads(result.stdout)["peak_memory_mib"])
    assert peaks[0] < 1.6 * peaks[1]  # 165 and 60 MiB with all dead positions


@pytest.mark.parametrize("seed", range(2 * SWEEP))
def test_characters(seed):
    rng = random.Random(seed)
    for _ in range(40):
        letters = rng.sample("abcdeéèßñ日本語カ🙂🙃", rng.randrange(1, 8))
        words = {
            "".join(rng.choices(letters, k=rng.randrange(1, 12))).encode(): rng.choice([1, 2, 3, 50]) for _ in range(20)
        }
        options = {
            "vocab_size": rng.randrange(12, 40),
            "refine": rng.choice(THRESHOLDS),
            "alphabet": "characters",
            "coverage": rng.choice([0.7, 1.0]),
            "unknown_token": "<unk>",
        }
        by_both_algorithms(WordCounts.from_mapping(words), **options)


def test_the_end_of_training_is_what_the_events_give():
    rng = random.Random(8)
    for _ in range(150):
        words = random_words(rng)
        events, _, pretokens = oracle(words, 256 + rng.choice([5, 20, 60]), rng.choice(THRESHOLDS))
        for word, ids in zip(words, pretokens, strict=True):
            assert replay_events(list(word), events) == ids


def test_the_kernels_agree_on_every_pretoken():
    """What training ends with is what the encoding kernel makes of each pretoken, in the bytes of its tokens."""
    rng = random.Random(18)
    for _ in range(100):
        words, size, threshold = random_words(rng), 256 + rng.choice([5, 20, 60]), rng.choice(THRESHOLDS)
        _, tokens, pretokens = oracle(words, size, threshold)
        tok = Tokenizer(train_from_counts(WordCounts.from_mapping(words), size, refine=threshold))
        for word, ids in zip(words, pretokens, strict=True):
            got = tok.encode_bytes(word)
            assert [tok.decode_single_token_bytes(id) for id in got] == [tokens[id] for id in ids]


def test_threads_and_counts_do_not_matter(tmp_path):
    rng = random.Random(19)
    words = [
        "".join(rng.choices("abcdé 1.", weights=[9, 7, 5, 3, 1, 6, 1, 1], k=rng.randrange(1, 9))) for _ in range(4000)
    ]
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text("\n".join(words[number::3]) + "\n", encoding="utf-8")
    counts = tokenmill.count(tmp_path / "*.txt", num_threads=1)
    counts.save(tmp_path / "counts")
    saved = tokenmill.WordCounts.load(tmp_path / "counts")
    made = {train_from_counts(counts, 500, refine=0.7), train_from_counts(saved, 500, refine=0.7)}
    made |= {
        tokenmill.train(tmp_path / "*.txt", vocab_size=500, refine=0.7, num_threads=n).vocabulary for n in (1, 2, 5)
    }
    assert len({vocabulary.fingerprint() for vocabulary in made}) == 1
    written = set()
    for number, vocabulary in enumerate(made):
        Tokenizer(vocabulary).save(tmp_path / f"tok{number}")
        written.add(tuple((file.name, file.read_bytes()) for file in sorted((tmp_path / f"tok{number}").iterdir())))
    assert len(written) == 1
    assert "events.txt" in {name for name, _ in next(iter(written))}


def test_off_is_plain_bpe():
    rng = random.Random(9)
    for _ in range(100):
        words = random_words(rng)
        counts = WordCounts.from_mapping(words)
        plain = train_from_counts(counts, 320)
        assert oracle(words, 320, None)[0] == [tuple(row) for row in plain.events.tolist()]
        # The Picky kernel too, told to remove nothing.
        corpus, _ = loops.load_corpus(byte_alphabet(counts), counts.counts, 1, silent)
        alphabet = [bytes([byte]) for byte in range(256)]
        events, _, tokens, removed = loops.refine(corpus, alphabet, Options(vocab_size=320), silent)
        assert events.tolist() == plain.events.tolist() and tuple(tokens) == plain.tokens and removed == []


def silent(stage, done, total):
    pass


def test_a_token_that_is_nearly_always_merged_goes():
    # ab stands 10 times, 9 of them before c: IoS 0.9.
    words = {b"abc": 9, b"ab": 1}
    assert oracle(words, 258, 0.9)[0] == [(97, 98, 256), (256, 99, 257), (256, -1, -1), (97, 98, 256)]
    assert oracle(words, 258, 0.91)[0] == [(97, 98, 256), (256, 99, 257)]


def test_a_token_that_comes_back_may_have_more_neighbours_than_its_old_id():
    # ab is removed at once, and comes back between 1,200 tokens on either side: there was room for twice its id, 256.
    pieces = [bytes([x, y]) for x in range(128, 168) for y in range(200, 230)]
    between = {left + b"ab" + right: 1 for left, right in zip(pieces, pieces[1:] + pieces[:1], strict=True)}
    counts = WordCounts.from_mapping({b"abc": 10**9} | dict.fromkeys(pieces, 10**6) | between)
    vocabulary = train_from_counts(counts, 256 + 2 + len(pieces), refine=0.9)
    assert [tuple(row) for row in vocabulary.events[:3].tolist()] == [(97, 98, 256), (256, 99, 257), (256, -1, -1)]
    assert vocabulary.tokens[vocabulary.events[-1, 2]] == b"ab" and len(vocabulary.events) == 4 + len(pieces)


def test_the_bytes_never_go():
    events = oracle({b"ab": 5}, 300, 0.1)[0]
    assert events == [(97, 98, 256)]


def test_x1_goes_before_x2():
    words = {b"abcd": 10, b"ab": 2, b"cd": 2}
    events = oracle(words, 259, 0.8)[0]
    assert events[:5] == [(97, 98, 256), (99, 100, 257), (256, 257, 258), (256, -1, -1), (257, -1, -1)]


def test_a_pair_of_like_tokens_uses_two():
    # aa stands 4 times in aaaa + aa + aa, of which one merge uses 2: IoS 2 / 4.
    words = {b"aaaa": 1, b"aa": 2}
    for threshold, removed in [(0.5, True), (0.51, False)]:
        events = oracle(words, 258, threshold)[0]
        assert events[:2] == [(97, 97, 256), (256, 256, 257)]
        assert ((256, -1, -1) in events) is removed


def test_ios_is_compared_exactly():
    # 9 / 10 is not below 0.9, whatever a binary fraction makes of it; nor is 3 * 2**60 / (10 * 2**60) below 0.3.
    for merged, alone, threshold in [(9, 1, 0.9), (7, 3, 0.7), (3 * 2**40, 7 * 2**40, 0.3), (29, 71, 0.29)]:
        counts = WordCounts.from_mapping({b"abc": merged, b"ab": alone})
        assert ["remove", 256] in [list(event) for event in _training_events(counts, threshold)]


def _training_events(counts, threshold):
    vocabulary = train_from_counts(counts, 258, refine=threshold)
    back = {vocabulary.tokens.index(b"ab"): 256}
    return [(event[0], *(back.get(id, id) for id in event[1:])) for event in vocabulary.event_list()]


def test_removed_parts_are_taken_apart_further():
    # abc was made of ab and c. When abc goes, ab has gone already: a, b and c are left. Then ab comes back.
    events, _, pretokens = oracle({b"abcd": 100, b"abc": 2, b"ab": 1}, 258, 0.5)
    assert events == [
        (97, 98, 256),
        (256, 99, 257),
        (256, -1, -1),
        (257, 100, 258),
        (257, -1, -1),
        (97, 98, 256),
    ]
    assert removal_parts(events) == {2: [97, 98], 4: [97, 98, 99]}
    assert pretokens == [[258], [256, 99], [256]]


def test_second_chance_under_the_old_id():
    words = {b"abc": 9, b"ab": 1}
    vocabulary = train_from_counts(WordCounts.from_mapping(words), 258, refine=0.9, special_tokens=[])
    assert vocabulary.tokens[256:] == (b"ab", b"abc")
    assert vocabulary.removed == frozenset()
    assert second_chances(vocabulary.events.tolist()) == 1


@pytest.mark.parametrize(
    ("words", "threshold", "again"),
    [
        ({b"abbbba": 6, b"ba": 7}, 0.5, (98, 97, 257)),  # ba, made of b and a both times, after bb fell apart
        ({b"bab": 4, b"babaaa": 3}, 0.1, (98, 259, 257)),  # bab, made of ba and b first, of b and ab later
    ],
)
def test_a_pair_that_spells_a_present_token_takes_no_slot(words, threshold, again):
    events, tokens, _ = oracle(words, 262, threshold)
    place = events.index(again, next(n for n, event in enumerate(events) if event[2] == 257) + 1)
    before = events[:place]
    assert sum(new == 257 for _, _, new in before) == 1
    assert (257, -1, -1) not in before
    assert len(set(tokens)) == len(tokens)
    counts = WordCounts.from_mapping(words)
    heap = train_from_counts(counts, 262, refine=threshold)
    assert heap.fingerprint() == train_by_textbook(counts, 262, refine=threshold).fingerprint()
    assert len(heap.events) == len(events)


def test_ids_are_dense_at_the_end():
    words = {b"abcd": 10, b"ab": 2, b"cd": 2, b"xyz": 7, b"xy": 1}
    vocabulary = train_from_counts(WordCounts.from_mapping(words), 261, refine=0.8, special_tokens=["<s>"])
    removed = sorted(vocabulary.removed)
    assert removed
    assert vocabulary.n_vocab == 261
    assert vocabulary.special_tokens == {"<s>": 260}
    assert removed == list(range(261, len(vocabulary.tokens)))
    assert vocabulary.tokens[260] is None
    assert len({token for token in vocabulary.tokens if token}) == len(vocabulary.tokens) - 1
    # Every id of an event is the id of a token, and the merges spell what they make.
    for left, right, new in vocabulary.events.tolist():
        if right >= 0:
            assert vocabulary.tokens[left] + vocabulary.tokens[right] == vocabulary.tokens[new]


@pytest.mark.parametrize("threshold", [0.001, 0.05, 0.2])
def test_low_thresholds_end(threshold):
    # Nearly every merge removes its parts, which are merged anew: many events, but each makes a longer token.
    rng = random.Random(12)
    for _ in range(30):
        counts = WordCounts.from_mapping(random_words(rng))
        vocabulary = train_from_counts(counts, 2000, refine=threshold)
        assert vocabulary.n_vocab < 2000


def test_real_text(corpus_bytes):
    import regex

    text = corpus_bytes("en", 1_000_000).decode()
    words: dict[bytes, int] = {}
    for pretoken in regex.findall(r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+", text):
        words[pretoken.encode()] = words.get(pretoken.encode(), 0) + 1
    vocabulary = train_from_counts(
        WordCounts.from_mapping(words, split_patterns=(r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+",)), 3000, refine=0.7
    )
    assert vocabulary.n_vocab == 3000
    assert len(vocabulary.removed) > 50
    tok = Tokenizer(vocabulary)
    assert tok.decode(tok.encode_ordinary(text[:100_000])) == text[:100_000]
    assert not set(tok.encode_ordinary(text)) & vocabulary.removed


@pytest.mark.parametrize("refine", [0, -0.5, 1.1, "0.9", True])
def test_thresholds_that_cannot_be_right(refine):
    with pytest.raises(UsageError, match="above 0 and at most 1"):
        train_from_counts(WordCounts.from_mapping({b"ab": 1}), 300, refine=refine)
