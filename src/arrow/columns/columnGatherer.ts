/**
 * Copies columns of one layout back to back, to release lent memory, or large memory of which they are a
 * small part.
 */

import { copyBits } from "../../bytes/bits.js";
import type {
  BitsColumn,
  Column,
  FixedColumn,
  FixedSizeListColumn,
  ListColumn,
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

/** Memory for the copies, such as an arena. */
export interface GatherMemory {
  /** Returns memory at a multiple of 8; its content is arbitrary. */
  lend(byteLength: number): Uint8Array;
  /** Takes back what `lend` returned. */
  giveBack(memory: Uint8Array): void;
}

/** Factor of the memory for values of variable width: rows may be longer than the sample. */
const SLACK = 1.125;

/** Gathers what a column has besides its length and validity. */
interface ValueGatherer {
  /** Bytes of memory that the copies have taken, used or not. */
  heldBytes(): number;
  /** @param position number of rows before these */
  append(column: Column, position: number): void;
  finish(length: number): object;
}

/**
 * Gathers columns. No column is or contains a dictionary.
 *
 *     const gatherer = new ColumnGatherer(first, expectedRows, memory);
 *     for (const column of columns) gatherer.append(column);
 *     const whole = gatherer.finish();
 */
export class ColumnGatherer {
  readonly #values: ValueGatherer;
  readonly #nulls: Nulls;
  #length = 0;

  /**
   * @param sample one of the columns: the rows of the others probably take as many bytes
   * @param rowCount probable number of rows of all columns together
   */
  constructor(sample: Column, rowCount: number, memory: GatherMemory) {
    const room = Math.max(rowCount, sample.length);
    this.#values = valueGatherer(sample, room, memory);
    this.#nulls = new Nulls(room, memory);
  }

  /** Bytes of memory that the copies have taken, used or not. */
  get heldBytes(): number {
    return this.#values.heldBytes() + this.#nulls.heldBytes;
  }

  /**
   * Copies the rows of a column of the same layout.
   * @throws UnsupportedError if offsets no longer fit their width
   */
  append(column: Column): void {
    this.#values.append(column, this.#length);
    this.#nulls.append(column, this.#length);
    this.#length += column.length;
  }

  /** Returns all the rows, in lent memory. Nobody may append rows afterwards. */
  finish(): Column {
    const length = this.#length;
    return { ...this.#values.finish(length), length, validity: this.#nulls.finish(length) } as Column;
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

function valueGatherer(sample: Column, rowCount: number, memory: GatherMemory): ValueGatherer {
  switch (sample.kind) {
    case "fixed":
      return fixedGatherer(sample.byteWidth, rowCount, memory);
    case "bits":
      return bitsGatherer(rowCount, memory);
    case "variable":
      return variableGatherer(sample, rowCount, memory);
    case "list":
      return listGatherer(sample, rowCount, memory);
    case "fixedSizeList":
    case "sizedList":
      return sizedListGatherer(sample, rowCount, memory);
    case "struct":
    case "packedStruct":
      return structGatherer(sample, rowCount, memory);
    case "null":
      return { heldBytes: () => 0, append: () => undefined, finish: () => ({ kind: "null" }) };
    case "dictionary":
      throw new TypeError("dictionary columns cannot be gathered");
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

function fixedGatherer(byteWidth: number, rowCount: number, memory: GatherMemory): ValueGatherer {
  const gathered = new GrowingBytes(byteWidth * rowCount, memory);
  return {
    heldBytes: () => gathered.bytes.length,
    append({ values, length }: FixedColumn, position) {
      const start = position * byteWidth;
      gathered.reserve(start + length * byteWidth, start);
      gathered.bytes.set(values, start);
    },
    finish: (length) => ({
      kind: "fixed",
      byteWidth,
      values: gathered.bytes.subarray(0, length * byteWidth),
    }),
  };
}

function bitsGatherer(rowCount: number, memory: GatherMemory): ValueGatherer {
  const gathered = new GrowingBits(rowCount, memory);
  return {
    heldBytes: () => gathered.bytes.length,
    append({ bits, bitOffset, length }: BitsColumn, position) {
      gathered.copy(bits, bitOffset, position, length);
    },
    finish: (length) => ({
      kind: "bits",
      bits: gathered.bytes.subarray(0, bytesOfBits(length)),
      bitOffset: 0,
    }),
  };
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
    moveOffsets(column, this.view(position + column.length), position, base);
  }

  view(rowCount: number): Offsets {
    const { buffer, byteOffset } = this.#growing.bytes;
    return this.#isNarrow
      ? new Int32Array(buffer, byteOffset, rowCount + 1)
      : new BigInt64Array(buffer, byteOffset, rowCount + 1);
  }
}

function variableGatherer(sample: VariableColumn, rowCount: number, memory: GatherMemory): ValueGatherer {
  const offsets = new GrowingOffsets(sample.offsets, rowCount, memory);
  const gathered = new GrowingBytes(expected(spanOf(sample, 0, sample.length), sample, rowCount), memory);
  let byteCount = 0;
  return {
    heldBytes: () => offsets.heldBytes + gathered.bytes.length,
    append(column: VariableColumn, position) {
      const first = Number(column.offsets[0]);
      const end = byteCount + spanOf(column, 0, column.length);
      offsets.append(column, position, byteCount, end);
      gathered.reserve(end, byteCount);
      gathered.bytes.set(column.bytes.subarray(first, first + end - byteCount), byteCount);
      byteCount = end;
    },
    finish: (length) => ({
      kind: "variable",
      offsets: offsets.view(length),
      bytes: gathered.bytes.subarray(0, byteCount),
    }),
  };
}

function listGatherer(sample: ListColumn, rowCount: number, memory: GatherMemory): ValueGatherer {
  const offsets = new GrowingOffsets(sample.offsets, rowCount, memory);
  const sampleItems = itemsWithin(sample);
  const items = new ColumnGatherer(sampleItems, expected(sampleItems.length, sample, rowCount), memory);
  let itemCount = 0;
  return {
    heldBytes: () => offsets.heldBytes + items.heldBytes,
    append(column: ListColumn, position) {
      const more = itemsWithin(column);
      offsets.append(column, position, itemCount, itemCount + more.length);
      items.append(more);
      itemCount += more.length;
    },
    finish: (length) => ({ kind: "list", offsets: offsets.view(length), items: items.finish() }),
  };
}

function sizedListGatherer(
  sample: FixedSizeListColumn | SizedListColumn,
  rowCount: number,
  memory: GatherMemory,
): ValueGatherer {
  const { kind, dimension } = sample;
  const items = new ColumnGatherer(sample.items, rowCount * dimension, memory);
  return {
    heldBytes: () => items.heldBytes,
    append: (column: FixedSizeListColumn | SizedListColumn) => items.append(column.items),
    finish: () => ({ kind, dimension, items: items.finish() }),
  };
}

function structGatherer(
  { kind, children }: StructColumn | PackedStructColumn,
  rowCount: number,
  memory: GatherMemory,
): ValueGatherer {
  const members = children.map((child: Column) => new ColumnGatherer(child, rowCount, memory));
  return {
    heldBytes: () => members.reduce((sum, member) => sum + member.heldBytes, 0),
    append(column: StructColumn | PackedStructColumn) {
      for (const [index, member] of members.entries()) member.append(column.children[index]);
    },
    finish: () => ({ kind, children: members.map((member) => member.finish()) }),
  };
}

/** Returns the probable bytes of `rowCount` rows, if the rows of the sample take `taken`. */
const expected = (taken: number, { length }: Column, rowCount: number): number =>
  length === 0 ? taken : Math.max(taken, Math.ceil((taken / length) * rowCount * SLACK));
