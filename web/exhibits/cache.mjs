// Chapter 16: write token by token, with kept keys and values and without. A cache approximates
// nothing: the logits are the same up to rounding. A forgotten position is another matter.

import { nextAfter } from "./answers.mjs";
import { headings } from "./as_table.mjs";
import { Bars } from "./bars.mjs";
import { beside, draw, fixed, make } from "./dom.mjs";
import { Chain } from "./kept.mjs";
import { move } from "./motion.mjs";
import { END } from "./page_model.mjs";
import { textStrip } from "./strip.mjs";
import { Switchboard, flag, slider } from "./switchboard.mjs";

const PROMPT = 24; // tokens at most
const STEPS = 48;
const STATES = /** @type {Record<string, string>} */ ({
  now: "computed in this step",
  kept: "kept",
  new: "written, not computed yet",
});

const AREAS =
  `The tokens that pass through the model in each step, ${STEPS} steps side by side. With a cache ` +
  "each step adds one token to the area, without it all tokens so far.";

/** @type {import("./exhibit.mjs").Kind} */
export function cache({ settings, state, model, say, sentence: said }) {
  const { tokenizer, config } = model.present;
  const { nLayer: N, nEmbd: C, vocabSize: V, blockSize } = config;
  const whole = { min: 1, max: STEPS, whole: true };
  state.declare("text", settings.text);
  state.declare("steps", 1, whole);
  state.declare("seed", 0, { min: 0, max: 20, whole: true });
  state.declare("cache", true);
  state.declare("restart", false);

  const onText = (/** @type {string} */ text) => state.set({ text, steps: 1 });
  const strip = textStrip(state, settings, { onText });
  const next = () => state.set({ steps: state.get("steps") + 1 });
  const grid = make("ol", { class: "kv", "aria-label": "tokens, and which are computed" });
  const key = Object.entries(STATES).map(([mark, text]) =>
    make("span", { class: mark }, make("i"), text),
  );
  const bars = new Bars();
  const controls = new Switchboard(state, [
    flag("cache", "keep keys and values"),
    flag("restart", "positions start again (a bug)"),
    slider("steps", "tokens written", { ...whole, step: 1, decimals: 0 }),
    slider("seed", "seed (0: the likeliest)", { max: 20, step: 1, decimals: 0 }),
  ]);
  const columns = ["", "tokens now", "in all", "multiply-adds in all"];
  const ways = ["with a cache", "without"].map((name) => {
    const cells = columns.slice(1).map(() => make("td"));
    const row = make("tr", {}, make("th", { scope: "row" }, name), ...cells);
    const [text, wrong] = [make("span"), make("mark")];
    const line = make("p", {}, make("b", {}, `${name}: …`), text, wrong);
    const steps = ["", "last"].map((kind) => draw("path", { class: kind }));
    const area = draw("svg", { class: "area", role: "img", preserveAspectRatio: "none" });
    area.append(...steps);
    const figure = make("div", {}, make("span", { class: "soft" }, name), area);
    return { name, cells, row, text, wrong, line, figure, area, steps };
  });

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
      make("p", {}, make("button", { onclick: next }, "next token")),
      make("p", { class: "soft kv-key" }, ...key, `one cell per block, block ${N - 1} on top`),
      grid,
      beside(
        make(
          "div",
          { class: "written" },
          make("table", { class: "counts" }, headings(columns), ...ways.map(({ row }) => row)),
          make("p", { class: "soft" }, AREAS),
          make("div", { class: "areas" }, ...ways.map(({ figure }) => figure)),
          said,
          ...ways.map(({ line }) => line),
        ),
        bars.element,
      ),
      controls.element,
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

      let parted = 0;
      while (parted < s && own.ids[P + parted] === other.ids[P + parted]) parted++;
      ways.forEach(({ cells, row, text, wrong, figure, area, steps }, i) => {
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
        row.className = figure.className = keeps === !i ? "on" : "";
        const high = P + STEPS;
        area.setAttribute("viewBox", `0 0 ${STEPS} ${high}`);
        area.setAttribute("aria-label", `${total} tokens in ${passes.length} steps`);
        const columns = passes.map(({ T }, k) => `M${k + 0.06} ${high}v${-T}h.88v${T}z`);
        steps[0].setAttribute("d", columns.slice(0, -1).join(""));
        steps[1].setAttribute("d", columns.at(-1) ?? "");
        if (passes.length > shownSteps) move(steps[1], [{ scale: "1 0" }, { scale: "1 1" }]);
        const end = tokenizer.decode([tokenizer.eot]);
        const read = (/** @type {number} */ from, /** @type {number} */ to) =>
          tokenizer.decode(ids.slice(P + from, P + to)).replace(end, ` ${END}`);
        text.textContent = read(0, i ? passes.length : parted);
        wrong.textContent = i ? "" : read(parted, passes.length);
      });

      const p = model.probabilities(own.logits[s - 1]);
      const compared = parted >= s - 1 ? other.logits[s - 1] : undefined;
      bars.set(
        nextAfter(state.get("text"), p, compared && model.probabilities(compared)),
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
      for (let i = 0; i < 3; i++) await hand.press(hand.find("p > button"));
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
    list.append(make("li", {}, ...Array.from({ length: N }, () => make("i")), make("b")));
  }
  tokens.forEach(({ name, mark }, t) => {
    const column = /** @type {HTMLElement} */ (list.children[t]);
    column.className = mark;
    column.title = `${name}: ${STATES[mark]}`;
    const label = /** @type {Element} */ (column.lastElementChild);
    label.textContent = name;
  });
}
