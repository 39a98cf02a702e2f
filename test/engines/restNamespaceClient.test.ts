/** pylance's client of the namespace spec calls every operation that it has; we check the effects. */

import type { Table as ArrowTable } from "apache-arrow";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { compareTables } from "../support/compareTables.js";
import { API_KEY } from "./support/handler.js";
import { RestPair, ROWS, rowsFrom } from "./support/restPair.js";
import { idsOf, sortedIdsOf } from "./support/rows.js";

describe.each([true, false])("pylance 14, client of the namespace spec, managed versions: %s", (managed) => {
  let pair: RestPair;
  beforeAll(async () => {
    pair = await RestPair.open("pylance14", managed);
    await pair.call("connect_namespace", pair.handler.url, API_KEY);
  });
  afterAll(() => pair[Symbol.asyncDispose]());

  const call = <Answer = Record<string, unknown>>(method: string, request: object, rows?: ArrowTable) =>
    pair.call<Answer>("namespace_call", method, request, ...(rows === undefined ? [] : [rows]));
  const refused = (method: string, request: object, type: string, rows?: ArrowTable) =>
    expect(call(method, request, rows)).rejects.toMatchObject({ type });
  const made = async () => {
    const id = pair.freshId();
    await call("create_table", { id }, rowsFrom(0));
    return id;
  };

  it("creates, lists, describes and drops namespaces", async () => {
    await call("create_namespace", { id: ["a"], properties: { owner: "me" } });
    await call("create_namespace", { id: ["a", "b c"] });
    expect(await call("list_namespaces", { id: ["a"] })).toEqual({ namespaces: ["b c"] });
    expect(await call("describe_namespace", { id: ["a"] })).toEqual({ properties: { owner: "me" } });
    await call("namespace_exists", { id: ["a", "b c"] });
    await refused("create_namespace", { id: ["a"] }, "NamespaceAlreadyExistsError");
    await refused("describe_namespace", { id: ["nowhere"] }, "NamespaceNotFoundError");
    await refused("namespace_exists", { id: ["nowhere"] }, "NamespaceNotFoundError");
    await refused("drop_namespace", { id: ["a"] }, "NamespaceNotEmptyError");
    await call("drop_namespace", { id: ["a", "b c"] });
    expect((await pair.namespace.listNamespaces({ id: ["a"] })).namespaces).toEqual([]);
  });

  it("declares, creates, lists, renames, deregisters and drops tables", async () => {
    await call("create_namespace", { id: ["n"] });
    const declared = await call("declare_table", { id: ["n", "d"] });
    expect(declared.managed_versioning).toBe(managed);
    await call("create_table", { id: ["n", "t"] }, rowsFrom(0));
    compareTables(await pair.rowsHere(["n", "t"]), rowsFrom(0), { metadata: false, nullability: false });
    expect(await call("list_tables", { id: ["n"] })).toEqual({ tables: ["d", "t"] });
    expect((await call<{ tables: string[] }>("list_all_tables", {})).tables).toContain("n$t");
    await call("table_exists", { id: ["n", "t"] });
    const described = await call("describe_table", { id: ["n", "t"], load_detailed_metadata: true });
    expect(described).toMatchObject({ version: 1, managed_versioning: managed, namespace: ["n"] });
    await refused("create_table", { id: ["n", "t"] }, "TableAlreadyExistsError", rowsFrom(0));
    await refused("describe_table", { id: ["n", "nothing"] }, "TableNotFoundError");
    await refused("table_exists", { id: ["n", "nothing"] }, "TableNotFoundError");
    await call("rename_table", { id: ["n", "t"], new_table_name: "u", new_namespace_id: ["n"] });
    await refused("describe_table", { id: ["n", "t"] }, "TableNotFoundError");
    await call("deregister_table", { id: ["n", "u"] });
    await refused("describe_table", { id: ["n", "u"] }, "TableNotFoundError");
    await call("drop_table", { id: ["n", "d"] });
    expect((await pair.namespace.listTables({ id: ["n"] })).tables).toEqual([]);
  });

  it("inserts, merges, updates, deletes, counts and queries rows", async () => {
    const id = await made();
    expect(await call("insert_into_table", { id, mode: "append" }, rowsFrom(ROWS, 20))).toMatchObject({
      version: 2,
    });
    const merge = { id, on: ["id"], when_matched_update_all: true, when_not_matched_insert_all: true };
    expect(await call("merge_insert_into_table", merge, rowsFrom(310, 20))).toMatchObject({
      num_updated_rows: 10,
      num_inserted_rows: 10,
    });
    const updates = [["s", "upper(s)"]];
    expect(await call("update_table", { id, predicate: "id < 20", updates })).toMatchObject({
      updated_rows: 20,
    });
    await call("delete_from_table", { id, predicate: "id % 10 = 3" });
    expect(await call("count_table_rows", { id })).toEqual({ count: 297 });
    expect(await call("count_table_rows", { id, predicate: "id < 20" })).toEqual({ count: 18 });
    const query = { id, k: 1000, vector: {}, filter: "s IS NOT NULL" };
    await pair.expectEqual(id, call<ArrowTable>("query_table", query), {}, { filter: "s IS NOT NULL" });
    const near = { id, k: 5, vector: { single_vector: [3, 3, 3, 1] }, vector_column: "v" };
    const here = await pair.namespace
      .table(id)
      .search({ vector: [3, 3, 3, 1], k: 5 })
      .toArrow();
    expect(idsOf(await call<ArrowTable>("query_table", near))).toEqual(idsOf(here));
    expect(await call("explain_table_query_plan", { id, query: near })).toMatch(/NearestRows/);
    expect(await call("analyze_table_query_plan", near)).toMatch(/NearestRows/);
    await refused("insert_into_table", { id: ["nothing"] }, "TableNotFoundError", rowsFrom(0));
    await refused("count_table_rows", { id: ["nothing"] }, "TableNotFoundError");
    await refused("update_table", { id, updates: [["nothing", "1"]] }, "TableColumnNotFoundError");
    await refused("query_table", { ...query, filter: "id <" }, "InvalidInputError");
  });

  it("lists, describes, restores and deletes versions", async () => {
    const id = await made();
    await call("insert_into_table", { id }, rowsFrom(ROWS, 10));
    const listed = await call<{ versions: { version: number }[] }>("list_table_versions", { id });
    expect(listed.versions.map(({ version }) => version)).toEqual([1, 2]);
    expect(await call("describe_table_version", { id, version: 1 })).toMatchObject({
      version: { version: 1, manifest_path: expect.stringContaining("_versions") },
    });
    await call("restore_table", { id, version: 1 });
    expect(await pair.namespace.countTableRows({ id })).toBe(ROWS);
    await call("batch_delete_table_versions", { id, ranges: [{ start_version: 2, end_version: 3 }] });
    const left = await pair.namespace.listTableVersions({ id });
    expect(left.versions.map(({ version }) => version)).toEqual([1, 3]);
    await refused("restore_table", { id, version: 99 }, "TableVersionNotFoundError");
  });

  it("makes tags and branches", async () => {
    const id = await made();
    await call("insert_into_table", { id }, rowsFrom(ROWS, 10));
    await call("create_table_tag", { id, tag: "good", version: 1 });
    expect(await call("get_table_tag_version", { id, tag: "good" })).toMatchObject({ version: 1 });
    await call("update_table_tag", { id, tag: "good", version: 2 });
    expect(await call("list_table_tags", { id })).toMatchObject({ tags: { good: { version: 2 } } });
    await refused("create_table_tag", { id, tag: "good", version: 1 }, "TableTagAlreadyExistsError");
    await refused("get_table_tag_version", { id, tag: "none" }, "TableTagNotFoundError");
    await call("delete_table_tag", { id, tag: "good" });
    expect((await pair.namespace.listTableTags({ id })).tags).toEqual({});
    await call("create_table_branch", { id, name: "dev" });
    expect(await call("list_table_branches", { id })).toMatchObject({ branches: { dev: {} } });
    await refused("create_table_branch", { id, name: "dev" }, "TableBranchAlreadyExistsError");
    await call("delete_table_branch", { id, name: "dev" });
    await refused("delete_table_branch", { id, name: "dev" }, "TableBranchNotFoundError");
    expect((await pair.namespace.listTableBranches({ id })).branches).toEqual({});
  });

  it("changes columns and metadata, builds indexes and reads statistics", async () => {
    const id = await made();
    await call("alter_table_add_columns", { id, new_columns: [{ name: "twice", expression: "id * 2" }] });
    await call("alter_table_alter_columns", { id, alterations: [{ path: "twice", rename: "two" }] });
    expect((await pair.rowsHere(id)).schema.names).toEqual(["id", "s", "v", "two"]);
    await call("alter_table_drop_columns", { id, columns: ["two"] });
    await refused("alter_table_drop_columns", { id, columns: ["two"] }, "TableColumnNotFoundError");
    await call("update_table_schema_metadata", { id, metadata: { owner: "me" } });
    expect((await pair.namespace.describeTable({ id })).metadata).toMatchObject({ owner: "me" });
    await call("create_table_scalar_index", { id, column: "id", index_type: "BTREE" });
    await call("create_table_index", { id, column: "s", index_type: "FTS" });
    await call("create_table_index", { id, column: "v", index_type: "IVF_FLAT", distance_type: "l2" });
    for (const { jobId } of (await pair.namespace.listJobs({ id })).jobs) {
      await pair.namespace.waitForJob({ jobId });
    }
    const { indexes } = await call<{ indexes: { index_name: string }[] }>("list_table_indices", { id });
    expect(indexes.map(({ index_name }) => index_name).sort()).toEqual(["id_idx", "s_idx", "v_idx"]);
    expect(await call("describe_table_index_stats", { id, index_name: "id_idx" })).toMatchObject({
      num_indexed_rows: ROWS,
      num_unindexed_rows: 0,
    });
    const text = { string_query: { query: "4", columns: ["s"] } };
    const matches = await call<ArrowTable>("query_table", { id, k: ROWS, vector: {}, full_text_query: text });
    const here = await pair.namespace.table(id).search({ text: "4", limit: ROWS }).toArrow();
    expect(sortedIdsOf(matches)).toEqual(sortedIdsOf(here));
    expect(await call("get_table_stats", { id })).toMatchObject({ num_rows: ROWS, num_indices: 3 });
    await call("drop_table_index", { id, index_name: "s_idx" });
    await refused("drop_table_index", { id, index_name: "s_idx" }, "TableIndexNotFoundError");
    await refused("describe_transaction", { id: [...id, crypto.randomUUID()] }, "TransactionNotFoundError");
  });
});
