/**
 * Calls of the REST protocol, valid and invalid, in order. Each group has tables of its own, so that a
 * refused call changes no answer of another group.
 */

import { Table as ArrowTable, type Table, tableToIPC } from "apache-arrow";
import { float64s } from "../../support/arrowColumns.js";
import { NUMBERS, numbersFrom, rowsOf, TEXTS, VECTORS } from "./rows.js";

export interface RestCall {
  /** The call in words, unique among all. */
  readonly name: string;
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly body?: string | Uint8Array;
  readonly contentType?: string;
}

const ARROW = "application/vnd.apache.arrow.stream";
const ROWS = 300;

const COLUMNS = { n: NUMBERS, s: TEXTS, v: VECTORS };
const rowsFrom = (first: number, count = ROWS): Table => rowsOf(numbersFrom(first, count), COLUMNS);

const get = (name: string, path: string): RestCall => ({ name, method: "GET", path });

/** A call without a body if there is no JSON. */
const post = (name: string, path: string, json?: unknown): RestCall =>
  json === undefined
    ? { name, method: "POST", path }
    : postBytes(name, path, JSON.stringify(json), "application/json");

const postBytes = (
  name: string,
  path: string,
  body: string | Uint8Array,
  contentType = "application/json",
): RestCall => ({ name, method: "POST", path, body, contentType });

const postRows = (name: string, path: string, rows: Table): RestCall =>
  postBytes(name, path, tableToIPC(rows, "stream"), ARROW);

/** Calls on the tables of a group. */
const query = (name: string, more: object = {}): RestCall =>
  post(name, "/v1/table/plain/query", { k: 1000, vector: {}, ...more });
const search = (name: string, more: object = {}): RestCall =>
  query(name, { k: 5, vector: { single_vector: [3, 3, 3, 1] }, vector_column: "v", ...more });
const merge = (name: string, options: string, rows: Table): RestCall =>
  postRows(name, `/v1/table/rows/merge_insert?${options}`, rows);
const add = (name: string, ...newColumns: object[]): RestCall =>
  post(name, "/v1/table/columns/add_columns", { new_columns: newColumns });
const alter = (name: string, alteration: object): RestCall =>
  post(name, "/v1/table/columns/alter_columns", { alterations: [alteration] });
const index = (name: string, verb: string, body: object): RestCall =>
  post(name, `/v1/table/columns/${verb}`, body);
const branch = (name: string, body: object): RestCall =>
  post(name, "/v1/table/versions/branches/create", body);
const deleteVersions = (name: string, first: number, last: number): RestCall =>
  post(name, "/v1/table/deleted/version/delete", {
    ranges: [{ start_version: first, end_version: last }],
  });

const otherSchema = new ArrowTable({ x: float64s([1.5, 2.5]) });

