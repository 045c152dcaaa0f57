"""Damaged and hostile input: a clear message and a counted skip or stop, never a hang or a blow-up of memory."""

import bz2
import gzip
import importlib
import json
import random
import re
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

import tokenmill
from tokenmill.corpus import CleanOptions, read_documents
from tokenmill.errors import InputError, TokenmillError
from tokenmill.jobs.work import JobOptions
from tokenmill.jobs.worker_pool import WorkerPool
from tokenmill.sources.blocks import ReadOptions


def clean(kind, sources, output, options=None, **run):
    """`clean` that leaves out what is damaged."""
    options = options or CleanOptions()
    options = replace(options, read=replace(options.read, skip_damaged=True))
    return tokenmill.clean(kind, sources, output, options=options, **run)


SENTENCE = "The quick brown fox jumps over a lazy dog while nobody in particular looks at what it does. "
BODY = SENTENCE * 3


def pool(task, settings, num_workers, seconds, memory):
    """Workers for batches that are lists of documents."""
    make_task = partial(getattr(importlib.import_module("hostile_tasks"), task), settings)
    return WorkerPool(make_task, lambda batch: [[d] for d in batch], num_workers, seconds, memory)


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("loop", "it took more than 0.2 s of processor time"),
        ("loop in C", "it took more than 0.2 s of processor time"),
        ("sleep", "it took more than 2 s"),  # 20 times the processor time
        ("eat", "it needs more memory than the limit for one document"),
        ("eat slowly", "it needs more memory than the limit for one document"),
        ("crash", "it crashed the process that read it (SIGSEGV)"),
        ("leave", "it crashed the process that read it (code 7: going away)"),
        ("raise", "KeyError: 'no such thing'"),
        ("recurse", "it is nested too deeply"),
    ],
)
def test_a_document_that_takes_its_process_down_is_reported_and_the_rest_done(monkeypatch, what, why):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    with pool("Hostile", "!", 2, seconds=0.1 if what == "sleep" else 0.2, memory=200 << 20) as hostile:
        results = list(hostile.map([(["a", what, "b", "print"], 1), (["c", "e"], 2), ([what], 3)]))
    assert [tag for _, tag in results] == [1, 2, 3]
    done = [(["a"], ("done", ["a!"])), (["b"], ("done", ["b!"])), (["print"], ("done", ["print!"]))]
    assert results[0][0] == [done[0], ([what], ("failed", why)), *done[1:]]
    assert results[1][0] == [(["c", "e"], ("done", ["c!", "e!"]))]
    assert results[2][0] == [([what], ("failed", why))]


def test_a_task_that_cannot_start_is_one_error(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    with pool("broken", "", 2, 1.0, 1 << 28) as workers, pytest.raises(TokenmillError, match="cannot even start"):
        list(workers.map([(["a"], 0)] * 5))


def test_no_process_stays_behind(monkeypatch):
    import psutil

    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    before = set(psutil.Process().children())  # a browser or a Ray of other tests may be among them
    with pool("Hostile", "", 3, 100.0, 1 << 28) as several:
        results = several.map([(["a"], i) for i in range(8)])
        next(results)
        workers = set(psutil.Process().children()) - before
        assert workers
    assert not workers & set(psutil.Process().children())


def page(title, text, extra=""):
    return f"<page><title>{title}</title><ns>0</ns><id>1</id>{extra}<revision><text>{text}</text></revision></page>\n"


def dump(path, *pages, head="<mediawiki><siteinfo/>"):
    path.write_text(head + "\n" + "".join(pages) + "</mediawiki>")
    return path


def cleaned(kind, source, folder, **options):
    """The texts kept, and what was skipped, without the folder of the sources."""
    report = clean(kind, source, folder / "out", CleanOptions(**options), job=JobOptions(num_threads=1))
    texts = [d.text for d in read_documents((folder / "out").glob("shard-*"))]
    return texts, [str(skip).replace(f"{folder}/", "") for skip in report.skipped]


LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 12))
BOMB = f'<?xml version="1.0"?><!DOCTYPE mediawiki [<!ENTITY l0 "lol">{LAUGHS}<!ENTITY f SYSTEM "file:///etc/passwd">]><mediawiki>'


def test_entity_bombs_are_no_entities(tmp_path):
    source = dump(tmp_path / "a.xml", page("Bomb", "&l11;"), page("File", "&f;"), page("Good", BODY), head=BOMB)
    texts, skipped = cleaned("wikipedia", source, tmp_path)
    assert texts == [BODY.strip()]
    assert skipped == [
        f"a.xml, byte {len(BOMB) + 1}: not well-formed XML: Entity 'l11' not defined",
        f"a.xml, byte {len(BOMB) + 1 + len(page('Bomb', '&l11;'))}: not well-formed XML: Entity 'f' not defined",
    ]


