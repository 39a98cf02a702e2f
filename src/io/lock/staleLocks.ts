/**
 * Recognises locks whose holder is dead, and takes them over.
 *
 * - A holder on this machine whose process has ended is dead at once (lockOwner.ts).
 * - A lock directory without a holder's entry is being made or removed, or its process died in between. It is
 *   removed after a moment without a change. If its process is still making it, that process notices and
 *   tries again.
 * - A lock that its last holder kept for the next change names nobody, and may be taken (heldLock.ts).
 * - Any other holder counts as dead if its entry has not changed for `staleMs` of this process's own time.
 *   Clocks of two machines are never compared, so a lock with a time in the future goes stale, too. Only a
 *   lock that is old by any clock counts as dead at first sight.
 *
 * A holder that counts as dead may only be suspended, right before its next step. The process that takes the
 * lock over therefore fences the holder off first, so that this step fails:
 *
 *     rename owner-… to fencing-…      decides who fences; the holder now sees that the lock is lost
 *     fence(directory)                 removes the files that the holder's next step would use
 *     remove fencing-…                 and the lock's directory; now anybody may take the lock
 *
 * One process fences at a time, and nobody holds the lock meanwhile. Otherwise a fence could remove what the
 * next holder is about to publish. If the fencing process dies, another one renames its entry and starts
 * again.
 */

import path from "node:path";
import { ageClockMs, performance, setTimeout } from "../../async/timers.js";
import type { Confinement } from "../disk/confinement.js";
import { removeTree } from "../disk/directoryTrees.js";
import { isMissing, nullIfMissing } from "../disk/errno.js";
import { LruCache } from "../memory/cache.js";
import {
  entriesOfLock,
  isForbidden,
  type KeptEntry,
  removeDirectory,
  removeEntry,
  renameEntry,
  statOrUndefined,
} from "./heldLock.js";
import { LOCK_NAME } from "./lease.js";
import { type EntryKind, entryKindOf, isDeadProcess, isKeptName, newFencingName } from "./lockOwner.js";

/** Removes an overruled holder's files from the locked directory, so that it cannot publish them. */
export type Fence = (directory: string) => Promise<void>;

/**
 * Age, in multiples of `staleMs`, from which a lock is dead at first sight (if it is also older than
 * {@link OLD_MS}): clocks do not differ by as much.
 */
const OLD_FACTOR = 6;
const OLD_MS = 60_000;
/** Milliseconds for which a lock may have no holder. */
const EMPTY_MS = 30;
/** Maximum milliseconds between two looks that count as watched: suspensions do not count. */
const MAX_WATCHED_STEP_MS = 1000;
/** Milliseconds between two looks at the holder. In between, a waiter only checks that its entry exists. */
const LOOK_MS = 50;
/**
 * Milliseconds between two such checks: a part of the time for which the waiter has seen the holder, or of
 * its last wait for the lock. So the checks of many waiters are together about as frequent as those of one.
 * Eight busy writers wait about 100 ms each, so a lower maximum would have them check ten times per wait.
 */
const PAUSE_PART = 0.25;
const MIN_PAUSE_MS = 1;
const MAX_PAUSE_MS = 25;
/** Maximum number of listings of a lock that changes hands meanwhile. */
const MAX_LISTINGS = 3;
/** Maximum number of watched locks; the one with the oldest look is forgotten first. */
const MAX_WATCHED = 1024;

/** Observation of a lock since it last changed. */
interface Watch {
  readonly signature: string;
  /** Path of its first entry, or of the lock if it has none. */
  readonly entryPath: string;
  readonly quietMs: number;
  readonly lookedMs: number;
}

const watches = new LruCache<Watch>(MAX_WATCHED);

/** Milliseconds of this thread's last wait for a lock, by the locked directory. */
const lastWaits = new LruCache<number>(MAX_WATCHED);

/** An entry of a lock that names its holder, its next holder, or a process that fences a holder off. */
interface LockEntry {
  readonly name: string;
  readonly kind: EntryKind;
  /** Milliseconds since the epoch when the process last showed that it runs, by its own clock. */
  readonly renewedMs: number;
  /** True if this process may renew the entry: another user's entry can only be renamed. */
  readonly isRenewable: boolean;
}

