"""Ids, text and offsets of files that tokenizers and sentencepiece encode with, equal to theirs, by the methods of a Tokenizer."""

import itertools
import json
import pickle
import sys
import unicodedata
from random import Random
from unittest.mock import Mock

import pytest
from family_examples import NASTY, SWEEP, content_of, differences, engine_of, random_texts

import tokenmill
from tokenmill.errors import ConversionError, FormatError, MissingExtraError, UsageError
from tokenmill.tokenizer import batches
from tokenmill.vocabulary import Normalization, Vocabulary

tokenizers = pytest.importorskip("tokenizers")
CORPUS = [
    "The low lower lowest, the newest and the widest row: don't stop!",
    "Hello the World, how are you?\n\tthen 123 4567 abc1234",
    "été àé  naïve 漢字かな カタカナ привет мир",
] * 9
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
WHOLE = BYTE_LEVEL | {"use_regex": False}
METASPACE = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
SPLIT = {"type": "Split", "pattern": {"Regex": r"[a-z]+\s"}, "behavior": "MergedWithNext", "invert": False}
BERT = {
    "type": "BertNormalizer",
    "clean_text": True,
    "handle_chinese_chars": True,
    "strip_accents": None,
    "lowercase": True,
}
FALCON = [
    {"type": "Punctuation", "behavior": "Contiguous"},
    BYTE_LEVEL,
    {"type": "Digits", "individual_digits": False},
    {"type": "Split", "pattern": {"Regex": "[0-9][0-9][0-9]"}, "behavior": "Isolated", "invert": False},
]
WORDS = {"type": "Whitespace"}
UNACCENTED = {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "Lowercase"}, {"type": "StripAccents"}]}
CLIP = SPLIT | {"pattern": {"Regex": r"'s|\p{L}+|\p{N}|[^\s\p{L}\p{N}]+"}, "behavior": "Removed", "invert": True}


def trained(model, trainer, **sections):
    """A tokenizer.json, trained by Hugging Face tokenizers."""
    tok = tokenizers.Tokenizer(model)
    for name, section in sections.items():
        kind = {"pre_tokenizer": tokenizers.pre_tokenizers, "normalizer": tokenizers.normalizers}.get(name)
        if kind is not None and section is not None:
            raw = json.loads(tokenizers.Tokenizer(tokenizers.models.BPE()).to_str()) | {name: section}
            setattr(tok, name, getattr(tokenizers.Tokenizer.from_str(json.dumps(raw)), name))
    tok.train_from_iterator(CORPUS, trainer)
    return json.loads(tok.to_str()) | sections


def bytes_file(*steps, model=(), unknown=None, **sections):
    trainers = tokenizers.trainers
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        initial_alphabet=alphabet,
        show_progress=False,
        special_tokens=[unknown] if unknown else [],
        **dict(model),
    )
    pre_tokenizer = {"type": "Sequence", "pretokenizers": list(steps)}
    made = tokenizers.models.BPE(unk_token=unknown, **dict(model))
    return trained(made, trainer, pre_tokenizer=pre_tokenizer, decoder=BYTE_LEVEL, **sections)


def text_file(kind, pre_tokenizer, normalizer=None, decoder=None, **options):
    name = {"WordPiece": "WordPiece", "WordLevel": "WordLevel", "Unigram": "Unigram", "BPE": "Bpe"}[kind]
    affixes = {key: value for key, value in options.items() if key != "fuse_unk"}
    unknown = {"unk_token": "[UNK]"}
    trainer = getattr(tokenizers.trainers, f"{name}Trainer")(
        vocab_size=200,
        special_tokens=["[UNK]", "[CLS]"],
        show_progress=False,
        **affixes,
        **(unknown if kind == "Unigram" else {}),
    )
    model = getattr(tokenizers.models, kind)(**({} if kind == "Unigram" else unknown | options))
    return trained(model, trainer, pre_tokenizer=pre_tokenizer, normalizer=normalizer, decoder=decoder)


def sequence(*steps):
    return {"type": "Sequence", "pretokenizers": list(steps)}


