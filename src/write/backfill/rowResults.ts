/**
 * What a function returned row by row. Lists of one size that come as typed arrays are copied to where the
 * column's items lie when they are added, before the function may use their memory again. All other values
 * are kept as they are.
 */

import { type DataType, Type } from "apache-arrow";
import type { FixedColumn, FixedSizeListColumn, Layout } from "../../arrow/columns/column.js";

/** Makes memory that lasts until the values are written. */
export type Lend = (byteLength: number) => Uint8Array;

export const isNumber = ({ typeId }: DataType): boolean =>
  (typeId as Type) === Type.Int || (typeId as Type) === Type.Float;

/** True if numbers of a type are floats that typed arrays have as numbers. */
export const isFloat = (type: DataType): boolean => (type.typeId as Type) === Type.Float && !isHalf(type);

const isHalf = ({ typeId, ArrayType }: DataType): boolean =>
  (typeId as Type) === Type.Float && ArrayType === Uint16Array;

/** A column of numbers without nulls, whose values are elements of a kind of typed array. */
export const numberColumn = (
  values: Uint8Array,
  length: number,
  { BYTES_PER_ELEMENT: byteWidth }: { readonly BYTES_PER_ELEMENT: number },
): FixedColumn => ({ kind: "fixed", length, validity: null, values, byteWidth });

export const fixedLists = (items: FixedColumn, length: number, dimension: number): FixedSizeListColumn => ({
  ...{ kind: "fixedSizeList", length, validity: null, dimension, items },
});

/** In the place of a value whose items were copied. */
const COPIED = Symbol("copied");

export class RowResults {
  readonly #rowCount: number;
  readonly #lend: Lend;
  /** Of the arrays that are copied; null where none are. */
  readonly #itemType: Float64ArrayConstructor | null;
  readonly #dimension: number;
  /** The items of all rows; null before the first array that is copied. */
  #items: Float64Array | null = null;
  /**
   * The values of all rows, but {@link COPIED} for those whose items were copied; null while there are no
   * others.
   */
  #values: unknown[] | null = null;

  /** @param type of the values */
  constructor(type: DataType, layout: Layout, rowCount: number, lend: Lend) {
    this.#rowCount = rowCount;
    this.#lend = lend;
    const item: DataType | null = layout.kind === "fixedSizeList" ? type.children[0].type : null;
    this.#dimension = layout.kind === "fixedSizeList" ? layout.dimension : 0;
    // What arrays of halves hold is their bits, or are numbers.
    this.#itemType = item !== null && isNumber(item) && !isHalf(item) ? item.ArrayType : null;
  }

  /** Adds the value of a row, which has none yet. */
  add(row: number, value: unknown): void {
    // Compared by their constructors, which V8 does many times as fast as `instanceof`.
    if (
      ArrayBuffer.isView(value) &&
      value.constructor === this.#itemType &&
      (value as Float64Array).length === this.#dimension
    ) {
      this.#items ??= this.#lendItems();
      this.#items.set(value as Float64Array, row * this.#dimension);
    } else {
      this.#values ??= new Array<unknown>(this.#rowCount).fill(COPIED);
      this.#values[row] = value;
    }
  }

  /** Once all rows have a value: the column of them where all were copied, or else their values. */
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

  #lendItems(): Float64Array {
    const ItemArray = this.#itemType as Float64ArrayConstructor;
    const count = this.#rowCount * this.#dimension;
    const { buffer, byteOffset } = this.#lend(count * ItemArray.BYTES_PER_ELEMENT);
    return new ItemArray(buffer, byteOffset, count);
  }
}
