/** Work on bytes in pieces that are small enough to share the thread with the host. */

import type { Steps } from "../../async/eventLoop.js";

/** Bytes from one step to the next where each takes a few nanoseconds. */
export const STEP_BYTES = 2 ** 16;
/** Bytes that are copied from one step to the next. */
const STEP_COPIED = 2 ** 21;

/** Copies bytes from `start` to `end`. A few are no step. */
export function* copyInSteps(
  source: Uint8Array,
  start: number,
  end: number,
  target: Uint8Array,
  targetStart: number,
): Steps<void> {
  for (let at = start; at < end; at += STEP_COPIED) {
    target.set(source.subarray(at, Math.min(end, at + STEP_COPIED)), targetStart + at - start);
    if (at + STEP_COPIED < end) yield;
  }
}
