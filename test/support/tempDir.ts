/** Fresh directories for tests; `removeTempDirs.ts` removes them after each test file. */
import { mkdtemp, realpath, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";

const made: string[] = [];

/** Makes an empty directory; returns its absolute path without symbolic links. */
export async function makeTempDir(): Promise<string> {
  const directory = await mkdtemp(path.join(await realpath(os.tmpdir()), "tiltyard-test-"));
  made.push(directory);
  return directory;
}

export async function removeTempDirs(): Promise<void> {
  await Promise.all(made.splice(0).map((directory) => rm(directory, { recursive: true, force: true })));
}
