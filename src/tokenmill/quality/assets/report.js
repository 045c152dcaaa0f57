"use strict";
// What has a data-tip shows it when the pointer is over it, when it has the focus, and when it is tapped.
const tip = document.createElement("div");
tip.id = "tip";
tip.hidden = true;
tip.role = "tooltip";
document.body.append(tip);
function moveTip(target) {
  const box = target.getBoundingClientRect();
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.min(Math.max(8, box.left + box.width / 2 - width / 2), innerWidth - width - 8);
  tip.style.left = `${left}px`;
  tip.style.top = `${box.top - height - 8 > 0 ? box.top - height - 8 : box.bottom + 8}px`;
}
function show(event) {
  const target = event.target.closest?.("[data-tip]") ?? document.activeElement.closest("[data-tip]");
  tip.hidden = !target;
  if (!target) return;
  tip.textContent = target.dataset.tip;
  moveTip(target);
}
for (const kind of ["pointerover", "focusin", "click"]) document.addEventListener(kind, show);
document.addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hidden = true; });
document.addEventListener("scroll", () => {
  const focused = document.activeElement.closest("[data-tip]");
  if (focused) moveTip(focused);
  else tip.hidden = true;
}, { capture: true, passive: true });
// In a notebook's frame a link to a section would resolve against the notebook's address.
if (location.href === "about:srcdoc") {
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (!link) return;
    event.preventDefault();
    document.getElementById(link.hash.slice(1)).scrollIntoView();
  });
}
// The data of a chart can be copied.
for (const button of document.querySelectorAll("details button")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const data = button.nextElementSibling;
    const said = (text) => { button.textContent = text; };
    getSelection().selectAllChildren(data);
    const old = () => said(document.execCommand("copy") ? "Copied" : "Selected: press Ctrl+C");
    if (navigator.clipboard) navigator.clipboard.writeText(data.textContent).then(() => said("Copied"), old);
    else old();
  });
}
// Tables sort by any column, by mouse or keyboard, and long lists can be searched. Without scripts all rows still show.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    const numeric = head.classList.contains("num");
    const key = (row) => {
      const cell = row.cells[column];
      const value = cell.dataset.value ?? cell.textContent;
      return numeric ? (value === "" ? NaN : Number(value)) : value;
    };
    button.addEventListener("click", () => {
      const was = head.getAttribute("aria-sort");
      const direction = was === "descending" || (was === null && !numeric) ? "ascending" : "descending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", direction);
      const sign = direction === "ascending" ? 1 : -1;
      const keyed = rows.map((row, index) => [key(row), index, row]);
      keyed.sort(([a, i], [b, j]) => {
        if (numeric && (Number.isNaN(a) || Number.isNaN(b))) {
          return Number.isNaN(a) - Number.isNaN(b) || i - j; // empty cells last, whichever way
        }
        return (a < b ? -sign : a > b ? sign : 0) || i - j;
      });
      body.append(...keyed.map(([, , row]) => row));
    });
  });
}
for (const input of document.querySelectorAll(".filter input")) {
  const table = document.getElementById(input.dataset.table);
  const shown = input.parentElement.querySelector("output");
  const signs = { "·": " ", "⇥": "\t", "⏎": "\n" };
  const rows = [...table.tBodies[0].rows].map((row) => [
    row, [...row.cells].map((cell) => cell.textContent.replace(/[·⇥⏎]/g, (sign) => signs[sign])).join(" ").toLowerCase(),
  ]);
  input.parentElement.hidden = false;
  input.addEventListener("input", () => {
    const wanted = input.value.toLowerCase();
    let found = 0;
    for (const [row, text] of rows) {
      row.hidden = !text.includes(wanted);
      found += !row.hidden;
    }
    shown.textContent = wanted ? ` ${found} of ${rows.length}` : "";
  });
}
