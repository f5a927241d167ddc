// Chapter 3: a word among its neighbours, in vectors of two numbers. Its query against their keys
// gives shares; their values in these shares make the new word. A value moves no share.

import { Arrows } from "./arrows.mjs";
import { Bars } from "./bars.mjs";
import { make } from "./dom.mjs";
import { fixed } from "./exhibit.mjs";
import { Switchboard } from "./switchboard.mjs";

const [LOW, WITH_REJECTED, REACH] = [-0.5, -2.25, 1.5]; // of the planes

/** @typedef {[number, number]} Vector */
/** @typedef {{word: string, k: Vector, v: Vector, seen: boolean, score: number, share: number}} One */
/** @typedef {{inputs: Record<string, any>, words: One[], result: Vector, average: Vector}} Seen
 *   `inputs` is what the reader can change, by name */

/** @type {import("./exhibit.mjs").Kind} */
export function crane({ settings, state, say }) {
  const { word: self, words: vectors, rejected, sentences } = settings;
  /** @type {Record<string, Vector>} */
  const first = { q: settings.q };
  for (const [word, { k, v }] of Object.entries(vectors)) {
    first[`k.${word}`] = k;
    first[`v.${word}`] = v;
  }
  const limits = { min: WITH_REJECTED, max: REACH };
  for (const [name, [x, y]] of Object.entries(first)) {
    state.declare(`${name}.x`, x, limits);
    state.declare(`${name}.y`, y, limits);
  }
  const names = Object.keys(sentences);
  state.declare("sentence", names[0], { among: names });
  state.declare("rejected", false);
  state.declare("mask", false);
  const own = new Set(["sentence", "rejected", "mask"]);
  for (const name of Object.keys(first)) own.add(`${name}.x`).add(`${name}.y`);

  const onMove = (/** @type {string} */ name, /** @type {number} */ x, /** @type {number} */ y) =>
    state.set({ [`${name}.x`]: x, [`${name}.y`]: y });
  const [x, y] = settings.axes;
  const plane = { low: LOW, reach: REACH, x, y, onMove };
  const left = new Arrows({ label: "query and keys", ...plane });
  const right = new Arrows({ label: "values and the result", ...plane });
  const bars = new Bars({ label: `what the ${self} takes`, rows: 4 });
  const flip = new Switchboard(state, [
    { kind: "choice", key: "sentence", label: "sentence", options: names.map((n) => [n, n]) },
  ]);
  const controls = new Switchboard(state, [
    { kind: "switch", key: "rejected", label: `the ${rejected} stands beside it` },
    { kind: "switch", key: "mask", label: `the ${self} sees only itself and back` },
  ]);

  /** @returns {Seen} */
  const look = () => {
    const inputs = Object.fromEntries(
      Object.keys(first).map((name) => [name, [state.get(`${name}.x`), state.get(`${name}.y`)]]),
    );
    for (const name of ["sentence", "rejected", "mask"]) inputs[name] = state.get(name);
    const [me, ...others] = sentences[state.get("sentence")];
    const words = [me, ...(inputs.rejected ? [rejected] : []), ...others];
    return { inputs, ...attend(inputs, words) };
  };

  /** @type {Seen | null} */
  let now = null;
  /** @type {Seen | null} */
  let before = null;
  let hand = ""; // what was changed last

  return {
    nodes: [
      flip.element,
      make(
        "div",
        { class: "planes g2" },
        make("div", {}, make("p", { class: "soft" }, "query · key = score"), left.element),
        make("div", {}, make("p", { class: "soft" }, "values, and what they make"), right.element),
        bars.element,
      ),
      controls.element,
    ],
    show: () => {
      const [last, seen] = [now, look()];
      const changed = last ? Object.keys(seen.inputs).filter(differ(seen, last)) : [];
      const what = changed.length === 1 ? changed[0] : "";
      if (changed.length) {
        // Ghosts stand where things were before this arrow was taken.
        if (what !== hand || !(what in first)) before = what ? last : null;
        hand = what;
      }
      now = seen;
      paint(seen, before);
      say(sentence(seen, before, hand));
    },
    concerns: (changed) => [...changed].some((name) => own.has(name)),
    table: () => ({
      caption: `What the ${self} takes, and what becomes of it.`,
      columns: ["word", "score", "share", x, y],
      rows: now
        ? [
            ...now.words.map((one) => [one.word, one.score, one.share, ...one.v]),
            [`new ${self}`, "", "1", ...now.result],
            ["plain average", "", "", ...now.average],
          ]
        : [],
    }),
  };

  /**
   * @param {Seen} seen
   * @param {Seen | null} was
   */
  function paint({ inputs, words, result, average }, was) {
    const wide = [{ k: inputs.q, v: inputs.q }, ...words].some(
      ({ k, v }) => Math.min(...k, ...v) < LOW,
    );
    for (const one of [left, right]) {
      one.range(inputs.rejected || wide ? WITH_REJECTED : LOW, REACH);
    }
    const ghosts = (/** @type {string[]} */ of) =>
      of
        .filter((name) => was && String(was.inputs[name]) !== String(inputs[name]))
        .map((name) => ghost(`${name} before`, was?.inputs[name], name[0]));
    left.set([
      ...ghosts(["q", ...words.map(({ word }) => `k.${word}`)]),
      ...words.map(({ word, k, seen, score }) => ({
        ...tip(`k.${word}`, k, "k", `${word} ${seen ? fixed(score, 2) : "hidden"}`),
        ghost: !seen,
        free: true,
      })),
      { ...tip("q", inputs.q, "q thick", `q of ${self}`), free: true },
    ]);
    const lean = result[0] - result[1];
    const role = Math.abs(lean) < 5e-3 ? "plain" : lean > 0 ? "bird" : "machine";
    right.set([
      ...(was ? [ghost("before", was.result, role)] : []),
      ...(inputs.rejected ? [ghost("plain average", average, "plain", "plain average")] : []),
      ...ghosts(words.map(({ word }) => `v.${word}`)),
      tip(`new ${self}`, result, `${role} thick`, `new ${self}`),
      ...words.map(({ word, v, seen }) => ({
        ...tip(`v.${word}`, v, "v", seen ? word : `${word} hidden`),
        ghost: !seen,
        free: true,
      })),
    ]);
    bars.set(
      words.map(({ word, share }, i) => {
        const same = was?.words.length === words.length;
        const other = same ? was?.words[i] : was?.words.find((one) => one.word === word);
        return { id: i, name: word, p: share, before: other?.share };
      }),
    );
    flip.set();
    controls.set();
  }

  /**
   * What the last change has done.
   * @param {Seen} seen
   * @param {Seen | null} was
   * @param {string} what
   */
  function sentence({ inputs, words, result, average }, was, what) {
    const shares = words.map((one) => `${one.word} ${fixed(one.share)}`).join(", ");
    if (!was) return `Shares: ${shares}. The new ${self} is ${at(result)}.`;
    const frozen = words.length === was.words.length && words.every((one, i) => still(one, was, i));
    const moved = String(at(was.result)) === at(result);
    const turn = moved
      ? `the new ${self} stays at ${at(result)}`
      : `the new ${self} goes from ${at(was.result)} to ${at(result)}`;
    const [role, word] = what.split(".");
    const one = words.find((other) => other.word === word);
    const old = was.words.find((other) => other.word === word);
    if (role === "v" && one?.seen) {
      return `Another value of ${word}: no share moves (${shares}), and ${turn}.`;
    }
    if (role === "k" && one?.seen && old) {
      const score = `its score goes from ${fixed(old.score, 2)} to ${fixed(one.score, 2)}`;
      return `Another key of ${word}: ${score}, its share from ${fixed(old.share)} to ${fixed(one.share)}; ${turn}.`;
    }
    if (word) return `The ${self} does not see ${word}: no share moves, and ${turn}.`;
    if (what === "q") return `Another query. Shares now: ${shares}; ${turn}.`;
    if (what === "sentence") {
      const same = frozen ? `The same shares (${shares})` : `Shares now: ${shares}`;
      return `${same}, other values: ${turn}.`;
    }
    const far = words.find((other) => other.word === rejected);
    if (what === "rejected" && far?.seen) {
      const plain = `A plain average would give it ${fixed(1 / words.length, 2)} and make ${at(average)}`;
      return `The ${rejected} scores ${fixed(far.score, 2)} and gets ${fixed(far.share)}: ${turn}. ${plain}.`;
    }
    if (inputs.mask) return `Only its own share is left, 1: ${turn}, which is its own value.`;
    return `Shares now: ${shares}; ${turn}.`;
  }
}

