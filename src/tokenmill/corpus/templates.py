"""Templates that contain text, and how each is rendered. All others are dropped.

A wiki has hundreds of thousands of templates: infoboxes, navigation, references, warnings. The few below occur inside
sentences, which have gaps without them. Names are those of the English Wikipedia, with the first letter in lower case;
other wikis share the short ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from .latex import SUBSCRIPTS, SUPERSCRIPTS, raised
from .wikis import LANGUAGE_NAMES


class Arguments(NamedTuple):
    """A template's arguments as wikitext: those by position, stripped, and those by name."""

    name: str
    positional: list[str]
    named: dict[str, str]

    def first(self, *names: str) -> str:
        """The first of the named arguments that has a value, else the first by position."""
        return next((self.named[n] for n in names if self.named.get(n)), self.at(0))

    def at(self, index: int) -> str:
        return self.positional[index] if index < len(self.positional) else ""

    @classmethod
    def of(cls, source: str) -> Arguments:
        """The arguments of the template whose whole source, with its braces, is `source`."""
        name, parts = _parts(source)
        positional = [value.strip() for key, value in parts if key is None]
        named = {key.strip(): value.strip() for key, value in parts if key is not None}
        for number in sorted(int(key) for key in named if key.isdecimal() and len(key) < 3):
            if number == len(positional) + 1:  # {{lang|1=fr|2=mot}}
                positional.append(named[str(number)])
        return cls(template_name(name), positional, named)


# What contains a "|" or "=" that is not the template's: links, tags.
_MARKUP = re.compile(r"\[\[[^\[\]]*\]\]|\[[^\[\]\n]*\]|<[^<>]*>")


def _parts(source: str) -> tuple[str, list[tuple[str | None, str]]]:
    """The name of a template, and each argument's name, if it has one, and value.

    >>> _parts("{{quote|[[Bern|the city]]|by=<b id=x>A</b>}}")
    ('quote', [(None, '[[Bern|the city]]'), ('by', '<b id=x>A</b>')])
    """
    source = source[2:-2]
    hidden = _MARKUP.sub(lambda match: " " * len(match[0]), source) if "[" in source or "<" in source else source
    parts: list[tuple[str | None, str]] = []
    at = 0
    for shown in hidden.split("|"):
        argument = source[at : at + len(shown)]
        equals = shown.find("=")
        parts.append((argument[:equals], argument[equals + 1 :]) if equals >= 0 else (None, argument))
        at += len(shown) + 1
    return source[: hidden.find("|")] if len(parts) > 1 else source, parts[1:]


Renderer = Callable[[Arguments], str]


def template_name(written: str) -> str:
    """The name of a template as the table below spells it: ` Nowrap_` is `nowrap`."""
    name = " ".join(written.replace("_", " ").split())
    if name[:9].lower() == "template:":
        name = name[9:].lstrip()
    return name[:1].lower() + name[1:]


def renderer_of(name: str) -> Renderer | None:
    """The function that renders the template `name`, spelled by `template_name`; None for a template to drop."""
    lower = name.lower()
    if renderer := _RENDERERS.get(name) or _RENDERERS.get(lower):
        return renderer
    if lower.startswith("lang-"):
        return _language
    if lower.startswith("formatnum:"):
        return lambda arguments: arguments.name.partition(":")[2]
    return _pronunciation if lower.startswith(("ipa-", "ipac-")) else None


def _text(arguments: Arguments) -> str:
    return arguments.first("1", "text", "content")


def _joined(separator: str) -> Renderer:
    return lambda arguments: separator.join(filter(None, arguments.positional))


def _written(pattern: str) -> Renderer:
    """The renderer of a pattern: with the text of the template in place of "…". {{circa}} alone is "c."; {{angbr}} is nothing."""
    alone = pattern[:-1].rstrip() if pattern[-1] == "…" else "" if "…" in pattern else pattern
    return lambda a: pattern.replace("…", _text(a)) if _text(a) else alone


def _language(arguments: Arguments) -> str:
    """{{lang-fr|mot}} gives "French: mot", as the page shows it; {{lang|fr|mot}} gives "mot"."""
    code = arguments.name.lower().removeprefix("lang-")
    name = (
        LANGUAGE_NAMES.get(code, "") if "label" not in arguments.named else arguments.named["label"].replace("none", "")
    )
    text = ", ".join(part for part in arguments.positional[:1] if part)
    return f"{name}: {text}" if name and text else text


def _pronunciation(arguments: Arguments) -> str:
    if arguments.name.lower().startswith("ipac-"):
        words = ("lang", "pron", "us", "uk", "audio", "local", "icon", "also", "or", "and", "")
        sounds = [
            p for p in arguments.positional if p.lower() not in words and not p.lower().endswith((".ogg", ".wav"))
        ]
        return f"/{''.join(sounds).replace('_', ' ')}/" if sounds else ""
    text = arguments.at(0)
    return text if not text or text[0] in "/[" else f"[{text}]"


