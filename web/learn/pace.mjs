// How often a page that trains is painted, and how often it speaks.

const PAINT = 250; // milliseconds between two paintings
const ALOUD = 10_000; // milliseconds between two sentences that are read aloud

/**
 * What to call whenever a run has told something: what comes between two paintings is painted
 * together, if the page is seen.
 * @param {HTMLElement} element
 * @param {() => void} paint
 * @param {() => void} speak  after a mark
 */
export function paced(element, paint, speak) {
  let [timer, spoken] = [0, 0];
  return (/** @type {string} */ what) => {
    const now = performance.now();
    if (what === "mark" && now - spoken >= ALOUD) {
      spoken = now;
      speak();
    }
    if (timer || !element.isConnected) return;
    timer = Number(
      setTimeout(() => {
        timer = 0;
        if (document.visibilityState === "visible") requestAnimationFrame(() => paint());
      }, PAINT),
    );
  };
}
