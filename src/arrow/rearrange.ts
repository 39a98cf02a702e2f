/**
 * Columns made of columns: slice, concatenate, pick rows, decode dictionaries, fill with nulls. Slices are views;
 * everything else is in memory of its own.
 */

import { copyBits, countOnes } from "../bytes/bits.js";
import { concatBytes } from "../bytes/concat.js";
import { InvalidInputError, UnsupportedError } from "../errors.js";
import type {
  BitsColumn,
  Column,
  DictionaryColumn,
  FixedColumn,
  FixedSizeListColumn,
  Layout,
  ListColumn,
  SizedListColumn,
  StructColumn,
  Validity,
  VariableColumn,
} from "./column.js";

const NO_BYTES = new Uint8Array(0);

/** A column of no values. */
function emptyColumn(layout: Layout): Column {
  return nullColumn(layout, 0);
}

/** A column of `length` nulls. */
export function nullColumn(layout: Layout, length: number): Column {
  const validity: Validity | null =
    length === 0 ? null : { bytes: new Uint8Array((length + 7) >>> 3), bitOffset: 0, nullCount: length };
  switch (layout.kind) {
    case "null":
      return { kind: "null", length, validity: null };
    case "fixed": {
      const { byteWidth } = layout;
      return { kind: "fixed", length, validity, byteWidth, values: new Uint8Array(length * byteWidth) };
    }
    case "bits":
      return { kind: "bits", length, validity, bits: new Uint8Array((length + 7) >>> 3), bitOffset: 0 };
    case "variable": {
      const offsets = layout.offsetBits === 32 ? new Int32Array(length + 1) : new BigInt64Array(length + 1);
      return { kind: "variable", length, validity, offsets, bytes: NO_BYTES };
    }
    case "fixedSizeList": {
      const { dimension, item } = layout;
      const items = nullColumn(item, length * dimension) as FixedSizeListColumn["items"];
      return { kind: "fixedSizeList", length, validity, dimension, items };
    }
    case "dictionary":
      return {
        kind: "dictionary",
        length,
        validity,
        indices: {
          kind: "fixed",
          length,
          validity: null,
          byteWidth: layout.index.byteWidth,
          values: new Uint8Array(length * layout.index.byteWidth),
        },
        dictionary: emptyColumn(layout.value) as VariableColumn | FixedColumn,
      };
    case "list": {
      const offsets = layout.offsetBits === 32 ? new Int32Array(length + 1) : new BigInt64Array(length + 1);
      return { kind: "list", length, validity, offsets, items: emptyColumn(layout.item) };
    }
    case "sizedList": {
      const { dimension, item } = layout;
      return { kind: "sizedList", length, validity, dimension, items: nullColumn(item, length * dimension) };
    }
    case "struct":
    case "packedStruct": {
      const children = layout.children.map((child) => nullColumn(child.layout, length));
      return { kind: layout.kind, length, validity, children } as Column;
    }
  }
}

/** The values from `start` on, `length` of them, over the same memory. Both must lie inside the column. */
export function sliceColumn<C extends Column>(column: C, start: number, length: number): C;
export function sliceColumn(column: Column, start: number, length: number): Column {
  if (start < 0 || length < 0 || start + length > column.length) {
    throw new RangeError(`values ${start} to ${start + length} of a column of ${column.length}`);
  }
  if (length === column.length) return column;
  const validity =
    column.validity === null
      ? null
      : validityFrom(column.validity.bytes, column.validity.bitOffset + start, length);
  switch (column.kind) {
    case "null":
      return { kind: "null", length, validity: null };
    case "fixed": {
      const { byteWidth } = column;
      const values = column.values.subarray(start * byteWidth, (start + length) * byteWidth);
      return { kind: "fixed", length, validity, byteWidth, values };
    }
    case "bits":
      return { kind: "bits", length, validity, bits: column.bits, bitOffset: column.bitOffset + start };
    case "variable": {
      const offsets = column.offsets.subarray(start, start + length + 1);
      return { kind: "variable", length, validity, offsets, bytes: column.bytes };
    }
    case "fixedSizeList": {
      const { dimension } = column;
      const items = sliceColumn(column.items, start * dimension, length * dimension);
      return { kind: "fixedSizeList", length, validity, dimension, items };
    }
    case "dictionary": {
      const indices = sliceColumn(column.indices, start, length);
      return { kind: "dictionary", length, validity, indices, dictionary: column.dictionary };
    }
    case "list": {
      const offsets = column.offsets.subarray(start, start + length + 1);
      return { kind: "list", length, validity, offsets, items: column.items };
    }
    case "sizedList": {
      const { dimension } = column;
      const items = sliceColumn(column.items, start * dimension, length * dimension);
      return { kind: "sizedList", length, validity, dimension, items };
    }
    case "struct":
    case "packedStruct": {
      const children = column.children.map((child) => sliceColumn<Column>(child, start, length));
      return { kind: column.kind, length, validity, children } as Column;
    }
  }
}

