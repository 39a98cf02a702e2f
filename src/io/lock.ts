/**
 * One writer at a time per table: `withLock` serialises the callers of this thread in the order they came, then
 * takes a lock that other threads, processes and machines see. Every writer of a table takes it, but it decides
 * nothing (exclusive creation does, see publish.ts): it saves writers from preparing commits that would lose.
 *
 * The lock is the directory `.tiltyard.lock` in the table's directory, made and kept fresh by proper-lockfile:
 *
 * - mkdir takes it; its modification time is renewed every half `staleMs` while it is held.
 * - One that was not renewed for `staleMs` belongs to a dead holder and is taken over. A holder that was only
 *   stalled (a suspended machine) finds out through `lease.compromised` and must not go on.
 * - proper-lockfile's signal-exit handler removes the locks still held when the process exits or a signal ends
 *   it; importing this module adds that handler. SIGKILL and power cuts leave the lock to go stale.
 *
 * Two observers of one stale lock could each remove it, the second one the successor's. So it is looked at and
 * removed by one process at a time, the one that made `.tiltyard.lock.takeover`.
 */

import path from "node:path";
import fs from "fs-extra";
import lockfile from "proper-lockfile";
import { ServiceUnavailableError } from "../errors.js";
import { lockCalls } from "./callRoute.js";
import { codeOf, isMissing } from "./errno.js";

/** Name of the lock within a table's directory. */
export const LOCK_NAME = ".tiltyard.lock";

export interface LockOptions {
  /** Milliseconds without renewal after which a holder counts as dead; at least 2,000. Default 10,000. */
  readonly staleMs?: number;
  /** Attempts after the first before giving up. Default: as many as fit into `waitMs`. */
  readonly retries?: number;
  /** Milliseconds to wait for the lock altogether. Default 60,000. */
  readonly waitMs?: number;
  /** Ends the wait (not the work); the call rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** What the holder of the lock is handed. */
export interface LockLease {
  /**
   * True as soon as others may think the lock theirs: it was taken over, or could not be renewed in time. From
   * then on the holder must not start anything that relies on being alone.
   */
  readonly compromised: boolean;
}

export const DEFAULT_STALE_MS = 10_000;
const MIN_STALE_MS = 2_000;
const DEFAULT_WAIT_MS = 60_000;
/**
 * Between two looks at a lock that is held. The same for all who wait, however long they have, so that each has the
 * same chance; a lock that stays taken for long is no commit's, and is looked at less.
 */
const LOOK_MS = 1;
const PATIENT_LOOK_MS = 3;
const PATIENT_AFTER_MS = 1000;

/** So long this thread may pass the lock among its own callers before others get a chance of it. */
const MAX_RUN_MS = 200;

/** The callers of this thread that want one lock; the first one holds it or is taking it. */
interface Queue {
  readonly waiting: (() => void)[];
  /** Since when this thread has passed the lock on without a pause. */
  runStartMs: number;
}

/** By resolved path, while in use. Aliases of a directory have queues of their own and meet at the lock. */
const queues = new Map<string, Queue>();

/**
 * Calls `fn` while holding the lock of a table's directory, which must exist. Rejects with
 * `ServiceUnavailableError` when the lock is not free in time, with what the platform says when it can't be
 * made, and with whatever `fn` rejects with. A lock that cannot be released does not change the outcome of
 * `fn`; it goes stale.
 *
 * Not reentrant: `fn` must not take the same lock again, it would wait for itself until `waitMs` is over.
 */
export async function withLock<T>(
  directory: string,
  options: LockOptions,
  fn: (lease: LockLease) => Promise<T>,
): Promise<T> {
  const resolved = path.resolve(directory);
  const deadlineMs = performance.now() + (options.waitMs ?? DEFAULT_WAIT_MS);
  options.signal?.throwIfAborted();
  const queue = await enter(resolved, deadlineMs, options.signal);
  try {
    const lock = new HeldLock(resolved, Math.max(options.staleMs ?? DEFAULT_STALE_MS, MIN_STALE_MS));
    await acquire(lock, deadlineMs, options);
    try {
      return await fn(lock);
    } finally {
      await lock.release();
    }
  } finally {
    leave(resolved, queue);
  }
}

async function enter(resolved: string, deadlineMs: number, signal: AbortSignal | undefined): Promise<Queue> {
  const queue = queues.get(resolved);
  if (queue === undefined) {
    const own: Queue = { waiting: [], runStartMs: performance.now() };
    queues.set(resolved, own);
    return own;
  }
  await new Promise<void>((resolve, reject) => {
    const finish = (settle: () => void) => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      settle();
    };
    const giveUp = (reason: unknown) => {
      queue.waiting.splice(queue.waiting.indexOf(onTurn), 1);
      finish(() => reject(reason));
    };
    const onTurn = () => finish(resolve);
    const onAbort = () => giveUp(signal?.reason);
    const timer = setTimeout(() => giveUp(notFree(resolved)), Math.max(0, deadlineMs - performance.now()));
    signal?.addEventListener("abort", onAbort);
    queue.waiting.push(onTurn);
  });
  if (performance.now() - queue.runStartMs > MAX_RUN_MS) {
    await pause(PATIENT_LOOK_MS);
    queue.runStartMs = performance.now();
  }
  return queue;
}

