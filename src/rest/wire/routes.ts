/**
 * Every operation on the wire, in one table: method and path, where the members of its request come from, and what its
 * answer looks like. The handler and the OpenAPI document are made from this table and know no operation by name.
 */

import { z } from "zod";
import { GET, namespacePath, POST, POST_OR_GET, type Route, route, tablePath } from "./route.js";
import * as shape from "./shapes.js";

const flag = z.boolean().nullish();
const dropMode = { mode: shape.mode, behavior: shape.mode };
const listed = { ...shape.page, include_declared: flag };
const listedVersions = { branch: shape.branch, ...shape.page, descending: flag };
const describedMore = { with_table_uri: flag, load_detailed_metadata: flag, check_declared: flag };
const planQuery = z.object(shape.query);

/** A part of a batch. Each has exactly one of the members. */
const batchOperation = z.object({
  declare_table: z
    .object({
      id: shape.id,
      location: shape.text.nullish(),
      properties: shape.stringMap.nullish(),
      vend_credentials: flag,
    })
    .nullish(),
  create_table_version: z.object({ id: shape.id, ...shape.stagedVersion }).nullish(),
  delete_table_versions: z
    .object({ id: shape.id, ranges: z.array(versionRange()), branch: shape.branch })
    .nullish(),
  deregister_table: z.object({ id: shape.id }).nullish(),
});
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

/** From the start, inclusive, to the end, exclusive; an end of -1 stands for the number after the latest. */
function versionRange() {
  return z.object({ start_version: shape.version, end_version: z.int().min(-1) });
}

