// What changes a pass and compares passes, what is read of weights, and the panels below the picture.

import { bugChoice, NAMES, throughBug } from "./bug.mjs";
import { cutSays } from "./cut_says.mjs";
import { Dart } from "./dart.mjs";
import { editsOf, Hand, handsOf } from "./by_hand.mjs";
import { Inset } from "./inset.mjs";
import { Layout } from "./layout.mjs";
import { Shelf } from "./parts.mjs";
import { addressOf, levelOf } from "./place.mjs";
import { readPass } from "./read.mjs";
import { sensesOf } from "../exhibits/crane_world.mjs";
import { lightens, roves } from "./light.mjs";
import { Solids } from "./solids.mjs";
import { Suggest } from "./suggest.mjs";
import { Swap } from "./swap.mjs";
import { Thumbs } from "./thumbs.mjs";
import { tilesOf } from "./tiles.mjs";
import { Tour } from "./tour.mjs";
import { Turn } from "./turn.mjs";
import { Zoom } from "./zoom.mjs";
import { bothNext, gapsOf, saysOf, Versus } from "./versus.mjs";

/** @import { Page } from "../exhibits/exhibit.mjs" */
/** @import { Parts } from "./parts.mjs" */
/** @import { Pass } from "./pass.mjs" */
/** @import { Place } from "./place.mjs" */
/** @typedef {Parameters<typeof readPass>[1]} Request */

const MOST = 128; // tokens

export class Tools {
  /**
   * @param {Page} page
   * @param {{sizes: any, stage: HTMLElement, stored: Pass[], cut: () => string[],
   *   begin: (changes: Record<string, any>) => void, latest: () => Promise<Pass | null>,
   *   forget: () => void, repaint: () => void, go: (place: Place) => void, tour: ConstructorParameters<typeof Tour>[1]}} more
   *   `latest`: the pass of the present text, computed here; `forget`: what was computed
   */
  constructor(page, { sizes, stage, stored, cut, begin, latest, forget, repaint, go, tour }) {
    const { settings, state, model, complain } = page;
    this.state = state;
    this.model = model;
    this.sizes = sizes;
    this.cut = cut;
    this.repaint = repaint;
    this.complain = complain;
    this.shelf = new Shelf(model);
    this.hand = new Hand(state, sizes);
    const beside = /** @type {import("./beside.mjs").Beside | undefined} */ (
      /** @type {any} */ (globalThis).gpt2Beside
    );
    this.learned = (beside && settings.learned && new beside.Learned(page)) || null;
    this.versus = new Versus(model, state, stored, settings.chips ?? []);
    this.swap = new Swap(model, stage, { latest, begin, complain });
    this.suggest = new Suggest(model, tour.field, tour.text, complain);
    this.mine =
      (beside && settings.tensors && !sizes.llama && new beside.Mine(stage, complain)) || null;
    this.panels = beside?.panels(page, { switches: () => ({ headsOff: cut() }), forget });
    this.patch = this.panels?.patch ?? null;
    this.bugs = bugChoice(state);
    this.dart = new Dart(state, sizes.llama ? "" : ", bugs");
    if (!sizes.llama) this.dart.element.append(this.bugs.element);
    this.tour = new Tour(state, tour);
    this.turn = new Turn(page, { ...tour, go });
    this.thumbs = new Thumbs(model, repaint, tour.stage.svg);
    this.solids = new Solids(model, repaint, tour.stage.svg, this.thumbs);
    this.inset = new Inset(() => (this.zoom.times > 1 ? this.zoom.by(0) : go({})));
    this.top = tour.who;
    this.stage = tour.stage;
    this.zoom = new Zoom(tour.stage, this.thumbs, () => this.where());
    for (const touched of [lightens, roves]) touched(tour.stage.svg);
    this.above = [this.learned, this.patch].flatMap((one) => (one ? [one.element] : []));
    this.under = [this.versus.element, this.hand.element, this.dart.element];
    this.below = [...(this.mine ? [this.mine.element] : []), ...(this.panels?.nodes ?? [])];
    /** @type {{of: string, pass: Pass} | null} */
    this.clean = null; // the last pass without a number set by hand
    /** @type {{of: string, shares: Float64Array} | null} */
    this.whole = null; // the last shares with no head cut
    /** @type {Pass | null} */
    this.other = null; // that the pass is compared with
    /** @type {Parts & {of?: string}} */
    this.parts = {}; // of the weights, for the place
    this.hover = this.sought = -1; // an output of a matrix, and the one whose row is on its way
    this.filling = false; // those behind it are still to come
    /** @type {{pass: Pass, place: Place, at: number} | null} */
    this.shown = null;
    this.nth = -1; // product that is added now; -1: all are
  }

