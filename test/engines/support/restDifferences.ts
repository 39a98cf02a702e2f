/**
 * Differences of our server's answers to `restCalls.ts` from those of Lance's server, with reasons.
 * `docs/http.md` has the same reasons.
 */

export interface Difference {
  /** Sentences of the page, on one line. */
  readonly reason: string;
  /** Lines that may occur for any call. */
  readonly anywhere?: readonly string[];
  /** Lines by the names of calls. */
  readonly calls?: Readonly<Record<string, string | readonly string[]>>;
}

export const DIFFERENCES: readonly Difference[] = [
  {
    reason:
      "Our answers say more: the `transaction_id` of a change, `num_inserted_rows`, `num_deleted_rows`, the `version` after a restore and of a table that exists already, the `job_id` that builds an index, `page_token` if there is more, and `properties` even if there are none.",
    anywhere: [
      "more: transaction_id",
      "more: num_inserted_rows",
      "more: num_deleted_rows",
      "more: job_id",
      "more: page_token",
      "more: properties",
    ],
  },
  {
    reason:
      "`describe` says everything that the spec lets a server leave out: version, schema, statistics, metadata, properties, `managed_versioning` and `is_only_declared`. Lance's server says version and schema only if `load_detailed_metadata` is true.",
    anywhere: [
      "more: version",
      "more: schema",
      "more: stats",
      "more: metadata",
      "more: managed_versioning",
      "more: is_only_declared",
    ],
  },
  {
    reason:
      "`metadata` of a table is the metadata of its schema, and `stats` has the counts. Lance's server mixes counts into `metadata` and has no `stats`.",
    anywhere: [
      "less: metadata.total_rows",
      "less: metadata.total_fragments",
      "less: metadata.total_files_size",
      "less: metadata.total_data_files",
      "less: metadata.total_data_file_rows",
      "less: metadata.total_deletion_files",
      "less: metadata.total_deletion_file_rows",
    ],
  },
  {
    reason:
      "Versions have no `e_tag`: it serves object stores, where a manifest can be replaced under its name.",
    anywhere: ["less: versions[].e_tag", "less: version.e_tag"],
  },
  {
    reason:
      "Versions tell what their commit changed: `operation`, `rows_added`, `rows_changed` and `rows_removed`.",
    anywhere: [
      "more: version.operation",
      "more: version.rows_added",
      "more: version.rows_changed",
      "more: version.rows_removed",
      "more: versions[].operation",
      "more: versions[].rows_added",
      "more: versions[].rows_changed",
      "more: versions[].rows_removed",
    ],
  },
  {
    reason:
      "Types of indexes have the names of the spec and of LanceDB (`BTREE`, `BITMAP`, `FTS`), not those of Lance's classes (`BTree`, `Bitmap`, `Inverted`). `index_details` leaves out settings of Lance's own builder, and statistics of a vector index name its distance.",
    calls: {
      "list indexes": ["other: indexes[].index_type", "other: indexes[].index_details"],
      "read the statistics of an index BTREE": "other: index_type",
      "read the statistics of an index FTS": "other: index_type",
      "read the statistics of an index IVF_FLAT": "more: distance_type",
    },
  },
  {
    reason: "A body may be empty or null: it stands for `{}`.",
    calls: {
      "create a namespace with an empty body": "200, not 400/13",
      "create a namespace with a body that is null": "200, not 400/13",
      "describe a table with an empty body": "200, not 400/13",
      "query with an empty body": "200, not 400/13",
    },
  },
  {
    reason:
      "A query needs neither `k` nor `vector` nor `vector_column`. Without `vector_column` it searches the only column of vectors; Lance's server then looks for a column named `vector`.",
    calls: {
      "search a vector without its column": "200, not 400/13",
      "query with a vector that is null": "200, not 400/13",
      "query without a limit": "200, not 400/13",
      "query without a vector": "200, not 400/13",
    },
  },
  {
    reason:
      "A search for several vectors finds the nearest rows of each, with `query_index`. Lance's server searches the first vector only.",
    calls: { "search two vectors": ["other: fields", "other: rows"] },
  },
  {
    reason: "Plans are those of each engine.",
    calls: {
      "explain a query": "other: the body",
      "explain a query verbosely": "other: the body",
      "analyze a query": "other: the body",
    },
  },
  {
    reason: "`GET` works for statistics and counts too.",
    calls: { "read the statistics of a table by GET": "200, not 405", "count rows by GET": "200, not 405" },
  },
  { reason: "Rows may be JSON, in and out." },
  {
    reason:
      "Every error has a body, also that of an unknown route (404) or method (405). A body of another media type is refused with 415, not 400.",
    calls: {
      "create a namespace with a body of another type": "415/13, not 400/13",
      "list namespaces by POST": "405/0, not 405",
      "describe a table by GET": "405/0, not 405",
      "call an unknown route": "404/0, not 404",
      "call an unknown operation of a table": "404/0, not 404",
      "call another version of the protocol": "404/0, not 404",
      "call a route by PUT": "405/0, not 405",
    },
  },
  {
    reason:
      "Modes and behaviors of namespaces are obeyed: `ExistOk`, `Overwrite`, `Skip` and `Cascade`. Lance's server ignores them all.",
    calls: {
      "create a namespace again by mode ExistOk": "200, not 409/2",
      "create a namespace again by mode exist_ok": "200, not 409/2",
      "create a namespace again by mode Overwrite": "200, not 409/2",
      "drop a missing namespace by mode Skip": "200, not 404/1",
      "drop a namespace with others by behavior Cascade": "200, not 409/3",
    },
  },
  {
    reason:
      "What has no meaning is refused with 400 and changes nothing: an unknown member, mode or behavior, an empty delimiter, a page token of another operation, a limit or version out of range, `k` of 0 in a search, a merge that does nothing, a list of changes or ranges that is empty, a range that ends before it starts. Lance's server ignores them, and commits a version for no changes.",
    calls: {
      "create a namespace by an unknown mode": "400/13, not 200",
      "list namespaces with a limit of zero": "400/13, not 200",
      "list namespaces with a limit below zero": "400/13, not 200",
      "drop a namespace by an unknown behavior": "400/13, not 200",
      "describe a table by an empty delimiter": "400/13, not 404/4",
      "describe a version below zero": "400/13, not 404/11",
      "describe a table with an unknown member": "400/13, not 200",
      "search a vector for nothing": "400/13, not 200",
      "query with a negative limit": "400/13, not 200",
      "merge rows with nothing to do": "400/13, not 200",
      "list versions with a limit of zero": "400/13, not 200",
      "list versions after a token that is not a version": "400/13, not 200",
      "delete versions without ranges": "400/13, not 200",
      "delete a range that ends before it starts": "400/13, not 200",
      "add no columns": "400/13, not 200",
      "alter nothing": "400/13, not 200",
      "drop no columns": "400/13, not 200",
    },
  },
  {
    reason:
      "A missing namespace is an error (404, code 1). Lance's server lists none or the tables of the root, and makes tables in it.",
    calls: {
      "list namespaces of a missing one": "404/1, not 200",
      "create a table in a missing namespace": "404/1, not 200",
      "declare a table in a missing namespace": "404/1, not 200",
      "list tables of a missing namespace": "404/1, not 200",
      "describe a table in a missing namespace": "404/1, not 200",
      "drop a table of a missing namespace": "404/1, not 200",
    },
  },
  {
    reason: "A missing version is an error (404, code 11) wherever a request names one.",
    calls: {
      "describe a missing version of a table": "404/11, not 200",
      "ask whether a missing version of a table exists": "404/11, not 200",
    },
  },
  {
    reason:
      "A missing column has its own error (404, code 12), as have a missing branch (code 22), a missing version from which a branch starts (code 11), and a column that exists (400, code 13). Lance's server says 400 with code 13, 404 with code 4, or 409 with code 14.",
    calls: {
      "merge rows by a missing column": "404/12, not 400/13",
      "update a missing column": "404/12, not 400/13",
      "update by a predicate of a missing column": "404/12, not 400/13",
      "delete by a predicate of a missing column": "404/12, not 400/13",
      "search a vector in a missing column": "404/12, not 400/13",
      "list versions of a missing branch": "404/22, not 404/4",
      "create a branch of a missing version": "404/11, not 400/13",
      "add a column that exists": "400/13, not 409/14",
    },
  },
  {
    reason: "Bad input is never an internal error. Lance's server answers 500 with code 18.",
    calls: {
      "create a table of bytes that are not Arrow": "400/13, not 500/18",
      "create a table of Arrow that is cut": "400/13, not 500/18",
      "insert rows of another schema": "400/20, not 500/18",
      "query a missing column": "404/12, not 500/18",
      "query by a filter that cannot be parsed": "400/13, not 500/18",
      "create a branch of a missing branch": "404/22, not 500/18",
      "restore a missing version": "404/11, not 500/18",
      "add a column of a missing column": "404/12, not 500/18",
      "add a column by an expression that cannot be parsed": "400/13, not 500/18",
      "add a column without an expression": "400/13, not 500/18",
      "rename a column to a name that is taken": "400/13, not 500/18",
      "change a column to an unknown type": "406/0, not 500/18",
      "alter a missing column": "404/12, not 500/18",
      "drop a missing column": "404/12, not 500/18",
      "create an index of vectors on text": "400/13, not 500/18",
    },
  },
  {
    reason: "A type of a column may be an object too, as in the answers of `describe`.",
    calls: { "change the type of a column": "200, not 500/18" },
  },
  {
    reason:
      "Renaming tables, versions and changes of several tables at once, and backfills are implemented. Lance's server refuses them with 500 and code 18.",
    calls: {
      "rename a table": "200, not 500/18",
      "rename a table to a name that is taken": "409/5, not 500/18",
      "rename a table to its own name": "409/5, not 500/18",
      "rename a missing table": "404/4, not 500/18",
      "rename a table into a missing namespace": "404/1, not 500/18",
      "rename a table into the root": "200, not 500/18",
      "create versions of no tables": "400/13, not 500/18",
      "commit no tables": "400/13, not 500/18",
      "commit an operation without members": "400/13, not 500/18",
      "declare two tables at once": "200, not 500/18",
      "declare two tables at once, one of which exists": "409/5, not 500/18",
      "backfill a column that is not computed": "400/13, not 500/18",
    },
  },
  {
    reason: "`GET /v1/table` lists the tables of all namespaces. Lance's server lists those of the root.",
    calls: { "list all tables": "other: tables", "list all tables, two at a time": "other: tables[]" },
  },
  {
    reason: "Lists of versions go on after the `page_token`. Lance's server ignores it.",
    calls: { "list versions after one": "other: versions" },
  },
  {
    reason: "A declared table has no rows. Lance's server cannot count them (404).",
    calls: { "count the rows of a declared table": "200, not 404/4" },
  },
  {
    reason: "A table that was deregistered is gone (404). Lance's server still describes it.",
    calls: { "describe a deregistered table": "404/4, not 200" },
  },
  {
    reason: "A table of the root lies in `<name>.lance`, so no other directory can be registered there.",
    calls: { "register a table": "400/13, not 200" },
  },
  {
    reason: "A version that has a tag is not deleted (400). Lance's server deletes it.",
    calls: { "delete a version that has a tag": "400/13, not 200" },
  },
];
