// The curves of a run, one measure in each panel, with a stored run or the one before as dotted lines.

import { html, svg } from "lit/html.js";
import { fixed } from "../exhibits/dom.mjs";
import { PLOTS } from "../language/plots.mjs";
import { count, percent } from "../learn/words.mjs";
import { ends, smoothed } from "./drive.mjs";

/** @import { Point } from "./drive.mjs" */
/** @typedef {[number, number][]} Line */
/**
 * @typedef {{now: Point[], before: Point[]}} Shown  points of a run, and of another
 * @typedef {{title: string, of: (point: Point) => number | undefined, top: number,
 *   words: (value: number) => string, own?: number, alone?: boolean}} Panel  top: the least end of its
 *   axis; own: of the language itself; alone: not to be compared with the other run
 */

const [WIDTH, HEIGHT] = [100, 60]; // of a drawing, which is stretched
const FIRST = 1000; // texts on the axis of a run that begins

/**
 * Where the axis of texts ends: of a run it doubles when the run comes there.
 * @param {Shown} shown
 */
export function end({ now, before }) {
  const last = now.at(-1)?.n;
  if (last === undefined) return before.at(-1)?.n ?? FIRST;
  let end = FIRST;
  while (end < last) end *= 2;
  return end;
}

/**
 * What a panel says: the last value of the run, or of the other where there is none.
 * @param {Line} now
 * @param {Line} before
 * @param {(value: number) => string} words
 */
function value(now, before, words) {
  const [line, name] = now.length ? [now, "now"] : [before, "before"];
  const last = line.at(-1)?.[1];
  return html`<b class=${name}>${last === undefined ? "" : words(last)}</b>`;
}

/**
 * The measures of a run.
 * @param {string} kind  of the reward
 * @param {boolean} same  whether the other run had the same reward
 * @param {number} entropy  of the language
 * @returns {Panel[]}
 */
export function measures(kind, same, entropy) {
  const nats = (/** @type {number} */ value) => fixed(value, 2);
  const few = (/** @type {number} */ value) =>
    fixed(value, value >= 10 ? 0 : kind === "short" ? 2 : 1);
  return [
    {
      title: "entropy per token",
      of: (point) => point.entropy,
      top: 0.8,
      words: nats,
      own: entropy,
    },
    kind === "right"
      ? { title: "tokens of a story", of: ({ length }) => length, top: 80, words: few }
      : { title: "reward", of: (point) => point.reward, top: 1, words: few, alone: !same },
    { title: "KL from the start", of: ({ divergence }) => divergence, top: 0.2, words: nats },
    { title: "KL from the truth", of: (point) => point.nats, top: 0.2, words: nats },
  ];
}

/** @param {[number, number][]} line  of points of the drawing */
const path = (line) => `M${line.map(([x, y]) => `${x.toFixed(2)} ${y.toFixed(2)}`).join("L")}`;

/**
 * @param {Panel} panel
 * @param {Shown} shown
 */
export function drawn({ title, of, top, words, own, alone = false }, shown) {
  const [now, before] = [smoothed(shown.now, of), alone ? [] : smoothed(shown.before, of)];
  const right = end(shown);
  const seen = [...now, ...before].filter(([n]) => n <= right);
  const high = Math.max(top, ...seen.map(([, value]) => value));
  const y = (/** @type {number} */ value) => HEIGHT * (1 - value / high);
  const line = (/** @type {Line} */ points) =>
    path(points.map(([n, value]) => [(WIDTH * n) / right, y(value)]));
  const found = ends(shown.now, of);
  const told = found ? `from ${words(found.first)} to ${words(found.last)}` : "nothing yet";
  const language = own === undefined ? "" : `; of the language ${words(own)}`;
  return html`<div class="panel" role="img" aria-label="${title}: ${told}${language}">
    <p class="title"><span>${title}</span> ${value(now, before, words)}</p>
    <div class="plane">
      <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none">
        ${own === undefined ? "" : svg`<path class="own" d="M0 ${y(own)}H${WIDTH}" />`}
        ${before.length ? svg`<path class="before" d="${line(before)}" />` : ""}
        ${now.length ? svg`<path class="now" d="${line(now)}" />` : ""}
      </svg>
      <small class="high">${words(high)}</small>
      <small class="low">0</small>
      ${own === undefined ? "" : html`<small class="own">- - the language ${words(own)}</small>`}
    </div>
  </div>`;
}

/**
 * The share of right stories, by their plots, one on top of the other.
 * @param {Shown} shown
 */
export function plots(shown) {
  const points = shown.now.length ? shown.now : shown.before;
  const right = end(shown);
  const lines = PLOTS.map((_, i) => smoothed(points, ({ plots }) => plots?.[i]));
  const below = lines[0].map(() => 0);
  const areas = lines.map((line) => {
    const edge = () =>
      line.map(
        ([n], i) =>
          /** @type {[number, number]} */ ([(WIDTH * n) / right, HEIGHT * (1 - below[i])]),
      );
    const low = edge().reverse();
    line.forEach(([, share], i) => (below[i] += share));
    return line.length > 1 ? `${path([...edge(), ...low])}Z` : "";
  });
  const [now, before] = [shown.now, shown.before].map((all) => smoothed(all, ({ right }) => right));
  const dotted = path(before.map(([n, share]) => [(WIDTH * n) / right, HEIGHT * (1 - share)]));
  const last = lines.map((line) => line.at(-1)?.[1]);
  const words = (/** @type {number | undefined} */ share) =>
    share === undefined ? "–" : percent(share);
  const told = PLOTS.map((name, i) => `${name} ${words(last[i])}`).join(", ");
  return html`<div
    class="panel plots"
    role="img"
    aria-label="right stories: ${words(now.at(-1)?.[1])}; by their plots: ${told}"
  >
    <p class="title"><span>right stories, by their plots</span> ${value(now, before, percent)}</p>
    <div class="plane ${shown.now.length ? "" : "faint"}">
      <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none">
        ${areas.map((d, i) => svg`<path class="plot-${i}" d="${d}" />`)}
        ${now.length && before.length ? svg`<path class="before" d="${dotted}" />` : ""}
      </svg>
      <small class="high">100 %</small>
      <small class="low">0</small>
    </div>
    <ul>
      ${PLOTS.map((name, i) => html`<li class="plot-${i}"><i></i>${name} <b>${words(last[i])}</b></li>`)}
    </ul>
  </div>`;
}

/** @param {Shown} shown */
export function axis(shown) {
  return html`<p class="soft axis">
    <span>0</span><span>stories marked</span><span>${count(end(shown))}</span>
  </p>`;
}
