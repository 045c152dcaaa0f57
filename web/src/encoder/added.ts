// Added tokens in text: found as whole strings before the text is split, from left to right, the longest at a place first.
// Control tokens are found only if the page's switch is on. The flags are those of Hugging Face.

import type { AddedToken, Header } from "./pack";

export interface Section {
  text: string;
  token: AddedToken | null;
  /** "text" at the start of the text, "stretch" after an added token that is found before normalization, else "". */
  first: "text" | "stretch" | "";
}

// Unicode's White_Space, which is `\s` in Rust. JavaScript's `\s` has U+FEFF but not U+0085.
const SPACES =
  "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000";
const WORD_AT_START = /^[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]/u;
const WORD_AT_END = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]$/u;

interface Finder {
  pattern: RegExp;
  tokens: Map<string, AddedToken>;
}

export class AddedTokens {
  private readonly normalizers: Header["normalizers"];
  private readonly finders: Record<"ordinary" | "all", { raw: Finder | null; normalized: Finder | null }>;

  constructor(added: readonly AddedToken[], normalizers: Header["normalizers"]) {
    this.normalizers = normalizers;
    const known = Array.from(new Map(added.map((token) => [token.content, token])).values());
    const tokens = known.filter((token) => token.content !== "");
    const finders = (chosen: AddedToken[]) => ({
      raw: finder(chosen.filter((token) => !token.normalized).map((token) => [token.content, token])),
      normalized: finder(
        chosen.filter((token) => token.normalized).map((token) => [this.normalize(token.content), token]),
      ),
    });
    this.finders = { ordinary: finders(tokens.filter((token) => !token.special)), all: finders(tokens) };
  }

  normalize(text: string): string {
    return this.normalizers.reduce<string>((changed, step) => {
      if (typeof step === "string") return changed.normalize(step);
      const [name, what, by] = step;
      if (name === "Replace") return changed.replaceAll(what!, by!);
      return changed === "" ? "" : what! + changed;
    }, text);
  }

  /** Cut `text` into normalized ordinary sections and added tokens. */
  split(text: string, special: boolean): Section[] {
    const { raw, normalized } = this.finders[special ? "all" : "ordinary"];
    const sections: Section[] = [];
    let first: Section["first"] = "text";
    for (const section of cut(text, raw)) {
      if (section.token !== null) sections.push(section);
      else {
        const changed = this.normalize(section.text);
        for (const part of changed === "" ? [] : cut(changed, normalized)) {
          sections.push({ ...part, first });
          first = "";
        }
      }
      first = "stretch";
    }
    return sections;
  }
}

function finder(tokens: [string, AddedToken][]): Finder | null {
  if (tokens.length === 0) return null;
  const longestFirst = tokens.map(([content]) => content).sort((a, b) => b.length - a.length);
  const pattern = longestFirst.map((content) => content.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")).join("|");
  return { pattern: new RegExp(pattern, "gu"), tokens: new Map(tokens) };
}

function cut(text: string, find: Finder | null): Section[] {
  if (find === null) return text === "" ? [] : [{ text, token: null, first: "" }];
  const sections: Section[] = [];
  let done = 0;
  for (const match of text.matchAll(find.pattern)) {
    const token = find.tokens.get(match[0])!;
    let start = match.index;
    let end = start + match[0].length;
    if (token.single_word) {
      if (WORD_AT_END.test(text.slice(Math.max(0, start - 2), start))) continue;
      if (WORD_AT_START.test(text.slice(end, end + 2))) continue;
    }
    if (token.lstrip) {
      while (start > done && SPACES.includes(text[start - 1]!)) start--;
      start = Math.max(start, done);
    }
    if (token.rstrip) while (end < text.length && SPACES.includes(text[end]!)) end++;
    if (start >= end) continue; // white space that the token before it includes
    if (done < start) sections.push({ text: text.slice(done, start), token: null, first: "" });
    sections.push({ text: text.slice(Math.max(done, start), end), token, first: "" });
    done = end;
  }
  if (done < text.length) sections.push({ text: text.slice(done), token: null, first: "" });
  return sections;
}
