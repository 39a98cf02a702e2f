/**
 * Results of a function, row by row. Fixed-size lists that come as typed arrays are copied into the column's
 * items when they are added, before the function may reuse their memory. All other values are kept as they
 * are.
 */

import { type DataType, Type } from "apache-arrow";
import type { FixedColumn, FixedSizeListColumn, Layout } from "../../arrow/columns/column.js";

export const isNumber = ({ typeId }: DataType): boolean =>
  (typeId as Type) === Type.Int || (typeId as Type) === Type.Float;

/** True for float types whose typed arrays hold numbers; false for halves, whose arrays hold bits. */
export const isFloat = (type: DataType): boolean => (type.typeId as Type) === Type.Float && !isHalf(type);

const isHalf = ({ typeId, ArrayType }: DataType): boolean =>
  (typeId as Type) === Type.Float && ArrayType === Uint16Array;

/** Makes a column of numbers without nulls, whose values are elements of a typed array. */
export const numberColumn = (
  values: Uint8Array,
  length: number,
  { BYTES_PER_ELEMENT: byteWidth }: { readonly BYTES_PER_ELEMENT: number },
): FixedColumn => ({ kind: "fixed", length, validity: null, values, byteWidth });

export const fixedLists = (items: FixedColumn, length: number, dimension: number): FixedSizeListColumn => ({
  ...{ kind: "fixedSizeList", length, validity: null, dimension, items },
});

/** Stands for a value whose items were copied. */
const COPIED = Symbol("copied");

export class RowResults {
  readonly #rowCount: number;
  /** Typed array of the items; null if arrays are not copied. */
  readonly #itemType: Float64ArrayConstructor | null;
  readonly #dimension: number;
  /** Items of all rows; null before the first copied array. */
  #items: Float64Array | null = null;
  /** Values of all rows, with {@link COPIED} for copied ones; null while all rows are copied. */
  #values: unknown[] | null = null;

  /** @param type of the values */
  constructor(type: DataType, layout: Layout, rowCount: number) {
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

  /**
   * Returns the column of all rows if every array was copied, else the values; call it once every row has a
   * value.
   */
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
    return new ItemArray(this.#rowCount * this.#dimension);
  }
}
