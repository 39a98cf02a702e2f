/** Converts a function's result to a column of the declared type, trusting nothing about it. */

import { Field as ArrowField, type DataType, Type } from "apache-arrow";
import type { Column, FixedColumn, FixedSizeListColumn, Layout } from "../../arrow/columns/column.js";
import { concatColumns } from "../../arrow/columns/concatColumns.js";
import { nullColumn } from "../../arrow/columns/nullColumn.js";
import { columnFromDataInSteps, type ForeignData } from "../../arrow/exchange/data.js";
import { validateColumn } from "../../arrow/exchange/validate.js";
import { ViewBounds } from "../../arrow/exchange/viewBounds.js";
import { withoutViews } from "../../arrow/exchange/views.js";
import { encodeValues } from "../../arrow/objects/encodeValues.js";
import { adoptType } from "../../arrow/types/foreignTypes.js";
import { logicalFieldOf } from "../../arrow/types/logicalTypes.js";
import type { ForeignType } from "../../arrow/types/typeParameters.js";
import { runSync } from "../../async/eventLoop.js";
import { tagOf } from "../../bytes/anyRealm.js";
import { bytesOf } from "../../bytes/view.js";
import { InvalidInputError, TableSchemaValidationError } from "../../errors.js";
import type { Arena } from "../../io/memory/arena.js";
import { haveSameType, typeInWords } from "../functionOutputs.js";
import type { RegisteredFunction } from "../userFunctions.js";

/** A vector of any version of apache-arrow. */
interface ForeignVector {
  readonly type: ForeignType;
  readonly data: readonly ForeignData[];
}

export interface ResultPlace {
  readonly rowCount: number;
  /** Names function and fragment, for messages. */
  readonly maker: string;
  /** Names function, fragment and rows, for messages. */
  readonly label: string;
  /** Returns the number of a row, for messages. */
  readonly rowOf: (index: number) => number;
  /** Lends memory for the values; null: the garbage collector frees it. */
  readonly memory: Arena | null;
}

/**
 * Converts the result of a batch.
 * @throws TableSchemaValidationError if length, type or nullability differ from the declaration
 */
export function columnOfResult(owner: RegisteredFunction, result: unknown, origin: ResultPlace): Column {
  const { outputType, layout } = owner;
  const { rowCount, label } = origin;
  const column = isVector(result)
    ? vectorColumn(owner, result, layout, label)
    : (numbersColumn(outputType, layout, result, origin) ??
      numberRowsColumn(outputType, layout, result, origin) ??
      valuesColumn(owner, result, origin));
  if (column.length !== rowCount) {
    throw new TableSchemaValidationError(
      `${label}: ${column.length} values were returned for ${rowCount} rows`,
    );
  }
  requireValues(owner, column, label);
  return column;
}

/**
 * Converts results that came row by row.
 * @throws as {@link columnOfResult}
 */
export function columnOfRows(owner: RegisteredFunction, results: RowResults, origin: ResultPlace): Column {
  const finished = results.finish();
  const column = Array.isArray(finished) ? valuesColumn(owner, finished, origin) : finished;
  requireValues(owner, column, origin.label);
  return column;
}

function requireValues({ mayBeNull }: RegisteredFunction, column: Column, label: string): void {
  if (mayBeNull || (column.kind !== "null" && column.validity === null)) return;
  throw new TableSchemaValidationError(`${label}: a null was returned, and the function is declared not to`);
}

function isVector(result: unknown): result is ForeignVector {
  if (typeof result !== "object" || result === null || ArrayBuffer.isView(result)) return false;
  const { type, data } = result as Partial<ForeignVector>;
  return typeof type === "object" && typeof type?.typeId === "number" && Array.isArray(data);
}

