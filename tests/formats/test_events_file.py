"""A Picky vocabulary in a folder: the events beside tokenizer.json, checked against it event by event."""

import hashlib
import json

import pytest
import tokenizers

from tokenmill import Tokenizer
from tokenmill.errors import ConversionError, FormatError
from tokenmill.formats import read, to_hf, write
from tokenmill.formats.companions import events_bytes, parse_events
from tokenmill.formats.rank_merges import present_by_rank

TEXTS = ["the the", "th he", "other", "<|endoftext|>", "\u6f22 the\n"]


def test_the_folder_comes_back(picky, tmp_path):
    notes = write(picky, tmp_path)
    assert notes == ["the events are in events.txt, which only tokenmill reads: elsewhere some texts get other ids"]
    found = read(tmp_path)
    assert found.fingerprint() == picky.fingerprint()
    assert found.event_list() == picky.event_list()
    (tmp_path / "tokenmill.json").unlink()
    assert read(tmp_path).fingerprint() == picky.fingerprint()


@pytest.mark.parametrize("wrong", [0, 1.5, True, "0.9"])
def test_the_threshold_comes_back(picky, tmp_path, wrong):
    picky = picky.replace(refine=0.9)
    write(picky, tmp_path)
    assert read(tmp_path).refine == 0.9
    write(picky, tmp_path / "ranks", lossy=True)
    assert read(tmp_path / "ranks").refine is None
    held = json.loads((tmp_path / "tokenmill.json").read_text())
    del held["check"]
    held["refine"] = wrong
    held["check"] = hashlib.sha256(json.dumps(held, sort_keys=True).encode()).hexdigest()
    (tmp_path / "tokenmill.json").write_text(json.dumps(held))
    with pytest.raises(FormatError, match=r"refine is .*, above 0 and at most 1"):
        read(tmp_path)


@pytest.mark.parametrize("line", ["x", "1 -2", "9" * 20, "1 2 3"])
def test_event_counts_that_are_damaged_are_not_known(picky, tmp_path, line):
    counts = [[number, 0] for number in range(len(picky.events))]
    write(picky.replace(event_counts=counts), tmp_path)
    assert read(tmp_path).event_counts.tolist() == counts
    lines = (tmp_path / "event_counts.txt").read_text().splitlines()
    (tmp_path / "event_counts.txt").write_text("\n".join([*lines[:-1], line, ""]))
    assert not len(read(tmp_path).event_counts)


def test_tokenizer_json_beside_holds_the_present_tokens_by_rank(picky, tmp_path):
    write(picky, tmp_path)
    hf = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    by_rank = Tokenizer(present_by_rank(picky))
    for text in TEXTS:
        assert hf.encode(text).ids == by_rank.encode(text, allowed_special="all")
    assert hf.get_vocab_size() == 260 and hf.token_to_id("he") is None
    assert max(id for text in TEXTS for id in hf.encode(text).ids) < picky.n_vocab


def test_without_events_only_if_asked(picky, tmp_path):
    for form in ("huggingface", "tiktoken", "merges", "ddtok"):  # which have a companion file
        if form != "huggingface":
            with pytest.raises(ConversionError, match="lossy=True"):
                write(picky, tmp_path / form, form)
        notes = write(picky, tmp_path / form, form, lossy=True)
        assert (
            notes[0]
            == "1 removed tokens and the events are left out: text is encoded by rank, and some texts get other ids"
        )
        assert not (tmp_path / form / "events.txt").exists()
        assert read(tmp_path / form).fingerprint() == present_by_rank(picky).fingerprint()
    assert to_hf(picky, lossy=True).encode("the").ids == [257]
    with pytest.raises(ConversionError, match="lossy=True"):
        to_hf(picky)


def rewritten(picky, change):
    """The events file with changed lines, under a right hash."""
    head, _, body = events_bytes(picky).split(b"\n", 2)
    body = change(body.decode()).encode()
    return b"\n".join([head, b"sha256 " + hashlib.sha256(body).hexdigest().encode(), body])


