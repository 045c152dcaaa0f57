"""Ids, text and offsets of tokenizers that plain Python runs, equal to those of Hugging Face tokenizers."""

import base64
import json
import pickle
import random
from array import array

import pytest
from family_examples import NASTY, SWEEP, content_of, differences, engine_of, random_texts

import tokenmill
from tokenmill.errors import ConversionError, FormatError, UsageError
from tokenmill.tokenizer.character_map import CharacterMap
from tokenmill.tokenizer.pipeline.models import BytePairs, Unigram
from tokenmill.tokenizer.pipeline.pre_tokenizers import pre_tokenizer_of
from tokenmill.vocabulary import Pipeline

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
    "steps after ByteLevel (Falcon)": lambda: bytes_file(*FALCON),
    "a space before each part": lambda: bytes_file({"type": "Digits", "individual_digits": True}, BYTE_LEVEL | {"add_prefix_space": True}),
    "scripts": lambda: bytes_file({"type": "UnicodeScripts"}, WHOLE),
    "fixed length": lambda: bytes_file({"type": "FixedLength", "length": 4}, {"type": "WhitespaceSplit"}, WHOLE),
    "merged with the next": lambda: bytes_file(SPLIT, WHOLE),
    "merged with the one before": lambda: bytes_file(SPLIT | {"behavior": "MergedWithPrevious", "invert": True}, WHOLE),
    "contiguous": lambda: bytes_file(SPLIT | {"behavior": "Contiguous"}, {"type": "CharDelimiterSplit", "delimiter": "e"}, WHOLE),
    "end of a word (CLIP)": lambda: bytes_file(CLIP, BYTE_LEVEL, model={"end_of_word_suffix": "</w>"}, unknown="[UNK]", normalizer={"type": "Lowercase"}),
    "BERT": lambda: text_file("WordPiece", {"type": "BertPreTokenizer"}, BERT, {"type": "WordPiece", "prefix": "##", "cleanup": True}),
    "GPT": lambda: text_file("BPE", {"type": "BertPreTokenizer"}, BERT, {"type": "BPEDecoder", "suffix": "</w>"}, end_of_word_suffix="</w>"),
    "continuing prefix": lambda: text_file("BPE", {"type": "Whitespace"}, continuing_subword_prefix="##", fuse_unk=True),
    "words": lambda: text_file("WordLevel", {"type": "Whitespace"}),
    "T5": lambda: text_file("Unigram", sequence({"type": "WhitespaceSplit"}, METASPACE), {"type": "NFKC"}, METASPACE),
    "one pretoken": lambda: text_file("Unigram", METASPACE | {"prepend_scheme": "first", "split": False}, None, METASPACE),
    "white space removed": lambda: text_file("BPE", sequence({"type": "WhitespaceSplit"}, {"type": "Punctuation", "behavior": "MergedWithPrevious"})),
}  # fmt: skip


@pytest.fixture(scope="module")
def file_of(tmp_path_factory):
    """file_of(name): the path of one of FILES, with added tokens."""
    folder, made = tmp_path_factory.mktemp("pipelines"), {}

    def build(name):
        if name not in made:
            raw = FILES[name]()
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
    assert tok.vocabulary.pipeline is not None
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
    found = tok.encode_offsets(text)
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
    assert "".join(tok.split_at(text, 6)) == tok.encode_offsets(text).text
    stream = tok.stream_encoder()
    assert stream.feed(text[:9]) + stream.feed(text[9:]) + stream.finish() == found.ids


def test_offsets_of_words_without_spaces(file_of):
    tok = tokenmill.load(file_of("BERT"))
    found = tok.encode_offsets("the  low, row")
    assert [found.text[start:end] for start, end in found.characters.tolist()][:3] == ["the", "low", ","]
    assert tok.vocabulary.order == "wordpiece"
    assert tok.token_to_id("##w") != tok.token_to_id("w")


def test_verbs_take_them(file_of, tmp_path):
    """inspect and compare count the very ids that encode gives."""
    from tokenmill import quality

    text = tmp_path / "text.txt"
    text.write_text("\n".join(CORPUS))
    named = {name: tokenmill.load(file_of(name)) for name in ("BERT", "T5", "steps after ByteLevel (Falcon)", "GPT")}
    tokens = quality.compare(named, text).table("compression").column("tokens of the text")
    assert tokens == [tok.count_tokens(text.read_text()) for tok in named.values()]
    with pytest.raises(UsageError):
        quality.prune(named["BERT"], [5])
    with pytest.raises(UsageError):
        quality.extend(named["BERT"], text, 400)


def test_control_tokens_are_text_unless_they_are_allowed(file_of):
    tok = tokenmill.load(file_of("T5"))
    assert tok.token_to_id("[CLS]") not in tok.encode_ordinary("a [CLS] b")
    assert tok.token_to_id("[CLS]") in tok.encode("a [CLS] b", allowed_special="all")


