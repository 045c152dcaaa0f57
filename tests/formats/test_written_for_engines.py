"""GGUF files and SentencePiece models that tokenmill writes, read back by tokenmill and by the libraries that they are for."""

import io
import re

import pytest
from test_files_of_engines import GPT2, SPM, gguf

import tokenmill
from tokenmill import formats
from tokenmill.errors import ConversionError, FormatError, OutputError
from tokenmill.vocabulary import AddedToken, Normalization, Template

CORPUS = ["the low lower lowest, the newest and the widest row", "été 漢字 123 the  low"] * 9
TEXTS = [*CORPUS[:2], "", " a  b", "<s> the </s>", "\u2581x \n\n 😀", "the<|endoftext|>low", "e\u0301 it's 1234567"]


def same(tok, other):
    return all(tok.encode(text, allowed_special="all") == other.encode(text, allowed_special="all") for text in TEXTS)


@pytest.fixture(scope="module")
def model():
    """model(**options): a trained SentencePiece model, as bytes."""
    sentencepiece = pytest.importorskip("sentencepiece")
    pytest.importorskip("google.protobuf")

    def train(**options):
        written = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(CORPUS), model_writer=written, vocab_size=340, byte_fallback=True, hard_vocab_limit=False,
            minloglevel=2, **{"model_type": "bpe", "normalization_rule_name": "identity", "remove_extra_whitespaces": False} | options,
        )  # fmt: skip
        return written.getvalue()

    return train


@pytest.mark.parametrize("content", ["l", "\u0120the", "\u00e9"])
def test_a_special_token_spelt_like_an_ordinary_one_is_not_written_to_gguf(tmp_path, content):
    trained = tokenmill.train_from_iterator(CORPUS, 300, split="llama3")
    added = trained.vocabulary.replace(added_tokens=(AddedToken(content, 300),))
    with pytest.raises(ConversionError, match=r"and 300 are both spelt .*, and GGUF can represent only one"):
        tokenmill.Tokenizer(added).save(tmp_path / "it.gguf", format="gguf")


@pytest.mark.parametrize("format", ["gguf", "merges"])
def test_of_two_names_of_an_id_the_last_is_written(tmp_path, format):
    trained = tokenmill.train_from_iterator(CORPUS, 300, split="llama3", special_tokens=["<x>"])
    last = trained.vocabulary.added_tokens[0].id
    both = tokenmill.Tokenizer(
        trained.vocabulary.replace(added_tokens=(AddedToken("<x>", last), AddedToken("<y>", last)))
    )
    path = tmp_path / {"gguf": "it.gguf", "merges": "it"}[format]
    notes = both.save(path, format=format)
    again = tokenmill.load(path)
    assert again.encode("the<y>", allowed_special="all") == both.encode("the<y>", allowed_special="all")
    if format == "gguf":
        assert "'<x>' is left out: its id" in notes[0] and "<x>" not in again.special_tokens_set
    else:
        assert again == both  # by the companion


@pytest.mark.parametrize("split", ["gpt2", "llama3", "qwen2", "starcoder", "deepseek-v3"])
def test_byte_level_gguf(tmp_path, split):
    trained = tokenmill.train_from_iterator(CORPUS, 300, split=split, special_tokens=["<|endoftext|>"])
    path = tmp_path / "it.gguf"
    trained.save(path, format="gguf")
    again = tokenmill.load(path)
    assert same(trained, again) and again.vocabulary.special_tokens == trained.vocabulary.special_tokens
    with pytest.raises(OutputError):
        trained.save(path, format="gguf")
    again.save(tmp_path / "twice.gguf", format="gguf")
    assert (tmp_path / "twice.gguf").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("special_tokens", [[], ["<|endoftext|>"]])
def test_a_gguf_without_merges(tmp_path, special_tokens):
    bytes_only = tokenmill.train_from_iterator(
        CORPUS, 256 + len(special_tokens), split="gpt2", special_tokens=special_tokens
    )
    bytes_only.save(tmp_path / "it.gguf", format="gguf")
    again = tokenmill.load(tmp_path / "it.gguf")
    assert same(bytes_only, again) and again.vocabulary.special_tokens == bytes_only.vocabulary.special_tokens
    again.save(tmp_path / "twice.gguf", format="gguf")
    assert (tmp_path / "twice.gguf").read_bytes() == (tmp_path / "it.gguf").read_bytes()


