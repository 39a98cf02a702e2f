/**
 * Chooses the file of each value of a blob column. Columns with the key `lance-encoding:blob` store values in
 * the data file, blobs of version 2 by size:
 *
 *     up to 64 KiB    into the data file
 *     up to 4 MiB     into a side file, back to back; a file that would grow beyond 1 GiB is followed by
 *                     another
 *     above           into a side file of its own
 *
 * A field's metadata may set each of these bounds, in bytes. Side files are in sideFiles.ts.
 */

import { InvalidInputError } from "../../errors.js";

export type BlobPlacement = { readonly kind: "inFile" } | SizePlacement;

/** Bounds in bytes. A size that equals a bound still counts as the smaller kind. */
export interface SizePlacement {
  readonly kind: "bySize";
  /** Largest value that shares a file with others: a side file or the data file. */
  readonly sharedBytes: number;
  /** Largest value stored in the data file. */
  readonly inlineBytes: number;
  /** Largest side file that holds several values. */
  readonly sideFileBytes: number;
}

const INLINE_KEY = "lance-encoding:blob-inline-size-threshold";
const SHARED_KEY = "lance-encoding:blob-dedicated-size-threshold";
const SIDE_FILE_KEY = "lance-encoding:blob-pack-file-size-threshold";

const INLINE_BYTES = 64 * 1024;
const SHARED_BYTES = 4 * 1024 * 1024;
const SIDE_FILE_BYTES = 1024 * 1024 * 1024;

/**
 * Reads the bounds from a field's metadata, with defaults for those it does not set.
 * @param metadata of the field
 * @param path the column, for messages
 * @throws InvalidInputError for a bound that is not a number
 */
export function placementBySize(metadata: ReadonlyMap<string, string>, path: string): SizePlacement {
  const bound = (key: string, least: number, otherwise: number): number => {
    const text = metadata.get(key);
    if (text === undefined) return otherwise;
    const value = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
    if (Number.isSafeInteger(value) && value >= least) return value;
    throw new InvalidInputError(
      `column ${path}: ${key} is ${JSON.stringify(text)}, not a number of bytes from ${least} on`,
    );
  };
  return {
    kind: "bySize",
    sharedBytes: bound(SHARED_KEY, 1, SHARED_BYTES),
    inlineBytes: bound(INLINE_KEY, 0, INLINE_BYTES),
    sideFileBytes: bound(SIDE_FILE_KEY, 1, SIDE_FILE_BYTES),
  };
}
