"""Tables: on stdout for the terminal, as Markdown or JSON, and as a page."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from ..errors import UsageError
from ..jobs.work import OUTPUT, Overwrite
from ..options import Option, Options
from . import _options as opt
from ._console import say

if TYPE_CHECKING:
    from ..quality import Report, Table


@dataclass(frozen=True, kw_only=True)
class Forms(Options):
    """The forms in which the report is wanted."""

    html: opt.Html = None
    json: Annotated[bool, Option("Print the tables as JSON.", "--json", section=OUTPUT)] = False
    markdown: Annotated[bool, Option("Print the tables as Markdown.", "--markdown", section=OUTPUT)] = False
    overwrite: Overwrite = False

    def check(self) -> None:
        """Raise an error now, not after an hour of counting, for forms that cannot be made."""
        from ..jobs.outputs import refuse_existing

        if self.json and self.markdown:
            raise UsageError("--json and --markdown exclude each other: choose one")
        if self.html is not None:
            refuse_existing(self.html, overwrite=self.overwrite)

    def show(self, found: Report, top: int | None = None) -> None:
        """Write the page or print the report. top: rows of each list, by default 10, in the page 200; 0 for all."""
        found.provenance = replace(found.provenance, command=shlex.join(["tokenmill", *sys.argv[1:]]))
        if self.html is not None:
            from ..jobs.outputs import atomic_file

            with atomic_file(self.html, "w") as file:
                file.write(found.to_html((200 if top is None else top) or None))
            say(f"wrote {self.html}")
        length = (10 if top is None else top) or None
        if self.json:
            import json

            json.dump(found.to_json(length), sys.stdout, ensure_ascii=False, indent=1)
            print()
        elif self.markdown:
            print(found.to_markdown(length), end="")
        elif self.html is None:
            _print_verdict(found)
            for table in found.tables:
                print_table(table.head(length))


def _print_verdict(found: Report) -> None:
    if not found.findings:
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=120)
    console.print(Text("Verdict", "bold") + Text(f"  {found.summary}" if found.summary else ""))
    for finding in found.findings:
        console.print(Text.assemble(f"- {finding.statement} ", (f"{finding.meaning} {finding.advice}", "dim")))


def print_table(table: Table) -> None:
    from rich.console import Console

    from ..quality.terminal import lines_of

    console = Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=180)
    console.print()
    console.print(*lines_of(table, console.width), sep="\n", soft_wrap=True)
