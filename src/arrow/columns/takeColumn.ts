/** Picks rows of a column by their indices. */

import type { Column, ListColumn, Validity, VariableColumn } from "./column.js";
import { codesIn, takeCoded } from "./lazyColumn.js";
import { areNarrow, checkOffsetRange, wordsOf } from "./offsets.js";
import { isSet, takeBits, takeValidity } from "./validity.js";

/** Copies the rows at `indices`, in that order; a dictionary is shared. Indices lie inside the column. */
export function takeColumn<C extends Column>(column: C, indices: Uint32Array): C;
export function takeColumn(column: Column, indices: Uint32Array): Column {
  const { length } = indices;
  const validity = takeValidity(column.validity, indices);
  switch (column.kind) {
    case "null":
      return { kind: "null", length, validity: null };
    case "fixed": {
      const { byteWidth } = column;
      const values = column.lazy?.pick(indices) ?? takeFixed(column.values, byteWidth, indices);
      return { kind: "fixed", length, validity, byteWidth, values };
    }
    case "bits": {
      const bits = takeBits(column.bits, column.bitOffset, indices);
      return { kind: "bits", length, validity, bits, bitOffset: 0 };
    }
    case "variable":
      return { kind: "variable", length, validity, ...takeVariable(column, indices, null) };
    case "fixedSizeList":
    case "sizedList": {
      const { kind, dimension } = column;
      const items = takeItems(column.items, dimension, indices);
      return { kind, length, validity, dimension, items } as Column;
    }
    case "dictionary": {
      const picked = takeColumn(column.indices, indices);
      return { kind: "dictionary", length, validity, indices: picked, dictionary: column.dictionary };
    }
    case "list": {
      const { offsets, positions } = takeLists(column, indices);
      return { kind: "list", length, validity, offsets, items: takeColumn(column.items, positions) };
    }
    case "struct":
    case "packedStruct": {
      const children = column.children.map((child) => takeColumn<Column>(child, indices));
      return { kind: column.kind, length, validity, children } as Column;
    }
  }
}

/** Returns the offsets of the lists at `indices`, and the positions of their items. */
function takeLists(
  { offsets: source }: ListColumn,
  indices: Uint32Array,
): { offsets: Int32Array | BigInt64Array; positions: Uint32Array } {
  const { length } = indices;
  // Columns have fewer than 2³² items, so the low words of wide offsets suffice.
  const wide = !areNarrow(source);
  const from = wide ? wordsOf(source) : source;
  const step = wide ? 2 : 1;
  const taken = wide ? new BigInt64Array(length + 1) : new Int32Array(length + 1);
  const to = wide ? wordsOf(taken as BigInt64Array) : (taken as Int32Array);
  let total = 0;
  for (let row = 0; row < length; row++) {
    const index = indices[row] * step;
    total += from[index + step] - from[index];
    to[(row + 1) * step] = total;
  }
  checkOffsetRange(total);
  const positions = new Uint32Array(total);
  let write = 0;
  for (let row = 0; row < length; row++) {
    const slot = indices[row] * step;
    for (let item = from[slot], end = from[slot + step]; item < end; item++) positions[write++] = item;
  }
  return { offsets: taken, positions };
}

function takeItems(items: Column, dimension: number, indices: Uint32Array): Column {
  if (items.kind === "fixed" && items.validity === null) {
    const values = takeFixed(items.values, items.byteWidth * dimension, indices);
    return { ...items, length: indices.length * dimension, values };
  }
  return takeColumn(items, itemPositions(dimension, indices));
}

/** Returns the positions of the items of lists of one length. */
function itemPositions(dimension: number, indices: Uint32Array): Uint32Array {
  const positions = new Uint32Array(indices.length * dimension);
  for (let row = 0, position = 0; row < indices.length; row++) {
    for (let item = indices[row] * dimension, end = item + dimension; item < end; item++)
      positions[position++] = item;
  }
  return positions;
}

