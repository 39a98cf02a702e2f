/**
 * One hold of a lock, from the attempt to take it to its release. The lock is a directory, and an entry in it
 * names the owner that holds it (see lockOwner.ts):
 *
 *   .tiltyard.lock/                 mkdir takes it
 *     owner-…/                      made right after; the lock is held as long as this very entry is there. A file on
 *                                   a full disk. What its holder takes away is moved into it (publish.ts)
 *     fencing-…/                    the entry of a holder that was overruled, while another process fences it off
 *                                   (staleLocks.ts)
 *
 * Single steps on the owner's entry decide everything. A release removes the entry, so that nobody releases a
 * lock that is another's by then. A takeover renames it, so that only one of several waiters takes over, and
 * a holder that wakes up later finds its entry gone.
 *
 * A process that changes a table again and again need not make and remove directories each time, which cost
 * many file systems more than the change: it may keep the lock when it releases it (`keep`). That renames its
 * entry to one that names nobody. Such a lock is free. Another process removes it; the one that kept it
 * renames the entry again (`retake`), and whoever of them is first has it.
 *
 * Nobody holds a directory without an owner's entry: its maker died, or was about to make the entry. A waiter
 * may remove it; the maker then fails to make the entry, and tries again.
 *
 * proper-lockfile drives it: it makes the directory, renews the entry's time every half `staleMs`, and its
 * signal-exit handler releases the held locks when the process exits or a signal ends it. It works on the
 * file system that this class provides, by the short route of callRoute.ts.
 */

import path from "node:path";
import fs from "fs-extra";
import { performance } from "../../async/timers.js";
import { lockCalls } from "../disk/callRoute.js";
import type { Confinement } from "../disk/confinement.js";
import { removeTree, removeTreeNow } from "../disk/directoryTrees.js";
import { codeOf, isDiskFull, isMissing } from "../disk/errno.js";
import { onEntry, onEntryNow, onEntryOfPool, onTwoEntries } from "../disk/fileCalls.js";
import { temporaryName } from "../names/temporaryNames.js";
import { LeaseLostError, type LockLease } from "./lease.js";
import lockfile from "./lockfile.js";
import { newKeptName, newOwnerName } from "./lockOwner.js";

/** Name of the lock within a table's directory. */
export const LOCK_NAME = ".tiltyard.lock";

type NodeDone = (error: Error | null) => void;

/**
 * One attempt to take a table's lock, then one hold of it; also the file system that proper-lockfile works
 * on.
 */
export class HeldLock implements LockLease {
  readonly #confinement: Confinement;
  readonly #staleMs: number;
  #directory: string;
  #lockPath: string;
  /** The name of the entry. */
  #owner: string;
  #ownerPath: string;
  #wasMoved = false;
  /** The change of the entry's name that is under way, or was the last. */
  #renaming: Promise<boolean> = Promise.resolve(true);
  #release: (() => Promise<void>) | null = null;
  #isHeld = false;
  #lost = false;
  #renewedMs = 0;
  #renewedTickMs = 0;
  /** The time of the entry, as proper-lockfile set it last. */
  #setTo = new Date();

