"""Wikitext and HTML to text: each construct, what does not match, and what only means harm."""

from collections import Counter

import mwparserfromhell
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenmill.corpus import read_documents, templates
from tokenmill.corpus.html import html_to_text
from tokenmill.corpus.templates import Arguments, _split, renderer_of, template_name
from tokenmill.corpus.wikis import wiki_of
from tokenmill.corpus.wikitext import Segment, wikitext_to_text


def text(wikitext, context="", **options):
    return "\n".join(s.text for s in wikitext_to_text(wikitext, wiki_of(context), **options))


@pytest.mark.parametrize(
    ("wikitext", "plain"),
    [
        ("'''Bold''', ''italic'' and '''''both'''''; it''''s '''", "Bold, italic and both; it's "),
        (
            "[[apple]]s and [[Pear|pears]], [[:Category:Fruit]], [[:Category:Nut|nuts]], [[#Below]]",
            "apples and pears, nuts, Below",
        ),
        ("[[Category:X]][[de:Apfel]][[File:a.jpg|thumb|A [[red]] {{x|y}} one]][[Image:b.png]]text", "text"),
        ("see [http://a.org the site], [http://b.org] or [//c.org x]", "see the site, or x"),
        ("a<ref>note [[x]]</ref> b<ref name=y/>, c<ref name=z>{{cite|w}}</ref>.", "a b, c."),
        ("a<!-- comment -->b<!-- never closed", "ab"),
        ("{{Infobox\n|a={{b|c}}\n|d=[[e]]\n}}\nText", "Text"),
        ("one\n{| class=x\n|-\n| a || b\n{|\n| nested\n|}\n|}\ntwo", "one\ntwo"),
        ("<table><tr><td>cell</td></tr></table>after", "after"),
        ("== Heading ==\ntext\n=== Empty ===\n== Also empty ==\n", "## Heading\n\ntext"),
        (
            "* one\n** two\n# three\n; term : def\n: indented\n----\nend",
            "- one\n- two\n1. three\n\nterm : def\nindented\n\nend",
        ),
        ("text\n== References ==\n* a book\n== Einzelnachweise ==\nx\n== After ==\nmore", "text\n\n## After\n\nmore"),
        ("a&nbsp;b &amp; &lt;tag&gt; &#945; &alpha;", "a\xa0b & <tag> α α"),
        ("/p?a=1&section=2&copy=3, <code>?b&lt=4</code>, &notit;", "/p?a=1&section=2&copy=3, ?b&lt=4, &notit;"),
        ("<nowiki>[[literal]] {{braces}}</nowiki>", "[[literal]] {{braces}}"),
        ("E = mc<sup>2</sup>, H<sub>2</sub>O, x<sup>note</sup>", "E = mc², H₂O, xnote"),
        ("10<sup>–18</sup>, 10<sup>1.5</sup>, 1<sup>st</sup>, a<sup>[2]</sup>", "10⁻¹⁸, 10^(1.5), 1st, a[2]"),
        ("an {{Carbon}}<sub>''n''</sub>{{Hydrogen}}<sub>2''n''+2</sub> is, CH{{x}}<sub>2</sub>", "an is,"),
        ("one\nline\n\ntwo\n# a\n# b\n\n# c\nend", "one\nline\n\ntwo\n\n1. a\n2. b\n\n1. c\n\nend"),
        (
            "the sum <math>\\frac{a}{b}</math> is <math>\\begin{matrix}1\\end{matrix}</math>.",
            r"the sum $\frac{a}{b}$ is $\begin{matrix}1\end{matrix}$.",
        ),
        (
            "<math display=block>\n  a &lt; b\n</math> <math> </math>{{tmath|\\frac{1}{x^{2}} = y''}}.",
            r"$a < b$ $\frac{1}{x^{2}} = y''$.",
        ),
        ("one<br>\ntwo<br /> \n\nthree<br><br>\nfour", "one\ntwo\n\nthree\n\nfour"),
        ("<ruby><rb>漢</rb><rp>(</rp><rt>kan</rt><rtc>hàn</rtc><rp>)</rp></ruby>", "漢(kanhàn)"),
        ("line<br />break<div>block</div>end", "line\nbreak\nblock\nend"),
        ("__NOTOC__\n{{DEFAULTSORT:x}}text", "text"),
        ("-{zh-hans:简体; zh-hant:繁體}-字, A-{zh|甲}-字-{乙}-B", "简体字, A甲字乙B"),
        ("a <span style='display:none'>hidden</span>b", "a b"),
        ("hello <unknown> world < 3", "hello <unknown> world < 3"),
        ("|- leftover row\nkept", "kept"),
        ("[[Star Trek IV: The Voyage Home]], [[wikt:foo]], [[:w:Bar]]", "Star Trek IV: The Voyage Home, foo, Bar"),
        ("'''!!!''' is a band!! from [[X|x]].", "!!! is a band!! from x."),
        ("{{abs|x}} is [[absolute value|{{abs|x}}]], [[a{{!}}b]]", "|x| is |x|, b"),
        ("== ==\na\n==\nb", "a\nb"),
        ("a <nowiki><!--</nowiki> b\n<pre>\n<!-- c -->\nd\n</pre>", "a <!-- b\n<!-- c -->\nd"),
        ("# a\n <!-- c -->\n<!-- d --> \n# b <!-- e -->\nf", "1. a\n2. b\n\nf"),
        ("2-{4-[2-oxy]phenyl}-1-ol, -{Homo}-", "2-{4-[2-oxy]phenyl}-1-ol, Homo"),
        ("<code>__FILE__</code> x __NOTOC__\n__SOMMAIRE__\n", "__FILE__ x"),
        ("10<sup>10<sup>100</sup></sup>, 2<sup>n&nbsp;− 1</sup>, ''e''<sup>''iπ''</sup>", "10^(10¹⁰⁰), 2ⁿ⁻¹, e^(iπ)"),
        ("a[b[0]] {x {y}} &#91;&#91;", "a[b[0]] {x {y}} [["),
        ("[[File:a.jpg|thumb|b [http://c.org d]]] [[e|[f]]]", "[f]"),
        ("[http://a.org/''The Book'']", "The Book"),
        ("the [[red ]]book, a[[ blue|]]berry", "the red book, ablueberry"),
        (
            "<syntaxhighlight>\n&lt;p> &amp;amp;\n</syntaxhighlight><source inline>&lt;</source>",
            "&lt;p> &amp;amp;\n&lt;",
        ),
        ("<pre><nowiki>\na &lt; [[b]]\n</NOWIKI></pre>", "a < [[b]]"),
    ],
)
def test_constructs(wikitext, plain):
    assert text(wikitext) == plain.strip()


