/** Options and plugins that the bundles of both packages share, and the groups of modules that are loaded together. */

import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { builtinModules } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";
import { decode, encode } from "@jridgewell/sourcemap-codec";
import { moduleGroups } from "./moduleGroups.mjs";
import { nodeGroups } from "./nodeGroups.mjs";

/** Directory that tsc wrote the modules to. */
export const DIST = "dist";

/** What else the source imports is among the development dependencies, and included. */
export const { dependencies, peerDependencies, ...manifest } = JSON.parse(await readFile("package.json", "utf8"));
const outside = Object.keys({ ...dependencies, ...peerDependencies });

export const isOutside = (id) =>
  id.startsWith("node:") || outside.some((name) => id === name || id.startsWith(`${name}/`));

/** Modules of the drop-in for LanceDB: each is an entry, as LanceDB's package has a file for each. */
export const LANCEDB = (await readdir(join(DIST, "lancedb"), { recursive: true }))
  .filter((name) => name.endsWith(".js"))
  .map((name) => `lancedb/${name.replaceAll("\\", "/").slice(0, -".js".length)}`)
  .sort();

/** The chunk that holds the drop-in's modules. */
export const DROP_IN = "dropIn";

export const moduleAt = (name) => join(process.cwd(), DIST, name);

/** Entry points besides `index` and those of the drop-in. */
export const FURTHER_ENTRIES = ["rest", "ray", "files", "client", "disks", "disks/conformance", "inspector"];

/** Groups of the modules that tsc wrote. @param replaced for browsers, as for `moduleGroups` */
export const groups = async (replaced) => [
  ...(replaced === undefined
    ? await nodeGroups(join(process.cwd(), DIST), [...FURTHER_ENTRIES, "lancedb/index"])
    : await moduleGroups(join(process.cwd(), DIST), ".js", replaced)),
  // One file instead of one for each set of entries that share modules.
  { name: DROP_IN, priority: 0, test: (id) => id.startsWith(moduleAt("lancedb")) },
];

// Names of classes tell errors apart, and those of functions are what a stack is read by. Private members are shortened all
// the same.
const compress = { keepNames: { class: true, function: true } };
const mangle = { keepNames: true };

/** The script of the threads is nobody's to read. */
export const SMALL = { compress, mangle, codegen: true };

/** Short, because the first call waits until it is parsed. Lines stay; maps lead to those of the sources. */
export const SOONER = { compress, mangle, codegen: false };

/** CommonJS has no maps: names, too, stay what people can read. */
export const SHORTER = { compress, mangle: false, codegen: false };

/** Modules that the package includes by other ways than these bundles. */
export const includedElsewhere = new Set();

