/** Fresh directories for tests; `removeTempDirs.ts` removes all that a test file made when it is done. */
import { mkdtemp, realpath, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";

const made: string[] = [];

/** An empty directory of its own, as an absolute path without symbolic links. */
export async function makeTempDir(): Promise<string> {
  const directory = await mkdtemp(path.join(await realpath(os.tmpdir()), "tiltyard-test-"));
  made.push(directory);
  return directory;
}

/** Removes what was made since it was last called. */
export async function removeTempDirs(): Promise<void> {
  await Promise.all(made.splice(0).map((directory) => rm(directory, { recursive: true, force: true })));
}
