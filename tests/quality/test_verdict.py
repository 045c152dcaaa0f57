"""The verdict: each finding has a number, a threshold, what it means and what to do, and turns where its threshold is."""

import dataclasses
import hashlib
import json
import os
import re
import shlex
import threading
from xml.etree import ElementTree

import pytest
from quality_examples import BYTES, make_vocabulary, random_text

import tokenmill
from tokenmill import Tokenizer, WordCounts
from tokenmill.cli.main import app
from tokenmill.errors import UsageError
from tokenmill.quality import references
from tokenmill.quality.comparing import compared, compared_summary
from tokenmill.quality.token_lists import superwords_of
from tokenmill.quality.verdict import Standing, Subject, densities, summary, verdict
from tokenmill.vocabulary import AddedToken

TEXT = "low lower lowest, new newer newest; how slow the show goes\n" * 400


@pytest.fixture(scope="module")
def tok():
    return tokenmill.train_from_iterator([TEXT], 280)


def finding(found, key):
    (one,) = [finding for finding in found.findings if finding.key == key]
    assert one.statement and one.threshold and one.meaning and (one.advice or one.level in ("good", "ungraded"))
    return one


def test_three_to_five_findings_the_most_expensive_first(tok):
    found = tokenmill.inspect(tok, text={"text": tokenmill.count_iterator([TEXT])})
    levels = [finding.level for finding in found.findings]
    costs = [finding.cost for finding in found.findings]
    assert 3 <= len(levels) <= 5 and costs == sorted(costs, reverse=True)
    swallowed = sum(token.ios >= 0.9 for token in found.judgement.swallowed)
    of = finding(found, "swallowed")
    assert of.level == "look" and of.statement.startswith(f"{swallowed:,} tokens (") and "--refine 0.9" in of.advice
    assert "about this size" not in of.meaning and found.summary.startswith("Too far from the sizes")
    for key in ("languages", "density"):  # nothing to compare with is not "good"
        of = finding(found, key)
        assert of.level == "ungraded" and of.threshold.endswith("; there are none") and not of.advice


def test_unused_tokens_of_a_short_text_are_only_to_be_looked_at():
    tok = tokenmill.train_from_iterator([TEXT + random_text(1)], 400)
    long, short = (
        finding(
            tokenmill.inspect(
                tok, text={"x": WordCounts.from_mapping({b"low": times}, split_patterns=tok.vocabulary.split_patterns)}
            ),
            "unused",
        )
        for times in (10**6, 3)
    )
    assert (long.level, short.level) == ("look", "ungraded")
    assert "tokenmill prune" in long.advice and "this text keeps its tokens" in long.advice
    assert "more text" in short.advice


def test_unused_tokens_that_must_stay_are_no_complaint(tmp_path):
    """After `prune TEXT` the same text has nothing left to say."""
    path = tmp_path / "a.txt"
    path.write_text("low lower " * 4000)
    tok = tokenmill.train_from_iterator([TEXT + random_text(1)], 400)
    before = finding(tokenmill.inspect(tok, text=path), "unused")
    smaller = tokenmill.shrink(tok, text=path)
    assert (
        before.level == "look"
        and f"removes {smaller.dropped:,} tokens, and this text keeps its tokens" in before.advice
    )
    after = finding(tokenmill.inspect(smaller.tok, text=path), "unused")
    assert after.level == "good" and not after.advice
    assert "none of them can be removed" in after.statement  # the single bytes


def test_a_text_that_a_vocabulary_was_pruned_on_has_no_swallowed_tokens_left(tmp_path):
    """And nobody is told to train a vocabulary that was only pruned."""
    path = tmp_path / "a.txt"
    path.write_text(random_text(1, 30) * 300, encoding="utf-8")
    tok = tokenmill.train_from_iterator([random_text(1)], 1000)
    published = Tokenizer(tok.vocabulary.replace(event_counts=()))
    pruned = tokenmill.prune(published, ios=0.9, counts=path)
    assert pruned.dropped and pruned.tok.vocabulary.order == "events"
    after = finding(tokenmill.inspect(pruned.tok, text=path), "swallowed")
    assert after.level == "good" and after.statement == "No token was almost always swallowed by a longer one."
    other = finding(tokenmill.inspect(pruned.tok, text=tokenmill.WordCounts.from_mapping({b"ab": 1})), "languages")
    assert "training" not in other.advice and "train on" not in other.advice


