/**
 * Bundles the modules that tsc wrote into the package's entry points: one file each, and some for what is loaded with the
 * first calls, or what these share; as ES modules and as CommonJS. Small packages are included, because finding
 * hundreds of files takes longer than running them, and because jose has ES modules only, which CommonJS can't load
 * everywhere. Of zod and hono, which take 8 MB installed, the few modules that the handler uses are included. apache-arrow is not, because
 * tables are exchanged in its classes.
 */

import { join } from "node:path";
import { defineConfig } from "rolldown";
import { importsAtOnce } from "./.config/importsAtOnce.mjs";
import { inspectorFile } from "./.config/inspectorFile.mjs";
import { inspectorPage } from "./.config/inspectorPage.mjs";
import {
  chunkNames,
  common,
  DIST,
  DROP_IN,
  entriesOf,
  FURTHER_ENTRIES,
  groups,
  isOutside,
  LANCEDB,
  licences,
  moduleAt,
  named,
  plugins,
  removeOld,
  SHORTER,
  SMALL,
  SOONER,
  types,
} from "./.config/rolldown.parts.mjs";
import { browserModules, browserPaths } from "./.config/browserModules.mjs";

const licencesOfPackage = licences(DIST);

const ENTRIES = ["index", ...FURTHER_ENTRIES, ...LANCEDB];

await removeOld(DIST);

const output = (format, extension, parts, isMapped) => ({
  ...named(extension),
  format,
  dir: join(DIST, format),
  // A map is as large as its module. Those of CommonJS would say the same, and so would that of the script of the threads.
  sourcemap: isMapped && format === "esm",
  minify: isMapped ? (format === "cjs" ? SHORTER : SOONER) : SMALL,
  // A thread has one file.
  codeSplitting: isMapped && { groups: parts },
});

/** @param isMapped whether people read it: with maps, and in both forms */
const bundle = (names, further, parts, isMapped) => ({
  ...common,
  input: entriesOf(names),
  external: isOutside,
  plugins: [inspectorPage, ...plugins, ...further],
  output: [output("esm", "js", parts, isMapped), ...(isMapped ? [output("cjs", "cjs", parts, isMapped)] : [])],
});

/**
 * Bundles for browsers, which a condition of the exports names. The client shares nothing with the engine, so its chunks
 * have a directory of their own.
 * @param parts groups of modules that are loaded together
 */
const forBrowsers = (names, parts, chunkFileNames = "[name].js") => ({
  ...common,
  platform: "browser",
  input: entriesOf(names),
  external: isOutside,
  plugins: [browserModules(join(process.cwd(), DIST), ".js"), ...plugins],
  output: [
    {
      ...named("js"),
      ...{ chunkFileNames, format: "esm", dir: join(DIST, "browser") },
      ...{ minify: SMALL, codeSplitting: { groups: parts } },
    },
  ],
});

/**
 * The command, which uses the package by its own name, as any program does. Parts that a command may not need are loaded later.
 */
const command = {
  platform: "node",
  experimental: common.experimental,
  input: entriesOf(["cli/tiltyard"]),
  external: (id) => isOutside(id) || id === "tiltyard" || id.startsWith("tiltyard/"),
  plugins: [...plugins, licencesOfPackage],
  output: [
    {
      entryFileNames: "[name].js",
      chunkFileNames: "cli/[name].js",
      comments: named("js").comments,
      format: "esm",
      dir: join(DIST, "esm"),
      sourcemap: true,
      minify: SOONER,
    },
  ],
};

/** A program that does not use the drop-in may leave its files out. */
const ofPackage = [
  inspectorFile,
  licencesOfPackage,
  types(ENTRIES, true),
  chunkNames(({ name }) => name !== DROP_IN && name !== "pageFiles"),
];

/**
 * The script of the threads is a bundle by itself: it needs little of the others, and starts sooner. It is one for both forms
 * of the package, since a thread may load an ES module wherever it was started from.
 */
export default defineConfig([
  bundle(ENTRIES, ofPackage, await groups(), true),
  bundle(["tiltyardWorker"], [importsAtOnce], [], false),
  command,
  forBrowsers(["client"], [], "client/[name].js"),
  forBrowsers(
    ["index", "rest", "disks", "disks/conformance", "tiltyardWorker"],
    await groups(browserPaths(join(process.cwd(), DIST), ".js")),
  ),
]);
