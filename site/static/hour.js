// "GPT-2 in an hour": the card that is being read sets the picture beside it, by the address that its
// link has. Where there is no room beside the cards, the links lead to "Open the model".

"use strict";

{
  /** @type {any} */
  const picture = document.querySelector("gpt2-flow");
  const links = /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll("a.look"));
  const PAUSE = 300; // milliseconds; a reader who scrolls past a card does not want it
  const REST = 600; // milliseconds until the picture has come to rest
  /** @type {HTMLAnchorElement | null} */
  let shown = null;
  let timer = 0;
  let rests = 0; // a timer

  function rest() {
    if (picture.dataset.state === "ready") picture.classList.remove("turns");
    else rests = Number(setTimeout(rest, REST));
  }

  function show() {
    if (!shown || !picture.checkVisibility() || picture.dataset.state !== "ready") return;
    const { state } = picture;
    picture.classList.add("turns");
    clearTimeout(rests);
    rests = Number(setTimeout(rest, REST));
    state.reset();
    for (const [name, text] of new URL(shown.href).searchParams) {
      const first = state.first(name);
      state.set({ [name]: typeof first === "number" ? Number(text) : text });
    }
  }

  /** @param {HTMLAnchorElement} link */
  function choose(link) {
    shown?.parentElement?.classList.remove("now");
    shown = link;
    link.parentElement?.classList.add("now");
    clearTimeout(timer);
    timer = Number(setTimeout(show, PAUSE));
  }

  const begun = new MutationObserver(() => {
    if (picture.dataset.state !== "ready") return;
    begun.disconnect();
    show();
  });
  begun.observe(picture, { attributeFilter: ["data-state"] });

  const read = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries)
        if (isIntersecting) choose(/** @type {any} */ (target.querySelector("a.look")));
    },
    { rootMargin: "-45% 0px -54%" },
  );
  for (const link of links) {
    read.observe(/** @type {Element} */ (link.parentElement));
    link.addEventListener("click", (event) => {
      const elsewhere = event.ctrlKey || event.metaKey || event.shiftKey;
      if (elsewhere || !picture.checkVisibility()) return;
      event.preventDefault();
      choose(link);
    });
  }
}
