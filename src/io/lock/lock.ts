/**
 * Admits one writer per table at a time. `withLock` queues the callers of this thread in their order, and
 * then takes a lock that other threads, processes and machines see. Every writer of a table takes it. The
 * lock does not decide which of two commits gets a version: exclusive creation does (publish.ts). The lock
 * saves writers from preparing commits that would lose. It also protects changes that exclusive creation
 * cannot decide: changes of refs, removals of versions and moves of tables.
 *
 * The lock is the directory `.tiltyard.lock` in the table's directory (heldLock.ts). proper-lockfile makes
 * and renews it. The first lock of a process installs that package's signal-exit handler, which releases held
 * locks when the process exits or a signal ends it. SIGKILL and power cuts leave locks behind. staleLocks.ts
 * decides when a holder counts as dead, and takes its lock over.
 */

import { untilAborted, whenAborted } from "../../async/abort.js";
import { lazyModule } from "../../async/lazy.js";
import { sleep } from "../../async/sleep.js";
import { clearTimeout, performance, setTimeout } from "../../async/timers.js";
import { ServiceUnavailableError } from "../../errors.js";
import { isWindows, join, resolve } from "../../platform/native.js";
import { type Confinement, confirmDirectory } from "../disk/confinement.js";
import { codeOf } from "../disk/errno.js";
import type { DiskLock, DiskLocks, LockLease, LockState } from "../disk/locks.js";
import type { HeldLock } from "./heldLock.js";
import { keepLock, retakeLock } from "./keptLocks.js";
import { LOCK_NAME } from "./lease.js";
import type { Fence } from "./staleLocks.js";

// The first lock loads them, because programs that only read take no lock.
const holding = lazyModule(() => import("./heldLock.js"));
const localConfinement = lazyModule(() => import("../disk/localConfinement.js"));
const judging = lazyModule(() => import("./staleLocks.js"));

export interface LockOptions {
  /** Milliseconds without renewal after which a holder counts as dead; at least 2,000. Default 10,000. */
  readonly staleMs?: number;
  /** Attempts after the first one. Default: as many as fit into `waitMs`. */
  readonly retries?: number;
  /** Milliseconds to wait for the lock in total. Default 60,000. */
  readonly waitMs?: number;
  /** Ends the wait (not the work); the call rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Locks of the disk. Default: those of the local file system. */
  readonly locks?: DiskLocks | undefined;
  /** Confinement of the lock's directory. Default: anywhere. */
  readonly confinement?: Confinement;
  /** Callback with the directory, before its lock is taken over from a dead holder. Default: none. */
  readonly fence?: Fence;
  /**
   * Keeps the lock's directory in place for a moment, free for every process, so that this thread's next
   * change takes it sooner. Not for directories that may be removed after the work. Default false.
   */
  readonly keep?: boolean;
}

export const DEFAULT_STALE_MS = 10_000;
const MIN_STALE_MS = 2_000;
const DEFAULT_WAIT_MS = 60_000;
/**
 * Milliseconds between two looks at a held lock. All waiters use the same number, so that each has the same
 * chance. A lock that is held for longer than a commit is looked at less often ({@link PATIENT_LOOK_MS}).
 */
const LOOK_MS = 1;
const PATIENT_LOOK_MS = 3;
const PATIENT_AFTER_MS = 1000;

/** Milliseconds for which this thread passes the lock among its callers before others get a chance. */
const MAX_RUN_MS = 200;

/** Milliseconds for which other processes may make calls on the lock fail. */
const MAX_OBSTRUCTED_MS = 2000;

/** The callers of this thread that want one lock; the first one holds it or is taking it. */
interface Queue {
  readonly waiting: (() => void)[];
  /** Time since when this thread has passed the lock on without a pause. */
  runStartMs: number;
}

/** Queues in use, by resolved path. Aliases of a directory have separate queues and meet at the lock. */
type Queues = Map<string, Queue>;

