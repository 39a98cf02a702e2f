/**
 * The table of operations: for each operation, the part of the engine that runs it, the members of its
 * request, and how a call is authorised. The class, the check of requests, the options of handles and the
 * HTTP routes follow this table. The compiler ties it to the request types: a member that only one of the two
 * has is an error.
 */

import type { Table } from "apache-arrow";
import type * as branches from "./namespace/branches.js";
import type * as clusters from "./namespace/clusters.js";
import type * as indexes from "./namespace/indexes.js";
import type * as jobs from "./namespace/jobs.js";
import type * as namespaces from "./namespace/namespaces.js";
import type * as queries from "./namespace/queries.js";
import type { Identity, RequestBase, TableRequest } from "./namespace/request.js";
import type * as rows from "./namespace/rows.js";
import type * as schemas from "./namespace/schema.js";
import type * as storage from "./namespace/storage.js";
import type * as tables from "./namespace/tables.js";
import type * as tags from "./namespace/tags.js";
import type * as transactions from "./namespace/transactions.js";
import type * as upkeep from "./namespace/upkeep.js";
import type * as versions from "./namespace/versions.js";

/** Modules of `engine/`, each loaded with the first call of one of its operations. */
export type Part =
  | "counting"
  | "reading"
  | "taking"
  | "aggregating"
  | "describing"
  | "examining"
  | "inserting"
  | "creating"
  | "updating"
  | "merging"
  | "altering"
  | "changing"
  | "indexing"
  | "backfilling"
  | "upkeep";

/** Traits that most operations do not have. */
interface Traits {
  /** Operation that `authorize` is asked about and that errors name. Default: the operation itself. */
  readonly authorizedAs?: "queryTable" | "listTableVersions" | "describeTable" | "alterTableBackfillColumns";
  /** True if rows are a second argument. */
  readonly takesRows?: true;
  /** True if the request names a job or a transaction: the operation asks about its table itself. */
  readonly namesJob?: true;
  /** Members without effect that requests may nevertheless have. */
  readonly ignored?: Rules;
}

/** Declaration of an operation. */
interface Declaration extends Traits {
  readonly part: Part;
  /** Members of the request besides {@link COMMON_MEMBERS}. */
  readonly members: Rules;
}

/** Declaration whose part, request and answer the compiler knows. The two types are absent at run time. */
interface Operation<PartName extends Part, Request, Answer> extends Declaration {
  readonly part: PartName;
  readonly request?: Request;
  readonly answer?: [Answer];
}

const operationOf =
  <PartName extends Part>(part: PartName) =>
  <Request, Answer>() =>
  <Members extends RulesOf<Request, keyof RequestBase>>(
    members: Exactly<Members, Request>,
    traits: Traits = {},
  ): Operation<PartName, Request, Answer> => ({ part, members, ...traits });

const counting = operationOf("counting");
const reading = operationOf("reading");
const taking = operationOf("taking");
const aggregating = operationOf("aggregating");
const describing = operationOf("describing");
const examining = operationOf("examining");
const inserting = operationOf("inserting");
const creating = operationOf("creating");
const updating = operationOf("updating");
const merging = operationOf("merging");
const altering = operationOf("altering");
const changing = operationOf("changing");
const indexing = operationOf("indexing");
const backfilling = operationOf("backfilling");
const upkeepOf = operationOf("upkeep");

/** Content of a member: a value that the operation checks, an object, or a list of objects. */
export type Rule = "value" | { readonly members: Rules; readonly isList: boolean };
export type Rules = Readonly<Record<string, Rule>>;

/** Names of the members of an object type, or of all types of a union. */
type NamesOf<Members> = Members extends unknown ? keyof Members & string : never;
/** One rule for each member. */
type RulesOf<Members, Without extends PropertyKey = never> = Readonly<
  Record<Exclude<NamesOf<Members>, Without>, Rule>
>;

/** Refuses members that a type does not have. */
type Exactly<Members, Type> = Members & Readonly<Record<Exclude<keyof Members, NamesOf<Type>>, never>>;

