/**
 * The container of a data file, versions 2.0 to 2.3: it locates the pages of every column. All integers are
 * little-endian, all positions absolute.
 *
 *     page buffers, blobs      each at a multiple of 64, padded with zeros
 *     global buffers           from number 1 on: added by the writer of the file; in files that have blobs,
 *                              their checksums (blobChecksums.ts), which are ours alone. Each at a multiple
 *                              of 64
 *     schema descriptor        global buffer 0, a FileDescriptor, at a multiple of 64; with checksums
 *                              (checksums.ts)
 *     column metadata          one ColumnMetadata per column, back to back
 *     column table             per column:        u64 position, u64 length
 *     global buffer table      per global buffer: u64 position, u64 length
 *     footer                   40 bytes
 *
 *     footer  0  u64  position of the metadata of column 0
 *             8  u64  position of the column table
 *            16  u64  position of the global buffer table
 *            24  u32  number of global buffers, at least 1
 *            28  u32  number of columns
 *            32  u16  major version        34  u16  minor version
 *            36  "LANC"
 *
 * Readers follow the positions and rely on no order. The version of a 2.0 file is written as (0, 3).
 */

import { CorruptFileError, UnsupportedError } from "../../errors.js";
import {
  type BufferCompression,
  CompressionScheme,
  PAGE_LAYOUT_TYPE_URL,
  PageLayout,
} from "../../format/encodings.js";
import { ARRAY_ENCODING_TYPE_URL, ArrayEncoding } from "../../format/encodings20.js";
import { Any, ColumnMetadata } from "../../format/file.js";
import type { ByteRange } from "../../io/disk/ranges.js";
import type { FileVersion, PageEncoding, ReadableVersion } from "./page.js";
import { RecentMessages } from "./recentMessages.js";

export const DATA_FILE_FOOTER_BYTES = 40;
/** Page buffers and global buffers lie at multiples of this; the reference refuses others. */
export const BUFFER_ALIGNMENT = 64;
/** Index of this buffer among the global buffers of a file that has blobs. */
export const BLOB_CHECKSUM_BUFFER_INDEX = 1;
/** Bytes of an entry of a column table or global buffer table. */
export const TABLE_ENTRY_BYTES = 16;
export const DATA_FILE_MAGIC = 0x434e414c;

export interface DataFileFooter {
  readonly version: ReadableVersion;
  readonly columnTable: ByteRange;
  readonly globalTable: ByteRange;
  readonly columnCount: number;
  readonly globalBufferCount: number;
}

/** A page in the column metadata. */
export interface PageRecord {
  readonly buffers: readonly ByteRange[];
  readonly rowCount: number;
  readonly layout: PageEncoding;
}

/** Returns the footer with a version that {@link decodeFooter} accepts. */
export function withKnownVersion(footer: Uint8Array): Uint8Array {
  const copy = footer.slice();
  const view = new DataView(copy.buffer);
  view.setUint16(32, 2, true);
  view.setUint16(34, 2, true);
  return copy;
}

/**
 * Reads the last 40 bytes of a file.
 * @throws CorruptFileError if they are not a footer, UnsupportedError for a version this build doesn't read
 */
export function decodeFooter(bytes: Uint8Array, path: string, fileSize: number): DataFileFooter {
  const start = fileSize - DATA_FILE_FOOTER_BYTES;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(36, true) !== DATA_FILE_MAGIC)
    throw new CorruptFileError(path, start + 36, "not a data file: bad magic");
  const version = fileVersion(view.getUint16(32, true), view.getUint16(34, true), path);
  const globalBufferCount = view.getUint32(24, true);
  const columnCount = view.getUint32(28, true);
  const table = (index: number, count: number, what: string): ByteRange => {
    const byteOffset = readPosition(view, index, path, start);
    const length = count * TABLE_ENTRY_BYTES;
    if (byteOffset + length > start) {
      throw new CorruptFileError(
        path,
        start + index,
        `${what} of ${count} entries at ${byteOffset} reaches past its end`,
      );
    }
    return { byteOffset, length };
  };
  if (globalBufferCount === 0)
    throw new CorruptFileError(path, start + 24, "the file has no schema descriptor");
  return {
    version,
    columnTable: table(8, columnCount, "column table"),
    globalTable: table(16, globalBufferCount, "global buffer table"),
    columnCount,
    globalBufferCount,
  };
}

/** Major and minor version in the footer. */
export const FOOTER_VERSIONS: Readonly<Record<FileVersion, readonly [number, number]>> = {
  "2.0": [0, 3],
  "2.1": [2, 1],
  "2.2": [2, 2],
};

/** True if this build reads a version, named as in manifests. */
export const isReadableVersion = (version: string): version is ReadableVersion =>
  version === "2.3" || version === "0.1" || isFileVersion(version);

/** True if this build reads and writes a version, named as in manifests. */
export const isFileVersion = (version: string): version is FileVersion =>
  Object.hasOwn(FOOTER_VERSIONS, version);

function fileVersion(major: number, minor: number, path: string): ReadableVersion {
  if (major === 0 && minor === 3) return "2.0";
  const name = major === 0 && minor < 3 ? "0.1" : `${major}.${minor}`;
  if (isReadableVersion(name)) return name;
  throw unsupportedFileVersion(name, `data file ${path}`);
}

