// Chapter 7: what one unit looks for and what it says. The places where it fires most are stored with
// the page; what its column does to the words is computed; and its answers can be made louder, while
// the model writes on.

import { bundle } from "../page.mjs";
import { nextAfter } from "./answers.mjs";
import { Bars, goes } from "./bars.mjs";
import { beside, fixed, make, quoted } from "./dom.mjs";
import { Strip } from "./strip.mjs";
import { Switchboard, choose, slider } from "./switchboard.mjs";

/** @import { model as PageModel } from "./page_model.mjs" */
/** @typedef {[number, number[]]} Firing  its answer; ids up to that token, and the next */

const MOST = 24; // tokens
const SHOWN = 5; // tokens that come next
const WORDS = 5; // that a column raises most
const WRITTEN = 12; // tokens of a story
const LOUDEST = 5; // times
const FULL = 10; // tokens of a stored place; fewer where the story begins
const SEPARATOR = "."; // of a block and a unit, as in 1.356

/** @type {import("./exhibit.mjs").Kind} */
export function unit({ settings, state, model, say }) {
  const { nLayer, nEmbd: C } = model.present.config;
  const F = 4 * C;
  const blocks = Array.from({ length: nLayer }, (_, n) => String(n));
  const examples = /** @type {{unit: string, text: string, name: string}[]} */ (settings.examples);
  const [ownBlock, ownUnit] = examples[0].unit.split(SEPARATOR);
  state.declare("reads", examples[0].text);
  state.declare("within", ownBlock, { among: blocks });
  state.declare("which", Number(ownUnit), { min: 0, max: F - 1, whole: true });
  state.declare("times", 1, { min: 0, max: LOUDEST });

  const chips = make(
    "div",
    { class: "chips", role: "group", "aria-label": "units" },
    ...examples.map(({ unit, text, name }) => {
      const [within, which] = unit.split(SEPARATOR);
      const onclick = () => state.set({ reads: text, within, which: Number(which), times: 1 });
      return make("button", { onclick }, `${unit}: ${name}`);
    }),
  );
  const strip = new Strip({ value: state.get("reads"), onText: (reads) => state.set({ reads }) });
  const controls = new Switchboard(state, [
    choose("within", "block", blocks),
    slider("which", "unit", { max: F - 1, step: 1, decimals: 0 }),
  ]);
  const times = new Switchboard(state, [
    slider("times", "its answers, times", { max: LOUDEST, step: 0.1, decimals: 1 }),
  ]);
  const asks = make("p", { class: "soft" });
  const firings = make("ol", { class: "firings", "aria-label": "where it fires most" });
  const says = make("div", { class: "pushes" });
  const bars = new Bars({ rows: SHOWN });
  const story = make("div", { class: "written" });
  /** @type {{name: string, up: string[], down: string[]} | null} */
  let words = null;

  /** @param {Firing} firing */
  const firing = ([answer, ids]) => {
    const { tokenizer } = model.present;
    const [next, last] = [ids[ids.length - 1], ids[ids.length - 2]];
    const onclick = () => {
      const reads = last === tokenizer.eot ? "" : tokenizer.decode(ids.slice(0, -1)).trim();
      state.set({ reads, times: 1 });
    };
    const before = beginning(tokenizer.decode(ids.slice(0, -2)), ids.length);
    return make(
      "li",
      {},
      make(
        "button",
        { onclick, title: "read this" },
        before,
        make("b", {}, last === tokenizer.eot ? model.show(last) : tokenizer.decode([last])),
        make("i", {}, ` → ${model.show(next)}`),
      ),
      make("span", {}, fixed(answer, 1)),
    );
  };

  /** @param {Firing[] | null} found */
  const paintFirings = (found) => {
    firings.replaceChildren(...(found ?? []).map(firing));
    if (!found) asks.textContent = "Where the units of this model fire was not looked for.";
    else if (!found.length) asks.textContent = "It fires nowhere in 2,000 stories.";
    else asks.textContent = "In 2,000 stories it fires most at the last word of:";
  };

  return {
    nodes: [
      chips,
      controls.element,
      beside([asks, firings], [make("p", { class: "soft" }, "When it fires, its column"), says]),
      strip.element,
      times.element,
      bars.element,
      story,
    ],
    show: async (latest) => {
      const [text, block, which, factor] = state.all("reads", "within", "which", "times");
      const { ids, cut } = await model.encode(text, MOST);
      const path = `transformer.h.${block}.mlp.act`;
      const name = `${block}${SEPARATOR}${which}`;
      const request = { ids, record: [path], lastOnly: true };
      const was = await model.run({ ...request, key: "unit, as it was" });
      if (!was || !latest()) return;
      const louder = (/** @type {Float32Array} */ act) => scaled(act, which, F, factor);
      const edits = { [path]: louder(was.tensor(path).values) };
      const now = factor === 1 ? was : await model.run({ ...request, key: "unit", edits });
      if (!now || !latest()) return;
      words = words?.name === name ? words : { name, ...(await pushes(model, block, which)) };
      const found = model.present.own ? null : await stored(Number(block), which);
      if (!latest()) return;

      const answers = ids.map((_, t) => was.tensor(path).values[t * F + which]);
      const loudest = Math.max(1, ...answers);
      const pieces = ids.map((id, t) => {
        const share = Math.max(0, answers[t] / loudest);
        return { name: model.show(id), mark: "lit", share };
      });
      strip.set(pieces, { text, cut, note: "The deeper the colour, the larger its answer." });
      controls.set();
      times.set();
      paintFirings(found);
      says.replaceChildren(
        make("p", {}, "raises ", ...codes(words.up)),
        make("p", {}, "lowers ", ...codes(words.down)),
      );
      const [p, q] = [was, now].map(({ logits }) => model.probabilities(logits));
      const moved = factor !== 1;
      bars.set(
        nextAfter(text, q, moved ? p : undefined, SHOWN),
        `what comes next${moved ? " (dashed: with its answers as they were)" : ""}`,
      );
      const at = ids.length - 1;
      const is = `At ${pieces[at].name} unit ${name} answers ${fixed(answers[at], 2)}.`;
      const top = p.reduce(
        (most, _, id) => (Math.abs(q[id] - p[id]) > Math.abs(q[most] - p[most]) ? id : most),
        0,
      );
      say(
        moved
          ? `${is} Times ${fixed(factor, 1)}, ${quoted(model.show(top))} ${goes(p[top], q[top])}.`
          : is,
      );

      const decode = (/** @type {number[] | null} */ more) =>
        more && model.present.tokenizer.decode(more);
      const plain = decode(await writeOn(model, ids, path, null));
      const other = moved ? decode(await writeOn(model, ids, path, louder)) : plain;
      if (plain === null || other === null || !latest()) return;
      const soft = (/** @type {string} */ words) => make("span", { class: "soft" }, words);
      const how = moved ? "With its answers changed: " : "It goes on: ";
      story.replaceChildren(make("p", {}, soft(how), make("b", {}, text), `${other} …`));
      if (moved)
        story.append(make("p", {}, soft(other === plain ? "As before." : `Before:${plain} …`)));
    },
    act: (hand) => hand.slide("its answers, times", LOUDEST),
    whole: () => {
      const [text, block, which] = state.all("reads", "within", "which");
      return { text, at: "-1", place: `${block}.mlp.${which}` };
    },
    table: () => ({
      caption: "What comes next.",
      columns: ["token", "now", "before"],
      rows: bars.table,
    }),
  };
}

