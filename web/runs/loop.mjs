// A training run in a worker. It answers requests between two steps, and goes on until it is told to
// pause.
//
// A request is {id, call, …}; answers are {id, progress}, and at the end {id, result} or
// {id, error}. Events have no id: {event, …} is "report", "mark" or "look" (run.mjs), "diverged" with
// {step, good, says}, "done" with {step}, "failed" with {says}.

import { numParameters } from "../shapes.mjs";
import { shown } from "../messages.mjs";
import { nextTask } from "../tasks.mjs";
import { Rewarded } from "./rewarded.mjs";
import { Run } from "./run.mjs";
import { follow, Partner } from "./share.mjs";
import * as shows from "./show.mjs";

/** @import { State } from "../train/state.mjs" */
/** @import { Data, Plan } from "./run.mjs" */
/** @typedef {{id: number, call: string, [more: string]: any}} Request */
/** @typedef {(plan: Plan, given: {grammar?: any, merges?: Uint8Array,
 *   progress?: (share: number) => void}) => Data | Promise<Data>} MakeData */

const EVERY = { report: 250, look: 1000, mark: 4000 }; // milliseconds

export class Loop {
  /**
   * @param {(message: object, transfer?: Transferable[]) => void} post
   * @param {MakeData} makeData
   */
  constructor(post, makeData) {
    this.post = post;
    this.makeData = makeData;
    /** @type {Request[]} */
    this.waiting = [];
    this.working = false;
    this.going = false;
    /** @type {Run | null} */
    this.run = null;
    /** @type {Partner | undefined} */
    this.partner = undefined;
    this.sent = { report: 0, look: 0, mark: 0 }; // when the last was
  }

  /** @param {Request} request */
  receive(request) {
    this.waiting.push(request);
    if (!this.working) this.work();
  }

  async work() {
    this.working = true;
    for (;;) {
      await nextTask(); // so that requests are heard
      const request = this.waiting.shift();
      if (!request && !this.going) break;
      try {
        if (request) {
          const result = await this.answer(request);
          this.post(
            { id: request.id, result },
            request.call === "save" ? buffers(result.state) : [],
          );
        } else await this.step();
      } catch (error) {
        const says = error instanceof Error ? error.message : String(error);
        if (request) this.post({ id: request.id, error: says });
        else this.stop({ event: "failed", says });
      }
    }
    this.working = false;
  }

  /**
   * @param {Request} request
   * @returns {Promise<any>}
   */
  async answer(request) {
    if (request.call === "open") return this.open(request);
    if (!this.run) throw new Error("there is no run: open one first");
    const { run } = this;
    switch (request.call) {
      case "describe":
        return describe(run);
      case "share":
        this.partner = new Partner(request.port, request.place);
        if (request.place) follow(run, this.partner);
        else this.partner.send({ state: run.trainer.state() });
        return true;
      case "go":
        if (run.lost) throw new Error("this run has diverged: return to its last good state first");
        this.going = run.step < run.trainer.settings.steps;
        return this.going;
      case "pause":
        this.going = false;
        await this.show({ report: 0, look: 0, mark: Infinity });
        return run.step;
      case "set":
        return run.trainer.change(request.settings);
      case "back":
        this.going = false;
        run.back();
        this.partner?.send({ state: run.trainer.state() });
        return { step: run.step, settings: run.trainer.settings };
      case "save":
        return structuredClone(run.save()); // the run keeps its own
      case "write":
        return shows.write(run, request.text, request.seed);
      case "judge":
        return shows.judge(run);
    }
    throw new Error(`unknown call ${shown(request.call)}`);
  }

  /**
   * @param {Request} request  {plan, grammar?, merges?, state?, ms?, weights?}
   * @returns {Promise<Uint8Array>}  the merges, which a second worker need not learn again
   */
  async open({ id, plan, grammar, merges, state, ms, weights }) {
    const progress = (/** @type {number} */ share) => this.post({ id, progress: share });
    const data = await this.makeData(plan, { grammar, merges, progress });
    if (weights && String(merges) !== String(data.merges)) {
      throw new Error(
        "The model in the file has other tokens than these texts: it can learn from a text of yours.",
      );
    }
    const Kind = plan.reward ? Rewarded : Run;
    this.run = await Kind.open(plan, data, { state, ms, weights });
    return data.merges;
  }

  async step() {
    const run = /** @type {Run} */ (this.run);
    this.partner?.send({ settings: run.trainer.settings });
    const says = await run.advance(this.partner);
    const { step, good } = run;
    const ends = step >= run.trainer.settings.steps;
    if (says) await this.show({ report: 0, look: Infinity, mark: Infinity });
    else await this.show(ends ? { report: 0, look: 0, mark: 0 } : EVERY);
    if (says) this.stop({ event: "diverged", step, good: good.step, says });
    else if (ends) this.stop({ event: "done", step });
  }

  /** @param {object} event */
  stop(event) {
    this.going = false;
    this.post(event);
  }

  /**
   * Send the events that are due, because the last is so many milliseconds old.
   * @param {typeof EVERY} every
   */
  async show(every) {
    const run = /** @type {Run} */ (this.run);
    const now = performance.now();
    for (const what of /** @type {const} */ (["report", "look", "mark"])) {
      if (now - this.sent[what] < every[what]) continue;
      const content = await run[what]();
      if (!content) continue;
      this.post({ event: what, [what]: content });
      this.sent[what] = performance.now();
    }
  }
}

/** @param {Run} run */
function describe({ data: { vocabSize, merges, note, show, floors }, plan, trainer }) {
  const parameters = numParameters(trainer.config);
  const { tokens } = show;
  return { parameters, vocabSize, floors: floors(plan.model.T), merges, note, tokens };
}

/** @param {State} state */
const buffers = ({ weights, m, v }) => [weights.buffer, m.buffer, v.buffer];
