/** Bundles the pages into `site`, beside the tables. */

import { copyFile, mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { defineConfig } from "rolldown";

const pathOf = (name) => fileURLToPath(new URL(name, import.meta.url));

await mkdir(pathOf("site"), { recursive: true });
for (const name of ["index.html", "diary.html"]) await copyFile(pathOf(name), pathOf(`site/${name}`));

export default defineConfig({
  input: { search: pathOf("search.mjs"), diary: pathOf("diary.mjs") },
  platform: "browser",
  output: { dir: pathOf("site"), entryFileNames: "[name].js", minify: true },
});
