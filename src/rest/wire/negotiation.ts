/** Preferences of the client in its `accept` headers: media types of rows, and gzip. */

import { parseAccept } from "hono/utils/accept";
import { Refusal } from "./problem.js";

export const ARROW_STREAM = "application/vnd.apache.arrow.stream";
export const ARROW_FILE = "application/vnd.apache.arrow.file";

/** Preference for one type or coding. */
interface Wish {
  /** Weight from 0 (refused) to 1. */
  readonly weight: number;
  /** Width of the matching pattern: 0 for an exact name. */
  readonly width: number;
}

const NOTHING_SAID: Wish = { weight: Number.MIN_VALUE, width: Number.POSITIVE_INFINITY };

/**
 * True if rows are sent as a stream and not as a file. Some rows only fit into a stream. A client that names
 * neither form gets rows; a client that refuses them with weight 0 does not.
 * @throws Refusal with 406
 */
export function wantsStream(headers: Headers, fitsStreamOnly: boolean): boolean {
  const accept = headers.get("accept") ?? "";
  const [stream, file] = [ARROW_STREAM, ARROW_FILE].map((type) =>
    wishOf(accept, [type, "application/*", "*/*"]),
  );
  const takesFile = file.weight > 0 && !fitsStreamOnly;
  if (stream.weight === 0 && !takesFile) {
    const forms = fitsStreamOnly ? ARROW_STREAM : `${ARROW_FILE} or ${ARROW_STREAM}`;
    throw new Refusal(406, "Unsupported", `accept: these rows are only available as ${forms}`);
  }
  if (!takesFile || stream.weight !== file.weight) return !takesFile || stream.weight > file.weight;
  return stream.width < file.width || stream.width === 0;
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
