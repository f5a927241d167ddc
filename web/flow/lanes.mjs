// What stands along the lanes of level 0: tokens, MLPs, what comes next, and the way back.

import { nothing, svg } from "lit/html.js";
import { bare, fixed, quoted } from "../exhibits/dom.mjs";
import { START } from "../exhibits/page_model.mjs";
import { share, stageName } from "./pass.mjs";
import { press } from "./press.mjs";
import { WIDER } from "./layout.mjs";
import { facesOf, sides } from "./tiles.mjs";

/** @import { Layout } from "./layout.mjs" */
/** @import { View } from "./scenes.mjs" */

const SMALLER = 0.85; // the smallest type of a token's name, in parts of the usual

/**
 * A token, its id and the first numbers of its vector.
 * @param {View} view
 * @param {Layout} layout
 * @param {number} t
 * @param {number} lane
 * @param {boolean} chosen
 */
export function tokenBox({ pass, other, pick, exchange }, layout, t, lane, chosen) {
  const { wide, first, across } = layout;
  const folded = Boolean(first) && !lane;
  const name = folded ? `+${first}` : pass.tokens[t];
  const [width, height] = wide
    ? [Math.min(96, layout.ends[0] * 0.58), Math.min(34, across - 3)]
    : [across - 3, 38];
  const low = height < 30; // the id stands beside the name, not below it
  const [x, y] = wide
    ? [6, layout.over(lane) - height / 2]
    : [layout.over(lane) - width / 2, layout.top - 6];
  const [letter, size] = wide ? [8, 13] : [6.6, 11]; // px: as wide, in type of this size
  const most = Math.floor(width / (letter * SMALLER));
  const shown = name.length > most ? `${name.slice(0, most - 1)}…` : name;
  const fits = (width - 3) / (letter * shown.length); // smaller type before a name is cut
  const vector = folded ? [] : (pass.vectors[t] ?? []);
  const strip = Array.from(vector, (value, c) => {
    const scale = Math.min(1, Math.abs(value) / 0.3);
    const cell = layout.bar(wide ? 0.66 : 0.62, wide ? 0.86 : 0.8, lane, wide ? 14 : 18);
    const part = wide ? cell.width / 9 : cell.height / 9;
    return svg`<rect class=${value < 0 ? "cell minus" : "cell"} style="opacity:${scale.toFixed(2)}"
      x=${cell.x + (wide ? c * part : 0)} y=${cell.y + (wide ? 0 : c * part)}
      width=${wide ? part - 1 : cell.width} height=${wide ? cell.height : part - 1}></rect>`;
  });
  const swaps = t > 0 && !pass.only && !folded;
  const act = () => {
    if (!folded) pick(t);
    if (swaps) exchange(t);
  };
  const differs = other && other.ids[t] !== pass.ids[t];
  const begins = name === START && wide ? "begins a text" : pass.ids[t];
  const under = differs ? `or ${other.tokens[t]}` : begins;
  const offer = swaps ? "follow or exchange it" : "follow it";
  return svg`${strip}<g class=${`token${chosen ? " chosen" : ""}${folded ? " folded" : ""}`} tabindex=${chosen ? 0 : -1} role="button" data-rove="tokens"
    aria-label=${folded ? `+${first} older tokens` : `${shown} ${under}: ${offer}`} aria-pressed=${String(chosen)}
    @click=${act} @keydown=${(/** @type {KeyboardEvent} */ event) => press(event, act)}>
    <rect x=${x} y=${y} width=${width} height=${height} rx="8"></rect>
    <text class="name" style=${fits < 1 ? `font-size:${(size * fits).toFixed(1)}px` : nothing} x=${x + width / 2} y=${y + (low && !differs ? height / 2 + 4 : wide ? Math.min(15, height / 2) : 17)}>${shown}</text>${" "}
    ${low && !differs ? nothing : svg`<text class="id" x=${x + width / 2 - (swaps && chosen && !wide ? 6 : 0)} y=${y + height - (low ? 1 : 5)}>${folded ? "older" : under}</text> `}
    ${swaps && chosen ? svg`<text class="swap" x=${x + width - 8} y=${y + height - 5}>⇄</text>` : nothing}
    <title>${folded ? `${first} older tokens share this lane` : `${name}, token ${pass.ids[t]}: click to ${offer}`}</title></g>`;
}