/** Namespaces: made, listed, described and dropped. */
const NAMESPACES: readonly RestCall[] = [
  get("list the empty root", "/v1/namespace/$/list"),
  get("list the tables of the empty root", "/v1/namespace/$/table/list"),
  get("list all tables where there are none", "/v1/table"),
  post("describe the root", "/v1/namespace/$/describe", {}),
  post("ask whether the root exists", "/v1/namespace/$/exists", {}),
  post("create the root", "/v1/namespace/$/create", {}),
  post("drop the root", "/v1/namespace/$/drop", {}),
  post("create a namespace", "/v1/namespace/a/create", {}),
  post("create a namespace with properties", "/v1/namespace/b/create", { properties: { owner: "me" } }),
  post("create a namespace in a namespace", "/v1/namespace/a$x/create", {}),
  post("create a namespace with another delimiter", "/v1/namespace/a.y/create?delimiter=.", {}),
  post("create a namespace in a missing one", "/v1/namespace/nowhere$x/create", {}),
  post("create a namespace again", "/v1/namespace/a/create", {}),
  post("create a namespace again by mode ExistOk", "/v1/namespace/a/create", { mode: "ExistOk" }),
  post("create a namespace again by mode exist_ok", "/v1/namespace/a/create", { mode: "exist_ok" }),
  post("create a namespace for others", "/v1/namespace/z/create", {}),
  post("create a namespace to overwrite", "/v1/namespace/z$o/create", {}),
  post("create a namespace again by mode Overwrite", "/v1/namespace/z$o/create", { mode: "Overwrite" }),
  post("create a namespace by an unknown mode", "/v1/namespace/z$c/create", { mode: "Sometimes" }),
  post("create a namespace with properties of a wrong type", "/v1/namespace/z$d/create", {
    properties: "none",
  }),
  post("create a namespace with an empty body", "/v1/namespace/z$e/create"),
  postBytes("create a namespace with a body that is not JSON", "/v1/namespace/z$f/create", "{mode"),
  post("create a namespace with a body that is a list", "/v1/namespace/z$g/create", []),
  postBytes("create a namespace with a body that is null", "/v1/namespace/z$h/create", "null"),
  postBytes("create a namespace with a body of another type", "/v1/namespace/z$i/create", "{}", "text/plain"),
  post("create a namespace with an id in the body too", "/v1/namespace/j/create", { id: ["j"] }),
  post("create a namespace with a different id in the body", "/v1/namespace/k/create", { id: ["zzz"] }),
  get("list namespaces", "/v1/namespace/$/list"),
  get("list namespaces of a namespace", "/v1/namespace/a/list"),
  get("list namespaces of an empty namespace", "/v1/namespace/b/list"),
  get("list namespaces of a missing one", "/v1/namespace/nowhere/list"),
  get("list namespaces, two at a time", "/v1/namespace/$/list?limit=2"),
  get("list namespaces with a limit of zero", "/v1/namespace/$/list?limit=0"),
  get("list namespaces with a limit below zero", "/v1/namespace/$/list?limit=-1"),
  get("list namespaces with a limit that is not a number", "/v1/namespace/$/list?limit=many"),
  get("list namespaces after a name", "/v1/namespace/$/list?page_token=a&limit=1"),
  get("list namespaces after all names", "/v1/namespace/$/list?page_token=zzz"),
  post("list namespaces by POST", "/v1/namespace/$/list", {}),
  post("describe a namespace", "/v1/namespace/b/describe", {}),
  post("describe a namespace without properties", "/v1/namespace/a/describe", {}),
  post("describe a missing namespace", "/v1/namespace/nowhere/describe", {}),
  post("ask whether a namespace exists", "/v1/namespace/a$x/exists", {}),
  post("ask whether a missing namespace exists", "/v1/namespace/a$z/exists", {}),
  post("drop a namespace that has others", "/v1/namespace/a/drop", {}),
  post("drop a namespace", "/v1/namespace/a$x/drop", {}),
  post("drop a missing namespace", "/v1/namespace/a$x/drop", {}),
  post("drop a missing namespace by mode Skip", "/v1/namespace/a$x/drop", { mode: "Skip" }),
  post("drop a namespace by mode Fail", "/v1/namespace/j/drop", { mode: "Fail" }),
  post("drop a namespace by behavior Restrict", "/v1/namespace/k/drop", { behavior: "Restrict" }),
  post("drop a namespace with others by behavior Cascade", "/v1/namespace/a/drop", { behavior: "Cascade" }),
  post("drop a namespace by an unknown behavior", "/v1/namespace/z$o/drop", { behavior: "Gently" }),
];

