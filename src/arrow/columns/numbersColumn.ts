/** Makes columns of numbers. */

import { bytesOf } from "../../bytes/view.js";
import type { FixedColumn } from "./column.js";

/** Wraps numbers without nulls as a column. @param byteWidth of a value. Default: one number each */
export function numbersColumn(
  numbers: ArrayBufferView & { readonly BYTES_PER_ELEMENT: number },
  byteWidth = numbers.BYTES_PER_ELEMENT,
): FixedColumn {
  const length = numbers.byteLength / byteWidth;
  return { kind: "fixed", length, validity: null, byteWidth, values: bytesOf(numbers) };
}
