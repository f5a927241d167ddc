// A tour of ten steps through the picture: each sets it by the page's state, so that it can be linked.
// Begun by its button it goes on by itself, and waits a while for the guess; a reader who steps takes over.

import { make } from "../exhibits/dom.mjs";
import { move, still } from "../exhibits/motion.mjs";
import { CRANE, STEPS } from "./tour_steps.mjs";

/** @import { State } from "../exhibits/state.mjs" */
/** @import { Pass } from "./pass.mjs" */
/** @import { Player } from "./player.mjs" */
/** @import { Stage } from "./stage.mjs" */
/** @import { Writer } from "./writer.mjs" */

const KEYS = ["text", "run", "learned", "off", "set", "bug", "versus", "at", "place", "station"];
const READ = 330; // milliseconds for a word
const LOOK = 1500; // for the picture
const ZOOM = 2000; // until a place is reached, and its products have fallen
const GUESS = 6000; // for a guess
const UNSAID = "unsaid"; // where nobody guesses, the answer comes all the same
const HEAD = 84; // px of the page's bar, and of the stage's

export class Tour {
  /**
   * @param {State} state
   * @param {{open: HTMLElement, text: string, field: HTMLInputElement, who: HTMLElement, writer: Writer,
   *   player: Player, stage: Stage, chapters?: string[]}} more  `open`: the button that begins it;
   *   `chapters`: their addresses
   */
  constructor(state, { open, text, field, writer, player, stage, chapters = [] }) {
    this.state = state;
    this.open = open;
    this.text = text;
    this.field = field;
    this.writer = writer;
    this.player = player;
    this.stage = stage;
    this.chapters = chapters;
    /** @type {Record<string, any> | null} */
    this.before = null; // what was shown before the tour
    this.guessed = "";
    this.runs = false; // it goes on by itself
    /** @type {Pass | null} */
    this.pass = null;
    this.begun = this.rests = false; // what moves in this step, and whether it has
    this.round = 0;
    this.key = ""; // of what is read
    /** @type {Animation | null} */
    this.reading = null; // when it ends, so does the step
    const by = (/** @type {string} */ tag, more = {}) => make(/** @type {"p"} */ (tag), more);
    this.count = by("p", { class: "flow-step" });
    this.title = by("h3");
    this.told = by("p", { "aria-live": "polite" });
    this.guesses = by("div", { class: "flow-guesses", role: "group", "aria-label": "your guess" });
    this.acts = make("div", { class: "flow-tour-acts" });
    this.bar = make("i", { class: "flow-read" });
    this.card = make(
      "section",
      {
        class: "flow-tour",
        "aria-label": "tour",
        tabindex: "-1",
        onkeydown: (/** @type {KeyboardEvent} */ event) => {
          const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
          if (by) this.step(by);
          else if (event.key === "Escape") this.close();
          else return;
          event.preventDefault();
          event.stopPropagation();
        },
      },
      this.count,
      this.title,
      this.told,
      this.guesses,
      this.acts,
      this.bar,
    );
    this.card.hidden = true;
    stage.element.addEventListener("pointerdown", () => this.run(false));
    for (const one of player.buttons) one.addEventListener("click", () => this.run(false));
  }

  /** It is begun by its button. */
  begin() {
    this.guessed = "";
    this.runs = !still();
    this.go(1);
    this.card.hidden = false; // what is hidden takes no focus
    this.card.focus({ preventScroll: true });
  }

  /** @param {number} by  a reader steps, and takes over */
  step(by) {
    this.runs = false;
    this.go(this.state.get("tour") + by);
  }

  /** @param {boolean} runs */
  run(runs) {
    if (runs === this.runs || !this.state.get("tour") || !this.pass) return;
    this.runs = runs;
    this.set(this.pass);
  }

