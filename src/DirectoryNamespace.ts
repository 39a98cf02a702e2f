/**
 * The public class: a namespace of tables in a local directory. Each operation is one line here, one row in
 * `operationTable`, and one file under `operations/`. The class loads the engine with the first call, so that
 * importing it is fast. The first call also opens the resources that operations share (disk, locks, caches);
 * `close` releases them.
 */

import type { Table } from "apache-arrow";
import { untilAborted } from "./async/abort.js";
import { type Lazy, lazy, lazyModule } from "./async/lazy.js";
import type { Engine } from "./engine/engine.js";
import { ServiceUnavailableError } from "./errors.js";
import type { TableDefinition } from "./handle/defineTable.js";
import type { TableHandleOptions } from "./handle/handleOptions.js";
import { explainOtherNames, NAMESPACE_CALLS } from "./handle/otherNames.js";
import type { AnyRow } from "./handle/rowTypes.js";
import { setInspection } from "./inspection.js";
import type { Disk, DiskImplementation } from "./io/disk/disk.js";
import type * as branches from "./namespace/branches.js";
import type { CacheStatistics } from "./namespace/caches.js";
import type * as clusters from "./namespace/clusters.js";
import type * as indexes from "./namespace/indexes.js";
import type * as jobs from "./namespace/jobs.js";
import type * as namespaces from "./namespace/namespaces.js";
import type * as options from "./namespace/options.js";
import type * as queries from "./namespace/queries.js";
import type { ObjectId } from "./namespace/request.js";
import type * as rowsOf from "./namespace/rows.js";
import type * as schemas from "./namespace/schema.js";
import type * as storage from "./namespace/storage.js";
import type * as tables from "./namespace/tables.js";
import type * as tags from "./namespace/tags.js";
import type * as transactions from "./namespace/transactions.js";
import type * as upkeepOf from "./namespace/upkeep.js";
import type * as versions from "./namespace/versions.js";
import { accessOf, asksItself, pinRequest, UNRESTRICTED } from "./operations/access.js";
import { operationError } from "./operations/failure.js";
import { checkChoice, contextOptionsOf } from "./operations/namespaceOptions.js";
import type { OperationBody } from "./operations/operation.js";
import { optionalId, requireTableId } from "./operations/request.js";
import {
  type Answers,
  type NamesOfPart,
  type OperationName,
  operationRow,
  type Part,
  type Requests,
} from "./operationTable.js";
import { checkOptionMembers } from "./optionMembers.js";
import { checkRequestMembers } from "./requestMembers.js";
import { membersOfSynonyms } from "./synonyms.js";
import { TableHandle } from "./TableHandle.js";

const upkeepModule = lazyModule(() => import("./operations/upkeep/upkeep.js"));
const engineModule = lazyModule(() => import("./engine/engine.js"));

/** The parts of the engine. The first call of an operation loads its part. */
const PARTS: {
  readonly [Name in Part]: Lazy<{ readonly [Each in NamesOfPart<Name>]: OperationBody<Each> }>;
} = {
  counting: lazyModule(() => import("./engine/counting.js")),
  reading: lazyModule(() => import("./engine/reading.js")),
  taking: lazyModule(() => import("./engine/taking.js")),
  aggregating: lazyModule(() => import("./engine/aggregating.js")),
  describing: lazyModule(() => import("./engine/describing.js")),
  examining: lazyModule(() => import("./engine/examining.js")),
  inserting: lazyModule(() => import("./engine/inserting.js")),
  creating: lazyModule(() => import("./engine/creating.js")),
  updating: lazyModule(() => import("./engine/updating.js")),
  merging: lazyModule(() => import("./engine/merging.js")),
  altering: lazyModule(() => import("./engine/altering.js")),
  changing: lazyModule(() => import("./engine/changing.js")),
  indexing: lazyModule(() => import("./engine/indexing.js")),
  backfilling: lazyModule(() => import("./engine/backfilling.js")),
  upkeep: lazyModule(() => import("./engine/upkeep.js")),
};

/** Parts that change nothing. An aborted call of them ends at once, even if the disk does not answer. */
const READING: readonly Part[] = ["counting", "reading", "taking", "aggregating", "describing", "examining"];

/**
 * A hierarchy of namespaces with versioned Lance tables in one local directory. Any number of instances, in
 * any number of processes, may share a directory. Every method rejects with a {@link NamespaceError}. A
 * rejected call has changed nothing unless the method's documentation says otherwise.
 *
 * @example
 * await using ns = new DirectoryNamespace({ root: "./data" });
 * await ns.createTable({ id: ["trees"] }, [{ id: 1, name: "ash" }]);
 * await ns.insertIntoTable({ id: ["trees"] }, [{ id: 2, name: "elm" }]);
 * console.log(await ns.countTableRows({ id: ["trees"], predicate: "name LIKE 'e%'" })); // 1
 */
export class DirectoryNamespace implements AsyncDisposable {
  readonly #root: string;
  readonly #engine: Lazy<Engine>;
  readonly #authorize: options.Authorize | undefined;
  readonly #jobsAtClose: options.CloseOptions["jobs"];
  #closed = false;
  #upkeep: Promise<{ stop(): void } | null> | null = null;

  static {
    explainOtherNames(DirectoryNamespace.prototype, "ns", NAMESPACE_CALLS);
    setInspection(DirectoryNamespace.prototype, (namespace) => [
      "DirectoryNamespace",
      { root: namespace.#root, closed: namespace.#closed || undefined },
    ]);
  }

  /**
   * Opens a namespace without touching the disk: the first write creates the directory.
   * @param options options of the namespace; `disk` replaces the local file system with another
   *   implementation
   */
  constructor(options: options.DirectoryNamespaceOptions & { readonly disk?: DiskImplementation }) {
    const contextOptions = contextOptionsOf(options);
    this.#authorize = options.authorize;
    this.#jobsAtClose = contextOptions.jobs;
    this.#root = contextOptions.root;
    this.#engine = lazy(async () => {
      const engine = new (await engineModule.get()).Engine(contextOptions);
      const { upkeep = false, onWarning } = contextOptions;
      // After `close`, `rootPaths` may still load the engine, and nothing would stop the upkeep.
      if (upkeep !== false && !this.#closed)
        this.#upkeep = this.#startUpkeep(engine, { ...(upkeep === true ? {} : upkeep), onWarning });
      return engine;
    });
  }

