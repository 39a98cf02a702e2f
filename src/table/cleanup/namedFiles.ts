/** Finds the named files in the directory of a table or branch, and removes those that no version needs. */

import { yieldToEventLoop } from "../../async/eventLoop.js";
import type { Disk, FileStat } from "../../io/disk/disk.js";
import { join } from "../../platform/native.js";
import {
  dataDirectory,
  deletionsDirectory,
  indicesDirectory,
  transactionsDirectory,
} from "../versions/paths.js";
import type { VersionsAt } from "../versions/versions.js";
import type { ReferencedFiles } from "./referencedFiles.js";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Generated names of data files, without suffix: 3 bytes in binary and 13 in hexadecimal, or a UUID. */
const DATA_FILE_STEM = new RegExp(`^[01]{24}[0-9a-f]{26}$|${UUID.source}`);

/**
 * A part of a table's directory that may contain garbage. While the reference writes a file, the file's name
 * ends in `#` and a number.
 */
interface Area {
  readonly directoryOf: (tableRoot: string) => string;
  readonly names: keyof ReferencedFiles & ("data" | "deletions" | "transactions" | "indices");
  readonly files: RegExp | null;
  /** Directories that belong to a file, or that manifests name like one; null if there are none. */
  readonly directories: { readonly name: RegExp; readonly content: RegExp; readonly suffix: string } | null;
}

const AREAS: readonly Area[] = [
  {
    directoryOf: dataDirectory,
    names: "data",
    files: /\.lance(#\d+)?$/,
    // A data file's blobs lie in a directory of its name. Other directories belong to other programs.
    directories: { name: DATA_FILE_STEM, content: /\.blob(#\d+)?$/, suffix: ".lance" },
  },
  { directoryOf: deletionsDirectory, names: "deletions", files: /\.(arrow|bin)(#\d+)?$/, directories: null },
  { directoryOf: transactionsDirectory, names: "transactions", files: /\.txn(#\d+)?$/, directories: null },
  {
    directoryOf: indicesDirectory,
    names: "indices",
    files: null,
    directories: { name: UUID, content: /^/, suffix: "" },
  },
];

/** A file that manifests name, or a directory of files that belong together. */
export interface NamedFile {
  readonly area: Area;
  readonly path: string;
  /** Name by which versions refer to it. */
  readonly name: string;
  readonly isDirectory: boolean;
}

export class RemovedFiles {
  /** Data files and the blob files beside them. */
  data = 0;
  deletions = 0;
  transactions = 0;
  indices = 0;
  /** Temporary files, staged manifests and the like of dead writers. */
  orphans = 0;
  versions = 0;
  /** Bytes of all removed files, manifests included. */
  bytes = 0;
}

export async function* findFiles(table: VersionsAt): AsyncGenerator<NamedFile, void, undefined> {
  for (const area of AREAS) {
    const directory = area.directoryOf(table.root);
    for (const { name, kind } of (await table.disk.list(directory)) ?? []) {
      await yieldToEventLoop();
      const path = join(directory, name);
      if (kind === "file" && area.files?.test(name)) yield { area, path, name, isDirectory: false };
      if (kind === "directory" && area.directories?.name.test(name)) {
        yield { area, path, name: name + area.directories.suffix, isDirectory: true };
      }
    }
  }
}

/** Makes the removal of files survive a power cut. */
export async function syncRemovals(table: VersionsAt): Promise<void> {
  for (const { directoryOf } of AREAS) {
    const directory = directoryOf(table.root);
    if ((await table.disk.stat(directory)) !== null) await table.disk.syncDirectory(directory);
  }
}

/**
 * Removes a file, or a directory that contains only files of the expected kind.
 * @param mayGo called right before the removal, with the state of the files
 */
export async function removeNamedFile(
  disk: Disk,
  { area, path, isDirectory }: NamedFile,
  removed: RemovedFiles,
  mayGo: (stats: readonly FileStat[]) => Promise<boolean> | boolean,
): Promise<void> {
  const files = [path];
  if (isDirectory) {
    const inside = (await disk.list(path)) ?? [];
    const isExpected = inside.every(
      ({ name, kind }) => kind === "file" && area.directories?.content.test(name),
    );
    if (!isExpected) return;
    files.splice(0, 1, ...inside.map(({ name }) => join(path, name)));
  }
  const statsOf = async (paths: readonly string[]): Promise<FileStat[]> =>
    (await Promise.all(paths.map((each) => disk.stat(each)))).filter((stat) => stat !== null);
  const stats = await statsOf(files);
  // A writer may have just made an empty directory, so the directory's age decides.
  if (!(await mayGo(stats.length === 0 ? await statsOf([path]) : stats))) return;
  const byteLength = stats.reduce((sum, { size }) => sum + size, 0);
  if (isDirectory) await disk.removeTree(path);
  else await disk.remove(path, byteLength);
  removed[area.names] += stats.length;
  removed.bytes += byteLength;
}
