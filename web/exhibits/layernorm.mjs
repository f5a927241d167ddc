// Chapter 9: turn the volume of the stream, take the norms out. With them the dots and the next
// token stay; without them both fly.

import { nextAfter, pieces } from "./answers.mjs";
import { Bars, goes, share } from "./bars.mjs";
import { beside, fixed, make, quoted } from "./dom.mjs";
import { Dots, REACH } from "./dots.mjs";
import { inWords } from "./rest_of.mjs";
import { textStrip } from "./strip.mjs";
import { Switchboard, choose, flag, slider } from "./switchboard.mjs";

const MOST = 24; // tokens
const UNSURE = 0.05; // below it nothing is said to come next

/** @type {import("./exhibit.mjs").Kind} */
export function layernorm({ settings, state, model, say }) {
  const { nLayer, nEmbd: C, layerNormEpsilon: eps } = model.present.config;
  const blocks = Array.from({ length: nLayer }, (_, n) => n);
  const stages = ["embedding", ...blocks.map((n) => `block ${n}`)];
  const paths = ["embd", ...blocks.map((n) => `transformer.h.${n}.resid_post`)];
  // All that is added to the stream: louder by one factor, the whole stream is.
  const writers = [
    "embd",
    ...blocks.flatMap((n) => ["attn", "mlp"].map((part) => `transformer.h.${n}.${part}.out`)),
  ];
  state.declare("text", settings.text);
  state.declare("at", -1, { min: -1, max: MOST - 1, whole: true }); // −1: the last token
  state.declare("stage", stages[0], { among: stages });
  state.declare("volume", 1, { min: 0.01, max: 100 });
  state.declare("norm", true);
  state.declare("eps", "inside", { among: ["inside", "outside"] });

  const strip = textStrip(state, settings, { onPick: (at) => state.set({ at }) });
  const dots = new Dots(2);
  const numbers = make("p", { class: "soft" });
  const bars = new Bars();
  const first = new Switchboard(state, [
    slider("volume", "volume ×", { log: true, min: -2, max: 2, step: 0.1 }),
    flag("norm", "LayerNorm"),
  ]);
  const controls = new Switchboard(state, [
    choose("eps", "ε, in the dots", [
      ["inside", "√(σ² + ε)"],
      ["outside", "σ + ε"],
    ]),
    choose("stage", "stream after", stages),
  ]);
  /** @type {{name: string, result: import("./page_model.mjs").Result} | null} */
  let base = null; // the last text, as trained
  /** @type {(string | number)[][]} */
  let rows = [];

  /**
   * What has become of the token that was likeliest.
   * @param {Float64Array} now
   * @param {Float64Array} [before]
   */
  const next = (now, before) => {
    const [[first], [top]] = [model.best(before ?? now, 1), model.best(now, 1)];
    const name = quoted(first.name);
    if (!before) return `Next: ${name} with ${fixed(first.p, 2)}.`;
    const likelier =
      top.p < UNSURE
        ? `; no token has more than ${share(top.p)}`
        : `, ${quoted(top.name)} comes with ${fixed(top.p, 2)}`;
    const change = goes(first.p, now[first.id], (p) => fixed(p, 2));
    return `${name} ${change}${top.id === first.id ? "" : likelier}.`;
  };

  return {
    nodes: [
      strip.element,
      first.element,
      beside(make("div", { class: "g2" }, dots.element, numbers), bars.element),
      controls.element,
    ],
    show: async (latest) => {
      const [text, stage, volume, norm] = ["text", "stage", "volume", "norm"].map(state.get, state);
      const { ids, cut } = await model.encode(text, MOST);
      const path = paths[stages.indexOf(stage)];
      const common = { ids, record: [path], lastOnly: true };
      const name = [path, ...ids].join(" ");
      if (base?.name !== name) {
        const result = await model.run({ ...common, key: "layernorm, as trained" });
        if (!result) return;
        base = { name, result };
      }
      const trained = base.result;
      const edits = Object.fromEntries(writers.map((writer) => [writer, { scale: volume }]));
      const changed = volume !== 1 || !norm;
      const now = changed
        ? await model.run({ ...common, key: "layernorm", edits, switches: { layerNorm: norm } })
        : trained;
      if (!now || !latest()) return;
      const tokens = model.names(ids);
      const at = state.get("at") < 0 ? ids.length - 1 : Math.min(state.get("at"), ids.length - 1);
      strip.set(pieces(ids), { text, chosen: at, cut });
      const x = now.tensor(path).values.subarray(at * C, (at + 1) * C);
      const before = measure(x);
      const divisor = {
        inside: Math.sqrt(before.std ** 2 + eps),
        outside: before.std + eps,
      };
      const where = /** @type {"inside" | "outside"} */ (state.get("eps"));
      const read = norm ? Array.from(x, (value) => (value - before.mean) / divisor[where]) : x;
      const after = measure(read);
      dots.set([
        { title: `the stream at ${tokens[at]}, × ${written(volume)}`, values: x, tensor: path },
        {
          title: norm ? "what the next layer reads, before γ and β" : "what the next layer reads",
          values: read,
          role: "read",
        },
      ]);
      numbers.textContent = norm
        ? `mean ${written(before.mean)}, σ ${written(before.std)}, ε ${written(eps)}; divided by ${written(divisor[where])}; then mean ${written(after.mean)}, σ ${written(after.std)}`
        : `mean ${written(before.mean)}, σ ${written(before.std)}; nothing is subtracted or divided`;
      const p = model.probabilities(now.logits);
      const was = changed ? model.probabilities(trained.logits) : undefined;
      const shown = nextAfter(text, p, was);
      const last = tokens[tokens.length - 1];
      const title = `what comes after ${last}${was ? " (dashed: as trained)" : ""}`;
      first.set();
      controls.set();

      const out = dots.beyond(read, -1) + dots.beyond(read, 1);
      const other = where === "inside" ? "outside" : "inside";
      const there = before.std / divisor[other];
      say(
        [
          `Volume ${written(volume)}, ${norm ? "with" : "without"} LayerNorm:`,
          `σ is ${written(before.std)} in the stream and ${written(after.std)} in what the next layer reads.`,
          out ? `${out} of ${C} entries ${out === 1 ? "is" : "are"} beyond ±${REACH}.` : "",
          norm && Math.abs(after.std - there) > 5e-3
            ? `With ε ${other} the root it would be ${written(there)}.`
            : "",
          next(p, was),
        ]
          .filter(Boolean)
          .join(" "),
      );
      await inWords(model, bars, shown, { ids, key: "layernorm, words", latest, title });
      rows = [
        ["mean of the stream", written(before.mean), ""],
        ["σ of the stream", written(before.std), ""],
        [
          "σ after the norm, ε inside",
          written(norm ? before.std / divisor.inside : before.std),
          "",
        ],
        [
          "σ after the norm, ε outside",
          written(norm ? before.std / divisor.outside : before.std),
          "",
        ],
        ...bars.table,
      ];
    },
    act: async (hand) => {
      state.set({ volume: 1, norm: true });
      await hand.pause();
      await hand.slide("volume ×", 2);
      await hand.press(hand.find("input[type=checkbox]"));
      await hand.slide("volume ×", 0);
    },
    whole: () => {
      const n = stages.indexOf(state.get("stage")) - 1;
      return { text: state.get("text"), place: n < 0 ? "0" : String(n) };
    },
    table: () => ({
      caption: `The stream after ${state.get("stage")} at volume ${written(state.get("volume"))}, and what comes next.`,
      columns: ["", "now", "as trained"],
      rows,
    }),
  };
}

/** @param {ArrayLike<number>} values */
function measure(values) {
  const all = Array.from(values);
  const mean = all.reduce((sum, value) => sum + value, 0) / all.length;
  const variance = all.reduce((sum, value) => sum + (value - mean) ** 2, 0) / all.length;
  return { mean, std: Math.sqrt(variance) };
}

/**
 * A number of any size, short.
 * @param {number} value
 */
function written(value) {
  const size = Math.abs(value);
  if (size < 1e5 && (size >= 1e-3 || size < 1e-9)) return fixed(value).replace(/\.?0+$/, "");
  const [digits, power] = value.toExponential(1).split("e");
  const raised = [...power.replace("+", "")].map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]);
  return `${digits.replace("-", "−")} · 10${raised.join("")}`.replace(/^1\.0 · /, "");
}