/**
 * The values of all columns, one behind the other, in memory of their own. At least one column; all of one
 * layout. Dictionaries that differ are united.
 * @throws UnsupportedError where offsets or dictionary indices would no longer fit their width
 */
export function concatColumns<C extends Column>(columns: readonly C[]): C;
export function concatColumns(columns: readonly Column[]): Column {
  const [first] = columns;
  if (columns.length === 1) return first;
  let length = 0;
  for (const column of columns) length += column.length;
  const validity = concatValidity(columns, length);
  switch (first.kind) {
    case "null":
      return { kind: "null", length, validity: null };
    case "fixed": {
      const values = concatBytes((columns as readonly FixedColumn[]).map((column) => column.values));
      return { kind: "fixed", length, validity, byteWidth: first.byteWidth, values };
    }
    case "bits": {
      const bits = new Uint8Array(Math.ceil(length / 8));
      let position = 0;
      for (const column of columns as readonly BitsColumn[]) {
        copyBits(column.bits, column.bitOffset, bits, position, column.length);
        position += column.length;
      }
      return { kind: "bits", length, validity, bits, bitOffset: 0 };
    }
    case "variable":
      return {
        kind: "variable",
        length,
        validity,
        ...concatVariable(columns as readonly VariableColumn[], length),
      };
    case "fixedSizeList": {
      const { dimension } = first;
      const items = concatColumns((columns as readonly FixedSizeListColumn[]).map((column) => column.items));
      return { kind: "fixedSizeList", length, validity, dimension, items };
    }
    case "dictionary": {
      const united = uniteDictionaries(columns as readonly DictionaryColumn[]);
      const indices = concatColumns(united.indices);
      return { kind: "dictionary", length, validity, indices, dictionary: united.dictionary };
    }
    case "list": {
      const lists = columns as readonly ListColumn[];
      const items = lists.map((list) => {
        const begin = Number(list.offsets[0]);
        return sliceColumn(list.items, begin, Number(list.offsets[list.length]) - begin);
      });
      const offsets = concatOffsets(
        lists,
        items.map((piece) => piece.length),
        length,
      );
      return { kind: "list", length, validity, offsets, items: concatColumns(items) };
    }
    case "sizedList": {
      const { dimension } = first;
      const items = concatColumns((columns as readonly SizedListColumn[]).map((column) => column.items));
      return { kind: "sizedList", length, validity, dimension, items };
    }
    case "struct":
    case "packedStruct": {
      const children = first.children.map((_, index) =>
        concatColumns((columns as readonly StructColumn[]).map((column) => column.children[index])),
      );
      return { kind: first.kind, length, validity, children } as Column;
    }
  }
}

function concatValidity(columns: readonly Column[], length: number): Validity | null {
  let nullCount = 0;
  for (const { validity } of columns) nullCount += validity?.nullCount ?? 0;
  if (nullCount === 0) return null;
  const bytes = new Uint8Array(Math.ceil(length / 8));
  let position = 0;
  for (const column of columns) {
    if (column.validity === null) setBits(bytes, position, column.length);
    else copyBits(column.validity.bytes, column.validity.bitOffset, bytes, position, column.length);
    position += column.length;
  }
  return { bytes, bitOffset: 0, nullCount };
}

