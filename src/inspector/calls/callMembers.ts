/** Members of the page's requests. The engine checks those that it gets unchanged. */

import { InvalidInputError } from "../../errors.js";
import { checkOptionMembers, shortly } from "../../optionMembers.js";

/** A request of the page: an object from JSON, whose members are unchecked. */
export type CallMembers = Readonly<Record<string, unknown>>;

/** Members that name a version of a table. */
export const TABLE_MEMBERS = ["id", "branch", "version"] as const;

/**
 * Checks the names of a request's members.
 * @throws InvalidInputError for unknown members, and for a request that is no object
 */
export function requireMembers(request: unknown, names: readonly string[]): CallMembers {
  checkOptionMembers("request", request, names);
  return request as CallMembers;
}

/** Returns the members that name a version of a table, for a request to the engine. */
export function tableMembers({ id, branch, version }: CallMembers): {
  readonly id: readonly string[];
  readonly branch?: string;
  readonly version?: number;
} {
  if (!Array.isArray(id)) throw new InvalidInputError(`id: must be a list of texts, not ${shortly(id)}`);
  return {
    id: id as readonly string[],
    ...(branch !== undefined && branch !== null && { branch: branch as string }),
    ...(version !== undefined && version !== null && { version: version as number }),
  };
}

/** @throws InvalidInputError unless the member is an integer in the range */
export function requireInteger(members: CallMembers, name: string, min: number, max: number): number {
  const value = members[name];
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max) return value;
  throw new InvalidInputError(`${name}: must be an integer from ${min} to ${max}, not ${shortly(value)}`);
}

/** @throws InvalidInputError unless the member is a text */
export function requireText(members: CallMembers, name: string): string {
  const value = members[name];
  if (typeof value === "string") return value;
  throw new InvalidInputError(`${name}: must be a text, not ${shortly(value)}`);
}

/** @throws InvalidInputError unless the member is a list of texts of at most `max` items, or absent */
export function optionalTexts(members: CallMembers, name: string, max: number): string[] | undefined {
  const value = members[name];
  if (value === undefined || value === null) return undefined;
  if (Array.isArray(value) && value.length <= max && value.every((item) => typeof item === "string")) {
    return value;
  }
  throw new InvalidInputError(`${name}: must be a list of at most ${max} texts`);
}
