import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Int32, type RecordBatch, type Schema, Table, tableToIPC, vectorFromArray } from "apache-arrow";
import * as tiltyard from "tiltyard";
import { DirectoryNamespace, NamespaceError, type UserFunction } from "tiltyard";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

/**
 * Names that programs depend on: code that compiles here must keep compiling. So requests and answers have
 * every member, even those that the engine ignores.
 */

const functions: Record<string, UserFunction> = {};
const signal = new AbortController().signal;
const caller = { identity: { apiKey: "k", authToken: "t" }, context: { a: "b" }, signal };
const rows = new Table({ id: vectorFromArray([1, 2, 3], new Int32()) });
const id = ["sales", "orders"];

let root: string;
let ns: DirectoryNamespace;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "tiltyard-names-"));
  ns = new DirectoryNamespace({
    root,
    durability: "none",
    authorize({ operation, id, identity, context }) {
      const seen: [string, readonly string[], object | undefined, object | undefined] = [
        operation,
        id,
        identity,
        context,
      ];
      expect(seen[0]).not.toBe("");
    },
    functions,
    clusters: { here: { manifests: ["m"], run: async () => {} } },
    lock: { staleMs: 10_000, retries: 3 },
    workers: 0,
    vectorCacheBytes: 0,
    metadataCacheBytes: 2 ** 28,
    indexCacheBytes: 2 ** 28,
    allowedBases: ["/nowhere"],
    dataStorageVersion: "2.2",
    manifestNaming: "V2",
    groupInserts: true,
  });
  await ns.createNamespace({ id: ["sales"], mode: "create", properties: { a: "b" }, ...caller });
  await ns.createTable({ id, mode: "create", properties: { x: "y" }, ...caller }, rows);
});
afterAll(async () => {
  await ns[Symbol.asyncDispose]();
  await rm(root, { recursive: true });
});