/** Sets `count` bits from `start` on. */
function setBits(bytes: Uint8Array, start: number, count: number): void {
  const end = start + count;
  let position = start;
  for (; position < end && (position & 7) !== 0; position++) bytes[position >>> 3] |= 1 << (position & 7);
  const whole = (end - position) >>> 3;
  if (whole > 0) bytes.fill(0xff, position >>> 3, (position >>> 3) + whole);
  for (position += whole * 8; position < end; position++) bytes[position >>> 3] |= 1 << (position & 7);
}

function concatVariable(
  columns: readonly VariableColumn[],
  length: number,
): { offsets: Int32Array | BigInt64Array; bytes: Uint8Array } {
  const pieces = columns.map((column) => {
    const begin = Number(column.offsets[0]);
    return column.bytes.subarray(begin, Number(column.offsets[column.length]));
  });
  const bytes = concatBytes(pieces);
  const offsets = concatOffsets(
    columns,
    pieces.map((piece) => piece.length),
    length,
  );
  return { offsets, bytes };
}

/**
 * The offsets of columns joined, from 0.
 * @param spans what each column's offsets cover
 * @param length values of all columns
 */
function concatOffsets(
  columns: readonly (VariableColumn | ListColumn)[],
  spans: readonly number[],
  length: number,
): Int32Array | BigInt64Array {
  let position = 0;
  let base = 0;
  if (columns[0].offsets instanceof Int32Array) {
    checkOffsetRange(spans.reduce((sum, span) => sum + span, 0));
    const offsets = new Int32Array(length + 1);
    for (let index = 0; index < columns.length; index++) {
      const column = columns[index];
      const source = column.offsets as Int32Array;
      const delta = base - source[0];
      for (let value = 1; value <= column.length; value++) offsets[++position] = source[value] + delta;
      base += spans[index];
    }
    return offsets;
  }
  const offsets = new BigInt64Array(length + 1);
  const words = wordsOf(offsets);
  for (let index = 0; index < columns.length; index++) {
    const column = columns[index];
    const source = wordsOf(column.offsets as BigInt64Array);
    const delta = base - (source[0] + source[1] * 0x1_0000_0000);
    for (let word = 2; word <= column.length * 2; word += 2) {
      const offset = source[word] + source[word + 1] * 0x1_0000_0000 + delta;
      position += 2;
      words[position] = offset;
      words[position + 1] = offset / 0x1_0000_0000;
    }
    base += spans[index];
  }
  return offsets;
}

/** Pairs of words of 64-bit integers that are not negative: low, high. */
function wordsOf(array: BigInt64Array): Uint32Array {
  return new Uint32Array(array.buffer, array.byteOffset, array.length * 2);
}

function checkOffsetRange(byteLength: number): void {
  if (byteLength > 0x7fffffff) {
    throw new UnsupportedError(`${byteLength} bytes of text or items of lists do not fit 32-bit offsets`);
  }
}

interface UnitedDictionary {
  readonly indices: readonly FixedColumn[];
  readonly dictionary: VariableColumn | FixedColumn;
}

/** One dictionary for all; columns whose indices change get new ones. */
function uniteDictionaries(columns: readonly DictionaryColumn[]): UnitedDictionary {
  const [first] = columns;
  if (columns.every((column) => column.dictionary === first.dictionary)) {
    return { indices: columns.map((column) => column.indices), dictionary: first.dictionary };
  }
  const used = columns.filter((column) => column.length > 0);
  const distinct = [...new Set(used.map((column) => column.dictionary))];
  const positions = new Map<string | null, number>();
  const remaps = new Map<VariableColumn | FixedColumn, Uint32Array>();
  const taken: number[] = [];
  let base = 0;
  for (const dictionary of distinct) {
    const remap = new Uint32Array(dictionary.length);
    for (let entry = 0; entry < dictionary.length; entry++) {
      const key = entryKey(dictionary, entry);
      let position = positions.get(key);
      if (position === undefined) {
        position = taken.length;
        positions.set(key, position);
        taken.push(base + entry);
      }
      remap[entry] = position;
    }
    base += dictionary.length;
    remaps.set(dictionary, remap);
  }
  const all =
    distinct.length === 0 ? first.dictionary : concatColumns<VariableColumn | FixedColumn>(distinct);
  const dictionary = takeColumn(all, Uint32Array.from(taken));
  const { byteWidth } = first.indices;
  if (taken.length > 2 ** (byteWidth * 8 - 1)) {
    throw new UnsupportedError(
      `a dictionary of ${taken.length} values does not fit indices of ${byteWidth} bytes`,
    );
  }
  const indices = columns.map((column) => {
    const remap = remaps.get(column.dictionary);
    if (remap === undefined) return column.indices;
    const source = readIndices(column);
    const values = new Uint8Array(column.length * byteWidth);
    const target = indexView(values, byteWidth);
    const stride = byteWidth === 8 ? 2 : 1;
    if (remap.length > 0)
      for (let row = 0; row < column.length; row++) target[row * stride] = remap[source[row]];
    return { kind: "fixed", length: column.length, validity: null, byteWidth, values } satisfies FixedColumn;
  });
  return { indices, dictionary };
}

