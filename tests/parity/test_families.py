"""Ids and text of published tokenizers equal to those of their own engines, and of small ones of each kind."""

import io
import itertools
import json
import random

import pytest
from family_examples import (
    NASTY,
    SWEEP,
    code_point_differences,
    content_of,
    corpus_slices,
    differences,
    engine_of,
    llama_cpp_cases,
    random_texts,
    texts_for,
)

import tokenmill
from tokenmill.errors import ConversionError
from tokenmill.tokenizer import special

CORPUS = [
    "the low lower lowest, the newest and the widest  row",
    "Hello the World, how are you?\n\tthen 123 4567",
    "été àé  naïve 漢字かな",
] * 9
HUGGING_FACE = (
    "claude1", "command-r-plus", "deepseek-v3", "gemma2", "gpt-neox-20b", "gpt2", "llama2", "llama3.1", "mistral-v3", "phi3",
    "qwen3", "whisper-tiny", "yi",
)  # fmt: skip
OTHERS = ("llama2-sentencepiece.model", "mistral-v3-sentencepiece.model", "tekken-small.json")
GGUF = ("gemma-4", "gpt-2", "llama-bpe", "llama-spm", "qwen2", "starcoder")


@pytest.fixture(scope="module")
def slices(shared):
    return list(corpus_slices(shared / "corpus"))


def agree(path, texts=None):
    tok, engine = tokenmill.load(path), engine_of(path, content_of(path))
    wrong = differences(tok, engine, list(texts_for(tok, texts or CORPUS[:3])))
    assert not wrong, "\n".join(wrong[:5])
    return tok


@pytest.mark.parametrize("name", [*(f"{name}-tokenizer.json" for name in HUGGING_FACE), *OTHERS])
def test_published_files_give_the_ids_of_their_engine(shared, slices, name):
    agree(shared / "vocab" / f"{name}.zst", slices)


@pytest.mark.skipif(not SWEEP, reason="TOKENMILL_SWEEP is not set")
@pytest.mark.parametrize("name", [*(f"{name}-tokenizer.json" for name in HUGGING_FACE), *OTHERS])
def test_every_code_point_in_three_contexts(shared, name):
    path = shared / "vocab" / f"{name}.zst"
    wrong = code_point_differences(tokenmill.load(path), engine_of(path, content_of(path)))
    assert not wrong, "\n".join(wrong[:5])


@pytest.mark.parametrize("name", GGUF)
def test_cases_of_llama_cpp(shared, name):
    path = shared / "vocab" / f"{name}.gguf.zst"
    tok = tokenmill.load(path)
    cases = llama_cpp_cases(path)
    assert len(cases) > 40
    assert [tok.encode(text, allowed_special="all") for text, _ in cases] == [ids for _, ids in cases]


# Small files of the SentencePiece kind


@pytest.fixture(scope="module")
def document():
    """document(**sections): a tokenizer.json as Llama 2's, trained on three sentences, with byte fallback."""
    tokenizers = pytest.importorskip("tokenizers")
    trained = tokenizers.SentencePieceBPETokenizer(add_prefix_space=True)
    trained.train_from_iterator(
        CORPUS, vocab_size=160, min_frequency=2, show_progress=False, special_tokens=["<unk>", "<s>"]
    )
    whole = json.loads(trained.to_str())
    vocab = whole["model"]["vocab"]
    vocab |= {f"<0x{byte:02X}>": len(vocab) + byte for byte in range(256)}
    whole["model"] |= {"unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True}

    def build(**sections):
        sections = dict(sections)
        model = whole["model"] | sections.pop("model", {})
        if not model["byte_fallback"]:
            model |= {"vocab": {text: id for text, id in model["vocab"].items() if not text.startswith("<0x")}}
        return whole | {"decoder": LLAMA_DECODER, "model": model} | sections

    return build


METASPACE = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}
PREPEND = {"type": "Prepend", "prepend": "\u2581"}
LLAMA_DECODER = {
    "type": "Sequence",
    "decoders": [
        {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0},
    ],
}  # fmt: skip


def steps(*normalizers):
    return {"normalizer": {"type": "Sequence", "normalizers": list(normalizers)}, "pre_tokenizer": None}


def metaspace(scheme, split):
    return {"normalizer": None, "pre_tokenizer": METASPACE | {"prepend_scheme": scheme, "split": split}}


def added(*tokens):
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    return {"added_tokens": [flags | {"id": id, "content": text} | more for id, text, more in tokens]}


