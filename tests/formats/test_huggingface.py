"""The Hugging Face folder: tokenizers and transformers give our ids with it, and it reads back to what it was."""

import json
import random

import numpy as np
import pytest
import tokenizers
from transformers import AutoTokenizer

import tokenmill
from tokenmill import AddedToken, Normalization, Tokenizer, Vocabulary
from tokenmill.errors import ConversionError, FormatError
from tokenmill.formats import read, to_hf, write
from tokenmill.split.patterns import PATTERNS

TEXTS = [
    "", "low lower lowest", "  newest\t\n\n wider ", "l\u00f6w \u00e9t\u00e9s \u6f22\u5b57 \U0001f600", "low<|endoftext|>est<|user|> low", "<|endoftext|>",
    "<|user|><|user|>", "1234567 x\ty ## a b\r\n", "it's I'LL 'twas \u017fo", "\u00a0low\u2003low  ",
]  # fmt: skip


def agree(vocabulary, hf, texts=TEXTS):
    ours = Tokenizer(vocabulary)
    for text in texts:
        assert hf.encode(text, add_special_tokens=False).ids == ours.encode(text, allowed_special="all"), text


@pytest.fixture(params=["plain", "ranked"])
def vocabulary(request):
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_tokenizers_gives_our_ids_and_the_folder_comes_back(vocabulary, pattern, tmp_path):
    vocabulary = vocabulary.replace(split_patterns=(PATTERNS[pattern],))
    assert write(vocabulary, tmp_path / "it") == []
    hf = tokenizers.Tokenizer.from_file(str(tmp_path / "it" / "tokenizer.json"))
    agree(vocabulary, hf)
    for text in TEXTS:
        assert hf.decode(hf.encode(text).ids, skip_special_tokens=False) == text
    assert read(tmp_path / "it").fingerprint() == vocabulary.fingerprint()
    assert read(tmp_path / "it" / "tokenizer.json").fingerprint() == vocabulary.fingerprint()


def test_transformers_opens_the_folder(vocabulary, tmp_path):
    write(vocabulary, tmp_path)
    hf = AutoTokenizer.from_pretrained(tmp_path)
    ours = Tokenizer(vocabulary)
    for text in TEXTS:
        assert hf(text)["input_ids"] == ours.encode(text, allowed_special="all")
        assert hf.decode(hf(text)["input_ids"]) == text
    assert hf.eos_token == "<|endoftext|>"
    assert set(hf.all_special_tokens) == set(vocabulary.special_tokens)
    assert {text: hf.convert_tokens_to_ids(text) for text in vocabulary.special_tokens} == vocabulary.special_tokens
    assert hf.decode(ours.encode("low<|user|>", allowed_special="all"), skip_special_tokens=True) == "low"


def test_special_tokens_have_the_roles_of_their_names(tmp_path):
    names = ["<pad>", "<s>", "</s>", "<unk>", "<|user|>"]
    tok = tokenmill.train_from_iterator(["low lower"], 262, special_tokens=names)
    tok.save(tmp_path)
    hf = AutoTokenizer.from_pretrained(tmp_path)
    assert (hf.bos_token, hf.eos_token, hf.unk_token, hf.pad_token) == ("<s>", "</s>", "<unk>", "<pad>")
    assert hf("<s>low")["input_ids"] == tok.encode("<s>low", allowed_special="all")
    assert hf(["low", "low lower"], padding=True)["input_ids"][0][-1] == tok.vocabulary.special_tokens["<pad>"]
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": "<|user|>"}')  # what the file says counts
    tokenmill.load(tmp_path).save(tmp_path, overwrite=True)
    hf = AutoTokenizer.from_pretrained(tmp_path)
    assert (hf.bos_token, hf.eos_token, hf.pad_token) == (None, "<|user|>", None)


def test_without_companion_the_ids_are_the_same(vocabulary, tmp_path):
    write(vocabulary, tmp_path)
    (tmp_path / "tokenmill.json").unlink()
    found = read(tmp_path)
    assert found.order == "merges" and found.added_tokens == vocabulary.added_tokens
    assert found.split_patterns == (PATTERNS["gpt2"],)
    assert found.tokens == vocabulary.tokens
    for text in TEXTS:
        assert Tokenizer(found).encode(text, allowed_special="all") == Tokenizer(vocabulary).encode(
            text, allowed_special="all"
        )


