/** Forms that requests and answers share on the wire. Optional members of requests may be null. */

import { z } from "zod";
import { recordOf } from "../../operationTable.js";

const MAX_INTEGER = Number.MAX_SAFE_INTEGER;

export const text = z.string();
export const flag = z.boolean().nullish();
/** Integer from 0 to 2^53 - 1. */
export const count = z.int().min(0).max(MAX_INTEGER);
export const version = count.describe("Number of a version of the table");
export const stringMap = z.record(z.string(), z.string());
export const branch = z.string().nullish().describe("Absent, empty or `main`: the main branch");
export const tag = z.string().nullish().describe("Excludes version and branch");
export const asOf = z
  .string()
  .nullish()
  .describe(
    "ISO 8601 text with a time zone: the latest version whose commit time is not later. Excludes version and tag",
  );
export const id = z.array(z.string()).describe("Path of the object: its namespaces, then its name");
const transactionId = z.string().optional().describe("Id of the change for describeTransaction");
export const mode = z.string().nullish().describe("In any case, PascalCase or snake_case");

const hasOnlyFinite = (value: unknown): boolean =>
  typeof value === "object" && value !== null
    ? Object.values(value).every(hasOnlyFinite)
    : typeof value !== "number" || Number.isFinite(value);

/** Value of a column. JSON.parse makes Infinity of a number such as 1e400. */
export const value = z.unknown().refine(hasOnlyFinite, "has a number beyond the range of float64");

/** Form of NaN and infinities in JSON. */
export const nonFinite = z
  .enum(["null", "text"])
  .optional()
  .describe("How JSON rows show NaN and infinities: null (default), or the texts NaN, Infinity, -Infinity");

export const identity = z.object({ api_key: z.string().nullish(), auth_token: z.string().nullish() });

/** Members of every JSON body. */
export const common = { id: id.nullish(), identity: identity.nullish(), context: stringMap.nullish() };

export const pageToken = z.string().optional().describe("Absent on the last page");

// -------------------------------------------------------------------------------- records

/** Answer of an operation that changes something. */
export const changeAnswer = <Members extends z.ZodRawShape>(members: Members) =>
  z.object({ transaction_id: transactionId, ...members });
export const transactionAnswer = changeAnswer({});
export const versionAnswer = changeAnswer({ version });

export const tableVersion = z.object({
  version,
  manifest_path: text.describe("Absolute path of the manifest"),
  manifest_size: count.describe("Bytes"),
  e_tag: text.optional(),
  timestamp_millis: z.int().describe("Milliseconds since 1970, according to the manifest"),
  metadata: stringMap.optional(),
  operation: text
    .optional()
    .describe("Kind of change, as the format names it: Append, Delete, Update, Overwrite, Rewrite …"),
  message: text.optional().describe("Commit message"),
  rows_added: count.optional().describe("Absent if unknown"),
  rows_removed: count.optional().describe("Absent if unknown"),
  rows_changed: count.optional().describe("Absent if unknown"),
});

export const tableStats = z.object({
  ...recordOf(count, "total_bytes num_rows num_indices"),
  fragment_stats: z.object({
    ...recordOf(count, "num_fragments num_small_fragments"),
    lengths: z.object(recordOf(count, "min max mean p25 p50 p75 p99")),
  }),
});

export const indexStats = z.object({
  ...recordOf(text.optional(), "distance_type index_type"),
  ...recordOf(count.optional(), "num_indexed_rows num_unindexed_rows num_indices"),
});

export const indexRecord = z.object({
  index_name: text,
  index_uuid: text,
  columns: z.array(text),
  status: text,
  ...recordOf(text.optional(), "index_type type_url"),
  ...recordOf(count.optional(), "num_indexed_rows num_unindexed_rows size_bytes num_segments"),
  created_at: text.optional(),
  index_version: count.optional(),
  index_details: text.optional(),
});

export const startedJob = text
  .optional()
  .describe("Id of the background job; all other members are then absent");
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
  is_interrupted: z.boolean().optional().describe("True: a request for the same work resumes the job"),
  error: z.object({ code: count, type: text, message: text }).optional(),
  result: z.unknown().optional(),
});

