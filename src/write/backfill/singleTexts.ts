/** Single texts of a column, read several times as fast as by vectors of apache-arrow. */

import { DataType } from "apache-arrow";
import type { Column, Validity } from "../../arrow/columns/column.js";
import { areNarrow } from "../../arrow/columns/offsets.js";
import { isSet } from "../../arrow/columns/validity.js";
import { asciiTexts, isAscii } from "../../platform/native.js";

/** Decodes like apache-arrow. */
const decoder = new TextDecoder();

export class SingleTexts {
  readonly #offsets: Int32Array;
  readonly #validity: Validity | null;
  /** Byte offset of the first text. */
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

  /** Returns null if a vector reads the column better. */
  static of(type: DataType, column: Column): SingleTexts | null {
    if (asciiTexts === null || column.kind !== "variable" || column.lazy !== undefined) return null;
    const { offsets, bytes, validity, length } = column;
    if (!DataType.isUtf8(type) || !areNarrow(offsets)) return null;
    const start = offsets[0];
    const texts = bytes.subarray(start, offsets[length]);
    const textOf = isAscii(texts)
      ? asciiTexts(texts)
      : (from: number, to: number) => decoder.decode(texts.subarray(from, to));
    return new SingleTexts(offsets, validity, start, textOf);
  }

  /** @param index below the column's length */
  get(index: number): string | null {
    if (this.#validity !== null && !isSet(this.#validity, index)) return null;
    return this.#textOf(this.#offsets[index] - this.#start, this.#offsets[index + 1] - this.#start);
  }
}
