/** Checks further members of requests. Each function returns the value, or throws naming the member. */

import type { Schema } from "apache-arrow";
import type { InputBounds } from "../arrow/exchange/input.js";
import { adoptSchema, type ForeignSchema } from "../arrow/types/foreignTypes.js";
import { tagOf } from "../bytes/anyRealm.js";
import { InvalidInputError } from "../errors.js";
import { isWellFormed } from "../ident.js";
import { shortly } from "../optionMembers.js";
import { isAbsent, isInteger, optionalCount, optionalOf, optionalString, requireTableId } from "./request.js";

/** Maximum number of parts of a batch. Each part holds locks and space in the journal. */
const MAX_PARTS = 10_000;
/** Maximum characters of an object's properties. Every operation reads them with the catalog. */
const MAX_PROPERTIES_LENGTH = 2 ** 19;

/** A copy of a part of a batch. */
export type PinnedPart<Part> = Part & { readonly id: readonly string[]; readonly branch?: string };

/** Returns an integer from 1 to `most`. */
export function optionalCountTo(value: unknown, member: string, most: number): number | undefined {
  const count = optionalCount(value, member, 1);
  if (count === undefined || count <= most) return count;
  throw new InvalidInputError(`${member}: must be an integer from 1 to ${most}, not ${count}`);
}

/** Returns a number of at least 0; fractions are allowed. */
export const optionalAmount = (value: unknown, member: string): number | undefined =>
  optionalOf(
    value,
    member,
    "a number of at least 0",
    (amount) => Number.isFinite(amount) && (amount as number) >= 0,
  );

/** Returns the limits of the input rows. */
export function inputBounds(request: {
  readonly maxBatchBytes?: unknown;
  readonly maxRows?: unknown;
  readonly memory?: InputBounds["memory"];
}): InputBounds {
  return {
    maxBatchBytes: optionalCount(request.maxBatchBytes, "maxBatchBytes", 1),
    maxRows: optionalCount(request.maxRows, "maxRows"),
    memory: request.memory,
  };
}

/** Returns a number from 0 to 1. */
export const optionalFraction = (value: unknown, member: string): number | undefined =>
  optionalOf(
    value,
    member,
    "a number from 0 to 1",
    (share) => typeof share === "number" && share >= 0 && share <= 1,
  );

/** True for a list or a typed array. */
export const isNumberList = (value: unknown): value is ArrayLike<unknown> =>
  Array.isArray(value) || (ArrayBuffer.isView(value) && tagOf(value) !== "DataView");

/** Returns a copy of row offsets, because the caller may change its array. */
export function requireRowOffsets(value: unknown, member = "rowOffsets"): Float64Array {
  if (!isNumberList(value)) {
    throw new InvalidInputError(`${member}: must be an array of numbers, not ${shortly(value)}`);
  }
  const offsets = new Float64Array(value.length);
  for (let index = 0; index < offsets.length; index++) {
    const offset = value[index];
    if (!isInteger(offset, 0)) {
      const shown = typeof offset === "number" ? offset : typeof offset;
      throw new InvalidInputError(`${member}: must be integers of at least 0, not ${shown}`);
    }
    offsets[index] = offset;
  }
  return offsets;
}

/** Returns the requested page of a listing. Without `limit`, the page has all remaining entries. */
export function optionalPage(request: { readonly pageToken?: unknown; readonly limit?: unknown }): {
  /** Last name of the previous page; the empty string is the start. Any string is valid. */
  readonly after: string;
  readonly limit: number;
} {
  const limit = optionalCount(request.limit, "limit", 1) ?? Number.POSITIVE_INFINITY;
  return { after: optionalString(request.pageToken, "pageToken") ?? "", limit };
}

/** Returns a required string that is not empty. */
export function requireString(value: unknown, member: string): string {
  const text = optionalString(value, member);
  if (text === undefined || text === "") throw new InvalidInputError(`${member}: is required`);
  return text;
}

/** Returns a required list of objects that is not empty. */
export function requireList<Entry>(value: readonly Entry[], member: string): readonly Entry[] {
  if (!Array.isArray(value) || value.length === 0)
    throw new InvalidInputError(`${member}: must be a list that is not empty, not ${shortly(value)}`);
  for (const entry of value) {
    if (typeof entry !== "object" || entry === null)
      throw new InvalidInputError(`${member}: must be a list of objects, but contains ${shortly(entry)}`);
  }
  return value;
}

/**
 * Checks the number of parts of a batch.
 * @throws InvalidInputError
 */
