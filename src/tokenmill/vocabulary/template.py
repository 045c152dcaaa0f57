"""`Template`: the control tokens that encoding adds to a text on request, such as BOS and EOS."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, NamedTuple

Items = tuple[tuple[str | int, int], ...]


class Template(NamedTuple):
    """The form of a text, and of a pair of texts, with its control tokens: items in order, each with its type id (BERT's segment).

    An item is the content of a token, or the number of a text, 0 or 1.
    trims: offsets leave out the spaces that a token begins and ends with. "prefix" keeps the first one at the start of a text.

    >>> Template(single=(("<s>", 0), (0, 0))).affixes
    (['<s>'], [])
    """

    single: Items = ((0, 0),)
    pair: Items = ((0, 0), (1, 1))
    trims: Literal["", "all", "prefix"] = ""

    @property
    def affixes(self) -> tuple[list[str], list[str]]:
        """The tokens before a text, and those after it."""
        contents = [content for content, _ in self.single]
        text = contents.index(0)
        return contents[:text], contents[text + 1 :]  # type: ignore[return-value]

    def of_tokens(self, contents: Collection[str]) -> Template:
        """The template without the tokens that are not among `contents`."""
        single, pair = (
            tuple(item for item in items if isinstance(item[0], int) or item[0] in contents)
            for items in (self.single, self.pair)
        )
        return self._replace(single=single, pair=pair)


NO_TEMPLATE = Template()
