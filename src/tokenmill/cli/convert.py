"""tokenmill convert: a tokenizer from one format to another, with a certificate."""

from __future__ import annotations

from typing import Any

from ..quality.convert_job import Convert
from . import _options as opt
from ._console import cost_of_export, progress_bar, report, say
from .check import agreement_rows, difference_json, show_difference


def convert(job: Convert, *, json: opt.Json = False) -> int:
    with progress_bar() as progress:
        result = job.run(progress)
    for note in result.notes:
        say(f"note: {note}")
    certificate: dict[str, Any] = {"from": job.tokenizer, "to": str(job.output), "format": job.to}
    certificate["notes"] = list(result.notes)
    if result.again is not None:
        certificate["readers"] = {name: agreement_rows(agreement) for name, agreement in result.readers.items()}
        for name, agreement in result.readers.items():
            if json:
                continue
            if agreement.difference is not None:
                names = job.tokenizer, f"{job.output}, read by {name}"
                show_difference(agreement.difference, result.tok, result.again, names)
            else:
                proof = f"; proved: {agreement.proof}" if agreement.proof else ""
                size = f"{agreement.texts:,} texts, {agreement.bytes:,} bytes, {agreement.tokens:,} tokens"
                say(f"read by {name}: the same ids on {size}{proof}")
    if result.tok.vocabulary.order == "events":
        certificate |= cost_of_export(result.tok, job.sample, json, read=job.read)
    difference = next(filter(None, (each.difference for each in result.readers.values())), None)
    if json:
        report(certificate | {"difference": difference_json(difference)}, True)
    return int(difference is not None)
