"""The Training view against the library's own events: every step, forward and back, plain and Picky."""

import re

import pytest
from playground_page import train_on

from tokenmill.counting import WordCounts
from trained import train_from_counts

LONGER = {"banana": 3, "bandana": 2, "ananas": 4, "aaaaaa": 2, "abababab": 3, "nab": 5, "naïve": 1, "日本日本": 2}


def library_events(words, merges, refine):
    """The events as the page spells them, by the bytes of their tokens; a removal is "remove"."""
    counts = WordCounts.from_mapping({word.encode(): count for word, count in words.items()})
    vocabulary = train_from_counts(counts, 256 + merges, refine=refine)
    spelled = []
    for event in vocabulary.event_list():
        digits = [vocabulary.tokens[id].hex() for id in event[1:3]]
        spelled.append(f"{event[0]} {' '.join(digits)}")
    return spelled


def segment(words, events):
    """The words as lists of token bytes after the events."""
    rows = {word: [bytes([b]) for b in word.encode()] for word in words}
    made, gone = {}, set()

    def apart(token):
        return [part for half in made[token] for part in (apart(half) if half in gone else [half])]

    for event in events:
        kind, *parts = event.split()
        parts = [bytes.fromhex(part) for part in parts]
        if kind == "merge":
            made.setdefault(parts[0] + parts[1], tuple(parts))
            gone.discard(parts[0] + parts[1])
        for word, row in rows.items():
            out, i = [], 0
            while i < len(row):
                if kind == "merge" and row[i : i + 2] == parts:
                    out.append(parts[0] + parts[1])
                    i += 2
                else:
                    out += apart(row[i]) if kind == "remove" and row[i] == parts[0] else [row[i]]
                    i += 1
            rows[word] = out
        if kind == "remove":
            gone.add(parts[0])
    return list(rows.values())


def set_up(page, words, merges, refine):
    train_on(page, ", ".join(f"{word} x{count}" for word, count in words.items()))
    page.fill("#merges", str(merges))
    page.dispatch_event("#merges", "change")
    if refine is None:
        page.check("#plain")
    else:
        page.fill("#threshold", str(refine))
        page.check("#picky")
    page.dispatch_event("#threshold", "change")


def shown_events(page):
    return page.evaluate("() => Array.from(document.querySelectorAll('[data-event]'), (e) => e.dataset.event)")


def press_to_the_end(page, button):
    """Press a button until it can be pressed no more; the events that are shown after each press."""
    return page.evaluate(
        """(id) => {
          const button = document.getElementById(id);
          const seen = [];
          while (!button.disabled) {
            button.click();
            seen.push(Array.from(document.querySelectorAll("[data-event]"), (e) => e.dataset.event));
          }
          return seen;
        }""",
        button,
    )


def shown_pretokens(page):
    return page.evaluate(
        "() => Array.from(document.querySelectorAll('.pretoken-row'), (r) => Array.from(r.querySelectorAll('.row-of .tok'), (t) => t.title))"
    )


