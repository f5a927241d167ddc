// A priority queue for pairs of tokens.

/** Pairs, the most frequent first, and of equals the one with the lowest ids. */
export class Heap {
  constructor() {
    /** @type {{count: number, key: number}[]} */
    this.entries = [];
  }

  /**
   * @param {number} i
   * @param {number} j
   */
  before(i, j) {
    const [a, b] = [this.entries[i], this.entries[j]];
    return a.count > b.count || (a.count === b.count && a.key < b.key);
  }

  /**
   * @param {number} i
   * @param {number} j
   */
  swap(i, j) {
    [this.entries[i], this.entries[j]] = [this.entries[j], this.entries[i]];
  }

  /**
   * @param {number} count
   * @param {number} key
   */
  push(count, key) {
    let i = this.entries.push({ count, key }) - 1;
    for (let up = (i - 1) >> 1; i > 0 && this.before(i, up); up = (i - 1) >> 1) {
      this.swap(i, up);
      i = up;
    }
  }

  pop() {
    if (!this.entries.length) return undefined;
    this.swap(0, this.entries.length - 1);
    const first = this.entries.pop();
    const { length } = this.entries;
    for (let i = 0; ;) {
      const [left, right] = [2 * i + 1, 2 * i + 2];
      if (left >= length) return first;
      const child = right < length && this.before(right, left) ? right : left;
      if (!this.before(child, i)) return first;
      this.swap(i, child);
      i = child;
    }
  }
}
