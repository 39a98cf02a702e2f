/**
 * Recognises locks whose holder is dead, and takes them over.
 *
 * - A holder on this machine whose process has ended is dead at once (lockOwner.ts).
 * - A lock directory without a holder's entry is being made or removed, or its process died in between. It is
 *   removed after a moment without a change. If its process is still making it, that process notices and
 *   tries again.
 * - A lock that its last holder kept for its next change names nobody, and may be taken.
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
import { ageClockMs, performance } from "../../async/timers.js";
import type { Confinement } from "../disk/confinement.js";
import { removeTree } from "../disk/directoryTrees.js";
import { codeOf, isMissing, nullIfMissing } from "../disk/errno.js";
import { LruCache } from "../memory/cache.js";
import { entriesOfLock, removeDirectory, removeEntry, renameEntry, statOrUndefined } from "./heldLock.js";
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
/** Milliseconds between two looks at the holder. In between, a waiter only checks that the lock exists. */
const LOOK_MS = 20;
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

/** An entry of a lock that names its holder, its next holder, or a process that fences a holder off. */
interface LockEntry {
  readonly name: string;
  readonly kind: EntryKind;
  /** Milliseconds since the epoch when the process last showed that it runs, by its own clock. */
  readonly renewedMs: number;
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
 * Takes the lock of a directory from a dead process.
 * @returns "held" if a living process holds it, as far as can be told; "free" if there is no lock; "freed" if
 *   it was taken from a dead process or one that kept it
 */
export async function freeUnlessHeld(
  confinement: Confinement,
  directory: string,
  staleMs: number,
  fence: Fence,
): Promise<"held" | "freed" | "free"> {
  const lockPath = path.join(directory, LOCK_NAME);
  const watched = watches.peek(lockPath);
  if (watched !== undefined && performance.now() - watched.lookedMs < LOOK_MS) {
    if ((await statOrUndefined(watched.entryPath)) !== undefined) return "held";
  }
  const lock = await findLock(lockPath);
  if (lock !== null && !seemsDead(lock, staleMs)) return "held";
  try {
    if (lock !== null) await takeOver(confinement, directory, lock, fence);
  } catch (error) {
    // Another user keeps this lock. Only that process can remove it, and does so in a moment.
    if (lock !== null && isKept(lock) && isForbidden(error)) return "held";
    throw error;
  }
  watches.delete(lockPath);
  return lock === null ? "free" : "freed";
}

/** Returns the state of a lock: "held" (by a living process, as it seems), "dead" or "free". */
export async function lookAtLock(directory: string, staleMs: number): Promise<"held" | "dead" | "free"> {
  const lock = await findLock(path.join(directory, LOCK_NAME));
  if (lock === null || isKept(lock)) return "free";
  return seemsDead(lock, staleMs) ? "dead" : "held";
}

async function findLock(lockPath: string): Promise<LockOnDisk | null> {
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
    // The lock was released or taken over after the listing.
    if (entry === undefined) return null;
    // Another process made the entry before its renaming; only its change time shows when the fencing
    // began.
    entries.push({ name, kind, renewedMs: kind === "fencing" ? entry.ctimeMs : entry.mtimeMs });
  }
  const times = entries.length === 0 ? [stats.mtimeMs] : entries.map(({ renewedMs }) => renewedMs);
  return { path: lockPath, isDirectory, entries, foreignEntries, renewedMs: Math.max(...times) };
}

const isForbidden = (error: unknown): boolean => codeOf(error) === "EACCES" || codeOf(error) === "EPERM";

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
  if (entries.length > 0 && entries.every((entry) => isDeadProcess(entry.name, entry.renewedMs))) return true;
  if (ageClockMs() - renewedMs >= Math.max(OLD_MS, OLD_FACTOR * staleMs)) return true;
  const nowMs = performance.now();
  const signature = JSON.stringify([entries, foreignEntries, renewedMs]);
  const before = watches.peek(lockPath);
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
