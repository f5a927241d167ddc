// Chapter 20: a query and a key of two numbers, turned by their positions. Their score depends on the
// distance between them alone. Each pair of columns turns by an angle of its own, which the base sets.

import { Arrows } from "./arrows.mjs";
import { goes } from "./bars.mjs";
import { draw, fixed, make, within } from "./dom.mjs";
import { Plot } from "./plot.mjs";
import { Switchboard, choose, flag, slider } from "./switchboard.mjs";
import { dot } from "./vectors.mjs";

/** @typedef {[number, number]} Vector */
/** @typedef {{query: number, key: number, base: number, pair: number}} Where */

const LAST = 32; // position that a token can have
const BASES = [1, 6]; // powers of ten
const REACH = 1.25; // of the plane
const DIAL = 22; // units from the middle of a dial to its edge
const CIRCLE = 2 * Math.PI;

/** @type {import("./exhibit.mjs").Kind} */
export function rotation({ settings, state, say }) {
  const { size: D } = settings;
  const [q, k] = /** @type {Vector[]} */ ([settings.q, settings.k]);
  const pairs = Array.from({ length: D / 2 }, (_, i) => String(i));
  const place = { min: 0, max: LAST, whole: true };
  state.declare("query", settings.at[0], place);
  state.declare("key", settings.at[1], place);
  state.declare("both", false);
  state.declare("pair", String(settings.pair), { among: pairs });
  state.declare("base", settings.base, { min: 10 ** BASES[0], max: 10 ** BASES[1] });

  /** @returns {Where} */
  const read = () => {
    const [query, key, base, pair] = state.all("query", "key", "base", "pair");
    return { query, key, base, pair: Number(pair) };
  };
  const speed = (/** @type {number} */ base, /** @type {number} */ pair) =>
    base ** ((-2 * pair) / D);
  const score = (/** @type {number} */ far, /** @type {number} */ speed) =>
    dot(turned(q, far * speed), k);
  const mean = (/** @type {number} */ far, /** @type {number} */ base) =>
    pairs.reduce((sum, _, i) => sum + score(far, speed(base, i)), 0) / pairs.length;

  const plane = new Arrows({
    label: "a query and a key, turned by their positions",
    reach: REACH,
    // The tip goes to the nearest position at which the arrow points there.
    onMove: (name, x, y) => {
      const { base, pair, ...at } = read();
      const [own, turn] = [name === "query" ? q : k, speed(base, pair)];
      const angle = Math.atan2(y, x) - Math.atan2(own[1], own[0]);
      const now = at[/** @type {"query" | "key"} */ (name)] * turn;
      const whole = CIRCLE * Math.round((now - angle) / CIRCLE);
      state.set({ [name]: Math.round((angle + whole) / turn) });
    },
    onStep: (name, by) => state.set({ [name]: state.get(name) + by }),
  });
  const curve = new Plot({
    label: "the score against the distance",
    x: {
      from: -LAST,
      to: LAST,
      name: "the query's position less the key's",
      ticks: [-32, -16, 0, 16, 32].map((n) => [n, fixed(n, 0)]),
    },
    y: { from: -1.1, to: 1.35, name: "score", ticks: [-1, 0, 1].map((n) => [n, fixed(n, 0)]) },
    height: 300,
  });
  const controls = new Switchboard(state, [
    slider("query", "position of the query", { max: LAST, step: 1, decimals: 0 }),
    slider("key", "position of the key", { max: LAST, step: 1, decimals: 0 }),
    flag("both", "move both together"),
    slider("base", "base", { log: true, min: BASES[0], max: BASES[1], step: 0.01, show: whole }),
    choose("pair", "pair of columns", pairs),
  ]);
  const buttons = [...controls.element.querySelectorAll(".choice button")];
  const dials = pairs.map((pair, i) => {
    const drawing = draw("svg", { class: "dial", viewBox: "-25 -25 50 50" });
    const hands = ["q", "k"].map((role) => draw("path", { class: `arrow ${role} shaft` }));
    drawing.ariaHidden = "true";
    drawing.append(draw("circle", { r: DIAL }), ...hands);
    const words = make("span");
    buttons[i].replaceChildren(drawing, words);
    return { hands, words };
  });

  /** @type {Where | null} */
  let last = null;

  /**
   * Where both move together, the other arrow follows the one that has moved.
   * @param {Where} now
   * @param {Where} was
   * @returns {Where}
   */
  const together = (now, was) => {
    if ((now.query !== was.query) === (now.key !== was.key)) return now;
    const far = was.query - was.key;
    const follows = now.query === was.query ? now.key : now.query - far;
    const key = within(follows, Math.max(0, -far), LAST - Math.max(0, far));
    return { ...now, query: key + far, key };
  };

  /**
   * What the last change has done.
   * @param {Where} now
   * @param {Where} was
   */
  const happened = (now, was) => {
    const turn = speed(now.base, now.pair);
    const far = now.query - now.key;
    const [old, value] = [score(was.query - was.key, speed(was.base, was.pair)), score(far, turn)];
    const four = (/** @type {number} */ x) => fixed(x, 4);
    const at = `q at ${now.query} and k at ${now.key}, ${many(Math.abs(far), "position")} apart`;
    const moved = now.query !== was.query && now.key !== was.key;
    if (moved && far === was.query - was.key)
      return `Both arrows have moved: ${at}, as before. The score stays at ${four(value)}.`;
    const hidden = far < 0 ? " The key is ahead of the query, where a causal mask hides it." : "";
    if (now.query !== was.query || now.key !== was.key)
      return `Now ${at}: the score ${goes(old, value, four)}.${hidden}`;
    const once = `Pair ${now.pair} turns by ${short(turn)} a token, once around in ${period(turn)} tokens.`;
    return `${once} With ${at}, the score is ${four(value)}.${hidden}`;
  };

  return {
    nodes: [
      make("div", { class: "planes" }, make("div", {}, plane.element), curve.element),
      controls.element,
    ],
    show: () => {
      const asked = read();
      const now = last && state.get("both") ? together(asked, last) : asked;
      paint(now);
      if (JSON.stringify(now) !== JSON.stringify(last)) say(happened(now, last ?? now));
      last = now;
      state.set({ query: now.query, key: now.key });
    },
    act: async (hand) => {
      const { query } = read();
      await hand.press(hand.find("input[type=checkbox]"));
      await hand.slide("position of the query", query + 4, 1200);
      await hand.slide("base", 4, 1200);
    },
    table: () => {
      const { query, key, base } = read();
      const rows = pairs.map((pair, i) => {
        const turn = speed(base, i);
        return [`pair ${pair}`, turn, period(turn), score(query - key, turn)];
      });
      return {
        caption: `Query at ${query}, key at ${key}, base ${whole(base)}.`,
        columns: ["pair", "angle a token", "tokens a turn", "score"],
        rows: [...rows, ["mean", "", "", mean(query - key, base)]],
      };
    },
  };

  /** @param {Where} now */
  function paint(now) {
    const turn = speed(now.base, now.pair);
    const far = now.query - now.key;
    const [turnedQ, turnedK] = [turned(q, now.query * turn), turned(k, now.key * turn)];
    /** @type {(name: string, at: Vector, role: string, more?: object) => import("./arrows.mjs").Arrow} */
    const tip = (name, [x, y], role, more) => ({ name, x, y, role, ...more });
    plane.set([
      tip("q before", q, "q", { ghost: true }),
      tip("k before", k, "k", { ghost: true }),
      tip("key", turnedK, "k", { free: true, label: `k at ${now.key}` }),
      tip("query", turnedQ, "q thick", { free: true, label: `q at ${now.query}` }),
    ]);
    const along = Array.from({ length: 8 * LAST + 1 }, (_, i) => i / 4 - LAST);
    const line = (/** @type {(far: number) => number} */ of) =>
      along.map((at) => /** @type {Vector} */ ([at, of(at)]));
    curve.set([
      { points: line((at) => mean(at, now.base)), kind: "ghost" },
      { points: [[LAST, 1.1]], kind: "ghost", name: "dashed: the mean of all pairs" },
      { points: line((at) => score(at, turn)), kind: "now" },
      {
        points: [[far, score(far, turn)]],
        kind: "now",
        dots: true,
        name: fixed(score(far, turn), 4),
      },
    ]);
    dials.forEach(({ hands, words }, i) => {
      const own = speed(now.base, i);
      [turned(q, now.query * own), turned(k, now.key * own)].forEach(([x, y], n) => {
        const long = DIAL / Math.hypot(x, y);
        hands[n].setAttribute("d", `M0 0L${(x * long).toFixed(2)} ${(-y * long).toFixed(2)}`);
      });
      words.textContent = `${i}: ${short(own)}`;
    });
    controls.set();
  }
}

/**
 * @param {Vector} vector
 * @param {number} angle
 * @returns {Vector}
 */
function turned([x, y], angle) {
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  return [x * cos - y * sin, x * sin + y * cos];
}

const short = (/** @type {number} */ value) => String(Number(value.toPrecision(2)));

const whole = (/** @type {number} */ value) => Math.round(value).toLocaleString("en");

const period = (/** @type {number} */ turn) =>
  CIRCLE / turn < 100 ? fixed(CIRCLE / turn, 1) : whole(CIRCLE / turn);

const many = (/** @type {number} */ n, /** @type {string} */ thing) =>
  `${n} ${thing}${n === 1 ? "" : "s"}`;
