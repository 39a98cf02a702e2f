/** Plain columns as dictionary columns; decoding them is in rearrange.ts. */

import type { DictionaryColumn, FixedColumn, VariableColumn } from "./column.js";
import { entryKey, takeColumn } from "./rearrange.js";

/**
 * The distinct values of a column, in the order they come, and an index into them for each row. Nulls stay nulls of
 * the column.
 * @param keyBytes width of an index, of which the highest bit stays clear
 * @returns null where there are more distinct values than indices
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
    indices: {
      kind: "fixed",
      length,
      validity: null,
      byteWidth: keyBytes,
      values: new Uint8Array(indices.buffer),
    },
    dictionary: takeColumn(values, Uint32Array.from(taken)),
  };
}