def _japanese(arguments: Arguments) -> str:
    english, written, romaji = arguments.at(0), arguments.at(1), arguments.at(2)
    inside = ", ".join(filter(None, (written, romaji, arguments.at(3))))
    return f"{english} ({inside})" if english and inside else english or inside


def _chinese(arguments: Arguments) -> str:
    names = {"c": "Chinese", "s": "simplified Chinese", "t": "traditional Chinese", "p": "pinyin", "w": "Wade–Giles"}
    parts = [f"{word}: {arguments.named[key]}" for key, word in names.items() if arguments.named.get(key)]
    return "; ".join(parts) or ", ".join(filter(None, arguments.positional))


# The units of {{convert}}: in words, and in short if the short form is not the code itself.
UNITS = {
    "mi": "miles", "km": "kilometres", "ft": "feet", "m": "metres", "in": "inches", "cm": "centimetres", "yd": "yards",
    "mm": "millimetres", "sqmi": "square miles", "km2": "square kilometres", "acre": "acres", "ha": "hectares",
    "m2": "square metres", "sqft": "square feet", "sqkm": "square kilometres", "lb": "pounds", "kg": "kilograms",
    "g": "grams", "oz": "ounces", "ST": "short tons", "LT": "long tons", "MT": "metric tons", "t": "tonnes", "C": "°C",
    "F": "°F", "K": "K", "C-change": "°C", "F-change": "°F", "mph": "miles per hour", "km/h": "kilometres per hour",
    "kn": "knots", "nmi": "nautical miles", "l": "litres", "L": "litres", "impgal": "imperial gallons",
    "USgal": "US gallons", "oilbbl": "barrels", "bbl": "barrels", "hp": "horsepower", "kW": "kilowatts",
    "MW": "megawatts", "psi": "pounds per square inch", "m3": "cubic metres", "ft3": "cubic feet", "cuft": "cubic feet",
    "AU": "AU", "ly": "light-years", "pc": "parsecs", "foot": "feet", "mile": "miles", "inch": "inches",
    "carat": "carats", "PD/sqmi": "inhabitants per square mile", "PD/km2": "inhabitants per square kilometre",
    "/sqmi": "per square mile", "/km2": "per square kilometre",
}  # fmt: skip
SHORT_UNITS = {
    "sqmi": "sq mi", "km2": "km²", "sqkm": "km²", "m2": "m²", "sqft": "sq ft", "m3": "m³", "ft3": "cu ft", "cuft": "cu ft",
    "C": "°C", "F": "°F", "C-change": "°C", "F-change": "°F", "oilbbl": "bbl", "acre": "acres", "impgal": "imp gal",
    "USgal": "US gal", "PD/sqmi": "/sq mi", "PD/km2": "/km²", "/sqmi": "/sq mi", "/km2": "/km²",
}  # fmt: skip
SCALES = {"e3": "thousand ", "e6": "million ", "e9": "billion ", "e12": "trillion ", "k": "thousand ", "M": "million ",
          "G": "billion ", "T": "trillion "}  # fmt: skip
TIMES = {"d": "per day", "h": "per hour", "s": "per second", "a": "per year"}
_UNIT = re.compile(r"(e3|e6|e9|e12|[kMGT](?=oilbbl|bbl|cuft|USgal|impgal))?(.+?)(?:/([dhsa]))?")
RANGES = {"to": " to ", "-": "–", "–": "–", "to(-)": "–", "and": " and ", "and(-)": " and ", "or": " or ", "by": " by ",
          "x": " × ", "*": " × ", "×": " × ", "xx": " × ", "+/-": " ± ", "±": " ± ", "+": " + "}  # fmt: skip


def _convert(arguments: Arguments) -> str:
    """{{convert|5|to|10|km|mi}} is "5 to 10 kilometres": the number as written, without the conversion."""
    parts = list(arguments.positional)
    text = ""
    while parts and _number(parts[0]):
        number = parts.pop(0)
        text += f"{int(number):,}" if re.fullmatch(r"\d{4,15}", number) else number
        if parts and parts[0] in RANGES:
            text += RANGES[parts.pop(0)]
        elif len(parts) > 2 and parts[0] in UNITS and _number(parts[1]) and parts[2] in UNITS:  # 5 ft 3 in
            text += f" {parts.pop(0)} "
        else:
            break
    if not text:
        return arguments.at(0)
    short = arguments.named.get("abbr", "") in ("on", "in", "y", "yes") or arguments.named.get("adj", "") == "on"
    return f"{text} {_unit(parts[0], short)}".rstrip() if parts else text


