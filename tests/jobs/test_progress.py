"""Progress: what is done adds up, and never goes back."""

import gc
import io
import sys
import types

from rich.progress import Progress

from tokenmill.jobs.progress import Meter, bars


def recorded(sizes):
    seen = []
    return seen, Meter(lambda done, total: seen.append((done, total)), sizes)


def test_sources_in_order_add_up():
    seen, meter = recorded([10, 0, 30])
    meter.at(0, 4)
    meter.at(2, 0)
    meter.at(2, 29)
    meter.at(3)
    assert seen == [(4, 40), (10, 40), (39, 40), (40, 40)]


def test_parts_in_any_order_add_up():
    seen, meter = recorded([10, 20, 30])
    meter.set(2, 30)
    meter.set(0, 10)
    meter.set(0, 3)
    meter.set(1, 99)
    assert seen == [(30, 60), (40, 60), (40, 60), (60, 60)]


def test_an_unknown_size_has_no_total():
    seen, meter = recorded([10, None])
    meter.set(1, 7)
    meter.at(1, 9)
    assert seen == [(7, None), (19, None)]


def test_nobody_listens():
    Meter(None, [1]).at(1)


def test_progress_true_draws_bars(tmp_path, capsys):
    import tokenmill

    path = tmp_path / "a.txt"
    path.write_text("low lower lowest " * 50)
    tok = tokenmill.train(path, vocab_size=260, progress=True)
    tokenmill.inspect(tok, text=path, progress=True)
    printed = capsys.readouterr().err
    assert "Counting" in printed and "Reaching tokens" in printed and "100%" in printed


def test_progress_is_one_bar_for_all_texts_and_tokenizers(tmp_path):
    """Each stage has a total, also that of text which is normalized first, and ends at it."""
    import tokenmill

    texts = {}
    for name, times in (("en", 400), ("de", 90)):
        texts[name] = tmp_path / f"{name}.txt"
        texts[name].write_text("low lower lowest \n" * times)
    plain = tokenmill.train_from_iterator(["low lower lowest"], 260)
    normalized = tokenmill.Tokenizer(plain.vocabulary.replace(normalization=tokenmill.Normalization(("NFC",))))
    calls = []
    tokenmill.compare({"a": plain, "b": normalized}, texts, progress=lambda *call: calls.append(call))
    size = sum(path.stat().st_size for path in texts.values())
    for stage, most in {"count": 2 * size, "sample": 44}.items():
        done = [(at, total) for name, at, total in calls if name == stage]
        assert done[-1] == (most, most) and {total for _, total in done} == {most}
        assert done == sorted(done)
    assert None not in {total for _, _, total in calls}
    tokenmill.inspect(plain, progress=False)


def test_a_stage_that_begins_again_is_timed_again():
    from rich.console import Console

    with bars(Console(file=io.StringIO())) as (progress, _):
        progress("segment", 10, 10)
        progress("segment", 2, 10)
        (task,) = next(of.tasks for of in gc.get_objects() if isinstance(of, Progress) and of.tasks)
        assert task.completed == 2 and not task.finished


def test_bars_in_a_notebook_need_no_other_package(monkeypatch):
    """They are updates of one output of the cell."""
    from rich.console import Console

    shown = []
    handle = types.SimpleNamespace(update=lambda data, raw: shown.append(data["text/plain"]))
    display = types.SimpleNamespace(display=lambda *args, **options: handle)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(display=display))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    with bars(Console(file=io.StringIO(), force_jupyter=True)) as (progress, _):
        progress("count", 5_000_000, 10_000_000)
    assert " 50%" in shown[0] and "100%" in shown[-1] and all("Counting" in text for text in shown)


def test_a_speed_is_that_of_the_whole_stage(monkeypatch):
    """rich's own is that of the last moments, in which all blocks of a short text are reported at once."""
    from rich.console import Console

    now = [0.0]
    monkeypatch.setattr("rich.progress.Progress.get_time", lambda self: now[0], raising=False)
    console = Console(file=io.StringIO(), width=80, force_terminal=True)
    with bars(console) as (progress, _):
        progress("verify", 1_000_000, 9_000_000)
    assert "Verifying" in console.file.getvalue() and "1.0 MB " in console.file.getvalue()
