/** Handles on one table: the operations without the id. A handle holds only names, so it is never stale. */

import type { Schema, Table } from "apache-arrow";
import type { DirectoryNamespace } from "./DirectoryNamespace.js";
import { InvalidInputError, InvalidTableStateError } from "./errors.js";
import type {
  AggregateOptions,
  CheckedKeys,
  DistinctOptions,
  GroupKeys,
  GroupRow,
  GroupValues,
} from "./handle/aggregateTypes.js";
import {
  type CommitMethodOptions,
  checkedOptions,
  copyOfMoment,
  HANDLE_OPTIONS,
  type KeyOption,
  type OptionsOf,
  type SearchOptions,
  type SignalOptions,
  type TableHandleOptions,
  type TakeRowsOptions,
  type UpdateOptions,
  VECTOR_OPTIONS,
  withoutNulls,
} from "./handle/handleOptions.js";
import { explainOtherNames, TABLE_CALLS } from "./handle/otherNames.js";
import type {
  AnyRow,
  ColumnPath,
  FoundRowOf,
  InputRow,
  LoosePath,
  Selectable,
  SelectedRow,
} from "./handle/rowTypes.js";
import { type Scan, type ScanOptions, scanOf } from "./handle/scan.js";
import { TableQuery } from "./handle/tableQuery.js";
import { formatIdentifier, parseIdentifier } from "./ident.js";
import { setInspection } from "./inspection.js";
import type * as branches from "./namespace/branches.js";
import type * as indexes from "./namespace/indexes.js";
import type * as jobs from "./namespace/jobs.js";
import type * as queries from "./namespace/queries.js";
import type * as base from "./namespace/request.js";
import type * as rowsOf from "./namespace/rows.js";
import type * as schemas from "./namespace/schema.js";
import type * as storage from "./namespace/storage.js";
import type * as tables from "./namespace/tables.js";
import type * as tags from "./namespace/tags.js";
import type { FullTextQuery } from "./namespace/textQueries.js";
import type * as upkeep from "./namespace/upkeep.js";
import type * as versions from "./namespace/versions.js";
import { checkOptionMembers, isObject, shortly } from "./optionMembers.js";
import { ABSENCES } from "./typedErrors.js";

const SIGNAL = ["signal"] as const;
const CHANGE = ["signal", "message"] as const;

/** Version that a handle reads. */
type ReadPoint = Pick<TableHandleOptions, "branch" | "version" | "tag" | "asOf">;

/** A version by its number, tag or moment. */
type VersionName = number | Pick<TableHandleOptions, "version" | "tag" | "asOf">;

/**
 * One table of a {@link DirectoryNamespace}. `ns.table(id)` returns a handle.
 *
 *     const orders = ns.table<{ id: number; city: string }>("orders");
 *     for await (const { city } of orders.scan({ filter: "id > 7" }).rows()) console.log(city);
 *
 * `Row` is the type of rows as plain objects. It is not checked at run time.
 */
export class TableHandle<Row extends object = AnyRow> {
  /** Path of the table: its namespaces, then its name. */
  readonly id: readonly string[];
  readonly #namespace: DirectoryNamespace;
  readonly #options: TableHandleOptions;
  readonly #readFrom: ReadPoint;
  /** Members of every request: the table and the caller. */
  readonly #call: { readonly id: readonly string[] } & Pick<
    base.TableRequest,
    "identity" | "principal" | "context"
  >;

