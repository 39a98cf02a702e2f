/**
 * The table of operations: for each operation, the part of the engine that runs it, the members of its
 * request, and how a call is authorised. The class, the check of requests, the options of handles and the
 * HTTP routes follow this table. The compiler ties it to the request types: a member that only one of the two
 * has is an error.
 */

import type * as branches from "./namespace/branches.js";
import type * as clusters from "./namespace/clusters.js";
import type * as indexes from "./namespace/indexes.js";
import type * as jobs from "./namespace/jobs.js";
import type * as namespaces from "./namespace/namespaces.js";
import type * as queries from "./namespace/queries.js";
import type { Identity, RequestBase, TableRequest } from "./namespace/request.js";
import type * as rows from "./namespace/rows.js";
import type * as schemas from "./namespace/schema.js";
import type * as tables from "./namespace/tables.js";
import type * as tags from "./namespace/tags.js";
import type * as transactions from "./namespace/transactions.js";
import type * as upkeep from "./namespace/upkeep.js";
import type * as versions from "./namespace/versions.js";

/** Modules of `engine/`, each loaded with the first call of one of its operations. */
type Part = "reading" | "describing" | "changing" | "upkeep";

/** Traits that most operations do not have. */
interface Traits {
  /** Operation that `authorize` is asked about and that errors name. Default: the operation itself. */
  readonly authorizedAs?: "queryTable" | "describeTable" | "alterTableBackfillColumns";
  /** True if rows are a second argument. */
  readonly takesRows?: true;
  /**
   * True if the request names a job or a transaction. The operation then asks about the job's table itself.
   */
  readonly namesJob?: true;
  /** Members without a meaning that requests may nevertheless have. */
  readonly ignored?: Rules;
}

/** Declaration of an operation. */
interface Declaration extends Traits {
  readonly part: Part;
  /** Members of the request besides {@link COMMON_MEMBERS}. */
  readonly members: Rules;
}

/** Declaration whose request and part the compiler knows. */
interface Operation<Request, PartName extends Part> extends Declaration {
  readonly part: PartName;
  /** Type of the request; absent at run time. */
  readonly request?: Request;
}

const operationOf =
  <PartName extends Part>(part: PartName) =>
  <Request>(
    members: RulesOf<Request, keyof RequestBase>,
    traits: Traits = {},
  ): Operation<Request, PartName> => ({ part, members, ...traits });

const reading = operationOf("reading");
const describing = operationOf("describing");
const changing = operationOf("changing");
const upkeepOf = operationOf("upkeep");

/**
 * Content of a member: a value that the operation checks, an object of listed members, or a list of such
 * objects.
 */
export type Rule = "value" | { readonly members: Rules; readonly isList: boolean };
export type Rules = Readonly<Record<string, Rule>>;

/** Names of the members of an object type, or of all types of a union. */
type NamesOf<Members> = Members extends unknown ? keyof Members & string : never;
/** Exactly one rule for each member. */
type RulesOf<Members, Without extends PropertyKey = never> = Readonly<
  Record<Exclude<NamesOf<Members>, Without>, Rule>
>;

const value = "value";
const one = <Members extends object>(members: RulesOf<Members>): Rule => ({ members, isList: false });
const each = <Members extends object>(members: RulesOf<Members>): Rule => ({ members, isList: true });

const branch = { branch: value } as const;
const version = { version: value } as const;
const page = { pageToken: value, limit: value } as const;
const progress = { onProgress: value } as const;
const input = { maxBatchBytes: value, maxRows: value, memory: value, ...progress } as const;
const background = { background: value, ...progress } as const;
const read = { ...branch, ...version, tag: value } as const;
const columns = one<Exclude<queries.ColumnSelection, readonly unknown[]>>({
  columnNames: value,
  columnAliases: value,
});

/** Members that every request may have. */
export const COMMON_MEMBERS: RulesOf<RequestBase> = {
  identity: one<Identity>({ apiKey: value, authToken: value }),
  principal: value,
  context: value,
  id: value,
  signal: value,
};

const STAGED: RulesOf<versions.CreateTableVersionRequest, keyof RequestBase> = {
  ...branch,
  ...version,
  manifestPath: value,
  manifestSize: value,
  eTag: value,
  metadata: value,
  namingScheme: value,
  unregisteredBranch: value,
};
const RANGES = each<versions.VersionRange>({ startVersion: value, endVersion: value });
const DECLARED: RulesOf<tables.DeclareTableRequest, keyof RequestBase> = {
  location: value,
  properties: value,
  vendCredentials: value,
};

