"""Picky exports and repaired vocabularies on held-out text: the tables of docs/how-to/repair.md and picky-results.md.

Of each corpus, the last twentieth is held out, documents that are unlike the rest, which is trained on. Measured are:

exports    Picky BPE at 32,768 tokens in event order, and what the same tokens give merged by rank and by longest match
frequency  how often the text uses the tokens that Picky BPE adds and those that it loses, against plain BPE
cleaned    plain BPE of 32,768 tokens without the tokens that reach an IoS
replaced   cl100k with 2,000 tokens replaced for code

python -m benchmarks.repair
"""

from __future__ import annotations

import sys

from .harness import CACHE, corpus_file, main, saved, shared_file
from .pages import table

SIZE = 32_768
THRESHOLDS = (0.9, 0.8, 0.7, 0.6)
HELD_OUT = 20  # the last of so many parts


def halves(name: str):
    """The word counts of the text to train on and of the held-out text, created once in the cache."""
    import tokenmill

    paths = [CACHE / f"{name}-{half}-counts" for half in ("first", "last")]
    if not all(path.exists() for path in paths):
        data = corpus_file(name).read_bytes()
        cut = data.find(b"\n", len(data) * (HELD_OUT - 1) // HELD_OUT) + 1
        for path, part in zip(paths, (data[:cut], data[cut:]), strict=True):
            tokenmill.count_iterator([part]).save(path)
    return [tokenmill.WordCounts.load(path) for path in paths]


def tokens_of(tok, counts) -> int:
    from tokenmill.quality.usage import measure_usage

    return measure_usage(tok, counts).tokens


def exported(tok, counts) -> dict[str, int]:
    """The tokens of a text in event order, merged by rank, and by longest match."""
    from tokenmill import export_loss

    loss = export_loss(tok, counts)
    return {"by events": loss.tokens, "by rank": loss.other_tokens, "longest match": loss.longest_tokens}


def quartiles(uses) -> dict[str, float]:
    import numpy as np

    quarter, median, three = np.percentile(uses, (25, 50, 75)).tolist()
    under = float((np.array(uses) < 100).mean())
    return {"tokens": len(uses), "quarter": quarter, "median": median, "three quarters": three, "under 100": under}


def measure(name: str) -> dict:
    import tokenmill
    from tokenmill.quality.usage import measure_usage, ordinary_tokens

    train, heldout = halves(name)
    plain = tokenmill.train_from_counts(train, SIZE)
    rows = [{"T": None, "trained": tokens_of(plain, train), "plain": tokens_of(plain, heldout)}]
    spelt = {token: id for id, token in ordinary_tokens(plain.vocabulary).items()}
    plain_uses = measure_usage(plain, train).by_id
    frequency, cleaned = [], []
    for threshold in THRESHOLDS:
        picky = tokenmill.train_from_counts(train, SIZE, refine=threshold)
        rows.append({"T": threshold, "trained": tokens_of(picky, train), **exported(picky, heldout)})
        ours = {token: id for id, token in ordinary_tokens(picky.vocabulary).items()}
        uses = measure_usage(picky, train).by_id
        lost = quartiles([int(plain_uses[spelt[token]]) for token in spelt.keys() - ours.keys()])
        added = quartiles([int(uses[ours[token]]) for token in ours.keys() - spelt.keys()])
        frequency.append({"T": threshold, "lost": lost, "added": added})
        if threshold in (0.9, 0.6):
            smaller = tokenmill.prune(plain, ios=threshold, counts=train)
            trained = tokenmill.train_from_counts(train, smaller.tok.n_vocab)
            cleaned.append(
                {
                    "T": threshold,
                    "removed": smaller.dropped,
                    **exported(smaller.tok, heldout),
                    "trained to this size": tokens_of(trained, heldout),
                }
            )
        print(name, rows[-1], frequency[-1], file=sys.stderr)
    return {"exports": rows, "frequency": frequency, "cleaned": cleaned}


def measure_replaced() -> list[dict]:
    import tokenmill

    tok = tokenmill.load(shared_file("vocab", "cl100k_base.tiktoken"))
    code, heldout = halves("code")
    others = {name: halves(name)[1] for name in ("en", "multi")}
    cases = [("cl100k", tok), ("2,000 replaced", tokenmill.replace(tok, code, number=2000).tok)]
    more = tokenmill.WordCounts.merge([halves(name)[0] for name in others])
    cases.append(("2,000 replaced, en and multi kept", tokenmill.replace(tok, code, number=2000, keep=more).tok))
    cases.append(("all that are worth it, en and multi kept", tokenmill.replace(tok, code, keep=more).tok))
    rows = []
    for case, each in cases:
        stays = sum(each.vocabulary.token_bytes(id) == tok.vocabulary.token_bytes(id) for id in range(tok.n_vocab))
        figures = {name: tokens_of(each, text) for name, text in {"code": heldout, **others}.items()}
        rows.append({"case": case, "replaced": tok.n_vocab - stays, **figures})
        print(rows[-1], file=sys.stderr)
    return rows


def against(value: int, base: int) -> str:
    return f"{value:,} ({value / base - 1:+.2%})"


def exports() -> list[str]:
    results, rows = saved("repair")["results"], []
    for name in ("en", "multi"):
        base = results[name]["exports"][0]
        rows.append([name, "off", f"{base['trained']:,}", f"{base['plain']:,}", "", ""])
        for row in results[name]["exports"][1:]:
            figures = (against(row[key], base["plain"]) for key in ("by events", "longest match", "by rank"))
            rows.append([name, row["T"], against(row["trained"], base["trained"]), *figures])
    return table(["corpus", "T", "training text", "held out, event order", "longest match", "merged by rank"], rows)


def frequency() -> list[str]:
    results, rows = saved("repair")["results"], []
    for name in ("en", "multi"):
        for row in results[name]["frequency"]:
            for kind in ("lost", "added"):
                of = row[kind]
                quarters = (f"{of[key]:,.0f}" for key in ("quarter", "median", "three quarters"))
                rows.append([name, row["T"], kind, f"{of['tokens']:,}", *quarters, f"{of['under 100']:.0%}"])
    head = ["corpus", "T", "tokens that are", "number", "first quartile", "median", "third quartile"]
    return table([*head, "used under 100 times"], rows)


def cleaned() -> list[str]:
    results, rows = saved("repair")["results"], []
    for name in ("en", "multi"):
        base = results[name]["exports"][0]["plain"]
        for row in results[name]["cleaned"]:
            keys = ("by events", "longest match", "by rank", "trained to this size")
            rows.append(
                [name, row["T"], f"{row['removed']:,}", f"{base:,}", *(against(row[key], base) for key in keys)]
            )
    head = ["corpus", "T", "removed", "plain, 32,768", "cleaned, event order", "longest match", "merged by rank"]
    return table([*head, "plain, trained to this size"], rows)


def replaced() -> list[str]:
    cases = saved("repair")["results"]["replaced"]
    rows = [
        [row["case"], f"{row['replaced']:,}", *(against(row[name], cases[0][name]) for name in ("code", "en", "multi"))]
        for row in cases
    ]
    return table(["vocabulary", "ids with other tokens", "tokens of held-out code", "of en", "of multi"], rows)


def run() -> dict:
    return {"en": measure("en"), "multi": measure("multi"), "replaced": measure_replaced()}


if __name__ == "__main__":
    main(run)