@pytest.mark.parametrize("refine", [None, 0.9, 0.6])
def test_steps_are_the_librarys_events(open_page, local, refine):
    words, merges = LONGER, 40
    expected = library_events(words, merges, refine)
    page = open_page(local.address, "#view=training")
    set_up(page, words, merges, refine)
    assert page.inner_text("#step-of") == f"0 of {len(expected)}"
    assert shown_events(page) == []
    for step in range(1, 4):
        page.click("#on")
        assert shown_events(page)[-1] == expected[step - 1]
    assert press_to_the_end(page, "on") == [expected[:step] for step in range(4, len(expected) + 1)]
    assert shown_events(page) == expected
    assert page.is_disabled("#on")
    # Back, and to any place: the pretokens are what the events make of them.
    numbers = [len(row) for row in segment(words, expected)]
    assert [len(row) for row in shown_pretokens(page)] == numbers
    for step in (len(expected) - 1, 1, len(expected) // 2, 0):
        page.fill("#step", str(step))
        page.dispatch_event("#step", "input")
        assert shown_events(page) == expected[:step]
        assert [len(row) for row in shown_pretokens(page)] == [len(row) for row in segment(words, expected[:step])]
    page.click("#last")
    assert press_to_the_end(page, "back") == [expected[:step] for step in reversed(range(len(expected)))]


def unfold(page):
    """Show how a fast trainer does it."""
    page.evaluate("() => { document.getElementById('fast').open = true; }")


def test_what_a_merge_touches_and_the_work(open_page, local):
    page = open_page(local.address, "#view=training")
    unfold(page)
    page.click("#on")
    story = page.inner_text(".story")
    assert "er" in story and "8 times, in 2 pretokens; 1 pretoken left alone" in story
    assert page.locator(".pretoken-row.touched").count() == 2
    assert page.locator(".pairs .changed").count() >= 3
    naive, incremental = (int(t.replace(",", "")) for t in page.locator(".bar-row b").all_text_contents())
    # Ten pairs are counted once; then naive training looks at all ten twice, and incremental at the two pretokens' eight.
    assert (naive, incremental) == (20, 18)
    page.click("#last")
    naive, incremental = (int(t.replace(",", "")) for t in page.locator(".bar-row b").all_text_contents())
    assert incremental < naive
    page.click("#first")
    page.click("#on")
    page.click("#on")
    page.click("#on")
    assert page.locator(".queue .stale").count() > 0


def test_play_pause_and_events_are_buttons(open_page, local):
    page = open_page(local.address, "#view=training")
    page.fill("#speed", "10")
    page.click("#play")
    page.wait_for_function("() => document.getElementById('on').disabled")
    assert page.inner_text("#play") == "Play"
    page.click("[data-event] >> nth=1")
    assert re.match(r"2 of \d+", page.inner_text("#step-of"))


def test_plain_text_is_split_and_counted(open_page, local):
    page = open_page(local.address, "#view=training")
    page.fill("#words", "the cat and the hat and the bat")
    page.wait_for_function("() => document.getElementById('training-note').textContent.includes('text, cut into')")
    assert page.locator(".pretoken-row").count() == 6  # "the", " cat", " and", " the", " hat", " bat"
    page.click("#on")
    page.select_option("#training-split", "picky")
    page.wait_for_function("() => document.getElementById('step-of').value.startsWith('0 of')")
    assert page.locator(".pretoken-row").count() == 6
    train_on(page, "")
    page.wait_for_function("() => document.getElementById('step-of').value === '0 of 0'")


def test_a_step_right_after_typing_is_a_step_of_the_new_words_and_stays(open_page, local):
    page = open_page(local.address, "#view=training").raw
    page.fill("#words", "nab x5")
    page.click("#on")
    page.wait_for_timeout(400)  # the timer of the typing is over
    assert page.inner_text("#step-of").startswith("1 of") and page.locator(".pretoken-row").count() == 1


def test_the_seam_and_the_words_of_one_merge(open_page, local):
    page = open_page(local.address, "#view=training")
    set_up(page, {"xaby": 3, "ab": 9, "abab": 2}, 4, None)
    unfold(page)
    page.click("#word-on")
    assert page.inner_text("#step-of").startswith("1 of")
    assert "After the last word of this merge: " in page.inner_text("#fast-body")
    assert page.locator(".pretoken-row.waits").count() == 2 and page.locator(".pretoken-row.visited").count() == 1
    changes = [" ".join(text.split()) for text in page.locator(".seam-change").all_inner_texts()]
    assert changes == ["xa −3", "ab −3", "by −3", "xab +3", "aby +3"]
    assert page.locator(".seam-row >> nth=0").inner_text().split() == ["x", "X", "a", "A", "b", "B", "y", "Y"]

    def count(pair):
        rows = page.locator(".pairs tbody tr").all_inner_texts()
        return next(int(row.split("\t")[1]) for row in rows if "".join(row.split("\t")[0].split()) == pair)

    assert count("ab") == 9 + 4  # the other words still have theirs
    assert "2, 3" in page.locator(".pairs tbody tr >> nth=0").inner_text()
    page.click("#word-on")
    assert count("ab") == 4
    page.click("#word-on")
    assert page.inner_text(".seams h3").startswith("Word 3 of 3")
    assert count("ab") == 0 and page.locator(".pretoken-row.waits").count() == 0
    assert "After the last word" not in page.inner_text("#fast-body")
    page.click("#word-back")
    page.click("#word-back")
    assert count("ab") == 9 + 4
    page.click("#word-back")
    assert page.locator(".pretoken-row.waits").count() == 3 and count("ab") == 3 + 9 + 4
    page.click("#word-back")
    assert page.inner_text("#step-of").startswith("0 of")
    while page.is_enabled("#word-on"):
        page.click("#word-on")
    assert page.is_disabled("#on")


@pytest.mark.parametrize("fault", ["repush", "seam"])
def test_a_fault_makes_the_merges_drift_from_the_right_ones(open_page, local, fault):
    words = {**LONGER, "low": 5, "lower": 2, "newer": 6, "wider": 3}
    expected = library_events(words, 30, None)
    page = open_page(local.address, "#view=training")
    set_up(page, words, 30, None)
    unfold(page)
    page.select_option("#fault", fault)
    page.click("#last")
    shown = shown_events(page)
    same = next(i for i, event in enumerate(shown) if event != expected[i])
    told = "only the first event is right" if same == 1 else f"the first {same} events are right"
    assert told in page.inner_text(".drift")
    wrong = page.locator(".event.wrong")
    assert f" {wrong.count()} " in page.inner_text(".drift")
    assert wrong.count() == sum(event != expected[i] for i, event in enumerate(shown) if i < len(expected)) + max(
        0, len(shown) - len(expected)
    )
    assert "is right" in wrong.first.inner_text()
    page.select_option("#fault", "none")
    page.click("#last")
    assert shown_events(page) == expected and page.locator(".drift, .event.wrong").count() == 0


def test_an_example_shows_its_seam_or_its_fault_and_play_goes_by_words(open_page, local):
    page = open_page(local.address, "#view=training")
    options = page.locator("#training-example option").all_inner_texts()
    page.select_option("#training-example", label=next(one for one in options if "seam: 3" in one))
    assert page.input_value("#words") == "xaby x4, ab x9, zaby x1"
    before = page.inner_text(".story .counts dd >> nth=0")
    unfold(page)
    page.select_option("#play-by", "words")
    page.fill("#speed", "10")
    page.click("#play")
    page.wait_for_function("() => document.getElementById('word-on').disabled")
    assert int(page.inner_text(".story .counts dd >> nth=0")) < int(before)
    for fault in ("fault: counts", "fault: fallen"):
        page.select_option("#training-example", label=next(one for one in options if fault in one))
        page.click("#last")
        assert page.locator(".event.wrong").count() > 0, fault


def test_a_training_that_runs_is_watched(open_page):
    import tokenmill
    from tokenmill.cli.train import Events
    from tokenmill.playground.server import LiveTraining

    addresses, watcher = [], Events()
    live = LiveTraining(watcher, addresses.append)
    page = open_page(addresses[0]).raw
    page.wait_for_selector("#live h2:has-text('Starting')")
    tok = tokenmill.train_from_iterator(["kentucky " * 9 + "kent ucky"], 262, refine=0.9, progress=watcher)
    events = tok.events
    page.wait_for_selector(f".live-events li:first-child .number:text-is('{len(events)}')")
    removals = sum(kind == "remove" for kind, *_ in events[-12:])
    assert page.locator(".live-events li:has-text('remove')").count() == removals > 0
    merges = sum(kind == "merge" for kind, *_ in events)
    assert page.inner_text("#live dl div:nth-child(1) dd") == str(merges)
    assert page.locator("#live polyline").count() == 1
    live.publish("mine", tok.vocabulary)
    page.wait_for_selector("#live h2:has-text('The training is over')")
    page.wait_for_selector("#tokenizer option:checked:has-text('mine')", state="attached")
    assert page.evaluate("tokenmill.encode('kentucky')") == tok.encode("kentucky")
    live.server.shutdown()
    live.server.server_close()
