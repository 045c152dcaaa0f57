"""The tree of exceptions, and the error that names the extra to install."""

import re
from dataclasses import replace

import pytest

from tokenmill import errors


def test_the_docstring_draws_every_class():
    classes = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)]
    assert len(classes) == 13
    for found in classes:
        assert found.__name__ in errors.__doc__
        assert issubclass(found, errors.TokenmillError)


def test_a_missing_extra_is_named():
    with pytest.raises(errors.MissingExtraError, match=r"the extra 'ray'; .* pip install '\.\[ray\]'"):
        errors.require("no_such_module_anywhere", "ray", "counting on a cluster")


@pytest.mark.parametrize("code", ["import another_that_is_missing", "raise TypeError('built for release 7')"])
def test_a_library_that_fails_is_one_error_that_says_why(tmp_path, monkeypatch, code):
    (tmp_path / "broken_inside.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(errors.MissingExtraError, match=r"cannot be used \((No module|built for).* the extra 'ray'"):
        errors.require("broken_inside", "ray", "counting on a cluster")


def test_a_library_that_is_too_old_is_named_with_its_version(monkeypatch):
    import tomllib
    from pathlib import Path

    import tokenmill

    transformers = pytest.importorskip("transformers")
    tok = tokenmill.train_from_iterator(["low"], 260, special_tokens=["<|endoftext|>"])
    for version, works in {"4.57.6": False, "5.23.9": False, "5.24.0": True, "6.0.0.dev0": True}.items():
        monkeypatch.setattr(transformers, "__version__", version)
        if works:
            tok.as_transformers()
            continue
        with pytest.raises(errors.MissingExtraError, match=rf"cannot be used \({version} is older than 5.24\)"):
            tok.as_transformers()
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text("utf-8"))["project"]
    assert "transformers>=5.24" in project["optional-dependencies"]["transformers"]


def test_a_special_token_in_a_text_is_one_error_and_not_a_chain():
    import tokenmill

    tok = tokenmill.train_from_iterator(["low"], 260, special_tokens=["<x>"])
    for call in (tok.encode, tok.count_tokens, tok.encode_to_numpy, lambda text: tok.encode_batch([text])):
        with pytest.raises(errors.SpecialTokenError) as caught:
            call("<x>")
        assert caught.value.__suppress_context__ and caught.value.__cause__ is None


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
    with pytest.raises(errors.UnknownOptionError, match="Its options are download, drop_unknown, force, path"):
        tokenmill.load("nowhere", zzz=1)


def test_a_printable_path_has_no_surrogates():
    assert errors.printable("a\udcff/é") == "a\ufffd/é"
    assert errors.printable("a\x1b[31m\x9b") == "a\\x1b[31m\\x9b"


def test_options_without_a_name_are_refused_with_their_names():
    import tokenmill

    tok = tokenmill.train_from_iterator(["low"], 260)
    with pytest.raises(errors.UnknownOptionError, match=r"inspect\(\) has too many .* text=..., name=..., options=..."):
        tokenmill.inspect(tok, "corpus/*.txt")
    with pytest.raises(
        TypeError, match=r"encode_ordinary_batch\(\) has too many .* Name the options: num_threads=...$"
    ):
        tok.encode_ordinary_batch(["low"], 2)
    with pytest.raises(TypeError, match=r"decode_bytes\(\) takes 2 positional arguments but 3 were given"):
        tok.decode_bytes([1], 2)


def test_keys_and_the_names_of_columns_are_not_encoded_or_counted():
    import numpy as np

    import tokenmill

    class DataFrame:  # as in pandas, it iterates over the names of its columns
        ndim = 2

        def __iter__(self):
            return iter(["text", "id"])

    tok = tokenmill.train_from_iterator(["low"], 260)
    for call in (
        tok.encode_batch,
        tok.encode_ordinary_batch,
        tok.encode_batch_to_numpy,
        tokenmill.count_iterator,
        lambda texts: tokenmill.train_from_iterator(texts, 260),
        lambda texts: tokenmill.train_from_iterator(texts, 260, superwords="superbpe", stage1_size=258),
        lambda texts: tokenmill.check(tok, tok, texts=texts),
    ):
        for texts in (DataFrame(), {"text": "low"}, np.array([["low"]])):
            with pytest.raises(
                errors.WrongTypeError, match=r"texts is (a|array).*(DataFrame|dict|ndarray); .*list of texts"
            ):
                call(texts)


def test_web_addresses_need_an_extra(monkeypatch):
    fsspec = pytest.importorskip("fsspec")

    def refuse(url):
        raise ImportError('HTTPFileSystem requires "requests" and "aiohttp" to be installed')

    from tokenmill.sources.find import find_sources

    monkeypatch.setattr(fsspec.core, "url_to_fs", refuse)
    with pytest.raises(errors.MissingExtraError, match="the extra 'corpus'"):
        find_sources("https://example.org/a.txt")


def test_the_extra_brings_what_web_addresses_need():
    import tomllib
    from pathlib import Path

    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text("utf-8"))["project"]
    assert any(name.startswith("aiohttp") for name in project["optional-dependencies"]["corpus"])


