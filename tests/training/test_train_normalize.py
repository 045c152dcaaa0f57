"""Text changed before training: the merges are those of the changed text, and the saved file changes text in the same way."""

import json
import random

import pytest

import tokenmill
from command_line import CliRunner
from tokenmill.cli.main import app
from tokenmill.errors import UsageError
from tokenmill.sources import blocks
from tokenmill.split import Splitter
from tokenmill.tokenizer.normalization import normalizer_of
from tokenmill.training.options import NORMALIZERS

WORDS = [
    "Straße",
    "ﬁn",
    "Été",
    "e\u0301te\u0301",
    "İstanbul",
    "ΣΊΣΥΦΟΣ",
    "½",
    "ﷺ",
    "low",
    "LOWER",
    "Å",
    "x²",
    "\u0301a",
    "が",
    "か\u3099",
]


def text(seed, lines=300):
    chosen = random.Random(seed)
    return "".join(
        " ".join(chosen.choices(WORDS, k=chosen.randint(0, 9))) + chosen.choice(["\n", "\n\n", "\u0301\n", "\r\n"])
        for _ in range(lines)
    )


@pytest.mark.parametrize("split", ["cl100k", "gpt2", "whitespace", "ddtokens"])
@pytest.mark.parametrize("steps", [("nfkc", "lowercase"), ("nfd", "strip-accents"), ("nfc",), ("lowercase",)])
def test_training_is_that_on_changed_text(steps, split, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK", 1 << 10)
    change = normalizer_of([NORMALIZERS[name] for name in steps])
    (tmp_path / "raw.txt").write_text(text(1), newline="")
    (tmp_path / "changed.txt").write_text(change(text(1)), newline="")
    options = {"vocab_size": 330, "split": split, "num_threads": 2, "special_tokens": ["<|end|>"]}
    tok = tokenmill.train(tmp_path / "raw.txt", normalize=steps, **options)
    plain = tokenmill.train(tmp_path / "changed.txt", **options)
    assert tok.vocabulary.tokens == plain.vocabulary.tokens
    assert tok.encode(text(2)) == plain.encode(change(text(2)))
    assert tokenmill.train_from_iterator([text(1)], normalize=steps, **options) == tok


def test_a_saved_file_gives_the_ids_of_tokenizers(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    options = {"vocab_size": 340, "normalize": ["nfkc", "lowercase"]}
    tok = tokenmill.train_from_iterator([text(3)], **options, output=tmp_path / "t")
    other = tokenizers.Tokenizer.from_file(str(tmp_path / "t" / "tokenizer.json"))
    for seed in range(30):
        sample = text(seed, 20)
        assert tok.encode(sample) == other.encode(sample, add_special_tokens=False).ids
    assert tokenmill.load(tmp_path / "t") == tok
    assert tokenmill.train_from_iterator([text(3)], **options | {"normalize": "nfkc,lowercase"}) == tok


def test_counts_of_changed_words(tmp_path):
    tok = tokenmill.train_from_counts({"low": 5, "lower": 2}, 259, normalize=["lowercase"], split="whitespace")
    assert tok.encode("LOW") == tok.encode("low") and len(tok.encode("LOW")) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"normalize": ["upper"]}, "normalize is 'upper'; known are nfc, nfd, nfkc"),
        ({"normalize": ["nfc"], "superwords": "boundless"}, "text as it is; leave out normalize"),
        ({"characters": "ab"}, "characters"),
        ({"characters": "ab", "alphabet": "characters", "coverage": 0.9}, "names the alphabet; leave out coverage"),
        (
            {"characters": "lo", "alphabet": "characters"},
            "leaves out 1 of 3 characters of the text \\('w'\\), so it needs",
        ),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(UsageError, match=message):
        tokenmill.train_from_iterator(["low"], vocab_size=300, **options)


def test_an_alphabet_by_hand():
    words = {"low": 5, "lower": 2, "owl": 3}
    tok = tokenmill.train_from_counts(words, 8, alphabet="characters", characters="wolx", unknown_token="<unk>")
    assert tok.vocabulary.tokens == (None, b"l", b"o", b"w", b"x", b"ow", b"low", b"owl")


@pytest.mark.parametrize("split", ["cl100k", "gpt2", "whitespace", "ddtokens", "o200k"])
@pytest.mark.parametrize("steps", [("nfkc", "lowercase"), ("nfd", "strip-accents")])
def test_a_certain_cut_divides_the_changed_text(steps, split):
    change = normalizer_of([NORMALIZERS[name] for name in steps])
    splitter, plain = Splitter(split, special_tokens=["<e\n>"], normalize=change), Splitter(split)
    cuts = 0
    for seed in range(150):
        data = text(seed, 6).replace("low", "low <e\n> A").encode()
        length = random.Random(seed).randint(0, len(data))
        if place := splitter.certain_cut(data, 0, length):
            cuts += 1
            whole = plain.split(change(data.decode()))
            parts = [change(part.decode()) for part in (data[:place], data[place:])]
            assert plain.split(parts[0]) + plain.split(parts[1]) == whole
            assert b"<e\n>" not in data[max(0, place - 3) : place + 3]
    assert cuts > 100


@pytest.mark.parametrize("more", [[], ["--weight", "a.txt=3/2"]])
def test_bytes_per_token_is_of_the_text_as_it_was(tmp_path, monkeypatch, more):
    monkeypatch.chdir(tmp_path)
    texts = [" ".join(WORDS) * 9, "ﬁn ½ low " * 40]
    for name, text in zip("ab", texts, strict=True):
        (tmp_path / f"{name}.txt").write_text(text)
    command = ["train", "a.txt", "b.txt", "--vocab-size", "300", "--normalize", "nfkc", *more, "-o", "tok", "--json"]
    result = CliRunner().invoke(app, command)
    tok, first = tokenmill.load("tok"), 1.5 if more else 1
    nbytes, tokens = [len(text.encode()) for text in texts], [tok.count_tokens(text) for text in texts]
    expected = (first * nbytes[0] + nbytes[1]) / (first * tokens[0] + tokens[1])
    name = "weighted_bytes_per_token" if more else "bytes_per_token"
    assert json.loads(result.stdout)[name] == round(expected, 4)
