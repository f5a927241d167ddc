// Elements made in one call. Text is always text, never markup.

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, any>} [attributes]  a function is a listener: onclick; class, aria-… as such
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  if (element instanceof HTMLButtonElement) element.type = "button"; // it sends no form
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (typeof value === "boolean") element.toggleAttribute(name, value);
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/**
 * Columns side by side, where there is room for them.
 * @param {...(Element | (Node | string)[])} columns  an element, or what is in one
 */
export function beside(...columns) {
  const each = columns.map((one) => (Array.isArray(one) ? make("div", {}, ...one) : one));
  return make("div", { class: "sides" }, ...each);
}

const SVG = "http://www.w3.org/2000/svg";

/**
 * A drawing, or a part of one.
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, string | number>} [attributes]
 * @param {string} [words]
 * @returns {SVGElementTagNameMap[K]}
 */
export function draw(tag, attributes = {}, words = "") {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.textContent = words;
  return element;
}

/**
 * What is in an element is not to be seen, but for its status. Each part is marked: a rule for all that
 * is inside would have all of it styled again.
 * @param {Element} element
 * @param {boolean} covered
 */
export function cover(element, covered) {
  element.toggleAttribute("data-new", covered);
  for (const one of element.children) {
    one.classList.toggle("covered", covered && !one.matches(".status"));
  }
}

/** A whole number, its thousands apart. toLocaleString takes 10 ms when a page first asks it. @param {number} n */
export function grouped(n) {
  return String(n).replace(/\B(?=(\d{3})+$)/g, ",");
}

/**
 * A number, or the nearest one within the limits.
 * @param {number} value
 * @param {number} least
 * @param {number} most
 */
export function within(value, least, most) {
  return Math.min(most, Math.max(least, value));
}

/**
 * A control below its name.
 * @param {string} name
 * @param {HTMLElement} control
 */
export function labelled(name, control) {
  return make("label", {}, make("span", {}, name), control);
}

/**
 * A choice among texts.
 * @param {Record<string, string>} options  value → text
 * @param {() => void} onchange
 */
export function choice(options, onchange) {
  const list = Object.entries(options).map(([value, text]) => make("option", { value }, text));
  return make("select", { onchange }, ...list);
}

const BYTES = /^[0-9A-F]{2}( [0-9A-F]{2})+$/; // of half a character, as show() writes them
const UNSEEN = /[\p{Cc}\p{Z}\xad\u200b\ufeff]/gu;

/**
 * A token's text with its spaces and line breaks to be seen; control characters and other blanks,
 * which have no look, as their numbers in hexadecimal.
 * @param {string} text
 */
export function visible(text) {
  if (BYTES.test(text)) return text;
  const seen = text.replace(/ /g, "␣").replace(/\n/g, "⏎").replace(/\t/g, "⇥");
  return seen.replace(UNSEEN, (c) => c.charCodeAt(0).toString(16).padStart(2, "0").toUpperCase());
}

/**
 * A token as a word, without the space before it. A space by itself stays to be seen.
 * @param {string} name
 */
export function bare(name) {
  return name.replace(/^␣(?!␣|$)/, "");
}

/**
 * A token in a sentence: what is no word stands in quotation marks.
 * @param {string} name
 */
export function quoted(name) {
  return /[\p{L}\p{N}⟨]/u.test(name) ? name : `“${name}”`;
}

/** @param {number} value */
export function short(value) {
  if (!Number.isFinite(value)) return value < 0 ? "−∞" : String(value);
  const text = value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential(1) : value.toFixed(4);
  return text.replace("-", "−");
}

/**
 * A number as exhibits print it: three decimals, a real minus sign, never a negative zero.
 * @param {number} value
 * @param {number} [decimals]
 */
export function fixed(value, decimals = 3) {
  if (value === -Infinity) return "−∞";
  const text = value.toFixed(decimals);
  return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "−");
}