def _unit(code: str, short: bool) -> str:
    """A unit of {{convert}} in words: "e6acre" is "million acres"."""
    match = _UNIT.fullmatch(code)
    if code in UNITS or match is None:
        scale, base, time = "", code, ""
    else:
        scale, base, time = SCALES.get(match[1] or "", ""), match[2], TIMES.get(match[3] or "", "")
    if base not in UNITS:
        return code
    name = SHORT_UNITS.get(base, base) if short else UNITS[base]
    return f"{scale}{name} {time}".rstrip()


def _number(text: str) -> bool:
    return re.fullmatch(r"[-−+]?[\d,. ]*\d[\d,./⁄+ ]*(?:e[-−]?\d+)?", text) is not None


def _value(arguments: Arguments) -> str:
    """{{val|1.2|0.1|e=5|u=m}} is "1.2 ± 0.1 × 10⁵ m"."""
    text = arguments.at(0)
    error = arguments.at(1)
    if error:
        text += error if error.startswith("(") else f" ± {error}"
    if arguments.named.get("e"):
        text += " × 10" + raised(arguments.named["e"], SUPERSCRIPTS, "^")
    return f"{text} {arguments.named.get('u') or arguments.named.get('ul') or ''}".strip()


def _chemical(arguments: Arguments) -> str:
    """{{chem|H|2|O}} is H₂O; a sign after a number is a charge."""
    text = ""
    for part in arguments.positional:
        part = part.replace("''", "")
        if re.fullmatch(r"\d*[+−-]", part):
            text += raised(part, SUPERSCRIPTS, "")
        else:
            text += raised(part, SUBSCRIPTS, "") if all(ord(letter) in SUBSCRIPTS for letter in part) else part
    return text


ACCIDENTALS = {"flat": "♭", "b": "♭", "sharp": "♯", "#": "♯", "natural": "♮"}
MONTHS = "January February March April May June July August September October November December".split()


def _date(arguments: Arguments) -> str:
    """{{birth date|1809|2|12}} is "February 12, 1809"; with df=y, or written as 12|2|1809, "12 February 1809"; words stay as they are."""
    parts = arguments.positional[:3]
    day_first = len(parts) == 3 and len(parts[0]) < 3 < len(parts[2])
    if day_first:
        parts.reverse()
    if not parts or not parts[0].isdecimal():
        return arguments.at(0)
    month = parts[1] if len(parts) > 1 else ""
    if month.isdecimal() and 1 <= int(month) <= 12:
        month = MONTHS[int(month) - 1]
    if len(parts) < 3:
        return f"{month} {parts[0]}".strip()
    if day_first or arguments.named.get("df"):
        return f"{parts[2]} {month} {parts[0]}"
    return f"{month} {parts[2]}, {parts[0]}"


def _as_of(arguments: Arguments) -> str:
    if arguments.named.get("alt"):
        return arguments.named["alt"]
    words = "since" if "since" in arguments.named else "as of"
    date = _date(arguments)
    return f"{words if 'lc' in arguments.named else words.capitalize()} {date}" if date else ""


def _quotation(arguments: Arguments) -> str:
    text = arguments.first("text", "quote", "quotetext", "1", "Text", "texto", "testo")
    names = ("author", "sign", "by", "source", "Autor", "autor", "autore")
    by = next((arguments.named[name] for name in names if arguments.named.get(name)), arguments.at(1))
    return f"\n{text}\n— {by}\n" if by and text else f"\n{text}\n"


