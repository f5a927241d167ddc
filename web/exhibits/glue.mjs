// Pieces of a text that fuse, or come apart again: neighbours slide together and glue.

import { make } from "./dom.mjs";
import { COPY, fly, move, still, stop } from "./motion.mjs";

/** @import { Strip } from "./strip.mjs" */

/**
 * @param {HTMLElement} frame  over which they fly
 * @param {Strip} strip
 * @param {number[]} before  how many bytes each of its pieces has
 * @param {number[]} after
 * @param {() => void} change
 */
export function glue(frame, strip, before, after, change) {
  for (const one of frame.querySelectorAll(":scope > .flies")) one.remove();
  const [olds, all] = [spans(before), spans(after)];
  if (still() || olds.at(-1)?.end !== all.at(-1)?.end) return change();
  const shown = olds.slice(0, strip.buttons.length).map(({ start, end }, i) => {
    const button = strip.buttons[i];
    const [box, text] = [button.getBoundingClientRect(), button.firstElementChild?.textContent];
    stop(button);
    return { start, end, box, text };
  });
  change();
  const origin = frame.getBoundingClientRect();
  const list = strip.list.getBoundingClientRect();
  const seen = (/** @type {DOMRect} */ { top, bottom }) => bottom > list.top && top < list.bottom;
  strip.buttons.forEach((button, i) => {
    const { start, end } = all[i];
    const parts = shown.filter((one) => one.start < end && one.end > start);
    const [to, [first]] = [button.getBoundingClientRect(), parts];
    if (!first || !seen(to)) return;
    if (parts.length === 1) {
      const share = (start - first.start) / (first.end - first.start); // it was a part of it, or it
      const x = first.box.left + share * first.box.width - to.left;
      const from = { translate: `${x}px ${first.box.top - to.top}px` };
      if (x || first.box.top !== to.top)
        move(button, [from, { translate: "0 0" }], { duration: COPY });
      return;
    }
    move(button, [{ opacity: 0 }, { opacity: 0, offset: 0.8 }, { opacity: 1 }], { duration: COPY });
    for (const { box, text, start: from } of parts) {
      const style = `width: ${box.width}px; height: ${box.height}px`;
      const chip = make("span", { class: "chip", style }, text ?? "");
      const x = to.left + ((from - start) / (end - start)) * to.width - origin.left;
      const place = (/** @type {number} */ left, /** @type {number} */ top) => ({
        translate: `${left}px ${top}px`,
      });
      const way = [
        place(box.left - origin.left, box.top - origin.top),
        place(x, to.top - origin.top),
      ];
      fly(frame, chip, way, { duration: COPY });
    }
  });
}

/** @param {number[]} lengths */
function spans(lengths) {
  let end = 0;
  return lengths.map((length) => ({ start: end, end: (end += length) }));
}
