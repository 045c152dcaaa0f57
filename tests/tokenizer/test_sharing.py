"""One tokenizer shared by threads and across fork, and caches that stay bounded."""

import gc
import os
import random
import signal
import string
import subprocess
import sys
import threading

import pytest

import tokenmill
from tokenmill import Tokenizer, Vocabulary
from tokenmill.errors import UsageError

BYTES = tuple(bytes([i]) for i in range(256))


def held_by(kernel) -> int:
    """The bytes that the caches in the pool hold."""
    return sum(held for held, _, _ in kernel.statistics())


def cached_by(kernel) -> int:
    """The pretokens in them."""
    return sum(pretokens for _, pretokens, _ in kernel.statistics())


def probes_of(kernel) -> float:
    """How many slots past its home an entry is on average, in the worst of them."""
    return max((probes for _, _, probes in kernel.statistics()), default=0)


def novel(rng: random.Random, size: int) -> str:
    """Text of words never seen before."""
    return " ".join("".join(rng.choices(string.ascii_letters, k=rng.randint(3, 30))) for _ in range(size // 17))


def test_threads_share_one_tokenizer(text):
    tok = tokenmill.train_from_iterator([text], vocab_size=400)
    rng = random.Random(1)
    texts = [text, text * 60, *(novel(rng, size) for size in (30, 3000, 5000, 60_000))]
    expected = [tok.encode(t) for t in texts]
    fresh = Tokenizer(tok.vocabulary, cache_bytes=1 << 20)  # small caches, so that threads grow and clear them
    failures = []

    def work(seed):
        own = random.Random(seed)
        for _ in range(40):
            i = own.randrange(len(texts))
            if fresh.encode(texts[i]) != expected[i] or fresh.decode(expected[i]) != texts[i]:
                failures.append(i)
            fresh.encode(novel(own, 2000))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_threads_begin_at_once_with_every_method(text):
    """On a Python without the GIL, the first calls of all threads run at the same moment."""
    vocabulary = tokenmill.train_from_iterator([text], vocab_size=400, special_tokens=["<|end|>"]).vocabulary
    calls = [
        lambda tok: tok.encode(text + "<|end|>", allowed_special="all"),
        lambda tok: tok.encode_ordinary_batch([text, text[:50], text * 3], num_threads=2),
        lambda tok: tok.encode_to_numpy(text).tolist(),
        lambda tok: tok.count_tokens(text * 5),
        lambda tok: tok.decode(tok.encode_ordinary(text)),
        lambda tok: tok.decode_batch([[1, 2, 300], [65]]),
        lambda tok: tok.encode_with_offsets(text).characters.tolist(),
        lambda tok: tok.truncate(text, 7),
    ]
    expected = [call(Tokenizer(vocabulary)) for call in calls]
    for _ in range(10):
        fresh, ready, found = Tokenizer(vocabulary), threading.Barrier(len(calls)), [None] * len(calls)

        def work(i, fresh=fresh, ready=ready, found=found):
            ready.wait()
            for _ in range(3):
                found[i] = calls[i](fresh)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(len(calls))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Python 3.12 warns of fork beside threads: that is the test
def test_fork_while_others_encode(text):
    tok = tokenmill.train_from_iterator([text], vocab_size=400)
    long = text * 300
    expected = tok.encode(long)
    stop = threading.Event()

    def busy(seed):
        rng = random.Random(seed)
        while not stop.is_set():
            tok.encode(novel(rng, 20_000) + long)

    threads = [threading.Thread(target=busy, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(12):
            child = os.fork()
            if child == 0:
                signal.alarm(60)
                fine = tok.encode(long) == expected and tok.encode_batch([long] * 3, num_threads=2) == [expected] * 3
                os._exit(0 if fine else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()


IMPORTING = """
import os, signal, sys, threading, time
import tokenmill

tok = tokenmill.load(sys.argv[1])
tok.encode("lower")
threading.Thread(target=tok.encode_with_offsets, args=("lower",)).start()
time.sleep(float(sys.argv[2]))
child = os.fork()
if child == 0:
    signal.alarm(60)
    tok.encode_with_offsets("lower")
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("delay", ["0.002", "0.01", "0.05"])
def test_fork_while_another_thread_imports(text, tmp_path, delay):
    """A method imports NumPy in its first call. The child would wait for that import, which no thread ends there."""
    tokenmill.train_from_iterator([text], vocab_size=400).save(tmp_path / "tok")
    subprocess.run([sys.executable, "-W", "ignore", "-c", IMPORTING, str(tmp_path / "tok"), delay], check=True)


def test_the_cache_is_bounded_over_novel_text():
    """Ever new pretokens, short and long: what the caches hold stays below the bound, and ids stay right."""
    tok = Tokenizer(Vocabulary((*BYTES, b"th", b"he", b"the"), ("gpt2",)), cache_bytes=2 << 20)
    rng = random.Random(2)
    held = []
    for turn in range(60):
        batch = novel(rng, 100_000)
        assert tok.decode(tok.encode(batch)) == batch
        held.append(held_by(tok._core.kernel))
        if turn % 10 == 0:
            assert tok.encode("the other") == [258, 32, 111, 258, 114]
    assert max(held) <= 2 << 20
    assert max(held[30:]) <= max(held[:30])  # flat


def test_the_bound_is_shared_by_the_threads():
    tok = Tokenizer(Vocabulary(BYTES, ("gpt2",)), cache_bytes=4 << 20)
    rng = random.Random(3)
    texts = [novel(rng, 50_000) for _ in range(64)]
    for threads in (1, 4, 8):
        tok.encode_batch(texts, num_threads=threads)
        tok.encode_batch(texts[:8], num_threads=threads)
    kernel = tok._core.kernel
    assert held_by(kernel) <= (4 << 20) + 8 * (1 << 19)  # each may keep what it held before it shared, once


def test_a_thread_holds_what_it_met_and_not_the_vocabulary():
    """Each thread's table began with all tokens, in 16 MB for cl100k_base."""
    words = tuple({word.encode() for word in novel(random.Random(7), 1 << 20).split()})
    tok = Tokenizer(Vocabulary((*BYTES, *words), ("whitespace",)))
    rng = random.Random(8)
    texts = [b" ".join(rng.choices(words[:5000], k=2000)).decode() for _ in range(32)]
    expected = [tok.encode(text) for text in texts]
    for threads in (2, 8):
        assert tok.encode_batch(texts, num_threads=threads) == expected
    first, *others = sorted((held for held, _, _ in tok._core.kernel.statistics()), reverse=True)
    assert first >= 8 << 20
    assert max(others, default=0) <= 2 << 20


@pytest.mark.parametrize("cache_bytes", [0, 1, 3])
def test_no_bytes_for_the_cache_mean_no_cache(cache_bytes):
    """Also where each thread's share comes to 0; it used to mean no limit."""
    tok = Tokenizer(Vocabulary((*BYTES, b"th", b"the"), ("gpt2",)), cache_bytes=cache_bytes)
    rng = random.Random(5)
    assert tok.encode("the the") == [257, 32, 257]
    tok.encode_batch([novel(rng, 50_000) for _ in range(40)], num_threads=8)
    kernel = tok._core.kernel
    held = held_by(kernel)
    for _ in range(20):
        batch = [novel(rng, 50_000) for _ in range(8)]
        assert [tok.decode(ids) for ids in tok.encode_batch(batch, num_threads=8)] == batch
    assert held_by(kernel) <= max(held, 8 << 20)
    if cache_bytes == 0:
        assert {pretokens for _, pretokens, _ in kernel.statistics()} <= {0, 258}  # only the tokens
    with pytest.raises(UsageError, match="cache_bytes is -1"):
        Tokenizer(tok.vocabulary, cache_bytes=-1)


def test_a_small_cache_is_not_cleared_for_every_long_pretoken():
    tok = Tokenizer(Vocabulary(BYTES, ("whitespace",)), cache_bytes=1000)
    text = " ".join("x" * n for n in range(20, 400))
    assert tok.decode(tok.encode(text)) == text and cached_by(tok._core.kernel) >= 256


# Pretokens of 15 bytes whose hash is 0 for a seed of 0, and of any length whose hash is the same: what one can prepare
# who knows the hash but not the seed.
ZERO = (0x2D358DCCAA6C78A5).to_bytes(8, "little")


def test_crafted_pretokens_do_not_collide():
    """240 kB of them took 36 times as long to encode as random text, when the hash had no seed."""
    rng = random.Random(9)
    crafted = [ZERO + rng.randbytes(7) for _ in range(20_000)]
    chance = [rng.randbytes(15) for _ in range(20_000)]
    lengths = []
    for pretokens in (crafted, chance):
        tok = Tokenizer(Vocabulary(BYTES, ()))
        for pretoken in pretokens:
            assert tok._core.encode_pretoken(pretoken) == [*pretoken]
        lengths.append(probes_of(tok._core.kernel))
    assert lengths[0] <= 3 * max(lengths[1], 0.3)


def test_counted_pretokens_are_spread_over_the_cache():
    """Word counts are in the order of their hash. Their first quarter must not fill one part of the table."""
    rng = random.Random(4)
    words = {rng.randbytes(6).hex() for _ in range(200_000)}
    counts = tokenmill.counting.count_iterator([" ".join(words)], split="whitespace")
    tok = Tokenizer(Vocabulary(BYTES, ("whitespace",)))
    pretokens = [counts.arena[a:b].tobytes() for a, b in zip(counts.offsets[:-1], counts.offsets[1:], strict=True)]
    assert probes_of(tok._core.kernel) == 0
    for pretoken in pretokens[: len(pretokens) // 4]:
        tok._core.kernel.encode_pretoken(pretoken)
    assert 0 < probes_of(tok._core.kernel) < 2
    assert tok.count_tokens_in(counts) == 12 * len(words) + (len(words) - 1)


def test_ctrl_c_is_heard(text):
    """Also inside of one endless pretoken, and the tokenizer goes on working.

    The kernel raises the exception. A kernel that does not listen returns first, and then Python raises it.
    """
    tok = Tokenizer(Vocabulary((*BYTES, b"aa", b"aaaa"), ()))
    huge = "ab" * 30_000_000
    killer = threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGINT))
    killer.start()
    with pytest.raises(KeyboardInterrupt) as caught:
        for _ in range(1000):
            tok.encode(huge)
    assert str(caught.traceback[-1].path).endswith("_cy.py")
    killer.join()
    assert tok.encode("aaa") == [256, 97]


def test_ids_outlive_the_tokenizer():
    tok = Tokenizer(Vocabulary(BYTES, ()))
    arrays = [tok.encode_to_numpy("abc" * n) for n in (1, 3000, 2_000_000)]
    del tok
    for array in arrays:
        assert array[:6].tolist() == [97, 98, 99, 97, 98, 99][: len(array)] and array[-1] == 99


def test_arrays_never_share_memory():
    tok = Tokenizer(Vocabulary(BYTES, ()))
    first = tok.encode_to_numpy("ab" * 3_000_000)
    second = tok.encode_to_numpy("cd" * 3_000_000)
    assert first[0] == 97 and second[0] == 99
    del first
    third = tok.encode_to_numpy("ef" * 3_000_000)
    assert second[-1] == 100 and third[0] == 101


def test_batches_leave_the_garbage_collector_as_it_was(text):
    tok = tokenmill.train_from_iterator([text], vocab_size=400)
    for turn in (gc.enable, gc.disable):
        turn()
        try:
            was = gc.isenabled()
            assert tok.encode_batch([text] * 2000) == [tok.encode(text)] * 2000
            assert gc.isenabled() is was
        finally:
            gc.enable()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_process_forked_during_a_batch_collects_garbage(text):
    tok = tokenmill.train_from_iterator([text], vocab_size=400)
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            tok.encode_batch([text] * 3000)

    threads = [threading.Thread(target=busy) for _ in range(2)]
    for thread in threads:
        thread.start()
    rested = 0
    try:
        while rested < 5:
            rested += not gc.isenabled()
            child = os.fork()
            if child == 0:
                os._exit(0 if gc.isenabled() else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert gc.isenabled()


def test_a_cache_that_doubles_keeps_what_it_has():
    """Pretokens of one to many ids, short and long, looked up again after each doubling."""
    tok = Tokenizer(Vocabulary((*BYTES, b"th", b"he", b"the"), ("whitespace",)))
    rng = random.Random(5)
    words = [f"{rng.choice(('', 'the', 'he'))}{rng.randrange(10 ** rng.randint(1, 20))}" for _ in range(40_000)]
    expected = [[*tok._core.kernel.encode_pretoken(word.encode())] for word in words]
    for word, ids in zip(words, expected, strict=True):
        assert b"".join(tok.decode_tokens_bytes(ids)) == word.encode()
        assert ids == tok._core.kernel.encode_pretoken(word.encode())


def test_no_leak_of_references(text):
    tok = tokenmill.train_from_iterator([text], vocab_size=400)
    ids = tok.encode(text)
    before = sys.getrefcount(ids[0])
    for _ in range(1000):
        tok.encode(text)
        tok.decode(ids)
    assert sys.getrefcount(ids[0]) <= before + 10
