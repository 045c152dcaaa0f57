"""Words, the sample of documents, and the bootstrap, each beside a plain definition."""

import json
import random
import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from quality_examples import BYTES, make_vocabulary

from tokenmill import ReadOptions, Tokenizer
from tokenmill.quality import evaluation_text
from tokenmill.quality.comparing import bootstrap
from tokenmill.quality.evaluation_text import EvaluationText, count_words

SPACES = "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000"


@given(
    st.lists(st.text(st.sampled_from("ab漢é\u2010\u3001\u180e" + SPACES), max_size=12), max_size=6),
    st.integers(1, 30),
)
def test_words_are_runs_of_anything_but_white_space(texts, times):
    texts = [text * times for text in texts]
    data = b"".join(text.encode() for text in texts)
    ends = np.cumsum([len(text.encode()) for text in texts]).astype(np.uint64)
    words = [re.findall(f"[^{SPACES}]+", text) for text in texts]
    assert count_words(data, ends) == sum(map(len, words))


def test_the_sample_is_even_and_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(evaluation_text, "MOST", 100)
    lines = [f"document {i} " + "x" * (i % 7) for i in range(5000)]
    (tmp_path / "a.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    text = EvaluationText(tmp_path / "a.txt", read=ReadOptions(unit="line"))
    words, sample = text.surveyed
    assert words == {"a": sum(len(line.split()) for line in lines)} and text.survey(lambda data, ends: 0)[1] == sample
    numbers = [int(excerpt.split()[1]) for excerpt in sample.excerpts]
    assert sample.total == 5000 and 50 < len(numbers) <= 100
    assert numbers == list(range(0, 5000, sample.step))


def test_long_documents_are_sampled_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(evaluation_text, "EXCERPT", 1000)
    text = "".join(f"line {i}\n" for i in range(3000))
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    (tmp_path / "b.jsonl").write_text(json.dumps({"text": "low lower"}) + "\n", encoding="utf-8")
    found = EvaluationText([tmp_path / "a.txt", tmp_path / "b.jsonl"])
    assert found.surveyed[0]["a"] == 6000 and found.surveyed[0]["b"] == 2
    excerpts = found.surveyed[1].excerpts
    assert b"".join(excerpts[:-1]) == text.encode() and excerpts[-1] == b"low lower"
    assert all(len(excerpt) <= 1000 and excerpt.endswith(b"\n") for excerpt in excerpts[:-1])
    plain = Tokenizer(make_vocabulary(BYTES))
    assert found.surveyed[1].tokens(plain).tolist() == list(map(len, excerpts))


def test_bootstrap():
    rng = random.Random(1)
    below = np.array([rng.randint(50, 150) for _ in range(400)])
    above = np.array([round(0.9 * n + rng.gauss(0, 3)) for n in below])
    found = bootstrap(above, below)
    assert found == bootstrap(above, below)  # the same draws each time
    assert found.ratio == above.sum() / below.sum() and 0.89 < found.low < found.ratio < found.high < 0.91
    ratios = above / below  # the delta method, for the width
    spread = 1.96 * np.std((above - found.ratio * below) / below.mean()) / 20
    assert abs((found.high - found.low) / 2 - spread) < 0.2 * spread and ratios.size == 400
    assert bootstrap(above[:19], below[:19]) is None
