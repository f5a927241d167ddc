// The grammar of Crane World: the ways to fill a slot. This is gpt2_edu/crane/grammar.py in
// JavaScript, with the same names. It reads what gpt2_edu/crane/shipping.py makes of grammar.md.

/**
 * A placeholder in a line, filled when the line is expanded; `number` is its index.
 * @typedef {{number: number, source: string[], name: string | null, say: boolean,
 *   unlike: string | null, capital: boolean}} Slot
 */
/** @typedef {string | Slot} Item  a word, or a slot */
/** @typedef {{id: number, list: string, i: number}} Value  a variable's: an entry of a list */
/** @typedef {(Value | null)[]} Memory  the value of each variable; null if not set */
/** @typedef {{items: Item[], value: Value, cumulative: number}} Option  one way to fill a slot;
 *   cumulative: sum of the weights up to and including this option */
/** @typedef {"training" | "everything"} Mode  without and with the withheld pairs */
/**
 * @typedef {{lists: Record<string, [number, (string | number)[]][]>,
 *   slots: [string[], string | null, boolean, string | null, boolean][],
 *   tables: Record<string, {keys: string[], cells: Record<string, string[]>}>,
 *   withheld: [string, string][]}} Shipped  what shipping.py writes
 */

export const STARTS = /** @type {const} */ (["story", "sentence"]);
const WITHHELD_EVERY = 6; // one pair of choices in six is withheld from training

export class Grammar {
  /** @param {Shipped} shipped */
  constructor({ lists, slots, tables, withheld }) {
    this.tables = tables;
    this.withheld = withheld;
    /** @type {Slot[]} */
    this.slots = slots.map(([source, name, say, unlike, capital], number) => {
      return { number, source, name, say, unlike, capital };
    });
    let id = 0; // of each entry of each list
    this.lists = new Map(
      Object.entries(lists).map(([list, entries]) => {
        const read = entries.map(([weight, shipped], i) => {
          const items = shipped.map((item) => (typeof item === "number" ? this.slots[item] : item));
          return { weight, items, value: { id: id++, list, i } };
        });
        return [list, read];
      }),
    );
    // A variable is defined by the slots that name it, always from the same list.
    this.variables = [...new Set(this.slots.flatMap(({ name }) => name ?? []))];
    /** @type {Memory} */
    this.empty = this.variables.map(() => null); // no variable is set
    const [story, sentence] = STARTS.map((name, i) => {
      const number = slots.length + i;
      return { number, source: [name], name: null, say: true, unlike: null, capital: false };
    });
    this.starts = { story, sentence };
    this.dependencies = [...this.slots, story, sentence].map((slot) => this.dependenciesOf(slot));
    /** @type {Map<string, Option[]>} */
    this.known = new Map();
  }

  /**
   * The memory after filling a slot with an option.
   * @param {Memory} memory
   * @param {Slot} slot
   * @param {Option} option
   */
  remember(memory, slot, option) {
    if (slot.name === null) return memory;
    const after = memory.slice();
    after[this.variables.indexOf(slot.name)] = option.value;
    return after;
  }

  /**
   * The ways to fill a slot.
   * @param {Slot} slot
   * @param {Memory} memory
   * @param {Mode} mode
   */
  options(slot, memory, mode) {
    const { number } = slot;
    const key = `${number} ${mode} ${this.dependencies[number].map((i) => memory[i]?.id)}`;
    let options = this.known.get(key);
    if (options === undefined) {
      options = this.computeOptions(slot, memory, mode);
      this.known.set(key, options);
    }
    return options;
  }

  /**
   * @param {Slot} slot
   * @param {Memory} memory
   * @param {Mode} mode
   */
  computeOptions(slot, memory, mode) {
    const [name, only] = this.sourceList(slot, memory);
    /** @type {Option[]} */
    const options = [];
    let cumulative = 0;
    for (const { weight, items, value } of this.list(name)) {
      if (only !== null && only !== value.i) continue;
      if (slot.unlike && this.haveCommonCell(value, memory, slot.unlike)) continue;
      if (mode === "training" && !this.isAllowed(slot, value.i, memory)) continue;
      cumulative += weight;
      options.push({ items: slot.say ? items : [], value, cumulative });
    }
    return options;
  }

  /**
   * The name of the list that a slot draws from, and the only possible index or null.
   * @param {Slot} slot
   * @param {Memory} memory
   * @returns {[string, number | null]}
   */
  sourceList(slot, memory) {
    const [name, ...columns] = slot.source;
    if (slot.name !== null || !this.variables.includes(name)) return [name, null];
    const { list, i } = this.valueOf(name, memory);
    const last = columns.pop();
    if (last === undefined) return [list, i];
    const { keys, cells } = this.tables[list];
    const row = columns.reduce((row, column) => keys.indexOf(cells[column][row]), i);
    return [cell(list, last, keys[row]), null];
  }

  /**
   * Whether a value equals a variable's, or their table rows have an equal cell.
   * @param {Value} value
   * @param {Memory} memory
   * @param {string} other
   */
  haveCommonCell(value, memory, other) {
    const second = memory[this.variables.indexOf(other)];
    if (second === null || value.list !== second.list) return false;
    const columns = Object.values(this.tables[value.list]?.cells ?? {});
    return value === second || columns.some((cells) => cells[value.i] === cells[second.i]);
  }

  /**
   * Whether training allows entry i after the earlier choices.
   * @param {Slot} slot
   * @param {number} i
   * @param {Memory} memory
   */
  isAllowed(slot, i, memory) {
    return this.withheld.every(([first, second]) => {
      if (second !== this.choiceName(slot)) return true;
      const earlier = this.choiceIndex(memory, first);
      return earlier === null || (earlier + i) % WITHHELD_EVERY !== 0;
    });
  }

  /**
   * The index of an earlier choice, or of its cell among the column's distinct cells.
   * @param {Memory} memory
   * @param {string} choice
   */
  choiceIndex(memory, choice) {
    const [variable, column] = choice.split(".");
    const value = memory[this.variables.indexOf(variable)];
    if (value === null || !column) return value && value.i;
    const cells = this.tables[value.list].cells[column];
    return [...new Set(cells)].indexOf(cells[value.i]);
  }

  /**
   * A slot's name among the withheld choices: its variable or rule; null for a reference.
   * @param {Slot} slot
   */
  choiceName({ name, source }) {
    return name ?? (this.variables.includes(source[0]) ? null : source[0]);
  }

  /**
   * Indices of the variables that a slot depends on.
   * @param {Slot} slot
   */
  dependenciesOf(slot) {
    const needed =
      slot.name === null && this.variables.includes(slot.source[0]) ? [slot.source[0]] : [];
    if (slot.unlike) needed.push(slot.unlike);
    for (const [first, second] of this.withheld) {
      if (second === this.choiceName(slot)) needed.push(first.split(".")[0]);
    }
    return needed.map((variable) => this.variables.indexOf(variable));
  }

  /** @param {string} name */
  list(name) {
    const entries = this.lists.get(name);
    if (!entries) throw new Error(`the grammar has no ${name}`);
    return entries;
  }

  /**
   * @param {string} variable
   * @param {Memory} memory
   */
  valueOf(variable, memory) {
    const value = memory[this.variables.indexOf(variable)];
    if (!value) throw new Error(`${variable} is used before it is set`);
    return value;
  }
}

/**
 * The name of a table cell in `lists`.
 * @param {string} table
 * @param {string} column
 * @param {string} key
 */
function cell(table, column, key) {
  return `${table}.${column}.${key}`;
}
