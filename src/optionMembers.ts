/** Refuses misspelt members of requests and options, which would silently mean their defaults. */

import { InvalidInputError } from "./errors.js";
import { nearestName } from "./nearestName.js";

/** Most names that a message lists. */
const MAX_LISTED = 12;

/**
 * Checks that options are an object with only the given members.
 * @param name of the options, for the error
 * @throws InvalidInputError naming the member, and the one that was meant
 */
export function checkOptionMembers(name: string, options: unknown, members: readonly string[]): void {
  if (!isObject(options)) throw new InvalidInputError(`${name}: must be an object, not ${shortly(options)}`);
  const unknown = Object.keys(options).find((member) => !members.includes(member));
  if (unknown !== undefined) throw unknownMember(`${name}.${unknown}`, unknown, members, "option");
}

/**
 * The error for a member that nothing knows.
 * @param label how the message names it
 * @param noun what it is none of, such as "option"
 */
export function unknownMember(
  label: string,
  given: string,
  members: readonly string[],
  noun: string,
): InvalidInputError {
  const resolved = nearestName(given, members);
  const told =
    resolved !== undefined
      ? `; did you mean ${resolved}?`
      : members.length === 0
        ? "; there are none"
        : members.length <= MAX_LISTED
          ? `; there are ${members.join(", ")}`
          : "";
  return new InvalidInputError(`${label.slice(0, 200)}: there is no such ${noun}${told}`);
}

/** Whether a value can have members that were given by name. A promise's are not known yet. */
export const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !isPromise(value);

/** Whether somebody forgot to await a value. */
const isPromise = (value: unknown): boolean =>
  typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";

/** What a value is, in a few words for a message. */
export function shortly(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "an array";
  if (isPromise(value)) return "a promise: await it first";
  if (typeof value === "object") return "an object";
  if (typeof value === "function") return "a function";
  const text = typeof value === "string" ? JSON.stringify(value) : String(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}
