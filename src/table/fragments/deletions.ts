/**
 * Reads and writes deletion files: the set of deleted row offsets of a fragment, in one of two forms:
 *
 *     .arrow   an Arrow IPC file with one column `row_id` of UInt32, in any order; bodies may be compressed
 *     .bin     a 32-bit Roaring bitmap in the portable serialisation
 *
 * In both, a check block (bytes/checkBlock.ts) covers the content and the name of the file. In .arrow it ends
 * the footer, after the footer's message; in .bin it follows the bitmap. Other readers ignore it in both.
 *
 * A file is complete: it also holds the rows that were deleted earlier. This engine writes bitmaps, which are
 * smaller and need no code for Arrow IPC. The reference writes fewer than 5,000 rows as .arrow.
 */

import { lazyModule } from "../../async/lazy.js";
import { CHECK_BLOCK_BYTES, lookAtCheckBlock, makeCheckBlock } from "../../bytes/checkBlock.js";
import { decodeRoaring, encodeRoaring } from "../../bytes/roaring.js";
import { CorruptFileError, InternalError } from "../../errors.js";
import {
  type DataFragment,
  DELETION_FILE_TYPE,
  type DeletionFile,
  type Manifest,
} from "../../format/table.js";
import type { LruCache } from "../../io/memory/cache.js";
import { basename } from "../../platform/native.js";
import type { VersionsAt } from "../versions/versions.js";
import { resolveDeletionFile } from "./fileLookup.js";

// Loaded when first needed, together with what apache-arrow has for IPC.
const arrowForm = lazyModule(() => import("./arrowDeletions.js"));

/** Maximum size in bytes; a larger file would hold more rows than any fragment has. */
const MAX_DELETION_FILE_BYTES = 2 ** 30;

/** Rows of a deletion file, kept in the cache. Callers must not change them. */
export interface KeptDeletions {
  readonly offsets: Uint32Array;
  /** Identity of their file; another file may have replaced it. */
  readonly identity: string;
}

/** Bytes of a cache entry besides its rows. */
const ENTRY_BYTES = 256;

/**
 * Returns the offsets of a fragment's deleted rows, ascending and unique; null if it has no deletion file.
 * Keeps them as long as the file is the same.
 * @throws CorruptFileError
 */
export async function readKeptDeletions(
  table: VersionsAt,
  manifest: Manifest,
  fragment: DataFragment,
  kept: LruCache<KeptDeletions>,
): Promise<Uint32Array | null> {
  const path = await resolveDeletionFile(table, manifest, fragment);
  if (path === null) return null;
  const stat = await table.disk.stat(path);
  const cached = kept.peek(path);
  if (cached !== undefined && cached.identity === stat?.identity && fitsFragment(cached.offsets, fragment)) {
    return cached.offsets;
  }
  const offsets = await readFrom(table, fragment, path);
  if (stat !== null) {
    kept.set(path, { offsets, identity: stat.identity }, ENTRY_BYTES + offsets.byteLength);
  }
  return offsets;
}

/** Returns true if cached rows fit a fragment. If they do not, reading the file reports the reason. */
function fitsFragment(offsets: Uint32Array, fragment: DataFragment): boolean {
  const behindLast = offsets.length === 0 ? 0 : offsets[offsets.length - 1] + 1;
  return isAnnounced(offsets, fragment) && behindLast <= fragment.physicalRows;
}

/** Returns true if the number of rows matches the manifest, if it states one. */
function isAnnounced(offsets: Uint32Array, { deletionFile }: DataFragment): boolean {
  const announced = deletionFile?.numDeletedRows ?? 0;
  return announced === 0 || announced === offsets.length;
}

/**
 * Reads the offsets of a fragment's deleted rows, ascending and unique; null if it has no deletion file.
 * @throws CorruptFileError
 */
