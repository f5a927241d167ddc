// The runs, the surface that was fitted to them, its floor E and the true one.

import { svg } from "lit/html.js";
import { bestSize, predicted } from "./fit.mjs";
import { Scene, apart, clear, path, span, steps, ticks } from "./scene.mjs";
import { nats, residual, short, signed } from "./words.mjs";

/** @import { Form } from "./fit.mjs" */
/** @import { Cell } from "./cells.mjs" */
/** @import { Limits, Pair, View } from "./scene.mjs" */
/**
 * @typedef {{form: Form, view: View, cells: Cell[], away: Set<string>, largest: Cell, limits: Limits,
 *   floor: number, best: boolean, stale: boolean, near: string, stop: string, width: number,
 *   height: number}} Shown  stale: the form is of other runs; near: the cell that is pointed at; stop: the
 *   one that the Tab key leads to
 */

const PIECES = 10; // of the surface along each side
const FINE = 40; // of a curve
const FRAME = { left: 46, right: 50, top: 26, bottom: 34 }; // px beside the box
const HALF_ABOVE = 0.7; // of the way up
const LINE = 14; // px between two labels
const WIDE = 40; // of a label
const LONG = 85; // of that of a floor
const BEGINS = 0.03; // of an edge, the label of a floor: the curves are high there
const HALF = 45; // degrees, from where on the sizes are seen side by side
const LEVELS = [0.5, 0.6, 0.7, 0.8, 1, 1.2, 1.5, 2, 3, 4, 5, 6]; // of equal loss

/** @param {Cell[]} cells @param {number} floor @returns {Limits} */
export function limitsOf(cells, floor) {
  const losses = cells.flatMap((cell) => cell.losses);
  return {
    n: span(cells.map(({ n }) => n)),
    d: span(cells.map(({ d }) => d)),
    loss: span([0.6 * floor, ...losses], 0.02),
  };
}

/** @param {Shown} shown */
export function sceneOf({ limits, view, width, height }) {
  const { left, right, top, bottom } = FRAME;
  return new Scene(limits, view, { left, right: width - right, top, bottom: height - bottom });
}

/** @param {Shown} shown */
export function picture(shown) {
  const scene = sceneOf(shown);
  const { seen } = scene;
  const { form, floor, limits, view } = shown;
  const gap = Math.abs(
    scene.place(limits.n[0], limits.d[0], floor)[1] -
      scene.place(limits.n[0], limits.d[0], form.E)[1],
  );
  // The label of the lower one is below it, where they are near each other.
  const under = gap < LINE + 4 ? LINE : -5;
  const low = form.E <= floor ? [fitted(under), truth(-5)] : [truth(under), fitted(-5)];
  return svg`${low.map(({ lines }) => lines)} ${surface(scene, form)} ${curves(scene, shown)}
    ${levels(scene, form)} ${shown.best ? best(scene, form) : ""}
    ${axes(scene, shown)} ${low.map(({ label }) => label)} ${points(scene, shown)}`;

  /** @param {number} by  px, from the line to the label */
  function truth(by) {
    return plane("floor", floor, `true floor ${nats(floor)}`, by);
  }
  /** @param {number} by */
  function fitted(by) {
    return plane("fitted", form.E, `E = ${nats(form.E)}`, by);
  }
  /** @param {string} kind @param {number} height @param {string} words @param {number} by */
  function plane(kind, height, words, by) {
    const [[n0, n1], [d0, d1]] = [limits.n, limits.d];
    const at = (/** @type {number} */ n, /** @type {number} */ d) => scene.place(n, d, height);
    const [a, b, c, d] = [at(n0, d0), at(n0, d1), at(n1, d1), at(n1, d0)];
    const front = view.turn < HALF ? [a, b] : [b, c];
    const [x, y] = [0, 1].map((i) => front[0][i] + BEGINS * (front[1][i] - front[0][i]));
    const slope = (front[1][1] - front[0][1]) / (front[1][0] - front[0][0]);
    const off = by + LONG * (by < 0 ? Math.min(0, slope) : Math.max(0, slope)); // of its own line
    const below = height < limits.loss[0] ? " (below)" : "";
    // Each edge is a line of its own, so that dashes of two that are seen as one coincide.
    const edges = [
      [a, b],
      [d, c],
      [a, d],
      [b, c],
    ]
      .map((edge) => path(edge))
      .join("");
    const lines = svg`<path class="plane ${kind}" d=${path([a, b, c, d], true)} />
      <path class=${kind} d=${edges} />`;
    const label = svg`<text class=${kind} x=${x} y=${y + off} opacity=${seen.loss}>${words}${below}</text>`;
    return { lines, label }; // nothing but the points lies on its label
  }
}

