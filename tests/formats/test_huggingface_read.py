"""Reading tokenizer.json: the byte-level family with the ids of tokenizers, everything else refused by name and place."""

import json
import re

import pytest
import tokenizers

from tokenmill import Tokenizer, load
from tokenmill.errors import FormatError, UsageError
from tokenmill.formats.byte_alphabet import to_text
from tokenmill.formats.huggingface import parse_tokenizer_json
from tokenmill.vocabulary import AddedToken, Normalization, Vocabulary
from tokenmill.vocabulary.validation import VocabularyError

MERGES = ["l o", "lo w", "Ġ low", "e s", "es t", "1 2", "12 3", ". .", "Ġ Ġ"]
LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
TEXTS = [
    "low lowest  low",
    "a123, 12.5!?",
    "...x..y \u00b2\u00bd",
    "\u6f22\u5b57\u3002low",
    " ",
    "",
    "$+5 `a` |x| \u2019s",
    "1 2 3",
]


def document(**sections):
    """A small tokenizer.json as a dict; `model` is merged into the model."""
    vocab = {to_text(bytes([byte])): byte for byte in range(256)}
    for merge in MERGES:
        vocab[merge.replace(" ", "")] = len(vocab)
    model = {
        "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
        "fuse_unk": False, "byte_fallback": False, "ignore_merges": False, "vocab": vocab, "merges": MERGES,
    }  # fmt: skip
    base = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "pre_tokenizer": LEVEL,
        "post_processor": None, "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
    }  # fmt: skip
    return base | {k: v for k, v in sections.items() if k != "model"} | {"model": model | sections.get("model", {})}


def added(id, content, **flags):
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": id, "content": content, "special": True} | plain | flags


def parse(raw):
    return parse_tokenizer_json(raw if isinstance(raw, bytes) else json.dumps(raw).encode(), "t.json")


def sequence(*steps):
    return {"type": "Sequence", "pretokenizers": [*steps, LEVEL]}


def split(pattern, behavior="Isolated", invert=False):
    kind = "Regex" if isinstance(pattern, str) else "String"
    return {
        "type": "Split",
        "pattern": {kind: pattern if kind == "Regex" else pattern[0]},
        "behavior": behavior,
        "invert": invert,
    }


def check_same_ids(raw, texts=TEXTS):
    hf = tokenizers.Tokenizer.from_str(json.dumps(raw))
    ours = Tokenizer(parse(raw))
    for text in texts:
        assert ours.encode(text, allowed_special="all") == hf.encode(text, add_special_tokens=False).ids, text


LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


@pytest.mark.parametrize(
    "pre_tokenizer",
    [
        LEVEL,
        LEVEL | {"use_regex": True},
        LEVEL | {"use_regex": True, "add_prefix_space": True},
        LEVEL | {"add_prefix_space": True},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True},
        sequence(),
        sequence(split(LLAMA3)),
        sequence(split(LLAMA3, "Removed", True)),
        sequence(split(r"\p{N}{1,3}"), split(r"[\u4e00-\u9fff]+"), split(r"\s+|\S+")),
        sequence(split(r"\p{N}{1,2}+")),
        sequence(split(["low"])),
        sequence(split([".+"])),
        sequence(split([". "])),
        sequence(split(r"[lo]", "Contiguous")),
        sequence({"type": "Digits", "individual_digits": True}),
        sequence({"type": "Digits", "individual_digits": False}),
        sequence({"type": "Punctuation", "behavior": "Isolated"}),
        sequence({"type": "Punctuation", "behavior": "Contiguous"}),
        sequence({"type": "Punctuation"}, {"type": "Digits", "individual_digits": True}, split(r"\s?\p{L}+")),
        {
            "type": "Sequence",
            "pretokenizers": [{"type": "Sequence", "pretokenizers": [split(r" ?\p{L}+")]}, LEVEL | {"use_regex": True}],
        },
    ],
)
def test_pre_tokenizers_cut_as_tokenizers_does(pre_tokenizer):
    check_same_ids(document(pre_tokenizer=pre_tokenizer))


@pytest.mark.parametrize("ignore", [False, True])
def test_ignore_merges_and_added_tokens(ignore):
    vocab = document()["model"]["vocab"] | {"Ġlowest": 265, "xyz": 266, "<s>": 267}
    tokens = [added(256, "lo", special=False), added(267, "<s>"), added(268, "  ", normalized=True, special=False)]
    raw = document(
        model={"vocab": vocab, "ignore_merges": ignore}, added_tokens=tokens, pre_tokenizer=LEVEL | {"use_regex": True}
    )
    check_same_ids(raw, [*TEXTS, " lowest xyz xyzz", "<s>low<s>", "a   b  lowest"])
    assert parse(raw).whole_pretokens is ignore
    assert parse(raw).token_bytes(267) == b"<s>" and parse(raw).special_tokens == {"<s>": 267}


