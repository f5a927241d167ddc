// AdamW with a warm-up, a cosine and clipping: from gradients to new weights.
//
// Sources: Kingma and Ba 2015 (Adam); Loshchilov and Hutter 2019 (the decay apart from the gradient),
// 2017 (the cosine).

/**
 * The settings of a run, with the names and the defaults of training/config.py.
 * @typedef {object} Settings
 * @property {number} steps
 * @property {number} lr  the highest learning rate
 * @property {number} minLr  the learning rate of the last step
 * @property {number} warmupSteps
 * @property {number} weightDecay  of matrices; vectors do not decay
 * @property {number} beta1
 * @property {number} beta2
 * @property {number} gradClip  the largest gradient norm; 0 disables clipping
 */

/** @type {Settings} */
export const DEFAULTS = {
  steps: 1000,
  lr: 6e-4,
  minLr: 6e-5,
  warmupSteps: 100,
  weightDecay: 0.1,
  beta1: 0.9,
  beta2: 0.95,
  gradClip: 1,
};

const EPSILON = 1e-8;

/**
 * Throws an Error that names the first setting with which no run can be made.
 * @param {Settings} settings
 */
export function checkSettings(settings) {
  for (const name of Object.keys({ ...DEFAULTS, ...settings })) {
    if (!Object.hasOwn(DEFAULTS, name)) throw new Error(`there is no setting ${name}`);
    const value = settings?.[/** @type {keyof Settings} */ (name)];
    const whole = /steps$/i.test(name);
    if (!(whole ? isCount(value) : Number.isFinite(value) && value >= 0)) {
      throw new Error(`${name} must be ${whole ? "a whole number, " : ""}0 or more, not ${value}`);
    }
  }
  const { lr, minLr, beta1, beta2, warmupSteps, steps, weightDecay } = settings;
  if (!lr) throw new Error("lr must be above 0");
  if (minLr > lr) throw new Error(`minLr=${minLr} is above lr=${lr}: lower it`);
  if (!(beta1 < 1 && beta2 < 1)) throw new Error("beta1 and beta2 must be below 1");
  if (!(warmupSteps < steps)) {
    throw new Error(`warmupSteps=${warmupSteps} must be below steps=${steps}`);
  }
  if (lr * weightDecay > 1) {
    throw new Error(`lr=${lr} times weightDecay=${weightDecay} is above 1: lower it`);
  }
}

/** @param {number} n */
export const isCount = (n) => Number.isSafeInteger(n) && n >= 0;

/**
 * Settings of which some are changed. If only lr is lowered, and would be below minLr, the two keep
 * their ratio; and a warm-up that would take all steps takes a tenth of them, as in training/config.py. Throws an Error as checkSettings does.
 * @param {Settings} settings
 * @param {Partial<Settings>} [changes]
 * @returns {Settings}
 */
export function changed(settings, changes = {}) {
  const next = { ...settings, ...changes };
  if (next.lr < next.minLr && changes.minLr === undefined) {
    next.minLr = Math.min(next.lr, (settings.minLr / settings.lr) * next.lr);
  }
  if (next.steps <= next.warmupSteps && changes.warmupSteps === undefined) {
    next.warmupSteps = Math.floor(next.steps / 10);
  }
  checkSettings(next);
  return Object.freeze(next);
}

/**
 * The learning rate of one step, counted from 0: a straight rise, then half a cosine.
 * @param {number} step
 * @param {Pick<Settings, "steps" | "lr" | "minLr" | "warmupSteps">} settings
 */
export function learningRate(step, { steps, lr, minLr, warmupSteps }) {
  if (step < warmupSteps) return (lr * (step + 1)) / warmupSteps;
  const done = Math.min((step - warmupSteps + 1) / Math.max(steps - warmupSteps, 1), 1);
  return minLr + ((lr - minLr) * (1 + Math.cos(Math.PI * done))) / 2;
}

/**
 * The factor for a gradient of this norm, so that its norm is at most `maxNorm`.
 * @param {number} norm
 * @param {number} maxNorm  0 disables clipping
 */
export function clip(norm, maxNorm) {
  return maxNorm ? Math.min(1, maxNorm / (norm + 1e-6)) : 1;
}

/**
 * The scalars of one AdamW step. `step` counts from 1: the moments start at 0, and are divided by the
 * share of them that is filled by then.
 * @param {number} step
 * @param {number} lr
 * @param {number} decay
 * @param {number} scale  of the gradient, from clipping
 * @param {Settings} settings
 */
export function factors(step, lr, decay, scale, { beta1, beta2 }) {
  return [
    scale,
    beta1,
    beta2,
    1 - lr * decay,
    lr / (1 - beta1 ** step),
    1 / Math.sqrt(1 - beta2 ** step),
    EPSILON,
  ];
}

/**
 * One step for weights that have the same decay, in place.
 *
 * m is a running mean of the gradient, v one of its square. A weight moves by lr · m / √v: by about lr
 * wherever the gradient keeps its sign, whether it is large or small.
 * @param {Float32Array} w  weights
 * @param {Float32Array} g  their gradients
 * @param {Float32Array} m
 * @param {Float32Array} v
 * @param {number[]} factors
 * @returns {boolean}  whether all weights and the v are finite after it
 */
export function adamW(w, g, m, v, [scale, beta1, beta2, kept, rate, unbias, epsilon]) {
  let zeros = 0;
  for (let i = 0; i < w.length; i++) {
    const d = scale * g[i];
    m[i] = beta1 * m[i] + (1 - beta1) * d;
    v[i] = beta2 * v[i] + (1 - beta2) * d * d;
    w[i] = kept * w[i] - (rate * m[i]) / (Math.sqrt(v[i]) * unbias + epsilon);
    zeros += 0 * (w[i] + v[i]);
  }
  return zeros === 0;
}
