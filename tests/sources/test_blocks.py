"""Blocks: the same documents whatever the size of a block, from any place on, for any division into spans."""

import codecs
import gzip
import itertools
import json
import random
from array import array
from contextlib import closing

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tokenmill.sources import blocks as blocks_module
from tokenmill.sources import jsonl
from tokenmill.sources._cut_cy import count_byte, not_utf8
from tokenmill.sources._json_cy import field_columns
from tokenmill.sources.blocks import Block, ReadOptions, why_not_utf8
from tokenmill.sources.documents import open_source, parts_of

LINES = ReadOptions("line")


def drawn(source, options=LINES, *, place=None, finish=True, **others):
    """The texts with their positions, what was skipped, and the place behind each block."""
    opened = open_source(source, options, **others)
    if place is not None:
        opened.resume_at = place
    block, texts, skips, places = Block(), [], [], []
    while opened.draw(block):
        if finish:
            block.finish()
        texts += [(block.position(i), text) for i, text in enumerate(block.texts())]
        skips += [str(skip).rpartition("/")[2] for skip in block.skips]
        places.append((block.resume_at, len(texts)))
    return texts, skips, places


def texts_of(source, options=LINES, **others):
    return [text for _, text in drawn(source, options, **others)[0]]


def slow_lines(data, limit):
    for number, line in enumerate(data.split(b"\n"), 1):
        text = line.rstrip(b"\r") if number <= data.count(b"\n") else line
        if limit is not None and len(line) > limit:
            yield number, None
        elif text:
            yield number, text


def slow_runs(data, limit):
    run, size, first = [], 0, 0
    ends = data.count(b"\n")
    for number, line in enumerate([*data.split(b"\n"), None], 1):
        if line is not None and (line.strip() or (limit is not None and len(line) > limit)):
            first = first or number
            size += len(line) + (size > 0)
            run.append(line.rstrip(b"\r") if number <= ends else line)
        elif run:
            yield first, b"\n".join(run) if limit is None or size <= limit else None
            run, size, first = [], 0, 0


def slow_parts(data, separator, limit):
    at = 0
    for part in data.split(separator):
        if part.strip() or (limit is not None and len(part) > limit):
            yield at, part if limit is None or len(part) <= limit else None
        at += len(part) + len(separator)


