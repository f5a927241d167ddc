// Level 1: a block, for the token that is followed. The stream runs straight through; attention and
// the MLP are detours from it, and each adds its result.

import { nothing, svg } from "lit/html.js";
import { fixed, quoted } from "../exhibits/dom.mjs";
import { headOf, heat, normed, press, rowOf, step } from "./cells.mjs";
import { WIDE } from "./layout.mjs";
import { lengthsOf, wayOf } from "./lengths.mjs";
import { isLit } from "./pass.mjs";
import { NORMS } from "./place.mjs";
import { DRAWN } from "./ribbons.mjs";
import { BLOCK } from "./timetable.mjs";
import { facesOf, sides } from "./tiles.mjs";
import { colour } from "./whole.mjs";

const NARROWEST = 60; // px of a map with its name
const STRIP = 9; // px of a q, k or v
const BELOW = 46; // px of the steps
const PLANK = 22; // px that a vector is deep, where depth runs to the right
const FRONT = 10; // px of the MLP's front

/** @type {import("./scenes.mjs").Kind} */
export function block(view) {
  const { pass, place, width, at, cut, go, toggle, sizes, upTo } = view;
  const n = /** @type {number} */ (place.block);
  const { tokens, nHead, lens, weights } = pass;
  const T = tokens.length;
  const wide = width >= WIDE;
  const act = pass.tensor?.(`transformer.h.${n}.mlp.act`);
  const known = act ? lengthsOf(pass, n, at) : null;

  // The stream lies above; on a phone at the left.
  const across = wide ? 60 : 26;
  const left = wide ? 86 : 76;
  const alone = Boolean(pass.only); // only the attention is stored: its maps have all the room
  const right = wide && !alone ? width * 0.52 - 30 : width - 8;
  const most = wide ? Math.floor((right - left) / (alone ? 160 : NARROWEST)) : alone ? 3 : 4;
  const columns = Math.ceil(nHead / Math.ceil(nHead / most)); // rows of one length
  const each = (right - left) / columns;
  const free = alone && view.height ? ((view.height - 100) * columns) / nHead - 50 : 110;
  const map = Math.min(each - 14, Math.max(72, free));
  const parts = ["q", "k", "v"].map((name) => pass.tensor?.(`transformer.h.${n}.attn.${name}`));
  const above = parts[0] ? 3 * STRIP + 4 : 0; // a map has its q, k and v above it
  const top = (wide ? (alone ? 112 : 128) : 76) + above;
  const high = map + 42 + above;
  const mapsEnd = top + Math.ceil(nHead / columns) * high - (wide ? above : 0);
  const plus1 = wide ? width * (alone ? 1 : 0.52) : mapsEnd + 14;
  const plus2 = wide ? width * 0.94 : alone ? plus1 : plus1 + 250;
  const end = wide ? width - 12 : plus2 + 46;
  const bar = (
    /** @type {number} */ from,
    /** @type {number} */ to,
    /** @type {number} */ stage,
  ) => {
    const style = colour(lens[stage]?.[at] ?? null, pass);
    const [x, y] = wide ? [from, across - 6] : [across - 6, from];
    const [w, h] = wide ? [to - from, 12] : [12, to - from];
    const box = { x, y, width: w, height: h };
    const lid = wide
      ? svg`<path class="lid" style=${style} d=${facesOf(box, PLANK)[0]}></path>`
      : nothing;
    return svg`${lid}<rect class="stream" style=${style} x=${x} y=${y} width=${Math.max(0, w)} height=${h}></rect>`;
  };
  // Each head has its part of the vector.
  const slices = Array.from({ length: wide ? nHead : 0 }, (_, head) => {
    const part = PLANK / nHead;
    const [d] = facesOf(
      { x: left + head * part, y: across - 6 - head * part, width: right - left - 40, height: 0 },
      part,
    );
    return svg`<path class=${`slice h${head % 4}`} data-of="${n}.${head}" d=${d}></path>`;
  });
  const word = (
    /** @type {number} */ where,
    /** @type {number} */ stage,
    /** @type {string} */ anchor,
  ) => {
    const said = lens[stage]?.[at];
    if (!said) return nothing;
    const [x, y] = wide ? [where, across - PLANK - 16] : [across + 18, where];
    return svg`<text class="word" style=${colour(said, pass, 0.25)} x=${x} y=${y}
      text-anchor=${wide ? anchor : "start"}>${said.name} ${fixed(said.p, 2)}</text>`;
  };
  const plus = (/** @type {number} */ where, /** @type {number[]} */ lengths) => {
    const [x, y] = wide ? [where, across] : [across, where];
    const [before, added, after] = lengths.map((length) => fixed(length, 2));
    const told = known
      ? [`adds a vector of length ${added},`, `${wayOf(lengths)}: ${before} → ${after}`]
      : [];
    const [tx, ty] = wide ? [x, across + 26] : [across + 18, where + 5];
    return svg`<g class="plus chosen"><circle cx=${x} cy=${y} r="10"></circle>
      <path d="M${x - 5} ${y}h10M${x} ${y - 5}v10"></path></g>
      ${told.map((line, i) => svg`<text class="length" x=${tx} y=${ty + 15 * i} text-anchor=${wide ? "end" : "start"}>${line}</text>`)}`;
  };

  // Attention: a map for each head.
  const placeOfMap = (/** @type {number} */ head) => [
    left + (head % columns) * each,
    top + Math.floor(head / columns) * high,
  ];
  /** What the token that is followed looks at most. @type {(head: number, x: number, y: number) => unknown} */
  const told = (head, x, y) => {
    const row = Array.from(weights[n][head]).slice(at * T, at * T + T);
    const share = Math.max(...row);
    return svg`<text class="axis" x=${x} y=${y + map + 16}>${wide ? "most at " : ""}${tokens[row.indexOf(share)].slice(0, map / 11)} ${fixed(share, 2)}</text>`;
  };
  const maps = weights[n].map((values, head) => {
    const name = `${n}.${head}`;
    const off = cut.includes(name);
    const [x, y] = placeOfMap(head);
    const open = () => go({ block: n, head });
    const strips = parts.map((part, i) => {
      if (!part) return nothing;
      const D = part.shape[part.shape.length - 1];
      const py = y - above + i * STRIP;
      const role = "qkv"[i];
      const letter =
        head % columns
          ? nothing
          : svg`<text class=${`letter ${role}`} x=${x - 10} y=${py + STRIP - 2}>${role}</text>`;
      return [
        letter,
        heat(rowOf({ values: headOf(part, head, nHead) }, at, D), {
          x,
          y: py,
          columns: D,
          cell: map / D,
          high: STRIP,
          gap: 0.5,
          role,
        }),
      ];
    });
    return svg`<g class=${`map h${head % 4}${off ? " cut" : ""}`}>
      <g role="button" tabindex=${head ? -1 : 0} data-rove="maps" aria-label="head ${name}: open it" @click=${open}
        @keydown=${(/** @type {KeyboardEvent} */ event) => press(event, open)}>
        <text class="name" x=${x} y=${y - 6 - above}>${wide || name.length < 4 ? "head " : ""}${name}</text>
        ${strips}
        <rect class="frame" x=${x} y=${y} width=${map} height=${map}></rect>
        ${heat(values, { x, y, columns: T, cell: map / T, scale: 1, role: "weights" })}
        <rect class="row" x=${x} y=${y + (at * map) / T} width=${map} height=${map / T}></rect>
        <title>head ${name}: click to open it</title>
      </g>
      ${
        alone
          ? told(head, x, y)
          : svg`<g class="cutter" role="button" tabindex=${head ? -1 : 0} data-rove="cutters" aria-pressed=${String(off)} 
        aria-label="cut head ${name}" @click=${() => toggle(name)}
        @keydown=${(/** @type {KeyboardEvent} */ event) => press(event, () => toggle(name))}>
        <rect class="touch" x=${x} y=${y + map} width=${map} height="24"></rect>
        <text x=${x} y=${y + map + 16}>${off ? "put back" : "cut"}</text></g>`
      }</g>`;
  });
  // The MLP: its units as a field.
  const field = wide
    ? { x: plus1 + 104, y: 152, width: plus2 - plus1 - 150 - 4 * PLANK }
    : { x: left, y: plus1 + 70, width: width - left - 8 };
  const units = act ? rowOf(act, at, act.values.length / T) : new Float32Array();
  const many = wide ? 32 * Math.max(1, Math.round(Math.sqrt(units.length / 512))) : 32;
  const cell = Math.min(288 / many, field.width / many);
  const rows = Math.ceil(Math.max(1, units.length) / many);
  const lit = units.reduce((sum, x) => sum + Number(isLit(x)), 0);
  const low = wide ? (4 * PLANK) / rows : Math.min(cell, 150 / rows);
  const slab = { x: field.x, y: field.y + 4 * PLANK, width: many * cell, height: FRONT };
  const openMlp = () => go({ block: n, mlp: true });
  const mlp = svg`<g class="map" role="button" tabindex="0" aria-label="MLP of block ${n}: open it" @click=${openMlp}
    @keydown=${(/** @type {KeyboardEvent} */ event) => press(event, openMlp)}>
    <text class="name" x=${wide ? Math.min(field.x + 4 * PLANK, width - 180) : field.x} y=${field.y - 6}>MLP: ${lit} of ${units.length} units are lit</text>
    ${wide ? svg`<g class="slab" data-when="block ${n}: think">${sides(slab, 4 * PLANK)}<rect x=${slab.x} y=${slab.y} width=${slab.width} height=${FRONT}></rect></g>` : nothing}
    <g transform=${wide ? `matrix(1 0 -1 1 ${field.x + 4 * PLANK} ${field.y})` : `translate(${field.x} ${field.y})`}>
    <rect class="touch" width=${many * cell} height=${low * rows}></rect>
    ${heat(units, { x: 0, y: 0, columns: many, cell, high: low, gap: cell > 4 ? 1 : 0.3, scale: 2 })}</g>
    <title>click to open the MLP</title></g>`;

  const way = (
    /** @type {number} */ from,
    /** @type {number} */ to,
    /** @type {number} */ deep,
    /** @type {number} */ back,
  ) =>
    wide
      ? svg`<path class="detour" d="M${from} ${across + 6}V${deep}M${back} ${deep}H${to}V${across + 12}"></path>`
      : svg`<path class="detour" d="M${across + 6} ${from}H${deep}M${back} ${to - 16}V${to}H${across + 12}"></path>`;
  const bottom = wide ? mapsEnd - 4 : end + 24; // of what a pass covers
  const y0 = bottom + (wide ? BELOW + 28 : 60); // of what is to scale
  const solids = view.solids?.scale(view, {
    y: y0,
    left: wide ? [left, plus1 + 20] : [12, 12],
    room: wide ? plus1 - left - 10 : width - 24,
    wide,
    high: wide && view.height ? Math.max(40, view.height - y0 - 24) : undefined,
  });
  const below =
    (wide && !alone ? BELOW : 0) + (solids?.height ? solids.height + (wide ? 28 : 64) : 0);
  const middle = wide ? top + high / 2 - 20 : 0; // of the first row
  const spots = wide
    ? [44, plus1 + 60].map((x) => ({ x, y: middle, width: 62 }))
    : [top + 20, plus1 + 110].map((y) => ({ x: across + 32, y, width: 36 }));
  const dials = known?.streams.map((stream, i) => {
    const name = NORMS[i];
    const rms = Boolean(sizes.llama);
    return normed(stream, { ...spots[i], name, rms, open: () => go({ block: n, norm: name }) });
  });
  const detours =
    wide && !alone
      ? [
          way(44, plus1, middle - 18, left + (columns - 1) * each + map + 6),
          way(plus1 + 60, plus2, middle - 18, field.x + many * cell + 3 * PLANK),
        ]
      : [];
  const stage = 2 * n;
  const fieldEnd = wide ? field.x + many * cell + 3 * PLANK : field.y + 150;
  const stops = wide
    ? [0, left - 8, left + (columns - 1) * each + map + 10, plus1 + 14, fieldEnd + 36, width]
    : [0, top - above - 24, mapsEnd - 6, plus1 + 14, fieldEnd + 20, bottom];
  const along = (/** @type {number} */ depth) => {
    const part = Math.min(1, Math.max(0, depth - n - 1));
    const i = BLOCK.findIndex(({ to }) => part <= to);
    const from = i ? BLOCK[i - 1].to : 0;
    return stops[i] + ((part - from) / (BLOCK[i].to - from)) * (stops[i + 1] - stops[i]);
  };
  const row = BLOCK.map(({ verb, to }, i) => {
    const box = { x: stops[i], y: bottom + 8, width: stops[i + 1] - stops[i], first: !i };
    return wide && !alone ? step(verb, box, () => upTo(n + 1 + to)) : nothing; // a phone has the slider
  });
  return {
    height: bottom + below,
    along: alone ? undefined : along,
    vertical: !wide,
    range: [n + 1, n + 2],
    below,
    ahead: svg`${wide ? sides({ x: 12, y: across - 6, width: end - 12, height: 12 }, PLANK) : nothing}<path d=${wide ? `M12 ${across - 6}H${end}v12H12zM${slab.x} ${slab.y}h${slab.width}v${FRONT}h${-slab.width}z` : `M${across - 3} 24V${end}h6V24z`}></path>
      ${weights[n].map((_, head) => svg`<rect class="place" x=${placeOfMap(head)[0]} y=${placeOfMap(head)[1]} width=${map} height=${map}></rect>`)}
      ${wide ? sides(slab, 4 * PLANK) : svg`<rect class="place" x=${field.x} y=${field.y} width=${many * cell} height="150"></rect>`}`,
    body: svg`${detours}${bar(wide ? 12 : 24, plus1, stage)}${slices}${bar(plus1, plus2, stage + 1)}${bar(plus2, end, stage + 2)}
      ${word(wide ? 14 : 40, stage, "start")}${word(wide ? plus1 + 16 : plus1 + 40, stage + 1, "start")}${word(wide ? plus2 + 4 : plus2 + 40, stage + 2, "middle")}
      ${alone ? nothing : [plus(plus1, known ? [known.before, known.attention, known.middle] : []), plus(plus2, known ? [known.middle, known.mlp, known.after] : [])]}
      ${maps}${units.length ? mlp : nothing}${dials}${row}${solids?.body}`,
    boxes: ({ head, mlp: toMlp, norm }) => {
      if (norm) return { ...spots[NORMS.indexOf(norm)], height: 60 };
      if (toMlp)
        return { x: field.x, y: field.y, width: many * cell, height: wide ? 4 * PLANK : 150 };
      if (head === undefined) return null;
      const [x, y] = placeOfMap(head);
      return { x, y, width: map, height: map };
    },
    squares: () => {
      const cell = map / T;
      const all = weights[n].flatMap((values, head) => {
        const [x, y] = placeOfMap(head);
        return Array.from(values).flatMap((weight, i) => {
          if (!(weight >= DRAWN)) return [];
          const [query, key] = [Math.floor(i / T), i % T];
          const box = { x: x + key * cell, y: y + query * cell, width: cell, height: cell };
          return [
            /** @type {const} */ ([`${n}.${head}.${query}.${key}`, { ...box, head, weight }]),
          ];
        });
      });
      return new Map(all);
    },
    says: says(pass, n, at, known),
  };
}

/**
 * @param {import("./pass.mjs").Pass} pass
 * @param {number} n
 * @param {number} at
 * @param {ReturnType<typeof lengthsOf> | null} known
 */
function says({ tokens, lens, only }, n, at, known) {
  const token = quoted(tokens[at]);
  if (!known && !only) return `Loading the model, to compute block ${n}.`;
  if (!known)
    return `Of block ${n} only the attention is stored. Each head’s map has a row for a token and a column for each that it looks at; below it stands where ${token} looks most.`;
  const [a, b, c] = [2 * n, 2 * n + 1, 2 * n + 2].map((stage) => lens[stage]?.[at]);
  const said =
    a && b && c
      ? ` If it ended before, it would say ${quoted(a.name)}; after attention ${quoted(b.name)}; after the MLP ${quoted(c.name)}.`
      : "";
  return `At ${token} block ${n} adds twice: attention a vector of length ${fixed(known.attention, 2)}, the MLP one of ${fixed(known.mlp, 2)}.${said}`;
}
