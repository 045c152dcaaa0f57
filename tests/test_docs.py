"""The documentation agrees with the repository: its links and its tables of figures."""

import re
from pathlib import Path

import pytest
from benchmarks import render

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_existing_pages_and_headings(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if link.startswith(("http:", "https:")):
            continue
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize(
    ("page", "marker", "body"),
    [("docs/benchmarks.md", "speeds", render.sections), ("README.md", "figures", render.figures)],
)
def test_tables_are_rendered_from_the_results(page, marker, body):
    text = (ROOT / page).read_text(encoding="utf-8")
    shown = re.search(rf"<!-- {marker}:begin -->\n(.*?)\n<!-- {marker}:end -->", text, re.DOTALL)
    assert shown, f"{page} has no markers for {marker}"
    assert shown[1] == body(), "run python -m benchmarks.render"
