// One pass in space: the same pass as in the flat picture, to be turned, gone along and gone into.

import {
  ColorManagement,
  LinearSRGBColorSpace,
  Raycaster,
  Scene,
  Vector2,
  WebGLRenderer,
} from "three";
import { make } from "../exhibits/dom.mjs";
import { still } from "../exhibits/motion.mjs";
import { TOLD } from "../flow/timetable.mjs";
import { bands } from "./bands.mjs";
import { Digits } from "./digits.mjs";
import { Labels } from "./labels.mjs";
import { FRONT, Moves, NEARER } from "./moves.mjs";
import { inkOf } from "./numbers.mjs";
import { fill, MOST, pane, panesOf } from "./panes.mjs";
import { Plan } from "./plan.mjs";
import { told } from "./pointing.mjs";
import { bars, floors, lanes, wings } from "./things.mjs";
import { handle } from "./touch.mjs";

/** @import { InstancedMesh, Intersection, Mesh, Object3D, ShaderMaterial } from "three" */
/** @import { model as PageModel } from "../exhibits/page_model.mjs" */
/** @import { Pass } from "../flow/pass.mjs" */
/** @import { Place } from "../flow/place.mjs" */
/** @import { Acts } from "./labels.mjs" */
/** @import { Widths } from "./plan.mjs" */
/** @import { Told } from "./pointing.mjs" */
/** @typedef {{pass: Pass, at: number, cut: string[], sizes: Widths}} View */

ColorManagement.enabled = false; // colours are the page's
const INKS = "bird machine winner stream h0 h1 h2 h3 q k v plain minus".split(" ");
const REST = 160; // milliseconds until numbers are written
const LONGEST = 70; // milliseconds of a step: a slow machine takes longer, and leaves nothing out
const FAR = 1e6; // beyond all that there is
const HINT = "Drag to turn. Ctrl and the wheel, or + and −, to go nearer. Click to go in.";

export class Space {
  /**
   * @param {HTMLElement} frame
   * @param {{model: typeof PageModel, colour: (name: string) => string, acts: Acts}} more
   *   `acts`: what a click does
   */
  constructor(frame, { model, colour, acts }) {
    this.frame = frame;
    this.model = model;
    this.colour = colour;
    this.acts = acts;
    this.renderer = new WebGLRenderer({ antialias: true, alpha: true });
    this.renderer.outputColorSpace = LinearSRGBColorSpace;
    this.canvas = this.renderer.domElement;
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    this.scene = new Scene();
    const moves = new Moves(() => this.draw());
    this.moves = moves;
    this.labels = new Labels({ ...acts, go: (place) => void this.enter(place) });
    this.digits = new Digits(this.scene);
    this.rests = 0; // the timer of what is written once the camera stands
    this.hint = make("p", { class: "space-hint" }, HINT);
    const view = (/** @type {string} */ words, /** @type {() => void} */ does, name = words) => {
      const onclick = () => {
        this.rest();
        does();
      };
      return make("button", { type: "button", "aria-label": name, onclick }, words);
    };
    const views = make(
      "div",
      { class: "space-views" },
      view("from the front", () => void moves.fly(moves.fitted(FRONT))),
      view("all of it", () => void moves.fly(moves.home)),
      view("−", () => moves.nearer(1 / NEARER), "go further"),
      view("+", () => moves.nearer(NEARER), "go nearer"),
    );
    frame.append(this.canvas, this.labels.element, this.hint, views);
    this.shared = { front: { value: FAR } };
    this.ray = new Raycaster();
    /** @type {{of: unknown, all: Map<string, Float32Array>}} */
    this.weights = { of: null, all: new Map() }; // of a model, by matrix
    /** @type {Mesh[]} */
    this.panes = [];
    this.bands = /** @type {Mesh | null} */ (null);
    this.view = /** @type {View | null} */ (null);
    this.left = false; // for a deeper place
    this.opener = /** @type {HTMLElement | null} */ (null); // what had the focus then
    this.frameNumber = 0;
    this.written = ""; // for which of the camera's stands
    this.last = 0; // milliseconds: when the last frame was
    this.pass = { depth: Infinity, speed: 0, to: Infinity, since: 0 };
    /** @type {Intersection | null} */
    this.hit = null; // what is at the pointer
    this.cursor = [0, 0]; // of the picture, -1 to 1
    /** @type {import("three").Vector3 | undefined} */
    this.anchor = undefined; // the same, behind bands
    handle(this);
  }