@example([b"a", b"\r", b"\r", b"\r\n"], 1, 1)
@example([b" ", b" ", b" ", b" "], 1, 1)
@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.sampled_from([b"a", b"bcd", b" ", b"\n", b"\r\n", b"\r", b"\n\n", b"|", b"||", b"efghijk"]), max_size=60
    ),
    st.sampled_from([1, 2, 3, 7, 64, 1000]),
    st.sampled_from([None, 1, 3, 5, 20]),
)
@example([b" "] * 4, 1, 1)
@example([b"a", b"\r", b"\r", b"\r\n"], 1, 1)
def test_every_cut_is_that_of_its_slow_twin(tmp_path_factory, parts, block, limit):
    data = b"".join(parts)
    path = tmp_path_factory.mktemp("cut") / "a.txt"
    path.write_bytes(data)
    twins = {
        ("line", ""): ("line", slow_lines(data, limit)),
        ("blank", ""): ("line", slow_runs(data, limit)),
        ("separator", "||"): ("byte", slow_parts(data, b"||", limit)),
        ("separator", "|"): ("byte", slow_parts(data, b"|", limit)),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks_module, "BLOCK", block)
        for (unit, separator), (label, twin) in twins.items():
            options = ReadOptions(unit, separator, max_document_bytes=limit)
            expected = list(twin)
            texts, skips, places = drawn(path, options)
            assert texts == [(f"{label} {n}", text) for n, text in expected if text is not None]
            assert [skip.split(":")[0] for skip in skips] == [
                f"a.txt, {label} {n}" for n, text in expected if text is None
            ]
            for place, seen in places[:: max(1, len(places) // 5)]:
                assert drawn(path, options, place=json.loads(json.dumps(place)))[0] == texts[seen:]


@pytest.mark.parametrize("block", [1, 2, 5, 100, 1 << 20])
def test_a_file_in_parts_cut_where_the_caller_says(tmp_path, monkeypatch, block):
    monkeypatch.setattr(blocks_module, "BLOCK", block)
    data = b"one two  three\nfour" * 50
    (tmp_path / "a.txt").write_bytes(data)
    options = ReadOptions("file")

    def cut(buffer, start, length):
        return max(0, buffer.rfind(b" ", start + 1, length))

    opened, found, places = open_source(tmp_path / "a.txt", options, cut=cut), [], []
    part = Block()
    while opened.draw(part):
        assert len(part.ends) == 1 and part.start == sum(map(len, found))
        found += part.texts()
        places.append(part.resume_at)
        assert part.goes_on == (not opened.done)
    assert b"".join(found) == data
    assert all(part.startswith(b" ") for part in found[1:] if part)
    for i, place in enumerate(places[:-1]):
        rest = [text for _, text in drawn(tmp_path / "a.txt", options, place=place, cut=cut)[0]]
        assert b"".join(rest) == b"".join(found[i + 1 :])
    assert texts_of(tmp_path / "a.txt", options) == [data]


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
@pytest.mark.parametrize("block", [64, 1 << 20])
def test_jsonl_places_and_positions(tmp_path, monkeypatch, suffix, block):
    monkeypatch.setattr(blocks_module, "BLOCK", block)
    lines = [json.dumps({"text": "é" * i, "n": i}, ensure_ascii=i % 2 == 0) if i % 5 else " " for i in range(60)]
    data = "\r\n".join(lines).encode()
    packed = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.compress}[suffix](data)
    (tmp_path / f"a.jsonl{suffix}").write_bytes(packed)
    texts, skips, places = drawn(tmp_path / f"a.jsonl{suffix}")
    assert texts == [(f"line {i + 1}", ("é" * i).encode()) for i in range(60) if i % 5]
    assert not skips
    for place, seen in places:
        assert drawn(tmp_path / f"a.jsonl{suffix}", place=place)[0] == texts[seen:]


ODD = [
    '{"text": "a", "text": "last"}',
    '{"text": "a"}{"text": "b"}',
    '{"text": "a\\ud800b"}',
    '{"text": "\\ud83d\\ude00", "x": "\\ud800"}',
    '{"text": 7}',
    '{"a": 7}',
    "[1]",
    '{"te\\u0078t": "x"}',
    '{"text": "x", "b": NaN}',
    '{"text": "x", "b": ' + "9" * 5000 + "}",
    '{"text": "x", "a": ' + "[" * 5000 + "]" * 5000 + "}",
    '{"text": "x", "a": ' + "[" * 490 + "]" * 490 + "}",
    '{"text": "x", "a": "' + "[" * 5000 + '\\\\"}',
    '{"text": null}',
    '{"text": "tab\there"}',
    '{"a": {"text": "inside"}, "text": "outside"}',
    '  {"text": "space"}  ',
    '{"text": "x"} x',
    '{"text": "\\u0000"}',
    '{"text": "é", "x": "\\q"}',
    "{}",
    '{"text": ""}',
]


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.builds(
            lambda value, text, ascii: json.dumps({"a": value, "text": text, "b": value}, ensure_ascii=ascii),
            JSON_VALUES,
            JSON_VALUES | st.text(),
            st.booleans(),
        )
        | st.sampled_from(ODD),
        min_size=1,
        max_size=4,
    ),
    st.integers(0, 3),
)
def test_the_json_kernel_sees_what_pythons_json_sees(tmp_path_factory, lines, good):
    path = tmp_path_factory.mktemp("odd") / "a.jsonl"
    lines = ['{"text": "good", "id": 3}'] * good + lines + [""] * good + ['{"text": "end"}']
    path.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
    quick = drawn(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonl, "field_columns", nothing_but_odd)
        assert drawn(path) == quick


def nothing_but_odd(text, ends, fields):
    n = len(ends)
    return tuple((b"", array("Q", bytes(8 * n)), bytes(n)) for _ in fields), [*range(n)]


VALUES = st.sampled_from(
    [
        "1",
        "-7",
        "-0",
        "1.5",
        "2e3",
        "0",
        "00",
        "true",
        "false",
        "null",
        "[1]",
        "{}",
        '"a\\"b"',
        '"\\u00e9\\ud83d\\ude00"',
        '"\\ud800"',
        '""',
        "NaN",
        "1" * 4100,
        "Infinity",
    ]
)


