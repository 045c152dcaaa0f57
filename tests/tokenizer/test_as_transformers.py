"""`Tokenizer.as_transformers` against transformers' own fast tokenizers, on the same files."""

import copy
import json
import os
import pickle
import random

import numpy as np
import pytest

import tokenmill
from tokenmill import AddedToken, Tokenizer, Vocabulary
from tokenmill.errors import MissingExtraError, UsageError
from tokenmill.vocabulary import Template

transformers = pytest.importorskip("transformers", minversion="5")
BYTES = tuple(bytes([byte]) for byte in range(256))
SPECIALS = {"<s>": 260, "</s>": 261, "<pad>": 262}
CHAT = (
    "{% for m in messages %}<s>{{ m.role }}: {% if m.role == 'assistant' %}{% generation %}{{ m.content }}{% endgeneration %}"
    "{% else %}{{ m.content }}{% endif %}</s>{% endfor %}"
)


def small(template=None, **settings) -> Tokenizer:
    """A tokenizer of bytes and four merges, with three special tokens."""
    tokens = (*BYTES, b"lo", b"low", b"er", b" low")
    added = tuple(AddedToken(content, id) for content, id in SPECIALS.items())
    pair = (("<s>", 0), (0, 0), ("</s>", 0), (1, 1), ("</s>", 1))
    template = template or Template(pair[:3], pair, "prefix")
    return Tokenizer(Vocabulary(tokens, ("gpt2",), added_tokens=added, template=template, **settings))


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """The small tokenizer as transformers' class, from its file, and as tokenmill's."""
    folder = tmp_path_factory.mktemp("small")
    small().save(folder, overwrite=True)
    return transformers.AutoTokenizer.from_pretrained(folder), tokenmill.load(folder).as_transformers()


PIECES = (
    "low",
    " lower",
    " ",
    "  ",
    "\n",
    "é",
    "e\u0301",
    "漢字",
    "🦜",
    "7",
    "<s>",
    "</s>",
    "<|endoftext|>",
    "don't",
    "\u00a0",
)


def random_call(chosen):
    """Texts or words, alone, in batches or in pairs, and options of a call."""
    text = lambda: "".join(chosen.choices(PIECES, k=chosen.randrange(9)))  # noqa: E731
    pair, words = chosen.random() < 0.3, chosen.random() < 0.2
    one = (lambda: [text() or "x" for _ in range(chosen.randrange(1, 4))]) if words else text
    n = chosen.randrange(1, 5)
    texts = [[one() for _ in range(n)] if n > 1 else one() for _ in range(1 + pair)]
    flags = (
        "add_special_tokens",
        "return_special_tokens_mask",
        "return_token_type_ids",
        "return_length",
        "split_special_tokens",
    )
    options = {flag: chosen.random() < 0.6 for flag in flags} | {"is_split_into_words": words}
    options["padding"] = chosen.choice([False, True, "max_length"])
    options["padding_side"] = chosen.choice(["left", "right"])
    options["pad_to_multiple_of"] = chosen.choice([None, 8])
    options["truncation"] = chosen.choice([False, "only_first", "longest_first"] + ["only_second"] * pair)
    if options["truncation"] or options["padding"] == "max_length":
        options["max_length"] = chosen.choice([5, 9, 30])
    if options["truncation"]:
        options["return_overflowing_tokens"] = chosen.random() < 0.4
        options["stride"] = int(options["return_overflowing_tokens"] and options["max_length"] > 5 and not pair)
    options["return_tensors"] = chosen.choice([None, None, "np"])
    return texts, options


def result_of(tokenizer, texts, options):
    """The result as lists, or the kind of error."""
    try:
        data = tokenizer(*texts, **options)
    except Exception:
        return "an error"
    return json.loads(json.dumps(dict(data), default=lambda array: array.tolist()))


def check_calls(theirs, ours, seed, calls):
    chosen = random.Random(seed)
    for _ in range(calls):
        texts, options = random_call(chosen)
        theirs.truncation_side = ours.truncation_side = chosen.choice(["left", "right"])
        expected = result_of(theirs, texts, options)
        result = result_of(ours, texts, options)
        assert result == expected, (texts, options, theirs.truncation_side)
        if not options["return_tensors"] and expected != "an error":
            rows = expected["input_ids"]
            rows = rows if rows and isinstance(rows[0], list) else [rows]
            for skip in (False, True):
                expected_texts = theirs.batch_decode(rows, skip_special_tokens=skip)
                assert ours.batch_decode(rows, skip_special_tokens=skip) == expected_texts


