/** Fields of blob columns, and the values that they take. */

import { Field, LargeBinary, Struct, Utf8 } from "apache-arrow";
import { isUint8Array } from "../bytes/anyRealm.js";

/** A value of a blob column: its bytes, or where they are. */
export type BlobInput = {
  data: Buffer | Uint8Array | null;
  uri: string | null;
};

/** Options of {@link blob}. */
export type BlobOptions = {
  /** Default: true. */
  nullable?: boolean;
  /** Maximum bytes of a value that stays in the data file, a safe integer from 0. */
  inlineSizeThreshold?: number;
  /** Maximum bytes of a value that shares a file with others, a safe integer from 1. */
  dedicatedSizeThreshold?: number;
  /** Maximum bytes of such a shared file, a safe integer from 1. */
  packFileSizeThreshold?: number;
};

const EXTENSION_NAME = "ARROW:extension:name";
const BLOB_EXTENSION = "lance.blob.v2";

/** Options that the metadata of a field records: the key, and the least value. */
const THRESHOLDS = [
  ["inlineSizeThreshold", "lance-encoding:blob-inline-size-threshold", 0],
  ["dedicatedSizeThreshold", "lance-encoding:blob-dedicated-size-threshold", 1],
  ["packFileSizeThreshold", "lance-encoding:blob-pack-file-size-threshold", 1],
] as const;

/**
 * Returns the field of a blob column. Queries return descriptors of its values; `Table.fetchBlobs` and
 * `Table.fetchBlobFiles` return the bytes.
 *
 * @example
 * ```ts
 * const schema = new Schema([new Field("id", new Int64()), blob("video")]);
 * const table = await db.createTable("videos", [{ id: 1n, video: await readFile("clip.mp4") }], { schema });
 * ```
 */
export function blob(name: string, options: BlobOptions = {}): Field {
  const metadata = new Map([[EXTENSION_NAME, BLOB_EXTENSION]]);
  for (const [option, key, least] of THRESHOLDS) {
    const value = options[option];
    if (value === undefined) continue;
    if (!Number.isSafeInteger(value)) throw new Error(`${option} must be a safe integer`);
    if (value < least) throw new Error(`${option} must be ${least === 0 ? "non-negative" : "positive"}`);
    metadata.set(key, String(value));
  }
  const children = [new Field("data", new LargeBinary(), true), new Field("uri", new Utf8(), true)];
  return new Field(name, new Struct(children), options.nullable ?? true, metadata);
}

/** True for the field of a blob column. Its type is not checked. */
export function isBlobField(field: Field): boolean {
  return field.metadata?.get(EXTENSION_NAME) === BLOB_EXTENSION;
}

/**
 * Returns a value of a blob column in full form.
 * @throws Error for a value that is neither bytes nor an address
 */
export function coerceBlobValue(value: unknown): BlobInput | null {
  if (value === null || value === undefined) return null;
  if (typeof value === "string") return { data: null, uri: checkedUri(value) };
  if (isUint8Array(value)) return { data: value, uri: null };
  if (ArrayBuffer.isView(value)) throw new Error("Blob data must be Buffer or Uint8Array");
  if (typeof value !== "object") {
    throw new Error("Blob column values must be Buffer, Uint8Array, a URI string, null, or { data?, uri? }");
  }
  if (!("data" in value) && !("uri" in value)) {
    throw new Error("Blob struct values must include a 'data' or 'uri' field");
  }
  const { data = null, uri = null } = value as { data?: unknown; uri?: unknown };
  if (data !== null && !isUint8Array(data)) {
    throw new Error("Blob data must be Buffer, Uint8Array, or null");
  }
  if (uri !== null && typeof uri !== "string") {
    throw new Error(`Blob uri must be a string or null, got ${typeof uri}`);
  }
  if ((data === null) === (uri === null)) {
    throw new Error("Blob struct values must set exactly one of 'data' or 'uri'");
  }
  return { data, uri: uri === null ? null : checkedUri(uri) };
}

function checkedUri(uri: string): string {
  if (uri === "") throw new Error("Blob uri cannot be empty");
  return uri;
}
