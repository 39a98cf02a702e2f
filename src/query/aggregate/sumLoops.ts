/**
 * Loops of sums and counts. Each function has one loop, and no generator has any: V8 then compiles it once.
 * With a second loop after the first, it discards the compiled code at each call.
 */

/** Sums the first numbers, in four sums, as an addition waits for the one before. */
export function sumOf(lane: Float64Array, count: number): number {
  const quads = count - (count & 3);
  return sumQuads(lane, quads) + sumRange(lane, quads, count);
}

function sumQuads(lane: Float64Array, end: number): number {
  let [first, second, third, fourth] = [0, 0, 0, 0];
  for (let row = 0; row < end; row += 4) {
    first += lane[row];
    second += lane[row + 1];
    third += lane[row + 2];
    fourth += lane[row + 3];
  }
  return first + second + (third + fourth);
}

function sumRange(lane: Float64Array, start: number, end: number): number {
  let sum = 0;
  for (let row = start; row < end; row++) sum += lane[row];
  return sum;
}

/** Sums the numbers at some rows. */
export function sumAt(lane: Float64Array, rows: Uint32Array): number {
  const quads = rows.length - (rows.length & 3);
  return sumQuadsAt(lane, rows, quads) + sumRangeAt(lane, rows, quads);
}

function sumQuadsAt(lane: Float64Array, rows: Uint32Array, end: number): number {
  let [first, second, third, fourth] = [0, 0, 0, 0];
  for (let index = 0; index < end; index += 4) {
    first += lane[rows[index]];
    second += lane[rows[index + 1]];
    third += lane[rows[index + 2]];
    fourth += lane[rows[index + 3]];
  }
  return first + second + (third + fourth);
}

function sumRangeAt(lane: Float64Array, rows: Uint32Array, start: number): number {
  let sum = 0;
  for (let index = start; index < rows.length; index++) sum += lane[rows[index]];
  return sum;
}

/** Sums the numbers whose bit is one, in two sums. @param bits arbitrary after the last number */
export function sumWhere(lane: Float64Array, bits: Uint8Array): number {
  const wordCount = bits.byteOffset % 4 === 0 ? lane.length >>> 5 : 0;
  const words = new Int32Array(bits.buffer, wordCount === 0 ? 0 : bits.byteOffset, wordCount);
  return sumOnes(lane, words) + sumBits(lane, bits, wordCount << 5);
}

function sumOnes(lane: Float64Array, words: Int32Array): number {
  let [even, odd] = [0, 0];
  for (let index = 0; index < words.length; index++) {
    const last = (index << 5) + 31;
    for (let word = words[index]; word !== 0; word &= word - 1) {
      even += lane[last - Math.clz32(word & -word)];
      word &= word - 1;
      if (word === 0) break;
      odd += lane[last - Math.clz32(word & -word)];
    }
  }
  return even + odd;
}

function sumBits(lane: Float64Array, bits: Uint8Array, start: number): number {
  let sum = 0;
  for (let row = start; row < lane.length; row++) if ((bits[row >>> 3] >>> (row & 7)) & 1) sum += lane[row];
  return sum;
}

/** Adds the first numbers to the sums of their groups. */
export function addFloats(sums: Float64Array, lane: Float64Array, groups: Uint32Array, count: number): void {
  for (let row = 0; row < count; row++) sums[groups[row]] += lane[row];
}

/** Adds the numbers at some rows to the sums of their groups. */
export function addFloatsAt(
  sums: Float64Array,
  lane: Float64Array,
  groups: Uint32Array,
  rows: Uint32Array,
): void {
  for (let index = 0; index < rows.length; index++) sums[groups[index]] += lane[rows[index]];
}

/** Adds one to the count of the group of each row. */
export function addCounts(counts: Float64Array, groups: Uint32Array, count: number): void {
  for (let row = 0; row < count; row++) counts[groups[row]]++;
}

/** Sets the mark of the group of each row. */
export function markGroups(marks: Uint8Array, groups: Uint32Array, count: number): void {
  for (let row = 0; row < count; row++) marks[groups[row]] = 1;
}

/** Sums integers of 32 bits. The sum of a batch is exact. @param rows of the lane; null for the first ones */
export function sumIntegers(lane: ArrayLike<number>, rows: Uint32Array | null, count: number): number {
  let sum = 0;
  for (let index = 0; index < count; index++) sum += lane[rows === null ? index : rows[index]];
  return sum;
}

/**
 * Sums integers of 64 bits by their words. The sums of a batch are exact.
 * @param totals get the sum of the low words without a sign, and that of the high words
 */
export function sumWords(lane: Int32Array, count: number, totals: Float64Array): void {
  let [low, high] = [0, 0];
  const end = 2 * count;
  for (let word = 0; word < end; word += 2) {
    low += lane[word] >>> 0;
    high += lane[word + 1];
  }
  totals[0] = low;
  totals[1] = high;
}

/** Sums the integers of 64 bits at some rows; see {@link sumWords}. */
export function sumWordsAt(lane: Int32Array, rows: Uint32Array, totals: Float64Array): void {
  let [low, high] = [0, 0];
  for (let index = 0; index < rows.length; index++) {
    const word = 2 * rows[index];
    low += lane[word] >>> 0;
    high += lane[word + 1];
  }
  totals[0] = low;
  totals[1] = high;
}