const QUERY: RulesOf<queries.QueryTableRequest, keyof RequestBase> = {
  ...read,
  columns,
  ...{ limit: value, k: value, offset: value, withRowId: value, batchSize: value, maxColumns: value },
  ...{ batchBytes: value, memory: value, filter: value, params: value, useScalarIndex: value },
  ...{ vector: value, vectorColumn: value, distanceType: value, nprobes: value, refineFactor: value },
  ...{ ef: value, prefilter: value, bypassVectorIndex: value, fastSearch: value, lowerBound: value },
  ...{ upperBound: value, fullTextQuery: value, highlight: value, rerank: value },
  ...{ minimumNprobes: value, maximumNprobes: value },
  orderBy: each<queries.OrderByColumn>({ columnName: value, ascending: value, nullsFirst: value }),
};

const INDEX: RulesOf<indexes.CreateTableIndexRequest, keyof RequestBase> = {
  ...branch,
  ...progress,
  ...{ column: value, indexType: value, name: value, replace: value, rowsPerZone: value },
  ...{ distanceType: value, withPosition: value, baseTokenizer: value, language: value },
  ...{ maxTokenLength: value, lowerCase: value, stem: value, removeStopWords: value, asciiFolding: value },
  ...{ minNgramLength: value, maxNgramLength: value, prefixOnly: value, blockSize: value },
  customStopWords: value,
  ...{ numPartitions: value, numSubVectors: value, numBits: value, sampleRate: value },
  ...{ maxIterations: value, targetPartitionSize: value, m: value, efConstruction: value },
};

/** Members of a virtual column that tell other engines how to compute it. */
type ForeignMember = "image" | "udf" | "udfBackend" | "manifest" | "manifestChecksum";
const VIRTUAL = one<schemas.VirtualColumn & Record<ForeignMember, unknown>>({
  ...{ udfName: value, udfVersion: value, inputColumns: value, fieldMetadata: value },
  ...{ image: value, udf: value, udfBackend: value, manifest: value, manifestChecksum: value },
});

/** The answer of an operation that started a job may be passed on as the request about that job. */
const STARTED: Rules = { transactionId: value };

