/**
 * Modules that are loaded when they are first needed. Node.js remembers for ever that an ES module could not be loaded, so a
 * part of the engine whose first import meets "too many open files" would fail until the process is started again. The
 * import is therefore begun only after everything that it needs has been proven: the files of the package can be opened
 * and read, and enough descriptors are free. A failed proof leaves nothing behind, and the next call tries again.
 */

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

/**
 * Descriptors that an import may need at a time: it opens all modules that one module imports before it closes the first. The
 * largest part, with those of apache-arrow, needs 26.
 */
const FREE_DESCRIPTORS = 32;

/** The build writes the names of the package's chunks here, without extension, separated by spaces. */
const CHUNKS = "tiltyard chunks";

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
  const names = CHUNKS.split(" ");
  if (directory === undefined || name === undefined || !names.includes(name)) return [];
  return names.map((each) => `${directory}${each}${extension}`);
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

/** @throws the system's error where a file of the package can't be read, or too few descriptors are free */
function proveLoadable(): void {
  chunks ??= chunkFiles();
  const opened: number[] = [];
  const first = new Uint8Array(1);
  try {
    for (const file of chunks) {
      const descriptor = fs.openSync(file, "r");
      opened.push(descriptor);
      fs.readSync(descriptor, first, 0, 1, 0);
    }
    const any = chunks[0] ?? os.devNull;
    while (opened.length < FREE_DESCRIPTORS) opened.push(fs.openSync(any, "r"));
  } catch (error) {
    // Only the host knows how to load what is not laid out as in the package, or when there is no such device.
    if (isShortage(error) || (chunks.length > 0 && isPackaged())) throw error;
  } finally {
    for (const descriptor of opened) fs.closeSync(descriptor);
  }
}

/** Settles when the imports that were asked for before have ended: together they would need more descriptors than are proven. */
let lastImport: Promise<unknown> = Promise.resolve();

/**
 * Loads a module. If something is missing that may come back, the call fails, and a later call loads the module.
 * @param load imports the module
 */
export function importNodeModule<Module>(load: () => Promise<Module>): Promise<Module> {
  const loaded = lastImport.then(() => {
    proveLoadable();
    return load();
  });
  lastImport = loaded.catch(() => undefined);
  return loaded;
}
