"""Reports: tables on stdout for the terminal, Markdown or JSON, and a page."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from ..errors import UsageError, plural, printable
from ..jobs.outputs import atomic_file, refuse_existing
from ..jobs.work import OUTPUT, Overwrite
from ..options import Option, Options
from . import _commands as opt
from ._console import print_json, say

if TYPE_CHECKING:
    from rich.console import Console

    from ..quality.reporting import Report
    from ..quality.tables import Table

COLORS = {"act": "red", "look": "yellow", "good": "green", "ungraded": "dim"}


@dataclass(frozen=True, kw_only=True)
class Forms(Options):
    """The options for the form of a report."""

    html: opt.Html = None
    json: Annotated[bool, Option("Print the tables as JSON.", section=OUTPUT)] = False
    markdown: Annotated[bool, Option("Print the tables as Markdown.", section=OUTPUT)] = False
    top: Annotated[int | None, Option("Rows of each list; 0 for all. [default: 10, with --html 200]", min=0, section=OUTPUT)] = None  # fmt: skip
    overwrite: Overwrite = False

    def check(self, sources: Iterable[Any]) -> None:
        """Raise UsageError or OutputError before the work begins. sources: the files that the command reads."""
        if self.json and self.markdown:
            raise UsageError("--json and --markdown exclude each other: choose one")
        if self.html is not None:
            refuse_existing(self.html, overwrite=self.overwrite, sources=sources)

    def show(self, report: Report, first: Sequence[str] | None = None) -> None:
        """Write the page or print the report. first: the keys of the tables for a terminal, which shows five of them."""
        report.provenance = replace(report.provenance, command=printable(shlex.join(["tokenmill", *sys.argv[1:]])))
        length, page_length = ((default if self.top is None else self.top) or None for default in (10, 200))
        if self.html is not None:
            with atomic_file(self.html, "w", overwrite=self.overwrite) as file:
                file.write(report.to_html(top=page_length))
            say(f"wrote {self.html}")
        if self.json:
            print_json(report.to_json(top=length), indent=1)
        elif self.markdown:
            print(report.to_markdown(top=length), end="")
        elif self.html is None:
            print_report(report, length, first)


def print_report(report: Report, length: int | None = 10, first: Sequence[str] | None = None) -> None:
    """Print the verdict and the tables, lists cut to `length` rows. first: the keys of which the first five tables are printed."""
    from rich.text import Text

    if report.findings:
        console = _console(120)
        console.print(Text("Verdict", "bold") + Text(f"  {report.summary}" if report.summary else ""))
        for finding in report.findings:
            prose, *rest = re.split("`(tokenmill [^`]*)`", finding.details)
            level = finding.level.capitalize(), COLORS[finding.level]
            console.print(Text.assemble("- ", level, f": {finding.statement} ", (prose.rstrip(), "dim")))
            # A command is a line of its own that is not wrapped, so that it can be pasted.
            for command, prose in zip(rest[::2], rest[1::2], strict=True):
                console.print(Text(f"    {command}"), soft_wrap=True)
                console.print(Text(prose.strip(), "dim"))
    tables = report.tables
    if first is not None:
        tables = [table for key in first for table in tables if table.key == key][:5]
    for table in tables:
        print_table(table.head(length))
    if more := len(report.tables) - len(tables):
        say(f"\n{plural(more, 'more table')}: --all prints all, --html writes all as a page.")


def print_table(table: Table) -> None:
    from ..quality.terminal import lines_of

    console = _console(180)
    console.print()
    console.print(*lines_of(table, console.width), sep="\n", soft_wrap=True)


def _console(width: int) -> Console:
    """Return the console on stdout. width: of a file or a pipe."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else width)
