/**
 * Groups modules into the files of the package for Node.js.
 *
 * Modules that the same parts load share a file. Two files become one if that costs less than it saves: each
 * file that a part opens costs as much time as parsing {@link FILE_BYTES} more.
 */

import { readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";

/** Imports of modules by their paths; imports of types are not among them. */
const STATIC = /^(?:import|export)\b(?!\s+type\b)[^;]*?from\s+"(\.[^"]+)"|^import\s+"(\.[^"]+)"/gm;
const DYNAMIC = /\bimport\("(\.[^"]+)"\)/g;
const COMMENTS = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm;

/** Bytes whose parsing takes as long as finding, opening and linking a file. */
const FILE_BYTES = 20_000;

/** Parts that the first call of many programs loads count more than others. */
const FIRST_CALL = 8;
const isFirstCall = (name) => /^(?:engine|operations\/rows|query\/run|query\/filter)\b/.test(name);

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

/** Bytes that the parts parse less if two groups are one file; negative if they parse more. */
function gainOf(a, b, weights) {
  let gain = 0;
  for (const user of a.users) gain += weights[user] * (b.users.has(user) ? FILE_BYTES : -b.size);
  for (const user of b.users) if (!a.users.has(user)) gain -= weights[user] * a.size;
  return gain;
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
  return both;
}

/** Joins groups, the best pair first, as long as that gains and files do not import each other in a circle. */
function joined(graph, groups, weights) {
  linkGroups(graph, groups);
  const rest = new Set();
  const pairs = [];
  const add = (group) => {
    for (const other of rest) {
      const gain = gainOf(group, other, weights);
      if (gain > 0) pairs.push({ gain, pair: [group, other] });
    }
    pairs.sort((a, b) => a.gain - b.gain);
    rest.add(group);
  };
  groups.forEach(add);
  for (let best = pairs.pop(); best !== undefined; best = pairs.pop()) {
    const { pair } = best;
    if (pair.every((group) => rest.has(group)) && !wouldCircle(pair)) add(inOneFile(rest, pair));
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
  const parts = loaders.map((path) => graph.loadedWith(path));
  const weights = loaders.map((path) => (isFirstCall(relative(directory, path)) ? FIRST_CALL : 1));
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
