/** What distances between vectors are measured by, and of what vectors are made. */

import type { LogicalType } from "../../../arrow/types/type.js";
import { decodeHalfFloat, encodeHalfFloat } from "../../../bytes/halfFloat.js";

/** How the distance of two vectors is measured; see distance.ts. */
export type Metric = "l2" | "cosine" | "dot" | "hamming";

export const METRIC_NAMES: readonly Metric[] = ["l2", "cosine", "dot", "hamming"];

/** What the values of vectors are. */
export type VectorItem = "float16" | "float32" | "float64" | "uint8";

export const ITEM_BYTES: Readonly<Record<VectorItem, number>> = {
  float16: 2,
  float32: 4,
  float64: 8,
  uint8: 1,
};

/** What vectors are made of whose values have a type; null where values of the type make no vectors. */
export function vectorItemOf(type: LogicalType): VectorItem | null {
  if (type.kind === "float") return `float${type.bits}`;
  return type.kind === "int" && type.bits === 8 && !type.signed ? "uint8" : null;
}

/** Whether the distance of vectors of such values can be measured so. */
export const isMetricOf = (metric: Metric, item: VectorItem): boolean =>
  (item === "uint8") === (metric === "hamming");

/** What centroids are near to vectors by: of the length 1, or of bits, the squared distance tells as much as the metric. */
export const centroidMetric = (metric: Metric): "l2" | "dot" => (metric === "dot" ? "dot" : "l2");

/** The metric where none is named. */
export const defaultMetric = (item: VectorItem): Metric => (item === "uint8" ? "hamming" : "l2");

/** The bytes of a vector as columns hold it. */
export function encodeVector(item: VectorItem, values: Float32Array | Float64Array): Uint8Array {
  switch (item) {
    case "float16":
      return new Uint8Array(Uint16Array.from(values, encodeHalfFloat).buffer);
    case "float32":
      return new Uint8Array(Float32Array.from(values).buffer);
    case "float64":
      return new Uint8Array(Float64Array.from(values).buffer);
    case "uint8":
      return Uint8Array.from(values);
  }
}

/** The numbers of vectors, in a form that is quick to read. @param bytes of whole values, aligned to them */
export function numbersIn(item: VectorItem, bytes: Uint8Array): Float32Array | Float64Array | Uint8Array {
  const { buffer, byteOffset, byteLength } = bytes;
  switch (item) {
    case "float16":
      return Float32Array.from(new Uint16Array(buffer, byteOffset, byteLength / 2), decodeHalfFloat);
    case "float32":
      return new Float32Array(buffer, byteOffset, byteLength / 4);
    case "float64":
      return new Float64Array(buffer, byteOffset, byteLength / 8);
    case "uint8":
      return bytes;
  }
}