  get bug() {
    const bug = this.state.get("bug");
    return NAMES.includes(bug) && !this.sizes.llama ? bug : ""; // they are GPT-2's
  }

  /** What a pass depends on, beside its text and cuts. */
  get asked() {
    return [this.patch?.asked, this.learned?.asked, this.state.get("set"), this.bug];
  }

  /** @param {number} T  tokens */
  cells(T) {
    return this.bug ? [] : this.hand.cells(T);
  }

  /**
   * What is asked of the model.
   * @param {string} text
   * @param {number[]} ids
   * @param {string} key
   * @param {string[]} [off]  heads that are cut
   * @returns {Request}
   */
  request(text, ids, key, off = this.cut()) {
    return { text, ids, key, switches: { headsOff: off }, senses: sensesOf(text) };
  }

  /**
   * The pass of a text; `cut` says how many of its tokens did not fit.
   * @param {string} text
   * @param {number} [open]  the block that is looked into
   */
  async compute(text, open) {
    const { ids, cut } = await this.model.encode(text, MOST);
    const pass = await this.pass({ ...this.request(text, ids, "flow"), open });
    return pass && { pass, cut }; // null: a newer request took its place
  }

  /**
   * The pass that was asked for, with what is set, put in or broken.
   * @param {Request} asked
   * @returns {Promise<Pass | null>}  null: a newer request took its place
   */
  async pass(asked) {
    const { model, bug, patch, sizes } = this;
    const given = patch ? await patch.edits({ headsOff: this.cut() }) : {};
    if (!given) return null;
    const cells = this.cells(asked.ids.length);
    const edits = { ...given, ...editsOf(cells, sizes, asked.ids.length) };
    const pass = await readPass(model, { ...asked, edits, through: throughBug(model, bug) });
    if (!pass) return null;
    const of = JSON.stringify([asked, bug]);
    if (!cells.length) this.clean = { of, pass };
    else if (this.clean?.of !== of) {
      const clean = await readPass(model, { ...asked, key: "flow, clean" });
      if (!clean) return null;
      this.clean = { of, pass: clean };
    }
    if (cells.length) pass.base = this.clean?.pass;
    const same = !bug && !Object.keys(edits).length; // but for the cut
    if (pass.off?.length && same) pass.uncut = await this.uncut(asked.ids);
    return pass;
  }

  /**
   * What would come next with no head cut.
   * @param {number[]} ids
   * @returns {Promise<Float64Array | undefined>}
   */
  async uncut(ids) {
    const { model } = this;
    const of = JSON.stringify([ids, model.loaded?.name]);
    if (this.whole?.of !== of) {
      const run = await model.run({ ids, key: "flow, uncut", lastOnly: true });
      this.whole = run && { of, shares: model.probabilities(run.logits) };
    }
    return this.whole?.shares;
  }

  /**
   * What a place wants, and the pass that is compared with.
   * @param {Pass} pass
   * @param {Place} place
   * @param {number} at
   * @param {number} width  px of the picture
   * @returns {Promise<boolean>}  false: a newer request took its place
   */
  async prepare(pass, place, at, width) {
    const parts = await this.shelf.wanted(pass, place, at);
    if (!parts) return false;
    const request = (/** @type {Parameters<Tools["request"]>} */ ...asked) => {
      const through = asked[3] ? undefined : throughBug(this.model, this.bug);
      return { ...this.request(...asked), through };
    };
    this.other = await this.versus.find(pass, request, this.bug);
    this.parts = { ...parts, of: addressOf(place) };
    if (pass.tensor && !levelOf(place)) {
      const layout = new Layout(width, pass.ids.length, pass.nLayer);
      const { tiles } = tilesOf(layout, this.model.present.config);
      await this.thumbs.fetch(tiles);
    }
    return true;
  }

