// Models that the reader brings: files chosen or dropped, and OpenAI's GPT-2 on an explicit click.

import { modelFromDrop, modelFromFiles } from "../exhibits/files.mjs";
import { PUBLISHED, describe } from "../hub.mjs";
import { list, open, remove } from "../storage.mjs";
import { make } from "../exhibits/dom.mjs";
import { fetchModel } from "../exhibits/published.mjs";

/** @import { Files } from "../exhibits/files.mjs" */
/** @import { Published } from "../hub.mjs" */

export class Bring {
  /**
   * @param {(files: Files) => Promise<void>} use  loads a model into the engine, or throws
   * @param {() => Promise<void>} back  to the model of the page
   */
  constructor(use, back) {
    this.use = use;
    this.status = make("p", { class: "status", role: "status" });
    /** @type {Record<string, Published>} */
    this.published = PUBLISHED;
    const chosen = (/** @type {Event} */ event) => {
      const input = /** @type {HTMLInputElement} */ (event.currentTarget);
      if (input.files?.length)
        this.take(() => modelFromFiles(/** @type {FileList} */ (input.files)));
      input.value = "";
    };
    const files = make("input", { type: "file", multiple: true, hidden: true, onchange: chosen });
    const folder = make("input", {
      type: "file",
      webkitdirectory: true,
      hidden: true,
      onchange: chosen,
    });
    this.bar = make("progress", { max: "1", value: "0", hidden: true, "aria-label": "download" });
    this.stop = make("button", { type: "button", hidden: true }, "stop");
    this.stored = make("ul", { class: "stored" });
    const fetch = { type: "button", hidden: true, onclick: () => this.download("gpt2") };
    this.fetch = make("button", fetch); // what it would do is asked first
    this.offer = make("p", { class: "soft" });
    this.element = make(
      "details",
      { class: "bring", ontoggle: () => this.refresh() },
      make("summary", {}, "bring a model"),
      make(
        "p",
        {},
        "Drop a folder with ",
        make("code", {}, "config.json"),
        " and ",
        make("code", {}, "model.safetensors"),
        " here, Hugging Face's or from ",
        make("code", {}, "gpt2-edu export"),
        ". It is read in this page and sent nowhere.",
      ),
      make(
        "div",
        { class: "controls" },
        make("button", { type: "button", onclick: () => files.click() }, "choose files"),
        make("button", { type: "button", onclick: () => folder.click() }, "choose a folder"),
        make("button", { type: "button", onclick: back }, "back to Crane World's model"),
        files,
        folder,
      ),
      this.offer,
      make("div", { class: "controls" }, this.fetch, this.bar, this.stop),
      this.stored,
      this.status,
    );
  }

  /** @param {string} sentence */
  say(sentence) {
    this.status.textContent = sentence;
  }

  /** @param {HTMLElement} zone  where files may be dropped */
  listen(zone) {
    zone.addEventListener("dragover", (event) => event.preventDefault());
    zone.addEventListener("drop", (event) => {
      const { dataTransfer } = event;
      if (!dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      this.element.open = true;
      this.take(() => modelFromDrop(dataTransfer));
    });
  }

  /** @param {() => Promise<Files>} find */
  async take(find) {
    try {
      const files = await find();
      this.say(`${files.name} is loaded …`);
      await this.use(files);
      this.say(`${files.name} runs in this page`);
    } catch (error) {
      this.say(/** @type {Error} */ (error).message);
    }
  }

  /** Say what is stored, and what a click would fetch. */
  async refresh() {
    if (!this.element.open) return;
    const stored = await list().catch(() => []);
    this.stored.replaceChildren(
      ...stored.map(({ name, bytes, complete }) =>
        make(
          "li",
          {},
          `${name}: ${Math.round(bytes / 1e6).toLocaleString("en")} MB in this browser `,
          ...(complete
            ? [make("button", { type: "button", onclick: () => this.load(name) }, "use")]
            : ["(unfinished) "]),
          make("button", { type: "button", onclick: () => this.delete(name) }, "delete"),
        ),
      ),
    );
    const part = stored.find(({ name }) => name === "gpt2");
    const offer = describe(this.published.gpt2);
    const disk = location.protocol === "file:"; // such pages have no storage
    this.fetch.hidden = disk || (part?.complete ?? false);
    this.fetch.textContent = part ? "go on fetching GPT-2" : "fetch GPT-2";
    this.offer.textContent = disk
      ? "A page that was opened from a disk has no storage: download the files yourself and choose them."
      : `${offer}.`;
  }

  /** @param {string} name */
  load(name) {
    return this.take(async () => ({ name, ...(await open(name)) }));
  }

  /** @param {string} name */
  async delete(name) {
    const done = await remove(name).then(
      () => `${name} is deleted from this browser`,
      (error) => error.message,
    );
    this.say(done);
    await this.refresh();
  }

  /** @param {string} name */
  async download(name) {
    const published = this.published[name];
    const { answer, cancel } = fetchModel(name, published, (sentence, share) => {
      this.bar.value = share;
      this.say(sentence);
    });
    this.stop.onclick = cancel;
    this.busy(true);
    try {
      await answer;
      await this.load(name);
    } catch (error) {
      this.say(/** @type {Error} */ (error).message);
    } finally {
      this.busy(false);
      await this.refresh();
    }
  }

  /** @param {boolean} busy */
  busy(busy) {
    this.fetch.disabled = busy;
    this.bar.hidden = !busy;
    this.stop.hidden = !busy;
  }
}
