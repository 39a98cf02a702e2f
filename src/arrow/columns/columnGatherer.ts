/**
 * Copies columns of one layout, back to back, as they come: columns of lent memory, and columns that are
 * small parts of the memory that they would keep alive.
 */

import { copyBits } from "../../bytes/bits.js";
import type {
  BitsColumn,
  Column,
  FixedColumn,
  FixedSizeListColumn,
  ListColumn,
  NullColumn,
  PackedStructColumn,
  SizedListColumn,
  StructColumn,
  Validity,
  VariableColumn,
} from "./column.js";
import { itemsWithin, spanOf } from "./columnBytes.js";
import { moveOffsets } from "./concatColumns.js";
import { areNarrow, checkOffsetRange } from "./offsets.js";
import { setBits } from "./validity.js";

/** Memory for the copies; an arena is one. */
export interface GatherMemory {
  /** Returns memory at a multiple of 8; its content is arbitrary. */
  lend(byteLength: number): Uint8Array;
  /** Takes back what `lend` returned. */
  giveBack(memory: Uint8Array): void;
}

/** Factor of the room for values of variable width: rows differ. */
const SLACK = 1.125;

/** Gathers the values of one column; its children have gatherers of their own. */
interface Gatherer<C extends Column = Column> {
  /** Bytes of memory that it has taken. */
  readonly heldBytes: number;
  append(column: C): void;
  finish(): C;
}

/**
 * Gathers columns. None of them is a dictionary, or has one in it.
 *
 *     const gatherer = new ColumnGatherer(first, expectedRows, memory);
 *     for (const column of columns) gatherer.append(column);
 *     const whole = gatherer.finish();
 */
export class ColumnGatherer {
  readonly #gatherer: Gatherer;

  /**
   * @param sample one of the columns: the rows of the others probably take as many bytes
   * @param rowCount probable number of rows of all columns together
   */
  constructor(sample: Column, rowCount: number, memory: GatherMemory) {
    this.#gatherer = gathererOf(sample, Math.max(rowCount, sample.length), memory);
  }

  /** Bytes of memory that the copies have taken, used or not. */
  get heldBytes(): number {
    return this.#gatherer.heldBytes;
  }

  /**
   * Copies the rows of a column of the same layout.
   * @throws UnsupportedError if offsets no longer fit their width
   */
  append(column: Column): void {
    this.#gatherer.append(column);
  }

  /** Returns all the rows, in lent memory. Nobody may append rows afterwards. */
  finish(): Column {
    return this.#gatherer.finish();
  }
}

/** True if columns like this one can be gathered. */
export function isGatherable(column: Column): boolean {
  switch (column.kind) {
    case "dictionary":
      return false;
    case "list":
    case "sizedList":
      return isGatherable(column.items);
    case "struct":
    case "packedStruct":
      return (column.children as readonly Column[]).every(isGatherable);
    default:
      return true;
  }
}

function gathererOf(sample: Column, rowCount: number, memory: GatherMemory): Gatherer {
  switch (sample.kind) {
    case "fixed":
      return new FixedGatherer(sample, rowCount, memory) as Gatherer;
    case "bits":
      return new BitsGatherer(rowCount, memory) as Gatherer;
    case "variable":
      return new VariableGatherer(sample, rowCount, memory) as Gatherer;
    case "list":
      return new ListGatherer(sample, rowCount, memory) as Gatherer;
    case "fixedSizeList":
    case "sizedList":
      return new SizedListGatherer(sample, rowCount, memory) as Gatherer;
    case "struct":
    case "packedStruct":
      return new StructGatherer(sample, rowCount, memory) as Gatherer;
    case "null":
      return new NullGatherer() as Gatherer;
    case "dictionary":
      throw new TypeError("dictionaries are not gathered");
  }
}

/** Memory that grows with its content. */
class GrowingBytes {
  readonly #memory: GatherMemory;
  readonly #isZeroed: boolean;
  bytes: Uint8Array;

