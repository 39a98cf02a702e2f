/** Concatenates columns of one layout. */

import type { Steps } from "../../async/eventLoop.js";
import { copyBits } from "../../bytes/bits.js";
import { concatBytes } from "../../bytes/concat.js";
import { UnsupportedError } from "../../errors.js";
import type {
  BitsColumn,
  Column,
  DictionaryColumn,
  FixedColumn,
  FixedSizeListColumn,
  ListColumn,
  SizedListColumn,
  StructColumn,
  Validity,
  VariableColumn,
} from "./column.js";
import { entryKey, indexView, readIndices } from "./dictionaries.js";
import { areNarrow, checkOffsetRange, wordsOf } from "./offsets.js";
import { sliceColumn } from "./sliceColumn.js";
import { takeColumn } from "./takeColumn.js";
import { setBits } from "./validity.js";

/**
 * Concatenates the values of columns in memory of their own. There is at least one column; all have one
 * layout. Returns a single column as it is. Unites dictionaries that differ.
 * @throws UnsupportedError if offsets or dictionary indices no longer fit their width
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

function concatVariable(
  columns: readonly VariableColumn[],
  length: number,
): { offsets: Int32Array | BigInt64Array; bytes: Uint8Array } {
  const pieces = columns.map(bytesOf);
  const bytes = concatBytes(pieces);
  const offsets = concatOffsets(
    columns,
    pieces.map((piece) => piece.length),
    length,
  );
  return { offsets, bytes };
}

/** Returns the bytes of a column's values. */
const bytesOf = ({ bytes, offsets, length }: VariableColumn): Uint8Array =>
  bytes.subarray(Number(offsets[0]), Number(offsets[length]));

/**
 * Returns the offsets of the concatenated columns, from 0 on.
 * @param spans number of bytes or items that each column's offsets cover
 * @param length number of values of all columns
 */
function concatOffsets(
  columns: readonly (VariableColumn | ListColumn)[],
  spans: readonly number[],
  length: number,
): Int32Array | BigInt64Array {
  let position = 0;
  let base = 0;
  const offsets = newOffsets(columns, spans, length);
  for (let index = 0; index < columns.length; index++) {
    const column = columns[index];
    moveOffsets(column, offsets, position, base);
    position += column.length;
    base += spans[index];
  }
  return offsets;
}

type Offsets = VariableColumn["offsets"];

/** Returns room for the offsets of all columns, of the same width. */
function newOffsets(
  columns: readonly (VariableColumn | ListColumn)[],
  spans: readonly number[],
  length: number,
): Offsets {
  if (!areNarrow(columns[0].offsets)) return new BigInt64Array(length + 1);
  checkOffsetRange(spans.reduce((sum, span) => sum + span, 0));
  return new Int32Array(length + 1);
}

/** Copies the offsets of a column to those after `position`, as if its bytes or items began at `base`. */
export function moveOffsets(
  column: VariableColumn | ListColumn,
  target: Offsets,
  position: number,
  base: number,
): void {
  if (areNarrow(target)) {
    shiftInto(target, position, column.offsets as Int32Array, column.length, base);
    return;
  }
  const words = wordsOf(target);
  const source = wordsOf(column.offsets as BigInt64Array);
  const delta = base - (source[0] + source[1] * 0x1_0000_0000);
  for (let word = 2; word <= column.length * 2; word += 2) {
    const offset = source[word] + source[word + 1] * 0x1_0000_0000 + delta;
    words[2 * position + word] = offset;
    words[2 * position + word + 1] = offset / 0x1_0000_0000;
  }
}

/** Puts the offsets of `count` values after `offsets[position]`, relative to `base`. */
function shiftInto(
  offsets: Int32Array,
  position: number,
  source: Int32Array,
  count: number,
  base: number,
): void {
  const delta = (base - source[0]) | 0;
  for (let value = 1, write = position + 1; value <= count; value++, write++)
    offsets[write] = source[value] + delta;
}

// ------------------------------------------------------------------------------------------------- in steps

/**
 * Concatenates like {@link concatColumns}, column by column: values of a fixed or variable width may have
 * many megabytes. Concatenates other columns at once.
 */
export function* concatInSteps(columns: readonly Column[]): Steps<Column> {
  const [first] = columns;
  if (columns.length === 1 || (first.kind !== "fixed" && first.kind !== "variable")) {
    return concatColumns(columns);
  }
  const length = columns.reduce((sum, column) => sum + column.length, 0);
  const validity = concatValidity(columns, length);
  yield;
  if (first.kind === "fixed") {
    const { byteWidth } = first;
    const values = new Uint8Array(byteWidth * length);
    let position = 0;
    for (const column of columns as readonly FixedColumn[]) {
      // Reading the values of a lazy column makes them.
      values.set(column.values, position);
      position += byteWidth * column.length;
      yield;
    }
    return { kind: "fixed", length, validity, byteWidth, values };
  }
  const variable = columns as readonly VariableColumn[];
  const pieces = variable.map(bytesOf);
  const spans = pieces.map((piece) => piece.length);
  const offsets = newOffsets(variable, spans, length);
  const bytes = new Uint8Array(spans.reduce((sum, span) => sum + span, 0));
  let position = 0;
  let base = 0;
  for (const [index, column] of variable.entries()) {
    bytes.set(pieces[index], base);
    moveOffsets(column, offsets, position, base);
    position += column.length;
    base += spans[index];
    yield;
  }
  return { kind: "variable", length, validity, offsets, bytes };
}

interface UnitedDictionary {
  readonly indices: readonly FixedColumn[];
  readonly dictionary: VariableColumn | FixedColumn;
}

/** Unites the dictionaries of columns into one. Columns whose indices change get new indices. */
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
