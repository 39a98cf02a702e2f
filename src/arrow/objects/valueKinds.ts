/** Classifies JavaScript values, including those of another realm, such as a worker context or an iframe. */

import { isDate, tagOf } from "../../bytes/anyRealm.js";
import { bytesOf } from "../../bytes/view.js";

export const isNullish = (value: unknown): value is null | undefined => value === null || value === undefined;

/** Kinds of objects whose content is not in their members. */
const WITHOUT_MEMBERS: ReadonlySet<string> = new Set(
  ["Map", "Set", "WeakMap", "WeakSet", "Promise", "RegExp"].concat("Number", "String", "Boolean", "BigInt"),
);

/** True for objects of any class that have members. Lists, maps, sets and promises have none. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value) || ArrayBuffer.isView(value)) return false;
  const tag = tagOf(value);
  // Most values are plain objects, and the set would hash each tag anew.
  return tag === "Object" || (!WITHOUT_MEMBERS.has(tag) && (tag !== "Date" || !isDate(value)));
}

/** Returns a member of an object or its class. Members that all objects inherit do not count. */
export function memberOf(value: object, name: string): unknown {
  return Object.hasOwn(value, name) || !(name in Object.prototype)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

/** Returns the bytes of a view or of a block of memory; null for any other value. */
export function binaryOf(value: unknown): Uint8Array | null {
  if (ArrayBuffer.isView(value)) return bytesOf(value);
  const tag = tagOf(value);
  return tag === "ArrayBuffer" || tag === "SharedArrayBuffer" ? new Uint8Array(value as ArrayBuffer) : null;
}

/** Returns the items of a list; null for any other value. Texts and records are not lists. */
export function iterableItems(value: unknown): ArrayLike<unknown> | null {
  if (Array.isArray(value)) return value;
  if (ArrayBuffer.isView(value)) {
    return tagOf(value) === "DataView" ? null : (value as unknown as ArrayLike<unknown>);
  }
  if (typeof value !== "object" || value === null) return null;
  return Symbol.iterator in value ? Array.from(value as Iterable<unknown>) : null;
}

/** Returns the entries of a map, as objects with the members of its struct. */
export function pairsOf(value: unknown): { key: unknown; value: unknown }[] | null {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return null;
  const pairs = Symbol.iterator in value ? Array.from(value as Iterable<unknown>) : Object.entries(value);
  const isPair = (pair: unknown): pair is unknown[] => Array.isArray(pair) && pair.length === 2;
  return pairs.every(isPair) ? pairs.map(([key, item]) => ({ key, value: item })) : null;
}
