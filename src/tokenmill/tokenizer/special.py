"""Added tokens in text: matched as whole strings before the text is split, special tokens only where allowed.

The search goes from left to right, matches do not overlap, and of several tokens at one position the longest wins. A special
token that is not allowed is ordinary text, so tokens inside it or overlapping it are matched (as in tiktoken). Tokens
that are not special are matched in any text, with Hugging Face's flags.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import lru_cache, partial
from typing import NamedTuple, NoReturn, TypedDict

from ..errors import SpecialTokenError, UsageError, WrongTypeError
from ..split.splitter import finder_of
from ..vocabulary import AddedToken, Vocabulary
from ..vocabulary.normalization import MARK, Step
from .encoding._finder_cy import Finder
from .encoding._sections_cy import Sections
from .normalization import (
    CHARACTER_STEPS,
    class_page,
    has_map,
    joined_pairs,
    keeps_mark,
    normalizer_of,
    only_characters,
    removes_spaces,
)

STRETCH_START, BARE_START = 4, 5  # the rules of _sections_cy.pxd for a space before a text
PREFIXES: dict[object, int] = {False: 0, True: 1, "first": 2, "text": 3}
Specials = str | Collection[str]
NONE: frozenset[str] = frozenset()


class SpecialOptions(TypedDict, total=False):
    """The options of all methods that encode; see `Tokenizer.encode`."""

    allowed_special: Specials
    disallowed_special: Specials


class Plan(NamedTuple):
    """The treatment of special tokens that a text spells.

    allowed: the special tokens to match. refused_finder: finds those that are an error; None for none.
    sections: matches them and the tokens that are not special, normalizes, and puts a space before a text; None for none of this.
    steps: the normalization steps of `sections`.
    """

    allowed: frozenset[str]
    refused_finder: Finder | None
    sections: Sections | None
    steps: tuple[Step, ...]


class AddedTokens:
    """The added tokens of a vocabulary, and the plans to match them.

    simple: nothing in a text changes, and no token includes the white space next to it. local: the tokens of a stretch
        depend only on a few characters before it, except for a space that is put before the text.
    """

    def __init__(self, vocabulary: Vocabulary):
        self.normalization = changes = vocabulary.normalization
        self.normalize, others = normalizer_of(changes.normalizers), changes.other_steps
        flags = any(token.lstrip or token.rstrip or token.single_word for token in vocabulary.added_tokens)
        self.simple = not (others or changes.space_mark or changes.add_prefix_space or flags)
        matched_later = changes.normalizers and any(token.normalized for token in vocabulary.added_tokens)
        prefixed_later = changes.add_prefix_space is True or (changes.prepends and others)
        self.local = {*others} <= CHARACTER_STEPS and not (prefixed_later or flags or matched_later)
        self.by_content = {token.content: token for token in vocabulary.added_tokens if token.content}
        self.special = frozenset(content for content, token in self.by_content.items() if token.special)
        self.always = frozenset(self.by_content) - self.special
        self._plan = lru_cache(maxsize=64)(self._make_plan)
        self._sections = lru_cache(maxsize=64)(self._make_sections)

    def plan(self, allowed_special: Specials = NONE, disallowed_special: Specials = "all") -> Plan:
        """Return the plan for tiktoken's two arguments."""
        if isinstance(allowed_special, str) and allowed_special != "all":
            raise UsageError(f"allowed_special is {allowed_special!r}; give a set of token texts, or 'all'")
        if isinstance(disallowed_special, str) and disallowed_special != "all":
            raise UsageError(f"disallowed_special is {disallowed_special!r}; give a collection of texts, or 'all'")
        try:
            allows_all, refuses_others = isinstance(allowed_special, str), isinstance(disallowed_special, str)
            allowed = self.special if allows_all else self.special.intersection(allowed_special)
            return self._plan(allowed, None if refuses_others else frozenset(disallowed_special))
        except (AttributeError, TypeError):
            raise WrongTypeError("allowed_special and disallowed_special are collections of texts, or 'all'") from None

    def _make_plan(self, allowed: frozenset[str], refused: frozenset[str] | None) -> Plan:
        """refused: None for all special tokens that are not allowed."""
        if refused is None:
            refused = self.special - allowed
        refused_finder = Finder({content.encode(): 0 for content in refused}) if refused else None
        return Plan(allowed, refused_finder, *self._sections(self.always | allowed))

    def _make_sections(self, contents: frozenset[str]) -> tuple[Sections | None, tuple[Step, ...]]:
        """Return the kernel's treatment of a text with the tokens `contents`, None if there is nothing to do; and its steps."""
        # Of two tokens that are normalized to one text, the last in the file is matched.
        tokens = [token for content, token in self.by_content.items() if content in contents]
        raw = _finder_of({token.content: token for token in tokens if not token.normalized})
        changes, mark = self.normalization, self.normalization.space_mark
        steps, prefix = changes.other_steps, PREFIXES[changes.add_prefix_space]
        normal = {self.normalized_content(token): token for token in tokens if token.normalized}
        marks = bool(mark) and ("Replace", " ", mark) in changes.normalizers
        spaces: tuple[Step, ...] = (("Replace", mark, " "),) if mark else ()
        if changes.prepends:
            prefix = self._mark_prefix(steps, normal)
            if not prefix:  # a token may include the mark before a text
                steps = (*changes.normalizers, *spaces)
                return Sections(raw, _finder_of(normal), _bytes_change(steps), marks=marks), steps
        if not steps and not mark:
            return Sections(raw, _finder_of(normal), prefix=prefix) if tokens or prefix else None, ()
        page_of, joined, trims = None, None, removes_spaces(steps)
        exact = 1 if has_map(steps) else 2 * (len(steps) - 2 * trims > 1)
        if only_characters(steps[:-2] if trims else steps):
            page_of, joined = partial(class_page, steps, mark), partial(joined_pairs, steps)
        steps = (*steps, *spaces)
        change = _bytes_change(steps)
        return Sections(raw, _finder_of(normal), change, page_of, joined, prefix, marks, trims, exact), steps

    def _mark_prefix(self, steps: tuple[Step, ...], normal: Mapping[str, AddedToken]) -> int:
        """Return the rule for a space in place of the mark before a text; 0 if tokens must be matched with the mark.

        steps: the steps except marks. normal: the tokens that are matched after them.
        """
        normalizers, mark = self.normalization.normalizers, self.normalization.space_mark
        if any(text.startswith(" ") or token.lstrip for text, token in normal.items()):
            return 0
        if not steps or normalizers[: len(steps) + 1] == (*steps, ("Prepend", mark)):
            return STRETCH_START
        first = normalizers[0] == ("Prepend", MARK) and mark == MARK
        return BARE_START if first and only_characters(steps) and keeps_mark(steps) else 0

    def normalized_content(self, token: AddedToken) -> str:
        """The content of a token with `normalized`, as it is in text after normalization."""
        text, mark = self.normalize(token.content), self.normalization.space_mark
        return text.replace(mark, " ") if mark else text

    def check(self, text: str | bytes, plan: Plan) -> None:
        """Raise SpecialTokenError if `text` contains a token that the plan refuses."""
        if plan.refused_finder is None:
            return
        data = text.encode("utf-8", "replace") if isinstance(text, str) else text
        if content := plan.refused_finder.find(data):
            refuse(content.decode())


