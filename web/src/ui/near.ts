// The page's own encoder, for short texts. Asking the worker takes a message there and one back, and a key press makes
// the browser busy with the text box meanwhile: the tokens would come one frame after the letter. A short text is encoded
// at once instead, in the key's own event, so that the same frame shows both.

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

  /** The tokens of the text, or null where the worker has to be asked: the text is long, or the tokenizer not here yet. */
  encode(): Encoded | null {
    const { current, text, special } = this.session;
    if (this.encoder === null || this.key !== current || text.length > LONGEST) return null;
    return this.encoder.encode(text, special);
  }

  /** Have the tokenizer that is chosen here too, if the text is short. The one before is let go. */
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