@pytest.mark.parametrize(
    ("wikitext", "plain"),
    [
        ("{{lang|fr|mot}} {{lang-de|Wort}} {{transl|ru|slovo}}", "mot German: Wort slovo"),
        (
            "{{convert|5|to|10|km|mi}}, {{convert|6|ft|3|in|m}}, {{convert|175|km|0}}, {{convert|25000|acre|abbr=on}}",
            "5 to 10 kilometres, 6 feet 3 inches, 175 kilometres, 25,000 acres",
        ),
        (
            "{{convert|22|e6acre|km2}}, {{convert|1.4|Moilbbl/d}}, {{convert|90|F}}, {{convert|5|km2|abbr=on}}, {{convert|7|rod}}",
            "22 million acres, 1.4 million barrels per day, 90 °F, 5 km², 7 rod",
        ),
        ("{{nowrap|a [[b|c]] d}} {{nowrap|1=x=y}}", "a c d x=y"),
        ("{{lang|el|{{nowrap|ά{{ndash}}β}}}}", "ά–β"),
        (
            "{{birth date|1809|2|12}}, {{death date|df=yes|1865|4|15}}, {{As of|2014|lc=y}}",
            "February 12, 1809, 15 April 1865, as of 2014",
        ),
        ("2{{frac|1|3}} or 2 {{frac|1|3}}", "2 1/3 or 2 1/3"),
        ("# x\n# y\n## y1\n#: cont\n# z\n* a\n*: b\n* c", "1. x\n2. y\n1. y1\ncont\n3. z\n- a\nb\n- c"),
        ("{{frac|1|2}} {{val|1.2|0.1|e=5|u=m}} {{chem|H|2|O}} {{circa|1900}}", "1/2 1.2 ± 0.1 × 10⁵ m H₂O c. 1900"),
        ("{{IPAc-en|æ|l|ˈ|b}} {{IPA-fr|mo}} {{nihongo|Aikido|合気道|Aikidō}}", "/ælˈb/ [mo] Aikido (合気道, Aikidō)"),
        ("a{{spaced ndash}}b{{'s}} c{{!}}d {{USS|Hornet|CV-12}}", "a – b’s c|d USS Hornet"),
        ("{{quote|To be.|Hamlet}}", "To be.\n— Hamlet"),
        ("{{lang|fr|x{{refn|gone}}y}}", "xy"),
        ("{{columns-list|colwidth=20em|\n* [[a|b]]\n* c\n}}", "- b\n- c"),
        (
            "5.98{{e|24}} kg, 3.3{{e|-20}}, {{US$|2 billion}}, {{£|5|1929}}, {{circa}} 1900{{angbr}}",
            "5.98 × 10²⁴ kg, 3.3 × 10⁻²⁰, US$2 billion, £5, c. 1900",
        ),
        ("A{{music|flat}} and C{{Music|sharp}}, 10{{smsup|−27}}", "A♭ and C♯, 10⁻²⁷"),
        (
            "le {{1er}} mai, au XIX{{e}} et au {{s-|XX}} ou {{s|XXI|e}}, {{unité|5|km|2}}",
            "le 1er mai, au XIXe et au XXe siècle ou XXIe siècle, 5 km²",
        ),
        ("{{unité|90|km|/|h}} le {{date|14|juillet|1789}}", "90 km/h le 14 juillet 1789"),
        ("{{birth date|14|9|16}}, {{date|12|2|1809}}", "September 16, 14, 12 February 1809"),
        (
            "{{lien|trad=Foo|fr=Machin}}, {{нп5|Цель|текст||x}}, {{нп5|Цель|||x}}, {{le|甲|A}}, {{le|甲|A|乙}}",
            "Machin, текст, Цель, 甲, 乙",
        ),
        ('{{"|Ja.}} {{Zitat|Nein.|Autor=A}}', "„Ja.“\nNein.\n— A"),
        (
            "{{IPA|fr|mo}}, {{IPA|/mo/}}, {{langx|fr|mot}}, {{langx|de|Wort|label=none}}, {{script|Runr|ᚨ}}, {{Script/Hebrew|א}}",
            "[mo], /mo/, French: mot, Wort, ᚨ, א",
        ),
        (
            "{{zh|t=漢|p=hàn|labels=no}}; {{zh|t=漢}}; {{Korean|hangul=한|hanja=韓}}; {{nihongo3|lord|殿|tono}}; {{enS|peace}}",
            "漢; hàn; traditional Chinese: 漢; Korean: 한; Hanja: 韓; tono (殿, lord); peace",
        ),
        (
            "{{As of|2015|06|30}}, {{as of|2015|6|30|df=US|lc=y}}, {{start date|2010|05|07}}, {{birth date|1950|1|2|df=no}}",
            "As of 30 June 2015, as of June 30, 2015, May 7, 2010, January 2, 1950",
        ),
        (
            "{{circa|1500|1550}}, {{fl.|1500|1550}}, {{reign|1500|1550}}",
            "c. 1500 – c. 1550, fl. 1500–1550, r. 1500–1550",
        ),
        (
            "{{cvt|5|km}}, {{cvt|5|foot}}, {{cvt|5|km|abbr=off}}, {{convert|1|USgal}}, {{convert|1|ft|1|in}}, {{convert|1|e6acre}}",
            "5 km, 5 ft, 5 kilometres, 1 US gallon, 1 foot 1 inch, 1 million acres",
        ),
        (
            "{{chem2|SO4(2-)}}, {{chem2|2H2 + O2 -> 2H2O}}, <ce>[Fe(CN)6]^3-</ce>, <chem>Na+</chem>, {{val|1.5|+0.2|-0.1}}",
            "SO₄²⁻, 2H₂ + O₂ → 2H₂O, [Fe(CN)₆]³⁻, Na⁺, 1.5 +0.2 -0.1",
        ),
        ("{{10^|6}}, {{INR|500}}, {{JPY|30}}, {{CAD|5}}", "10⁶, ₹500, ¥30, CA$5"),
        (
            "{{bibleverse|Mark|3:25|KJV}}, {{bibleverse|1|Samuel|2:3}}, {{bibleverse||John|3:16}}",
            "Mark 3:25, 1 Samuel 2:3, John 3:16",
        ),
        ("{{visible anchor|A}} {{dfn|b}} {{gloss|c}} {{lit|d}} {{ill|E|de|lt=e}}", "A b ‘c’ lit. ‘d’ e"),
        (
            "{{cquote|To be.|20px|20px|Hamlet}} {{cquote|To be.|4=Hamlet}} {{quote|Year.||1984}}",
            "To be.\n— Hamlet\n\nTo be.\n— Hamlet\n\nYear.\n— 1984",
        ),
        ("{{sic|Irrega|rdless}} {{Sic|?|a|b}} {{not a typo|ent|er}}{{sic}}", "Irregardless ab enter"),
        (
            "{{ill|de|Bern|Bern (Stadt)}}, {{ill|Bern|de}}, {{flag|Georgia (U.S. state)|name=Georgia}}",
            "Bern, Bern, Georgia",
        ),
        ("{{font color|red|blue|a}} {{font color|red|b}} {{color|red|c}}, 1775{{snds}}1783", "a b c, 1775 – 1783"),
        ("({{formatnum: 10056}}), {{unidad|5|km|2}}", "(10056), 5 km²"),
        (
            "{{読み仮名|東京|とうきょう}}は{{ふりがな|首都|しゅと}}、{{tsl|en|A|乙}}{{tsl|en|A|乙|丙}}",
            "東京（とうきょう）は首都、乙丙",
        ),
        ("one{{ordered list|a|b}}{{bulleted list|c}}{{term|d}}{{defn|e}}", "one\n\n1. a\n2. b\n\n- c\n\nd\n\ne"),
    ],
)
def test_templates_that_bear_text(wikitext, plain):
    assert text(wikitext) == plain


