"""Training for sentencepiece: the saved model gives the same ids in that library."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tokenmill
from tokenmill.errors import UsageError

sentencepiece = pytest.importorskip("sentencepiece")
pytest.importorskip("google.protobuf")

CORPUS = [
    "the low lower lowest,  the newest and the widest row\nthe\tlow\n\n  été été",
    "<unk> <s>x</s> <0x0A> low\u2581low aaaa aaa",
] * 9
TEXTS = st.text(st.sampled_from("aelostwxé漢\U0001f600 \u2581\n\t<>/unk0A") | st.characters(exclude_categories=["Cs"], exclude_characters="\0"))  # fmt: skip
WORDS = st.lists(st.sampled_from(["the", " low", "est", "  ", "<unk>", "<s>", "<0x0A>", "\u2581", "aaa", "\n"]) | TEXTS)


@pytest.fixture(scope="module", params=[{}, {"unknown_token": "<unk>"}, {"unknown_token": "?", "split": "gpt2"}])
def both(request, tmp_path_factory):
    """A trained tokenizer, and sentencepiece with its file."""
    path = tmp_path_factory.mktemp("models") / "it.model"
    special = {"special_tokens": ["<pad>"], "target": "sentencepiece", "output": path}
    size = 80 if "unknown_token" in request.param else 330
    tok = tokenmill.train_from_iterator(CORPUS, size, **special, **request.param)
    return tok, sentencepiece.SentencePieceProcessor(model_file=str(path))


def test_the_model(both, tmp_path):
    tok, engine = both
    assert [engine.id_to_piece(id) for id in range(4)] == [engine.id_to_piece(engine.unk_id()), "<s>", "</s>", "<pad>"]
    assert (engine.unk_id(), engine.bos_id(), engine.eos_id(), engine.pad_id()) == (0, 1, 2, 3)
    assert tok.n_vocab == engine.get_piece_size() and engine.piece_to_id("\u2581the") > 0
    merged = {tok.vocabulary.tokens[id] for id in tok.vocabulary.events[:, 2].tolist()}
    inside = {byte for token in merged for byte in token[1:]}
    assert engine.id_to_piece(0) == "?" or not inside & {*b" \n"}
    tok.save(tmp_path / "again.model", format="sentencepiece")
    assert tokenmill.load(tmp_path / "again.model") == tok


@settings(max_examples=200, deadline=None)
@given(words=WORDS)
def test_ids_are_those_of_sentencepiece(both, words):
    tok, engine = both
    text = "".join(words)
    ids = tok.encode_ordinary(text)
    assert ids == engine.encode(text)
    assert tok.decode(ids) == engine.decode(ids)
    if engine.is_byte(20):
        assert tok.decode(ids) == text.replace("\u2581", " ")


def test_no_piece_holds_nul(tmp_path):
    tok = tokenmill.train_from_iterator(
        [*CORPUS, "low\0low"] * 9, 330, target="sentencepiece", output=tmp_path / "a.model"
    )
    engine = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "a.model"))
    assert engine.get_piece_size() == tok.n_vocab > 300
    assert not any("\0" in engine.id_to_piece(id) for id in range(tok.n_vocab))
    assert tok.decode(tok.encode_ordinary("low\0low")) == "low\0low"


@pytest.mark.parametrize("options", [{}, {"characters": "漢字語"}, {"coverage": 0.5}])
def test_text_without_a_space(options, tmp_path):
    texts = ["漢字漢字\n漢字語", "日本語日本"] * 9
    tok = tokenmill.train_from_iterator(texts, 290, target="sentencepiece", output=tmp_path / "a.model", **options)
    engine = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "a.model"))
    for text in (" ", "漢字", "日本 語 漢字\n", "a b"):
        assert tok.encode_ordinary(text) == engine.encode(text) and tok.decode(engine.encode(text)) == text


def test_several_sizes_are_those_of_one_training(tmp_path):
    tokenmill.train_from_iterator(CORPUS, [310, 318], target="sentencepiece", output=tmp_path)
    one = tokenmill.train_from_iterator(CORPUS, 310, target="sentencepiece")
    assert tokenmill.load(tmp_path / "310.model") == one and one.n_vocab == 310


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"normalize": ["nfc"]}, "Train without normalization"),
        ({"refine": 0.9}, "only tokenmill encodes by events"),
        ({"superwords": "boundless"}, "only tokenmill encodes by events"),
        ({"superwords": "superbpe", "stage1_size": 300}, "stores tokens with scores"),
        ({"parity": True, "language": {"a": "a", "b": "b"}}, "parity-aware BPE is trained on bytes"),
    ],
)
def test_options_that_no_model_can_hold_are_refused_before_training(options, message):
    sources = () if "parity" in options else "missing.txt"
    with pytest.raises(UsageError, match=message):
        tokenmill.train_job.Train(400, sources=sources, target="sentencepiece", **options).check()


def test_roles_name_the_tokens_of_the_model(tmp_path):
    roles = {"bos": "<B>", "eos": "<E>", "unk": "<U>", "pad": "<P>"}
    path = tmp_path / "it.model"
    tok = tokenmill.train_from_iterator(CORPUS, 330, roles=roles, target="sentencepiece", output=path)
    engine = sentencepiece.SentencePieceProcessor(model_file=str(path))
    ids = {"bos": engine.bos_id(), "eos": engine.eos_id(), "unk": engine.unk_id(), "pad": engine.pad_id()}
    assert {role: engine.id_to_piece(id) for role, id in ids.items()} == roles and engine.is_byte(20)
    assert not {"<s>", "</s>", "<unk>"} & tok.special_tokens_set
    (tmp_path / "a.txt").write_text("low")
    tokenmill.encode_files(tokenmill.load(path), tmp_path / "a.txt", tmp_path / "a.bin")
    assert (tmp_path / "a.bin").read_bytes()[-2:] == engine.eos_id().to_bytes(2, "little")
    with pytest.raises(UsageError, match="unknown_token is <x>, the role unk <U>; give one"):
        tokenmill.train_from_iterator(CORPUS, 330, roles=roles, target="sentencepiece", unknown_token="<x>")