def test_damaged_pages_cost_only_themselves(tmp_path):
    source = dump(
        tmp_path / "a.xml",
        page("Good 1", BODY),
        page("Tags", "<b>" + BODY),
        "<page><title>Cut off</title><revision><text>" + BODY + "\n",
        page("Good 2", BODY),
        "<page><id>2</id></page>\n",
        page("Nul", "\x01" + BODY),
        page("Good 3", BODY) + "<page><title>The end is miss",
    )
    texts, skipped = cleaned("wikipedia", source, tmp_path)
    assert texts == [BODY.strip()] * 3
    assert [reason.partition(": ")[2] for reason in skipped] == [
        "not well-formed XML: Opening and ending tag mismatch: b line 1 and text",
        "a page without its end (Cut off)",
        "a page without a title",
        "not well-formed XML: PCDATA invalid Char value 1",
        "a page without its end",
    ]
    with pytest.raises(InputError, match="Opening and ending tag mismatch"):
        tokenmill.clean("wikipedia", source, tmp_path / "strict")


def test_a_page_that_takes_too_long(tmp_path):
    """Real work for the parser, which takes about ten times the limit. The other pages take a hundredth of it."""
    slow = "{{quote|" * 30 + "{{lang|fr|[[x|y]] " * 400_000 + "}}" * 400_030
    source = dump(tmp_path / "a.xml", page("Good 1", BODY), page("Slow", slow), page("Good 2", BODY))
    texts, skipped = cleaned("wikipedia", source, tmp_path, time_limit=0.25)
    assert texts == [BODY.strip()] * 2
    assert len(skipped) == 1
    # The second on a machine that is so busy that a quarter of a second of processor time takes five.
    assert re.search(r"it took more than (0\.25 s of processor time|5 s)$", skipped[0])


def test_a_page_that_takes_too_much_memory(tmp_path):
    """To read it as XML takes a few megabytes, to keep all that it opens some hundred."""
    big = "{{x|" * 500_000
    source = dump(tmp_path / "a.xml", page("Good 1", BODY), page("Big", big), page("Good 2", BODY))
    texts, skipped = cleaned("wikipedia", source, tmp_path, document_memory=32 << 20)
    assert texts == [BODY.strip()] * 2
    assert [reason.partition(": ")[2] for reason in skipped] == ["it needs more memory than the limit for one document"]


def test_posts_that_are_none(tmp_path):
    rows = [
        '<row Id="1" Title="T" Body="&lt;p&gt;' + BODY + '&lt;/p&gt;" />',
        '<row Id="2" Body="cut off',
        '<row Id="3" Text="a comment" />',
        '<row Id="4" Body="' + BODY + '" />',
    ]
    source = tmp_path / "Posts.xml"
    source.write_text('\ufeff<?xml version="1.0"?>\n<posts>\n' + "\n".join(rows) + "\n</posts>", encoding="utf-8")
    texts, skipped = cleaned("stackexchange", source, tmp_path)
    assert texts == ["T\n\n" + BODY.strip(), BODY.strip()]
    assert [reason.partition(": ")[2] for reason in skipped] == [
        "a row without its end",
        "a row without a Body, but with Id, Text: not a post",
    ]


