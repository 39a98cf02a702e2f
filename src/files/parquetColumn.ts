/** Makes the columns of a batch from the values of a Parquet column. */

import * as arrow from "apache-arrow";
import type { DecodedArray, SchemaTree } from "hyparquet";
import type { Column } from "../arrow/columns/column.js";
import { numbersColumn } from "../arrow/columns/numbersColumn.js";
import { decodeValues } from "../arrow/objects/decodeValues.js";
import { encodeValues } from "../arrow/objects/encodeValues.js";
import type { ValuePlace } from "../arrow/objects/faults.js";
import { valueReader } from "./parquetValues.js";

/** A column of a file, and the field that it is wanted as. */
export class ParquetColumn {
  readonly #stored: arrow.Field;
  readonly #target: arrow.Field;
  readonly #read: ((value: unknown) => unknown) | null;
  /** True if columns of the two types have the same bytes. */
  readonly #isSame: boolean;

  constructor(node: SchemaTree, field: arrow.Field, target: arrow.Field) {
    this.#stored = new arrow.Field(field.name, field.type, true);
    this.#target = target;
    this.#read = valueReader(node, field.type);
    this.#isSame = haveSameBytes(field.type, target.type);
  }

  /**
   * Encodes some values.
   * @param firstRow row of the file that the first value belongs to
   * @throws TableSchemaValidationError naming row and column, for a value that does not fit
   */
  encode(piece: DecodedArray, firstRow: number): Column {
    const origin: ValuePlace = { path: this.#target.name, rowOf: (index) => firstRow + index };
    const column = this.#read === null ? columnOfNumbers(piece, this.#stored.type) : null;
    const stored =
      column ?? encodeValues(Array.from(piece, this.#read ?? ((value) => value)), this.#stored, origin);
    const hasNulls = stored.validity !== null || stored.kind === "null";
    if (this.#isSame && (this.#target.nullable || !hasNulls)) return stored;
    const values = decodeValues(stored, this.#stored.type, { dates: "iso", bigints: "bigint" });
    return encodeValues(values, this.#target, origin);
  }
}

/** Values in the order in which they were decoded, to take in pieces of other sizes. */
export class DecodedQueue {
  readonly #parts: DecodedArray[] = [];
  /** Number of values of the first part that were taken. */
  #taken = 0;
  count = 0;

  add(values: DecodedArray): void {
    if (values.length > 0) this.#parts.push(values);
    this.count += values.length;
  }

  /** Takes the next values. */
  take(count: number): DecodedArray {
    const pieces: DecodedArray[] = [];
    for (let left = count; left > 0; ) {
      const part = this.#parts[0];
      const piece = part.slice(this.#taken, this.#taken + left);
      pieces.push(piece);
      left -= piece.length;
      this.#taken += piece.length;
      if (this.#taken < part.length) continue;
      this.#parts.shift();
      this.#taken = 0;
    }
    this.count -= count;
    if (pieces.length === 1) return pieces[0];
    return numbersOfOneKind(pieces) ?? pieces.flatMap((piece) => Array.from<unknown>(piece));
  }
}

/** Joins arrays of numbers of one kind; null for others. */
function numbersOfOneKind(pieces: readonly DecodedArray[]): DecodedArray | null {
  const [first] = pieces;
  if (!ArrayBuffer.isView(first) || pieces.some((piece) => piece.constructor !== first.constructor))
    return null;
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const joined = new (first.constructor as new (length: number) => typeof first)(length);
  let offset = 0;
  for (const piece of pieces) {
    (joined as Float64Array).set(piece as Float64Array, offset);
    offset += piece.length;
  }
  return joined;
}

/** Arrays of numbers that hold what columns of these types hold. */
const NUMBERS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  [`${new arrow.Int32()}`, Int32Array],
  [`${new arrow.Int64()}`, BigInt64Array],
  [`${new arrow.Float32()}`, Float32Array],
  [`${new arrow.Float64()}`, Float64Array],
]);

/** Returns a column over numbers without nulls; null for other values. */
function columnOfNumbers(values: DecodedArray, type: arrow.DataType): Column | null {
  if (!ArrayBuffer.isView(values) || values.constructor !== NUMBERS.get(`${type}`)) return null;
  return numbersColumn(values);
}

/** True for equal types, and for timestamps of one unit, which differ by their zone only. */
function haveSameBytes(stored: arrow.DataType, target: arrow.DataType): boolean {
  if (stored.typeId !== target.typeId) return false;
  if (stored.typeId === arrow.Type.Timestamp) {
    return (
      (stored as arrow.Timestamp).unit === (target as arrow.Timestamp).unit &&
      hasZone(stored) === hasZone(target)
    );
  }
  return arrow.util.compareTypes(stored, target);
}

const hasZone = (type: arrow.DataType): boolean => Boolean((type as arrow.Timestamp).timezone);
