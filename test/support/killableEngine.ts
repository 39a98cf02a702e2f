/** The engine in a process that makes one call after another and may be killed at any moment. */

import { type ChildProcess, fork } from "node:child_process";
import { readdir, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { DirectoryNamespaceOptions } from "tiltyard";
import { LOCK_NAME } from "../../src/io/lock/lease.js";
import { exitOf, nextMessage } from "./childProcess.js";
import type { EngineOutcome, EngineStep } from "./engineWorker.js";

const ENTRY = fileURLToPath(new URL("./processes/engineServer.mjs", import.meta.url));

export class KillableEngine {
  readonly #process: ChildProcess;
  readonly ready: Promise<unknown>;

  constructor(options: DirectoryNamespaceOptions) {
    this.#process = fork(ENTRY, { serialization: "advanced", execArgv: [] });
    this.ready = nextMessage(this.#process);
    // The caller that awaits it gets the failure.
    this.ready.catch(() => undefined);
    this.#process.send(options);
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** Returns the outcome of the call; null if the process was killed before it answered. */
  async call(step: EngineStep): Promise<EngineOutcome | null> {
    const answer = nextMessage(this.#process);
    // The answer reports that the process is gone.
    this.#process.send(step, () => undefined);
    try {
      return (await answer) as EngineOutcome;
    } catch (error) {
      if ((await exitOf(this.#process)) === "SIGKILL") return null;
      throw error;
    }
  }

  kill(): void {
    this.#process.kill("SIGKILL");
  }

  async gone(): Promise<void> {
    await exitOf(this.#process);
  }
}

/** Ages all entries of a directory that changed in the last seconds; returns the number of their locks. */
export async function letTimePass(root: string, seconds: number): Promise<number> {
  const then = Date.now() / 1000 - seconds;
  let locks = 0;
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if ((await stat(path)).mtimeMs / 1000 <= then) continue;
    if (entry.isDirectory() && entry.name.startsWith(LOCK_NAME)) locks++;
    await utimes(path, then, then);
  }
  return locks;
}