export const OPERATIONS = {
  // ------------------------------------------------------------------------------------- namespaces
  createNamespace: changing<namespaces.CreateNamespaceRequest>({ mode: value, properties: value }),
  describeNamespace: describing<namespaces.DescribeNamespaceRequest>({}),
  listNamespaces: describing<namespaces.ListNamespacesRequest>(page),
  namespaceExists: describing<namespaces.NamespaceExistsRequest>({}),
  dropNamespace: changing<namespaces.DropNamespaceRequest>({ mode: value, behavior: value }),
  // ----------------------------------------------------------------------------------------- tables
  declareTable: changing<tables.DeclareTableRequest>(DECLARED),
  createTable: changing<tables.CreateTableRequest>(
    {
      ...{ mode: value, properties: value, stableRowIds: value, schema: value, ...input },
      ...{ storageOptions: value, vendCredentials: value },
    },
    { takesRows: true },
  ),
  tableExists: reading<tables.TableExistsRequest>(read),
  describeTable: describing<tables.DescribeTableRequest>({
    ...read,
    ...{ withTableUri: value, loadDetailedMetadata: value, checkDeclared: value, vendCredentials: value },
  }),
  dropTable: changing<tables.DropTableRequest>({}),
  listTables: describing<tables.ListTablesRequest>({ ...page, includeDeclared: value }),
  listAllTables: describing<tables.ListAllTablesRequest>({ ...page, includeDeclared: value }),
  registerTable: changing<tables.RegisterTableRequest>({ location: value, mode: value, properties: value }),
  deregisterTable: changing<tables.DeregisterTableRequest>({}),
  renameTable: changing<tables.RenameTableRequest>({ newTableName: value, newNamespaceId: value }),
  getTableStats: describing<tables.GetTableStatsRequest>({ ...read, ...progress }),
  restoreTable: changing<tables.RestoreTableRequest>({ ...version, ...branch }),
  // ------------------------------------------------------------------------------------------- rows
  insertIntoTable: changing<rows.InsertIntoTableRequest>(
    { ...branch, mode: value, schema: value, ...input },
    { takesRows: true },
  ),
  deleteFromTable: changing<rows.DeleteFromTableRequest>({
    ...branch,
    predicate: value,
    params: value,
    ...progress,
  }),
  updateTable: changing<rows.UpdateTableRequest>({
    ...{ ...branch, updates: value, values: value, predicate: value, params: value, properties: value },
    ...progress,
  }),
  mergeInsertIntoTable: changing<rows.MergeInsertIntoTableRequest>(
    {
      ...{ ...branch, on: value, whenMatchedUpdateAll: value, whenMatchedUpdateAllFilt: value },
      ...{ whenNotMatchedInsertAll: value, whenNotMatchedBySourceDelete: value },
      ...{ whenNotMatchedBySourceDeleteFilt: value, params: value, timeout: value, useIndex: value },
      ...input,
    },
    { takesRows: true },
  ),
  queryTable: reading<queries.QueryTableRequest>(QUERY),
  takeRows: reading<queries.TakeRowsRequest>(
    { ...read, rowOffsets: value, columns },
    { authorizedAs: "queryTable" },
  ),
  takeBlobs: reading<queries.TakeBlobsRequest>(
    { ...read, column: value, rowOffsets: value },
    { authorizedAs: "queryTable" },
  ),
  countTableRows: reading<queries.CountTableRowsRequest>({
    ...read,
    ...progress,
    predicate: value,
    params: value,
    useScalarIndex: value,
  }),
  explainTableQueryPlan: describing<queries.ExplainTableQueryPlanRequest>({
    ...branch,
    query: one<Omit<queries.QueryTableRequest, keyof TableRequest>>(QUERY),
    verbose: value,
    format: value,
  }),
  analyzeTableQueryPlan: describing<queries.AnalyzeTableQueryPlanRequest>({ ...QUERY, format: value }),
  // ----------------------------------------------------------------------------------------- upkeep
  optimizeTable: upkeepOf<upkeep.OptimizeTableRequest>({
    ...{ ...branch, ...background, targetRowsPerFragment: value, materializeDeletions: value },
    materializeDeletionsThreshold: value,
  }),
  cleanupTable: upkeepOf<upkeep.CleanupTableRequest>({
    ...{ ...branch, ...background, olderThanMs: value, retainVersions: value, deleteUnverified: value },
    errorIfTagged: value,
  }),
  // --------------------------------------------------------------------------------------- versions
  createTableVersion: changing<versions.CreateTableVersionRequest>(STAGED),
  describeTableVersion: describing<versions.DescribeTableVersionRequest>({
    ...version,
    ...branch,
    unregisteredBranch: value,
  }),
  batchCreateTableVersions: changing<versions.BatchCreateTableVersionsRequest>({
    entries: each<versions.CreateTableVersionEntry>({ id: value, ...STAGED }),
  }),
  batchDeleteTableVersions: changing<versions.BatchDeleteTableVersionsRequest>({ ...branch, ranges: RANGES }),
  batchCommitTables: changing<versions.BatchCommitTablesRequest>({
    operations: each<versions.BatchCommitOperation>({
      declareTable: one<tables.DeclareTableRequest>({ ...COMMON_MEMBERS, ...DECLARED }),
      createTableVersion: one<versions.CreateTableVersionEntry>({ id: value, ...STAGED }),
      deleteTableVersions: one<versions.DeleteTableVersionsEntry>({ id: value, ...branch, ranges: RANGES }),
      deregisterTable: one<tables.DeregisterTableRequest>(COMMON_MEMBERS),
    }),
  }),
  listTableVersions: describing<versions.ListTableVersionsRequest>({
    ...branch,
    ...page,
    unregisteredBranch: value,
    descending: value,
  }),
  // --------------------------------------------------------------------------------------- branches
  createTableBranch: changing<branches.CreateTableBranchRequest>({
    name: value,
    fromBranch: value,
    fromVersion: value,
    fromTag: value,
  }),
  listTableBranches: describing<branches.ListTableBranchesRequest>(page),
  deleteTableBranch: changing<branches.DeleteTableBranchRequest>({ name: value }),
  // ------------------------------------------------------------------------------------------- tags
  createTableTag: changing<tags.CreateTableTagRequest>({ tag: value, ...version, ...branch }),
  listTableTags: describing<tags.ListTableTagsRequest>(page),
  getTableTagVersion: describing<tags.GetTableTagVersionRequest>({ tag: value }),
  updateTableTag: changing<tags.UpdateTableTagRequest>({ tag: value, ...version, ...branch }),
  deleteTableTag: changing<tags.DeleteTableTagRequest>({ tag: value }),
  // ----------------------------------------------------------------------------------------- schema
  updateFieldMetadata: changing<schemas.UpdateFieldMetadataRequest>({
    ...branch,
    updates: each<schemas.FieldMetadataUpdate>({ path: value, metadata: value, replace: value }),
  }),
  updateTableSchemaMetadata: changing<schemas.UpdateTableSchemaMetadataRequest>({
    ...branch,
    metadata: value,
  }),
  alterTableAddColumns: changing<schemas.AlterTableAddColumnsRequest>({
    ...branch,
    ...progress,
    newColumns: each<schemas.NewColumn>({
      ...{ name: value, expression: value, dataType: value, metadata: value, computed: value },
      virtualColumn: VIRTUAL,
    }),
  }),
  alterTableAlterColumns: changing<schemas.AlterTableAlterColumnsRequest>({
    ...branch,
    ...progress,
    alterations: each<schemas.ColumnAlteration>({
      ...{ path: value, rename: value, nullable: value, dataType: value, virtualColumn: value },
    }),
  }),
  alterTableDropColumns: changing<schemas.AlterTableDropColumnsRequest>({ ...branch, columns: value }),
  alterTableBackfillColumns: upkeepOf<schemas.AlterTableBackfillColumnsRequest>({
    ...{ ...branch, ...progress, column: value, where: value, concurrency: value, cluster: value },
    ...{ intraApplierConcurrency: value, checkpointSize: value, minCheckpointSize: value },
    ...{ maxCheckpointSize: value, batchCheckpointFlushIntervalSeconds: value, readVersion: value },
    ...{ taskSize: value, numFrags: value, commitGranularity: value, manifest: value },
  }),
  runBackfillTask: upkeepOf<clusters.RunBackfillTaskRequest>(
    {
      ...{ ...branch, ...version, ...progress, taskId: value, jobId: value, column: value, where: value },
      ...{ fragmentId: value, firstRow: value, lastRow: value, rows: value, meaning: value, content: value },
      ...{ key: value, checkpointSize: value, minCheckpointSize: value, intraApplierConcurrency: value },
      ...{ batchCheckpointFlushIntervalSeconds: value },
    },
    { authorizedAs: "alterTableBackfillColumns" },
  ),
  describeComputedColumns: describing<schemas.DescribeComputedColumnsRequest>(
    { ...read, ...progress },
    { authorizedAs: "describeTable" },
  ),
  // ----------------------------------------------------------------------------------- transactions
  describeTransaction: describing<transactions.DescribeTransactionRequest>({}, { namesJob: true }),
  alterTransaction: upkeepOf<transactions.AlterTransactionRequest>({ actions: value }, { namesJob: true }),
  // ------------------------------------------------------------------------------------------- jobs
  describeJob: describing<jobs.JobRequest>({ jobId: value }, { namesJob: true, ignored: STARTED }),
  listJobs: describing<jobs.ListJobsRequest>({ state: value }, { namesJob: true }),
  cancelJob: upkeepOf<jobs.JobRequest>({ jobId: value }, { namesJob: true, ignored: STARTED }),
  waitForJob: upkeepOf<jobs.WaitForJobRequest>(
    { jobId: value, timeoutMs: value, onProgress: value },
    { namesJob: true, ignored: STARTED },
  ),
  // ---------------------------------------------------------------------------------------- indexes
  createTableIndex: upkeepOf<indexes.CreateTableIndexRequest>(INDEX),
  createTableScalarIndex: upkeepOf<indexes.CreateTableIndexRequest>(INDEX),
  listTableIndices: describing<indexes.ListTableIndicesRequest>({ ...branch, ...version, ...page }),
  describeTableIndexStats: describing<indexes.DescribeTableIndexStatsRequest>({
    ...branch,
    ...version,
    indexName: value,
  }),
  dropTableIndex: upkeepOf<indexes.DropTableIndexRequest>({ ...branch, indexName: value }),
};

/** Name of an operation. */
export type OperationName = keyof typeof OPERATIONS;

/** Request of each operation. */
export type Requests = {
  readonly [Name in OperationName]: NonNullable<(typeof OPERATIONS)[Name]["request"]>;
};

/** Part of the engine that has an operation. */
export type PartOf<Name extends OperationName> = (typeof OPERATIONS)[Name]["part"];

/** Returns the declaration of an operation. */
export const operationRow = (name: OperationName): Declaration => OPERATIONS[name];

/** True if an operation changes nothing. */
export const isReadOnly = (name: OperationName): boolean =>
  ["reading", "describing"].includes(OPERATIONS[name].part);