/** Writes the licences of the packages that bundles include to a file of a directory. Bundles may share the plugin. */
export const licences = (directoryOfTexts, packages = new Set()) => ({
  name: "licences",
  async writeBundle(_, bundle) {
    const ids = Object.values(bundle).flatMap(({ modules = {} }) => Object.keys(modules));
    for (const id of [...ids, ...includedElsewhere]) {
      const found = /^(.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/.exec(id);
      if (found !== null) packages.add(found[1].replace(/^\0/, ""));
    }
    const texts = [];
    for (const directory of [...packages].sort()) {
      const { name, version, license } = JSON.parse(await readFile(join(directory, "package.json"), "utf8"));
      const file = (await readdir(directory)).find((entry) => /^licen[cs]e/i.test(entry));
      const text = file === undefined ? license : await readFile(join(directory, file), "utf8");
      texts.push(`${name} ${version}\n\n${text.trim()}\n`);
    }
    await writeFile(join(directoryOfTexts, "third-party-licences.txt"), texts.join(`\n${"-".repeat(80)}\n\n`));
  },
});

/** The declarations that those of the entry points lead to, relative to the directory of all. */
async function publicDeclarations(entries) {
  const found = new Map();
  const visit = async (path) => {
    if (found.has(path)) return;
    const text = await readFile(join(DIST, path), "utf8");
    found.set(path, text);
    for (const [, specifier] of text.matchAll(/\b(?:from|import)\s*\(?\s*"(\.[^"]+)\.js"/g)) {
      await visit(join(dirname(path), `${specifier}.d.ts`));
    }
  };
  for (const name of entries) await visit(`${name}.d.ts`);
  return found;
}

/**
 * Writes the public declarations beside the modules of a kind: compilers take them for those of `import` or of `require` by
 * the nearest package.json. Those of ES modules have maps, which lead to the sources; for CommonJS these would be the same again.
 */
export const types = (entries, isMapped) => ({
  name: "types",
  async writeBundle({ format, dir }) {
    const target = join(dir, "types");
    await rm(target, { recursive: true, force: true });
    for (const [path, text] of await publicDeclarations(entries)) {
      const file = join(target, path);
      await mkdir(dirname(file), { recursive: true });
      if (format === "cjs" || !isMapped) {
        await writeFile(file, text.replace(/^\/\/# sourceMappingURL=.*\n?/m, ""));
        continue;
      }
      await writeFile(file, text);
      const map = JSON.parse(await readFile(join(DIST, `${path}.map`), "utf8"));
      const sources = map.sources.map((source) => join("../..", source).replaceAll("\\", "/"));
      await writeFile(`${file}.map`, JSON.stringify({ ...map, sources }));
    }
    const type = format === "cjs" ? "commonjs" : "module";
    await writeFile(join(target, "package.json"), `${JSON.stringify({ type })}\n`);
  },
});

/**
 * Escapes what is not ASCII, all of which stands in strings and patterns: engines keep a text of one byte per character
 * then, and read it faster. A line's map is off behind an escaped character.
 */
const asciiOnly = {
  name: "ascii-only",
  generateBundle(_, bundle) {
    const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
    for (const part of Object.values(bundle)) {
      if (part.type === "chunk") part.code = part.code.replace(/[^\0-\x7f]/g, escaped);
    }
  },
};

/**
 * Puts the WebAssembly of the stemmers into their module, as compressed text: the package would look for it beside itself, and wait for
 * it when it is imported, which modules of CommonJS can't.
 */
const embeddedStemmers = {
  name: "embedded-stemmers",
  async load(id) {
    const [, directory] = /^(.*[\\/]multilingual-stemmer[\\/]dist)[\\/]wasm\.js$/.exec(id) ?? [];
    if (directory === undefined) return null;
    const bytes = brotliCompressSync(await readFile(join(directory, "browser", "index_bg.wasm")));
    return [
      `import { Buffer } from "node:buffer";`,
      `import zlib from "node:zlib";`,
      `import { initSync, Languages, Stemmer } from "./browser/index.js";`,
      `initSync({ module: zlib.brotliDecompressSync(Buffer.from("${bytes.toString("base64")}", "base64")) });`,
      "export { Languages, Stemmer };",
    ].join("\n");
  },
};

/**
 * Takes what is imported of apache-arrow from the modules that its entry point takes it from: these are the same ones for
 * whoever imports the entry point, and a program that reads and writes no IPC need not wait until all of them are loaded.
 */
async function arrowModules() {
  const directory = dirname(fileURLToPath(import.meta.resolve("apache-arrow")));
  const entry = await readFile(join(directory, "Arrow.mjs"), "utf8");
  const modules = new Map();
  for (const [, names, module] of entry.matchAll(/^export \{([^}]*)\} from '\.\/([^']+)\.mjs';/gm)) {
    for (const name of names.split(",")) modules.set(name.trim(), module);
  }
  const moduleOf = (name) => {
    const module = modules.get(name);
    if (module === undefined) throw new Error(`apache-arrow: no module exports ${name}`);
    return module;
  };
  return {
    name: "arrow-modules",
    transform(code, id) {
      // The drop-in exports all of apache-arrow in any case.
      if (!code.includes('"apache-arrow"') || id.startsWith(moduleAt("lancedb")) || id.includes("?")) return null;
      const changed = code.replace(/^import \{([^}]*)\} from "apache-arrow";/gm, (_, list) => {
        const names = list.split(",").map((name) => name.trim()).filter((name) => name !== "");
        return names
          .map((name) => `import { ${name} } from "apache-arrow/${moduleOf(name.split(" as ")[0])}";`)
          .join(" ");
      });
      return { code: changed, map: null };
    },
  };
}

