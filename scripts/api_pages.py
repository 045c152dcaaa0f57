"""The Python reference of the documentation site, by task: signatures and docstrings of the public names as Markdown.

`PAGES` says which name belongs to which page. A docstring begins with a sentence. Lines such as `name: text` describe
arguments and become a list, `>>>` begins an example and becomes a fenced block. Classes of options get a table of their fields.
"""

from __future__ import annotations

import html
import inspect
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType, UnionType
from typing import Any, NamedTuple, get_args

from benchmarks.pages import table

import tokenmill
from tokenmill.options import Field, Options, fields_of
from tokenmill.vocabulary.lazy import lazy


class Page(NamedTuple):
    title: str
    lead: str
    example: str
    names: str


PAGES = {
    "load-and-encode": Page(
        "Load and encode",
        "Load a tokenizer, encode text to ids and decode ids to text.",
        """import tokenmill

texts = ["low lower lowest newest widest"] * 9
tok = tokenmill.train_from_iterator(
    texts, 270, special_tokens=["<|endoftext|>"]
)
tok.save("my-tokenizer")
tok = tokenmill.load("my-tokenizer")  # or tokenizer.json, cl100k_base
ids = tok.encode("lowest<|endoftext|>", allowed_special="all")
assert tok.decode(ids) == "lowest<|endoftext|>"
assert tok.encode_batch(["low", "lower"])[0] == tok.encode("low")
assert "".join(tok.chunks("low lower lowest", 3)) == "low lower lowest"
""",
        "load get_encoding encoding_for_model list_encoding_names Tokenizer Offsets StreamEncoder StreamDecoder TokenView "
        "Vocabulary AddedToken Normalization Splitter Opening Origin",
    ),
    "train": Page(
        "Train",
        "Train a tokenizer on files, on texts in memory or on word counts.",
        """import tokenmill

tok = tokenmill.train_from_iterator(["low low low", "lower newest"], vocab_size=260)
counts = tokenmill.count_iterator(["low low low", "lower newest"])
assert tokenmill.train_from_counts(counts, vocab_size=260) == tok
""",
        "train train_from_iterator train_from_counts train_parity Train Trained TrainingEvent LanguageReport "
        "count count_iterator count_to_folder add_up WordCounts Count CountOptions CountSummary",
    ),
    "corpora-and-token-files": Page(
        "Corpora and token files",
        "Clean dumps, read documents, and write, join, read and verify files of ids.",
        """from pathlib import Path

import tokenmill

Path("text.txt").write_text("low lower lowest")
tok = tokenmill.train("text.txt", 260, special_tokens=["<|endoftext|>"])
tokenmill.encode_files(tok, "text.txt", "ids.npy", format="npy")
tokens = tokenmill.load_tokens("ids.npy")
assert tok.decode(tokens.ids.tolist()) == "low lower lowest<|endoftext|>"
""",
        "clean Clean CleanOptions CleaningReport read_documents Document ReadOptions Skip encode_files Encode EncodeOptions "
        "EncodeSummary load_tokens TokenFile Join verify Verified JobOptions",
    ),
    "evaluate": Page(
        "Evaluate",
        "Evaluate one vocabulary or compare several, as tables, charts and pages.",
        """import tokenmill

tok = tokenmill.train_from_iterator(["low low low", "lower newest"], vocab_size=260)
report = tokenmill.inspect(tok, text=tokenmill.count_iterator(["low lower newest"]))
report.save("report.html")
assert report.table("thresholds").column("tokens")
""",
        "inspect compare report Inspection InspectionOptions Comparison Report Table Column Token Chart Judgement Finding "
        "Provenance",
    ),
    "exact-tools": Page(
        "Check, convert and change",
        "Prove that two tokenizers agree, convert with a certificate, and change a vocabulary without surprises.",
        """import tokenmill

tok = tokenmill.train_from_iterator(["low low low", "lower newest"], vocab_size=260)
assert tokenmill.check(tok, tok).difference is None
longer = tokenmill.extend(tok, tokenmill.count_iterator(["lowest lowest"]), vocab_size=262)
assert longer.n_vocab == 262 and longer.token_to_id("low") == tok.token_to_id("low")
""",
        "check Agreement Difference export_loss ExportLoss Convert Converted Certificate prune shrink Prune Changed extend "
        "Extend replace errors",
    ),
}
# Members that other modules of tokenmill call: not on the pages.
INTERNAL = set(
    "unused check check_output resumes of skipper for_kind reading counted_before folder folders new_rows_path chosen_format "
    "part_number packed event_numbers decoded_bytes joined_bytes title lead tiles sections about places prepared certain_cut "
    "warn_of_long_pretokens prepends other_steps".split()
)
HOME = {name: task for task, page in PAGES.items() for name in page.names.split()}
DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = re.compile(r"docs/([\w/-]+\.md)")  # as docstrings name it
ARGUMENT = re.compile(r"([a-z_]\w*(?:, [a-z_]\w*)*): (.+)")


