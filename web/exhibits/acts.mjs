// What stands beside the sentence above an exhibit: "Do it for me", and where it happens in the whole.

import { make } from "./dom.mjs";
import { Hand } from "./hand.mjs";

/** @import { Exhibit, Parts } from "./exhibit.mjs" */

/**
 * @param {Exhibit} exhibit
 * @param {string} first  the sentence
 * @param {Parts} parts
 */
export function firstLine(exhibit, first, { act, whole }) {
  /** @type {Hand | null} */
  let hand = null;
  const perform = async () => {
    if (hand) hand.taken = true;
    const mine = (hand = new Hand(exhibit));
    const done = mine.perform(/** @type {import("./hand.mjs").Act} */ (act));
    await done.catch((error) => exhibit.complain(error));
    if (hand === mine) hand = null;
  };
  const button = make("button", { onclick: perform }, "Do it for me");
  const root = document.documentElement.dataset.content_root; // a page of the book
  const link = make("a", {}, "See it in the whole");
  const follow = () => {
    const query = new URLSearchParams(/** @type {Record<string, string>} */ (whole?.()));
    link.href = `${root}book/model.html?${query}`;
  };
  const both = [...(act ? [button] : []), ...(whole && root !== undefined ? [link] : [])];
  const acts = make("span", { class: "acts" }, ...both);
  return { element: make("div", { class: "first" }, make("p", {}, first), acts), follow };
}
