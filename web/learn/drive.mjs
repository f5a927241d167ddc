// A run as the page sees it: what its workers have told so far, and in which state it is.

import { grammarFor, runs } from "./start.mjs";
import { count, lossText, rateText } from "./words.mjs";

/** @typedef {import("../runs/run.mjs").Plan} Plan */
/** @typedef {import("../runs/run.mjs").Report} Report */
/** @typedef {import("../runs/run.mjs").Mark} Mark */
/** @typedef {import("../runs/run.mjs").Look} Look */
/** @typedef {import("../runs/run.mjs").Saved} Saved */
/** @typedef {"none" | "making" | "running" | "paused" | "stopped" | "diverged" | "done" | "failed"} Phase */
/** @typedef {{unigram: number, bigram: number, truth: number | null}} Floors */

const MINUTE = 60_000; // milliseconds of training, after which stories are counted
const ANSWER = 1000; // milliseconds, that a run has to stop by itself
const SPEED = 12; // reports that the speed is a mean of

export class Side {
  /**
   * @param {number} slot  of the browser's storage
   * @param {(what: string) => void} changed  report, mark, look or state
   */
  constructor(slot, changed) {
    this.slot = slot;
    this.changed = changed;
    this.handle = /** @type {any} */ (null);
    this.plan = /** @type {Plan | null} */ (null);
    this.opened = /** @type {any} */ (null);
    this.reports = /** @type {Report[]} */ ([]);
    this.marks = /** @type {Mark[]} */ ([]);
    this.look = /** @type {Look | null} */ (null);
    /** @type {{step: number, right: number, of: number, ms: number}[]} */
    this.counted = []; // of 20 stories
    this.state = /** @type {Phase} */ ("none");
    this.says = ""; // what the run has to tell
    this.good = 0; // the step to go back to
    this.judging = false;
    this.stored = false; // it can be continued on another visit
  }

  /** As if there had been no run. */
  clear() {
    this.handle?.close?.();
    Object.assign(this, new Side(this.slot, this.changed));
  }

  get step() {
    return this.reports.at(-1)?.step ?? 0;
  }

  /** @returns {Floors | null} */
  get floors() {
    return this.opened?.floors ?? null;
  }

  /** @returns {number} */
  get vocabSize() {
    return this.opened?.vocabSize ?? 0;
  }

  /** @returns {boolean} */
  get judged() {
    return this.plan?.data.kind === "crane";
  }

  /** Tokens a second, lately. */
  get speed() {
    const [first, last] = [this.reports.at(-SPEED) ?? this.reports[0], this.reports.at(-1)];
    if (!first || !last) return 0;
    if (first === last) return last.ms ? (1000 * last.tokens) / last.ms : 0;
    return (1000 * (last.tokens - first.tokens)) / (last.ms - first.ms);
  }

  /**
   * Get everything ready, and go. Throws what a reader should be told.
   * @param {Plan} plan
   * @param {{saved?: Saved, keep?: boolean, begun?: import("./begun.mjs").Model | null}} [how]  saved:
   *   a run to continue, or to show if it is at its end; keep: it in the browser's storage; begun: a
   *   model to begin with
   */
  async open(plan, { saved, keep = true, begun = null } = {}) {
    this.clear();
    this.plan = plan;
    this.become("making");
    const { reports = [], marks = [] } = saved ?? {};
    this.reports = [...reports];
    this.marks = [...marks];
    try {
      const [all, grammar] = await Promise.all([runs(), grammarFor(plan)]);
      const denied = keep ? await all.available() : "";
      const slot = keep && !denied ? this.slot : null;
      const { weights, merges } = begun ?? {};
      const handle = await all.start(plan, slot, this.on, { saved, grammar, weights, merges });
      if (this.plan !== plan) {
        handle.on = {}; // it was stopped meanwhile: its end is none of ours
        return handle.close();
      }
      this.handle = handle;
      this.stored = slot !== null;
      this.opened = handle.opened;
      this.says = [this.opened.note, denied].filter(Boolean).join(" ");
      if (saved && finished(saved)) await this.end("done");
      else await this.go();
    } catch (error) {
      if (this.plan !== plan) return;
      this.clear();
      this.become("none");
      throw error;
    }
  }

