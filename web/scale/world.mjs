// Where each number of each model lies: a number is a square of side 1, so a matrix of (rows, columns)
// covers rows · columns. Models stand on a common ground, the smallest first.

/** @typedef {[string, number, number]} Matrix  name, rows, columns */
/** @typedef {{name: string, blocks: number, width: number, numbers: number, tables: Matrix[],
 *   block: Matrix[], vectors: [number, number], says: string}} Model  vectors: how many numbers of a
 *   block, and outside of blocks, are in no matrix */
/** @typedef {{x: number, y: number, width: number, height: number, kind: string, name: string,
 *   shape: string, block: number}} Area  block: -1 for what is in none */
/** @typedef {{model: Model, x: number, width: number, height: number, areas: Area[]}} Placed */

const SHAPE = 1.3; // width by height that a model should have
const GAP = 0.07; // between models, of the larger one's height

/**
 * @param {Model[]} models
 * @returns {Placed[]}
 */
export function placed(models) {
  let x = 0;
  return models.map((model) => {
    const { width, height, areas } = arranged(model);
    if (x) x += GAP * height;
    const one = { model, x, width, height, areas };
    x += width;
    return one;
  });
}

/**
 * The tables on top, then rows of blocks. Each block is four columns of C · 4C numbers, less one:
 * c_attn above c_proj, c_fc, and the MLP's c_proj, turned.
 * @param {Model} model
 */
function arranged({ blocks, width: C, tables, block, vectors: [inside, outside] }) {
  const room = { width: 3 * C, height: 4 * C + inside / (3 * C) };
  const above = tables.reduce((sum, [, rows, columns]) => sum + rows * columns, 0) + outside;
  const shape = (/** @type {number} */ n) =>
    (n * room.width) / ((blocks / n) * room.height + above / (n * room.width));
  const off = (/** @type {number} */ n) => Math.abs(Math.log(shape(n) / SHAPE));
  const rows = Array.from({ length: blocks }, (_, i) => i + 1).filter((n) => blocks % n === 0);
  const across = rows.reduce((best, n) => (off(n) < off(best) ? n : best));
  const width = across * room.width;
  /** @type {Area[]} */
  const areas = [];
  let y = 0;
  for (const [name, many, columns] of tables) {
    const shape = inWords(many, columns);
    const height = (many * columns) / width;
    areas.push({ x: 0, y, width, height, kind: "table", name, shape, block: -1 });
    y += height;
  }
  for (let n = 0; n < blocks; n++) {
    const left = (n % across) * room.width;
    const top = y + Math.floor(n / across) * room.height;
    let [column, down] = [0, 0];
    for (const [name, many, columns] of block) {
      const [wide, high] = columns > many ? [many, columns] : [columns, many]; // turned
      if (down + high > 4 * C) [column, down] = [column + wide, 0];
      areas.push({
        x: left + column,
        y: top + down,
        width: wide,
        height: high,
        kind: name.split(".")[0],
        name,
        shape: inWords(many, columns),
        block: n,
      });
      down += high;
    }
    const height = inside / room.width;
    const [own, shape] = ["biases and norms", `${inside.toLocaleString("en")} numbers`];
    const below = { x: left, y: top + 4 * C, width: room.width, height };
    areas.push({ ...below, kind: "vectors", name: own, shape, block: n });
  }
  y += (blocks / across) * room.height;
  const last = {
    x: 0,
    y,
    width,
    height: outside / width,
    kind: "vectors",
    name: "ln_f",
    block: -1,
  };
  areas.push({ ...last, shape: `${outside.toLocaleString("en")} numbers` });
  return { width, height: y + last.height, areas };
}

/**
 * @param {number} rows
 * @param {number} columns
 */
function inWords(rows, columns) {
  return `${rows.toLocaleString("en")} × ${columns.toLocaleString("en")}`;
}