FILES = {
    "removed after ByteLevel": lambda: bytes_file(*FALCON[:2], SPLIT | {"pattern": {"Regex": "[0-9]"}, "behavior": "Removed"}),
    "a space before each part": lambda: bytes_file({"type": "Digits", "individual_digits": True}, BYTE_LEVEL | {"add_prefix_space": True}),
    "scripts": lambda: bytes_file({"type": "UnicodeScripts"}, WHOLE),
    "removed before ByteLevel, without a decoder": lambda: bytes_file({"type": "WhitespaceSplit"}, BYTE_LEVEL) | {"decoder": None},
    "removed behind another step": lambda: bytes_file({"type": "FixedLength", "length": 4}, {"type": "WhitespaceSplit"}, WHOLE),
    "merged with the next": lambda: bytes_file(SPLIT, WHOLE),
    "merged with the one before": lambda: bytes_file(SPLIT | {"behavior": "MergedWithPrevious", "invert": True}, WHOLE),
    "contiguous": lambda: bytes_file(SPLIT | {"behavior": "Contiguous"}, {"type": "CharDelimiterSplit", "delimiter": "e"}, WHOLE),
    "end of a word (CLIP)": lambda: bytes_file(CLIP, BYTE_LEVEL, model={"end_of_word_suffix": "</w>"}, unknown="[UNK]", normalizer={"type": "Lowercase"}),
    "BERT": lambda: text_file("WordPiece", {"type": "BertPreTokenizer"}, BERT, {"type": "WordPiece", "prefix": "##", "cleanup": True}),
    "GPT": lambda: text_file("BPE", {"type": "BertPreTokenizer"}, BERT, {"type": "BPEDecoder", "suffix": "</w>"}, end_of_word_suffix="</w>"),
    "end of a word": lambda: text_file("BPE", WORDS, UNACCENTED, {"type": "BPEDecoder", "suffix": "</w>"}, end_of_word_suffix="</w>"),
    "continuing prefix": lambda: text_file("BPE", {"type": "Whitespace"}, continuing_subword_prefix="##", fuse_unk=True),
    "words": lambda: text_file("WordLevel", {"type": "Whitespace"}),
    "T5": lambda: text_file("Unigram", sequence({"type": "WhitespaceSplit"}, METASPACE), {"type": "NFKC"}, METASPACE),
    "one pretoken": lambda: text_file("Unigram", METASPACE | {"prepend_scheme": "first", "split": False}, None, METASPACE),
}  # fmt: skip
# The kernels have those whose first step drops characters, and those with more steps after ByteLevel.
OWN = {
    "steps after ByteLevel (Falcon)": lambda: bytes_file(*FALCON),
    "characters of bytes": lambda: bytes_file(
        WHOLE, {"type": "Punctuation", "behavior": "MergedWithPrevious"}, SPLIT | {"pattern": {"Regex": "[a-z]+Ġ|Ã"}, "behavior": "Isolated"}
    ),
    "lengths of bytes behind white space that is removed": lambda: bytes_file({"type": "WhitespaceSplit"}, WHOLE, {"type": "FixedLength", "length": 4}),
    "words and signs": lambda: text_file("BPE", WORDS),
    "words and signs without accents": lambda: text_file("BPE", WORDS, UNACCENTED),
    "one unknown token for several": lambda: text_file("BPE", sequence(WORDS, {"type": "Digits", "individual_digits": True}), fuse_unk=True),
    "punctuation of BERT": lambda: text_file("BPE", {"type": "BertPreTokenizer"}),
    "punctuation merged": lambda: text_file("BPE", sequence({"type": "WhitespaceSplit"}, {"type": "Punctuation", "behavior": "MergedWithPrevious"})),
    "white space removed, as bytes": lambda: bytes_file({"type": "WhitespaceSplit"}, BYTE_LEVEL),
    "matches of a pattern, as bytes": lambda: bytes_file(CLIP, WHOLE, normalizer={"type": "Lowercase"}),
    "matches of a pattern": lambda: text_file("BPE", CLIP),
    "a delimiter": lambda: text_file("BPE", {"type": "CharDelimiterSplit", "delimiter": "^"}),
    "a delimiter that patterns use": lambda: text_file("BPE", {"type": "CharDelimiterSplit", "delimiter": "+"}),
    "what may be several characters removed": lambda: text_file("BPE", {"type": "Split", "pattern": {"Regex": r"\++"}, "behavior": "Removed", "invert": False}),
    "a class removed": lambda: text_file("BPE", {"type": "Split", "pattern": {"Regex": "[ ,e]"}, "behavior": "Removed", "invert": False}),
    "a text removed": lambda: text_file("BPE", {"type": "Split", "pattern": {"String": " "}, "behavior": "Removed", "invert": False}),
}  # fmt: skip


