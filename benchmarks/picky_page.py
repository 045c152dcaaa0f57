"""The tables of docs/explanation/picky-results.md."""

from __future__ import annotations

from .harness import CORPORA, median, saved, spread, times
from .pages import section, table


def refinement() -> list[str]:
    """One row for each corpus, size and threshold."""
    results = saved("picky_paper")["results"]
    rows = []
    for corpus in ("en", "multi"):
        for row in results[corpus]:
            removed = row["removed for good"]
            rows.append(
                [
                    corpus,
                    f"{row['size']:,}",
                    row["threshold"] or "off",
                    f"{row['removals']:,}",
                    f"{removed:,} ({removed / row['size']:.1%})",
                    f"{row['added']:,}",
                    f"{row['tokens']:,} ({row['relative'] - 1:+.2%})" if row["threshold"] else f"{row['tokens']:,}",
                    f"{row['mean characters']:.2f}",
                    f"{row['word-initial']:.1%}",
                    *(f"{row[key]:.0%}" if row[key] else "" for key in ("word-initial, added", "word-initial, lost")),
                ]
            )
    head = ["corpus", "tokens", "T", "removals", "removed at the end", "added", "tokens of the text", "mean characters"]
    return table([*head, "word-initial", "of the added", "of the lost"], rows)


def beside() -> list[str]:
    """The figures that the paper published, and the same figures for both corpora."""
    results = saved("picky_paper")["results"]

    def row(corpus: str, size: int, threshold: float | None) -> dict:
        return next(r for r in results[corpus] if (r["size"], r["threshold"]) == (size, threshold))

    def span(corpus: str, key: str, form: str, size: int) -> str:
        return f"{row(corpus, size, None)[key]:{form}} to {row(corpus, size, 0.6)[key]:{form}}"

    corpora = ("en", "multi")
    lines = {
        "removed at T = 0.9, of 32,768": (
            "about 2%",
            *(f"{row(c, 32_768, 0.9)['removed for good'] / 32_768:.1%}" for c in corpora),
        ),
        "tokens of the text at T = 0.6, against plain BPE, 8,192 to 32,768": (
            "about level, about 1% fewer",
            *(
                f"{row(c, 8_192, 0.6)['relative'] - 1:+.2%} to {row(c, 32_768, 0.6)['relative'] - 1:+.2%}"
                for c in corpora
            ),
        ),
        "mean length in characters, plain BPE to T = 0.6, 8,192": (
            "5.38 to 5.50",
            *(span(c, "mean characters", ".2f", 8_192) for c in corpora),
        ),
        "the same, 32,768": ("", *(span(c, "mean characters", ".2f", 32_768) for c in corpora)),
        "word-initial, plain BPE to T = 0.6, 32,768": ("", *(span(c, "word-initial", ".1%", 32_768) for c in corpora)),
    }
    return table(["", "the paper", "en", "multi"], [[name, *cells] for name, cells in lines.items()])


def variations() -> list[str]:
    """One row for each change, at 32,768 tokens and T = 0.9."""
    results = saved("picky_paper")["results"]["variations"]
    rows = []
    for en, multi in zip(results["en"], results["multi"], strict=True):
        shares = [f"{row['removed for good']:,} ({row['removed for good'] / 32_768:.1%})" for row in (en, multi)]
        rows.append([en["case"], *shares, f"{multi['not whole UTF-8']:,}"])
    head = ["32,768 tokens, T = 0.9", "en, removed at the end", "multi, removed at the end", "multi, not whole UTF-8"]
    return table(head, rows)


def speed() -> list[str]:
    """One row for each corpus and threshold: the time of Picky BPE and its ratio to plain BPE."""
    picky = saved("picky")
    results, place = picky["results"], picky["environment"]
    rows = []
    for corpus in CORPORA:
        kept = results[corpus]
        for threshold in ("0.9", "0.6"):
            text, plain = kept[f"text {threshold}"], kept["text off"]
            loop = times(kept[f"counts {threshold}"], kept["counts off"], "thread_seconds")
            ratios = times(text, plain), times(text, plain, "cpu"), loop
            rows.append([corpus, threshold, spread(each["wall"] for each in text), *ratios])
    ((_, small),) = results["small"].items()
    head = ["32,768 tokens", "T", "from text, seconds", "ratio to plain BPE", "ratio of CPU time"]
    return section(
        table([*head, "ratio of merge loop time"], rows),
        f"20 MB of en at 8,192 tokens and T = 0.9, from text to tokenizer: {median(small, 'seconds'):.2f} s. The whole "
        f"process takes {median(small, 'cpu'):.2f} s of CPU time.",
        f"Medians and ranges of {len(kept['text off'])} alternating rounds on {place['date']}, {place['cores']} cores ({place['cpu']}) "
        f"shared with other work, Python {place['python']}.",
    )


TABLES = {"refinement": refinement, "beside": beside, "variations": variations, "speed": speed}
