"""What type checkers see: a program that uses the public names has no Any in it, and a typo is an error."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tokenmill

PROGRAM = """
from pathlib import Path

import numpy as np
import tokenmill
from tokenmill.errors import TokenmillError

def progress(stage: str, done: int, total: int | None) -> None:
    print(stage.upper(), done + 1)

tok = tokenmill.train(["corpus/*.txt"], 32_768, split="cl100k", refine=0.9, progress=progress)
tok = tokenmill.train_from_iterator(["low", b"lower"], 300, min_count=2, alphabet="characters", special_tokens={"<s>"})
tok = tokenmill.train_parity({"en": "en/", "hi": ["hi/"]}, 300, ratios={"en": 1, "hi": "3/2"}, window=100)
trained = tokenmill.Train(300, sources=["corpus"], output=Path("tok")).run()
counts = tokenmill.WordCounts.from_mapping({b"low": 5})
tok = tokenmill.train_from_counts(tokenmill.count("corpus", split="gpt2"), vocab_size=1000, max_token_bytes=None)
tok = tokenmill.load("cl100k_base", split=None, special_tokens={"<s>": 3}, download=False)
notes: list[str] = tok.save("folder")
ids: list[int] = tok.encode("low", allowed_special={"<s>"})
array: np.ndarray = tok.encode_to_numpy("low")
text: str = tok.decode(ids)
data: bytes = tok.decode_bytes(ids)
batches: list[list[int]] = tok.encode_batch(["a"], num_threads=2)
pretokens: list[str] = tokenmill.Splitter("gpt2").split("low lower")
tokens = tokenmill.load_tokens("t.bin", tok=tok, dtype="uint16")
one: np.ndarray = tokens[0]
several: list[np.ndarray] = tokens[1:3]
offsets: np.ndarray = tokens.offsets
made = tokenmill.encode_files(tok, "a.txt", "t.bin")
tokenmill.train("corpus", 300, progress=True).save("folder")
found = tokenmill.inspect(tok, text="corpus", progress=True, options=tokenmill.InspectionOptions(junk_at=0.8))
rows = [len(row) for row in found.table("junk").rows]
beside = tokenmill.compare({"mine": tok}, {"en": "corpus"})
page: str = beside.to_markdown()
smaller: tokenmill.Tokenizer = tokenmill.shrink(tok, text="corpus", min_uses=2).tok
larger: tokenmill.Tokenizer = tokenmill.extend(tok, "corpus", 2000, refine=0.9)
agreed: tokenmill.Agreement = tokenmill.check(tok, larger)
for document in tokenmill.read_documents("corpus"):
    print(document.text.upper())
vocabulary: tokenmill.Vocabulary = tok.vocabulary
try:
    tok.encode_single_token("low")
except TokenmillError as error:
    print(str(error))
"""
TYPOS = {
    'tokenmill.train("a", 300, min_cuont=2)': "min_cuont",
    'tokenmill.train("a", "300")': '"train" has incompatible type "str"',
    'tokenmill.train_from_iterator(["a"], 300, alphabet="chars")': "alphabet",
    'tokenmill.load("a", spilt="gpt2")': "spilt",
    'tokenmill.load("a").save("b", fromat="tiktoken")': "fromat",
    'tokenmill.load("a").encode("a").upper()': "upper",
    'tokenmill.trian("a")': "trian",
    'tokenmill.inspect(tokenmill.load("a"), opions=None)': "opions",
    'tokenmill.extend(tokenmill.load("a"), "b", 3, alphabet="bytes")': "alphabet",
}


def mypy(folder: Path, program: str) -> str:
    """What mypy says of `program`, with every expression of type Any an error."""
    pytest.importorskip("mypy", reason="needs mypy: pip install 'tokenmill[test]'")
    (folder / "program.py").write_text(program)
    (folder / "mypy.ini").write_text(
        "[mypy]\nstrict = True\ndisallow_any_expr = True\nfollow_imports = silent\nignore_missing_imports = True\n"
        f"mypy_path = {Path(tokenmill.__file__).parents[1]}\ncache_dir = {folder / 'cache'}\n"
        "[mypy-tokenmill.*]\nstrict = False\ndisallow_any_expr = False\nignore_errors = True\n"
    )
    command = [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "program.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout


@pytest.mark.skipif(np.__version__ < "2", reason="the types of NumPy 1 are less complete")
def test_a_program_has_no_any_in_it_and_typos_are_errors(tmp_path):
    lines = [f"try:\n    {line}\nexcept KeyError:\n    pass" for line in TYPOS]
    said = mypy(tmp_path, PROGRAM + "\n".join(lines) + "\n")
    typed = len(PROGRAM.splitlines())
    # The constructor of WordCounts takes NumPy arrays, whose own types have parameters that are Any.
    wrong = [line for line in said.splitlines() if line.startswith("program.py:") and "type[WordCounts]" not in line]
    assert not [line for line in wrong if int(line.split(":")[1]) <= typed]
    for number, (line, name) in enumerate(TYPOS.items()):
        at = typed + 4 * number + 2
        assert any(f"program.py:{at}:" in message and name in message for message in wrong), f"{line} is not an error"


def test_help_shows_the_options_of_the_job():
    import dataclasses
    import inspect

    for function in (
        tokenmill.train,
        tokenmill.train_from_iterator,
        tokenmill.train_from_counts,
        tokenmill.train_parity,
    ):
        names = list(inspect.signature(function).parameters)
        assert names[1] == "vocab_size" and "progress" in names
        assert {field.name for field in dataclasses.fields(tokenmill.Train) if field.init} <= set(names) | {"sources"}
    with pytest.raises(TypeError, match=r"train\(\): missing a required argument: 'vocab_size'"):
        tokenmill.train("a.txt")
