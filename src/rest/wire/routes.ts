/**
 * The table of routes: method, path and answer of each operation on the wire. The members of requests follow
 * the table of operations. The handler and the OpenAPI document follow this table and know no operation by
 * name.
 */

import { z } from "zod";
import { recordOf } from "../../operationTable.js";
import { jsonMap, jsonValues } from "./members.js";
import { GET, ofNamespace, ofTable, POST_OR_GET, type Route, route } from "./route.js";
import * as shape from "./shapes.js";

const namedIndex = { name: shape.text.nullish().describe("Default: a name made from the column") };

const keyMember = {
  on: z
    .union([shape.text.min(1), z.array(shape.text.min(1)).min(1)])
    .nullish()
    .describe("Columns that identify a row; default: stable row ids"),
};

/** Result of one part of a batch. */
const batchResult = z.object({
  declare_table: shape.declaredTable.optional(),
  create_table_version: z
    .object({ transaction_id: shape.text.optional(), version: shape.tableVersion })
    .optional(),
  delete_table_versions: z
    .object({ transaction_id: shape.text.optional(), deleted_count: shape.count })
    .optional(),
  deregister_table: shape.removedTable.optional(),
});

export const ROUTES: readonly Route[] = [
  // -------------------------------------------------------------------------------- namespaces
  ofNamespace("createNamespace", "create", "Create a namespace", {
    answer: shape.changeAnswer({ properties: shape.stringMap }),
  }),
  ofNamespace("listNamespaces", "list", "List the child namespaces of a namespace", {
    methods: GET,
    answer: z.object({ namespaces: z.array(shape.text), page_token: shape.pageToken }),
  }),
  ofNamespace("describeNamespace", "describe", "Describe a namespace", {
    answer: z.object({ properties: shape.stringMap }),
  }),
  ofNamespace("dropNamespace", "drop", "Drop a namespace", {
    answer: z.object({
      properties: shape.stringMap.optional(),
      transaction_id: z.array(shape.text).optional(),
    }),
  }),
  ofNamespace("namespaceExists", "exists", "Check that a namespace exists", { answer: "nothing" }),
  ofNamespace("listTables", "table/list", "List the tables of a namespace", {
    methods: GET,
    answer: z.object({ tables: z.array(shape.text), page_token: shape.pageToken }),
  }),
  route("listAllTables", "/v1/table", "List the tables of all namespaces", {
    methods: GET,
    answer: z.object({ tables: z.array(shape.text), page_token: shape.pageToken }),
  }),
  // -------------------------------------------------------------------------------- tables
  ofTable("declareTable", "declare", "Reserve a table's name without data", { answer: shape.declaredTable }),
  ofTable("createTable", "create", "Create a table from rows", {
    members: { properties: jsonMap },
    answer: shape.changeAnswer({
      location: shape.text,
      version: shape.version,
      num_inserted_rows: shape.count,
      properties: shape.stringMap,
      storage_options: shape.storageOptions,
    }),
  }),
  ofTable("cloneTable", "clone", "Create a table from a version of another, without copying files", {
    members: { from: z.union([shape.text, shape.id]).describe("Table whose version is cloned") },
    answer: shape.changeAnswer({
      location: shape.text,
      version: shape.version,
      properties: shape.stringMap,
    }),
  }),
  ofTable("registerTable", "register", "Give an id to an existing table directory", {
    members: { location: shape.text.min(1).describe("Directory relative to the root of the namespace") },
    answer: shape.changeAnswer({ location: shape.text, properties: shape.stringMap }),
  }),
  ofTable("deregisterTable", "deregister", "Take the id from a table and keep its data", {
    answer: shape.removedTable,
  }),
  ofTable("describeTable", "describe", "Describe a table", {
    inEither: ["with_table_uri", "load_detailed_metadata", "check_declared"],
    answer: shape.describedTable,
  }),
  ofTable("tableExists", "exists", "Check that a table exists", { answer: "nothing" }),
  ofTable("renameTable", "rename", "Give a table another name or namespace", {
    answer: shape.transactionAnswer,
  }),
  ofTable("dropTable", "drop", "Remove a table with its data", { answer: shape.removedTable }),
  ofTable("getTableStats", "stats", "Read the statistics of a table", {
    methods: POST_OR_GET,
    answer: shape.tableStats,
  }),
  ofTable("verifyTable", "verify", "Look for damage in files and indexes", { answer: shape.verifiedTable }),
  ofTable("describeTableFile", "file/describe", "Describe the columns and pages of a file", {
    members: { path: shape.text.min(1).describe("data/<file> or _indices/<uuid>/<file>") },
    answer: shape.describedFile,
  }),
  ofTable("describeTableStorage", "storage", "Describe what takes the space of a version", {
    answer: shape.tableStorage,
  }),
  ofTable("restoreTable", "restore", "Restore the content of an older version", {
    answer: shape.changeAnswer({ version: shape.version.optional() }),
  }),
  // -------------------------------------------------------------------------------- rows
  ofTable("insertIntoTable", "insert", "Add rows, or replace all rows", {
    answer: shape.changeAnswer({ version: shape.version, num_inserted_rows: shape.count }),
  }),
  ofTable("mergeInsertIntoTable", "merge_insert", "Update, insert and delete rows by key", {
    members: { params: jsonValues },
    answer: shape.changeAnswer({
      num_updated_rows: shape.count,
      num_inserted_rows: shape.count,
      num_deleted_rows: shape.count,
      version: shape.version,
    }),
  }),
  ofTable("updateTable", "update", "Set columns of the rows that a predicate selects", {
    answer: shape.changeAnswer({
      updated_rows: shape.count,
      version: shape.version,
      properties: shape.stringMap.optional(),
    }),
  }),
  ofTable("deleteFromTable", "delete", "Remove the rows that a predicate selects", {
    answer: shape.changeAnswer({ version: shape.version, num_deleted_rows: shape.count }),
  }),
  ofTable("queryTable", "query", "Read rows", { answer: "rows" }),
  ofTable("takeTableRows", "take", "Read rows by row id or offset", { answer: "rows" }),
  ofTable("aggregateTable", "aggregate", "Compute aggregate functions of groups of rows", {
    members: {
      values: z
        .record(z.string(), z.string())
        .describe("SQL expressions with aggregate functions, by the names of the resulting columns"),
    },
    answer: "rows",
  }),
  ofTable("countTableRows", "count_rows", "Count rows", {
    methods: POST_OR_GET,
    answer: { bare: shape.count },
  }),
  ofTable("explainTableQueryPlan", "explain_plan", "Show the plan of a query", {
    answer: { bare: shape.text },
  }),
  ofTable("analyzeTableQueryPlan", "analyze_plan", "Run a query and show its measured plan", {
    answer: { bare: shape.text },
  }),
  // -------------------------------------------------------------------------------- versions
  ofTable("createTableVersion", "version/create", "Publish a staged manifest under a free version number", {
    members: { version: shape.version },
    answer: shape.changeAnswer({ version: shape.tableVersion }),
  }),
  ofTable("describeTableVersion", "version/describe", "Describe a version", {
    answer: z.object({ version: shape.tableVersion }),
  }),
  ofTable("listTableVersions", "version/list", "List the versions of a table", {
    methods: POST_OR_GET,
    inEither: ["branch", "page_token", "limit", "descending"],
    answer: z.object({ versions: z.array(shape.tableVersion), page_token: shape.pageToken }),
  }),
  ofTable("migrateManifestNames", "version/migrate_names", "Rename manifests to scheme V2", {
    answer: z.object({ num_renamed: shape.count }),
  }),
  ofTable("diffTableVersions", "diff", "Compare the rows of two versions", {
    answer: "rows",
    members: keyMember,
  }),
  ofTable("watchTable", "watch", "Stream versions as they are committed, as server-sent events", {
    methods: GET,
    members: { from: shape.version.nullish().describe("Last version seen; the header Last-Event-ID wins") },
    answer: { events: shape.tableVersion },
  }),
  ofTable("batchDeleteTableVersions", "version/delete", "Remove versions", {
    answer: shape.changeAnswer({ deleted_count: shape.count }),
  }),
  route(
    "batchCreateTableVersions",
    "/v1/table/version/batch-create",
    "Publish staged manifests of several tables, all or none",
    {
      answer: shape.changeAnswer({ versions: z.array(shape.tableVersion) }),
    },
  ),
  route("batchCommitTables", "/v1/table/batch-commit", "Change several tables, all or none", {
    answer: shape.changeAnswer({ results: z.array(batchResult) }),
  }),
  // -------------------------------------------------------------------------------- branches
  ofTable("createTableBranch", "branches/create", "Start a branch", { answer: shape.transactionAnswer }),
  ofTable("listTableBranches", "branches/list", "List the branches of a table", {
    methods: POST_OR_GET,
    inQuery: ["page_token", "limit"],
    answer: z.object({
      branches: z.record(z.string(), shape.branchContents),
      page_token: shape.pageToken,
    }),
  }),
  ofTable("mergeTableBranch", "branches/merge", "Merge a branch into the one that it was made from", {
    members: keyMember,
    answer: shape.changeAnswer({
      version: shape.version,
      num_inserted_rows: shape.count,
      num_updated_rows: shape.count,
      num_deleted_rows: shape.count,
    }),
  }),
  ofTable("deleteTableBranch", "branches/delete", "Delete a branch", { answer: shape.transactionAnswer }),
  // -------------------------------------------------------------------------------- tags
  ofTable("createTableTag", "tags/create", "Give a version a name", {
    members: { tag: shape.text.min(1), version: shape.version },
    answer: shape.transactionAnswer,
  }),
  ofTable("listTableTags", "tags/list", "List the tags of a table", {
    methods: POST_OR_GET,
    inQuery: ["page_token", "limit"],
    answer: z.object({ tags: z.record(z.string(), shape.tagContents), page_token: shape.pageToken }),
  }),
  ofTable("getTableTagVersion", "tags/version", "Find the version that a tag names", {
    members: { tag: shape.text.min(1) },
    answer: z.object({ version: shape.version, branch: shape.text.optional() }),
  }),
  ofTable("updateTableTag", "tags/update", "Move a tag to another version", {
    members: { tag: shape.text.min(1), version: shape.version },
    answer: shape.transactionAnswer,
  }),
  ofTable("deleteTableTag", "tags/delete", "Remove a tag", {
    members: { tag: shape.text.min(1) },
    answer: shape.transactionAnswer,
  }),
  // -------------------------------------------------------------------------------- schema
  ofTable("updateFieldMetadata", "update_field_metadata", "Change the metadata of fields", {
    members: {
      updates: z.array(
        z.object({
          path: shape.text.min(1),
          metadata: z.record(z.string(), z.string().nullable()).describe("A null value deletes the key"),
          replace: shape.flag,
        }),
      ),
    },
    answer: shape.changeAnswer({ version: shape.version, fields: z.record(z.string(), shape.stringMap) }),
  }),
  ofTable("updateTableSchemaMetadata", "schema_metadata/update", "Replace the metadata of the schema", {
    body: { member: "metadata", schema: shape.stringMap },
    answer: { member: "metadata", schema: shape.stringMap },
  }),
  ofTable("alterTableAddColumns", "add_columns", "Add columns", { answer: shape.versionAnswer }),
  ofTable("alterTableAlterColumns", "alter_columns", "Rename columns, or change their type or nullability", {
    answer: shape.versionAnswer,
  }),
  ofTable("alterTableDropColumns", "drop_columns", "Drop columns", {
    members: { columns: z.array(shape.text.min(1)).min(1) },
    answer: shape.versionAnswer,
  }),
  ofTable("alterTableBackfillColumns", "backfill_column", "Fill a computed column", {
    answer: z.object({ job_id: shape.text }),
    status: 202,
  }),
  ofTable(
    "describeComputedColumns",
    "computed_columns/describe",
    "List the computed columns, and the fragments with rows without a value",
    {
      answer: z.object({ columns: z.array(shape.computedColumn) }),
    },
  ),
  // -------------------------------------------------------------------------------- indexes
  ofTable("createTableIndex", "create_index", "Build an index", {
    members: namedIndex,
    answer: shape.changeAnswer({ job_id: shape.text.optional() }),
  }),
  ofTable("createTableScalarIndex", "create_scalar_index", "Build a scalar index", {
    members: namedIndex,
    answer: shape.changeAnswer({ job_id: shape.text.optional() }),
  }),
  ofTable("listTableIndices", "index/list", "List the indexes of a table", {
    answer: z.object({ indexes: z.array(shape.indexRecord), page_token: shape.pageToken }),
  }),
  ofTable("describeTableIndexStats", "index/{index_name}/stats", "Read the statistics of an index", {
    methods: POST_OR_GET,
    members: { index_name: shape.text.nullish() },
    answer: shape.indexStats,
  }),
  route("tokenize", "/v1/tokenize", "Cut a text into tokens", {
    takesBodyId: true,
    members: { column: shape.text.nullish() },
    answer: { bare: z.array(z.object({ text: shape.text, position: shape.count })) },
  }),
  ofTable("dropTableIndex", "index/{index_name}/drop", "Drop an index", {
    inQuery: ["branch"],
    answer: shape.transactionAnswer,
  }),
  // -------------------------------------------------------------------------------- transactions
  route("describeTransaction", "/v1/transaction/{id}/describe", "Describe a transaction", {
    answer: z.object({ status: shape.text, properties: shape.stringMap.optional() }),
  }),
  route("alterTransaction", "/v1/transaction/{id}/alter", "Change a transaction's status or properties", {
    answer: z.object({ status: shape.text, properties: shape.stringMap.optional() }),
  }),
  // -------------------------------------------------------------------------------- upkeep, jobs
  ofTable("cleanupTable", "cleanup", "Remove old versions and unneeded files", {
    answer: z.object({
      job_id: shape.startedJob,
      ...recordOf(
        shape.count.optional(),
        "bytes_removed versions_removed files_removed data_files_removed deletion_files_removed",
        "transaction_files_removed index_files_removed",
      ),
    }),
  }),
  ofTable("configureCleanup", "configure_cleanup", "Set when commits of a table clean up", {
    answer: shape.changeAnswer({
      version: shape.version,
      ...shape.cleanupRule,
    }),
  }),
  ofTable("configureLsmWrites", "configure_lsm_writes", "Set how LanceDB's writers keep logs of a table", {
    answer: shape.changeAnswer({ version: shape.version, spec: shape.lsmWriteSpec.optional() }),
  }),
  ofTable("configureUpkeep", "configure_upkeep", "Set when upkeep of a table begins", {
    answer: shape.changeAnswer({ version: shape.version, ...shape.upkeepThresholds }),
  }),
  ofTable("optimizeTable", "optimize", "Merge small fragments and drop deleted rows from files", {
    answer: z.object({
      job_id: shape.startedJob,
      transaction_id: shape.text.optional(),
      version: shape.version.optional(),
      ...recordOf(
        shape.count.optional(),
        "fragments_removed fragments_added files_removed files_added indexed_fragments_left indexes_updated",
      ),
    }),
  }),
  route("describeJob", "/v1/job/{job_id}/describe", "Describe a job", {
    methods: POST_OR_GET,
    answer: shape.job,
  }),
  route("waitForJob", "/v1/job/{job_id}/wait", "Wait for the end of a job, or for the timeout", {
    answer: shape.job,
  }),
  route("cancelJob", "/v1/job/{job_id}/cancel", "Cancel a job", { answer: shape.job }),
  route("listJobs", "/v1/job/list", "List the jobs of a table, or of all tables", {
    takesBodyId: true,
    answer: z.object({ jobs: z.array(shape.job) }),
  }),
];
