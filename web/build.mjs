// Packs the modules of this folder into scripts, for pages that may load no modules: the engine
// into gpt2.js, which defines `gpt2`, and what is built on it into console.js and live.js. They go to
// gpt2_edu/exhibits/static; with a script's name, that script is printed instead.

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild-wasm";
import { minify } from "terser";

const root = fileURLToPath(new URL("..", import.meta.url));

async function pack(entry, options) {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [`web/${entry}`],
    bundle: true,
    charset: "utf8",
    format: "iife",
    logLevel: "error",
    minify: true,
    target: "es2022",
    write: false,
    ...options,
  });
  // What esbuild has joined and shortened, terser makes 3 % smaller still.
  const { code } = await minify(outputFiles[0].text, {
    ecma: 2020,
    compress: { passes: 3, sequences: false },
    format: { preamble: "// packed from web/ by `make web`." },
  });
  return code;
}

// Shaders stand in the modules as text: minifiers leave its comments and indentation as they are.
const shaders = {
  name: "shaders",
  setup(build) {
    build.onLoad({ filter: /shaders\.mjs$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf8").replace(/\n *(\/\/.*)?(?=\n)|(?<=\n) +/g, ""),
    }));
  },
};

// A page and its worker run the same text, that of the function `packed`.
const engine = () =>
  pack("site.mjs", {
    banner: { js: "(function packed(){" },
    footer: { js: "})();" },
    format: "esm",
    define: { "import.meta.url": "undefined" }, // which only modules know
    plugins: [shaders],
  });

// The engine's modules are there already.
const fromEngine = {
  name: "from the engine",
  setup(build) {
    build.onResolve({ filter: /^\.\.\/[^/]+$/ }, () => ({ path: "gpt2", namespace: "engine" }));
    build.onLoad({ filter: /.*/, namespace: "engine" }, () => ({
      contents: "module.exports = gpt2",
    }));
  },
};
const onEngine = (entry) => () => pack(entry, { plugins: [fromEngine] });

const scripts = {
  "gpt2.js": engine,
  "console.js": onEngine("console/console.mjs"),
  "live.js": onEngine("exhibits/all.mjs"),
};
const [name] = process.argv.slice(2);
if (name) process.stdout.write(await scripts[name]());
else {
  for (const [name, made] of Object.entries(scripts)) {
    writeFileSync(`${root}gpt2_edu/exhibits/static/${name}`, await made());
  }
}