export function boundedParts<Part>(parts: readonly Part[], member: string): readonly Part[] {
  if (parts.length <= MAX_PARTS) return parts;
  throw new InvalidInputError(`${member}: ${parts.length} parts; a batch has at most ${MAX_PARTS}`);
}

/**
 * Returns a frozen copy of each part of a batch, because the caller or `authorize` may change them later.
 * @throws InvalidInputError unless `parts` is a list of objects with ids of tables, within the maximum length
 */
export function pinParts<Part extends object>(
  parts: readonly Part[],
  member: string,
  idOf: (part: Part) => unknown,
): PinnedPart<Part>[] {
  return boundedParts(requireList(parts, member), member).map((part) => {
    const id = Object.freeze([...requireTableId(idOf(part))]);
    return Object.freeze({ ...part, id });
  });
}

/** Returns a list of objects, possibly empty, with unchecked members. */
export function requireObjects(value: unknown, member: string): readonly Readonly<Record<string, unknown>>[] {
  if (!Array.isArray(value))
    throw new InvalidInputError(`${member}: must be a list of objects, not ${shortly(value)}`);
  return value.length === 0 ? [] : requireList(value, member);
}

export function requireStrings(value: unknown, member: string): readonly string[] {
  if (!Array.isArray(value))
    throw new InvalidInputError(`${member}: must be an array of strings, not ${shortly(value)}`);
  return value.map((entry, index) => requireString(entry, `${member}[${index}]`));
}

/** Returns a copy of a required map of strings. */
export function requireMap(value: unknown, member: string): Readonly<Record<string, string>> {
  if (isAbsent(value)) throw new InvalidInputError(`${member}: is needed`);
  return { ...optionalStringMap(value, member) };
}

/** Returns a copy of a required map whose values are strings or null. */
export function requireNullableMap(value: unknown, member: string): Readonly<Record<string, string | null>> {
  if (typeof value !== "object" || value === null || Symbol.iterator in value)
    return requireMap(value, member);
  const entries = Object.entries(value);
  optionalStringMap(Object.fromEntries(entries.filter(([, entry]) => entry !== null)), member);
  return Object.fromEntries(entries);
}

/** Returns a map of strings, such as metadata or properties. */
export function optionalStringMap(
  value: unknown,
  member: string,
): Readonly<Record<string, string>> | undefined {
  if (isAbsent(value)) return undefined;
  // The entries of a Map are not members and would silently be lost.
  if (typeof value !== "object" || Symbol.iterator in value) {
    throw new InvalidInputError(`${member}: must be an object of strings, not ${shortly(value)}`);
  }
  for (const [key, entry] of Object.entries(value)) {
    if (typeof entry !== "string")
      throw new InvalidInputError(`${member}.${key}: must be a string, not ${shortly(entry)}`);
    if (!isWellFormed(key) || !isWellFormed(entry)) {
      throw new InvalidInputError(`${member}.${key}: must be well-formed Unicode`);
    }
  }
  return value as Record<string, string>;
}

/** Returns the properties of a table or namespace. */
export function optionalProperties(value: unknown): Readonly<Record<string, string>> | undefined {
  const properties = optionalStringMap(value, "properties");
  let length = 0;
  for (const [key, entry] of Object.entries(properties ?? {})) length += key.length + entry.length;
  if (length <= MAX_PROPERTIES_LENGTH) return properties;
  throw new InvalidInputError(`properties: must have at most ${MAX_PROPERTIES_LENGTH} characters in all`);
}

/** Returns the schema of rows that are plain objects. */
export function optionalSchema(schema: unknown): Schema | undefined {
  if (isAbsent(schema)) return undefined;
  if (!Array.isArray((schema as Partial<ForeignSchema>).fields)) {
    throw new InvalidInputError(`schema: must be an Arrow schema, not ${shortly(schema)}`);
  }
  return adoptSchema(schema as ForeignSchema);
}

/** Returns one of `choices`, which are in PascalCase. Any case and snake_case are accepted. */
export function parseChoice<const Choice extends string, Fallback extends Choice | undefined>(
  value: unknown,
  member: string,
  choices: readonly Choice[],
  fallback: Fallback,
): Choice | Fallback {
  if (isAbsent(value)) return fallback;
  if (typeof value === "string") {
    const lowerCase = value.toLowerCase();
    const match = choices.find(
      (choice) => choice.toLowerCase() === lowerCase || snakeCase(choice) === lowerCase,
    );
    if (match !== undefined) return match;
  }
  throw new InvalidInputError(`${member}: must be one of ${choices.join(", ")}, not ${shortly(value)}`);
}

const snakeCase = (pascal: string): string => pascal.replace(/(?<!^)([A-Z])/g, "_$1").toLowerCase();
