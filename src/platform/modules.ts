/**
 * Modules that are loaded when they are first needed. Node.js remembers for ever that an ES module could not be loaded, so a
 * part of the engine whose first import meets "too many open files" would fail until the process is started again. The
 * import is therefore begun only after everything that it needs has been proven: the files of the package can be opened
 * and read, and enough descriptors are free. A failed proof leaves nothing behind, and the next call tries again.
 */

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import timers from "node:timers";
import { fileURLToPath } from "node:url";

/**
 * Descriptors that have to be free before an import of unknown modules, and for CommonJS, which opens one file at a time and
 * forgets failures: before the first one, and before later ones, which share descriptors with calls under way.
 */
const FREE_DESCRIPTORS = { first: 4, later: 1 };

/** Files of another package that an import opens at the same time, at most: those of apache-arrow are 26. */
const FILES_OF_PACKAGES = 32;

/**
 * The build writes the package's chunks here, separated by spaces: the name of each, without extension, and after commas
 * the names of the chunks and the modules of other packages that it imports.
 */
const CHUNKS = "tiltyard chunks";

/** What each chunk imports, by its name. */
const importsOf: ReadonlyMap<string, readonly string[]> = new Map(
  CHUNKS.split(" ").map((text) => {
    const [name, ...imports] = text.split(",");
    return [name, imports];
  }),
);

/** Paths of the chunks of this build; empty where this module is part of no build of the package. */
let chunks: readonly string[] | null = null;

/** This module as a file; null in another bundler's output that has no URL. */
function ownFile(): string | null {
  const own: string | undefined = import.meta.url;
  return own?.startsWith("file:") === true ? fileURLToPath(own) : null;
}

/** A bundler of the host's may have put this module among files of other names. */
function chunkFiles(): readonly string[] {
  const [, directory, name, extension] = /^(.*[\\/])([^\\/]+)(\.c?js)$/.exec(ownFile() ?? "") ?? [];
  if (directory === undefined || name === undefined || !importsOf.has(name)) return [];
  return [...importsOf.keys()].map((each) => `${directory}${each}${extension}`);
}

/** Whether files beside this module belong to the package, and not to a bundler's output with some of the same names. */
function isPackaged(): boolean {
  try {
    // Not as a path from here, which bundlers take for a file that they have to find.
    const packageFile = path.resolve(ownFile() ?? "", "..", "..", "..", "package.json");
    return (JSON.parse(fs.readFileSync(packageFile, "utf8")) as { name?: unknown }).name === "tiltyard";
  } catch (error) {
    if (isShortage(error)) throw error;
    // No package.json of the package's lies where the package has it.
    return false;
  }
}

const codeOf = (error: unknown): unknown => (error as { readonly code?: unknown } | null)?.code;
const isShortage = (error: unknown): boolean =>
  ["EMFILE", "ENFILE", "ENOMEM", "EIO", "EAGAIN"].includes(String(codeOf(error)));

/** Names of the chunks that are loaded, and modules of other packages that these import. */
const loadedNames = new Set<string>();

/** The chunk that a function imports, as an ES module; undefined if the function is not part of the package's build. */
function chunkOf(load: string): string | undefined {
  const name = /\bimport\(["'`]\.\/([^"'`]+)\.js["'`]\)/.exec(load)?.[1];
  return name !== undefined && importsOf.has(name) ? name : undefined;
}

/** A chunk and all that it imports, besides what is loaded. */
function missingNames(chunk: string, missing = new Set<string>()): ReadonlySet<string> {
  if (loadedNames.has(chunk) || missing.has(chunk)) return missing;
  missing.add(chunk);
  for (const name of importsOf.get(chunk) ?? []) missingNames(name, missing);
  return missing;
}

/**
 * Number of files that an import opens at the same time, at most. An ES module's imports are opened together, and one that
 * can't be opened is never tried again.
 */
function filesOpened(load: string): number {
  const chunk = chunkOf(load);
  if (chunk === undefined) return loadedBy.size === 0 ? FREE_DESCRIPTORS.first : FREE_DESCRIPTORS.later;
  const missing = [...missingNames(chunk)];
  const chunkCount = missing.filter((name) => importsOf.has(name)).length;
  return chunkCount + (chunkCount < missing.length ? FILES_OF_PACKAGES : 0);
}

/** @throws the system's error where a file of the package can't be read, or too few descriptors are free */
function proveLoadable(wanted: number): void {
  chunks ??= chunkFiles();
  const first = new Uint8Array(1);
  const opened: number[] = [];
  try {
    for (const file of chunks) {
      const descriptor = fs.openSync(file, "r");
      opened.push(descriptor);
      fs.readSync(descriptor, first, 0, 1, 0);
      fs.closeSync(descriptor);
      opened.pop();
    }
    const any = chunks[0] ?? os.devNull;
    while (opened.length < wanted) opened.push(fs.openSync(any, "r"));
  } catch (error) {
    // Only the host knows how to load what is not laid out as in the package, or when there is no such device.
    if (isShortage(error) || (chunks.length > 0 && isPackaged())) throw error;
  } finally {
    for (const descriptor of opened) fs.closeSync(descriptor);
  }
}

/** Settles when the imports that were asked for before have ended: together they would need more descriptors than are proven. */
let lastImport: Promise<unknown> = Promise.resolve();

/** Texts of the functions whose modules are loaded: importing one of these again opens no file. */
const loadedBy = new Set<string>();

/** How long an import waits for descriptors that other calls are about to give back. */
const MAX_WAIT_MS = 1000;
const PAUSE_MS = 5;
/** As it was before a test runner put a fake in its place. */
const pause = timers.setTimeout;
const relievers = new Set<() => void>();

/** Registers what closes files that nobody reads, for an import that finds too few descriptors. */
export const onShortageOfDescriptors = (relieve: () => void): void => void relievers.add(relieve);

async function waitUntilLoadable(wanted: number): Promise<void> {
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
 * Loads a module. If something is missing that may come back, the call fails, and a later call loads the module.
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
