/** Concatenates columns of one layout. */

import { runSync, type Steps } from "../../async/eventLoop.js";
import { copyBits } from "../../bytes/bits.js";
import { UnsupportedError } from "../../errors.js";
import type {
  BitsColumn,
  Column,
  DictionaryColumn,
  FixedColumn,
  ListColumn,
  SizedListColumn,
  StructColumn,
  Validity,
  VariableColumn,
} from "./column.js";
import { itemsWithin, spanOf } from "./columnBytes.js";
import { indexView, readIndices } from "./dictionaries.js";
import { entryKey } from "./dictionaryEncoder.js";
import { numbersColumn } from "./numbersColumn.js";
import { areNarrow, checkOffsetRange, wordsOf } from "./offsets.js";
import { takeColumn } from "./takeColumn.js";
import { setBits } from "./validity.js";

/**
 * Concatenates columns of one layout, at least one, in new memory. Returns a single column as it is. Unites
 * dictionaries that differ.
 * @throws UnsupportedError if offsets or dictionary indices no longer fit their width
 */
export const concatColumns = <C extends Column>(columns: readonly C[]): C =>
  columns.length === 1 ? columns[0] : runSync(concatInSteps(columns));

/** Concatenates like {@link concatColumns}, one column at each step: a column may have many megabytes. */
export function concatInSteps<C extends Column>(columns: readonly C[]): Steps<C>;
export function* concatInSteps(columns: readonly Column[]): Steps<Column> {
  const [first] = columns;
  if (columns.length === 1) return first;
  const length = columns.reduce((sum, column) => sum + column.length, 0);
  const validity = concatValidity(columns, length);
  switch (first.kind) {
    case "null":
      return { kind: "null", length, validity: null };
    case "fixed": {
      const { byteWidth } = first;
      const fixed = columns as readonly FixedColumn[];
      const values = yield* joinedBytes(fixed, (column) => column.values, length * byteWidth);
      return { kind: "fixed", length, validity, byteWidth, values };
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
    case "variable": {
      const variable = columns as readonly VariableColumn[];
      const spans = variable.map((column) => spanOf(column, 0, column.length));
      const offsets = yield* concatOffsets(variable, spans, length);
      const bytes = yield* joinedBytes(variable, bytesOf, total(spans));
      return { kind: "variable", length, validity, offsets, bytes };
    }
    case "dictionary": {
      const united = uniteDictionaries(columns as readonly DictionaryColumn[]);
      const indices = yield* concatInSteps(united.indices);
      return { kind: "dictionary", length, validity, indices, dictionary: united.dictionary };
    }
    case "list": {
      const lists = columns as readonly ListColumn[];
      const pieces = lists.map((list) => itemsWithin(list));
      const spans = pieces.map((piece) => piece.length);
      const offsets = yield* concatOffsets(lists, spans, length);
      return { kind: "list", length, validity, offsets, items: yield* concatInSteps(pieces) };
    }
    case "fixedSizeList":
    case "sizedList": {
      const { kind, dimension } = first;
      const items = yield* concatInSteps((columns as readonly SizedListColumn[]).map(({ items }) => items));
      return { kind, length, validity, dimension, items } as Column;
    }
    case "struct":
    case "packedStruct": {
      const children: Column[] = [];
      for (const index of first.children.keys()) {
        const parts = (columns as readonly StructColumn[]).map((column) => column.children[index]);
        children.push(yield* concatInSteps(parts));
      }
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

const total = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0);

/** Joins the bytes of columns. Reading the bytes of a lazy column decodes them. */
function* joinedBytes<C extends Column>(
  columns: readonly C[],
  read: (column: C) => Uint8Array,
  byteLength: number,
): Steps<Uint8Array> {
  const whole = new Uint8Array(byteLength);
  let position = 0;
  for (const column of columns) {
    const bytes = read(column);
    whole.set(bytes, position);
    position += bytes.length;
    yield;
  }
  return whole;
}

/** Returns the bytes of a column's values. */
const bytesOf = ({ bytes, offsets, length }: VariableColumn): Uint8Array =>
  bytes.subarray(Number(offsets[0]), Number(offsets[length]));

type Offsets = VariableColumn["offsets"];

/**
 * Returns the offsets of the concatenated columns, from 0 on.
 * @param spans number of bytes or items that each column's offsets cover
 * @param length number of values of all columns
 */
function* concatOffsets(
  columns: readonly (VariableColumn | ListColumn)[],
  spans: readonly number[],
  length: number,
): Steps<Offsets> {
  const isNarrow = areNarrow(columns[0].offsets);
  if (isNarrow) checkOffsetRange(total(spans));
  const offsets = isNarrow ? new Int32Array(length + 1) : new BigInt64Array(length + 1);
  let position = 0;
  let base = 0;
  for (const [index, column] of columns.entries()) {
    moveOffsets(column, offsets, position, base);
    position += column.length;
    base += spans[index];
    yield;
  }
  return offsets;
}

/** Copies the offsets of a column to those after `position`, as if its bytes or items began at `base`. */
export function moveOffsets(
  column: VariableColumn | ListColumn,
  target: Offsets,
  position: number,
  base: number,
): void {
  const { length, offsets } = column;
  if (areNarrow(target)) {
    const narrow = offsets as Int32Array;
    const delta = (base - narrow[0]) | 0;
    for (let value = 1, write = position + 1; value <= length; value++, write++)
      target[write] = narrow[value] + delta;
    return;
  }
  const words = wordsOf(target);
  const source = wordsOf(offsets as BigInt64Array);
  const delta = base - (source[0] + source[1] * 0x1_0000_0000);
  for (let word = 2; word <= length * 2; word += 2) {
    const offset = source[word] + source[word + 1] * 0x1_0000_0000 + delta;
    words[2 * position + word] = offset;
    words[2 * position + word + 1] = offset / 0x1_0000_0000;
  }
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
    return numbersColumn(values, byteWidth);
  });
  return { indices, dictionary };
}