/** Tells the bundle the names of its chunks, and what each imports (platform/modules). */
export const chunkNames = (isLoadedLater) => ({
  name: "chunk-names",
  generateBundle(_, bundle) {
    const parts = Object.values(bundle).filter(({ type }) => type === "chunk");
    // Who deploys only the files that a program needs may leave an entry point out.
    const loadedLater = parts.filter((part) => !part.isEntry && isLoadedLater(part));
    const nameOf = (fileName) => fileName.replace(/\.c?js$/, "");
    const isFile = (name) => name in bundle || outside.some((each) => name === each || name.startsWith(`${each}/`));
    const names = loadedLater
      .map(({ fileName, imports }) => [fileName, ...imports.filter(isFile)].map(nameOf).join(","))
      .join(" ");
    const text = /(["'`])tiltyard chunks\1/;
    const holders = parts.filter(({ code }) => text.test(code));
    if (holders.length !== 1) throw new Error("exactly one module must tell the names of the chunks");
    const [holder] = holders;
    holder.code = holder.code.replace(text, JSON.stringify(names));
  },
});

const BUILT_IN = "\0built-in:";

/**
 * Turns what included packages require of Node.js into imports. A function `require` made at run time would need the URL
 * of the module, which there is none of in a bundle of somebody else's, and is nothing that bundlers can see through.
 */
const staticImports = {
  name: "static-imports",
  resolveId(source, _, { kind }) {
    const name = source.replace(/^node:/, "");
    return kind === "require-call" && builtinModules.includes(name) ? `${BUILT_IN}${name}` : null;
  },
  load(id) {
    if (!id.startsWith(BUILT_IN)) return null;
    return `import value from "node:${id.slice(BUILT_IN.length)}";\nexport { value as "module.exports" };`;
  },
};

/** Leaves out what a map tells of the columns of a line: where in a bundle another line of a source begins is enough to find it. */
function linesOnly(mappings) {
  const lines = decode(mappings);
  for (const [at, segments] of lines.entries()) {
    const placed = segments.filter(({ length }) => length > 1);
    lines[at] = placed
      .filter(([, source, line], place) => source !== placed[place - 1]?.[1] || line !== placed[place - 1]?.[2])
      .map((segment) => segment.slice(0, 4));
  }
  return encode(lines);
}

/**
 * Maps of the bundles lead to the lines of the TypeScript sources, which the package has in `src/`; that neither their text nor
 * the columns are in the maps again saves more than a third of the package.
 */
const mapsToSources = {
  name: "maps-to-sources",
  async load(id) {
    if (!id.startsWith(join(process.cwd(), DIST)) || !id.endsWith(".js")) return null;
    return { code: await readFile(id, "utf8"), map: JSON.parse(await readFile(`${id}.map`, "utf8")) };
  },
  async writeBundle({ dir }, bundle) {
    for (const name of Object.keys(bundle).filter((each) => each.endsWith(".map"))) {
      const { sourcesContent, names, ...map } = JSON.parse(await readFile(join(dir, name), "utf8"));
      await writeFile(
        join(dir, name),
        JSON.stringify({ ...map, names: [], mappings: linesOnly(map.mappings) }),
      );
    }
  },
};

const arrow = await arrowModules();

/** Included packages wait by the timers that the engine waits by, whatever a test runner puts in their place. */
const inject = Object.fromEntries(
  ["setTimeout", "clearTimeout", "setInterval", "clearInterval"].map((name) => [
    name,
    [moduleAt("async/timers.js"), name],
  ]),
);

/** Options of every bundle. */
export const common = {
  platform: "node",
  // Else a comment before each module tells where it is from, as maps do.
  experimental: { attachDebugInfo: "none" },
  transform: { inject },
};

/** Plugins of every bundle. */
export const plugins = [staticImports, embeddedStemmers, mapsToSources, arrow, asciiOnly];

/** Options of every output. */
export const named = (extension) => ({
  entryFileNames: `[name].${extension}`,
  chunkFileNames: `[name].${extension}`,
  minifyInternalExports: false,
  comments: { legal: true, annotation: true, jsdoc: false },
});

/** Absolute paths of the modules that are the entries of a bundle. */
export const entriesOf = (names) => Object.fromEntries(names.map((name) => [name, join(DIST, `${name}.js`)]));

/** What an earlier build left would be packed, too. */
export async function removeOld(directory) {
  for (const kind of ["esm", "cjs", "browser"]) await rm(join(directory, kind), { recursive: true, force: true });
}
