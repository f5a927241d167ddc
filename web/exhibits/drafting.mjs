// Crane World's model and the small one that drafts for it, in the engine.

import { loadTokenizer } from "../page.mjs";
import { lacking } from "../speculative.mjs";
import { withGhosts } from "./bars.mjs";
import { Bundled } from "./bundled.mjs";
import { visible } from "./dom.mjs";
import { END } from "./page_model.mjs";

/** @import { Engine } from "../client.mjs" */
/** @import { Round } from "../speculative.mjs" */
/** @import { Race } from "../race.mjs" */
/** @typedef {[number, string, number, number | null][]} Likeliest  id, name, p, q */
/** @typedef {"stays" | "goes" | "unread"} Fate  unread: it was drafted after one that goes */
/** @typedef {{name: string, fate: Fate, q: number, p: number, dart: number | null,
 *   bars: Likeliest}} Drafted */
/** @typedef {{name: string, p: number, bars: Likeliest}} Next  p: what it was drawn with */
/** @typedef {{drafted: Drafted[], next: Next | null}} Pass  of the large model */
/** @typedef {{passes: Pass[], cut: number}} Found  cut: tokens that are left out, so that all fits */
/** @typedef {{text: string, ahead: number, draftTemperature: number, seed: number}} Wanted */

const [LARGE, SMALL] = ["drafted, large", "drafted, small"]; // in the engine
const WRITTEN = 32; // tokens at most
const RACED = 64;
const BARS = 5;

export class Drafting {
  /** @param {() => Engine} started  the present engine */
  constructor(started) {
    this.models = new Bundled(started, { [LARGE]: "crane", [SMALL]: "draft" });
    /** @type {Map<string, Promise<Found>>} */
    this.known = new Map();
  }

  /**
   * What is asked for anew takes the place of what is still computed.
   * @param {Wanted} wanted
   * @returns {Promise<Found>}
   */
  find(wanted) {
    const key = JSON.stringify(wanted);
    const found = this.known.get(key) ?? this.compute(wanted);
    this.known.set(key, found);
    found.catch(() => this.known.delete(key));
    return found;
  }

  /**
   * @param {Wanted} wanted
   * @returns {Promise<Found>}
   */
  async compute({ text, ...settings }) {
    const { engine, tokenizer, ids, cut } = await this.prepare(text);
    const { rounds } = await engine.speculate(LARGE, {
      draft: SMALL,
      ids,
      n: WRITTEN,
      key: "draft",
      settings: { ...settings, eosId: tokenizer.eot },
    });
    const show = (/** @type {number} */ id) =>
      id === tokenizer.eot ? END : visible(tokenizer.show(id));
    return { passes: rounds.map((round) => asShown(round, show)), cut };
  }

  /** @param {string} text */
  async prepare(text) {
    const [engine, tokenizer] = await Promise.all([this.models.load(), loadTokenizer("crane")]);
    const all = tokenizer.encode(text);
    const cut = Math.max(0, all.length - (this.models.room - RACED));
    return { engine, tokenizer, ids: [tokenizer.eot, ...all.slice(cut)], cut };
  }

  /**
   * @param {Wanted} wanted
   * @param {(share: number) => void} told
   * @returns {Promise<{answer: Promise<Race>, cancel: () => void}>}
   */
  async race({ text, ahead, draftTemperature }, told) {
    const { engine, ids } = await this.prepare(text);
    const settings = { ahead, draftTemperature };
    return engine.race(LARGE, { draft: SMALL, ids, n: RACED, settings }, told);
  }
}

/**
 * @param {Round} round
 * @param {(id: number) => string} show
 * @returns {Pass}
 */
export function asShown({ drafted, q, p, darts, accepted, next }, show) {
  const bars = (/** @type {Float64Array} */ now, /** @type {Float64Array | undefined} */ before) =>
    withGhosts(now, before, BARS, show).map(
      ({ id, name, p, before = null }) => /** @type {Likeliest[0]} */ ([id, name, p, before]),
    );
  const fate = (/** @type {number} */ i) =>
    i < accepted ? "stays" : i === accepted ? "goes" : "unread";
  const tokens = drafted.map((id, i) => ({
    name: show(id),
    fate: /** @type {Fate} */ (fate(i)),
    q: q[i][id],
    p: p[i][id],
    dart: darts[i] ?? null,
    bars: bars(p[i], q[i]),
  }));
  if (next === null) return { drafted: tokens, next: null };
  const all = accepted < drafted.length ? lacking(p[accepted], q[accepted]) : p[accepted];
  return {
    drafted: tokens,
    next: { name: show(next), p: all[next], bars: bars(all, undefined) },
  };
}
