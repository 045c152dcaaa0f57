// The Tokens view: text in, coloured tokens out.

import { wellFormed } from "../encoder/bytes";
import type { Encoded } from "../encoder/encoder";
import { PRETOKEN_START } from "../encoder/flags";
import { directionOf, hasRtl } from "./bidi";
import { byId, copy, fill, grouped, h, latest } from "./dom";
import { Editor, LONGEST } from "./editor";
import { linkScrolling } from "./linked";
import { NearEncoder } from "./near";
import type { Notify } from "./notices";
import { copyPng, pictureOf, toHtml, toSvg } from "./picture";
import { GROUPS, SAMPLES, type Sample } from "./samples";
import type { Session } from "./session";
import { hex, label, quoted, visible } from "./show";
import { SizeSlider } from "./sizes";
import { showSteps } from "./steps";
import { isAdded, pretokenOf, spansWords, tokenBytes, tokenText, wordsOf } from "./tokentext";
import { TokenView } from "./tokenview";

const NEAR = 10; // tokens of a long pretoken shown on each side of the selected one

export class TokensTab {
  private encoded: Encoded | null = null;
  private readonly view: TokenView;
  private readonly editor: Editor;
  private readonly visible = byId<HTMLInputElement>("visible");
  private readonly asIds = byId<HTMLInputElement>("as-ids");
  private readonly heat = byId<HTMLInputElement>("heat");
  private readonly near: NearEncoder;
  private readonly askWorker: () => Promise<void>;
  private readonly follow: () => void; // the tokens scroll to the text, or the text to the tokens
  private failed = false; // whether the message is about the encoding
  private overtaken = 0; // how often the page's encoder was faster than a pending answer of the worker

  constructor(
    private readonly session: Session,
    private readonly notify: Notify,
  ) {
    this.view = new TokenView(
      byId("tokens"),
      (token) => this.explain(token),
      (token) => this.showInText(token),
      (token) => this.ask(token),
    );
    this.editor = new Editor(
      byId("text"),
      (text, typed) => {
        if (typed) {
          samples.value = "";
          notify("");
        }
        session.setText(text);
      },
      () => notify(`A text may have at most ${grouped(LONGEST)} characters here, so this change was not made.`, true),
    );
    byId("clear").addEventListener("click", () => {
      this.edit("");
      this.editor.select(0, 0);
    });
    this.follow = linkScrolling([
      [byId("text"), this.editor],
      [byId("tokens"), this.view],
    ]);
    this.near = new NearEncoder(session);
    this.askWorker = latest(() => this.encodeFar());
    session.on(["text", "tokenizer", "special", "merges"], () => this.encode());
    new SizeSlider(session);

    const samples = byId<HTMLSelectElement>("sample");
    const option = (sample: Sample) => h("option", { value: SAMPLES.indexOf(sample) }, sample.name);
    fill(
      samples,
      h("option", { value: "" }, "Your own"),
      ...GROUPS.map(([label, group]) => h("optgroup", { label }, ...group.map(option))),
    );
    samples.addEventListener("change", () => {
      const sample = SAMPLES[Number(samples.value)];
      if (samples.value === "" || sample === undefined) return;
      if (sample.special && !special.checked) special.click();
      this.setText(sample.text);
    });
    const special = byId<HTMLInputElement>("special");
    special.addEventListener("change", () => {
      session.special = special.checked;
      session.tell("special");
    });
    for (const box of [this.visible, this.asIds, this.heat]) box.addEventListener("change", () => this.draw());
    byId("copy-ids").addEventListener("click", () => void copy(byId("copy-ids"), this.idsText()));
    byId("copy-tokens").addEventListener("click", () => void copy(byId("copy-tokens"), this.tokensText()));
    byId("copy-text").addEventListener("click", () => void copy(byId("copy-text"), session.text));
    byId("copy-svg").addEventListener("click", () => void copy(byId("copy-svg"), toSvg(pictureOf(byId("tokens")))));
    byId("copy-html").addEventListener("click", () => void copy(byId("copy-html"), toHtml(byId("tokens"))));
    byId("copy-png").addEventListener("click", () => void copyPng(byId("copy-png"), pictureOf(byId("tokens"))));
  }