@pytest.mark.parametrize(
    ("wikitext", "plain"),
    [
        ("Bern ({{audio|x}}; {{foo}}) is", "Bern is"),
        ("Bern ({{audio|x}}; born 1900) is", "Bern (born 1900) is"),
        ("Bern (a, {{foo}}, b; or {{foo}}) is", "Bern (a, b) is"),
        ("Bern {{foo}} {{foo}}, the {{foo}} city {{foo}}.", "Bern, the city."),
        ("f() and ( ) and (, ) stay", "f() and ( ) and (, ) stay"),
        ("(pronounced {{foo}}) x", "x"),
        ("東京（{{foo}}）は", "東京は"),
        ("* {{foo}}\n* {{foo}}, {{bar}}.\nkept", "kept"),
        ("word{{foo}}word", "wordword"),
        ("4. {{foo}}. End.{{foo}}. And ...{{foo}}.", "4. End. And ..."),
    ],
)
def test_nothing_ugly_is_left_where_something_was_dropped(wikitext, plain):
    assert text(wikitext) == plain


@pytest.mark.parametrize(
    ("wikitext", "plain"),
    [
        ("a {{infobox\n|x=1\n|y=2\n\nNext [[paragraph]].", "a\n\nNext paragraph."),
        ("a }} b ]] c |} d", "a  b  c |} d"),
        ("[[open link and text\nmore", "open link and text\nmore"),
        ("[[File:x.jpg|thumb|cut\nmore", "more"),
        ("{|\n| a\n| b\n== Next ==\ntext", "## Next\n\ntext"),
        ("see [http://a.org/x the site\nmore", "see the site\nmore"),
        ("a <ref>never closed\nnext line", "a\nnext line"),
        ("a<ref name=x>typo b<ref>c</ref> d", "atypo b d"),
        ("{{a|{{b|[[c}} d\n\ne", "e"),
        ("{{{1|default}}} x", "} x"),
        ("[[a|[b]]] and [[c|[1]]]", "[b] and"),
    ],
)
def test_brackets_that_do_not_match(wikitext, plain):
    assert text(wikitext).replace("  ", " ") == plain.replace("  ", " ")