@pytest.fixture(scope="module")
def file_of(tmp_path_factory):
    """file_of(name): the path of one of FILES, with added tokens."""
    folder, made = tmp_path_factory.mktemp("pipelines"), {}

    def build(name):
        if name not in made:
            raw = (FILES | OWN)[name]()
            size = len(raw["model"]["vocab"])
            flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
            more = [("<a>", {"rstrip": True}), ("Word", {"normalized": True}), ("[SEP]", {"special": True})]
            raw["added_tokens"] += [
                flags | {"id": size + n, "content": text} | own for n, (text, own) in enumerate(more)
            ]
            made[name] = folder / f"{len(made)}.json"
            made[name].write_text(json.dumps(raw))
        return made[name]

    return build


TEXTS = [*CORPUS[:3], *NASTY, *random_texts(["<a>", "Word", "[SEP]", "[UNK]"], 2_000 if SWEEP else 150)]


@pytest.mark.parametrize("name", FILES)
def test_ids_and_text(file_of, name, tmp_path):
    path = file_of(name)
    tok, engine = tokenmill.load(path), engine_of(path, content_of(path))
    assert tok.vocabulary.order == "library"
    assert not (wrong := differences(tok, engine, TEXTS)), "\n".join(wrong[:5])
    tok.save(tmp_path / "saved")
    again = tokenmill.load(tmp_path / "saved")
    reopened = engine_of(tmp_path, (tmp_path / "saved" / "tokenizer.json").read_bytes())
    assert again == tok
    assert not differences(again, reopened, TEXTS[:40])
    with pytest.raises(ConversionError):
        tok.save(tmp_path / "ranks", format="tiktoken")


@pytest.mark.parametrize("name", FILES)
def test_offsets_counts_and_batches(file_of, name):
    tok = tokenmill.load(file_of(name))
    theirs = tokenizers.Tokenizer.from_file(str(file_of(name)))
    text = "The lowest, newest row; the 1234 wide rows <a> then the low Word"
    found = tok.encode_with_offsets(text)
    assert found.ids == theirs.encode(text, add_special_tokens=False).ids == tok.encode(text)
    assert tok.count_tokens(text) == len(found.ids)
    assert tok.encode_batch([text, "low"]) == [found.ids, tok.encode("low")]
    assert tok.encode_to_numpy(text).tolist() == found.ids == pickle.loads(pickle.dumps(tok)).encode(text)
    spans = found.bytes.tolist()
    assert (
        all(start <= end for start, end in spans)
        and spans == sorted(spans)
        and spans[-1][1] <= len(found.text.encode())
    )
    part = tok.truncate(text, 5)
    assert text.lower().startswith(part.lower()) and 0 < tok.count_tokens(part) <= 5
    assert "".join(tok.chunks(text, 6)) == tok.encode_with_offsets(text).text
    stream = tok.stream_encoder()
    assert stream.feed(text[:9]) + stream.feed(text[9:]) + stream.finish() == found.ids


