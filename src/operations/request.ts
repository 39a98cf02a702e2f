/**
 * Checks the members that most requests have. Each function returns the value, or throws naming the member.
 * requestValues.ts has those of fewer requests.
 */

import { isDate } from "../bytes/anyRealm.js";
import { InvalidInputError } from "../errors.js";
import { isWellFormed, parseIdentifier } from "../ident.js";
import { shortly } from "../optionMembers.js";

/** Maximum characters of a commit message. Every reader of the version's manifest reads it. */
const MAX_MESSAGE_LENGTH = 10_000;

/** Returns the id of a table, which has at least one part. The catalog checks whether the name is legal. */
export function requireTableId(id: unknown): readonly string[] {
  const parts = optionalId(id);
  if (parts.length === 0)
    throw new InvalidInputError('id: names no table; write id: "t", or ["namespace", "t"]');
  return parts;
}

/** Returns the id of any object. An absent id is the root namespace. */
export function optionalId(id: unknown): readonly string[] {
  if (isAbsent(id)) return [];
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
  if (isInteger(value, 0)) return value;
  throw new InvalidInputError(`${member}: must be an integer from 0 to 2^53 - 1, not ${shortly(value)}`);
}

export const optionalVersion = (value: unknown, member = "version"): number | undefined =>
  isAbsent(value) ? undefined : requireVersion(value, member);

export const isAbsent = (value: unknown): value is undefined | null => value === undefined || value === null;

export const isInteger = (value: unknown, least: number): value is number =>
  Number.isSafeInteger(value) && (value as number) >= least;

/**
 * Returns a value of a form; undefined if it is absent.
 * @param form form of valid values, for the error message
 */
export function optionalOf<Value>(
  value: unknown,
  member: string,
  form: string,
  isValid: (present: unknown) => boolean,
): Value | undefined {
  if (isAbsent(value)) return undefined;
  if (isValid(value)) return value as Value;
  throw new InvalidInputError(`${member}: must be ${form}, not ${shortly(value)}`);
}

/** ISO 8601: date, time and zone. */
const MOMENT = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?) ?(Z|[+-]\d{2}:\d{2})$/i;

/** Returns a moment in milliseconds since 1970. A Date is read at once, because the caller may change it. */
export function optionalMoment(value: unknown, member: string): number | undefined {
  if (isAbsent(value)) return undefined;
  const millis = isDate(value) ? Date.prototype.getTime.call(value) : millisOfText(value);
  if (Number.isNaN(millis)) {
    const shown = isDate(value)
      ? "an invalid Date"
      : typeof value === "string"
        ? value.slice(0, 80)
        : shortly(value);
    throw new InvalidInputError(
      `${member}: must be a Date, or text with a time zone as in "2026-11-28T06:00:00Z", not ${shown}`,
    );
  }
  return millis;
}

/** NaN unless the value is the text of an existing date and time. */
function millisOfText(value: unknown): number {
  const parts = typeof value === "string" ? MOMENT.exec(value) : null;
  if (parts === null) return Number.NaN;
  const [, date, time, zone] = parts;
  // Date.parse takes February 31 for March 3.
  const exists = new Date(`${date}T00:00:00Z`).toJSON()?.startsWith(date) === true;
  return exists ? Date.parse(`${date}T${time}${zone.toUpperCase()}`) : Number.NaN;
}

/** Returns an integer of at least `least`. */
export const optionalCount = (value: unknown, member: string, least = 0): number | undefined =>
  optionalOf(value, member, `an integer of at least ${least}`, (count) => isInteger(count, least));

export const optionalString = (value: unknown, member: string): string | undefined =>
  optionalOf(value, member, "a string", (text) => typeof text === "string");

/** Returns the message of a commit. */
export function optionalMessage(value: unknown): string | undefined {
  const message = optionalString(value, "message");
  if (message === undefined) return undefined;
  if (message.length > MAX_MESSAGE_LENGTH) {
    throw new InvalidInputError(
      `message: must have at most ${MAX_MESSAGE_LENGTH} characters, not ${message.length}`,
    );
  }
  if (!isWellFormed(message)) throw new InvalidInputError("message: must be well-formed Unicode");
  return message;
}

export const optionalBoolean = (value: unknown, member: string): boolean | undefined =>
  optionalOf(value, member, "a boolean", (flag) => typeof flag === "boolean");

export const optionalCallback = <Callback>(value: Callback | undefined, member: string) =>
  optionalOf<Callback>(value, member, "a function", (callback) => typeof callback === "function");