  static {
    explainOtherNames(TableHandle.prototype, "table", TABLE_CALLS);
    setInspection(TableHandle.prototype, (handle) => [
      `TableHandle ${JSON.stringify(formatIdentifier(handle.id))}`,
      { root: handle.#namespace.root, ...handle.#readFrom },
    ]);
  }

  /** @internal */
  constructor(namespace: DirectoryNamespace, id: readonly string[], point: TableHandleOptions) {
    checkOptionMembers("options", point, HANDLE_OPTIONS);
    const { branch, version, tag, asOf, schema, ...caller } = withoutNulls(point);
    if (tag !== undefined && (version !== undefined || branch !== undefined)) {
      throw new InvalidInputError("tag: cannot be given together with version or branch");
    }
    if (asOf !== undefined && (version !== undefined || tag !== undefined)) {
      throw new InvalidInputError("asOf: cannot be given together with version or tag");
    }
    this.#namespace = namespace;
    this.id = id;
    const { identity, principal, context } = caller;
    this.#options = { identity, principal, context, schema };
    this.#call = { id, identity, principal, context };
    this.#readFrom = { branch, version, tag, asOf: copyOfMoment(asOf) };
  }

  // ------------------------------------------------------------------------------------------ the table

  /** Returns true if the table exists, and the version, branch or tag of this handle. */
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

  /**
   * Returns the location, version, schema and properties of the table.
   * @throws TableNotFoundError; TableVersionNotFoundError
   */
  async describe(options?: OptionsOf<tables.DescribeTableRequest>): Promise<tables.DescribeTableResponse> {
    const checked = checkedOptions("describe", options, "describeTable");
    return this.#namespace.describeTable({ ...checked, ...this.#read() });
  }

  /** Returns the Arrow schema of the version. */
  async schema(options?: SignalOptions): Promise<Schema> {
    const { signal } = checkedOptions("schema", options, SIGNAL);
    return (await this.#namespace.queryTable({ ...this.#read(), signal })).schema;
  }

  /**
   * Returns the number of the version that this handle reads.
   * @throws InvalidTableStateError if the table is only declared
   */
  async version(options?: SignalOptions): Promise<number> {
    const { version } = await this.describe(checkedOptions("version", options, SIGNAL));
    if (version !== undefined) return version;
    throw new InvalidTableStateError(
      `table ${formatIdentifier(this.id)} is only declared: it has no versions`,
    );
  }

  /**
   * Creates the table from rows. The table gets the schema of the rows.
   *
   *     await ns.table("orders").create([{ id: 1, city: "Oslo" }]);
   *
   * @throws TableAlreadyExistsError
   */
  async create(
    data: rowsOf.RowsInput<InputRow<Row>>,
    options?: OptionsOf<tables.CreateTableRequest>,
  ): Promise<tables.CreateTableResponse> {
    const checked = checkedOptions("create", options, "createTable");
    return this.#namespace.createTable(
      { ...this.#schemaOf(data), ...checked, ...this.#whole("create") },
      data,
    );
  }

  /**
   * Renames the table. This handle keeps the old name.
   * @param to new name in the same namespace, or a whole id: an array, or a string with `$`
   * @returns a handle with the new name
   */
  async rename(to: base.ObjectId, options?: SignalOptions): Promise<TableHandle<Row>> {
    const { signal } = checkedOptions("rename", options, SIGNAL);
    const id = this.#idOf(to);
    const target = { newTableName: id[id.length - 1], newNamespaceId: id.slice(0, -1) };
    await this.#namespace.renameTable({ ...this.#whole("rename"), ...target, signal });
    return new TableHandle(this.#namespace, Object.freeze([...id]), this.#options);
  }

  /**
   * Creates a table from the version that this handle reads, without copying its files. See
   * {@link DirectoryNamespace.cloneTable}.
   * @param to name in the same namespace, or a whole id: an array, or a string with `$`
   * @returns a handle on the new table
   */
  async cloneTo(to: base.ObjectId, options?: CommitMethodOptions): Promise<TableHandle<Row>> {
    const change = checkedOptions("cloneTo", options, CHANGE);
    const id = this.#idOf(to);
    const { branch, version, tag } = this.#readFrom;
    if (branch !== undefined) {
      throw new InvalidTableStateError("cloneTo: this handle is on a branch; use a handle on a tag of it");
    }
    const point = this.#readFrom.asOf === undefined ? { version, tag } : await this.#untagged(change.signal);
    const { identity, principal, context } = this.#call;
    await this.#namespace.cloneTable({
      ...{ ...change, identity, principal, context },
      ...{ id, from: this.id, version: point.version, tag },
    });
    return new TableHandle(this.#namespace, Object.freeze([...id]), this.#options);
  }

  /**
   * Drops the table with all its versions.
   * @throws TableNotFoundError
   */
  async drop(options?: SignalOptions): Promise<tables.DropTableResponse> {
    const { signal } = checkedOptions("drop", options, SIGNAL);
    return this.#namespace.dropTable({ ...this.#whole("drop"), signal });
  }

  /** Returns the numbers of rows, fragments, indexes and bytes of the version. */
  async stats(options?: OptionsOf<tables.GetTableStatsRequest>): Promise<tables.GetTableStatsResponse> {
    const checked = checkedOptions("stats", options, "getTableStats");
    return this.#namespace.getTableStats({ ...checked, ...this.#read() });
  }

  /** Looks for damage in all files, and in the indexes of the version; see the namespace's `verifyTable`. */
  async verify(options?: OptionsOf<storage.VerifyTableRequest>): Promise<storage.VerifyTableResponse> {
    const checked = checkedOptions("verify", options, "verifyTable");
    return this.#namespace.verifyTable({ ...checked, ...this.#read() });
  }

  /** Returns what takes the space of the version; see the namespace's `describeTableStorage`. */
  async storage(
    options?: OptionsOf<storage.DescribeTableStorageRequest>,
  ): Promise<storage.DescribeTableStorageResponse> {
    const checked = checkedOptions("storage", options, "describeTableStorage");
    return this.#namespace.describeTableStorage({ ...checked, ...this.#read() });
  }

  // ------------------------------------------------------------------------------------------ rows

  /**
   * Appends rows, or replaces all rows with mode `Overwrite`.
   * @throws TableSchemaValidationError if the rows do not match the schema
   */
  async insert(
    data: rowsOf.RowsInput<InputRow<Row>>,
    options?: OptionsOf<rowsOf.InsertIntoTableRequest>,
  ): Promise<rowsOf.InsertIntoTableResponse> {
    const checked = checkedOptions("insert", options, "insertIntoTable");
    return this.#namespace.insertIntoTable({ ...this.#schemaOf(data), ...checked, ...this.#write() }, data);
  }

  /**
   * Returns the rows of a query, to read batch by batch, row by row, or all at once.
   *
   *     const rows = await table.scan({ columns: ["id", "city"], filter: "id > 7" }).toArray();
   *
   * @throws InvalidInputError at once for unknown options; all other errors occur when the rows are read
   */
  scan<const Columns extends Selectable<Row> = undefined>(
    options?: ScanOptions<Columns, ColumnPath<Row>>,
  ): Scan<SelectedRow<Row, Columns> & object> {
    const query = checkedOptions("scan", options as ScanOptions, "queryTable");
    return scanOf(() => this.#namespace.queryTable({ ...query, ...this.#read() }), query);
  }

  /**
   * Returns a query to build step by step. It runs when its rows are read:
   *
   *     const rows = await table.query().where("id > 7").select(["id"]).orderBy("id").limit(10).toArray();
   *
   * @param options initial options, as in {@link scan}
   */
  query(options?: Omit<ScanOptions<undefined, ColumnPath<Row>>, "columns">): TableQuery<Row> {
    const start = options as ScanOptions | undefined;
    const { columns: _, ...query } = checkedOptions("query", start, "queryTable", ["columns"]);
    const runner: ConstructorParameters<typeof TableQuery>[0] = {
      query: (query) => this.#namespace.queryTable({ ...query, ...this.#read() }),
      explain: async (query, options) => {
        const checked = checkedOptions("explain", options, ["format", "verbose", "signal"]);
        const { signal, ...rest } = query;
        const point = this.#readFrom;
        return this.#namespace.explainTableQueryPlan({
          ...{ signal, ...checked, ...this.#call, branch: point.branch },
          query: { ...rest, version: point.version, tag: point.tag, asOf: point.asOf },
        });
      },
      analyze: async (query, options) => {
        const checked = checkedOptions("analyze", options, ["format", "signal"]);
        return this.#namespace.analyzeTableQueryPlan({ ...query, ...checked, ...this.#read() });
      },
    };
    return new TableQuery(runner, query);
  }

  /**
   * Computes aggregate functions of groups of rows. The result is read as that of {@link scan}.
   *
   *     const totals = await table
   *       .aggregate({ groupBy: ["city"], values: { n: "count(*)", top: "max(price)" }, having: "n > 10" })
   *       .toArray(); // [{ city: "Oslo", n: 12n, top: 99.5 }]
   *
   * @throws InvalidInputError at once for unknown options; all other errors occur when the rows are read
   */
  aggregate<
    const Keys extends GroupKeys<Row, keyof Values> = [],
    const Values extends GroupValues = GroupValues,
  >(options: AggregateOptions<Row, Keys, Values>): Scan<GroupRow<Row, Keys, Values> & object> {
    const checked = options as OptionsOf<queries.AggregateTableRequest>;
    const query = checkedOptions("aggregate", checked, "aggregateTable");
    return scanOf(() => this.#namespace.aggregateTable({ ...query, ...this.#read() }), query);
  }

  /**
   * Returns the distinct values of columns, each combination once.
   *
   *     const cities = await table.distinct(["city"], { filter: "price > 10" }).toArray();
   *
   * @param columns paths of columns, or expressions
   */
  distinct<const Keys extends GroupKeys<Row>>(
    columns: CheckedKeys<Row, Keys>,
    options?: DistinctOptions<Keys>,
  ): Scan<GroupRow<Row, Keys, Record<never, string>> & object> {
    const excluded = ["groupBy", "values", "having"];
    const checked = options as DistinctOptions | undefined;
    const query = checkedOptions<DistinctOptions>("distinct", checked, "aggregateTable", excluded);
    const grouped = { groupBy: columns as queries.GroupBy, ...query };
    return scanOf(() => this.#namespace.aggregateTable({ ...grouped, values: {}, ...this.#read() }), grouped);
  }

  /**
   * Searches rows by vector, by text, or by both (hybrid search):
   *
   *     const rows = await table.search({ text: "puppy training", columns: ["id"], limit: 10 }).toArray();
   *
   * Rows also have `_distance` (vector), `_score` (text), or both and `_relevance_score` (hybrid).
   */
  search<
    const Columns extends Selectable<Row> = undefined,
    Vector extends queries.SearchVector | undefined = undefined,
    Text extends string | undefined = undefined,
    Query extends FullTextQuery | undefined = undefined,
  >(
    options: SearchOptions<Columns, Vector, Text, Query, ColumnPath<Row>>,
  ): Scan<FoundRowOf<SelectedRow<Row, Columns>, Vector, Text, Query> & object> {
    // Handles of other libraries accept a bare vector or text.
    const bare = typeof options === "string" ? "text" : isVector(options) ? "vector" : null;
    if (bare !== null) {
      throw new InvalidInputError(`search: options must be an object, as in { ${bare}: …, limit: 10 }`);
    }
    const query = checkedOptions("search", options as SearchOptions, [...SEARCH_OPTIONS]);
    return scanOf(() => this.#namespace.queryTable({ ...query, ...this.#read() }), query);
  }

  /**
   * Returns the rows at offsets, in the given order; duplicates are allowed. Offsets count the live rows of
   * the version from 0. Reads little more than these rows.
   * @param columns columns of the rows; default: all
   * @throws InvalidInputError for an offset beyond the live rows
   */
  async take(
    rowOffsets: queries.RowOffsets,
    columns?: Selectable<Row>,
    options?: SignalOptions,
  ): Promise<Table> {
    const { signal } = checkedOptions("take", options, SIGNAL);
    const selection = columns as queries.ColumnSelection | undefined;
    return this.#namespace.takeRows({ ...this.#read(), rowOffsets, columns: selection, signal });
  }

  /**
   * Returns the rows with given row ids, or at given offsets, in the table's order. Ids and offsets without a
   * row are left out.
   *
   *     const rows = await table.takeRows({ rowIds: [7n, 9n], columns: ["city"] }).toArray();
   *
   * @throws InvalidInputError at once for unknown options; all other errors occur when the rows are read
   */
  takeRows<const Columns extends Selectable<Row> = undefined>(
    options: TakeRowsOptions<Columns>,
  ): Scan<SelectedRow<Row, Columns> & object> {
    const checked = checkedOptions("takeRows", options as TakeRowsOptions<undefined>, "takeTableRows");
    return scanOf(() => this.#namespace.takeTableRows({ ...checked, ...this.#read() }), checked);
  }

  /**
   * Returns the values of a blob column at offsets, which count as in {@link take}, or by row ids. A null
   * value is null. The bytes are read only when requested.
   *
   *     const [first, last] = await table.takeBlobs("image", { rowIds: [7n, 9n] });
   *
   * @throws InvalidInputError for an offset beyond the live rows, for an id without a row, and for a column
   *   without blobs
   */
  async takeBlobs(
    column: LoosePath<Row>,
    rows: queries.RowOffsets | { readonly rowIds: queries.RowIdList },
    options?: SignalOptions,
  ): Promise<(queries.LazyBlob | null)[]> {
    const { signal } = checkedOptions("takeBlobs", options, SIGNAL);
    const isList = Array.isArray(rows) || ArrayBuffer.isView(rows) || !isObject(rows);
    if (!isList) checkOptionMembers("takeBlobs", rows, ["rowIds"]);
    const chosen = isList ? { rowOffsets: rows as queries.RowOffsets } : rows;
    return this.#namespace.takeBlobs({ ...this.#read(), column, ...chosen, signal });
  }

  /**
   * Cuts a text into tokens, as a full-text index of this table does.
   *
   *     const tokens = await table.tokenize("Running foxes", { column: "body" });
   *
   * @throws TableIndexNotFoundError
   */
  async tokenize(
    text: string,
    options: Pick<indexes.TokenizeRequest, "column" | "indexName" | "signal">,
  ): Promise<readonly indexes.Token[]> {
    const checked = checkedOptions("tokenize", options, ["column", "indexName", "signal"]);
    return this.#namespace.tokenize({ ...this.#read(), ...checked, text });
  }

  /**
   * Counts all rows, or the rows that a filter selects.
   * @param params values of the parameters in the filter, written `$name`
   */
  async countRows(
    filter?: string | queries.FilterExpression,
    params?: queries.FilterParameters,
    options?: OptionsOf<queries.CountTableRowsRequest, ConditionMember>,
  ): Promise<number> {
    const checked = checkedOptions("countRows", options, "countTableRows", CONDITION_MEMBERS);
    refuseOptions("countRows", filter, "filter");
    return this.#namespace.countTableRows({ ...checked, ...this.#read(), predicate: filter, params });
  }

  /**
   * Deletes the rows that a predicate selects, all or none.
   * @param params values of the parameters in the predicate, written `$name`
   */
  async delete(
    predicate: string | queries.FilterExpression,
    params?: queries.FilterParameters,
    options?: OptionsOf<rowsOf.DeleteFromTableRequest, ConditionMember>,
  ): Promise<rowsOf.DeleteFromTableResponse> {
    const checked = checkedOptions("delete", options, "deleteFromTable", CONDITION_MEMBERS);
    refuseOptions("delete", predicate, "predicate");
    return this.#namespace.deleteFromTable({ ...checked, ...this.#write(), predicate, params });
  }

  /**
   * Sets columns of the rows that `where` selects; default: all rows. The new values are constants (`values`)
   * or SQL expressions over the old values (`valuesSql`).
   *
   *     await table.update({ where: "id = 7", values: { name: "x" }, valuesSql: { count: "count + 1" } });
   */
  async update(options: UpdateOptions<Row>): Promise<rowsOf.UpdateTableResponse> {
    const members = [...CONDITION_MEMBERS, "values", "valuesSql", "signal", "onProgress", "message"];
    return this.#namespace.updateTable({
      ...checkedOptions("update", options as UpdateOptions, members),
      ...this.#write(),
    });
  }

  /**
   * Updates, inserts and deletes rows by key, in one version:
   *
   *     await table.mergeInsert("id", rows, { whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true });
   *
   * @param on path of the key column, or several
   */
  async mergeInsert(
    on: ColumnPath<Row> | readonly ColumnPath<Row>[],
    data: rowsOf.RowsInput<InputRow<Row>>,
    options?: OptionsOf<rowsOf.MergeInsertIntoTableRequest, "on">,
  ): Promise<rowsOf.MergeInsertIntoTableResponse> {
    const checked = checkedOptions("mergeInsert", options, "mergeInsertIntoTable", ["on"]);
    if (data === undefined) {
      throw new InvalidInputError("rows: must be given, not undefined; write mergeInsert(on, rows, options)");
    }
    return this.#namespace.mergeInsertIntoTable({ ...checked, ...this.#write(), on }, data);
  }

  // ------------------------------------------------------------------------------------------ columns

  /**
   * Adds columns. A column is null, a constant, or the result of an SQL expression; or {@link backfill} fills
   * it later.
   */
  async addColumns(
    columns: schemas.NewColumn | readonly schemas.NewColumn[],
    options?: OptionsOf<schemas.AlterTableAddColumnsRequest, "newColumns">,
  ): Promise<schemas.AlterTableAddColumnsResponse> {
    const checked = checkedOptions("addColumns", options, "alterTableAddColumns", ["newColumns"]);
    const newColumns = asList(columns);
    return this.#namespace.alterTableAddColumns({ ...checked, ...this.#write(), newColumns });
  }

  /** Renames columns, changes their nullability, or casts them to other types: all changes or none. */
  async alterColumns(
    changes: schemas.ColumnAlteration | readonly schemas.ColumnAlteration[],
    options?: OptionsOf<schemas.AlterTableAlterColumnsRequest, "alterations">,
  ): Promise<schemas.AlterTableAlterColumnsResponse> {
    const checked = checkedOptions("alterColumns", options, "alterTableAlterColumns", ["alterations"]);
    const alterations = asList(changes);
    return this.#namespace.alterTableAlterColumns({ ...checked, ...this.#write(), alterations });
  }

  /** Drops columns or struct members by path. Older versions keep them. */
  async dropColumns(
    paths: LoosePath<Row> | readonly LoosePath<Row>[],
    options?: CommitMethodOptions,
  ): Promise<schemas.AlterTableDropColumnsResponse> {
    const change = checkedOptions("dropColumns", options, CHANGE);
    const columns = typeof paths === "string" ? [paths] : paths;
    return this.#namespace.alterTableDropColumns({ ...change, ...this.#write(), columns });
  }

  /**
   * Starts a job that fills a computed column; see `alterTableBackfillColumns`.
   * @returns the id of the job for {@link waitForJob}
   */
  async backfill(
    column: LoosePath<Row>,
    options?: OptionsOf<schemas.AlterTableBackfillColumnsRequest, "column">,
  ): Promise<schemas.AlterTableBackfillColumnsResponse> {
    const checked = checkedOptions("backfill", options, "alterTableBackfillColumns", ["column"]);
    return this.#namespace.alterTableBackfillColumns({ ...checked, ...this.#write(), column });
  }

  /** Returns the computed columns, with the count and fragments of rows without a current value. */
  async computedColumns(
    options?: OptionsOf<schemas.DescribeComputedColumnsRequest>,
  ): Promise<readonly schemas.ComputedColumnState[]> {
    const checked = checkedOptions("computedColumns", options, "describeComputedColumns");
    return (await this.#namespace.describeComputedColumns({ ...checked, ...this.#read() })).columns;
  }

  // ------------------------------------------------------------------------------------------ metadata

  /** Returns the metadata of the schema. */
  async metadata(options?: SignalOptions): Promise<Readonly<Record<string, string>>> {
    return (await this.describe(checkedOptions("metadata", options, SIGNAL))).metadata ?? {};
  }

  /** Replaces the metadata of the schema. */
  async updateMetadata(
    metadata: Readonly<Record<string, string>>,
    options?: CommitMethodOptions,
  ): Promise<schemas.UpdateTableSchemaMetadataResponse> {
    const change = checkedOptions("updateMetadata", options, CHANGE);
    return this.#namespace.updateTableSchemaMetadata({ ...change, ...this.#write(), metadata });
  }

  /** Changes the metadata of fields. All changes are applied, or none. */
  async updateFieldMetadata(
    updates: schemas.FieldMetadataUpdate | readonly schemas.FieldMetadataUpdate[],
    options?: CommitMethodOptions,
  ): Promise<schemas.UpdateFieldMetadataResponse> {
    const change = checkedOptions("updateFieldMetadata", options, CHANGE);
    return this.#namespace.updateFieldMetadata({ ...change, ...this.#write(), updates: asList(updates) });
  }

  // ------------------------------------------------------------------------------------------ indexes, jobs

  /** Starts a job that builds an index. {@link waitForJob} waits for it. */
  async createIndex(
    column: ColumnPath<Row>,
    options?: OptionsOf<indexes.CreateTableIndexRequest, "column">,
  ): Promise<indexes.CreateTableIndexResponse> {
    const checked = checkedOptions("createIndex", options, "createTableIndex", ["column"]);
    return this.#namespace.createTableIndex({ ...checked, ...this.#write(), column });
  }

  /** Lists the indexes of the version by name. */
  async indexes(options?: SignalOptions): Promise<readonly indexes.TableIndex[]> {
    const { signal } = checkedOptions("indexes", options, SIGNAL);
    const point = await this.#untagged(signal);
    return (await this.#namespace.listTableIndices({ ...this.#call, ...point, signal })).indexes;
  }

  /** Returns how many rows of the version an index covers. */
  async indexStats(name: string, options?: SignalOptions): Promise<indexes.DescribeTableIndexStatsResponse> {
    const { signal } = checkedOptions("indexStats", options, SIGNAL);
    const point = await this.#untagged(signal);
    return this.#namespace.describeTableIndexStats({ ...this.#call, ...point, indexName: name, signal });
  }

  /** Drops an index. Older versions keep it. */
  async dropIndex(name: string, options?: CommitMethodOptions): Promise<indexes.DropTableIndexResponse> {
    const change = checkedOptions("dropIndex", options, CHANGE);
    return this.#namespace.dropTableIndex({ ...change, ...this.#write(), indexName: name });
  }

  /**
   * Lists the jobs of the table and its branches, the most recently started first.
   *
   *     const job = await table.backfill("vector");
   *     await table.waitForJob(job, { onProgress: ({ done, total }) => console.log(done, total) });
   */
  async listJobs(options?: OptionsOf<jobs.ListJobsRequest>): Promise<readonly jobs.Job[]> {
    const checked = checkedOptions("listJobs", options, "listJobs");
    return (await this.#namespace.listJobs({ ...checked, ...this.#call })).jobs;
  }

  /**
   * Returns the state of a job.
   * @throws TransactionNotFoundError
   */
  async describeJob(job: jobs.JobReference, options?: SignalOptions): Promise<jobs.Job> {
    const { signal } = checkedOptions("describeJob", options, SIGNAL);
    return this.#namespace.describeJob({ ...this.#call, jobId: job, signal });
  }

  /**
   * Waits until a job has succeeded or was cancelled, or until the timeout.
   *
   *     await table.waitForJob(await table.createIndex("city"));
   *
   * @param job id of the job, or the answer of the call that started it
   * @returns the job after the wait
   * @throws the error of a failed job
   */
  async waitForJob(
    job: jobs.JobReference,
    options?: OptionsOf<jobs.WaitForJobRequest, "jobId">,
  ): Promise<jobs.Job> {
    const checked = checkedOptions("waitForJob", options, "waitForJob", ["jobId"]);
    return this.#namespace.waitForJob({ ...checked, ...this.#call, jobId: job });
  }

  /**
   * Cancels a job of any process. Committed work stays.
   * @param job id of the job, or the answer of the call that started it
   * @returns the job after the call
   */
  async cancelJob(job: jobs.JobReference, options?: SignalOptions): Promise<jobs.Job> {
    const { signal } = checkedOptions("cancelJob", options, SIGNAL);
    return this.#namespace.cancelJob({ ...this.#call, jobId: job, signal });
  }

  // ------------------------------------------------------------------------------------------ versions, refs

  /**
   * Lists all versions of the handle's branch, oldest first, with what each commit changed. A handle on a tag
   * lists the tag's branch.
   *
   *     for (const { version, operation, rowsAdded, message } of await table.versions())
   *       console.log(version, operation, rowsAdded, message);
   */
  async versions(options?: SignalOptions): Promise<readonly versions.TableVersion[]> {
    const { signal } = checkedOptions("versions", options, SIGNAL);
    const { branch } = await this.#untagged(signal);
    return (await this.#namespace.listTableVersions({ ...this.#call, branch, signal })).versions;
  }

  /**
   * Yields the versions of the handle's branch as any process commits them; see the namespace's `watchTable`.
   *
   *     for await (const { version, operation } of table.watch({ signal })) console.log(version, operation);
   *
   * The watch starts during the call, at the latest version. A caller that knows a version passes it as
   * `from`, and misses none after it. A watch does not keep the process alive.
   */
  watch(options?: OptionsOf<versions.WatchTableRequest>): AsyncIterable<versions.TableVersion> {
    const checked = checkedOptions("watch", options, "watchTable");
    const point = this.#write();
    const watched = this.#namespace.watchTable({ ...checked, ...point });
    // The error is thrown to the reader.
    watched.catch(() => undefined);
    return {
      [Symbol.asyncIterator]() {
        const opened = watched.then((versions) => versions[Symbol.asyncIterator]());
        opened.catch(() => undefined);
        return {
          next: async () => (await opened).next(),
          return: async () => {
            const iterator = await opened.catch(() => null);
            await iterator?.return?.();
            return { done: true, value: undefined };
          },
        };
      },
    };
  }

  /**
   * Returns the rows that differ between two versions of the handle's branch.
   *
   *     for await (const { kind, row, before } of table.diff(3, 7, { on: "id" }))
   *       console.log(kind, row, before);
   *
   * Rows are matched by key columns, `on`, or by stable row ids. They come in the order of the key. `before`
   * is present for changed rows.
   * @param from number of the version to compare with, or its tag or moment
   * @param to the compared version. Default: the version that this handle reads
   * @throws InvalidInputError while it is read, if the table has no stable row ids and `on` is absent
   */
  diff(
    from: VersionName,
    to?: VersionName,
    options?: OptionsOf<versions.DiffTableVersionsRequest, "from" | "to" | "on"> & KeyOption<Row>,
  ): AsyncIterable<versions.RowDifference<Row>> {
    const checked = checkedOptions("diff", options, "diffTableVersions", ["from", "to"]);
    const { signal } = checked;
    const result = async () => {
      const here = await this.#untagged(signal);
      const request = {
        ...{ ...checked, ...this.#call, branch: here.branch },
        from: await this.#numberOf("from", from, here.branch, signal),
        to: isAbsent(to) ? here.version : await this.#numberOf("to", to, here.branch, signal),
      };
      return this.#namespace.diffTableVersions(request);
    };
    return {
      async *[Symbol.asyncIterator]() {
        for await (const { kind, row, before } of (await result()).rows()) {
          const present = before !== null && before !== undefined;
          yield { kind, row, ...(present && { before }) } as versions.RowDifference<Row>;
        }
      },
    };
  }

  /**
   * Commits the content of an older version as the new latest version. The versions in between stay.
   *
   *     await table.restore(3);
   *     await table.restore({ tag: "before-import" });
   *     await table.restore({ asOf: "2026-11-28T06:00:00Z" });
   *
   * @param to number of a version of the handle's branch, or its version, tag or moment
   */
  async restore(to: VersionName, options?: CommitMethodOptions): Promise<tables.RestoreTableResponse> {
    const change = checkedOptions("restore", options, CHANGE);
    if (isObject(to)) checkOptionMembers("to", to, ["version", "tag", "asOf"]);
    const point = isObject(to) ? to : { version: to };
    return this.#namespace.restoreTable({ ...change, ...this.#write(), ...point });
  }

  /** Lists all branches except main, by name. */
  async branches(options?: SignalOptions): Promise<Readonly<Record<string, branches.BranchContents>>> {
    const { signal } = checkedOptions("branches", options, SIGNAL);
    return (await this.#namespace.listTableBranches({ ...this.#call, signal })).branches;
  }

  /**
   * Creates a branch. Copies no rows.
   * @param from number of a version on the handle's branch, or a branch, version, tag or moment. Default: the
   *   version that this handle reads
   * @returns a handle on the new branch
   */
  async createBranch(
    name: string,
    from?: number | Pick<TableHandleOptions, "branch" | "version" | "tag" | "asOf">,
    options?: CommitMethodOptions,
  ): Promise<TableHandle<Row>> {
    const change = checkedOptions("createBranch", options, CHANGE);
    const point = from === undefined || from === null ? this.#readFrom : this.#sourceOf(from);
    const source: ReadPoint = point.asOf === undefined ? point : await this.#numbered(point, change.signal);
    await this.#namespace.createTableBranch({
      ...{ ...change, ...this.#call, name },
      ...{ fromBranch: source.branch, fromVersion: source.version, fromTag: source.tag },
    });
    return new TableHandle(this.#namespace, this.id, { ...this.#options, branch: name });
  }

  /**
   * Merges a branch that was made from the handle's branch: takes over the rows that it added, changed and
   * deleted, in one commit.
   *
   *     await table.mergeBranch("trial", { on: "id", conflicts: "theirs" });
   *
   * @throws ConcurrentModificationError, listing the first rows that both changed in different ways, unless
   *   `conflicts` says which ones win
   */
  async mergeBranch(
    name: string,
    options?: OptionsOf<branches.MergeTableBranchRequest, "name" | "on"> & KeyOption<Row>,
  ): Promise<branches.MergeTableBranchResponse> {
    const checked = checkedOptions("mergeBranch", options, "mergeTableBranch", ["name"]);
    return this.#namespace.mergeTableBranch({ ...checked, ...this.#write(), name });
  }

  /** Deletes a branch with all its versions. No other branch and no tag may refer to it. */
  async deleteBranch(name: string, options?: SignalOptions): Promise<branches.DeleteTableBranchResponse> {
    const { signal } = checkedOptions("deleteBranch", options, SIGNAL);
    return this.#namespace.deleteTableBranch({ ...this.#call, name, signal });
  }

  /** Lists all tags of the table and its branches, by name. */
  async tags(options?: SignalOptions): Promise<Readonly<Record<string, tags.TagContents>>> {
    const { signal } = checkedOptions("tags", options, SIGNAL);
    return (await this.#namespace.listTableTags({ ...this.#call, signal })).tags;
  }

  /**
   * Names a version of the handle's branch with a new tag.
   * @param version number of the version. Default: the version that this handle reads
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
   * @param version number of the version. Default: the version that this handle reads
   */
  async updateTag(
    tag: string,
    version?: number,
    options?: SignalOptions,
  ): Promise<tags.UpdateTableTagResponse> {
    const { signal } = checkedOptions("updateTag", options, SIGNAL);
    return this.#namespace.updateTableTag({ ...(await this.#target(version, signal)), tag, signal });
  }

  /** Deletes a tag. The version stays. */
  async deleteTag(tag: string, options?: SignalOptions): Promise<tags.DeleteTableTagResponse> {
    const { signal } = checkedOptions("deleteTag", options, SIGNAL);
    return this.#namespace.deleteTableTag({ ...this.#call, tag, signal });
  }

  // ------------------------------------------------------------------------------------------ upkeep

  /** Renames manifests to scheme V2. See {@link DirectoryNamespace.migrateManifestNames}. */
  async migrateManifestNames(options?: SignalOptions): Promise<versions.MigrateManifestNamesResponse> {
    const { signal } = checkedOptions("migrateManifestNames", options, SIGNAL);
    return this.#namespace.migrateManifestNames({ ...this.#write(), signal });
  }

  /** Compacts the table or branch: merges small fragments, and rewrites those with many deleted rows. */
  async optimize(
    options?: Omit<OptionsOf<upkeep.OptimizeTableRequest>, "background">,
  ): Promise<upkeep.OptimizeTableResponse> {
    const checked = checkedOptions("optimize", options, "optimizeTable", ["background"]);
    return this.#namespace.optimizeTable({ ...checked, ...this.#write(), background: false });
  }

  /** Removes old versions of the table or the handle's branch, and files that no version needs. */
  async cleanup(
    options?: Omit<OptionsOf<upkeep.CleanupTableRequest>, "background">,
  ): Promise<upkeep.CleanupTableResponse> {
    const checked = checkedOptions("cleanup", options, "cleanupTable", ["background"]);
    return this.#namespace.cleanupTable({ ...checked, ...this.#write(), background: false });
  }

  /**
   * Stores in the table when its commits clean up. Without any member, commits clean nothing up.
   *
   *     await table.configureCleanup({ olderThanMs: 86_400_000, retainVersions: 10, interval: 50 });
   *     const { cleanup } = await table.describe(); // the rule
   */
  async configureCleanup(
    rule: OptionsOf<upkeep.ConfigureCleanupRequest>,
  ): Promise<upkeep.ConfigureCleanupResponse> {
    const checked = checkedOptions("configureCleanup", rule, "configureCleanup");
    return this.#namespace.configureCleanup({ ...checked, ...this.#write() });
  }

  /**
   * Stores settings of LanceDB's log-structured writes in the table; null removes them.
   *
   *     await table.configureLsmWrites({ specType: "unsharded" });
   *     const { lsmWriteSpec } = await table.describe();
   */
  async configureLsmWrites(
    spec: upkeep.LsmWriteSpec | null,
    options?: Omit<OptionsOf<upkeep.ConfigureLsmWritesRequest>, "spec">,
  ): Promise<upkeep.ConfigureLsmWritesResponse> {
    const checked = checkedOptions("configureLsmWrites", options, "configureLsmWrites", ["spec"]);
    return this.#namespace.configureLsmWrites({ ...checked, ...this.#write(), spec });
  }

  /**
   * Stores in the table when the option `upkeep` of a namespace begins its work. Replaces all thresholds;
   * those without a value get their defaults. `describe()` tells them.
   *
   *     await table.configureUpkeep({ smallFragments: 50, versions: "off" });
   *     const { upkeep } = await table.describe(); // { smallFragments: 50, versions: "off" }
   */
  async configureUpkeep(
    thresholds: OptionsOf<upkeep.ConfigureUpkeepRequest>,
  ): Promise<upkeep.ConfigureUpkeepResponse> {
    const checked = checkedOptions("configureUpkeep", thresholds, "configureUpkeep");
    return this.#namespace.configureUpkeep({ ...checked, ...this.#whole("configureUpkeep") });
  }

  /** Returns the handle's schema for rows that may be plain objects. Arrow data has its own. */
  #schemaOf(data: unknown): Pick<tables.CreateTableRequest, "schema"> {
    const { schema } = this.#options;
    const first: unknown = Array.isArray(data) ? data[0] : data;
    return schema === undefined || ArrayBuffer.isView(first) || isArrow(first) ? {} : { schema };
  }

  /** Returns the id of another table. A bare name is in the same namespace. */
  #idOf(to: base.ObjectId): readonly string[] {
    const path = typeof to === "string" ? parseIdentifier(to) : to;
    if (!Array.isArray(path) || path.length === 0) {
      throw new InvalidInputError(`to: must be a name, or an array of names, not ${shortly(to)}`);
    }
    const isWhole = typeof to !== "string" || path.length > 1;
    return isWhole ? path : [...this.id.slice(0, -1), ...path];
  }

  #read() {
    return { ...this.#call, ...this.#readFrom };
  }

  #write() {
    const { version, tag, asOf } = this.#readFrom;
    if (version !== undefined || tag !== undefined || asOf !== undefined) {
      throw new InvalidTableStateError(
        "a handle on a fixed version only reads; open one without version, tag or asOf",
      );
    }
    return { ...this.#call, branch: this.#readFrom.branch };
  }

  /** Members of a request that changes the table with all its branches. */
  #whole(method: string) {
    const { branch, ...call } = this.#write();
    if (branch === undefined) return call;
    throw new InvalidTableStateError(
      `${method}: this handle is on a branch; use a handle on the whole table`,
    );
  }

  /** Returns the handle's branch and version. */
  #untagged(signal: AbortSignal | undefined): Promise<Pick<TableHandleOptions, "branch" | "version">> {
    return this.#numbered(this.#readFrom, signal);
  }

  /** Returns the branch and the number of a version. A tag and a moment are resolved. */
  async #numbered(
    { tag, asOf, branch, version }: ReadPoint,
    signal: AbortSignal | undefined,
  ): Promise<Pick<TableHandleOptions, "branch" | "version">> {
    if (tag !== undefined) return this.#namespace.getTableTagVersion({ ...this.#call, tag, signal });
    if (asOf === undefined) return { branch, version };
    const described = await this.#namespace.describeTableVersion({ ...this.#call, branch, asOf, signal });
    return { branch, version: described.version.version };
  }

  /** Returns the members of a request that tags a version of the handle's branch. */
  async #target(version: number | undefined, signal: AbortSignal | undefined) {
    const point = await this.#untagged(signal);
    const targetVersion = version ?? point.version ?? (await this.version({ signal }));
    return { ...this.#call, branch: point.branch, version: targetVersion };
  }

  /** Returns the number of a version of a branch that a caller named by number, tag or moment. */
  async #numberOf(
    member: string,
    name: VersionName,
    branch: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<number> {
    if (!isObject(name)) return name;
    checkOptionMembers(member, name, ["version", "tag", "asOf"]);
    const { version, tag, asOf } = withoutNulls(name);
    if ([version, tag, asOf].filter((each) => each !== undefined).length !== 1) {
      throw new InvalidInputError(`${member}: must have one of version, tag and asOf`);
    }
    const point = await this.#numbered({ branch, version, tag, asOf }, signal);
    if ((point.branch ?? "main") !== (branch ?? "main")) {
      throw new InvalidInputError(`${member}: ${tag} is a tag of another branch`);
    }
    return point.version as number;
  }

  #sourceOf(from: unknown): ReadPoint {
    if (typeof from === "number") {
      const { branch, tag } = this.#readFrom;
      if (tag === undefined) return { branch, version: from };
      throw new InvalidInputError("from: a handle on a tag has no branch; write { branch, version }");
    }
    if (!isObject(from)) {
      throw new InvalidInputError(
        `from: must be the number of a version, { branch, version }, { tag } or { asOf }, not ${shortly(from)}`,
      );
    }
    checkOptionMembers("from", from, ["branch", "version", "tag", "asOf"]);
    const source: ReadPoint = withoutNulls(from);
    if (source.asOf !== undefined && (source.version !== undefined || source.tag !== undefined)) {
      throw new InvalidInputError("asOf: cannot be given together with version or tag");
    }
    return source;
  }
}

/** True for tables and batches of Arrow. A row may have a column that is called `schema`. */
const isArrow = (value: unknown): boolean =>
  isObject(value) &&
  "schema" in value &&
  isObject(value.schema) &&
  Array.isArray((value.schema as { fields?: unknown }).fields) &&
  ("batches" in value || "data" in value);

const isVector = (value: unknown): boolean => Array.isArray(value) || ArrayBuffer.isView(value);

/** Names of the options of {@link TableHandle.search}. */
const SEARCH_OPTIONS = [
  ...[
    "columns",
    "filter",
    "predicate",
    "where",
    "params",
    "orderBy",
    "limit",
    "offset",
    "withRowId",
    "batchSize",
  ],
  ...["useScalarIndex", "signal", "vector", "text", "fullTextQuery", "highlight", "rerank"],
  ...VECTOR_OPTIONS,
];

/** Members of a condition. They are arguments of some methods. */
const CONDITION_MEMBERS = ["filter", "predicate", "where", "params"] as const;
type ConditionMember = (typeof CONDITION_MEMBERS)[number];

const isAbsent = (value: unknown): value is undefined | null => value === undefined || value === null;

const asList = <Entry extends object>(entries: Entry | readonly Entry[]): readonly Entry[] =>
  Array.isArray(entries) ? entries : [entries as Entry];

/** Refuses an options object in place of a text or an expression. */
function refuseOptions(method: string, argument: unknown, name: string): void {
  if (!isObject(argument) || "syntax" in argument) return;
  throw new InvalidInputError(
    `${name}: must be a text or an expression, as in ${method}("id > 7"), not an object`,
  );
}
