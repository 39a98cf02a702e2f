/** Operands of kernels: columns, and constants as columns of one value. */

import type { BitsColumn, Column, Validity } from "../../arrow/columns/column.js";
import { areNarrow, wordsOf } from "../../arrow/columns/offsets.js";
import { isSet, isValid, shiftBits, validityFrom } from "../../arrow/columns/validity.js";
import type { Steps } from "../../async/eventLoop.js";
import { alignedBytes } from "../../bytes/aligned.js";
import { decodeHalfFloat } from "../../bytes/halfFloat.js";
import { InternalError } from "../../errors.js";
import type { ValueType } from "./types.js";

export interface Operand {
  readonly column: Column;
  /** 0 for a constant, whose column has one value. */
  readonly step: 0 | 1;
}

/**
 * Computes a column of `length` values. It runs in steps if a value or a batch can take more than a few
 * milliseconds.
 * @param valid rows in which no operand is null; null for all. The kernel must not fail on other rows; their
 * results are ignored
 * @param allocate makes the memory of the result. Default: new memory
 */
export type ValueKernel = (
  operands: readonly Operand[],
  length: number,
  valid: Validity | null,
  allocate?: AllocateResult,
) => Column | Steps<Column>;

/** Makes memory with arbitrary content for a result, at a multiple of 8. Called at most once. */
export type AllocateResult = (byteLength: number) => Uint8Array<ArrayBuffer>;

/** Returns the result of a kernel, which may run in steps. */
export function* madeBy(result: Column | Steps<Column>): Steps<Column> {
  return "next" in result ? yield* result : result;
}

/** Lanes of JavaScript numbers. Few classes of arrays keep the loops over them fast. */
export type NumberLane = Int32Array | Uint32Array | Float32Array | Float64Array;

/** Reads integers of up to 32 bits, floats, days and times of 32 bits. */
export function numbersOf({ column }: Operand, type: ValueType): NumberLane {
  if (column.kind !== "fixed") throw new InternalError(`a column of kind ${column.kind} cannot hold numbers`);
  const { values, byteWidth, length } = column;
  const bytes = alignedBytes(values, byteWidth);
  const { buffer, byteOffset } = bytes;
  if (type.kind === "float") {
    switch (type.bits) {
      case 16:
        return Float64Array.from(new Uint16Array(buffer, byteOffset, length), decodeHalfFloat);
      case 32:
        return new Float32Array(buffer, byteOffset, length);
      case 64:
        return new Float64Array(buffer, byteOffset, length);
    }
  }
  const signed = type.kind !== "int" || type.signed;
  switch (byteWidth) {
    case 1:
      return new Int32Array(signed ? new Int8Array(buffer, byteOffset, length) : bytes);
    case 2:
      return new Int32Array(
        signed ? new Int16Array(buffer, byteOffset, length) : new Uint16Array(buffer, byteOffset, length),
      );
    case 4:
      return signed
        ? new Int32Array(buffer, byteOffset, length)
        : new Uint32Array(buffer, byteOffset, length);
  }
  throw new InternalError(`numbers of ${byteWidth} bytes are unknown`);
}

/** Reads values of 8 bytes or more as words, the least significant first. */
export function wordLane({ column }: Operand): Int32Array {
  if (column.kind !== "fixed") throw new InternalError(`a column of kind ${column.kind} cannot hold words`);
  const bytes = alignedBytes(column.values, 4);
  return new Int32Array(bytes.buffer, bytes.byteOffset, (column.length * column.byteWidth) >> 2);
}

/** Values of bytes: their offsets, and the bytes. */
export interface ByteLane {
  readonly bytes: Uint8Array;
  readonly offsets: Int32Array | Float64Array;
}

export function byteLane({ column }: Operand): ByteLane {
  if (column.kind === "fixed") {
    const offsets = new Int32Array(column.length + 1);
    for (let row = 1; row < offsets.length; row++) offsets[row] = row * column.byteWidth;
    return { bytes: column.values, offsets };
  }
  if (column.kind !== "variable") throw new InternalError(`a column of kind ${column.kind} cannot hold text`);
  return { bytes: column.bytes, offsets: narrowOffsets(column.offsets) };
}

export function narrowOffsets(offsets: Int32Array | BigInt64Array): Int32Array | Float64Array {
  if (areNarrow(offsets)) return offsets;
  const words = wordsOf(offsets);
  const narrow = new Float64Array(offsets.length);
  for (let row = 0; row < narrow.length; row++) narrow[row] = words[2 * row] + words[2 * row + 1] * 2 ** 32;
  return narrow;
}

/** Returns the bits of booleans from bit 0 on; those of a constant are repeated `length` times. */
export function bitsOf({ column, step }: Operand, length: number): Uint8Array {
  if (column.kind !== "bits") throw new InternalError(`a column of kind ${column.kind} cannot hold booleans`);
  if (step === 1) return shiftBits(column.bits, column.bitOffset, 0, length);
  const isTrue = isSet({ bytes: column.bits, bitOffset: column.bitOffset, nullCount: 0 }, 0);
  return new Uint8Array((length + 7) >>> 3).fill(isTrue ? 0xff : 0);
}

export const bitsColumn = (bits: Uint8Array, length: number, validity: Validity | null): BitsColumn => ({
  kind: "bits",
  length,
  validity,
  bits,
  bitOffset: 0,
});

/** Returns the validity of rows, some of which are null. */
export function validWhere(length: number, isThere: (row: number) => boolean): Validity | null {
  const bytes = new Uint8Array((length + 7) >>> 3);
  for (let row = 0; row < length; row++) if (isThere(row)) bytes[row >>> 3] |= 1 << (row & 7);
  return validityFrom(bytes, 0, length);
}

export const isThere = ({ column, step }: Operand, row: number): boolean =>
  column.kind !== "null" && isValid(column.validity, row * step);

/** Returns the validity in which the rows whose bit in `failed` is set are null, too. */
export function without(valid: Validity | null, failed: Uint8Array, length: number): Validity | null {
  const bytes =
    valid === null
      ? new Uint8Array((length + 7) >>> 3).fill(0xff)
      : shiftBits(valid.bytes, valid.bitOffset, 0, length).slice(0, (length + 7) >>> 3);
  for (let byte = 0; byte < bytes.length; byte++) bytes[byte] &= ~failed[byte];
  return validityFrom(bytes, 0, length);
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
/** Shorter texts are decoded here, because a call of the decoder takes longer. */
const SHORT_TEXT = 24;

export function decodeText(bytes: Uint8Array, start: number, end: number): string {
  if (end - start <= SHORT_TEXT) {
    let text = "";
    let position = start;
    for (; position < end && bytes[position] < 0x80; position++) text += String.fromCharCode(bytes[position]);
    if (position === end) return text;
  }
  return decoder.decode(bytes.subarray(start, end));
}
