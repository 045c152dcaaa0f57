"""The generated pages of the documentation site; mkdocs calls this file as a hook.

- index.md, contributing.md, changelog.md and security.md are the files of those names in the project's root.
- reference/cli.md has the help of every command.
- reference/python/ has every public name with its signature and docstring (scripts/api_pages.py).
- Pictures follow the theme: SVG files are put into the page, and of the others the site has a light and a dark one.
- benchmarks.md gets charts of the results over its tables.
"""

from __future__ import annotations

import os
import re
import sys
from html import escape, unescape
from pathlib import Path, PurePosixPath

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

from tokenmill.cli._verbs import VERBS
from tokenmill.cli.main import verb_of

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.charts import charts  # noqa: E402  benchmarks/ is a folder of the repository, not an installed package
from scripts import api_pages  # noqa: E402

ROOT_PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
}
PICTURE = re.compile(r'<picture>\s*<source [^>]*srcset="([^"]+)">\s*<img ([^>]*?)src="([^"]+)"([^>]*)>\s*</picture>')
IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")
BOOSTS = {
    "how-to/moving.md": 4,
    "how-to/install.md": 4,
    "reference/glossary.md": 2,
    "explanation/wikipedia.md": 0.1,
}  # in search
LINK = re.compile(r"\]\(([^)#:\s]+)(#[^)\s]*)?\)")
VERBATIM = re.compile(r"(<pre\b.*?</pre>|<code\b.*?</code>|<style\b.*?</style>|<[^>]*>)", re.DOTALL)
BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|M|[mn]?s|[kKMGT]i?B(?:/s)?)(?![\w/]))")


def on_files(files: Files, config) -> Files:
    """Replace docs/README.md, which is for readers of the repository, and add the generated pages."""
    if readme := files.get_file_from_path("README.md"):
        files.remove(readme)
    for source, page in ROOT_PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    files.append(File.generated(config, "reference/cli.md", content=command_reference()))
    for name, content in api_pages.pages().items():
        files.append(File.generated(config, f"reference/python/{name}", content=content))
    return files


def on_page_markdown(markdown: str, page, config, files: Files) -> str:
    """Point links to files of the repository at the pages of the site; what is not on it becomes plain text."""
    here = PurePosixPath(page.file.src_uri)
    page.meta["search"] = {"boost": BOOSTS.get(str(here), 0.05 if here.parts[0] == "experiments" else 1)}
    sources = {page: source for source, page in ROOT_PAGES.items()}
    folder = PurePosixPath(".") if str(here) in sources else PurePosixPath("docs", here).parent

    def replace(match: re.Match[str]) -> str:
        target, anchor = match[1], match[2] or ""
        path = PurePosixPath(os.path.normpath(folder / target))
        if str(path) in ROOT_PAGES:
            found = ROOT_PAGES[str(path)]
        elif path.parts[:1] == ("docs",):
            found = str(path.relative_to("docs"))
        else:
            found = ""
        if found and files.get_file_from_path(found):
            return f"]({os.path.relpath(found, here.parent)}{anchor})"
        return f"]({target}{anchor})"

    markdown = markdown.replace("[Documentation](docs/README.md) · ", "")  # a link to this site
    markdown = IMAGE.sub(lambda match: themed(match[1], match[2], folder, here), markdown)
    markdown = PICTURE.sub(
        lambda match: pair(f"{match[2]}{match[4].strip()} ", match[3], match[1], folder, here), markdown
    )
    markdown = LINK.sub(replace, markdown)
    # GitHub needs `\|` in the code of a table, and the site shows its backslash.
    markdown = re.sub(r"^\|.*", lambda row: row[0].replace("\\|", "|"), markdown, flags=re.MULTILINE)
    if str(here) == "benchmarks.md":
        for heading, drawn in charts().items():
            markdown = markdown.replace(f"\n## {heading}\n", f"\n## {heading}\n\n<div>{''.join(drawn)}</div>\n", 1)
    # What is only in the repository: keep the words, drop the link.
    return re.sub(
        r"(?<!!)\[([^\]]+)\]\((?!https?:)([^)#\s]+)\)", lambda m: m[0] if exists(m[2], here, files) else m[1], markdown
    )


def on_page_content(html: str, **_) -> str:
    """Keep a short name, the name of an option, and a number with its unit on one line.

    Browsers break `--force` after its first hyphen, and `4 MB` at its space.
    """
    option = re.compile(r"(?<![\w-])--?\w[\w-]*")

    def kept(code: re.Match[str]) -> str:
        if len(unescape(code[1])) <= 18 and " " not in code[1]:
            return f'<code class="option">{code[1]}</code>'
        return option.sub(r'<span class="option">\g<0></span>', code[0])

    parts = VERBATIM.split(html)
    parts[::2] = [BEFORE_UNIT.sub("\N{NO-BREAK SPACE}", text) for text in parts[::2]]
    return re.sub(r"<code>([^<]*)</code>", kept, "".join(parts))


def themed(alt: str, target: str, folder: PurePosixPath, here: PurePosixPath) -> str:
    """The HTML of an image: a drawing as a part of the page, which has its colours; a photograph of each theme if there are two."""
    path = ROOT / folder / target
    if path.suffix == ".svg":
        drawing = " ".join(path.read_text(encoding="utf-8").split("\n")).strip()
        return f"<div>{drawing}</div>"
    dark = path.with_stem(f"{path.stem}-dark")
    name = escape(alt, quote=True)
    if not dark.exists():
        raise PluginError(f"{target} has no dark variant {dark.name}")
    return pair(f'alt="{name}" ', target, str(PurePosixPath(target).with_name(dark.name)), folder, here)


def pair(attributes: str, light: str, dark: str, folder: PurePosixPath, here: PurePosixPath) -> str:
    """An image for each theme. The theme of the site shows one of them, by the end of its address."""
    images = []
    for target, theme in ((light, "light"), (dark, "dark")):
        address = PurePosixPath(os.path.normpath(folder / target)).relative_to("docs")
        images.append(f'<img {attributes}src="{os.path.relpath(address, here.parent)}#only-{theme}">')
    return "".join(images)


def on_post_build(config) -> None:
    """Fail if a page would load something from another host: the site works without a network."""
    for page in Path(config.site_dir).rglob("*.html"):
        html = page.read_text(encoding="utf-8")
        if found := re.search(
            r'<(?:script|img|iframe)[^>]* src="(https?:[^"]+)|<link[^>]*stylesheet[^>]* href="(https?:[^"]+)', html
        ):
            raise PluginError(f"{page.name} loads {found[1] or found[2]}")


def exists(target: str, here: PurePosixPath, files: Files) -> bool:
    """Whether a link of the page `here` leads to a file of the site."""
    return files.get_file_from_path(os.path.normpath(here.parent / target)) is not None


def command_reference() -> str:
    """The help of every command, as the terminal shows it."""
    lines = ["# Command line", "", "The help of every command, as `tokenmill COMMAND --help` prints it.", ""]
    for name in VERBS:
        lines += [f"## tokenmill {name}", "", "```text", verb_of(name).help(columns=80), "```", ""]
    return "\n".join(lines)
