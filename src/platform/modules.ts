/**
 * Loads modules when they are first needed. Node.js never retries an ES module whose import failed, for
 * example with "too many open files": that part of the engine would fail until the process restarts. An
 * import therefore starts only after proof that it can succeed: the package's files can be read, and enough
 * descriptors are free. If the proof fails, the next call tries again.
 */

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import timers from "node:timers";
import { fileURLToPath } from "node:url";

/**
 * Free descriptors that an import needs. CommonJS opens one file at a time and forgets failures. `first` also
 * holds for an import of unknown modules; later imports share descriptors with running calls.
 */
const FREE_DESCRIPTORS = { first: 4, later: 1 };

/** Maximum number of files that an import of another package opens at once: apache-arrow's are 26. */
const FILES_OF_PACKAGES = 32;

/**
 * The build writes the package's chunks here, separated by spaces. Each chunk is its name without extension;
 * commas follow, with the chunks and the modules of other packages that it imports.
 */
const CHUNKS = "tiltyard chunks";

const importsOf: ReadonlyMap<string, readonly string[]> = new Map(
  CHUNKS.split(" ").map((text) => {
    const [name, ...imports] = text.split(",");
    return [name, imports];
  }),
);

/** Makes paths of chunks of this build; null if this module is not part of a build of the package. */
let chunkPath: ((name: string) => string) | null | undefined;

/** Path of this module; null in another bundler's output that has no URL. */
function ownFile(): string | null {
  const url: string | undefined = import.meta.url;
  return url?.startsWith("file:") === true ? fileURLToPath(url) : null;
}

/**
 * Returns a function that makes paths of chunks, and notes what was loaded with this module. A host's bundler
 * may have put this module among files of other names: null then.
 */
function locateChunks(): ((name: string) => string) | null {
  const [, directory, chunk, extension] = /^(.*[\\/])([^\\/]+)(\.c?js)$/.exec(ownFile() ?? "") ?? [];
  if (directory === undefined || chunk === undefined || !importsOf.has(chunk)) return null;
  for (const name of missingNames(chunk)) loadedNames.add(name);
  return (name) => `${directory}${name}${extension}`;
}

/** True if the files beside this module are the package's, not a bundler's output with some equal names. */
function isPackaged(): boolean {
  try {
    // Resolved at run time: bundlers would look for the file of a literal path.
    const packageFile = path.resolve(ownFile() ?? "", "..", "..", "..", "package.json");
    const { name } = JSON.parse(fs.readFileSync(packageFile, "utf8")) as { name?: unknown };
    return name === "tiltyard" || name === "tiltyard-lancedb";
  } catch (error) {
    if (isShortage(error)) throw error;
    // The package's package.json is not where the package has it.
    return false;
  }
}

const codeOf = (error: unknown): unknown => (error as { readonly code?: unknown } | null)?.code;
const isShortage = (error: unknown): boolean =>
  ["EMFILE", "ENFILE", "ENOMEM", "EIO", "EAGAIN"].includes(String(codeOf(error)));

/** Names of loaded chunks and of modules of other packages that they import. */
const loadedNames = new Set<string>();

/** Returns the chunk that a function loads; undefined if it is none of the build's. */
function chunkOf(load: string): string | undefined {
  const name = /\b(?:import|require)\(["'`]\.\/([^"'`]+)\.c?js["'`]\)/.exec(load)?.[1];
  return name !== undefined && importsOf.has(name) ? name : undefined;
}

/** Returns the names of a chunk and of all that it imports, without those already loaded. */
function missingNames(chunk: string, missing = new Set<string>()): ReadonlySet<string> {
  if (loadedNames.has(chunk) || missing.has(chunk)) return missing;
  missing.add(chunk);
  for (const name of importsOf.get(chunk) ?? []) missingNames(name, missing);
  return missing;
}

/** Files that an import opens. */
interface OpenedFiles {
  /** Chunks, each of which must be readable. */
  readonly paths: readonly string[];
  /** Descriptors to have free: an ES module's imports are opened together, and none is tried again. */
  readonly descriptors: number;
}

function filesOpened(load: string): OpenedFiles {
  if (chunkPath === undefined) chunkPath = locateChunks();
  const chunk = chunkOf(load);
  if (chunkPath === null || chunk === undefined) {
    return { paths: [], descriptors: loadedBy.size === 0 ? FREE_DESCRIPTORS.first : FREE_DESCRIPTORS.later };
  }
  const missing = [...missingNames(chunk)];
  const chunks = missing.filter((name) => importsOf.has(name));
  const ofPackages = chunks.length < missing.length ? FILES_OF_PACKAGES : 0;
  return { paths: chunks.map(chunkPath), descriptors: chunks.length + ofPackages };
}

/** @throws the system's error if a file of the package can't be read, or if too few descriptors are free */
function proveLoadable({ paths, descriptors }: OpenedFiles): void {
  const first = new Uint8Array(1);
  const opened: number[] = [];
  try {
    for (const path of paths) {
      const descriptor = fs.openSync(path, "r");
      opened.push(descriptor);
      fs.readSync(descriptor, first, 0, 1, 0);
    }
    while (opened.length < descriptors) opened.push(fs.openSync(paths[0] ?? os.devNull, "r"));
  } catch (error) {
    // The host may load modules in another way if the layout is not the package's.
    if (isShortage(error) || (paths.length > 0 && isPackaged())) throw error;
  } finally {
    for (const descriptor of opened) fs.closeSync(descriptor);
  }
}

/** Settles when earlier imports have ended, because descriptors were proven free for one only. */
let lastImport: Promise<unknown> = Promise.resolve();

/** Source texts of the functions whose modules are loaded: importing one of them again opens no file. */
const loadedBy = new Set<string>();

/** Milliseconds for which an import waits for other calls to free descriptors. */
const MAX_WAIT_MS = 1000;
const PAUSE_MS = 5;
/** The real timer: a test runner may put a fake in its place. */
const pause = timers.setTimeout;
const relievers = new Set<() => void>();

/** Registers a function that closes idle files when an import finds too few descriptors. */
export const onShortageOfDescriptors = (relieve: () => void): void => void relievers.add(relieve);

async function waitUntilLoadable(wanted: OpenedFiles): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += PAUSE_MS) {
    try {
      return proveLoadable(wanted);
    } catch (error) {
      if (!isShortage(error) || waitedMs >= MAX_WAIT_MS) throw error;
    }
    for (const relieve of relievers) relieve();
    await new Promise<void>((resolve) => void pause(resolve, PAUSE_MS));
  }
}

/**
 * Loads a module. If the import cannot succeed now, the call fails and a later call tries again.
 * @param load imports the module
 */
export function importNodeModule<Module>(load: () => Promise<Module>): Promise<Module> {
  const text = String(load);
  if (loadedBy.has(text)) return load();
  const loaded = lastImport.then(async () => {
    await waitUntilLoadable(filesOpened(text));
    const module = await load();
    loadedBy.add(text);
    const chunk = chunkOf(text);
    if (chunk !== undefined) for (const name of missingNames(chunk)) loadedNames.add(name);
    return module;
  });
  lastImport = loaded.catch(() => undefined);
  return loaded;
}
