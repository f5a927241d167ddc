// Several files as one .zip. gzip and zip pack alike, with the same checksum, so that the browser's own
// gzip does the work: without its head and its tail it is what a zip holds of a file.
// Source: PKWARE's APPNOTE.TXT; RFC 1952 for gzip.

const LOCAL = 0x04034b50; // before each file
const CENTRAL = 0x02014b50; // in the list of files behind them
const END = 0x06054b50;
const DEFLATE = 8;
const UTF8 = 1 << 11; // names are in it
const DAY = (1 << 5) | 1; // the 1st of January 1980: a file without a date has this one
const [HEAD, TAIL] = [10, 8]; // bytes of gzip's own

/**
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @returns {Promise<Uint8Array<ArrayBuffer>>}
 */
export async function gzip(bytes) {
  const packed = new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(packed).arrayBuffer());
}

/**
 * @param {Record<string, Uint8Array<ArrayBuffer>>} files  by their paths, with slashes
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
    // Version 2.0, flags, method, time, day, checksum, sizes, the name's length, that of more fields.
    const about = [
      [20, 2],
      [UTF8, 2],
      [DEFLATE, 2],
      [0, 2],
      [DAY, 2],
      [checksum, 4],
    ];
    about.push([content.length, 4], [bytes.length, 4], [name.length, 2], [0, 2]);
    const head = numbers([[LOCAL, 4], ...about]);
    parts.push(head, name, content);
    // No comment, disk 0, attributes, and where the file begins.
    const entry = numbers([
      [CENTRAL, 4],
      [20, 2],
      ...about,
      [0, 2],
      [0, 2],
      [0, 2],
      [0, 4],
      [at, 4],
    ]);
    list.push(entry, name);
    at += head.length + name.length + content.length;
    listed += entry.length + name.length;
  }
  const count = Object.keys(files).length;
  const end = [
    [END, 4],
    [0, 2],
    [0, 2],
    [count, 2],
    [count, 2],
    [listed, 4],
    [at, 4],
    [0, 2],
  ];
  return new Blob([...parts, ...list, numbers(end)], { type: "application/zip" });
}

/** @param {number[][]} fields  each a number and its bytes, the lowest first */
function numbers(fields) {
  return Uint8Array.from(
    fields.flatMap(([n, width]) => Array.from({ length: width }, (_, i) => n / 2 ** (8 * i))),
  );
}