/**
 * What gives the lanes their depth: their shadows, and in attention each head's part of a vector.
 * @param {Layout} layout
 * @param {{nHead: number, at: number, begins: number, thickOf: (stage: number, t: number) => number}} more
 *   `begins`: depth at which lanes begin
 */
export function depthOf(layout, { nHead, at, begins, thickOf }) {
  const { wide, first, nLayer, folded, plank } = layout;
  const lanes = Array.from({ length: layout.lanes }, (_, lane) => lane);
  const slices = lanes.map((lane) => {
    const t = first ? first + lane - 1 : lane;
    return Array.from({ length: folded || (first && !lane) ? 0 : nLayer }, (_, block) => {
      const box = layout.bar(block + 1.08, block + 1.47, lane, thickOf(2 * block, t));
      const d = facesOf(box, plank)[wide ? 0 : 1];
      return svg`<path class=${t === at ? "slices chosen" : "slices"} d=${d}></path>`;
    });
  });
  const shades = lanes.map((lane) => {
    const { x, y, width, height } = layout.bar(begins, nLayer + 1.01, lane, 5);
    return svg`<rect class="shade" x=${x} y=${y + height} width=${width} height="9" fill="url(#flow-shade)"></rect>`;
  });
  const stops = Array.from({ length: nHead }, (_, head) =>
    [head, head + 1].map((n) => svg`<stop class="h${head % 4}" offset=${n / nHead}></stop>`),
  );
  const defs = svg`<linearGradient id="flow-shade" x2="0" y2="1"><stop offset="0" stop-color="#000" stop-opacity="0.7"></stop><stop offset="1" stop-opacity="0"></stop></linearGradient><linearGradient id="flow-heads" x2=${wide ? 0 : 1} y1=${wide ? 1 : 0} y2="0">${stops}</linearGradient>`;
  return { defs, shades: wide ? shades : nothing, slices };
}

/**
 * An MLP: the stream widens to four times its depth and back; on it lies each of its units.
 * @param {Layout} layout
 * @param {number} block
 * @param {number} lane
 * @param {number[] | null} lit  units; null: it is not known
 * @param {{many: number, chosen: boolean, thick: number, open: () => void, style: string}} more
 *   `many`: units; `thick`: of the lane, px; `style`: the stream's colour
 */
export function swelling(layout, block, lane, lit, { many, chosen, thick, open, style }) {
  const { wide, plank } = layout;
  const box = layout.slab(block, lane, thick);
  const deep = WIDER * plank;
  const [long, high] = wide ? [box.width - 2, deep - 1] : [deep - 1, box.height - 2];
  const columns = Math.ceil(Math.sqrt((many * long) / high) / 2) * 2;
  const [w, h] = [long / columns, high / Math.ceil(many / columns)];
  const pixels = lit?.map((unit) => {
    const [left, top] = [(unit % columns) * w, (Math.floor(unit / columns) + 0.5) * h];
    return `M${left.toFixed(1)} ${top.toFixed(1)}h${(w * 0.8).toFixed(1)}`;
  });
  const rows = Array.from({ length: Math.ceil(many / columns) }, (_, row) => {
    return `M0 ${((row + 0.5) * h).toFixed(1)}h${long.toFixed(1)}`;
  });
  const thin = `stroke-width:${(h * 0.8).toFixed(2)}px`;
  const face = wide
    ? `matrix(1 0 1 -1 ${box.x + 1} ${box.y - 0.5})`
    : `matrix(1 -1 0 1 ${box.x + box.width + 0.5} ${box.y + 0.5})`;
  return svg`<g class=${chosen ? "mlp chosen" : "mlp"} style=${style} data-when="block ${block}: think" @click=${open}>
    ${sides(box, deep)}<rect class="shape" x=${box.x} y=${box.y} width=${box.width} height=${box.height}></rect>
    ${pixels ? svg`<g transform=${face}><path class="unlit" d=${rows.join("")} style="${thin};stroke-dasharray:${(w * 0.8).toFixed(2)} ${(w * 0.2).toFixed(2)}"></path><path class="lit" d=${pixels.join("")} style=${thin}></path></g>` : nothing}
    <title>MLP of block ${block}: click to open it</title></g>`;
}

