// Level 4: one score, product by product, and what becomes of it: divided, and made a share.

import { svg } from "lit/html.js";
import { fixed, grouped, quoted } from "../exhibits/dom.mjs";
import {
  asProduct,
  button,
  chain,
  columns,
  decimals,
  headOf,
  heat,
  sumsOf,
  unknown,
} from "./cells.mjs";
import { cellOf, written } from "./by_hand.mjs";
import { WIDE } from "./layout.mjs";
import { worked } from "./parts.mjs";
import { sourceOf } from "./source.mjs";
import { sides } from "./tiles.mjs";

/** @import { View } from "./scenes.mjs" */

const STRIP = 18; // px of a vector
const SUM = 72; // px of what they come to
const FALL = 512; // products that fall one after the other: more are drawn at once
const PLAYED = 4000; // milliseconds of all products that are played, at most
const EACH = 125; // and of one

/**
 * The products of a score, in their order, and what the softmax makes of it.
 * @param {import("./pass.mjs").Pass} pass
 * @param {{block: number, head: number, query: number, key: number}} place
 */
export function productsOf({ tensor, tokens, nHead }, { block, head, query, key }) {
  const of = (/** @type {string} */ name) => tensor?.(`transformer.h.${block}.attn.${name}`);
  const [q, k, scores, weights] = ["q", "k", "scores", "weights"].map(of);
  if (!q || !k || !scores || !weights) return null;
  const D = /** @type {number} */ (q.shape.at(-1));
  const T = tokens.length;
  const a = headOf(q, head).subarray(query * D, (query + 1) * D);
  const b = headOf(k, head, nHead).subarray(key * D, (key + 1) * D);
  const products = Array.from(a, (value, i) => value * b[i]);
  const row = headOf(scores, head).subarray(query * T, query * T + query + 1);
  const powers = Array.from(row, Math.exp);
  return {
    a,
    b,
    products,
    sum: products.reduce((x, y) => x + y, 0),
    scaled: row[key],
    power: powers[key],
    total: powers.reduce((x, y) => x + y, 0),
    share: headOf(weights, head)[query * T + key],
  };
}

/**
 * How many multiply-adds a pass takes until the next token is known: the weights of each block once
 * for every token, those of the last layer for the last; in each head the scores and the mix, at and
 * below the diagonal.
 * @param {import("./source.mjs").Widths & {nLayer: number}} sizes
 * @param {number} T  tokens
 */
export function multiplyAdds(sizes, T) {
  const { nLayer, nEmbd: C, vocabSize: V, llama, nHead = 1 } = sizes;
  const { nInner: F = 4 * C, headSize: D = C / nHead, nKvHead = nHead } = sizes;
  const block = C * D * (2 * nHead + 2 * nKvHead) + (llama ? 3 : 2) * C * F;
  return T * nLayer * block + V * C + nLayer * nHead * D * T * (T + 1);
}

/**
 * What stands around the products: the two numbers' names and colours, what becomes of the sum.
 * @typedef {{a: ArrayLike<number>, b: ArrayLike<number>, products: number[], colours: string[],
 *   title: (number: number) => string, chain: [string, string, string][], says: string}} Facts
 */

/**
 * @param {View} view
 * @returns {Facts | null}
 */
function ofScore({ pass, place, cells, sizes }) {
  const at = /** @type {{block: number, head: number, query: number, key: number}} */ (place);
  const all = productsOf(pass, at);
  if (!all) return null;
  const [asks, gives] = [at.query, at.key].map((t) => quoted(pass.tokens[t]));
  const D = all.products.length;
  const own = written({ .../** @type {any} */ (cellOf(place, 0, sizes)), value: all.share });
  const set = cells.some((cell) => written({ ...cell, value: all.share }) === own);
  return {
    ...all,
    colours: ["q", "k"],
    title: (n) =>
      `number ${n} of ${asks}’s query × number ${n} of ${gives}’s key, in head ${at.block}.${at.head}`,
    chain: [
      [`sum of ${D} products`, fixed(all.sum, 2), "scores = q @ k.transpose(-2, -1)"],
      [`÷ √${D}`, fixed(all.scaled, 2), "… / math.sqrt(D)"],
      [
        "e to it, over the row’s sum",
        `${all.power.toPrecision(4)} ÷ ${all.total.toPrecision(4)}`,
        "masked_scores.softmax(dim=-1)",
      ],
      [set ? "the share, set by hand" : "the share", fixed(all.share), "weights"],
    ],
    says: `${asks} asks, ${gives} answers: ${D} products sum to ${fixed(all.sum, 2)}. Divided by √${D} that is ${fixed(all.scaled, 2)}, and of all that ${asks} may look at it gets the share ${fixed(all.share)}.`,
  };
}

