/** Models of vector indexes, which their files hold as global buffers. */

import {
  bytes,
  int32,
  type MessageOf,
  message,
  repeatedUint32,
  repeatedUint64,
  submessage,
} from "./message.js";

/** Types of the values of tensors, by their numbers. */
export const TENSOR_TYPES = ["bfloat16", "float16", "float32", "float64", "uint8"] as const;

export const Tensor = message("Tensor", {
  /** A {@link TENSOR_TYPES} number. */
  dataType: int32(1),
  /** Rows first. */
  shape: repeatedUint32(2),
  /** The values, little-endian, row by row. */
  data: bytes(3),
});
export type Tensor = MessageOf<typeof Tensor>;

/** Partitions: one file has their centroids, the other their numbers of rows. */
export const IvfModel = message("IvfModel", {
  /** First row of each partition; absent if they follow each other. */
  offsets: repeatedUint64(2),
  /** Rows of each partition. */
  lengths: repeatedUint32(3),
  centroids: submessage(4, Tensor),
});
export type IvfModel = MessageOf<typeof IvfModel>;
