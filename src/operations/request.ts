/**
 * Checks the members of requests. Each function returns the checked value, or throws `InvalidInputError`
 * naming the member.
 */

import type { Schema } from "apache-arrow";
import type { InputBounds } from "../arrow/exchange/input.js";
import { adoptSchema, type ForeignSchema } from "../arrow/types/foreignTypes.js";
import { tagOf } from "../bytes/anyRealm.js";
import { InvalidInputError } from "../errors.js";
import { isWellFormed, parseIdentifier } from "../ident.js";
import { shortly } from "../optionMembers.js";

/** Maximum number of parts of a batch. Each part holds locks and space in the journal. */
const MAX_PARTS = 10_000;
/** Maximum characters of an object's properties. Every operation reads them with the catalog. */
const MAX_PROPERTIES_LENGTH = 2 ** 19;

/** Returns the id of a table, which has at least one part. The catalog checks whether the name is legal. */
export function requireTableId(id: unknown): readonly string[] {
  const parts = optionalId(id);
  if (parts.length === 0)
    throw new InvalidInputError('id: names no table; write id: "t", or ["namespace", "t"]');
  return parts;
}

/** Returns the id of any object. An absent id is the root namespace. */
export function optionalId(id: unknown): readonly string[] {
  if (id === undefined || id === null) return [];
  if (typeof id === "string") return parseIdentifier(id);
  if (!Array.isArray(id)) {
    throw new InvalidInputError(`id: must be a name, or an array of names, not ${shortly(id)}`);
  }
  for (const part of id) {
    if (typeof part !== "string") {
      throw new InvalidInputError(`id: must be an array of names, but contains ${shortly(part)}`);
    }
  }
  return id as string[];
}

/** Returns a version number: an integer from 0 to 2^53 - 1. */
export function requireVersion(value: unknown, member = "version"): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) {
    throw new InvalidInputError(`${member}: must be an integer from 0 to 2^53 - 1, not ${shortly(value)}`);
  }
  return value;
}

export function optionalVersion(value: unknown, member = "version"): number | undefined {
  return value === undefined || value === null ? undefined : requireVersion(value, member);
}

/** Returns an integer of at least `least`. */
export function optionalCount(value: unknown, member: string, least = 0): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < least) {
    throw new InvalidInputError(`${member}: must be an integer of at least ${least}, not ${shortly(value)}`);
  }
  return value;
}

/** Returns a number of at least 0; fractions are allowed. */
export function optionalAmount(value: unknown, member: string): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0) {
    throw new InvalidInputError(`${member}: must be a number of at least 0, not ${shortly(value)}`);
  }
  return value;
}

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
export function optionalFraction(value: unknown, member: string): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "number" || !(value >= 0 && value <= 1)) {
    throw new InvalidInputError(`${member}: must be a number from 0 to 1, not ${shortly(value)}`);
  }
  return value;
}

/** Returns a copy of row offsets, because the caller may change its array. */
export function requireRowOffsets(value: unknown): Float64Array {
  const isNumbers = Array.isArray(value) || (ArrayBuffer.isView(value) && tagOf(value) !== "DataView");
  if (!isNumbers) {
    throw new InvalidInputError(`rowOffsets: must be an array of numbers, not ${shortly(value)}`);
  }
  const numbers = value as ArrayLike<unknown>;
  const offsets = new Float64Array(numbers.length);
  for (let index = 0; index < offsets.length; index++) {
    const offset = numbers[index];
    if (typeof offset !== "number" || !Number.isSafeInteger(offset) || offset < 0) {
      const shown = typeof offset === "number" ? offset : typeof offset;
      throw new InvalidInputError(`rowOffsets: must be integers of at least 0, not ${shown}`);
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

export function optionalString(value: unknown, member: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "string")
    throw new InvalidInputError(`${member}: must be a string, not ${shortly(value)}`);
  return value;
}

/** Returns a required string that is not empty. */
export function requireString(value: unknown, member: string): string {
  const text = optionalString(value, member);
  if (text === undefined || text === "") throw new InvalidInputError(`${member}: is required`);
  return text;
}

export function optionalBoolean(value: unknown, member: string): boolean | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "boolean")
    throw new InvalidInputError(`${member}: must be a boolean, not ${shortly(value)}`);
  return value;
}

/** Returns a callback function. */
export function optionalCallback<Callback>(
  value: Callback | undefined,
  member: string,
): Callback | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "function")
    throw new InvalidInputError(`${member}: must be a function, not ${shortly(value)}`);
  return value;
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

/** Returns a list of objects, possibly empty, with unchecked members. */
export function requireObjects(value: unknown, member: string): readonly Readonly<Record<string, unknown>>[] {
  if (!Array.isArray(value))
    throw new InvalidInputError(`${member}: must be a list of objects, not ${shortly(value)}`);
  return value.length === 0 ? [] : requireList(value, member);
}

export const isAbsent = (value: unknown): value is undefined | null => value === undefined || value === null;

export function requireStrings(value: unknown, member: string): readonly string[] {
  if (!Array.isArray(value))
    throw new InvalidInputError(`${member}: must be an array of strings, not ${shortly(value)}`);
  return value.map((entry, index) => requireString(entry, `${member}[${index}]`));
}

/** Returns a copy of a required map of strings. With `nulls`, values may be null. */
export function requireMap(value: unknown, member: string): Readonly<Record<string, string>>;
export function requireMap(
  value: unknown,
  member: string,
  options: { readonly nulls: true },
): Readonly<Record<string, string | null>>;
export function requireMap(
  value: unknown,
  member: string,
  options?: { readonly nulls: true },
): Readonly<Record<string, string | null>> {
  if (isAbsent(value)) throw new InvalidInputError(`${member}: is needed`);
  if (options?.nulls !== true || typeof value !== "object") {
    return Object.fromEntries(Object.entries(optionalStringMap(value, member) ?? {}));
  }
  const entries = Symbol.iterator in value ? [] : Object.entries(value);
  const present = entries.filter(([, entry]) => entry !== null);
  optionalStringMap(Symbol.iterator in value ? value : Object.fromEntries(present), member);
  return Object.fromEntries(entries);
}

/** Returns a map of strings, such as metadata or properties. */
export function optionalStringMap(
  value: unknown,
  member: string,
): Readonly<Record<string, string>> | undefined {
  if (value === undefined || value === null) return undefined;
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
  throw new InvalidInputError(`properties: at most ${MAX_PROPERTIES_LENGTH} characters in all`);
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
export function parseChoice<Choice extends string>(
  value: unknown,
  member: string,
  choices: readonly Choice[],
  fallback: Choice,
): Choice {
  if (value === undefined || value === null) return fallback;
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
