/**
 * Locks whose holder is dead, and how they are taken from it.
 *
 * - A holder on this machine whose process is gone is dead at once (lockOwner.ts).
 * - Any other counts as dead when its entry has not changed for `staleMs` of this process's own time: two clocks are
 *   never compared, so a lock that is dated in the future goes stale like any other. Only a lock dated long ago, by
 *   any clock, is not watched first.
 *
 * A holder that counts as dead may only be suspended, right before its next step. Whoever takes the lock over fences it
 * off first, so that this step fails whenever it comes:
 *
 *   rename owner-… to fenced-owner-…   decides; the holder's own looks now tell it that the lock is lost
 *   fence(directory)                   the caller removes the files that the holder's next step would use
 *   remove fenced-owner-…              and the lock's directory
 *
 * Who finds an entry that was fenced by a process that died goes on from there.
 */

import path from "node:path";
import fs from "fs-extra";
import { LruCache } from "./cache.js";
import { isMissing } from "./errno.js";
import {
  ignoreMissing,
  LOCK_NAME,
  namesIn,
  removeDirectory,
  renameEntry,
  statOrUndefined,
} from "./heldLock.js";
import { isDeadOwner, isOwnerName } from "./lockOwner.js";

/** Removes what a holder that was overruled could still publish from a locked directory. */
export type Fence = (directory: string) => Promise<void>;

const FENCED_PREFIX = "fenced-";
/** A lock of this many times `staleMs`, and of this age, is not watched: clocks do not differ as much. */
const OLD_FACTOR = 6;
const OLD_MS = 60_000;
/** Between two looks no more than this counts as watched: the watching process may itself have been suspended. */
const MAX_WATCHED_STEP_MS = 1000;
/** Between two looks at who holds a lock; in between it is enough to know that somebody does. */
const LOOK_MS = 20;
/** Locks that are watched; the oldest is forgotten first, and watched anew. */
const MAX_WATCHED = 1024;

/** What was seen of a lock since it last changed. */
interface Watch {
  readonly signature: string;
  readonly quietMs: number;
  readonly lookedMs: number;
}

/** By the path of the lock. */
const watches = new LruCache<Watch>(MAX_WATCHED);

/** A lock as it lies on the disk. */
interface FoundLock {
  readonly path: string;
  readonly names: readonly string[];
  /** Milliseconds since the epoch, by the holder's clock: when the lock was last renewed. */
  readonly renewedMs: number;
}

/**
 * Whether a living process holds the lock of a directory, as far as can be told; takes it from a dead one.
 * @returns false where the lock is free, or was a moment ago
 */
export async function isHeldByLiving(directory: string, staleMs: number, fence: Fence): Promise<boolean> {
  const lockPath = path.join(directory, LOCK_NAME);
  const watched = watches.peek(lockPath);
  if (watched !== undefined && performance.now() - watched.lookedMs < LOOK_MS) {
    return (await statOrUndefined(lockPath)) !== undefined;
  }
  const found = await findLock(lockPath);
  if (found === null) {
    watches.delete(lockPath);
    return false;
  }
  if (!isDead(found, staleMs)) return true;
  watches.delete(lockPath);
  await takeOver(directory, found, fence);
  return false;
}

async function findLock(lockPath: string): Promise<FoundLock | null> {
  // Mostly there is none, which a look tells far cheaper than a failed listing.
  if ((await statOrUndefined(lockPath)) === undefined) return null;
  let names: string[];
  try {
    names = await namesIn(lockPath);
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
  const owner = names.find(isOwnerName);
  const stats = await statOrUndefined(owner === undefined ? lockPath : path.join(lockPath, owner));
  // Released, or taken over, since it was listed.
  if (stats === undefined) return null;
  return { path: lockPath, names: names.sort(), renewedMs: stats.mtimeMs };
}

function isDead(found: FoundLock, staleMs: number): boolean {
  const { names, renewedMs } = found;
  if (names.some((name) => name.startsWith(FENCED_PREFIX))) return true;
  if (names.some((name) => isDeadOwner(name, renewedMs))) return true;
  if (Date.now() - renewedMs >= Math.max(OLD_MS, OLD_FACTOR * staleMs)) return true;
  const nowMs = performance.now();
  const signature = JSON.stringify([names, renewedMs]);
  const before = watches.peek(found.path);
  const quietMs =
    before?.signature === signature
      ? before.quietMs + Math.min(nowMs - before.lookedMs, MAX_WATCHED_STEP_MS)
      : 0;
  watches.set(found.path, { signature, quietMs, lookedMs: nowMs }, 1);
  return quietMs >= staleMs;
}

async function takeOver(
  directory: string,
  { path: lockPath, names }: FoundLock,
  fence: Fence,
): Promise<void> {
  const fenced: string[] = [];
  for (const name of names) {
    if (!isOwnerName(name)) continue;
    try {
      await renameEntry(path.join(lockPath, name), path.join(lockPath, FENCED_PREFIX + name));
    } catch (error) {
      // It was released, or another waiter was first.
      if (isMissing(error)) return;
      throw error;
    }
    fenced.push(FENCED_PREFIX + name);
  }
  fenced.push(...names.filter((name) => name.startsWith(FENCED_PREFIX)));
  if (fenced.length > 0) await fence(directory);
  for (const name of fenced) await removeDirectory(path.join(lockPath, name)).catch(ignoreMissing);
  // What else lies there is nobody's: an operating system's file, say. Owners that come meanwhile are not among it.
  const strange = names.filter((name) => !isOwnerName(name) && !name.startsWith(FENCED_PREFIX));
  for (const name of strange) await fs.remove(path.join(lockPath, name));
  // Another waiter may have taken the lock by now; then there is somebody in it.
  await removeDirectory(lockPath).catch(() => undefined);
}