@pytest.mark.parametrize(
    "templates",
    [
        "{{ é }}",
        [{"name": "default", "template": "a"}, {"name": "tool", "template": "b"}],
        [{"name": "x", "template": "c"}],
    ],
)
def test_gguf_keeps_chat_templates(tmp_path, templates):
    vocabulary = tokenmill.train_from_iterator(CORPUS, 300, split="gpt2").vocabulary.replace(
        config={"chat_template": templates}
    )
    assert formats.write(vocabulary, tmp_path / "it.gguf", "gguf") == []
    assert formats.read(tmp_path / "it.gguf").config == {"chat_template": templates}
    library = pytest.importorskip("gguf")
    fields = library.GGUFReader(tmp_path / "it.gguf").fields
    for each in [{"name": "default", "template": templates}] if isinstance(templates, str) else templates:
        name = "" if each["name"] == "default" else f".{each['name']}"
        assert fields[f"tokenizer.chat_template{name}"].contents() == each["template"]


def test_a_chat_template_that_is_not_text(tmp_path):
    vocabulary = tokenmill.train_from_iterator(CORPUS, 300, split="gpt2").vocabulary
    formats.write(vocabulary.replace(config={"chat_template": "xyzzy"}), tmp_path / "it.gguf", "gguf")
    (tmp_path / "it.gguf").write_bytes((tmp_path / "it.gguf").read_bytes().replace(b"xyzzy", b"xy\xffzy"))
    with pytest.raises(FormatError, match=r"tokenizer\.chat_template.*is not Unicode text"):
        formats.read(tmp_path / "it.gguf")


def test_a_model_of_sentencepiece_has_no_chat_template(tmp_path):
    vocabulary = tokenmill.train_from_iterator(CORPUS, 300, target="sentencepiece").vocabulary
    vocabulary = vocabulary.replace(config={"chat_template": "{{ x }}"})
    notes = formats.write(vocabulary, tmp_path / "it.model", "sentencepiece")
    assert notes == ["the chat template is not in the file"]


def test_gguf_by_its_own_reader(tmp_path):
    library = pytest.importorskip("gguf")
    trained = tokenmill.train_from_iterator(CORPUS, 300, split="gpt2", special_tokens=["<|endoftext|>"])
    trained.save(tmp_path / "it.gguf", format="gguf")
    fields = library.GGUFReader(tmp_path / "it.gguf").fields
    tokens = fields["tokenizer.ggml.tokens"].contents()
    assert tokens == [trained.id_to_token(id) for id in range(trained.n_vocab)]
    assert fields["tokenizer.ggml.pre"].contents() == "gpt-2"
    assert fields["tokenizer.ggml.eos_token_id"].contents() == trained.eot_token


@pytest.mark.parametrize("format", ["gguf", "sentencepiece"])
def test_roles_survive(tmp_path, format):
    given = {"bos": "<B>", "eos": "<E>", "pad": "<P>", "unk": "<U>"}
    target = {"target": "sentencepiece"} if format == "sentencepiece" else {"split": "gpt2"}
    trained = tokenmill.train_from_iterator(CORPUS, 330, special_tokens=["<mask>"], roles=given, **target)
    trained.save(tmp_path / "it", format=format)
    expected = {f"{role}_token": text for role, text in {**given, "mask": "<mask>"}.items()}
    assert formats.read(tmp_path / "it").config == expected


def test_settings_that_a_format_lacks_are_told(tmp_path):
    roles = {"bos": "<B>", "eos": "<E>"}
    vocabulary = tokenmill.train_from_iterator(CORPUS, 330, split="gpt2", roles=roles).vocabulary
    template = Template.around(["<B>"], [])
    assert template.pair == (("<B>", 0), (0, 0), ("<B>", 1), (1, 1))
    vocabulary = vocabulary.replace(config={**vocabulary.config, "chat_template": "{{ x }}"}, template=template)
    for format in ("tiktoken", "merges", "ddtok"):
        notes = formats.write(vocabulary, tmp_path / format, format)
        assert notes[-3:] == [
            "the roles of special tokens are not in the file: bos_token '<B>', eos_token '<E>'",
            "the chat template is not in the file",
            "that a template adds <B> to a text is not in the file",
        ]
    assert not any("file" in note for note in formats.write(vocabulary, tmp_path / "it", "huggingface"))
    assert formats.write(vocabulary, tmp_path / "it.gguf", "gguf") == []
    again = formats.read(tmp_path / "it.gguf")
    assert (again.template, again.config) == (template, vocabulary.config)
    both = vocabulary.replace(template=Template.around(["<B>", "<E>"], ["<E>"]))
    assert formats.write(both, tmp_path / "b.gguf", "gguf") == [
        "that a template adds <B>, <E> to a text is not in the file"
    ]
    assert formats.read(tmp_path / "b.gguf").template == Template.around([], ["<E>"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": "cl100k"}, "llama.cpp has none for this one"),
        ({"split": "gpt2", "refine": 0.9}, "lossy=True"),
    ],
)
def test_what_gguf_cannot_hold(tmp_path, options, message):
    trained = tokenmill.train_from_iterator(CORPUS, 300, **options)
    with pytest.raises(ConversionError, match=message):
        trained.save(tmp_path / "it.gguf", format="gguf")
    with pytest.raises(ConversionError, match="stores tokens with scores"):
        trained.save(tmp_path / "it.model", format="sentencepiece")
    assert not any(tmp_path.iterdir())


