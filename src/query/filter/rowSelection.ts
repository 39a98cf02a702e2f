/** Rows of a batch that a filter selects: a bit for each row, and positions once somebody asks for them. */

import type { Column } from "../../arrow/columns/column.js";
import { shiftBits } from "../../arrow/columns/validity.js";
import { countOnes, positionsOfOnes } from "../../bytes/bits.js";

export class RowSelection {
  /** A bit for each row of the batch. Bits after the last row are arbitrary. */
  readonly bits: Uint8Array;
  /** Number of selected rows. */
  readonly count: number;
  readonly #batchRows: number;
  #positions: Uint32Array | null = null;

  private constructor(bits: Uint8Array, count: number, batchRows: number) {
    this.bits = bits;
    this.count = count;
    this.#batchRows = batchRows;
  }

  /** Returns the rows whose bit is one; null for all rows of the batch. */
  static of(bits: Uint8Array, batchRows: number): RowSelection | null {
    const count = countOnes(bits, 0, batchRows);
    return count === batchRows ? null : new RowSelection(bits, count, batchRows);
  }

  /** The selected rows, ascending. */
  get positions(): Uint32Array {
    this.#positions ??= positionsOfOnes(this.bits, this.#batchRows) ?? new Uint32Array(0);
    return this.#positions;
  }

  /** Leaves out the rows in which a column is null. */
  present({ kind, validity }: Column): RowSelection {
    if (kind === "null") return new RowSelection(new Uint8Array(this.bits.length), 0, this.#batchRows);
    if (validity === null) return this;
    const valid = shiftBits(validity.bytes, validity.bitOffset, 0, this.#batchRows);
    const bits = valid.map((byte, index) => byte & this.bits[index]);
    return new RowSelection(bits, countOnes(bits, 0, this.#batchRows), this.#batchRows);
  }
}
