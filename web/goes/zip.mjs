// Several files as one .zip. gzip and zip pack alike, with the same checksum, so that the browser's own
// gzip does the work: without its head and its tail it is what a zip holds of a file.
// Source: PKWARE's APPNOTE.TXT; RFC 1952 for gzip.

const LOCAL = [0x4b50, 0x0403]; // before each file
const CENTRAL = [0x4b50, 0x0201]; // in the list of files behind them
const END = [0x4b50, 0x0605];
const VERSION = 20; // 2.0
const DEFLATE = 8;
const UTF8 = 1 << 11; // names are in it
const DAY = (1 << 5) | 1; // the 1st of January 1980: a file without a date has this one
const [HEAD, TAIL] = [10, 8]; // bytes of gzip's own

/** @param {Uint8Array} bytes */
export async function gzip(bytes) {
  const packed = new Blob([/** @type {Uint8Array<ArrayBuffer>} */ (bytes)])
    .stream()
    .pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(packed).arrayBuffer());
}

/**
 * @param {Record<string, Uint8Array>} files  by their paths, with slashes
 * @returns {Promise<Blob>}
 */
export async function zip(files) {
  const [parts, list] = [/** @type {BlobPart[]} */ ([]), /** @type {BlobPart[]} */ ([])];
  let [at, listed] = [0, 0];
  for (const [path, bytes] of Object.entries(files)) {
    const name = new TextEncoder().encode(path);
    const packed = await gzip(bytes);
    const content = packed.subarray(HEAD, -TAIL);
    const checksum = new DataView(packed.buffer, packed.length - TAIL).getUint32(0, true);
    const sizes = [...long(content.length), ...long(bytes.length), name.length];
    const about = [VERSION, UTF8, DEFLATE, 0, DAY, ...long(checksum), ...sizes, 0];
    const head = Uint16Array.of(...LOCAL, ...about);
    const entry = Uint16Array.of(...CENTRAL, VERSION, ...about, 0, 0, 0, 0, 0, ...long(at));
    parts.push(head, name, content);
    list.push(entry, name);
    at += head.byteLength + name.length + content.length;
    listed += entry.byteLength + name.length;
  }
  const count = list.length / 2;
  const end = Uint16Array.of(...END, 0, 0, count, count, ...long(listed), ...long(at), 0);
  return new Blob([...parts, ...list, end], { type: "application/zip" });
}

/** @param {number} n  of four bytes, as two of two, the lower first */
function long(n) {
  return [n % 2 ** 16, Math.floor(n / 2 ** 16)];
}
