// Compiles web/kernel.wat and writes kernel.mjs; with --print it prints the file instead.

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import wabt from "wabt";

const web = fileURLToPath(new URL(".", import.meta.url));
const module = (await wabt()).parseWat(
  "kernel.wat",
  new Uint8Array(readFileSync(`${web}kernel.wat`)),
  {
    simd: true,
  },
);
module.validate();
const bytes = Buffer.from(module.toBinary({}).buffer).toString("hex");
const lines = bytes.match(/.{1,92}/g).map((part) => `  "${part}"`);
const text = `// kernel.wat, compiled; in hexadecimal, which gzip makes smaller than base64. By npm run kernel.

export const KERNEL =
${lines.join(" +\n")};
`;
if (process.argv.includes("--print")) process.stdout.write(text);
else writeFileSync(`${web}kernel.mjs`, text);
