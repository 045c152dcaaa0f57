"""GGUF, the model file of llama.cpp: the tokenizer in its metadata. Weights are not read.

The file begins with "GGUF", the version, two counts, and the metadata: keys with typed values. Read here because the package
gguf takes 10 to 23 s of CPU time for a vocabulary of 128,000 to 262,000 tokens, and this reader half a second (docs/experiments/formats.md).

    tokenizer.ggml.model        gpt2: BPE in the byte alphabet; llama: scores, as in SentencePiece; gemma4: BPE of characters
    tokenizer.ggml.pre          the name of the split patterns, which llama.cpp has (src/llama-vocab.cpp)
    tokenizer.ggml.tokens, .scores, .token_type, .merges, .add_space_prefix
"""

from __future__ import annotations

import re
import struct
from collections.abc import Collection
from contextlib import suppress
from typing import Any, NamedTuple

from ..split.patterns import CHAINS, LINES, PATTERNS
from ..vocabulary import AddedToken, Normalization, Vocabulary
from . import tokens_and_merges as table
from ._bpe_tables_cy import BpeTables, end_of_texts
from .file_content import Json, fail
from .pieces import BYTE, CONTROL, MARK, NORMAL, UNKNOWN, UNUSED, USER_DEFINED, Pieces, added_tokens, check_scores
from .sentencepiece_model import NormalizerSpec, scored_vocabulary

MAGIC = b"GGUF"
CHAT_TEMPLATE = "tokenizer.chat_template"  # of several, those that are not the default have a name after a dot
_ARRAY, _STRING = 9, 8
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}

_WORDS = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)"  # the gpt2 pattern of llama.cpp
_SIGNS = r"[\p{P}$+<=>^~|]+"
_CONTRACTIONS = r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
_ENDS = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
_LETTERS, _OTHERS = r"[^\r\n\p{L}\p{N}]?\p{L}+", r"[^\s\p{L}\p{N}]"
_UPPER, _LOWER = r"(?:(?=\p{L})[^a-z])", r"(?:(?=\p{L})[^A-Z])"


def _cased(contractions: str, digits: str) -> tuple[str, ...]:
    """The pattern of GPT-4o and of tekken, as llama.cpp writes it: letters by the case of ASCII only."""
    start = r"[^\r\n\p{L}\p{N}]?"
    words = f"{start}{_UPPER}*{_LOWER}+{contractions}|{start}{_UPPER}+{_LOWER}*{contractions}"
    return (rf"{words}|{digits}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*{_ENDS}",)


# Letters with case, as deepseek-llm's pattern lists them.
_CASED = (
    "A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-ώᾀ"
    "-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰"
    "-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃"
)
_SIGNS_OF_DEEPSEEK = "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+"
_QWEN35 = (
    rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|\p{{N}}| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*{_ENDS}"
)
_BAILING = rf"'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|{_LETTERS}|\p{{N}}| ?{_OTHERS}+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
_SEED = rf"{_CONTRACTIONS}|{_LETTERS}|\p{{N}}| ?[^\s\p{{L}}\p{{N}}\r\n]+{_ENDS}"
# Tokens that llama.cpp takes for the end of a text or a turn, whatever kind the file gives them.
ENDS_OF_TEXT = frozenset((
    "<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|flush|>",
    "<|calls|>", "<end_of_turn>", "<|endoftext|>", "</s>", "<|eom_id|>", "<EOT>",
    "_<EOT>", "[EOT]", "[EOS]", "<|end_of_text|>", "<end_of_utterance>", "<eos>",
    "<turn|>", "<|tool_response>", "<\uff5cend\u2581of\u2581sentence\uff5c>", "[e~[",
))  # fmt: skip
_BLOOM = " ?[^(\\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+"

