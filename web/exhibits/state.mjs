// What the exhibits of a page share: a text, a position, a head, switches … Whatever differs from
// the beginning stands in the page's address, so that it can be linked: ?text=In+the+city&off=1.2

/** @typedef {string | number | boolean | string[]} Value */
/** @typedef {{min?: number, max?: number, whole?: boolean, among?: readonly string[],
 *   typed?: boolean}} Limits  typed: false if it is a string that nobody types */

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
   * What a part begins with, or the nearest value within the limits. Its type holds ever after; an
   * address may ask for another value. If it was declared before, by another exhibit or for another
   * model, what the reader has set stays as far as it fits.
   * @param {string} name
   * @param {Value} first
   * @param {Limits} [limits]
   */
  declare(name, first, limits = {}) {
    const before = this.known.get(name);
    const text = this.asked.get(name);
    let value = text === null ? first : parse(text, first);
    if (before) value = same(this.get(name), this.first(name)) ? before.first : this.get(name);
    this.known.set(name, { first: before?.first ?? first, limits });
    this.values.set(name, this.fit(name, value));
  }

  /**
   * What it begins with: a model of the reader's own may be too small for the chapter's choice.
   * @param {string} name
   */
  first(name) {
    const { first } = this.entry(name);
    return this.fit(name, first);
  }

  /** @param {string} name */
  entry(name) {
    const known = this.known.get(name);
    if (!known) throw new Error(`no exhibit of this page has declared ${name}`);
    return known;
  }

  /** @param {string} name @returns {any} */
  get(name) {
    this.entry(name);
    return this.values.get(name);
  }

  /**
   * @param {...string} names
   * @returns {any[]}
   */
  all(...names) {
    return names.map((name) => this.get(name));
  }

  /** What was typed: the texts that may be any. */
  get texts() {
    const free = [...this.known].filter(
      ([
        ,
        {
          first,
          limits: { among, typed = true },
        },
      ]) => typeof first === "string" && !among && typed,
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

  /**
   * Put something into a list, or take it out.
   * @param {string} name
   * @param {string} item
   */
  toggle(name, item) {
    const list = /** @type {string[]} */ (this.get(name));
    const less = list.filter((other) => other !== item);
    this.set({ [name]: less.length < list.length ? less : [...list, item] });
  }

  /** Everything as it was in the beginning. */
  reset() {
    this.set(Object.fromEntries([...this.known.keys()].map((name) => [name, this.first(name)])));
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
    for (const name of this.known.keys()) {
      const value = this.get(name);
      if (same(value, this.first(name))) query.delete(name);
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

  /** What is set from here on is a step, which the browser's *back* undoes. */
  step() {
    this.write();
    try {
      for (const put of ["replaceState", "pushState"])
        history[/** @type {"pushState"} */ (put)]({ step: true }, "", this.address());
    } catch {
      // As above.
    }
  }

  /** All as the address has it: a reader went back or forward. */
  again() {
    clearTimeout(this.timer);
    this.asked = new URLSearchParams(location.search);
    const values = [...this.known].map(([name, { first }]) => {
      const text = this.asked.get(name);
      return [name, text === null ? this.first(name) : parse(text, first)];
    });
    this.set(Object.fromEntries(values));
  }

  /**
   * A value of the right type within its limits; what it begins with, where none can be made of it.
   * @param {string} name
   * @param {Value} value
   * @returns {Value}
   */
  fit(name, value) {
    const { first, limits } = this.entry(name);
    const { among, min = -Infinity, max = Infinity, whole = false } = limits;
    if (Array.isArray(first)) {
      const list = Array.isArray(value) ? value : [];
      return list.filter((item) => among?.includes(item) ?? true).slice(0, MOST);
    }
    const odd = typeof value === "number" && !Number.isFinite(value);
    if (typeof value !== typeof first || odd) return this.first(name);
    if (typeof value === "string") {
      if (!among || among.includes(value)) return value.slice(0, LONGEST);
      // Blocks and heads count upwards: of a smaller model, the last is the nearest.
      return value === first ? (among.at(-1) ?? first) : this.first(name);
    }
    if (typeof value !== "number") return value;
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
globalThis.addEventListener?.("popstate", (event) => event.state?.step && state.again());