def test_merges_and_viterbi_equal_a_search_over_all_segmentations():
    chosen = random.Random(3)
    for _ in range(200):
        texts = list({"".join(chosen.choices("ab", k=chosen.randint(1, 3))) for _ in range(6)} | {"a", "b"})
        scores = tuple(float(-chosen.randint(1, 9)) for _ in texts)
        word = "".join(chosen.choices("ab", k=7))
        ids = {text: id for id, text in enumerate(texts)}
        model = Unigram(ids, ids.get, Pipeline(tuple(texts), {"type": "Unigram"}, scores=scores))
        found = sum(scores[id] for id in model(word)[0])
        best = [0.0] + [float("-inf")] * len(word)
        for end in range(1, len(word) + 1):
            best[end] = max(best[end - len(t)] + scores[ids[t]] for t in texts if word[:end].endswith(t))
        assert found == best[-1]
    rows = array("i", [0, 1, 2, 2, 0, 3, 1, 0, 4])
    model = BytePairs({"a": 0, "b": 1, "ab": 2, "aba": 3, "ba": 4}, rows, None, {})
    assert model("ababba") == ([2, 2, 4], [2, 2, 2])


def test_character_map(tmp_path):
    """The map of a SentencePiece model, as tokenizers applies it."""
    sentencepiece = pytest.importorskip("sentencepiece")
    options = {"model_type": "unigram", "vocab_size": 60, "hard_vocab_limit": False, "minloglevel": 2}
    options |= {"normalization_rule_name": "nmt_nfkc_cf", "model_prefix": str(tmp_path / "tok")}
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(CORPUS), **options)
    [data] = [
        step[1] for step in tokenmill.load(tmp_path / "tok.model").vocabulary.normalizers if step[0] == "CharacterMap"
    ]
    ours, theirs = CharacterMap(data), tokenizers.normalizers.Precompiled(base64.b64decode(data))
    marks = "\u0300\u0301\u0323\u3099\u1161\u11a8\r\n\u200d"
    for text in [*NASTY, *random_texts(["\ufb01", "a\u0300", "\r\n", "\uac00", *marks], 400)]:
        assert ours(text) == theirs.normalize_str(text), ascii(text)


def test_scores_that_no_number_holds(tmp_path):
    raw = {"added_tokens": [], "model": {"type": "Unigram", "unk_id": 0, "vocab": [["a", -1.25e-320], ["b", 0.5]]}}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(raw))
    assert tokenmill.load(path).vocabulary.pipeline.scores == (-1.25e-320, 0.5)
    path.write_text(path.read_text().replace("0.5", "1e400"))
    with pytest.raises(FormatError, match=r"vocab\[1\]: expected a token and its score"):
        tokenmill.load(path)


def test_long_words_are_not_quadratic():
    word = "ab" * 20_000
    model = BytePairs({"a": 0, "b": 1, "ab": 2}, array("i", [0, 1, 2]), None, {})
    assert model(word)[0] == [2] * 20_000


@pytest.mark.skipif(not SWEEP, reason="TOKENMILL_SWEEP is not set")
@pytest.mark.parametrize("kind", ["BertPreTokenizer", "Punctuation", "Whitespace", "WhitespaceSplit", "UnicodeScripts"])
def test_every_code_point(kind):
    theirs, ours = getattr(tokenizers.pre_tokenizers, kind)(), pre_tokenizer_of({"type": kind})
    for point in [*range(0xD800), *range(0xE000, 0x110000)]:
        for text in (f"a{chr(point)}b", f"漢{chr(point)} ", chr(point)):
            assert [word for word, _ in theirs.pre_tokenize_str(text)] == [word.text for word in ours(text, True)], hex(
                point
            )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pre_tokenizer": {"type": "Magic"}}, "Magic"),
        ({"decoder": {"type": "CTC"}}, "CTC"),
        ({"model": {"type": "WordPiece", "vocab": {"a": 0}, "unk_token": "?"}}, "not in the vocabulary"),
        ({"model": {"type": "Unigram", "vocab": [["a", "b"]]}}, r"vocab\[0\]"),
        ({"model": {"type": "Unigram", "vocab": [["a", 1.0]], "unk_id": 4}}, "no token has it"),
        ({"model": {"type": "WordLevel", "vocab": {"a": 0, "b": 0}}}, "is that of 'a' already"),
        ({"model": {"type": "Rules", "vocab": {}}}, "the model is Rules"),
    ],
)
def test_damage_is_named(tmp_path, change, message):
    raw = {"added_tokens": [], "model": {"type": "WordPiece", "vocab": {"a": 0}, "unk_token": "a"}} | change
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(raw))
    with pytest.raises(FormatError, match=message):
        tokenmill.load(path)
