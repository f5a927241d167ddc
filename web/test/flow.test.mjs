// The picture of the whole shows the numbers of the tape, whether it was computed or stored.

import { beforeAll, expect, test } from "vitest";
import { asTable, inSentences, outcome } from "../flow/pass.mjs";
import { stagePaths } from "../flow/pass.mjs";
import { readPass, wholeWords } from "../flow/read.mjs";
import { sensesOf } from "../exhibits/crane_world.mjs";
import { addressOf, levelOf, outOf, placeOf, wayTo } from "../flow/place.mjs";
import { fromStored } from "../flow/stored.mjs";
import { tilesOf } from "../flow/tiles.mjs";
import { gridOf, sinksOf } from "../flow/folded.mjs";
import { countOf } from "../flow/notes.mjs";
import { ribbonsOf } from "../flow/ribbons.mjs";
import { timetable } from "../flow/timetable.mjs";
import { wayThrough } from "../flow/way.mjs";
import { slotsOf } from "../flow/lanes.mjs";
import { Layout } from "../flow/layout.mjs";
import { endOf } from "../flow/lines.mjs";
import { fixture } from "./files.mjs";
import { pageModel } from "./page.mjs";

const { passes, sizes } = fixture("flow");
let model;
beforeAll(async () => (model = await pageModel()));

/** @param {string} text */
async function computed(text) {
  const { ids } = await model.encode(text, 128);
  const pass = await readPass(model, {
    text,
    ids,
    key: "test",
    senses: sensesOf(text),
  });
  return wholeWords(model, pass);
}

test.each(passes.map((one) => [one.text, one]))(
  "what the page stores of %s is the model's",
  async (text, stored) => {
    const [theirs, ours] = [fromStored(stored), await computed(text)];
    expect(ours.tokens).toEqual(theirs.tokens);
    expect(ours.ids).toEqual(theirs.ids);
    const flat = (all) => all.flat(1).flatMap((values) => Array.from(values));
    const near = (a, b) => a.forEach((value, i) => expect(value).toBeCloseTo(b[i], 3));
    near(flat(ours.weights), flat(theirs.weights));
    near(flat(ours.vectors.map((v) => [v])), flat(theirs.vectors.map((v) => [v])));
    ours.lens.forEach((row, s) =>
      row.forEach((said, t) => {
        const { name, ...numbers } = theirs.lens[s][t];
        expect(said.name).toBe(name);
        for (const [key, value] of Object.entries(numbers)) expect(said[key]).toBeCloseTo(value, 3);
      }),
    );
    expect(ours.lit).toEqual(theirs.lit);
    ours.next.forEach(({ id, rest, sense, p }, i) => {
      const { p: other, ...same } = stored.next[i];
      expect({ id, rest, sense: sense ?? null, name: ours.next[i].name }).toEqual(same);
      expect(p).toBeCloseTo(other, 3);
    });
  },
);

test("its places have addresses, and a way out", () => {
  const size = { nLayer: 3, nHead: 4, T: 7, D: 32, units: 512, V: 1024 };
  const all = ["", "1", "1.0", "1.0.6.3", "1.0.6.3.16", "1.mlp", "1.mlp.17"];
  for (const address of all) expect(addressOf(placeOf(address, size))).toBe(address);
  expect(all.map((address) => levelOf(placeOf(address, size)))).toEqual([0, 1, 2, 4, 4, 2, 3]);
  const odd = [
    "7",
    "-1",
    "1.9",
    "1.0.3.6",
    "1.0.6",
    "x",
    "1.mlp.512",
    "1..",
    "1.0.6.3.99",
    "1.0.zz",
  ];
  const kept = ["", "", "1", "1.0", "1.0", "", "1.mlp", "1", "1.0.6.3", "1.0"];
  expect(odd.map((address) => addressOf(placeOf(address, size)))).toEqual(kept);
  const out = (address) => addressOf(outOf(placeOf(address, size)));
  expect(all.map(out)).toEqual(["", "", "1", "1.0", "1.0.6.3", "1", "1.mlp"]);
  const matrices = ["1.0.q", "1.0.q.6", "1.0.q.6.17", "1.0.q.6.17.5", "1.0.c_proj.6.127.31"];
  matrices.push("1.mlp.c_fc.6.511.127", "1.mlp.c_proj.0.127.511");
  for (const address of matrices) expect(addressOf(placeOf(address, size))).toBe(address);
  expect(matrices.map((address) => levelOf(placeOf(address, size)))).toEqual([3, 3, 3, 4, 4, 4, 4]);
  expect(out("1.0.q.6.17.5")).toBe("1.0.q.6.17");
  expect([out("1.0.q.6.17"), out("1.mlp.c_fc")]).toEqual(["1.0", "1.mlp"]);
  const ends = ["ln_f", "ln_f.6", "ln_f.6.127", "wte", "wte.6.1023", "wte.6.1023.127"];
  for (const address of ends) expect(addressOf(placeOf(address, size))).toBe(address);
  expect(ends.map((address) => levelOf(placeOf(address, size)))).toEqual([2, 2, 2, 3, 3, 4]);
  expect(ends.map(out)).toEqual(["", "", "", "", "", "wte.6.1023"]);
  const past = ["ln_f.7", "ln_f.6.128", "ln_f.6.5.5", "wte.6.1024", "wte.6.1.128", "toString"];
  const left = ["ln_f", "ln_f.6", "ln_f.6.5", "wte.6", "wte.6.1", ""];
  expect(past.map((address) => addressOf(placeOf(address, size)))).toEqual(left);
  const norms = ["1.ln_1", "1.ln_2.6", "1.ln_1.6.127"];
  for (const address of norms) expect(addressOf(placeOf(address, size))).toBe(address);
  expect(norms.map((address) => levelOf(placeOf(address, size)))).toEqual([2, 2, 2]);
  expect(norms.map(out)).toEqual(["1", "1", "1"]);
  expect(addressOf(placeOf("1.ln_1.6.128", size))).toBe("1.ln_1.6");
  const beyond = ["1.0.q.7.3", "1.0.q.6.32", "1.0.c_fc.1", "1.mlp.q.1", "1.0.c_proj.6.1.32"];
  expect(beyond.map((address) => addressOf(placeOf(address, size)))).toEqual([
    "1.0.q",
    "1.0.q.6",
    "1.0",
    "1.mlp",
    "1.0.c_proj.6.1",
  ]);
  const deep = wayTo(placeOf("1.mlp.c_fc.6.17.5", size), passes[0].tokens);
  expect(deep.map(({ name }) => name).slice(2)).toEqual([
    "MLP",
    "c_fc, ␣crane, output 17",
    "number 5",
  ]);
  const names = wayTo(placeOf("1.0.6.3.16", size), passes[0].tokens).map(({ name }) => name);
  expect(names).toEqual(["model", "block 1", "head 1.0", "score ␣crane → ␣marsh", "number 16"]);
});

