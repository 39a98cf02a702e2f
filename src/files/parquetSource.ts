/** Opens a Parquet file, whose end is read first: by ranges of a path, or in memory. */

import type { AsyncBuffer } from "hyparquet";
import { isWebBlob } from "../bytes/anyRealm.js";
import { concatBytes } from "../bytes/concat.js";
import { InvalidInputError } from "../errors.js";
import { openLocalFile } from "../io/localFiles.js";
import { bytesInMemory, filePathOf, filePieces } from "./byteSource.js";
import { fileError } from "./fileErrors.js";

/** A file of which ranges are read. */
export interface RangeFile extends AsyncBuffer {
  close(): Promise<void>;
}

/**
 * Opens a source. A stream, and a pipe that a path names, are kept in memory as a whole.
 * @param maxBytes maximum length of a stream
 * @throws InvalidInputError for a longer stream
 */
export async function openRanges(
  source: unknown,
  name: string,
  maxBytes: number,
  signal: AbortSignal | undefined,
): Promise<RangeFile> {
  const path = filePathOf(source, name);
  if (path !== null) {
    const file = await openPath(path, name);
    if (file !== null) return file;
  }
  if (isWebBlob(source)) {
    const slice = (start: number, end?: number) => source.slice(start, end).arrayBuffer();
    return { byteLength: source.size, slice, close: async () => undefined };
  }
  const bytes = bytesInMemory(source) ?? (await collected(filePieces(source, name, signal), name, maxBytes));
  const slice = (start: number, end?: number) => bytes.slice(start, end).buffer as ArrayBuffer;
  return { byteLength: bytes.byteLength, slice, close: async () => undefined };
}

/** Null for a pipe or device. */
async function openPath(path: string, name: string): Promise<RangeFile | null> {
  try {
    const file = await openLocalFile(path);
    const { size } = file;
    if (size === null) {
      await file.close();
      return null;
    }
    const slice = async (start: number, end = size): Promise<ArrayBuffer> => {
      const bytes = await file.read(start, end - start).catch((error) => {
        throw fileError(error, path, name);
      });
      return bytes.slice().buffer as ArrayBuffer;
    };
    return { byteLength: size, slice, close: () => file.close() };
  } catch (error) {
    throw fileError(error, path, name);
  }
}

async function collected(
  pieces: AsyncIterable<Uint8Array>,
  name: string,
  maxBytes: number,
): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  let byteCount = 0;
  for await (const piece of pieces) {
    byteCount += piece.byteLength;
    if (byteCount > maxBytes) {
      throw new InvalidInputError(
        `${name}: the stream has more than ${maxBytes} bytes, and the end of Parquet is read first; pass a path, or set maxStreamBytes`,
      );
    }
    all.push(piece);
  }
  return concatBytes(all);
}
