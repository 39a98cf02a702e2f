/**
 * Number of rows of a data file of any version. Files of 0.1 are not read otherwise; they end like this:
 *
 *   u32 length, FileMetadata      at the position that the footer states
 *   footer, 16 bytes              0  8  i64 position of the metadata
 *                                 8  2  u16 major version 0
 *                                10  2  u16 minor version, below 3
 *                                12  4  "LANC"
 */

import { CorruptFileError } from "../../errors.js";
import { LegacyFileMetadata } from "../../format/file.js";
import type { ReadHandle } from "../../io/disk/disk.js";
import { openDataFile } from "./reader.js";

const LEGACY_FOOTER_BYTES = 16;
const PREFIX_BYTES = 4;
/** Larger metadata is refused: each batch of thousands of rows takes a few bytes. */
const MAX_METADATA_BYTES = 2 ** 26;
const MAGIC = 0x434e414c;

/** Whether the version in a footer, or in the entry of a manifest, is 0.1. */
export const isLegacyVersion = (major: number, minor: number): boolean => major === 0 && minor < 3;

/**
 * Reads the number of rows of a data file.
 * @throws CorruptFileError, UnsupportedError for a version that is not known
 */
export async function readRowCount(handle: ReadHandle, path: string): Promise<number> {
  const footerStart = handle.size - LEGACY_FOOTER_BYTES;
  if (footerStart < PREFIX_BYTES) {
    throw new CorruptFileError(path, 0, `${handle.size} bytes are too few for a data file`);
  }
  const footer = viewOf(await handle.read(footerStart, LEGACY_FOOTER_BYTES));
  if (
    footer.getUint32(12, true) !== MAGIC ||
    !isLegacyVersion(footer.getUint16(8, true), footer.getUint16(10, true))
  ) {
    return (await openDataFile(handle, path)).rowCount;
  }
  const position = footer.getBigUint64(0, true);
  if (position > BigInt(footerStart - PREFIX_BYTES)) {
    throw new CorruptFileError(path, footerStart, `metadata position ${position} is outside the file`);
  }
  const byteOffset = Number(position) + PREFIX_BYTES;
  const length = viewOf(await handle.read(Number(position), PREFIX_BYTES)).getUint32(0, true);
  if (length > MAX_METADATA_BYTES || byteOffset + length > footerStart) {
    throw new CorruptFileError(path, Number(position), `metadata of ${length} bytes does not fit`);
  }
  const { batchOffsets } = LegacyFileMetadata.decode(await handle.read(byteOffset, length), {
    path,
    byteOffset,
  });
  const rowCount = batchOffsets.at(-1) ?? 0;
  if (rowCount < 0) throw new CorruptFileError(path, byteOffset, `${rowCount} rows`);
  return rowCount;
}

const viewOf = (bytes: Uint8Array): DataView =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
