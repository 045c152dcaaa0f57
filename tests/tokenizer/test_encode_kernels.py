"""The kernels give the ids of the definitions in naive_encoder.py, for any vocabulary and any bytes."""

from collections import Counter
from random import Random

import numpy as np
import pytest
from random_vocabularies import SWEEP, random_events, random_merges, random_ranks, random_text

from naive_encoder import NaiveEncoder
from tokenmill import formats
from tokenmill.errors import UsageError
from tokenmill.split import Splitter
from tokenmill.tokenizer.core import Core
from tokenmill.tokenizer.encoding._encode_cy import Encoder
from tokenmill.tokenizer.encoding._finder_cy import Finder
from tokenmill.tokenizer.merging._build_cy import list_merger, packed_cache, rank_merger
from tokenmill.vocabulary import Vocabulary

MAKERS = {"ranks": random_ranks, "merges": random_merges, "events": random_events}


def ids_or_error(encode, data):
    try:
        return encode(data)
    except UsageError:
        return UsageError


@pytest.mark.parametrize("order", MAKERS)
def test_random_vocabularies(order):
    for seed in range(150 * SWEEP):
        rng = Random(f"{order} {seed}")
        vocabulary = MAKERS[order](rng)
        encoder = Core(vocabulary, 1 << 20)
        naive = NaiveEncoder(vocabulary, Splitter(*vocabulary.split_patterns).ends)
        for turn in range(25):
            data = random_text(rng, longest=1500 if turn == 0 else 300)
            expected = ids_or_error(naive.encode, data)
            assert ids_or_error(encoder.encode_section, data) == expected, (seed, data)
            if expected is not UsageError:
                assert np.frombuffer(encoder.kernel.encode_to_ids(data), np.uint32).tolist() == expected


@pytest.mark.parametrize("order", MAKERS)
def test_long_pretokens(order):
    """Past 128 parts another loop takes over: the same ids at the border and beyond."""
    for seed in range(4 * SWEEP):
        rng = Random(f"long {order} {seed}")
        vocabulary = MAKERS[order](rng)
        vocabulary = Vocabulary(
            vocabulary.tokens, (), order, vocabulary.events, (), False, vocabulary.alphabet, vocabulary.unknown
        )
        encoder = Core(vocabulary, 1 << 20)
        naive = NaiveEncoder(vocabulary, Splitter().ends)
        for size in (15, 16, 17, 127, 128, 129, 255, 256, 257, 1000, 4096):
            if size > 1000 and (order == "events" or seed % 4):
                continue  # the slow twin is too slow
            letters = rng.sample([b"a", b"b", b"c", b" "], rng.randint(1, 3))
            data = b"".join(rng.choices(letters, k=size))
            expected = ids_or_error(naive.encode_pretoken, data)
            assert ids_or_error(encoder.encode_section, data) == expected, (seed, size)


