// Chapter 3: a word among its neighbours, in vectors of two numbers. Its query against their keys
// gives shares; their values in these shares make the new word. A value moves no share.

import { Arrows } from "./arrows.mjs";
import { Bars, goes } from "./bars.mjs";
import { fixed, make } from "./dom.mjs";
import { Switchboard, choose, flag } from "./switchboard.mjs";

/** @import { Arrow } from "./arrows.mjs" */
/** @typedef {[number, number]} Vector */
/** @typedef {{word: string, k: Vector, v: Vector, seen: boolean, score: number, share: number}} One */
/** @typedef {{inputs: Record<string, any>, words: One[], result: Vector, average: Vector}} Seen
 *   `inputs` is what the reader can change, by name: q, k.fish, v.fish, sentence … */

const [LOW, WITH_REJECTED, REACH] = [-0.5, -2.25, 1.5]; // of the planes

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
  const switches = ["sentence", "rejected", "mask"];
  state.declare("sentence", names[0], { among: names });
  state.declare("rejected", false);
  state.declare("mask", false);

  const [x, y] = settings.axes;
  const plane = {
    ...{ low: LOW, reach: REACH, x, y },
    /** @type {(spoken: string, x: number, y: number) => void} */
    onMove: (spoken, toX, toY) => {
      const name = Object.keys(first).find((key) => aloud(key, self) === spoken);
      state.set({ [`${name}.x`]: toX, [`${name}.y`]: toY });
    },
  };
  const left = new Arrows({ label: "query and keys", ...plane });
  const right = new Arrows({ label: "values and the result", ...plane });
  const bars = new Bars({ label: `shares: what the ${self} takes`, rows: 4 });
  const flip = new Switchboard(state, [choose("sentence", "sentence", names)]);
  const controls = new Switchboard(state, [
    flag("rejected", `add the ${rejected}`),
    flag("mask", `the ${self} sees only itself and earlier words`),
  ]);

  /** @returns {Seen} */
  const look = () => {
    const at = (/** @type {string} */ name) => [state.get(`${name}.x`), state.get(`${name}.y`)];
    const inputs = Object.fromEntries([
      ...Object.keys(first).map((name) => [name, at(name)]),
      ...switches.map((name) => [name, state.get(name)]),
    ]);
    const [me, ...others] = sentences[inputs.sentence];
    return attend(inputs, [me, ...(inputs.rejected ? [rejected] : []), ...others]);
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
        make("div", {}, make("p", { class: "soft" }, `values and the new ${self}`), right.element),
        bars.element,
      ),
      controls.element,
    ],
    show: () => {
      const [last, seen] = [now, look()];
      const changed = last
        ? Object.keys(seen.inputs).filter((name) => moved(name, seen, last))
        : [];
      if (changed.length) {
        const what = changed.length === 1 ? changed[0] : ""; // several at once: a reset
        // Ghosts stand where things were before this arrow was taken.
        if (what !== hand || !(what in first)) before = what ? last : null;
        hand = what;
      }
      now = seen;
      paint(seen, before);
      say(before ? happened(seen, before) : `Shares: ${shares(seen)}. New ${self}: ${at(seen)}.`);
    },
    concerns: (name) => switches.includes(name) || name.slice(0, -2) in first,
    act: async (hand) => {
      const name = `v.${now?.words.at(-1)?.word}`;
      const [fromX, fromY] = [state.get(`${name}.x`), state.get(`${name}.y`)];
      const group = right.groups.get(aloud(name, self));
      const tip = group?.querySelector(".handle");
      await hand.to(tip);
      await hand.tween(1600, (share) => {
        const [x, y] = [fromX + share * (-0.2 - fromX), fromY + share * (1.2 - fromY)];
        const [toX, toY] = [x, y].map((value) => Number(value.toFixed(2)));
        state.set({ [`${name}.x`]: toX, [`${name}.y`]: toY });
        if (tip) hand.point(tip, 0);
      });
    },
    whole: () => ({ place: "1.0" }),
    table: () => ({
      caption: `What the ${self} takes, and what becomes of it.`,
      columns: ["word", "score", "share", x, y],
      rows: now
        ? [
            ...now.words.map((one) => [one.word, one.score, one.share, ...one.v]),
            [`new ${self}`, "", "", ...now.result],
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
    const lowest = Math.min(...inputs.q, ...words.flatMap(({ k, v }) => [...k, ...v]));
    const low = inputs.rejected || lowest < LOW ? WITH_REJECTED : LOW;
    for (const one of [left, right]) one.range(low, REACH);
    /** @type {(name: string, label: string, more?: Partial<Arrow>) => Arrow} */
    const free = (name, label, more) => ({
      ...tip(aloud(name, self), inputs[name], name[0], label),
      ...{ free: true, ...more },
    });
    const ghosts = (/** @type {string[]} */ of) =>
      of
        .filter((name) => was && moved(name, { inputs }, was))
        .map((name) => ghost(`${name} before`, was?.inputs[name], name[0]));
    left.set([
      ...ghosts(["q", ...words.map(({ word }) => `k.${word}`)]),
      ...words.map(({ word, seen, score }) =>
        free(`k.${word}`, `${word} ${seen ? fixed(score, 2) : "hidden"}`, { ghost: !seen }),
      ),
      free("q", `q of ${self}`, { role: "q thick" }),
    ]);
    const lean = result[0] - result[1];
    const role = Math.abs(lean) < 5e-3 ? "plain" : lean > 0 ? "bird" : "machine";
    right.set([
      ...(was ? [ghost("before", was.result, role)] : []),
      ...(inputs.rejected ? [ghost("plain average", average, "plain", "average")] : []),
      ...ghosts(words.map(({ word }) => `v.${word}`)),
      tip(`new ${self}`, result, `${role} thick`, `new ${self}`),
      ...words.map(({ word, seen }) =>
        free(`v.${word}`, seen ? word : `${word} hidden`, { ghost: !seen }),
      ),
    ]);
    const same = was?.words.length === words.length; // then place by place
    bars.set(
      words.map(({ word, share: p }, i) => {
        const old = same ? was.words[i] : was?.words.find((one) => one.word === word);
        return { id: i, name: word, p, before: old?.share, mark: "weights" };
      }),
    );
    flip.set();
    [...flip.element.querySelectorAll("button")].forEach((button, i) => {
      const beside = inputs.rejected ? `${self} in the ${rejected}` : self;
      button.textContent = names[i].replace(self, beside);
    });
    controls.set();
  }

  /**
   * What the last change has done.
   * @param {Seen} seen
   * @param {Seen} was
   */
  function happened(seen, was) {
    const { words, average } = seen;
    const [from, to] = [at(was), at(seen)];
    const turn = `the new ${self} ${from === to ? `stays at ${to}` : `goes from ${from} to ${to}`}`;
    const [role, word] = hand.split(".");
    const find = (/** @type {Seen} */ { words }, /** @type {string} */ of) =>
      words.find((one) => one.word === of);
    const [one, old, far] = [find(seen, word), find(was, word), find(seen, rejected)];
    if (word && !one?.seen) return `The ${self} does not see ${word}: no share moves, and ${turn}.`;
    if (role === "v")
      return `Another value of ${word}: no share moves (${shares(seen)}), and ${turn}.`;
    if (role === "k" && one && old) {
      const two = (/** @type {number} */ value) => fixed(value, 2);
      const score = `its score ${goes(old.score, one.score, two)}`;
      return `Another key of ${word}: ${score} and its share ${goes(old.share, one.share)}, so ${turn}.`;
    }
    if (role === "sentence" && words.every(({ share }, i) => still(share, was.words[i].share))) {
      return `Other values in the same shares (${shares(seen)}): ${turn}.`;
    }
    if (role === "rejected" && far?.seen) {
      const got = `The ${rejected} scores ${fixed(far.score, 2)} and gets ${fixed(far.share)}, so ${turn}.`;
      const plain = `${fixed(1 / words.length, 2)}, which makes ${at({ result: average })}`;
      return `${got} A plain average would give it ${plain}.`;
    }
    return `The shares are now ${shares(seen)}, and ${turn}.`;
  }
}

/**
 * Score, normalise, aggregate: the first word among all, or with the mask alone.
 * @param {Record<string, any>} inputs
 * @param {string[]} names
 * @returns {Seen}
 */
function attend(inputs, names) {
  const { q, mask } = inputs;
  const words = names.map((word, i) => {
    const [k, v] = [inputs[`k.${word}`], inputs[`v.${word}`]];
    const [score, seen] = [q[0] * k[0] + q[1] * k[1], !mask || i === 0];
    return { word, k, v, seen, score, share: seen ? Math.exp(score) : 0 };
  });
  const sum = words.reduce((total, { share }) => total + share, 0);
  for (const one of words) one.share /= sum;
  const n = words.filter(({ seen }) => seen).length;
  /** @type {(weight: (one: One) => number) => Vector} */
  const mix = (weight) => {
    const along = (/** @type {0 | 1} */ i) =>
      words.reduce((total, one) => total + weight(one) * one.v[i], 0);
    return [along(0), along(1)];
  };
  const [result, average] = [mix(({ share }) => share), mix(({ seen }) => (seen ? 1 / n : 0))];
  return { inputs, words, result, average };
}

/**
 * The name of an arrow in words.
 * @param {string} key  q, k.fish, v.fish
 * @param {string} self
 */
function aloud(key, self) {
  const [role, word = self] = key.split(".");
  return `${{ q: "query", k: "key" }[role] ?? "value"} of ${word}`;
}

/** @type {(name: string, vector: Vector, role: string, label?: string) => Arrow} */
const tip = (name, [x, y], role, label = "") => ({ name, x, y, role, label });

/** @type {typeof tip} */
const ghost = (...arrow) => ({ ...tip(...arrow), ghost: true });

/** @type {(name: string, a: Pick<Seen, "inputs">, b: Pick<Seen, "inputs">) => boolean} */
const moved = (name, a, b) => String(a.inputs[name]) !== String(b.inputs[name]);

const still = (/** @type {number} */ a, /** @type {number} */ b) => Math.abs(a - b) < 5e-4;

/** @param {Seen} seen */
const shares = ({ words }) => words.map(({ word, share }) => `${word} ${fixed(share)}`).join(", ");

/** @param {Pick<Seen, "result">} seen */
const at = ({ result: [x, y] }) => `(${fixed(x, 2)}, ${fixed(y, 2)})`;
