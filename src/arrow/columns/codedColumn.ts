/**
 * Columns of codes. Much is decided by the codes alone, and few values are wanted of many that are tested: such a column is
 * decoded when its bytes are first looked at, and only as far as it has been cut down to by then.
 */

import type { CodedValues, DecodedValues } from "./codedValues.js";
import type { Validity, VariableColumn } from "./column.js";

/** A column that is decoded when it is first looked at; it may throw a CorruptFileError then. */
export function codedColumn(coded: CodedValues, validity: Validity | null): VariableColumn {
  let decoded: DecodedValues | null = null;
  const decode = (): DecodedValues => {
    decoded ??= coded.decode(coded.offsets.slice(), coded.codes);
    return decoded;
  };
  const column = {
    kind: "variable",
    length: coded.offsets.length - 1,
    validity,
    get offsets() {
      return decode().offsets;
    },
    get bytes() {
      return decode().bytes;
    },
  } as const;
  // Not enumerable: a copy with other members has decoded values, and must not have the codes of others beside them.
  return Object.defineProperty(column, "coded", { value: coded });
}

/** The values from `start` on, still as codes. */
export const sliceCoded = (coded: CodedValues, start: number, length: number): CodedValues => ({
  ...coded,
  offsets: coded.offsets.subarray(start, start + length + 1),
});

/** The values at `indices`, decoded. */
export function takeCoded({ offsets, codes, decode }: CodedValues, indices: Uint32Array): DecodedValues {
  const taken = new Int32Array(indices.length + 1);
  for (let row = 0; row < indices.length; row++) {
    taken[row + 1] = taken[row] + offsets[indices[row] + 1] - offsets[indices[row]];
  }
  const own = new Uint8Array(taken[indices.length]);
  for (let row = 0; row < indices.length; row++) {
    let to = taken[row];
    for (let offset = offsets[indices[row]], end = offsets[indices[row] + 1]; offset < end; )
      own[to++] = codes[offset++];
  }
  return decode(taken, own);
}
