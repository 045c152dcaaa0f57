"""How often each event applies, straight from the definition."""

from collections.abc import Iterable, Sequence

from naive_replay import Event, apply_event, removal_parts


def count_events(pretokens: Iterable[tuple[Sequence[int], int]], events: Sequence[Event]) -> list[tuple[int, int, int]]:
    """For each event: how often it applies, and how often its left and its right token stand in the corpus before it.

    pretokens: as ids, each with its count. A removal has (f, f, 0), with f of the token that it removes.
    """
    corpus = [(list(ids), count) for ids, count in pretokens]
    parts = removal_parts(events)
    results = []
    for place, event in enumerate(events):
        left, right, _ = event
        before = [sum(ids.count(id) * count for ids, count in corpus) for id in (left, right)]
        after = [(apply_event(ids, event, parts.get(place, [])), count) for ids, count in corpus]
        if right < 0:
            happened = before[0]
        else:
            happened = sum((len(old) - len(new)) * n for (old, n), (new, _) in zip(corpus, after, strict=True))
        results.append((happened, before[0], before[1]))
        corpus = after
    return results
