// A text of the reader's: read from a file, and checked before a run is made of it.

const MOST = 5e6; // bytes of a text
const LEAST = 200; // characters
const NO_TEXT =
  "This is not a text in UTF-8. It may be a picture, an archive or a text in another encoding: " +
  "save it as UTF-8.";

/**
 * The text of a file in UTF-8, or in UTF-16 with its mark, or what was pasted. Lines end in \n.
 * Throws an Error that says what is wrong with a file.
 * @param {Blob | string} source
 */
export async function readText(source) {
  if (typeof source === "string") return source.replaceAll("\r\n", "\n");
  if (source.size > 2 * MOST) throw new Error(tooLong(source.size)); // in UTF-16 twice as many
  const bytes = new Uint8Array(await source.arrayBuffer());
  const mark = bytes[0] === 0xff && bytes[1] === 0xfe ? "utf-16le" : "utf-16be";
  const wide = mark === "utf-16le" || (bytes[0] === 0xfe && bytes[1] === 0xff);
  try {
    const decoder = new TextDecoder(wide ? mark : "utf-8", { fatal: true });
    return decoder.decode(bytes).replaceAll("\r\n", "\n");
  } catch {
    throw new Error(NO_TEXT);
  }
}

/**
 * What is wrong with a text, or "".
 * @param {string} text
 */
export function checkText(text) {
  if (!text.trim()) return "There is no text yet. Paste one, or choose a file.";
  if (text.length < LEAST) {
    return `So short a text is memorised in a second. Give at least ${LEAST} characters, better 20,000.`;
  }
  const { length } = new TextEncoder().encode(text);
  if (length > MOST) return tooLong(length);
  return text.includes("\0") ? NO_TEXT : "";
}

/** @param {number} bytes */
function tooLong(bytes) {
  return (
    `This text has ${(bytes / 1e6).toFixed(1)} MB, and a page takes at most ${MOST / 1e6} MB. Give a ` +
    "part of it, or train with Python: gpt2-edu prepare."
  );
}
