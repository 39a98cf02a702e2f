/** Numbers of calls, read as LanceDB's binding reads them. */

import { tagOf } from "../../bytes/anyRealm.js";
import { shortly } from "../../optionMembers.js";
import { failure } from "../failures.js";
import type { IntoVector } from "../vectors.js";

/** Largest count that LanceDB's binding passes on. */
export const MAX_COUNT = 2 ** 32 - 1;

/**
 * Returns a count. Fractions are cut off. A negative number wraps around to a count beyond all rows, so that
 * `limit(-1)` means all rows.
 * @param name name of the method, for the error
 */
export function countOf(value: unknown, name: string): number {
  if (typeof value !== "number") throw failure(`${name}: must be a number, not ${shortly(value)}`);
  return value > MAX_COUNT ? MAX_COUNT : value >>> 0;
}

/**
 * Returns the text of an argument.
 * @param name name of the method, for the error
 */
export function textOf(value: unknown, name: string): string {
  if (typeof value !== "string") throw failure(`${name}: must be a text, not ${shortly(value)}`);
  return value;
}

/** The numbers of a query vector. */
export type VectorNumbers = Float32Array | Float64Array | Uint8Array;

/** Copies the numbers of a vector. All but typed arrays of doubles and bytes become floats of 32 bits. */
export function vectorNumbers(vector: Awaited<IntoVector>): VectorNumbers {
  const kind = ArrayBuffer.isView(vector) ? tagOf(vector) : "";
  if (kind === "Float64Array") return Float64Array.from(vector);
  if (kind === "Uint8Array") return Uint8Array.from(vector);
  return Float32Array.from(vector);
}

/** True for a promise of any implementation. */
export const isPromise = <Value>(value: Value | PromiseLike<Value>): value is PromiseLike<Value> =>
  typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";

/** Returns a list of a call. @throws Error for anything else */
export function listOf<Item>(value: readonly Item[], name: string): readonly Item[] {
  if (!Array.isArray(value)) throw failure(`${name}: must be an array, not ${shortly(value)}`);
  return value;
}

/** Returns offsets of rows. Fractions are cut off. */
export const offsetsOf = (offsets: readonly number[]): number[] =>
  Array.from(listOf(offsets, "offsets"), (offset) => {
    if (typeof offset !== "number") throw failure(`offset: must be a number, not ${shortly(offset)}`);
    if (offset <= -1) {
      throw failure("Failed to convert offset to u64: out of range integral type conversion attempted");
    }
    return Math.trunc(offset) || 0;
  });