/** Returns the values of `byteWidth` bytes at `indices`. */
export function takeFixed(values: Uint8Array, byteWidth: number, indices: Uint32Array): Uint8Array {
  const { length } = indices;
  const taken = new Uint8Array(length * byteWidth);
  if (byteWidth === 1) {
    for (let row = 0; row < length; row++) taken[row] = values[indices[row]];
    return taken;
  }
  if (byteWidth === 2 && values.byteOffset % 2 === 0) {
    const source = new Uint16Array(values.buffer, values.byteOffset, values.length >>> 1);
    const target = new Uint16Array(taken.buffer);
    for (let row = 0; row < length; row++) target[row] = source[indices[row]];
    return taken;
  }
  if (byteWidth % 4 === 0 && byteWidth <= 32 && values.byteOffset % 4 === 0) {
    const source = new Uint32Array(values.buffer, values.byteOffset, values.length >>> 2);
    const target = new Uint32Array(taken.buffer);
    const words = byteWidth / 4;
    if (words === 1) {
      for (let row = 0; row < length; row++) target[row] = source[indices[row]];
    } else if (words === 2) {
      for (let row = 0; row < length; row++) {
        const from = indices[row] * 2;
        target[row * 2] = source[from];
        target[row * 2 + 1] = source[from + 1];
      }
    } else {
      for (let row = 0, to = 0; row < length; row++) {
        for (let from = indices[row] * words, end = from + words; from < end; ) target[to++] = source[from++];
      }
    }
    return taken;
  }
  if (byteWidth < 32) {
    for (let row = 0, to = 0; row < length; row++) {
      for (let from = indices[row] * byteWidth, end = from + byteWidth; from < end; )
        taken[to++] = values[from++];
    }
    return taken;
  }
  for (let row = 0; row < length; row++) {
    const from = indices[row] * byteWidth;
    taken.set(values.subarray(from, from + byteWidth), row * byteWidth);
  }
  return taken;
}

/** @param skipped bitmap with a zero for each row that becomes empty; null for none */
export function takeVariable(
  column: VariableColumn,
  indices: Uint32Array,
  skipped: Validity | null,
): { offsets: Int32Array | BigInt64Array; bytes: Uint8Array } {
  if (skipped === null && column.lazy !== undefined) {
    const picked = column.lazy.kind === "chunks" ? column.lazy.pick(indices) : null;
    if (picked !== null) return picked;
    const codes = codesIn(column);
    if (codes !== null) return takeCoded(codes, indices);
  }
  const { offsets, bytes } = column;
  return areNarrow(offsets)
    ? takeVariable32(offsets, bytes, indices, skipped)
    : takeVariable64(wordsOf(offsets), bytes, indices, skipped);
}

/** Minimum bytes of a value for the engine's own copy; shorter values are copied byte by byte. */
export const LONG_VALUE_BYTES = 48;

function takeVariable32(
  source: Int32Array,
  from: Uint8Array,
  indices: Uint32Array,
  skipped: Validity | null,
): { offsets: Int32Array; bytes: Uint8Array } {
  const { length } = indices;
  const offsets = new Int32Array(length + 1);
  let byteLength = 0;
  for (let row = 0; row < length; row++) {
    if (skipped === null || isSet(skipped, row)) {
      const index = indices[row];
      byteLength += source[index + 1] - source[index];
      checkOffsetRange(byteLength);
    }
    offsets[row + 1] = byteLength;
  }
  const bytes = new Uint8Array(byteLength);
  for (let row = 0; row < length; ) {
    let to = offsets[row];
    let offset = source[indices[row]];
    // Adjacent values are copied at once.
    let end = offset + offsets[++row] - to;
    while (row < length && source[indices[row]] === end) end += offsets[row + 1] - offsets[row++];
    if (end - offset >= LONG_VALUE_BYTES) bytes.set(from.subarray(offset, end), to);
    else while (offset < end) bytes[to++] = from[offset++];
  }
  return { offsets, bytes };
}

/** @param source pairs of words: low, high */
function takeVariable64(
  source: Uint32Array,
  from: Uint8Array,
  indices: Uint32Array,
  skipped: Validity | null,
): { offsets: BigInt64Array; bytes: Uint8Array } {
  const { length } = indices;
  const offsets = new BigInt64Array(length + 1);
  const target = wordsOf(offsets);
  let byteLength = 0;
  for (let row = 0; row < length; row++) {
    if (skipped === null || isSet(skipped, row)) {
      const word = indices[row] * 2;
      byteLength += source[word + 2] - source[word] + (source[word + 3] - source[word + 1]) * 0x1_0000_0000;
    }
    target[row * 2 + 2] = byteLength;
    target[row * 2 + 3] = byteLength / 0x1_0000_0000;
  }
  const bytes = new Uint8Array(byteLength);
  for (let row = 0, to = 0; row < length; row++) {
    const word = indices[row] * 2;
    let offset = source[word] + source[word + 1] * 0x1_0000_0000;
    const end =
      to +
      target[row * 2 + 2] -
      target[row * 2] +
      (target[row * 2 + 3] - target[row * 2 + 1]) * 0x1_0000_0000;
    if (end - to >= LONG_VALUE_BYTES) {
      bytes.set(from.subarray(offset, offset + end - to), to);
      to = end;
    } else {
      while (to < end) bytes[to++] = from[offset++];
    }
  }
  return { offsets, bytes };
}
