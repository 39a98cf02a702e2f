/**
 * The engine's one class: a namespace of tables in a local directory. Each operation is one line here and one file
 * under `operations/`. What lies behind the class is loaded when it is needed: a program that imports it waits for little
 * more than this module. The resources that operations share (disk, locks, caches) are opened with the first call and
 * released by `close`.
 */

import type { Table } from "apache-arrow";
import { type Lazy, lazy, lazyModule } from "./async/lazy.js";
import type { Engine, OperationBody } from "./engine/engine.js";
import { ServiceUnavailableError } from "./errors.js";
import type { TableHandleOptions } from "./handle/handleOptions.js";
import { explainOtherNames, NAMESPACE_CALLS } from "./handle/otherNames.js";
import type { AnyRow } from "./handle/rowTypes.js";
import type { Disk } from "./io/disk/disk.js";
import type * as branches from "./namespace/branches.js";
import type * as clusters from "./namespace/clusters.js";
import type * as indexes from "./namespace/indexes.js";
import type * as jobs from "./namespace/jobs.js";
import type * as namespaces from "./namespace/namespaces.js";
import type * as options from "./namespace/options.js";
import type * as queries from "./namespace/queries.js";
import type { ObjectId } from "./namespace/request.js";
import type * as rowsOf from "./namespace/rows.js";
import type * as schemas from "./namespace/schema.js";
import type * as tables from "./namespace/tables.js";
import type * as tags from "./namespace/tags.js";
import type * as transactions from "./namespace/transactions.js";
import type * as upkeepOf from "./namespace/upkeep.js";
import type * as versions from "./namespace/versions.js";
import { accessOf, asksItself, pinRequest } from "./operations/access.js";
import { operationError } from "./operations/failure.js";
import { checkChoice, contextOptionsOf } from "./operations/namespaceOptions.js";
import { optionalId, requireTableId } from "./operations/request.js";
import { declarationOf, type OperationName, type PartOf, type Requests } from "./operationTable.js";
import { checkOptionMembers } from "./optionMembers.js";
import { checkRequestMembers } from "./requestMembers.js";
import { TableHandle } from "./TableHandle.js";

const engineModule = lazyModule(() => import("./engine/engine.js"));

/** The parts of the engine. The first call of an operation loads its part. */
const PARTS = {
  reading: lazyModule(() => import("./engine/reading.js")),
  describing: lazyModule(() => import("./engine/describing.js")),
  changing: lazyModule(() => import("./engine/changing.js")),
  upkeep: lazyModule(() => import("./engine/upkeep.js")),
};

type Parts = {
  readonly [Part in keyof typeof PARTS]: (typeof PARTS)[Part] extends Lazy<infer M> ? M : never;
};
type Bodies = Readonly<Record<string, unknown>>;

/** Answer of an operation; `unknown` if its part does not export the operation. */
type Answer<Name extends OperationName> = Name extends keyof Parts[PartOf<Name>]
  ? Parts[PartOf<Name>][Name] extends OperationBody<Requests[Name], infer Result>
    ? Result
    : unknown
  : unknown;

