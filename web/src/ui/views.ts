// The four views, as tabs: arrow keys, Home and End move among them, Alt and a digit goes to one from anywhere.

import { byId } from "./dom";
import type { Session } from "./session";

const VIEWS = ["tokens", "compare", "vocabulary", "training"];

/** Connect the tabs; return the function that shows a view. A view that the user chose is an entry of the browser's history. */
export function startViews(session: Session): (view: string, focus: boolean) => void {
  const tabs = VIEWS.map((view) => byId(`tab-${view}`));
  const show = (wanted: string, focus: boolean) => {
    const view = VIEWS.includes(wanted) ? wanted : "tokens";
    for (const [i, name] of VIEWS.entries()) {
      const on = name === view;
      tabs[i]!.setAttribute("aria-selected", String(on));
      tabs[i]!.tabIndex = on ? 0 : -1;
      byId(`panel-${name}`).hidden = !on;
      if (on && focus) tabs[i]!.focus();
    }
    byId("top").hidden = view === "compare" || view === "training";
    byId("counts").hidden = view !== "tokens";
    session.view = view;
    session.tell("view");
  };
  const choose = (view: string, focus: boolean) => {
    if (view !== session.view) history.pushState({ view }, "");
    show(view, focus);
  };
  for (const [i, tab] of tabs.entries()) {
    tab.addEventListener("click", () => choose(VIEWS[i]!, false));
    tab.addEventListener("keydown", (event) => {
      const moves: Record<string, number> = { ArrowRight: i + 1, ArrowLeft: i + 3, Home: 0, End: VIEWS.length - 1 };
      const to = moves[event.key];
      if (to === undefined) return;
      event.preventDefault();
      choose(VIEWS[to % VIEWS.length]!, true);
    });
  }
  document.addEventListener("keydown", (event) => {
    const view = event.altKey && !event.ctrlKey && !event.metaKey ? VIEWS[Number(event.key) - 1] : undefined;
    if (view === undefined) return;
    event.preventDefault();
    choose(view, true);
  });
  return show;
}