/**
 * Score, normalise, aggregate; the first word among all, or with the mask among itself alone.
 * @param {Record<string, any>} inputs
 * @param {string[]} names
 */
function attend(inputs, names) {
  const words = names.map((word, i) => {
    const [k, v] = [inputs[`k.${word}`], inputs[`v.${word}`]];
    const score = inputs.q[0] * k[0] + inputs.q[1] * k[1];
    const seen = !inputs.mask || i === 0;
    return { word, k, v, seen, score, share: seen ? Math.exp(score) : 0 };
  });
  const sum = words.reduce((total, { share }) => total + share, 0);
  for (const one of words) one.share /= sum;
  const mix = (/** @type {(one: One) => number} */ weight) =>
    /** @type {Vector} */ (
      [0, 1].map((i) => words.reduce((total, one) => total + weight(one) * one.v[i], 0))
    );
  const n = words.filter(({ seen }) => seen).length;
  return {
    words,
    result: mix(({ share }) => share),
    average: mix(({ seen }) => (seen ? 1 / n : 0)),
  };
}

/**
 * @param {string} name
 * @param {Vector} vector
 * @param {string} role
 * @param {string} [label]
 */
function tip(name, [x, y], role, label = "") {
  return { name, x, y, role, label };
}

/** @type {(name: string, vector: Vector, role: string, label?: string) => import("./arrows.mjs").Arrow} */
function ghost(...arrow) {
  return { ...tip(...arrow), ghost: true };
}

/** @param {Vector} vector */
function at([x, y]) {
  return `(${fixed(x, 2)}, ${fixed(y, 2)})`;
}

/**
 * @param {One} one
 * @param {Seen} was
 * @param {number} i
 */
function still(one, was, i) {
  return Math.abs(one.share - was.words[i].share) < 5e-4;
}

/**
 * @param {Seen} a
 * @param {Seen} b
 */
function differ(a, b) {
  return (/** @type {string} */ name) => String(a.inputs[name]) !== String(b.inputs[name]);
}
