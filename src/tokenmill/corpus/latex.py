r"""Formulas as one line of plain text: `\frac{a}{b}` as a/b, `\alpha_1^2` as α₁², and nothing if that cannot be.

Wikipedia writes even a single x in LaTeX. Without formulas, sentences have gaps; with their source, the text contains a
second markup language. So a formula that can be read on one line becomes text.
"""

from __future__ import annotations

import re

MAX_CHARACTERS = 2_000  # a longer formula is unreadable on one line
MAX_DEPTH = 20

SUPERSCRIPTS = str.maketrans("0123456789+-−–=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻⁼⁽⁾ⁿⁱ")
SUBSCRIPTS = str.maketrans("0123456789+-−–=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ")

_SYMBOLS = """
alpha α beta β gamma γ delta δ epsilon ε varepsilon ε zeta ζ eta η theta θ vartheta ϑ iota ι kappa κ lambda λ mu μ nu ν
xi ξ omicron ο pi π varpi ϖ rho ρ varrho ϱ sigma σ varsigma ς tau τ upsilon υ phi φ varphi φ chi χ psi ψ omega ω
Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π Sigma Σ Upsilon Υ Phi Φ Psi Ψ Omega Ω
times × cdot · div ÷ pm ± mp ∓ ast ∗ star ⋆ circ ∘ bullet • oplus ⊕ ominus ⊖ otimes ⊗ odot ⊙ wedge ∧ land ∧ vee ∨ lor ∨
cap ∩ cup ∪ setminus ∖ sqcap ⊓ sqcup ⊔ uplus ⊎ dagger † amalg ⨿ wr ≀
leq ≤ le ≤ geq ≥ ge ≥ neq ≠ ne ≠ ll ≪ gg ≫ approx ≈ sim ∼ simeq ≃ cong ≅ equiv ≡ propto ∝ doteq ≐ prec ≺ succ ≻ asymp ≍
subset ⊂ supset ⊃ subseteq ⊆ supseteq ⊇ subsetneq ⊊ in ∈ ni ∋ notin ∉ vdash ⊢ models ⊨ vDash ⊨ mid | parallel ∥ perp ⊥
forall ∀ exists ∃ nexists ∄ neg ¬ lnot ¬ top ⊤ bot ⊥ emptyset ∅ varnothing ∅ infty ∞ partial ∂ nabla ∇ hbar ℏ ell ℓ
Re ℜ Im ℑ wp ℘ aleph ℵ beth ℶ angle ∠ triangle △ square □ Box □ diamond ◇ degree ° prime ′ surd √ therefore ∴ because ∵
sum ∑ prod ∏ coprod ∐ int ∫ iint ∬ iiint ∭ oint ∮ bigcup ⋃ bigcap ⋂ bigoplus ⨁ bigotimes ⨂ bigwedge ⋀ bigvee ⋁
to → rightarrow → leftarrow ← gets ← leftrightarrow ↔ Rightarrow ⇒ Leftarrow ⇐ Leftrightarrow ⇔ implies ⇒ iff ⇔
longrightarrow → longleftarrow ← Longrightarrow ⇒ mapsto ↦ longmapsto ↦ uparrow ↑ downarrow ↓ hookrightarrow ↪
rightleftharpoons ⇌ leftrightharpoons ⇋ nearrow ↗ searrow ↘ rightharpoonup ⇀ leadsto ⇝
ldots … cdots … dots … dotsc … dotsb … dotsm … vdots ⋮ ddots ⋱ lbrace { rbrace } langle ⟨ rangle ⟩ lfloor ⌊ rfloor ⌋
lceil ⌈ rceil ⌉ lbrack [ rbrack ] vert | Vert ‖ lVert ‖ rVert ‖ lvert | rvert | backslash \\ colon : N ℕ Z ℤ Q ℚ R ℝ C ℂ
imath ı jmath ȷ complement ∁ smallsetminus ∖ lhd ◁ rhd ▷ ltimes ⋉ rtimes ⋊ Diamond ◇ natural ♮ sharp ♯ flat ♭
reals ℝ Reals ℝ empty ∅ isin ∈ and ∧ or ∨ exist ∃ sub ⊂ sube ⊆ hearts ♥ clubs ♣ spades ♠ euro € pounds £ S § P ¶
"""
_WORDS = _SYMBOLS.split()
SYMBOLS = dict(zip(_WORDS[::2], _WORDS[1::2], strict=True))
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
    "boxed tilde widetilde dot ddot hat widehat bar overline vec overrightarrow check breve acute grave mathring pmb "
    "displaylines strut phantom rlap textsf texttt scriptsize small large normalsize nonumber".split()
)
ACCENTS = {
    "bar": "\u0304", "overline": "\u0304", "hat": "\u0302", "widehat": "\u0302", "tilde": "\u0303", "vec": "\u20d7",
    "widetilde": "\u0303", "dot": "\u0307", "ddot": "\u0308", "check": "\u030c", "breve": "\u0306",
}  # fmt: skip
TIGHT = "∞{}[]|°′…:⟨⟩⌊⌋⌈⌉¬∀∃∂∇"  # symbols without spaces around them
SPACES = frozenset(["quad", "qquad", " ", ",", ";", ":", "!", "thinspace", "enspace", "\n", "~"])
OVER = "\x00"  # stands for \\over until its group ends
FRACTIONS = frozenset(["frac", "tfrac", "dfrac", "cfrac"])

