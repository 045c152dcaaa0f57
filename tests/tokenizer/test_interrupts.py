"""Ctrl-C stops the long loops inside the kernels, not only between two calls.

A signal that arrives during a call that does not check for signals is handled after the call, so the exception alone proves
nothing. These tests look at the traceback: the exception must pass through the kernel's frame.
"""

import signal
import traceback

import numpy as np
import pytest

from tokenmill import Tokenizer, Vocabulary
from tokenmill.tokenizer.core import Core
from tokenmill.tokenizer.merging._build_cy import list_merger
from tokenmill.vocabulary._packed_cy import pack_tokens

BYTES = tuple(bytes([i]) for i in range(256))

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs setitimer")


class Interrupt(Exception):
    pass


@pytest.fixture
def alarm():
    def raise_interrupt(number, frame):
        raise Interrupt

    before = signal.signal(signal.SIGALRM, raise_interrupt)
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def interrupted_in(alarm, work, size: int) -> set[str]:
    """The files of the kernels that the exception passes through. On a fast machine `work` gets a larger size. The alarm may ring
    outside of the kernel, so it is set to other times too."""
    seen: set[str] = set()
    for attempt in range(40):
        run = work(size)
        alarm(0.02 + 0.0007 * attempt)
        try:
            run()
            alarm(0)
        except Interrupt as error:
            seen |= {frame.filename.rsplit("/")[-1] for frame in traceback.extract_tb(error.__traceback__)}
            if any(name.endswith("_cy.py") for name in seen):
                break
        size *= 2 if attempt < 5 else 1
    return seen


@pytest.mark.parametrize("kind", ["list", "array"])
@pytest.mark.parametrize("token", [b"low low ", "é漢".encode(), b"\xff\xffxxxx"])
def test_decoding(alarm, kind, token):
    tok = Tokenizer(Vocabulary((*BYTES, token), ()))

    def work(size):
        ids = [256] * size if kind == "list" else np.full(size, 256, np.uint32)
        return lambda: [tok.decode(ids), tok.decode_bytes(ids)]

    assert "_decode_cy.py" in interrupted_in(alarm, work, 1 << 23)
    assert tok.decode([256]) == token.decode("utf-8", "replace")


def test_building_the_tables_of_ranks(alarm):
    def work(size):
        tokens = (*BYTES, *(b"%07d" % i for i in range(size)))
        core = Core(Vocabulary(tokens, ()), 1 << 20)
        core.splitter, core.vocabulary.packed  # noqa: B018
        return lambda: core.kernel

    assert "_build_cy.py" in interrupted_in(alarm, work, 1 << 16)


def test_building_the_tables_of_merges(alarm):
    def work(size):
        pairs = [(left, right) for left in range(256) for right in range(256)][:size]
        tokens = (*BYTES, *(bytes(pair) for pair in pairs))
        events = np.array([(left, right, 256 + i) for i, (left, right) in enumerate(pairs)], np.int32).reshape(-1)

        packed = pack_tokens(tokens)

        def build():
            for _ in range(20):
                list_merger(packed, events, [*range(256)], None, None)

        return build

    assert "_build_cy.py" in interrupted_in(alarm, work, 1 << 15)


def test_the_pairs_of_one_long_pretoken(alarm):
    """No pair merges, so all the time goes into looking them up."""
    events = np.array([(97, 98, 256)], np.int32)
    core = Core(Vocabulary((*BYTES, b"ab"), (), "merges", events, whole_pretokens=False), 1 << 20)

    def work(size):
        return lambda: core.encode_pretoken(b"xy" * size)

    assert "_encode_cy.py" in interrupted_in(alarm, work, 1 << 20)
