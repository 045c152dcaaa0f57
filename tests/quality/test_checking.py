"""Checking two tokenizers against each other: proofs hold, differences are found, shortened and explained."""

import numpy as np
import pytest

from tokenmill import AddedToken, Normalization, Tokenizer, Vocabulary
from tokenmill.errors import InputError, UsageError
from tokenmill.formats.libraries import LibraryEncoder
from tokenmill.quality.checking import _Trial, check, document_texts, proof
from tokenmill.sources.blocks import ReadOptions
from tokenmill.split.patterns import PATTERNS

BYTES = [bytes([byte]) for byte in range(256)]
WORDS = [b"th", b"he", b"the", b" the", b"ing", b"in", b"ng"]


def ranks(extra, split="gpt2", **fields):
    return Vocabulary(tuple(BYTES + list(extra)), (PATTERNS.get(split, split),), **fields)


def merges(extra, rows, split="gpt2", **fields):
    fields = {"whole_pretokens": False} | fields
    return Vocabulary(tuple(BYTES + list(extra)), (PATTERNS[split],), "merges", np.array(rows, np.int32), **fields)


END = AddedToken("<|endoftext|>", 300)
TH_THE = merges([b"th", b"the"], [(116, 104, 256), (256, 101, 257)], added_tokens=(END,))


def test_texts_are_texts_or_pairs_with_their_source():
    for texts, source in ((["he"], "text"), ([("a.txt", "he")], "a.txt")):
        found = check(Tokenizer(ranks([b"he"])), Tokenizer(ranks([b"eh"])), texts=texts, fuzz=0)
        assert (found.difference.source, found.difference.text) == (source, "he")
    with pytest.raises(UsageError, match="one str; give a list of texts"):
        check(Tokenizer(ranks([])), Tokenizer(ranks([b"he"])), texts="he")
    with pytest.raises(UsageError, match="it must be a Tokenizer"):
        check(Tokenizer(ranks([])), "gpt2")


def test_the_own_tokens_are_tried_before_generated_texts():
    """A merge that only one has shows on its token, however long the fuzz is."""
    tokens, rows = [b"qz", b"qzk"], [(113, 122, 256), (256, 107, 257)]
    found = check(Tokenizer(merges(tokens, rows)), Tokenizer(merges(tokens, rows[:1])), fuzz=0)
    assert found.difference is not None and "tokens of the vocabularies" in found.difference.source


def test_merges_in_another_order_are_tried_on_texts_where_they_overlap():
    """No token shows that the last merge has another place, and no generated text."""
    tokens, rows = [b"qz", b"jx", b"xk", b"zj"], [(113, 122, 256), (106, 120, 257), (120, 107, 258), (122, 106, 259)]
    for moved in ([0, 3, 1, 2], [3, 0, 1, 2]):
        other = merges(tokens, [rows[i] for i in moved])
        found = check(Tokenizer(merges(tokens, rows)), Tokenizer(other), fuzz=0)
        assert found.difference.source == "merges in another order"
        assert found.difference.text in ("qzj", "zjx")
    apart = merges(tokens, [rows[i] for i in (1, 0, 2, 3)])
    assert check(Tokenizer(merges(tokens, rows)), Tokenizer(apart), fuzz=0).difference is None


def differ(vocabulary, other, **options):
    found = check(Tokenizer(vocabulary), Tokenizer(other), **{"fuzz": 300} | options)
    assert found.proof is None
    assert found.difference is not None
    return found.difference


def test_the_same_vocabulary_is_proved_the_same():
    found = check(Tokenizer(ranks(WORDS)), Tokenizer(ranks(WORDS)), fuzz=50)
    assert "the vocabularies are the same" in found.proof and found.difference is None
    assert found.texts > 100 and found.bytes > found.texts and found.tokens > found.texts


def test_merges_and_ranks_that_come_down_to_the_same_are_proved_so():
    as_ranks = ranks([b"th", b"the"], added_tokens=(END,))
    assert "reduce to the same tokens" in proof(TH_THE, as_ranks)
    assert "reduce to the same tokens" in proof(as_ranks, TH_THE.replace(whole_pretokens=True))
    assert check(Tokenizer(TH_THE), Tokenizer(as_ranks), fuzz=300).difference is None
    holes = as_ranks.replace(tokens=(*as_ranks.tokens, None, None))
    assert proof(TH_THE, holes)
    unmade = ranks([b"qzk"])  # a token only as a whole pretoken
    assert proof(unmade, unmade.replace(whole_pretokens=False)) is None
    assert proof(as_ranks, as_ranks.replace(whole_pretokens=False))
    words = TH_THE.replace(split_patterns=(r"\s+",))
    assert proof(words, words.replace(dropped=" ")) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"normalization": Normalization(("NFC",))},
        {"normalization": Normalization(("NFKD",))},
        {"normalization": Normalization((), True)},
        {"added_tokens": ()},
        {"added_tokens": (END._replace(id=301),)},
        {"added_tokens": (END._replace(special=False),)},
        {"added_tokens": (END._replace(rstrip=True),)},
        {"events": np.array([(116, 104, 256)], np.int32)},
        {"byte_patterns": ("t",)},
        {"whole_pretokens": True, "tokens": (*BYTES, b"th", b"the", b"never")},
    ],
    ids=str,
)  # fmt: skip
def test_every_difference_of_two_vocabularies_is_found(fields):
    difference = differ(TH_THE, TH_THE.replace(**fields))
    assert difference.ids != difference.other_ids
    assert len(difference.text) <= 40


