"""Files of every format, damaged at random: one error of our own, or a vocabulary that works."""

import importlib.util
import json
import os
import re
import struct
from pathlib import Path

import pytest

from tokenmill import formats
from tokenmill.errors import FormatError

SWEEP = int(os.environ.get("TOKENMILL_SWEEP", "1"))


@pytest.fixture(scope="module")
def loaders():
    path = Path(__file__).resolve().parents[2] / "fuzz" / "loaders.py"
    spec = importlib.util.spec_from_file_location("fuzz_loaders", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore:the split pattern")
@pytest.mark.parametrize(
    "layout", ["huggingface", "tiktoken", "merges", "ddtok", "tekken", "ranks", "sentencepiece", "gguf"]
)
def test_whatever_a_file_holds_is_a_vocabulary_or_one_error(loaders, layout):
    assert loaders.run_random(80 * SWEEP, 3600, seed=SWEEP, layout=layout) == 80 * SWEEP


def json_file(loaders, layout, **members):
    """A small file of `layout` with other members."""
    [data] = [data for data in loaders.seeds() if loaders.LAYOUTS[layout] and [*loaders.LAYOUTS][data[0]] == layout]
    root = json.loads(data[1:])
    root["model"] = root.get("model", {}) | members.pop("model", {})
    return json.dumps(root | members).encode()


@pytest.mark.parametrize(
    ("layout", "name", "said"),
    [
        ("gguf-nested", "it.gguf", "a value of the type 9"),
        ("gguf-texts", "it.gguf", "expected a string, found a list of 2 texts"),
        ("byte-id", "tokenizer.json", "the id 1.5 of"),
        ("gguf-kinds", "it.gguf", "token types must be whole numbers"),
        ("gguf-nan", "it.gguf", "piece 3: its score is not a number"),
        ("sentencepiece-nan", "it.model", "piece 3: its score is not a number"),
        ("affix", "tokenizer.json", r"at \$.model.end_of_word_suffix"),
        ("added", "tokenizer.json", r"at \$.added_tokens\[0\]: expected an object, found 0"),
        ("library-id", "tokenizer.json", "the id 2147483648 is not from 0 to"),
        ("ranks", "ranks.json", "expected a rank before the tokens"),
    ],
)  # fmt: skip
def test_damage_in_structure_is_one_error(loaders, tmp_path, layout, name, said):
    vocab = {text: id for id, text in enumerate(["<unk>", *(f"<0x{byte:02X}>" for byte in range(256))])}
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + loaders._gguf_text("tokenizer.ggml.tokens")
    llama = loaders.GGUF_VALUES["gguf-llama"]
    scores = [*llama["scores"][:3], float("nan"), *llama["scores"][4:]]
    data = {
        "gguf-nested": lambda: head + struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 50_000,
        "gguf-texts": lambda: loaders.gguf(loaders.GGUF_VALUES["gguf-llama"] | {"model": ["a", "b"]}),
        "gguf-kinds": lambda: loaders.gguf(llama | {"token_type": [1.5] * len(scores)}),
        "gguf-nan": lambda: loaders.gguf(llama | {"scores": scores}),
        "sentencepiece-nan": lambda: loaders._sentencepiece(2, scores),
        "byte-id": lambda: json_file(
            loaders, "huggingface-characters", model={"vocab": vocab | {"<0x41>": 1.5}, "merges": []}
        ),
        "affix": lambda: json_file(loaders, "huggingface-characters", model={"end_of_word_suffix": [None]}),
        "added": lambda: json_file(loaders, "huggingface-wordpiece", added_tokens=[0]),
        "library-id": lambda: json_file(loaders, "huggingface-wordlevel", model={"vocab": {"<unk>": 0, "a": 1 << 31}}),
        "ranks": lambda: b'{"pat_str": "a", "special_tokens": {}, "bpe_ranks": "!"}',
    }[layout]()
    (tmp_path / name).write_bytes(data)
    with pytest.raises(FormatError, match=said) as failure:
        formats.read(tmp_path / name)
    assert str(failure.value).startswith(str(tmp_path / name))


def test_the_whole_files_of_every_layout_are_read(loaders, monkeypatch):
    read = []
    monkeypatch.setattr(loaders, "use", lambda vocabulary, folder: read.append(vocabulary))
    for data in loaders.seeds():
        loaders.one_input(data)
    assert len(read) == len(loaders.LAYOUTS)


@pytest.mark.parametrize(
    "member",
    ['"chat_template": "\\ud800"', '"chat_template": 1', '"chat_template": [{"name": "a"}]', '"model_max_length": []'],
)
def test_damage_in_tokenizer_config(loaders, tmp_path, member):
    (tmp_path / "tokenizer.json").write_bytes(json_file(loaders, "huggingface-characters"))
    config = tmp_path / "tokenizer_config.json"
    config.write_text('{"chat_template": [{"name": "a", "template": "b"}], "model_max_length": 1e30}')
    formats.write(formats.read(tmp_path), tmp_path / "saved")
    saved = json.loads((tmp_path / "saved" / "tokenizer_config.json").read_text())
    assert saved["chat_template"] == [{"name": "a", "template": "b"}] and saved["model_max_length"] == 1e30
    config.write_text(f"{{{member}}}")
    with pytest.raises(FormatError, match=f"^{re.escape(str(config))}: at "):
        formats.read(tmp_path)
