/**
 * One holding of a lock, from the attempt to take it to its release. The lock is a directory; who holds it is the
 * entry in it that names the owner (see lockOwner.ts):
 *
 *   .tiltyard.lock/                 mkdir takes it
 *     owner-…/                      made right after; the lock is held as long as this very entry is there. A file on
 *                                   a full disk
 *     fencing-…/                    the entry of a holder that was overruled, while another process fences it off
 *                                   (staleLocks.ts)
 *
 * Everything is decided by single steps on the owner's entry. Releasing removes it, so that nobody releases a lock
 * that is another's by then. Taking over renames it, so that of several waiters one does it, and the holder that
 * wakes up later finds that its entry is gone.
 *
 * A directory without an owner is held by nobody: its maker died, or was about to make its entry. A waiter may remove
 * it; the maker then fails to make the entry, and tries again.
 *
 * proper-lockfile drives it: it makes the directory, renews the entry's time every half `staleMs`, and its signal-exit
 * handler releases what is held when the process exits or a signal ends it. The file system it works on is this
 * class's, by the short route of callRoute.ts.
 */

import path from "node:path";
import fs from "fs-extra";
import lockfile from "proper-lockfile";
import { lockCalls } from "../disk/callRoute.js";
import { codeOf, isDiskFull, isMissing } from "../disk/errno.js";
import { LeaseLostError, type LockLease } from "./lease.js";
import { newOwnerName } from "./lockOwner.js";

/** Name of the lock within a table's directory. */
export const LOCK_NAME = ".tiltyard.lock";

type NodeDone = (error: Error | null) => void;

/** One attempt to hold, then one holding of, a table's lock; also the file system proper-lockfile works on. */
export class HeldLock implements LockLease {
  readonly #owner = newOwnerName();
  readonly #staleMs: number;
  #directory: string;
  #release: (() => Promise<void>) | null = null;
  #isHeld = false;
  #lost = false;
  #renewedMs = 0;
  #renewedTickMs = 0;
  /** The time of the entry, as proper-lockfile set it last. */
  #setTo = new Date();

