"""Token files of training frameworks: `tokenmill encode` and the tools of Megatron-LM, datatrove and OLMo, whole commands on two cores.

python -m benchmarks trainers

TOKENMILL_TRAINERS names a folder with a clone of Megatron-LM. TOKENMILL_PYTHON_MEGATRON is an interpreter with torch, transformers
and gigatoken, TOKENMILL_PYTHON_DATATROVE one with datatrove, and TOKENMILL_PYTHON_DOLMA one with dolma. What is missing is left out.

Megatron-LM's fast tool reads 150 MB of JSON lines, the other tools the first 15 MB, datatrove also as Parquet. The files of tokenmill
and Megatron-LM are compared byte for byte. The memory is that of a further run, with all processes that a tool starts.
"""

from __future__ import annotations

import filecmp
import json
import os
import runpy
import sys
import tempfile
import typing
from pathlib import Path

from .encoders import tokenizer_json
from .harness import CACHE, alternate, main, peak_of_tree, python_of, pythons, run_job, save
from .token_files import SHORT

ENDS = {"llama3.1": "<|end_of_text|>", "qwen3": "<|endoftext|>", "gpt-neox-20b": "<|endoftext|>"}


def model_folder(model: str) -> str:
    """A tokenizer as transformers loads it, made once."""
    folder = CACHE / f"{model}-folder"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_bytes(tokenizer_json(model).read_bytes())
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": ENDS[model], "model_max_length": 10**9}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return str(folder)


def megatron(tool: str, model: str, path: str, output: str) -> None:
    """One of Megatron-LM's tools. Some of its modules import a name of Python 3.12."""
    import typing_extensions

    if not hasattr(typing, "override"):
        typing.override = typing_extensions.override
    script = Path(os.environ["TOKENMILL_TRAINERS"], "Megatron-LM", "tools", tool)
    sys.path.insert(0, str(script.parents[1]))
    fast = ["--use-gigatoken"] if "fast" in tool else ["--workers", "2"]
    sys.argv = [tool, "--input", path, "--output-prefix", output, "--tokenizer-type", "HuggingFaceTokenizer"]
    sys.argv += ["--tokenizer-model", model_folder(model), "--append-eod", *fast]
    runpy.run_path(str(script), run_name="__main__")


def datatrove(_: str, model: str, path: str, output: str) -> None:
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.readers import JsonlReader, ParquetReader
    from datatrove.pipeline.tokens import DocumentTokenizer

    tokenizer = f"{model_folder(model)}/tokenizer.json"
    writer = DocumentTokenizer(output, tokenizer_name_or_path=tokenizer, eos_token=ENDS[model], shuffle_documents=False)
    kind = ParquetReader if path.endswith(".parquet") else JsonlReader
    reader = kind(str(Path(path).parent), glob_pattern=Path(path).name)
    LocalPipelineExecutor([reader, writer], logging_dir=f"{output}-logs").run()


def dolma(_: str, model: str, path: str, output: str) -> None:
    from dolma.cli.main import main

    folder = model_folder(model)
    end = next(
        each["id"]
        for each in json.loads(Path(folder, "tokenizer.json").read_bytes())["added_tokens"]
        if each["content"] == ENDS[model]
    )
    tokenizer = ["--tokenizer.name_or_path", f"{folder}/tokenizer.json", "--dtype", "uint16" if end == 0 else "uint32"]
    ids = ["--tokenizer.eos_token_id", str(end), "--tokenizer.pad_token_id", str(end)]
    main(["tokens", "--documents", path, "--destination", output, "--processes", "2", *tokenizer, *ids])


def job(library: str, *arguments: str) -> dict:
    """One command in this process. A tool that cannot open the tokenizer has no figure."""
    try:
        {"megatron": megatron, "datatrove": datatrove, "dolma": dolma}[library](*arguments)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:200]}
    return {}


def commands(model: str, path: str, folder: str, tools: dict[str, str]) -> dict[str, list[str]]:
    ours = ["tokenmill", "encode", path, "--tokenizer", model_folder(model), "--format", "megatron", "--json"]
    ours += ["-o", f"{folder}/tokenmill-{{round}}"]
    return {"tokenmill": ours} | {
        library: ["benchmarks.trainers", "job", library, tool, model, path, f"{folder}/{library}-{{round}}"]
        for library, tool in tools.items()
    }


def identical(folder: str) -> bool:
    """Whether tokenmill's files are those of Megatron-LM."""
    return all(
        filecmp.cmp(f"{folder}/tokenmill-0.{suffix}", f"{folder}/megatron-0_text_document.{suffix}", shallow=False)
        for suffix in ("bin", "idx")
    )


def run() -> dict:
    have = [library for library in ("megatron", "datatrove", "dolma") if library in pythons()]
    slow = {library: "preprocess_data.py" if library == "megatron" else "-" for library in have}
    fast = {"megatron": "preprocess_data_fast.py"} if "megatron" in have else {}
    of_parquet = {"datatrove": "-"} if "datatrove" in have else {}
    groups = {
        "whole": ("jsonl", "", fast),
        "short": ("jsonl", str(SHORT), slow),
        "parquet": ("parquet", str(SHORT), of_parquet),
    }
    results: dict = {}
    for model in ENDS:
        results[model] = {}
        for group, (kind, size, tools) in groups.items():
            path = run_job(["benchmarks.token_files", "make", kind, size])["path"]
            print(f"trainers: {model} {group}", file=sys.stderr)
            with tempfile.TemporaryDirectory() as folder:
                jobs = commands(model, path, folder, tools)
                keys = ("tokens", "wall", "cpu", "error")
                kept = {
                    name: [{key: each[key] for key in keys if key in each} for each in rounds]
                    for name, rounds in alternate(jobs).items()
                }
                same = identical(folder) if "megatron" in tools else None
                memory = {
                    name: peak_of_tree([word.replace("{round}", "memory") for word in words], python_of(name))
                    for name, words in jobs.items()
                }
            results[model][group] = {
                "commands": kept,
                "bytes": os.path.getsize(path),
                "identical": same,
                "memory": memory,
            }
        save("trainers", results)
    return results


if __name__ == "__main__":
    main(run, job)
