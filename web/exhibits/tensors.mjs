// Any tensor of a pass: all of it in small, and some of its columns to be read.

import { Board, thumb } from "./board.mjs";
import { choice, labelled, make, short } from "./dom.mjs";
import { wayThrough } from "./stations.mjs";
import { Switchboard } from "./switchboard.mjs";

/** @import { Page } from "./exhibit.mjs" */
/** @import { View } from "./playground_views.mjs" */

const FIRST_LOOK = "transformer.h.1.attn.weights";
const COLUMNS = 24; // that are read at a time
const WIDEST = 8192; // columns of the small picture; a browser's canvas has an end

/**
 * @param {Page} page
 * @returns {View}
 */
export function tensors({ state, model }) {
  const { nLayer, nHead, nEmbd, vocabSize } = model.present.config;
  const stations = wayThrough(nLayer).slice(1, -1); // from embeddings to logits
  const paths = stations.map(({ path }) => path);
  const whole = true;
  const most = Math.max(4 * nEmbd, vocabSize) - 1;
  state.declare("tensor", FIRST_LOOK, { among: paths });
  state.declare("part", 0, { min: 0, max: nHead - 1, whole }); // the head
  state.declare("column", 0, { min: 0, max: most, whole });

  const options = paths.map((path) => [
    path,
    path.replace(/^transformer\.h\.(\d+)\./, "block $1 · "),
  ]);
  const list = choice(Object.fromEntries(options), () =>
    state.set({ tensor: list.value, column: 0 }),
  );
  const slider = (/** @type {string} */ key, /** @type {string} */ label) =>
    new Switchboard(state, [{ kind: "slider", key, label, max: nHead - 1, step: 1, decimals: 0 }]);
  const head = slider("part", "head");
  const column = slider("column", "from column");
  const range = /** @type {HTMLInputElement} */ (column.element.querySelector("input"));
  const code = make("code");
  const facts = make("p", { class: "soft" });
  const small = make("canvas", { "aria-hidden": "true" });
  const frame = make("i");
  const overview = make("div", { class: "overview" }, small, frame);
  const board = new Board({ corner: "", label: "the tensor" });

  return {
    element: make(
      "div",
      { class: "tensors" },
      labelled("tensor", list),
      make("p", {}, code),
      facts,
      head.element,
      overview,
      column.element,
      board.element,
    ),
    record: () => [state.get("tensor")],
    show: ({ result, tokens }) => {
      const { path, axes, shape, values } = result.tensor(state.get("tensor"));
      const letters = axes.split(" ");
      const [rows, columns] = shape.slice(-2);
      const size = rows * columns;
      const start = shape.length > 3 ? state.get("part") * size : 0;
      const own = values.subarray(start, start + size);
      let [least, largest, sum, count] = [Infinity, -Infinity, 0, 0];
      for (const value of values.filter(Number.isFinite)) {
        least = Math.min(least, value);
        largest = Math.max(largest, value);
        sum += value;
        count++;
      }
      const scale = Math.max(-least, largest);

      list.value = path;
      code.textContent = stations[paths.indexOf(path)].code;
      facts.textContent =
        `${letters.join(", ")} = (${shape.join(", ")}), from ${short(least)} to ` +
        `${short(largest)}, mean ${short(sum / count)}. Violet is positive, ochre negative; ` +
        "hatched is −∞.";
      head.element.hidden = shape.length < 4;
      head.set();

      const last = columns - COLUMNS; // the last column that can be the first to be read
      const first = Math.max(0, Math.min(state.get("column"), last));
      column.element.hidden = last <= 0;
      overview.hidden = last <= 0 || columns > WIDEST;
      if (last > 0) {
        range.max = String(last);
        column.set();
        if (!overview.hidden) thumb(small, own, columns, scale);
        small.onclick = ({ offsetX }) =>
          state.set({ column: (offsetX / small.clientWidth) * columns - COLUMNS / 2 });
        overview.style.setProperty("--rows", String(rows));
        frame.style.left = `${(100 * first) / columns}%`;
        frame.style.width = `${(100 * COLUMNS) / columns}%`;
      }

      const letter = letters[letters.length - 1];
      const names = Array.from({ length: Math.min(columns, COLUMNS) }, (_, i) => {
        if (letter === "T") return tokens[first + i];
        return letter === "V" ? model.show(first + i) : letter.toLowerCase() + (first + i);
      });
      const seen = tokens.flatMap((_, row) => [
        ...own.subarray(row * columns + first, row * columns + first + names.length),
      ]);
      board.element.dataset.name = path;
      board.set(seen, { rows: tokens, columns: names, scale });
    },
  };
}