# The split patterns by their names, in the words of llama.cpp. Of the same patterns one has the names of all.
_PRE: dict[str, tuple[str, ...]] = {
    "gpt-2 phi-2 mpt olmo jais trillion gigachat exaone4 roberta-bpe jina-es jina-de jina-v1-en jina-v2-es jina-v2-de jina-v2-code "
    "a.x-4.0 mellum modern-bert granite-docling": (_WORDS,),
    "starcoder refact command-r smollm codeshell exaone minerva-7b mellum2": (r"\p{N}", _WORDS),
    "falcon": (r"[\p{P}$+<=>^~|`]+", _WORDS, "[0-9][0-9][0-9]"),
    "default": (_SIGNS, _WORDS, r"\p{N}+", "[0-9][0-9][0-9]"),
    "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano dbrx smaug-bpe chatglm-bpe glm4 glm5": (
        PATTERNS["llama3"],
    ),
    "qwen2 stablelm2 hunyuan megrez deepseek-r1-qwen kormo f2llmv2 grok-2 solar-open": (PATTERNS["qwen2"],),
    "qwen35": (_QWEN35,),
    "deepseek-v3 hunyuan-dense joyai-llm hy_v4": CHAINS["deepseek-v3"],
    "deepseek-coder": ("[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+", r"\p{N}"),
    "deepseek-llm": (
        "[\r\n]",
        rf"\s?[{_CASED}]+",
        _SIGNS_OF_DEEPSEEK,
        r"\s+$",
        "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+",
        r"\p{N}+",
    ),
    "tekken": _cased("", r"\p{N}"),
    "gpt-4o llama4 kanana2 talkie minimax-m2": _cased(f"{_CONTRACTIONS}?", r"\p{N}{1,3}"),
    "bloom poro-chat gpt3-finnish": (_BLOOM,),
    "viking": (_BLOOM, r"\p{N}"),
    "bailingmoe bailingmoe2 llada-moe": (_BAILING,),
    "seed-coder": (_SEED,),
    "ufakzeka": (PATTERNS["qwen2"].partition(")|")[2],),
    "minicpm5": (r"\p{N}{1,3}", PATTERNS["llama3"].replace("{1,3}", "+")),
    "superbpe": (r"\p{N}+", r"(?=(\d{3})+(?!\d))"),
}
NAMES_OF_PATTERNS = {name: patterns for names, patterns in _PRE.items() for name in names.split()}
WHOLE_PRETOKENS = {
    "llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano", "glm4", "glm5",
    "minicpm5", "tekken",
}  # fmt: skip


class Texts(NamedTuple):
    """A list of texts in a file: where it begins and ends, and how many there are."""

    start: int
    end: int
    count: int  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"a list of {self.count} texts"

    def read(self, data: bytes) -> list[str]:
        found, at = [], self.start
        size_of = struct.Struct("<Q").unpack_from
        for _ in range(self.count):
            end = at + 8 + size_of(data, at)[0]
            found.append(data[at + 8 : end].decode("utf-8", "surrogateescape"))
            at = end
        return found


_MODELS = ("gpt2", "llama", "gemma4")
_MODELS_OF_LIBRARIES = {
    "bert": "WordPiece, which tokenmill reads from a tokenizer.json. Load that of the model instead",
    "t5": "Unigram, which tokenmill reads from a tokenizer.json or spiece.model. Load that of the model instead",
}


def parse_gguf(data: bytes, file: str) -> Vocabulary:
    """The vocabulary in the metadata of a GGUF file; `data` may end after it. FormatError names the key.

    A byte-level vocabulary without a split pattern is one whose pattern tokenmill does not know; `notes` has its name.
    """
    values = _Reader(data, file).metadata()
    vocabulary = _vocabulary_of(values, data, file)
    templates = [
        {"name": key[len(CHAT_TEMPLATE) + 1 :] or "default", "template": Json(value, file, key).expect(str)}
        for key, value in values.items()
        if key == CHAT_TEMPLATE or key.startswith(f"{CHAT_TEMPLATE}.")
    ]
    named = len(templates) > 1 or any(each["name"] != "default" for each in templates)
    config = {"chat_template": templates if named else templates[0]["template"]} if templates else {}
    return vocabulary.replace(config=config) if config else vocabulary


def _vocabulary_of(values: dict[str, Any], data: bytes, file: str) -> Vocabulary:
    place = "tokenizer.ggml"
    own = {key[len(place) + 1 :]: value for key, value in values.items() if key.startswith(f"{place}.")}
    root = Json(own, file, place)
    get = root.get
    model, tokens = get("model", str, None), get("tokens", Texts, None)
    if model is None or tokens is None:
        fail(file, "", "contains no tokenizer: its metadata has no tokenizer.ggml.model and tokenizer.ggml.tokens")
    kinds = get("token_type", list, None) or [NORMAL] * tokens.count
    scores = get("scores", list, None) or [0.0] * tokens.count
    if not len(kinds) == len(scores) == tokens.count:
        fail(file, "", f"has {tokens.count} tokens, {len(kinds)} token types and {len(scores)} scores")
    if not (isinstance((*kinds, 0)[0], int) and isinstance((*scores, 0)[0], int | float)):
        fail(file, "", "token types must be whole numbers, and scores must be numbers")
    check_scores(scores, file)
    merges = get("merges", Texts, None)
    if model == "llama" and (merges is None or not merges.count):
        pieces = Pieces(tokens.read(data), scores, [NORMAL if kind == UNUSED else kind for kind in kinds], file)
        is_phi = re.search("phi-?3", str(values.get("general.name", "")).lower()) is not None  # as llama.cpp tells it
        return _scored(pieces, get("add_space_prefix", bool, True), rstrip=is_phi)
    if model not in ("gpt2", "gemma4"):
        what = _MODELS_OF_LIBRARIES.get(model, f"not one that tokenmill reads: {', '.join(_MODELS)}")
        root["model"].fail(f"{model!r} is {what}")
    if merges is None:
        fail(file, "", f"tokenizer.ggml.merges is missing, which the model {model!r} needs")
    pre = get("pre", str, "default")
    byte_level = model == "gpt2"
    patterns = NAMES_OF_PATTERNS.get(pre, ()) if byte_level else (LINES,)
    tables = _read_tables(data, file, tokens, merges)
    added = _added(kinds, tables, _masks(pre, str(values.get("general.name", "")).lower()))
    mark, steps = (None, ()) if byte_level else (MARK, (("Replace", " ", MARK),))
    vocabulary = table.merged_vocabulary(tables, mark, not byte_level and BYTE in kinds, added)
    return vocabulary(
        split_patterns=patterns,
        whole_pretokens=byte_level and pre in WHOLE_PRETOKENS,
        normalization=Normalization(steps, get("add_space_prefix", bool, False), mark or ""),
        notes=() if patterns else (f"tokenmill does not know the split pattern {pre!r}, which the file names",),
    )


