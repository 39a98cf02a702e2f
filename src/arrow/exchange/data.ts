/**
 * Converts apache-arrow `Data` to columns, without a copy if the memory is aligned.
 *
 * The first row of a slice is not in the same place in all members of apache-arrow's `Data`. In `values`,
 * `valueOffsets` and children of fixed-size lists it comes first; in bitmaps it is at bit `offset`. A buffer
 * may be longer than needed, or shorter if all missing values are null. A `Data` of length 0 may have any
 * buffers and children, or none.
 */

import type { Steps } from "../../async/eventLoop.js";
import { lazyModule, lazySteps } from "../../async/lazy.js";
import { alignedBytes } from "../../bytes/aligned.js";
import { copyBits, countOnes } from "../../bytes/bits.js";
import { bytesOf } from "../../bytes/view.js";
import { InternalError, InvalidInputError } from "../../errors.js";
import type {
  Column,
  FixedColumn,
  FixedSizeListLayout,
  Layout,
  ListLayout,
  SizedListLayout,
  StructChild,
  Validity,
  VariableColumn,
} from "../columns/column.js";
import { nullColumn } from "../columns/nullColumn.js";
import { sliceColumn } from "../columns/sliceColumn.js";
import { validityFrom } from "../columns/validity.js";
import { type ForeignType, LARGE_LIST_VIEW_TYPE, LIST_VIEW_TYPE } from "../types/typeParameters.js";
import type { ViewBounds } from "./viewBounds.js";

/** Loaded with the first `Data` that lacks values, has list views or a dictionary in several chunks. */
const irregularForms = lazyModule(() => import("./irregularData.js"));

/** Maximum bytes allocated for values that a null-filled column lacks. */
const MAX_PADDED_BYTES = 2 ** 30;
const NO_BYTES = new Uint8Array(0);

/** A `Data` of any version of apache-arrow. */
export interface ForeignData {
  readonly type?: ForeignType;
  readonly length: number;
  readonly offset: number;
  /** May be a getter that counts the nulls. */
  readonly nullCount: number;
  readonly values?: ArrayBufferView | null;
  readonly valueOffsets?: ArrayBufferView | null;
  /** Numbers of items of list views, one integer per list like `valueOffsets`, where the items start. */
  readonly sizes?: ArrayBufferView | null;
  readonly nullBitmap?: Uint8Array | null;
  /** Data buffers. A view of more than 12 bytes holds the index of one buffer and an offset in it. */
  readonly variadicBuffers?: readonly ArrayBufferView[];
  readonly children?: readonly ForeignData[];
  readonly dictionary?: { readonly data: readonly ForeignData[] } | null;
}

/** Copies a `Data` and replaces some members. Spreading would lose members that are getters of its class. */
export function changedData(data: ForeignData, members: Partial<ForeignData>): ForeignData {
  const { type, length, offset, nullCount, values, valueOffsets, sizes, nullBitmap } = data;
  const buffers = { values, valueOffsets, sizes, nullBitmap };
  const { children, dictionary } = data;
  return { type, length, offset, nullCount, ...buffers, children, dictionary, ...members };
}

/** Columns of earlier dictionaries, by apache-arrow's vector. */
export type DictionaryCache = WeakMap<object, VariableColumn | FixedColumn>;

export interface DataOptions {
  /** Cache of converted dictionaries, which batches share. */
  readonly dictionaries?: DictionaryCache | undefined;
  /** Bounds on the copied items of list views. Default: none. */
  readonly bounds?: ViewBounds | undefined;
  /** Module for irregular `Data`. Default: it is loaded when it is needed. */
  readonly irregular?: typeof import("./irregularData.js") | undefined;
}

/**
 * Makes the column of a `Data`. It shares the memory, except for list views that are not consecutive.
 * @throws InvalidInputError if the buffers are too short for the length and offset of the `Data`, and for
 *   list views outside their items
 */
