"""The settings that `Tokenizer.as_transformers` takes from the files of a folder, against those of AutoTokenizer."""

import json

import pytest
from test_as_transformers import CHAT, small, transformers

import tokenmill
from tokenmill import Tokenizer

SETTINGS = {
    "padding_side": "left",
    "truncation_side": "left",
    "model_max_length": 512,
    "model_input_names": ["input_ids"],
    "clean_up_tokenization_spaces": True,
    "split_special_tokens": True,
    "extra_special_tokens": {"image_token": "<s>"},
}


def both(folder):
    """The tokenizer of a folder as transformers' class and as tokenmill's."""
    return transformers.AutoTokenizer.from_pretrained(folder), tokenmill.load(folder).as_transformers()


def change(path, **members):
    path.write_text(json.dumps((json.loads(path.read_text()) if path.exists() else {}) | members))


def test_the_settings_of_the_files_are_kept(tmp_path):
    small().save(tmp_path / "a")
    change(tmp_path / "a" / "tokenizer_config.json", **SETTINGS)
    tokenmill.load(tmp_path / "a").save(tmp_path / "b")
    tokenmill.load(tmp_path / "b").as_transformers().save_pretrained(tmp_path / "c")
    for folder in "abc":
        theirs, ours = both(tmp_path / folder)
        for name in (*SETTINGS, "image_token"):
            if name != "extra_special_tokens":
                assert getattr(ours, name) == getattr(theirs, name) == {**SETTINGS, "image_token": "<s>"}[name]
        options = {"padding": "max_length", "truncation": True, "max_length": 4}
        assert dict(ours(["low<s>lower", "low"], **options)) == dict(theirs(["low<s>lower", "low"], **options))
    for name in ("padding_side", "model_input_names", "split_special_tokens", "model_max_length"):
        change(tmp_path / "a" / "tokenizer_config.json", **SETTINGS | {name: "up"})
        with pytest.raises(tokenmill.errors.FormatError, match=rf"at \$\.{name}: expected"):
            tokenmill.load(tmp_path / "a")


def test_the_sections_of_tokenizer_json_set_sides_and_the_token_for_padding(tmp_path):
    small().save(tmp_path)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path).backend_tokenizer
    theirs.enable_padding(direction="left", pad_token="</s>", pad_id=261)
    theirs.enable_truncation(9, direction="left")
    theirs.save(str(tmp_path / "tokenizer.json"))
    config = tmp_path / "tokenizer_config.json"
    for members in ({}, {"eos_token": "<s>"}, {"pad_token": "<pad>", "padding_side": "right"}):
        config.write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", **members}))
        theirs, ours = both(tmp_path)
        for name in ("padding_side", "truncation_side", "pad_token"):
            assert getattr(ours, name) == getattr(theirs, name), (members, name)
        assert bool(ours.bos_token) == (not members)  # by its name where the files name no role


def test_roles_of_special_tokens_map_are_kept(tmp_path):
    small().save(tmp_path)
    config = tmp_path / "tokenizer_config.json"
    change(tmp_path / "special_tokens_map.json", mask_token={"content": "<s>", "lstrip": True}, eos_token="<pad>")
    for members in ({"eos_token": "</s>"}, {"eos_token": "</s>", "added_tokens_decoder": {}}):
        config.write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", **members}))
        theirs, ours = both(tmp_path)
        assert ours.special_tokens_map == theirs.special_tokens_map


def test_a_role_in_the_files_makes_a_token_special(tmp_path):
    tok = small()
    added = tuple(token._replace(special=token.content != "</s>", lstrip=True) for token in tok.vocabulary.added_tokens)
    Tokenizer(tok.vocabulary.replace(added_tokens=added)).save(tmp_path)
    change(tmp_path / "tokenizer_config.json", eos_token="</s>")
    theirs, ours = both(tmp_path)
    for tokenizer in (theirs, ours, type(ours).from_pretrained(tmp_path)):
        ids = tokenizer("low </s>er").input_ids
        assert ids == [260, 257, 261, 258, 261] and tokenizer.decode(ids, skip_special_tokens=True) == "lower"
    assert tokenmill.load(tmp_path).decode([257, 261], skip_special_tokens=True) == "low</s>"


def test_chat_templates_in_files_of_their_own_are_kept(tmp_path):
    templates = {"default": CHAT, "rag": "{{ messages[0].content }}!"}
    small().as_transformers(chat_template=templates).save_pretrained(tmp_path / "a")
    tokenmill.load(tmp_path / "a").save(tmp_path / "b")
    small().as_transformers(chat_template={"rag": templates["rag"]}).save_pretrained(tmp_path / "c")
    messages = [{"role": "user", "content": "low"}]
    for folder in "abc":
        theirs, ours = both(tmp_path / folder)
        assert ours.chat_template == theirs.chat_template
        assert ours.apply_chat_template(messages, chat_template="rag", tokenize=False) == "low!"


def test_a_role_that_no_token_has_yet_is_added(tmp_path):
    small().save(tmp_path / "a")
    roles = {"pad_token": "<new>", "mask_token": " low", "eos_token": "</s>"}
    (tmp_path / "a" / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", **roles})
    )
    tokenmill.load(tmp_path / "a").save(tmp_path / "b")
    for folder in "ab":
        theirs, ours = both(tmp_path / folder)
        assert ours.special_tokens_map == theirs.special_tokens_map
        assert (ours.pad_token_id, len(ours)) == (theirs.pad_token_id, len(theirs))
        texts = ["low<new>", "low low low"]
        assert dict(ours(texts, padding=True)) == dict(theirs(texts, padding=True))
