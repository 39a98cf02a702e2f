/** What the client accepts, by the weights that it gives: media types of rows, and gzip. */

import { parseAccept } from "hono/utils/accept";
import { Refusal } from "./problem.js";

export const ARROW_STREAM = "application/vnd.apache.arrow.stream";
export const ARROW_FILE = "application/vnd.apache.arrow.file";

/** What a header says about one type or coding. */
interface Wish {
  /** From 0, which is a refusal, to 1. */
  readonly weight: number;
  /** How it was matched: 0 by its exact name, more by wider patterns. */
  readonly width: number;
}

const NOTHING_SAID: Wish = { weight: Number.MIN_VALUE, width: Number.POSITIVE_INFINITY };

/**
 * Whether rows are sent as a stream rather than as a file. Some rows fit only into a stream. A client that names
 * neither form gets rows all the same; a client that refuses them with a weight of 0 does not.
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
    throw new Refusal(406, "Unsupported", `accept: these rows come as ${forms} only`);
  }
  if (!takesFile || stream.weight !== file.weight) return !takesFile || stream.weight > file.weight;
  return stream.width < file.width || stream.width === 0;
}

/** Whether the client accepts gzip, and does not prefer an answer without compression. */
export function takesGzip(headers: Headers): boolean {
  const accept = headers.get("accept-encoding") ?? "";
  const [gzip, plain] = [wishOf(accept, ["gzip", "*"]), wishOf(accept, ["identity"])];
  return gzip !== NOTHING_SAID && gzip.weight > 0 && gzip.weight >= plain.weight;
}

/** @param patterns the narrowest first; the first one in the header decides */
function wishOf(header: string, patterns: readonly string[]): Wish {
  const accepted = parseAccept(header.toLowerCase());
  for (const [width, pattern] of patterns.entries()) {
    // The heaviest comes first.
    const found = accepted.find(({ type }) => type === pattern);
    if (found !== undefined) return { weight: found.q, width };
  }
  return NOTHING_SAID;
}
