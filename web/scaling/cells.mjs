// Runs of one size and one length are a cell of the grid: they differ in their seeds, and are taken away
// together.

/** @import { Run } from "./fit.mjs" */
/** @typedef {{name: string, n: number, d: number, losses: number[], loss: number}} Cell  loss: their
 *   geometric mean */

/** @param {Run[]} runs @returns {Cell[]}  the smaller sizes first, of a size the shorter runs */
export function cellsOf(runs) {
  /** @type {Map<string, Cell>} */
  const found = new Map();
  for (const { n, d, loss } of [...runs].sort((a, b) => a.n - b.n || a.d - b.d)) {
    const name = `${n}x${d}`;
    const cell = found.get(name) ?? { name, n, d, losses: [], loss: NaN };
    cell.losses.push(loss);
    const logs = cell.losses.map(Math.log);
    cell.loss = Math.exp(logs.reduce((sum, one) => sum + one, 0) / logs.length);
    found.set(name, cell);
  }
  return [...found.values()];
}

/** The one of most compute. @param {Cell[]} cells */
export function biggest(cells) {
  return cells.reduce((most, cell) => (cell.n * cell.d > most.n * most.d ? cell : most));
}

/** @param {Cell[]} cells */
export function runsOf(cells) {
  return cells.flatMap(({ n, d, losses }) => losses.map((loss) => ({ n, d, loss })));
}

/**
 * The cell next to another one in a direction: of the same size the next length, or the nearest length
 * of the next size.
 * @param {Cell[]} cells
 * @param {Cell} from
 * @param {{n?: number, d?: number}} by  1 or −1
 */
export function neighbour(cells, from, { n = 0, d = 0 }) {
  const ahead = cells.filter((cell) =>
    d ? cell.n === from.n && d * (cell.d - from.d) > 0 : n * (cell.n - from.n) > 0,
  );
  const far = (/** @type {Cell} */ cell) =>
    1e3 * Math.abs(Math.log(cell.n / from.n)) + Math.abs(Math.log(cell.d / from.d));
  return ahead.reduce((best, cell) => (far(cell) < far(best) ? cell : best), ahead[0]) ?? from;
}