def test_wrong_types_give_our_errors(tmp_path):
    import numpy as np

    import tokenmill

    tok = tokenmill.train_from_iterator(["low lower lowest"], np.int64(258))
    (tmp_path / "a.txt").write_text("low")
    with pytest.raises(errors.UsageError, match=r"memory_limit is 1.5; it must be text or a whole number"):
        tokenmill.count(tmp_path / "a.txt", memory_limit=1.5)
    with pytest.raises(errors.UsageError, match=r"vocab_size is 300.0; it must be a whole number"):
        tokenmill.train(tmp_path / "a.txt", 300.0)
    with pytest.raises(errors.UsageError, match=r"progress is 3, .*; it must be a function, True, False or None"):
        tokenmill.train(tmp_path / "a.txt", 300, progress=3)
    with pytest.raises(errors.UsageError, match=r"it must be text, a path or a list of texts or paths$"):
        tokenmill.train(3, 300)
    with pytest.raises(
        errors.UnknownOptionError,
        match=r"encode_batch\(\) has no option 'allow_special'. Did you mean 'allowed_special'",
    ):
        tok.encode_batch(["low"], allow_special="all")
    with pytest.raises(
        errors.UnknownOptionError, match=r"count_tokens\(\) .* 'num_thread'. Did you mean 'num_threads'"
    ):
        tok.count_tokens("low", num_thread=2)
    with pytest.raises(errors.UnknownOptionError, match=r"truncate\(\) .* 'max_token'. Did you mean 'max_tokens'"):
        tok.truncate("low", 2, max_token=2)
    with pytest.raises(errors.UsageError, match=r"not 'cl100k_base'; tokenmill.load opens files and names"):
        tokenmill.Tokenizer("cl100k_base")
    with pytest.raises(errors.UsageError, match=r"texts is one str; give a list of texts"):
        tokenmill.check(tok, tok, texts="he")
    with pytest.raises(
        errors.UsageError, match=r"library is 'x'; give what formats.encode_with_library returns, or None"
    ):
        tokenmill.check(tok, tok, library="x")
    for call in (tok.encode, tok.encode_ordinary, tok.encode_to_numpy, tok.count_tokens, tok.show, tok.encode_with_offsets,
                 tok.encode_with_unstable, tok.stream_encoder().feed, lambda text: tok.truncate(text, 2),
                 lambda text: tok.chunks(text, 2)):  # fmt: skip
        for wrong in (3, None, ["low"]):
            with pytest.raises(errors.WrongTypeError, match=f"text is str.*, not {type(wrong).__name__}"):
                call(wrong)
    for wrong in (3, None, "low"):
        with pytest.raises(errors.WrongTypeError, match="a list of texts"):
            tok.encode_batch(wrong)
    for several in (["low"], ("low",)):
        with pytest.raises(errors.WrongTypeError, match=r"not (list|tuple); encode_batch encodes a list of texts"):
            tok.encode(several)
    with pytest.raises(errors.UsageError, match=r"max_tokens is '2'; give a number, 0 or more"):
        tok.truncate("low", "2")
    with pytest.raises(errors.UsageError, match=r"vocab_size is '300'; it must be a whole number"):
        tokenmill.train(tmp_path / "a.txt", vocab_size="300")
    with pytest.raises(errors.UsageError, match="min_uses is '2', of the type str; it must be a whole number"):
        tokenmill.shrink(tok, text=tmp_path / "a.txt", min_uses="2")
    with pytest.raises(errors.UsageError, match="fuzz is '5', of the type str; it must be a whole number"):
        tokenmill.check(tok, tok, fuzz="5")
    with pytest.raises(errors.UsageError, match=r"options is \{\}; give tokenmill.InspectionOptions"):
        tokenmill.inspect(tok, options={})
    with pytest.raises(errors.UsageError, match="no published encoding is known by the name 'cl100k-bas'"):
        tokenmill.get_encoding("cl100k-bas")


