/** Blob columns, and blobs to read in pieces. */

import type { Field, Schema } from "apache-arrow";
import type { LazyBlob } from "../namespace/queries.js";
import { failure } from "./failures.js";

export { type BlobInput, type BlobOptions, blob, coerceBlobValue, isBlobField } from "./blobField.js";

/** A blob of a row, to read whole or in pieces. */
export class BlobFile {
  private readonly inner: LazyBlob;
  /** Position of the next read. */
  #position = 0;

  /** Makes a handle. Programs get theirs from `Table.fetchBlobFiles`. */
  constructor(inner: LazyBlob) {
    this.inner = inner;
  }

  /** Returns the size in bytes. */
  size(): bigint {
    return BigInt(this.inner.size);
  }

  /** Reads from the position to the end. A second call returns no bytes. */
  async read(): Promise<Buffer> {
    const bytes = await this.inner.read(this.#position);
    this.#position += bytes.length;
    return bufferOf(bytes);
  }

  /**
   * Reads bytes of a range. The position of {@link read} stays.
   * @param start first byte
   * @param end end of the range, which must not lie after the end of the blob
   */
  async readRange(start: bigint, end: bigint): Promise<Buffer> {
    if (start < 0n || end < start || end > this.size()) {
      throw failure(`Invalid input, the range ${start}..${end} is not in a blob of ${this.size()} bytes`);
    }
    return bufferOf(await this.inner.read(Number(start), Number(end - start)));
  }
}

const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Returns the paths of the blob columns of a schema. */
export function blobColumnsOf(schema: Schema): string[] {
  const walk = (fields: readonly Field[], path: readonly string[]): string[] =>
    fields.flatMap((field) => {
      const names = [...path, field.name];
      return isBlob(field) ? [names.join(".")] : walk(field.type.children ?? [], names);
    });
  return walk(schema.fields, []);
}

const isBlob = ({ metadata }: Field): boolean =>
  metadata.get("lance-encoding:blob") === "true" || metadata.get("ARROW:extension:name") === "lance.blob.v2";
