/**
 * Shares the thread with the host. Work that awaits only resolved promises runs on in microtasks and starves
 * timers and sockets. Long loops therefore let the event loop turn now and then.
 *
 * All long work together holds a turn of the loop for a bounded time, then runs one piece every few turns.
 * Anything else in the loop waits for one piece of long work, however much of it there is.
 */

import { nextTurn } from "../platform/native.js";
import { performance } from "./timers.js";

/** Milliseconds that long work may hold the thread before it lets the event loop turn. */
const MAX_HOLD_MS = 5;

/**
 * Turns that the loop then has without long work. Node.js accepts one connection a turn. With long work in
 * every turn, the last of a hundred connections would wait a hundred times as long. An empty turn takes
 * microseconds.
 */
const REST_TURNS = 16;

/** Settles when the last piece that asked has its turn: pieces run in the order in which they ask. */
let last: Promise<void> = Promise.resolve();
/** Lets the next piece go on; null if none waits for a turn. */
let goOn: (() => void) | null = null;
/** Time at which long work first ran in this turn, or before the rest; null if it has not. */
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

/** Lets the event loop turn if long work held it for long enough. Long work awaits this at every step. */
export function yieldToEventLoop(): Promise<void> {
  // Waits for the piece before: only after it has run can the clock tell how long the thread was held.
  last = last.then(untilFree);
  return last;
}

/** Work that may be interrupted at every `yield`. It waits for a promise that it yields. */
export type Steps<Result> = Generator<void | Promise<void>, Result, undefined>;

/** Tells which parts of long work end a step. Parts are too short to ask the clock each time. */
export class Pace {
  readonly #stepParts: number;
  #left: number;

  /** @param stepParts parts of a step */
  constructor(stepParts = 64) {
    this.#stepParts = stepParts;
    this.#left = stepParts;
  }

  /** Counts parts that do not end a step; the next part that is counted may end it. */
  add(parts: number): void {
    this.#left -= parts;
  }

  /** Counts parts. @returns true if they end a step */
  isStep(parts = 1): boolean {
    this.#left -= parts;
    if (this.#left > 0) return false;
    this.#left = this.#stepParts;
    return true;
  }
}

/**
 * Runs work in steps, and lets the event loop turn between them. Work of one step needs no promise.
 * @throws the signal's reason, at the first step after the abort
 */
export function runAsync<Result>(steps: Steps<Result>, signal?: AbortSignal): Result | Promise<Result> {
  const { done, value } = steps.next();
  return done === true ? value : runRest(steps, value, signal);
}

async function runRest<Result>(
  steps: Steps<Result>,
  first: void | Promise<void>,
  signal: AbortSignal | undefined,
): Promise<Result> {
  for (let waiting = first; ; ) {
    await (waiting ?? yieldToEventLoop());
    signal?.throwIfAborted();
    const { done, value } = steps.next();
    if (done === true) return value;
    waiting = value;
  }
}

/**
 * Runs work in steps without interruption.
 * @throws TypeError if the work yields a promise
 */
export function runSync<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    if (value !== undefined) throw new TypeError("work that waits cannot run without interruption");
  }
}
