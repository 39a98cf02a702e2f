/** Makes dictionary columns. */

import type { DictionaryColumn, FixedColumn, VariableColumn } from "./column.js";
import { numbersColumn } from "./numbersColumn.js";
import { takeColumn } from "./takeColumn.js";
import { isSet } from "./validity.js";

/**
 * Encodes a column as a dictionary of its distinct values, in order of appearance, and an index for each row.
 * Nulls stay nulls of the column.
 * @param keyBytes width of an index, whose highest bit stays clear
 * @returns null if there are more distinct values than indices
 */
export function encodeDictionary(
  values: VariableColumn | FixedColumn,
  keyBytes: number,
): DictionaryColumn | null {
  const { length, validity } = values;
  const maxEntries = 2 ** (keyBytes * 8 - 1);
  const positions = new Map<string, number>();
  const taken: number[] = [];
  const indices = new DataView(new ArrayBuffer(length * keyBytes));
  for (let row = 0; row < length; row++) {
    const key = entryKey(values, row);
    if (key === null) continue;
    let position = positions.get(key);
    if (position === undefined) {
      if (taken.length === maxEntries) return null;
      position = taken.length;
      positions.set(key, position);
      taken.push(row);
    }
    if (keyBytes === 1) indices.setUint8(row, position);
    else if (keyBytes === 2) indices.setUint16(row * 2, position, true);
    else indices.setUint32(row * keyBytes, position, true);
  }
  return {
    kind: "dictionary",
    length,
    validity,
    indices: numbersColumn(new Uint8Array(indices.buffer), keyBytes),
    dictionary: takeColumn(values, Uint32Array.from(taken)),
  };
}

/** Returns a key that is equal for equal values only; null for a null. */
export function entryKey(dictionary: VariableColumn | FixedColumn, entry: number): string | null {
  const { validity } = dictionary;
  if (validity !== null && !isSet(validity, entry)) return null;
  if (dictionary.kind === "fixed") {
    const { values, byteWidth } = dictionary;
    return latin1(values.subarray(entry * byteWidth, (entry + 1) * byteWidth));
  }
  const { bytes, offsets } = dictionary;
  return latin1(bytes.subarray(Number(offsets[entry]), Number(offsets[entry + 1])));
}

/** Maps any bytes to characters one to one, which a decoder with the label "latin1" does not. */
function latin1(bytes: Uint8Array): string {
  let text = "";
  for (let start = 0; start < bytes.length; start += 4096) {
    text += String.fromCharCode.apply(null, bytes.subarray(start, start + 4096) as unknown as number[]);
  }
  return text;
}
