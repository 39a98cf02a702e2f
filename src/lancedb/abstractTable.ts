/** Tables and their branches, as programs see them. */

import type { Table as ArrowTable, Field, Schema } from "apache-arrow";
import type { BlobFile } from "./blob.js";
import { failure, notSupported } from "./failures.js";
import type { IndexOptions } from "./indices.js";
import type { Job } from "./job.js";
import type { Data } from "./like.js";
import type { LsmStats } from "./lsm.js";
import type { MergeInsertBuilder } from "./merge.js";
import type * as native from "./native.js";
import { BranchContents } from "./native.js";
import type { AutoQuery, FullTextQuery, Query, TakeQuery, VectorQuery } from "./query.js";
import { branchDiff, cherryPick } from "./remote/serverCalls.js";
import type { TableState } from "./tableState.js";
import type * as types from "./tableTypes.js";
import type { Tags } from "./tags.js";
import type { IntoSql } from "./util.js";
import type { IntoVector, MultiVector } from "./vectors.js";

/** Updates by column, as an object or a map. */
type ByColumn<Value> = Map<string, Value> | Record<string, Value>;

/**
 * A table of a database. It shows the version that it was opened at. Its own changes, `checkoutLatest` and
 * the connection's read consistency interval move it.
 */
export abstract class Table {
  /** Name of the table. */
  abstract get name(): string;
  /** Returns true until the table is closed. */
  abstract isOpen(): boolean;
  /** Closes the table. Later calls fail. Closing twice is allowed. */
  abstract close(): void;
  /** Returns a short text about the table. */
  abstract display(): string;
  /** Returns the Arrow schema. */
  abstract schema(): Promise<Schema>;
  /** Adds rows: objects, or an Arrow table. */
  abstract add(data: Data, options?: Partial<types.AddDataOptions>): Promise<native.AddResult>;
  /** Sets columns to values in the rows that `where` selects. */
  abstract update(
    opts: { values: ByColumn<IntoSql> } & Partial<types.UpdateOptions>,
  ): Promise<native.UpdateResult>;
  /** Sets columns to SQL expressions in the rows that `where` selects. */
  abstract update(
    opts: { valuesSql: ByColumn<string> } & Partial<types.UpdateOptions>,
  ): Promise<native.UpdateResult>;
  /** Sets columns to SQL expressions in the rows that `where` selects. */
  abstract update(
    updates: ByColumn<string>,
    options?: Partial<types.UpdateOptions>,
  ): Promise<native.UpdateResult>;
  /** Counts the rows that SQL selects. Default: all rows. */
  abstract countRows(filter?: string): Promise<number>;
  /** Deletes the rows that SQL selects. */
  abstract delete(predicate: string): Promise<native.DeleteResult>;
  /** Builds an index on a column, and waits for it. */
  abstract createIndex(column: string, options?: Partial<IndexOptions>): Promise<void>;
  /** Starts building an index on a column. */
  abstract createIndexAsync(column: string, options?: Partial<IndexOptions>): Promise<Job>;
  /** Begins a query. */
  abstract query(): Query;
  /** Begins a query of the rows at offsets, which count the table's rows from 0. */
  abstract takeOffsets(offsets: number[]): TakeQuery;
  /** Begins a query of the rows with these ids, which `withRowId` of a query returns. */
  abstract takeRowIds(rowIds: readonly (bigint | number)[]): TakeQuery;
  /**
   * Begins a search. A text is embedded if the table has an embedding function, and otherwise searched by its
   * words; a vector is searched for the nearest ones.
   * @param query text, vector, several vectors, or a full-text query
   * @param queryType `vector`, `fts`, or `auto` (default)
   * @param ftsColumns paths of the columns to search for words
   */
  abstract search(
    query: string | IntoVector | MultiVector | FullTextQuery,
    queryType?: string,
    ftsColumns?: string | string[],
  ): VectorQuery | Query | AutoQuery;
  /** Begins a search for the nearest vectors. */
  abstract vectorSearch(vector: IntoVector | MultiVector): VectorQuery;
  /** Drops an index. `optimize` removes its files later. */
  abstract dropIndex(name: string): Promise<void>;
  /** Looks at an index. The engine reads it into memory when a query needs it. */
  abstract prewarmIndex(name: string): Promise<void>;
  /** Refused: only LanceDB's servers do it. */
  abstract prewarmData(columns?: string[]): Promise<void>;
  /** Waits until indexes exist and cover all rows. */
  abstract waitForIndex(indexNames: string[], timeoutSeconds: number): Promise<void>;
  /** Returns the paths of the blob columns. */
  abstract blobColumns(): Promise<string[]>;
  /** Reads blobs of rows. The value of a null is null. */
  abstract fetchBlobs(column: string, rowIds: readonly (bigint | number)[]): Promise<(Buffer | null)[]>;
  /** Returns handles of blobs of rows, to read in pieces. The handle of a null is null. */
  abstract fetchBlobFiles(column: string, rowIds: readonly (bigint | number)[]): Promise<(BlobFile | null)[]>;
  /** Adds columns: from SQL, without values from fields, or computed by `refreshColumn`. */
  abstract addColumns(
    newColumnTransforms:
      | native.AddColumnsSql[]
      | Field
      | Field[]
      | Schema
      | { computed: native.AddColumnsSql[] },
  ): Promise<native.AddColumnsResult>;
  /** Fills a computed column in the rows that lack its value. */
  abstract refreshColumn(column: string): Promise<native.RefreshColumnResult>;
  /** Starts filling a computed column. */
  abstract refreshColumnAsync(column: string): Promise<Job>;
  /** Brings a materialized view up to date with its source. Fails for other tables. */
  abstract refreshMaterializedView(
    full?: boolean,
    sourceVersion?: number,
  ): Promise<native.RefreshMaterializedViewResult>;
  /** Changes names, types and nullability of columns. */
  abstract alterColumns(columnAlterations: types.ColumnAlteration[]): Promise<native.AlterColumnsResult>;
  /** Changes metadata of fields. */
  abstract updateFieldMetadata(
    updates: types.FieldMetadataUpdate[],
  ): Promise<native.UpdateFieldMetadataResult>;
  /** Drops columns. */
  abstract dropColumns(columnNames: string[]): Promise<native.DropColumnsResult>;
  /** Records which column identifies a row. Nothing enforces it. */
  abstract setUnenforcedPrimaryKey(columns: string | string[]): Promise<void>;
  /** Stores settings of log-structured writes. This release writes no logs. */
  abstract setLsmWriteSpec(spec: types.LsmWriteSpec): Promise<void>;
  /** Removes the settings of log-structured writes. */
  abstract unsetLsmWriteSpec(): Promise<void>;
  /** Returns the settings of log-structured writes; undefined if there are none. */
  abstract getLsmWriteSpec(): Promise<types.LsmWriteSpec | undefined>;
  /** Does nothing: this release writes no logs. */
  abstract closeLsmWriters(): Promise<void>;
  /** Refused, as LanceDB does for local tables. */
  abstract flushLsm(): Promise<void>;
  /** Refused, as LanceDB does for local tables. */
  abstract compactLsm(): Promise<void>;
  /** Refused, as LanceDB does for local tables. */
  abstract checkpointLsm(): Promise<void>;
  /** Refused, as LanceDB does for local tables. */
  abstract getLsmStats(includeGenerationRows?: boolean): Promise<LsmStats | undefined>;
  /** Returns the number of the version that the table shows. */
  abstract version(): Promise<number>;
  /** Shows a version, by number or tag, and refuses changes until `checkoutLatest` or `restore`. */
  abstract checkout(version: number | string): Promise<void>;
  /** Shows the latest version. */
  abstract checkoutLatest(): Promise<void>;
  /** Lists all versions. */
  abstract listVersions(): Promise<types.Version[]>;
  /** Returns the tags of the table. */
  abstract tags(): Promise<Tags>;
  /** Returns the branches of the table. */
  abstract branches(): Promise<Branches>;
  /** Returns the branch of this handle. Null: main. */
  abstract currentBranch(): string | null;
  /** Makes the version that was checked out the latest one. */
  abstract restore(): Promise<void>;
  /** Merges small fragments, brings indexes up to date, and removes old versions. */
  abstract optimize(options?: Partial<types.OptimizeOptions>): Promise<native.OptimizeStats>;
  /** Lists the indexes. */
  abstract listIndices(): Promise<native.IndexConfig[]>;
  /** Cuts a text into words, as an index of words does. */
  abstract tokenize(query: string, options: types.TokenizeTableOptions): Promise<types.FtsToken[]>;
  /** Returns all rows. */
  abstract toArrow(): Promise<ArrowTable>;
  /** Begins a merge of rows by the columns that identify them. */
  abstract mergeInsert(on: string | string[]): MergeInsertBuilder;
  /** Returns the statistics of an index; undefined if there is none of that name. */
  abstract indexStats(name: string): Promise<native.IndexStatistics | undefined>;
  /** Returns sizes and counts of the table. */
  abstract stats(): Promise<native.TableStatistics>;
  /** Returns the storage options that the table was opened with. */
  abstract initialStorageOptions(): Promise<Record<string, string> | null | undefined>;
  /** Returns the current storage options. */
  abstract latestStorageOptions(): Promise<Record<string, string> | null | undefined>;
}

