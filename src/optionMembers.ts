/** Refuses unknown members, because a misspelt one would silently mean its default. */

import { InvalidInputError } from "./errors.js";
import { nearestName } from "./nearestName.js";

/** Maximum number of names that a message lists. */
const MAX_LISTED = 12;

/**
 * Checks that options are an object with no other members than these.
 * @param name name of the options for the error message
 * @throws InvalidInputError naming the unknown member, and the most similar known one
 */
export function checkOptionMembers(name: string, options: unknown, members: readonly string[]): void {
  if (!isObject(options)) throw new InvalidInputError(`${name}: must be an object, not ${shortly(options)}`);
  const unknown = Object.keys(options).find((member) => !members.includes(member));
  if (unknown !== undefined) throw unknownMember(`${name}.${unknown}`, unknown, members, "option");
}

/**
 * Returns the error for an unknown member.
 * @param label name of the member in the message
 * @param noun kind of the member, such as "option"
 */
export function unknownMember(
  label: string,
  name: string,
  members: readonly string[],
  noun: string,
): InvalidInputError {
  const resolved = nearestName(name, members);
  const suggestion =
    resolved !== undefined
      ? `; did you mean ${resolved}?`
      : members.length === 0
        ? "; there are none"
        : members.length <= MAX_LISTED
          ? `; there are ${members.join(", ")}`
          : "";
  return new InvalidInputError(`${label.slice(0, 200)}: there is no such ${noun}${suggestion}`);
}

/** True if a value is an object with named members. A promise is not. */
export const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !isPromise(value);

/** True if somebody forgot to await a value. */
const isPromise = (value: unknown): boolean =>
  typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";

/** Describes a value in a few words for a message. */
export function shortly(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "an array";
  if (isPromise(value)) return "a promise: await it first";
  if (typeof value === "object") return "an object";
  if (typeof value === "function") return "a function";
  const text = typeof value === "string" ? JSON.stringify(value) : String(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}
