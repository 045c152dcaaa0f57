"""Every verb that takes the name of a published encoding has the option that its message recommends."""

import pytest

from command_line import CliRunner
from tokenmill.cli.main import app

VERBS = {
    "check": ["gpt-4o", "--against", "gpt-4o"],
    "compare": ["gpt-4o", "--on", "a.txt"],
    "convert": ["gpt-4o", "out", "--to", "huggingface"],
    "decode": ["--tokenizer", "gpt-4o"],
    "encode": ["--tokenizer", "gpt-4o", "a.txt"],
    "extend": ["gpt-4o", "a.txt", "--vocab-size", "300000", "-o", "out"],
    "inspect": ["gpt-4o"],
    "play": ["gpt-4o", "--no-browser"],
    "prune": ["gpt-4o", "-o", "out", "--ids", "ids"],
}


@pytest.mark.parametrize("verb", VERBS)
def test_download_is_an_option_where_the_message_recommends_it(verb, monkeypatch, tmp_path):
    for variable in ("TIKTOKEN_CACHE_DIR", "TOKENMILL_CACHE"):
        monkeypatch.setenv(variable, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("low lower")
    asked = []
    monkeypatch.setattr("tokenmill.formats.published_encodings._download", lambda url: asked.append(url) or b"")
    without = CliRunner().invoke(app, [verb, *VERBS[verb]])
    assert without.exit_code == 1 + (verb == "check") and "--download" in without.stderr and not asked
    allowed = CliRunner().invoke(app, [verb, *VERBS[verb], "--download"])
    assert (
        allowed.exit_code == without.exit_code
        and "the download is not the published file" in allowed.stderr.replace("\n", " ")
    )
    assert asked and all(url.endswith("encodings/o200k_base.tiktoken") for url in asked)
