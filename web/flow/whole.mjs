// Level 0: the whole model. Lanes are tokens, coloured by what the model would say if it ended there;
// ribbons are attention weights; ⊕ is where a part writes into the stream; bars are what comes next.

import { nothing, svg } from "lit/html.js";
import { repeat } from "lit/directives/repeat.js";
import { bare, fixed, quoted } from "../exhibits/dom.mjs";
import { ahead } from "./ahead.mjs";
import { press } from "./press.mjs";
import {
  barsOf,
  depthOf,
  halfOf,
  knobOf,
  loop,
  sized,
  swelling,
  tokenBox,
  told,
} from "./lanes.mjs";
import { Layout } from "./layout.mjs";
import { meaning } from "./pass.mjs";
import { bricks, facesOf, faint, sides, tilesOf } from "./tiles.mjs";
import { beadsOf, DRAWN, path, pillsOf, ribbonsOf, squaresOf, THICK, THIN } from "./ribbons.mjs";

/** @import { Pass, Said } from "./pass.mjs" */
/** @import { Place } from "./place.mjs" */

const NAMED = 250; // px of a block
const AURA = 0.2; // a weight below this gives no light
const USUAL = 180; // length of a vector of which nothing is stored

/** @type {import("./scenes.mjs").Kind} */
export function whole(view) {
  const { pass, was, other, gaps, width, at, cut, go, pick, append, patch } = view;
  const { tokens, nLayer, nHead, lens, lit } = pass;
  const layout = new Layout(width, tokens.length, nLayer);
  const { wide, folded, first, across } = layout;
  const lanes = Array.from({ length: layout.lanes }, (_, n) => (first ? first + n - 1 : n));
  const chosen = layout.lane(at);
  const many = folded ? view.folded : undefined; // blocks
  // Where no vectors are kept, lanes begin at their tokens.
  const begins = pass.vectors.length ? (wide ? 0.86 : 0.8) : wide ? 0.63 : 0.75;

  const zones = Array.from({ length: nLayer + 2 }, (_, zone) => {
    const { x, y, width: w, height: h } = layout.zone(zone);
    const block = zone - 1;
    const inner = zone > 0 && block < nLayer;
    const name = inner
      ? folded && wide
        ? block % layout.each
          ? "·"
          : `${block}`
        : `block ${block}`
      : zone
        ? "next token"
        : "text → vectors";
    const open = inner ? () => go({ block }) : nothing;
    const button = inner ? "button" : nothing;
    const [tx, ty] = [x + (wide ? 6 : 10), wide || !zone ? 15 : y + 20];
    return {
      name: svg`<text x=${tx} y=${ty}>${name}</text>`,
      room: svg`${sides({ x, y, width: w, height: h }, layout.deep)}<rect class=${inner ? "room opens" : "room"} x=${x} y=${y} width=${w} height=${h}
        @click=${open}></rect><rect class="shine" x=${x} y=${y} width=${w} height=${h} fill="url(#flow-shine)"></rect>`,
      title: svg`<text class="title" x=${tx} y=${ty} role=${button}
        aria-label=${inner ? `block ${block}: open it` : nothing} data-rove=${inner ? "blocks" : nothing}
        tabindex=${inner ? (block ? -1 : 0) : nothing} @click=${open}
        @keydown=${inner ? (/** @type {KeyboardEvent} */ event) => press(event, () => go({ block })) : nothing}>${name}${inner && layout.ring === 4 ? " ▸" : ""}</text>`,
    };
  });

  /** @param {number} stage */
  const stageFrom = (stage) =>
    stage ? 1 + ((stage - 1) >> 1) + (stage % 2 ? layout.middle : 0.96) : begins;
  const ending = (/** @type {number} */ s) =>
    s + 1 < lens.length ? stageFrom(s + 1) : nLayer + 1.01;
  const stages = lens.map((_, s) => s);
  /** A lane is as thick as its vector is long: px, by the logarithm. */
  const thickOf = (/** @type {number} */ s, /** @type {number} */ t) =>
    (t === at ? 1.6 : 0.9) * Math.log2(1 + (pass.lengths?.[s][t] ?? USUAL));
  /** Of a part of a lane, what is seen of its depth. @param {import("./layout.mjs").Box} box */
  const face = (box) => facesOf(box, layout.plank)[wide ? 0 : 1];
  const stream = () =>
    lanes.map((t, lane) => {
      const isFolded = Boolean(first) && !lane;
      return stages.map((s) => {
        const box = layout.bar(stageFrom(s), ending(s), lane, thickOf(s, t));
        const passes = gaps && other ? [pass, other] : [pass];
        const lid = svg`<path class="lid" style=${`${colour(isFolded ? null : pass.lens[s][t], pass)};--d:${s}`} d=${face(box)}></path>`;
        return [
          lid,
          ...passes.map((one, half) => {
            const { x, y, width: w, height: h } = gaps ? halfOf(box, half, wide) : box;
            const said = isFolded ? null : one.lens[s][t];
            const style = gaps ? apart(said, one, gaps.lane(s, t)) : colour(said, pass);
            return svg`<rect class="stream" style=${`${style};--d:${s}`} x=${x} y=${y} width=${Math.max(0, w)}
          height=${Math.max(0, h)}><title>${told(one.tokens[t], s, said)}</title></rect>`;
          }),
        ];
      });
    });
  const { defs, shades, slices } = depthOf(layout, { nHead, at, begins, thickOf });

  const ribbons = ribbonsOf(view, layout, [
    pass,
    ...[was, other].flatMap((one) => (one?.tokens.length === tokens.length ? [one] : [])),
  ]);
  const [faintest, most] = folded ? [0.3, 0.5] : [0.16, 0.7]; // many heads lie on each other
  const ribbonsIn = (/** @type {number} */ from, /** @type {number} */ to) =>
    repeat(
      ribbons.filter(({ block }) => block >= from && block < to),
      ({ name }) => name,
      ({ block, head, query, key, points, weight: share, into }) => {
        const weight = gaps ? gaps.ribbon(block, head, query, key) : share;
        const off = cut.includes(`${block}.${head}`);
        const size = weight < DRAWN ? 0 : Math.max(0.8, weight * (into ? THICK : THIN));
        const strength = weight < DRAWN ? 0 : into ? faintest + most * weight : 0.03 + 0.1 * weight;
        return svg`<path class=${`ribbon h${head % 4}${off ? " cut" : ""}${into ? " into" : ""}`} data-of="${block}.${head}" d=${path(points)}
        style="stroke-width:${size.toFixed(2)}px;stroke-opacity:${off ? 0.25 : strength.toFixed(3)}"
        @click=${() => (pick(query), go({ block, head }))}><title>head ${block}.${head}: ${quoted(tokens[query])} takes ${fixed(share, 2)} from ${key < 0 ? "older tokens" : quoted(tokens[key])}</title></path>`;
      },
    );

  /** @param {number} lane @param {number} stage  that it ends */
  const plus = (lane, stage) => {
    const [x, y] = layout.point(stage ? stageFrom(stage) : 0.93, lane);
    const r = folded ? layout.ring : lane === chosen || patch ? 7 : 3.5;
    const gift = first && !lane ? null : patch?.gift(stage, lanes[lane]);
    const kind = `plus s${stage}${lane === chosen ? " chosen" : ""}${gift ? ` gift${gift.chosen ? " given" : ""}` : ""}`;
    const sign = svg`<circle cx=${x} cy=${y} r=${gift?.chosen ? r + 3 : r} style=${gift && patch?.theirs ? colour(gift.said, patch.theirs) : nothing}></circle>
      ${r > 4 ? svg`<path d="M${x - r / 2} ${y}h${r}M${x} ${y - r / 2}v${r}"></path>` : nothing}`;
    if (!gift) return svg`<g class=${kind}>${sign}</g>`;
    return svg`<g class=${kind} role="button" data-rove="gifts" tabindex=${stage + lane ? -1 : 0} aria-pressed=${String(gift.chosen)}
      aria-label=${gift.told} @click=${gift.put} @keydown=${(/** @type {KeyboardEvent} */ event) => press(event, gift.put)}>
      <circle class="touch" cx=${x} cy=${y} r="14"></circle>${sign}<title>${gift.told}</title></g>`;
  };
  const tokenOf = (/** @type {number} */ lane) => (first && !lane ? -1 : lanes[lane]);
  const plates = (/** @type {number} */ block) => ({
    chosen,
    tokenOf,
    style: colour(lens[2 * block + 1][at], pass),
    thick: (/** @type {number} */ lane) => thickOf(2 * block + 1, lanes[lane]),
  });
  const foldedPlus = (/** @type {number} */ block) =>
    patch
      ? lanes.map((_, lane) => plus(lane, 2 * block + 2))
      : [2 * block + 1, 2 * block + 2].map((stage) => plus(chosen, stage));
  const parts = () =>
    Array.from({ length: nLayer }, (_, block) => {
      if (folded) return [many?.platesOf(view, layout, block, plates(block)), foldedPlus(block)];
      return lanes.map((t, lane) => [
        plus(lane, 2 * block + 1),
        swelling(layout, block, lane, lit && !(first && !lane) ? lit[block][t] : null, {
          many: pass.units,
          chosen: lane === chosen,
          open: () => pass.only || (pick(t), go({ block, mlp: true })),
          thick: thickOf(2 * block + 1, t),
          style: lane === chosen ? colour(lens[2 * block + 1][t], pass) : "",
        }),
        plus(lane, 2 * block + 2),
      ]);
    });

  const stops = Array.from({ length: 2 * nLayer }, (_, s) => stageFrom(s + 1));
  const rings = many?.ringsOf(layout, stops, chosen);

  /** What is active has light around it. */
  const glow = svg`<linearGradient id="flow-shine" x2="0" y2="1"><stop offset="0" stop-color="#fff" stop-opacity="0.1"></stop><stop offset="0.6" stop-color="#fff" stop-opacity="0"></stop></linearGradient>${defs}<filter id="flow-glow" filterUnits="userSpaceOnUse" x="0" y="0" width=${width} height=${layout.height}><feGaussianBlur stdDeviation="9"></feGaussianBlur></filter>
    <g class="glow" filter="url(#flow-glow)">${stages.map((s) => {
      const { x, y, width, height } = layout.bar(
        stageFrom(s),
        ending(s),
        chosen,
        6 + thickOf(s, at),
      );
      return svg`<rect class="halo" style=${`${colour(lens[s][at], pass)};--d:${s}`} x=${x} y=${y} width=${width} height=${height}></rect>`;
    })}${ribbons.map(({ into, weight, head, points }) => {
      if (!into || weight < AURA) return nothing;
      return svg`<path class=${`aura h${head % 4}`} d=${path(points)} style="stroke-width:${2 * THICK * weight}px"></path>`;
    })}</g>`;
  const gifts = patch ? lanes.map((_, lane) => plus(lane, 0)) : nothing;

  const heads = () =>
    Array.from({ length: nLayer }, (_, block) => {
      if (folded) return many?.marksOf(view, layout, block);
      const { x, y, width: w } = layout.zone(block + 1);
      const mlp = layout.along(block + 1.735);
      const named = w > NAMED; // there is room for the name of attention
      const label = wide
        ? svg`${named ? svg`<text class="part" x=${x + 8} y=${y + 20}>attention</text>` : nothing}
          <text class="part" x=${mlp} y=${y + 20} text-anchor="middle">MLP</text>`
        : nothing;
      const pills = pillsOf(view, block, {
        x: x + (wide ? (named ? 74 : 6) : 0),
        y: y + 6,
        wide,
        w,
      });
      return [label, pills];
    });

  const begin = lanes.map((t, lane) => tokenBox(view, layout, t, lane, lane === chosen));
  const bars = barsOf(view, layout, append);
  const room = wide && layout.ends[0] > 170 && Number(lens[0][at]?.name.length) < 9; // beside the first word
  const wordAt = (/** @type {number} */ s) => (s ? stageFrom(s) : 0.88);
  const words = () =>
    stages.map((s) => {
      const said = lens[s][at];
      if (!said || (folded && s % 2)) return nothing;
      const depth = wordAt(s);
      const [x, y] = layout.point(depth, layout.lanes - 1, across / 2 + 12);
      const place = wide
        ? { x: x + 11, y }
        : { x: layout.over(chosen) - 11, y: layout.along(depth) + (folded && s ? -11 : 1) };
      const names = [said.name, other?.lens[s][at]?.name ?? said.name].map(bare);
      const all = [...new Set(names)].join(" / ");
      const left = s ? layout.along(wordAt(s - (folded ? 2 : 1))) : room ? 96 : 0; // of the word before it
      const size = sized(all, place.x - left - 18, 17);
      return svg`<text class="word s${s}" style=${`${colour(said, pass, 0.25)};${size}`} x=${place.x} y=${place.y}
      text-anchor="end">${all}</text>`;
    });

  const here = room
    ? svg`<text class="part" x="4" y=${layout.over(layout.lanes - 1) + across / 2 + 12}>${at === pass.tokens.length - 1 ? "if it ended here:" : `at ${quoted(pass.tokens[at])}:`}</text>`
    : nothing;
  const drawn = pass.sizes ?? view.sizes;
  const weights = tilesOf(layout, drawn);
  const half = nLayer >> 1; // blocks: their ribbons are most of the picture
  const uncut = ribbons.filter(({ block, head }) => !cut.includes(`${block}.${head}`));
  return {
    height: layout.height,
    body: svg`${zones.map(({ room }) => room)}${wide ? loop(layout) : nothing}${glow}${shades}${{ make: stream }}${slices}${many?.scaleOf(view, layout, drawn)}${many?.sinkLines(view, layout, chosen)}<g class="ribbons">${many?.othersOf(view, layout)}${{ make: () => ribbonsIn(0, half) }}${{ make: () => ribbonsIn(half, nLayer) }}</g>${rings}${{ make: parts }}${gifts}${zones.map(({ title }) => title)}${{ make: heads }}${begin}${here}${{ make: words }}${bars}${view.byHand?.(layout)}${{ make: () => bricks(weights) }}${pass.only ? nothing : { make: () => faint(weights.tiles, view.boxes ?? []) }}${view.weights?.(weights.tiles, view)}${many?.notesOf(view, layout, { ...weights, sizes: drawn })}`,
    boxes: (/** @type {Place} */ { block, mlp }) => {
      if (block === undefined) return { x: 0, y: 0, width, height: layout.height };
      const box = layout.zone(block + 1);
      if (!mlp || folded) return box;
      return layout.wide
        ? {
            ...box,
            x: layout.along(block + 1.6),
            width: layout.along(block + 1.9) - layout.along(block + 1.6),
          }
        : box;
    },
    beads: beadsOf(uncut, layout, chosen),
    nLayer,
    squares: () => squaresOf(ribbons),
    knob: pass.only ? undefined : knobOf(layout),
    along: (depth) => layout.along(depth),
    vertical: !wide,
    ahead: ahead(layout, {
      chosen,
      rooms: zones.map((_, zone) => layout.zone(zone)),
      titles: zones.map(({ name }) => name),
      bars: view.next.length,
      begins,
    }),
  };
}

/**
 * The colour of a place of the stream, from what the model would say there.
 * @param {Said | null} said
 * @param {Pass} pass
 * @param {number} [least]  share below which it has none
 */
export function colour(said, pass, least = 0) {
  const { strength, side } = meaning(said, pass, least);
  const strong = `--strength:${(100 * strength).toFixed(0)}%`;
  return side === null
    ? `${strong};--sense:var(--winner)`
    : `${strong};--side:${(100 * side).toFixed(0)}%`;
}

/**
 * The colour of a place of the stream that differs: that of its meaning, where it has one.
 * @param {Said | null} said
 * @param {Pass} pass
 * @param {number} gap
 */
function apart(said, pass, gap) {
  const strength = `--strength:${(100 * Math.min(1, gap)).toFixed(0)}%`;
  const meant = said && said.bird + said.machine > 0.25;
  return meant ? `${colour(said, pass)};${strength}` : `${strength};--sense:var(--winner)`;
}
