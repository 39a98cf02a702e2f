/**
 * Chooses how a short file-system call is made: at once on this thread, or on libuv's thread pool.
 *
 * On a local file system a call such as open, stat or link takes 1 to 5 µs, and the trip to a pool thread and
 * back some 40 µs: a commit of twenty calls is several times faster in line. Two rules keep that harmless to
 * the rest of the process:
 *
 * - A slow call is paid back. In-line calls that take `t` ≥ 0.5 ms (network file system, cold disk, huge
 *   directory) hold this thread at most 5 % of the time, apart from the first few: once they have taken 2 ms
 *   more than that, all calls go to the pool until they are paid. A call that only lost the processor to
 *   others is not slow, and two threads would get the processor even later.
 * - The event loop turns. In-line calls complete within microtasks, so a caller who awaits nothing else would
 *   starve timers and sockets; every 64th call, of any kind, waits for a turn first.
 *
 * Many calls in a row (`runMany`) can be expensive although none of them is slow: uncached reads of a device
 * take some 0.1 ms each and gain from running several at once. There a call of more than 0.06 ms sends the
 * next calls to the pool together, and ever more of them as long as the first call after them is as slow.
 *
 * A call that finds the process out of file descriptors waits for some, on either route.
 *
 * Calls that move more bytes than fit into half a millisecond, or that wait for the device (fsync), must not
 * come here; they always use the pool.
 */

import { performance } from "../../async/timers.js";
import { nextTurn } from "../../platform/native.js";
import { isShortage, outlastShortage } from "./shortage.js";
import { openThreadQueue } from "./threadQueue.js";

/** The last argument of a Node file-system call. */
export type Done<T> = (error: NodeJS.ErrnoException | null, value: T) => void;

const SLOW_CALL_MS = 0.5;
const PAYBACK_FACTOR = 20;
/** Local disks have a slow call now and then, after which the pool would make all others slow. */
const MAX_CREDIT_MS = 2;
const MAX_INLINE_RUN = 64;
/** In-line calls of `runMany` may hold the thread for this long in total before the event loop turns. */
const MAX_HELD_MS = 4;
/**
 * A call of `runMany` that takes longer than this plus the time to copy its bytes in memory waited for a
 * device.
 */
const WAITED_MS = 0.06;
/** Bytes that a copy moves at the least per millisecond, into memory used for the first time. */
const LEAST_COPIED_PER_MS = 1024 * 1024;
const LEAST_POOLED_RUN = 8;
const MOST_POOLED_RUN = 64;

/** Calls made in line, one behind the other. */
interface InlineRun {
  /** Index of the next call. */
  readonly end: number;
  /**
   * The last call waited for a device, or earlier calls were slow shortly ago: the next ones go to the pool.
   */
  readonly waited: boolean;
}

/** Milliseconds for which a reading of the used resources stands in for one from right before a call. */
const USAGE_MS = 4;
/** The same while no call was slow for a while: then nearly all readings are for nothing. */
const CALM_USAGE_MS = 20;
/** Milliseconds without a slow call after which there is calm. */
const CALM_AFTER_MS = 1000;

/**
 * What tells whether a call only lost the processor to others: the milliseconds that this thread has waited
 * for one so far (threadQueue.ts), or, where the platform does not tell them, the resources that this process
 * has used.
 */
export type Usage =
  | { readonly queuedMs: number }
  | Pick<NodeJS.ResourceUsage, "userCPUTime" | "systemCPUTime" | "voluntaryContextSwitches">;

/** Undefined until it is first needed. */
let readQueue: (() => number | null) | null | undefined;

function readUsage(): Usage {
  if (readQueue === undefined) readQueue = openThreadQueue();
  const queuedMs = readQueue === null ? null : readQueue();
  return queuedMs === null ? process.resourceUsage() : { queuedMs };
}