function leave(resolved: string, queue: Queue): void {
  const next = queue.waiting.shift();
  if (next === undefined) queues.delete(resolved);
  else next();
}

async function acquire(lock: HeldLock, deadlineMs: number, options: LockOptions): Promise<void> {
  const maxAttempts = 1 + (options.retries ?? Number.POSITIVE_INFINITY);
  const startMs = performance.now();
  for (let attempt = 1; ; attempt++) {
    // Most looks at a lock that many want find it held; an attempt costs some twenty times as much as a look.
    if (!(await lock.looksHeld()) && (await lock.tryAcquire())) return;
    const nowMs = performance.now();
    if (attempt >= maxAttempts || nowMs >= deadlineMs) throw notFree(lock.directory);
    const lookMs = nowMs - startMs < PATIENT_AFTER_MS ? LOOK_MS : PATIENT_LOOK_MS;
    await pause(lookMs * (0.5 + Math.random()), options.signal);
  }
}

function notFree(directory: string): ServiceUnavailableError {
  return new ServiceUnavailableError(
    `the table at ${directory} is locked by another writer; try again later`,
  );
}

/** One attempt to hold, then one holding of, a table's lock; also the file system proper-lockfile works on. */
class HeldLock implements LockLease {
  readonly directory: string;
  readonly #lockPath: string;
  readonly #staleMs: number;
  #release: (() => Promise<void>) | null = null;
  #made = false;
  #lost = false;
  #renewedMs = 0;

  constructor(directory: string, staleMs: number) {
    this.directory = directory;
    this.#lockPath = path.join(directory, LOCK_NAME);
    this.#staleMs = staleMs;
  }

  get compromised(): boolean {
    return this.#lost || Date.now() - this.#renewedMs >= this.#staleMs;
  }

