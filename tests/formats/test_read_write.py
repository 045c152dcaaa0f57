"""Reading any file: compressed, marked, misnamed, missing, bombs; and what transformers writes."""

import bz2
import gzip
import io
import lzma
import os
import shutil
import struct
import threading
import tracemalloc

import pytest
import zstandard
from transformers import AutoTokenizer
from transformers.convert_slow_tokenizer import TikTokenConverter

import tokenmill
from tokenmill import Tokenizer, load
from tokenmill.errors import ConversionError, FormatError, InputError, UsageError
from tokenmill.formats import FORMATS, file_content, read, write
from tokenmill.formats.rank_merges import ranks_of
from tokenmill.quality.change_job import Convert
from tokenmill.split.patterns import PATTERNS
from tokenmill.split.spelling import to_oniguruma
from tokenmill.vocabulary import AddedToken, Vocabulary

TEXTS = ["low lower lowest", "  newest\t\n wider 123", "low<|endoftext|>est", "\u00e9t\u00e9 \u6f22"]
PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstandard.compress, ".txt": bytes}


def encoded(vocabulary):
    return [Tokenizer(vocabulary).encode(text, allowed_special="all") for text in TEXTS]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_is_opened_once(ranked, tmp_path):
    """As from `--tokenizer <(zstd -dc FILE)`: what was read to tell the format is not there again."""
    write(ranked, tmp_path / "it.gguf", "gguf")
    os.mkfifo(tmp_path / "pipe")
    threads = [
        threading.Thread(target=target, daemon=True)
        for target in (
            lambda: (tmp_path / "pipe").write_bytes((tmp_path / "it.gguf").read_bytes()),
            lambda: found.append(read(tmp_path / "pipe")),
        )
    ]
    found = []
    for thread in threads:
        thread.start()
    threads[1].join(10)
    assert [vocabulary.n_vocab for vocabulary in found] == [ranked.n_vocab]


@pytest.mark.parametrize("name", ["tokenizer.json", "new/cl100k.tiktoken", "it.gguf"])
def test_a_folder_is_not_given_the_name_of_a_file(name, ranked, tmp_path):
    """As from `save("tokenizer.json")` of tokenizers. The file is in the folder."""
    with pytest.raises(UsageError, match="is the name of a file, but the format huggingface is a folder"):
        write(ranked, tmp_path / name)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("file", ["tokenizer.json", "it.tiktoken"])
def test_compressed_files_are_read_whatever_their_name(suffix, file, ranked, tmp_path):
    write(ranked, tmp_path / "it.tiktoken", "tiktoken")
    write(ranked, tmp_path / "folder")
    source = tmp_path / "it.tiktoken" if "tiktoken" in file else tmp_path / "folder" / file
    packed = tmp_path / f"packed{suffix}"
    packed.write_bytes(PACKERS[suffix](source.read_bytes()))
    split = {"split": "gpt2", "special_tokens": ranked.special_tokens} if "tiktoken" in file else {}
    misnamed = shutil.copy(packed, tmp_path / "misnamed.json")
    assert encoded(read(packed, **split)) == encoded(ranked) == encoded(read(misnamed, **split))
    packed.write_bytes(PACKERS[suffix](source.read_bytes())[:-9])
    with pytest.raises(FormatError, match=str(packed)):
        read(packed, **split)


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_what_unpacks_to_no_end_is_refused(suffix, tmp_path, monkeypatch):
    monkeypatch.setattr(file_content, "_MAX_BYTES", 1 << 20)
    bomb = tmp_path / f"bomb{suffix}"
    bomb.write_bytes(PACKERS[suffix](b"IQ== 0\n" * 500_000))
    assert bomb.stat().st_size < 20_000
    with pytest.raises(FormatError, match="contains more than 1 MiB, too much for a vocabulary"):
        read(bomb, split="gpt2")


def test_marks_and_line_ends_of_other_systems(plain, tmp_path):
    write(plain, tmp_path)
    path = tmp_path / "tokenizer.json"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert encoded(read(tmp_path)) == encoded(plain)
    for form, name in (("merges", "merges.txt"), ("ddtok", "merges.ddtok")):
        shutil.rmtree(tmp_path)
        write(plain, tmp_path, form)
        path = tmp_path / name
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
        assert read(tmp_path, split="gpt2").events.tolist() == plain.events.tolist()