describe("requests and answers", () => {
  it("requests and answers about namespaces compile with every member", async () => {
    const { properties, transactionId } = await ns.createNamespace({ id: ["n"], mode: "ExistOk" });
    expect([properties, transactionId]).toEqual([{}, undefined]);
    expect((await ns.describeNamespace({ id: ["sales"] })).properties).toEqual({ a: "b" });
    const { namespaces, pageToken } = await ns.listNamespaces({ id: [], pageToken: "", limit: 1 });
    expect([namespaces, pageToken]).toEqual([["n"], "n"]);
    expect(await ns.namespaceExists({ id: ["n"] })).toBeUndefined();
    const dropped = await ns.dropNamespace({ id: ["n"], mode: "Fail", behavior: "Restrict" });
    const transactions: readonly string[] | undefined = dropped.transactionId;
    expect([dropped.properties, transactions]).toEqual([{}, undefined]);
  });
  it("requests and answers about tables compile with every member", async () => {
    const created = await ns.createTable({ id: ["t"], properties: { p: "q" } }, rows);
    expect(created).toMatchObject({ location: join(root, "t.lance"), version: 1, properties: { p: "q" } });
    expect([typeof created.transactionId, created.storageOptions]).toEqual(["string", undefined]);
    const table = await ns.describeTable({
      id,
      version: 1,
      withTableUri: true,
      loadDetailedMetadata: true,
      checkDeclared: true,
      vendCredentials: true,
    });
    expect([table.table, table.namespace, table.version]).toEqual(["orders", ["sales"], 1]);
    expect([table.tableUri.startsWith("file:"), table.storageOptions]).toEqual([true, undefined]);
    expect([table.schema?.fields[0].name, table.stats]).toEqual([
      "id",
      { numDeletedRows: 0, numFragments: 1 },
    ]);
    expect([table.metadata, table.properties]).toEqual([{}, { x: "y" }]);
    expect([table.managedVersioning, table.isOnlyDeclared]).toEqual([false, false]);
    expect(await ns.tableExists({ id, version: 1 })).toBeUndefined();
    const declared = await ns.declareTable({ id: ["sales", "d"], properties: {}, vendCredentials: false });
    expect([declared.managedVersioning, declared.properties, declared.storageOptions]).toEqual([
      false,
      {},
      undefined,
    ]);
    const gone = await ns.deregisterTable({ id: ["sales", "d"] });
    expect([gone.id, gone.location, gone.properties]).toEqual([["sales", "d"], declared.location, {}]);
    const location = declared.location.slice(root.length + 1);
    const back = await ns.registerTable({ id: ["sales", "d"], location, mode: "Create", properties: {} });
    expect([back.location, back.properties, back.transactionId]).toEqual([declared.location, {}, undefined]);
    await ns.renameTable({ id: ["sales", "d"], newTableName: "e", newNamespaceId: ["sales"] });
    const page = { pageToken: "", limit: 9, includeDeclared: true };
    expect((await ns.listTables({ id: ["sales"], ...page })).tables).toEqual(["e", "orders"]);
    expect((await ns.listAllTables(page)).tables).toEqual(["sales$e", "sales$orders", "t"]);
    expect((await ns.dropTable({ id: ["sales", "e"] })).id).toEqual(["sales", "e"]);
    const { totalBytes, numRows, numIndices, fragmentStats } = await ns.getTableStats({ id });
    expect([totalBytes > 0, numRows, numIndices]).toEqual([true, 3, 0]);
    const { min, max, mean, p25, p50, p75, p99 } = fragmentStats.lengths;
    expect([min, max, mean, p25, p50, p75, p99]).toEqual([3, 3, 3, 3, 3, 3, 3]);
    const restored: { transactionId: string; version: number } = await ns.restoreTable({
      id: ["t"],
      version: 1,
    });
    expect(restored.version).toBe(2);
  });
  it("inserts accept rows in every form", async () => {
    const inputs: tiltyard.RowsInput[] = [
      rows,
      rows.batches[0],
      rows.batches,
      (async function* () {
        yield* rows.batches;
      })(),
      tableToIPC(rows),
      tableToIPC(rows, "file"),
      [tableToIPC(rows)],
      new Response(tableToIPC(rows) as BodyInit).body as ReadableStream<Uint8Array>,
    ];
    await ns.declareTable({ id: ["sales", "in"] });
    for (const data of inputs) {
      const inserted: { transactionId: string; version: number; numInsertedRows: number } =
        await ns.insertIntoTable({ id: ["sales", "in"], mode: "append" }, data);
      expect(inserted.numInsertedRows).toBe(3);
    }
    const query = await ns.queryTable({ id: ["sales", "in"], columns: ["id"], version: 1 });
    const schema: Schema = query.schema;
    for await (const batch of query) {
      const each: RecordBatch = batch;
      expect(each.numRows).toBe(3);
    }
    const all: Table = await query.toArrow();
    const count: number = await ns.countTableRows({ id: ["sales", "in"] });
    expect([schema.fields.length, all.numRows, count]).toEqual([1, 3, 24]);
  });
  it("requests and answers about row changes compile with every member", async () => {
    await ns.createTable({ id: ["c"] }, rows);
    const request = { id: ["c"], branch: "main", params: { least: 3 }, ...caller };
    const deleted: { transactionId?: string; version: number; numDeletedRows: number } =
      await ns.deleteFromTable({ ...request, predicate: "id >= $least" });
    expect(deleted).toMatchObject({ version: 2, numDeletedRows: 1 });
    const updated: { transactionId?: string; version: number; updatedRows: number } = await ns.updateTable({
      ...request,
      updates: [["id", "id + $least"]],
      predicate: "id = 1",
      properties: {},
    });
    expect(updated).toMatchObject({ version: 3, updatedRows: 1 });
    await ns.updateTable({ id: ["c"], values: { id: 9 }, predicate: tiltyard.col("id").eq(2) });
    const table = ns.table("c");
    expect((await table.update({ where: "id = 9", values: { id: 3 } })).updatedRows).toBe(1);
    expect((await table.update({ valuesSql: { id: "id * 2" } })).updatedRows).toBe(2);
    expect((await table.delete("id = 6")).numDeletedRows).toBe(1);
    expect((await table.scan().toArrow()).toArray().map(({ id }) => id)).toEqual([8]);
  });
  it("requests and answers about merges compile with every member", async () => {
    await ns.createTable({ id: ["m"] }, rows);
    const request = {
      ...{
        id: ["m"],
        on: ["id"],
        branch: "main",
        whenMatchedUpdateAll: true,
        params: { least: 3 },
        ...caller,
      },
      ...{ whenMatchedUpdateAllFilt: "target.id >= $least", whenNotMatchedInsertAll: true, timeout: "30s" },
      ...{
        whenNotMatchedBySourceDelete: true,
        whenNotMatchedBySourceDeleteFilt: "id < $least",
        useIndex: true,
      },
    };
    const merged: {
      transactionId?: string;
      version: number;
      numUpdatedRows: number;
      numInsertedRows: number;
      numDeletedRows: number;
    } = await ns.mergeInsertIntoTable(request, rows);
    expect(merged).toMatchObject({ version: 2, numUpdatedRows: 1, numInsertedRows: 0, numDeletedRows: 0 });
    const all = { whenMatchedUpdateAll: true, whenMatchedUpdateAllFilt: tiltyard.col("target.id").gt(1) };
    expect((await ns.table("m").mergeInsert("id", rows, all)).numUpdatedRows).toBe(2);
  });
  it("options of a handle compile with every member", async () => {
    await ns.createTable({ id: ["h"] }, rows);
    const table = ns.table(["h"], { branch: undefined, version: undefined, tag: undefined });
    const facts: [boolean, number, number] = [
      await table.exists(),
      await table.version(),
      await table.countRows(),
    ];
    expect(facts).toEqual([true, 1, 3]);
    expect((await table.schema()).fields.map(({ name }) => name)).toEqual(["id"]);
    await table.insert(rows, { mode: "Overwrite" });
    const plans: string[] = [
      await ns.explainTableQueryPlan({ id: table.id, query: { k: 1 }, verbose: true }),
      await ns.analyzeTableQueryPlan({ id: table.id, k: 1 }),
    ];
    for (const plan of plans) expect(plan).toMatch(/^Project: /);
    const scan = table.scan({ columns: ["id"], limit: 2, offset: 1, withRowId: true, batchSize: 1 });
    for await (const batch of scan) expect(batch.numRows).toBe(1);
    expect([(await scan.toArrow()).numRows, (await table.take([0], ["id"])).numRows]).toEqual([2, 1]);
    expect([(await table.stats()).numRows, (await table.versions()).length]).toEqual([3, 2]);
    expect((await table.restore(1)).version).toBe(3);
    expect([await table.branches(), await table.tags()]).toEqual([{}, {}]);
    expect([(await table.optimize()).version, (await table.cleanup()).versionsRemoved]).toEqual([3, 0]);
  });
});

