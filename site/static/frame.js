// The page's frame: light or dark, the contents, where the reader is. Without this script the theme
// is the system's, and the contents open and close all the same.

"use strict";

{
  const REST = 3000; // milliseconds without a sign of the reader
  const root = document.documentElement;
  const statics = new URL(".", /** @type {HTMLScriptElement} */ (document.currentScript).src);
  // Scripts that not every page needs, one after the other.
  /** @param {string[]} names */
  function load(...names) {
    for (const name of names) {
      const script = Object.assign(document.createElement("script"), { async: false });
      script.src = new URL(name, statics).href;
      document.head.append(script);
    }
  }

  /** @type {HTMLButtonElement} */
  const button = /** @type {any} */ (document.querySelector("button.theme"));
  const named = () =>
    button.setAttribute("aria-label", root.dataset.theme === "dark" ? "Light page" : "Dark page");
  button.addEventListener("click", () => {
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    try {
      localStorage["gpt2-edu theme"] = root.dataset.theme;
    } catch {
      // A page opened from a disk may have no storage: the choice lasts as long as the page.
    }
    named();
  });
  named();

  // The contents close where a menu would: on Escape, and when something else is clicked.
  /** @type {HTMLDetailsElement} */
  const contents = /** @type {any} */ (document.querySelector("details.contents"));
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && contents.open) {
      contents.open = false;
      contents.querySelector("summary")?.focus();
    }
    // "/" goes to the search, but where something is being typed.
    const typing = /** @type {Element} */ (event.target).closest?.(
      "input, textarea, select, [contenteditable]",
    );
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      field.focus();
    }
  });
  addEventListener("click", (event) => {
    if (!contents.contains(/** @type {Node} */ (event.target))) contents.open = false;
  });

  // The search is loaded by whoever goes to its field.
  /** @type {HTMLInputElement} */
  const field = /** @type {any} */ (document.querySelector(".find input"));
  field.addEventListener(
    "focus",
    () => {
      if (document.querySelector('script[src$="find.js"]')) return;
      load("vendor/minisearch/index.js", "find-rank.js", "find.js");
    },
    { once: true },
  );

  // What answers comes with scripts of its own, when it is in view or a link asks for it; what is only
  // near, when the reader moves or has been here for a while: first of all a page is there to be read.
  const live = [...document.querySelectorAll(".g2-live")];
  const asked = new Set();
  /** @param {Element} exhibit */
  function wake({ localName }) {
    const own = /gpt2-(card|flow|learn|reward|scale|scaling)$/.exec(localName)?.[1] ?? "live";
    const scripts = ["gpt2.js", "base.js", `${own}.js`];
    load(...scripts.filter((name) => !asked.has(name)));
    for (const name of scripts) asked.add(name);
  }
  /** @param {string} rootMargin */
  function watch(rootMargin) {
    const seen = new IntersectionObserver(
      (entries) => {
        for (const { isIntersecting, target } of entries) if (isIntersecting) wake(target);
      },
      { rootMargin },
    );
    for (const exhibit of live) seen.observe(exhibit);
  }
  watch("0px");
  const moved = new AbortController();
  const { signal } = moved;
  function prepare() {
    if (signal.aborted) return;
    moved.abort();
    watch("50% 0px");
  }
  for (const sign of ["scroll", "pointermove", "pointerdown", "keydown"]) {
    addEventListener(sign, prepare, { signal, passive: true });
  }
  setTimeout(prepare, REST);
  if (location.search || /^#gpt2-/.test(location.hash)) live.forEach(wake);

  // Pages that were opened open again without a network (web/offline.mjs). When the store begins, or
  // begins anew, what this page has loaded already is stored, too, and what its picture of the whole
  // would load at a touch.
  const { serviceWorker } = navigator;
  function store() {
    const loaded = performance.getEntriesByType("resource").map(({ name }) => name);
    const deeper = document.querySelector("gpt2-flow") ? ["deep.js", "beside.js"] : [];
    const urlsToCache = [
      location.href,
      ...loaded,
      ...deeper.map((name) => new URL(name, statics).href),
    ];
    serviceWorker.controller?.postMessage({ type: "CACHE_URLS", payload: { urlsToCache } });
  }
  if (serviceWorker && location.protocol.startsWith("http")) {
    serviceWorker.addEventListener("controllerchange", store);
    const register = () => serviceWorker.register(new URL("../sw.js", statics)).catch(() => {});
    const later = () => (globalThis.requestIdleCallback ?? setTimeout)(register);
    if (document.readyState === "complete") later();
    else addEventListener("load", later);
  }

  // A box that scrolls can be reached and scrolled by keyboard. A formula grows when its face comes,
  // and its box does not.
  const boxes = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const box = target.closest(".katex-display") ?? target;
      if (box.scrollWidth > box.clientWidth + 1) box.setAttribute("tabindex", "0");
      else box.removeAttribute("tabindex");
    }
  });
  for (const box of document.querySelectorAll(
    "article :is(.scroll, pre, .output, .g2-scroll, .g2-ledger, .g2-parity, .katex-display, .katex-display .base)",
  )) {
    boxes.observe(box);
  }

  // The present chapter is in view, in the ribbon and in the contents.
  /** @type {HTMLElement | null} */
  const here = document.querySelector(".ribbon .here");
  // After the first paint: asked earlier, the browser would lay the page out twice.
  requestAnimationFrame(() =>
    here?.closest("nav")?.scrollTo({
      left: here.offsetLeft - innerWidth / 2 + here.offsetWidth / 2,
    }),
  );
  contents.addEventListener("focusout", ({ relatedTarget: to }) => {
    if (to && !contents.contains(/** @type {Node} */ (to))) contents.open = false;
  });
  contents.addEventListener("toggle", () => {
    const current =
      contents.querySelector(".current > a.current") ?? contents.querySelector(".current");
    if (contents.open) current?.scrollIntoView({ block: "center" });
  });

  // Where somebody stopped reading is kept in the browser, and offered on the front page.
  const book = new URL("..", statics).href;
  const pageInBook = location.href.replace(/[?#].*/, "").slice(book.length);
  /** @type {(place: string, heading: string | null) => void} */
  function keep(place, heading) {
    try {
      localStorage["gpt2-edu place"] = JSON.stringify({
        place,
        heading,
        chapter: document.title.split(" · ")[0],
      });
    } catch {
      // Without storage every visit begins at the beginning.
    }
  }
  function offer() {
    const { place, heading, chapter } = JSON.parse(localStorage["gpt2-edu place"]);
    if (!place || !heading) return;
    const link = Object.assign(document.createElement("a"), { className: "resume" });
    link.href = new URL(place, book).href;
    link.textContent = `Go on: ${chapter === heading ? chapter : `${chapter}, ${heading}`}`;
    if (link.href.startsWith(book)) contents.before(link);
  }
  if (document.body.matches(".book-index")) {
    try {
      offer();
    } catch {
      // Nothing was kept, or nothing that can be read.
    }
  }

  // Of the headings on this page the one that is being read is marked.
  const links = new Map(
    [
      .../** @type {NodeListOf<HTMLAnchorElement>} */ (
        document.querySelectorAll(".here-is a[href^='#']")
      ),
    ].map((link) => [link.hash.slice(1), link]),
  );
  if (links.size) {
    const seen = new Set();
    const watch = new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries) {
          if (isIntersecting) seen.add(target.id);
          else seen.delete(target.id);
        }
        const last = [...links.keys()].filter((id) => seen.has(id)).at(-1);
        // Above the first section none is read; below the last one it stays marked.
        if (!last && !entries.some(({ boundingClientRect: box }) => box.top > 0)) return;
        for (const [id, link] of links) {
          if (id === last) link.setAttribute("aria-current", "true");
          else link.removeAttribute("aria-current");
        }
        if (here && last) keep(`${pageInBook}#${last}`, links.get(last)?.textContent ?? null);
      },
      { rootMargin: "-15% 0px -70% 0px" },
    );
    for (const id of links.keys()) {
      const section = document.getElementById(decodeURIComponent(id));
      if (section) watch.observe(section);
    }
  }
}
