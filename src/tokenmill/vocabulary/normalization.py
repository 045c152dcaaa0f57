"""`Normalization`: the changes to a text before it is split."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

from .validation import VocabularyError, check_choice, show

Step = str | tuple[Any, ...]
Stripped = Literal["", "space", "spaces", "token", "joined"]
NORMALIZERS = ("NFC", "NFD", "NFKC", "NFKD")
# The other normalizers, by the number of their arguments.
STEPS = dict.fromkeys((*NORMALIZERS, "Lowercase", "StripAccents"), 0) | {
    "Prepend": 1, "CharacterMap": 2, "Replace": 2, "ReplaceRegex": 2, "Strip": 2,
}  # fmt: skip

MARK = "\u2581"  # stands for a space in SentencePiece's pieces
# SentencePiece's remove_extra_whitespaces: no spaces at either end, and one in place of several.
EXTRA_SPACES: tuple[Step, ...] = (("ReplaceRegex", f"^ +|[ {MARK}]+$", ""), ("ReplaceRegex", " {2,}", " "))


class Normalization(NamedTuple):
    """The changes to a text before it is split, and those that decoding undoes. The default changes nothing.

    normalizers: the first steps, with the names of Hugging Face's normalizers: "NFC", "Lowercase", ("Replace", " ", "\u2581")
        and so on.
    add_prefix_space: whether a space is put before each section that does not begin with one. "first" means only the section at
        the start of the text, and "text" the same, also where the text begins with a space or with an added token.
    space_mark: the character that stands for a space after normalization, U+2581 in SentencePiece's files. The tokens of a
        vocabulary contain the space itself.
    strip_decoded: the characters that decoding leaves out at the start of a text: "space" one space, "spaces" one space of each
        token before the first character, "token" all spaces of the first token, "" nothing. "joined": each token gets a space
        before it, and that of the first is left out.
    """

    normalizers: tuple[Step, ...] = ()
    add_prefix_space: bool | Literal["first", "text"] = False
    space_mark: str = ""
    strip_decoded: Stripped = ""

    def check(self) -> None:
        """Raise FormatError for a wrong field, or for another kind of object."""
        if not isinstance(self, Normalization) or not isinstance(self.normalizers, tuple):
            raise VocabularyError(f"normalization is {show(self)}; expected a Normalization, with a tuple")
        check_choice("add_prefix_space", self.add_prefix_space, (True, False, "first", "text"))
        check_choice("strip_decoded", self.strip_decoded, get_args(Stripped))
        for step in self.normalizers:
            name, *arguments = step if isinstance(step, tuple) else (step,)
            if not isinstance(name, str) or STEPS.get(name) != len(arguments):
                raise VocabularyError(f"the normalizer {show(step)} is not one that tokenmill has ({', '.join(STEPS)})")

    @property
    def prepends(self) -> bool:
        """Whether a normalizer puts the space mark before a text."""
        return bool(self.space_mark) and ("Prepend", self.space_mark) in self.normalizers

    @property
    def other_steps(self) -> tuple[Step, ...]:
        """The normalizers without the first of each of the two that write the mark."""
        steps = [*self.normalizers]
        for step in (("Prepend", self.space_mark), ("Replace", " ", self.space_mark)):
            if self.space_mark and step in steps:
                steps.remove(step)
        return tuple(steps)


NO_NORMALIZATION = Normalization()
