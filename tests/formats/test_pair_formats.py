"""Formats of two files: vocab.json + merges.txt, and ddtokens' vocab.ddtok + merges.ddtok."""

import json

import numpy as np
import pytest
from tokenizers import ByteLevelBPETokenizer

from tokenmill import AddedToken, Normalization, Tokenizer, Vocabulary, load
from tokenmill.errors import ConversionError, FormatError, InputError, UsageError
from tokenmill.formats import read, write
from tokenmill.split.patterns import PATTERNS

TEXTS = ["low lower lowest", "  newest\t\n wider ", "\u00e9t\u00e9s \u6f22 \\x41 #a ## \x7f", ""]
PAIRS = {"merges": ("vocab.json", "merges.txt"), "ddtok": ("vocab.ddtok", "merges.ddtok")}


@pytest.fixture(params=PAIRS)
def form(request):
    return request.param


@pytest.mark.parametrize("kind", ["plain", "ranked"])
def test_a_vocabulary_comes_back(form, kind, request, tmp_path):
    vocabulary = request.getfixturevalue(kind)
    notes = write(vocabulary, tmp_path / "it", form)
    assert notes == [
        f"the split pattern is not in the files: {PATTERNS['gpt2']!r}",
        "which tokens are special or added is not in the files: "
        + ", ".join(f"{text!r} ({id})" for text, id in vocabulary.special_tokens.items()),
    ]
    for path in ("it", f"it/{PAIRS[form][0]}", f"it/{PAIRS[form][1]}"):
        assert read(tmp_path / path).fingerprint() == vocabulary.fingerprint()


def test_without_companion(form, plain, tmp_path):
    write(plain, tmp_path, form)
    (tmp_path / "tokenmill.json").unlink()
    if form == "merges":
        with pytest.raises(UsageError, match="does not contain its split pattern"):
            read(tmp_path)
    else:
        assert read(tmp_path).split_patterns == (PATTERNS["ddtokens"],)
    found = read(tmp_path, split="gpt2", special_tokens=plain.special_tokens)
    assert [Tokenizer(found).encode(text) for text in TEXTS] == [Tokenizer(plain).encode(text) for text in TEXTS]


def test_tokenizers_reads_the_pair(plain, tmp_path):
    write(plain, tmp_path, "merges")
    hf = ByteLevelBPETokenizer(str(tmp_path / "vocab.json"), str(tmp_path / "merges.txt"))
    for text in TEXTS:
        assert hf.encode(text).ids == Tokenizer(plain).encode(text)


def test_the_pair_that_tokenizers_writes(plain, tmp_path):
    write(plain, tmp_path / "ours", "merges")
    hf = ByteLevelBPETokenizer(str(tmp_path / "ours" / "vocab.json"), str(tmp_path / "ours" / "merges.txt"))
    hf.save_model(str(tmp_path), "my")
    for name in ("my-vocab.json", "my-merges.txt"):
        found = read(tmp_path / name, split="gpt2")
        assert (found.events == plain.events).all() and found.tokens[: len(plain.tokens)] == plain.tokens
    (tmp_path / "my-merges.txt").unlink()
    with pytest.raises(InputError, match=r"my-merges\.txt, in the same folder"):
        read(tmp_path / "my-vocab.json", split="gpt2")


