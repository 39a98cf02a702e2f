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
  <Request>() =>
  <Members extends RulesOf<Request, keyof RequestBase>>(
    members: Exactly<Members, Request>,
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
/** One rule for each member. */
type RulesOf<Members, Without extends PropertyKey = never> = Readonly<
  Record<Exclude<NamesOf<Members>, Without>, Rule>
>;

/** Refuses members that a type does not have. */
type Exactly<Members, Type> = Members & Readonly<Record<Exclude<keyof Members, NamesOf<Type>>, never>>;

/** Union of the words of a text. */
type Words<Text> = Text extends `${infer First} ${infer Rest}` ? First | Words<Rest> : Text & string;
/** Rules of members whose values the operation checks; spaces separate the names. */
const values = <Names extends string>(...names: readonly Names[]) =>
  Object.fromEntries(names.flatMap((text) => text.split(" ").map((name) => [name, "value"]))) as Readonly<
    Record<Words<Names>, "value">
  >;
const one = <Members extends object>(members: RulesOf<Members>): Rule => ({ members, isList: false });
const each = <Members extends object>(members: RulesOf<Members>): Rule => ({ members, isList: true });

const columns = one<Exclude<queries.ColumnSelection, readonly unknown[]>>(
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
    "branch version tag limit k offset withRowId batchSize maxColumns batchBytes memory",
    "filter params useScalarIndex vector vectorColumn distanceType nprobes refineFactor ef",
    "prefilter bypassVectorIndex fastSearch lowerBound upperBound fullTextQuery highlight",
    "rerank minimumNprobes maximumNprobes",
  ),
  columns,
  orderBy: each<queries.OrderByColumn>(values("columnName ascending nullsFirst")),
};

const INDEX = values(
  "branch onProgress column indexType name replace rowsPerZone distanceType withPosition",
  "baseTokenizer language maxTokenLength lowerCase stem removeStopWords asciiFolding",
  "minNgramLength maxNgramLength prefixOnly blockSize customStopWords numPartitions",
  "numSubVectors numBits sampleRate maxIterations targetPartitionSize m efConstruction",
);

/** Members of a virtual column that tell other engines how to compute it. */
type ForeignMember = "image" | "udf" | "udfBackend" | "manifest" | "manifestChecksum";
const VIRTUAL = one<schemas.VirtualColumn & Record<ForeignMember, unknown>>(
  values("udfName udfVersion inputColumns fieldMetadata image udf udfBackend manifest", "manifestChecksum"),
);

/** The answer of an operation that started a job may be passed on as the request about that job. */
const STARTED: Rules = values("transactionId");

