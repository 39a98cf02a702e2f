/**
 * Calls of `node:fs/promises` that tests make on the files of a namespace, on the disk of the run. On a disk
 * without directories, making one does nothing.
 */

import { dirname, join } from "node:path";
import type { Disk } from "../../../src/io/disk/disk.js";
import { isLocal, lacks } from "./diskLimits.js";
import { suiteDisk } from "./suiteDisk.js";

/** An entry of a directory. */
export interface Entry {
  readonly name: string;
  readonly parentPath: string;
  isDirectory(): boolean;
  isFile(): boolean;
}

interface RootFiles {
  cp(from: string, to: string, options?: { readonly recursive?: boolean }): Promise<void>;
  mkdir(path: string, options?: { readonly recursive?: boolean }): Promise<unknown>;
  readdir(path: string, options?: { readonly recursive?: boolean }): Promise<string[]>;
  readdir(
    path: string,
    options: { readonly recursive?: boolean; readonly withFileTypes: true },
  ): Promise<Entry[]>;
  readFile(path: string): Promise<Uint8Array>;
  rename(from: string, to: string): Promise<void>;
  rm(path: string, options?: { readonly recursive?: boolean; readonly force?: boolean }): Promise<void>;
  stat(path: string): Promise<{ readonly size: number }>;
  /** Sets the times of a file, in seconds since the epoch. */
  utimes(path: string, accessedS: number, modifiedS: number): Promise<void>;
  writeFile(path: string, content: string | Uint8Array): Promise<void>;
}

const missing = (verb: string, path: string) =>
  Object.assign(new Error(`ENOENT: no such file or directory, ${verb} '${path}'`), { code: "ENOENT", path });

/** Returns the entries of a directory and, if asked, of those below it. */
async function entriesBelow(disk: Disk, path: string, recursive: boolean): Promise<Entry[]> {
  const entries = await disk.list(path);
  if (entries === null) throw missing("scandir", path);
  const below: Entry[] = [];
  for (const { name, kind } of entries) {
    // Some S3 servers list a directory for a while after its last object is gone.
    const isThere =
      kind === "file" || !lacks("emptyDirectories") || (await disk.stat(join(path, name))) !== null;
    if (!isThere) continue;
    below.push({
      name,
      parentPath: path,
      isDirectory: () => kind === "directory",
      isFile: () => kind === "file",
    });
    if (recursive && kind === "directory") below.push(...(await entriesBelow(disk, join(path, name), true)));
  }
  return below;
}

function filesOf(disk: Disk): RootFiles {
  async function readdir(path: string, options: object = {}): Promise<never> {
    const { recursive = false, withFileTypes = false } = options as Record<string, boolean>;
    const entries = await entriesBelow(disk, path, recursive);
    if (withFileTypes) return entries as never;
    return entries.map(({ name, parentPath }) =>
      join(parentPath, name).slice(join(path, "/").length),
    ) as never;
  }
  const readFile = async (path: string): Promise<Uint8Array> => {
    const bytes = await disk.readFile(path);
    if (bytes === null) throw missing("open", path);
    return bytes;
  };
  const writeFile = async (path: string, content: string | Uint8Array): Promise<void> => {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    await disk.makeDirectory(dirname(path));
    if (disk.replaceIf === undefined) throw new Error(`the disk cannot replace ${path}`);
    await disk.replaceIf(path, [bytes], null);
  };
  return {
    async cp(from, to) {
      if ((await disk.stat(from))?.kind === "file") return writeFile(to, await readFile(from));
      for (const entry of await entriesBelow(disk, from, true)) {
        const path = join(entry.parentPath, entry.name);
        if (entry.isFile()) await writeFile(to + path.slice(from.length), await readFile(path));
      }
    },
    mkdir: (path) => disk.makeDirectory(path),
    readdir,
    readFile,
    rename: (from, to) => disk.rename(from, to),
    async rm(path, { recursive = false, force = false } = {}) {
      if (!force && (await disk.stat(path)) === null) throw missing("rm", path);
      if (recursive) await disk.removeTree(path);
      else await disk.remove(path);
    },
    async stat(path) {
      const stat = await disk.stat(path);
      if (stat === null) throw missing("stat", path);
      return stat;
    },
    async utimes(path) {
      throw new Error(`the disk cannot set the times of ${path}`);
    },
    writeFile,
  };
}

const files: RootFiles = isLocal
  ? ((await import("node:fs/promises")) as unknown as RootFiles)
  : filesOf(suiteDisk());

export const { cp, mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } = files;

/** Returns the path of a location as the namespace gives it: a path, or an address of a bucket. */
export const pathOfLocation = (location: string): string => suiteDisk().pathOf?.(location) ?? location;
