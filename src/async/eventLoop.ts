/**
 * Sharing the thread with the host. Work that only awaits promises already resolved runs on in microtasks and starves
 * timers and sockets; long loops therefore let the event loop turn now and then.
 *
 * All long work together holds a turn of the loop for no longer than a bound, and then continues with one piece every few
 * turns. Anything else that waits for the loop thus waits for one piece of long work, however much of it there is.
 */

import { nextTurn } from "../platform/native.js";
import { performance } from "./timers.js";

/** Milliseconds that long work may hold the thread before it lets the event loop turn. */
const MAX_HOLD_MS = 5;

/**
 * Turns that the loop then has without long work. Node.js accepts one connection a turn: with long work in each of them,
 * who comes behind a hundred others would wait a hundred times as long. A turn with nothing to do takes microseconds.
 */
const REST_TURNS = 16;

/** Settles once the last one who asked goes on: pieces of long work follow each other in the order in which they ask. */
let last: Promise<void> = Promise.resolve();
/** Lets the next piece go on; null if none waits for a turn. */
let goOn: (() => void) | null = null;
/** When long work first ran in this turn, or before the rest; null if it has not. */
let heldSinceMs: number | null = null;
/** Turns of the rest so far. */
let restedTurns = 0;

function hold(): void {
  heldSinceMs = performance.now();
  nextTurn(turn);
}

function turn(): void {
  if (goOn !== null && restedTurns < REST_TURNS) {
    restedTurns++;
    nextTurn(turn);
    return;
  }
  restedTurns = 0;
  heldSinceMs = null;
  if (goOn === null) return;
  const next = goOn;
  goOn = null;
  hold();
  next();
}

function untilFree(): Promise<void> | undefined {
  if (heldSinceMs === null) hold();
  else if (performance.now() - heldSinceMs >= MAX_HOLD_MS) {
    return new Promise<void>((resolve) => {
      goOn = resolve;
    });
  }
  return undefined;
}

/**
 * Call this at every step of long work, and await it at once: it lets the event loop turn if it was held for long enough.
 */
export function yieldToEventLoop(): Promise<void> {
  // Behind the piece that was let go on before: only after that has run can the clock tell how long the thread was held.
  last = last.then(untilFree);
  return last;
}

/** Work that may be interrupted at every step, by `yield`. Where it yields a promise, it waits for that. */
export type Steps<Result> = Generator<void | Promise<void>, Result, undefined>;

/** Tells which parts of long work, each far below a millisecond, end a step: the clock is not asked for every one. */
export class Pace {
  readonly #stepParts: number;
  #left: number;

  /** @param stepParts parts of a step */
  constructor(stepParts = 64) {
    this.#stepParts = stepParts;
    this.#left = stepParts;
  }

  /** Counts several parts that do not end a step: the next that is counted may. */
  add(parts: number): void {
    this.#left -= parts;
  }

  /** Counts a part, or several. @returns whether a step ends with them */
  isStep(parts = 1): boolean {
    this.#left -= parts;
    if (this.#left > 0) return false;
    this.#left = this.#stepParts;
    return true;
  }
}

/**
 * Runs work that may be interrupted at every step, and breathes there.
 * @throws the signal's reason, at the first step after the abort
 */
export async function runAsync<Result>(steps: Steps<Result>, signal?: AbortSignal): Promise<Result> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    await (value ?? yieldToEventLoop());
    signal?.throwIfAborted();
  }
}

/**
 * Runs such work without interruption.
 * @throws TypeError where it waits for something
 */
export function runSync<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    if (value !== undefined) throw new TypeError("work that waits can't be done at once");
  }
}
