"""tokenmill train: text or word counts to a tokenizer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from ..errors import UsageError
from . import _options as opt
from ._console import say_long_documents
from ._parity import Parity
from ._training import Input, Outputs, is_saved, train_and_report


class Alphabet(opt.Group):
    """The tokens that training begins with, and its algorithm."""

    special_tokens_as_text: Annotated[
        bool,
        opt.training("--special-tokens-as-text", help="Learn special tokens in the text like other text."),
    ] = False
    alphabet: Annotated[str, opt.training(help="The initial tokens: bytes or characters.")] = "bytes"
    coverage: Annotated[float, opt.training(help="The share of all characters in --alphabet characters.")] = 1.0
    unknown_token: Annotated[str | None, opt.training(help="The token for characters outside the alphabet.")] = None
    algorithm: Annotated[str, opt.training(help="heap, or naive: the textbook loop, for study.")] = "heap"


class Superwords(opt.Group):
    """Tokens that span words."""

    superwords: Annotated[
        str | None, opt.training(help="superbpe: tokens that span words; boundless: of whole pretokens.")
    ] = None
    stage1_size: Annotated[
        int | None, opt.training(**opt.number, help="For --superwords: the number of tokens at which stage 2 begins.")
    ] = None
    stage2_split: Annotated[
        str | None, opt.training(help="For --superwords: the split pattern of stage 2; by default that of SuperBPE.")
    ] = None
    max_words: Annotated[
        int | None,
        opt.training(**opt.number, help="For --superwords: the most words in a token, 4 by default; 0 for no limit."),
    ] = None
    colon_veto: Annotated[
        bool | None,
        opt.training(
            "--colon-veto/--no-colon-veto",
            help="For --superwords: make no token that contains a colon and a space after it (default).",
        ),
    ] = None

    @property
    def given(self) -> dict[str, Any]:
        """The options that were given, for training.take_superwords."""
        return {name: value for name, value in vars(self).items() if value is not None}


class Measuring(opt.Group):
    """What is measured after the training."""

    held_out: Annotated[
        list[str] | None,
        opt.Option(metavar="SRC...", help="Text that is not trained on, to measure bytes per token at each size."),
    ] = None
    html: Annotated[Path | None, opt.output(help="Write a report as one self-contained page.")] = None


def train(
    output: Annotated[Path, opt.Option("--output", "-o", help="The folder to write the tokenizer to.")],
    vocab_size: Annotated[
        tuple[int, ...],
        opt.training(
            parser=opt.whole_numbers,
            metavar="N[,N...]",
            help="The number of ids, with bytes and special tokens; 32k is 32,000. Several, such as 16k,32k, come from one training.",
        ),
    ],
    merging: opt.Merging,
    start: Alphabet,
    spanning: Superwords,
    fairness: Parity,
    documents: opt.Documents,
    measuring: Measuring,
    running: opt.Running,
    result: opt.Result,
    sources: Annotated[
        list[str] | None,
        opt.Argument(
            help="Files, folders, globs, URLs, plain or compressed; - is standard input; or saved word counts."
        ),
    ] = None,
    split: opt.TrainingSplit = None,
    text: Annotated[
        list[str] | None,
        opt.Option(metavar="SRC...", help="For --superwords with saved word counts: the text that was counted."),
    ] = None,
    sample: opt.Sample = None,
    binary: opt.Binary = "error",
    weight: opt.Weights = None,
    memory_limit: Annotated[
        str | None, opt.job(help="Memory for counting text, such as 4GB; by default half of what is free.")
    ] = None,
    log: Annotated[
        Path | None,
        opt.output(help="Write all merges and removals to this file, such as merges.tsv; --verbose prints them."),
    ] = None,
) -> None:
    """Train a byte-level BPE tokenizer, or several sizes of it at once.

    tokenmill train corpus/*.txt --vocab-size 32768 --split cl100k -o my-tokenizer

    tokenmill train corpus/*.txt --vocab-size 16k,32k,64k --held-out other.txt -o tokenizers

    tokenmill train --parity --language en=en/ hi=hi/ --dev en=dev.en hi=dev.hi --vocab-size 32k -o fair
    """
    from ..counting import CountOptions
    from ..training import Options, take_superwords

    options = Options(
        vocab_size=vocab_size[-1],
        num_threads=running.num_threads,
        superwords=take_superwords(spanning.given),
        **merging.keywords,
        **vars(start),
    )
    reading = CountOptions(read=documents.read, binary=binary, memory_limit=memory_limit, weights=weight or ())  # type: ignore[arg-type]
    languages = fairness.languages()
    if languages is not None and (sources or weight or text or sample):
        raise UsageError(
            "--parity takes its text from --language; leave out other sources, --weight, --text and --sample"
        )
    sources = sources or []
    if not sources and languages is None:
        raise UsageError("name the text to train on: files, folders, globs, or - for standard input")
    if weight and (spanning.superwords or is_saved(sources)):
        raise UsageError(
            "--weight is for text, without --superwords; weight saved word counts with: tokenmill count --merge A B "
            "--weight A=3/2 -o BOTH"
        )
    if sources and not is_saved(sources):
        say_long_documents(sources, documents.unit)
    given = Input(sources, split, reading, text or [], running.job(overwrite=result.force), languages)
    outputs = Outputs(
        output, result.force, log, result.json, tuple(vocab_size), measuring.held_out or (), measuring.html
    )
    train_and_report(given, options, outputs, sample=sample)
