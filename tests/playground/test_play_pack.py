"""Packed vocabularies and the static export: the same bytes each time, small, and refused where they would be wrong."""

import gzip
import json

import numpy as np
import pytest

from tokenmill.errors import ConversionError, OutputError, UsageError
from tokenmill.playground.export import export
from tokenmill.playground.pack import TokenCounts, pack
from tokenmill.playground.server import page_files
from tokenmill.split.patterns import PATTERNS
from tokenmill.vocabulary import AddedToken, LibraryModel, Normalization, Vocabulary
from trained import train_from_counts


@pytest.fixture(scope="module")
def vocabulary():
    from tokenmill.counting import WordCounts

    words = {f"w{i % 50}o{i}r{'d' * (i % 4)}".encode(): i + 1 for i in range(3000)}
    return train_from_counts(
        WordCounts.from_mapping(words, split_patterns=(PATTERNS["cl100k"],)), 2000, special_tokens=("<|end|>",)
    )


def read(packed):
    """The header and the sections of a packed file."""
    data = gzip.decompress(packed)
    assert data[:4] == b"TMP1"
    begin = 8 + int.from_bytes(data[4:8], "little")
    header = json.loads(data[8:begin])
    return header, {name: data[begin + at : begin + at + size] for name, at, size in header["sections"]}


def column(planes):
    cells = np.frombuffer(planes, np.uint8).reshape(3, -1).astype(np.int64)
    return cells[0] | cells[1] << 8 | cells[2] << 16