def test_runs_of_one_letter():
    """In a vocabulary whose ranks rise, and in one where they do not; tiktoken is the judge, since the slow twin takes
    seconds for each."""
    tiktoken = pytest.importorskip("tiktoken")
    rising = [bytes([i]) for i in range(256)] + [b"a" * n for n in (2, 4, 8, 3, 16, 6)]
    falling = rising[:256] + rising[:255:-1]
    for tokens in (rising, falling):
        encoder = Core(Vocabulary(tuple(tokens), ()), 1 << 20)
        ranks = {token: rank for rank, token in enumerate(tokens)}
        judge = tiktoken.Encoding("judge", pat_str=r"[\s\S]+", mergeable_ranks=ranks, special_tokens={})
        for size in (100, 127, 128, 129, 4095, 4096, 4097, 4099, 5003, 100_003):
            for text in ("a" * size, "b" + "a" * size + "b", "aab" * size, ("a" * 17 + "b") * (size // 17)):
                assert encoder.encode_section(text) == judge.encode_ordinary(text)


def test_given_ends_of_pretokens():
    """A pattern that only the regex module can run: the pretokens are cut outside of the kernel."""
    with pytest.warns(UserWarning, match="regex module"):
        vocabulary = Vocabulary((*(bytes([i]) for i in range(256)), b"aa", b"ab"), (r"(a)\1|b+",))
        encoder = Core(vocabulary, 1 << 20)
        assert encoder.scanner is None
    naive = NaiveEncoder(vocabulary, encoder.splitter.ends)
    for data in (b"", b"aab", b"aaabbbxxab" * 300, "aaé漢aab".encode()):
        assert encoder.encode_section(data) == naive.encode(data)


def test_second_pair_for_one_token():
    """Two merges may make one token; the earlier one counts where both could."""
    tokens = (*(bytes([i]) for i in range(256)), b"ab", b"bc", b"abc")
    events = np.array([(97, 98, 256), (98, 99, 257), (97, 257, 258), (256, 99, 258)], np.int32)
    encoder = Core(Vocabulary(tokens, (), "merges", events, (), False), 1 << 20)
    assert encoder.encode_section(b"abc") == [258]
    assert encoder.encode_section(b"xbcabc") == [120, 257, 258]


@pytest.mark.parametrize("order", ["ranks", "merges"])
def test_ids_above_2_to_the_21(order):
    """The vocabulary has few tokens and many unused ids. One kernel or the other, with ids that 21 bits cannot hold."""
    first = 2**21 + 5
    for complete in (True, False):
        tokens = [bytes([i]) if complete or i else None for i in range(256)] + [None] * (first - 256)
        tokens += [b"ab", b"abc", b"abcd"]
        events = np.array([(97, 98, first), (first, 99, first + 1), (first + 1, 100, first + 2)], np.int32)
        merges = {} if order == "ranks" else {"events": events}
        vocabulary = Vocabulary(tuple(tokens), (), order, whole_pretokens=False, **merges)
        core = Core(vocabulary, 1 << 20)
        for data in (b"ab", b"abcab", b"abcdabcab" * 30):
            parts = [first + len(part) - 2 for part in data.replace(b"ab", b" ab").split()]
            assert core.encode_section(data) == parts
            assert core.decoder.decode_bytes(parts) == data


def test_ints_outlive_their_lists_and_encoders():
    """Encoders share their int objects, and count no references to them."""
    vocabulary = Vocabulary((*(bytes([i]) for i in range(256)), *(b"\xff" + bytes([i]) for i in range(100)), b"ab"), ())
    core = Core(vocabulary, 1 << 20)
    ids = core.encode_section(b"ab")
    for _ in range(200):
        assert core.encode_section(b"ab" * 10_000) == [356] * 10_000
    del core
    assert ids == [356]
    assert Core(vocabulary, 1 << 20).encode_section(b"ab")[0] is ids[0]


def test_the_random_vocabularies_are_of_both_kinds():
    """Those that are rank-ordered, and those that need all pairs."""
    kinds = Counter()
    for seed in range(150):
        rng = Random(f"ranks {seed}")
        kinds["ranks", rank_merger(random_ranks(rng).packed, None)[0].built is None] += 1
        rng = Random(f"merges {seed}")
        vocabulary = random_merges(rng)
        if vocabulary.alphabet == "bytes":
            merger = list_merger(vocabulary.packed, vocabulary.event_numbers, list(range(256)), None, None)
            kinds["merges", bool(merger.late)] += 1
    assert min(kinds.values()) > 10 and len(kinds) == 4, kinds


def test_a_published_vocabulary_is_rank_ordered(shared):
    vocabulary = formats.read(shared / "vocab" / "cl100k_base.tiktoken")
    assert rank_merger(vocabulary.packed, None)[0].built is not None


def test_tokens_of_any_length():
    """Tokens of 64 kB: nothing about them is quadratic; tiktoken is the judge."""
    tiktoken = pytest.importorskip("tiktoken")
    tokens = [bytes([i]) for i in range(256)] + [b"a" * 2**n for n in range(1, 17)]
    tokens += [b"a" * 2**n + b"b" for n in range(17)] + [b"ab" * 2**n for n in range(1, 14)]
    tok = Core(Vocabulary(tuple(tokens), ()), 1 << 20)
    ranks = {token: rank for rank, token in enumerate(tokens)}
    judge = tiktoken.Encoding("judge", pat_str=r"[\s\S]+", mergeable_ranks=ranks, special_tokens={})
    rng = Random(3)
    for size in (17, 255, 256, 257, 70_000):
        for text in ("a" * size, "a" * size + "b", "ab" * size, "".join(rng.choices("ab", [9, 1], k=size))):
            assert tok.encode_section(text) == judge.encode_ordinary(text)


def test_ranks_of_pairs():
    """Low ids, high ids, and runs of ids whose pairs lie close together; the first rank of a pair counts."""
    rng = Random(7)
    high = (1 << 24) - 1
    ids = [*range(600), *range(high - 300, high), *(rng.randrange(high) for _ in range(300))]
    pairs = [(rng.choice(ids), rng.choice(ids)) for _ in range(70_000)] + [(5, i) for i in range(40_000)]
    ranks: dict = {}
    for rank, pair in enumerate(pairs):
        ranks.setdefault(pair, rank)
    events = np.array([(left, right, rank % 300) for rank, (left, right) in enumerate(pairs)], np.int32)
    merger = list_merger((b"", b"\xff" * 1200), events.reshape(-1), [0] + [None] * 255, None, None, scores=True)
    numbers = [merger.rank(*pair) for pair in ranks]
    assert numbers == sorted(set(numbers))
    absent = [(rng.choice(ids), rng.choice(ids)) for _ in range(70_000)] + [(i, 5) for i in range(40_000)]
    assert all((merger.rank(*pair) is None) == (pair not in ranks) for pair in absent)
    assert merger.rank(high + 1, 5) is merger.rank(5, high + 1) is merger.rank(0xFFFFFFFF, 0xFFFFFFFF) is None


def test_the_cache_learns_tokens_after_some_merges():
    """Of a vocabulary in which a pretoken is merged even if it is a token."""
    words = [f" {a}{b}{c}".encode() for a in "abcdefgh" for b in "ijklmnop" for c in "qrstuvwx"]
    tokens: dict = {bytes([i]): i for i in range(256)}
    events = []
    for word in words:
        for size in range(2, 5):
            if word[:size] not in tokens:
                events.append((tokens[word[: size - 1]], word[size - 1], len(tokens)))
                tokens[word[:size]] = len(tokens)
    vocabulary = Vocabulary([*tokens], ("gpt2",), "merges", events, whole_pretokens=False)
    core = Core(vocabulary, 1 << 20)
    text = b"".join(words).decode()
    expected = [tokens[word] for word in words]
    assert core.kernel.encode(text[:80]) == expected[:20]
    assert core.kernel.statistics()[0][1] == 20
    assert core.kernel.encode(text) == core.kernel.encode(text) == expected
    assert core.kernel.statistics()[0][1] == len(tokens)


def test_unused_ids_take_no_room_in_the_cache():
    tokens = [bytes([i]) for i in range(256)] + [None] * 1_000_000 + [b"ab"]
    core = Core(Vocabulary(tuple(tokens), ()), 1 << 20)
    assert core.encode_section(b"ab") == [len(tokens) - 1]
    assert core.kernel.statistics()[0][0] < 1 << 20


def test_ids_of_more_than_24_bits_in_the_cache():
    """An entry has the number of its ids in the top byte of the fourth; an id that needs that byte is kept elsewhere."""
    first = (1 << 24) - 128  # half of the ids have more than 24 bits
    no_tokens = b"", b"\xff" * 4 * (first + 256)
    merger = list_merger(no_tokens, np.empty(0, np.int32), [*range(first, first + 256)], None, None)
    encoder = Encoder(merger, packed_cache(merger, b"", b""), None, 0, 1 << 20)
    data = bytes(range(1, 255)) * 8
    for size in range(1, 8):
        ends = np.append(np.arange(size, len(data), size), len(data)).astype(np.uintp)
        for _ in range(2):  # the second time from the cache
            ids = np.frombuffer(encoder.encode_to_ids(data, None, None, ends), np.uint32)
            assert np.array_equal(ids - first, np.frombuffer(data, np.uint8))


def test_the_memory_of_an_array_is_reused_only_when_the_array_is_gone():
    text = "low lower lowest " * 100_000
    encoder = Core(Vocabulary(tuple(bytes([i]) for i in range(256)), ("gpt2",)), 1 << 20).kernel
    first, second = encoder.encode_to_ids(text), encoder.encode_to_ids(text.upper())
    assert np.frombuffer(first, np.uint32).astype(np.uint8).tobytes() == text.encode()
    view = np.frombuffer(second, np.uint32)  # keeps the memory, without a name of its own
    del first, second
    third = np.frombuffer(encoder.encode_to_ids(text[::-1]), np.uint32)
    assert view.astype(np.uint8).tobytes() == text.upper().encode()
    assert third.astype(np.uint8).tobytes() == text[::-1].encode()
    place = third.ctypes.data
    del third
    assert np.frombuffer(encoder.encode_to_ids(text[:1_500_000]), np.uint32).ctypes.data == place


def test_a_cache_that_grows_keeps_its_pretokens():
    """It moves them within its memory: each is found again, so none is added twice."""
    rng = Random(12)
    core = Core(Vocabulary(tuple(bytes([i]) for i in range(256)), ("gpt2",), whole_pretokens=False), 1 << 26)
    words = {"".join(rng.choices("abcdefgh", k=rng.randint(1, 20))) for _ in range(60_000)}
    for _ in range(2):
        for word in sorted(words):
            assert core.encode_section(word.encode()) == list(word.encode())
        assert core.kernel.statistics()[0][1] == len({*words, *map(chr, range(256))})  # it has learned the single bytes


def test_finder():
    """The leftmost string, and the longest of those that begin there, among strings that begin with each other."""
    for seed in range(2000 * SWEEP):
        rng = Random(seed)
        strings = {bytes(rng.choices(b"ab<|", k=rng.randint(1, 8))) for _ in range(rng.randint(1, 12))}
        text = bytes(rng.choices(b"ab<|", k=rng.randint(0, 30)))
        found = [
            (at, -len(string), string) for string in strings for at in range(len(text)) if text.startswith(string, at)
        ]
        finder = Finder({string: id for id, string in enumerate(strings)})
        assert finder.find(text) == (min(found)[2] if found else None), seed
