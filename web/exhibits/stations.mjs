// Chapter 11: along the whole pass, station by station: each tensor with its shape and its line of
// code. At the end a logit is a dot product, and no probability.

import { Bars, share } from "./bars.mjs";
import { Board } from "./board.mjs";
import { fixed, make, quoted } from "./dom.mjs";
import { Strip } from "./strip.mjs";
import { Switchboard } from "./switchboard.mjs";

/** @import { Noted } from "../tape.mjs" */
/** @typedef {{path: string, code: string, role: string}} Station */

const MOST = 12; // tokens
const COLUMNS = 8; // of a row's numbers
const BARS = 5;
const TERMS = 4; // of a dot product

/** @type {[string, string, string?][]} */
const BEGIN = [
  ["idx", "idx = encode(text)"],
  ["tok_emb", "tok_emb = wte(idx)"],
  ["pos_emb", "pos_emb = wpe(torch.arange(T))"],
  ["embd", "x = tok_emb + pos_emb"],
];
/** @type {[string, string, string?][]} */
const BLOCK = [
  ["ln_1", "normed = ln_1(x)"],
  ["attn.q", "q = split_heads(c_attn(normed)[..., :C])", "q"],
  ["attn.k", "k = split_heads(c_attn(normed)[..., C : 2 * C])", "k"],
  ["attn.v", "v = split_heads(c_attn(normed)[..., 2 * C :])", "v"],
  ["attn.scores", "scores = q @ k.transpose(-2, -1) / math.sqrt(D)"],
  ["attn.masked_scores", "masked_scores = scores.masked_fill(~visible, -torch.inf)"],
  ["attn.weights", "weights = masked_scores.softmax(dim=-1)", "weights"],
  ["attn.heads", "heads = weights @ v"],
  ["attn.merged", "merged = heads.transpose(1, 2).flatten(start_dim=2)"],
  ["attn.out", "out = c_proj(merged)"],
  ["resid_mid", "x = x + out"],
  ["ln_2", "normed = ln_2(x)"],
  ["mlp.pre", "pre = c_fc(normed)"],
  ["mlp.act", 'act = F.gelu(pre, approximate="tanh")'],
  ["mlp.out", "out = c_proj(act)"],
  ["resid_post", "x = x + out"],
];
/** @type {[string, string, string?][]} */
const END = [
  ["ln_f", "x = ln_f(x)"],
  ["logits", "logits = x @ wte.weight.T"],
  ["probabilities", "p = logits.softmax(dim=-1)", "weights"],
];

/**
 * All stations of a pass, in order.
 * @param {number} nLayer
 * @returns {Station[]}
 */
export function wayThrough(nLayer) {
  const blocks = Array.from({ length: nLayer }, (_, n) => `transformer.h.${n}.`);
  const inBlocks = blocks.flatMap((h) => BLOCK.map(([name, ...rest]) => [h + name, ...rest]));
  return [...BEGIN, ...inBlocks, ...END].map(([path, code, role = "plain"]) => ({
    path: String(path),
    code: String(code),
    role,
  }));
}