def test_merges_may_be_pairs_and_of_two_that_are_the_same_the_last_counts():
    merges = [*MERGES, "o w", "l o"]
    vocab = document()["model"]["vocab"] | {"ow": 265}
    check_same_ids(document(model={"vocab": vocab, "merges": merges}))
    check_same_ids(document(model={"vocab": vocab, "merges": [merge.split(" ") for merge in merges]}))
    assert len(parse(document(model={"vocab": vocab, "merges": merges})).events) == len(MERGES) + 1


def test_a_byte_without_a_token_is_an_error_only_in_text_that_has_it():
    vocab = {text: id for text, id in document()["model"]["vocab"].items() if text != "A" and id not in (0xC0, 0xFF)}
    check_same_ids(document(model={"vocab": vocab}))
    with pytest.raises(UsageError, match="the vocabulary has no token for b'A' and no unknown token"):
        Tokenizer(parse(document(model={"vocab": vocab}))).encode("an A")


@pytest.mark.parametrize("text", ["<s>\u6f22", "ab<s>" + "ab" * 40 + "\u6f22", "ab" * 200_000 + "<s>ab\u6f22"])
@pytest.mark.parametrize("steps", [(), ("Lowercase",)])
@pytest.mark.parametrize("order", ["merges", "ranks"])
def test_the_error_names_what_has_no_token(text, steps, order):
    """Added tokens are not looked up; long pretokens are cut first, and long texts are encoded in steps."""
    characters = order == "merges"
    tok = Tokenizer(
        Vocabulary(
            (b"a", b"b"),
            (),
            order,
            added_tokens=[AddedToken("<s>", 2)],
            normalization=Normalization(steps),
            alphabet="characters" if characters else "bytes",
        )
    )
    missing = "\u6f22".encode()[: 3 if characters else 1]
    for method in (tok.encode, tok.count_tokens, tok.encode_with_offsets):
        with pytest.raises(UsageError, match=re.escape(f"no token for {missing!r} and")):
            method(text, allowed_special="all")


def test_without_byte_level_the_tokens_are_characters():
    raw = document(pre_tokenizer=split(r" ?\p{L}+"), decoder={"type": "Fuse"}, model={"unk_token": "?"})
    check_same_ids(raw, ["low lowest", "a \u6f22", "x\u0120 low"])
    found = parse(raw)
    assert (found.alphabet, found.unknown, found.notes) == ("characters", ord("?"), ())
    with pytest.raises(FormatError, match=r"at \$.model.unk_token: the unknown token '<unk>' is not in the vocabulary"):
        parse(document(pre_tokenizer=None, decoder={"type": "Fuse"}, model={"unk_token": "<unk>"}))
    assert "drops characters" in parse(document(pre_tokenizer=None, decoder={"type": "Fuse"})).notes[0]