def test_an_error_of_a_callback_is_passed_on(tmp_path):
    import tokenmill

    def progress(stage, done, total):
        raise ValueError("of the caller")

    (tmp_path / "a.txt").write_text("low lower")
    with pytest.raises(ValueError, match="of the caller"):
        tokenmill.train(str(tmp_path / "a.txt"), 258, output=str(tmp_path / "tok"), progress=progress)


def test_a_wrong_type_names_the_argument(tmp_path):
    import tokenmill

    tok = tokenmill.train_from_iterator(["low lower lowest"], 258)
    (tmp_path / "a.txt").write_text("low")
    wrong = {
        "sources": [lambda: tokenmill.count(5), lambda: tokenmill.train([5], 300)],
        "path": [lambda: tokenmill.load(5), lambda: tokenmill.load_tokens(None), lambda: tokenmill.WordCounts.load(5)],
        "texts": [lambda: tokenmill.train_from_iterator(5, 300), lambda: tokenmill.check(tok, tok, texts=5)],
        "counts": [lambda: tokenmill.train_from_counts(5, 300)],
        "tok": [lambda: tokenmill.encode_files("x", tmp_path / "a.txt", tmp_path / "a.bin")],
        "num_threads": [lambda: tokenmill.count(tmp_path / "a.txt", num_threads="2")],
        "mapping": [lambda: tokenmill.WordCounts.from_mapping(5)],
    }
    for name, calls in wrong.items():
        for call in calls:
            with pytest.raises(errors.UsageError, match=rf"^{name} is .*, of the type"):
                call()

    def texts():
        yield "low"
        raise TypeError("of the caller")

    with pytest.raises(TypeError, match="of the caller"):
        tokenmill.count_iterator(texts())


def test_the_port_of_play_is_checked():
    from command_line import CliRunner
    from tokenmill.cli.main import app

    result = CliRunner().invoke(app, ["play", "--port", "99999999"])
    assert result.exit_code == 2 and "--port is 99999999; it must be at most 65535" in result.stderr
    result = CliRunner().invoke(app, ["count", "a.txt", "-o", ""])
    assert result.exit_code == 2 and "--output is empty" in result.stderr


@pytest.mark.parametrize("closed", ["1", "2"])
def test_a_closed_stream_is_no_traceback(tmp_path, closed):
    import shlex
    import subprocess

    import tokenmill
    from command_line import program

    tokenmill.train_from_iterator(["low lower lowest"], 258).save(tmp_path / "tok")
    (tmp_path / "a.txt").write_text("low")
    command = program("encode --tokenizer", tmp_path / "tok", tmp_path / "a.txt")
    ended = subprocess.run(
        f"{shlex.join(command)} {closed}>&-", shell=True, capture_output=True, text=True, timeout=120
    )
    assert "Traceback" not in ended.stderr and ended.returncode == (1 if closed == "1" else 0)
    assert ("cannot write the output" in ended.stderr) == (closed == "1")


