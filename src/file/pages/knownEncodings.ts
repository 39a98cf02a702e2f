/**
 * Recognises encodings that this release can read, from the file's metadata. A page of an unknown encoding
 * fails when it is read: too late for a reader that could do without the file.
 */

import { CompressionScheme } from "../../format/encodings.js";
import type { PageEncoding } from "../container/page.js";

/** Names in files of 2.0, and numbers in later ones. */
const SCHEMES: ReadonlySet<unknown> = new Set([
  ...["none", "lz4", "zstd"],
  ...[CompressionScheme.LZ4, CompressionScheme.ZSTD],
]);

/** Encodings that were found to be readable: pages share them. */
const knownEncodings = new WeakSet<object>();

/** True if this release can read all parts of an encoding. */
export function isKnownEncoding(encoding: PageEncoding): boolean {
  if (knownEncodings.has(encoding)) return true;
  if (!isKnown(encoding)) return false;
  knownEncodings.add(encoding);
  return true;
}

function isKnown(part: object): boolean {
  return Object.entries(part).every(([name, value]: [string, unknown]) => {
    if (value === undefined) return true;
    if (name === "unknown") return false;
    if (name === "scheme") return SCHEMES.has(value);
    return typeof value !== "object" || value === null || ArrayBuffer.isView(value) || isKnown(value);
  });
}