def test_what_decides_no_ids_of_text_is_noted():
    template = {
        "type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [], "special_tokens": {"<s>": {"id": "<s>", "ids": [265], "tokens": ["<s>"]}},
    }  # fmt: skip
    raw = document(
        added_tokens=[added(265, "<s>")],
        post_processor={"type": "Sequence", "processors": [LEVEL, template]},
        truncation={"direction": "Right", "max_length": 5, "strategy": "LongestFirst", "stride": 0},
        decoder=None,
    )
    notes = parse(raw).notes
    assert len(notes) == 3
    assert (
        "a template adds <s> to every text" in notes[1]
        and "there is no decoder" in notes[0]
        and "truncation is set" in notes[2]
    )
    assert parse(document(post_processor=LEVEL)).notes == ()
    roberta = {"type": "RobertaProcessing", "cls": ["<s>", 265], "sep": ["</s>", 266], "trim_offsets": False}
    both = [added(265, "<s>"), added(266, "</s>")]
    assert (
        "a template adds <s>, </s> to every text" in parse(document(added_tokens=both, post_processor=roberta)).notes[0]
    )
    other = roberta | {"cls": ["<BOS>", 266], "sep": ["a", 97]}
    assert parse(document(added_tokens=both, post_processor=other)).template.affixes == (["</s>"], ["a"])
    for sep, said in (
        (["</s>", 99], "adds the id 99, which is not that of '</s>'"),
        (["</s>"], "expected an integer"),
        ([], "expected"),
    ):
        with pytest.raises(FormatError, match=rf"at \$\.post_processor\.sep.*{said}"):
            parse(document(added_tokens=both, post_processor=roberta | {"sep": sep}))
    named = {**template, "special_tokens": {"<s>": {"id": "<s>", "ids": [265], "tokens": ["<BOS>"]}}}
    made_up = document(added_tokens=[added(265, "<s>")], post_processor=named)
    assert parse(made_up).template.affixes == (["<s>"], [])  # as in tokenizers, the id counts
    for wrong in ({"type": "RobertaProcessing"}, {"type": "Other"}, {**template, "single": template["single"][:1]}):
        with pytest.raises(FormatError, match=r"\$.post_processor"):
            parse(document(post_processor=wrong))


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ({"model": {"type": "Rules"}}, r"at \$.model.type: the model is Rules; tokenmill reads BPE, WordPiece"),
        ({"model": {"dropout": 0.1}}, r"at \$.model.dropout: BPE dropout is 0.1"),
        ({"model": {"ignore_merges": "yes"}}, r"at \$.model.ignore_merges: expected true or false, found 'yes'"),
        ({"model": {"vocab": []}}, r"at \$.model.vocab: expected an object, found \[\]"),
        ({"model": {"vocab": {"a": "b"}}}, r"at \$.model.vocab\['a'\]: the id 'b' of 'a' is not an integer"),
        ({"model": {"vocab": {"a": -3}}}, r"the id -3 of 'a' is not an integer from 0"),
        ({"model": {"vocab": {"a": 1e300}}}, "the id 1e[+]300"),
        ({"model": {"vocab": {"a": True}}}, "the id True of 'a'"),
        ({"model": {"vocab": {"a": 2**40}}}, "the id 1099511627776"),
        ({"model": {"vocab": {"a": 1, "b": 1}}}, r"at \$.model.vocab\['b'\]: the id 1 of 'b' is that of 'a' already"),
        ({"model": {"vocab": {"\ud800": 1}}}, "is not Unicode text: it contains a lone surrogate"),
        ({"model": {"merges": ["l o", "lo"]}}, r"at \$.model.merges\[1\]: expected two tokens with a space between"),
        ({"model": {"merges": ["l  o"]}}, r"at \$.model.merges\[0\]"),
        ({"model": {"merges": ["l o", ["a", "b"]]}}, r"at \$.model.merges\[1\]"),
        ({"model": {"merges": [["a", "b", "c"]]}}, r"at \$.model.merges\[0\]: expected a pair of tokens"),
        ({"model": {"merges": [["a", 5]]}}, r"at \$.model.merges\[0\]: expected a pair of tokens"),
        ({"model": {"merges": ["a b"]}}, r"merges\[0\]: the result 'ab' of the merge 'a' \+ 'b' is not in the vocabulary"),
        ({"model": {"merges": ["qq b"]}}, r"merges\[0\]: the left part 'qq'"),
        ({"model": {"merges": {}}}, r"at \$.model.merges: expected a list"),
        ({"model": {"merges": None}}, r"at \$.model.merges: expected a list"),
        ({"normalizer": {"type": "Foo"}}, r"at \$.normalizer: the normalizer 'Foo'"),
        ({"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Foo"}]}}, r"at \$.normalizer.normalizers\[1\]: "),
        ({"normalizer": {}}, r"at \$.normalizer.type: expected a string, found None"),
        ({"pre_tokenizer": {"type": "Magic"}}, r"at \$.pre_tokenizer: the pre-tokenizer 'Magic'"),
        ({"pre_tokenizer": {"type": "Metaspace"}}, r"at \$.pre_tokenizer.replacement: expected a string, found None"),
        ({"pre_tokenizer": sequence(split("(a"))}, r"pattern.Regex: the split pattern '\(a' is wrong at character 1: a group that is not closed"),
        ({"pre_tokenizer": sequence(split(""))}, "the split pattern is empty"),
        ({"pre_tokenizer": sequence({"type": "Split", "behavior": "Isolated"})}, r"pretokenizers\[0\].pattern: expected"),
        ({"pre_tokenizer": {"type": "Sequence", "pretokenizers": {}}}, "expected a list"),
        ({"pre_tokenizer": {"type": "FixedLength", "length": -1}}, r"at \$.pre_tokenizer.length: expected at least 1, found -1"),
        ({"added_tokens": [added(265, "<s>"), added(266, "<s>")]}, r"added_tokens\[1\].id: .* has the id 266 here, but .* gives it 265"),
        ({"added_tokens": [added(265, "<s>"), added(265, "<t>")]}, r"added_tokens\[1\].id: .* has the id 265 here, but .* gives it 266"),
        ({"added_tokens": [added(300, "<s>")]}, r"added_tokens\[0\].id: .* has the id 300 here, but .* gives it 265: it numbers"),
        ({"added_tokens": [added(300, "a")]}, r"gives it 97: the vocabulary says so"),
        ({"added_tokens": [added(-1, "<s>")]}, r"the id -1 is not from 0"),
        ({"added_tokens": [added(265, "")]}, "the added token '' is empty"),
        ({"added_tokens": [added(265, "\ud800")]}, "lone surrogate"),
        ({"added_tokens": [added(265, 5)]}, r"content: expected a string, found 5"),
        ({"added_tokens": [added(265, "<s>", lstrip=1)]}, r"lstrip: expected true or false, found 1"),
        ({"added_tokens": ["<s>"]}, r"at \$.added_tokens\[0\]: expected an object"),
    ],
)  # fmt: skip
def test_foreign_and_damaged_files_are_one_error_with_its_place(sections, said):
    with pytest.raises(FormatError, match=said) as caught:
        parse(document(**sections))
    assert str(caught.value).startswith("t.json: ") or isinstance(caught.value, VocabularyError)  # read() adds the name


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b'{"model": {"merges": []', "line 1 column 24: not JSON"),
        (b'{\n"model": {"a": 1,\n "a": 2}}', "line 3: the key 'a' occurs twice in one object"),
        (b'{"model":\n "\xff\xfe"}', "line 2: byte 0xff at offset 12 is not UTF-8"),
        (b'{"model": NaN}', "contains NaN, which is not JSON"),
        (b'{"model": ' + b"[" * 100_000, "nested too deep"),
        (b'{"model": ' + b"9" * 5000 + b"}", "not a tokenizer: "),
        (b"[1, 2]", r"at \$: expected an object"),
        (b"{}", r"at \$.model: there is no model"),
        (b"", "line 1 column 1: not JSON"),
    ],
)
def test_damage_below_the_json_is_one_error(raw, said):
    with pytest.raises(FormatError, match=said):
        parse(raw)


