/** Types that the container (which locates bytes) and the page codecs (which decode them) exchange. */

import type { FixedColumn, Layout, VariableColumn } from "../../arrow/columns/column.js";
import { CorruptFileError, UnsupportedError } from "../../errors.js";
import type { PageLayout } from "../../format/encodings.js";
import type { ArrayEncoding } from "../../format/encodings20.js";
import type { BlobPlacement } from "./blobPlacement.js";

/** Data file versions that are read and written. */
export type FileVersion = "2.0" | StructuralVersion;

/**
 * Data file versions that are read: 0.1, and 2.3 only if its pages are laid out and encoded like those of
 * 2.2.
 */
export type ReadableVersion = FileVersion | "2.3" | "0.1";

/** Versions whose pages have a structural layout and levels. */
export type StructuralVersion = "2.1" | "2.2";

/**
 * Encoding of a page: a structural layout, or arrays in 2.0. Exactly one member is set, besides those of
 * slices.
 */
export interface PageEncoding extends PageLayout {
  array?: ArrayEncoding;
  /** Pages of a 0.1 file that together make up rows (v01/legacyPages.ts). */
  legacy?: LegacyPages;
  /** Pages of a 2.0 file that together make up rows of lists. */
  nested?: NestedArrays;
  /**
   * Chunks of a page that was cut out of a larger mini-block page, ascending. They began within a list there.
   * Here they begin a list, whatever their first repetition level says.
   */
  withinRow?: readonly number[];
  /** Dictionary of the page that a slice was cut out of; slices share it. */
  keptDictionary?: KeptDictionary;
  /** Set if a buffer of a page with a structural layout is compressed by Zstandard. */
  usesZstd?: true;
}

/** Dictionary of a page, decoded by the first read that needs it. Columns must not refer to its memory. */
export interface KeptDictionary {
  values: VariableColumn | FixedColumn | null;
}

/** Pages of a leaf of a 0.1 file and of the lists around it, outermost first. */
export interface LegacyPages {
  /** Number of lists, then of values. */
  readonly counts: readonly number[];
  /** Position in the file of the buffer with the values of the leaf. */
  readonly valuesPosition: number;
  /** Dictionary of the leaf; null for none. */
  readonly dictionary: { readonly position: number; readonly count: number } | null;
}

/** Location of a page, or of a dictionary, of a 0.1 file. The length of its bytes depends on the type. */
export interface LegacyPlace {
  readonly position: number;
  readonly count: number;
  /** First byte that may belong to the page: texts precede their offsets. */
  readonly start: number;
}

/** Pages of one column of a 2.0 file, and those of the columns inside its lists (v20/nestedArrays.ts). */
export interface NestedArrays {
  readonly pages: readonly ArrayPage[];
  /** Number of leading values of the first page to leave out. */
  readonly skip: number;
  readonly count: number;
  /** All items of the pages' lists; null for a leaf. */
  readonly items: NestedArrays | null;
}

export interface ArrayPage {
  readonly encoding: ArrayEncoding;
  readonly valueCount: number;
  readonly bufferCount: number;
}

export interface EncodedPage {
  readonly encoding: PageEncoding;
  /** The page's buffers, each as pieces that are written back to back (views if possible). */
  readonly buffers: readonly (readonly Uint8Array[])[];
  readonly rowCount: number;
}

/** A column in the view of the file layer. */
export interface FileColumn {
  /** Field id in the table's schema. */
  readonly fieldId: number;
  /** Canonical path, for messages. */
  readonly path: string;
  /** A spine: one leaf and the lists and structs around it. */
  readonly layout: Layout;
  /**
   * True for the column that 2.0 files have for a list or struct itself. The leaf is then a column of nulls
   * that stands for the content of the list or struct.
   */
  readonly isHeader?: boolean;
  /** Set if the leaf's values lie outside the pages, which hold their locations: see blobPlacement.ts. */
  readonly blobs?: BlobPlacement;
  /** True if the outermost node is nullable. */
  readonly nullable: boolean;
  /** Arrow field metadata; `lance-encoding:*` keys steer compression. */
  readonly metadata: ReadonlyMap<string, string>;
}

/** Source of a page, for errors. */
export interface PageOrigin {
  readonly path: string;
  /** Position of the page's first buffer in the file. */
  readonly byteOffset: number;
}

/** Makes the error for page bytes that contradict their encoding. */
export const corruptPage = (origin: PageOrigin, reason: string): CorruptFileError =>
  new CorruptFileError(origin.path, origin.byteOffset, reason);

/** Makes the error for a page whose encoding this build does not read. */
export const unsupportedPage = (origin: PageOrigin, what: string): UnsupportedError =>
  new UnsupportedError(
    `${origin.path}: page at byte ${origin.byteOffset} uses ${what}, which is not supported`,
  );
