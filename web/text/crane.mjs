// Crane World as data: as many stories as a run needs, and the judge of those that a model writes.

import { Grammar } from "../language/grammar.mjs";
import { judge } from "../language/judge.mjs";
import { story } from "../language/stories.mjs";
import { countedLosses, lossByPosition } from "./floors.mjs";
import { tokenizerOf } from "./merges.mjs";
import { batch, storyRows } from "./rows.mjs";

/** @import { Shipped } from "../language/grammar.mjs" */
/** @import { Source } from "./own.mjs" */

const COUNTED = 2000; // stories, in which tokens and pairs are counted
const SHOWN = "In the marsh, the crane";

/**
 * @param {Shipped & {merges: string, floor: number[]}} shipped  merges: in base64; floor: the loss of
 *   the grammar itself at each position of a story
 * @returns {Source}
 */
export function craneSource({ merges: packed, floor, ...shipped }) {
  const grammar = new Grammar(shipped);
  const merges = Uint8Array.from(atob(packed), (sign) => sign.charCodeAt(0));
  const tokenizer = tokenizerOf(merges);
  const { eot, size } = tokenizer;
  const { rows, held } = storyRows(tokenizer, (seed) => story(grammar, seed));
  const truth = (/** @type {import("../runs/run.mjs").Rows} */ rows) =>
    lossByPosition(rows, eot, floor);
  return {
    merges,
    tokenizer,
    rows,
    held,
    floors: (T) => {
      const stories = Array.from({ length: COUNTED }, (_, seed) => {
        return [eot, ...tokenizer.encode(story(grammar, seed))];
      });
      const ids = stories.flat();
      const counted = batch(1, ids.length - 1, () => ids);
      return { ...countedLosses(counted, held(T), size), truth: truth(held(T)) };
    },
    truth,
    shown: [eot, ...tokenizer.encode(SHOWN)],
    judge: (text) => judge(grammar, text, ["story"]), // a single sentence is no story
  };
}
