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
import type { RowSelection } from "../filter/rowSelection.js";
import { type Accumulator, type GroupedRows, presentRows, resultValidity, roomFor } from "./accumulator.js";
import {
  addCounts,
  addFloats,
  addFloatsAt,
  markGroups,
  sumAt,
  sumIntegers,
  sumOf,
  sumWhere,
  sumWords,
  sumWordsAt,
} from "./sumLoops.js";

const LIMB = 2 ** 32;
/** A limb below this size takes another 2^32 without losing a digit. */
const FULL = 2 ** 52;

/** Counts rows, or rows whose operand is not null. */
export class Count implements Accumulator {
  readonly takesSomeRows = true;
  #counts = new Float64Array(1);

  get byteLength(): number {
    return this.#counts.byteLength;
  }

  *reserve(groupCount: number): Steps<void> {
    this.#counts = yield* roomFor(this.#counts, groupCount);
  }

  // biome-ignore lint/correctness/useYield: the others take steps
  *add(operand: Column | null, grouped: GroupedRows): Steps<void> {
    const { groups, rowCount, isOne } = operand === null ? grouped : presentRows(operand, grouped);
    if (isOne) this.#counts[0] += rowCount;
    else addCounts(this.#counts, groups, rowCount);
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
  readonly takesSomeRows = true;
  readonly #isMean: boolean;
  #sums = new Float64Array(1);
  /** Number of values of each group; of a sum, only 1 for groups that have any. */
  #counts: Float64Array | Uint8Array;

  constructor(isMean: boolean) {
    this.#isMean = isMean;
    this.#counts = isMean ? new Float64Array(1) : new Uint8Array(1);
  }

  get byteLength(): number {
    return this.#sums.byteLength + this.#counts.byteLength;
  }

  *reserve(groupCount: number): Steps<void> {
    this.#sums = yield* roomFor(this.#sums, groupCount);
    this.#counts = yield* roomFor<Float64Array | Uint8Array>(this.#counts, groupCount);
  }

  // biome-ignore lint/correctness/useYield: the others take steps
  *add(operand: Column | null, grouped: GroupedRows): Steps<void> {
    if (operand === null || operand.kind === "null") return;
    const lane = numbersOf({ column: operand, step: 1 }, FLOAT64) as Float64Array;
    const { groups, rowCount, isOne = false, rows = null } = presentRows(operand, grouped);
    if (rowCount === 0) return;
    const [sums, counts] = [this.#sums, this.#counts];
    if (isOne) {
      sums[0] += rows === null ? sumOf(lane, rowCount) : sumAt(lane, rows);
      counts[0] = this.#isMean ? counts[0] + rowCount : 1;
      return;
    }
    if (rows === null) addFloats(sums, lane, groups, rowCount);
    else addFloatsAt(sums, lane, groups, rows);
    if (this.#isMean) addCounts(counts as Float64Array, groups, rowCount);
    else markGroups(counts as Uint8Array, groups, rowCount);
  }

  addWhere(operand: Column, { bits, count }: RowSelection): void {
    if (count === 0) return;
    this.#sums[0] += sumWhere(numbersOf({ column: operand, step: 1 }, FLOAT64) as Float64Array, bits);
    this.#counts[0] = this.#isMean ? this.#counts[0] + count : 1;
  }

  // biome-ignore lint/correctness/useYield: the others take steps
  *results(start: number, end: number): Steps<Column> {
    const results = this.#sums.slice(start, end);
    if (this.#isMean)
      for (let index = 0; index < results.length; index++) results[index] /= this.#counts[start + index];
    return { ...numbersColumn(results), validity: resultValidity(this.#counts, start, end) };
  }
}

/** Sums integers and decimals exactly, or returns the mean of integers. */
export class ExactSum implements Accumulator {
  readonly takesSomeRows = true;
  readonly #operand: ValueType;
  /** Type of the sums; null for means. */
  readonly #type: ValueType | null;
  readonly #limbCount: number;
  readonly #limbs: Float64Array[];
  /** Sums of the words of a batch. */
  readonly #totals = new Float64Array(2);
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
  *add(operand: Column | null, grouped: GroupedRows): Steps<void> {
    if (operand === null || operand.kind === "null") return;
    const rows = presentRows(operand, grouped);
    if (rows.isOne) this.#counts[0] += rows.rowCount;
    else addCounts(this.#counts, rows.groups, rows.rowCount);
    const width = byteWidthOf(this.#operand);
    if (width === 4) this.#addNarrow(numbersOf({ column: operand, step: 1 }, INT32), rows);
    else if (width === 8) this.#addWide(wordLane({ column: operand, step: 1 }), rows);
    else this.#addLong(wordLane({ column: operand, step: 1 }), rows);
  }

  #addNarrow(lane: ArrayLike<number>, { groups, rowCount, isOne, rows = null }: GroupedRows): void {
    const [low, high] = this.#limbs;
    if (isOne) {
      low[0] += sumIntegers(lane, rows, rowCount);
      if (isFull(low[0])) carry(low, high, 0);
      return;
    }
    for (let row = 0; row < rowCount; row++) {
      const group = groups[row];
      const sum = low[group] + lane[rows === null ? row : rows[row]];
      low[group] = sum;
      if (isFull(sum)) carry(low, high, group);
    }
  }

  #addWide(lane: Int32Array, { groups, rowCount, isOne, rows = null }: GroupedRows): void {
    const [low, high] = this.#limbs;
    const isNatural = isUnsigned(this.#operand);
    if (isOne && !isNatural) {
      if (rows === null) sumWords(lane, rowCount, this.#totals);
      else sumWordsAt(lane, rows, this.#totals);
      low[0] += this.#totals[0];
      high[0] += this.#totals[1];
      if (isFull(low[0])) carry(low, high, 0);
      return;
    }
    for (let row = 0; row < rowCount; row++) {
      const word = 2 * (rows === null ? row : rows[row]);
      const group = groups[row];
      const sum = low[group] + (lane[word] >>> 0);
      low[group] = sum;
      high[group] += isNatural ? lane[word + 1] >>> 0 : lane[word + 1];
      if (isFull(sum)) carry(low, high, group);
    }
  }

  #addLong(lane: Int32Array, { groups, rowCount, rows = null }: GroupedRows): void {
    const limbs = this.#limbs;
    const last = this.#limbCount - 1;
    for (let row = 0; row < rowCount; row++) {
      const group = groups[row];
      const first = (rows === null ? row : rows[row]) * this.#limbCount;
      for (let limb = 0; limb < last; limb++) {
        limbs[limb][group] += lane[first + limb] >>> 0;
        if (isFull(limbs[limb][group])) carry(limbs[limb], limbs[limb + 1], group);
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

const isFull = (limb: number): boolean => limb >= FULL || limb <= -FULL;

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
