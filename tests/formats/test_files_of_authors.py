"""Files of picky_bpe and CLIP, merges.txt without its first line, and what other libraries do with text that has no token."""

import itertools
import json
import random

import pytest
import tokenizers
from tokenizers import decoders, models, pre_tokenizers, trainers

import tokenmill
from tokenmill.errors import UsageError
from tokenmill.token_files.settings import EncodeOptions

LINES = [
    "the quick brown fox jumps over the lazy dog",
    "low lower lowest newer wider",
    "the other brother bothers them",
] * 5
MARK = "\u2581"


@pytest.fixture
def picky_model() -> dict:
    """A model.json as picky_bpe writes it, some of whose tokens are removed."""
    trained = tokenmill.train_from_iterator(LINES, vocab_size=60, alphabet="characters", split=" ?[^ ]+| ").vocabulary
    texts = [(token or b"").decode().replace(" ", MARK) for token in trained.tokens]
    made = {new + 4: (left + 4, right + 4) for left, right, new in trained.events.tolist()}
    removed = set(random.Random(1).sample(sorted(made), 12))
    tokens = [{"id": id, "str": text, "special": True, "present": True, "left": None, "right": None}
              for id, text in enumerate(("<PAD>", "<UNK>", "<BOS>", "<EOS>"))]  # fmt: skip
    for id, text in enumerate(texts, 4):
        left, right = made.get(id, (None, None))
        tokens.append(
            {"id": id, "str": text, "special": False, "present": id not in removed, "left": left, "right": right}
        )
    present = [token["id"] for token in tokens if token["present"]]
    return {"tokens": tokens, "id2int": {str(id): n for n, id in enumerate(present)}}


def encoded_by_picky(model: dict, line: str) -> list[int]:
    """The ids that picky_bpe's rule gives to a line: merges by id, then the removed tokens are cut up."""
    tokens = {token["id"]: token for token in model["tokens"]}
    by_text = {token["str"]: token["id"] for token in model["tokens"]}
    merges = {(token["left"], token["right"]): id for id, token in tokens.items() if token["left"] is not None}

    def cut(id: int) -> list[int]:
        return [id] if tokens[id]["present"] else [*cut(tokens[id]["left"]), *cut(tokens[id]["right"])]

    ids = []
    for word in line.strip().split(" "):
        parts = [by_text.get(character, 1) for character in MARK + word]
        while found := [(merges[pair], pair) for pair in itertools.pairwise(parts) if pair in merges]:
            new, pair = min(found)
            at = 0
            while at < len(parts) - 1:
                if (parts[at], parts[at + 1]) == pair:
                    parts[at : at + 2] = [new]
                at += 1
        parts = [by_text[MARK + word]] if MARK + word in by_text else parts
        ids += [model["id2int"][str(id)] for part in parts for id in cut(part)]
    return ids


def test_picky_model(tmp_path, picky_model):
    path = tmp_path / "model.json"
    path.write_text(json.dumps(picky_model))
    tok = tokenmill.load(path)
    for line in [*LINES[:3], "  a  b ", "lowest Zebra", "thethe owowow", "quickest<PAD>"]:
        assert tok.encode(line, disallowed_special=()) == encoded_by_picky(picky_model, line)
    assert tok.decode(tok.encode("low lower\nlowest")) == "low lower lowest"
    tokens, ids = picky_model["tokens"], picky_model["id2int"]
    for change, said in (
        ({"tokens": [*tokens[:-1], {**tokens[-1], "left": 999}]}, r"tokens\[\d+\]: a part"),
        ({"tokens": [{**tokens[0], "str": "<U>"}, {**tokens[1], "str": "<V>"}, *tokens[2:]]}, "has no token <UNK>"),
        ({"id2int": dict.fromkeys(ids, 0)}, r"id2int: its ids are not 0 to \d+, one for each present token"),
    ):
        path.write_text(json.dumps(picky_model | change))
        with pytest.raises(tokenmill.errors.FormatError, match=said):
            tokenmill.load(path)