/**
 * The way of the chosen token back to the text.
 * @param {Layout} layout
 */
export function loop(layout) {
  const { height, width, nLayer } = layout;
  const [from, to] = [layout.along(nLayer + 1.5), layout.ends[0] * 0.25];
  const y = height - 10;
  return svg`<g class="loop"><path pathLength="1" d="M${from} ${y - 14}q0 14 -14 14H${to + 14}q-14 0 -14 -14m-4 5l4 -5l4 5"></path>
    <text x=${width / 2} y=${y + 4} text-anchor="middle">the chosen token joins the text, and all begins again</text></g>`;
}

const fanOf = (/** @type {number} */ width) => Math.min(48, 0.18 * width); // px from a lane to the bars
const BARS = 228; // px of them all
const KNOB = { wide: 46, turned: 56 }; // px of the temperature
const FIRST = 1.5; // heights of the likeliest word's bar
const BAND = 22; // px of a share of 1, where it reaches its bar
/** Where the bars end, beside the last lane; with few lanes below it, where they have room. @param {Layout} layout */
const below = (layout) => layout.end - 22;

/**
 * Where its bars stand.
 * @param {Layout} layout
 * @param {number} many
 * @returns {import("./layout.mjs").Box[]}
 */
export function slotsOf(layout, many) {
  const { wide, nLayer } = layout;
  const { x, y, width } = layout.zone(nLayer + 1);
  const height = wide ? BARS / (Math.max(6, many) + FIRST - 1) - 4 : 32;
  const more = (FIRST - 1) * (height + 4); // px of the first
  const top = wide ? below(layout) - many * (height + 4) - more + 4 : y + 32 + KNOB.turned;
  const room = wide ? fanOf(width) : 8;
  return Array.from({ length: many }, (_, i) => {
    const [py, high] = i ? [top + more + i * (height + 4), height] : [top, height + more];
    return { x: x + room, y: py, width: width - room - 8, height: high };
  });
}

/**
 * A word, so small that it has room.
 * @param {string} word
 * @param {number} room  px
 * @param {number} most  px of its letters
 */
export function sized(word, room, most) {
  return `font-size:${Math.min(most, room / 0.56 / word.length).toFixed(1)}px`;
}

/**
 * What comes next: the end of the last lane, parted among the words.
 * @param {View} view
 * @param {Layout} layout
 * @param {(id: number, rest?: string) => void} append
 */