/** Tables: made, listed, described, renamed, registered and dropped. */
const TABLES: readonly RestCall[] = [
  postRows("create a table", "/v1/table/t/create", rowsFrom(0)),
  postRows("create a table again", "/v1/table/t/create", rowsFrom(0)),
  postRows("create a table again by mode ExistOk", "/v1/table/t/create?mode=ExistOk", rowsFrom(0)),
  postRows("create a table again by mode exist_ok", "/v1/table/t/create?mode=exist_ok", rowsFrom(0)),
  postRows("create a table again by mode overwrite", "/v1/table/t/create?mode=overwrite", rowsFrom(0, 20)),
  postRows("create a table by an unknown mode", "/v1/table/t2/create?mode=sometimes", rowsFrom(0)),
  post("create a table without a body", "/v1/table/t3/create"),
  postBytes("create a table of bytes that are not Arrow", "/v1/table/t4/create", "not Arrow", ARROW),
  postBytes(
    "create a table of Arrow that is cut",
    "/v1/table/t5/create",
    tableToIPC(rowsFrom(0), "stream").subarray(0, 2000),
    ARROW,
  ),
  postRows("create a table without rows", "/v1/table/empty/create", rowsFrom(0, 0)),
  postRows("create a table in a namespace", "/v1/table/b$t/create", rowsFrom(0)),
  postRows("create a table in a missing namespace", "/v1/table/nowhere$t/create", rowsFrom(0)),
  postRows(
    "create a table with properties",
    `/v1/table/p/create?properties=${encodeURIComponent('{"owner":"me"}')}`,
    rowsFrom(0),
  ),
  postRows(
    "create a table with properties that are not JSON",
    "/v1/table/p2/create?properties=owner",
    rowsFrom(0),
  ),
  postRows("create a table of the root itself", "/v1/table/$/create", rowsFrom(0)),
  post("declare a table", "/v1/table/d/declare", {}),
  post("declare a table with properties", "/v1/table/b$d/declare", { properties: { owner: "me" } }),
  post("declare a table again", "/v1/table/d/declare", {}),
  post("declare a table that exists", "/v1/table/t/declare", {}),
  post("declare a table in a missing namespace", "/v1/table/nowhere$d/declare", {}),
  post("declare a table in a directory of another name", "/v1/table/dd/declare", { location: "elsewhere" }),
  post("describe a declared table", "/v1/table/d/describe", {}),
  post("describe a declared table and check that it is", "/v1/table/d/describe", { check_declared: true }),
  post("ask whether a declared table exists", "/v1/table/d/exists", {}),
  post("count the rows of a declared table", "/v1/table/d/count_rows", {}),
  postRows("create a declared table", "/v1/table/d/create", rowsFrom(0, 3)),
  get("list tables", "/v1/namespace/$/table/list"),
  get("list tables without declared ones", "/v1/namespace/b/table/list?include_declared=false"),
  get("list tables of a namespace", "/v1/namespace/b/table/list"),
  get("list tables of a missing namespace", "/v1/namespace/nowhere/table/list"),
  get("list tables, two at a time", "/v1/namespace/$/table/list?limit=2"),
  get("list tables after a name", "/v1/namespace/$/table/list?page_token=empty&limit=1"),
  get("list all tables", "/v1/table"),
  get("list all tables, two at a time", "/v1/table?limit=2"),
  post("describe a table", "/v1/table/t/describe", {}),
  post("describe a table in a namespace", "/v1/table/b$t/describe", {}),
  post("describe a table with another delimiter", "/v1/table/b.t/describe?delimiter=.", {}),
  post("describe a table by a delimiter of two characters", "/v1/table/b--t/describe?delimiter=--", {}),
  post("describe a table by an empty delimiter", "/v1/table/b$t/describe?delimiter=", {}),
  post("describe a table in detail", "/v1/table/t/describe", { load_detailed_metadata: true }),
  post("describe a table in detail by query", "/v1/table/t/describe?load_detailed_metadata=true", {}),
  post("describe a table with its URI", "/v1/table/t/describe?with_table_uri=true", {}),
  post("describe a version of a table", "/v1/table/t/describe", { version: 1, load_detailed_metadata: true }),
  post("describe a missing version of a table", "/v1/table/t/describe", { version: 77 }),
  post("describe a missing version of a table in detail", "/v1/table/t/describe", {
    version: 77,
    load_detailed_metadata: true,
  }),
  post("describe a version that is text", "/v1/table/t/describe", { version: "1" }),
  post("describe a version below zero", "/v1/table/t/describe", {
    version: -1,
    load_detailed_metadata: true,
  }),
  post("describe a version that is a fraction", "/v1/table/t/describe", { version: 1.5 }),
  post("describe a missing table", "/v1/table/nothing/describe", {}),
  post("describe a table in a missing namespace", "/v1/table/nowhere$t/describe", {}),
  post("describe a table with an empty body", "/v1/table/t/describe"),
  postBytes("describe a table with a body that is not JSON", "/v1/table/t/describe", "{"),
  post("describe a table with an unknown member", "/v1/table/t/describe", { colour: "red" }),
  get("describe a table by GET", "/v1/table/t/describe"),
  post("describe a table with a slash at the end", "/v1/table/t/describe/", {}),
  post("describe a namespace as a table", "/v1/table/b/describe", {}),
  post("ask whether a table exists", "/v1/table/t/exists", {}),
  post("ask whether a version of a table exists", "/v1/table/t/exists", { version: 1 }),
  post("ask whether a missing version of a table exists", "/v1/table/t/exists", { version: 77 }),
  post("ask whether a missing table exists", "/v1/table/nothing/exists", {}),
  post("read the statistics of a table", "/v1/table/t/stats", {}),
  get("read the statistics of a table by GET", "/v1/table/t/stats"),
  post("read the statistics of a missing table", "/v1/table/nothing/stats", {}),
  post("drop a namespace that has tables", "/v1/namespace/b/drop", {}),
  post("rename a table", "/v1/table/b$t/rename", { new_table_name: "u" }),
  post("rename a table to a name that is taken", "/v1/table/b$u/rename", { new_table_name: "d" }),
  post("rename a table to its own name", "/v1/table/b$u/rename", { new_table_name: "u" }),
  post("rename a missing table", "/v1/table/b$nothing/rename", { new_table_name: "u2" }),
  post("rename a table into a missing namespace", "/v1/table/b$u/rename", {
    new_table_name: "moved",
    new_namespace_id: ["nowhere"],
  }),
  post("rename a table without a name", "/v1/table/b$u/rename", {}),
  post("rename a table into the root", "/v1/table/b$u/rename", {
    new_table_name: "moved",
    new_namespace_id: [],
  }),
  post("deregister a table", "/v1/table/p/deregister", {}),
  post("describe a deregistered table", "/v1/table/p/describe", {}),
  post("deregister a missing table", "/v1/table/nothing/deregister", {}),
  post("register a table", "/v1/table/r/register", { location: "empty.lance" }),
  post("register a table under a name that is taken", "/v1/table/t/register", { location: "empty.lance" }),
  post("register a table outside of the root", "/v1/table/out/register", { location: "../elsewhere.lance" }),
  post("register a table by an absolute path", "/v1/table/out/register", {
    location: "/tmp/elsewhere.lance",
  }),
  post("register a table by a URI", "/v1/table/out/register", { location: "s3://bucket/elsewhere.lance" }),
  post("register a table without a location", "/v1/table/r2/register", {}),
  post("drop a table", "/v1/table/d/drop"),
  post("drop a table in a namespace", "/v1/table/b$d/drop"),
  post("drop a missing table", "/v1/table/d/drop"),
  post("drop a table of a missing namespace", "/v1/table/nowhere$d/drop"),
];

