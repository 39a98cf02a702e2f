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
import type { CompressiveEncoding } from "../../format/encodings.js";
import { encodingName } from "../compression/fixed.js";
import { finishEach, resolveVariable } from "../compression/variable.js";
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
export const SHORT_VALUE = 48;

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
