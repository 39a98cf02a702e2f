/**
 * Compares values with one number where the chunks of a page hold them: packed ones in the kernels of chunkKernel.ts, plain
 * ones in those of compareKernel.ts.
 */

import { type ChunkedValues, PLAIN_CHUNK } from "../../arrow/columns/chunkedValues.js";
import type { LaneRelation, LaneShape } from "../../bytes/wasm.js";
import { numbersOf, type Operand } from "../values/operands.js";
import { byteWidthOf, type ValueType } from "../values/types.js";
import { BIT_BYTES, PIECE_BYTES, unitKernels } from "./chunkKernel.js";
import { clearBehind, compareKernels, laneBytes } from "./compareKernel.js";
import { beside, type NumberRelation as Relation } from "./compareNumber.js";

/**
 * Numbers that still lie as a file holds them beside one that is no NaN, on either side; null for all others, and where
 * they can't be compared so.
 */
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
  if (column.kind !== "fixed" || column.chunks === undefined || one.kind !== "fixed") return null;
  const shape = chunkShape(type, relation);
  if (shape === null || (type.kind === "float" && Number.isNaN(numbersOf({ column: one, step: 0 }, type)[0])))
    return null;
  const { chunks } = column;
  const number = one.values.subarray(0, laneBytes(shape));
  return beside(relation, isRight, (own) => compareChunks(shape, own, chunks, number, length));
}

/** How values are compared in chunks; null where they are not. */
function chunkShape(type: ValueType, relation: Relation): LaneShape | null {
  if (type.kind === "float") return type.bits === 64 ? "f64x2" : type.bits === 32 ? "f32x4" : null;
  const isSigned = type.kind !== "int" || type.signed;
  if (!isSigned && relation !== "equal") return null;
  const width = byteWidthOf(type);
  return width === 4 ? "i32x4" : width === 8 ? "i64x2" : null;
}

/**
 * Compares values with a number.
 * @param number its bytes; no NaN
 * @returns a bit for each of the first `length` values; null where there is no kernel
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
  for (let chunk = 0, place = 0; chunk < counts.length; ) {
    if (packedBits[chunk] === PLAIN_CHUNK) {
      const values = bytes.subarray(starts[chunk], starts[chunk] + counts[chunk] * number.length);
      plain.compare(values, number, bits, place);
      place += counts[chunk++];
      continue;
    }
    const first = chunk;
    const end = starts[first] + PIECE_BYTES;
    let values = 0;
    while (
      chunk < counts.length &&
      packedBits[chunk] !== PLAIN_CHUNK &&
      starts[chunk] + packedBits[chunk] * BIT_BYTES <= end
    ) {
      values += counts[chunk++];
    }
    packed.compare(chunks, first, chunk, number, bits, place);
    place += values;
  }
  clearBehind(bits, length);
  return bits;
}