/** Equal keys, equal values; null for a null. */
export function entryKey(dictionary: VariableColumn | FixedColumn, entry: number): string | null {
  const { validity } = dictionary;
  if (validity !== null && !isSet(validity, entry)) return null;
  let begin: number;
  let end: number;
  let bytes: Uint8Array;
  if (dictionary.kind === "fixed") {
    begin = entry * dictionary.byteWidth;
    end = begin + dictionary.byteWidth;
    bytes = dictionary.values;
  } else {
    begin = Number(dictionary.offsets[entry]);
    end = Number(dictionary.offsets[entry + 1]);
    bytes = dictionary.bytes;
  }
  return latin1.decode(bytes.subarray(begin, end));
}

/** Maps bytes to characters one to one, whatever the bytes: what the label "latin1" means to a decoder does not. */
const latin1 = {
  decode(bytes: Uint8Array): string {
    let text = "";
    for (let start = 0; start < bytes.length; start += 4096) {
      text += String.fromCharCode.apply(null, bytes.subarray(start, start + 4096) as unknown as number[]);
    }
    return text;
  },
};

/** Typed array of low words or whole indices over the bytes of an index column. */
function indexView(bytes: Uint8Array, byteWidth: number): Uint8Array | Uint16Array | Uint32Array {
  switch (byteWidth) {
    case 1:
      return bytes;
    case 2:
      return new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length >>> 1);
    default:
      return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length >>> 2);
  }
}

/**
 * The indices of a dictionary column, 0 in the slots of nulls.
 * @throws InvalidInputError on an index outside the dictionary
 */
function readIndices(column: DictionaryColumn): Uint32Array {
  const { length, validity, dictionary } = column;
  const { byteWidth } = column.indices;
  const source = indexView(aligned(column.indices.values, Math.min(byteWidth, 4)), byteWidth);
  const wide = byteWidth === 8;
  const size = dictionary.length;
  const indices = new Uint32Array(length);
  for (let row = 0; row < length; row++) {
    const index = wide ? source[row * 2] : source[row];
    if (index < size && (!wide || source[row * 2 + 1] === 0)) {
      indices[row] = index;
      continue;
    }
    if (validity !== null && !isSet(validity, row)) continue;
    throw new InvalidInputError(`index ${index} is outside a dictionary of ${size} values`);
  }
  return indices;
}

/** The rows at `indices`, in that order, in memory of their own. Every index must be inside the column. */
export function takeColumn<C extends Column>(column: C, indices: Uint32Array): C;
export function takeColumn(column: Column, indices: Uint32Array): Column {
  const { length } = indices;
  const validity = takeValidity(column.validity, indices);
  switch (column.kind) {
    case "null":
      return { kind: "null", length, validity: null };
    case "fixed": {
      const { byteWidth } = column;
      return {
        kind: "fixed",
        length,
        validity,
        byteWidth,
        values: takeFixed(column.values, byteWidth, indices),
      };
    }
    case "bits": {
      const bits = takeBits(column.bits, column.bitOffset, indices);
      return { kind: "bits", length, validity, bits, bitOffset: 0 };
    }
    case "variable":
      return { kind: "variable", length, validity, ...takeVariable(column, indices, null) };
    case "fixedSizeList": {
      const { dimension } = column;
      const items = takeItems(column.items, dimension, indices);
      return { kind: "fixedSizeList", length, validity, dimension, items };
    }
    case "dictionary": {
      const picked = takeColumn(column.indices, indices);
      return { kind: "dictionary", length, validity, indices: picked, dictionary: column.dictionary };
    }
    case "list": {
      const { offsets, positions } = takeLists(column, indices);
      return { kind: "list", length, validity, offsets, items: takeColumn(column.items, positions) };
    }
    case "sizedList": {
      const { dimension } = column;
      const items = takeColumn(column.items, itemPositions(dimension, indices));
      return { kind: "sizedList", length, validity, dimension, items };
    }
    case "struct":
    case "packedStruct": {
      const children = column.children.map((child) => takeColumn<Column>(child, indices));
      return { kind: column.kind, length, validity, children } as Column;
    }
  }
}

