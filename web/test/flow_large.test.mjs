// Of a large model the page gets no matrix, but a sample for the picture and the rows that are opened.

import { beforeAll, expect, test, vi } from "vitest";
import { Engine } from "../client.mjs";
import { placeOf } from "../flow/place.mjs";
import { readPass, wholeWords } from "../flow/read.mjs";
import { GPT2 } from "../model.mjs";
import { Shelf, SIDE, vectorOf, worked } from "../flow/parts.mjs";
import { sourceOf } from "../flow/source.mjs";
import { randomModel } from "./cases.mjs";
import { pageModel } from "./page.mjs";

const [C, T, AT] = [520, 5, 4];
const sizes = { vocab_size: 1024, n_positions: 8, n_layer: 1, n_head: 2, n_embd: C };
let model, pass, shelf, sent;
beforeAll(async () => {
  model = await pageModel();
  await model.load({ name: "a large model", ...randomModel(sizes) });
  pass = await readPass(model, { text: "", ids: [1, 2, 3, 4, 5], key: "test" });
  shelf = new Shelf(model);
  model.engine.hear = (message) => {
    sent += message.result?.weight?.length ?? 0;
    Engine.prototype.hear.call(model.engine, message);
  };
});

const at = (address) => placeOf(address, { nLayer: 1, nHead: 2, T, D: C / 2, units: 4 * C });
const opened = async (address) => {
  const [place, { config }] = [at(address), model.present];
  sent = 0;
  const { matrix } = await shelf.wanted(pass, place, AT);
  const made = vectorOf(pass.tensor(sourceOf(place, config).output), AT, place.head);
  return { place, matrix, made, work: worked(pass, place, matrix, config, AT) };
};

test.each([
  ["0.mlp.c_fc", C, 4 * C],
  ["0.mlp.c_proj", 4 * C, C],
])("%s is a sample, and every output of it the sum of its own products", async (address, K, R) => {
  const { place, matrix, made, work } = await opened(address);
  expect(sent).toBe(SIDE * C + K); // and the row of the largest output
  expect([work.K, work.R, work.sampled]).toEqual([K, R, true]);
  const { row, outputs } = work;
  expect(outputs()).toEqual(made);
  const largest = made.reduce((best, v, o) => (Math.abs(v) > Math.abs(made[best]) ? o : best), 0);
  expect(row(largest).sum + row(largest).bias).toBeCloseTo(made[largest], 3);
  for (let o = 0; o < R; o += 173) {
    if (o !== largest) expect(row(o)).toBeNull();
    await shelf.row(matrix, place, o);
    expect(row(o).products).toHaveLength(K);
    expect(row(o).sum + row(o).bias).toBeCloseTo(made[o], 3);
  }
  // The sample is of the weights that stand there.
  const [rows, columns] = [R, K].map((n) => Math.min(n, SIDE));
  for (const [i, j] of [
    [0, 0],
    [rows - 1, columns - 1],
    [rows >> 1, columns >> 1],
  ]) {
    const [o, k] = [Math.floor((i * R) / rows), Math.floor((j * K) / columns)];
    await shelf.row(matrix, place, o);
    expect(matrix.map.weight[i * columns + j]).toBe(matrix.rows.get(o).weight[k]);
  }
});

test("for a product one row is fetched", async () => {
  const { made, work } = await opened("0.mlp.c_fc.4.2000.519");
  expect(sent).toBe(C);
  const { sum, bias } = work.row(2000);
  expect(sum + bias).toBeCloseTo(made[2000], 3);
  expect(work.row(1999)).toBeNull();
});

test("a matrix of no more weights than a sample has comes as it is", async () => {
  const { work, made } = await opened("0.1.k");
  expect(sent).toBe((C * C) / 2);
  expect(work.sampled).toBe(false);
  const { sum, bias } = work.row(7);
  expect(sum + bias).toBeCloseTo(made[7], 3);
});

test.each([64, 40])("whole words take one pass each, of %i tokens too", async (n_positions) => {
  const small = { ...sizes, n_embd: 8, n_positions };
  await model.load({ name: "words without end", ...randomModel(small) });
  const ids = Array.from({ length: 40 }, (_, i) => 7 * i);
  const read = await readPass(model, { text: "", ids, key: "test" });
  read.next = [1, 2, 3].map((id) => ({ id, name: "a", p: 0.1 }));
  const text = vi.spyOn(model.present.tokenizer, "decode").mockReturnValue("a");
  const work = vi.spyOn(GPT2.prototype, "forward");
  const [older, newer] = await Promise.all([wholeWords(model, read), wholeWords(model, read)]);
  const tokens = work.mock.calls.reduce((sum, [given]) => sum + given.length, 0);
  work.mockRestore();
  text.mockRestore();
  expect(older).toBeNull(); // the newer one took its place
  expect(newer.next.map(({ rest }) => rest)).toEqual(["aaaaaa", "aaaaaa", "aaaaaa"]);
  expect(tokens).toBeLessThan(4 * (ids.length + 7));
});
