// Chapter 25: a small model drafts tokens, and one pass of the large model reads them all. A dart on the
// bar of each decides whether it stays. Nothing is loaded before a reader asks.

import { row } from "./as_table.mjs";
import { Bars, share } from "./bars.mjs";
import { beside, fixed, make, quoted } from "./dom.mjs";
import { asRows, is, raced, reason, summed } from "./draft_words.mjs";
import { Drafting } from "./drafting.mjs";
import { Passes, bar, dart, tokensOf } from "./passes.mjs";
import { move } from "./motion.mjs";
import { Switchboard, slider } from "./switchboard.mjs";

/** @import { Pass, Wanted } from "./drafting.mjs" */
/** @import { Token } from "./passes.mjs" */

const MOST = 8; // tokens ahead
const ALL = 99; // passes: more than any text has
const KEY = /** @type {const} */ ([
  ["q", "q, the draft's probability of its token"],
  ["p", "p, the large model's"],
  ["dart", "a dart somewhere on q: the token stays if p reaches that far"],
]);

/** @type {import("./exhibit.mjs").Kind} */
export function draft({ settings, state, model, say, sentence, element, update, complain }) {
  /** @type {string[]} */
  const texts = settings.texts;
  state.declare("text", texts[0]);
  state.declare("ahead", settings.ahead, { min: 1, max: MOST, whole: true });
  state.declare("tau", settings.temperature, { min: 0, max: 2 });
  state.declare("seed", settings.seed, { min: 0, max: 1e9, whole: true });
  state.declare("passes", 2, { min: 1, max: ALL, whole: true });
  state.declare("token", "", { typed: false });
  const drafting = new Drafting(() => model.started());

  /** @param {string} text */
  const put = (text) => {
    state.set({ text, token: "" });
    if (element.dataset.state === "stale") update(); // what did not come is asked for again
  };
  const box = make("input", {
    type: "text",
    spellcheck: "false",
    autocomplete: "off",
    "aria-label": "beginning of the text",
    onchange: () => put(box.value.trim()),
  });
  const chips = make(
    "div",
    { class: "chips", role: "group", "aria-label": "beginnings" },
    ...texts.map((text) => make("button", { onclick: () => put(text) }, text)),
  );
  const controls = new Switchboard(state, [
    slider("ahead", "tokens drafted for a pass", { min: 1, max: MOST, step: 1, decimals: 0 }),
    slider("tau", "temperature of the draft alone", {
      max: 2,
      step: 0.05,
      show: (tau) => (tau === 0 ? "0 (greedy)" : fixed(tau, 2)),
    }),
  ]);
  const button = (/** @type {string} */ name, /** @type {() => void} */ onclick) =>
    make("button", { onclick }, name);
  const show = (/** @type {number} */ passes) => state.set({ passes, token: "" });
  const step = button("next pass", () => show(state.get("passes") + 1));
  const rest = button("to the end", () => show(ALL));
  const first = button("back to the first", () => show(1));
  const other = button("other darts", () => state.set({ seed: state.get("seed") + 1, token: "" }));
  step.classList.add("go");

  const list = new Passes((token) => state.set({ token }));
  const key = make(
    "p",
    { class: "draft-key soft" },
    ...KEY.map(([name, words]) => make("span", {}, make("i", { class: name }), words)),
  );
  const title = make("p", { class: "told" });
  const tracks = make("div", { class: "tracks", "aria-hidden": "true" });
  const bars = new Bars({ rows: 5, was: "q" });
  const written = make("p", { class: "drafted" });
  const counts = make("div");
  const race = button("measure in this browser", () => measure());
  const progress = make("progress", { "aria-label": "measured", hidden: true });
  const measured = make("div", { class: "measured", role: "status" });

  const sides = beside(
    [title, tracks, bars.element],
    [written, counts, make("div", { class: "side-by-side" }, race, progress), measured],
  );

  /** @type {Pass[]} */
  let passes = [];
  let shown = ""; // what they are of
  let stop = () => {};

  /** @returns {Wanted} */
  const wanted = () => {
    const [text, ahead, draftTemperature, seed] = state.all("text", "ahead", "tau", "seed");
    return { text, ahead, draftTemperature, seed };
  };
  const stored = JSON.stringify({
    text: texts[0],
    ahead: settings.ahead,
    draftTemperature: settings.temperature,
    seed: settings.seed,
  });

  /** On the reader's machine. */
  async function measure() {
    const asked = wanted();
    race.disabled = true;
    progress.hidden = false;
    progress.value = 0;
    try {
      const { answer, cancel } = await drafting.race(asked, (done) => (progress.value = done));
      stop = cancel;
      if (JSON.stringify(wanted()) !== JSON.stringify(asked)) stop(); // another choice since then
      const { rows, sentence } = raced(await answer, asked.ahead);
      measured.replaceChildren(asCounts(rows), make("p", { class: "soft" }, sentence));
      complain("");
    } catch (error) {
      if (!/cancelled/.test(String(error))) complain(error);
    } finally {
      race.disabled = false;
      progress.hidden = true;
      stop = () => {};
    }
  }

  /** @param {Token} token */
  const paintToken = (token) => {
    const drafted = "fate" in token;
    title.textContent = `${quoted(token.name)}: ${reason(token)}`;
    const track = (/** @type {"q" | "p"} */ name, /** @type {number} */ value) =>
      make("span", { class: "track" }, bar(name, value), make("b", {}, is(name, value)));
    tracks.replaceChildren(
      ...(drafted ? [track("q", token.q)] : []),
      track("p", token.p),
      ...(drafted && token.dart !== null ? [dart(token)] : []),
    );
    bars.set(
      token.bars.map(([id, name, p, before]) => ({ id, name, p, before: before ?? undefined })),
      drafted
        ? "p of the large model in this place (dashed: q of the draft)"
        : "what this token was drawn from",
    );
  };

  return {
    nodes: [
      chips,
      box,
      controls.element,
      make("div", { class: "side-by-side" }, step, rest, first, other),
      sentence,
      key,
      list.list,
      sides,
    ],
    show: async (latest) => {
      const asked = wanted();
      const now = JSON.stringify(asked);
      if (box.value !== asked.text && document.activeElement !== box) box.value = asked.text;
      controls.set();
      if (now !== shown) stop(); // the engine does one thing after the other
      const found =
        now === stored ? { passes: settings.found, cut: 0 } : await drafting.find(asked);
      if (!latest()) return;
      if (now !== shown) measured.replaceChildren();
      [passes, shown] = [found.passes, now];
      const many = Math.min(state.get("passes"), passes.length);
      const took = list.set(passes, many);
      for (const one of [sentence, sides]) {
        if (took) move(one, [{ opacity: 0 }, { opacity: 0, offset: 0.99 }, {}], { duration: took });
      }
      const [pass, token] = state.get("token").split(".").map(Number);
      const there = pass < many && token < tokensOf(passes[pass]).length;
      const [n, i] = there ? [pass, token] : [many - 1, turned(passes[many - 1])];
      paintToken(list.choose(n, i));
      step.textContent = many < passes.length ? "next pass" : "the text is complete";
      step.disabled = rest.disabled = many === passes.length;
      first.disabled = many === 1;
      written.replaceChildren(
        asked.text,
        ...passes.slice(0, many).flatMap(tokensOf).flatMap(stands),
      );
      const sum = summed(passes.slice(0, many));
      counts.replaceChildren(asCounts(asRows(sum)));
      say(
        `${many} ${many === 1 ? "pass" : "passes"} of the large model gave ${sum.written} tokens, ` +
          `${fixed(sum.written / many, 2)} per pass; of ${sum.drafted} drafted tokens ${sum.stays} stay.` +
          (found.cut ? ` So that all fits, the first ${found.cut} tokens are left out.` : ""),
      );
    },
    concerns: (name) => ["text", "ahead", "tau", "seed", "passes", "token"].includes(name),
    act: async (hand) => {
      await hand.press(step);
      await hand.pause(2500);
      await hand.press(rest);
      await hand.slide("tokens drafted for a pass", MOST, 1200);
    },
    table: () => ({
      caption: "The tokens, pass by pass.",
      columns: ["pass and token", "q", "p", "dart × q", "what becomes of it"],
      rows: passes
        .slice(0, state.get("passes"))
        .flatMap(({ drafted, next }, n) => [
          ...drafted.map(({ name, q, p, dart, fate }) => [
            `${n + 1}: ${name}`,
            share(q),
            dart === null ? "–" : share(p),
            dart === null ? "–" : share(dart * q),
            fate,
          ]),
          ...(next ? [[`${n + 1}: ${next.name}`, "–", share(next.p), "–", "one more"]] : []),
        ]),
    }),
  };
}

/** @param {[string, string][]} rows */
function asCounts(rows) {
  return make("table", { class: "counts" }, ...rows.map(([name, value]) => row(name, [value])));
}

/**
 * A token that is in the text, in the colour of the model that it is from.
 * @param {Token} token
 */
function stands(token) {
  if ("fate" in token && token.fate !== "stays") return [];
  const text = token.name.replace(/^␣/, " ");
  return [make("span", { class: "fate" in token ? "q" : "p" }, text)];
}

/**
 * The token on which a pass turned: the one that goes, or the last.
 * @param {Pass} pass
 */
function turned({ drafted }) {
  const goes = drafted.findIndex(({ fate }) => fate === "goes");
  return goes < 0 ? Math.max(0, drafted.length - 1) : goes;
}