_TOKEN = re.compile(r"\\([A-Za-z]+)\*?|\\(.)|([{}^_&~])|([^\\{}^_&~]+)", re.DOTALL)


class _Unreadable(Exception):
    """The formula cannot be written on one line."""


def latex_to_text(source: str) -> str:
    r"""The formula on one line; "" if that is not possible, as for a matrix.

    >>> latex_to_text(r"\frac{1}{n}\sum_{i=1}^n a_i \leq \mathbf{x}^2")
    '1/n ∑ᵢ₌₁ⁿ aᵢ ≤ x²'
    """
    if len(source) > MAX_CHARACTERS or OVER in source:
        return ""
    tokens = list(_TOKEN.finditer(source))
    try:
        text, _ = _group(tokens, 0, 0)
    except _Unreadable:
        return ""
    return " ".join(text.split()).replace("( ", "(").replace(" )", ")")


def raised(text: str, table: dict[int, str], sign: str) -> str:
    """`text` as a superscript or subscript: in Unicode's own characters where it has them all, else after `sign`.

    >>> raised("-2", SUPERSCRIPTS, "^"), raised("max", SUBSCRIPTS, "_"), raised("θ", SUBSCRIPTS, "_")
    ('⁻²', 'ₘₐₓ', '_θ')
    """
    text = text.strip()
    if text and all(ord(letter) in table for letter in text):
        return text.translate(table)
    return sign + (text if len(text) == 1 else f"({text})") if text else ""


def script_text(tag: str, text: str) -> str:
    """What <sup> or <sub> holds, as plain text: m<sup>2</sup> is m², 10<sup>1.5</sup> is 10^(1.5), 1<sup>st</sup> is 1st.

    >>> script_text("sup", "2"), script_text("sub", "1.5"), script_text("sup", "st")
    ('²', '_(1.5)', 'st')
    """
    table, sign = (SUPERSCRIPTS, "^") if tag == "sup" else (SUBSCRIPTS, "_")
    stripped = text.strip()
    if not all(ord(c) in table for c in stripped) and not re.fullmatch(r"[\w.,/*+−–=()-]*\d[\w.,/*+−–=()-]*", stripped):
        return text
    return raised(stripped, table, sign)


