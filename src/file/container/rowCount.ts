/** Counts the rows of a data file of any version. */

import type { ReadHandle } from "../../io/disk/disk.js";
import { openDataFile } from "./reader.js";

/**
 * Reads the number of rows.
 * @throws CorruptFileError, UnsupportedError for an unknown version
 */
export const readRowCount = async (handle: ReadHandle, path: string): Promise<number> =>
  (await openDataFile(handle, path)).rowCount;
