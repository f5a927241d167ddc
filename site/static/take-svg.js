// A figure of the page as an SVG file that stands alone: what is drawn and written, in the light theme,
// with its colours and sizes written out. No styles, no scripts, nothing from elsewhere. It is loaded
// when the first figure is saved (take.js).

"use strict";

{
  /** @typedef {{x: number, y: number, width: number, height: number}} Box */
  /** @typedef {Record<string, string | number | undefined>} Attributes */
  /** @typedef {Node | string} Child */
  const NS = "http://www.w3.org/2000/svg";
  const MARGIN = 16; // px
  const FOOT = 11; // px of the line that says where it is from
  // What is there to be used, not to be seen.
  const SKIPPED = [
    "g2-take, script, style, input, select, textarea, label:has(input, select), [hidden]",
    ".foot, .first, .status, .aloud, .unseen, .chips, .choice, .switchboard, .console, .as-table",
    ".flow-top, .flow-tour, .flow-learned, .flow-controls, .flow-line, .flow-forks, .flow-veil",
    ".flow-pulses, .glow, .shine, .scale-controls",
    "button:not(.strip *, .bars *, .thumbs *, table *)",
  ].join(", ");
  const COLOURS = ["fill", "stroke"];
  const PLAIN = [
    "fill-opacity fill-rule stroke-opacity stroke-width stroke-dasharray stroke-linecap",
    "stroke-linejoin font-family font-size font-weight font-style text-anchor dominant-baseline",
    "paint-order visibility",
  ].flatMap((names) => names.split(" "));
  const COLOUR = String.raw`(?:[a-z-]+\([^()]*\)|#\w+|transparent)`;
  const SHARE = new RegExp(`^linear-gradient\\(to right, (${COLOUR}) ([\\d.]+)%`);
  const HATCH = new RegExp(
    `repeating-linear-gradient\\((-?\\d+)deg.*?(${COLOUR}) ([\\d.]+)px(?: [\\d.]+px|, \\2 ([\\d.]+)px)?\\)`,
  );

  /** @type {(name: string, attributes?: Attributes, ...children: Child[]) => SVGElement} */
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

  /** A colour as every program reads it. @param {string} css */
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

  /** @type {(kind: "fill" | "stroke", css: string) => Attributes} */
  function paint(kind, css) {
    const { hex, alpha } = colour(css);
    return {
      [kind]: hex,
      [`${kind}-opacity`]: alpha === 1 ? undefined : alpha,
    };
  }

  // A border or an outline, if it is seen.
  /** @type {(width: string, kind: string, css: string) => Attributes | null} */
  function line(width, kind, css) {
    const w = parseFloat(width);
    if (!w || ["none", "auto"].includes(kind) || !colour(css).alpha) return null;
    const gaps = { dashed: `${3 * w} ${2 * w}`, dotted: `${w} ${w}` }[kind];
    return {
      fill: "none",
      ...paint("stroke", css),
      "stroke-width": w,
      "stroke-dasharray": gaps,
    };
  }

  /** @type {(box: Box, by: number) => Box} */
  function inner({ x, y, width, height }, by) {
    const [w, h] = [width, height].map((side) => Math.max(0, side - 2 * by));
    return { x: x + by, y: y + by, width: w, height: h };
  }

  /** What is drawn is appended to `into`, the innermost group. */
  class Drawing {
    /** @param {Element} root */
    constructor(root) {
      this.root = root;
      this.origin = root.getBoundingClientRect();
      this.defs = make("defs");
      this.right = this.bottom = this.left = this.top = 0;
      this.into = this.body = make("g");
      this.walk(root, "none");
    }

    /** @type {(name: string, attributes: Attributes, ...children: Child[]) => SVGElement} */
    draw(...made) {
      const element = make(...made);
      this.into.append(element);
      return element;
    }

    // What is used by its name.
    /** @type {(name: string, attributes: Attributes, child: Node) => string} */
    define(name, attributes, child) {
      const id = `${name.toLowerCase()}-${this.defs.childElementCount}`;
      this.defs.append(make(name, { id, ...attributes }, child));
      return `url(#${id})`;
    }

    /** @type {(rect: DOMRect) => Box} */
    box({ left, top, width, height }) {
      const [x, y] = [left - this.origin.left, top - this.origin.top];
      this.left = Math.min(this.left, x);
      this.top = Math.min(this.top, y);
      this.right = Math.max(this.right, x + width);
      this.bottom = Math.max(this.bottom, y + height);
      return { x, y, width, height };
    }

    /** An element and what is in it. @type {(element: Element, decoration: string) => void} */
    walk(element, decoration) {
      const style = getComputedStyle(element);
      if (style.display !== "contents" && !element.checkVisibility()) return;
      const around = this.into;
      if (style.opacity !== "1") this.into = this.draw("g", { opacity: style.opacity });
      const rect = element.getBoundingClientRect();
      if (element instanceof SVGSVGElement) this.into.append(this.svg(element, rect));
      else if (element instanceof HTMLCanvasElement) this.image(element, rect, style);
      else {
        if (style.visibility === "visible" && element !== this.root) {
          this.surface(style, this.box(rect));
        }
        const cut =
          element.scrollHeight > element.clientHeight + 1 && style.overflowY !== "visible";
        if (cut && element.clientHeight) {
          const within = this.define("clipPath", {}, make("rect", this.box(rect)));
          this.into = this.draw("g", { "clip-path": within });
        }
        const own = style.textDecorationLine === "none" ? decoration : style.textDecorationLine;
        for (const child of element.childNodes) {
          if (child instanceof Element) this.walk(child, own);
          else if (child instanceof Text) this.write(child, style, own);
        }
        for (const which of ["::before", "::after"]) this.behind(element, which, rect);
      }
      this.into = around;
    }

    /** Background, border and outline. @type {(style: CSSStyleDeclaration, box: Box) => void} */
    surface(style, box) {
      const { x, y, width, height } = box;
      if (!width || !height) return;
      const radius = parseFloat(style.borderTopLeftRadius);
      const rx = radius ? Math.min(radius, height / 2) : undefined;
      const fill = style.backgroundColor;
      if (colour(fill).alpha) this.draw("rect", { ...box, rx, ...paint("fill", fill) });
      const share = SHARE.exec(style.backgroundImage);
      if (share) {
        const wide = (width * Number(share[2])) / 100;
        this.draw("rect", { ...box, width: wide, ...paint("fill", share[1]) });
      }
      const hatch = HATCH.exec(style.backgroundImage);
      if (hatch) this.draw("rect", { ...box, rx, fill: this.hatch(hatch) });
      const sides = /** @type {const} */ (["Top", "Right", "Bottom", "Left"]).map((side) =>
        line(style[`border${side}Width`], style[`border${side}Style`], style[`border${side}Color`]),
      );
      if (sides.every(Boolean)) {
        const half = Number(sides[0]?.["stroke-width"]) / 2;
        this.draw("rect", { ...inner(box, half), rx, ...sides[0] });
      } else {
        const [right, bottom] = [x + width, y + height];
        const ends = [
          { x1: x, y1: y, x2: right, y2: y },
          { x1: right, y1: y, x2: right, y2: bottom },
          { x1: x, y1: bottom, x2: right, y2: bottom },
          { x1: x, y1: y, x2: x, y2: bottom },
        ];
        for (const [i, side] of sides.entries()) {
          if (side) this.draw("line", { ...ends[i], ...side });
        }
      }
      const outline = line(style.outlineWidth, style.outlineStyle, style.outlineColor);
      if (outline) {
        const by = parseFloat(style.outlineOffset) + Number(outline["stroke-width"]) / 2;
        this.draw("rect", { ...inner(box, -by), ...outline });
      }
    }

    /** @param {RegExpExecArray} found  angle, colour, from, to */
    hatch([, angle, css, from, to]) {
      const side = Number(to ?? from) || 6;
      const across = Math.min(to ? side - Number(from) : 2, side);
      const stripe = make("rect", {
        width: side,
        height: across,
        ...paint("fill", css),
      });
      const turned = {
        patternUnits: "userSpaceOnUse",
        patternTransform: `rotate(${angle})`,
      };
      return this.define("pattern", { width: side, height: side, ...turned }, stripe);
    }

    // What a style puts behind an element.
    /** @type {(element: Element, which: string, rect: DOMRect) => void} */
    behind(element, which, rect) {
      const style = getComputedStyle(element, which);
      if (style.content === "none" || style.position !== "absolute") return;
      const [left, top] = [parseFloat(style.left), parseFloat(style.top)];
      const [width, height] = [parseFloat(style.width), parseFloat(style.height)];
      if (!width || !height) return;
      this.surface(style, this.box(new DOMRect(rect.left + left, rect.top + top, width, height)));
    }

    // A text, line by line.
    /** @type {(node: Text, style: CSSStyleDeclaration, decoration: string) => void} */
    write(node, style, decoration) {
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
          run.rect.width = part.rect.right - run.rect.left;
        } else runs.push(part);
        end = part.start + part.text.length;
      }
      const size = parseFloat(style.fontSize);
      for (const { text, rect } of runs) {
        const { x, y, width, height } = this.box(rect);
        const base = size * 0.35 + (turned ? width : height) / 2; // from the top of its line
        const place = turned
          ? {
              transform: `translate(${round(x + base)} ${round(y + height)}) rotate(-90)`,
            }
          : { x, y: y + base };
        const look = {
          "font-family": style.fontFamily.replaceAll('"', "'"),
          "font-size": size,
          "font-weight": style.fontWeight === "400" ? undefined : style.fontWeight,
          "font-style": style.fontStyle === "normal" ? undefined : style.fontStyle,
          "text-decoration": decoration === "none" ? undefined : decoration,
        };
        const set = {
          textLength: turned ? height : width,
          lengthAdjust: "spacingAndGlyphs",
        };
        this.draw("text", { ...place, ...paint("fill", style.color), ...set, ...look }, text);
      }
    }

    // A canvas: as the drawing that it can give of itself, else as a picture.
    /** @type {(canvas: HTMLCanvasElement & {drawing?: () => SVGElement}, rect: DOMRect, style: CSSStyleDeclaration) => void} */
    image(canvas, rect, style) {
      if (!canvas.width || !rect.width) return;
      if (canvas.drawing) {
        const svg = canvas.drawing();
        for (const [name, value] of Object.entries(this.box(rect))) {
          svg.setAttribute(name, String(round(value)));
        }
        this.into.append(svg);
        return;
      }
      const how = {
        "image-rendering": style.imageRendering,
        preserveAspectRatio: "none",
      };
      this.draw("image", {
        ...this.box(rect),
        ...how,
        href: canvas.toDataURL(),
      });
    }

    // A drawing within the figure, with what style sheets say of it.
    /** @type {(original: SVGSVGElement, rect: DOMRect) => Element} */
    svg(original, rect) {
      const copy = /** @type {SVGSVGElement} */ (original.cloneNode(true));
      const seen = [...original.querySelectorAll("*")];
      [...copy.querySelectorAll("*")].forEach((one, i) => written(seen[i], one, false));
      written(original, copy, true);
      for (const [name, value] of Object.entries(this.box(rect))) {
        copy.setAttribute(name, String(round(value)));
      }
      copy.setAttribute("overflow", getComputedStyle(original).overflow);
      const comments = document.createNodeIterator(copy, NodeFilter.SHOW_COMMENT);
      for (let one; (one = comments.nextNode());)
        /** @type {Comment} */ (one).remove();
      return copy;
    }
  }

  // The words of a text where they stand; a word that is broken, letter by letter.
  /** @param {Text} node */
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

  // What style sheets say of an element, as its attributes.
  /** @type {(original: Element, copy: Element, root: boolean) => void} */
  function written(original, copy, root) {
    const style = getComputedStyle(original);
    const around = root ? null : getComputedStyle(/** @type {Element} */ (original.parentElement));
    const own = /** @type {SVGElement} */ (original).style;
    for (const name of original.getAttributeNames()) {
      if (/^(class|style|role|tabindex|aria-.*|data-.*)$/.test(name)) copy.removeAttribute(name);
    }
    if (style.display === "none" && !original.closest("defs")) {
      return copy.setAttribute("display", "none");
    }
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
    const decoration = style.textDecorationLine;
    if (decoration !== "none") copy.setAttribute("text-decoration", decoration);
    if (original.localName === "circle") copy.setAttribute("r", String(parseFloat(style.r)));
    if (own.transform && style.transform !== "none") {
      copy.setAttribute("transform", style.transform);
    }
  }

  /**
   * Do something while the page is light and at rest, and has nothing to use. Nobody sees it, but where
   * a canvas is painted anew, or arcs follow what stands lower while the controls are there.
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
    const changing = theme === "dark" ? "canvas, .arcs" : ".arcs";
    const repaint = figure.update && figure.querySelector(changing);
    root.dataset.theme = "light";
    document.head.append(rest);
    try {
      if (repaint) await figure.update();
      return act();
    } finally {
      rest.remove();
      root.dataset.theme = theme;
      scrollTo({ top: place, behavior: "instant" });
      if (repaint) figure.update();
    }
  }

  /** @type {(figure: HTMLElement, words: {title: string, source: string, about: string}) => string} */
  function drawn(figure, { title, source, about }) {
    const { body, defs, left, top, right, bottom } = new Drawing(figure);
    const captioned = figure.matches("figure, div") && figure.querySelector("figcaption, caption");
    const head = captioned ? 0 : 30;
    const wide = Math.max(right - left, 0.52 * FOOT * source.length);
    const [width, height] = [wide + 2 * MARGIN, bottom - top + head + 2 * MARGIN + 2 * FOOT];
    const [across, down] = [round(MARGIN - left), round(MARGIN + head - top)];
    body.setAttribute("transform", `translate(${across} ${down})`);
    const face = { x: MARGIN, "font-family": "system-ui, sans-serif" };
    const bold = { "font-size": 16, "font-weight": "600" };
    const ink = paint("fill", getComputedStyle(document.body).color);
    const grey = { "font-size": FOOT, fill: "#56606b" };
    const all = make(
      "svg",
      { width, height, viewBox: `0 0 ${round(width)} ${round(height)}` },
      make("title", {}, title),
      make("desc", {}, about),
      defs,
      make("rect", { width, height, fill: "#ffffff" }),
      ...(captioned ? [] : [make("text", { y: MARGIN + 14, ...face, ...bold, ...ink }, title)]),
      body,
      make("text", { y: height - MARGIN, ...face, ...grey }, source),
    );
    return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(all)}\n`;
  }

  globalThis.gpt2Picture = {
    picture: (figure, words) => inLight(figure, () => drawn(figure, words)),
  };
}
