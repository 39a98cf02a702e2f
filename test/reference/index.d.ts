/**
 * The reference as an oracle: Arrow IPC stream bytes and JSON in and out, a fresh connection per call. Rows
 * may also be IPC files.
 */

/** Target of a call on a table; by default the latest version of the main branch. */
export interface TableOptions {
  branch?: string;
  version?: number;
  tag?: string;
}

export interface CreateOptions {
  /** Default "create". */
  mode?: "create" | "overwrite" | "exist_ok";
  /** "2.0", "2.1", "2.2" …; the reference's own default is 2.2. */
  dataStorageVersion?: string;
  /** Name manifests by scheme V1 rather than V2. */
  v1Paths?: boolean;
  stableRowIds?: boolean;
}

export interface ReadOptions extends TableOptions {
  columns?: string[];
  /** SQL predicate. */
  filter?: string;
  limit?: number;
  offset?: number;
  /** Adds the column `_rowid`. */
  withRowId?: boolean;
}

export interface VersionResult {
  version: number;
}

export interface VersionEntry {
  version: number;
  timestampMillis: number;
  metadata: Record<string, string>;
}

export interface TableStatistics {
  totalBytes: number;
  numRows: number;
  numIndices: number;
  fragmentStats: {
    numFragments: number;
    numSmallFragments: number;
    lengths: { min: number; max: number; mean: number; p25: number; p50: number; p75: number; p99: number };
  };
}

export interface FieldJson {
  name: string;
  /** Type as apache-arrow prints it. */
  type: string;
  nullable: boolean;
  metadata: Record<string, string>;
  children: FieldJson[];
}

export interface SchemaJson {
  fields: FieldJson[];
  metadata: Record<string, string>;
}

export interface BranchEntry {
  parentBranch: string | null;
  parentVersion: number;
  manifestSize: number;
}

export interface TagEntry {
  version: number;
  manifestSize: number;
}

type BranchOption = Pick<TableOptions, "branch">;

