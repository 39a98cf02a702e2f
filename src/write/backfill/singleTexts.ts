/** Single texts of a column, read several times as fast as by vectors of apache-arrow. */

import { DataType } from "apache-arrow";
import type { Column } from "../../arrow/columns/column.js";
import { areNarrow } from "../../arrow/columns/offsets.js";
import { isSet } from "../../arrow/columns/validity.js";
import { asciiTexts, isAscii } from "../../platform/native.js";

/** Decodes like apache-arrow. */
const decoder = new TextDecoder();

/** Returns a reader of texts by index; null if a vector reads the column better. */
export function singleTexts(
  type: DataType,
  column: Column,
): { readonly get: (index: number) => string | null } | null {
  if (asciiTexts === null || column.kind !== "variable" || column.lazy !== undefined) return null;
  const { offsets, bytes, validity, length } = column;
  if (!DataType.isUtf8(type) || !areNarrow(offsets)) return null;
  const start = offsets[0];
  const texts = bytes.subarray(start, offsets[length]);
  const textOf = isAscii(texts)
    ? asciiTexts(texts)
    : (from: number, to: number) => decoder.decode(texts.subarray(from, to));
  return {
    get: (index) =>
      validity === null || isSet(validity, index)
        ? textOf(offsets[index] - start, offsets[index + 1] - start)
        : null,
  };
}
