r"""Formulas as one line of plain text: `\frac{a}{b}` as a/b, `\alpha_1^2` as α₁², and nothing if that cannot be.

Wikipedia writes even a single x in LaTeX. Without formulas, sentences have gaps; with their source, the text contains a
second markup language. So a formula that can be read on one line becomes text.
"""

from __future__ import annotations

import html
import re
from html.entities import html5

MAX_CHARACTERS = 2_000  # a longer formula is unreadable on one line

SUPERSCRIPTS = str.maketrans("0123456789+-−–=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻⁼⁽⁾ⁿⁱ")
SUBSCRIPTS = str.maketrans("0123456789+-−–=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ")

# Symbols that HTML does not have by LaTeX's name, or has as another.
_SYMBOLS = """
varepsilon ε varphi φ cdot · ast ∗ star ⋆ circ ∘ land ∧ lor ∨ neq ≠ asymp ≍ models ⊨ mid | exists ∃ neg ¬ lnot ¬ infty ∞
partial ∂ triangle △ Box □ diamond ◇ Diamond ◇ degree ° surd √ iint ∬ to → gets ← implies ⇒ longrightarrow → longleftarrow ←
Longrightarrow ⇒ longmapsto ↦ leadsto ⇝ ldots … cdots … dots … dotsc … dotsb … dotsm … vdots ⋮ ddots ⋱ lVert ‖ rVert ‖
lvert | rvert | backslash \\ N ℕ Z ℤ Q ℚ R ℝ C ℂ lhd ◁ rhd ▷ Reals ℝ pounds £ S § P ¶
"""
_WORDS = _SYMBOLS.split()
SYMBOLS = {name[:-1]: symbol for name, symbol in html5.items() if name[-1] == ";" and len(symbol) == 1}
SYMBOLS |= dict(zip(_WORDS[::2], _WORDS[1::2], strict=True))
# Commands that become their own names, with spaces around them.
NAMES = frozenset(
    "sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh coth log ln lg exp lim limsup liminf sup inf max min "
    "arg det dim gcd deg hom ker Pr mod sgn".split()
)
# Commands that are removed; their argument stays.
PLAIN = frozenset(
    "mathrm rm mathbf bf mathit it mathsf sf mathtt tt mathcal cal mathfrak mathbb mathscr text textrm textbf textit "
    "textstyle displaystyle scriptstyle scriptscriptstyle operatorname boldsymbol bold mbox hbox emph ensuremath left "
    "right big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr limits nolimits mathop mathrel mathbin mathord underline "
    "boxed overrightarrow acute grave mathring pmb displaylines strut rlap textsf texttt scriptsize small large "
    "normalsize nonumber".split()
)
ACCENTS = {
    "bar": "\u0304", "overline": "\u0304", "hat": "\u0302", "widehat": "\u0302", "tilde": "\u0303", "vec": "\u20d7",
    "widetilde": "\u0303", "dot": "\u0307", "ddot": "\u0308", "check": "\u030c", "breve": "\u0306",
}  # fmt: skip
TIGHT = "∞{}[]|°′…:⟨⟩⌊⌋⌈⌉¬∀∃∂∇"  # symbols without spaces around them
SPACES = frozenset(["quad", "qquad", " ", ",", ";", ":", "!", "thinspace", "enspace", "\n", "~"])
_MARKS = "′°∞\u0300-\u036f\u20d7₀-₉⁰-⁹¹²³ⁿⁱₐ-ₜᵢⱼᵣᵤᵥ"  # they belong to the letter before them
OVER = "\x00"  # stands for \\over until its group ends

_TOKEN = re.compile(r"\\sqrt +(?=\[)|\\[A-Za-z]+\*?|\\.|.", re.DOTALL)
_ENTITY = re.compile(r"&(#[0-9]+|#[Xx][0-9A-Fa-f]+|[A-Za-z][A-Za-z0-9]*);")


class _Unreadable(Exception):
    """The formula cannot be written on one line."""


def latex_to_text(source: str) -> str:
    r"""The formula on one line; "" if that is not possible, as for a matrix.

    >>> latex_to_text(r"\frac{1}{n}\sum_{i=1}^n a_i \leq \mathbf{x}^2")
    '1/n ∑ᵢ₌₁ⁿ aᵢ ≤ x²'
    """
    if len(source) > MAX_CHARACTERS or OVER in source:
        return ""
    source = re.sub(r"\\(?:left|right)\s*\.", "", source)  # half of a pair of brackets that shows nothing
    try:
        text = _group(_TOKEN.findall(source)[::-1])
    except (_Unreadable, RecursionError):
        return ""
    return " ".join(text.split()).replace("( ", "(").replace(" )", ")")


def chemical_to_text(source: str) -> str:
    """A formula of {{chem2}} or <ce>: a number after a letter or bracket is a subscript, a sign behind them a charge.

    >>> chemical_to_text("2H2O + SO4(2-) -> Fe^3+ + Na+")
    '2H₂O + SO₄²⁻ → Fe³⁺ + Na⁺'
    """
    text = re.sub(r"(?<=[A-Za-z)\]])\d+", lambda digits: digits[0].translate(SUBSCRIPTS), source.replace("->", "→"))
    charge = r"\^\{?(\d*[+−-])\}?|\((\d*[+−-])\)|(?<=[A-Za-z)\]₀-₉])([+−-])(?=[\s)\]]|\Z)"
    return re.sub(charge, lambda match: match[match.lastindex or 0].translate(SUPERSCRIPTS), text)


