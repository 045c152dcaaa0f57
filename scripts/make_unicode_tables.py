"""Write categories.zlib, properties.zlib and case_orbits.zlib in src/tokenmill/split from the Unicode data inside the `regex` module.

    python scripts/make_unicode_tables.py

The tables have the Unicode version of the Rust and C libraries in tiktoken and Hugging Face tokenizers, so that ids agree
on every code point. Newer releases of `regex` have newer versions. Run this script with a release that has exactly the
right version (regex 2025.7.34 has 16.0); it refuses any other.
"""

import zlib
from pathlib import Path

import regex

VERSION = "16.0.0"
# A letter that is new in 16.0 (Garay) and one that is new in 17.0 (a Latin capital) identify the version.
IN_VERSION, NOT_IN_VERSION = "\U00010d4a", "\ua7ce"
FOLDER = Path(__file__).resolve().parents[1] / "src/tokenmill/split"

CATEGORY_NAMES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co Cn"
BINARY = [
    "Alphabetic",
    "Lowercase",
    "Uppercase",
    "White_Space",
    "Ideographic",
    "Emoji",
    "Emoji_Presentation",
    "Extended_Pictographic",
]
# Script names as Unicode spells them, with the four-letter codes. A name that `regex` does not know ends the script.
SCRIPT_NAMES = """Adlam=Adlm Ahom=Ahom Anatolian_Hieroglyphs=Hluw Arabic=Arab Armenian=Armn Avestan=Avst Balinese=Bali Bamum=Bamu
Bassa_Vah=Bass Batak=Batk Bengali=Beng Bhaiksuki=Bhks Bopomofo=Bopo Brahmi=Brah Braille=Brai Buginese=Bugi Buhid=Buhd
Canadian_Aboriginal=Cans Carian=Cari Caucasian_Albanian=Aghb Chakma=Cakm Cham=Cham Cherokee=Cher Chorasmian=Chrs
Common=Zyyy Coptic=Copt Cuneiform=Xsux Cypriot=Cprt Cypro_Minoan=Cpmn Cyrillic=Cyrl Deseret=Dsrt Devanagari=Deva
Dives_Akuru=Diak Dogra=Dogr Duployan=Dupl Egyptian_Hieroglyphs=Egyp Elbasan=Elba Elymaic=Elym Ethiopic=Ethi Garay=Gara
Georgian=Geor Glagolitic=Glag Gothic=Goth Grantha=Gran Greek=Grek Gujarati=Gujr Gunjala_Gondi=Gong Gurmukhi=Guru
Gurung_Khema=Gukh Han=Hani Hangul=Hang Hanifi_Rohingya=Rohg Hanunoo=Hano Hatran=Hatr Hebrew=Hebr Hiragana=Hira
Imperial_Aramaic=Armi Inherited=Zinh Inscriptional_Pahlavi=Phli Inscriptional_Parthian=Prti Javanese=Java Kaithi=Kthi
Kannada=Knda Katakana=Kana Kawi=Kawi Kayah_Li=Kali Kharoshthi=Khar Khitan_Small_Script=Kits Khmer=Khmr Khojki=Khoj
Khudawadi=Sind Kirat_Rai=Krai Lao=Laoo Latin=Latn Lepcha=Lepc Limbu=Limb Linear_A=Lina Linear_B=Linb Lisu=Lisu
Lycian=Lyci Lydian=Lydi Mahajani=Mahj Makasar=Maka Malayalam=Mlym Mandaic=Mand Manichaean=Mani Marchen=Marc
Masaram_Gondi=Gonm Medefaidrin=Medf Meetei_Mayek=Mtei Mende_Kikakui=Mend Meroitic_Cursive=Merc
Meroitic_Hieroglyphs=Mero Miao=Plrd Modi=Modi Mongolian=Mong Mro=Mroo Multani=Mult Myanmar=Mymr Nabataean=Nbat
Nag_Mundari=Nagm Nandinagari=Nand New_Tai_Lue=Talu Newa=Newa Nko=Nkoo Nushu=Nshu Nyiakeng_Puachue_Hmong=Hmnp Ogham=Ogam
Ol_Chiki=Olck Ol_Onal=Onao Old_Hungarian=Hung Old_Italic=Ital Old_North_Arabian=Narb Old_Permic=Perm Old_Persian=Xpeo
Old_Sogdian=Sogo Old_South_Arabian=Sarb Old_Turkic=Orkh Old_Uyghur=Ougr Oriya=Orya Osage=Osge Osmanya=Osma
Pahawh_Hmong=Hmng Palmyrene=Palm Pau_Cin_Hau=Pauc Phags_Pa=Phag Phoenician=Phnx Psalter_Pahlavi=Phlp Rejang=Rjng
Runic=Runr Samaritan=Samr Saurashtra=Saur Sharada=Shrd Shavian=Shaw Siddham=Sidd SignWriting=Sgnw Sinhala=Sinh
Sogdian=Sogd Sora_Sompeng=Sora Soyombo=Soyo Sundanese=Sund Sunuwar=Sunu Syloti_Nagri=Sylo Syriac=Syrc Tagalog=Tglg
Tagbanwa=Tagb Tai_Le=Tale Tai_Tham=Lana Tai_Viet=Tavt Takri=Takr Tamil=Taml Tangsa=Tnsa Tangut=Tang Telugu=Telu
Thaana=Thaa Thai=Thai Tibetan=Tibt Tifinagh=Tfng Tirhuta=Tirh Todhri=Todr Toto=Toto Tulu_Tigalari=Tutg Ugaritic=Ugar
Vai=Vaii Vithkuqi=Vith Wancho=Wcho Warang_Citi=Wara Yezidi=Yezi Yi=Yiii Zanabazar_Square=Zanb"""

