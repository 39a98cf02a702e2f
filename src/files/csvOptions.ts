/** Options of CSV that its reader and its writer share. */

import { InvalidInputError } from "../errors.js";
import { shortly } from "../optionMembers.js";

/** Form of a CSV file. */
export interface CsvFormat {
  /** Character between values. Default: `","`. */
  readonly delimiter?: string | undefined;
  /** Character around values, doubled inside them. Default: `'"'`. */
  readonly quote?: string | undefined;
}

/** Returns delimiter and quote. */
export function csvFormat(
  name: string,
  { delimiter, quote }: CsvFormat,
): { delimiter: string; quote: string } {
  const format = {
    delimiter: character(`${name}.delimiter`, delimiter, ","),
    quote: character(`${name}.quote`, quote, '"'),
  };
  if (format.delimiter !== format.quote) return format;
  throw new InvalidInputError(`${name}.quote: must differ from the delimiter`);
}

function character(name: string, value: unknown, byDefault: string): string {
  if (value === undefined) return byDefault;
  if (typeof value === "string" && /^[^\r\n\u{80}-\u{10ffff}]$/u.test(value)) return value;
  throw new InvalidInputError(`${name}: must be one ASCII character, not ${shortly(value)}`);
}
