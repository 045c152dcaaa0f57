"""A pytest plugin that puts tokenmill in the place of another library, for that library's own tests or its users'.

TOKENMILL_STAND_INS names the modules that are replaced (`tiktoken`, `rustbpe`, `minbpe`; of `transformers` only AutoTokenizer) or watched (`tokenizers`,
`sentencepiece`): each text that a test encodes with a watched library is encoded by tokenmill too, from the same model,
and other ids or another decoded text are an error of that test. With TOKENMILL_ALONE they are only imported. TOKENMILL_RANKS is a folder with `.tiktoken` files.
"""

import functools
import importlib
import os
import shutil
import sys
import tempfile
import types
from pathlib import Path

import pytest

import tokenmill


class Encoding(tokenmill.Tokenizer):
    """tiktoken.Encoding, with the private names that its tests read."""

    def __init__(self, name, *, pat_str=None, mergeable_ranks=None, special_tokens=None, tokenizer=None):
        tok = tokenizer or tokenmill.Tokenizer.from_ranks(
            mergeable_ranks, split=pat_str, special_tokens=special_tokens, name=name
        )
        super().__init__(tok.vocabulary, name=name)
        self._pat_str = tok.split_pattern

    _mergeable_ranks = property(lambda self: self.mergeable_ranks)
    _special_tokens = property(lambda self: {text: self.encode_single_token(text) for text in self.special_tokens_set})

    def _encode_bytes(self, data):
        return self.encode(data)


def tiktoken():
    module = types.ModuleType("tiktoken")
    folder = Path(os.environ["TOKENMILL_RANKS"])

    @functools.cache
    def get_encoding(name):
        path = folder / f"{name}.tiktoken"
        tok = tokenmill.load(path) if path.exists() else tokenmill.get_encoding(name)
        return Encoding(name, tokenizer=tok)

    module.Encoding = Encoding
    module.get_encoding = get_encoding
    module.list_encoding_names = lambda: sorted(path.stem for path in folder.glob("*.tiktoken"))
    module.encoding_for_model = lambda model: types.SimpleNamespace(name=tokenmill.encoding_for_model(model).name)
    return module


class Trainable:
    """rustbpe.Tokenizer, and minbpe's RegexTokenizer and BasicTokenizer."""

    split = "cl100k"

    def __init__(self, pattern=None):
        self.split = pattern or self.split
        self.tok = tokenmill.Tokenizer.from_ranks({bytes([i]): i for i in range(256)}, split=self.split)

    def train_from_iterator(self, iterator, vocab_size, buffer_size=None, pattern=None):
        self.split = pattern or self.split
        self.tok = tokenmill.train_from_iterator(iterator, vocab_size=vocab_size, split=self.split)

    def get_pattern(self):
        return self.tok.split_pattern

    def get_mergeable_ranks(self):
        return [(list(token), rank) for token, rank in self.tok.mergeable_ranks.items()]

    vocab_size = property(lambda self: self.tok.n_vocab)

    def batch_encode(self, texts):
        return self.tok.encode_ordinary_batch(texts)

    def encode(self, text, allowed_special="none_raise"):
        names = {"none_raise": {"disallowed_special": "all"}, "none": {"disallowed_special": ()}}
        return self.tok.encode(text, **names.get(allowed_special, {"allowed_special": allowed_special}))

    def decode(self, ids):
        try:
            return self.tok.decode(ids)
        except KeyError as error:
            raise ValueError(f"Unknown token id: {error}") from error


class Minbpe(Trainable):
    def train(self, text, vocab_size, verbose=False):
        self.train_from_iterator([text], vocab_size)

    def register_special_tokens(self, special_tokens):
        self.tok = tokenmill.Tokenizer.from_ranks(
            self.tok.mergeable_ranks, split=self.split, special_tokens=special_tokens
        )

    def save(self, prefix):
        with tempfile.TemporaryDirectory() as folder:
            self.tok.save(folder, overwrite=True)
            shutil.copy(Path(folder, "tokenizer.json"), f"{prefix}.model")
        Path(f"{prefix}.vocab").touch()

    def load(self, path):
        self.tok = tokenmill.load(path)


class Basic(Minbpe):
    split = r"[\s\S]+"  # minbpe's BasicTokenizer does not split


def rustbpe():
    module = types.ModuleType("rustbpe")
    module.Tokenizer = Trainable
    return module


def minbpe():
    def gpt4():
        return sys.modules["tiktoken"].get_encoding("cl100k_base")

    module = types.ModuleType("minbpe")
    module.BasicTokenizer, module.RegexTokenizer, module.GPT4Tokenizer = Basic, Minbpe, gpt4
    return module


COMPARED = []


