"""The replay of events: the kernel beside the definition, and both beside figures worked out by hand."""

import os
import random
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from quality_examples import BYTES, make_vocabulary, random_events, random_pretokens

from event_counts import count_events
from naive_replay import replay_events
from tokenmill import Tokenizer, Vocabulary, WordCounts, count_iterator, load
from tokenmill.errors import UsageError
from tokenmill.formats import read
from tokenmill.quality import usage
from tokenmill.quality.evaluation_text import count_texts
from tokenmill.quality.replay import replay, swallowed_tokens

SWEEP = int(os.environ.get("TOKENMILL_SWEEP", "1"))


def rows_of(result):
    return list(zip(result.happened.tolist(), result.left.tolist(), result.right.tolist(), strict=True))


def happening(rows):
    """The rows with zeros for events that never happen."""
    return [row if row[0] else (0, 0, 0) for row in rows]


def test_worked_example():
    """low x5, lower x2, how x3: o+w happens 10 times, and 7 of these ow are then swallowed by low."""
    vocabulary = make_vocabulary([*BYTES, b"ow", b"low"], [(111, 119, 256), (108, 256, 257)])
    result = replay(vocabulary, WordCounts.from_mapping({b"low": 5, b"lower": 2, b"how": 3}))
    assert rows_of(result) == [(10, 10, 10), (7, 7, 10)]
    (low,) = swallowed_tokens(vocabulary, result)
    assert (low.id, low.by, low.ios, low.before, low.merged, low.alone) == (256, 257, 0.7, 10, 7, 3)
    assert result.final[256] == 3 and result.final[257] == 7
    assert result.alphabet == frozenset(range(256))


def test_twins_use_two():
    """aaaaaa x4: a+a happens 12 times, and aa+aa happens 4 times and uses 8 of the 12 aa."""
    vocabulary = make_vocabulary([*BYTES, b"aa", b"aaaa"], [(97, 97, 256), (256, 256, 257)])
    result = replay(vocabulary, WordCounts.from_mapping({b"aaaaaa": 4}))
    assert rows_of(result) == [(12, 24, 24), (4, 12, 12)]
    assert [(token.id, token.ios, token.merged) for token in swallowed_tokens(vocabulary, result)] == [(256, 2 / 3, 8)]


def test_removal_takes_apart():
    """ab, abc, then ab goes: what stood alone falls apart, abc stays whole, and ab can come back."""
    events = [(97, 98, 256), (256, 99, 257), (256, -1, -1), (98, 100, 258), (97, 98, 256)]
    vocabulary = make_vocabulary([*BYTES, b"ab", b"abc", b"bd"], events, "events")
    result = replay(vocabulary, WordCounts.from_mapping({b"ab": 2, b"abc": 5, b"abd": 7}))
    assert result.happened.tolist() == [14, 5, 9, 7, 2]
    assert result.left.tolist() == [14, 14, 9, 9, 9]
    assert {id: n for id, n in enumerate(result.final.tolist()) if n} == {97: 7, 256: 2, 257: 5, 258: 7}


@pytest.mark.parametrize("removals", [0.0, 0.3])
def test_kernel_is_the_definition(removals):
    for seed in range(300 * SWEEP):
        rng = random.Random(seed)
        letters = b"abcd"[: rng.randint(1, 4)]
        limit = 7 if len(letters) == 1 and removals == 0 else 40
        tokens, events = random_events(rng, letters, rng.randint(0, limit), removals)
        vocabulary = make_vocabulary(tokens, events, "events")
        pretokens = random_pretokens(rng, letters + b"x", rng.randint(1, 12))
        result = replay(vocabulary, WordCounts.from_mapping(pretokens))
        assert rows_of(result) == happening(count_events(pretokens.items(), events)), seed
        final = np.zeros(len(tokens), np.uint64)
        for pretoken, count in pretokens.items():
            for id in replay_events(list(pretoken), events):
                final[id] += np.uint64(count)
        assert np.array_equal(result.final, final), seed


def count_merges_by_rank(pretokens, merges):
    """For each merge, listed by rank: how often it happens, and how many of its left and right token earlier merges leave."""
    places = {(left, right): (place, new) for place, (left, right, new) in enumerate(merges)}
    happened, all_of, final = Counter(), Counter(), Counter()
    for pretoken, count in pretokens.items():
        ids = list(pretoken)
        all_of.update({id: n * count for id, n in Counter(ids).items()})
        while found := [(places[pair], at) for at, pair in enumerate(pairwise(ids)) if pair in places]:
            (place, new), at = min(found)
            ids[at : at + 2] = [new]
            happened[place] += count
            all_of[new] += count
        final.update({id: n * count for id, n in Counter(ids).items()})
    rows = []
    for place, (left, right, _) in enumerate(merges):
        n = happened[place]
        rows.append((n, all_of[left], all_of[right]) if n else (0, 0, 0))
        all_of.subtract({left: n})
        all_of.subtract({right: n})
    return rows, final


