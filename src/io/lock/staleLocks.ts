/**
 * Locks whose holder is dead, and how they are taken from it.
 *
 * - A holder on this machine whose process is gone is dead at once (lockOwner.ts).
 * - A lock directory without a holder's entry is just being made or removed, or its process died while doing
 *   so. It is removed once it has been seen like that for a moment; a process that is still making it
 *   notices, and tries again.
 * - A lock that its last holder released, and kept for its next change, has nobody as its holder, and may be
 *   taken.
 * - Any other holder counts as dead when its entry has not changed for `staleMs` of this process's own time.
 *   Two clocks are never compared, so a lock that is dated in the future goes stale like any other. Only a
 *   lock that is old by any clock counts as dead without being watched first.
 *
 * A holder that counts as dead may merely be suspended, right before its next step. The process that takes
 * the lock over fences the holder off first, so that this step fails whenever it comes:
 *
 *   rename owner-… to fencing-…        decides who does it; the holder's own looks now tell it that the lock is lost
 *   fence(directory)                   the caller removes the files that the holder's next step would use
 *   remove fencing-…                   and the lock's directory; now anybody may take the lock
 *
 * One process fences at a time, and nobody holds the lock meanwhile; otherwise a fence would remove what the
 * next holder is about to publish. If the fencing process dies, another one renames its entry and starts
 * again.
 */

import path from "node:path";
import { ageClockMs, performance } from "../../async/timers.js";
import type { Confinement } from "../disk/confinement.js";
import { removeTree } from "../disk/directoryTrees.js";
import { codeOf, isMissing } from "../disk/errno.js";
import { LruCache } from "../memory/cache.js";
import {
  entriesOfLock,
  ignoreMissing,
  LOCK_NAME,
  removeDirectory,
  removeEntry,
  renameEntry,
  statOrUndefined,
} from "./heldLock.js";
import { type EntryKind, entryKindOf, isDeadProcess, isKeptName, newFencingName } from "./lockOwner.js";

/** Removes from a locked directory what a holder that was overruled could still publish. */
export type Fence = (directory: string) => Promise<void>;

/**
 * A lock older than this many times `staleMs`, and than this age, is not watched: clocks do not differ by as
 * much.
 */
const OLD_FACTOR = 6;
const OLD_MS = 60_000;
/** Milliseconds for which a lock may have no holder. */
const EMPTY_MS = 30;
/**
 * Of the time between two looks at most this much counts as watched: the watching process may have been
 * suspended.
 */
const MAX_WATCHED_STEP_MS = 1000;
/**
 * Milliseconds between two looks at the holder of a lock; in between it is enough to know that the lock is
 * there.
 */
const LOOK_MS = 20;
/**
 * Maximum number of watched locks; the one looked at longest ago is forgotten first, and then watched anew.
 */
const MAX_WATCHED = 1024;

/** What was seen of a lock since it last changed. */
interface Watch {
  readonly signature: string;
  /** The path of its first entry, or of the lock where it has none. */
  readonly entryPath: string;
  readonly quietMs: number;
  readonly lookedMs: number;
}

/** By the path of the lock. */
const watches = new LruCache<Watch>(MAX_WATCHED);

/**
 * An entry of a lock that names a process: one that holds the lock, is about to hold it, or fences its holder
 * off.
 */
interface FoundEntry {
  readonly name: string;
  readonly kind: EntryKind;
  /** Milliseconds since the epoch, by the clock of the process: when it last showed that it runs. */
  readonly renewedMs: number;
}

/** A lock as it lies on the disk. */
interface FoundLock {
  readonly path: string;
  /** False where somebody has put a file or a link in its place. */
  readonly isDirectory: boolean;
  readonly entries: readonly FoundEntry[];
  /** Names of the other entries in it, for example an operating system's file. */
  readonly foreignEntries: readonly string[];
  /** Milliseconds since the epoch: when the lock or one of its entries was last renewed. */
  readonly renewedMs: number;
}

