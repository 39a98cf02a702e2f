/** Number of rows of a data file of any version. */

import { CorruptFileError } from "../../errors.js";
import { LegacyFileMetadata } from "../../format/file.js";
import type { ReadHandle } from "../../io/disk/disk.js";
import { readLegacyMessage } from "./legacyFile.js";
import { openDataFile } from "./reader.js";

/**
 * Reads the number of rows of a data file.
 * @throws CorruptFileError, UnsupportedError for an unknown version
 */
export async function readRowCount(handle: ReadHandle, path: string): Promise<number> {
  const legacy = await readLegacyMessage(handle, path);
  if (legacy === null) return (await openDataFile(handle, path)).rowCount;
  const { bytes, byteOffset } = legacy;
  const { batchOffsets } = LegacyFileMetadata.decode(bytes, { path, byteOffset });
  const rowCount = batchOffsets.at(-1) ?? 0;
  if (rowCount < 0) throw new CorruptFileError(path, byteOffset, `${rowCount} rows`);
  return rowCount;
}