SECTIONS = {
    "llama 2": steps(PREPEND, REPLACE),
    "gemma": steps(REPLACE)
    | {
        "pre_tokenizer": {
            "type": "Split",
            "pattern": {"String": " "},
            "behavior": "MergedWithPrevious",
            "invert": False,
        }
    },
    "strip and lower case": steps(
        {"type": "Strip", "strip_left": True, "strip_right": True}, {"type": "Lowercase"}, REPLACE
    ),
    "accents": steps({"type": "NFKD"}, {"type": "StripAccents"}, PREPEND, REPLACE),
    "a regular expression": steps(
        {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}, {"type": "Nmt"}, PREPEND, REPLACE
    ),
    "metaspace always": metaspace("always", False),
    "metaspace always, split": metaspace("always", True),
    "metaspace first": metaspace("first", False),
    "metaspace first, split": metaspace("first", True),
    "metaspace never": metaspace("never", False),
    "digits": steps(PREPEND, REPLACE) | {"pre_tokenizer": {"type": "Digits", "individual_digits": True}},
    "split at the mark": steps(PREPEND, REPLACE)
    | {
        "pre_tokenizer": {
            "type": "Split",
            "pattern": {"String": "\u2581"},
            "behavior": "MergedWithNext",
            "invert": False,
        }
    },
    "split behind the mark": steps(PREPEND, REPLACE)
    | {
        "pre_tokenizer": {
            "type": "Split",
            "pattern": {"String": "\u2581"},
            "behavior": "MergedWithPrevious",
            "invert": False,
        }
    },
    "fixed length": steps(PREPEND, REPLACE) | {"pre_tokenizer": {"type": "FixedLength", "length": 4}},
    "no byte fallback": steps(PREPEND, REPLACE) | {"model": {"byte_fallback": False}},
    "unknown tokens are not fused": steps(PREPEND, REPLACE) | {"model": {"byte_fallback": False, "fuse_unk": False}},
    "whole pretokens": metaspace("always", True) | {"model": {"ignore_merges": True}},
    "metaspace decoder": metaspace("always", True) | {"model": {"byte_fallback": False}, "decoder": METASPACE},
    "metaspace decoder that strips nothing": metaspace("never", False)
    | {"model": {"byte_fallback": False}, "decoder": METASPACE | {"prepend_scheme": "never"}},
}


def test_a_space_in_bytes_that_are_no_text_is_not_left_out(document, tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(document(**SECTIONS["llama 2"])))
    tok, theirs = tokenmill.load(path), pytest.importorskip("tokenizers").Tokenizer.from_file(str(path))
    for bytes in (b" \x01\xc1", b" \xc1", b" a", b"  a", b" ", b" \xe2\x96"):
        ids = [tok.token_to_id(f"<0x{byte:02X}>") for byte in bytes]
        stream = tok.stream_decoder()
        assert tok.decode(ids) == "".join(map(stream.feed, ids)) + stream.finish() == theirs.decode(ids), bytes


@pytest.mark.parametrize("name", SECTIONS)
def test_small_files_of_the_sentencepiece_kind(document, tmp_path, name):
    raw = document(**SECTIONS[name])
    vocab = raw["model"]["vocab"]
    more = {
        "<unk>": {"special": True}, "<s>": {"special": True}, "\u2581\u2581": {}, "<x>": {"normalized": True}, "[a]": {"rstrip": True},
        "[b]": {"lstrip": True, "normalized": raw["normalizer"] is not None}, "low": {},
        "word": {"single_word": not raw["model"].get("ignore_merges")},
    }  # fmt: skip
    fresh = itertools.count(len(vocab))
    raw |= added(*((vocab[text] if text in vocab else next(fresh), text, flags) for text, flags in more.items()))
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(raw))
    tok = agree(path)
    # A regular expression has Nmt, and of whole pretokens one may spell the token of a byte.
    assert (tok.vocabulary.library is None) == (name not in ("a regular expression", "whole pretokens"))
    if name in ("digits", "fixed length", "split at the mark", "split behind the mark"):
        with pytest.raises(ConversionError):
            tok.save(tmp_path / "saved")
        return
    tok.save(tmp_path / "saved")
    again = agree(tmp_path / "saved" / "tokenizer.json")
    assert tokenmill.load(tmp_path / "saved").vocabulary.fingerprint() == tok.vocabulary.fingerprint()
    assert again.vocabulary.byte_tokens == tok.vocabulary.byte_tokens


def test_tokens_that_cross_a_space_are_merged_as_their_engine_does(document, tmp_path):
    """As in Gemma 3: a cut before a space is wrong where a token has that space inside."""
    raw = document(**steps(PREPEND, REPLACE))
    vocab = raw["model"]["vocab"] | {",\u2581": 900, "e\u2581": 901}
    merges = [[",", "\u2581"], *raw["model"]["merges"], ["e", "\u2581"]]
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(document(**steps(PREPEND, REPLACE), model={"vocab": vocab, "merges": merges})))
    tok = agree(path, ["the low, the lowe the,  the", "e t e  t", ", , ,"])
    assert 900 in tok.encode("a, b")