# The templates that contain text, by renderer or pattern; names in lower case, "_" for a space.
_TABLE: tuple[tuple[Renderer | str, str], ...] = (
    (_text, """
        nowrap nobr nobreak small smaller big larger large normal normalsize sc smallcaps nobold noitalic noitalics bold
        italic em strong u uline underline overline center centre unicode polytonic serif script iast ipa ipalink pron
        tooltip abbr abbrv vanchor var math mvar bigmath sic not_a_typo as_written typo ill interlanguage_link midsize flag
        flagcountry flagu country nts ntsh number mono code tt samp kbd bo allow_wrap hebrew hanja hangul zh-hans
        zh-hant keep kern nihongo2 track_gauge railgauge comment ruby ルビ 仮リンク"""),
    (lambda a: a.at(1) or a.named.get("text", ""),
        "lang lang2 wikt-lang wt native_name native_phrase resize font color font_color colored_text"),
    (lambda a: a.positional[-1] if a.positional else "", "transl transliteration translit rtl-lang columns-list plainlist"),
    (_joined(" "), "linktext gaps sortname"),
    (_joined("+"), "keypress key_press key"),
    (_joined("-"), "respell"),
    (_joined(", "), "hlist flatlist cslist comma_separated_entries"),
    (_joined("\n"), "ubl unbulleted_list bulleted_list"),
    (_japanese, "nihongo nihongo_foot nihongo_krt"),
    (_chinese, "zh zh-c zh-cp zh-cpw zh-sp zh-stp zh-tp"),
    (_convert, "convert cvt conv"),
    (_value, "val"),
    (lambda a: " ".join([*a.positional[:-2], "/".join(["1", *a.positional][-2:])]), "frac sfrac fraction frac2"),
    (_chemical, "chem chem2 chemical_formula"),
    (_date, """
        date date- dts birth_date death_date start_date end_date birth-date birth_date_and_age death_date_and_age
        start_date_and_age bda dda"""),
    (_as_of, "as_of asof"),
    (lambda a: f"{a.at(0)} [O.S. {a.at(2)}] {a.at(1)}".strip() if a.at(2) else f"{a.at(0)} {a.at(1)}".strip(),
        "oldstyledate oldstyledatedy oldstyledateny"),
    (_quotation, """
        quote quotation blockquote block_quotation cquote bquote poemquote poem_quote verse centered_pull_quote
        quote_without_source zitat cita citazione citação cytat"""),
    # {{ship|HMS|Dreadnought|1906}} and {{HMS|Dreadnought|1906|6}} are both HMS Dreadnought.
    (lambda a: f"{a.at(0)} {a.at(1)}".strip(), "ship"),
    (lambda a: f"{a.name.upper()} {a.at(0)}".strip(), """
        uss hms hmas hmcs hmnzs hmhs rms ss mv ms sms usns uscgc usrc usat hnlms rfa rv sv tss ps css ins jds"""),
    (lambda a: f"{a.at(0)}-class {a.at(1)}".strip(), "sclass sclass- sclass2 sclass2-"),
    (lambda a: f"<sup>{_text(a)}</sup>", "sup superscript smsup"),
    (lambda a: f"<sub>{_text(a)}</sub>", "sub subscript"),
    # A link to a page that only another wiki has, in Chinese, Russian and French; numbers and quotes in French and German.
    (lambda a: a.at(2) or a.at(0), "le link-en link-ja link-de link-fr link-ko link-ru"),
    (lambda a: a.at(1) or a.at(0), "не_переведено не_переведено_5 нп3 нп4 нп5"),
    (lambda a: a.first("texte", "fr"), "lien"),
    (lambda a: f"{a.at(0)} {a.at(1)}{raised(a.at(2), SUPERSCRIPTS, '')}{a.at(3)}".strip(), "unité"),
    (lambda a: f"{a.at(0)}{a.at(1) or 'e'} siècle", "s s-"),
    ("„…“", '"'),
    (lambda a: ACCIDENTALS.get(a.at(0).lower(), ""), "music"),
    (lambda a: f" × 10{raised(a.at(0), SUPERSCRIPTS, '^')}" if a.at(0) else "e", "e"),
    ("/…/", "ipaslink"),
    ("[…]", "ipablink"),
    ("US$…", "us$ usd"),
    ("£…", "£ gbp"),
    ("€…", "€ euro"),
    ("A$…", "a$ aud"),
    ("c. …", "circa c. ca. ca"),
    ("fl. …", "fl. floruit"),
    ("⟨…⟩", "angbr angbr_ipa angle_bracket angular_brackets"),
    ("|…|", "abs"),
    ("√…", "radic sqrt"),
    ("[…]", "bracket square_bracket"),
    ("{…}", "brace"),
    ("ISBN …", "isbn isbnt"),
    ("\u00a0", "nbsp space spaces spc nnbsp thinsp thin_space hsp hair_space ensp emsp indent 0 px1 px2"),
    (" – ", "snd spnd dash spaced_ndash spaced_en_dash spndash"),
    (" · ", "· •  dot middot bull bullet bold_middot dotw ·w •w"),
)  # fmt: skip
_SIGNS = """
    !:| pipe:| =:= equal:= equals:= 's:’s ':' apostrophe:' okina:ʻ pi:π sharp:♯ flat:♭ natural:♮ rarr:→
    right_arrow:→ yields:→ eqm:⇌ deg:° degree:° er:er re:re 1er:1er 1re:1re ndash:– endash:– en_dash:– nsndns:– –:– mdash:— emdash:— em_dash:— mdashb:— —:—
"""
_ROWS = [*_TABLE, *((pair.rpartition(":")[2], pair.rpartition(":")[0]) for pair in _SIGNS.split())]
_RENDERERS = {
    name.replace("_", " "): renderer if callable(renderer) else _written(renderer)
    for renderer, names in _ROWS
    for name in names.split()
}