def test_a_changed_tokenizer_json_is_believed_instead_of_the_companion(plain, tmp_path):
    write(plain, tmp_path)
    path = tmp_path / "tokenizer.json"
    path.write_text(path.read_text().replace('"single_word": false', '"single_word": true', 1))
    assert read(tmp_path).added_tokens[0].single_word


def test_a_companion_of_a_later_version_is_refused(plain, tmp_path):
    write(plain, tmp_path)
    path = tmp_path / "tokenmill.json"
    path.write_text(path.read_text().replace('"version": 1', '"version": 2'))
    with pytest.raises(FormatError, match=r"tokenmill.json: at \$.version: version 2; this tokenmill reads version 1"):
        read(tmp_path)


def test_cl100k_as_tokenizer_json_gives_tiktokens_ids(cl100k, corpus_bytes):
    from tokenmill.formats import to_tiktoken

    hf, encoding = to_hf(cl100k), to_tiktoken(cl100k)
    for name in ("en", "multi", "code"):
        text = corpus_bytes(name, 300_000).decode()
        assert hf.encode(text, add_special_tokens=False).ids == encoding.encode(text, disallowed_special=())
    text = "a<|endoftext|> b<|endofprompt|>"
    assert hf.encode(text).ids == encoding.encode(text, allowed_special="all")