def unescaped(text: str) -> str:
    """`text` with characters in place of entities, which end with a semicolon: "&amp;", but not "&section=1".

    >>> unescaped("a &lt; b&#33; ?a=1&section=2&notit;")
    'a < b! ?a=1&section=2&notit;'
    """
    return _ENTITY.sub(
        lambda match: html.unescape(match[0]) if match[1][0] == "#" else html5.get(match[0][1:], match[0]), text
    )


def raised(text: str, table: dict[int, int], sign: str) -> str:
    """`text` as a superscript or subscript: in Unicode's own characters where it has them all, else after `sign`.

    >>> raised("-2", SUPERSCRIPTS, "^"), raised("max", SUBSCRIPTS, "_"), raised("θ", SUBSCRIPTS, "_")
    ('⁻²', 'ₘₐₓ', '_θ')
    """
    text = unescaped(text).strip()
    if text and all(ord(letter) in table for letter in text):
        return text.translate(table)
    return sign + (text if len(text) == 1 else f"({text})") if text else ""


def script_text(tag: str, text: str, italic: bool = False) -> str:
    """Return the content of <sup> or <sub> as plain text: m<sup>2</sup> is m², 10<sup>1.5</sup> is 10^(1.5), 1<sup>st</sup> is 1st.

    italic: whether it is in italics: letters are of a formula then.

    >>> script_text("sup", "2"), script_text("sub", "1.5"), script_text("sup", "st"), script_text("sup", "k", True)
    ('²', '_(1.5)', 'st', '^k')
    """
    table, sign = (SUPERSCRIPTS, "^") if tag == "sup" else (SUBSCRIPTS, "_")
    tight = re.sub(r"(?<=[\w)])\s*([+−–=-])\s*(?=[\w(])", r"\1", text.strip())
    formula = re.fullmatch(r"[\w.,/*+−–=≤≥()-]*", tight) and (italic or re.search(r"[\d+−=≤≥]", tight))
    return raised(tight, table, sign) if formula or all(ord(c) in table for c in tight) else text


def _group(tokens: list[str]) -> str:
    """The text of the tokens, the next of which is the last of the list, up to the brace that closes their group."""
    text = ""
    while tokens and (token := tokens.pop()) != "}":
        if token not in ("^", "_"):
            part = _text(token, tokens)
            text += f" {part}" if token.endswith("frac") and text[-1:].isalnum() else part  # 5½ is not 51/2
            continue
        argument = _argument(tokens)
        if token == "^" and argument and not argument.strip("′ "):
            text += argument
        elif token == "^" and argument.strip() == "∘":
            text += "°"
        else:  # it belongs to the symbol before the space
            space = " " if text.endswith(" ") else ""
            text = text.rstrip() + raised(argument, SUPERSCRIPTS if token == "^" else SUBSCRIPTS, token) + space
    above, over, below = text.partition(OVER)
    return _fraction(above, below.replace(OVER, "/")) if over else above


def _argument(tokens: list[str]) -> str:
    """Return the argument of a command or a sign: a group in braces, a command, or one character."""
    while tokens and (token := tokens.pop()):
        if token == "~":
            raise _Unreadable
        if not token.isspace() and token.strip("\\*") not in PLAIN:
            return _text(token, tokens)
    return ""


def _text(token: str, tokens: list[str]) -> str:
    """The text of a token that stands for one character, or begins a group or a command."""
    name = token[1:].rstrip("* ") or token[1:]
    if token == "{":
        return _group(tokens)
    if token in ("&", "\\\\", "\\", "^", "_", "}"):  # a table, or nothing where something must be
        raise _Unreadable
    if not name:
        return {"'": "′", "~": " "}.get(token, token)
    if name in SPACES:
        return " "
    if not name.isalpha():
        return "‖" if name == "|" else name
    if name in NAMES:
        return f" {name} "
    if name in ("frac", "tfrac", "dfrac", "cfrac"):
        return _fraction(_argument(tokens), _argument(tokens))
    if name == "binom":
        return f"C({_argument(tokens).strip()}, {_argument(tokens).strip()})"
    if name == "sqrt":
        index = ""
        while tokens and (index or tokens[-1] == "[") and index[-1:] != "]":
            index += _text(tokens.pop(), tokens)
        return f"{raised(index[1:-1], SUPERSCRIPTS, '')}√{_grouped(_argument(tokens))}"
    if name in ACCENTS:
        argument = _argument(tokens).strip()
        if "_" in argument or not re.fullmatch(rf"[\w{_MARKS}]+", argument):  # over a sum, for one
            raise _Unreadable
        return re.sub(rf"[^\W_{_MARKS}]", lambda letter: letter[0] + ACCENTS[name], argument)
    if name in ("over", "atop"):
        return OVER
    if name in ("pmod", "bmod"):
        return f" (mod {_argument(tokens).strip()})" if name == "pmod" else " mod "
    if name == "not":
        return f" {_argument(tokens).strip()}\u0338 "
    if name in PLAIN:
        return ""
    if name not in SYMBOLS:
        raise _Unreadable
    symbol = SYMBOLS[name]
    return symbol if symbol.isalpha() or symbol in TIGHT else f" {symbol} "


def _fraction(above: str, below: str) -> str:
    return f"{_grouped(above)}/{_grouped(below)} "


def _grouped(text: str) -> str:
    """`text` in parentheses, unless it is one number, one word or in parentheses already."""
    text = text.strip()
    simple = re.fullmatch(rf"[\w.,{_MARKS}]+|\([^()]*\)", text)
    return text if simple else f"({text})"