  /**
   * @param {View} view
   * @param {{width: number, height: number}} size  px
   * @returns {Promise<void> | undefined}  until the camera stands
   */
  set(view, size) {
    const { view: was, moves } = this;
    const same =
      was && was.pass === view.pass && was.at === view.at && `${was.cut}` === `${view.cut}`;
    if (!same) this.build(view);
    this.resize(size);
    this.draw();
    const other = was?.pass.nLayer !== view.pass.nLayer; // model
    if (was && !this.left && !other) return undefined;
    if (!was) moves.camera.put(moves.fitted(FRONT));
    this.left = false;
    if (document.activeElement === document.body) this.opener?.focus({ preventScroll: true });
    return moves.fly(moves.home);
  }

  /** @param {View} view */
  build(view) {
    const { pass, at, cut, sizes } = view;
    this.view = view;
    const plan = new Plan(pass, sizes);
    this.moves.set(plan);
    this.digits.clear();
    for (const one of [...this.scene.children]) dispose(one);
    this.scene.clear();
    const look = Object.fromEntries(INKS.map((name) => [name, inkOf(this.colour(name))]));
    const given = { plan, pass, look, shared: this.shared, at, cut };
    this.panes = panesOf(plan).map((one) => pane(given, one));
    this.bands = bands(given);
    const rest = [floors, lanes, bars, wings].map((kind) => kind(given));
    this.scene.add(...rest, ...this.panes, this.bands);
    this.labels.set(this.scene, plan, view);
    this.canvas.setAttribute(
      "aria-label",
      `The pass in space: ${pass.tokens.length} lanes through ${pass.nLayer} blocks. ` +
        "Arrow keys turn it, + and − go nearer and further, 0 shows all of it.",
    );
    if (!pass.only) this.fetch(this.panes).catch(() => {}); // then the panes stay empty
  }

  /** The weights, one matrix after the other. @param {Mesh[]} panes */
  async fetch(panes) {
    const { model } = this;
    const loaded = await model.ready();
    if (this.weights.of !== loaded) this.weights = { of: loaded, all: new Map() };
    const weights = this.weights.all;
    for (const mesh of panes) {
      const { module, rows, columns } = mesh.userData.pane;
      const name = `${module} ${rows}`;
      const known = weights.get(name);
      const part = known ?? (await model.part({ module, rows, columns, most: MOST })).weight;
      if (panes !== this.panes || model.loaded !== loaded) return; // others have come
      weights.set(name, part);
      fill(mesh, part);
      if (!known) this.draw();
    }
  }

  /** @param {{width: number, height: number}} size  px */
  resize(size) {
    const { camera } = this.moves;
    const { width, height } = camera.size;
    if (width === size.width && height === size.height) return;
    this.renderer.setPixelRatio(Math.min(2, devicePixelRatio));
    this.renderer.setSize(size.width, size.height);
    this.labels.renderer.setSize(size.width, size.height);
    camera.resize(size);
    camera.put(this.moves.home);
  }

  /** Into a block, and then its own picture. @param {Place} place */
  async enter(place) {
    this.rest();
    this.left = true;
    const has = document.activeElement;
    this.opener = has instanceof HTMLElement && this.frame.contains(has) ? has : null;
    if (!still()) await this.moves.fly(this.moves.before(Number(place.block)));
    this.acts.go(place);
  }

  /** A reader takes over. */
  rest() {
    this.moves.rest();
    this.hint.hidden = true;
  }

  /**
   * How far a pass has come.
   * @param {number} depth
   * @param {{speed: number, to: number} | null} [leg]  how it goes on: blocks a second, and how far
   */
  showDepth(depth, leg = null) {
    const { moves } = this;
    const starts = leg && !this.pass.speed;
    this.pass = { depth, speed: leg?.speed ?? 0, to: leg?.to ?? depth, since: performance.now() };
    if (starts) moves.follows = !still() && !moves.narrow;
    if (!leg && moves.follows && depth === Infinity) {
      moves.follows = false;
      void moves.fly(moves.home);
    }
    this.draw();
  }

