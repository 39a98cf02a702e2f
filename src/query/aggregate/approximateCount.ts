/**
 * Estimates the number of distinct values by HyperLogLog. A group has 4,096 registers of one byte, so the
 * standard error is 1.6 %. A group with few values has entries in a common table instead:
 *
 *     hash 1, lowest 12 bits     number of the register
 *     hash 2                     rank: 1 + the number of its leading zero bits; a register keeps the greatest
 *
 * The estimate is that of Ertl ("New cardinality estimation algorithms for HyperLogLog sketches", 2017).
 */

import type { Column } from "../../arrow/columns/column.js";
import { numbersColumn } from "../../arrow/columns/numbersColumn.js";
import type { Steps } from "../../async/eventLoop.js";
import { byteLane } from "../../expression/values/operands.js";
import type { ValueType } from "../../expression/values/types.js";
import { type Accumulator, type GroupedRows, nullsOfRows, roomFor } from "./accumulator.js";
import { entriesByGroup } from "./byGroup.js";
import { hashOfBytes } from "./byteTable.js";
import { hasWordKeys, keysOf } from "./distinctValues.js";
import { WordTable } from "./wordTable.js";

const REGISTER_BITS = 12;
const REGISTERS = 2 ** REGISTER_BITS;
const MAX_RANK = 33;
/** Entries of a group in the common table, before it gets registers. */
const MAX_ENTRIES = 128;
/** Rows that one step hashes. */
const STEP_ROWS = 2 ** 14;
const SEEDS = [0x51ed270b, 0x2127599b] as const;

export class ApproximateCount implements Accumulator {
  readonly #type: ValueType;
  readonly #entries = new WordTable(true);
  /** Rank of each entry. */
  #ranks = new Uint8Array(64);
  #entryCounts = new Uint32Array(1);
  /** Number of the registers of a group, from 1 on; 0 for none. */
  #registersOf = new Uint32Array(1);
  #registers = new Uint8Array(0);
  #registerSets = 0;
  #groupCount = 1;
  #results: Float64Array | null = null;

  constructor(type: ValueType) {
    this.#type = type;
  }

  get byteLength(): number {
    return (
      this.#entries.byteLength +
      this.#ranks.byteLength +
      this.#entryCounts.byteLength +
      this.#registersOf.byteLength +
      this.#registers.byteLength
    );
  }

  *reserve(groupCount: number): Steps<void> {
    this.#groupCount = Math.max(groupCount, this.#groupCount);
    this.#entryCounts = yield* roomFor(this.#entryCounts, groupCount);
    this.#registersOf = yield* roomFor(this.#registersOf, groupCount);
  }

