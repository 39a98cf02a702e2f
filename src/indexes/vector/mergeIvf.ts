/**
 * Makes one segment of an index on vectors out of another and of further rows. Centroids, and what codes are made with, stay;
 * so do the codes of old rows. Graphs are built anew.
 */

import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { InternalError } from "../../errors.js";
import { integerWords, uint64Column } from "../indexFile.js";
import type { IndexRows, IndexTarget, WrittenIndexFile } from "../kind.js";
import type { RowMoves } from "../moves.js";
import type { IvfIndex } from "./ivfIndex.js";
import { codedRows, encodedRows, writeIvf } from "./writeIvf.js";

/**
 * @param old one segment
 * @param rows those that it has not
 */
export async function mergeIvf(
  [old, ...others]: readonly IvfIndex[],
  moves: RowMoves | null,
  rows: AsyncIterable<IndexRows>,
  target: IndexTarget,
): Promise<readonly WrittenIndexFile[]> {
  if (others.length > 0) throw new InternalError("segments of different centroids are not merged");
  const { parts } = old;
  return writeIvf(
    parts,
    async function* (encoder, lengths) {
      yield* oldRows(old, moves, encoder.codeBytes, lengths, target.signal);
      yield* encodedRows(rows, target, parts, encoder, lengths);
    },
    target,
  );
}

/** The rows that are left of a segment. */
async function* oldRows(
  old: IvfIndex,
  moves: RowMoves | null,
  codeBytes: number,
  lengths: Uint32Array,
  signal: AbortSignal | undefined,
): AsyncGenerator<IndexRows, void, undefined> {
  for await (const { partition, ids, codes } of old.codedRows(signal)) {
    const words = integerWords(ids, old.path);
    const moved = moves?.move(words) ?? { ids: words, kept: null };
    const { kept } = moved;
    const count = kept?.length ?? ids.length;
    if (count === 0) continue;
    lengths[partition] += count;
    const all = uint64Column(moved.ids);
    const rows = new Uint32Array(count).fill(partition);
    yield kept === null
      ? codedRows(rows, all, codes, codeBytes)
      : codedRows(rows, takeColumn(all, kept), takenCodes(codes, kept, codeBytes), codeBytes);
  }
}

function takenCodes(codes: Uint8Array, kept: Uint32Array, codeBytes: number): Uint8Array {
  const taken = new Uint8Array(kept.length * codeBytes);
  for (const [place, row] of kept.entries()) {
    taken.set(codes.subarray(row * codeBytes, (row + 1) * codeBytes), place * codeBytes);
  }
  return taken;
}