def pages() -> dict[str, str]:
    """The Markdown of each page by its file's name, and of the index of all names."""
    result = {f"{name}.md": page_of(page) for name, page in PAGES.items()}
    rows = [
        [
            ", ".join(f"[`{each}`]({name}.md#{each})" for each in page.names.split()),
            f"[{page.title}]({name}.md)",
        ]
        for name, page in PAGES.items()
    ]
    lead = "Every public name, by task. All of them are imported from `tokenmill`: `from tokenmill import load`."
    result["index.md"] = "\n".join(["# Python", "", lead, "", *table(["names", "task"], rows), ""])
    return result


def page_of(page: Page) -> str:
    lines = [f"# {page.title}", "", page.lead, "", "```python", page.example.strip(), "```", ""]
    for name in page.names.split():
        lines += described(name, getattr(tokenmill, name), f"tokenmill.{name}", 2)
    return "\n".join(lines)


def described(name: str, value: Any, call: str, level: int) -> list[str]:
    """The heading, signature and docstring of a name, and for a class those of its members."""
    anchor = f" {{#{name}}}" if level == 2 else ""  # train and Train are two names
    lines = [f"{'#' * level} {name}{anchor}", ""]
    if (inspect.isroutine(value) or inspect.isclass(value)) and not isinstance(value, lazy):  # an attribute has no call
        lines += ["```python", signature(value, call), "```", ""]
    lines += [markdown(inspect.getdoc(value) or "", parameters(value)), ""]
    if inspect.isclass(value) and issubclass(value, Options):
        lines += option_table(value)
    if isinstance(value, ModuleType):
        members = [(each, vars(value)[each]) for each in vars(value) if is_error(vars(value)[each])]
        lines += [
            line for each, error in members for line in described(each, error, f"tokenmill.errors.{each}", level + 1)
        ]
    elif inspect.isclass(value) and not issubclass(value, BaseException):
        for each, member in public_members(value):
            kept = call if isinstance(vars(value).get(each), classmethod | staticmethod) else short(value)
            lines += described(each, member, f"{kept}.{each}", level + 1)
    return lines


def short(owner: type) -> str:
    """What an instance is called in signatures."""
    return {"Tokenizer": "tok"}.get(owner.__name__, re.sub(r"(?<!^)(?=[A-Z])", "_", owner.__name__).lower())


def is_error(value: object) -> bool:
    return inspect.isclass(value) and issubclass(value, tokenmill.errors.TokenmillError)


def public_members(owner: type) -> Iterator[tuple[str, Any]]:
    """The methods and properties of a class that have a docstring, in their order."""
    for name, raw in vars(owner).items():
        value = getattr(raw, "__func__", raw)
        if (
            not name.startswith("_")
            and name not in INTERNAL
            and (inspect.isroutine(value) or isinstance(raw, property))
            and inspect.getdoc(raw)
        ):
            yield name, value


def signature(value: Any, call: str) -> str:
    """The call with its arguments. Options that a class defines are `**options`: the class has their table."""
    try:
        own = inspect.signature(value)
    except (TypeError, ValueError):
        return call
    options = fields_of(value) if inspect.isclass(value) and issubclass(value, Options) else {}
    wrapped = getattr(value, "__wrapped__", None)
    kept, rest = [], False
    for each in own.parameters.values():
        if plain(each.annotation) == "Never":  # `**unknown`, for the error about an unknown option
            continue
        if each.name in options or (wrapped and each.kind is each.KEYWORD_ONLY) or each.name in ("self", "cls"):
            rest |= each.name not in ("self", "cls")
            continue
        kept.append(each.replace(annotation=plain(each.annotation)))
    shown = [text for each in kept for text in arguments(each)]
    by_name = [
        i for i, each in enumerate(kept) if each.kind is each.KEYWORD_ONLY or "SpecialOptions" in each.annotation
    ]
    if by_name and not any(each.kind is each.VAR_POSITIONAL for each in kept):
        shown.insert(by_name[0], "*")
    shown += ["**options"] if rest else []
    returned = plain(own.return_annotation)
    end = "" if inspect.isclass(value) or returned in ("", "None") else f" -> {returned}"
    line = f"{call}({', '.join(shown)}){end}"
    if len(line) <= 76:  # what fits the page beside the copy button
        return line
    inside = "".join(f"    {each},\n" for each in shown)
    return f"{call}(\n{inside}){end}"


def plain(annotation: Any) -> str:
    """A type without the help texts of options."""
    if annotation is inspect.Parameter.empty:
        return ""
    annotation = getattr(annotation, "__forward_arg__", annotation)
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    if match := re.match(r"Annotated\[(.*?), (?:Option|Argument)\(", text):
        return match[1]
    return text


