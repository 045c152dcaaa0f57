"""Wikitext to plain text: no markup, tables, references or categories; templates that contain text are rendered.

Four passes over the whole page, each linear in its length:

1. Comments are removed. Tag contents that are not wikitext (nowiki, math, source, ...) are replaced by placeholders.
2. One scan over the brackets keeps a stack of the open ones. A closed bracket is dropped (tables, files, categories,
   most templates), rendered (the templates of `templates.py`), or left for the next pass (links).
3. Regular expressions replace links, quotes, HTML tags and the rest by their text.
4. The lines are grouped into sections. Sections of references and empty ones are left out.

A mark stays where something was dropped, so that its remains, such as "(; )", are repaired only there. Well-formed
pages are read as MediaWiki reads them. Where brackets do not match, the damage is limited to a paragraph.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from .superscripts import chemical_to_text, script_text, unescaped
from .templates import NO_ENGLISH, Arguments, renderer_of, template_name
from .wikis import INTERLANGUAGE, REFERENCE_SECTIONS, Wiki, wiki_of

# Characters that XML cannot contain, so no page has them: both ends of a placeholder's number; the mark of something
# dropped; "|" and "=" from a template that are not syntax of the one around it; the mark of a dropped template before a
# subscript or superscript, as in a formula; the space before a preformatted line.
PLACEHOLDER, MARK, PIPE, EQUALS, GAP, INDENT = "\x00\x01\x02\x03\x04\x05"
_SENTINEL = re.compile("[\0-\5]")
MAX_DEPTH = 40  # MediaWiki's own limit for templates in templates

VERBATIM = frozenset(["nowiki", "pre", "source", "syntaxhighlight", "math", "chem", "ce"])
DROPPED = frozenset(
    "ref references gallery imagemap timeline score hiero graph templatedata templatestyles mapframe maplink inputbox "
    "categorytree indicator includeonly charinsert dynamicpagelist".split()
)
_CLOSE = {name: re.compile(rf"</{name}\s*>", re.IGNORECASE) for name in VERBATIM | DROPPED}
_EXTENSION = re.compile(
    rf"<!--|<({'|'.join(sorted(VERBATIM | DROPPED))})\b([^<>]*?)(/?)>"
    r"|\{\{[tT]math\s*\|((?:[^{}]++|\{(?:[^{}]++|\{[^{}]*+\})*+\})*+)\}\}",
    re.IGNORECASE,
)
_REF = re.compile(r"<ref\b[^<>]*(?<!/)>", re.IGNORECASE)
_LINE_END = re.compile(r"[ \t]*\n")
# A template or a link without brackets in it, as most are, is one match. Of three "]", the last two close a link.
# Each alternative begins with a character of its own, which lets `re` skip everything else: 4x faster than "^".
_BRACKETS = re.compile(
    r"\{\{(?:[^{}\[\]<]*\}\})?|\}\}|\[\[(?:[^{}\[\]<]*\]\](?!\](?!\])))?|\]\](?!\](?!\]))|\n[ \t:*#;]*\{\||\n[ \t]*\|\}(?!\})|<table\b[^<>]*>|</table\s*>",
    re.IGNORECASE,
)
_TEMPLATE_NAME = re.compile(r"[^|{}\[\]<>]*")
_FRACTION = re.compile(r"\d+/\d+")
_PREFIX = re.compile(r"\s*([^\[\]{}|<>:\n]{1,40})\s*:")

# A variant in Chinese and Serbian. In the names of chemicals, as in 2-{4-[...]phenyl}-1-ol, it is text.
_BRACED = r"\{(?:[^{}|\n]*\|)?([^{}\n]*)\}-"
_VARIANT = re.compile(rf"-(?<![0-9A-Za-z]-){_BRACED}|-{_BRACED}(?![0-9A-Za-z])")
_HIDDEN = re.compile(r"<(span|div)\b[^<>]*display:\s*none[^<>]*>[^<>]*</\1\s*>", re.IGNORECASE)
_RAISED = re.compile(r"<(su[pb])\b[^<>]*>([^<>]{1,80})</\1\s*>", re.IGNORECASE)
_FORMULA_PART = rf"(?:[\w()+−-]|''|{MARK}|{GAP}|<(?:/?su[pb])\b[^<>]{{0,40}}>)"
_BROKEN_FORMULA = re.compile(rf"{_FORMULA_PART}{{0,60}}{GAP}{_FORMULA_PART}{{0,200}}", re.IGNORECASE)
_RAISING = re.compile(r"<su[pb]\b", re.IGNORECASE)
_BLOCK_TAG = re.compile(
    r"</?(?:p|div|li|ul|ol|dl|dt|dd|tr|td|th|table|tbody|caption|blockquote|center|h[1-6]|hr|poem)\b[^<>]*>|</?br\b[^<>]*>[ \t]*\n?",
    re.IGNORECASE,
)
_INLINE_TAG = re.compile(
    r"</?(?:a|abbr|b|bdi|bdo|big|cite|code|data|del|dfn|em|font|i|ins|kbd|mark|noinclude|nobr|onlyinclude|q|rb|rp|rt|rtc|"
    rf"ruby|s|samp|section|small|span|strike|strong|sub|sup|time|tt|u|var|wbr|{'|'.join(sorted(VERBATIM | DROPPED))})\b[^<>]*>",
    re.IGNORECASE,
)
_LINK = re.compile(rf"\[\[([^\[\]|{PIPE}\n]*)(?:[|{PIPE}]((?:[^\[\]]|\[[^\[\]]*\])*))?\]\]")
_NOTE_NUMBER = re.compile(r"\[\d+\]")
_PROJECTS = re.compile(
    r":*(?:(?:w|wikt|wiktionary|s|wikisource|q|wikiquote|b|wikibooks|commons|m|meta|d|species|n|v):+)?", re.I
)
_OUTSIDE = re.compile(
    r"\[(?:(?:https?:|ftps?:|news:|irc:|gopher:)?//|mailto:)(?:(?!'')[^\s\[\]])*+[ \t]*+([^\[\]\n]*)\]", re.IGNORECASE
)
# Brackets that nothing matches; or, to be kept, two of the same kind inside each other: a[b[0]].
_LOST_BRACKETS = re.compile(
    r"(\[[^\[\]\n]*(?:\[[^\[\]\n]*\][^\[\]\n]*)+\]|\{[^{}\n]*(?:\{[^{}\n]*\}[^{}\n]*)+\})|\[\[+|\]\]+|\{\{+|\}\}+"
)
_UNCLOSED_OUTSIDE = re.compile(r"\[(?:https?:|ftps?:)//[^\s\[\]]*")
_QUOTES = re.compile(r"'{2,}")
_LETTER_BOLD = re.compile(r"(?<=[^\s'])'{3}(?!')")
# Switches such as __NOTOC__ and, alone on a line, those of any language. In code, __FILE__ is text.
_SWITCH = re.compile(r"__(?:(?:NO[A-Z]+|(?:FORCE)?TOC)__|(?<=\n__)\w{3,40}__(?=[ \t]*(?:\n|\Z)))")

_HEADING = re.compile(r"(={1,6})[ \t]*(.*?)[ \t]*\1[ \t]*$")
_LEAD = re.compile(r"[ \t]*(?:[*#:;][*#:; \t]*|-{4,})?")
_TABLE_ROW = re.compile(r"\n[ \t]*\|[^\n]*")  # outside of a table
# Lines that begin with a space are preformatted. A stray space is before one line, or before lines without columns.
# The first does not begin with a pipe, which is a row of a damaged table.
_SPACED = re.compile(rf"\n (?=[ \t]*+[^|\s!*#:;<{MARK}{GAP}])[^\n]*+(?:\n (?=[ \t]*+[^\s!*#:;<{MARK}{GAP}])[^\n]*+)++")
_COLUMNS = re.compile(r"\n  |\n \||\S {2,}+\S|\t")
_INDENTED = re.compile(rf"(?:\n{INDENT}[^\n]*+)++")
_PLACEHOLDER = re.compile(rf"{PLACEHOLDER}(\d+){PLACEHOLDER}")

# Most marks are of references, after a word or a stop and before a space: they leave nothing to repair.
_TRACELESS = re.compile(rf"{MARK}(?<=[\w.!?\"”’)]{MARK}){MARK}*(?=[ \n])")
_PARENTHESES = re.compile(rf"([(（])(?=[^()（）\n]*{MARK})([^()（）\n]*)([)）])")
_EMPTY_PIECE = re.compile(
    rf"[\s{MARK}'\"“”/–-]*(?:(?:or|and|also|from|in|pronounced|IPA|listen|help|info|see|cf\.?|e\.g\.?|lit\.?|i\.e\.?)\b:?[\s{MARK}]*)*[\s{MARK}:]*"
)
_AFTER_STOP = re.compile(rf"[,;:][ \t]*{MARK}+[ \t]*(?=[,;.)])|\.[ \t]*{MARK}+[ \t]*(?=\.(?!\.))")
_BEFORE_STOP = re.compile(rf"(?<![ \t\xa0{MARK}])(?:[ \t\xa0]*{MARK})+[ \t]*(?=[,.;:!?)\]])")
_AFTER_BRACKET = re.compile(rf"(?<=[(\[])[ \t]*{MARK}+[ \t]*")
_ELSEWHERE = re.compile(rf"(?<![ \t])[ \t]*{MARK}[ \t{MARK}]*")


class Segment(NamedTuple):
    """Whole lines: prose that filters may change, or verbatim code."""

    text: str
    verbatim: bool = False


def wikitext_to_text(
    wikitext: str, wiki: Wiki | None = None, removed: Counter | None = None, keep_code: bool = True
) -> list[Segment]:
    """Return the text of a page as segments. Code blocks are the verbatim ones.

    wiki: see `wiki_of`; by default the names of many wikis.
    removed: counts the removals, by kind and name.

    >>> wikitext_to_text("'''Bern''' ([[German language|German]]) is {{convert|540|m|ft}} high.<ref>x</ref>")
    [Segment(text='Bern (German) is 540 metres high.', verbatim=False)]
    """
    page = _Page(wiki or wiki_of(""), removed if removed is not None else Counter(), keep_code)
    return page.text(wikitext)


class _Frame(NamedTuple):
    """An open bracket, its index in the output, its name for the report, and whether its content is kept."""

    bracket: str
    start: int
    name: str
    kept: bool


class _Page:
    """The conversion of one page: the contents behind placeholders, and the removals."""

    def __init__(self, wiki: Wiki, removed: Counter, keep_code: bool) -> None:
        self._prefixes, self._english = wiki
        self._removed, self._keep_code = removed, keep_code
        self._contents: list[tuple[str, bool]] = []

    def text(self, wikitext: str) -> list[Segment]:
        text = self._brackets(self._set_aside("\n" + _SENTINEL.sub("", wikitext)))
        if self._keep_code:
            text = _SPACED.sub(
                lambda run: run[0].replace("\n ", f"\n{INDENT}" if _COLUMNS.search(run[0]) else "\n "), text
            )
        return self._segments(_INDENTED.sub(self._set_lines_aside, _repair(self._inline(text))))

    def _set_lines_aside(self, run: re.Match) -> str:
        """Return the placeholder for preformatted lines without their markup."""
        lines = _PLACEHOLDER.sub(self._content_of, run[0]).replace(f"\n{INDENT}", "\n")
        self._contents.append((lines.strip("\n"), True))
        return f"\n{PLACEHOLDER}{len(self._contents) - 1}{PLACEHOLDER}\n"

    # The first pass: comments, and tags whose content is not wikitext.

    def _set_aside(self, text: str) -> str:
        out: list[str] = []
        closes: dict[str, re.Match | None] = {}  # the next end of each kind of tag
        at = 0
        while match := _EXTENSION.search(text, at):
            out.append(text[at : match.start()])
            if match[0] == "<!--":
                self._removed["comment"] += 1
                start, end = at + len(out[-1].rstrip(" \t")), text.find("-->", match.end())
                at = end + 3 if end >= 0 else len(text)
                if text[start - 1] == "\n" and (line_end := _LINE_END.match(text, at)):  # it is alone on its line
                    at = line_end.end()
                continue
            if match[4] is not None:
                out.append(self._placeholder("math", match[4]))
                at = match.end()
                continue
            name, at = match[1].lower(), match.end()
            close = closes.get(name)
            if not match[3]:
                if name not in closes or (close and close.start() < at):
                    close = closes[name] = _CLOSE[name].search(text, at)
                if close and not (name == "ref" and _REF.search(text, at, close.start())):
                    out.append(self._placeholder(name, text[at : close.start()]))
                    at = close.end()
                    continue
            if name == "ref" and name in closes and close is None:  # a note without its end: to the end of the line
                end = text.find("\n", at)
                at = end if end >= 0 else len(text)
            if name in DROPPED:
                out.append(self._placeholder(name, ""))
        out.append(text[at:])
        return "".join(out)

    def _placeholder(self, name: str, content: str) -> str:
        """Return the placeholder for the content of the tag `name`, or MARK for dropped content."""
        if name in DROPPED:
            self._removed[f"tag: {name}"] += 1
            return MARK
        block = name in ("pre", "source", "syntaxhighlight") and "\n" in content.strip()
        if name == "math":
            content = unescaped(" ".join(content.split()))
            content = f"${content}$" if content else ""
        elif name in ("chem", "ce"):
            content = chemical_to_text(content)
        elif name in ("nowiki", "pre"):  # the others show entities as they are written; <nowiki> in <pre> is markup
            content = unescaped(content if name == "nowiki" else re.sub("</?nowiki>", "", content, flags=re.IGNORECASE))
        if not content.strip() or (block and not self._keep_code):
            self._removed[f"tag: {name}"] += 1
            return MARK
        self._contents.append((content.strip("\n") if block else content, block))
        placeholder = f"{PLACEHOLDER}{len(self._contents) - 1}{PLACEHOLDER}"
        return f"\n{placeholder}\n" if block else placeholder

    # The second pass: brackets.

    def _brackets(self, text: str) -> str:
        out: list[str] = []
        stack: list[_Frame] = []
        opened: Counter[str] = Counter()  # how many of each bracket are open
        at = 0
        for token in _BRACKETS.finditer(text):
            whole, start = token[0], token.start()
            if whole[:2] == "[[" and whole[-1] == "]" and ":" not in whole:
                continue  # a link to another page: it stays
            if start > at:
                out.append(text[at:start])
            at = token.end()
            if len(whole) > 3 and whole[-2:] in ("}}", "]]"):
                frame = self._open(whole[:2], text, start + 2, len(out), opened["{{"])
                out += ("" if frame.kept and whole[0] == "{" else whole[:2], whole[2:-2])
                self._close(frame, out, whole[-2:], _RAISING.match(text, at) is not None)
                continue
            bracket = token[0].strip("\n \t:*#;").lower()[:2]
            if bracket in ("{{", "[[", "{|", "<t"):
                stack.append(self._open(bracket, text, at, len(out), opened["{{"]))
                opened[bracket] += 1
                out.append("" if stack[-1].kept and bracket == "{{" else token[0])
                continue
            bracket = {"}}": "{{", "]]": "[[", "|}": "{|", "</": "<t"}[bracket]
            if not opened[bracket] or (bracket == "[[" and stack[-1].bracket != "[["):
                out.append(token[0] if bracket in ("{{", "[[") else "")
                continue  # no open bracket
            while stack[-1].bracket != bracket:  # the brackets inside it never close
                inner = stack.pop()
                opened[inner.bracket] -= 1
                out[inner.start] = ""
            frame = stack.pop()
            opened[bracket] -= 1
            self._close(frame, out, token[0], _RAISING.match(text, at) is not None)
        out.append(text[at:])
        return _without_unclosed(out, stack)

    def _open(self, bracket: str, text: str, at: int, start: int, depth: int) -> _Frame:
        if bracket == "{{":
            name = template_name(_TEMPLATE_NAME.match(text, at, at + 200)[0])  # type: ignore[index]
            return _Frame(bracket, start, name, depth < MAX_DEPTH and renderer_of(name) is not None)
        if bracket == "[[":
            prefix = _PREFIX.match(text, at)
            name = prefix[1].replace("_", " ") if prefix else ""
            kind = self._prefixes.get(name.casefold(), "")
            return _Frame(bracket, start, kind, not kind and INTERLANGUAGE.fullmatch(name) is None)
        return _Frame(bracket, start, "table", False)

    def _close(self, frame: _Frame, out: list[str], token: str, raising: bool) -> None:
        """Drop or render the content of a bracket, or leave it to the next pass as for links. raising: see GAP."""
        if frame.bracket == "[[" and frame.kept:
            out.append(token)
            return
        inner = out[frame.start :]
        del out[frame.start :]
        if frame.bracket == "{{":
            text = self._template(frame, inner)
            if _FRACTION.fullmatch(text) and out and out[-1][-1:].isdecimal():  # 2{{frac|1|3}}
                out.append(" ")
            out.append(GAP if raising and text == MARK else text)
        elif frame.name or "|" not in "".join(inner):
            self._removed[frame.name or "link: language"] += 1
            out.append(MARK)
        else:
            out += inner
            out.append(token)

    def _template(self, frame: _Frame, inner: list[str]) -> str:
        renderer = renderer_of(frame.name) if frame.kept else None
        if renderer is not None:
            arguments = Arguments.of("{{" + "".join(inner) + "}}")
            if not self._english:
                arguments.named.update(NO_ENGLISH)
            text = renderer(arguments)
            if text:
                # Links keep their pipes; others must not be syntax of the template around this one.
                return re.sub(r"\[\[[^\[\]]*\]\]|[|=]", lambda m: {"|": PIPE, "=": EQUALS}.get(m[0], m[0]), text)
        name = frame.name.partition(":")[0][:40]
        self._removed[f"template: {name[:1].upper() if name[1:2].isupper() else name[:1]}{name[1:]}"] += 1
        return MARK

    # The third pass: everything inside lines.

    def _inline(self, text: str) -> str:
        text = _TABLE_ROW.sub("\n", text.replace(EQUALS, "="))
        text = _VARIANT.sub(lambda match: (match[1] or match[2] or "").partition(";")[0].rpartition(":")[2], text)
        if GAP in text:  # a formula without a dropped template would be wrong: drop all of it
            text = _BROKEN_FORMULA.sub(MARK, text)
        if "<" in text:
            text = _HIDDEN.sub(MARK, text)
            for _ in range(4):  # 10<sup>10<sup>100</sup></sup>
                text = _RAISED.sub(_raised, text)
            text = _BLOCK_TAG.sub("\n", text)
            text = _INLINE_TAG.sub("", text)
        for _ in range(4):  # links in the labels of links, an error that occurs
            text, count = _LINK.subn(self._label, text)
            if not count:
                break
        text = text.replace(PIPE, "|")
        if any(pair in text for pair in ("[[", "]]", "{{", "}}")):
            text = _LOST_BRACKETS.sub(lambda match: match[1] or "", text)
        text = _OUTSIDE.sub(lambda match: match[1] or MARK, text)
        text = _UNCLOSED_OUTSIDE.sub(MARK, text)
        text = "\n".join(_without_quotes(line) if "''" in line else line for line in text.split("\n"))
        return unescaped(_SWITCH.sub(MARK, text))

    def _label(self, match: re.Match) -> str:
        """Return the text that a link shows: its label, or the title it leads to."""
        target, label = match[1].lstrip(), match[2]  # a page shows the space at the end of a title
        if label and label.strip():
            return MARK if _NOTE_NUMBER.fullmatch(label) else label.rpartition("|")[2]
        if target[:1] == ":" and target[1:].partition(":")[0].strip().casefold() in self._prefixes:
            return MARK
        return target[_PROJECTS.match(target).end() :].lstrip("#")  # type: ignore[union-attr]

    # The fourth pass: lines and sections.

    def _segments(self, text: str) -> list[Segment]:
        segments: list[Segment] = []
        prose = _Prose()
        headings: list[tuple[int, str]] = []  # the headings above this line that were not written yet
        left_out = 0  # the level of the current section of references; 0 outside of one
        for raw in text.split("\n"):
            line = raw.strip()
            heading = _HEADING.fullmatch(line) if line[:1] == "=" else None
            if heading:
                level, title = len(heading[1]), _PLACEHOLDER.sub(self._content_of, heading[2]).strip(" :=")
                if left_out and level > left_out:
                    continue
                headings = [h for h in headings if h[0] < level]
                left_out = level if title.casefold() in REFERENCE_SECTIONS else 0
                if left_out:
                    self._removed[f"section: {title}"[:50]] += 1
                elif title:
                    headings.append((level, title))
                continue
            placeholder = _PLACEHOLDER.fullmatch(line)
            lead = "" if placeholder else _LEAD.match(line)[0]  # type: ignore[index]
            line = line[len(lead) :] if line[:2] != "==" else line.strip("= ")  # a heading that nothing closes
            if left_out or not line:
                if not left_out:
                    prose.end_paragraph()
                continue
            for level, title in headings:
                prose.paragraph(f"{'#' * level} {title}")
            headings = []
            if placeholder and self._contents[int(placeholder[1])][1]:
                segments += [Segment(prose.take()), Segment(self._content_of(placeholder), verbatim=True)]
            else:
                prose.line(lead.strip(), _PLACEHOLDER.sub(self._content_of, line))
        segments.append(Segment(prose.take()))
        return [Segment(s.text.strip("\n"), s.verbatim) for s in segments if s.text.strip()]

    def _content_of(self, match: re.Match) -> str:
        return self._contents[int(match[1])][0]


class _Prose:
    """Lines of prose: a blank line between paragraphs, a mark before the items of lists."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._numbers: list[int] = []  # the number of items so far of each open numbered list
        self._in_list = False

    def line(self, lead: str, text: str) -> None:
        """Add a line with the list marks `lead`, such as "**" for an item of a list inside a list."""
        if not text.strip():
            return
        item = lead[-1:] in ("*", "#")
        in_list = "*" in lead or "#" in lead  # "#:" continues an item
        if in_list != self._in_list:
            self.end_paragraph()
        if lead[-1:] == "#":
            self._numbers = self._numbers[: len(lead)] + [0] * (len(lead) - len(self._numbers))
            self._numbers[-1] += 1
            text = f"{self._numbers[-1]}. {text}"
        else:
            self._numbers = self._numbers[: len(lead.rstrip(":;"))]
            text = f"- {text}" if item else text
        self._in_list = in_list
        self._lines.append(text)

    def paragraph(self, text: str) -> None:
        """Add a paragraph of one line."""
        self.end_paragraph()
        self._lines += [text, ""]

    def end_paragraph(self) -> None:
        if self._lines and self._lines[-1]:
            self._lines.append("")
        self._numbers, self._in_list = [], False

    def take(self) -> str:
        """Return the prose so far, and start again."""
        text = "\n".join(self._lines)
        self.__init__()  # type: ignore[misc]
        return text