def test_a_training_of_several_sizes_in_python(tmp_path):
    """As on the command line: sizes, and the certificate of a change."""
    import tokenmill

    (tmp_path / "a.txt").write_text("low lower lowest newer newest " * 20)
    sources = [str(tmp_path / "a.txt")]
    trained = tokenmill.Train(sources=sources, vocab_size=(258, 262), output=tmp_path / "out").run()
    assert {size: tok.n_vocab for size, tok in trained.toks.items()} == {258: 258, 262: 262}
    assert tokenmill.load(tmp_path / "out" / "258").n_vocab == 258
    smaller = tokenmill.Prune(tokenizer=trained.tok, script=["Greek"], output=tmp_path / "small").run()
    assert smaller.certificate is not None and smaller.certificate.ids == smaller.tok.n_vocab


def test_methods_refuse_unknown_options_and_wrong_types():
    import tokenmill

    text = "low lower lowest " * 9
    tok, counts = tokenmill.train_from_iterator([text], 260), tokenmill.count_iterator([text])
    splitter = tokenmill.Splitter("llama3")
    for method in (
        tok.encode,
        tok.encode_ordinary,
        tok.encode_batch,
        tok.count_tokens,
        tok.count_dropped,
        tok.decode,
        tok.show,
        splitter.split,
    ):
        with pytest.raises(errors.UnknownOptionError, match="foo"):
            method("low", foo=1)
    with pytest.raises(errors.UnknownOptionError, match="Did you mean 'skip_special_tokens'"):
        tok.decode([104], skip_specials=True)
    for call in (
        lambda: tok.encode("low", allowed_special=3.5),
        lambda: tok.encode_batch(["low"], num_threads=3.5),
        lambda: tok.decode(3.5),
        lambda: tok.decode_bytes(3.5),
        lambda: tok.decode_batch(3.5),
        lambda: tok.id_to_token(3.5),
        lambda: tok.count_dropped(3.5),
        lambda: tokenmill.train_from_iterator([text], 260, ratios=range(3)),
        lambda: tok.count_tokens_in(text),
        lambda: counts.merge(3.5),
        lambda: counts.merge([text]),
        lambda: counts.most_common("3"),
        lambda: splitter.split(3.5),
    ):
        with pytest.raises(errors.WrongTypeError):
            call()