/** In camelCase, unlike all other records. */
export const branchContents = z.object({
  parentBranch: text.optional().describe("Absent: the main branch"),
  parentVersion: version,
  createAt: z.int().describe("Seconds since 1970"),
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

/** Rule of configureCleanup in answers. */
export const cleanupRule = recordOf(count.optional(), "older_than_ms retain_versions interval");

/** Settings of log-structured writes. */
export const lsmWriteSpec = z.object({
  spec_type: z.enum(["bucket", "identity", "unsharded"]),
  column: text.optional(),
  num_buckets: count.optional(),
  maintained_indexes: z.array(text).optional(),
  writer_config_defaults: stringMap.optional(),
});

/** Threshold of one kind of upkeep. */
export const threshold = z.union([count, z.literal("off")]);
/** Thresholds of configureUpkeep in answers. */
export const upkeepThresholds = recordOf(
  threshold.optional().describe("Absent: the default"),
  "small_fragments deleted_percent unindexed_rows versions",
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
  cleanup: z.object(cleanupRule).optional().describe("Absent: commits clean nothing up"),
  lsm_write_spec: lsmWriteSpec.optional().describe("Absent: LanceDB's writers keep no logs"),
  upkeep: z
    .object(upkeepThresholds)
    .optional()
    .describe("The table's own thresholds of upkeep. Absent: all defaults"),
  properties: stringMap,
  storage_options: storageOptions,
  managed_versioning: z.boolean(),
  is_only_declared: z.boolean(),
});

export const declaredTable = changeAnswer({
  location: text,
  properties: stringMap,
  storage_options: storageOptions,
  managed_versioning: z.boolean(),
});

export const removedTable = changeAnswer({
  id: z.array(text),
  location: text,
  properties: stringMap,
});

export const computedColumn = z.object({
  column: text.describe("Path"),
  kind: text.describe("function, sql or foreign"),
  declared_kind: text
    .optional()
    .describe("Value of computed_column.kind in the metadata of a foreign column"),
  udf_name: text.optional(),
  udf_version: text.optional(),
  expression: text.optional(),
  inputs: z.array(text).describe("Paths"),
  is_registered: z.boolean().optional().describe("True if the server has registered the function"),
  stale_rows: count.describe("Number of rows without a current value"),
  stale_fragments: z.array(count).describe("Ascending ids of the fragments with such rows"),
});

// -------------------------------------------------------------------------------- storage

const damage = z.object({
  kind: text,
  path: text.describe("Absolute path of the damaged file"),
  message: text,
  byte_offset: count.optional(),
  version: version.optional(),
  fragment_id: count.optional(),
  columns: z.array(text).optional(),
  index_name: text.optional(),
  remedy: text.describe("What can be saved"),
});
export const verifiedTable = z.object({
  is_sound: z.boolean(),
  version: version.optional().describe("Version whose rows were read"),
  damages: z.array(damage),
  damage_count: count,
  unchecked: z.array(text),
  checked_versions: count,
  checked_files: count,
  checked_bytes: count,
  readable_rows: count,
  damaged_rows: count,
  checked_indexes: count,
  newest_sound_version: version.optional(),
});

const storedColumn = z.object({ name: text, bytes: count, page_count: count, encodings: z.array(text) });
const describedPage = z.object({ first_row: count, rows: count, bytes: count, encoding: text });
export const describedFile = z.object({
  path: text,
  bytes: count,
  format_version: text,
  rows: count,
  has_checksums: z.boolean(),
  other_bytes: count,
  columns: z.array(storedColumn.extend({ pages: z.array(describedPage) })),
  metadata: stringMap.optional(),
});

const storedFile = z.object({ path: text, bytes: count, columns: z.array(storedColumn) });
export const tableStorage = z.object({
  version,
  bytes: count,
  columns: z.array(z.object({ name: text, bytes: count })),
  fragments: z.array(
    z.object({
      id: count,
      rows: count,
      deleted_rows: count,
      deletion_bytes: count,
      files: z.array(storedFile),
    }),
  ),
  indexes: z.array(
    z.object({
      index_name: text,
      bytes: count,
      files: z.array(z.object({ path: text, bytes: count })),
      fragment_ids: z.array(count).optional(),
    }),
  ),
});
