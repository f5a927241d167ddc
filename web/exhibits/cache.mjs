// Chapter 16: write token by token, with kept keys and values and without. A cache approximates
// nothing: the logits are the same up to rounding. A forgotten position is another matter.

import { nextAfter } from "./answers.mjs";
import { Bars } from "./bars.mjs";
import { beside, draw, fixed, make } from "./dom.mjs";
import { Chain } from "./kept.mjs";
import { move } from "./motion.mjs";
import { END } from "./page_model.mjs";
import { textStrip } from "./strip.mjs";
import { Switchboard, flag, slider } from "./switchboard.mjs";

const PROMPT = 24; // tokens at most
const STEPS = 48;
const FIRST = 6; // tokens written in the beginning: then most of the work is seen to be done again
const STATES = /** @type {Record<string, string>} */ ({
  kept: "kept: read, not computed",
  now: "computed in this step",
  new: "next",
});
const WORK = [
  ["first", "computed for the first time"],
  ["again", "computed again, with the same result"],
  ["rest", "kept"],
];

/** @type {import("./exhibit.mjs").Kind} */
export function cache({ settings, state, model, say, sentence: said }) {
  const { tokenizer, config } = model.present;
  const { nLayer: N, nEmbd: C, vocabSize: V, blockSize } = config;
  const whole = { min: 1, max: STEPS, whole: true };
  state.declare("text", settings.text);
  state.declare("steps", FIRST, whole);
  state.declare("seed", 0, { min: 0, max: 20, whole: true });
  state.declare("cache", true);
  state.declare("restart", false);

  const onText = (/** @type {string} */ text) => state.set({ text, steps: 1 });
  const strip = textStrip(state, settings, { onText });
  const next = () => state.set({ steps: state.get("steps") + 1 });
  const grid = make("ol", { "aria-label": "tokens, and which are computed" });
  const spans = Object.entries(STATES).map(([mark, text]) => {
    return { mark, text, many: make("b"), element: make("span", { class: mark }) };
  });
  for (const { text, many, element } of spans) element.append(many, ` ${text}`);
  const labels = Array.from({ length: N }, (_, n) =>
    make(
      "li",
      {},
      `block ${N - 1 - n}`,
      make("b", { class: "k" }, "K"),
      make("b", { class: "v" }, "V"),
    ),
  );
  const kv = make(
    "div",
    { class: "kv g2", style: `--cell: ${Math.min(1.6, Math.max(0.5, 4.8 / N))}rem` },
    make("ul", { "aria-hidden": "true" }, ...labels),
    make(
      "div",
      { class: "g2-scroll", tabindex: "0", role: "group", "aria-label": "keys and values" },
      grid,
    ),
    make("p", {}, ...spans.map(({ element }) => element)),
  );
  const bars = new Bars({ rows: 4 });
  const controls = new Switchboard(state, [
    flag("cache", "keep keys and values"),
    flag("restart", "positions start again (a bug)"),
    slider("steps", "tokens written", { ...whole, step: 1, decimals: 0 }),
    slider("seed", "seed (0: the likeliest)", { max: 20, step: 1, decimals: 0 }),
  ]);
  controls.element.prepend(make("button", { class: "go", onclick: next }, "next token"));
  const columns = ["", "tokens now", "in all", "multiply-adds"];
  const ways = ["with a cache", "without"].map((name) => {
    const cells = columns.slice(1).map(() => make("b"));
    const counts = cells.flatMap((cell, i) => [`${i ? ", " : ""}${columns[i + 1]} `, cell]);
    const [text, wrong] = [make("span"), make("mark")];
    const line = make("p", {}, make("b", {}, `${name}: …`), text, wrong);
    const paths = ["rest", "", "last", "first"].map((kind) => draw("path", { class: kind }));
    const area = draw("svg", { class: "area", role: "img", preserveAspectRatio: "none" });
    area.append(...paths);
    const figure = make(
      "div",
      {},
      make("p", { class: "way" }, name),
      make("p", {}, ...counts),
      area,
    );
    return { name, cells, text, wrong, line, figure, area, paths };
  });
  const key = WORK.map(([mark, text]) => make("span", { class: mark }, make("i"), text));

  let shownSteps = 0;
  /** @type {Map<string, {chain: Chain, cut: number}>} */
  const chains = new Map(); // what was computed stays, for steps back
  const begin = async () => {
    const [text, seed, restart] = state.all("text", "seed", "restart");
    const name = JSON.stringify([text, seed, restart]);
    const { ids, cut } = await model.encode(text, Math.min(PROMPT, Math.max(1, blockSize - 1)));
    const temperature = seed ? (settings.temperature ?? 0.8) : 0;
    const known = chains.get(name) ?? {
      chain: new Chain(model, ids, { seed, temperature, restart }),
      cut,
    };
    if (chains.size > 8) chains.clear();
    chains.set(name, known);
    return known;
  };

  /**
   * @param {Chain} chain
   * @param {number} s  steps
   * @param {number} parted  after so many new tokens the two texts differ
   */
  const sentence = ({ P, gaps, restart, whole: { ids }, cached }, s, parted) => {
    const T = P + s - 1;
    if (s === 1) return `The ${P} tokens of the prompt pass through the model, either way.`;
    if (!state.get("cache")) {
      return `Step ${s}: all ${T} tokens pass through the model again, and ${T - 1} of them give the same as before.`;
    }
    const gap = Math.max(...gaps.slice(0, s));
    const by = fixed(gap, gap < 0.01 ? 6 : 2);
    if (restart) {
      const [is, should] = [cached.ids, ids].map((all) =>
        model.show(all[P + parted] ?? tokenizer.eot),
      );
      const text =
        parted < s
          ? `token ${parted + 1} is ${is} instead of ${should}`
          : "yet the text is the same";
      return `No error, but every new token takes position 0: ${text}; logits differ by up to ${by}.`;
    }
    const same = parted < s ? `the texts diverge at token ${parted + 1}` : "the text is the same";
    return `Step ${s}: 1 token passes through the model instead of ${T}; ${same}. No logit has differed by more than ${by}, which is rounding.`;
  };

  return {
    nodes: [
      strip.element,
      controls.element,
      kv,
      said,
      make("div", { class: "areas" }, ...ways.map(({ figure }) => figure)),
      make("p", { class: "soft kv-key" }, ...key, "one column for each step"),
      beside(make("div", { class: "written" }, ...ways.map(({ line }) => line)), bars.element),
    ],
    show: async (latest) => {
      const { chain, cut } = await begin();
      const { P, gaps } = chain;
      const most = Math.min(state.get("steps"), Math.max(1, blockSize - P));
      while (latest() && gaps.length < most && !chain.ended) {
        if (!(await chain.extend(latest))) return;
      }
      if (!latest()) return;
      const keeps = state.get("cache");
      const both = [chain.cached, chain.whole];
      const [own, other] = keeps ? both : [chain.whole, chain.cached];
      const s = Math.min(most, own.logits.length);
      const [T, ids] = [P + s - 1, own.ids.slice(0, P + s)]; // T have passed, one more is written
      paint(
        grid,
        ids.map((id, t) => {
          const mark = t === T ? "new" : keeps && s > 1 && t < T - 1 ? "kept" : "now";
          return { name: model.show(id, !t), mark };
        }),
        N,
      );
      grid.dataset.beat = String(s % 2);
      const counts = { now: keeps && s > 1 ? 1 : T, kept: keeps && s > 1 ? T - 1 : 0, new: 1 };
      spans.forEach(({ mark, many, element }) => {
        const n = counts[/** @type {keyof typeof counts} */ (mark)];
        [many.textContent, element.hidden] = [String(n), !n];
      });

      let parted = 0;
      while (parted < s && own.ids[P + parted] === other.ids[P + parted]) parted++;
      ways.forEach(({ cells, text, wrong, figure, area, paths }, i) => {
        const { logits, ids } = both[i];
        const passes = logits.slice(0, most).map((_, k) => ({ T: i || !k ? P + k : 1, S: P + k }));
        const total = passes.reduce((sum, pass) => sum + pass.T, 0);
        const work = passes.reduce(
          (sum, { T, S }) => sum + N * (12 * C * C * T + 2 * T * S * C) + C * V,
          0,
        );
        [passes.at(-1)?.T, total, `${fixed(work / 1e6, 1)} million`].forEach(
          (value, c) => (cells[c].textContent = (value ?? 0).toLocaleString("en")),
        );
        figure.className = keeps === !i ? "on" : "";
        const wide = [8, 16, 24, 32].find((most) => passes.length <= most) ?? STEPS;
        const high = P + wide;
        area.setAttribute("viewBox", `0 0 ${wide} ${high}`);
        area.setAttribute("aria-label", `${total} tokens in ${passes.length} steps`);
        const column = (
          /** @type {number} */ k,
          /** @type {number} */ from,
          /** @type {number} */ to,
        ) => `M${k + 0.04} ${high - from}V${high - to}h.92V${high - from}z`;
        const passed = passes.map(({ T, S }, k) => `M${k + 0.04} ${high - S + T}v${-T}h.92v${T}z`);
        const [rest, before, last, fresh] = paths;
        rest.setAttribute("d", passes.map(({ T, S }, k) => column(k, 0, S - T)).join(""));
        before.setAttribute("d", passed.slice(0, -1).join(""));
        last.setAttribute("d", passed.at(-1) ?? "");
        const firsts = passes.map(({ S }, k) => column(k, k ? S - 1 : 0, S));
        fresh.setAttribute("d", firsts.join(""));
        if (passes.length > shownSteps) {
          for (const one of [last, fresh]) move(one, [{ opacity: 0 }, { opacity: 1 }]);
        }
        const end = tokenizer.decode([tokenizer.eot]);
        const read = (/** @type {number} */ from, /** @type {number} */ to) =>
          tokenizer.decode(ids.slice(P + from, P + to)).replace(end, ` ${END}`);
        text.textContent = read(0, i ? passes.length : parted);
        wrong.textContent = i ? "" : read(parted, passes.length);
      });

      const p = model.probabilities(own.logits[s - 1]);
      const compared = parted >= s - 1 ? other.logits[s - 1] : undefined;
      bars.set(
        nextAfter(state.get("text"), p, compared && model.probabilities(compared), 4),
        compared
          ? `what could be written; dashed: ${keeps ? "without" : "with"} a cache`
          : "what could be written; the two texts have diverged",
      );
      shownSteps = most;
      strip.set([], { text: state.get("text"), cut });
      controls.set();
      const end = own.ended && s === own.logits.length ? " The story has ended." : "";
      say(sentence(chain, s, parted) + end);
    },
    act: async (hand) => {
      state.set({ steps: 1, cache: true });
      await hand.pause();
      for (let i = 0; i < 3; i++) await hand.press(hand.find(".go"));
      await hand.press(hand.find("input[type=checkbox]"));
    },
    whole: () => ({ text: state.get("text") }),
    table: () => ({
      caption: "What has passed through the model.",
      columns: [...columns, "text"],
      rows: ways.map(({ name, cells, text, wrong }) => [
        name,
        ...[...cells, text, wrong].map(({ textContent }) => textContent ?? ""),
      ]),
    }),
  };
}

/**
 * A column for each token: a cell for each block, and its name.
 * @param {HTMLElement} list
 * @param {{name: string, mark: string}[]} tokens
 * @param {number} N
 */
function paint(list, tokens, N) {
  while (list.children.length > tokens.length) list.lastElementChild?.remove();
  while (list.children.length < tokens.length) {
    const cells = Array.from({ length: 2 * N }, (_, i) => make("i", { class: i % 2 ? "v" : "k" }));
    list.append(make("li", {}, ...cells, make("b")));
  }
  tokens.forEach(({ name, mark }, t) => {
    const column = /** @type {HTMLElement} */ (list.children[t]);
    column.className = mark;
    column.title = `${name}: ${STATES[mark]}`;
    const label = /** @type {Element} */ (column.lastElementChild);
    label.textContent = name;
  });
  const wide = tokens.reduce((sum, { name }) => sum + 9 * name.length + 6, 0);
  list.classList.toggle("tight", list.clientWidth < wide);
  const box = /** @type {HTMLElement} */ (list.parentElement);
  box.scrollLeft = box.scrollWidth; // the newest
}