  /**
   * What a scene is given of it.
   * @param {Pass} pass
   * @param {Place} place
   */
  view(pass, place) {
    const { other, parts, hover, filling, patch } = this;
    const gaps = other && gapsOf(pass, other);
    return {
      other,
      gaps,
      next: other ? bothNext(pass, other) : pass.next,
      parts: parts.of === addressOf(place) ? parts : {},
      hover,
      filling,
      setHover: (/** @type {number} */ output, fills = false) => {
        this.seek(place, output, fills).catch(this.complain);
      },
      nth: this.nth,
      setNth: (/** @type {number} */ nth) => {
        if (nth === this.nth) return;
        this.nth = nth;
        this.repaint();
      },
      cells: this.cells(pass.ids.length),
      byHand: (/** @type {Layout} */ layout) =>
        handsOf(this.cells(pass.ids.length), layout, Boolean(this.sizes.llama)),
      patch,
      name: (/** @type {number} */ id) => this.model.show(id),
      solids: this.solids,
      weights: (/** @type {import("./tiles.mjs").Tile[]} */ tiles, /** @type {any} */ view) =>
        // What is looked up: positions, or in a Llama with a head of its own the tokens.
        this.thumbs.draw(tiles, view, () => this.state.set({ station: this.sizes.llama ? 1 : 2 })),
    };
  }

  /**
   * An output of a matrix is shown once its row is there.
   * @param {Place} place
   * @param {number} output  -1: none
   * @param {boolean} fills
   */
  async seek(place, output, fills) {
    const { matrix } = this.parts;
    if (!matrix || (this.sought === output && this.filling === fills)) return;
    this.sought = output;
    if (output >= 0) await this.shelf.row(matrix, place, output);
    if (matrix !== this.parts.matrix || (output >= 0 && this.sought < 0)) return; // it has left
    [this.hover, this.filling] = [output, fills && output >= 0];
    this.repaint();
  }

  /**
   * After a pass is painted.
   * @param {Pass} pass
   * @param {Place} place
   * @param {number} at
   * @param {string} path  the tensor at which it is
   */
  set(pass, place, at, path) {
    const whole = !levelOf(place);
    const touched = Boolean(this.bug || this.cut().length || this.cells(pass.ids.length).length);
    this.thumbs.make();
    this.solids.make();
    this.shown = { pass, place, at };
    this.zoom.set(whole && !pass.only && !this.turn.on(place));
    this.turn.set(pass, place, { at, cut: this.cut() }).catch(this.complain);
    this.where();
    this.bugs.set();
    this.mine?.set(path);
    this.learned?.set();
    this.hand.set(pass, place, at);
    this.swap.set(pass, whole);
    this.suggest.set(pass);
    this.versus.set(pass, { other: this.other, whole, touched });
  }

  /** Where one is in the whole: above a deeper level, and in the corner of what is zoomed. */
  where() {
    const { inset, stage, zoom, shown } = this;
    if (!shown) return;
    const { pass, place, at } = shown;
    const { times, corner } = zoom;
    const deep = levelOf(place) > 0;
    if (!deep && times === 1) return inset.hide();
    const how = { at, width: stage.room, sizes: this.model.loaded?.config ?? this.sizes };
    if (inset.element.parentElement !== (deep ? this.top.parentElement : stage.element)) {
      if (deep) this.top.before(inset.element);
      else stage.element.append(inset.element);
    }
    if (deep) return inset.set(pass, { ...how, place });
    const [width, height] = [stage.svg.clientWidth, stage.svg.clientHeight].map((px) => px / times);
    inset.set(pass, { ...how, seen: { x: corner[0], y: corner[1], width, height } });
  }

  /**
   * What was changed, and what came of it; empty where nothing was.
   * @param {Pass} pass
   * @param {number} at
   */
  says(pass, at) {
    const differs = this.other && saysOf(pass, this.other, at);
    const told = this.learned?.says(pass) || this.hand.says(pass) || this.patch?.says(pass);
    return differs || told || cutSays(pass, (id) => this.model.show(id));
  }
}
