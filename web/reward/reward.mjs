// Chapter 23: a model writes groups of stories, each gets a reward, and the model learns from it in the
// page. One sees what rises, and what it costs. Nothing is fetched or started before a reader presses
// “learn”.

import { paced } from "../learn/pace.mjs";
import { html, render } from "lit/html.js";
import { fixed, labelled, make } from "../exhibits/dom.mjs";
import { inWords } from "../exhibits/model_choice.mjs";
import { Switchboard, choose, slider } from "../exhibits/switchboard.mjs";
import { PLOTS } from "../language/plots.mjs";
import { clock, count, percent } from "../learn/words.mjs";
import { Learner, smoothed } from "./drive.mjs";
import { BEGIN, kept, shipped } from "./models.mjs";
import { axis, drawn, measures, plots } from "./panels.mjs";
import { GROUPS, KINDS, REINS, planOf, problem } from "./settings.mjs";
import { texts } from "./texts.mjs";
import { told } from "./words.mjs";

/** @import { Curves } from "./drive.mjs" */
/** @import { Begun } from "./models.mjs" */
/** @import { Choice } from "./settings.mjs" */

const ROWS = 14; // of the table
const LONGEST = 40; // characters of a reader's word

/** @type {import("../exhibits/exhibit.mjs").Kind} */
export function reward({ settings, state, say, sentence, element }) {
  state.declare("reward", settings.kind ?? "right", { among: Object.keys(KINDS) });
  state.declare("word", settings.word ?? "fish");
  state.declare("rein", settings.rein ?? 0, { min: 0, max: REINS.at(-1) });
  state.declare("group", settings.group ?? 32, { min: GROUPS[0], max: GROUPS.at(-1), whole: true });
  state.declare("begin", "novice", { among: Object.keys(BEGIN) });
  const stored = /** @type {Curves[]} */ (settings.stored ?? []);
  const own = settings.entropy;
  const side = new Learner(0, (what) => changed(what));
  let before = /** @type {Curves | null} */ (null); // the reader's run before this one
  let trained = /** @type {Begun | null} */ (null); // by the reader
  let round = 0; // of presses that begin or end a run
  let trouble = "";

  const controls = new Switchboard(
    state,
    [
      choose("reward", "It is rewarded for", Object.entries(KINDS)),
      slider("rein", "rein β", { stops: REINS }),
      slider("group", "stories in a group", { stops: GROUPS, decimals: 0 }),
      choose("begin", "It begins as", Object.entries(BEGIN)),
    ],
    "what it learns",
  );
  const typed = make("input", {
    type: "text",
    maxlength: String(LONGEST),
    oninput: () => state.set({ word: typed.value }),
  });
  const word = labelled("the word", typed);
  controls.element.children[0].after(word);
  const choices = make(
    "fieldset",
    { class: "choices", "aria-label": "what it learns" },
    controls.element,
  );
  const [bar, curves, newest] = ["run-bar", "curves", "writes"].map((name) =>
    make("div", { class: name }),
  );
  bar.setAttribute("role", "group");
  bar.setAttribute("aria-label", "the run");

  /** @returns {Choice} */
  const choice = () => {
    const [kind, rein, group] = state.all("reward", "rein", "group");
    return { kind, word: state.get("word").slice(0, LONGEST), rein, group };
  };
  /** What the run was asked for, or the next one will be. */
  let asked = choice();

  /** @param {() => Promise<void>} what */
  async function act(what) {
    trouble = "";
    await what().catch((error) => (trouble = inWords(error)));
    paint();
  }

  async function learn() {
    if (side.state === "running") return side.pause();
    if (side.state === "paused") return side.go();
    const wrong = problem(choice());
    if (wrong) throw new Error(wrong);
    leave();
    asked = choice();
    const mine = ++round;
    side.become("making");
    paint();
    try {
      const begun = await model(state.get("begin"));
      if (mine !== round) return; // the reader went back
      await side.open(planOf(asked, begun), { keep: false, begun: /** @type {any} */ (begun) });
    } catch (error) {
      if (mine === round) side.clear();
      throw error;
    }
  }

  /** @param {keyof typeof BEGIN} which */
  async function model(which) {
    if (which !== "kept") return shipped(which);
    trained ??= await kept();
    if (!trained) {
      throw new Error(
        "This browser keeps no model that has learned Crane World’s stories: train one on the page Train one here.",
      );
    }
    return trained;
  }

  /** Back to the start: the model is what it was. The curves stay to be compared with. */
  function leave() {
    const { points } = side;
    if (points.length) before = { choice: asked, points };
    round++;
    side.clear();
  }

  const changed = paced(
    element,
    () => paint(),
    () => say(says()),
  );

  /** The dotted curves: the run before, or a stored one of the same choice, or the first stored. */
  function compared() {
    if (before) return before;
    const { kind, rein } = choice();
    const same = stored.filter((one) => one.choice.kind === kind);
    return same.find((one) => one.choice.rein === rein) ?? same[0] ?? null;
  }

  const says = () => told(side, asked, compared(), own, !before);

  function paint() {
    const live = side.plan !== null || side.state === "making";
    const { kind } = live ? asked : choice();
    const other = compared();
    const shown = { now: side.points, before: other?.points ?? [] };
    const same = other !== null && isSame(other.choice, live ? asked : choice());
    element.toggleAttribute("data-live", live);
    choices.toggleAttribute("disabled", live);
    controls.set();
    word.hidden = kind !== "word";
    if (typed.value !== state.get("word")) typed.value = state.get("word");
    render(buttons(live), bar);
    render(
      html`<div class="panels">
          ${plots(shown)} ${measures(kind, same, own).map((panel) => drawn(panel, shown))}
        </div>
        ${axis(shown)}`,
      curves,
    );
    render(side.newest ? texts(side.newest.texts, asked) : waiting(live), newest);
    sentence.textContent = [says(), side.says].filter(Boolean).join(" ");
  }

  /** @param {boolean} live */
  function buttons(live) {
    const { points, plan, reports } = side;
    const names = { making: "prepares …", running: "pause", paused: "go on" };
    const phase = side.state;
    // It keeps the focus, which a disabled button would lose.
    const idle = ["making", "done", "stopped", "diverged", "failed"].includes(phase);
    const readings = {
      groups: count(side.step),
      "stories marked": count(points.at(-1)?.n ?? 0),
      time: clock(reports.at(-1)?.ms ?? 0),
    };
    return html`<div class="buttons">
        <button
          type="button"
          class="main"
          data-phase=${phase}
          aria-disabled=${idle ? "true" : "false"}
          @click=${() => idle || act(learn)}
        >
          ${names[/** @type {keyof typeof names} */ (phase)] ?? "learn"}
        </button>
        <button type="button" ?hidden=${!live} @click=${() => act(async () => leave())}>
          back to the start
        </button>
      </div>
      <div class="readings">
        ${Object.entries(readings).map(
          ([name, value]) => html`<span><small>${name}</small><b>${value}</b></span>`,
        )}
      </div>
      ${live && plan ? html`<p class="soft">Go back to the start to choose anew; these curves stay, dotted.</p>` : ""}
      <p class="wrong" role="alert" ?hidden=${!trouble}>${trouble}</p>`;
  }

  /** @param {boolean} live */
  function waiting(live) {
    const text = live
      ? "The first group is on its way …"
      : "Here the newest stories appear, each with its reward: those above the mean of their group become likelier, those below it less likely.";
    return html`<p class="head">What it writes</p>
      <p class="soft">${text}</p>`;
  }

  return {
    nodes: [choices, bar, sentence, make("div", { class: "picture" }, curves, newest)],
    show: () => paint(),
    table: () => table(side, compared(), says()),
  };
}

