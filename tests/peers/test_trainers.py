"""Token files and the trainers' own code: their readers on our files, and our reader on files of their writers.

They run where TOKENMILL_TRAINERS names a folder with clones of nanoGPT, llm.c, nanochat, Megatron-LM and OLMo-core, as far as these
are there, in an environment with torch and datatrove for those that need it.
"""

import ctypes
import gzip
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import tokenmill

sys.path.insert(0, str(Path(__file__).parents[1] / "token_files"))
from token_file_examples import corpus, expected_ids, tokenizer, wide_tokenizer

FOLDER = os.environ.get("TOKENMILL_TRAINERS")
pytestmark = pytest.mark.skipif(not FOLDER, reason="TOKENMILL_TRAINERS names no folder")
SHARDS = tokenmill.EncodeOptions(shard_tokens=2000, val_shard=True)


def trainer(*path):
    found = Path(FOLDER, *path)
    if not found.exists():
        pytest.skip(f"{found} is not here")
    return found


def module(*path):
    """A Python file of a trainer, imported."""
    spec = importlib.util.spec_from_file_location(path[-1].removesuffix(".py"), trainer(*path))
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.fixture(params=["uint16", "uint32"])
def tok(request):
    return tokenizer() if request.param == "uint16" else wide_tokenizer(70_000)


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    return corpus(tmp_path_factory.mktemp("sources"))


def ids_of(tokens):
    return [document.tolist() for document in tokens]


def test_nanogpt_trains(sources, tmp_path):
    pytest.importorskip("torch")
    shutil.copytree(trainer("nanoGPT"), tmp_path / "nanoGPT")
    for name in ("train", "val"):
        tokenmill.encode_files(tokenizer(), sources[0], tmp_path / f"nanoGPT/data/ours/{name}.bin", format="nanogpt")
    small = "--block_size=32 --batch_size=2 --n_layer=1 --n_head=1 --n_embd=16 --gradient_accumulation_steps=1"
    options = f"--dataset=ours --device=cpu --compile=False --eval_iters=1 --max_iters=1 {small}"
    result = subprocess.run(
        [sys.executable, "train.py", *options.split()], cwd=tmp_path / "nanoGPT", capture_output=True, text=True
    )
    assert result.returncode == 0 and "iter 1: loss" in result.stdout, result.stderr


C_READER = """
#include "llmc/dataloader.h"
static DataLoader loader;
long count(const char *pattern) {
    dataloader_init(&loader, pattern, 1, 32, 0, 1, 0);
    return loader.num_tokens;
}
void batch(int *inputs, int *targets) {
    dataloader_next_batch(&loader);
    for (int i = 0; i < 32; i++) { inputs[i] = loader.inputs[i]; targets[i] = loader.targets[i]; }
}
"""


