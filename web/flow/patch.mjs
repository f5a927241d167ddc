// Activation patching: at a place of the stream, after an addition, the vector of another text is put in,
// and the pass goes on from there. Places are counted from the end, so that texts may differ in length.

import { fixed, make } from "../exhibits/dom.mjs";
import { Strip } from "../exhibits/strip.mjs";
import { stageName } from "./pass.mjs";
import { stagePaths } from "./pass.mjs";
import { readPass } from "./read.mjs";
import { sensesOf } from "../exhibits/crane_world.mjs";

/** @import { Page } from "../exhibits/exhibit.mjs" */
/** @import { Pass, Said } from "./pass.mjs" */
/** @typedef {{said: Said | null, apart: number, put: () => void, chosen: boolean, told: string}} Gift
 *   what the other text has at a place; `apart`: how far it is, in lengths */

const MOST = 128; // tokens
const SAME = 1e-6; // a distance that is none
const FEW = 0.05; // of the way: it hardly moves

export class Patch {
  /** @param {Page} page  its settings have the other text, and pairs to choose from */
  constructor({ settings, state, model }) {
    this.state = state;
    this.model = model;
    state.declare("from", settings.giver);
    state.declare("stage", -1, { min: -1, max: 1000, whole: true }); // -1: nothing is put in
    state.declare("back", 0, { min: 0, max: MOST - 1, whole: true }); // from the last token
    /** @type {Record<string, {asked: string, pass: Pass}>} */
    this.known = {};
    /** @type {Pass | null} */
    this.theirs = null;
    /** @type {Pass | null} */
    this.ours = null; // with nothing put in
    this.strip = new Strip({
      label: "another text, which gives a vector",
      value: state.get("from"),
      onText: (from) => state.set({ from }),
    });
    const pair = (/** @type {string} */ name, /** @type {() => string[]} */ texts) =>
      make(
        "button",
        {
          type: "button",
          onclick: () => state.set({ from: texts()[0], text: texts()[1], at: -1, station: -1 }),
        },
        name,
      );
    const chips = make(
      "div",
      { class: "chips", role: "group", "aria-label": "pairs of texts" },
      make("span", { class: "soft" }, "Take a vector from:"),
      ...Object.entries(settings.pairs ?? {}).map(([name, texts]) =>
        pair(name, () => /** @type {string[]} */ (texts)),
      ),
      pair("exchange the two", () => [state.get("text"), state.get("from")]),
    );
    this.undo = make(
      "button",
      { type: "button", hidden: true, onclick: () => state.set({ stage: -1, back: 0 }) },
      "take it out again",
    );
    this.element = make("div", { class: "flow-patch" }, chips, this.strip.element, this.undo);
  }

  /** What the pass depends on. */
  get asked() {
    return ["from", "stage", "back"].map((key) => this.state.get(key));
  }

  /**
   * A pass with nothing put in.
   * @param {"from" | "text"} of
   * @param {Record<string, any>} switches
   */
  async plain(of, switches) {
    const { model, state } = this;
    const text = state.get(of);
    const asked = JSON.stringify([text, switches, model.present.name]);
    if (this.known[of]?.asked === asked) return this.known[of].pass;
    const { ids } = await model.encode(text, MOST);
    const senses = sensesOf(text);
    const pass = await readPass(model, { text, ids, key: `flow, ${of}`, switches, senses });
    if (pass) this.known[of] = { asked, pass };
    return pass;
  }

  /**
   * What is put into the pass.
   * @param {Record<string, any>} switches
   * @returns {Promise<Record<string, Float32Array> | null>}  null: a newer request took its place
   */
  async edits(switches) {
    const [theirs, ours] = await Promise.all([
      this.plain("from", switches),
      this.plain("text", switches),
    ]);
    if (!theirs || !ours) return null;
    Object.assign(this, { theirs, ours });
    const place = this.place;
    if (!place) return {};
    const path = stagePaths(ours.nLayer)[place.stage];
    const [from, onto] = [theirs, ours].map(({ tensor }) => tensor?.(path).values);
    if (!from || !onto) return {};
    const C = onto.length / ours.ids.length;
    const values = onto.slice();
    values.set(from.subarray(place.other * C, (place.other + 1) * C), place.t * C);
    return { [path]: values };
  }

