"""What users of Hugging Face and tiktoken reach for: their names for a vocabulary's facts, and more special tokens."""

import json

import pytest
import tiktoken
import tokenizers
from transformers import AutoTokenizer

import tokenmill
from tokenmill.errors import UsageError

TEMPLATE = "{% for m in messages %}<|user|>{{ m['content'] }}{% endfor %}"


def test_the_names_of_hugging_face_give_what_it_gives(tok, tmp_path):
    tok.save(tmp_path / "t")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "t" / "tokenizer.json"))
    assert tok.get_vocab() == theirs.get_vocab()
    assert len(tok) == theirs.get_vocab_size() == tok.n_vocab
    assert [tok.id_to_token(id) for id in range(-1, 502)] == [None, *map(theirs.id_to_token, range(500)), None, None]
    for text in ("Ġthe", "<|user|>", "no such token", "Ã"):
        assert tok.token_to_id(text) == theirs.token_to_id(text)
    assert tok.token_to_id(b" the") == tok.encode_single_token(" the") and tok.token_to_id(b"nothing") is None
    assert tok.token_to_id(b"<|user|>") == 499


def test_special_tokens_are_added_without_training(tok, text):
    more = tok.add_special_tokens(["<|tool|>", "<|user|>", "<|assistant|>"])
    assert more.vocabulary.special_tokens == {
        "<|endoftext|>": 498,
        "<|user|>": 499,
        "<|tool|>": 500,
        "<|assistant|>": 501,
    }
    assert more.encode(text) == tok.encode(text) and tok.n_vocab == 500
    assert more.encode("<|tool|>a<|user|>", allowed_special="all") == [500, *tok.encode("a"), 499]
    assert more.decode([500, 501]) == "<|tool|><|assistant|>"
    for wrong in ("<|tool|>", ["a", "a"], [""]):
        with pytest.raises(UsageError):
            tok.add_special_tokens(wrong)


def test_special_tokens_are_added_to_a_picky_tokenizer(text, tmp_path):
    tok = tokenmill.train_from_iterator([text] * 5, 400, special_tokens=["<|a|>"], refine=0.6)
    more = tok.add_special_tokens(["<|b|>", "<|c|>"])
    assert tok.vocabulary.removed and len(more.vocabulary.removed) == len(tok.vocabulary.removed)
    n = tok.n_vocab
    assert more.vocabulary.special_tokens == {"<|a|>": n - 1, "<|b|>": n, "<|c|>": n + 1}
    assert more.n_vocab == n + 2 and more.encode(text) == tok.encode(text)
    more.save(tmp_path / "t")
    assert tokenmill.load(tmp_path / "t") == more


def test_published_encodings_by_tiktokens_names(monkeypatch, tmp_path):
    assert set(tokenmill.list_encoding_names()) == set(tiktoken.list_encoding_names())
    monkeypatch.setattr("tokenmill.tokenizer.loading.load", lambda name, download: (name, download))
    assert tokenmill.encoding_for_model("gpt-4o-mini", download=True) == ("o200k_base", True)
    with pytest.raises(
        UsageError, match=r"no published encoding is known for the model 'gpt-6'.* Did you mean 'gpt-5'"
    ):
        tokenmill.encoding_for_model("gpt-6")
    for module in (tiktoken, tokenmill):  # many programs fall back to an encoding
        with pytest.raises(KeyError):
            module.encoding_for_model("our-own-model")


@pytest.mark.parametrize("apart", [False, True])
def test_the_chat_template_and_the_roles_of_tokens_survive(tok, apart, tmp_path):
    tok.save(tmp_path / "t")
    path = tmp_path / "t" / "tokenizer_config.json"
    roles = {
        "bos_token": "<|user|>",
        "eos_token": {"content": "<|endoftext|>", "special": True},
        "pad_token": "<|user|>",
    }
    config = json.loads(path.read_text()) | roles | {"model_max_length": 2048}
    if apart:
        (tmp_path / "t" / "chat_template.jinja").write_text(TEMPLATE)
    else:
        config["chat_template"] = TEMPLATE
    path.write_text(json.dumps(config))
    loaded = tokenmill.load(tmp_path / "t")
    loaded.add_special_tokens(["<|tool|>"]).save(tmp_path / "again")
    again = AutoTokenizer.from_pretrained(tmp_path / "again")
    assert (again.bos_token, again.eos_token, again.pad_token) == ("<|user|>", "<|endoftext|>", "<|user|>")
    assert again.chat_template == TEMPLATE and again.model_max_length == 2048
    assert tokenmill.load(tmp_path / "again").vocabulary.config == loaded.vocabulary.config
    assert loaded == tok  # no id depends on it