def _bytes_change(steps: tuple[Step, ...]) -> Callable[[bytes], bytes]:
    """Return the function that applies the steps to UTF-8. It does not change bytes that are not UTF-8."""
    change = normalizer_of(steps)
    return lambda data: change(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def _finder_of(tokens: Mapping[str, AddedToken]) -> Finder | None:
    """Return the finder of tokens by their texts; None without tokens."""
    if not tokens:
        return None
    ids = {text.encode(): token.id for text, token in tokens.items()}
    flags = {
        text.encode(): token.lstrip | token.rstrip << 1 | token.single_word << 2
        for text, token in tokens.items()
        if token.lstrip or token.rstrip or token.single_word
    }
    return Finder(ids, flags, has_word_character)


def has_word_character(text: str) -> bool:
    """Return whether a text has a word character: `\\w` of Rust."""
    return any(finder_of(r"\w")(text))


def refuse(token: str) -> NoReturn:
    """Raise the SpecialTokenError for `token` in a text."""
    raise SpecialTokenError(
        f"the text spells {token!r}, a disallowed special token.\n"
        f"To encode it as that control token, allow it: allowed_special={{{token!r}}}.\n"
        f"To encode it as ordinary text, leave it out of the check: "
        f"disallowed_special=tok.special_tokens_set - {{{token!r}}}.\n"
        "To encode all such texts as ordinary text: disallowed_special=()."
    ) from None
