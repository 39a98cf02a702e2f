/**
 * The members that requests may have, in one table: a misspelt one would silently mean its default, and a query with
 * `where` in place of `filter` would return every row. The table is tied to the types of requests when it is compiled: a
 * member that is in one of them only is an error.
 */

import { InvalidInputError } from "./errors.js";
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
import { isObject, shortly, unknownMember } from "./optionMembers.js";

/** The request of each method that takes one. */
export interface Requests {
  createNamespace: namespaces.CreateNamespaceRequest;
  describeNamespace: namespaces.DescribeNamespaceRequest;
  listNamespaces: namespaces.ListNamespacesRequest;
  namespaceExists: namespaces.NamespaceExistsRequest;
  dropNamespace: namespaces.DropNamespaceRequest;
  declareTable: tables.DeclareTableRequest;
  createTable: tables.CreateTableRequest;
  tableExists: tables.TableExistsRequest;
  describeTable: tables.DescribeTableRequest;
  dropTable: tables.DropTableRequest;
  listTables: tables.ListTablesRequest;
  listAllTables: tables.ListAllTablesRequest;
  registerTable: tables.RegisterTableRequest;
  deregisterTable: tables.DeregisterTableRequest;
  renameTable: tables.RenameTableRequest;
  getTableStats: tables.GetTableStatsRequest;
  restoreTable: tables.RestoreTableRequest;
  insertIntoTable: rows.InsertIntoTableRequest;
  deleteFromTable: rows.DeleteFromTableRequest;
  updateTable: rows.UpdateTableRequest;
  mergeInsertIntoTable: rows.MergeInsertIntoTableRequest;
  queryTable: queries.QueryTableRequest;
  takeRows: queries.TakeRowsRequest;
  takeBlobs: queries.TakeBlobsRequest;
  countTableRows: queries.CountTableRowsRequest;
  explainTableQueryPlan: queries.ExplainTableQueryPlanRequest;
  analyzeTableQueryPlan: queries.AnalyzeTableQueryPlanRequest;
  optimizeTable: upkeep.OptimizeTableRequest;
  cleanupTable: upkeep.CleanupTableRequest;
  createTableVersion: versions.CreateTableVersionRequest;
  describeTableVersion: versions.DescribeTableVersionRequest;
  batchCreateTableVersions: versions.BatchCreateTableVersionsRequest;
  batchDeleteTableVersions: versions.BatchDeleteTableVersionsRequest;
  batchCommitTables: versions.BatchCommitTablesRequest;
  listTableVersions: versions.ListTableVersionsRequest;
  createTableBranch: branches.CreateTableBranchRequest;
  listTableBranches: branches.ListTableBranchesRequest;
  deleteTableBranch: branches.DeleteTableBranchRequest;
  createTableTag: tags.CreateTableTagRequest;
  listTableTags: tags.ListTableTagsRequest;
  getTableTagVersion: tags.GetTableTagVersionRequest;
  updateTableTag: tags.UpdateTableTagRequest;
  deleteTableTag: tags.DeleteTableTagRequest;
  updateFieldMetadata: schemas.UpdateFieldMetadataRequest;
  updateTableSchemaMetadata: schemas.UpdateTableSchemaMetadataRequest;
  alterTableAddColumns: schemas.AlterTableAddColumnsRequest;
  alterTableAlterColumns: schemas.AlterTableAlterColumnsRequest;
  alterTableDropColumns: schemas.AlterTableDropColumnsRequest;
  alterTableBackfillColumns: schemas.AlterTableBackfillColumnsRequest;
  runBackfillTask: clusters.RunBackfillTaskRequest;
  describeComputedColumns: schemas.DescribeComputedColumnsRequest;
  describeTransaction: transactions.DescribeTransactionRequest;
  alterTransaction: transactions.AlterTransactionRequest;
  describeJob: jobs.JobRequest;
  listJobs: jobs.ListJobsRequest;
  cancelJob: jobs.JobRequest;
  waitForJob: jobs.WaitForJobRequest;
  createTableIndex: indexes.CreateTableIndexRequest;
  createTableScalarIndex: indexes.CreateTableIndexRequest;
  listTableIndices: indexes.ListTableIndicesRequest;
  describeTableIndexStats: indexes.DescribeTableIndexStatsRequest;
  dropTableIndex: indexes.DropTableIndexRequest;
}