def arguments(each: inspect.Parameter) -> list[str]:
    if "SpecialOptions" in str(each.annotation):
        return ["allowed_special: str | Collection[str] = ()", "disallowed_special: str | Collection[str] = 'all'"]
    stars = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
    kind = f": {each.annotation}".replace("Specials", "str | Collection[str]") if each.annotation else ""
    default = "" if each.default is each.empty else f"{' = ' if kind else '='}{shown_default(each.default)}"
    return [f"{stars}{each.name}{'' if stars == '**' else kind}{default}"]


def shown_default(value: object) -> str:
    text = repr(value)
    return "()" if text == "frozenset()" else "..." if text.startswith("<") or len(text) > 40 else text


def option_table(owner: Any) -> list[str]:
    """A row for each option of a class, and for those of the classes of options inside."""
    rows = []
    for name, field in fields_of(owner).items():
        if isinstance(field, Field):
            kinds = [repr(each) for each in field.choices] or [
                getattr(each, "__name__", str(each))
                for kind in field.kinds
                for each in (get_args(kind) if isinstance(kind, UnionType) else [kind])
            ]
            required = not isinstance(field.default, int | float | str | tuple | list | dict | bool | type(None))
            default = "required" if required else f"`{field.default!r}`"
            rows.append([f"`{name}`", ", ".join(kinds), default, escaped(field.option.help)])
        else:
            meaning = "an object of that class, or its options by name"
            if field.__name__ not in HOME:  # the pages do not describe that class
                meaning += f": {', '.join(f'`{each}`' for each in fields_of(field))}"
            rows.append([f"`{name}`", prose(f"`{field.__name__}`"), "", meaning])
    return [*table(["option", "type", "default", '<span class="meaning">meaning</span>'], rows), ""]


def escaped(text: str) -> str:
    """A help text in a cell of a table, with the names of options as code."""
    text = html.escape(text, quote=False).replace("|", "&#124;").replace("*", "\\*").replace("_", "\\_")
    return re.sub(r"(?<!\S)(?:--[a-z][a-z-]*|-[a-z]\b)", r"`\g<0>`", text)


def parameters(value: Any) -> list[str]:
    """The names of the arguments of a function or a class."""
    try:
        return [*inspect.signature(value).parameters]
    except (TypeError, ValueError):
        return []


def markdown(doc: str, names: Sequence[str] = ()) -> str:
    """A docstring as Markdown: arguments as a list, examples fenced, indented blocks kept.

    `names` are arguments that may follow a sentence in its line: "tok: the largest. toks: by size."
    """
    lines: list[str] = []
    fence, listed = "", False
    if names:
        doc = re.sub(rf"[.;] (?=({'|'.join(names)}): )", ".\n", doc)
    for number, line in enumerate(doc.splitlines()):
        if fence and not line.strip():
            lines.append("```")
            fence = ""
        if line.startswith(">>>") and not fence:
            fence = ">>>"
            lines += ["", "```pycon"]
        if fence:
            lines.append(line)
        elif number and (found := ARGUMENT.match(line)):
            names = ", ".join(f"`{name}`" for name in found[1].split(", "))
            lines += [] if listed or not lines[-1] else [""]
            lines.append(f"- {names}: {prose(found[2])}")
            listed = True
        elif listed and (found := re.match(r' {4}("\w+"): (.+)', line)):  # the values of an argument
            lines.append(f"    - `{found[1]}`: {prose(found[2])}")
        elif listed and (found := re.match(r" {4}( {4})?\S", line)):
            lines.append(f"  {'    ' if found[1] else ''}{prose(line.strip())}")
        elif line.startswith("tokenmill "):  # an example of the command
            while not lines[-1]:
                lines.pop()
            lines += [f"    {line}"] if lines[-1].startswith("    tokenmill ") else ["", f"    {line}"]
        else:
            lines += [""] if listed and line else []
            listed = False
            lines.append(line if line.startswith("    ") else prose(line))
    return "\n".join([*lines, *(["```"] if fence else [])])


def prose(line: str) -> str:
    """A line of text, with `<` as text and not as HTML outside of code, and links to the names and pages in it."""
    parts = line.split("`")
    for i, part in enumerate(parts):
        parts[i] = f"`{part}`" if i % 2 else PAGE.sub(linked, html.escape(part, quote=False).replace("*", "\\*"))
        if i % 2 and part in HOME:
            parts[i] = f"[{parts[i]}]({HOME[part]}.md#{part})"
    return "".join(parts)


def linked(page: re.Match[str]) -> str:
    """A link with the title of a page."""
    title = (DOCS / page[1]).read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
    return f"[{title}](../../{page[1]})"
