"""Renderers of the templates that contain text. All others are dropped.

A wiki has hundreds of thousands of templates: infoboxes, navigation, references, warnings. The few below occur inside
sentences, which would have gaps without them. Names are those of the English Wikipedia, with the first letter in lower
case; other wikis share the short ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from .superscripts import SUBSCRIPTS, SUPERSCRIPTS, chemical_to_text, raised
from .wikis import LANGUAGE_NAMES


class Arguments(NamedTuple):
    """A template's arguments as wikitext, stripped: those by position, and those by name."""

    name: str
    positional: list[str]
    named: dict[str, str]

    def first(self, *names: str) -> str:
        """Return the first of the named arguments that has a value, else the first by position."""
        return next((self.named[n] for n in names if self.named.get(n)), self.at(0))

    def at(self, index: int) -> str:
        return self.positional[index] if index < len(self.positional) else ""

    @classmethod
    def of(cls, source: str) -> Arguments:
        """Parse the source of a template, with its braces."""
        name, arguments = _split(source)
        positional = [value.strip() for key, value in arguments if key is None]
        named = {key.strip(): value.strip() for key, value in arguments if key is not None}
        for number in sorted(int(key) for key in named if key.isdecimal() and len(key) < 3):
            if number == len(positional) + 1:  # {{lang|1=fr|2=mot}}
                positional.append(named[str(number)])
        return cls(template_name(name), positional, named)


# Links and tags, whose "|" and "=" do not separate arguments of the template.
_MARKUP = re.compile(r"\[\[[^\[\]]*\]\]|\[[^\[\]\n]*\]|<[^<>]*>")


def _split(source: str) -> tuple[str, list[tuple[str | None, str]]]:
    """Return the name of a template, and the name, or None, and value of each argument.

    >>> _split("{{quote|[[Bern|the city]]|by=<b id=x>A</b>}}")
    ('quote', [(None, '[[Bern|the city]]'), ('by', '<b id=x>A</b>')])
    """
    source = source[2:-2]
    hidden = _MARKUP.sub(lambda match: " " * len(match[0]), source) if "[" in source or "<" in source else source
    name, *rest = hidden.split("|")
    arguments: list[tuple[str | None, str]] = []
    at = len(name) + 1
    for masked in rest:
        argument = source[at : at + len(masked)]
        equals = masked.find("=")
        arguments.append((argument[:equals], argument[equals + 1 :]) if equals >= 0 else (None, argument))
        at += len(masked) + 1
    return source[: len(name)], arguments


Renderer = Callable[[Arguments], str]
NO_ENGLISH = {"label": "none", "labels": "no", "abbr": "on"}  # arguments that leave out the words of the English wiki


def template_name(written: str) -> str:
    """Return the name of a template as in the table below: ` Nowrap_` is `nowrap`."""
    name = " ".join(written.replace("_", " ").split())
    if name[:9].lower() == "template:":
        name = name[9:].lstrip()
    return name[:1].lower() + name[1:]


def renderer_of(name: str) -> Renderer | None:
    """Return the renderer of the template `name`, from `template_name`; None for a template to drop."""
    lower = name.lower()
    if renderer := _RENDERERS.get(name) or _RENDERERS.get(lower):
        return renderer
    if lower.startswith("lang-"):
        return _language
    if lower.startswith("formatnum:"):
        return lambda arguments: arguments.name.partition(":")[2].lstrip()
    if lower.startswith("script/") or re.fullmatch("[a-z]{2,3}S", name):  # {{enS}} of the German wiki is English
        return _text
    return _pronunciation if lower.startswith(("ipa-", "ipac-")) else None


def _text(arguments: Arguments) -> str:
    return arguments.first("1", "text", "content")


def _joined(separator: str) -> Renderer:
    return lambda arguments: separator.join(filter(None, arguments.positional))


def _written(pattern: str) -> Renderer:
    """Return a renderer that replaces the "…" of a pattern by the template's text. {{circa}} without text is "c."."""
    alone = pattern[:-1].rstrip() if pattern[-1] == "…" else "" if "…" in pattern else pattern
    return lambda a: pattern.replace("…", _text(a)) if _text(a) else alone


