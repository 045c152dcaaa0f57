"""Batches: many texts by several threads, and str of every kind to UTF-8 on the way."""

import os
import random
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokenmill
from code_points import code_points
from tokenmill import AddedToken, Normalization, Tokenizer, Vocabulary
from tokenmill.errors import SpecialTokenError
from tokenmill.tokenizer import batches
from tokenmill.tokenizer.encoding._batch_cy import Batch

BYTES = tuple(bytes([i]) for i in range(256))
THREADS = (1, 2, 3, 7)
# Characters whose UTF-8 has one to four bytes, and their borders.
ALPHABETS = [
    "ab \x7f",
    "a\x7f\x80\xff",
    "a\x7f\x80\u07ff",
    "a \u07ff\u0800\ud7ff\ue000\uffff",
    "a\xe9漢\U00010000\U0010ffff",
]


class Text(str):
    """A str of another class: its characters stand elsewhere."""


@pytest.fixture(scope="module")
def bytewise():
    """A tokenizer whose ids are the bytes."""
    return Tokenizer(Vocabulary(BYTES, ("whitespace",)))


def both(tok, texts, threads):
    """What a batch gives as lists, after a look that it gives the same as one array."""
    lists = tok.encode_batch(texts, num_threads=threads)
    ids, offsets = tok.encode_batch_to_numpy(texts, num_threads=threads)
    assert [ids[a:b].tolist() for a, b in pairwise(offsets)] == lists
    return lists


@pytest.mark.parametrize("alphabet", ALPHABETS)
def test_str_of_every_width_become_utf_8(bytewise, alphabet):
    rng = random.Random(5)
    texts = ["".join(rng.choices(alphabet, k=k)) for k in [*range(70), 4095, 4097, 70_000]]
    texts += ["a" * k + alphabet[-1] for k in range(40)]
    expected = [[*text.encode()] for text in texts]
    assert [bytewise.encode(text) for text in texts] == expected
    assert [bytewise.encode_to_numpy(Text(text)).tolist() for text in texts] == expected
    for threads in THREADS:
        assert both(bytewise, texts, threads) == expected


def test_every_character_becomes_utf_8(bytewise):
    points = [*code_points()]
    random.Random(6).shuffle(points)
    for text in ("".join(sorted(points)), "".join(points)):
        assert bytewise.encode_to_numpy(text).tobytes() == bytewise.encode_to_numpy(text.encode()).tobytes()
        assert bytewise.decode_bytes(bytewise.encode(text)) == text.encode()


@given(st.lists(st.text(st.characters(exclude_categories=()), max_size=60), max_size=12))
def test_any_texts(texts):
    tok = Tokenizer(Vocabulary(BYTES, ("gpt2",)))
    fixed = [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode() for text in texts]
    assert both(tok, texts, 3) == [[*text] for text in fixed]


def test_short_and_long_texts_in_order(tok, text):
    rng = random.Random(7)
    texts = [text * rng.choice([0, 1, 1, 1, 2, 30]) for _ in range(2500)]
    texts[11], texts[1200] = text * 3000, (text + "漢字") * 700
    known = {each: tok.encode(each) for each in {*texts}}
    for threads in THREADS:
        assert both(tok, texts, threads) == [known[each] for each in texts]


def test_texts_that_python_must_deal_with(tok, text):
    texts = [text] * 3000
    texts[3], texts[2000] = "low \ud83d\ude00 \udc00", "\ud800"
    expected = [tok.encode(each) for each in texts]
    for threads in THREADS:
        assert both(tok, texts, threads) == expected
    forbidden = [*texts[:2500], "low<|endoftext|>", *texts[2500:]]
    for threads in THREADS:
        with pytest.raises(SpecialTokenError, match="<\\|endoftext\\|>"):
            tok.encode_batch(forbidden, num_threads=threads)
        with pytest.raises(SpecialTokenError):
            tok.encode_batch_to_numpy(forbidden, num_threads=threads)
        with pytest.raises(TypeError, match=r"^texts\[3000\] is 5; it must be str or bytes"):
            tok.encode_batch([*texts, 5], num_threads=threads)
        assert tok.encode_batch(forbidden, num_threads=threads, allowed_special="all")[2500][-1] == tok.eot_token
    assert both(tok, texts, 2) == expected


