"""The public names exist, and importing tokenmill stays light."""

import subprocess
import sys

import pytest

import tokenmill

PUBLIC = """
AddedToken Agreement Changed Clean CleanOptions CleaningReport Comparison Convert Converted Count
CountOptions Difference Document Encode EncodeOptions ExportLoss Extend Inspection InspectionOptions JobOptions
Prune Pruned ReadOptions Replaced Report Splitter TokenFile Tokenizer Train Trained
TrainingEvent Vocabulary WordCounts add_up check clean compare count count_iterator
count_to_folder encode_files encoding_for_model errors export_loss extend get_encoding inspect
list_encoding_names load load_tokens prune read_documents replace report shrink train
train_from_counts train_from_iterator train_parity
"""


def test_every_public_name_is_there():
    assert tokenmill.__all__ == PUBLIC.split()
    for name in tokenmill.__all__:
        assert getattr(tokenmill, name) is not None
    assert sorted(tokenmill.__all__) == dir(tokenmill)


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'trian'"):
        tokenmill.trian  # noqa: B018


def test_public_functions_are_not_hidden_by_packages():
    code = "import tokenmill, tokenmill.counting, tokenmill.training; assert callable(tokenmill.count); assert callable(tokenmill.train)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_import_is_light():
    code = "import tokenmill, sys; print(sorted({m.split('.')[0] for m in sys.modules} & set(HEAVY)))"
    heavy = ["numpy", "regex", "click", "rich", "pyarrow", "matplotlib", "ray", "http", "lxml", "json", "asyncio"]
    result = subprocess.run(
        [sys.executable, "-c", code.replace("HEAVY", repr(heavy))], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


def test_help_is_light():
    code = "import sys; sys.argv = ['tokenmill', 'train', '--help']; from tokenmill.cli import entry; entry()"
    command = [sys.executable, "-X", "importtime", "-c", code]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "--vocab-size" in ran.stdout and "tokenmill.train_job" in ran.stderr
    for module in ("numpy", "tokenmill.training.trainer", "tokenmill.counting.threads", "tokenmill.split"):
        assert module not in ran.stderr, module