/** Union of the words of a text. */
type Words<Text> = Text extends `${infer First} ${infer Rest}` ? First | Words<Rest> : Text & string;
/** Returns a record with the same value for several names; spaces separate the names. */
export const recordOf = <Value, Names extends string>(value: Value, ...names: readonly Names[]) =>
  Object.fromEntries(names.flatMap((text) => text.split(" ").map((name) => [name, value]))) as Readonly<
    Record<Words<Names>, Value>
  >;
/** Rules of members whose values the operation checks. */
const values = <Names extends string>(...names: readonly Names[]) => recordOf("value" as const, ...names);
const one = <Members extends object>(members: RulesOf<Members>): Rule => ({ members, isList: false });
const each = <Members extends object>(members: RulesOf<Members>): Rule => ({ members, isList: true });

const columns = one<Exclude<queries.ColumnSelection, readonly unknown[] | string>>(
  values("columnNames columnAliases"),
);

/** Members that every request may have. */
export const COMMON_MEMBERS: RulesOf<RequestBase> = {
  identity: one<Identity>(values("apiKey authToken")),
  ...values("principal context id signal"),
};

const STAGED = values(
  "branch version manifestPath manifestSize eTag metadata namingScheme unregisteredBranch",
);
const RANGES = each<versions.VersionRange>(values("startVersion endVersion"));
const DECLARED = values("location properties vendCredentials");

const QUERY = {
  ...values(
    "branch version asOf tag limit k offset withRowId batchSize maxColumns batchBytes memory",
    "filter predicate where params useScalarIndex vector vectorColumn distanceType nprobes refineFactor ef",
    "prefilter bypassVectorIndex fastSearch lowerBound upperBound fullTextQuery text highlight",
    "rerank minimumNprobes maximumNprobes orderBy",
  ),
  columns,
};

const TOKENIZER =
  "baseTokenizer language maxTokenLength lowerCase stem removeStopWords asciiFolding minNgramLength maxNgramLength prefixOnly customStopWords";

const INDEX = values(
  TOKENIZER,
  "branch message onProgress column indexType name replace rowsPerZone distanceType withPosition",
  "train blockSize numPartitions",
  "numSubVectors numBits sampleRate maxIterations targetPartitionSize m efConstruction",
);

/** Members of a virtual column that tell other engines how to compute it. */
type ForeignMember = "image" | "udf" | "udfBackend" | "manifest" | "manifestChecksum";
const VIRTUAL = one<schemas.VirtualColumn & Record<ForeignMember, unknown>>(
  values("udfName udfVersion inputColumns fieldMetadata image udf udfBackend manifest", "manifestChecksum"),
);

/** A job, or the answer of an operation that started it, may be passed on as the request about that job. */
const STARTED: Rules = values(
  "transactionId kind table branch state done total unit rate estimatedEnd createdAt startedAt",
  "finishedAt isInterrupted error result",
);

