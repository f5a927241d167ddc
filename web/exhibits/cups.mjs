// Chapter 25: a shell game. The reader swaps cups, and a small model says where the ball is: at once, in
// one pass, or with the place after each swap written down. Nothing is loaded before a reader asks.

import { headings, row as asRow } from "./as_table.mjs";
import { share } from "./bars.mjs";
import { CupTable } from "./cup_table.mjs";
import { beside, draw, fixed, make } from "./dom.mjs";
import { WRITE, move, still } from "./motion.mjs";
import { CUPS, Shells, places } from "./shells.mjs";
import { Strip } from "./strip.mjs";
import { Switchboard, choose, flag } from "./switchboard.mjs";

/** @import { Game, Played, Step, Way } from "./shells.mjs" */

const MOST = 10; // swaps
const GAMES = 50; // of a trial
const WAYS = /** @type {const} */ (["now", "steps"]);
const SWAPS = CUPS.flatMap((a) => CUPS.filter((b) => b > a).map((b) => a + b));

/** @type {import("./exhibit.mjs").Kind} */
export function cups({ settings, state, model, say, element, update, complain }) {
  /** @type {Game} */
  const first = settings.game;
  state.declare("start", first.start, { among: CUPS });
  state.declare("swaps", first.swaps, { among: SWAPS });
  state.declare("seen", false);
  for (const way of WAYS) state.declare(way, true);
  const shells = new Shells(settings.words, () => model.started());

  /** @returns {Game} */
  const read = () => ({
    start: state.get("start"),
    swaps: state.get("swaps").slice(0, MOST),
  });
  const name = (/** @type {Game} */ { start, swaps }) => [start, ...swaps].join(" ");
  /** Another game, which has not been answered. */
  const put = (/** @type {string[]} */ swaps) => {
    state.set({ swaps, now: false, steps: false });
  };
  const add = (/** @type {string} */ swap) => {
    const { swaps } = read();
    if (swaps.length < MOST) put([...swaps, swap]);
  };
  const random = () => SWAPS[Math.floor(SWAPS.length * Math.random())];
  const shuffle = async () => {
    let swaps = /** @type {string[]} */ ([]);
    put(swaps);
    for (let n = 0; n < settings.longest; n++) {
      await new Promise((done) => setTimeout(done, still() ? 0 : WRITE + 150));
      if (state.get("swaps").join() !== swaps.join()) return; // the reader goes on
      put((swaps = [...swaps, random()]));
    }
  };
  const button = (/** @type {string} */ name, /** @type {() => void} */ onclick) =>
    make("button", { onclick }, name);
  const table = new CupTable(add);
  const one = button("a random swap", () => add(random()));
  const undo = button("take back", () => put(read().swaps.slice(0, -1)));
  const controls = new Switchboard(state, [
    choose("start", "the ball begins under", CUPS),
    flag("seen", "show the ball"),
  ]);
  controls.element.addEventListener("click", ({ target }) => {
    if (target instanceof HTMLButtonElement) state.set({ now: false, steps: false });
  });
  const strip = new Strip({ what: "token" });
  const stripTitle = make(
    "p",
    { class: "soft" },
    "what the model reads; after it comes the word that asks, now: or steps:",
  );
  const answer = (/** @type {Way} */ way) => {
    state.set({ [way]: true });
    if (element.dataset.state === "stale") update(); // what did not come is asked for again
  };
  const ask = {
    now: button("where is it now?", () => answer("now")),
    steps: button("where is it after each swap?", () => answer("steps")),
  };
  const sides = WAYS.map((way) => {
    ask[way].classList.add("go");
    const rows = make("ol", { class: `cup-rows ${way}`, "aria-label": `answer, ${way}` });
    const verdict = make("p", { class: "verdict" });
    return { way, rows, verdict, element: make("div", {}, ask[way], rows, verdict) };
  });
  const tryButton = button("", () => tryMany());
  const counts = make("table", { class: "counts" });
  /** @type {Map<number, Record<Way, [number, number]>>} */
  const tries = new Map(); // by swaps: games that were right, and tokens
  /** @type {Map<string, string[]>} */
  const tried = new Map();
  let last = name(first);

  /** Random games with as many swaps as this one. */
  async function tryMany() {
    const many = read().swaps.length;
    tryButton.disabled = true;
    /** @type {Record<Way, [number, number]>} */
    const found = { now: [0, 0], steps: [0, 0] };
    try {
      for (let n = 0; n < GAMES; n++) {
        const start = CUPS[Math.floor(CUPS.length * Math.random())];
        const game = { start, swaps: Array.from({ length: many }, random) };
        for (const way of WAYS) {
          const { said, tokens } = await shells.play(game, way);
          found[way][0] += Number(said === places(game).at(-1));
          found[way][1] += tokens;
        }
      }
      tries.set(many, found);
      paintTries();
    } catch (error) {
      complain(error);
    } finally {
      tryButton.disabled = false;
    }
  }

  function paintTries() {
    const lines = [...tries].sort(([a], [b]) => a - b);
    counts.replaceChildren(
      headings(["swaps", "at once", "tokens", "with steps", "tokens"]),
      ...lines.map(([many, found]) => {
        const cells = WAYS.map((way) => found[way]).flatMap(([right, tokens]) => [
          `${right} of ${GAMES}`,
          fixed(tokens / GAMES, 0),
        ]);
        return asRow(String(many), cells);
      }),
    );
  }

  return {
    nodes: [
      make(
        "div",
        { class: "side-by-side" },
        button("shuffle", shuffle),
        one,
        undo,
        controls.element,
      ),
      table.list,
      stripTitle,
      strip.element,
      beside(...sides.map(({ element }) => element)),
      make("div", { class: "side-by-side" }, tryButton, counts),
    ],
    show: async (latest) => {
      const game = read();
      const { start, swaps } = game;
      const all = places(game);
      const key = name(game);
      const end = all[swaps.length];
      table.set(state.get("seen") || !swaps.length ? end : "");
      if (key !== last && key.startsWith(`${last} `)) table.change(swaps[swaps.length - 1]);
      last = key;
      controls.set();
      strip.set([start, ...swaps].map((name) => ({ name })));
      one.disabled = swaps.length >= MOST;
      for (const one of [undo, tryButton, ...Object.values(ask)]) one.disabled = !swaps.length;
      const stored = key === name(first);
      /** @type {Partial<Record<Way, Played>>} */
      const found = {};
      for (const { way, rows, verdict } of sides) {
        const asked = state.get(way) && swaps.length;
        const played = asked ? (stored ? settings.found[way] : await shells.play(game, way)) : null;
        if (!latest()) return;
        if (played) found[way] = played;
        const truth = way === "now" ? [end] : all.slice(1);
        const many = Math.max(truth.length, played?.steps.length ?? 0);
        const grew = rows.childElementCount && !rows.dataset.written && played;
        rows.dataset.written = played ? "true" : "";
        rows.replaceChildren(
          ...Array.from({ length: many }, (_, i) => {
            const label = way === "now" ? "" : (swaps[i] ?? "+");
            const one = row(label, played?.steps[i], (played && truth[i]) || "");
            if (way === "steps" && swaps[i]) one.append(lanes(swaps[i], played ? all[i] : ""));
            return one;
          }),
        );
        if (grew) {
          [...rows.children].forEach((one, i) =>
            move(one, [{ opacity: 0 }, { opacity: 1 }], { delay: (i * WRITE) / 2 }),
          );
        }
        verdict.textContent = played ? inWords(played, end) : "";
        verdict.className = `verdict ${played ? mark(played.said, end) : ""}`;
      }
      const many = `${swaps.length} ${swaps.length === 1 ? "swap" : "swaps"}`;
      tryButton.textContent = `try ${GAMES} games with ${many}`;
      const { now, steps } = found;
      if (now || steps) {
        const cells = [now, steps].map((one) => (one ? `${one.said}, ${one.tokens} tokens` : "–"));
        tried.set(key, [end, ...cells]);
      }
      say(
        sentence(many, end, now, steps) +
          (swaps.length > settings.longest
            ? ` No game in training had more than ${settings.longest} swaps.`
            : ""),
      );
    },
    concerns: (name) => ["start", "swaps", "seen", ...WAYS].includes(name),
    act: async (hand) => {
      await hand.press(table.buttons[0]);
      await hand.press(table.buttons[3]);
      await hand.pause(WRITE);
      await hand.press(ask.now);
      await hand.pause(900);
      await hand.press(ask.steps);
    },
    table: () => ({
      caption: "The games that were asked about.",
      columns: ["game", "the ball is under", "at once", "with steps"],
      rows: [...tried].map(([game, cells]) => [game, ...cells]),
    }),
  };
}

