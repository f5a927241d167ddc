// Read a model card: a config.json that is chosen, typed, pasted or dropped, and another beside it.

import { make } from "../exhibits/dom.mjs";
import { cacheBytes, flopsByPart, parameters, parametersByPart, sum } from "./count.mjs";
import { FORMS } from "./count.mjs";
import { many } from "./read.mjs";
import { OWN, side } from "./side.mjs";
import { bytes } from "./tables.mjs";
import { PARTS, view, within } from "./view.mjs";

/** @import { Named } from "./view.mjs" */

/** @type {import("../exhibits/exhibit.mjs").Kind} */
export function card({ settings, state, say, element, sentence, update }) {
  const examples = /** @type {import("./side.mjs").Examples} */ (settings.examples);
  const ids = Object.keys(examples);
  state.declare("card", ids[0], { among: [...ids, OWN] });
  state.declare("beside", "", { among: ["", ...ids, OWN] });
  state.declare("tokens", 1024, { min: 1, max: 2 ** 24, whole: true });
  // A card of the reader's own is in no address: who comes by such a link sees the first example.
  for (const key of ["card", "beside"])
    if (state.get(key) === OWN) state.set({ [key]: state.first(key) });
  const sides = ["card", "beside"].map((key, nth) => side(nth, key, examples, state, update));

  /** @type {Named[]} */
  let cards = [];
  let steps = [1]; // lengths that the slider offers
  const slider = make("input", {
    type: "range",
    min: "0",
    "aria-label": "tokens of the text",
    oninput: () => state.set({ tokens: steps[Number(slider.value)] }),
  });
  const told = make("output");
  const length = make("div", { class: "slider" }, make("span", {}, "a text of ", told), slider);
  const [above, below] = [0, 1].map(() => make("div", { class: "card-view" }));
  const tokens = () => steps[nearest(steps, state.get("tokens"))];

  element.ondragover = (event) => {
    if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
  };
  element.ondrop = (event) => {
    const files = [...(event.dataTransfer?.files ?? [])];
    if (!files.length) return; // a text falls into the field below it
    event.preventDefault();
    const second = sides[1].box.contains(/** @type {Node} */ (event.target));
    if (files.length > 1) sides.forEach(({ open }, i) => open(files[i]));
    else sides[Number(second)].open(files[0]);
  };

  return {
    nodes: [
      make("div", { class: "card-sides" }, ...sides.map(({ box }) => box)),
      sentence,
      above,
      length,
      below,
    ],
    show() {
      const read = sides.map((one) => one.read());
      const wrong = read.filter((one) => typeof one === "string");
      cards = /** @type {Named[]} */ (read.filter((one) => one && typeof one === "object"));
      sentence.hidden = wrong.length > 0; // each side shows its own, this is read aloud
      say(wrong.length ? wrong.join(" ") : summary(cards));
      length.hidden = above.hidden = below.hidden = !cards.length;
      if (!cards.length) return;
      steps = lengths(Math.max(...cards.map((one) => one.card.blockSize)));
      slider.max = String(steps.length - 1);
      slider.value = String(steps.indexOf(tokens()));
      told.textContent = `${many(tokens())} token${tokens() === 1 ? "" : "s"}`;
      slider.setAttribute("aria-valuetext", told.textContent);
      const open = above.querySelector(".card-nothing")?.hasAttribute("open") ?? false;
      const [lines, parts, ...others] = view(cards, tokens());
      above.replaceChildren(lines, parts);
      below.replaceChildren(...others); // these depend on the length
      above.querySelector(".card-nothing")?.toggleAttribute("open", open);
    },
    table: () => exact(cards, tokens()),
  };
}

/**
 * Powers of two, and a window that is none.
 * @param {number} most
 */
function lengths(most) {
  const powers = Array.from({ length: Math.floor(Math.log2(most)) + 1 }, (_, i) => 2 ** i);
  return powers.at(-1) === most ? powers : [...powers, most];
}

/**
 * @param {number[]} steps  rising
 * @param {number} wanted
 */
function nearest(steps, wanted) {
  const past = steps.findIndex((step) => step > wanted);
  return past < 0 ? steps.length - 1 : Math.max(0, past - 1);
}

/** @param {Named[]} cards */
function summary(cards) {
  const [one, other] = cards;
  if (!other) {
    const total = parameters(one.card);
    return (
      `${first(one.name)} has ${many(total)} parameters in ${many(one.card.nLayer)} blocks, ` +
      `${bytes(2 * total)} in bfloat16. Each token of a text adds ${bytes(cacheBytes(one.card))} to the cache.`
    );
  }
  const [large, small] = [...cards].sort((a, b) => parameters(b.card) - parameters(a.card));
  const times = (/** @type {(card: Named["card"]) => number} */ count) => {
    const ratio = Number((count(large.card) / count(small.card)).toPrecision(3));
    return `${ratio === 1 ? "" : `${many(ratio)} times `}as many`;
  };
  return (
    `${first(large.name)} has ${times(parameters)} parameters as ${small.name}, and for each token ` +
    `of a text its cache takes ${times((card) => cacheBytes(card))} bytes.`
  );
}

/** @param {string} name */
const first = (name) => name[0].toUpperCase() + name.slice(1);

/**
 * Every number, not rounded.
 * @param {Named[]} cards
 * @param {number} tokens
 */
function exact(cards, tokens) {
  /** @type {(name: string, count: (card: Named["card"]) => number) => string[]} */
  const row = (name, count) => [name, ...cards.map((one) => many(count(one.card)))];
  const at = (/** @type {Named["card"]} */ card) => within(card, tokens);
  return {
    caption: `The numbers in full, for a text of ${many(tokens)} tokens`,
    columns: ["", ...cards.map(({ name }) => name)],
    rows: [
      row("parameters", parameters),
      ...Object.entries(PARTS).map(([part, name]) =>
        row(`of ${name}`, (card) => parametersByPart(card)[part]),
      ),
      ...FORMS.map(([form, each]) =>
        row(`bytes of weights, ${form}`, (card) => parameters(card) * each),
      ),
      row("bytes of cache, a token", (card) => cacheBytes(card)),
      row("bytes of cache, all tokens", (card) => cacheBytes(card) * at(card)),
      row("FLOPs a token", (card) => sum(flopsByPart(card, at(card)))),
    ],
  };
}
