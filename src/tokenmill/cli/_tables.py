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
    """The forms in which a report is wanted."""

    html: opt.Html = None
    json: Annotated[bool, Option("Print the tables as JSON.", section=OUTPUT)] = False
    markdown: Annotated[bool, Option("Print the tables as Markdown.", section=OUTPUT)] = False
    top: Annotated[int | None, Option("Rows of each list; 0 for all. [default: 10, with --html 200]", min=0, section=OUTPUT)] = None  # fmt: skip
    overwrite: Overwrite = False

    def check(self, sources: Iterable[Any]) -> None:
        """Raise an error now, not after an hour of counting, for forms that cannot be made. sources: what the command reads."""
        if self.json and self.markdown:
            raise UsageError("--json and --markdown exclude each other: choose one")
        if self.html is not None:
            refuse_existing(self.html, overwrite=self.overwrite, sources=sources)

    def show(self, report: Report, first: Sequence[str] | None = None) -> None:
        """Write the page or print the report. first: the keys of the tables for a terminal, which shows five of them."""
        report.provenance = replace(report.provenance, command=printable(shlex.join(["tokenmill", *sys.argv[1:]])))
        length, of_page = ((most if self.top is None else self.top) or None for most in (10, 200))
        if self.html is not None:
            with atomic_file(self.html, "w", overwrite=self.overwrite) as file:
                file.write(report.to_html(top=of_page))
            say(f"wrote {self.html}")
        if self.json:
            print_json(report.to_json(top=length), indent=1)
        elif self.markdown:
            print(report.to_markdown(top=length), end="")
        elif self.html is None:
            print_report(report, length, first)


def print_report(report: Report, length: int | None = 10, first: Sequence[str] | None = None) -> None:
    """Print the verdict and the tables, or the first five of the keys `first`, lists cut to `length` rows."""
    from rich.text import Text

    if report.findings:
        console = _console(120)
        console.print(Text("Verdict", "bold") + Text(f"  {report.summary}" if report.summary else ""))
        for finding in report.findings:
            # Of the parts, every second is a command: a line of its own, which is not wrapped, so that it can be pasted.
            prose, *parts = re.split("`(tokenmill [^`]*)`", finding.details)
            level = finding.level.capitalize(), COLORS[finding.level]
            console.print(Text.assemble("- ", level, f": {finding.statement} ", (prose.rstrip(), "dim")))
            for place, part in enumerate(parts):
                is_command = place % 2 == 0
                console.print(Text(f"    {part}") if is_command else Text(part.strip(), "dim"), soft_wrap=is_command)
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
    """The console on stdout. width: of a file or a pipe."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else width)
