/** Snapshots of directories as comparable values: every path except locks, with the hash of each file. */

import { join } from "node:path";
import { LOCK_NAME } from "../../src/io/lock/lease.js";
import { sha256 } from "../../src/io/names/sha256.js";
import { readdir, readFile } from "./suite/rootFiles.js";

/** Path below the directory → `dir`, or the SHA-256 of the file. */
export async function directorySnapshot(directory: string): Promise<Record<string, string>> {
  const snapshot: Record<string, string> = {};
  await addEntries(directory, "", snapshot);
  return Object.fromEntries(Object.entries(snapshot).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** True if a path is a lock or lies in one. A lock may stay for a moment after a change. */
export const isInLock = (entryPath: string): boolean => entryPath.split(/[/\\]/).includes(LOCK_NAME);

/** Skips locks: a released one may vanish meanwhile. */
async function addEntries(directory: string, below: string, snapshot: Record<string, string>): Promise<void> {
  const entries = await readdir(join(directory, below), { withFileTypes: true }).catch((error) => {
    if (error.code === "ENOENT" && below === "") return [];
    throw error;
  });
  for (const entry of entries) {
    const path = join(below, entry.name);
    if (isInLock(path)) continue;
    snapshot[path] = entry.isDirectory() ? "dir" : sha256(await readFile(join(directory, path)));
    if (entry.isDirectory()) await addEntries(directory, path, snapshot);
  }
}

/** Snapshot of a namespace's root without its catalog: tables and their remains. */
export async function tablesSnapshot(root: string): Promise<Record<string, string>> {
  const entries = Object.entries(await directorySnapshot(root));
  return Object.fromEntries(entries.filter(([path]) => !/^__manifest($|[/\\])/.test(path)));
}
