/**
 * Sorts rows by keys of two words, such as integers of 64 bits, stably. An entry of three words moves as one:
 * the key, high word first, and the number of the row.
 *
 *   1. Read the bounds of the keys. Rows in order need no sort.
 *   2. Deal the entries to buckets, by the highest bits in which keys within the bounds differ.
 *   3. Sort each bucket likewise, within its own bounds; sort a few entries by insertion.
 *
 * A bucket fits in the processor's caches, and its bounds are narrower by the bits that its keys share. Each
 * level of buckets thus takes bits off the key, whatever the values are.
 */

/** Words of a key. */
export const KEY_WORDS = 2;
/** Words of an entry: those of its key, and the number of its row. */
export const ENTRY_WORDS = 3;
/** Maximum entries that are sorted by insertion. */
const INSERTED_ENTRIES = 16;
/** Maximum bits that one level of buckets tells apart. */
const MAX_LEVEL_BITS = 11;
/** Number of rows after which the sort yields. */
const YIELD_ROWS = 16_384;
const MAX_WORD = 0xffff_ffff;

/** Keys of rows, which are read several times. */
export interface TwoWordKeys {
  readonly rowCount: number;
  /** Returns the words of all keys in pieces of any length, each valid until the next one is requested. */
  pieces(): Iterable<Uint32Array>;
}

/** Returns the keys of some words in pieces after which the sort may yield. */
export const twoWordKeys = (words: Uint32Array): TwoWordKeys => ({
  rowCount: words.length / KEY_WORDS,
  *pieces() {
    const step = KEY_WORDS * YIELD_ROWS;
    for (let start = 0; start < words.length; start += step) yield words.subarray(start, start + step);
  },
});

/** Lends words. Their content is arbitrary. */
export type LendWords = (count: number) => Uint32Array;

const newWords: LendWords = (count) => new Uint32Array(count);

/**
 * Returns the entries in the order of their keys; null if the rows are in order already. Yields now and then,
 * for others on the thread.
 * @param lend lends memory for the entries. Default: new memory
 */
export function* sortTwoWords(
  keys: TwoWordKeys,
  lend: LendWords = newWords,
): Generator<void, Uint32Array | null> {
  const { rowCount } = keys;
  const level = new BucketLevel();
  for (const words of keys.pieces()) {
    level.widen(words, KEY_WORDS, 0, words.length);
    yield;
  }
  if (level.isSorted) return null;
  level.startCounting(rowCount);
  for (const words of keys.pieces()) {
    level.count(words, KEY_WORDS, 0, words.length);
    yield;
  }
  const largest = level.startDealing();
  const entries = lend(ENTRY_WORDS * rowCount);
  let row = 0;
  for (const words of keys.pieces()) {
    level.dealKeys(words, row, entries);
    row += words.length / KEY_WORDS;
    yield;
  }
  const buckets = new BucketSort(entries, lend(ENTRY_WORDS * largest));
  yield* buckets.sortBuckets(level, 0, 0);
  return entries;
}

/** Returns the rows of entries, or of as many rows in order as there are. */
export function* rowsOfEntries(entries: Uint32Array | null, rowCount: number): Generator<void, Uint32Array> {
  const rows = new Uint32Array(rowCount);
  for (let start = 0; start < rowCount; start += YIELD_ROWS) {
    const end = Math.min(start + YIELD_ROWS, rowCount);
    if (entries === null) for (let row = start; row < end; row++) rows[row] = row;
    else copyRows(entries, rows, start, end);
    yield;
  }
  return rows;
}

/** {@link rowsOfEntries} for a few entries. */
export function rowsOfBlock(entries: Uint32Array): Uint32Array {
  const rows = new Uint32Array(entries.length / ENTRY_WORDS);
  copyRows(entries, rows, 0, rows.length);
  return rows;
}

function copyRows(entries: Uint32Array, rows: Uint32Array, start: number, end: number): void {
  for (let index = start; index < end; index++) rows[index] = entries[ENTRY_WORDS * index + KEY_WORDS];
}

/** Sorts entries that have been dealt to buckets. */
class BucketSort {
  /** Levels of buckets within buckets, used again for each bucket. */
  readonly #levels: BucketLevel[] = [];
  /** Rows sorted since the sort yielded. */
  #unyieldedRows = 0;

  readonly #entries: Uint32Array;
  readonly #spare: Uint32Array;

  /** @param spare memory for a copy of the largest bucket */
  constructor(entries: Uint32Array, spare: Uint32Array) {
    this.#entries = entries;
    this.#spare = spare;
  }