def _group(tokens: list[re.Match], at: int, depth: int) -> tuple[str, int]:
    """The text of the tokens from `at` to the brace that closes their group, and the place after it."""
    if depth > MAX_DEPTH:
        raise _Unreadable
    parts: list[str] = []
    while at < len(tokens):
        command, escaped, special, plain = tokens[at].groups()
        at += 1
        if special == "}":
            break
        if special == "{":
            inner, at = _group(tokens, at, depth + 1)
            parts.append(inner)
        elif special in ("^", "_"):
            argument, at = _argument(tokens, at, depth)
            prime = argument.strip("′ ")
            if special == "^" and argument and not prime:
                parts.append(argument)
            elif special == "^" and argument.strip() == "∘":
                parts.append("°")
            else:
                sign = raised(argument, SUPERSCRIPTS if special == "^" else SUBSCRIPTS, special)
                if parts and parts[-1].endswith(" "):  # it belongs to the symbol before the space
                    parts[-1], sign = parts[-1].rstrip(), sign + " "
                parts.append(sign)
        elif special:
            if special == "&":
                raise _Unreadable
            parts.append(" ")
        elif command:
            text, at = _command(command, tokens, at, depth)
            parts.append(text)
        elif escaped is not None:
            if escaped == "\\":  # a line of a table
                raise _Unreadable
            parts.append(" " if escaped in SPACES else {"|": "‖"}.get(escaped, escaped))
        else:
            parts.append(plain.replace("'", "′"))
    above, over, below = "".join(parts).partition(OVER)
    return _fraction(above, below.replace(OVER, "/")) if over else above, at


def _argument(tokens: list[re.Match], at: int, depth: int) -> tuple[str, int]:
    """What a command or a sign applies to: a group in braces, a command, or one character."""
    if at >= len(tokens):
        return "", at
    command, escaped, special, plain = tokens[at].groups()
    if special == "{":
        return _group(tokens, at + 1, depth + 1)
    if command in PLAIN:
        if depth > MAX_DEPTH:
            raise _Unreadable
        return _argument(tokens, at + 1, depth + 1)
    if command:
        return _command(command, tokens, at + 1, depth + 1)
    if plain and plain.strip():
        text = plain.lstrip()
        rest = text[1:]
        if rest:  # the argument is one character: put the others back
            tokens[at] = next(_TOKEN.finditer(rest))
            return text[0].replace("'", "′"), at
        return text.replace("'", "′"), at + 1
    if plain:
        return _argument(tokens, at + 1, depth)
    if escaped in (None, "\\", "&"):
        raise _Unreadable
    return escaped, at + 1


def _command(name: str, tokens: list[re.Match], at: int, depth: int) -> tuple[str, int]:
    if depth > MAX_DEPTH:
        raise _Unreadable
    if name in SYMBOLS:
        symbol = SYMBOLS[name]
        return (symbol if symbol.isalpha() or symbol in TIGHT else f" {symbol} "), at
    if name in NAMES:
        return f" {name} ", at
    if name in FRACTIONS:
        above, at = _argument(tokens, at, depth)
        below, at = _argument(tokens, at, depth)
        return _fraction(above, below), at
    if name == "binom":
        above, at = _argument(tokens, at, depth)
        below, at = _argument(tokens, at, depth)
        return f"C({above.strip()}, {below.strip()})", at
    if name == "sqrt":
        argument, at = _argument(tokens, at, depth)
        return f"√{_grouped(argument)}", at
    if name in ACCENTS:
        argument, at = _argument(tokens, at, depth)
        return (argument.strip() + ACCENTS[name] if len(argument.strip()) == 1 else argument), at
    if name in ("over", "atop"):
        return OVER, at
    if name in ("pmod", "bmod"):
        argument, at = _argument(tokens, at, depth) if name == "pmod" else ("", at)
        return (f" (mod {argument.strip()})" if name == "pmod" else " mod "), at
    if name == "not":
        argument, at = _argument(tokens, at, depth)
        return f" {argument.strip()}\u0338 ", at
    if name in PLAIN:
        return "", at
    if name in SPACES:
        return " ", at
    raise _Unreadable


def _fraction(above: str, below: str) -> str:
    return f"{_grouped(above)}/{_grouped(below)} "


def _grouped(text: str) -> str:
    """`text` in parentheses, unless it is one number, one word or in parentheses already."""
    text = text.strip()
    simple = re.fullmatch(r"[\w.,′°∞\u0300-\u036f\u20d7₀-₉⁰-⁹¹²³]+|\([^()]*\)", text)
    return text if simple else f"({text})"
