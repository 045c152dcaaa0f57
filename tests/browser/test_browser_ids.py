"""The ids of the page's encoder, in a real browser, are the library's."""

import os
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playground_examples import EDGE_CASES as HERE
from playground_examples import TEXT
from playground_page import units

from tokenmill.errors import UsageError
from tokenmill.quality.checking import EDGE_CASES, fuzzed_texts
from tokenmill.tokenizer import Tokenizer

SWEEP = int(os.environ.get("TOKENMILL_SWEEP", "1"))

ENCODE = """async ([tokenizer, special, texts]) => {
  const all = [];
  for (const units of texts) {
    try {
      all.push(await tokenmill.encode(String.fromCharCode(...units), {tokenizer, special}));
    } catch (error) {
      all.push(error.message);
    }
  }
  return all;
}"""


def library(tok, text, special):
    try:
        return tok.encode(text, allowed_special="all") if special else tok.encode_ordinary(text)
    except UsageError:
        return "refused"


def assert_same(page, name, tok, texts, special=False):
    found = page.evaluate(ENCODE, [name, special, [units(text) for text in texts]])
    for text, ids in zip(texts, found, strict=True):
        expected = library(tok, text, special)
        if expected == "refused":
            assert isinstance(ids, str) and "no token for" in ids, (name, text, ids)
        else:
            assert ids == expected, (name, special, text)


@pytest.fixture(scope="module")
def site_page(chromium, site):
    page = chromium.new_page()
    page.goto(site)
    page.wait_for_selector("#tokens .t")
    yield page
    page.close()


@pytest.fixture(scope="module")
def tokenizers(small_tokenizers):
    return [(name, Tokenizer(vocabulary)) for name, vocabulary in small_tokenizers]


@pytest.mark.parametrize("special", [False, True])
def test_tricky_texts_get_the_librarys_ids(site_page, tokenizers, special):
    texts = [*EDGE_CASES, *HERE, TEXT]
    if special:  # texts without an added token are encoded in the same way
        texts = [text for text in texts if any(token in text for token in ("<", "new", "É", "  "))]
    for name, tok in tokenizers:
        assert_same(site_page, name, tok, texts, special)


def slices(text, count, longest, seed):
    """Random stretches, joined now and then, so that words meet in new ways."""
    dice = random.Random(seed)
    for _ in range(count):
        start = dice.randrange(len(text))
        yield text[start : start + dice.randrange(1, longest)] + dice.choice(
            ["", " ", "\n", "  ", "'s", "<|endoftext|>"]
        )


def test_slices_get_the_librarys_ids(site_page, tokenizers):
    for seed, (name, tok) in enumerate(tokenizers):
        assert_same(site_page, name, tok, list(slices(TEXT, 30 * SWEEP, 120, seed)), special=seed % 2 == 0)


ALPHABETS = st.one_of(
    st.text(max_size=40),
    st.text(alphabet=st.characters(exclude_categories=()), max_size=12),
    st.text(alphabet="aelo wrnst'\n\t 19.<|>É日é\u0301\u00a0👍", max_size=80),
    st.lists(
        st.sampled_from(["low", " lower", "new", "<|endoftext|>", "<mask>", " ", "\n", "'s", "12", "É", "日", "👍🏽"])
    ).map("".join),
)


@settings(max_examples=20 * SWEEP, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 14), st.booleans(), st.lists(ALPHABETS, min_size=25, max_size=25))
def test_any_text_gets_the_librarys_ids(site_page, tokenizers, which, special, texts):
    name, tok = tokenizers[which]
    assert_same(site_page, name, tok, texts, special)


def edits(text, count, dice):
    """Texts that each differ from the one before by one edit, as typing, pasting and deleting make them."""
    for _ in range(count):
        at = dice.randrange(len(text) + 1)
        cut = dice.choice([0, 0, 1, 1, 2, 9, 60])
        new = dice.choice(["", "a", " ", "\n", "'", "9", "é", "👍🏽", "new", "<|endoftext|>", "  \n\t ", text[:40]])
        text = text[:at] + new + text[at + cut :]
        yield text


def test_edits_of_a_text_get_the_librarys_ids(site_page, tokenizers):
    """After an edit the encoder keeps what it may of the text before."""
    for seed, (name, tok) in enumerate(tokenizers):
        dice = random.Random(seed)
        start = dice.randrange(len(TEXT) - 400)
        texts = list(edits(TEXT[start : start + 400], 40 * SWEEP, dice))
        assert_same(site_page, name, tok, texts, special=seed % 3 == 0)
        assert_same(site_page, name, tok, list(edits("  " * 30 + "\n" * 9 + "aaaa", 20 * SWEEP, dice)))


@pytest.fixture(scope="module")
def published(chromium, shared, corpus_bytes, tmp_path_factory, serve):
    """Published vocabularies, and a plain and a Picky one that are trained here, as a static site."""
    from tokenmill import formats, train_from_iterator
    from tokenmill.playground.export import export

    names = [
        "cl100k_base.tiktoken",
        "gpt2-tokenizer.json.zst",
        "gpt-neox-20b-tokenizer.json.zst",
        "llama2-tokenizer.json.zst",
        "mistral-v3-sentencepiece.model.zst",
    ]
    found = [(name, formats.read(shared / "vocab" / name)) for name in names]
    text = corpus_bytes("multi", 1_000_000).decode("utf-8", "replace")
    trainings = {"plain": {}, "picky": {"refine": 0.8}, "boundless": {"superwords": "boundless"}}
    for name, options in trainings.items():
        trained = train_from_iterator([text], 4000, special_tokens=["<|endoftext|>"], **options)
        found.append((name, trained.vocabulary))
    assert found[-2][1].removed and len(found[-1][1].superwords) > 100
    folder = tmp_path_factory.mktemp("published") / "site"
    export(found, folder)
    address = serve(folder)
    page = chromium.new_page()
    page.goto(address)
    page.wait_for_selector("#tokens .t")
    yield page, [(name, Tokenizer(vocabulary)) for name, vocabulary in found]
    page.close()


@pytest.mark.parametrize("corpus", ["en", "multi", "code"])
def test_published_vocabularies_on_real_text(published, corpus_bytes, corpus):
    page, found = published
    text = corpus_bytes(corpus, 2_000_000).decode("utf-8", "replace")
    for seed, (name, tok) in enumerate(found):
        assert_same(page, name, tok, list(slices(text, 40 * SWEEP, 400, seed)), special=seed in (2, 4))


def test_published_vocabularies_on_tricky_texts(published):
    page, found = published
    for name, tok in found:
        fuzzed = list(fuzzed_texts([tok.vocabulary], 100 * SWEEP, seed=7))
        assert_same(page, name, tok, [*EDGE_CASES, *HERE, *fuzzed])
        assert_same(page, name, tok, [*EDGE_CASES, *HERE], special=True)
