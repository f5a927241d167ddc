// Where one is: the whole in small, with a frame around what is shown. It leads back.

import { nothing, render, svg } from "lit/html.js";
import { make } from "../exhibits/dom.mjs";
import { Layout } from "./layout.mjs";
import { sides, tilesOf } from "./tiles.mjs";
import { colour, whole } from "./whole.mjs";

/** @import { Box } from "./layout.mjs" */
/** @import { Pass } from "./pass.mjs" */
/** @import { Place } from "./place.mjs" */
/** @import { View } from "./scenes.mjs" */

const NS = "http://www.w3.org/2000/svg";
const EDGE = 4; // px that a frame is clear of the edge
const WIDE = 960; // px of the whole beside a deeper level: there depth runs to the right, on a phone too

export class Inset {
  /** @param {() => void} back */
  constructor(back) {
    this.svg = document.createElementNS(NS, "svg");
    this.element = make("button", {
      class: "flow-inset",
      hidden: true,
      "aria-label": "the whole picture",
      title: "back to the whole picture",
      onclick: back,
    });
    this.element.append(this.svg);
    /** @type {{of: unknown[], body: unknown, boxes: (place: Place) => Box | null, size: number[]} | null} */
    this.drawn = null;
  }

  /**
   * What is framed.
   * @param {Pass} pass
   * @param {{at: number, width: number, sizes: View["sizes"], place?: Place, seen?: Box}} where  `place`: one that
   *   has a scene of its own; `seen`: what is seen of the whole
   */
  set(pass, { at, width: room, sizes, place = {}, seen }) {
    const width = seen ? room : Math.max(WIDE, room);
    this.element.hidden = false;
    const of = [pass, at, width];
    if (this.drawn?.of.some((one, i) => one !== of[i]) ?? true) this.draw(pass, at, width, sizes);
    const { body, boxes, size } = /** @type {NonNullable<typeof this.drawn>} */ (this.drawn);
    const box = seen ?? boxes(place) ?? { x: 0, y: 0, width: size[0], height: size[1] };
    const frame = svg`<rect class="here" x=${Math.max(EDGE, box.x)} y=${Math.max(EDGE, box.y)}
      width=${Math.min(size[0] - 2 * EDGE, box.width)} height=${Math.min(size[1] - 2 * EDGE, box.height)} rx="6"></rect>`;
    render(svg`${body}${frame}`, /** @type {any} */ (this.svg));
  }

  /**
   * @param {Pass} pass
   * @param {number} at
   * @param {number} width
   * @param {View["sizes"]} sizes
   */
  draw(pass, at, width, sizes) {
    const layout = new Layout(width, pass.tokens.length, pass.nLayer);
    const none = { was: null, other: null, gaps: null, parts: {}, cut: [], cells: [], patch: null };
    const view = { ...none, pass, at, width, sizes, next: pass.next, place: {} };
    const { ahead, boxes, height } = whole(/** @type {any} */ (view));
    const lane = layout.lane(at);
    const from = (/** @type {number} */ s) =>
      s ? 1 + ((s - 1) >> 1) + (s % 2 ? layout.middle : 0.96) : 0.86;
    const stream = pass.lens.map((said, s) => {
      const { x, y, width, height } = layout.bar(from(s), from(s + 1), lane, 12);
      return svg`<rect class="stream" style=${colour(said[at], pass)} x=${x} y=${y} width=${width} height=${height}></rect>`;
    });
    const weights = pass.only
      ? nothing
      : tilesOf(layout, sizes).tiles.map(
          (tile) =>
            svg`${sides(tile, 8)}<rect class="tile" x=${tile.x} y=${tile.y} width=${tile.width} height=${tile.height}></rect>`,
        );
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.drawn = {
      of: [pass, at, width],
      boxes,
      size: [width, height],
      body: svg`<g class="flow-ahead">${ahead}</g>${weights}${stream}`,
    };
  }

  hide() {
    this.element.hidden = true;
  }
}
