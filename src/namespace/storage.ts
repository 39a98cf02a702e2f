/** Request and response types of the operations that describe and verify files. */

import type { VersionRequest } from "./members.js";
import type { WithProgress } from "./upkeep.js";

/** Request of `verifyTable`. */
export interface VerifyTableRequest extends VersionRequest, WithProgress {}

/**
 * Kind of a damage:
 *
 * - `manifest`: a version cannot be read.
 * - `reference`: a tag, a branch or the record of a change cannot be read, or names what does not exist.
 * - `missingFile`: a file that a version names does not exist.
 * - `dataFile`: bytes of a data file are wrong.
 * - `deletionFile`: the list of deleted rows of a fragment cannot be read.
 * - `index`: the files of an index are wrong.
 * - `staleIndex`: an index does not say what the rows say.
 */
export type DamageKind =
  | "manifest"
  | "reference"
  | "missingFile"
  | "dataFile"
  | "deletionFile"
  | "index"
  | "staleIndex";

/** A damage that `verifyTable` found. */
export interface TableDamage {
  /** Kind of the damage. */
  readonly kind: DamageKind;
  /** Absolute path of the damaged file, or of the directory that lacks it. */
  readonly path: string;
  /** Sentence that says what is wrong. */
  readonly message: string;
  /** Offset in the file, if it is known. */
  readonly byteOffset?: number;
  /** Number of the version, if only one is affected. */
  readonly version?: number;
  /** Id of the fragment. */
  readonly fragmentId?: number;
  /** Columns of the verified version whose values cannot all be read. */
  readonly columns?: readonly string[];
  /** Name of the index. */
  readonly indexName?: string;
  /** Sentence that says what can be saved, and how. */
  readonly remedy: string;
}

/** Answer of `verifyTable`. */
export interface VerifyTableResponse {
  /** True if nothing is damaged. */
  readonly isSound: boolean;
  /** Number of the version whose rows were read. Absent if no version can be read. */
  readonly version?: number;
  /** Damages; at most 1000. */
  readonly damages: readonly TableDamage[];
  /** Number of damages, those that are not listed included. */
  readonly damageCount: number;
  /** Sentences about what this release cannot check, such as indexes of unknown kinds. */
  readonly unchecked: readonly string[];
  /** Number of versions of the branch whose manifests were read. */
  readonly checkedVersions: number;
  /** Number of files that were read. */
  readonly checkedFiles: number;
  /** Bytes of these files. */
  readonly checkedBytes: number;
  /** Number of live rows of the version all of whose columns can be read. */
  readonly readableRows: number;
  /** Number of live rows of the version some of whose columns cannot be read. */
  readonly damagedRows: number;
  /** Number of indexes that were compared with the rows. */
  readonly checkedIndexes: number;
  /** Number of the newest version without damage. Absent if there is none. */
  readonly newestSoundVersion?: number;
}

/** Request of `describeTableFile`. */
export interface DescribeTableFileRequest extends VersionRequest {
  /**
   * Path of a data file or index file, relative to the directory of the table or branch:
   * `data/….lance` or `_indices/<uuid>/….lance`.
   */
  readonly path: string;
}
/** A page of a column. */
export interface DescribedPage {
  /** Row of the file that the page begins with. */
  readonly firstRow: number;
  /** Number of rows. */
  readonly rows: number;
  /** Bytes of the page's buffers. */
  readonly bytes: number;
  /** Encoding, outermost first: `miniBlock(bitpacking)`. */
  readonly encoding: string;
}
/** A column of a file. Nested columns are stored leaf by leaf. */
export interface DescribedColumn {
  /** Path of the column. `column <number>` if neither file nor manifest name it. */
  readonly name: string;
  /** Bytes of all pages. */
  readonly bytes: number;
  /** Number of pages. */
  readonly pageCount: number;
  /** Encodings of the pages, each once. */
  readonly encodings: readonly string[];
  /** Pages in row order; at most 1000. */
  readonly pages: readonly DescribedPage[];
}
/** Answer of `describeTableFile`. */
export interface DescribeTableFileResponse {
  /** Absolute path of the file. */
  readonly path: string;
  /** Length of the file in bytes. */
  readonly bytes: number;
  /** Version of the file format. */
  readonly formatVersion: string;
  /** Number of rows. */
  readonly rows: number;
  /** True if the file carries checksums of its pages. */
  readonly hasChecksums: boolean;
  /** Bytes that are no pages of columns: metadata, dictionaries of indexes, blobs and padding. */
  readonly otherBytes: number;
  /** Columns in the order of the file. */
  readonly columns: readonly DescribedColumn[];
  /** Metadata of the file's schema, shortened to 1000 characters each. Absent if there is none. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** Request of `describeTableStorage`. */
export interface DescribeTableStorageRequest extends VersionRequest, WithProgress {}
/** A data file of a fragment. */
export interface StoredFile {
  /** Path relative to the table's directory; absolute if the file lies elsewhere. */
  readonly path: string;
  /** Length of the file in bytes. */
  readonly bytes: number;
  /** Columns with their bytes. */
  readonly columns: readonly Omit<DescribedColumn, "pages">[];
}
/** A fragment of a version. */
export interface StoredFragment {
  /** Id of the fragment. */
  readonly id: number;
  /** Number of rows, deleted ones included. */
  readonly rows: number;
  /** Number of deleted rows. */
  readonly deletedRows: number;
  /** Bytes of the file that lists the deleted rows. */
  readonly deletionBytes: number;
  /** Data files. */
  readonly files: readonly StoredFile[];
}
/** An index with its files. */
export interface StoredIndex {
  /** Name of the index. */
  readonly indexName: string;
  /** Bytes of all files. */
  readonly bytes: number;
  /** Files of all segments. */
  readonly files: readonly { readonly path: string; readonly bytes: number }[];
  /** Ids of the covered fragments in ascending order. Absent if the version does not record them. */
  readonly fragmentIds?: readonly number[];
}
/** Answer of `describeTableStorage`. */
export interface DescribeTableStorageResponse {
  /** Number of the version. */
  readonly version: number;
  /** Bytes of all files that the version names, and of its manifest. */
  readonly bytes: number;
  /** Bytes by column, over all fragments; the largest first. */
  readonly columns: readonly { readonly name: string; readonly bytes: number }[];
  /** Fragments in table order. */
  readonly fragments: readonly StoredFragment[];
  /** Indexes by name. */
  readonly indexes: readonly StoredIndex[];
}
