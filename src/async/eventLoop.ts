/**
 * Sharing the thread with the host. Work that only awaits promises already resolved runs on in microtasks and starves
 * timers and sockets; long loops therefore let the event loop turn now and then.
 *
 * All long work together holds a turn of the loop for no longer than a bound, and then continues with one piece per
 * turn. Anything else that waits for the loop thus waits for one piece of long work, however much of it there is.
 */

import { nextTurn } from "../platform/native.js";

/** Milliseconds that long work may hold the thread before it lets the event loop turn. */
const MAX_HOLD_MS = 8;

/** Long work that continues in one of the next turns. */
const waiting: (() => void)[] = [];
/** When long work first ran in this turn; null if it has not. */
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

/** Call this at every step of long work: it lets the event loop turn if it was held for long enough. */
export async function breathe(): Promise<void> {
  if (heldSinceMs === null) hold();
  else if (performance.now() - heldSinceMs >= MAX_HOLD_MS) {
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
    });
  }
}

/** Runs work that may be interrupted at every step, and breathes there. */
export async function goThrough<Result>(steps: Generator<void, Result>): Promise<Result> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    await breathe();
  }
}

/** Runs such work without interruption. */
export function atOnce<Result>(steps: Generator<void, Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