def _scored(pieces: Pieces, prefix: bool, rstrip: bool) -> Vocabulary:
    # llama.cpp finds added tokens in the text as it is, those that the user defined too.
    added = [
        token._replace(normalized=False, rstrip=rstrip and token.content not in ("<unk>", "<s>", "<|endoftext|>"))
        for token in added_tokens(pieces)
    ]
    normalization = NormalizerSpec(b"", prefix, False).normalization()
    return scored_vocabulary(pieces, added, fallback=True, normalization=normalization)


def _read_tables(data: bytes, file: str, tokens: Texts, merges: Texts) -> BpeTables:
    with suppress(ValueError):
        tables = BpeTables(data, tokens.start, tokens.end, listed=True)  # the upper half of each size is 0
        if tables.put_merges(merges.start, merges.end):
            return tables
    texts = tokens.read(data)  # slowly: this names what is wrong
    vocab = dict(zip(texts, range(len(texts)), strict=True))
    node = Json(vocab, file, "tokenizer.ggml.tokens")
    if len(vocab) < len(texts):
        node.fail("a token occurs twice")

    def bad(n: int, what: str) -> Any:
        fail(file, f"tokenizer.ggml.merges[{n}]", what)

    pairs = [[" ", merge[2:]] if merge[:1] == " " else merge.split(" ", 1) for merge in merges.read(data)]
    return table.listed_tables(node, pairs, bad)


def _masks(pre: str, name: str) -> Collection[str]:
    """The tokens that take the white space before them, as llama.cpp tells it by names in the metadata."""
    if any(known in pre for known in ("jina-v2-de", "jina-v2-es", "jina-v2-code")):
        return ("<mask>",)
    return ("[MASK]",) if "modern-bert" in name else ()


def _added(kinds: list[int], tables: BpeTables, masks: Collection[str]) -> list[AddedToken]:
    """The added tokens."""
    ends = {tables.get(text) for text in ENDS_OF_TEXT}
    ordinary = tables.get("</s>") if tables.get("<|tool_response>") is not None else None  # as in Gemma 4
    return [
        AddedToken(text, id, special=kind != USER_DEFINED or id in ends, lstrip=text in masks)
        for id, kind in enumerate(kinds)
        if (kind in (CONTROL, USER_DEFINED, UNKNOWN) or id in ends) and id != ordinary and (text := tables.text_of(id))
    ]


class _Reader:
    """Reads the metadata of a GGUF file from front to back."""

    def __init__(self, data: bytes, file: str):
        self.data, self.file, self.at = data, file, 0

    def metadata(self) -> dict[str, Any]:
        self.at = len(MAGIC)
        (version,) = self.take("<I")
        if version not in (2, 3):
            fail(self.file, "", f"GGUF of version {version}; tokenmill reads 2 and 3")
        _, count = self.take("<QQ")
        values: dict[str, Any] = {}
        for _ in range(count):
            key = self.value(_STRING)
            (kind,) = self.take("<I")
            values[key] = self.value(kind)
        return values

    def take(self, form: str) -> tuple[Any, ...]:
        try:
            found = struct.unpack_from(form, self.data, self.at)
        except struct.error:
            fail(self.file, f"byte {self.at}", "the file ends inside its metadata: it is cut short")
        self.at += struct.calcsize(form)
        return found

    def value(self, kind: int) -> Any:
        if kind == _STRING:
            return self.texts(1).read(self.data)[0]
        count, is_array = 1, kind == _ARRAY
        if is_array:
            kind, count = self.take("<IQ")
            if count > len(self.data):
                fail(self.file, f"byte {self.at}", f"an array of {count} values is longer than the file")
            if kind == _STRING:
                return self.texts(count)
        if kind not in _NUMBERS:
            fail(self.file, f"byte {self.at}", f"a value of the type {kind}, which no tokenizer has")
        values = self.take(f"<{count}{_NUMBERS[kind]}")
        return list(values) if is_array else values[0]

    def texts(self, count: int) -> Texts:
        start, end = self.at, end_of_texts(self.data, self.at, count)
        if end is None:
            fail(self.file, f"byte {start}", "the file ends inside a text: it is cut short")
        self.at = end
        return Texts(start, end, count)
