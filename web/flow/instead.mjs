// What can stand in place of a word that Crane World has never met: words of its kind, a noun for a
// noun, as the model expects them there and what follows allows.

/** `ranked`: words behind a text, the likeliest first; `follows`: the share of what follows it.
 * @typedef {{ranked: (before: string, fits: (word: string) => boolean) => Promise<[string, number][] | null>,
 *   follows: (before: string, next: string) => Promise<number>}} Asks */
/** @typedef {{start: number, end: number, words: string[] | null}} Instead  null: a newer request */

const LEAST = 0.01; // share of a word, and of what follows it
/** Words by their kind, with such as Crane World does not have; all others name or do something. */
const [DETERMINERS, PREPOSITIONS, ...MORE] = [
  "a an the my our its his her their your any some every each these those this that another no many one two three four five six seven eight nine ten",
  "about across at by for from in into of off on over through to under upon with without above behind below beside near until",
  "am is are was were be been have has had do does did can could will would may might must should",
  "after and as because but if once or since so than then though when where while why how what not now here there very too",
  "i you we it he she they who me us them him nobody",
  "big small little good bad young new nice happy red blue green brown grey white yellow purple black gold silver cold warm windy rainy foggy bright quiet wet fine long old dusty muddy rough heavy royal wild",
].map((words) => words.split(" "));
const KINDS = [DETERMINERS, PREPOSITIONS, ...MORE];
const ADJECTIVES = KINDS.length - 1;
const BEFORE_NOUNS = [PREPOSITIONS, MORE[0], MORE[1]].flat();

/** @param {string} word */
const kindOf = (word) => KINDS.findIndex((kind) => kind.includes(word.toLowerCase()));
/** @param {string} word */
const determines = (word) => DETERMINERS.includes(word.toLowerCase());

/**
 * Where words are to be replaced: the first unknown one, and behind an article all up to its noun.
 * @param {string} text
 * @param {string[]} strange  unknown words
 */
export function strangePlace(text, strange) {
  const found = [...text.matchAll(/[^\s\p{P}\p{Sm}]+/gu)].find(([word]) => word === strange[0]);
  const start = found?.index ?? text.indexOf(strange[0]);
  const last = /\p{L}+(?=\s*$)/u.exec(text.slice(0, start))?.[0] ?? "";
  let end = start + strange[0].length;
  const partOf = (/** @type {string} */ word) => [-1, ADJECTIVES].includes(kindOf(word));
  for (let more; partOf(strange[0]) && determines(last); end += more[0].length) {
    more = /^\s+(\p{L}+)/u.exec(text.slice(end));
    const [, word = ""] = more ?? [];
    const red = kindOf(word) === ADJECTIVES;
    if (!more || !(red || (strange.includes(word) && partOf(word)))) break;
    if (!red && /(s|ed|ing)$/.test(word)) break; // the verb
  }
  return { start, end, last };
}

/**
 * @param {string} text
 * @param {string[]} strange
 * @param {Asks} model
 * @returns {Promise<Instead>}
 */
export async function insteadOf(text, strange, { ranked, follows }) {
  const { start, end, last } = strangePlace(text, strange);
  const before = text.slice(0, start);
  const kind = kindOf(text.slice(start, end));
  const next = /^\s*(\p{L}+|\p{P})/u.exec(text.slice(end))?.[0] ?? "";
  const known = next && !strange.includes(next.trim()) ? next : "";
  const article = before ? "the" : "A";
  /** @type {[string, string, boolean][]} what stands before it, an article that it gets, sure */
  const ways = before || kind >= 0 ? [[before, "", kind < 0 && determines(last)]] : [];
  if (kind < 0 && determines(last)) ways.push([`${before}red`, "", true], ["A", "", true]);
  else if (kind < 0 && (!last || BEFORE_NOUNS.includes(last.toLowerCase())))
    ways.push([`${before}${article}`, `${article} `, !before]);
  for (const [lead, put, sure] of ways) {
    const all = await ranked(lead, (word) => kindOf(word) === kind);
    if (!all) return { start, end, words: null };
    const likely = all.filter(([, p]) => p >= LEAST).map(([word]) => put + word);
    const fit = [];
    for (const word of known ? likely : [])
      if ((await follows(before + word, known)) >= LEAST) fit.push(word);
    const words = known && (fit.length || !sure) ? fit : likely;
    if (words.length) return { start, end, words };
  }
  return { start, end, words: [] };
}