/**
 * True if a living process holds the lock of a directory, as far as can be told; takes the lock from a dead
 * one.
 * @returns "free" where there is no lock, or was none a moment ago; "freed" where it was taken from a dead
 *   process, or one that kept it
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
  const found = await findLock(lockPath);
  if (found !== null && !seemsDead(found, staleMs)) return "held";
  try {
    if (found !== null) await takeOver(confinement, directory, found, fence);
  } catch (error) {
    // A kept lock of another user: only who keeps it can remove it, and does so in a moment.
    if (found !== null && isKept(found) && isForbidden(error)) return "held";
    throw error;
  }
  watches.delete(lockPath);
  return found === null ? "free" : "freed";
}

/**
 * Who holds the lock of a directory: a living process as far as can be told, one that is dead, or nobody.
 * Changes nothing on the disk.
 */
export async function lookAtLock(directory: string, staleMs: number): Promise<"held" | "dead" | "free"> {
  const found = await findLock(path.join(directory, LOCK_NAME));
  if (found === null || isKept(found)) return "free";
  return seemsDead(found, staleMs) ? "dead" : "held";
}

async function findLock(lockPath: string): Promise<FoundLock | null> {
  // Mostly there is no lock, which a stat tells far more cheaply than a failed listing.
  const stats = await statOrUndefined(lockPath);
  if (stats === undefined) return null;
  const isDirectory = stats.isDirectory();
  let names: string[];
  try {
    names = isDirectory ? await entriesOfLock(lockPath) : [];
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
  const entries: FoundEntry[] = [];
  const foreignEntries: string[] = [];
  for (const name of names.sort()) {
    const kind = entryKindOf(name);
    if (kind === null) {
      foreignEntries.push(name);
      continue;
    }
    const entry = await statOrUndefined(path.join(lockPath, name));
    // Released, or taken over, since it was listed.
    if (entry === undefined) return null;
    // A fencing entry was made by another process and then renamed; only the time of its change tells when.
    entries.push({ name, kind, renewedMs: kind === "fencing" ? entry.ctimeMs : entry.mtimeMs });
  }
  const times = entries.length === 0 ? [stats.mtimeMs] : entries.map(({ renewedMs }) => renewedMs);
  return { path: lockPath, isDirectory, entries, foreignEntries, renewedMs: Math.max(...times) };
}

const isForbidden = (error: unknown): boolean => codeOf(error) === "EACCES" || codeOf(error) === "EPERM";

/** True if the last holder of a lock has released it. */
const isKept = ({ entries }: FoundLock): boolean =>
  entries.length > 0 && entries.every(({ name }) => isKeptName(name));

/**
 * True if all processes that a lock names are dead: known to be, or silent for as long as this process has
 * watched them. This look counts as one of the watch. One that was about to hold the lock may have died
 * beside the holder.
 */
function seemsDead(
  { path: lockPath, isDirectory, entries, foreignEntries, renewedMs }: FoundLock,
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
  { path: lockPath, isDirectory, entries, foreignEntries }: FoundLock,
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
      // The lock was released, or another waiter was first, unless the answer to the first of two requests
      // was lost.
      if (!isMissing(error)) throw error;
      if ((await statOrUndefined(to)) !== undefined) taken.push({ from, to });
    }
  }
  try {
    // Who kept the lock had done its work by then.
    if (taken.some(({ from }) => !isKeptName(path.basename(from)))) await fence(directory);
  } catch (error) {
    // Others, or the next call, must find the lock as it was, and not a process that seems to be fencing.
    for (const { from, to } of taken) await renameEntry(confinement, to, from).catch(() => undefined);
    throw error;
  }
  // The entry is gone where another process took this one for dead, and fences in its place.
  for (const { to } of taken)
    await removeEntry(confinement, lockPath, path.basename(to)).catch(ignoreMissing);
  // The other entries belong to nobody. Owners that come meanwhile are not among them.
  for (const name of foreignEntries) await removeTree(confinement, path.join(lockPath, name));
  // Somebody else may have made an entry by now.
  await removeDirectory(confinement, lockPath).catch(() => undefined);
}
