/**
 * Builds the inspector without a server: one file of HTML with the page and the engine for browsers. A policy in
 * the file allows the script and the style by their hashes, so that no other code runs in the page.
 */

import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { build } from "vite";
import { browserModules } from "./browserModules.mjs";
import { jsx } from "./inspectorPage.mjs";
import { DIST, includedElsewhere } from "./rolldown.parts.mjs";

const ROOT = join("src", "inspector", "page");
const SOURCE = join(process.cwd(), "src");

/** Puts the WebAssembly of the stemmers into the script, because the file is all that there is. */
const includedStemmers = {
  name: "included-stemmers",
  async load(id) {
    const [, directory] = /^(.*[\\/]multilingual-stemmer[\\/]dist)[\\/]wasm\.browser\.js$/.exec(id) ?? [];
    if (directory === undefined) return null;
    const bytes = await readFile(join(directory, "browser", "index_bg.wasm"));
    return [
      `import { initSync, Languages, Stemmer } from "./browser/index.js";`,
      `const text = atob("${bytes.toString("base64")}");`,
      "initSync({ module: Uint8Array.from(text, (character) => character.charCodeAt(0)) });",
      "export { Languages, Stemmer };",
    ].join("\n");
  },
};

/** Leaves out the operations that change tables, because the page only reads. What a compaction would gain stays. */
const READING = {
  [join(SOURCE, "engine", "changing.ts")]: "export {};",
  [join(SOURCE, "engine", "backfilling.ts")]: "export {};",
  [join(SOURCE, "engine", "upkeep.ts")]: `export { optimizeTable } from "../operations/table/optimizeTable.js";`,
};
const onlyReads = { name: "only-reads", load: (id) => READING[resolve(id)] ?? null };

/** Classes keep their names, which tell errors apart. */
const keepNames = { class: true, function: false };
const SMALLEST = { compress: { keepNames }, mangle: { keepNames }, codegen: true };

const options = {
  root: ROOT,
  configFile: false,
  publicDir: false,
  logLevel: "warn",
  oxc: { jsx },
  worker: { format: "es" },
  // Before vite's own resolution, which would put empty modules in the place of those of Node.js.
  plugins: [{ ...browserModules(SOURCE, ".ts"), enforce: "pre" }, onlyReads, includedStemmers],
  build: {
    write: false,
    // Pictures become part of the script.
    assetsInlineLimit: () => true,
    modulePreload: false,
    target: "es2022",
    license: false,
    cssCodeSplit: false,
    rolldownOptions: {
      input: join(ROOT, "standalone", "main.tsx"),
      output: { codeSplitting: false, minify: SMALLEST },
    },
  },
};

const hashOf = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** Escapes what would end or change the element of a script. Strings and patterns keep their meaning. */
const inScript = (code) => code.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\x21--");

async function writeInspectorFile() {
  const { output } = await build(options);
  const outside = output.flatMap(({ modules = {} }) => Object.keys(modules)).filter((id) => id.includes("browser-external"));
  if (outside.length > 0) throw new Error(`the page has no modules of Node.js: ${outside.join(", ")}`);
  const scripts = output.filter(({ type }) => type === "chunk");
  if (scripts.length !== 1) throw new Error(`the page has ${scripts.length} scripts instead of one`);
  for (const module of Object.keys(scripts[0].modules)) includedElsewhere.add(module);
  const script = inScript(scripts[0].code);
  const style = output.filter(({ fileName }) => fileName.endsWith(".css")).map(({ source }) => source).join("");
  const policy = [
    "default-src 'none'",
    `script-src ${hashOf(script)} 'wasm-unsafe-eval'`,
    `style-src ${hashOf(style)}`,
    "img-src data: blob:",
    "connect-src https: http:",
    "worker-src blob:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const html = [
    `<!doctype html>`,
    `<html lang="en">`,
    `<head>`,
    `<meta charset="utf-8">`,
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    `<meta name="viewport" content="width=device-width, initial-scale=1">`,
    `<meta name="color-scheme" content="light dark">`,
    `<meta name="referrer" content="no-referrer">`,
    `<title>Tiltyard</title>`,
    `<link rel="icon" href="data:,">`,
    `<style>${style}</style>`,
    `</head>`,
    `<body>`,
    `<div id="app"></div>`,
    `<noscript>The inspector needs JavaScript.</noscript>`,
    `<script type="module">${script}</script>`,
    `</body>`,
    `</html>`,
    "",
  ].join("\n");
  await writeFile(join(DIST, "inspector.html"), html);
}

/** Writes the file once, with the package's other files. */
export const inspectorFile = { name: "inspector-file", buildStart: writeInspectorFile };
