"""Junk by IoS: each token's worst merge, beside the definition with exact fractions."""

import os
import random
from fractions import Fraction

from quality_examples import BYTES, make_vocabulary, random_events, random_pretokens

from event_counts import count_events
from tokenmill import AddedToken, Tokenizer, WordCounts, inspect
from tokenmill.quality.replay import junk_table, replay, swallowed_tokens, thresholds_table

SWEEP = int(os.environ.get("TOKENMILL_SWEEP", "1"))
LOW = make_vocabulary([*BYTES, b"ow", b"low"], [(111, 119, 256), (108, 256, 257)])


def test_worked_example():
    counts = WordCounts.from_mapping({b"low": 90, b"how": 10, b"lower": 10})
    found = swallowed_tokens(LOW, replay(LOW, counts))
    assert [(f.id, f.ios, f.by, f.before, f.merged, f.alone) for f in found] == [(256, 100 / 110, 257, 110, 100, 10)]
    table = thresholds_table(found, 258)
    assert dict(zip(table.column("T"), table.column("tokens"), strict=True)) == {0.6: 1, 0.7: 1, 0.8: 1, 0.9: 1, 1.0: 0}
    assert table.column("of the vocabulary")[0] == 1 / 258
    (row,) = junk_table(LOW, found, 0.9).rows
    assert (row[0].content, row[1].content, row[3:]) == (b"ow", b"low", (110, 100, 10))
    assert junk_table(LOW, found, 0.95).rows == []


def test_added_tokens_are_no_junk():
    """They are not among the ordinary tokens, of which the share is, even where merges make them too."""
    counts = WordCounts.from_mapping({b"low": 90})
    added = LOW.replace(added_tokens=(AddedToken("ow", 256, special=False),))
    assert [f.id for f in swallowed_tokens(LOW, replay(LOW, counts))] == [256]
    assert swallowed_tokens(added, replay(added, counts)) == []


def test_what_is_dropped_or_cut_before_merging_is_not_merged(tmp_path):
    """Dropped white space has no tokens, though merges make tokens of it; what cuts the bytes of a pretoken comes before merges."""
    rows = [(111, 119, 256), (108, 256, 257), (32, 32, 258), (258, 258, 259)]
    plain = make_vocabulary([*BYTES, b"ow", b"low", b"  ", b"    "], rows, whole_pretokens=False)
    plain = plain.replace(split_patterns=(r"\s+",))
    (tmp_path / "text.txt").write_text("low    " * 3)
    found = {}
    for name, fields in {"plain": {}, "dropped": {"dropped": " "}, "cut": {"byte_patterns": ("l",)}}.items():
        tok = Tokenizer(plain.replace(**fields))
        report = inspect(tok, text=tmp_path / "text.txt")
        tokens = report.table("text").pairs("what", "value")["tokens"].value
        assert tokens == len(tok.encode("low    " * 3))
        assert report.table("text").pairs("what", "value")["bytes"].value == 21
        junk = report.table("junk")
        found[name] = tokens, dict(zip([t.id for t in junk.column("token")], junk.column("merged"), strict=True))
    assert found == {"plain": (6, {256: 3, 258: 6}), "dropped": (3, {256: 3}), "cut": (9, {258: 6})}


def test_a_threshold_is_reached_exactly():
    """Nine in ten is 0.9; a hundred occurrences are enough, ninety-nine are not."""
    for low, how in ((9, 1), (90, 10), (2**40 * 9, 2**40)):
        found = swallowed_tokens(LOW, replay(LOW, WordCounts.from_mapping({b"low": low, b"how": how})))
        table = thresholds_table(found, 258, [0.9])
        assert table.column("tokens") == [1] and len(junk_table(LOW, found, 0.9).rows) == 1
        assert table.column("seen 100 times or more") == [int(low + how >= 100)]


def test_against_the_definition():
    for seed in range(100 * SWEEP):
        rng = random.Random(seed)
        removals = rng.choice([0.0, 0.25])
        letters = rng.choice([b"ab", b"abc"])
        tokens, events = random_events(rng, letters, 25, removals)
        vocabulary = make_vocabulary(tokens, events, "events")
        pretokens = random_pretokens(rng, letters, 10)
        found = swallowed_tokens(vocabulary, replay(vocabulary, WordCounts.from_mapping(pretokens)))

        shares: dict[int, dict[Fraction, set]] = {}
        for (left, right, new), (happened, *before) in zip(
            events, count_events(pretokens.items(), events), strict=True
        ):
            if right < 0 or not happened:
                continue
            for id, f in zip((left, right), before, strict=True):
                taken = 2 * happened if left == right else happened
                shares.setdefault(id, {}).setdefault(Fraction(taken, f), set()).add((new, f, taken))
        expected = {id: of for id, of in shares.items() if id >= 256 and id not in vocabulary.removed}

        assert {token.id for token in found} == set(expected), seed
        for token in found:
            highest = max(expected[token.id])
            assert token.ios == float(highest)
            assert (token.by, token.before, token.merged) in expected[token.id][highest]
        assert [token.ios for token in found] == sorted((token.ios for token in found), reverse=True)