def _without_unclosed(out: list[str], stack: list[_Frame]) -> str:
    """Return the output without the brackets that never closed, and without the content that they would drop.

    A template ends at the next blank line, a file at the end of its line, a table at the next heading.
    """
    if not stack:
        return "".join(out)
    ends = {"{{": "\n\n", "[[": "\n", "{|": "\n==", "<t": "\n=="}
    unclosed = {frame.start: ends[frame.bracket] if not frame.kept or frame.bracket == "{{" else "" for frame in stack}
    text: list[str] = []
    until = ""  # the end of the damage; "" outside of damage
    for index, piece in enumerate(out):
        if index in unclosed:
            piece = ""
            until = until or unclosed[index]
        if until:
            end = piece.find(until)
            if end < 0:
                continue
            piece, until = MARK + piece[end:], ""
        text.append(piece)
    return "".join(text)


def _raised(match: re.Match) -> str:
    return script_text(match[1].lower(), unescaped(match[2]).replace("''", ""), "''" in match[2])


def _without_quotes(line: str) -> str:
    """Remove the apostrophes of bold and italic text from a line.

    Four are an apostrophe and bold, more than five are apostrophes and both. If a line has an odd number of both bold
    and italics, the first bold after a letter is an apostrophe and italics: the possessive of an italic name.
    """
    runs = [len(run) for run in _QUOTES.findall(line)]
    bold, italic = len(runs) - runs.count(2), len(runs) - runs.count(3) - runs.count(4)
    if bold % 2 and italic % 2:
        line = _LETTER_BOLD.sub("'", line, count=1)
    elif {*runs} <= {2, 3, 5}:  # nearly all lines: no apostrophe stays
        return _QUOTES.sub("", line)
    return _QUOTES.sub(lambda run: "'" * {4: 1}.get(len(run[0]), len(run[0]) - 5), line)


def _repair(text: str) -> str:
    """Remove the marks, and the brackets, commas and spaces that only served what was dropped."""
    text = _TRACELESS.sub("", text)
    if MARK not in text:
        return text
    text = _PARENTHESES.sub(_repair_parentheses, text)
    lines = []
    for line in text.split("\n"):
        if MARK in line:
            if not re.search(r"\w", line.replace(PLACEHOLDER, "x")):
                continue
            line = _AFTER_STOP.sub("", line)
            line = _AFTER_BRACKET.sub("", line)
            line = _BEFORE_STOP.sub("", line)
            line = _ELSEWHERE.sub(lambda match: " " if " " in match[0] or "\t" in match[0] else "", line)
        lines.append(line)
    return "\n".join(lines)


def _repair_parentheses(match: re.Match) -> str:
    kept = separator = ""
    for index, piece in enumerate(re.split(r"([;,]\s*)", match[2])):
        if index % 2:
            separator = piece
        elif MARK not in piece or not _EMPTY_PIECE.fullmatch(piece):
            kept += (separator if kept else "") + piece
    return f"{match[1]}{kept}{match[3]}" if kept.strip(f" \t{MARK}") else MARK
