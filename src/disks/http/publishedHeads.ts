/**
 * Heads of a published table: one file with what every reader of the latest version reads first. These are
 * the manifest, small files as a whole, and of larger files the metadata and the words that tell where the
 * rows of a page are. A reader gets all of it with one request.
 *
 *     "TYHEADS1"                8 bytes
 *     u32 length, JSON          [[path, size of the file, start of a piece, length of the piece, …], …]
 *     pieces                    in the order of the list
 *
 * Pieces of a file ascend. A file without pieces is in the list for its size.
 */

import { readUint32 } from "../../bytes/littleEndian.js";
import { XxHash64 } from "../../bytes/xxHash64.js";

const MAGIC = new TextEncoder().encode("TYHEADS1");
const PREFIX_BYTES = 12;

/** A part of a file. */
export interface FilePiece {
  readonly start: number;
  readonly bytes: Uint8Array;
}

/** Size and some parts of a file. */
export interface FileHead {
  readonly size: number;
  /** Ascending. */
  readonly pieces: readonly FilePiece[];
}

/** Returns the content of a heads file. @param heads by the path below the table's directory */
export function encodeHeads(heads: ReadonlyMap<string, FileHead>): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  const rows = Array.from(heads, ([path, head]) => {
    const row: (string | number)[] = [path, head.size];
    for (const { start, bytes } of head.pieces) {
      row.push(start, bytes.length);
      pieces.push(bytes);
    }
    return row;
  });
  const json = new TextEncoder().encode(JSON.stringify(rows));
  const prefix = new Uint8Array(PREFIX_BYTES);
  prefix.set(MAGIC);
  new DataView(prefix.buffer).setUint32(MAGIC.length, json.length, true);
  return [prefix, json, ...pieces];
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
  for (const [path, size, ...numbers] of rows) {
    const pieces: FilePiece[] = [];
    let last = 0;
    for (let index = 0; index < numbers.length; index += 2) {
      const start = numbers[index];
      const length = numbers[index + 1];
      if (start < last || start + length > size || from + length > bytes.length) return null;
      pieces.push({ start, bytes: bytes.subarray(from, from + length) });
      from += length;
      last = start + length;
    }
    heads.set(path, { size, pieces });
  }
  return heads;
}

type Row = readonly [path: string, size: number, ...numbers: number[]];

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
  row.length >= 2 &&
  row.length % 2 === 0 &&
  typeof row[0] === "string" &&
  row.slice(1).every((value) => Number.isSafeInteger(value) && value >= 0);

/** Returns the XXH64 of bytes in hexadecimal. */
export function hashOf(bytes: Uint8Array): string {
  const hasher = new XxHash64();
  hasher.hash(bytes, 0, bytes.length);
  const hex = (word: number): string => (word >>> 0).toString(16).padStart(8, "0");
  return hex(hasher.high) + hex(hasher.low);
}