export async function readDeletions(
  table: VersionsAt,
  manifest: Manifest,
  fragment: DataFragment,
): Promise<Uint32Array | null> {
  const path = await resolveDeletionFile(table, manifest, fragment);
  return path === null ? null : readFrom(table, fragment, path);
}

async function readFrom({ disk }: VersionsAt, fragment: DataFragment, path: string): Promise<Uint32Array> {
  const { deletionFile, physicalRows } = fragment;
  if (deletionFile === undefined) throw new InternalError(`${path}: its fragment has no deletion file`);
  const bytes = await disk.readFile(path, MAX_DELETION_FILE_BYTES);
  if (bytes === null) throw new CorruptFileError(path, 0, "the deletion file is missing");
  const content = withoutCheckBlock(bytes, deletionFile.fileType, path);
  const offsets = await decodeDeletions(content, deletionFile.fileType, physicalRows, path);
  if (!isAnnounced(offsets, fragment)) {
    const reason = `${offsets.length} rows deleted, the manifest says ${deletionFile.numDeletedRows}`;
    throw new CorruptFileError(path, 0, reason);
  }
  return offsets;
}

/** Returns the number of bytes after the check block; in .arrow, the footer's length and the magic. */
const bytesAfterBlock = (fileType: number): number => (fileType === DELETION_FILE_TYPE.arrowArray ? 10 : 0);

/**
 * Encodes a deletion file as a bitmap with its check block.
 * @param offsets ascending and unique
 * @param name name of the file
 * @returns pieces to write one after the other
 */
export function encodeDeletions(offsets: Uint32Array, name: string): Uint8Array[] {
  const content = encodeRoaring(offsets);
  return [content, makeCheckBlock(content, new TextEncoder().encode(name))];
}

/**
 * Returns the content of a deletion file.
 * @throws CorruptFileError if its check block belongs to another content or file
 */
function withoutCheckBlock(file: Uint8Array, fileType: number, path: string): Uint8Array {
  const blockStart = file.length - CHECK_BLOCK_BYTES - bytesAfterBlock(fileType);
  const block = lookAtCheckBlock(file, blockStart, new TextEncoder().encode(basename(path)));
  if (block === "damaged") throw new CorruptFileError(path, blockStart, "the file fails its checksum");
  // The Arrow reader gets the footer together with its block.
  return block === "intact" && bytesAfterBlock(fileType) === 0 ? file.subarray(0, blockStart) : file;
}

/** @param rowCount rows of the fragment; every offset must be lower */
export async function decodeDeletions(
  bytes: Uint8Array,
  fileType: number,
  rowCount: number,
  path: string,
): Promise<Uint32Array> {
  let offsets: Uint32Array;
  if (fileType === DELETION_FILE_TYPE.bitmap) {
    offsets = decodeRoaring(bytes, rowCount, { path, byteOffset: 0 });
  } else if (fileType === DELETION_FILE_TYPE.arrowArray) {
    offsets = (await arrowForm.get()).decodeArrowOffsets(bytes, path);
  } else {
    throw new CorruptFileError(path, 0, `the deletion file has the unknown type ${fileType}`);
  }
  for (let index = 0; index < offsets.length; index++) {
    if (index > 0 && offsets[index] === offsets[index - 1]) {
      throw new CorruptFileError(path, 0, `row ${offsets[index]} is deleted twice`);
    }
  }
  if (offsets.length > 0 && offsets[offsets.length - 1] >= rowCount) {
    throw new CorruptFileError(path, 0, `it deletes row ${offsets[offsets.length - 1]} of ${rowCount} rows`);
  }
  return offsets;
}

/** Returns true if two entries of one fragment name the same deletion file. */
export const isSameDeletion = (a: DeletionFile, b: DeletionFile | undefined): boolean =>
  b !== undefined &&
  a.id === b.id &&
  a.readVersion === b.readVersion &&
  a.fileType === b.fileType &&
  a.baseId === b.baseId;