test("its stations are the tensors that a pass notes, in their order", async () => {
  const way = wayThrough(sizes.nLayer);
  expect(way).toHaveLength(4 + 16 * 3 + 3);
  const run = await model.run({ ids: [1023, 5], key: "stations", record: true });
  const inTape = way
    .map(({ path }) => path)
    .filter((path) => !["idx", "probabilities"].includes(path));
  for (const path of inTape) expect(run.tensor(path), path).toBeDefined();
  const depths = way.map(({ depth }) => depth);
  expect(depths).toEqual([...depths].sort((a, b) => a - b));
  expect(stagePaths(3)).toHaveLength(7);
});

test("a pass plays to its end, and in nine seconds at most", () => {
  for (const nLayer of [1, 3, 48]) {
    const { length, at, leg } = timetable(nLayer);
    expect(length).toBeLessThanOrEqual(9000);
    expect(at(0)).toBe(0);
    expect(at(length + 1)).toBe(Infinity);
    const depths = Array.from({ length: 50 }, (_, i) => at((i * length) / 50));
    expect(depths).toEqual([...depths].sort((a, b) => a - b));
    expect(at(length - 1)).toBeGreaterThan(nLayer + 1);
    for (const t of [10, length / 3, length - 30])
      expect((at(t + 1) - at(t)) * 1000).toBeCloseTo(leg(t).speed, 1);
  }
});

test.each([
  [1280, 1, 1],
  [390, 1, 3],
  [1280, 128, 12],
  [390, 128, 12],
  [960, 12, 48],
])("all lies within the picture: %i px, %i tokens, %i blocks", (width, T, nLayer) => {
  const layout = new Layout(width, T, nLayer);
  expect(layout.lanes).toBeLessThanOrEqual(12);
  const [right, bottom] = [width + 1, layout.height + 1];
  for (let zone = 0; zone < nLayer + 2; zone++) {
    const { x, y, width: w, height: h } = layout.zone(zone);
    expect(Math.min(x, y, w, h)).toBeGreaterThan(0);
    expect(x + w).toBeLessThan(right);
    expect(y + h).toBeLessThan(bottom);
    const end = zone < nLayer + 1 ? layout.zone(zone + 1).x : right;
    if (layout.wide) expect(x + w + layout.deep).toBeLessThanOrEqual(end);
  }
  if (!layout.wide) expect(layout.over(0) + layout.over(layout.lanes - 1)).toBeCloseTo(width);
  const [few, all] = [3, 6].map((many) => slotsOf(layout, many)[1].height);
  expect(few).toBe(all); // where the tokens are cut, the others stay as they are
  expect(slotsOf(layout, 6)[0].y).toBeGreaterThan(layout.zone(nLayer + 1).y + 40); // the knob is above
  for (let lane = 0; lane < layout.lanes; lane++) {
    const [x, y] = layout.point(1.5, lane);
    expect(x).toBeLessThan(right);
    expect(y).toBeLessThan(bottom);
  }
  expect(layout.lane(T - 1)).toBe(layout.lanes - 1);
});