export function* columnFromDataInSteps(
  data: ForeignData,
  layout: Layout,
  options: DataOptions = {},
): Steps<Column> {
  const { length } = data;
  if (!Number.isSafeInteger(length) || length < 0)
    throw new InvalidInputError(`a column states ${length} as its length`);
  if (length === 0) return nullColumn(layout, 0);
  if (layout.kind === "null") return { kind: "null", length, validity: null };
  const validity = validityOf(data);
  switch (layout.kind) {
    case "fixed": {
      const values = fixedBytes(data, length, layout.byteWidth, validity);
      return { kind: "fixed", length, validity, byteWidth: layout.byteWidth, values };
    }
    case "bits": {
      const bits = bytesOrNone(data.values);
      const held = bits.length * 8 - data.offset;
      if (held >= length) return { kind: "bits", length, validity, bits, bitOffset: data.offset };
      requireNullTail(validity, Math.max(held, 0), length, "values");
      const padded = allocate(Math.ceil(length / 8));
      if (held > 0) copyBits(bits, data.offset, padded, 0, held);
      return { kind: "bits", length, validity, bits: padded, bitOffset: 0 };
    }
    case "variable": {
      const offsets = offsetsOf(data, layout.offsetBits, validity);
      return { kind: "variable", length, validity, offsets, bytes: bytesOrNone(data.values) };
    }
    case "dictionary": {
      const { byteWidth } = layout.index;
      const values = fixedBytes(data, length, byteWidth, validity);
      const indices: FixedColumn = { kind: "fixed", length, validity: null, byteWidth, values };
      const dictionary = yield* dictionaryOf(data, layout.value, options);
      return { kind: "dictionary", length, validity, indices, dictionary };
    }
    case "list": {
      if (isListView(data)) return yield* listViewColumn(data, layout, validity, options);
      const offsets = offsetsOf(data, layout.offsetBits, validity);
      const items = yield* childColumn(data, 0, layout.item, options);
      return { kind: "list", length, validity, offsets, items };
    }
    case "fixedSizeList":
    case "sizedList": {
      const items = yield* listItems(data, layout, validity, options);
      return { kind: layout.kind, length, validity, dimension: layout.dimension, items } as Column;
    }
    case "packedStruct":
      if (layout.children.length > 0) throw new InternalError("incoming rows cannot hold packed structs");
      return { kind: "packedStruct", length, validity, children: [] };
    case "struct": {
      const children: Column[] = [];
      for (const [index, child] of layout.children.entries()) {
        const values = yield* childColumn(data, index, child.layout, options);
        children.push(yield* structChild(values, data, validity, child, options));
      }
      return { kind: "struct", length, validity, children };
    }
  }
}

/** Returns a child's column, empty if absent: apache-arrow omits children of empty nested columns. */
function* childColumn(data: ForeignData, index: number, layout: Layout, options: DataOptions): Steps<Column> {
  const child = data.children?.[index];
  return child === undefined || child === null
    ? nullColumn(layout, 0)
    : yield* columnFromDataInSteps(child, layout, options);
}

const isListView = ({ type, sizes }: ForeignData): boolean =>
  (sizes !== undefined && sizes !== null) ||
  type?.typeId === LIST_VIEW_TYPE ||
  type?.typeId === LARGE_LIST_VIEW_TYPE;

/** Returns the module for irregular `Data`. */
function* irregularOf({ irregular }: DataOptions): Steps<typeof import("./irregularData.js")> {
  return irregular ?? (yield* lazySteps(irregularForms));
}

function* listViewColumn(
  data: ForeignData,
  layout: ListLayout,
  validity: Validity | null,
  options: DataOptions,
): Steps<Column> {
  const { length } = data;
  const offsets = bytesOrNone(data.valueOffsets);
  const sizes = bytesOrNone(data.sizes);
  const held = Math.floor(Math.min(offsets.length, sizes.length) / (layout.offsetBits / 8));
  requireNullTail(validity, held, length, "offsets and sizes");
  const { columnOfViews, LIST_VIEW_ROW_BYTES } = yield* irregularOf(options);
  if (held < length) allocate(length * LIST_VIEW_ROW_BYTES, false);
  const items = yield* childColumn(data, 0, layout.item, options);
  return yield* columnOfViews({ length, validity, offsets, sizes }, layout, items, options.bounds);
}

/** Cuts or pads a struct's child to its length. Padding needs null structs in the missing rows. */
function* structChild(
  column: Column,
  data: ForeignData,
  validity: Validity | null,
  child: StructChild,
  options: DataOptions,
): Steps<Column> {
  const { length } = data;
  if (column.length === length) return column;
  if (column.length > length) return sliceColumn(column, 0, length);
  requireNullTail(validity, column.length, length, `values of ${child.name}`);
  allocate(length, false);
  const { joinColumns } = yield* irregularOf(options);
  return joinColumns([column, nullColumn(child.layout, length - column.length)]);
}

/** Returns the bytes of a buffer; none if it is absent. */
export const bytesOrNone = (view: ArrayBufferView | null | undefined): Uint8Array =>
  view === null || view === undefined ? NO_BYTES : bytesOf(view);

/** Returns null if no value is null. @throws InvalidInputError for a bitmap that is too short */
export function validityOf(data: ForeignData): Validity | null {
  const bitmap = data.nullBitmap;
  if (bitmap === null || bitmap === undefined || bitmap.length === 0 || data.length === 0) return null;
  if (data.nullCount === 0) return null;
  if (bitmap.length * 8 < data.offset + data.length) {
    throw new InvalidInputError(
      `a validity of ${bitmap.length} bytes is too short for ${data.length} values`,
    );
  }
  return validityFrom(bytesOrNone(bitmap), data.offset, data.length);
}

