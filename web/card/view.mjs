// Cards as they are read: lines, parameters, costs and shapes, of one model or of two side by side.
// It also runs where the scripts are packed, to write the first frame (../dev/markup.mjs).

import { make } from "../exhibits/dom.mjs";
import { DEVICES, FORMS, FULL, cacheBytes, flopsByPart, parameters } from "./count.mjs";
import { parametersByPart, shapes, share, sum } from "./count.mjs";
import { lines } from "./lines.mjs";
import { address, chapter } from "./links.mjs";
import { many } from "./read.mjs";
import { bytes, percent, table, work } from "./tables.mjs";

/** @import { Card } from "./read.mjs" */
/** @import { Line } from "./lines.mjs" */
/** @typedef {{name: string, card: Card}} Named */

export const PARTS = /** @type {Record<string, string>} */ ({
  wte: "token table",
  wpe: "position table",
  attn: "attention",
  mlp: "MLP",
  ln: "norms",
  lm_head: "head",
});

/**
 * How many of these tokens a model can see.
 * @param {Card} card
 * @param {number} tokens
 */
export const within = ({ blockSize }, tokens) => Math.min(tokens, blockSize);

/**
 * @param {Named[]} cards  one or two
 * @param {number} tokens
 * @returns {HTMLElement[]}
 */
export function view(cards, tokens) {
  return [
    section("Line by line", "", ...lineByLine(cards)),
    section("Parameters by part", "count", parts(cards)),
    section("What it costs", "memory", ...costs(cards, tokens), ...devices(cards, tokens)),
    section("The shapes in one block", "shapes", ...trace(cards, tokens)),
  ];
}

/**
 * @param {string} title
 * @param {string} place  where the book has more
 * @param {...Node} nodes
 */
function section(title, place, ...nodes) {
  const more = place ? [make("a", { href: address(place) }, "in the book")] : [];
  return make(
    "section",
    { class: "card-part" },
    make("h2", {}, title),
    ...more.map((link) => make("p", { class: "soft card-more" }, link)),
    ...nodes,
  );
}

/** @param {Named[]} cards */
function lineByLine(cards) {
  const read = cards.map(({ card }) => lines(card));
  const of = (/** @type {string} */ kind) =>
    aligned(read.map((all) => all.filter((one) => one.kind === kind)));
  const [decides, nothing, unknown] = ["decides", "nothing", "unknown"].map(of);
  const list = (/** @type {(Line | undefined)[][]} */ rows) =>
    make(
      "ul",
      { class: "card-lines", "data-cards": String(cards.length) },
      ...(cards.length > 1 ? [headings(cards)] : []),
      ...rows.map((row) => make("li", {}, ...row.map((line, i) => entry(line, cards, i)))),
    );
  /** @type {(name: string, title: string, rows: (Line | undefined)[][]) => HTMLElement} */
  const fold = (name, title, rows) =>
    make("details", { class: name }, make("summary", {}, title), list(rows));
  const strange = fold("card-unknown", "Unknown lines", unknown);
  strange.toggleAttribute("open", true);
  const idle = `Lines that change nothing in what a trained model computes (${nothing.length})`;
  return [
    list(decides),
    ...(unknown.length ? [strange] : []),
    ...(nothing.length ? [fold("card-nothing", idle, nothing)] : []),
  ];
}

/**
 * The names above two columns; where there is but one, each line has its own.
 * @param {Named[]} cards
 */
const headings = (cards) =>
  make("li", { "aria-hidden": "true" }, ...names(cards).map((name) => make("b", {}, name)));

/**
 * Lines of two cards that mean the same in one row, in the order of a pass.
 * @param {Line[][]} read
 * @returns {(Line | undefined)[][]}
 */
function aligned(read) {
  const order = new Map(read.flat().map(({ topic, nth }) => [topic, nth]));
  const there = new Set(read.flat().flatMap(({ topic, line }) => (line ? [topic] : [])));
  const topics = [...order]
    .filter(([topic]) => there.has(topic))
    .sort(([, a], [, b]) => a - b)
    .map(([topic]) => topic);
  return topics.flatMap((topic) => {
    const all = read.map((lines) => lines.filter((line) => line.topic === topic));
    const rows = Math.max(...all.map(({ length }) => length));
    return Array.from({ length: rows }, (_, i) => all.map((lines) => lines[i]));
  });
}

/**
 * @param {Line | undefined} line
 * @param {Named[]} cards
 * @param {number} i  which of them has it
 */
function entry(line, cards, i) {
  const of = cards.length > 1 ? [make("small", {}, cards[i].name)] : [];
  if (!line) return make("div", {}, ...of, make("p", { class: "soft" }, "no such line"));
  const { topic, place, says } = line;
  const code = line.line ? [make("code", {}, line.line)] : [];
  const link = place ? [" ", chapterLink(place, topic)] : [];
  return make("div", {}, ...of, ...code, make("p", {}, says, ...link));
}