function vectorColumn(
  { output }: RegisteredFunction,
  vector: ForeignVector,
  layout: Layout,
  label: string,
): Column {
  const returnedField = logicalFieldOf(new ArrowField("output", adoptType(vector.type), true), label);
  if (!haveSameType(returnedField, output)) {
    throw new TableSchemaValidationError(
      `${label}: a vector of ${typeInWords(returnedField)} was returned, not of ${typeInWords(output)}`,
    );
  }
  try {
    const bounds = new ViewBounds(Number.POSITIVE_INFINITY);
    const parts = vector.data.map((data) =>
      runSync(columnFromDataInSteps(runSync(withoutViews(data, bounds, new WeakMap())), layout, { bounds })),
    );
    const column = parts.length === 0 ? nullColumn(layout, 0) : concatColumns(parts);
    runSync(validateColumn(column, layout, label));
    return column;
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error;
    throw new TableSchemaValidationError(`${label}: the vector that was returned is damaged`, {
      cause: error,
    });
  }
}

/** Minimum bytes that are lent. A pool rounds smaller pieces up to this size. */
const MIN_LENT_BYTES = 64 * 1024;

/** Returns memory of arbitrary content at a multiple of 8. */
const memoryFor = (byteLength: number, memory: Arena | null): Uint8Array<ArrayBufferLike> =>
  memory === null || byteLength < MIN_LENT_BYTES ? new Uint8Array(byteLength) : memory.lend(byteLength);

/** Typed arrays that convert to floats. */
const NUMBER_ARRAYS: ReadonlySet<string> = new Set([
  ...["Float64Array", "Float32Array", "Int8Array", "Uint8Array", "Uint8ClampedArray"],
  ...["Int16Array", "Uint16Array", "Int32Array", "Uint32Array"],
]);

/** Converts a typed array of values, or of items of fixed-size lists; null for all else. */
function numbersColumn(
  type: DataType,
  layout: Layout,
  result: unknown,
  { rowCount, memory }: ResultPlace,
): Column | null {
  if (!ArrayBuffer.isView(result)) return null;
  const isList = layout.kind === "fixedSizeList";
  const item: DataType = isList ? type.children[0].type : type;
  if (!isNumber(item)) return null;
  const { length } = result as unknown as ArrayLike<unknown>;
  // Too long or too short: counting the values gives a better message.
  if (isList && length !== rowCount * layout.dimension) return null;
  const tag = tagOf(result);
  const isOwn = tag === item.ArrayType.name;
  // Single values of another type are converted one by one.
  if (!isOwn && !(isList && isFloat(item) && NUMBER_ARRAYS.has(tag))) return null;
  // Copy: the function may reuse its memory.
  const bytes = memoryFor(length * item.ArrayType.BYTES_PER_ELEMENT, memory);
  if (isOwn) bytes.set(bytesOf(result));
  else new item.ArrayType(bytes.buffer, bytes.byteOffset, length).set(result as unknown as Float64Array);
  const numbers = numberColumn(bytes, length, item.ArrayType);
  return isList ? fixedLists(numbers, rowCount, layout.dimension) : numbers;
}

/** Converts fixed-size lists, each a typed array of its items; null for all else. */
function numberRowsColumn(
  type: DataType,
  layout: Layout,
  result: unknown,
  { rowCount, memory }: ResultPlace,
): Column | null {
  if (layout.kind !== "fixedSizeList" || !Array.isArray(result) || result.length !== rowCount) return null;
  const rows = new RowResults(type, layout, rowCount, memory);
  // `forEach` would skip missing elements.
  for (let row = 0; row < rowCount; row++) rows.add(row, result[row]);
  const finished = rows.finish();
  return Array.isArray(finished) ? null : finished;
}

function valuesColumn(
  { outputType }: RegisteredFunction,
  result: unknown,
  { rowCount, maker, label, rowOf }: ResultPlace,
): Column {
  const isList = Array.isArray(result) || (ArrayBuffer.isView(result) && tagOf(result) !== "DataView");
  if (!isList) {
    throw new TableSchemaValidationError(
      `${label}: neither a vector nor an array was returned, but ${result === null ? "null" : `a ${typeof result}`}`,
    );
  }
  const values = Array.isArray(result) ? result : Array.from(result as unknown as ArrayLike<unknown>);
  if (values.length !== rowCount) {
    throw new TableSchemaValidationError(
      `${label}: ${values.length} values were returned for ${rowCount} rows`,
    );
  }
  return encodeValues(values, new ArrowField("output", outputType, true), { maker, path: "result", rowOf });
}

