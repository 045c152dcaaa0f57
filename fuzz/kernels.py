"""Run the kernels on random input and compare them with their slow twins.

`make fuzz` builds the kernels with AddressSanitizer and UndefinedBehaviorSanitizer, so that a read past the end of a text,
an overflow or a bad shift ends the run with a report. Without the sanitizers this is another test.

    python fuzz/kernels.py SECONDS [SEED]
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))  # the slow twins

import numpy as np

from event_counts import count_events
from naive_encoder import NaiveEncoder
from naive_split import reference_pretokens
from tokenmill.counting import CountOptions, WordCounts, count, count_iterator
from tokenmill.errors import TokenmillError
from tokenmill.formats.rank_merges import merges_of_ranks
from tokenmill.quality.checking import EDGE_CASES
from tokenmill.quality.replay import replay
from tokenmill.split import Splitter
from tokenmill.split.patterns import PATTERNS
from tokenmill.tokenizer import Tokenizer
from tokenmill.vocabulary import AddedToken, Vocabulary
from trained import train_by_textbook, train_from_counts

_ATOMS = (r"\p{L}", r"\p{N}", r"\s", "a", "[ab]", "[^a\\s]", ".", r"\p{Lu}", "'", " ", r"[\r\n]", "(?i:s)", r"\S")
_ENDS = ("", "", "", r"(?!\S)", "$")


def any_text(chosen: random.Random) -> str:
    kind = chosen.random()
    if kind < 0.3:
        return chosen.choice(EDGE_CASES) * chosen.choice((1, 1, 2, 40))
    letters = chosen.choice(("ab", "ab \n", "aé漢\U0001f600 1.'\n", "".join(EDGE_CASES)))
    return "".join(chosen.choices(letters, k=chosen.choice((0, 1, 2, 7, 15, 16, 17, 31, 63, 64, 65, 200, 3000))))


def any_bytes(chosen: random.Random) -> bytes:
    data = bytearray(any_text(chosen).encode())
    for _ in range(chosen.choice((0, 0, 1, 5, len(data) // 3))):
        if data:
            data[chosen.randrange(len(data))] = chosen.choice((0, 0x80, 0xBF, 0xC0, 0xE0, 0xED, 0xF4, 0xFF, 10, 32, 97))
    return bytes(data[: chosen.randint(0, len(data))]) if chosen.random() < 0.3 else bytes(data)


def any_pattern(chosen: random.Random) -> str:
    if chosen.random() < 0.6:
        return chosen.choice(list(PATTERNS.values()))
    branches = []
    for _ in range(chosen.randint(1, 4)):
        atoms = (
            chosen.choice(_ATOMS) + chosen.choice(("", "+", "*", "?", "{1,3}", "++", "?+"))
            for _ in range(chosen.randint(1, 3))
        )
        branches.append("".join(atoms) + chosen.choice(_ENDS))
    return "|".join(branches)


def split(chosen: random.Random) -> None:
    patterns = [any_pattern(chosen) for _ in range(chosen.choice((1, 1, 1, 2, 3)))]
    splitter = Splitter(*patterns)
    for _ in range(5):
        data = any_bytes(chosen)
        ends = list(splitter.ends(data))
        pretokens = reference_pretokens(splitter.patterns, data.decode("utf-8", "surrogateescape"))
        assert [len(p.encode("utf-8", "surrogateescape")) for p in pretokens] == list(np.diff([0, *ends])), (
            patterns,
            data,
        )


def counting(chosen: random.Random) -> None:
    pattern = any_pattern(chosen)
    texts = [any_bytes(chosen) for _ in range(chosen.randint(1, 6))]
    splitter = Splitter(pattern)
    expected: Counter[bytes] = Counter()
    for data in texts:
        start = 0
        for end in splitter.ends(data):
            expected[data[start:end]] += 1
            start = end
    threads = chosen.choice((1, 2, 5))
    assert dict(count_iterator(texts, split=pattern, num_threads=threads).items()) == expected, (pattern, texts)
    if chosen.random() < 0.3:
        with tempfile.TemporaryDirectory() as folder:
            for number, data in enumerate(texts):
                (Path(folder) / f"{number}.txt").write_bytes(data)
            if any(texts):
                found = count([folder], split=pattern, options=CountOptions(binary="count"), num_threads=threads)
                assert dict(found.items()) == expected, (pattern, texts)


def any_counts(chosen: random.Random) -> WordCounts:
    pretokens = {any_bytes(chosen)[: chosen.choice((3, 9, 20, 300))] or b"a" for _ in range(chosen.randint(1, 30))}
    top = chosen.choice((3, 100, 2**33, 2**45))
    return WordCounts.from_mapping({pretoken: chosen.randint(1, top) for pretoken in sorted(pretokens)})


def training(chosen: random.Random) -> Vocabulary:
    counts = any_counts(chosen)
    options = {
        "min_count": chosen.choice((1, 1, 2)),
        "min_pair_count": chosen.choice((1, 1, 5)),
        "max_token_bytes": chosen.choice((None, None, 2, 5)),
    }
    if chosen.random() < 0.2:
        options |= {"alphabet": "characters", "coverage": chosen.choice((1.0, 0.9)), "unknown_token": "<unk>"}
    elif chosen.random() < 0.5:
        options["refine"] = chosen.choice((0.3, 0.6, 0.9, 1.0))
    size = chosen.randint(257, 330)
    made = []
    for train in (train_from_counts, train_by_textbook):
        try:
            made.append(train(counts, size, **options))
        except TokenmillError as error:
            made.append(str(error))
    if isinstance(made[0], str) or isinstance(made[1], str):
        assert made[0] == made[1], made
        return any_vocabulary(chosen)
    assert made[0].fingerprint() == made[1].fingerprint(), (dict(counts.items()), options)
    if options.get("alphabet") is None:
        happened = replay(made[0], counts).happened.tolist()
        start = {token: id for id, token in reversed([*enumerate(made[0].tokens)]) if token is not None}
        pretokens = [([start[bytes([byte])] for byte in pretoken], count) for pretoken, count in counts.items()]
        assert happened == [
            times for times, _, _ in count_events(pretokens, [tuple(e) for e in made[0].events.tolist()])
        ]
    return made[0]


def any_vocabulary(chosen: random.Random) -> Vocabulary:
    """Ranks that training cannot produce: arbitrary tokens in arbitrary order, some of them long."""
    letters = chosen.choice((b"ab", b"ab ", "aé漢".encode()))
    longer = {
        bytes(chosen.choices(letters, k=chosen.choice((2, 2, 3, 4, 6, 15, 16, 40))))
        for _ in range(chosen.randint(1, 60))
    }
    tokens = [bytes([byte]) for byte in range(256)] + sorted(longer)
    if chosen.random() < 0.4:
        chosen.shuffle(tokens)
    added = (
        AddedToken("<|endoftext|>", len(tokens) + 3),
        AddedToken("<|end", len(tokens), special=chosen.random() < 0.5),
    )
    vocabulary = Vocabulary(tuple(tokens), (any_pattern(chosen),), added_tokens=added[: chosen.randint(0, 2)])
    if chosen.random() < 0.5:
        return vocabulary
    rows = merges_of_ranks(tokens)[0]
    if chosen.random() < 0.5:
        rows = rows[np.array(chosen.sample(range(len(rows)), len(rows)), int)]
    fields = {name: getattr(vocabulary, name) for name in ("tokens", "split_patterns", "added_tokens")}
    return Vocabulary(**fields, order="merges", events=rows, whole_pretokens=chosen.random() < 0.5)


def encoding(chosen: random.Random, vocabulary: Vocabulary) -> None:
    tokenizer = Tokenizer(vocabulary, cache_bytes=chosen.choice((0, 1 << 12, 1 << 20)))
    naive = NaiveEncoder(vocabulary, Splitter(*vocabulary.split_patterns).ends)
    for _ in range(6):
        data = any_bytes(chosen)
        try:
            expected = naive.encode(data)
        except TokenmillError:
            continue
        ids = tokenizer.encode_bytes(data)
        assert ids == expected == tokenizer.encode_bytes(data), (data, ids, expected)
        if vocabulary.unknown is None:
            assert tokenizer.decode_bytes(ids) == data
            assert tokenizer.decode_bytes(np.array(ids, np.uint32)) == data
    texts = [any_text(chosen) for _ in range(4)]
    try:
        rows = [tokenizer.encode(text, allowed_special="all") for text in texts]
    except TokenmillError:
        return
    many = chosen.choice((1, 1, 1, 400))  # 65,536 or more characters use threads
    assert tokenizer.encode_batch(texts * many, allowed_special="all", num_threads=3) == rows * many
    long = "".join(texts) * chosen.choice((0, 0, 0, 300))  # long enough for conversion to UTF-8 in windows
    in_windows = tokenizer.encode_to_numpy(long, allowed_special="all").tolist()
    assert in_windows == tokenizer.encode_to_numpy(long.encode(), allowed_special="all").tolist(), (texts, len(long))
    for text, row in zip(texts, rows, strict=True):
        assert tokenizer.encode_to_numpy(text, allowed_special="all").tolist() == row
        assert tokenizer.count_tokens(text, allowed_special="all") == len(row)
        assert tokenizer.encode_with_offsets(text, allowed_special="all").ids == row
        kept = tokenizer.truncate(text, len(row) // 2, allowed_special="all")
        assert text.startswith(kept) and tokenizer.count_tokens(kept, allowed_special="all") <= len(row) // 2
        if vocabulary.unknown is None:
            assert tokenizer.decode(row) == text


def main() -> None:
    warnings.simplefilter("ignore")  # a pattern that the scanner cannot run
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    end = time.monotonic() + seconds
    rounds = 0
    while time.monotonic() < end:
        chosen = random.Random(f"{seed}-{rounds}")
        try:
            split(chosen)
            counting(chosen)
            encoding(chosen, training(chosen))
            encoding(chosen, any_vocabulary(chosen))
        except BaseException:
            print(f"failed in round {rounds} of seed {seed}", file=sys.stderr)
            raise
        rounds += 1
    print(f"{rounds} rounds of random input, no defect found")


if __name__ == "__main__":
    main()
