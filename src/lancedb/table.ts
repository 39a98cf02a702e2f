/** Tables of databases that Tiltyard reads and writes. */

import type { Table as ArrowTable, Schema } from "apache-arrow";
import { performance, setTimeout } from "../async/timers.js";
import { shortly } from "../optionMembers.js";
import { Branches } from "./abstractTable.js";
import { BlobFile, blobColumnsOf } from "./blob.js";
import { conditionOf } from "./conditions.js";
import type { Database } from "./database.js";
import { jobOf } from "./databaseJob.js";
import { rowsToAdd } from "./engineRows.js";
import { failure, inCall, notSupported } from "./failures.js";
import type { IndexOptions } from "./indices.js";
import type { Job } from "./job.js";
import type { Data } from "./like.js";
import { LoggedTable } from "./loggedTable.js";
import { MergeInsertBuilder } from "./merge.js";
import type * as native from "./native.js";
import { programRows } from "./programRows.js";
import { listOf, textOf } from "./queries/numbers.js";
import type { NamespaceCalls } from "./tableReader.js";
import {
  ageOf,
  indexConfigOf,
  indexRequest,
  indexStatisticsOf,
  mergeResultOf,
  type NewColumns,
  newColumnsOf,
  optimizeStatsOf,
  PRIMARY_KEY,
  reportsOf,
  rowIdsOf,
  type Updates,
  updatesOf,
} from "./tableRequests.js";
import { type ChangedTable, type Opened, TableState } from "./tableState.js";
import type * as types from "./tableTypes.js";
import { Tags } from "./tags.js";
import { refreshView } from "./views.js";

export { Branches, Table } from "./abstractTable.js";
export type * from "./lsm.js";
export type { IndexConfig } from "./native.js";
export type * from "./tableTypes.js";

/** Milliseconds between two looks at indexes that are being built. */
const LOOK_MS = 50;

/** A table of a local database, or of one that a server holds. */
export class LocalTable extends LoggedTable {
  get name(): string {
    return this.inner.name;
  }

  isOpen(): boolean {
    return this.inner.isOpen;
  }

  close(): void {
    this.inner.close();
  }

  display(): string {
    if (!this.inner.isOpen) return `ClosedTable(${this.name})`;
    const { uri, database } = this.inner;
    if (database.server !== undefined) return `RemoteTable(${this.name})`;
    return `NativeTable(${this.name}, uri=${uri}, read_consistency_interval=${database.interval})`;
  }

  async schema(): Promise<Schema> {
    return this.state.schema();
  }

  async add(data: Data, options?: Partial<types.AddDataOptions>): Promise<native.AddResult> {
    const mode = options?.mode ?? "append";
    if (mode !== "append" && mode !== "overwrite") throw failure(`Invalid mode: ${mode}`);
    this.inner.requireOpen();
    if (Array.isArray(data) && data.length === 0) {
      throw failure("Invalid input, Cannot scan an empty Vec<RecordBatch>");
    }
    const rows = await rowsToAdd(data, await this.state.schema(), mode === "append");
    const report = options?.progress && reportsOf(options.progress);
    const { version, numInsertedRows } = await this.state.change((namespace, table) =>
      namespace.insertIntoTable(
        { ...table, mode, onProgress: report && (({ done }) => report(done, false)) },
        rows,
      ),
    );
    report?.(numInsertedRows, true);
    return { version };
  }

  async update(optsOrUpdates: Updates, options?: Partial<types.UpdateOptions>): Promise<native.UpdateResult> {
    const { where, updates } = updatesOf(optsOrUpdates, options);
    this.inner.requireOpen();
    if (updates.length === 0) {
      throw failure("Invalid input, at least one column must be specified in an update operation");
    }
    const { updatedRows, version } = await this.state.change((namespace, table) =>
      namespace.updateTable({
        ...table,
        updates,
        ...(where != null && { predicate: conditionOf(where) }),
      }),
    );
    return { rowsUpdated: updatedRows, version };
  }

  async countRows(filter?: string): Promise<number> {
    return this.state.read((namespace, shown) =>
      namespace.countTableRows({ ...shown, ...(filter != null && { predicate: conditionOf(filter) }) }),
    );
  }

  async delete(predicate: string): Promise<native.DeleteResult> {
    const { numDeletedRows, version } = await this.state.change((namespace, table) =>
      namespace.deleteFromTable({ ...table, predicate: conditionOf(predicate) }),
    );
    return { numDeletedRows, version };
  }

