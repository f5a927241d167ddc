// A training run, as a page sees it: promises in front of its workers, and what a page has to take
// care of. It stores the run every five seconds; it pauses while it is hidden; it begins again from
// what was saved when a worker dies.

import { History } from "./history.mjs";
import { hold, write } from "./keep.mjs";
import { refuse } from "./limits.mjs";
import { watch } from "./watch.mjs";
import { Workers } from "./workers.mjs";

/** @import { Settings } from "../train/adamw.mjs" */
/** @import { Listeners, Mark, Plan, Saved, Status } from "./run.mjs" */

const SAVE = 5; // seconds
const SILENCE = 60; // seconds, after which a worker counts as dead
const ANSWER = 1000; // milliseconds, that a worker has to stop by itself

/**
 * Prepare a run; `go` starts it. Throws an Error that says why it cannot be.
 * @param {Plan} plan
 * @param {number | null} slot  where it is stored; null: nowhere
 * @param {Partial<Listeners>} on
 * @param {{saved?: Saved | null, grammar?: any, merges?: Uint8Array, weights?: Float32Array}} [from]
 *   saved: a run to continue; grammar and merges: what the data are made of (web/text); weights: to
 *   begin with, in place of random ones
 */
export async function start(plan, slot, on, { saved = null, ...from } = {}) {
  const says = refuse(plan);
  if (says) throw new Error(says);
  navigator.storage?.persist?.().catch(() => {}); // asks that it is not cleared away
  const release = slot === null ? () => {} : await hold(slot);
  const run = new Handle(plan, slot, on, from, release);
  try {
    await run.open(saved);
  } catch (error) {
    run.close();
    throw error;
  }
  return run;
}

export class Handle {
  /**
   * @param {Plan} plan
   * @param {number | null} slot
   * @param {Partial<Listeners>} on
   * @param {{grammar?: any, merges?: Uint8Array, weights?: Float32Array}} from
   * @param {() => void} release  the slot
   */
  constructor(plan, slot, on, from, release) {
    this.plan = plan;
    this.slot = slot;
    this.on = on;
    this.from = from;
    this.release = release;
    /** @type {Workers | null} */
    this.workers = null;
    /** @type {Status} */
    this.status = "paused";
    this.history = new History();
    /** @type {Saved | null} */
    this.last = null; // that was saved
    /** @type {number | null} */
    this.storedStep = null;
    this.trouble = ""; // of the storage
    /** @type {Promise<any>} */
    this.saving = Promise.resolve();
    this.hidden = false; // paused because the page is
    this.revived = false; // since the last save
    this.seconds = { saved: 0, silent: 0 };
    this.unwatch = watch({
      hidden: () => this.hide(),
      shown: () => this.show(),
      second: () => this.second(),
      slept: (seconds) => this.wake(seconds),
    });
  }

  /** @param {Saved | null} saved */
  async open(saved) {
    const { plan, from } = this;
    const { state, ms, merges = from.merges } = saved ?? {};
    this.workers = new Workers(
      (message) => this.hear(message),
      (why) => this.revive(why),
    );
    const onProgress = (/** @type {number} */ share) => {
      this.on.making?.({ share, what: "The text is being prepared" });
    };
    this.opened = await this.workers.open(plan, { ...from, merges, state, ms }, onProgress);
    this.last = saved;
    this.storedStep = saved?.step ?? null;
    this.history = new History(saved ?? undefined);
  }

  /** @param {any} message */
  hear({ event, ...what }) {
    this.seconds.silent = 0;
    if (event === "failed") return this.revive(what.says);
    this.history.add(what);
    if (event === "diverged" || event === "done") this.become("paused");
    if (event === "done") this.save().catch(() => {});
    /** @type {any} */ (this.on)[event]?.(what[event] ?? what);
  }

  /**
   * @param {string} call
   * @param {object} [request]
   */
  async ask(call, request) {
    return this.workers?.ask(call, request);
  }

  /** @param {Status} status */
  become(status) {
    if (this.status === status) return;
    this.status = status;
    this.on.state?.(status);
  }

  // ---- What a reader does ------------------------------------------------------------------------

  async go() {
    if (await this.ask("go")) this.become("running");
    this.seconds = { saved: 0, silent: 0 };
  }

  async pause() {
    await this.ask("pause");
    this.become("paused");
    await this.save();
  }

