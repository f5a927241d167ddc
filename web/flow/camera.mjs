// From one level of the picture to another: a camera that goes into the larger scene or comes out of
// it, and the squares of an attention map, which grow out of the ribbons and shrink to them again.

import { make } from "../exhibits/dom.mjs";
import { still } from "../exhibits/motion.mjs";

/** @import { Scene } from "./scenes.mjs" */
/** @import { Box } from "./layout.mjs" */
/** @import { Stage } from "./stage.mjs" */

/** A weight where a scene draws it. @typedef {Box & {head: number, weight: number}} Square */

const ZOOM = 450; // milliseconds from one level to the next
const STEPS = 16; // of the camera's way
const EASING = "cubic-bezier(0.4, 0, 0.2, 1)";
const MOST = 160; // squares that fly

/**
 * One camera for both scenes: each is drawn where it lies in the larger one, and fades. Where both
 * draw the same weights, these fly instead of the smaller scene.
 * @param {Stage} stage  with the new scene
 * @param {{old: SVGGElement, before: Scene, inside: Box | null, around: Box | null}} from  `inside`:
 *   where the new scene lies in the old; `around`: where the old one lies in the new
 */
export function fly({ svg, scene, shown, width = 0, element }, { old, before, inside, around }) {
  const box = inside ?? around;
  if (!box || !shown || still()) return;
  old.setAttribute("class", "ghost");
  svg.append(old);
  const scale = box.width / width;
  const flies = squares(before, shown, element);
  const frames = Array.from({ length: STEPS + 1 }, (_, i) => {
    const t = i / STEPS;
    const u = inside ? t : 1 - t; // how far within the smaller scene
    const k = scale ** -u; // evenly for the eye
    const part = scale === 1 ? u : (1 - 1 / k) / (1 - scale); // of the way of its corner
    const [dx, dy] = [-box.x * k * part, -box.y * k * part];
    const large = `translate(${dx}px, ${dy}px) scale(${k})`;
    const small = `translate(${dx + box.x * k}px, ${dy + box.y * k}px) scale(${k * scale})`;
    const seen = u * u * (3 - 2 * u);
    return {
      large: { transform: large, opacity: flies ? Math.max(0, 1 - 1.6 * u) : 1 - seen },
      small: flies ? { opacity: Math.max(0, 2 * u - 1) } : { transform: small, opacity: seen },
    };
  });
  const options = { duration: ZOOM, easing: EASING };
  const [larger, smaller] = inside ? [old, scene] : [scene, old];
  larger.animate(
    frames.map(({ large }) => large),
    options,
  );
  const last = smaller.animate(
    frames.map(({ small }) => small),
    options,
  );
  const end = () => old.remove();
  last.finished.then(end, end);
}

/**
 * @param {Scene} before
 * @param {Scene} after
 * @param {HTMLElement} frame
 * @returns {boolean}  whether any fly
 */
function squares(before, after, frame) {
  const [from, to] = [before, after].map(({ squares }) => squares?.() ?? new Map());
  const both = [...to].filter(([name]) => from.has(name));
  if (!both.length) return false;
  const layer = make("div", { class: "flow-squares", "aria-hidden": "true" });
  frame.append(layer);
  both.sort(([, a], [, b]) => b.weight - a.weight);
  for (const [name, { x, y, width, height, head, weight }] of both.slice(0, MOST)) {
    const at = /** @type {Square} */ (from.get(name));
    const one = make("i", {
      class: `h${head % 4}`,
      style: `width:${width}px;height:${height}px;opacity:${weight}`,
    });
    layer.append(one);
    const start = `translate(${at.x}px, ${at.y}px) scale(${at.width / width}, ${at.height / height})`;
    one.animate([{ transform: start }, { transform: `translate(${x}px, ${y}px)` }], {
      duration: ZOOM,
      easing: EASING,
      fill: "forwards",
    });
  }
  setTimeout(() => layer.remove(), ZOOM);
  return true;
}