def test_the_names_of_namespaces_come_from_the_dump():
    context = '{"6": "Bildo", "14": "Kategoriaĵo"}'
    assert text("[[Bildo:x.jpg|a]][[kategoriaĵo:y]][[Datei:z]]a", context) == "a"
    assert text("[[Bildo:x.jpg|a]]b") == "ab"


def test_english_words_of_templates_are_only_in_english_wikis():
    wikitext = "Берн ({{lang-de|Bern}}, {{zh|s=伯|t=伯爾}}) {{s|5 км}}, {{num|5000|км}}, {{convert|5|km|mi}}"
    assert text(wikitext, '{"14": "Категория"}') == "Берн (Bern, 伯; 伯爾) 5 км, 5000 км, 5 km"
    expected = "Берн (German: Bern, simplified Chinese: 伯; traditional Chinese: 伯爾) 5 км, 5000 км, 5 kilometres"
    assert text(wikitext) == text(wikitext, '{"14": "Category"}') == expected


def test_code_blocks_are_verbatim_or_left_out():
    wikitext = "Run:\n<source lang=c>\nint  main() {\n  return a[[0]]; }\n</source>\nand <code>x</code>."
    assert wikitext_to_text(wikitext) == [
        Segment("Run:"),
        Segment("int  main() {\n  return a[[0]]; }", verbatim=True),
        Segment("and x."),
    ]
    assert text(wikitext, keep_code=False) == "Run:\nand x."