  /** What the workers tell. */
  get on() {
    return {
      report: (/** @type {Report} */ report) => {
        this.reports.push(report);
        const since = this.counted.at(-1)?.ms ?? 0;
        if (this.judged && report.ms - since > MINUTE && !this.judging)
          this.judge().catch(() => {});
        this.changed("report");
      },
      mark: (/** @type {Mark} */ mark) => {
        this.marks.push(mark);
        this.changed("mark");
      },
      look: (/** @type {Look} */ look) => {
        this.look = look;
        this.changed("look");
      },
      making: (/** @type {{share: number, what: string}} */ { share, what }) => {
        this.says = `${what} … ${Math.round(100 * share)} %`;
        this.changed("state");
      },
      diverged: (/** @type {{says: string, good: number}} */ { says, good }) => {
        this.good = good;
        const last = lossText(this.reports.at(-1)?.loss ?? NaN); // the number that is shown above
        this.says = says.replace(/(?<=rose to )[^:]+/, last);
        this.become("diverged");
      },
      done: () => void this.end("done").catch(() => {}), // dead workers are revived
      said: (/** @type {string} */ sentence) => {
        this.says = sentence;
        this.changed("state");
      },
      state: (/** @type {Phase} */ state) => {
        if (!["diverged", "done", "stopped"].includes(this.state)) this.become(state);
      },
    };
  }

  /** @param {Phase} state */
  become(state) {
    this.state = state;
    this.changed("state");
  }

  async go() {
    await this.handle?.go();
    if (this.handle) this.become("running");
  }

  async pause() {
    if (this.state !== "running") return;
    await this.handle?.pause();
    if (this.state === "running") this.become("paused");
  }

  /** Nothing more is learned; what was learned stays. */
  async stop() {
    const { handle, state } = this;
    if (state === "making") {
      this.clear();
      return this.become("none");
    }
    if (!handle || state === "stopped") return;
    const late = new Promise((resolve) => setTimeout(resolve, ANSWER, false));
    const ended = Promise.resolve(handle.pause()).then(() => this.end("stopped"));
    const answers = await Promise.race([ended.then(() => true), late]).catch(() => false);
    if (answers) return;
    await handle.stop(); // it does not answer: its workers go
    this.become("stopped");
  }

  /**
   * The model can still write, but the slot is left to other tabs: what is stored there stays.
   * @param {"stopped" | "done"} state
   */
  async end(state) {
    const { handle } = this;
    this.become(state);
    await handle.save();
    handle.leave();
    this.changed("state");
    if (this.judged) this.judge().catch(() => {}); // how good it has become
  }

  /** What it can be continued from, once it has ended. @returns {Saved | null} */
  get rest() {
    return ["stopped", "done"].includes(this.state) ? this.handle?.last : null;
  }

  /** After a divergence: the last good weights, at the rate that they had, or a lower one. */
  async back() {
    const { step, settings } = await this.handle.back();
    this.reports = this.reports.filter((report) => report.step <= step);
    this.marks = this.marks.filter((mark) => mark.step <= step);
    this.counted = this.counted.filter((one) => one.step <= step);
    this.look = null;
    this.says = `It went back to step ${count(step)}, and to a rate of ${rateText(settings.lr)}.`;
    this.state = "paused";
    await this.go();
    return { step, lr: settings.lr };
  }

  /** Let it write twenty stories, and count the right ones. */
  async judge() {
    this.judging = true;
    const ms = this.reports.at(-1)?.ms ?? 0;
    const found = await this.handle.judge20().finally(() => (this.judging = false));
    this.counted.push({ ...found, ms });
    this.changed("mark");
    return found;
  }

  /** @param {number} lr  from the next step on */
  rate(lr) {
    if (!this.plan || !this.handle) return;
    this.handle.set({ lr, minLr: lr / 100 });
  }

  /** The model as files that every exhibit takes. */
  async files() {
    return (await runs()).filesOf(await this.handle.weights());
  }
}

/** @param {Saved} saved */
export function finished({ step, state: { settings } }) {
  return step >= settings.steps;
}

/**
 * A run that was saved, with the settings that were in force, so that it can be continued.
 * @param {Saved} saved
 * @param {number} [more]  steps than it was to have
 * @returns {Saved}
 */
export function extended(saved, more = 0) {
  const { plan, state } = saved;
  const settings = { ...state.settings, steps: state.settings.steps + more };
  return { ...saved, plan: { ...plan, settings }, state: { ...state, settings } };
}

/** @typedef {"report" | "mark" | "look" | "state"} News */
