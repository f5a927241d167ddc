// Whether an answer is right, as the check in Python would say, and which known mistake it is.
// People who work by hand round: what is right to the digits given is right, if these tell it from
// every known mistake. It has no part in the page.

"use strict";

{
  const { plain, readNumber, split } = globalThis.gpt2Answers;
  const WORDS = new Map([
    ["inf", Infinity],
    ["-inf", -Infinity],
  ]);
  const COUNTS = "no one two three four five six seven eight nine ten".split(" ");

  // The numbers that JSON cannot hold are words in it.
  /** @type {(given: Value) => number} */
  const number = (given) => (typeof given === "string" ? (WORDS.get(given) ?? NaN) : given);

  /** @type {(a: number, b: number, tolerance: number) => boolean} */
  function close(a, b, tolerance) {
    if (a === b) return true;
    if (!Number.isFinite(a) || !Number.isFinite(b)) return false;
    return Math.abs(a - b) <= Math.max(tolerance * Math.max(Math.abs(a), Math.abs(b)), tolerance);
  }

  /**
   * Read what stands in the fields. Returns { ways: [[reading, …], …] } or { ask, field }.
   * @param {Task} task
   * @param {string[]} typed
   * @returns {{ways: Reading[][], ask?: undefined} | {ways?: undefined, ask: string, field: number}}
   */
  function readAll(task, typed) {
    let parts = typed;
    const [first, ...others] = typed;
    if (task.kind === "list") {
      parts = split(first);
    } else if (typed.length > 1 && others.every((text) => !text.trim())) {
      const wanted = task.right.length;
      const pasted = split(first, wanted); // all of it in the first field
      if (pasted.length === wanted) parts = pasted;
      else if (split(first).length > 1) {
        const says = `${split(first).length} numbers stand here, and ${wanted} are wanted.`;
        return { ask: says, field: 0 };
      }
    }
    const found = [];
    for (const [field, text] of parts.entries()) {
      const logical = task.kind === "list" && /^(true|false)$/i.exec(text.trim());
      const read = logical
        ? { readings: [{ value: Number(/true/i.test(text)), slack: 0, digits: Infinity }] }
        : readNumber(text, task);
      if (!read.readings) {
        const several = parts.length > 1 || task.kind === "list";
        if (task.kind === "list" && !text.trim())
          return { ask: "Type the numbers first.", field: 0 };
        const where = several ? `Number ${field + 1}: ` : "";
        const ask = several
          ? read.ask.replace("One number is enough here, such as", "A number is wanted, such as")
          : read.ask;
        return {
          ask: several && !text.trim() ? `Number ${field + 1} is missing.` : where + ask,
          field,
        };
      }
      found.push(read.readings);
    }
    const ways = [found.map((readings) => readings[0])];
    if (found.some((readings) => readings.length > 1))
      ways.push(found.map((readings) => readings[readings.length - 1]));
    return { ways };
  }

  /** @type {(way: Reading[], values: Value[], tolerance: number) => boolean} */
  const near = (way, values, tolerance) =>
    way.length === values.length &&
    way.every((one, i) => close(one.value, number(values[i]), tolerance));

  // Whether the numbers are these values, rounded to the digits that were given.
  /** @type {(way: Reading[], values: Value[], tolerance: number) => boolean} */
  const rounded = (way, values, tolerance) =>
    way.length === values.length &&
    way.every(
      (one, i) =>
        close(one.value, number(values[i]), tolerance) ||
        Math.abs(one.value - number(values[i])) <= one.slack * (1 + 1e-9),
    );

  // The fewest digits of a number that is not exact.
  /** @type {(way: Reading[], values: Value[]) => number} */
  const digits = (way, values) =>
    Math.min(
      Infinity,
      ...way
        .filter((one, i) => !close(one.value, number(values[i]), 1e-9))
        .map((one) => one.digits),
    );

  /** @type {(task: Task, typed: string[]) => Judgement} */
  function judgeNumbers(task, typed) {
    const read = readAll(task, typed);
    if (!read.ways) return { verdict: "ask", says: read.ask, field: read.field };
    const { right, mistakes, tolerance } = task;
    if (read.ways.some((way) => near(way, right, tolerance)))
      return { verdict: "right", says: "Right." };
    for (const way of read.ways) {
      const known = mistakes.find((mistake) => near(way, mistake.value, tolerance));
      if (known) return { verdict: "wrong", says: "Not yet right.", why: known.says };
    }
    /** @param {Reading[]} way */
    const cents = (way) => way.map((one) => ({ ...one, value: one.value / 100 }));
    if (task.share && read.ways.some((way) => near(cents(way), right, Math.max(tolerance, 0.005))))
      return { verdict: "ask", says: "Is that per cent? Then add the sign, or give a share of 1." };
    let coarse = false;
    for (const way of read.ways) {
      if (!rounded(way, right, tolerance)) continue;
      const given = digits(way, right);
      const told = !mistakes.some((mistake) => rounded(way, mistake.value, tolerance));
      if (given >= 2 && told) {
        return { verdict: "right", says: `Right, to ${COUNTS[given] ?? given} digits.` };
      }
      coarse ||= given >= 1;
    }
    if (coarse)
      return {
        verdict: "ask",
        says: "That may be right, but it is too coarse to tell. Give more digits.",
        field: 0,
      };
    for (const way of read.ways) {
      const fit = mistakes.filter(
        ({ value }) => rounded(way, value, tolerance) && digits(way, value) >= 2,
      );
      if (fit.length === 1) return { verdict: "wrong", says: "Not yet right.", why: fit[0].says };
    }
    return { verdict: "wrong", says: "Not yet right." };
  }

  // A word as it is meant: of h[2] and `h.2`, of "The mask." and "mask" each is the other.
  /** @type {(text: string) => string} */
  const word = (text) =>
    unquoted(text.replace(/[`´]/g, ""))
      .trim()
      .toLowerCase()
      .replace(/^the\s+|\.$/g, "")
      .replace(/\[(\w+)\]/g, ".$1")
      .replace(/[-‐‑\s]+/g, " ");

  /** @param {string} text */
  const unquoted = (text) =>
    text
      .replace(/[“”„«»]/g, '"')
      .replace(/[‘’]/g, "'")
      .replace(/^\s*"(.*)"[\s,]*$|^\s*'(.*)'[\s,]*$/, (_, one, other) => one ?? other);

  // A token: spaces are part of it, and may be typed as ␣.
  /** @type {(text: string) => string} */
  const token = (text) =>
    unquoted(text)
      .replace(/[␣\u00a0]/g, " ")
      .normalize("NFC");

  /** @type {(task: Task, typed: string[]) => Judgement} */
  function judgeTexts(task, typed) {
    let parts = typed;
    if (typed.length > 1 && typed.slice(1).every((text) => !text.trim())) {
      const quoted = [...plain(typed[0]).matchAll(/"([^"]*)"|'([^']*)'/g)].map(
        (one) => one[1] ?? one[2],
      );
      if (quoted.length === task.right.length) parts = quoted; // the list, as Python writes it
    }
    const empty = parts.findIndex((text) => !text.trim());
    if (empty >= 0) {
      const says = parts.length > 1 ? `Field ${empty + 1} is empty.` : "Type a word first.";
      return { verdict: "ask", says, field: empty };
    }
    const read = task.kind === "tokens" ? token : word;
    /** @param {Value[]} values */
    const fits = (values) => parts.every((text, i) => read(text) === read(String(values[i])));
    if (fits(task.right)) return { verdict: "right", says: "Right." };
    const known = task.mistakes.find((mistake) => fits(mistake.value));
    return { verdict: "wrong", says: "Not yet right.", why: known?.says };
  }

  // Judge what was typed in the fields of a task. Returns the verdict "right", "wrong" or "ask" (then
  // nothing was judged, and `field` is where to look), a sentence, and what a known mistake is told.
  /** @type {(task: Task, typed: string[]) => Judgement} */
  function judge(task, typed) {
    return ["words", "tokens"].includes(task.kind)
      ? judgeTexts(task, typed)
      : judgeNumbers(task, typed);
  }

  globalThis.gpt2Judge = judge;
}
