// The crane while it learned: what its heads did at some steps of its training, which the page holds.
// Other tensors of these steps are not stored.

import { fixed, grouped, make } from "../exhibits/dom.mjs";
import { Switchboard } from "../exhibits/switchboard.mjs";
import { bundle } from "../page.mjs";
import { fromStored } from "./stored.mjs";

/** @import { Page } from "../exhibits/exhibit.mjs" */
/** @import { Pass } from "./pass.mjs" */
/** @typedef {{step: number, loss: number, good: number, story: string | null}} Shot */
/** Of each text, block and head the weights row by row. @typedef {number[][][][]} Attention */

const PAUSE = 1500; // milliseconds between two steps that are played
const FORMED = 0.75; // of its weight lies where it lies in the end
const ONLY =
  "Of the crane’s training the attention is stored, the stream is not: lanes stay grey, and heads cannot be cut.";

/**
 * How much of a head's weight lies where another map has it: 1 for the same map. The first token has
 * no choice.
 * @param {ArrayLike<number>} a  (T, T)
 * @param {ArrayLike<number>} b
 * @param {number} T
 */
export function overlap(a, b, T) {
  let sum = 0;
  for (let i = T; i < T * T; i++) sum += Math.min(a[i], b[i]);
  return sum / (T - 1);
}

/**
 * The heads that look nearly where they look in the end, and the one that changed most.
 * @param {Pass} now
 * @param {Pass} end
 * @param {Pass | null} before
 */
export function formed(now, end, before) {
  const T = now.tokens.length;
  const heads = now.weights.flatMap((block, n) =>
    block.map((map, h) => ({
      name: `${n}.${h}`,
      there: overlap(map, end.weights[n][h], T),
      kept: before ? overlap(map, before.weights[n][h], T) : 1,
    })),
  );
  return {
    many: heads.length,
    names: heads.filter(({ there }) => there >= FORMED).map(({ name }) => name),
    moved: heads.reduce((most, one) => (one.kept < most.kept ? one : most)).name,
  };
}

export class Learned {
  /** @param {Page} page  its settings have the shots, and the texts whose maps they are */
  constructor({ settings, state, element }) {
    this.state = state;
    this.element = make("div", { class: "flow-learned", hidden: true });
    this.texts = settings.learned.texts.map(
      (/** @type {string} */ text, /** @type {number} */ i) => {
        return { text, ids: settings.learned.ids[i], tokens: settings.learned.tokens[i] };
      },
    );
    /** @type {Shot[]} */
    this.shots = settings.learned.shots;
    /** @type {Promise<Attention[]> | null} */
    this.asks = null;
    /** @type {Attention[]} */
    this.attention = []; // of each shot, once it is asked for
    const last = this.shots.length - 1;
    state.declare("shot", last, { min: 0, max: last, whole: true });
    const show = (/** @type {number} */ i) => this.count(i);
    const slider = { kind: "slider", key: "shot", label: "step", max: last, step: 1, show };
    this.board = new Switchboard(
      state,
      [/** @type {any} */ (slider)],
      "the crane while it learned",
    );
    this.board.element.addEventListener("input", () => this.stop()); // the reader has taken the slider
    this.timer = 0;
    const onclick = () => (this.timer ? this.stop() : this.play(element));
    this.button = make("button", { type: "button", onclick }, "watch it learn");
    this.story = make("p", { class: "soft" });
    this.element.append(this.button, this.board.element, this.story);
  }

  /** @param {HTMLElement} element  that shows it */
  play(element) {
    const { state, shots } = this;
    const last = shots.length - 1;
    if (state.get("shot") === last) state.set({ shot: 0 });
    this.button.textContent = "stop";
    this.timer = Number(
      setInterval(() => {
        if (element.isConnected && state.get("shot") < last)
          state.set({ shot: state.get("shot") + 1 });
        else this.stop();
      }, PAUSE),
    );
  }

  stop() {
    clearInterval(this.timer);
    this.timer = 0;
    this.button.textContent = "watch it learn";
  }

  /** What a pass depends on. */
  get asked() {
    return ["learned", "shot"].map((key) => this.state.get(key));
  }

  /** The pass that is asked for. */
  async pass() {
    const [nth, shot] = this.asked;
    if (!nth) return null;
    this.asks ??= /** @type {Promise<any>} */ (bundle("crane_learned"));
    this.asks.catch(() => (this.asks = null));
    this.attention = await this.asks;
    return this.at(nth - 1, shot);
  }

  /**
   * @param {number} nth  text
   * @param {number} shot
   */
  at(nth, shot) {
    const attention = this.attention[shot][nth];
    return fromStored({ ...this.texts[nth], attention, unit: 0.01, next: [], only: ONLY });
  }

  /** @param {number} shot */
  count(shot) {
    return grouped(this.shots[shot].step);
  }

  /** After a pass is shown. */
  set() {
    const [nth, shot] = this.asked;
    this.element.hidden = !nth;
    if (!nth || shot === this.shots.length - 1) this.stop();
    this.board.set();
    const { story, good } = this.shots[shot];
    const text = story ? `“${story}”` : "nothing yet that was kept.";
    this.story.textContent = `${Math.round(100 * good)} % of its stories are grammatical. It writes: ${text}`;
  }

  /**
   * @param {Pass} pass
   * @returns {string}  empty: the pass is none of these
   */
  says(pass) {
    const [nth, shot] = this.asked;
    if (!nth) return "";
    const [end, before] = [this.shots.length - 1, shot - 1].map((i) =>
      i < 0 ? null : this.at(nth - 1, i),
    );
    const { many, names, moved } = formed(pass, /** @type {Pass} */ (end), before);
    const list = names.length ? ` (${names.join(", ")})` : "";
    const heads =
      shot === this.shots.length - 1
        ? "This is where its heads look in the end."
        : `${names.length || "None"} of ${many} heads have formed${list}: three quarters of their weight lies where it lies in the end.`;
    const since = before
      ? ` Since step ${this.count(shot - 1)} head ${moved} has changed most.`
      : "";
    return `After ${this.count(shot)} steps the loss is ${fixed(this.shots[shot].loss, 2)}. ${heads}${since}`;
  }
}
