/** The buffers of whole pages, for tests that decode them one by one. */

import type { DataFileMetadata } from "../../src/file/container/reader.js";
import { loadAllDecoders } from "../../src/file/pages/decoders.js";
import type { ReadHandle } from "../../src/io/disk/disk.js";
import { type ByteRange, readRanges } from "../../src/io/disk/ranges.js";

await loadAllDecoders();

/** Pages of one column to read. */
export interface PageRequest {
  readonly columnIndex: number;
  /** Indexes into the column's `pages`. */
  readonly pageIndexes: readonly number[];
}

/** Fetches buffers by request, page and buffer for `decodePage`; adjacent ones share a read. */
export async function readPageBuffers(
  handle: ReadHandle,
  file: DataFileMetadata,
  requests: readonly PageRequest[],
): Promise<Uint8Array[][][]> {
  const ranges: ByteRange[] = [];
  for (const { columnIndex, pageIndexes } of requests) {
    const { pages } = file.columns[columnIndex];
    for (const pageIndex of pageIndexes) {
      for (const range of pages[pageIndex].bufferRanges) if (range.length > 0) ranges.push(range);
    }
  }
  const fetched = ranges.length > 0 ? await readRanges(handle, ranges) : [];
  let next = 0;
  return requests.map(({ columnIndex, pageIndexes }) =>
    pageIndexes.map((pageIndex) => {
      const page = file.columns[columnIndex].pages[pageIndex];
      return page.bufferRanges.map((range, index) => {
        const bytes = range.length > 0 ? fetched[next++] : new Uint8Array(0);
        file.checksums?.verify(columnIndex, page.bufferIndex + index, bytes, file.path, range.byteOffset);
        return bytes;
      });
    }),
  );
}
