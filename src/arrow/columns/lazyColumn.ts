/**
 * Lazy columns: their values are made when somebody first reads them, which may throw a CorruptFileError.
 * Functions that know the form of the waiting values (`column.lazy`) work on that form. All others read the
 * members as usual.
 */

import type { Column, FixedColumn, Validity, VariableColumn } from "./column.js";
import type { CodedValues, DecodedValues, LazyFixedValues, LazyTexts } from "./lazyValues.js";

export function lazyFixedColumn(
  lazy: LazyFixedValues,
  byteWidth: number,
  length: number,
  validity: Validity | null,
): FixedColumn {
  let decoded: Uint8Array | null = null;
  return withLazy(lazy, {
    kind: "fixed",
    byteWidth,
    length,
    validity,
    get values() {
      decoded ??= lazy.decode();
      return decoded;
    },
  });
}

export function lazyTextColumn(lazy: LazyTexts, validity: Validity | null): VariableColumn {
  let decoded: DecodedValues | null = null;
  const values = (): DecodedValues => {
    decoded ??= lazy.kind === "codes" ? lazy.decode(lazy.offsets.slice(), lazy.codes) : lazy.gather();
    return decoded;
  };
  return withLazy(lazy, {
    kind: "variable",
    length:
      lazy.kind === "codes" ? lazy.offsets.length - 1 : lazy.counts.reduce((sum, count) => sum + count, 0),
    validity,
    get offsets() {
      return values().offsets;
    },
    get bytes() {
      return values().bytes;
    },
  });
}

/** Not enumerable: `{ ...column, values }` must not keep the lazy form of the old values. */
const withLazy = <C extends Column>(lazy: LazyFixedValues | LazyTexts, column: C): C =>
  Object.defineProperty(column, "lazy", { value: lazy });

/** Returns the column with another validity. A lazy column stays lazy. */
export function withValidity<C extends Exclude<Column, { kind: "null" }>>(
  column: C,
  validity: Validity | null,
): C;
export function withValidity(column: Exclude<Column, { kind: "null" }>, validity: Validity | null): Column {
  if (column.kind === "variable" && column.lazy !== undefined) return lazyTextColumn(column.lazy, validity);
  if (column.kind === "fixed" && column.lazy !== undefined) {
    return lazyFixedColumn(column.lazy, column.byteWidth, column.length, validity);
  }
  return { ...column, validity };
}

/**
 * Returns the codes of an undecoded column, gathered if they lie in chunks; null for any other column.
 * @throws CorruptFileError for damaged chunks
 */
export function codesIn({ lazy }: { readonly lazy?: LazyTexts }): CodedValues | null {
  if (lazy === undefined) return null;
  if (lazy.kind === "codes") return lazy;
  return lazy.symbols === null ? null : codesIn(lazy.gather());
}

/** Returns `length` values from `start` on, still as codes. */
export const sliceCoded = (coded: CodedValues, start: number, length: number): CodedValues => ({
  ...coded,
  offsets: coded.offsets.subarray(start, start + length + 1),
});

/** Returns the values at `indices`, decoded. */
export function takeCoded({ offsets, codes, decode }: CodedValues, indices: Uint32Array): DecodedValues {
  const takenOffsets = new Int32Array(indices.length + 1);
  for (let row = 0; row < indices.length; row++) {
    takenOffsets[row + 1] = takenOffsets[row] + offsets[indices[row] + 1] - offsets[indices[row]];
  }
  const takenCodes = new Uint8Array(takenOffsets[indices.length]);
  for (let row = 0; row < indices.length; row++) {
    let target = takenOffsets[row];
    for (let offset = offsets[indices[row]], end = offsets[indices[row] + 1]; offset < end; )
      takenCodes[target++] = codes[offset++];
  }
  return decode(takenOffsets, takenCodes);
}
