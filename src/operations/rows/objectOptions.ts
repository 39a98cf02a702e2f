/** Options of `toArray` and `rows`: how objects hold dates and 64-bit integers. */

import type { ValueForms } from "../../arrow/objects/valueForms.js";
import { InvalidInputError } from "../../errors.js";
import type { ObjectOptions } from "../../namespace/queries.js";
import { checkOptionMembers, shortly } from "../../optionMembers.js";

const CHOICES = {
  dates: ["Date", "number", "iso"],
  bigints: ["bigint", "number", "string"],
} as const;

/**
 * Returns the forms of values.
 * @param method name of the method, for messages
 * @throws InvalidInputError for unknown options, and for values that an option does not have
 */
export function valueForms(method: string, options: ObjectOptions | null | undefined): ValueForms {
  const chosen = options ?? {};
  checkOptionMembers(method, chosen, Object.keys(CHOICES));
  for (const [name, choices] of Object.entries(CHOICES)) {
    const choice = chosen[name as keyof typeof CHOICES];
    if (choice === undefined || (choices as readonly string[]).includes(choice)) continue;
    const listed = choices.map((each) => JSON.stringify(each)).join(", ");
    throw new InvalidInputError(`${method}.${name}: must be one of ${listed}, not ${shortly(choice)}`);
  }
  return { dates: chosen.dates ?? "Date", bigints: chosen.bigints ?? "bigint" };
}
