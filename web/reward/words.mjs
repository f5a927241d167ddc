// What is to be seen, in sentences.

import { fixed } from "../exhibits/dom.mjs";
import { count, percent } from "../learn/words.mjs";
import { ends, smoothed } from "./drive.mjs";
import { KINDS } from "./settings.mjs";

/** @import { Curves, Learner, Point } from "./drive.mjs" */

const MOST = 0.9; // of the right stories, by whose plots the plots are counted that are alive
const ENOUGH = 0.25; // of all stories, that must be right for it
const MORE = ["two", "three", "four"];

/**
 * How many plots make up nearly all right stories.
 * @param {Point[]} points
 * @returns {number | null}  null where no plots were counted, or too few stories are right
 */
export function alive(points) {
  const shares = [0, 1, 2, 3, 4].map(
    (i) => smoothed(points, ({ plots }) => plots?.[i]).at(-1)?.[1],
  );
  if (shares.some((share) => share === undefined)) return null;
  const order = /** @type {number[]} */ (shares).sort((a, b) => b - a);
  const all = order.reduce((sum, share) => sum + share);
  if (all < ENOUGH) return null;
  let sum = 0;
  return order.findIndex((share) => (sum += share) >= MOST * all) + 1;
}

/**
 * @param {Point[]} points
 * @param {number} own  entropy of the language
 * @param {Curves["choice"]} choice
 */
function price(points, own, { kind }) {
  const reward = ends(points, (point) => point.reward);
  const right = ends(points, (point) => point.right);
  const entropy = ends(points, (point) => point.entropy);
  const plots = alive(points);
  const words = [];
  if (reward && kind !== "right") {
    const [last, first] = [reward.last, reward.first].map((n) => fixed(n, n < 10 ? 2 : 0));
    words.push(`the mean reward is ${last} (${first} at first)`);
  }
  if (right) {
    words.push(
      `${percent(right.last)} of the stories are right (${percent(right.first)} at first)`,
    );
  }
  if (entropy) {
    const [last, language] = [entropy.last, own].map((nats) => fixed(nats, 2));
    words.push(`the entropy per token is ${last}, where the language’s own is ${language}`);
  }
  if (plots && plots < 5) {
    const few = ["one of the five plots makes", ...MORE.map((n) => `${n} of the five plots make`)];
    words.push(`${few[plots - 1]} up nine tenths of the right ones`);
  }
  return words.join("; ");
}

/**
 * @param {Learner} side
 * @param {Curves["choice"]} choice
 * @param {Curves | null} before  what the dotted curves are
 * @param {number} own  entropy of the language
 * @param {boolean} stored  whether they are a stored run's
 */
export function told({ state, points, plan }, choice, before, own, stored) {
  const last = points.at(-1);
  if (state === "making") return "The model, the grammar and the engine are being prepared.";
  if (!last && plan) return "The first group is being written.";
  if (last) {
    const same = points.filter(({ alike }) => alike !== undefined).slice(-4);
    const rest = same.every(({ alike }) => alike === 1) ? ` ${idle(plan?.reward?.rein ?? 0)}` : "";
    return `After ${count(last.n)} stories: ${price(points, own, choice)}.${rest}`;
  }
  if (!before) return "Nothing has been learned yet.";
  const which = stored ? "a stored run" : "the run before";
  const { kind, rein } = before.choice;
  return (
    `The dotted curves are ${which}, rewarded for ${KINDS[kind]} with β = ${rein}. ` +
    `At its end ${price(before.points, own, before.choice)}.`
  );
}

/** @param {number} rein */
function idle(rein) {
  const begin = "All stories of a group get the same reward, so there is nothing to learn from it";
  return rein ? `${begin}, and only the rein still pulls.` : `${begin}.`;
}