CATEGORIES, SCRIPTS = CATEGORY_NAMES.split(), SCRIPT_NAMES.split()
EVERYTHING = "".join(map(chr, range(0x110000)))


def ranges(pattern: str) -> list[tuple[int, int]]:
    """The code points that a one-character pattern matches, as inclusive ranges."""
    return [(m.start(), m.end() - 1) for m in regex.finditer(f"(?:{pattern})+", EVERYTHING)]


def categories() -> tuple[bytes, bytes]:
    """The two-stage table: a page number (two bytes) for each 128 code points, and the pages."""
    flat = bytearray([CATEGORIES.index("Cn")]) * 0x110000
    for i, name in enumerate(CATEGORIES):
        for low, high in ranges(rf"\p{{{name}}}"):
            flat[low : high + 1] = bytes([i]) * (high + 1 - low)
    pages: dict[bytes, int] = {}
    index = [pages.setdefault(bytes(flat[i : i + 128]), len(pages)) for i in range(0, 0x110000, 128)]
    return b"".join(i.to_bytes(2, "little") for i in index), b"".join(pages)


def properties() -> str:
    """One line per property: its names, then its ranges as hexadecimal gaps and lengths."""
    lines = []
    for entry in SCRIPTS + BINARY:
        name = entry.split("=")[0]
        try:
            found = ranges(rf"\p{{Script={name}}}" if "=" in entry else rf"\p{{{name}}}")
        except regex.error as error:
            raise SystemExit(f"regex {regex.__version__} does not know {name}: {error}") from None
        last, numbers = 0, []
        for low, high in found:
            numbers += [f"{low - last:x}", f"{high - low:x}"]
            last = high
        lines.append(" ".join([entry, *numbers]))
    return "\n".join(lines)


def orbits() -> str:
    """The groups of characters that differ only in case (simple case folding), separated by spaces."""

    def fold(char: str) -> str:
        for folded in (char.casefold(), char.lower()):
            if len(folded) == 1:
                return folded
        return char

    groups: dict[str, list[str]] = {}
    for char in EVERYTHING:
        groups.setdefault(fold(char), []).append(char)
    # Three case foldings of single characters that Unicode 15.1 added and Python 3.11 does not have.
    for extra, base in (("\u1fd3", "\u0390"), ("\u1fe3", "\u03b0"), ("\ufb05", "\ufb06")):
        for key in (extra, base):
            groups.pop(key, None)
        groups[base] = [base, extra]
    # Pairs newer than this Python's Unicode version: an upper-case letter and the lower-case letter that `regex` pairs with it.
    known = {char for group in groups.values() if len(group) > 1 for char in group}
    cased = [c for c in regex.findall(r"[\p{Lu}\p{Ll}\p{Lt}]", EVERYTHING) if c not in known]
    young = "".join(cased)
    for char in cased:
        if char not in known:
            group = [c for c in regex.findall(rf"(?i:{regex.escape(char)})", young) if c not in known]
            if len(group) > 1 and not any(turkic in group for turkic in "\u0130\u0131"):
                groups[char] = group
                known.update(group)
    return " ".join("".join(sorted(group)) for group in groups.values() if len(group) > 1)


def main() -> None:
    if not regex.match(r"\p{L}", IN_VERSION) or regex.match(r"\p{L}", NOT_IN_VERSION):
        raise SystemExit(f"regex {regex.__version__} does not have Unicode {VERSION}; install regex==2025.7.34")
    index, pages = categories()
    tables = {
        # 8704 page numbers of two bytes (code point >> 7), then the pages: one category for each of 128 code points.
        "categories": index + pages,
        # A line for each property: its names, then gaps and lengths of its ranges in hexadecimal.
        "properties": properties().encode(),
        # Groups of characters that differ in case alone, separated by spaces.
        "case_orbits": orbits().encode(),
    }
    for name, data in tables.items():
        (FOLDER / f"{name}.zlib").write_bytes(zlib.compress(data, 9))
        print(f"{name}: {len(data)} bytes, Unicode {VERSION}")


if __name__ == "__main__":
    main()