MODELS = {
    "llama 2": {},
    "user symbols": {"user_defined_symbols": ["<sep>", "low", "  "]},
    "nmt_nfkc": {"normalization_rule_name": "nmt_nfkc", "remove_extra_whitespaces": True},
    "no prefix": {"add_dummy_prefix": False},
    "unigram": {"model_type": "unigram"},
    "unigram, nmt_nfkc": {"model_type": "unigram", "normalization_rule_name": "nmt_nfkc", "remove_extra_whitespaces": True},
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_sentencepiece_models(tmp_path, model, name):
    import sentencepiece

    (tmp_path / "first.model").write_bytes(model(**MODELS[name]))
    first = tokenmill.load(tmp_path / "first.model")
    first.save(tmp_path / "second.model", format="sentencepiece")
    engine = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "second.model"))
    assert all(engine.encode(text) == first.encode_ordinary(text) for text in TEXTS)
    assert tokenmill.load(tmp_path / "second.model") == first


@pytest.mark.parametrize(
    ("message", "changed"),
    [
        ("needs an unknown token", lambda tokens: {"unknown": None}),
        ("the normalizer of this vocabulary", lambda tokens: {"normalization": Normalization(("NFC",))}),
        ("the token b'\\xff' is not UTF-8", lambda tokens: {"tokens": (*tokens, b"\xff")}),
    ],
)
def test_what_a_sentencepiece_model_cannot_hold(tmp_path, message, changed):
    pytest.importorskip("google.protobuf")
    (tmp_path / "it.gguf").write_bytes(gguf(**SPM))
    vocabulary = tokenmill.load(tmp_path / "it.gguf").vocabulary
    tok = tokenmill.Tokenizer(vocabulary.replace(**changed(vocabulary.tokens)))
    with pytest.raises(ConversionError, match=re.escape(message)):
        tok.save(tmp_path / "it.model", format="sentencepiece")


def test_a_sentencepiece_model_of_another_algorithm(tmp_path, model):
    (tmp_path / "it.model").write_bytes(model() + b"\x12\x02\x18\x09")  # one more block of settings: model_type = 9
    with pytest.raises(FormatError, match="unknown algorithm 9"):
        tokenmill.load(tmp_path / "it.model")


@pytest.mark.parametrize("name", MODELS)
def test_scores_in_gguf(tmp_path, model, name):
    (tmp_path / "first.model").write_bytes(model(**MODELS[name]))
    first = tokenmill.load(tmp_path / "first.model")
    if name not in ("llama 2", "no prefix"):
        with pytest.raises(ConversionError):
            first.save(tmp_path / "second.gguf", format="gguf")
        return
    first.save(tmp_path / "second.gguf", format="gguf")
    again = tokenmill.load(tmp_path / "second.gguf")
    assert all(again.encode_ordinary(text) == first.encode_ordinary(text) for text in TEXTS)
    again.save(tmp_path / "third.model", format="sentencepiece")
    assert same(tokenmill.load(tmp_path / "third.model"), first)


def test_tokens_that_llama_cpp_finds_whatever_their_kind(tmp_path):
    """A user's token with a space in it, and an end of text that the file calls an ordinary token."""
    count = len(GPT2["tokens"])
    more = GPT2 | {"tokens": [*GPT2["tokens"], "  ", "<|endoftext|>"], "token_type": [*[1] * count, 4, 1]}
    (tmp_path / "it.gguf").write_bytes(gguf(**more))
    tok = tokenmill.load(tmp_path / "it.gguf")
    assert tok.encode("a  b<|endoftext|>", allowed_special="all")[1:] == [count, tok.encode("b")[0], count + 1]