def test_merges_apply_by_rank_as_the_encoder_applies_them():
    """Merges in any order: a token may be made after the turn of a merge that takes it, and in two ways."""
    for seed in range(300 * SWEEP):
        rng = random.Random(seed)
        letters = b"abcd"[: rng.randint(1, 4)]
        tokens, merges = random_events(rng, letters, rng.randint(0, 7 if len(letters) == 1 else 40), 0)
        known = {token: id for id, token in enumerate(tokens)}
        made = [left for _, left, _ in merges]
        pairs = [(left, right) for left in made for right in made if tokens[left] + tokens[right] in known]
        merges = [*dict.fromkeys(merges + [(*pair, known[tokens[pair[0]] + tokens[pair[1]]]) for pair in pairs])]
        rng.shuffle(merges)
        vocabulary = make_vocabulary(tokens, merges, whole_pretokens=False)
        pretokens = random_pretokens(rng, letters + b"x", rng.randint(1, 12))
        pretokens[bytes(rng.choices(letters, k=200))] = 1  # the replay of a long one has a heap
        counts = WordCounts.from_mapping(pretokens)
        result = replay(vocabulary, counts)
        rows, final = count_merges_by_rank(pretokens, merges)
        assert rows_of(result) == rows, seed
        assert {id: n for id, n in enumerate(result.final.tolist()) if n} == {id: n for id, n in final.items() if n}, (
            seed
        )
        used = usage.measure_usage(Tokenizer(vocabulary), counts).by_id
        assert np.array_equal(result.final, used), seed
        assert all(token.merged <= token.before for token in swallowed_tokens(vocabulary, result)), seed


def test_slices_do_not_show(monkeypatch):
    rng = random.Random(5)
    tokens, events = random_events(rng, b"abc", 60, 0.2)
    vocabulary = make_vocabulary(tokens, events, "events")
    counts = WordCounts.from_mapping(random_pretokens(rng, b"abc", 200))
    whole = rows_of(replay(vocabulary, counts))
    seen = []
    monkeypatch.setattr(usage, "SLICE", 7)
    assert rows_of(replay(vocabulary, counts, lambda *call: seen.append(call))) == whole
    assert seen[-1] == ("replay", len(counts), len(counts)) and len(seen) > 50


def test_characters_and_unknown():
    tokens = [b"?", "é".encode(), b"a", "éa".encode()]
    vocabulary = make_vocabulary(tokens, [(1, 2, 3)], alphabet="characters", unknown=0)
    result = replay(vocabulary, WordCounts.from_mapping({"éaé".encode(): 3, "aüéa".encode(): 1}))
    assert rows_of(result) == [(4, 7, 5)]
    assert result.final.tolist() == [1, 3, 1, 4] and result.alphabet == {0, 1, 2}


def test_no_counts():
    vocabulary = make_vocabulary([*BYTES, b"aa"], [(97, 97, 256)])
    result = replay(vocabulary, WordCounts.from_mapping({}))
    assert rows_of(result) == [(0, 0, 0)] and swallowed_tokens(vocabulary, result) == []


def test_totals_past_63_bits_are_refused():
    vocabulary = make_vocabulary([*BYTES, b"aa"], [(97, 97, 256)])
    with pytest.raises(UsageError, match=r"2\*\*63"):
        replay(vocabulary, WordCounts.from_mapping({b"aaaaaaaa": 2**62}))


def test_long_pretoken_is_not_quadratic():
    """A million of one letter: each doubling is one merge, and the heap takes them in a moment."""
    tokens, events = list(BYTES), []
    last = 97
    for _ in range(10):
        tokens.append(tokens[last] * 2)
        events.append((last, last, len(tokens) - 1))
        last = len(tokens) - 1
    result = replay(make_vocabulary(tokens, events), WordCounts.from_mapping({b"a" * (1 << 20): 1}))
    assert result.happened.tolist() == [1 << (19 - k) for k in range(10)]


@pytest.mark.parametrize("corpus", ["en", "multi"])
def test_cl100k_ends_where_tiktoken_does(shared, corpus_bytes, corpus):
    """After the last merge of a ranked vocabulary each pretoken is cut as tiktoken cuts it."""
    import tiktoken

    vocabulary = read(shared / "vocab" / "cl100k_base.tiktoken")
    counts = count_iterator([corpus_bytes(corpus, 400_000)], split=vocabulary.split_patterns)
    ranks = {token: id for id, token in enumerate(vocabulary.tokens) if token is not None}
    whole = tiktoken.Encoding("whole", pat_str=r"(?s:.+)", mergeable_ranks=ranks, special_tokens={})
    expected = np.zeros(len(vocabulary.tokens), np.uint64)
    for pretoken, count in counts.items():
        np.add.at(expected, whole._encode_single_piece(pretoken), np.uint64(count))
    assert np.array_equal(replay(vocabulary, counts).final, expected)


@pytest.mark.parametrize("name", ["gemma2", "yi", "llama2"])
def test_merges_of_sentencepiece_end_where_the_encoder_does(shared, corpus_bytes, name):
    """Their files list merges of a token before those that make it. Yi has tokens of a byte and of a character that are alike."""
    tok = load(shared / "vocab" / f"{name}-tokenizer.json.zst")
    counts = count_texts(tok, [corpus_bytes("code", 60_000).decode()]).counts
    result, used = replay(tok.vocabulary, counts), usage.measure_usage(tok, counts).by_id
    swallowed = swallowed_tokens(tok.vocabulary, result)
    assert len(swallowed) > 1000 and all(token.alone == used[token.id] for token in swallowed)


def test_of_equal_tokens_the_one_that_encoding_uses_is_replayed():
    tokens = (*(bytes([byte]) for byte in range(256)), b"ab", b"a")
    vocabulary = Vocabulary(tokens, order="merges", events=[(97, 98, 256)], split_patterns=())
    replayed = replay(vocabulary, WordCounts.from_mapping({b"a": 5, b"ab": 2}))
    assert Tokenizer(vocabulary).encode("a") == [97]
    assert replayed.happened.tolist() == [2]
    assert replayed.final[[97, 98, 256, 257]].tolist() == [5, 0, 2, 0]
