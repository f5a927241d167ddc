// SHA-256 of bytes that come piece by piece; the browser's own (crypto.subtle) wants all at once.
// Source: FIPS 180-4, https://doi.org/10.6028/NIST.FIPS.180-4

/** @type {number[]} */
const PRIMES = [];
for (let n = 2; PRIMES.length < 64; n++) if (PRIMES.every((p) => n % p)) PRIMES.push(n);
const first32 = (/** @type {number} */ x) => ((x % 1) * 2 ** 32) | 0; // bits of the fraction
const START = PRIMES.slice(0, 8).map((p) => first32(Math.sqrt(p)));
const ROUND = Int32Array.from(PRIMES, (p) => first32(Math.cbrt(p)));

export class Sha256 {
  constructor() {
    this.state = Int32Array.from(START);
    this.words = new Int32Array(64);
    this.rest = new Uint8Array(64); // what does not fill a block yet
    this.length = 0;
  }

  /** @param {Uint8Array} bytes */
  update(bytes) {
    let from = 0;
    const held = this.length % 64;
    this.length += bytes.length;
    if (held) {
      from = Math.min(64 - held, bytes.length);
      this.rest.set(bytes.subarray(0, from), held);
      if (held + from < 64) return;
      this.compress(new DataView(this.rest.buffer), 0);
    }
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    for (; from + 64 <= bytes.length; from += 64) this.compress(view, from);
    this.rest.set(bytes.subarray(from));
  }

  /** The digest in hexadecimal; nothing can be added afterwards. */
  hex() {
    const { length } = this;
    const end = new Uint8Array(length % 64 < 56 ? 64 - (length % 64) : 128 - (length % 64));
    end[0] = 0x80;
    const view = new DataView(end.buffer);
    view.setUint32(end.length - 8, Math.floor(length / 2 ** 29)); // the length in bits
    view.setUint32(end.length - 4, (8 * length) >>> 0);
    this.update(end);
    return Array.from(this.state, (word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
  }

  /**
   * One block of 64 bytes.
   * @param {DataView} view
   * @param {number} from
   */
  compress(view, from) {
    const { state, words } = this;
    for (let i = 0; i < 16; i++) words[i] = view.getInt32(from + 4 * i);
    for (let i = 16; i < 64; i++) {
      const x = words[i - 15];
      const y = words[i - 2];
      words[i] =
        (words[i - 16] +
          words[i - 7] +
          (turn(x, 7) ^ turn(x, 18) ^ (x >>> 3)) +
          (turn(y, 17) ^ turn(y, 19) ^ (y >>> 10))) |
        0;
    }
    let a = state[0];
    let b = state[1];
    let c = state[2];
    let d = state[3];
    let e = state[4];
    let f = state[5];
    let g = state[6];
    let h = state[7];
    for (let i = 0; i < 64; i++) {
      const choice = g ^ (e & (f ^ g));
      const majority = (a & b) | (c & (a | b));
      const t = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + choice + ROUND[i] + words[i]) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + t) | 0;
      d = c;
      c = b;
      b = a;
      a = (t + (turn(b, 2) ^ turn(b, 13) ^ turn(b, 22)) + majority) | 0;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
  }
}

/**
 * @param {number} x
 * @param {number} bits
 */
function turn(x, bits) {
  return (x >>> bits) | (x << (32 - bits));
}
