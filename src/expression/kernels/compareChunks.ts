/**
 * Compares values, and indices into dictionaries, with a number in the chunks of a page. Packed chunks use
 * the kernels of chunkKernel.ts, plain ones those of compareKernel.ts.
 */

import type { DictionaryColumn } from "../../arrow/columns/column.js";
import { type ChunkedValues, PLAIN_CHUNK } from "../../arrow/columns/lazyValues.js";
import { countOnes } from "../../bytes/bits.js";
import { bytesOf } from "../../bytes/view.js";
import type { LaneRelation, LaneShape } from "../../bytes/wasm/values.js";
import { numbersOf, type Operand } from "../values/operands.js";
import { byteWidthOf, type ValueType } from "../values/types.js";
import { BIT_BYTES, MAX_CHUNKS, PIECE_BYTES, UNIT, unitKernels } from "./chunkKernel.js";
import { clearAfter, compareKernels, laneBytes } from "./compareKernel.js";
import { beside, type NumberRelation as Relation } from "./compareNumber.js";

/** Compares numbers in chunks with a number that is not NaN, on either side; null without a kernel. */
export function relateChunksToOne(
  relation: Relation,
  left: Operand,
  right: Operand,
  type: ValueType,
  length: number,
): Uint8Array | null {
  if (left.step === right.step) return null;
  const isRight = right.step === 0;
  const { column } = isRight ? left : right;
  const one = (isRight ? right : left).column;
  if (column.kind !== "fixed" || column.lazy?.kind !== "chunks" || one.kind !== "fixed") return null;
  const chunks = column.lazy;
  const shape = chunkShape(type, relation);
  if (shape === null || (type.kind === "float" && Number.isNaN(numbersOf({ column: one, step: 0 }, type)[0])))
    return null;
  const number = one.values.subarray(0, laneBytes(shape));
  return beside(relation, isRight, (turned) => compareChunks(shape, turned, chunks, number, length));
}

/** Maximum number of comparisons of the indices. For more values, the indices are decoded. */
const MAX_COMPARED = 4;

/**
 * Looks up, for each row, the bit of its dictionary value, without decoding the indices.
 * @param ofValues a bit for each value of the dictionary
 * @returns a bit for each row, arbitrary for nulls. Null if the indices must be decoded: they are not in
 * chunks, some may lie outside the dictionary, or many values have a bit and many have none
 */
export function lookUpInChunks(
  { indices: { lazy: chunks, byteWidth }, dictionary, length }: DictionaryColumn,
  ofValues: Uint8Array,
): Uint8Array | null {
  const size = dictionary.length;
  if (chunks?.kind !== "chunks" || byteWidth !== 4) return null;
  const ones = countOnes(ofValues, 0, size);
  const areFew = ones <= size - ones;
  if (Math.min(ones, size - ones) > MAX_COMPARED || !lieBelow(chunks, size, length)) return null;
  const bits = new Uint8Array((length + 7) >>> 3);
  for (let value = 0; value < size; value++) {
    if ((((ofValues[value >>> 3] >>> (value & 7)) & 1) === 1) !== areFew) continue;
    const equal = compareChunks("i32x4", "equal", chunks, bytesOf(Int32Array.of(value)), length);
    if (equal === null) return null;
    for (let byte = 0; byte < bits.length; byte++) bits[byte] |= equal[byte];
  }
  if (!areFew) for (let byte = 0; byte < bits.length; byte++) bits[byte] = ~bits[byte];
  return bits;
}

/** True if all unsigned numbers are less than `end`. */
function lieBelow(chunks: ChunkedValues, end: number, length: number): boolean {
  let max = 0;
  for (const bits of chunks.packedBits) max = Math.max(max, bits);
  if (2 ** max <= end) return true;
  if (max > 31 || end > 2 ** 31 - 1) return false;
  const below = compareChunks("i32x4", "less", chunks, bytesOf(Int32Array.of(end)), length);
  return below !== null && countOnes(below, 0, length) === length;
}

/** Returns the lanes in which values are compared in chunks; null if they are not. */
function chunkShape(type: ValueType, relation: Relation): LaneShape | null {
  if (type.kind === "float") return type.bits === 64 ? "f64x2" : type.bits === 32 ? "f32x4" : null;
  const isSigned = type.kind !== "int" || type.signed;
  if (!isSigned && relation !== "equal") return null;
  const width = byteWidthOf(type);
  return width === 4 ? "i32x4" : width === 8 ? "i64x2" : null;
}

/**
 * Compares values with a number.
 * @param number its bytes; not NaN
 * @returns a bit for each of the first `length` values; null without a kernel
 */
function compareChunks(
  shape: LaneShape,
  relation: LaneRelation,
  chunks: ChunkedValues,
  number: Uint8Array,
  length: number,
): Uint8Array | null {
  const { bytes, starts, counts, packedBits } = chunks;
  const plain = compareKernels[shape][relation].get();
  const packed = unitKernels[shape][relation].get();
  if (plain === null || packed === null) return null;
  const bits = new Uint8Array((length + 7) >>> 3);
  for (let chunk = 0, position = 0; chunk < counts.length; ) {
    if (packedBits[chunk] === PLAIN_CHUNK) {
      const values = bytes.subarray(starts[chunk], starts[chunk] + counts[chunk] * number.length);
      plain.compare(values, number, bits, position);
      position += counts[chunk++];
      continue;
    }
    const first = chunk;
    const end = starts[first] + PIECE_BYTES;
    const last = Math.min(counts.length, first + MAX_CHUNKS);
    let isWhole = true;
    while (
      isWhole &&
      chunk < last &&
      packedBits[chunk] !== PLAIN_CHUNK &&
      starts[chunk] + packedBits[chunk] * BIT_BYTES <= end
    ) {
      isWhole = counts[chunk++] === UNIT;
    }
    position += packed.compare(chunks, first, chunk, number, bits, position);
  }
  clearAfter(bits, length);
  return bits;
}
