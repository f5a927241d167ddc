// What can be looked at in "Open the model": where heads look, what each stage would say, any
// tensor, and what does the computing. One is shown at a time.

import { Board, heads as mapsOf } from "./board.mjs";
import { fixed, make, quoted } from "./dom.mjs";
import { leaders } from "./inside.mjs";
import { Lens } from "./lens.mjs";
import { machine } from "./machine.mjs";
import { tensors } from "./tensors.mjs";

/** @import { Page } from "./exhibit.mjs" */
/** @import { Result } from "./page_model.mjs" */
/** @typedef {{result: Result, tokens: string[], at: number}} Now  `at`: the token that is chosen */
/**
 * `record` names the tensors that it shows, `most` is how many tokens it can show. `show` is false
 * when a newer request has taken its place.
 * @typedef {{element: HTMLElement, record: () => string[], most?: number,
 *   show: (now: Now) => Promise<boolean | void> | void}} View
 */

const LOGITS = 1.5e7; // that the lens reads at once: with a large model it has fewer tokens

/**
 * @param {Page} page
 * @param {string[]} names  of heads, block.head
 * @returns {Record<string, View>}
 */
export function views(page, names) {
  return {
    attention: attention(page, names),
    lens: lens(page),
    tensor: tensors(page),
    machine: { ...machine(page), record: () => [] },
  };
}

/**
 * @param {Page} page
 * @param {string[]} names
 * @returns {View}
 */
function attention({ state, model }, names) {
  const { nLayer, nHead } = model.present.config;
  const paths = Array.from({ length: nLayer }, (_, n) => `transformer.h.${n}.attn.weights`);
  const board = new Board({ onHead: (i) => state.set({ head: names[i] }) });
  const title = make("p", { class: "soft" });
  board.heads.after(title);
  board.heads.style.setProperty("--columns", String(Math.min(nHead, 6)));
  return {
    element: board.element,
    record: () => paths,
    show: ({ result, tokens, at }) => {
      const T = tokens.length;
      const maps = paths.flatMap((path) => mapsOf(result.tensor(path)));
      const head = state.get("head");
      const cut = state.get("off");
      board.setHeads(
        maps.map((values, i) => ({
          title: names[i],
          values,
          mark: cut.includes(names[i]) ? "cut" : "",
        })),
        names.indexOf(head),
      );
      const map = maps[names.indexOf(head)];
      const row = map.subarray(at * T, (at + 1) * T);
      const key = row.indexOf(Math.max(...row));
      const masked = state.get("mask");
      board.set(map, {
        rows: tokens,
        columns: tokens,
        off: ({ row, column }) => masked && column > row,
        lit: ({ row, column }) => row === at && column === key,
        place: { row: at, column: key },
      });
      const look = `looks from ${quoted(tokens[at])} most at ${quoted(tokens[key])}`;
      const is = cut.includes(head) ? ", which is cut," : "";
      title.textContent = `Head ${head}${is} ${look} (${fixed(row[key], 2)}).`;
    },
  };
}

/**
 * @param {Page} page
 * @returns {View}
 */
function lens({ state, model }) {
  const { nLayer, vocabSize } = model.present.config;
  const stream = ["embd"];
  const stages = ["embeddings"];
  for (let n = 0; n < nLayer; n++) {
    stream.push(`transformer.h.${n}.resid_mid`, `transformer.h.${n}.resid_post`);
    stages.push(`attention ${n}`, `MLP ${n}`);
  }
  const lens = new Lens({ onPick: ({ column }) => state.set({ at: column }) });
  return {
    element: lens.element,
    record: () => stream,
    most: Math.max(4, Math.floor(LOGITS / (stages.length * vocabSize))),
    show: async ({ result, tokens, at }) => {
      const T = tokens.length;
      const values = stream.map((path) => result.tensor(path).values);
      const all = new Float32Array(values.reduce((sum, { length }) => sum + length, 0));
      values.forEach((part, s) => all.set(part, s * part.length));
      const said = await model.read(all, "playground, lens");
      if (!said) return false;
      const best = leaders(said, vocabSize).map(({ id, p }) => ({ name: model.show(id), p }));
      const rows = stages.map((_, s) => best.slice(s * T, (s + 1) * T)).reverse();
      lens.set(rows, { stages: [...stages].reverse(), tokens, chosen: { row: 0, column: at } });
    },
  };
}
