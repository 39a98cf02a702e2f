/**
 * The operations of one table: the same calls without the id. A handle holds only the id, the requested version, branch
 * or tag, and the caller, so it never goes stale.
 */

import type { Schema, Table } from "apache-arrow";
import type { DirectoryNamespace } from "./DirectoryNamespace.js";
import { InvalidInputError, InvalidTableStateError } from "./errors.js";
import {
  checkedOptions,
  HANDLE_OPTIONS,
  type OptionsOf,
  type SearchOptions,
  type SignalOptions,
  type TableHandleOptions,
  type UpdateOptions,
  VECTOR_OPTIONS,
  withoutNulls,
} from "./handle/handleOptions.js";
import { explainOtherNames, TABLE_CALLS } from "./handle/otherNames.js";
import type { AnyRow, Selectable, SelectedRow } from "./handle/rowTypes.js";
import { type Scan, type ScanOptions, scanOf } from "./handle/scan.js";
import { TableQuery } from "./handle/tableQuery.js";
import { formatIdentifier, parseIdentifier } from "./ident.js";
import type * as branches from "./namespace/branches.js";
import type * as indexes from "./namespace/indexes.js";
import type * as jobs from "./namespace/jobs.js";
import type * as queries from "./namespace/queries.js";
import type * as base from "./namespace/request.js";
import type * as rowsOf from "./namespace/rows.js";
import type * as schemas from "./namespace/schema.js";
import type * as tables from "./namespace/tables.js";
import type * as tags from "./namespace/tags.js";
import type * as upkeep from "./namespace/upkeep.js";
import type * as versions from "./namespace/versions.js";
import { checkOptionMembers, isObject, shortly } from "./optionMembers.js";
import { ABSENCES } from "./typedErrors.js";

const SIGNAL = ["signal"] as const;

/**
 * One table of a {@link DirectoryNamespace}; made by `ns.table(id)`.
 *
 *     const orders = ns.table<{ id: number; city: string }>("orders");
 *     for await (const { city } of orders.scan({ filter: "id > 7" }).rows()) console.log(city);
 *
 * `Row` is what the rows are as plain objects; nothing checks that they are.
 */
export class TableHandle<Row extends object = AnyRow> {
  /** Names of the table's namespaces, then its own. */
  readonly id: readonly string[];
  readonly #namespace: DirectoryNamespace;
  readonly #options: TableHandleOptions;
  readonly #at: Pick<TableHandleOptions, "branch" | "version" | "tag">;
  /** The table and the caller of every call. */
  readonly #call: { readonly id: readonly string[] } & Pick<
    base.TableRequest,
    "identity" | "principal" | "context"
  >;

  static {
    explainOtherNames(TableHandle.prototype, "table", TABLE_CALLS);
  }

  /** @internal */
  constructor(namespace: DirectoryNamespace, id: readonly string[], point: TableHandleOptions) {
    checkOptionMembers("options", point, HANDLE_OPTIONS);
    const { branch, version, tag, ...caller } = withoutNulls(point);
    if (tag !== undefined && (version !== undefined || branch !== undefined)) {
      throw new InvalidInputError("tag: excludes version and branch");
    }
    this.#namespace = namespace;
    this.id = id;
    const { identity, principal, context } = caller;
    this.#options = { identity, principal, context };
    this.#call = { id, identity, principal, context };
    this.#at = { branch, version, tag };
  }

  // ---------------------------------------------------------------------------------------------- the table

  /** Whether the table exists, and the version, branch or tag of this handle. */
  async exists(options?: SignalOptions): Promise<boolean> {
    const { signal } = checkedOptions("exists", options, SIGNAL);
    try {
      await this.#namespace.tableExists({ ...this.#read(), signal });
      return true;
    } catch (error) {
      if (ABSENCES.some((kind) => error instanceof kind)) return false;
      throw error;
    }
  }

  /** What is known about the table. */
  async describe(options?: OptionsOf<tables.DescribeTableRequest>): Promise<tables.DescribeTableResponse> {
    const more = checkedOptions("describe", options, "describeTable");
    return this.#namespace.describeTable({ ...more, ...this.#read() });
  }

