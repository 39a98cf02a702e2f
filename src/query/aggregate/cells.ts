/** One value per group, of any type that has an order. Values are compared and copied one by one. */

import type { Column } from "../../arrow/columns/column.js";
import { numbersColumn } from "../../arrow/columns/numbersColumn.js";
import type { Steps } from "../../async/eventLoop.js";
import { compareRanges } from "../../bytes/compare.js";
import { enlarged } from "../../bytes/growing.js";
import { encodeHalfFloat } from "../../bytes/halfFloat.js";
import {
  type ByteLane,
  bitsOf,
  byteLane,
  type NumberLane,
  numbersOf,
  wordLane,
} from "../../expression/values/operands.js";
import { byteWidthOf, type ValueType } from "../../expression/values/types.js";
import { roomFor } from "./accumulator.js";
import { offsetsOf } from "./byteTable.js";

export interface Cells {
  readonly byteLength: number;
  reserve(groupCount: number): Steps<void>;
  /** Makes the values of a batch those that rows refer to. */
  open(column: Column, rowCount: number): void;
  /** Copies the value of a row to a group. */
  set(group: number, row: number): void;
  /** Compares the value of a row with that of a group. NaN is greater than all other numbers. */
  compare(row: number, group: number): number;
  /** Returns the values of groups, some of which may have none. */
  column(start: number, end: number): Column;
}

export function cellsOf(type: ValueType): Cells {
  switch (type.kind) {
    case "string":
    case "binary":
    case "fixedSizeBinary":
    case "decimal":
      return new ByteCells(type);
    default:
      return byteWidthOf(type) === 8 && type.kind !== "float" ? new WideCells(type) : new NumberCells(type);
  }
}

/** Booleans, floats, and integers and times of up to 32 bits. */
class NumberCells implements Cells {
  readonly #type: ValueType;
  #values = new Float64Array(1);
  #lane: NumberLane | Uint8Array = new Float64Array(0);

  constructor(type: ValueType) {
    this.#type = type;
  }

  get byteLength(): number {
    return this.#values.byteLength;
  }

  *reserve(groupCount: number): Steps<void> {
    this.#values = yield* roomFor(this.#values, groupCount);
  }

  open(column: Column, rowCount: number): void {
    if (this.#type.kind !== "bool") {
      this.#lane = numbersOf({ column, step: 1 }, this.#type);
      return;
    }
    const bits = bitsOf({ column, step: 1 }, rowCount);
    this.#lane = Uint8Array.from({ length: rowCount }, (_, row) => (bits[row >>> 3] >>> (row & 7)) & 1);
  }

  set(group: number, row: number): void {
    this.#values[group] = this.#lane[row];
  }

  compare(row: number, group: number): number {
    const value = this.#lane[row];
    const kept = this.#values[group];
    if (value < kept) return -1;
    if (value > kept) return 1;
    return Number(Number.isNaN(value)) - Number(Number.isNaN(kept));
  }

  column(start: number, end: number): Column {
    const values = this.#values.subarray(start, end);
    const { length } = values;
    const type = this.#type;
    if (type.kind === "bool") {
      const bits = new Uint8Array((length + 7) >>> 3);
      for (let index = 0; index < length; index++)
        if (values[index] === 1) bits[index >>> 3] |= 1 << (index & 7);
      return { kind: "bits", length, validity: null, bits, bitOffset: 0 };
    }
    if (type.kind === "float") {
      if (type.bits === 64) return numbersColumn(values.slice());
      if (type.bits === 32) return numbersColumn(Float32Array.from(values));
      return numbersColumn(Uint16Array.from(values, encodeHalfFloat));
    }
    const width = byteWidthOf(type);
    const Type = type.kind === "int" && !type.signed ? UNSIGNED[width] : SIGNED[width];
    return numbersColumn(Type.from(values));
  }
}

type IntegerArray = Int8ArrayConstructor | Int16ArrayConstructor | Int32ArrayConstructor;
type NaturalArray = Uint8ArrayConstructor | Uint16ArrayConstructor | Uint32ArrayConstructor;
const SIGNED: Readonly<Record<number, IntegerArray>> = { 1: Int8Array, 2: Int16Array, 4: Int32Array };
const UNSIGNED: Readonly<Record<number, NaturalArray>> = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array };

/** Integers, dates, times, instants and durations of 64 bits. */
class WideCells implements Cells {
  readonly #flip: number;
  #low = new Uint32Array(1);
  #high = new Int32Array(1);
  #lane: Int32Array = new Int32Array(0);

  constructor(type: ValueType) {
    this.#flip = type.kind === "int" && !type.signed ? -0x8000_0000 : 0;
  }

  get byteLength(): number {
    return 2 * this.#low.byteLength;
  }

  *reserve(groupCount: number): Steps<void> {
    this.#low = yield* roomFor(this.#low, groupCount);
    this.#high = yield* roomFor(this.#high, groupCount);
  }

  open(column: Column): void {
    this.#lane = wordLane({ column, step: 1 });
  }

  set(group: number, row: number): void {
    this.#low[group] = this.#lane[2 * row];
    this.#high[group] = this.#lane[2 * row + 1];
  }

