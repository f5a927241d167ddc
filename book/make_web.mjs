// Packs the modules of gpt2_edu/web into scripts, for pages that may load no modules: the engine
// into gpt2.js, which defines `gpt2`, and what is built on it into console.js. They go to
// gpt2_edu/exhibits/static; with a script's name, that script is printed instead.

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

// A page and its worker run the same text: `packed`, which gives a page the modules' exports.
const engine = () =>
  pack("site.mjs", {
    banner: { js: "// gpt2_edu/web, packed by `make web`.\nvar gpt2=(function packed(){" },
    footer: { js: "return gpt2})();" },
    globalName: "gpt2",
    logOverride: { "empty-import-meta": "silent" },
  });

// The engine's modules are there already.
const fromEngine = {
  name: "from the engine",
  setup(build) {
    build.onResolve({ filter: /^\.\.\// }, () => ({ path: "gpt2", namespace: "engine" }));
    build.onLoad({ filter: /.*/, namespace: "engine" }, () => ({ contents: "module.exports = gpt2" }));
  },
};
const console = () => pack("console/console.mjs", { plugins: [fromEngine] });

const scripts = { "gpt2.js": engine, "console.js": console };
const [name] = process.argv.slice(2);
if (name) process.stdout.write(await scripts[name]());
else {
  for (const [name, made] of Object.entries(scripts)) {
    writeFileSync(`${root}gpt2_edu/exhibits/static/${name}`, await made());
  }
}
