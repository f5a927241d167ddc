// A link to the glossary shows its entry while the pointer rests on it or it has the focus. The
// entry stands in the link's title, for readers without this script.

"use strict";

{
  const MARGIN = 8; // pixels
  const DELAY = 150; // milliseconds, so that the pointer can pass

  const box = document.createElement("div");
  box.id = "meaning";
  box.role = "tooltip";
  box.hidden = true;

  /** @type {HTMLElement | null} */
  let shown = null;
  let timer = 0;

  /** @param {HTMLElement} link */
  function show(link) {
    clearTimeout(timer);
    if (shown === link) return;
    hide();
    shown = link;
    box.textContent = link.dataset.meaning ?? "";
    box.hidden = false;
    link.setAttribute("aria-describedby", box.id);
    const at = link.getClientRects()[0] ?? link.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = box;
    const right = document.documentElement.clientWidth - width - MARGIN;
    const below = at.bottom + height + MARGIN < innerHeight;
    box.style.left = `${scrollX + Math.max(MARGIN, Math.min(right, at.left))}px`;
    box.style.top = `${scrollY + (below ? at.bottom + 2 : at.top - height - 2)}px`;
  }

  function hide() {
    clearTimeout(timer);
    shown?.removeAttribute("aria-describedby");
    shown = null;
    box.hidden = true;
  }

  /** @type {NodeListOf<HTMLElement>} */
  const links = document.querySelectorAll('article a[href*="glossary.html#"][title]');
  for (const link of links) {
    link.dataset.meaning = link.title;
    link.removeAttribute("title");
    link.addEventListener("pointerenter", ({ pointerType }) => {
      clearTimeout(timer);
      if (pointerType !== "touch") timer = setTimeout(show, DELAY, link);
    });
    link.addEventListener("pointerleave", () => {
      clearTimeout(timer);
      timer = setTimeout(hide, DELAY);
    });
    link.addEventListener("focus", () => link.matches(":focus-visible") && show(link));
    link.addEventListener("blur", hide);
  }
  if (links.length) {
    document.body.append(box);
    box.addEventListener("pointerenter", () => clearTimeout(timer));
    box.addEventListener("pointerleave", hide);
    addEventListener("keydown", ({ key }) => key === "Escape" && hide());
  }
}
