/**
 * Sets of integers in which many values are looked up. If the numbers lie close together, the set has a bit
 * for each number from the least to the greatest, and a lookup is one load. Otherwise hashes have bits: most
 * values outside the set fail there, before the lookup in a hash table.
 *
 * Integers are compared modulo 2^32 or 2^64, so their sign makes no difference.
 */

/**
 * Maximum number of bits of a set, which fits the processor's L2 cache. More are allowed if the numbers take
 * as much memory.
 */
const MAX_BITS = 2 ** 22;
const BITS_PER_NUMBER = 64;
const HASH_BITS_PER_NUMBER = 16;
const MIN_HASH_BITS = 10;
const MAX_HASH_BITS = 23;

/** Sets bit `row & 7` of byte `row >>> 3` for each value in the set. All bits are 0 before. */
export type Look = (values: Int32Array, length: number, bits: Uint8Array) => void;

/** Integers of 32 bits that lie close together. */
export class CloseSet {
  /** The least number, which has the first bit. */
  readonly least: number;
  /** Index of the bit after the last one, which is never set. All values outside the range share it. */
  readonly end: number;
  readonly words: Int32Array;

  private constructor(numbers: Int32Array, least: number, range: number) {
    this.least = least;
    this.end = range + 1;
    this.words = new Int32Array((this.end >>> 5) + 1);
    for (const number of numbers) mark(this.words, (number - least) >>> 0);
  }

  /** Returns null if they lie too far apart. @param numbers at least one */
  static of(numbers: Int32Array): CloseSet | null {
    const { least, range } = span(numbers);
    return fits(range, numbers.length) ? new CloseSet(numbers, least, range) : null;
  }

  readonly look: Look = (values, length, bits) => {
    const { words, least, end } = this;
    const bitOf = (value: number): number => {
      const distance = (value - least) >>> 0;
      const index = distance < end ? distance : end;
      return (words[index >>> 5] >>> (index & 31)) & 1;
    };
    const whole = length & ~7;
    for (let row = 0; row < whole; row += 8) {
      bits[row >>> 3] =
        bitOf(values[row]) |
        (bitOf(values[row + 1]) << 1) |
        (bitOf(values[row + 2]) << 2) |
        (bitOf(values[row + 3]) << 3) |
        (bitOf(values[row + 4]) << 4) |
        (bitOf(values[row + 5]) << 5) |
        (bitOf(values[row + 6]) << 6) |
        (bitOf(values[row + 7]) << 7);
    }
    for (let row = whole; row < length; row++) bits[row >>> 3] |= bitOf(values[row]) << (row & 7);
  };
}

/** Looks up integers of 64 bits: pairs of words, low ones first. @param numbers at least one pair */
export function closePairs(numbers: Int32Array): Look | null {
  const { low, high, range } = spanOfPairs(numbers);
  if (!fits(range, numbers.length / 2)) return null;
  const set = new Int32Array((range >>> 5) + 1);
  // Numbers below the least wrap to numbers beyond the range.
  for (let index = 0; index < numbers.length; index += 2) mark(set, (numbers[index] - low) >>> 0);
  return (values, length, bits) => {
    for (let row = 0; row < length; row += 8) {
      const end = Math.min(8, length - row);
      let word = 0;
      for (let bit = 0, from = 2 * row; bit < end; bit++, from += 2) {
        const index = (values[from] - low) >>> 0;
        const borrow = values[from] >>> 0 < low >>> 0 ? 1 : 0;
        if (index > range || ((values[from + 1] - high - borrow) | 0) !== 0) continue;
        word |= ((set[index >>> 5] >>> (index & 31)) & 1) << bit;
      }
      bits[row >>> 3] = word;
    }
  };
}

/** Bits of hashes, enough of them to stay sparse. */
export class HashBits {
  readonly words: Int32Array;
  /** Shift of a hash to the index of its bit. */
  readonly shift: number;

  constructor(count: number) {
    const wanted = Math.ceil(Math.log2(HASH_BITS_PER_NUMBER * Math.max(1, count)));
    const log = Math.max(MIN_HASH_BITS, Math.min(MAX_HASH_BITS, wanted));
    this.words = new Int32Array(2 ** (log - 5));
    this.shift = 32 - log;
  }

  add(hash: number): void {
    mark(this.words, hash >>> this.shift);
  }

  /** False for most hashes that were not added. */
  mayHave(hash: number): boolean {
    const bit = hash >>> this.shift;
    return ((this.words[bit >>> 5] >>> (bit & 31)) & 1) === 1;
  }
}

function mark(set: Int32Array, bit: number): void {
  set[bit >>> 5] |= 1 << (bit & 31);
}

const fits = (range: number, count: number): boolean =>
  range < Math.max(MAX_BITS, Math.min(count * BITS_PER_NUMBER, 2 ** 31));

function span(numbers: Int32Array): { readonly least: number; readonly range: number } {
  let [least] = numbers;
  let most = least;
  for (const number of numbers) {
    if (number < least) least = number;
    if (number > most) most = number;
  }
  return { least, range: most - least };
}

/** @returns the words of the least, and the distance of the greatest from it: rounded if it is large */
function spanOfPairs(numbers: Int32Array): {
  readonly low: number;
  readonly high: number;
  readonly range: number;
} {
  let [low, high] = numbers;
  let [mostLow, mostHigh] = numbers;
  for (let index = 0; index < numbers.length; index += 2) {
    const ownLow = numbers[index];
    const ownHigh = numbers[index + 1];
    if (ownHigh < high || (ownHigh === high && ownLow >>> 0 < low >>> 0)) [low, high] = [ownLow, ownHigh];
    if (ownHigh > mostHigh || (ownHigh === mostHigh && ownLow >>> 0 > mostLow >>> 0)) {
      [mostLow, mostHigh] = [ownLow, ownHigh];
    }
  }
  return { low, high, range: (mostHigh - high) * 2 ** 32 + ((mostLow >>> 0) - (low >>> 0)) };
}