/** Its pieces, the farthest first. @param {Scene} scene @param {Form} form */
function surface(scene, form) {
  if (scene.seen.above < 0.02) return "";
  const [sizes, lengths] = [steps(scene.limits.n, PIECES), steps(scene.limits.d, PIECES)];
  const pieces = sizes.slice(1).flatMap((n1, i) =>
    lengths.slice(1).map((d1, j) => {
      const [n0, d0] = [sizes[i], lengths[j]];
      const corners = [
        [n0, d0],
        [n0, d1],
        [n1, d1],
        [n1, d0],
      ];
      const loss = predicted(form, Math.sqrt(n0 * n1), Math.sqrt(d0 * d1));
      return { corners, loss, depth: scene.depth(Math.sqrt(n0 * n1), Math.sqrt(d0 * d1)) };
    }),
  );
  pieces.sort((a, b) => b.depth - a.depth);
  return pieces.map(({ corners, loss }) => {
    const d = path(
      corners.map(([n, d]) => scene.place(n, d, predicted(form, n, d))),
      true,
    );
    const share = Math.min(1, Math.max(0, scene.share("loss", loss)));
    return svg`<path class="piece" d=${d}
      opacity=${(scene.seen.above * (0.08 + 0.4 * share)).toFixed(3)} />`;
  });
}

/** For each size a curve along the tokens, for each length one along the sizes. @param {Scene} scene @param {Shown} shown */
function curves(scene, { form, cells }) {
  const all = { n: cells.map(({ n }) => n), d: cells.map(({ d }) => d) };
  const line = (/** @type {[number, number][]} */ way) =>
    path(way.map(([n, d]) => scene.place(n, d, predicted(form, n, d))));
  const sizes = [...new Set(all.n)].map((n) =>
    line(steps(scene.limits.d, FINE).map((d) => [n, d])),
  );
  const lengths = [...new Set(all.d)].map((d) =>
    line(steps(scene.limits.n, FINE).map((n) => [n, d])),
  );
  const lines = (/** @type {string[]} */ ways, /** @type {number} */ opacity) =>
    ways.map((d) => svg`<path class="along" d=${d} opacity=${opacity.toFixed(2)} />`);
  return [lines(lengths, scene.seen.n), lines(sizes, scene.seen.d)];
}

/** Lines of equal loss, like those of a map. @param {Scene} scene @param {Form} form */
function levels(scene, form) {
  const { above } = scene.seen;
  if (above < 0.3) return "";
  const [[n0, n1], [d0, d1]] = [scene.limits.n, scene.limits.d];
  return LEVELS.map((level) => {
    const way = steps([n0, n1], FINE).flatMap((n) => {
      const rest = level - form.E - form.A / n ** form.alpha;
      const d = rest > 0 ? (form.B / rest) ** (1 / form.beta) : Infinity;
      return d >= d0 && d <= d1 ? [/** @type {Pair} */ ([n, d])] : [];
    });
    const last = (form.A / (level - form.E - form.B / d0 ** form.beta)) ** (1 / form.alpha);
    const beside = last > n0 && last < n1; // it ends at the shortest runs, and so does its label
    if (beside) way.push([last, d0]);
    if (way.length < 2) return "";
    const places = way.map(([n, d]) => scene.place(n, d, level));
    const [x, y] = places[places.length - 1];
    const [left, up, anchor] = beside ? [x - 4, y + 4, "end"] : [x, y - 3, "middle"];
    return svg`<path class="level" d=${path(places)} opacity=${above.toFixed(2)} />
      ${above > 0.9 ? svg`<text class="level" x=${left} y=${up} text-anchor=${anchor}>${level}</text>` : ""}`;
  });
}

/** The best size for each budget. @param {Scene} scene @param {Form} form */
function best(scene, form) {
  const { n, d } = scene.limits;
  const way = steps([6 * n[0] * d[0], 6 * n[1] * d[1]], FINE)
    .map((flops) => bestSize(form, flops))
    .filter((one) => one.n >= n[0] && one.n <= n[1] && one.d >= d[0] && one.d <= d[1]);
  if (way.length < 2) return "";
  const places = way.map((one) => scene.place(one.n, one.d, predicted(form, one.n, one.d)));
  return svg`<path class="best" d=${path(places)} />`;
}