/**
 * Whether two runs have the same reward.
 * @param {Pick<Choice, "kind" | "word">} one
 * @param {Pick<Choice, "kind" | "word">} other
 */
function isSame(one, other) {
  return one.kind === other.kind && (one.kind !== "word" || one.word === other.word);
}

/**
 * @param {Learner} side
 * @param {Curves | null} before
 * @param {string} caption
 */
function table(side, before, caption) {
  const points = side.points.length ? side.points : (before?.points ?? []);
  const every = Math.max(1, Math.ceil(points.length / ROWS));
  const kept = points.filter((_, i) => (points.length - 1 - i) % every === 0);
  const at = (/** @type {[number, number][]} */ line, /** @type {number} */ n) =>
    line.filter(([x]) => x <= n).at(-1)?.[1];
  const number = (/** @type {number | undefined} */ value, decimals = 2) =>
    value === undefined ? "" : fixed(value, decimals);
  const share = (/** @type {number | undefined} */ value) =>
    value === undefined ? "" : percent(value);
  const lines = {
    reward: smoothed(points, ({ reward }) => reward),
    right: smoothed(points, ({ right }) => right),
    entropy: smoothed(points, ({ entropy }) => entropy),
    divergence: smoothed(points, ({ divergence }) => divergence),
    nats: smoothed(points, ({ nats }) => nats),
    plots: PLOTS.map((_, i) => smoothed(points, ({ plots }) => plots?.[i])),
  };
  return {
    caption,
    columns: [
      "stories",
      "reward",
      "right",
      "entropy",
      "KL from the start",
      "KL from the truth",
      ...PLOTS,
    ],
    rows: kept.map(({ n }) => [
      count(n),
      number(at(lines.reward, n)),
      share(at(lines.right, n)),
      number(at(lines.entropy, n)),
      number(at(lines.divergence, n)),
      number(at(lines.nats, n)),
      ...lines.plots.map((line) => share(at(line, n))),
    ]),
  };
}
