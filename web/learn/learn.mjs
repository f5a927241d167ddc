// Train one here: a GPT-2 that learns in the page, with what one sees of it. Nothing is fetched or
// started before a reader presses “train”.

import { paced } from "./pace.mjs";
import { fixed, make } from "../exhibits/dom.mjs";
import { inWords } from "../exhibits/model_choice.mjs";
import { Bar } from "./bar.mjs";
import { Chart } from "./chart.mjs";
import { Choices } from "./choices.mjs";
import { Side, extended } from "./drive.mjs";
import { before, left, remember } from "./estimate.mjs";
import { Kept } from "./kept.mjs";
import { EXPERIMENTS } from "./experiments.mjs";
import { Inside } from "./look.mjs";
import { keptRun, runs } from "./start.mjs";
import { Stories } from "./stories.mjs";
import { Takeaway } from "./takeaway.mjs";
import { both, count, lossText, percent, standing } from "./words.mjs";

/** @import { Saved } from "./drive.mjs" */

const ROWS = 14; // of the table
const JUDGED = ["read by the judge", "right of 20"]; // columns of it
const HEADER = 48; // px that the page's head covers

/** @type {import("../exhibits/exhibit.mjs").Kind} */
export function learn(page) {
  const { settings, element, sentence } = page;
  const sides = [0, 1].map((slot) => new Side(slot, (what) => changed(what)));
  const choices = new Choices({ ...page, complain: refuse }, () => paint());
  const present = () => (sides[1].plan ? sides : sides.slice(0, 1));
  const bar = new Bar({ train: () => act(train), stop: () => act(stop), rate });
  const place = make("div", {
    class: "chart",
    tabindex: "0",
    role: "group",
    "aria-label": "the loss; the space bar pauses and goes on",
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== " " || !present().some(({ handle }) => handle)) return;
      event.preventDefault();
      act(train);
    },
  });
  const chart = new Chart(place);
  const stories = [new Stories("run-1"), new Stories("run-2")];
  const inside = new Inside();
  const takeaway = new Takeaway(page, () => sides[0]);
  const kept = new Kept({
    go: (saved, more) => act(() => resume(extended(saved, more))),
    begin: () => act(async () => begin(await choices.plans(bar.lr))),
    drop: () => act(async () => (await runs()).drop(0)),
  });
  const tells = make("p", { class: "tells" }); // what the runs have to say
  const wrong = make("div", { class: "wrong", role: "alert", hidden: true });
  const refusal = make("p", { class: "wrong refusal", role: "alert", hidden: true });
  const legend = make("p", { class: "legend soft" });
  bar.lr = settings.lr ?? choices.lr;

  /** @param {() => Promise<void>} what */
  async function act(what) {
    refuse("");
    await what().catch(refuse);
    paint();
  }

  /**
   * Why nothing is trained: where a reader looks who has just pressed the button.
   * @param {unknown} why  a sentence, or an error; "" when it no longer holds
   */
  function refuse(why) {
    refusal.textContent = typeof why === "string" ? why : inWords(why);
    refusal.hidden = !why;
    if (why) refusal.scrollIntoView({ block: "nearest" });
  }

  async function train() {
    const { state } = sides[0];
    const going = present().some((side) => side.state === "running");
    if (going) return each((side) => side.pause());
    if (present().some((side) => side.state === "paused")) {
      return each(async (side) => {
        if (side.state === "paused") await side.go();
      });
    }
    if (state === "making") return;
    const plans = await choices.plans(bar.lr);
    if (plans.length > 1 || !kept.asks()) await begin(plans);
  }

  /** @param {Saved} saved */
  async function resume(saved) {
    const { plan } = saved;
    choices.adopt(plan);
    bar.lr = plan.settings.lr;
    asked = [choices.data, page.state.get("learn.size")];
    await begin([plan], saved);
  }

  /**
   * @param {import("./drive.mjs").Plan[]} plans
   * @param {Saved} [saved]
   */
  async function begin(plans, saved) {
    for (const side of sides) side.clear();
    const keep = plans.length === 1; // an experiment does not take the place of the reader's model
    const begun = saved ? null : choices.begun.model;
    const opened = plans.map((plan, i) => sides[i].open(plan, { saved, keep, begun }));
    paint();
    watch(bar.element);
    await Promise.all(opened);
  }

  /**
   * What has come to another place is brought into sight.
   * @param {Element} what
   */
  function watch(what) {
    const { top, bottom } = what.getBoundingClientRect();
    if (top < HEADER || top > innerHeight / 3 || bottom > innerHeight)
      what.scrollIntoView({ block: "start" });
  }

  const stop = () => each((side) => side.stop());
  /** @param {(side: Side) => Promise<unknown>} what */
  async function each(what) {
    await Promise.all(present().map(what));
  }

  /** @param {number} lr */
  function rate(lr) {
    const times = (/** @type {number} */ i) => (i && choices.second === "rate" ? 10 : 1); // the second run keeps its distance
    present().forEach((side, i) => side.rate(lr * times(i)));
  }

  const changed = paced(
    element,
    () => paint(),
    () => page.say(told(false)),
  );

  /** @param {boolean} expects  a stored run is shown */
  function told(expects) {
    const [first, second] = sides;
    if (expects) {
      return "Nothing has been learned yet. The dotted curve is a stored run.";
    }
    if (!second.step) return standing(first);
    return both(first, second, EXPERIMENTS[choices.second]?.name ?? "");
  }

  function paint() {
    const shown = present();
    const [first, second] = sides;
    const busy = shown.some(({ handle, state }) => handle || state === "making");
    const live = shown.some(({ state }) => ["making", "running", "paused"].includes(state));
    element.toggleAttribute("data-live", live);
    const ended = shown.some(({ state }) => ["stopped", "done"].includes(state)) && !live;
    takeaway.set(ended);
    ends(ended);
    choices.element.hidden = live;
    if (first.rest && !second.plan) kept.set(first.rest, "here");
    kept.element.hidden = live || !kept.says;
    choices.set();
    const running = shown.find(({ state }) => state === "running") ?? first;
    bar.set(running, live ? left(running) : before(choices.seconds));
    const expected = choices.data === "crane" && !first.plan ? (settings.before ?? null) : null;
    chart.set(shown, choices.sizes.steps, expected);
    const name = second.plan ? "First run" : "";
    stories[0].set(first, name);
    stories[1].element.hidden = !second.plan;
    if (second.plan) stories[1].set(second, EXPERIMENTS[choices.second]?.name ?? "Second run");
    legend.hidden = !second.plan;
    if (second.plan) legend.textContent = EXPERIMENTS[choices.second]?.says ?? "";
    inside.set(first, shown);
    sentence.textContent = told(Boolean(expected));
    tells.textContent = busy
      ? shown.map(({ says, state }) => (state === "diverged" ? "" : says)).join(" ")
      : "";
    troubles();
  }

  /** @param {boolean} ended  what was learned is the reader's now */
  function ends(ended) {
    const seen = bar.element.getBoundingClientRect();
    const { plan, step, reports } = sides[0];
    const busy = takeaway.element.contains(document.activeElement); // the reader, with it
    if (!takeaway.place(ended, choices.element, inside.element)) return;
    if (plan) remember(plan, step, reports.at(-1)?.ms ?? 0);
    page.say(told(false));
    if (!busy && seen.bottom > 0 && seen.top < innerHeight) watch(takeaway.element);
  }

  function troubles() {
    const lost = present().filter(({ state }) => state === "diverged");
    const known = lost.map(({ slot, says }) => `${slot} ${says}`).join();
    wrong.hidden = !lost.length;
    if (wrong.dataset.known === known) return;
    wrong.dataset.known = known;
    wrong.replaceChildren(
      ...lost.map((side) =>
        make(
          "p",
          {},
          make(
            "strong",
            {},
            present().length > 1
              ? `${side.slot ? "The second" : "The first"} run has diverged. `
              : "The run has diverged. ",
          ),
          `${side.says} `,
          make(
            "button",
            {
              onclick: () =>
                act(async () => {
                  const { lr } = await side.back();
                  if (!side.slot) bar.lr = lr;
                }),
            },
            `go back to step ${count(side.good)}`,
          ),
        ),
      ),
    );
  }

  /** A run of an earlier visit is offered. */
  async function offer() {
    const { saved, problem } = await keptRun();
    if (!(saved || problem) || sides[0].plan || !element.isConnected) return;
    kept.set(saved ?? null, saved ? "stored" : problem);
    paint();
  }
  offer();

  let asked = /** @type {string[]} */ ([]); // data and size when last shown
  return {
    nodes: [
      choices.element,
      kept.element,
      refusal,
      bar.element,
      wrong,
      make(
        "div",
        { class: "picture" },
        make("div", { class: "writes" }, ...stories.map(({ element }) => element)),
        make("div", { class: "curve-box" }, place, legend, sentence, tells),
      ),
      inside.element,
      takeaway.element,
    ],
    concerns: (name) => name.startsWith("learn."),
    show: () => {
      const now = [choices.data, page.state.get("learn.size")];
      if (now.join() !== asked.join()) {
        const other = asked.length > 0 && asked[0] !== now[0];
        asked = now;
        refuse("");
        choices.renew(other);
        if (other) bar.lr = choices.lr;
      }
      paint();
    },
    table: () => {
      const { reports, marks, counted, plan } = sides[0];
      const judged = plan?.data.kind !== "text";
      const every = Math.max(1, Math.ceil(reports.length / ROWS));
      const kept = reports.filter((_, i) => (reports.length - 1 - i) % every === 0);
      return {
        caption: `${standing(sides[0])}${settings.note ? ` ${settings.note}` : ""}`,
        columns: ["step", "loss", "on text set aside", ...(judged ? JUDGED : [])],
        rows: kept.map(({ step, loss }) => {
          const mark = marks.filter((mark) => mark.step <= step).at(-1);
          const twenty = counted.filter((one) => one.step <= step).at(-1);
          return [
            count(step),
            lossText(loss),
            mark ? fixed(mark.held, 2) : "",
            ...(judged
              ? [
                  mark && mark.read !== null ? percent(mark.read) : "",
                  twenty ? String(twenty.right) : "",
                ]
              : []),
          ];
        }),
      };
    },
  };
}
