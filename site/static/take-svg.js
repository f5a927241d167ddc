// A figure of the page as an SVG file that stands alone: what is drawn and written, in the light theme,
// with its colours and sizes written out. No styles, no scripts, nothing from elsewhere. It is loaded
// when the first figure is saved (take.js).

"use strict";

{
  const NS = "http://www.w3.org/2000/svg";
  const MARGIN = 16; // px
  const FOOT = 11; // px of the line that says where it is from
  // What is there to be used, not to be seen.
  const SKIPPED = [
    "g2-take, script, style, input, select, textarea, label:has(input, select), [hidden]",
    ".foot, .first, .status, .aloud, .unseen, .chips, .choice, .switchboard, .console, .as-table",
    ".flow-top, .flow-tour, .flow-controls, .flow-line, .flow-forks, .flow-veil, .scale-controls",
    "button:not(.strip *, .bars *, .thumbs *, table *)",
  ].join(", ");
  const COLOURS = ["fill", "stroke"];
  const PLAIN = [
    ..."fill-opacity fill-rule stroke-opacity stroke-width stroke-dasharray stroke-linecap".split(
      " ",
    ),
    ..."stroke-linejoin font-family font-size font-weight font-style text-anchor".split(" "),
    ..."dominant-baseline paint-order visibility".split(" "),
  ];
  const COLOUR = String.raw`(?:[a-z-]+\([^()]*\)|#\w+|transparent)`;
  const SHARE = new RegExp(`^linear-gradient\\(to right, (${COLOUR}) ([\\d.]+)%`);
  const HATCH = new RegExp(
    `repeating-linear-gradient\\((-?\\d+)deg.*?(${COLOUR}) ([\\d.]+)px(?: [\\d.]+px|, \\2 ([\\d.]+)px)?\\)`,
  );

  /** @type {(name: string, attributes?: Record<string, string | number | undefined>, ...children: (Node | string)[]) => SVGElement} */
  function make(name, attributes = {}, ...children) {
    const element = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value === undefined) continue;
      element.setAttribute(key, typeof value === "number" ? String(round(value)) : value);
    }
    element.append(...children);
    return element;
  }
  const round = (/** @type {number} */ value) => Math.round(value * 100) / 100;

  /** @type {Map<string, {hex: string, alpha: number}>} */
  const known = new Map();
  const dot = document.createElement("canvas").getContext("2d", { willReadFrequently: true });

  /**
   * A colour as every program reads it.
   * @param {string} css
   */
  function colour(css) {
    let found = known.get(css);
    if (!found && dot) {
      dot.clearRect(0, 0, 1, 1);
      dot.fillStyle = "#000";
      dot.fillStyle = css;
      dot.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = dot.getImageData(0, 0, 1, 1).data;
      const hex = `#${[r, g, b].map((one) => one.toString(16).padStart(2, "0")).join("")}`;
      known.set(css, (found = { hex, alpha: round(a / 255) }));
    }
    return found ?? { hex: "#000000", alpha: 1 };
  }

  /**
   * @param {string} kind  "fill" or "stroke"
   * @param {string} css
   * @returns {Record<string, string | number>}
   */
  function paint(kind, css) {
    const { hex, alpha } = colour(css);
    return alpha === 1 ? { [kind]: hex } : { [kind]: hex, [`${kind}-opacity`]: alpha };
  }

  class Drawing {
    /** @param {Element} root */
    constructor(root) {
      const { left, top } = root.getBoundingClientRect();
      this.root = root;
      this.origin = [left, top];
      this.defs = make("defs");
      this.right = this.bottom = this.left = this.top = 0;
      this.body = make("g");
      this.walk(root, this.body, "");
    }

    /** @param {DOMRect} rect */
    box(rect) {
      const { width, height } = rect;
      const [x, y] = [rect.left - this.origin[0], rect.top - this.origin[1]];
      this.left = Math.min(this.left, x);
      this.top = Math.min(this.top, y);
      this.right = Math.max(this.right, x + width);
      this.bottom = Math.max(this.bottom, y + height);
      return { x, y, width, height };
    }

    /**
     * An element and what is in it.
     * @param {Element} element
     * @param {SVGElement} into
     * @param {string} decoration  of the text around it
     */
    walk(element, into, decoration) {
      const style = getComputedStyle(element);
      if (style.display !== "contents" && !element.checkVisibility()) return;
      if (style.opacity !== "1") into.append((into = make("g", { opacity: style.opacity })));
      const rect = element.getBoundingClientRect();
      if (element instanceof SVGSVGElement) return void into.append(this.svg(element, rect));
      if (element instanceof HTMLCanvasElement) return this.image(element, rect, into);
      if (style.visibility === "visible" && element !== this.root) {
        this.surface(style, this.box(rect), into);
      }
      const cut = element.scrollHeight > element.clientHeight + 1 && style.overflowY !== "visible";
      if (cut && element.clientHeight) into.append((into = this.clipped(rect)));
      const own = style.textDecorationLine;
      const line = own === "none" ? decoration : own;
      for (const child of element.childNodes) {
        if (child instanceof Element) this.walk(child, into, line);
        else if (child instanceof Text) this.write(child, style, into, line);
      }
      this.after(element, rect, into);
    }

    /** @param {DOMRect} rect */
    clipped(rect) {
      const id = `clip-${this.defs.childElementCount}`;
      this.defs.append(make("clipPath", { id }, make("rect", this.box(rect))));
      return make("g", { "clip-path": `url(#${id})` });
    }

    /**
     * Background, border and outline.
     * @param {CSSStyleDeclaration} style
     * @param {{x: number, y: number, width: number, height: number}} box
     * @param {SVGElement} into
     */
    surface(style, box, into) {
      if (!box.width || !box.height) return;
      const rx = parseFloat(style.borderTopLeftRadius) || 0;
      const round = rx ? { rx: Math.min(rx, box.height / 2) } : {};
      const image = style.backgroundImage;
      if (colour(style.backgroundColor).alpha) {
        into.append(make("rect", { ...box, ...round, ...paint("fill", style.backgroundColor) }));
      }
      const share = SHARE.exec(image);
      if (share) {
        const width = (box.width * Number(share[2])) / 100;
        into.append(make("rect", { ...box, width, ...paint("fill", share[1]) }));
      }
      const hatch = HATCH.exec(image);
      if (hatch) into.append(make("rect", { ...box, ...round, fill: this.hatch(hatch) }));
      const sides = /** @type {const} */ (["Top", "Right", "Bottom", "Left"]).map((side) => ({
        width: parseFloat(style[`border${side}Width`]),
        css: style[`border${side}Color`],
        kind: style[`border${side}Style`],
      }));
      const drawn = sides.map(
        ({ width, css, kind }) => width && kind !== "none" && colour(css).alpha,
      );
      const { x, y, width, height } = box;
      if (drawn.every(Boolean)) {
        const [{ width: w, css, kind }] = sides;
        into.append(make("rect", { ...inner(box, w / 2), ...round, ...line(css, w, kind) }));
      } else {
        const ends = [
          { x1: x, y1: y, x2: x + width, y2: y },
          { x1: x + width, y1: y, x2: x + width, y2: y + height },
          { x1: x, y1: y + height, x2: x + width, y2: y + height },
          { x1: x, y1: y, x2: x, y2: y + height },
        ];
        sides.forEach(({ width: w, css, kind }, i) => {
          if (drawn[i]) into.append(make("line", { ...ends[i], ...line(css, w, kind) }));
        });
      }
      const w = parseFloat(style.outlineWidth);
      if (w && style.outlineStyle !== "none" && style.outlineStyle !== "auto") {
        const by = -parseFloat(style.outlineOffset) - w / 2;
        into.append(
          make("rect", { ...inner(box, by), ...line(style.outlineColor, w, style.outlineStyle) }),
        );
      }
    }

    /** @param {RegExpExecArray} found  angle, colour, from, to */
    hatch([, angle, css, from, to]) {
      const id = `hatch-${this.defs.childElementCount}`;
      const wide = Number(to ?? from) || 6;
      const across = to ? wide - Number(from) : 2;
      const turned = { patternUnits: "userSpaceOnUse", patternTransform: `rotate(${angle})` };
      const stripe = make("rect", {
        width: wide,
        height: Math.min(across, wide),
        ...paint("fill", css),
      });
      this.defs.append(make("pattern", { id, width: wide, height: wide, ...turned }, stripe));
      return `url(#${id})`;
    }

    /**
     * What a style puts behind an element, if it says where.
     * @param {Element} element
     * @param {DOMRect} rect
     * @param {SVGElement} into
     */
    after(element, rect, into) {
      for (const which of ["::before", "::after"]) {
        const style = getComputedStyle(element, which);
        if (style.content === "none" || style.position !== "absolute") continue;
        const [left, top, width, height] = [style.left, style.top, style.width, style.height].map(
          parseFloat,
        );
        const box = new DOMRect(rect.left + left, rect.top + top, width, height);
        if (width && height) this.surface(style, this.box(box), into);
      }
    }

    /**
     * A text, line by line.
     * @param {Text} node
     * @param {CSSStyleDeclaration} style
     * @param {SVGElement} into
     * @param {string} decoration
     */
    write(node, style, into, decoration) {
      if (!node.data.trim() || style.visibility !== "visible") return;
      const turned = style.writingMode !== "horizontal-tb";
      /** @type {{text: string, rect: DOMRect}[]} */
      const runs = [];
      let end = 0;
      for (const part of parts(node)) {
        const run = runs.at(-1);
        const gap = node.data.slice(end, part.start).replace(/\s+/g, " ");
        if (run && !turned && Math.abs(run.rect.top - part.rect.top) < 2) {
          run.text += gap + part.text;
          const { left, top, height } = run.rect;
          run.rect = new DOMRect(left, top, part.rect.right - left, height);
        } else runs.push(part);
        end = part.start + part.text.length;
      }
      for (const { text, rect } of runs) {
        const { x, y, width, height } = this.box(rect);
        const size = parseFloat(style.fontSize);
        const up = turned ? width : height;
        const base = size * 0.35 + up / 2; // of the letters, from the top of their line
        const place = turned
          ? { transform: `translate(${round(x + base)} ${round(y + height)}) rotate(-90)` }
          : { x, y: y + base };
        into.append(
          make(
            "text",
            {
              ...place,
              ...paint("fill", style.color),
              textLength: turned ? height : width,
              lengthAdjust: "spacingAndGlyphs",
              "font-family": style.fontFamily.replaceAll('"', "'"),
              "font-size": size,
              ...(style.fontWeight === "400" ? {} : { "font-weight": style.fontWeight }),
              ...(style.fontStyle === "normal" ? {} : { "font-style": style.fontStyle }),
              ...(decoration && decoration !== "none" ? { "text-decoration": decoration } : {}),
            },
            text,
          ),
        );
      }
    }

    /**
     * @param {HTMLCanvasElement} canvas
     * @param {DOMRect} rect
     * @param {SVGElement} into
     */
    image(canvas, rect, into) {
      if (!canvas.width || !rect.width) return;
      const crisp = { "image-rendering": getComputedStyle(canvas).imageRendering };
      into.append(
        make("image", {
          ...this.box(rect),
          ...crisp,
          href: canvas.toDataURL(),
          preserveAspectRatio: "none",
        }),
      );
    }

    /**
     * A drawing within the figure, with what style sheets say of it.
     * @param {SVGSVGElement} original
     * @param {DOMRect} rect
     */
    svg(original, rect) {
      const copy = /** @type {SVGSVGElement} */ (original.cloneNode(true));
      const seen = [...original.querySelectorAll("*")];
      [...copy.querySelectorAll("*")].forEach((one, i) => written(seen[i], one, false));
      written(original, copy, true);
      for (const [name, value] of Object.entries(this.box(rect)))
        copy.setAttribute(name, String(round(value)));
      copy.setAttribute("overflow", getComputedStyle(original).overflow);
      const walker = document.createTreeWalker(copy, NodeFilter.SHOW_COMMENT);
      const comments = [];
      while (walker.nextNode()) comments.push(walker.currentNode);
      for (const comment of comments) /** @type {Comment} */ (comment).remove();
      return copy;
    }
  }

  /**
   * The words of a text where they stand; a word that is broken, letter by letter.
   * @param {Text} node
   */
  function* parts(node) {
    const range = document.createRange();
    for (const { 0: word, index } of node.data.matchAll(/\S+/g)) {
      const measured = (/** @type {number} */ from, /** @type {number} */ to) => {
        range.setStart(node, from);
        range.setEnd(node, to);
        return [...range.getClientRects()].filter(({ width, height }) => width && height);
      };
      const whole = measured(index, index + word.length);
      if (whole.length === 1) yield { text: word, start: index, rect: whole[0] };
      else if (whole.length) {
        for (let at = index; at < index + word.length; at++) {
          const [rect] = measured(at, at + 1);
          if (rect) yield { text: node.data[at], start: at, rect };
        }
      }
    }
  }

  /**
   * What style sheets say of an element, as its attributes.
   * @param {Element} original
   * @param {Element} copy
   * @param {boolean} root
   */
  function written(original, copy, root) {
    const style = getComputedStyle(original);
    const around = root ? null : getComputedStyle(/** @type {Element} */ (original.parentElement));
    const own = /** @type {SVGElement} */ (original).style;
    const kept = original
      .getAttributeNames()
      .filter((name) => /^(class|style|role|tabindex|aria-.*|data-.*)$/.test(name));
    for (const name of kept) copy.removeAttribute(name);
    if (style.display === "none" && !original.closest("defs"))
      return copy.setAttribute("display", "none");
    for (const name of [...COLOURS, ...PLAIN]) {
      const value = style.getPropertyValue(name);
      const said = own.getPropertyValue(name) || original.hasAttribute(name);
      if (!said && around && around.getPropertyValue(name) === value) continue;
      if (COLOURS.includes(name) && !/^(none|url|context)/.test(value)) {
        const { hex, alpha } = colour(value);
        copy.setAttribute(name, hex);
        const opacity = Number(style.getPropertyValue(`${name}-opacity`)) * alpha;
        if (alpha < 1) copy.setAttribute(`${name}-opacity`, String(round(opacity)));
      } else if (!(name.endsWith("opacity") && copy.hasAttribute(name))) {
        copy.setAttribute(name, value.replaceAll('"', "'"));
      }
    }
    if (style.opacity !== "1") copy.setAttribute("opacity", style.opacity);
    if (style.textDecorationLine !== "none")
      copy.setAttribute("text-decoration", style.textDecorationLine);
    if (original.localName === "circle")
      copy.setAttribute("r", String(parseFloat(style.getPropertyValue("r"))));
    if (own.transform && style.transform !== "none")
      copy.setAttribute("transform", style.transform);
  }

  /** @param {{x: number, y: number, width: number, height: number}} box @param {number} by */
  function inner({ x, y, width, height }, by) {
    return {
      x: x + by,
      y: y + by,
      width: Math.max(0, width - 2 * by),
      height: Math.max(0, height - 2 * by),
    };
  }

  /** @param {string} css @param {number} width @param {string} kind */
  function line(css, width, kind) {
    const gaps = { dashed: `${3 * width} ${2 * width}`, dotted: `${width} ${width}` }[kind];
    return {
      fill: "none",
      ...paint("stroke", css),
      "stroke-width": width,
      ...(gaps ? { "stroke-dasharray": gaps } : {}),
    };
  }

  /**
   * Do something while the page is light and at rest, and has nothing to use. Nobody sees it, but where
   * a canvas has to be painted anew.
   * @template T
   * @param {any} figure
   * @param {() => T} act
   * @returns {Promise<T>}
   */
  async function inLight(figure, act) {
    const root = document.documentElement;
    const [theme, place] = [root.dataset.theme, scrollY];
    const rest = document.createElement("style");
    rest.textContent =
      "*, ::before, ::after { transition: none !important; animation: none !important; }" +
      `:is(.g2, .g2-live) :is(${SKIPPED}) { display: none !important; }`;
    const repaint = theme === "dark" && figure.update && figure.querySelector("canvas");
    root.dataset.theme = "light";
    try {
      if (repaint) await figure.update();
      document.head.append(rest);
      return act();
    } finally {
      rest.remove();
      root.dataset.theme = theme;
      scrollTo({ top: place, behavior: "instant" });
      if (repaint) figure.update();
    }
  }

  /**
   * @param {HTMLElement} figure
   * @param {{title: string, source: string, about: string}} words
   */
  function drawn(figure, { title, source, about }) {
    const { body, defs, left, top, right, bottom } = new Drawing(figure);
    const captioned = figure.matches("figure, div") && figure.querySelector("figcaption, caption");
    const head = captioned ? 0 : 30;
    const wide = Math.max(right - left, 0.52 * FOOT * source.length);
    const [width, height] = [wide + 2 * MARGIN, bottom - top + head + 2 * MARGIN + 2 * FOOT];
    const ink = colour(getComputedStyle(document.body).color).hex;
    const face = { "font-family": "system-ui, sans-serif" };
    body.setAttribute(
      "transform",
      `translate(${round(MARGIN - left)} ${round(MARGIN + head - top)})`,
    );
    const name = {
      x: MARGIN,
      y: MARGIN + 14,
      ...face,
      "font-size": 16,
      "font-weight": "600",
      fill: ink,
    };
    const from = { x: MARGIN, y: height - MARGIN, ...face, "font-size": FOOT, fill: "#56606b" };
    const all = make(
      "svg",
      { width, height, viewBox: `0 0 ${round(width)} ${round(height)}` },
      make("title", {}, title),
      make("desc", {}, about),
      defs,
      make("rect", { width, height, fill: "#ffffff" }),
      ...(captioned ? [] : [make("text", name, title)]),
      body,
      make("text", from, source),
    );
    return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(all)}\n`;
  }

  globalThis.gpt2Picture = {
    picture: (figure, words) => inLight(figure, () => drawn(figure, words)),
  };
}
