"""What a load saves for the next one: the same tokenizer comes back, and nothing wrong is ever used."""

import json
import os
import pickle
import subprocess
import sys
from random import Random

import numpy as np
import pytest
from random_vocabularies import random_events, random_merges, random_ranks, random_text

import tokenmill
from tokenmill.formats.byte_alphabet import CHARACTERS
from tokenmill.tokenizer import saved
from tokenmill.vocabulary import AddedToken, Vocabulary
from tokenmill.vocabulary.surgery import with_special_tokens

METASPACE = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
WORDS = {"type": "Split", "pattern": {"Regex": r"[\p{L}]+|[\p{N}]"}, "behavior": "Removed", "invert": True}
SPACES = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
LETTERS = ["[UNK]", "[CLS]", *"delorstw", "é"]
PIPELINES = {
    "WordPiece": {
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "vocab": [*LETTERS, "low", "##er"]},
        "normalizer": {"type": "BertNormalizer", "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
    },
    "WordLevel": {
        "model": {"type": "WordLevel", "unk_token": "[UNK]", "vocab": [*LETTERS, "low", "lower", "é!"]},
        "pre_tokenizer": {"type": "Whitespace"},
    },
    "Unigram": {
        "model": {"type": "Unigram", "unk_id": 0, "byte_fallback": True, "vocab": [*LETTERS, "\u2581low", "er", "\u2581", "<0x21>"]},
        "normalizer": {"type": "Sequence", "normalizers": [SPACES, {"type": "NFKC"}, {"type": "Lowercase"}]},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, METASPACE]},
        "decoder": {"type": "Sequence", "decoders": [METASPACE, SPACES | {"content": "  "}]},
    },
    "BPE of characters": {
        "model": {"type": "BPE", "unk_token": "[UNK]", "end_of_word_suffix": "</w>", "fuse_unk": True, "merges": ["l o", "lo w</w>"],
                  "vocab": [*LETTERS, "w</w>", "lo", "low</w>"]},
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": WORDS,
        "decoder": {"type": "BPEDecoder", "suffix": "</w>"},
    },
    "BPE of bytes": {
        "model": {"type": "BPE", "ignore_merges": True, "merges": ["l o", "lo w"], "vocab": [*CHARACTERS, "lo", "low", "[CLS]", "er"]},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [WORDS | {"invert": False, "behavior": "MergedWithNext"}, BYTE_LEVEL]},
        "decoder": BYTE_LEVEL,
    },
}  # fmt: skip
CHANGED = '{"chat_template": "{{ changed }}"}'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where tokenizers of any size are saved."""
    monkeypatch.setenv("TOKENMILL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(saved, "FEWEST_TOKENS", 0)
    return tmp_path / "cache" / "tables"


@pytest.fixture
def path(tok, tmp_path):
    tok.save(tmp_path / "tok")
    return tmp_path / "tok"


@pytest.fixture(params=PIPELINES)
def pipeline(request, tmp_path):
    """The path of one of PIPELINES, with added tokens."""
    raw = PIPELINES[request.param]
    texts = raw["model"]["vocab"]
    scores = [[text, -1.5 - n / 7] for n, text in enumerate(texts)]
    vocab = scores if request.param == "Unigram" else {text: id for id, text in enumerate(texts)}
    flags = {"single_word": False, "lstrip": False, "rstrip": True, "normalized": False}
    added = [
        flags | {"id": texts.index("[CLS]"), "content": "[CLS]", "special": True},
        flags | {"id": len(texts), "content": "<a>", "special": False, "normalized": True},
    ]
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(raw | {"model": raw["model"] | {"vocab": vocab}, "added_tokens": added}))
    return path


def is_saved(tok: tokenmill.Tokenizer) -> bool:
    return isinstance(tok.vocabulary, saved.SavedVocabulary)


def again(vocabulary: Vocabulary) -> tuple[tokenmill.Tokenizer, tokenmill.Tokenizer]:
    """A tokenizer, and the same as it comes back from its saved form."""
    built = tokenmill.Tokenizer(vocabulary)
    head, blocks = saved._packed(vocabulary, built.core.kernel.saved())
    return built, tokenmill.Tokenizer(saved.SavedVocabulary.of(json.loads(json.dumps(head)), blocks))


@pytest.mark.parametrize("make", [random_ranks, random_merges, random_events])
def test_a_restored_tokenizer_gives_the_same_ids(make):
    for seed in range(60):
        rng = Random(seed)
        built, restored = again(make(rng))
        for _ in range(5):
            text = random_text(rng).decode("utf-8", "replace")
            try:
                ids = built.encode(text)
            except tokenmill.errors.TokenmillError as error:
                with pytest.raises(type(error)):
                    restored.encode(text)
            else:
                assert restored.encode(text) == ids
                assert restored.decode(ids) == built.decode(ids)


def test_all_fields_come_back():
    vocabulary = Vocabulary(
        (*(bytes([i]) for i in range(256)), b"ab", None, b"abab"),
        ("gpt2", r"(\w)\1|\w"),
        "merges",
        [(97, 98, 256), (256, 256, 258)],
        (AddedToken("<|é|>", 300, lstrip=True), AddedToken("x", 257, special=False)),
        normalizers=("NFC", ("Replace", "a", "b"), ("Strip", True, False)),
        add_prefix_space="first",
        decode_only=((299, b"\xff\x00"),),
        notes=("a note",),
        config={"chat_template": "{{ x }}", "model_max_length": int(1e30)},
        event_counts=np.ones((2, 2), np.uint64),
    )
    with pytest.warns(UserWarning, match="regex module"):
        _, restored = again(vocabulary)
    for name in vocabulary.__dataclass_fields__:
        found, expected = (getattr(each, name) for each in (restored.vocabulary, vocabulary))
        assert np.array_equal(found, expected) if isinstance(expected, np.ndarray) else found == expected, name
    assert restored.vocabulary.fingerprint() == vocabulary.fingerprint()
    assert restored.n_vocab == vocabulary.n_vocab == 301
    changed = with_special_tokens(restored.vocabulary, ["<new>"])
    assert tokenmill.Tokenizer(changed).encode("<new>", allowed_special="all") == [301]


def test_the_second_load_uses_what_the_first_saved(folder, path, text):
    first, second = tokenmill.load(path), tokenmill.load(path)
    assert not is_saved(first)
    assert is_saved(second)
    assert second == first
    assert second.encode(text) == first.encode(text)
    assert second.vocabulary.config == first.vocabulary.config
    assert len(list(folder.iterdir())) == 1


def test_byte_fallback_and_cuts_come_back():
    """As in a SentencePiece file: characters, bytes for the others, one pretoken."""
    tokens = (*(bytes([i]) for i in range(256)), b" ", b"l", b"o", b"w", "é".encode(), b"lo", b" lo", b" low")
    rows = [(257, 258, 261), (256, 261, 262), (262, 259, 263)]
    vocabulary = Vocabulary(
        tokens, (), "scores", rows, whole_pretokens=False, alphabet="characters", byte_tokens=tuple(range(256))
    )
    built, restored = again(vocabulary)
    assert restored.core.cutter is not None
    for text in ("low lowé low", " low" * 1000, "漢 low\x00", "lllow  low"):
        assert restored.encode(text) == built.encode(text)


def test_a_pipeline_comes_back(folder, pipeline, tmp_path):
    first, second = tokenmill.load(pipeline), tokenmill.load(pipeline)
    assert first.vocabulary.pipeline is not None and not is_saved(first)
    assert is_saved(second) and second == first
    for name in first.vocabulary.__dataclass_fields__:
        found, expected = (getattr(each.vocabulary, name) for each in (second, first))
        assert np.array_equal(found, expected) if isinstance(expected, np.ndarray) else found == expected, name
    for tok in (second, pickle.loads(pickle.dumps(second))):
        for text in ("low  lower é! 12 <a> ow", "[CLS]Low", "wo\n low\u3000er漢"):
            try:
                ids = first.encode(text, allowed_special="all")
            except tokenmill.errors.UsageError:  # no token and no unknown token
                with pytest.raises(tokenmill.errors.UsageError):
                    tok.encode(text, allowed_special="all")
                continue
            assert tok.encode(text, allowed_special="all") == ids
            assert tok.decode(ids) == first.decode(ids)
            spans = [each.encode_offsets(text, allowed_special="all").bytes.tolist() for each in (tok, first)]
            assert spans[0] == spans[1]
    second.save(tmp_path / "again")
    assert tokenmill.load(tmp_path / "again") == first


def test_another_content_or_option_is_another_tokenizer(folder, path, tok):
    tokenmill.load(path)
    assert not is_saved(tokenmill.load(path, special_tokens={"<|new|>": 700}))
    tok.add_special_tokens(["<|more|>"]).save(path, overwrite=True)
    changed = tokenmill.load(path)
    assert not is_saved(changed)
    assert "<|more|>" in changed.special_tokens_set


def test_a_file_beside_that_changes_appears_or_goes_is_noticed(folder, path):
    tokenmill.load(path)
    (path / "tokenizer_config.json").write_text(CHANGED)
    assert tokenmill.load(path).vocabulary.config == json.loads(CHANGED)
    assert is_saved(tokenmill.load(path))
    (path / "chat_template.jinja").write_text("{{ appears }}")
    assert tokenmill.load(path).vocabulary.config["chat_template"] == "{{ appears }}"
    assert is_saved(tokenmill.load(path))
    (path / "chat_template.jinja").unlink()
    assert tokenmill.load(path).vocabulary.config == json.loads(CHANGED)


def test_text_that_utf_8_does_not_hold_comes_back(folder, path):
    (path / "tokenizer_config.json").write_text('{"chat_template": "\\ud800 é 漢 😀"}')
    first, second = tokenmill.load(path), tokenmill.load(path)
    assert is_saved(second) and second.vocabulary.config == first.vocabulary.config == {
        "chat_template": "\ud800 é 漢 😀"
    }


@pytest.mark.parametrize("damage", ["bit", "short", "empty", "magic", "longer"])
def test_a_damaged_file_is_not_used_and_is_replaced(folder, path, text, damage):
    ids = tokenmill.load(path).encode(text)
    [file] = folder.iterdir()
    data = file.read_bytes()
    for at in (10, 40, 55, 500, len(data) - 3):
        bit = data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :]
        kinds = {"bit": bit, "short": data[:at], "empty": b"", "magic": b"x" + data, "longer": data + b"x"}
        file.write_bytes(kinds[damage])
        found = tokenmill.load(path)
        assert not is_saved(found)
        assert found.encode(text) == ids
        assert file.read_bytes() == data


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs the right to give files away")
def test_a_file_of_somebody_else_is_not_used(folder, path):
    tokenmill.load(path)
    [file] = folder.iterdir()
    assert is_saved(tokenmill.load(path))
    file.chmod(0o666)
    assert not is_saved(tokenmill.load(path))
    os.chown(file, 12345, 12345)
    assert not is_saved(tokenmill.load(path))


def test_a_folder_that_cannot_be_written_is_no_error(path, tmp_path, monkeypatch):
    monkeypatch.setattr(saved, "FEWEST_TOKENS", 0)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TOKENMILL_CACHE", str(tmp_path / "file"))
    for _ in range(2):
        assert not is_saved(tokenmill.load(path))


def test_it_can_be_turned_off(path, tmp_path, monkeypatch):
    monkeypatch.setattr(saved, "FEWEST_TOKENS", 0)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TOKENMILL_CACHE", "")
    for _ in range(2):
        assert not is_saved(tokenmill.load(path))
    assert not (tmp_path / ".cache").exists()


def test_a_user_without_a_home_loads_too(path, monkeypatch):
    monkeypatch.setattr(saved, "FEWEST_TOKENS", 0)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # as where no home is known
    monkeypatch.delenv("TOKENMILL_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert not is_saved(tokenmill.load(path))
    assert not os.path.exists("~")


def test_the_least_recently_used_files_go(folder, path, tok, monkeypatch):
    tokenmill.load(path)
    [oldest] = folder.iterdir()
    os.utime(oldest, (1, 1))
    monkeypatch.setattr(saved, "MOST_BYTES", 3 * oldest.stat().st_size // 2)
    tok.add_special_tokens(["<|more|>"]).save(path, overwrite=True)
    tokenmill.load(path)
    [left] = folder.iterdir()
    assert left != oldest


def imported(path, *, is_saved: bool) -> str:
    """Which modules that take long to import a program has imported that loads a tokenizer and encodes a text."""
    code = (
        "import sys, tokenmill.tokenizer.saved as saved; saved.FEWEST_TOKENS = 0; import tokenmill; "
        f"tok = tokenmill.load({str(path)!r}); assert (type(tok.vocabulary) is saved.SavedVocabulary) is {is_saved}; "
        "assert 'low' in tok.decode(tok.encode('low lower')); tok.count_tokens('low'); tok.n_vocab; "
        "print([name for name in ('numpy', 'regex', 'tokenmill.split.compiler', 'tokenmill.formats.huggingface') "
        "if name in sys.modules])"
    )
    return subprocess.check_output([sys.executable, "-c", code], text=True)


def test_loading_a_saved_tokenizer_imports_neither_numpy_nor_a_parser(folder, path):
    tokenmill.load(path)
    assert imported(path, is_saved=True) == "[]\n"


def test_loading_a_pipeline_imports_no_numpy(folder, pipeline, monkeypatch):
    tokenmill.load(pipeline)
    assert imported(pipeline, is_saved=True) == "[]\n"
    monkeypatch.setenv("TOKENMILL_CACHE", "")
    assert "numpy" not in (found := imported(pipeline, is_saved=False)) and "regex" not in found
