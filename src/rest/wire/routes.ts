/**
 * The table of routes: method, path and answer of each operation on the wire. The members of requests follow
 * the table of operations. The handler and the OpenAPI document follow this table and know no operation by
 * name.
 */

import { z } from "zod";
import { jsonMap } from "./members.js";
import { GET, namespacePath, POST, POST_OR_GET, type Route, route, tablePath } from "./route.js";
import * as shape from "./shapes.js";

const namedIndex = { name: shape.text.nullish().describe("Default: a name made from the column") };

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
  route("createNamespace", POST, namespacePath("create"), {
    summary: "Create a namespace",
    answer: shape.changeAnswer({ properties: shape.stringMap }),
  }),
  route("listNamespaces", GET, namespacePath("list"), {
    summary: "List the child namespaces of a namespace",
    answer: z.object({ namespaces: z.array(shape.text), page_token: shape.pageToken }),
  }),
  route("describeNamespace", POST, namespacePath("describe"), {
    summary: "Describe a namespace",
    answer: z.object({ properties: shape.stringMap }),
  }),
  route("dropNamespace", POST, namespacePath("drop"), {
    summary: "Drop a namespace",
    answer: z.object({
      properties: shape.stringMap.optional(),
      transaction_id: z.array(shape.text).optional(),
    }),
  }),
  route("namespaceExists", POST, namespacePath("exists"), {
    summary: "Check that a namespace exists",
    answer: "nothing",
  }),
  route("listTables", GET, namespacePath("table/list"), {
    summary: "List the tables of a namespace",
    answer: z.object({ tables: z.array(shape.text), page_token: shape.pageToken }),
  }),
  route("listAllTables", GET, "/v1/table", {
    summary: "List the tables of all namespaces",
    answer: z.object({ tables: z.array(shape.text), page_token: shape.pageToken }),
  }),
  // -------------------------------------------------------------------------------- tables
  route("declareTable", POST, tablePath("declare"), {
    summary: "Reserve a table's name without data",
    answer: shape.declaredTable,
  }),
  route("createTable", POST, tablePath("create"), {
    summary: "Create a table from rows",
    members: { properties: jsonMap },
    answer: shape.changeAnswer({
      location: shape.text,
      version: shape.version,
      num_inserted_rows: shape.count,
      properties: shape.stringMap,
      storage_options: shape.storageOptions,
    }),
  }),
  route("registerTable", POST, tablePath("register"), {
    summary: "Give an id to an existing table directory",
    members: { location: shape.text.min(1).describe("Directory relative to the root of the namespace") },
    answer: shape.changeAnswer({ location: shape.text, properties: shape.stringMap }),
  }),
  route("deregisterTable", POST, tablePath("deregister"), {
    summary: "Take the id from a table and keep its data",
    answer: shape.removedTable,
  }),
  route("describeTable", POST, tablePath("describe"), {
    summary: "Describe a table",
    inEither: ["with_table_uri", "load_detailed_metadata", "check_declared"],
    answer: shape.describedTable,
  }),
  route("tableExists", POST, tablePath("exists"), {
    summary: "Check that a table exists",
    answer: "nothing",
  }),
  route("renameTable", POST, tablePath("rename"), {
    summary: "Give a table another name or namespace",
    answer: shape.transactionAnswer,
  }),
  route("dropTable", POST, tablePath("drop"), {
    summary: "Remove a table with its data",
    answer: shape.removedTable,
  }),
  route("getTableStats", POST_OR_GET, tablePath("stats"), {
    summary: "Read the statistics of a table",
    answer: shape.tableStats,
  }),
  route("restoreTable", POST, tablePath("restore"), {
    summary: "Restore the content of an older version",
    members: { version: shape.version },
    answer: shape.changeAnswer({ version: shape.version.optional() }),
  }),
  // -------------------------------------------------------------------------------- rows
  route("insertIntoTable", POST, tablePath("insert"), {
    summary: "Add rows, or replace all rows",
    answer: shape.changeAnswer({ version: shape.version, num_inserted_rows: shape.count }),
  }),
  route("mergeInsertIntoTable", POST, tablePath("merge_insert"), {
    summary: "Update, insert and delete rows by key",
    without: ["params"],
    answer: shape.changeAnswer({
      num_updated_rows: shape.count,
      num_inserted_rows: shape.count,
      num_deleted_rows: shape.count,
      version: shape.version,
    }),
  }),
  route("updateTable", POST, tablePath("update"), {
    summary: "Set columns of the rows that a predicate selects",
    answer: shape.changeAnswer({
      updated_rows: shape.count,
      version: shape.version,
      properties: shape.stringMap.optional(),
    }),
  }),
  route("deleteFromTable", POST, tablePath("delete"), {
    summary: "Remove the rows that a predicate selects",
    members: { predicate: shape.text.min(1) },
    answer: shape.changeAnswer({ version: shape.version, num_deleted_rows: shape.count }),
  }),
  route("queryTable", POST, tablePath("query"), {
    summary: "Read rows",
    answer: "rows",
  }),
  route("countTableRows", POST_OR_GET, tablePath("count_rows"), {
    summary: "Count rows",
    answer: { bare: shape.count },
  }),
  route("explainTableQueryPlan", POST, tablePath("explain_plan"), {
    summary: "Show the plan of a query",
    answer: { bare: shape.text },
  }),
  route("analyzeTableQueryPlan", POST, tablePath("analyze_plan"), {
    summary: "Run a query and show its measured plan",
    answer: { bare: shape.text },
  }),
  // -------------------------------------------------------------------------------- versions
  route("createTableVersion", POST, tablePath("version/create"), {
    summary: "Publish a staged manifest under a free version number",
    members: { version: shape.version },
    answer: shape.changeAnswer({ version: shape.tableVersion }),
  }),
  route("describeTableVersion", POST, tablePath("version/describe"), {
    summary: "Describe a version",
    answer: z.object({ version: shape.tableVersion }),
  }),
  route("listTableVersions", POST_OR_GET, tablePath("version/list"), {
    summary: "List the versions of a table",
    inEither: ["branch", "page_token", "limit", "descending"],
    answer: z.object({ versions: z.array(shape.tableVersion), page_token: shape.pageToken }),
  }),
  route("batchDeleteTableVersions", POST, tablePath("version/delete"), {
    summary: "Remove versions",
    answer: shape.changeAnswer({ deleted_count: shape.count }),
  }),
  route("batchCreateTableVersions", POST, "/v1/table/version/batch-create", {
    summary: "Publish staged manifests of several tables, all or none",
    answer: shape.changeAnswer({ versions: z.array(shape.tableVersion) }),
  }),
  route("batchCommitTables", POST, "/v1/table/batch-commit", {
    summary: "Change several tables, all or none",
    answer: shape.changeAnswer({ results: z.array(batchResult) }),
  }),
  // -------------------------------------------------------------------------------- branches
  route("createTableBranch", POST, tablePath("branches/create"), {
    summary: "Start a branch",
    answer: shape.transactionAnswer,
  }),
  route("listTableBranches", POST_OR_GET, tablePath("branches/list"), {
    summary: "List the branches of a table",
    inQuery: ["page_token", "limit"],
    answer: z.object({
      branches: z.record(z.string(), shape.branchContents),
      page_token: shape.pageToken,
    }),
  }),
  route("deleteTableBranch", POST, tablePath("branches/delete"), {
    summary: "Delete a branch",
    answer: shape.transactionAnswer,
  }),
  // -------------------------------------------------------------------------------- tags
  route("createTableTag", POST, tablePath("tags/create"), {
    summary: "Give a version a name",
    members: { tag: shape.text.min(1), version: shape.version },
    answer: shape.transactionAnswer,
  }),
  route("listTableTags", POST_OR_GET, tablePath("tags/list"), {
    summary: "List the tags of a table",
    inQuery: ["page_token", "limit"],
    answer: z.object({ tags: z.record(z.string(), shape.tagContents), page_token: shape.pageToken }),
  }),
  route("getTableTagVersion", POST, tablePath("tags/version"), {
    summary: "Find the version that a tag names",
    members: { tag: shape.text.min(1) },
    answer: z.object({ version: shape.version, branch: shape.text.optional() }),
  }),
  route("updateTableTag", POST, tablePath("tags/update"), {
    summary: "Move a tag to another version",
    members: { tag: shape.text.min(1), version: shape.version },
    answer: shape.transactionAnswer,
  }),
  route("deleteTableTag", POST, tablePath("tags/delete"), {
    summary: "Remove a tag",
    members: { tag: shape.text.min(1) },
    answer: shape.transactionAnswer,
  }),
  // -------------------------------------------------------------------------------- schema
  route("updateFieldMetadata", POST, tablePath("update_field_metadata"), {
    summary: "Change the metadata of fields",
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
  route("updateTableSchemaMetadata", POST, tablePath("schema_metadata/update"), {
    summary: "Replace the metadata of the schema",
    body: { member: "metadata", schema: shape.stringMap },
    answer: { member: "metadata", schema: shape.stringMap },
  }),
  route("alterTableAddColumns", POST, tablePath("add_columns"), {
    summary: "Add columns",
    answer: shape.versionAnswer,
  }),
  route("alterTableAlterColumns", POST, tablePath("alter_columns"), {
    summary: "Rename columns, or change their type or nullability",
    answer: shape.versionAnswer,
  }),
  route("alterTableDropColumns", POST, tablePath("drop_columns"), {
    summary: "Drop columns",
    members: { columns: z.array(shape.text.min(1)).min(1) },
    answer: shape.versionAnswer,
  }),
  route("alterTableBackfillColumns", POST, tablePath("backfill_column"), {
    summary: "Fill a computed column",
    answer: z.object({ job_id: shape.text }),
    status: 202,
  }),
  route("describeComputedColumns", POST, tablePath("computed_columns/describe"), {
    summary: "List the computed columns, and the fragments with rows without a value",
    answer: z.object({ columns: z.array(shape.computedColumn) }),
  }),
  // -------------------------------------------------------------------------------- indexes
  route("createTableIndex", POST, tablePath("create_index"), {
    summary: "Build an index",
    members: namedIndex,
    answer: shape.changeAnswer({ job_id: shape.text.optional() }),
  }),
  route("createTableScalarIndex", POST, tablePath("create_scalar_index"), {
    summary: "Build a scalar index",
    members: namedIndex,
    answer: shape.changeAnswer({ job_id: shape.text.optional() }),
  }),
  route("listTableIndices", POST, tablePath("index/list"), {
    summary: "List the indexes of a table",
    answer: z.object({ indexes: z.array(shape.indexRecord), page_token: shape.pageToken }),
  }),
  route("describeTableIndexStats", POST_OR_GET, tablePath("index/{index_name}/stats"), {
    summary: "Read the statistics of an index",
    members: { index_name: shape.text.nullish() },
    answer: shape.indexStats,
  }),
  route("dropTableIndex", POST, tablePath("index/{index_name}/drop"), {
    summary: "Drop an index",
    inQuery: ["branch"],
    answer: shape.transactionAnswer,
  }),
  // -------------------------------------------------------------------------------- transactions
  route("describeTransaction", POST, "/v1/transaction/{id}/describe", {
    summary: "Describe a transaction",
    answer: z.object({ status: shape.text, properties: shape.stringMap.optional() }),
  }),
  route("alterTransaction", POST, "/v1/transaction/{id}/alter", {
    summary: "Change a transaction's status or properties",
    answer: z.object({ status: shape.text, properties: shape.stringMap.optional() }),
  }),
  // -------------------------------------------------------------------------------- upkeep, jobs
  route("cleanupTable", POST, tablePath("cleanup"), {
    summary: "Remove old versions and unneeded files",
    answer: z.object({
      job_id: shape.startedJob,
      bytes_removed: shape.count.optional(),
      versions_removed: shape.count.optional(),
      files_removed: shape.count.optional(),
      data_files_removed: shape.count.optional(),
      deletion_files_removed: shape.count.optional(),
      transaction_files_removed: shape.count.optional(),
      index_files_removed: shape.count.optional(),
    }),
  }),
  route("optimizeTable", POST, tablePath("optimize"), {
    summary: "Merge small fragments and drop deleted rows from files",
    answer: z.object({
      job_id: shape.startedJob,
      transaction_id: shape.text.optional(),
      version: shape.version.optional(),
      fragments_removed: shape.count.optional(),
      fragments_added: shape.count.optional(),
      files_removed: shape.count.optional(),
      files_added: shape.count.optional(),
      indexed_fragments_left: shape.count.optional(),
      indexes_updated: shape.count.optional(),
    }),
  }),
  route("describeJob", POST_OR_GET, "/v1/job/{job_id}/describe", {
    summary: "Describe a job",
    answer: shape.job,
  }),
  route("waitForJob", POST, "/v1/job/{job_id}/wait", {
    summary: "Wait for the end of a job, or for the timeout",
    answer: shape.job,
  }),
  route("cancelJob", POST, "/v1/job/{job_id}/cancel", {
    summary: "Cancel a job",
    answer: shape.job,
  }),
  route("listJobs", POST, "/v1/job/list", {
    summary: "List the jobs of a table, or of all tables",
    takesBodyId: true,
    answer: z.object({ jobs: z.array(shape.job) }),
  }),
];
