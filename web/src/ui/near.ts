// The encoder in the page, for short texts. A call to the worker takes two messages, and the browser is busy with the text
// box after a key press, so the tokens would appear one frame after the letter. A short text is therefore encoded in the
// key event itself, and the same frame shows both (docs/experiments/playground.md).

import { type Encoded, Encoder } from "../encoder/encoder";
import { received } from "../encoder/pack";
import { splitterOf } from "../encoder/split";
import type { Session } from "./session";

// UTF-16 units. The worst text of this length, one pretoken without any cut, takes less than a frame of 60 Hz.
const LONGEST = 32_768;

export class NearEncoder {
  private key = "";
  private encoder: Encoder | null = null;

  constructor(private readonly session: Session) {}

  /** The tokens of the text, or null if the worker must encode it: the text is long, or the tokenizer is not here yet. */
  encode(): Encoded | null {
    const { current, text, special, merges } = this.session;
    if (this.encoder === null || merges !== null || this.key !== current || text.length > LONGEST) return null;
    return this.encoder.encode(text, special);
  }

  /** Load the selected tokenizer into the page if the text is short, and release the previous one. */
  async fetch(): Promise<void> {
    const { session } = this;
    const key = session.current;
    if (this.key === key || session.text.length > LONGEST) return;
    this.key = key;
    this.encoder = null;
    const pack = received(await session.line.ask("pack", key));
    if (this.key === key) this.encoder = new Encoder(pack, splitterOf(pack));
  }
}
