"""What loading a tokenizer reads, builds, imports and writes."""

import os
import subprocess
import sys
import threading

import pytest

import tokenmill
from tokenmill.formats.sentencepiece_model import parse_sentencepiece
from tokenmill.vocabulary.lazy import lazy

LOAD = "import sys, tokenmill; tok = tokenmill.load(sys.argv[1]); "


def run(code: str, *arguments: object, **environment: str) -> str:
    """The output of a program in a process of its own."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.check_output(command, text=True, env={**os.environ, **environment}, timeout=120)


@pytest.fixture
def path(tok, tmp_path):
    tok.save(tmp_path / "tok")
    return tmp_path / "tok"


def test_nothing_is_written_to_the_home(path, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    code = "import os; del os.environ['TOKENMILL_CACHE']; os.environ.pop('XDG_CACHE_HOME', 0); " + LOAD
    code += "tok.encode('low lower'); tok.decode([65]); tok.encode_batch(['low'] * 9); tok.save(sys.argv[2])"
    for n in range(2):
        run(code, path, tmp_path / f"copy{n}", HOME=str(home))
    assert list(home.rglob("*")) == []


def test_a_file_under_the_name_of_another_gives_its_own_ids(path, tmp_path):
    other = tmp_path / "other"
    trained = tokenmill.train_from_iterator(["newest widest" * 9], 290)
    trained.save(other)
    for folder in (path, other):
        tokenmill.load(folder).encode("low newest")
    for file in path.iterdir():
        file.unlink()
    for file in other.iterdir():
        file.rename(path / file.name)
    assert tokenmill.load(path).encode("low newest") == trained.encode("low newest")


def test_what_a_load_imports(path):
    slow = "('numpy', 'regex', 'google.protobuf', 'pyarrow', 'concurrent.futures', 'multiprocessing')"
    code = (
        LOAD
        + f"tok.count_tokens('low'); tok.encode('low lower'); print([name for name in {slow} if name in sys.modules])"
    )
    assert run(code, path) == "[]\n"


def test_decoding_builds_no_encoding_tables(path):
    tok = tokenmill.load(path)
    assert tok.n_vocab and tok.special_tokens_set is not None and tok.decode([108, 111, 119])
    assert not {"kernel", "splitter", "cutter"} & vars(tok._core).keys()


def test_a_sentencepiece_model_is_read_as_by_protobuf(tmp_path):
    messages = pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
    model = messages.ModelProto()
    texts = ["<unk>", "<s>", "</s>", "\u2581", "l", "o", "w", "lo", "\u2581lo", "\u2581low", "<x>"]
    for id, text in enumerate(texts):
        kind = {0: 2, 1: 3, 2: 3, 10: 4}.get(id, 1)
        model.pieces.add(piece=text, score=-float(id) / 3, type=kind)
    model.trainer_spec.model_type = 2
    model.normalizer_spec.remove_extra_whitespaces = False
    data = model.SerializeToString()
    vocabulary = parse_sentencepiece(data, "m.model")
    tokens = [None if text.startswith("<") else text.replace("\u2581", " ").encode() for text in texts]
    assert [*vocabulary.tokens, *[None] * len(texts)][: len(texts)] == tokens
    assert (
        vocabulary.normalization.normalizers == (("Replace", " ", "\u2581"),)
        and vocabulary.normalization.add_prefix_space == "text"
    )
    assert vocabulary.events.tolist() == [[4, 5, 7], [3, 7, 8], [8, 6, 9]]
    assert [token.content for token in vocabulary.added_tokens] == ["<unk>", "<s>", "</s>", "<x>"]
    for cut in range(len(data)):
        try:
            parse_sentencepiece(data[:cut], "m.model")
        except tokenmill.errors.FormatError as error:
            assert str(error).startswith("m.model")


def test_a_piece_that_is_not_utf_8_is_named():
    with pytest.raises(tokenmill.errors.FormatError, match=r"m\.model: piece 1: .*UTF-8"):
        parse_sentencepiece(b"\x0a\x03\x0a\x01a\x0a\x03\x0a\x01\xff", "m.model")


class Slow:
    """An attribute that one thread computes while the process forks."""

    computing, go_on = threading.Event(), threading.Event()

    @lazy
    def value(self) -> int:
        if threading.current_thread() is not threading.main_thread():
            self.computing.set()
            self.go_on.wait(60)
        return 7


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_while_a_thread_computes_an_attribute(path):
    slow, tok = Slow(), tokenmill.load(path)
    busy = threading.Thread(target=lambda: slow.value)
    busy.start()
    assert slow.computing.wait(60)
    child = os.fork()
    if child == 0:  # a child that hangs is ended by the alarm
        import signal

        signal.alarm(60)
        try:
            right = slow.value == 7 and tok.n_vocab > 256 and tok.decode(tok.encode("low lower")) == "low lower"
            os._exit(0 if right and tok.vocabulary.fingerprint() else 1)
        finally:
            os._exit(2)
    slow.go_on.set()
    busy.join()
    assert os.waitpid(child, 0)[1] == 0
    assert slow.value == 7


def test_no_module_has_a_cached_property():
    """A fork while a thread computes one hangs the children of Python 3.11."""
    source = os.path.dirname(tokenmill.__file__)
    for folder, _, names in os.walk(source):
        for name in names:
            if name.endswith(".py"):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    assert "import cached_property" not in file.read(), name
