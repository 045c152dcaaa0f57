"""HTML to plain text: blank lines between paragraphs, Markdown's headings and list items, verbatim code blocks."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import Any

from ..errors import require
from .superscripts import script_text
from .wikitext import Segment

LINES = frozenset("br div li dt dd tr thead tbody caption summary figcaption".split())  # start and end a line
PARAGRAPHS = frozenset(  # between blank lines
    "p hr h1 h2 h3 h4 h5 h6 ul ol dl blockquote pre table section article header footer aside main nav figure details "
    "form address".split()
)
HEADINGS = {f"h{level}": "\x02" + "#" * level + " " for level in range(1, 7)}
LISTS = ("ul", "ol")
DROPPED = frozenset("script style template noscript iframe object svg head title img video audio canvas".split())
# The end of a line, the end of a paragraph, the start of a mark: HTML cannot contain these characters.
LINE, PARAGRAPH, MARK = "\x00", "\x01", "\x02"
_MARK = re.compile(rf"{MARK}(\S+ )[\s{LINE}{PARAGRAPH}]*")  # the text of an item follows its mark on the same line
_ENDS = re.compile(rf"([{LINE}{PARAGRAPH}][\s{LINE}{PARAGRAPH}]*)")


def html_to_text(html: str, removed: Counter | None = None, keep_code: bool = True) -> list[Segment]:
    r"""Return the text of a fragment of HTML as segments. Code blocks (`<pre>`) are the verbatim ones.

    Line ends inside a block are spaces, as in a browser. Headings and items begin with the marks of Markdown.
    keep_code: False leaves code blocks out.

    >>> html_to_text("<p>one\ntwo &amp; <b>three</b></p><pre><code>if  x &lt; 1:\n    y</code></pre>")
    [Segment(text='one two & three', verbatim=False), Segment(text='if  x < 1:\n    y', verbatim=True)]
    """
    removed = removed if removed is not None else Counter()
    body = _parser()(re.sub(rf"[{LINE}{PARAGRAPH}{MARK}]", "", html)).body
    segments: list[Segment] = []
    prose: list[str] = []
    node = body.child if body is not None else None
    # The elements around `node`, outermost first, each with the index of its mark in `prose` and `seen` at its start.
    above: list[tuple[Any, int, int]] = []
    seen = 0  # the number of texts that are not blank, and of code blocks
    items: list[int | None] = []  # the number of the last item of each open list; None for bullets
    while node is not None:
        tag = node.tag
        if tag == "-text":
            prose.append(node.text_content or "")
            seen += bool(prose[-1].strip())
        elif tag == "pre":
            for end in node.css("br"):
                end.replace_with("\n")
            code = node.text(deep=True).strip("\n")
            seen += 1
            _end_prose(prose, segments)
            if code.strip() and keep_code:
                segments.append(Segment(code.rstrip(), verbatim=True))
            elif code.strip():
                removed["tag: pre"] += 1
        elif tag in ("sup", "sub"):
            italic = node.child is not None and node.child.tag in ("i", "em", "var")
            prose.append(script_text(tag, node.text(deep=True), italic))
            seen += bool(prose[-1].strip())
        elif tag in DROPPED:
            removed[f"tag: {tag}"] += 1
        elif not tag.startswith(("-", "!")):
            prose.append(_end_of(tag, len(items)) or (" " if tag in ("td", "th") else ""))
            if node.child is not None:
                above.append((node, len(prose), seen))
                prose.append(HEADINGS.get(tag, "") if tag != "li" else _item(items))
                if tag in LISTS:
                    start = re.fullmatch(r"-?[0-9]{1,9}", node.attributes.get("start") or "1")
                    items.append((int(start[0]) if start else 1) - 1 if tag == "ol" else None)
                node = node.child
                continue
        following = node.next
        while following is None and above:  # `node` was the last child of the element above
            node, mark, before = above.pop()
            if node.tag in LISTS:
                items.pop()
            if seen == before:
                prose[mark] = ""  # a heading or an item without text
            prose.append(_end_of(node.tag, len(items)))
            following = node.next
        node = following
    _end_prose(prose, segments)
    return segments


@cache
def _parser() -> Any:
    return require("selectolax.lexbor", "corpus", "cleaning HTML").LexborHTMLParser


def _end_of(tag: str, lists: int) -> str:
    """Return the break before and after an element. Inside a list there are no paragraphs, only lines."""
    if tag in PARAGRAPHS:
        return LINE if lists else PARAGRAPH
    return LINE if tag in LINES else ""


def _item(items: list[int | None]) -> str:
    """Return the mark of the next item of the innermost list."""
    if not items or (last := items[-1]) is None:
        return f"{MARK}- "
    items[-1] = last + 1
    return f"{MARK}{last + 1}. "


def _end_prose(prose: list[str], segments: list[Segment]) -> None:
    """Move the prose to a segment, with white space, lines and paragraphs as in a browser."""
    pieces = _ENDS.split(_MARK.sub(r"\1", "".join(prose)))  # words, ends, words, ...
    pieces[::2] = [" ".join(words.split()) for words in pieces[::2]]
    pieces[1::2] = ["\n\n" if PARAGRAPH in ends else "\n" for ends in pieces[1::2]]
    text = "".join(pieces).strip()
    prose.clear()
    if text:
        segments.append(Segment(text))
