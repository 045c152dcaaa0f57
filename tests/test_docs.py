"""The documentation agrees with the repository: its links, its maps of the code, its tables of figures."""

import re
import tomllib
from pathlib import Path

import pytest
from benchmarks import charts, render

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


def floors() -> list[str]:
    """The layers of import-linter, lowest first."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    return [layer.removeprefix("tokenmill.") for layer in reversed(layers)]


def test_the_readme_maps_the_folders_in_the_order_of_the_floors():
    map_of_the_code = (ROOT / "README.md").read_text(encoding="utf-8").partition("## A map of the code")[2]
    rows = re.findall(r"^\| `(\w+)(?:\.py|/)?` \|", map_of_the_code, re.MULTILINE)
    assert rows == floors()


def test_contributing_lists_the_floors():
    listed = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("import-linter checks:")[2]
    assert re.findall(r"`(\w+)`", listed.partition(".")[0]) == floors()


@pytest.mark.parametrize(
    ("page", "marker", "body"),
    [("docs/benchmarks.md", "speeds", render.sections), ("README.md", "figures", render.figures)],
)
def test_tables_are_rendered_from_the_results(page, marker, body):
    text = (ROOT / page).read_text(encoding="utf-8")
    shown = re.search(rf"<!-- {marker}:begin -->\n(.*?)\n<!-- {marker}:end -->", text, re.DOTALL)
    assert shown, f"{page} has no markers for {marker}"
    assert shown[1] == body(), "run python -m benchmarks.render"


def test_the_site_lists_each_page_once():
    listed = re.findall(r"^ +- (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    generated = {"index.md", "contributing.md", "changelog.md", "reference/cli.md", "reference/python.md"}
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")} - {"README.md"}
    assert sorted(listed) == sorted(pages | generated)


def test_charts_are_drawn_from_the_results():
    drawn = charts.charts()
    text = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert all(f"\n## {heading}\n" in text for heading in drawn)
    train = charts.saved("train")["results"]["en"]["tokenmill"]
    assert f">{render.median(train):.2f}</text>" in drawn["Train"][0]


@pytest.mark.parametrize("theme", charts.THEMES)
def test_the_picture_of_the_readme_is_drawn_from_the_results(theme):
    picture = ROOT / "docs" / "images" / f"training-{theme}.svg"
    assert picture.read_text(encoding="utf-8") == charts.training_chart(theme), "run python -m benchmarks.render"
