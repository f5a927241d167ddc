// What error messages share.

export const SUPERSEDED = "superseded by a newer request";
export const CANCELLED = "cancelled";

const LONGEST = 60; // characters of a value that a message shows

/**
 * A value from outside as a message shows it: in one line, and short.
 * @param {unknown} value
 * @returns {string}
 */
export function shown(value) {
  if (value === undefined) return "nothing";
  if (isList(value)) return "[…]";
  if (typeof value === "object" && value !== null) return "{…}";
  const text = typeof value === "string" ? JSON.stringify(value.slice(0, LONGEST)) : String(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}

/**
 * Whether a value is an array, or a typed array.
 * @param {unknown} value
 */
export function isList(value) {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
}

/**
 * @param {string} name  of what is read
 * @param {string} things  that it should hold
 * @param {() => unknown} parse  JSON
 * @returns {Record<string, any>}
 */
export function readObject(name, things, parse) {
  let json;
  try {
    json = parse();
  } catch {
    throw new Error(`${name} is not JSON: is it the right file?`);
  }
  if (json === null || typeof json !== "object" || Array.isArray(json)) {
    throw new Error(`${name} holds no ${things}: is it the right file?`);
  }
  return json;
}