def test_what_is_removed_is_counted():
    removed = Counter()
    text("{{cite web|x}}{{Cite_web |y}}[[File:a]]<ref>b</ref>[[Category:c]]\n{|\n|}\n== Notes ==\n", removed=removed)
    assert removed == {
        "template: cite web": 2, "link: File": 1, "tag: ref": 1, "link: Category": 1, "table": 1, "section: Notes": 1,
    }  # fmt: skip


PRETOKENS = (
    "{{ }} [[ ]] {| |} {{{ }}} | = ' '' ''' == == * # : ; <ref> </ref> <ref/> <nowiki> </nowiki> <math> </math> <!-- --> <br> "
    "<table> </table> <pre> </pre> File: Category: de: lang nowrap convert quote http://a.b [http://x ( ) , ; text ἀ 字 &lt; &amp; -{ }-"
).split()


@settings(max_examples=400)
@given(st.lists(st.sampled_from([*PRETOKENS, " ", "\n", "\n\n"]), max_size=40).map("".join))
def test_any_pile_of_markup_gives_text_without_markup(wikitext):
    segments = wikitext_to_text(wikitext)
    for segment in segments:
        assert "\x00" not in segment.text
        assert "\x01" not in segment.text
    prose = "".join(s.text for s in segments if not s.verbatim)
    if "<nowiki>" not in wikitext and "<math>" not in wikitext and "&lt;" not in wikitext and "pre>" not in wikitext:
        assert "[[" not in prose
        assert "<ref" not in prose
        assert "<!--" not in prose
        assert "<br" not in prose


