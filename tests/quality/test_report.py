"""The report: well-formed, self-contained, nothing from a vocabulary as markup, the same bytes each time and in every form."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import pytest
from quality_examples import BYTES, make_vocabulary, random_text

import tokenmill
from tokenmill import AddedToken, Tokenizer, WordCounts, train_from_iterator
from tokenmill.errors import UsageError
from tokenmill.quality import charts, reporting
from tokenmill.quality.judging import compare, inspect
from tokenmill.quality.page import SECTIONS, _explained

HOSTILE = [
    b"<script>alert(1)</script>",
    b"</script>",
    b'"><img src=x onerror=alert(1)>',
    b"&amp;",
    b"]]>",
    b"\x00\x1b[31m",
    b"$a$",
]
NAME = "<b onmouseover=x>$&\"'"
VOID = {"meta", "link", "br", "hr", "img", "input", "wbr"}


class Checker(HTMLParser):
    """Notes all tags with their attributes, and whether each is closed in order."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.ids, self.text = [], [], [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.ids += [value for name, value in attributes if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def hostile():
    tokens = [*BYTES, *HOSTILE, b"ow", b"low"]
    ow = len(tokens) - 2
    vocabulary = make_vocabulary(
        tokens, [(111, 119, ow), (108, ow, ow + 1)], added_tokens=(AddedToken("<|x|><i>", len(tokens)),)
    )
    return Tokenizer(vocabulary, name=NAME)


@pytest.fixture(scope="module")
def counts():
    return WordCounts.from_mapping({b"low": 300, b"how": 3, **{token: 5 for token in HOSTILE}})


def check(page):
    checker = Checker(page)
    assert len(checker.ids) == len(set(checker.ids))
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert len(scripts) == 1
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    policy = next(a["content"] for tag, a in checker.tags if tag == "meta" and "http-equiv" in a)
    assert "default-src 'none'" in policy and f"script-src 'sha256-{digest}'" in policy
    for tag, attributes in checker.tags:
        assert tag not in {"img", "iframe", "object", "embed", "link", "i", "b"}, tag
        for name, value in attributes.items():
            assert not name.startswith("on")
            assert name not in ("src", "action", "srcset") and (
                name not in ("href", "xlink:href") or value.startswith("#")
            )
    references = {a.get("href") or a.get("xlink:href") for _, a in checker.tags} - {None}
    references |= set(re.findall(r"url\((#[^)]+)\)", page))
    assert {reference[1:] for reference in references} <= set(checker.ids)
    assert "url(http" not in page and "@import" not in page
    return checker


