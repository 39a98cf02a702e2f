/**
 * Sorts rows by their keys, stably. The first two words of the first key are sorted digit by digit, lowest
 * first, without comparisons. Rows whose words are equal are then merged by comparing their keys.
 */

import { sharedPrefix } from "../../bytes/commonEnds.js";
import type { ByteLane } from "../../expression/values/operands.js";
import {
  COMPARED_STEP_BYTES,
  compareRows,
  fillPrefixes,
  isLongStep,
  type KeyLane,
  PREFIX_WORDS,
  type SortKeys,
  VALUE,
} from "./sortKeys.js";
import { rowsOfEntries, sortTwoWords, twoWordKeys } from "./twoWordSort.js";

/** Minimum rows for sorting by digits, which is then faster than merging. */
const MIN_RADIX_ROWS = 512;
/** Number of words of the first key that are sorted by digits. */
const RADIX_WORDS = 2;
const DIGIT_BITS = 11;
const DIGIT_COUNT = 2 ** DIGIT_BITS;
const DIGIT_MASK = DIGIT_COUNT - 1;
const DIGITS_PER_WORD = 3;
/** Nulls before the values, the values, and nulls after them. */
const RANKS = 3;
/** Maximum rows that are sorted by insertion. */
const INSERTED_ROWS = 16;
/** Number of rows after which the sort yields. */
const YIELD_ROWS = 16_384;

/** Returns the rows in the stable order of their keys. Yields now and then, for others on the thread. */
export function* orderOfRows(keys: SortKeys): Generator<void, Uint32Array> {
  const { rowCount, lanes } = keys;
  if (rowCount < MIN_RADIX_ROWS || lanes.length === 0) {
    const rows = allRows(rowCount);
    yield* mergeSort(keys, rows, new Uint32Array(rowCount), 0, rowCount);
    return rows;
  }
  const [lane] = lanes;
  if (lanes.length === 1 && isTwoWords(lane)) {
    return yield* rowsOfEntries(yield* sortTwoWords(twoWordKeys(lane.words)), rowCount);
  }
  const words = yield* radixWords(lane, rowCount);
  const pairs = yield* byDigits(words, lane.ranks, rowCount);
  const rows = yield* rowsOfPairs(pairs, lane.ranks);
  const isWhole = lanes.length === 1 && lane.bytes === null && words.stride <= RADIX_WORDS;
  // The pairs are done: the merge uses half of their memory.
  if (!isWhole)
    yield* mergeEqualRows(keys, rows, pairs.subarray(0, rowCount), equalWords(words, lane.ranks, rows));
  return rows;
}

/** True for keys that two words hold whole. */
const isTwoWords = ({ stride, bytes, ranks }: KeyLane): boolean =>
  stride === 2 && bytes === null && ranks === null;

function allRows(rowCount: number): Uint32Array {
  const rows = new Uint32Array(rowCount);
  for (let row = 1; row < rowCount; row++) rows[row] = row;
  return rows;
}

// -------------------------------------------------------------------------------------------------- digits

interface RadixWords {
  readonly words: Uint32Array;
  /** Words of a row. */
  readonly stride: number;
}

function* radixWords(lane: KeyLane, rowCount: number): Generator<void, RadixWords> {
  if (lane.bytes === null) return lane;
  // Texts often begin alike: with a path, a prefix of an id, a year.
  const skipped = yield* commonPrefix(lane.bytes, lane.ranks, rowCount);
  if (skipped === 0) return lane;
  const words = new Uint32Array(PREFIX_WORDS * rowCount);
  for (let start = 0; start < rowCount; start += YIELD_ROWS) {
    const end = Math.min(start + YIELD_ROWS, rowCount);
    fillPrefixes(words, lane.bytes, skipped, start, end);
    if (!lane.ascending)
      for (let index = PREFIX_WORDS * start; index < PREFIX_WORDS * end; index++)
        words[index] = ~words[index];
    yield;
  }
  return { words, stride: PREFIX_WORDS };
}

/** Returns the number of bytes that all values begin with. */
function* commonPrefix(
  { bytes, offsets }: ByteLane,
  ranks: Uint8Array | null,
  rowCount: number,
): Generator<void, number> {
  const first = ranks === null ? 0 : ranks.indexOf(VALUE);
  if (first < 0) return 0;
  const start = offsets[first];
  let common = offsets[first + 1] - start;
  for (let row = first + 1; row < rowCount && common > 0; row++) {
    if (ranks !== null && ranks[row] !== VALUE) continue;
    const rowStart = offsets[row];
    common = Math.min(common, offsets[row + 1] - rowStart);
    common = sharedPrefix(bytes.subarray(rowStart, rowStart + common), bytes.subarray(start, start + common));
    if (row % YIELD_ROWS === 0 || isLongStep(common)) yield;
  }
  return common;
}