export class CallRoute {
  readonly #readUsage: () => Usage;
  /**
   * Until this time of `performance.now()` all calls go to the pool. Only tests and benchmarks set it from
   * outside.
   */
  pooledUntilMs = 0;
  /**
   * From before the call under way. A reading costs about as much as a call, so it serves several calls in a
   * row.
   */
  #usage: Usage | null = null;
  #usageMs = 0;
  /** When the last slow call ended, or the first call began. */
  #slowAtMs: number | null = null;
  #inlineRun = 0;
  /** Milliseconds that slow calls may still take; negative while they are paid back. */
  #creditMs = MAX_CREDIT_MS;
  #creditAtMs = 0;
  /** Milliseconds of in-line calls since `runMany` last let the event loop turn. */
  #heldMs = 0;
  /** Milliseconds of the in-line calls under way that went to other work. */
  #asideMs = 0;

  constructor(read: () => Usage = readUsage) {
    this.#readUsage = read;
  }

  /** Makes one call by either of its two forms; both must do the same. */
  run<T>(inline: () => T, pooled: (done: Done<T>) => void): Promise<T> {
    return this.runTogether(inline, () => onPool(pooled));
  }

  /** Makes a few short calls that belong together, as if they were one. */
  runTogether<T>(inline: () => T, pooled: () => Promise<T>): Promise<T> {
    if (performance.now() < this.pooledUntilMs) {
      this.#inlineRun = 0;
      return outlastShortage(pooled);
    }
    if (this.#inlineRun++ < MAX_INLINE_RUN) return this.#runInline(inline, pooled);
    this.#inlineRun = 0;
    return new Promise<void>(nextTurn).then(() => this.#runInline(inline, pooled));
  }

  /**
   * Does other work between calls that are made together. It does not count as part of them: the garbage
   * collector may run where memory is made, for longer than a slow call takes.
   */
  aside<T>(work: () => T): T {
    const startMs = performance.now();
    try {
      return work();
    } finally {
      this.#asideMs += performance.now() - startMs;
    }
  }

  #runInline<T>(inline: () => T, pooled: () => Promise<T>): Promise<T> {
    const startMs = performance.now();
    const before = this.#usageBefore(startMs);
    this.#asideMs = 0;
    try {
      return Promise.resolve(inline());
    } catch (error) {
      return isShortage(error) ? outlastShortage(pooled) : Promise.reject(error);
    } finally {
      const endMs = performance.now();
      // As if all of them had begun that much later.
      const callsMs = startMs + this.#asideMs;
      if (endMs - callsMs >= SLOW_CALL_MS) this.#judgeSlow(callsMs, endMs, before);
    }
  }

  /** A reading of the used resources from before a call that begins now, or shortly before it. */
  #usageBefore(startMs: number): Usage {
    this.#slowAtMs ??= startMs;
    const lastingMs = startMs - this.#slowAtMs < CALM_AFTER_MS ? USAGE_MS : CALM_USAGE_MS;
    if (this.#usage === null || startMs - this.#usageMs >= lastingMs) {
      this.#usage = this.#readUsage();
      this.#usageMs = startMs;
    }
    return this.#usage;
  }

