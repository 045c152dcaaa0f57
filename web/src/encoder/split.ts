// Splitting: runs the library's automata over UTF-8 bytes. An automaton finds one match from its start, with the
// preferences of a backtracking engine. The state and the class of the next character say whether a match may end. Text
// between two matches is a pretoken too.

import { characterLength } from "./bytes";
import type { Pack } from "./pack";

export interface Splitter {
  /**
   * Whether cutting may begin anew at any end of a pretoken, with the same pretokens from there on. (Not so where patterns
   * are nested: a pretoken of the inner one ends in the middle of an outer one.)
   */
  readonly restarts: boolean;
  /**
   * Cut bytes[start:length] into pretokens from a known pretoken start, where `length` is the end of the text. Writes the
   * exclusive end of as many pretokens as surely fit into `ends`, which has room for two or more, and gives how many.
   * With each goes its reach: how far the text was looked at to decide this cut and those before it in this call
   * (length + 1 where the end of the text was seen).
   */
  scan(bytes: Uint8Array, start: number, length: number, ends: Int32Array, reach: Int32Array): number;
}

/** No split pattern: the text is one pretoken. */
export const WHOLE: Splitter = {
  restarts: true,
  scan(_bytes, _start, length, ends, reach) {
    ends[0] = length;
    reach[0] = length + 1;
    return 1;
  },
};

/** The tables of the library's split/compiler.py. */
export interface Tables {
  /** Cells of a row: one for each class of characters, the last for the end of the text. */
  width: number;
  /** The automaton, row after row: where the row of the next state begins, or 0xffff. */
  matches: Uint16Array;
  /** The same cells: 1 if the match may end before this character. */
  accepts: Uint8Array;
  /** Class by ASCII character, and for the others by pages of 128 code points. */
  ascii: Uint8Array;
  index: Uint16Array;
  pages: Uint8Array;
}

export class AutomatonSplitter implements Splitter {
  readonly restarts = true;
  // One number per state and next character: (next state + 1) * 2 + (may end before it).
  private readonly onAscii: Int32Array; // by state * 128 + character
  private readonly onClass: Int32Array; // by state * width + class
  private readonly index: Uint16Array;
  private readonly pages: Uint8Array;
  private readonly width: number;

  constructor({ width, matches, accepts, ascii, index, pages }: Tables) {
    const states = matches.length / width;
    this.width = width;
    this.index = index;
    this.pages = pages;
    this.onClass = Int32Array.from(matches, (next, i) => (next === 0xffff ? 0 : 2 * (next / width + 1)) + accepts[i]!);
    this.onAscii = new Int32Array(states * 128);
    for (let state = 0; state < states; state++) {
      for (let char = 0; char < 128; char++) {
        this.onAscii[state * 128 + char] = this.onClass[state * width + ascii[char]!]!;
      }
    }
  }

  scan(bytes: Uint8Array, start: number, length: number, ends: Int32Array, reach: Int32Array): number {
    const { onAscii, onClass, index, pages, width } = this;
    const most = ends.length - 1;
    let count = 0;
    let far = start;
    let gap = -1; // start of text without a match
    while (start < length && count < most) {
      // One run of the automaton: `last` is the latest possible end of a match so far.
      let state = 0;
      let last = -1;
      let at = start;
      for (;;) {
        if (at >= length) {
          if (onClass[state * width + width - 1]! & 1) last = length;
          at = length + 1;
          break;
        }
        const byte = bytes[at]!;
        let step: number;
        let size = 1;
        if (byte < 0x80) {
          step = onAscii[(state << 7) | byte]!;
        } else {
          let code: number;
          if (byte < 0xe0) {
            code = ((byte & 0x1f) << 6) | (bytes[at + 1]! & 0x3f);
            size = 2;
          } else if (byte < 0xf0) {
            code = ((byte & 0x0f) << 12) | ((bytes[at + 1]! & 0x3f) << 6) | (bytes[at + 2]! & 0x3f);
            size = 3;
          } else {
            code = ((byte & 0x07) << 18) | ((bytes[at + 1]! & 0x3f) << 12);
            code |= ((bytes[at + 2]! & 0x3f) << 6) | (bytes[at + 3]! & 0x3f);
            size = 4;
          }
          step = onClass[state * width + pages[(index[code >> 7]! << 7) | (code & 127)]!]!;
        }
        if (step & 1) last = at;
        at += size;
        if (step < 2) break;
        state = (step >> 1) - 1;
      }
      if (at > far) far = at;
      if (last > start) {
        if (gap >= 0) {
          reach[count] = far;
          ends[count++] = start;
          gap = -1;
        }
        reach[count] = far;
        ends[count++] = last;
        start = last;
      } else {
        if (gap < 0) gap = start;
        start++;
        while (start < length && bytes[start]! >= 0x80 && bytes[start]! < 0xc0) start++;
      }
    }
    if (gap >= 0) {
      reach[count] = length + 1;
      ends[count++] = start;
    }
    return count;
  }
}