def beside(picky):
    reduced = present_by_rank(picky)
    return reduced.replace(tokens=reduced.tokens[:259])


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("tokens 261", "tokens -1", "line 3: expected 'tokens N', found 'tokens -1'"),
        ("tokens 261", "tokens 99999999", "line 3: expected 'tokens N'"),
        ("tokens 261\n", "", "line 3: expected 'tokens N', found 'm 116 104 256'"),
        ("m 116 104 256\n", "m 116 104\n", "line 4: expected an event, .* found 'm 116 104'"),
        ("r 256", "r 256 1", "line 6: expected an event"),
        ("r 256", "x 256", "line 6: expected an event"),
        ("r 256", "r -256", "line 6: expected an event"),
        ("r 256", "r 999999999999", "line 6: expected an event"),
        ("r 256", "r 1000", r"line 6: \(1000, -1, -1\) names the id 1000, and no token has it"),
        ("r 256", "r 258", "line 6: the token 258 is not there: no earlier event makes it"),
        ("r 256", "r 97", "line 6: the token 97 is removed, and no merge makes it"),
        ("m 32 257 258", "m 32 256 258", "line 8: the token 256 is not there: an earlier event removed it"),
        ("m 104 101 260", "m 260 101 260", "line 7: the token 260 is not there"),
        (
            "m 116 104 256\nm",
            "m 116 105 256\nm",
            r"line 10: merges b't' \(116\) and b'h' \(104\) into b'ti' \(256\), which is not their concatenation",
        ),
        ("r 260\n", "", "do not belong to tokenizer.json: they make b'he' the token 260, and there it is None"),
        (
            "m 32 257 258\n",
            "m 32 257 260\n",
            "line 8: merges b' ' .* into b'he' .260., which is not their concatenation",
        ),
        ("m 116 104 256\n", "", "line 4: the token 256 is not there"),
        (
            "m 32 257 258",
            "m 32 97 258",
            "do not belong to tokenizer.json: they make b' a' the token 258, and there it is b' the'",
        ),
    ],
)
def test_impossible_events_name_their_line(picky, old, new, said):
    data = rewritten(picky, lambda body: body.replace(old, new, 1))
    with pytest.raises(FormatError, match=r"events\.txt: .*" + said):
        parse_events(data, "events.txt", beside(picky))


@pytest.mark.parametrize("kept", range(7))
def test_events_that_are_missing_at_the_end_are_noticed(picky, kept):
    """Under a right hash. Without its merges a token would never be given out."""
    data = rewritten(picky, lambda body: "".join(body.splitlines(keepends=True)[: 1 + kept]))
    with pytest.raises(FormatError, match=r"^events\.txt: "):
        parse_events(data, "events.txt", beside(picky))


def test_events_that_double_a_token_do_not_fill_the_memory(picky):
    lines = ["m 0 0 261", *(f"m {id} {id} {id + 1}" for id in range(261, 321))]
    data = rewritten(picky, lambda body: body.replace("tokens 261", "tokens 322") + "\n".join([*lines, ""]))
    with pytest.raises(FormatError, match=r"line 3\d: the tokens up to here have more than 256 MiB"):
        parse_events(data, "events.txt", beside(picky))


def test_any_changed_byte_is_noticed(picky):
    data = events_bytes(picky)
    assert parse_events(data, "f", beside(picky)).fingerprint() == picky.fingerprint()
    for place in range(0, len(data), 3):
        changed = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        with pytest.raises(FormatError, match=r"f: line [12]: "):
            parse_events(changed, "f", beside(picky))
        with pytest.raises(FormatError, match=r"f: line [12]: "):
            parse_events(data[:place], "f", beside(picky))


def test_missing_events_are_not_ignored(picky, tmp_path):
    """A folder that was copied without events.txt encoded by rank, with other ids and no word about it."""
    write(picky, tmp_path)
    (tmp_path / "events.txt").unlink()
    with pytest.raises(FormatError, match=r"events.txt: missing, .* delete tokenmill.json"):
        read(tmp_path)
    (tmp_path / "tokenmill.json").unlink()
    assert read(tmp_path).order == "merges"


def test_events_of_another_vocabulary_are_refused(picky, tmp_path):
    write(picky, tmp_path)
    path = tmp_path / "tokenizer.json"
    path.write_text(path.read_text().replace("the", "thx").replace("th e", "th x"))
    with pytest.raises(FormatError, match=r"events.txt: the events do not belong to tokenizer.json"):
        read(tmp_path)