const localQueues: Queues = new Map();
const diskQueues = new WeakMap<DiskLocks, Queues>();

function queuesOf(locks: DiskLocks | undefined): Queues {
  if (locks === undefined) return localQueues;
  const queues: Queues = diskQueues.get(locks) ?? new Map();
  diskQueues.set(locks, queues);
  return queues;
}

/** Returns true if a process holds, keeps, makes or takes over a lock, or died while doing so. */
export async function hasLock(directory: string, { locks, staleMs }: LockOptions = {}): Promise<boolean> {
  if (locks !== undefined) {
    return (await locks.stateOf(directory, staleMs ?? DEFAULT_STALE_MS)) !== "free";
  }
  const { statOrUndefined } = await holding.get();
  return (await statOrUndefined(join(directory, LOCK_NAME))) !== undefined;
}

/** Returns the state of a directory's lock. */
export async function stateOfLock(
  directory: string,
  { locks, staleMs = DEFAULT_STALE_MS }: LockOptions,
): Promise<LockState> {
  if (locks !== undefined) return locks.stateOf(directory, staleMs);
  const { lookAtLock } = await judging.get();
  return lookAtLock(directory, staleMs);
}

/**
 * Calls `fn` while holding the lock of an existing directory. The lock is not reentrant: if `fn` takes the
 * same lock, it waits for itself until `waitMs` is over. A lock that cannot be released goes stale, and the
 * outcome of `fn` stands.
 * @throws ServiceUnavailableError if the lock is not free in time; the platform's error if it cannot be made;
 *   the error of `fn`
 */
export async function withLock<T>(
  directory: string,
  options: LockOptions,
  fn: (lease: LockLease) => Promise<T>,
): Promise<T> {
  const resolved = resolve(directory);
  const deadlineMs = performance.now() + (options.waitMs ?? DEFAULT_WAIT_MS);
  // Nobody will release a lock that lies elsewhere.
  if (options.confinement !== undefined) await confirmDirectory(options.confinement, resolved);
  options.signal?.throwIfAborted();
  const queues = queuesOf(options.locks);
  const queue = await enter(queues, resolved, deadlineMs, options.signal);
  try {
    const { lock, isContended, keep } = await acquire(resolved, deadlineMs, options);
    let isDone = false;
    try {
      const value = await fn(lock);
      isDone = true;
      return value;
    } finally {
      // Processes that wait for a lock get it sooner if it is removed.
      await (options.keep === true && isDone && !isContended && keep !== null ? keep() : lock.release());
    }
  } finally {
    leaveQueue(queues, resolved, queue);
  }
}

async function enter(
  queues: Queues,
  resolved: string,
  deadlineMs: number,
  signal: AbortSignal | undefined,
): Promise<Queue> {
  const queue = queues.get(resolved);
  if (queue === undefined) {
    const newQueue: Queue = { waiting: [], runStartMs: performance.now() };
    queues.set(resolved, newQueue);
    return newQueue;
  }
  await new Promise<void>((proceed, reject) => {
    const finish = (answer: () => void) => {
      clearTimeout(timer);
      endWait?.();
      answer();
    };
    const giveUp = (reason: unknown) => {
      queue.waiting.splice(queue.waiting.indexOf(onTurn), 1);
      finish(() => reject(reason));
    };
    const onTurn = () => finish(proceed);
    const timer = setTimeout(() => giveUp(notFree(resolved)), Math.max(0, deadlineMs - performance.now()));
    queue.waiting.push(onTurn);
    const endWait = signal && whenAborted(signal, () => giveUp(signal.reason));
  });
  if (performance.now() - queue.runStartMs > MAX_RUN_MS) {
    await sleep(PATIENT_LOOK_MS);
    queue.runStartMs = performance.now();
  }
  return queue;
}

function leaveQueue(queues: Queues, resolved: string, queue: Queue): void {
  const next = queue.waiting.shift();
  if (next === undefined) queues.delete(resolved);
  else next();
}

