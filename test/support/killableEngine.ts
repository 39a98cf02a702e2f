/** The engine in a process that takes one call after another and may be killed at any moment. */

import { type ChildProcess, fork } from "node:child_process";
import { readdir, utimes } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { DirectoryNamespaceOptions } from "tiltyard";
import { LOCK_NAME } from "../../src/io/lock.js";
import { exitOf, nextMessage } from "./childProcess.js";
import type { EngineOutcome, EngineStep } from "./engineWorker.js";

const ENTRY = fileURLToPath(new URL("./processes/engineServer.mjs", import.meta.url));

export class KillableEngine {
  readonly #process: ChildProcess;
  /** Resolves when the namespace is open. */
  readonly ready: Promise<unknown>;

  constructor(options: DirectoryNamespaceOptions) {
    this.#process = fork(ENTRY, { serialization: "advanced", execArgv: [] });
    this.ready = nextMessage(this.#process);
    // A failure is reported to whoever awaits.
    this.ready.catch(() => undefined);
    this.#process.send(options);
  }

  /** The outcome of the call; null where the process was killed before it told. */
  async call(step: EngineStep): Promise<EngineOutcome | null> {
    const answer = nextMessage(this.#process);
    // Where the process is gone by now, that is what the answer tells.
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

  /** Resolves when the process is gone. */
  async gone(): Promise<void> {
    await exitOf(this.#process);
  }
}

/** Makes the locks under a directory as old as they are when their holders have been dead for some seconds. */
export async function ageLocks(root: string, seconds: number): Promise<number> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const locks = entries.filter((entry) => entry.isDirectory() && entry.name.startsWith(LOCK_NAME));
  const then = Date.now() / 1000 - seconds;
  for (const lock of locks) await utimes(join(lock.parentPath, lock.name), then, then);
  return locks.length;
}