export function createTable(
  uri: string,
  name: string,
  ipc: Uint8Array,
  options?: CreateOptions,
): Promise<VersionResult>;
export function appendTable(
  uri: string,
  name: string,
  ipc: Uint8Array,
  options?: BranchOption,
): Promise<VersionResult>;
export function overwriteTable(
  uri: string,
  name: string,
  ipc: Uint8Array,
  options?: BranchOption,
): Promise<VersionResult>;
/** Makes `version` the latest again; resolves to the new version's number. */
export function restoreTable(
  uri: string,
  name: string,
  version: number,
  options?: BranchOption,
): Promise<VersionResult>;
export function dropTable(uri: string, name: string): Promise<void>;
export function deleteRows(
  uri: string,
  name: string,
  predicate: string,
  options?: BranchOption,
): Promise<VersionResult>;
/** Sets columns to SQL expressions on the rows matching `where` (all, where it is undefined). */
export function updateRows(
  uri: string,
  name: string,
  assignments: Record<string, string>,
  where?: string,
  options?: BranchOption,
): Promise<VersionResult>;
/** Updates the rows whose `on` is in the rows given, and adds the others. */
export function upsertRows(
  uri: string,
  name: string,
  on: string[],
  ipc: Uint8Array,
  options?: BranchOption,
): Promise<VersionResult>;
/** Adds columns that are all null; `ipc` holds their schema. */
export function addNullColumns(
  uri: string,
  name: string,
  ipc: Uint8Array,
  options?: BranchOption,
): Promise<VersionResult>;
/** Adds columns of the values of SQL expressions, by their names. */
export function addColumns(
  uri: string,
  name: string,
  expressions: Record<string, string>,
  options?: BranchOption,
): Promise<VersionResult>;
export interface ColumnAlteration {
  path: string;
  rename?: string;
  nullable?: boolean;
  /** In the namespace spec's JSON form. */
  dataType?: { type: string };
}
export function alterColumns(
  uri: string,
  name: string,
  alterations: ColumnAlteration[],
  options?: BranchOption,
): Promise<VersionResult>;
export function dropColumns(
  uri: string,
  name: string,
  columns: string[],
  options?: BranchOption,
): Promise<VersionResult>;
export interface FieldMetadataUpdate {
  path: string;
  metadata: Record<string, string | null>;
  replace?: boolean;
}
export function updateFieldMetadata(
  uri: string,
  name: string,
  updates: FieldMetadataUpdate[],
  options?: BranchOption,
): Promise<VersionResult>;
/** Rows as an Arrow IPC stream, byte for byte as the native layer hands them out. */
export function readTable(uri: string, name: string, options?: ReadOptions): Promise<Uint8Array>;
export function takeRows(
  uri: string,
  name: string,
  offsets: number[],
  options?: TableOptions & Pick<ReadOptions, "columns">,
): Promise<Uint8Array>;
/** The values of a column of blobs of version 2, those of all rows in order. */
export function fetchBlobs(
  uri: string,
  name: string,
  column: string,
  options?: TableOptions,
): Promise<(Uint8Array | null)[]>;
export function countRows(
  uri: string,
  name: string,
  filter?: string,
  options?: TableOptions,
): Promise<number>;
export function tableVersion(uri: string, name: string, options?: TableOptions): Promise<number>;
export function listVersions(uri: string, name: string, options?: BranchOption): Promise<VersionEntry[]>;
export function listTables(uri: string): Promise<string[]>;
export function tableStats(uri: string, name: string, options?: TableOptions): Promise<TableStatistics>;
/** The schema as an Arrow IPC stream without batches. */
export function schemaIpc(uri: string, name: string, options?: TableOptions): Promise<Uint8Array>;
export function schemaJson(uri: string, name: string, options?: TableOptions): Promise<SchemaJson>;
export function usesV2ManifestPaths(uri: string, name: string): Promise<boolean>;
/** Compacts, and removes versions committed before a time (default: 7 days ago). */
export function optimizeTable(
  uri: string,
  name: string,
  options?: BranchOption & { before?: number; deleteUnverified?: boolean },
): Promise<{
  compaction: { fragmentsRemoved: number; fragmentsAdded: number; filesRemoved: number; filesAdded: number };
  prune: { bytesRemoved: number; oldVersionsRemoved: number };
}>;
export function createBranch(
  uri: string,
  name: string,
  branch: string,
  options?: { fromBranch?: string; fromVersion?: number },
): Promise<void>;
export function listBranches(uri: string, name: string): Promise<Record<string, BranchEntry>>;
/** A new table whose files stay with the table that lies in the directory `sourceUri`. */
export function cloneTable(uri: string, name: string, sourceUri: string): Promise<void>;
export function deleteBranch(uri: string, name: string, branch: string): Promise<void>;
/** Creates a tag of a version of the branch, main by default. */
export function createTag(
  uri: string,
  name: string,
  tag: string,
  version: number,
  options?: BranchOption,
): Promise<void>;
export function updateTag(
  uri: string,
  name: string,
  tag: string,
  version: number,
  options?: BranchOption,
): Promise<void>;
export function deleteTag(uri: string, name: string, tag: string): Promise<void>;
export function tagVersion(uri: string, name: string, tag: string): Promise<number>;
export function listTags(uri: string, name: string): Promise<Record<string, TagEntry>>;

/** A call on the reference's directory catalog: an operation, the path of its object, and its argument. */
export type CatalogStep = readonly [
  operation:
    | "createNamespace"
    | "dropNamespace"
    | "describeNamespace"
    | "listNamespaces"
    | "listTables"
    | "createTable"
    | "addRows"
    | "readRows"
    | "dropTable",
  path: readonly string[],
  /** Properties, rows, or the size of a page. */
  argument?: Record<string, string> | readonly Record<string, unknown>[] | number,
];
/** Runs one step on a connection of its own. Lists are read page by page, to their end. */
export function catalogStep(root: string, ...step: CatalogStep): Promise<unknown>;
