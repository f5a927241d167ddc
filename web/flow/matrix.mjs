// Level 3: a matrix of weights. What goes in stands at its left, what comes out below; an output is
// the sum of the inputs, each times its weight in the output's column.

import { nothing, svg } from "lit/html.js";
import { fixed, grouped, quoted } from "../exhibits/dom.mjs";
import { asProduct, decimals, heat, sumsOf, unknown } from "./cells.mjs";
import { WIDE } from "./layout.mjs";
import { chosenOf, SIDE, worked } from "./parts.mjs";
import { sourceOf } from "./source.mjs";
import { sides } from "./tiles.mjs";

const DRAWN = 4096; // outputs at most
const MARKED = 3; // products with their numbers

/** The last map that was drawn. @type {{of: Float32Array, inks: string, href: string} | null} */
let drawn = null;

/**
 * The weights as a picture: a pixel for each, inputs downwards, outputs to the right.
 * @param {Float32Array} weight  a row for each output
 * @param {number} height  inputs
 * @param {string[]} inks  of weights above and below zero
 */
function mapOf(weight, height, inks) {
  if (drawn?.of !== weight || drawn.inks !== inks.join())
    drawn = { of: weight, inks: inks.join(), href: imageOf(weight, height, inks) };
  return drawn.href;
}

/**
 * @param {Float32Array} weight  a row for each output
 * @param {number} height  inputs
 * @param {string[]} inks
 * @param {boolean} [turned]  inputs to the right, outputs downwards
 */
export function imageOf(weight, height, inks, turned = false) {
  const outputs = weight.length / height;
  const [width, high] = turned ? [height, outputs] : [outputs, height];
  const canvas = Object.assign(document.createElement("canvas"), { width, height: high });
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const image = context.createImageData(width, high);
  const pixels = new Uint32Array(image.data.buffer); // of four bytes: alpha, blue, green, red
  const full = fullColour(weight);
  const [plus, minus] = inks.map((ink) => {
    const [red, green, blue] = (ink.match(/\d+/g) ?? []).map(Number);
    return (blue << 16) | (green << 8) | red;
  });
  weight.forEach((value, i) => {
    const alpha = 255 * Math.min(1, Math.abs(value) / full);
    const pixel = turned ? i : (i % height) * width + Math.floor(i / height);
    pixels[pixel] = (alpha << 24) | (value < 0 ? minus : plus);
  });
  context.putImageData(image, 0, 0);
  return canvas.toDataURL();
}

/**
 * The weight that has the full colour.
 * @param {Float32Array} weight
 */
export function fullColour(weight) {
  return 2.5 * Math.sqrt(weight.reduce((sum, w) => sum + w * w, 0) / weight.length) || 1;
}

