// A curve over the width of an element.

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 40;

/** A point of a curve: from left to right and from the bottom to the top, 0 to 100 each. */
export type Point = [x: number, y: number];

/** Draw a curve in an element, with a line at `mark` if that is not null. */
export function drawCurve(host: HTMLElement, points: readonly Point[], mark: number | null): void {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 100 ${HEIGHT}`);
  svg.setAttribute("preserveAspectRatio", "none");
  const line = points.map(([x, y]) => `${x},${HEIGHT - (HEIGHT * y) / 100}`).join(" ");
  if (points.length > 0) {
    const ends = [points[0]!, points.at(-1)!].map(([x]) => `${x},${HEIGHT}`);
    svg.append(shape("polygon", { points: `${ends[0]} ${line} ${ends[1]}`, class: "curve-area" }));
    svg.append(shape("polyline", { points: line, class: "curve-line" }));
    if (mark !== null) svg.append(shape("line", { x1: mark, x2: mark, y1: 0, y2: HEIGHT, class: "curve-mark" }));
  }
  host.replaceChildren(svg);
}

function shape(name: string, attributes: Record<string, string | number>): SVGElement {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}
