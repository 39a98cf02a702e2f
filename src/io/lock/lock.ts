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
 * Milliseconds between two attempts at a lock of a disk, or of a caller with a number of retries. Callers
 * that have waited for {@link PATIENT_AFTER_MS} try less often.
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
    const { lock, keep } = await acquire(resolved, deadlineMs, options);
    let isDone = false;
    try {
      const value = await fn(lock);
      isDone = true;
      return value;
    } finally {
      await (options.keep === true && isDone && keep !== null ? keep() : lock.release());
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
  /** Releases the lock in a way that lets this thread or a waiter take it sooner; null without such a way. */
  readonly keep: (() => Promise<void>) | null;
}

interface Attempts {
  /** Takes the lock if it is free; returns null if it is held. */
  take(): Promise<AcquiredLock | null>;
  /**
   * Waits until it is time for another attempt.
   * @param lookMs milliseconds between two attempts, if nothing shows that the lock is free
   */
  wait(lookMs: number): Promise<void>;
}

async function acquire(resolved: string, deadlineMs: number, options: LockOptions): Promise<AcquiredLock> {
  const maxAttempts = 1 + (options.retries ?? Number.POSITIVE_INFINITY);
  const staleMs = Math.max(options.staleMs ?? DEFAULT_STALE_MS, MIN_STALE_MS);
  const { locks } = options;
  if (locks === undefined) {
    const kept = await retakeLock(resolved, staleMs);
    if (kept !== null) return acquiredOf(resolved, kept);
  }
  const attempts =
    locks === undefined
      ? await localAttempts(resolved, staleMs, options)
      : attemptsOn(locks, resolved, staleMs, options);
  const startMs = performance.now();
  let obstructedMs: number | null = null;
  for (let attempt = 1; ; attempt++) {
    try {
      const acquired = await attempts.take();
      if (acquired !== null) return acquired;
      obstructedMs = null;
    } catch (error) {
      obstructedMs ??= performance.now();
      if (!mayPass(error) || performance.now() - obstructedMs >= MAX_OBSTRUCTED_MS) throw error;
    }
    const nowMs = performance.now();
    if (attempt >= maxAttempts || nowMs >= deadlineMs) throw notFree(resolved);
    const lookMs = nowMs - startMs < PATIENT_AFTER_MS ? LOOK_MS : PATIENT_LOOK_MS;
    // Callers with a number of retries count on pauses of about the same length.
    const pause = options.retries === undefined ? attempts.wait(lookMs) : pauseOf(locks?.lookMs ?? lookMs);
    await untilAborted(pause, options.signal);
  }
}

const acquiredOf = (resolved: string, lock: HeldLock): AcquiredLock => ({
  lock,
  keep: () => keepLock(resolved, lock),
});

/** Pauses for about as long, so that waiters do not look at the same moments. */
const pauseOf = (lookMs: number): Promise<void> => sleep(lookMs * (0.5 + Math.random()));

/** Returns attempts at a lock of the local file system. */
async function localAttempts(resolved: string, staleMs: number, options: LockOptions): Promise<Attempts> {
  const confinement = options.confinement ?? (await localConfinement.get()).UNCONFINED;
  const fence = options.fence ?? (async () => undefined);
  const { HeldLock } = await holding.get();
  const { freeUnlessHeld, noteWait, untilReleased } = await judging.get();
  let waitStartMs: number | null = null;
  return {
    async take() {
      // A look costs a twentieth of an attempt, and most looks at a contended lock find it held.
      const state = await freeUnlessHeld(confinement, resolved, staleMs, fence);
      if (state === "held") return null;
      const lock = new HeldLock(confinement, resolved, staleMs, state === "free" ? undefined : state);
      if (!(await lock.tryAcquire())) return null;
      if (waitStartMs !== null) noteWait(resolved, performance.now() - waitStartMs);
      return acquiredOf(resolved, lock);
    },
    wait() {
      waitStartMs ??= performance.now();
      return untilReleased(resolved);
    },
  };
}

/** Returns attempts at a lock that the disk brings. */
function attemptsOn(locks: DiskLocks, resolved: string, staleMs: number, options: LockOptions): Attempts {
  const fence = options.fence ?? (async () => undefined);
  return {
    async take() {
      const lock = await locks.tryAcquire(resolved, { staleMs, fence });
      return lock && { lock, keep: null };
    },
    wait: (lookMs) => pauseOf(locks.lookMs ?? lookMs),
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
