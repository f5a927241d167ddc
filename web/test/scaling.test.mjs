// Losses of many runs: the surface that is fitted to them, and where the points of its picture lie.

import { describe, expect, test } from "vitest";
import { SplitMix64 } from "../language/splitmix.mjs";
import { biggest, cellsOf, neighbour, runsOf } from "../scaling/cells.mjs";
import { bestSize, fit, predicted, problem, resampled } from "../scaling/fit.mjs";
import { Scene, apart, clear } from "../scaling/scene.mjs";
import { told, typical } from "../scaling/words.mjs";
import { fixture } from "./files.mjs";

const TRUTH = { E: 0.441, A: 60, B: 9000, alpha: 0.55, beta: 0.65 };
const SIZES = [900, 4000, 20_000, 80_000];
const LENGTHS = [3e5, 1e6, 3e6, 1e7];
const random = new SplitMix64(1);
const noise = (share) => 1 + share * (random.below(2001) / 1000 - 1);
const runs = (share = 0) =>
  SIZES.flatMap((n) =>
    LENGTHS.flatMap((d) =>
      [0, 1].map(() => ({ n, d, loss: predicted(TRUTH, n, d) * noise(share) })),
    ),
  );

describe("the fit", () => {
  test.each(fixture("scaling"))("is Python's: E = $E", (case_) => {
    const all = case_.runs.map(([n, d, loss]) => ({ n, d, loss }));
    const found = fit(all, { floor: case_.floor ?? undefined });
    expect(found.E).toBeCloseTo(case_.E, 3);
    expect(found.alpha).toBeCloseTo(case_.alpha, 3);
    expect(found.beta).toBeCloseTo(case_.beta, 3);
    expect(typical(found, all)).toBeCloseTo(case_.error, 4);
  });

  test("finds a surface that losses lie on", () => {
    const found = fit(runs());
    expect(found.E).toBeCloseTo(TRUTH.E, 4);
    expect(found.alpha).toBeCloseTo(TRUTH.alpha, 3);
    expect(found.beta).toBeCloseTo(TRUTH.beta, 3);
    expect(found.sum).toBeLessThan(1e-6);
  });

  test("hardly minds one wild loss", () => {
    const wild = runs();
    wild[5].loss *= 3;
    expect(fit(wild).E).toBeCloseTo(TRUTH.E, 3);
  });

  test("keeps E where it is known", () => {
    const found = fit(runs(), { floor: 0.3 });
    expect(found.E).toBe(0.3);
    expect(found.sum).toBeGreaterThan(0.1);
  });

  test("is a minimum: no step from it is better", () => {
    const all = runs(0.03);
    const found = fit(all);
    for (const name of ["E", "A", "B", "alpha", "beta"]) {
      for (const factor of [0.98, 1.02]) {
        const other = { ...found, [name]: found[name] * factor };
        const sum = all.reduce((total, { n, d, loss }) => {
          const far = Math.abs(Math.log(predicted(other, n, d) / loss));
          return total + (far <= 1e-3 ? far ** 2 / 2e-3 : far - 5e-4);
        }, 0);
        expect(sum, `${name} × ${factor}`).toBeGreaterThan(found.sum);
      }
    }
  });

  test("says why there is none", () => {
    const all = runs();
    expect(problem(all)).toBe("");
    expect(problem(all.slice(0, 5))).toBe("5 unknowns need at least 6 runs, and 5 are left.");
    expect(problem(all.slice(0, 5), 0.4)).toBe("All runs left are of one size.");
    expect(problem(all.filter(({ d }) => d === 1e6))).toBe("All runs left have one length.");
    expect(problem(all, 0.9)).toBe("A loss is not above the floor.");
    expect(() => fit(all.slice(0, 1))).toThrow("and 1 is left");
  });

  test("varies with the runs that are drawn, around what all of them give", () => {
    const all = runs(0.02);
    const from = fit(all);
    const draws = new SplitMix64(0);
    const found = Array.from({ length: 40 }, () => resampled(all, (n) => draws.below(n), from));
    expect(Math.min(...found)).toBeLessThan(from.E);
    expect(Math.max(...found)).toBeGreaterThan(from.E);
    expect(Math.max(...found) - Math.min(...found)).toBeLessThan(0.4);
  });

  test("of all sizes for a budget, the best one has the lowest loss", () => {
    const flops = 1e12;
    const { n, d } = bestSize(TRUTH, flops);
    expect(6 * n * d).toBeCloseTo(flops, 0);
    for (const factor of [0.9, 1.1]) {
      const other = predicted(TRUTH, n * factor, d / factor);
      expect(other).toBeGreaterThan(predicted(TRUTH, n, d));
    }
  });
});

