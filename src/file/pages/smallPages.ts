/**
 * Cuts pages that were read and verified whole, so that only the chunks with wanted rows are decoded. A small
 * page may hold many rows: indices into a dictionary take a few bits each.
 */

import { concatBytes } from "../../bytes/concat.js";
import type { PageOrigin } from "../container/page.js";
import { bytesPerWord } from "../structural/chunkWords.js";
import {
  CHUNK_BUFFER,
  countRows,
  layoutOfSlice,
  mapChunks,
  type PageSlice,
  type RowRuns,
  type SlicedPage,
  sliceable,
  sliceChunks,
} from "./pageSlice.js";

/** Some rows of a page, as a page of their own with its buffers. */
interface CutPage extends Pick<PageSlice, "rows" | "rowCount" | "layout"> {
  readonly buffers: readonly Uint8Array[];
}

/** Minimum rows of a page that is cut. */
const MIN_ROWS = 4096;
/** Share of a page's rows that its cut chunks may hold. Above it, the copy costs more than it saves. */
const MOST = 0.25;

/**
 * Returns the chunks of a page that hold `rows`; null if the page is to be decoded whole.
 * @param buffers all buffers of the page
 */
export function cutSmallPage(
  page: SlicedPage,
  rows: RowRuns | null,
  buffers: readonly Uint8Array[],
  origin: PageOrigin,
): CutPage | null {
  if (rows === null || page.rowCount < MIN_ROWS || countRows(rows) > page.rowCount * MOST) return null;
  const way = sliceable(page);
  if (way?.kind !== "miniBlock" || way.layout.repCompression !== undefined) return null;
  const located = way.buffers.map((buffer) => buffers[buffer]);
  const chunkCount = located[0].length / bytesPerWord(way.layout.hasLargeChunk);
  // So many runs of rows leave few chunks out, and planning the cut takes long.
  if (rows.starts.length >= chunkCount) return null;
  const map = mapChunks(page, way.layout, located, origin);
  const slice = sliceChunks(page, way.layout, map, rows);
  if (slice.rowCount > page.rowCount * MOST) return null;
  const { byteOffsets, lengths } = slice.ranges;
  const first = page.bufferRanges[CHUNK_BUFFER].byteOffset;
  const parts = Array.from(byteOffsets, (byteOffset, run) =>
    buffers[CHUNK_BUFFER].subarray(byteOffset - first, byteOffset - first + lengths[run]),
  );
  const bytes = parts.length === 1 ? parts[0] : concatBytes(parts);
  const { rows: heldRows, rowCount } = slice;
  return { rows: heldRows, rowCount, layout: layoutOfSlice(page, slice), buffers: slice.assemble(bytes) };
}
