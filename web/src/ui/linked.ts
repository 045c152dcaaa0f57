// Linked scrolling of the text and its tokens. The pane that the user moves leads, and the other one follows.

/** What is at the top of a pane's window: a place in the text, and how far below the top the middle of its line is. */
export interface Top {
  /** UTF-16 units. */
  place: number;
  /** Pixels; negative if the middle of the line is above the window. */
  below: number;
  /** Whether the end of the text is visible. */
  end: boolean;
}

export interface Pane {
  top(): Top | null;
  scrollTo(top: Top): void;
  onScroll(run: () => void): void;
}

/**
 * Link two panes, each with the element that receives the user's events. Returns what makes the other pane follow at once,
 * which is needed where its contents come later than the scrolling.
 */
export function linkScrolling(panes: [element: HTMLElement, pane: Pane][]): () => void {
  let leader: Pane | null = null;
  const follow = () => {
    const top = leader?.top() ?? null;
    if (top === null) return;
    for (const [, other] of panes) if (other !== leader) other.scrollTo(top);
  };
  for (const [element, pane] of panes) {
    const lead = () => {
      leader = pane;
    };
    for (const kind of ["wheel", "pointerdown", "pointerenter", "touchstart", "keydown", "focusin"]) {
      element.addEventListener(kind, lead, { passive: true });
    }
    let waiting = false;
    pane.onScroll(() => {
      if (leader !== pane || waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        if (leader === pane) follow();
      });
    });
  }
  return follow;
}
