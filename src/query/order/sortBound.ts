/** Tells cheaply, by the first key alone, which few rows may come before the last wanted row. */

import type { Column } from "../../arrow/columns/column.js";
import { isValid, shiftBits } from "../../arrow/columns/validity.js";
import { runAsync } from "../../async/eventLoop.js";
import { positionsOfOnes } from "../../bytes/bits.js";
import { comparison } from "../../expression/kernels/compare.js";
import { madeBy, type Operand, type ValueKernel } from "../../expression/values/operands.js";
import type { ValueType } from "../../expression/values/types.js";
import type { KeyOrder } from "./sortKeys.js";

export class SortBound {
  readonly #value: Column;
  readonly #test: ValueKernel;
  /** True if the rows that pass the test come after the last row. */
  readonly #isNegated: boolean;
  readonly #nullsFirst: boolean;

  private constructor(value: Column, test: ValueKernel, isNegated: boolean, nullsFirst: boolean) {
    this.#value = value;
    this.#test = test;
    this.#isNegated = isNegated;
    this.#nullsFirst = nullsFirst;
  }

  /**
   * @param value the first key of the last row
   * @returns null for a null, and for values that filters compare in another way than sorts
   */
  static of([first, ...others]: readonly KeyOrder[], value: Column): SortBound | null {
    if (!isComparable(first.type) || value.kind === "null" || !isValid(value.validity, 0)) return null;
    const { ascending, nullsFirst, type } = first;
    // A filter neither tells zeros apart nor orders NaN. Rows that it does not exclude are compared again.
    if (type.kind === "float")
      return new SortBound(value, comparison(ascending ? ">" : "<", type), true, nullsFirst);
    // Other keys may decide between rows with the same first key.
    const orEqual = others.length > 0 ? "=" : "";
    const test = comparison(`${ascending ? "<" : ">"}${orEqual}`, type);
    return new SortBound(value, test, false, nullsFirst);
  }

  /** Returns the rows that may come before the last one, by the column of the first key; null for all. */
  async rowsBefore(column: Column, rowCount: number): Promise<Uint32Array | null> {
    if (column.kind === "null") return this.#nullsFirst ? null : new Uint32Array(0);
    const { validity } = column;
    const operands: readonly Operand[] = [
      { column, step: 1 },
      { column: this.#value, step: 0 },
    ];
    const passing = await runAsync(madeBy(this.#test(operands, rowCount, validity)));
    if (passing.kind !== "bits") return null;
    const bits = passing.bits.slice(0, (rowCount + 7) >>> 3);
    if (this.#isNegated) for (let byte = 0; byte < bits.length; byte++) bits[byte] = ~bits[byte];
    if (validity !== null) {
      const valid = shiftBits(validity.bytes, validity.bitOffset, 0, rowCount);
      for (let byte = 0; byte < bits.length; byte++) {
        bits[byte] = this.#nullsFirst ? bits[byte] | ~valid[byte] : bits[byte] & valid[byte];
      }
    }
    return positionsOfOnes(bits, rowCount);
  }
}

/** True if filters and sorts order values alike, apart from zeros and NaN. */
const isComparable = ({ kind }: ValueType): boolean =>
  kind === "float" ||
  kind === "string" ||
  kind === "binary" ||
  kind === "int" ||
  kind === "date" ||
  kind === "timestamp";