def test_tokens_that_llama_cpp_finds_beside_scores(tmp_path):
    """As llama.cpp does. A user's token with spaces is in the text, one with U+2581 is merged too, and names make control tokens."""
    count = len(SPM["tokens"])
    names = ["  ", "\u2581\u2581", "<|endoftext|>", "<fim_prefix>"]
    more = {"token_type": [*SPM["token_type"], 4, 4, 1, 4], "scores": [*SPM["scores"], -7.0, -8.0, -9.0, -9.0]}
    (tmp_path / "it.gguf").write_bytes(gguf(**SPM | more | {"tokens": [*SPM["tokens"], *names]}))
    tok = tokenmill.load(tmp_path / "it.gguf")
    tok.save(tmp_path / "again.gguf", format="gguf")
    mark, letter = count - 1, count - 6
    for read in (tok, tokenmill.load(tmp_path / "again.gguf")):
        assert read.encode("l  o") == [mark, letter, count, mark, letter + 1]
        assert read.encode(" l") == [count + 1, letter] and read.encode("  ") == [count]
        assert set(read.special_tokens_set) >= {"<|endoftext|>", "<fim_prefix>"}
        assert not {"  ", "\u2581\u2581"} & set(read.special_tokens_set)


def test_an_ordinary_token_that_llama_cpp_takes_for_a_control_token(tmp_path):
    vocabulary = tokenmill.train_from_iterator(CORPUS, 300, split="gpt2").vocabulary
    with pytest.raises(ConversionError, match="takes '</s>' for a control token"):
        tokenmill.Tokenizer(
            tokenmill.Vocabulary(
                (*vocabulary.tokens, b"</s>"), ("gpt2",), "merges", vocabulary.events, whole_pretokens=False
            )
        ).save(tmp_path / "it.gguf", format="gguf")


def test_gguf_notes_white_space_that_llama_cpp_splits_off(tmp_path):
    split = (
        "[\r\n]",
        r"\s?\p{L}+",
        r"\s?\p{P}+",
        "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+",
        r"\p{N}",
    )  # that of DeepSeek Coder
    vocabulary = tokenmill.train_from_iterator(CORPUS, 300, split=split).vocabulary
    (note,) = formats.write(vocabulary, tmp_path / "it.gguf", "gguf")
    assert note.startswith("llama.cpp separates white space outside of ASCII")
    assert formats.read(tmp_path / "it.gguf").split_patterns != vocabulary.split_patterns


@pytest.mark.filterwarnings("ignore:.*lookahead")
def test_superwords_in_gguf(tmp_path):
    """llama.cpp has one name for words in one pretoken, which keeps three digits together: no merge may join two."""
    options = {"superwords": "superbpe", "stage1_size": 280, "split": "qwen2", "stage2_split": "digits-1"}
    trained = tokenmill.train_from_iterator(CORPUS, 300, **options)
    assert any(b"the " in (token or b"") for token in trained.vocabulary.tokens)
    path = tmp_path / "it.gguf"
    trained.save(path, format="gguf")
    again = tokenmill.load(path)
    assert again.vocabulary.split_patterns == (r"\p{N}+", r"(?=(\d{3})+(?!\d))")
    assert same(trained, again)
    assert all(trained.encode(text) == again.encode(text) for text in ["12345678", "٣٤٥٦ 7½8", "the row 1234 the row"])


@pytest.mark.filterwarnings("ignore:.*lookahead")
def test_superwords_with_bytes_of_two_numbers_in_gguf(tmp_path):
    arabic = "أه " * 99  # two letters whose inner bytes are those of digits: a merge joins them
    tokens = [bytes([i]) for i in range(256)] + [b"\xa3\xd9"]
    vocabulary = tokenmill.train_from_iterator([arabic], 257, split="digits-1").vocabulary.replace(
        tokens=tuple(tokens),
        events=[[0xA3, 0xD9, 256]],
    )
    trained = tokenmill.Tokenizer(vocabulary)
    with pytest.raises(
        ConversionError, match=r"llama.cpp gives other ids to [\d,]+ of the \d+ x \d+ pairs of numbers, such as"
    ):
        trained.save(tmp_path / "it.gguf", format="gguf")
    notes = trained.save(tmp_path / "it.gguf", format="gguf", lossy=True)
    assert "llama.cpp gives other ids" in notes[0]
    again = tokenmill.load(tmp_path / "it.gguf")
    assert again.encode("٣٤٥") != trained.encode("٣٤٥")


def test_gguf_has_no_unknown_token_for_bytes(tmp_path):
    vocabulary = tokenmill.Vocabulary((b"a", b"b"), ("gpt2",), "merges", (), (), False, unknown=0)
    with pytest.raises(ConversionError, match="the unknown token, which GGUF does not have"):
        tokenmill.Tokenizer(vocabulary).save(tmp_path / "x.gguf", format="gguf")
