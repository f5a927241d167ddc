// npm run dev: all exhibits of the book on one page, with the settings that the notebooks give them.

import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";
import { bundleScript } from "./dev/bundle.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));

/** What the notebooks hold of their exhibits, as the pages show it. */
function stored() {
  const notebooks = readdirSync(`${root}notebooks`).filter((name) => name.endsWith(".ipynb"));
  return notebooks.flatMap((name) => {
    const { cells } = JSON.parse(readFileSync(`${root}notebooks/${name}`, "utf8"));
    const html = cells
      .flatMap(({ outputs = [] }) => outputs)
      .map(({ data }) => [data?.["text/html"] ?? ""].flat().join(""))
      .filter((text) => text.includes('class="g2-live"'));
    return html.length ? [`<h2>${name.replace(".ipynb", "")}</h2>`, ...html] : [];
  });
}

/** The picture of the whole, as the first page has it. */
function flow() {
  const settings = readFileSync(`${root}web/test/fixtures/flow.json`, "utf8");
  const quoted = settings.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
  return `<gpt2-flow class="g2-live" data-settings="${quoted}"></gpt2-flow>`;
}

const book = {
  name: "book",
  transformIndexHtml: (html) =>
    html.replace("<!-- exhibits -->", () => [flow(), ...stored()].join("\n")),
  configureServer({ middlewares }) {
    middlewares.use("/files/", ({ url }, response) => {
      response.setHeader("Content-Type", "text/javascript");
      response.end(bundleScript(url.match(/\w+/)[0]));
    });
  },
};

export default defineConfig({
  plugins: [book],
  server: { fs: { allow: [root] } },
  test: { include: ["test/**/*.test.mjs"], testTimeout: 120_000 },
});