@pytest.mark.parametrize("name", OWN)
def test_those_that_the_kernels_have(file_of, name, tmp_path):
    path = file_of(name)
    tok, theirs = tokenmill.load(path), tokenizers.Tokenizer.from_file(str(path))
    assert tok.vocabulary.order == "merges" and (tok.vocabulary.dropped or tok.vocabulary.byte_patterns)
    assert not (wrong := differences(tok, engine_of(path, content_of(path)), TEXTS)), "\n".join(wrong[:5])
    texts = [text for text in TEXTS if unicodedata.is_normalized("NFD", text)] if "accents" in name else TEXTS
    ids = [theirs.encode(text, add_special_tokens=False).ids for text in TEXTS]
    assert tok.encode_batch(TEXTS, allowed_special="all") == ids
    assert [tok.count_tokens(text, allowed_special="all") for text in TEXTS] == [*map(len, ids)]
    for text in texts:
        found, expected = tok.encode_with_offsets(text, allowed_special="all"), theirs.encode(text)
        assert [*map(tuple, found.characters.tolist())] == expected.offsets, text
        assert "".join(tok.chunks(text, 30, allowed_special="all")) == text
        part, size = tok.truncate(text, 3, allowed_special="all"), len(expected.ids)
        assert text.startswith(part) and tok.count_tokens(part, allowed_special="all") <= 3
        assert size > 3 or part == text
        stream = tok.stream_decoder()
        assert "".join(map(stream.feed, found.ids)) + stream.finish() == tok.decode(found.ids)
    text, patterns = "the low, new\u3000row\t1234 wide", tok.vocabulary.split_patterns
    assert tok.count_tokens_in(tokenmill.count_iterator([text], split=patterns)) == tok.count_tokens(text)
    tok.save(tmp_path / "saved")
    again = tokenizers.Tokenizer.from_file(str(tmp_path / "saved" / "tokenizer.json"))
    assert tokenmill.load(tmp_path / "saved") == tok == pickle.loads(pickle.dumps(tok))
    assert [again.encode(text, add_special_tokens=False).ids for text in TEXTS] == ids
    assert again.decode(ids[0]) == theirs.decode(ids[0])
    for format in ("sentencepiece", "tiktoken", "gguf", "merges"):
        with pytest.raises(ConversionError, match=r"drops white space|cuts pretokens"):
            tok.save(tmp_path / "other", format=format)
    with pytest.raises(ConversionError, match=r"tiktoken (cuts text|begins with bytes)"):
        tok.to_tiktoken()
    with pytest.raises(UsageError, match="cannot be extended"):
        tokenmill.extend(tok, tokenmill.count_iterator(TEXTS, split=patterns), tok.n_vocab + 9)


def test_a_vocabulary_that_drops_or_divides_merges_by_a_list():
    with pytest.raises(FormatError, match="byte_patterns are for order"):
        Vocabulary([b"a"], ["\\s+"], byte_patterns=["a"])
    with pytest.raises(FormatError, match="dropped is ' '"):
        Vocabulary([b"a"], ["\\s+"], dropped=" ")
    with pytest.raises(FormatError, match="prefix space"):
        normalization = Normalization(add_prefix_space=True)
        Vocabulary([b"a"], ["\\s+"], "merges", whole_pretokens=False, dropped=" ", normalization=normalization)
    with pytest.raises(FormatError, match="dropped is 5"):
        Vocabulary([b"a"], ["\\s+"], "merges", whole_pretokens=False, dropped=5)


def test_kernels_encode_words_that_end_in_a_suffix(file_of, tmp_path):
    raw = json.loads(file_of("end of a word (CLIP)").read_text())
    for name in ("end of a word (CLIP)", "end of a word"):
        assert tokenmill.load(file_of(name))._core.encoder.kernel is not None
    merges = [" ".join(pair) for pair in raw["model"]["merges"]]
    (tmp_path / "bpe_simple_vocab_16e6.txt").write_text("\n".join(["#version: 0.2", "z z</w>", *merges, ""]))
    tok = tokenmill.load(
        tmp_path / "bpe_simple_vocab_16e6.txt"
    )  # with all steps of CLIP, and a token for each last byte
    theirs = tokenizers.Tokenizer.from_buffer(tok.vocabulary.library.data)
    texts = [*TEXTS, *random_texts(["<|endoftext|>", "\u2003\r\n ", "It's", "É"], 300)]
    ids = [theirs.encode(text, add_special_tokens=False).ids for text in texts]
    assert tok.encode_batch(texts, allowed_special="all") == ids
    assert tok._core.encoder.kernel is not None
    assert pickle.loads(pickle.dumps(tok)).encode_batch(texts, allowed_special="all") == ids
    assert tok.encode_batch_to_numpy(texts, allowed_special="all")[0].tolist() == [*itertools.chain(*ids)]
    for text in texts:
        assert tok.encode_with_offsets(text, allowed_special="all").ids == tok.encode(text, allowed_special="all")