describe("handles and queries", () => {
  it("a handle has a method for every operation of a table", async () => {
    interface Numbered {
      id: number;
    }
    const target: tiltyard.ObjectId = "sales$whole";
    const options: tiltyard.TableHandleOptions = { branch: undefined };
    const call: tiltyard.SignalOptions = { signal };
    const table: tiltyard.TableHandle<Numbered> = ns.table<Numbered>(target, options);
    const created: number = (await table.create(rows, { mode: "create", properties: {}, ...call })).version;
    expect([created, (await table.describe({ withTableUri: true, ...call })).table]).toEqual([1, "whole"]);
    await table.addColumns([{ name: "n", expression: "id * 2" }], call);
    await table.alterColumns({ path: "n", rename: "m" }, call);
    await table.dropColumns(["m"], call);
    await table.updateMetadata({ a: "b" }, call);
    await table.updateFieldMetadata([{ path: "id", metadata: { c: "d" } }], call);
    expect(await table.metadata(call)).toEqual({ a: "b" });
    await table.createTag("t", 1, call);
    await table.updateTag("t", 2, call);
    const branch: tiltyard.TableHandle<Numbered> = await table.createBranch("b", { tag: "t" }, call);
    expect(await branch.version()).toBe(2);
    await table.deleteTag("t", call);
    await table.deleteBranch("b", call);
    expect(await table.indexes(call)).toEqual([]);
    const renamed: tiltyard.TableHandle<Numbered> = await table.rename("renamed", call);
    const dropped: readonly string[] = (await renamed.drop(call)).id;
    expect(dropped).toEqual(["sales", "renamed"]);
  });
  it("a query has every step", async () => {
    const start: tiltyard.TableQuery = ns.table(id).query({ signal });
    const columns: tiltyard.SortColumn[] = ["id", { columnName: "id", ascending: false }];
    const query = start
      .where("id > $n", { n: 1 })
      .select(["id"])
      .orderBy(...columns)
      .limit(2)
      .offset(0);
    const scan: tiltyard.Scan<{ id: unknown }> = query;
    expect((await scan.toArray()).map((row) => row.id)).toEqual([2, 3]);
    const plan: tiltyard.PlanOptions = { format: "Text", verbose: true };
    expect([await query.explain(plan), await query.analyze()]).toHaveLength(2);
    expect(await query.withRowId().toArray()).toHaveLength(2);
  });
});

