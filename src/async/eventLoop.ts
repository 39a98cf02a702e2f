/**
 * Sharing the thread with the host. Work that only awaits promises already resolved runs on in microtasks and
 * starves timers and sockets; long loops therefore let the event loop turn now and then.
 *
 * All long work together holds a turn of the loop for no longer than a bound, and then goes on one piece per turn: however
 * much of it there is, whatever else waits for the loop waits for one piece of it.
 */

import { nextTurn } from "../platform/native.js";

/** So long work may hold the thread before it lets the event loop turn. */
export const MAX_HOLD_MS = 8;

/** Long work that goes on at one of the next turns. */
const waiting: (() => void)[] = [];
/** When long work was first met in this turn; null where it was not. */
let heldSinceMs: number | null = null;

function turn(): void {
  heldSinceMs = null;
  const goOn = waiting.shift();
  if (goOn === undefined) return;
  hold();
  goOn();
}

function hold(): void {
  heldSinceMs = performance.now();
  nextTurn(turn);
}

/** To be asked at every step of long work: lets the event loop turn if it was held for long enough. */
export async function breathe(): Promise<void> {
  if (heldSinceMs === null) hold();
  else if (performance.now() - heldSinceMs >= MAX_HOLD_MS) {
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
    });
  }
}

/** Goes through work that may be broken off at every step, and breathes there. */
export async function goThrough<Result>(steps: Generator<void, Result>): Promise<Result> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    await breathe();
  }
}

/** Goes through such work at once. */
export function atOnce<Result>(steps: Generator<void, Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