def _language(arguments: Arguments) -> str:
    """{{langx|fr|mot}}, formerly {{lang-fr|mot}}, is "French: mot", as the page shows it; {{lang|fr|mot}} is "mot"."""
    code, text = arguments.name.lower().removeprefix("lang-"), arguments.at(0)
    if code == "langx":
        code, text = text, arguments.at(1)
    name = arguments.named.get("label", LANGUAGE_NAMES.get(code, "")).replace("none", "")
    return f"{name}: {text}" if name and text else text


def _pronunciation(arguments: Arguments) -> str:
    if arguments.name.lower().startswith("ipac-"):
        words = ("lang", "pron", "us", "uk", "audio", "local", "icon", "also", "or", "and", "")
        sounds = [p for p in arguments.positional if p.lower() not in words and p[-4:].lower() not in (".ogg", ".wav")]
        return f"/{''.join(sounds).replace('_', ' ')}/" if sounds else ""
    if arguments.name.lower() == "ipa" and not arguments.at(1):  # formerly {{IPA|/mo/}}
        return arguments.at(0)
    text = arguments.at(arguments.name.lower() == "ipa")  # {{IPA|fr|mo}}, {{IPA-fr|mo}}
    return text if not text or text[0] in "/[" else f"[{text}]"


def _japanese(arguments: Arguments) -> str:
    english, inside = arguments.at(0), ", ".join(filter(None, arguments.positional[1:4]))
    return f"{english} ({inside})" if english and inside else english or inside


def _labelled(**labels: str) -> Renderer:
    """Return the renderer of a template with names in several scripts, such as {{zh}}."""

    def render(arguments: Arguments) -> str:
        named, plain = arguments.named, arguments.named.get("labels") == "no"
        names = {labels[key].replace("_", " "): named[key] for key in labels if named.get(key)}
        labelled = names.values() if plain else (f"{label}: {name}" for label, name in names.items())
        return "; ".join(labelled) or ", ".join(filter(None, arguments.positional))

    return render


# The units of {{convert}}: the code, the words, and the abbreviation if that is not the code.
_UNIT_NAMES = """
    mi=miles km=kilometres ft=feet m=metres in=inches cm=centimetres yd=yards mm=millimetres sqmi=square_miles=sq_mi
    km2=square_kilometres=km² acre=acres=acres ha=hectares m2=square_metres=m² sqft=square_feet=sq_ft
    sqkm=square_kilometres=km² lb=pounds kg=kilograms g=grams oz=ounces ST=short_tons LT=long_tons MT=metric_tons
    t=tonnes C=°C=°C F=°F=°F K=K C-change=°C=°C F-change=°F=°F mph=miles_per_hour km/h=kilometres_per_hour kn=knots
    nmi=nautical_miles l=litres L=litres impgal=imperial_gallons=imp_gal USgal=US_gallons=US_gal oilbbl=barrels=bbl
    bbl=barrels hp=horsepower kW=kilowatts MW=megawatts psi=pounds_per_square_inch m3=cubic_metres=m³
    ft3=cubic_feet=cu_ft cuft=cubic_feet=cu_ft AU=AU ly=light-years pc=parsecs foot=feet=ft mile=miles=mi
    inch=inches=in carat=carats PD/sqmi=inhabitants_per_square_mile=/sq_mi PD/km2=inhabitants_per_square_kilometre=/km²
    /sqmi=per_square_mile=/sq_mi /km2=per_square_kilometre=/km²
"""
UNITS = {code: names for code, *names in (unit.replace("_", " ").split("=") for unit in _UNIT_NAMES.split())}
SCALES = {"e3": "thousand ", "e6": "million ", "e9": "billion ", "e12": "trillion ", "k": "thousand ", "M": "million ",
          "G": "billion ", "T": "trillion "}  # fmt: skip
TIMES = {"d": "per day", "h": "per hour", "s": "per second", "a": "per year"}
_UNIT = re.compile(r"(e3|e6|e9|e12|[kMGT](?=oilbbl|bbl|cuft|USgal|impgal))?(.+?)(?:/([dhsa]))?")
RANGES = {"to": " to ", "-": "–", "–": "–", "to(-)": "–", "and": " and ", "and(-)": " and ", "or": " or ", "by": " by ",
          "x": " × ", "*": " × ", "×": " × ", "xx": " × ", "+/-": " ± ", "±": " ± ", "+": " + "}  # fmt: skip