def test_what_goes_wrong_is_said_in_words(tmp_path, monkeypatch):
    """Wrong arguments of the Python interface, each with a part of its message."""
    import tokenmill
    from tokenmill import Tokenizer, Vocabulary, WordCounts, train

    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("low lower lowest")
    counts = WordCounts.from_mapping({b"low": 2})
    tok = tokenmill.train_from_counts(counts, 258)
    mine = tok.vocabulary
    twice = Tokenizer(Vocabulary(mine.tokens, ("a", "b"), "merges", mine.events, whole_pretokens=False))
    normalizing = tokenmill.train_from_counts(counts, 258, split="gpt2", normalize=["nfkc"])
    said = {
        "the texts must be strings or bytes, but one is int: 5": lambda: tokenmill.count_iterator(["a", 5]),
        "the pretoken b'a' is there twice": lambda: WordCounts.from_mapping({b"a": 1, "a": 2}),
        "pretokens are bytes or str, but 5 is int": lambda: WordCounts.from_mapping({5: 1}),
        "has a lone surrogate, which no UTF-8 spells": lambda: WordCounts.from_mapping({"\ud800": 1}),
        "documents must be an int of 0 or more, not -1": lambda: replace(counts, documents=-1),
        "counts add up to 2**63 tokens or more": lambda: tokenmill.train_from_counts(
            {b"low": 2**62, b"ow": 2**62}, 260
        ),
        "longest match would change ids": lambda: tok.save("made", format="longest-match"),
        "this vocabulary normalizes text, which GGUF cannot": lambda: normalizing.save("made.gguf", format="gguf"),
        "a SentencePiece model has its own normalizer": lambda: train(
            "a.txt", 300, target="sentencepiece", normalize=["nfkc"]
        ),
        "output is empty: name a path": lambda: train("a.txt", 260, output=""),
        "superwords are trained on bytes": lambda: train("a.txt", 300, superwords="boundless", alphabet="characters"),
        "superwords are trained on the text as it is; leave out special_tokens_as_text": lambda: train(
            "a.txt", 300, superwords="boundless", special_tokens_as_text=True
        ),
        "the language de has no ratio": lambda: tokenmill.train_parity(
            {"en": "a.txt", "de": "a.txt"}, vocab_size=300, ratios={"en": 1}
        ),
        "give either ids, or ios with counts": lambda: tokenmill.prune(tok),
        "give a text, scripts, or both": lambda: tokenmill.shrink(tok),
        "mergeable_ranks is empty": lambda: Tokenizer.from_ranks({}, split="gpt2"),
        "mergeable_ranks has a negative id": lambda: Tokenizer.from_ranks({b"a": -1}, split="gpt2"),
        "splits by 2 patterns; see tok.vocabulary.split_patterns": lambda: twice.split_pattern,
        "cache_bytes is -1; give 0 (no cache) or more": lambda: Tokenizer(mine, cache_bytes=-1),
        "wrong at character 2: a ')' without its '('": lambda: tokenmill.Splitter("a)"),
        "there are 9 split patterns; at most 8": lambda: tokenmill.Splitter(*"abcdefghi"),
    }
    for message, call in said.items():
        with pytest.raises(errors.TokenmillError, match=re.escape(message)):
            call()
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_an_annotation_that_cannot_be_read_hides_no_error():
    def broken(text: "numpy.ndarray", size: int = 1):  # noqa: F821
        return text.missing

    with pytest.raises(AttributeError, match="missing"):
        errors.suggests_options(broken)("low")


def test_parquet_without_pyarrow_is_not_called_word_counts(tmp_path, monkeypatch):
    """A folder of Parquet may be word counts or text: it is opened to see which."""
    import sys

    import tokenmill

    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(errors.MissingExtraError, match=r"^reading Parquet needs the module 'pyarrow'"):
        tokenmill.train(tmp_path, 300)