export function barsOf({ pass, next }, layout, append) {
  const { wide, lanes } = layout;
  const { x, y, width } = layout.zone(pass.nLayer + 1);
  const slots = slotsOf(layout, next.length);
  if (!next.length) return svg`<text class="part" x=${x + 8} y=${y + 44}>not stored</text>`;
  const { x: px, width: w } = slots[0];
  const [from, middle] = [x - 2, x + fanOf(width) / 2];
  let edge = layout.over(lanes - 1) - 5.5; // of what is left of the lane
  const fan = next.map(({ p, sense = "" }, i) => {
    const [a, b, half] = [edge, (edge += 11 * p), Math.max(0.5, (BAND * p) / 2)];
    const to = slots[i].y + slots[i].height / 2;
    const d = `M${from} ${a}C${middle} ${a} ${middle} ${to - half} ${px + 4} ${to - half}V${to + half}C${middle} ${to + half} ${middle} ${b} ${from} ${b}Z`;
    return svg`<path class=${`fan ${sense}`} style="d:path('${d}')" d=${d}></path>`;
  });
  const rows = next.map(({ id, name, p, rest = "", sense = "", other }, i) => {
    const word = bare(name);
    const { y: py, height } = slots[i];
    const high = other === undefined ? height : height / 2;
    const both = other === undefined ? share(p) : `${share(p)} / ${share(other)}`;
    const before = other === undefined ? pass.uncut?.[id] : undefined;
    const end = px + w - 8;
    const most = i ? 16 : 24; // px of letters
    const wordy = 0.56 * most * (word + rest).length;
    const left = Math.max(10, w * Math.max(p, other ?? 0, before ?? 0) + 8); // behind all bars
    const [within, behind] = [w * p - 16, w - left - (both.length > 6 ? 110 : 66)];
    const inside = within >= wordy || (within > behind && behind < wordy);
    const went = before !== undefined && !i; // above what it has now
    return svg`<g class=${`next ${sense}${i ? "" : " first"}`} data-id=${id} data-rove="next" tabindex=${i ? -1 : 0} role="button" aria-disabled=${String(Boolean(pass.only))} aria-label="${word}${rest} ${both}${before === undefined ? "" : `, before the cut ${share(before)}`}: append it"
      @click=${() => append(id, rest)} @keydown=${(/** @type {KeyboardEvent} */ event) => press(event, () => append(id, rest))}>
      <rect class="slot" x=${px} y=${py} width=${w} height=${height} rx="6"></rect>
      <rect class="bar" x=${px} y=${py} height=${high} rx="6" style="width:${(w * p).toFixed(1)}px"></rect>
      <rect class="bar other" x=${px} y=${py + high} height=${height - high} rx="6" style="width:${(w * (other ?? 0)).toFixed(1)}px"></rect>
      ${(before ?? 0) < 0.005 ? nothing : svg`<rect class="before" x=${px} y=${py + 1} height=${height - 2} rx="5" width=${(w * Number(before)).toFixed(1)}></rect>`}
      <text class="name" style=${sized(word + rest, inside ? within : behind, most)} x=${px + (inside ? 10 : left)} y=${py + height / 2 + (i ? 5 : 8)}>${word}<tspan class="rest">${rest}</tspan></text>
      ${" "}<text class="p" x=${end} y=${py + height / 2 + 5}>${went ? svg`<tspan class="rest" x=${end} dy="-12">${share(Number(before))} → </tspan><tspan x=${end} dy="20">${both}</tspan>` : both}</text>
      <title>${pass.only ?? `${rest ? `the token is ${quoted(word)}; ${quoted(word + rest)} is what the model would make of it. ` : ""}Click to append ${rest ? `“${bare(word + rest)}”` : quoted(name)}`}</title></g>`;
  });
  return [wide ? fan : nothing, rows];
}

/**
 * Where the temperature is set: above the bars.
 * @param {Layout} layout
 */
export function knobOf(layout) {
  const { x, y, width } = layout.zone(layout.nLayer + 1);
  const [left, top] = layout.wide ? [fanOf(width), below(layout) - BARS - KNOB.wide] : [8, y + 30];
  return { x: x + left, y: top, width: width - left - 8 };
}

/**
 * Half of a lane, for one of two passes.
 * @param {import("./layout.mjs").Box} box
 * @param {number} half
 * @param {boolean} wide
 */
export function halfOf({ x, y, width, height }, half, wide) {
  const gap = half ? 0.5 : -0.5;
  if (wide) return { x, y: y + (half * height) / 2 + gap, width, height: height / 2 };
  return { x: x + (half * width) / 2 + gap, y, width: width / 2, height };
}

/**
 * @param {string} token
 * @param {number} stage
 * @param {import("./pass.mjs").Said | null} said
 */
export function told(token, stage, said) {
  if (!said) return `${quoted(token)}: what it would say here was not read`;
  return `${quoted(token)}, after ${stageName(stage)}: ${said.name} ${fixed(said.p, 2)}`;
}