/** @param {string} said @param {string} truth */
const mark = (said, truth) => (said === truth ? "right" : "wrong");

/**
 * Five bars, a place each.
 * @param {string} label
 * @param {Step | undefined} step
 * @param {string} truth  where the ball is; "": not yet to be seen
 */
function row(label, step, truth) {
  const bars = CUPS.map((name, i) => {
    const marks = [...(name === truth ? ["truth"] : []), ...(name === step?.word ? ["said"] : [])];
    const bar = make("i", { class: marks.join(" ") }, make("span", {}, name));
    bar.style.setProperty("--p", (step?.p[i] ?? 0).toFixed(4));
    return bar;
  });
  const said = step ? mark(step.word, truth) : "";
  const words = step
    ? `${label && `after ${label} `}it says ${step.word}, which is ${said}`
    : `${label} not asked`;
  return make(
    "li",
    { class: said, "aria-label": words.trim() },
    make("b", {}, label),
    ...bars,
    make(
      "s",
      {},
      step ? `${said === "right" ? "✓" : "✗"} ${share(step.p[CUPS.indexOf(step.word)] ?? 0)}` : "",
    ),
  );
}

/**
 * The lanes of the cups where two of them cross, and the ball's.
 * @param {string} swap
 * @param {string} ball  the cup that it was under; "": not yet to be seen
 */