/**
 * @param {string} place
 * @param {string} topic
 */
function chapterLink(place, topic) {
  const name = chapter(place);
  return make("a", { href: address(place), "aria-label": `${name} on ${topic}` }, name);
}

/**
 * @param {Named[]} cards
 * @param {(card: Card) => string} text
 */
const each = (cards, text) => cards.map(({ card }) => ({ text: text(card) }));

/** @param {Named[]} cards */
const names = (cards) => cards.map(({ name }) => name);

/** @param {...(Node | string)} words */
const soft = (...words) => make("p", { class: "soft" }, ...words);

/** @param {Named[]} cards */
function parts(cards) {
  const all = cards.map(({ card }) => ({ card, counts: parametersByPart(card) }));
  const rows = Object.entries(PARTS)
    .filter(([part]) => part === "lm_head" || all.some(({ counts }) => counts[part]))
    .map(([part, name]) => {
      const cells = all.map(({ card, counts }) => {
        if (part === "lm_head" && card.tied) return { text: "0, the token table" };
        if (!counts[part]) return { text: "none" };
        const share = counts[part] / sum(counts);
        return { text: `${many(counts[part])} (${percent(share)})`, bar: share };
      });
      return { name, cells };
    });
  rows.push({ name: "all", cells: each(cards, (card) => many(parameters(card))) });
  return table("Numbers that are learned", names(cards), rows);
}

/**
 * @param {Named[]} cards
 * @param {number} tokens
 */
function costs(cards, tokens) {
  const length = (/** @type {Card} */ card) => within(card, tokens);
  const row = (/** @type {string} */ name, /** @type {(card: Card) => string} */ text) => {
    return { name, cells: each(cards, text) };
  };
  const rows = [
    ...FORMS.map(([form, size]) =>
      row(`weights, ${form}`, (card) => bytes(parameters(card) * size)),
    ),
    row("cache, a token", (card) => bytes(cacheBytes(card))),
    row("cache, all tokens", (card) => bytes(cacheBytes(card) * length(card))),
    row("FLOPs a token", (card) => work(sum(flopsByPart(card, length(card))))),
  ];
  const limited = cards.filter(({ card }) => card.blockSize < tokens);
  return [
    table(`A text of ${many(tokens)} tokens, and its cache in bfloat16`, names(cards), rows),
    ...limited.map(({ name, card }) => {
      const most = many(card.blockSize);
      return soft(`${name} sees ${most} tokens at most: its numbers are those of a text so long.`);
    }),
    soft(
      "FLOPs are those of the matrix products of one forward pass, the mean over all positions (",
      make("a", { href: address("flops") }, "what is counted"),
      "). With 8 and 4 bits, the scales of the weights are not counted.",
    ),
  ];
}

/**
 * @param {Named[]} cards
 * @param {number} tokens
 */
function devices(cards, tokens) {
  const forms = FORMS.map(([form]) => form);
  const tables = cards.map(({ name, card }) => {
    const rows = DEVICES.map(([device, memory]) => {
      const shares = FORMS.map(([, size]) => share(card, within(card, tokens), size, memory));
      return { name: device, cells: shares.map(fits) };
    });
    return table(`How much of a memory ${name} and its cache fill`, forms, rows);
  });
  const rest = percent(1 - FULL);
  const why = "for programs, and for what is computed on the way.";
  return [...tables, soft(`At least ${rest} of a memory must remain ${why}`)];
}

/** @param {number} share  of a memory */
function fits(share) {
  return share > FULL ? { text: "too large", no: true } : { text: percent(share), bar: share };
}

/**
 * @param {Named[]} cards
 * @param {number} tokens
 */
function trace(cards, tokens) {
  const all = cards.map(({ card }) => {
    const length = within(card, tokens);
    return shapes(card, length).map((one) => {
      return { ...one, wide: one.shape.reduce((a, b) => a * b) / length }; // for each token
    });
  });
  const most = Math.max(...all.flat().map(({ hue, wide }) => (hue === "weights" ? 0 : wide)));
  const rows = all[0].map(({ name }, n) => {
    const cells = all.map((noted) => {
      const { axes, shape, hue, wide } = noted[n];
      return { before: axes, text: shape.map(many).join(" × "), hue, bar: wide / most };
    });
    return { name, cells };
  });
  return [
    table(
      `What note records in each block for a text of ${many(tokens)} tokens`,
      names(cards),
      rows,
    ),
    soft(
      "A bar is how many numbers each token has. The tables of scores grow with the text, so their bars may end at the edge.",
    ),
  ];
}