  constructor(directory: string, staleMs: number) {
    this.#directory = directory;
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

  movedTo(directory: string): void {
    this.#directory = directory;
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

  async release(): Promise<void> {
    if (this.#release === null) return;
    try {
      await this.#release();
    } catch {
      // What was done under the lock is decided. A lock that was lost (ERELEASED, ENOTACQUIRED) is another's
      // to release, and one that could not be removed is no longer renewed and goes stale.
      this.#lost = true;
    }
  }

  get #lockPath(): string {
    return path.join(this.#directory, LOCK_NAME);
  }

  get #ownerPath(): string {
    return path.join(this.#lockPath, this.#owner);
  }

  async #isThere(): Promise<boolean> {
    return (await statOrUndefined(this.#ownerPath)) !== undefined;
  }

  /** Renews the lock; false where it is not there any more. */
  async #touch(): Promise<boolean> {
    const now = new Date();
    try {
      await setTimes(this.#ownerPath, now);
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
    await makeDirectory(this.#lockPath);
    try {
      await makeEntry(this.#ownerPath);
    } catch (error) {
      // Somebody took the directory for one that its maker has left behind.
      if (isMissing(error)) throw heldByAnother();
      await removeDirectory(this.#lockPath).catch(() => undefined);
      throw error;
    }
    // In a directory that was removed and made again meanwhile, there are two: each of them gives way.
    if ((await namesIn(this.#lockPath)).length !== 1) {
      await removeEntry(this.#ownerPath).catch(ignoreMissing);
      throw heldByAnother();
    }
    this.#noteRenewal(madeAt);
    this.#isHeld = true;
  }

  /** Removes the owner's entry, which decides, then the directory unless somebody is in it. */
  async #unmake(): Promise<void> {
    await removeEntry(this.#ownerPath);
    await removeDirectory(this.#lockPath).catch(() => undefined);
  }

  #unmakeNow(): void {
    fs.rmSync(this.#ownerPath, { recursive: true });
    fs.rmdirSync(this.#lockPath);
  }

  /** The calls proper-lockfile makes, all of them for the lock's directory. */
  #fileSystem() {
    return {
      mkdir: (_: string, done: NodeDone) => settle(this.#make(), done),
      // While the lock is being taken there is nothing to find out: who is in the way was looked at before, and the
      // time of an entry just made is known.
      stat: (_: string, done: (error: Error | null, stats?: { mtime: Date }) => void) => {
        if (!this.#isHeld) return settle(Promise.resolve({ mtime: new Date() }), done);
        if (this.#release === null) return settle(Promise.resolve({ mtime: this.#setTo }), done);
        return settle(
          statEntry(this.#ownerPath).then(() => ({ mtime: this.#setTo })),
          done,
        );
      },
      utimes: (_: string, __: Date, modified: Date, done: NodeDone) => {
        if (this.#release === null) {
          this.#setTo = modified;
          return settle(Promise.resolve(), done);
        }
        return settle(
          setTimes(this.#ownerPath, modified).then(() => this.#noteRenewal(modified)),
          done,
        );
      },
      rmdir: (_: string, done: NodeDone) => settle(this.#unmake(), done),
      rmdirSync: () => this.#unmakeNow(),
      realpath: fs.realpath,
    };
  }
}

/** What proper-lockfile expects of an attempt to make a directory that is there. */
const heldByAnother = (): Error =>
  Object.assign(new Error("the lock is another's by now"), { code: "EEXIST" });

/** Answers a callback from a promise; what the callback throws must not come back as the call's own failure. */
function settle<T>(call: Promise<T>, done: (error: Error | null, value?: T) => void): void {
  call.then(
    (value) => done(null, value),
    (error) => done(error),
  );
}

// ------------------------------------------------------------------------- calls of locks, by the short route

export function ignoreMissing(error: unknown): void {
  if (!isMissing(error)) throw error;
}

/** Names of what is in a directory; fails where there is none. */
export const namesIn = (directory: string): Promise<string[]> =>
  lockCalls.run<string[]>(
    () => fs.readdirSync(directory),
    (done) => fs.readdir(directory, done),
  );

function makeDirectory(directory: string): Promise<void> {
  return lockCalls.run<void>(
    () => void fs.mkdirSync(directory),
    (done) => fs.mkdir(directory, (error) => done(error, undefined)),
  );
}

/** Makes the entry of an owner. On a full disk it is an empty file, which needs no room of its own. */
async function makeEntry(entry: string): Promise<void> {
  try {
    await makeDirectory(entry);
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    await fs.writeFile(entry, "", { flag: "wx" });
  }
}

export function removeDirectory(directory: string): Promise<void> {
  return lockCalls.run<void>(
    () => fs.rmdirSync(directory),
    (done) => fs.rmdir(directory, (error) => done(error, undefined)),
  );
}

/**
 * Removes an entry of a lock: an empty directory, unless somebody has put files into it or it is another thing.
 * Fails with ENOENT where there is none.
 */
export async function removeEntry(entry: string): Promise<void> {
  try {
    await removeDirectory(entry);
  } catch (error) {
    if (codeOf(error) === "ENOENT") throw error;
    await fs.remove(entry);
  }
}

export function renameEntry(from: string, to: string): Promise<void> {
  return lockCalls.run<void>(
    () => fs.renameSync(from, to),
    (done) => fs.rename(from, to, (error) => done(error, undefined)),
  );
}

function setTimes(entry: string, time: Date): Promise<void> {
  return lockCalls.run<void>(
    () => fs.utimesSync(entry, time, time),
    (done) => fs.utimes(entry, time, time, (error) => done(error, undefined)),
  );
}

const statEntry = (entry: string): Promise<fs.Stats> =>
  lockCalls.run<fs.Stats>(
    () => fs.statSync(entry),
    (done) => fs.stat(entry, done),
  );

/** What lies at a path, which may be a link; undefined where there is nothing. */
export function statOrUndefined(entry: string): Promise<fs.Stats | undefined> {
  return lockCalls.run<fs.Stats | undefined>(
    () => fs.lstatSync(entry, { throwIfNoEntry: false }),
    (done) => fs.lstat(entry, (error, found) => done(error && !isMissing(error) ? error : null, found)),
  );
}
