// L(N, D) = E + A / N^α + B / D^β fitted to runs, as gpt2_edu/analysis/scaling.py does: the least sum of
// Huber losses of the logarithms (Hoffmann et al. 2022, approach 3).

/** @typedef {{n: number, d: number, loss: number}} Run  parameters, tokens, nats per token */
/** @typedef {{E: number, A: number, B: number, alpha: number, beta: number}} Form */
/** @typedef {Form & {sum: number}} Fit  of the Huber losses */
/** @typedef {(x: number[]) => {value: number, slope: number[]}} Objective */

const DELTA = 1e-3; // from which on a Huber loss grows linearly
const UNKNOWNS = 5; // with E
const STEPS = 400;
const FEW = 7; // places where the search begins, beside a fit to other runs
// Where the search begins: shares of the lowest loss that are E, shares of the rest that the
// parameters explain, and exponents.
const FLOORS = [0.2, 0.7, 0.97];
const SHARES = [0.15, 0.5, 0.85];
const EXPONENTS = [0.25, 0.7, 1.4];

/**
 * The loss that a form predicts.
 * @param {Form} form
 * @param {number} n
 * @param {number} d
 */
export function predicted({ E, A, B, alpha, beta }, n, d) {
  return E + A / n ** alpha + B / d ** beta;
}

/**
 * Why runs cannot be fitted: a sentence, or "".
 * @param {Run[]} runs
 * @param {number} [floor]  E, where it is known
 */
export function problem(runs, floor) {
  const unknowns = UNKNOWNS - Number(floor !== undefined);
  if (runs.length <= unknowns) {
    return `${unknowns} unknowns need at least ${unknowns + 1} runs, and ${runs.length} ${runs.length === 1 ? "is" : "are"} left.`;
  }
  if (new Set(runs.map(({ n }) => n)).size < 2) return "All runs left are of one size.";
  if (new Set(runs.map(({ d }) => d)).size < 2) return "All runs left have one length.";
  if (floor !== undefined && runs.some(({ loss }) => loss <= floor)) {
    return "A loss is not above the floor.";
  }
  return "";
}

/**
 * @param {Run[]} runs
 * @param {{floor?: number, from?: Form}} [how]  floor: E, where it is known; from: a fit to most of these
 *   runs, where the search begins, and at a few places more in place of all
 * @returns {Fit}
 */
export function fit(runs, { floor, from } = {}) {
  const wrong = problem(runs, floor);
  if (wrong) throw new RangeError(wrong);
  // Logarithms from their means: so the unknowns hardly depend on each other.
  const [n, d] = [middle(runs.map((run) => run.n)), middle(runs.map((run) => run.d))];
  const points = runs.map((run) => [Math.log(run.n / n), Math.log(run.d / d), Math.log(run.loss)]);
  const objective = huber(points, floor);
  let begins = beginnings(runs, floor);
  if (from) {
    const values = new Map(begins.map((x) => [x, objective(x).value]));
    begins.sort((x, y) => Number(values.get(x)) - Number(values.get(y)));
    begins = [inverse(from, n, d), ...begins.slice(0, FEW)];
  }
  let best = { value: Infinity, x: begins[0] };
  for (const x of begins) {
    const found = minimum(objective, floor === undefined ? x : x.slice(0, 4));
    if (found.value < best.value) best = found;
  }
  const [a, b, alpha, beta, e] = best.x;
  return {
    E: floor ?? Math.exp(e),
    A: Math.exp(a + alpha * Math.log(n)),
    B: Math.exp(b + beta * Math.log(d)),
    alpha,
    beta,
    sum: best.value,
  };
}

/** @param {number[]} values */
function middle(values) {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
}

/**
 * @param {Form} form
 * @param {number} n
 * @param {number} d
 */
function inverse({ E, A, B, alpha, beta }, n, d) {
  return [Math.log(A / n ** alpha), Math.log(B / d ** beta), alpha, beta, Math.log(E)];
}

/**
 * @param {Run[]} runs
 * @param {number | undefined} floor
 */
function beginnings(runs, floor) {
  const least = Math.min(...runs.map(({ loss }) => loss));
  const mean = middle(runs.map(({ loss }) => loss));
  const floors = floor === undefined ? FLOORS.map((share) => share * least) : [floor];
  return floors.flatMap((E) =>
    SHARES.flatMap((share) =>
      EXPONENTS.flatMap((alpha) =>
        EXPONENTS.map((beta) => {
          const rest = Math.max(mean - E, 0.01 * mean);
          return [Math.log(share * rest), Math.log((1 - share) * rest), alpha, beta, Math.log(E)];
        }),
      ),
    ),
  );
}

