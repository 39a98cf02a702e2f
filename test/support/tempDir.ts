/** Fresh directories for tests; all that a test file made are removed when it is done. */
import { mkdtemp, realpath, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll } from "vitest";

const made: string[] = [];

afterAll(async () => {
  await Promise.all(made.splice(0).map((directory) => rm(directory, { recursive: true, force: true })));
});

/** An empty directory of its own, as an absolute path without symbolic links. */
export async function makeTempDir(): Promise<string> {
  const directory = await mkdtemp(path.join(await realpath(os.tmpdir()), "tiltyard-test-"));
  made.push(directory);
  return directory;
}
