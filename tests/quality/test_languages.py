"""Languages: the Gini coefficient, sources with names, and the published vocabularies on the shipped sample."""

import random

import pytest
from quality_examples import BYTES, make_vocabulary

import tokenmill
from tokenmill import Tokenizer
from tokenmill.errors import UsageError
from tokenmill.quality.evaluation_text import EvaluationText, count_texts
from tokenmill.quality.metrics import gini
from tokenmill.quality.references import ENGLISH, JUNK, PROSE, on_sample, references, sample
from tokenmill.quality.replay import replay, swallowed_tokens
from tokenmill.quality.usage import ordinary_tokens

COUNTS = tokenmill.WordCounts.from_mapping({b"low": 3})


def test_gini_is_half_the_relative_mean_difference():
    """Another definition of the same coefficient."""
    rng = random.Random(2)
    for n in (2, 3, 20):
        costs = [rng.randint(1, 1000) for _ in range(n)]
        differences = sum(abs(a - b) for a in costs for b in costs)
        assert gini(costs) == pytest.approx(differences / (2 * n * sum(costs)))
    assert gini([7, 7, 7]) == 0 and gini([1]) is None and gini([]) is None


def test_languages_by_name(tmp_path):
    for name, text in {"a.txt": "low low", "b.txt": "tief und tiefer", "c.txt": "tief", "x=y.txt": "z"}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    domains = EvaluationText(
        [f"en={tmp_path}/a.txt", f"de={tmp_path}/b.txt", f"de={tmp_path}/c.txt", f"{tmp_path}/x=y.txt"]
    )
    assert domains.names == ["en", "de", "x=y"] and domains.surveyed[0]["de"] == 4
    plain = Tokenizer(make_vocabulary(BYTES))
    found = tokenmill.compare({"bytes": plain}, [f"en={tmp_path}/a.txt", f"de={tmp_path}/b.txt"])
    (row,) = found.table("languages").rows
    assert row[:3] == ("bytes", pytest.approx(gini([7, 15])), 0) and row[4] == 1
    assert found.table("domain_bytes").column("source") == ["en", "de"]
    for name in "ac":
        (tmp_path / f"{name}.txt").write_text("low\n" * (4 if name == "a" else 3) + "low", encoding="utf-8")
    assert EvaluationText([f"en={tmp_path}/a.txt", f"de={tmp_path}/c.txt"]).surveyed[1].lines == {"en": 5, "de": 4}
    for text in ([f"en={tmp_path}/a.txt", f"de={tmp_path}/c.txt"], {"en": COUNTS, "de": COUNTS}):  # no translations
        for found in (tokenmill.compare({"bytes": plain}, text), tokenmill.inspect(plain, text=text)):
            assert "languages" not in {table.key for table in found.tables}
    tokenmill.count(tmp_path / "a.txt").save(tmp_path / "counts")
    named = EvaluationText([f"en={tmp_path}/counts"])
    assert named.names == ["en"]
    with pytest.raises(UsageError, match="another name"):
        EvaluationText([f"en={tmp_path}/counts", f"en={tmp_path}/a.txt"])


def test_sample_in_bytes():
    """A vocabulary of bytes needs as many tokens as the sample has bytes."""
    figures = on_sample(Tokenizer(make_vocabulary(BYTES)))
    assert figures.tokens == {name: len(text.encode()) for name, text in sample().items()}
    assert figures.swallowed == 0 and figures.premiums[ENGLISH] == 1 and len(figures.languages) == 20


@pytest.mark.parametrize("unknown", [None, "<unk>"])
def test_sample_that_a_vocabulary_does_not_know_wholly(unknown):
    """Every text counts for the tokens used and swallowed, since those of the published vocabularies are of all texts."""
    known = "".join(sorted({*sample()["Greek"], *sample()[PROSE]}))
    text = "".join(character for of in sample().values() for character in of if character in known)
    options = {"alphabet": "characters", "split": r"\w+|\W+", "unknown_token": unknown, "characters": known}
    tok = tokenmill.train_from_iterator([text], 1000, **options)
    figures = on_sample(tok)
    assert figures.tokens["Korean"] is None and figures.tokens["Greek"] > 0
    counted = count_texts(tok, sample().values())
    found = swallowed_tokens(tok.vocabulary, replay(tok.vocabulary, counted.counts))
    assert figures.swallowed == sum(token.ios >= JUNK for token in found) > 0
    of_sample = {id for of in sample().values() for id in tok.encode(of, disallowed_special=())} if unknown else None
    assert figures.used == (of_sample and len(of_sample & ordinary_tokens(tok.vocabulary).keys()))


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("cl100k_base", "cl100k_base.tiktoken"),
        ("llama-3", "llama3.1-tokenizer.json.zst"),
        ("yi", "yi-tokenizer.json.zst"),
    ],
)
def test_the_shipped_figures_are_those_of_the_published_files(shared, name, file):
    """The table is what its script would make today, for ranks, and for merges that list some tokens after their use."""
    tok = tokenmill.load(shared / "vocab" / file)
    figures = on_sample(tok)
    assert figures == references()[name]
    assert {name: len(tok.encode_ordinary(text)) for name, text in sample().items()} == figures.tokens
    assert {"gpt2", "cl100k_base", "o200k_base"} < set(references())
    assert name not in references([figures])