def _convert(arguments: Arguments) -> str:
    """{{convert|5|to|10|km|mi}} is "5 to 10 kilometres": the number as written, without the conversion."""
    values, named = list(arguments.positional), arguments.named
    abbr = named.get("abbr", "on" if arguments.name == "cvt" else "")
    short = named.get("adj") == "on" or abbr in ("on", "in", "y", "yes")
    text = number = ""
    while values and _is_number(values[0]):
        number = values.pop(0)
        text += f"{int(number):,}" if re.fullmatch(r"\d{4,15}", number) else number
        if values and values[0] in RANGES:
            text += RANGES[values.pop(0)]
        elif len(values) > 2 and values[0] in UNITS and _is_number(values[1]) and values[2] in UNITS:  # 5 ft 3 in
            text += f" {_unit(values.pop(0), short, number)} "
        else:
            break
    if not text:
        return arguments.at(0)
    return f"{text} {_unit(values[0], short, number)}".rstrip() if values else text


def _unit(code: str, short: bool, number: str) -> str:
    """Return a unit of {{convert}} after a number, in words: "e6acre" is "million acres"."""
    match = None if code in UNITS else _UNIT.fullmatch(code)
    scale, base, time = match.groups("") if match else ("", code, "")
    if base not in UNITS:
        return code
    name = [*UNITS[base], base][1] if short else UNITS[base][0]
    if re.fullmatch("1|[0-9]/[0-9]+", number) and not short and not scale:  # 1 mile
        name = re.sub("(?<=inch)es|(?<=[a-z])s", "", name.replace("feet", "foot"), count=1)
    return f"{SCALES.get(scale, '')}{name} {TIMES.get(time, '')}".rstrip()


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[-−+]?[\d,. ]*\d[\d,./⁄+ ]*(?:e[-−]?\d+)?", text) is not None


def _value(arguments: Arguments) -> str:
    """{{val|1.2|0.1|e=5|u=m}} is "1.2 ± 0.1 × 10⁵ m"."""
    text = arguments.at(0)
    error = arguments.at(1)
    if error[:1] in ("+", "-", "−"):  # {{val|1.5|+0.2|-0.1}}
        text += f" {error} {arguments.at(2)}".rstrip()
    elif error:
        text += error if error.startswith("(") else f" ± {error}"
    if arguments.named.get("e"):
        text += " × 10" + raised(arguments.named["e"], SUPERSCRIPTS, "^")
    return f"{text} {arguments.named.get('u') or arguments.named.get('ul') or ''}".strip()


def _chemical(arguments: Arguments) -> str:
    """{{chem|H|2|O}} is H₂O; a sign after a number is a charge."""
    text = ""
    for item in arguments.positional:
        item = item.replace("''", "")
        table = SUPERSCRIPTS if re.fullmatch(r"\d*[+−-]", item) else SUBSCRIPTS
        text += item.translate(table) if all(ord(letter) in table for letter in item) else item
    return text


ACCIDENTALS = {"flat": "♭", "b": "♭", "sharp": "♯", "#": "♯", "natural": "♮"}
MONTHS = "January February March April May June July August September October November December".split()


def _date(arguments: Arguments, day_first: bool = False) -> str:
    """{{birth date|1809|2|12}} is "February 12, 1809"; with df=y, or as 12|2|1809, "12 February 1809"."""
    values = arguments.positional[:3]
    if order := arguments.named.get("df"):
        day_first = order.lower() not in ("n", "no", "us", "mdy")
    if len(values) == 3 and len(values[0]) < 3 < len(values[2]):
        values.reverse()
        day_first = True
    if not values or not values[0].isdecimal():
        return arguments.at(0)
    year, month, day = [*values, "", ""][:3]
    if month.isdecimal() and 1 <= int(month) <= 12:
        month = MONTHS[int(month) - 1]
    if len(values) < 3:
        return f"{month} {year}".strip()
    day = day.lstrip("0")
    return f"{day} {month} {year}" if day_first else f"{month} {day}, {year}"


