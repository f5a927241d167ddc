// What people type as a number, read as they mean it: 1/3, 0,333, 33 %, −∞, 1 000, √2, about 0.3.
// It has no part in the page: judge.js compares what was read, practice.js shows it.

"use strict";

{
  const EXAMPLE = "One number is enough here, such as 0.25.";
  /** @type {Record<string, (x: number) => number>} */
  const FUNCTIONS = {
    ln: Math.log,
    log: Math.log,
    log2: Math.log2,
    log10: Math.log10,
    exp: Math.exp,
    sqrt: Math.sqrt,
    "√": Math.sqrt,
  };
  /** @type {Record<string, number>} */
  const CONSTANTS = { e: Math.E, pi: Math.PI, π: Math.PI, inf: Infinity, infinity: Infinity };
  CONSTANTS["∞"] = Infinity;
  /** @type {Record<string, number>} */
  const FACTORS = {
    thousand: 1e3,
    k: 1e3,
    million: 1e6,
    billion: 1e9,
    kb: 1e3,
    mb: 1e6,
    gb: 1e9,
    kib: 2 ** 10,
    mib: 2 ** 20,
    gib: 2 ** 30,
  };
  // What is counted says nothing more than the number: "64 dimensions per head".
  const COUNTED =
    "nat|byte|b|token|number|step|time|x|dimension|dim|head|layer|block|row|column|position|place|" +
    "parameter|param|weight|value|logit|word|id|pair|score|float|element|entry|entrie";
  const UNITS = new RegExp(
    `(?<=[\\d\\s)])(?:${COUNTED})s?(?: (?:(?:per|a|an|for each|in each|in every) [a-z]+|each|in all))?$`,
    "i",
  );
  const ABOUT =
    /^(?:about|approximately|approx\.?|roughly|around|circa|ca\.|nearly|almost|maybe|i think|it is|it's|it has)\s+|^[~≈≃≅]\s*/i;
  const SMALL = "⁰¹²³⁴⁵⁶⁷⁸⁹";

  // The same text in plain signs: full-width and raised digits, fractions, dashes, dots.
  /** @type {(text: string) => string} */
  function plain(text) {
    return text
      .replace(/[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+/g, (raised) => {
        const digits = [...raised].map((sign) =>
          sign === "⁻" ? "-" : sign === "⁺" ? "" : SMALL.indexOf(sign),
        );
        return `^(${digits.join("")})`;
      })
      .replace(/[¼-¾⅐-⅞]/g, (sign) => ` ${sign.normalize("NFKC")}`)
      .normalize("NFKC")
      .replace(/\p{Nd}/gu, (digit) => {
        let below = 0;
        while (
          below < 9 &&
          /\p{Nd}/u.test(String.fromCodePoint(Number(digit.codePointAt(0)) - below - 1))
        )
          below++;
        return digit > "9" ? `${below}` : digit;
      })
      .replace(/[‐-―−]/g, "-")
      .replace(/(?<=\d) ?× ?$/, " times")
      .replace(/(?<=\d) ?x ?(?=10(?:\^|\*\*))/gi, "*")
      .replace(/[×·⋅∙∗•]/g, "*")
      .replace(/[÷⁄∕]/g, "/")
      .replaceAll("٫", ".")
      .replace(/[’´`]/g, "'")
      .replace(/\s+/g, " ")
      .trim();
  }

  // What the digits and their separators may mean, likelier first; none if nothing.
  /** @type {(written: string) => string[]} */
  function meanings(written) {
    const text = written.replace(/[ '_]/g, "").replace(/[.,]+$/, "");
    const marks = text.match(/[.,]/g) ?? [];
    /** @type {(part: string) => string} */
    const whole = (part) => part.replace(/[.,]/g, "");
    /** @type {(part: string) => boolean} */
    const grouped = (part) =>
      /^\d{1,3}([.,])\d{3}(?:\1\d{3})*$|^\d{1,2}(?:,\d{2})*,\d{3}$/.test(part);
    if (!marks.length) return [text];
    const last = marks[marks.length - 1];
    const [before, after] = [
      text.slice(0, text.lastIndexOf(last)),
      text.slice(text.lastIndexOf(last) + 1),
    ];
    if (marks.length === 1) {
      const decimal = `${before || 0}.${after}`;
      if (after.length !== 3 || !/^[1-9]\d{0,2}$/.test(before)) return [decimal];
      return last === "," ? [before + after, decimal] : [decimal, before + after];
    }
    if (new Set(marks).size === 1) return grouped(text) ? [whole(text)] : [];
    const one = marks.filter((mark) => mark === last).length === 1;
    return one && grouped(before) ? [`${whole(before)}.${after}`] : [];
  }

  /**
   * A number as it is written, with the digits given and how far off rounding may have put it.
   * @param {string} text
   * @param {number} power  of ten
   * @param {boolean} padded  whether zeros at the end may stand for digits that are not known
   * @returns {Reading}
   */
  function literal(text, power, padded) {
    const [before, after = ""] = text.split(".");
    let significant = (before + after).replace(/^0+/, "");
    let step = 10 ** (power - after.length);
    if (padded && !after) {
      step *= 10 ** (/0*$/.exec(significant)?.[0].length ?? 0);
      significant = significant.replace(/0+$/, "");
    }
    const value = Number(`${text}e${power}`);
    if (value === Infinity) throw new Unreadable("That number is too large to be read.");
    return { value, slack: step / 2, digits: significant.length };
  }

  class Unreadable extends Error {}

  // The value of an expression; in the second way, where separators may mean something else.
  /** @type {(text: string, way: number, padded: boolean) => Reading & { other: boolean }} */
  function parse(text, way, padded) {
    let at = 0;
    let other = false;
    const skip = () => {
      while (text[at] === " ") at++;
    };
    /** @type {(pattern: RegExp) => RegExpExecArray | null} */
    const take = (pattern) => {
      skip();
      pattern.lastIndex = at;
      const found = pattern.exec(text);
      if (found) at = pattern.lastIndex;
      return found;
    };
    /** @type {(value: number) => Reading} */
    const exact = (value) => ({ value, slack: 0, digits: Infinity });

    /** @returns {Reading} */
    function sum() {
      let left = product();
      for (let sign; (sign = take(/[+-]/y));) {
        const right = product().value;
        left = exact(sign[0] === "+" ? left.value + right : left.value - right);
      }
      return left;
    }
    /** @returns {Reading} */
    function product() {
      let left = signed();
      for (;;) {
        const sign = take(/\*(?!\*)|\//y);
        if (sign) {
          const right = signed().value;
          if (sign[0] === "/" && !right) throw new Unreadable("That divides by 0.");
          left = exact(sign[0] === "/" ? left.value / right : left.value * right);
        } else if ((skip(), /[a-z√∞π(]/i.test(text[at] ?? ""))) {
          left = exact(left.value * power().value); // 2√3, 2 ln 2
        } else return left;
      }
    }
    /** @returns {Reading} */
    function signed() {
      const sign = take(/[+-]/y);
      if (!sign) return power();
      const one = signed();
      return sign[0] === "-" ? { ...one, value: -one.value } : one;
    }
    /** @returns {Reading} */
    function power() {
      const base = atom();
      return take(/\^|\*\*/y) ? exact(base.value ** signed().value) : base;
    }
    /** @returns {Reading} */
    function atom() {
      const digits = take(/(?:\d{1,3}(?:[ '_]\d{3})+(?!\d)(?:[.,]\d+)?|\d[\d.,_]*|[.,]\d+)/y);
      if (digits) {
        const found = meanings(digits[0]);
        if (!found.length) throw new Unreadable(EXAMPLE);
        other ||= found.length > 1;
        const ten = take(/e([+-]?\d{1,3})(?![\d.])|\*? ?10(?:\^|\*\*) ?\(?([+-]?\d{1,3})\)?/iy);
        return literal(found[way] ?? found[0], ten ? Number(ten[1] ?? ten[2]) : 0, padded);
      }
      if (take(/\(/y)) {
        const inner = sum();
        if (!take(/\)/y)) throw new Unreadable("A bracket is not closed.");
        return inner;
      }
      const word = take(/(?:(?:math|np|numpy|torch)\.)?(log2|log10|[a-z]+|[√∞π])/iy);
      const name = word?.[1].toLowerCase();
      if (name && Object.hasOwn(CONSTANTS, name)) return exact(CONSTANTS[name]);
      if (name && Object.hasOwn(FUNCTIONS, name)) return exact(FUNCTIONS[name](power().value));
      const rest = text.slice(word ? word.index : at).trim();
      throw new Unreadable(
        rest ? `“${rest}” I cannot read. ${EXAMPLE}` : `Something is missing. ${EXAMPLE}`,
      );
    }

    const mixed = /^(-?)(\d+) (\d+)\/([1-9]\d*)$/.exec(text); // 1 1/2
    if (mixed) {
      const value = Number(mixed[2]) + Number(mixed[3]) / Number(mixed[4]);
      return { ...exact(mixed[1] ? -value : value), other };
    }
    const found = sum();
    skip();
    if (at < text.length) {
      const rest = text.slice(at);
      throw new Unreadable(/^[,;\d.]/.test(rest) ? EXAMPLE : `“${rest}” I cannot read. ${EXAMPLE}`);
    }
    return { ...found, other };
  }

  // What was typed as one number: { readings: [{ value, slack, digits }, …] }, the likelier reading
  // first, or { ask } with a sentence. A share may be given in per cent. `unit` is what is asked for.
  /** @type {(typed: string, wanted?: { share?: boolean; unit?: string }) => Read} */
  function readNumber(typed, { share = false, unit = "" } = {}) {
    let text = plain(typed);
    if (!text) return { ask: "Type a number first." };
    if (text.length > 200) return { ask: `That is long. ${EXAMPLE}` };
    text = text
      .replace(/^\$(.*)\$$/, "$1")
      .replace(/[.!?;]+$/, (end) => (/^\.{3}/.test(end) ? "..." : ""));
    const sides = text.split(/(?<=\S) ?[=≈:] ?(?=\S)/);
    if (sides.length > 1 && !/\d ?: ?\d/.test(text)) text = sides[sides.length - 1]; // ln 4 = 1.386
    text = text.replace(/^= ?/, "").replace(/(\d) ?: ?(\d)/, "$1/$2");
    let about = false;
    for (; ABOUT.test(text); about = true) text = text.replace(ABOUT, "");
    text = text.replace(/^[[{"'](.*)[\]}"']$/, "$1").trim();
    const cut = /\.{3}$/.test(text); // 0.666…: not rounded, cut off
    text = text.replace(/\.{3}$/, "").trim();

    let factor = 1;
    const cents = /\s*(?:%|per ?cent)$/i;
    if (cents.test(text)) {
      if (!share) return { ask: "A plain number is wanted here, without a per cent sign." };
      [text, factor] = [text.replace(cents, ""), 0.01];
    } else if (/\bbits?$/i.test(text)) {
      return {
        ask:
          unit === "nats"
            ? "That is in bits. Nats are asked for: one bit is ln 2 = 0.693 nats."
            : "Bits are not asked for here. Give the number that the task asks for.",
      };
    } else {
      text = text.replace(UNITS, "").trim();
      const large = /(?<=[\d\s])([a-z]+)$/i.exec(text)?.[1].toLowerCase();
      if (large && Object.hasOwn(FACTORS, large)) {
        [text, factor] = [text.slice(0, -large.length).trim(), FACTORS[large]];
      }
    }
    if (!/\d|[∞π√]|^[-+]?(?:e|pi|inf|infinity)$/i.test(text)) {
      if (!text) return { ask: `A number is missing. ${EXAMPLE}` };
      const shown = typed.trim();
      return {
        ask: `“${shown.length > 40 ? `${shown.slice(0, 39)}…` : shown}” is no number that I can read. ${EXAMPLE}`,
      };
    }
    try {
      const readings = [];
      for (const way of [0, 1]) {
        const { value, slack, digits, other } = parse(text, way, about || factor > 1);
        if (Number.isNaN(value))
          return { ask: "That has no value: look at the root or the logarithm." };
        readings.push({ value: value * factor, slack: slack * factor * (cut ? 2 : 1), digits });
        if (!other) break;
      }
      return { readings };
    } catch (error) {
      if (error instanceof Unreadable || error instanceof RangeError) return { ask: error.message };
      throw error;
    }
  }

  /**
   * A list cut into its parts, of which there should be `count`, if that is known.
   * @param {string} typed
   * @param {number} [count]  how many are wanted, if that is known
   */
  function split(typed, count) {
    const whole = typed
      .trim()
      .replace(/^[a-z_]\w* ?= ?/i, "")
      .replace(/^(?:(?:torch\.)?tensor|(?:np\.|numpy\.)?array|list|tuple)\((.*)\)$/is, "$1")
      .replace(/, *(?:dtype|device) ?=.*$/is, "");
    const text = whole.replace(/^[[({](.*)[\])}]$/s, "$1").trim();
    const open = text === whole; // then a comma may be a decimal point, and a gap part of a number
    if (open && count && /^\d{1,3}(?:[ ,.']\d{3})+$/.test(text)) return [text];
    const ways = [/\s*[;|\n]\s*/, /\s*,\s+(?:and\s+)?|\s+and\s+/i, /\s*[x×]\s*/, /\s+/, /\s*,\s*/];
    if (open && count === 2) ways.pop();
    const cuts = ways.map((way) => text.split(way).filter((part) => part !== ""));
    return cuts.find((parts) => (count ? parts.length === count : parts.length > 1)) ?? [text];
  }

  globalThis.gpt2Answers = { plain, readNumber, split };
}
