/** Groups, descriptions and examples of operations, for the OpenAPI document. Names are those of the wire. */

import type { OperationName } from "../../operationTable.js";

/** Groups of operations, with their descriptions. */
export const TAGS = {
  Namespaces: "Containers of tables and of further namespaces.",
  Tables: "Tables: made, described, renamed and removed.",
  Rows: "Rows: read, inserted, merged, updated and deleted. As Arrow, or as JSON.",
  Versions: "Versions of tables. Each change makes one.",
  Branches: "Branches of tables.",
  Tags: "Names of versions.",
  Schema: "Columns and their metadata.",
  Indexes: "Scalar, text and vector indexes.",
  Transactions: "Records of what a change did.",
  Jobs: "Work in the background, and upkeep.",
} as const;

interface OperationText {
  readonly tag: keyof typeof TAGS;
  readonly description: string;
  /** Example of a JSON body; for operations that take rows, of the rows. */
  readonly request?: unknown;
  /** Example of the answer. */
  readonly answer?: unknown;
}

const TRANSACTION = "0c2d6f3e-4a53-4a38-9d0e-7f4f5f8f6a11";
const LOCATION = "/data/orders.lance";
const CHANGED = { transaction_id: TRANSACTION };
const COMMITTED = { transaction_id: TRANSACTION, version: 8 };
const ROWS = [{ id: 1, item: "ash", price: 9.5, vector: [0.1, 0.9] }];
const VERSION = {
  version: 7,
  manifest_path: `${LOCATION}/_versions/7.manifest`,
  manifest_size: 1204,
  timestamp_millis: 1_764_300_000_000,
};
const JOB = {
  job_id: "5d0c1b9a",
  kind: "index",
  table: ["orders"],
  state: "Running",
  done: 4096,
  total: 100_000,
  unit: "rows",
  created_at: "2026-01-02T03:04:05.678Z",
};
const TABLE_PROPERTIES = { owner: "sales" };