  /** Set the text from a sample, a file or a link. */
  setText(text: string): void {
    const sample = SAMPLES.findIndex((one) => one.text === text);
    byId<HTMLSelectElement>("sample").value = sample < 0 ? "" : String(sample);
    this.editor.set(text);
  }

  /** Replace the text as the user would. */
  edit(text: string): void {
    this.editor.set(text, true);
  }

  /** Select a range of the text, in UTF-16 units. */
  select(start: number, end: number): void {
    this.editor.select(start, end);
  }

  /** Encode the current text and draw it. */
  private encode(): void {
    try {
      const encoded = this.near.encode();
      if (encoded === null) void this.askWorker();
      else {
        this.overtaken++;
        this.take(encoded);
      }
    } catch (error) {
      this.fail(error instanceof Error ? error.message : String(error));
    }
  }

  private fail(message: string): void {
    this.failed = true;
    this.notify(message, true);
  }

  private async encodeFar(): Promise<void> {
    const { session, overtaken } = this;
    const key = session.current;
    if (key === "") return;
    const panel = byId("panel-tokens");
    const busy = setTimeout(() => panel.setAttribute("aria-busy", "true"), 300);
    const ready = () => {
      clearTimeout(busy);
      panel.removeAttribute("aria-busy");
    };
    try {
      const [result] = await session.encode([key], session.merges);
      if (result === undefined || key !== session.current || overtaken !== this.overtaken) return;
      if ("error" in result) this.fail(result.error);
      else {
        this.take(result);
        this.follow();
      }
      ready();
      await this.near.fetch();
    } catch (error) {
      this.fail(error instanceof Error ? error.message : String(error));
    } finally {
      ready();
    }
  }

  private take(encoded: Encoded): void {
    if (this.failed) this.notify("");
    this.failed = false;
    this.encoded = encoded;
    this.draw();
  }

  private draw(): void {
    const { encoded } = this;
    if (encoded === null) return;
    this.view.set(encoded, {
      visible: this.visible.checked,
      asIds: this.asIds.checked,
      heat: this.heat.checked,
    });
    byId("heat-legend").hidden = !this.heat.checked;
    byId("count-tokens").textContent = grouped(encoded.ids.length);
    byId("count-characters").textContent = grouped(encoded.characters);
    byId("count-bytes").textContent = grouped(encoded.bytes);
    byId("count-ratio").textContent =
      encoded.ids.length > 0 ? (encoded.bytes / encoded.ids.length).toFixed(2) : "\u2013";
    this.showOne(encoded);
  }

  /** Select a token of a new text, quietly: screen readers read out only what the user selects. */
  private showOne(encoded: Encoded): void {
    const detail = byId("detail");
    detail.ariaLive = "off";
    if (encoded.ids.length > 0) this.view.activate(exampleToken(encoded), false);
    else
      fill(detail, h("p", { class: "hint" }, "Type or paste a text: its tokens and the details of a token show here."));
    const changed = encoded.text !== wellFormed(this.session.text);
    const normalized = "This tokenizer normalizes the text first; what it makes of it is shown.";
    const help =
      "Point at a token, or move with the arrow keys. A click keeps it selected, Enter finds it in the text.";
    detail.append(h("p", { class: "hint" }, changed ? normalized : encoded.ids.length > 0 ? help : null));
    detail.ariaLive = "polite";
  }

  private explain(token: number): void {
    const { encoded } = this;
    if (encoded === null) return;
    const [first, after] = pretokenOf(encoded, token);
    const bytes = tokenBytes(encoded, token);
    const start = token > 0 ? encoded.ends[token - 1]! : 0;
    const summary = this.session.choice(this.session.current)?.summary;
    // Without a split pattern, what merges on its own is found from the tokens.
    const whole = summary?.patterns.length === 0;
    const { text } = tokenText(encoded, token);
    const why = h("button", { type: "button", id: "why", onclick: () => this.ask(token) }, "Step by step (S)");
    fill(
      byId("detail"),
      h(
        "dl",
        { class: "facts" },
        fact("Token", h("code", { class: "shown" }, label(bytes))),
        fact("Id", h("code", {}, String(encoded.ids[token]))),
        isAdded(encoded, token) || this.session.merges !== null ? null : fact("Why it is here", why),
        fact(
          "Bytes",
          h("code", {}, bytes.length > 48 ? `${hex(bytes.subarray(0, 48))} … (${bytes.length})` : hex(bytes)),
        ),
        fact("Place", `token ${grouped(token + 1)} of ${grouped(encoded.ids.length)}, byte offset ${grouped(start)}`),
        spansWords(text) ? fact("Superword", `across ${wordsOf(text).length} words`) : null,
        isAdded(encoded, token)
          ? fact("Kind", summary?.special.includes(text) ? "special token" : "added token")
          : summary?.order === "events" && spansWords(text)
            ? null // a superword of several pretokens
            : fact(
                `Its ${whole ? "part of the text" : "pretoken"} (${after - first === 1 ? "1 token" : `${after - first} tokens`})`,
                neighbours(encoded, token),
              ),
      ),
    );
  }