/** Offsets of the lists at `indices`, and where their items are. */
function takeLists(
  { offsets: source }: ListColumn,
  indices: Uint32Array,
): { offsets: Int32Array | BigInt64Array; positions: Uint32Array } {
  const { length } = indices;
  // Items of a column are counted in 32 bits; so are the low words of wide offsets.
  const wide = !(source instanceof Int32Array);
  const from = wide ? wordsOf(source) : source;
  const step = wide ? 2 : 1;
  const taken = wide ? new BigInt64Array(length + 1) : new Int32Array(length + 1);
  const to = wide ? wordsOf(taken as BigInt64Array) : (taken as Int32Array);
  let total = 0;
  for (let row = 0; row < length; row++) {
    const at = indices[row] * step;
    total += from[at + step] - from[at];
    to[(row + 1) * step] = total;
  }
  checkOffsetRange(total);
  const positions = new Uint32Array(total);
  let write = 0;
  for (let row = 0; row < length; row++) {
    const at = indices[row] * step;
    for (let item = from[at], end = from[at + step]; item < end; item++) positions[write++] = item;
  }
  return { offsets: taken, positions };
}

function takeItems(
  items: FixedSizeListColumn["items"],
  dimension: number,
  indices: Uint32Array,
): FixedSizeListColumn["items"] {
  if (items.kind === "fixed" && items.validity === null) {
    const values = takeFixed(items.values, items.byteWidth * dimension, indices);
    return { ...items, length: indices.length * dimension, values };
  }
  return takeColumn(items, itemPositions(dimension, indices));
}

/** Where the items of lists of one length are. */
function itemPositions(dimension: number, indices: Uint32Array): Uint32Array {
  const positions = new Uint32Array(indices.length * dimension);
  for (let row = 0, position = 0; row < indices.length; row++) {
    for (let item = indices[row] * dimension, end = item + dimension; item < end; item++)
      positions[position++] = item;
  }
  return positions;
}

function takeFixed(values: Uint8Array, byteWidth: number, indices: Uint32Array): Uint8Array {
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

function takeBits(bits: Uint8Array, bitOffset: number, indices: Uint32Array): Uint8Array {
  const { length } = indices;
  const taken = new Uint8Array((length + 7) >>> 3);
  for (let row = 0; row < length; row++) {
    const bit = bitOffset + indices[row];
    taken[row >>> 3] |= ((bits[Math.floor(bit / 8)] >>> (bit & 7)) & 1) << (row & 7);
  }
  return taken;
}

function takeValidity(validity: Validity | null, indices: Uint32Array): Validity | null {
  if (validity === null) return null;
  return validityFrom(takeBits(validity.bytes, validity.bitOffset, indices), 0, indices.length);
}

/** @param skipped rows that become empty, where given: a zero bit */
function takeVariable(
  column: VariableColumn,
  indices: Uint32Array,
  skipped: Validity | null,
): { offsets: Int32Array | BigInt64Array; bytes: Uint8Array } {
  const { offsets, bytes } = column;
  return offsets instanceof Int32Array
    ? takeVariable32(offsets, bytes, indices, skipped)
    : takeVariable64(wordsOf(offsets), bytes, indices, skipped);
}

/** Values at least this long are copied by the engine's own copy, shorter ones byte by byte. */
const LONG_VALUE_BYTES = 48;

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
    let at = source[indices[row]];
    // Values that lie side by side are copied at once.
    let end = at + offsets[++row] - to;
    while (row < length && source[indices[row]] === end) end += offsets[row + 1] - offsets[row++];
    if (end - at >= LONG_VALUE_BYTES) bytes.set(from.subarray(at, end), to);
    else while (at < end) bytes[to++] = from[at++];
  }
  return { offsets, bytes };
}

