// How a token that was chosen becomes a word of the text.

import { make } from "../exhibits/dom.mjs";
import { still } from "../exhibits/motion.mjs";

const FLIGHT = 500; // milliseconds of a token on its way to the text
const LOOP = 1100; // along the loop

/**
 * The chosen token, or the likeliest, flies from its bar to the text.
 * @param {import("./stage.mjs").Stage} stage
 * @param {number} [id]
 */
export async function fling({ scene, element, space }, id) {
  const of = id === undefined ? ".next" : `[data-id="${id}"]`;
  const bar = scene.querySelector(`${of} .name`);
  const lanes = [...scene.querySelectorAll(".token")];
  const last = lanes.at(-1);
  if (!bar || !last || still() || space) return; // in space it is seen from elsewhere
  const [from, to] = [bar, last].map((one) => one.getBoundingClientRect());
  const origin = element.getBoundingClientRect();
  const name = make("b", { class: "flow-flying" }, bar.textContent ?? "");
  element.append(name);
  const [x, y] = [from.left - origin.left, from.top - origin.top];
  const turned = element.classList.contains("turned");
  const end = turned
    ? [to.left, to.top]
    : [to.left + 8, Math.min(to.bottom + 10, origin.bottom - 20)];
  const [dx, dy] = [end[0] - origin.left - x, end[1] - origin.top - y];
  Object.assign(name.style, { left: `${x}px`, top: `${y}px` });
  const loop = scene.querySelector(".loop path");
  const low = loop ? loop.getBoundingClientRect().bottom - from.top - 16 : -10;
  const by = (/** @type {number} */ x, /** @type {number} */ y) => `translate(${x}px, ${y}px)`;
  const way = [
    { transform: "none", easing: "ease-out" },
    { transform: by(0, low), offset: 0.25, easing: "ease-in-out" },
    ...(loop ? [{ transform: by(dx, low), offset: 0.8 }] : []),
    { transform: by(dx, dy) },
  ];
  const pen = { stroke: "var(--g2-accent)", strokeWidth: 2.5, strokeDasharray: "1" };
  const drawn = [1, 0].map((left) => ({ ...pen, strokeDashoffset: left }));
  const duration = loop ? LOOP : FLIGHT;
  loop?.animate(drawn, { duration, easing: "ease-out" });
  await name.animate(way, duration).finished.catch(() => {});
  name.remove();
}
