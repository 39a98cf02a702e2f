/**
 * What requests and answers look like on the wire: the records that several operations share, and the members that
 * requests of one kind have in common. Optional members may also be null.
 */

import { z } from "zod";

const MAX_INTEGER = Number.MAX_SAFE_INTEGER;

export const text = z.string();
/** An integer of at least 0, exact in a double. */
export const count = z.int().min(0).max(MAX_INTEGER);
export const version = count.describe("Number of a version of the table");
export const stringMap = z.record(z.string(), z.string());
export const branch = z.string().nullish().describe("Absent, empty or `main`: the main branch");
export const tag = z.string().nullish().describe("Excludes version and branch");
export const id = z.array(z.string()).describe("Path of the object: namespaces, then the name");
const transactionId = z.string().optional().describe("Of the change, for describeTransaction");
export const mode = z.string().nullish().describe("In any case, PascalCase or snake_case");

export const identity = z.object({ api_key: z.string().nullish(), auth_token: z.string().nullish() });

/** Members that every JSON body may have, besides those of its operation. */
export const common = { id: id.nullish(), identity: identity.nullish(), context: stringMap.nullish() };

/** In queries and in bodies. */
export const page = {
  page_token: z.string().nullish().describe("Token of the previous page"),
  limit: z.int().min(1).max(MAX_INTEGER).nullish().describe("Most entries of the page, inclusive"),
};
export const pageToken = z.string().optional().describe("Absent on the last page");

// ---------------------------------------------------------------------------------------------------- records

export const transactionAnswer = z.object({ transaction_id: transactionId });
export const versionAnswer = z.object({ transaction_id: transactionId, version });

export const tableVersion = z.object({
  version,
  manifest_path: text.describe("Absolute path of the manifest"),
  manifest_size: count.describe("Bytes"),
  e_tag: text.optional(),
  timestamp_millis: z.int().describe("Milliseconds since the epoch, by the manifest"),
  metadata: stringMap.optional(),
});

export const namingScheme = z.string().nullish().describe("Of manifests: V1 or V2");

/** A version to publish: members of one request, or of one part of a batch. */
export const stagedVersion = {
  version,
  manifest_path: text.min(1).describe("Path of the staged manifest"),
  manifest_size: count.nullish().describe("Bytes"),
  e_tag: text.nullish(),
  metadata: stringMap.nullish(),
  naming_scheme: namingScheme,
  branch,
};

export const tableStats = z.object({
  total_bytes: count,
  num_rows: count,
  num_indices: count,
  fragment_stats: z.object({
    num_fragments: count,
    num_small_fragments: count,
    lengths: z.object({
      min: count,
      max: count,
      mean: count,
      p25: count,
      p50: count,
      p75: count,
      p99: count,
    }),
  }),
});

export const indexStats = z.object({
  distance_type: text.optional(),
  index_type: text.optional(),
  num_indexed_rows: count.optional(),
  num_unindexed_rows: count.optional(),
  num_indices: count.optional(),
});

export const indexRecord = z.object({
  index_name: text,
  index_uuid: text,
  columns: z.array(text),
  status: text,
  index_type: text.optional(),
  type_url: text.optional(),
  num_indexed_rows: count.optional(),
  num_unindexed_rows: count.optional(),
  size_bytes: count.optional(),
  num_segments: count.optional(),
  created_at: text.optional(),
  index_version: count.optional(),
  index_details: text.optional(),
});

export const startedJob = text.optional().describe("Of work in the background; then nothing else is told");
/** Milliseconds that a request may wait. Longer waits are several requests: proxies end connections that are silent. */
export const waitMs = z.int().min(0).max(60_000).default(30_000).describe("Milliseconds; at most 60,000");