export const ROUTES: readonly Route[] = [
  // ------------------------------------------------------------------------------------------------ namespaces
  route("createNamespace", POST, namespacePath("create"), {
    summary: "Create a namespace",
    body: { mode: shape.mode, properties: shape.stringMap.nullish() },
    answer: z.object({ transaction_id: shape.text.optional(), properties: shape.stringMap }),
  }),
  route("listNamespaces", GET, namespacePath("list"), {
    summary: "List the namespaces in a namespace",
    query: shape.page,
    answer: z.object({ namespaces: z.array(shape.text), page_token: shape.pageToken }),
  }),
  route("describeNamespace", POST, namespacePath("describe"), {
    summary: "Describe a namespace",
    answer: z.object({ properties: shape.stringMap }),
  }),
  route("dropNamespace", POST, namespacePath("drop"), {
    summary: "Drop a namespace",
    body: dropMode,
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
    summary: "List the tables in a namespace",
    query: listed,
    answer: z.object({ tables: z.array(shape.text), page_token: shape.pageToken }),
  }),
  route("listAllTables", GET, "/v1/table", {
    summary: "List the tables of all namespaces",
    query: listed,
    answer: z.object({ tables: z.array(shape.text), page_token: shape.pageToken }),
  }),
  // ------------------------------------------------------------------------------------------------ tables
  route("declareTable", POST, tablePath("declare"), {
    summary: "Reserve a table's name without data",
    body: { location: shape.text.nullish(), properties: shape.stringMap.nullish(), vend_credentials: flag },
    answer: shape.declaredTable,
  }),
  route("createTable", POST, tablePath("create"), {
    summary: "Make a table of rows",
    query: {
      mode: shape.mode,
      properties: jsonMap(),
      storage_options: jsonMap(),
      vend_credentials: flag,
      stable_row_ids: flag,
    },
    body: "arrow",
    answer: z.object({
      transaction_id: shape.text.optional(),
      location: shape.text,
      version: shape.version,
      num_inserted_rows: shape.count,
      properties: shape.stringMap,
      storage_options: shape.storageOptions,
    }),
  }),
  route("registerTable", POST, tablePath("register"), {
    summary: "Put a table that is already there under an id",
    body: {
      location: shape.text.min(1).describe("Directory below the namespace's"),
      mode: shape.mode,
      properties: shape.stringMap.nullish(),
    },
    answer: z.object({
      transaction_id: shape.text.optional(),
      location: shape.text,
      properties: shape.stringMap,
    }),
  }),
  route("deregisterTable", POST, tablePath("deregister"), {
    summary: "Take the id from a table and keep its data",
    answer: shape.removedTable,
  }),
  route("describeTable", POST, tablePath("describe"), {
    summary: "Describe a table",
    query: describedMore,
    body: {
      ...describedMore,
      version: shape.version.nullish(),
      branch: shape.branch,
      tag: shape.tag,
      vend_credentials: flag,
    },
    answer: shape.describedTable,
  }),
  route("tableExists", POST, tablePath("exists"), {
    summary: "Check that a table exists",
    body: { version: shape.version.nullish(), branch: shape.branch, tag: shape.tag },
    answer: "nothing",
  }),
  route("renameTable", POST, tablePath("rename"), {
    summary: "Give a table another name or namespace",
    body: { new_table_name: shape.text.min(1), new_namespace_id: shape.id.nullish() },
    answer: shape.transactionAnswer,
  }),
  route("dropTable", POST, tablePath("drop"), {
    summary: "Remove a table with its data",
    answer: shape.removedTable,
  }),
  route("getTableStats", POST_OR_GET, tablePath("stats"), {
    summary: "Read the statistics of a table",
    body: { branch: shape.branch, version: shape.version.nullish(), tag: shape.tag },
    answer: shape.tableStats,
  }),
  route("restoreTable", POST, tablePath("restore"), {
    summary: "Make the content of an older version the latest",
    body: { version: shape.version, branch: shape.branch },
    answer: z.object({ transaction_id: shape.text.optional(), version: shape.version.optional() }),
  }),
  // ------------------------------------------------------------------------------------------------ rows
  route("insertIntoTable", POST, tablePath("insert"), {
    summary: "Add rows, or replace all rows",
    query: { branch: shape.branch, mode: shape.mode },
    body: "arrow",
    answer: z.object({
      transaction_id: shape.text.optional(),
      version: shape.version,
      num_inserted_rows: shape.count,
    }),
  }),
  route("mergeInsertIntoTable", POST, tablePath("merge_insert"), {
    summary: "Update and add rows by key",
    query: {
      branch: shape.branch,
      on: z.array(shape.text.min(1)).min(1).describe("Columns of the key"),
      when_matched_update_all: flag,
      when_matched_update_all_filt: shape.text.nullish(),
      when_not_matched_insert_all: flag,
      when_not_matched_by_source_delete: flag,
      when_not_matched_by_source_delete_filt: shape.text.nullish(),
      timeout: shape.text.nullish(),
      use_index: flag,
    },
    body: "arrow",
    answer: z.object({
      transaction_id: shape.text.optional(),
      num_updated_rows: shape.count,
      num_inserted_rows: shape.count,
      num_deleted_rows: shape.count,
      version: shape.version,
    }),
  }),
  route("updateTable", POST, tablePath("update"), {
    summary: "Set columns of the rows that a predicate selects",
    body: {
      updates: z
        .array(z.array(shape.text).length(2))
        .nullish()
        .describe("Paths of columns, each with an SQL expression"),
      values: z.record(z.string(), z.unknown()).nullish().describe("Values by the names of columns"),
      predicate: shape.text.nullish(),
      params: shape.params,
      properties: shape.stringMap.nullish(),
      branch: shape.branch,
    },
    answer: z.object({
      transaction_id: shape.text.optional(),
      updated_rows: shape.count,
      version: shape.version,
      properties: shape.stringMap.optional(),
    }),
  }),
  route("deleteFromTable", POST, tablePath("delete"), {
    summary: "Remove the rows that a predicate selects",
    body: { predicate: shape.text.min(1), params: shape.params, branch: shape.branch },
    answer: z.object({
      transaction_id: shape.text.optional(),
      version: shape.version,
      num_deleted_rows: shape.count,
    }),
  }),
  route("queryTable", POST, tablePath("query"), {
    summary: "Read rows",
    body: shape.query,
    answer: "rows",
  }),
  route("countTableRows", POST_OR_GET, tablePath("count_rows"), {
    summary: "Count rows",
    body: {
      predicate: shape.text.nullish(),
      params: shape.params,
      version: shape.version.nullish(),
      branch: shape.branch,
      tag: shape.tag,
    },
    answer: { bare: shape.count },
  }),
  route("explainTableQueryPlan", POST, tablePath("explain_plan"), {
    summary: "Show how a query would run",
    body: { query: planQuery, verbose: flag, format: shape.mode, branch: shape.branch },
    answer: { bare: shape.text },
  }),
  route("analyzeTableQueryPlan", POST, tablePath("analyze_plan"), {
    summary: "Run a query and show how",
    body: { ...shape.query, format: shape.mode },
    answer: { bare: shape.text },
  }),
  // ------------------------------------------------------------------------------------------------ versions
  route("createTableVersion", POST, tablePath("version/create"), {
    summary: "Publish a staged manifest under a version number that is free",
    body: shape.stagedVersion,
    answer: z.object({ transaction_id: shape.text.optional(), version: shape.tableVersion }),
  }),
  route("describeTableVersion", POST, tablePath("version/describe"), {
    summary: "Describe a version",
    body: { version: shape.version.nullish().describe("Absent: the latest"), branch: shape.branch },
    answer: z.object({ version: shape.tableVersion }),
  }),
  route("listTableVersions", POST_OR_GET, tablePath("version/list"), {
    summary: "List the versions of a table",
    query: listedVersions,
    body: listedVersions,
    answer: z.object({ versions: z.array(shape.tableVersion), page_token: shape.pageToken }),
  }),
  route("batchDeleteTableVersions", POST, tablePath("version/delete"), {
    summary: "Remove versions",
    body: { ranges: z.array(versionRange()).min(1), branch: shape.branch },
    answer: z.object({ transaction_id: shape.text.optional(), deleted_count: shape.count }),
  }),
  route("batchCreateTableVersions", POST, "/v1/table/version/batch-create", {
    summary: "Publish staged manifests of several tables, all or none",
    body: { entries: z.array(z.object({ id: shape.id, ...shape.stagedVersion })).min(1) },
    answer: z.object({ transaction_id: shape.text.optional(), versions: z.array(shape.tableVersion) }),
  }),
  route("batchCommitTables", POST, "/v1/table/batch-commit", {
    summary: "Change several tables, all or none",
    body: { operations: z.array(batchOperation).min(1) },
    answer: z.object({ transaction_id: shape.text.optional(), results: z.array(batchResult) }),
  }),
  // ------------------------------------------------------------------------------------------------ branches
  route("createTableBranch", POST, tablePath("branches/create"), {
    summary: "Start a branch",
    body: {
      name: shape.text.min(1),
      from_branch: shape.text.nullish(),
      from_version: shape.version.nullish(),
      from_tag: shape.text.nullish(),
    },
    answer: shape.transactionAnswer,
  }),
  route("listTableBranches", POST_OR_GET, tablePath("branches/list"), {
    summary: "List the branches of a table",
    query: shape.page,
    answer: z.object({
      branches: z.record(z.string(), shape.branchContents),
      page_token: shape.pageToken,
    }),
  }),
  route("deleteTableBranch", POST, tablePath("branches/delete"), {
    summary: "Delete a branch",
    body: { name: shape.text.min(1) },
    answer: shape.transactionAnswer,
  }),
  // ------------------------------------------------------------------------------------------------ tags
  route("createTableTag", POST, tablePath("tags/create"), {
    summary: "Give a version a name",
    body: { tag: shape.text.min(1), version: shape.version, branch: shape.branch },
    answer: shape.transactionAnswer,
  }),
  route("listTableTags", POST_OR_GET, tablePath("tags/list"), {
    summary: "List the tags of a table",
    query: shape.page,
    answer: z.object({ tags: z.record(z.string(), shape.tagContents), page_token: shape.pageToken }),
  }),
  route("getTableTagVersion", POST, tablePath("tags/version"), {
    summary: "Find the version that a tag names",
    body: { tag: shape.text.min(1) },
    answer: z.object({ version: shape.version, branch: shape.text.optional() }),
  }),
  route("updateTableTag", POST, tablePath("tags/update"), {
    summary: "Give the name of a version to another",
    body: { tag: shape.text.min(1), version: shape.version, branch: shape.branch },
    answer: shape.transactionAnswer,
  }),
  route("deleteTableTag", POST, tablePath("tags/delete"), {
    summary: "Remove a tag",
    body: { tag: shape.text.min(1) },
    answer: shape.transactionAnswer,
  }),
  // ------------------------------------------------------------------------------------------------ schema
  route("updateFieldMetadata", POST, tablePath("update_field_metadata"), {
    summary: "Change the metadata of fields",
    body: {
      updates: z.array(
        z.object({
          path: shape.text.min(1),
          metadata: z.record(z.string(), z.string().nullable()).describe("A null value deletes the key"),
          replace: flag,
        }),
      ),
      branch: shape.branch,
    },
    answer: z.object({
      transaction_id: shape.text.optional(),
      version: shape.version,
      fields: z.record(z.string(), shape.stringMap),
    }),
  }),
  route("updateTableSchemaMetadata", POST, tablePath("schema_metadata/update"), {
    summary: "Replace the metadata of the schema",
    query: { branch: shape.branch },
    body: { member: "metadata", schema: shape.stringMap },
    answer: { member: "metadata", schema: shape.stringMap },
  }),
  route("alterTableAddColumns", POST, tablePath("add_columns"), {
    summary: "Add columns",
    body: {
      new_columns: z
        .array(
          z.object({
            name: shape.text.min(1),
            expression: shape.text.nullish(),
            data_type: z.union([shape.text, shape.jsonType]).nullish(),
            metadata: shape.stringMap.nullish(),
            computed: shape.text.nullish(),
            virtual_column: shape.virtualColumn.nullish(),
          }),
        )
        .min(1),
      branch: shape.branch,
    },
    answer: shape.versionAnswer,
  }),
  route("alterTableAlterColumns", POST, tablePath("alter_columns"), {
    summary: "Rename columns, change their types or whether they may be null",
    body: {
      alterations: z
        .array(
          z.object({
            path: shape.text.min(1),
            rename: shape.text.nullish(),
            nullable: flag,
            data_type: z.union([shape.text, shape.jsonType]).nullish(),
            virtual_column: z.unknown().optional(),
          }),
        )
        .min(1),
      branch: shape.branch,
    },
    answer: shape.versionAnswer,
  }),
  route("alterTableDropColumns", POST, tablePath("drop_columns"), {
    summary: "Drop columns",
    body: { columns: z.array(shape.text.min(1)).min(1), branch: shape.branch },
    answer: shape.versionAnswer,
  }),
  route("alterTableBackfillColumns", POST, tablePath("backfill_column"), {
    summary: "Fill a computed column",
    body: shape.backfill,
    answer: z.object({ job_id: shape.text }),
    status: 202,
  }),
  route("describeComputedColumns", POST, tablePath("computed_columns/describe"), {
    summary: "List the computed columns, and which fragments have rows without a value of them",
    body: { version: shape.version.nullish(), branch: shape.branch, tag: shape.tag },
    answer: z.object({ columns: z.array(shape.computedColumn) }),
  }),
  // ------------------------------------------------------------------------------------------------ indexes
  route("createTableIndex", POST, tablePath("create_index"), {
    summary: "Build an index",
    body: shape.newIndex,
    answer: z.object({ transaction_id: shape.text.optional(), job_id: shape.text.optional() }),
  }),
  route("createTableScalarIndex", POST, tablePath("create_scalar_index"), {
    summary: "Build a scalar index",
    body: shape.newIndex,
    answer: z.object({ transaction_id: shape.text.optional(), job_id: shape.text.optional() }),
  }),
  route("listTableIndices", POST, tablePath("index/list"), {
    summary: "List the indexes of a table",
    body: { version: shape.version.nullish(), branch: shape.branch, ...shape.page },
    answer: z.object({ indexes: z.array(shape.indexRecord), page_token: shape.pageToken }),
  }),
  route("describeTableIndexStats", POST_OR_GET, tablePath("index/{index_name}/stats"), {
    summary: "Read the statistics of an index",
    body: { version: shape.version.nullish(), branch: shape.branch, index_name: shape.text.nullish() },
    answer: shape.indexStats,
  }),
  route("dropTableIndex", POST, tablePath("index/{index_name}/drop"), {
    summary: "Drop an index",
    query: { branch: shape.branch },
    answer: shape.transactionAnswer,
  }),
  // ------------------------------------------------------------------------------------------------ transactions
  route("describeTransaction", POST, "/v1/transaction/{id}/describe", {
    summary: "Describe a transaction",
    answer: z.object({ status: shape.text, properties: shape.stringMap.optional() }),
  }),
  route("alterTransaction", POST, "/v1/transaction/{id}/alter", {
    summary: "Change a transaction's status or properties",
    body: { actions: z.array(shape.transactionAction).min(1) },
    answer: z.object({ status: shape.text, properties: shape.stringMap.optional() }),
  }),
  // ------------------------------------------------------------------------------------------------ upkeep, jobs
  route("cleanupTable", POST, tablePath("cleanup"), {
    summary: "Remove old versions and files that none needs",
    body: {
      older_than_ms: shape.count.nullish(),
      retain_versions: shape.count.nullish(),
      delete_unverified: flag,
      error_if_tagged: flag,
      background: flag,
      branch: shape.branch,
    },
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
    body: {
      target_rows_per_fragment: shape.count.nullish(),
      materialize_deletions: flag,
      materialize_deletions_threshold: z.number().min(0).max(1).nullish(),
      background: flag,
      branch: shape.branch,
    },
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
    summary: "Wait until a job has ended, or the time is over",
    body: { timeout_ms: shape.waitMs },
    answer: shape.job,
  }),
  route("cancelJob", POST, "/v1/job/{job_id}/cancel", {
    summary: "Cancel a job",
    answer: shape.job,
  }),
  route("listJobs", POST, "/v1/job/list", {
    summary: "List the jobs of a table, or of all tables",
    body: { state: shape.text.nullish() },
    takesBodyId: true,
    answer: z.object({ jobs: z.array(shape.job) }),
  }),
];

/** A map as the text of a JSON object, as the query of `createTable` carries it. */
function jsonMap() {
  return z.string().nullish().describe("A JSON object of strings");
}
