/**
 * Rows of packed structs that have members of variable width (2.2), each a value of a full-zip page. Member
 * after member, without padding:
 *
 *     of fixed width       its bytes (valueShape.ts)
 *     of variable width    u32 or u64 length, then as many bytes, each compressed according to the encoding
 *
 *     struct { a: int16, b: utf8 }    { 7, "xyz" }    07 00  03 00 00 00  78 79 7a
 *
 * A null struct has no bytes; every other struct has some.
 */

import type {
  PackedMemberColumn,
  PackedStructColumn,
  PackedStructLayout,
} from "../../arrow/columns/column.js";
import { UnsupportedError } from "../../errors.js";
import type { CompressiveEncoding, VariablePackedField } from "../../format/encodings.js";
import { encodingName } from "../compression/fixed.js";
import { finishEach, MAXIMUM_POSITION, resolveVariable } from "../compression/variable.js";
import { corruptPage, type PageOrigin, unsupportedPage } from "../container/page.js";
import { allocateValues } from "./chunkValues.js";
import { valueShape } from "./valueShape.js";

// ------------------------------------------------------------------------------------------------ decode

/**
 * Splits rows into the columns of their members. The members of empty rows are zeros and empty values.
 * @param offsets positions of the rows in `bytes`, from 0
 */
export function decodePackedRows(
  { children: members }: PackedStructLayout,
  encoding: CompressiveEncoding | undefined,
  offsets: Int32Array,
  bytes: Uint8Array,
  origin: PageOrigin,
): PackedStructColumn {
  if (encoding === undefined) throw corruptPage(origin, "missing encoding");
  const fields = encoding.variablePackedStruct?.fields;
  if (fields === undefined) throw unsupportedPage(origin, `${encodingName(encoding)} for packed structs`);
  if (fields.length !== members.length) {
    throw corruptPage(origin, `packed structs of ${fields.length} members in a column of ${members.length}`);
  }
  const length = offsets.length - 1;
  const rows: Rows = { bytes, ends: offsets.subarray(1), next: offsets.slice(0, length), origin };
  const children = members.map(({ layout }, index): PackedMemberColumn => {
    const field = fields[index];
    if (layout.kind === "variable") {
      if (field.bitsPerLength !== 32 && field.bitsPerLength !== 64) {
        throw corruptPage(origin, `lengths of ${field.bitsPerLength ?? "no"} bits in packed structs`);
      }
      const variable = resolveVariable(field.value, origin);
      const stored = unpackVariable(rows, field.bitsPerLength / 8);
      return finishEach(layout, variable, stored.offsets, stored.bytes, origin);
    }
    const shape = valueShape(layout, field.value, origin);
    if (field.bitsPerValue !== shape.byteWidth * 8) {
      throw corruptPage(origin, `a member of ${field.bitsPerValue ?? "no"} bits, not ${shape.byteWidth * 8}`);
    }
    const values = unpackFixed(rows, shape.byteWidth);
    return shape.column(values, length) as PackedMemberColumn;
  });
  for (let row = 0; row < length; row++) {
    if (rows.next[row] !== rows.ends[row])
      throw corruptPage(origin, "packed structs longer than their members");
  }
  return { kind: "packedStruct", length, validity: null, children };
}

/** Rows to split, one member of all rows at a time. */
interface Rows {
  readonly bytes: Uint8Array;
  readonly ends: Int32Array;
  /** Start of the next member of each row. */
  readonly next: Int32Array;
  readonly origin: PageOrigin;
}

const isEmpty = (ends: Int32Array, row: number): boolean => ends[row] === (row === 0 ? 0 : ends[row - 1]);

function unpackFixed({ bytes, ends, next, origin }: Rows, width: number): Uint8Array {
  const count = next.length;
  const values = allocateValues(count, width * 8, bytes.length, origin);
  for (let row = 0, write = 0; row < count; row++, write += width) {
    if (isEmpty(ends, row)) continue;
    const start = next[row];
    if (width > ends[row] - start) throw corruptPage(origin, "packed structs shorter than their members");
    if (width > SHORT_VALUE) values.set(bytes.subarray(start, start + width), write);
    else for (let byte = 0; byte < width; byte++) values[write + byte] = bytes[start + byte];
    next[row] = start + width;
  }
  return values;
}

function unpackVariable(
  { bytes, ends, next, origin }: Rows,
  lengthBytes: number,
): { offsets: Int32Array; bytes: Uint8Array } {
  const count = next.length;
  const offsets = new Int32Array(count + 1);
  for (let row = 0; row < count; row++) {
    offsets[row + 1] = offsets[row];
    if (isEmpty(ends, row)) continue;
    const offset = next[row];
    const start = offset + lengthBytes;
    if (start > ends[row]) throw corruptPage(origin, "packed structs shorter than their members");
    const length =
      (bytes[offset] | (bytes[offset + 1] << 8) | (bytes[offset + 2] << 16) | (bytes[offset + 3] << 24)) >>>
      0;
    const high =
      lengthBytes === 8 ? bytes[offset + 4] | bytes[offset + 5] | bytes[offset + 6] | bytes[offset + 7] : 0;
    if (high !== 0 || length > ends[row] - start)
      throw corruptPage(origin, "a member leaves its packed struct");
    offsets[row + 1] += length;
    next[row] = start + length;
  }
  const taken = new Uint8Array(offsets[count]);
  for (let row = 0; row < count; row++) {
    const length = offsets[row + 1] - offsets[row];
    if (length > SHORT_VALUE) taken.set(bytes.subarray(next[row] - length, next[row]), offsets[row]);
    else
      for (let to = offsets[row], from = next[row] - length; from < next[row]; ) taken[to++] = bytes[from++];
  }
  return { offsets, bytes: taken };
}

/** Up to this many bytes are copied one by one, more by a call. */
const SHORT_VALUE = 48;

// ------------------------------------------------------------------------------------------------ encode

export type PackedPart = FixedPart | VariablePart;

export interface FixedPart {
  readonly kind: "fixed";
  readonly encoding: CompressiveEncoding;
  /** The value of a row consists of `byteWidth` bytes of each piece. */
  readonly pieces: readonly { readonly bytes: Uint8Array; readonly byteWidth: number }[];
}

export interface VariablePart {
  readonly kind: "variable";
  readonly encoding: CompressiveEncoding;
  readonly lengthBits: 32 | 64;
  /** Positions in `bytes`, from 0. */
  readonly offsets: Int32Array;
  readonly bytes: Uint8Array;
}

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
