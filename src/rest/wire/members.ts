/**
 * The form of each request member on the wire, by the engine's name of the member. Most members have one form
 * in all operations; a route states the others. Optional members may also be null.
 */

import { z } from "zod";
import type { SnakeCase } from "../../namespace/request.js";
import { type OperationName, operationRow, type Requests, recordOf } from "../../operationTable.js";
import * as shape from "./shapes.js";
import { snakeCase } from "./wireNames.js";

/** Operations that only a program in the same process can call. */
type InProcess = "takeRows" | "takeBlobs" | "runBackfillTask";

/** Members that only the program of the server sets. */
const HOST_MEMBERS = [
  ...["principal", "identity", "context", "id", "signal", "memory", "onProgress", "progress"],
  ...["schema", "maxBatchBytes", "maxRows", "batchSize", "batchBytes", "maxColumns"],
  ...["useScalarIndex", "unregisteredBranch", "rerank"],
] as const;
type HostMember = (typeof HOST_MEMBERS)[number];
const HOSTS: ReadonlySet<string> = new Set(HOST_MEMBERS);

/** Names on the wire of the members of all requests that have a route. */
export type WireMember = SnakeCase<
  Exclude<MembersOf<Requests[Exclude<OperationName, InProcess>]>, HostMember>
>;
type MembersOf<Request> = Request extends unknown ? keyof Request & string : never;

const { text, count, flag } = shape;
const positive = z.int().min(1).nullish();
const optionalCount = count.nullish();
const optionalText = text.nullish();
const threshold = shape.threshold.nullish();
const numbers = z.array(z.number());
/** JSON has no exact numbers beyond 2^53 - 1. */
const rowId = z.union([count, z.string().regex(/^\d{1,20}$/)]);
const dataType = z.union([text, shape.jsonType]).nullish();

/** Range of versions: the end is exclusive; -1 includes the latest version. */
const versionRange = z.object({ start_version: shape.version, end_version: z.int().min(-1) });

const columnSelection = z.union([
  text,
  z.array(text),
  z.object({ column_names: z.array(text).nullish(), column_aliases: shape.stringMap.nullish() }),
]);

/** Members that describe how other engines run the function are ignored. */
const virtualColumn = z.object({
  udf_name: text.min(1).describe("Name of a function that the server's program registered"),
  udf_version: optionalText,
  input_columns: z.array(text).nullish(),
  field_metadata: shape.stringMap.nullish(),
});

const setStatus = z.object({ status: optionalText }).nullish();
const setProperty = z.object({ key: optionalText, value: optionalText, mode: optionalText }).nullish();
const unsetProperty = z.object({ key: optionalText, mode: optionalText }).nullish();

/** A change of a transaction. The namespace spec spells these members in camelCase. */
const transactionAction = z.union([
  z.strictObject({
    set_status_action: setStatus,
    set_property_action: setProperty,
    unset_property_action: unsetProperty,
  }),
  z.object({
    setStatusAction: setStatus,
    setPropertyAction: setProperty,
    unsetPropertyAction: unsetProperty,
  }),
]);

/** Members of a version to publish. */
const stagedVersion = {
  version: shape.version,
  manifest_path: text.min(1).describe("Path of the staged manifest"),
  manifest_size: optionalCount.describe("Bytes"),
  e_tag: optionalText,
  metadata: shape.stringMap.nullish(),
  naming_scheme: text.nullish().describe("Naming scheme of manifests: V1 or V2"),
  branch: shape.branch,
};

/** Part of a batch. It has exactly one of the members. */
const batchOperation = z.object({
  declare_table: z
    .object({
      id: shape.id,
      location: optionalText,
      properties: shape.stringMap.nullish(),
      vend_credentials: flag,
    })
    .nullish(),
  create_table_version: z.object({ id: shape.id, ...stagedVersion }).nullish(),
  delete_table_versions: z
    .object({ id: shape.id, ranges: z.array(versionRange), branch: shape.branch })
    .nullish(),
  deregister_table: z.object({ id: shape.id }).nullish(),
});

const limit = z
  .int()
  .min(1)
  .max(Number.MAX_SAFE_INTEGER)
  .nullish()
  .describe("Maximum number of rows, or of entries of a page");

