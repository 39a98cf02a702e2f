/**
 * Chooses how a short file-system call is made: at once on this thread, or on libuv's thread pool.
 *
 * On a local file system a call such as open, stat or link takes 1 to 5 µs, and the trip to a pool thread and
 * back some 40 µs: a commit of twenty calls is several times faster in line. Two rules keep that harmless to
 * the rest of the process:
 *
 * - A slow call is paid back. After an in-line call that took `t` ≥ 0.5 ms (network file system, cold disk,
 *   huge directory) all calls go to the pool for 20·t, so slow calls hold this thread at most 5 % of the time.
 * - The event loop turns. In-line calls complete within microtasks, so a caller who awaits nothing else would
 *   starve timers and sockets; every 64th call goes to the pool, whatever its kind.
 *
 * Calls that move more bytes than half a millisecond is enough for, or wait for the device (fsync), must not come
 * here; they always use the pool.
 */

/** The last argument of a Node file-system call. */
export type Done<T> = (error: NodeJS.ErrnoException | null, value: T) => void;

const SLOW_CALL_MS = 0.5;
const PAYBACK_FACTOR = 20;
const MAX_INLINE_RUN = 64;

export class CallRoute {
  #inlineRun = 0;
  #pooledUntilMs = 0;

  /** Makes one call by either of its two forms; both must do the same. */
  run<T>(inline: () => T, pooled: (done: Done<T>) => void): Promise<T> {
    const startMs = performance.now();
    if (this.#inlineRun >= MAX_INLINE_RUN || startMs < this.#pooledUntilMs) {
      this.#inlineRun = 0;
      return onPool(pooled);
    }
    this.#inlineRun++;
    try {
      return Promise.resolve(inline());
    } catch (error) {
      return Promise.reject(error);
    } finally {
      const endMs = performance.now();
      if (endMs - startMs >= SLOW_CALL_MS) this.#pooledUntilMs = endMs + PAYBACK_FACTOR * (endMs - startMs);
    }
  }
}

/** Shared by the whole thread: what it protects, the event loop, is shared too. */
export const shortCalls = new CallRoute();

/** For writes of up to a page: one that is slow speaks for the next writes, not for calls that move nothing. */
export const pageWrites = new CallRoute();

/** Makes one call on the thread pool. */
export function onPool<T>(call: (done: Done<T>) => void): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    call((error, value) => (error ? reject(error) : resolve(value)));
  });
}
