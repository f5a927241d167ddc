// Chapter 19: one console for all bugs of the museum. Hardly any raises an error: they are known by
// what lights up. What needs training with the bug was stored; maps, bars and text answer.

import { nextAfter, pieces } from "./answers.mjs";
import { Bars } from "./bars.mjs";
import { Board, heads as mapsOf } from "./board.mjs";
import { beside, make } from "./dom.mjs";
import { rove } from "./keys.mjs";
import { thrower } from "./knobs.mjs";
import { move } from "./motion.mjs";
import { BUGS, meet } from "./museum_bugs.mjs";
import { Curve, Signs, signs } from "./museum_signs.mjs";
import { inWords } from "./rest_of.mjs";
import { textStrip } from "./strip.mjs";
import { farthest } from "./vectors.mjs";

/** @import { Case, Sign } from "./museum_signs.mjs" */
/** @import { Pass } from "./museum_bugs.mjs" */
/** @import { Result } from "./page_model.mjs" */

const MOST = 24; // tokens
const WRITTEN = 12;
const SEED = 1;

const SHAKEN = [0, -6, 6, -4, 4, 0].map((x) => ({ translate: `${x}px` }));

/** @type {import("./exhibit.mjs").Kind} */
export function museum({ settings, state, model, say, sentence, element }) {
  const { config } = model.present;
  const [healthy, ...cases] = /** @type {Case[]} */ (settings.cases);
  const draws = /** @type {string[]} */ (settings.draws);
  const all = [healthy, ...cases];
  const named = (/** @type {string} */ name) => all.find((one) => one.name === name) ?? healthy;
  const layers = Array.from({ length: config.nLayer }, (_, n) => n);
  const names = layers.flatMap((n) => Array.from({ length: config.nHead }, (_, h) => `${n}.${h}`));
  const paths = layers.map((n) => `transformer.h.${n}.attn.weights`);
  state.declare("text", settings.text);
  state.declare("head", settings.head ?? "0.0", { among: names });
  state.declare("bug", healthy.name, { among: all.map(({ name }) => name) });
  state.declare("mystery", settings.mystery ?? 0, { min: 0, max: draws.length, whole: true });

  const strip = textStrip(state, settings);
  const board = new Board({ onHead: (i) => state.set({ head: names[i] }) });
  const bars = new Bars({ rows: 5 });
  const [curve, list] = [new Curve(), new Signs()];
  const line = make("pre", { class: "lines" });
  const small = make("p", { class: "stored" });
  const [wrote, rightly] = [make("p"), make("p", { class: "soft" })];
  const switches = all.map(({ name }) =>
    make("button", { onclick: () => state.set({ bug: name }) }, name),
  );
  const console = make("div", { class: "console", role: "group", "aria-label": "bugs" });
  console.append(...switches);
  rove(console);
  const another = () => {
    const mystery = 1 + Math.floor(Math.random() * draws.length);
    state.set({
      bug: healthy.name,
      mystery: mystery === state.get("mystery") ? (mystery % draws.length) + 1 : mystery,
    });
  };
  const open = () => state.set({ mystery: 0, bug: healthy.name });
  const invites = "a riddle: one hidden bug";
  const hide = make("button", { onclick: another }, invites);
  const end = make("button", { onclick: open }, "end the riddle");

  /** What is on, what is guessed, whether the guess is right. */
  const now = () => {
    const [guess, mystery] = [named(state.get("bug")), state.get("mystery")];
    const on = mystery ? named(draws[mystery - 1]) : guess;
    return { guess, mystery, on, known: on === guess };
  };
  let riddle = 0; // that is being solved
  /** @type {Set<string>} */
  const struck = new Set(); // suspects that were guessed in vain
  /** @type {Sign[]} */
  let shown = [];
  /** @type {{key: string, result: Result | null, text: string}} */
  let right = { key: "", result: null, text: "" };
  let written = ""; // whose text is shown

  /** @param {Sign[]} found */
  const tell = (found) => {
    const { guess, mystery, on, known } = now();
    const lit = found.filter((sign) => sign.lit).map(({ name, value }) => `${name} (${value})`);
    const count = `${lit.length} of ${found.length} signs`;
    const tries = struck.size + 1;
    const took = tries === 1 ? "at the first guess" : `at guess ${tries}`;
    if (mystery && known) return `Yes, it is ${on.name}, ${took}. ${on.symptom}`;
    if (mystery && guess !== healthy) {
      return `Not ${guess.name}. There you would see this: ${guess.symptom} Look again.`;
    }
    if (mystery)
      return `Riddle ${mystery}: a bug is on, no error is raised, and ${count} are lit. Which bug is it?`;
    if (on === healthy) return "No bug is on, and no sign is lit.";
    if (on.error) {
      const errors = cases.filter(({ error }) => error).length;
      return `An error at the first step: ${on.error}. ${errors} of ${cases.length} bugs does this.`;
    }
    if (!lit.length) return `With ${on.name} no error is raised, and no sign is lit at all.`;
    return `With ${on.name} no error is raised. These signs are lit: ${lit.join(", ")}.`;
  };

  /**
   * What runs the model for the latest round alone: an older one's passes would take the place of
   * its own.
   * @param {string} key
   * @param {() => boolean} latest
   */
  const runner = (key, latest) => async (/** @type {any} */ request) =>
    latest() ? model.run({ ...request, key }) : null;

  /**
   * Greedy would hide a nearly even choice: the text is drawn, with the same numbers each time.
   * @param {string} name
   * @param {number[]} ids
   * @param {() => boolean} latest
   */
  const write = async (name, ids, latest) => {
    const [random, text] = [thrower(SEED), [...ids]];
    const run = runner("museum writes", latest);
    const { eot } = model.present.tokenizer;
    while (text.length < ids.length + WRITTEN && text.length < config.blockSize) {
      const pass = { ids: [...text], prompt: ids.length, seed: SEED + text.length, config };
      const result = await meet(run, name, pass, { lastOnly: true });
      if (!result || !latest()) return null;
      const at = random();
      let sum = 0;
      const id = model.probabilities(result.logits).findIndex((p) => (sum += p) > at);
      if (id === eot) break;
      text.push(id);
    }
    return model.present.tokenizer.decode(text.slice(ids.length));
  };

  /**
   * @param {string} name
   * @param {number[]} ids
   * @param {() => boolean} latest
   */
  const writeBoth = async (name, ids, latest) => {
    const asked = `${name} ${ids}`;
    if (asked === written) return;
    [written, element.dataset.wrote] = ["", ""];
    [wrote.textContent, rightly.textContent] = ["It continues: …", ""];
    if (!right.text) right.text = (await write("", ids, latest)) ?? "";
    const text = name in BUGS ? await write(name, ids, latest) : right.text;
    if (text === null || !latest()) return;
    wrote.textContent = `It continues: ${text.trimStart()}`;
    rightly.textContent =
      text === right.text
        ? "So does the correct model."
        : `The correct model continues:${right.text}`;
    [written, element.dataset.wrote] = [asked, "yes"];
  };

  return {
    nodes: [
      make("div", { class: "side-by-side" }, hide, end),
      console,
      sentence,
      line,
      list.element,
      beside(curve.element, small),
      make(
        "p",
        { class: "title" },
        `Live: ${model.present.name}, trained without the bug, runs with it`,
      ),
      strip.element,
      beside(board.element, [bars.element, wrote, rightly]),
    ],
    show: async (latest) => {
      const { guess, mystery, on, known } = now();
      const [text, head] = [state.get("text"), state.get("head")];
      const { ids, cut } = await model.encode(text, MOST);
      const run = runner("museum", latest);
      /** @type {Pass} */
      const pass = { ids, prompt: ids.length, seed: SEED, config };
      const key = `${model.present.name} ${ids}`;
      if (right.key !== key) right = { key, result: await run({ ids, record: paths }), text: "" };
      const result = await meet(run, on.name, pass, { record: paths });
      const again = await meet(run, on.name, { ...pass, seed: SEED + 1 }, {});
      const other = [...ids.slice(0, -1), (ids[ids.length - 1] + 1) % config.vocabSize];
      const later = await meet(run, on.name, { ...pass, ids: other }, {});
      if (!right.result || !result || !again || !later || !latest()) return;
      const maps = paths.flatMap((path) => mapsOf(result.tensor(path)));
      const { vocabSize: V, blockSize, nLayer: N, nEmbd: C } = config;
      const expected = V * C + blockSize * C + N * (12 * C * C + 13 * C) + 2 * C;
      shown = signs(on, /** @type {any} */ (settings), {
        ...looks(maps, ids.length),
        again: farthest(result.logits, again.logits),
        past: farthest(result.logits.subarray(0, -V), later.logits),
        off: farthest(result.logits, right.result.logits),
        parameters: expected + (on.name === "tied by copy" ? V * C : 0),
        expected,
      });
      const tokens = model.names(ids);
      strip.set(pieces(ids), { text, cut });
      board.setHeads(
        maps.map((values, i) => ({ title: names[i], values })),
        names.indexOf(head),
      );
      board.set(maps[names.indexOf(head)], { rows: tokens, columns: tokens });
      const [p, before] = [result, right.result].map(({ logits }) => model.probabilities(logits));
      const ghost = on.name in BUGS ? before : undefined;
      list.set(shown);
      curve.set(on, healthy, /** @type {any} */ (settings));
      small.replaceChildren(
        ...(on.error ? [] : ["The small model (stored) writes", make("q", {}, on.text ?? "")]),
      );
      line.textContent = known && on !== healthy ? `right  ${on.right}\nwrong  ${on.wrong}` : "";
      if (riddle !== mystery) struck.clear();
      riddle = mystery;
      if (mystery && !known && guess !== healthy) struck.add(guess.name);
      switches.forEach((button, i) => {
        const pressed = all[i] === guess;
        const out = struck.has(all[i].name);
        if (out && !button.classList.contains("struck")) move(button, SHAKEN);
        button.classList.toggle("struck", out);
        button.title = out ? "it is not this one" : "";
        button.setAttribute("aria-pressed", String(pressed));
        button.tabIndex = pressed ? 0 : -1;
      });
      switches[0].textContent = mystery ? "no guess" : healthy.name;
      hide.textContent = mystery ? "another riddle" : invites;
      end.hidden = !mystery;
      say(tell(shown));
      writeBoth(on.name, ids, latest).catch((error) => (wrote.textContent = error.message));
      const next = nextAfter(text, p, ghost, 5);
      await inWords(model, bars, next, { ids, key: "museum, words", latest });
    },
    act: async (hand) => {
      if (!state.get("mystery")) await hand.press(hide);
      await hand.to(list.element.querySelector(".lit"));
      await hand.pause(600);
      await hand.press(switches[all.indexOf(now().on)]);
    },
    whole: () => ({ text: state.get("text"), place: state.get("head") }),
    table: () => ({
      caption: now().known ? `Signs of ${now().on.name}.` : "Signs of an unknown bug.",
      columns: ["sign", "source", "lit", "value"],
      rows: shown.map(({ name, live, lit, value }) => [
        name,
        live ? "live" : "stored",
        lit ? "lit" : "not lit",
        value,
      ]),
    }),
  };
}

/**
 * The most weight above the diagonal, and the sum of a row that is farthest from 1.
 * @param {ArrayLike<number>[]} maps  (n, n) each
 * @param {number} n
 */
function looks(maps, n) {
  let [ahead, sum] = [0, 1];
  for (const map of maps) {
    for (let row = 0; row < n; row++) {
      let total = 0;
      for (let column = 0; column < n; column++) {
        const weight = map[row * n + column];
        total += weight;
        if (column > row) ahead = Math.max(ahead, weight);
      }
      if (Math.abs(total - 1) > Math.abs(sum - 1)) sum = total;
    }
  }
  return { ahead, sum };
}