const amount = z.number().min(0);
const time = text.describe("RFC 3339");
export const job = z.object({
  job_id: text,
  kind: text.describe("index, backfill, optimize or cleanup"),
  table: z.array(text),
  branch: text.optional().describe("Absent: main"),
  state: text.describe("Queued, Running, Succeeded, Failed or Cancelled"),
  done: amount,
  total: amount.optional(),
  unit: text.describe("rows, fragments, files or versions"),
  rate: amount.optional().describe("Units per second"),
  estimated_end: time.optional(),
  created_at: time,
  started_at: time.optional(),
  finished_at: time.optional(),
  is_interrupted: z.boolean().optional().describe("Asking for the same work again goes on with it"),
  error: z.object({ code: count, type: text, message: text }).optional(),
  result: z.unknown().optional(),
});

/** camelCase, unlike every other record. */
export const branchContents = z.object({
  parentBranch: text.optional().describe("Absent: the main branch"),
  parentVersion: version,
  createAt: z.int().describe("Seconds since the epoch"),
  manifestSize: count.describe("Bytes"),
  metadata: stringMap.optional(),
});

export const tagContents = z.object({
  version,
  manifestSize: count.describe("Bytes"),
  branch: text.optional().describe("Absent: the main branch"),
});

/** The Arrow schema in JSON. */
const jsonField: z.ZodType = z
  .object({
    name: text,
    nullable: z.boolean(),
    get type() {
      return jsonType;
    },
    metadata: stringMap.optional(),
  })
  .meta({ id: "JsonField" });
export const jsonType: z.ZodType = z
  .object({
    type: text,
    length: z.int().optional(),
    get fields() {
      return z.array(jsonField).optional();
    },
  })
  .meta({ id: "JsonType" });
export const jsonSchema = z.object({ fields: z.array(jsonField), metadata: stringMap.optional() });

export const storageOptions = stringMap
  .optional()
  .describe(
    "Options to open the table's files with; expires_at_millis tells when credentials in them expire",
  );

export const describedTable = z.object({
  table: text,
  namespace: z.array(text),
  version: version.optional(),
  location: text,
  table_uri: text,
  schema: jsonSchema.optional(),
  stats: z.object({ num_deleted_rows: count, num_fragments: count }).optional(),
  metadata: stringMap.optional(),
  properties: stringMap,
  storage_options: storageOptions,
  managed_versioning: z.boolean(),
  is_only_declared: z.boolean(),
});

export const declaredTable = z.object({
  transaction_id: transactionId,
  location: text,
  properties: stringMap,
  storage_options: storageOptions,
  managed_versioning: z.boolean(),
});

export const removedTable = z.object({
  transaction_id: transactionId,
  id: z.array(text),
  location: text,
  properties: stringMap,
});

const setStatus = z.object({ status: text.nullish() }).nullish();
const setProperty = z.object({ key: text.nullish(), value: text.nullish(), mode: text.nullish() }).nullish();
const unsetProperty = z.object({ key: text.nullish(), mode: text.nullish() }).nullish();