describe("cells", () => {
  const cells = cellsOf(runs(0.02));

  test("hold the runs of one size and length, with the mean of their logarithms", () => {
    expect(cells.length).toBe(16);
    expect(cells[0].losses.length).toBe(2);
    expect(cells[0].loss).toBeCloseTo(Math.sqrt(cells[0].losses[0] * cells[0].losses[1]), 12);
    expect(runsOf(cells).length).toBe(32);
    expect(biggest(cells).name).toBe("80000x10000000");
  });

  test("are neighbours in the four directions, and the last ones their own", () => {
    const at = (name) => cells.find((cell) => cell.name === name);
    expect(neighbour(cells, at("900x300000"), { d: 1 }).name).toBe("900x1000000");
    expect(neighbour(cells, at("900x1000000"), { n: 1 }).name).toBe("4000x1000000");
    expect(neighbour(cells, at("900x300000"), { d: -1 }).name).toBe("900x300000");
    expect(neighbour(cells, at("80000x300000"), { n: 1 }).name).toBe("80000x300000");
  });
});

describe("what is told", () => {
  const cells = cellsOf(runs());
  const of = { cells, floor: 0.441, known: false, interval: null };

  test("of E, beside the truth", () => {
    expect(told({ ...TRUTH, sum: 0 }, { ...of, kept: cells })).toContain(
      "E = 0.441 from 32 runs, within 0.005 of the true floor of 0.441. The 32 runs lie 0.0 % from the surface",
    );
    const interval = { low: 0.2, high: 0.4 };
    const off = told({ ...TRUTH, E: 0.3, sum: 0 }, { ...of, kept: cells, interval });
    expect(off).toContain("0.141 below the true floor of 0.441");
    expect(off).toContain("In 95 % of resamplings of the runs it is 0.200 to 0.400.");
  });

  test("of the largest run, predicted only where it was taken away", () => {
    const largest = biggest(cells);
    expect(told({ ...TRUTH, sum: 0 }, { ...of, kept: cells })).toContain(
      `came out at ${largest.loss.toFixed(3)}, and the surface says ${largest.loss.toFixed(3)}`,
    );
    const kept = cells.filter(({ n, d }) => n < 80_000 && d < 1e7);
    expect(told({ ...TRUTH, sum: 0 }, { ...of, kept })).toContain(
      "at 13 times the compute of any that was fitted",
    );
  });
});

describe("the picture", () => {
  const limits = { n: [1e3, 1e5], d: [1e5, 1e7], loss: [0.4, 4] };
  const frame = { left: 10, right: 110, top: 20, bottom: 220 };
  const seen = (turn, tilt) => new Scene(limits, { turn, tilt }, frame);

  test("has tokens and loss from the front, parameters and loss from the right", () => {
    for (const n of [1e3, 1e4]) {
      expect(seen(0, 0).place(n, 1e5, 0.4)).toEqual([10, 220]);
      expect(seen(0, 0).place(n, 1e7, 4)[0]).toBeCloseTo(110);
    }
    const [x, y] = seen(90, 0).place(1e4, 1e6, 4);
    expect(x).toBeCloseTo(60);
    expect(y).toBeCloseTo(20);
  });

  test("is a map from above, whatever the loss", () => {
    for (const loss of [0.4, 2]) {
      const [x, y] = seen(0, 90).place(1e5, 1e5, loss);
      expect([x, y].map(Math.round)).toEqual([10, 20]);
    }
  });

  test("keeps all of the box within its frame", () => {
    for (const n of limits.n) {
      for (const d of limits.d) {
        for (const loss of [...limits.loss, 0.01, 100]) {
          const [x, y] = seen(62, 24).place(n, d, loss);
          expect(x).toBeGreaterThanOrEqual(10);
          expect(x).toBeLessThanOrEqual(110.001);
          expect(y).toBeGreaterThanOrEqual(20);
          expect(y).toBeLessThanOrEqual(220.001);
        }
      }
    }
  });

  test("leaves out a label that lies on another, but not the first or the last", () => {
    const row = [0, 20, 45, 50, 90].map((x) => [x, x / 10]);
    expect(clear(row, 40, 14)).toEqual([true, false, true, false, true]);
    expect(clear(row, 40, 0.4)).toEqual([true, true, true, true, true]);
  });

  test("moves labels apart", () => {
    const found = apart([50, 52, 10], 14).sort((a, b) => a - b);
    expect(found[2] - found[1]).toBeCloseTo(14);
  });
});