def test_text_that_normalizers_and_added_tokens_name_is_tried():
    replacing = TH_THE.replace(normalization=Normalization((("Replace", "\ua66e", "o"),)))
    assert differ(TH_THE, replacing, fuzz=0).text == "\ua66e"
    lower = [
        TH_THE.replace(
            normalization=Normalization(("Lowercase",)), added_tokens=(AddedToken("<X>", 300, False, normalized=flag),)
        )
        for flag in (False, True)
    ]
    assert differ(*lower, fuzz=0).text == "<x>"


@pytest.mark.parametrize("ending", ["|'s", "|'t", "|'re", "|'ve", "|'m", "|'ll", "|'d"])
def test_a_contraction_that_one_pattern_lacks_is_found(ending):
    pattern = "|'s|'t|'re|'ve|'m|'ll|'d|[^\\p{L}]?\\p{L}+|[^\\p{L}]"
    tokens = [b"so", b"th", b"ea", b"er", b"mo", b"lo", b"do"]
    with_it, without = (ranks(tokens, text[1:]) for text in (pattern, pattern.replace(ending, "", 1)))
    differ(with_it, without, fuzz=0)


@pytest.mark.parametrize("split", [name for name in PATTERNS if name != "cl100k"])
def test_every_two_named_patterns_are_told_apart(split):
    """If tokens are there that the patterns allow or forbid."""
    extra = [
        b"12",
        b"123",
        b"1234",
        b" 1",
        b"\n\n",
        b"  ",
        b" \n",
        b"n't",
        b"'T",
        b"Ab",
        b"!\n",
        b"!/",
        b" a",
        b" \t",
        b"\ta",
        b"aB",
        b"a1",
        b"\n ",
    ]
    assert differ(ranks(extra, split), ranks(extra, "cl100k"), fuzz=2000).text
    assert differ(ranks(extra, split), ranks(extra).replace(split_patterns=()), fuzz=2000).text


def test_a_token_that_no_common_text_has_is_found():
    difference = differ(ranks([*WORDS, b"xqzj"]), ranks([*WORDS, b"xqzk"]))
    assert difference.source == "a token that only one of them has"
    assert difference.text in ("xqzj", "xqzk")


def test_a_token_that_is_no_text_is_found_by_bytes():
    difference = differ(ranks([*WORDS, b"\xff\xfe"]), ranks(WORDS), fuzz=4000)
    assert (difference.source, difference.text) == ("fuzzed bytes", b"\xff\xfe")
    assert (difference.ids, difference.other_ids, difference.offset) == ([263], [255, 254], 0)


def test_a_difference_in_a_long_text_becomes_short_and_names_its_source():
    text = "the quick brown fox ingests\n" * 500 + "and then 12345 zebras\n" + "the the the\n" * 500
    digits = r"\p{N}{1,2}| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+"
    extra = [*WORDS, b"12", b"123", b"34"]
    difference = differ(ranks(extra, digits.replace("1,2", "1,3")), ranks(extra, digits), texts=[("my.txt:7", text)])
    assert difference.source == "my.txt:7"
    assert len(difference.text) == 3 and difference.text in "12345"
    assert difference.ids != difference.other_ids


def test_the_offset_is_where_the_tokens_part():
    same = r"(?s:.)+"
    difference = differ(ranks([b"ab", b"cd"], same), ranks([b"ab", b"cx"], same), texts=[("t", "ababcd")], fuzz=0)
    assert difference.text == "cd"
    library = Tokenizer(ranks([b"ab", b"cx"], same))
    agreeing = Tokenizer(ranks([b"ab", b"cd"], same))

    def encode(text):
        return (library if text == "ababcd" else agreeing).encode(text)

    found = check(agreeing, library, texts=[("t", "ababcd")], library=LibraryEncoder("other", encode), fuzz=0)
    assert found.difference.text == "ababcd" and found.difference.offset == 4


