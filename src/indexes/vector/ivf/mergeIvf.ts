/**
 * Merges one segment of a vector index with further rows into a new segment. The centroids, the code model
 * and the old codes stay; graphs are rebuilt.
 */

import { takeColumn } from "../../../arrow/columns/takeColumn.js";
import { InternalError } from "../../../errors.js";
import { integerWords, uint64Column } from "../../indexFile.js";
import type { IndexTarget, RowStream, WrittenFiles } from "../../kind.js";
import type { RowMoves } from "../../moves.js";
import type { IvfIndex } from "./ivfIndex.js";
import type { PartitionedRows } from "./partitionedRows.js";
import { addRows, idBytes, writeIvf } from "./writeIvf.js";

/** @param rows rows that the old segment lacks */
export async function mergeIvf(
  [old, ...others]: readonly IvfIndex[],
  moves: RowMoves | null,
  rows: RowStream,
  target: IndexTarget,
): Promise<WrittenFiles> {
  if (others.length > 0) throw new InternalError("segments with different centroids cannot be merged");
  const { parts } = old;
  return writeIvf(
    parts,
    async (into, encoding) => {
      await addOldRows(old, moves, into, encoding.encoder.codeBytes, target.signal);
      await addRows(rows, target, encoding, into);
    },
    target,
  );
}

/** Adds the remaining rows of a segment. */
async function addOldRows(
  old: IvfIndex,
  moves: RowMoves | null,
  into: PartitionedRows,
  codeBytes: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  for await (const { partition, ids, codes } of old.codedRows(signal)) {
    const words = integerWords(ids, old.path);
    const moved = moves?.move(words) ?? { ids: words, kept: null };
    const { kept } = moved;
    const count = kept?.length ?? ids.length;
    if (count === 0) continue;
    const all = uint64Column(moved.ids);
    await into.add({
      partitions: new Uint32Array(count).fill(partition),
      ids: idBytes(kept === null ? all : takeColumn(all, kept)),
      codes: kept === null ? codes : takenCodes(codes, kept, codeBytes),
    });
  }
}

function takenCodes(codes: Uint8Array, kept: Uint32Array, codeBytes: number): Uint8Array {
  const taken = new Uint8Array(kept.length * codeBytes);
  for (const [offset, row] of kept.entries()) {
    taken.set(codes.subarray(row * codeBytes, (row + 1) * codeBytes), offset * codeBytes);
  }
  return taken;
}
