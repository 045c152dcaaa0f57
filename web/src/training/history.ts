// Moves forward and back through a training run. Copies of the trainer are kept at a few steps. The state at any step is
// computed from the nearest earlier copy. Copies are dropped as the run grows, so memory stays bounded.

import { type Options, type Pretoken, type Report, Trainer } from "./trainer";

const MOST_COPIES = 16;

export interface Moment {
  step: number;
  trainer: Trainer;
  /** The report of the step that led here; null at the beginning. */
  report: Report | null;
}

export class History {
  private spacing = 8;
  private copies: Trainer[]; // at steps 0, spacing, 2 * spacing ...
  private reports: Report[] = [];
  private newest: Trainer;
  private ended = false;

  /** `maxEvents`: stop there even if training would continue. */
  constructor(
    pretokens: readonly Pretoken[],
    options: Options,
    private readonly maxEvents = 5000,
  ) {
    this.newest = new Trainer(pretokens, options);
    this.copies = [this.newest.clone()];
  }

  /** How many steps have been run; all of them once `over`. */
  get length(): number {
    return this.reports.length;
  }

  get over(): boolean {
    return this.ended;
  }

  /** The reports of the steps run so far. */
  get past(): readonly Report[] {
    return this.reports;
  }

  /** Run to `step`, or to the end if that comes first; return the number of steps run. */
  runTo(step: number): number {
    while (!this.ended && this.reports.length < step) {
      const report = this.reports.length < this.maxEvents ? this.newest.step() : null;
      if (report === null) {
        this.ended = true;
        break;
      }
      this.reports.push(report);
      if (this.reports.length % this.spacing === 0) this.keep();
    }
    return this.reports.length;
  }

  /** The state after `step` steps, or after the last one if training ends earlier. */
  at(step: number): Moment {
    const reached = Math.max(0, Math.min(step, this.runTo(step)));
    const report = this.reports[reached - 1] ?? null;
    if (reached === this.reports.length) return { step: reached, trainer: this.newest.clone(), report };
    const trainer = this.copies[Math.floor(reached / this.spacing)]!.clone();
    for (let i = reached % this.spacing; i > 0; i--) trainer.step();
    return { step: reached, trainer, report };
  }

  private keep(): void {
    this.copies.push(this.newest.clone());
    if (this.copies.length <= MOST_COPIES) return;
    this.copies = this.copies.filter((_, i) => i % 2 === 0);
    this.spacing *= 2;
  }
}
