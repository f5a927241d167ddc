// One pass: the whole model as one picture, from the text to what comes next, and into every part of
// it down to a single product.

import { fixed, make, quoted } from "../exhibits/dom.mjs";
import { hit, ranked, thrower } from "../exhibits/knobs.mjs";
import { Strip } from "../exhibits/strip.mjs";
import { block } from "./block.mjs";
import { asTable, inSentences, readPass } from "./pass.mjs";
import { addressOf, levelOf, outOf, placeOf, wayTo } from "./place.mjs";
import { Stage, still, timetable } from "./stage.mjs";
import { wayThrough } from "./way.mjs";
import { whole } from "./whole.mjs";

/** @import { Pass } from "./pass.mjs" */
/** @import { Place } from "./place.mjs" */
/** @import { Box } from "./layout.mjs" */

/**
 * What a scene is given.
 * @typedef {object} View
 * @property {Pass} pass
 * @property {Pass | null} was  what was shown before, so that it changes rather than appears
 * @property {number} width  px
 * @property {number} at  the token that is followed: the query
 * @property {Place} place
 * @property {string[]} cut  heads, block.head
 * @property {(place: Place) => void} go
 * @property {(at: number) => void} pick  another token
 * @property {(head: string) => void} toggle  cut a head, or put it back
 * @property {(id: number) => void} append  a token to the text
 */
/**
 * What a scene makes of it: a picture, `height` px high.
 * @typedef {object} Scene
 * @property {number} height
 * @property {import("lit").TemplateResult} body
 * @property {(place: Place) => Box | null} boxes  where a deeper place lies in it
 * @property {string} [says]  in a sentence
 * @property {((depth: number) => number)} [along]  px along the way; without it nothing is played
 * @property {{points: [number, number][], many: number, from: number, to: number}[]} [beads]
 * @property {boolean} [vertical]
 */

const MOST = 128; // tokens
const LONG = 24; // tokens that are written in one go
const PACE = 900; // milliseconds between them

/** @type {((view: View) => Scene)[]}  by level; the deepest that is there is shown */
const SCENES = [whole, block];

