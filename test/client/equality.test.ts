/**
 * Every operation gives the same answer through a client as in process. Both worlds get the same calls, made
 * from the table of operations: a valid request of each operation, then that request with each of its members
 * replaced by values of wrong types.
 */

import { tableFromArrays, tableToIPC } from "apache-arrow";
import { DirectoryNamespace, NamespaceError, type QueryResult } from "tiltyard";
import { isRecord } from "../../src/arrow/objects/valueKinds.js";
import { OPERATIONS, type OperationName, operationRow, type Requests } from "../../src/operationTable.js";
import { ROUTES } from "../../src/rest/wire/routes.js";
import { serve } from "../support/clientNamespace.js";
import { afterAll, beforeAll, describe, expect, it, sharedDirectory } from "../support/fixtures.js";

type Members = Readonly<Record<string, unknown>>;
type Call = (name: OperationName, request: Members, data?: unknown) => Promise<unknown>;

const ROUTED = new Set(ROUTES.map(({ operation }) => operation));
const id = ["n", "t"];
const rows = [
  { id: 1, name: "ash", vector: [1, 0] },
  { id: 2, name: "elm", vector: [0, 1] },
];

/** One or several valid requests of each operation, in the order in which they work. */
const REQUESTS: { readonly [Name in OperationName]: readonly Partial<Requests[Name]>[] | "in process only" } =
  {
    createNamespace: [{ id: ["n"], properties: { aB: "c_d" } }, { id: "m" }],
    describeNamespace: [{ id: ["n"] }, { id: [] }],
    listNamespaces: [{}, { limit: 1 }, { id: "n" }],
    namespaceExists: [{ id: ["n"] }],
    createTable: [
      { id, properties: { k_e: "vV" } },
      { id, mode: "ExistOk" },
    ],
    declareTable: [{ id: ["n", "declared"] }],
    tableExists: [{ id }, { id, version: 1 }],
    describeTable: [{ id }, { id, loadDetailedMetadata: true, withTableUri: true, checkDeclared: true }],
    listTables: [{ id: "n" }, { id: "n", limit: 1, includeDeclared: false }],
    listAllTables: [{}],
    getTableStats: [{ id }],
    insertIntoTable: [{ id }, { id, mode: "append", message: "two rows" }],
    mergeInsertIntoTable: [
      { id, on: "id", whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true },
      { id, on: ["id", "name"], whenMatchedUpdateAll: true, whenMatchedUpdateAllFilt: "source.id > 1" },
      {
        ...{ id, on: "id", whenMatchedUpdateAll: true, whenMatchedUpdateAllFilt: "source.id > $least" },
        params: { least: 1 },
      },
      {
        id,
        on: "id",
        whenMatchedUpdateAll: true,
        whenMatchedUpdateAllFilt: "source.name = $name",
        params: {},
      },
      { id, on: "id", whenNotMatchedInsertAll: true, params: { unused: 12n } },
    ],
    updateTable: [
      { id, updates: [["name", "'oak'"]], predicate: "id = 2" },
      { id, values: { name: undefined }, where: "id = 7" },
      { id, valuesSql: { name: "upper(name)" }, filter: "id = $id", params: { id: 1 } },
    ],
    queryTable: [
      { id },
      { id, columns: ["id", "_rowid"], filter: "id IN ($ids)", params: { ids: [1, 2] }, limit: 3, offset: 1 },
      {
        id,
        columns: { columnAliases: { twice: "id * 2" } },
        orderBy: [{ columnName: "id", ascending: false }],
      },
      { id, vector: new Float32Array([1, 0.5]), k: 2, columns: ["id"] },
      {
        id,
        vector: {
          multiVector: [
            [1, 0],
            [0, 1],
          ],
        },
        k: 1,
        distanceType: "cosine",
        columns: ["id"],
      },
      { id, orderBy: { id: "desc" }, withRowId: true, columns: "id" },
    ],
    aggregateTable: [{ id, groupBy: ["name"], values: { n: "count(*)" }, having: "n > 0", orderBy: "name" }],
    takeRows: [
      { id, rowOffsets: [2, 0, 2] },
      { id, rowOffsets: [99] },
      { id, rowOffsets: [] },
    ],
    takeTableRows: [
      { id, offsets: [2, 0] },
      { id, rowIds: [0n, 1], columns: ["id"], withRowId: true },
    ],
    takeBlobs: "in process only",
    countTableRows: [{ id }, { id, predicate: "id > 1" }],
    explainTableQueryPlan: [{ id, query: { filter: "id > 1", orderBy: "-id", limit: 2 } }],
    analyzeTableQueryPlan: [{ id, filter: "id > 100" }],
    createTableBranch: [{ id, name: "dev", fromVersion: 1 }],
    listTableBranches: [{ id }],
    mergeTableBranch: [{ id, name: "dev", on: "id", conflicts: "ours" }],
    createTableTag: [{ id, tag: "v1", version: 1 }],
    listTableTags: [{ id }],
    getTableTagVersion: [{ id, tag: "v1" }],
    updateTableTag: [{ id, tag: "v1", version: 2 }],
    deleteTableTag: [{ id, tag: "v1" }],
    listTableVersions: [
      { id, descending: true },
      { id, limit: 1 },
    ],
    describeTableVersion: [{ id }, { id, version: 1 }],
    diffTableVersions: [{ id, from: 1, on: "id" }],
    watchTable: [{ id, from: 1 }],
    verifyTable: [{ id }, { id, version: 1 }],
    describeTableFile: [
      { id, path: "data/none.lance" },
      { id, path: "../x" },
    ],
    describeTableStorage: [{ id }],
    restoreTable: [{ id, version: 2 }],
    updateFieldMetadata: [{ id, updates: [{ path: "id", metadata: { aB: "x", gone: null } }] }],
    updateTableSchemaMetadata: [{ id, metadata: { aB: "c_d" } }],
    alterTableAddColumns: [{ id, newColumns: [{ name: "twice", expression: "id * 2" }] }],
    alterTableAlterColumns: [{ id, alterations: [{ path: "twice", rename: "double" }] }],
    alterTableDropColumns: [{ id, columns: ["double"] }],
    alterTableBackfillColumns: [{ id, column: "id" }],
    runBackfillTask: "in process only",
    describeComputedColumns: [{ id }],
    createTableScalarIndex: [{ id, column: "id", indexType: "BTREE" }],
    createTableIndex: [{ id, column: "name", indexType: "BITMAP", name: "names" }],
    listJobs: [{ id }, { state: "Running" }],
    describeJob: [{ jobId: "00000000-0000-4000-8000-000000000000" }],
    waitForJob: [{ jobId: "00000000-0000-4000-8000-000000000000" }],
    cancelJob: [{ jobId: "00000000-0000-4000-8000-000000000000" }],
    listTableIndices: [{ id }],
    describeTableIndexStats: [{ id, indexName: "names" }],
    tokenize: [
      { text: "Running foxes, the last" },
      { text: "Running", baseTokenizer: "ngram", minNgramLength: 2 },
      { text: "Running", baseTokenizer: "jieba/default" },
      { id, text: "Running foxes", indexName: "names" },
    ],
    cloneTable: [
      { id: "cloned", from: id },
      { id: "cloned", from: id },
      { id: "other", from: "none" },
      { id: "other", from: id, version: 99 },
    ],
    migrateManifestNames: [{ id }, { id: "none" }],
    dropTableIndex: [{ id, indexName: "names" }],
    describeTransaction: [{ id: ["none"] }],
    alterTransaction: [{ id: ["none"], actions: [{ setStatusAction: { status: "Canceled" } }] }],
    createTableVersion: [{ id, version: 99, manifestPath: "none" }],
    batchCreateTableVersions: [{ entries: [{ id, version: 99, manifestPath: "none" }] }],
    batchCommitTables: [{ operations: [{ declareTable: { id: "n$batched" } }] }],
    batchDeleteTableVersions: [{ id, ranges: [{ startVersion: 1, endVersion: 2 }] }],
    configureCleanup: [{ id, olderThanMs: 1000, retainVersions: 3, interval: 20 }],
    configureLsmWrites: [
      { id, spec: { specType: "bucket", column: "id", numBuckets: 4 } },
      { id, spec: null },
    ],
    configureUpkeep: [{ id, smallFragments: "off", deletedPercent: 5 }],
    optimizeTable: [{ id }],
    cleanupTable: [{ id, olderThanMs: 0 }],
    deleteTableBranch: [{ id, name: "dev" }],
    deleteFromTable: [{ id, predicate: "id = 1" }],
    renameTable: [{ id, newTableName: "u", newNamespaceId: ["m"] }],
    deregisterTable: [{ id: ["m", "u"] }],
    registerTable: [{ id, location: "none" }],
    dropTable: [{ id: ["n", "declared"] }],
    dropNamespace: [{ id: ["m"], behavior: "Restrict" }],
  };

