"""tokenmill check, convert, prune and extend: comparing the ids of two tokenizers, and deriving a tokenizer from another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from ..errors import plural
from ..options import Argument, Option
from ..quality.change_job import Convert, Extend, Prune
from ..sources.blocks import ReadOptions
from ..tokenizer import Tokenizer
from ..tokenizer.opening import EncoderOpening
from . import _commands as opt
from ._console import console, progress_bar, report, say, say_events, verbosity

if TYPE_CHECKING:
    from ..quality.checking import Agreement, Difference
    from ..quality.pruning import Changed


def check(
    opening: EncoderOpening,
    read: ReadOptions,
    *,
    tokenizer: opt.Tokenizer,
    against: Annotated[str, Option("The other tokenizer.")],
    sources: Annotated[Sequence[str], Argument("Text to compare on: files, folders, globs.")] = (),
    library: Annotated[bool, Option("Encode with the library of the other format.")] = False,
    fuzz: Annotated[int, Option("The number of generated texts.", min=0)] = 5000,
    seed: Annotated[int, Option("The seed of the generated texts.")] = 0,
    json: opt.Json = False,
) -> int:
    """Prove or refute that two tokenizers return the same ids.

    Compares their tables, and their ids on your text and on generated text.

    Exits with 1 if they differ, and prints the shortest text found that shows it. Exits with 2 if it cannot check.

    tokenmill check my-tokenizer --against cl100k_base corpus/*.txt
    """
    from ..formats import encode_with_library
    from ..quality.checking import check as check_tokenizers
    from ..quality.checking import document_texts

    first, other = opening.load_each([tokenizer, against])
    encoder = encode_with_library(against, other.vocabulary) if library else None
    with progress_bar() as progress:
        texts = document_texts(sources, read)
        result = check_tokenizers(first, other, texts=texts, fuzz=fuzz, seed=seed, library=encoder, progress=progress)
    rows = agreement_rows(result)
    if json:
        report({"agree": result.difference is None, **rows, "difference": difference_json(result.difference)}, True)
    elif result.difference is None:
        proof = f": {result.proof}" if result.proof else " found, but that is not a proof: rare texts may differ"
        say(f"no difference{proof}")
        report(rows, False)
        if result.refused:
            say("refused texts contain a byte without a token, which the library drops")
    else:
        show_difference(result.difference, first, other, (tokenizer, against))
    return int(result.difference is not None)


def agreement_rows(agreement: Agreement) -> dict[str, Any]:
    return {name: getattr(agreement, name) for name in ("proof", "texts", "bytes", "tokens", "refused")}


def difference_json(difference: Difference | None) -> dict[str, Any] | None:
    if difference is None:
        return None
    text, rows = difference.text, asdict(difference)
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    readable = text if isinstance(text, str) else text.decode("utf-8", "backslashreplace")
    allowed = rows.pop("specials")
    return {**rows, "text": readable, "bytes": data.hex(), "special_tokens_allowed": allowed}


def show_difference(difference: Difference, tokenizer: Tokenizer, other: Tokenizer, names: tuple[str, str]) -> None:
    """Print the shortest text that shows the difference, and the ids of each side."""
    from rich.padding import Padding

    from ..tokenizer.display import TokenView

    where = "" if difference.specials else ", special tokens not allowed"
    say(f"they differ ({difference.source}{where}), from byte {difference.offset} of this text on:")
    say(f"    {difference.text!r}")
    for name, side, ids in zip(names, (tokenizer, other), (difference.ids, difference.other_ids), strict=True):
        say(f"  {name}: {'refuses it' if ids is None else ids}")
        if not verbosity.quiet and ids is not None and all(side.vocabulary.token_bytes(id) is not None for id in ids):
            for line in TokenView(ids, side.decode_tokens_bytes(ids)).lines():
                console().print(Padding(line, (0, 0, 0, 4)))


def convert(job: Convert, *, json: opt.Json = False) -> int:
    with progress_bar() as progress:
        result = job.run(progress=progress)
    for note in result.notes:
        say(f"note: {note}")
    rows: dict[str, Any] = {"from": job.tokenizer, "to": str(job.output), "format": job.to, "notes": list(result.notes)}
    if result.again is not None:
        rows["readers"] = {name: agreement_rows(agreement) for name, agreement in result.readers.items()}
        for name, agreement in () if json else result.readers.items():
            if agreement.difference is not None:
                names = job.tokenizer, f"{job.output}, read by {name}"
                show_difference(agreement.difference, result.tok, result.again, names)
            else:
                proof = f"; proved: {agreement.proof}" if agreement.proof else ""
                sizes = (plural(getattr(agreement, f"{unit}s"), unit) for unit in ("text", "byte", "token"))
                say(f"read by {name}: the same ids on {', '.join(sizes)}{proof}")
    if result.tok.vocabulary.order == "events":
        rows |= _export_loss(job, result.tok, json)
    difference = next(filter(None, (agreement.difference for agreement in result.readers.values())), None)
    if json:
        report(rows | {"difference": difference_json(difference)}, True)
    return int(difference is not None)


def _export_loss(job: Convert, tok: Tokenizer, as_json: bool) -> dict[str, Any]:
    """Measure and print the cost of using a tokenizer without its events, and return the rows for JSON."""
    from ..quality.certificate import export_loss

    if not job.sample:
        say(
            "pass --sample SRC to measure how often exports return different ids, and how many more tokens they need. A Picky "
            "tokenizer usually needs fewer tokens with --to longest-match --lossy than merged by rank."
        )
        return {}
    with progress_bar() as progress:
        loss = export_loss(tok, list(job.sample), read=job.read, progress=progress)
    say(str(loss))
    return {"without_events": asdict(loss)} if as_json and loss is not None else {}


def prune(job: Prune, *, json: opt.Json = False) -> None:
    changed, rows = _run(job, json)
    sizes = {"ids_before": len(changed.id_map), "ids": changed.tok.n_vocab, "dropped": changed.dropped}
    report({**rows, **sizes, "kept_because_needed": len(changed.needed)}, json)


def extend(job: Extend, *, json: opt.Json = False) -> None:
    changed, rows = _run(job, json)
    tok, new_rows = changed.tok, changed.new_rows
    if job.reuse is None:
        sizes = {"ids_before": len(changed.id_map), "ids": tok.n_vocab}
        removed = {"removed_tokens": len(tok.vocabulary.removed)} if tok.vocabulary.order == "events" else {}
        report({**rows, **sizes, **(removed if job.sources else {})}, json)
        if job.vocab_size is not None and tok.n_vocab < job.vocab_size:
            say(f"The text ran out of pairs at {tok.n_vocab:,} ids, short of {job.vocab_size:,}.")
        return
    left = changed.dropped - len(new_rows)
    sizes = {"ids": tok.n_vocab, "replaced": len(new_rows), "ids_left_without_token": left}
    report({**rows, "new_rows": str(job.new_rows_path), **sizes}, json)
    if not job.reuse and not new_rows:
        say("No token is worth replacing on this text. --reuse N replaces the N least used tokens anyway.")
    if left:
        say(f"The text ran out of pairs: {left:,} of the ids have no token now.")


def _run(job: Prune | Extend, as_json: bool) -> tuple[Changed, dict[str, Any]]:
    """Run the job and print its certificate. Return the first rows of the summary too."""
    with progress_bar() as progress:
        changed = job.run(progress=progress)
    rows: dict[str, Any] = {"tokenizer": str(job.output)}
    if changed.certificate is not None:
        say(str(changed.certificate))
        rows["id_map"] = str(job.id_map_path)
        rows |= {"certificate": asdict(changed.certificate)} if as_json else {}
    say_events(changed.tok)
    return changed, rows
