"""Pretokens that are merged by their segments have the ids of the definitions, and certain borders are where the docstring says."""

from itertools import pairwise
from random import Random

import numpy as np
import pytest
from random_vocabularies import SWEEP

from naive_encoder import NaiveEncoder
from tokenmill.split import Splitter
from tokenmill.tokenizer.batches import encode_batch
from tokenmill.tokenizer.core import Core
from tokenmill.tokenizer.encoding._cutter_cy import Cutter
from tokenmill.vocabulary import Vocabulary
from tokenmill.vocabulary._packed_cy import pack_tokens

BYTES = [bytes([i]) for i in range(256)]
# Characters of one to four bytes, many of which share their first or their last byte.
CHARACTERS = "aé漢漣字孨かきกข🙂🙃 "
SCRIPTS = {
    "Chinese": "\u4e00-\u9fff",
    "kana": "\u3040-\u30ff",
    "Korean": "\uac00-\ud7a3",
    "Thai": "\u0e00-\u0e7f",
}


def random_text(rng: Random, size: int) -> bytes:
    """Characters, now and then with bytes that are no UTF-8."""
    data = bytearray("".join(rng.choices(CHARACTERS, k=size)).encode())
    for _ in range(rng.choice([0, 0, 0, 1, 3])):
        at = rng.randint(0, len(data) - 1)
        if rng.random() < 0.5 and len(data) > 1:
            del data[at]
        else:
            data.insert(at, rng.randrange(128, 256))
    return bytes(data)


def random_tokens(rng: Random) -> list[bytes]:
    """All bytes, and pieces of text that begin and end anywhere."""
    tokens = dict.fromkeys(BYTES)
    for _ in range(rng.randint(0, 60)):
        data = random_text(rng, 4)
        start = rng.randrange(len(data))
        tokens[data[start : start + rng.randint(1, 7)]] = None
    return list(tokens)


def random_vocabulary(rng: Random, order: str, patterns: tuple[str, ...] = ()) -> Vocabulary:
    whole = rng.random() < 0.5
    if order == "ranks":
        return Vocabulary(tuple(random_tokens(rng)), patterns, whole_pretokens=whole)
    tokens = list(BYTES)
    id_of = {token: id for id, token in enumerate(tokens)}
    rows: dict[tuple[int, int], int] = {}
    live = sorted({byte for byte in CHARACTERS.encode()})
    removed: list[int] = []
    events = []
    for _ in range(rng.randint(0, 150)):
        if order == "events" and rng.random() < 0.2 and live[-1] > 255:
            removed.append(live.pop())
            events.append((removed[-1], -1, -1))
            continue
        text = random_text(rng, 30)
        pairs = [
            (left, right)
            for left in live
            for right in rng.sample(live, min(len(live), 12))
            if tokens[left] + tokens[right] in text and (left, right) not in rows
        ]
        if not pairs:
            continue
        left, right = rng.choice(pairs)
        joined = tokens[left] + tokens[right]
        if joined not in id_of:
            id_of[joined] = len(tokens)
            tokens.append(joined)
        rows[left, right] = id_of[joined]
        if id_of[joined] not in live:
            live.append(id_of[joined])
        events.append((left, right, id_of[joined]))
    if order == "merges" and rng.random() < 0.3:
        rng.shuffle(events)
    return Vocabulary(tuple(tokens), patterns, order, np.array(events, np.int32).reshape(-1, 3), (), whole)


@pytest.mark.parametrize("order", ["ranks", "merges", "events"])
def test_random_vocabularies(order):
    for seed in range(40 * SWEEP):
        rng = Random(f"cuts {order} {seed}")
        vocabulary = random_vocabulary(rng, order)
        core = Core(vocabulary, rng.choice([0, 1 << 18, 1 << 22]))
        naive = NaiveEncoder(vocabulary, Splitter().ends)
        longer = [token for token in vocabulary.tokens if len(token) >= 6]
        for _ in range(20):
            data = random_text(rng, rng.choice([2, 3, 5, 8, 40]))
            if longer and rng.random() < 0.3:  # a pretoken that is a token, whole and between others
                data = rng.choice([data, b""]) + rng.choice(longer)
            expected = naive.encode(data)
            for _ in range(2):  # the second time from the cache
                assert core.encode_section(data) == expected, (seed, data)


