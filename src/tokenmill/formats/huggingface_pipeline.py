"""A tokenizer.json as a `Pipeline`: WordPiece, Unigram, and BPE behind steps that split patterns cannot express.

models           BPE with affixes and unknown bytes, WordPiece, WordLevel, Unigram
pre-tokenizers   all of Hugging Face's: BertPreTokenizer, ByteLevel, CharDelimiterSplit, Digits, FixedLength, Metaspace, Punctuation,
                 Split, UnicodeScripts, Whitespace, WhitespaceSplit, Sequence
decoders         all but CTC
"""

from __future__ import annotations

import json
from functools import partial
from itertools import count
from operator import add, eq
from typing import TYPE_CHECKING, Any

from ..errors import ConversionError
from ..split.spelling import from_oniguruma
from ..split.splitter import tables_of
from ..vocabulary import AddedToken, Vocabulary
from ..vocabulary._packed_cy import pack_tokens
from ..vocabulary.packed import PackedVocabulary
from ..vocabulary.pipeline import Pipeline
from ..vocabulary.vocabulary import Step
from . import tokens_and_merges as table
from .byte_alphabet import tokens_of_texts
from .file_content import MAX_ID, Json, show

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    from ._bpe_tables_cy import BpeTables

_PRE_TOKENIZERS = (
    "BertPreTokenizer", "ByteLevel", "CharDelimiterSplit", "Digits", "FixedLength", "Metaspace", "Punctuation", "Split",
    "UnicodeScripts", "Whitespace", "WhitespaceSplit",
)  # fmt: skip
_DECODERS = ("ByteLevel", "Metaspace", "WordPiece", "BPEDecoder", "Fuse", "Strip", "Replace", "ByteFallback")
_BEHAVIORS = ("isolated", "removed", "contiguous", "mergedwithprevious", "mergedwithnext")
_ORDERS = {"BPE": "merges", "WordPiece": "wordpiece", "WordLevel": "words", "Unigram": "unigram"}
MODELS = tuple(_ORDERS)
_SETTINGS = {
    "BPE": ("unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback", "ignore_merges"),
    "WordPiece": ("unk_token", "continuing_subword_prefix", "max_input_chars_per_word"),
    "WordLevel": ("unk_token",),
    "Unigram": ("unk_id", "byte_fallback"),
}  # fmt: skip
_POWERS = [10.0**exponent for exponent in range(309)]
_KINDS: dict[str, Any] = {
    "unk_token": str, "continuing_subword_prefix": str, "end_of_word_suffix": str, "fuse_unk": bool, "byte_fallback": bool,
    "ignore_merges": bool, "max_input_chars_per_word": int, "unk_id": int,
}  # fmt: skip


def read_pipeline(
    root: Json,
    kind: str,
    normalizers: tuple[Step, ...],
    read_added: Callable[[Any], Sequence[AddedToken]],
    notes: list[str],
    tables: BpeTables | None = None,
) -> Vocabulary | None:
    """The vocabulary of a tokenizer.json whose model is `kind`. FormatError names what is wrong or unknown.

    read_added: gives the added tokens, from the ids of the model's tokens. tables: the tokens and the merges, which `root` then
    does not have. None is returned if they are wrong.
    """
    model = root["model"]
    settings = {"type": kind} | {
        name: model[name].expect(_KINDS[name]) for name in _SETTINGS[kind] if not model[name].absent
    }
    scores: tuple[float, ...] = ()
    events = b""
    if tables is not None:
        if (listing := tables.listing()) is None:
            return None
        texts, events = listing
    elif kind == "Unigram":
        texts, scores = _read_scores(model["vocab"])
    else:
        texts = _read_texts(model["vocab"])
    _check_unknown(model, settings, texts)
    added = read_added(tables or (dict(zip(texts, count())) if kind == "Unigram" else model["vocab"].value))
    pre_tokenizer, decoder = root["pre_tokenizer"], root["decoder"]
    _check_steps(pre_tokenizer, "pretokenizers", _PRE_TOKENIZERS)
    _check_steps(decoder, "decoders", _DECODERS)
    pipeline = Pipeline(tuple(texts), settings, pre_tokenizer.value, decoder.value, scores)
    apart = {token.id for token in added}
    tokens = _tokens(pipeline, apart)
    if tables is not None and not _spell(tokens, memoryview(events).cast("i")):
        return None
    make: Callable[..., Vocabulary] = partial(PackedVocabulary.of, pack_tokens(tuple(tokens)), events)
    if kind == "BPE" and tables is None:
        ids = {text: id for id, text in enumerate(texts) if text is not None}
        make = partial(Vocabulary, tuple(tokens), events=_read_merges(model["merges"], ids, settings))
    if kind == "BPE" and not settings.get("unk_token"):
        notes.append("there is no unknown token: Hugging Face drops characters without a token, tokenmill refuses them")
    return make(
        split_patterns=(),
        order=_ORDERS[kind],
        added_tokens=tuple(added),
        whole_pretokens=bool(settings.get("ignore_merges")),
        alphabet="characters",
        normalizers=normalizers,
        decode_only=tuple(
            (id, text.encode())
            for id, text in enumerate(texts)
            if text is not None and tokens[id] is None and id not in apart
        ),
        pipeline=pipeline,
        notes=tuple(notes),
    )