/** Rows: added, merged, changed, removed, read and counted. */
const ROWS_OF_A_TABLE: readonly RestCall[] = [
  postRows("create a table for rows", "/v1/table/rows/create", rowsFrom(0)),
  postRows("insert rows", "/v1/table/rows/insert", rowsFrom(300, 20)),
  postRows("insert rows by mode append", "/v1/table/rows/insert?mode=append", rowsFrom(320, 20)),
  postRows("insert rows by an unknown mode", "/v1/table/rows/insert?mode=sometimes", rowsFrom(0)),
  postRows("insert rows of another schema", "/v1/table/rows/insert", otherSchema),
  post("insert without a body", "/v1/table/rows/insert"),
  postBytes("insert bytes that are not Arrow", "/v1/table/rows/insert", "not Arrow", ARROW),
  postRows("insert no rows", "/v1/table/rows/insert", rowsFrom(0, 0)),
  postRows("insert into a missing table", "/v1/table/nothing/insert", rowsFrom(0)),
  post("count rows", "/v1/table/rows/count_rows", {}),
  get("count rows by GET", "/v1/table/rows/count_rows"),
  post("count rows of a missing table", "/v1/table/nothing/count_rows", {}),
  merge(
    "merge rows",
    "on=id&when_matched_update_all=true&when_not_matched_insert_all=true",
    rowsFrom(330, 20),
  ),
  merge("merge rows by two columns", "on=id&on=s&when_not_matched_insert_all=true", rowsFrom(345, 10)),
  merge(
    "merge rows and delete others by a filter",
    `on=id&when_matched_update_all=true&when_not_matched_by_source_delete=true&when_not_matched_by_source_delete_filt=${encodeURIComponent("id > 350")}`,
    rowsFrom(340, 11),
  ),
  merge("merge rows without a key", "when_matched_update_all=true", rowsFrom(0, 5)),
  merge("merge rows by a missing column", "on=nothing&when_matched_update_all=true", rowsFrom(0, 5)),
  post("merge without a body", "/v1/table/rows/merge_insert?on=id&when_matched_update_all=true"),
  postRows(
    "merge into a missing table",
    "/v1/table/nothing/merge_insert?on=id&when_matched_update_all=true",
    rowsFrom(0, 5),
  ),
  post("update rows", "/v1/table/rows/update", {
    predicate: "id < 10",
    updates: [
      ["n", "n * 2"],
      ["s", "'new'"],
    ],
  }),
  post("update all rows", "/v1/table/rows/update", { updates: [["n", "n + 1"]] }),
  post("update no rows", "/v1/table/rows/update", { predicate: "id < 0", updates: [["n", "0"]] }),
  post("update a missing column", "/v1/table/rows/update", { updates: [["nothing", "1"]] }),
  post("update by an expression that cannot be parsed", "/v1/table/rows/update", { updates: [["n", "n *"]] }),
  post("update by a predicate that cannot be parsed", "/v1/table/rows/update", {
    predicate: "id <",
    updates: [["n", "1"]],
  }),
  post("update by a predicate of a missing column", "/v1/table/rows/update", {
    predicate: "nothing < 1",
    updates: [["n", "1"]],
  }),
  post("update nothing", "/v1/table/rows/update", { updates: [] }),
  post("update without updates", "/v1/table/rows/update", {}),
  post("update with updates of three texts", "/v1/table/rows/update", { updates: [["n", "1", "2"]] }),
  post("update a missing table", "/v1/table/nothing/update", { updates: [["n", "1"]] }),
  post("delete rows", "/v1/table/rows/delete", { predicate: "id % 10 = 3" }),
  post("delete no rows", "/v1/table/rows/delete", { predicate: "id < 0" }),
  post("delete by an empty predicate", "/v1/table/rows/delete", { predicate: "" }),
  post("delete without a predicate", "/v1/table/rows/delete", {}),
  post("delete by a predicate that cannot be parsed", "/v1/table/rows/delete", { predicate: "id <" }),
  post("delete by a predicate of a missing column", "/v1/table/rows/delete", { predicate: "nothing = 1" }),
  post("delete by a predicate that is a number", "/v1/table/rows/delete", { predicate: 1 }),
  post("delete from a missing table", "/v1/table/nothing/delete", { predicate: "true" }),
  postRows("create a table for queries", "/v1/table/plain/create", rowsFrom(0)),
  postRows("insert rows for queries", "/v1/table/plain/insert", rowsFrom(300, 50)),
  post("delete rows before queries", "/v1/table/plain/delete", { predicate: "id % 10 = 3" }),
  query("query rows"),
  query("query rows by a filter", { filter: "id > 20 AND s IS NOT NULL" }),
  query("query columns", { columns: { column_names: ["s", "id"] } }),
  query("query aliases", { columns: { column_aliases: { twice: "id * 2" } } }),
  query("query a missing column", { k: 10, columns: { column_names: ["nothing"] } }),
  post("query with offset and limit", "/v1/table/plain/query", { k: 5, offset: 7, vector: {} }),
  query("query with row ids", { k: 5, with_row_id: true }),
  query("query an older version", { version: 1, columns: { column_names: ["id"] } }),
  query("query a missing version", { k: 10, version: 99 }),
  search("search a vector"),
  post("search a vector without its column", "/v1/table/plain/query", {
    k: 5,
    vector: { single_vector: [3, 3, 3, 1] },
  }),
  search("search a vector with a prefilter", { filter: "id > 100", prefilter: true }),
  search("search a vector with a postfilter", { filter: "id > 5", prefilter: false }),
  search("search a vector by cosine", { distance_type: "cosine" }),
  search("search a vector by an unknown distance", { distance_type: "far" }),
  search("search a vector within bounds", { k: 50, lower_bound: 10, upper_bound: 100 }),
  search("search two vectors", {
    k: 3,
    vector: {
      multi_vector: [
        [3, 3, 3, 1],
        [200, 2, 2, 1],
      ],
    },
  }),
  search("search a vector of another dimension", { vector: { single_vector: [3, 3] } }),
  search("search a vector in a column of text", { vector_column: "s" }),
  search("search a vector in a missing column", { vector_column: "nothing" }),
  search("search a vector for nothing", { k: 0 }),
  query("search text without an index", {
    full_text_query: { string_query: { query: "text 4", columns: ["s"] } },
  }),
  query("query by a filter that cannot be parsed", { k: 5, filter: "id <" }),
  post("query with a negative limit", "/v1/table/plain/query", { k: -1, vector: {} }),
  post("query with an empty vector", "/v1/table/plain/query", { k: 5, vector: { single_vector: [] } }),
  post("query with a vector that is null", "/v1/table/plain/query", { k: 5, vector: null }),
  post("query without a limit", "/v1/table/plain/query", { vector: {} }),
  post("query without a vector", "/v1/table/plain/query", { k: 5 }),
  post("query with a limit that is text", "/v1/table/plain/query", { k: "5", vector: {} }),
  post("query with an empty body", "/v1/table/plain/query"),
  postBytes("query with a body that is not JSON", "/v1/table/plain/query", "k=5"),
  post("query a missing table", "/v1/table/nothing/query", { k: 5, vector: {} }),
  post("explain a query", "/v1/table/plain/explain_plan", { query: { k: 5, vector: {}, filter: "id > 3" } }),
  post("explain a query verbosely", "/v1/table/plain/explain_plan", {
    query: { k: 5, vector: {} },
    verbose: true,
  }),
  post("explain without a query", "/v1/table/plain/explain_plan", {}),
  post("explain a query of a missing table", "/v1/table/nothing/explain_plan", {
    query: { k: 5, vector: {} },
  }),
  post("analyze a query", "/v1/table/plain/analyze_plan", { k: 5, vector: {}, filter: "id > 3" }),
  post("analyze a query of a missing table", "/v1/table/nothing/analyze_plan", { k: 5, vector: {} }),
  postRows("insert rows by mode overwrite", "/v1/table/rows/insert?mode=overwrite", rowsFrom(0, 7)),
  post("query the rows that overwrote the others", "/v1/table/rows/query", { k: 100, vector: {} }),
  postRows("merge rows with nothing to do", "/v1/table/rows/merge_insert?on=id", rowsFrom(0, 5)),
];