/** A change of a transaction. The specification of namespaces spells these members as the engine does. */
export const transactionAction = z.union([
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

/** Columns by name or path, or under aliases. */
const columnSelection = z.union([
  z.array(text),
  z.object({
    column_names: z.array(text).nullish(),
    column_aliases: stringMap.nullish(),
  }),
]);

/** Values of a filter's parameters, by their names. */
export const params = z
  .record(z.string(), z.unknown())
  .nullish()
  .describe("Values of the parameters of the filter, `$name` in its text");

const numbers = z.array(z.number());

/** Members of a query's body, and of the bodies of query plans. */
export const query = {
  columns: columnSelection.nullish(),
  k: count.nullish().describe("Rows at most"),
  limit: z.int().min(1).max(MAX_INTEGER).nullish().describe("Rows at most"),
  offset: count.nullish(),
  filter: text.nullish(),
  params,
  vector: z
    .union([
      z.object({ single_vector: numbers.nullish(), multi_vector: z.array(numbers).nullish() }),
      numbers,
      z.array(numbers),
    ])
    .nullish()
    .describe("The vector whose nearest rows are searched, or several"),
  vector_column: text.nullish(),
  full_text_query: z.unknown().optional(),
  highlight: z.boolean().nullish().describe("Whether rows of a search by text have `_highlights`"),
  order_by: z
    .array(
      z.object({
        column_name: text.min(1),
        ascending: z.boolean().nullish(),
        nulls_first: z.boolean().nullish(),
      }),
    )
    .nullish()
    .describe("Columns to sort by, the first of them first"),
  distance_type: text.nullish(),
  nprobes: count.nullish(),
  minimum_nprobes: count.nullish(),
  maximum_nprobes: count.nullish(),
  refine_factor: count.nullish(),
  ef: count.nullish(),
  prefilter: z.boolean().nullish(),
  bypass_vector_index: z.boolean().nullish(),
  fast_search: z.boolean().nullish(),
  lower_bound: z.number().nullish(),
  upper_bound: z.number().nullish(),
  with_row_id: z.boolean().nullish(),
  version: version.nullish(),
  branch,
  tag,
};

export const newIndex = {
  column: text.min(1).describe("Path of the field"),
  index_type: text
    .min(1)
    .describe("For example BTREE, BITMAP, LABEL_LIST, IVF_FLAT, IVF_PQ, IVF_HNSW_SQ, FTS"),
  name: text.nullish().describe("Made from the column where absent"),
  distance_type: text.nullish().describe("Of vector indexes: l2, cosine, dot"),
  with_position: z.boolean().nullish(),
  base_tokenizer: text.nullish(),
  language: text.nullish(),
  max_token_length: count.nullish(),
  lower_case: z.boolean().nullish(),
  stem: z.boolean().nullish(),
  remove_stop_words: z.boolean().nullish(),
  ascii_folding: z.boolean().nullish(),
  min_ngram_length: z.int().min(1).nullish(),
  max_ngram_length: z.int().min(1).nullish(),
  prefix_only: z.boolean().nullish(),
  custom_stop_words: z.array(text).nullish(),
  block_size: z.int().min(1).nullish(),
  replace: z.boolean().nullish().describe("Whether an index of that name may be replaced; default false"),
  rows_per_zone: z.int().min(1).nullish().describe("Of ZONEMAP and BLOOMFILTER"),
  num_partitions: z.int().min(1).nullish(),
  num_sub_vectors: z.int().min(1).nullish(),
  num_bits: z.int().min(1).nullish(),
  sample_rate: z.int().min(1).nullish(),
  max_iterations: z.int().min(1).nullish(),
  target_partition_size: z.int().min(1).nullish(),
  m: z.int().min(1).nullish(),
  ef_construction: z.int().min(1).nullish(),
  branch,
};

/** What describes how other engines run the function is passed over. */
export const virtualColumn = z.object({
  udf_name: text.min(1).describe("Name of a function that the server's program registered"),
  udf_version: text.nullish(),
  input_columns: z.array(text).nullish(),
  field_metadata: stringMap.nullish(),
});

export const computedColumn = z.object({
  column: text.describe("Path"),
  kind: text.describe("function, sql or foreign"),
  declared_kind: text.optional().describe("Of a foreign column: computed_column.kind of its metadata"),
  udf_name: text.optional(),
  udf_version: text.optional(),
  expression: text.optional(),
  inputs: z.array(text).describe("Paths"),
  is_registered: z.boolean().optional().describe("Whether the server's program has the function"),
  stale_rows: count.describe("Rows without a value"),
  stale_fragments: z.array(count).describe("Ids of the fragments that have such rows, ascending"),
});

/** Numeric settings of a backfill. */
const tuning = z.int().nullish();
export const backfill = {
  column: text.min(1).describe("Path of the computed column"),
  where: text.nullish(),
  concurrency: tuning,
  intra_applier_concurrency: tuning,
  min_checkpoint_size: tuning,
  max_checkpoint_size: tuning,
  batch_checkpoint_flush_interval_seconds: z.number().min(0).nullish(),
  read_version: version.nullish(),
  task_size: tuning,
  num_frags: tuning,
  checkpoint_size: tuning,
  commit_granularity: tuning,
  cluster: text.nullish().describe("Name of an executor that the server has, to compute the values there"),
  manifest: text.nullish().describe("Name of an environment of the cluster"),
  branch,
};
