/** Collects the files of a namespace that its published index names: those whose names no reader can know. */

import { mapParallel } from "../../async/parallel.js";
import type { Disk } from "../../io/disk/disk.js";
import { codeOf } from "../../io/disk/errno.js";
import { TEMPORARY_PREFIX } from "../../io/names/temporaryNames.js";
import { join } from "../../platform/native.js";
import { MANIFEST_SUFFIX } from "../../table/versions/paths.js";
import { hashOf } from "../http/publishedHeads.js";
import type { PublishedFile } from "../http/publishedIndex.js";

/** Maximum size of a file whose content is hashed. */
const MAX_HASHED_BYTES = 1024 * 1024;
/** Files that are looked at concurrently. */
const PARALLELISM = 8;
/** Directories of a table with files that the index names. Branches below `tree` have them too. */
const LISTED = ["_versions", "_refs", "tree", "_tiltyard"];
/** Directories below `_tiltyard` that readers need. */
const SIDE_DIRECTORIES = ["versions", "computed"];

/** Returns the files of a table; null if the directory holds no table. */
export async function filesOfTable(disk: Disk, directory: string): Promise<PublishedFile[] | null> {
  const paths: string[] = [];
  await collect(disk, directory, "", paths);
  const isTable = paths.some((path) => path.startsWith("_versions/") || path.startsWith(".lance-"));
  if (!isTable) return null;
  const files = await mapParallel(paths.sort(), PARALLELISM, (path) => describe(disk, directory, path));
  return files.filter((file) => file !== null);
}

async function collect(disk: Disk, directory: string, below: string, paths: string[]): Promise<void> {
  for (const { name, kind } of (await disk.list(join(directory, below))) ?? []) {
    if (name.startsWith(TEMPORARY_PREFIX)) continue;
    const path = below === "" ? name : `${below}/${name}`;
    if (kind === "directory") {
      if (isListed(path)) await collect(disk, directory, path, paths);
    } else if (kind === "file" && isWanted(path)) {
      paths.push(path);
    }
  }
}

/** True if the directory, or one below it, has files that readers look for. */
function isListed(path: string): boolean {
  const names = path.split("/");
  const part = names.findLastIndex((name) => LISTED.includes(name));
  if (part < 0) return false;
  const [side] = names.slice(part + 1);
  return names[part] !== "_tiltyard" || side === undefined || SIDE_DIRECTORIES.includes(side);
}

/** True if readers look for the file: not locks, versions that are being removed, or files of heads. */
function isWanted(path: string): boolean {
  const names = path.split("/");
  const name = names[names.length - 1];
  if (names.length === 1) return name.startsWith(".lance-");
  if (names[names.length - 2] === "_versions")
    return name.endsWith(MANIFEST_SUFFIX) || name.endsWith(".json");
  return name.endsWith(".json");
}

/** Returns null if the file has disappeared. */
async function describe(disk: Disk, directory: string, path: string): Promise<PublishedFile | null> {
  const file = join(directory, path);
  const stat = await disk.stat(file);
  if (stat?.kind !== "file") return null;
  const bytes = stat.size > MAX_HASHED_BYTES ? null : await readWhole(disk, file);
  const etag = hashOf(bytes ?? new TextEncoder().encode(stat.identity));
  return { path, size: bytes?.length ?? stat.size, etag };
}

async function readWhole(disk: Disk, path: string): Promise<Uint8Array | null> {
  try {
    return await disk.readFile(path);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
}
