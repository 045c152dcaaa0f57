"""Error messages in the words of the command line: options in place of Python arguments.

The library's messages name arguments, such as `resume=False`, some with the option in brackets: `resume=False
(--no-resume)`. Here alone they become options, for those that the command has.
"""

from __future__ import annotations

import re
from typing import Any

VALUE = r"""(?:\.\.\.|True|False|None|'[^']*'|"[^"]*")"""
BOTH = re.compile(rf"\b[a-z_]+={VALUE}(?: \((--[^)]*)\)|, (?=--))")
ALIASES = {"on_skip": "skip_damaged"}  # an argument whose option has another name


def name_options(message: str, command: Any) -> str:
    """`message` with the options of a click command in place of Python arguments.

    >>> name_options("Skip this check with any_tokenizer=True (--any-tokenizer).", None)
    'Skip this check with --any-tokenizer.'
    """
    message = BOTH.sub(lambda found: found[1] or "", message)
    options = {p.name: p for p in getattr(command, "params", []) if p.opts and p.opts[0].startswith("--")}
    for name, option in options.items():
        argument = next((given for given, own in ALIASES.items() if own == name), name)
        on = option.opts[0]
        off = option.secondary_opts[0] if option.secondary_opts else ""
        if f"no_{name}" in options:
            off = options[f"no_{name}"].opts[0]
        message = re.sub(rf"\b{argument}=(?:True|\.\.\.)", on, message)
        if off:
            message = re.sub(rf"\b{argument}=False", off, message)
        message = re.sub(rf"""\b{argument}=(?:'([^']*)'|"([^"]*)")""", rf"{on} \1\2", message)
        message = re.sub(rf"^{argument}(?= is )", on, message)
        if "_" in argument:
            message = re.sub(rf"(?<![\w./-]){argument}(?![\w./=])", on, message)
    return message
