/** The whole of a directory as one comparable value: every path below it but locks, with the bytes of each file. */

import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { isInLock } from "./lockEntries.js";

/** Path below the directory → `dir`, or the SHA-256 of the file. */
export async function directorySnapshot(directory: string): Promise<Record<string, string>> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch((error) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  const snapshot: Record<string, string> = {};
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name);
    const below = path.slice(directory.length + 1);
    if (isInLock(below)) continue;
    snapshot[below] = entry.isDirectory()
      ? "dir"
      : createHash("sha256")
          .update(await readFile(path))
          .digest("hex");
  }
  return snapshot;
}

/** The same of a namespace's root, without its catalog: tables and what is left of them. */
export async function tablesSnapshot(root: string): Promise<Record<string, string>> {
  const entries = Object.entries(await directorySnapshot(root));
  return Object.fromEntries(entries.filter(([path]) => !/^__manifest($|[/\\])/.test(path)));
}
