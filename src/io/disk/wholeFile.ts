/** Reads of whole files on disks that only open them. */

import { CorruptFileError } from "../../errors.js";
import type { DiskImplementation } from "./disk.js";

/** Maximum bytes of a file that is read as a whole. A disk may state any size. */
export const MAX_WHOLE_BYTES = 2 ** 31;

/**
 * Reads a whole file; null if it does not exist.
 * @throws CorruptFileError if the file is longer than `maxBytes`
 */
export async function readWholeFile(
  disk: Pick<DiskImplementation, "open">,
  path: string,
  maxBytes = MAX_WHOLE_BYTES,
): Promise<Uint8Array | null> {
  const handle = await disk.open(path);
  if (handle === null) return null;
  try {
    if (handle.size > maxBytes) {
      throw new CorruptFileError(path, maxBytes, `${handle.size} bytes, more than ${maxBytes}`);
    }
    return await handle.read(0, handle.size);
  } finally {
    await handle.close();
  }
}
