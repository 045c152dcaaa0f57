"""HTML to plain text: one block, one line; code blocks as they stand; entities decoded, and no tag left."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from ..errors import require
from .wikitext import Segment

__all__ = ["html_to_text"]

BLOCKS = frozenset(
    "p div br hr h1 h2 h3 h4 h5 h6 ul ol li dl dt dd blockquote pre table tr thead tbody caption section article header "
    "footer aside main nav figure figcaption details summary form address".split()
)
CELLS = frozenset(["td", "th"])
DROPPED = frozenset("script style template noscript iframe object svg head title img video audio canvas".split())
_SPACES = re.compile(r"[^\S\n]*\n[^\S\n]*|[^\S\n]+")
_LINES = re.compile(r" *\n[ \n]*")
BREAK = "\x00"  # the end of a block; HTML cannot hold this character


def html_to_text(html: str, removed: Counter | None = None, keep_code: bool = True) -> list[Segment]:
    r"""The text of a fragment of HTML as segments; the code blocks (`<pre>`) are the verbatim ones.

    Line ends inside of a block are spaces, as in a browser. keep_code: without it code blocks are left out.

    >>> html_to_text("<p>one\ntwo &amp; <b>three</b></p><pre><code>if  x &lt; 1:\n    y</code></pre>")
    [Segment(text='one two & three', verbatim=False), Segment(text='if  x < 1:\n    y', verbatim=True)]
    """
    parser = require("selectolax.lexbor", "corpus", "cleaning HTML")
    removed = removed if removed is not None else Counter()
    body = parser.LexborHTMLParser(html.replace(BREAK, "")).body
    segments: list[Segment] = []
    prose: list[str] = []
    node = body.child if body is not None else None
    above: list[Any] = []  # the elements that hold `node`, outermost first
    while node is not None:
        tag = node.tag
        if tag == "-text":
            prose.append(node.text_content or "")
        elif tag == "pre":
            code = node.text(deep=True).strip("\n")
            _end_prose(prose, segments)
            if code.strip() and keep_code:
                segments.append(Segment(code.rstrip(), verbatim=True))
            elif code.strip():
                removed["tag: pre"] += 1
        elif tag in DROPPED:
            removed[f"tag: {tag}"] += 1
        elif not tag.startswith(("-", "!")):
            prose.append(BREAK if tag in BLOCKS else " " if tag in CELLS else "")
            if node.child is not None:
                above.append(node)
                node = node.child
                continue
        following = node.next
        while following is None and above:  # the end of the elements whose last child this was
            node = above.pop()
            if node.tag in BLOCKS:
                prose.append(BREAK)
            following = node.next
        node = following
    _end_prose(prose, segments)
    return segments


def _end_prose(prose: list[str], segments: list[Segment]) -> None:
    """Close the run of prose: white space as a browser shows it, one line for each block."""
    text = _SPACES.sub(" ", "".join(prose).replace("\r", " ").replace("\n", " "))
    text = _LINES.sub("\n", text.replace(BREAK, "\n")).strip()
    prose.clear()
    if text:
        segments.append(Segment(text))