@pytest.mark.parametrize("text", ["漢" * 50_000, "a" * 100_000, " " * 100_000, "the " * 25_000, "\x00\x01" * 30_000])
def test_long_texts_are_encoded_and_cut_alike(document, tmp_path, text):
    (tmp_path / "tokenizer.json").write_text(json.dumps(document(**steps(PREPEND, REPLACE))))
    tok = tokenmill.load(tmp_path / "tokenizer.json")
    ids = tok.encode(text)
    assert tok.decode(ids) == text
    assert tok.count_tokens(text) == len(ids)
    assert tok.encode_batch([text, "the"]) == [ids, tok.encode("the")]


@pytest.mark.parametrize("name", SECTIONS)
def test_bytes_are_encoded_like_str(document, tmp_path, name):
    (tmp_path / "tokenizer.json").write_text(json.dumps(document(**SECTIONS[name])))
    tok = tokenmill.load(tmp_path / "tokenizer.json")
    for data in (
        b"",
        b" ",
        b"the low",
        b" the low",
        "\u2581low the".encode(),
        b"low \xff\xfe the",
        "漢 low".encode()[1:],
    ):
        if tok._core.scanner and "\ufffd" in data.decode("utf-8", "replace"):
            continue  # the kernel takes bytes as they are
        ids = tok.encode_to_numpy(data, disallowed_special=()).tolist()
        assert ids == tok.encode_ordinary(data.decode("utf-8", "replace"))


def test_offsets_truncation_and_streams_leave_the_prefix_out(document, tmp_path):
    (tmp_path / "tokenizer.json").write_text(json.dumps(document(**steps(PREPEND, REPLACE))))
    tok = tokenmill.load(tmp_path / "tokenizer.json")
    text = "the lowest 漢😀 row"
    offsets = tok.encode_with_offsets(text)
    assert offsets.text == text and offsets.ids == tok.encode(text)
    assert offsets.bytes[0].tolist()[0] == 0 and offsets.bytes[-1].tolist()[1] == len(text.encode())
    for most in range(12):
        part = tok.truncate(text, most)
        assert text.startswith(part) and tok.count_tokens(part) <= most
    assert "".join(tok.chunks(text, 5)) == text
    stream = tok.stream_decoder()
    assert "".join(map(stream.feed, tok.encode(text))) + stream.finish() == text


# SentencePiece models


MODELS = {
    "llama 2": {"byte_fallback": True, "normalization_rule_name": "identity", "remove_extra_whitespaces": False},
    "user symbols": {"byte_fallback": True, "user_defined_symbols": ["<sep>", "the", "  "], "normalization_rule_name": "identity",
                     "remove_extra_whitespaces": False},
    "nmt_nfkc": {"byte_fallback": True},
    "no byte fallback": {"normalization_rule_name": "nfkc", "unk_surface": " [?]"},
    "unigram": {"model_type": "unigram", "byte_fallback": True, "normalization_rule_name": "identity"},
    "unigram, user symbols": {"model_type": "unigram", "user_defined_symbols": ["<sep>", "the"], "normalization_rule_name": "identity"},
    "user symbols, nmt_nfkc": {"byte_fallback": True, "user_defined_symbols": ["<sep>", "\ufb01", "½ the"]},
    "unigram, user symbols, nmt_nfkc": {"model_type": "unigram", "user_defined_symbols": ["<sep>", "\ufb01", "½a", ","]},
    "unigram, one text": {"model_type": "unigram", "split_by_whitespace": False, "max_sentencepiece_length": 8, "remove_extra_whitespaces": False},
    "no prefix": {"byte_fallback": True, "add_dummy_prefix": False, "normalization_rule_name": "identity"},
    "nmt_nfkc, spaces kept": {"byte_fallback": True, "remove_extra_whitespaces": False},
    "nfkc_cf, no prefix": {"normalization_rule_name": "nfkc_cf", "add_dummy_prefix": False},
}  # fmt: skip
# What the maps change alone, with the character before, or not; spaces at ends and side by side; what becomes nothing.
MAPPED = ["\u2460", "\ufb01", "e\u0301", "\u0301", "\u1100\u1161\u11a8", "\uff76\uff9e", "\u00a8", "\ufdfa", "\u2581", "  ", " ", " ", "\n",
          "\t\x01", "\u200b", "\u3000", "\u0130", "a", "abcdefgh, of 8"]  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_small_sentencepiece_models(tmp_path, name):
    sentencepiece = pytest.importorskip("sentencepiece")
    pytest.importorskip("google.protobuf")
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS), model_writer=model, character_coverage=1.0, hard_vocab_limit=False,
        vocab_size=340 if "byte_fallback" in MODELS[name] else 90, minloglevel=2, **{"model_type": "bpe"} | MODELS[name],
    )  # fmt: skip
    path = tmp_path / "sentencepiece.model"
    path.write_bytes(model.getvalue())
    engine = engine_of(path, path.read_bytes())
    tok = tokenmill.load(path)
    wrong = []
    symbols = ["<sep>", "the", *MODELS[name].get("user_defined_symbols", [])]
    dice = random.Random(4)
    mapped = ["".join(dice.choices(MAPPED, k=dice.randrange(1, 12))) for _ in range(150)]
    for text in [*CORPUS[:3], *NASTY, *random_texts(symbols, 150), *mapped]:
        if "\x00" not in text and tok.encode_ordinary(text) != (expected := engine.encode(text)):
            wrong.append((text[:50], tok.encode_ordinary(text)[:30], expected[:30]))
    assert not wrong, "\n".join(map(str, wrong[:5]))
    # Any ids decode to the library's text: control tokens to none, unknown ones to the model's surface, bytes one by one.
    dice = random.Random(5)
    for _ in range(1000):
        ids = [dice.choice((dice.randrange(3), dice.randrange(tok.n_vocab))) for _ in range(dice.randrange(1, 8))]
        stream = tok.stream_decoder()
        assert tok.decode(ids) == engine.decode(ids), ids
        assert "".join(map(stream.feed, ids)) + stream.finish() == tok.decode(ids), ids


