// What has come of a run, and what a reader does with the model: show it everywhere, save it, write
// with it.

import { make } from "../exhibits/dom.mjs";
import { inWords } from "../exhibits/model_choice.mjs";
import { kept } from "../exhibits/own.mjs";
import { runs, save } from "./start.mjs";
import { marked, verdict, whole } from "./stories.mjs";
import { result, rightOf } from "./words.mjs";

/** @import { Page } from "../exhibits/exhibit.mjs" */
/** @import { Side } from "./drive.mjs" */

const WORDS = 5; // of a text, which the picture of the whole begins with
const LETTERS = 40; // at most
const EXAMPLES = 4; // for the picture
const READ = 10_000; // characters in which they are looked for
const OPENS = "It opens the page “Open the model” with your model. ";
const SHOWS =
  "Every exhibit of the book then shows it, until you press “the book’s model” below one of them.";

/**
 * How texts begin, each beginning once.
 * @param {string[]} texts
 */
function beginnings(texts) {
  const words = texts.map((text) => text.match(/\S+\s*/g)?.slice(0, WORDS) ?? []);
  const begun = words.map((some) => Array.from(some.join("").trim()).slice(0, LETTERS).join(""));
  return [...new Set(begun)].filter(Boolean);
}

/** Where the book's pages are, seen from this one; undefined elsewhere. */
const rootOf = () => document.documentElement.dataset.content_root;

export class Takeaway {
  /**
   * @param {Page} page
   * @param {() => Side} side  whose model is meant
   */
  constructor({ model }, side) {
    this.model = model;
    this.side = side;
    this.seed = 0;
    /** @param {() => Promise<string>} act  what it did, in a sentence */
    const button = (/** @type {string} */ name, act) => {
      const one = make("button", {
        onclick: async () => {
          one.disabled = true;
          this.told.textContent = await act().catch(inWords);
          one.disabled = false;
        },
      });
      one.textContent = name;
      return one;
    };
    this.shown = 0; // the step of the text that is shown by itself
    this.result = make("p", { class: "result", role: "status" });
    this.prompt = make("input", { type: "text", "aria-label": "the beginning of a text" });
    this.written = make("p", { class: "story written" });
    this.judged = make("p", { class: "soft", role: "status" });
    const write = button("write", () => this.write(this.prompt.value));
    this.further = button("write on", () => this.write(this.text));
    this.text = ""; // written so far
    this.forgot = false; // it was said that old tokens are
    this.prompt.addEventListener("keydown", (event) => event.key === "Enter" && write.click());
    this.twenty = button("judge 20 stories", async () => {
      await this.side().judge(); // the first line says what came of it
      return "";
    });
    const everywhere = button("use this model everywhere", () => this.everywhere());
    everywhere.classList.add("main");
    this.there = make("p", { class: "soft" });
    this.used = false; // it is the model of all exhibits
    this.told = make("p", { class: "told", role: "status" });
    this.element = make(
      "section",
      { class: "takeaway", "aria-label": "take it along", hidden: true },
      make("p", { class: "head" }, "It is yours"),
      this.result,
      this.written,
      this.judged,
      this.further,
      everywhere,
      this.there,
      make("div", { class: "write" }, this.prompt, write, this.twenty),
      make(
        "div",
        { class: "switchboard" },
        button("save as a file", async () => {
          const files = await this.side().files();
          const file = (await runs()).download(files);
          save(file);
          return `${file.name} is saved. GPT2.from_pretrained opens it, and so does “use your model” below every exhibit.`;
        }),
        button("save for transformers", async () => {
          const folder = await (await runs()).folderOf(await this.side().files());
          save(folder);
          return `${folder.name} is saved. Unpack it: GPT2LMHeadModel.from_pretrained opens the folder.`;
        }),
      ),
      this.told,
    );
  }

  /** Whether the page can be left for the picture of the whole, and nothing is lost. */
  get leads() {
    const { stored, handle } = this.side();
    const disk = location.protocol === "file:"; // some browsers keep nothing there for another page
    return Boolean(rootOf() !== undefined && stored && !handle?.trouble && !disk);
  }

