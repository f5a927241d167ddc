// The picture of the whole in space, in the place of the flat one, once a reader turns it.

import { make } from "../exhibits/dom.mjs";
import { move } from "../exhibits/motion.mjs";
import { nextTask } from "../tasks.mjs";
import { space } from "./deeper.mjs";
import { levelOf } from "./place.mjs";

/** @import { Pass } from "./pass.mjs" */
/** @import { Place } from "./place.mjs" */
/** @import { Page } from "../exhibits/exhibit.mjs" */
/** @import { Space } from "../space/space.mjs" */
/** @import { Stage } from "./stage.mjs" */

const FADE = 400; // milliseconds
const NEEDS = "The picture in 3D needs WebGL, which this browser does not offer.";

export class Turn {
  /**
   * @param {Page} page
   * @param {{stage: Stage, writer: import("./writer.mjs").Writer, go: (place: Place) => void}} more
   */
  constructor({ settings, state, model, update, complain }, { stage, writer, go }) {
    this.sizes = settings.sizes; // until the model is there
    this.state = state;
    this.model = model;
    this.stage = stage;
    this.update = update;
    this.complain = complain;
    this.acts = {
      go,
      pick: (/** @type {number} */ at) => state.set({ at }),
      append: (/** @type {number} */ id, rest = "") => void writer.append(id, rest).catch(complain),
    };
    /** @type {((is: boolean) => void) | null} */
    this.arrived = null;
    /** @type {Space | null} */
    this.space = null;
    this.round = 0; // of what was asked for
    this.layer = make("div", { class: "flow-space", hidden: true });
    stage.element.append(this.layer);
  }

  /** Whether it is to be seen: what compares two texts, and the tour, are in the flat picture. @param {Place} place */
  on(place) {
    const { state } = this;
    return state.get("space") && !levelOf(place) && !state.get("versus") && !state.get("tour");
  }

  /**
   * By itself, once everything is there.
   * @param {() => boolean} may  false: a reader has begun
   * @returns {Promise<boolean>}  whether it did
   */
  async begin(may) {
    try {
      await Promise.all([space(), this.model.ready()]);
    } catch {
      return false; // the flat picture stays
    }
    if (!may()) return false;
    const there = new Promise((done) => (this.arrived = done));
    this.state.set({ space: true });
    return there;
  }

  /**
   * After a pass is painted.
   * @param {Pass} pass
   * @param {Place} place
   * @param {{at: number, cut: string[]}} view
   */
  async set(pass, place, view) {
    const round = ++this.round;
    if (!this.on(place)) return this.show(false);
    /** @type {Space} */
    let own;
    try {
      const Space = await space();
      if (round !== this.round) return; // another place or pass has come
      if (!this.space && !document.createElement("canvas").getContext("webgl2"))
        throw new Error(NEEDS);
      const colour = (/** @type {string} */ name) => this.stage.colour(name);
      own = this.space ??= new Space(this.layer, { model: this.model, colour, acts: this.acts });
    } catch (error) {
      this.state.set({ space: false });
      this.arrived?.(false);
      await nextTask(); // the state is told
      await this.update(); // which forgets what was said
      return this.complain(error);
    }
    const shown = own.view?.pass;
    if (shown && shown.text !== pass.text && pass.tensor && !pass.whole) return; // whole words come
    const sizes = pass.sizes ?? this.model.loaded?.config ?? this.sizes;
    const came = this.layer.hidden;
    this.show(true);
    const { clientWidth: width, clientHeight: height } = this.layer;
    const flown = own.set({ pass, ...view, sizes }, { width, height });
    if (came) own.showDepth(this.stage.depth);
    if (came && width < height && document.activeElement?.matches(".flow-turn"))
      this.layer.scrollIntoView({ block: "center" }); // it is lower than the flat one
    await flown;
    this.arrived?.(true);
  }

  /** @param {boolean} on */
  show(on) {
    const { layer, stage } = this;
    const has = document.activeElement;
    if (!on && has instanceof HTMLElement && layer.contains(has)) has.blur(); // what is seen then has it
    if (!on && !layer.hidden && this.space?.left) this.fade();
    else layer.hidden = !on;
    stage.element.classList.toggle("in-space", on);
    stage.space = on ? this.space : null;
  }

  /** What the camera has come to goes over into its own picture. */
  async fade() {
    const { layer, stage } = this;
    await move(layer, [{ opacity: 1 }, { opacity: 0 }], { duration: FADE });
    layer.hidden = !stage.space; // unless the reader came back meanwhile
  }
}
