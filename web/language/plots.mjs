// Which of Crane World's five plots a right story has: by the words with which each begins (grammar.md).

const WORDS = {
  lost: / had lost (his|her) /,
  gift: / had brought .* as a present for /,
  chores: / That day, first /,
  flight: / (ducks|geese|crows|swans|pigeons|sparrows) sat /,
  errand: / had to bring /,
};

/** @typedef {keyof typeof WORDS} PlotName */

export const PLOTS = /** @type {PlotName[]} */ (Object.keys(WORDS));

/**
 * @param {string} story
 * @returns {PlotName | null}
 */
export function plotOf(story) {
  return PLOTS.find((name) => WORDS[name].test(story)) ?? null;
}