@pytest.mark.filterwarnings("ignore:the split pattern")
def test_patterns_that_are_not_regular(text):
    tok = Tokenizer(Vocabulary((*BYTES, b"aa", b"aaaa"), (r"(a)\1|.|\n",)))
    texts = [text, "aaaa", "", "a\ud800", text * 20] * 10
    assert both(tok, texts, 2) == [tok.encode(each) for each in texts]


def test_ctrl_c_is_heard():
    """While others work for the thread that hears it, and while one text takes all the time.

    The kernel raises the exception. A kernel that does not listen returns first, and then Python raises it.
    """
    tok = tokenmill.train_from_iterator(["low lower lowest"], vocab_size=262)
    rng = random.Random(8)
    novel = "".join(rng.choices("abcdefghij ", k=1 << 20))
    for texts in ([novel] * 4000, [novel * 300] * 2):
        killer = threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGINT))
        killer.start()
        with pytest.raises(KeyboardInterrupt) as caught:
            for _ in range(1000):
                tok.encode_batch_to_numpy(texts, num_threads=2)
        assert str(caught.traceback[-1].path).endswith("_cy.py")
        killer.join()
    assert tok.encode_batch(["low"] * 3, num_threads=2) == [tok.encode("low")] * 3


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("collect", [Batch.lists, Batch.flat])
def test_only_the_texts_that_need_python_go_there(tok, text, threads, collect):
    """One lone surrogate in 16,384 short texts sends one text to Python, not all of its job."""
    texts = ["low lower", text] * 4000
    odd = {0: "\ud800", 11: "a\udfffb", 7999: "\ud800\ud800"}
    for place, each in odd.items():
        texts[place] = each
    expected = [tok.encode(each) for each in texts]
    asked = []

    def fallback(each):
        asked.append(each)
        return tok.encode(each)

    result = collect(Batch(tok._core.kernel, tuple(texts), None, None, fallback, 1))
    assert asked == list(odd.values())
    if collect is Batch.flat:
        ids, ends = list(memoryview(result[0]).cast("B").cast("I")), list(memoryview(result[1]).cast("q"))
        result = [ids[a:b] for a, b in pairwise(ends)]
    assert result == expected
    assert both(tok, texts, threads) == expected


def test_an_exception_of_a_worker_is_raised(tok, text, monkeypatch):
    class Broken:
        threads = 2

        def __init__(self, *arguments):
            pass

        def work(self):
            raise MemoryError("in a worker")

        def stop(self):
            pass

        def lists(self):
            return [[]]

    monkeypatch.setattr(batches, "Batch", Broken)
    with pytest.raises(MemoryError, match="in a worker"):
        tok.encode_batch([text])


def test_one_text_is_not_a_batch(tok):
    for wrong in ("abc", b"abc", bytearray(b"abc")):
        with pytest.raises(TypeError, match="give a list of texts"):
            tok.encode_batch(wrong)
        with pytest.raises(TypeError, match="give a list of texts"):
            tok.encode_batch_to_numpy(wrong)


def test_short_lists_are_decoded_by_a_loop_and_long_ones_in_few_tasks(tok, monkeypatch):
    """A task for each of 100,000 lists took 40 times as long as a loop, and threads that hold the GIL longer than one."""
    tasks = []

    class Pool(ThreadPoolExecutor):
        def submit(self, *arguments):
            tasks.append(arguments)
            return super().submit(*arguments)

    monkeypatch.setattr(batches, "_pool", Pool)
    lists = [tok.encode("low lower")] * 100_000
    assert tok.decode_batch(lists, num_threads=4) == ["low lower"] * 100_000
    assert tok.decode_bytes_batch(lists[:5], num_threads=4) == [b"low lower"] * 5
    assert not tasks
    long = tok.encode("low lower " * 4000)
    assert tok.decode_batch([long] * 200, num_threads=4) == ["low lower " * 4000] * 200
    assert 4 <= len(tasks) <= 100


def test_texts_of_other_libraries():
    tok = Tokenizer(Vocabulary(tuple(bytes([byte]) for byte in range(256)), ("gpt2",)))
    expected = [tok.encode("low"), tok.encode("é")]
    assert tok.encode_batch(pytest.importorskip("pyarrow").array(["low", "é"])) == expected
    assert tok.encode_batch(np.array(["low", "é"])) == tok.encode_batch(np.array(["low", "é"], object)) == expected


