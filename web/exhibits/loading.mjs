// Crane World's model loaded with mistakes, and beside it the right one: what their modules give,
// their loss, and what they write. All wrong ones share a place in the engine, so they take turns.

import { broken } from "./broken.mjs";

/** @import { Engine } from "../client.mjs" */
/** @import { Noted } from "../tape.mjs" */
/** @import { Broken } from "./broken.mjs" */
/** @typedef {Broken & {place: string, engine: Engine, wrong: string}} Loaded */
/** @typedef {{name: string, far: number}[]} Parity  of each module the largest difference to the
 *   right model's, as a share of that one's largest value */

const [RIGHT, WRONG] = ["loaded right", "loaded wrong"]; // in the engine

const BEFORE = [
  ["wte", "tok_emb"],
  ["wpe", "pos_emb"],
  ["drop", "embd"],
];
/** A block's modules by Hugging Face's names, with the tensors that they give. @type {string[][]} */
const PARTS = [
  [".ln_1", ".ln_1"],
  [".attn", ".attn.out"],
  [".ln_2", ".ln_2"],
  [".mlp", ".mlp.out"],
  ["", ".resid_post"],
];

export class Loading {
  /** @param {() => Engine} started  the present engine */
  constructor(started) {
    this.started = started;
    /** @type {Promise<any>} */
    this.last = Promise.resolve();
    /** @type {Map<string, Promise<any>>} */
    this.known = new Map();
    /** @type {Map<string, Loaded>} */
    this.places = new Map();
    /** @type {Float32Array[] | null} */
    this.right = null; // what the modules of the right model give
  }

  /**
   * Once what came before is done, and only once.
   * @template T
   * @param {string[]} wrong
   * @param {string} what
   * @param {(loaded: Loaded) => Promise<T>} compute
   * @returns {Promise<T>}
   */
  ask(wrong, what, compute) {
    const key = `${wrong} ${what}`;
    const known = this.known.get(key);
    if (known) return known;
    const answer = this.last.then(async () => compute(await this.load(wrong)));
    this.known.set(key, answer);
    this.last = answer.catch(() => this.known.delete(key));
    return answer;
  }

  /** @param {string[]} wrong */
  async load(wrong) {
    const place = wrong.length ? WRONG : RIGHT;
    const there = this.places.get(place);
    if (there?.engine === this.started() && there.wrong === String(wrong)) return there;
    this.places.delete(place);
    const files = await broken(wrong);
    const engine = this.started(); // only now: while one waits for files, it may be replaced
    await engine.load(place, { config: files.config, weights: files.weights });
    const loaded = { ...files, place, engine, wrong: String(wrong) };
    this.places.set(place, loaded);
    return loaded;
  }

  /**
   * The right model, [], comes first.
   * @param {string[]} wrong
   * @param {number[]} ids  of a text and the token behind it
   * @returns {Promise<{parity: Parity, loss: number}>}
   */
  measure(wrong, ids) {
    return this.ask(wrong, "is measured", async ({ place, engine, config, switches, head }) => {
      const blocks = Array.from({ length: JSON.parse(config).n_layer }, (_, n) => `h.${n}`);
      const inBlocks = blocks.flatMap((h) =>
        PARTS.map(([name, tensor]) => [h + name, `transformer.${h}${tensor}`]),
      );
      const stages = [...BEFORE, ...inBlocks, ["ln_f", "ln_f"], ["lm_head", "logits"]];
      const record = stages.map(([, path]) => path);
      const request = { ids: ids.slice(0, -1), record, switches };
      const { noted } = await engine.run(place, request);
      /** @type {Noted[]} */
      const found = record.map((path) => noted.find((/** @type {Noted} */ n) => n.path === path));
      const rows = found.map(({ values }) => values);
      if (head) rows.push(times(/** @type {Noted} */ (found.at(-2)), head, rows.pop()));
      this.right ??= rows;
      const parity = this.right.map((row, i) => ({
        name: stages[i][0],
        far: distance(row, rows[i]),
      }));
      return { parity, loss: lossOf(rows[rows.length - 1], ids.slice(1)) };
    });
  }

  /**
   * The likeliest tokens, one after the other, until the text ends.
   * @param {string[]} wrong
   * @param {number[]} ids
   * @param {number} n
   * @returns {Promise<number[]>}
   */
  write(wrong, ids, n) {
    return this.ask(
      wrong,
      `continues ${ids} by ${n}`,
      async ({ place, engine, switches, head }) => {
        const eosId = ids[0];
        const own = { temperature: 0, eosId, switches };
        const request = { ids, n, settings: own };
        if (!head) return (await engine.stream(place, request).answer).ids;
        /** @type {number[]} */
        const written = [];
        while (written.length < n && written.at(-1) !== eosId) {
          const one = { ids: [...ids, ...written], record: ["ln_f"], switches, lastOnly: true };
          const { noted } = await engine.run(place, one);
          const logits = times(noted[0], head, new Float32Array(head.length / noted[0].shape[2]));
          written.push(logits.indexOf(Math.max(...logits)));
        }
        return written;
      },
    );
  }
}

/**
 * Scores by a head of its own (V, C), for as many of the last vectors as there is room.
 * @param {Noted} vectors  (1, T, C)
 * @param {Float32Array} head
 * @param {Float32Array} [room]  (n, V)
 */
function times({ shape, values }, head, room = new Float32Array()) {
  const C = shape[2];
  const V = head.length / C;
  const first = values.length / C - room.length / V;
  for (let i = 0; i < room.length; i++) {
    const [x, row] = [(first + Math.floor(i / V)) * C, (i % V) * C];
    let sum = 0;
    for (let c = 0; c < C; c++) sum += values[x + c] * head[row + c];
    room[i] = sum;
  }
  return room;
}

/**
 * @param {Float32Array} right
 * @param {Float32Array} other
 */
function distance(right, other) {
  let [far, largest] = [0, 0];
  right.forEach((value, i) => {
    far = Math.max(far, Math.abs(value - other[i]));
    largest = Math.max(largest, Math.abs(value));
  });
  return far / largest;
}

/**
 * The mean of −ln p of the tokens that come.
 * @param {Float32Array} logits  (T, V)
 * @param {number[]} targets  (T)
 */
export function lossOf(logits, targets) {
  const V = logits.length / targets.length;
  const each = targets.map((id, t) => {
    const row = logits.subarray(t * V, (t + 1) * V);
    const most = Math.max(...row);
    return most + Math.log(row.reduce((sum, x) => sum + Math.exp(x - most), 0)) - row[id];
  });
  return each.reduce((sum, one) => sum + one, 0) / targets.length;
}