/** Texts of the operations that have a route. */
export const OPERATION_TEXTS: Readonly<Partial<Record<OperationName, OperationText>>> = {
  createNamespace: {
    tag: "Namespaces",
    description: "Creates a namespace. `mode` says what happens if it exists: Create, ExistOk or Overwrite.",
    request: { mode: "Create", properties: TABLE_PROPERTIES },
    answer: { properties: TABLE_PROPERTIES, ...CHANGED },
  },
  listNamespaces: {
    tag: "Namespaces",
    description: "Lists the names of the namespaces directly inside a namespace, page by page.",
    answer: { namespaces: ["sales", "stock"] },
  },
  describeNamespace: {
    tag: "Namespaces",
    description: "Returns the properties of a namespace.",
    request: {},
    answer: { properties: TABLE_PROPERTIES },
  },
  dropNamespace: {
    tag: "Namespaces",
    description: "Removes a namespace. With `behavior` Cascade, removes what is inside it too.",
    request: { mode: "Fail", behavior: "Restrict" },
    answer: { properties: TABLE_PROPERTIES },
  },
  namespaceExists: {
    tag: "Namespaces",
    description: "Succeeds if a namespace exists. The answer has no body.",
    request: {},
  },
  listTables: {
    tag: "Tables",
    description: "Lists the names of the tables directly inside a namespace, page by page.",
    answer: { tables: ["orders"] },
  },
  listAllTables: {
    tag: "Tables",
    description: "Lists the ids of the tables of all namespaces, page by page.",
    answer: { tables: ["orders", "sales$returns"] },
  },
  declareTable: {
    tag: "Tables",
    description: "Reserves the name of a table. The first rows that are inserted create it.",
    request: { properties: TABLE_PROPERTIES },
    answer: { location: LOCATION, properties: TABLE_PROPERTIES, managed_versioning: false, ...CHANGED },
  },
  createTable: {
    tag: "Tables",
    description:
      "Creates a table from rows. Arrow has a schema; from JSON, types are inferred: numbers become float64, texts utf8, arrays of numbers named `vector` or `embedding` vectors.",
    request: ROWS,
    answer: { location: LOCATION, version: 1, num_inserted_rows: 1, properties: {}, ...CHANGED },
  },
  cloneTable: {
    tag: "Tables",
    description:
      "Creates a table from a version of another table, whose files it shares. It breaks when the other table is dropped or renamed, or when a cleanup removes the version.",
    request: { from: ["orders"], version: 7 },
    answer: { ...CHANGED, location: "/data/trial.lance", version: 7, properties: {} },
  },
  registerTable: {
    tag: "Tables",
    description: "Gives an id to the directory of an existing table.",
    request: { location: "imported/orders.lance" },
    answer: { location: LOCATION, properties: {}, ...CHANGED },
  },
  deregisterTable: {
    tag: "Tables",
    description: "Takes the id from a table. Its data stays.",
    request: {},
    answer: { id: ["orders"], location: LOCATION, properties: {}, ...CHANGED },
  },
  describeTable: {
    tag: "Tables",
    description: "Returns schema, version, location and statistics of a table.",
    request: { version: 7 },
    answer: {
      table: "orders",
      namespace: [],
      version: 7,
      location: LOCATION,
      table_uri: LOCATION,
      schema: { fields: [{ name: "id", nullable: true, type: { type: "int64" } }] },
      stats: { num_deleted_rows: 0, num_fragments: 1 },
      properties: {},
      managed_versioning: false,
      is_only_declared: false,
    },
  },
  tableExists: {
    tag: "Tables",
    description: "Succeeds if a table exists. The answer has no body.",
    request: {},
  },
  renameTable: {
    tag: "Tables",
    description: "Gives a table another name, and another namespace if the request has one.",
    request: { new_table_name: "orders_2026" },
    answer: CHANGED,
  },
  dropTable: {
    tag: "Tables",
    description: "Removes a table with its data.",
    request: {},
    answer: { id: ["orders"], location: LOCATION, properties: {}, ...CHANGED },
  },
  getTableStats: {
    tag: "Tables",
    description: "Returns the numbers of rows, bytes, indexes and fragments of a table.",
    request: {},
    answer: {
      total_bytes: 4096,
      num_rows: 100,
      num_indices: 0,
      fragment_stats: {
        num_fragments: 1,
        num_small_fragments: 1,
        lengths: { min: 100, max: 100, mean: 100, p25: 100, p50: 100, p75: 100, p99: 100 },
      },
    },
  },
  verifyTable: {
    tag: "Tables",
    description: "Reads every file of a table and compares its indexes with the rows. Changes nothing.",
    request: {},
    answer: {
      is_sound: true,
      version: 8,
      damages: [],
      damage_count: 0,
      unchecked: [],
      checked_versions: 8,
      checked_files: 12,
      checked_bytes: 4096,
      readable_rows: 3,
      damaged_rows: 0,
      checked_indexes: 1,
      newest_sound_version: 8,
    },
  },
  describeTableFile: {
    tag: "Tables",
    description: "Returns the columns, pages, encodings and sizes of a data file or index file.",
    request: { path: "data/0101.lance" },
    answer: {
      path: `${LOCATION}/data/0101.lance`,
      bytes: 4096,
      format_version: "2.2",
      rows: 3,
      has_checksums: true,
      other_bytes: 4000,
      columns: [
        {
          name: "id",
          bytes: 96,
          page_count: 1,
          encodings: ["miniBlock(flat)"],
          pages: [{ first_row: 0, rows: 3, bytes: 96, encoding: "miniBlock(flat)" }],
        },
      ],
    },
  },
  describeTableStorage: {
    tag: "Tables",
    description:
      "Returns fragments, columns, encodings, deletions and indexes of a version with their bytes.",
    request: {},
    answer: {
      version: 8,
      bytes: 8192,
      columns: [{ name: "id", bytes: 96 }],
      fragments: [{ id: 0, rows: 3, deleted_rows: 0, deletion_bytes: 0, files: [] }],
      indexes: [],
    },
  },
  restoreTable: {
    tag: "Versions",
    description: "Commits a new version with the content of an older one.",
    request: { version: 7 },
    answer: COMMITTED,
  },
  insertIntoTable: {
    tag: "Rows",
    description:
      "Adds rows, or replaces all rows (`mode=Overwrite`). From JSON, the type of the column decides: ISO text for dates, text or numbers for integers and decimals, base64 for binary.",
    request: ROWS,
    answer: { ...COMMITTED, num_inserted_rows: 1 },
  },
  mergeInsertIntoTable: {
    tag: "Rows",
    description: "Updates, inserts and deletes rows by the key columns `on`, in one version.",
    request: ROWS,
    answer: { ...COMMITTED, num_updated_rows: 1, num_inserted_rows: 0, num_deleted_rows: 0 },
  },
  updateTable: {
    tag: "Rows",
    description:
      "Sets columns of the rows that a condition selects, to values or SQL expressions. Without a condition, of all rows.",
    request: { where: "id = 1", values: { item: "elm" }, values_sql: { price: "price * 2" } },
    answer: { ...COMMITTED, updated_rows: 1 },
  },
  deleteFromTable: {
    tag: "Rows",
    description: "Removes the rows that a condition selects. `true` selects all.",
    request: { where: "price > $most", params: { most: 100 } },
    answer: { ...COMMITTED, num_deleted_rows: 3 },
  },
  queryTable: {
    tag: "Rows",
    description:
      "Reads rows: all of them, those of a condition, or the best of a search by vector or text. `accept` chooses the form; Arrow is the default.",
    request: {
      columns: ["id", "price"],
      where: "price > 5",
      order_by: [{ column_name: "price" }],
      limit: 10,
    },
    answer: [{ id: 1, price: 9.5 }],
  },
  takeTableRows: {
    tag: "Rows",
    description:
      "Reads the rows with given row ids, or at given offsets, in the table's order. Ids and offsets without a row are left out. `accept` chooses the form; Arrow is the default.",
    request: { row_ids: [7, "9007199254740993"], columns: ["id", "price"] },
    answer: [{ id: 1, price: 9.5 }],
  },
  aggregateTable: {
    tag: "Rows",
    description: "Groups rows and computes aggregate functions of each group.",
    request: { group_by: ["item"], values: { n: "count(*)", total: "sum(price)" }, limit: 10 },
    answer: [{ item: "ash", n: 1, total: 9.5 }],
  },
  countTableRows: {
    tag: "Rows",
    description: "Counts the rows that a condition selects, by default all.",
    request: { where: "price > 5" },
    answer: 42,
  },
  explainTableQueryPlan: {
    tag: "Rows",
    description: "Returns the plan of a query as text, without running it.",
    request: { query: { where: "price > 5" } },
    answer: "Project: columns=[id]",
  },
  analyzeTableQueryPlan: {
    tag: "Rows",
    description: "Runs a query and returns its plan with rows and times measured.",
    request: { where: "price > 5" },
    answer: "Project: columns=[id], rows=42",
  },
  createTableVersion: {
    tag: "Versions",
    description: "Publishes a manifest that a client wrote, under a free version number.",
    request: { version: 8, manifest_path: `${LOCATION}/_versions/_staging/a.manifest` },
    answer: { version: { ...VERSION, version: 8 }, ...CHANGED },
  },
  describeTableVersion: {
    tag: "Versions",
    description: "Returns the manifest and time of a version; by default of the latest.",
    request: { version: 7 },
    answer: { version: VERSION },
  },
  listTableVersions: {
    tag: "Versions",
    description: "Lists the versions of a table, page by page.",
    request: {},
    answer: { versions: [VERSION] },
  },
  migrateManifestNames: {
    tag: "Versions",
    description:
      "Renames the manifests of a table from scheme V1 to V2. Readers fail meanwhile. After a crash, the next call goes on.",
    request: {},
    answer: { num_renamed: 5 },
  },
  diffTableVersions: {
    tag: "Versions",
    description:
      "Streams the rows that differ between two versions: `kind` is added, removed or changed, `row` has the " +
      "values after the change, and `before` those before it. Rows are matched by the columns `on`, or by " +
      "stable row ids.",
    request: { from: 6, to: 7, on: ["id"] },
    answer: [
      { kind: "changed", row: { id: 1, item: "ash", price: 9.5 }, before: { id: 1, item: "ash", price: 9 } },
    ],
  },
  watchTable: {
    tag: "Versions",
    description:
      "Streams versions as they are committed. The id of each event is the number of the version. A client " +
      "that reconnects sends it as `Last-Event-ID` and misses nothing. The stream ends with the server's time " +
      "limit for requests, and with an event `error` if the table is dropped.",
    answer: 'id: 7\nevent: version\ndata: {"version":7,"operation":"Append","rows_added":3}\n\n',
  },
  batchDeleteTableVersions: {
    tag: "Versions",
    description: "Removes ranges of versions. The end of a range is exclusive.",
    request: { ranges: [{ start_version: 1, end_version: 5 }] },
    answer: { deleted_count: 4 },
  },
  batchCreateTableVersions: {
    tag: "Versions",
    description: "Publishes manifests of several tables: all, or none.",
    request: { entries: [{ id: ["orders"], version: 8, manifest_path: "_versions/_staging/a.manifest" }] },
    answer: { versions: [{ ...VERSION, version: 8 }], ...CHANGED },
  },
  batchCommitTables: {
    tag: "Versions",
    description: "Declares, deregisters and changes versions of several tables: all, or none.",
    request: { operations: [{ declare_table: { id: ["orders"] } }] },
    answer: {
      results: [{ declare_table: { location: LOCATION, properties: {}, managed_versioning: false } }],
      ...CHANGED,
    },
  },
  createTableBranch: {
    tag: "Branches",
    description: "Starts a branch at a version; by default at the latest of main.",
    request: { name: "trial", from_version: 7 },
    answer: CHANGED,
  },
  listTableBranches: {
    tag: "Branches",
    description: "Lists the branches of a table by name, page by page. Main is not among them.",
    request: {},
    answer: { branches: { trial: { parentVersion: 7, createAt: 1_764_300_000, manifestSize: 1204 } } },
  },
  mergeTableBranch: {
    tag: "Branches",
    description:
      "Compares the branch and the one that it was made from with the version at which they part, and commits " +
      "the changes of the branch: added, changed and deleted rows. Rows that both changed in different ways " +
      "are conflicts: the answer is 409 and nothing changes, unless `conflicts` is ours or theirs. If the branch " +
      "has no new version since the last merge, nothing is committed, and there is no `transaction_id`.",
    request: { name: "trial", on: ["id"], conflicts: "theirs" },
    answer: { ...COMMITTED, num_inserted_rows: 2, num_updated_rows: 1, num_deleted_rows: 0 },
  },
  deleteTableBranch: {
    tag: "Branches",
    description: "Deletes a branch that no other branch and no tag refers to.",
    request: { name: "trial" },
    answer: CHANGED,
  },
  createTableTag: {
    tag: "Tags",
    description: "Gives a version a name.",
    request: { tag: "audited", version: 7 },
    answer: CHANGED,
  },
  listTableTags: {
    tag: "Tags",
    description: "Lists the tags of a table by name, page by page.",
    request: {},
    answer: { tags: { audited: { version: 7, manifestSize: 1204 } } },
  },
  getTableTagVersion: {
    tag: "Tags",
    description: "Returns the version that a tag names.",
    request: { tag: "audited" },
    answer: { version: 7 },
  },
  updateTableTag: {
    tag: "Tags",
    description: "Moves a tag to another version.",
    request: { tag: "audited", version: 8 },
    answer: CHANGED,
  },
  deleteTableTag: {
    tag: "Tags",
    description: "Removes a tag. Its version stays.",
    request: { tag: "audited" },
    answer: CHANGED,
  },
  updateFieldMetadata: {
    tag: "Schema",
    description: "Changes the metadata of fields. A null value deletes a key.",
    request: { updates: [{ path: "price", metadata: { unit: "EUR" } }] },
    answer: { ...COMMITTED, fields: { price: { unit: "EUR" } } },
  },
  updateTableSchemaMetadata: {
    tag: "Schema",
    description: "Replaces the metadata of the schema. The body is the map of all keys.",
    request: { source: "shop" },
    answer: { source: "shop" },
  },
  alterTableAddColumns: {
    tag: "Schema",
    description: "Adds columns: from SQL expressions, of a type with nulls, or computed by a function.",
    request: { new_columns: [{ name: "gross", expression: "price * 1.2" }] },
    answer: COMMITTED,
  },
  alterTableAlterColumns: {
    tag: "Schema",
    description: "Renames columns, or changes their type or nullability. A value that does not fit fails.",
    request: { alterations: [{ path: "id", data_type: "int64" }] },
    answer: COMMITTED,
  },
  alterTableDropColumns: {
    tag: "Schema",
    description: "Drops columns.",
    request: { columns: ["gross"] },
    answer: COMMITTED,
  },
  alterTableBackfillColumns: {
    tag: "Schema",
    description: "Starts a job that computes the values of a column.",
    request: { column: "vector" },
    answer: { job_id: "5d0c1b9a" },
  },
  describeComputedColumns: {
    tag: "Schema",
    description: "Lists the computed columns, and how many rows have no current value.",
    request: {},
    answer: {
      columns: [
        {
          column: "gross",
          kind: "sql",
          expression: "price * 1.2",
          inputs: ["price"],
          stale_rows: 0,
          stale_fragments: [],
        },
      ],
    },
  },
  createTableIndex: {
    tag: "Indexes",
    description: "Starts a job that builds an index of any kind.",
    request: { column: "vector", index_type: "IVF_PQ", distance_type: "cosine" },
    answer: { job_id: "5d0c1b9a" },
  },
  createTableScalarIndex: {
    tag: "Indexes",
    description: "Starts a job that builds an index on values or texts.",
    request: { column: "price", index_type: "BTREE" },
    answer: { job_id: "5d0c1b9a" },
  },
  listTableIndices: {
    tag: "Indexes",
    description: "Lists the indexes of a version by name.",
    request: {},
    answer: {
      indexes: [
        {
          index_name: "price_idx",
          index_uuid: "5d0c1b9a-2f68-4b55-9f2b-8b0f4f1c2d3e",
          columns: ["price"],
          status: "ready",
          index_type: "BTREE",
        },
      ],
    },
  },
  describeTableIndexStats: {
    tag: "Indexes",
    description: "Returns how many rows an index covers.",
    request: {},
    answer: { index_type: "BTREE", num_indexed_rows: 100, num_unindexed_rows: 0, num_indices: 1 },
  },
  tokenize: {
    tag: "Indexes",
    description:
      "Cuts a text into tokens, as an index with these options does, or as a full-text index of the table `id`.",
    request: { text: "Running foxes", language: "English" },
    answer: [
      { text: "run", position: 0 },
      { text: "fox", position: 1 },
    ],
  },
  dropTableIndex: {
    tag: "Indexes",
    description: "Drops an index. Older versions keep it.",
    request: {},
    answer: CHANGED,
  },
  describeTransaction: {
    tag: "Transactions",
    description: "Returns the status of a change. The id may follow the table's id.",
    request: {},
    answer: { status: "Succeeded", properties: {} },
  },
  alterTransaction: {
    tag: "Transactions",
    description: "Changes the status or the properties of a transaction.",
    request: { actions: [{ set_property_action: { key: "reviewed", value: "yes" } }] },
    answer: { status: "Succeeded", properties: { reviewed: "yes" } },
  },
  cleanupTable: {
    tag: "Jobs",
    description: "Removes old versions and the files that only they need.",
    request: { older_than_ms: 604_800_000 },
    answer: { bytes_removed: 4096, versions_removed: 3, files_removed: 5 },
  },
  configureCleanup: {
    tag: "Jobs",
    description: "Sets which old versions commits of a table remove, and how often.",
    request: { older_than_ms: 604_800_000, interval: 20 },
    answer: { ...COMMITTED, older_than_ms: 604_800_000, interval: 20 },
  },
  configureLsmWrites: {
    tag: "Jobs",
    description:
      "Stores settings of LanceDB's log-structured writes in the table, or removes them. This server writes no logs.",
    request: { spec: { spec_type: "bucket", column: "id", num_buckets: 4 } },
    answer: { ...COMMITTED, spec: { spec_type: "bucket", column: "id", num_buckets: 4 } },
  },
  configureUpkeep: {
    tag: "Jobs",
    description: "Sets from which state on the server's upkeep works on the table. Replaces all thresholds.",
    request: { small_fragments: 20, versions: "off" },
    answer: { ...COMMITTED, small_fragments: 20, versions: "off" },
  },
  optimizeTable: {
    tag: "Jobs",
    description: "Merges small fragments, drops deleted rows from files and adds new rows to indexes.",
    request: { background: true },
    answer: { job_id: "5d0c1b9a" },
  },
  describeJob: { tag: "Jobs", description: "Returns the state of a job.", request: {}, answer: JOB },
  waitForJob: {
    tag: "Jobs",
    description: "Returns the state of a job at its end, or after the timeout.",
    request: { timeout_ms: 10_000 },
    answer: { ...JOB, state: "Succeeded", done: 100_000 },
  },
  cancelJob: {
    tag: "Jobs",
    description: "Cancels a job and returns its state.",
    request: {},
    answer: { ...JOB, state: "Cancelled" },
  },
  listJobs: {
    tag: "Jobs",
    description: "Lists the jobs of a table, or of all tables.",
    request: { id: ["orders"], state: "Running" },
    answer: { jobs: [JOB] },
  },
};
