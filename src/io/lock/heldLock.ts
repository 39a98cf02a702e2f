/**
 * Holds a lock once, from the attempt to take it to its release. The lock is a directory, and an entry in it
 * names the owner (see lockOwner.ts):
 *
 *     .tiltyard.lock/               mkdir takes the lock
 *       owner-…/                    made right after; the lock is held as long as this entry exists. A file
 *                                   on a full disk. Its holder moves entries to remove into it (publish.ts)
 *       fencing-…/                  the entry of an overruled holder, while another process fences it off
 *                                   (staleLocks.ts)
 *
 * Single steps on the owner's entry decide everything. A release removes the entry, so nobody can release a
 * lock that another process holds. A takeover renames it, so only one of several waiters takes over, and a
 * former holder that wakes up finds its entry gone.
 *
 * Making and removing directories often costs more than a change of the table. A process that changes a table
 * repeatedly may therefore keep the lock when it releases it (`keep`), by renaming its entry to one that
 * names nobody. Such a lock is free: any process may rename the entry again and so take the lock (`retake`,
 * `kept`). The first of them gets it. Processes that wait for each other thus hand one directory over, and
 * file systems are spared a new one for each change.
 *
 * A directory without an owner's entry is unlocked: its maker died, or is about to make the entry. A waiter
 * may remove it. Its maker then fails to make the entry, and tries again.
 *
 * proper-lockfile makes the directory and renews the entry's time every half `staleMs`. Its signal-exit
 * handler releases the held locks when the process exits or a signal ends it. This class provides its file
 * system, by the short route of callRoute.ts.
 */

import path from "node:path";
import fs from "fs-extra";
import { performance } from "../../async/timers.js";
import { lockCalls } from "../disk/callRoute.js";
import type { Confinement } from "../disk/confinement.js";
import { removeTree, removeTreeNow } from "../disk/directoryTrees.js";
import { codeOf, isDiskFull, isMissing, nullIfMissing } from "../disk/errno.js";
import { onEntry, onEntryNow, onEntryOfPool, onTwoEntries } from "../disk/fileCalls.js";
import type { LockLease } from "../disk/locks.js";
import { temporaryName } from "../names/temporaryNames.js";
import { LeaseLostError, LOCK_NAME } from "./lease.js";
import lockfile from "./lockfile.js";
import { newKeptName, newOwnerName } from "./lockOwner.js";

type NodeDone = (error: Error | null) => void;

/** Entry of a lock that its last holder kept. */
export interface KeptEntry {
  readonly name: string;
  /** Milliseconds since the epoch when a holder last renewed it. */
  readonly renewedMs: number;
}

/** Age up to which the entry of a kept lock is not renewed, as a part of the time that makes a lock stale. */
const FRESH_PART = 0.25;

/** An attempt to take a table's lock, and then its hold. It is also the file system of proper-lockfile. */
export class HeldLock implements LockLease {
  readonly #confinement: Confinement;
  readonly #staleMs: number;
  #directory: string;
  #lockPath: string;
  /** Name of the owner's entry. */
  #owner: string;
  #ownerPath: string;
  #wasMoved = false;
  /** Latest renaming of the entry; true if it succeeded. */
  #renaming: Promise<boolean> = Promise.resolve(true);
  #release: (() => Promise<void>) | null = null;
  #isHeld = false;
  readonly #kept: KeptEntry | undefined;
  #lost = false;
  #renewedMs = 0;
  #renewedTickMs = 0;
  /** Time of the entry that proper-lockfile set last. */
  #setTo = new Date();

  /** @param kept entry of a lock that its last holder kept, to take it over. Default: makes a new lock */
  constructor(confinement: Confinement, directory: string, staleMs: number, kept?: KeptEntry) {
    this.#kept = kept;
    this.#confinement = confinement;
    this.#directory = directory;
    this.#lockPath = path.join(directory, LOCK_NAME);
    this.#owner = newOwnerName();
    this.#ownerPath = path.join(this.#lockPath, this.#owner);
    this.#staleMs = staleMs;
  }

