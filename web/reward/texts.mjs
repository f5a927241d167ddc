// The newest texts with their marks, and what is made of them: which become likelier, and which less.

import { html } from "lit/html.js";
import { fixed } from "../exhibits/dom.mjs";

/** @import { Marked } from "./drive.mjs" */
/** @import { Choice } from "./settings.mjs" */

const EACH = 2; // texts from either end of the group
const LONG = 600; // characters of one that are shown

/**
 * The best of a group and the worst, by their rewards; the first where all are alike.
 * @param {Marked[]} group
 */
export function chosen(group) {
  const order = [...group].sort((a, b) => b.advantage - a.advantage); // it is stable
  return order.length > 2 * EACH ? [...order.slice(0, EACH), ...order.slice(-EACH)] : order;
}

/**
 * What is said of a text.
 * @param {Marked} marked
 * @param {Choice} choice
 */
export function verdict({ right, ended, failsAt, reward }, choice) {
  const broken = failsAt !== null ? "breaks a rule at the mark" : "ends too early";
  const judged = right ? "right" : ended || failsAt !== null ? broken : "does not end";
  const word = { right: "", short: "", cranes: "crane", word: choice.word.trim() }[choice.kind];
  return word ? `${reward} × ${word}, ${judged}` : judged;
}

/**
 * @param {number} reward
 * @param {Choice} choice
 */
const number = (reward, { kind }) => fixed(reward, kind === "short" ? 2 : 0);

/**
 * @param {Marked} marked
 * @param {Choice} choice
 */
function item(marked, choice) {
  const { advantage, failsAt, text } = marked;
  const way = advantage > 0 ? "up" : advantage < 0 ? "down" : "same";
  const push = { up: "▲ likelier", down: "▼ less likely", same: "no change" }[way];
  const at = failsAt ?? text.length;
  const rest = text.slice(at, Math.max(at, LONG));
  const cut = text.length > LONG ? " …" : "";
  return html`<li class="${way}">
    <p class="push">
      <b>${push}</b>
      ${way === "same" ? "" : `${fixed(Math.abs(advantage), 2)} ${way === "up" ? "above" : "below"} the mean`}
    </p>
    <p class="told" dir="auto">
      ${text.slice(0, Math.min(at, LONG)) || html`<i>nothing</i>`}${rest ? html`<mark>⟦${rest}</mark>` : ""}${cut}
    </p>
    <p class="soft">Reward ${number(marked.reward, choice)}: ${verdict(marked, choice)}</p>
  </li>`;
}

/**
 * @param {Marked[]} group
 * @param {Choice} choice
 */
export function texts(group, choice) {
  const right = group.filter((one) => one.right).length;
  const [least, most] = [Math.min, Math.max].map((of) => of(...group.map(({ reward }) => reward)));
  const height = (/** @type {number} */ reward) =>
    most === least ? 0.5 : 0.08 + (0.92 * (reward - least)) / (most - least);
  const [low, high] = [number(least, choice), number(most, choice)];
  const rewards = low === high ? `all ${high}` : `${low} to ${high}`;
  return html`<p class="head">The newest ${group.length} stories</p>
    <p class="soft">Rewards ${rewards}; ${right} are right. The best and the worst:</p>
    <div
      class="rewards"
      role="img"
      aria-label="The rewards of the ${group.length} stories: ${rewards}; ${right} are right."
    >
      ${group.map((one) => html`<i class="${one.right ? "right" : ""}" style="--height: ${height(one.reward)}"></i>`)}
    </div>
    <ul class="newest">
      ${chosen(group).map((one) => item(one, choice))}
    </ul>`;
}
