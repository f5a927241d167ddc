// Modules of web/ in few files, as JSON on standard output: node bundle.mjs NAME… Each module that is
// named stays a module at its address, and the same one for all that import it.

import { fileURLToPath } from "node:url";
import { build } from "../../web/node_modules/vite/dist/node/index.js";

const web = fileURLToPath(new URL("../../web/", import.meta.url));
const { output } = await build({
  root: web,
  configFile: false,
  logLevel: "warn",
  build: {
    write: false,
    minify: true,
    target: "es2022",
    modulePreload: false,
    rolldownOptions: {
      input: Object.fromEntries(process.argv.slice(2).map((name) => [name, `${web}${name}.mjs`])),
      preserveEntrySignatures: "strict",
      output: {
        entryFileNames: "[name].mjs",
        chunkFileNames: "shared-[name].mjs",
        codeSplitting: {
          groups: [
            { name: "library", test: /\/node_modules\/(?!@noble)/ },
            { name: "engine", test: /\/web\/(?!worker)\w+\.mjs$/ },
            { name: "exhibits", test: /\/web\/exhibits\//, minShareCount: 2 },
          ],
        },
      },
    },
  },
});
console.log(JSON.stringify(Object.fromEntries(output.map((o) => [`/web/${o.fileName}`, o.code]))));