  /** Show why a token is here. */
  private ask(token: number): void {
    const { encoded } = this;
    if (encoded === null || isAdded(encoded, token) || this.session.merges !== null) return;
    const [first, after] = pretokenOf(encoded, token);
    const parts = Array.from({ length: Math.min(after, first + 500) - first }, (_, i) =>
      tokenBytes(encoded, first + i),
    );
    const pretoken = new Uint8Array(parts.flatMap((part) => Array.from(part)));
    const start = (token > 0 ? encoded.ends[token - 1]! : 0) - (first > 0 ? encoded.ends[first - 1]! : 0);
    const question = {
      key: this.session.current,
      pretoken,
      token: tokenBytes(encoded, token),
      id: encoded.ids[token]!,
      start,
    };
    void showSteps(this.session, question).catch((error) => this.fail(String(error)));
  }

  private showInText(token: number): void {
    const { encoded } = this;
    if (encoded === null || encoded.text !== this.session.text) return;
    this.editor.select(token > 0 ? encoded.units[token - 1]! : 0, encoded.units[token]!);
  }

  private idsText(): string {
    return `[${Array.from(this.encoded?.ids ?? []).join(", ")}]`;
  }

  private tokensText(): string {
    const { encoded } = this;
    if (encoded === null) return "[]";
    const tokens: string[] = [];
    for (let i = 0; i < encoded.ids.length; i++) {
      const { text, whole } = tokenText(encoded, i);
      tokens.push(whole ? JSON.stringify(text) : quoted(tokenBytes(encoded, i)));
    }
    return `[${tokens.join(", ")}]`;
  }
}

/** The first token of the first word that is several tokens, or the first token with letters, or the first one. */
function exampleToken(encoded: Encoded): number {
  const last = Math.min(encoded.ids.length - 1, 60); // they are in the window
  for (let token = 0; token < last; token++) {
    if (!(encoded.flags[token]! & PRETOKEN_START) || encoded.flags[token + 1]! & PRETOKEN_START) continue;
    if (/^\s?\p{L}[\p{L}\p{M}]+$/u.test(tokenText(encoded, token).text)) return token;
  }
  for (let token = 0; token < last; token++) if (/\p{L}/u.test(tokenText(encoded, token).text)) return token;
  return 0;
}

/** The tokens of a token's pretoken, of a long one those near the token. */
function neighbours(encoded: Encoded, token: number): HTMLElement {
  const [first, after] = pretokenOf(encoded, token);
  const from = Math.max(first, Math.min(token - NEAR, after - 2 * NEAR - 1));
  const to = Math.min(after, from + 2 * NEAR + 1);
  const minis = Array.from({ length: to - from }, (_, i) => {
    const { text, whole } = tokenText(encoded, from + i);
    const kind = from + i === token ? "mini here" : "mini";
    return h("span", { class: kind, dir: hasRtl(text) ? "rtl" : null }, whole ? visible(text, false) : text);
  });
  const { text, units } = encoded;
  const dir = directionOf(text.slice(first > 0 ? units[first - 1] : 0, units[after - 1]));
  return h("code", { class: "pretokens", dir }, from > first ? "…" : null, ...minis, to < after ? "…" : null);
}

function fact(name: string, value: Node | string): HTMLElement {
  return h("div", {}, h("dt", {}, name), h("dd", {}, value));
}
