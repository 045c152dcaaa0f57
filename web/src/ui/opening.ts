// Opening tokenizers and texts: by drag and drop, by the file chooser, by path. Tokenizer files go to the local server,
// whose loaders read them. A page without a server reads tokenizer.json and .tiktoken itself.

import { answerOf, isRankList, type Reading } from "../encoder/files";
import { byId } from "./dom";
import { LONGEST } from "./editor";
import type { Notify } from "./notices";
import type { Session } from "./session";

/** The catalog next to the page: the tokenizers, and what the server allows. */
export interface Catalog {
  version: number;
  tokenizers: { name: string; pack: string }[];
  /** Present if a server can open files: their maximum size, and whether paths are allowed. */
  opens?: { bytes: number; files: number; paths: boolean; splits: string[] };
  /** Whether the page watches a training. */
  live?: boolean;
  /** Present without a server: the names of split patterns, and the packed automata of the published ones. */
  splits?: { names: string[]; source: string | Uint8Array };
}

const TEXT_NAME = /\.(?:txt|md|rst|csv|tsv|py|js|ts|c|h|rs|go|java|html|xml|log|tex)$/iu;

export class Opening {
  constructor(
    private readonly session: Session,
    private readonly catalog: Catalog,
    private readonly setText: (text: string) => void,
    private readonly notify: Notify,
  ) {
    const chooser = byId<HTMLInputElement>("file");
    byId("open").addEventListener("click", () => chooser.click());
    chooser.addEventListener("change", () => {
      void this.open(Array.from(chooser.files ?? []));
      chooser.value = "";
    });
    const form = byId<HTMLFormElement>("path-form");
    form.hidden = !catalog.opens?.paths;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.openPath(byId<HTMLInputElement>("path").value);
    });
    this.listenForDrops();
  }

  private listenForDrops(): void {
    const sign = byId("drop");
    let depth = 0;
    const holdsFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    document.addEventListener("dragenter", (event) => {
      if (!holdsFiles(event)) return;
      depth++;
      sign.hidden = false;
    });
    document.addEventListener("dragleave", (event) => {
      if (holdsFiles(event) && --depth <= 0) sign.hidden = true;
    });
    document.addEventListener("dragover", (event) => {
      if (holdsFiles(event)) event.preventDefault();
    });
    document.addEventListener("drop", (event) => {
      depth = 0;
      sign.hidden = true;
      if (!holdsFiles(event)) return;
      event.preventDefault();
      void filesOf(event.dataTransfer!).then(([files, folder]) => this.open(files, folder));
    });
  }

  /** Open dropped or chosen files: one text, one packed vocabulary, or the files of one tokenizer. */
  async open(files: File[], folder = ""): Promise<void> {
    try {
      await this.tryToOpen(files, folder);
    } catch (error) {
      this.notify(error instanceof Error ? error.message : String(error), true);
    }
  }

  private async tryToOpen(files: File[], folder: string): Promise<void> {
    const [first] = files;
    if (first === undefined) return;
    if (files.length === 1 && first.name.endsWith(".tmpack")) {
      await this.take(first.name.replace(/\.tmpack$/, ""), new Uint8Array(await first.arrayBuffer()));
    } else if (
      files.length === 1 &&
      (TEXT_NAME.test(first.name) || first.type.startsWith("text/")) &&
      first.name !== "merges.txt"
    ) {
      if (first.size > LONGEST)
        throw new Error(
          `${first.name} is longer than the ${LONGEST.toLocaleString("en-US")} bytes a text may have here.`,
        );
      this.setText(await first.text());
      this.notify(`The text of ${first.name}.`);
    } else {
      await this.send(files, folder);
    }
  }

  /** Send a tokenizer's files to the server, which answers with a packed vocabulary. */
  private async send(files: File[], folder: string): Promise<void> {
    const { opens } = this.catalog;
    if (!opens) return this.readHere(files, folder);
    const total = files.reduce((sum, file) => sum + file.size, 0);
    if (files.length > opens.files)
      throw new Error(`A tokenizer has at most ${opens.files} files, but these are ${files.length}.`);
    if (total > opens.bytes)
      throw new Error(`These files are larger than the limit of ${Math.round(opens.bytes / 2 ** 20)} MiB.`);
    const head = new TextEncoder().encode(JSON.stringify(files.map((file) => ({ name: file.name, size: file.size }))));
    const length = new Uint8Array(4);
    new DataView(length.buffer).setUint32(0, head.length, true);
    const body = new Blob([length, head, ...files]);
    const name = folder || files.map((file) => file.name).join(" + ");
    await this.request(`open?folder=${encodeURIComponent(folder)}`, body, name);
  }

  /** Open a tokenizer without a server. */
  private async readHere(files: File[], folder: string): Promise<void> {
    const { splits } = this.catalog;
    const file = files.find(({ name }) => name === "tokenizer.json") ?? files[0]!;
    const needsServer = file.name !== "tokenizer.json" || files.some(({ name }) => name === "events.txt");
    if (splits === undefined || (files.length > 1 && needsServer)) {
      throw new Error(
        "This page has no server, so it opens a tokenizer.json (without events.txt), a .tiktoken file, a packed vocabulary (.tmpack) or a text. For any other tokenizer, run: tokenmill play FILE",
      );
    }
    const bytes = new Uint8Array(await file.arrayBuffer());
    const split = isRankList(bytes) ? await askForSplit(splits.names) : "";
    if (split === null) throw new Error(`${file.name} does not contain its split pattern.`);
    const name = folder || file.name.replace(/\.[a-z]+$/, "");
    await this.take(name, bytes, { file: file.name, split, splits: splits.source });
  }

  private async openPath(path: string): Promise<void> {
    try {
      if (path.trim() !== "") await this.request("open-path?", JSON.stringify({ path: path.trim() }), path.trim());
    } catch (error) {
      this.notify(error instanceof Error ? error.message : String(error), true);
    }
  }

  private async request(address: string, body: BodyInit, name: string): Promise<void> {
    this.notify(`Opening ${name || "the files"}…`);
    for (let split = ""; ; ) {
      const query = split === "" ? "" : `&split=${encodeURIComponent(split)}`;
      const response = await answerOf(address + query, {
        method: "POST",
        body,
        headers: { "Content-Type": "application/octet-stream" },
      });
      if (response.ok && response.headers.get("Content-Type") === "application/octet-stream") {
        const title = decodeURIComponent(response.headers.get("X-Name") ?? "") || name || "opened";
        await this.take(title, new Uint8Array(await response.arrayBuffer()));
        return;
      }
      const problem: { error: string; splits?: string[] } = await response
        .json()
        .catch(() => ({ error: response.statusText }));
      if (problem.splits === undefined || split !== "") throw new Error(problem.error);
      const chosen = await askForSplit(problem.splits);
      if (chosen === null) throw new Error(problem.error);
      split = chosen;
    }
  }

  private async take(name: string, file: Uint8Array, reading: Reading | null = null): Promise<void> {
    const choice = this.session.add(name, file, reading);
    try {
      await this.session.ready(choice.key);
    } catch (error) {
      this.session.choices = this.session.choices.filter((one) => one !== choice);
      this.session.tell("choices");
      throw error;
    }
    this.session.choose(choice.key);
    this.session.tell("choices");
    const { family, tokens, source } = await this.session.ready(choice.key);
    const from = source === "" || source === choice.name ? "" : ` from ${source}`;
    this.notify(`Opened ${choice.name}${from}: ${family}, ${tokens.toLocaleString("en-US")} tokens.`);
  }
}

/** Ask the user for the split pattern, which the file does not contain. */
function askForSplit(names: string[]): Promise<string | null> {
  const dialog = byId<HTMLDialogElement>("split-dialog");
  const select = byId<HTMLSelectElement>("split-name");
  select.replaceChildren(...names.map((name) => new Option(name, name)));
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "open" ? select.value : null), {
      once: true,
    });
  });
}

/** All dropped files; of a dropped folder, the files directly in it and its name. */
async function filesOf(data: DataTransfer): Promise<[files: File[], folder: string]> {
  const entries = Array.from(data.items, (item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  const plain = Array.from(data.files);
  const folder = entries.find((entry) => entry.isDirectory) as FileSystemDirectoryEntry | undefined;
  if (folder === undefined) return [plain, ""];
  const reader = folder.createReader();
  const inside: FileSystemEntry[] = [];
  for (;;) {
    const more = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (more.length === 0 || inside.length > 1000) break;
    inside.push(...more);
  }
  const files = inside.filter((entry) => entry.isFile) as FileSystemFileEntry[];
  const opened = files.map((entry) => new Promise<File>((resolve, reject) => entry.file(resolve, reject)));
  return [await Promise.all(opened), folder.name];
}
