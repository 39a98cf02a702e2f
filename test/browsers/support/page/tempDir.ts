/** Stands for `tempDir.ts` in a page: directories of the disk alone. */

import { mkdir, rm } from "../../../support/suite/rootFiles.js";

const made: string[] = [];

export const newTempPath = (): string => `/tiltyard-test-${crypto.randomUUID().slice(0, 8)}`;

export async function makeTempDirAt(directory: string): Promise<void> {
  made.push(directory);
  await mkdir(directory);
}

export async function makeTempDir(): Promise<string> {
  const directory = newTempPath();
  await makeTempDirAt(directory);
  return directory;
}

export async function removeTempDirs(): Promise<void> {
  for (const directory of made.splice(0)) await rm(directory, { recursive: true, force: true });
}
