/**
 * Columns as bytes that this process writes to a temporary file and reads back. The buffers are as in memory,
 * so that reading makes views of them. Nobody else reads such bytes, and they have no version.
 *
 *     f64[n + 1]   little-endian: n, and n numbers that describe each column, parents first: its kind,
 *                  length and validity, and what its kind needs
 *     bytes        every buffer in the order of the numbers, each at a multiple of 8 bytes
 */

import { alignTo8 } from "../../bytes/aligned.js";
import { bytesOf } from "../../bytes/view.js";
import { InternalError } from "../../errors.js";
import type { Column, Validity } from "./column.js";

const KINDS = [
  "null",
  "fixed",
  "bits",
  "variable",
  "list",
  "fixedSizeList",
  "sizedList",
  "struct",
  "packedStruct",
] as const;
const NUMBER_BYTES = 8;

/** Returns the pieces of a block, to be written back to back. No column is a dictionary. */
export function encodeBlock(columns: readonly Column[]): Uint8Array[] {
  const writer = new BlockWriter();
  for (const column of columns) writer.column(column);
  const numbers = Float64Array.of(writer.numbers.length, ...writer.numbers);
  return [new Uint8Array(numbers.buffer), ...writer.pieces];
}

/** Returns the columns of a block, as views of its bytes, which begin at a multiple of 8 of their memory. */
export function decodeBlock(bytes: Uint8Array, columnCount: number): Column[] {
  const reader = new BlockReader(bytes);
  return Array.from({ length: columnCount }, () => reader.column());
}

class BlockWriter {
  readonly numbers: number[] = [];
  readonly pieces: Uint8Array[] = [];

  column(column: Column): void {
    if (column.kind === "dictionary") throw new InternalError("a block of columns cannot hold a dictionary");
    this.numbers.push(KINDS.indexOf(column.kind), column.length);
    this.#validity(column.validity, column.length);
    switch (column.kind) {
      case "null":
        return;
      case "fixed":
        this.numbers.push(column.byteWidth);
        this.#buffer(column.values.subarray(0, column.length * column.byteWidth));
        return;
      case "bits":
        this.#bits(column.bits, column.bitOffset, column.length);
        return;
      case "variable":
        this.#offsets(column.offsets, column.length);
        this.#buffer(column.bytes);
        return;
      case "list":
        this.#offsets(column.offsets, column.length);
        this.column(column.items);
        return;
      case "fixedSizeList":
      case "sizedList":
        this.numbers.push(column.dimension);
        this.column(column.items);
        return;
      case "struct":
      case "packedStruct":
        this.numbers.push(column.children.length);
        for (const child of column.children) this.column(child);
    }
  }

  #validity(validity: Validity | null, length: number): void {
    this.numbers.push(validity?.nullCount ?? 0);
    if (validity !== null) this.#bits(validity.bytes, validity.bitOffset, length);
  }

  #bits(bytes: Uint8Array, bitOffset: number, length: number): void {
    const first = bitOffset >>> 3;
    this.numbers.push(bitOffset & 7);
    this.#buffer(bytes.subarray(first, (bitOffset + length + 7) >>> 3));
  }

  #offsets(offsets: Int32Array | BigInt64Array, length: number): void {
    this.numbers.push(offsets.BYTES_PER_ELEMENT);
    this.#buffer(bytesOf(offsets.subarray(0, length + 1)));
  }

  #buffer(bytes: Uint8Array): void {
    this.numbers.push(bytes.length);
    this.pieces.push(bytes);
    const padding = alignTo8(bytes.length) - bytes.length;
    if (padding > 0) this.pieces.push(new Uint8Array(padding));
  }
}

class BlockReader {
  readonly #bytes: Uint8Array;
  readonly #numbers: Float64Array;
  #next = 1;
  #position: number;

  constructor(bytes: Uint8Array) {
    const [count] = new Float64Array(bytes.buffer, bytes.byteOffset, 1);
    this.#bytes = bytes;
    this.#numbers = new Float64Array(bytes.buffer, bytes.byteOffset, count + 1);
    this.#position = (count + 1) * NUMBER_BYTES;
  }

  column(): Column {
    const kind = KINDS[this.#number()];
    const length = this.#number();
    const validity = this.#validity();
    switch (kind) {
      case "null":
        return { kind, length, validity: null };
      case "fixed":
        return { kind, length, validity, byteWidth: this.#number(), values: this.#buffer() };
      case "bits": {
        const bitOffset = this.#number();
        return { kind, length, validity, bits: this.#buffer(), bitOffset };
      }
      case "variable":
        return { kind, length, validity, offsets: this.#offsets(), bytes: this.#buffer() };
      case "list":
        return { kind, length, validity, offsets: this.#offsets(), items: this.column() };
      case "fixedSizeList":
      case "sizedList": {
        const dimension = this.#number();
        return { kind, length, validity, dimension, items: this.column() } as Column;
      }
      case "struct":
      case "packedStruct": {
        const children = Array.from({ length: this.#number() }, () => this.column());
        return { kind, length, validity, children } as Column;
      }
    }
  }

  #validity(): Validity | null {
    const nullCount = this.#number();
    if (nullCount === 0) return null;
    const bitOffset = this.#number();
    return { bytes: this.#buffer(), bitOffset, nullCount };
  }

  #offsets(): Int32Array | BigInt64Array {
    const width = this.#number();
    const { buffer, byteOffset, length } = this.#buffer();
    return width === 4
      ? new Int32Array(buffer, byteOffset, length / width)
      : new BigInt64Array(buffer, byteOffset, length / width);
  }

  #buffer(): Uint8Array {
    const length = this.#number();
    const bytes = this.#bytes.subarray(this.#position, this.#position + length);
    this.#position += alignTo8(length);
    return bytes;
  }

  #number(): number {
    return this.#numbers[this.#next++];
  }
}