/**
 * The sum over the points, and its slope in log A, log B, α, β and, where it is not known, log E.
 * @param {number[][]} points
 * @param {number | undefined} floor
 * @returns {Objective}
 */
function huber(points, floor) {
  return (x) => {
    const [a, b, alpha, beta] = x;
    const E = floor ?? Math.exp(x[4]);
    let value = 0;
    const slope = x.map(() => 0);
    for (const [n, d, loss] of points) {
      const [size, length] = [Math.exp(a - alpha * n), Math.exp(b - beta * d)];
      const sum = E + size + length;
      const far = Math.log(sum) - loss;
      const near = Math.abs(far) <= DELTA;
      value += near ? (far * far) / 2 : DELTA * (Math.abs(far) - DELTA / 2);
      const pull = (near ? far : DELTA * Math.sign(far)) / sum;
      slope[0] += pull * size;
      slope[1] += pull * length;
      slope[2] -= pull * size * n;
      slope[3] -= pull * length * d;
      if (x.length > 4) slope[4] += pull * E;
    }
    return { value: value / DELTA, slope: slope.map((one) => one / DELTA) };
  };
}

/**
 * BFGS with steps that fulfil the weak Wolfe conditions, which finds its way along kinks as well (Lewis
 * and Overton 2013).
 * @param {Objective} objective
 * @param {number[]} x
 */
function minimum(objective, x) {
  const dot = (/** @type {number[]} */ u, /** @type {number[]} */ v) =>
    u.reduce((sum, one, i) => sum + one * v[i], 0);
  const unit = () => x.map((_, i) => x.map((_, j) => Number(i === j)));
  let inverse = unit();
  let { value, slope } = objective(x);
  for (let step = 0; step < STEPS; step++) {
    let way = inverse.map((row) => -dot(row, slope));
    if (!(dot(way, slope) < 0)) {
      inverse = unit();
      way = slope.map((one) => -one);
    }
    const down = dot(way, slope);
    if (-down < 1e-14) break;
    let [low, high, far] = [0, Infinity, step ? 1 : 0.1 / Math.hypot(...way)];
    let [to, found] = [x, { value, slope }];
    for (let tries = 0; tries < 40; tries++) {
      to = x.map((one, i) => one + far * way[i]);
      found = objective(to);
      if (!(found.value <= value + 1e-4 * far * down)) high = far;
      else if (dot(found.slope, way) < 0.9 * down) low = far;
      else break;
      far = high < Infinity ? (low + high) / 2 : 2 * low;
    }
    if (!(found.value < value - 1e-13 * Math.abs(value))) break;
    const [s, y] = [to.map((one, i) => one - x[i]), found.slope.map((one, i) => one - slope[i])];
    const sy = dot(s, y);
    [x, value, slope] = [to, found.value, found.slope];
    if (sy <= 0) continue;
    if (!step) inverse = unit().map((row) => row.map((one) => (one * sy) / dot(y, y)));
    const hy = inverse.map((row) => dot(row, y));
    const share = (1 + dot(y, hy) / sy) / sy;
    inverse = inverse.map((row, i) =>
      row.map((one, j) => one + share * s[i] * s[j] - (hy[i] * s[j] + s[i] * hy[j]) / sy),
    );
  }
  return { x, value };
}

/**
 * The best size for a budget, with C = 6·N·D.
 * @param {Form} form
 * @param {number} flops
 * @returns {{n: number, d: number}}
 */
export function bestSize({ A, B, alpha, beta }, flops) {
  const ratio = ((alpha * A) / (beta * B)) ** (1 / (alpha + beta));
  const n = ratio * (flops / 6) ** (beta / (alpha + beta));
  return { n, d: flops / (6 * n) };
}

/**
 * E of one resampling: as many runs, each drawn anew.
 * @param {Run[]} runs
 * @param {(n: number) => number} below  a random integer from 0 to n - 1
 * @param {Form} from  the fit to all of them
 */
export function resampled(runs, below, from) {
  for (;;) {
    const drawn = runs.map(() => runs[below(runs.length)]);
    if (!problem(drawn)) return fit(drawn, { from }).E;
  }
}
