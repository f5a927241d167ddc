// The hand on the stage: to turn it, to come nearer, to point at a matrix.

/** @import { Face } from "./faces.mjs" */

const TURN = 0.3; // degrees for each px
const TILT = 0.2;
const STILL = 4; // px that a click may move
const WHEEL = 0.0022; // of a size, for each px that it turns
const PINCH = 0.012; // where fingers on a pad turn it

/**
 * @param {HTMLElement} stage
 * @param {{turn: (across: number, down: number) => void, rest: () => void,
 *   scale: (factor: number) => boolean, point: (x: number, y: number) => void,
 *   leave: () => void, press: (x: number, y: number) => void}} does  scale: whether it could go there
 */
export function hands(stage, does) {
  /** @type {Map<number, {x: number, y: number}>} */
  const down = new Map();
  let moved = 0;
  const at = (/** @type {PointerEvent} */ event) => {
    const { left, top } = stage.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  };
  const apart = () => {
    const [a, b] = [...down.values()];
    return Math.hypot(a.x - b.x, a.y - b.y);
  };
  stage.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    if (!down.size) moved = 0;
    down.set(event.pointerId, at(event));
  });
  stage.addEventListener("pointermove", (event) => {
    const before = down.get(event.pointerId);
    const now = at(event);
    if (!before) {
      if (event.pointerType === "mouse") does.point(now.x, now.y);
      return;
    }
    const was = down.size === 2 ? apart() : 0;
    down.set(event.pointerId, now);
    const [across, along] = [now.x - before.x, now.y - before.y];
    moved += Math.hypot(across, along);
    if (moved < STILL) return;
    if (!stage.hasPointerCapture(event.pointerId)) stage.setPointerCapture(event.pointerId);
    stage.classList.add("held");
    does.leave();
    if (was) does.scale(was / apart());
    else if (down.size === 1) does.turn(across * TURN, along * TILT);
  });
  const up = (/** @type {PointerEvent} */ event) => {
    if (!down.delete(event.pointerId) || down.size) return;
    stage.classList.remove("held");
    if (moved >= STILL) return does.rest();
    const { x, y } = at(event);
    if (event.type === "pointerup") does.press(x, y);
  };
  for (const name of ["pointerup", "pointercancel"]) {
    stage.addEventListener(name, (event) => up(/** @type {PointerEvent} */ (event)));
  }
  stage.addEventListener("pointerleave", () => does.leave());
  stage.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && document.activeElement !== stage) return; // the page scrolls
      const each = event.ctrlKey && Math.abs(event.deltaY) < 40 ? PINCH : WHEEL;
      if (does.scale(Math.exp(event.deltaY * each)) || event.ctrlKey) event.preventDefault();
    },
    { passive: false },
  );
}

/**
 * The face at a point: the last that is drawn there.
 * @param {Face[]} all
 * @param {number} x
 * @param {number} y
 */
export function faceAt(all, x, y) {
  return [...all].reverse().find(({ points, of }) => of && within(points, x, y));
}

/** @type {(points: number[], x: number, y: number) => boolean} */
function within(points, x, y) {
  let inside = false;
  for (let i = 0, j = points.length - 2; i < points.length; j = i, i += 2) {
    const [ax, ay, bx, by] = [points[i], points[i + 1], points[j], points[j + 1]];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) inside = !inside;
  }
  return inside;
}