@settings(max_examples=200)
@given(st.text("{|=a \n", max_size=60))
def test_braces_that_never_close_leave_no_double_braces(wikitext):
    assert "{{" not in text(wikitext)


def parsed(source):
    """What mwparserfromhell, which parses the whole source to a tree, reads as the parts of a template."""
    (template, *_) = mwparserfromhell.parse(source, skip_style_tags=True).filter_templates(recursive=False)
    params = [(str(p.name) if p.showkey else None, str(p.value)) for p in template.params]
    return str(template.name), params


argument = st.lists(
    st.one_of(
        st.text(st.characters(codec="utf-8", exclude_characters="[]{}<>|&\n\x00\x01\x02\x03'"), max_size=10),
        st.sampled_from(["[[a]]", "[[a|b=c]]", "[http://a.org/?b=c d]", '<b id="x">y</b>', "<br />", "=", "|"]),
    ),
    max_size=5,
).map("".join)


@settings(max_examples=300)
@given(st.lists(argument, max_size=5))
def test_the_parts_of_a_template_are_as_the_parser_reads_them(values):
    source = "{{name|" + "|".join(values) + "}}"
    if "://" not in source.replace("[http://a.org", "") and "__" not in source and "~~~" not in source:
        assert _split(source) == parsed(source)


@pytest.mark.parametrize("name", ["enwiki-pages-articles-shortened.xml.bz2", "wikipedia-2006-head.xml"])
def test_the_parts_of_every_real_template(shared, name, monkeypatch):
    seen = set()
    monkeypatch.setattr(templates, "_split", lambda source: seen.add(source) or _split(source))
    for document in read_documents(shared / "corpus" / name):
        wikitext_to_text(document.text)
    assert len(seen) > 100
    for source in seen:
        assert _split(source) == parsed(source)


def test_names_and_arguments_of_templates():
    assert template_name(" Template:Convert_ ") == "convert"
    assert renderer_of("cite web") is None
    parsed = Arguments.of("{{Lang|fr| [[a|b]] |x = y }}")
    assert parsed == ("lang", ["fr", "[[a|b]]"], {"x": "y"})
    assert Arguments.of("{{lang|1=fr|2=mot}}").positional == ["fr", "mot"]


