"""Token files of training frameworks: `tokenmill encode` and the tools of Megatron-LM and datatrove, whole commands on two cores.

python -m benchmarks trainers

TOKENMILL_TRAINERS names a folder with a clone of Megatron-LM. TOKENMILL_PYTHON_MEGATRON is an interpreter with torch, transformers
and gigatoken, TOKENMILL_PYTHON_DATATROVE one with datatrove. What is missing is left out.

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


def job(library: str, *arguments: str) -> dict:
    """One command in this process."""
    {"megatron": megatron, "datatrove": datatrove}[library](*arguments)
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
    groups: dict[str, tuple[str, str, dict[str, str]]] = {
        "whole": ("jsonl", "", {"megatron": "preprocess_data_fast.py"}),
        "short": ("jsonl", str(SHORT), {"megatron": "preprocess_data.py", "datatrove": "-"}),
        "parquet": ("parquet", str(SHORT), {"datatrove": "-"}),
    }
    results: dict = {}
    for model in ENDS:
        results[model] = {}
        for group, (kind, size, wanted) in groups.items():
            tools = {library: tool for library, tool in wanted.items() if library in pythons()}
            path = run_job(["benchmarks.token_files", "make", kind, size])["path"]
            print(f"trainers: {model} {group}", file=sys.stderr)
            with tempfile.TemporaryDirectory() as folder:
                jobs = commands(model, path, folder, tools)
                keys = ("tokens", "wall", "cpu")
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
