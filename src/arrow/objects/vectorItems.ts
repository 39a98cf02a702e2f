/** Fast path for vectors given as arrays of numbers, which are most values of a table with embeddings. */

import { type DataType, Precision, Type } from "apache-arrow";
import { tagOf } from "../../bytes/anyRealm.js";

const LARGEST_FLOAT32 = 3.4028234663852886e38;

/**
 * Returns the items of float32 or float64 vectors; null if the general encoder must check the values.
 * @param takesInfinities false if infinite numbers must be checked
 */
export function vectorItems(
  values: readonly unknown[],
  type: DataType,
  dimension: number,
  takesInfinities: boolean,
): Float32Array | Float64Array | null {
  const byteWidth = floatWidth(type);
  if (byteWidth === null) return null;
  const largest =
    byteWidth === 4 ? LARGEST_FLOAT32 : takesInfinities ? Number.POSITIVE_INFINITY : Number.MAX_VALUE;
  const total = values.length * dimension;
  const numbers = byteWidth === 8 ? new Float64Array(total) : new Float32Array(total);
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    if (value === null || value === undefined) continue;
    const start = index * dimension;
    if (isFloats(value)) {
      if (value.length !== dimension || (byteWidth === 4 && value.BYTES_PER_ELEMENT === 8)) return null;
      numbers.set(value, start);
      continue;
    }
    if (!Array.isArray(value) || value.length !== dimension) return null;
    for (let slot = 0; slot < dimension; slot++) {
      const number: unknown = value[slot];
      if (typeof number !== "number" || number > largest || number < -largest) return null;
      numbers[start + slot] = number;
    }
  }
  return numbers;
}

const isFloats = (value: unknown): value is Float32Array | Float64Array =>
  ArrayBuffer.isView(value) && /^Float(32|64)Array$/.test(tagOf(value));

/** Bytes of a 32-bit or 64-bit float; null for other types. */
function floatWidth(type: DataType): number | null {
  const { typeId, precision } = type as unknown as { typeId: number; precision?: number };
  if (typeId !== Type.Float || precision === undefined || precision === Precision.HALF) return null;
  return precision === Precision.SINGLE ? 4 : 8;
}
