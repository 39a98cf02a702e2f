/**
 * Reads every byte of a data file or index file that a checksum covers: its metadata, the buffers of its
 * pages, their blocks, and global buffers. Between them, the file must hold zeros.
 */

import { yieldToEventLoop } from "../../async/eventLoop.js";
import { CorruptFileError } from "../../errors.js";
import { DATA_FILE_FOOTER_BYTES, decodeFooter } from "../../file/container/container.js";
import { type DataFileMetadata, openDataFile } from "../../file/container/reader.js";
import type { ReadHandle } from "../../io/disk/disk.js";
import type { ByteRange } from "../../io/disk/ranges.js";
import type { OperationContext } from "../context.js";

/** Bytes of a gap that are read at once. */
const GAP_BYTES = 2 ** 20;

/**
 * Verifies a file. It is opened anew: cached metadata record what was verified before, and the disk may have
 * damaged that since.
 * @param expectedBytes length that a manifest states; 0 if it is unknown
 * @returns the length of the file
 * @throws CorruptFileError; UnsupportedError for a version of the format that this release does not read
 */
export async function verifyWholeFile(
  { handles }: Pick<OperationContext, "handles">,
  path: string,
  expectedBytes: number,
  signal: AbortSignal | undefined,
): Promise<number> {
  // An open handle may refer to a file that was replaced.
  handles.evict(path);
  return handles.withHandle(path, async (handle) => {
    const file = await openDataFile(handle, path);
    if (expectedBytes !== 0 && handle.size !== expectedBytes) {
      throw new CorruptFileError(path, 0, `it has ${handle.size} bytes, the manifest says ${expectedBytes}`);
    }
    if (file.legacy === undefined) await verifyFooter(handle, path);
    if (file.checksums === null) {
      // A damaged name of the checksums' field looks like a field that no release knows.
      if (file.descriptor.unknown === undefined) return handle.size;
      throw new CorruptFileError(path, 0, "the file's metadata have unknown members in place of checksums");
    }
    const ranges = await verifyPages(file, handle, signal);
    // Blobs lie between the pages and are verified by their values.
    if (file.blobChecksums === null && file.globalBuffers.length > 0) {
      await verifyGaps(file, handle, ranges, signal);
    }
    return handle.size;
  });
}

/** Checks that the table of global buffers ends at the footer, as all writers place it. */
async function verifyFooter(handle: ReadHandle, path: string): Promise<void> {
  const start = handle.size - DATA_FILE_FOOTER_BYTES;
  const bytes = await handle.read(start, DATA_FILE_FOOTER_BYTES);
  const { globalTable } = decodeFooter(bytes, path, handle.size);
  if (globalTable.byteOffset + globalTable.length === start) return;
  throw new CorruptFileError(path, start, "the table of global buffers does not end at the footer");
}

/** Verifies pages and global buffers, and returns the ranges that they and their blocks' checksums take. */
async function verifyPages(
  file: DataFileMetadata,
  handle: ReadHandle,
  signal: AbortSignal | undefined,
): Promise<ByteRange[]> {
  const { path, checksums, globalChecksums } = file;
  const ranges: ByteRange[] = [];
  for (const [columnIndex, { pages }] of file.columns.entries()) {
    for (const { bufferRanges, bufferIndex } of pages) {
      for (const [index, range] of bufferRanges.entries()) {
        signal?.throwIfAborted();
        ranges.push(range);
        requireInside(range, handle, path);
        const bytes = await handle.read(range.byteOffset, range.length);
        const blocks = checksums?.blocksOf(columnIndex, bufferIndex + index, range, path) ?? null;
        if (blocks !== null && blocks.table !== null) {
          requireInside(blocks.table, handle, path);
          ranges.push(blocks.table);
          blocks.takeTable(await handle.read(blocks.table.byteOffset, blocks.table.length));
          blocks.verify(bytes, range.byteOffset, path);
        }
        checksums?.verify(columnIndex, bufferIndex + index, bytes, path, range.byteOffset);
        await yieldToEventLoop();
      }
    }
  }
  for (const [number, range] of file.globalBuffers.entries()) {
    requireInside(range, handle, path);
    ranges.push(range);
    // Number 0 is the descriptor, which opening the file has verified.
    if (number === 0 || globalChecksums === null) continue;
    const bytes = await handle.read(range.byteOffset, range.length);
    globalChecksums.verifyGlobal(number, bytes, path, range.byteOffset);
  }
  return ranges;
}

function requireInside({ byteOffset, length }: ByteRange, { size }: ReadHandle, path: string): void {
  if (byteOffset + length <= size - DATA_FILE_FOOTER_BYTES) return;
  throw new CorruptFileError(path, byteOffset, `${length} bytes lie beyond the end of the file`);
}

/** Checks that the bytes before the descriptor that belong to nothing are zeros. */
async function verifyGaps(
  { path, globalBuffers }: DataFileMetadata,
  handle: ReadHandle,
  ranges: readonly ByteRange[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const end = globalBuffers[0].byteOffset;
  const ordered = ranges
    .filter(({ byteOffset }) => byteOffset < end)
    .sort((a, b) => a.byteOffset - b.byteOffset);
  let position = 0;
  for (const { byteOffset, length } of [...ordered, { byteOffset: end, length: 0 }]) {
    for (let start = position; start < byteOffset; start += GAP_BYTES) {
      signal?.throwIfAborted();
      const bytes = await handle.read(start, Math.min(GAP_BYTES, byteOffset - start));
      const offset = bytes.findIndex((byte) => byte !== 0);
      if (offset >= 0)
        throw new CorruptFileError(path, start + offset, "the padding between pages is not zero");
      await yieldToEventLoop();
    }
    position = Math.max(position, byteOffset + length);
  }
}
