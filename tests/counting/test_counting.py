"""count and count_iterator beside collections.Counter and the `regex` module; threads, documents, exceptions."""

import collections
import gc
import threading
import time
import weakref

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

import tokenmill.counting.threads as threads
import tokenmill.counting.to_memory as to_memory
import tokenmill.sources.blocks as reading
from tokenmill.counting import CountOptions, count, count_iterator
from tokenmill.errors import UsageError
from tokenmill.split import Splitter

WORDS = r" [^ ]*|[^ ]+"  # every space begins a pretoken


def pretokens(*texts, pattern=WORDS):
    """The slow twin."""
    counter = collections.Counter()
    for text in texts:
        counter.update(pretoken.encode() for pretoken in regex.findall(pattern, text))
    return counter


def same(a, b):
    return (
        a.arena.tobytes() == b.arena.tobytes()
        and a.offsets.tolist() == b.offsets.tolist()
        and a.counts.tolist() == b.counts.tolist()
        and (a.documents, a.total_bytes, a.split_patterns) == (b.documents, b.total_bytes, b.split_patterns)
    )


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of 64 bytes, so that a short text has many cuts."""
    monkeypatch.setattr(reading, "BLOCK", 64)
    monkeypatch.setattr(to_memory, "BLOCK", 64)
    monkeypatch.setattr(threads, "WORK", 1)


TEXT = "low lower  lowest\nnew newer   newest  " * 40 + "é漢字 " * 50 + "x" * 1000 + " end"


@pytest.mark.parametrize("num_threads", [1, 2, 7])
def test_a_file_in_many_blocks(tmp_path, small_blocks, num_threads):
    (tmp_path / "a.txt").write_text(TEXT)
    counts = count(tmp_path / "a.txt", split=WORDS, num_threads=num_threads)
    assert dict(counts.items()) == pretokens(TEXT)
    assert (counts.documents, counts.total_bytes) == (1, len(TEXT.encode()))
    assert counts.split_patterns == (WORDS,)


def test_the_same_bytes_for_any_threads_and_blocks(tmp_path, monkeypatch):
    for i in range(9):
        (tmp_path / f"{i}.txt").write_text(TEXT[i * 7 :] * (i + 1))
    first = count(tmp_path, split=WORDS, num_threads=1)
    assert dict(first.items()) == pretokens(*(TEXT[i * 7 :] * (i + 1) for i in range(9)))
    for num_threads, block in ((2, 100), (7, 1000), (3, 50)):
        monkeypatch.setattr(reading, "BLOCK", block)
        assert same(first, count(tmp_path, split=WORDS, num_threads=num_threads))


def test_one_file_or_its_documents_in_many_files(tmp_path):
    texts = [TEXT[i:] for i in range(0, 500, 50)]
    for i, text in enumerate(texts):
        (tmp_path / f"{i}.txt").write_text(text)
    assert same(count(tmp_path, split=WORDS), count_iterator(texts, split=WORDS))


def test_an_end_of_a_document_is_an_end_of_a_pretoken(small_blocks):
    texts = ["one", "two three", "", "four", "x" * 300, "five"] * 30
    counts = count_iterator(texts, split=WORDS)
    assert dict(counts.items()) == pretokens(*texts)
    assert counts.documents == len(texts)
    assert counts.total_bytes == sum(map(len, texts))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(max_size=50), max_size=30), st.integers(1, 3))
def test_any_texts(texts, num_threads):
    encoded = [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in texts]
    counts = count_iterator(texts, split=WORDS, num_threads=num_threads)
    assert dict(counts.items()) == pretokens(*encoded)


def test_surrogates_are_encoded_as_tiktoken_does():
    counts = count_iterator(["a\ud83d\ude00b", "\ud800", b"\xff\xfe"], split=WORDS)
    assert dict(counts.items()) == {"a😀b".encode(): 1, "\ufffd".encode(): 1, b"\xff\xfe": 1}


def test_an_exception_of_the_iterator_is_passed_on(small_blocks):
    def texts():
        for _ in range(1000):
            yield "some text"
        raise LookupError("the corpus ended badly")

    with pytest.raises(LookupError, match="ended badly"):
        count_iterator(texts(), split=WORDS)
    assert not [t for t in threading.enumerate() if t.name.startswith("tokenmill")]


def test_an_exception_of_the_progress_callback_stops_everything(tmp_path, small_blocks, monkeypatch):
    monkeypatch.setattr(threads, "POLL", 0.001)
    (tmp_path / "a.txt").write_text(TEXT * 50)

    def progress(stage, done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        count(tmp_path / "a.txt", split=WORDS, progress=progress)
    assert not [t for t in threading.enumerate() if t.name.startswith("tokenmill")]


def test_progress_counts_the_bytes_of_the_files(tmp_path):
    for i in range(5):
        (tmp_path / f"{i}.txt").write_text(TEXT)
    total, seen = 5 * len(TEXT.encode()), []
    count(tmp_path, split=WORDS, progress=lambda *now: seen.append(now))
    assert seen[-1] == ("count", total, total)
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)


def test_a_failure_in_one_file_stops_the_others_and_leaves_no_thread(tmp_path, small_blocks):
    for i in range(20):
        (tmp_path / f"{i:02}.txt").write_text(TEXT * 20)
    (tmp_path / "10.txt").write_bytes(b"\0" * 1000)
    with pytest.raises(Exception, match=r"10\.txt: looks binary"):
        count(tmp_path, split=WORDS, num_threads=4)
    assert not [t for t in threading.enumerate() if t.name.startswith("tokenmill")]


def test_nothing_to_count():
    counts = count_iterator([], split=WORDS)
    assert (len(counts), counts.documents, counts.total_bytes) == (0, 0, 0)
    assert list(count_iterator([""], split=WORDS).items()) == []
    assert count_iterator(["", ""], split=WORDS).documents == 2


def test_a_pattern_that_is_no_automaton_gives_the_same_counts(tmp_path, small_blocks, monkeypatch):
    class Slow(Splitter):
        def __init__(self, *patterns):
            super().__init__(*patterns)
            self.scanner = None

        def ends(self, data):
            return [m.end() for m in regex.finditer(WORDS.encode(), data)]

    (tmp_path / "a.txt").write_text(TEXT)
    assert same(count(tmp_path / "a.txt", split=Slow(WORDS)), count(tmp_path / "a.txt", split=WORDS))
    assert same(count_iterator([TEXT, "a b"], split=Slow(WORDS)), count_iterator([TEXT, "a b"], split=WORDS))


@pytest.mark.parametrize("num_threads", [0, -1])
def test_threads_must_be_at_least_one(num_threads):
    with pytest.raises(UsageError, match="at least 1"):
        count_iterator(["a"], num_threads=num_threads)


def test_wrong_calls():
    with pytest.raises(UsageError, match="one str; give a list of texts"):
        count_iterator("a text")
    with pytest.raises(UsageError, match="one is int: 5"):
        count_iterator(["a", 5])
    with pytest.raises(UsageError, match="known are error, skip, count"):
        count("x", options=CountOptions(binary="maybe"))


def test_threads_share_one_file(tmp_path, small_blocks, monkeypatch):
    """With one file and two threads, both draw blocks from it."""
    (tmp_path / "a.txt").write_text(TEXT * 20)
    seen = set()
    original = threads.Counter.count_block

    def counting(self, block):
        seen.add(threading.get_ident())
        time.sleep(0.0005)
        original(self, block)

    monkeypatch.setattr(threads.Counter, "count_block", counting)
    count(tmp_path / "a.txt", split=WORDS, num_threads=2)
    assert len(seen) == 2


def test_the_tables_are_freed_without_the_garbage_collector(monkeypatch):
    # The counters and the object that runs their threads refer to each other: 90 MB after 20 languages.
    made = []

    class Counter(threads.Counter):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            made.append(weakref.ref(self))

    monkeypatch.setattr(to_memory, "Counter", Counter)
    gc.disable()
    try:
        count_iterator([TEXT], split=WORDS, num_threads=2)
        assert made and not any(counter() for counter in made)
    finally:
        gc.enable()
