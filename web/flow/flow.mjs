// One pass: the whole model as one picture, from the text to what comes next, and into every part of
// it down to a single product.

import { make } from "../exhibits/dom.mjs";
import { Strip } from "../exhibits/strip.mjs";
import { Crumbs } from "./crumbs.mjs";
import { editsOf, Hand } from "./hand.mjs";
import { STEPS } from "./head.mjs";
import { Shelf } from "./parts.mjs";
import { asTable, inSentences, outcome, readPass, wholeWords } from "./pass.mjs";
import { sensesOf } from "../exhibits/world.mjs";
import { Mine } from "./mine.mjs";
import { panels } from "./panels.mjs";
import { addressOf, levelOf, outOf, placeOf, wayTo } from "./place.mjs";
import { Player } from "./player.mjs";
import { sceneOf } from "./scenes.mjs";
import { Stage } from "./stage.mjs";
import { fromStored, gpt2Runs, runsAsChips } from "./stored.mjs";
import { Swap } from "./swap.mjs";
import { Tour } from "./tour.mjs";
import { saysOf, Versus } from "./versus.mjs";
import { Writer } from "./writer.mjs";

/** @import { Pass } from "./pass.mjs" */
/** @import { Place } from "./place.mjs" */
/** @import { View } from "./scenes.mjs" */

const MOST = 128; // tokens
const STORED =
  "GPT-2’s attention and next words are stored with the page, its stream is not: lanes stay grey, and heads cannot be cut. ";