const root = sharedDirectory();
const otherRoot = sharedDirectory();
const worlds: { readonly call: Call; readonly root: string; close(): Promise<void> }[] = [];

beforeAll(() => {
  const engines = [root, otherRoot].map((each) => new DirectoryNamespace({ root: each, durability: "none" }));
  const served = serve(engines[1]);
  for (const [index, namespace] of [engines[0], served].entries()) {
    worlds.push({
      root: index === 0 ? root : otherRoot,
      call: (name, request, data) =>
        (namespace as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>)[name](
          request,
          data,
        ),
      close: () => namespace.close(),
    });
  }
});
afterAll(async () => {
  for (const world of worlds) await world.close();
});

/** The answer in a form that does not depend on the world: ids, times and directories are replaced. */
async function outcome({ call, root: worldRoot }: (typeof worlds)[number], ...args: Parameters<Call>) {
  try {
    return { answer: await plain(await call(...args), worldRoot) };
  } catch (error) {
    expect(error).toBeInstanceOf(NamespaceError);
    const { type, operation } = error as NamespaceError;
    expect(operation).toBeDefined();
    return { type };
  }
}

async function plain(answer: unknown, worldRoot: string): Promise<unknown> {
  if (!isRecord(answer)) return hideIds(answer, worldRoot);
  if ("toArray" in answer) {
    const { schema } = answer;
    return [String(schema), hideIds(await (answer as unknown as QueryResult).toArray(), worldRoot)];
  }
  if (Symbol.asyncIterator in answer) {
    const iterator = (answer as unknown as AsyncIterable<unknown>)[Symbol.asyncIterator]();
    const first = await iterator.next();
    await iterator.return?.();
    return hideIds(first.value, worldRoot);
  }
  return hideIds(answer, worldRoot);
}

