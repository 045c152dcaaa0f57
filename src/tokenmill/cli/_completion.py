"""Shell completion of verbs, options and values. The shell itself completes files."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ..errors import UsageError

SCRIPTS = {
    "bash": """_tokenmill() {
    local IFS=$'\\n'
    COMPREPLY=($(_TOKENMILL_COMPLETE=1 tokenmill "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o bashdefault -o default -F _tokenmill tokenmill""",
    "zsh": """_tokenmill() {
    local -a reply
    reply=("${(@f)$(_TOKENMILL_COMPLETE=1 tokenmill "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n "$reply" ]]; then compadd -- $reply; else _files; fi
}
compdef _tokenmill tokenmill""",
    "fish": """function _tokenmill
    set -l begun (commandline -ct)
    set -l reply (_TOKENMILL_COMPLETE=1 tokenmill (commandline -opc)[2..] "$begun" 2>/dev/null)
    test -n "$reply"; and printf '%s\\n' $reply; or __fish_complete_path "$begun"
end
complete -c tokenmill -f -a '(_tokenmill)'""",
}


def script(shell: str) -> str:
    """Return the script for eval "$(tokenmill --completion bash)". shell: "" for the user's own."""
    shell = shell or os.path.basename(os.environ.get("SHELL", "bash"))
    if shell not in SCRIPTS:
        raise UsageError(f"--completion is {shell!r}; known are {', '.join(SCRIPTS)}")
    return SCRIPTS[shell]


def completions(words: Sequence[str]) -> list[str]:
    """Return the completions of the last word; none where a file may follow."""
    from ._verbs import VERBS

    *before, prefix = words or [""]
    if before and before[0] in VERBS:
        from .main import verb_of

        return verb_of(before[0]).complete(before[1:], prefix)
    is_verb = not before or before == ["help"]
    return [name for name in (*VERBS, "help", "--help", "--version") if name.startswith(prefix)] if is_verb else []
