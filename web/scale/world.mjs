// Where each number of each model lies. A number is a square of side 1, so a matrix of (rows, columns)
// is a plate of rows · columns. Each model is a building: a floor is a block, the ground floor holds
// the tables. All stand on one ground, the smallest first: x goes right, y up, z away.

/** @typedef {[string, number, number]} Matrix  name, rows, columns */
/** @typedef {{name: string, blocks: number, width: number, numbers: number, tables: Matrix[],
 *   block: Matrix[], vectors: [number, number], says: string}} Model  vectors: how many numbers of a
 *   block, and outside of blocks, are in no matrix */
/** @typedef {{x: number, y: number, z: number, w: number, h: number, d: number}} Solid  a corner and
 *   the three sides; its area is w · d */
/** @typedef {Solid & {kind: string, name: string, shape: string, numbers: number,
 *   floor: number}} Plate  floor: -1 is the ground floor */
/** @typedef {Solid & {model: Model, nth: number, pitch: number, floors: Plate[][],
 *   core: Solid}} Building  the ground floor comes first; core: what stands above it */

export const FLOOR = 1 / 10; // from one floor to the next, in widths of the model
const SLAB = 0.58; // of it that a plate is thick; the rest lets light through
const SEAM = 1 / 32; // between strips, in widths of the model
const APART = [0.35, 0.16]; // from one building to the next, of the larger one's front and height
const BACK = 0.2; // that the smaller one stands behind the larger one's front, of its depth

/**
 * @param {Model[]} models
 * @returns {Building[]}
 */
export function placed(models) {
  let [x, z] = [0, 0];
  return models.map((model, nth) => {
    const one = built(model, nth);
    if (nth) [x, z] = [x + APART[0] * one.w + APART[1] * one.h, z - BACK * one.d];
    move(one, x, z);
    x += one.w;
    return one;
  });
}

/**
 * @param {Model} model
 * @param {number} nth
 * @returns {Building}
 */
function built(model, nth) {
  const { blocks, width: C, tables, vectors } = model;
  const pitch = FLOOR * C;
  const upper = floor(model);
  const ground = groundFloor(tables, vectors[1], SLAB * pitch);
  const [w, d] = [Math.max(upper.w, ground.w), Math.max(upper.d, ground.d)];
  const floors = Array.from({ length: blocks }, (_, n) =>
    shifted(upper.plates, (w - upper.w) / 2, (n + 1) * pitch, (d - upper.d) / 2, n),
  );
  floors.unshift(shifted(ground.plates, (w - ground.w) / 2, 0, (d - ground.d) / 2, -1));
  const h = blocks * pitch + SLAB * pitch;
  const core = {
    ...{ x: (w - upper.w) / 2, y: pitch, z: (d - upper.d) / 2 },
    ...{ w: upper.w, h: h - pitch, d: upper.d },
  };
  return { x: 0, y: 0, z: 0, w, h, d, model, nth, pitch, floors, core };
}

/**
 * Strips of C · 4C numbers, one beside the other: c_attn and, behind it, attention's c_proj; the MLP's
 * c_fc; its c_proj. At the end what is in no matrix.
 * @param {Model} model
 */
function floor({ width: C, block, vectors: [inside] }) {
  const [seam, h] = [SEAM * C, SLAB * FLOOR * C];
  /** @type {Plate[]} */
  const plates = [];
  let [x, z] = [0, 0];
  for (const [name, rows, columns] of block) {
    const [w, d] = rows < columns ? [rows, columns] : [columns, rows]; // turned
    if (z + d > 4 * C) [x, z] = [x + C + seam, 0];
    const kind = name.split(".")[0];
    const numbers = rows * columns;
    plates.push({
      x,
      y: 0,
      z,
      w,
      h,
      d,
      kind,
      name,
      shape: inWords(rows, columns),
      numbers,
      floor: 0,
    });
    z += d;
  }
  x += C + seam;
  plates.push({
    ...small("biases and norms", inside),
    x,
    y: 0,
    z: 0,
    w: inside / (4 * C),
    h,
    d: 4 * C,
  });
  return { w: x + inside / (4 * C), d: 4 * C, plates };
}

/**
 * The tables, cut and folded to a floor as deep as a block's to its width, 4 : 3.
 * @param {Matrix[]} tables
 * @param {number} outside
 * @param {number} h
 */
function groundFloor(tables, outside, h) {
  const all = tables.reduce((sum, [, rows, columns]) => sum + rows * columns, outside);
  const w = Math.sqrt((3 / 4) * all);
  let z = 0;
  /** @type {Plate[]} */
  const plates = [];
  const add = (/** @type {any} */ one) => {
    const d = one.numbers / w;
    plates.push({ ...one, x: 0, y: 0, z, w, h, d, floor: -1 });
    z += d;
  };
  add(small("ln_f", outside));
  for (const [name, rows, columns] of [...tables].reverse()) {
    add({ kind: "table", name, shape: inWords(rows, columns), numbers: rows * columns });
  }
  return { w, d: z, plates };
}

/**
 * @param {string} name
 * @param {number} numbers
 */
function small(name, numbers) {
  return { kind: "vectors", name, shape: `${grouped(numbers)} numbers`, numbers, floor: 0 };
}

/** @type {(plates: Plate[], x: number, y: number, z: number, floor: number) => Plate[]} */
function shifted(plates, x, y, z, floor) {
  return plates.map((one) => ({ ...one, x: one.x + x, y: one.y + y, z: one.z + z, floor }));
}

/**
 * @param {Building} one
 * @param {number} x
 * @param {number} z
 */
function move(one, x, z) {
  for (const solid of [one, one.core, ...one.floors.flat()]) {
    solid.x += x;
    solid.z += z;
  }
}

/** @param {number} value */
function grouped(value) {
  return value.toLocaleString("en");
}

/**
 * @param {number} rows
 * @param {number} columns
 */
function inWords(rows, columns) {
  return `${grouped(rows)} × ${grouped(columns)}`;
}