def test_a_removed_word_that_may_get_other_ids_is_told(tmp_path):
    """picky_bpe takes a word that is a token at once, and cuts it up if it is removed; the merges by id never make " ab"."""
    texts = [
        ("<UNK>", None),
        (MARK, None),
        ("a", None),
        ("b", None),
        ("ab", (2, 3)),
        (f"{MARK}a", (1, 2)),
        (f"{MARK}ab", (5, 3)),
    ]
    tokens = [
        {"id": id, "str": text, "special": id == 0, "present": id < 6, "left": (pair or [None])[0], "right": (pair or [None])[-1]}
        for id, (text, pair) in enumerate(texts)
    ]  # fmt: skip
    (tmp_path / "model.json").write_text(json.dumps({"tokens": tokens, "id2int": {str(id): id for id in range(6)}}))
    (note,) = tokenmill.load(tmp_path / "model.json").vocabulary.notes
    assert note == "1 removed words may get other ids than picky_bpe gives, such as ' ab'"


def test_merges_of_clip(tmp_path):
    merges = ["t h", "i n", "th e</w>", "o w", "l ow", "l ow</w>", "o w</w>", "in g</w>"]
    path = tmp_path / "bpe_simple_vocab_16e6.txt"
    path.write_text('"bpe_simple_vocab_16e6.txt#version: 0.2\n' + "\n".join(merges) + "\n")
    tok = tokenmill.load(path)
    assert tok.n_vocab == 512 + len(merges) + 2
    assert [tok.id_to_token(id) for id in tok.encode("The lows  LOW, owing")] == [
        "the</w>", "low", "s</w>", "low</w>", ",</w>", "ow", "ing</w>",
    ]  # fmt: skip
    assert tok.encode_single_token("<|endoftext|>") == tok.n_vocab - 1
    folder = tmp_path / "pair"
    folder.mkdir()
    (folder / "vocab.json").write_text(json.dumps(tok.get_vocab()))
    (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n")
    for pair in (folder, folder / "vocab.json", folder / "merges.txt"):
        assert tokenmill.load(pair).encode("The lows  LOW, owing") == tok.encode("The lows  LOW, owing")


def test_clip_takes_the_first_merges_of_a_longer_file(tmp_path):
    path = tmp_path / "bpe_simple_vocab_16e6.txt"
    letters = [chr(code) for code in range(ord("A"), ord("A") + 40)]
    merges = ["A B</w>", *map(" ".join, itertools.product(letters, letters))]
    merges += [f"{a}{b} {c}" for a, b, c in itertools.product(letters, letters, letters)]
    path.write_text("#version: 0.2\n" + "\n".join(merges) + "\n")
    tok = tokenmill.load(path)
    assert (tok.n_vocab, tok.encode_single_token("<|endoftext|>")) == (49408, 49407)  # as CLIP


def test_merges_without_the_first_line(tmp_path):
    tok = tokenmill.train_from_iterator(LINES, vocab_size=300, split="gpt2")
    tok.save(tmp_path / "pair", format="merges")
    (tmp_path / "pair/tokenmill.json").unlink()
    merges = tmp_path / "pair/merges.txt"
    merges.write_text(merges.read_text().partition("\n")[2])
    assert tokenmill.load(merges, split="gpt2").encode(LINES[0]) == tok.encode(LINES[0])


def test_characters_without_a_token_are_dropped(tmp_path):
    model = tokenizers.Tokenizer(models.BPE())
    model.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    model.decoder = decoders.ByteLevel()
    model.train_from_iterator(LINES, trainers.BpeTrainer(vocab_size=60, show_progress=False))
    model.save(str(tmp_path / "tokenizer.json"))
    text = "the quick l\u00e9ow Zlow \U0001f600"
    with pytest.raises(UsageError, match="no token for"):
        tokenmill.load(tmp_path).encode(text)
    with pytest.warns(UserWarning, match="dropped"):
        tok = tokenmill.load(tmp_path, drop_unknown=True)
    assert tok.encode(text) == model.encode(text).ids
    assert (tok.count_dropped(text), tok.count_dropped("low")) == (2 + 1 + 4, 0)


def test_special_tokens_are_not_dropped(tmp_path):
    model = tokenizers.Tokenizer(models.BPE({"a": 0}, []))
    model.add_special_tokens(["<s>"])
    model.save(str(tmp_path / "tokenizer.json"))
    with pytest.warns(UserWarning, match="dropped"):
        tok = tokenmill.load(tmp_path, drop_unknown=True)
    (tmp_path / "a.txt").write_text("a<s>xa")
    for special, dropped in ((True, 1), (False, 4)):
        options = EncodeOptions(end_of_text=False, special=special)
        assert (
            tokenmill.encode_files(tok, tmp_path / "a.txt", tmp_path / f"{special}.bin", options=options).dropped
            == dropped
        )
    assert tok.count_dropped("a<s>xa", allowed_special="all") == 1
    assert tok.count_dropped("a<s>xa", disallowed_special=()) == 4


def test_no_warning_where_every_text_has_tokens(tmp_path, recwarn):
    tok = tokenmill.train_from_iterator(LINES, vocab_size=300)
    tok.save(tmp_path / "bytes")
    assert tokenmill.load(tmp_path / "bytes", drop_unknown=True) == tok
    assert not recwarn.list
    (tmp_path / "few.tiktoken").write_text("YQ== 0\n")
    with pytest.raises(UsageError, match=r"few\.tiktoken: only a tokenizer\.json drops characters without a token"):
        tokenmill.load(tmp_path / "few.tiktoken", split="gpt2", drop_unknown=True)


@pytest.mark.parametrize("options", [{}, {"normalization_rule_name": "identity"}])
def test_symbol_of_the_user_that_begins_with_a_space(tmp_path, options):
    spm = pytest.importorskip("sentencepiece")
    (tmp_path / "lines").write_text("\n".join(LINES))
    spm.SentencePieceTrainer.train(
        input=str(tmp_path / "lines"), model_prefix=str(tmp_path / "m"), vocab_size=80, model_type="bpe", minloglevel=2,
        hard_vocab_limit=False, user_defined_symbols=[f"{MARK}lo"], **options,
    )  # fmt: skip
    theirs = spm.SentencePieceProcessor(model_file=str(tmp_path / "m.model"))
    tok = tokenmill.load(tmp_path / "m.model")
    for text in ("lowest", "lo  ", "a lo", "the low lo"):
        assert tok.encode(text) == theirs.encode(text)


@pytest.mark.parametrize("left_out", [MARK, "o"])
def test_pieces_of_a_character_without_a_piece(tmp_path, left_out):
    """sentencepiece merges characters that are no pieces themselves."""
    spm = pytest.importorskip("sentencepiece")
    messages = pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
    (tmp_path / "lines").write_text("\n".join(LINES))
    spm.SentencePieceTrainer.train(
        input=str(tmp_path / "lines"), model_prefix=str(tmp_path / "m"), vocab_size=80, model_type="bpe", minloglevel=2
    )
    model = messages.ModelProto.FromString((tmp_path / "m.model").read_bytes())
    (place,) = (n for n, piece in enumerate(model.pieces) if piece.piece == left_out)
    del model.pieces[place]
    (tmp_path / "fewer.model").write_bytes(model.SerializeToString())
    theirs = spm.SentencePieceProcessor(model_file=str(tmp_path / "fewer.model"))
    tok = tokenmill.load(tmp_path / "fewer.model")
    for text in ("lowest", " lo", "o a lo", "the low lo"):
        assert tok.encode_ordinary(text) == theirs.encode(text)