@pytest.mark.parametrize("name", ["gpt2", "gpt-neox-20b"])
def test_published_files_read_with_the_ids_of_tokenizers(name, shared, published_files, corpus_bytes, tmp_path):
    hf = tokenizers.Tokenizer.from_str(published_files(name))
    found = read(shared / "vocab" / f"{name}-tokenizer.json.zst")
    texts = [corpus_bytes(corpus, 20_000).decode() for corpus in ("en", "multi", "code")]
    texts += ["e\u0301 \u212b \ufb01", "a    b\t\t  c" + " " * 60 + "d", "low<|endoftext|>est  <|padding|>", *TEXTS]
    agree(found, hf, texts)
    write(found, tmp_path)
    assert read(tmp_path).fingerprint() == found.fingerprint()
    agree(found, tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json")), texts)


def test_gpt2_keeps_its_end_of_text_out_of_the_ordinary_tokens(shared):
    found = read(shared / "vocab" / "gpt2-tokenizer.json.zst")
    assert found.special_tokens == {"<|endoftext|>": 50256}
    assert len(found.tokens) <= 50257 and 50256 not in {id for id, token in enumerate(found.tokens) if token}
    assert len(found.events) == 50000 and not found.whole_pretokens


def test_ids_of_added_tokens_hold_wherever_they_stand(plain):
    """Between the ordinary ids, after a gap, out of order: tokenizers numbers added tokens by itself if it may."""
    count = len(plain.tokens)
    tokens = (*plain.tokens[:-2], None, *plain.tokens[-2:])
    rows = [[id + (id >= count - 2) for id in row] for row in plain.events.tolist()]
    for ids in ((count - 2, count + 1), (count + 9, count - 2), (count - 2, count + 500), (count + 1, count + 2)):
        added = tuple(AddedToken(text, id) for text, id in zip(plain.special_tokens, ids, strict=True))
        moved = plain.replace(tokens=tokens, events=np.array(rows, np.int32), added_tokens=added)
        hf = to_hf(moved)
        assert {text: hf.token_to_id(text) for text in moved.special_tokens} == moved.special_tokens
        agree(moved, hf)


def test_added_tokens_keep_their_flags(plain, tmp_path):
    start = len(plain.tokens)
    added = (
        AddedToken("<mask>", start, lstrip=True),
        AddedToken("<s>", start + 1, rstrip=True, special=False),
        AddedToken("word", start + 2, single_word=True, special=False, normalized=True),
        AddedToken("  ", start + 3, special=False, normalized=True),
        AddedToken("\u00e9\u6f22", start + 4, special=False),
    )
    vocabulary = plain.replace(added_tokens=added)
    write(vocabulary, tmp_path)
    texts = [
        "low  <mask> low",
        "<s>   low<s>",
        "words word, sword word",
        "a  b    c   d",
        "\u00e9\u6f22\u00e9t\u00e9\u6f22 x",
        "low<mask><s>",
    ]
    agree(vocabulary, tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json")), texts)
    assert read(tmp_path).added_tokens == added
    (tmp_path / "tokenmill.json").unlink()
    assert read(tmp_path).added_tokens == added


@pytest.mark.parametrize("normalizers", [("NFC",), ("NFKC",), ("NFD", "NFC")])
def test_normalizers(plain, normalizers, tmp_path):
    vocabulary = plain.replace(normalization=Normalization(normalizers))
    write(vocabulary, tmp_path)
    agree(
        vocabulary,
        tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json")),
        ["e\u0301t\u00e9 \ufb01 \u212b", "\uac00\u1100\u1161"],
    )
    (tmp_path / "tokenmill.json").unlink()
    assert read(tmp_path).normalization.normalizers == normalizers


@pytest.mark.parametrize("patterns", [(PATTERNS["gpt2"],), ()])
def test_prefix_space(plain, patterns, tmp_path):
    vocabulary = plain.replace(split_patterns=patterns, normalization=Normalization((), True))
    write(vocabulary, tmp_path)
    texts = ["low", " low", "\nlow", "", "low<|endoftext|>low<|user|> low", "<|user|>"]
    agree(vocabulary, tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json")), texts)
    (tmp_path / "tokenmill.json").unlink()
    assert read(tmp_path).fingerprint() == vocabulary.fingerprint()
    with pytest.raises(ConversionError, match="only with the gpt2 pattern or with none"):
        to_hf(vocabulary.replace(split_patterns=(PATTERNS["cl100k"],)))


def test_several_patterns_one_inside_the_other(plain, tmp_path):
    vocabulary = plain.replace(split_patterns=(r"\p{N}", r"[low]+", PATTERNS["gpt2"]))
    write(vocabulary, tmp_path)
    agree(vocabulary, tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json")))
    assert read(tmp_path).fingerprint() == vocabulary.fingerprint()


@pytest.fixture
def characters() -> Vocabulary:
    """A vocabulary that begins with characters, with an unknown token."""
    texts = ["<unk>", *"abc\u00e9 ", "ab", "abc", " ab", "\u00e9a"]
    ids = {text: id for id, text in enumerate(texts)}
    pairs = [("a", "b"), ("ab", "c"), (" ", "ab"), ("\u00e9", "a")]
    rows = [[ids[left], ids[right], ids[left + right]] for left, right in pairs]
    return Vocabulary(
        (None, *(text.encode() for text in texts[1:])), (PATTERNS["whitespace"],), "merges", np.array(rows, np.int32),
        added_tokens=(AddedToken("<unk>", 0),), whole_pretokens=False, alphabet="characters", unknown=0,
    )  # fmt: skip


def test_characters(characters, tmp_path):
    write(characters, tmp_path)
    hf = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    agree(characters, hf, ["abc ab\u00e9abc", "zzabz \u6f22", "", "ab<unk>c"])
    assert hf.decode(hf.encode("abc ab\u00e9a ").ids) == "abc ab\u00e9a "
    assert AutoTokenizer.from_pretrained(tmp_path).unk_token == "<unk>"
    assert read(tmp_path).fingerprint() == characters.fingerprint()
    (tmp_path / "tokenmill.json").unlink()
    assert read(tmp_path).fingerprint() == characters.fingerprint()


def test_characters_that_are_none_are_left_out(characters, tmp_path):
    """Training on bytes that are no UTF-8 makes a character of each; no text has them."""
    count = len(characters.tokens)
    tokens = (*characters.tokens, b"\xff", b"a\xff")
    rows = np.array([*characters.events.tolist(), (1, count, count + 1)], np.int32)
    odd = characters.replace(tokens=tokens, events=rows)
    assert write(odd, tmp_path) == [f"left out 2 tokens that are not UTF-8, such as b'\\xff' (id {count})"]
    agree(odd, tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json")), ["abc ab\u00e9abc", "zzabz \u6f22"])
    assert read(tmp_path).fingerprint() == characters.fingerprint()


def test_random_ranks_give_the_same_ids_there():
    """Vocabularies that no training makes: tokens that no pair builds, ids in any order."""
    chosen = random.Random(11)
    singles = [bytes([byte]) for byte in range(256)]
    for _ in range(30):
        longer = {bytes(chosen.choices(b"abc", k=chosen.randint(2, 6))) for _ in range(chosen.randint(1, 25))}
        tokens = tuple(chosen.sample(singles + sorted(longer), 256 + len(longer)))
        vocabulary = Vocabulary(tokens, (PATTERNS["whitespace"],))
        texts = ["".join(chosen.choices("aaabbcc ", k=30)) for _ in range(30)]
        agree(vocabulary, to_hf(vocabulary), texts)


def test_what_tokenizer_json_cannot_hold_is_refused(plain):
    def refused(said, **fields):
        with pytest.raises(ConversionError, match=said):
            to_hf(plain.replace(**fields))

    refused("the ids 108 and 5000 are both spelt 'l'", added_tokens=(AddedToken("l", 5000),))
    refused("is not one of the escapes", split_patterns=(r"a\Kb",))
    refused("has two ids, 97 and", tokens=(*plain.tokens, b"a"), whole_pretokens=True)


def test_a_second_name_of_an_id_is_left_out_and_told(plain, tmp_path):
    id = len(plain.tokens)
    vocabulary = plain.replace(added_tokens=(AddedToken("<old>", id), AddedToken("<new>", id)))
    assert write(vocabulary, tmp_path) == [f"the added token '<old>' is left out: its id, {id}, is that of '<new>' too"]
    assert tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json")).encode("<new>").ids == [id]


def test_files_beside_stay_and_an_older_output_goes(plain, picky, tmp_path):
    write(picky, tmp_path / "it")
    assert (tmp_path / "it" / "events.txt").exists()
    (tmp_path / "it" / "model.safetensors").write_bytes(b"weights")
    write(plain, tmp_path / "it", overwrite=True)
    assert (tmp_path / "it" / "model.safetensors").read_bytes() == b"weights"
    assert not (tmp_path / "it" / "events.txt").exists()
    assert read(tmp_path / "it").fingerprint() == plain.fingerprint()


def test_the_same_vocabulary_is_the_same_bytes(plain, tmp_path):
    for name in ("a", "b"):
        write(plain, tmp_path / name)
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()
    json.loads((tmp_path / "a" / "tokenizer.json").read_text())


def test_the_hash_needs_no_tokenmill_json(plain, tmp_path):
    """tokenizer.json has the pattern in Oniguruma's spelling, and alone it is still the same tokenizer."""
    for name, pattern in {**PATTERNS, "mine": r"(?P<x>\pL)+|\p{N}{1,3}+|(?s:.)$|\s{2}?|(?m:^)a"}.items():
        vocabulary = plain.replace(split_patterns=(pattern,))
        write(vocabulary, tmp_path / name)
        first = read(tmp_path / name)
        (tmp_path / name / "tokenmill.json").unlink()
        alone = read(tmp_path / name)
        assert vocabulary.fingerprint() == first.fingerprint() == alone.fingerprint(), name
        assert Tokenizer(alone) == Tokenizer(vocabulary)
        write(alone, tmp_path / name / "again")
        assert read(tmp_path / name / "again").fingerprint() == alone.fingerprint()


def test_a_pattern_named_in_the_vocabulary_is_the_same_everywhere():
    text = "It's gpt2, isn't it? 1234"
    tokens = (*(bytes([i]) for i in range(256)), b"t i", b" it", b"gpt2")
    vocabulary = Vocabulary(tokens, ("gpt2",))
    assert Tokenizer(vocabulary).encode(text) == to_hf(vocabulary).encode(text).ids


def test_a_regular_expression_that_is_spelt_like_a_name_is_not_the_name(plain, tmp_path):
    write(plain.replace(split_patterns=(PATTERNS["cl100k"],)), tmp_path)
    (tmp_path / "tokenmill.json").unlink()
    path = tmp_path / "tokenizer.json"
    data = json.loads(path.read_text())
    for pattern in ({"Regex": "gpt2"}, {"String": "gpt2"}):
        data["pre_tokenizer"]["pretokenizers"][0]["pattern"] = pattern
        path.write_text(json.dumps(data))
        text = "low gpt2 lower"
        assert Tokenizer(read(path)).encode(text) == tokenizers.Tokenizer.from_file(str(path)).encode(text).ids


def test_random_added_tokens_have_the_ids_of_tokenizers_or_are_refused():
    """Flags, unused ids, normalization and texts that are nearly an added token."""
    rng = random.Random(5)
    letters = ["<", "m", ">", "a", "\n", " ", "\xe9", "e\u0301", "\u32ff", "1", "_"]
    compared = refused = 0
    for _ in range(400):
        tokens = [
            *(bytes([i]) for i in range(256)),
            b"ab",
            None,
            b" a",
            b"ma",
            b"<m",
            b"m>",
            *[None] * rng.randrange(3),
        ]
        contents = {"".join(rng.choices(letters, k=rng.randint(1, 3))) for _ in range(3)}
        flags = ("special", "lstrip", "rstrip", "single_word", "normalized")
        added = tuple(
            AddedToken(content, len(tokens) + n + rng.randrange(2), **{flag: rng.random() < 0.3 for flag in flags})
            for n, content in zip(range(0, 6, 2), sorted(contents), strict=False)
        )
        vocabulary = Vocabulary(
            tuple(tokens),
            rng.choice([("gpt2",), (), (r"\p{N}|\p{L}+",)]),
            added_tokens=added,
            whole_pretokens=rng.random() < 0.5,
            normalization=Normalization(rng.choice([(), ("NFC",), ("NFKC",), ("NFD",)])),
        )
        try:
            theirs = to_hf(vocabulary)
        except ConversionError:
            refused += 1
            continue
        tok = Tokenizer(vocabulary)
        for _ in range(20):
            text = "".join(rng.choice([*letters, *contents]) for _ in range(rng.randrange(8)))
            try:
                ids = theirs.encode(text).ids
            except BaseException:  # their PanicException, where two tokens take the same white space
                continue
            assert tok.encode(text, allowed_special="all") == ids, (text, vocabulary)
            compared += 1
    assert refused > 50 and compared > 1000


def test_an_added_token_that_ordinary_text_could_become_is_refused():
    tokens = (*(bytes([i]) for i in range(256)), None)
    low = AddedToken("low", 300, special=False, single_word=True)
    vocabulary = Vocabulary(tokens, ("gpt2",), added_tokens=(low,))
    with pytest.raises(ConversionError, match=r"'low' must be in the vocabulary of tokenizer.json to keep its id 300"):
        to_hf(vocabulary)
    moved = vocabulary.replace(added_tokens=(low._replace(id=256),))
    assert to_hf(moved).encode("1low low").ids == Tokenizer(moved).encode("1low low")


@pytest.mark.parametrize(
    "flags, refused", [({}, True), ({"special": False}, False), ({"special": False, "normalized": True}, False)]
)
def test_a_control_token_of_one_character_among_the_ordinary_ids(tmp_path, flags, refused):
    """In the vocabulary of tokenizer.json, a character is a token of ordinary text; a token that every text matches may be there."""
    added = (AddedToken("é", 1, **flags),)
    vocabulary = Vocabulary((b"a", None, b"b"), (), "merges", (), added, False, "characters")
    if refused:
        with pytest.raises(ConversionError, match="'é' must be in the vocabulary"):
            Tokenizer(vocabulary).save(tmp_path / "saved")
    else:
        Tokenizer(vocabulary).save(tmp_path / "saved")
        assert tokenmill.load(tmp_path / "saved").encode("aéb") == [0, 1, 2]
