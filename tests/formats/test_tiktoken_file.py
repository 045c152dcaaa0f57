""".tiktoken files: read at once, damage named by line, known by hash, or the pattern named by the caller."""

import base64

import pytest
import tiktoken
from tiktoken.load import load_tiktoken_bpe

from naive_encoder import merge_by_ranks
from tokenmill.errors import ConversionError, FormatError, UsageError
from tokenmill.formats import encode_with_library, read, to_tiktoken, write
from tokenmill.formats.rank_files import parse_tiktoken, tiktoken_bytes
from tokenmill.split.patterns import PATTERNS
from tokenmill.vocabulary import AddedToken, Normalization
from tokenmill.vocabulary._packed_cy import unpack_tokens


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    """tiktoken would keep a copy of each file it reads, by path, for good."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")


BYTES = [base64.b64encode(bytes([byte])) + b" %d" % byte for byte in range(256)]


def test_cl100k_is_known_by_its_hash(shared, cl100k):
    ranks = load_tiktoken_bpe(str(shared / "vocab" / "cl100k_base.tiktoken"))
    assert {token: id for id, token in enumerate(cl100k.tokens) if token is not None} == ranks
    assert cl100k.split_patterns == (PATTERNS["cl100k"],)
    assert cl100k.special_tokens["<|endoftext|>"] == 100257
    assert cl100k.special_tokens["<|endofprompt|>"] == 100276
    assert (cl100k.order, cl100k.whole_pretokens, cl100k.n_vocab) == ("ranks", True, 100277)


def test_the_companion_of_published_ranks_says_the_special_tokens(cl100k, tmp_path):
    """As for p50k_edit, whose file is that of p50k_base."""
    other = cl100k.replace(added_tokens=(AddedToken("<s>", 100300),))
    write(other, tmp_path / "it.tiktoken", "tiktoken")
    assert read(tmp_path / "it.tiktoken").special_tokens == {"<s>": 100300}
    (tmp_path / "it.tiktoken.json").unlink()
    assert read(tmp_path / "it.tiktoken").special_tokens == cl100k.special_tokens


def test_the_file_is_tiktokens(ranked, tmp_path):
    notes = write(ranked, tmp_path / "it.tiktoken", "tiktoken")
    ranks = load_tiktoken_bpe(str(tmp_path / "it.tiktoken"))
    assert ranks == {token: id for id, token in enumerate(ranked.tokens) if token is not None}
    assert "pat_str" in notes[0] and repr(PATTERNS["gpt2"]) in notes[0]
    assert "special_tokens" in notes[1] and repr(ranked.special_tokens) in notes[1]
    (tmp_path / "bytes").write_bytes(b"".join(base64.b64encode(t) + b" %d\n" % i for t, i in ranks.items()))
    assert (tmp_path / "bytes").read_bytes() == (tmp_path / "it.tiktoken").read_bytes()


def test_the_library_gets_normalized_text(ranked, tmp_path):
    """Qwen's program composes characters before it calls tiktoken."""
    write(ranked, tmp_path / "it.tiktoken", "tiktoken")
    library = encode_with_library(tmp_path / "it.tiktoken", ranked.replace(normalization=Normalization(("NFC",))))
    assert library.encode("e\u0301<|endoftext|>") == library.encode("é<|endoftext|>")
    plain = encode_with_library(tmp_path / "it.tiktoken", ranked)
    assert plain.encode("e\u0301") != plain.encode("é")


def test_the_companion_holds_the_rest(ranked, plain, tmp_path):
    write(ranked, tmp_path / "ranked.tiktoken", "tiktoken")
    assert read(tmp_path / "ranked.tiktoken").fingerprint() == ranked.fingerprint()
    write(plain, tmp_path / "plain.tiktoken", "tiktoken")
    again = read(tmp_path / "plain.tiktoken")
    assert (again.order, again.whole_pretokens, again.added_tokens) == ("ranks", True, plain.added_tokens)
    assert again.tokens == plain.tokens


def test_without_companion_the_pattern_must_be_named(ranked, tmp_path):
    write(ranked, tmp_path / "it.tiktoken", "tiktoken")
    (tmp_path / "it.tiktoken.json").unlink()
    with pytest.raises(UsageError, match="split='cl100k'"):
        read(tmp_path / "it.tiktoken")
    found = read(tmp_path / "it.tiktoken", split="gpt2", special_tokens=ranked.special_tokens)
    assert found.fingerprint() == ranked.fingerprint()


def test_the_companion_of_another_file_is_not_used(ranked, plain, tmp_path):
    write(ranked, tmp_path / "a.tiktoken", "tiktoken")
    (tmp_path / "a.tiktoken").write_bytes(b"\n".join(BYTES))
    with pytest.raises(UsageError, match="does not contain its split pattern"):
        read(tmp_path / "a.tiktoken")


def test_a_damaged_companion_is_an_error(ranked, tmp_path):
    write(ranked, tmp_path / "it.tiktoken", "tiktoken")
    companion = tmp_path / "it.tiktoken.json"
    companion.write_text(companion.read_text().replace('"add_prefix_space": false', '"add_prefix_space": true'))
    with pytest.raises(FormatError, match=r"it.tiktoken.json: at \$.check: damaged"):
        read(tmp_path / "it.tiktoken")


