// Folds open by themselves where a reader could not see what was asked for: around the target of a
// link, and on paper, where code that only draws or checks stays away, as does the map. A page of
// practice is printed as it is: its solutions are for later. Without this script a click opens them.

"use strict";

{
  // Open the folds around the page's target, and the fold of a "Deeper" section that is the target.
  /** @param {string} hash */
  function openAround(hash) {
    let name = hash.slice(1);
    try {
      name = decodeURIComponent(name);
    } catch {
      // A stray % in the address: no anchor of ours.
    }
    const target = document.getElementById(name);
    if (!target) return;
    /** @type {HTMLDetailsElement | null} */
    const own = target.querySelector(":scope > details.deeper");
    let opened = false;
    /** @type {HTMLDetailsElement | null | undefined} */
    let fold = own ?? target.closest("details");
    for (; fold; fold = fold.parentElement?.closest("details")) {
      opened ||= !fold.open;
      fold.open = true;
    }
    if (opened) target.scrollIntoView();
  }

  addEventListener("hashchange", () => openAround(location.hash));
  // A second click on the same link changes no address.
  addEventListener("click", (event) => {
    /** @type {HTMLAnchorElement | null} */
    const link = /** @type {Element} */ (event.target).closest?.("a[href*='#']");
    if (link && link.hash === location.hash && link.pathname === location.pathname)
      openAround(link.hash);
  });
  openAround(location.hash);

  // Copying moves the focus into a text of its own; it belongs to the button.
  addEventListener("click", ({ target }) => {
    /** @type {HTMLElement | null} */
    const button = /** @type {Element} */ (target).closest?.("button.copybtn");
    button?.focus();
  });

  /** @type {HTMLDetailsElement[]} */
  let closed = [];
  addEventListener("beforeprint", () => {
    if (document.body.className.startsWith("notebooks-practice")) return;
    closed = [
      .../** @type {NodeListOf<HTMLDetailsElement>} */ (
        document.querySelectorAll("article details:not([open], .hide, .wrong)")
      ),
    ];
    for (const fold of closed) fold.open = true;
  });
  addEventListener("afterprint", () => {
    for (const fold of closed) fold.open = false;
    closed = [];
  });
}
