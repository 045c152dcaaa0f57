"""tokenmill prune and extend: a vocabulary made from another one."""

from __future__ import annotations

import dataclasses
from typing import Any

from ..quality.change_job import Changed, Extend, Prune
from . import _options as opt
from ._console import check_sample, cost_of_export, progress_bar, report, say


def prune(job: Prune, *, sample: opt.Sample = (), json: opt.Json = False) -> None:
    changed, rows = _run(job, sample, json)
    sizes = {"ids_before": changed.old.n_vocab, "ids": changed.tok.n_vocab, "dropped": changed.dropped}
    report({**rows, **sizes, "kept_because_needed": changed.needed}, json)


def extend(job: Extend, *, sample: opt.Sample = (), json: opt.Json = False) -> None:
    changed, rows = _run(job, sample, json)
    tok, new_rows = changed.tok, changed.new_rows
    if new_rows is None:
        sizes = {"ids_before": changed.old.n_vocab, "ids": tok.n_vocab}
        removed = {"removed_tokens": len(tok.vocabulary.removed)} if tok.vocabulary.order == "events" else {}
        report({**rows, **sizes, **(removed if job.sources else {})}, json)
        if job.vocab_size is not None and tok.n_vocab < job.vocab_size:
            say(f"The text ran out of pairs at {tok.n_vocab:,} ids, short of {job.vocab_size:,}.")
        return
    sizes = {"ids": tok.n_vocab, "replaced": len(new_rows), "ids_left_without_token": changed.left}
    report({**rows, "new_rows": str(job.new_rows_path), **sizes}, json)
    if not job.reuse and not new_rows:
        say("No token is worth replacing on this text. --reuse N replaces the N least used ones all the same.")
    if changed.left:
        say(f"The text ran out of pairs: {changed.left:,} of the ids have no token now.")


def _run(job: Prune | Extend, sample: Any, as_json: bool) -> tuple[Changed, dict[str, Any]]:
    """Do the job, and print its certificate and what an export costs; the first rows of the summary."""
    job.check(also_read=sample)
    check_sample(sample)
    with progress_bar() as progress:
        changed = job.run(progress=progress)
    rows: dict[str, Any] = {"tokenizer": str(job.output)}
    if changed.certificate is not None:
        say(str(changed.certificate))
        rows["id_map"] = str(job.id_map_path)
    cost = {}
    if changed.counts is not None or changed.certificate is not None or sample:
        cost = cost_of_export(changed.tok, sample, as_json, changed.counts, job.read)
    if not as_json:
        return changed, rows
    if changed.certificate is not None:
        rows["certificate"] = dataclasses.asdict(changed.certificate)
    return changed, rows | cost
