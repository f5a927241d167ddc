// How much of a chapter's page is shown, all of it or the short road. The choice holds for all of them;
// a link to what the short road leaves out shows all of this one.

"use strict";

{
  const { dataset } = document.documentElement;
  const choices = /** @type {NodeListOf<HTMLInputElement>} */ (
    document.querySelectorAll(".length input")
  );

  /** @param {string} length */
  function show(length) {
    dataset.length = length;
    for (const choice of choices) choice.checked = choice.value === length;
  }

  /** @param {string} hash  of an address on this page */
  function lead(hash) {
    let name = hash.slice(1);
    try {
      name = decodeURIComponent(name);
    } catch {
      // A stray % in the address: no anchor of ours.
    }
    const target = document.getElementById(name);
    if (dataset.length === "full" || !target?.closest(".long")) return;
    show("full");
    target.scrollIntoView();
  }

  for (const choice of choices) {
    choice.addEventListener("change", () => {
      show(choice.value);
      try {
        localStorage["gpt2-edu length"] = choice.value;
      } catch {
        // Without storage the choice holds for this page.
      }
    });
  }
  addEventListener("hashchange", () => lead(location.hash));
  // A second click on the same link changes no address.
  addEventListener("click", ({ target }) => {
    /** @type {HTMLAnchorElement | null} */
    const link = /** @type {Element} */ (target).closest?.("a[href^='#']");
    if (link) lead(link.hash);
  });
  show(dataset.length === "short" ? "short" : "full");
  lead(location.hash);
  dataset.settled = "";
}
