// Every finite float16 through fromHalf and toHalf, and the bits of numbers between them; and the
// longest rows of whole numbers, whose products must not overflow.

import { writeFileSync } from "node:fs";
import { bitsOf, fromHalf, toHalf } from "../../web/numbers.mjs";
import { WasmBackend } from "../../web/wasm.mjs";
import { randomNumbers } from "../../web/sampling.mjs";

const halves = (numbers) => Array.from(bitsOf(Float32Array.from(numbers)), toHalf);
const wrong = [];
for (let bits = 0; bits < 1 << 16; bits++) {
  if (((bits >> 10) & 31) < 31 && halves([fromHalf(bits)])[0] !== bits) wrong.push(bits);
}
const random = randomNumbers(0);
const values = Array.from({ length: 20000 }, () =>
  Math.fround((random() - 0.5) * 2 ** Math.floor(random() * 44 - 27)),
);
for (let bits = 1; bits < 31743; bits += 7) values.push((fromHalf(bits) + fromHalf(bits + 1)) / 2);
const backend = await WasmBackend.start("int8");
const ones = new Float32Array(8192).fill(1);
const matrix = backend.matrix(1, 8192);
backend.store(matrix, 0, ones);
const [product] = backend.linear(backend.write(ones, [1, 8192]), matrix, null).data;
let tooLong = "";
try {
  backend.matrix(1, 8193);
} catch (error) {
  tooLong = error.message;
}
writeFileSync(1, JSON.stringify({ wrong, values, bits: halves(values), product, tooLong }));
