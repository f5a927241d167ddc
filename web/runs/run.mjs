// What a training run in a page is made of; the other modules of this folder share these types.

/** @import { Settings } from "../train/adamw.mjs" */
/** @import { State } from "../train/trainer.mjs" */

/**
 * What is to be trained. Plain JSON: it is stored with the run, and without the text exported with
 * the model. The same plan gives the same bits; two workers add up in another order than one, so
 * their number belongs to it.
 * @typedef {object} Plan
 * @property {1} version
 * @property {string} name  of the model, as a reader sees it
 * @property {number} seed  from 0 to 65,535
 * @property {{nLayer: number, nHead: number, nEmbd: number, T: number}} model  T: the window
 * @property {number} batch  rows of T tokens in a step
 * @property {number} std  of the initial weights
 * @property {Settings} settings
 * @property {{mask?: boolean, positions?: boolean, layerNorm?: boolean}} switches
 * @property {1 | 2} workers
 * @property {DataPlan} data
 *
 * @typedef {{kind: "crane"} | {kind: "sentences"} |
 *   {kind: "text", unit: "characters" | "merges", vocabSize: number, text: string}} DataPlan
 */

/**
 * What web/text makes of a DataPlan. Everything is a pure function of its arguments, so a run that
 * continues needs no random state.
 * @typedef {object} Data
 * @property {number} vocabSize
 * @property {number} eot
 * @property {Uint8Array} merges  256 bytes, then two uint16 for each merge
 * @property {(seed: number, step: number, B: number, T: number) => Rows} rows  of a batch
 * @property {(T: number) => Rows} held  rows for validation
 * @property {(T: number) => {unigram: number, bigram: number, truth: number | null}} floors  losses
 *   in nats of simpler models on the rows for validation; truth: of the grammar itself
 * @property {number[]} prompt  that every sample begins with
 * @property {{ids: number[], tokens: string[]}} show  the text of the attention maps
 * @property {(ids: number[]) => string} decode
 * @property {((text: string) => Verdict) | null} judge
 * @property {string} note  what was done to the text, or ""
 *
 * @typedef {{ids: Int32Array, targets: Int32Array}} Rows
 * @typedef {{kind: "story" | "sentence" | null, failsAt: number | null, read: number,
 *   expected: string[]}} Verdict  read: the share of the text before failsAt
 */

/**
 * Progress, about four times a second.
 * @typedef {object} Report
 * @property {number} step  updates so far
 * @property {number} loss  mean since the last report, in nats
 * @property {number} norm  of the last gradient, before clipping
 * @property {number} lr
 * @property {number} tokens  trained on so far
 * @property {number} ms  spent on training steps so far
 */

/**
 * A sample and the loss on the rows for validation, every four seconds. The verdict is null where
 * the data have no judge.
 * @typedef {{step: number, story: string, failsAt: number | null, read: number | null,
 *   right: boolean | null, expected: string[], held: number}} Mark
 */

/**
 * What attention and gradients look like, once a second.
 * @typedef {object} Look
 * @property {number} step
 * @property {Float32Array[]} heads  attention weights (T, T) of data.show, block after block
 * @property {{name: string, largest: number}[]} layers  the largest gradient of the last step in
 *   wte, wpe, each block (h.0, …) and ln_f
 */

/**
 * A run as the browser stores it.
 * @typedef {object} Saved
 * @property {1} version
 * @property {number} at  Date.now()
 * @property {Plan} plan
 * @property {Uint8Array} merges
 * @property {number} step
 * @property {State} state  with the settings in force
 * @property {number} ms
 * @property {Report[]} reports
 * @property {Mark[]} marks
 */

export {};
