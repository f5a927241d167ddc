// Chapter 22: ask Crane World's model about a story, with the adapter that taught it to answer and
// without. An answer is marked where the right one is known. Nothing is loaded before a reader asks.

import { Asking } from "./asking.mjs";
import { Bars, share } from "./bars.mjs";
import { beside, fixed, make } from "./dom.mjs";
import { WRITE, move } from "./motion.mjs";
import { END } from "./page_model.mjs";
import { Strip } from "./strip.mjs";
import { Switchboard, choose, slider } from "./switchboard.mjs";

/** @import { Exchange, Found, Written } from "./asking.mjs" */
/** @typedef {Exchange & {unseen: boolean}} Prepared  unseen: training never asked like this */
/** @typedef {{story: string, asked: Omit<Prepared, "story">[]}} Story */
/** @typedef {"right" | "wrong" | ""} Mark  "": the right answer is not known */

const MOST = 1.5; // times the adapter
const LOSS = /** @type {[string, string][]} */ ([
  ["answers", "the answer"],
  ["everything", "everything"],
]);
const PLAINLY =
  "The plain model has no tokens for roles, so it reads the text without them, and goes on.";
const KEY = [
  ["mark", "special tokens"],
  ["story", "the story"],
  ["question", "the question"],
  ["answer", "the right answer, which only training adds"],
];