/**
 * @param {View} view
 * @returns {Facts | null}
 */
function ofOutput({ pass, place, parts, sizes, name }) {
  const { weight, token: t = 0, output: o = 0 } = place;
  const work = parts.matrix && worked(pass, place, parts.matrix, sizes, t);
  const row = work?.row(o);
  if (!work || !row) return null;
  const { x, K } = work;
  const { products, sum, bias } = row;
  const { input, module } = sourceOf(place, sizes);
  const [from, by] = [input, module].map((path) => path.replace(/^transformer\.(h\.\d+\.)?/, ""));
  const own = bias ?? 0;
  const n = decimals([sum, own], sum + own);
  const [summed, added, made] = [sum, own, sum + own].map((value) => fixed(value, n));
  /** @type {[string, string, string][]} */
  const more = bias === null ? [] : [["+ bias", added, `${by}.bias`]];
  return {
    a: x,
    b: row.weight,
    products,
    colours: ["plain", ["q", "k", "v"].includes(String(weight)) ? String(weight) : "plain"],
    title: (n) =>
      `number ${n} of ${from} at ${quoted(pass.tokens[t])} × its weight in column ${o} of ${by}`,
    chain: [
      [`sum of ${K} products`, summed, `${by}.weight`],
      ...more,
      weight === "wte"
        ? [`the logit of ${name?.(o)}`, made, "logits"]
        : [`output ${o}`, made, String(weight)],
    ],
    says: `${K} products sum to ${summed}${bias === null ? "" : `; with the bias ${added} output ${o} is ${made}`}.`,
  };
}