def test_a_long_word_that_ends_in_a_suffix_is_not_divided(tmp_path, monkeypatch):
    monkeypatch.setattr(batches, "LONG_TEXT", 1000)
    monkeypatch.setattr(batches, "PIECE", 700)
    raw = text_file("BPE", None, end_of_word_suffix="</w>")
    (tmp_path / "tokenizer.json").write_text(json.dumps(raw))
    tok, theirs = tokenmill.load(tmp_path / "tokenizer.json"), tokenizers.Tokenizer.from_str(json.dumps(raw))
    text = "\n".join(CORPUS * 9)
    assert tok._core.encoder.kernel is not None
    assert tok.encode(text, num_threads=2) == theirs.encode(text, add_special_tokens=False).ids


def test_words_that_end_in_a_suffix_without_tokens_for_all_bytes(file_of, tmp_path):
    """tokenizers drops such a byte: then it encodes."""
    raw = json.loads(file_of("end of a word (CLIP)").read_text())
    raw["model"]["unk_token"] = None
    (tmp_path / "tokenizer.json").write_text(json.dumps(raw))
    tok = tokenmill.load(tmp_path / "tokenizer.json")
    assert tok._core.encoder.kernel is None
    assert tok.encode("low~") == tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json")).encode("low~").ids


def test_offsets_of_words_without_spaces(file_of):
    tok = tokenmill.load(file_of("BERT"))
    found = tok.encode_with_offsets("the  low, row")
    assert [found.text[start:end] for start, end in found.characters.tolist()][:3] == ["the", "low", ","]
    assert tok.vocabulary.library.kind == "WordPiece"
    assert tok.token_to_id("##w") != tok.token_to_id("w")


def test_verbs_take_them(file_of, tmp_path):
    """inspect and compare count the very ids that encode gives."""

    text = tmp_path / "text.txt"
    text.write_text("\n".join(CORPUS))
    named = {name: tokenmill.load(file_of(name)) for name in ("BERT", "T5", "removed after ByteLevel", "GPT")}
    tokens = tokenmill.compare(named, text).table("compression").column("tokens of the text")
    assert tokens == [tok.count_tokens(text.read_text()) for tok in named.values()]
    with pytest.raises(UsageError):
        tokenmill.prune(named["BERT"], ids=[5])
    with pytest.raises(UsageError):
        tokenmill.extend(named["BERT"], text, 400)


def test_control_tokens_are_text_unless_they_are_allowed(file_of):
    tok = tokenmill.load(file_of("T5"))
    assert tok.token_to_id("[CLS]") not in tok.encode_ordinary("a [CLS] b")
    assert tok.token_to_id("[CLS]") in tok.encode("a [CLS] b", allowed_special="all")


def test_a_control_token_in_ordinary_text_is_never_its_id(file_of):
    for name in FILES:
        tok = tokenmill.load(file_of(name))
        for control in tok.vocabulary.special_tokens:
            if control != "[UNK]":
                assert tok.token_to_id(control) not in tok.encode_ordinary(f"a {control} b"), (name, control)


def test_truncate_with_control_tokens(file_of):
    tok = tokenmill.load(file_of("BERT"))
    assert tok.truncate("[CLS] hello", 1, allowed_special="all") == "[CLS]"
    assert tok.chunks("[CLS]low row", 2, allowed_special="all")[0] == "[CLS]low"
    assert tok.truncate("low row", 0) == ""


@pytest.mark.parametrize("name", FILES)
def test_streams_give_the_text_of_decode(file_of, name):
    tok = tokenmill.load(file_of(name))
    for text in [*(text[:100] for text in TEXTS[:40]), "\n".join(TEXTS)[:3000]]:
        ids = tok.encode_ordinary(text)
        stream = tok.stream_decoder()
        assert "".join(map(stream.feed, ids)) + stream.finish() == tok.decode(ids) == tok.decode_with_offsets(ids)[0]


def test_the_first_character_of_tokens_with_parts_of_characters(file_of):
    tok = tokenmill.load(file_of("steps after ByteLevel (Falcon)"))
    text = "漢字 é, low Ω 😀 " * 40
    ids = tok.encode(text)
    ends = [0, *itertools.accumulate(map(len, tok.decode_tokens_bytes(ids)))]
    first_of_byte = [n for n, character in enumerate(text) for _ in character.encode()]
    assert tok.decode_with_offsets(ids) == (text, [first_of_byte[end] for end in ends[:-1]])


