/** What JavaScript values are taken for: of any realm, so that those of another context count as well. */

import { isDate, tagOf } from "../../bytes/anyRealm.js";
import { bytesOf } from "../../bytes/view.js";

export const isNullish = (value: unknown): value is null | undefined => value === null || value === undefined;

/** Objects of any class, but not lists. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  !ArrayBuffer.isView(value) &&
  !isDate(value);

/** A member of an object's own, or of its class, but not of all objects. */
export function memberOf(value: object, name: string): unknown {
  return Object.hasOwn(value, name) || !(name in Object.prototype)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

export function binaryOf(value: unknown): Uint8Array | null {
  if (ArrayBuffer.isView(value)) return bytesOf(value);
  const tag = tagOf(value);
  return tag === "ArrayBuffer" || tag === "SharedArrayBuffer" ? new Uint8Array(value as ArrayBuffer) : null;
}

/** The items of a value that is a list; null for what is none. Texts and objects by name are none. */
export function iterableItems(value: unknown): ArrayLike<unknown> | null {
  if (Array.isArray(value)) return value;
  if (ArrayBuffer.isView(value)) {
    return tagOf(value) === "DataView" ? null : (value as unknown as ArrayLike<unknown>);
  }
  if (typeof value !== "object" || value === null) return null;
  return Symbol.iterator in value ? Array.from(value as Iterable<unknown>) : null;
}

/** The entries of a map, as objects of the members that its struct has. */
export function pairsOf(value: unknown): { key: unknown; value: unknown }[] | null {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return null;
  const pairs = Symbol.iterator in value ? Array.from(value as Iterable<unknown>) : Object.entries(value);
  const isPair = (pair: unknown): pair is unknown[] => Array.isArray(pair) && pair.length === 2;
  return pairs.every(isPair) ? pairs.map(([key, own]) => ({ key, value: own })) : null;
}
