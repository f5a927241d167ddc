// Arrow keys: one stop of the Tab key for a whole list or table, arrows within.

const STEPS = /** @type {Record<string, number>} */ ({
  ArrowLeft: -1,
  ArrowUp: -1,
  ArrowRight: 1,
  ArrowDown: 1,
  Home: -Infinity,
  End: Infinity,
});

/**
 * Arrow keys move the focus along the buttons of a list.
 * @param {HTMLElement} list
 * @param {(from: number, step: number, event: KeyboardEvent) => boolean} [instead]  true if it did
 *   something else with the key
 */
export function rove(list, instead) {
  list.addEventListener("keydown", (event) => {
    const step = STEPS[event.key];
    const all = [...list.querySelectorAll("button")];
    const from = all.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    if (step === undefined || from < 0) return;
    event.preventDefault();
    if (instead?.(from, step, event)) return;
    const to = Math.min(all.length - 1, Math.max(0, from + step));
    all[from].tabIndex = -1;
    all[to].tabIndex = 0;
    all[to].focus();
  });
}

/**
 * Where an arrow key leads in a table, or null for another key.
 * @param {KeyboardEvent} event
 * @param {{row: number, column: number}} from
 * @param {{rows: number, columns: number}} size
 */
export function walk({ key }, { row, column }, { rows, columns }) {
  const to = /** @type {Record<string, [number, number]>} */ ({
    ArrowUp: [row - 1, column],
    ArrowDown: [row + 1, column],
    ArrowLeft: [row, column - 1],
    ArrowRight: [row, column + 1],
    Home: [row, 0],
    End: [row, columns - 1],
  })[key];
  if (!to) return null;
  return {
    row: Math.min(rows - 1, Math.max(0, to[0])),
    column: Math.min(columns - 1, Math.max(0, to[1])),
  };
}
