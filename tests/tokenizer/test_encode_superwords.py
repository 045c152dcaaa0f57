"""Encoding with tokens that span words: in two stages, against the definition and against tokenizers."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tokenmill
from naive_encoder import NaiveEncoder
from tokenmill.tokenizer.encoding.superword_caches import superword_cache
from tokenmill.vocabulary import Vocabulary

TEXT = "of the cat, in the house: it is the end of the day\nin the end it is 1984 !! of the  of\n"


def trained(text: str = TEXT, sizes=(290, 330), **options) -> tokenmill.Tokenizer:
    return tokenmill.train_from_iterator([text * 3], sizes[1], superwords="superbpe", stage1_size=sizes[0], **options)


@pytest.fixture(scope="module")
def tok():
    tok = trained()
    assert superword_cache(tok.vocabulary) is not None
    assert any(token.count(b" ") > 2 for token in tok.vocabulary.tokens)
    return tok


def by_definition(tok: tokenmill.Tokenizer, text: str) -> list[int]:
    return NaiveEncoder(tok.vocabulary, tokenmill.Splitter(*tok.vocabulary.split_patterns).ends).encode(text.encode())


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from([*TEXT.split(" "), " ", "  ", "\n", "é", "日本", "x", "!!", "of the", "q:"]), max_size=40),
    st.booleans(),
)
def test_ids_are_those_of_the_definition(tok, words, spaced):
    text = (" " if spaced else "").join(words)
    ids = tok.encode(text)
    assert ids == by_definition(tok, text)
    assert tok.decode(ids) == text
    assert tok.count_tokens(text) == len(ids)


def test_random_vocabularies():
    rng = random.Random(5)
    for _ in range(15):
        words = ["".join(rng.choices("abc", k=rng.choice([1, 1, 2, 3]))) for _ in range(6)]
        text = "".join(rng.choice(words) + rng.choice([" ", " ", " ", ", ", "\n", "1"]) for _ in range(200))
        first = 256 + rng.choice([3, 10, 30])
        tok = trained(text, (first, first + rng.choice([1, 10, 40])), max_words=rng.choice([0, 2, 4]))
        for _ in range(8):
            other = "".join(
                rng.choice(words) + rng.choice([" ", " ", "", ","]) for _ in range(rng.choice([1, 5, 40, 100]))
            )
            assert tok.encode(other) == by_definition(tok, other)


def test_one_fragment_of_many_ids(tok):
    """More than a scan merges, and more than are kept between calls."""
    for text in (" of the" * 100, " the end of" * 60, "of" * 200 + " the" * 150):
        assert tok.encode(text) == by_definition(tok, text)
    assert tok.encode(" of the" * 400_000) == tok.encode(" of the" * 4) * 100_000


def test_threads_and_small_caches_change_no_id(tok):
    texts = [TEXT * n for n in range(1, 60)]
    expected = [tok.encode(text) for text in texts]
    for cache_bytes in (0, 1, 1 << 16, 1 << 20):
        other = tokenmill.Tokenizer(tok.vocabulary, cache_bytes=cache_bytes)
        assert other.encode_batch(texts, num_threads=3) == expected


def test_a_vocabulary_of_many_ids_in_stage_1():
    """With ids of three bytes."""
    tok = trained()
    vocabulary, more = tok.vocabulary, 1 << 16
    moved = vocabulary.replace(
        tokens=(*vocabulary.tokens[:256], *[None] * more, *vocabulary.tokens[256:]),
        events=vocabulary.events + more * (vocabulary.events > 255),
    )
    ids = tokenmill.Tokenizer(moved).encode(TEXT)
    assert ids == [id + more * (id > 255) for id in tok.encode(TEXT)]


def test_a_pretoken_that_is_a_token_without_a_merge():
    """Under Hugging Face's ignore_merges such a token is found whole, so the fast way is not taken."""
    vocabulary = trained().vocabulary
    odd = vocabulary.replace(tokens=(*vocabulary.tokens, b"house of"), whole_pretokens=True)
    assert tokenmill.Tokenizer(odd).encode("house of") == [len(vocabulary.tokens)]