  /** Sorts each bucket with more than a few entries. @param start number of the first entry */
  *sortBuckets(level: BucketLevel, depth: number, start: number): Generator<void> {
    let first = start;
    for (let bucket = 0; bucket < level.bucketCount; bucket++) {
      const end = start + level.endOf(bucket);
      if (end - first > INSERTED_ENTRIES || depth === 0) yield* this.#sort(first, end, depth);
      first = end;
    }
  }

  /** Sorts the entries from number `start` to `end - 1`. */
  *#sort(start: number, end: number, depth: number): Generator<void> {
    const entries = this.#entries;
    const spare = this.#spare;
    const count = end - start;
    if (count > INSERTED_ENTRIES) {
      const level = (this.#levels[depth] ??= new BucketLevel());
      level.clear();
      for (let from = start; from < end; from += YIELD_ROWS) {
        level.widen(entries, ENTRY_WORDS, ENTRY_WORDS * from, ENTRY_WORDS * pieceEnd(from, end));
        if (this.#isStep(count)) yield;
      }
      if (level.isSorted) return;
      level.startCounting(count);
      for (let from = start; from < end; from += YIELD_ROWS) {
        level.count(entries, ENTRY_WORDS, ENTRY_WORDS * from, ENTRY_WORDS * pieceEnd(from, end));
        if (this.#isStep(count)) yield;
      }
      level.startDealing();
      for (let from = start; from < end; from += YIELD_ROWS) {
        level.dealEntries(entries, ENTRY_WORDS * from, ENTRY_WORDS * pieceEnd(from, end), spare);
        if (this.#isStep(count)) yield;
      }
      entries.set(spare.subarray(0, ENTRY_WORDS * count), ENTRY_WORDS * start);
      yield* this.sortBuckets(level, depth + 1, start);
    }
    // Entries of different buckets are in order already, as are those of large buckets.
    for (let from = start; from < end; from += YIELD_ROWS) {
      insertEntries(entries, start, from, pieceEnd(from, end));
      if (this.#isStep(count)) yield;
    }
  }

  /** Counts the rows of a piece of a bucket. @returns true if the sort shall yield */
  #isStep(bucketRows: number): boolean {
    this.#unyieldedRows += Math.min(bucketRows, YIELD_ROWS);
    if (this.#unyieldedRows < YIELD_ROWS) return false;
    this.#unyieldedRows = 0;
    return true;
  }
}

const pieceEnd = (from: number, end: number): number => Math.min(from + YIELD_ROWS, end);

/** Inserts the entries from `from` to `to - 1` among those from `start` on, which are in order. */
function insertEntries(entries: Uint32Array, start: number, from: number, to: number): void {
  const floor = ENTRY_WORDS * start;
  for (let slot = ENTRY_WORDS * Math.max(from, start + 1); slot < ENTRY_WORDS * to; slot += ENTRY_WORDS) {
    const high = entries[slot];
    const low = entries[slot + 1];
    let before = slot - ENTRY_WORDS;
    if (entries[before] < high || (entries[before] === high && entries[before + 1] <= low)) continue;
    const row = entries[slot + 2];
    while (
      before >= floor &&
      (entries[before] > high || (entries[before] === high && entries[before + 1] > low))
    ) {
      entries[before + 3] = entries[before];
      entries[before + 4] = entries[before + 1];
      entries[before + 5] = entries[before + 2];
      before -= ENTRY_WORDS;
    }
    entries[before + 3] = high;
    entries[before + 4] = low;
    entries[before + 5] = row;
  }
}

/**
 * One level of buckets. Keys are read three times: for their bounds, for the sizes of the buckets, and to
 * deal them. The bucket of a key is its distance from the least key, without the lowest bits.
 */
class BucketLevel {
  #minHigh = 0;
  #minLow = 0;
  #maxHigh = 0;
  #maxLow = 0;
  /** True if the keys read for their bounds ascend. */
  isSorted = true;
  /** Bits of the distance below those of the bucket. */
  #shift = 0;
  /** True if no distance exceeds 32 bits. */
  #isNarrow = true;
  bucketCount = 0;
  /** By bucket: the number of its entries; once they are dealt, the first word of the next one. */
  readonly #slots = new Uint32Array(2 ** MAX_LEVEL_BITS);

  constructor() {
    this.clear();
  }

  clear(): void {
    this.#minHigh = MAX_WORD;
    this.#minLow = MAX_WORD;
    this.#maxHigh = 0;
    this.#maxLow = 0;
    this.isSorted = true;
  }

  /** Reads keys for their bounds. @param stride words from one key to the next */
  widen(words: Uint32Array, stride: number, start: number, end: number): void {
    let minHigh = this.#minHigh;
    let minLow = this.#minLow;
    let maxHigh = this.#maxHigh;
    let maxLow = this.#maxLow;
    let descents = 0;
    for (let slot = start; slot < end; slot += stride) {
      const high = words[slot];
      const low = words[slot + 1];
      // A key that ascends is the greatest so far.
      if (high > maxHigh || (high === maxHigh && low >= maxLow)) {
        maxHigh = high;
        maxLow = low;
      } else descents++;
      if (high < minHigh || (high === minHigh && low < minLow)) {
        minHigh = high;
        minLow = low;
      }
    }
    if (descents > 0) this.isSorted = false;
    this.#minHigh = minHigh;
    this.#minLow = minLow;
    this.#maxHigh = maxHigh;
    this.#maxLow = maxLow;
  }

  /** Makes buckets of about two of `count` entries. */
  startCounting(count: number): void {
    const high = this.#maxHigh - this.#minHigh - (this.#maxLow < this.#minLow ? 1 : 0);
    const rangeBits = high > 0 ? 64 - Math.clz32(high) : 32 - Math.clz32(this.#maxLow - this.#minLow);
    const bits = Math.min(MAX_LEVEL_BITS, 31 - Math.clz32(count), rangeBits);
    this.#shift = rangeBits - bits;
    this.#isNarrow = high === 0;
    this.bucketCount = 2 ** bits;
    this.#slots.fill(0, 0, this.bucketCount);
  }

  count(words: Uint32Array, stride: number, start: number, end: number): void {
    const slots = this.#slots;
    const minHigh = this.#minHigh;
    const minLow = this.#minLow;
    const shift = this.#shift;
    const isNarrow = this.#isNarrow;
    for (let slot = start; slot < end; slot += stride) {
      slots[bucketOf(words[slot], words[slot + 1], minHigh, minLow, shift, isNarrow)]++;
    }
  }

  /** Gives each bucket its slots. @returns the number of entries of the largest bucket */
  startDealing(): number {
    const slots = this.#slots;
    let position = 0;
    let largest = 0;
    for (let bucket = 0; bucket < this.bucketCount; bucket++) {
      const size = slots[bucket];
      slots[bucket] = position;
      position += ENTRY_WORDS * size;
      if (size > largest) largest = size;
    }
    return largest;
  }

  /** One past the last entry of a bucket, once all entries are dealt. */
  endOf(bucket: number): number {
    return this.#slots[bucket] / ENTRY_WORDS;
  }

  /** Makes entries of keys, and deals them. @param firstRow number of the row of the first key */
  dealKeys(words: Uint32Array, firstRow: number, target: Uint32Array): void {
    const slots = this.#slots;
    const minHigh = this.#minHigh;
    const minLow = this.#minLow;
    const shift = this.#shift;
    const isNarrow = this.#isNarrow;
    for (let slot = 0, row = firstRow; slot < words.length; slot += KEY_WORDS, row++) {
      const high = words[slot];
      const low = words[slot + 1];
      const bucket = bucketOf(high, low, minHigh, minLow, shift, isNarrow);
      const position = slots[bucket];
      slots[bucket] = position + ENTRY_WORDS;
      target[position] = high;
      target[position + 1] = low;
      target[position + 2] = row;
    }
  }

  dealEntries(entries: Uint32Array, start: number, end: number, target: Uint32Array): void {
    const slots = this.#slots;
    const minHigh = this.#minHigh;
    const minLow = this.#minLow;
    const shift = this.#shift;
    const isNarrow = this.#isNarrow;
    for (let slot = start; slot < end; slot += ENTRY_WORDS) {
      const high = entries[slot];
      const low = entries[slot + 1];
      const bucket = bucketOf(high, low, minHigh, minLow, shift, isNarrow);
      const position = slots[bucket];
      slots[bucket] = position + ENTRY_WORDS;
      target[position] = high;
      target[position + 1] = low;
      target[position + 2] = entries[slot + 2];
    }
  }
}

/** Returns (key - min) >>> shift. */
function bucketOf(
  high: number,
  low: number,
  minHigh: number,
  minLow: number,
  shift: number,
  isNarrow: boolean,
): number {
  if (isNarrow) return (low - minLow) >>> shift;
  const highDistance = high - minHigh - (low < minLow ? 1 : 0);
  if (shift >= 32) return highDistance >>> (shift - 32);
  return (highDistance << (32 - shift)) | ((low - minLow) >>> shift);
}