def test_what_prune_drops_and_keeps_is_what_the_text_does_not_use(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("low lower " * 4000)
    tok = tokenmill.train_from_iterator([TEXT + random_text(1)], 400)
    found = tokenmill.inspect(tok, text=path)
    smaller = tokenmill.shrink(tok, text=path)
    assert smaller.dropped + len(smaller.needed) == len(found.table("unused").rows)


def test_what_is_bad_for_some_uses_only_is_never_red(tok, monkeypatch):
    of = Standing(0.6, {"a": 0.1, "b": 0.2, "c": 0.3})
    assert of.level == "act"
    monkeypatch.setattr("tokenmill.quality.verdict.standing_of", lambda *_, **__: of)
    assert finding(tokenmill.inspect(tok), "languages").level == "look"


def test_advice_is_measured(tmp_path):
    """What the advice promises is what the command does; what changes nothing is not advised."""
    path = tmp_path / "my text.txt"
    path.write_text(random_text(1, 30) * 300, encoding="utf-8")
    tokenmill.train_from_iterator([random_text(1)], 1000).save(tmp_path / "tok")
    tok = tokenmill.load(tmp_path / "tok")
    advice = finding(tokenmill.inspect(tok, text=path), "swallowed").advice
    text = path.read_text("utf-8")
    pruned = tokenmill.prune(tok, ios=0.9, counts=path)
    more = 100 * (len(pruned.tok.encode(text)) / len(tok.encode(text)) - 1)
    assert (
        f"`tokenmill prune {tmp_path / 'tok'} '{path}' --ios 0.9 -o pruned` removes {pruned.dropped:,} tokens" in advice
    )
    cost = re.search(r"takes ([\d.]+) % more", advice)
    assert float(cost[1]) == pytest.approx(more, abs=0.006) if cost else more < 0.01
    unused = finding(tokenmill.inspect(tok, text=path), "unused").advice
    replaced = tokenmill.replace(tok, path)
    fewer = 1 - len(replaced.tok.encode(text)) / len(tok.encode(text))
    assert ("tokenmill extend" in unused) == (fewer >= 0.001)
    assert "--reuse 0" not in unused


def test_a_short_text_advises_no_prune(tmp_path):
    """The tokens that a few words swallow occur alone in other text."""
    path = tmp_path / "short.txt"
    path.write_text(random_text(1, 300))
    tok = tokenmill.train_from_iterator([random_text(1)], 1000)
    of = finding(tokenmill.inspect(tok, text=path), "swallowed")
    assert of.level == "look" and "tokenmill prune" not in of.advice
    assert of.advice.endswith("Evaluate on more text before you act on this.")


def test_advice_names_only_changes_that_can_be_saved(tmp_path):
    """A whole pretoken is looked up before the added tokens here, so that tokenizer.json has no place for an id before theirs."""
    special = AddedToken("<s>", 0, single_word=True)
    options = {"split_patterns": (r".",), "whole_pretokens": True, "added_tokens": (special,)}
    tok = Tokenizer(make_vocabulary([None, *BYTES, b"never"], [], **options))
    with pytest.raises(tokenmill.errors.ConversionError):
        tokenmill.prune(tok, ids=[257]).tok.save(tmp_path / "smaller")
    assert "tokenmill" not in finding(tokenmill.inspect(tok), "unreachable").advice


def test_advised_commands_can_be_pasted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trained = tokenmill.train_from_iterator([random_text(1)], 1000, special_tokens=[])
    trained.save("-tok.tiktoken", format="tiktoken")
    (tmp_path / "-tok.tiktoken.json").unlink()  # which has the split pattern
    (tmp_path / "-text.txt").write_text(random_text(1, 30) * 300)
    tok = tokenmill.load("-tok.tiktoken", split="gpt2")
    advice = finding(tokenmill.inspect(tok, text="-text.txt"), "swallowed").advice
    (command,) = re.findall("`tokenmill (.*?)`", advice)
    assert command == "prune ./-tok.tiktoken --split=gpt2 ./-text.txt --ios 0.9 -o pruned"
    app([*shlex.split(command), "--quiet"])
    assert tokenmill.load("pruned").n_vocab < tok.n_vocab
    os.mkfifo("pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_text(random_text(1, 30) * 300))
    writer.start()
    advice = finding(tokenmill.inspect(tok, text="pipe"), "swallowed").advice
    writer.join()
    assert "`tokenmill prune ./-tok.tiktoken --split=gpt2 TEXT --ios" in advice


def test_unreachable_tokens():
    plain = finding(tokenmill.inspect(Tokenizer(make_vocabulary(BYTES))), "unreachable")
    # C0, C1 and F5 to FF are in no UTF-8 text, and cannot be removed.
    assert plain.level == "good" and plain.statement.startswith("13 tokens") and "all of them in" in plain.statement
    vocabulary = make_vocabulary([*BYTES, b"never"], [], split_patterns=(r".",))
    more = finding(tokenmill.inspect(Tokenizer(vocabulary)), "unreachable")
    assert more.level == "look" and more.statement.startswith("14 tokens") and "1 of them not in" in more.statement
    assert more.advice == "`tokenmill prune TOKENIZER --unreachable -o smaller` removes 1 token."
    # Where training began with characters, a token of several that no merge makes stays, and is no part of the alphabet.
    tokens = [b"a", "é".encode(), b"<|user|>"]
    vocabulary = make_vocabulary(tokens, [], alphabet="characters", whole_pretokens=False)
    kept = finding(tokenmill.inspect(Tokenizer(vocabulary)), "unreachable")
    assert kept.level == "look" and "1 of them not in" in kept.statement and kept.advice.startswith("Reuse their ids")


@pytest.mark.parametrize("fields", [{"dropped": " "}, {"byte_patterns": ("t",)}], ids=str)
def test_what_cannot_encode_by_events_is_judged_too(fields, tmp_path):
    """Junk cannot be removed from it."""
    word = b"abcdefghijklmnop"  # each of its beginnings is a token, swallowed by the next
    rows = [(97, 98, 256), *((254 + n, word[n], 255 + n) for n in range(2, len(word)))]
    tokens = [*BYTES, *(word[:n] for n in range(2, len(word) + 1))]
    vocabulary = make_vocabulary(tokens, rows, whole_pretokens=False, split_patterns=(r"\s+",), **fields)
    tok = Tokenizer(vocabulary)
    (tmp_path / "text.txt").write_text((word.decode() + " ") * 6000)
    junk = finding(tokenmill.inspect(tok, text=tmp_path / "text.txt"), "swallowed")
    assert junk.advice == "They cannot be removed from this vocabulary; choose another one if rows are scarce."
    with pytest.raises(UsageError, match="drops white space, or cuts the bytes of pretokens"):
        tokenmill.prune(tok, ios=0.9, counts=tmp_path / "text.txt")


def test_prune_unreachable(tmp_path):
    folder, text = tmp_path / "tok", tmp_path / "text.txt"
    Tokenizer(make_vocabulary([*BYTES, b"never"], [], split_patterns=(r".",))).save(folder)
    text.write_text("never say never")
    for number, sources in enumerate([(), (str(text),)]):
        job = tokenmill.Prune(tokenizer=folder, sources=sources, unreachable=True, output=tmp_path / f"out{number}")
        changed = job.run()
        assert changed.dropped == 1 and changed.tok.n_vocab == 256


KINDS = {
    "plain": {},
    "picky": {"refine": 0.9},
    "superbpe": {"superwords": "superbpe", "stage1_size": 600},
    "boundless": {"superwords": "boundless"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_advice_names_only_commands_that_take_the_vocabulary(kind, tmp_path):
    path = tmp_path / "other.txt"
    tok = tokenmill.train_from_iterator([random_text(1)], 1000, **KINDS[kind])
    path.write_text(random_text(1, 30) * 1500, encoding="utf-8")
    found = tokenmill.inspect(tok, text=path)
    commands = {
        ("swallowed", "prune"): lambda: tokenmill.prune(tok, ios=0.9, counts=path),
        ("unused", "prune"): lambda: tokenmill.shrink(tok, text=path),
        ("unused", "extend"): lambda: tokenmill.replace(tok, path, number=1),
    }
    for (key, command), run in commands.items():
        of = finding(found, key)
        try:
            run()
            taken = True
        except UsageError:
            taken = False
        advised = f"tokenmill {command} TOKENIZER" in of.advice
        assert advised == taken if command == "prune" else advised <= taken, (kind, command, of.advice)
        assert of.level == ("look" if taken or key == "swallowed" else "good")
    refined = "--superwords boundless --refine 0.9" if kind == "superbpe" else "--refine 0.9"
    assert f"Training with `{refined}`" in finding(found, "swallowed").advice
    published = Tokenizer(tok.vocabulary.replace(event_counts=()))
    if tok.vocabulary.order == "merges":  # nothing says that the user trained it
        assert "Training" not in finding(tokenmill.inspect(published, text=path), "swallowed").advice


def test_comparison_says_which_is_best_and_how_sure(tok, tmp_path):
    (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8")
    small = tokenmill.train_from_iterator([TEXT], 262)
    read = tokenmill.ReadOptions(unit="line")
    found = tokenmill.compare({"small": small, "large": tok}, tmp_path / "a.txt", read=read)
    (row,) = found.table("differences").rows
    tokens = found.table("compression").column("tokens of the text")
    assert row[0] == "large" and row[2] <= row[1] <= row[3] and row[4] == 400 and row[5] == "fewer tokens"
    assert row[1] == pytest.approx(tokens[1] / tokens[0], abs=0.01)  # without the newlines between documents
    assert finding(found, "density").statement.startswith("large needs the fewest tokens")
    few = tokenmill.compare({"small": small, "large": tok}, {"x": [tmp_path / "a.txt"]})
    assert "too few documents" in few.table("differences").rows[0][5]
    best = found.table("compression").best()
    assert {found.table("compression").rows[row][0] for row, _ in best} == {"large"}
    assert "**" in found.table("compression").to_markdown()


def test_a_tiny_difference_is_not_rounded_to_none(tmp_path):
    (tmp_path / "text.txt").write_text("o" * 9000 + "er")
    with_er, without = (Tokenizer(make_vocabulary([*BYTES, *tokens])) for tokens in ([b"er"], []))
    found = tokenmill.compare({"with": with_er, "without": without}, tmp_path / "text.txt")
    assert finding(found, "density").statement == "with needs the fewest tokens: less than 0.1% fewer than without."


def test_one_tokenizer_has_no_verdict_of_a_comparison(tok):
    found = tokenmill.compare({"only": tok}, tokenmill.count_iterator(["low"]))
    assert found.findings == [] and found.summary == "There is no other tokenizer to compare with."


def test_the_fairest_tokenizer_is_named_only_if_it_is_apart_and_not_worse(tok):
    published = references.references()
    gpt2, cl100k = published["gpt2"], published["cl100k_base"]  # 0.320 and 0.350
    close = dataclasses.replace(cl100k, tokens={**cl100k.tokens, "Georgian": cl100k.tokens["Georgian"] - 40})
    twice = dataclasses.replace(gpt2, tokens={name: 2 * n + 5 for name, n in gpt2.tokens.items()})
    found = tokenmill.inspect(tok, text=tokenmill.count_iterator([TEXT]))
    judged = dict.fromkeys("abc", found.judgement)
    of = {"a": cl100k, "b": close, "c": published["yi"]}
    assert "; a and b treat languages most evenly" in compared_summary(judged, of)
    (languages,) = [each for each in compared(judged, of, {}) if each.key == "languages"]
    assert languages.statement.startswith("a and b have the") and languages.advice.endswith("use a or b.")
    of = {"a": gpt2, "b": twice, "c": published["yi"]}  # fairer than gpt2, because it is worse in each language
    assert twice.gini < gpt2.gini and "evenly" not in compared_summary(judged, of)
    assert all(each.key != "languages" for each in compared(judged, of, {}))


def test_grades_follow_published_vocabularies_of_the_same_size():
    """Red is only what is worse than each of at least three; the sentence names what a vocabulary is good for."""
    peers = {"a": 0.02, "b": 0.03, "c": 0.04, "d": 0.05}
    levels = {value: Standing(value, peers).level for value in (0.01, 0.03, 0.05, 0.06)}
    assert levels == {0.01: "good", 0.03: "good", 0.05: "look", 0.06: "act"}
    assert Standing(0.06, {"a": 0.02}).level == "look" and Standing(0.06, {}).level == "ungraded"
    assert [Standing(value, peers, high=True).level for value in (0.01, 0.06)] == ["act", "good"]
    published = references.references()
    assert {name: of.ids for name, of in published["gpt2"].peers().items()} == {
        name: published[name].ids for name in ("cl100k_base", "llama-2", "mistral-v3", "yi")
    }
    assert summary(published["cl100k_base"]).startswith("Good for English, code")
    assert "costly for Georgian" in summary(published["cl100k_base"])
    assert "weaker than others of its size for English and code" in summary(published["gemma-2"])
    for name in ("kimi-k2", "deepseek-v3", "gemma-2", "command-r-plus", "yi"):  # Chinese is cheaper than English
        assert "Chinese" in summary(published[name]).split(", costly")[0], name
    # The bytes alone cost about as much in each language with Latin letters: good for none.
    assert "good for" not in summary(references.on_sample(Tokenizer(make_vocabulary(BYTES))))


def test_the_sentence_and_the_density_finding_agree():
    for name, figures in references.references().items():
        low = [domain for domain, of in densities(figures).items() if of.level in ("look", "act")]
        findings = verdict(Subject(Tokenizer(make_vocabulary(BYTES)), figures, None), None, ())
        sentence, of = summary(figures), next(of for of in findings if of.key == "density")
        weaker = sentence.partition("eaker than others of its size for ")[2].partition(", ")[0].rstrip(".")
        assert [name for name in ("English", "code") if name in weaker] == [
            {"English prose": "English", "Python code": "code"}[domain] for domain in low
        ], name
        assert of.level == ("look" if low else "good") and bool(of.advice) == bool(low), name


def test_a_vocabulary_without_some_characters_of_the_sample(tmp_path):
    """Its row stays empty there, and says so."""
    tok = tokenmill.train_from_iterator(["low lower naïve"], 40, alphabet="characters")
    (tmp_path / "a.txt").write_text("low lower " * 30)
    for found in (tokenmill.inspect(tok, name="mine"), tokenmill.compare({"mine": tok}, tmp_path / "a.txt")):
        row = found.table("references").rows[0]
        assert row[0] == "mine" and row[4] is None and "no token for some of" in row[5] and "Korean" in row[5]


def test_no_break_spaces_are_not_superwords():
    words = "n\u00b0\u00a012 est\u00a0: \u00ab\u00a0bon\u00a0\u00bb jour " * 50
    tok = tokenmill.train_from_iterator([words], 330, split=r"\S+|[^\S\u00a0]+|\u00a0", special_tokens=[])
    found = tokenmill.inspect(tok, text={"text": tokenmill.count_iterator([words], split=tok.split_pattern)})
    assert "boundless" not in finding(found, "swallowed").advice
    joined = tok.vocabulary.replace(tokens=(*tok.vocabulary.tokens, "a\u00a0b".encode()))
    assert superwords_of(Tokenizer(joined)) == []


def test_wrong_arguments_are_named(tok):
    for wrong in ("py8k", 5):
        with pytest.raises(tokenmill.errors.WrongTypeError, match=r"^tokenizers is .* it must be a Tokenizer"):
            tokenmill.report(wrong)
    for wrong in (2.0, -0.1, float("nan")):
        with pytest.raises(UsageError, match=r"^thresholds contains"):
            tokenmill.compare([tok], WordCounts.from_mapping({b"low": 1}), thresholds=[wrong])
        with pytest.raises(UsageError, match=r"^thresholds contains"):
            tokenmill.InspectionOptions(thresholds=[wrong])


@pytest.mark.parametrize("texts", [[], [""], ["", ""]])
def test_empty_text_is_refused(tok, tmp_path, texts):
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.txt").write_text(text)
    for judge in (
        lambda tok, text: tokenmill.inspect(tok, text=text),
        lambda tok, text: tokenmill.compare([tok, tok], text),
    ):
        with pytest.raises((UsageError, tokenmill.errors.InputError), match=r"empty|no file|nothing"):
            judge(tok, tmp_path)


def test_provenance_in_every_form(tok, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text(TEXT + name, encoding="utf-8")
    found = tokenmill.inspect(tok, text={"both": [tmp_path / "a.txt", tmp_path / "b.txt"]}, name="mine")
    data = (tmp_path / "a.txt").read_bytes() + (tmp_path / "b.txt").read_bytes()
    (text,) = found.provenance.texts
    assert (text.name, text.files, text.nbytes) == ("both", 2, len(data)) and text.sha256 == hashlib.sha256(
        data
    ).hexdigest()
    assert found.provenance.tokenizers == {"mine": tok.vocabulary.fingerprint()}
    found.save(tmp_path / "report.html")
    found.save(tmp_path / "report.md")
    answer = json.loads(json.dumps(found.to_json()))
    for form in (
        (tmp_path / "report.html").read_text("utf-8"),
        (tmp_path / "report.md").read_text("utf-8"),
        json.dumps(answer),
    ):
        assert text.sha256 in form and "2023-11-14 22:13 UTC" in form and tok.vocabulary.fingerprint() in form
    assert [of["statement"] for of in answer["findings"]] == [of.statement for of in found.findings]
    assert {of["key"] for of in answer["charts"]} == {chart.key for chart in found.charts}
    with pytest.raises(tokenmill.errors.OutputError):
        found.save(tmp_path / "report.md")
    with pytest.raises(tokenmill.errors.UsageError, match=r"\.html or \.md"):
        found.save(tmp_path / "report.pdf")


def test_notebooks_and_charts(tok):
    found = tokenmill.report(tok, text={"x": tokenmill.count_iterator([random_text(1)])})
    assert isinstance(found, tokenmill.Inspection)
    shown = found._repr_html_()
    assert shown.startswith("<iframe sandbox=") and "<script" not in shown and "&lt;script" in shown
    both = tokenmill.report([tok, tok], text={"x": tokenmill.count_iterator([TEXT])})
    assert isinstance(both, tokenmill.Comparison) and "<iframe" in both._repr_html_()
    for kind, ask in (("chart", found.chart), ("chart", found.svg), ("table", found.table)):
        with pytest.raises(UsageError, match=f"no {kind} 'nothing'; there are"):
            ask("nothing")
    for report in (found, both):
        for chart in report.charts:
            root = ElementTree.fromstring(report.svg(chart.key))
            assert root.tag == "{http://www.w3.org/2000/svg}svg" and chart.title in root.get("aria-label")
    assert "\n" not in repr(found) and len(repr(found)) < 200 and len(repr(found.tables[0])) < 200