def test_a_merge_of_a_byte_token_is_an_error():
    texts = [*(f"<0x{byte:02X}>" for byte in range(256)), "b", "<0x41>b", "<unk>"]
    model = {"type": "BPE", "vocab": {text: id for id, text in enumerate(texts)}, "merges": [["<0x41>", "b"]]}
    sections = {
        "pre_tokenizer": None,
        "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]},
    }
    with pytest.raises(VocabularyError, match="event 0: the token with the id 65 is a byte or an added token"):
        parse({"added_tokens": [], "model": model | {"byte_fallback": True, "unk_token": "<unk>"}, **sections})


def test_every_cut_of_a_file_is_one_error():
    raw = json.dumps(document(added_tokens=[added(265, "<s>")]), ensure_ascii=False).encode()
    for cut in range(0, len(raw), 11):
        with pytest.raises(FormatError, match=r"t\.json"):
            parse(raw[:cut])


MARK = "\u2581"
REPLACE = {"type": "Replace", "pattern": {"String": MARK}, "content": " "}
STRIP = {"type": "Strip", "content": " ", "start": 1, "stop": 0}


@pytest.mark.parametrize(
    "steps",
    [
        [{"type": "Fuse"}],
        [{"type": "Metaspace", "replacement": MARK, "prepend_scheme": "always", "split": True}],
        [STRIP, REPLACE, {"type": "ByteFallback"}, {"type": "Fuse"}],
        [REPLACE, {"type": "ByteFallback"}, STRIP],
        [REPLACE, {"type": "ByteFallback"}, {"type": "Fuse"}, STRIP],
    ],
)
def test_decoders_that_do_not_fit_the_model_decode_as_in_tokenizers(tmp_path, steps):
    texts = ["<unk>", MARK, "a", "b", f"{MARK}a", *(f"<0x{byte:02X}>" for byte in range(256))]
    root = {
        "added_tokens": [],
        "normalizer": {"type": "Prepend", "prepend": MARK},
        "pre_tokenizer": {"type": "Metaspace", "replacement": MARK, "prepend_scheme": "never", "split": False},
        "decoder": {"type": "Sequence", "decoders": steps},
        "model": {
            "type": "BPE", "unk_token": "<unk>", "byte_fallback": True, "vocab": {text: id for id, text in enumerate(texts)},
            "merges": [f"{MARK} a"],
        },
    }  # fmt: skip
    (tmp_path / "tokenizer.json").write_text(json.dumps(root))
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    tok = load(tmp_path)
    for text in ("a b", " a", "x\u00e9b", "b  a"):
        ids = theirs.encode(text).ids
        assert tok.encode(text) == ids
        assert tok.decode(ids) == theirs.decode(ids, skip_special_tokens=False)
