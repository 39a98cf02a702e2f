/** Reads deletion files that are Arrow IPC files: one column `row_id` of UInt32, in any order. */

import { readIpc } from "../../arrow/exchange/ipc.js";
import { tagOf } from "../../bytes/anyRealm.js";
import { CorruptFileError, InvalidInputError, UnsupportedError } from "../../errors.js";

/** Returns the offsets, ascending. */
export function decodeArrowOffsets(bytes: Uint8Array, path: string): Uint32Array {
  const parts: Uint32Array[] = [];
  try {
    for (const batch of readIpc(bytes).batches) {
      const data = batch.data.children[0];
      const values: unknown = data?.values;
      if (batch.data.children.length !== 1 || data.nullCount !== 0 || tagOf(values) !== "Uint32Array") {
        throw new CorruptFileError(path, 0, "not one column of non-null UInt32");
      }
      parts.push((values as Uint32Array).subarray(0, data.length));
    }
  } catch (cause) {
    const isOther = !(cause instanceof InvalidInputError || cause instanceof UnsupportedError);
    if (isOther) throw cause;
    throw new CorruptFileError(path, 0, `not an Arrow IPC file of offsets: ${cause.message}`, { cause });
  }
  const offsets = new Uint32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let count = 0;
  for (const part of parts) {
    offsets.set(part, count);
    count += part.length;
  }
  return offsets.sort();
}