/** A column to sort by: `price`, `-price`, or an object. */
const sortColumn = z.union([
  text.min(1).describe("Path of the column; a minus before it sorts in descending order"),
  z.object({ column_name: text.min(1), ascending: flag, nulls_first: flag }),
  z.record(text, z.enum(["asc", "desc"])).describe("Directions by the paths of the columns"),
]);

/** Members of a query. */
const query = {
  columns: columnSelection.nullish(),
  k: optionalCount.describe("Maximum number of rows"),
  limit,
  ...recordOf(optionalText, "filter predicate where text"),
  params: z
    .record(z.string(), shape.value)
    .nullish()
    .describe("Values of the filter's parameters, written `$name` in its text"),
  vector: z
    .union([
      z.object({ single_vector: numbers.nullish(), multi_vector: z.array(numbers).nullish() }),
      numbers,
      z.array(numbers),
    ])
    .nullish()
    .describe("The query vector, or several"),
  vector_column: optionalText,
  full_text_query: z.unknown().optional(),
  highlight: flag.describe("True: rows of a text search have `_highlights`"),
  order_by: z
    .union([sortColumn, z.array(sortColumn)])
    .nullish()
    .describe("Columns to sort by; the first has the highest priority"),
  distance_type: text.nullish().describe("l2, cosine, dot or hamming"),
  ...recordOf(optionalCount, "nprobes minimum_nprobes maximum_nprobes refine_factor ef offset"),
  ...recordOf(flag, "prefilter bypass_vector_index fast_search with_row_id"),
  ...recordOf(z.number().nullish(), "lower_bound upper_bound"),
  version: shape.version.nullish(),
  as_of: shape.asOf,
  branch: shape.branch,
  tag: shape.tag,
};

const index = {
  column: text.min(1).describe("Path of the column"),
  index_type: text
    .min(1)
    .describe("For example BTREE, BITMAP, LABEL_LIST, IVF_FLAT, IVF_PQ, IVF_HNSW_SQ, FTS"),
  ...recordOf(flag, "with_position lower_case stem remove_stop_words ascii_folding prefix_only"),
  ...recordOf(optionalText, "base_tokenizer language"),
  max_token_length: optionalCount,
  custom_stop_words: z.array(text).nullish(),
  replace: flag.describe("True: replaces an index of that name; default false"),
  train: flag.describe("False: makes an index without rows, which the next optimisation fills; default true"),
  rows_per_zone: positive.describe("For ZONEMAP and BLOOMFILTER"),
  ...recordOf(
    positive,
    "min_ngram_length max_ngram_length block_size num_partitions num_sub_vectors num_bits",
    "sample_rate max_iterations target_partition_size m ef_construction",
  ),
};

const backfill = {
  ...recordOf(optionalText, "where filter predicate"),
  ...recordOf(
    z.int().nullish(),
    "concurrency intra_applier_concurrency min_checkpoint_size max_checkpoint_size checkpoint_size",
    "task_size num_frags commit_granularity",
  ),
  batch_checkpoint_flush_interval_seconds: z.number().min(0).nullish(),
  read_version: shape.version.nullish(),
  cluster: text.nullish().describe("Name of an executor on the server that computes the values"),
  manifest: text.nullish().describe("Name of an environment of the cluster"),
};

/** A map as the text of a JSON object, because a query string has no maps. */
export const jsonMap = text.nullish().describe("A JSON object of strings");

export const jsonValues = text
  .nullish()
  .describe("A JSON object: values of the parameters of conditions, written `$name` in their texts");

