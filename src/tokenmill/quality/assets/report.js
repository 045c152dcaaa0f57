"use strict";
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
      const keyed = rows.map((row, place) => [key(row), place, row]);
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
  const rows = [...table.tBodies[0].rows].map((row) => [row, row.dataset.find.toLowerCase()]);
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
