/**
 * Messages of a table (proto package `lance.table`): the manifest of one version, the transaction that made
 * it, index entries and row-id sequences. Field numbers are wire contract and never change. In a message with
 * a oneof, at most one of its arms is set.
 *
 * Retired numbers: Manifest 17; Field 11; DeletionFile 5, 6; Rewrite 1, 2; UpdateConfig 1 to 4; Update 9.
 * They are not declared, so data that an old writer stored under them is kept as unknown bytes.
 */

import { Any, Field } from "./file.js";
import {
  bool,
  bytes,
  bytesMapField,
  explicitBytes,
  explicitInt32,
  explicitString,
  explicitUint32,
  explicitUint64,
  int32,
  int64,
  type MessageOf,
  mapField,
  message,
  repeatedInt32,
  repeatedMessage,
  repeatedUint32,
  repeatedUint64,
  string,
  stringMapField,
  submessage,
  uint32,
  uint64,
  uint64Big,
} from "./message.js";
import { SCALARS } from "./scalarKinds.js";

// --------------------------------------------------------------------------------------------- fragments

/** Replaces the id of a field that was dropped, or that moved to another file. */
export const DROPPED_FIELD = -2;

/** One file of a fragment: some columns of all its rows. */
export const DataFile = message("DataFile", {
  /** Name inside `data/`. */
  path: string(1),
  /** Ids of the schema fields stored here; {@link DROPPED_FIELD} for fields not read from here any more. */
  fields: repeatedInt32(2),
  /** Column of each entry of `fields`; -1 for a field without a column. Required from 2.0 on. */
  columnIndices: repeatedInt32(3),
  fileMajorVersion: uint32(4),
  fileMinorVersion: uint32(5),
  /** 0 is unknown. */
  fileSizeBytes: uint64(6),
  /** Key into the manifest's `basePaths`; absent is the table's own directory. */
  baseId: explicitUint32(7),
});
export type DataFile = MessageOf<typeof DataFile>;

/** The kinds of deletion file. */
export const DELETION_FILE_TYPE = { arrowArray: 0, bitmap: 1 } as const;

export const DeletionFile = message("DeletionFile", {
  /** One of {@link DELETION_FILE_TYPE}. */
  fileType: uint32(1),
  readVersion: uint64(2),
  /** Random, all 64 bits in use. */
  id: uint64Big(3),
  /** 0 is unknown. */
  numDeletedRows: uint64(4),
  baseId: explicitUint32(7),
});
export type DeletionFile = MessageOf<typeof DeletionFile>;

const ExternalFile = message("ExternalFile", { path: string(1), offset: uint64(2), size: uint64(3) });

/** A horizontal part of the table. The three pairs of inline and external bytes are oneofs. */
export const DataFragment = message("DataFragment", {
  /** Fits 32 bits. */
  id: uint64(1),
  files: repeatedMessage(2, DataFile),
  deletionFile: submessage(3, DeletionFile),
  /** Rows, deleted ones included; 0 may also mean unknown. */
  physicalRows: uint64(4),
  /** A {@link RowIdSequence}. */
  inlineRowIds: explicitBytes(5),
  externalRowIds: submessage(6, ExternalFile),
  /** A {@link RowDatasetVersionSequence}. */
  inlineLastUpdatedAtVersions: explicitBytes(7),
  externalLastUpdatedAtVersions: submessage(8, ExternalFile),
  /** A {@link RowDatasetVersionSequence}. */
  inlineCreatedAtVersions: explicitBytes(9),
  externalCreatedAtVersions: submessage(10, ExternalFile),
});
export type DataFragment = MessageOf<typeof DataFragment>;

// ---------------------------------------------------------------------------------------------- manifest

/** UTC, since the epoch. */
export const Timestamp = message("Timestamp", { seconds: int64(1), nanos: int32(2) });
export type Timestamp = MessageOf<typeof Timestamp>;

export const WriterVersion = message("WriterVersion", {
  library: string(1),
  version: string(2),
  prerelease: explicitString(3),
  buildMetadata: explicitString(4),
});

/** Kind of data files of all tables. */
export const DATA_FILE_FORMAT = "lance";

export const DataFormat = message("DataFormat", {
  /** {@link DATA_FILE_FORMAT}. */
  fileFormat: string(1),
  /** `0.1`, `2.0`, `2.1`, `2.2` or `2.3`. */
  version: string(2),
});
export type DataFormat = MessageOf<typeof DataFormat>;