interface AcquiredLock {
  readonly lock: DiskLock;
  /** True if other processes held the lock, or had kept it. */
  readonly isContended: boolean;
  /** Releases the lock in a way that lets this thread retake it soon; null without such a way. */
  readonly keep: (() => Promise<void>) | null;
}

/** Takes the lock once it is free; returns null if it is held. @param attempt number from 1 */
type Attempt = (attempt: number) => Promise<AcquiredLock | null>;

async function acquire(resolved: string, deadlineMs: number, options: LockOptions): Promise<AcquiredLock> {
  const maxAttempts = 1 + (options.retries ?? Number.POSITIVE_INFINITY);
  const staleMs = Math.max(options.staleMs ?? DEFAULT_STALE_MS, MIN_STALE_MS);
  const { locks } = options;
  if (locks === undefined) {
    const kept = await retakeLock(resolved, staleMs);
    if (kept !== null) return acquiredOf(resolved, kept, false);
  }
  const take =
    locks === undefined
      ? await localAttempts(resolved, staleMs, options)
      : attemptsOn(locks, resolved, staleMs, options);
  const startMs = performance.now();
  let obstructedMs: number | null = null;
  for (let attempt = 1; ; attempt++) {
    try {
      const acquired = await take(attempt);
      if (acquired !== null) return acquired;
      obstructedMs = null;
    } catch (error) {
      obstructedMs ??= performance.now();
      if (!mayPass(error) || performance.now() - obstructedMs >= MAX_OBSTRUCTED_MS) throw error;
    }
    const nowMs = performance.now();
    if (attempt >= maxAttempts || nowMs >= deadlineMs) throw notFree(resolved);
    const lookMs = locks?.lookMs ?? (nowMs - startMs < PATIENT_AFTER_MS ? LOOK_MS : PATIENT_LOOK_MS);
    await untilAborted(sleep(lookMs * (0.5 + Math.random())), options.signal);
  }
}

const acquiredOf = (resolved: string, lock: HeldLock, isContended: boolean): AcquiredLock => ({
  lock,
  isContended,
  keep: () => keepLock(resolved, lock),
});

/** Returns attempts at a lock of the local file system. */
async function localAttempts(resolved: string, staleMs: number, options: LockOptions): Promise<Attempt> {
  const confinement = options.confinement ?? (await localConfinement.get()).UNCONFINED;
  const fence = options.fence ?? (async () => undefined);
  const { HeldLock } = await holding.get();
  const { freeUnlessHeld } = await judging.get();
  return async (attempt) => {
    // A look costs a twentieth of an attempt, and most looks at a contended lock find it held.
    const lockState = await freeUnlessHeld(confinement, resolved, staleMs, fence);
    if (lockState === "held") return null;
    const lock = new HeldLock(confinement, resolved, staleMs);
    if (!(await lock.tryAcquire())) return null;
    return acquiredOf(resolved, lock, lockState === "freed" || attempt > 1);
  };
}

/** Returns attempts at a lock that the disk brings. */
function attemptsOn(locks: DiskLocks, resolved: string, staleMs: number, options: LockOptions): Attempt {
  const fence = options.fence ?? (async () => undefined);
  return async (attempt) => {
    const lock = await locks.tryAcquire(resolved, { staleMs, fence });
    return lock && { lock, isContended: attempt > 1, keep: null };
  };
}

/**
 * Returns true if a call may have failed because another process used the directory at that moment. Windows
 * does not rename a directory in use, and does not open one that is being removed.
 */
const mayPass = (error: unknown): boolean =>
  codeOf(error) === "EBUSY" || (isWindows() && (codeOf(error) === "EPERM" || codeOf(error) === "EACCES"));

function notFree(directory: string): ServiceUnavailableError {
  return new ServiceUnavailableError(`${directory} is locked by another writer; try again later`);
}