def test_a_pattern_against_the_known_one_is_refused(shared):
    path = shared / "vocab" / "cl100k_base.tiktoken"
    assert read(path, split="cl100k").split_patterns == (PATTERNS["cl100k"],)
    with pytest.raises(UsageError, match="Leave out split"):
        read(path, split="gpt2")
    with pytest.raises(UsageError, match="has the id 100257, not 5"):
        read(path, special_tokens={"<|endoftext|>": 5})


@pytest.mark.parametrize("separator", [b"\n", b"\r\n", b"\n\n", b" \n"])
def test_lines_may_end_as_they_like(separator):
    assert unpack_tokens(*parse_tiktoken(separator.join(BYTES), "f")) == tuple(bytes([byte]) for byte in range(256))
    assert unpack_tokens(*parse_tiktoken(separator.join(BYTES) + separator, "f")) == tuple(
        bytes([byte]) for byte in range(256)
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"YQ== 256", r"f: line 257: the token b'a' occurs twice, with the ids 97 \(line 98\) and 256"),
        (b"YWI= 97", r"f: line 257: the id 97 of b'ab' is that of b'a' already \(line 98\)"),
        (b"YWI= -1", r"f: line 257: the id -1 of b'ab' is not an integer from 0"),
        (b"YWI= 99999999999999999999", "f: line 257: the id 99999999999999999999 of"),
        (b"YWI= 1.5", "f: line 257: the rank b'1.5' is not an integer"),
        (b"YWI= 0x5", "f: line 257: the rank b'0x5' is not an integer"),
        (b"YWI 256", "f: line 257: b'YWI' is not base64"),
        (b"YW*I= 256", r"f: line 257: b'YW\*I=' is not base64"),
        (b"YQ==YQ== 256", "f: line 257: b'YQ==YQ==' is not base64"),
        (b"YWI=", "f: line 257: expected a token in base64 and its rank, found b'YWI='"),
        (b"YWI= 256 7", "f: line 257: expected a token"),
        (b"\xff\xfe 256", "f: line 257: "),
        (b"YWI= 256\nYWM= ", "f: line 258: expected a token"),
    ],
)
def test_damage_names_its_line(line, said):
    with pytest.raises(FormatError, match=said):
        parse_tiktoken(b"\n".join([*BYTES, line]), "f")


def test_bytes_may_be_missing_and_an_empty_file_is_damage(tmp_path):
    assert len(unpack_tokens(*parse_tiktoken(b"\n".join(BYTES[:243]), "f"))) == 243
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(FormatError, match="this is an empty file"):
        read(tmp_path / "empty", split="gpt2")


def test_every_cut_of_a_file_is_one_error_or_fewer_tokens(ranked):
    data, _ = tiktoken_bytes(ranked)
    for cut in range(0, len(data), 7):
        try:
            tokens = unpack_tokens(*parse_tiktoken(data[:cut], "f"))
        except FormatError:
            continue
        assert ranked.tokens[: len(tokens) - 1] == tokens[:-1]


def test_what_tiktoken_cannot_do_is_refused(plain):
    def refused(said, **fields):
        with pytest.raises(ConversionError, match=said):
            tiktoken_bytes(plain.replace(**fields))

    refused("does not normalize", normalization=Normalization(("NFC",)))
    refused("puts no space", normalization=Normalization((), True))
    refused("by one split pattern, and this vocabulary has 2", split_patterns=("a", "b"))
    refused("by one split pattern, and this vocabulary has 0", split_patterns=())
    refused("begins with bytes", alphabet="characters")
    tokens = (None, *plain.tokens[1:])
    refused("the unknown token, which tiktoken does not have", tokens=tokens, unknown=1)
    stripping = plain.added_tokens[0]._replace(lstrip=True)
    refused("has lstrip", added_tokens=(stripping,))
    refused("matched in any text", added_tokens=(stripping._replace(special=False),))


def test_the_object_encodes_as_the_naive_encoder(ranked):
    encoding = to_tiktoken(ranked, "mine")
    assert isinstance(encoding, tiktoken.Encoding) and encoding.name == "mine"
    assert encoding.special_tokens_set == set(ranked.special_tokens)
    assert encoding.n_vocab == ranked.n_vocab
    ranks = {token: id for id, token in enumerate(ranked.tokens) if token is not None}
    assert encoding.encode(" lowest") == merge_by_ranks(b" lowest", ranks)
    assert encoding.encode("<|user|>", allowed_special="all") == [ranked.special_tokens["<|user|>"]]


def test_text_between_matches_is_not_dropped(ranked):
    encoding = to_tiktoken(ranked.replace(split_patterns=(r"\p{L}+",)))
    for text in ("low, lower; 12 ..  lowest!", "??", "漢字 low"):
        assert encoding.decode(encoding.encode(text)) == text
    for pattern in (r"\p{L}*", r"\S+|(?<=a)", r"\S+|\b"):  # the last two, only behind a letter
        with pytest.raises(ConversionError, match="match the empty text"):
            to_tiktoken(ranked.replace(split_patterns=(pattern,)))


def test_picky_needs_lossy(picky):
    with pytest.raises(ConversionError, match="lossy=True"):
        to_tiktoken(picky)
    encoding = to_tiktoken(picky, lossy=True)
    assert encoding.encode("the the") == [257, 258]
    assert encoding.encode("he") == [ord("h"), ord("e")]
