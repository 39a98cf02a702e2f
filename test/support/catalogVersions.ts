/** The versions of a namespace's catalog on disk. */

import { randomBytes } from "node:crypto";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { DirectoryNamespace } from "tiltyard";
import { MAX_KEPT_VERSIONS, MIN_KEPT_VERSIONS } from "../../src/catalog/rows/oldVersions.js";
import { LOCK_NAME } from "../../src/io/lock/lease.js";
import { parseManifestName } from "../../src/table/versions/paths.js";

export { MAX_KEPT_VERSIONS as MAX_KEPT, MIN_KEPT_VERSIONS as MIN_KEPT };
/** Number of further versions that may not be emptied yet. */
export const BACKLOG = 16;

/** Makes a catalog so large that the fewest versions stay whole. */
export async function makeHeavy(ns: DirectoryNamespace): Promise<void> {
  await ns.createNamespace({ id: ["heavy"], properties: { text: randomBytes(140_000).toString("hex") } });
}

export interface CatalogVersions {
  readonly emptied: readonly number[];
  readonly whole: readonly number[];
  /** Bytes of the files in the catalog's directory, each counted once. */
  readonly bytes: number;
  readonly files: number;
  /** Number of empty files; hard links count once. */
  readonly emptyFiles: number;
  readonly dataFiles: number;
}

export async function catalogVersions(root: string): Promise<CatalogVersions> {
  const directory = join(root, "__manifest");
  const emptied: number[] = [];
  const whole: number[] = [];
  const inodes = new Map<number, number>();
  const options = { recursive: true, withFileTypes: true } as const;
  // A released lock beside them may vanish meanwhile.
  const parts = (await readdir(directory)).filter((name) => name !== LOCK_NAME);
  const entries = await Promise.all(parts.map((part) => readdir(join(directory, part), options)));
  for (const entry of entries.flat()) {
    if (!entry.isFile()) continue;
    const { ino, size } = await stat(join(entry.parentPath, entry.name));
    inodes.set(ino, size);
    const parsed = entry.parentPath.endsWith("_versions") ? parseManifestName(entry.name) : null;
    if (parsed !== null) (size === 0 ? emptied : whole).push(parsed.version);
  }
  const sizes = [...inodes.values()];
  return {
    emptied: emptied.sort((a, b) => a - b),
    whole: whole.sort((a, b) => a - b),
    bytes: sizes.reduce((sum, size) => sum + size, 0),
    files: sizes.filter((size) => size > 0).length,
    emptyFiles: sizes.filter((size) => size === 0).length,
    dataFiles: (await readdir(join(directory, "data"))).length,
  };
}

export const upTo = (last: number, first = 1): number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);
