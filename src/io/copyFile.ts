/** Copies files through the interface of a disk. */

import type { Disk } from "./disk/disk.js";

/** Bytes read at a time. */
const PIECE_BYTES = 4 * 1024 * 1024;

/**
 * Copies a file under a new name, synced; the caller makes the name durable. A link would keep the old times,
 * by which a cleanup tells that nobody still writes the file.
 * @returns the number of bytes; null if there is no such file
 */
export async function copyFile(
  disk: Disk,
  fromPath: string,
  toPath: string,
  signal?: AbortSignal,
): Promise<number | null> {
  const reader = await disk.open(fromPath);
  if (reader === null) return null;
  try {
    const writer = await disk.create(toPath);
    try {
      for (let byteOffset = 0; byteOffset < reader.size; byteOffset += PIECE_BYTES) {
        signal?.throwIfAborted();
        await writer.write([await reader.read(byteOffset, Math.min(PIECE_BYTES, reader.size - byteOffset))]);
      }
      await writer.sync();
    } finally {
      await writer.close();
    }
    return reader.size;
  } finally {
    await reader.close();
  }
}
