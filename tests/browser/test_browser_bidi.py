"""Right-to-left text in the page: token boxes and the rows of Compare have the order of plain text."""

import itertools

import numpy as np
import pytest
from playground_page import set_text, write

from tokenmill.playground.export import export
from tokenmill.vocabulary import Vocabulary

BIDI = [
    "يولد جميع الناس (وقد) 1948 وضميرا.",
    "The word العربية means Arabic, and שלום עולם 123 means hello (world).",
    "שלום world, מה שלומך 3.14?",
    "1. العربية abc",
    "plain text",
]

# The boxes of each line of tokens, from left to right as [first UTF-16 unit, left, right]; and where the text box has them.
BOXES = """() => {
  const text = document.getElementById("text").shadowRoot;
  const centers = [];
  for (const line of text.querySelectorAll(".cm-line")) {
    const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
    for (let node; (node = walker.nextNode()); )
      for (let i = 0; i < node.length; i++) {
        const range = document.createRange();
        range.setStart(node, i);
        range.setEnd(node, i + 1);
        const {left, right} = range.getBoundingClientRect();
        centers.push((left + right) / 2);
      }
    centers.push(NaN); // the line feed
  }
  const lines = new Map();
  let unit = 0;
  for (const t of document.querySelectorAll("#tokens .t")) {
    const [at, rect] = [unit, t.getClientRects()[0]];
    const bytes = t.classList.contains("part");
    unit += bytes ? 0 : t.textContent.length;
    if (bytes || t.textContent === "\\n") {
      if (bytes) throw new Error("this test is for tokens of whole characters: " + t.textContent);
      continue;
    }
    const last = centers.slice(at, unit).findLast((x) => !Number.isNaN(x)); // a space before a letter may be elsewhere
    const inBox = last === undefined ? [] : [last];
    const key = Math.round((rect.top + rect.bottom) / 20);
    lines.set(key, [...(lines.get(key) ?? []), {at, left: rect.left, right: rect.right, box: inBox}]);
  }
  return Array.from(lines.values());
}"""


PAIRS = {
    "letters": [],
    "pairs": [(" ", "ש"), ("ا", "ل"), ("1", "9"), ("T", "h"), (" ", "(")],
    "numbers": [(" ", "1"), ("4", "8"), ("2", "3"), (" ", "w"), ("1", "."), ("ע", "ו")],
}


@pytest.fixture(scope="module")
def address(tmp_path_factory, serve):
    """Tokenizers whose tokens are letters and some pairs of them, and one whose tokens end inside letters."""
    letters = sorted({char for text in BIDI for char in text} | {"\n"})
    made = []
    for name, pairs in PAIRS.items():
        merges = [
            (letters.index(left), letters.index(right), len(letters) + i) for i, (left, right) in enumerate(pairs)
        ]
        tokens = tuple(token.encode() for token in (*letters, *(left + right for left, right in pairs)))
        options = {"alphabet": "characters", "whole_pretokens": False, "unknown": 0}
        merges = np.array(merges, np.int32).reshape(-1, 3)
        made.append((name, Vocabulary(tokens, (), "merges", merges, **options)))
    inside = (*(bytes([byte]) for byte in range(256)), "ו".encode(), "ו".encode() + b"\xd7", b"\xa9" + "ב".encode())
    made.append(("inside", Vocabulary((*inside[:257], "ב".encode(), *inside[257:]), (r"\S+|\s",))))
    folder = tmp_path_factory.mktemp("bidi") / "site"
    export(made, folder)
    return serve(folder)


def test_right_to_left_boxes_have_the_order_of_the_text_and_do_not_overlap(open_page, address):
    page = open_page(address, viewport={"width": 1900, "height": 800})
    page.select_option("#tokenizer", "pairs")
    assert_boxes_agree(page)


def assert_boxes_agree(page):
    write(page, "\n".join(BIDI))
    page.wait_for_function("() => document.querySelectorAll('#tokens .t').length > 100")
    lines = page.evaluate(BOXES)
    assert len(lines) == len(BIDI)
    for line in lines:
        seen = sorted(line, key=lambda one: one["left"])
        for one, other in itertools.pairwise(seen):
            assert one["right"] <= other["left"] + 1
        boxed = sorted((one for one in line if one["box"]), key=lambda one: sum(one["box"]) / len(one["box"]))
        assert [one["at"] for one in seen] == [one["at"] for one in boxed]


# The characters of a line as [UTF-16 unit, left edge] in plain text.
PLAIN = """(text) => {
  const div = document.createElement("div");
  Object.assign(div.style, {position: "fixed", top: 0, left: 0, whiteSpace: "pre", font: "16px monospace"});
  div.dir = "auto";
  div.textContent = text;
  document.body.append(div);
  const range = document.createRange();
  const places = Array.from(text, (_, i) => {
    range.setStart(div.firstChild, i);
    range.setEnd(div.firstChild, i + 1);
    return [i, range.getBoundingClientRect().left];
  });
  div.remove();
  return places;
}"""