@given(
    st.lists(st.tuples(st.sampled_from(["id", "text", "title", "i\\u0064", "x"]), VALUES), max_size=5), st.booleans()
)
def test_ids_from_the_json_kernel_are_those_of_pythons_json(tmp_path_factory, pairs, good):
    path = tmp_path_factory.mktemp("ids") / "a.jsonl"
    lines = ["{" + ", ".join(f'"{key}": {value}' for key, value in [("text", '"t"'), *pairs]) + "}"]
    lines += ['{"text": "good", "id": "\\u00e9"}'] * good
    path.write_text("\n".join([*lines, lines[0]]))
    quick = names_of(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonl, "field_columns", nothing_but_odd)
        assert names_of(path) == quick


def names_of(path):
    """The texts, the ids and the skips of a file."""
    block, seen = Block(), []
    with closing(open_source(path, ReadOptions(), ids=True)) as source:
        while source.draw(block):
            block.finish()
            names = [block.name(i) for i in range(len(block.ends))]
            seen.append(([*block.texts()], names, [*block.numbers], [str(skip) for skip in block.skips]))
    return seen


@given(st.binary(max_size=12), st.binary(max_size=12))
def test_the_json_kernel_takes_nothing_that_python_refuses(before, inside):
    line = before + b'{"text": "' + inside + b'"}'
    [(texts, ends, _)], odd = field_columns(line, array("Q", [len(line)]), (b"text",))
    if not odd:
        assert bytes(texts[: ends[0]]) == json.loads(line.decode())["text"].encode()


def test_the_json_kernel_takes_ordinary_lines():
    texts = ["", "é", '\U0001f600 a\n\t"\\ \x7f', "漢字" * 50, "a" * 1000, "\u2028/"]
    for ascii in (True, False):
        lines = [json.dumps({"n": [1, -2.5e9, {}], "text": text}, ensure_ascii=ascii).encode() for text in texts]
        line_ends = array("Q", itertools.accumulate(map(len, lines)))
        [(data, ends, _)], odd = field_columns(b"".join(lines), line_ends, (b"text",))
        assert not odd
        assert bytes(data[: ends[-1]]).decode() == "".join(texts)


def test_lone_surrogates_are_replaced_counted_and_told_of(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "good"}\n{"text": "a\\ud800b\\udfff"}\n{"text": "\\ud83d\\ude00"}\n')
    texts, skips, _ = drawn(tmp_path / "a.jsonl")
    assert [text.decode() for _, text in texts] == ["good", "a\ufffdb\ufffd", "\U0001f600"]
    assert skips == ["a.jsonl, line 2: 2 lone surrogates in JSON became U+FFFD, from here on"]


ARRAYS = {
    "[]": [],
    ' [ {"text": "a"} , {"text": "b]},{\\""}\n,{"text":"c"}] \n': ["a", 'b]},{"', "c"],
    '[{"text": "a", "x": [1, {"y": "]"}]}, 7, "s", [1], null, {"text": "b"}]': ["a", "b"],
}


@pytest.mark.parametrize("block", [1, 3, 1 << 20])
@pytest.mark.parametrize("content", ARRAYS)
def test_a_json_array_of_objects(tmp_path, monkeypatch, content, block):
    monkeypatch.setattr(blocks_module, "BLOCK", block)
    (tmp_path / "a.json").write_text(content)
    texts, skips, places = drawn(tmp_path / "a.json")
    assert [text.decode() for _, text in texts] == ARRAYS[content]
    assert len(skips) == (4 if "null" in content else 0)
    for place, seen in places[:-1]:
        assert drawn(tmp_path / "a.json", place=place)[0] == texts[seen:]