@pytest.mark.parametrize(
    "unit", ["{{a|", "[[a|", "{|\n", "<ref>", "<nowiki>", "{{nowrap|", "]]", "}}", "\n|}", "<!--", "''", "<table>", "(", "{{a|[[",
             "[http://a ", "== a ==\n", "{{lang|fr|", "-{", "<math>", "&lt;", "* ", "<span style=", "<b", "\x01", "[[File:",
             "({{a}}", "__NOTOC__", "[http://", "x{{a}}      ", "<span display:none", "[[x]", "{x {y}"]
)  # fmt: skip
def test_no_page_takes_more_than_linear_time(unit):
    """100 kB of what opens something; what is quadratic in it takes minutes and hits the timeout of the test."""
    wikitext_to_text(unit * (100_000 // len(unit)))
    wikitext_to_text((unit + "x ") * (50_000 // len(unit)) + "}}]]|}</ref>" * 1000)


def test_many_notes_that_open_before_one_closes():
    assert text("<ref>" * 200_000 + "</ref>a") == "a"


@pytest.mark.parametrize(
    ("html", "plain"),
    [
        ("<p>one\ntwo</p><p>three</p>", "one two\n\nthree"),
        ("a<br>b<hr>c", "a\nb\n\nc"),
        ("x<ul><li>a<li><p>b</p><p>c</p></ul>y", "x\n\n- a\n- b\nc\n\ny"),
        ("<ol><li>a<ul><li>b</ul><li>c</ol><h3>H</h3>d", "1. a\n- b\n2. c\n\n### H\n\nd"),
        ("<ol start=3><li>a<li>b</ol><ol start='0'><li>c</ol><ol start=x><li>d</ol>", "3. a\n4. b\n\n0. c\n\n1. d"),
        ("10<sup>-6</sup> m<sub>e</sub> 1<sup>er</sup>", "10⁻⁶ mₑ 1er"),
        ("x<sup><i>k</i></sup>, 2<sup>n − 1</sup>", "x^k, 2ⁿ⁻¹"),
        ("<ul><li></li></ul><h2> </h2>x<li>", "x"),
        ("<ul><li>&nbsp;</li></ul><h2>\t</h2>x<ol><li>&nbsp;", "x"),
        ("<table><tr><td>" * 20_000 + "x", "x"),  # in time linear in the depth
        ("a <b>b</b><i>c</i> &amp; &lt;d&gt; &eacute;", "a bc & <d> é"),
        ("<script>x</script><style>y</style>z<!-- c --><img alt='w'>", "z"),
        ("<a href='http://x'>link</a> <code>x  =  1</code>", "link x = 1"),
        ("<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>", "a b\nc"),
        ("unclosed <b>bold <i>both", "unclosed bold both"),
        ("", ""),
    ],
)
def test_html(html, plain):
    assert "\n".join(s.text for s in html_to_text(html)) == plain


@pytest.mark.parametrize(
    ("wikitext", "lines"),
    [
        ("a:\n if ''x'' > 0 then\n   [[print|show]] x&nbsp;= {{frac|1|2}}\nb", "if x > 0 then\n  show x\u00a0= 1/2"),
        (" Year  Winner\n 1990  Bern", "Year  Winner\n1990  Bern"),
        (" e ::= t\n     + e\n\n", "e ::= t\n    + e"),
        ("a\n +--+\n | x|\n +--+", "+--+\n| x|\n+--+"),
        (" cat a\n   | sort\n | uniq", "cat a\n  | sort\n| uniq"),
    ],
)
def test_lines_that_begin_with_a_space_keep_their_columns(wikitext, lines):
    assert Segment(lines, verbatim=True) in wikitext_to_text(wikitext)
    assert all(not segment.verbatim for segment in wikitext_to_text(wikitext, keep_code=False))


@pytest.mark.parametrize(
    ("wikitext", "expected"),
    [
        (" One stray space  before a line.\nMore.", "One stray space  before a line.\nMore."),
        (" one verse\n another verse", "one verse\nanother verse"),
        ("{{x}} is\n {{y}}  a\n * item", "is\na\n\n- item"),
        ("<br> one<br>  two<br>  three", "one\ntwo\nthree"),
        (" | name = x\n | age  = y", ""),
    ],
)
def test_a_stray_space_before_a_line_changes_nothing(wikitext, expected):
    assert text(wikitext) == expected


def test_html_code_blocks():
    html = "<p>Run</p><pre><code>if x &lt; 1:\n    y  = '&amp;'\n</code></pre><p>now</p>"
    assert html_to_text(html) == [Segment("Run"), Segment("if x < 1:\n    y  = '&'", verbatim=True), Segment("now")]
    removed = Counter()
    assert html_to_text(html, removed, keep_code=False) == [Segment("Run"), Segment("now")]
    assert html_to_text("<pre>a<br>b</pre>") == [Segment("a\nb", verbatim=True)]
    assert removed == {"tag: pre": 1}


@settings(max_examples=200)
@given(st.text("<>/abpre&;\"'= \n", max_size=80))
def test_any_pile_of_html_is_read(html):
    for segment in html_to_text(html):
        assert segment.text
        assert "\x00" not in segment.text