export const OPERATIONS = {
  // ------------------------------------------------------------------------------------- namespaces
  createNamespace: changing<namespaces.CreateNamespaceRequest>()(values("mode properties")),
  describeNamespace: describing<namespaces.DescribeNamespaceRequest>()({}),
  listNamespaces: describing<namespaces.ListNamespacesRequest>()(values("pageToken limit")),
  namespaceExists: describing<namespaces.NamespaceExistsRequest>()({}),
  dropNamespace: changing<namespaces.DropNamespaceRequest>()(values("mode behavior")),
  // ----------------------------------------------------------------------------------------- tables
  declareTable: changing<tables.DeclareTableRequest>()(DECLARED),
  createTable: changing<tables.CreateTableRequest>()(
    values(
      "maxBatchBytes maxRows memory onProgress mode properties stableRowIds schema",
      "storageOptions vendCredentials",
    ),
    { takesRows: true },
  ),
  tableExists: reading<tables.TableExistsRequest>()(values("branch version tag")),
  describeTable: describing<tables.DescribeTableRequest>()(
    values("branch version tag withTableUri loadDetailedMetadata checkDeclared vendCredentials"),
  ),
  dropTable: changing<tables.DropTableRequest>()({}),
  listTables: describing<tables.ListTablesRequest>()(values("pageToken limit includeDeclared")),
  listAllTables: describing<tables.ListAllTablesRequest>()(values("pageToken limit includeDeclared")),
  registerTable: changing<tables.RegisterTableRequest>()(values("location mode properties")),
  deregisterTable: changing<tables.DeregisterTableRequest>()({}),
  renameTable: changing<tables.RenameTableRequest>()(values("newTableName newNamespaceId")),
  getTableStats: describing<tables.GetTableStatsRequest>()(values("branch version tag onProgress")),
  restoreTable: changing<tables.RestoreTableRequest>()(values("version branch")),
  // ------------------------------------------------------------------------------------------- rows
  insertIntoTable: changing<rows.InsertIntoTableRequest>()(
    values("branch maxBatchBytes maxRows memory onProgress mode schema"),
    { takesRows: true },
  ),
  deleteFromTable: changing<rows.DeleteFromTableRequest>()(values("branch onProgress predicate params")),
  updateTable: changing<rows.UpdateTableRequest>()(
    values("branch updates values predicate params properties onProgress"),
  ),
  mergeInsertIntoTable: changing<rows.MergeInsertIntoTableRequest>()(
    values(
      "branch maxBatchBytes maxRows memory onProgress on whenMatchedUpdateAll",
      "whenMatchedUpdateAllFilt whenNotMatchedInsertAll whenNotMatchedBySourceDelete",
      "whenNotMatchedBySourceDeleteFilt params timeout useIndex",
    ),
    { takesRows: true },
  ),
  queryTable: reading<queries.QueryTableRequest>()(QUERY),
  takeRows: reading<queries.TakeRowsRequest>()(
    { ...values("branch version tag rowOffsets"), columns },
    { authorizedAs: "queryTable" },
  ),
  takeBlobs: reading<queries.TakeBlobsRequest>()(values("branch version tag column rowOffsets"), {
    authorizedAs: "queryTable",
  }),
  countTableRows: reading<queries.CountTableRowsRequest>()(
    values("branch version tag onProgress predicate params useScalarIndex"),
  ),
  explainTableQueryPlan: describing<queries.ExplainTableQueryPlanRequest>()({
    ...values("branch verbose format"),
    query: one<Omit<queries.QueryTableRequest, keyof TableRequest>>(QUERY),
  }),
  analyzeTableQueryPlan: describing<queries.AnalyzeTableQueryPlanRequest>()({
    ...values("format"),
    ...QUERY,
  }),
  // ----------------------------------------------------------------------------------------- upkeep
  optimizeTable: upkeepOf<upkeep.OptimizeTableRequest>()(
    values(
      "branch background onProgress targetRowsPerFragment materializeDeletions",
      "materializeDeletionsThreshold",
    ),
  ),
  cleanupTable: upkeepOf<upkeep.CleanupTableRequest>()(
    values("branch background onProgress olderThanMs retainVersions deleteUnverified errorIfTagged"),
  ),
  // --------------------------------------------------------------------------------------- versions
  createTableVersion: changing<versions.CreateTableVersionRequest>()(STAGED),
  describeTableVersion: describing<versions.DescribeTableVersionRequest>()(
    values("version branch unregisteredBranch"),
  ),
  batchCreateTableVersions: changing<versions.BatchCreateTableVersionsRequest>()({
    entries: each<versions.CreateTableVersionEntry>({ ...values("id"), ...STAGED }),
  }),
  batchDeleteTableVersions: changing<versions.BatchDeleteTableVersionsRequest>()({
    ...values("branch"),
    ranges: RANGES,
  }),
  batchCommitTables: changing<versions.BatchCommitTablesRequest>()({
    operations: each<versions.BatchCommitOperation>({
      declareTable: one<tables.DeclareTableRequest>({ ...COMMON_MEMBERS, ...DECLARED }),
      createTableVersion: one<versions.CreateTableVersionEntry>({ ...values("id"), ...STAGED }),
      deleteTableVersions: one<versions.DeleteTableVersionsEntry>({ ...values("branch id"), ranges: RANGES }),
      deregisterTable: one<tables.DeregisterTableRequest>(COMMON_MEMBERS),
    }),
  }),
  listTableVersions: describing<versions.ListTableVersionsRequest>()(
    values("branch pageToken limit unregisteredBranch descending"),
  ),
  // --------------------------------------------------------------------------------------- branches
  createTableBranch: changing<branches.CreateTableBranchRequest>()(
    values("name fromBranch fromVersion fromTag"),
  ),
  listTableBranches: describing<branches.ListTableBranchesRequest>()(values("pageToken limit")),
  deleteTableBranch: changing<branches.DeleteTableBranchRequest>()(values("name")),
  // ------------------------------------------------------------------------------------------- tags
  createTableTag: changing<tags.CreateTableTagRequest>()(values("version branch tag")),
  listTableTags: describing<tags.ListTableTagsRequest>()(values("pageToken limit")),
  getTableTagVersion: describing<tags.GetTableTagVersionRequest>()(values("tag")),
  updateTableTag: changing<tags.UpdateTableTagRequest>()(values("version branch tag")),
  deleteTableTag: changing<tags.DeleteTableTagRequest>()(values("tag")),
  // ----------------------------------------------------------------------------------------- schema
  updateFieldMetadata: changing<schemas.UpdateFieldMetadataRequest>()({
    ...values("branch"),
    updates: each<schemas.FieldMetadataUpdate>(values("path metadata replace")),
  }),
  updateTableSchemaMetadata: changing<schemas.UpdateTableSchemaMetadataRequest>()(values("branch metadata")),
  alterTableAddColumns: changing<schemas.AlterTableAddColumnsRequest>()({
    ...values("branch onProgress"),
    newColumns: each<schemas.NewColumn>({
      ...values("name expression dataType metadata computed"),
      virtualColumn: VIRTUAL,
    }),
  }),
  alterTableAlterColumns: changing<schemas.AlterTableAlterColumnsRequest>()({
    ...values("branch onProgress"),
    alterations: each<schemas.ColumnAlteration>(values("path rename nullable dataType virtualColumn")),
  }),
  alterTableDropColumns: changing<schemas.AlterTableDropColumnsRequest>()(values("branch columns")),
  alterTableBackfillColumns: upkeepOf<schemas.AlterTableBackfillColumnsRequest>()(
    values(
      "branch onProgress column where concurrency cluster intraApplierConcurrency",
      "checkpointSize minCheckpointSize maxCheckpointSize batchCheckpointFlushIntervalSeconds",
      "readVersion taskSize numFrags commitGranularity manifest",
    ),
  ),
  runBackfillTask: upkeepOf<clusters.RunBackfillTaskRequest>()(
    values(
      "branch version onProgress taskId jobId column where fragmentId firstRow lastRow rows",
      "meaning content key checkpointSize minCheckpointSize intraApplierConcurrency",
      "batchCheckpointFlushIntervalSeconds",
    ),
    { authorizedAs: "alterTableBackfillColumns" },
  ),
  describeComputedColumns: describing<schemas.DescribeComputedColumnsRequest>()(
    values("branch version tag onProgress"),
    { authorizedAs: "describeTable" },
  ),
  // ----------------------------------------------------------------------------------- transactions
  describeTransaction: describing<transactions.DescribeTransactionRequest>()({}, { namesJob: true }),
  alterTransaction: upkeepOf<transactions.AlterTransactionRequest>()(values("actions"), { namesJob: true }),
  // ------------------------------------------------------------------------------------------- jobs
  describeJob: describing<jobs.JobRequest>()(values("jobId"), { namesJob: true, ignored: STARTED }),
  listJobs: describing<jobs.ListJobsRequest>()(values("state"), { namesJob: true }),
  cancelJob: upkeepOf<jobs.JobRequest>()(values("jobId"), { namesJob: true, ignored: STARTED }),
  waitForJob: upkeepOf<jobs.WaitForJobRequest>()(values("jobId timeoutMs onProgress"), {
    namesJob: true,
    ignored: STARTED,
  }),
  // ---------------------------------------------------------------------------------------- indexes
  createTableIndex: upkeepOf<indexes.CreateTableIndexRequest>()(INDEX),
  createTableScalarIndex: upkeepOf<indexes.CreateTableIndexRequest>()(INDEX),
  listTableIndices: describing<indexes.ListTableIndicesRequest>()(values("branch version pageToken limit")),
  describeTableIndexStats: describing<indexes.DescribeTableIndexStatsRequest>()(
    values("branch version indexName"),
  ),
  dropTableIndex: upkeepOf<indexes.DropTableIndexRequest>()(values("branch indexName")),
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