/** A lock as the disk shows it. */
interface LockOnDisk {
  readonly path: string;
  /** False if somebody has put a file or a link in its place. */
  readonly isDirectory: boolean;
  readonly entries: readonly LockEntry[];
  /** Names of all other entries, such as an operating system's file. */
  readonly foreignEntries: readonly string[];
  /** Milliseconds since the epoch when the lock or one of its entries was last renewed. */
  readonly renewedMs: number;
}

/**
 * Removes the lock of a directory if its holder is dead.
 * @returns "held" if a living process holds it, as far as can be told; "free" if there is no lock, or no
 *   longer; the entry to take it by if its last holder kept it
 */
export async function freeUnlessHeld(
  confinement: Confinement,
  directory: string,
  staleMs: number,
  fence: Fence,
): Promise<"held" | "free" | KeptEntry> {
  const lockPath = path.join(directory, LOCK_NAME);
  const watched = watches.peek(lockPath);
  if (watched !== undefined && performance.now() - watched.lookedMs < LOOK_MS) {
    if ((await statOrUndefined(watched.entryPath)) !== undefined) return "held";
  }
  const lock = await findLock(lockPath);
  if (lock === null) {
    watches.delete(lockPath);
    return "free";
  }
  const kept = keptEntryOf(lock);
  if (kept !== null) return kept;
  if (!seemsDead(lock, staleMs)) return "held";
  try {
    await takeOver(confinement, directory, lock, fence);
  } catch (error) {
    if (isKept(lock) && isForbidden(error)) return "held";
    throw error;
  }
  watches.delete(lockPath);
  return "free";
}

/** Records how long this thread has waited for a lock, for the pauses of its next wait. */
export const noteWait = (directory: string, waitedMs: number): void => lastWaits.set(directory, waitedMs, 1);

/**
 * Waits until the entry of the holder that {@link freeUnlessHeld} saw is gone, or until it is time for
 * another look at the holder. The longer the holder has been seen, or the longer the last wait was, the
 * longer are the pauses between two looks at its entry. They are about the same for all waiters, so that each
 * has the same chance.
 */
export function untilReleased(directory: string): Promise<void> {
  const watched = watches.peek(path.join(directory, LOCK_NAME));
  const lastWaitMs = lastWaits.peek(directory) ?? 0;
  return new Promise((resolve) => {
    const look = () => {
      if (watched === undefined || performance.now() - watched.lookedMs >= LOOK_MS) return resolve();
      // The next attempt meets the same error, and reports it.
      statOrUndefined(watched.entryPath).then((stats) => (stats === undefined ? resolve() : wait()), resolve);
    };
    const wait = () => {
      const heldMs = watched === undefined ? 0 : watched.quietMs + performance.now() - watched.lookedMs;
      const pauseMs = Math.min(
        Math.max(MIN_PAUSE_MS, heldMs * PAUSE_PART, lastWaitMs * PAUSE_PART),
        MAX_PAUSE_MS,
      );
      setTimeout(look, pauseMs * (0.5 + Math.random()));
    };
    wait();
  });
}

/** Returns the state of a lock: "held" (by a living process, as it seems), "dead" or "free". */
export async function lookAtLock(directory: string, staleMs: number): Promise<"held" | "dead" | "free"> {
  const lock = await findLock(path.join(directory, LOCK_NAME));
  if (lock === null || isKept(lock)) return "free";
  return seemsDead(lock, staleMs) ? "dead" : "held";
}

/** Finds the lock at a path; null if there is none. */
async function findLock(lockPath: string): Promise<LockOnDisk | null> {
  for (let look = 1; look <= MAX_LISTINGS; look++) {
    const lock = await listLock(lockPath);
    if (lock !== "changing") return lock;
  }
  return null;
}

/** Returns the state of a lock; "changing" if it was released or taken over after the listing. */
async function listLock(lockPath: string): Promise<LockOnDisk | null | "changing"> {
  // Mostly there is no lock, and a stat costs far less than a failed listing.
  const stats = await statOrUndefined(lockPath);
  if (stats === undefined) return null;
  const isDirectory = stats.isDirectory();
  const names = isDirectory ? await entriesOfLock(lockPath).catch(nullIfMissing) : [];
  if (names === null) return null;
  const entries: LockEntry[] = [];
  const foreignEntries: string[] = [];
  for (const name of names.sort()) {
    const kind = entryKindOf(name);
    if (kind === null) {
      foreignEntries.push(name);
      continue;
    }
    const entry = await statOrUndefined(path.join(lockPath, name));
    if (entry === undefined) return "changing";
    // Another process made the entry before its renaming; only its change time shows when the fencing
    // began.
    const renewedMs = kind === "fencing" ? entry.ctimeMs : entry.mtimeMs;
    entries.push({ name, kind, renewedMs, isRenewable: mayRenew(entry.uid) });
  }
  const times = entries.length === 0 ? [stats.mtimeMs] : entries.map(({ renewedMs }) => renewedMs);
  return { path: lockPath, isDirectory, entries, foreignEntries, renewedMs: Math.max(...times) };
}