/** @type {import("./scenes.mjs").Kind} */
export function matrix(view) {
  const { pass, place, parts, width, at, sizes, hover, setHover, filling, go, colour, name } = view;
  const last = place.weight === "wte"; // whose outputs are the tokens' logits
  const t = place.token ?? at;
  const map = parts.matrix?.map;
  const work = map && worked(pass, place, /** @type {any} */ (parts.matrix), sizes, t);
  const outputs = work?.outputs() ?? new Float32Array();
  const chosen = work && hover >= 0 && hover < work.R ? hover : chosenOf(place, outputs);
  const row = work?.row(chosen);
  if (!map || !work || !row)
    return unknown(pass.tensor ? "The weights are fetched." : "The vectors are not stored.");
  const { x, K, R } = work;
  const { weight, products, sum: total, bias } = row;
  const wide = width >= WIDE;
  const { module, input, output, once, untaped } = sourceOf(place, sizes);
  const role = place.mlp || last ? "plain" : once ? "v" : String(place.weight);
  const short = (/** @type {string} */ path) => path.replace(/^transformer\.(h\.\d+\.)?/, "");
  const token = quoted(pass.tokens[t]);

  // The map, the input at its left, the running sum at its right, the outputs below.
  const [top, high] = [64, wide ? 338 : 640];
  const [left, sum] = wide ? [84, 270] : [34, 92];
  const cell = Math.min(24, (width - left - sum - 36) / R);
  const across = cell * R;
  const each = high / K; // px of an input
  const bottom = top + high;
  const cx = left + chosen * cell;

  const sums = sumsOf(products);
  const [low, most] = [Math.min(...sums, outputs[chosen]), Math.max(...sums, outputs[chosen])];
  const sx = left + across + 24; // of the running sum
  const px = (/** @type {number} */ v) =>
    sx + ((v - low) / (most - low || 1)) * (sum - (wide ? 160 : 6));
  const line = sums.map(
    (v, i) => `${i ? "L" : "M"}${px(v).toFixed(1)} ${(top + i * each).toFixed(1)}`,
  );
  const order = products
    .map((p, i) => ({ p, i }))
    .sort((a, b) => Math.abs(b.p) - Math.abs(a.p))
    .slice(0, MARKED)
    .sort((a, b) => a.i - b.i);
  let below = top - 8;
  const marks = order.map(({ i }) => {
    const y = top + (i + 0.5) * each;
    below = Math.max(below + 16, y + 4);
    const [a, b, c] = asProduct(x[i], weight[i]);
    return svg`<path class="mark" d="M${left - 30} ${y}h${wide ? 6 : 3}M${cx - 4} ${y}h4M${cx + cell} ${y}h4"></path>
      ${wide ? svg`<text class="axis" x=${sx + sum - 146} y=${below}>${a} × ${b} = ${c}</text>` : nothing}`;
  });

  const outputAt = (/** @type {MouseEvent} */ event) => {
    const picture = /** @type {SVGElement} */ (event.currentTarget).ownerSVGElement;
    const box = /** @type {SVGElement} */ (picture).getBoundingClientRect();
    const o = Math.floor(((event.clientX - box.left) * (width / box.width) - left) / cell);
    return Math.min(R - 1, Math.max(0, o));
  };
  const choose = (/** @type {number} */ o) => go({ ...place, token: t, output: (o + R) % R });
  const open = () =>
    go({
      ...place,
      token: t,
      output: chosen,
      number: order.reduce((best, one) => (Math.abs(one.p) > Math.abs(best.p) ? one : best)).i,
    });
  const step = (/** @type {KeyboardEvent} */ event) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!by && event.key !== "Enter") return;
    event.preventDefault();
    if (by) choose(chosen + by);
    else open();
  };
  const click = (/** @type {MouseEvent} */ event) => {
    const o = hover < 0 || filling ? outputAt(event) : chosen;
    const same = Math.abs(o - chosen) * cell < 2; // a click is told in whole pixels
    if (same && chosen === place.output) open();
    else choose(same ? chosen : o);
  };
  const own = bias ?? 0;
  const n = decimals([total, own], total + own);
  const [summed, added, made] = [total, own, total + own].map((value) => fixed(value, n));
  const which = last ? `output ${chosen}, ${name?.(chosen)}` : `output ${chosen}`;
  const told = `${which}: ${fixed(outputs[chosen], 2)}`;
  const every = Math.ceil(R / DRAWN); // of so many outputs not all can be seen
  const seen = every > 1 ? outputs.filter((_, o) => !(o % every)) : outputs;
  const field = { y: bottom + 26, high: wide ? 26 : 22 };
  const shade = (/** @type {number} */ from, /** @type {number} */ to) =>
    svg`<rect class="aside" x=${left + from * cell} y=${top} width=${Math.max(0, to - from) * cell} height=${high}></rect>`;
  const [drawnK, drawnR] = [K, R].map((n) => grouped(Math.min(n, SIDE)));
  const sample = work.sampled
    ? ` Of the weights the map has a sample, ${drawnK} × ${drawnR}, evenly spread; every output is computed from all of its own.`
    : "";
  const [ex, ey] = wide ? [sx, field.y] : [left, field.y + field.high + 42];
  const whole = bias === null ? "" : ` + bias ${added}`;
  return {
    height: Math.max(ey + 30, field.y + field.high) + 34,
    body: svg`<text class="axis" x=${left - 30} y="20">${short(input)} of ${token}: ${K} numbers</text>
      <text class=${`letter ${role}`} x=${left} y="44">${short(module)}.weight.T, ${place.mlp || last || !wide ? "" : "the part of this head: "}${K} × ${R}${work.sampled ? ", a sample" : ""}</text>
      ${heat(x, { x: left - 24, y: top, columns: 1, cell: 18, high: each, scale: fullColour(x) })}
      <g class="plate">${sides({ x: left, y: top, width: across, height: high }, 5)}<rect class="tile" x=${left} y=${top} width=${across} height=${high}></rect></g>
      <image href=${mapOf(map.weight, work.sampled ? Math.min(K, SIDE) : K, [colour(role), colour("minus")])} x=${left} y=${top} width=${across} height=${high} preserveAspectRatio="none"></image>
      ${shade(0, chosen)}${shade(chosen + 1, R)}
      <rect class="chosen-cell" x=${cx - 1} y=${top - 1} width=${cell + 2} height=${high + 2}></rect>${marks}
      <path class="axes" d="M${px(0)} ${top}V${bottom}"></path><path class="curve" d=${line.join("")}></path>
      <circle class="point" cx=${px(total)} cy=${bottom} r="5"></circle>
      <path class="detour" d="M${cx + cell / 2} ${bottom + 3}V${field.y - 3}m-4 -5l4 5l4 -5"></path>
      ${heat(seen, { x: left, y: field.y, columns: seen.length, cell: across / seen.length, high: field.high, gap: cell > 5 ? 1 : 0, role, scale: fullColour(outputs) })}
      ${filling ? svg`<rect class="blank" x=${cx + cell} y=${field.y - 1} width=${across - (chosen + 1) * cell} height=${field.high + 2}></rect>` : nothing}
      <rect class="chosen-cell" x=${cx - 1} y=${field.y - 1} width=${cell + 1} height=${field.high + 1}></rect>
      <g class="field" role="slider" tabindex="0" aria-label="output" aria-valuemin="0" aria-valuemax=${R - 1}
        aria-valuenow=${chosen} aria-valuetext=${told} @click=${click} @keydown=${step}
        @pointermove=${(/** @type {PointerEvent} */ event) => event.pointerType === "mouse" && setHover(outputAt(event))}
        @pointerleave=${() => setHover(-1)}>
        <rect class="touch" x=${left} y=${top} width=${across} height=${field.y + field.high - top}></rect>
        <title>click to choose an output, once more to see its products</title></g>
      <text class="name" x=${ex} y=${ey + 2}>${last ? "the logit" : `${summed}${whole} =`}</text>
      <text class="figure" x=${ex} y=${ey + 28}>${made}</text>
      <text class="axis" x=${left} y=${field.y + field.high + 18}>${last ? `${which}: logits of ${token}` : whatOf(place, token, { output: short(output), once, untaped })}: ${R} numbers</text>`,
    boxes: ({ number, output: o }) =>
      number === undefined || o === undefined
        ? null
        : { x: left + o * cell, y: top, width: Math.max(cell, 12), height: high },
    path: output,
    fills: { count: R, show: (nth) => setHover(nth, true) },
    says: `${K} numbers go in, ${R} come out, by ${grouped(K * R)} weights. ${which.replace("o", "O")} at ${token}: each number times its weight in column ${chosen}, summed, is ${summed}${bias === null ? (once && !sizes.llama ? ". The bias is added once, for all heads together" : "") : `; with the bias ${added} that is ${made}`}.${sample}`,
  };
}

/**
 * What the outputs of a matrix are.
 * @param {import("./place.mjs").Place} place
 * @param {string} token
 * @param {{output: string, once?: boolean, untaped?: boolean}} source
 */
function whatOf({ block, head, mlp, weight }, token, { output, once, untaped }) {
  if (mlp) return untaped ? "what scales silu(pre)" : output;
  if (once) return `what head ${block}.${head} adds to the stream`;
  return `${weight} of ${token}${untaped ? ", before it is turned" : ""}`;
}