  /**
   * @param before a reading from before the call
   * @returns true if the call was slow by itself
   */
  #judgeSlow(startMs: number, endMs: number, before: Usage): boolean {
    this.#slowAtMs = endMs;
    const after = this.#readUsage();
    // This thread may have computed, or waited for a processor, all the time from the reading to the call.
    const earlierMs = startMs - this.#usageMs;
    const isSlow =
      "queuedMs" in before && "queuedMs" in after
        ? endMs - startMs - (after.queuedMs - before.queuedMs) >= SLOW_CALL_MS
        : !onlyLostProcessor(before, after, SLOW_CALL_MS + earlierMs);
    if (isSlow) this.#payBack(startMs, endMs);
    this.#usage = null;
    return isSlow;
  }

  /**
   * Makes one call for each of `lengths`, the number of bytes that the call moves, by either of its two
   * forms. Fails with the first failure, once no call is under way any more; some calls are then not made.
   * @returns undefined where all calls were made in line and there is nothing to wait for
   */
  runMany(
    lengths: Float64Array,
    inline: (index: number) => void,
    pooled: (index: number) => Promise<void>,
  ): Promise<void> | undefined {
    const run = this.#runInRow(lengths, 0, inline);
    return run.end === lengths.length ? undefined : this.#runRest(lengths, run, inline, pooled);
  }

  /** Makes calls in line, from `start` on, until one waits for a device or the event loop is to turn. */
  #runInRow(lengths: Float64Array, start: number, inline: (index: number) => void): InlineRun {
    let startMs = performance.now();
    if (startMs < this.pooledUntilMs) return { end: start, waited: true };
    for (let index = start; index < lengths.length; index++) {
      const before = this.#usageBefore(startMs);
      inline(index);
      const endMs = performance.now();
      const tookMs = endMs - startMs;
      this.#heldMs += tookMs;
      const isOwn = tookMs < SLOW_CALL_MS || this.#judgeSlow(startMs, endMs, before);
      const waited = isOwn && tookMs >= WAITED_MS + lengths[index] / LEAST_COPIED_PER_MS;
      if (waited) return { end: index + 1, waited };
      if (this.#heldMs >= MAX_HELD_MS) return { end: index + 1, waited: false };
      startMs = endMs;
    }
    return { end: lengths.length, waited: false };
  }

  async #runRest(
    lengths: Float64Array,
    { end, waited }: InlineRun,
    inline: (index: number) => void,
    pooled: (index: number) => Promise<void>,
  ): Promise<void> {
    let pooledRun = LEAST_POOLED_RUN;
    for (let index = end; index < lengths.length; index = end) {
      if (waited) {
        const last = Math.min(lengths.length, index + pooledRun);
        pooledRun = Math.min(MOST_POOLED_RUN, pooledRun * 2);
        const calls: Promise<void>[] = [];
        while (index < last) calls.push(pooled(index++));
        for (const outcome of await Promise.allSettled(calls)) {
          if (outcome.status === "rejected") throw outcome.reason;
        }
      } else {
        await new Promise<void>(nextTurn);
      }
      this.#heldMs = 0;
      ({ end, waited } = this.#runInRow(lengths, index, inline));
      if (!waited || end > index + 1) pooledRun = LEAST_POOLED_RUN;
    }
  }

  #payBack(startMs: number, endMs: number): void {
    const tookMs = endMs - startMs;
    if (tookMs < SLOW_CALL_MS) return;
    const earnedMs = (endMs - this.#creditAtMs) / PAYBACK_FACTOR;
    this.#creditMs = Math.min(MAX_CREDIT_MS, this.#creditMs + earnedMs) - tookMs;
    this.#creditAtMs = endMs;
    if (this.#creditMs < 0) this.pooledUntilMs = endMs - PAYBACK_FACTOR * this.#creditMs;
  }
}

/**
 * True if no thread waited for anything between two readings, and less was computed than would take some
 * time. All threads count, so that a wait is never missed; where the platform counts no waits (Windows),
 * every slow call counts as one.
 */
function onlyLostProcessor(before: Usage, after: Usage, mostComputedMs: number): boolean {
  // The platform told of one only how long the thread was queued: its file can't be read any more.
  if ("queuedMs" in before || "queuedMs" in after) return false;
  const waits = after.voluntaryContextSwitches - before.voluntaryContextSwitches;
  const computedUs = after.userCPUTime - before.userCPUTime + (after.systemCPUTime - before.systemCPUTime);
  return after.voluntaryContextSwitches > 0 && waits === 0 && computedUs < mostComputedMs * 1000;
}

/** Shared by the whole thread: what it protects, the event loop, is shared too. */
export const shortCalls = new CallRoute();

/**
 * For taking and releasing locks, where processes wait for each other: such waits say nothing about other
 * calls.
 */
export const lockCalls = new CallRoute();

/** Makes one call on the thread pool. */
export function onPool<T>(call: (done: Done<T>) => void): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    call((error, value) => (error ? reject(error) : resolve(value)));
  });
}