def test_what_is_none_of_the_formats_is_told(tmp_path):
    (tmp_path / "text").write_text("Once upon a time\n")
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    (tmp_path / "vector.json").write_text("[1, 2]")
    for name in ("text", "binary", "vector.json"):
        with pytest.raises(
            FormatError, match=r"this is .*not a vocabulary. The formats that can be read are huggingface, "
        ):
            read(tmp_path / name)
    (tmp_path / "config.json").write_text('{"vocab_size": 5}')
    with pytest.raises(
        InputError, match="half of a vocabulary, and the name of the other half does not follow from its name"
    ):
        read(tmp_path / "config.json")
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        FormatError, match=r"no tokenizer in this folder. It needs tokenizer.json, tekken.json, .* or a .gguf"
    ):
        read(tmp_path / "empty")
    with pytest.raises(InputError, match="no such file or folder"):
        read(tmp_path / "nonesuch")
    with pytest.raises(InputError, match="the name of the tokenizer is empty"):
        load("")


def test_a_folder_with_one_tiktoken_file(ranked, tmp_path):
    write(ranked, tmp_path / "it.tiktoken", "tiktoken")
    assert read(tmp_path).fingerprint() == ranked.fingerprint()


@pytest.mark.parametrize("kind", ["plain", "ranked"])
def test_what_transformers_saves_again_has_the_same_ids(kind, request, tmp_path):
    vocabulary = request.getfixturevalue(kind)
    write(vocabulary, tmp_path / "ours")
    AutoTokenizer.from_pretrained(tmp_path / "ours").save_pretrained(tmp_path / "theirs")
    assert encoded(read(tmp_path / "theirs")) == encoded(vocabulary)


