// The reader's own GPT-2 in the picture: which parts of it my_gpt2.py has. What is still the book's is
// grey. `build` in the notebooks wrote the file, and only what computes the same as the book's.

import { make } from "../exhibits/dom.mjs";

const KEPT = "gpt2-edu my_gpt2";
const MOST = 100_000; // characters of a file
const MARK = /^# from chapter (\d+): (\w+)( \(the book's answer\))?$/gm;
/** Parts of the picture, and what computes them in the file. */
const PARTS = {
  text: "encode",
  embeddings: "Embeddings",
  layernorm: "LayerNorm",
  attention: "CausalSelfAttention",
  stream: "Block",
  mlp: "MLP",
  logits: "GPT2",
};

/** @typedef {{chapter: number, book: boolean, source: string}} Part  of the file */

/**
 * The parts of a my_gpt2.py, by the name of what they define.
 * @param {string} text
 * @returns {Map<string, Part>}
 */
export function partsOf(text) {
  const marks = [...text.slice(0, MOST).replaceAll("\r\n", "\n").matchAll(MARK)];
  const parts = new Map();
  marks.forEach((mark, i) => {
    const source = text.slice(mark.index + mark[0].length, marks[i + 1]?.index ?? MOST).trim();
    for (const [, name] of source.matchAll(/^(?:def|class) (\w+)/gm)) {
      parts.set(name, { chapter: Number(mark[1]), book: Boolean(mark[3]), source });
    }
  });
  return parts;
}

/**
 * The part of the picture that a tensor comes from.
 * @param {string} path
 * @returns {keyof typeof PARTS}
 */
export function partOf(path) {
  const name = path.replace(/^transformer\.(h\.\d+\.)?/, "");
  if (name === "idx") return "text";
  if (/emb/.test(name)) return "embeddings";
  if (name.startsWith("ln_")) return "layernorm";
  if (name.startsWith("attn.")) return "attention";
  if (name.startsWith("mlp.")) return "mlp";
  return name.startsWith("resid_") ? "stream" : "logits";
}

export class Mine {
  /**
   * @param {HTMLElement} stage  gets the parts that are the reader's in `data-mine`
   * @param {(error: unknown) => void} complain
   */
  constructor(stage, complain) {
    this.stage = stage;
    /** @type {Map<string, Part>} */
    this.parts = new Map();
    const input = make("input", { type: "file", accept: ".py", hidden: true });
    input.onchange = async () => {
      const [file] = input.files ?? [];
      input.value = "";
      if (!file) return;
      const text = await file.slice(0, MOST).text();
      const none = `${file.name} has no part that a chapter asked for: choose the my_gpt2.py that build writes beside the notebooks.`;
      if (partsOf(text).size) this.read(text);
      else complain(new Error(none));
    };
    const choose = () => (this.parts.size ? this.read("") : input.click());
    this.button = make("button", { type: "button", onclick: choose });
    this.told = make("span", { role: "status" });
    this.summary = make("summary");
    this.code = make("pre");
    this.fold = make("details", {}, this.summary, this.code);
    this.path = "idx";
    this.element = make(
      "div",
      { class: "flow-mine soft" },
      input,
      this.button,
      this.told,
      this.fold,
    );
    try {
      this.read(localStorage[KEPT] ?? "");
    } catch {
      this.read(""); // without storage it lasts as long as the page
    }
  }

  /** @param {string} text  of the file; empty: it is put away */
  read(text) {
    this.parts = partsOf(text);
    try {
      if (text) localStorage[KEPT] = text;
      else localStorage.removeItem(KEPT);
    } catch {
      // It lasts as long as the page.
    }
    const { stage, parts } = this;
    const own = Object.entries(PARTS).filter(([, name]) => this.wrote(name));
    const book = Object.keys(PARTS).length - own.length;
    if (parts.size) stage.dataset.mine = own.map(([part]) => part).join(" ");
    else delete stage.dataset.mine;
    this.set(this.path);
    this.button.textContent = parts.size ? "put my_gpt2.py away" : "your my_gpt2.py";
    this.told.textContent = parts.size
      ? `From your my_gpt2.py: ${own.map(([, name]) => name).join(", ") || "nothing yet"}. ` +
        (book ? "Grey parts are still the book’s." : "The whole pass is yours.")
      : "";
  }

  /** @param {string} name */
  wrote(name) {
    const part = this.parts.get(name);
    return Boolean(part && !part.book);
  }

  /**
   * The code that makes a tensor, where the reader wrote it.
   * @param {string} path
   */
  set(path) {
    this.path = path;
    const name = PARTS[partOf(path)];
    this.fold.hidden = !this.wrote(name);
    this.summary.textContent = `Your ${name}`;
    this.code.textContent = this.parts.get(name)?.source ?? "";
  }
}
