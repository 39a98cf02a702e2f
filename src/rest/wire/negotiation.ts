/** What the client takes, by the weights that it gives: media types of rows, and gzip. */

import { parseAccept } from "hono/utils/accept";
import { Refusal } from "./problem.js";

export const ARROW_STREAM = "application/vnd.apache.arrow.stream";
export const ARROW_FILE = "application/vnd.apache.arrow.file";

/** What a header says of one type or coding. */
interface Wish {
  /** From 0, which is a refusal, to 1. */
  readonly weight: number;
  /** How it was named: 0 by its name, more by wider patterns. */
  readonly width: number;
}

const NOTHING_SAID: Wish = { weight: Number.MIN_VALUE, width: Number.POSITIVE_INFINITY };

/**
 * Whether rows go out as a stream rather than as a file. Some fit into a stream only. A client that names neither form gets
 * rows all the same; one that refuses by a weight of 0 does not.
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

/** Whether gzip is among the encodings that the client takes, and it would not rather have none. */
export function takesGzip(headers: Headers): boolean {
  const accept = headers.get("accept-encoding") ?? "";
  const [gzip, plain] = [wishOf(accept, ["gzip", "*"]), wishOf(accept, ["identity"])];
  return gzip !== NOTHING_SAID && gzip.weight > 0 && gzip.weight >= plain.weight;
}

/** @param patterns the narrowest first, which decides */
function wishOf(header: string, patterns: readonly string[]): Wish {
  const accepted = parseAccept(header.toLowerCase());
  for (const [width, pattern] of patterns.entries()) {
    // The heaviest comes first.
    const found = accepted.find(({ type }) => type === pattern);
    if (found !== undefined) return { weight: found.q, width };
  }
  return NOTHING_SAID;
}
