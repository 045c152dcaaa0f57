"""The certificate counts what both sides encode alike, and refuses an output that is not what the id map says."""

import numpy as np
import pytest
from quality_examples import BYTES, make_vocabulary

from tokenmill import Tokenizer, WordCounts, train_from_counts
from tokenmill.errors import TokenmillError
from tokenmill.quality.certificate import Certificate, certify
from tokenmill.quality.extending import replace
from tokenmill.quality.pruning import prune

TOKENS = [*BYTES, b"ow", b"low", b"er"]
OLD = Tokenizer(make_vocabulary(TOKENS, [(111, 119, 256), (108, 256, 257), (101, 114, 258)]))
COUNTS = WordCounts.from_mapping({b"low": 5, b"lower": 2, b"how": 3, b"": 1})


def test_worked_example():
    smaller = prune(OLD, ids=[257])
    found = certify(OLD, smaller.tok, smaller.id_map, COUNTS)
    # 258 ids stay; 259 old and new tokens and 4 pretokens; "how" (3) and "" (1) keep their tokens; "low" is "l" and "ow" now
    assert found == Certificate(258, 263, 11, 4, 5 + 4 + 6, 10 + 6 + 6)
    assert "7 of 11 pretokens (63.6%) get other tokens; 22 tokens instead of 15 (+46.667%)" in str(found)
    assert "3 of 9,000,000 pretokens (0.0000333%) get other tokens" in str(
        Certificate(258, 263, 9_000_000, 8_999_997, 5, 5)
    )
    nothing = certify(OLD, smaller.tok, smaller.id_map, WordCounts.from_mapping({}))
    assert nothing.pretokens == 0 and str(nothing).endswith("are encoded identically")


def test_a_token_with_other_bytes():
    other = Tokenizer(make_vocabulary([*BYTES, b"ow", b"er"], [(111, 119, 256), (101, 114, 257)]))
    id_map = np.array([*range(256), 256, -1, 257], np.int32)
    certify(OLD, other, id_map, COUNTS)
    id_map[[257, 258]] = [257, -1]
    with pytest.raises(TokenmillError, match="token 257 differs from the new token 257"):
        certify(OLD, other, id_map, COUNTS)


def test_a_text_that_should_be_encoded_alike():
    """The same tokens, but the second merges in another order."""
    other = Tokenizer(OLD.vocabulary.replace(events=OLD.vocabulary.events[[2, 0, 1]]))
    certify(OLD, other, np.arange(259, dtype=np.int32), COUNTS)
    first, second = ([(97, 98, 256), (98, 99, 257)], [(98, 99, 257), (97, 98, 256)])
    old, new = (Tokenizer(make_vocabulary([*BYTES, b"ab", b"bc"], merges)) for merges in (first, second))
    with pytest.raises(TokenmillError, match="b'abc' uses only tokens that stay, but is encoded differently"):
        certify(old, new, np.arange(258, dtype=np.int32), WordCounts.from_mapping({b"ab": 1, b"abc": 1}))


def test_new_merges_whose_tokens_are_removed_again():
    """Tokens of a Picky tokenizer are replaced. New merges apply to a text, and later events remove their tokens."""
    old = train_from_counts({"babbaacaba": 5, "accbccaaba": 3, "bba": 9, "acc": 1, "acabb": 9}, 259, refine=0.3)
    text = WordCounts.from_mapping({b"babbcbac": 2, b"cabac": 5})
    better = replace(old, text, number=1)
    found = certify(old, better.tok, better.id_map, text)
    assert found.merged_again == 1
    assert "are encoded identically, except 1 in which new merges apply. " in str(found)


def test_without_new_merges_events_must_encode_alike():
    old, new = (
        Tokenizer(make_vocabulary([*BYTES, b"ab", b"bc"], merges).replace(order="events", whole_pretokens=False))
        for merges in ([(97, 98, 256), (98, 99, 257)], [(98, 99, 257), (97, 98, 256)])
    )
    with pytest.raises(TokenmillError, match="b'abc' uses only tokens that stay, but is encoded differently"):
        certify(old, new, np.arange(258, dtype=np.int32), WordCounts.from_mapping({b"abc": 1}))
