/** Builds the inspector's page with vite, and puts its files into the module that the handler reads them from. */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "vite";
import { DIST, includedElsewhere, moduleAt } from "./rolldown.parts.mjs";

const SOURCE = join("src", "inspector", "page");
const TARGET = join(process.cwd(), DIST, "inspector", "page");

export const jsx = { runtime: "automatic", importSource: "preact" };

/** Options of vite. Nothing is put into the document itself, because the page's policy runs no inline code. */
const options = {
  root: SOURCE,
  configFile: false,
  base: "./",
  publicDir: false,
  logLevel: "warn",
  oxc: { jsx },
  worker: { format: "es" },
  build: {
    outDir: TARGET,
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: false,
    target: "es2022",
    license: false,
  },
};

/** Gives the handler's bundle the built files. The icon keeps its name, because documents name it too. */
export const inspectorPage = {
  name: "inspector-page",
  async load(id) {
    if (id !== moduleAt(join("inspector", "pageFiles.js"))) return null;
    const { output } = await build(options);
    for (const { modules = {} } of output) for (const module of Object.keys(modules)) includedElsewhere.add(module);
    const names = await readdir(TARGET, { recursive: true, withFileTypes: true });
    const files = {};
    for (const entry of names.filter((each) => each.isFile())) {
      const path = join(entry.parentPath ?? entry.path, entry.name);
      files[path.slice(TARGET.length + 1).replaceAll("\\", "/")] = await readFile(path, "utf8");
    }
    return { code: `export const PAGE_FILES = ${JSON.stringify(files)};`, map: null };
  },
};