@pytest.mark.parametrize("seed", range(3))
def test_calls_give_what_transformers_gives(pair, seed):
    check_calls(*pair, seed, 150)


@pytest.mark.parametrize(
    ("name", "pad"),
    [("gpt2", "<|endoftext|>"), ("llama3.1", "<|end_of_text|>"), ("qwen3", "<|endoftext|>"), ("mistral-v3", "</s>"),
     ("whisper-tiny", "<|endoftext|>"), *([("gemma2", "<pad>")] if "TOKENMILL_SWEEP" in os.environ else [])],
)  # fmt: skip
def test_published_tokenizers_give_what_transformers_gives(shared, tmp_path, name, pad):
    import zstandard

    path = tmp_path / "tokenizer.json"
    with zstandard.open(shared / "vocab" / f"{name}-tokenizer.json.zst", "rb") as file:
        path.write_bytes(file.read())
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_file=str(path), pad_token=pad)
    ours = tokenmill.load(path).as_transformers(pad_token=pad)
    assert ours.get_vocab() == theirs.get_vocab() and len(ours) == len(theirs)
    assert ours("low").input_ids == tokenmill.load(path).encode("low", add_special_tokens=True)
    check_calls(theirs, ours, 1, 120)
    # Offsets: the same, but tokenmill's cover all characters of a token (a decomposed é), and no text for a space that is not in it.
    chosen = random.Random(2)
    for _ in range(200):
        text = "".join(chosen.choices(PIECES, k=chosen.randrange(9)))
        expected, result = (tokenizer(text, return_offsets_mapping=True) for tokenizer in (theirs, ours))
        for their_span, span in zip(expected.offset_mapping, result.offset_mapping, strict=True):
            same = span == their_span or (span[0] == their_span[0] and text[their_span[1] : span[1]] == "\u0301")
            assert same or (span[0] == span[1] == their_span[0] and their_span[1] == span[0] + 1), text


def test_offsets_are_those_of_transformers(pair):
    """With its trimmed spaces, as the post-processor says; the pattern has no normalization."""
    theirs, ours = pair
    chosen = random.Random(3)
    for _ in range(200):
        texts = ["".join(chosen.choices(PIECES, k=chosen.randrange(9))) for _ in range(3)]
        options = {
            "return_offsets_mapping": True,
            "padding": chosen.random() < 0.5,
            "is_split_into_words": chosen.random() < 0.3,
        }
        assert ours(texts, **options).offset_mapping == theirs(texts, **options).offset_mapping
        assert (
            ours(*texts[:2], return_offsets_mapping=True).offset_mapping
            == theirs(*texts[:2], return_offsets_mapping=True).offset_mapping
        )


def test_questions_about_tokens_are_answered_as_in_transformers(pair):
    theirs, ours = pair
    encodings = [tokenizer("low lower", "🦜", return_tensors="np") for tokenizer in pair]
    for ask in (
        "tokens()",
        "word_ids()",
        "sequence_ids()",
        "char_to_token(5)",
        "token_to_chars(2)",
        "n_sequences",
        "is_fast",
    ):
        answers = [eval(f"encoding.{ask}", {"encoding": encoding}) for encoding in encodings]
        assert answers[0] == answers[1], ask
    kept = pickle.loads(pickle.dumps(ours("low")))
    assert kept.input_ids == ours("low").input_ids
    assert ours.tokenize("low lower") == theirs.tokenize("low lower") == ["low", "Ġlow", "er"]
    assert ours.convert_tokens_to_string(["low", "Ġlow"]) == "low low"
    assert ours.convert_ids_to_tokens([260, 257], skip_special_tokens=True) == ["low"]
    assert ours.num_special_tokens_to_add() == theirs.num_special_tokens_to_add() == 2
    assert ours.num_special_tokens_to_add(pair=True) == theirs.num_special_tokens_to_add(pair=True) == 3
    assert (ours.vocab_size, len(ours)) == (theirs.vocab_size, len(theirs)) == (260, 263)
    assert ours.special_tokens_map == theirs.special_tokens_map and ours.all_special_ids == theirs.all_special_ids
    assert ours.pad_token_id == 262 and ours.added_tokens_encoder == theirs.added_tokens_encoder == SPECIALS
    assert ours.decode([257, 999, 258]) == theirs.decode([257, 999, 258]) == "lower"
    assert ours.backend_tokenizer.encode("low").ids == ours("low").input_ids


