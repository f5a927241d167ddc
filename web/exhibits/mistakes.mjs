// Chapter 12: make the usual mistakes of loading, and see which of them show: in the parity table,
// in the loss, in what the model writes. That it loaded does not mean that it is right.

import { loadTokenizer } from "../page.mjs";
import { Bars } from "./bars.mjs";
import { MISTAKES } from "./broken.mjs";
import { beside, fixed, make, visible, within } from "./dom.mjs";
import { Loading } from "./loading.mjs";
import { START } from "./page_model.mjs";
import { textStrip } from "./strip.mjs";

/** @import { Parity } from "./loading.mjs" */

const MOST = 24; // tokens of the reader's text
const WRITTEN = 14; // tokens
const FIRST = "square"; // the mistake that is made in the beginning
const LEAST = 1e-7; // the smallest difference that has a height
const RULES = [1, 1e-2, 1e-4, 1e-6];
const BLIND = Math.log(1024); // the loss of blind guessing

const DIFFERS =
  "How far each module's output is from the correct model's, as a share of its largest number. The " +
  "model is read from left to right; each line is a hundred times the one below.";

/** The height of a difference, from 0 to 1, in powers of ten. @param {number} far */
const high = (far) => within(1 - Math.log10(far) / Math.log10(LEAST), 0, 1);
/** @param {number} far */
const brief = (far) => (far < 1e-3 ? power(far) : fixed(far, far < 1 ? 2 : 1));
/** @param {number} far */
function power(far) {
  const [digits, exponent] = far.toExponential(0).split("e");
  const raised = exponent.replace(/[+-]/, "").replace(/\d/g, (n) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(n)]);
  if (far >= 1) return digits;
  return `${digits === "1" ? "" : `${digits}·`}10⁻${raised}`;
}

/** @type {import("./exhibit.mjs").Kind} */
export function mistakes({ settings, state, model, say, sentence: said }) {
  const all = MISTAKES.map(([key]) => key);
  state.declare("text", settings.text);
  state.declare("wrong", [FIRST], { among: all });
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
  const groups = make("ol", { "aria-label": "each module's largest difference" });
  const rules = RULES.map((far) => make("span", { style: `--far: ${high(far)}` }, power(far)));
  const spread = make(
    "div",
    { class: "spread g2" },
    make("p", { "aria-hidden": "true" }, ...rules),
    groups,
  );
  const bar = new Bars({
    label: `on a story it has not seen (blind guessing: ${fixed(BLIND, 2)})`,
    rows: 1,
    write: (value) => fixed(value, 4),
  });
  const texts = { right: make("q"), now: make("q") };
  /** @type {Map<string, string[]>} */
  const tried = new Map();
  let asked = ""; // the text that they continue

  /** @type {{item: HTMLElement, number: HTMLElement}[]} */
  let modules = [];
  /** The model from left to right: what comes before its blocks, each block, what comes after. */
  const lay = (/** @type {Parity} */ parity) => {
    /** @type {Map<string, HTMLElement[]>} */
    const parts = new Map();
    modules = parity.map(({ name }, i) => {
      const block = /^h\.\d+/.exec(name)?.[0];
      const part = block?.replace("h.", "block ") ?? (parts.size > 1 ? "output" : "embeddings");
      const number = make("span");
      const short = name === block ? "out" : name.replace(`${block}.`, "");
      const bar = make("span", { class: "slot" }, make("i"), number);
      const item = make("li", { title: name, style: `--nth: ${i}` }, bar, make("b", {}, short));
      parts.set(part, [...(parts.get(part) ?? []), item]);
      return { item, number };
    });
    const laid = [...parts].map(([name, items]) =>
      make(
        "li",
        { style: `--many: ${items.length}` },
        make("ol", {}, ...items),
        make("span", {}, name),
      ),
    );
    groups.replaceChildren(...laid);
    groups.getBoundingClientRect(); // so that they grow from where they are
  };

  /** What differs grows one after the other, as it spreads through the model. @param {Parity} parity */
  const paintParity = (parity) => {
    if (modules.length !== parity.length) lay(parity);
    const first = parity.find(({ far }) => far > 0);
    modules.forEach(({ item, number }, i) => {
      const { far } = parity[i];
      item.className = parity[i] === first ? "differs origin" : far ? "differs" : "";
      item.style.setProperty("--far", String(high(far)));
      number.textContent = far ? brief(far) : "=";
    });
    return first?.name;
  };

  return {
    nodes: [
      make(
        "div",
        { class: "switchboard", role: "group", "aria-label": "mistakes" },
        ...boxes.map(({ label }) => label),
      ),
      make("p", { class: "soft" }, DIFFERS),
      spread,
      said,
      bar.element,
      beside(
        [make("p", { class: "soft" }, "the correct model writes"), make("p", {}, texts.right)],
        [make("p", { class: "soft" }, "this one writes"), make("p", {}, texts.now)],
      ),
      make("p", { class: "soft" }, "both models continue this text, or start from nothing"),
      strip.element,
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
        state.set({ wrong: [] });
        await hand.press(box);
        await hand.pause(700);
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
