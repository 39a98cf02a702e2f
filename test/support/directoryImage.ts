/** A small directory in memory that is laid out repeatedly: far cheaper than copying it. */

import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

interface ImageDirectory {
  readonly directories: ReadonlyMap<string, ImageDirectory>;
  readonly files: ReadonlyMap<string, ImageFile>;
}

interface ImageFile {
  readonly bytes: Uint8Array;
  /** Identity of the file when it was last written: an unchanged file is not written again. */
  laidOut: string | null;
}

export class DirectoryImage {
  readonly #path: string;
  readonly #content: ImageDirectory;

  constructor(path: string) {
    this.#path = path;
    this.#content = take(path);
  }

  layOut(): void {
    mkdirSync(this.#path, { recursive: true });
    put(this.#path, this.#content);
  }
}

function take(path: string): ImageDirectory {
  const directories = new Map<string, ImageDirectory>();
  const files = new Map<string, ImageFile>();
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const below = join(path, entry.name);
    if (entry.isDirectory()) directories.set(entry.name, take(below));
    else files.set(entry.name, { bytes: readFileSync(below), laidOut: null });
  }
  return { directories, files };
}

function put(path: string, { directories, files }: ImageDirectory): void {
  const present = new Set<string>();
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const isWanted = entry.isDirectory() ? directories.has(entry.name) : files.has(entry.name);
    if (isWanted) present.add(entry.name);
    // Another process that had a lock here may remove it at the same time.
    else rmSync(join(path, entry.name), { recursive: true, force: true });
  }
  for (const [name, file] of files) {
    const below = join(path, name);
    if (present.has(name) && file.laidOut !== null && signatureOf(below) === file.laidOut) continue;
    writeFileSync(below, file.bytes);
    file.laidOut = signatureOf(below);
  }
  for (const [name, directory] of directories) {
    if (!present.has(name)) mkdirSync(join(path, name));
    put(join(path, name), directory);
  }
}

/** Null for a file that has gone since its directory was listed. */
function signatureOf(path: string): string | null {
  const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? null : [stat.ino, stat.size, stat.mtimeNs, stat.ctimeNs].join();
}
