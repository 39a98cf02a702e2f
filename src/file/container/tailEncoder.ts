/** Encodes the tail of a data file, everything after the last page buffer, as container.ts describes it. */

import { writeUint64 } from "../../bytes/littleEndian.js";
import { bytesOf } from "../../bytes/view.js";
import { COLUMN_ENCODING_TYPE_URL, PAGE_LAYOUT_TYPE_URL, PageLayout } from "../../format/encodings.js";
import { ARRAY_ENCODING_TYPE_URL, ArrayEncoding } from "../../format/encodings20.js";
import { Any, ColumnMetadata, type Encoding, FileDescriptor, type Schema } from "../../format/file.js";
import type { ByteRange } from "../../io/disk/ranges.js";
import { FILE_CHECKSUM_BYTES, metadataChecksum } from "./checksums.js";
import {
  BUFFER_ALIGNMENT,
  DATA_FILE_FOOTER_BYTES,
  DATA_FILE_MAGIC,
  FOOTER_VERSIONS,
  type PageRecord,
  TABLE_ENTRY_BYTES,
} from "./container.js";
import type { FileVersion, PageEncoding } from "./page.js";

/** Rounds up to a multiple of 64. */
export const align = (position: number): number => Math.ceil(position / BUFFER_ALIGNMENT) * BUFFER_ALIGNMENT;

/** Content of a file's tail, which is everything after the last page buffer. */
interface FileTail {
  readonly version: FileVersion;
  /** Position of the tail in the file, a multiple of 64. */
  readonly position: number;
  readonly schema: Schema;
  readonly rowCount: number;
  /** Pages of each column, in row order. */
  readonly columns: readonly (readonly PageRecord[])[];
  /** CRC-32 of every page buffer of each column, in page and buffer order; see `describeChecksums`. */
  readonly checksums: readonly (readonly number[])[];
  /** True for each column whose pages hold descriptors of blobs. */
  readonly isBlob: readonly boolean[];
  /** Ranges of the global buffers, from number 1 on. */
  readonly globalBuffers: readonly ByteRange[];
  /** Fields of the descriptor about checksums of blocks; see `encodeBlockTable`. */
  readonly blocks: Partial<Pick<FileDescriptor, "blockCounts" | "blocksOffset">>;
}

export function encodeTail(tail: FileTail): Uint8Array {
  const { version, position, schema, columns } = tail;
  const checksums = describeChecksums(tail.checksums);
  const descriptor = FileDescriptor.encode(
    FileDescriptor.create({ schema, length: tail.rowCount, ...checksums, ...tail.blocks }),
  );
  const metadata = columns.map((pages, index) =>
    encodeColumnMetadata(pages, columnEncoding(tail.isBlob[index] && version === "2.0")),
  );
  const metadataLength = metadata.reduce((sum, bytes) => sum + bytes.length, 0);
  const metadataStart = position + descriptor.length;
  const columnTableStart = metadataStart + metadataLength;
  const globals = [{ byteOffset: position, length: descriptor.length }, ...tail.globalBuffers];
  const globalTableStart = columnTableStart + columns.length * TABLE_ENTRY_BYTES;
  const footerStart = globalTableStart + globals.length * TABLE_ENTRY_BYTES;

  const out = new Uint8Array(footerStart + DATA_FILE_FOOTER_BYTES - position);
  const view = new DataView(out.buffer);
  out.set(descriptor);
  let offset = metadataStart;
  let entry = columnTableStart - position;
  for (const bytes of metadata) {
    out.set(bytes, offset - position);
    entry = writeEntry(view, entry, { byteOffset: offset, length: bytes.length });
    offset += bytes.length;
  }
  for (const range of globals) entry = writeEntry(view, entry, range);
  writeUint64(view, entry, metadataStart);
  writeUint64(view, entry + 8, columnTableStart);
  writeUint64(view, entry + 16, globalTableStart);
  view.setUint32(entry + 24, globals.length, true);
  view.setUint32(entry + 28, columns.length, true);
  const [major, minor] = FOOTER_VERSIONS[version];
  view.setUint16(entry + 32, major, true);
  view.setUint16(entry + 34, minor, true);
  view.setUint32(entry + 36, DATA_FILE_MAGIC, true);
  sealMetadata(out, descriptor.length);
  return out;
}

function writeEntry(view: DataView, index: number, range: ByteRange): number {
  writeUint64(view, index, range.byteOffset);
  writeUint64(view, index + 8, range.length);
  return index + TABLE_ENTRY_BYTES;
}

const wrap = (typeUrl: string, value: Uint8Array): Encoding => ({
  direct: { encoding: Any.encode({ typeUrl, value }) },
});

/** A ColumnEncoding with an empty message as `values` (number 1), on which the reference insists. */
const PLAIN_COLUMN = [0x0a, 0x00];
/** A ColumnEncoding whose member `blob` (number 3) has the encoding above as its `inner` (number 1). */
const BLOB_COLUMN = [0x1a, 0x04, 0x0a, 0x02, ...PLAIN_COLUMN];

/** Made once: every file has one for each of its columns. */
let plainEncoding: Encoding | undefined;
let blobEncoding: Encoding | undefined;

function columnEncoding(isBlob: boolean): Encoding {
  if (!isBlob) return (plainEncoding ??= wrap(COLUMN_ENCODING_TYPE_URL, Uint8Array.from(PLAIN_COLUMN)));
  return (blobEncoding ??= wrap(COLUMN_ENCODING_TYPE_URL, Uint8Array.from(BLOB_COLUMN)));
}

const encodePageEncoding = (encoding: PageEncoding): Encoding =>
  encoding.array === undefined
    ? wrap(PAGE_LAYOUT_TYPE_URL, PageLayout.encode(encoding))
    : wrap(ARRAY_ENCODING_TYPE_URL, ArrayEncoding.encode(encoding.array));

function encodeColumnMetadata(pages: readonly PageRecord[], encoding: Encoding): Uint8Array {
  let priority = 0;
  const messages = pages.map((page) => {
    const message = {
      bufferOffsets: page.buffers.map((buffer) => buffer.byteOffset),
      bufferSizes: page.buffers.map((buffer) => buffer.length),
      length: page.rowCount,
      encoding: encodePageEncoding(page.layout),
      priority,
    };
    // In 2.0 this number would count the column's own values, which are not rows, so it is always 0.
    if (page.layout.array === undefined) priority += page.rowCount;
    return message;
  });
  return ColumnMetadata.encode({ encoding, pages: messages, bufferOffsets: [], bufferSizes: [] });
}

/**
 * Makes the checksum fields of the descriptor. The last checksum is zero until {@link sealMetadata} sets it.
 * @param pageChecksums of the page buffers of each column, then one list of the global buffers from number 1
 *   on, if there are any
 */
function describeChecksums(
  pageChecksums: readonly (readonly number[])[],
): Pick<FileDescriptor, "bufferCounts" | "checksums"> {
  const bufferCounts = pageChecksums.map((column) => column.length);
  return { bufferCounts, checksums: bytesOf(Uint32Array.from([...pageChecksums.flat(), 0])) };
}

/** Fills in the last checksum, which ends the descriptor. `rest` is the file from the descriptor on. */
function sealMetadata(rest: Uint8Array, descriptorLength: number): void {
  const view = new DataView(rest.buffer, rest.byteOffset, rest.byteLength);
  view.setUint32(descriptorLength - FILE_CHECKSUM_BYTES, metadataChecksum(rest, descriptorLength), true);
}