/** Opens a handle on a branch; with a version, held at it. */
export type OpenBranch = (branch: string | undefined, version?: number) => Promise<Table>;

/** Branches of a table. Writes to one do not change another. */
export class Branches {
  readonly #table: TableState;
  readonly #open: OpenBranch;

  /** Makes the branches of a table. Programs get theirs from `Table.branches`. */
  constructor(table: TableState, open: OpenBranch) {
    this.#table = table;
    this.#open = open;
  }

  /** Lists the branches by name, without main. */
  async list(): Promise<Record<string, BranchContents>> {
    const { branches } = await this.#table.ask((namespace, { id }) => namespace.listTableBranches({ id }));
    return Object.fromEntries(
      Object.entries(branches).map(([name, { parentVersion, manifestSize, parentBranch }]) => [
        name,
        new BranchContents(parentVersion, manifestSize, parentBranch),
      ]),
    );
  }

  /**
   * Creates a branch and returns a handle on it.
   * @param name name of the new branch
   * @param fromRef branch to start from. Default: main
   * @param fromVersion version to start from. Default: the latest
   */
  async create(name: string, fromRef?: string, fromVersion?: number): Promise<Table> {
    requireName(name);
    if (fromVersion != null && fromVersion < 0) {
      throw failure("from_version must be a non-negative integer");
    }
    const fromBranch = branchOf(fromRef);
    await this.#table.ask((namespace, { id }) =>
      namespace.createTableBranch({ id, name, fromBranch, fromVersion: fromVersion ?? undefined }),
    );
    return this.#open(name);
  }

  /** Returns a handle on a branch; with a version, held at it. */
  async checkout(name: string, version?: number): Promise<Table> {
    requireName(name);
    return this.#open(branchOf(name), version ?? undefined);
  }

  /** Deletes a branch. */
  async delete(name: string): Promise<void> {
    requireName(name);
    await this.#table.ask((namespace, { id }) => namespace.deleteTableBranch({ id, name }));
  }

  /** Compares a branch with main. Only for servers, as in LanceDB. */
  async diff(fromBranch: string): Promise<types.BranchDiff> {
    const { server } = this.#table.database;
    if (server === undefined) throw notSupported("Branch diffs are only supported on Enterprise tables.");
    return this.#table.database.call(() => branchDiff(server, this.#table.id, fromBranch));
  }

  /** Takes the columns of a branch over. Only for servers, as in LanceDB. */
  async cherryPick(fromBranch: string, dryRun = false): Promise<types.CherryPickResult> {
    const { server } = this.#table.database;
    if (server === undefined) {
      throw notSupported("Cherry-picking branches is only supported on Enterprise tables.");
    }
    return this.#table.database.call(() => cherryPick(server, this.#table.id, fromBranch, dryRun));
  }
}

/** Name of a branch in requests. LanceDB's `main` is the absent one. */
const branchOf = (name: string | null | undefined): string | undefined =>
  name == null || name === "main" ? undefined : name;

function requireName(name: string): void {
  if (name === "") throw failure("Invalid input, branch name must be a non-empty string");
}
