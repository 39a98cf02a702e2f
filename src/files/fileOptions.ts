/** Checks options of readers and writers, and names of columns. */

import { InvalidInputError } from "../errors.js";
import { shortly } from "../optionMembers.js";

/**
 * Returns a whole number above 0.
 * @throws InvalidInputError for any other value
 */
export function positiveOption(name: string, value: unknown, byDefault: number): number {
  if (value === undefined) return byDefault;
  if (Number.isSafeInteger(value) && (value as number) > 0) return value as number;
  throw new InvalidInputError(`${name}: must be a whole number above 0, not ${shortly(value)}`);
}

/**
 * Returns one of some values.
 * @throws InvalidInputError for any other value
 */
export function choiceOption<Value>(name: string, value: unknown, choices: readonly Value[]): Value {
  if (value === undefined) return choices[0];
  if (choices.includes(value as Value)) return value as Value;
  const listed = choices.map((each) => JSON.stringify(each)).join(", ");
  throw new InvalidInputError(`${name}: must be one of ${listed}, not ${shortly(value)}`);
}

/** Returns the first name that occurs twice; undefined if there is none. Files may have millions of names. */
export function firstRepeated(names: readonly string[]): string | undefined {
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name)) return name;
    seen.add(name);
  }
  return undefined;
}