  /** The Arrow schema of the version. */
  async schema(options?: SignalOptions): Promise<Schema> {
    const { signal } = checkedOptions("schema", options, SIGNAL);
    return (await this.#namespace.queryTable({ ...this.#read(), signal })).schema;
  }

  /** The number of the version that reads see. */
  async version(options?: SignalOptions): Promise<number> {
    const { version } = await this.describe(checkedOptions("version", options, SIGNAL));
    if (version !== undefined) return version;
    throw new InvalidTableStateError(
      `table ${formatIdentifier(this.id)} is only declared: it has no versions`,
    );
  }

  /**
   * Creates the table from rows; their schema becomes the table's.
   *
   *     await ns.table("orders").create([{ id: 1, city: "Oslo" }]);
   */
  async create(
    data: rowsOf.RowsInput,
    options?: OptionsOf<tables.CreateTableRequest>,
  ): Promise<tables.CreateTableResponse> {
    const more = checkedOptions("create", options, "createTable");
    return this.#namespace.createTable({ ...more, ...this.#whole("create") }, data);
  }

  /**
   * Gives the table another name. This handle goes on naming the old one.
   * @param to a name in the same namespace, or a whole id: an array, or a text with `$`
   * @returns a handle under the new name
   */
  async rename(to: base.ObjectId, options?: SignalOptions): Promise<TableHandle<Row>> {
    const { signal } = checkedOptions("rename", options, SIGNAL);
    const path = typeof to === "string" ? parseIdentifier(to) : to;
    if (!Array.isArray(path) || path.length === 0) {
      throw new InvalidInputError(`to: must be a name, or an array of names, not ${shortly(to)}`);
    }
    const isWhole = typeof to !== "string" || path.length > 1;
    const id = isWhole ? path : [...this.id.slice(0, -1), ...path];
    const target = { newTableName: id[id.length - 1], newNamespaceId: id.slice(0, -1) };
    await this.#namespace.renameTable({ ...this.#whole("rename"), ...target, signal });
    return new TableHandle(this.#namespace, Object.freeze([...id]), this.#options);
  }

  /** Removes the table with all its versions. */
  async drop(options?: SignalOptions): Promise<tables.DropTableResponse> {
    const { signal } = checkedOptions("drop", options, SIGNAL);
    return this.#namespace.dropTable({ ...this.#whole("drop"), signal });
  }

  /** How many rows, fragments and bytes the version has. */
  async stats(options?: OptionsOf<tables.GetTableStatsRequest>): Promise<tables.GetTableStatsResponse> {
    const more = checkedOptions("stats", options, "getTableStats");
    return this.#namespace.getTableStats({ ...more, ...this.#read() });
  }

  // ---------------------------------------------------------------------------------------------- rows

  /** Appends rows, or replaces all rows with mode `Overwrite`. */
  async insert(
    data: rowsOf.RowsInput,
    options?: OptionsOf<rowsOf.InsertIntoTableRequest>,
  ): Promise<rowsOf.InsertIntoTableResponse> {
    const more = checkedOptions("insert", options, "insertIntoTable");
    return this.#namespace.insertIntoTable({ ...more, ...this.#write() }, data);
  }

  /**
   * The rows that a query gives, to be read batch by batch, one by one, or all at once.
   *
   *     const rows = await table.scan({ columns: ["id", "city"], filter: "id > 7" }).toArray();
   *
   * @throws InvalidInputError at once for options that there are not; the rest is checked when the rows are read
   */
  scan<const Columns extends Selectable = undefined>(
    options?: ScanOptions<Columns>,
  ): Scan<SelectedRow<Row, Columns> & object> {
    const query = checkedOptions("scan", options, "queryTable");
    return scanOf(() => this.#namespace.queryTable({ ...query, ...this.#read() }));
  }

  /**
   * A query that is put together step by step, and runs when it is read:
   *
   *     const rows = await table.query().where("id > 7").select(["id"]).orderBy("id").limit(10).toArray();
   *
   * @param options as those of {@link scan}, to begin with
   */
  query(options?: Omit<ScanOptions, "columns">): TableQuery<Row> {
    const { columns: _, ...query } = checkedOptions<ScanOptions>("query", options, "queryTable", ["columns"]);
    const runner: ConstructorParameters<typeof TableQuery>[0] = {
      query: (asked) => this.#namespace.queryTable({ ...asked, ...this.#read() }),
      explain: async (asked, given) => {
        const more = checkedOptions("explain", given, ["format", "verbose", "signal"]);
        const { signal, ...rest } = asked;
        const point = this.#at;
        return this.#namespace.explainTableQueryPlan({
          ...{ signal, ...more, ...this.#call, branch: point.branch },
          query: { ...rest, version: point.version, tag: point.tag },
        });
      },
      analyze: async (asked, given) => {
        const more = checkedOptions("analyze", given, ["format", "signal"]);
        return this.#namespace.analyzeTableQueryPlan({ ...asked, ...more, ...this.#read() });
      },
    };
    return new TableQuery(runner, query);
  }

  /**
   * Searches rows by a vector, by words of their text, or by both:
   *
   *     const rows = await table.search({ text: "puppy training", columns: ["id"], limit: 10 }).toArray();
   *
   * Rows have `_distance`, `_score`, or both with `_relevance_score`, beside their columns. Those of {@link query} are of a
   * type that says so.
   */
  search(options: SearchOptions): Scan<Row> {
    // What other programs' tables are searched for without options.
    const bare = typeof options === "string" ? "text" : isVector(options) ? "vector" : null;
    if (bare !== null) {
      throw new InvalidInputError(`search: options must be an object, as in { ${bare}: …, limit: 10 }`);
    }
    const { text, ...query } = checkedOptions("search", options, [...SEARCH_OPTIONS]);
    const isText = text !== undefined && text !== null;
    if (isText && query.fullTextQuery !== undefined && query.fullTextQuery !== null) {
      throw new InvalidInputError("text: stands for a fullTextQuery of its words; give one of them");
    }
    const fullTextQuery = isText ? { stringQuery: { query: text } } : query.fullTextQuery;
    return scanOf(() => this.#namespace.queryTable({ ...query, fullTextQuery, ...this.#read() }));
  }

  /**
   * The rows at the given offsets, in the order given; offsets may repeat. Offsets count the live rows of the version
   * from 0; deleted rows are not counted. Reads little more than those rows.
   * @throws InvalidInputError for an offset that is no row of the version
   */
  async take(
    rowOffsets: queries.RowOffsets,
    columns?: queries.ColumnSelection,
    options?: SignalOptions,
  ): Promise<Table> {
    const { signal } = checkedOptions("take", options, SIGNAL);
    return this.#namespace.takeRows({ ...this.#read(), rowOffsets, columns, signal });
  }

  /**
   * The values of a blob column at the given offsets, which count as those of {@link take}; null for nulls. A value is
   * read only when all or some of its bytes are asked for.
   * @throws InvalidInputError for an offset that is no row of the version, and for a column that is not of blobs
   */
  async takeBlobs(
    column: string,
    rowOffsets: queries.RowOffsets,
    options?: SignalOptions,
  ): Promise<(queries.LazyBlob | null)[]> {
    const { signal } = checkedOptions("takeBlobs", options, SIGNAL);
    return this.#namespace.takeBlobs({ ...this.#read(), column, rowOffsets, signal });
  }

  /**
   * The number of rows, or of those that a filter selects.
   * @param params values of the parameters of the filter: `$name` in its text
   */
  async countRows(
    filter?: string | queries.FilterExpression,
    params?: queries.FilterParameters,
    options?: OptionsOf<queries.CountTableRowsRequest, "predicate" | "params">,
  ): Promise<number> {
    const more = checkedOptions("countRows", options, "countTableRows", ["predicate", "params"]);
    refuseOptions("countRows", filter, "filter");
    return this.#namespace.countTableRows({ ...more, ...this.#read(), predicate: filter, params });
  }

  /**
   * Deletes the rows that a predicate selects.
   * @param params values of the parameters of the predicate: `$name` in its text
   */
  async delete(
    predicate: string | queries.FilterExpression,
    params?: queries.FilterParameters,
    options?: OptionsOf<rowsOf.DeleteFromTableRequest, "predicate" | "params">,
  ): Promise<rowsOf.DeleteFromTableResponse> {
    const more = checkedOptions("delete", options, "deleteFromTable", ["predicate", "params"]);
    refuseOptions("delete", predicate, "predicate");
    return this.#namespace.deleteFromTable({ ...more, ...this.#write(), predicate, params });
  }

  /**
   * Sets columns of the rows that `where` selects, of all rows without it: to values, or to what SQL expressions over the
   * values before the update give.
   *
   *     await table.update({ where: "id = 7", values: { name: "x" }, valuesSql: { count: "count + 1" } });
   */
  async update(options: UpdateOptions): Promise<rowsOf.UpdateTableResponse> {
    const members = ["where", "values", "valuesSql", "params", "signal", "onProgress"];
    const { where, values, valuesSql, params, ...more } = checkedOptions("update", options, members);
    const updates = Object.entries(valuesSql ?? {});
    return this.#namespace.updateTable({
      ...{ ...more, ...this.#write() },
      ...{ updates, values, predicate: where, params },
    });
  }

  /**
   * Updates, adds and removes rows by key, in one version:
   *
   *     await table.mergeInsert("id", rows, { whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true });
   */
  async mergeInsert(
    on: string | readonly string[],
    data: rowsOf.RowsInput,
    options?: OptionsOf<rowsOf.MergeInsertIntoTableRequest, "on">,
  ): Promise<rowsOf.MergeInsertIntoTableResponse> {
    const more = checkedOptions("mergeInsert", options, "mergeInsertIntoTable", ["on"]);
    if (data === undefined) {
      throw new InvalidInputError("rows: undefined; write mergeInsert(on, rows, options)");
    }
    return this.#namespace.mergeInsertIntoTable({ ...more, ...this.#write(), on }, data);
  }

  // ---------------------------------------------------------------------------------------------- columns

  /** Adds columns that are null, a constant, or what SQL computes of other columns; or that {@link backfill} fills. */
  async addColumns(
    columns: schemas.NewColumn | readonly schemas.NewColumn[],
    options?: OptionsOf<schemas.AlterTableAddColumnsRequest, "newColumns">,
  ): Promise<schemas.AlterTableAddColumnsResponse> {
    const more = checkedOptions("addColumns", options, "alterTableAddColumns", ["newColumns"]);
    const newColumns = listed(columns);
    return this.#namespace.alterTableAddColumns({ ...more, ...this.#write(), newColumns });
  }

  /** Renames columns, changes their nullability, casts them to other types; all the changes or none. */
  async alterColumns(
    changes: schemas.ColumnAlteration | readonly schemas.ColumnAlteration[],
    options?: OptionsOf<schemas.AlterTableAlterColumnsRequest, "alterations">,
  ): Promise<schemas.AlterTableAlterColumnsResponse> {
    const more = checkedOptions("alterColumns", options, "alterTableAlterColumns", ["alterations"]);
    const alterations = listed(changes);
    return this.#namespace.alterTableAlterColumns({ ...more, ...this.#write(), alterations });
  }

  /** Removes columns, or members of columns, by their paths; older versions keep them. */
  async dropColumns(
    paths: string | readonly string[],
    options?: SignalOptions,
  ): Promise<schemas.AlterTableDropColumnsResponse> {
    const { signal } = checkedOptions("dropColumns", options, SIGNAL);
    const columns = typeof paths === "string" ? [paths] : paths;
    return this.#namespace.alterTableDropColumns({ ...this.#write(), columns, signal });
  }

  /**
   * Starts to fill a computed column, see `alterTableBackfillColumns`.
   * @returns the id of the job, for {@link waitForJob}
   */
  async backfill(
    column: string,
    options?: OptionsOf<schemas.AlterTableBackfillColumnsRequest, "column">,
  ): Promise<schemas.AlterTableBackfillColumnsResponse> {
    const more = checkedOptions("backfill", options, "alterTableBackfillColumns", ["column"]);
    return this.#namespace.alterTableBackfillColumns({ ...more, ...this.#write(), column });
  }

  /** The computed columns, how far each is filled, and which fragments have rows without a value. */
  async computedColumns(
    options?: OptionsOf<schemas.DescribeComputedColumnsRequest>,
  ): Promise<readonly schemas.ComputedColumnState[]> {
    const more = checkedOptions("computedColumns", options, "describeComputedColumns");
    return (await this.#namespace.describeComputedColumns({ ...more, ...this.#read() })).columns;
  }

  // ---------------------------------------------------------------------------------------------- metadata

  /** The metadata of the schema. */
  async metadata(options?: SignalOptions): Promise<Readonly<Record<string, string>>> {
    return (await this.describe(checkedOptions("metadata", options, SIGNAL))).metadata ?? {};
  }

  /** Replaces the metadata of the schema. */
  async updateMetadata(
    metadata: Readonly<Record<string, string>>,
    options?: SignalOptions,
  ): Promise<schemas.UpdateTableSchemaMetadataResponse> {
    const { signal } = checkedOptions("updateMetadata", options, SIGNAL);
    return this.#namespace.updateTableSchemaMetadata({ ...this.#write(), metadata, signal });
  }

  /** Changes the metadata of fields; all the changes or none. */
  async updateFieldMetadata(
    updates: schemas.FieldMetadataUpdate | readonly schemas.FieldMetadataUpdate[],
    options?: SignalOptions,
  ): Promise<schemas.UpdateFieldMetadataResponse> {
    const { signal } = checkedOptions("updateFieldMetadata", options, SIGNAL);
    return this.#namespace.updateFieldMetadata({ ...this.#write(), updates: listed(updates), signal });
  }

  // ---------------------------------------------------------------------------------------------- indexes, jobs

  /** Starts a job that builds an index; {@link waitForJob} waits for it. */
  async createIndex(
    column: string,
    options?: OptionsOf<indexes.CreateTableIndexRequest, "column">,
  ): Promise<indexes.CreateTableIndexResponse> {
    const more = checkedOptions("createIndex", options, "createTableIndex", ["column"]);
    return this.#namespace.createTableIndex({ ...more, ...this.#write(), column });
  }

  /** All indexes of the version, by name. */
  async indexes(options?: SignalOptions): Promise<readonly indexes.TableIndex[]> {
    const { signal } = checkedOptions("indexes", options, SIGNAL);
    const point = await this.#untagged(signal);
    return (await this.#namespace.listTableIndices({ ...this.#call, ...point, signal })).indexes;
  }

  /** How much of the version an index covers. */
  async indexStats(name: string, options?: SignalOptions): Promise<indexes.DescribeTableIndexStatsResponse> {
    const { signal } = checkedOptions("indexStats", options, SIGNAL);
    const point = await this.#untagged(signal);
    return this.#namespace.describeTableIndexStats({ ...this.#call, ...point, indexName: name, signal });
  }

  /** Removes an index from the versions to come. */
  async dropIndex(name: string, options?: SignalOptions): Promise<indexes.DropTableIndexResponse> {
    const { signal } = checkedOptions("dropIndex", options, SIGNAL);
    return this.#namespace.dropTableIndex({ ...this.#write(), indexName: name, signal });
  }

  /**
   * The jobs of the table and of its branches, those started last first.
   *
   *     const { jobId } = await table.backfill("vector");
   *     await table.waitForJob(jobId, { onProgress: ({ done, total }) => console.log(done, total) });
   */
  async listJobs(options?: OptionsOf<jobs.ListJobsRequest>): Promise<readonly jobs.Job[]> {
    const more = checkedOptions("listJobs", options, "listJobs");
    return (await this.#namespace.listJobs({ ...more, ...this.#call })).jobs;
  }

  /** What is known about a job, by its id. */
  async describeJob(jobId: string, options?: SignalOptions): Promise<jobs.Job> {
    const { signal } = checkedOptions("describeJob", options, SIGNAL);
    return this.#namespace.describeJob({ ...this.#call, jobId, signal });
  }

  /**
   * Waits until a job has succeeded or was cancelled, or the time is over; resolves to the job as it is then.
   * @throws the error that the job failed with
   */
  async waitForJob(jobId: string, options?: OptionsOf<jobs.WaitForJobRequest, "jobId">): Promise<jobs.Job> {
    const more = checkedOptions("waitForJob", options, "waitForJob", ["jobId"]);
    return this.#namespace.waitForJob({ ...more, ...this.#call, jobId });
  }

  /** Cancels a job, whichever process runs it; what it has committed stays. Resolves to the job as it is then. */
  async cancelJob(jobId: string, options?: SignalOptions): Promise<jobs.Job> {
    const { signal } = checkedOptions("cancelJob", options, SIGNAL);
    return this.#namespace.cancelJob({ ...this.#call, jobId, signal });
  }

  // ---------------------------------------------------------------------------------------------- versions, refs

  /** All versions of the handle's branch, oldest first; for a handle on a tag, of the branch that the tag is on. */
  async versions(options?: SignalOptions): Promise<readonly versions.TableVersion[]> {
    const { signal } = checkedOptions("versions", options, SIGNAL);
    const { branch } = await this.#untagged(signal);
    return (await this.#namespace.listTableVersions({ ...this.#call, branch, signal })).versions;
  }

  /** Commits the content of an older version as the new latest one. */
  async restore(version: number, options?: SignalOptions): Promise<tables.RestoreTableResponse> {
    const { signal } = checkedOptions("restore", options, SIGNAL);
    return this.#namespace.restoreTable({ ...this.#write(), version, signal });
  }

  /** All branches of the table except main, by name. */
  async branches(options?: SignalOptions): Promise<Readonly<Record<string, branches.BranchContents>>> {
    const { signal } = checkedOptions("branches", options, SIGNAL);
    return (await this.#namespace.listTableBranches({ ...this.#call, signal })).branches;
  }

  /**
   * Starts a branch from a version; copies no rows.
   * @param from number of a version on the handle's branch, or where the version is. Default: the version that reads see
   * @returns a handle on the branch
   */
  async createBranch(
    name: string,
    from?: number | Pick<TableHandleOptions, "branch" | "version" | "tag">,
    options?: SignalOptions,
  ): Promise<TableHandle<Row>> {
    const { signal } = checkedOptions("createBranch", options, SIGNAL);
    const source = from === undefined || from === null ? this.#at : this.#sourceOf(from);
    await this.#namespace.createTableBranch({
      ...{ ...this.#call, name, signal },
      ...{ fromBranch: source.branch, fromVersion: source.version, fromTag: source.tag },
    });
    return new TableHandle(this.#namespace, this.id, { ...this.#options, branch: name });
  }

  /** Removes a branch, with all its versions, that no other branch and no tag refers to. */
  async deleteBranch(name: string, options?: SignalOptions): Promise<branches.DeleteTableBranchResponse> {
    const { signal } = checkedOptions("deleteBranch", options, SIGNAL);
    return this.#namespace.deleteTableBranch({ ...this.#call, name, signal });
  }

  /** All tags of the table by name, including those of its branches. */
  async tags(options?: SignalOptions): Promise<Readonly<Record<string, tags.TagContents>>> {
    const { signal } = checkedOptions("tags", options, SIGNAL);
    return (await this.#namespace.listTableTags({ ...this.#call, signal })).tags;
  }

  /**
   * Gives a version of the handle's branch a name.
   * @param version default: the one that reads see
   */
  async createTag(
    tag: string,
    version?: number,
    options?: SignalOptions,
  ): Promise<tags.CreateTableTagResponse> {
    const { signal } = checkedOptions("createTag", options, SIGNAL);
    return this.#namespace.createTableTag({ ...(await this.#target(version, signal)), tag, signal });
  }

  /**
   * Moves a tag to another version of the handle's branch.
   * @param version default: the one that reads see
   */
  async updateTag(
    tag: string,
    version?: number,
    options?: SignalOptions,
  ): Promise<tags.UpdateTableTagResponse> {
    const { signal } = checkedOptions("updateTag", options, SIGNAL);
    return this.#namespace.updateTableTag({ ...(await this.#target(version, signal)), tag, signal });
  }

  /** Deletes a tag; the version stays. */
  async deleteTag(tag: string, options?: SignalOptions): Promise<tags.DeleteTableTagResponse> {
    const { signal } = checkedOptions("deleteTag", options, SIGNAL);
    return this.#namespace.deleteTableTag({ ...this.#call, tag, signal });
  }

  // ---------------------------------------------------------------------------------------------- upkeep

  /** Merges small fragments, and rewrites fragments with many deleted rows, of the table or of the handle's branch. */
  async optimize(
    options?: Omit<OptionsOf<upkeep.OptimizeTableRequest>, "background">,
  ): Promise<upkeep.OptimizeTableResponse> {
    const more = checkedOptions("optimize", options, "optimizeTable", ["background"]);
    return this.#namespace.optimizeTable({ ...more, ...this.#write(), background: false });
  }

  /** Removes old versions of the table, or of the handle's branch, and files that no version needs. */
  async cleanup(
    options?: Omit<OptionsOf<upkeep.CleanupTableRequest>, "background">,
  ): Promise<upkeep.CleanupTableResponse> {
    const more = checkedOptions("cleanup", options, "cleanupTable", ["background"]);
    return this.#namespace.cleanupTable({ ...more, ...this.#write(), background: false });
  }

  #read() {
    return { ...this.#call, ...this.#at };
  }

  #write() {
    if (this.#at.version !== undefined || this.#at.tag !== undefined) {
      throw new InvalidTableStateError(
        "a handle on a fixed version only reads; open one without version or tag",
      );
    }
    return { ...this.#call, branch: this.#at.branch };
  }

  /** For what is done to a table with all its branches. */
  #whole(method: string) {
    const { branch, ...call } = this.#write();
    if (branch === undefined) return call;
    throw new InvalidTableStateError(`${method}: a handle on a branch is not one on the whole table`);
  }

  /** The handle's branch and version, with what its tag names in place of a tag. */
  async #untagged(signal: AbortSignal | undefined): Promise<Pick<TableHandleOptions, "branch" | "version">> {
    const { tag, branch, version } = this.#at;
    if (tag === undefined) return { branch, version };
    return this.#namespace.getTableTagVersion({ ...this.#call, tag, signal });
  }

  /** The version of the handle's branch that a tag is to name. */
  async #target(version: number | undefined, signal: AbortSignal | undefined) {
    const point = await this.#untagged(signal);
    const wanted = version ?? point.version ?? (await this.version({ signal }));
    return { ...this.#call, branch: point.branch, version: wanted };
  }

  #sourceOf(from: unknown): Pick<TableHandleOptions, "branch" | "version" | "tag"> {
    if (typeof from === "number") {
      const { branch, tag } = this.#at;
      if (tag === undefined) return { branch, version: from };
      throw new InvalidInputError("from: a handle on a tag has no branch; write { branch, version }");
    }
    if (!isObject(from)) {
      throw new InvalidInputError(
        `from: must be the number of a version, { branch, version } or { tag }, not ${shortly(from)}`,
      );
    }
    checkOptionMembers("from", from, ["branch", "version", "tag"]);
    return from;
  }
}

const isVector = (value: unknown): boolean => Array.isArray(value) || ArrayBuffer.isView(value);

/** Options of a search. */
const SEARCH_OPTIONS = [
  ...["columns", "filter", "params", "orderBy", "limit", "offset", "withRowId", "batchSize"],
  ...["useScalarIndex", "signal", "vector", "text", "fullTextQuery", "highlight", "rerank"],
  ...VECTOR_OPTIONS,
];

const listed = <Entry extends object>(entries: Entry | readonly Entry[]): readonly Entry[] =>
  Array.isArray(entries) ? entries : [entries as Entry];

/** Refuses an object of options where a text or an expression stands. */
function refuseOptions(method: string, given: unknown, what: string): void {
  if (!isObject(given) || "syntax" in given) return;
  throw new InvalidInputError(
    `${what}: must be a text or an expression, as in ${method}("id > 7"), not an object`,
  );
}