def _as_of(arguments: Arguments) -> str:
    if arguments.named.get("alt"):
        return arguments.named["alt"]
    words = "since" if "since" in arguments.named else "as of"
    date = _date(arguments, day_first=True)
    return f"{words if 'lc' in arguments.named else words.capitalize()} {date}" if date else ""


def _quotation(arguments: Arguments) -> str:
    text = arguments.first("text", "quote", "quotetext", "1", "Text", "texto", "testo")
    names = ("author", "sign", "by", "source", "Autor", "autor", "autore", "4")
    # {{cquote|To be.|20px|20px|Hamlet}}: the sizes of the marks may be before the author.
    others = [value for value in arguments.positional[1:] if not re.fullmatch(r"\d{0,3}(px)?", value)]
    by = next(filter(None, (*map(arguments.named.get, names), *others)), "")
    return f"\n{text}\n— {by}\n" if by and text else f"\n{text}\n"


# The templates that contain text, by renderer or pattern; names in lower case, "_" for a space.
_TABLE: tuple[tuple[Renderer | str, str], ...] = (
    (_text, """
        nowrap nobr nobreak small smaller big larger large normal normalsize sc smallcaps nobold noitalic noitalics bold
        italic em strong u uline underline overline center centre unicode polytonic serif iast ipalink pron dfn tooltip
        abbr abbrv vanchor visible_anchor var math mvar bigmath midsize nts ntsh number mono code tt samp kbd bo
        allow_wrap hebrew hanja hangul zh-hans zh-hant keep kern nihongo2 track_gauge railgauge stnlnk stnlink rws
        comment ruby ルビ ふりがな"""),
    (lambda a: f"{a.at(0)}（{a.at(1)}）", "読み仮名 読み仮名_ruby不使用"),
    (lambda a: a.first("name"), "flag flagcountry flagu country"),
    (lambda a: "".join(a.positional).removeprefix("?"), "sic not_a_typo as_written typo"),  # {{sic|?|cor|ect}}
    # {{ill|Bern|de}}, formerly {{ill|de|Bern}}.
    (lambda a: a.named.get("lt") or a.at(a.at(0) in LANGUAGE_NAMES), "ill interlanguage_link 仮リンク"),
    (lambda a: a.at(1) or a.named.get("text") or a.named.get("texte", ""),
        "lang lang2 langue wikt-lang wt script native_name native_phrase resize font color"),
    (lambda a: a.positional[-1] if a.positional else "", """
        transl transliteration translit rtl-lang columns-list plainlist font_color colored_text"""),
    (_joined(" "), "linktext gaps sortname num число nombre fmtn"),
    (_joined("+"), "keypress key_press key"),
    (_joined("-"), "respell"),
    (_joined(", "), "hlist flatlist cslist comma_separated_entries"),
    (_joined("\n"), "ubl unbulleted_list"),
    (lambda a: "".join(f"\n* {item}" for item in a.positional) + "\n", "bulleted_list"),
    (lambda a: "".join(f"\n# {item}" for item in a.positional) + "\n", "ordered_list"),
    (_language, "langx"),
    (_pronunciation, "ipa"),
    (_japanese, "nihongo nihongo_foot nihongo_krt"),
    (lambda a: _japanese(a._replace(positional=[a.at(2), a.at(1), a.at(0)])), "nihongo3"),
    (_labelled(c="Chinese", s="simplified_Chinese", t="traditional_Chinese", p="pinyin", w="Wade–Giles"),
        "zh zh-c zh-cp zh-cpw zh-sp zh-stp zh-tp"),
    (_labelled(hangul="Korean", hanja="Hanja", rr="RR", mr="MR"), "korean ko-hhrm"),
    (_convert, "convert cvt conv"),
    (_value, "val"),
    (lambda a: " ".join([*a.positional[:-2], "/".join(["1", *a.positional][-2:])]), "frac sfrac fraction frac2"),
    (_chemical, "chem chemical_formula"),
    (lambda a: chemical_to_text(a.at(0)), "chem2"),
    (_date, """
        date date- dts birth_date death_date start_date end_date birth-date birth_date_and_age death_date_and_age
        start_date_and_age bda dda"""),
    (_as_of, "as_of asof"),
    (lambda a: " – ".join(f"c. {year}" for year in a.positional if year) or "c.", "circa c. ca. ca"),
    (lambda a: f"fl. {'–'.join(filter(None, a.positional))}".strip(), "fl. floruit"),
    (lambda a: f"r. {'–'.join(filter(None, a.positional))}".strip(), "reign"),
    # {{bibleverse|John|3:16|KJV}}; formerly the number of the book, or nothing, was before its name.
    (lambda a: " ".join(filter(None, a.positional[: 2 if len(a.at(0)) > 1 else 3])), "bibleverse bibleref bibleref2"),
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
    (lambda a: a.at(3) or a.at(2) or a.at(1), "tsl translink"),
    (lambda a: a.at(2) or a.at(0), "le link-en link-ja link-de link-fr link-ko link-ru"),
    (lambda a: a.at(1) or a.at(0), "не_переведено не_переведено_5 нп3 нп4 нп5"),
    (lambda a: a.first("texte", "fr"), "lien"),
    (lambda a: f"{a.at(0)} {a.at(1)}{raised(a.at(2), SUPERSCRIPTS, '')}{a.at(3)}".strip(), "unité unidad"),
    # {{s|XX}} in French; in Russian, {{s|5 км}} is text without line breaks.
    (lambda a: f"{a.at(0)}{a.at(1) or 'e'} siècle" if re.fullmatch("[IVXL]+", a.at(0)) else a.at(0), "s s-"),
    ("„…“", '"'),
    (lambda a: ACCIDENTALS.get(a.at(0).lower(), ""), "music"),
    (lambda a: f" × 10{raised(a.at(0), SUPERSCRIPTS, '^')}" if a.at(0) else "e", "e"),
    (lambda a: f"10{raised(a.at(0), SUPERSCRIPTS, '^')}", "10^"),
    ("\n…\n", "block_indent blockindent bi term defn"),
    ("‘…’", "gloss"),
    ("lit. ‘…’", "lit literal_translation literally"),
    ("née …", "nee née"),
    ("/…/", "ipaslink"),
    ("[…]", "ipablink lautschrift"),
    ("⟨…⟩", "angbr angbr_ipa angle_bracket angular_brackets"),
    ("|…|", "abs"),
    ("√…", "radic sqrt"),
    ("[…]", "bracket square_bracket"),
    ("{…}", "brace"),
    ("ISBN …", "isbn isbnt"),
    ("\u00a0", "nbsp space spaces spc nnbsp thinsp thin_space hsp hair_space ensp emsp indent 0 px1 px2"),
    (" – ", "snd snds spnd dash spaced_ndash spaced_en_dash spndash"),
    (" · ", "· •  dot middot bull bullet bold_middot dotw ·w •w"),
)  # fmt: skip
_SIGNS = """
    !:| pipe:| =:= equal:= equals:= 's:’s ':' apostrophe:' okina:ʻ pi:π sharp:♯ flat:♭ natural:♮ rarr:→
    right_arrow:→ yields:→ eqm:⇌ deg:° degree:° er:er re:re 1er:1er 1re:1re ndash:– endash:– en_dash:– nsndns:– –:– mdash:— emdash:— em_dash:— mdashb:— —:—
    us$:US$… usd:US$… £:£… gbp:£… €:€… euro:€… eur:€… a$:A$… aud:A$… cad:CA$… hk$:HK$… hkd:HK$… nz$:NZ$… nzd:NZ$…
    ¥:¥… jpy:¥… yen:¥… ₩:₩… krw:₩… ₱:₱… php:₱… ₹:₹… inr:₹… indian_rupee:₹…
"""
_ROWS = [*_TABLE, *((pair.rpartition(":")[2], pair.rpartition(":")[0]) for pair in _SIGNS.split())]
_RENDERERS = {
    name.replace("_", " "): renderer if callable(renderer) else _written(renderer)
    for renderer, names in _ROWS
    for name in names.split()
}