/** @type {import("./exhibit.mjs").Kind} */
export function ask({ settings, state, model, say, sentence, element, update }) {
  /** @type {Story[]} */
  const stories = settings.stories;
  const exchanges = stories.flatMap(({ story, asked }) => asked.map((one) => ({ story, ...one })));
  const [first] = exchanges;
  state.declare("story", first.story);
  state.declare("question", first.question);
  state.declare("asked", false);
  state.declare("strength", 1, { min: 0, max: MOST });
  state.declare("loss", "answers", { among: LOSS.map(([one]) => one) });
  state.declare("token", 0, { min: 0, whole: true });
  const asking = new Asking(() => model.started());

  /** @param {Exchange} exchange */
  const put = ({ story, question }) => {
    state.set({ story, question, asked: true, token: 0 });
    if (element.dataset.state === "stale") update(); // what did not come is asked for again
  };
  const storyBox = make("textarea", { rows: "4", spellcheck: "false", "aria-label": "story" });
  const questionBox = make("input", {
    type: "text",
    spellcheck: "false",
    autocomplete: "off",
    "aria-label": "question",
    onkeydown: (/** @type {KeyboardEvent} */ { key }) => key === "Enter" && askTyped(),
  });
  const askTyped = () => put({ story: storyBox.value.trim(), question: questionBox.value.trim() });
  const askButton = make("button", { class: "go", onclick: askTyped }, "ask");
  const chips = (/** @type {string} */ label, /** @type {(Node | string)[]} */ ...inside) =>
    make("div", { class: "chips", role: "group", "aria-label": label }, ...inside);
  const storyChips = chips(
    "stories",
    ...stories.map(({ story, asked: [{ question }] }) =>
      make("button", { onclick: () => put({ story, question }) }, `${begin(story)} …`),
    ),
  );
  const questionChips = chips("questions");
  const strengths = slider("strength", "strength of the adapter", {
    max: MOST,
    step: 0.05,
    show: (times) => `${fixed(times, 2)} · α/r`,
  });
  const adapter = new Switchboard(state, [strengths], "the adapter");
  const loss = new Switchboard(state, [choose("loss", "the loss counts on", LOSS)], "the loss");

  const readTitle = make("p", { class: "soft" });
  const read = make("ol", { "aria-label": "what the model reads" });
  const key = make(
    "p",
    { class: "key" },
    ...KEY.map(([role, words]) => make("span", {}, make("i", { class: `of-${role}` }), words)),
    make("span", {}, make("i", { class: "loss" }), "counts in the loss"),
  );
  const onPick = (/** @type {number} */ token) => state.set({ token });
  const answer = new Strip({ onPick });
  const verdict = make("p", { class: "verdict" });
  const bars = new Bars({ rows: 5 });
  const plain = new Strip({});
  answer.list.ariaLabel = "the answer's tokens";
  plain.list.ariaLabel = "tokens of the plain model";
  const answerTitle = make("b");
  const spoken = [make("q"), make("q")]; // with the adapter, without it
  const sum = make(
    "p",
    { class: "lora", "aria-hidden": "true" },
    make("i", { class: "w" }, "W"),
    "+",
    make("i", { class: "b" }, "B"),
    make("i", { class: "a" }, "A"),
  );
  const alone = make("p", { class: "lora", "aria-hidden": "true" }, make("i", { class: "w" }, "W"));

  /** @type {Map<string, (string | number)[]>} */
  const tried = new Map();
  let written = ""; // what the strips hold
  let shown = ""; // the story whose questions are offered

  /** @param {string} story */
  const offer = (story) => {
    if (story === shown) return;
    shown = story;
    const own = exchanges.filter((one) => one.story === story);
    questionChips.replaceChildren(
      ...own.map((one) => make("button", { onclick: () => put(one) }, one.question)),
    );
    questionChips.hidden = !own.length;
  };

  /** @param {Found} found */
  const paintRead = (found) => {
    const everything = state.get("loss") === "everything";
    const parts = [...found.read, { role: "answer", names: found.right }];
    const tokens = parts.flatMap(({ role, names }) => names.map((name) => ({ name, role })));
    const reads = tokens.length - found.right.length;
    const bears = tokens.map(({ role }, i) => role === "answer" || (everything && i > 0));
    const many = found.right.length ? bears.filter(Boolean).length : 0;
    read.replaceChildren(
      ...tokens.map(({ name, role }, i) =>
        make("li", { class: many && bears[i] ? `of-${role} loss` : `of-${role}` }, name),
      ),
    );
    const cut = found.cut ? ` So that all fits, the first ${found.cut} are left out.` : "";
    readTitle.textContent =
      `what the model reads: ${reads} tokens.${cut}` +
      (many ? ` In training the loss counts on ${many} of ${tokens.length}.` : "");
  };

  /** @param {Strip} strip @param {Written[]} tokens @param {number} [chosen] */
  const paint = (strip, tokens, chosen) => {
    const pieces = tokens.map(({ name, p }) => ({ name, id: share(p), share: p }));
    strip.set(pieces, { chosen });
  };

  return {
    nodes: [
      storyChips,
      storyBox,
      questionChips,
      make("div", { class: "side-by-side" }, questionBox, askButton),
      make("div", { class: "side-by-side apart" }, readTitle, loss.element),
      make("div", { class: "g2 g2-asked" }, read, key),
      beside(
        make(
          "div",
          { class: "branch adapted" },
          make("div", {}, answerTitle, sum, adapter.element),
          spoken[0],
          verdict,
          answer.element,
        ),
        make(
          "div",
          { class: "branch" },
          make(
            "div",
            {},
            make("b", {}, "without the adapter"),
            alone,
            make("p", { class: "soft" }, PLAINLY),
          ),
          spoken[1],
          plain.element,
        ),
      ),
      sentence,
      bars.element,
    ],
    show: async (latest) => {
      const [story, question, strength] = state.all("story", "question", "strength");
      const known = exchanges.find((one) => one.story === story && one.question === question);
      const exchange = { story, question, answer: known?.answer };
      const stored = !state.get("asked") && strength === 1 && known === first;
      offer(story);
      for (const [box, text] of /** @type {const} */ ([
        [storyBox, story],
        [questionBox, question],
      ])) {
        if (box.value !== text && document.activeElement !== box) box.value = text;
      }
      adapter.set();
      loss.set();
      /** @type {Found | null} */
      const found = stored ? settings.found : await asking.ask(exchange, strength, latest);
      if (!found || !latest()) return;

      const token = Math.min(state.get("token"), found.answer.length - 1);
      paintRead(found);
      answerTitle.textContent = `with the adapter, times ${fixed(strength, 2)}`;
      sum.style.setProperty("--strength", fixed(strength / MOST, 2));
      paint(answer, found.answer, token);
      paint(plain, found.plain);
      const now = JSON.stringify([found.answer, found.plain]);
      if (written && written !== now) {
        for (const { buttons } of [answer, plain]) {
          buttons.forEach((one, i) => move(one, [{ opacity: 0 }, {}], { delay: (i * WRITE) / 2 }));
        }
      }
      written = now;
      bars.set(
        (found.next[token] ?? []).map(([id, name, p, before]) => {
          return { id, name, p, before: before ?? undefined };
        }),
        `what may stand there, token ${token + 1} of the answer (dashed: without the adapter)`,
      );
      const p = found.answer.reduce((product, one) => product * one.p, 1);
      const said = found.said || "nothing";
      [found.said, found.continued].forEach((text, i) => (spoken[i].textContent = text || "…"));
      /** @type {Mark} */
      const mark = !known ? "" : said === known.answer ? "right" : "wrong";
      verdict.className = `verdict ${mark}`;
      verdict.textContent = {
        right: known?.unseen ? "✓ Right, and training never asked like this." : "✓ Right.",
        wrong: `✗ Wrong. The answer is “${known?.answer}”.`,
        "": "Not marked: the truth is known of the questions above only.",
      }[mark];
      tried.set(`${begin(story)} … ${question} × ${fixed(strength, 2)}`, [
        known?.answer ?? "not known",
        said,
        p,
        mark || "–",
        found.continued,
      ]);
      say(
        `Asked “${question}”, it answers ${inQuotes(said, found.answer)} with probability ${share(p)}` +
          (mark ? `, which is ${mark}. ` : ". ") +
          `Without the adapter ${found.continued ? `it goes on: ${inQuotes(found.continued, found.plain)}` : "the text ends there."}`,
      );
    },
    concerns: (name) => ["story", "question", "asked", "strength", "loss", "token"].includes(name),
    act: async (hand) => {
      state.set({ strength: 1, story: first.story, question: first.question, token: 0 });
      await hand.press(askButton);
      await hand.pause(900);
      await hand.press(/** @type {HTMLElement | undefined} */ (questionChips.children[1]));
      await hand.pause(900);
      await hand.slide("strength of the adapter", 0, 1200);
    },
    table: () => ({
      caption: "What you have asked.",
      columns: [
        "question",
        "right answer",
        "it answers",
        "probability",
        "mark",
        "without the adapter",
      ],
      rows: [...tried].map(([asked, row]) => [asked, ...row]),
    }),
  };
}

/**
 * What was written, and whether it ended there.
 * @param {string} text
 * @param {Written[]} tokens
 */
function inQuotes(text, tokens) {
  return tokens.at(-1)?.name === END ? `“${text}”` : `“${text} …”`;
}

/**
 * The first words of a story.
 * @param {string} story
 */
function begin(story) {
  return story.split(" ").slice(0, 4).join(" ");
}
