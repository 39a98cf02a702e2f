/** Single texts of a column, read several times as fast as vectors of apache-arrow read them. */

import { DataType } from "apache-arrow";
import type { Column, Validity } from "../../arrow/columns/column.js";
import { areNarrow } from "../../arrow/columns/offsets.js";
import { isSet } from "../../arrow/columns/validity.js";
import { asciiTexts, isAscii } from "../../platform/native.js";

/** Gives what apache-arrow gives. */
const decoder = new TextDecoder();

export class SingleTexts {
  readonly #offsets: Int32Array;
  readonly #validity: Validity | null;
  /** Where the first text begins. */
  readonly #start: number;
  readonly #textOf: (start: number, end: number) => string;

  private constructor(
    offsets: Int32Array,
    validity: Validity | null,
    start: number,
    textOf: (start: number, end: number) => string,
  ) {
    this.#offsets = offsets;
    this.#validity = validity;
    this.#start = start;
    this.#textOf = textOf;
  }

  /** Null where the column is read best by a vector. */
  static of(type: DataType, column: Column): SingleTexts | null {
    if (asciiTexts === null || column.kind !== "variable" || column.lazy !== undefined) return null;
    const { offsets, bytes, validity, length } = column;
    if (!DataType.isUtf8(type) || !areNarrow(offsets)) return null;
    const start = offsets[0];
    const own = bytes.subarray(start, offsets[length]);
    const textOf = isAscii(own)
      ? asciiTexts(own)
      : (from: number, to: number) => decoder.decode(own.subarray(from, to));
    return new SingleTexts(offsets, validity, start, textOf);
  }

  /** @param index below the column's length */
  get(index: number): string | null {
    if (this.#validity !== null && !isSet(this.#validity, index)) return null;
    return this.#textOf(this.#offsets[index] - this.#start, this.#offsets[index + 1] - this.#start);
  }
}