/** @type {import("../exhibits/exhibit.mjs").Kind} */
export function flow(page) {
  const { settings, state, model, say, element } = page;
  const { nLayer, nHead, nEmbd, vocabSize: V } = model.present.config;
  const { tokenizer } = model.present;
  const names = Array.from({ length: nLayer * nHead }, (_, i) => `${Math.floor(i / nHead)}.${i % nHead}`);
  const way = wayThrough(nLayer);
  const times = timetable(nLayer);
  const end = way.length - 1;
  state.declare("text", settings.text);
  state.declare("at", -1, { min: -1, max: MOST - 1, whole: true }); // -1: the last token
  state.declare("off", [], { among: names });
  state.declare("place", settings.place ?? "");
  state.declare("station", end, { min: 0, max: end, whole: true });
  /** What a crane does in either sense, by the first tokens. @type {Record<string, number[]>} */
  const senses = { bird: [], machine: [] };
  for (const [sense, deeds] of Object.entries(settings.senses ?? {})) {
    senses[sense] = deeds.map((/** @type {string} */ deed) => tokenizer.encode(` ${deed}`)[0]);
  }

  const strip = new Strip({
    value: state.get("text"),
    chips: settings.chips,
    onText: (text) => state.set({ text, at: -1 }),
  });
  const crumbs = make("nav", { class: "flow-crumbs", "aria-label": "where you are in the model" });
  const stage = new Stage();
  const play = make("button", { type: "button", class: "flow-play", onclick: () => run() }, "play");
  const scrub = make("input", {
    type: "range",
    min: "0",
    max: String(end),
    "aria-label": "how far the pass has come",
    oninput: () => (stop(), state.set({ station: Number(scrub.value) })),
  });
  const line = make("p", { class: "soft flow-line" });
  const step = make("button", { type: "button", onclick: () => ((left = 1), choose()) }, "one token");
  const write = make("button", { type: "button", onclick: () => toggleWriting() }, "write on");
  const read = make("ol", { class: "aloud" });

  /** @type {Pass | null} */
  let pass = null;
  /** @type {Pass | null} */
  let was = null;
  /** @type {string | null} */
  let shownPlace = null;
  let began = 0; // of what plays
  let frame = 0;
  let left = 0; // tokens that are still to be written
  let timer = 0;
  let written = "";

  const at = () => {
    const last = /** @type {Pass} */ (pass).ids.length - 1;
    return state.get("at") < 0 ? last : Math.min(state.get("at"), last);
  };
  const place = () => {
    const T = /** @type {Pass} */ (pass).ids.length;
    return placeOf(state.get("place"), { nLayer, nHead, T, D: nEmbd / nHead, units: 4 * nEmbd });
  };
  const go = (/** @type {Place} */ to) => {
    stop();
    state.set({ place: addressOf(to) });
  };
  const toggle = (/** @type {string} */ head) => {
    const off = state.get("off");
    state.set({ off: off.includes(head) ? off.filter((/** @type {string} */ one) => one !== head) : [...off, head] });
  };
  const append = (/** @type {number} */ id) => {
    const more = tokenizer.decode([id]);
    if (id === tokenizer.eot || more.includes("\ufffd")) {
      left = 0;
      say("Here the model would end its text.");
      return;
    }
    written = state.get("text") + more;
    state.set({ text: written, at: -1 });
  };
  const choose = () => {
    if (!left || !pass || !element.isConnected) return;
    left--;
    const p = pass.shares;
    const dart = thrower(1000 * (settings.seed ?? 0) + pass.ids.length)();
    append(hit(dart, p, ranked(p)));
    if (!left) write.textContent = "write on";
  };
  const toggleWriting = () => {
    left = left ? 0 : LONG;
    write.textContent = left ? "stop" : "write on";
    if (left) choose();
  };

  const stop = () => {
    cancelAnimationFrame(frame);
    began = 0;
    play.textContent = "play";
  };
  const run = () => {
    if (began) {
      stop();
      return;
    }
    if (still()) {
      const now = state.get("station");
      state.set({ station: now === end ? 0 : now + 1 });
      return;
    }
    if (state.get("place")) state.set({ place: "" });
    play.textContent = "stop";
    began = performance.now();
    const tick = (/** @type {number} */ now) => {
      if (!began || !element.isConnected) return;
      const depth = times.at(now - began);
      stage.showDepth(depth);
      const passed = way.filter((one) => one.depth <= depth).length - 1;
      scrub.value = String(Math.max(0, passed));
      if (Number.isFinite(depth)) frame = requestAnimationFrame(tick);
      else {
        stop();
        state.set({ station: end });
      }
    };
    frame = requestAnimationFrame(tick);
  };

  /** Paint what is known: after a pass, another place, another width. */
  const paint = () => {
    if (!pass) return;
    const here = place();
    const level = Math.min(levelOf(here), SCENES.length - 1);
    const width = Math.max(280, Math.floor(stage.element.clientWidth || 960));
    /** @type {View} */
    const view = {
      pass,
      was,
      width,
      at: at(),
      place: here,
      cut: state.get("off"),
      go,
      pick: (t) => state.set({ at: t }),
      toggle,
      append,
    };
    const address = addressOf(here);
    const before = shownPlace;
    const old = stage.shown;
    const scene = SCENES[level](view);
    const deeper = before !== null && address.startsWith(before) && address !== before;
    const outer = before !== null && before.startsWith(address) && address !== before;
    stage.set(scene, width, {
      inside: deeper ? old?.boxes(here) : null,
      around: outer ? scene.boxes(placeOf(before, { nLayer, nHead, T: 1e6, D: nEmbd, units: 4 * nEmbd })) : null,
    });
    shownPlace = address;
    const trail = wayTo(here, pass.tokens);
    crumbs.replaceChildren(
      ...trail.flatMap(({ name, place: to }, i) => [
        ...(i ? [" › "] : []),
        i + 1 < trail.length
          ? make("button", { type: "button", onclick: () => go(to) }, name)
          : make("b", { "aria-current": "location" }, name),
      ]),
    );
    const station = way[state.get("station")];
    if (!began) stage.showDepth(level || station === way[end] ? Infinity : station.depth);
    scrub.value = String(state.get("station"));
    line.replaceChildren(
      make("code", {}, station.code),
      ` ${station.path.replace("transformer.", "")}, chapter ${station.chapter}`,
    );
    say(scene.says ?? sentence(pass, at(), state.get("off")));
    read.replaceChildren(...inSentences(pass, at()).map((one) => make("li", {}, one)));
  };

  element.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !pass || !state.get("place")) return;
    event.preventDefault();
    go(outOf(place()));
  });
  new ResizeObserver(() => {
    const width = Math.floor(stage.element.clientWidth);
    if (pass && width && width !== stage.width) paint();
  }).observe(stage.element);

  return {
    nodes: [
      strip.element,
      crumbs,
      stage.element,
      make("div", { class: "flow-controls" }, play, scrub, step, write),
      line,
      read,
    ],
    show: async (latest) => {
      const text = state.get("text");
      if (!pass || pass.text !== text || pass.cut !== state.get("off").join(" ")) {
        const { ids, cut } = await model.encode(text, MOST);
        const off = state.get("off");
        const next = await readPass(model, {
          text,
          ids,
          key: "flow",
          switches: { headsOff: off },
          senses: V === 1024 && /\bcrane\b/i.test(text) ? senses : null,
        });
        if (!next || !latest()) return;
        if (written !== text) left = 0; // somebody else changed it
        was = pass;
        pass = { ...next, cut: off.join(" ") };
        strip.set([], { text, cut });
      }
      paint();
      write.textContent = left ? "stop" : "write on";
      clearTimeout(timer);
      if (left) timer = Number(setTimeout(choose, PACE));
    },
    table: () => (pass ? asTable(pass) : { caption: "", columns: [], rows: [] }),
  };
}

/**
 * @param {Pass} pass
 * @param {number} at
 * @param {string[]} off
 */
function sentence({ lens, tokens, next, nLayer }, at, off) {
  const [first, second] = next;
  const then = `What comes next: ${quoted(first.name)} (${fixed(first.p, 2)}), then ${quoted(second.name)} (${fixed(second.p, 2)}).`;
  if (off.length) return `Without head${off.length > 1 ? "s" : ""} ${off.join(", ")}. ${then}`;
  const early = lens[2]?.[at];
  const late = lens[2 * nLayer]?.[at];
  if (!early || !late) return then;
  return `After block 0 the model would say ${quoted(early.name)} at ${quoted(tokens[at])} (${fixed(early.p, 2)}), at the end ${quoted(late.name)} (${fixed(late.p, 2)}). ${then}`;
}
