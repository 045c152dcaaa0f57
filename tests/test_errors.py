"""The tree of exceptions, and the error that names the extra to install."""

import pytest

from tokenmill import errors


def test_the_docstring_draws_every_class():
    classes = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)]
    assert len(classes) == 11
    for found in classes:
        assert found.__name__ in errors.__doc__
        assert issubclass(found, errors.TokenmillError)


def test_a_missing_extra_is_named():
    with pytest.raises(errors.MissingExtraError, match=r"pip install 'tokenmill\[ray\]'"):
        errors.require("no_such_module_anywhere", "ray", "counting on a cluster")


def test_an_error_inside_of_a_module_is_not_taken_for_a_missing_one(tmp_path, monkeypatch):
    (tmp_path / "broken_inside.py").write_text("import no_such_module_anywhere\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_module_anywhere"):
        errors.require("broken_inside", "ray", "counting on a cluster")


def test_an_unknown_option_names_the_nearest():
    import tokenmill

    with pytest.raises(
        errors.UnknownOptionError, match=r"train\(\) has no option 'min_cuont'. Did you mean 'min_count'"
    ):
        tokenmill.train("nowhere", 300, min_cuont=2)
    with pytest.raises(TypeError, match="Did you mean 'special_tokens'"):
        tokenmill.train_from_iterator(["low"], 300, special_token=["<s>"])
    with pytest.raises(errors.UsageError, match="Did you mean 'split'"):
        tokenmill.load("nowhere", spilt="gpt2")
    with pytest.raises(errors.UnknownOptionError, match="Its options are download, path, special_tokens, split"):
        tokenmill.load("nowhere", zzz=1)


def test_a_printable_path_has_no_surrogates():
    assert errors.printable("a\udcff/é") == "a\ufffd/é"


def test_web_addresses_need_an_extra(monkeypatch):
    fsspec = pytest.importorskip("fsspec")

    def refuse(url):
        raise ImportError('HTTPFileSystem requires "requests" and "aiohttp" to be installed')

    from tokenmill.sources.find import find_sources

    monkeypatch.setattr(fsspec.core, "url_to_fs", refuse)
    with pytest.raises(errors.MissingExtraError, match=r"pip install 'tokenmill\[corpus\]'"):
        find_sources("https://example.org/a.txt")


def test_the_extra_brings_what_web_addresses_need():
    import tomllib
    from pathlib import Path

    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text("utf-8"))["project"]
    assert any(name.startswith("aiohttp") for name in project["optional-dependencies"]["corpus"])