def test_a_stream_waits_for_the_end_of_a_run_of_byte_tokens(tmp_path, monkeypatch):
    """A run that is not UTF-8 becomes U+FFFD as a whole, so that its first byte cannot be given out alone."""
    pieces = [("<unk>", 0.0), ("\u2581low", -1.0), *((f"<0x{byte:02X}>", -9.0) for byte in range(256))]
    made = tokenizers.Tokenizer(tokenizers.models.Unigram(pieces, 0, byte_fallback=True))
    decoders = tokenizers.decoders
    made.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    made.save(str(tmp_path / "tokenizer.json"))
    tok, chosen = tokenmill.load(tmp_path / "tokenizer.json"), Random(3)
    dash, bad = tok.token_to_id("<0x2D>"), tok.token_to_id("<0xD5>")
    for ids in [
        [dash, bad],
        [dash, bad, 1],
        *(chosen.choices([1, dash, bad, *range(2, 258)], k=4) for _ in range(100)),
    ]:
        stream = tok.stream_decoder()
        assert "".join(map(stream.feed, ids)) + stream.finish() == tok.decode(ids) == made.decode(ids), ids
    assert stream.feed([dash, 1]) == "- low"
    decoded = Mock(wraps=tok._core.decode)
    monkeypatch.setattr(tok._core, "decode", decoded)
    assert {stream.feed(bad) for _ in range(100)} == {""} and not decoded.called


SENTENCEPIECE = {
    "unigram": {"model_type": "unigram", "normalization_rule_name": "nmt_nfkc_cf"},
    "bytes": {"model_type": "unigram", "byte_fallback": True, "vocab_size": 330},
    "user symbols": {"model_type": "unigram", "user_defined_symbols": ["<sep>", "lowest"], "control_symbols": ["<c>"]},
    "suffix": {"model_type": "bpe", "treat_whitespace_as_suffix": True},
    "no piece for a space": {
        "model_type": "bpe", "byte_fallback": True, "control_symbols": ["\u2581"], "vocab_size": 345, "hard_vocab_limit": True,
    },
    "words": {"model_type": "word"},
    "characters": {"model_type": "char"},
}  # fmt: skip


@pytest.mark.parametrize("name", SENTENCEPIECE)
def test_sentencepiece_models(tmp_path, name):
    sentencepiece = pytest.importorskip("sentencepiece")
    options = {"vocab_size": 60, "hard_vocab_limit": False, "minloglevel": 2, "model_prefix": str(tmp_path / "tok")}
    if name in ("suffix", "words", "characters"):
        options.pop("hard_vocab_limit")
        options["vocab_size"] = {"suffix": 90, "words": 20, "characters": 50}[name]
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(CORPUS), **options | SENTENCEPIECE[name])
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "tok.model"))
    tok = tokenmill.load(tmp_path / "tok.model")
    assert tok.vocabulary.library.library == "sentencepiece"
    for text in TEXTS[:80]:
        text = text.encode("utf-8", "replace").decode()
        ids = tok.encode(text, disallowed_special=())
        assert ids == theirs.encode(text)
        assert tok.decode(ids) == theirs.decode(ids)
        offsets = tok.encode_with_offsets(text, disallowed_special=())
        assert offsets.ids == ids and offsets.text == text
        assert "".join(tok.chunks(text, 9, disallowed_special=())) == text
    end = tok.token_to_id("</s>")
    assert tok.decode([*tok.encode("low row"), end]) == tok.decode(tok.encode("low row"))
    assert tok.encode("low</s>", allowed_special="all")[-1] == end
    tok.save(tmp_path / "again.model", format="sentencepiece")
    assert (tmp_path / "again.model").read_bytes() == (tmp_path / "tok.model").read_bytes()
    with pytest.raises(ConversionError):
        tok.save(tmp_path / "folder")


def test_replacements_that_would_take_all_memory(tmp_path):
    step = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 1000}
    raw = bytes_file(WHOLE)
    for name, kind in (("normalizer", "normalizers"), ("decoder", "decoders")):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(raw | {name: {"type": "Sequence", kind: [step] * 4}}))
        with pytest.raises(
            FormatError, match=f"{name}: its replacements can make a text 1,000,000,000,000 times longer"
        ):
            tokenmill.load(path)


