// A Llama in the picture: every number that is spelled out is that of its tape.

import { beforeAll, expect, test } from "vitest";
import { cellOf, editsOf, readCell } from "../flow/by_hand.mjs";
import { sharedBy } from "../flow/cells.mjs";
import { Layout } from "../flow/layout.mjs";
import { unitsOf } from "../flow/mlp.mjs";
import { silu } from "../numbers.mjs";
import { normedOf } from "../flow/norm.mjs";
import { normOf, Shelf, vectorOf, worked } from "../flow/parts.mjs";
import { sourceOf } from "../flow/source.mjs";
import { addressOf, placeOf } from "../flow/place.mjs";
import { multiplyAdds, productsOf } from "../flow/product.mjs";
import { readPass } from "../flow/read.mjs";
import { piecesOf } from "../flow/thumbs.mjs";
import { tilesOf } from "../flow/tiles.mjs";
import { wayThrough } from "../flow/way.mjs";
import { frequencies } from "../llama.mjs";
import { PlainBackend } from "../plain.mjs";
import { numParameters } from "../shapes.mjs";
import { randomModel } from "./cases.mjs";
import { pageModel } from "./page.mjs";

const [H, K, D, C, F, V, T, AT] = [4, 2, 6, 20, 36, 1024, 5, 4];
const LLAMA = {
  model_type: "llama",
  vocab_size: V,
  max_position_embeddings: 16,
  num_hidden_layers: 2,
  num_attention_heads: H,
  num_key_value_heads: K,
  head_dim: D,
  hidden_size: C,
  intermediate_size: F,
  tie_word_embeddings: false,
};
const ids = [1, 2, 3, 4, 5];
let model, config, pass, shelf;
beforeAll(async () => {
  model = await pageModel();
  await model.load({ name: "a Llama", ...randomModel(LLAMA) });
  ({ config } = model.present);
  pass = await readPass(model, { text: "", ids, key: "test" });
  shelf = new Shelf(model);
});

const at = (address) =>
  placeOf(address, { nLayer: 2, nHead: H, T, D, C, units: F, V, llama: config.llama });
const near = (found, expected) =>
  expected.forEach((x, i) => expect(found[i], `${i}`).toBeCloseTo(x, 4));
const workOf = async (address) => {
  const place = at(address);
  const { matrix } = await shelf.wanted(pass, place, AT);
  return worked(pass, place, matrix, config, AT);
};

test("its stations are its tensors, in order", async () => {
  const { noted } = await model.engine.run("page", { ids, record: true });
  const way = wayThrough(2, true).map(({ path }) => path);
  expect(way.slice(1, -1)).toEqual(noted.map(({ path }) => path));
});

test("addresses name its matrices, and none of GPT-2's", () => {
  const own = ["0.1.q.4.3", "0.1.o_proj.4.19.5", "1.mlp.gate_proj.4.35", "1.mlp.up_proj", "wte.4"];
  for (const address of [...own, "0.mlp.down_proj.4.19.35"]) {
    expect(addressOf(at(address))).toBe(address);
  }
  expect(addressOf(at("0.1.c_proj.4"))).toBe("0.1");
  expect(addressOf(at("0.mlp.c_fc.4"))).toBe("0.mlp");
  expect(addressOf(at("0.mlp.gate_proj.4.36"))).toBe("0.mlp.gate_proj.4");
});

test.each(["0.mlp.gate_proj", "1.mlp.down_proj", "1.3.v", "wte"])(
  "outputs of %s are those of the tape",
  async (address) => {
    const { outputs, row, R } = await workOf(address);
    const { output, to } = sourceOf(at(address), config);
    near(outputs(), vectorOf(pass.tensor(output), AT, to));
    for (let o = 0; o < R; o += 7) expect(row(o).sum).toBeCloseTo(outputs()[o], 4);
    expect(row(0).bias).toBeNull();
  },
);

test.each(["q", "k"])("%s is what its matrix makes, turned", async (letter) => {
  for (const head of [0, 3]) {
    const made = (await workOf(`1.${head}.${letter}`)).outputs();
    const backend = new PlainBackend();
    const turned = backend.rotate(backend.write(made, [1, 1, D]), AT, frequencies(config));
    const own = letter === "q" ? head : sharedBy(head, H, K);
    near(turned.data, vectorOf(pass.tensor(`transformer.h.1.attn.${letter}`), AT, own));
  }
});