  *add(operand: Column | null, { groups, rowCount }: GroupedRows): Steps<void> {
    if (operand === null || operand.kind === "null") return;
    const nulls = nullsOfRows(operand, rowCount);
    const hash = hashOf(operand, this.#type, rowCount);
    for (let start = 0; start < rowCount; start += STEP_ROWS) {
      const end = Math.min(start + STEP_ROWS, rowCount);
      yield* this.#addSome(hash, nulls, groups, start, end);
      yield;
    }
  }

  *#addSome(
    hash: (row: number, seed: number) => number,
    nulls: Uint8Array | null,
    groups: Uint32Array,
    start: number,
    end: number,
  ): Steps<void> {
    const low = new Int32Array(end - start);
    const high = new Int32Array(end - start);
    const ranks = new Uint8Array(end - start);
    let count = 0;
    for (let row = start; row < end; row++) {
      if (nulls !== null && nulls[row] !== 0) continue;
      const group = groups[row];
      const register = hash(row, SEEDS[0]) & (REGISTERS - 1);
      const rank = Math.min(MAX_RANK, Math.clz32(hash(row, SEEDS[1])) + 1);
      const registers = this.#registersOf[group];
      if (registers !== 0) this.#raise((registers - 1) * REGISTERS + register, rank);
      else {
        low[count] = group;
        high[count] = register;
        ranks[count++] = rank;
      }
    }
    const numbers = new Uint32Array(count);
    let next = this.#entries.count;
    yield* this.#entries.find({ low, high }, count, { numbers, isFrozen: false, skipped: null });
    this.#ranks = yield* roomFor(this.#ranks, this.#entries.count);
    for (let index = 0; index < count; index++) {
      const entry = numbers[index];
      if (this.#ranks[entry] < ranks[index]) this.#ranks[entry] = ranks[index];
      if (entry !== next) continue;
      next++;
      if (++this.#entryCounts[low[index]] === MAX_ENTRIES) yield* this.#giveRegisters(low[index]);
    }
  }

  *#giveRegisters(group: number): Steps<void> {
    this.#registersOf[group] = ++this.#registerSets;
    this.#registers = yield* roomFor(this.#registers, this.#registerSets * REGISTERS);
  }

  #raise(register: number, rank: number): void {
    if (this.#registers[register] < rank) this.#registers[register] = rank;
  }

  *finish(): Steps<void> {
    const { low, high } = yield* this.#entries.keys();
    const registers = high as Int32Array;
    const { starts, places } = yield* entriesByGroup(low, low.length, this.#groupCount);
    const order = new Uint32Array(low.length);
    for (let entry = 0; entry < order.length; entry++) order[places[entry]] = entry;
    const results = new Float64Array(this.#groupCount);
    const counts = new Float64Array(MAX_RANK + 1);
    for (let group = 0; group < this.#groupCount; group++) {
      counts.fill(0);
      const set = this.#registersOf[group];
      for (let index = starts[group]; index < starts[group + 1]; index++) {
        const entry = order[index];
        if (set === 0) counts[this.#ranks[entry]]++;
        else this.#raise((set - 1) * REGISTERS + registers[entry], this.#ranks[entry]);
      }
      if (set === 0) counts[0] = REGISTERS - (starts[group + 1] - starts[group]);
      else
        for (let index = (set - 1) * REGISTERS; index < set * REGISTERS; index++)
          counts[this.#registers[index]]++;
      results[group] = Math.round(estimate(counts));
      if (group % 256 === 255) yield;
    }
    this.#results = results;
  }

  // biome-ignore lint/correctness/useYield: the others take steps
  *results(start: number, end: number): Steps<Column> {
    const words = new Uint32Array(2 * (end - start));
    for (let group = start; group < end; group++) words[2 * (group - start)] = this.#results?.[group] ?? 0;
    return numbersColumn(words, 8);
  }
}

/** Returns a function that hashes the value of a row with a seed. */
function hashOf(column: Column, type: ValueType, rowCount: number): (row: number, seed: number) => number {
  if (!hasWordKeys(type)) {
    const { bytes, offsets } = byteLane({ column, step: 1 });
    return (row, seed) => finished(hashOfBytes(seed, bytes, offsets[row], offsets[row + 1]));
  }
  const { low, high } = keysOf(column, type, rowCount);
  return (row, seed) => {
    const mixed = finished(low[row] ^ seed);
    return high === null ? finished(mixed + seed) : finished(finished(mixed ^ high[row]) + seed);
  };
}

/** Spreads each bit of a word over all bits, as MurmurHash3 does at its end. */
function finished(word: number): number {
  let hash = word ^ (word >>> 16);
  hash = Math.imul(hash, 0x85ebca6b);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

/** Returns the number of distinct values. @param counts number of registers of each rank */
function estimate(counts: Float64Array): number {
  const last = MAX_RANK;
  let sum = REGISTERS * tau(1 - counts[last] / REGISTERS);
  for (let rank = last - 1; rank >= 1; rank--) sum = 0.5 * (sum + counts[rank]);
  sum += REGISTERS * sigma(counts[0] / REGISTERS);
  return (REGISTERS * REGISTERS) / (2 * Math.LN2 * sum);
}

/** Corrects for registers without a value. */
function sigma(start: number): number {
  if (start === 1) return Number.POSITIVE_INFINITY;
  let [x, y, sum, earlier] = [start, 1, start, -1];
  while (sum !== earlier) {
    x *= x;
    earlier = sum;
    sum += x * y;
    y += y;
  }
  return sum;
}

/** Corrects for registers that cannot grow. */
function tau(start: number): number {
  if (start === 0 || start === 1) return 0;
  let [x, y, sum, earlier] = [start, 1, 1 - start, -1];
  while (sum !== earlier) {
    x = Math.sqrt(x);
    earlier = sum;
    y *= 0.5;
    sum -= (1 - x) ** 2 * y;
  }
  return sum / 3;
}
