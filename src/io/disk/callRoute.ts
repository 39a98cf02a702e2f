/**
 * Chooses how a short file-system call is made: in line on this thread, or on libuv's thread pool.
 *
 * On a local file system, a call such as open, stat or link takes 1 to 5 µs. The trip to a pool thread and
 * back takes some 40 µs, so a commit of twenty calls is several times faster in line. Two rules protect the
 * rest of the process:
 *
 * - A slow call is paid back. A call is slow if it takes 0.5 ms or more (network file system, cold disk, huge
 *   directory). In-line slow calls hold this thread at most 5 % of the time, apart from the first 2 ms.
 *   Beyond that, all calls go to the pool until the debt is paid. A call that only lost the processor to
 *   other processes does not count as slow, because a pool thread would get the processor even later.
 * - The event loop turns. In-line calls complete within microtasks, so a caller who awaits nothing else would
 *   starve timers and sockets. Every 64th call therefore waits for a turn first.
 *
 * Many calls in a row (`runMany`) can be expensive although none of them is slow: uncached reads of a device
 * take some 0.1 ms each and gain from concurrency. After a call of more than 0.06 ms, the next calls go to
 * the pool together. If the in-line call that follows is slow as well, twice as many calls go to the pool
 * next.
 *
 * On either route, a call waits if the process has run out of file descriptors.
 *
 * Calls that move more bytes than half a millisecond allows, or that wait for the device (fsync), always use
 * the pool and must not come here.
 */

import { performance } from "../../async/timers.js";
import { nextTurn } from "../../platform/native.js";
import { hasTooManyOpen } from "./errno.js";
import { outlastShortage } from "./shortage.js";
import { openThreadQueue } from "./threadQueue.js";

/** Callback that a Node file-system call takes as its last argument. */
export type Done<T> = (error: NodeJS.ErrnoException | null, value: T) => void;

const SLOW_CALL_MS = 0.5;
const PAYBACK_FACTOR = 20;
/** Milliseconds of credit: a rare slow call of a local disk must not send all others to the pool. */
const MAX_CREDIT_MS = 2;
const MAX_INLINE_RUN = 64;
/** In-line calls of `runMany` may hold the thread for this long in total before the event loop turns. */
const MAX_HELD_MS = 4;
/** A call of `runMany` waited for a device if it took longer than this plus the time to copy its bytes. */
const WAITED_MS = 0.06;
/** Minimum number of bytes that a copy moves per millisecond, into memory used for the first time. */
const LEAST_COPIED_PER_MS = 1024 * 1024;
const LEAST_POOLED_RUN = 8;
const MOST_POOLED_RUN = 64;

/** Result of calls made in line, one after the other. */
interface InlineRun {
  readonly end: number;
  /** True if the last call waited for a device or recent calls were slow: the next ones use the pool. */
  readonly waited: boolean;
}

/** Milliseconds for which a reading of the used resources serves the calls that follow. */
const USAGE_MS = 4;
/** Milliseconds for which a reading serves when no call was slow for a while. */
const CALM_USAGE_MS = 20;
/** Milliseconds without a slow call after which {@link CALM_USAGE_MS} applies. */
const CALM_AFTER_MS = 1000;

/**
 * Reading that shows if a call only lost the processor to other processes. It holds the milliseconds that
 * this thread has waited for a processor (threadQueue.ts). If the platform does not report them, it holds the
 * resources that this process has used.
 */
export type Usage =
  | { readonly queuedMs: number }
  | Pick<NodeJS.ResourceUsage, "userCPUTime" | "systemCPUTime" | "voluntaryContextSwitches">;

/** Undefined until the first reading. */
let readQueue: (() => number | null) | null | undefined;

function readUsage(): Usage {
  if (readQueue === undefined) readQueue = openThreadQueue();
  const queuedMs = readQueue === null ? null : readQueue();
  return queuedMs === null ? process.resourceUsage() : { queuedMs };
}

