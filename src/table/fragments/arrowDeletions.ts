/** Reads and writes deletion files that are Arrow IPC files: one column `row_id` of UInt32, in any order. */

import { Field, Schema, tableToIPC, Uint32 } from "apache-arrow";
import type { FixedColumn } from "../../arrow/columns/column.js";
import { makeBatch, toTable } from "../../arrow/exchange/batch.js";
import { readIpc } from "../../arrow/exchange/ipc.js";
import { tagOf } from "../../bytes/anyRealm.js";
import { CorruptFileError, InvalidInputError, UnsupportedError } from "../../errors.js";

/** The reference refuses a nullable column. */
const OFFSETS_SCHEMA = new Schema([new Field("row_id", new Uint32(), false)]);

export function encodeArrowOffsets(offsets: Uint32Array): Uint8Array {
  const { length } = offsets;
  const values = new Uint8Array(offsets.buffer, offsets.byteOffset, offsets.byteLength);
  const column: FixedColumn = { kind: "fixed", length, validity: null, byteWidth: 4, values };
  return tableToIPC(toTable(OFFSETS_SCHEMA, [makeBatch(OFFSETS_SCHEMA, [column], length)]), "file");
}

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