  compare(row: number, group: number): number {
    const high = this.#lane[2 * row + 1] ^ this.#flip;
    const keptHigh = this.#high[group] ^ this.#flip;
    if (high !== keptHigh) return high < keptHigh ? -1 : 1;
    return (this.#lane[2 * row] >>> 0) - this.#low[group];
  }

  column(start: number, end: number): Column {
    const words = new Int32Array(2 * (end - start));
    for (let group = start; group < end; group++) {
      words[2 * (group - start)] = this.#low[group];
      words[2 * (group - start) + 1] = this.#high[group];
    }
    return numbersColumn(words, 8);
  }
}

/** Texts, bytes and decimals. A new value that is longer than the old one goes to the end of the bytes. */
class ByteCells implements Cells {
  readonly #type: ValueType;
  #starts = new Float64Array(1);
  #lengths = new Uint32Array(1);
  #bytes = new Uint8Array(2 ** 10);
  #used = 0;
  /** Bytes that values have. */
  #live = 0;
  #lane: ByteLane = { bytes: new Uint8Array(0), offsets: new Int32Array(1) };

  constructor(type: ValueType) {
    this.#type = type;
  }

  get byteLength(): number {
    return this.#starts.byteLength + this.#lengths.byteLength + this.#bytes.byteLength;
  }

  *reserve(groupCount: number): Steps<void> {
    this.#starts = yield* roomFor(this.#starts, groupCount);
    this.#lengths = yield* roomFor(this.#lengths, groupCount);
  }

  open(column: Column): void {
    const lane = byteLane({ column, step: 1 });
    const isDecimal = this.#type.kind === "decimal";
    this.#lane = isDecimal ? { ...lane, bytes: sortable(lane.bytes, byteWidthOf(this.#type)) } : lane;
  }

  set(group: number, row: number): void {
    const start = this.#lane.offsets[row];
    const length = this.#lane.offsets[row + 1] - start;
    this.#live += length - this.#lengths[group];
    if (length > this.#lengths[group]) {
      this.#lengths[group] = 0;
      this.#makeRoom(length);
      this.#starts[group] = this.#used;
      this.#used += length;
    }
    this.#lengths[group] = length;
    this.#bytes.set(this.#lane.bytes.subarray(start, start + length), this.#starts[group]);
  }

  compare(row: number, group: number): number {
    const { bytes, offsets } = this.#lane;
    const start = this.#starts[group];
    return compareRanges(
      bytes,
      offsets[row],
      offsets[row + 1],
      this.#bytes,
      start,
      start + this.#lengths[group],
    );
  }

  #makeRoom(length: number): void {
    if (this.#used + length <= this.#bytes.length) return;
    if (2 * (this.#live + length) > this.#bytes.length) {
      this.#bytes = enlarged(this.#bytes, this.#used + length);
      return;
    }
    // Most bytes belong to values that others replaced.
    const bytes = new Uint8Array(this.#bytes.length);
    let used = 0;
    for (let group = 0; group < this.#starts.length; group++) {
      const start = this.#starts[group];
      bytes.set(this.#bytes.subarray(start, start + this.#lengths[group]), used);
      this.#starts[group] = used;
      used += this.#lengths[group];
    }
    this.#bytes = bytes;
    this.#used = used;
  }

  column(start: number, end: number): Column {
    const length = end - start;
    const byteWidth = byteWidthOf(this.#type);
    const offsets = new Float64Array(length + 1);
    for (let index = 0; index < length; index++) {
      offsets[index + 1] = offsets[index] + (byteWidth > 0 ? byteWidth : this.#lengths[start + index]);
    }
    const bytes = new Uint8Array(offsets[length]);
    for (let index = 0; index < length; index++) {
      const from = this.#starts[start + index];
      bytes.set(this.#bytes.subarray(from, from + this.#lengths[start + index]), offsets[index]);
    }
    if (byteWidth === 0)
      return { kind: "variable", length, validity: null, offsets: offsetsOf(offsets, this.#type), bytes };
    const values = this.#type.kind === "decimal" ? unsorted(bytes, byteWidth) : bytes;
    return { kind: "fixed", length, validity: null, byteWidth, values };
  }
}

const SIGN = 0x80;

/** Returns decimals as bytes that sort like them: the highest byte first, with its sign flipped. */
function sortable(bytes: Uint8Array, width: number): Uint8Array {
  const sorted = reversed(bytes, width);
  for (let start = 0; start < sorted.length; start += width) sorted[start] ^= SIGN;
  return sorted;
}

/** Returns the decimals of {@link sortable}. */
function unsorted(bytes: Uint8Array, width: number): Uint8Array {
  const decimals = reversed(bytes, width);
  for (let end = width - 1; end < decimals.length; end += width) decimals[end] ^= SIGN;
  return decimals;
}

function reversed(bytes: Uint8Array, width: number): Uint8Array {
  const turned = new Uint8Array(bytes.length);
  for (let start = 0; start < bytes.length; start += width) {
    for (let offset = 0; offset < width; offset++) turned[start + offset] = bytes[start + width - 1 - offset];
  }
  return turned;
}