def test_decoders_that_do_not_fit_the_model(tmp_path):
    """A decoder that the kernels do not have is the library's."""
    path = tmp_path / "tokenizer.json"
    decoder = {"type": "Sequence", "decoders": [BYTE_LEVEL, {"type": "Strip", "content": "l", "start": 1, "stop": 0}]}
    path.write_text(json.dumps(bytes_file(WHOLE) | {"decoder": decoder}))
    tok, theirs = tokenmill.load(path), tokenizers.Tokenizer.from_file(str(path))
    assert tok.decode(tok.encode("low lower")) == theirs.decode(tok.encode("low lower")) == "ow lower"


def test_a_library_that_panics_in_decoding_is_an_error(tmp_path):
    path = tmp_path / "tokenizer.json"
    strip = {"type": "Strip", "content": " ", "start": 1, "stop": 2**32 - 1}
    path.write_text(json.dumps(bytes_file(WHOLE) | {"decoder": {"type": "Sequence", "decoders": [BYTE_LEVEL, strip]}}))
    tok = tokenmill.load(path)
    with pytest.raises(UsageError, match=r"^tokenizers cannot decode these ids: "):
        tok.decode(tok.encode(""))
        tok.decode(tok.encode("low"))


def test_the_first_word_behind_a_step_that_removes_text(tmp_path):
    path = tmp_path / "tokenizer.json"
    first = METASPACE | {"prepend_scheme": "first"}
    raw = text_file("BPE", first, {"type": "Strip", "strip_left": True, "strip_right": False}, first)
    path.write_text(json.dumps(raw))
    tok, theirs = tokenmill.load(path), tokenizers.Tokenizer.from_file(str(path))
    for text in ("low row", "  low row", " low"):
        assert tok.encode(text) == theirs.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize(
    "change",
    [
        {"pre_tokenizer": {"type": "Magic"}},
        {"decoder": {"type": "CTC", "pad_token": 3}},
        {"model": {"type": "Unigram", "vocab": [["a", "b"]]}},
        {"model": {"type": "Unigram", "vocab": [["a", 1.0]], "unk_id": 4}},
        {"model": {"type": "Rules", "vocab": {}}},
    ],
)
def test_damage_is_an_error_of_the_file(tmp_path, change):
    raw = {"added_tokens": [], "model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}} | change
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(raw))
    with pytest.raises(
        FormatError, match=r"tokenizer.json: (at \$.model.type: the model is Rules|tokenizers .* cannot read this file)"
    ):
        tokenmill.load(path)


def test_a_missing_library_names_the_extra(file_of, monkeypatch):
    path = file_of("BERT")
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingExtraError, match="the extra 'libraries'"):
        tokenmill.load(path)


@pytest.mark.parametrize("flags", [{}, {"special": True}, {"normalized": True}])
def test_byte_tokens_among_the_added_tokens(tmp_path, flags):
    vocab = {
        "<unk>": 0,
        **{f"<0x{byte:02X}>": byte + 1 for byte in range(256)},
        "\u2581": 257,
        "l": 258,
        "o": 259,
        "lo": 260,
    }
    model = {
        "type": "BPE",
        "unk_token": "<unk>",
        "fuse_unk": True,
        "byte_fallback": True,
        "vocab": vocab,
        "merges": [["l", "o"]],
    }
    replace = {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}
    added = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False} | flags
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({
        "version": "1.0", "added_tokens": [{"id": 11, "content": "<0x0A>"} | added], "model": model, "pre_tokenizer": None,
        "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}, "post_processor": None,
        "decoder": {"type": "Sequence", "decoders": [replace, {"type": "ByteFallback"}, {"type": "Fuse"}]},
    }))  # fmt: skip
    tok, theirs = tokenmill.load(path), tokenizers.Tokenizer.from_file(str(path))
    assert tok.vocabulary.library is None
    for text in ("lo\nlo A", "<0x0A> lo", "é\n<0x0A>lo", "<0x41>"):
        ids = theirs.encode(text, add_special_tokens=False).ids
        assert tok.encode(text, allowed_special="all") == ids
        assert tok.decode(ids) == theirs.decode(ids, skip_special_tokens=False) == tok.decode_with_offsets(ids)[0]