  /** End the run, within a second; what was saved stays stored. */
  async stop() {
    const late = new Promise((resolve) => setTimeout(resolve, ANSWER));
    await Promise.race([this.pause().catch(() => {}), late]);
    this.close();
  }

  /**
   * @param {Partial<Settings>} settings  from the next step on
   * @returns {Promise<Settings>}  all that are in force
   */
  set(settings) {
    return this.ask("set", { settings });
  }

  /**
   * Return to the last good state, with a third of the learning rate, and pause there.
   * @returns {Promise<{step: number, settings: Settings}>}
   */
  async back() {
    const found = await this.ask("back");
    this.become("paused");
    this.history = new History(await this.save());
    return found;
  }

  /**
   * Let the model continue a text.
   * @param {string} text
   * @param {number} seed
   * @returns {Promise<Omit<Mark, "step" | "story" | "held"> & {text: string, forgot?: boolean}>}
   */
  write(text, seed) {
    return this.ask("write", { text, seed });
  }

  /** @returns {Promise<{right: number, of: number, step: number}>}  of 20 samples */
  judge20() {
    return this.ask("judge");
  }

  /** The model as it is, or was when the run ended, as goes/files.mjs takes it. */
  async weights() {
    const saved = this.workers?.ended ? this.last : await this.save();
    if (!saved) throw new Error("this run has ended before anything was saved");
    const { plan, merges, state } = saved;
    return { plan, merges, step: state.step, config: state.config, weights: state.weights };
  }

  /**
   * Save the run, and store it; one after the other.
   * @returns {Promise<Saved>}
   */
  save() {
    const saving = this.saving.then(() => this.saveNow());
    this.saving = saving.catch(() => {});
    return saving;
  }

  async saveNow() {
    const { state, ms } = await this.ask("save");
    const { step } = state; // of a run that diverged, that of the last good state
    const { plan, slot } = this;
    const { merges } = this.opened;
    const told = this.history.until(step);
    /** @type {Saved} */
    const saved = { version: 1, at: Date.now(), plan, merges, step, state, ms, ...told };
    this.last = saved;
    this.revived = false;
    this.seconds.saved = 0;
    if (slot === null) return saved;
    const trouble = await write(slot, saved, this.storedStep);
    if (!trouble) this.storedStep = step;
    if (trouble && trouble !== this.trouble) this.on.said?.(trouble);
    this.trouble = trouble;
    return saved;
  }

  /** Leave the slot to other tabs: the model can still write, and later saves are not stored. */
  leave() {
    this.slot = null;
    this.release();
  }

  // ---- What happens to a page --------------------------------------------------------------------

  second() {
    if (this.status !== "running") return;
    if (++this.seconds.silent >= SILENCE) this.revive("the worker does not answer");
    else if (++this.seconds.saved === SAVE) this.save().catch(() => {}); // dead workers are revived
  }

  hide() {
    if (this.status !== "running") return;
    this.hidden = true;
    this.pause().catch(() => {});
  }

  show() {
    if (this.hidden) this.go().catch(() => {});
    this.hidden = false;
  }

  /** @param {number} seconds  that the computer slept */
  wake(seconds) {
    this.seconds.silent = 0;
    if (this.status !== "running") return;
    const time = seconds < 90 ? `${seconds} seconds` : `${Math.round(seconds / 60)} minutes`;
    this.on.said?.(`The computer slept for ${time}; training continues.`);
  }

  /**
   * Begin again from what was saved, with new workers; once, until the next save.
   * @param {string} why  the old ones are of no use
   */
  async revive(why) {
    if (!this.opened || !this.workers || this.workers.ended) return; // not begun, or at its end
    const { status, revived } = this;
    this.become("paused");
    this.workers.end(why);
    try {
      if (revived) throw new Error(why);
      this.revived = true;
      await this.open(this.last);
      this.on.said?.(
        `Training had stopped (${why}); it continues from step ${this.last?.step ?? 0}.`,
      );
      if (status === "running") await this.go();
    } catch (error) {
      this.close("failed");
      this.on.said?.(`Training has stopped: ${/** @type {Error} */ (error).message}`);
    }
  }

  /** @param {Status} [status] */
  close(status = "stopped") {
    this.unwatch();
    this.workers?.end("this run has ended");
    this.release();
    this.become(status);
  }
}