/** Another directory that holds files of this table. */
export const BasePath = message("BasePath", {
  id: uint32(1),
  name: explicitString(2),
  /** True: files lie in its `data/`, `_deletions/`, `_indices/`; false: directly in it. */
  isDatasetRoot: bool(3),
  /** Absolute. */
  path: string(4),
});
export type BasePath = MessageOf<typeof BasePath>;

/** Encoded fragments, each encoded once: a commit takes over almost all fragments of the version before. */
const encodedFragments = new WeakMap<object, Uint8Array>();

/** Returns the encoded form of a fragment: the bytes in its manifest, or new ones. */
export const encodedFragment = (fragment: DataFragment): Uint8Array =>
  encodedFragments.get(fragment) ?? DataFragment.encode(fragment);

/** Field number of a {@link Manifest}'s fragments, for code that finds them without decoding the manifest. */
export const FRAGMENTS_FIELD = 2;

/** Members of a {@link Manifest} about its readers, its time and the sections of its file. */
const HEAD = {
  version: uint64(3),
  /** File offset of the index section; absent if the version has no indexes. */
  indexSection: explicitUint64(6),
  timestamp: submessage(7, Timestamp),
  readerFeatureFlags: uint64Big(9),
  writerFeatureFlags: uint64Big(10),
  /** Name inside `_transactions/`. */
  transactionFile: string(12),
  dataFormat: submessage(15, DataFormat),
  /** File offset of the inline transaction. */
  transactionSection: explicitUint64(21),
  /** {@link transactionSection} from Lance 14 on. */
  transactionSection14: explicitUint64(23),
};
export const ManifestHead = message("Manifest", HEAD, true);
export type ManifestHead = MessageOf<typeof ManifestHead>;

/** Members of a {@link Manifest} besides those of the head and the fragments. */
const BODY = {
  /** Flat, depth-first, parents before children. */
  fields: repeatedMessage(1, Field),
  versionAuxData: uint64(4),
  schemaMetadata: bytesMapField(5),
  tag: string(8),
  /** Highest fragment id ever assigned; absent before the first. */
  maxFragmentId: explicitUint32(11),
  writerVersion: submessage(13, WriterVersion),
  /** First unused stable row id; 0 if row ids are not stable. */
  nextRowId: uint64(14),
  config: stringMapField(16),
  basePaths: repeatedMessage(18, BasePath),
  tableMetadata: stringMapField(19),
  /** Absent on main. */
  branch: explicitString(20),
};
export const Manifest = message("Manifest", {
  ...HEAD,
  ...BODY,
  fragments: repeatedMessage(FRAGMENTS_FIELD, DataFragment, encodedFragments),
});
export type Manifest = MessageOf<typeof Manifest>;

const DeletedCount = message("DeletionFile", { numDeletedRows: uint64(4) }, true);
const FragmentCounts = message(
  "DataFragment",
  { deletionFile: submessage(3, DeletedCount), physicalRows: uint64(4) },
  true,
);
export type FragmentCounts = MessageOf<typeof FragmentCounts>;

/** A {@link Manifest} whose fragments have only the counts of their rows. */
export const ManifestSummary = message(
  "Manifest",
  { ...HEAD, ...BODY, fragments: repeatedMessage(FRAGMENTS_FIELD, FragmentCounts) },
  true,
);
export type ManifestSummary = MessageOf<typeof ManifestSummary>;

// ----------------------------------------------------------------------------------------------- indexes

export const Uuid = message("UUID", {
  /** 16 bytes. */
  uuid: bytes(1),
});
export type Uuid = MessageOf<typeof Uuid>;

export const IndexFile = message("IndexFile", { path: string(1), sizeBytes: uint64(2) });
export type IndexFile = MessageOf<typeof IndexFile>;

/** One segment of an index; segments of one index share its name. */
export const IndexMetadata = message("IndexMetadata", {
  /** Also the directory's name, hyphenated. */
  uuid: submessage(1, Uuid),
  fields: repeatedInt32(2),
  name: string(3),
  /** The version it was trained on. */
  datasetVersion: uint64(4),
  /** Ids of the fragments it covers, a 32-bit Roaring bitmap. */
  fragmentBitmap: bytes(5),
  indexDetails: submessage(6, Any),
  indexVersion: explicitInt32(7),
  /** Milliseconds since the epoch. */
  createdAt: explicitUint64(8),
  baseId: explicitUint32(9),
  files: repeatedMessage(10, IndexFile),
  coveringFields: repeatedInt32(11),
});
export type IndexMetadata = MessageOf<typeof IndexMetadata>;

