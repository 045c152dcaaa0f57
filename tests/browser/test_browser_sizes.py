"""The slider over the merges: the ids are those of the library with the first merges only."""

import numpy as np
import pytest
from playground_examples import TEXT
from playground_page import copied, ids, set_text

from tokenmill import Vocabulary
from tokenmill.playground.export import export
from tokenmill.split.patterns import PATTERNS
from tokenmill.tokenizer import Tokenizer

SLIDER = "value => { const s = document.getElementById('size-slider'); s.value = value; s.dispatchEvent(new Event('input')); }"


def stopped_after(vocabulary, merges):
    """Return the vocabulary as training left it after its first merges or events."""
    if vocabulary.order == "ranks":
        return vocabulary.replace(tokens=vocabulary.tokens[: 256 + merges])
    events = vocabulary.events[:merges]
    made = {*range(256), *events[:, 2].tolist()}
    return vocabulary.replace(
        tokens=tuple(token if id in made else None for id, token in enumerate(vocabulary.tokens)),
        events=events,
        event_counts=(),
        whole_pretokens=False,
    )


def test_pairs_of_one_token_count_once(open_page, serve, tmp_path):
    """A list may have several pairs for a token, as those that were made from ranks have."""
    tokens = (*(bytes([byte]) for byte in range(256)), b"bc", b"ab", b"abc", b"abcd")
    merges = [(98, 99, 256), (97, 98, 257), (97, 256, 258), (257, 99, 258), (258, 100, 259)]
    vocabulary = Vocabulary(tokens, (PATTERNS["gpt2"],), "merges", np.array(merges, np.int32), whole_pretokens=False)
    export([("pairs", vocabulary)], tmp_path / "site")
    page = open_page(serve(tmp_path / "site"))
    set_text(page, "abcd")
    page.wait_for_selector("#size-merges:text-is('all 4 merges')")
    for position, expected in ((1, [97, 256, 100]), (3, [258, 100]), (4, [259])):
        page.evaluate(SLIDER, position)
        page.wait_for_function("n => document.querySelectorAll('#tokens .t').length == n", arg=len(expected))
        assert ids(page) == expected


@pytest.mark.parametrize("name", ["ranks", "merges", "picky"])
def test_fewer_merges(open_page, local, small_tokenizers, name):
    vocabulary = dict(small_tokenizers)[name]
    page = open_page(local.address)
    set_text(page, TEXT)
    page.select_option("#tokenizer", name)
    n_merges = len(vocabulary.tokens) - 256 if vocabulary.order == "ranks" else len(vocabulary.events)
    kind = "merges and removals" if vocabulary.order == "events" else "merges"
    page.wait_for_selector(f"#size-merges:text-is('all {n_merges:,} {kind}')")
    everything = ids(page)
    sizes = [0, *(round(m * 10**p) for p in range(3) for m in (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)), n_merges]
    sizes = sorted({size for size in sizes if size <= n_merges})
    page.wait_for_function("most => document.getElementById('size-slider').max == most", arg=str(len(sizes) - 1))
    for position in (0, 9, 20, len(sizes) - 2):
        page.evaluate(SLIDER, position)
        merges = sizes[position]
        expected = Tokenizer(stopped_after(vocabulary, merges)).encode_ordinary(TEXT)
        page.wait_for_function(
            "n => document.getElementById('count-tokens').textContent.replaceAll(',', '') == n", arg=str(len(expected))
        )
        assert page.inner_text("#size-merges") == f"{merges:,} {kind}"
        assert ids(page) == expected
        assert page.inner_text("#size-tokens").startswith(f"{len(expected):,} tokens, ")
    link = copied(page, "#link")
    other = open_page(local.address, "#" + link.split("#")[1])
    other.wait_for_selector(f"#size-merges:text-is('{sizes[-2]:,} {kind}')")
    assert ids(other) == expected
    page.evaluate(SLIDER, len(sizes) - 1)
    page.wait_for_function(
        "n => document.getElementById('count-tokens').textContent.replaceAll(',', '') == n", arg=str(len(everything))
    )
    assert ids(page) == everything
