/**
 * Columns of a fixed width whose values still lie as the chunks of a page hold them, packed or plain. Comparisons look at
 * them there; whoever wants the values themselves has them made.
 */

import type { ChunkedValues } from "./chunkedValues.js";
import type { FixedColumn, Validity } from "./column.js";

/** A column whose values are made when they are first looked at. */
export function chunkedColumn(
  chunks: ChunkedValues,
  byteWidth: number,
  length: number,
  validity: Validity | null,
): FixedColumn {
  let decoded: Uint8Array | null = null;
  const column: FixedColumn = {
    kind: "fixed",
    byteWidth,
    length,
    validity,
    get values() {
      decoded ??= chunks.decode();
      return decoded;
    },
  };
  // Not enumerable: a copy with other members has values, and must not have the chunks of others beside them.
  return Object.defineProperty(column, "chunks", { value: chunks });
}
