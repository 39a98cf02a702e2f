/**
 * Waiting for file descriptors. The number of files that a process may have open is limited; where more are
 * wanted at once, the calls that open files wait for others to close theirs. Open files that nobody is
 * reading are closed first.
 */

import { sleep } from "../../async/sleep.js";
import { performance } from "../../async/timers.js";
import { relieveImports } from "../../platform/native.js";
import { codeOf } from "./errno.js";

/** A shortage that lasts longer is reported: nobody is about to close anything. */
const MAX_WAITED_MS = 60_000;
const FIRST_PAUSE_MS = 1;
const MAX_PAUSE_MS = 20;

/** A holder of open files that nobody is reading at the moment. */
export interface IdleFiles {
  /** Closes them. */
  release(): void;
}

/** Held weakly: a pool that nobody closes can still be collected. */
const holders = new Set<WeakRef<IdleFiles>>();

/** Registers `files` to be released when descriptors run short. */
export function releaseInShortage(files: IdleFiles): void {
  holders.add(new WeakRef(files));
}

/** True if a call failed because this process (EMFILE), or the machine (ENFILE), has too many files open. */
export function isShortage(error: unknown): boolean {
  const code = codeOf(error);
  return code === "EMFILE" || code === "ENFILE";
}

/**
 * Repeats a call until there are descriptors for it; fails as the call does where there are none for a
 * minute.
 */
export async function outlastShortage<T>(call: () => Promise<T>): Promise<T> {
  const startMs = performance.now();
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
    try {
      return await call();
    } catch (error) {
      if (!isShortage(error) || performance.now() - startMs >= MAX_WAITED_MS) throw error;
    }
    releaseIdleFiles();
    // The waiting calls must not all come back at once.
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
