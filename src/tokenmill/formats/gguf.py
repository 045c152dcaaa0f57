"""GGUF, the model file of llama.cpp: the tokenizer in its metadata, read and written. Weights are not read or written.

The file begins with "GGUF", the version, two counts, and the metadata: keys with typed values. This reader takes half a second
of CPU time for a vocabulary of 128,000 to 262,000 tokens, the package gguf 10 to 23 s (docs/experiments/formats.md).

    tokenizer.ggml.model        gpt2: BPE in the byte alphabet; llama: scores, as in SentencePiece; gemma4: BPE of characters
    tokenizer.ggml.pre          the name of the split patterns, which llama.cpp has (src/llama-vocab.cpp)
    tokenizer.ggml.tokens, .scores, .token_type, .merges, .add_space_prefix

The writer has gpt2, whose split pattern must have a name in llama.cpp, and llama, with byte fallback. A rule that decides ids and
has no key in the metadata is a ConversionError. llama.cpp matches added tokens in the original text.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from contextlib import suppress
from functools import cache, reduce
from typing import Any, NamedTuple

from ..errors import ConversionError, OptionName
from ..split.patterns import CHAINS, LINES, PATTERNS
from ..vocabulary import AddedToken, Normalization, Template, Vocabulary
from ..vocabulary.normalization import MARK
from . import merges_txt as table
from ._bpe_tables_cy import BpeTables, end_of_texts
from .file_content import Json, fail
from .merges_txt import roles_of, with_roles
from .pieces import Kind, Pieces, added_tokens, check_scores, texts_and_kinds, token_texts
from .rank_merges import merges_by_rank
from .sentencepiece_model import NormalizerSpec, piece_scores, scored_vocabulary

MAGIC = b"GGUF"
CHAT_TEMPLATE = "tokenizer.chat_template"  # of several, those that are not the default have a name after a dot
_UINT32, _INT32, _FLOAT32, _BOOL, _STRING, _ARRAY = 4, 5, 6, 7, 8, 9
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}

_WORDS = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)"  # the gpt2 pattern of llama.cpp
_SIGNS = r"[\p{P}$+<=>^~|]+"
_CONTRACTIONS = r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
_ENDS = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
_LETTERS, _OTHERS = r"[^\r\n\p{L}\p{N}]?\p{L}+", r"[^\s\p{L}\p{N}]"
_UPPER, _LOWER = r"(?:(?=\p{L})[^a-z])", r"(?:(?=\p{L})[^A-Z])"


def _cased(contractions: str, digits: str) -> tuple[str, ...]:
    """Return the pattern of GPT-4o or of tekken, as llama.cpp writes it: letters by the case of ASCII only."""
    start = r"[^\r\n\p{L}\p{N}]?"
    words = f"{start}{_UPPER}*{_LOWER}+{contractions}|{start}{_UPPER}+{_LOWER}*{contractions}"
    return (rf"{words}|{digits}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*{_ENDS}",)


# Letters with case, as deepseek-llm's pattern lists them.
_CASED = (
    "A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-ώᾀ"
    "-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰"
    "-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃"
)
# The second of each pair is llama.cpp's, in which no class has white space outside of ASCII; the first is that of other files.
_SIGNS_OF_DEEPSEEK = [f"\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f{first}-\u3002]+" for first in "\u3000\u3001"]
_CJK = [
    f"[\u4e00-\u9fa5\u0800-{middle}\u4e00\uac00-\ud7ff]+"
    for middle in ("", "\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e\u2030-\u205e\u2060-\u2fff\u3001-")
]
_QWEN35 = (
    rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|\p{{N}}| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*{_ENDS}"
)
_BAILING = rf"'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|{_LETTERS}|\p{{N}}| ?{_OTHERS}+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
_SEED = rf"{_CONTRACTIONS}|{_LETTERS}|\p{{N}}| ?[^\s\p{{L}}\p{{N}}\r\n]+{_ENDS}"
# Tokens that llama.cpp takes for control tokens by their names: ends of a text or a turn, and marks of gaps in code.
CONTROL_NAMES = frozenset((
    "<|eot_id|> <|im_end|> <|end|> <|return|> <|call|> <|flush|> <|calls|> <end_of_turn> <|endoftext|> </s> <|eom_id|> "
    "<EOT> _<EOT> [EOT] [EOS] <|end_of_text|> <end_of_utterance> <eos> <turn|> <|tool_response> "
    "<\uff5cend\u2581of\u2581sentence\uff5c> [e~[ <\uff5cfim\u2581begin\uff5c> <\uff5cfim\u2581hole\uff5c> "
    "<\uff5cfim\u2581end\uff5c> <|fim_prefix|> <fim-prefix> <fim_prefix> <PRE> \u2581<PRE> <|code_prefix|> <|prefix|> "
    "<|fim_suffix|> <fim-suffix> <fim_suffix> <SUF> \u2581<SUF> <|code_suffix|> <|suffix|> <|fim_middle|> <fim-middle> "
    "<fim_middle> <MID> \u2581<MID> <|code_middle|> <|middle|> <|fim_pad|> <fim-pad> <fim_pad> <PAD> [PAD] <|file_sep|> "
    "<|fim_repo|> <|repo_name|> <fim-repo> <REPO> <reponame>"
).split())  # fmt: skip
_BLOOM = " ?[^(\\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+"

# The split patterns as llama.cpp writes them, by all their names.
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
    "deepseek-coder": ("[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", _CJK[1], r"\p{N}"),
    "deepseek-llm": (
        "[\r\n]",
        rf"\s?[{_CASED}]+",
        _SIGNS_OF_DEEPSEEK[1],
        r"\s+$",
        _CJK[1],
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
    *"llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano glm4 glm5 minicpm5 tekken".split()
}


class Texts(NamedTuple):
    """A list of texts in a file: its span and their number."""

    start: int
    end: int
    count: int  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"a list of {self.count} texts"

    def read(self, data: bytes) -> list[str]:
        texts, end = [], self.start
        for _ in range(self.count):
            start = end + 8
            end = start + int.from_bytes(data[end:start], "little")
            texts.append(data[start:end].decode("utf-8", "surrogateescape"))
        return texts


_MODELS = ("gpt2", "llama", "gemma4")
_MODELS_OF_LIBRARIES = {
    "bert": "WordPiece, which tokenmill reads from a tokenizer.json. Load that of the model instead",
    "t5": "Unigram, which tokenmill reads from a tokenizer.json or spiece.model. Load that of the model instead",
}


def parse_gguf(data: bytes, file: str) -> Vocabulary:
    """Return the vocabulary in the metadata of a GGUF file; `data` may end after it. FormatError names the key.

    A vocabulary whose split pattern tokenmill does not know has none; `notes` has its name.
    """
    values = _Reader(data, file).metadata()
    vocabulary = _vocabulary_of(values, data, file)
    templates = {
        key[len(CHAT_TEMPLATE) + 1 :] or "default": Json(value, file, key).expect(str)
        for key, value in values.items()
        if key == CHAT_TEMPLATE or key.startswith(f"{CHAT_TEMPLATE}.")
    }
    metadata = Json(values, file, "metadata")
    ids = {role: metadata.get(f"tokenizer.ggml.{name}_token_id", int, -1) for role, name in _SPECIAL.items()}
    texts = {id: text for text, id in vocabulary.special_tokens.items()}
    if templates:
        vocabulary = vocabulary.replace(config={"chat_template": table.chat_template(templates)})
    vocabulary = with_roles(vocabulary, {role: texts.get(id) for role, id in ids.items()})
    roles, affixes = roles_of(vocabulary), []
    for name in ("bos", "eos"):
        adds = metadata.get(f"tokenizer.ggml.add_{name}_token", bool, False)
        affixes.append([roles[f"{name}_token"]] if adds and f"{name}_token" in roles else [])
    return vocabulary.replace(template=Template.around(affixes[0], affixes[1])) if any(affixes) else vocabulary


def _vocabulary_of(values: dict[str, Any], data: bytes, file: str) -> Vocabulary:
    prefix = "tokenizer.ggml."
    members = {key.removeprefix(prefix): value for key, value in values.items() if key.startswith(prefix)}
    root = Json(members, file, prefix[:-1])
    get, name = root.get, str(values.get("general.name", "")).lower()
    model, tokens = get("model", str, None), get("tokens", Texts, None)
    if model is None or tokens is None:
        fail(file, "", "contains no tokenizer: its metadata has no tokenizer.ggml.model and tokenizer.ggml.tokens")
    kinds = get("token_type", list, None) or [Kind.NORMAL] * tokens.count
    scores = get("scores", list, None) or [0.0] * tokens.count
    if not len(kinds) == len(scores) == tokens.count:
        fail(file, "", f"has {tokens.count} tokens, {len(kinds)} token types and {len(scores)} scores")
    if not (isinstance((*kinds, 0)[0], int) and isinstance((*scores, 0)[0], int | float)):
        fail(file, "", "token types must be whole numbers, and scores must be numbers")
    check_scores(scores, file)
    merges = get("merges", Texts, None)
    if model == "llama" and (merges is None or not merges.count):
        texts = tokens.read(data)
        kinds = _kinds_by_name(kinds, {text: id for id, text in enumerate(texts)}.get)
        pieces = Pieces(texts, scores, kinds, file)
        matched, merged = added_tokens(pieces), [*kinds]
        for id in pieces.special:
            # Merges make all pieces, also those of the user that the text does not spell, which has a space and not its mark.
            if kinds[id] == Kind.UNUSED or (kinds[id] == Kind.USER_DEFINED and MARK in texts[id]):
                merged[id] = Kind.NORMAL
        pieces = Pieces(texts, scores, merged, file)
        # llama.cpp recognizes Phi-3 by its name. It matches all added tokens in the original text.
        rstrip = re.search("phi-?3", name) is not None
        plain = ("<unk>", "<s>", "<|endoftext|>")
        added = [t._replace(normalized=False, rstrip=rstrip and t.content not in plain) for t in matched]
        normalization = NormalizerSpec(b"", get("add_space_prefix", bool, True), False).normalization()
        vocabulary = scored_vocabulary(pieces, added, fallback=True, normalization=normalization)
        if reason := pieces.unlisted(fallback=True):
            fail(file, "", f"{reason}, which tokenmill cannot do")
        return vocabulary
    if model not in ("gpt2", "gemma4"):
        what = _MODELS_OF_LIBRARIES.get(model, f"not one that tokenmill reads: {', '.join(_MODELS)}")
        root["model"].fail(f"{model!r} is {what}")
    if merges is None:
        fail(file, "", f"tokenizer.ggml.merges is missing, which the model {model!r} needs")
    pre = get("pre", str, "default")
    byte_level = model == "gpt2"
    patterns = NAMES_OF_PATTERNS.get(pre, ()) if byte_level else (LINES,)
    tables = _read_tables(data, file, tokens, merges)
    # llama.cpp recognizes by their names the tokens that include the white space before them.
    masks = ["<mask>"] if any(known in pre for known in ("jina-v2-de", "jina-v2-es", "jina-v2-code")) else []
    masks = masks or ["[MASK]"] * ("modern-bert" in name)
    kinds = _kinds_by_name(kinds, tables.get)
    added = [
        AddedToken(text, id, special=kind != Kind.USER_DEFINED, lstrip=text in masks)
        for id, kind in enumerate(kinds)
        if kind in (Kind.CONTROL, Kind.USER_DEFINED, Kind.UNKNOWN) and (text := tables.text_of(id))
    ]
    mark, steps = (None, ()) if byte_level else (MARK, (("Replace", " ", MARK),))
    create = table.merged_vocabulary(tables, mark, not byte_level and Kind.BYTE in kinds, added)
    return create(
        split_patterns=patterns,
        whole_pretokens=byte_level and pre in WHOLE_PRETOKENS,
        normalization=Normalization(steps, space_mark=mark or ""),  # llama.cpp has add_space_prefix only for scores
        notes=() if patterns else (f"tokenmill does not know the split pattern {pre!r}, which the file names",),
    )


def _kinds_by_name(kinds: list[int], id_of: Callable[[str], int | None]) -> list[int]:
    """Return the kinds with those that llama.cpp gives to tokens by their names."""
    ids = {text: id for text in CONTROL_NAMES if (id := id_of(text)) is not None}
    changed = [*kinds]
    for id in ids.values():
        changed[id] = Kind.CONTROL
    if "<|tool_response>" in ids and "</s>" in ids:  # as in Gemma 4
        changed[ids["</s>"]] = Kind.NORMAL
    return changed


def _read_tables(data: bytes, file: str, tokens: Texts, merges: Texts) -> BpeTables:
    with suppress(ValueError):
        tables = BpeTables(data, tokens.start, tokens.end, listed=True)  # the upper half of each size is 0
        if tables.put_merges(merges.start, merges.end):
            return tables
    texts = tokens.read(data)  # slow: names the mistake
    vocab = dict(zip(texts, range(len(texts)), strict=True))
    node = Json(vocab, file, "tokenizer.ggml.tokens")
    if len(vocab) < len(texts):
        node.fail("a token occurs twice")

    def bad(n: int, what: str) -> Any:
        fail(file, f"tokenizer.ggml.merges[{n}]", what)

    pairs = [[" ", merge[2:]] if merge[:1] == " " else merge.split(" ", 1) for merge in merges.read(data)]
    return table.listed_tables(node, pairs, bad)


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
            numbers = struct.unpack_from(form, self.data, self.at)
        except struct.error:
            fail(self.file, f"byte {self.at}", "the file ends inside its metadata: it is cut short")
        self.at += struct.calcsize(form)
        return numbers

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


_CATEGORIES = (8, 9, 10)  # Nd, Nl, No
_SPECIAL = {"bos_token": "bos", "eos_token": "eos", "pad_token": "padding", "unk_token": "unknown"}


def gguf_bytes(vocabulary: Vocabulary, *, lossy: bool = False) -> tuple[bytes, list[str]]:
    """Return a GGUF file, and notes on losses. ConversionError if llama.cpp would give other ids.

    lossy: allow superwords for which some pairs of neighbouring numbers get other ids.
    """
    table.refuse_flags(vocabulary, "GGUF")
    if vocabulary.library is None and vocabulary.alphabet == "bytes":
        fields, notes = _byte_level_fields(vocabulary, lossy)
    elif vocabulary.library is None and vocabulary.order == "scores":
        fields, notes = _scored_fields(vocabulary)
    else:
        raise ConversionError(
            "GGUF stores byte-level merges, and tokens with scores (tokenizer.model), and this vocabulary is neither: "
            f"order {vocabulary.order!r}, alphabet {vocabulary.alphabet!r}. Write tokenizer.json instead."
        )
    names = {token.id for token in vocabulary.added_tokens}
    for id, text in enumerate(fields["tokens"][1]):
        if text in CONTROL_NAMES and id not in names:
            raise ConversionError(
                f"llama.cpp takes {text!r} for a control token, but here it is an ordinary token (id {id})"
            )
    known = vocabulary.special_tokens
    roles = roles_of(vocabulary)
    ids = {name: known[roles[role]] for role, name in _SPECIAL.items() if roles.get(role) in known}
    values = [_value(f"tokenizer.ggml.{name}", kind, value) for name, (kind, value) in fields.items()]
    values += [_value(f"tokenizer.ggml.{name}_token_id", _UINT32, id) for name, id in ids.items()]
    for name, affix in zip(("bos", "eos"), vocabulary.template.affixes, strict=True):
        values.append(_value(f"tokenizer.ggml.add_{name}_token", _BOOL, affix == [roles.get(f"{name}_token")]))
    templates = vocabulary.config.get("chat_template") or []
    for item in [{"name": "default", "template": templates}] if isinstance(templates, str) else templates:
        name = "" if item["name"] == "default" else f".{item['name']}"
        values.append(_value(CHAT_TEMPLATE + name, _STRING, item["template"]))
    values.insert(0, _value("general.architecture", _STRING, "llama"))
    data = MAGIC + struct.pack("<IQQ", 3, 0, len(values)) + b"".join(values)
    return data + bytes(-len(data) % 32), notes


def _byte_level_fields(vocabulary: Vocabulary, lossy: bool) -> tuple[dict[str, tuple[int, Any]], list[str]]:
    if any(vocabulary.normalization):
        what = "normalizes text" if vocabulary.normalization.normalizers else "puts a space before a text"
        raise ConversionError(f"this vocabulary {what}, which GGUF cannot represent. Write tokenizer.json instead.")
    notes: list[str] = []
    patterns = _comparable(vocabulary.split_patterns)
    # llama.cpp leaves out alternatives of GPT-2's pattern for what no other matches; other files have it in full.
    with_space = {theirs: full for full, theirs in (_SIGNS_OF_DEEPSEEK, _CJK)}
    others = {_WORDS: PATTERNS["gpt2"], **with_space}
    names = [
        name
        for name, theirs in NAMES_OF_PATTERNS.items()
        if patterns in (_comparable(theirs), _comparable(tuple(others.get(pattern, pattern) for pattern in theirs)))
    ]
    if names and not {*vocabulary.split_patterns}.isdisjoint(with_space.values()):
        notes.append("llama.cpp separates white space outside of ASCII, such as U+3000, from the characters around it")
    if patterns == [r"\p{N}"] and vocabulary.order == "merges":
        names = ["superbpe"]
        notes = _numbers_joined(vocabulary, lossy)
    if not names:
        current = " then ".join(vocabulary.split_patterns) or "none"
        raise ConversionError(
            f"GGUF stores the name of a split pattern, and llama.cpp has none for this one: {current}. Write tokenizer.json instead."
        )
    # Some of them have the rule that a pretoken which is a token becomes that token.
    pre = min(names, key=lambda name: (name in WHOLE_PRETOKENS) != vocabulary.whole_pretokens)
    tokens, rows, more = table.tokens_and_merges(vocabulary, "GGUF", whole_pretokens=pre in WHOLE_PRETOKENS)
    texts, kinds = texts_and_kinds(vocabulary, token_texts(vocabulary, tokens), "GGUF", notes)
    merges = [f"{texts[left]} {texts[right]}" for left, right, _ in rows]
    return {
        "model": (_STRING, "gpt2"),
        "pre": (_STRING, pre),
        "tokens": (_STRING, texts),
        "token_type": (_INT32, kinds),
        "merges": (_STRING, merges),
    }, notes + more


@cache
def _comparable(patterns: tuple[str, ...]) -> list[str]:
    """Return the patterns in one spelling: newlines and quotation marks may be escaped."""
    from ..split.spelling import canonical  # late: reading needs no comparison

    spellings = (("\n", "\\n"), ("\r", "\\r"), ('\\"', '"'))
    return [reduce(lambda text, pair: text.replace(*pair), spellings, canonical(pattern)) for pattern in patterns]


def _numbers_joined(vocabulary: Vocabulary, lossy: bool) -> list[str]:
    """Return notes on numbers, each of which is a pretoken here. llama.cpp has three in a pretoken, from the right ("superbpe").

    The ids are the same if no merge joins the bytes of two neighbouring numbers, else this is a ConversionError or a note.
    Pairs are enough: at the first merge across a border, each side has the tokens of one number alone.
    """
    from ..split.alphabet import category

    numbers = [chr(code).encode() for code in range(0x30, 0x20000) if category(code) in _CATEGORIES]
    starts = {number[:i] for number in numbers for i in range(1, len(number) + 1)}
    ends = {number[i:] for number in numbers for i in range(len(number))}
    encode = merges_by_rank(vocabulary.tokens, vocabulary.events.tolist())
    cuts = ((token[:i], token[i:]) for token in vocabulary.tokens if token for i in range(1, len(token)))
    joined = [
        (left + right).decode()
        for end, start in {cut for cut in cuts if cut[0] in ends and cut[1] in starts}
        for left in numbers
        if left.endswith(end)
        for right in numbers
        if right.startswith(start) and encode(left + right) != encode(left) + encode(right)
    ]
    if not joined:
        return []
    what = f"llama.cpp gives other ids to {len(joined):,} of the {len(numbers)} x {len(numbers)} pairs of numbers, such as {joined[0]}"
    if not lossy:
        raise ConversionError(
            f"{what}, since GGUF has no name for this split pattern. Pass ", OptionName("lossy", True), " to write it."
        )
    return [what]


def _scored_fields(vocabulary: Vocabulary) -> tuple[dict[str, tuple[int, Any]], list[str]]:
    normalization = vocabulary.normalization
    if normalized := [token.content for token in vocabulary.added_tokens if token.normalized]:
        raise ConversionError(
            f"the added token {normalized[0]!r} is matched after spaces are replaced, but llama.cpp matches it in the original text"
        )
    if normalization.add_prefix_space:
        raise ConversionError("GGUF cannot represent where this vocabulary puts a space before a text")
    if normalization.other_steps or normalization.space_mark != MARK:
        raise ConversionError(
            "this vocabulary changes text by more than spaces (a character map, or white space that is removed), which GGUF "
            "cannot represent"
        )
    if len(vocabulary.byte_tokens) != 256 or None in vocabulary.byte_tokens:
        raise ConversionError(
            "this vocabulary has no byte fallback, and llama.cpp needs the 256 tokens <0x00> to <0xFF>"
        )
    notes: list[str] = []
    texts, kinds = texts_and_kinds(vocabulary, token_texts(vocabulary, vocabulary.tokens), "GGUF", notes)
    ranks = piece_scores(vocabulary)
    others = (Kind.UNKNOWN, Kind.CONTROL, Kind.UNUSED, Kind.BYTE)
    scores = [0.0 if kind in others or id >= len(ranks) else ranks[id] for id, kind in enumerate(kinds)]
    return {
        "model": (_STRING, "llama"),
        "pre": (_STRING, "default"),
        "tokens": (_STRING, texts),
        "scores": (_FLOAT32, scores),
        "token_type": (_INT32, kinds),
        "add_space_prefix": (_BOOL, normalization.prepends),
    }, notes


def _value(key: str, kind: int, value: Any) -> bytes:
    """Return the bytes of a key and its value, or of a list of values of this kind."""
    values = value if isinstance(value, list) else [value]
    head = struct.pack("<I", kind) if values is not value else struct.pack("<IIQ", _ARRAY, kind, len(values))
    if kind == _STRING:
        return _text(key) + head + b"".join(map(_text, values))
    return _text(key) + head + struct.pack(f"<{len(values)}{_NUMBERS[kind]}", *values)


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data
