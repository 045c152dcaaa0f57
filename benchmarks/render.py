"""Render the README's table of speeds from benchmarks/results: python -m benchmarks.render"""

from __future__ import annotations

import json
import re

from .harness import RESULTS, ROOT, median, ratio

PEERS = {"rustbpe": "tokenmill", "gigatoken": "tokenmill_gpt2", "tokenizers": "tokenmill", "bpeasy": "tokenmill"}


def training_rows() -> list[str]:
    """One row for each corpus: tokenmill's seconds and memory, and how many times as long each peer takes."""
    saved = json.loads((RESULTS / "train.json").read_text())
    rows = [
        "| train 32,768 tokens, file to tokenizer | tokenmill | " + " | ".join(PEERS) + " |",
        "| --- | --- |" + " --- |" * len(PEERS),
    ]
    for corpus, kept in saved["results"].items():
        cells = [f"{median(kept['tokenmill']):.2f} s, {median(kept['tokenmill'], 'peak_mib'):.0f} MiB"]
        for peer, ours in PEERS.items():
            if peer in kept:
                memory = median(kept[peer], "peak_mib")
                cells.append(f"{ratio(kept[peer], kept[ours]):.1f}x as long, {memory:.0f} MiB")
            else:
                cells.append("")
        rows.append(f"| {corpus} | " + " | ".join(cells) + " |")
    place = saved["environment"]
    rows.append("")
    rows.append(
        f"Taken on {place['date']} on {place['cores']} cores ({place['cpu']}), Python {place['python']}; the cl100k "
        "pattern, but for gigatoken, which trains with GPT-2's and is compared with tokenmill doing so."
    )
    return rows


def main() -> None:
    readme = ROOT / "README.md"
    table = "\n".join(training_rows())
    text = re.sub(
        r"(<!-- speeds:begin -->\n).*?(<!-- speeds:end -->)",
        lambda found: found[1] + table + "\n" + found[2],
        readme.read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )
    readme.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
