"""The job of encoding: text to a token file, or to lines of ids."""

from __future__ import annotations

import contextlib
import itertools
import sys
import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TextIO

from ..errors import OptionName, UsageError, plural
from ..jobs.outputs import atomic_file, refuse_existing, refuse_source
from ..jobs.progress import Progress
from ..jobs.work import JobOptions
from ..jobs.working_folder import alone
from ..options import Argument, Option, Options
from ..sources.find import OnSkip, find_sources, refuse_nothing, report_skips
from ..tokenizer import Tokenizer
from ..tokenizer.opening import EncoderOpening, TokenizerOption
from .formats import FORMAT_OF
from .settings import EncodeOptions, EncodeSummary, Settings, metadata_path, output_path


@dataclass(frozen=True, kw_only=True)
class Encode(Options):
    """Encode text: a line of ids for each document, or a token file for training.

    A text file is a document, unless --unit says otherwise; in .jsonl each line is one, in .parquet each row.

    Without sources on a terminal: type text, see its tokens and their ids.

    tokenmill encode corpus/*.jsonl.zst --tokenizer my-tokenizer -o train.bin
    """

    tokenizer: TokenizerOption
    # fmt: off
    sources: Annotated[Sequence[str], Argument("Files, folders, globs, URLs; standard input if left out, or as -.")] = ()
    output: Annotated[str | Path | None, Option("Write the ids here, not to stdout. In a folder token files are named train.", "-o", "--output", metavar="PATH")] = None
    format: Annotated[Literal["text", "bin", "npy", "megatron", "parquet", "nanogpt", "llmc", "olmo", "datatrove"] | None, Option("text, bin, npy, parquet, or for a training framework: megatron, nanogpt, llmc, olmo, datatrove. [default: inferred from the suffix of -o, else text]")] = None
    # fmt: on
    opening: EncoderOpening = field(default_factory=EncoderOpening)
    options: EncodeOptions = field(default_factory=EncodeOptions)
    job: JobOptions = field(default_factory=JobOptions)

    @property
    def chosen_format(self) -> str:
        """The option `format`, or the format of the output's suffix."""
        return self.format or FORMAT_OF.get(Path(self.output or "").suffix, "text")

    def _unused(self) -> Iterator[tuple[Sequence[Any], Collection[str]]]:
        if self.chosen_format == "text":
            names = (
                "begin_of_text end_of_text shard_tokens val_shard part num_threads engine ray_address resume".split()
            )
            yield ("encoding to lines of ids; for a token file name a ", OptionName("format", ...)), names

    def check(self) -> None:
        """Raise UsageError for contradictory options."""
        self._refuse_unused()
        format = self.chosen_format
        if format != "text" and (not self.sources or self.output is None):
            raise UsageError(f"a token file ({format}) needs sources, and ", OptionName("output"), " with its name")
        if self.output is not None:
            output_path(self.output, format)

    def run(
        self, *, progress: Progress | None = None, on_skip: OnSkip | None = None, out: TextIO | None = None
    ) -> EncodeSummary | None:
        """Encode. Returns the summary, or None for lines of ids. out: where lines of ids go without an output, by default stdout."""
        from ..formats.finding import files_read

        self.check()
        if self.output is not None:
            path = output_path(self.output, self.chosen_format, self.options.part_number)
            refuse_source(files_read(self.tokenizer), path, metadata_path(path))
        tok = self.opening.load(self.tokenizer)
        if self.chosen_format == "text":
            self._write_lines(tok, on_skip, out or sys.stdout)
            return None
        from .encoding import encode_files

        output, format, options = self.output or "", self.chosen_format, self.options
        skip = on_skip if options.read.skip_damaged else None
        return encode_files(
            tok, self.sources, output, format=format, options=options, on_skip=skip, job=self.job, progress=progress
        )

    def _write_lines(self, tok: Tokenizer, on_skip: OnSkip | None, out: TextIO) -> None:
        """Write a line of ids for each document, to the output or else to `out`."""
        from ..sources.documents import ResumePoint, blocks_of, refuse_text
        from .encoded_folder import Counts, encode_block

        counts, read, settings = Counts(), self.options.read, Settings("bin", "uint32", options=self.options)
        skip = read.skipper(on_skip) if read.skip_damaged else None
        if self.output is not None:
            refuse_existing(self.output, overwrite=self.job.overwrite, sources=self.sources)
        whole = self.output and atomic_file(self.output, "w", overwrite=self.job.overwrite)
        with alone(self.output), whole or contextlib.nullcontext(out) as file:
            files = find_sources(self.sources or ["-"], skip)
            refuse_text(files, read)
            for block, _, _ in blocks_of([(source, 0, None) for source in files], ResumePoint(), read):
                encoded = encode_block(tok, settings, block)
                report_skips(encoded.skipped, skip)
                ids, bounds = memoryview(encoded.ids).cast("I"), itertools.pairwise([0, *encoded.ends])
                file.writelines(" ".join(map(str, ids[start:end])) + "\n" for start, end in bounds)
                counts += encoded.counts
            refuse_nothing(counts.documents, counts.skipped)
        if counts.dropped:
            warnings.warn(f"dropped {plural(counts.dropped, 'character')} without a token", stacklevel=3)