/** @type {import("./exhibit.mjs").Kind} */
export function stations({ settings, state, model, say }) {
  const { nLayer, nHead, nEmbd: C, vocabSize: V } = model.present.config;
  const all = wayThrough(nLayer);
  const nameOf = (/** @type {number} */ n) => all[n].path.replace("transformer.", "");
  const first = all.findIndex(({ path }) => path === settings.station);
  const whole = true;
  state.declare("text", settings.text);
  state.declare("station", Math.max(0, first), { min: 0, max: all.length - 1, whole });
  state.declare("head", 0, { min: 0, max: nHead - 1, whole });
  state.declare("at", -1, { min: -1, max: MOST - 1, whole });
  state.declare("token", -1, { min: -1, max: V - 1, whole });
  state.declare("shift", 0, { min: -20, max: 20 });

  const strip = new Strip({
    value: state.get("text"),
    chips: settings.chips,
    onText: (text) => state.set({ text, at: -1 }),
    onPick: (at) => state.set({ at }),
  });
  const step = (/** @type {number} */ by, /** @type {string} */ text) =>
    make(
      "button",
      { type: "button", onclick: () => state.set({ station: state.get("station") + by }) },
      text,
    );
  const last = all.length - 1;
  const along = new Switchboard(
    state,
    [{ kind: "slider", key: "station", label: "station", max: last, step: 1, show: nameOf }],
    "where on the way",
  );
  along.element.append(step(-1, "◂ back"), step(1, "on ▸"));
  const head = new Switchboard(state, [
    { kind: "slider", key: "head", label: "head", max: nHead - 1, step: 1, decimals: 0 },
  ]);
  const shift = new Switchboard(state, [
    { kind: "slider", key: "shift", label: "added to every logit", min: -20, max: 20, step: 1 },
  ]);
  const board = new Board({ corner: "", label: "the tensor" });
  const code = make("code");
  const shape = make("p", { class: "soft" });
  const bars = new Bars({ onPick: (token) => state.set({ token }), hint: "spell out its logit" });
  const terms = make("table", { class: "parity terms" });

  /**
   * A station's numbers as rows and columns.
   * @param {number[]} ids
   * @param {(path: string) => Noted} tensor
   * @param {Float64Array[]} shares  probabilities at each position
   * @param {number[]} best  tokens
   */
  const view = (ids, tensor, shares, best) => {
    const { path } = all[state.get("station")];
    const tokens = ids.map((id) => model.show(id));
    const named = best.map((id) => model.show(id));
    if (path === "idx")
      return { axes: "B T", shape: [1, ids.length], columns: ["id"], values: ids };
    if (path === "probabilities" || path === "logits") {
      const { values } = tensor("logits");
      const of = (/** @type {number} */ t, /** @type {number} */ id) =>
        path === "logits" ? values[t * V + id] + state.get("shift") : shares[t][id];
      const shown = ids.flatMap((_, t) => best.map((id) => of(t, id)));
      return { axes: "B T V", shape: [1, ids.length, V], columns: named, values: shown };
    }
    const { axes, shape, values } = tensor(path);
    const [rows, width] = shape.slice(-2);
    const square = axes.endsWith("T T");
    const start = shape.length === 4 ? state.get("head") * rows * width : 0;
    const many = square ? width : Math.min(width, COLUMNS);
    const shown = Array.from({ length: rows * many }, (_, i) => {
      return values[start + Math.floor(i / many) * width + (i % many)];
    });
    const letter = axes.slice(-1).toLowerCase();
    const columns = square ? tokens : shown.slice(0, many).map((_, i) => letter + i);
    return { axes, shape, columns, values: shown };
  };

  /**
   * The largest products, the rest, and the sum.
   * @param {ArrayLike<number>} x  what ln_f gives at the position
   * @param {ArrayLike<number>} row  of wte
   */
  const spell = (x, row) => {
    const products = Array.from(x, (value, c) => ({ c, p: value * row[c] }));
    const sorted = [...products].sort((a, b) => Math.abs(b.p) - Math.abs(a.p));
    const rest = sorted.slice(TERMS).reduce((sum, { p }) => sum + p, 0);
    const added = state.get("shift");
    const sum = products.reduce((all, { p }) => all + p, added);
    const line = (/** @type {string[]} */ [name, ...cells]) =>
      make(
        "tr",
        {},
        make("th", { scope: "row" }, name),
        ...cells.map((one) => make("td", {}, one)),
      );
    const numbers = (/** @type {number} */ c) => `${fixed(x[c], 2)} · ${fixed(row[c], 2)}`;
    terms.replaceChildren(
      make("caption", {}, "its logit: products of x and its row of wte, the largest first"),
      ...sorted.slice(0, TERMS).map(({ c, p }) => line([`c${c}`, numbers(c), fixed(p, 2)])),
      line([`the other ${C - TERMS}`, "", fixed(rest, 2)]),
      ...(added ? [line(["added", "", fixed(added, 2)])] : []),
      line(["logit", "", fixed(sum, 2)]),
    );
    return sum;
  };

  return {
    nodes: [
      strip.element,
      along.element,
      head.element,
      make("p", {}, code),
      shape,
      make(
        "div",
        { class: "sides" },
        board.element,
        make("div", {}, bars.element, shift.element),
        terms,
      ),
    ],
    show: async (latest) => {
      const [text, station] = [state.get("text"), state.get("station")];
      const { ids, cut } = await model.encode(text, MOST);
      const { path, code: line, role } = all[station];
      const record = ["ln_f", "logits", ...(/^(idx|prob)/.test(path) ? [] : [path])];
      const now = await model.run({ ids, key: "stations", record: [...new Set(record)] });
      if (!now || !latest()) return;
      const at = state.get("at") < 0 ? ids.length - 1 : Math.min(state.get("at"), ids.length - 1);
      const { logits } = now;
      const shares = ids.map((_, t) => model.probabilities(logits, { t }));
      const guesses = model.best(shares[at], COLUMNS);
      const chosen = state.get("token") < 0 ? guesses[0].id : state.get("token");
      const table = await model.run({ ids: [chosen], key: "stations, row", record: ["tok_emb"] });
      if (!table || !latest()) return;

      strip.set(
        ids.map((id) => ({ name: model.show(id), id })),
        { text, chosen: at, cut },
      );
      for (const one of [along, head, shift]) one.set();
      code.textContent = line;
      code.dataset.name = board.element.dataset.name = path;
      const best = guesses.map(({ id }) => id);
      const { axes, shape: sizes, columns, values } = view(ids, now.tensor, shares, best);
      head.element.hidden = !axes.includes("H");
      const width = sizes[sizes.length - 1];
      const shown =
        columns.length < width && path !== "idx" ? `, ${columns.length} of ${width} columns` : "";
      const letters = axes.split(" ").flatMap((letter, i) => {
        const one = make("span", { "data-name": letter }, letter);
        return i ? [", ", one] : [one];
      });
      shape.replaceChildren(...letters, ` = (${sizes.join(", ")})${shown}`);
      board.decimals = path === "idx" ? 0 : 2;
      board.element.className = `board g2 g2-${role}`;
      const scale = Math.max(...Array.from(values, Math.abs).filter(Number.isFinite));
      const tokens = ids.map((id) => model.show(id));
      const masked = /(masked_scores|weights)$/.test(path);
      const off = ({ row = 0, column = 0 }) => masked && column > row;
      board.set(values, { rows: tokens, columns, scale, off });

      const logit = (/** @type {number} */ id) => logits[at * V + id] + state.get("shift");
      const listed = guesses.slice(0, BARS);
      if (!listed.some(({ id }) => id === chosen)) {
        listed.push({ id: chosen, name: model.show(chosen), p: shares[at][chosen] });
      }
      bars.set(
        listed.map((guess) => {
          const mark = guess.id === chosen ? "chosen" : "";
          return { ...guess, mark, note: `logit ${fixed(logit(guess.id), 2)}` };
        }),
        `what comes after ${tokens[at]}: logit and probability`,
      );
      const x = now.tensor("ln_f").values.subarray(at * C, (at + 1) * C);
      const sum = spell(x, table.tensor("tok_emb").values);
      const total = Array.from(logits.subarray(at * V, (at + 1) * V)).reduce(
        (a, b) => a + b,
        V * state.get("shift"),
      );
      const extra = state.get("shift");
      const more = extra ? ` with ${fixed(extra, 0)} added` : "";
      const many = sizes.reduce((product, size) => product * size, 1);
      say(
        `${nameOf(station)} holds ${many.toLocaleString("en")} numbers. ` +
          `${quoted(model.show(chosen))} has the logit ${fixed(sum, 2)}, the dot product of x with its row ` +
          `of wte${more}, and the probability ${share(shares[at][chosen])}. ` +
          `All logits sum to ${fixed(total, 0)}, all probabilities to 1.`,
      );
    },
    table: () => ({ caption: nameOf(state.get("station")), ...board.table }),
  };
}
