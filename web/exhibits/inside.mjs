// Chapter 17: carry a vector from one text's stream into another's run. Where two texts differ need
// not be what the prediction uses.

import { Bars, withGhosts } from "./bars.mjs";
import { fixed, make } from "./dom.mjs";
import { Lens } from "./lens.mjs";
import { Strip } from "./strip.mjs";

/** @import { Place } from "./lens.mjs" */
/** @typedef {{ids: number[], cut: number, values: Float32Array[], leaders: {id: number, p: number}[],
 *   logits: Float32Array, p: Float64Array}} Run  `values`: (T, C) at each stage; `leaders`: the
 *   likeliest token of each stage and place */

const MOST = 24; // tokens
const LOGITS = 1.5e7; // that are read at once: a large model gets fewer tokens
const FAR = 1.5; // the distance, in lengths, that has the full colour

/** @type {import("./exhibit.mjs").Kind} */
export function inside({ settings, state, model, say, sentence: said }) {
  const { nLayer, nEmbd: C, vocabSize: V } = model.present.config;
  const [paths, stages] = [["embd"], ["embeddings"]];
  for (let n = 0; n < nLayer; n++) {
    paths.push(`transformer.h.${n}.resid_mid`, `transformer.h.${n}.resid_post`);
    stages.push(`attention ${n}`, `MLP ${n}`);
  }
  const most = Math.max(4, Math.min(MOST, Math.floor(LOGITS / (stages.length * V))));
  state.declare("from", settings.giver);
  state.declare("text", settings.text);
  state.declare("stage", -1, { min: -1, max: stages.length - 1, whole: true }); // −1: nothing
  state.declare("back", 0, { min: 0, max: MOST - 1, whole: true }); // from the last token

  const lengths = { from: 1, text: 1 };
  const carry = (/** @type {"from" | "text"} */ of, /** @type {Place} */ { row, column }) => {
    const back = lengths[of] - 1 - column;
    const again = row === state.get("stage") && back === state.get("back");
    state.set(again ? { stage: -1, back: 0 } : { stage: row, back });
  };
  /**
   * @param {"from" | "text"} key
   * @param {string} label
   * @param {string} colour  what it says
   */
  const text = (key, label, colour) => {
    const onText = (/** @type {string} */ value) => state.set({ [key]: value });
    const strip = new Strip({ label, value: state.get(key), onText });
    const lens = new Lens({ label, onPick: (place) => carry(key, place) });
    const title = make(
      "p",
      { class: "soft" },
      `${label}. The more colour, the farther from ${colour}.`,
    );
    return { strip, lens, nodes: [title, strip.element, lens.element] };
  };
  const from = text("from", "first text, gives a vector", "the second text's vector");
  const onto = text("text", "second text, receives it", "what it was");
  const bars = new Bars();
  /**
   * @param {string} name
   * @param {() => string[]} pair  the two texts
   */
  const chip = (name, pair) => {
    const onclick = () => state.set({ from: pair()[0], text: pair()[1] });
    return make("button", { type: "button", onclick }, name);
  };
  const chips = make(
    "div",
    { class: "chips", role: "group", "aria-label": "pairs of texts" },
    ...Object.entries(settings.pairs ?? {}).map(([name, pair]) => chip(name, () => pair)),
    chip("exchange the two", () => [state.get("text"), state.get("from")]),
  );
  drag(from.lens, onto.lens, (place) => carry("from", place));

  /**
   * @param {string} text
   * @param {string} key
   * @param {Record<string, Float32Array>} [edits]
   * @returns {Promise<Run | null>}
   */
  const pass = async (text, key, edits = {}) => {
    const { ids, cut } = await model.encode(text, most);
    const run = await model.run({ ids, key, record: paths, edits, lastOnly: true });
    if (!run) return null;
    const values = paths.map((path) => run.tensor(path).values);
    const all = new Float32Array(stages.length * ids.length * C);
    values.forEach((part, s) => all.set(part, s * part.length));
    const read = await model.read(all, `${key}, read`);
    if (!read) return null;
    const { logits } = run;
    return { ids, cut, values, leaders: leaders(read, V), logits, p: model.probabilities(logits) };
  };

  /** @type {Record<string, {text: string, run: Run}>} */
  const kept = {}; // what does not change when another cell is carried
  const whole = async (/** @type {string} */ of) => {
    const text = state.get(of);
    if (kept[of]?.text === text) return kept[of].run;
    const run = await pass(text, `inside, ${of}`);
    if (run) kept[of] = { text, run };
    return run;
  };

  /** @type {Place | null} */
  let carried = null;

  /**
   * What the carried vector has done.
   * @param {Run} a
   * @param {Run} b
   * @param {Run} now
   */
  const sentence = (a, b, now) => {
    const [theirs, ours] = [a, b].map(({ p }) => model.best(p, 1)[0]);
    if (!carried) {
      const first = `The first text would go on with ${theirs.name} (${fixed(theirs.p, 2)})`;
      const second = `the second with ${ours.name} (${fixed(ours.p, 2)})`;
      const short = state.get("stage") < 0 ? "" : " There is no such place in one of them.";
      return `${first}, ${second}.${short}`;
    }
    const { row, column } = carried;
    const other = column + a.ids.length - b.ids.length;
    const far = apart(a.values[row], other, b.values[row], column, C);
    const where = `${model.show(a.ids[other])} after ${row ? "" : "the "}${stages[row]}`;
    if (far < 1e-6) return `At ${where} both texts have the same vector: nothing can change.`;
    const goes = (/** @type {{id: number, name: string}} */ { id, name }) => {
      const [before, after] = [b, now].map(({ p }) => fixed(p[id], 2));
      return before === after
        ? `${name} stays at ${after}`
        : `${name} goes from ${before} to ${after}`;
    };
    const distance = `${fixed(far, 2)} of their length`;
    const lead = `With the first text's vector at ${where}`;
    const ruler = (/** @type {Run} */ { logits }) => logits[ours.id] - logits[theirs.id];
    if (ours.id === theirs.id) return `${lead}, ${distance} from the second's, ${goes(ours)}.`;
    const way = (ruler(b) - ruler(now)) / (ruler(b) - ruler(a));
    if (Math.abs(way) < 0.05) {
      return `At ${where} the two vectors are apart by ${distance}. Carry the first across, and ${goes(ours)}: different, and alone it hardly moves this prediction.`;
    }
    return `${lead}, ${goes(ours)} and ${goes(theirs)}: ${fixed(way, 2)} of the way to the first text.`;
  };

  return {
    nodes: [
      chips,
      make(
        "div",
        { class: "sides inside" },
        make("div", {}, ...from.nodes, ...onto.nodes),
        make("div", { class: "result" }, bars.element, said),
      ),
    ],
    show: async (latest) => {
      const [row, back] = [state.get("stage"), state.get("back")];
      const [a, b] = await Promise.all([whole("from"), whole("text")]);
      if (!a || !b || !latest()) return;
      const [Ta, Tb] = [a.ids.length, b.ids.length];
      const there = row >= 0 && back < Math.min(Ta, Tb);
      const column = Tb - 1 - back;
      let now = b;
      if (there) {
        const values = b.values[row].slice();
        const at = (Ta - 1 - back) * C;
        values.set(a.values[row].subarray(at, at + C), column * C);
        const changed = await pass(state.get("text"), "inside, carried", { [paths[row]]: values });
        if (!changed || !latest()) return;
        now = changed;
      }
      carried = there ? { row, column } : null;
      Object.assign(lengths, { from: Ta, text: Tb });

      /**
       * @param {typeof from} where
       * @param {Run} shown
       * @param {Run} other  that it is compared with
       * @param {string} note
       * @param {boolean} [ghosts]
       */
      const paint = ({ lens, strip }, shown, other, note, ghosts) => {
        const T = shown.ids.length;
        const shift = other.ids.length - T;
        const table = stages.map((_, s) =>
          shown.ids.map((_, t) => {
            const { id, p } = shown.leaders[s * T + t];
            const was = ghosts ? other.leaders[s * T + t].id : id;
            const far =
              shift + t < 0 ? 0 : apart(shown.values[s], t, other.values[s], t + shift, C);
            const [heat, more] = [Math.min(1, far / FAR), `, apart by ${fixed(far, 2)}`];
            return { name: model.show(id), p, heat, more, was: was === id ? "" : model.show(was) };
          }),
        );
        const tokens = shown.ids.map((id) => model.show(id));
        const resized = lens.columns !== T;
        lens.set(table, { stages, tokens, chosen: there ? { row, column: T - 1 - back } : null });
        const scroll = lens.grid.parentElement;
        if (scroll && resized) scroll.scrollLeft = scroll.scrollWidth; // what follows is read there
        const { cut } = shown;
        strip.set([], { text: state.get(lens === from.lens ? "from" : "text"), note, cut });
      };
      const more = Math.abs(Ta - Tb);
      const which = Ta > Tb ? "first" : "second";
      const ends = `The ${which} text is longer by ${more}: places are counted from the end.`;
      paint(from, a, b, "");
      paint(onto, now, b, more ? ends : "", true);
      const before = there ? b.p : undefined;
      bars.set(
        withGhosts(now.p, before, 6, (id) => model.show(id)),
        "what follows the second text",
      );
      say(sentence(a, b, now));
    },
    table: () => ({
      caption: `The likeliest token at each stage of the second text${carried ? ", with the vector carried in" : ""}.`,
      ...onto.lens.table,
    }),
  };
}