def test_the_files_beside_tell_added_tokens_and_the_class_tells_the_pattern(plain, tmp_path):
    write(plain.replace(added_tokens=()), tmp_path, "merges")
    (tmp_path / "tokenmill.json").unlink()
    (tmp_path / "added_tokens.json").write_text(json.dumps({"<extra>": 900}))
    (tmp_path / "special_tokens_map.json").write_text(
        json.dumps({"eos_token": {"content": "<end>"}, "pad_token": "low"})
    )
    decoder = {"901": {"content": "<end>", "special": True, "lstrip": True}}
    config = {"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": True, "added_tokens_decoder": decoder}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    found = read(tmp_path)
    assert (found.split_patterns, found.normalization.add_prefix_space) == ((PATTERNS["gpt2"],), True)
    low = plain.tokens.index(b"low")
    assert set(found.added_tokens) == {
        AddedToken("<extra>", 900, special=False), AddedToken("<end>", 901, lstrip=True), AddedToken("low", low)
    }  # fmt: skip
    (tmp_path / "added_tokens.json").write_text(json.dumps({"<extra>": -1}))
    with pytest.raises(FormatError, match="the id -1 of the added token '<extra>' is not from 0"):
        read(tmp_path)
    (tmp_path / "added_tokens.json").write_text(json.dumps({"low": 900}))
    with pytest.raises(FormatError, match=rf"the added token 'low' has the id {low} here and 900 in another file"):
        read(tmp_path)
    config["added_tokens_decoder"] = {"\u0663": {"content": "<end>"}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    with pytest.raises(FormatError, match=r"added_tokens_decoder\.\u0663: the key '\u0663' is not an id"):
        read(tmp_path)


def test_a_space_before_a_text_comes_back_by_the_companion(plain, form, tmp_path):
    prefixed = plain.replace(normalization=Normalization((), True))
    assert "that a space is put before a text is not in the files" in write(prefixed, tmp_path, form)
    assert read(tmp_path).normalization == prefixed.normalization


def test_ddtok_is_written_as_ddtokens_writes_it(plain, tmp_path):
    write(plain, tmp_path, "ddtok")
    vocab, merges = ((tmp_path / name).read_text().split("\n") for name in PAIRS["ddtok"])
    assert vocab[:3] == ["0\t\\x00", "1\t\\x01", "2\t\\x02"]
    assert (vocab[9], vocab[10], vocab[13], vocab[32], vocab[92], vocab[127]) == (
        "9\t\\t", "10\t\\n", "13\t\\x0d", "32\t ", "92\t\\\\", "127\t\\x7f"
    )  # fmt: skip
    assert merges[:2] == ["# ddtokens merge rules", f"# total merges: {len(plain.events)}"]
    assert merges[2] == "l\to" and "\\xc3\t\\xa9" in merges
    assert not any(line.startswith("#") for line in merges[2:])  # their reader would take it for a comment
    assert len(vocab) - 1 == len(plain.tokens) and len(merges) - 3 == len(plain.events)


def test_two_merges_of_the_same_bytes_are_two_lines_there(plain, tmp_path):
    (tmp_path / "vocab.ddtok").write_text(
        "".join(line + "\n" for line in [*_bytes_of_ddtok(), "256\tab", "257\tbc", "258\tabc", "259\tabc"])
    )
    (tmp_path / "merges.ddtok").write_text("# a comment\na\tb\nb\tc\nab\tc\na\tbc\n")
    found = read(tmp_path)
    assert found.events.tolist() == [[97, 98, 256], [98, 99, 257], [256, 99, 259], [97, 257, 259]]
    assert Tokenizer(found).encode("abc") == [259]
    assert Tokenizer(found).decode([258]) == "abc"
    assert write(found, tmp_path / "hf") == ["the id 258, which is never given out, is left out: b'abc' has the id 259"]
    assert Tokenizer(read(tmp_path / "hf")).encode("abc abc") == Tokenizer(found).encode("abc abc")


def _bytes_of_ddtok():
    for byte in range(256):
        known = {9: "\\t", 10: "\\n", 92: "\\\\"}
        yield f"{byte}\t" + known.get(byte, chr(byte) if 32 <= byte < 127 else f"\\x{byte:02x}")


@pytest.mark.parametrize(
    ("vocab", "merges", "said"),
    [
        (["256\tab\tc"], [], "vocab.ddtok: line 257: expected an id, a tab and a token"),
        (["256"], [], "vocab.ddtok: line 257: expected an id"),
        (["256\t"], [], "vocab.ddtok: line 257: expected an id"),
        (["-1\tab"], [], "vocab.ddtok: line 257: the id '-1' is not an integer from 0"),
        (["99999999\tab"], [], "vocab.ddtok: line 257: the id '99999999'"),
        (["x\tab"], [], "vocab.ddtok: line 257: the id 'x'"),
        (["97\tab"], [], "vocab.ddtok: line 257: the id 97 of b'ab' is that of b'a' already"),
        (["256\ta"], [], "vocab.ddtok: the token b'a' occurs twice, with the ids 97 and 256"),
        (["256\t\\q"], [], "vocab.ddtok: line 257: .* has a backslash that begins none of"),
        (["256\t\\x1"], [], "vocab.ddtok: line 257: .* has a backslash that begins none of"),
        (["256\ta\\"], [], "vocab.ddtok: line 257: .* has a backslash that begins none of"),
        (["256\t\u00e9"], [], "vocab.ddtok: line 257: .* is not ASCII"),
        (["256\tab"], ["ab"], "merges.ddtok: line 1: expected two tokens with a tab between, found 'ab'"),
        (["256\tab"], ["a\tb\tc"], "merges.ddtok: line 1: expected two tokens"),
        (["256\tab"], ["a\tb", "ab\tc"], r"merges.ddtok: line 2: the token b'abc' is not in .*vocab.ddtok"),
        (["256\tab"], ["# total merges: 2", "a\tb"], "merges.ddtok: the header says 2 merges, and the file has 1"),
        (["256\tab", "257\tab"], ["a\tb"], "vocab.ddtok: the token b'ab' occurs twice, with the ids 256 and 257"),
    ],
)
def test_damaged_ddtok_names_its_line(vocab, merges, said, tmp_path):
    (tmp_path / "vocab.ddtok").write_text("\n".join([*_bytes_of_ddtok(), *vocab, ""]))
    (tmp_path / "merges.ddtok").write_text("\n".join([*merges, ""]))
    with pytest.raises(FormatError, match=said):
        read(tmp_path)


def test_missing_bytes_of_ddtok(tmp_path, shared):
    (tmp_path / "vocab.ddtok").write_text("\n".join([*_bytes_of_ddtok()][:-1]))
    (tmp_path / "merges.ddtok").write_text("")
    with pytest.raises(FormatError, match=r"1 of the 256 bytes have no token, such as b'\\xff'"):
        read(tmp_path)
    neox = read(shared / "vocab" / "gpt-neox-20b-tokenizer.json.zst")
    with pytest.raises(ConversionError, match="has none for 0xc0"):
        write(neox, tmp_path / "neox", "ddtok")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("lo w x", "line {}: expected two tokens with a space between, found 'lo w x'"),
        ("low", "line {}: expected two tokens"),
        (" low", "line {}: expected two tokens"),
        ("", None),
        ("zq x", "line {}: the left part 'zq' of the merge 'zq' [+] 'x' is not in the vocabulary"),
        ("x q", "line {}: the result 'xq' of the merge"),
    ],
)
def test_damaged_merges_txt_names_its_line(line, said, plain, tmp_path):
    write(plain, tmp_path, "merges")
    path = tmp_path / "merges.txt"
    path.write_text(path.read_text() + line + "\n")
    if said is None:
        assert len(read(tmp_path, split="gpt2").events) == len(plain.events)
        return
    with pytest.raises(FormatError, match="merges.txt: " + said.format(len(plain.events) + 2)):
        read(tmp_path, split="gpt2")