export const OPERATIONS = {
  // ------------------------------------------------------------------------------------- namespaces
  createNamespace: changing<namespaces.CreateNamespaceRequest, namespaces.CreateNamespaceResponse>()(
    values("mode properties"),
  ),
  describeNamespace: describing<namespaces.DescribeNamespaceRequest, namespaces.DescribeNamespaceResponse>()(
    {},
  ),
  listNamespaces: describing<namespaces.ListNamespacesRequest, namespaces.ListNamespacesResponse>()(
    values("pageToken limit"),
  ),
  namespaceExists: describing<namespaces.NamespaceExistsRequest, void>()({}),
  dropNamespace: changing<namespaces.DropNamespaceRequest, namespaces.DropNamespaceResponse>()(
    values("mode behavior"),
  ),
  // ----------------------------------------------------------------------------------------- tables
  declareTable: changing<tables.DeclareTableRequest, tables.DeclareTableResponse>()(DECLARED),
  createTable: creating<tables.CreateTableRequest, tables.CreateTableResponse>()(
    values(
      "maxBatchBytes maxRows memory onProgress mode properties stableRowIds schema message",
      "storageOptions vendCredentials",
    ),
    { takesRows: true },
  ),
  cloneTable: changing<tables.CloneTableRequest, tables.CloneTableResponse>()(
    values("from version tag properties message"),
  ),
  tableExists: counting<tables.TableExistsRequest, void>()(values("branch version asOf tag")),
  describeTable: describing<tables.DescribeTableRequest, tables.DescribeTableResponse>()(
    values("branch version asOf tag withTableUri loadDetailedMetadata checkDeclared vendCredentials"),
  ),
  dropTable: changing<tables.DropTableRequest, tables.DropTableResponse>()({}),
  listTables: describing<tables.ListTablesRequest, tables.ListTablesResponse>()(
    values("pageToken limit includeDeclared"),
  ),
  listAllTables: describing<tables.ListAllTablesRequest, tables.ListTablesResponse>()(
    values("pageToken limit includeDeclared"),
  ),
  registerTable: changing<tables.RegisterTableRequest, tables.RegisterTableResponse>()(
    values("location mode properties"),
  ),
  deregisterTable: changing<tables.DeregisterTableRequest, tables.DeregisterTableResponse>()({}),
  renameTable: changing<tables.RenameTableRequest, tables.RenameTableResponse>()(
    values("newTableName newNamespaceId"),
  ),
  getTableStats: examining<tables.GetTableStatsRequest, tables.GetTableStatsResponse>()(
    values("branch version asOf tag onProgress"),
  ),
  verifyTable: examining<storage.VerifyTableRequest, storage.VerifyTableResponse>()(
    values("branch version asOf tag onProgress"),
    { authorizedAs: "queryTable" },
  ),
  describeTableFile: examining<storage.DescribeTableFileRequest, storage.DescribeTableFileResponse>()(
    values("branch version asOf tag path"),
    { authorizedAs: "describeTable" },
  ),
  describeTableStorage: examining<
    storage.DescribeTableStorageRequest,
    storage.DescribeTableStorageResponse
  >()(values("branch version asOf tag onProgress"), { authorizedAs: "describeTable" }),
  restoreTable: changing<tables.RestoreTableRequest, tables.RestoreTableResponse>()(
    values("version tag asOf branch message"),
  ),
  // ------------------------------------------------------------------------------------------- rows
  insertIntoTable: inserting<rows.InsertIntoTableRequest, rows.InsertIntoTableResponse>()(
    values("branch maxBatchBytes maxRows memory onProgress mode schema message"),
    { takesRows: true },
  ),
  deleteFromTable: updating<rows.DeleteFromTableRequest, rows.DeleteFromTableResponse>()(
    values("branch onProgress predicate filter where params message"),
  ),
  updateTable: updating<rows.UpdateTableRequest, rows.UpdateTableResponse>()(
    values("branch updates values valuesSql predicate filter where params properties onProgress message"),
  ),
  mergeInsertIntoTable: merging<rows.MergeInsertIntoTableRequest, rows.MergeInsertIntoTableResponse>()(
    values(
      "branch maxBatchBytes maxRows memory onProgress on whenMatchedUpdateAll",
      "whenMatchedUpdateAllFilt whenNotMatchedInsertAll whenNotMatchedBySourceDelete",
      "whenNotMatchedBySourceDeleteFilt params timeout useIndex useLsm message",
    ),
    { takesRows: true },
  ),
  queryTable: reading<queries.QueryTableRequest, queries.QueryResult>()(QUERY),
  takeRows: taking<queries.TakeRowsRequest, Table>()(
    { ...values("branch version asOf tag rowOffsets"), columns },
    { authorizedAs: "queryTable" },
  ),
  takeTableRows: taking<queries.TakeTableRowsRequest, queries.QueryResult>()(
    {
      ...values("branch version asOf tag rowIds offsets withRowId batchSize batchBytes maxColumns memory"),
      columns,
    },
    { authorizedAs: "queryTable" },
  ),
  takeBlobs: taking<queries.TakeBlobsRequest, (queries.LazyBlob | null)[]>()(
    values("branch version asOf tag column rowOffsets rowIds"),
    {
      authorizedAs: "queryTable",
    },
  ),
  aggregateTable: aggregating<queries.AggregateTableRequest, queries.QueryResult>()(
    values(
      "branch version asOf tag groupBy values filter predicate where params having",
      "orderBy limit offset batchSize batchBytes maxColumns memory useScalarIndex",
    ),
    { authorizedAs: "queryTable" },
  ),
  countTableRows: counting<queries.CountTableRowsRequest, number>()(
    values("branch version asOf tag onProgress predicate filter where params useScalarIndex"),
  ),
  explainTableQueryPlan: examining<queries.ExplainTableQueryPlanRequest, string>()({
    ...values("branch verbose format"),
    query: one<Omit<queries.QueryTableRequest, keyof TableRequest>>(QUERY),
  }),
  analyzeTableQueryPlan: examining<queries.AnalyzeTableQueryPlanRequest, string>()({
    ...values("format"),
    ...QUERY,
  }),
  // ----------------------------------------------------------------------------------------- upkeep
  optimizeTable: upkeepOf<upkeep.OptimizeTableRequest, upkeep.OptimizeTableResponse | upkeep.StartedJob>()(
    values(
      "branch background dryRun onProgress targetRowsPerFragment materializeDeletions",
      "materializeDeletionsThreshold message",
    ),
  ),
  cleanupTable: upkeepOf<upkeep.CleanupTableRequest, upkeep.CleanupTableResponse | upkeep.StartedJob>()(
    values(
      "branch background dryRun onProgress olderThanMs olderThan retainVersions deleteUnverified",
      "errorIfTagged",
    ),
  ),
  configureCleanup: upkeepOf<upkeep.ConfigureCleanupRequest, upkeep.ConfigureCleanupResponse>()(
    values("branch olderThanMs retainVersions interval"),
  ),
  configureLsmWrites: upkeepOf<upkeep.ConfigureLsmWritesRequest, upkeep.ConfigureLsmWritesResponse>()({
    ...values("branch message"),
    spec: one<upkeep.LsmWriteSpec>(
      values("specType column numBuckets maintainedIndexes writerConfigDefaults"),
    ),
  }),
  configureUpkeep: upkeepOf<upkeep.ConfigureUpkeepRequest, upkeep.ConfigureUpkeepResponse>()(
    values("smallFragments deletedPercent unindexedRows versions"),
  ),
  // --------------------------------------------------------------------------------------- versions
  createTableVersion: changing<versions.CreateTableVersionRequest, versions.CreateTableVersionResponse>()(
    STAGED,
  ),
  describeTableVersion: describing<
    versions.DescribeTableVersionRequest,
    versions.DescribeTableVersionResponse
  >()(values("version asOf branch unregisteredBranch")),
  batchCreateTableVersions: changing<
    versions.BatchCreateTableVersionsRequest,
    versions.BatchCreateTableVersionsResponse
  >()({
    entries: each<versions.CreateTableVersionEntry>({ ...values("id"), ...STAGED }),
  }),
  batchDeleteTableVersions: changing<
    versions.BatchDeleteTableVersionsRequest,
    versions.BatchDeleteTableVersionsResponse
  >()({
    ...values("branch"),
    ranges: RANGES,
  }),
  batchCommitTables: changing<versions.BatchCommitTablesRequest, versions.BatchCommitTablesResponse>()({
    operations: each<versions.BatchCommitOperation>({
      declareTable: one<tables.DeclareTableRequest>({ ...COMMON_MEMBERS, ...DECLARED }),
      createTableVersion: one<versions.CreateTableVersionEntry>({ ...values("id"), ...STAGED }),
      deleteTableVersions: one<versions.DeleteTableVersionsEntry>({ ...values("branch id"), ranges: RANGES }),
      deregisterTable: one<tables.DeregisterTableRequest>(COMMON_MEMBERS),
    }),
  }),
  migrateManifestNames: changing<
    versions.MigrateManifestNamesRequest,
    versions.MigrateManifestNamesResponse
  >()(values("branch")),
  listTableVersions: describing<versions.ListTableVersionsRequest, versions.ListTableVersionsResponse>()(
    values("branch pageToken limit unregisteredBranch descending"),
  ),
  diffTableVersions: examining<
    versions.DiffTableVersionsRequest,
    queries.QueryResult<versions.RowDifference>
  >()(values("branch from to on memory"), { authorizedAs: "queryTable" }),
  watchTable: describing<versions.WatchTableRequest, AsyncIterable<versions.TableVersion>>()(
    values("branch from"),
    { authorizedAs: "listTableVersions" },
  ),
  // --------------------------------------------------------------------------------------- branches
  createTableBranch: changing<branches.CreateTableBranchRequest, branches.CreateTableBranchResponse>()(
    values("name fromBranch fromVersion fromTag message"),
  ),
  listTableBranches: describing<branches.ListTableBranchesRequest, branches.ListTableBranchesResponse>()(
    values("pageToken limit"),
  ),
  mergeTableBranch: changing<branches.MergeTableBranchRequest, branches.MergeTableBranchResponse>()(
    values("branch name on conflicts message"),
  ),
  deleteTableBranch: changing<branches.DeleteTableBranchRequest, branches.DeleteTableBranchResponse>()(
    values("name"),
  ),
  // ------------------------------------------------------------------------------------------- tags
  createTableTag: changing<tags.CreateTableTagRequest, tags.CreateTableTagResponse>()(
    values("version branch tag"),
  ),
  listTableTags: describing<tags.ListTableTagsRequest, tags.ListTableTagsResponse>()(
    values("pageToken limit"),
  ),
  getTableTagVersion: describing<tags.GetTableTagVersionRequest, tags.GetTableTagVersionResponse>()(
    values("tag"),
  ),
  updateTableTag: changing<tags.UpdateTableTagRequest, tags.UpdateTableTagResponse>()(
    values("version branch tag"),
  ),
  deleteTableTag: changing<tags.DeleteTableTagRequest, tags.DeleteTableTagResponse>()(values("tag")),
  // ----------------------------------------------------------------------------------------- schema
  updateFieldMetadata: altering<schemas.UpdateFieldMetadataRequest, schemas.UpdateFieldMetadataResponse>()({
    ...values("branch message"),
    updates: each<schemas.FieldMetadataUpdate>(values("path metadata replace")),
  }),
  updateTableSchemaMetadata: altering<
    schemas.UpdateTableSchemaMetadataRequest,
    schemas.UpdateTableSchemaMetadataResponse
  >()(values("branch metadata message")),
  alterTableAddColumns: altering<schemas.AlterTableAddColumnsRequest, schemas.AlterTableAddColumnsResponse>()(
    {
      ...values("branch onProgress message"),
      newColumns: each<schemas.NewColumn>({
        ...values("name expression dataType metadata computed"),
        virtualColumn: VIRTUAL,
      }),
    },
  ),
  alterTableAlterColumns: altering<
    schemas.AlterTableAlterColumnsRequest,
    schemas.AlterTableAlterColumnsResponse
  >()({
    ...values("branch onProgress message"),
    alterations: each<schemas.ColumnAlteration>(values("path rename nullable dataType virtualColumn")),
  }),
  alterTableDropColumns: altering<
    schemas.AlterTableDropColumnsRequest,
    schemas.AlterTableDropColumnsResponse
  >()(values("branch columns message")),
  alterTableBackfillColumns: backfilling<
    schemas.AlterTableBackfillColumnsRequest,
    schemas.AlterTableBackfillColumnsResponse
  >()(
    values(
      "branch onProgress column where filter predicate concurrency cluster intraApplierConcurrency",
      "checkpointSize minCheckpointSize maxCheckpointSize batchCheckpointFlushIntervalSeconds",
      "readVersion taskSize numFrags commitGranularity manifest message",
    ),
  ),
  runBackfillTask: backfilling<clusters.RunBackfillTaskRequest, clusters.BackfillTaskReport>()(
    values(
      "branch version onProgress taskId jobId column where fragmentId firstRow lastRow rows",
      "meaning content key checkpointSize minCheckpointSize intraApplierConcurrency",
      "batchCheckpointFlushIntervalSeconds",
    ),
    { authorizedAs: "alterTableBackfillColumns" },
  ),
  describeComputedColumns: examining<
    schemas.DescribeComputedColumnsRequest,
    schemas.DescribeComputedColumnsResponse
  >()(values("branch version asOf tag onProgress"), { authorizedAs: "describeTable" }),
  // ----------------------------------------------------------------------------------- transactions
  describeTransaction: describing<
    transactions.DescribeTransactionRequest,
    transactions.DescribeTransactionResponse
  >()({}, { namesJob: true }),
  alterTransaction: upkeepOf<transactions.AlterTransactionRequest, transactions.AlterTransactionResponse>()(
    values("actions"),
    { namesJob: true },
  ),
  // ------------------------------------------------------------------------------------------- jobs
  describeJob: describing<jobs.JobRequest, jobs.Job>()(values("jobId"), { namesJob: true, ignored: STARTED }),
  listJobs: describing<jobs.ListJobsRequest, jobs.ListJobsResponse>()(values("state"), { namesJob: true }),
  cancelJob: indexing<jobs.JobRequest, jobs.Job>()(values("jobId"), { namesJob: true, ignored: STARTED }),
  waitForJob: indexing<jobs.WaitForJobRequest, jobs.Job>()(values("jobId timeoutMs onProgress progress"), {
    namesJob: true,
    ignored: STARTED,
  }),
  // ---------------------------------------------------------------------------------------- indexes
  createTableIndex: indexing<indexes.CreateTableIndexRequest, indexes.CreateTableIndexResponse>()(INDEX),
  createTableScalarIndex: indexing<indexes.CreateTableIndexRequest, indexes.CreateTableIndexResponse>()(
    INDEX,
  ),
  listTableIndices: describing<indexes.ListTableIndicesRequest, indexes.ListTableIndicesResponse>()(
    values("branch version asOf pageToken limit"),
  ),
  describeTableIndexStats: examining<
    indexes.DescribeTableIndexStatsRequest,
    indexes.DescribeTableIndexStatsResponse
  >()(values("branch version asOf indexName")),
  tokenize: examining<indexes.TokenizeRequest, readonly indexes.Token[]>()(
    values("branch version asOf tag text column indexName", TOKENIZER),
  ),
  dropTableIndex: indexing<indexes.DropTableIndexRequest, indexes.DropTableIndexResponse>()(
    values("branch indexName message"),
  ),
};

/** Name of an operation. */
export type OperationName = keyof typeof OPERATIONS;

/** Request of each operation. */
export type Requests = {
  readonly [Name in OperationName]: NonNullable<(typeof OPERATIONS)[Name]["request"]>;
};

/** Answer of each operation. */
export type Answers = {
  readonly [Name in OperationName]: NonNullable<(typeof OPERATIONS)[Name]["answer"]>[0];
};

/** Names of the operations of a part of the engine. */
export type NamesOfPart<PartName> = {
  [Name in OperationName]: (typeof OPERATIONS)[Name]["part"] extends PartName ? Name : never;
}[OperationName];

/** Returns the declaration of an operation. */
export const operationRow = (name: OperationName): Declaration => OPERATIONS[name];

/** True if an operation changes nothing. */
export const isReadOnly = (name: OperationName): boolean =>
  ["counting", "reading", "aggregating", "describing", "examining"].includes(OPERATIONS[name].part);