  /** What happens. @param {string} says  the block and the verb; empty at the end */
  light(says) {
    const verb = says.split(": ").at(-1) ?? "";
    this.hint.replaceChildren(...(says ? [make("b", {}, says), ` ${TOLD[verb]}`] : [HINT]));
    this.hint.hidden = false;
  }

  draw() {
    this.frameNumber ||= requestAnimationFrame((now) => this.paint(now));
  }

  /** @param {number} now  milliseconds */
  paint(now) {
    const { scene, moves, pass } = this;
    this.frameNumber = 0;
    if (!this.canvas.isConnected || !this.view) return this.end();
    const { depth, speed, to, since } = pass;
    const at = speed ? Math.min(to, depth + (speed * (now - since)) / 1000) : depth;
    this.shared.front.value = Number.isFinite(at) ? moves.plan.x(at) : FAR;
    this.labels.reach(this.shared.front.value);
    const goes = moves.step(at, Math.min(LONGEST, now - this.last));
    this.last = now;
    this.renderer.render(scene, moves.camera.own);
    this.labels.renderer.render(scene, moves.camera.own);
    if (goes || (speed && at < to)) this.draw();
    clearTimeout(this.rests);
    this.rests = setTimeout(() => this.write(), REST);
  }

  /** The numbers in the middle of the picture, where there is room for them. */
  write() {
    const { view, moves, digits } = this;
    const { camera, plan } = moves;
    if (!view) return;
    const hit = this.hits(this.cursor).find(({ object }) => object !== this.bands) ?? null;
    const of = JSON.stringify([hit?.point, camera.stand, camera.size]);
    if (of === this.written) return;
    this.written = of;
    digits.set(hit, { plan, pass: view.pass }, camera);
    this.draw();
  }

  /** @param {number[]} at  of the picture, -1 to 1 */
  hits([x, y]) {
    this.ray.setFromCamera(new Vector2(x, y), this.moves.camera.own);
    return this.ray.intersectObjects(this.scene.children);
  }

  /** The picture was taken away. */
  end() {
    for (const one of [...this.scene.children]) dispose(one);
    this.renderer.dispose();
  }

  /** What is at a point of the picture. @param {number} x  px @param {number} y @returns {Told | null} */
  pointed(x, y) {
    const { moves, bands, view } = this;
    const { width, height } = moves.camera.size;
    if (!view || !bands) return null;
    this.cursor = x < 0 ? [0, 0] : [(2 * x) / width - 1, 1 - (2 * y) / height];
    const hits = x < 0 ? [] : this.hits(this.cursor);
    [this.hit = null] = hits;
    this.anchor = hits.find(({ object }) => object !== bands)?.point;
    const { object, faceIndex } = this.hit ?? {};
    const nth = object === bands ? Math.floor(Number(faceIndex) / bands.userData.each) : -1;
    const { chosen } = /** @type {ShaderMaterial} */ (bands.material).uniforms;
    if (chosen.value !== nth) this.draw();
    chosen.value = nth;
    return this.hit && told(this.hit, { ...view, plan: moves.plan });
  }

  /** @param {Told | null} at */
  press(at) {
    if (at?.go && at.does) void this.enter(at.go);
    else if (at?.pick !== undefined) this.acts.pick(at.pick);
    else if (at?.append) this.acts.append(at.append.id, at.append.rest);
  }
}

/** @param {Object3D} one  and all within it */
function dispose(one) {
  one.traverse((part) => {
    const { geometry, material } = /** @type {Mesh} */ (part);
    geometry?.dispose();
    for (const each of [material].flat()) {
      const { uniforms = {} } = /** @type {ShaderMaterial} */ (each ?? {});
      for (const { value } of Object.values(uniforms)) value?.dispose?.();
      each?.dispose();
    }
    if ("isInstancedMesh" in part) /** @type {InstancedMesh} */ (part).dispose();
  });
}