export class CallRoute {
  readonly #readUsage: () => Usage;
  /** All calls use the pool until this `performance.now()`. Only tests and benchmarks set it. */
  pooledUntilMs = 0;
  /** Reading from before the current call. Several calls share it, because it costs as much as a call. */
  #usage: Usage | null = null;
  #usageMs = 0;
  /** Time when the last slow call ended, or when the first call began. */
  #slowAtMs: number | null = null;
  #inlineRun = 0;
  /** Milliseconds that slow calls may still take; negative while they are being paid back. */
  #creditMs = MAX_CREDIT_MS;
  #creditAtMs = 0;
  /** Milliseconds of in-line calls since `runMany` last let the event loop turn. */
  #heldMs = 0;
  /** Milliseconds of the current in-line calls that were spent on {@link aside} work. */
  #asideMs = 0;

  constructor(read: () => Usage = readUsage) {
    this.#readUsage = read;
  }

  /** Makes one call in one of its two forms. Both forms must do the same. */
  run<T>(inline: () => T, pooled: (done: Done<T>) => void): Promise<T> {
    return this.runTogether(inline, () => onPool(pooled));
  }

  /** Makes a few short calls that belong together, as one call. */
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
   * Does work between calls that are made together, and does not count its time as theirs. Making memory may
   * run the garbage collector, which takes longer than a slow call.
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
      return hasTooManyOpen(error) ? outlastShortage(pooled) : Promise.reject(error);
    } finally {
      const endMs = performance.now();
      const callsMs = startMs + this.#asideMs;
      if (endMs - callsMs >= SLOW_CALL_MS) this.#judgeSlow(callsMs, endMs, before);
    }
  }

  /** Returns a reading of the used resources from this call's beginning, or from shortly before it. */
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
   * Judges a call that took long, and takes it from the credit if it was slow by itself.
   * @param before reading from before the call
   * @returns true if the call was slow by itself
   */
  #judgeSlow(startMs: number, endMs: number, before: Usage): boolean {
    this.#slowAtMs = endMs;
    const after = this.#readUsage();
    // Between the reading and the call, this thread may have computed or waited for a processor.
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
   * Makes one call for each of `lengths`, the number of bytes that the call moves. If a call fails, waits for
   * the calls that have started, skips the rest and throws the first failure.
   * @returns undefined if all calls were made in line, so that the caller need not wait
   */
  runMany(
    lengths: Float64Array,
    inline: (index: number) => void,
    pooled: (index: number) => Promise<void>,
  ): Promise<void> | undefined {
    const run = this.#runInRow(lengths, 0, inline);
    return run.end === lengths.length ? undefined : this.#runRest(lengths, run, inline, pooled);
  }

  /** Makes calls in line, from `start` on, until one waits for a device or the event loop has to turn. */
  #runInRow(lengths: Float64Array, start: number, inline: (index: number) => void): InlineRun {
    let startMs = performance.now();
    if (startMs < this.pooledUntilMs) return { end: start, waited: true };
    for (let index = start; index < lengths.length; index++) {
      const before = this.#usageBefore(startMs);
      inline(index);
      const endMs = performance.now();
      const tookMs = endMs - startMs;
      this.#heldMs += tookMs;
      const isSlow = tookMs < SLOW_CALL_MS || this.#judgeSlow(startMs, endMs, before);
      const waited = isSlow && tookMs >= WAITED_MS + lengths[index] / LEAST_COPIED_PER_MS;
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
 * Returns true if, between two readings, no thread of the process waited and little was computed. A wait of
 * any thread counts, so that none is missed. On platforms that count no waits (Windows), every long call
 * counts as slow.
 */
function onlyLostProcessor(before: Usage, after: Usage, mostComputedMs: number): boolean {
  // Only one reading comes from the thread's queue: its file became unreadable in between.
  if ("queuedMs" in before || "queuedMs" in after) return false;
  const waits = after.voluntaryContextSwitches - before.voluntaryContextSwitches;
  const computedUs = after.userCPUTime - before.userCPUTime + (after.systemCPUTime - before.systemCPUTime);
  return after.voluntaryContextSwitches > 0 && waits === 0 && computedUs < mostComputedMs * 1000;
}

/** Route of all short calls of a thread; they share it because they share its event loop. */
export const shortCalls = new CallRoute();

/** Route of lock calls. Processes wait for each other there, so its times say nothing about others. */
export const lockCalls = new CallRoute();

export function onPool<T>(call: (done: Done<T>) => void): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    call((error, value) => (error ? reject(error) : resolve(value)));
  });
}
