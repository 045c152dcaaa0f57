"""The tests of other projects, with tokenmill in the place of the library that they test or use.

They run where TOKENMILL_PEERS names a folder with clones of tiktoken, minbpe, rustbpe, nanochat, gpt-tokenizer, tokenizers,
sentencepiece, mistral-common, datatrove and vllm, as far as these are there, in an environment with what they import.
A clone of sentencepiece has to be of the installed version; its source distribution, in a folder sentencepiece/python, and that of vllm do too.
Each suite runs in a process of its own with the plugin `stand_ins`, on the version of the clone where that is plain Python;
OTHERWISE lists what fails there, and why.
"""

import ast
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import tokenmill

FOLDER = os.environ.get("TOKENMILL_PEERS")
pytestmark = pytest.mark.skipif(not FOLDER, reason="TOKENMILL_PEERS names no folder")

# The integrations of mistral-common test its chat templates, for ten minutes.
# project: folder of the run, tests, modules that tokenmill stands in for or watches
SUITES = {
    "tiktoken": (".", ["tests"], "tiktoken"),
    "minbpe": (".", ["tests"], "tiktoken minbpe"),
    "rustbpe": (".", ["tests/python"], "tiktoken rustbpe"),
    "nanochat": (".", ["tests/test_tokenizer.py"], "tiktoken rustbpe"),
    "tokenizers": ("bindings/python", ["tests/bindings", "tests/implementations", "tests/test_serialization.py"], "tokenizers"),
    "sentencepiece": ("python", ["test/sentencepiece_test.py"], "sentencepiece"),
    "mistral-common": (".", ["tests", "--ignore=tests/integrations", "--continue-on-collection-errors"], "tiktoken sentencepiece"),
    "vllm": (".", ["--noconftest", "tests/tokenizers_/test_detokenize.py", "tests/tokenizers_/test_hf.py"], "transformers"),
    "datatrove": (".", ["tests/pipeline/tokens/test_tokenization.py"], "tokenizers"),
}  # fmt: skip
# These run with the libraries alone too: what fails there, for want of a file, a package or another version, says nothing.
TWICE = {"tokenizers", "sentencepiece", "mistral-common"}
# What else fails, by a part of the test's name or of its error, and why.
OTHERWISE: dict[str, dict[str, str]] = {
    "tiktoken": {
        "is not on this machine": "the file of the encoding is not among the shared vocabularies",
        "test_encode_bytes": "bytes that are not UTF-8 stay apart, as in encode; _encode_bytes merges them with what is before",
        "the text spells '<|endoftext|>'": "hypothesis tries texts from the code under test; tiktoken raises for this one too",
        "test_optional_blobfile_dependency": "imports tiktoken in another process, from the clone, which is not compiled",
    },
    "vllm": {"Pixtral": "MistralTokenizer reads a file of the hub"},
    "tokenizers": {
        "Can't pickle": "the stand-in of the class is made in a function, so it cannot be pickled",
        "is not an instance of 'Tokenizer'": "DecodeStream takes an object of the library's own class only",
    },
}


def clone(name):
    path = Path(FOLDER, name)
    if not path.is_dir():
        pytest.skip(f"no clone of {name} in TOKENMILL_PEERS")
    return path


@pytest.fixture(scope="session")
def ranks(shared, tmp_path_factory):
    """A folder with the .tiktoken files that the shared vocabularies have, and English text in place of rustbpe's enwik8."""
    import zstandard

    folder = tmp_path_factory.mktemp("ranks")
    (folder / "vocab").symlink_to(shared / "vocab")
    (folder / "cl100k_base.tiktoken").write_bytes((shared / "vocab" / "cl100k_base.tiktoken").read_bytes())
    path = folder / "gpt2.json"
    with zstandard.open(shared / "vocab" / "gpt2-tokenizer.json.zst", "rb") as file:
        path.write_bytes(file.read())
    for name in ("gpt2", "r50k_base"):
        tokenmill.load(path).save(folder / f"{name}.tiktoken", format="tiktoken")
    (folder / "rustbpe").mkdir()
    with zstandard.open(shared / "corpus" / "en.txt.zst", "rb") as file:
        (folder / "rustbpe" / "enwik8").write_text(file.read(11_000_000).decode(errors="ignore"))
    return folder


def outcomes(name, ranks, tmp_path, alone=""):
    """Run a suite: test -> the message of its failure, None where it passed; skipped ones are left out."""
    where, tests, stand_ins = SUITES[name]
    report = tmp_path / "report.xml"
    environment = os.environ | {
        "TOKENMILL_STAND_INS": stand_ins,
        "TOKENMILL_ALONE": alone,
        "TOKENMILL_RANKS": str(ranks),
        "XDG_CACHE_HOME": str(ranks),
        "PYTHONPATH": os.pathsep.join(
            [str(Path(__file__).parent), os.environ.get("PYTHONPATH", ""), f"{clone(name)}/src"]
        ),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "stand_ins", "-o", "addopts=", "-p", "no:cacheprovider"]
    command += [f"--junitxml={report}", *tests]
    done = subprocess.run(command, cwd=clone(name) / where, env=environment, capture_output=True, text=True)
    assert report.exists(), done.stdout[-2000:] + done.stderr[-2000:]
    found = {}
    for case in ET.parse(report).iter("testcase"):
        problem = next((child for child in case if child.tag in ("failure", "error")), None)
        if case.find("skipped") is None:
            found[f"{case.get('classname')}.{case.get('name')}"] = (
                None if problem is None else f"{problem.get('message')}\n{problem.text}"
            )
    return found


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", SUITES)
def test_suite(name, ranks, tmp_path):
    known = OTHERWISE.get(name, {})
    found = outcomes(name, ranks, tmp_path)
    without = outcomes(name, ranks, tmp_path, "1") if name in TWICE else {}
    problems = {
        test: text
        for test, text in found.items()
        if text and not without.get(test) and not any(key in test or key in text for key in known)
    }
    passed = sum(text is None for text in found.values())
    explained = sum(text is not None and not without.get(test) for test, text in found.items()) - len(problems)
    alone = sum(bool(without.get(test)) for test, text in found.items() if text)
    print(f"{name}: {passed} passed, {explained} explained, {alone} fail without tokenmill too, {len(problems)} failed")
    assert not problems, "\n".join(f"{test}: {text[-600:]}" for test, text in problems.items())
    assert passed, "no test passed"


def test_plans_of_gpt_tokenizer(ranks):
    """Its list of texts with their ids, for the encodings that are here."""
    toks = {path.stem: tokenmill.load(path) for path in ranks.glob("*.tiktoken")}
    lines = (clone("gpt-tokenizer") / "data" / "TestPlans.txt").read_text(encoding="utf-8").split("EncodingName: ")[1:]
    compared = 0
    for plan in lines:
        encoding, rest = plan.split("\nSample: ", 1)
        sample, encoded = rest.rsplit("\nEncoded: ", 1)
        if encoding in toks:
            assert toks[encoding].encode_ordinary(sample) == ast.literal_eval(encoded.strip()), sample
            compared += 1
    assert compared > 100
