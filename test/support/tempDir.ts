/**
 * Fresh directories for tests; `removeTempDirs.ts` removes them after each test file. If the disk of a suite
 * keeps no local files, the directories are on both: a local one holds copies for other engines.
 */
import { randomUUID } from "node:crypto";
import { realpathSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { isLocal } from "./suite/diskLimits.js";

const made: string[] = [];

/** Returns the path of a directory to be made. */
export const newTempPath = (): string =>
  path.join(realpathSync(os.tmpdir()), `tiltyard-test-${randomUUID().slice(0, 8)}`);

/** Makes an empty directory at a path. */
export async function makeTempDirAt(directory: string): Promise<void> {
  await mkdir(directory);
  made.push(directory);
  if (!isLocal) await (await import("./suite/rootFiles.js")).mkdir(directory);
}

/** Makes an empty directory; returns its absolute path without symbolic links. */
export async function makeTempDir(): Promise<string> {
  const directory = newTempPath();
  await makeTempDirAt(directory);
  return directory;
}

/** Directories that exist now. */
export const tempDirs = (): readonly string[] => made;

export async function removeTempDirs(): Promise<void> {
  const directories = made.splice(0);
  await Promise.all(directories.map((directory) => rm(directory, { recursive: true, force: true })));
  if (isLocal) return;
  const files = await import("./suite/rootFiles.js");
  for (const directory of directories) await files.rm(directory, { recursive: true, force: true });
}
