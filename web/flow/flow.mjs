// One pass: the whole model as one picture, from the text to what comes next, and into every part of
// it down to a single product.

import { fixed, make, quoted } from "../exhibits/dom.mjs";
import { hit, ranked, thrower } from "../exhibits/knobs.mjs";
import { Strip } from "../exhibits/strip.mjs";
import { block } from "./block.mjs";
import { head, STEPS } from "./head.mjs";
import { mlp } from "./mlp.mjs";
import { asTable, inSentences, readPass, wholeWords } from "./pass.mjs";
import { addressOf, levelOf, outOf, placeOf, wayTo } from "./place.mjs";
import { product } from "./product.mjs";
import { Stage, still, timetable } from "./stage.mjs";
import { fromStored, gpt2Runs } from "./stored.mjs";
import { wayThrough } from "./way.mjs";
import { whole } from "./whole.mjs";

/** @import { Pass, Senses } from "./pass.mjs" */
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
 * @property {{nLayer: number, nHead: number, nEmbd: number, vocabSize: number}} sizes
 * @property {number} step  of a head: score, scale, mask, share, mix
 * @property {(step: number) => void} setStep
 * @property {(place: Place) => void} go
 * @property {(at: number) => void} pick  another token
 * @property {(head: string) => void} toggle  cut a head, or put it back
 * @property {(id: number) => void} append  a token to the text
 */
/**
 * What a scene makes of it: a picture, `height` px high.
 * @typedef {object} Scene
 * @property {number} height
 * @property {import("lit/html.js").TemplateResult} body
 * @property {(place: Place) => Box | null} boxes  where a deeper place lies in it
 * @property {string} [says]  in a sentence
 * @property {((depth: number) => number)} [along]  px along the way; without it nothing is played
 * @property {{points: [number, number][], many: number, from: number, to: number}[]} [beads]
 * @property {boolean} [vertical]
 */

const MOST = 128; // tokens
const LONG = 24; // tokens that are written in one go
const PACE = 600; // milliseconds between them
const OUTSIDE =
  "GPT-2’s attention and next words are stored with the page, its stream is not: lanes stay grey, and heads cannot be cut. ";

/**
 * @param {Place} place
 * @returns {(view: View) => Scene}
 */
function sceneOf(place) {
  if (place.block === undefined) return whole;
  if (place.mlp) return mlp;
  if (place.query !== undefined) return product;
  return place.head === undefined ? block : head;
}

