// From one level of the picture to another: what is opened grows into its level, and the squares of
// attention maps out of the ribbons; going out, they shrink to them again.

import { make } from "../exhibits/dom.mjs";
import { still } from "../exhibits/motion.mjs";

/** @import { Scene } from "./scenes.mjs" */
/** @import { Box } from "./layout.mjs" */
/** @import { Stage } from "./stage.mjs" */

/** A weight where a scene draws it. @typedef {Box & {head: number, weight: number}} Square */

const ZOOM = 560; // milliseconds from one level to the next
const STEPS = 20; // of the camera's way
const EASING = "cubic-bezier(0.4, 0, 0.2, 1)";
const MOST = 160; // squares that fly
const NS = "http://www.w3.org/2000/svg";

/**
 * What is opened grows into its level, and shrinks to it again: the smaller scene lies on a sheet that
 * is at first as large as it is in the larger one, and at last fills the stage. Both go along with it.
 * @param {Stage} stage  with the new scene
 * @param {{old: SVGGElement, before: Scene, inside: Box | null, around: Box | null}} from  `inside`:
 *   where the new scene lies in the old; `around`: where the old one lies in the new
 */
export function fly(stage, { old, before, inside, around }) {
  const { scene, shown, width = 0, least, element } = stage;
  const box = inside ?? around;
  if (!box || !shown || still()) return;
  const [larger, smaller] = inside ? [old, scene] : [scene, old];
  const one = inside ? shown : before; // the smaller
  const height = Math.max(one.height, least);
  const home = one.home ?? { x: 0, y: 0, width, height };
  const sheet = document.createElementNS(NS, "rect");
  sheet.setAttribute("class", "sheet");
  old.setAttribute("class", "ghost");
  if (inside) scene.before(old, sheet);
  else scene.after(sheet, old);
  if (!one.home) squares(before, shown, element);
  const first = Math.max(box.width / home.width, box.height / home.height) + 1e-6; // never 1
  const middle = (/** @type {Box} */ { x, width }) => x + width / 2;
  const frames = Array.from({ length: STEPS + 1 }, (_, i) => {
    const u = inside ? i / STEPS : 1 - i / STEPS; // how far within the smaller scene
    const scale = first ** (1 - u); // evenly for the eye
    const part = (scale - first) / (1 - first);
    const to = (/** @type {number} */ a, /** @type {number} */ b) => a + (b - a) * part;
    const [x, y] = [to(middle(box), middle(home)), to(box.y, home.y)]; // of what is at home there
    const [left, top] = [to(box.x, 0), to(box.y, 0)];
    const [w, h] = [to(box.width, width), to(box.height, height)];
    const [dx, dy] = [x - middle(home) * scale, y - home.y * scale];
    const k = scale / first;
    const cut = [top - dy, dx + width * scale - left - w, dy + height * scale - top - h, left - dx];
    return [
      {
        transform: `translate(${x - middle(box) * k}px, ${y - box.y * k}px) scale(${k})`,
        zIndex: i, // without effect, but no compositor takes it: it would run ahead of the sheet
      },
      { x: `${left}px`, y: `${top}px`, width: `${w}px`, height: `${h}px`, opacity: 4 * u },
      {
        transform: `translate(${dx}px, ${dy}px) scale(${scale})`,
        clipPath: `inset(${cut.map((px) => `${px / scale}px`).join(" ")}) view-box`,
        opacity: 3 * u,
      },
    ];
  });
  const [, , last] = [larger, sheet, smaller].map((one, nth) => {
    const of = frames.map((all) => /** @type {Keyframe} */ (all[nth]));
    return one.animate(of, { duration: ZOOM, easing: EASING });
  });
  const end = () => {
    old.remove();
    sheet.remove();
  };
  last.finished.then(end, end);
}

/**
 * @param {Scene} before
 * @param {Scene} after
 * @param {HTMLElement} frame
 */
function squares(before, after, frame) {
  const [from, to] = [before, after].map(({ squares }) => squares?.() ?? new Map());
  const both = [...to].filter(([name]) => from.has(name));
  if (!both.length) return;
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
    one.animate(
      [
        { transform: start, zIndex: 0 },
        { transform: `translate(${x}px, ${y}px)`, zIndex: 1 },
      ],
      {
        duration: ZOOM,
        easing: EASING,
        fill: "forwards",
      },
    );
  }
  setTimeout(() => layer.remove(), ZOOM);
}
