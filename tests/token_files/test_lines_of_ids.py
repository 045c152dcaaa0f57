"""Lines of ids: the ids of each document as text."""

import pytest

import tokenmill
from tokenmill.sources.documents import ReadOptions
from tokenmill.token_files.job import Encode
from tokenmill.token_files.settings import EncodeOptions


@pytest.mark.parametrize("special", [False, True])
def test_lines_are_the_ids_of_each_document(tok, sources, tmp_path, monkeypatch, special):
    paths, documents = sources
    (tmp_path / "damaged.jsonl").write_text('{"text": "low"}\n{"text": 1}\n{"text": "\\ud800 lower"}\n{"text": ""}\n')
    documents = [*documents, "low", "\ufffd lower", ""]
    expected = [tok.encode(text, allowed_special="all" if special else (), disallowed_special=()) for text in documents]
    tok.save(tmp_path / "tok")
    job = Encode(
        tokenizer=tmp_path / "tok",
        sources=[*paths, tmp_path / "damaged.jsonl"],
        output=tmp_path / "ids",
        options=EncodeOptions(special=special, read=ReadOptions(skip_damaged=True)),
    )
    monkeypatch.setattr(tokenmill.Tokenizer, "encode", None)  # a call for each document would be slow
    skips = []
    job.run(on_skip=skips.append)
    assert (tmp_path / "ids").read_text() == "".join(" ".join(map(str, ids)) + "\n" for ids in expected)
    assert [skip.left_out for skip in skips] == [True, False]
