// What the reader chooses, and the plan of a run that follows from it.

/** @typedef {import("./drive.mjs").Plan} Plan */
/** @typedef {"crane" | "text" | "sentences"} Kind */
/** @typedef {{T: number, batch: number, steps: number}} Sizes */
/** @typedef {{data: Kind, size: string, seed: number, lr: number, sizes: Sizes,
 *   switches: Record<"mask" | "positions" | "layerNorm", boolean>, text: string,
 *   unit: "characters" | "merges", begun: import("./begun.mjs").Model | null}} Choice */

/** Blocks, heads and width, and what a text or the stories are learned with. */
export const SIZES = {
  small: { says: "1 block of width 32", nLayer: 1, nHead: 2, nEmbd: 32, batch: 8, steps: 4000 },
  first: { says: "2 blocks of width 64", nLayer: 2, nHead: 2, nEmbd: 64, batch: 8, steps: 8000 },
  larger: { says: "2 blocks of width 96", nLayer: 2, nHead: 4, nEmbd: 96, batch: 16, steps: 1800 },
  crane: { says: "3 blocks of width 128", nLayer: 3, nHead: 4, nEmbd: 128, batch: 16, steps: 1800 },
};

export const DATA = {
  crane: "Crane World’s stories",
  text: "a text of yours",
  sentences: "32 sentences",
};

const WINDOW = { crane: 100, text: 64, sentences: 5 };
const MERGES = 1024; // tokens of a vocabulary that is learned from the reader's text

/**
 * What a run of this kind begins with.
 * @param {Kind} data
 * @param {string} size
 * @returns {Sizes}
 */
export function sizesOf(data, size) {
  const { batch, steps } = SIZES[/** @type {keyof typeof SIZES} */ (size)];
  if (data === "sentences") return { T: WINDOW.sentences, batch: 32, steps: 400 };
  return { T: WINDOW[data], batch: data === "text" ? 2 * batch : batch, steps };
}

/** @param {Kind} data */
export function rateOf(data) {
  return data === "text" ? 4e-3 : 6e-3;
}

/**
 * @param {Choice} choice
 * @param {number} workers
 * @returns {Plan}
 */
export function planOf({ data, size, seed, lr, sizes, switches, text, unit, begun }, workers) {
  const { nLayer, nHead, nEmbd } = SIZES[/** @type {keyof typeof SIZES} */ (size)];
  const { T, batch, steps } = sizes;
  const merges = begun?.vocabSize ?? MERGES;
  const off = Object.entries(switches).filter(([, on]) => !on);
  return {
    version: 1,
    name: data === "text" ? "my text" : data === "crane" ? "my crane" : "my 32 sentences",
    seed,
    model: begun?.model ?? { nLayer, nHead, nEmbd, T },
    batch,
    std: 0.1,
    settings: {
      steps,
      lr,
      minLr: lr / 100,
      warmupSteps: Math.min(50, Math.floor(steps / 8)),
      weightDecay: 0.01,
      beta1: 0.9,
      beta2: 0.98,
      gradClip: 1,
    },
    switches: Object.fromEntries(off),
    workers: batch > 1 && workers > 1 ? 2 : 1,
    data:
      data === "text"
        ? { kind: "text", unit, vocabSize: unit === "merges" ? merges : 256, text }
        : { kind: data },
  };
}

const LIMITS = /** @type {[keyof Sizes, string, number, number][]} */ ([
  ["T", "window", 4, 256],
  ["batch", "batch", 1, 64],
  ["steps", "number of steps", 10, 100_000],
]);

/**
 * Why no run can be made of these choices: a sentence, or "".
 * @param {Choice} choice
 */
export function problem({ data, sizes, begun }) {
  for (const [key, name, least, most] of LIMITS) {
    const value = sizes[key];
    if (!(Number.isInteger(value) && value >= least && value <= most)) {
      const given = Number.isFinite(value) ? `, not ${value}` : "";
      return `The ${name} is a whole number from ${least} to ${most.toLocaleString("en")}${given}.`;
    }
  }
  if (data === "sentences" && sizes.T !== WINDOW.sentences) {
    return `The 32 sentences have ${WINDOW.sentences} tokens each: choose a window of ${WINDOW.sentences}.`;
  }
  if (data === "sentences" && begun) {
    return "The 32 sentences have 19 tokens, which no other model has: begin with random numbers.";
  }
  return "";
}
