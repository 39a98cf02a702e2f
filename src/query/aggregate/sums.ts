/**
 * Counts, sums and means. Sums of integers and decimals are exact: a sum has limbs of 32 bits in doubles,
 * the lowest first, and carries before a limb is inexact.
 */

import type { Column } from "../../arrow/columns/column.js";
import { numbersColumn } from "../../arrow/columns/numbersColumn.js";
import type { Steps } from "../../async/eventLoop.js";
import { InvalidInputError } from "../../errors.js";
import { numbersOf, wordLane } from "../../expression/values/operands.js";
import { byteWidthOf, FLOAT64, INT32, typeName, type ValueType } from "../../expression/values/types.js";
import { type Accumulator, type GroupedRows, nullsOfRows, resultValidity, roomFor } from "./accumulator.js";

const LIMB = 2 ** 32;
/** A limb below this size takes another 2^32 without losing a digit. */
const FULL = 2 ** 52;

/** Counts rows, or rows whose operand is not null. */
export class Count implements Accumulator {
  #counts = new Float64Array(1);

  get byteLength(): number {
    return this.#counts.byteLength;
  }

  *reserve(groupCount: number): Steps<void> {
    this.#counts = yield* roomFor(this.#counts, groupCount);
  }

  // biome-ignore lint/correctness/useYield: the others take steps
  *add(operand: Column | null, { groups, rowCount, isOne }: GroupedRows): Steps<void> {
    const counts = this.#counts;
    if (isOne) {
      const { kind, validity } = operand ?? { kind: "bits", validity: null };
      counts[0] += kind === "null" ? 0 : rowCount - (validity?.nullCount ?? 0);
      return;
    }
    const nulls = operand === null ? null : nullsOfRows(operand, rowCount);
    if (nulls === null) for (let row = 0; row < rowCount; row++) counts[groups[row]]++;
    else for (let row = 0; row < rowCount; row++) if (nulls[row] === 0) counts[groups[row]]++;
  }

  // biome-ignore lint/correctness/useYield: the others take steps
  *results(start: number, end: number): Steps<Column> {
    const words = new Uint32Array(2 * (end - start));
    for (let group = start; group < end; group++) {
      const count = this.#counts[group];
      words[2 * (group - start)] = count;
      words[2 * (group - start) + 1] = count / LIMB;
    }
    return numbersColumn(words, 8);
  }
}

/** Sums floats of 64 bits, or returns their mean. */
export class FloatSum implements Accumulator {
  readonly #isMean: boolean;
  #sums = new Float64Array(1);
  #counts = new Float64Array(1);

  constructor(isMean: boolean) {
    this.#isMean = isMean;
  }

  get byteLength(): number {
    return this.#sums.byteLength + this.#counts.byteLength;
  }

  *reserve(groupCount: number): Steps<void> {
    this.#sums = yield* roomFor(this.#sums, groupCount);
    this.#counts = yield* roomFor(this.#counts, groupCount);
  }

  // biome-ignore lint/correctness/useYield: the others take steps
  *add(operand: Column | null, { groups, rowCount, isOne }: GroupedRows): Steps<void> {
    if (operand === null || operand.kind === "null") return;
    const lane = numbersOf({ column: operand, step: 1 }, FLOAT64) as Float64Array;
    const nulls = nullsOfRows(operand, rowCount);
    if (isOne && nulls === null) {
      this.#sums[0] += sumOf(lane, rowCount);
      this.#counts[0] += rowCount;
      return;
    }
    const sums = this.#sums;
    const counts = this.#counts;
    if (nulls === null) {
      for (let row = 0; row < rowCount; row++) {
        const group = groups[row];
        sums[group] += lane[row];
        counts[group]++;
      }
      return;
    }
    for (let row = 0; row < rowCount; row++) {
      if (nulls[row] !== 0) continue;
      sums[groups[row]] += lane[row];
      counts[groups[row]]++;
    }
  }