/** @type {import("../exhibits/exhibit.mjs").Kind} */
export function flow(page) {
  const { settings, state, model, say, element, complain } = page;
  const sizes = model.loaded?.config ?? settings.sizes;
  const { nLayer, nHead, nEmbd, vocabSize: V } = sizes;
  const names = Array.from(
    { length: nLayer * nHead },
    (_, i) => `${Math.floor(i / nHead)}.${i % nHead}`,
  );
  /** @type {Pass[]} */
  const stored = (settings.passes ?? []).map(fromStored);
  state.declare("text", settings.text);
  state.declare("at", -1, { min: -1, max: MOST - 1, whole: true }); // -1: the last token
  state.declare("off", []); // heads that are cut
  state.declare("place", settings.place ?? "", { typed: false });
  state.declare("station", -1, { min: -1, max: 1e4, whole: true }); // -1: the whole way
  state.declare("run", 0, { min: 0, max: 5, whole: true }); // of GPT-2's own; 0: none
  state.declare("step", 3, { min: 0, max: STEPS.length - 1, whole: true }); // of a head
  state.declare("seed", 0, { min: 0, max: 1e9, whole: true });

  const strip = new Strip({
    value: state.get("text"),
    chips: settings.chips,
    onText: (text) => other({ text, run: 0 }),
  });
  strip.chips.before(strip.input); // the field first
  const gpt2 = make(
    "div",
    { class: "chips", role: "group", "aria-label": "what GPT-2 124M did" },
    make("span", { class: "soft" }, "GPT-2 itself:"),
    ...(settings.gpt2 ?? []).map((/** @type {string} */ text, /** @type {number} */ i) =>
      make("button", { type: "button", onclick: () => other({ run: i + 1, off: [] }) }, text),
    ),
  );
  gpt2.hidden = !settings.gpt2;
  const other = (/** @type {Record<string, any>} */ changes) => {
    stop();
    state.set({ at: -1, place: "", station: -1, ...changes });
  };
  const crumbs = make("nav", { class: "flow-crumbs", "aria-label": "where you are in the model" });
  const stage = new Stage();
  const play = make("button", { type: "button", class: "flow-play", onclick: () => run() }, "play");
  const scrub = make("input", {
    type: "range",
    min: "0",
    "aria-label": "how far the pass has come",
    oninput: () => (
      stop(),
      state.set({ station: scrub.value === scrub.max ? -1 : Number(scrub.value) })
    ),
  });
  const line = make("p", { class: "soft flow-line" });
  const step = make("button", { type: "button", onclick: () => writeOn(1) }, "one token");
  const write = make(
    "button",
    { type: "button", onclick: () => writeOn(left ? 0 : LONG) },
    "write on",
  );
  const fork = make(
    "button",
    { type: "button", hidden: true, onclick: () => again() },
    "another way",
  );
  const forks = make("ol", { class: "flow-forks", hidden: true, "aria-label": "continuations" });
  const read = make("ol", { class: "aloud" });

  /** @type {Pass | null} */
  let pass = null;
  /** @type {Pass | null} */
  let was = null;
  let key = ""; // of what the pass answers
  let way = wayThrough(nLayer);
  let began = 0; // of what plays
  let frame = 0;
  let left = 0; // tokens that are still to be written
  let timer = 0;
  let written = ""; // the text with the last token that was appended
  let prompt = ""; // from which it was written on
  /** @type {string | null} */
  let shownPlace = null;

  const cut = () =>
    state.get("run") ? [] : names.filter((name) => state.get("off").includes(name));
  const at = () => {
    const last = /** @type {Pass} */ (pass).ids.length - 1;
    return state.get("at") < 0 ? last : Math.min(state.get("at"), last);
  };
  const place = (/** @type {string} */ address = state.get("place")) => {
    const { ids, nLayer, nHead } = /** @type {Pass} */ (pass);
    return placeOf(address, { nLayer, nHead, T: ids.length, D: nEmbd / nHead, units: 4 * nEmbd });
  };
  const go = (/** @type {Place} */ to) => {
    stop();
    state.set({ place: addressOf(to) });
  };
  const toggle = (/** @type {string} */ head) => {
    if (state.get("run")) return complain(OUTSIDE);
    const off = state.get("off");
    const rest = off.filter((/** @type {string} */ one) => one !== head);
    state.set({ off: rest.length < off.length ? rest : [...off, head] });
  };

  /** @param {number} id */
  const append = async (id) => {
    if (state.get("run")) return complain(OUTSIDE);
    const { tokenizer } = await model.ready();
    const more = tokenizer.decode([id]);
    if (id === tokenizer.eot || more.includes("\ufffd")) {
      left = 0;
      complain("Here the model would end its text.");
      return;
    }
    await stage.fling(id);
    written = state.get("text") + more;
    state.set({ text: written, at: -1, place: "", station: -1 });
  };
  const writeOn = (/** @type {number} */ many) => {
    left = many;
    stop();
    if (state.get("text") !== written) prompt = state.get("text");
    written = state.get("text");
    write.textContent = left > 1 ? "stop" : "write on";
    choose().catch(complain);
  };
  const choose = async () => {
    if (!left || !pass || !element.isConnected || state.get("run")) return;
    if (!pass.shares) await compute(() => true);
    if (!left || !pass?.shares) return;
    left--;
    const dart = thrower(1000 * state.get("seed") + pass.ids.length)(); // the same for the same text
    await append(hit(dart, pass.shares, ranked(pass.shares)));
    if (!left) write.textContent = "write on";
  };
  /** From the same prompt once more, with other darts; what was written stays below. */
  const again = () => {
    const text = state.get("text");
    const begin = prompt;
    const back = make("button", { type: "button", onclick: () => state.set({ text, at: -1 }) });
    back.append(begin, make("mark", {}, text.slice(begin.length)));
    forks.append(make("li", {}, back));
    forks.hidden = false;
    written = begin;
    state.set({ text: begin, at: -1, seed: state.get("seed") + 1 });
    setTimeout(() => writeOn(LONG), PACE);
  };

  const stop = () => {
    cancelAnimationFrame(frame);
    began = 0;
    play.textContent = "play";
  };
  const run = () => {
    if (began || !pass) return stop();
    if (still()) {
      const now = state.get("station");
      state.set({ station: now === way.length - 2 ? -1 : now + 1 });
      return;
    }
    if (state.get("place")) state.set({ place: "" });
    const times = timetable(pass.nLayer);
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
        state.set({ station: -1 });
      }
    };
    frame = requestAnimationFrame(tick);
  };

  /**
   * The pass that the state asks for: stored, or computed by the model.
   * @param {() => boolean} latest
   * @returns {Promise<boolean>}  false: a newer request took its place
   */
  const find = async (latest) => {
    const [text, nth] = [state.get("text"), state.get("run")];
    const wanted = JSON.stringify([text, nth, cut()]);
    if (wanted === key && pass) return true;
    const own = nth ? (await gpt2Runs())[nth - 1] : null;
    const known =
      own ?? (!model.loaded && !cut().length && stored.find((one) => one.text === text));
    if (!known) return compute(latest);
    if (!latest()) return false;
    [was, pass, key] = [pass, known, wanted];
    strip.set([], { text: own ? own.text : text });
    return true;
  };

  /** @param {() => boolean} latest */
  const compute = async (latest) => {
    const text = state.get("text");
    const wanted = JSON.stringify([text, 0, cut()]);
    const { config, tokenizer } = await model.ready();
    if (config.nLayer !== nLayer || config.nHead !== nHead || config.vocabSize !== V) {
      page.again(); // the reader's own model has come
      return false;
    }
    const { ids, cut: missing } = await model.encode(text, MOST);
    const next = await readPass(model, {
      text,
      ids,
      key: "flow",
      switches: { headsOff: cut() },
      senses: sensesOf(text, tokenizer, V === 1024 && settings.senses),
    });
    if (!next || !latest()) return false;
    if (written !== text) left = 0; // somebody else changed it
    [was, pass, key] = [pass, next, wanted];
    strip.set([], { text, cut: missing });
    return true;
  };

  /** Paint what is known: after a pass, another place, another width. */
  const paint = () => {
    if (!pass) return;
    const here = place();
    const level = levelOf(here);
    const width = Math.max(280, Math.floor(stage.element.clientWidth || 960));
    way = wayThrough(pass.nLayer);
    /** @type {View} */
    const view = {
      pass,
      was,
      width,
      at: at(),
      place: here,
      cut: cut(),
      sizes,
      step: state.get("step"),
      setStep: (step) => state.set({ step }),
      go,
      pick: (t) => state.set({ at: t }),
      toggle,
      append: (id) => append(id).catch(complain),
    };
    const address = addressOf(here);
    const before = shownPlace;
    const old = stage.shown;
    const scene = sceneOf(here)(view);
    const deeper = before !== null && address.startsWith(before) && address !== before;
    const outer = before !== null && before.startsWith(address) && address !== before;
    stage.set(scene, width, {
      inside: deeper ? old?.boxes(here) : null,
      around: outer ? scene.boxes(place(before)) : null,
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
    const nth = state.get("station");
    const station = way.at(Math.min(nth, way.length - 1)) ?? way[0];
    if (!began)
      stage.showDepth(level || nth < 0 || nth >= way.length - 1 ? Infinity : station.depth);
    scrub.max = String(way.length - 1);
    scrub.value = String(way.indexOf(station));
    line.replaceChildren(
      make("code", {}, station.code),
      ` ${station.path.replace("transformer.", "")}, chapter ${station.chapter}`,
    );
    say(scene.says ?? (state.get("run") ? OUTSIDE : "") + sentence(pass, at(), cut()));
    read.replaceChildren(...inSentences(pass, at()).map((one) => make("li", {}, one)));
    fork.hidden = !prompt || !state.get("text").startsWith(prompt) || state.get("text") === prompt;
  };

  element.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !pass || !state.get("place")) return;
    event.preventDefault();
    go(outOf(place()));
  });
  const warm = () => model.ready().catch(() => {}); // it is asked for again where it is needed
  for (const kind of ["pointerenter", "focusin"])
    element.addEventListener(kind, warm, { once: true });
  new ResizeObserver(() => {
    const width = Math.floor(stage.element.clientWidth);
    if (pass && width && width !== stage.width) paint();
  }).observe(stage.element);

  return {
    nodes: [
      strip.element,
      gpt2,
      crumbs,
      stage.element,
      make("div", { class: "flow-controls" }, play, scrub, step, write, fork),
      line,
      forks,
      read,
    ],
    show: async (latest) => {
      if (!(await find(latest)) || !latest()) return;
      const deep = levelOf(place()) > 0 && !state.get("run");
      if (deep && !pass?.tensor && !(await compute(latest))) return;
      paint();
      if (pass?.tensor && !pass.whole) {
        const whole = await wholeWords(model, pass);
        if (!whole || !latest()) return;
        pass = whole;
        paint();
      }
      write.textContent = left > 1 ? "stop" : "write on";
      clearTimeout(timer);
      if (left) timer = Number(setTimeout(() => choose().catch(complain), PACE));
    },
    table: () => (pass ? asTable(pass) : { caption: "", columns: [], rows: [] }),
  };
}

/**
 * What a crane does in either sense, by the first tokens; null where the text has no crane.
 * @param {string} text
 * @param {{encode: (text: string) => number[]}} tokenizer
 * @param {Record<string, string[]> | false | undefined} deeds
 * @returns {Senses | null}
 */
function sensesOf(text, tokenizer, deeds) {
  if (!deeds || !/\bcrane\b/i.test(text)) return null;
  const first = (/** @type {string} */ deed) => tokenizer.encode(` ${deed}`)[0];
  return Object.fromEntries(Object.entries(deeds).map(([sense, all]) => [sense, all.map(first)]));
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