@pytest.mark.parametrize(
    "call",
    [
        {"text": 5},
        {"text": ["low", 5]},
        {"text": ["low"], "text_pair": "low"},
        {"text": ["low"], "text_pair": []},
        {"text": "low", "truncation": True, "max_length": -1},
        {"text": ["low"], "truncation": True, "max_length": 5, "stride": -1},
        {"text": ["low", ""], "padding": True, "padding_side": "Left"},
    ],
)
def test_a_wrong_call_is_an_error(pair, call):
    for tokenizer in pair:
        with pytest.raises((ValueError, TypeError, OverflowError)):
            tokenizer(**call)


def test_special_tokens_that_fill_max_length_are_named(pair):
    with pytest.raises(ValueError, match="the special tokens of a row fill max_length"):
        pair[1](["low"], truncation=True, max_length=2, return_overflowing_tokens=True)


def test_an_empty_batch_has_empty_results(pair):
    assert dict(pair[1]([], padding=True)) == {"input_ids": [], "attention_mask": []}


def test_the_template_is_read_applied_and_written(tmp_path):
    tok = small()
    assert tok.encode("low", add_special_tokens=True) == [260, 257, 261] and tok.encode("low") == [257]
    assert tok.encode("<s>", add_special_tokens=True, allowed_special="all") == [260, 260, 261]
    assert tok.encode_batch(["low", ""], add_special_tokens=True) == [[260, 257, 261], [260, 261]]
    tok.save(tmp_path / "again")
    again = tokenmill.load(tmp_path / "again")
    assert (
        again.vocabulary.template == tok.vocabulary.template
        and "a template adds <s>, </s>" in again.vocabulary.notes[0]
    )
    sep = {"type": "BertProcessing", "sep": ["</s>", 261], "cls": ["<s>", 260]}
    root = json.loads((tmp_path / "again" / "tokenizer.json").read_text())
    (tmp_path / "tokenizer.json").write_text(json.dumps(root | {"post_processor": sep}))
    bert = tokenmill.load(tmp_path / "tokenizer.json").as_transformers()
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "tokenizer.json"))
    for texts in (("low",), ("low", "er")):
        assert dict(bert(*texts, return_token_type_ids=True)) == dict(theirs(*texts, return_token_type_ids=True))
    roberta = {**sep, "type": "RobertaProcessing", "trim_offsets": True, "add_prefix_space": False}
    (tmp_path / "tokenizer.json").write_text(json.dumps(root | {"post_processor": roberta}))
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "tokenizer.json"))
    ours = tokenmill.load(tmp_path / "tokenizer.json").as_transformers()
    for add in (True, False):
        options = {"return_token_type_ids": True, "return_offsets_mapping": True, "add_special_tokens": add}
        assert dict(ours("low  low", "er", **options)) == dict(theirs("low  low", "er", **options))
    assert ours("low", "low", truncation=True, max_length=4).input_ids == [260, 261, 261, 261]


def test_tokens_are_added(pair, tmp_path):
    theirs, ours = copy.deepcopy(pair[0]), copy.deepcopy(pair[1])
    for tokenizer in (theirs, ours):
        assert tokenizer.add_tokens(["new", "low"]) == 2
        assert tokenizer.add_special_tokens({"mask_token": "<mask>"}) == 1
        tokenizer.add_bos_token = False
        tokenizer.add_eos_token = True
    text = "low newlow<mask>"
    assert ours(text).input_ids == theirs(text).input_ids == [257, 32, 263, 257, 264, 261]
    assert ours.decode(ours(text).input_ids, skip_special_tokens=True) == "low newlow"
    ours.save_pretrained(tmp_path)
    for again in (transformers.AutoTokenizer.from_pretrained(tmp_path), type(ours).from_pretrained(tmp_path)):
        assert (
            again(text).input_ids == ours(text).input_ids
            and again.mask_token == "<mask>"
            and again.pad_token == "<pad>"
        )
    assert tokenmill.load(tmp_path).encode(text, allowed_special="all", add_special_tokens=True) == ours(text).input_ids
    assert pair[1].mask_token is None


