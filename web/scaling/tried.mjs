// Sets of runs, one row each, with E beside the truth once it has been tried.

import { html } from "lit/html.js";
import { nats } from "./words.mjs";

/** @import { Interval } from "./words.mjs" */
/** @typedef {{E: number, interval: Interval | null}} Tried */
/** @typedef {{key: string, name: string, away: string[]}} Row */

const REACH = 2; // of the line, in floors

/**
 * @param {Row[]} all
 * @param {{tried: Map<string, Tried>, floor: number, now: string, E: number,
 *   onPick: (away: string[]) => void}} how  now: the key of what is shown; E: on its way there
 */
export function rows(all, { tried, floor, now, E, onPick }) {
  const share = (/** @type {number} */ value) => Math.min(1, value / (REACH * floor));
  const marks = (/** @type {Tried} */ { interval }, /** @type {number} */ at) =>
    html`${
        interval
          ? html`<i
              class="within"
              style="--from: ${share(interval.low)}; --to: ${share(interval.high)}"
            ></i>`
          : ""
      }<i class="e ${at > REACH * floor ? "beyond" : ""}" style="--at: ${share(at)}"></i>`;
  return html`<p class="soft">
      E of some of the runs, with 95 % of its resamplings. Dashed: the true floor, ${nats(floor)}.
    </p>
    <ol class="tried">
      ${all.map(({ key, name, away }) => {
        const one = tried.get(key);
        const here = key === now;
        return html`<li>
          <button
            type="button"
            aria-pressed=${here ? "true" : "false"}
            @click=${() => onPick(away)}
          >
            <span>${name}</span>
            <span class="line" style="--floor: ${share(floor)}"
              >${one ? marks(one, here ? E : one.E) : ""}</span
            >
            <b>${one ? nats(here ? E : one.E) : "?"}</b>
          </button>
        </li>`;
      })}
    </ol>`;
}