export const IndexSection = message("IndexSection", { indices: repeatedMessage(1, IndexMetadata) });
export type IndexSection = MessageOf<typeof IndexSection>;

// ------------------------------------------------------------------------------------------ transactions

/** New fragments carry id 0 and no row ids: the commit assigns both. */
export const Append = message("Append", { fragments: repeatedMessage(1, DataFragment) });

export const Delete = message("Delete", {
  updatedFragments: repeatedMessage(1, DataFragment),
  deletedFragmentIds: repeatedUint64(2),
  /** The caller's text. */
  predicate: string(3),
});
export type Delete = MessageOf<typeof Delete>;

/** Also creates tables. */
export const Overwrite = message("Overwrite", {
  fragments: repeatedMessage(1, DataFragment),
  schema: repeatedMessage(2, Field),
  /** The reference leaves this empty and writes schema metadata to the manifest only. */
  schemaMetadata: bytesMapField(3),
  configUpsertValues: stringMapField(4),
  initialBases: repeatedMessage(5, BasePath),
});
export type Overwrite = MessageOf<typeof Overwrite>;

export const CreateIndex = message("CreateIndex", {
  newIndices: repeatedMessage(1, IndexMetadata),
  removedIndices: repeatedMessage(2, IndexMetadata),
});
export type CreateIndex = MessageOf<typeof CreateIndex>;

export const RewriteGroup = message("RewriteGroup", {
  oldFragments: repeatedMessage(1, DataFragment),
  newFragments: repeatedMessage(2, DataFragment),
});

export const RewrittenIndex = message("RewrittenIndex", {
  oldId: submessage(1, Uuid),
  newId: submessage(2, Uuid),
  newIndexDetails: submessage(3, Any),
  newIndexVersion: uint32(4),
  newIndexFiles: repeatedMessage(5, IndexFile),
});
export type RewrittenIndex = MessageOf<typeof RewrittenIndex>;

export const Rewrite = message("Rewrite", {
  groups: repeatedMessage(3, RewriteGroup),
  rewrittenIndices: repeatedMessage(4, RewrittenIndex),
});
export type Rewrite = MessageOf<typeof Rewrite>;

export const Merge = message("Merge", {
  /** All fragments of the table. */
  fragments: repeatedMessage(1, DataFragment),
  schema: repeatedMessage(2, Field),
  schemaMetadata: bytesMapField(3),
  preservesNullability: bool(4),
});
export type Merge = MessageOf<typeof Merge>;

export const Restore = message("Restore", { version: uint64(1) });

export const ReserveFragments = message("ReserveFragments", { numFragments: uint32(1) });

export const UPDATE_MODE = { rewriteRows: 0, rewriteColumns: 1 } as const;

export const Update = message("Update", {
  removedFragmentIds: repeatedUint64(1),
  updatedFragments: repeatedMessage(2, DataFragment),
  newFragments: repeatedMessage(3, DataFragment),
  fieldsModified: repeatedUint32(4),
  fieldsForPreservingFragBitmap: repeatedUint32(6),
  /** One of {@link UPDATE_MODE}. */
  updateMode: uint32(7),
  updatedOffsetBitmaps: mapField(10, SCALARS.UINT64, SCALARS.BYTES),
});
export type Update = MessageOf<typeof Update>;

export const Project = message("Project", {
  schema: repeatedMessage(1, Field),
  preservesNullability: bool(2),
});
export type Project = MessageOf<typeof Project>;

export const UpdateMapEntry = message("UpdateMapEntry", {
  key: string(1),
  /** Absent removes the key. */
  value: explicitString(2),
});

export const UpdateMap = message("UpdateMap", {
  updateEntries: repeatedMessage(1, UpdateMapEntry),
  /** True: the entries replace the whole map. */
  replace: bool(2),
});
export type UpdateMap = MessageOf<typeof UpdateMap>;

/** An entry of `map<int32, UpdateMap>`, which is this message repeated on the wire. */
export const FieldMetadataUpdatesEntry = message("FieldMetadataUpdate", {
  fieldId: int32(1),
  update: submessage(2, UpdateMap),
});

