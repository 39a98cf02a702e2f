/** Preferences of the client in its `accept` headers: media types of rows, and gzip. */

import { parseAccept } from "hono/utils/accept";
import { ARROW_FILE, ARROW_STREAM, JSON_LINES, JSON_TYPE } from "./mediaTypes.js";
import { Refusal } from "./problem.js";

/** Preference for one type or coding. */
interface Wish {
  /** Weight from 0 (refused) to 1. */
  readonly weight: number;
  /** Width of the matching pattern: 0 for an exact name. */
  readonly width: number;
}

const NOTHING_SAID: Wish = { weight: Number.MIN_VALUE, width: Number.POSITIVE_INFINITY };

/** Form of an answer with rows. */
export type RowsForm = "stream" | "file" | "json" | "lines";

/** Media types of the forms. */
export const ROW_TYPES: Readonly<Record<RowsForm, string>> = {
  stream: ARROW_STREAM,
  file: ARROW_FILE,
  json: JSON_TYPE,
  lines: JSON_LINES,
};

/**
 * Returns the form that the client prefers. Of equal wishes, the narrower pattern decides, then Arrow. Some
 * rows don't fit into a file. A client that names no form gets Arrow; a client that refuses it with weight 0
 * does not.
 * @param forms forms that the rows may have
 * @throws Refusal with 406
 */
export function rowsFormOf(headers: Headers, forms: readonly RowsForm[]): RowsForm {
  const accept = headers.get("accept") ?? "";
  let best: { readonly form: RowsForm; readonly wish: Wish } | undefined;
  for (const form of forms) {
    const wish = wishOf(accept, [ROW_TYPES[form], "application/*", "*/*"]);
    const isArrow = form === "stream" || form === "file";
    if (wish.weight === 0 || (wish === NOTHING_SAID && !isArrow)) continue;
    if (best === undefined || isBetter(wish, best.wish, form)) best = { form, wish };
  }
  if (best !== undefined) return best.form;
  const types = forms.map((form) => ROW_TYPES[form]).join(", ");
  throw new Refusal(406, "Unsupported", `accept: these rows are only available as ${types}`);
}

/** Compares the wish for a form with that for an earlier one. A file is better if a pattern fits both. */
function isBetter(wish: Wish, earlier: Wish, form: RowsForm): boolean {
  if (wish.weight !== earlier.weight) return wish.weight > earlier.weight;
  if (wish.width !== earlier.width) return wish.width < earlier.width;
  return form === "file" && wish.width > 0;
}

/** True if the client accepts gzip and does not prefer uncompressed answers. */
export function takesGzip(headers: Headers): boolean {
  const accept = headers.get("accept-encoding") ?? "";
  const [gzip, plain] = [wishOf(accept, ["gzip", "*"]), wishOf(accept, ["identity"])];
  return gzip !== NOTHING_SAID && gzip.weight > 0 && gzip.weight >= plain.weight;
}

/**
 * Returns the preference of a header.
 * @param patterns the narrowest first; the first that occurs in the header decides
 */
function wishOf(header: string, patterns: readonly string[]): Wish {
  const accepted = parseAccept(header.toLowerCase());
  for (const [width, pattern] of patterns.entries()) {
    // Sorted by descending weight.
    const match = accepted.find(({ type }) => type === pattern);
    if (match !== undefined) return { weight: match.q, width };
  }
  return NOTHING_SAID;
}