  /** The place that is chosen, in both texts; null where one of them has none. */
  get place() {
    const { theirs, ours, state } = this;
    const [stage, back] = [state.get("stage"), state.get("back")];
    if (!theirs || !ours || stage < 0 || stage > 2 * ours.nLayer) return null;
    const [other, t] = [theirs, ours].map(({ ids }) => ids.length - 1 - back);
    return other < 0 || t < 0 ? null : { stage, other, t };
  }

  /**
   * What the other text would give at a place.
   * @param {number} stage
   * @param {number} t
   * @returns {Gift | null}  null: it has no such place
   */
  gift(stage, t) {
    const { theirs, ours, state, place } = this;
    if (!theirs || !ours) return null;
    const back = ours.ids.length - 1 - t;
    const other = theirs.ids.length - 1 - back;
    if (other < 0) return null;
    const far = this.apart(stage, other, t);
    const chosen = place?.stage === stage && place.t === t;
    const what = far < SAME ? "the same vector" : `${fixed(far, 2)} apart`;
    return {
      said: theirs.lens[stage]?.[other] ?? null,
      apart: far,
      chosen,
      put: () => state.set(chosen ? { stage: -1, back: 0 } : { stage, back }),
      told: `${ours.tokens[t]} after ${stageName(stage)}: ${chosen ? "take the vector out again" : "put the other text’s vector in"}, ${what}`,
    };
  }

  /**
   * The distance of the two texts' vectors, divided by their mean length.
   * @param {number} stage
   * @param {number} other  token of the other text
   * @param {number} t
   */
  apart(stage, other, t) {
    const [x, y] = [this.theirs, this.ours].map((pass, i) => {
      const { tensor, nLayer, ids } = /** @type {Pass} */ (pass);
      const values = tensor?.(stagePaths(nLayer)[stage]).values ?? new Float32Array();
      const C = values.length / ids.length;
      return values.subarray((i ? t : other) * C, ((i ? t : other) + 1) * C);
    });
    const length = (/** @type {Float32Array} */ v) => Math.hypot(...v);
    return (2 * length(x.map((value, c) => value - y[c]))) / (length(x) + length(y) || 1);
  }

  /**
   * After a pass: what is to be seen in the fields, and what happened, in a sentence.
   * @param {Pass} now
   */
  says(now) {
    const { theirs, ours, state, place } = this;
    if (!theirs || !ours) return "";
    const more = theirs.ids.length - ours.ids.length;
    const which = more > 0 ? "other" : "first";
    this.strip.set([], {
      text: state.get("from"),
      note: more
        ? `The ${which} text is longer by ${Math.abs(more)}: places are counted from the end.`
        : "",
    });
    this.undo.hidden = !place;
    const [their, our] = [theirs.next[0], ours.next[0]];
    if (!place) {
      const short =
        state.get("stage") < 0
          ? " Click a ⊕ to put the other text’s vector in there."
          : " There is no such place in one of them.";
      return `This text goes on with ${our.name} (${fixed(our.p, 2)}), the other with ${their.name} (${fixed(their.p, 2)}).${short}`;
    }
    const where = `${ours.tokens[place.t]} after ${stageName(place.stage)}`;
    const far = this.apart(place.stage, place.other, place.t);
    if (far < SAME) return `At ${where} both texts have the same vector: nothing can change.`;
    const share = (/** @type {Pass} */ { shares }, /** @type {number} */ id) => shares?.[id] ?? 0;
    const goes = (/** @type {{id: number, name: string}} */ { id, name }) => {
      const [before, after] = [ours, now].map((pass) => fixed(share(pass, id), 2));
      return before === after
        ? `${name} stays at ${after}`
        : `${name} goes from ${before} to ${after}`;
    };
    const lead = `With the other text’s vector at ${where}, ${fixed(far, 2)} of their length from this one’s`;
    if (their.id === our.id) return `${lead}, ${goes(our)}.`;
    const lean = (/** @type {Pass} */ pass) =>
      Math.log(share(pass, our.id) / share(pass, their.id));
    const way = (lean(ours) - lean(now)) / (lean(ours) - lean(theirs));
    if (Math.abs(way) < FEW)
      return `${lead}, ${goes(our)}: different, and alone it hardly moves this prediction.`;
    return `${lead}, ${goes(our)} and ${goes(their)}: ${fixed(way, 2)} of the way to the other text.`;
  }
}