  /** @param isZeroed true if unused bytes are zero */
  constructor(byteLength: number, memory: GatherMemory, isZeroed = false) {
    this.#memory = memory;
    this.#isZeroed = isZeroed;
    this.bytes = this.#lend(byteLength);
  }

  #lend(byteLength: number): Uint8Array {
    const bytes = this.#memory.lend(byteLength);
    return this.#isZeroed ? bytes.fill(0) : bytes;
  }

  /**
   * Makes room.
   * @param used number of bytes with content
   */
  reserve(byteLength: number, used: number): void {
    if (byteLength <= this.bytes.length) return;
    const before = this.bytes;
    this.bytes = this.#lend(Math.max(byteLength, 2 * before.length));
    this.bytes.set(before.subarray(0, used));
    this.#memory.giveBack(before);
  }
}

const bytesOfBits = (count: number): number => Math.ceil(count / 8);

/** Bits, back to back. */
class GrowingBits {
  readonly #growing: GrowingBytes;

  constructor(count: number, memory: GatherMemory) {
    this.#growing = new GrowingBytes(bytesOfBits(count), memory, true);
  }

  get bytes(): Uint8Array {
    return this.#growing.bytes;
  }

  copy(source: Uint8Array, sourceBit: number, position: number, count: number): void {
    this.#reserve(position, count);
    copyBits(source, sourceBit, this.bytes, position, count);
  }

  set(position: number, count: number): void {
    this.#reserve(position, count);
    setBits(this.bytes, position, count);
  }

  #reserve(position: number, count: number): void {
    this.#growing.reserve(bytesOfBits(position + count), bytesOfBits(position));
  }
}

/** Validity of the rows; takes no memory while no row is null. */
class Nulls {
  readonly #rowCount: number;
  readonly #memory: GatherMemory;
  #bits: GrowingBits | null = null;
  #nullCount = 0;

  constructor(rowCount: number, memory: GatherMemory) {
    this.#rowCount = rowCount;
    this.#memory = memory;
  }

  get heldBytes(): number {
    return this.#bits?.bytes.length ?? 0;
  }

  /** @param position number of rows before these */
  append({ validity, length }: Column, position: number): void {
    if (validity === null) {
      this.#bits?.set(position, length);
      return;
    }
    if (this.#bits === null) {
      this.#bits = new GrowingBits(this.#rowCount, this.#memory);
      this.#bits.set(0, position);
    }
    this.#bits.copy(validity.bytes, validity.bitOffset, position, length);
    this.#nullCount += validity.nullCount;
  }