def test_a_file_of_another_kind_is_told(tmp_path):
    source = tmp_path / "a.xml"
    source.write_text("<html>no dump</html>")
    with pytest.raises(InputError, match=r"nothing could be read.*a.xml: there is no <page> in it"):
        clean("wikipedia", source, tmp_path / "out")
    with pytest.raises(InputError, match="there is no <row> in it"):
        clean("stackexchange", source, tmp_path / "out")
    pq.write_table(pa.table({"content": ["x"]}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"no column 'text'; the columns are content"):
        clean("fineweb", tmp_path / "a.parquet", tmp_path / "out")


def rows(count):
    return "".join(f'<row Id="{i}" Body="{i} {BODY}" />\n' for i in range(count))


@pytest.mark.parametrize("suffix", [".xml.bz2", ".xml.zst"])
def test_dumps_that_were_cut_off(tmp_path, suffix):
    """What stands before the cut is cleaned; the rest is one skip that says where."""
    rng = random.Random(1)  # what a damaged bit makes of the rest depends on the bytes
    count = 3000
    plain = (
        "<posts>\n"
        + "".join(f'<row Id="{i}" Body="{rng.randbytes(300).hex(" ")} {BODY}" />\n' for i in range(count))
        + "</posts>"
    ).encode()
    path = tmp_path / f"a{suffix}"
    compressed = bz2.compress(plain) if suffix == ".xml.bz2" else zstandard.ZstdCompressor().compress(plain)
    path.write_bytes(compressed[: len(compressed) * 2 // 3])
    texts, skipped = cleaned("stackexchange", path, tmp_path)
    assert count // 4 < len(texts) < count * 4 // 5
    assert len(skipped) == 1
    assert "damaged or cut off after" in skipped[0]
    with pytest.raises(InputError, match="damaged or cut off after"):
        tokenmill.clean("stackexchange", path, tmp_path / "strict")


MEASURE = """
import json, sys
from tokenmill.corpus import CleanOptions, clean
from tokenmill.jobs.work import JobOptions
from tokenmill.sources.blocks import MAX_DOCUMENT_BYTES, ReadOptions
unit = "line" if sys.argv[1] == "text" else "file"
options = CleanOptions(read=ReadOptions(unit, max_document_bytes=MAX_DOCUMENT_BYTES, skip_damaged=True))
report = clean(*sys.argv[1:], options=options, job=JobOptions(num_threads=1))
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps([report.documents_kept, [str(skip) for skip in report.skipped], peak // 1024]))
"""


@pytest.mark.parametrize(
    ("kind", "name", "before", "after", "position"),
    [
        ("text", "a.txt.zst", BODY + "\n", "\n" + BODY, "line 2"),
        ("text", "a.jsonl.zst", json.dumps({"text": BODY}) + "\n", "\n" + json.dumps({"text": BODY}), "line 2"),
        ("wikipedia", "a.xml.zst", "<mediawiki>" + page("A", BODY) + "<page>", "</page>" + page("B", BODY), "byte "),
        (
            "stackexchange",
            "a.xml.zst",
            f'<posts><row Id="1" Body="{BODY}" /><row Body="',
            f'" /><row Id="2" Body="{BODY}"/>',
            "byte ",
        ),
    ],
)
def test_a_line_of_100_megabytes(tmp_path, kind, name, before, after, position):
    """It is skipped where it stands, in the memory that any run takes."""
    path = tmp_path / name
    compressor = zstandard.ZstdCompressor(level=1).compressobj()
    with open(path, "wb") as file:
        file.write(compressor.compress(before.encode()))
        for _ in range(100):
            file.write(compressor.compress(b"many words " * 90_910))
        file.write(compressor.compress(after.encode()) + compressor.flush())
    run = subprocess.run(
        [sys.executable, "-c", MEASURE, kind, path, tmp_path / "out"], capture_output=True, text=True, check=True
    )
    kept, skipped, peak = json.loads(run.stdout)
    assert kept == 2
    assert len(skipped) == 1
    assert f"{position}" in skipped[0]
    assert "longer than 16,777,216 bytes" in skipped[0]
    assert peak < 220  # megabytes; 100 of them are pyarrow


def test_a_mixed_bag(tmp_path):
    """Good and bad files together: everything readable is kept, everything else counted with its place."""
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.txt").write_bytes(f"{BODY}\n".encode() + b"caf\xe9 " * 50 + f"\n{BODY}\n".encode())
    (folder / "b.jsonl").write_text(f'{{"text": "{BODY}"}}\nnot json\n[1]\n')
    (folder / "c.parquet").write_bytes(b"PAR1 and nothing more")
    pq.write_table(pa.table({"text": [BODY, None]}), folder / "d.parquet")
    pq.write_table(pa.table({"other": [BODY]}), folder / "e.parquet")
    (folder / "f.txt.gz").write_bytes(b"no gzip at all")
    (folder / "g.7z").write_bytes(b"7z\xbc\xaf\x27\x1c and no more")
    (folder / "h.txt").write_bytes(b"")
    texts, skipped = cleaned("text", folder, tmp_path, read=ReadOptions("line"))
    assert texts == [BODY] * 4
    assert [skip.removeprefix("in/")[:38] for skip in skipped] == [
        "a.txt, line 2: not UTF-8: the byte 0xe",
        "b.jsonl, line 2: not JSON: Expecting v",
        "b.jsonl, line 3: JSON, but an array; e",
        "c.parquet: not a readable Parquet file",
        "d.parquet: left out 1 row without a te",
        "e.parquet: no column 'text'; the colum",
        "f.txt.gz: damaged or cut off after 0 b",
        "g.7z: a 7z archive. Unpack it (7z x), ",
    ]


@pytest.mark.parametrize("limit", [1 << 24, 1000])
def test_a_text_file_that_was_cut_off_is_left_out_whole(tmp_path, limit):
    rng = random.Random(1)
    packed = gzip.compress("\n\n".join(f"{BODY} {rng.random()}" for _ in range(100)).encode())
    (tmp_path / "a.txt.gz").write_bytes(packed[: len(packed) // 2])
    (tmp_path / "b.txt").write_text(BODY)
    read = ReadOptions(max_document_bytes=limit)
    texts, skipped = cleaned("text", [tmp_path / "a.txt.gz", tmp_path / "b.txt"], tmp_path, read=read)
    assert texts == [BODY]
    assert len(skipped) == 1 and "damaged or cut off after" in skipped[0]
    with pytest.raises(InputError, match="nothing could be read"):
        clean("text", tmp_path / "a.txt.gz", tmp_path / "none")
