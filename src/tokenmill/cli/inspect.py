"""tokenmill inspect and compare: evaluate one tokenizer, or several on the same text."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Annotated

from ..errors import UsageError, printable
from ..formats.finding import files_read
from ..jobs.work import Threads
from ..options import Argument, Option, refuse_given
from ..quality import judging
from ..quality.names import given_name, tokenizer_name
from ..sources.blocks import ReadOptions
from ..tokenizer.opening import EncoderOpening
from . import _commands as opt
from ._console import progress_bar
from ._tables import Forms

# fmt: off
Text = Annotated[Sequence[str], Argument("Text to evaluate it on: files, folders, globs, saved word counts; LANG=SRC names its language.")]
All = Annotated[bool, Option("Print all tables, not only the first five.", "--all")]
Named = Annotated[Sequence[str], Argument("Files, folders or names; the first is the baseline. NAME=FILE names one.")]
On = Annotated[Sequence[str], Option("The text: files, folders, globs, saved word counts; LANG=SRC names its language.", metavar="SRC...")]
# fmt: on
FIRST = ("vocabulary", "text", "thresholds", "junk", "unreachable", "references", "partial", "longest")


def inspect(
    opening: EncoderOpening,
    options: judging.InspectionOptions,
    forms: Forms,
    *,
    tokenizer: opt.Tokenizer,
    sources: Text = (),
    everything: All = False,
    num_threads: Threads = None,
) -> None:
    """Evaluate a tokenizer: junk by IoS, unreachable and unused tokens, compression.

    tokenmill inspect my-tokenizer corpus/*.txt --html report.html
    """
    name, path = given_name(tokenizer)
    forms.check([*files_read(path), *(given_name(source)[1] for source in sources)])
    if forms.json or forms.markdown or forms.html is not None:
        refuse_given(None, "JSON, Markdown and HTML, which have all tables", everything=everything)
    tok, name, text = opening.load(path), name or tokenizer_name(path), list(sources) or None
    with progress_bar() as progress:
        report = judging.inspect(tok, text=text, name=name, options=options, num_threads=num_threads, progress=progress)
    forms.show(report, None if everything else FIRST)


def compare(
    opening: EncoderOpening, read: ReadOptions, forms: Forms, *, tokenizers: Named, on: On, num_threads: Threads = None
) -> None:
    """Compare tokenizers on the same text: compression, fertility, junk.

    tokenmill compare my-tokenizer cl100k_base --on corpus/*.txt
    """
    arguments = [given_name(argument) for argument in tokenizers]
    tokenizer_files = itertools.chain(*(files_read(path) for _, path in arguments))
    forms.check([*tokenizer_files, *(given_name(source)[1] for source in on)])
    names = [name or tokenizer_name(path) for name, path in arguments]
    if len(set(names)) < len(names):
        names = [name or printable(path) for name, path in arguments]
    if len(set(names)) < len(names):
        raise UsageError("two tokenizers have the same name: name one of them, as NAME=TOKENIZER")
    named = dict(zip(names, opening.load_each([path for _, path in arguments]), strict=True))
    with progress_bar() as progress:
        report = judging.compare(named, list(on), read=read, num_threads=num_threads, progress=progress)
    forms.show(report)
