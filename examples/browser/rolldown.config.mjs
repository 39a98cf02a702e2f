/** Bundles the page into `site`, beside the tables. */

import { copyFile, mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { defineConfig } from "rolldown";

const pathOf = (name) => fileURLToPath(new URL(name, import.meta.url));

await mkdir(pathOf("site"), { recursive: true });
await copyFile(pathOf("index.html"), pathOf("site/index.html"));

export default defineConfig({
  input: { search: pathOf("search.mjs") },
  platform: "browser",
  output: { dir: pathOf("site"), entryFileNames: "[name].js", minify: true },
});
