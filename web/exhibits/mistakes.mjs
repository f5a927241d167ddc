// Chapter 12: make the usual mistakes of loading, and see which of them show: in the parity table,
// in the loss, in what the model writes. That it loaded does not mean that it is right.

import { loadTokenizer } from "../page.mjs";
import { row } from "./as_table.mjs";
import { Bars } from "./bars.mjs";
import { MISTAKES } from "./broken.mjs";
import { beside, fixed, make, short, visible } from "./dom.mjs";
import { Loading } from "./loading.mjs";
import { LOOK_UP, move } from "./motion.mjs";
import { START } from "./page_model.mjs";
import { textStrip } from "./strip.mjs";

/** @import { Parity } from "./loading.mjs" */

const MOST = 24; // tokens of the reader's text
const WRITTEN = 14; // tokens
const BLIND = Math.log(1024); // the loss of blind guessing

/** @type {import("./exhibit.mjs").Kind} */
export function mistakes({ settings, state, model, say }) {
  const all = MISTAKES.map(([key]) => key);
  state.declare("text", settings.text);
  state.declare("wrong", [], { among: all });
  const loading = new Loading(() => model.started());

  const strip = textStrip(state, settings, { label: "a beginning, which each model continues" });
  const boxes = MISTAKES.map(([key, name]) => {
    const onchange = () => {
      const rest = state.get("wrong").filter((/** @type {string} */ one) => one !== key);
      state.set({ wrong: box.checked ? [...rest, key] : rest });
    };
    const box = make("input", { type: "checkbox", onchange });
    return { key, box, label: make("label", { class: "switch" }, box, name) };
  });
  const rows = make("tbody");
  const bar = new Bars({
    label: `on a story it has not seen (blind guessing: ${fixed(BLIND, 2)})`,
    rows: 1,
    write: (value) => fixed(value, 4),
  });
  const texts = { right: make("q"), now: make("q") };
  /** @type {Map<string, string[]>} */
  const tried = new Map();
  let asked = ""; // the text that they continue

  let marked = ""; // what differed before

  /** What differs turns red one after the other, as it spreads through the model. */
  const spread = () => {
    [...rows.querySelectorAll(".differs")].forEach((row, i) => {
      move(row, [{ opacity: 0.1, translate: "0 -0.5rem" }, {}], { delay: (i * LOOK_UP) / 5 });
    });
  };

  /** @param {Parity} parity */
  const paintParity = (parity) => {
    const first = parity.find(({ far }) => far > 0);
    const cells = parity.map(({ name, far }) => [name, far ? short(far) : "0", far ? "≠" : "="]);
    rows.replaceChildren(
      ...cells.map(([name, far, sign], i) => {
        const mark = parity[i] === first ? "differs first" : parity[i].far ? "differs" : "";
        const line = row(name, [far, sign]);
        line.className = mark;
        return line;
      }),
    );
    const marks = [...rows.children].map(({ className }) => className).join();
    if (marked && marked !== marks) spread();
    marked = marks;
    return first?.name;
  };

  return {
    nodes: [
      make(
        "div",
        { class: "switchboard", role: "group", "aria-label": "mistakes" },
        ...boxes.map(({ label }) => label),
      ),
      make("p", { class: "soft" }, "both models continue this text, or start from nothing"),
      strip.element,
      beside(
        [
          make("p", { class: "soft" }, "each module's largest difference from the correct model"),
          make("table", { class: "parity" }, rows),
        ],
        [
          bar.element,
          make("p", { class: "soft" }, "the correct model writes"),
          make("p", {}, texts.right),
          make("p", { class: "soft" }, "this one writes"),
          make("p", {}, texts.now),
        ],
      ),
    ],
    show: async (latest) => {
      const text = state.get("text");
      const wrong = all.filter((key) => state.get("wrong").includes(key));
      for (const { key, box } of boxes) box.checked = wrong.includes(key);
      const tokenizer = await loadTokenizer("crane");
      const { eot } = tokenizer;
      const own = tokenizer.encode(text);
      const ids = [eot, ...own.slice(-MOST)];
      const names = ids.map((id, i) => (i ? visible(tokenizer.show(id)) : START));
      const cut = own.length - MOST;
      const pieces = ids.map((id, i) => ({ name: names[i], id }));
      strip.set(pieces, { text, cut });

      const story = [eot, ...tokenizer.encode(settings.story), eot];
      const right = await loading.measure([], story);
      const expected = await loading.write([], ids, WRITTEN);
      if (!latest()) return;
      const now = await loading.measure(wrong, story);
      if (!latest()) return;
      const first = paintParity(now.parity);
      const shown = { id: 0, name: "loss", p: now.loss, before: right.loss };
      bar.set([shown], undefined, 1.5 * BLIND);
      const written = await loading.write(wrong, ids, WRITTEN);
      if (!latest()) return;
      const inWords = (/** @type {number[]} */ list) =>
        tokenizer.decode(list.filter((id) => id !== eot));
      texts.right.textContent = inWords(expected).trim();
      texts.now.textContent = inWords(written).trim();

      const which = MISTAKES.filter(([key]) => wrong.includes(key)).map(([, name]) => name);
      const name = which.join(", ") || "all right";
      if (text !== asked) tried.clear();
      asked = text;
      tried.set(name, [first ?? "none", fixed(now.loss, 4), inWords(written)]);
      const same = String(written) === String(expected) ? "the same text" : "a different text";
      const losses = `Its loss is ${fixed(now.loss, 4)}, the correct model's ${fixed(right.loss, 4)}`;
      say(
        first
          ? `It loads without an error (${name}) and writes ${same}. ${losses}. The first module that differs is ${first}.`
          : `All is right. No module differs, and the loss is ${fixed(right.loss, 4)}.`,
      );
    },
    act: async (hand) => {
      state.set({ wrong: [] });
      await hand.pause();
      for (const { box } of boxes.slice(0, 3)) {
        await hand.press(box);
        await hand.pause(700);
        state.set({ wrong: [] });
      }
    },
    whole: () => ({ text: state.get("text") || settings.chips?.[0] || "" }),
    table: () => ({
      caption: `What you have tried. The text is written after: ${state.get("text")}`,
      columns: ["mistake", "first module that differs", "loss", "it writes"],
      rows: [...tried].map(([name, row]) => [name, ...row]),
    }),
  };
}