STRINGS = st.text(st.sampled_from('ab"\\\\,[]{}\n\t é'), max_size=8)
VALUES = st.recursive(
    STRINGS | st.none() | st.integers(0, 9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(STRINGS, inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(STRINGS, VALUES), max_size=6),
    st.sampled_from([None, 0, 1]),
    st.booleans(),
    st.sampled_from([1, 2, 7, 1 << 20]),
)
def test_any_json_array_is_read_like_lines(tmp_path_factory, items, indent, ascii, block):
    path = tmp_path_factory.mktemp("array") / "a.json"
    objects = [{"text": text, "other": other} for text, other in items]
    path.write_text(json.dumps(objects, indent=indent, ensure_ascii=ascii), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks_module, "BLOCK", block)
        texts, skips, places = drawn(path)
        assert texts == [(f"item {i}", text.encode()) for i, (text, _) in enumerate(items, 1)]
        assert skips == []
        for place, seen in places[:-1]:
            assert drawn(path, place=place)[:2] == (texts[seen:], [])


@pytest.mark.parametrize("block", [4, 1 << 20])
def test_an_item_of_an_array_that_is_too_long_or_damaged_is_left_out_alone(tmp_path, monkeypatch, block):
    monkeypatch.setattr(blocks_module, "BLOCK", block)
    items = ['{"text": "a"}', f'{{"text": "{"x" * 100}"}}', '{"text": 1 2}', '{"text": "b"}']
    (tmp_path / "a.json").write_text(f"[{', '.join(items)}]")
    texts, skips, _ = drawn(tmp_path / "a.json", ReadOptions(max_document_bytes=50))
    assert texts == [("item 1", b"a"), ("item 4", b"b")]
    assert [skip.partition(": ")[0] for skip in skips] == ["a.json, item 2", "a.json, item 3"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ('[{"text": "a"}', "the JSON array does not end"),
        ('[{"text": "a"} {"text": "b"}]', "item 1: not JSON: another value follows the first, at 15"),
        ('[{"text": "a"}] x', "more behind the end of the JSON array"),
        ('{"text": "a"}\nx', "line 2: not JSON"),
    ],
)
def test_a_json_file_that_is_neither_is_told(tmp_path, content, why):
    (tmp_path / "a.json").write_text(content)
    _, skips, _ = drawn(tmp_path / "a.json")
    assert len(skips) == 1
    assert why in skips[0]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_byte_order_mark_is_dropped_and_tells_the_encoding(tmp_path, encoding, suffix):
    mark = {
        "utf-8": codecs.BOM_UTF8,
        "utf-16-le": codecs.BOM_UTF16_LE,
        "utf-16-be": codecs.BOM_UTF16_BE,
        "utf-32-le": codecs.BOM_UTF32_LE,
        "utf-32-be": codecs.BOM_UTF32_BE,
    }[encoding]
    text = "caf\u00e9 \u5b57 \U0001f600\n" * 20_000
    data = mark + text.encode(encoding)
    for name in ("a.txt", "a.jsonl"):
        content = (
            data if name == "a.txt" else mark + "".join(json.dumps({"text": t}) + "\n" for t in "ab").encode(encoding)
        )
        (tmp_path / (name + suffix)).write_bytes(gzip.compress(content) if suffix else content)
    assert texts_of(tmp_path / f"a.txt{suffix}", ReadOptions("file")) == [text.encode()]
    texts, _, places = drawn(tmp_path / f"a.txt{suffix}")
    assert [text for _, text in texts] == [line.encode() for line in text.split("\n")[:-1]]
    for place, seen in places[:-1]:
        assert drawn(tmp_path / f"a.txt{suffix}", place=place)[0] == texts[seen:]
    assert texts_of(tmp_path / f"a.jsonl{suffix}") == [b"a", b"b"]


@pytest.mark.parametrize("damage", [b"\0\xd8", b"\0\xdc", b"\1\xd8\2\xd8", b"\1"])
def test_damaged_utf16_is_not_replaced_in_silence(tmp_path, damage):
    path, text = tmp_path / "a.txt", codecs.BOM_UTF16_LE + "the first line\nlast".encode("utf-16-le") + damage
    path.write_bytes(text)
    texts, skips, _ = drawn(path)
    assert [text for _, text in texts] == [b"the first line"]
    assert len(skips) == 1
    assert "not UTF-8: the byte 0xed at 4" in skips[0]


@given(
    st.lists(
        st.sampled_from(
            [b"a", b"x" * 40, "é".encode(), "漢".encode(), "👍".encode(), b"\xff", b"\xe6\xbc", b"\x80", b""]
        )
    )
)
@example([b"\xc3", b"\xa9"])  # a character in two documents
@example([b"x" * 40, b"\xe6\xbc", b"\xa2" + b"x" * 40, b"", b"\xff"])
def test_documents_that_are_not_utf8_are_those_that_python_cannot_decode(parts):
    ends = array("Q", itertools.accumulate(map(len, parts)))
    assert not_utf8(b"".join(parts), ends) == [i for i, part in enumerate(parts) if why_not_utf8(part)]


def test_a_large_row_group_is_read_in_steps(tmp_path):
    rows = [random.Random(row).randbytes(50_000).hex() for row in range(80)]
    pq.write_table(
        pa.table({"text": rows}),
        tmp_path / "a.parquet",
        write_batch_size=4,
        data_page_size=1 << 18,
        use_dictionary=False,
    )
    pool = pa.default_memory_pool()
    opened, block, before = open_source(tmp_path / "a.parquet", LINES), Block(), pool.bytes_allocated()
    assert opened.draw(block)
    assert pool.bytes_allocated() - before < 5_000_000 < (tmp_path / "a.parquet").stat().st_size - 1_000_000
    opened.close()


