/**
 * Sharing the thread with the host. Work that only awaits promises already resolved runs on in microtasks and
 * starves timers and sockets; long loops therefore let the event loop turn now and then.
 *
 * Pieces of long work go on one per turn: however many there are, whatever else waits for the loop waits for one of them.
 */

/** So long work may hold the thread before it lets the event loop turn. */
export const MAX_HOLD_MS = 8;

/** Long work that goes on at one of the next turns. */
const waiting: (() => void)[] = [];
/** When the loop was last seen to turn. */
let turnedAtMs = 0;

function turn(): void {
  turnedAtMs = performance.now();
  const goOn = waiting.shift();
  if (waiting.length > 0) setImmediate(turn);
  goOn?.();
}

/** One piece of long work; ask it at every step. */
export class Breather {
  #heldSinceMs = performance.now();

  /** Lets the event loop turn once, if the last turn is long enough ago. */
  async breathe(): Promise<void> {
    const now = performance.now();
    if (now - Math.max(this.#heldSinceMs, turnedAtMs) < MAX_HOLD_MS) return;
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
      if (waiting.length === 1) setImmediate(turn);
    });
    this.#heldSinceMs = performance.now();
  }

  /** Goes through work that may be broken off at every step. */
  async goThrough<Result>(steps: Generator<void, Result>): Promise<Result> {
    for (;;) {
      const { done, value } = steps.next();
      if (done === true) return value;
      await this.breathe();
    }
  }
}

/** Goes through such work at once. */
export function atOnce<Result>(steps: Generator<void, Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