@pytest.fixture(autouse=True)
def _one_date(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")


def test_inspection(hostile, counts):
    found = inspect(hostile, text={NAME: counts, "plain": counts})
    page = found.to_html()
    checker = check(page)
    assert "<script>alert(1)</script>" in "".join(checker.text).replace("·", " ")
    assert page == inspect(hostile, text={NAME: counts, "plain": counts}).to_html()
    assert {a["id"] for tag, a in checker.tags if tag == "figure"} == {f"c-{chart.key}" for chart in found.charts}
    assert len(page.encode()) < 1_000_000
    text = "".join(checker.text)
    assert "2023-11-14 22:13 UTC" in text and hostile.vocabulary.fingerprint() in text
    assert all(finding.statement in text for finding in found.findings)


def test_inspection_without_text(hostile):
    found = inspect(hostile)
    check(found.to_html())
    assert {chart.key for chart in found.charts} == {"parity", "references"}
    assert {finding.key for finding in found.findings} == {"languages", "density", "unreachable"}


def test_what_no_report_can_be_made_of(hostile, counts):
    with pytest.raises(UsageError, match="no tokenizer to compare"):
        compare([], counts)
    with pytest.raises(UsageError, match="no text to compare on: give text="):
        tokenmill.report([hostile, hostile])


def test_comparison(hostile, counts):
    plain = Tokenizer(make_vocabulary(BYTES, []), name="bytes")
    found = compare([hostile, plain, plain, plain, plain], {NAME: counts})
    assert list(found.judgements) == [NAME, "bytes", "bytes (2)", "bytes (3)", "bytes (4)"]
    page = found.to_html()
    check(page)
    assert "Only the first 4 tokenizers are drawn." in page and page.count("<em>best</em>") >= 2
    assert len(page.encode()) < 1_000_000


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_in_either_report(hostile, counts, tmp_path, chromium, theme):
    axe = Path(__file__).resolve().parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
    if not axe.exists():
        pytest.skip("needs axe-core: npm ci in web/")
    plain = Tokenizer(make_vocabulary(BYTES, []), name="bytes")
    inspect(hostile, text={NAME: counts, "b": counts}).save(tmp_path / "inspect.html")
    compare([hostile, plain], {NAME: counts, "b": counts}).save(tmp_path / "compare.html")
    context = chromium.new_context(color_scheme=theme, reduced_motion="reduce")
    page = context.new_page()
    for name in ("inspect", "compare"):
        page.goto((tmp_path / f"{name}.html").as_uri())
        for width in (1280, 400):
            page.set_viewport_size({"width": width, "height": 800})
            page.evaluate(axe.read_text(encoding="utf-8"))
            found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
            problems = [
                (of["id"], of["nodes"][0]["html"], of["nodes"][0]["failureSummary"]) for of in found["violations"]
            ]
            assert not problems, (name, width, problems)
    context.close()


def test_terms_are_explained_but_not_in_commands():
    shown = _explained("Drop them with `tokenmill prune --ios 0.9`: their IoS is high.")
    assert '<code>tokenmill prune <span class="short">--ios</span> 0.9</code>' in shown and shown.count("<abbr") == 1


def test_the_shares_of_a_chart_have_the_same_decimals():
    assert [charts.format_figure(value, "share") for value in (0.13, 0.1013, 1, 0)] == [
        "13.0%",
        "10.1%",
        "100.0%",
        "0.0%",
    ]


@pytest.mark.parametrize("last", [0, 0.0077, 0.03])
def test_the_figures_of_a_line_are_apart(last):
    """From each other, and from the numbers below the axis, where the line ends."""
    x, y = [0.3 + 0.01 * i for i in range(71)], [last + (0.13 - last) * (1 - i / 70) ** 2 for i in range(71)]
    line = charts.Series("mine", x, y, [30, 40, 50, 60, 70])
    axes = charts.Axis("T"), charts.Axis("share", "share")
    root = ElementTree.fromstring(charts.draw(charts.Chart("ios", "A", "A.", "lines", *axes, [line])))
    texts = [of for of in root if of.get("class") in ("value", "tick") and of.get("text-anchor") == "middle"]
    boxes = [(float(of.get("x")), float(of.get("y")), len(of.text) * 6.5 / 2) for of in texts]
    assert len(boxes) == 5 + 4
    for (x, y, half), (other, at, their) in combinations(boxes, 2):
        assert abs(y - at) >= 10 or abs(x - other) >= half + their
    assert all(half <= x <= charts.WIDTH - half for x, _, half in boxes)


def test_lists_are_cut(hostile, counts, tmp_path):
    inspect(hostile, text=counts).save(tmp_path / "report.html", top=30)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "The first 30 of 265." in page


def test_a_page_is_below_a_megabyte(monkeypatch, hostile, counts):
    """Lists are cut further where it would be larger, unless all rows are asked for."""
    found = inspect(hostile, text=counts)
    monkeypatch.setattr(reporting, "LARGEST_PAGE", len(found.to_html(top=50).encode()) + 100)
    assert found.to_html() == found.to_html(top=50) != found.to_html(top=None)


def test_comparison_tables(hostile, counts):
    plain = Tokenizer(make_vocabulary(BYTES, []), name="bytes")
    found = compare({"a": hostile, "b": plain}, counts)
    row = found.table("compression").rows[1]
    assert row[2] == sum(len(pretoken) * n for pretoken, n in counts.items())
    assert row[3] == row[2] / found.table("compression").rows[0][2]
    assert found.table("overlap").rows[1][1] == 1.0 and found.table("overlap").rows[0][2] == 256 / 265
    assert found.table("vocabularies").column("IoS ≥ 0.9") == [1 / 265, 0.0]
    assert json.loads(json.dumps(found.to_json()))["tokenizers"]["b"] == plain.vocabulary.fingerprint()
    assert found.to_markdown().startswith("# Comparison of a, b\n")
    with pytest.raises(UsageError, match="there are compression"):
        found.table("nothing")


def test_sorting_and_searching_in_a_browser(hostile, counts, tmp_path, chromium):
    """By keyboard alone, under the page's own policy."""
    inspect(hostile, text=counts).save(tmp_path / "report.html")
    page = chromium.new_page()
    complaints, requests = [], []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto((tmp_path / "report.html").as_uri())
    column = "[...document.querySelectorAll('#t-longest tbody tr:not([hidden]) td:nth-child(4)')].map(td => +td.dataset.value)"
    assert page.evaluate(column) != sorted(page.evaluate(column), reverse=True)
    used = page.locator("#t-longest th:nth-child(4) button")
    used.focus()
    page.keyboard.press("Enter")
    assert page.evaluate(column) == sorted(page.evaluate(column), reverse=True)
    assert page.locator("#t-longest th:nth-child(4)").get_attribute("aria-sort") == "descending"
    page.keyboard.press("Space")
    assert page.evaluate(column) == sorted(page.evaluate(column))
    page.locator("label:has([data-table=t-longest]) input").fill("low")
    assert page.evaluate(column) == [300]
    page.close()
    assert complaints == [] and len(requests) == 1


def test_columns_without_values_and_terms_that_do_not_occur_are_left_out(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text(random_text(1), encoding="utf-8")
    plain = train_from_iterator([random_text(1)], 400)
    picky = train_from_iterator([random_text(1)], 400, refine=0.6)
    pages = [inspect(tok, text=text).to_html() for tok in (plain, picky)]
    heads = [re.search('id="t-longest".*?</thead>', page, re.S)[0] for page in (*pages, inspect(plain).to_html())]
    assert [">used<" in head for head in heads] == [True, True, False]
    assert '<td class="num" data-value="">–</td>' in pages[1]  # a token that is no text has no characters
    terms = [re.findall("<dt>(.*?)</dt>", re.search('<dl class="terms">.*?</dl>', page)[0]) for page in pages]
    assert all(
        {"IoS", "merge", "pretoken"} <= set(found) and not {"bootstrap", "superword"} & set(found) for found in terms
    )
    assert "<dt>bootstrap</dt>" in compare([plain, picky], text).to_html()


def test_labels_tiles_and_forms_in_a_browser(hostile, counts, tmp_path, chromium):
    """Values of tiles are on one line, short labels are not wrapped, a comparison is not cut after its sign."""
    longest = Tokenizer(
        make_vocabulary([*BYTES, b"-" * 80, "é".encode() * 80, "e\u0301".encode() * 80], []), name="cl100k_base"
    )
    inspect(longest, text=counts).save(tmp_path / "report.html")
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    page.goto((tmp_path / "report.html").as_uri())
    tops = page.evaluate(
        "[...document.querySelectorAll('.figures strong')].map(one => one.getBoundingClientRect().bottom)"
    )
    assert len(tops) > 4 and max(tops) - min(tops) < 1
    label = page.locator("table.values th:has-text('tokenizer cl100k_base')").bounding_box()
    assert label["height"] < 40
    assert page.locator(".figures dt:has-text('IoS')").inner_text().endswith("≥\u00a00.9")
    page.close()


def test_a_printed_report_is_short_and_light(tmp_path, chromium):
    """On paper lists are cut, whatever the page shows, and the colours are those of the light theme."""
    tokens = [*BYTES, *(b"%d" % number * 2 for number in range(2000))]
    inspect(Tokenizer(make_vocabulary(tokens, [])), text=WordCounts.from_mapping({b"low": 3})).save(tmp_path / "a.html")
    context = chromium.new_context(color_scheme="dark")
    page = context.new_page()
    page.goto((tmp_path / "a.html").as_uri())
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))) <= 12
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(29, 30, 32)"
    context.close()


