// Level 4: one score, product by product, and what becomes of it: divided, and made a share.

import { nothing, svg } from "lit/html.js";
import { fixed, quoted } from "../exhibits/dom.mjs";
import { button, headOf } from "./cells.mjs";

/** @import { Scene, View } from "./flow.mjs" */

const WIDE = 700;

/**
 * The products of a score, in their order, and what the softmax makes of it.
 * @param {import("./pass.mjs").Pass} pass
 * @param {{block: number, head: number, query: number, key: number}} place
 */
export function productsOf({ tensor, tokens }, { block, head, query, key }) {
  const of = (/** @type {string} */ name) => tensor?.(`transformer.h.${block}.attn.${name}`);
  const [q, k, scores, weights] = ["q", "k", "scores", "weights"].map(of);
  if (!q || !k || !scores || !weights) return null;
  const D = /** @type {number} */ (q.shape.at(-1));
  const T = tokens.length;
  const a = headOf(q, head).subarray(query * D, (query + 1) * D);
  const b = headOf(k, head).subarray(key * D, (key + 1) * D);
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
 * @param {{nLayer: number, nEmbd: number, vocabSize: number}} sizes
 * @param {number} T  tokens
 */
export function multiplyAdds({ nLayer, nEmbd: C, vocabSize: V }, T) {
  return T * nLayer * 12 * C * C + V * C + nLayer * C * T * (T + 1);
}

/**
 * @param {View} view
 * @returns {Scene}
 */
export function product(view) {
  const { pass, place, width, go, sizes } = view;
  const at = /** @type {{block: number, head: number, query: number, key: number}} */ (place);
  const all = productsOf(pass, at);
  const wide = width >= WIDE;
  const [asks, gives] = [pass.tokens[at.query], pass.tokens[at.key]];
  if (!all) {
    return {
      height: 100,
      body: svg`<text class="axis" x="12" y="40">Queries and keys are not stored.</text>`,
      boxes: () => null,
      says: "Queries and keys are not stored.",
    };
  }
  const D = all.products.length;
  const first = all.products.indexOf(Math.max(...all.products));
  const number = place.number ?? first;
  const to = (/** @type {number} */ n) => go({ ...at, number: (n + D) % D });

  // A waterfall: each product goes on where the one before it ended.
  const ends = all.products.reduce((sums, p) => [...sums, sums[sums.length - 1] + p], [0]);
  const [low, most] = [Math.min(...ends), Math.max(...ends)];
  const [x0, y0, w, h] = wide ? [16, 150, width - 32, 190] : [16, 190, width - 32, 150];
  const each = w / D;
  const py = (/** @type {number} */ v) => y0 + h - ((v - low) / (most - low || 1)) * h;
  const bars = all.products.map((p, i) => {
    const [a, b] = [py(ends[i]), py(ends[i + 1])];
    return svg`<g class=${`fall${p < 0 ? " minus" : ""}${i === number ? " chosen" : ""}`} style="--n:${i}" role="button"
      data-rove="products" tabindex=${i === number ? 0 : -1} aria-label="number ${i}: ${fixed(all.a[i], 2)} times ${fixed(all.b[i], 2)} is ${fixed(p, 2)}"
      @click=${() => to(i)} @focus=${() => i !== number && to(i)}>
      <rect class="touch" x=${x0 + i * each} y=${y0} width=${each} height=${h}></rect>
      <rect class="drop" x=${x0 + i * each + 1} y=${Math.min(a, b)} width=${Math.max(1, each - 2)} height=${Math.max(1, Math.abs(a - b))}></rect>
      <title>number ${i}: ${fixed(all.a[i], 2)} × ${fixed(all.b[i], 2)} = ${fixed(p, 2)}</title></g>`;
  });
  const large = wide ? 40 : 28;
  const flow = [
    [`sum of ${D} products`, fixed(all.sum, 2), "scores = q @ k.transpose(-2, -1)"],
    [`÷ √${D}`, fixed(all.scaled, 2), "… / math.sqrt(D)"],
    [
      "e to it, over the row’s sum",
      `${all.power.toPrecision(4)} ÷ ${all.total.toPrecision(4)}`,
      "masked_scores.softmax(dim=-1)",
    ],
    ["the share", fixed(all.share), "weights"],
  ];
  const fy = y0 + h + 40;
  const column = wide ? (width - 32) / 4 : 0;
  const chain = flow.map(([name, value, code], i) => {
    const [x, y] = wide ? [16 + i * column, fy] : [16, fy + i * 62];
    return svg`<text class="axis" x=${x} y=${y}>${name}</text><text class="figure" x=${x} y=${y + 28}>${value}</text>
      <text class="code" x=${x} y=${y + 46}>${code}</text>`;
  });
  const many = multiplyAdds(sizes, pass.tokens.length);
  return {
    height: fy + (wide ? 70 : 270),
    body: svg`<text class="axis" x="16" y="20">number ${number} of ${asks}’s query × number ${number} of ${gives}’s key, in head ${at.block}.${at.head}</text>
      <text class="product" x="16" y=${34 + large} style="font-size:${large}px"><tspan class="q">${fixed(all.a[number], 2)}</tspan> × <tspan class="k">${fixed(all.b[number], 2)}</tspan> = ${fixed(all.products[number], 2)}</text>
      ${button("◂", { x: 16, y: 48 + large, width: 40, act: () => to(number - 1), label: "the product before" })}
      ${button("next ▸", { x: 62, y: 48 + large, width: 76, act: () => to(number + 1) })}
      <text class="axis" x="150" y=${67 + large}>1 of ${many.toLocaleString("en")} multiply-adds of this pass</text>
      <path class="axes" d="M${x0} ${py(0)}H${x0 + w}"></path>${bars}${chain}${nothing}`,
    boxes: () => null,
    says: `${quoted(asks)} asks, ${quoted(gives)} answers: ${D} products sum to ${fixed(all.sum, 2)}. Divided by √${D} that is ${fixed(all.scaled, 2)}, and of all that ${quoted(asks)} may look at it gets the share ${fixed(all.share)}.`,
  };
}
