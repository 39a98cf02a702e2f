/**
 * Heads of a published table: one file with what every reader of the latest version reads first. These are
 * the manifest, small files as a whole, and the metadata at the ends of data files and index files. A reader
 * gets them with one request.
 *
 *     "TYHEADS1"                8 bytes
 *     u32 length, JSON          [[path, size of the file, start of the piece, length of the piece], …]
 *     pieces                    in the order of the list
 *
 * A piece always reaches to the end of its file. A file without a piece has length 0: only its size is told.
 */

import { readUint32 } from "../../bytes/littleEndian.js";
import { XxHash64 } from "../../bytes/xxHash64.js";

const MAGIC = new TextEncoder().encode("TYHEADS1");
const PREFIX_BYTES = 12;

/** Last bytes of a file, maybe none, and its size. */
export interface FileHead {
  readonly size: number;
  readonly tail: Uint8Array;
}

/** Returns the content of a heads file. @param heads by the path below the table's directory */
export function encodeHeads(heads: ReadonlyMap<string, FileHead>): Uint8Array[] {
  const rows = Array.from(heads, ([path, { size, tail }]) => [path, size, size - tail.length, tail.length]);
  const json = new TextEncoder().encode(JSON.stringify(rows));
  const prefix = new Uint8Array(PREFIX_BYTES);
  prefix.set(MAGIC);
  new DataView(prefix.buffer).setUint32(MAGIC.length, json.length, true);
  return [prefix, json, ...Array.from(heads.values(), ({ tail }) => tail)];
}

/** Decodes heads; null for other bytes. */
export function decodeHeads(bytes: Uint8Array): Map<string, FileHead> | null {
  if (bytes.length < PREFIX_BYTES || MAGIC.some((byte, index) => bytes[index] !== byte)) return null;
  const end = PREFIX_BYTES + readUint32(bytes, MAGIC.length);
  if (end > bytes.length) return null;
  const rows = parseRows(bytes.subarray(PREFIX_BYTES, end));
  if (rows === null) return null;
  const heads = new Map<string, FileHead>();
  let from = end;
  for (const [path, size, start, length] of rows) {
    if (start + length !== size || from + length > bytes.length) return null;
    heads.set(path, { size, tail: bytes.subarray(from, from + length) });
    from += length;
  }
  return heads;
}

type Row = readonly [path: string, size: number, start: number, length: number];

function parseRows(json: Uint8Array): Row[] | null {
  let rows: unknown;
  try {
    rows = JSON.parse(new TextDecoder().decode(json));
  } catch {
    return null;
  }
  return Array.isArray(rows) && rows.every(isRow) ? rows : null;
}

const isRow = (row: unknown): row is Row =>
  Array.isArray(row) &&
  row.length === 4 &&
  typeof row[0] === "string" &&
  row.slice(1).every((value) => Number.isSafeInteger(value) && value >= 0);

/** Returns the XXH64 of bytes in hexadecimal. */
export function hashOf(bytes: Uint8Array): string {
  const hasher = new XxHash64();
  hasher.hash(bytes, 0, bytes.length);
  const hex = (word: number): string => (word >>> 0).toString(16).padStart(8, "0");
  return hex(hasher.high) + hex(hasher.low);
}