def test_constructors_and_options_name_the_argument_of_a_wrong_type():
    import tokenmill

    tok = tokenmill.train_from_iterator(["low lower lowest"], 258)
    table = tokenmill.inspect(tok).tables[0]
    wrong = {
        "cache_bytes": [
            lambda value=value: tokenmill.Tokenizer(tok.vocabulary, cache_bytes=value) for value in ("a", 0.5)
        ],
        "overwrite": [lambda: tok.save("tok", overwrite="no")],
        "download": [lambda: tokenmill.load("gpt2", download="no")],
        "checkpoint_every": [lambda: tokenmill.JobOptions(checkpoint_every="a")],
        "thresholds": [lambda: tokenmill.InspectionOptions(thresholds=0.5)],
        "options": [lambda: tokenmill.Encode(tokenizer=tok, options={})],
        "special_tokens": [
            lambda: tokenmill.Train(300, special_tokens=3),
            lambda: tokenmill.Splitter(special_tokens=[1]),
        ],
        "normalize": [lambda: tokenmill.Train(300, normalize=1.5)],
        "ratios": [lambda: tokenmill.Train(300, ratios=[1])],
        "weights": [lambda: tokenmill.CountOptions(weights="a=1"), lambda: tokenmill.CountOptions(weights={1: 2})],
        "min_count": [lambda: tokenmill.CountOptions(min_count=None), lambda: tokenmill.Train(300, min_count=2**70)],
        "vocab_size": [lambda: tokenmill.Train([]), lambda: tokenmill.Train(None)],
        "max_document_bytes": [
            lambda value=value: tokenmill.ReadOptions(max_document_bytes=value) for value in ("a", 1.5)
        ],
        "field": [lambda: tokenmill.ReadOptions(field=5)],
        "memory_limit": [lambda: tokenmill.count_iterator(["low"], memory_limit=float("inf"))],
        "num_threads": [lambda value=value: tok.encode_batch(["low"], num_threads=value) for value in (2**70, True)],
        "sources": [lambda: tokenmill.read_documents(5), lambda: tokenmill.count(b"a.txt")],
        "text": [
            lambda value=value: tokenmill.inspect(tok, text=value) for value in (b"x", {1: 2}, {"x": 5}, {"x": [None]})
        ],
        "errors": [lambda: tok.decode([108], errors=5)],
        "id": [lambda: tok.vocabulary.token_bytes("a")],
        "joins has 1 bytes; give 8,192": [lambda: tokenmill.Splitter("gpt2", joins=b"x")],
        r"read_documents\(\) has no option 'units'. Did you mean 'unit'": [
            lambda: tokenmill.read_documents("a", units="line")
        ],
        "top": [lambda: tokenmill.inspect(tok).to_html(top="a")],
        "level": [lambda: table.to_markdown(level=None)],
        "no column 'zzz'; there are": [lambda: table.column("zzz")],
        "counts": [lambda: tokenmill.train_from_iterator(["low"], 258, counts={"low": 1})],
    }
    for name, calls in wrong.items():
        for call in calls:
            with pytest.raises(errors.UsageError, match=f"^{name}[ :,?']"):
                call()
    for call, known in {
        lambda: tokenmill.Tokenizer(
            tok.vocabulary, cache=1
        ): "Tokenizer() has no option 'cache'. Did you mean 'cache_bytes'",
        lambda: tokenmill.Train(300, splits="gpt2"): "Train() has no option 'splits'. Did you mean 'split'",
        lambda: tok.vocabulary.replace(tokens_=()): "replace() has no option 'tokens_'. Did you mean 'tokens'",
    }.items():
        with pytest.raises(errors.UnknownOptionError, match=re.escape(known)):
            call()


def test_numbers_of_numpy_and_texts_of_pyarrow_are_accepted():
    import numpy as np
    import pyarrow as pa

    import tokenmill

    texts = ["low lower", "newest"]
    tok = tokenmill.train_from_iterator(pa.array(texts), np.int64(258))
    assert tok == tokenmill.train_from_iterator(pa.chunked_array([texts]), 258)
    assert tokenmill.check(tok, tok, fuzz=1, seed=np.int64(5)).difference is None
    assert tokenmill.InspectionOptions(junk_at=np.float32(0.5)).junk_at == 0.5
    with pytest.raises(errors.WrongTypeError, match=r"num_threads is array\(.*; it must be a whole number or None"):
        tok.encode_batch(texts, num_threads=np.array([1, 2]))


def test_a_number_of_threads_is_checked_for_a_short_text_too():
    import tokenmill

    tok = tokenmill.train_from_iterator(["low"], 258)
    for call in (tok.encode, tok.encode_to_numpy, tok.count_tokens, tok.encode_batch, tok.decode_batch):
        with pytest.raises(errors.UsageError, match="num_threads is 0; it must be at least 1"):
            call([] if "batch" in call.__name__ else "low", num_threads=0)
    with pytest.raises(errors.UsageError, match="num_threads is 0; it must be at least 1"):
        tokenmill.check(tok, tok, fuzz=1, num_threads=0)


def test_a_comparison_at_other_thresholds_than_that_of_junk(tmp_path):
    import tokenmill

    (tmp_path / "a.txt").write_text("low lower lowest " * 9)
    tok = tokenmill.train(tmp_path / "a.txt", 260)
    for thresholds in ([0.5], ()):
        assert tokenmill.compare([tok], tmp_path / "a.txt", thresholds=thresholds).to_html()