def test_plain_vocabularies_are_not_taken_for_superwords():
    tok = tokenmill.train_from_iterator([TEXT], 300)
    assert superword_cache(tok.vocabulary) is None
    whole = tokenmill.train_from_iterator([TEXT], 300, split=r"[^\n]+")  # words and what spans them at once
    assert whole.encode(TEXT) == by_definition(whole, TEXT)


def test_merges_of_tokens_that_later_merges_make():
    """Such a vocabulary was not trained in two stages. Once, a fragment of it was cut where a superword spans."""
    rows = [(168, 32, 257), (228, 184, 258), (258, 257, 259), (257, 260, 262), (168, 195, 256), (260, 258, 261), (195, 169, 260), (260, 261, 263)]  # fmt: skip
    made = ["a8c3", "a820", "e4b8", "e4b8a820", "c3a9", "c3a9e4b8", "a820c3a9", "c3a9c3a9e4b8"]
    tokens = [*(bytes([i]) for i in range(256)), *map(bytes.fromhex, made)]
    tok = tokenmill.Tokenizer(Vocabulary(tuple(tokens), (), "merges", rows, whole_pretokens=False))
    assert tok.encode("éé丨") == by_definition(tok, "éé丨") == [263, 168]


def test_truncation_offsets_and_streams(tok):
    ids = tok.encode(TEXT)
    assert tok.encode_with_offsets(TEXT).ids == ids
    stream = tok.stream_decoder()
    assert "".join([*map(stream.feed, ids), stream.finish()]) == TEXT
    for n in range(len(ids)):
        short = tok.truncate(TEXT, n)
        assert TEXT.startswith(short)
        assert len(tok.encode(short)) <= n


@pytest.mark.parametrize("library", ["tokenizers", "transformers"])
def test_other_libraries_load_it_with_the_same_ids(library, tok, tmp_path):
    tok.save(tmp_path / "tok")
    if library == "tokenizers":
        loaded = pytest.importorskip("tokenizers").Tokenizer.from_file(str(tmp_path / "tok" / "tokenizer.json"))
        ids = loaded.encode(TEXT).ids
    else:
        ids = pytest.importorskip("transformers").AutoTokenizer.from_pretrained(tmp_path / "tok").encode(TEXT)
    assert ids == tok.encode(TEXT)
    assert tokenmill.load(tmp_path / "tok").vocabulary.fingerprint() == tok.vocabulary.fingerprint()


@pytest.mark.parametrize("name", ["en", "multi", "code"])
def test_ids_on_real_text(name, corpus_bytes):
    tokenizers = pytest.importorskip("tokenizers")
    text = corpus_bytes(name, 400_000).decode(errors="ignore")
    tok = tokenmill.train_from_iterator([text], 3000, superwords="superbpe", stage1_size=2000)
    other = tokenizers.Tokenizer.from_str(tokenmill.formats.huggingface.tokenizer_json(tok.vocabulary)[0].decode())
    assert tok.encode(text) == other.encode(text).ids


def test_many_documents_at_once(tok, tmp_path):
    """Where each document ends among the ids, for token files."""
    lines = [TEXT.replace("\n", " ")[:n] for n in range(1, 80)] * 20
    (tmp_path / "text.txt").write_text("\n".join(lines))
    options = tokenmill.EncodeOptions(read=tokenmill.ReadOptions(unit="line"), end_of_text=False)
    tokenmill.encode_files(tok, tmp_path / "text.txt", tmp_path / "ids.npy", format="npy", options=options)
    tokens = tokenmill.load_tokens(tmp_path / "ids.npy")
    assert list(tokens.ids) == [id for line in lines for id in tok.encode(line)]
