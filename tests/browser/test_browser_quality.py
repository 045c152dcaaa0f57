"""What makes a good page: accessible to everyone, readable in both themes and at any width, and flat in memory."""

import json
import os
import random
from pathlib import Path

import pytest
from playground_examples import TEXT
from playground_page import search, write

from tokenmill.playground.export import export

AXE = Path(__file__).resolve().parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
VIEWS = ("tokens", "compare", "vocabulary", "training")


def show(page, view):
    page.click(f"#tab-{view}")
    if view == "vocabulary":
        search(page, "lo")
        page.click(".result >> nth=2")
        page.wait_for_selector(".tree")
    elif view == "training":
        page.check("#picky")
        for _ in range(4):
            page.click("#on")
    elif view == "compare":
        page.wait_for_selector(".lane")
        page.wait_for_selector("#parity[aria-busy='false'] summary")
        page.evaluate("() => { document.querySelector('#parity details').open = true; }")
    else:
        page.hover("#tokens .t >> nth=3")


@pytest.mark.parametrize(
    "width, theme",
    [(1280, "light"), (390, "dark"), *([(1280, "dark"), (390, "light")] if "TOKENMILL_SWEEP" in os.environ else [])],
)
def test_axe_finds_nothing(open_page, local, theme, width):
    if not AXE.exists():
        pytest.skip("needs axe-core: npm ci in web/")
    page = open_page(
        local.address, viewport={"width": width, "height": 800}, color_scheme=theme, reduced_motion="reduce"
    )
    page.evaluate(AXE.read_text())
    for view in (*VIEWS, "steps", "help"):
        if view == "steps":
            page.click("#tab-tokens")
            page.focus("#tokens")
            page.keyboard.press("s")
            page.wait_for_selector("#steps[open] table")
        elif view == "help":
            page.keyboard.press("Escape")
            page.keyboard.press("?")
            page.wait_for_selector("#help[open]")
        else:
            show(page, view)
        found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
        problems = [
            f"{v['impact']} {v['id']}: {v['help']}: {[n['html'][:150] for n in v['nodes'][:3]]} {v['nodes'][0]['failureSummary'][:300]}"
            for v in found["violations"]
        ]
        assert not problems, (view, theme, width, problems)


@pytest.fixture(scope="module")
def long_names(small_tokenizers, tmp_path_factory, serve):
    """The address of a static site whose tokenizers have names of a hundred characters."""
    folder = tmp_path_factory.mktemp("long-names") / "site"
    export([(f"{name} of a rather long name".ljust(100, "g"), v) for name, v in small_tokenizers[:2]], folder)
    return serve(folder)


def test_no_view_is_wider_than_the_window(open_page, long_names):
    page = open_page(long_names)
    for view in VIEWS:
        show(page, view)
        for width in (1920, 768, 360):
            page.set_viewport_size({"width": width, "height": 800})
            page.wait_for_function("width => document.documentElement.scrollWidth <= width", arg=width)


def test_a_token_stays_on_its_line(open_page, local):
    """Unless it holds a line feed or is longer than a narrow line."""
    page = open_page(local.address, viewport={"width": 420, "height": 900})
    write(page, "the newest of the new, lower than the lowest: newest, widest, 1234567 " * 12 + "a" * 300)
    page.wait_for_function("() => document.getElementById('count-bytes').textContent === '1,140'")
    for switch in ("visible", "as-ids"):
        broken = page.evaluate(
            "() => Array.from(document.querySelectorAll('#tokens .t')).filter((t) => t.getClientRects().length > 1).map((t) => t.textContent)"
        )
        assert all(len(text) > 32 for text in broken)
        assert page.evaluate(
            "() => { const t = document.getElementById('tokens'); return t.scrollWidth <= t.clientWidth; }"
        )
        page.check(f"#{switch}")


def test_the_theme_can_be_chosen_and_is_kept(open_page, local):
    page = open_page(local.address, color_scheme="light")

    def ground():
        return page.evaluate("() => getComputedStyle(document.body).backgroundColor")

    light = ground()
    page.select_option("#theme", "dark")
    assert ground() != light
    page.reload()
    page.wait_for_selector("#tokens .t")
    assert page.input_value("#theme") == "dark" and ground() != light
    page.select_option("#theme", "auto")
    assert ground() == light


def test_everything_is_reached_by_keyboard(open_page, local):
    page = open_page(local.address)
    page.focus("#tab-tokens")
    seen = []
    for _ in range(25):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("() => document.activeElement.id"))
    for id in (
        "link",
        "theme",
        "tokenizer",
        "open",
        "sample",
        "text",
        "special",
        "visible",
        "as-ids",
        "tokens",
        "copy-ids",
    ):
        assert id in seen, id


class Heaps:
    """The JavaScript memory of a page and of its worker in MiB, typed arrays included, as Chromium's inspector tells."""

    def __init__(self, page):
        self.page, self.answers, workers = page, [], []
        self.session = page.context.new_cdp_session(page)
        self.session.on("Target.attachedToTarget", lambda event: workers.append(event["sessionId"]))
        self.session.on("Target.receivedMessageFromTarget", lambda event: self.answers.append(event["message"]))
        self.session.send(
            "Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": False}
        )
        while not workers:
            page.wait_for_timeout(50)
        (self.worker,) = workers

    def ask_worker(self, method):
        self.answers.clear()
        message = json.dumps({"id": 1, "method": method})
        self.session.send("Target.sendMessageToTarget", {"sessionId": self.worker, "message": message})
        while True:
            found = [answer["result"] for answer in map(json.loads, self.answers) if answer.get("id") == 1]
            if found:
                return found[0]
            self.page.wait_for_timeout(50)

    def used(self):
        self.page.wait_for_timeout(700)
        for _ in range(3):
            self.session.send("HeapProfiler.collectGarbage")
            self.ask_worker("HeapProfiler.collectGarbage")
        both = (self.session.send("Runtime.getHeapUsage"), self.ask_worker("Runtime.getHeapUsage"))
        return [(usage["usedSize"] + usage.get("backingStorageSize", 0)) / 2**20 for usage in both]


def test_memory_is_flat_over_thousands_of_edits(open_page, local):
    """The memory of the page and of its worker after all edits is hardly larger than after the first tenth."""
    page = open_page(local.address).raw
    heaps = Heaps(page)
    write(page, TEXT[:300])
    dice = random.Random(4)

    def edit(count):
        page.evaluate(
            """async ([count, seed]) => {
              let text = tokenmill.text;
              let state = seed;
              const roll = (n) => (state = (state * 1103515245 + 12345) % 2147483648) % n;
              for (let i = 0; i < count; i++) {
                const at = roll(text.length);
                const fresh = text.length > 400 ? "" : String.fromCharCode(97 + roll(26), 32 + roll(90));
                text = text.slice(0, at) + fresh + text.slice(at + (fresh ? roll(3) : 40));
                tokenmill.text = text;
                if (i % 40 === 0) await new Promise((resolve) => requestAnimationFrame(resolve));
              }
            }""",
            [count, dice.randrange(1 << 30)],
        )

    count = "() => document.querySelectorAll('*').length"
    tenth = 1000 if "TOKENMILL_SWEEP" in os.environ else 100
    edit(tenth)
    first, elements = heaps.used(), page.evaluate(count)
    edit(9 * tenth)
    last = heaps.used()
    assert last[0] < first[0] + 3 and last[1] < first[1] + 3, (first, last)
    assert page.evaluate(count) < elements * 1.5 + 500