/**
 * Returns the error for a version this build neither reads nor writes. It names the version and the remedy.
 * @param what the file or table that has the version
 */
export function unsupportedFileVersion(version: string, what: string): UnsupportedError {
  const advice =
    version === "0.1"
      ? "the legacy format, which is read and not written; copy the rows to a new table"
      : "newer than this release, or unknown to it; write the table anew with data storage version 2.2";
  return new UnsupportedError(
    `${what} has data format version ${version}: ${advice}. Versions 2.0, 2.1 and 2.2 are supported, and 0.1 and 2.3 for reading`,
  );
}

/** Reads the ranges of a table; checks that each lies before the footer. */
export function decodeTable(
  bytes: Uint8Array,
  path: string,
  byteOffset: number,
  fileSize: number,
): ByteRange[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const ranges: ByteRange[] = [];
  for (let index = 0; index < bytes.length; index += TABLE_ENTRY_BYTES) {
    const start = readPosition(view, index, path, byteOffset);
    const length = readPosition(view, index + 8, path, byteOffset);
    if (start + length > fileSize - DATA_FILE_FOOTER_BYTES) {
      throw new CorruptFileError(
        path,
        byteOffset + index,
        `${length} bytes at ${start} reach past the end of the file`,
      );
    }
    ranges.push({ byteOffset: start, length });
  }
  return ranges;
}

function readPosition(view: DataView, offset: number, path: string, base: number): number {
  const value = view.getUint32(offset + 4, true) * 2 ** 32 + view.getUint32(offset, true);
  if (!Number.isSafeInteger(value))
    throw new CorruptFileError(path, base + offset, `position ${value} is beyond 2^53`);
  return value;
}

/**
 * Reads the pages of one column.
 * @param byteOffset of the metadata, for errors
 * @param fileSize bounds every buffer
 */
export function decodeColumnMetadata(
  bytes: Uint8Array,
  path: string,
  byteOffset: number,
  fileSize: number,
): PageRecord[] {
  const metadata = recentColumns.get(bytes, (kept) => ColumnMetadata.decode(kept, { path, byteOffset }));
  return metadata.pages.map((page, index) => {
    const fail = (reason: string) => new CorruptFileError(path, byteOffset, `page ${index}: ${reason}`);
    if (page.bufferOffsets.length !== page.bufferSizes.length) {
      throw fail(`${page.bufferOffsets.length} buffer positions for ${page.bufferSizes.length} sizes`);
    }
    const buffers = page.bufferOffsets.map((start, buffer) => {
      const length = page.bufferSizes[buffer];
      if (start + length > fileSize - DATA_FILE_FOOTER_BYTES)
        throw fail(`buffer ${buffer} reaches past the end of the file`);
      return { byteOffset: start, length };
    });
    const { indirect, direct } = page.encoding ?? {};
    if (indirect !== undefined) {
      throw new UnsupportedError(
        `data file ${path} keeps the encoding of a page outside its metadata, which this release does not support`,
      );
    }
    if (direct === undefined) throw fail("no encoding");
    const decode = (kept: Uint8Array) => decodePageEncoding(kept, path, byteOffset, index);
    return { buffers, rowCount: page.length, layout: recentEncodings.get(direct.encoding, decode) };
  });
}

/** Most tables have no more columns. */
const REMEMBERED_COLUMNS = 16;
/** Longer metadata, of columns with many pages or with a symbol table for each page, rarely repeats. */
const REMEMBERED_BYTES = 1024;
const recentColumns = new RecentMessages<ColumnMetadata>(REMEMBERED_COLUMNS, REMEMBERED_BYTES);
const recentEncodings = new RecentMessages<PageEncoding>(REMEMBERED_COLUMNS, REMEMBERED_BYTES);

function decodePageEncoding(
  bytes: Uint8Array,
  path: string,
  byteOffset: number,
  index: number,
): PageEncoding {
  const any = Any.decode(bytes, { path, byteOffset });
  if (any.typeUrl === ARRAY_ENCODING_TYPE_URL) {
    return { array: ArrayEncoding.decode(any.value, { path, byteOffset }) };
  }
  if (any.typeUrl !== PAGE_LAYOUT_TYPE_URL) {
    const type = JSON.stringify(any.typeUrl.slice(0, 200));
    throw new UnsupportedError(
      `${path}: page ${index} at byte ${byteOffset} has an encoding of type ${type}, which this release does not support`,
    );
  }
  const layout: PageEncoding = PageLayout.decode(any.value, { path, byteOffset });
  if (namesZstd(layout)) layout.usesZstd = true;
  return layout;
}

/** True if a part of a layout names Zstandard. Makes no objects, because it runs for many pages. */
function namesZstd(part: object): boolean {
  if ((part as Partial<BufferCompression>).scheme === CompressionScheme.ZSTD) return true;
  for (const name in part) {
    const member = (part as Readonly<Record<string, unknown>>)[name];
    if (typeof member !== "object" || member === null || ArrayBuffer.isView(member)) continue;
    if (
      Array.isArray(member)
        ? member.some((each) => typeof each === "object" && namesZstd(each))
        : namesZstd(member)
    )
      return true;
  }
  return false;
}
