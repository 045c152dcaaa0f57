// The tokens as a picture to post: what the Tokens view shows, as SVG, PNG or HTML.

import { confirmed } from "./dom";
import { MARGIN } from "./tokenview";

const PADDING = 14; // pixels
const SCALE = 2; // pixels of the PNG for each of the page

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
  fill: string;
  edge: string;
}

interface Word {
  text: string;
  x: number;
  y: number;
  font: string;
  rtl: boolean;
}

export interface Picture {
  width: number;
  height: number;
  ground: string;
  ink: string;
  boxes: Box[];
  words: Word[];
}

/** The tokens of a Tokens view, with the places of their boxes and letters: all, or of a long text those in the window. */
export function pictureOf(root: HTMLElement): Picture {
  const all = root.scrollHeight <= root.clientHeight + MARGIN;
  const { x: left, y, width, height } = root.getBoundingClientRect();
  const top = all ? y - root.scrollTop : y;
  const end = top + (all ? root.scrollHeight : height);
  const ground = getComputedStyle(root);
  const edge = painted("var(--strong-line)");
  const boxes: Box[] = [];
  const words: Word[] = [];
  const visible = (rect: DOMRect) => rect.width > 0 && rect.top >= top && rect.bottom <= end;
  for (const span of tokensOf(root)) {
    const style = getComputedStyle(span);
    const rects = Array.from(span.getClientRects()).filter(visible);
    for (const { x, y, width, height } of rects)
      boxes.push({ x: x - left, y: y - top, width, height, fill: style.backgroundColor, edge });
    for (const [text, rect] of linesOf(span)) {
      if (!rects.some((box) => box.top <= rect.bottom && box.bottom >= rect.top)) continue;
      const rtl = style.direction === "rtl";
      const [x, y] = [(rtl ? rect.right : rect.x) - left, rect.y + rect.height / 2 - top];
      words.push({ text, x, y, font: `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`, rtl });
    }
  }
  const bottom = Math.max(0, ...boxes.map((box) => box.y + box.height));
  const size = { width: Math.ceil(width), height: Math.ceil(bottom + PADDING) };
  return { ...size, ground: ground.backgroundColor, ink: ground.color, boxes, words };
}

function tokensOf(root: HTMLElement): HTMLElement[] {
  return Array.from(root.querySelectorAll<HTMLElement>(".t"));
}

/** A colour of the style sheet as the page paints it. */
function painted(colour: string): string {
  const probe = document.body.appendChild(document.createElement("i"));
  probe.style.color = colour;
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}

/** The text of an element, line by line as the browser broke it, and where each line is. */
function linesOf(element: HTMLElement): [text: string, rect: DOMRect][] {
  const lines: [string, DOMRect][] = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const text = node.textContent ?? "";
    let from = 0;
    const rectOf = (to: number) => {
      range.setStart(node!, from);
      range.setEnd(node!, to);
      return range.getClientRects();
    };
    for (let to = 1; to <= text.length; to++) {
      if (to < text.length && rectOf(to + 1).length < 2) continue;
      const [rect] = rectOf(to);
      if (rect && text.slice(from, to).trim() !== "") lines.push([text.slice(from, to).replace(/\n/g, ""), rect]);
      from = to;
    }
  }
  return lines;
}

export function toSvg({ width, height, ground, ink, boxes, words }: Picture): string {
  const rects = boxes.map(
    (box) =>
      `<rect x="${box.x + 0.5}" y="${box.y + 0.5}" width="${Math.max(0, box.width - 1)}" height="${box.height - 1}" rx="3" fill="${box.fill}" stroke="${box.edge}"/>`,
  );
  const texts = words.map(
    (word) =>
      `<text x="${word.x}" y="${word.y}" xml:space="preserve" style="font:${escaped(word.font)};white-space:pre"${word.rtl ? ' direction="rtl"' : ""}>${escaped(word.text)}</text>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    `<rect width="100%" height="100%" fill="${ground}"/>`,
    ...rects,
    `<g fill="${ink}" dominant-baseline="central">`,
    ...texts,
    "</g></svg>",
  ].join("\n");
}

/** The tokens as HTML that needs no style sheet. */
export function toHtml(root: HTMLElement): string {
  const { color, backgroundColor, fontFamily } = getComputedStyle(root);
  const tokens = tokensOf(root).map((span) => {
    const style = `background:${getComputedStyle(span).backgroundColor};border-radius:3px;margin-right:1px`;
    return `<span style="${style}">${escaped(span.textContent ?? "")}</span>`;
  });
  const style = `white-space:pre-wrap;padding:12px;line-height:1.8;color:${color};background:${backgroundColor};font-family:${fontFamily}`;
  return `<pre style="${escaped(style)}">${tokens.join("")}</pre>`;
}

const NOT_XML = /[^\P{Cc}\t\n\r]|[\p{Cs}\ufffe\uffff]/gu; // characters that no XML file may contain, and other controls
const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

function escaped(text: string): string {
  return text.replace(NOT_XML, "\ufffd").replace(/[&<>"]/g, (sign) => ENTITIES[sign]!);
}

/** Copy a picture as PNG, or save it where the browser copies no pictures. */
export async function copyPng(button: HTMLElement, picture: Picture): Promise<void> {
  await confirmed(button, async () => {
    const png = await toPng(picture);
    if (navigator.clipboard?.write !== undefined) {
      await navigator.clipboard.write([new ClipboardItem({ "image/png": png })]);
      return "Copied";
    }
    const link = document.createElement("a");
    link.href = URL.createObjectURL(png);
    link.download = "tokens.png";
    link.click();
    URL.revokeObjectURL(link.href);
    return "Saved";
  });
}

export function toPng({ width, height, ground, ink, boxes, words }: Picture): Promise<Blob> {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width * SCALE, height * SCALE];
  const context = canvas.getContext("2d")!;
  context.scale(SCALE, SCALE);
  context.fillStyle = ground;
  context.fillRect(0, 0, width, height);
  for (const box of boxes) {
    context.beginPath();
    context.roundRect(box.x + 0.5, box.y + 0.5, Math.max(0, box.width - 1), box.height - 1, 3);
    context.fillStyle = box.fill;
    context.fill();
    context.strokeStyle = box.edge;
    context.stroke();
  }
  context.fillStyle = ink;
  context.textBaseline = "middle";
  for (const word of words) {
    context.font = word.font;
    context.direction = word.rtl ? "rtl" : "ltr";
    context.fillText(word.text, word.x, word.y);
  }
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the browser made no picture")))),
  );
}
