/** Groups the modules that are loaded together, each group in one file of a bundle. */

import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** Imports of modules by their paths; imports of types only are none. */
const IMPORTS = /^(?:import|export)\b(?!\s+type\b)[^;]*?from\s+"(\.[^"]+)"|^import\s+"(\.[^"]+)"/gm;

/** Returns the modules that importing the given ones loads, as absolute paths. */
async function loadedWith(paths, extension, replaced, found = new Set()) {
  for (const asked of paths) {
    const path = replaced.get(asked.slice(0, -extension.length)) ?? asked;
    if (found.has(path)) continue;
    found.add(path);
    const text = await readFile(path, "utf8");
    const next = [...text.matchAll(IMPORTS)].map(([, from, alone]) =>
      join(dirname(path), from ?? alone).replace(/\.js$/, extension),
    );
    await loadedWith(next, extension, replaced, found);
  }
  return found;
}

/** Decoders that few pages need. */
const DECODERS = [
  ...["fullZip", "constant", "blob"].map((name) => `file/structural/${name}`),
  "bytes/zstd/decodeFrame",
];

/** Kernels that decode pages of many values. */
const KERNELS = ["bitpackKernel", "fsstDecodeKernel"].map((name) => `file/compression/${name}`);

/** Forms of expressions that many filters do without. */
const FORMS = [
  ...["arithmeticTypes", "calls", "inList", "intervals", "typeNames"].map((name) => `expression/bind/${name}`),
  ...["casts", "likeEach", "membership"].map((name) => `expression/kernels/${name}`),
];

const KINDS = ["bitmap", "bloomFilter", "btree", "labelList", "ngram", "zonemap"].map(
  (name) => `indexes/scalar/${name}`,
);

/**
 * Modules that importing the entry points loads are one group, what the first call loads is another, and so is what
 * searches of one kind load, or changes: finding and opening a file for each set of modules that some parts share would take
 * longer than parsing what a call may not need.
 * @param directory holds the modules
 * @param extension of the modules, with its dot
 * @param replaced paths of modules that stand for others, by the paths of those without extension
 */
export async function moduleGroups(directory, extension, replaced = new Map()) {
  const moduleAt = (name) => join(directory, name + extension);
  const loaded = (...names) => loadedWith(names.map(moduleAt), extension, replaced);
  const imported = await loaded("index");
  // Node.js opens few files sooner than many. A page loads less.
  const isForBrowsers = replaced.size > 0;
  const inNode = (...names) => (isForBrowsers ? [] : names);
  const called = await loaded("engine/engine", "engine/counting", "engine/reading", ...inNode(...DECODERS));
  // Bundlers for browsers leave out what a program does not import.
  const building = isForBrowsers ? await loaded("expression/build") : new Set();
  const core = await loaded("DirectoryNamespace", "engine/engine", "engine/counting", "engine/reading");
  const shared = new Set([...imported].filter((id) => core.has(id) || !building.has(id)));
  shared.delete(moduleAt("index"));
  const [fullZip, constant, blob, zstd] = await Promise.all(DECODERS.map((name) => loaded(name)));
  const filtering = await loaded(
    "query/filter/filteredRows",
    "query/filter/filter",
    "expression/bind/like",
    "rows/takeColumns",
    ...inNode(...FORMS, ...KINDS),
  );
  const forms = await loaded(...FORMS);
  const kernelFiles = KERNELS.map(moduleAt);
  const kernels = new Set([...kernelFiles, ...(await loaded("bytes/wasm/kernel"))]);
  const ordering = await loaded("query/order/orderedRows", "query/order/order");
  const byVector = await loaded(
    "operations/rows/vectorQuery",
    "query/run/searchedRows",
    "indexes/vector/sketches/sketchStore",
  );
  const byText = await loaded("operations/rows/textQuery", "operations/rows/hybridQuery", "query/run/rankedRows", "indexes/text/textIndex");
  const ipc = await loaded("table/fragments/arrowDeletions");
  const describing = await loaded("engine/describing", "engine/examining", "jobs/jobs");
  const changing = await loaded(
    ...["altering", "changing", "creating", "inserting", "merging", "updating"].map((part) => `engine/${part}`),
    "table/cleanup/autoCleanup",
    "catalog/batches/batchRecovery",
    "catalog/rows/oldVersions",
    "io/lock/heldLock",
    "io/lock/staleLocks",
  );
  const later = (modules) => (id) => modules.has(id) && !called.has(id) && !imported.has(id);
  return [
    // Before the expressions, because a group also takes what its modules import.
    { name: "shared", priority: 10, test: (id) => shared.has(id) },
    { name: "expressions", priority: 9, test: (id) => building.has(id) },
    { name: "engine", priority: 8, test: (id) => called.has(id) && !imported.has(id) },
    { name: "kernels", priority: 7.7, test: later(kernels) },
    { name: "fullZip", priority: 7.6, test: later(fullZip) },
    { name: "constant", priority: 7.58, test: later(constant) },
    { name: "blob", priority: 7.55, test: later(blob) },
    { name: "zstd", priority: 7.5, test: later(zstd) },
    { name: "filtering", priority: 7, test: later(filtering) },
    { name: "expressionForms", priority: 6.5, test: later(forms) },
    { name: "ordering", priority: 6, test: later(ordering) },
    { name: "vectorSearch", priority: 5, test: later(byVector) },
    { name: "textSearch", priority: 4, test: later(byText) },
    { name: "ipc", priority: 3, test: later(ipc) },
    { name: "describing", priority: 2, test: later(describing) },
    { name: "changing", priority: 1, test: later(changing) },
  ];
}
