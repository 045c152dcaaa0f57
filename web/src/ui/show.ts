// Conversion of bytes and text to what the page shows.

import { toText } from "../encoder/bytes";

const SIGNS: Record<string, string> = {
  " ": "\u00b7",
  "\n": "\u23ce",
  "\t": "\u21e5",
  "\r": "\u27e8CR\u27e9",
  "\u00a0": "\u237d",
};

const CONTROLS =
  "NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US".split(
    " ",
  );

// The usual short names of characters that have no picture.
const NAMES: Record<number, string> = {
  127: "DEL",
  173: "SHY",
  8203: "ZWSP",
  8204: "ZWNJ",
  8205: "ZWJ",
  8206: "LRM",
  8207: "RLM",
  8288: "WJ",
  65279: "BOM",
};

// Control characters, format characters, separators other than the space, unassigned code points, variation selectors.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Z}\p{Cn}\p{Co}\p{Variation_Selector}]/gu;
const NO_PICTURE = /^[\p{Cc}\p{Cf}\p{Variation_Selector}]+$/u;

/** Whether a text has only characters that leave no mark and no space, so that its box would be empty. */
export function isUnseen(text: string): boolean {
  return NO_PICTURE.test(text) && !/[\t\n]/.test(text);
}

/** `text` with visible signs for white space and control characters. A line feed keeps its line break after the sign. */
export function visible(text: string, breakLines = true): string {
  return text.replace(UNSEEN, (char) => {
    if (char === "\n" && breakLines) return `${SIGNS[char]}\n`;
    return SIGNS[char] ?? sign(char.codePointAt(0)!);
  });
}

function sign(code: number): string {
  if (code < 0x20) return `\u27e8${CONTROLS[code]}\u27e9`; // the control pictures of Unicode are too small to read
  const name = code >= 0xfe00 && code <= 0xfe0f ? `VS${code - 0xfdff}` : NAMES[code];
  return `\u27e8${name ?? code.toString(16).toUpperCase().padStart(4, "0")}\u27e9`;
}

/** Bytes as pairs of hex digits. */
export function hex(bytes: Uint8Array, separator = " "): string {
  return Array.from(bytes, (byte) => byte.toString(16).toUpperCase().padStart(2, "0")).join(separator);
}

/** A token's bytes as one line: the text with signs, or hex if it is not whole UTF-8. */
export function label(bytes: Uint8Array): string {
  if (bytes.length === 0) return "(empty)";
  const text = toText(bytes);
  return text === null ? partial(bytes) : visible(text, false);
}

/** Bytes that are not whole UTF-8: whole characters as text, other bytes as hex digits after `mark`. */
export function partial(bytes: Uint8Array, mark = "\\x"): string {
  let shown = "";
  for (let i = 0; i < bytes.length; ) {
    const lead = bytes[i]!;
    const length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
    const text = length > 0 && i + length <= bytes.length ? toText(bytes.subarray(i, i + length)) : null;
    shown += text === null ? mark + hex(bytes.subarray(i, i + 1)) : visible(text, false);
    i += text === null ? 1 : length;
  }
  return shown;
}

/** A token as a JSON string, with \xHH for bytes that are not whole UTF-8. */
export function quoted(bytes: Uint8Array): string {
  const text = toText(bytes);
  return text === null ? `"${hex(bytes, "").replace(/../g, "\\x$&")}"` : JSON.stringify(text);
}
