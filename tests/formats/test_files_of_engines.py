"""The files of llama.cpp, mistral-common and npm's tiktoken: small ones, and damaged ones as one error with the place."""

import base64
import json
import struct

import pytest

import tokenmill
from naive_tables import naive_tables, naive_vocabulary
from tokenmill.errors import FormatError, UsageError
from tokenmill.formats import merges_txt
from tokenmill.formats._bpe_tables_cy import tables_of
from tokenmill.formats.byte_alphabet import CHARACTERS
from tokenmill.formats.file_content import read_bytes
from tokenmill.formats.gguf import parse_gguf
from tokenmill.formats.merges_txt import listed_tables
from tokenmill.split import Splitter

BYTES = [bytes([byte]) for byte in range(256)]


def gguf(**values):
    """The bytes of a GGUF file with these values in its metadata, below tokenizer.ggml."""
    out = struct.pack("<4sIQQ", b"GGUF", 3, 0, len(values))
    for key, value in values.items():
        out += text(f"tokenizer.ggml.{key}")
        if isinstance(value, str):
            out += struct.pack("<I", 8) + text(value)
        elif isinstance(value, bool):
            out += struct.pack("<I?", 7, value)
        elif isinstance(value, int):
            out += struct.pack("<II", 4, value)
        elif isinstance(value[0], str):
            out += struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(text, value))
        else:
            kind, form = (6, "f") if isinstance(value[0], float) else (5, "i")
            out += struct.pack(f"<IIQ{len(value)}{form}", 9, kind, len(value), *value)
    return out


def text(value):
    return struct.pack("<Q", len(value.encode())) + value.encode()


GPT2 = {"model": "gpt2", "pre": "gpt-2", "tokens": [*CHARACTERS, "lo", "low", "<s>"], "token_type": [1] * 258 + [3],
        "merges": ["l o", "lo w"]}  # fmt: skip
SPM = {
    "model": "llama", "tokens": ["<unk>", "<s>", *(f"<0x{byte:02X}>" for byte in range(256)), "l", "o", "w", "lo", "low", "\u2581"],
    "token_type": [2, 3, *[6] * 256, *[1] * 6], "scores": [0.0] * 258 + [-4.0, -5.0, -6.0, -1.0, -2.0, -3.0],
}  # fmt: skip


def load(tmp_path, data, name="it.gguf"):
    (tmp_path / name).write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    return tokenmill.load(tmp_path / name)


def test_small_gguf_files(tmp_path):
    tok = load(tmp_path, gguf(**GPT2) + b"weights" * 100)
    assert tok.encode("low<s>lo", allowed_special="all") == [257, 258, 256]
    assert load(tmp_path, gguf(**GPT2, add_space_prefix=True)).encode("low") == [257]
    tok = load(tmp_path, gguf(**SPM))
    assert tok.encode("low") == [263, 262] and tok.decode([263, 262]) == "low"
    assert tok.encode("\u00e9") == [263, 2 + 0xC3, 2 + 0xA9]
    assert load(tmp_path, gguf(**SPM, add_space_prefix=False)).encode("low") == [262]
    assert tokenmill.load(tmp_path).encode("low") == [262]  # the only file in the folder


@pytest.mark.parametrize(("model", "files"), [("bert", "tokenizer.json"), ("t5", "tokenizer.json or spiece.model")])
def test_other_models_in_gguf_name_the_file_to_load(tmp_path, model, files):
    with pytest.raises(
        FormatError, match=f"model: '{model}' is .*, which tokenmill reads from a {files}. Load that of the model"
    ):
        load(tmp_path, gguf(model=model, tokens=["a", "b"]))


@pytest.mark.parametrize(("pre", "text", "first"), [("jina-v2-de", "a <mask>", "a"), ("gpt-2", "a <mask>", "a ")])
def test_a_mask_takes_the_space_before_it(tmp_path, pre, text, first):
    tok = load(tmp_path, gguf(**GPT2 | {"pre": pre, "tokens": [*GPT2["tokens"][:-1], "<mask>"]}))
    assert tok.decode(tok.encode(text, allowed_special="all")[:-1]) == first


def test_an_end_of_text_that_is_ordinary_beside_another(tmp_path):
    """llama.cpp finds </s> in text, but not in Gemma 4, which it knows by <|tool_response>."""
    tokens = GEMMA["tokens"] + ["<", "/", "s", ">", "</", "</s>", "s>"]
    more = GEMMA | {"tokens": tokens, "token_type": [*GEMMA["token_type"], *[1] * 5, 3, 1], "merges": ["< /", "s >"]}
    assert load(tmp_path, gguf(**more)).encode("</s>", allowed_special="all") == [tokens.index("</s>")]
    more |= {"tokens": [*tokens, "<|tool_response>"], "token_type": [*more["token_type"], 1]}
    assert load(tmp_path, gguf(**more)).encode("</s>", allowed_special="all") == [
        tokens.index("</"),
        tokens.index("s>"),
    ]


