/** Vectors that programs search with, and the type of a column of vectors. */

import { type DataType, Field, FixedSizeList, type Float } from "apache-arrow";
import { tagOf } from "../bytes/anyRealm.js";
import { bytesOf } from "../bytes/view.js";
import { sanitizeType } from "./sanitizeTypes.js";

/** A vector to search with. */
export type IntoVector =
  | Float32Array
  | Float64Array
  | Uint8Array
  | number[]
  | Promise<Float32Array | Float64Array | Uint8Array | number[]>;

/** Several vectors to search with together, in a column that has several vectors per row. */
export type MultiVector = IntoVector[];

const VECTOR_ARRAYS: readonly string[] = ["Float16Array", "Float32Array", "Float64Array", "Uint8Array"];

export function isMultiVector(value: unknown): value is MultiVector {
  return Array.isArray(value) && isIntoVector(value[0]);
}

export function isIntoVector(value: unknown): value is IntoVector {
  if (Array.isArray(value)) return !Array.isArray(value[0]);
  return ArrayBuffer.isView(value) && VECTOR_ARRAYS.includes(tagOf(value));
}

/** Names of element types that differ from float32. */
const ELEMENT_NAMES: ReadonlyMap<string, string> = new Map([
  ["Float16Array", "float16"],
  ["Float64Array", "float64"],
  ["Uint8Array", "uint8"],
]);

/** Returns the bytes of a vector and the name of its element type; null for float32, the default. */
export function extractVectorBuffer(
  vector: Float32Array | Float64Array | Uint8Array,
): { data: Uint8Array; dtype: string } | null {
  const dtype = ArrayBuffer.isView(vector) ? ELEMENT_NAMES.get(tagOf(vector)) : undefined;
  return dtype === undefined ? null : { data: bytesOf(vector), dtype };
}

/** Returns the type of a column of vectors with `dim` items each. */
export function newVectorType<T extends Float>(dim: number, innerType: unknown): FixedSizeList<T> {
  return new FixedSizeList(dim, new Field("item", sanitizeType(innerType) as DataType as T, true));
}
