/**
 * Finds bytes among others in linear time. Mostly the first byte is rare, and searching for it is enough. If
 * too many comparisons fail, the search goes on with the two-way algorithm (Crochemore and Perrin), which
 * compares each byte only a few times.
 */

import { Pace, runSync, type Steps } from "../../async/eventLoop.js";
import { STEP_BYTES } from "../values/work.js";

/** Number of bytes compared in vain before the search weighs them against the bytes it has passed. */
const FREE_BYTES = 1024;
/** Maximum number of bytes compared in vain per byte passed. */
const MAX_COMPARED = 8;

/** The bytes in two parts. The right part is compared first. */
interface Factors {
  readonly cut: number;
  /** Distance of the next comparison after both parts matched. */
  readonly shift: number;
  /** Number of bytes at the start that match for sure after such a shift. */
  readonly remembered: number;
}

export class ByteSearch {
  readonly #wanted: Uint8Array;
  #factors: Factors | null = null;

  constructor(needle: Uint8Array) {
    this.#wanted = needle;
  }

  get size(): number {
    return this.#wanted.length;
  }

  /**
   * Returns the offset of the first occurrence between `start` and `end`, or -1. It searches in one piece, so
   * it suits up to some ten thousand bytes; longer texts are searched in steps.
   */
  find(bytes: Uint8Array, start: number, end: number): number {
    const position = this.#quick(bytes, start, end - this.#wanted.length, end);
    return position >= -1 ? position : runSync(this.#twoWay(bytes, -2 - position, end));
  }

  /** Searches like {@link find}, in steps, any number of bytes. */
  *findInSteps(bytes: Uint8Array, start: number, end: number): Steps<number> {
    const last = end - this.#wanted.length;
    for (let index = start; index <= last; index += STEP_BYTES) {
      const position = this.#quick(bytes, index, Math.min(last, index + STEP_BYTES - 1), end);
      if (position >= 0) return position;
      if (position < -1) return yield* this.#twoWay(bytes, -2 - position, end);
      if (index + STEP_BYTES <= last) yield;
    }
    return -1;
  }

  /**
   * Goes from one occurrence of the first byte to the next.
   * @param last the last possible offset of the bytes
   * @returns the offset; -1 if the bytes do not occur; -2 - offset if too many comparisons failed, and the
   * search must continue at that offset by the two-way algorithm
   */
  #quick(bytes: Uint8Array, start: number, last: number, end: number): number {
    const needle = this.#wanted;
    const size = needle.length;
    if (size === 0) return start <= end ? start : -1;
    const [first] = needle;
    let budget = FREE_BYTES;
    for (let offset = start; offset <= last; offset++) {
      if (bytes[offset] !== first) continue;
      let byte = 1;
      while (byte < size && bytes[offset + byte] === needle[byte]) byte++;
      if (byte === size) return offset;
      budget -= byte;
      if (budget < -MAX_COMPARED * (offset - start)) return -2 - (offset + 1);
    }
    return -1;
  }

  *#twoWay(bytes: Uint8Array, start: number, end: number): Steps<number> {
    this.#factors ??= yield* factorsOf(this.#wanted);
    const { cut, shift, remembered } = this.#factors;
    const needle = this.#wanted;
    const size = needle.length;
    const pace = new Pace(STEP_BYTES);
    let seen = 0;
    for (let offset = start; offset + size <= end; ) {
      let byte = Math.max(cut, seen);
      while (byte < size && needle[byte] === bytes[offset + byte]) {
        byte++;
        if (pace.isStep()) yield;
      }
      if (pace.isStep()) yield;
      if (byte < size) {
        offset += byte - cut + 1;
        seen = 0;
        continue;
      }
      byte = cut;
      while (byte > seen && needle[byte - 1] === bytes[offset + byte - 1]) {
        byte--;
        if (pace.isStep()) yield;
      }
      if (byte <= seen) return offset;
      offset += shift;
      seen = remembered;
    }
    return -1;
  }
}

function* factorsOf(needle: Uint8Array): Steps<Factors> {
  const size = needle.length;
  const one = yield* greatestSuffix(needle, false);
  const reversed = yield* greatestSuffix(needle, true);
  const { cut, period } = reversed.cut > one.cut ? reversed : one;
  const pace = new Pace(STEP_BYTES);
  let byte = 0;
  while (byte < cut && needle[byte] === needle[period + byte]) {
    byte++;
    if (pace.isStep()) yield;
  }
  if (byte < cut) return { cut, shift: Math.max(cut - 1, size - cut) + 1, remembered: 0 };
  return { cut, shift: period, remembered: size - period };
}

/** Returns the offset and the period of the suffix that is last in the order of bytes, or in its reverse. */
function* greatestSuffix(needle: Uint8Array, isReversed: boolean): Steps<{ cut: number; period: number }> {
  const pace = new Pace(STEP_BYTES);
  let suffix = -1;
  let candidate = 0;
  let offset = 1;
  let period = 1;
  while (candidate + offset < needle.length) {
    if (pace.isStep()) yield;
    const difference = needle[suffix + offset] - needle[candidate + offset];
    if (difference === 0) {
      if (offset === period) {
        candidate += period;
        offset = 1;
      } else offset++;
    } else if (difference > 0 !== isReversed) {
      candidate += offset;
      offset = 1;
      period = candidate - suffix;
    } else {
      suffix = candidate++;
      offset = 1;
      period = 1;
    }
  }
  return { cut: suffix + 1, period };
}