export const UpdateConfig = message("UpdateConfig", {
  configUpdates: submessage(6, UpdateMap),
  tableMetadataUpdates: submessage(7, UpdateMap),
  schemaMetadataUpdates: submessage(8, UpdateMap),
  fieldMetadataUpdates: repeatedMessage(9, FieldMetadataUpdatesEntry),
});
export type UpdateConfig = MessageOf<typeof UpdateConfig>;

export const DataReplacementGroup = message("DataReplacementGroup", {
  fragmentId: uint64(1),
  newFile: submessage(2, DataFile),
});
export type DataReplacementGroup = MessageOf<typeof DataReplacementGroup>;

export const DataReplacement = message("DataReplacement", {
  replacements: repeatedMessage(1, DataReplacementGroup),
});
export type DataReplacement = MessageOf<typeof DataReplacement>;

/** Its content is kept as unknown bytes. */
export const UpdateMemWalState = message("UpdateMemWalState", {});

export const Clone = message("Clone", {
  isShallow: bool(1),
  refName: explicitString(2),
  refVersion: uint64(3),
  refPath: string(4),
  branchName: explicitString(5),
});
export type Clone = MessageOf<typeof Clone>;

export const UpdateBases = message("UpdateBases", { newBases: repeatedMessage(1, BasePath) });

/** Exactly one operation is set; an operation this build does not know is in `unknown`. */
export const Transaction = message("Transaction", {
  readVersion: uint64(1),
  /** Hyphenated lower-case v4. */
  uuid: string(2),
  tag: string(3),
  transactionProperties: stringMapField(4),
  append: submessage(100, Append),
  delete: submessage(101, Delete),
  overwrite: submessage(102, Overwrite),
  createIndex: submessage(103, CreateIndex),
  rewrite: submessage(104, Rewrite),
  merge: submessage(105, Merge),
  restore: submessage(106, Restore),
  reserveFragments: submessage(107, ReserveFragments),
  update: submessage(108, Update),
  project: submessage(109, Project),
  updateConfig: submessage(110, UpdateConfig),
  dataReplacement: submessage(111, DataReplacement),
  updateMemWalState: submessage(112, UpdateMemWalState),
  clone: submessage(113, Clone),
  updateBases: submessage(114, UpdateBases),
});
export type Transaction = MessageOf<typeof Transaction>;

// --------------------------------------------------------------------------------------- row-id sequences

/** Sorted or unsorted 64-bit integers, in the narrowest of three widths; a oneof. */
export const U16Array = message("U16Array", {
  base: uint64(1),
  /** Little-endian u16 each, added to `base`. */
  offsets: bytes(2),
});
export const U32Array = message("U32Array", { base: uint64(1), offsets: bytes(2) });
export const U64Array = message("U64Array", { values: bytes(2) });
export const EncodedU64Array = message("EncodedU64Array", {
  u16Array: submessage(1, U16Array),
  u32Array: submessage(2, U32Array),
  u64Array: submessage(3, U64Array),
});
export type EncodedU64Array = MessageOf<typeof EncodedU64Array>;

/** `end` is exclusive. */
export const U64Range = message("U64Range", { start: uint64(1), end: uint64(2) });
export const U64RangeWithHoles = message("U64RangeWithHoles", {
  start: uint64(1),
  end: uint64(2),
  holes: submessage(3, EncodedU64Array),
});
export const U64RangeWithBitmap = message("U64RangeWithBitmap", {
  start: uint64(1),
  end: uint64(2),
  /** A set bit means that the value is present; least-significant bit first. */
  bitmap: bytes(3),
});

/** A run of row ids (or row positions); a oneof. */
export const U64Segment = message("U64Segment", {
  range: submessage(1, U64Range),
  rangeWithHoles: submessage(2, U64RangeWithHoles),
  rangeWithBitmap: submessage(3, U64RangeWithBitmap),
  sortedArray: submessage(4, EncodedU64Array),
  array: submessage(5, EncodedU64Array),
});
export type U64Segment = MessageOf<typeof U64Segment>;

export const RowIdSequence = message("RowIdSequence", { segments: repeatedMessage(1, U64Segment) });

const RowDatasetVersionRun = message("RowDatasetVersionRun", {
  /** Row positions, not ids. They may have gaps, so only the span's length counts. */
  span: submessage(1, U64Segment),
  version: uint64(2),
});

export const RowDatasetVersionSequence = message("RowDatasetVersionSequence", {
  runs: repeatedMessage(1, RowDatasetVersionRun),
});