def test_special_tokens_in_ordinary_text_are_tried_too():
    """One that is special and one that is not agree where it is allowed, and part where it is not."""
    difference = differ(TH_THE, TH_THE.replace(added_tokens=(END._replace(special=False),)))
    assert not difference.specials and difference.text == "<|endoftext|>"


def test_control_tokens_that_normalization_makes_are_tried_too():
    """The text does not hold the control token as it is written, so the search must be of the normalized text."""
    small = END._replace(normalized=True)
    special = TH_THE.replace(normalization=Normalization(("Lowercase",)), added_tokens=(small,))
    ordinary = special.replace(added_tokens=(small._replace(special=False),))
    difference = differ(special, ordinary, texts=[("t", "a<|ENDOFTEXT|>b")], fuzz=0)
    assert (difference.source, difference.specials) == ("t", False)


@pytest.mark.parametrize(("text", "modes"), [("the thing", 1), ("the <|endoftext|>", 2), ("the ﬁn", 1)])
def test_text_without_control_tokens_is_encoded_once(monkeypatch, text, modes):
    tokenizer, calls = Tokenizer(TH_THE), []
    encode = Tokenizer.encode_batch_to_numpy
    counted = lambda *arguments, **options: (calls.append(text), encode(*arguments, **options))[1]  # noqa: E731
    monkeypatch.setattr(Tokenizer, "encode_batch_to_numpy", counted)
    ids = tokenizer.encode(text, allowed_special="all" if modes == 1 else set(), disallowed_special=())
    assert _Trial(tokenizer, tokenizer, None, 1).tokens_if_same([text], 1) == len(ids)
    assert len(calls) == 2 * modes


def test_a_tokenizer_that_refuses_a_text_differs_from_one_that_does_not():
    lacking = ranks([])
    lacking = lacking.replace(tokens=(*lacking.tokens[:0x41], None, *lacking.tokens[0x42:]))
    difference = differ(lacking, ranks([]))
    assert difference.ids is None and "A" in difference.text


def test_a_library_that_leaves_out_a_byte_does_not_differ_from_a_refusal():
    lacking = ranks([])
    lacking = Tokenizer(lacking.replace(tokens=(*lacking.tokens[:0x41], None, *lacking.tokens[0x42:])))
    texts = [("t", "b"), ("t", "bAb"), ("t", "A")]
    leaves_out = LibraryEncoder("other", lambda text: list(text.replace("A", "").encode()))
    found = check(lacking, lacking, texts=texts, library=leaves_out, fuzz=0)
    assert found.difference is None and found.refused >= 2
    has_a_token = LibraryEncoder("other", lambda text: list(text.replace("A", "B").encode()))
    assert check(Tokenizer(ranks([])), lacking, texts=texts, library=has_a_token, fuzz=0).difference.text == "A"


def test_more_of_the_same_seed_is_more_of_the_same():
    one, two = (check(Tokenizer(ranks(WORDS)), Tokenizer(ranks(WORDS)), fuzz=200, seed=3) for _ in range(2))
    assert one == two
    other = check(Tokenizer(ranks(WORDS)), Tokenizer(ranks(WORDS)), fuzz=200, seed=4)
    assert (other.texts, other.bytes) != (one.texts, one.bytes)
    with pytest.raises(UsageError, match="fuzz is -1"):
        check(Tokenizer(ranks(WORDS)), Tokenizer(ranks(WORDS)), fuzz=-1)


def test_documents_come_in_stretches_that_name_their_beginning(tmp_path):
    whole = "".join(f"line {i}\n\n" for i in range(20_000))
    (tmp_path / "a.txt").write_text(whole)
    (tmp_path / "b.txt").write_text("one\ntwo\n")
    found = list(document_texts([tmp_path / "a.txt", tmp_path / "b.txt"]))
    assert len(found) > 2 and found[-1] == (f"{tmp_path / 'b.txt'}:1", "one\ntwo\n")
    assert "".join(text for _, text in found[:-1]) == whole
    for place, text in found[:-1]:
        line = int(place.removeprefix(f"{tmp_path / 'a.txt'}:"))
        assert text.startswith(f"line {(line - 1) // 2}\n" if line % 2 else "\n")
    assert list(document_texts([])) == []
    joined = list(document_texts([tmp_path / "b.txt"], ReadOptions("line")))
    assert joined == [(f"{tmp_path / 'b.txt'}:1", "one\ntwo")]


def test_text_that_is_not_utf_8_is_an_error(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"good\nbad \xff\n")
    with pytest.raises(InputError, match="not UTF-8"):
        list(document_texts([tmp_path / "a.txt"]))