@pytest.mark.parametrize("order", ["ranks", "merges", "events"])
def test_pretokens_of_many_segments(order):
    """Runs of more segments than wait at once, between words, in one text, in batches and in blocks of documents."""
    for seed in range(2 * SWEEP):
        rng = Random(f"long {order} {seed}")
        vocabulary = random_vocabulary(rng, order, (r" ?\w+|.",))
        core = Core(vocabulary, rng.choice([1 << 18, 1 << 22]))
        naive = NaiveEncoder(vocabulary, Splitter(*vocabulary.split_patterns).ends)
        runs = ["".join(rng.choices("漢字孨かきกข", k=rng.choice([1, 4, 6, 30, 900]))) for _ in range(12)]
        texts = ["a é".join(rng.sample(runs, 3)) for _ in range(8)]
        expected = [naive.encode(text.encode()) for text in texts]
        plan = core.plan()
        for _ in range(3):  # the cutter is made after some text
            assert [core.encode(text, plan) for text in texts] == expected
        assert encode_batch(core, texts, plan, 1) == expected
        blob = "".join(texts).encode()
        ends = np.cumsum([len(text.encode()) for text in texts]).astype(np.uint64)
        ids, id_ends = core.encode_documents(blob, ends, plan)
        assert np.frombuffer(ids, np.uint32).tolist() == [id for row in expected for id in row]
        assert id_ends.tolist() == np.cumsum([len(row) for row in expected]).tolist()


def test_no_token_spans_a_certain_border():
    """Whatever the tokens and the bytes are; and there are many certain borders."""
    cuts = 0
    for seed in range(100 * SWEEP):
        rng = Random(f"borders {seed}")
        tokens = random_tokens(rng)
        cutter = Cutter(*pack_tokens(tuple(tokens)))
        for _ in range(10):
            data = random_text(rng, 20)
            ends = cutter.ends(data)
            assert ends[-1] == len(data)
            cuts += len(ends) - 1
            for end in ends[:-1]:
                spans = [
                    data[i:k]
                    for i in range(max(0, end - 12), end)
                    for k in range(end + 1, min(len(data), end + 12) + 1)
                ]
                assert not {*spans} & {*tokens}, (seed, data, end)
    assert cuts > 1000


def test_the_cuts_are_made():
    """Characters that no token joins are parted; those that a token joins, whole or in part, are not."""
    tokens = [*BYTES, "漢字".encode(), "か".encode() + b"\xe3", b"\x82\xe0\xb8\x81"]
    ends = [0, *Cutter(*pack_tokens(tuple(tokens))).ends("漢字漢かきもกข".encode())]
    text = "漢字漢かきもกข".encode()
    assert [text[start:end].decode() for start, end in pairwise(ends)] == ["漢字", "漢", "かき", "もก", "ข"]


def test_unknown_neighbours_are_not_cut():
    """SentencePiece makes them one unknown token, in ASCII and beyond. A byte that is not UTF-8 is unknown, too."""
    data, tokens = "aXYb漢字a".encode() + b"\xffb\xff\xfe", pack_tokens((b"a", b"b"))
    assert [*Cutter(*tokens, known=b"ab").ends(data)] == [1, 3, 4, 10, 11, 12, 13, 15]
    assert [*Cutter(*tokens).ends(data)] == [1, 2, 3, 4, 7, 10, 11, 12, 13, 14, 15]


