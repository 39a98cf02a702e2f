/**
 * Writes the package `tiltyard-lancedb` to build/: the drop-in as the root entry, so that an alias or an override of npm puts
 * it in the place of `@lancedb/lancedb`, which they can't do with a subpath. The engine is included with its own release of
 * apache-arrow, so that the package depends on nothing. The drop-in's modules import the program's copy of apache-arrow,
 * because the program gets its classes.
 */

import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { defineConfig } from "rolldown";
import { importsAtOnce } from "./importsAtOnce.mjs";
import {
  chunkNames,
  common,
  entriesOf,
  groups,
  licences,
  manifest,
  moduleAt,
  named,
  peerDependencies,
  plugins,
  removeOld,
  SMALL,
  types,
} from "./rolldown.parts.mjs";

const TARGET = join("build", "tiltyard-lancedb");

/** Release of the package. The first two numbers are those of the LanceDB release whose API it has, so that ranges match. */
const VERSION = "0.39.0";

/** Entries of LanceDB's package, and the modules that hold them. */
const EXPORTS = {
  ".": "lancedb/index",
  "./embedding": "lancedb/embedding/index",
  "./embedding/openai": "lancedb/embedding/openai",
  "./embedding/transformers": "lancedb/embedding/transformers",
};

const ENTRIES = Object.values(EXPORTS);

const declared = (kind, module) => `./dist/${kind}/types/${module}.d.ts`;
const entry = (kind, extension, module) => ({
  types: declared(kind, module),
  default: `./dist/${kind}/${module}.${extension}`,
});

/** A page of docs/ for a place without the others: its links lead to the repository. */
const withWholeLinks = (page) =>
  page.replace(/(?<=\]\()(?!https?:|#)[^)]+/g, (path) => {
    const docs = `${manifest.homepage.replace(/#.*$/, "")}/blob/main/docs/`;
    return new URL(path, docs).href;
  });

/** Writes package.json, the licence and the README. */
const packageFiles = {
  name: "package-files",
  async writeBundle({ format }) {
    if (format !== "es") return;
    const peers = { "apache-arrow": ">=15 <22", ...peerDependencies };
    const { license, homepage, repository, bugs, type, sideEffects, engines } = manifest;
    const text = {
      name: "tiltyard-lancedb",
      version: VERSION,
      description: "The API of @lancedb/lancedb in pure TypeScript, without a native binary",
      ...{ license, homepage, repository, bugs, type, sideEffects, engines },
      keywords: ["lancedb", "lance", "vector", "database", "arrow"],
      exports: {
        ...Object.fromEntries(
          Object.entries(EXPORTS).map(([name, module]) => [
            name,
            { import: entry("esm", "js", module), require: entry("cjs", "cjs", module) },
          ]),
        ),
        "./package.json": "./package.json",
      },
      main: `./dist/cjs/${EXPORTS["."]}.cjs`,
      types: declared("cjs", EXPORTS["."]),
      typesVersions: {
        "*": Object.fromEntries(
          Object.entries(EXPORTS)
            .filter(([name]) => name !== ".")
            .map(([name, module]) => [name.slice(2), [declared("cjs", module)]]),
        ),
      },
      files: ["dist"],
      peerDependencies: peers,
      peerDependenciesMeta: Object.fromEntries(
        Object.keys(peerDependencies).map((name) => [name, { optional: true }]),
      ),
    };
    await writeFile(join(TARGET, "package.json"), `${JSON.stringify(text, null, 2)}\n`);
    await copyFile("LICENSE", join(TARGET, "LICENSE"));
    const readme = await readFile(join("docs", "lancedb.md"), "utf8");
    await writeFile(join(TARGET, "README.md"), withWholeLinks(readme));
  },
};

/** Mark of a module's second instance, which makes objects of the program's copy of apache-arrow. */
const PROGRAM = "?program";

/** Modules that have a second instance: those that make batches, schemas and types. */
const CONVERTING = /[\\/]arrow[\\/](?:exchange|types)[\\/][^\\/]+\.js$/;

/**
 * Gives the engine the included copy of apache-arrow, and the drop-in the program's copy. The engine's modules that convert between
 * columns and Arrow are bundled twice. The drop-in imports the second instance, which makes objects of the program's copy.
 */
const arrowCopies = {
  name: "arrow-copies",
  resolveId(source, importer) {
    const isOfProgram = importer?.startsWith(moduleAt("lancedb")) || importer?.endsWith(PROGRAM);
    if (!isOfProgram) return null;
    if (source === "apache-arrow") return { id: source, external: true };
    if (!source.startsWith(".")) return null;
    const path = join(dirname(importer.replace(PROGRAM, "")), source);
    return CONVERTING.test(path) ? path + PROGRAM : path;
  },
  async load(id) {
    if (!id.endsWith(PROGRAM)) return null;
    const text = await readFile(id.slice(0, -PROGRAM.length), "utf8");
    return { code: text.replace(/^import \{([^}]*)\} from "apache-arrow";/m, lateNames), moduleType: "js" };
  },
};

/** Turns imported names into reads of the module's object: older releases of apache-arrow lack some names. */
function lateNames(_, list) {
  const names = list.split(",").map((each) => each.trim().split(" as ")).filter(([name]) => name !== "");
  const declared = names.map(([name, local = name]) => `const ${local} = Reflect.get(programArrow, "${name}");`);
  return [`import * as programArrow from "apache-arrow";`, ...declared].join(" ");
}

const isOutside = (id) =>
  id.startsWith("node:") || Object.keys(peerDependencies).some((name) => id === name || id.startsWith(`${name}/`));

const bundle = (names, further, parts, forms) => ({
  ...common,
  input: entriesOf(names),
  external: isOutside,
  plugins: [arrowCopies, ...plugins, ...further],
  output: forms.map(([format, extension]) => ({
    ...named(extension),
    format,
    dir: join(TARGET, "dist", format),
    minify: SMALL,
    codeSplitting: { groups: parts },
  })),
});

await removeOld(join(TARGET, "dist"));
await mkdir(join(TARGET, "dist"), { recursive: true });

export default defineConfig([
  bundle(
    ENTRIES,
    [licences(join(TARGET, "dist")), types(ENTRIES, false), chunkNames(() => true), packageFiles],
    await groups(),
    [
      ["esm", "js"],
      ["cjs", "cjs"],
    ],
  ),
  bundle(["tiltyardWorker"], [importsAtOnce], [], [["esm", "js"]]),
]);
