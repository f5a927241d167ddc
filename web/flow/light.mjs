// What is under the pointer, or has the focus, lights whatever belongs to it: a head's ribbons, a
// token's key and value. While a pass plays, nothing does: a page that goes along moves all of it
// under a pointer that rests, and each of the ribbons would change each time.

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