def test_it_is_pickled_and_hashed_without_what_it_made(pair):
    ours = pair[1]
    size, attributes = len(pickle.dumps(ours)), pickle.dumps(vars(ours))  # datasets hashes the attributes
    ours("low").tokens()
    ours("low", return_offsets_mapping=True)
    assert pickle.dumps(vars(ours)) == attributes
    again = pickle.loads(pickle.dumps(ours))
    assert len(pickle.dumps(ours)) == size and again("low").input_ids == ours("low").input_ids
    assert isinstance(again, transformers.PreTrainedTokenizerFast) and Tokenizer(again.vocabulary) == Tokenizer(
        ours.vocabulary
    )


def test_tokenizers_that_no_other_engine_has_work_too(tmp_path):
    """Picky BPE: the Rust library would give other ids, so what needs it is an error, and the rest is right."""
    texts = ["low lower lowest newest widest " * 3, "slow slower slowest"] * 9
    tok = tokenmill.train_from_iterator(texts, vocab_size=275, refine=0.6, special_tokens=["<pad>"])
    assert len(tok.vocabulary.removed)
    ours = tok.as_transformers()
    assert ours(texts[:2], padding=True, return_tensors="np").input_ids[1][:3].tolist() == tok.encode(texts[1])
    assert [*ours(texts[0], return_offsets_mapping=True).offset_mapping[0]] == tok.encode_with_offsets(
        texts[0]
    ).characters[0].tolist()
    ours.save_pretrained(tmp_path)
    assert tokenmill.load(tmp_path) == tok
    with pytest.raises(tokenmill.errors.ConversionError, match=r"(?i)event|picky"):
        ours("low").word_ids()
    assert copy.deepcopy(ours("low")).data == ours("low").data


def mask_of(ours, messages, **options):
    chat = ours.apply_chat_template(
        messages, chat_template=CHAT, return_assistant_tokens_mask=True, return_dict=True, **options
    )
    return chat, chat["assistant_masks"]


def test_the_mask_of_a_chat_has_the_tokens_of_the_assistant():
    """Where transformers' own mask goes on to the end of the text: an answer of token 0, an answer cut on the left."""
    ours = small(Template()).as_transformers()
    messages = [
        {"role": "user", "content": "low"},
        {"role": "assistant", "content": "🦜"},
        {"role": "user", "content": "er"},
    ]
    chat, mask = mask_of(ours, messages)
    answer = [id for id, marked in zip(chat["input_ids"], mask, strict=True) if marked]
    assert ours.decode(answer) == "🦜" and len(answer) == 4
    first = "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}</s>{{ m.role }}{% endfor %}"
    chat = ours.apply_chat_template(
        [{"role": "user", "content": "low"}], chat_template=first, return_assistant_tokens_mask=True, return_dict=True
    )
    assert chat["assistant_masks"] == [1] + [0] * 4 and chat.char_to_token(0) == 0
    ours.truncation_side = "left"
    for length in range(1, 30):
        cut, mask = mask_of(ours, messages, truncation=True, max_length=length)
        kept = ours.core.decode_bytes([id for id, marked in zip(cut["input_ids"], mask, strict=True) if marked])
        assert "🦜".encode().endswith(kept) and len(kept) == min(4, max(0, length - len("</s>user: er</s>") + 7))
    batch, masks = mask_of(ours, [messages, messages[:2]], padding=True, return_tensors="np")
    assert masks.shape == batch["input_ids"].shape and masks.sum(1).tolist() == [4, 4]


def test_without_transformers_the_error_names_the_extra(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtraError, match="'transformers'"):
        small().as_transformers()


def test_wrong_settings_are_errors_that_say_what_is_allowed():
    for settings, message in (
        ({"pad_token": 5}, "pad_token is 5, of the type int; it must be text, an AddedToken or None"),
        ({"padding_side": "x"}, "padding_side is 'x', of the type str; it must be 'left' or 'right'"),
        ({"truncation_side": 5}, "truncation_side is 5, .* 'left' or 'right'"),
        ({"model_max_length": "x"}, "it must be a number or None"),
        ({"model_input_names": 5}, "it must be a list of texts"),
        ({"chat_template": 5}, "it must be text, a mapping or None"),
        ({"extra_special_tokens": 5}, "it must be a list of texts, AddedTokens or None, a mapping or None"),
        ({"added_tokens_decoder": 5}, "transformers does not accept the settings added_tokens_decoder"),
    ):
        with pytest.raises(UsageError, match=message):
            small().as_transformers(**settings)