/** Nested patterns: the second splits each pretoken of the first, and so on. */
class Nested implements Splitter {
  readonly restarts = false;
  private readonly outer = new Int32Array(2);
  private from = -1;
  private upTo = -1;

  constructor(
    private readonly first: Splitter,
    private readonly second: Splitter,
  ) {}

  scan(bytes: Uint8Array, start: number, length: number, ends: Int32Array, reach: Int32Array): number {
    if (start <= this.from || start >= this.upTo || this.upTo > length) {
      this.first.scan(bytes, start, length, this.outer, reach);
      this.upTo = this.outer[0]!;
    }
    this.from = start;
    return this.second.scan(bytes, start, this.upTo, ends, reach);
  }
}

/**
 * For a vocabulary of characters with byte fallback, as in SentencePiece: cuts between two characters that are side by side
 * in no token that merges make. No merge crosses such a cut. The library's encoding/_cutter_cy.py does the same.
 */
class Cutter implements Splitter {
  readonly restarts = true;
  private readonly ascii = new Uint8Array(1 << 14);
  private readonly pairs = new Set<number>();

  constructor({ tokens, made, right }: Pack) {
    const { arena, starts } = tokens;
    const seen = new Uint8Array(tokens.size);
    for (let row = 0; row < made.length; row++) {
      const id = made[row]!;
      if (seen[id] || right[row]! < 0) continue;
      seen[id] = 1;
      const end = starts[id + 1]!;
      let at = starts[id]!;
      let before = codeAt(arena, at);
      for (at += characterLength(arena[at]!); at < end; at += characterLength(arena[at]!)) {
        const code = codeAt(arena, at);
        if (before < 128 && code < 128) this.ascii[(before << 7) | code] = 1;
        else this.pairs.add(before * 0x200000 + code);
        before = code;
      }
    }
  }

  scan(bytes: Uint8Array, start: number, length: number, ends: Int32Array, reach: Int32Array): number {
    let count = 0;
    let before = codeAt(bytes, start);
    for (let at = start + characterLength(bytes[start]!); at < length && count < ends.length - 1; ) {
      const code = codeAt(bytes, at);
      const size = characterLength(bytes[at]!);
      const join =
        before < 128 && code < 128 ? this.ascii[(before << 7) | code] : this.pairs.has(before * 0x200000 + code);
      if (!join) {
        reach[count] = at + size;
        ends[count++] = at;
      }
      before = code;
      at += size;
      if (at >= length) {
        reach[count] = length + 1;
        ends[count++] = length;
        return count;
      }
    }
    if (count === 0) {
      reach[0] = length + 1;
      ends[count++] = length;
    }
    return count;
  }
}

/** The code point that begins at `at`. */
function codeAt(bytes: Uint8Array, at: number): number {
  const lead = bytes[at]!;
  if (lead < 0x80) return lead;
  if (lead < 0xe0) return ((lead & 0x1f) << 6) | (bytes[at + 1]! & 0x3f);
  if (lead < 0xf0) return ((lead & 0x0f) << 12) | ((bytes[at + 1]! & 0x3f) << 6) | (bytes[at + 2]! & 0x3f);
  const high = ((lead & 0x07) << 18) | ((bytes[at + 1]! & 0x3f) << 12);
  return high | ((bytes[at + 2]! & 0x3f) << 6) | (bytes[at + 3]! & 0x3f);
}

/** The splitter of a packed vocabulary. */
export function splitterOf(pack: Pack): Splitter {
  const splitters = pack.header.widths.map((width, i): Splitter => {
    const column = (name: string) => pack.tables.get(`${name}_${i}`)!;
    return new AutomatonSplitter({
      width,
      matches: new Uint16Array(column("matches").buffer),
      accepts: column("accepts"),
      ascii: column("ascii"),
      index: new Uint16Array(column("index").buffer),
      pages: column("pages"),
    });
  });
  const { byte_tokens: fallback, whole_pretokens: whole } = pack.header;
  if (fallback.length > 0 && !whole) splitters.push(new Cutter(pack));
  if (splitters.length === 0) return WHOLE;
  return splitters.reduceRight((inner, outer) => new Nested(outer, inner));
}