/** Returns true if this process may set the times of an entry of a user. */
function mayRenew(uid: number): boolean {
  const ours = process.getuid?.();
  return ours === undefined || ours === 0 || ours === uid;
}

/** Returns the entry by which any process of its user may take a kept lock; null if there is none. */
function keptEntryOf(lock: LockOnDisk): KeptEntry | null {
  const [entry] = lock.entries;
  const isTakable = isKept(lock) && lock.entries.length === 1 && lock.foreignEntries.length === 0;
  return isTakable && entry.isRenewable ? entry : null;
}

/** Returns true if the last holder of a lock has released it. */
const isKept = ({ entries }: LockOnDisk): boolean =>
  entries.length > 0 && entries.every(({ name }) => isKeptName(name));

/**
 * Returns true if all processes that a lock names are dead, or have been silent for as long as this process
 * has watched them. This look is part of the watch. A process that was about to hold the lock may have died
 * beside the holder.
 */
function seemsDead(
  { path: lockPath, isDirectory, entries, foreignEntries, renewedMs }: LockOnDisk,
  staleMs: number,
): boolean {
  const nowMs = performance.now();
  const signature = JSON.stringify([entries, foreignEntries, renewedMs]);
  const before = watches.peek(lockPath);
  // A process that took the lock a moment ago, since the last look, runs. The next look asks for it.
  const isNew =
    before !== undefined && before.signature !== signature && nowMs - before.lookedMs < 2 * LOOK_MS;
  const mayBeDead = !isNew || entries.every(({ name }) => isKeptName(name));
  if (mayBeDead && entries.length > 0) {
    if (entries.every((entry) => isDeadProcess(entry.name, entry.renewedMs))) return true;
  }
  if (ageClockMs() - renewedMs >= Math.max(OLD_MS, OLD_FACTOR * staleMs)) return true;
  const quietMs =
    before?.signature === signature
      ? before.quietMs + Math.min(nowMs - before.lookedMs, MAX_WATCHED_STEP_MS)
      : 0;
  const entryPath = entries.length === 0 ? lockPath : path.join(lockPath, entries[0].name);
  watches.set(lockPath, { signature, entryPath, quietMs, lookedMs: nowMs }, 1);
  const isEmpty = isDirectory && entries.length === 0 && foreignEntries.length === 0;
  return quietMs >= (isEmpty ? EMPTY_MS : staleMs);
}

async function takeOver(
  confinement: Confinement,
  directory: string,
  { path: lockPath, isDirectory, entries, foreignEntries }: LockOnDisk,
  fence: Fence,
) {
  if (!isDirectory) return removeTree(confinement, lockPath);
  const taken: { readonly from: string; readonly to: string }[] = [];
  for (const { name } of entries) {
    const [from, to] = [path.join(lockPath, name), path.join(lockPath, newFencingName())];
    try {
      await renameEntry(confinement, from, to);
      taken.push({ from, to });
    } catch (error) {
      // The lock was released, another waiter was first, or the answer to the first of two requests was
      // lost.
      if (!isMissing(error)) throw error;
      if ((await statOrUndefined(to)) !== undefined) taken.push({ from, to });
    }
  }
  try {
    // A process that kept the lock had finished its work.
    if (taken.some(({ from }) => !isKeptName(path.basename(from)))) await fence(directory);
  } catch (error) {
    // This process does not fence any more, so it restores the names for the next attempt.
    for (const { from, to } of taken) await renameEntry(confinement, to, from).catch(() => undefined);
    throw error;
  }
  // If an entry is gone, another process took this one for dead and fences instead.
  for (const { to } of taken)
    await removeEntry(confinement, lockPath, path.basename(to)).catch(nullIfMissing);
  // The foreign entries belong to nobody. Owners that arrive meanwhile are not among them.
  for (const name of foreignEntries) await removeTree(confinement, path.join(lockPath, name));
  // Another process may have made an entry meanwhile.
  await removeDirectory(confinement, lockPath).catch(() => undefined);
}
