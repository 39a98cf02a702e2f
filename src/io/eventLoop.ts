/**
 * Sharing the thread with the host. Work that only awaits promises already resolved runs on in microtasks and
 * starves timers and sockets; long loops therefore let the event loop turn now and then.
 */

/** So long work may hold the thread before it lets the event loop turn. */
const MAX_HOLD_MS = 8;

/** One piece of long work; ask it at every step. */
export class Breather {
  #heldSinceMs = performance.now();

  /** Lets the event loop turn once, if the last turn is long enough ago. */
  async breathe(): Promise<void> {
    if (performance.now() - this.#heldSinceMs < MAX_HOLD_MS) return;
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.#heldSinceMs = performance.now();
  }
}
