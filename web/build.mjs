// Builds the scripts that pages load, because a page opened from a disk may load scripts, but
// neither modules nor files: npm run build, or node build.mjs FOLDER.

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "vite";
import { read } from "./card/read.mjs";
import { view } from "./card/view.mjs";
import { pretend } from "./dev/markup.mjs";

const web = fileURLToPath(new URL(".", import.meta.url));
const [folder = `${web}../gpt2_edu/exhibits/static`] = process.argv.slice(2);

const SCRIPTS = {
  gpt2: "site.mjs", // the engine, as the global `gpt2`
  train: "train/all.mjs", // and how it learns, as `gpt2Train`, for those who train
  runs: "runs/all.mjs", // training runs in workers, as `gpt2Runs`, with all that they need
  base: "exhibits/base.mjs", // what all exhibits stand on, as `gpt2Base`
  flow: "flow/all.mjs", // the picture of the whole; what the next needs of it, as `gpt2Flow`
  deep: "flow/deep.mjs", // the levels below the whole, when somebody is near
  beside: "flow/beside.mjs", // and what some pages have beside it
  space: "space/all.mjs", // the same pass in space, when somebody turns it
  scale: "scale/all.mjs",
  card: "card/all.mjs",
  live: "exhibits/all.mjs",
  learn: "learn/all.mjs", // the exhibit that trains
  reward: "reward/all.mjs", // and the one that learns from marks
  scaling: "scaling/all.mjs", // losses of many runs, and what is fitted to them
  offline: "offline.mjs", // the service worker
};

const BUILT = "// Built from web/ by `npm run build`.";
const LICENCES = {
  gpt2: "SHA-256 from @noble/hashes (MIT, (c) 2022 Paul Miller).",
  flow: "With lit (BSD-3-Clause, (c) 2017 Google LLC).",
  offline: "With Workbox (MIT, (c) 2018 Google LLC).",
  space: "With three.js (MIT, (c) 2010-2026 three.js authors).",
  reward: "With lit (BSD-3-Clause, (c) 2017 Google LLC).",
  scaling: "With lit (BSD-3-Clause, (c) 2017 Google LLC).",
};

// A page and its worker run the same text, that of the function `packed`.
const engine = {
  define: { "import.meta.url": "undefined" }, // which only modules know
  output: { format: "es", banner: "(function packed(){", footer: "})();" },
};
// For the other scripts the engine's modules, in the folder above theirs, are there already; and for
// the exhibits those of the base.
const onEngine = {
  alias: [{ find: /^\.\.\/\w+\.mjs$/, replacement: "gpt2" }],
  external: ["gpt2"],
  output: { format: "iife", globals: { gpt2: "gpt2" }, name: "gpt2Base" },
};
const BASE = readFileSync(`${web}exhibits/base.mjs`, "utf8").match(/(?<=\.\/)\w+(?=\.mjs)/g);
const onBase = {
  alias: [
    { find: new RegExp(`^(\\.|\\.\\./exhibits)/(${BASE.join("|")})\\.mjs$`), replacement: "base" },
    ...onEngine.alias,
  ],
  external: ["gpt2", "base"],
  output: { format: "iife", globals: { gpt2: "gpt2", base: "gpt2Base" } },
};
const FLOW = readFileSync(`${web}flow/all.mjs`, "utf8").match(/(?<=from "\.\/)\w+(?=\.mjs)/g);
const flow = {
  ...onBase,
  alias: [{ find: "./deeper.mjs", replacement: `${web}flow/packed_deeper.mjs` }, ...onBase.alias],
  output: { ...onBase.output, name: "gpt2Flow" },
};
const deep = {
  alias: [
    { find: "./deeper.mjs", replacement: `${web}flow/packed_deeper.mjs` },
    { find: new RegExp(`^\\./(${FLOW.join("|")})\\.mjs$|^lit/.*`), replacement: "flow" },
    ...onBase.alias,
  ],
  external: ["gpt2", "base", "flow"],
  output: {
    ...onBase.output,
    globals: { ...onBase.output.globals, flow: "gpt2Flow" },
  },
};
const HOW = {
  gpt2: engine,
  train: engine,
  runs: engine,
  base: onEngine,
  flow,
  deep,
  beside: deep,
  space: deep,
  scale: onBase,
  card: onBase,
  live: onBase,
  learn: onBase,
  reward: onBase,
  scaling: onBase,
  offline: { define: { "process.env.NODE_ENV": '"production"' }, output: { format: "iife" } },
};

// Shaders and styles are text, whose comments and blanks no minifier removes.
const texts = {
  name: "texts",
  transform: (code, id) => {
    if (id.endsWith("/shaders.mjs")) return code.replace(/\n *(\/\/.*)?(?=\n)|(?<=\n) +/g, "");
    if (id.includes("/flow/") && !id.endsWith("_style.mjs"))
      return code.replace(/([>}])\n +(?=<|\$\{)/g, "$1").replace(/\n +(?=[@\w-]+=(\$\{|"))/g, " "); // pictures
    if (!/\/(deep|solid)_style\.mjs$/.test(id)) return null;
    return code
      .replace(/^ *\/\/.*$/gm, "")
      .replace(/(?<=[:;,{}]) +| +(?=[{}])|;(?= *\})|\n *|(?<=[ :,(])0(?=\.)/g, "");
  },
  // Nor do they remove those that indent the lines of a picture's markup.
  generateBundle: (_, files) => {
    for (const file of Object.values(files)) {
      if (/^(flow|deep|beside)\./.test(file.fileName))
        file.code = file.code.replace(/(?<=>)\n +(?=<)/g, "").replace(/\n +/g, " ");
    }
  },
};

for (const [name, entry] of Object.entries(SCRIPTS)) {
  const { define, alias, external, output } = HOW[name];
  await build({
    root: web,
    configFile: false,
    logLevel: "warn",
    plugins: [texts],
    define,
    resolve: { alias },
    build: {
      outDir: folder,
      emptyOutDir: false,
      target: "es2022",
      rolldownOptions: {
        input: `${web}${entry}`,
        external,
        preserveEntrySignatures: "exports-only",
        output: {
          ...output,
          entryFileNames: `${name}.js`,
          postBanner: [BUILT, LICENCES[name]].join(" ").trim(),
        },
      },
    },
  });
}

// What stands in the place of the cards before their script: the first one, as the script shows it.
pretend();
const first = read(readFileSync(`${web}card/examples/gpt2.json`, "utf8"));
const printed = view([{ name: "GPT-2 124M", card: first }], 1024);
writeFileSync(`${process.argv[2] ?? `${web}card`}/printed.txt`, `${printed.join("\n")}\n`);
