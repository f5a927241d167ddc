// What moves: the same five verbs everywhere, each with its time. For readers who want no motion the
// end is there at once.

/** Milliseconds of the five verbs. */
export const [LOOK_UP, COPY, GATHER, WRITE, CHOOSE] = [400, 300, 900, 500, 700];
const EASING = "cubic-bezier(0.3, 0, 0.2, 1)";

/** Whether the reader wants nothing to move. */
export function still() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/**
 * @param {Element} element
 * @param {Keyframe[]} frames  the last one is how it already is
 * @param {KeyframeAnimationOptions} [options]
 * @returns {Promise<void>}  its end, however it ends; at once where nothing is to move
 */
export async function move(element, frames, options) {
  if (still() || !element.isConnected) return;
  const all = { duration: LOOK_UP, easing: EASING, fill: /** @type {const} */ ("backwards") };
  const { finished } = element.animate(frames, { ...all, ...options });
  await finished.catch(() => {});
}

/**
 * Elements that a change puts elsewhere slide there ("FLIP": first, last, invert, play).
 * @param {Element[]} elements
 * @param {() => void} change
 */
export function flip(elements, change) {
  if (still()) return change();
  const before = elements.map((one) => one.getBoundingClientRect());
  for (const one of elements) stop(one);
  change();
  elements.forEach((one, i) => {
    const [from, to] = [before[i], one.getBoundingClientRect()];
    const [x, y] = [from.left - to.left, from.top - to.top];
    if (!from.width || Math.hypot(x, y) < 1) return;
    move(one, [{ translate: `${x}px ${y}px` }, { translate: "0 0" }], { duration: COPY });
  });
}

/**
 * Numbers go to where they are to be.
 * @param {number[]} from
 * @param {number[]} to
 * @param {(now: number[]) => void} paint
 * @returns {() => void}  ends it where it is
 */
export function glide(from, to, paint) {
  let frame = 0;
  const began = performance.now();
  const step = () => {
    const done = Math.min(1, (performance.now() - began) / WRITE);
    const share = done * done * (3 - 2 * done);
    paint(to.map((value, i) => from[i] + share * (value - from[i])));
    if (done < 1) frame = requestAnimationFrame(step);
  };
  if (still() || from.length !== to.length) paint(to);
  else step();
  return () => cancelAnimationFrame(frame);
}

/** @param {Element} element  what moves in it is at its end */
export function stop(element) {
  for (const one of element.getAnimations()) one.cancel();
}

/**
 * Something that flies over a frame, and is gone when it has arrived.
 * @param {HTMLElement} frame
 * @param {HTMLElement} one
 * @param {Keyframe[]} frames
 * @param {KeyframeAnimationOptions} [options]
 */
export async function fly(frame, one, frames, options) {
  if (still()) return;
  one.classList.add("flies");
  one.ariaHidden = "true";
  frame.append(one);
  await move(one, frames, options);
  one.remove();
}