  /** Make it the model of all exhibits, and go to the picture of the whole. */
  async everywhere() {
    const side = this.side();
    const from = this.from();
    const { name } = await this.model.use({ ...(await side.files()), from });
    const [text = ""] = from ? [] : beginnings([side.marks.at(-1)?.story ?? ""]);
    const query = text && `?${new URLSearchParams({ text })}`; // a reader's text is not sent
    const href = `${rootOf() ?? ""}book/model.html${query}`;
    const stays = rootOf() !== undefined && (await kept())?.name === name; // for other pages
    if (stays && this.leads) {
      location.assign(href);
      return "";
    }
    this.used = true;
    this.there.hidden = !stays;
    this.there.replaceChildren(
      make("a", { href }, "See it on the page “Open the model”"),
      ", or in any chapter.",
    );
    if (stays && location.protocol !== "file:")
      return `All exhibits of the book now show ${name}, until you choose another.`;
    return `This page now shows ${name}. The browser may not keep it for other pages: save it as a file, and choose that with “use your model” there.`;
  }

  /** @param {string} prompt */
  async write(prompt) {
    const { handle, plan } = this.side();
    const { text, forgot, ...found } = await handle.write(prompt, ++this.seed);
    this.text = text;
    this.written.replaceChildren(...marked(whole(text).text, found.failsAt ?? null));
    this.judged.replaceChildren(...verdict({ ...found, story: text }, plan));
    if (forgot && !this.forgot) {
      this.judged.textContent = `The model sees ${plan?.model.T} tokens at once, and forgets the oldest as it writes on.`;
    }
    this.forgot ||= Boolean(forgot);
    this.further.hidden = plan?.data.kind !== "text";
    return "";
  }

  /** What the other pages are told of a text of the reader's. */
  from() {
    const { data } = this.side().plan ?? {};
    if (data?.kind !== "text") return undefined;
    const sentences = data.text.slice(0, READ).split(/(?<=[.!?…。！？؟])\s*|\n+/u);
    return { unit: data.unit, examples: beginnings(sentences).slice(0, EXAMPLES) };
  }

  /**
   * Where the run was watched once it has ended, else below it.
   * @param {boolean} ended
   * @param {Element} top  what it stands before then
   * @param {Element} bottom  what it stands after else
   * @returns {boolean}  whether it has come to the top
   */
  place(ended, top, bottom) {
    const { element } = this;
    if (ended === (element.nextElementSibling === top)) return false;
    const had = element.contains(document.activeElement) ? document.activeElement : null;
    if (ended) top.before(element);
    else bottom.after(element);
    /** @type {HTMLElement | null} */ (had)?.focus({ preventScroll: true });
    return ended;
  }

  /** @param {boolean} ended  nothing more is learned */
  set(ended) {
    const side = this.side();
    const { plan, handle, reports, state } = side;
    this.element.hidden = !handle || state === "making" || !reports.length;
    this.twenty.hidden = !side.judged;
    const crane = plan?.data.kind === "crane";
    this.prompt.placeholder = crane ? "In the marsh, the crane" : "the beginning of a text";
    if (state === "making" || !reports.length) this.clear(); // of another model
    if (!this.used) this.there.textContent = (this.leads ? OPENS : "") + SHOWS;
    const twenty = side.counted.at(-1);
    const came = ended ? result(side) : twenty ? rightOf(twenty) : "";
    if (came !== this.result.textContent) this.result.textContent = came; // it is read aloud
    if (ended && !this.text) this.latest();
  }

  clear() {
    this.written.textContent = this.judged.textContent = this.told.textContent = this.text = "";
    this.used = this.there.hidden = false;
    this.further.hidden = true;
    this.forgot = false;
    this.shown = 0;
  }

  /** What the model wrote last, until the reader lets it write. */
  latest() {
    const { marks, plan } = this.side();
    const last = marks.at(-1);
    if (!last || last.step === this.shown) return;
    this.shown = last.step;
    this.written.replaceChildren(...marked(whole(last.story).text, last.failsAt));
    this.judged.replaceChildren(...verdict(last, plan));
  }
}
