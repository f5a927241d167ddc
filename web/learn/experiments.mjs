// Two runs that differ in one thing: what a second run does otherwise.

/** @typedef {import("./drive.mjs").Plan} Plan */
/** @typedef {{name: string, says: string, change: (plan: Plan) => Plan}} Experiment */

/** @param {Partial<Plan["settings"]>} settings */
const set = (settings) => (/** @type {Plan} */ plan) => ({
  ...plan,
  settings: { ...plan.settings, ...settings },
});
/** @param {Plan["switches"]} switches */
const off = (switches) => (/** @type {Plan} */ plan) => ({
  ...plan,
  switches: { ...plan.switches, ...switches },
});

/** @type {Record<string, Experiment>} */
export const EXPERIMENTS = {
  warmup: {
    name: "no warm-up",
    says: "The second run takes its first step at the full rate.",
    change: set({ warmupSteps: 0 }),
  },
  rate: {
    name: "rate × 10",
    says: "The second run has ten times the learning rate.",
    change: (plan) => set({ lr: 10 * plan.settings.lr })(plan),
  },
  clip: {
    name: "no clipping",
    says: "The second run takes every gradient as long as it is.",
    change: set({ gradClip: 0 }),
  },
  norm: {
    name: "no LayerNorm",
    says: "The second model has no LayerNorm.",
    change: off({ layerNorm: false }),
  },
  positions: {
    name: "no positions",
    says: "The second model is not told where a token stands.",
    change: off({ positions: false }),
  },
  mask: {
    name: "no mask",
    says: "The second model may look at the answer. Its loss is not to be compared.",
    change: off({ mask: false }),
  },
  wide: {
    name: "twice as wide",
    says: "The second model is twice as wide, so its steps take longer.",
    change: (plan) => ({ ...plan, model: { ...plan.model, nEmbd: 2 * plan.model.nEmbd } }),
  },
};