  /** True where there is a lock that is not stale; false tells nothing. */
  async looksHeld(): Promise<boolean> {
    const stats = await statOrUndefined(this.#lockPath);
    return stats !== undefined && Date.now() - stats.mtimeMs < this.#staleMs;
  }

  /** False where another holds it. */
  async tryAcquire(): Promise<boolean> {
    this.#made = false;
    try {
      this.#release = await lockfile.lock(this.directory, {
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

  /**
   * The six calls proper-lockfile makes, by the short route. A new object per attempt: proper-lockfile
   * remembers on it how fine the file system's times are, and another table may live on another file system.
   */
  #fileSystem() {
    return {
      mkdir: (lockPath: string, done: NodeDone) => {
        const startMs = Date.now();
        settle(
          lockCalls.run<void>(
            () => void fs.mkdirSync(lockPath),
            (pooled) => fs.mkdir(lockPath, (error) => pooled(error, undefined)),
          ),
          (error) => {
            if (error === null) {
              this.#made = true;
              this.#renewedMs = startMs;
            }
            done(error);
          },
        );
      },
      stat: (lockPath: string, done: (error: Error | null, stats?: fs.Stats) => void) =>
        settle(
          lockCalls.run<fs.Stats>(
            () => fs.statSync(lockPath),
            (pooled) => fs.stat(lockPath, pooled),
          ),
          done,
        ),
      utimes: (lockPath: string, accessed: Date, modified: Date, done: NodeDone) => {
        const startMs = Date.now();
        settle(
          lockCalls.run<void>(
            () => fs.utimesSync(lockPath, accessed, modified),
            (pooled) => fs.utimes(lockPath, accessed, modified, (error) => pooled(error, undefined)),
          ),
          (error) => {
            if (error === null) this.#renewedMs = startMs;
            done(error);
          },
        );
      },
      rmdir: (lockPath: string, done: NodeDone) =>
        settle(this.#made ? removeDirectory(lockPath) : this.#removeStale(lockPath), done),
      rmdirSync: (lockPath: string) => fs.rmdirSync(lockPath),
      realpath: fs.realpath,
    };
  }

  /**
   * Removes the lock of a dead holder, unless it is a living one's by now. Many waiters see a lock go stale at the
   * same moment; were each to look and then remove, the second would remove the lock that the first has just made.
   * So looking and removing is the right of whoever makes the directory beside the lock, one at a time.
   */
  async #removeStale(lockPath: string): Promise<void> {
    const guard = `${lockPath}.takeover`;
    if (!(await makeGuard(guard))) {
      // Its maker died between two calls: it has to go stale as well.
      if (await this.#isStale(guard)) await removeDirectory(guard).catch(ignoreMissing);
      throw lockedByAnother();
    }
    try {
      const stats = await statOrUndefined(lockPath);
      if (stats !== undefined && Date.now() - stats.mtimeMs < this.#staleMs) throw lockedByAnother();
      if (stats !== undefined) await removeDirectory(lockPath).catch(ignoreMissing);
    } finally {
      await removeDirectory(guard).catch(ignoreMissing);
    }
  }

  async #isStale(directory: string): Promise<boolean> {
    const stats = await statOrUndefined(directory);
    return stats !== undefined && Date.now() - stats.mtimeMs >= this.#staleMs;
  }
}

/** What proper-lockfile reports where another holds the lock. */
const lockedByAnother = (): Error =>
  Object.assign(new Error("the lock is another's by now"), { code: "ELOCKED" });

function ignoreMissing(error: unknown): void {
  if (!isMissing(error)) throw error;
}

/** False where the directory is there already. */
async function makeGuard(directory: string): Promise<boolean> {
  try {
    await lockCalls.run<void>(
      () => void fs.mkdirSync(directory),
      (pooled) => fs.mkdir(directory, (error) => pooled(error, undefined)),
    );
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

function statOrUndefined(directory: string): Promise<fs.Stats | undefined> {
  return lockCalls.run<fs.Stats | undefined>(
    () => fs.statSync(directory, { throwIfNoEntry: false }),
    (done) => fs.stat(directory, (error, found) => done(error && !isMissing(error) ? error : null, found)),
  );
}

type NodeDone = (error: Error | null) => void;

function removeDirectory(directory: string): Promise<void> {
  return lockCalls.run<void>(
    () => fs.rmdirSync(directory),
    (pooled) => fs.rmdir(directory, (error) => pooled(error, undefined)),
  );
}

/** Answers a callback from a promise; what the callback throws must not come back as the call's own failure. */
function settle<T>(call: Promise<T>, done: (error: Error | null, value?: T) => void): void {
  call.then(
    (value) => done(null, value),
    (error) => done(error),
  );
}

function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, milliseconds);
    if (signal?.aborted) onAbort();
    else signal?.addEventListener("abort", onAbort, { once: true });
  });
}
