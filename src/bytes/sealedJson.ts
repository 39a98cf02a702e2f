/**
 * JSON with a checksum after it, for small files. Readers of JSON ignore the white space that encodes the
 * checksum, and programs that change such a file drop it:
 *
 *     the JSON, line feed, 32 characters: the bits of the CRC-32 of the JSON from the highest to the lowest,
 *     a tab for 1 and a space for 0
 *
 * A file without such an end was written by another program.
 */

import { parseBoundedJson } from "./boundedJson.js";
import { crc32 } from "./crc32.js";

const BITS = 32;
/** The line feed and the bits. */
const SEAL_BYTES = 1 + BITS;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const ZERO = 0x20;
const ONE = 0x09;

/** @param indent spaces for each level; 0 for everything on one line */
export function encodeSealedJson(value: unknown, indent = 0): Uint8Array {
  const json = new TextEncoder().encode(JSON.stringify(value, null, indent));
  const file = new Uint8Array(json.length + SEAL_BYTES);
  file.set(json);
  const checksum = crc32(json);
  file[json.length] = LINE_FEED;
  for (let bit = 0; bit < BITS; bit++) {
    file[json.length + 1 + bit] = ((checksum >>> (BITS - 1 - bit)) & 1) === 1 ? ONE : ZERO;
  }
  return file;
}

/**
 * Returns the value of a file of any writer. Undefined if the file fails its checksum, is not UTF-8 or JSON,
 * or nests values deeper than boundedJson.ts allows.
 */
export function decodeSealedJson(file: Uint8Array): unknown {
  if (isSealBroken(file)) return undefined;
  try {
    return parseBoundedJson(new TextDecoder("utf-8", { fatal: true }).decode(file));
  } catch {
    return undefined;
  }
}

/** True if bytes end with a checksum of other bytes, or with one of which some characters are damaged. */
export function isSealBroken(file: Uint8Array): boolean {
  const end = file.length - SEAL_BYTES;
  if (end < 0 || file[end] !== LINE_FEED) return false;
  let checksum = 0;
  let areBits = true;
  for (const character of file.subarray(end + 1)) {
    if (character !== ZERO && character !== ONE) areBits = false;
    // Another character means that the file is no JSON, or was never sealed.
    if (!isWhiteSpace(character)) return false;
    checksum = (checksum << 1) | (character === ONE ? 1 : 0);
  }
  return !areBits || crc32(file.subarray(0, end)) !== checksum >>> 0;
}

/** True for white space of JSON. */
const isWhiteSpace = (character: number): boolean =>
  character === ZERO || character === ONE || character === LINE_FEED || character === CARRIAGE_RETURN;