/** What a member holds: a value, an object of known members, or a list of these. */
type Rule = "value" | { readonly members: Rules; readonly isList: boolean };
type Rules = Readonly<Record<string, Rule>>;

/** The members of an object, or of any of its forms. */
type NamesOf<Given> = Given extends unknown ? keyof Given & string : never;
type RulesOf<Given, Without extends PropertyKey = never> = Readonly<
  Record<Exclude<NamesOf<Given>, Without>, Rule>
>;

const value = "value";
const one = <Given extends object>(members: RulesOf<Given>): Rule => ({ members, isList: false });
const each = <Given extends object>(members: RulesOf<Given>): Rule => ({ members, isList: true });

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

const BASE: RulesOf<RequestBase> = {
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
  ...{
    upperBound: value,
    fullTextQuery: value,
    highlight: value,
    rerank: value,
    minimumNprobes: value,
    maximumNprobes: value,
  },
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

/** Members of a virtual column that describe how other engines compute it. */
type ForeignMember = "image" | "udf" | "udfBackend" | "manifest" | "manifestChecksum";
const VIRTUAL = one<schemas.VirtualColumn & Record<ForeignMember, unknown>>({
  ...{ udfName: value, udfVersion: value, inputColumns: value, fieldMetadata: value },
  ...{ image: value, udf: value, udfBackend: value, manifest: value, manifestChecksum: value },
});

/** Besides those that every request may have. */
const REQUESTS: { readonly [Method in keyof Requests]: RulesOf<Requests[Method], keyof RequestBase> } = {
  createNamespace: { mode: value, properties: value },
  describeNamespace: {},
  listNamespaces: page,
  namespaceExists: {},
  dropNamespace: { mode: value, behavior: value },
  declareTable: DECLARED,
  createTable: {
    ...{ mode: value, properties: value, stableRowIds: value, schema: value, ...input },
    ...{ storageOptions: value, vendCredentials: value },
  },
  tableExists: read,
  describeTable: {
    ...read,
    ...{ withTableUri: value, loadDetailedMetadata: value, checkDeclared: value, vendCredentials: value },
  },
  dropTable: {},
  listTables: { ...page, includeDeclared: value },
  listAllTables: { ...page, includeDeclared: value },
  registerTable: { location: value, mode: value, properties: value },
  deregisterTable: {},
  renameTable: { newTableName: value, newNamespaceId: value },
  getTableStats: { ...read, ...progress },
  restoreTable: { ...version, ...branch },
  insertIntoTable: { ...branch, mode: value, schema: value, ...input },
  deleteFromTable: { ...branch, predicate: value, params: value, ...progress },
  updateTable: {
    ...{ ...branch, updates: value, values: value, predicate: value, params: value, properties: value },
    ...progress,
  },
  mergeInsertIntoTable: {
    ...{ ...branch, on: value, whenMatchedUpdateAll: value, whenMatchedUpdateAllFilt: value },
    ...{ whenNotMatchedInsertAll: value, whenNotMatchedBySourceDelete: value },
    ...{ whenNotMatchedBySourceDeleteFilt: value, params: value, timeout: value, useIndex: value },
    ...input,
  },
  queryTable: QUERY,
  takeRows: { ...read, rowOffsets: value, columns },
  takeBlobs: { ...read, column: value, rowOffsets: value },
  countTableRows: { ...read, ...progress, predicate: value, params: value, useScalarIndex: value },
  explainTableQueryPlan: {
    ...branch,
    query: one<Omit<queries.QueryTableRequest, keyof TableRequest>>(QUERY),
    verbose: value,
    format: value,
  },
  analyzeTableQueryPlan: { ...QUERY, format: value },
  optimizeTable: {
    ...{ ...branch, ...background, targetRowsPerFragment: value, materializeDeletions: value },
    materializeDeletionsThreshold: value,
  },
  cleanupTable: {
    ...{ ...branch, ...background, olderThanMs: value, retainVersions: value, deleteUnverified: value },
    errorIfTagged: value,
  },
  createTableVersion: STAGED,
  describeTableVersion: { ...version, ...branch, unregisteredBranch: value },
  batchCreateTableVersions: {
    entries: each<versions.CreateTableVersionEntry>({ id: value, ...STAGED }),
  },
  batchDeleteTableVersions: { ...branch, ranges: RANGES },
  batchCommitTables: {
    operations: each<versions.BatchCommitOperation>({
      declareTable: one<tables.DeclareTableRequest>({ ...BASE, ...DECLARED }),
      createTableVersion: one<versions.CreateTableVersionEntry>({ id: value, ...STAGED }),
      deleteTableVersions: one<versions.DeleteTableVersionsEntry>({ id: value, ...branch, ranges: RANGES }),
      deregisterTable: one<tables.DeregisterTableRequest>(BASE),
    }),
  },
  listTableVersions: { ...branch, ...page, unregisteredBranch: value, descending: value },
  createTableBranch: { name: value, fromBranch: value, fromVersion: value, fromTag: value },
  listTableBranches: page,
  deleteTableBranch: { name: value },
  createTableTag: { tag: value, ...version, ...branch },
  listTableTags: page,
  getTableTagVersion: { tag: value },
  updateTableTag: { tag: value, ...version, ...branch },
  deleteTableTag: { tag: value },
  updateFieldMetadata: {
    ...branch,
    updates: each<schemas.FieldMetadataUpdate>({ path: value, metadata: value, replace: value }),
  },
  updateTableSchemaMetadata: { ...branch, metadata: value },
  alterTableAddColumns: {
    ...branch,
    ...progress,
    newColumns: each<schemas.NewColumn>({
      ...{ name: value, expression: value, dataType: value, metadata: value, computed: value },
      virtualColumn: VIRTUAL,
    }),
  },
  alterTableAlterColumns: {
    ...branch,
    ...progress,
    alterations: each<schemas.ColumnAlteration>({
      ...{ path: value, rename: value, nullable: value, dataType: value, virtualColumn: value },
    }),
  },
  alterTableDropColumns: { ...branch, columns: value },
  alterTableBackfillColumns: {
    ...{ ...branch, ...progress, column: value, where: value, concurrency: value, cluster: value },
    ...{ intraApplierConcurrency: value, checkpointSize: value, minCheckpointSize: value },
    ...{ maxCheckpointSize: value, batchCheckpointFlushIntervalSeconds: value, readVersion: value },
    ...{ taskSize: value, numFrags: value, commitGranularity: value, manifest: value },
  },
  runBackfillTask: {
    ...{ ...branch, ...version, ...progress, taskId: value, jobId: value, column: value, where: value },
    ...{ fragmentId: value, firstRow: value, lastRow: value, rows: value, meaning: value, content: value },
    ...{ key: value, checkpointSize: value, minCheckpointSize: value, intraApplierConcurrency: value },
    ...{ batchCheckpointFlushIntervalSeconds: value },
  },
  describeComputedColumns: { ...read, ...progress },
  describeTransaction: {},
  alterTransaction: { actions: value },
  describeJob: { jobId: value },
  listJobs: { state: value },
  cancelJob: { jobId: value },
  waitForJob: { jobId: value, timeoutMs: value, onProgress: value },
  createTableIndex: INDEX,
  createTableScalarIndex: INDEX,
  listTableIndices: { ...branch, ...version, ...page },
  describeTableIndexStats: { ...branch, ...version, indexName: value },
  dropTableIndex: { ...branch, indexName: value },
};

/** Names of all members that requests of a method may have. */
export const requestMembers = (method: keyof Requests): readonly string[] => [
  ...Object.keys(BASE),
  ...Object.keys(REQUESTS[method]),
];

/** Members that mean nothing: what started a job may be handed on as it was answered. */
const ANSWERED: Partial<Record<keyof Requests, Rules>> = {
  describeJob: { transactionId: value },
  cancelJob: { transactionId: value },
  waitForJob: { transactionId: value },
};

/** Methods whose rows are an argument of their own, and what callers take for a member that holds these. */
const TAKE_ROWS: ReadonlySet<string> = new Set(["createTable", "insertIntoTable", "mergeInsertIntoTable"]);
const ROWS: ReadonlySet<string> = new Set(["data", "rows", "records"]);

/**
 * Checks that a request is an object of members that it may have. One that is undefined counts as absent.
 * @throws InvalidInputError naming the first that it may not have, and the one that was meant
 */
export function checkRequestMembers(method: keyof Requests, request: unknown): void {
  if (!isObject(request)) {
    const shown = typeof request === "string" ? JSON.stringify(request.slice(0, 80)) : '"t"';
    const member = Object.hasOwn(REQUESTS[method], "jobId") ? "jobId" : "id";
    const more = TAKE_ROWS.has(method) ? ", rows" : "";
    throw new InvalidInputError(
      `${method}: a request object is needed, as in ${method}({ ${member}: ${shown} }${more}), not ${shortly(request)}`,
    );
  }
  if (TAKE_ROWS.has(method)) {
    const given = Object.keys(request).find((member) => ROWS.has(member));
    if (given !== undefined) {
      throw new InvalidInputError(
        `${given}: there is no such member of ${method}; the rows are its second argument`,
      );
    }
  }
  checkAgainst(rulesOf(method), request, "", `member of ${method}`);
  const { signal } = request as { readonly signal?: unknown };
  if (signal !== undefined && signal !== null && !isSignal(signal)) {
    throw new InvalidInputError(`signal: must be an AbortSignal, not ${shortly(signal)}`);
  }
}

const knownRules = new Map<keyof Requests, Rules>();

/** What is checked for every call is put together once. */
function rulesOf(method: keyof Requests): Rules {
  let rules = knownRules.get(method);
  if (rules === undefined) {
    rules = { ...BASE, ...REQUESTS[method], ...ANSWERED[method] };
    knownRules.set(method, rules);
  }
  return rules;
}

/** Whether it can be asked and listened to as a signal, of whichever realm. */
const isSignal = (value: unknown): boolean =>
  isObject(value) &&
  typeof (value as unknown as Partial<AbortSignal>).throwIfAborted === "function" &&
  typeof (value as unknown as Partial<AbortSignal>).addEventListener === "function";

function checkAgainst(rules: Rules, given: object, prefix: string, noun: string): void {
  for (const member of Object.keys(given)) {
    const rule = Object.hasOwn(rules, member) ? rules[member] : undefined;
    // Values are read where they are used, and only there: what is authorised is what is done.
    if (rule === "value") continue;
    const held: unknown = (given as Readonly<Record<string, unknown>>)[member];
    if (held === undefined) continue;
    const label = prefix + member;
    if (rule === undefined) throw unknownMember(label, member, Object.keys(rules), noun);
    // What is no object, or no list, the operation refuses.
    if (!rule.isList && isObject(held)) checkAgainst(rule.members, held, `${label}.`, `member of ${label}`);
    if (!rule.isList || !Array.isArray(held)) continue;
    for (const [index, entry] of held.entries()) {
      const location = `${label}[${index}]`;
      if (isObject(entry)) checkAgainst(rule.members, entry, `${location}.`, `member of ${location}`);
    }
  }
}
