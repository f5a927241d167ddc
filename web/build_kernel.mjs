// Compiles the kernels and writes them as modules beside their sources: npm run kernel, or
// node build_kernel.mjs FOLDER.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import wabt from "wabt";

const web = fileURLToPath(new URL(".", import.meta.url));
const [folder = web] = process.argv.slice(2);
const tools = await wabt();

const KERNELS = {
  "kernel.mjs": ['(memory (export "memory") 1)', "kernel.wat", "matrix.wat"],
  // In the memory of the first.
  "whole_kernel.mjs": ['(import "engine" "memory" (memory 1))', "whole.wat"],
  "train/kernel.mjs": [
    '(import "engine" "memory" (memory 1))',
    "train/kernel.wat",
    "train/rows.wat",
  ],
};

for (const [name, [memory, ...files]] of Object.entries(KERNELS)) {
  const parts = files.map((file) => readFileSync(`${web}${file}`, "utf8"));
  const text = `(module ${memory}\n${parts.join("\n")})`;
  const module = tools.parseWat(name, new TextEncoder().encode(text), { simd: true });
  module.validate();
  const bytes = Buffer.from(module.toBinary({}).buffer).toString("hex");
  const lines = bytes.match(/.{1,92}/g).map((part) => `  "${part}"`);
  const path = `${folder}/${name}`;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(
    path,
    `// ${files.join(" and ")}, compiled; in hexadecimal, which gzip makes smaller than base64. By npm run kernel.

export const KERNEL =
${lines.join(" +\n")};
`,
  );
}
