/**
 * Waits for file descriptors, whose number per process is limited. During a shortage, calls that open files
 * wait for others to close theirs. Idle open files are closed first.
 */

import { sleep } from "../../async/sleep.js";
import { performance } from "../../async/timers.js";
import { relieveImports } from "../../platform/native.js";
import { hasTooManyOpen } from "./errno.js";

/** Milliseconds after which a shortage is reported. */
const MAX_WAITED_MS = 60_000;
const FIRST_PAUSE_MS = 1;
const MAX_PAUSE_MS = 20;

/** A holder of open files that may be idle. */
export interface IdleFiles {
  release(): void;
}

/** Weak references, so that the garbage collector can collect a pool that nobody closes. */
const holders = new Set<WeakRef<IdleFiles>>();

/** Registers `files` to be released when descriptors run short. */
export function releaseInShortage(files: IdleFiles): void {
  holders.add(new WeakRef(files));
}

/**
 * Repeats a call until it gets a descriptor. After a shortage of one minute, fails with the error of the
 * call.
 */
export async function outlastShortage<T>(call: () => Promise<T>): Promise<T> {
  const startMs = performance.now();
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
    try {
      return await call();
    } catch (error) {
      if (!hasTooManyOpen(error) || performance.now() - startMs >= MAX_WAITED_MS) throw error;
    }
    releaseIdleFiles();
    // A random pause spreads the waiting calls.
    await sleep(pauseMs * (0.5 + Math.random()));
  }
}

function releaseIdleFiles(): void {
  for (const holder of holders) {
    const files = holder.deref();
    if (files === undefined) holders.delete(holder);
    else files.release();
  }
}

relieveImports(releaseIdleFiles);
