/**
 * What passes between the container (which knows where bytes lie) and the page codecs (which know what they
 * mean).
 */

import type { Layout } from "../../arrow/columns/column.js";
import { CorruptFileError, UnsupportedError } from "../../errors.js";
import type { PageLayout } from "../../format/encodings.js";
import type { ArrayEncoding } from "../../format/encodings20.js";
import type { BlobPlacement } from "./blobPlacement.js";

/** Data file versions that are read and written. */
export type FileVersion = "2.0" | StructuralVersion;

/** Data file versions that are read, 2.3 as far as its pages are laid out and encoded as those of 2.2 are. */
export type ReadableVersion = FileVersion | "2.3";

/** Versions whose pages have a structural layout and levels. */
export type StructuralVersion = "2.1" | "2.2";

/** How a page is encoded: a structural layout, or arrays in 2.0. Exactly one member is set. */
export interface PageEncoding extends PageLayout {
  /** Of 2.0. */
  array?: ArrayEncoding;
  /** Pages of 2.0 that make up rows of lists together. */
  nested?: NestedArrays;
}

/** Pages of one column of a 2.0 file, and those of the columns inside its lists (v20/nestedArrays.ts). */
export interface NestedArrays {
  readonly pages: readonly ArrayPage[];
  /** Values of the first page that are not wanted. */
  readonly skip: number;
  /** Values that are wanted. */
  readonly count: number;
  /** All items of the pages' lists; null for a leaf. */
  readonly items: NestedArrays | null;
}

export interface ArrayPage {
  readonly encoding: ArrayEncoding;
  readonly valueCount: number;
  readonly bufferCount: number;
}

/** A run of bytes of a file. */
export interface ByteRange {
  readonly byteOffset: number;
  readonly length: number;
}

/** A page ready to be written. */
export interface EncodedPage {
  readonly encoding: PageEncoding;
  /** The page's buffers, each as pieces to be written one behind the other (views where possible). */
  readonly buffers: readonly (readonly Uint8Array[])[];
  readonly rowCount: number;
}

/** A column as the file layer sees it. */
export interface FileColumn {
  /** Field id in the table's schema. */
  readonly fieldId: number;
  /** Canonical path, for messages. */
  readonly path: string;
  /** A spine: one leaf and what is around it. */
  readonly layout: Layout;
  /**
   * The column is that of the list or struct that the leaf is in, as 2.0 has them; the leaf is one of nulls and
   * stands for what is inside.
   */
  readonly isHeader?: boolean;
  /** The leaf's values are put outside the pages, which say where: see blobPlacement.ts. */
  readonly blobs?: BlobPlacement;
  /** Of the outer-most node. */
  readonly nullable: boolean;
  /** Arrow field metadata; `lance-encoding:*` keys steer compression. */
  readonly metadata: ReadonlyMap<string, string>;
}

/** Where a page came from, for errors. */
export interface PageOrigin {
  readonly path: string;
  /** Position of the page's first buffer in the file. */
  readonly byteOffset: number;
}

/** The error for bytes of a page that cannot be what its encoding says. */
export const corruptPage = (origin: PageOrigin, reason: string): CorruptFileError =>
  new CorruptFileError(origin.path, origin.byteOffset, reason);

/** The error for a page that is encoded in a way this build does not read. */
export const unsupportedPage = (origin: PageOrigin, what: string): UnsupportedError =>
  new UnsupportedError(
    `${origin.path}: page at byte ${origin.byteOffset} uses ${what}, which is not supported`,
  );