# The cells of each lane of one row from left to right: the text, whether a token begins at its left, and where.
CELLS = """(row) => Array.from(document.querySelectorAll(".line")[row].querySelectorAll(".cells"), (lane) =>
  Array.from(lane.querySelectorAll(".cell"), (cell) => ({
    text: cell.textContent, edge: cell.classList.contains("starts"), odd: cell.classList.contains("odd"),
    thick: getComputedStyle(cell).borderLeftWidth, place: cell.getBoundingClientRect().left})))"""


def test_rows_of_compare_have_the_order_and_the_borders_of_plain_text(open_page, address):
    page = open_page(address, viewport={"width": 1900, "height": 2000})
    write(page, "\n".join(BIDI))
    page.click("#tab-compare")
    page.click("[aria-label='Remove tokenizer D']")
    page.wait_for_function("() => document.querySelectorAll('.line').length === 5")
    page.wait_for_function("() => document.querySelectorAll('.line:first-child .lane').length === 3")
    for row, text in enumerate(BIDI):
        order = [unit for unit, _ in sorted(page.evaluate(PLAIN, text), key=lambda one: one[1])]
        expected = [edges_of(text, pairs, order) for pairs in PAIRS.values()]
        for lane, cells in enumerate(page.evaluate(CELLS, row)):
            assert [cell["place"] for cell in cells] == sorted(cell["place"] for cell in cells)
            cells = [cell for cell in cells if cell["text"] != "⏎"]
            # Inside a cell all text goes in one direction, and the browser orders it.
            sizes = [len(cell["text"]) for cell in cells]
            starts = [sum(sizes[:i]) for i in range(len(sizes))]
            for start, cell in zip(starts, cells, strict=True):
                own = sorted(text[unit] for unit in order[start : start + len(cell["text"])])
                assert own == sorted(cell["text"].replace("·", " "))
            assert {start for start, cell in zip(starts, cells, strict=True) if cell["edge"]} - {0} == expected[
                lane
            ] - {0}
            for start, cell in zip(starts, cells, strict=True):
                if start > 0 and cell["edge"]:
                    assert cell["odd"] == any(start not in edges for edges in expected)
                    assert cell["thick"] == ("2px" if cell["odd"] else "1px")


def edges_of(text, pairs, order):
    """The places in visual order before which another token is than after."""
    tokens, at = [], 0
    while at < len(text):
        size = 2 if (text[at], text[at + 1 : at + 2]) in pairs else 1
        tokens += [at] * size
        at += size
    return {place for place in range(1, len(order)) if tokens[order[place - 1]] != tokens[order[place]]}


# Whether the box of " (" goes from right to left.
IS_RTL = """() => {
  const t = Array.from(document.querySelectorAll("#tokens .t")).find((t) => t.textContent === " (");
  const left = (i) => {
    const range = document.createRange();
    range.setStart(t.firstChild, i);
    range.setEnd(t.firstChild, i + 1);
    return range.getBoundingClientRect().left;
  };
  return left(0) > left(1);
}"""


def test_a_box_without_letters_has_the_direction_of_plain_text(open_page, address):
    page = open_page(address)
    page.select_option("#tokenizer", "pairs")
    for text, rtl in (
        ("العربية (وقد)", True),
        ("hello (world)", False),
        ("العربية (world)", True),
        ("hello (العربية) world", False),
        ("עולם 123 (world)", True),
    ):
        set_text(page, text)
        page.wait_for_function("() => document.getElementById('tokens').textContent.includes('(')")
        places = dict(page.evaluate(PLAIN, text))
        mark = text.index("(")
        assert (places[mark - 1] > places[mark]) == rtl, text  # what the browser does with the text
        assert page.evaluate(IS_RTL) == rtl, text


def test_bytes_beside_a_right_to_left_letter_are_on_their_side(open_page, address):
    """A token of a letter and the first byte of the next, and one of the last byte and the next letter."""
    page = open_page(address)
    page.select_option("#tokenizer", "inside")
    set_text(page, "ושב")
    page.wait_for_selector("#tokens .t.part")
    assert page.locator("#tokens .t").all_text_contents() == ["וD7", "A9ב"]
    page.hover("#tokens .t >> nth=0")
    for boxes in ("#tokens .t", "#detail .mini"):
        assert page.evaluate(
            """boxes => Array.from(document.querySelectorAll(boxes)).flatMap((t) => {
              const range = document.createRange();
              const at = (i, to) => {
                range.setStart(t.firstChild, i);
                range.setEnd(t.firstChild, to);
                return [t.textContent.slice(i, to), range.getBoundingClientRect().left];
              };
              return t.textContent.endsWith("7") ? [at(0, 1), at(1, 3)] : [at(0, 2), at(2, 3)];
            }).sort((a, b) => a[1] - b[1]).map(([text]) => text)""",
            boxes,
        ) == ["ב", "A9", "D7", "ו"]
