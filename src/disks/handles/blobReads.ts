/** Reads of `File` objects. */

import { CorruptFileError } from "../../errors.js";
import type { ReadHandle, ReadPieces } from "../../io/disk/disk.js";
import { diskError } from "../../io/disk/errno.js";

/** Maximum gap in bytes that is read along with the pieces around it. */
const GAP_BYTES = 16 * 1024;
/** Maximum bytes of a read that merges pieces. */
const MERGED_BYTES = 4 * 1024 * 1024;

/** Identity of a file's content, as far as browsers show it. */
export const identityOfFile = ({ size, lastModified }: Pick<File, "size" | "lastModified">): string =>
  `${size}-${lastModified}`;

/** Opens a file for reading. */
export function blobHandle(path: string, file: File): ReadHandle {
  const { size } = file;
  const bytesOf = async (start: number, end: number): Promise<Uint8Array> => {
    if (end > size) {
      throw new CorruptFileError(
        path,
        start,
        `the read needs ${end - start} bytes, but the file ends at ${size}`,
      );
    }
    try {
      return new Uint8Array(await file.slice(start, end).arrayBuffer());
    } catch (cause) {
      // Browsers refuse to read a file that has changed since the page got it.
      throw diskError("EIO", "read", path, cause);
    }
  };
  return {
    path,
    size,
    identity: identityOfFile(file),
    async read(byteOffset, length, memory) {
      const bytes = await bytesOf(byteOffset, byteOffset + length);
      if (memory === undefined) return bytes;
      memory.set(bytes);
      return memory;
    },
    readInto: (target, pieces) => readMerged(target, pieces, bytesOf),
    close: async () => undefined,
  };
}

/** Reads pieces that are close together at once: each call of a browser takes about a millisecond. */
async function readMerged(
  target: Uint8Array,
  { byteOffsets, lengths, positions }: ReadPieces,
  bytesOf: (start: number, end: number) => Promise<Uint8Array>,
): Promise<void> {
  const order = Array.from(byteOffsets.keys()).sort((a, b) => byteOffsets[a] - byteOffsets[b]);
  const reads: Promise<void>[] = [];
  for (let first = 0; first < order.length; ) {
    const start = byteOffsets[order[first]];
    let end = start + lengths[order[first]];
    let next = first + 1;
    for (; next < order.length; next++) {
      const pieceEnd = byteOffsets[order[next]] + lengths[order[next]];
      if (byteOffsets[order[next]] > end + GAP_BYTES || pieceEnd - start > MERGED_BYTES) break;
      end = Math.max(end, pieceEnd);
    }
    const members = order.slice(first, next);
    const read = bytesOf(start, end).then((bytes) => {
      for (const piece of members) {
        const from = byteOffsets[piece] - start;
        target.set(bytes.subarray(from, from + lengths[piece]), positions[piece]);
      }
    });
    reads.push(read);
    first = next;
  }
  await Promise.all(reads);
}