  get directory(): string {
    return this.#directory;
  }

  get compromised(): boolean {
    // One of the two clocks stops while the machine sleeps; the other may be set back.
    const elapsedMs = Math.max(Date.now() - this.#renewedMs, performance.now() - this.#renewedTickMs);
    return this.#lost || elapsedMs >= this.#staleMs;
  }

  async confirm(): Promise<void> {
    if (!this.#lost) {
      const isOverdue = this.compromised;
      this.#lost = !(await (isOverdue ? this.#touch() : this.#isThere()));
    }
    if (this.#lost) throw new LeaseLostError(this.#directory);
  }

  /** Path of the owner's entry; a file on a full disk. Undefined on Windows, where open files keep it. */
  get hold(): string | undefined {
    return process.platform === "win32" ? undefined : this.#ownerPath;
  }

  movedTo(directory: string): void {
    this.#directory = directory;
    this.#lockPath = path.join(directory, LOCK_NAME);
    this.#ownerPath = path.join(this.#lockPath, this.#owner);
    this.#wasMoved = true;
  }

  /** Takes the lock; returns false if another process holds it. */
  async tryAcquire(): Promise<boolean> {
    try {
      this.#release = await lockfile.lock(this.#directory, {
        lockfilePath: this.#lockPath,
        realpath: false,
        retries: 0,
        stale: this.#staleMs,
        fs: this.#fileSystem(),
        // The default handler throws in a timer, which would end the process.
        onCompromised: () => {
          this.#lost = true;
        },
      });
      return true;
    } catch (error) {
      if (codeOf(error) === "ELOCKED") return false;
      throw error;
    }
  }

