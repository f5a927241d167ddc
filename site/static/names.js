// A tensor's name, or a shape's letter, lights up wherever it stands in the chapter: in sentences,
// in code, in ledgers, and in exhibits, which name their parts with data-name. The names are those
// of the chapter's ledgers.

"use strict";

{
  const WORD = /[A-Za-z_][\w.]*/g;
  const IN_CODE = /[A-Za-z_]\w*/g; // there a dot asks an object for something
  const PLACES =
    ".g2-ledger th code, .g2-ledger td, p code, li code, td code, dd code, .highlight pre";

  /** transformer.h.0.attn.q, attn.q and q are one name; only what several parts have keeps its part. */
  function short(name) {
    const parts = name.replace(/^transformer\.(h\.\d+\.)?/, "").split(".");
    return parts.at(-1) === "out" ? parts.slice(-2).join(".") : parts.at(-1);
  }

  function namesOf(article) {
    const names = new Set();
    for (const row of article.querySelectorAll(".g2-ledger tbody tr")) {
      names.add(short(row.cells[0].textContent));
      for (const letter of row.cells[1]?.textContent.match(/[A-Z]/g) ?? []) names.add(letter);
    }
    return names;
  }

  /** Give each known word of a text an element of its own, if it has none. */
  function mark(text, names) {
    const own = text.parentElement;
    if (own.closest("[data-name], a, gpt2-console")) return;
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

  function textsIn(place) {
    const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walker.nextNode()) texts.push(walker.currentNode);
    return texts;
  }

  /** Mark all places of the chapter, while nothing else waits. */
  function markAll(article) {
    const names = namesOf(article);
    const places = names.size ? [...article.querySelectorAll(PLACES)] : [];
    const go = (left) => {
      while (places.length && left.timeRemaining() > 1)
        for (const text of textsIn(places.shift())) mark(text, names);
      if (places.length) whenIdle(go);
      else article.dataset.names = "marked";
    };
    whenIdle(go);
    for (const row of article.querySelectorAll(".g2-ledger tbody th")) row.tabIndex = 0;
  }

  const whenIdle =
    globalThis.requestIdleCallback ??
    ((work) => setTimeout(work, 1, { timeRemaining: () => Infinity })); // Safari

  let lit = null;

  function light(name) {
    if (name === lit) return;
    lit = name;
    for (const one of document.querySelectorAll(".lit-name")) one.classList.remove("lit-name");
    if (!name) return;
    for (const one of document.querySelectorAll("[data-name]")) {
      if (short(one.dataset.name) === name) one.classList.add("lit-name");
    }
  }

  function nameAt(target) {
    const inside = ":scope > code[data-name], :scope > code > [data-name]";
    const found = target?.closest?.("[data-name]") ?? target?.querySelector?.(inside);
    return short(found?.dataset.name ?? "") || null;
  }

  const article = document.querySelector("article");
  if (article?.querySelector(".g2-ledger, .g2-live")) {
    markAll(article);
    article.addEventListener("pointerover", ({ target }) => light(nameAt(target)));
    article.addEventListener("pointerleave", () => light(null));
    article.addEventListener("focusin", ({ target }) => light(nameAt(target)));
    article.addEventListener("focusout", () => light(null));
  }
}