function lanes(swap, ball) {
  const [a, b] = swap;
  const drawing = draw("svg", { viewBox: "0 0 5 1", preserveAspectRatio: "none" });
  drawing.ariaHidden = "true";
  const paths = CUPS.map((cup, i) => {
    const to = CUPS.indexOf(cup === a ? b : cup === b ? a : cup);
    const kind = cup === ball ? "ball" : to === i ? "" : "crosses";
    return draw("path", {
      class: kind,
      d: `M${i + 0.5} 0C${i + 0.5} .35 ${to + 0.5} .65 ${to + 0.5} 1`,
    });
  });
  drawing.append(...paths.sort((one) => (one.classList.contains("ball") ? 1 : -1)));
  return drawing;
}

/** @param {Played} played @param {string} end */
function inWords({ said, tokens }, end) {
  const spent = `${tokens} tokens, the end among them`;
  if (said === end) return `✓ Right: cup ${end}. ${spent}.`;
  return `✗ Wrong: ${said ? `cup ${said}` : "no cup"}. It is under ${end}. ${spent}.`;
}

/**
 * @param {string} many
 * @param {string} end
 * @param {Played} [now]
 * @param {Played} [steps]
 */
function sentence(many, end, now, steps) {
  if (!now && !steps) return `${many}. Where is the ball? Follow it, then ask the model.`;
  const fast = now
    ? ` At once the model says ${now.said || "nothing"}, ${mark(now.said, end)}.`
    : "";
  const slow = steps
    ? ` With its steps written down it says ${steps.said || "nothing"}, ${mark(steps.said, end)}, in ` +
      `${steps.tokens} tokens.`
    : "";
  return `After ${many} the ball is under ${end}.${fast}${slow}`;
}