def test_a_vocabulary_of_ranks_as_transformers_converts_it(ranked, tmp_path, monkeypatch):
    """It lists every way to cut a token in two as a merge, and leaves the special tokens to be added."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    write(ranked, tmp_path / "it.tiktoken", "tiktoken")
    converter = TikTokenConverter(str(tmp_path / "it.tiktoken"), to_oniguruma(PATTERNS["gpt2"]), False, [])
    converter.converted().save(str(tmp_path / "tokenizer.json"))
    found = read(tmp_path / "tokenizer.json")
    assert len(found.events) > len(set(found.events[:, 2].tolist()))
    assert [Tokenizer(found).encode_ordinary(text) for text in TEXTS] == [
        Tokenizer(ranked).encode_ordinary(text) for text in TEXTS
    ]
    tokens, _ = ranks_of(found, "tiktoken")
    assert tokens[: len(ranked.tokens)] == list(ranked.tokens)


def test_reading_takes_no_more_memory_than_the_file(tmp_path):
    """A read of the limit asks for a GiB, which systems that do not overcommit refuse."""
    path = tmp_path / "tokenizer.json"
    path.write_bytes(b"x" * 5000)
    tracemalloc.start()
    try:
        assert file_content.read_bytes(path) == b"x" * 5000
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def trained_model(symbols, **options):
    """A SentencePiece BPE model whose symbols of the user meet the space that is put before a text."""
    sentencepiece = pytest.importorskip("sentencepiece")
    texts = ["the quick brown fox [INST] jumps over lowest lower low newest widest 123"] * 20
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=(data := io.BytesIO()), model_type="bpe", vocab_size=380,
        hard_vocab_limit=False, byte_fallback=True, minloglevel=2, user_defined_symbols=symbols, **options,
    )  # fmt: skip
    return data.getvalue()


@pytest.mark.parametrize("symbols", [["[INST]", "[/INST]"], ["[A]", "[A]x"]])
def test_a_model_that_another_format_would_give_other_ids_is_not_written(tmp_path, symbols):
    path = tmp_path / "tokenizer.model"
    path.write_bytes(trained_model(symbols, normalization_rule_name="identity"))
    tok = load(path)
    with pytest.raises(ConversionError, match=r"would give '.*' the ids \[.*\], not \["):
        tok.save(tmp_path / "saved")
    with pytest.raises(ConversionError, match="would give"):
        Convert(tokenizer=str(path), output=tmp_path / "converted", to="huggingface").run()
    assert [entry.name for entry in tmp_path.iterdir()] == ["tokenizer.model"]
    tok.save(tmp_path / "again.model", format="sentencepiece")
    assert load(tmp_path / "again.model").encode(" low <a b>\n") == tok.encode(" low <a b>\n")


@pytest.mark.parametrize("symbols", [[], ["[INST] ", "<a b>"]])
def test_a_model_that_tokenizer_json_can_hold_is_written(tmp_path, symbols):
    (tmp_path / "tokenizer.model").write_bytes(trained_model(symbols, normalization_rule_name="identity"))
    tok = load(tmp_path / "tokenizer.model")
    tok.save(tmp_path / "saved")
    assert load(tmp_path / "saved").encode(" low [INST] <a b>\n") == tok.encode(" low [INST] <a b>\n")


@pytest.mark.parametrize("options", [{}, {"remove_extra_whitespaces": False}, {"add_dummy_prefix": False}])
@pytest.mark.parametrize("rule", ["identity", "nmt_nfkc"])
def test_symbols_of_white_space_give_the_ids_of_sentencepiece(tmp_path, rule, options):
    data = trained_model(["\u2581\u2581", "\n"], normalization_rule_name=rule, **options)
    (tmp_path / "tokenizer.model").write_bytes(data)
    model = pytest.importorskip("sentencepiece").SentencePieceProcessor(model_proto=data)
    tok = load(tmp_path / "tokenizer.model")
    for text in ("", "\n", " \n", "  low  \n the", "\nlow", " \u2581a", "low   ", "½\n½"):
        assert tok.encode(text) == model.encode(text), text


def test_a_converted_file_that_its_library_cannot_read_is_not_written(tmp_path):
    messages = pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
    model = messages.ModelProto.FromString(trained_model(["[A]"], normalization_rule_name="identity"))
    model.normalizer_spec.precompiled_charsmap = struct.pack("<I", 1024) + bytes(1026)
    path = tmp_path / "tokenizer.model"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(ConversionError, match=r"sentencepiece .* cannot read this file"):
        load(path).save(tmp_path / "again.model", format="sentencepiece")
    assert [entry.name for entry in tmp_path.iterdir()] == ["tokenizer.model"]


@pytest.mark.parametrize("format", FORMATS)
def test_ids_that_no_file_may_have_are_not_written(tmp_path, format):
    """A file with higher ids is refused when it is read."""
    tokens = tuple(bytes([i]) for i in range(256))
    highest = Vocabulary(tokens, ("gpt2",), added_tokens=(AddedToken("<a>", 2**21),))
    with pytest.raises(ConversionError, match=r"the highest id is 2,097,152; files have ids up to 2,097,151"):
        Tokenizer(highest).save(tmp_path / "a", format=format)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("format", FORMATS)
def test_the_name_of_an_output_may_not_be_empty(format):
    tok = Tokenizer(Vocabulary(tuple(bytes([i]) for i in range(256)), ("gpt2",)))
    with pytest.raises(UsageError, match="the name of the output is empty"):
        tok.save("", format=format)


def test_a_folder_with_several_tokenizers_is_refused(tmp_path):
    tok = Tokenizer(Vocabulary(tuple(bytes([i]) for i in range(256)), ("gpt2",)))
    tok.save(tmp_path / "b.tiktoken", format="tiktoken")
    tok.save(tmp_path / "c.gguf", format="gguf")
    assert load(tmp_path) == tok
    tok.save(tmp_path / "a.tiktoken", format="tiktoken")
    with pytest.raises(FormatError, match=r"several tokenizers are in this folder: a.tiktoken, b.tiktoken, c.gguf"):
        load(tmp_path)


def test_a_tokenizer_that_is_replaced_while_it_is_read_is_an_error(tmp_path, monkeypatch):
    """Or the merges of one were completed by the events of another, and without them it was loaded with other ids."""
    from tokenmill.formats import companions

    counts = tokenmill.WordCounts.from_mapping({b"low": 5, b"lower": 2, b"newest": 6})
    first, second = (tokenmill.train_from_counts(counts, size) for size in (258, 260))
    first.save(tmp_path / "t")
    read = companions.read_companion

    def late(*args):
        second.save(tmp_path / "t", overwrite=True)
        return read(*args)

    monkeypatch.setattr(companions, "read_companion", late)
    with pytest.raises(InputError, match="another file took its place while it was read"):
        tokenmill.load(tmp_path / "t")
    monkeypatch.undo()
    assert tokenmill.load(tmp_path / "t") == second