  async createIndex(column: string, options?: Partial<IndexOptions>): Promise<void> {
    const seconds = options?.waitTimeoutSeconds;
    await this.state.change(async (namespace, table) => {
      const { jobId } = await namespace.createTableIndex(indexRequest(table, column, options));
      // A server builds the index meanwhile, as in LanceDB.
      if (jobId === undefined || (this.inner.database.server !== undefined && seconds == null)) return {};
      const job = await namespace.waitForJob({
        jobId,
        ...(seconds != null && { timeoutMs: seconds * 1000 }),
      });
      if (job.finishedAt === undefined) {
        throw failure(`Timeout error: timed out waiting for the index on ${column} after ${seconds}s`);
      }
      return {};
    });
  }

  async createIndexAsync(column: string, options?: Partial<IndexOptions>): Promise<Job> {
    const { jobId } = await this.state.change((namespace, table) =>
      namespace.createTableIndex(indexRequest(table, column, options)),
    );
    return this.#job(jobId);
  }

  async dropIndex(name: string): Promise<void> {
    await this.state.change((namespace, table) => namespace.dropTableIndex({ ...table, indexName: name }));
  }

  async prewarmIndex(name: string): Promise<void> {
    await this.state.read((namespace, shown) =>
      namespace.describeTableIndexStats({ ...shown, indexName: name }),
    );
  }

  async prewarmData(_columns?: string[]): Promise<void> {
    this.inner.requireOpen();
    throw notSupported("prewarm_data is currently only supported on remote tables.");
  }

  async waitForIndex(indexNames: string[], timeoutSeconds: number): Promise<void> {
    listOf(indexNames, "indexNames");
    const end = performance.now() + timeoutSeconds * 1000;
    for (;;) {
      const { indexes } = await this.state.ask((namespace, table) => namespace.listTableIndices(table));
      const complete = new Set(
        indexes
          .filter(({ numUnindexedRows = 0 }) => numUnindexedRows === 0)
          .map(({ indexName }) => indexName),
      );
      const missing = indexNames.filter((name) => !complete.has(name));
      if (missing.length === 0) return;
      // Also ends for a timeout that is not a number.
      if (!(performance.now() < end)) {
        throw failure(
          `Timeout error: timed out waiting for indices: ${JSON.stringify(missing)} after ${timeoutSeconds}s`,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }

  async blobColumns(): Promise<string[]> {
    return blobColumnsOf(await this.state.schema());
  }

  async fetchBlobs(column: string, rowIds: readonly (bigint | number)[]): Promise<(Buffer | null)[]> {
    const files = await this.fetchBlobFiles(column, rowIds);
    return Promise.all(files.map((file) => file?.read() ?? null));
  }

  async fetchBlobFiles(column: string, rowIds: readonly (bigint | number)[]): Promise<(BlobFile | null)[]> {
    const ids = rowIdsOf(rowIds);
    const blobs = await this.state.read((namespace, shown) =>
      namespace.takeBlobs({ ...shown, column, rowIds: ids }),
    );
    return blobs.map((blob) => (blob === null ? null : new BlobFile(blob)));
  }

  async addColumns(newColumnTransforms: NewColumns): Promise<native.AddColumnsResult> {
    const newColumns = newColumnsOf(newColumnTransforms);
    return this.#changeColumns(newColumns, (namespace, table) =>
      namespace.alterTableAddColumns({ ...table, newColumns }),
    );
  }

  async refreshColumn(column: string): Promise<native.RefreshColumnResult> {
    const { result } = await this.state.change(async (namespace, table) => {
      const { jobId } = await namespace.alterTableBackfillColumns({ ...table, column });
      return namespace.waitForJob({ jobId });
    });
    return { rowsFilled: (result as { readonly rows: number }).rows, version: await this.state.version() };
  }

  async refreshColumnAsync(column: string): Promise<Job> {
    const { jobId } = await this.state.change((namespace, table) =>
      namespace.alterTableBackfillColumns({ ...table, column }),
    );
    return this.#job(jobId);
  }

  async refreshMaterializedView(
    full?: boolean,
    sourceVersion?: number,
  ): Promise<native.RefreshMaterializedViewResult> {
    return refreshView(this.state, full ?? false, sourceVersion ?? undefined);
  }

  async alterColumns(columnAlterations: types.ColumnAlteration[]): Promise<native.AlterColumnsResult> {
    const alterations = columnAlterations.map(({ path, rename, nullable, dataType }) => {
      if (rename == null && nullable == null && dataType == null) {
        throw failure("Alteration must have a 'rename', 'dataType', or 'nullable' field.");
      }
      return {
        path,
        rename: rename ?? undefined,
        nullable: nullable ?? undefined,
        dataType: dataType ?? undefined,
      };
    });
    return this.#changeColumns(alterations, (namespace, table) =>
      namespace.alterTableAlterColumns({ ...table, alterations }),
    );
  }

  async updateFieldMetadata(updates: types.FieldMetadataUpdate[]): Promise<native.UpdateFieldMetadataResult> {
    return this.#changeColumns(updates, (namespace, table) =>
      namespace.updateFieldMetadata({ ...table, updates }),
    );
  }

