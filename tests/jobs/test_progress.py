"""Progress: what is done adds up, and never goes back."""

from tokenmill.jobs.progress import Meter


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
