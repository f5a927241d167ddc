// Chapter 10: put the blocks in another order, or leave one out: loss and text. They have one plan,
// but each works on what those before it have written.

import { nextAfter, pieces } from "./answers.mjs";
import { Bars, share } from "./bars.mjs";
import { beside, fixed, make } from "./dom.mjs";
import { lossOf } from "./loading.mjs";
import { orSuperseded } from "./page_model.mjs";
import { inWords } from "./rest_of.mjs";
import { Strip, textStrip } from "./strip.mjs";

/** @typedef {{loss: number, p: Float64Array, written: string}} Measured */

const MOST = 24; // tokens of the text
const WRITTEN = 20; // tokens
const WIDEST = 1.5; // times the loss of blind guessing: a whole bar

/** @type {import("./exhibit.mjs").Kind} */
export function blocks({ settings, state, model, say }) {
  const { nLayer, blockSize, vocabSize } = model.present.config;
  const { tokenizer } = model.present;
  const guessing = Math.log(vocabSize);
  const all = Array.from({ length: nLayer }, (_, n) => String(n));
  state.declare("text", settings.text);
  state.declare("order", all, { among: all });
  state.declare("out", [], { among: all });

  /** All blocks, each once: what an address forgets comes last. */
  const inOrder = () => [...new Set([...state.get("order"), ...all])];

  const strip = textStrip(state, settings);
  const places = new Strip({
    what: "block",
    onPick: (i) => state.toggle("out", inOrder()[i]),
    onMove: (from, to) => {
      const order = inOrder();
      order.splice(to, 0, ...order.splice(from, 1));
      state.set({ order });
    },
  });
  const end = make("p", { class: "end" }); // what the stream predicts
  const many = settings.stories.length;
  const loss = new Bars({
    label: `loss on ${many} new stories (line: blind guessing, ${fixed(guessing, 2)})`,
    rows: 1,
    write: (value) => fixed(value, 2),
  });
  const bars = new Bars();
  const texts = { usual: make("q"), now: make("q") };

  /** @type {Map<string, number>} */
  const losses = new Map(); // of each order that was tried

  /**
   * @param {number[]} order
   * @param {string} key  of the requests
   * @param {() => boolean} latest  an older round's requests would take the place of a newer one's
   */
  const lossWith = async (order, key, latest) => {
    const known = losses.get(order.join(" · "));
    if (known !== undefined) return known;
    let [sum, n] = [0, 0];
    for (const story of settings.stories) {
      const ids = [tokenizer.eot, ...tokenizer.encode(story), tokenizer.eot].slice(
        0,
        blockSize + 1,
      );
      const request = { ids: ids.slice(0, -1), key, switches: { order } };
      const result = await model.run(request);
      if (!result || !latest()) return null;
      sum += lossOf(result.logits, ids.slice(1)) * (ids.length - 1);
      n += ids.length - 1;
    }
    losses.set(order.join(" · "), sum / n);
    return sum / n;
  };

  /**
   * @param {number[]} order
   * @param {number[]} ids
   * @param {string} key
   * @param {() => boolean} latest
   * @returns {Promise<Measured | null>}
   */
  const measure = async (order, ids, key, latest) => {
    const loss = await lossWith(order, key, latest);
    const next =
      loss !== null && (await model.run({ ids, key, switches: { order }, lastOnly: true }));
    if (!next || !latest()) return null;
    const own = { temperature: 0, eosId: tokenizer.eot, switches: { order } };
    const n = Math.min(WRITTEN, blockSize + 1 - ids.length);
    const { answer } = await model.stream({ ids, n, key, settings: own }, () => {});
    const written = await answer.catch(orSuperseded);
    if (!written) return null;
    const text = tokenizer.decode(
      written.ids.filter((/** @type {number} */ id) => id !== tokenizer.eot),
    );
    return { loss, p: model.probabilities(next.logits), written: text };
  };

  /** @type {{key: string, measured: Measured | null}} */
  const usual = { key: "", measured: null };

  return {
    nodes: [
      strip.element,
      make("div", { class: "stack" }, places.element, end),
      beside(
        [
          loss.element,
          make("p", { class: "soft" }, "in the original order it writes"),
          make("p", {}, texts.usual),
          make("p", { class: "soft" }, "in this order it writes"),
          make("p", {}, texts.now),
        ],
        bars.element,
      ),
    ],
    show: async (latest) => {
      const text = state.get("text");
      const out = /** @type {string[]} */ (state.get("out"));
      const { ids, cut } = await model.encode(text, MOST);
      const order = inOrder().filter((block) => !out.includes(block));
      const own = order.join() === all.join();
      strip.set(pieces(ids), { text, cut });
      places.set(
        inOrder().map((block) => {
          const gone = out.includes(block);
          return { name: `block ${block}`, id: gone ? "left out" : "in", mark: gone ? "cut" : "" };
        }),
        { note: "Click a block to leave it out, or to put it back." },
      );
      for (const block of places.buttons) {
        if (block.children.length > 2) continue; // it has its parts
        const parts = ["attention", "MLP"].map((part) =>
          make("u", { "aria-hidden": "true" }, part),
        );
        block.append(...parts);
      }
      if (usual.key !== String(ids)) {
        const measured = await measure(all.map(Number), ids, "blocks, usual", latest);
        if (measured) Object.assign(usual, { key: String(ids), measured });
      }
      const whole = usual.measured;
      const now = own ? whole : await measure(order.map(Number), ids, "blocks", latest);
      if (!whole || !now || !latest()) return;
      const before = own ? undefined : whole;
      loss.set(
        [{ id: 0, name: "loss", p: now.loss, before: before?.loss }],
        undefined,
        WIDEST * guessing,
      );
      const shown = nextAfter(text, now.p, before?.p);
      const [best] = model.best(now.p, 1);
      end.replaceChildren(make("b", {}, best.name), ` ${share(best.p)}`);
      const last = model.show(ids[ids.length - 1]);
      const title = `what comes after ${last}${before ? " (dashed: in the original order)" : ""}`;
      texts.usual.textContent = whole.written.trim();
      texts.now.textContent = now.written.trim();
      const name = order.join(" · ") || "no block";
      const figure = `the loss is ${fixed(now.loss, 2)}`;
      const worse = now.loss > guessing ? ` Blind guessing has ${fixed(guessing, 2)}.` : "";
      say(
        before
          ? `${name}: ${figure}, in the original order ${fixed(before.loss, 2)}.${worse}`
          : `In the original order, ${name}, ${figure}.`,
      );
      await inWords(model, bars, shown, { ids, key: "blocks, words", latest, title });
    },
    act: async (hand) => {
      state.set({ order: all, out: [] });
      await hand.pause();
      await hand.carry(places, 1, 0);
      await hand.pause(900);
      await hand.carry(places, 1, 0);
      await hand.carry(places, 1, 2);
    },
    whole: () => ({ text: state.get("text") }),
    table: () => ({
      caption: `The orders that you have tried, with the loss on ${many} stories.`,
      columns: ["order", "loss"],
      rows: [...losses].map(([order, value]) => [order || "no block", fixed(value, 3)]),
    }),
  };
}