@pytest.mark.parametrize(
    ("pre", "text", "count"),
    [
        ("seed-coder", "?!\n\n", 2), ("bailingmoe", "?\n \n\na", 3), ("ufakzeka", "'s", 1), ("minicpm5", "1234", 2), ("exaone4", "1234", 1),
        ("glm5", "1234", 2), ("hy_v4", "1234?a", 3), ("talkie", "aB1234", 4), ("deepseek-coder", "\u3000\u6f22", 2), ("deepseek-llm", "\u3002\u3000", 2),
    ],
)  # fmt: skip
def test_split_patterns_by_the_names_of_llama_cpp(tmp_path, pre, text, count):
    tok = load(tmp_path, gguf(**GPT2 | {"pre": pre}))
    assert len(Splitter(*tok.vocabulary.split_patterns).split(text)) == count
    assert tok.vocabulary.whole_pretokens == (pre in ("minicpm5", "glm5"))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (gguf(**GPT2)[:300], "byte .*: the file ends inside a text"),
        (gguf(**SPM)[:-5], "byte .*: the file ends inside its metadata"),
        (gguf(**GPT2 | {"tokens": [*GPT2["tokens"][:-1], "lo"]}), "at tokenizer.ggml.tokens: a token occurs twice"),
        (gguf(**GPT2 | {"model": "rwkv"}), "tokenizer.ggml.model: 'rwkv' is not one that tokenmill reads: gpt2, llama"),
        (gguf(**GPT2 | {"merges": ["l x q"]}), r"tokenizer.ggml.merges\[0\]: the right part 'x q'"),
        (gguf(**{name: value for name, value in GPT2.items() if name != "merges"}), "tokenizer.ggml.merges is missing"),
        (gguf(**GPT2 | {"token_type": [1]}), "has 259 tokens, 1 token types"),
        (gguf(model="gpt2"), "contains no tokenizer"),
        (gguf(**SPM).replace("\u2581".encode(), b"\xe2\x28\xa1"), "piece 263: .* is not Unicode text"),
        (gguf(**SPM | {"tokens": [*SPM["tokens"][:-1], "low"]}), "piece 263: 'low' is piece 262 already"),
        (gguf(**SPM | {"tokens": [*SPM["tokens"][:-1], "\u2581l"]}), "a space has no piece, and becomes the bytes of \u2581, which"),
        (gguf(**SPM | {"tokens": [*SPM["tokens"][:-4], "a", "lo", "low", "\u2581"]}), "the piece 'low' is made from a character that"),
        (struct.pack("<4sIQQ", b"GGUF", 1, 0, 0), "GGUF of version 1"),
        (struct.pack("<4sIQQ", b"GGUF", 3, 0, 1) + text("a") + struct.pack("<I", 99), "a value of the type 99"),
        (struct.pack("<4sIQQ", b"GGUF", 3, 0, 1) + text("a") + struct.pack("<IIQ", 9, 8, 1 << 60), "is longer than the file"),
    ],
)  # fmt: skip
def test_damaged_gguf_files_are_one_error(tmp_path, data, said):
    with pytest.raises(FormatError, match=said):
        load(tmp_path, data)


def test_a_split_pattern_that_is_not_known_can_be_named(tmp_path):
    known = load(tmp_path, gguf(**GPT2), "known.gguf")
    with pytest.raises(UsageError, match="the file contains its split pattern"):
        tokenmill.load(tmp_path / "known.gguf", split="cl100k")
    with pytest.warns(UserWarning, match="ids may differ from those that are published"):
        forced = tokenmill.load(tmp_path / "known.gguf", split="cl100k", force=True)
    assert forced.vocabulary.split_patterns == tuple(Splitter("cl100k").patterns)
    assert forced.vocabulary.tokens == known.vocabulary.tokens
    with pytest.raises(UsageError, match="name it with split"):
        tokenmill.load(tmp_path / "known.gguf", force=True)
    with pytest.raises(UsageError, match=r"does not know the split pattern 'nonesuch'.*Name the pattern"):
        load(tmp_path, gguf(**GPT2 | {"pre": "nonesuch"}))
    tok = tokenmill.load(tmp_path / "it.gguf", split="cl100k")
    assert tok.vocabulary.split_patterns == tuple(Splitter("cl100k").patterns)
    assert tok.encode("low") == known.encode("low") == [257]


