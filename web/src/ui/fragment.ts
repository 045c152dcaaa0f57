// The part of the address behind "#", which browsers never send: the view, the tokenizers and the text.

export interface Place {
  view: string;
  /** The chosen tokenizer; empty for the first. */
  tokenizer: string;
  /** The beginnings of the fingerprints of the chosen and the compared tokenizers, those that are known. */
  fingerprints: Map<string, string>;
  /** The compared tokenizers. */
  tokenizers: string[];
  /** How many merges are used; null for all. */
  merges: number | null;
  text: string | null;
  /** Whether a link has a text that cannot be read. */
  damaged: boolean;
  words: string | null;
  /** The switches, choices and fields that differ from a fresh page, by element id. */
  controls: Record<string, string>;
}

/** Longer texts are omitted from links. */
export const LONGEST_LINKED = 100_000;

export async function toFragment(place: Place): Promise<string> {
  const parts = new URLSearchParams();
  parts.set("view", place.view);
  if (place.tokenizer !== "") parts.set("tokenizer", place.tokenizer);
  const digits = (name: string) => place.fingerprints.get(name) ?? "";
  if (digits(place.tokenizer) !== "") parts.set("fingerprint", digits(place.tokenizer));
  if (place.tokenizers.length > 0) parts.set("with", place.tokenizers.join(","));
  if (place.tokenizers.some(digits)) parts.set("fingerprints", place.tokenizers.map(digits).join(","));
  if (place.merges !== null) parts.set("merges", String(place.merges));
  if (place.text !== null) parts.set("text", await packed(place.text));
  if (place.words !== null) parts.set("words", place.words);
  for (const [id, value] of Object.entries(place.controls)) parts.set(`set.${id}`, value);
  return `#${parts}`;
}

export async function fromFragment(fragment: string): Promise<Place> {
  const parts = new URLSearchParams(fragment.replace(/^#/, ""));
  const code = parts.get("text") ?? "";
  const text = code === "" ? null : await unpacked(code);
  const controls: Record<string, string> = {};
  for (const [name, value] of parts) if (name.startsWith("set.")) controls[name.slice(4)] = value;
  const tokenizer = parts.get("tokenizer") ?? "";
  const tokenizers = (parts.get("with") ?? "").split(",").filter((name) => name !== "");
  const digits = (parts.get("fingerprints") ?? "").split(",");
  const known = [[tokenizer, parts.get("fingerprint")], ...tokenizers.map((name, i) => [name, digits[i]])];
  const fingerprints = new Map(known.filter((pair): pair is [string, string] => Boolean(pair[0] && pair[1])));
  return {
    view: parts.get("view") ?? "",
    tokenizer,
    fingerprints,
    controls,
    tokenizers,
    merges: parts.has("merges") ? Math.max(0, Number(parts.get("merges")) || 0) : null,
    text,
    damaged: code !== "" && text === null,
    words: parts.get("words"),
  };
}

async function packed(text: string): Promise<string> {
  const bytes = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** The text of a link, or null if it is damaged. */
async function unpacked(code: string): Promise<string | null> {
  try {
    const binary = atob(code.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (char) => char.charCodeAt(0));
    const data = await through(bytes, new DecompressionStream("deflate-raw"), 4 * LONGEST_LINKED);
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(data);
  } catch {
    return null;
  }
}

/** The contents of a stream. More than `limit` bytes, which only a hostile link contains, are refused. */
async function through(
  bytes: Uint8Array,
  stream: CompressionStream | DecompressionStream,
  limit = Number.POSITIVE_INFINITY,
): Promise<Uint8Array> {
  const reader = new Blob([bytes as BlobPart]).stream().pipeThrough(stream).getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > limit) throw new RangeError("too long");
    parts.push(value);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