/**
 * A hierarchy of namespaces with versioned Lance tables, in one directory of the local file system. Any number of
 * instances, in any number of processes, may share a directory. Every method rejects with a {@link NamespaceError}; a
 * rejected call has changed nothing, except where the method's own documentation says so.
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
  #closed = false;

  static {
    explainOtherNames(DirectoryNamespace.prototype, "ns", NAMESPACE_CALLS);
  }

  /**
   * Touches no disk: the directory is made on the first write.
   * @param options `disk` replaces the access to the local file system with another implementation
   */
  constructor(options: options.DirectoryNamespaceOptions & { readonly disk?: Disk }) {
    const contextOptions = contextOptionsOf(options);
    this.#authorize = options.authorize;
    this.#root = contextOptions.root;
    this.#engine = lazy(async () => new (await engineModule.get()).Engine(contextOptions));
  }

  /** Absolute path of the namespace's directory. */
  get root(): string {
    return this.#root;
  }

  /**
   * Paths of the directory: as given, and with links resolved. A server tells its clients neither.
   * @internal
   */
  async rootPaths(): Promise<readonly string[]> {
    const { disk, root } = (await this.#engine.get()).context;
    // A disk that can't be read has revealed no path behind links either.
    const real = await disk.realPath(root).catch(() => null);
    return real === null ? [root] : [root, real];
  }

  /**
   * A handle on one table: the operations without the id. Touches no disk.
   *
   *     const orders = ns.table<{ id: number; city: string }>("sales$orders");
   *
   * @param id as one text, its parts joined by `$`, or as an array
   */
  table<Row extends object = AnyRow>(id: ObjectId, options: TableHandleOptions = {}): TableHandle<Row> {
    return new TableHandle<Row>(this, Object.freeze([...requireTableId(id)]), options);
  }

  /**
   * Ends the jobs that run here, releases open files and caches, and makes later calls fail. It does not wait for calls:
   * those in progress go on, and so do results of queries that were opened before. Await these first if the process ends
   * next.
   * @param options `jobs`: "wait" until they have ended by themselves; "cancel" (default) ends them now, and asking for the
   *   same work later goes on with them, from their last checkpoint
   */
  async close(options: options.CloseOptions = {}): Promise<void> {
    checkOptionMembers("options", options, ["jobs"]);
    const { jobs = "cancel" } = options;
    checkChoice(jobs, "jobs", ["wait", "cancel"]);
    this.#closed = true;
    const engine = await this.#engine.started;
    try {
      await engine?.context.closeJobs(jobs);
    } finally {
      await engine?.context.close();
    }
  }

  /** The same as {@link close}, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  // ---------------------------------------------------------------------------------------------- namespaces

  /**
   * Makes a namespace.
   * @throws NamespaceAlreadyExistsError, NamespaceNotFoundError for the one above it
   */
  createNamespace(request: namespaces.CreateNamespaceRequest): Promise<namespaces.CreateNamespaceResponse> {
    return this.#run("createNamespace", request);
  }
  /**
   * Properties of a namespace.
   * @throws NamespaceNotFoundError
   */
  describeNamespace(
    request: namespaces.DescribeNamespaceRequest = {},
  ): Promise<namespaces.DescribeNamespaceResponse> {
    return this.#run("describeNamespace", request);
  }
  /**
   * Names of the namespaces directly in one, in pages.
   * @throws NamespaceNotFoundError
   */
  listNamespaces(request: namespaces.ListNamespacesRequest = {}): Promise<namespaces.ListNamespacesResponse> {
    return this.#run("listNamespaces", request);
  }
  /** Resolves to undefined if the namespace exists. */
  namespaceExists(request: namespaces.NamespaceExistsRequest): Promise<void> {
    return this.#run("namespaceExists", request);
  }
  /**
   * Removes a namespace, with `Cascade` also everything in it.
   * @throws InternalError also if the namespace was dropped but files of its tables can't be removed; the message names
   *   their directory
   */
  dropNamespace(request: namespaces.DropNamespaceRequest): Promise<namespaces.DropNamespaceResponse> {
    return this.#run("dropNamespace", request);
  }

  // ---------------------------------------------------------------------------------------------- tables

  /** Reserves a table's name without data. */
  declareTable(request: tables.DeclareTableRequest): Promise<tables.DeclareTableResponse> {
    return this.#run("declareTable", request);
  }
  /** Creates a table from the given rows; their schema becomes the table's. */
  createTable(
    request: tables.CreateTableRequest,
    data: rowsOf.RowsInput,
  ): Promise<tables.CreateTableResponse> {
    return this.#run("createTable", request, data);
  }
  /** Resolves to undefined if the table (and the requested version) exists. */
  tableExists(request: tables.TableExistsRequest): Promise<void> {
    return this.#run("tableExists", request);
  }
  /**
   * Where a table lies, its version, schema and properties.
   * @throws TableNotFoundError, TableVersionNotFoundError
   */
  describeTable(request: tables.DescribeTableRequest): Promise<tables.DescribeTableResponse> {
    return this.#run("describeTable", request);
  }
  /**
   * Removes a table with all its versions. For a root table that is a symbolic link, only the link is removed: its
   * target may belong to others too.
   * @throws InternalError also if a table of a child namespace was dropped but its files can't be removed; the message
   *   names their directory
   */
  dropTable(request: tables.DropTableRequest): Promise<tables.DropTableResponse> {
    return this.#run("dropTable", request);
  }
  /**
   * Names of the tables directly in a namespace, in pages.
   * @throws NamespaceNotFoundError
   */
  listTables(request: tables.ListTablesRequest = {}): Promise<tables.ListTablesResponse> {
    return this.#run("listTables", request);
  }
  /** Tables of all namespaces. */
  listAllTables(request: tables.ListAllTablesRequest = {}): Promise<tables.ListTablesResponse> {
    return this.#run("listAllTables", request);
  }
  /**
   * Gives an id to a table that lies below the root.
   * @throws InvalidInputError if no table lies there, or another table lies there, in it, or around it
   */
  registerTable(request: tables.RegisterTableRequest): Promise<tables.RegisterTableResponse> {
    return this.#run("registerTable", request);
  }
  /**
   * Takes the id from a table; its data stays where it is, for `registerTable`. While a root table is deregistered,
   * nothing else gets its name.
   */
  deregisterTable(request: tables.DeregisterTableRequest): Promise<tables.DeregisterTableResponse> {
    return this.#run("deregisterTable", request);
  }
  /**
   * Gives a table another id. The directory moves with it if the table is in the root, before or after.
   * @throws UnsupportedError if the directory would have to move and can't: the table has branches, which would lose
   *   it, or the file system doesn't move it
   */
  renameTable(request: tables.RenameTableRequest): Promise<tables.RenameTableResponse> {
    return this.#run("renameTable", request);
  }
  /**
   * Counts of rows, bytes, fragments and indexes.
   * @throws TableNotFoundError
   */
  getTableStats(request: tables.GetTableStatsRequest): Promise<tables.GetTableStatsResponse> {
    return this.#run("getTableStats", request);
  }
  /** Commits the content of an older version as a new latest version. */
  restoreTable(request: tables.RestoreTableRequest): Promise<tables.RestoreTableResponse> {
    return this.#run("restoreTable", request);
  }

  // ---------------------------------------------------------------------------------------------- rows

  /** Adds rows, or replaces all rows. A table that was only declared gets its first version this way. */
  insertIntoTable(
    request: rowsOf.InsertIntoTableRequest,
    data: rowsOf.RowsInput,
  ): Promise<rowsOf.InsertIntoTableResponse> {
    return this.#run("insertIntoTable", request, data);
  }
  /**
   * Deletes the rows that a predicate selects, all of them or none, and makes a version even where it selects none. Where
   * another writer changes the same rows meanwhile, the predicate is applied anew to what that writer left.
   * @throws ConcurrentModificationError if other writers keep changing the same fragments
   */
  deleteFromTable(request: rowsOf.DeleteFromTableRequest): Promise<rowsOf.DeleteFromTableResponse> {
    return this.#run("deleteFromTable", request);
  }
  /**
   * Sets columns of the rows that a predicate selects, in all of them or none, and makes a version even where it selects
   * none. A value of another type is cast to the column's. Where another writer changes the same rows meanwhile,
   * predicate and expressions are applied anew to what that writer left.
   * @throws TableColumnNotFoundError for a column that is not there; TableSchemaValidationError where a column that is
   *   not nullable would get a null; InvalidInputError for a row for which an expression has no value
   * @throws ConcurrentModificationError if other writers keep changing the same fragments
   */
  updateTable(request: rowsOf.UpdateTableRequest): Promise<rowsOf.UpdateTableResponse> {
    return this.#run("updateTable", request);
  }
  /**
   * Updates, adds and removes rows by key, all in one version:
   *
   *     await ns.mergeInsertIntoTable({ id, on: "id", whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true }, rows);
   *
   * The rows may come as a stream of any length. Where another writer changes the same rows meanwhile, the merge is done
   * again on that writer's version. A table that was only declared gets its first version this way.
   * @throws InvalidInputError where several of the given rows would replace the same row
   */
  mergeInsertIntoTable(
    request: rowsOf.MergeInsertIntoTableRequest,
    data: rowsOf.RowsInput,
  ): Promise<rowsOf.MergeInsertIntoTableResponse> {
    return this.#run("mergeInsertIntoTable", request, data);
  }
  /**
   * Rows of a table. They are read when they are asked for, and anew each time.
   * @throws InvalidInputError for a filter or a column that can not be understood
   */
  queryTable(request: queries.QueryTableRequest): Promise<queries.QueryResult> {
    return this.#run("queryTable", request);
  }
  /**
   * The rows at the given offsets, in the order given; deleted rows don't count. Reads little more than those rows.
   * Authorised as `queryTable`.
   * @throws InvalidInputError for an offset that is no row of the version
   */
  takeRows(request: queries.TakeRowsRequest): Promise<Table> {
    return this.#run("takeRows", request);
  }
  /**
   * The values of a blob column at the given offsets, in the order given; null for nulls. A value is read only when its
   * bytes are asked for. Authorised as `queryTable`.
   * @throws InvalidInputError for an offset that is no row of the version, and for a column that is not of blobs
   */
  takeBlobs(request: queries.TakeBlobsRequest): Promise<(queries.LazyBlob | null)[]> {
    return this.#run("takeBlobs", request);
  }
  /** The number of rows, or of those that a predicate selects. */
  countTableRows(request: queries.CountTableRowsRequest): Promise<number> {
    return this.#run("countTableRows", request);
  }
  /** How a query would run, as text or JSON. */
  explainTableQueryPlan(request: queries.ExplainTableQueryPlanRequest): Promise<string> {
    return this.#run("explainTableQueryPlan", request);
  }
  /** Runs a query, and tells what each step of it did. */
  analyzeTableQueryPlan(request: queries.AnalyzeTableQueryPlanRequest): Promise<string> {
    return this.#run("analyzeTableQueryPlan", request);
  }

  // ---------------------------------------------------------------------------------------------- upkeep

  /**
   * Merges small fragments, and rewrites fragments with many deleted rows without these. The rows stay the same, but
   * their order may change: merged fragments come after the others. Old versions keep their files until a cleanup.
   *
   * Indexes are written anew where their rows move, and rows that they do not cover are merged into them. Those of kinds
   * that this release does not write (`IVF_RQ`, `FM`, unknown ones) stay as they are, and so do the fragments that they cover,
   * except in tables with stable row ids.
   *
   * Merging fragments makes two versions, the first of which only reserves ids; bringing indexes up to date makes one more.
   * The signal counts until the first version is
   * committed: an aborted call that rejects has changed nothing. If the call fails between the two for another reason,
   * the first version stays, with the same rows.
   * @throws UnsupportedError for tables with columns that this release does not write
   * @throws ConcurrentModificationError if other writers keep changing the same fragments
   */
  optimizeTable(
    request: upkeepOf.OptimizeTableRequest & { readonly background: true },
  ): Promise<upkeepOf.StartedJob>;
  /**
   * Merges small fragments, and rewrites fragments with many deleted rows without these. The rows stay the same, but
   * their order may change: merged fragments come after the others. Old versions keep their files until a cleanup.
   *
   * Indexes are written anew where their rows move, and rows that they do not cover are merged into them. Those of kinds
   * that this release does not write (`IVF_RQ`, `FM`, unknown ones) stay as they are, and so do the fragments that they cover,
   * except in tables with stable row ids.
   *
   * Merging fragments makes two versions, the first of which only reserves ids; bringing indexes up to date makes one more.
   * The signal counts until the first version is
   * committed: an aborted call that rejects has changed nothing. If the call fails between the two for another reason,
   * the first version stays, with the same rows.
   * @throws UnsupportedError for tables with columns that this release does not write
   * @throws ConcurrentModificationError if other writers keep changing the same fragments
   */
  optimizeTable(
    request: upkeepOf.OptimizeTableRequest & { readonly background?: false },
  ): Promise<upkeepOf.OptimizeTableResponse>;
  /**
   * Merges small fragments, and rewrites fragments with many deleted rows without these. The rows stay the same, but
   * their order may change: merged fragments come after the others. Old versions keep their files until a cleanup.
   *
   * Indexes are written anew where their rows move, and rows that they do not cover are merged into them. Those of kinds
   * that this release does not write (`IVF_RQ`, `FM`, unknown ones) stay as they are, and so do the fragments that they cover,
   * except in tables with stable row ids.
   *
   * Merging fragments makes two versions, the first of which only reserves ids; bringing indexes up to date makes one more.
   * The signal counts until the first version is
   * committed: an aborted call that rejects has changed nothing. If the call fails between the two for another reason,
   * the first version stays, with the same rows.
   * @throws UnsupportedError for tables with columns that this release does not write
   * @throws ConcurrentModificationError if other writers keep changing the same fragments
   */
  optimizeTable(
    request: upkeepOf.OptimizeTableRequest,
  ): Promise<upkeepOf.OptimizeTableResponse | upkeepOf.StartedJob>;
  /**
   * Merges small fragments, and rewrites fragments with many deleted rows without these. The rows stay the same, but
   * their order may change: merged fragments come after the others. Old versions keep their files until a cleanup.
   *
   * Indexes are written anew where their rows move, and rows that they do not cover are merged into them. Those of kinds
   * that this release does not write (`IVF_RQ`, `FM`, unknown ones) stay as they are, and so do the fragments that they cover,
   * except in tables with stable row ids.
   *
   * Merging fragments makes two versions, the first of which only reserves ids; bringing indexes up to date makes one more.
   * The signal counts until the first version is
   * committed: an aborted call that rejects has changed nothing. If the call fails between the two for another reason,
   * the first version stays, with the same rows.
   * @throws UnsupportedError for tables with columns that this release does not write
   * @throws ConcurrentModificationError if other writers keep changing the same fragments
   */
  optimizeTable(
    request: upkeepOf.OptimizeTableRequest,
  ): Promise<upkeepOf.OptimizeTableResponse | upkeepOf.StartedJob> {
    return this.#run("optimizeTable", request);
  }

  /**
   * Removes old versions, and files that no version needs. Everything that tags and branches need stays. Also removes
   * orphans in the namespace from table creations that died a week ago or earlier.
   *
   * The signal counts until the first version is removed: an aborted call that rejects has removed only files that no
   * version refers to. If the disk fails while files of removed versions are being removed, the call rejects although
   * these versions are gone; the next cleanup removes the rest. On a full disk, versions whose removal must be recorded
   * first may stay.
   */
  cleanupTable(
    request: upkeepOf.CleanupTableRequest & { readonly background: true },
  ): Promise<upkeepOf.StartedJob>;
  /**
   * Removes old versions, and files that no version needs. Everything that tags and branches need stays. Also removes
   * orphans in the namespace from table creations that died a week ago or earlier.
   *
   * The signal counts until the first version is removed: an aborted call that rejects has removed only files that no
   * version refers to. If the disk fails while files of removed versions are being removed, the call rejects although
   * these versions are gone; the next cleanup removes the rest. On a full disk, versions whose removal must be recorded
   * first may stay.
   */
  cleanupTable(
    request: upkeepOf.CleanupTableRequest & { readonly background?: false },
  ): Promise<upkeepOf.CleanupTableResponse>;
  /**
   * Removes old versions, and files that no version needs. Everything that tags and branches need stays. Also removes
   * orphans in the namespace from table creations that died a week ago or earlier.
   *
   * The signal counts until the first version is removed: an aborted call that rejects has removed only files that no
   * version refers to. If the disk fails while files of removed versions are being removed, the call rejects although
   * these versions are gone; the next cleanup removes the rest. On a full disk, versions whose removal must be recorded
   * first may stay.
   */
  cleanupTable(
    request: upkeepOf.CleanupTableRequest,
  ): Promise<upkeepOf.CleanupTableResponse | upkeepOf.StartedJob>;
  /**
   * Removes old versions, and files that no version needs. Everything that tags and branches need stays. Also removes
   * orphans in the namespace from table creations that died a week ago or earlier.
   *
   * The signal counts until the first version is removed: an aborted call that rejects has removed only files that no
   * version refers to. If the disk fails while files of removed versions are being removed, the call rejects although
   * these versions are gone; the next cleanup removes the rest. On a full disk, versions whose removal must be recorded
   * first may stay.
   */
  cleanupTable(
    request: upkeepOf.CleanupTableRequest,
  ): Promise<upkeepOf.CleanupTableResponse | upkeepOf.StartedJob> {
    return this.#run("cleanupTable", request);
  }

  // ---------------------------------------------------------------------------------------------- versions

  /** Publishes a staged manifest under a version number that must be free. */
  createTableVersion(
    request: versions.CreateTableVersionRequest,
  ): Promise<versions.CreateTableVersionResponse> {
    return this.#run("createTableVersion", request);
  }
  /**
   * Number, time and manifest of a version.
   * @throws TableVersionNotFoundError
   */
  describeTableVersion(
    request: versions.DescribeTableVersionRequest,
  ): Promise<versions.DescribeTableVersionResponse> {
    return this.#run("describeTableVersion", request);
  }
  /**
   * Publishes staged manifests of several tables, all of them or none.
   * @throws ServiceUnavailableError if the batch is decided but can't be finished now: the next operation on one of the tables
   *   finishes it
   */
  batchCreateTableVersions(
    request: versions.BatchCreateTableVersionsRequest,
  ): Promise<versions.BatchCreateTableVersionsResponse> {
    return this.#run("batchCreateTableVersions", request);
  }
  /**
   * Deletes the versions in the ranges, all or none, and the files that only they have. To find these files it reads
   * the manifests of all versions, as a cleanup does.
   * @throws InvalidInputError if one of the versions is the latest, has a tag, or is what a branch was made from
   */
  batchDeleteTableVersions(
    request: versions.BatchDeleteTableVersionsRequest,
  ): Promise<versions.BatchDeleteTableVersionsResponse> {
    return this.#run("batchDeleteTableVersions", request);
  }
  /**
   * Declares tables, publishes and deletes versions and deregisters tables, all of it or nothing.
   * @throws ServiceUnavailableError if the batch is decided but can't be finished now: the next operation on one of the tables
   *   finishes it
   */
  batchCommitTables(request: versions.BatchCommitTablesRequest): Promise<versions.BatchCommitTablesResponse> {
    return this.#run("batchCommitTables", request);
  }
  /** The versions of a table or a branch, in pages. */
  listTableVersions(request: versions.ListTableVersionsRequest): Promise<versions.ListTableVersionsResponse> {
    return this.#run("listTableVersions", request);
  }

  // ---------------------------------------------------------------------------------------------- branches

  /** Starts a separate line of versions from an existing version; copies no rows. */
  createTableBranch(request: branches.CreateTableBranchRequest): Promise<branches.CreateTableBranchResponse> {
    return this.#run("createTableBranch", request);
  }
  /** The branches of a table, in pages; main is not among them. */
  listTableBranches(request: branches.ListTableBranchesRequest): Promise<branches.ListTableBranchesResponse> {
    return this.#run("listTableBranches", request);
  }
  /**
   * Removes a branch, with all its versions, that no other branch and no tag refers to.
   * @throws InternalError also if the branch was deleted but some of its files can't be removed; they do no harm, and a
   *   later `cleanupTable` removes them
   */
  deleteTableBranch(request: branches.DeleteTableBranchRequest): Promise<branches.DeleteTableBranchResponse> {
    return this.#run("deleteTableBranch", request);
  }

  // ---------------------------------------------------------------------------------------------- tags

  /** Gives a version a name. */
  createTableTag(request: tags.CreateTableTagRequest): Promise<tags.CreateTableTagResponse> {
    return this.#run("createTableTag", request);
  }
  /** The tags of a table and of its branches, in pages. */
  listTableTags(request: tags.ListTableTagsRequest): Promise<tags.ListTableTagsResponse> {
    return this.#run("listTableTags", request);
  }
  /**
   * The version that a tag names.
   * @throws TableTagNotFoundError
   */
  getTableTagVersion(request: tags.GetTableTagVersionRequest): Promise<tags.GetTableTagVersionResponse> {
    return this.#run("getTableTagVersion", request);
  }
  /** Moves a tag to another version. */
  updateTableTag(request: tags.UpdateTableTagRequest): Promise<tags.UpdateTableTagResponse> {
    return this.#run("updateTableTag", request);
  }
  /** Deletes a tag; the version stays. */
  deleteTableTag(request: tags.DeleteTableTagRequest): Promise<tags.DeleteTableTagResponse> {
    return this.#run("deleteTableTag", request);
  }

  // ---------------------------------------------------------------------------------------------- schema

  /** Changes the metadata of fields; always makes a version. */
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
   * Adds columns that are null in all rows, or hold a constant, or what an SQL expression computes of other columns; or that
   * `alterTableBackfillColumns` fills, by a function or an expression.
   * @throws InvalidInputError for a function that is not registered, naming those that are
   */
  alterTableAddColumns(
    request: schemas.AlterTableAddColumnsRequest,
  ): Promise<schemas.AlterTableAddColumnsResponse> {
    return this.#run("alterTableAddColumns", request);
  }
  /** Renames columns, changes their nullability, casts them to other types. */
  alterTableAlterColumns(
    request: schemas.AlterTableAlterColumnsRequest,
  ): Promise<schemas.AlterTableAlterColumnsResponse> {
    return this.#run("alterTableAlterColumns", request);
  }
  /** Removes columns, or members of columns, from the schema; older versions keep them. */
  alterTableDropColumns(
    request: schemas.AlterTableDropColumnsRequest,
  ): Promise<schemas.AlterTableDropColumnsResponse> {
    return this.#run("alterTableDropColumns", request);
  }

  /**
   * Starts a job that computes values of a column: by default in the rows in which it is null. These are the rows that were
   * appended since, and those of which `updateTable` or `mergeInsertIntoTable` changed an input. Resolves at once; if the
   * same is asked for while the job runs, by any process, to the id of that job.
   *
   *     const { jobId } = await ns.alterTableBackfillColumns({ id, column: "vector" });
   *     await ns.waitForJob({ jobId, onProgress: ({ done, total }) => {} });
   *
   * Rows may be appended, changed and deleted meanwhile. What was computed is not computed again where the job goes on after
   * a crash, nor where the same is asked for after a failure; then, `where` decides anew about what was committed. A
   * function that keeps failing fails the job with an InternalError that names the rows; results of another length or type
   * than declared fail it with a TableSchemaValidationError; it fails with a ConcurrentModificationError where the column is
   * declared anew while it runs. Columns that are computed from this one become null in the rows that get another value.
   * @throws TableColumnNotFoundError for a column or an input that is not there; InvalidInputError for a plain column, for
   *   one whose function is not registered as it is declared, and for a cluster that is not registered;
   *   TableVersionNotFoundError
   */
  alterTableBackfillColumns(
    request: schemas.AlterTableBackfillColumnsRequest,
  ): Promise<schemas.AlterTableBackfillColumnsResponse> {
    return this.#run("alterTableBackfillColumns", request);
  }
  /**
   * Computes a piece of a backfill that an executor was handed (see `ClusterExecutor`), in a process of a cluster that has the
   * same directory and the same functions. The values are saved to files of the table's directory; the process that runs the
   * job commits them. Values that a run of the task has saved before are not computed again. Beyond the spec. Authorised as
   * `alterTableBackfillColumns`.
   * @throws ConcurrentModificationError where the job has ended, or the rows are not those that it was planned for;
   *   InvalidInputError where the function is not registered as it is in the process that runs the job; what the function throws
   */
  runBackfillTask(request: clusters.RunBackfillTaskRequest): Promise<clusters.BackfillTaskReport> {
    return this.#run("runBackfillTask", request);
  }
  /**
   * The computed columns of a table, and how many rows of each have no value yet, in which fragments; which rows they are,
   * a query for `column IS NULL` tells. Beyond the spec. Authorised as `describeTable`.
   */
  describeComputedColumns(
    request: schemas.DescribeComputedColumnsRequest,
  ): Promise<schemas.DescribeComputedColumnsResponse> {
    return this.#run("describeComputedColumns", request);
  }

  // ---------------------------------------------------------------------------------------------- transactions

  /**
   * Which version a transaction made, and how; looked up by the id that the change returned. Also how far a job is, by
   * its id. Authorised for the table as well.
   * @throws TransactionNotFoundError if the transaction made no version, or its version no longer exists
   */
  describeTransaction(
    request: transactions.DescribeTransactionRequest,
  ): Promise<transactions.DescribeTransactionResponse> {
    return this.#run("describeTransaction", request);
  }

  /**
   * Cancels a job, by the action that sets its status to `Canceled`.
   * @throws UnsupportedError for any other change; a committed transaction does not change any more
   * @throws ConcurrentModificationError if the job has succeeded or failed
   * @throws TransactionNotFoundError if there is neither a job nor a transaction of that id
   */
  alterTransaction(
    request: transactions.AlterTransactionRequest,
  ): Promise<transactions.AlterTransactionResponse> {
    return this.#run("alterTransaction", request);
  }

  // ---------------------------------------------------------------------------------------------- jobs

  /**
   * What is known about a job of any process. Authorised for its table as well.
   * @throws TransactionNotFoundError if there is no such job, or its record was cleaned up
   */
  describeJob(request: jobs.JobRequest): Promise<jobs.Job> {
    return this.#run("describeJob", request);
  }
  /** Jobs that are queued or run, and those that ended lately. */
  listJobs(request: jobs.ListJobsRequest = {}): Promise<jobs.ListJobsResponse> {
    return this.#run("listJobs", request);
  }
  /**
   * Cancels a job, whichever process runs it, and waits a moment for it to end. What it has committed stays.
   * @returns the job as it is then: one that has ended before stays as it was
   * @throws TransactionNotFoundError if there is no such job
   */
  cancelJob(request: jobs.JobRequest): Promise<jobs.Job> {
    return this.#run("cancelJob", request);
  }
  /**
   * Waits until a job has succeeded or was cancelled, or the time is over, and resolves to the job as it is then.
   * @throws the error that the job failed with; TransactionNotFoundError if there is no such job
   */
  waitForJob(request: jobs.WaitForJobRequest): Promise<jobs.Job> {
    return this.#run("waitForJob", request);
  }

  // ---------------------------------------------------------------------------------------------- indexes

  /**
   * Starts a job that builds an index on a column, and resolves at once:
   *
   *     const { jobId } = await ns.createTableIndex({ id, column: "email", indexType: "BTREE" });
   *     await ns.waitForJob({ jobId });
   *
   * The index covers the rows of the version that it is built on. Rows added later are found by looking at them, until
   * `optimizeTable` brings the index up to date.
   * @throws TableColumnNotFoundError, InvalidInputError for a column that can't have the index, naming those it can have;
   *   TableIndexAlreadyExistsError if there is one of the name; UnsupportedError for kinds that this release does not build
   */
  createTableIndex(request: indexes.CreateTableIndexRequest): Promise<indexes.CreateTableIndexResponse> {
    return this.#run("createTableIndex", request);
  }
  /** The same for kinds that look up values, or words of text. */
  createTableScalarIndex(
    request: indexes.CreateTableIndexRequest,
  ): Promise<indexes.CreateTableIndexResponse> {
    return this.#run("createTableScalarIndex", request);
  }
  /** The indexes of a version, by name. */
  listTableIndices(request: indexes.ListTableIndicesRequest): Promise<indexes.ListTableIndicesResponse> {
    return this.#run("listTableIndices", request);
  }
  /** How much of a version an index covers. */
  describeTableIndexStats(
    request: indexes.DescribeTableIndexStatsRequest,
  ): Promise<indexes.DescribeTableIndexStatsResponse> {
    return this.#run("describeTableIndexStats", request);
  }
  /** Removes an index from the versions to come. */
  dropTableIndex(request: indexes.DropTableIndexRequest): Promise<indexes.DropTableIndexResponse> {
    return this.#run("dropTableIndex", request);
  }

  /**
   * Runs an operation: checks the request, asks `authorize`, loads the part of the engine, and unifies errors.
   * @param rows second argument of the operation, if it takes rows
   */
  async #run<Name extends OperationName>(
    name: Name,
    request: Requests[Name],
    rows?: rowsOf.RowsInput,
  ): Promise<Answer<Name>> {
    const { part, authorizedAs: operation = name } = declarationOf(name);
    let engine: Engine | undefined;
    try {
      if (this.#closed) throw new ServiceUnavailableError("the namespace is closed");
      checkRequestMembers(name, request);
      // The caller or `authorize` may change the request's id later. The engine uses the id that was authorised.
      const id = Object.freeze([...optionalId(request.id)]);
      const { pinned, details } = pinRequest(operation, request, id);
      request.signal?.throwIfAborted();
      const access = accessOf(this.#authorize, request, operation, id);
      // `current` avoids waiting for a module that is loaded already.
      engine = this.#engine.current ?? (await this.#engine.get());
      const bodies = PARTS[part].current ?? (await PARTS[part].get());
      if (!asksItself(name, id)) await access.require(operation, id, details);
      const body = (bodies as Bodies)[name] as OperationBody<Requests[Name], Answer<Name>>;
      return await engine.run({ operation, id, request: pinned, access, rows }, body);
    } catch (error) {
      const reported = engine === undefined ? error : await engine.inTermsOf(request ?? {}, error);
      throw operationError(reported, operation, request?.signal);
    }
  }
}
