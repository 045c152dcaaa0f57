"""The public names exist, and importing tokenmill stays light."""

import builtins
import importlib
import inspect
import re
import subprocess
import sys
import types
from base64 import b64encode

import pytest

import tokenmill

PUBLIC = """
AddedToken Agreement Certificate Changed Chart Clean CleanOptions CleaningReport Column Comparison Convert Converted
Count CountOptions CountSummary Difference Document Encode EncodeOptions EncodeSummary ExportLoss Extend
Finding Inspection InspectionOptions JobOptions Join Judgement LanguageReport Normalization Offsets Opening Origin Provenance Prune ReadOptions
Report Skip Splitter StreamDecoder StreamEncoder Table Token TokenFile TokenView Tokenizer Train
Trained TrainingEvent Verified Vocabulary WordCounts add_up check clean compare count count_iterator count_to_folder encode_files
encoding_for_model errors export_loss extend get_encoding inspect list_encoding_names load load_tokens prune
read_documents replace report shrink train train_from_counts train_from_iterator train_parity verify
"""
PACKAGES = {
    "corpus": "CleanOptions CleaningReport Document clean read_documents",
    "counting": "CountOptions CountSummary WordCounts count count_each count_iterator",
    "events": "event_table",
    "formats": "FORMATS PUBLISHED check_output encode_with_library read to_hf to_tiktoken write",
    "split": "Splitter",
    "superwords": "SuperwordTraining file_text memory_text stage2_splitter",
    "tokenizer": "Tokenizer",
    "training": "Options Training estimate_memory extend_vocabulary",
    "vocabulary": "MAX_ID NORMALIZERS PATTERNS AddedToken Event LibraryModel Normalization Order Template Vocabulary",
}
OTHER_TYPES = "Any Callable Cell DataFrame Collection Encoding Event Iterable Iterator LargeListArray Literal Mapping None OnSkip Options Path"
OTHER_TYPES += " PreTrainedTokenizerFast Sequence Step Text UInt32Array UsageError array np"


@pytest.mark.parametrize("package", PACKAGES)
def test_the_names_of_a_package_are_as_written(package):
    module = importlib.import_module(f"tokenmill.{package}")
    assert list(module.__all__) == PACKAGES[package].split()
    for name in module.__all__:
        assert getattr(module, name) is not None


def test_types_that_public_functions_return_are_public():
    known = {*PUBLIC.split(), *OTHER_TYPES.split(), *dir(builtins)}
    functions = []
    for value in map(tokenmill.__getattr__, PUBLIC.split()):
        members = inspect.getmembers(value) if inspect.isclass(value) else []
        methods = [getattr(member, "fget", member) for name, member in members if not name.startswith("_")]
        functions += [each for each in [value, *methods] if inspect.isfunction(each)]
    for function in functions:
        returned = re.sub(r"Literal\[.*?\]|\w+\.(?=\w)", "", str(function.__annotations__.get("return", "")))
        unknown = set(re.findall(r"[A-Za-z_]\w+", returned)) - known - {"ndarray"}
        assert not unknown, (function.__qualname__, unknown)


def test_the_repr_of_a_result_is_one_line(tmp_path):
    (tmp_path / "a.txt").write_text("low lower lowest " * 50)
    tok = tokenmill.train(tmp_path / "a.txt", 262)
    counts = tokenmill.count(tmp_path / "a.txt")
    results = [
        tok,
        tok.vocabulary,
        counts,
        tok.source,
        tokenmill.inspect(tok, text=counts),
        tokenmill.check(tok, tok, fuzz=1),
    ]
    inspection = tokenmill.inspect(tok, text=counts)
    results += [inspection.judgement, *inspection.charts, *inspection.tables, *inspection.findings[:1]]
    results += [
        tokenmill.shrink(tok, text=counts, num_threads=1),
        tokenmill.replace(tok, counts, number=1),
        tokenmill.Splitter("gpt2"),
    ]
    results += [tokenmill.Train(262, sources="a.txt"), tokenmill.Train(262, sources=tmp_path / "a.txt").run()]
    for result in results:
        assert len(repr(result)) < 1000 and "\n" not in repr(result), type(result)


AS_OTHERS_HAVE_IT = {  # optional arguments by position
    "Tokenizer.decode": ["errors"],  # tiktoken
    "WordCounts.most_common": ["n"],  # collections.Counter
    "Splitter.certain_cut": ["start", "length"],  # called for each block by readers, as bytes.find is
}


def test_what_may_be_left_out_is_given_by_name():
    for public in PUBLIC.split():
        value = getattr(tokenmill, public)
        methods = inspect.getmembers(value, inspect.isroutine) if inspect.isclass(value) else []
        own = [(f"{public}.{name}", each) for name, each in methods if not name.startswith("_")]
        for name, function in own or [(public, value)] * inspect.isfunction(value):
            if not isinstance(function, types.FunctionType | types.MethodType):
                continue
            parameters = inspect.signature(function).parameters.values()
            optional = [
                each.name
                for each in parameters
                if each.kind == each.POSITIONAL_OR_KEYWORD and each.default is not each.empty
            ]
            assert optional == AS_OTHERS_HAVE_IT.get(name, []), (name, optional)


@pytest.mark.parametrize(
    "function",
    "add_up check clean compare count count_iterator count_to_folder encode_files export_loss extend inspect prune replace report shrink train verify".split(),
)
def test_threads_have_one_name(function):
    has = "num_threads" in inspect.signature(getattr(tokenmill, function)).parameters
    assert has != (function == "add_up")  # which is one merge of sorted files


@pytest.mark.parametrize("name", ["Train", "Count", "CountOptions", "train", "train_parity"])
def test_signatures_have_plain_types(name):
    value = getattr(tokenmill, name)
    for function in (value, value.__init__):
        assert "Option(" not in str(inspect.signature(function))
    assert "min_count: int = 1" in str(inspect.signature(value)) or name == "Count"


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


def test_a_first_load_is_light(tmp_path):
    (tmp_path / "a.tiktoken").write_text(
        "".join(f"{b64encode(bytes([byte])).decode()} {byte}\n" for byte in range(256))
    )
    code = "import tokenmill, sys; tokenmill.load(sys.argv[1], split='gpt2').encode('a'); print({*sys.modules} & HEAVY)"
    heavy = ["numpy", "regex", "dataclasses", "inspect", "json"]
    command = [sys.executable, "-c", code.replace("HEAVY", repr({*heavy})), str(tmp_path / "a.tiktoken")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "set()\n"


def test_help_is_light():
    code = "import sys; sys.argv = ['tokenmill', 'train', '--help']; from tokenmill.cli import entry; entry()"
    command = [sys.executable, "-X", "importtime", "-c", code]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "--vocab-size" in ran.stdout and "tokenmill.train_job" in ran.stderr
    for module in (
        "numpy",
        "decimal",
        "click",
        "tokenmill.training.trainer",
        "tokenmill.counting.threads",
        "tokenmill.split",
    ):
        assert module not in ran.stderr, module