/** @param source pairs of words */
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
    let at = source[word] + source[word + 1] * 0x1_0000_0000;
    const end =
      to +
      target[row * 2 + 2] -
      target[row * 2] +
      (target[row * 2 + 3] - target[row * 2 + 1]) * 0x1_0000_0000;
    if (end - to >= LONG_VALUE_BYTES) {
      bytes.set(from.subarray(at, at + end - to), to);
      to = end;
    } else {
      while (to < end) bytes[to++] = from[at++];
    }
  }
  return { offsets, bytes };
}

function isSet(bits: Validity, index: number): boolean {
  const bit = bits.bitOffset + index;
  return ((bits.bytes[Math.floor(bit / 8)] >>> (bit & 7)) & 1) === 1;
}

/**
 * The values that a dictionary column stands for, as a plain column. A value is null where its slot is or where
 * the dictionary's entry is.
 * @throws InvalidInputError on an index outside the dictionary
 */
export function decodeDictionary(column: DictionaryColumn): VariableColumn | FixedColumn {
  const { length, dictionary } = column;
  if (dictionary.length === 0) {
    if (length > (column.validity?.nullCount ?? 0)) {
      throw new InvalidInputError("an index into a dictionary without values");
    }
    const layout: Layout =
      dictionary.kind === "fixed"
        ? { kind: "fixed", byteWidth: dictionary.byteWidth }
        : { kind: "variable", offsetBits: dictionary.offsets instanceof Int32Array ? 32 : 64, text: false };
    return nullColumn(layout, length) as VariableColumn | FixedColumn;
  }
  const indices = readIndices(column);
  const validity = bothValid(column.validity, takeValidity(dictionary.validity, indices), length);
  if (dictionary.kind === "fixed") {
    const { byteWidth } = dictionary;
    return {
      kind: "fixed",
      length,
      validity,
      byteWidth,
      values: takeFixed(dictionary.values, byteWidth, indices),
    };
  }
  return { kind: "variable", length, validity, ...takeVariable(dictionary, indices, validity) };
}

/** Whether any row is null; a dictionary may hold the null its indices point at. */
export function hasNulls(column: Column): boolean {
  if (column.validity !== null || (column.kind === "null" && column.length > 0)) return true;
  return (
    column.kind === "dictionary" &&
    column.dictionary.validity !== null &&
    decodeDictionary(column).validity !== null
  );
}

/** Valid where both are. */
export function bothValid(left: Validity | null, right: Validity | null, length: number): Validity | null {
  if (left === null || right === null) return left ?? right;
  const bytes = shiftBits(left.bytes, left.bitOffset, 0, length).slice(0, (length + 7) >>> 3);
  const other = shiftBits(right.bytes, right.bitOffset, 0, length);
  for (let byte = 0; byte < bytes.length; byte++) bytes[byte] &= other[byte];
  return validityFrom(bytes, 0, length);
}

/** Counts; null where nothing is null. */
export function validityFrom(bytes: Uint8Array, bitOffset: number, length: number): Validity | null {
  const nullCount = length - countOnes(bytes, bitOffset, length);
  return nullCount === 0 ? null : { bytes, bitOffset, nullCount };
}

/** The same bytes at a multiple of `alignment`; copied only where they are not. */
export function aligned(bytes: Uint8Array, alignment: number): Uint8Array {
  return bytes.byteOffset % alignment === 0 ? bytes : bytes.slice();
}

/** A bitmap whose first bit of interest is at `target` < 8; the same memory where it lies so already. */
export function shiftBits(bytes: Uint8Array, bitOffset: number, target: number, length: number): Uint8Array {
  if ((bitOffset & 7) === target) return bytes.subarray(bitOffset >>> 3);
  const shifted = new Uint8Array((target + length + 7) >>> 3);
  copyBits(bytes, bitOffset, shifted, target, length);
  return shifted;
}
