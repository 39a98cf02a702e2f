/** Blobs that are read later, when their users ask for them. */

import type { Column } from "../../arrow/columns/column.js";
import { CorruptFileError, InvalidInputError, UnsupportedError } from "../../errors.js";
import type { BlobLocation } from "../../file/blobs/blobDescriptors.js";
import type { DataFileMetadata } from "../../file/container/reader.js";
import type { HandlePool } from "../../io/disk/handles.js";
import type { LazyBlob } from "../../namespace/queries.js";
import { type BlobSource, locationsOf, verifyBlobs } from "../../rows/blobValues.js";

/** Makes objects that read blobs later, from the descriptors of one column. */
export function lazyBlobs(
  { handles }: BlobSource,
  column: Column,
  file: DataFileMetadata | null,
): (LazyBlob | null)[] {
  return locationsOf(column, file).map((location) =>
    location === null ? null : new FileBlob(handles, location, file),
  );
}

class FileBlob implements LazyBlob {
  readonly size: number;
  readonly uri: string | null;
  readonly #handles: HandlePool;
  readonly #location: BlobLocation;
  /** The data file that holds the descriptor. */
  readonly #file: DataFileMetadata | null;

  constructor(handles: HandlePool, location: BlobLocation, file: DataFileMetadata | null) {
    this.size = location.length;
    this.uri = location.path === null ? new TextDecoder().decode(location.uri) : null;
    this.#handles = handles;
    this.#location = location;
    this.#file = file;
  }

  async read(offset = 0, length?: number): Promise<Uint8Array> {
    checkPosition(offset, "offset");
    if (length !== undefined) checkPosition(length, "length");
    const { path, sideFile, byteOffset } = this.#location;
    if (path === null) throw new UnsupportedError(`reading a blob from ${this.uri} is not supported`);
    const start = Math.min(offset, this.size);
    const count = Math.min(length ?? this.size, this.size - start);
    if (count === 0) return new Uint8Array(0);
    return this.#handles.withHandle(path, async (handle) => {
      if (byteOffset + this.size > handle.size) {
        const reason = `refers to a blob of ${this.size} bytes at ${byteOffset} of a file of ${handle.size}`;
        throw new CorruptFileError(path, byteOffset, reason);
      }
      const bytes = await handle.read(byteOffset + start, count);
      if (count === this.size) {
        const ranges = [{ byteOffset, length: count }];
        await verifyBlobs(this.#handles, this.#file, { path, sideFile, ranges }, [bytes]);
      }
      return bytes;
    });
  }
}

function checkPosition(value: unknown, member: string): void {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return;
  throw new InvalidInputError(`${member}: must be an integer of at least 0`);
}
