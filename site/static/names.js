// A tensor's name, or a shape's letter, lights up wherever it stands in the chapter: in sentences,
// in code, in ledgers, and in exhibits, which name their parts with data-name. The names are those
// of the chapter's ledgers.

"use strict";

{
  const WORD = /[A-Za-z_][\w.]*/g;
  const IN_CODE = /[A-Za-z_]\w*/g; // there a dot asks an object for something
  const PLACES =
    ".g2-ledger th code, .g2-ledger td, p code, li code, td code, dd code, .highlight pre";

  // transformer.h.0.attn.q, attn.q and q are one name; only what several parts have keeps its part.
  /** @type {(name: string) => string} */
  function short(name) {
    const parts = name.replace(/^transformer\.(h\.\d+\.)?/, "").split(".");
    const last = parts[parts.length - 1];
    return last === "out" ? parts.slice(-2).join(".") : last;
  }

  /** @param {Element} article */
  function namesOf(article) {
    const names = new Set();
    /** @type {NodeListOf<HTMLTableRowElement>} */
    const rows = article.querySelectorAll(".g2-ledger tbody tr");
    for (const row of rows) {
      names.add(short(row.cells[0].textContent ?? ""));
      for (const letter of row.cells[1]?.textContent?.match(/[A-Z]/g) ?? []) names.add(letter);
    }
    return names;
  }

  // Give each known word of a text an element of its own, if it has none.
  /** @type {(text: Text, names: Set<string>) => void} */
  function mark(text, names) {
    const own = text.parentElement;
    if (!own || own.closest("[data-name], a")) return;
    const whole = text.data.trim();
    const pattern = own.tagName === "PRE" ? IN_CODE : WORD;
    const found = [...text.data.matchAll(pattern)].filter(([word]) => names.has(short(word)));
    if (!found.length) return;
    if (found.length === 1 && found[0][0] === whole && own.childNodes.length === 1) {
      own.dataset.name = short(whole);
      return;
    }
    const pieces = [];
    let end = 0;
    for (const { 0: word, index } of found) {
      const span = document.createElement("span");
      span.dataset.name = short(word);
      span.textContent = word;
      pieces.push(text.data.slice(end, index), span);
      end = index + word.length;
    }
    text.replaceWith(...pieces, text.data.slice(end));
  }

  /** @type {(place: Element) => Text[]} */
  function textsIn(place) {
    const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walker.nextNode()) texts.push(/** @type {Text} */ (walker.currentNode));
    return texts;
  }

  // Mark all places of the chapter, while nothing else waits.
  /** @type {(article: HTMLElement) => void} */
  function markAll(article) {
    const names = namesOf(article);
    const places = names.size ? [...article.querySelectorAll(PLACES)] : [];
    /** @param {Pick<IdleDeadline, "timeRemaining">} left */
    const go = (left) => {
      for (let place; left.timeRemaining() > 1 && (place = places.shift());) {
        for (const text of textsIn(place)) mark(text, names);
      }
      if (places.length) whenIdle(go);
      else article.dataset.names = "marked";
    };
    whenIdle(go);
    for (const row of article.querySelectorAll(".g2-ledger tbody th")) {
      row.setAttribute("tabindex", "0");
    }
  }

  const whenIdle =
    globalThis.requestIdleCallback ??
    ((work) => setTimeout(work, 1, { timeRemaining: () => Infinity })); // Safari

  /** @type {string | null} */
  let lit = null;

  /** @param {string | null} name */
  function light(name) {
    if (name === lit) return;
    lit = name;
    for (const one of document.querySelectorAll(".lit-name")) one.classList.remove("lit-name");
    if (!name) return;
    for (const one of document.querySelectorAll("[data-name]")) {
      if (short(one.getAttribute("data-name") ?? "") === name) one.classList.add("lit-name");
    }
  }

  /** @param {EventTarget | null} target */
  function nameAt(target) {
    const inside = ":scope > code[data-name], :scope > code > [data-name]";
    const at = /** @type {Element | null} */ (target);
    const found = at?.closest?.("[data-name]") ?? at?.querySelector?.(inside);
    return short(found?.getAttribute("data-name") ?? "") || null;
  }

  /** @type {HTMLElement | null} */
  const article = document.querySelector("article");
  if (article?.querySelector(".g2-ledger, .g2-live")) {
    markAll(article);
    article.addEventListener("pointerover", ({ target }) => light(nameAt(target)));
    article.addEventListener("pointerleave", () => light(null));
    article.addEventListener("focusin", ({ target }) => light(nameAt(target)));
    article.addEventListener("focusout", () => light(null));
  }
}