def _spell(tokens: list[bytes | None], rows: memoryview) -> bool:
    """Whether the parts of each merge are tokens that spell the third."""
    lefts, rights, made = (map(tokens.__getitem__, rows[column::3]) for column in range(3))
    try:
        return all(map(eq, map(add, lefts, rights), made))
    except TypeError:  # None
        return False


def _read_texts(node: Json) -> list[str | None]:
    vocab = node.expect(dict)
    if [*vocab.values()] == [*range(len(vocab))] and len(vocab) <= MAX_ID and {*map(type, vocab.values())} <= {int}:
        return _checked([*vocab], node)  # as nearly always: in order
    texts: list[str | None] = []
    for text, id in vocab.items():
        if type(id) is not int or not 0 <= id <= MAX_ID:
            node.fail(f"the id {show(id)} of {show(text)} is not an integer from 0 to {MAX_ID}")
        texts += [None] * (id + 1 - len(texts))
        if texts[id] is not None:
            node.fail(f"the id {id} of {show(text)} is that of {show(texts[id])} already")
        texts[id] = text
    return _checked(texts, node)


def _read_scores(node: Json) -> tuple[list[str | None], tuple[float, ...]]:
    items = node.expect(list)
    for n, item in enumerate(items):
        if (
            type(item) is not list
            or len(item) != 2
            or type(item[0]) is not str
            or type(item[1]) not in (int, float)
            or not -1e308 < item[1] < 1e308
        ):
            Json(item, node.file, f"{node.where}[{n}]").fail(f"expected a token and its score, found {show(item)}")
    return _checked([text for text, _ in items], node), tuple([_as_serde(float(score)) for _, score in items])


def _as_serde(value: float) -> float:
    """A number as serde_json reads it, which rounds twice: its digits, and their quotient by a power of ten."""
    digits, _, power = repr(value).partition("e")
    whole, _, fraction = digits.partition(".")
    exponent = int(power or 0) - len(fraction)
    found = float(int(whole + fraction))
    if exponent < -308:
        found, exponent = found / 1e308, exponent + 308
    return found * _POWERS[exponent] if exponent >= 0 else found / _POWERS[-exponent]


def _checked(texts: list[str | None], node: Json) -> list[str | None]:
    try:
        "".join(filter(None, texts)).encode()
    except UnicodeEncodeError as error:
        wrong = next(text for text in texts if text and error.object[error.start] in text)
        node.fail(f"the token {show(wrong)} is not Unicode text: it holds a lone surrogate")
    return texts


def _check_unknown(model: Json, settings: dict[str, Any], texts: list[str | None]) -> None:
    """The unknown token is one of the tokens."""
    text, id = settings.get("unk_token"), settings.get("unk_id")
    if text and text not in texts:
        model["unk_token"].fail(f"the unknown token {text!r} is not in the vocabulary")
    if id is not None and not 0 <= id < len(texts):
        model["unk_id"].fail(f"the unknown token has the id {id}, and no token has it")