/**
 * Cells of one lens can be dragged onto another: they go to the same place there.
 * @param {Lens} from
 * @param {Lens} onto
 * @param {(place: Place) => void} drop
 */
function drag(from, onto, drop) {
  /** @type {Place | null} */
  let held = null;
  from.element.addEventListener("pointerover", ({ target }) => {
    const cell = target instanceof HTMLElement && target.closest("td[data-place]");
    if (cell instanceof HTMLElement) cell.draggable = true;
  });
  from.element.addEventListener("dragstart", (event) => {
    const place = /** @type {HTMLElement} */ (event.target).dataset?.place;
    if (!place) return;
    const [row, column] = place.split(" ").map(Number);
    held = { row, column };
    event.dataTransfer?.setData("text/plain", place); // some browsers drag nothing without it
  });
  onto.element.addEventListener("dragover", (event) => {
    if (held) event.preventDefault(); // it may be dropped here
  });
  onto.element.addEventListener("drop", (event) => {
    event.preventDefault();
    if (held) drop(held);
    held = null;
  });
  from.element.addEventListener("dragend", () => (held = null));
}

/**
 * The distance of two vectors, divided by their mean length.
 * @param {Float32Array} x  (T, C)
 * @param {number} i  which of them
 * @param {Float32Array} y
 * @param {number} j
 * @param {number} C
 */
function apart(x, i, y, j, C) {
  let [xx, yy, gap] = [0, 0, 0];
  for (let c = 0; c < C; c++) {
    const [a, b] = [x[i * C + c], y[j * C + c]];
    xx += a * a;
    yy += b * b;
    gap += (a - b) ** 2;
  }
  return Math.sqrt(gap) / ((Math.sqrt(xx) + Math.sqrt(yy)) / 2 || 1);
}

/**
 * The likeliest token of each row, with its probability.
 * @param {Float32Array} logits  (n, V)
 * @param {number} V
 */
export function leaders(logits, V) {
  return Array.from({ length: logits.length / V }, (_, n) => {
    const row = logits.subarray(n * V, (n + 1) * V);
    let id = 0;
    row.forEach((value, i) => (id = value > row[id] ? i : id));
    let sum = 0;
    for (const value of row) sum += Math.exp(value - row[id]);
    return { id, p: 1 / sum };
  });
}
