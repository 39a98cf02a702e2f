/**
 * Encodings of vectors in an index, and distances computed from codes:
 *
 *     flat   the vectors themselves (openCodes.ts)
 *     PQ     product quantisation (productCodes.ts)
 *     SQ     scalar quantisation (scalarCodes.ts)
 *     RQ     rotated vectors, one or more bits per value (rotatedCodes.ts)
 *
 * By cosine, PQ, SQ and RQ return the squared distance of unit vectors, which is twice the cosine distance.
 */

import type { LogicalType } from "../../../arrow/types/type.js";
import type { Steps } from "../../../async/eventLoop.js";
import type { FileColumnType } from "../../indexColumns.js";
import type { OpenIndexFile } from "../../indexFile.js";
import type { VectorItem } from "../distance/metric.js";
import type { Codebook } from "./codebook.js";
import type { RotatedModel } from "./rotatedModel.js";
import { jsonMembers, type TensorNumbers } from "./tensors.js";

export interface Codes {
  /** Columns of the codes: fixed-size lists and numbers. */
  readonly columns: readonly FileColumnType[];
  readonly memoryWeight: number;
  /** True if only whole partitions can be taken apart into rows. */
  readonly needsPartition: boolean;
  /** Joins the columns of a partition for {@link CodeDistances}. Default: the only column. */
  join?(columns: readonly Uint8Array[], rowCount: number): Steps<Uint8Array>;
  /** Joins columns to one code per row, as encoders return it. Default: the only column. */
  rowCodes?(columns: readonly Uint8Array[], rowCount: number): Steps<Uint8Array>;
  /** Model for encoding further rows. */
  readonly model: CodeModel;
  /** Prepares to measure distances from a vector, which has length 1 for the cosine metric. */
  from(query: Float64Array): CodeDistances;
}

/** Distances of a vector from the rows of a partition. */
export interface CodeDistances {
  /** Measures all rows. */
  all(centroid: TensorNumbers, codes: Uint8Array, distances: Float32Array): void;
  /** Measures all rows, a few milliseconds between two steps. Default: in one step. */
  inSteps?(centroid: TensorNumbers, codes: Uint8Array, distances: Float32Array): Steps<void>;
  /** Measures some rows. */
  some(centroid: TensorNumbers, codes: Uint8Array, rowCount: number): MeasureRows;
  /** Code of the vector and step width, if distances are squared numbers of steps between codes. */
  readonly steps?: { readonly code: Uint8Array; readonly width: number };
}

/** Writes the distances of rows in their order. */
export type MeasureRows = (rows: Uint32Array, count: number, distances: Float64Array) => void;

export const oneByOne =
  (distanceOf: (row: number) => number): MeasureRows =>
  (rows, count, distances) => {
    for (let index = 0; index < count; index++) distances[index] = distanceOf(rows[index]);
  };

/** Parameters of an encoding. */
export type CodeModel =
  | { readonly kind: "FLAT" }
  | ({ readonly kind: "PQ" } & Codebook)
  | { readonly kind: "SQ"; readonly start: number; readonly end: number }
  | ({ readonly kind: "RQ" } & RotatedModel);

/** Returns a column of codes as fixed-size lists. */
export const codeColumn = (name: string, of: LogicalType, size: number): FileColumnType => ({
  name,
  type: { kind: "fixedSizeList", of, size },
});

export const BYTE: LogicalType = { kind: "int", bits: 8, signed: false };

export const STORAGE_METADATA = "storage_metadata";

/** Parses the settings: a list with one JSON text. */
export function storageMembers(
  file: OpenIndexFile,
  settings: string | null = file.text(STORAGE_METADATA),
): Readonly<Record<string, unknown>> {
  const [text] = Object.values(jsonMembers(file, settings));
  return jsonMembers(file, typeof text === "string" ? text : null);
}

/** Returns a member that is an integer from 1 to `most`. */
export function countMember(
  members: Readonly<Record<string, unknown>>,
  name: string,
  file: OpenIndexFile,
  most: number,
): number {
  const value = members[name];
  if (typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= most) return value;
  return file.fail(`${name} is ${JSON.stringify(value)}`);
}

export const floatBits = (item: Exclude<VectorItem, "uint8">): 16 | 32 | 64 =>
  item === "float16" ? 16 : item === "float32" ? 32 : 64;