@pytest.mark.parametrize("normalizers", [(), ("NFC",)])
def test_a_long_text_is_divided_and_gets_the_same_ids(monkeypatch, normalizers):
    monkeypatch.setattr(batches, "LONG_TEXT", 1000)
    monkeypatch.setattr(batches, "PIECE", 700)
    tokens = (*(bytes([byte]) for byte in range(256)), b" low", "é".encode())
    added = (AddedToken("<|end of text|>", 300), AddedToken("<a>", 301, special=False))
    tok = Tokenizer(Vocabulary(tokens, ("cl100k",), normalization=Normalization(normalizers), added_tokens=added))
    rng = random.Random(4)
    words = [" low", " lower", "é", "e\u0301", "漢字", "\n\n", "  ", "<|end of text|>", "<a>", "123", "🦜", "\u0301"]
    divided = 0
    for _ in range(40):
        text = "".join(rng.choices(words, k=rng.randint(900, 3000)))
        one = tok.encode(text, allowed_special="all", num_threads=1)
        divided += len(batches._borders(tok._core, text)) > 4
        assert tok.encode(text, allowed_special="all", num_threads=3) == one
        assert tok.encode_to_numpy(text, allowed_special="all", num_threads=3).tolist() == one
        assert tok.encode_to_numpy(text.encode(), allowed_special="all", num_threads=3).tolist() == one
        assert tok.count_tokens(text, allowed_special="all", num_threads=3) == len(one)
        with pytest.raises(SpecialTokenError):
            tok.encode(text, num_threads=3)
        broken = text + "\ud800" + text + "\ud83e\udd9c"
        assert tok.encode(broken, disallowed_special=(), num_threads=3) == tok.encode(
            broken, disallowed_special=(), num_threads=1
        )
    assert divided > 20


@pytest.mark.parametrize("prefix", [False, "first", "text"])
def test_a_long_text_without_split_patterns_is_divided_where_no_token_spans(monkeypatch, prefix):
    monkeypatch.setattr(batches, "LONG_TEXT", 1000)
    monkeypatch.setattr(batches, "PIECE", 700)
    tokens = [
        *(bytes([byte]) for byte in range(256)),
        *(bytes([byte]) for byte in b" low.er"),
        b" l",
        b" lo",
        b" low",
        b"er",
    ]
    rows = np.array([(256, 257, 263), (263, 258, 264), (264, 259, 265), (261, 262, 266)], np.int32)
    mark = "\u2581"
    steps = (("Replace", " ", mark),) if prefix else (("Prepend", mark), ("Replace", " ", mark))
    fields = {"normalization": Normalization(steps, prefix, mark), "byte_tokens": tuple(range(256))}
    added = (AddedToken("<s>", 300), AddedToken("<a>", 301, special=False))
    tok = Tokenizer(
        Vocabulary(tuple(tokens), (), "scores", rows, added, whole_pretokens=False, alphabet="characters", **fields)
    )
    rng = random.Random(5)
    words = [" low", "low", "lower.", "low.low", "é", "漢", "\n", "  ", "<s>", "<a>", "<a> ", mark, mark + "low", " er"]
    divided = 0
    for _ in range(30):
        text = "".join(rng.choices(words, k=rng.randint(900, 3000)))
        for sample in (text, text + "\ud800" + text):
            one = tok.encode(sample, allowed_special="all", num_threads=1)
            divided += len(batches._borders(tok._core, sample)) > 3
            assert tok.encode(sample, allowed_special="all", num_threads=3) == one
            assert tok.count_tokens(sample, allowed_special="all", num_threads=3) == len(one)
    assert divided > 40


def test_a_long_text_that_cannot_be_divided(monkeypatch):
    monkeypatch.setattr(batches, "LONG_TEXT", 1000)
    monkeypatch.setattr(batches, "PIECE", 300)
    tokens = tuple(bytes([byte]) for byte in range(256))
    for settings in (
        {"normalization": Normalization((), True)},
        {"normalization": Normalization((("Replace", "a", "b"),))},
        {"split_patterns": ("(?<!x)a|[\\s\\S]",)},
    ):
        tok = Tokenizer(Vocabulary(tokens, **{"split_patterns": ("gpt2",)} | settings))
        assert tok.encode("a low " * 900, num_threads=3) == tok.encode("a low " * 900, num_threads=1)
    tok = Tokenizer(Vocabulary(tokens, ("gpt2",)))
    assert tok.encode("x" * 5000, num_threads=3) == [120] * 5000
