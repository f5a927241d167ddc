// One pass: the whole model as one picture, from the text to what comes next, down to one product.

import { make } from "../exhibits/dom.mjs";
import { nextTask } from "../tasks.mjs";
import { Crumbs } from "./crumbs.mjs";
import { deeper } from "./deeper.mjs";
import { arrive as arrives } from "./arrival.mjs";
import { changed, declare } from "./declared.mjs";
import { asTable, outcome, untouched } from "./pass.mjs";
import { addressOf, levelOf, outOf, placeOf, wayTo } from "./place.mjs";
import { Lines } from "./lines.mjs";
import { Player } from "./player.mjs";
import { Stage } from "./stage.mjs";
import { fromStored, gpt2Runs } from "./stored.mjs";
import { Texts } from "./texts.mjs";
import { whole } from "./whole.mjs";
import { turned, Writer } from "./writer.mjs";

/** @import { Pass } from "./pass.mjs" */
/** @import { Place } from "./place.mjs" */
/** @import { View } from "./scenes.mjs" */

/** @type {import("../exhibits/exhibit.mjs").Kind} */
export function flow(page) {
  const { settings, state, model, say, element, complain } = page;
  const sizes = model.loaded?.config ?? settings.sizes; // it waits where no passes are stored
  const { nLayer, nHead, nEmbd: C, vocabSize: V, llama = null } = sizes;
  const { headSize: D = C / nHead, nInner: units = 4 * C } = sizes;
  const heads = Array.from({ length: nLayer * nHead }, (_, i) => {
    return `${Math.floor(i / nHead)}.${i % nHead}`;
  });
  /** @type {Pass[]} */
  const stored = (settings.passes ?? []).map(fromStored);
  declare(state, settings);

  /** @type {Pass | null} */
  let pass = null;
  /** @type {Pass | null} */
  let was = null;
  let answered = ""; // what the pass answers
  let goes = false; // a reader, to another place
  /** @type {string | null} */
  let shownPlace = null;
  /** @type {Awaited<ReturnType<typeof deeper>> | null} */
  let deep = null;
  /** @type {import("./tools.mjs").Tools | null} */
  let tools = null;

  /** @param {Record<string, any>} changes */
  const begin = (changes) => {
    player.stop();
    const whole = { at: -1, place: "", station: -1, set: [], versus: "", run: 0, learned: 0 };
    state.set({ ...whole, ...changes });
  };
  const texts = new Texts(settings, state.get("text"), begin);
  const { strip } = texts;
  const crumbs = new Crumbs((to) => go(to));
  const stage = new Stage();
  /** @type {string[]} */
  const chapters = settings.chapters ?? Array.from(document.querySelectorAll(".ribbon a"), String);
  const player = new Player(state, stage, chapters, settings.plays);
  stage.keep(element.querySelector(".flow-stage"), `${model.loaded?.name} reads the text …`);
  const latestPass = async () => {
    if (elsewhere()) complain(pass?.only);
    else if (!pass?.shares) await compute(() => true);
    return elsewhere() ? null : pass;
  };
  const writer = new Writer(page, stage, latestPass);
  const onclick = () => void arrive().then((tools) => tools.tour.begin(), complain);
  const tour = make("button", { class: "flow-tour-open", onclick }, "Take the tour");
  tour.append(make("span", {}, ": two minutes"));
  const lines = new Lines(page, texts, tour);
  if (settings.plays && !model.loaded?.own) {
    const turn = async (/** @type {() => boolean} */ may) => (await arrive()).turn.begin(may);
    const own = { passes: stored, field: strip.input, begin, lines, warm: () => warm() };
    player.arrival = () => arrives(player, { ...own, turn: settings.space && turn });
  }
  const [above, under, below] = ["above", "under", "below"].map((name) =>
    make("div", { class: `flow-${name}` }),
  );

  /** What goes deeper than the whole, and what changes a pass: it comes when somebody is near. */
  const arrive = async () => {
    deep ??= await deeper(settings);
    stage.fly = deep.fly;
    if (tools) return tools;
    const forget = () => (answered = "");
    const more = { sizes, stage: stage.element, stored, cut, begin, go, latest: latestPass };
    const own = { open: tour, text: settings.passes?.[0].text ?? "", field: strip.input };
    const guided = { ...own, who: lines.who, writer, chapters, player, stage };
    tools = new deep.Tools(page, { ...more, forget, repaint: () => paint(), tour: guided });
    writer.dart = tools.dart;
    above.before(tools.tour.card);
    above.append(...tools.above);
    under.append(...tools.under);
    below.append(...tools.below);
    return tools;
  };
  /** Whether the pass is a stored one of another model. */
  const elsewhere = () => state.get("run") || state.get("learned");
  const cut = () => (elsewhere() ? [] : heads.filter((one) => state.get("off").includes(one)));
  const at = () => {
    const last = /** @type {Pass} */ (pass).ids.length - 1;
    return state.get("at") < 0 ? last : Math.min(state.get("at"), last);
  };
  const place = (/** @type {string} */ address = state.get("place")) => {
    const { ids, nLayer, nHead } = /** @type {Pass} */ (pass);
    return placeOf(address, { nLayer, nHead, T: ids.length, D, units, V, C, llama });
  };
  const go = (/** @type {Place} */ to) => {
    player.stop();
    goes = true;
    if (tools) tools.hover = tools.sought = tools.nth = -1;
    crumbs.go(addressOf(to), state);
  };
  const toggle = (/** @type {string} */ name) => {
    if (elsewhere()) return complain(pass?.only);
    const off = cut();
    const less = off.filter((one) => one !== name);
    state.set({ bug: "", off: less.length < off.length ? less : [...off, name] });
  };
  const append = (/** @type {number} */ id, rest = "") => {
    if (elsewhere()) complain(pass?.only);
    else writer.append(id, rest).catch(complain);
  };

  /** What a pass depends on. @param {number} nth  of GPT-2's own; 0: none */
  const askedFor = (nth) => JSON.stringify([state.get("text"), nth, cut(), tools?.asked]);

  /**
   * The pass that the state asks for: stored, or computed by the model.
   * @param {() => boolean} latest
   * @returns {Promise<boolean>}  false: a newer request took its place
   */
  const find = async (latest) => {
    const [text, nth] = [state.get("text"), state.get("run")];
    const asked = askedFor(nth);
    if (asked === answered && pass) return true;
    const own = nth ? (await arrive(), await gpt2Runs())[nth - 1] : await tools?.learned?.pass();
    const here = !model.loaded && !cut().length && !changed(state, settings);
    const known = own ?? (here && stored.find((one) => one.text === text));
    if (!known) return compute(latest);
    if (!latest()) return false;
    [was, pass, answered] = [pass, known, asked];
    strip.set([], { text: known.text });
    return true;
  };

  /** @param {() => boolean} latest @param {number} [open]  the block that is looked into */
  const compute = async (latest, open) => {
    const { config } = await model.ready();
    const own = [config.nLayer, config.nHead, config.vocabSize, config.nInner, config.headSize];
    if (`${own}` !== `${[nLayer, nHead, V, units, D]}` || !config.llama !== !llama) {
      if (stage.element.isConnected) page.again(); // the reader's own model has come
      return false;
    }
    const computer = await arrive();
    if (!latest()) return false; // else it would take the place of the newer request
    const [text, asked] = [state.get("text"), askedFor(0)];
    const computed = await computer.compute(text, open);
    if (!computed || !latest()) return false;
    [was, pass, answered] = [pass, computed.pass, asked];
    strip.set([], { text, cut: computed.cut });
    return true;
  };

  /** What is known, as a scene. */
  const compose = () => {
    if (!pass || !stage.element.isConnected) return null;
    const [here, seen] = [place(), tools?.dart.seen(pass) ?? pass];
    /** @type {View} */
    const view = {
      pass: seen,
      was,
      ...stage.size(seen),
      at: at(),
      place: here,
      cut: cut(),
      sizes: model.loaded?.config ?? sizes,
      step: state.get("step"),
      boxes: model.loaded?.own ? undefined : settings.boxes,
      setStep: (step) => state.set({ step }),
      upTo: (depth) => player.upTo(depth),
      go,
      pick: (t) => state.set({ at: t }),
      exchange: (t) => void arrive().then(({ swap }) => swap.open(t), complain),
      toggle,
      append,
      colour: (name) => stage.colour(name),
      folded: deep?.folded,
      ...(tools?.view(seen, here) ?? untouched(seen)),
    };
    const kind = deep && here.block !== undefined ? deep.sceneOf(here) : whole;
    return { pass, here, seen, width: view.width, scene: kind(view) };
  };

  /** @param {ReturnType<typeof compose>} made */
  const draw = (made) => {
    if (!made) return;
    const { pass, here, seen, width, scene } = made;
    const [address, before, old] = [addressOf(here), shownPlace, stage.shown];
    const deeper = before !== null && address.startsWith(before) && address !== before;
    const outer = before !== null && before.startsWith(address) && address !== before;
    stage.set(scene, width, {
      inside: deeper ? old?.boxes(here) : null,
      around: outer ? scene.boxes(place(before)) : null,
    });
    shownPlace = address;
    writer.place(scene.knob);
    if (state.get("learned")) texts.open(true);
    crumbs.show(wayTo(here, pass.tokens));
    const top = !levelOf(here);
    stage.element.classList.toggle("stored", Boolean(pass.only));
    const comes = before === null ? location.hash !== "" : goes && !state.get("tour");
    if (address !== before) stage.enter(element, !top, comes);
    texts.own(model.loaded?.from);
    const how = { at: at(), other: tools?.other, writes: writer.left > 0 };
    player.answer = lines.set(seen, how, scene.tells);
    player.result.classList.toggle("deep", !top);
    stage.element.classList.toggle("unread", top && lines.unread !== ""); // its numbers mean little
    const path = player.set(pass.nLayer, Boolean(llama) && !pass.only);
    tour.hidden = !settings.passes || Boolean(model.loaded?.own);
    tools?.tour.set(pass);
    tools?.set(pass, here, at(), path);
    const wrong = tools?.bug && !pass.only ? `With the bug “${tools.bug}”. ` : "";
    const came = tools?.says(pass, at()) ?? "";
    const all = `${lines.unread} ${wrong}${came || outcome(pass, at())} ${pass.only ?? ""}`;
    say((scene.says ? `${came} ${scene.says}` : all).trim());
    if (goes) crumbs.focus(stage.svg, before ?? "", player.buttons);
    if (goes) player.watch();
    goes = false;
  };

  /** Paint what is known: after a pass, another place, another width. */
  const paint = () => draw(compose());

  /** The same in short tasks, where it is not to be seen yet. @param {() => boolean} latest */
  const unfold = async (latest) => {
    const unseen = element.hasAttribute("data-new");
    if (unseen) await nextTask();
    const made = compose();
    if (made && unseen) await stage.unfold(made.scene, made.width);
    if (latest()) draw(made);
  };

  element.onkeydown = (event) => {
    if (event.key !== "Escape" || !pass || !state.get("place")) return;
    event.preventDefault();
    go(outOf(place()));
  };
  // Who comes near may want more than what is stored; an error is told where the model is needed.
  const near = ["pointerenter", "focusin"];
  const warm = () => {
    for (const sign of near) element.removeEventListener(sign, warm);
    model.ready().catch(() => {});
    arrive().then(paint, () => {});
  };
  for (const sign of near) element.addEventListener(sign, warm);
  stage.watch(paint);

  return {
    names: true,
    nodes: [
      strip.element,
      above,
      make("div", { class: "flow-top" }, crumbs.element, lines.legend, lines.who),
      player.element,
      make("div", { class: "flow-controls" }, ...player.controls, ...writer.buttons, player.turn),
      player.line,
      page.sentence,
      under,
      writer.forks,
      below,
      lines.told,
    ],
    show: async (latest) => {
      if (changed(state, settings)) await arrive();
      if (!(await find(latest)) || !latest()) return;
      const { block: open } = place();
      const more = open !== undefined || state.get("versus") || state.get("space") || turned(state);
      const known = pass?.tensor?.(Number(open) < nLayer ? `transformer.h.${open}.ln_1` : "ln_f");
      if (more && !elsewhere() && !known && !(await compute(latest, open))) return;
      const ready = !tools || (pass && (await tools.prepare(pass, place(), at(), stage.room)));
      if (!ready || !latest()) return;
      const worded = pass?.tensor && !pass.whole; // it is to have whole words
      if (settings.tensors && !tools) await arrive().finally(() => unfold(latest));
      else if (!worded || !element.hasAttribute("data-new")) await unfold(latest); // unseen, it waits for them
      if (!latest()) return;
      if (pass) await tools?.panels?.set(pass, at(), latest);
      writer.next();
      if (!pass || !worded) return;
      const withWords = await deep?.wholeWords(model, pass);
      if (!latest()) return;
      pass = withWords ?? pass;
      await unfold(latest);
    },
    table: () => (pass ? asTable(pass) : { caption: "", columns: [], rows: [] }),
  };
}