def test_texts_are_normalized_without_python(tmp_path, monkeypatch):
    """By default a trained model has a map of 14,000 pairs and removes spaces. That took 1.5 ms for each text."""
    sentencepiece = pytest.importorskip("sentencepiece")
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS),
        model_writer=model,
        model_type="bpe",
        vocab_size=340,
        byte_fallback=True,
        minloglevel=2,
    )
    path = tmp_path / "sentencepiece.model"
    path.write_bytes(model.getvalue())
    monkeypatch.setattr(special, "_bytes_change", lambda steps: None)
    tok, engine = tokenmill.load(path), sentencepiece.SentencePieceProcessor(model_file=str(path))
    text = "  A line\t with\u3000\u2460 and \ufb01 \n\n of été text. " * 3
    assert tok.encode(text) == engine.encode(text) == tok.encode_batch([text])[0]
    assert tok.count_tokens(text) == len(engine.encode(text))


def test_equal_scores_are_resolved_as_sentencepiece_does(tmp_path):
    """Sums of single precision, which tie where exact sums do not, and the score of a symbol of the user, which is not in the file."""
    sentencepiece = pytest.importorskip("sentencepiece")
    messages = pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
    model = messages.ModelProto()
    pieces = [("<unk>", 0, 2), ("<s>", 0, 3), ("</s>", 0, 3), ("xy", -50, 4), ("éx", 7, 4), ("xyz", -0.95, 1)]
    pieces += [(text, -2.1716766357421875 * len(text), 1) for text in ("a", "aa", "aaaa")] + [
        (text, -1, 1) for text in "xyzé"
    ]
    for text, score, kind in pieces:
        model.pieces.add(piece=text, score=score, type=kind)
    model.trainer_spec.model_type, model.trainer_spec.vocab_size = 1, len(pieces)
    model.normalizer_spec.add_dummy_prefix = model.normalizer_spec.remove_extra_whitespaces = False
    path = tmp_path / "tied.model"
    path.write_bytes(model.SerializeToString())
    engine, tok = sentencepiece.SentencePieceProcessor(model_file=str(path)), tokenmill.load(path)
    for text in ["xyz", "xyzéxyz", "zxyxyz", *("a" * size for size in range(100, 200)), "axyz" * 40 + "a" * 150]:
        assert tok.encode(text) == engine.encode(text), text


def test_rank_files_known_by_their_hash(shared):
    """The ranks of Llama 3, with the special tokens that its tokenizer.json has."""
    ranks = tokenmill.load(shared / "vocab" / "llama3-tiktoken.model.zst")
    whole = tokenmill.load(shared / "vocab" / "llama3.1-tokenizer.json.zst")
    assert ranks.vocabulary.special_tokens == whole.vocabulary.special_tokens
    for text in [*CORPUS[:3], *NASTY, *random_texts(["<|eot_id|>"], 200)]:
        assert ranks.encode(text, allowed_special="all") == whole.encode(text, allowed_special="all")