  /**
   * Releases the lock so that it can be retaken.
   * @returns false if the caller must release it in full
   */
  async keep(): Promise<boolean> {
    if (this.#release === null || this.#wasMoved || this.compromised) return false;
    return this.#rename(newKeptName());
  }

  /**
   * Takes a kept lock again.
   * @returns false if another process was first or the settings differ; the caller must then release it
   */
  async retake(staleMs: number): Promise<boolean> {
    if (staleMs !== this.#staleMs || this.compromised || !(await this.#rename(newOwnerName()))) return false;
    // Two owners in one directory both give way, as in `#make`.
    return this.#isAlone().catch(() => false);
  }

  async release(): Promise<void> {
    if (this.#release === null) return;
    try {
      await this.#release();
    } catch {
      // The work under the lock has already succeeded or failed. Another process releases a lost lock
      // (ERELEASED, ENOTACQUIRED). A lock that could not be removed is not renewed any more and goes stale.
      this.#lost = true;
    }
  }

  /** Renames the entry; returns false if it is gone or cannot be renamed. */
  #rename(name: string): Promise<boolean> {
    const target = path.join(this.#lockPath, name);
    const rename = async (): Promise<boolean> => {
      try {
        await renameEntry(this.#confinement, this.#ownerPath, target);
      } catch {
        // The request may have been repeated after its first answer was lost.
        if ((await statOrUndefined(target).catch(() => undefined)) === undefined) return false;
      }
      this.#owner = name;
      this.#ownerPath = target;
      return true;
    };
    this.#renaming = rename();
    return this.#renaming;
  }

  /** Makes a call on the entry, whose name may change during the call. */
  async #onEntry<T>(call: (entry: string) => Promise<T>): Promise<T> {
    const entry = this.#ownerPath;
    try {
      return await call(entry);
    } catch (error) {
      await this.#renaming;
      if (this.#ownerPath === entry) throw error;
      return call(this.#ownerPath);
    }
  }

  /** Returns true if the owner's entry is the only entry. */
  async #isAlone(): Promise<boolean> {
    const entries = await entriesOfLock(this.#lockPath).catch(nullIfMissing);
    return entries?.length === 1 && entries[0] === this.#owner;
  }

  async #isThere(): Promise<boolean> {
    return (await statOrUndefined(this.#ownerPath)) !== undefined;
  }

  /** Renews the lock; returns false if it is gone. */
  async #touch(): Promise<boolean> {
    const now = new Date();
    const set = await setTimes(this.#confinement, this.#ownerPath, now).catch(nullIfMissing);
    if (set === null) return false;
    this.#noteRenewal(now);
    return true;
  }

  #noteRenewal(setTo: Date): void {
    this.#setTo = setTo;
    this.#renewedMs = Date.now();
    this.#renewedTickMs = performance.now();
  }

  /** Makes or takes over the lock; fails with EEXIST if another process was first. */
  async #take(): Promise<void> {
    const takenAt = new Date();
    const kept = this.#kept;
    await (kept === undefined ? this.#make() : this.#takeKept(kept));
    // If the directory was removed and made again meanwhile, it may hold two entries, and both owners give
    // way. If this process was suspended for long, others took it for dead and removed its entry.
    if (!(await this.#isAlone())) {
      await removeEntry(this.#confinement, this.#lockPath, this.#owner).catch(nullIfMissing);
      throw heldByAnother();
    }
    this.#noteRenewal(takenAt);
    this.#isHeld = true;
  }

  /** Makes the lock's directory and the owner's entry. */
  async #make(): Promise<void> {
    await makeDirectory(this.#confinement, this.#lockPath);
    try {
      await makeEntry(this.#confinement, this.#ownerPath);
    } catch (error) {
      // A waiter took the directory for an abandoned one and removed it.
      if (isMissing(error)) throw heldByAnother();
      await removeDirectory(this.#confinement, this.#lockPath).catch(() => undefined);
      throw error;
    }
  }

  /** Renames the entry of a kept lock to the owner's. */
  async #takeKept({ name, renewedMs }: KeptEntry): Promise<void> {
    try {
      await renameEntry(this.#confinement, path.join(this.#lockPath, name), this.#ownerPath);
    } catch (error) {
      // The request may have been repeated after its first answer was lost.
      if ((await statOrUndefined(this.#ownerPath).catch(() => undefined)) === undefined)
        throw isMissing(error) || isForbidden(error) ? heldByAnother() : error;
    }
    // The entry keeps its time when it is renamed, and passes through many hands.
    const isFresh = Math.abs(Date.now() - renewedMs) < this.#staleMs * FRESH_PART;
    if (isFresh || (await this.#touch().catch(() => false))) return;
    await removeEntry(this.#confinement, this.#lockPath, this.#owner).catch(() => undefined);
    throw heldByAnother();
  }

  /** Removes the owner's entry, which decides the release; then the directory unless it has another. */
  async #unmake(): Promise<void> {
    await removeEntry(this.#confinement, this.#lockPath, this.#owner);
    await removeDirectory(this.#confinement, this.#lockPath).catch(() => undefined);
  }

  #unmakeNow(): void {
    removeTreeNow(this.#confinement, this.#ownerPath);
    onEntryNow(this.#confinement, this.#lockPath, (lock) => fs.rmdirSync(lock));
  }

  /** Returns the calls that proper-lockfile makes, all on the lock's directory. */
  #fileSystem() {
    return {
      mkdir: (_: string, done: NodeDone) => answer(this.#take(), done),
      // An attempt needs no stat: the caller has looked for another holder, and the new entry's time is
      // known.
      stat: (_: string, done: (error: Error | null, stats?: { mtime: Date }) => void) => {
        if (!this.#isHeld) return answer(Promise.resolve({ mtime: new Date() }), done);
        if (this.#release === null) return answer(Promise.resolve({ mtime: this.#setTo }), done);
        return answer(
          this.#onEntry(statEntry).then(() => ({ mtime: this.#setTo })),
          done,
        );
      },
      utimes: (_: string, __: Date, modified: Date, done: NodeDone) => {
        if (this.#release === null) {
          this.#setTo = modified;
          return answer(Promise.resolve(), done);
        }
        return answer(
          this.#onEntry((entry) => setTimes(this.#confinement, entry, modified)).then(() =>
            this.#noteRenewal(modified),
          ),
          done,
        );
      },
      rmdir: (_: string, done: NodeDone) => answer(this.#unmake(), done),
      rmdirSync: () => this.#unmakeNow(),
      realpath: fs.realpath,
    };
  }
}

/**
 * Returns true if an entry may not be renamed: another user keeps the lock, or a process on Windows looks at
 * it. In a moment, the process that keeps it removes it.
 */
export const isForbidden = (error: unknown): boolean =>
  codeOf(error) === "EACCES" || codeOf(error) === "EPERM";

/** Returns the error that proper-lockfile expects if the directory already exists. */
const heldByAnother = (): Error =>
  Object.assign(new Error("another process holds the lock"), { code: "EEXIST" });

/**
 * Passes a promise's outcome to a callback. An error that the callback throws must not count as a failure of
 * the call.
 */
function answer<T>(call: Promise<T>, done: (error: Error | null, value?: T) => void): void {
  call.then(
    (value) => done(null, value),
    (error) => done(error),
  );
}

// ------------------------------------------------------------------------ calls of locks, by the short route

/** Lists the entries of a lock; fails if the directory does not exist. */
export const entriesOfLock = (directory: string): Promise<string[]> =>
  lockCalls.run<string[]>(
    () => fs.readdirSync(directory),
    (done) => fs.readdir(directory, done),
  );

const makeDirectory = (confinement: Confinement, directory: string): Promise<void> =>
  onEntry<void>(
    confinement,
    directory,
    (entry) => void fs.mkdirSync(entry),
    (entry, done) => fs.mkdir(entry, (error) => done(error, undefined)),
    lockCalls,
  );

/** Makes an owner's entry. On a full disk it is an empty file, which needs no block. */
async function makeEntry(confinement: Confinement, entryPath: string): Promise<void> {
  try {
    await makeDirectory(confinement, entryPath);
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    await onEntryOfPool(confinement, entryPath, (entry) => fs.writeFile(entry, "", { flag: "wx" }));
  }
}

export const removeDirectory = (confinement: Confinement, directory: string): Promise<void> =>
  onEntry<void>(
    confinement,
    directory,
    (entry) => fs.rmdirSync(entry),
    (entry, done) => fs.rmdir(entry, (error) => done(error, undefined)),
    lockCalls,
  );

/**
 * Removes an entry of a lock, with what its owner moved into it. Fails with ENOENT if there is none. An entry
 * that cannot be removed (another user's, or open on a network file system) must not block the lock: it is
 * moved beside the lock, as a temporary directory.
 */
export async function removeEntry(confinement: Confinement, lockPath: string, name: string): Promise<void> {
  const entry = path.join(lockPath, name);
  try {
    await removeDirectory(confinement, entry);
  } catch (error) {
    if (codeOf(error) === "ENOENT") throw error;
    await removeTree(confinement, entry).catch(() =>
      renameEntry(confinement, entry, path.join(path.dirname(lockPath), temporaryName())),
    );
  }
}

export const renameEntry = (confinement: Confinement, from: string, to: string): Promise<void> =>
  onTwoEntries(
    confinement,
    [from, to],
    (entry, target) => fs.renameSync(entry, target),
    (entry, target, done) => fs.rename(entry, target, (error) => done(error, undefined)),
    lockCalls,
  );

const setTimes = (confinement: Confinement, entryPath: string, time: Date): Promise<void> =>
  onEntry(
    confinement,
    entryPath,
    (entry) => fs.lutimesSync(entry, time, time),
    (entry, done) => fs.lutimes(entry, time, time, (error) => done(error, undefined)),
    lockCalls,
  );

const statEntry = (entry: string): Promise<fs.Stats> =>
  lockCalls.run<fs.Stats>(
    () => fs.statSync(entry),
    (done) => fs.stat(entry, done),
  );

/** Returns the stats of the path itself, also of a link; undefined if it does not exist. */
export function statOrUndefined(entry: string): Promise<fs.Stats | undefined> {
  return lockCalls.run<fs.Stats | undefined>(
    () => fs.lstatSync(entry, { throwIfNoEntry: false }),
    (done) => fs.lstat(entry, (error, stats) => done(error && !isMissing(error) ? error : null, stats)),
  );
}