def test_damaged_vocab_json_names_its_key(plain, tmp_path):
    write(plain, tmp_path, "merges")
    path = tmp_path / "vocab.json"
    text = path.read_text()
    for old, new, said in [
        ('"low": ', '"low": 5, "loq": ', r"at \$\['low'\]: the id 5 of 'low' is that of 'ą' already"),
        ('"low": ', '"low": 5000, "low": ', "the key 'low' occurs twice"),
    ]:
        assert old in text
        path.write_text(text.replace(old, new))
        with pytest.raises(FormatError, match=said):
            read(tmp_path, split="gpt2")


def test_tokens_that_only_whole_pretokens_reach_are_refused(form, ranked, plain, tmp_path):
    odd = ranked.replace(tokens=(*ranked.tokens, b"zqj"), added_tokens=())
    with pytest.raises(ConversionError, match=r"b'zqj' \(id \d+\) is made only where a whole pretoken is this token"):
        write(odd, tmp_path / "it", form)
    whole = plain.replace(tokens=(*plain.tokens, b"zqj"), added_tokens=(), whole_pretokens=True)
    with pytest.raises(ConversionError, match="b'zqj'"):
        write(whole, tmp_path / "it", form)
    assert not (tmp_path / "it").exists()
    write(whole.replace(whole_pretokens=False), tmp_path / "it", form)


def test_characters_are_refused(form, plain, tmp_path):
    with pytest.raises(ConversionError, match="this vocabulary with characters"):
        write(plain.replace(alphabet="characters"), tmp_path, form)


def test_other_orders_of_the_bytes(form, plain, tmp_path):
    turned = {id: 255 - id if id < 256 else id for id in range(len(plain.tokens))}
    tokens = [plain.tokens[turned[id]] for id in range(len(plain.tokens))]
    rows = np.array([[turned[id] for id in row] for row in plain.events.tolist()], np.int32)
    vocabulary = plain.replace(tokens=tuple(tokens), events=rows)
    write(vocabulary, tmp_path, form)
    assert read(tmp_path).fingerprint() == vocabulary.fingerprint()


def test_an_added_token_that_would_stand_for_a_byte_is_refused(tmp_path):
    for content, refused in (("é", True), ("漢", False), ("éé", False)):
        vocabulary = Vocabulary((b"a", b"b"), ("gpt2",), "merges", (), (AddedToken(content, 2),), False, unknown=0)
        tok = Tokenizer(vocabulary)
        if refused:
            with pytest.raises(ConversionError, match="'é' would stand for a byte"):
                tok.save(tmp_path / "saved", format="merges")
        else:
            tok.save(tmp_path / "saved", format="merges", overwrite=True)
            assert load(tmp_path / "saved").encode_ordinary("b\u9a69é") == tok.encode_ordinary("b\u9a69é")