/** @type {import("../exhibits/exhibit.mjs").Kind} */
export function flow(page) {
  const { settings, state, model, say, element, complain } = page;
  const sizes = model.loaded?.config ?? settings.sizes; // it waits where no passes are stored
  const { nLayer, nHead, nEmbd, vocabSize: V } = sizes;
  const heads = Array.from({ length: nLayer * nHead }, (_, i) => {
    return `${Math.floor(i / nHead)}.${i % nHead}`;
  });
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

  /** @type {Pass | null} */
  let pass = null;
  /** @type {Pass | null} */
  let was = null;
  let answered = ""; // what the pass answers
  /** @type {{of: string, pass: Pass} | null} */
  let clean = null; // the last pass without a number set by hand
  /** @type {string | null} */
  let shownPlace = null;
  const shelf = new Shelf(model);
  const versus = new Versus(model, state, stored, settings.chips ?? []);
  /** @type {Pass | null} */
  let other = null; // that the pass is compared with
  /** @type {import("./parts.mjs").Parts & {of?: string}} */
  let parts = {}; // of the weights, for the place
  let [hover, filling] = [-1, false]; // an output of a matrix

  /** @param {Record<string, any>} changes */
  const begin = (changes) => {
    player.stop();
    state.set({ at: -1, place: "", station: -1, set: [], versus: "", ...changes });
  };
  const hand = new Hand(state, sizes);
  const strip = new Strip({
    value: state.get("text"),
    chips: settings.chips,
    onText: (text) => begin({ text, run: 0 }),
  });
  strip.chips.before(strip.input); // the field first
  const runs = runsAsChips(settings.gpt2, (nth) => begin({ run: nth, off: [] }));
  const crumbs = new Crumbs((to) => go(to));
  const stage = new Stage();
  const player = new Player(state, stage, settings.chapters);
  const mine = settings.tensors ? new Mine(stage.element, complain) : null;
  const latestPass = async () => {
    if (state.get("run")) complain(STORED);
    else if (!pass?.shares) await compute(() => true);
    return state.get("run") ? null : pass;
  };
  const writer = new Writer(page, stage, latestPass);
  const swap = new Swap(model, { latest: latestPass, begin, complain });
  if (settings.plays) player.playOnce();
  const tour = new Tour(state, {
    text: settings.passes?.[0].text ?? "",
    field: strip.input,
    writer,
    chapters: settings.chapters,
  });
  const told = make("ol", { class: "aloud" });
  const switches = () => ({ headsOff: cut() });
  const { patch, ...below } = panels(page, { switches, forget: () => (answered = "") });

  const cut = () => (state.get("run") ? [] : heads.filter((one) => state.get("off").includes(one)));
  const at = () => {
    const last = /** @type {Pass} */ (pass).ids.length - 1;
    return state.get("at") < 0 ? last : Math.min(state.get("at"), last);
  };
  const place = (/** @type {string} */ address = state.get("place")) => {
    const { ids, nLayer, nHead } = /** @type {Pass} */ (pass);
    return placeOf(address, { nLayer, nHead, T: ids.length, D: nEmbd / nHead, units: 4 * nEmbd });
  };
  const go = (/** @type {Place} */ to) => {
    player.stop();
    hover = -1;
    state.set({ place: addressOf(to) });
  };
  const toggle = (/** @type {string} */ name) => {
    if (state.get("run")) return complain(STORED);
    const off = cut();
    const less = off.filter((one) => one !== name);
    state.set({ bug: "", off: less.length < off.length ? less : [...off, name] });
  };
  const append = (/** @type {number} */ id) => {
    if (state.get("run")) complain(STORED);
    else writer.append(id).catch(complain);
  };

  /** What a pass depends on. @param {number} nth  of GPT-2's own; 0: none */
  const askedFor = (nth) => {
    const changed = [cut(), patch?.asked, state.get("set"), state.get("bug")];
    return JSON.stringify([state.get("text"), nth, ...changed]);
  };

  /**
   * The pass that the state asks for: stored, or computed by the model.
   * @param {() => boolean} latest
   * @returns {Promise<boolean>}  false: a newer request took its place
   */
  const find = async (latest) => {
    const [text, nth] = [state.get("text"), state.get("run")];
    const asked = askedFor(nth);
    if (asked === answered && pass) return true;
    const own = nth ? (await gpt2Runs())[nth - 1] : null;
    const plain = !cut().length && !patch && !state.get("set").length && !state.get("bug");
    const here = !model.loaded && plain;
    const known = own ?? (here && stored.find((one) => one.text === text));
    if (!known) return compute(latest);
    if (!latest()) return false;
    [was, pass, answered] = [pass, known, asked];
    strip.set([], { text: known.text });
    return true;
  };

  /** @param {string} text @param {number[]} ids @param {string} key @param {string[]} [off] */
  const ask = (text, ids, key, off) => {
    const bug = off ? "" : state.get("bug");
    return { text, ids, key, switches: { headsOff: off ?? cut() }, senses: sensesOf(text), bug };
  };

  /** @param {() => boolean} latest @param {number} [open]  the block that is looked into */
  const compute = async (latest, open) => {
    const text = state.get("text");
    const asked = askedFor(0);
    const { config } = await model.ready();
    if (config.nLayer !== nLayer || config.nHead !== nHead || config.vocabSize !== V) {
      page.again(); // the reader's own model has come
      return false;
    }
    const { ids, cut: missing } = await model.encode(text, MOST);
    const given = patch ? await patch.edits(switches()) : {};
    if (!given) return false;
    const cells = state.get("bug") ? [] : hand.cells(ids.length);
    const request = { ...ask(text, ids, "flow"), open };
    const edits = { ...given, ...editsOf(cells, sizes, ids.length) };
    const computed = await readPass(model, { ...request, edits });
    if (!computed || !latest()) return false;
    const untouched = JSON.stringify([text, cut(), open]);
    if (!cells.length) clean = { of: untouched, pass: computed };
    else if (clean?.of !== untouched) {
      const without = await readPass(model, { ...request, key: "flow, clean" });
      if (!without || !latest()) return false;
      clean = { of: untouched, pass: without };
    }
    if (cells.length) computed.base = clean?.pass;
    [was, pass, answered] = [pass, computed, asked];
    strip.set([], { text, cut: missing });
    return true;
  };

  /** Paint what is known: after a pass, another place, another width. */
  const paint = () => {
    if (!pass) return;
    const here = place();
    const width = Math.max(280, Math.floor(stage.element.clientWidth || 960));
    /** @type {View} */
    const view = {
      pass: writer.dart.seen(pass),
      was,
      other,
      width,
      at: at(),
      place: here,
      parts: parts.of === addressOf(here) ? parts : {},
      hover,
      filling,
      setHover: (output, fills = false) => {
        if (hover === output && filling === fills) return;
        [hover, filling] = [output, fills && output >= 0];
        paint();
      },
      cut: cut(),
      cells: hand.cells(pass.ids.length),
      sizes,
      step: state.get("step"),
      setStep: (step) => state.set({ step }),
      go,
      pick: (t) => state.set({ at: t }),
      exchange: (t) => swap.open(t),
      toggle,
      append,
      patch,
    };
    const [address, before, old] = [addressOf(here), shownPlace, stage.shown];
    const scene = sceneOf(here)(view);
    const deeper = before !== null && address.startsWith(before) && address !== before;
    const outer = before !== null && before.startsWith(address) && address !== before;
    stage.set(scene, width, {
      inside: deeper ? old?.boxes(here) : null,
      around: outer ? scene.boxes(place(before)) : null,
    });
    shownPlace = address;
    crumbs.show(wayTo(here, pass.tokens));
    mine?.set(player.set(pass.nLayer, !levelOf(here)));
    tour.set(pass);
    tour.open.hidden ||= !settings.passes || Boolean(model.loaded?.own);
    hand.set(pass, here, at());
    swap.set(pass, !levelOf(here));
    const bug = state.get("bug");
    const touched = bug || cut().length + hand.cells(pass.ids.length).length > 0;
    versus.set(pass, { other, whole: !levelOf(here), touched });
    const byHand = hand.says(pass);
    const differs = other && saysOf(pass, other, at());
    const wrong = bug && `With the bug “${bug}”. `;
    const known = state.get("run") ? STORED : wrong;
    const changed = differs || byHand || patch?.says(pass);
    const came = known + (changed || outcome(pass, at(), cut()));
    say(scene.says ? `${scene.says} ${byHand}` : came);
    told.replaceChildren(...inSentences(pass, at()).map((one) => make("li", {}, one)));
  };

  element.onkeydown = (event) => {
    if (event.key !== "Escape" || !pass || !state.get("place")) return;
    event.preventDefault();
    go(outOf(place()));
  };
  // Who comes near may want more than what is stored; an error is told where the model is needed.
  const warm = () => model.ready().catch(() => {});
  for (const near of ["pointerenter", "focusin"]) {
    element.addEventListener(near, warm, { once: true });
  }
  new ResizeObserver(() => {
    const width = Math.floor(stage.element.clientWidth);
    if (pass && width && width !== stage.width) paint();
  }).observe(stage.element);

  return {
    nodes: [
      strip.element,
      ...(patch ? [patch.element] : []),
      runs,
      make("div", { class: "flow-top" }, crumbs.element, tour.open),
      tour.card,
      swap.element,
      stage.element,
      versus.element,
      hand.element,
      make("div", { class: "flow-controls" }, player.button, player.slider, ...writer.buttons),
      player.line,
      writer.dart.element,
      writer.forks,
      ...(mine ? [mine.element] : []),
      ...below.nodes,
      told,
    ],
    show: async (latest) => {
      if (!(await find(latest)) || !latest()) return;
      const { block: open } = place();
      const more = open !== undefined || state.get("versus") || writer.dart.turned;
      const deep = more && !state.get("run");
      const known = pass?.tensor?.(open === undefined ? "embd" : `transformer.h.${open}.ln_1`);
      if (deep && !known && !(await compute(latest, open))) return;
      const wanted = pass && (await shelf.wanted(pass, place(), at()));
      if (!wanted || !latest()) return;
      other = await versus.find(/** @type {Pass} */ (pass), ask);
      if (!latest()) return;
      parts = { ...wanted, of: addressOf(place()) };
      paint();
      if (pass) await below.set(pass, at(), latest);
      writer.next();
      if (!pass?.tensor || pass.whole) return;
      const whole = await wholeWords(model, pass);
      if (!whole || !latest()) return;
      pass = whole;
      paint();
    },
    table: () => (pass ? asTable(pass) : { caption: "", columns: [], rows: [] }),
  };
}
