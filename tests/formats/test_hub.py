"""Tokenizers by their name on the hub: from its cache without a network, or downloaded where that is allowed."""

import hashlib
import json
import pickle
import sys
import types

import pytest

import tokenmill
from command_line import CliRunner
from tokenmill.cli.main import app
from tokenmill.errors import InputError, MissingExtraError
from tokenmill.formats.published_encodings import hub_name

COMMIT, OTHER = "a" * 40, "b" * 40


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """put(commit, refs, text): a revision of org/name in the hub's cache, with a tokenizer that has the token `text`."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "hub" / "models--org--name"

    def put(commit, refs, text):
        vocab = {"a": 0, "b": 1, text: 2}
        tokens = {"added_tokens": [], "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "a"}}
        place = folder / "snapshots" / commit
        place.mkdir(parents=True)
        (place / "tokenizer.json").write_text(json.dumps(tokens))
        for ref in refs:
            (folder / "refs" / ref).parent.mkdir(parents=True, exist_ok=True)
            (folder / "refs" / ref).write_text(commit)
        return place

    return put


def test_the_cache_is_read_offline(hub):
    place = hub(COMMIT, ["main"], "low") / "tokenizer.json"
    hub(OTHER, ["v2", "refs/pr/1"], "lower")
    tok = tokenmill.load("org/name")
    assert tok.token_to_id("low") == 2
    assert tok.source == (str(place), COMMIT, hashlib.sha256(place.read_bytes()).hexdigest(), None)
    assert pickle.loads(pickle.dumps(tok)).source == tok.source
    for revision in ("v2", "refs/pr/1", OTHER):
        again = tokenmill.load(f"org/name@{revision}")
        assert again.token_to_id("lower") == 2 and again.source.revision == OTHER
    result = CliRunner().invoke(app, ["inspect", "org/name"])
    assert result.exit_code == 0 and "ordinary tokens" in result.stdout


def test_the_cache_is_in_the_folder_that_the_hub_has_it_in(hub, tmp_path, monkeypatch):
    hub(COMMIT, ["main"], "ab")
    monkeypatch.delenv("HF_HUB_CACHE")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    assert tokenmill.load("org/name").source.revision == COMMIT


def test_what_is_not_there_is_an_error_that_names_the_way_out(hub):
    hub(COMMIT, ["main"], "low")
    for name in ("org/other", "org/name@v3"):
        with pytest.raises(InputError, match=r"not in the Hugging Face cache .* download=True"):
            tokenmill.load(name)
    result = CliRunner().invoke(app, ["inspect", "org/other"])
    assert result.exit_code == 1 and "--download" in result.stderr and "Traceback" not in result.output


def test_a_download_is_by_huggingface_hub(hub, monkeypatch):
    asked = []

    def snapshot_download(repository, revision, allow_patterns):
        asked.append((repository, revision))
        if revision != "main":
            raise OSError("no such revision")
        return str(hub(COMMIT, ["main"], "low"))

    monkeypatch.setitem(sys.modules, "huggingface_hub", types.SimpleNamespace(snapshot_download=snapshot_download))
    assert tokenmill.load("org/name", download=True).source.revision == COMMIT
    assert tokenmill.load("org/name", download=True).source.revision == COMMIT
    assert asked == [("org/name", "main")]  # the second time it is in the cache
    with pytest.raises(InputError, match=r"cannot download org/name at v9: no such revision"):
        tokenmill.load("org/name@v9", download=True)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtraError, match="the extra 'hub'"):
        tokenmill.load("org/unknown", download=True)


@pytest.mark.parametrize(
    ("kind", "advice"),
    [
        ("GatedRepoError", "Accept the licence on the model's page on the hub, and run `hf auth login` once."),
        ("RepositoryNotFoundError", "Check the name. If the repository is private, run `hf auth login` once."),
        (
            "LocalEntryNotFoundError",
            "Check the name, the revision, the network, and whether the repository needs a token.",
        ),
    ],
)
def test_a_refused_download_is_one_line_that_says_what_to_do(hub, monkeypatch, kind, advice):
    def snapshot_download(repository, revision, allow_patterns):
        raise type(kind, (OSError,), {})("401 Client Error. (Request ID: x)\n\nCannot access it.\nPlease log in.")

    monkeypatch.setitem(sys.modules, "huggingface_hub", types.SimpleNamespace(snapshot_download=snapshot_download))
    with pytest.raises(InputError) as refused:
        tokenmill.load("org/name", download=True)
    expected = "cannot download org/name at main: 401 Client Error. (Request ID: x) Cannot access it. Please log in. "
    assert str(refused.value) == expected + advice


def test_a_path_comes_first(hub, tmp_path):
    hub(COMMIT, ["main"], "low")
    vocab = {"x": 0}
    (tmp_path / "org" / "name").mkdir(parents=True)
    whole = {"added_tokens": [], "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "x"}}
    (tmp_path / "org" / "name" / "tokenizer.json").write_text(json.dumps(whole))
    tok = tokenmill.load("org/name")
    assert tok.n_vocab == 1 and tok.source.revision is None


@pytest.mark.parametrize(
    "path", ["/org/name", "org", "org/name/more", "../org", "org/..", "org/name@../x", "org/name@", ""]
)
def test_what_is_not_a_name_on_the_hub(path):
    assert hub_name(path) is None


def test_a_published_name_is_not_part_of_a_path():
    with pytest.raises(InputError):
        tokenmill.load("gpt2-community/model")
