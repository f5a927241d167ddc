// What a reader's hand, pointer and keys do in space.

import { make } from "../exhibits/dom.mjs";
import { hands } from "../scale/hands.mjs";
import { NEARER } from "./moves.mjs";

/** @import { Space } from "./space.mjs" */

const KEY = 6; // degrees
const ROOM = 8; // px between what is told and the edge

/** @param {Space} space */
export function handle(space) {
  const { canvas, frame, moves } = space;
  const told = make("div", { class: "space-told", hidden: true });
  frame.append(told);
  let pointer = { x: 0, y: 0 };
  const tell = (/** @type {number} */ x, /** @type {number} */ y) => {
    const at = space.pointed(x, y);
    told.hidden = !at;
    frame.classList.toggle("points", Boolean(at?.does));
    if (!at) return;
    const lines = at.does ? [...at.words, `Click to ${at.does}.`] : at.words;
    told.replaceChildren(...lines.map((line) => make("p", {}, line)));
    const { width, height } = moves.camera.size;
    const left = Math.max(4, Math.min(x + 14, width - told.offsetWidth - ROOM));
    const below = y + 18 + told.offsetHeight < height;
    const top = below ? y + 18 : y - told.offsetHeight - ROOM;
    told.style.transform = `translate(${left}px, ${top}px)`;
  };
  canvas.addEventListener("pointermove", ({ offsetX: x, offsetY: y }) => (pointer = { x, y }));
  hands(canvas, {
    turn: (across, down) => {
      space.rest();
      moves.turn(-across, down);
    },
    rest: () => {},
    scale: (factor) => {
      space.rest();
      told.hidden = true;
      space.pointed(pointer.x, pointer.y);
      const { width, height } = moves.camera.size;
      const at = space.anchor ? pointer : { x: width / 2, y: height / 2 }; // nothing is beside it
      const moved = moves.camera.scale(factor, at, space.anchor);
      space.draw();
      return moved;
    },
    point: tell,
    leave: () => tell(-1, -1),
    press: (x, y) => space.press(space.pointed(x, y)),
  });
  canvas.addEventListener("pointerdown", () => frame.classList.add("held"));
  addEventListener("pointerup", () => frame.classList.remove("held"));
  /** @type {Record<string, () => unknown>} */
  const keys = {
    ArrowLeft: () => moves.turn(KEY, 0),
    ArrowRight: () => moves.turn(-KEY, 0),
    ArrowUp: () => moves.turn(0, KEY),
    ArrowDown: () => moves.turn(0, -KEY),
    "+": () => moves.nearer(NEARER),
    "=": () => moves.nearer(NEARER),
    "-": () => moves.nearer(1 / NEARER),
    0: () => moves.fly(moves.home),
  };
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    space.rest();
    keys[event.key]();
  });
}
