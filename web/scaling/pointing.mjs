// What a pointer and the keyboard do in the picture: turn it, point at a run, take it away.

import { neighbour } from "./cells.mjs";
import { sceneOf } from "./picture.mjs";

/** @import { Shown } from "./picture.mjs" */
/** @import { View } from "./scene.mjs" */

const DEGREES = 0.4; // for each px that is dragged
const STILL = 5; // px that a press may move and be a click
const NEAR = 26; // px from a run that is meant
const WAYS = /** @type {Record<string, {n?: number, d?: number}>} */ ({
  ArrowRight: { d: 1 },
  ArrowLeft: { d: -1 },
  ArrowUp: { n: 1 },
  ArrowDown: { n: -1 },
});

/**
 * @param {SVGSVGElement} box
 * @param {{shown: () => Shown, point: (name: string) => void, toggle: (name: string) => void,
 *   turn: (to: View) => void, step: (name: string) => void}} does  with names of cells; step: to a cell by
 *   an arrow key
 */
export function heed(box, { shown, point, toggle, turn, step }) {
  /** @param {MouseEvent} event */
  const nearest = ({ clientX, clientY }) => {
    const { left, top } = box.getBoundingClientRect();
    const scene = sceneOf(shown());
    let [best, least] = ["", NEAR];
    for (const { name, n, d, loss } of shown().cells) {
      const [x, y] = scene.place(n, d, loss);
      const far = Math.hypot(x - clientX + left, y - clientY + top);
      if (far < least) [best, least] = [name, far];
    }
    return best;
  };
  let [from, view] = [[0, 0], shown().view];
  box.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    box.setPointerCapture(event.pointerId);
    [from, view] = [[event.clientX, event.clientY], shown().view];
  });
  box.addEventListener("pointermove", (event) => {
    if (!box.hasPointerCapture(event.pointerId)) return point(nearest(event));
    const [x, y] = [event.clientX - from[0], event.clientY - from[1]];
    if (Math.hypot(x, y) > STILL) box.classList.add("turning");
    if (!box.matches(".turning")) return;
    const tilt = event.pointerType === "touch" ? view.tilt : view.tilt + DEGREES * y; // a finger scrolls
    turn({ turn: Math.round(view.turn - DEGREES * x), tilt: Math.round(tilt) });
  });
  box.addEventListener("pointerleave", () => point(""));
  const end = () => box.classList.remove("turning");
  box.addEventListener("pointercancel", end);
  box.addEventListener("pointerup", (event) => {
    const name = box.matches(".turning") ? "" : nearest(event);
    end();
    if (!name) return;
    point(name);
    toggle(name);
  });

  const focused = (/** @type {Event} */ { target }) =>
    /** @type {Element} */ (target).closest("[data-name]")?.getAttribute("data-name") ?? "";
  box.addEventListener("focusin", (event) => point(focused(event)));
  box.addEventListener("focusout", () => point(""));
  box.addEventListener("keydown", (event) => {
    const { cells } = shown();
    const cell = cells.find(({ name }) => name === focused(event));
    const way = WAYS[event.key];
    if (!cell || (!way && event.key !== " " && event.key !== "Enter")) return;
    event.preventDefault();
    if (way) step(neighbour(cells, cell, way).name);
    else toggle(cell.name);
  });
}