/** Versions, tags and branches. */
const VERSIONS: readonly RestCall[] = [
  postRows("create a table for versions", "/v1/table/versions/create", rowsFrom(0, 30)),
  postRows("insert rows for version 2", "/v1/table/versions/insert", rowsFrom(30, 10)),
  postRows("insert rows for version 3", "/v1/table/versions/insert", rowsFrom(40, 10)),
  post("list versions", "/v1/table/versions/version/list", {}),
  post("list versions with an empty body", "/v1/table/versions/version/list"),
  post("list versions, the latest first", "/v1/table/versions/version/list?descending=true", {}),
  post("list the latest version", "/v1/table/versions/version/list?descending=true&limit=1", {}),
  post("list versions with a limit of zero", "/v1/table/versions/version/list?limit=0", {}),
  post("list versions after one", "/v1/table/versions/version/list?page_token=1", {}),
  post(
    "list versions after a token that is not a version",
    "/v1/table/versions/version/list?page_token=one",
    {},
  ),
  post("list versions of a missing table", "/v1/table/nothing/version/list", {}),
  post("list versions of a missing branch", "/v1/table/versions/version/list?branch=nothing", {}),
  post("describe the latest version", "/v1/table/versions/version/describe", {}),
  post("describe version 2", "/v1/table/versions/version/describe", { version: 2 }),
  post("describe a missing version", "/v1/table/versions/version/describe", { version: 99 }),
  post("describe version 0", "/v1/table/versions/version/describe", { version: 0 }),
  post("describe a version of a missing table", "/v1/table/nothing/version/describe", { version: 1 }),
  post("create a version of a missing manifest", "/v1/table/versions/version/create", {
    version: 4,
    manifest_path: "versions.lance/_versions/nothing",
  }),
  post("create a version that exists", "/v1/table/versions/version/create", {
    version: 2,
    manifest_path: "versions.lance/_versions/nothing",
  }),
  post("create a version without a manifest", "/v1/table/versions/version/create", { version: 4 }),
  post("create a tag", "/v1/table/versions/tags/create", { tag: "good", version: 2 }),
  post("create a tag again", "/v1/table/versions/tags/create", { tag: "good", version: 3 }),
  post("create a tag of a missing version", "/v1/table/versions/tags/create", { tag: "far", version: 99 }),
  post("create a tag of a bad name", "/v1/table/versions/tags/create", { tag: "a/../b", version: 1 }),
  post("create a tag of an empty name", "/v1/table/versions/tags/create", { tag: "", version: 1 }),
  post("create a tag without a version", "/v1/table/versions/tags/create", { tag: "some" }),
  post("create a tag of a missing table", "/v1/table/nothing/tags/create", { tag: "good", version: 1 }),
  post("list tags", "/v1/table/versions/tags/list", {}),
  post("list tags of a missing table", "/v1/table/nothing/tags/list", {}),
  post("find the version of a tag", "/v1/table/versions/tags/version", { tag: "good" }),
  post("find the version of a missing tag", "/v1/table/versions/tags/version", { tag: "nothing" }),
  post("update a tag", "/v1/table/versions/tags/update", { tag: "good", version: 1 }),
  post("update a missing tag", "/v1/table/versions/tags/update", { tag: "nothing", version: 1 }),
  post("update a tag to a missing version", "/v1/table/versions/tags/update", { tag: "good", version: 99 }),
  post("delete a tag", "/v1/table/versions/tags/delete", { tag: "good" }),
  post("delete a missing tag", "/v1/table/versions/tags/delete", { tag: "good" }),
  branch("create a branch", { name: "dev" }),
  branch("create a branch of a version", { name: "old", from_version: 2 }),
  branch("create a branch of a branch", { name: "child", from_branch: "dev" }),
  branch("create a branch again", { name: "dev" }),
  branch("create a branch of a missing branch", { name: "b2", from_branch: "nothing" }),
  branch("create a branch of a missing version", { name: "b3", from_version: 99 }),
  branch("create a branch of a bad name", { name: "../b" }),
  branch("create a branch without a name", {}),
  post("list branches", "/v1/table/versions/branches/list", {}),
  post("list branches of a missing table", "/v1/table/nothing/branches/list", {}),
  post("list versions of a branch", "/v1/table/versions/version/list?branch=dev", {}),
  post("delete a branch that has a branch", "/v1/table/versions/branches/delete", { name: "dev" }),
  post("delete a branch", "/v1/table/versions/branches/delete", { name: "child" }),
  post("delete a missing branch", "/v1/table/versions/branches/delete", { name: "child" }),
  post("restore a version", "/v1/table/versions/restore", { version: 1 }),
  post("restore a missing version", "/v1/table/versions/restore", { version: 99 }),
  post("restore without a version", "/v1/table/versions/restore", {}),
  post("restore a missing table", "/v1/table/nothing/restore", { version: 1 }),
  post("count the rows of a restored table", "/v1/table/versions/count_rows", {}),
  postRows("create a table for deleted versions", "/v1/table/deleted/create", rowsFrom(0, 30)),
  postRows("insert rows for a second version", "/v1/table/deleted/insert", rowsFrom(30, 10)),
  postRows("insert rows for a third version", "/v1/table/deleted/insert", rowsFrom(40, 10)),
  post("delete versions without ranges", "/v1/table/deleted/version/delete", { ranges: [] }),
  deleteVersions("delete a range that ends before it starts", 3, 1),
  post("delete versions of a missing table", "/v1/table/nothing/version/delete", {
    ranges: [{ start_version: 1, end_version: 2 }],
  }),
  deleteVersions("delete a version", 1, 2),
  post("list the versions that are left", "/v1/table/deleted/version/list", {}),
  post("create a tag of the second version", "/v1/table/deleted/tags/create", { tag: "kept", version: 2 }),
  deleteVersions("delete a version that has a tag", 2, 3),
  post("describe a transaction that does not exist", "/v1/transaction/nothing/describe", {}),
  post("alter a transaction that does not exist", "/v1/transaction/nothing/alter", { actions: [] }),
  post("create versions of no tables", "/v1/table/version/batch-create", { entries: [] }),
  post("create versions without entries", "/v1/table/version/batch-create", {}),
  post("commit no tables", "/v1/table/batch-commit", { operations: [] }),
  post("commit without operations", "/v1/table/batch-commit", {}),
  post("commit an operation without members", "/v1/table/batch-commit", { operations: [{}] }),
  post("declare two tables at once", "/v1/table/batch-commit", {
    operations: [{ declare_table: { id: ["one"] } }, { declare_table: { id: ["two"] } }],
  }),
  post("declare two tables at once, one of which exists", "/v1/table/batch-commit", {
    operations: [{ declare_table: { id: ["three"] } }, { declare_table: { id: ["two"] } }],
  }),
];