test.each([
  [1280, 3, 128, 1024, 128],
  [390, 3, 128, 1024, 128],
  [1280, 12, 768, 50257, 1024],
  [390, 12, 768, 50257, 1024],
  [960, 48, 20, 270, 40],
  [1280, 1, 1, 270, 1],
])(
  "every matrix has its true area: %i px, %i blocks, C %i, V %i",
  (width, nLayer, nEmbd, vocabSize, blockSize) => {
    const layout = new Layout(width, 7, nLayer);
    const { tiles } = tilesOf(layout, { nEmbd, vocabSize, blockSize });
    const rows = { c_attn: 3, c_fc: 4, wte: vocabSize / nEmbd, wpe: blockSize / nEmbd };
    const [, , fc] = tiles; // c_fc is four wide and one high, or as high as its area wants
    const side = layout.folded ? Math.sqrt((fc.width * fc.height) / 4) : (fc.width - fc.height) / 3;
    const gap = layout.folded ? 0 : side - fc.height;
    expect(tiles).toHaveLength(4 * nLayer + 2);
    for (const { module, x, y, width: w, height: h, block } of tiles) {
      const edge = block === undefined ? 0 : gap; // between matrices of a block
      const many = rows[module.split(".").at(-1)] ?? (module.includes("mlp") ? 4 : 1);
      expect(((w + edge) * (h + edge)) / side ** 2).toBeCloseTo(many, 5);
      expect(Math.min(x, y - layout.end)).toBeGreaterThanOrEqual(0);
      expect(x + w).toBeLessThan(width);
      expect(y + h).toBeLessThan(layout.height);
      if (layout.wide && block !== undefined) expect(y + h).toBeLessThan(layout.foot);
    }
  },
);

test("GPT-2 has as many parameters as the picture says", () => {
  const gpt2 = { nEmbd: 768, vocabSize: 50257, blockSize: 1024 };
  const { matrices, each, all } = countOf(gpt2, 12);
  expect(matrices).toEqual([
    "c_attn 768 × 2,304",
    "c_proj 768 × 768",
    "c_fc 768 × 3,072",
    "c_proj 3,072 × 768",
  ]);
  expect([each, all]).toEqual([7087872, 124439808]);
  const { nEmbd, vocabSize, blockSize, nLayer } = model.present.config;
  const crane = countOf({ nEmbd, vocabSize, blockSize }, nLayer);
  expect(crane.all).toBe(742528);
});

test("a head's light is what does not rest on the first token", () => {
  const weights = [[Float64Array.of(1, 0, 0.25, 0.75)], [Float64Array.of(1, 0, 0.5, 0.5)]];
  const pass = { weights, tokens: ["a", "b"], nHead: 1, nLayer: 2 };
  expect(sinksOf(pass, 1)).toEqual([[0.25], [0.5]]);
  expect(sinksOf(pass, 0)).toEqual([[1], [1]]);
  const others = ribbonsOf({ at: 1 }, new Layout(700, 2, 12), [{ ...pass, tokens: ["a", "b"] }]);
  expect(others).toEqual([]); // it has one thin line a block
});

test.each([1, 5, 12, 25])("%i heads have room above the lanes", (many) => {
  const [columns, size] = gridOf(many, { width: 51, height: 40 });
  expect(columns * size).toBeLessThanOrEqual(51.001);
  expect(Math.ceil(many / columns) * size).toBeLessThanOrEqual(40.001);
  expect(size).toBeGreaterThan(7);
});

test("the pass is told in sentences and as a table", async () => {
  const pass = await computed("In the marsh, the crane");
  const told = inSentences(pass, 6).join(" ");
  expect(told).toContain("head 1.0 takes 0.976 from ␣marsh");
  expect(told).toContain("If it ended after block 0: ␣lifted (0.437)");
  expect(told).toContain("What comes next: ␣ate, with the probability 0.528.");
  const { columns, rows } = asTable(pass);
  expect(columns).toHaveLength(8);
  expect(rows[6]).toEqual([
    "␣crane",
    "␣crane 1.000",
    "␣crane 1.000",
    "␣lifted 0.437",
    "␣ate 0.646",
    "␣ate 0.656",
    "␣ate 0.704",
    "␣ate 0.528",
  ]);
});

test("the end of a text is cut between characters", () => {
  expect(endOf("In the marsh, the crane", -2, -18)).toBe("the crane");
  expect(endOf("the 🦩🦩🦩🦩", -2, -3)).toBe("🦩🦩🦩");
  expect(endOf("", -2, -18)).toBe("");
});

test("the likeliest tokens are those of a full sort, the first of equal ones first", () => {
  const shares = Float64Array.from({ length: 1024 }, (_, id) => ((id * 7919) % 50) / 50);
  const order = Array.from(shares.keys()).sort((a, b) => shares[b] - shares[a] || a - b);
  for (const n of [1, 6, 100, 2000]) {
    expect(model.best(shares, n).map(({ id }) => id)).toEqual(order.slice(0, n));
  }
});

test("what comes next is told in whole words", async () => {
  const pass = await computed("In the city, the crane");
  const [, second] = pass.next;
  expect(second.name + second.rest).toBe("␣swung");
  expect(outcome(pass, 6)).toMatch(/next likeliest is “swung” \(0\.\d\d\)\.$/);
});
