/** Functions that look for one text in another, or tell how far two are apart. */

import { InvalidInputError } from "../../errors.js";
import { INT32, STRING } from "../values/types.js";
import type { Functions } from "./form.js";
import { signature } from "./text.js";

/** Maximum product of the lengths of two texts whose distance is computed: the time that it takes. */
const MAX_STEPS = 2 ** 24;

/** Number of characters to insert, remove or replace until one text is the other. */
function distance(one: string, other: string): number {
  const [a, b] = [Array.from(one), Array.from(other)];
  if (a.length * b.length > MAX_STEPS) {
    throw new InvalidInputError(`levenshtein: texts of ${a.length} and ${b.length} characters are too long`);
  }
  /** Distances from what was seen of `one` to the beginnings of `other`. */
  const row = Uint32Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 0; i < a.length; i++) {
    let diagonal = row[0];
    row[0] = i + 1;
    for (let j = 0; j < b.length; j++) {
      const above = row[j + 1];
      row[j + 1] = Math.min(above + 1, row[j] + 1, diagonal + (a[i] === b[j] ? 0 : 1));
      diagonal = above;
    }
  }
  return row[b.length];
}

/** The part before the `count`th occurrence of a separator, or behind the one counted so from the end. */
function partBefore(text: string, separator: string, count: bigint): string {
  if (separator === "" || count === 0n) return "";
  if (count > 0n) {
    let at = -separator.length;
    for (let seen = 0n; seen < count; seen++) {
      at = text.indexOf(separator, at + separator.length);
      if (at < 0) return text;
    }
    return text.slice(0, at);
  }
  let at = text.length;
  for (let seen = 0n; seen < -count; seen++) {
    const latest = at - separator.length;
    at = latest < 0 ? -1 : text.lastIndexOf(separator, latest);
    if (at < 0) return text;
  }
  return text.slice(at + separator.length);
}

const substringIndex = signature("tti", 3, STRING, ([text, separator, count]) =>
  partBefore(text as string, separator as string, count as bigint),
);

export const COMPARED_TEXT_FUNCTIONS: Functions = {
  levenshtein: signature("tt", 2, INT32, ([one, other]) => distance(one as string, other as string)),
  /** The place of a text among those between commas, from 1; 0 where it is none of them. */
  find_in_set: signature(
    "tt",
    2,
    INT32,
    ([wanted, list]) => (list as string).split(",").indexOf(wanted as string) + 1,
  ),
  substr_index: substringIndex,
  substring_index: substringIndex,
};