def test_the_cuts_of_long_text_are_those_of_each_pair():
    """Also where vector code finds them, and where characters that are not ASCII interrupt it."""
    for seed in range(20 * SWEEP):
        rng = Random(f"pairs {seed}")
        tokens = [*BYTES, *{"".join(rng.choices("abcde \n", k=2)).encode() for _ in range(rng.randint(1, 25))}]
        cutter = Cutter(*pack_tokens(tuple(tokens)))
        for size in (63, 64, 65, 66, 129, 700):
            text = rng.choices("abcde \n", k=size)
            for _ in range(rng.choice([0, 0, 1, 5])):
                text[rng.randrange(size)] = "漢"
            data = "".join(text).encode()
            places = [i for i in range(1, len(data)) if data[i] & 0xC0 != 0x80]
            assert cutter.ends(data).tolist() == [*(i for i in places if data[i - 1 : i + 1] not in tokens), len(data)]


def test_a_segment_is_not_looked_up_as_a_whole_pretoken():
    """A token that merging does not reach is found where it is the whole pretoken, and nowhere else, in any order of calls."""
    tokens = (*BYTES, "漢".encode()[:2], "漢".encode(), "漢字".encode())
    events = np.array([(0xE6, 0xBC, 256), (256, 0xA2, 257)], np.int32)
    for texts in (("漢字", "漢字か"), ("漢字か", "漢字")):
        core = Core(Vocabulary(tokens, (), "merges", events, (), True), 1 << 20)
        got = {text: core.encode_section(text) for text in (*texts, *texts)}
        assert got == {"漢字": [258], "漢字か": [257, *"字か".encode()]}


@pytest.fixture(scope="module")
def runs_of_scripts(corpus_bytes):
    """For each script its runs in real text."""
    import regex

    text = corpus_bytes("multi", 40_000_000).decode()
    return [sorted({*regex.findall(f"[{letters}]{{2,}}", text)}) for letters in SCRIPTS.values()]


@pytest.mark.parametrize("name", ["llama3.1", "qwen3", "deepseek-v3", "gpt2", "whisper-tiny"])
def test_published_vocabularies_as_huggingface(shared, tmp_path, name, runs_of_scripts):
    """Runs of one script from real text, mixtures of them, and runs that are joined from tokens of the vocabulary."""
    tokenizers, zstandard = pytest.importorskip("tokenizers"), pytest.importorskip("zstandard")
    import tokenmill

    path = tmp_path / "tokenizer.json"
    with open(shared / "vocab" / f"{name}-tokenizer.json.zst", "rb") as file:
        path.write_bytes(zstandard.ZstdDecompressor().stream_reader(file).read())
    ours, judge = tokenmill.load(path), tokenizers.Tokenizer.from_file(str(path))
    rng = Random(name)
    runs = []
    for found in runs_of_scripts:
        runs += rng.sample(found, min(len(found), 1500 * SWEEP))
    tokens = [token.decode(errors="ignore") for token in ours._core.vocabulary.tokens if token and not token.isascii()]
    runs += ["".join(rng.choices(tokens, k=rng.randint(1, 6))) for _ in range(3000 * SWEEP)]
    runs += ["".join(rng.choices(runs, k=3)) for _ in range(1000 * SWEEP)]
    for run, expected in zip(runs, judge.encode_batch(runs, add_special_tokens=False), strict=True):
        assert ours.encode_ordinary(run) == expected.ids, run


@pytest.mark.parametrize("last", [b"\n\n", b"a\n"])
def test_lines_need_no_split_pattern_where_no_token_spans_their_ends(last):
    tokens = (*BYTES, *(bytes([byte]) for byte in b"ab \n"), b"ab", b" ab", last)
    rows = np.array([(256, 257, 260), (258, 260, 261), (259 if last == b"\n\n" else 256, 259, 262)], np.int32)
    fields = {"whole_pretokens": False, "alphabet": "characters", "byte_tokens": tuple(range(256))}
    core = Core(Vocabulary(tokens, ("[^\n]+|\n+",), "merges", rows, **fields), 1 << 20)
    assert (core.cutter is None) == (last == b"a\n")
    rng = Random(6)
    for _ in range(200):
        text = "".join(rng.choices("ab \n\né漢", k=rng.randint(1, 40)))
        expected = [id for pretoken in core.splitter.split(text) for id in core.encode_pretoken(pretoken.encode())]
        assert core.encode(text, core.plan()) == expected