def test_parquet_in_place(tmp_path):
    rng = random.Random(3)
    texts = [None if i % 9 == 5 else "\u00e9" * rng.randrange(3000) for i in range(1500)]
    table = pa.table({"text": texts, "id": range(1500), "other": texts})
    for name, kind in (("a.parquet", pa.string()), ("b.pq", pa.dictionary(pa.int32(), pa.string()))):
        column = table.column("text").cast(pa.string())
        column = column.dictionary_encode() if pa.types.is_dictionary(kind) else column
        pq.write_table(table.set_column(0, "text", column), tmp_path / name, row_group_size=400)
        found, skips, places = drawn(tmp_path / name)
        assert found == [(f"row {i + 1}", text.encode()) for i, text in enumerate(texts) if text is not None]
        assert skips == [f"{name}: left out 167 rows without a text (null)"]
        assert len(places) > 4
        for place, seen in places[:: max(1, len(places) // 6)]:
            assert drawn(tmp_path / name, place=place)[0] == found[seen:]
    opened, block, names = open_source(tmp_path / "a.parquet", LINES, ids=True), Block(), []
    while opened.draw(block):
        names += [block.name(i) for i in range(len(block.ends))]
    assert names == [str(i) for i in range(1500) if texts[i] is not None]
    _, skips, _ = drawn(tmp_path / "a.parquet", ReadOptions(max_document_bytes=5990))
    assert len(skips) == 1 + sum(len((text or "").encode()) > 5990 for text in texts) > 1


def test_spans_have_all_documents_once(tmp_path):
    lines = [f"line {i} " + "x" * (i % 50) for i in range(3000)]
    (tmp_path / "a.txt").write_text("\n".join(lines))
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps({"text": line}) for line in lines))
    pq.write_table(pa.table({"text": lines}), tmp_path / "a.parquet", row_group_size=100)
    (tmp_path / "b.txt").write_bytes(codecs.BOM_UTF16_LE + "\n".join(lines).encode("utf-16-le"))

    def cut(buffer, start, length):
        return max(0, buffer.rfind(b" ", start + 1, length))

    for name, options in itertools.product(
        ("a.txt", "a.jsonl", "a.parquet", "b.txt"), (LINES, ReadOptions("file"), ReadOptions("blank"))
    ):
        parts = parts_of([tmp_path / name], options, range(1, 6), 5, cut=cut)
        spans = [(span, size) for part in parts for _, size, span in part]
        whole = name == "b.txt" or (name == "a.txt" and options.unit == "blank")
        assert (len(spans) > 3) == (not whole), name
        assert sum(size for _, size in spans) == (tmp_path / name).stat().st_size
        parts = [texts_of(tmp_path / name, options, span=span, cut=cut) for span, _ in spans]
        joined = b"\n" if (name.endswith(".txt") and options.unit == "line") else b""
        expected = texts_of(tmp_path / name, options)
        assert joined.join(joined.join(part) for part in parts) == joined.join(expected)


def test_dumps_go_on_in_the_middle(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks_module, "BLOCK", 300)
    head = '<mediawiki xml:lang="fr"><siteinfo><namespaces><namespace key="4">Wiki</namespace></namespaces></siteinfo>'
    pages = "".join(
        f"<page><title>{'Wiki:' if i % 5 == 4 else ''}P{i}</title><id>{i}</id><revision><text>page {i}</text></revision></page>\n"
        for i in range(30)
    )
    (tmp_path / "a.xml").write_text(head + pages + "</mediawiki>")
    texts, skips, places = drawn(tmp_path / "a.xml")
    assert [text for _, text in texts] == [b"page %d" % i for i in range(30) if i % 5 < 4]
    assert not skips
    for place, seen in places[:-1]:
        assert drawn(tmp_path / "a.xml", place=place)[0] == texts[seen:]


@given(st.binary(max_size=700).map(lambda data: data.replace(b"\x00", b"\n")), st.integers(0, 700))
def test_newlines_are_counted(data, length):
    length = min(length, len(data))
    assert count_byte(bytearray(data), length, 10) == data.count(b"\n", 0, length)