/** Columns, metadata and indexes. */
const SCHEMA: readonly RestCall[] = [
  postRows("create a table for columns", "/v1/table/columns/create", rowsFrom(0)),
  add("add a column", { name: "twice", expression: "id * 2" }),
  add("add two columns", { name: "a", expression: "n + 1" }, { name: "b", expression: "upper(s)" }),
  add("add a column that exists", { name: "twice", expression: "1" }),
  add("add a column of a missing column", { name: "c", expression: "nothing + 1" }),
  add("add a column by an expression that cannot be parsed", { name: "c", expression: "id +" }),
  add("add a column without an expression", { name: "c" }),
  post("add columns to a missing table", "/v1/table/nothing/add_columns", {
    new_columns: [{ name: "c", expression: "1" }],
  }),
  alter("rename a column", { path: "a", rename: "aa" }),
  alter("rename a column to a name that is taken", { path: "aa", rename: "id" }),
  alter("make a column nullable", { path: "id", nullable: true }),
  alter("change the type of a column by its name", { path: "twice", data_type: "int32" }),
  alter("change a column to an unknown type", { path: "twice", data_type: { type: "int33" } }),
  alter("alter a missing column", { path: "nothing", rename: "c" }),
  post("drop a column", "/v1/table/columns/drop_columns", { columns: ["b"] }),
  post("drop a missing column", "/v1/table/columns/drop_columns", { columns: ["b"] }),
  post("drop columns of a missing table", "/v1/table/nothing/drop_columns", { columns: ["b"] }),
  post("describe a table of changed columns", "/v1/table/columns/describe", { load_detailed_metadata: true }),
  post("query a table of changed columns", "/v1/table/columns/query", { k: 10, vector: {} }),
  post("update the metadata of a schema", "/v1/table/columns/schema_metadata/update", { owner: "me" }),
  post("update the metadata of a schema by a member", "/v1/table/columns/schema_metadata/update", {
    metadata: { owner: "you" },
  }),
  post("update the metadata of a missing table", "/v1/table/nothing/schema_metadata/update", {
    metadata: { owner: "me" },
  }),
  post("backfill a column that is not computed", "/v1/table/columns/backfill_column", { column: "n" }),
  post("list no indexes", "/v1/table/columns/index/list", {}),
  post("list indexes with an empty body", "/v1/table/columns/index/list"),
  post("list indexes of a missing table", "/v1/table/nothing/index/list", {}),
  index("create an index BTREE", "create_scalar_index", { column: "id", index_type: "BTREE" }),
  index("create an index BITMAP with a name", "create_scalar_index", {
    column: "s",
    index_type: "BITMAP",
    name: "words",
  }),
  index("create an index FTS", "create_index", { column: "s", index_type: "FTS", name: "texts" }),
  index("create an index IVF_FLAT", "create_index", {
    column: "v",
    index_type: "IVF_FLAT",
    distance_type: "l2",
  }),
  index("create an index again", "create_scalar_index", { column: "id", index_type: "BTREE" }),
  index("create an index of an unknown type", "create_index", { column: "id", index_type: "MAGIC" }),
  index("create an index of a missing column", "create_scalar_index", {
    column: "nothing",
    index_type: "BTREE",
  }),
  index("create an index of vectors on text", "create_index", { column: "s", index_type: "IVF_FLAT" }),
  index("create an index without a type", "create_index", { column: "id" }),
  index("create an index without a column", "create_index", { index_type: "BTREE" }),
  post("create an index of a missing table", "/v1/table/nothing/create_index", {
    column: "id",
    index_type: "BTREE",
  }),
  post("list indexes", "/v1/table/columns/index/list", {}),
  post("read the statistics of an index BTREE", "/v1/table/columns/index/id_idx/stats", {}),
  post("read the statistics of an index FTS", "/v1/table/columns/index/texts/stats", {}),
  post("read the statistics of an index IVF_FLAT", "/v1/table/columns/index/v_idx/stats", {}),
  post("read the statistics of a missing index", "/v1/table/columns/index/nothing/stats", {}),
  post("read the statistics of an index of a missing table", "/v1/table/nothing/index/id_idx/stats", {}),
  post("search text", "/v1/table/columns/query", {
    k: 50,
    vector: {},
    full_text_query: { string_query: { query: "4", columns: ["s"] } },
    columns: { column_names: ["id", "s"] },
  }),
  post("search text by a match of structure", "/v1/table/columns/query", {
    k: 50,
    vector: {},
    full_text_query: { structured_query: { query: { match: { terms: "4", column: "s" } } } },
    columns: { column_names: ["id", "s"] },
  }),
  post("search a vector with an index", "/v1/table/columns/query", {
    k: 5,
    vector: { single_vector: [3, 3, 3, 1] },
    vector_column: "v",
    nprobes: 20,
    columns: { column_names: ["id"] },
  }),
  post("query by a filter with an index", "/v1/table/columns/query", {
    k: 50,
    vector: {},
    filter: "id IN (3, 5, 7) OR s = 'text 4'",
    columns: { column_names: ["id", "s"] },
  }),
  post("read the statistics of a table with indexes", "/v1/table/columns/stats", {}),
  post("drop an index", "/v1/table/columns/index/words/drop"),
  post("drop a missing index", "/v1/table/columns/index/words/drop"),
  post("drop an index of a missing table", "/v1/table/nothing/index/words/drop"),
  post("add no columns", "/v1/table/columns/add_columns", { new_columns: [] }),
  post("alter nothing", "/v1/table/columns/alter_columns", { alterations: [] }),
  post("drop no columns", "/v1/table/columns/drop_columns", { columns: [] }),
  alter("change the type of a column", { path: "twice", data_type: { type: "int32" } }),
];

/** Requests that are not calls. */
const OTHER_PATHS: readonly RestCall[] = [
  post("call an unknown route", "/v1/nothing", {}),
  post("call an unknown operation of a table", "/v1/table/t/nothing", {}),
  post("call another version of the protocol", "/v2/table/t/describe", {}),
  { ...post("call a route by PUT", "/v1/table/t/describe", {}), method: "PUT" },
];

export const CALLS: readonly RestCall[] = [
  ...NAMESPACES,
  ...TABLES,
  ...ROWS_OF_A_TABLE,
  ...VERSIONS,
  ...SCHEMA,
  ...OTHER_PATHS,
];
