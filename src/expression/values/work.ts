/** Splits work on bytes into pieces that are short enough to share the thread with the host. */

import type { Steps } from "../../async/eventLoop.js";

/** Bytes per step, if each takes a few nanoseconds. */
export const STEP_BYTES = 2 ** 16;
/** Bytes per step, if each takes about a nanosecond. */
export const STEP_SCANNED = 2 ** 18;
/** Work of a row besides its bytes, if each byte takes about a nanosecond. */
export const ROW_WORK = 16;

/**
 * Processes rows in plain loops, with steps between the loops.
 * @param loop processes the rows of a step from `first` on; returns the first row that it leaves, or
 * `rowCount`
 * @param handle processes a row that a loop leaves, which may be long
 */
export function* loopInSteps(
  rowCount: number,
  loop: (first: number) => number,
  handle: (row: number) => Steps<void>,
): Steps<void> {
  for (let row = loop(0); row < rowCount; row = loop(row + 1)) {
    yield;
    yield* handle(row);
  }
}
const STEP_COPIED = 2 ** 21;

/** Copies the bytes from `start` to `end`. Many bytes are copied in steps. */
export function* copyInSteps(
  source: Uint8Array,
  start: number,
  end: number,
  target: Uint8Array,
  targetStart: number,
): Steps<void> {
  for (let offset = start; offset < end; offset += STEP_COPIED) {
    target.set(source.subarray(offset, Math.min(end, offset + STEP_COPIED)), targetStart + offset - start);
    if (offset + STEP_COPIED < end) yield;
  }
}
