// Under every figure and exhibit: save it as an SVG file that stands alone, copy what its licence asks
// for, copy a link to it. Without this script there is nothing there.

"use strict";

{
  const statics = new URL(".", /** @type {HTMLScriptElement} */ (document.currentScript).src);
  const LICENCE = "CC BY 4.0";
  const TERMS = "https://creativecommons.org/licenses/by/4.0/";
  const LONGEST = 120; // characters of a name

  /** Where a page is published, wherever it is read. */
  const page = /** @type {HTMLLinkElement | null} */ (document.querySelector("link[rel=canonical]"))
    ?.href;
  const author = /** @type {HTMLMetaElement | null} */ (document.querySelector("meta[name=author]"))
    ?.content;

  /**
   * What a figure is called: its caption's first sentence, or the heading above it.
   * @param {Element} figure
   */
  function named(figure) {
    const caption = figure.matches(".g2-live") ? null : figure.querySelector("figcaption, caption");
    const text = caption?.textContent || heading(figure);
    const [first] = /^.{9,}?[.?!](?=\s|$)/s.exec(text.trim()) ?? [text.trim()];
    return first.length > LONGEST ? `${first.slice(0, LONGEST - 1)}…` : first;
  }

  /** @param {Element} figure */
  function heading(figure) {
    const all = [...document.querySelectorAll("article :is(h1, h2, h3)")];
    const before = all.filter((one) => one.compareDocumentPosition(figure) & 4);
    return [...(before.at(-1)?.childNodes ?? [])]
      .filter((node) => !(node instanceof Element && node.matches(".headerlink")))
      .map((node) => node.textContent)
      .join("");
  }

  /** @returns {Promise<typeof gpt2Picture>} */
  async function drawing() {
    if (!globalThis.gpt2Picture) {
      const script = document.createElement("script");
      script.src = new URL("take-svg.js", statics).href;
      document.head.append(script);
      await new Promise((done, failed) => Object.assign(script, { onload: done, onerror: failed }));
    }
    return gpt2Picture;
  }

  class Take extends HTMLElement {
    connectedCallback() {
      if (this.childElementCount) return;
      this.figure = /** @type {HTMLElement} */ (this.parentElement?.closest(".g2-live, .g2"));
      this.setAttribute("role", "toolbar");
      this.setAttribute("aria-label", "take this figure along");
      this.said = Object.assign(document.createElement("span"), { role: "status" });
      const acts = [
        this.button("SVG", "Save as an SVG file that stands alone", () => this.save()),
        this.button(LICENCE, "Copy what the licence asks for", () => this.cite()),
      ];
      if (this.figure.id && !this.figure.matches(".g2-live")) {
        acts.push(this.button("link", "Copy a link to this figure", () => this.link()));
      }
      for (const act of acts.slice(1)) act.tabIndex = -1;
      this.append(...acts, this.said);
      this.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        const from = acts.indexOf(/** @type {any} */ (event.target));
        if (!step || from < 0) return;
        event.preventDefault();
        acts[from].tabIndex = -1;
        const to = acts[(from + step + acts.length) % acts.length];
        to.tabIndex = 0;
        to.focus();
      });
    }

    /** @type {(text: string, title: string, onclick: () => Promise<string>) => HTMLButtonElement} */
    button(text, title, act) {
      const button = document.createElement("button");
      Object.assign(button, { type: "button", textContent: text, title });
      button.addEventListener("click", async () => {
        const text = await act().catch((error) => `This did not work: ${error.message ?? error}`);
        if (this.said) this.said.textContent = text;
      });
      return button;
    }

    get place() {
      return `${page ?? location.href.replace(/[?#].*/, "")}#${this.figure?.id}`;
    }

    /** As the licence asks: name, authors, where from, which licence. */
    get attribution() {
      const book = document.querySelector(".brand")?.textContent?.trim();
      const name = named(/** @type {Element} */ (this.figure));
      return `“${name}” by ${author}, from “${book}”, ${this.place}, ${LICENCE}, ${TERMS}`;
    }

    async save() {
      const figure = /** @type {any} */ (this.figure);
      const { picture } = await drawing();
      const source = `${document.querySelector(".brand")?.textContent?.trim()} · ${LICENCE} · ${this.place}`;
      const text = await picture(figure, {
        title: named(figure),
        source,
        about: this.attribution,
      });
      const url = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
      const chapter = location.pathname.split("/").at(-1)?.replace(".html", "");
      const download = `${chapter}-${figure.id}.svg`;
      Object.assign(document.createElement("a"), { href: url, download }).click();
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
      return `Saved as ${download}. Say where it is from: ${this.attribution}`;
    }

    async cite() {
      const copied = await copy(this.attribution);
      return `${copied ? "Copied" : "To copy"}: ${this.attribution}`;
    }

    async link() {
      const link = `${location.href.replace(/[?#].*/, "")}#${this.figure?.id}`;
      return `${(await copy(link)) ? "Copied" : "To copy"}: ${link}`;
    }
  }

  /** @param {string} text */
  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      return false; // a page from a disk, or a browser that does not allow it: the text is shown
    }
  }

  customElements.define("g2-take", Take);
  for (const figure of document.querySelectorAll("article .g2[id]:not(.g2-live *)")) {
    figure.append(document.createElement("g2-take"));
  }
}
