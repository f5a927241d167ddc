// Builds the scripts that pages load, because a page opened from a disk may load scripts, but
// neither modules nor files: npm run build, or node build.mjs FOLDER.

import { fileURLToPath } from "node:url";
import { build } from "vite";

const web = fileURLToPath(new URL(".", import.meta.url));
const [folder = `${web}../gpt2_edu/exhibits/static`] = process.argv.slice(2);

const SCRIPTS = {
  gpt2: "site.mjs", // the engine, as the global `gpt2`
  live: "exhibits/all.mjs",
};

const BUILT = "// Built from web/ by `npm run build`.";
const LICENCES = { gpt2: "SHA-256 from @noble/hashes (MIT, (c) 2022 Paul Miller)." };

// A page and its worker run the same text, that of the function `packed`.
const engine = {
  define: { "import.meta.url": "undefined" }, // which only modules know
  output: { format: "es", banner: "(function packed(){", footer: "})();" },
};
// For the other scripts the engine's modules, in the folder above theirs, are there already.
const onEngine = {
  alias: [{ find: /^\.\.\/\w+\.mjs$/, replacement: "gpt2" }],
  external: ["gpt2"],
  output: { format: "iife", globals: { gpt2: "gpt2" } },
};

// The shaders are text, whose comments and indentation no minifier removes.
const shaders = {
  name: "shaders",
  transform: (code, id) =>
    id.endsWith("/shaders.mjs") ? code.replace(/\n *(\/\/.*)?(?=\n)|(?<=\n) +/g, "") : null,
};

for (const [name, entry] of Object.entries(SCRIPTS)) {
  const { define, alias, external, output } = name === "gpt2" ? engine : onEngine;
  await build({
    root: web,
    configFile: false,
    logLevel: "warn",
    plugins: [shaders],
    define,
    resolve: { alias },
    build: {
      outDir: folder,
      emptyOutDir: false,
      target: "es2022",
      rolldownOptions: {
        input: `${web}${entry}`,
        external,
        output: {
          ...output,
          entryFileNames: `${name}.js`,
          postBanner: [BUILT, LICENCES[name]].join(" ").trim(),
        },
      },
    },
  });
}
