// What is under the pointer, or has the focus, lights whatever belongs to it: a head's ribbons, a
// token's key and value. While a pass plays, nothing does: a page that goes along moves all of it
// under a pointer that rests, and each of the ribbons would change each time. Arrow keys go from one
// thing to the next of its kind.

/** @param {SVGElement} picture */
export function lightens(picture) {
  let lit = "";
  const light = (/** @type {string} */ of) => {
    if (of === lit) return;
    lit = of;
    picture.toggleAttribute("data-lights", of !== "");
    for (const one of /** @type {NodeListOf<SVGElement>} */ (picture.querySelectorAll("[data-of]")))
      one.toggleAttribute("data-lit", one.dataset.of === of);
  };
  const plays = () => Boolean(picture.closest(".plays"));
  const on = (/** @type {Event} */ { target }) => {
    const of = /** @type {SVGElement} */ (target).closest?.("[data-of]")?.getAttribute("data-of");
    light((!plays() && of) || "");
  };
  for (const sign of ["pointerover", "focusin"]) picture.addEventListener(sign, on);
  for (const sign of ["pointerleave", "focusout"]) picture.addEventListener(sign, () => light(""));
}

/**
 * Among things of a kind the arrow keys go on: they are one stop for Tab.
 * @param {SVGElement} picture
 */
export function roves(picture) {
  picture.addEventListener("keydown", (event) => {
    const from = /** @type {SVGElement} */ (event.target);
    const kind = from.dataset.rove;
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!kind || !step) return;
    event.preventDefault();
    const all = /** @type {SVGElement[]} */ ([...picture.querySelectorAll(`[data-rove=${kind}]`)]);
    const to = all[(all.indexOf(from) + step + all.length) % all.length];
    for (const one of all) one.tabIndex = one === to ? 0 : -1;
    to.focus({ preventScroll: true });
  });
}
