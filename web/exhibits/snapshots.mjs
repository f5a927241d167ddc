// Chapter 13: the shipped model's training, at the steps that were saved. A low loss is not yet a
// good text. It is a stored run, so nothing is trained here.

import { Board } from "./board.mjs";
import { beside, fixed, grouped, make } from "./dom.mjs";
import { move } from "./motion.mjs";
import { Plot } from "./plot.mjs";
import { Switchboard, slider } from "./switchboard.mjs";

/**
 * What was kept at a step. `fails` is where the story leaves the language, null if nowhere;
 * `heads` are their weights in hundredths, row by row up to the diagonal.
 * @typedef {{step: number, loss: number, good: number, story: string | null,
 *   fails: number | null, heads: number[][]}} Shot
 */

const PAUSE = 1200; // milliseconds between two steps of a run that is played
const warp = (/** @type {number} */ step) => Math.log10(1 + step / 10);

/** @type {import("./exhibit.mjs").Kind} */
export function snapshots({ settings, state, say, element }) {
  /** @type {Shot[]} */
  const shots = settings.shots;
  /** @type {{floor: number, tokens: string[], titles: string[], losses: [number, number][],
   *   watch: {row: number, column: number}}} */
  const { floor, tokens, titles, losses, watch } = /** @type {any} */ (settings);
  const last = shots.length - 1;
  state.declare(
    "shot",
    Math.max(
      0,
      shots.findIndex(({ story }) => story),
    ),
    { min: 0, max: last, whole: true },
  );
  state.declare("head", settings.head ?? titles[0], { among: titles });

  const x = {
    from: 0,
    to: shots[last].step,
    warp,
    name: "step",
    ticks: /** @type {[number, string][]} */ (
      [0, 10, 100, 1000, 10_000].map((n) => [n, grouped(n)])
    ),
  };
  const curve = new Plot({
    label: "loss of the stored run against step",
    x,
    y: { from: 0, to: 8, name: "loss", ticks: [0, 2, 4, 6, 8].map((n) => [n, String(n)]) },
    onPoint: (x) => take(x),
  });
  const share = new Plot({
    label: "share of grammatical stories against step",
    x,
    y: {
      from: -0.04,
      to: 1.04,
      name: "grammatical stories",
      ticks: [0, 0.5, 1].map((n) => [n, percent(n)]),
    },
    height: 140,
    onPoint: (x) => take(x),
  });
  const title = make("p", { class: "soft" });
  const story = make("p", { class: "story" });
  const board = new Board({ onHead: (i) => state.set({ head: titles[i] }) });
  board.place = watch; // what is printed below the map
  const controls = new Switchboard(state, [
    slider("shot", "step", { max: last, step: 1, show: (i) => grouped(shots[i].step) }),
  ]);
  let timer = 0;
  const play = make("button", { onclick: () => (timer ? stop() : start()) });
  const stop = () => {
    clearInterval(timer);
    timer = 0;
    play.textContent = "play";
  };
  const start = () => {
    if (state.get("shot") === last) state.set({ shot: 0 });
    timer = Number(setInterval(step, PAUSE));
    play.textContent = "pause";
  };
  const step = () => {
    if (!element.isConnected || state.get("shot") === last) stop();
    else state.set({ shot: state.get("shot") + 1 });
  };
  /** @param {number} x  how far along the axis the reader points */
  const take = (x) => {
    stop();
    const far = shots.map(({ step }) => Math.abs(warp(step) / warp(shots[last].step) - x));
    state.set({ shot: far.indexOf(Math.min(...far)) });
  };
  stop();
  controls.element.addEventListener("input", stop); // the reader has taken the slider
  controls.element.prepend(play);

  /** @param {Shot} shot */
  const down = ({ loss }) => (shots[0].loss - loss) / (shots[0].loss - floor);

  /** @param {number} i */
  const sentence = (i) => {
    const now = shots[i];
    const way = `${fixed(100 * down(now), 1)} % of the way down to the floor`;
    const good = `${percent(now.good)} of its stories are grammatical`;
    const head = state.get("head");
    const { row, column } = watch;
    const weight = square(now.heads[titles.indexOf(head)], tokens.length)[
      row * tokens.length + column
    ];
    const [block, number] = head.split(".");
    const looks = `In block ${block}, head ${number}, “${tokens[row]}” gives “${tokens[column]}” ${fixed(weight, 2)}.`;
    if (i === 0) {
      const blind = `blind guessing among 1,024 tokens has ${fixed(Math.log(1024), 2)}`;
      return `Before the first step the loss is ${fixed(now.loss, 2)}; ${blind}. ${looks}`;
    }
    const before = shots[i - 1];
    const steps = `From step ${grouped(before.step)} to ${grouped(now.step)}`;
    const fall = `the loss falls from ${fixed(before.loss, 2)} to ${fixed(now.loss, 2)}`;
    return `${steps} ${fall}, which is ${way}. ${good} (${percent(before.good)} before). ${looks}`;
  };

  return {
    nodes: [
      make(
        "p",
        { class: "soft" },
        settings.note ?? "This is a stored run, so nothing is trained here.",
      ),
      controls.element,
      beside([curve.element, share.element], [title, story]),
      board.element,
    ],
    show: () => {
      const i = state.get("shot");
      const now = shots[i];
      const here = /** @type {(top: number) => [number, number][]} */ (
        (top) => [
          [now.step, 0],
          [now.step, top],
        ]
      );
      const past = losses.filter(([n]) => n <= now.step);
      curve.set([
        { points: here(8), kind: "here", slides: true },
        {
          points: [
            [0, floor],
            [x.to, floor],
          ],
          kind: "floor",
          name: `floor ${fixed(floor, 2)}`,
          at: 0,
        },
        { points: losses, kind: "ghost" },
        { points: past, kind: "now" },
        {
          points: [[now.step, now.loss]],
          kind: "now",
          dots: true,
          name: fixed(now.loss, 2),
          slides: true,
        },
      ]);
      const good = shots.map((shot) => /** @type {[number, number]} */ ([shot.step, shot.good]));
      share.set([
        { points: here(1), kind: "here", slides: true },
        { points: good, kind: "ghost" },
        {
          points: good.slice(0, i + 1),
          kind: "now",
          dots: true,
          name: percent(now.good),
          slides: true,
        },
      ]);
      title.textContent = `The model's story after ${grouped(now.step)} steps. ⟦ marks where it leaves the language.`;
      const { story: text, fails } = now;
      const told = text ?? "(No story was saved, because there were no words yet.)";
      const right = words(told.slice(0, fails ?? undefined));
      const wrong = words(fails === null ? "" : `⟦${told.slice(fails)}`);
      const old = [...story.querySelectorAll("span")].map(({ textContent }) => textContent);
      story.replaceChildren(...right, ...(wrong.length ? [make("mark", {}, ...wrong)] : []));
      [...right, ...wrong].forEach((one, n) => {
        if (old.length && one.textContent !== old[n]) move(one, [{ opacity: 0 }, { opacity: 1 }]);
      });
      const maps = now.heads.map((rows) => square(rows, tokens.length));
      const chosen = titles.indexOf(state.get("head"));
      board.setHeads(
        maps.map((values, n) => ({ title: titles[n], values })),
        chosen,
      );
      const after = ({ row = 0, column = 0 }) => column > row;
      board.set(maps[chosen], { rows: tokens, columns: tokens, off: after });
      controls.set();
      say(sentence(i));
      if (timer && i === last) stop();
    },
    act: async (hand) => {
      stop();
      state.set({ shot: 0 });
      await hand.pause();
      const there = shots.findIndex(({ step }) => step >= 500);
      await hand.slide("step", there < 0 ? last : there, 1600);
    },
    whole: () => ({
      place: state.get("head"),
      text: tokens.join(" ").replace(" .", "."),
    }),
    table: () => ({
      caption: `The stored run. Its floor is ${fixed(floor, 2)}.`,
      columns: ["step", "loss", "grammatical"],
      rows: shots.map(({ step, loss, good }) => [grouped(step), loss, percent(good)]),
    }),
  };
}

/**
 * Each word by itself, so that those that stay can stay.
 * @param {string} text
 */
function words(text) {
  return (text.match(/\s*\S+\s*$|\s*\S+/g) ?? []).map((word) => make("span", {}, word));
}

/** @param {number} share */
function percent(share) {
  return `${Math.round(100 * share)} %`;
}

/**
 * Rows up to the diagonal → (n, n), each row scaled to sum to 1.
 * @param {number[]} hundredths
 * @param {number} n
 */
function square(hundredths, n) {
  const values = new Float64Array(n * n);
  for (let row = 0, from = 0; row < n; from += ++row) {
    const own = hundredths.slice(from, from + row + 1);
    const sum = own.reduce((a, b) => a + b);
    own.forEach((value, column) => (values[row * n + column] = value / sum));
  }
  return values;
}
