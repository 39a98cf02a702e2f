/** Encodes the rows of packed structs (packedRows.ts). */

import { UnsupportedError } from "../../errors.js";
import type { CompressiveEncoding, VariablePackedField } from "../../format/encodings.js";
import { MAXIMUM_POSITION } from "../compression/variable.js";
import { type FixedPart, SHORT_VALUE, type VariablePart } from "./packedRows.js";

// ------------------------------------------------------------------------------------------------ encode

export type PackedPart = FixedPart | VariablePart;

/**
 * Joins the members into rows.
 * @param definition for each row 0, or the level of its null; null if no row is null
 */
export function encodePackedRows(
  parts: readonly PackedPart[],
  count: number,
  definition: Uint16Array | null,
): { offsets: Int32Array; bytes: Uint8Array; encoding: CompressiveEncoding } {
  const offsets = rowOffsets(parts, count, definition);
  const bytes = new Uint8Array(offsets[count]);
  const next = offsets.slice(0, count);
  for (const part of parts) {
    if (part.kind === "variable") putVariable(part, bytes, next, definition);
    else
      for (const { bytes: values, byteWidth } of part.pieces)
        putFixed(values, byteWidth, bytes, next, definition);
  }
  return { offsets, bytes, encoding: { variablePackedStruct: { fields: parts.map(describePart) } } };
}

function describePart(part: PackedPart): VariablePackedField {
  if (part.kind === "variable") return { value: part.encoding, bitsPerLength: part.lengthBits };
  const byteWidth = part.pieces.reduce((sum, piece) => sum + piece.byteWidth, 0);
  return { value: part.encoding, bitsPerValue: byteWidth * 8 };
}

function rowOffsets(parts: readonly PackedPart[], count: number, definition: Uint16Array | null): Int32Array {
  let fixedBytes = 0;
  const variable: VariablePart[] = [];
  for (const part of parts) {
    if (part.kind === "variable") {
      fixedBytes += part.lengthBits / 8;
      variable.push(part);
    } else {
      for (const { byteWidth } of part.pieces) fixedBytes += byteWidth;
    }
  }
  const offsets = new Int32Array(count + 1);
  let end = 0;
  for (let row = 0; row < count; row++) {
    if (definition === null || definition[row] === 0) {
      end += fixedBytes;
      for (const part of variable) end += part.offsets[row + 1] - part.offsets[row];
      if (end > MAXIMUM_POSITION)
        throw new UnsupportedError("one page cannot hold more than 2 GiB of values");
    }
    offsets[row + 1] = end;
  }
  return offsets;
}

function putFixed(
  values: Uint8Array,
  width: number,
  rows: Uint8Array,
  next: Int32Array,
  definition: Uint16Array | null,
): void {
  for (let row = 0, read = 0; row < next.length; row++, read += width) {
    if (definition !== null && definition[row] !== 0) continue;
    const write = next[row];
    if (width > SHORT_VALUE) rows.set(values.subarray(read, read + width), write);
    else for (let byte = 0; byte < width; byte++) rows[write + byte] = values[read + byte];
    next[row] = write + width;
  }
}

function putVariable(
  { offsets, bytes, lengthBits }: VariablePart,
  rows: Uint8Array,
  next: Int32Array,
  definition: Uint16Array | null,
): void {
  for (let row = 0; row < next.length; row++) {
    if (definition !== null && definition[row] !== 0) continue;
    let write = next[row];
    const end = offsets[row + 1];
    const length = end - offsets[row];
    rows[write] = length;
    rows[write + 1] = length >>> 8;
    rows[write + 2] = length >>> 16;
    rows[write + 3] = length >>> 24;
    write += lengthBits / 8;
    if (length > SHORT_VALUE) rows.set(bytes.subarray(end - length, end), write);
    else for (let read = end - length, to = write; read < end; ) rows[to++] = bytes[read++];
    next[row] = write + length;
  }
}