  /** @param {number} n  step, from 1 */
  go(n) {
    if (n < 1) return;
    if (n > STEPS.length) {
      this.close();
      this.state.set({ text: this.text });
      this.field.focus();
      return;
    }
    const { state } = this;
    this.before ??= Object.fromEntries(KEYS.map((key) => [key, state.get(key)]));
    const first = {
      ...Object.fromEntries(KEYS.map((key) => [key, state.first(key)])),
      text: this.text,
      at: CRANE,
      place: "",
    };
    this.player.stop();
    [this.begun, this.rests] = [false, false];
    this.round++;
    state.set({ ...first, ...STEPS[n - 1].set, tour: n });
  }

  close() {
    this.runs = false;
    this.player.stop();
    this.state.set({ tour: 0, ...this.before });
    this.before = null;
    this.card.parentElement?.classList.remove("tours"); // what it covers can have the focus
  }

  get n() {
    return Math.min(this.state.get("tour"), STEPS.length);
  }

  /** What the step asks for is done. */
  get done() {
    const { state, n } = this;
    return n === 9 ? state.get("off").length > 1 : state.get("text") !== this.text;
  }

  act() {
    if (this.n === 9) this.state.set({ off: ["1.0", "1.2"] });
    else this.writer.begin(1);
  }

  /** @param {Pass} pass  that is shown */
  set(pass) {
    this.pass = pass;
    const { n, done, runs, guessed } = this;
    this.open.hidden ||= n > 0;
    this.card.hidden = !n;
    const { title, task, answer, guess, act, chapter } = STEPS[Math.max(0, n - 1)];
    const waits = Boolean(n && guess && !guessed);
    const early = n > 0 && n <= STEPS.findIndex((step) => step.guess);
    const is = { tours: n > 0, early, unsaid: waits }; // else the picture would answer the question
    for (const [one, on] of Object.entries(is)) this.card.parentElement?.classList.toggle(one, on);
    this.light(n ? STEPS[n - 1].lights : "");
    if (!n) return this.read("");
    const box = /** @type {HTMLElement} */ (this.field.closest(".strip-box")); // that it covers
    this.card.style.cssText = `--over:${box.offsetTop}px;--room:${box.offsetHeight}px`;
    const fits = pass.text.startsWith(this.text) && pass.ids.length > CRANE;
    const says = guess && guessed && guessed !== UNSAID;
    const verdict = says ? (guessed === guess.right ? "Right: " : "No: ") : "";
    write(this.count, `${n} of ${STEPS.length}`);
    write(this.title, title);
    write(this.told, `${task} ${fits && !waits ? verdict + answer(pass, done) : ""}`);
    const button = (/** @type {string} */ name, /** @type {() => void} */ onclick, more = {}) =>
      make("button", { type: "button", name, onclick, ...more }, name);
    const say = (/** @type {string} */ option) => {
      this.guessed = option;
      this.set(pass);
    };
    const [address, where] = [this.chapters[chapter - 1], `chapter ${chapter}`];
    const held = /** @type {HTMLButtonElement} */ (document.activeElement);
    const focused = this.acts.contains(held) || this.guesses.contains(held);
    const pause = button("pause", () => this.run(!runs), { class: runs ? "runs" : "" });
    write(pause, runs ? "pause" : "go on");
    const options = waits && guess ? guess.options : [];
    this.guesses.replaceChildren(...options.map((one) => button(one, () => say(one))));
    this.acts.replaceChildren(
      ...(still() ? [] : [pause]),
      button("back", () => this.step(-1), { disabled: n === 1 }),
      ...(act && !done ? [button(act, () => this.act())] : []),
      button(n < STEPS.length ? "next" : "type your own", () => this.step(1)),
      ...(address ? [make("a", { href: address }, `${where} →`)] : [make("span", {}, where)]),
      button("×", () => this.close(), { "aria-label": "close" }),
    );
    if (focused) {
      const again = [...this.acts.querySelectorAll("button")].find(
        ({ name }) => name === held.name,
      );
      (again ?? this.card).focus({ preventScroll: true }); // the button that had it is gone
    }
    if (fits && !this.begun) this.move(n);
    this.read(runs && fits && this.rests ? `${n}. ${this.told.textContent}` : "", waits);
  }

