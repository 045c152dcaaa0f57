"""Superscripts, subscripts and entities as characters, in HTML and wikitext."""

from __future__ import annotations

import html
import re
from html.entities import html5

SUPERSCRIPTS = str.maketrans("0123456789+-−–=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻⁼⁽⁾ⁿⁱ")
SUBSCRIPTS = str.maketrans("0123456789+-−–=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ")
_ENTITY = re.compile(r"&(#[0-9]+|#[Xx][0-9A-Fa-f]+|[A-Za-z][A-Za-z0-9]*);")


def chemical_to_text(source: str) -> str:
    """Convert a formula of {{chem2}} or <ce>: numbers after a letter or bracket are subscripts, signs are charges.

    >>> chemical_to_text("2H2O + SO4(2-) -> Fe^3+ + Na+")
    '2H₂O + SO₄²⁻ → Fe³⁺ + Na⁺'
    """
    text = re.sub(r"(?<=[A-Za-z)\]])\d+", lambda digits: digits[0].translate(SUBSCRIPTS), source.replace("->", "→"))
    charge = r"\^\{?(\d*[+−-])\}?|\((\d*[+−-])\)|(?<=[A-Za-z)\]₀-₉])([+−-])(?=[\s)\]]|\Z)"
    return re.sub(charge, lambda match: match[match.lastindex or 0].translate(SUPERSCRIPTS), text)


def unescaped(text: str) -> str:
    """Replace the entities of `text`, which end with a semicolon: "&amp;", but not "&section=1".

    >>> unescaped("a &lt; b&#33; ?a=1&section=2&notit;")
    'a < b! ?a=1&section=2&notit;'
    """
    return _ENTITY.sub(
        lambda match: html.unescape(match[0]) if match[1][0] == "#" else html5.get(match[0][1:], match[0]), text
    )


def raised(text: str, table: dict[int, int], sign: str) -> str:
    """Return `text` as a superscript or subscript: in Unicode's characters if it has them all, else after `sign`.

    >>> raised("-2", SUPERSCRIPTS, "^"), raised("max", SUBSCRIPTS, "_"), raised("θ", SUBSCRIPTS, "_")
    ('⁻²', 'ₘₐₓ', '_θ')
    """
    text = unescaped(text).strip()
    if text and all(ord(letter) in table for letter in text):
        return text.translate(table)
    return sign + (text if len(text) == 1 else f"({text})") if text else ""


def script_text(tag: str, text: str, italic: bool = False) -> str:
    """Return the content of <sup> or <sub> as plain text: m<sup>2</sup> is m², 1<sup>st</sup> is 1st.

    italic: whether it is in italics, so that letters belong to a formula.

    >>> script_text("sup", "2"), script_text("sub", "1.5"), script_text("sup", "st"), script_text("sup", "k", True)
    ('²', '_(1.5)', 'st', '^k')
    """
    table, sign = (SUPERSCRIPTS, "^") if tag == "sup" else (SUBSCRIPTS, "_")
    tight = re.sub(r"(?<=[\w)])\s*([+−–=-])\s*(?=[\w(])", r"\1", text.strip())
    formula = re.fullmatch(r"[\w.,/*+−–=≤≥()-]*", tight) and (italic or re.search(r"[\d+−=≤≥]", tight))
    return raised(tight, table, sign) if formula or all(ord(c) in table for c in tight) else text
