/** Metrics and item types of vectors. */

import type { LogicalType } from "../../../arrow/types/type.js";
import { decodeHalfFloat, encodeHalfFloat } from "../../../bytes/halfFloat.js";

/** Distance metric (distance.ts). */
export type Metric = "l2" | "cosine" | "dot" | "hamming";

export const METRIC_NAMES: readonly Metric[] = ["l2", "cosine", "dot", "hamming"];

/** Type of a vector's values. */
export type VectorItem = "float16" | "float32" | "float64" | "uint8";

export const ITEM_BYTES: Readonly<Record<VectorItem, number>> = {
  float16: 2,
  float32: 4,
  float64: 8,
  uint8: 1,
};

/** Returns the item type of vectors with values of this type; null if vectors cannot have such values. */
export function vectorItemOf(type: LogicalType): VectorItem | null {
  if (type.kind === "float") return `float${type.bits}`;
  return type.kind === "int" && type.bits === 8 && !type.signed ? "uint8" : null;
}

/** True if the metric applies to the item type. */
export const isMetricOf = (metric: Metric, item: VectorItem): boolean =>
  (item === "uint8") === (metric === "hamming");

/** Returns the metric for centroids. Squared distance orders unit vectors and bits like their own metric. */
export const centroidMetric = (metric: Metric): "l2" | "dot" => (metric === "dot" ? "dot" : "l2");

/** Returns the default metric. */
export const defaultMetric = (item: VectorItem): Metric => (item === "uint8" ? "hamming" : "l2");

/** Encodes a vector as columns store it. */
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

/** Decodes vectors to numbers. @param bytes aligned to the item type */
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