/**
 * Returns the bytes of values of one width. If the buffer lacks nulls at its end, they become zeros.
 * @throws InvalidInputError for a buffer that lacks values that are not null
 */
export function fixedBytes(
  data: ForeignData,
  length: number,
  byteWidth: number,
  validity: Validity | null,
): Uint8Array {
  const bytes = bytesOrNone(data.values);
  const needed = length * byteWidth;
  if (bytes.length >= needed) return bytes.subarray(0, needed);
  const held = Math.floor(bytes.length / byteWidth);
  requireNullTail(validity, held, length, "values");
  const padded = allocate(needed);
  padded.set(bytes.subarray(0, held * byteWidth));
  return padded;
}

function offsetsOf(
  data: ForeignData,
  offsetBits: 32 | 64,
  validity: Validity | null,
): Int32Array | BigInt64Array {
  const bytes = alignedBytes(bytesOrNone(data.valueOffsets), offsetBits / 8);
  const held = Math.floor(bytes.length / (offsetBits / 8));
  const needed = data.length + 1;
  const Offsets = offsetBits === 32 ? Int32Array : BigInt64Array;
  if (held >= needed) return new Offsets(bytes.buffer as ArrayBuffer, bytes.byteOffset, needed);
  requireNullTail(validity, Math.max(held - 1, 0), data.length, "offsets");
  allocate(needed * (offsetBits / 8), false);
  const padded = new Offsets(needed);
  bytesOf(padded).set(bytes.subarray(0, held * (offsetBits / 8)));
  if (held > 0) padded.fill(padded[held - 1] as never, held);
  return padded;
}

function* listItems(
  data: ForeignData,
  layout: FixedSizeListLayout | SizedListLayout,
  validity: Validity | null,
  options: DataOptions,
): Steps<Column> {
  const items = yield* childColumn(data, 0, layout.item, options);
  const needed = data.length * layout.dimension;
  if (items.length === needed) return items;
  if (items.length > needed) return sliceColumn(items, 0, needed);
  const held = Math.floor(items.length / layout.dimension);
  requireNullTail(validity, held, data.length, "items");
  allocate(needed * itemBytes(layout.item), false);
  const missing = nullColumn(layout.item, needed - held * layout.dimension);
  const { joinColumns } = yield* irregularOf(options);
  return joinColumns([sliceColumn(items, 0, held * layout.dimension), missing]);
}

/** Approximate bytes of one null. */
function itemBytes(layout: Layout): number {
  switch (layout.kind) {
    case "null":
    case "bits":
      return 1;
    case "fixed":
      return layout.byteWidth;
    case "variable":
    case "list":
      return layout.offsetBits / 8;
    case "dictionary":
      return layout.index.byteWidth;
    case "fixedSizeList":
    case "sizedList":
      return layout.dimension * itemBytes(layout.item);
    case "struct":
    case "packedStruct": {
      const children: readonly StructChild[] = layout.children;
      return children.reduce((sum, child) => sum + itemBytes(child.layout), 1);
    }
  }
}

function* dictionaryOf(
  data: ForeignData,
  layout: Extract<Layout, { kind: "dictionary" }>["value"],
  options: DataOptions,
): Steps<VariableColumn | FixedColumn> {
  const { dictionaries: cache, irregular } = options;
  const vector = data.dictionary;
  if (vector === null || vector === undefined) return nullColumn(layout, 0) as VariableColumn | FixedColumn;
  const cached = cache?.get(vector);
  if (cached !== undefined) return cached;
  const chunks: Column[] = [];
  for (const chunk of vector.data) chunks.push(yield* columnFromDataInSteps(chunk, layout, { irregular }));
  const values =
    chunks.length > 1
      ? (yield* irregularOf(options)).joinColumns(chunks)
      : (chunks[0] ?? nullColumn(layout, 0));
  const column = values as VariableColumn | FixedColumn;
  cache?.set(vector, column);
  return column;
}

/** Checks that all values after the first `held` are null, for a buffer that is shorter than `length`. */
function requireNullTail(validity: Validity | null, held: number, length: number, what: string): void {
  if (held >= length) return;
  if (validity !== null && countOnes(validity.bytes, validity.bitOffset + held, length - held) === 0) return;
  throw new InvalidInputError(`a column of ${length} values holds the ${what} of only ${held}`);
}

function allocate(byteLength: number, take = true): Uint8Array {
  if (byteLength > MAX_PADDED_BYTES)
    throw new InvalidInputError(`a column of nulls would take ${byteLength} bytes`);
  return take ? new Uint8Array(byteLength) : NO_BYTES;
}
