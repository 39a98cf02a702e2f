/**
 * The repetition index of a mini-block page of lists. It has two u64 for each chunk. The first is the number
 * of rows that end in the chunk, the second the number of its events in a row that goes on after it.
 */

import { corruptPage, type PageOrigin } from "../container/page.js";

/** Content of a repetition index. */
export interface RowEnds {
  /** Number of rows that end before each chunk, and the number of rows as the last entry. */
  readonly before: Uint32Array;
  /** For each chunk 1 if it begins within a row, else 0, and 0 as the last entry. */
  readonly isWithin: Uint8Array;
}

/** @throws CorruptFileError if the index does not have these chunks and rows */
export function readRowEnds(
  index: Uint8Array,
  chunkCount: number,
  rowCount: number,
  origin: PageOrigin,
): RowEnds {
  if (index.length !== 16 * chunkCount) {
    throw corruptPage(origin, `a repetition index of ${index.length} bytes for ${chunkCount} chunks`);
  }
  const view = new DataView(index.buffer, index.byteOffset, index.byteLength);
  const before = new Uint32Array(chunkCount + 1);
  const isWithin = new Uint8Array(chunkCount + 1);
  let rows = 0;
  for (let chunk = 0; chunk < chunkCount; chunk++) {
    const offset = 16 * chunk;
    rows += view.getUint32(offset, true) + view.getUint32(offset + 4, true) * 2 ** 32;
    if (rows > rowCount) throw corruptPage(origin, `chunks hold more than the ${rowCount} rows of the page`);
    before[chunk + 1] = rows;
    isWithin[chunk + 1] =
      (view.getUint32(offset + 8, true) | view.getUint32(offset + 12, true)) === 0 ? 0 : 1;
  }
  if (rows !== rowCount || isWithin[chunkCount] !== 0) {
    throw corruptPage(origin, `chunks in which ${rows} of ${rowCount} rows end`);
  }
  return { before, isWithin };
}
