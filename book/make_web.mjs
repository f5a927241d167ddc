// Packs the modules of gpt2_edu/web into one script, gpt2_edu/exhibits/static/gpt2.js, for pages
// that may load no modules. With a module's name, it prints what that one packs into instead.
//
// The script defines `gpt2`, with what page.mjs exports. The worker's code travels in it as text.

import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild-wasm";

const root = fileURLToPath(new URL("..", import.meta.url));

async function pack(entry, options) {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [`gpt2_edu/web/${entry}`],
    bundle: true,
    charset: "utf8",
    format: "iife",
    logLevel: "error",
    minify: true,
    target: "es2022",
    write: false,
    ...options,
  });
  return outputFiles[0].text;
}

const worker = await pack("worker.mjs", {});
const [entry] = process.argv.slice(2);
const page = await pack(entry ?? "site.mjs", {
  banner: { js: "// gpt2_edu/web, packed by `make web`." },
  define: { PACKED_WORKER: JSON.stringify(worker) },
  globalName: "gpt2",
  logOverride: { "empty-import-meta": "silent" },
});
if (entry) process.stdout.write(page);
else writeFileSync(`${root}gpt2_edu/exhibits/static/gpt2.js`, page);
