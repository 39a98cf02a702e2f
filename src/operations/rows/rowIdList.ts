/** Reads lists of row ids and offsets of requests. */

import { yieldToEventLoop } from "../../async/eventLoop.js";
import { InvalidInputError } from "../../errors.js";
import { shortly } from "../../optionMembers.js";
import { isNumberList } from "../requestValues.js";

const WORD = 2 ** 32;
const MOST = 2n ** 64n;
/** Ids between two checks of the event loop. */
const IDS_AT_ONCE = 8192;

/**
 * Returns row ids as pairs of words, low and high, in their order. A copy, because the caller may change its
 * array.
 * @param value unchecked: a list of numbers, bigints and texts of digits
 * @throws InvalidInputError naming the first value that is not an id
 */
export async function requireRowIds(value: unknown): Promise<Uint32Array> {
  if (!isNumberList(value)) {
    throw new InvalidInputError(`rowIds: must be an array of row ids, not ${shortly(value)}`);
  }
  const copy = Array.isArray(value) ? value.slice() : (value as Uint8Array).slice();
  const words = new Uint32Array(2 * copy.length);
  for (let start = 0; start < copy.length; start += IDS_AT_ONCE) {
    const end = Math.min(copy.length, start + IDS_AT_ONCE);
    for (let index = start; index < end; index++) writeId(words, 2 * index, copy[index]);
    await yieldToEventLoop();
  }
  return words;
}

function writeId(words: Uint32Array, position: number, value: unknown): void {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) {
    words[position] = value;
    words[position + 1] = value / WORD;
    return;
  }
  const id = typeof value === "string" && /^\d{1,20}$/.test(value) ? BigInt(value) : value;
  if (typeof id !== "bigint" || id < 0n || id >= MOST) {
    const shown = ["number", "bigint"].includes(typeof value) ? String(value) : shortly(value);
    throw new InvalidInputError(`rowIds: must be integers from 0 to 2^64 - 1, but one is ${shown}`);
  }
  words[position] = Number(id & 0xffffffffn);
  words[position + 1] = Number(id >> 32n);
}

/** Sorts offsets, and counts how often each one comes. */
export function countedOffsets(offsets: Float64Array): {
  /** Ascending, each once. */
  readonly distinct: Float64Array;
  /** Number of times that each distinct offset comes; null if each comes once. */
  readonly repeats: Uint32Array | null;
} {
  const sorted = offsets.slice().sort();
  const repeats = new Uint32Array(sorted.length);
  let count = 0;
  for (let index = 0; index < sorted.length; index++) {
    if (count === 0 || sorted[index] !== sorted[count - 1]) sorted[count++] = sorted[index];
    repeats[count - 1]++;
  }
  return {
    distinct: sorted.subarray(0, count),
    repeats: count === sorted.length ? null : repeats.subarray(0, count),
  };
}