def test_a_misspelt_setting_is_an_error_and_one_of_a_model_is_stored():
    for wrong, right in {
        "pad_tokn": "pad_token",
        "paddding_side": "padding_side",
        "chat_templat": "chat_template",
    }.items():
        with pytest.raises(UsageError, match=rf"no option '{wrong}'. Did you mean '{right}'"):
            small().as_transformers(**{wrong: "left"})
    models = {"eot_token": "<eot>", "boi_token": "<boi>", "image_token": "<image>"}
    tokenizer = small().as_transformers(**models)
    assert models.items() <= tokenizer.special_tokens_map.items()


def test_datasets_and_trainer_take_it(pair, tmp_path):
    torch, datasets = pytest.importorskip("torch"), pytest.importorskip("datasets")
    pytest.importorskip("accelerate")
    theirs, ours = pair
    rows = datasets.Dataset.from_dict({"text": ["low lower", "er low low", "🦜"] * 4})
    encoded = [rows.map(lambda batch, t=t: t(batch["text"]), batched=True, remove_columns="text") for t in pair]
    assert encoded[0][:] == encoded[1][:]
    collate = transformers.DataCollatorForLanguageModeling(ours, mlm=False)
    expected = transformers.DataCollatorForLanguageModeling(theirs, mlm=False)([*encoded[0]])
    assert all(torch.equal(value, expected[name]) for name, value in collate([*encoded[1]]).items())
    config = transformers.GPT2Config(vocab_size=len(ours), n_layer=1, n_head=1, n_embd=8, n_positions=32)
    settings = transformers.TrainingArguments(str(tmp_path), max_steps=2, save_steps=2, report_to=[], use_cpu=True)
    model = transformers.GPT2LMHeadModel(config)
    trainer = transformers.Trainer(
        model, settings, train_dataset=encoded[1], data_collator=collate, processing_class=ours
    )
    trainer.train()
    assert tokenmill.load(tmp_path / "checkpoint-2") == Tokenizer(ours.vocabulary)
    assert ours(["low", "low lower"], padding=True, return_tensors="pt").input_ids.dtype == torch.int64
    assert np.array_equal(ours(["low"], return_tensors="pt").input_ids, ours(["low"], return_tensors="np").input_ids)


def test_a_role_does_not_change_the_token_that_has_it(tmp_path):
    tokens = (*BYTES, b"lo", b"low", b"er", b" low")
    tok = Tokenizer(Vocabulary(tokens, ("gpt2",), added_tokens=(AddedToken("</i>", 260, special=False, lstrip=True),)))
    tok.save(tmp_path / "saved")
    theirs = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(tmp_path / "saved" / "tokenizer.json"), pad_token="</i>"
    )
    ours = tok.as_transformers(pad_token="</i>")
    for tokenizer in (theirs, ours):
        ids = tokenizer("low </i>er").input_ids
        assert ids == [257, 260, 258] and tokenizer.decode(ids, skip_special_tokens=True) == "low</i>er"


def test_padding_belongs_to_no_text(tmp_path):
    small(Template()).save(tmp_path)
    theirs, ours = transformers.AutoTokenizer.from_pretrained(tmp_path), tokenmill.load(tmp_path).as_transformers()
    for texts in ((["low", "low lower"],), (["low", "low lower"], ["er", "low"])):
        results = [tokenizer(*texts, padding=True, return_token_type_ids=True) for tokenizer in (theirs, ours)]
        assert results[0].data == results[1].data
        for row in (0, 1):
            assert results[1].sequence_ids(row) == results[0].sequence_ids(row)
            assert results[1].word_ids(row) == results[0].word_ids(row)


def test_copies_of_a_result_answer_questions_about_tokens(pair):
    for copied in (copy.deepcopy, lambda result: pickle.loads(pickle.dumps(result))):
        expected, result = (copied(tokenizer(["low lower", "🦜"], padding=True)) for tokenizer in pair)
        assert result.data == expected.data and result.tokens() == expected.tokens()
        assert result.word_ids(1) == expected.word_ids(1)