/**
 * The words before the one at which a unit fires. A word that begins before them is left out.
 * @param {string} text
 * @param {number} tokens  with that one and the next
 */
function beginning(text, tokens) {
  return tokens < FULL ? text : `… ${text.replace(/^\S*\s*/, "")}`;
}

/** @param {string[]} names */
function codes(names) {
  return names.flatMap((name) => [make("code", {}, name), " "]);
}

/**
 * All answers, those of one unit times a factor.
 * @param {Float32Array} act  (T, F)
 * @param {number} which
 * @param {number} F
 * @param {number} factor
 */
function scaled(act, which, F, factor) {
  const values = act.slice();
  for (let i = which; i < values.length; i += F) values[i] *= factor;
  return values;
}

/**
 * The places where a unit of the book's model fires most: fetched once, when they are asked for.
 * @param {number} block
 * @param {number} which
 * @returns {Promise<Firing[] | null>}
 */
async function stored(block, which) {
  const files = /** @type {any} */ (await bundle("crane_units").catch(() => null));
  return files && files.blocks[block][which];
}

/**
 * The words that a unit's column raises and lowers most, as the last norm and the table read it. The
 * difference between the column and its opposite is free of the norm's own bias.
 * @param {typeof PageModel} model
 * @param {string} block
 * @param {number} which
 */
async function pushes(model, block, which) {
  const { nEmbd: C, vocabSize: V } = model.present.config;
  const module = `transformer.h.${block}.mlp.c_proj`;
  const { weight } = await model.part({ module, rows: [0, C], columns: [which, which + 1] });
  const both = Float32Array.from([...weight, ...weight.map((/** @type {number} */ w) => -w)]);
  const logits = await model.read(both, "a unit's column");
  if (!logits) return { up: [], down: [] };
  const order = Array.from({ length: V }, (_, id) => id).sort(
    (a, b) => logits[b] - logits[V + b] - (logits[a] - logits[V + a]),
  );
  const names = (/** @type {number[]} */ ids) => ids.map((id) => model.show(id));
  return { up: names(order.slice(0, WORDS)), down: names(order.slice(-WORDS).reverse()) };
}

/**
 * The likeliest tokens, one after the other, with the unit's answers changed at every token. Its own
 * block reads the stream before it writes there, so what it answers is known from a pass without edit.
 * @param {typeof PageModel} model
 * @param {number[]} prompt
 * @param {string} path
 * @param {((act: Float32Array) => Float32Array) | null} change
 * @returns {Promise<number[] | null>}  null if another request came meanwhile
 */
async function writeOn(model, prompt, path, change) {
  const { tokenizer, config } = model.present;
  const ids = prompt.slice();
  const request = { ids, lastOnly: true, key: "unit, its story" };
  while (ids.length < Math.min(prompt.length + WRITTEN, config.blockSize)) {
    let run = await model.run({ ...request, record: change ? [path] : false });
    if (run && change)
      run = await model.run({ ...request, edits: { [path]: change(run.tensor(path).values) } });
    if (!run) return null;
    const { logits } = run;
    const next = logits.reduce((best, value, id) => (value > logits[best] ? id : best), 0);
    if (next === tokenizer.eot) break;
    ids.push(next);
  }
  return ids.slice(prompt.length);
}
