/** The engine in a process that stands still at one of its disk calls until it is woken. */

import { type ChildProcess, fork } from "node:child_process";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { DirectoryNamespaceOptions } from "tiltyard";
import type { Disk } from "../../src/io/disk/disk.js";
import { ageLocks } from "../pause/world.js";
import { nextMessage } from "./childProcess.js";
import type { EngineStep } from "./engineWorker.js";

/** The first disk call of a verb whose paths, joined by a space, match: the process stands still there. */
export interface Pause {
  readonly verb: keyof Disk;
  readonly path: RegExp;
  readonly when: "before" | "after";
}

export type PausedOutcome = { readonly ok: unknown } | { readonly type: string; readonly message: string };

const ENTRY = fileURLToPath(new URL("./processes/pausedEngine.mjs", import.meta.url));
/** Minimum of the option. */
const STALE_MS = 2000;

/**
 * Runs a call in another process, and `meanwhile` while that stands still with stale locks.
 * @param disk `immovable`: true to refuse to rename directories
 */
export async function runPaused(
  options: DirectoryNamespaceOptions,
  step: EngineStep,
  pause: Pause,
  meanwhile: () => Promise<unknown>,
  disk: { readonly immovable?: boolean } = {},
): Promise<PausedOutcome> {
  const child = fork(ENTRY, { serialization: "advanced", execArgv: [] });
  try {
    const first = nextMessage(child);
    const { verb, path, when } = pause;
    child.send({
      options: { ...options, lock: { staleMs: STALE_MS } },
      step,
      pause: { verb, path: path.source, when },
      immovable: disk.immovable === true,
    });
    const message = (await first) as { stopping?: true };
    if (message.stopping !== true) throw new Error(`never came to ${verb} ${path.source}`);
    const stoppedAt = performance.now();
    await untilStopped(child);
    await ageLocks(String(options.root));
    await meanwhile();
    await sleep(Math.max(0, STALE_MS + 100 - (performance.now() - stoppedAt)));
    const last = nextMessage(child);
    child.kill("SIGCONT");
    return ((await last) as { outcome: PausedOutcome }).outcome;
  } finally {
    child.kill("SIGKILL");
  }
}

async function untilStopped({ pid }: ChildProcess): Promise<void> {
  const isStopped = async () => / T /.test(await readFile(`/proc/${pid}/stat`, "utf8"));
  while (!(await isStopped())) await sleep(5);
}
