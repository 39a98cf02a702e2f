/** Writes the index of a namespace for readers over HTTP (http/publishedIndex.ts). */

import { concatBytes } from "../../bytes/concat.js";
import type { Disk } from "../../io/disk/disk.js";
import { replaceFile } from "../../io/publish.js";
import { join } from "../../platform/native.js";
import { sideDirectory } from "../../table/versions/paths.js";
import { encodeHeads, hashOf } from "../http/publishedHeads.js";
import {
  formatIndex,
  INDEX_NAME,
  MAX_INDEX_BYTES,
  type PublishedFile,
  type PublishedTable,
  parseIndex,
} from "../http/publishedIndex.js";
import { filesOfTable } from "./publishedFiles.js";
import { headsOfTable } from "./tableHeads.js";

const HEADS_PREFIX = "heads-";
const PAGE_NAME = "inspector.html";

/** Result of `publishIndex`. */
export interface PublishedSummary {
  /** Path of the index. */
  readonly path: string;
  /** Number of tables in it, those of child namespaces and the catalog included. */
  readonly tables: number;
  /** Bytes of the index. */
  readonly byteLength: number;
}

/**
 * Writes the index of the namespace in a directory, and the heads of its tables.
 * @param page text of a page to write beside the index
 */
export async function writeIndex(
  disk: Disk,
  root: string,
  page: string | undefined,
): Promise<PublishedSummary> {
  const tables: PublishedTable[] = [];
  const entries = (await disk.list(root)) ?? [];
  for (const { name, kind } of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (kind !== "directory" || name.startsWith(".")) continue;
    const directory = join(root, name);
    const files = await filesOfTable(disk, directory);
    if (files === null) continue;
    const { heads, indices } = await publishHeads(disk, directory);
    tables.push({ location: name, files, indices, heads });
  }
  const path = join(root, INDEX_NAME);
  const before = await publishedBefore(disk, path);
  const bytes = new TextEncoder().encode(formatIndex(tables));
  if (page !== undefined) {
    await replaceFile(disk, join(root, PAGE_NAME), new TextEncoder().encode(page), { sync: true });
  }
  await replaceFile(disk, path, bytes, { sync: true });
  await removeHeads(disk, root, tables, before);
  return { path, tables: tables.length, byteLength: bytes.length };
}

/** Writes the heads of a table, under a name that changes with the content. */
async function publishHeads(
  disk: Disk,
  directory: string,
): Promise<{ heads: PublishedFile | null; indices: readonly string[] }> {
  const made = await headsOfTable(disk, directory);
  if (made === null) return { heads: null, indices: [] };
  const bytes = concatBytes(encodeHeads(made.heads));
  const etag = hashOf(bytes);
  const side = sideDirectory(directory);
  const name = `${HEADS_PREFIX}${etag}.bin`;
  await disk.makeDirectory(side, directory);
  await replaceFile(disk, join(side, name), bytes, { sync: true });
  return { heads: { path: `_tiltyard/${name}`, size: bytes.length, etag }, indices: made.indices };
}

/** Returns the paths of the heads that the last index names. Its readers may still ask for them. */
async function publishedBefore(disk: Disk, path: string): Promise<ReadonlySet<string>> {
  const bytes = await disk.readFile(path, MAX_INDEX_BYTES);
  const index = bytes && (await parseIndex(bytes));
  const heads = new Set<string>();
  for (const table of index?.tables.values() ?? []) {
    if (table.heads !== null) heads.add(`${table.location}/${table.heads.path}`);
  }
  return heads;
}

/** Removes heads that neither this index nor the one before names. */
async function removeHeads(
  disk: Disk,
  root: string,
  tables: readonly PublishedTable[],
  before: ReadonlySet<string>,
): Promise<void> {
  for (const { location, heads } of tables) {
    const side = sideDirectory(join(root, location));
    for (const { name } of (await disk.list(side)) ?? []) {
      const path = `_tiltyard/${name}`;
      const isNamed = path === heads?.path || before.has(`${location}/${path}`);
      if (name.startsWith(HEADS_PREFIX) && !isNamed) await disk.remove(join(side, name));
    }
  }
}
