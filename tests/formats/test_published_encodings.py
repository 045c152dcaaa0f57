"""The published encodings by name: their facts are tiktoken's, their files come from caches, downloads only on demand."""

import base64
import hashlib
import os
import socket

import pytest
from tiktoken_ext import openai_public

from tokenmill.errors import FormatError, InputError
from tokenmill.formats import published_encodings, read
from tokenmill.split.patterns import PATTERNS


@pytest.fixture
def empty_caches(monkeypatch, tmp_path):
    """No encoding is on this machine, and the network is not to be touched."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "tiktoken"))
    monkeypatch.setenv("TOKENMILL_CACHE", str(tmp_path / "ours"))
    (tmp_path / "tiktoken").mkdir()

    def refuse(*args, **kwargs):
        raise OSError("the network is unreachable")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return tmp_path


@pytest.mark.parametrize("name", published_encodings.PUBLISHED)
def test_hashes_patterns_and_special_tokens_are_those_of_tiktoken(name, monkeypatch):
    asked = {}

    def load_tiktoken_bpe(url, expected_hash):
        asked[url] = expected_hash
        return {}

    def data_gym_to_mergeable_bpe_ranks(vocab_bpe_file, encoder_json_file, vocab_bpe_hash, encoder_json_hash):
        asked.update({vocab_bpe_file: vocab_bpe_hash, encoder_json_file: encoder_json_hash})
        return {}

    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", load_tiktoken_bpe)
    monkeypatch.setattr(openai_public, "data_gym_to_mergeable_bpe_ranks", data_gym_to_mergeable_bpe_ranks)
    theirs = openai_public.ENCODING_CONSTRUCTORS[name]()
    ours = published_encodings.PUBLISHED[name]
    assert {published_encodings._HOST + file: digest for file, digest in ours.files.items()} == asked
    assert PATTERNS[ours.split] == theirs["pat_str"]
    assert ours.special_tokens() == theirs["special_tokens"]


def test_every_encoding_of_tiktoken_is_known():
    assert set(published_encodings.PUBLISHED) == set(openai_public.ENCODING_CONSTRUCTORS)


def test_it_comes_from_tiktokens_cache(empty_caches, shared):
    data = (shared / "vocab" / "cl100k_base.tiktoken").read_bytes()
    url = published_encodings._HOST + "encodings/cl100k_base.tiktoken"
    (empty_caches / "tiktoken" / hashlib.sha1(url.encode()).hexdigest()).write_bytes(data)
    found = read("cl100k_base")
    assert found.n_vocab == 100277
    assert found.fingerprint() == read(shared / "vocab" / "cl100k_base.tiktoken").fingerprint()


def test_it_comes_from_our_cache_and_a_damaged_copy_is_passed_over(empty_caches, shared):
    data = (shared / "vocab" / "cl100k_base.tiktoken").read_bytes()
    url = published_encodings._HOST + "encodings/cl100k_base.tiktoken"
    (empty_caches / "tiktoken" / hashlib.sha1(url.encode()).hexdigest()).write_bytes(data[:-5])
    with pytest.raises(InputError, match="is there, but damaged: its hash is wrong"):
        read("cl100k_base")
    (empty_caches / "ours").mkdir()
    (empty_caches / "ours" / "encodings_cl100k_base.tiktoken").write_bytes(data)
    assert read("cl100k_base").n_vocab == 100277


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs links and pipes")
def test_links_pipes_and_folders_in_a_cache_are_passed_over(empty_caches, shared, tmp_path):
    """Others may write in a cache folder: a link may lead anywhere, and a pipe never ends."""
    (empty_caches / "ours").mkdir()
    place = empty_caches / "ours" / "encodings_cl100k_base.tiktoken"
    place.symlink_to(shared / "vocab" / "cl100k_base.tiktoken")
    with pytest.raises(InputError, match="not on this machine"):
        read("cl100k_base")
    place.unlink()
    os.mkfifo(place)
    with pytest.raises(InputError, match="not on this machine"):
        read("cl100k_base")
    place.unlink()
    place.mkdir()
    with pytest.raises(InputError, match="not on this machine"):
        read("cl100k_base")


def test_a_download_replaces_a_link_and_not_its_target(empty_caches, shared, tmp_path, monkeypatch):
    data = (shared / "vocab" / "cl100k_base.tiktoken").read_bytes()
    (empty_caches / "ours").mkdir()
    (tmp_path / "precious").write_bytes(b"precious")
    place = empty_caches / "ours" / "encodings_cl100k_base.tiktoken"
    place.symlink_to(tmp_path / "precious")
    monkeypatch.setattr(published_encodings, "_download", lambda url: data)
    assert read("cl100k_base", download=True).n_vocab == 100277
    assert (tmp_path / "precious").read_bytes() == b"precious"
    assert not place.is_symlink() and place.read_bytes() == data


def test_offline_it_says_where_it_looked_and_what_to_do(empty_caches):
    with pytest.raises(InputError, match=r"not on this machine: looked for .*ours.*download=True, or put https://"):
        read("o200k_base")
    with pytest.raises(InputError, match=r"cannot download https://.*unreachable.*fetch the file elsewhere"):
        read("o200k_base", download=True)
    with pytest.raises(InputError, match=r"no such file or folder, and not one of the published encodings \(gpt2,"):
        read("o300k_base")


def test_a_download_is_kept_only_if_its_hash_is_right(empty_caches, shared, monkeypatch):
    data = (shared / "vocab" / "cl100k_base.tiktoken").read_bytes()
    monkeypatch.setattr(published_encodings, "_download", lambda url: data[:1000])
    with pytest.raises(FormatError, match="the download is not the published file"):
        read("cl100k_base", download=True)
    assert not (empty_caches / "ours").exists()
    monkeypatch.setattr(published_encodings, "_download", lambda url: data)
    assert read("cl100k_base", download=True).n_vocab == 100277
    monkeypatch.delattr(published_encodings, "_download")
    assert read("cl100k_base").n_vocab == 100277


def test_gpt2_is_known_as_the_pair_of_its_files(shared, published_files, monkeypatch, tmp_path):
    """The original pair is rebuilt from the tokenizer.json; its hashes are put in for the published ones."""
    import json

    raw = json.loads(published_files("gpt2"))["model"]
    (tmp_path / "encoder.json").write_text(json.dumps(raw["vocab"]))
    (tmp_path / "vocab.bpe").write_text("\n".join(["#version: 0.2", *raw["merges"], ""]), encoding="utf-8")
    files = {
        f"gpt-2/encodings/main/{name}": hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
        for name in ("encoder.json", "vocab.bpe")
    }
    known = published_encodings.Published(files, "gpt2", lambda: {"<|endoftext|>": 50256})
    monkeypatch.setitem(published_encodings.PUBLISHED, "gpt2", known)
    found = read(tmp_path)
    assert (found.order, found.n_vocab, found.split_patterns) == ("ranks", 50257, (PATTERNS["gpt2"],))
    assert found.special_tokens == {"<|endoftext|>": 50256} and len([t for t in found.tokens if t]) == 50256
    as_merges = read(shared / "vocab" / "gpt2-tokenizer.json.zst")
    assert found.tokens == as_merges.tokens


def test_a_rank_file_known_by_its_hash_brings_its_normalization_and_its_empty_token(tmp_path, monkeypatch):
    """As Qwen's and Whisper's."""
    lines = [f"{base64.b64encode(bytes([byte])).decode()} {byte}\n" for byte in range(256)]
    data = "".join([*lines, "= 256\n"]).encode()
    known = published_encodings.Published({}, "qwen2", lambda: {"<|a|>": 257}, ("NFC",), empty=256)
    monkeypatch.setitem(published_encodings.RANK_FILES, hashlib.sha256(data).hexdigest(), known)
    (tmp_path / "qwen.tiktoken").write_bytes(data)
    vocabulary = read(tmp_path / "qwen.tiktoken")
    assert vocabulary.normalization.normalizers == ("NFC",)
    assert vocabulary.token_bytes(256) == b""
    assert vocabulary.special_tokens == {"<|a|>": 257}


def test_the_special_tokens_of_llama_4_are_in_their_places():
    names = published_encodings.RANK_FILES[
        "d0bdbaf59b0762c8c807617e2d8ea51420eb1b1de266df2495be755c8e0ed6ed"
    ].special_tokens()
    assert len(names) == 2048
    places = {"<|begin_of_text|>": 200000, "<|header_start|>": 200005, "<|image_start|>": 200080, "<|patch|>": 200092}
    places |= {"<|reasoning_thinking_end|>": 201143, "<|reserved_special_token_0|>": 201144}
    assert {name: names[name] for name in places} == places