/** Sorts the rows by the first words of a key, as pairs of the first word and the row. A null counts as 0. */
function* byDigits(
  { words, stride }: RadixWords,
  ranks: Uint8Array | null,
  rowCount: number,
): Generator<void, Uint32Array> {
  // A row's word moves along with it: looking it up would miss the processor's caches in every pass.
  let from = new Uint32Array(2 * rowCount);
  let to = new Uint32Array(2 * rowCount);
  for (let start = 0; start < rowCount; start += YIELD_ROWS) {
    numberRows(from, start, Math.min(start + YIELD_ROWS, rowCount));
    yield;
  }
  for (let word = Math.min(stride, RADIX_WORDS) - 1; word >= 0; word--) {
    const counts = new Uint32Array(DIGITS_PER_WORD * DIGIT_COUNT);
    for (let start = 0; start < rowCount; start += YIELD_ROWS) {
      const end = Math.min(start + YIELD_ROWS, rowCount);
      gatherWord(words, stride, word, ranks, from, start, end);
      countDigits(from, counts, start, end);
      yield;
    }
    for (let digit = 0; digit < DIGITS_PER_WORD; digit++) {
      const places = counts.subarray(digit * DIGIT_COUNT, (digit + 1) * DIGIT_COUNT);
      const shift = digit * DIGIT_BITS;
      if (places[(from[0] >>> shift) & DIGIT_MASK] === rowCount) continue;
      countsToPlaces(places);
      for (let start = 0; start < rowCount; start += YIELD_ROWS) {
        scatter(from, to, places, shift, start, Math.min(start + YIELD_ROWS, rowCount));
        yield;
      }
      [from, to] = [to, from];
    }
  }
  return from;
}

/** Returns the rows of pairs, with the nulls at their end. */
function* rowsOfPairs(pairs: Uint32Array, ranks: Uint8Array | null): Generator<void, Uint32Array> {
  const rows = new Uint32Array(pairs.length / 2);
  const places = new Uint32Array(RANKS);
  for (let start = 0; ranks !== null && start < rows.length; start += YIELD_ROWS) {
    for (const rank of ranks.subarray(start, start + YIELD_ROWS)) places[rank]++;
    yield;
  }
  countsToPlaces(places);
  for (let start = 0; start < rows.length; start += YIELD_ROWS) {
    placeRows(pairs, ranks, places, rows, start, Math.min(start + YIELD_ROWS, rows.length));
    yield;
  }
  return rows;
}

// The loops over all rows are functions: the engine compiles a loop worse if a yield may leave it.

/** Puts the numbers of some rows in their pairs. */
function numberRows(pairs: Uint32Array, start: number, end: number): void {
  for (let row = start; row < end; row++) pairs[2 * row + 1] = row;
}

/** Puts the rows of some pairs in the next slots of their rank; without ranks, in their own slots. */
function placeRows(
  pairs: Uint32Array,
  ranks: Uint8Array | null,
  places: Uint32Array,
  rows: Uint32Array,
  start: number,
  end: number,
): void {
  if (ranks === null) {
    for (let index = start; index < end; index++) rows[index] = pairs[2 * index + 1];
    return;
  }
  for (let index = start; index < end; index++) {
    const row = pairs[2 * index + 1];
    rows[places[ranks[row]]++] = row;
  }
}

/** Puts a word of the key of some rows beside them. */
function gatherWord(
  words: Uint32Array,
  stride: number,
  word: number,
  ranks: Uint8Array | null,
  pairs: Uint32Array,
  start: number,
  end: number,
): void {
  if (ranks === null) {
    for (let index = 2 * start; index < 2 * end; index += 2)
      pairs[index] = words[pairs[index + 1] * stride + word];
    return;
  }
  for (let slot = 2 * start; slot < 2 * end; slot += 2) {
    const row = pairs[slot + 1];
    // The word of a null has no meaning.
    pairs[slot] = ranks[row] === VALUE ? words[row * stride + word] : 0;
  }
}

/** Counts the pairs by each digit of their word. */
function countDigits(pairs: Uint32Array, counts: Uint32Array, start: number, end: number): void {
  for (let index = 2 * start; index < 2 * end; index += 2) {
    const key = pairs[index];
    counts[key & DIGIT_MASK]++;
    counts[DIGIT_COUNT + ((key >>> DIGIT_BITS) & DIGIT_MASK)]++;
    counts[2 * DIGIT_COUNT + (key >>> (2 * DIGIT_BITS))]++;
  }
}