  /** Begins the upkeep; null if its module can't be loaded, which later calls report. */
  async #startUpkeep(
    { context }: Engine,
    settings: Pick<options.DirectoryNamespaceOptions, "onWarning"> & {
      readonly intervalMs?: number | undefined;
    },
  ): Promise<{ stop(): void } | null> {
    try {
      const { startUpkeep } = await upkeepModule.get();
      return startUpkeep(context, { ...settings, bodies: () => PARTS.upkeep.get() });
    } catch {
      return null;
    }
  }

  /** Absolute path of the namespace's directory. */
  get root(): string {
    return this.#root;
  }

  /**
   * Returns the sizes of this namespace's caches, and how many lookups found an entry. Touches no disk.
   *
   *     const { total, indexParts } = await ns.cacheStatistics();
   *     console.log(total.bytes, indexParts.hits / (indexParts.hits + indexParts.misses));
   */
  async cacheStatistics(): Promise<CacheStatistics> {
    return (await this.#engine.get()).context.cacheStatistics();
  }

  /**
   * Returns the statistics without waiting. Null: no call has loaded the engine yet.
   * @internal
   */
  get cachesNow(): CacheStatistics | null {
    return this.#engine.current?.context.cacheStatistics() ?? null;
  }

  /**
   * Returns the paths of the directory: as configured, and with symbolic links resolved. A server must not
   * reveal them.
   * @internal
   */
  async rootPaths(): Promise<readonly string[]> {
    const { disk, root } = (await this.#engine.get()).context;
    // If the disk can't be read, no answer has revealed the resolved path either.
    const real = await disk.realPath(root).catch(() => null);
    return real === null ? [root] : [root, real];
  }

  /**
   * Returns the disk and the absolute path of the directory, for `publishIndex` of `tiltyard/disks`.
   * @internal
   */
  async rootDisk(): Promise<{ readonly disk: Disk; readonly root: string }> {
    const { disk, root } = (await this.#engine.get()).context;
    return { disk, root };
  }

  /**
   * Returns a handle on one table, whose methods need no id. Touches no disk.
   *
   *     const orders = ns.table<{ id: number; city: string }>("sales$orders");
   *     const trees = ns.table("trees", { schema: defineTable({ id: int64(), name: utf8() }) });
   *
   * @param id path of the table: a string with parts joined by `$`, or an array
   * @param options columns of the table; version, branch or tag that the handle reads; and its caller
   */
  table<Row extends object>(
    id: ObjectId,
    options: TableHandleOptions & { readonly schema: TableDefinition<Row> },
  ): TableHandle<Row>;
  /** Returns a handle on one table, whose rows have the type that the program gives. */
  table<Row extends object = AnyRow>(id: ObjectId, options?: TableHandleOptions): TableHandle<Row>;
  table(id: ObjectId, options: TableHandleOptions = {}): TableHandle {
    return new TableHandle(this, Object.freeze([...requireTableId(id)]), options);
  }

  /**
   * Ends the jobs that run here, releases open files and caches, and makes later calls fail. Calls in
   * progress and results of earlier queries continue. If the process ends next, await these first.
   * @param options `jobs: "cancel"` ends jobs now; a later request for the same work resumes them from their
   *   last checkpoint. `jobs: "wait"` waits for them. Default: the option `jobs` of the namespace
   */
  async close(options: options.CloseOptions = {}): Promise<void> {
    checkOptionMembers("options", options, ["jobs"]);
    const chosen = options.jobs ?? this.#jobsAtClose;
    const jobs = chosen ?? "cancel";
    checkChoice(jobs, "jobs", ["wait", "cancel"]);
    this.#closed = true;
    const engine = await this.#engine.started;
    try {
      (await this.#upkeep)?.stop();
      await engine?.context.closeJobs(jobs, chosen === undefined);
    } finally {
      await engine?.context.close();
    }
  }

  /** Calls {@link close}, for `await using`. The option `jobs` of the namespace may make it wait for jobs. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  // ------------------------------------------------------------------------------------------ namespaces

  /**
   * Creates a namespace.
   * @throws NamespaceAlreadyExistsError; NamespaceNotFoundError for the parent
   */
  createNamespace(request: namespaces.CreateNamespaceRequest): Promise<namespaces.CreateNamespaceResponse> {
    return this.#run("createNamespace", request);
  }
  /**
   * Returns the properties of a namespace.
   * @throws NamespaceNotFoundError
   */
  describeNamespace(
    request: namespaces.DescribeNamespaceRequest = {},
  ): Promise<namespaces.DescribeNamespaceResponse> {
    return this.#run("describeNamespace", request);
  }
  /**
   * Lists the names of a namespace's direct children, page by page.
   * @throws NamespaceNotFoundError
   */
  listNamespaces(request: namespaces.ListNamespacesRequest = {}): Promise<namespaces.ListNamespacesResponse> {
    return this.#run("listNamespaces", request);
  }
  /**
   * Checks that a namespace exists.
   * @throws NamespaceNotFoundError
   */
  namespaceExists(request: namespaces.NamespaceExistsRequest): Promise<void> {
    return this.#run("namespaceExists", request);
  }
  /**
   * Drops a namespace. `behavior: "Cascade"` also drops everything in it.
   * @throws NamespaceNotFoundError; NamespaceNotEmptyError; InternalError if the namespace is gone but files
   *   of its tables can't be removed, whose directory the message names
   */
  dropNamespace(request: namespaces.DropNamespaceRequest): Promise<namespaces.DropNamespaceResponse> {
    return this.#run("dropNamespace", request);
  }

  // ------------------------------------------------------------------------------------------ tables

  /**
   * Reserves the name of a table without creating a version.
   * @throws TableAlreadyExistsError; NamespaceNotFoundError
   */
  declareTable(request: tables.DeclareTableRequest): Promise<tables.DeclareTableResponse> {
    return this.#run("declareTable", request);
  }
  /**
   * Creates a table from rows. The table gets the schema of the rows.
   * @throws TableAlreadyExistsError; NamespaceNotFoundError; InvalidInputError for malformed rows
   */
  createTable(
    request: tables.CreateTableRequest,
    data: rowsOf.RowsInput,
  ): Promise<tables.CreateTableResponse> {
    return this.#run("createTable", request, data);
  }
  /**
   * Creates a table from a version of another table, without copying its files: a shallow clone. Both tables
   * change independently afterwards. The clone reads files of the other table, so it breaks when that table
   * is dropped or renamed, or when a cleanup removes the version. A tag keeps the version from cleanups.
   *
   *     await ns.cloneTable({ id: ["trial"], from: ["orders"], version: 7 });
   *
   * @throws TableAlreadyExistsError; TableNotFoundError, TableVersionNotFoundError or TableTagNotFoundError
   *   for the source
   */
  cloneTable(request: tables.CloneTableRequest): Promise<tables.CloneTableResponse> {
    return this.#run("cloneTable", request);
  }
  /**
   * Checks that a table exists, and the requested version, branch or tag.
   * @throws TableNotFoundError; TableVersionNotFoundError; TableBranchNotFoundError; TableTagNotFoundError
   */
  tableExists(request: tables.TableExistsRequest): Promise<void> {
    return this.#run("tableExists", request);
  }
  /**
   * Returns the location, version, schema and properties of a table.
   * @throws TableNotFoundError; TableVersionNotFoundError
   */
  describeTable(request: tables.DescribeTableRequest): Promise<tables.DescribeTableResponse> {
    return this.#run("describeTable", request);
  }
  /**
   * Drops a table with all its versions. For a root table that is a symbolic link, it removes only the link,
   * because others may use the target.
   * @throws TableNotFoundError; InternalError if a table of a child namespace is gone but its files can't be
   *   removed, whose directory the message names
   */
  dropTable(request: tables.DropTableRequest): Promise<tables.DropTableResponse> {
    return this.#run("dropTable", request);
  }
  /**
   * Lists the names of a namespace's tables, page by page.
   * @throws NamespaceNotFoundError
   */
  listTables(request: tables.ListTablesRequest = {}): Promise<tables.ListTablesResponse> {
    return this.#run("listTables", request);
  }
  /** Lists the ids of the tables of all namespaces, page by page. */
  listAllTables(request: tables.ListAllTablesRequest = {}): Promise<tables.ListTablesResponse> {
    return this.#run("listAllTables", request);
  }
  /**
   * Gives an id to an existing table directory below the root.
   * @throws InvalidInputError if the directory has no table, or overlaps the directory of another table;
   *   TableAlreadyExistsError
   */
  registerTable(request: tables.RegisterTableRequest): Promise<tables.RegisterTableResponse> {
    return this.#run("registerTable", request);
  }
  /**
   * Hides a table and keeps its files, which `registerTable` can register again. The name of a hidden root
   * table stays reserved.
   * @throws TableNotFoundError
   */
  deregisterTable(request: tables.DeregisterTableRequest): Promise<tables.DeregisterTableResponse> {
    return this.#run("deregisterTable", request);
  }
  /**
   * Renames a table, or moves it to another namespace. The directory moves if the old or the new id is in the
   * root namespace.
   * @throws TableNotFoundError; TableAlreadyExistsError; UnsupportedError if the directory must move and
   *   can't: branches refer to it, or the file system refuses
   */
  renameTable(request: tables.RenameTableRequest): Promise<tables.RenameTableResponse> {
    return this.#run("renameTable", request);
  }
  /**
   * Returns counts of rows, bytes, fragments and indexes.
   * @throws TableNotFoundError; TableVersionNotFoundError
   */
  getTableStats(request: tables.GetTableStatsRequest): Promise<tables.GetTableStatsResponse> {
    return this.#run("getTableStats", request);
  }
  /**
   * Commits the content of an older version as the new latest version.
   * @throws TableVersionNotFoundError
   */
  restoreTable(request: tables.RestoreTableRequest): Promise<tables.RestoreTableResponse> {
    return this.#run("restoreTable", request);
  }

  /**
   * Looks for damage: reads every file of a branch, all rows of a version, and compares its indexes with the
   * rows. Returns what is damaged, and what can be saved. Changes nothing.
   *
   *     const { isSound, damages } = await ns.verifyTable({ id: ["orders"] });
   *     for (const { path, message, remedy } of damages) console.log(path, message, remedy);
   *
   * Checksums find any changed byte of a file that this engine wrote. Files of other writers have none: in
   * them, a changed value may look like another value.
   */
  verifyTable(request: storage.VerifyTableRequest): Promise<storage.VerifyTableResponse> {
    return this.#run("verifyTable", request);
  }
  /** Returns the columns, pages, encodings and sizes of a data file or index file of a table. */
  describeTableFile(request: storage.DescribeTableFileRequest): Promise<storage.DescribeTableFileResponse> {
    return this.#run("describeTableFile", request);
  }
  /** Returns what takes the space of a version: fragments, columns, encodings, deletions and indexes. */
  describeTableStorage(
    request: storage.DescribeTableStorageRequest,
  ): Promise<storage.DescribeTableStorageResponse> {
    return this.#run("describeTableStorage", request);
  }

  // ------------------------------------------------------------------------------------------ rows

  /**
   * Appends rows, or replaces all rows with mode `Overwrite`. A declared table gets its first version.
   * @throws TableNotFoundError; TableSchemaValidationError if the rows do not match the schema
   */
  insertIntoTable(
    request: rowsOf.InsertIntoTableRequest,
    data: rowsOf.RowsInput,
  ): Promise<rowsOf.InsertIntoTableResponse> {
    return this.#run("insertIntoTable", request, data);
  }
  /**
   * Deletes the rows that a predicate selects, all or none. Creates a version even if it selects no rows. If
   * another writer changes the same rows, the predicate is applied again to the new version.
   * @throws InvalidInputError for a predicate that does not parse; ConcurrentModificationError if other
   *   writers keep changing the same fragments
   */
  deleteFromTable(request: rowsOf.DeleteFromTableRequest): Promise<rowsOf.DeleteFromTableResponse> {
    return this.#run("deleteFromTable", request);
  }
  /**
   * Sets columns of the rows that a predicate selects, in all of them or none. Creates a version even if it
   * selects no rows. Values are cast to the column types. If another writer changes the same rows, predicate
   * and expressions are applied again to the new version.
   * @throws TableColumnNotFoundError; TableSchemaValidationError for a null in a column that forbids nulls;
   *   InvalidInputError if an expression has no value for a row; ConcurrentModificationError if other writers
   *   keep changing the same fragments
   */
  updateTable(request: rowsOf.UpdateTableRequest): Promise<rowsOf.UpdateTableResponse> {
    return this.#run("updateTable", request);
  }
  /**
   * Updates, inserts and deletes rows by key, in one version:
   *
   *     const clauses = { whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true };
   *     await ns.mergeInsertIntoTable({ id, on: "id", ...clauses }, rows);
   *
   * The rows may be a stream of any length. If another writer changes the same rows, the merge is repeated on
   * the new version. A declared table gets its first version.
   * @throws InvalidInputError if several input rows match the same table row; TableSchemaValidationError;
   *   ConcurrentModificationError
   */
  mergeInsertIntoTable(
    request: rowsOf.MergeInsertIntoTableRequest,
    data: rowsOf.RowsInput,
  ): Promise<rowsOf.MergeInsertIntoTableResponse> {
    return this.#run("mergeInsertIntoTable", request, data);
  }
  /**
   * Returns the rows of a query. Rows are read when they are requested, and again for each iteration.
   * @throws TableNotFoundError; TableVersionNotFoundError; InvalidInputError for a filter or a column that
   *   does not parse; TableColumnNotFoundError
   */
  queryTable(request: queries.QueryTableRequest): Promise<queries.QueryResult> {
    return this.#run("queryTable", request);
  }
  /**
   * Returns the rows at offsets, in the given order. Deleted rows have no offset. Reads little more than
   * these rows. Authorised as `queryTable`.
   * @throws InvalidInputError for an offset beyond the live rows of the version
   */
  takeRows(request: queries.TakeRowsRequest): Promise<Table> {
    return this.#run("takeRows", request);
  }
  /**
   * Returns the rows with given row ids, or at given offsets, in the table's order. Ids and offsets without a
   * row are left out. Reads little more than these rows. Authorised as `queryTable`.
   *
   *     const rows = await (await ns.takeTableRows({ id: ["orders"], rowIds: [7n, 4294967296n] })).toArray();
   *
   * @throws InvalidInputError unless the request has one list of integers
   */
  takeTableRows(request: queries.TakeTableRowsRequest): Promise<queries.QueryResult> {
    return this.#run("takeTableRows", request);
  }
  /**
   * Returns the values of a blob column at row offsets or by row ids, in the given order. A null value is
   * null. The bytes are read only when requested. Authorised as `queryTable`.
   * @throws InvalidInputError for an offset beyond the live rows of the version, for an id without a row, and
   *   for a column without blobs
   */
  takeBlobs(request: queries.TakeBlobsRequest): Promise<(queries.LazyBlob | null)[]> {
    return this.#run("takeBlobs", request);
  }
  /**
   * Cuts a text into tokens, as an index with given options does, or a full-text index of a table.
   *
   *     await ns.tokenize({ text: "Running foxes" }); // [{ text: "run", position: 0 }, { text: "fox", … }]
   *     await ns.tokenize({ text: "Running foxes", id: ["posts"], column: "body" });
   *
   * @throws InvalidInputError for an unknown tokenizer or language; TableIndexNotFoundError; UnsupportedError
   *   for tokenizers that need models
   */
  tokenize(request: indexes.TokenizeRequest): Promise<readonly indexes.Token[]> {
    return this.#run("tokenize", request);
  }
  /**
   * Computes aggregate functions of groups of rows: counts, sums, means, extremes, quantiles. Authorised as
   * `queryTable`.
   *
   *     const totals = await ns.aggregateTable({
   *       id: ["orders"],
   *       groupBy: ["city"],
   *       values: { n: "count(*)", revenue: "sum(price * amount)" },
   *       orderBy: [{ columnName: "revenue", ascending: false }],
   *     });
   *     for await (const { city, revenue } of totals.rows()) console.log(city, revenue);
   *
   * @throws InvalidInputError for an expression that does not parse, for a column outside keys and functions,
   *   and for a sum that does not fit in its type; TableColumnNotFoundError
   */
  aggregateTable(request: queries.AggregateTableRequest): Promise<queries.QueryResult> {
    return this.#run("aggregateTable", request);
  }
  /**
   * Counts all rows, or the rows that a predicate selects.
   * @throws TableNotFoundError; InvalidInputError for a predicate that does not parse
   */
  countTableRows(request: queries.CountTableRowsRequest): Promise<number> {
    return this.#run("countTableRows", request);
  }
  /** Returns the plan of a query, as text or JSON. */
  explainTableQueryPlan(request: queries.ExplainTableQueryPlanRequest): Promise<string> {
    return this.#run("explainTableQueryPlan", request);
  }
  /** Runs a query and returns its plan with measurements of each step. */
  analyzeTableQueryPlan(request: queries.AnalyzeTableQueryPlanRequest): Promise<string> {
    return this.#run("analyzeTableQueryPlan", request);
  }

  // ------------------------------------------------------------------------------------------ upkeep

  /** Starts a job that compacts a table; the overload without `background` describes the work. */
  optimizeTable(
    request: upkeepOf.OptimizeTableRequest & { readonly background: true },
  ): Promise<upkeepOf.StartedJob>;
  /**
   * Compacts a table: merges small fragments, and rewrites fragments without their many deleted rows. The
   * rows stay the same, but merged rows come last. Old versions keep their files until a cleanup.
   *
   * Indexes are rewritten if their rows move, and uncovered rows are merged into them. Indexes of unsupported
   * kinds (`IVF_RQ`, `FM`, unknown kinds) stay unchanged. So do the fragments that they cover, except in
   * tables with stable row ids.
   *
   * Merging creates two versions, and the first one only reserves ids; updating indexes creates one more. The
   * signal works until the first version is committed: an aborted call that rejects has changed nothing. If
   * the call fails between the two versions for another reason, the first stays, with unchanged rows.
   * @throws UnsupportedError for a table with columns that this release does not write;
   *   ConcurrentModificationError if other writers keep changing the same fragments
   */
  optimizeTable(
    request: upkeepOf.OptimizeTableRequest & { readonly background?: false },
  ): Promise<upkeepOf.OptimizeTableResponse>;
  /** Compacts a table. With `background: true` it starts a job, and otherwise does the work. */
  optimizeTable(
    request: upkeepOf.OptimizeTableRequest,
  ): Promise<upkeepOf.OptimizeTableResponse | upkeepOf.StartedJob>;
  optimizeTable(
    request: upkeepOf.OptimizeTableRequest,
  ): Promise<upkeepOf.OptimizeTableResponse | upkeepOf.StartedJob> {
    return this.#run("optimizeTable", request);
  }

  /** Starts a job that cleans up a table; the overload without `background` describes the work. */
  cleanupTable(
    request: upkeepOf.CleanupTableRequest & { readonly background: true },
  ): Promise<upkeepOf.StartedJob>;
  /**
   * Removes old versions, and files that no version needs. Everything that tags and branches need stays. Also
   * removes orphans of table creations that died at least a week ago.
   *
   * The signal works until the first version is removed: an aborted call that rejects has removed only files
   * that no version refers to. If the disk fails later, the call rejects although versions are gone; the next
   * cleanup removes their remaining files. On a full disk, versions stay if their removal can't be recorded.
   */
  cleanupTable(
    request: upkeepOf.CleanupTableRequest & { readonly background?: false },
  ): Promise<upkeepOf.CleanupTableResponse>;
  /** Cleans up a table. With `background: true` it starts a job, and otherwise does the work. */
  cleanupTable(
    request: upkeepOf.CleanupTableRequest,
  ): Promise<upkeepOf.CleanupTableResponse | upkeepOf.StartedJob>;
  cleanupTable(
    request: upkeepOf.CleanupTableRequest,
  ): Promise<upkeepOf.CleanupTableResponse | upkeepOf.StartedJob> {
    return this.#run("cleanupTable", request);
  }
  /**
   * Stores in the table when its commits clean up. LanceDB follows the same settings. Replaces the rule that
   * the table has; without any member, commits clean nothing up.
   *
   *     await ns.configureCleanup({ id: ["trees"], olderThanMs: 86_400_000, interval: 50 });
   * @throws InvalidInputError for a member out of range
   */
  configureCleanup(request: upkeepOf.ConfigureCleanupRequest): Promise<upkeepOf.ConfigureCleanupResponse> {
    return this.#run("configureCleanup", request);
  }
  /**
   * Stores settings of LanceDB's log-structured writes in the table, or removes them.
   *
   *     const spec = { specType: "bucket", column: "id", numBuckets: 4 } as const;
   *     await ns.configureLsmWrites({ id: ["trees"], spec });
   * @throws InvalidInputError for settings out of range, and if the table has settings already, or none to
   *   remove; UnsupportedError while logs hold rows
   */
  configureLsmWrites(
    request: upkeepOf.ConfigureLsmWritesRequest,
  ): Promise<upkeepOf.ConfigureLsmWritesResponse> {
    return this.#run("configureLsmWrites", request);
  }
  /**
   * Stores in the table when the option `upkeep` begins its work on it. Replaces the thresholds that the
   * table has; those without a value, or with null, get their defaults. `describeTable` tells them.
   *
   *     await ns.configureUpkeep({ id: ["trees"], smallFragments: 50, versions: "off" });
   * @throws InvalidInputError for a threshold out of range
   */
  configureUpkeep(request: upkeepOf.ConfigureUpkeepRequest): Promise<upkeepOf.ConfigureUpkeepResponse> {
    return this.#run("configureUpkeep", request);
  }

  // ------------------------------------------------------------------------------------------ versions

  /**
   * Publishes a staged manifest under a free version number.
   * @throws ConcurrentModificationError if the number is taken; InvalidInputError for a manifest that does
   *   not fit
   */
  createTableVersion(
    request: versions.CreateTableVersionRequest,
  ): Promise<versions.CreateTableVersionResponse> {
    return this.#run("createTableVersion", request);
  }
  /**
   * Compares two versions of a table or branch row by row. Each row of the result has `kind` (`added`,
   * `removed` or `changed`), `row`, and `before` for changed rows:
   *
   *     const changes = await ns.diffTableVersions({ id, from: 3, to: 7, on: ["id"] });
   *     for await (const { kind, row, before } of changes.rows()) console.log(kind, row, before);
   *
   * Rows are matched by stable row ids or by key columns, and come in that order. Only fragments in which the
   * versions differ are read. Memory is bounded: more rows than fit are sorted in temporary files. This
   * operation is not in the namespace spec. Authorised as `queryTable`.
   * @throws InvalidInputError for a table without stable row ids if `on` is absent, and for keys that several
   *   rows have; TableVersionNotFoundError; TableColumnNotFoundError
   */
  diffTableVersions(
    request: versions.DiffTableVersionsRequest,
  ): Promise<queries.QueryResult<versions.RowDifference>> {
    return this.#run("diffTableVersions", request);
  }
  /**
   * Yields the versions of a table or branch as any process commits them, after the latest version or `from`:
   *
   *     for await (const { version } of await ns.watchTable({ id, signal })) console.log(version);
   *
   * Versions come in order, each once. Versions that a cleanup removed meanwhile are left out. Where the
   * platform can watch directories, a version comes within milliseconds, else within about half a second. The
   * iteration waits without end, until the signal aborts or the namespace is closed. It does not keep the
   * process alive. This operation is not in the namespace spec. Authorised as `listTableVersions`.
   * @throws TableNotFoundError if the table is dropped or replaced, also while it is watched;
   *   TableBranchNotFoundError; InvalidInputError if `from` is later than the latest version
   */
  watchTable(request: versions.WatchTableRequest): Promise<AsyncIterable<versions.TableVersion>> {
    return this.#run("watchTable", request);
  }

  /**
   * Returns number, commit time and manifest of a version, and what its commit changed.
   * @throws TableVersionNotFoundError
   */
  describeTableVersion(
    request: versions.DescribeTableVersionRequest,
  ): Promise<versions.DescribeTableVersionResponse> {
    return this.#run("describeTableVersion", request);
  }
  /**
   * Publishes staged manifests of several tables, all or none.
   * @throws ServiceUnavailableError if the batch is decided but can't be finished now; the next operation on
   *   one of the tables finishes it
   */
  batchCreateTableVersions(
    request: versions.BatchCreateTableVersionsRequest,
  ): Promise<versions.BatchCreateTableVersionsResponse> {
    return this.#run("batchCreateTableVersions", request);
  }
  /**
   * Deletes the versions in ranges, all or none, and the files that only they need. It reads the manifests of
   * all versions to find these files.
   * @throws InvalidInputError if a version is the latest, has a tag, or is the start of a branch
   */
  batchDeleteTableVersions(
    request: versions.BatchDeleteTableVersionsRequest,
  ): Promise<versions.BatchDeleteTableVersionsResponse> {
    return this.#run("batchDeleteTableVersions", request);
  }
  /**
   * Declares tables, publishes and deletes versions, and deregisters tables: all or nothing.
   * @throws ServiceUnavailableError if the batch is decided but can't be finished now; the next operation on
   *   one of the tables finishes it
   */
  batchCommitTables(request: versions.BatchCommitTablesRequest): Promise<versions.BatchCommitTablesResponse> {
    return this.#run("batchCommitTables", request);
  }
  /**
   * Renames the manifests of a table or branch from scheme V1 to V2, which makes opening tables with many
   * versions faster. LanceDB before 0.10 cannot read such tables. Readers fail while it works. Other engines
   * must not write meanwhile. After a crash, the next call goes on.
   * @throws TableNotFoundError; TableBranchNotFoundError; InvalidTableStateError if a version has different
   *   manifests under both names
   */
  migrateManifestNames(
    request: versions.MigrateManifestNamesRequest,
  ): Promise<versions.MigrateManifestNamesResponse> {
    return this.#run("migrateManifestNames", request);
  }
  /**
   * Lists the versions of a table or branch, page by page.
   * @throws TableNotFoundError
   */
  listTableVersions(request: versions.ListTableVersionsRequest): Promise<versions.ListTableVersionsResponse> {
    return this.#run("listTableVersions", request);
  }

  // ------------------------------------------------------------------------------------------ branches

  /**
   * Creates a branch that starts from an existing version. Copies no rows.
   * @throws TableBranchAlreadyExistsError; TableVersionNotFoundError
   */
  createTableBranch(request: branches.CreateTableBranchRequest): Promise<branches.CreateTableBranchResponse> {
    return this.#run("createTableBranch", request);
  }
  /**
   * Lists the branches of a table except main, page by page.
   * @throws TableNotFoundError
   */
  listTableBranches(request: branches.ListTableBranchesRequest): Promise<branches.ListTableBranchesResponse> {
    return this.#run("listTableBranches", request);
  }
  /**
   * Merges a branch into the one that it was made from, in one commit:
   *
   *     await ns.mergeTableBranch({ id, name: "trial", on: "id", conflicts: "theirs" });
   *
   * Both lines are compared with the version at which they part, or with the last merge. Rows that only the
   * branch added, changed or deleted are taken over. Rows that both lines changed to the same values are no
   * conflict. The branch stays. This operation is not in the namespace spec. `authorize` is also asked about
   * `queryTable` of the merged branch.
   * @throws ConcurrentModificationError for rows that both lines changed in different ways, with `conflicts`
   *   `fail`, and if other writers keep committing; TableSchemaValidationError if the columns differ;
   *   InvalidInputError without a way to match rows; TableBranchNotFoundError
   */
  mergeTableBranch(request: branches.MergeTableBranchRequest): Promise<branches.MergeTableBranchResponse> {
    return this.#run("mergeTableBranch", request);
  }
  /**
   * Deletes a branch with all its versions. No other branch and no tag may refer to it.
   * @throws TableBranchNotFoundError; InternalError if the branch is gone but some files can't be removed,
   *   which a later `cleanupTable` removes
   */
  deleteTableBranch(request: branches.DeleteTableBranchRequest): Promise<branches.DeleteTableBranchResponse> {
    return this.#run("deleteTableBranch", request);
  }

  // ------------------------------------------------------------------------------------------ tags

  /**
   * Names a version with a new tag.
   * @throws TableTagAlreadyExistsError; TableVersionNotFoundError
   */
  createTableTag(request: tags.CreateTableTagRequest): Promise<tags.CreateTableTagResponse> {
    return this.#run("createTableTag", request);
  }
  /**
   * Lists the tags of a table and its branches, page by page.
   * @throws TableNotFoundError
   */
  listTableTags(request: tags.ListTableTagsRequest): Promise<tags.ListTableTagsResponse> {
    return this.#run("listTableTags", request);
  }
  /**
   * Returns the version that a tag names.
   * @throws TableTagNotFoundError
   */
  getTableTagVersion(request: tags.GetTableTagVersionRequest): Promise<tags.GetTableTagVersionResponse> {
    return this.#run("getTableTagVersion", request);
  }
  /**
   * Moves a tag to another version.
   * @throws TableTagNotFoundError; TableVersionNotFoundError
   */
  updateTableTag(request: tags.UpdateTableTagRequest): Promise<tags.UpdateTableTagResponse> {
    return this.#run("updateTableTag", request);
  }
  /**
   * Deletes a tag. The version stays.
   * @throws TableTagNotFoundError
   */
  deleteTableTag(request: tags.DeleteTableTagRequest): Promise<tags.DeleteTableTagResponse> {
    return this.#run("deleteTableTag", request);
  }

  // ------------------------------------------------------------------------------------------ schema

  /**
   * Changes the metadata of fields. Always creates a version.
   * @throws TableColumnNotFoundError
   */
  updateFieldMetadata(
    request: schemas.UpdateFieldMetadataRequest,
  ): Promise<schemas.UpdateFieldMetadataResponse> {
    return this.#run("updateFieldMetadata", request);
  }
  /** Replaces the metadata of the schema. */
  updateTableSchemaMetadata(
    request: schemas.UpdateTableSchemaMetadataRequest,
  ): Promise<schemas.UpdateTableSchemaMetadataResponse> {
    return this.#run("updateTableSchemaMetadata", request);
  }
  /**
   * Adds columns. A column is null, a constant, or the result of an SQL expression; or
   * `alterTableBackfillColumns` fills it later with a function or an expression.
   * @throws InvalidInputError for an unknown function, with the names of the registered ones
   */
  alterTableAddColumns(
    request: schemas.AlterTableAddColumnsRequest,
  ): Promise<schemas.AlterTableAddColumnsResponse> {
    return this.#run("alterTableAddColumns", request);
  }
  /**
   * Renames columns, changes their nullability, or casts them to other types.
   * @throws TableColumnNotFoundError
   */
  alterTableAlterColumns(
    request: schemas.AlterTableAlterColumnsRequest,
  ): Promise<schemas.AlterTableAlterColumnsResponse> {
    return this.#run("alterTableAlterColumns", request);
  }
  /**
   * Drops columns or struct members from the schema. Older versions keep them.
   * @throws TableColumnNotFoundError
   */
  alterTableDropColumns(
    request: schemas.AlterTableDropColumnsRequest,
  ): Promise<schemas.AlterTableDropColumnsResponse> {
    return this.#run("alterTableDropColumns", request);
  }

  /**
   * Starts a job that computes values of a column, and resolves to its id. Default: the rows in which the
   * column is null. These are appended rows, and rows whose inputs `updateTable` or `mergeInsertIntoTable`
   * changed. If any process already runs such a job, it resolves to that job's id.
   *
   *     const { jobId } = await ns.alterTableBackfillColumns({ id, column: "vector" });
   *     await ns.waitForJob({ jobId, onProgress: ({ done, total }) => {} });
   *
   * Rows may be appended, changed and deleted meanwhile. After a crash or failure, a request for the same
   * work reuses the computed values; `where` is evaluated again on committed rows. Rows that get a new value
   * lose the values of columns that are computed from this one.
   *
   * The job fails with an InternalError if the function keeps failing; the message names the rows. It fails
   * with a TableSchemaValidationError if results have another length or type than declared, and with a
   * ConcurrentModificationError if the column is declared again.
   * @throws TableColumnNotFoundError for the column or an input; TableVersionNotFoundError; InvalidInputError
   *   for a column that is not computed, a function that is not registered as declared, and an unknown
   *   cluster
   */
  alterTableBackfillColumns(
    request: schemas.AlterTableBackfillColumnsRequest,
  ): Promise<schemas.AlterTableBackfillColumnsResponse> {
    return this.#run("alterTableBackfillColumns", request);
  }
  /**
   * Computes one task of a backfill for an executor (see `ClusterExecutor`), in a process with the same
   * directory and functions. It saves the values to files of the table's directory; the process that runs the
   * job commits them. Values that an earlier run of the task saved are reused. This operation is not in the
   * namespace spec. Authorised as `alterTableBackfillColumns`.
   * @throws ConcurrentModificationError if the job has ended, or its rows have changed;
   *   TransactionNotFoundError if the job is not a backfill of the table; InvalidInputError for a member that
   *   no job plans, and if the function is not registered as in the process that runs the job; any error of
   *   the function
   */
  runBackfillTask(request: clusters.RunBackfillTaskRequest): Promise<clusters.BackfillTaskReport> {
    return this.#run("runBackfillTask", request);
  }
  /**
   * Returns the computed columns of a table, with the number of rows without a current value and the
   * fragments of these rows. A query for `column IS NULL` returns the rows. This operation is not in the
   * namespace spec. Authorised as `describeTable`.
   */
  describeComputedColumns(
    request: schemas.DescribeComputedColumnsRequest,
  ): Promise<schemas.DescribeComputedColumnsResponse> {
    return this.#run("describeComputedColumns", request);
  }

  // ------------------------------------------------------------------------------------------ transactions

  /**
   * Returns the version that a transaction created, and its properties; or the progress of a job. The id is
   * the one that the change returned. `authorize` is also asked about the table.
   * @throws TransactionNotFoundError if the transaction created no version, or its version no longer exists
   */
  describeTransaction(
    request: transactions.DescribeTransactionRequest,
  ): Promise<transactions.DescribeTransactionResponse> {
    return this.#run("describeTransaction", request);
  }

  /**
   * Cancels a job: sets its status to `Canceled`.
   * @throws UnsupportedError for any other change; ConcurrentModificationError if the job has succeeded or
   *   failed; TransactionNotFoundError
   */
  alterTransaction(
    request: transactions.AlterTransactionRequest,
  ): Promise<transactions.AlterTransactionResponse> {
    return this.#run("alterTransaction", request);
  }

  // ------------------------------------------------------------------------------------------ jobs

  /**
   * Returns the state of a job of any process. `authorize` is also asked about its table.
   * @throws TransactionNotFoundError if the job does not exist, or a cleanup removed its record
   */
  describeJob(request: jobs.JobRequest): Promise<jobs.Job> {
    return this.#run("describeJob", request);
  }
  /** Lists queued and running jobs, and jobs that ended recently. */
  listJobs(request: jobs.ListJobsRequest = {}): Promise<jobs.ListJobsResponse> {
    return this.#run("listJobs", request);
  }
  /**
   * Cancels a job of any process and waits briefly for its end. Committed work stays.
   * @returns the job after the wait; a job that ended before stays unchanged
   * @throws TransactionNotFoundError
   */
  cancelJob(request: jobs.JobRequest): Promise<jobs.Job> {
    return this.#run("cancelJob", request);
  }
  /**
   * Waits until a job has succeeded or was cancelled, or until the timeout.
   * @returns the job after the wait
   * @throws the error of a failed job; TransactionNotFoundError
   */
  waitForJob(request: jobs.WaitForJobRequest): Promise<jobs.Job> {
    return this.#run("waitForJob", request);
  }

  // ------------------------------------------------------------------------------------------ indexes

  /**
   * Starts a job that builds an index on a column, and resolves to its id:
   *
   *     const { jobId } = await ns.createTableIndex({ id, column: "email", indexType: "BTREE" });
   *     await ns.waitForJob({ jobId });
   *
   * The index covers the rows of the version that it is built on. Queries scan rows that were added later,
   * until `optimizeTable` adds them to the index.
   * @throws TableColumnNotFoundError; TableIndexAlreadyExistsError; InvalidInputError for a column type that
   *   the index does not support; UnsupportedError for a kind that this release does not build
   */
  createTableIndex(request: indexes.CreateTableIndexRequest): Promise<indexes.CreateTableIndexResponse> {
    return this.#run("createTableIndex", request);
  }
  /** Starts a job that builds a scalar or text index; see {@link createTableIndex}. */
  createTableScalarIndex(
    request: indexes.CreateTableIndexRequest,
  ): Promise<indexes.CreateTableIndexResponse> {
    return this.#run("createTableScalarIndex", request);
  }
  /**
   * Lists the indexes of a version by name.
   * @throws TableNotFoundError; TableVersionNotFoundError
   */
  listTableIndices(request: indexes.ListTableIndicesRequest): Promise<indexes.ListTableIndicesResponse> {
    return this.#run("listTableIndices", request);
  }
  /**
   * Returns how many rows of a version an index covers.
   * @throws TableIndexNotFoundError
   */
  describeTableIndexStats(
    request: indexes.DescribeTableIndexStatsRequest,
  ): Promise<indexes.DescribeTableIndexStatsResponse> {
    return this.#run("describeTableIndexStats", request);
  }
  /**
   * Drops an index. Older versions keep it.
   * @throws TableIndexNotFoundError
   */
  dropTableIndex(request: indexes.DropTableIndexRequest): Promise<indexes.DropTableIndexResponse> {
    return this.#run("dropTableIndex", request);
  }

  /**
   * Runs an operation: checks the request, asks `authorize`, loads the part of the engine, and unifies
   * errors.
   * @param rows second argument of the operation, if it takes rows
   */
  async #run<Name extends OperationName>(
    name: Name,
    request: Requests[Name],
    rows?: rowsOf.RowsInput,
  ): Promise<Answers[Name]> {
    const { part, authorizedAs: operation = name } = operationRow(name);
    let engine: Engine | undefined;
    try {
      if (this.#closed) throw new ServiceUnavailableError("the namespace is closed");
      checkRequestMembers(name, request);
      // The caller or `authorize` may change the request's id later. The engine uses the id that was
      // authorised.
      const id = Object.freeze([...optionalId(request.id)]);
      const { pinned, details } = pinRequest(operation, request, id, membersOfSynonyms(name, request));
      request.signal?.throwIfAborted();
      const access = accessOf(this.#authorize, request, operation, id);
      // `current` avoids waiting for a module that is loaded already.
      engine = this.#engine.current ?? (await this.#engine.get());
      const bodies = PARTS[part].current ?? (await PARTS[part].get());
      if (access !== UNRESTRICTED && !asksItself(name, id)) await access.require(operation, id, details);
      const body = (bodies as Readonly<Record<string, unknown>>)[name] as OperationBody<Name>;
      const answer = engine.run({ operation, id, request: pinned, access, rows }, body);
      return await (READING.includes(part) ? untilAborted(answer, request.signal) : answer);
    } catch (error) {
      const reported = engine === undefined ? error : await engine.inTermsOf(request ?? {}, error);
      throw operationError(reported, operation, request?.signal);
    }
  }
}