@functools.lru_cache(maxsize=64)
def from_bytes(data, suffix):
    """The tokenizer of a file's content, None where tokenmill does not open it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"tokenizer{suffix}")
        path.write_bytes(data)
        try:
            return tokenmill.load(path, drop_unknown=suffix == ".json")
        except tokenmill.errors.TokenmillError:
            return None


def compare(tok, text, ids, **special):
    if tok is None:
        return
    ours = tok.encode(text, **special)
    COMPARED.append(text)
    assert ours == ids, f"tokenmill encodes {text!r} as {ours}, the library as {ids}"


def watch_tokenizers():
    """Every Tokenizer.encode of one text with BPE is compared; the class has no subclasses, so an object stands before it."""
    library = importlib.import_module("tokenizers")
    real = library.Tokenizer
    running = []  # tokenmill itself encodes some models with tokenizers

    class Watched:
        def __init__(self, *arguments, it=None):
            object.__setattr__(self, "it", it or real(*arguments))

        from_file = staticmethod(lambda path: Watched(it=real.from_file(path)))
        from_str = staticmethod(lambda text: Watched(it=real.from_str(text)))
        from_buffer = staticmethod(lambda data: Watched(it=real.from_buffer(data)))
        from_pretrained = staticmethod(lambda name: Watched.from_file(f"{os.environ['TOKENMILL_RANKS']}/{name}.json"))

        def __getattr__(self, name):
            return getattr(self.it, name)

        def __setattr__(self, name, value):
            setattr(self.it, name, value)

        def __repr__(self):
            return repr(self.it)

        def __str__(self):
            return str(self.it)

        def encode(self, sequence, pair=None, is_pretokenized=False, add_special_tokens=True):
            result = self.it.encode(sequence, pair, is_pretokenized, add_special_tokens)
            plain = pair is None and not is_pretokenized and self.it.truncation is None and self.it.padding is None
            if plain and not running and type(self.it.model).__name__ == "BPE" and not self.it.model.dropout:
                running.append(self)
                try:
                    special = {"allowed_special": "all", "add_special_tokens": add_special_tokens}
                    compare(from_bytes(self.it.to_str().encode(), ".json"), sequence, result.ids, **special)
                finally:
                    running.pop()
            return result

        def encode_batch(self, texts, *arguments, **options):
            if all(isinstance(text, str) for text in texts) and not arguments and self.it.padding is None:
                return [self.encode(text, **options) for text in texts]
            return self.it.encode_batch(texts, *arguments, **options)

    library.Tokenizer = Watched


def watch_sentencepiece():
    """Every encode of one text to ids, without options, is compared, and so is its decoding."""
    running = []  # tokenmill itself encodes Unigram models with sentencepiece
    processor = importlib.import_module("sentencepiece").SentencePieceProcessor

    def watched(plain):
        def encode(self, input, *arguments, **options):
            result = plain(self, input, *arguments, **options)
            text = input
            ids = isinstance(text, str) and isinstance(result, list) and result and isinstance(result[0], int)
            if ids and not running and set(options) <= {"out_type"}:
                running.append(self)
                try:
                    tok = from_bytes(self.serialized_model_proto(), ".model")
                    if tok is not None:
                        compare(tok, text, result, disallowed_special=())
                        assert tok.decode(result) == self.decode(result)
                finally:
                    running.pop()
            return result

        return encode

    for name in ("Encode", "encode", "EncodeAsIds", "encode_as_ids"):
        setattr(processor, name, watched(getattr(processor, name)))


# The shared vocabulary of a name on the hub, or one of the same kind.
NAMED = {"openai-community/gpt2": "gpt2-tokenizer.json.zst", "EleutherAI/pythia-70m": "gpt-neox-20b-tokenizer.json.zst",
         "bigcode/tiny_starcoder_py": "starcoder.gguf.zst", "meta-llama/Llama-3.2-1B-Instruct": "llama3.1-tokenizer.json.zst",
         "codellama/CodeLlama-7b-hf": "llama2-tokenizer.json.zst"}  # fmt: skip


def auto_tokenizer():
    """AutoTokenizer.from_pretrained returns what `as_transformers` does, for the vocabularies that are here."""

    load = functools.cache(tokenmill.load)

    def from_pretrained(name, **options):
        if name not in NAMED:
            pytest.skip(f"{name} is not among the shared vocabularies")
        return load(Path(os.environ["TOKENMILL_RANKS"], "vocab", NAMED[name])).as_transformers()

    importlib.import_module("transformers").AutoTokenizer.from_pretrained = from_pretrained


def pytest_configure(config):
    makers = {"tiktoken": tiktoken, "rustbpe": rustbpe, "minbpe": minbpe}
    for name in os.environ.get("TOKENMILL_STAND_INS", "").split():
        if os.environ.get("TOKENMILL_ALONE"):
            importlib.import_module(name)
        elif name in makers:
            sys.modules[name] = makers[name]()
        else:
            watchers = {"tokenizers": watch_tokenizers, "sentencepiece": watch_sentencepiece}
            {**watchers, "transformers": auto_tokenizer}[name]()


def pytest_terminal_summary(terminalreporter):
    if COMPARED:
        terminalreporter.write_line(f"compared {len(COMPARED)} texts")
