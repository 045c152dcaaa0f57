// Forward and back through a training run: a copy of the trainer is kept every few steps, and the state at any step
// is the nearest copy before it, run on. So memory grows with the number of copies, not with every step.

import { type Options, type Piece, type Report, Trainer } from "./trainer";

const EVERY = 16;

export interface Moment {
  step: number;
  trainer: Trainer;
  /** What led here; null at the beginning. */
  report: Report | null;
}

export class History {
  private copies: Trainer[];
  private reports: Report[] = [];
  private newest: Trainer;
  private ended = false;

  constructor(pieces: readonly Piece[], options: Options) {
    this.newest = new Trainer(pieces, options);
    this.copies = [this.newest.clone()];
  }

  /** How many steps have been run; the last one if `over`. */
  get length(): number {
    return this.reports.length;
  }

  get over(): boolean {
    return this.ended;
  }

  /** The reports of the first `step` steps. */
  past(step: number): Report[] {
    return this.reports.slice(0, step);
  }

  /** The state after `step` steps, or after the last one if training ends earlier. */
  at(step: number): Moment {
    while (!this.ended && this.reports.length < step) {
      const report = this.newest.step();
      if (report === null) {
        this.ended = true;
        break;
      }
      this.reports.push(report);
      if (this.reports.length % EVERY === 0) this.copies.push(this.newest.clone());
    }
    const reached = Math.max(0, Math.min(step, this.reports.length));
    const report = this.reports[reached - 1] ?? null;
    if (reached === this.reports.length) return { step: reached, trainer: this.newest.clone(), report };
    const trainer = this.copies[Math.floor(reached / EVERY)]!.clone();
    for (let i = reached % EVERY; i > 0; i--) trainer.step();
    return { step: reached, trainer, report };
  }
}
