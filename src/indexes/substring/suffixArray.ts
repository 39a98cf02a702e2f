/**
 * Sorts the suffixes of a string in linear time, by induced sorting (SA-IS). A suffix is of type S if it is
 * less than the one after it, else of type L. The leftmost S suffixes of all runs decide the order of the
 * others: first the L suffixes follow from them, then the S suffixes from those. Their own order is that of
 * a string half as long at most, whose symbols are names of the substrings between them.
 */

import type { Steps } from "../../async/eventLoop.js";

/** Positions per step. */
const STEP = 2 ** 15;
const STEP_MASK = STEP - 1;

/**
 * Returns the starts of all suffixes in their order.
 * @param text numbers below `alphabet`; the last is 0, and no other is
 */
export function* suffixArray(text: Uint8Array | Int32Array, alphabet: number): Steps<Int32Array> {
  const suffixes = new Int32Array(text.length);
  if (text.length <= 1) return suffixes;
  const sorting: Sorting = { text, suffixes, isSmaller: yield* typesOf(text), ends: endsOf(text, alphabet) };
  const leftmost = yield* leftmostOf(sorting);
  yield* placeLeftmost(sorting, leftmost);
  yield* induce(sorting);
  const { names, count } = yield* nameSubstrings(sorting, leftmost);
  const order = count < names.length ? yield* suffixArray(names, count) : inverseOf(names);
  yield* placeLeftmost(
    sorting,
    order.map((index) => leftmost[index]),
  );
  yield* induce(sorting);
  return suffixes;
}

interface Sorting {
  readonly text: Uint8Array | Int32Array;
  /** Starts of sorted suffixes; -1 in free places. */
  readonly suffixes: Int32Array;
  /** 1 for suffixes of type S. */
  readonly isSmaller: Uint8Array;
  /** End of the suffixes that begin with each symbol. */
  readonly ends: Int32Array;
}

function* typesOf(text: Uint8Array | Int32Array): Steps<Uint8Array> {
  const isSmaller = new Uint8Array(text.length);
  isSmaller[text.length - 1] = 1;
  for (let index = text.length - 2; index >= 0; index--) {
    if ((index & STEP_MASK) === 0) yield;
    const difference = text[index] - text[index + 1];
    isSmaller[index] = difference < 0 ? 1 : difference > 0 ? 0 : isSmaller[index + 1];
  }
  return isSmaller;
}

function endsOf(text: Uint8Array | Int32Array, alphabet: number): Int32Array {
  const ends = new Int32Array(alphabet);
  for (let index = 0; index < text.length; index++) ends[text[index]]++;
  for (let symbol = 1; symbol < alphabet; symbol++) ends[symbol] += ends[symbol - 1];
  return ends;
}

/** Returns the starts of the leftmost S suffixes in the order of the text. */
function* leftmostOf({ isSmaller }: Sorting): Steps<Int32Array> {
  const starts = new Int32Array(isSmaller.length >>> 1);
  let count = 0;
  for (let index = 1; index < isSmaller.length; index++) {
    if ((index & STEP_MASK) === 0) yield;
    if (isSmaller[index] > isSmaller[index - 1]) starts[count++] = index;
  }
  return starts.subarray(0, count);
}

/** Places suffixes, in their order, at the ends of the ranges of their first symbols. */
function* placeLeftmost({ text, suffixes, ends }: Sorting, starts: Int32Array): Steps<void> {
  suffixes.fill(-1);
  const tails = ends.slice();
  for (let index = starts.length - 1; index >= 0; index--) {
    if ((index & STEP_MASK) === 0) yield;
    suffixes[--tails[text[starts[index]]]] = starts[index];
  }
}

/** Places the L suffixes, whose order follows from the placed ones, and then the S suffixes. */
function* induce({ text, suffixes, isSmaller, ends }: Sorting): Steps<void> {
  const heads = new Int32Array(ends.length);
  heads.set(ends.subarray(0, ends.length - 1), 1);
  for (let index = 0; index < suffixes.length; index++) {
    if ((index & STEP_MASK) === 0) yield;
    const start = suffixes[index] - 1;
    if (start >= 0 && isSmaller[start] === 0) suffixes[heads[text[start]]++] = start;
  }
  const tails = ends.slice();
  for (let index = suffixes.length - 1; index >= 0; index--) {
    if ((index & STEP_MASK) === 0) yield;
    const start = suffixes[index] - 1;
    if (start >= 0 && isSmaller[start] === 1) suffixes[--tails[text[start]]] = start;
  }
}

/**
 * Names the substrings from each leftmost S suffix to the next, by their order. Equal ones have one name.
 * @returns names in the order of the text, and their number
 */
function* nameSubstrings(
  { text, suffixes, isSmaller }: Sorting,
  leftmost: Int32Array,
): Steps<{ names: Int32Array; count: number }> {
  // No two of these starts are neighbours, so half a start identifies each.
  const indexOf = new Int32Array((text.length >>> 1) + 1);
  for (let index = 0; index < leftmost.length; index++) indexOf[leftmost[index] >>> 1] = index;
  const endOf = (index: number) => (index + 1 < leftmost.length ? leftmost[index + 1] + 1 : text.length);
  const names = new Int32Array(leftmost.length);
  let count = 0;
  let last = -1;
  for (let row = 0; row < suffixes.length; row++) {
    if ((row & STEP_MASK) === 0) yield;
    const start = suffixes[row];
    if (start === 0 || isSmaller[start] <= isSmaller[start - 1]) continue;
    const index = indexOf[start >>> 1];
    if (last < 0 || !isSame(text, leftmost[last], endOf(last), start, endOf(index))) count++;
    names[index] = count - 1;
    last = index;
  }
  return { names, count };
}

function isSame(
  text: Uint8Array | Int32Array,
  one: number,
  oneEnd: number,
  second: number,
  secondEnd: number,
): boolean {
  if (oneEnd - one !== secondEnd - second) return false;
  for (let index = 0; index < oneEnd - one; index++)
    if (text[one + index] !== text[second + index]) return false;
  return true;
}

/** Returns the index of each name. @param names all different */
function inverseOf(names: Int32Array): Int32Array {
  const indexes = new Int32Array(names.length);
  for (let index = 0; index < names.length; index++) indexes[names[index]] = index;
  return indexes;
}