const isNumber = ({ typeId }: DataType): boolean =>
  (typeId as Type) === Type.Int || (typeId as Type) === Type.Float;

/** True for float types whose typed arrays hold numbers; false for halves, whose arrays hold bits. */
const isFloat = (type: DataType): boolean => (type.typeId as Type) === Type.Float && !isHalf(type);

const isHalf = ({ typeId, ArrayType }: DataType): boolean =>
  (typeId as Type) === Type.Float && ArrayType === Uint16Array;

/** Makes a column of numbers without nulls, whose values are elements of a typed array. */
const numberColumn = (
  values: Uint8Array,
  length: number,
  { BYTES_PER_ELEMENT: byteWidth }: { readonly BYTES_PER_ELEMENT: number },
): FixedColumn => ({ kind: "fixed", length, validity: null, values, byteWidth });

const fixedLists = (items: FixedColumn, length: number, dimension: number): FixedSizeListColumn => ({
  ...{ kind: "fixedSizeList", length, validity: null, dimension, items },
});

/** Stands for a value whose items were copied. */
const COPIED = Symbol("copied");

/** Results, row by row. Typed arrays of lists are copied at once: the function may reuse their memory. */
export class RowResults {
  readonly #rowCount: number;
  /** Typed array of the items; null if arrays are not copied. */
  readonly #itemType: Float64ArrayConstructor | null;
  readonly #dimension: number;
  readonly #memory: Arena | null;
  /** Items of all rows; null before the first copied array. */
  #items: Float64Array | null = null;
  /** Values of all rows, with {@link COPIED} for copied ones; null while all rows are copied. */
  #values: unknown[] | null = null;

  /**
   * @param type of the values
   * @param memory lends memory for copied items
   */
  constructor(type: DataType, layout: Layout, rowCount: number, memory: Arena | null) {
    this.#memory = memory;
    this.#rowCount = rowCount;
    const item: DataType | null = layout.kind === "fixedSizeList" ? type.children[0].type : null;
    this.#dimension = layout.kind === "fixedSizeList" ? layout.dimension : 0;
    // Arrays of halves hold bits or numbers.
    this.#itemType = item !== null && isNumber(item) && !isHalf(item) ? item.ArrayType : null;
  }

  /** Adds the value of a row that has none. */
  add(row: number, value: unknown): void {
    // Compare constructors: V8 does so many times as fast as `instanceof`.
    if (
      ArrayBuffer.isView(value) &&
      value.constructor === this.#itemType &&
      (value as Float64Array).length === this.#dimension
    ) {
      this.#items ??= this.#newItems();
      this.#items.set(value as Float64Array, row * this.#dimension);
    } else {
      this.#values ??= new Array<unknown>(this.#rowCount).fill(COPIED);
      this.#values[row] = value;
    }
  }

  /** Returns the column if every array was copied, else the values. All rows must have a value. */
  finish(): FixedSizeListColumn | unknown[] {
    const items = this.#items;
    const dimension = this.#dimension;
    if (items === null) return this.#values ?? [];
    if (this.#values !== null) {
      return this.#values.map((value, row) =>
        value === COPIED ? items.subarray(row * dimension, (row + 1) * dimension) : value,
      );
    }
    const values = new Uint8Array(items.buffer, items.byteOffset, items.byteLength);
    return fixedLists(numberColumn(values, items.length, items), this.#rowCount, dimension);
  }

  #newItems(): Float64Array {
    const ItemArray = this.#itemType as Float64ArrayConstructor;
    const length = this.#rowCount * this.#dimension;
    const { buffer, byteOffset } = memoryFor(length * ItemArray.BYTES_PER_ELEMENT, this.#memory);
    return new ItemArray(buffer, byteOffset, length);
  }
}