const MEMBERS = {
  ...stagedVersion,
  ...query,
  ...index,
  ...backfill,
  version: shape.version.nullish().describe("Default: the latest version"),
  page_token: text.nullish().describe("Token of the previous page"),
  ...recordOf(shape.mode, "mode behavior format"),
  ...recordOf(
    flag,
    "include_declared vend_credentials stable_row_ids with_table_uri load_detailed_metadata check_declared",
    "when_matched_update_all when_not_matched_insert_all when_not_matched_by_source_delete use_index use_lsm",
    "verbose materialize_deletions background dry_run delete_unverified error_if_tagged descending",
  ),
  ...recordOf(
    optionalText,
    "location filter predicate where text when_matched_update_all_filt when_not_matched_by_source_delete_filt timeout",
    "from_branch from_tag index_name state path",
  ),
  ...recordOf(optionalCount, "target_rows_per_fragment older_than_ms retain_versions interval"),
  older_than: text
    .nullish()
    .describe(
      "ISO 8601 text with a time zone: the moment before which versions were replaced; excludes older_than_ms",
    ),
  small_fragments: threshold.describe(
    "Compact beyond this number of fragments below 100,000 rows; default 16",
  ),
  deleted_percent: threshold.describe("Compact beyond this percentage of deleted rows, 0 to 100; default 10"),
  unindexed_rows: threshold.describe("Update an index that lacks more rows; default 1000"),
  versions: threshold.describe("Clean up beyond this number of versions; default 100"),
  ...recordOf(text.min(1), "name new_table_name job_id"),
  message: optionalText.describe("Commit message: text about the change, listed with the version"),
  properties: shape.stringMap.nullish(),
  storage_options: jsonMap,
  new_namespace_id: shape.id.nullish(),
  updates: z
    .array(z.array(text).length(2))
    .nullish()
    .describe("Pairs of the path of a column and an SQL expression"),
  values_sql: shape.stringMap.nullish().describe("SQL expressions by the paths of columns"),
  values: z.record(z.string(), shape.value).nullish().describe("Values by the names of columns"),
  row_ids: z
    .array(rowId)
    .nullish()
    .describe("Row ids as `_rowid` returns them; as texts if they exceed 2^53 - 1"),
  offsets: z.array(count).nullish().describe("Numbers of rows among the live rows, from 0"),
  group_by: z
    .union([text.min(1), z.array(text.min(1))])
    .nullish()
    .describe("Keys of the groups, one or a list: columns or SQL expressions"),
  having: text.nullish().describe("SQL condition on groups"),
  on: z.array(text.min(1)).min(1).describe("Columns of the key"),
  query: z.object(query),
  spec: z
    .object({
      spec_type: text,
      column: optionalText,
      num_buckets: optionalCount,
      maintained_indexes: z.array(text).nullish(),
      writer_config_defaults: shape.stringMap.nullish(),
    })
    .nullish()
    .describe("Settings of LanceDB's log-structured writes. Absent: removes those of the table"),
  materialize_deletions_threshold: z.number().min(0).max(1).nullish(),
  entries: z.array(z.object({ id: shape.id, ...stagedVersion })).min(1),
  ranges: z.array(versionRange).min(1),
  operations: z.array(batchOperation).min(1),
  from_version: shape.version.nullish(),
  conflicts: text.nullish().describe("fail (default), ours or theirs"),
  from: shape.version.describe("Number of the version to compare with"),
  to: shape.version.nullish().describe("Number of the compared version; default: the latest"),
  new_columns: z
    .array(
      z.object({
        name: text.min(1),
        expression: optionalText,
        data_type: dataType,
        metadata: shape.stringMap.nullish(),
        computed: optionalText,
        virtual_column: virtualColumn.nullish(),
      }),
    )
    .min(1),
  alterations: z
    .array(
      z.object({
        path: text.min(1),
        rename: optionalText,
        nullable: flag,
        data_type: dataType,
        virtual_column: z.unknown().optional(),
      }),
    )
    .min(1),
  actions: z.array(transactionAction).min(1),
  // A client that waits longer sends several requests, because proxies close silent connections.
  timeout_ms: z.int().min(0).max(60_000).default(30_000).describe("Milliseconds; at most 60,000"),
} satisfies Readonly<Record<WireMember, z.ZodType>>;

/** Forms of some members. */
export type WireForms = { readonly [Name in WireMember]?: z.ZodType };

/**
 * Returns the forms of all members of an operation's request that a client may set.
 * @param forms replaces forms of this table, by name on the wire
 */
export function wireMembers(operation: OperationName, forms: WireForms): z.ZodRawShape {
  const names = Object.keys(operationRow(operation).members)
    .filter((name) => !HOSTS.has(name))
    .map(snakeCase);
  const formOf: z.ZodRawShape = { ...MEMBERS, ...forms };
  return Object.fromEntries(names.map((name) => [name, formOf[name]]));
}