def test_llmc_reads_its_shards(sources, tmp_path):
    (tmp_path / "reader.c").write_text(C_READER)
    command = ["gcc", "-O1", "-w", "-shared", "-fPIC", "-I", trainer("llm.c"), tmp_path / "reader.c", "-lm"]
    subprocess.run([*command, "-o", tmp_path / "reader.so"], check=True)
    reader, tok = ctypes.CDLL(str(tmp_path / "reader.so")), tokenizer()
    tokenmill.encode_files(tok, sources[0], tmp_path / "web.bin", format="llmc", options=SHARDS)
    files = [tokenmill.load_tokens(path).ids for path in sorted(tmp_path.glob("web_train_*.bin"))]
    if len(files[-1]) < 33:  # shorter than a batch
        sorted(tmp_path.glob("web_train_*.bin"))[-1].unlink()
        files.pop()
    assert len(files) > 3
    assert reader.count(str(tmp_path / "web_train_*.bin").encode()) == sum(map(len, files))
    inputs, targets = (ctypes.c_int * 32)(), (ctypes.c_int * 32)()
    for ids in files[:3]:
        for start in range(0, (len(ids) - 1) // 32 * 32, 32):
            reader.batch(inputs, targets)
            assert [*inputs] == ids[start : start + 32].tolist() and [*targets] == ids[start + 1 : start + 33].tolist()


@pytest.mark.parametrize(("kind", "dtype"), [("gpt-2", "uint16"), ("llama-3", "uint32")])
def test_files_that_llmc_writes(tmp_path, kind, dtype):
    for needed in ("requests", "tqdm"):
        pytest.importorskip(needed)
    module("llm.c", "dev", "data", "data_common.py").write_datafile(str(tmp_path / "a.bin"), [1, 2, 65_000, 4], kind)
    tokens = tokenmill.load_tokens(tmp_path / "a.bin")
    assert (tokens.format, tokens.ids.dtype, tokens.ids.tolist()) == ("llmc", dtype, [1, 2, 65_000, 4])


def test_nanochat_reads_what_clean_writes(sources, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.syspath_prepend(trainer("nanochat"))
    monkeypatch.setenv("NANOCHAT_BASE_DIR", str(tmp_path / "base"))
    folder = tmp_path / "base" / "base_data_climbmix"
    options = tokenmill.CleanOptions("parquet", filters=())
    tokenmill.clean("text", sources[0], folder, options=options)
    shutil.copy(next(folder.glob("*.parquet")), folder / "zz.parquet")  # the last file is for validation
    dataset = pytest.importorskip("nanochat.dataset")
    texts = [text for batch in dataset.parquets_iter_batched("train") for text in batch]
    tokenmill.clean("text", sources[0], tmp_path / "jsonl", options=tokenmill.CleanOptions("jsonl", filters=()))
    assert texts == [document.text for document in tokenmill.read_documents(tmp_path / "jsonl")] and len(texts) > 700
    parts = [[*dataset.parquets_iter_batched("train", rank, 2)] for rank in range(2)]
    assert sorted(text for part in parts for batch in part for text in batch) == sorted(texts)


@pytest.fixture
def megatron(monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.syspath_prepend(trainer("Megatron-LM"))
    return pytest.importorskip("megatron.core.datasets.indexed_dataset")


def test_megatron_reads_our_index(megatron, tok, sources, tmp_path):
    tokenmill.encode_files(tok, sources[0], tmp_path / "web", format="megatron")
    dataset = megatron.IndexedDataset(str(tmp_path / "web"))
    expected = [[*tok.encode_ordinary(text), tok.eot_token] for text in sources[1]]
    assert [dataset[number].tolist() for number in range(len(dataset))] == expected
    assert dataset.document_indices.tolist() == [*range(len(expected) + 1)]


def test_megatron_writes_the_same_bytes(megatron, tok, sources, tmp_path):
    """Its writer makes our .bin and .idx; its merge makes what `join` makes."""
    for name, paths in (("a", sources[0][:3]), ("b", sources[0][3:])):
        tokenmill.encode_files(tok, paths, tmp_path / name, format="megatron")
        ours = tokenmill.load_tokens(tmp_path / f"{name}.bin")
        kind = megatron.DType.optimal_dtype(tok.n_vocab)
        builder = megatron.IndexedDatasetBuilder(str(tmp_path / f"{name}-theirs.bin"), dtype=kind)
        for begin, end in pairwise(ours.offsets):
            builder.add_document(ours.ids[begin:end].astype(np.int64), [int(end - begin)])
        builder.finalize(str(tmp_path / f"{name}-theirs.idx"))
        for suffix in (".bin", ".idx"):
            theirs = tmp_path / f"{name}-theirs{suffix}"
            assert theirs.read_bytes() == (tmp_path / f"{name}{suffix}").read_bytes()
        assert ids_of(tokenmill.load_tokens(tmp_path / f"{name}-theirs.bin")) == [
            ours.ids[begin:end].tolist() for begin, end in pairwise(ours.offsets)
        ]
    merged = megatron.IndexedDatasetBuilder(str(tmp_path / "merged.bin"), dtype=kind)
    for name in ("a", "b"):
        merged.add_index(str(tmp_path / name))
    merged.finalize(str(tmp_path / "merged.idx"))
    tokenmill.Join(files=[tmp_path / "a.bin", tmp_path / "b.bin"], output=tmp_path / "joined.bin").run()
    for suffix in (".bin", ".idx"):
        assert (tmp_path / f"joined{suffix}").read_bytes() == (tmp_path / f"merged{suffix}").read_bytes()


def test_olmo_reads_ids_and_documents(tok, sources, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(trainer("OLMo-core", "src"))
    utils = pytest.importorskip("olmo_core.data.utils")
    tokenmill.encode_files(tok, sources[0], tmp_path / "web.npy", format="olmo")
    tokens, dtype = tokenmill.load_tokens(tmp_path / "web.npy"), np.uint16 if tok.n_vocab < 65_536 else np.uint32
    expected = expected_ids(tok, sources[1], tok.eot_token)
    assert utils.load_array_slice(tmp_path / "web.npy", 0, len(expected), dtype).tolist() == expected
    assert utils.load_array_slice(tmp_path / "web.npy", 1000, 1100, dtype).tolist() == expected[1000:1100]
    spans = [*utils.iter_document_indices(tmp_path / "web.npy", use_array_if_local=False)]
    assert spans == [*pairwise(tokens.offsets.tolist())]
    assert spans == [*utils.iter_document_indices(tmp_path / "web.npy", eos_token_id=tok.eot_token, dtype=dtype)]


def test_files_that_dolma_writes(tmp_path):
    """Dolma's writer adds columns for the source of each document to OLMo-core's two."""
    np.array([5, 6, 7, 8], np.uint16).tofile(tmp_path / "a.npy")
    with gzip.open(tmp_path / "a.csv.gz", "wt") as file:
        file.write("0,1,doc-1,a.jsonl.gz,1\n1,4,doc-2,a.jsonl.gz,2\n")
    assert ids_of(tokenmill.load_tokens(tmp_path / "a.npy", dtype="uint16")) == [[5], [6, 7, 8]]


def test_datatrove_reads_ours(tok, sources, tmp_path):
    pytest.importorskip("torch")
    dataset = pytest.importorskip("datatrove.utils.dataset")
    tokenmill.encode_files(tok, sources[0], tmp_path / "web.ds", format="datatrove")
    width = 2 if tok.n_vocab < 65_536 else 4
    theirs = dataset.DatatroveFolderDataset(str(tmp_path), 63, token_size=width, return_positions=True)
    expected = expected_ids(tok, sources[1], tok.eot_token)
    for number in (0, 1, 7, len(theirs) - 1):
        assert theirs[number]["input_ids"].tolist() == expected[64 * number : 64 * number + 64]
    ends = np.cumsum([len(tok.encode_ordinary(text)) + 1 for text in sources[1]])
    starts = [at for at in range(64) if theirs[1]["positions"][at] == 0]
    assert set(starts) >= {int(end) - 64 for end in ends if 64 <= end < 128}


def test_a_step_of_datatrove(tok, tmp_path):
    """The recipe of docs/how-to/encode.md makes what `encode --format datatrove` makes."""
    data = pytest.importorskip("datatrove.data")
    recipe = Path(__file__).parents[2].joinpath("docs/how-to/encode.md").read_text()
    names = {}
    exec(recipe.partition('```python title="datatrove"\n')[2].partition("```")[0], names)
    texts = ["low lower", "", "newest <|endoftext|> é"]
    tok.save(tmp_path / "tok")
    step = names["TokenmillTokenizer"](str(tmp_path / "theirs"), str(tmp_path / "tok"), shuffle_documents=False)
    for _ in step.run(iter([data.Document(text=text, id=str(n)) for n, text in enumerate(texts)])) or ():
        pass
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    tokenmill.encode_files(tok, tmp_path / "a.jsonl", tmp_path / "a.ds", format="datatrove")
    for suffix in (".ds", ".ds.index"):
        (theirs,) = (tmp_path / "theirs").glob(f"*{suffix}")
        assert theirs.read_bytes() == (tmp_path / f"a{suffix}").read_bytes()


def test_files_that_datatrove_writes(tmp_path, tok):
    tokenized = pytest.importorskip("datatrove.pipeline.tokens.tokenizer")
    tok.save(tmp_path / "tok")
    width = 2 if tok.n_vocab < 65_536 else 4
    file = tokenized.TokenizedFile(
        str(tmp_path), "a.ds", tokenizer_name_or_path=str(tmp_path / "tok/tokenizer.json"), token_size=width
    )
    for ids in ([1, 2, 3], [4], [5, 6]):
        file.write(ids, None)
    file.close()
    file.write_final_metadata()
    assert ids_of(tokenmill.load_tokens(tmp_path / "a.ds")) == [[1, 2, 3], [4], [5, 6]]
