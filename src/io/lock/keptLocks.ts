/** Keeps released locks for a moment (heldLock.ts), for the next change. Other processes may take them. */

import { performance, setTimeout } from "../../async/timers.js";
import { resolve, sep } from "../../platform/native.js";
import type { HeldLock } from "./heldLock.js";

/** Milliseconds after which a kept lock is removed. */
const KEPT_MS = 100;

interface KeptLock {
  readonly lock: HeldLock;
  readonly sinceMs: number;
}

/** Kept locks by their locked directory, the oldest first. */
const keptLocks = new Map<string, KeptLock>();
let isSweepDue = false;

/** Releases a lock, and keeps it if possible. */
export async function keepLock(directory: string, lock: HeldLock): Promise<void> {
  if (!(await lock.keep())) return lock.release();
  keptLocks.set(directory, { lock, sinceMs: performance.now() });
  sweepIn(KEPT_MS);
}

/** Takes the kept lock of a directory again; null if none is kept, or another process took it. */
export async function retakeLock(directory: string, staleMs: number): Promise<HeldLock | null> {
  const lock = keptLocks.get(directory)?.lock;
  if (lock === undefined) return null;
  keptLocks.delete(directory);
  if (await lock.retake(staleMs)) return lock;
  await lock.release();
  return null;
}

/** Removes the kept locks in and below a directory. */
export async function releaseKeptLocks(directory: string): Promise<void> {
  const resolved = resolve(directory);
  const isBelow = (locked: string) => locked === resolved || locked.startsWith(resolved + sep);
  await Promise.all([...keptLocks.keys()].filter(isBelow).map(releaseKept));
}

function sweepIn(milliseconds: number): void {
  if (isSweepDue) return;
  isSweepDue = true;
  setTimeout(() => {
    isSweepDue = false;
    const nowMs = performance.now();
    for (const [directory, { sinceMs }] of keptLocks) {
      const leftMs = sinceMs + KEPT_MS - nowMs;
      // All further locks were kept later.
      if (leftMs > 0) return sweepIn(leftMs);
      void releaseKept(directory);
    }
  }, milliseconds).unref();
}

async function releaseKept(directory: string): Promise<void> {
  const kept = keptLocks.get(directory);
  keptLocks.delete(directory);
  await kept?.lock.release();
}