GEMMA = {
    "model": "gemma4", "tokens": ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), "l", "o", "w", "lo", "low", "\u2581", "<x>"],
    "token_type": [2, *[6] * 256, *[1] * 6, 4], "merges": ["l o", "lo w"],
}  # fmt: skip


@pytest.mark.parametrize(
    "values",
    [
        GPT2,
        GPT2 | {"tokens": [*GPT2["tokens"][:-1], "<|im_end|>"], "token_type": [1] * 258 + [4]},  # the end of a text
        GPT2 | {"tokens": [*GPT2["tokens"][:-2], "", "\u4e00"], "merges": ["l o"]},  # no text is encoded to these
        GEMMA,
        GEMMA | {"merges": ["l o", "lo w", "l o"]},  # of a pair that is listed twice the last counts
    ],
)
def test_the_kernel_reads_gguf_as_the_slow_reader_does(values, monkeypatch):
    monkeypatch.setattr(merges_txt, "listed_tables", None)
    ours = parse_gguf(gguf(**values), "it.gguf")
    monkeypatch.setattr(merges_txt, "listed_tables", listed_tables)
    monkeypatch.setattr("tokenmill.formats.gguf.BpeTables", lambda *_, listed: tables_of(["a", "a"]))  # as if unusual
    slow = parse_gguf(gguf(**values), "it.gguf")
    monkeypatch.setattr(merges_txt, "listed_tables", naive_tables)
    monkeypatch.setattr(merges_txt, "merged_vocabulary", naive_vocabulary)
    theirs = parse_gguf(gguf(**values), "it.gguf")
    for vocabulary in (ours, slow):
        assert vocabulary.fingerprint() == theirs.fingerprint() and vocabulary.added_tokens == theirs.added_tokens


@pytest.mark.parametrize("name", ["gpt-2", "llama-bpe", "qwen2", "starcoder", "gemma-4"])
def test_published_gguf_files_are_read_by_the_kernel(shared, name, monkeypatch):
    path = shared / "vocab" / f"{name}.gguf.zst"
    monkeypatch.setattr(merges_txt, "listed_tables", None)
    assert parse_gguf(read_bytes(path), str(path)).n_vocab > 30_000


def encoded(token):
    return base64.b64encode(token).decode()


TOKENS = [*BYTES, b"lo", b"low", b"unused"]
TEKKEN = {
    "config": {"pattern": r"\w+|\W+", "default_vocab_size": 260, "default_num_special_tokens": 2},
    "vocab": [{"rank": rank, "token_bytes": encoded(token), "token_str": None} for rank, token in enumerate(TOKENS)],
    "special_tokens": [{"rank": 0, "token_str": "<unk>", "is_control": True}],
}
NPM = {
    "pat_str": r"\w+|\W+",
    "special_tokens": {"<s>": 300},
    "bpe_ranks": "! 0 " + " ".join(map(encoded, BYTES)) + "\n! 256 " + " ".join(map(encoded, TOKENS[256:])),
}


def test_ranks_in_json(tmp_path):
    tok = load(tmp_path, NPM, "gpt.json")
    assert tok.encode("low<s>", allowed_special="all") == [257, 300] and tok.split_pattern == NPM["pat_str"]
    tok = load(tmp_path, TEKKEN, "tekken.json")
    assert tok.encode("lo low") == [258, 34, 259] and tok.special_tokens_set == {"<unk>", "<SPECIAL_1>"}
    assert tok.n_vocab == 260
    lines = {key: value for key, value in TEKKEN.items() if key != "vocab"} | {"bpe_ranks": NPM["bpe_ranks"]}
    assert load(tmp_path, lines, "tekken.json").vocabulary.fingerprint() == tok.vocabulary.fingerprint()
    lines["bpe_ranks"] += "\n\n"
    assert load(tmp_path, lines, "tekken.json").vocabulary.fingerprint() == tok.vocabulary.fingerprint()


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (NPM | {"bpe_ranks": "! zero AA=="}, r"at \$.bpe_ranks: expected a rank"),
        (NPM | {"bpe_ranks": "! 0 AA== =="}, r"at \$.bpe_ranks: '==' is not base64"),
        (NPM | {"bpe_ranks": "! 0 AA== AA=="}, "occurs twice"),
        (TEKKEN | {"config": TEKKEN["config"] | {"default_vocab_size": 900}}, r"at \$.config.default_vocab_size"),
        (TEKKEN | {"vocab": [{"rank": "x", "token_bytes": "AA=="}]}, r"at \$.vocab\[0\].rank: expected an integer"),
    ],
)
def test_damaged_ranks_in_json_are_one_error(tmp_path, raw, said):
    with pytest.raises(FormatError, match=said):
        load(tmp_path, raw, "ranks.json")