/** Moves pairs to the next slots of their digit. */
function scatter(
  from: Uint32Array,
  to: Uint32Array,
  places: Uint32Array,
  shift: number,
  start: number,
  end: number,
): void {
  for (let index = 2 * start; index < 2 * end; index += 2) {
    const key = from[index];
    const position = 2 * places[(key >>> shift) & DIGIT_MASK]++;
    to[position] = key;
    to[position + 1] = from[index + 1];
  }
}

/** Replaces the number of rows with each digit by the slot of the first one. */
function countsToPlaces(counts: Uint32Array): void {
  let position = 0;
  for (let digit = 0; digit < counts.length; digit++) {
    const count = counts[digit];
    counts[digit] = position;
    position += count;
  }
}

// --------------------------------------------------------------------------------------------- comparisons

/** Returns true if the words of the rows at two positions of the order are equal. */
type AreEqual = (position: number, nextPosition: number) => boolean;

function equalWords({ words, stride }: RadixWords, ranks: Uint8Array | null, rows: Uint32Array): AreEqual {
  const compared = Math.min(stride, RADIX_WORDS);
  return (position, nextPosition) => {
    const [row, nextRow] = [rows[position], rows[nextPosition]];
    if (ranks !== null) {
      if (ranks[row] !== ranks[nextRow]) return false;
      if (ranks[row] !== VALUE) return true;
    }
    for (let word = 0; word < compared; word++) {
      if (words[row * stride + word] !== words[nextRow * stride + word]) return false;
    }
    return true;
  };
}

/** Sorts neighbouring rows whose words are equal. */
function* mergeEqualRows(
  keys: SortKeys,
  rows: Uint32Array,
  spare: Uint32Array,
  areEqual: AreEqual,
): Generator<void> {
  for (let start = 0; start < rows.length; ) {
    let end = start + 1;
    let isSorted = true;
    for (; end < rows.length && areEqual(start, end); end++) {
      isSorted &&= compareRows(keys, rows[end - 1], keys, rows[end]) <= 0;
      if (end % YIELD_ROWS === 0 || isLongStep()) yield;
    }
    if (!isSorted) yield* mergeSort(keys, rows, spare, start, end);
    start = end;
  }
}

/** Sorts the rows from `first` to `last - 1` by merging. */
function* mergeSort(
  keys: SortKeys,
  rows: Uint32Array,
  spare: Uint32Array,
  first: number,
  last: number,
): Generator<void> {
  const isLong = keys.lanes.some(
    ({ bytes }) => bytes !== null && bytes.offsets[keys.rowCount] - bytes.offsets[0] > COMPARED_STEP_BYTES,
  );
  for (let start = first; start < last; start += INSERTED_ROWS) {
    const end = Math.min(start + INSERTED_ROWS, last);
    if (isLong) yield* insertionSortInSteps(keys, rows, start, end);
    else insertionSort(keys, rows, start, end);
    if ((start - first) % YIELD_ROWS === 0) yield;
  }
  let [from, to] = [rows, spare];
  for (let width = INSERTED_ROWS; width < last - first; width *= 2) {
    for (let start = first; start < last; start += 2 * width) {
      const middle = Math.min(start + width, last);
      const end = Math.min(middle + width, last);
      let left = start;
      let right = middle;
      for (let index = start; index < end; index++) {
        const fromLeft =
          right >= end || (left < middle && compareRows(keys, from[left], keys, from[right]) <= 0);
        to[index] = fromLeft ? from[left++] : from[right++];
        if (index % YIELD_ROWS === 0 || isLongStep()) yield;
      }
    }
    [from, to] = [to, from];
  }
  if (from !== rows) rows.set(from.subarray(first, last), first);
}

function insertionSort(keys: SortKeys, rows: Uint32Array, start: number, end: number): void {
  for (let next = start + 1; next < end; next++) {
    const row = rows[next];
    let index = next;
    while (index > start && compareRows(keys, rows[index - 1], keys, row) > 0) {
      rows[index] = rows[index - 1];
      index--;
    }
    rows[index] = row;
  }
}

/** Sorts as {@link insertionSort}, in steps: comparing two rows may take a while. */
function* insertionSortInSteps(
  keys: SortKeys,
  rows: Uint32Array,
  start: number,
  end: number,
): Generator<void> {
  for (let next = start + 1; next < end; next++) {
    const row = rows[next];
    let index = next;
    while (index > start && compareRows(keys, rows[index - 1], keys, row) > 0) {
      rows[index] = rows[index - 1];
      index--;
      if (isLongStep()) yield;
    }
    rows[index] = row;
    if (isLongStep()) yield;
  }
}