  // biome-ignore lint/correctness/useYield: the others take steps
  *results(start: number, end: number): Steps<Column> {
    const results = this.#sums.slice(start, end);
    if (this.#isMean)
      for (let index = 0; index < results.length; index++) results[index] /= this.#counts[start + index];
    return { ...numbersColumn(results), validity: resultValidity(this.#counts, start, end) };
  }
}

/** Adds numbers in four sums, as an addition waits for the one before. */
function sumOf(lane: Float64Array, count: number): number {
  let [first, second, third, fourth] = [0, 0, 0, 0];
  let row = 0;
  for (; row + 4 <= count; row += 4) {
    first += lane[row];
    second += lane[row + 1];
    third += lane[row + 2];
    fourth += lane[row + 3];
  }
  for (; row < count; row++) first += lane[row];
  return first + second + (third + fourth);
}

/** Sums integers and decimals exactly, or returns the mean of integers. */
export class ExactSum implements Accumulator {
  readonly #operand: ValueType;
  /** Type of the sums; null for means. */
  readonly #type: ValueType | null;
  readonly #limbCount: number;
  readonly #limbs: Float64Array[];
  #counts = new Float64Array(1);

  constructor(operand: ValueType, type: ValueType | null) {
    this.#operand = operand;
    this.#type = type;
    this.#limbCount = Math.max(2, byteWidthOf(operand) / 4);
    this.#limbs = Array.from({ length: this.#limbCount }, () => new Float64Array(1));
  }

  get byteLength(): number {
    return this.#counts.byteLength * (1 + this.#limbCount);
  }

  *reserve(groupCount: number): Steps<void> {
    for (const [index, limb] of this.#limbs.entries()) this.#limbs[index] = yield* roomFor(limb, groupCount);
    this.#counts = yield* roomFor(this.#counts, groupCount);
  }

  // biome-ignore lint/correctness/useYield: the others take steps
  *add(operand: Column | null, rows: GroupedRows): Steps<void> {
    if (operand === null || operand.kind === "null") return;
    const nulls = nullsOfRows(operand, rows.rowCount);
    const width = byteWidthOf(this.#operand);
    if (width === 4) this.#addNarrow(numbersOf({ column: operand, step: 1 }, INT32), nulls, rows);
    else if (width === 8) this.#addWide(wordLane({ column: operand, step: 1 }), nulls, rows);
    else this.#addLong(wordLane({ column: operand, step: 1 }), nulls, rows);
  }

  #addNarrow(lane: ArrayLike<number>, nulls: Uint8Array | null, { groups, rowCount }: GroupedRows): void {
    const [low, high] = this.#limbs;
    const counts = this.#counts;
    for (let row = 0; row < rowCount; row++) {
      if (nulls !== null && nulls[row] !== 0) continue;
      const group = groups[row];
      counts[group]++;
      const sum = low[group] + lane[row];
      low[group] = sum;
      if (sum >= FULL || sum <= -FULL) carry(low, high, group);
    }
  }

  #addWide(lane: Int32Array, nulls: Uint8Array | null, { groups, rowCount, isOne }: GroupedRows): void {
    const [low, high] = this.#limbs;
    const counts = this.#counts;
    const isNatural = isUnsigned(this.#operand);
    if (isOne && nulls === null && !isNatural) {
      // A batch has too few rows for these sums to be inexact.
      let [lowSum, highSum] = [0, 0];
      for (let index = 0; index < 2 * rowCount; index += 2) {
        lowSum += lane[index] >>> 0;
        highSum += lane[index + 1];
      }
      counts[0] += rowCount;
      low[0] += lowSum;
      high[0] += highSum;
      if (low[0] >= FULL) carry(low, high, 0);
      return;
    }
    for (let row = 0; row < rowCount; row++) {
      if (nulls !== null && nulls[row] !== 0) continue;
      const group = groups[row];
      counts[group]++;
      const sum = low[group] + (lane[2 * row] >>> 0);
      low[group] = sum;
      high[group] += isNatural ? lane[2 * row + 1] >>> 0 : lane[2 * row + 1];
      if (sum >= FULL) carry(low, high, group);
    }
  }

  #addLong(lane: Int32Array, nulls: Uint8Array | null, { groups, rowCount }: GroupedRows): void {
    const limbs = this.#limbs;
    const last = this.#limbCount - 1;
    for (let row = 0; row < rowCount; row++) {
      if (nulls !== null && nulls[row] !== 0) continue;
      const group = groups[row];
      this.#counts[group]++;
      const first = row * this.#limbCount;
      for (let limb = 0; limb < last; limb++) {
        limbs[limb][group] += lane[first + limb] >>> 0;
        if (limbs[limb][group] >= FULL) carry(limbs[limb], limbs[limb + 1], group);
      }
      limbs[last][group] += lane[first + last];
    }
  }

  // biome-ignore lint/correctness/useYield: the others take steps
  *results(start: number, end: number): Steps<Column> {
    const validity = resultValidity(this.#counts, start, end);
    if (this.#type === null) {
      const means = new Float64Array(end - start);
      for (let group = start; group < end; group++) {
        means[group - start] = (this.#limbs[1][group] * LIMB + this.#limbs[0][group]) / this.#counts[group];
      }
      return { ...numbersColumn(means), validity };
    }
    const width = byteWidthOf(this.#type);
    const words = new Uint32Array(((end - start) * width) / 4);
    for (let group = start; group < end; group++) this.#write(group, words, ((group - start) * width) / 4);
    return { ...numbersColumn(words, width), validity };
  }

  /** Writes the sum of a group as words. @throws InvalidInputError if its type has no such value */
  #write(group: number, words: Uint32Array, first: number): void {
    const type = this.#type as ValueType;
    const [low, high] = this.#limbs;
    const wordCount = byteWidthOf(type) / 4;
    const plain = high[group] * LIMB + low[group];
    if (this.#limbCount === 2 && Math.abs(plain) < 2 ** 53 && (plain >= 0 || !isUnsigned(type))) {
      words[first] = plain;
      words[first + 1] = Math.floor(plain / LIMB);
      if (wordCount > 2) words.fill(plain < 0 ? 0xffff_ffff : 0, first + 2, first + wordCount);
      return;
    }
    let sum = 0n;
    for (let limb = this.#limbCount - 1; limb >= 0; limb--) {
      const value = this.#limbs[limb][group];
      if (Math.abs(value) > Number.MAX_SAFE_INTEGER) throw overflow(type);
      sum = (sum << 32n) + BigInt(value);
    }
    if (!isInRange(sum, type)) throw overflow(type);
    for (let word = 0; word < wordCount; word++)
      words[first + word] = Number(BigInt.asUintN(32, sum >> BigInt(32 * word)));
  }
}

/** Moves what a limb has above 32 bits to the next one. */
function carry(low: Float64Array, high: Float64Array, group: number): void {
  const over = Math.floor(low[group] / LIMB);
  low[group] -= over * LIMB;
  high[group] += over;
}

const isUnsigned = (type: ValueType): boolean => type.kind === "int" && !type.signed;

function isInRange(sum: bigint, type: ValueType): boolean {
  if (type.kind === "decimal") {
    const limit = 10n ** BigInt(type.precision);
    return sum < limit && sum > -limit;
  }
  return isUnsigned(type) ? sum >= 0n && sum < 1n << 64n : BigInt.asIntN(64, sum) === sum;
}

const overflow = (type: ValueType): InvalidInputError =>
  new InvalidInputError(
    `values: a sum does not fit in ${typeName(type)}; sum(cast(x AS DOUBLE)) or sum(cast(x AS DECIMAL(38, 0))) has more room`,
  );