/** @param {Scene} scene @param {Shown} shown */
function axes(scene, { form, cells, limits, view, width, height }) {
  const { seen, sin, cos, above } = scene;
  const [[n0, n1], [d0, d1], ground] = [limits.n, limits.d, limits.loss[0]];
  const lengths = [...new Set(cells.map(({ d }) => d))];
  const sizes = [...new Set(cells.map(({ n }) => n))];
  const corners = [
    scene.place(n0, d0, ground),
    scene.place(n0, d1, ground),
    scene.place(n1, d1, ground),
  ];
  const roof = scene.place(n0, d0, limits.loss[1]);
  const side = view.turn >= HALF; // the sizes are seen side by side
  const ends = sizes.map((n) =>
    scene.place(n, d1, side || above > HALF_ABOVE ? ground : predicted(form, n, d1)),
  );
  const heights = side
    ? ends.map(([, y]) => y + 16)
    : apart(
        ends.map(([, y]) => y + 4),
        LINE,
      );
  const middle = (/** @type {Pair} */ a, /** @type {Pair} */ b) => [
    (a[0] + b[0]) / 2,
    (a[1] + b[1]) / 2,
  ];
  const [atTokens, atSizes] = [middle(corners[0], corners[1]), middle(corners[1], corners[2])];
  const left = side ? "end" : "middle";
  const free = clear(
    ends.map(([x], i) => [x, heights[i]]),
    WIDE,
    LINE,
  );
  return svg`<g class="axis">
    <path d=${path([roof, ...corners])} />
    <g opacity=${seen.loss}>
      ${ticks(limits.loss).map((loss) => {
        const [x, y] = scene.place(n0, d0, loss);
        return svg`<path d="M${x - 4} ${y}h4" /><text x=${x - 6} y=${y + 4} text-anchor="end">${loss}</text>`;
      })}
      <text x="0" y="10">loss</text>
    </g>
    <g opacity=${seen.d}>
      ${lengths.map((d) => {
        const [x, y] = scene.place(n0, d, ground);
        return svg`<text x=${x - 6 * sin} y=${y + 14} text-anchor=${left}>${short(d)}</text>`;
      })}
      <text x=${atTokens[0] - 28 * sin} y=${Math.min(height - 3, atTokens[1] + 29)} text-anchor=${left}>tokens</text>
    </g>
    ${sizes.map((n, i) => (!free[i] ? "" : svg`<text x=${ends[i][0] + 6 * cos} y=${heights[i]} text-anchor=${side ? "middle" : "start"}>${short(n)}</text>`))}
    ${
      side
        ? svg`<text x=${atSizes[0] + 12} y=${Math.min(height - 3, atSizes[1] + 34)} text-anchor="middle">parameters</text>`
        : svg`<text x=${width} y=${above > HALF_ABOVE ? 10 : Math.max(10, Math.min(...heights) - LINE - 4)} text-anchor="end">parameters</text>`
    }
  </g>`;
}

/** @param {Scene} scene @param {Shown} shown */
function points(scene, { form, cells, away, largest, near, stop, stale }) {
  const { seen } = scene;
  return cells.map((cell) => {
    const { n, d, name } = cell;
    const gone = away.has(name);
    const [x, y] = scene.place(n, d, cell.loss);
    const said = predicted(form, n, d);
    const off = residual(cell.loss, said);
    const kinds = ["run", gone && "gone", cell === largest && "largest", near === name && "near"];
    const label = `${short(n)} parameters, ${short(d)} tokens: loss ${nats(cell.loss)}, fitted ${nats(said)}`;
    return svg`<g class=${kinds.filter(Boolean).join(" ")} role="checkbox" data-name=${name}
      aria-checked=${gone ? "false" : "true"} aria-label=${label} tabindex=${stop === name ? 0 : -1}>
      <path class="off" d=${path([[x, y], scene.place(n, d, said)])} opacity=${seen.loss} />
      ${cell.losses.map((loss) => {
        const [cx, cy] = scene.place(n, d, loss);
        return svg`<circle class="seed" cx=${cx} cy=${cy} r="1.6" />`;
      })}
      <circle class="ring" cx=${x} cy=${y} r="9" />
      <circle class="dot" cx=${x} cy=${y} r="4.5" />
      ${seen.above > 0.9 && !stale ? svg`<text x=${x} y=${y + 16} text-anchor="middle">${signed(off)}</text>` : ""}
    </g>`;
  });
}
