"""The Hugging Face folder: tokenizer.json, which `tokenizers` reads, and tokenizer_config.json for `transformers`.

tokenizer.json holds a BPE model (vocabulary, merges in order, ignore_merges), the pre-tokenizer, the normalizer and the
added tokens. Two traps of its reader decide what is written:
- The ids that it lists for added tokens are not used. A token that is in the model's vocabulary has that id; the others are
  numbered in turn from the number of tokens. So where counting would miss, the added tokens go into the vocabulary too.
- Merges know no ranks: a vocabulary of ranks (tiktoken) is written with the pair that builds each token.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from ..errors import ConversionError
from ..vocabulary import AddedToken, Vocabulary
from .byte_alphabet import to_bytes, to_text
from .pretokenizers import pre_tokenizer_json
from .text_tables import tokens_and_merges

__all__ = ["assigned_ids", "tokenizer_config_json", "tokenizer_json"]

_END_OF_TEXT = ("<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<|bos|>")
_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}


def assigned_ids(contents: Iterable[str], vocab: dict[str, int]) -> dict[str, int]:
    """The ids that Hugging Face's reader gives to added tokens in the order of the file, whatever the file says.

    >>> assigned_ids(["<a>", "b", "<c>"], {"a": 0, "b": 7})
    {'<a>': 2, 'b': 7, '<c>': 8}
    """
    ids: dict[str, int] = {}
    highest = -1
    for content in contents:
        if content not in ids:
            ids[content] = vocab[content] if content in vocab else max(len(vocab), highest + 1)
            highest = max(highest, ids[content])
    return ids


def tokenizer_json(vocabulary: Vocabulary) -> tuple[bytes, list[str]]:
    """`vocabulary` as the content of tokenizer.json, and notes on what that file does not hold.

    ConversionError where `tokenizers` would give other ids.
    """
    byte_level = vocabulary.alphabet == "bytes"
    tokens, rows, notes = tokens_and_merges(vocabulary, "tokenizer.json", whole_pretokens=True)
    if byte_level:
        texts = [None if token is None else to_text(token) for token in tokens]
    else:
        texts = [_character_text(token) for token in tokens]
        lost = [id for id, token in enumerate(tokens) if token is not None and texts[id] is None]
        if lost:
            notes.append(
                f"{len(lost)} tokens that are no UTF-8 are left out, such as {tokens[lost[0]]!r} (id {lost[0]})"
            )
        rows = [row for row in rows if texts[row[0]] is not None and texts[row[1]] is not None]
    vocab = {text: id for id, text in enumerate(texts) if text is not None}
    added = _one_name_each(vocabulary, notes)
    _put_added(vocab, added, vocabulary)

    unknown = None
    if vocabulary.unknown is not None:
        unknown = (vocabulary.token_bytes(vocabulary.unknown) or b"").decode()
    pairs: list[Any]
    if byte_level:
        pairs = [f"{texts[left]} {texts[right]}" for left, right, _ in rows]
    else:  # tokens may hold spaces here; the pairs are what newer readers write anyway
        pairs = [[texts[left], texts[right]] for left, right, _ in rows]
    normalizers: list[dict[str, Any]] = [{"type": name} for name in vocabulary.normalizers]
    head = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_added_json(token) for token in added],
        "normalizer": {"type": "Sequence", "normalizers": normalizers}
        if len(normalizers) > 1
        else next(iter(normalizers), None),
        "pre_tokenizer": pre_tokenizer_json(vocabulary.split_patterns, byte_level, vocabulary.add_prefix_space),
        "post_processor": None,
        "decoder": _BYTE_LEVEL if byte_level else {"type": "Fuse"},
    }
    model = {
        "type": "BPE",
        "dropout": None,
        "unk_token": unknown,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": vocabulary.whole_pretokens,
    }
    # One token and one merge a line: the file can be read and compared, and C writes it.
    lines = json.dumps(head, ensure_ascii=False, indent=2)[:-2], json.dumps(model, ensure_ascii=False, indent=2)[:-2]
    vocab_lines = json.dumps(vocab, ensure_ascii=False, separators=(",\n", ": "))
    pair_lines = ",\n".join(json.dumps(pair, ensure_ascii=False) for pair in pairs)
    text = f'{lines[0]},\n"model": {lines[1]},\n"vocab": {vocab_lines},\n"merges": [\n{pair_lines}\n]\n}}\n}}\n'
    return text.encode(), notes


def _character_text(token: bytes | None) -> str | None:
    """The text of a token of characters; None for a byte that was no character, which no text has."""
    try:
        return None if token is None else token.decode()
    except UnicodeDecodeError:
        return None


def _one_name_each(vocabulary: Vocabulary, notes: list[str]) -> list[AddedToken]:
    """The added tokens by id. Of several with one id the file can hold that which the id is decoded as, the last."""
    by_id = {token.id: token for token in vocabulary.added_tokens}
    for token in vocabulary.added_tokens:
        if by_id[token.id] is not token:
            name = by_id[token.id].content
            notes.append(f"the added token {token.content!r} is left out: its id, {token.id}, is that of {name!r} too")
    return [by_id[id] for id in sorted(by_id)]


def _put_added(vocab: dict[str, int], added: list[AddedToken], vocabulary: Vocabulary) -> None:
    """Put the added tokens into `vocab` if their ids would come out wrong without."""
    contents = [token.content for token in added]
    ordinary = len(vocab)
    wanted = {token.content: token.id for token in added}
    highest = max(vocab.values(), default=-1)
    for only_needed in (True, False):  # first those among the ordinary ids only, then all
        for content, id in wanted.items():
            needed = id == vocabulary.unknown or id < highest or not only_needed
            if needed and vocab.setdefault(content, id) != id:
                raise ConversionError(
                    f"the added token {content!r} (id {id}) is spelt like the ordinary token with the id {vocab[content]}, "
                    "and tokenizer.json can hold only one of them"
                )
        if assigned_ids(contents, vocab) == wanted:
            break
    if vocabulary.whole_pretokens and len(vocab) > ordinary:
        for token in added:
            if _can_be_a_pretoken(token, vocabulary):
                raise ConversionError(
                    f"the added token {token.content!r} must be in the vocabulary of tokenizer.json to keep its id "
                    f"{token.id}. There it is a token of ordinary text too, so some texts would get other ids. Give the "
                    "added tokens the ids that follow the ordinary tokens."
                )


def _can_be_a_pretoken(token: AddedToken, vocabulary: Vocabulary) -> bool:
    """Whether ordinary text can be the entry `token` of the vocabulary, and is not matched as the added token."""
    if token.single_word or vocabulary.normalizers:
        return True
    try:
        return vocabulary.alphabet == "bytes" and to_bytes(token.content).decode() != token.content
    except (KeyError, UnicodeDecodeError):
        return False


def _added_json(token: AddedToken) -> dict[str, Any]:
    return {
        "id": token.id,
        "content": token.content,
        "single_word": token.single_word,
        "lstrip": token.lstrip,
        "rstrip": token.rstrip,
        "normalized": token.normalized,
        "special": token.special,
    }


def tokenizer_config_json(vocabulary: Vocabulary) -> bytes:
    """The content of tokenizer_config.json, by which transformers' AutoTokenizer opens the folder."""
    special = vocabulary.special_tokens
    config: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": int(1e30),
        "clean_up_tokenization_spaces": False,
        "added_tokens_decoder": {
            str(token.id): {key: value for key, value in _added_json(token).items() if key != "id"}
            for token in _one_name_each(vocabulary, [])
        },
    }
    end = next((text for text in _END_OF_TEXT if text in special), None)
    if end is not None:
        config["eos_token"] = end
    if vocabulary.unknown is not None:
        config["unk_token"] = (vocabulary.token_bytes(vocabulary.unknown) or b"").decode()
    others = [text for text in special if text not in (end, config.get("unk_token"))]
    if others:
        config["additional_special_tokens"] = others
    return (json.dumps(config, ensure_ascii=False, indent=2) + "\n").encode()