  constructor(confinement: Confinement, directory: string, staleMs: number) {
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
    // One of the two clocks stands still while the machine sleeps, the other may be set back.
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

  /**
   * The owner's entry; a file on a full disk. None on Windows, where it has to stay while a file in it is
   * open.
   */
  get hold(): string | undefined {
    return process.platform === "win32" ? undefined : this.#ownerPath;
  }

  movedTo(directory: string): void {
    this.#directory = directory;
    this.#lockPath = path.join(directory, LOCK_NAME);
    this.#ownerPath = path.join(this.#lockPath, this.#owner);
    this.#wasMoved = true;
  }

  /** False where another holds it. */
  async tryAcquire(): Promise<boolean> {
    try {
      this.#release = await lockfile.lock(this.#directory, {
        lockfilePath: this.#lockPath,
        realpath: false,
        retries: 0,
        stale: this.#staleMs,
        fs: this.#fileSystem(),
        // The default throws out of a timer, which would end the process.
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
   * @returns false where it must be released in full
   */
  async keep(): Promise<boolean> {
    if (this.#release === null || this.#wasMoved || this.compromised) return false;
    return this.#rename(newKeptName());
  }

  /**
   * Takes a lock again that was kept.
   * @returns false where another process was first, or the lock must be taken as any other: it must be
   *   released then
   */
  async retake(staleMs: number): Promise<boolean> {
    if (staleMs !== this.#staleMs || this.compromised || !(await this.#rename(newOwnerName()))) return false;
    // As after making it: who was about to make an entry in a directory of this name gives way, as this one
    // does.
    return this.#isAlone().catch(() => false);
  }

  async release(): Promise<void> {
    if (this.#release === null) return;
    try {
      await this.#release();
    } catch {
      // The work under the lock is decided by now. A lock that was lost (ERELEASED, ENOTACQUIRED) is
      // another's to release, and one that could not be removed is no longer renewed and goes stale.
      this.#lost = true;
    }
  }

  /** Gives the entry another name; false where it is not there any more, or can't be renamed. */
  #rename(name: string): Promise<boolean> {
    const target = path.join(this.#lockPath, name);
    const rename = async (): Promise<boolean> => {
      try {
        await renameEntry(this.#confinement, this.#ownerPath, target);
      } catch {
        // The answer to the first of two requests may have been lost.
        if ((await statOrUndefined(target).catch(() => undefined)) === undefined) return false;
      }
      this.#owner = name;
      this.#ownerPath = target;
      return true;
    };
    this.#renaming = rename();
    return this.#renaming;
  }

  /** Makes a call on the entry, whose name may change meanwhile. */
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

  /** True if the owner's entry is there, and no other one. */
  async #isAlone(): Promise<boolean> {
    try {
      const entries = await entriesOfLock(this.#lockPath);
      return entries.length === 1 && entries[0] === this.#owner;
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  }

  async #isThere(): Promise<boolean> {
    return (await statOrUndefined(this.#ownerPath)) !== undefined;
  }

  /** Renews the lock; false where it is gone. */
  async #touch(): Promise<boolean> {
    const now = new Date();
    try {
      await setTimes(this.#confinement, this.#ownerPath, now);
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
    this.#noteRenewal(now);
    return true;
  }

  #noteRenewal(setTo: Date): void {
    this.#setTo = setTo;
    this.#renewedMs = Date.now();
    this.#renewedTickMs = performance.now();
  }

  /** Makes the lock's directory and the owner's entry in it; fails with EEXIST where another was first. */
  async #make(): Promise<void> {
    const madeAt = new Date();
    await makeDirectory(this.#confinement, this.#lockPath);
    try {
      await makeEntry(this.#confinement, this.#ownerPath);
    } catch (error) {
      // A waiter removed the directory because it took it for an abandoned one.
      if (isMissing(error)) throw heldByAnother();
      await removeDirectory(this.#confinement, this.#lockPath).catch(() => undefined);
      throw error;
    }
    // A directory that was removed and made again meanwhile may hold two entries: both owners give way. Where
    // this process was suspended for long, others took it for dead, and its entry is gone.
    if (!(await this.#isAlone())) {
      await removeEntry(this.#confinement, this.#lockPath, this.#owner).catch(ignoreMissing);
      throw heldByAnother();
    }
    this.#noteRenewal(madeAt);
    this.#isHeld = true;
  }

  /**
   * Removes the owner's entry, which decides the release, then the directory unless it holds another entry.
   */
  async #unmake(): Promise<void> {
    await removeEntry(this.#confinement, this.#lockPath, this.#owner);
    await removeDirectory(this.#confinement, this.#lockPath).catch(() => undefined);
  }

  #unmakeNow(): void {
    removeTreeNow(this.#confinement, this.#ownerPath);
    onEntryNow(this.#confinement, this.#lockPath, (lock) => fs.rmdirSync(lock));
  }

  /** The calls proper-lockfile makes, all of them for the lock's directory. */
  #fileSystem() {
    return {
      mkdir: (_: string, done: NodeDone) => answer(this.#make(), done),
      // While the lock is being taken there is nothing to find out: the caller has already looked for another
      // holder, and the time of an entry just made is known.
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

/** The error that proper-lockfile expects from an attempt to make a directory that is already there. */
const heldByAnother = (): Error =>
  Object.assign(new Error("the lock is another's by now"), { code: "EEXIST" });

/**
 * Answers a callback from a promise; what the callback throws must not come back as the call's own failure.
 */
function answer<T>(call: Promise<T>, done: (error: Error | null, value?: T) => void): void {
  call.then(
    (value) => done(null, value),
    (error) => done(error),
  );
}

// ------------------------------------------------------------------------- calls of locks, by the short route

export function ignoreMissing(error: unknown): void {
  if (!isMissing(error)) throw error;
}

/** Names of the entries of a directory; fails where there is no directory. */
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

/** Makes the entry of an owner. On a full disk it is an empty file, which needs no room of its own. */
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
 * Removes an entry of a lock: an empty directory, unless it holds what its owner took away, or is of another
 * kind. Fails with ENOENT where there is none. What can't be removed, because it is another user's or open on
 * a network file system, must not keep the lock: the entry is moved beside it, as a temporary directory.
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

/** The stats of a path itself, even where it is a link; undefined where there is nothing. */
export function statOrUndefined(entry: string): Promise<fs.Stats | undefined> {
  return lockCalls.run<fs.Stats | undefined>(
    () => fs.lstatSync(entry, { throwIfNoEntry: false }),
    (done) => fs.lstat(entry, (error, found) => done(error && !isMissing(error) ? error : null, found)),
  );
}