  /** @param {string} which  of the picture's parts: what the step speaks of */
  light(which) {
    const { svg, element } = this.stage;
    svg.toggleAttribute("data-tells", which.includes(".ribbon")); // the others are dim
    for (const one of element.querySelectorAll("[data-told]")) one.removeAttribute("data-told");
    for (const one of which ? element.querySelectorAll(which) : [])
      one.toggleAttribute("data-told", true);
  }

  /**
   * What moves in a step, from where the one before it ended.
   * @param {number} n
   */
  async move(n) {
    const { player, stage } = this;
    const { set, look } = STEPS[n - 1];
    const round = ++this.round;
    this.begun = true;
    const depthOf = (/** @type {number | undefined} */ station) =>
      station === undefined ? undefined : player.way[station].depth;
    const to = depthOf(set.station);
    this.show(to ?? look);
    if (to === undefined || still()) await wait(still() ? 0 : set.place ? ZOOM : LOOK / 2);
    else {
      if (n === 1) stage.drop();
      if (n === 2) this.slide();
      const came = await player.sweep(depthOf(STEPS[n - 2]?.set.station) ?? 0, to);
      if (came) await wait(LOOK / 2); // else the reader stopped it
    }
    if (round !== this.round || !this.pass) return;
    this.rests = true;
    this.set(this.pass);
  }

  /** The rows of the table come out of their tokens. */
  slide() {
    const turned = this.stage.element.classList.contains("turned");
    for (const cell of this.stage.scene.querySelectorAll(".cell")) {
      move(cell, [{ translate: turned ? "0 -40px" : "-70px 0", opacity: 0 }, {}], {
        duration: LOOK,
      });
    }
  }

  /**
   * What is explained comes where it can be seen.
   * @param {number | undefined} depth
   */
  show(depth) {
    const { stage, player, card } = this;
    const turned = Boolean(stage.shown?.vertical);
    const behavior = still() ? "instant" : "smooth";
    player.covered = getComputedStyle(card).position === "sticky" ? card.offsetHeight : 0;
    if (turned && depth !== undefined) return stage.follow(depth, player.covered, behavior);
    const frame = stage.element.getBoundingClientRect();
    const top = (player.covered ? frame.top : card.getBoundingClientRect().top + 20) - HEAD;
    const over = frame.bottom - innerHeight;
    const by = player.covered || top < 0 ? top : Math.max(0, Math.min(top, over));
    if (by) scrollBy({ top: by, behavior });
  }

  /**
   * @param {string} key  of what is read; empty: nothing is
   * @param {boolean} [waits]  for a guess
   */
  read(key, waits = false) {
    if (key === this.key) return;
    this.key = key;
    this.reading?.cancel();
    this.reading = null;
    if (!key) return;
    const duration = LOOK + READ * key.split(/\s+/).length + (waits ? GUESS : 0);
    const frames = [{ scale: "0 1" }, { scale: "1 1" }];
    const reading = this.bar.animate(frames, { duration, fill: "forwards" });
    this.reading = reading;
    const on = () => reading === this.reading && this.on();
    reading.finished.then(on, () => {});
  }

  /** A step was read. */
  on() {
    const { n, done, pass } = this;
    if (STEPS[n - 1].guess && !this.guessed && pass) {
      this.guessed = UNSAID;
      this.set(pass);
    } else if (STEPS[n - 1].act && !done) this.act();
    else if (n < STEPS.length) this.go(n + 1);
    else this.run(false);
  }
}

/** @param {Element} element @param {string} text  set if it is another: it may be read aloud */
function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** @param {number} time  milliseconds */
const wait = (time) => new Promise((done) => setTimeout(done, time));