  finish(length: number): Validity | null {
    if (this.#bits === null) return null;
    const bytes = this.#bits.bytes.subarray(0, bytesOfBits(length));
    return { bytes, bitOffset: 0, nullCount: this.#nullCount };
  }
}

class FixedGatherer implements Gatherer<FixedColumn> {
  readonly #byteWidth: number;
  readonly #values: GrowingBytes;
  readonly #nulls: Nulls;
  #length = 0;

  constructor({ byteWidth }: FixedColumn, rowCount: number, memory: GatherMemory) {
    this.#byteWidth = byteWidth;
    this.#values = new GrowingBytes(byteWidth * rowCount, memory);
    this.#nulls = new Nulls(rowCount, memory);
  }

  get heldBytes(): number {
    return this.#values.bytes.length + this.#nulls.heldBytes;
  }

  append(column: FixedColumn): void {
    const { length } = column;
    this.#nulls.append(column, this.#length);
    const start = this.#length * this.#byteWidth;
    this.#values.reserve(start + length * this.#byteWidth, start);
    this.#values.bytes.set(column.values, start);
    this.#length += length;
  }

  finish(): FixedColumn {
    const length = this.#length;
    const values = this.#values.bytes.subarray(0, length * this.#byteWidth);
    return {
      kind: "fixed",
      length,
      validity: this.#nulls.finish(length),
      byteWidth: this.#byteWidth,
      values,
    };
  }
}

class BitsGatherer implements Gatherer<BitsColumn> {
  readonly #bits: GrowingBits;
  readonly #nulls: Nulls;
  #length = 0;

  constructor(rowCount: number, memory: GatherMemory) {
    this.#bits = new GrowingBits(rowCount, memory);
    this.#nulls = new Nulls(rowCount, memory);
  }

  get heldBytes(): number {
    return this.#bits.bytes.length + this.#nulls.heldBytes;
  }

  append(column: BitsColumn): void {
    this.#nulls.append(column, this.#length);
    this.#bits.copy(column.bits, column.bitOffset, this.#length, column.length);
    this.#length += column.length;
  }

  finish(): BitsColumn {
    const length = this.#length;
    const bits = this.#bits.bytes.subarray(0, bytesOfBits(length));
    return { kind: "bits", length, validity: this.#nulls.finish(length), bits, bitOffset: 0 };
  }
}

type Offsets = VariableColumn["offsets"];

/** Offsets from 0 on. */
class GrowingOffsets {
  readonly #growing: GrowingBytes;
  readonly #isNarrow: boolean;

  constructor(sample: Offsets, rowCount: number, memory: GatherMemory) {
    this.#isNarrow = areNarrow(sample);
    this.#growing = new GrowingBytes((rowCount + 1) * sample.BYTES_PER_ELEMENT, memory);
    this.#growing.bytes.fill(0, 0, sample.BYTES_PER_ELEMENT);
  }

  get heldBytes(): number {
    return this.#growing.bytes.length;
  }

  /**
   * @param position number of rows before these
   * @param base start of their bytes or items; `end` is their end
   */
  append(column: VariableColumn | ListColumn, position: number, base: number, end: number): void {
    if (this.#isNarrow) checkOffsetRange(end);
    const width = column.offsets.BYTES_PER_ELEMENT;
    this.#growing.reserve((position + column.length + 1) * width, (position + 1) * width);
    moveOffsets(column, this.#view(position + column.length), position, base);
  }

  finish(rowCount: number): Offsets {
    return this.#view(rowCount);
  }

  #view(rowCount: number): Offsets {
    const { buffer, byteOffset } = this.#growing.bytes;
    return this.#isNarrow
      ? new Int32Array(buffer, byteOffset, rowCount + 1)
      : new BigInt64Array(buffer, byteOffset, rowCount + 1);
  }
}

class VariableGatherer implements Gatherer<VariableColumn> {
  readonly #offsets: GrowingOffsets;
  readonly #bytes: GrowingBytes;
  readonly #nulls: Nulls;
  #length = 0;
  #byteCount = 0;

  constructor(sample: VariableColumn, rowCount: number, memory: GatherMemory) {
    this.#offsets = new GrowingOffsets(sample.offsets, rowCount, memory);
    this.#bytes = new GrowingBytes(expected(spanOf(sample, 0, sample.length), sample, rowCount), memory);
    this.#nulls = new Nulls(rowCount, memory);
  }

  get heldBytes(): number {
    return this.#offsets.heldBytes + this.#bytes.bytes.length + this.#nulls.heldBytes;
  }

  append(column: VariableColumn): void {
    const { length } = column;
    const bytes = column.bytes.subarray(Number(column.offsets[0]), Number(column.offsets[length]));
    const base = this.#byteCount;
    const end = base + bytes.length;
    this.#offsets.append(column, this.#length, base, end);
    this.#nulls.append(column, this.#length);
    this.#bytes.reserve(end, base);
    this.#bytes.bytes.set(bytes, base);
    this.#length += length;
    this.#byteCount = end;
  }

  finish(): VariableColumn {
    const length = this.#length;
    return {
      kind: "variable",
      length,
      validity: this.#nulls.finish(length),
      offsets: this.#offsets.finish(length),
      bytes: this.#bytes.bytes.subarray(0, this.#byteCount),
    };
  }
}

class ListGatherer implements Gatherer<ListColumn> {
  readonly #offsets: GrowingOffsets;
  readonly #items: Gatherer;
  readonly #nulls: Nulls;
  #length = 0;
  #itemCount = 0;

  constructor(sample: ListColumn, rowCount: number, memory: GatherMemory) {
    this.#offsets = new GrowingOffsets(sample.offsets, rowCount, memory);
    const items = itemsWithin(sample);
    this.#items = gathererOf(items, expected(items.length, sample, rowCount), memory);
    this.#nulls = new Nulls(rowCount, memory);
  }

  get heldBytes(): number {
    return this.#offsets.heldBytes + this.#items.heldBytes + this.#nulls.heldBytes;
  }

  append(column: ListColumn): void {
    const items = itemsWithin(column);
    const base = this.#itemCount;
    const end = base + items.length;
    this.#offsets.append(column, this.#length, base, end);
    this.#nulls.append(column, this.#length);
    this.#items.append(items);
    this.#length += column.length;
    this.#itemCount = end;
  }

  finish(): ListColumn {
    const length = this.#length;
    return {
      kind: "list",
      length,
      validity: this.#nulls.finish(length),
      offsets: this.#offsets.finish(length),
      items: this.#items.finish(),
    };
  }
}

class SizedListGatherer implements Gatherer<FixedSizeListColumn | SizedListColumn> {
  readonly #kind: "fixedSizeList" | "sizedList";
  readonly #dimension: number;
  readonly #items: Gatherer;
  readonly #nulls: Nulls;
  #length = 0;

  constructor(
    { kind, dimension, items }: FixedSizeListColumn | SizedListColumn,
    rowCount: number,
    memory: GatherMemory,
  ) {
    this.#kind = kind;
    this.#dimension = dimension;
    this.#items = gathererOf(items, rowCount * dimension, memory);
    this.#nulls = new Nulls(rowCount, memory);
  }

  get heldBytes(): number {
    return this.#items.heldBytes + this.#nulls.heldBytes;
  }

  append(column: FixedSizeListColumn | SizedListColumn): void {
    this.#nulls.append(column, this.#length);
    this.#items.append(column.items);
    this.#length += column.length;
  }

  finish(): FixedSizeListColumn | SizedListColumn {
    const length = this.#length;
    return {
      kind: this.#kind,
      length,
      validity: this.#nulls.finish(length),
      dimension: this.#dimension,
      items: this.#items.finish(),
    } as FixedSizeListColumn | SizedListColumn;
  }
}

class StructGatherer implements Gatherer<StructColumn | PackedStructColumn> {
  readonly #kind: "struct" | "packedStruct";
  readonly #children: readonly Gatherer[];
  readonly #nulls: Nulls;
  #length = 0;

  constructor(sample: StructColumn | PackedStructColumn, rowCount: number, memory: GatherMemory) {
    this.#kind = sample.kind;
    this.#children = (sample.children as readonly Column[]).map((child) =>
      gathererOf(child, rowCount, memory),
    );
    this.#nulls = new Nulls(rowCount, memory);
  }

  get heldBytes(): number {
    return this.#children.reduce((sum, child) => sum + child.heldBytes, this.#nulls.heldBytes);
  }

  append(column: StructColumn | PackedStructColumn): void {
    this.#nulls.append(column, this.#length);
    for (const [index, child] of this.#children.entries()) child.append(column.children[index]);
    this.#length += column.length;
  }

  finish(): StructColumn | PackedStructColumn {
    const length = this.#length;
    return {
      kind: this.#kind,
      length,
      validity: this.#nulls.finish(length),
      children: this.#children.map((child) => child.finish()),
    } as StructColumn | PackedStructColumn;
  }
}

class NullGatherer implements Gatherer<NullColumn> {
  readonly heldBytes = 0;
  #length = 0;

  append({ length }: NullColumn): void {
    this.#length += length;
  }

  finish(): NullColumn {
    return { kind: "null", length: this.#length, validity: null };
  }
}

/** Returns the probable bytes of `rowCount` rows, if the rows of the sample take `taken`. */
const expected = (taken: number, { length }: Column, rowCount: number): number =>
  length === 0 ? taken : Math.max(taken, Math.ceil((taken / length) * rowCount * SLACK));