def sums(column):
    return np.cumsum(np.where(column & 1, -(column + 1) // 2, column // 2))


def unpack(packed):
    """The tokens and the rows of a packed file, read the slow way."""
    header, sections = read(packed)
    rows = np.stack([column(sections["left"]), column(sections["right"]), sums(column(sections["made"]))], axis=1)
    tokens = [None] * header["size"]
    at = 0
    for id, length in zip(sums(column(sections["literal_ids"])), column(sections["literal_lengths"]), strict=True):
        tokens[id] = sections["literals"][at : at + length]
        at += length
    for left, right, new in rows.tolist():
        if right != 0xFFFFFF and tokens[new] is None:
            tokens[new] = tokens[left] + tokens[right]
    return header, tuple(tokens), rows


def test_a_packed_vocabulary_holds_the_vocabulary(vocabulary):
    header, tokens, rows = unpack(pack("mine", vocabulary))
    assert tokens[: len(vocabulary.tokens)] == vocabulary.tokens
    assert rows.tolist() == vocabulary.events.tolist()
    assert header["fingerprint"] == vocabulary.fingerprint()
    assert header["added_tokens"][0]["content"] == "<|end|>"
    assert header["n_vocab"] == vocabulary.n_vocab


def test_ranks_gaps_and_removals_survive():
    tokens = (None, b"b", b"a", b"ab", None, b"abab", b"xyz", b"\xff")
    _, found, _ = unpack(pack("ranks", Vocabulary(tokens, ())))
    assert found == tokens
    events = np.array([[0, 1, 2], [2, 0, 3], [2, -1, -1], [0, 1, 2]], np.int32)
    picky = Vocabulary((b"a", b"b", b"ab", b"aba"), (), "events", events)
    _, found, rows = unpack(pack("picky", picky))
    assert found == picky.tokens
    assert rows[2].tolist() == [2, 0xFFFFFF, 0] and rows[3].tolist() == [0, 1, 2]


def test_the_same_vocabulary_gives_the_same_bytes(vocabulary):
    assert pack("mine", vocabulary) == pack("mine", vocabulary)


def test_a_packed_vocabulary_is_small(vocabulary, shared):
    from tokenmill import formats

    assert len(pack("mine", vocabulary)) < 8 * len(vocabulary.tokens) + 8000
    published = formats.read(shared / "vocab" / "cl100k_base.tiktoken")
    assert len(pack("cl100k_base", published)) < 360_000  # the file has 1.7 MB


def test_what_the_page_cannot_do_is_refused(vocabulary):

    backreference = vocabulary.replace(split_patterns=(r"(a)\1|.",))
    with pytest.raises(ConversionError, match="split pattern of mine"):
        pack("mine", backreference)
    lower = vocabulary.replace(normalization=Normalization(("Lowercase",)))
    with pytest.raises(ConversionError, match="normalizer Lowercase"):
        pack("mine", lower)
    words = Vocabulary((b"a", b"b"), (), "library", library=LibraryModel(b"{}", "WordLevel"), unknown=0)
    mapped = vocabulary.replace(normalization=Normalization((("CharacterMap", "A" * 99, ""),)))
    with pytest.raises(ConversionError, match=r"the normalizer CharacterMap\. "):  # without its table
        pack("mine", mapped)
    with pytest.raises(ConversionError, match=r"kind of vocabulary \(WordLevel\)"):
        pack("mine", words)
    fused = Vocabulary((b"a", b"<unk>"), (), "merges", (), alphabet="characters", unknown=1, fuse_unknown=True)
    with pytest.raises(ConversionError, match="rules for unknown characters"):
        pack("mine", fused)
    huge = vocabulary.replace(added_tokens=(AddedToken("<far>", 1 << 22),))
    with pytest.raises(ConversionError, match="at most"):
        pack("mine", huge)


def test_counts_go_along(vocabulary):
    counts = TokenCounts(np.arange(10, dtype=np.uint64), np.array([np.nan, 0.5]), "a corpus")
    header, sections = read(pack("mine", vocabulary, counts))
    assert header["counted"] == "a corpus"
    assert np.frombuffer(sections["counts"], "<f8")[:12].tolist() == [*range(10), 0, 0]
    ios = np.frombuffer(sections["ios"], "<f8")
    assert ios[1] == 0.5 and np.isnan(ios[0]) and np.isnan(ios[5])


def test_the_export_is_a_whole_site(vocabulary, tmp_path):
    sizes = export([("mine", vocabulary), ("other", vocabulary)], tmp_path / "site")
    found = {
        str(p.relative_to(tmp_path / "site")): p.stat().st_size for p in (tmp_path / "site").rglob("*") if p.is_file()
    }
    assert found == sizes
    assert {
        "index.html",
        "app.js",
        "worker.js",
        "style.css",
        "catalog.json",
        "packs/0.tmpack",
        "packs/1.tmpack",
        "packs/splits.tmpack",
    } <= set(found)
    listing = json.loads((tmp_path / "site" / "catalog.json").read_text())
    assert listing["tokenizers"] == [
        {"name": "mine", "pack": "packs/0.tmpack"},
        {"name": "other", "pack": "packs/1.tmpack"},
    ]
    assert "opens" not in listing
    before = {p: p.read_bytes() for p in (tmp_path / "site").rglob("*") if p.is_file()}
    export([("mine", vocabulary), ("other", vocabulary)], tmp_path / "site", overwrite=True)
    assert before == {p: p.read_bytes() for p in (tmp_path / "site").rglob("*") if p.is_file()}
    export([("mine", vocabulary)], tmp_path / "site", overwrite=True)
    assert not (tmp_path / "site" / "packs" / "1.tmpack").exists()


def test_the_export_replaces_nothing_but_an_export(vocabulary, tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "catalog.json").write_text("{}")
    with pytest.raises(OutputError, match=r"a folder with other files: catalog\.json"):
        export([("mine", vocabulary)], tmp_path / "precious")
    assert (tmp_path / "precious" / "catalog.json").read_text() == "{}"
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError):
        export([("mine", vocabulary)], tmp_path / "file")
    with pytest.raises(UsageError, match="needs at least one tokenizer"):
        export([], tmp_path / "empty")
    (tmp_path / "empty").mkdir()
    export([("mine", vocabulary)], tmp_path / "empty")


def test_the_page_names_no_other_host():
    """Nothing in the built page points anywhere: no font, no script, no image, no beacon."""
    for name, content in page_files().items():
        text = content.decode().replace("http://www.w3.org/2000/svg", "").replace("url('data:image/svg+xml,", "")
        for mark in ("http:", "https:", "//cdn", "@import", "url(", "eval(", "innerHTML", "document.write", "<script>"):
            assert mark not in text, (name, mark)


def test_the_policy_of_the_page_and_of_the_server_agree():
    from tokenmill.playground.server import POLICY

    page = page_files()["index.html"].decode()
    stated = page.split('http-equiv="Content-Security-Policy" content="')[1].split('"')[0]
    assert set(POLICY.split("; ")) - set(stated.split("; ")) == {
        "frame-ancestors 'none'"
    }  # a meta element cannot say it
    assert set(stated.split("; ")) <= set(POLICY.split("; "))
