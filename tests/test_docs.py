"""The documentation agrees with the repository: its links, its maps of the code, its tables of figures and of calls."""

import inspect
import json
import re
import sys
import tomllib
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
import tiktoken
import tokenizers
import zstandard
from benchmarks import charts, render
from benchmarks.harness import ratios, spread, times
from scripts import api_pages

import tokenmill
from command_line import call as run
from tokenmill.corpus import filters
from tokenmill.formats import file_content
from tokenmill.formats.merges_txt import TOKEN_ROLES

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


def test_the_map_of_the_code_lists_the_floors():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Where things are")[2]
    assert re.findall(r"^\| `(\w+)(?:\.py|/)?` \|", text.partition("\n## ")[0], re.MULTILINE) == floors()


def test_the_first_screen_of_the_readme():
    first = "\n".join((ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:41])
    for link in ("docs/README.md", "docs/tour.md", "docs/benchmarks.md", "docs/how-to/playground.md", "LICENSE"):
        assert f"]({link})" in first, link
    for other in (
        "Python 3.11 to 3.14",
        "Linux",
        "macOS and Windows",
        "pip install .",
        "make wheel",
        "make demo",
        "make test",
    ):
        assert other in first, other
    bullets = re.findall(r"^- .*", first, re.MULTILINE)
    assert len(bullets) == 6 and all(re.search(r"\d", bullet) for bullet in bullets)
    assert len(re.findall(r"^\$ tokenmill ", first, re.MULTILINE)) == 3
    assert "-dark.svg" in first and "docs/images/playground" in first


@pytest.mark.parametrize(
    ("page", "marker", "body"),
    [
        ("docs/benchmarks.md", "speeds", render.sections),
        ("README.md", "measured", render.measured),
        ("README.md", "figures", render.figures),
        ("docs/how-to/large-data.md", "rates", render.estimate),
    ],
)
def test_tables_are_rendered_from_the_results(page, marker, body):
    text = (ROOT / page).read_text(encoding="utf-8")
    shown = re.search(rf"<!-- {marker}:begin -->\n(.*?)\n<!-- {marker}:end -->", text, re.DOTALL)
    assert shown, f"{page} has no markers for {marker}"
    assert shown[1] == render.rendered(body), "run python -m benchmarks.render"


