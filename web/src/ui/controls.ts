// The controls that a link restores, by element id.

import { byId } from "./dom";

type Control = HTMLInputElement | HTMLSelectElement;

/** In the order in which they are restored. */
const LINKED = [
  ..."special visible as-ids heat compare-only".split(" "),
  ..."search-kind search-where search-order search".split(" "),
  ..."training-split threshold plain picky fault merges step".split(" "),
];

const initial = new Map<string, string>();

/** Take the values of a fresh page, and call `changed` after every change of a control. */
export function watchControls(changed: () => void): void {
  for (const id of LINKED) {
    const control = byId<Control>(id);
    initial.set(id, stateOf(control));
    for (const kind of ["input", "change"]) control.addEventListener(kind, changed);
  }
}

/** The controls whose values are not those of a fresh page. */
export function changedControls(): Record<string, string> {
  const values = LINKED.map((id): [string, string] => [id, stateOf(byId<Control>(id))]);
  return Object.fromEntries(values.filter(([id, value]) => value !== initial.get(id)));
}

/** Set each control to a link's value, or to that of a fresh page. */
export function setControls(values: Record<string, string>): void {
  for (const id of LINKED) {
    const control = byId<Control>(id);
    const value = values[id] ?? initial.get(id)!;
    if (stateOf(control) === value) continue;
    if (isBox(control)) control.checked = value === "1";
    else control.value = value;
    for (const kind of ["input", "change"]) control.dispatchEvent(new Event(kind));
  }
}

function isBox(control: Control): control is HTMLInputElement {
  return control.type === "checkbox" || control.type === "radio";
}

function stateOf(control: Control): string {
  return isBox(control) ? (control.checked ? "1" : "0") : control.value;
}