const hideIds = (value: unknown, worldRoot: string): unknown =>
  JSON.parse(
    JSON.stringify(value, (_, each) => (typeof each === "bigint" ? `${each}n` : each) ?? null)
      .replaceAll(worldRoot, "ROOT")
      .replace(/[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}/g, "UUID")
      .replace(/\bdata\/\w+\.lance/g, "data/FILE.lance")
      .replace(/\b[0-9a-f]{8}_n\$/g, "HASH_n$")
      .replace(
        /("(?:timestampMillis|createAt|createdAt|eTag|bytes\w*|checkedBytes|totalBytes|manifestSize|sizeBytes)":)("[^"]*"|\d+)/g,
        "$1null",
      )
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
      .replace(/"(\w*Removed)":\d+/g, '"$1":null')
      .replace(/milliseconds=[\d.]+/g, "milliseconds=N"),
  );

const NAMES = Object.keys(REQUESTS) as OperationName[];

/** Members of answers that the wire does not have. */
const MISSING: Partial<Record<OperationName, readonly string[]>> = {
  updateTableSchemaMetadata: ["transactionId", "version"],
  dropTableIndex: ["version"],
};

function withoutMissing(name: OperationName, result: object): object {
  const { answer } = result as { answer?: Members };
  if (!isRecord(answer)) return result;
  const members = Object.entries(answer).filter(([member]) => !MISSING[name]?.includes(member));
  return { answer: Object.fromEntries(members) };
}

describe("valid requests", () => {
  for (const name of NAMES) {
    const requests = REQUESTS[name];
    it(`${name} gives the same answer`, { timeout: 60_000 }, async () => {
      if (requests === "in process only") {
        expect(ROUTED.has(name)).toBe(false);
        await expect(worlds[1].call(name, { id })).rejects.toMatchObject({ type: "Unsupported" });
        return;
      }
      for (const request of requests) {
        const data = operationRow(name).takesRows ? rows : undefined;
        const [local, remote] = [
          await outcome(worlds[0], name, request as Members, data),
          await outcome(worlds[1], name, request as Members, data),
        ];
        expect(remote, String(Object.keys(request))).toEqual(withoutMissing(name, local));
        const { jobId } = ((local as { answer?: unknown }).answer ?? {}) as { jobId?: string };
        if (jobId !== undefined) await settle();
      }
    });
  }
});

/** Waits until both worlds have ended their jobs. */
async function settle(): Promise<void> {
  for (const { call } of worlds) {
    const { jobs } = (await call("listJobs", {})) as { jobs: { jobId: string; state: string }[] };
    for (const { jobId } of jobs) await call("waitForJob", { jobId }).catch(() => undefined);
  }
}

describe("requests with a member of a wrong type", () => {
  /** Members that the client sets, refuses or ignores; each is tested by itself. */
  const OWN = new Set([
    ...["signal", "principal", "context", "memory", "onProgress", "progress", "rerank", "schema"],
    ...["batchSize", "batchBytes", "maxColumns", "useScalarIndex", "unregisteredBranch", "maxRows"],
    "maxBatchBytes",
  ]);
  const bytes = tableToIPC(tableFromArrays({ id: [1] }), "stream");
  const WRONG = [null, 7, -1, "", "x", true, [], ["x"], {}, { x: 1 }];
  it.for(NAMES.filter((name) => ROUTED.has(name)))("%s has the same outcome", {
    timeout: 120_000,
  }, async (name) => {
    const differences: string[] = [];
    const base = { ...(REQUESTS[name] as readonly Members[])[0], id: ["none"] };
    const members = Object.keys(operationRow(name).members).filter((member) => !OWN.has(member));
    for (const member of members) {
      for (const wrong of WRONG) {
        // Clients of the namespace spec send an empty object for no vector.
        if (member === "vector" && JSON.stringify(wrong) === "{}") continue;
        const request = { ...base, [member]: wrong };
        const data = operationRow(name).takesRows ? bytes : undefined;
        const local = await outcome(worlds[0], name, request, data);
        const remote = await outcome(worlds[1], name, request, data);
        const [a, b] = [local, remote].map((each) => ("type" in each ? each.type : "success"));
        // A server checks the form of a request before it looks for the object.
        const isOrder = a !== "success" && b === "InvalidInput";
        if (a !== b && !isOrder) differences.push(`${member} = ${JSON.stringify(wrong)}: ${a} and ${b}`);
      }
    }
    expect(differences).toEqual([]);
  });
});

it("the table of requests has every operation", () => {
  expect(NAMES.toSorted()).toEqual(Object.keys(OPERATIONS).toSorted());
});