def test_the_site_lists_each_page_once():
    listed = re.findall(r"^ +- (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    generated = {"index.md", "contributing.md", "changelog.md", "security.md", "reference/cli.md"}
    generated |= {f"reference/python/{name}.md" for name in ("index", *api_pages.PAGES)}
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    pages -= {"README.md"}
    assert sorted(listed) == sorted(pages | generated)


def test_the_python_reference_has_each_public_name_once():
    listed = [name for page in api_pages.PAGES.values() for name in page.names.split()]
    assert sorted(listed) == sorted(tokenmill.__all__)


@pytest.mark.parametrize("name", api_pages.PAGES)
def test_a_page_of_the_python_reference_reads(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(api_pages.PAGES[name].example, {})
    page = api_pages.pages()[f"{name}.md"]
    outside = "".join(page.split("```")[::2])
    assert page.count("```") % 2 == 0 and ">>>" not in outside  # every example is fenced
    assert not re.search(r"Annotated\[|Option\(|SpecialOptions|ForwardRef| object at 0x|\*\w+: \w+,\n? +\*,", page)
    assert not re.search(r"^- `interrupted`", page, re.MULTILINE)  # a line of prose is not an argument


def test_recipes_for_other_writers_keep_the_end_of_each_document(tmp_path, monkeypatch):
    """The writers are stubs that keep what the recipes of docs/how-to/encode.md pass them."""
    monkeypatch.chdir(tmp_path)
    tok = tokenmill.train_from_iterator(["low lower"], 260, special_tokens=["<|endoftext|>"])
    (tmp_path / "a.txt").write_text("low\nlower\n", encoding="utf-8")
    by_line = tokenmill.EncodeOptions(read=tokenmill.ReadOptions(unit="line"))
    tokenmill.encode_files(tok, "a.txt", "train.bin", options=by_line)
    expected = tokenmill.load_tokens("train.bin").ids.tolist()
    assert expected.count(tok.eot_token) == 2
    written = []

    @contextmanager
    def writer(**settings):
        yield SimpleNamespace(write=lambda sample: written.extend(sample["tokens"].tolist()))

    text = (ROOT / "docs/how-to/encode.md").read_text(encoding="utf-8")
    stubs = {
        "streaming": SimpleNamespace(MDSWriter=writer),
        "litdata": SimpleNamespace(),
        "torch": SimpleNamespace(from_numpy=lambda ids: ids),
    }
    for name, stub in stubs.items():
        monkeypatch.setitem(sys.modules, name, stub)
    exec(text.partition('```python title="MDS"\n')[2].partition("```")[0], {})
    assert written == expected
    names = {"__name__": "recipe"}
    exec(text.partition('```python title="LitData"\n')[2].partition("```")[0], names)
    assert [id for ids in names["documents"]("train.bin") for id in ids.tolist()] == expected


def test_names_that_differ_in_case_have_anchors_of_their_own():
    page = api_pages.pages()["train.md"]
    assert "\n## train {#train}\n" in page and "\n## Train {#Train}\n" in page
    assert "[`Train`](train.md#Train)" in api_pages.pages()["index.md"]


def test_drawings_have_a_dark_variant_and_pictures_another_file():
    for path in (ROOT / "docs/images").iterdir():
        if path.suffix == ".svg" and not path.stem.startswith("training-"):
            assert "prefers-color-scheme: dark" in path.read_text(encoding="utf-8"), path
        elif not path.stem.endswith("-dark") and path.suffix == ".png":
            assert path.with_stem(f"{path.stem}-dark").exists(), path


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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_in_tables_does_not_end_a_cell_on_github(page):
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("|"):
            assert not re.search(r"`<\|[^`]*`", line), line


def section(page: str, heading: str) -> str:
    """The text below a heading of a page in docs/, to the next heading of the same level."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    level = heading.split()[0]
    start = text.index(f"\n{heading}\n") + len(heading) + 2
    return text[start : text.find(f"\n{level} ", start) % (len(text) + 1)]


def rows(markdown: str) -> list[list[str]]:
    """The rows of the first table, without its heading; `|` in code does not end a cell."""
    lines = [line.replace("\\|", "|") for line in markdown.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.findall(r"(?:`[^`]*`|[^|`])+", line)] for line in lines[2:]]


@pytest.mark.parametrize("library", ["tiktoken", "tokenizers", "transformers", "SentencePiece"])
def test_each_call_of_the_tables_for_movers_is_in_the_snippet(library):
    text = section("how-to/moving.md", f"## From {library}")
    table, code = rows(text), "".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    assert table and code
    for theirs, ours in table:
        calls = re.findall(r"`([^`]+)`", theirs if ours == "the same" else ours)
        for name in (re.match(r"(?:\w+\.)*(\w+)", call)[1] for call in calls):
            assert re.search(rf"\b{name}\b", code), name


def test_tiktoken_has_no_method_that_the_table_leaves_out():
    listed = set(re.findall(r"\b\w+\b", section("how-to/moving.md", "## From tiktoken").partition("```")[0]))
    methods = {name for name in dir(tiktoken.Encoding) if not name.startswith("_")}
    assert methods <= listed
    assert [name for name in methods if not hasattr(tokenmill.Tokenizer, name)] == []


def test_the_page_names_the_parameters_that_differ_from_tiktoken():
    renamed = set()
    for name, method in vars(tiktoken.Encoding).items():
        if inspect.isfunction(method) and not name.startswith("_"):
            renamed |= {*inspect.signature(method).parameters} - {
                *inspect.signature(getattr(tokenmill.Tokenizer, name)).parameters
            }
    text = section("how-to/moving.md", "## From tiktoken")
    named = re.findall(r"`(\w+)`", text.partition("*Parameter names.*")[2].partition("\n- ")[0])
    assert renamed - {"allowed_special", "disallowed_special"} == {
        "tokens",
        "token",
        "text",
    }  # in `**special`, and `texts`
    assert {*named} == {"ids", "id", "tokens", "token", "texts", "name", "encoding_name", "model", "model_name"}


def test_the_page_lists_the_differences_from_tokenizers(tmp_path):
    tok = tokenmill.train_from_iterator(["low lower newest"] * 9, 266, special_tokens=["<s>"])
    tok.save(tmp_path)
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    template = {"single": "<s> $A", "special_tokens": [("<s>", tok.token_to_id("<s>"))]}
    theirs.post_processor = tokenizers.processors.TemplateProcessing(**template)
    theirs.enable_truncation(3)
    theirs.enable_padding()
    theirs.add_tokens(["é"])
    letter = theirs.token_to_id("é")
    theirs.save(str(tmp_path / "tokenizer.json"))
    ours = tokenmill.load(tmp_path / "tokenizer.json")
    text = section("how-to/moving.md", "## From tokenizers")
    listed = {*re.findall(r"^- \*([^*]+?)\.?\*", text, re.MULTILINE)}
    assert listed == {"Special tokens in text", "BOS and EOS", "Truncation and padding", "Offsets", "Ids"} | {
        "Decoding of added tokens",
        "Two added tokens",
    }
    assert (theirs.decode([letter]), ours.decode([letter])) == ("\ufffd", "é")
    assert theirs.encode("low").tokens[0] == "<s>" and ours.encode("low") == theirs.encode("low").ids[1:]
    assert theirs.encode("<s>", add_special_tokens=False).tokens == ["<s>"]
    with pytest.raises(tokenmill.errors.SpecialTokenError):
        ours.encode("<s>")
    assert len(theirs.encode("low lower newest low lower").ids) == 3 < len(ours.encode("low lower newest low lower"))
    assert theirs.decode([9999]) == ""
    with pytest.raises(tokenmill.errors.UnknownTokenError):
        ours.decode([9999])


def test_the_page_lists_the_tokens_that_end_a_document():
    text = " ".join((ROOT / "docs/how-to/encode.md").read_text(encoding="utf-8").split()).partition(
        "It is the first of "
    )[2]
    assert tuple(re.findall(r"`([^`]+)`", text.partition(" that is a special token")[0])) == TOKEN_ROLES["eos_token"]


def test_no_text_counts_functions():
    for path in (*PAGES, *(ROOT / "src").rglob("*.py")):
        assert not re.search(
            r"\b(two|three|four|five|six|seven|eight) (\w+ )?functions\b", path.read_text(encoding="utf-8")
        ), path


FAMILIES = {
    "GPT-2": "gpt2",
    "Mistral v1": "llama2",  # by the name of its file
    "Llama 3.1": "llama3.1",
    "Mistral v3": "mistral-v3",
    "Gemma 2": "gemma2",
    "Qwen 3": "qwen3",
    "DeepSeek V3": "deepseek-v3",
    "Phi-3": "phi3",
    "Yi": "yi",
    "Command R+": "command-r-plus",
}


@pytest.mark.parametrize("family", FAMILIES)
def test_the_start_and_end_tokens_of_a_family_are_those_of_its_file(family, shared, tmp_path):
    path = shared / "vocab" / f"{FAMILIES[family]}-tokenizer.json.zst"
    if not path.exists():
        pytest.skip("needs the real vocabularies")
    cells = next(cells for cells in rows(section("how-to/moving.md", "## BOS and EOS by family")) if cells[0] == family)
    added, *marks = (re.findall(r"`([^`]+)`", cell) for cell in cells[1:])
    unpacked = tmp_path / "tokenizer.json"
    with path.open("rb") as packed, unpacked.open("wb") as file:
        zstandard.ZstdDecompressor().copy_stream(packed, file)
    theirs = tokenizers.Tokenizer.from_file(str(unpacked))
    text = "low"
    plain = theirs.encode(text, add_special_tokens=False)
    assert [token for token in theirs.encode(text).tokens if token not in plain.tokens] == added
    ours = tokenmill.load(unpacked)
    assert ours.encode(text) == plain.ids
    assert {mark for cell in marks for mark in cell} <= ours.special_tokens_set


def test_the_install_page_lists_the_extras():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    listed = {row[0].strip("`"): row[1] for row in rows(section("how-to/install.md", "## Extras"))}
    assert listed.pop("all") == "all of the above"
    assert set(re.findall(r"\w+", extras.pop("all")[0])) == {"tokenmill", *listed}
    for name, packages in listed.items():
        assert sorted(re.split(r"[>=<]", package)[0] for package in extras.pop(name)) == packages.split(", ")
    others = section("how-to/install.md", "## Extras").partition("Four more")[2]
    assert set(re.findall(r"`(\w+)`", others.partition(".")[0])) == set(extras)


def test_pages_name_only_extras_that_exist():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for page in PAGES:
        for names in re.findall(r"(?:tokenmill|'\.)\[([\w,]+)\]", page.read_text(encoding="utf-8")):
            assert set(names.split(",")) <= set(extras), page


@pytest.mark.parametrize("body", [render.sections, render.figures])
def test_measured_columns_have_one_unit_and_their_rounds(body):
    for lines in re.findall(r"(?:^\|.*\n?)+", body().replace("\u00a0", " "), re.MULTILINE):
        for column in zip(*rows(lines), strict=True):
            measured = {cell: re.match(r"(?:\w+ )?(?:tie|[\d.,]+(x| s| MB/s))\b", cell) for cell in column}
            units = {match[1] for match in measured.values() if match and match[1]}
            assert len(units) <= 1, column
            assert all(" to " in cell or " round" in cell for cell, match in measured.items() if match), column


def test_the_speed_up_of_counting_follows_from_its_rows():
    table = {cells[0]: cells[1:] for cells in rows(section("benchmarks.md", "## Count"))}
    for one, two, gain in zip(
        table["1 thread"], table["2 threads"], table["speed-up of 2 threads over 1"], strict=True
    ):
        middle, low, high = map(float, re.findall(r"[\d.]+", gain))
        speeds = int(two.split()[0]) / int(one.split()[0])
        assert low <= middle <= high and abs(speeds / middle - 1) < 0.1  # medians of ratios and of speeds


def test_the_page_of_the_filters_has_their_descriptions_and_sets():
    text = (ROOT / "docs/reference/filters.md").read_text(encoding="utf-8")
    described = {name: does for name, does in re.findall(r"^## (\S+)\n\n(.*)$", text, re.MULTILINE)}
    assert described == {name: each.does for name, each in filters.FILTERS.items()}, "run scripts/show_filters.py"
    for name, members in filters.FILTER_SETS.items():
        assert f"- `{name}`: {', '.join(f'`{member}`' for member in members)}\n" in text


def test_no_page_has_an_unresolved_conflict():
    for page in PAGES:
        assert not re.search(r"^(<{7}|>{7}) ", page.read_text(encoding="utf-8"), re.MULTILINE), page


def test_the_speeds_of_cleaning_wikipedia_are_those_of_the_results():
    results = charts.saved("clean_wikipedia")["results"]
    text, rounds = section("explanation/wikipedia.md", "## Speed"), results["rounds"]
    for cells in rows(text):
        one, two = (rounds[f"{cells[0].split()[0]} {cores}"] for cores in (1, 2))
        speeds = (
            spread((results["plain_bytes"] / 1e6 / each["seconds"] for each in kept), " MB/s") for kept in (one, two)
        )
        assert cells[1:] == [*speeds, spread((each["cpu"] for each in one), " s")]
    assert all(
        times(rounds[f"wikiextractor {cores}"], rounds[f"tokenmill {cores}"], "seconds").startswith("tie")
        for cores in (1, 2)
    )
    gains = ratios(rounds["tokenmill 1"], rounds["tokenmill 2"], "seconds")
    assert f"made tokenmill {gains[0]:.2f}x to {gains[-1]:.2f}x faster" in " ".join(text.split())


def test_encoders_in_the_tables_gave_the_ids_of_tiktoken():
    encoded = charts.saved("encode")["results"]
    for kind in ("array", "list", "slow", "decode"):
        assert not encoded["wrong"].keys() & encoded[kind]["en"].keys()
    train = charts.saved("train")["results"]
    for rounds in train.values():
        assert len({each["check"] for name in ("tokenmill", "rustbpe") for each in rounds[name]}) == 1


def test_pages_agree_on_the_languages_of_the_corpus():
    for page in PAGES:
        text = " ".join(page.read_text(encoding="utf-8").split())
        for number in re.findall(r"\*multi\*[^.]{0,40}189 MB (?:of text )?in ([\w ]+) languages", text):
            assert number in ("more than twenty", "many"), page


def test_the_limits_of_vocabulary_files_are_those_of_the_code():
    text = (ROOT / "docs/reference/formats.md").read_text(encoding="utf-8")
    assert f"Ids range from 0 to {file_content.MAX_ID:,}" in text
    assert f"at most {file_content._MAX_BYTES >> 30} GiB" in text
    assert f"only the first {file_content._GGUF_BYTES >> 20} MiB" in text


def test_summaries_go_to_stderr_and_reports_to_stdout(tmp_path):
    """As reference/command-line.md says."""
    (tmp_path / "text.txt").write_text("low lower newest " * 50)
    train = "train text.txt --vocab-size 262 --special-token <|endoftext|> -o tok"
    for command in (
        train,
        "count text.txt -o counts",
        "encode text.txt --tokenizer tok -o ids.bin",
        "check tok --against tok text.txt",
        "prune tok text.txt -o small",
    ):
        result = run(*command.split(), cwd=tmp_path)
        assert result.exit_code == 0 and result.stderr and not result.stdout, command
    for command in (
        "inspect tok text.txt",
        "compare tok small --on text.txt",
        "encode text.txt --tokenizer tok",
        "decode ids.bin --tokenizer tok",
    ):
        assert run(*command.split(), cwd=tmp_path).stdout, command
    assert json.loads(run(*train.split(), "--force", "--json", cwd=tmp_path).stdout)


@pytest.mark.parametrize("term", ["BOS, EOS", "Chat template", "Padding", "Windows"])
def test_the_glossary_has_what_people_search_for(term):
    assert f"\n**{term}.** " in (ROOT / "docs/reference/glossary.md").read_text(encoding="utf-8")


def test_the_python_reference_lists_arguments_and_cells():
    pages = api_pages.pages()
    for page in pages.values():
        for line in page.splitlines():
            assert not line.startswith("| `") or line.count("|") == 5 or "](" in line, line
    assert "\n- `toks`: the tokenizers by size.\n" in pages["train.md"]  # it follows `tok` in the line
    assert '\n    - `"scores"`: the same' in pages["load-and-encode.md"]
    assert "### unused" not in pages["train.md"] and "### run" in pages["train.md"]
