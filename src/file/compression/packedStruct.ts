/**
 * Packed structs whose members are all of a fixed width: the members of a row side by side, row after row,
 * without anything between them. Mini-block pages and pages of 2.0 store them so.
 *
 *     struct { a: int32, b: fixed_size_list<int16, 2> }    a a a a  b b b b    a a a a  b b b b    …
 */

import type {
  Column,
  FixedColumn,
  FixedSizeListColumn,
  PackedMember,
  PackedMemberColumn,
  PackedStructColumn,
  PackedStructLayout,
  Validity,
} from "../../arrow/columns/column.js";
import { copyBits, countOnes } from "../../bytes/bits.js";
import { TableSchemaValidationError } from "../../errors.js";

/** Bytes of a member in each row; null if that is not a whole number, or differs between rows. */
export function memberBytes(layout: PackedMember["layout"]): number | null {
  if (layout.kind === "fixed") return layout.byteWidth;
  if (layout.kind === "variable" || layout.item.kind === "bits") return null;
  const itemBytes = memberBytes(layout.item);
  return itemBytes === null ? null : itemBytes * layout.dimension;
}

/** Splits `count` rows into columns; all members have {@link memberBytes}. */
export function splitRows(
  { children: members }: PackedStructLayout,
  rows: Uint8Array,
  count: number,
): PackedStructColumn {
  const widths = members.map((member) => memberBytes(member.layout) ?? 0);
  const rowBytes = widths.reduce((sum, width) => sum + width, 0);
  let start = 0;
  const children = members.map(({ layout }, index) => {
    const width = widths[index];
    const values = new Uint8Array(count * width);
    copyStrided(
      { bytes: rows, start, step: rowBytes },
      { bytes: values, start: 0, step: width },
      width,
      count,
    );
    start += width;
    return memberColumn(layout, values, count);
  });
  return { kind: "packedStruct", length: count, validity: null, children };
}

function memberColumn(
  layout: PackedMember["layout"],
  values: Uint8Array,
  length: number,
): FixedColumn | FixedSizeListColumn {
  if (layout.kind === "fixedSizeList") {
    const { dimension, item } = layout;
    const items = memberColumn(item as PackedMember["layout"], values, length * dimension);
    return { kind: "fixedSizeList", length, validity: null, dimension, items };
  }
  const byteWidth = layout.kind === "fixed" ? layout.byteWidth : 0;
  return { kind: "fixed", length, validity: null, byteWidth, values };
}

/** Joins columns into rows; all members have {@link memberBytes}. */
export function joinRows(
  { children: members }: PackedStructLayout,
  { children, length }: PackedStructColumn,
): Uint8Array {
  const widths = members.map((member) => memberBytes(member.layout) ?? 0);
  const rowBytes = widths.reduce((sum, width) => sum + width, 0);
  const rows = new Uint8Array(length * rowBytes);
  let start = 0;
  for (const [index, width] of widths.entries()) {
    const member = { bytes: memberValues(children[index]), start: 0, step: width };
    copyStrided(member, { bytes: rows, start, step: rowBytes }, width, length);
    start += width;
  }
  return rows;
}

function memberValues(column: Column): Uint8Array {
  if (column.kind === "fixedSizeList") return memberValues(column.items);
  return column.kind === "fixed" ? column.values : new Uint8Array(0);
}

/** Positions in bytes: the first, and their distance. */
interface Strided {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly step: number;
}

/** Copies `width` bytes at each of `count` positions. */
function copyStrided(from: Strided, to: Strided, width: number, count: number): void {
  const [source, target] = [from.bytes, to.bytes];
  for (let row = 0, read = from.start, write = to.start; row < count; row++) {
    if (width > SHORT_VALUE) target.set(source.subarray(read, read + width), write);
    else for (let byte = 0; byte < width; byte++) target[write + byte] = source[read + byte];
    read += from.step;
    write += to.step;
  }
}

/** Up to this many bytes are copied one by one, more by a call. */
const SHORT_VALUE = 48;

/**
 * @param path the column, for messages
 * @throws TableSchemaValidationError if a member is null in a struct that is not null, which files cannot
 *   store
 */
export function refuseNullMembers(
  { children: members }: PackedStructLayout,
  { children, validity, length }: PackedStructColumn,
  path: string,
): void {
  for (const [index, child] of children.entries()) {
    if (child.validity === null || !nullAmongValid(child.validity, validity, length)) continue;
    throw new TableSchemaValidationError(
      `column ${path}: member ${members[index].name} of a packed struct is null in some rows, which files cannot store`,
    );
  }
}

/**
 * @param path the column, for messages
 * @throws TableSchemaValidationError if a fixed-size list, in a struct that is not null, has a null item
 */
export function refuseNullItems(layout: PackedStructLayout, column: PackedStructColumn, path: string): void {
  for (const index of column.children.keys()) refuseNullItemsOf(layout, column, index, path);
}

/** {@link refuseNullItems} for lists of booleans only: the reference does not read null booleans there. */
export function refuseNullBits(layout: PackedStructLayout, column: PackedStructColumn, path: string): void {
  for (const [index, child] of column.children.entries()) {
    let node: PackedMemberColumn | FixedSizeListColumn["items"] = child;
    while (node.kind === "fixedSizeList") node = node.items;
    if (node.kind === "bits") refuseNullItemsOf(layout, column, index, path);
  }
}

function refuseNullItemsOf(
  { children: members }: PackedStructLayout,
  { children, validity, length }: PackedStructColumn,
  index: number,
  path: string,
): void {
  let node: PackedMemberColumn | FixedSizeListColumn["items"] = children[index];
  while (node.kind === "fixedSizeList") {
    node = node.items;
    if (node.validity === null) continue;
    const perRow = node.length / length;
    const around = validity === null ? null : repeatBits(validity, length, perRow);
    if (!nullAmongValid(node.validity, around, node.length)) continue;
    throw new TableSchemaValidationError(
      `column ${path}: member ${members[index].name} of a packed struct holds lists with null items, which files cannot store`,
    );
  }
}

function nullAmongValid(inner: Validity, outer: Validity | null, length: number): boolean {
  if (outer === null) return true;
  const both = new Uint8Array((length + 7) >>> 3);
  const outerBits = new Uint8Array(both.length);
  copyBits(inner.bytes, inner.bitOffset, both, 0, length);
  copyBits(outer.bytes, outer.bitOffset, outerBits, 0, length);
  for (let byte = 0; byte < both.length; byte++) both[byte] &= outerBits[byte];
  return countOnes(both, 0, length) < length - outer.nullCount;
}

function repeatBits({ bytes, bitOffset, nullCount }: Validity, length: number, times: number): Validity {
  const repeated = new Uint8Array(Math.ceil((length * times) / 8));
  for (let row = 0, bit = bitOffset; row < length; row++, bit++) {
    if (((bytes[bit >>> 3] >>> (bit & 7)) & 1) === 0) continue;
    for (let offset = row * times; offset < (row + 1) * times; offset++)
      repeated[offset >>> 3] |= 1 << (offset & 7);
  }
  return { bytes: repeated, bitOffset: 0, nullCount: nullCount * times };
}
