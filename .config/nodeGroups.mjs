/**
 * Groups modules into the files of the package for Node.js.
 *
 * A part is what one import at run time loads, or what a whole first call does ({@link FIRST_CALLS}). Modules
 * that the same parts load share a file. Two files become one if that costs less than it saves: each file that
 * a part opens costs as much time as parsing {@link FILE_BYTES} more, and so does each that the file imports.
 */

import { readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";

/** Imports of modules by their paths; imports of types are not among them. */
const STATIC = /^(?:import|export)\b(?!\s+type\b)[^;]*?from\s+"(\.[^"]+)"|^import\s+"(\.[^"]+)"/gm;
const DYNAMIC = /\bimport\("(\.[^"]+)"\)/g;
const COMMENTS = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm;

/** Bytes whose parsing takes as long as finding, opening and linking a file. */
const FILE_BYTES = 20_000;

/**
 * Parts that one first call loads, by the call. It loads them one after another, so what several of them share
 * should come in few files.
 */
const FIRST_CALLS = (() => {
  const page = ["file/structural/fullZip", "file/compression/bitpackKernel", "file/compression/fsstDecodeKernel"];
  const filter = ["query/filter/filter", "expression/expression", "query/indexes/filterLookups", ...page];
  const query = ["engine/reading", "query/filter/filteredRows", ...filter];
  const commit = ["table/commit/commit", "table/versions/tableLock", "rows/writeColumns", ...page];
  const change = ["query/filter/filteredRows", ...filter, ...commit, "table/fragments/deletions"];
  const texts = ["file/pages/encodeVariable", "bytes/zstd/encodeFrame"];
  const index = ["engine/indexing", "jobs/jobs", ...commit, "table/fragments/deletions"];
  return {
    count: ["engine/counting"],
    countByFilter: ["engine/counting", ...filter],
    firstRows: ["engine/reading", ...page],
    order: ["engine/reading", "query/order/order", "query/order/orderedRows", "query/filter/filteredRows", ...page],
    filter: query,
    numberIndex: [...query, "indexes/scalar/btree", "file/structural/constant"],
    wordIndex: [...query, "indexes/scalar/bitmap"],
    labelIndex: [...query, "indexes/scalar/labelList", "expression/kernels/membership"],
    vectorSearch: [...query, "operations/rows/vectorQuery", "query/run/searchedRows", "indexes/vector/ivf/ivfIndex"],
    textSearch: [...query, "operations/rows/textQuery", "query/run/rankedRows", "indexes/text/textIndex"],
    create: ["engine/creating", "arrow/objects/objectBatches", ...commit, ...texts],
    append: ["engine/inserting", ...commit],
    delete: ["engine/updating", ...change],
    update: ["engine/updating", "expression/bind/arithmeticTypes", ...change, ...texts],
    merge: ["engine/merging", ...change],
    optimize: ["engine/upkeep", "table/cleanup/cleanup", "catalog/rows/catalogTable", ...change],
    buildNumberIndex: [...index, "indexes/scalar/btree"],
    buildTextIndex: [...index, "indexes/text/textIndex", ...texts],
    buildVectorIndex: [...index, "indexes/vector/ivf/buildIvf"],
  };
})();
/** How much a first call counts beside a part that any call may load. */
const FIRST_CALL = 8;

/** Names from apache-arrow that lead to 50 of its files and more, beside those of its types. */
const HEAVY_ARROW = /\b(?:makeData|Vector|RecordBatch\w*|Table|Message|compressionRegistry)\b/;
const HEAVY_ARROW_FILES = 50;

/** Reads modules, and what they import, as absolute paths. */
class Graph {
  #modules = new Map();

  async read(path) {
    if (this.#modules.has(path)) return;
    this.#modules.set(path, null);
    const text = (await readFile(path, "utf8")).replace(COMMENTS, "");
    const pathsOf = (pattern) => [...text.matchAll(pattern)].map(([, a, b]) => join(dirname(path), a ?? b));
    const arrow = [...text.matchAll(/^import \{([^}]*)\} from "apache-arrow"/gm)].some(([, names]) =>
      HEAVY_ARROW.test(names),
    );
    const size = text.length + (arrow ? HEAVY_ARROW_FILES * FILE_BYTES : 0);
    const module = { size, imports: pathsOf(STATIC), loadedLater: pathsOf(DYNAMIC) };
    this.#modules.set(path, module);
    for (const next of [...module.imports, ...module.loadedLater]) await this.read(next);
  }

  get paths() {
    return [...this.#modules.keys()];
  }

  of(path) {
    return this.#modules.get(path);
  }

  /** Returns the modules that importing one loads at once. */
  loadedWith(path, loaded = new Set()) {
    if (loaded.has(path)) return loaded;
    loaded.add(path);
    for (const next of this.of(path).imports) this.loadedWith(next, loaded);
    return loaded;
  }
}

/** @throws Error for a path that no module loads */
function loadedWithAll(graph, paths) {
  const loaded = new Set();
  for (const path of paths) {
    if (graph.of(path) === undefined) throw new Error(`${path} is not loaded by any module`);
    graph.loadedWith(path, loaded);
  }
  return loaded;
}

/** Returns groups of modules that exactly the same parts load. @param parts sets of modules */
function modulesByParts(graph, parts, taken) {
  const groups = new Map();
  for (const path of graph.paths) {
    if (taken.has(path)) continue;
    const users = parts.flatMap((part, index) => (part.has(path) ? [index] : []));
    if (users.length === 0) continue;
    const key = users.join();
    const group = groups.get(key) ?? { users: new Set(users), paths: new Set(), size: 0 };
    group.paths.add(path);
    group.size += graph.of(path).size;
    groups.set(key, group);
  }
  return [...groups.values()];
}

/** Returns the groups whose files load with a group's file. */
function importedBy(group) {
  const imported = new Set();
  const add = (next) => {
    if (imported.has(next)) return;
    imported.add(next);
    next.imports.forEach(add);
  };
  group.imports.forEach(add);
  return imported;
}

/** What users of one group pay if its file holds another group, too: that group, and what its file imports. */
function costOf(added, users, weights) {
  let cost = 0;
  for (const user of users) if (!added.users.has(user)) cost += weights[user] * added.size;
  for (const { users: own, size } of importedBy(added)) {
    for (const user of users) if (!own.has(user)) cost += weights[user] * (size + FILE_BYTES);
  }
  return cost;
}

/** Bytes that the parts parse less if two groups are one file; negative if they parse more. */
function gainOf(a, b, weights) {
  let gain = 0;
  for (const user of a.users) if (b.users.has(user)) gain += weights[user] * FILE_BYTES;
  return gain - costOf(a, b.users, weights) - costOf(b, a.users, weights);
}

/** Sets the groups that each group imports directly. */
function linkGroups(graph, groups) {
  const groupOf = new Map(groups.flatMap((group) => [...group.paths].map((path) => [path, group])));
  for (const group of groups) {
    const imported = [...group.paths].flatMap((path) => graph.of(path).imports.map((next) => groupOf.get(next)));
    group.imports = new Set(imported.filter((next) => next !== undefined && next !== group));
  }
}

/** True if one file of two groups would import itself over another file. */
function wouldCircle(pair) {
  const seen = new Set(pair);
  const waiting = pair.flatMap(({ imports }) => [...imports]);
  for (let group = waiting.pop(); group !== undefined; group = waiting.pop()) {
    if (seen.has(group)) continue;
    seen.add(group);
    if (pair.some((each) => group.imports.has(each))) return true;
    waiting.push(...group.imports);
  }
  return false;
}

/** Puts one group in the place of two. */
function inOneFile(groups, pair) {
  const [a, b] = pair;
  const both = {
    users: new Set([...a.users, ...b.users]),
    paths: new Set([...a.paths, ...b.paths]),
    size: a.size + b.size,
    imports: new Set([...a.imports, ...b.imports]),
  };
  for (const group of pair) {
    both.imports.delete(group);
    groups.delete(group);
  }
  for (const { imports } of groups) {
    if (pair.filter((group) => imports.delete(group)).length > 0) imports.add(both);
  }
  for (const { users } of importedBy(both)) for (const user of both.users) users.add(user);
  return both;
}

/** Joins groups, the best pair first, as long as that gains and files do not import each other in a circle. */
function joined(graph, groups, weights) {
  linkGroups(graph, groups);
  const rest = new Set();
  const pairs = [];
  const addPair = (pair) => {
    const gain = gainOf(...pair, weights);
    if (gain > 0) pairs.push({ gain, pair });
  };
  const add = (group) => {
    for (const other of rest) addPair([group, other]);
    rest.add(group);
  };
  groups.forEach(add);
  while (pairs.length > 0) {
    pairs.sort((a, b) => a.gain - b.gain);
    const { gain, pair } = pairs.pop();
    if (!pair.every((group) => rest.has(group)) || wouldCircle(pair)) continue;
    // Files that were joined since may have more users.
    if (gainOf(...pair, weights) < gain) addPair(pair);
    else add(inOneFile(rest, pair));
  }
  return [...rest];
}

/** Sorts groups so that each comes after those that it imports: a group of the bundler takes what its modules import. */
function importedFirst(groups) {
  const sorted = new Set();
  const add = (group) => {
    if (sorted.has(group)) return;
    for (const next of group.imports) add(next);
    sorted.add(group);
  };
  for (const group of groups) add(group);
  return [...sorted];
}

/** Name of the largest module of a group, which nearly all groups have for themselves. */
function nameOf(graph, group, names) {
  const [path] = [...group.paths].sort((a, b) => graph.of(b).size - graph.of(a).size);
  const name = /([^\\/]+)\.js$/.exec(path)[1];
  let free = name;
  for (let count = 2; names.has(free); count++) free = `${name}${count}`;
  names.add(free);
  return free;
}

/**
 * Returns the groups of the bundles for Node.js.
 * @param directory holds the modules
 * @param entries names of the entry points besides `index`; one in a folder that is a bundle by itself has no
 *   modules in the groups, but counts as a part
 */
export async function nodeGroups(directory, entries) {
  const graph = new Graph();
  const moduleAt = (name) => join(directory, `${name}.js`);
  const index = moduleAt("index");
  for (const name of ["index", ...entries]) await graph.read(moduleAt(name));
  const imported = graph.loadedWith(index);
  const called = graph.loadedWith(moduleAt("engine/engine"));
  const isGrouped = (path) => !/^(?:\.\.|lancedb\b|inspector\b|cli\b)/.test(relative(directory, path));
  const apart = [...entries.map(moduleAt), ...graph.paths.filter((path) => !isGrouped(path))];
  const taken = new Set([...imported, ...called, ...apart]);
  const roots = new Set(graph.paths.filter(isGrouped).flatMap((path) => graph.of(path).loadedLater));
  const loaders = [...entries.map(moduleAt), ...roots];
  const firstCalls = Object.values(FIRST_CALLS).map((names) => loadedWithAll(graph, names.map(moduleAt)));
  const parts = [...loaders.map((path) => graph.loadedWith(path)), ...firstCalls];
  const weights = [...loaders.map(() => 1), ...firstCalls.map(() => FIRST_CALL)];
  // The bundler puts modules of one entry point only into its file.
  const isShared = ({ users }) => users.size > 1 || Math.min(...users) >= entries.length;
  const groups = joined(graph, modulesByParts(graph, parts, taken).filter(isShared), weights);
  const names = new Set(["index", "shared", "engine", ...entries]);
  const named = importedFirst(groups).map((group) => ({
    name: nameOf(graph, group, names),
    test: (id) => group.paths.has(id),
  }));
  return [
    { name: "shared", test: (id) => imported.has(id) && id !== index },
    { name: "engine", test: (id) => called.has(id) && !imported.has(id) },
    ...named,
  ].map((group, place, { length }) => ({ ...group, priority: length - place }));
}
