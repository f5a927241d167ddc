// What is written in space; what can be pressed is a button, so that a keyboard reaches it.

import { CSS2DObject, CSS2DRenderer } from "three/addons/renderers/CSS2DRenderer.js";
import { bare, make } from "../exhibits/dom.mjs";
import { meaning, share } from "../flow/pass.mjs";
import { BAR, DEEP } from "./plan.mjs";
import { THICK } from "./things.mjs";

/** @import { Scene } from "three" */
/** @import { Pass } from "../flow/pass.mjs" */
/** @import { Place } from "../flow/place.mjs" */
/** @import { Plan } from "./plan.mjs" */
/** @typedef {{go: (place: Place) => void, pick: (t: number) => void,
 *   append: (id: number, rest?: string) => void}} Acts */

const NAMES = 16; // of tokens that have room above each other
const FRONT = DEEP / 2;
/** @type {[string, number][]} */
const PARTS = [
  ["attention", 0.27],
  ["MLP", 0.76],
];

export class Labels {
  /** @param {Acts} acts */
  constructor(acts) {
    this.acts = acts;
    /** @type {CSS2DObject[]} */
    this.answers = []; // what the model says
    this.renderer = new CSS2DRenderer();
    this.element = this.renderer.domElement;
    this.element.className = "space-labels";
  }

  /** What a pass that plays has not reached is not told. @param {number} front  along x */
  reach(front) {
    for (const { element, position } of this.answers) {
      element.style.opacity = position.x > front ? "0" : "";
    }
  }

  /**
   * @param {Scene} scene
   * @param {Plan} plan
   * @param {{pass: Pass, at: number}} view
   */
  set(scene, plan, { pass, at }) {
    const { go, pick, append } = this.acts;
    this.element.replaceChildren();
    this.answers = [];
    /**
     * @param {string} kind
     * @param {number[]} where
     * @param {[number, number]} center  of the label, 0 to 1
     * @param {(Node | string)[]} words
     * @param {(() => void) | null} [onclick]
     */
    const put = (kind, where, center, words, onclick = null) => {
      const own = { class: `space-label ${kind}`, ...(onclick ? { type: "button", onclick } : {}) };
      const one = new CSS2DObject(make(onclick ? "button" : "span", own, ...words));
      one.position.set(where[0], where[1], where[2]);
      if (/word|next/.test(kind)) this.answers.push(one);
      one.center.set(...center);
      scene.add(one);
    };
    const each = Math.ceil(plan.T / NAMES);
    pass.tokens.forEach((token, t) => {
      if (t !== at && (t % each || Math.abs(t - at) < each)) return;
      const [kind, where] = [
        t === at ? "token chosen" : "token",
        [plan.x(0.6), plan.y(t), DEEP + 14],
      ];
      put(kind, where, [1.05, 0.5], [bare(token)], () => pick(t));
    });
    for (let block = 0; block < plan.nLayer; block++) {
      const where = [plan.x(block + 1.06), plan.floor, DEEP + 30];
      const name = plan.nLayer > 4 ? `${block}` : `block ${block}`;
      put("block", where, [0, 0.5], [name], () => go({ block }));
    }
    const low = plan.y(at) - THICK;
    if (plan.nLayer <= 4) {
      for (let block = 1; block <= plan.nLayer; block++) {
        for (const [name, depth] of PARTS) {
          put("part", [plan.x(block + depth), plan.y(0) + 2 * THICK, 0], [0.5, 1], [name]);
        }
      }
      plan.stops.forEach((depth, s) => {
        const said = pass.lens[s]?.[at];
        if (!said) return;
        const { strength, side } = meaning(said, pass, 0.25);
        const own = side === null ? "winner" : `${side > 0.5 ? "bird" : "machine"}`;
        const kind = strength ? `word ${own}` : "word";
        put(kind, [plan.x(depth) + 8, low, FRONT], [0, 0], [bare(said.name)]);
      });
    }
    pass.next.forEach(({ id, name, rest = "", p }, i) => {
      const x = plan.answer + Math.max(2, p * BAR) + 8;
      const where = [x, plan.bar(i, pass.next.length), DEEP / 4];
      const words = [`${bare(name)}${rest} `, make("i", {}, share(p))];
      const act = pass.only ? null : () => append(id, rest);
      put(i ? "next" : "next first", where, [0, 0.5], words, act);
    });
  }
}
