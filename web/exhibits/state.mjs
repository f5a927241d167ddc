// What the exhibits of a page share: a text, a position, a head, switches … Whatever differs from
// the beginning stands in the page's address, so that it can be linked: ?text=In+the+city&off=1.2

/** @typedef {string | number | boolean | string[]} Value */
/** @typedef {{min?: number, max?: number, whole?: boolean, among?: readonly string[]}} Limits */

const LONGEST = 10_000; // characters of a text
const MOST = 200; // items of a list
const PAUSE = 250; // milliseconds; browsers allow only so many changes of an address

export class State {
  /** @param {string} [query]  of the page's address */
  constructor(query = location.search) {
    /** @type {URLSearchParams} */
    this.asked = new URLSearchParams(query);
    /** @type {Map<string, {first: Value, limits: Limits}>} */
    this.known = new Map();
    /** @type {Map<string, Value>} */
    this.values = new Map();
    /** @type {Set<(changed: Set<string>) => void>} */
    this.listeners = new Set();
    /** @type {Set<string>} */
    this.changed = new Set();
    this.timer = 0;
  }

  /**
   * What a part begins with. Its type holds ever after; an address may ask for another value. If it
   * was declared before, by another exhibit or for another model, its value stays as far as it fits.
   * @param {string} name
   * @param {Value} first
   * @param {Limits} [limits]
   */
  declare(name, first, limits = {}) {
    const before = this.known.get(name);
    if (before) {
      this.known.set(name, { ...before, limits });
      this.values.set(name, this.fit(name, this.get(name)));
      return;
    }
    this.known.set(name, { first, limits });
    const text = this.asked.get(name);
    this.values.set(name, text === null ? first : this.fit(name, parse(text, first)));
  }

  /** @param {string} name @returns {any} */
  get(name) {
    if (!this.known.has(name)) throw new Error(`no exhibit of this page has declared ${name}`);
    return this.values.get(name);
  }

  /** What was typed: the texts that may be any. */
  get texts() {
    const free = [...this.known].filter(
      ([, { first, limits }]) => typeof first === "string" && !limits.among,
    );
    return free.map(([name]) => /** @type {string} */ (this.get(name)));
  }

  /** @param {Record<string, Value>} changes */
  set(changes) {
    for (const [name, value] of Object.entries(changes)) {
      const fitting = this.fit(name, value);
      if (same(fitting, this.get(name))) continue;
      this.values.set(name, fitting);
      if (!this.changed.size) queueMicrotask(() => this.tell());
      this.changed.add(name);
    }
  }

  /** Everything as it was in the beginning. */
  reset() {
    this.set(Object.fromEntries([...this.known].map(([name, { first }]) => [name, first])));
  }

  /**
   * @param {(changed: Set<string>) => void} listener
   * @returns {() => void} ends it
   */
  subscribe(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  tell() {
    const changed = this.changed;
    this.changed = new Set();
    for (const listener of [...this.listeners]) listener(changed);
    clearTimeout(this.timer);
    this.timer = Number(setTimeout(() => this.write(), PAUSE));
  }

  /**
   * The address that leads to what is shown now.
   * @param {string} [hash]  the place on the page
   */
  address(hash = location.hash) {
    const query = new URLSearchParams(this.asked);
    for (const [name, { first }] of this.known) {
      const value = this.get(name);
      if (same(value, first)) query.delete(name);
      else query.set(name, Array.isArray(value) ? value.join(" ") : String(value));
    }
    const text = query.toString();
    return location.pathname + (text ? `?${text}` : "") + hash;
  }

  /** @param {string} [hash] */
  write(hash) {
    try {
      history.replaceState(history.state, "", this.address(hash));
    } catch {
      // A frame without an address of its own: what is shown stays, it cannot be linked.
    }
  }

  /**
   * A value of the right type within its limits; the beginning's, where none can be made of it.
   * @param {string} name
   * @param {Value} value
   * @returns {Value}
   */
  fit(name, value) {
    const known = this.known.get(name);
    if (!known) throw new Error(`no exhibit of this page has declared ${name}`);
    const { first, limits } = known;
    if (Array.isArray(first)) {
      const list = Array.isArray(value) ? value : [];
      return list.filter((item) => limits.among?.includes(item) ?? true).slice(0, MOST);
    }
    if (typeof value !== typeof first) return first;
    if (typeof value === "string") {
      if (limits.among && !limits.among.includes(value)) return first;
      return value.slice(0, LONGEST);
    }
    if (typeof value !== "number") return value;
    if (!Number.isFinite(value)) return first;
    const { min = -Infinity, max = Infinity, whole = false } = limits;
    return Math.min(max, Math.max(min, whole ? Math.round(value) : value));
  }
}

/**
 * @param {string} text
 * @param {Value} first  whose type it is read as
 * @returns {Value}
 */
function parse(text, first) {
  if (Array.isArray(first)) return text.split(" ").filter(Boolean);
  if (typeof first === "number") return text.trim() === "" ? NaN : Number(text);
  if (typeof first === "boolean") return text === "true" ? true : text === "false" ? false : first;
  return text;
}

/**
 * @param {Value} a
 * @param {Value} b
 */
function same(a, b) {
  if (Array.isArray(a) && Array.isArray(b)) return a.join(" ") === b.join(" ");
  return a === b;
}

/** Of this page. */
export const state = new State();