/** @type {import("./scenes.mjs").Kind} */
export function product(view) {
  const { pass, place, width, go, sizes } = view;
  const facts = place.weight ? ofOutput(view) : ofScore(view);
  const wide = width >= WIDE;
  if (!facts)
    return unknown(pass.tensor ? "The weights are fetched." : "Queries and keys are not stored.");
  const { a, b, products, colours, title, says } = facts;
  const D = products.length;
  const plays = view.nth >= 0 && view.nth < D; // up to that one they are added
  const number = plays ? view.nth : (place.number ?? products.indexOf(Math.max(...products)));
  const to = (/** @type {number} */ n) => go({ ...place, number: (n + D) % D });
  const [first, second, result] = asProduct(a[number], b[number]);

  // A waterfall: each product goes on where the one before it ended.
  const ends = sumsOf(products);
  const [low, most] = [Math.min(...ends), Math.max(...ends)];
  const [x0, y0, w, h] = wide ? [16, 200, width - 32 - SUM, 180] : [16, 190, width - 32 - SUM, 360];
  const each = w / D;
  // Both vectors, number above number: a column of the waterfall is their product.
  const vectors = [a, b].map((values, i) =>
    heat(values, {
      x: x0,
      y: y0 - 64 + i * (STRIP + 4),
      columns: D,
      cell: each,
      high: STRIP,
      gap: each > 4 ? 1 : 0,
      role: colours[i],
    }),
  );
  const column = svg`<path class="guide" d="M${x0 + (number + 0.5) * each} ${y0 - 64 + 2 * STRIP + 6}V${y0 + h}"></path>
    <rect class="chosen-cell" x=${x0 + number * each - 1} y=${y0 - 66} width=${each + 1} height=${2 * STRIP + 8}></rect>`;
  const py = (/** @type {number} */ v) => y0 + h - ((v - low) / (most - low || 1)) * h;
  const boxes = products.map((p, i) => {
    const [from, end] = [py(ends[i]), py(ends[i + 1])];
    const [x, y] = [x0 + i * each + Math.min(1, each / 4), Math.min(from, end)];
    return { p, i, x, y, width: Math.max(1, each - 2), height: Math.max(1, Math.abs(from - end)) };
  });
  const drop = (/** @type {typeof boxes[0]} */ { i, x, y, width, height }) =>
    svg`<rect class=${plays && i > number ? "drop later" : "drop"} style="--n:${(32 * i) / D}" x=${x} y=${y} width=${width} height=${height}></rect>`;
  const path = (/** @type {typeof boxes[0]} */ { x, y, width, height }) =>
    `M${x.toFixed(1)} ${y.toFixed(1)}h${width}v${height.toFixed(1)}h${-width}z`;
  const there = D > FALL && plays ? boxes.slice(0, number + 1) : boxes;
  const signs = [there.filter(({ p }) => p >= 0), there.filter(({ p }) => p < 0)];
  const bars = signs.map(
    (some, sign) =>
      svg`<g class=${sign ? "fall minus" : "fall"}>${D > FALL ? svg`<path class="drop" d=${some.map(path).join("")}></path>` : some.map(drop)}</g>`,
  );
  // The sum as far as it has come: a column of its own at the right, and the number.
  const now = ends[plays ? number + 1 : D];
  const [level, ground] = [py(now), py(0)];
  const box = {
    x: x0 + w + 8,
    y: Math.min(level, ground),
    width: SUM - 24,
    height: Math.max(1, Math.abs(level - ground)),
  };
  const sum = svg`<path class="level" d="M${x0} ${level}H${x0 + w}"></path>
    <g class=${now < 0 ? "sum minus" : "sum"}>${sides(box, 8)}<rect x=${box.x} y=${box.y} width=${box.width} height=${box.height}></rect></g>
    <text class="summed" x=${x0 + w + SUM - 8} y=${level < ground ? level - 14 : level + 18} text-anchor="end">${fixed(now, 2)}</text>`;
  const large = wide
    ? 40
    : Math.min(28, (width - 32) / (0.6 * `${first} × ${second} = ${result}`.length));
  const fy = y0 + h + 40;
  const more = chain(facts.chain, { y: fy, width, columns: wide ? undefined : 1 });
  const many = grouped(multiplyAdds(sizes, pass.tokens.length));
  const [what, times] = title(number).split(" × ");
  /** @type {[number, number, string][]} */
  const lines = wide
    ? [
        [16, 20, `${what} × ${times}`],
        [150, 67 + large, `1 of ${many} multiply-adds of this pass`],
      ]
    : [
        [16, 14, what],
        [16, 30, `× ${times}`],
        [150, 59 + large, `1 of ${many}`],
        [150, 75 + large, "multiply-adds of this pass"],
      ];
  return {
    height: fy + more.height,
    body: svg`${lines.map(([x, y, line]) => svg`<text class="axis" x=${x} y=${y}>${line}</text>`)}
      <text class="product" x="16" y=${34 + large} style="font-size:${large}px"><tspan class=${colours[0]}>${first}</tspan> × <tspan class=${colours[1]}>${second}</tspan> = ${result}</text>
      ${button("◂", { x: 16, y: 48 + large, width: 40, act: () => to(number - 1), label: "the product before" })}
      ${button("▸", { x: 62, y: 48 + large, width: 40, act: () => to(number + 1), label: "the next product" })}
      ${vectors}<path class="axes" d="M${x0} ${py(0)}H${x0 + w}"></path><g class=${plays ? "played" : ""}>${bars}</g>${column}
      <g class="fall chosen">${drop(boxes[number])}</g>${sum}
      ${columns("product", { x: x0, y: y0 - 66, width: w, height: h + 66 }, { count: D, chosen: number, told: `number ${number}: ${first} times ${second} is ${result}`, choose: to })}${more.body}`,
    boxes: () => null,
    fills: { count: D, show: view.setNth, each: Math.min(EACH, PLAYED / D) },
    path: place.weight ? sourceOf(place, sizes).output : `transformer.h.${place.block}.attn.scores`,
    says,
  };
}
