/**
 * Infers the type of a CSV column from its texts. The first type that all texts have is taken:
 *
 *     true, false                              bool
 *     whole numbers of 64 bits                 int64; not with leading zeros, as in postal codes
 *     numbers, nan, inf                        float64
 *     2024-03-10                               date32
 *     2024-03-10T10:00, 2024-03-10 10:00:00Z   timestamp in microseconds; in UTC if all have an offset
 *     anything else                            utf8
 */

import { Bool, type DataType, DateDay, Float64, Int64, TimestampMicrosecond, Utf8 } from "apache-arrow";
import { parseDay, parseInstant } from "../arrow/types/parsedTimes.js";
import { isFloatText } from "./csvTexts.js";

const WHOLE = /^-?(0|[1-9]\d{0,18})$/;
const LEADING_ZERO = /^[+-]?0\d/;
const DAY = /^\d{4}-\d{2}-\d{2}$/;
const MOMENT = /^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}/;
const OFFSET = /(Z|[+-]\d{2}(:?\d{2})?)$/i;
const MAX_INT64 = 2n ** 63n;

function isInt64(text: string): boolean {
  if (!WHOLE.test(text)) return false;
  if (text.length < 19) return true;
  const value = BigInt(text);
  return value < MAX_INT64 && value >= -MAX_INT64;
}

const isMoment = (text: string): boolean => MOMENT.test(text) && parseInstant(text, null) !== null;

const CANDIDATES: readonly { readonly fits: (text: string) => boolean; readonly type: () => DataType }[] = [
  { fits: (text) => /^(true|false)$/i.test(text), type: () => new Bool() },
  { fits: isInt64, type: () => new Int64() },
  { fits: (text) => !LEADING_ZERO.test(text) && isFloatText(text), type: () => new Float64() },
  { fits: (text) => DAY.test(text) && parseDay(text) !== null, type: () => new DateDay() },
  {
    fits: (text) => isMoment(text) && OFFSET.test(text.slice(10)),
    type: () => new TimestampMicrosecond("UTC"),
  },
  { fits: (text) => isMoment(text) && !OFFSET.test(text.slice(10)), type: () => new TimestampMicrosecond() },
];

/** Types that the texts of a column may have. */
export class CsvTypeInference {
  #candidates = CANDIDATES;
  hasValues = false;

  add(text: string): void {
    this.hasValues = true;
    if (this.#candidates.every(({ fits }) => fits(text))) return;
    this.#candidates = this.#candidates.filter(({ fits }) => fits(text));
  }

  /** Type of the column; text if no text was added. */
  get type(): DataType {
    return this.hasValues && this.#candidates.length > 0 ? this.#candidates[0].type() : new Utf8();
  }
}