def _check_steps(node: Json, members: str, known: tuple[str, ...]) -> None:
    """Each step is one of `known`, and has what it needs."""
    if node.absent:
        return
    kind = node["type"].expect(str)
    if kind == "Sequence":
        for step in node[members]:
            _check_steps(step, members, known)
        node[members].expect(list)
        return
    if kind not in known:
        node.fail(f"the step {kind!r} is not one that tokenmill has ({', '.join(known)})")
    if kind == "Split" or (kind == "Replace" and members == "decoders"):
        _check_pattern(node["pattern"])
    if kind == "Split" or not node["behavior"].absent:
        behavior = node["behavior"].expect(str)
        if behavior.replace("_", "").lower() not in _BEHAVIORS:
            node["behavior"].fail(f"the behaviour {show(behavior)} is not one of Hugging Face's")
    needed = {
        "Metaspace": ("replacement",),
        "Replace": ("content",),
        "CharDelimiterSplit": ("delimiter",),
        "Strip": ("content",),
    }
    for name in needed.get(kind, ()):
        text = node[name].expect(str)
        if name != "content" and len(text) != 1:
            node[name].fail(f"expected one character, found {show(text)}")
    for name, wanted in (("length", 1), ("start", 0), ("stop", 0)):
        if not node[name].absent and node[name].expect(int) < wanted:
            node[name].fail(f"expected {wanted} or more, found {node[name].value}")
    if kind == "Strip":
        node["start"].expect(int), node["stop"].expect(int)


def _check_pattern(node: Json) -> None:
    if node["Regex"].absent:
        node["String"].expect(str)
        return
    try:
        tables_of(from_oniguruma(node["Regex"].expect(str)))
    except ConversionError as error:
        node["Regex"].fail(str(error))


def _read_merges(node: Json, ids: dict[str, int], settings: dict[str, Any]) -> np.ndarray:
    """The merges as rows. The right part of a merge loses its continuing prefix."""
    bad: Callable[[int, str], Any] = lambda n, what: Json(None, node.file, f"{node.where}[{n}]").fail(what)  # noqa: E731
    lefts, rights = table.sides_of_merges(node)
    return table.read_rows(lefts, rights, ids, bad, len(settings.get("continuing_subword_prefix") or ""))


def _tokens(pipeline: Pipeline, added: set[int]) -> list[bytes | None]:
    """The bytes that each token stands for in a text; None for an added token, and for one that stands for nothing."""
    settings, texts = pipeline.model, list(pipeline.texts)
    prefix, suffix = settings.get("continuing_subword_prefix") or "", settings.get("end_of_word_suffix") or ""
    starts = (
        " " if settings["type"] == "WordPiece" and prefix else ""
    )  # for a token without the prefix, which begins a word
    marks = {pipeline.mark, "\u2581" if _writes_mark(pipeline) else ""} - {""}
    if pipeline.byte_level:
        if suffix:
            cut = [text and text.removesuffix(suffix) for text in texts]
            ends = [" " if text and text.endswith(suffix) else "" for text in texts]
        else:
            cut, ends = texts, [""] * len(texts)
        found = tokens_of_texts([text or "" for text in cut])
        tokens = [token and token + end.encode() for token, end in zip(found, ends, strict=True)]
    else:
        cut = texts
        for mark in marks:
            cut = [text and text.replace(mark, " ") for text in cut]
        if prefix:
            cut = [text and (text[len(prefix) :] if text.startswith(prefix) else starts + text) for text in cut]
        if suffix:
            cut = [text and (text.removesuffix(suffix) + " " if text.endswith(suffix) else text) for text in cut]
        tokens = [text and text.encode() for text in cut]  # type: ignore[misc]
        if settings.get("byte_fallback"):
            values = {f"<0x{byte:02X}>": bytes([byte]) for byte in range(256)}
            tokens = [values.get(text or "", token) for text, token in zip(texts, tokens, strict=True)]
    return [None if id in added else token or None for id, token in enumerate(tokens)]


def _writes_mark(pipeline: Pipeline) -> bool:
    """Whether the decoder takes U+2581 for a space, which the normalizer has written."""
    return "\u2581" in json.dumps(pipeline.decoder, ensure_ascii=False)


def pipeline_model_json(vocabulary: Vocabulary, pipeline: Pipeline) -> dict[str, Any]:
    """The `model` section of a pipeline."""
    texts = pipeline.texts
    if "left_out" in pipeline.model:
        raise ConversionError(
            "tokenizer.json has the scores of a Unigram model of SentencePiece or llama.cpp, but tokenizers adds them in another "
            "way, so some texts would get other ids"
        )
    model = dict(pipeline.model)
    if pipeline.scores:
        return model | {"vocab": [[text, score] for text, score in zip(texts, pipeline.scores, strict=True)]}
    model["vocab"] = {text: id for id, text in enumerate(texts) if text is not None}
    if model["type"] == "BPE":
        model["merges"] = [[texts[left], texts[right]] for left, right, _ in vocabulary.events.tolist()]
        model |= {"dropout": None}
    return model