def test_rows_are_whole_pixels_high(hostile, counts, tmp_path, chromium):
    """A first column that sticks is drawn apart: its rules meet those of the other columns only at whole pixels."""
    inspect(hostile, text=counts).save(tmp_path / "report.html")
    page = chromium.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    for width in (400, 800, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        rows = page.evaluate("[...document.querySelectorAll('tr')].map(row => row.getBoundingClientRect().height)")
        assert len(rows) > 100 and all(abs(height - round(height)) < 0.01 for height in rows)
    page.close()


def test_a_command_in_the_verdict_wraps(tmp_path, chromium):
    (tmp_path / "text.txt").write_text(random_text(1, 30) * 1500, encoding="utf-8")
    found = inspect(train_from_iterator([random_text(1)], 400), text=tmp_path / "text.txt")
    assert any("`tokenmill " in finding.advice for finding in found.findings)
    found.save(tmp_path / "report.html")
    page = chromium.new_page(viewport={"width": 400, "height": 900})
    page.goto((tmp_path / "report.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") == 400
    page.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_charts_in_a_browser(hostile, counts, tmp_path, chromium, theme):
    """Charts follow the theme, explain themselves, and give their data; nothing is wider than the page at any width."""
    plain = Tokenizer(make_vocabulary(BYTES, []), name="a-name-that-is-rather-long")
    found = compare([hostile, plain], {NAME: counts, "b": counts})
    found.save(tmp_path / "report.html")
    context = chromium.new_context(color_scheme=theme, viewport={"width": 400, "height": 900})
    page = context.new_page()
    complaints = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto((tmp_path / "report.html").as_uri())
    for width in (400, 800, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") == width
    outside = """[...document.querySelectorAll('figure svg[role=img]')].flatMap(svg => [...svg.querySelectorAll('text, rect, path.line')]
        .filter(part => { const a = part.getBoundingClientRect(), b = svg.getBoundingClientRect();
                          return a.left < b.left - 1 || a.right > b.right + 1 || a.bottom > b.bottom + 1; })
        .map(part => part.outerHTML))"""
    assert page.evaluate(outside) == []
    page.set_viewport_size({"width": 400, "height": 900})
    bar = page.locator("#c-parity rect.bar[data-tip]").first
    fill = bar.evaluate("bar => getComputedStyle(bar).fill")
    assert fill == {"light": "rgb(11, 79, 138)", "dark": "rgb(143, 208, 255)"}[theme]
    bar.hover()
    assert page.locator("#tip").inner_text() == bar.get_attribute("data-tip")
    page.mouse.move(0, 0)  # else the page scrolls under the pointer, which shows another tip
    page.locator("abbr").first.focus()
    page.wait_for_function(
        "() => scrollY === (window.before ?? -1) || (window.before = scrollY, false)"
    )  # scrolling has ended
    assert page.locator("#tip").is_visible() and len(page.locator("#tip").inner_text()) > 20
    page.keyboard.press("Escape")
    assert page.locator("#tip").is_hidden()
    data = page.locator("#c-references details")
    data.locator("summary").click()
    data.locator("button").click()
    page.wait_for_selector("#c-references button:not(:text-is('Copy'))")
    assert page.evaluate("getSelection().toString()").splitlines()[0].split("\t")[1:] == ["group", "bytes per token"]
    sticky = page.locator("#t-references tbody tr:first-child td:first-child")
    page.locator("#t-references").evaluate("table => table.parentElement.scrollTo(200, 0)")
    assert sticky.bounding_box()["x"] >= 0  # the name of the row stays in sight
    page.set_content(found._repr_html_())  # as a notebook shows it
    frame = page.frames[-1]
    frame.locator("nav a").last.click()
    assert frame.evaluate("scrollY") > 0 and frame.locator("#t-overlap th button").count() == 3
    context.close()
    assert complaints == []


def test_exchanged_tokens_with_their_uses(tmp_path):
    """A comparison lists which tokens the second lacks and which it has instead, the most used first."""
    path = tmp_path / "a.txt"
    path.write_text("low lower lowest newer newest wider " * 200)
    plain = tokenmill.train_from_iterator([path.read_text()], 275)
    picky = tokenmill.train_from_iterator([path.read_text()], 275, refine=0.9)
    report = tokenmill.compare({"plain": plain, "picky": picky}, path)
    (table,) = [table for table in report.tables if table.key.startswith("exchanged")]
    texts = {name: set(filter(None, tok.vocabulary.tokens)) for name, tok in (("plain", plain), ("picky", picky))}
    of_picky = {
        token for id, token in enumerate(picky.vocabulary.tokens) if token and id not in picky.vocabulary.removed
    }
    assert {token.content for token in table.column("only in plain") if token} == texts["plain"] - of_picky
    assert {token.content for token in table.column("only in picky") if token} == of_picky - texts["plain"]
    for token, used in zip(table.column("only in picky"), table.column("used there"), strict=True):
        assert token is None or used == picky.encode(path.read_text()).count(token.id)
    assert table.key.split("_")[0] in {key for *_, keys in SECTIONS for key in keys}

    removed = tokenmill.inspect(picky, text=path).table("removed")
    assert {token.id for token in removed.column("removed")} == set(picky.vocabulary.removed)
    assert all(ios >= 0.9 for ios in removed.column("IoS"))
    made = [new for _, right, new in picky.vocabulary.events.tolist() if right >= 0]
    assert removed.column("instead")[0].id == made[-1]
