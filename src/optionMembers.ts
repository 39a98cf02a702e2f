/** Refuses misspelt option members, which would silently mean their defaults. */

import { InvalidInputError } from "./errors.js";

/**
 * Checks that options are an object with only the given members.
 * @param name of the options, for the error
 * @throws InvalidInputError naming the member
 */
export function checkOptionMembers(name: string, options: unknown, members: readonly string[]): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new InvalidInputError(`${name}: must be an object`);
  }
  const unknown = Object.keys(options).find((member) => !members.includes(member));
  if (unknown !== undefined) throw new InvalidInputError(`${name}.${unknown}: there is no such option`);
}