  async dropColumns(columnNames: string[]): Promise<native.DropColumnsResult> {
    listOf(columnNames, "columnNames");
    return this.#changeColumns(columnNames, (namespace, table) =>
      namespace.alterTableDropColumns({ ...table, columns: columnNames }),
    );
  }

  async setUnenforcedPrimaryKey(columns: string | string[]): Promise<void> {
    const names = typeof columns === "string" ? [columns] : columns;
    const refused = (reason: string) => failure(`Invalid input, set_unenforced_primary_key: ${reason}`);
    const [path] = names;
    if (path === undefined) throw refused("a column is required");
    if (names.length > 1) {
      throw refused(`compound primary keys are not supported, got ${names.length} columns`);
    }
    const { fields } = await this.state.schema();
    if (fields.some(({ metadata }) => metadata.has(PRIMARY_KEY))) {
      throw refused("the table has a primary key already, which can't be changed");
    }
    if (!fields.some(({ name }) => name === path)) throw refused(`column '${path}' not found on table`);
    await this.updateFieldMetadata([{ path, metadata: { [PRIMARY_KEY]: "true" } }]);
  }

  async version(): Promise<number> {
    return this.state.version();
  }

  async checkout(version: number | string): Promise<void> {
    if (typeof version !== "string" && !Number.isFinite(version)) {
      throw failure(`version: must be a number or the name of a tag, not ${shortly(version)}`);
    }
    return this.state.checkout(version);
  }

  async checkoutLatest(): Promise<void> {
    return this.state.checkoutLatest();
  }

  async listVersions(): Promise<types.Version[]> {
    const { versions } = await this.state.ask((namespace, table) => namespace.listTableVersions(table));
    return versions.map(({ version, timestampMillis, metadata }) => ({
      version,
      timestamp: new Date(timestampMillis),
      metadata: { ...metadata },
    }));
  }

  async restore(): Promise<void> {
    return this.state.restore();
  }

  async tags(): Promise<Tags> {
    return new Tags(this.state);
  }

  async branches(): Promise<Branches> {
    const { state } = this;
    const { database, id } = state;
    return new Branches(state, (branch, version) => openLocalTable(database, id, { branch, version }));
  }

  currentBranch(): string | null {
    return this.state.branch ?? null;
  }

  async optimize(options?: Partial<types.OptimizeOptions>): Promise<native.OptimizeStats> {
    const { cleanupOlderThan, deleteUnverified } = options ?? {};
    const age = cleanupOlderThan == null ? {} : { olderThanMs: ageOf(cleanupOlderThan) };
    const { state } = this;
    const compaction = await state.change((namespace, table) => namespace.optimizeTable(table));
    const prune = await state.change((namespace, table) =>
      namespace.cleanupTable({ ...table, ...age, deleteUnverified: deleteUnverified ?? undefined }),
    );
    return optimizeStatsOf(compaction, prune);
  }

  async listIndices(): Promise<native.IndexConfig[]> {
    const { indexes } = await this.state.read((namespace, shown) => namespace.listTableIndices(shown));
    return indexes.map(indexConfigOf);
  }

  async tokenize(query: string, options: types.TokenizeTableOptions): Promise<types.FtsToken[]> {
    this.inner.requireOpen();
    const { column, indexName } = options;
    if ((column == null) === (indexName == null)) {
      throw failure("Specify exactly one of 'column' or 'indexName'");
    }
    const index = column == null ? { indexName } : { column };
    const tokens = await this.state.read((namespace, shown) =>
      namespace.tokenize({ ...shown, text: query, ...index }),
    );
    return tokens.map(({ text, position }) => ({ text, position }));
  }

  async toArrow(): Promise<ArrowTable> {
    return this.state.read(async (namespace, shown) =>
      programRows(await namespace.queryTable(shown)).toArrow(),
    );
  }

  async indexStats(name: string): Promise<native.IndexStatistics | undefined> {
    const { indexes } = await this.state.read((namespace, shown) => namespace.listTableIndices(shown));
    textOf(name, "name");
    if (!indexes.some(({ indexName }) => indexName === name)) return undefined;
    const stats = await this.state.read((namespace, shown) =>
      namespace.describeTableIndexStats({ ...shown, indexName: name }),
    );
    return indexStatisticsOf(stats);
  }

  async stats(): Promise<native.TableStatistics> {
    const stats = await this.state.read((namespace, shown) => namespace.getTableStats(shown));
    const { totalBytes, numRows, numIndices, fragmentStats } = stats;
    const { numFragments, numSmallFragments, lengths } = fragmentStats;
    return {
      totalBytes,
      numRows,
      numIndices,
      fragmentStats: { numFragments, numSmallFragments, lengths: { ...lengths } },
    };
  }

  async initialStorageOptions(): Promise<Record<string, string> | null> {
    const { storageOptions } = this.state;
    return storageOptions === undefined ? null : { ...storageOptions };
  }

  latestStorageOptions(): Promise<Record<string, string> | null> {
    return this.initialStorageOptions();
  }

  mergeInsert(on: string | string[]): MergeInsertBuilder {
    const { state } = this;
    const keys = typeof on === "string" ? [on] : on;
    return new MergeInsertBuilder(
      async (clauses, data) => {
        const rows = await rowsToAdd(data, await state.schema(), false);
        const merged = state.change((namespace, table) =>
          namespace.mergeInsertIntoTable({ ...table, ...clauses }, rows),
        );
        return mergeResultOf(
          await merged.catch((error) => {
            throw inCall("Failed to execute merge insert", error);
          }),
        );
      },
      { on: keys },
    );
  }

  /** Returns true if the names of manifests sort the latest version first. */
  async usesV2ManifestPaths(): Promise<boolean> {
    const { version } = await this.state.ask((namespace, table) => namespace.describeTableVersion(table));
    return /\d{20}\.manifest$/.test(version.manifestPath);
  }

  /** Renames all manifests so that their names sort the latest version first. */
  async migrateManifestPathsV2(): Promise<void> {
    await this.state.ask((namespace, table) => namespace.migrateManifestNames(table));
  }

  /** Changes columns. An empty list changes nothing. */
  async #changeColumns(
    changes: readonly unknown[],
    call: (namespace: NamespaceCalls, table: ChangedTable) => Promise<{ readonly version: number }>,
  ): Promise<{ version: number }> {
    this.inner.requireOpen();
    if (changes.length === 0) return { version: await this.state.version() };
    const { version } = await this.state.change(call);
    return { version };
  }

  #job(jobId: string): Job {
    const { inner } = this;
    return jobOf(inner.database, jobId, () =>
      inner.following((namespace) => namespace.waitForJob({ jobId })),
    );
  }
}

/** Options of {@link openLocalTable}. */
interface OpenOptions {
  readonly branch?: string | undefined;
  readonly version?: number | undefined;
  readonly storageOptions?: Readonly<Record<string, string>> | undefined;
}

/** Opens a handle on a table: on a branch, held at a version, or both. */
export async function openLocalTable(
  database: Database,
  id: readonly string[],
  { branch, version, storageOptions }: OpenOptions = {},
): Promise<LocalTable> {
  const name = id.at(-1) as string;
  const described = await database.call(
    (namespace) => namespace.describeTable({ id, ...(branch !== undefined && { branch }), version }),
    name,
  );
  if (described.version === undefined) throw failure(`Table '${name}' was not found: it has no version yet`);
  const opened: Opened = {
    id,
    branch,
    version: described.version,
    isCheckedOut: version !== undefined,
    uri: id.length === 1 ? database.tableUri(name) : described.tableUri,
    storageOptions,
  };
  const state = new TableState(database, opened);
  // Most programs read or add rows next, which needs the columns. An unreadable table opens all the same.
  if (database.kind !== "RemoteDatabase") await state.schema().catch(() => undefined);
  return new LocalTable(state);
}