describe("indexes and jobs", () => {
  const text = {
    ...{ distanceType: "l2", withPosition: true, baseTokenizer: "simple", language: "English" },
    ...{ maxTokenLength: 4, lowerCase: true, stem: true, removeStopWords: true, asciiFolding: true },
  };
  it("indexes are created, listed, described and dropped", async () => {
    const target = { id: ["indexed"] };
    await ns.createTable(target, rows);
    const { transactionId, jobId } = await ns.createTableIndex({
      ...target,
      column: "id",
      indexType: "BTREE",
      name: "n",
    });
    expect(transactionId).toBeTypeOf("string");
    const job = await ns.waitForJob({ jobId, timeoutMs: 60_000, onProgress: () => undefined });
    expect(job).toMatchObject({ jobId, kind: "index", table: ["indexed"], state: "Succeeded", unit: "rows" });
    expect((await ns.describeJob({ jobId })).state).toBe("Succeeded");
    expect((await ns.listJobs({ ...target, state: "Succeeded" })).jobs.map((entry) => entry.jobId)).toContain(
      jobId,
    );
    expect((await ns.cancelJob({ jobId })).state).toBe("Succeeded");
    const { indexes } = await ns.listTableIndices({ ...target, version: 2, limit: 1 });
    expect(indexes.map(({ indexName }) => indexName)).toEqual(["n"]);
    expect((await ns.describeTableIndexStats({ ...target, indexName: "n" })).numIndexedRows).toBe(
      rows.numRows,
    );
    expect((await ns.dropTableIndex({ ...target, indexName: "n" })).transactionId).toBeTypeOf("string");
    const table = ns.table(target.id);
    const again = await table.createIndex("id", { indexType: "BTREE" });
    await ns.waitForJob({ jobId: again.jobId });
    expect((await table.indexes()).length).toBe(1);
    await table.dropIndex("id_idx");
    const scalar = await ns.createTableScalarIndex({ ...target, column: "id", indexType: "BTREE" });
    await ns.waitForJob({ jobId: scalar.jobId ?? "" });
  });
  it("indexes of words and of parts of words are built", async () => {
    const target = { id: ["words"] };
    await ns.createTable(target, [{ w: "a", vector: [1, 2, 3, 4, 5, 6, 7, 8] }]);
    const words = await ns.createTableIndex({ ...target, column: "w", indexType: "FTS", ...text });
    await ns.waitForJob({ jobId: words.jobId });
    const parts = await ns.createTableIndex({ ...target, column: "w", name: "parts", indexType: "FM" });
    await ns.waitForJob({ jobId: parts.jobId });
  });
});

describe("operations of unsupported kinds", () => {
  const calls: Record<string, () => Promise<unknown>> = {};
  it.each(Object.entries(calls))("%s is refused as unsupported", async (_name, call) => {
    await expect(call()).rejects.toMatchObject({ type: "Unsupported", code: 0, status: 406 });
  });
  it("their requests are checked nevertheless", async () => {
    const backfill = ns.alterTableBackfillColumns({ id, column: "id", where: "x", concurrency: 1 });
    await expect(backfill.then(({ jobId }) => jobId)).rejects.toMatchObject({ type: "InvalidInput" });
    const stats = ns.describeTableIndexStats({ id, indexName: "none", version: 1 });
    await expect(stats.then(({ numIndices }) => numIndices)).rejects.toMatchObject({
      type: "TableIndexNotFound",
    });
    const drop = ns.dropTableIndex({ id, indexName: "none" });
    await expect(drop.then((answer) => answer.transactionId)).rejects.toMatchObject({
      type: "TableIndexNotFound",
    });
  });
});

describe("errors", () => {
  const codes = {
    ...{ Unsupported: 0, NamespaceNotFound: 1, NamespaceAlreadyExists: 2, NamespaceNotEmpty: 3 },
    ...{ TableNotFound: 4, TableAlreadyExists: 5, TableIndexNotFound: 6, TableIndexAlreadyExists: 7 },
    ...{ TableTagNotFound: 8, TableTagAlreadyExists: 9, TransactionNotFound: 10, TableVersionNotFound: 11 },
    ...{ TableColumnNotFound: 12, InvalidInput: 13, ConcurrentModification: 14, PermissionDenied: 15 },
    ...{ Unauthenticated: 16, ServiceUnavailable: 17, Internal: 18, InvalidTableState: 19 },
    ...{ TableSchemaValidation: 20, Throttling: 21, TableBranchNotFound: 22, TableBranchAlreadyExists: 23 },
  };
  it.each(Object.entries(codes))("%s has a class with code %i", (type, code) => {
    const classes = tiltyard as unknown as Record<string, new (message: string) => NamespaceError>;
    const error = new classes[`${type}Error`]("m");
    expect(error).toBeInstanceOf(NamespaceError);
    expect(error).toMatchObject({ type, code, name: `${type}Error`, message: "m" });
  });
  it("an aborted call is an unavailable service named AbortError", () => {
    const error: tiltyard.NamespaceErrorJson = new tiltyard.AbortedError("m", { cause: "c" }).toJSON();
    expect(error).toEqual({
      ...{ name: "AbortError", type: "ServiceUnavailable", code: 17, status: 503, message: "m" },
    });
  });
  it("a corrupt file error has path and offset", () => {
    const { code, path, byteOffset } = new tiltyard.CorruptFileError("p", 3, "r");
    expect([code, path, byteOffset]).toEqual([18, "p", 3]);
  });
});