test("the heads' parts are what attention adds, and gate times up is the unit", async () => {
  const sum = new Float64Array(C);
  for (let head = 0; head < H; head++) {
    const part = (await workOf(`1.${head}.o_proj`)).outputs();
    part.forEach((x, c) => (sum[c] += x));
  }
  near(sum, vectorOf(pass.tensor("transformer.h.1.attn.out"), AT));
  const [{ pre, act }, up] = [unitsOf(pass, 1, AT), (await workOf("1.mlp.up_proj")).outputs()];
  near(
    act,
    Float64Array.from(pre, (x, i) => silu(x) * up[i]),
  );
});

test.each(["0.ln_1", "1.ln_2", "ln_f"])("%s divides by the root mean square", async (address) => {
  const place = at(address);
  const { norm } = await shelf.wanted(pass, place, AT);
  const { made, mean } = normedOf(pass, place, norm, AT);
  expect(mean).toBe(0);
  near(made, vectorOf(pass.tensor(normOf(place).output), AT));
});

test("a score is the products of a query with the key that its head shares", () => {
  for (const head of [0, 1, 3]) {
    const { sum, scaled } = productsOf(pass, { block: 1, head, query: 4, key: 2 });
    expect(sum / Math.sqrt(D)).toBeCloseTo(scaled, 4);
  }
});

test("what a unit raises is its own part of the lens's logits", async () => {
  const { unit } = await shelf.wanted(pass, { ...at("1.mlp"), unit: 7 }, AT);
  const stream = vectorOf(pass.tensor("transformer.h.1.resid_post"), AT);
  const more = Float32Array.from(stream, (x, c) => x + 1e-2 * unit.column[c]);
  const [was, now] = [await model.read(stream, "was"), await model.read(more, "now")];
  const changes = Array.from(now, (x, i) => (x - was[i]) / 1e-2);
  const rms = Math.sqrt(stream.reduce((sum, x) => sum + x * x, 0) / C);
  const along = stream.reduce((sum, x, c) => sum + x * unit.column[c], 0) / C / rms ** 2;
  const [best] = unit.up; // less what the larger stream takes off every logit
  const id = was.findIndex((_, i) => model.show(i) === best.name);
  expect(changes[id] + along * was[id]).toBeCloseTo(best.by, 1);
});

test("v is set by hand in the head that shares it; turned vectors are not", async () => {
  const place = at("1.3.v.4.2");
  expect(cellOf(place, AT, config)).toEqual({ path: "1.attn.v", index: [1, 4, 2] });
  for (const address of ["1.3.q.4.2", "1.3.k.4.2", "1.mlp.up_proj.4.2"]) {
    expect(cellOf(at(address), AT, config)).toBeNull();
  }
  const cells = ["1.attn.v:1.4.2=3", "0.mlp.act:4.35=2"].map((one) => readCell(one, config, T));
  const set = await readPass(model, {
    text: "",
    ids,
    key: "set",
    edits: editsOf(cells, config, T),
  });
  expect(vectorOf(set.tensor("transformer.h.1.attn.v"), 4, 1)[2]).toBe(3);
  expect(vectorOf(set.tensor("transformer.h.0.mlp.act"), 4)[35]).toBe(2);
  expect(readCell("1.attn.v:2.4.2=3", config, T)).toBeNull(); // of two heads
});

test("its matrices are drawn with their areas, and every weight of them is reached", () => {
  const layout = new Layout(1280, T, 2);
  const { tiles } = tilesOf(layout, config);
  const matrices = tiles.flatMap((tile) => piecesOf(tile, config));
  const vectors = C * (2 * 2 + 1);
  const weights = matrices.map(
    ({ rows, columns }) => (rows[1] - rows[0]) * (columns[1] - columns[0]),
  );
  expect(weights.reduce((a, b) => a + b) + vectors).toBe(numParameters(config));
  const areas = tiles.map(({ width, height }) => width * height);
  const scale = areas.at(-1) / (V * C);
  weights.forEach((n, i) => {
    const share = areas[i] / n / scale; // but for the gaps between them
    expect(share).toBeGreaterThan(0.7);
    expect(share).toBeLessThan(1.01);
  });
  for (const { place, many = 1 } of matrices.slice(0, -1)) {
    for (let head = 0; head < many; head++) expect(addressOf(place(head))).not.toBe("");
  }
});

test("multiply-adds are those of its matrices", () => {
  const block = C * D * (2 * H + 2 * K) + 3 * C * F;
  expect(multiplyAdds(config, T)).toBe(T * 2 * block + V * C + 2 * H * D * T * (T + 1));
});
