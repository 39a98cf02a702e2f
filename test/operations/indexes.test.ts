/** Refusals of the operations on indexes and their errors, in process and over HTTP. */

import * as arrow from "apache-arrow";
import type { DirectoryNamespace } from "tiltyard";
import { afterAll, beforeAll, describe, expect, it } from "../support/fixtures.js";
import { buildIndex } from "../support/indexedTable.js";
import { WORLDS } from "../support/restNamespace.js";
import { makeTempDir } from "../support/tempDir.js";

const ROWS = 40;
const ids = Array.from({ length: ROWS }, (_, row) => row);

function rows(): arrow.Table {
  const point = new arrow.Struct([
    new arrow.Field("x", new arrow.Int32(), true),
    new arrow.Field("a.b", new arrow.Int32(), true),
  ]);
  const floats = (size: number) =>
    new arrow.FixedSizeList(size, new arrow.Field("item", new arrow.Float32(), true));
  return new arrow.Table({
    id: arrow.vectorFromArray(ids, new arrow.Int32()),
    text: arrow.vectorFromArray(ids.map(String), new arrow.Utf8()),
    flag: arrow.vectorFromArray(
      ids.map((id) => id % 2 === 0),
      new arrow.Bool(),
    ),
    labels: arrow.vectorFromArray(
      ids.map((id) => [`l${id % 3}`]),
      new arrow.List(new arrow.Field("item", new arrow.Utf8(), true)),
    ),
    point: arrow.vectorFromArray(
      ids.map((id) => ({ x: id, "a.b": -id })),
      point,
    ),
    points: arrow.vectorFromArray(
      ids.map((id) => [{ x: id, "a.b": id }]),
      new arrow.List(new arrow.Field("item", point, true)),
    ),
    vector: arrow.vectorFromArray(
      ids.map((id) => [id, 1, 2, 3, 4, 5, 6, 7]),
      floats(8),
    ),
    many: arrow.vectorFromArray(
      ids.map((id) => [[id, 1, 2, 3, 4, 5, 6, 7]]),
      new arrow.List(new arrow.Field("item", floats(8), true)),
    ),
    odd: arrow.vectorFromArray(
      ids.map((id) => [id, 1, 2]),
      floats(3),
    ),
  });
}

type Request = Readonly<Record<string, unknown>>;

/** Requests for indexes, with the type and message of the refusal. */
const REFUSED: readonly (readonly [Request, type: string, told: RegExp])[] = [
  [{}, "InvalidInput", /column/],
  [{ column: "" }, "InvalidInput", /column/],
  [{ column: 7 }, "InvalidInput", /column/],
  [{ column: "none" }, "TableColumnNotFound", /none/],
  [{ column: "point.none" }, "TableColumnNotFound", /point.none/],
  [{ column: "id.x" }, "TableColumnNotFound", /id.x/],
  [{ column: "point..x" }, "InvalidInput", /point\.\.x/],
  [{ column: "`id" }, "InvalidInput", /`id/],
  [{ column: "id." }, "InvalidInput", /id\./],
  [{ column: "id", indexType: "TREE" }, "InvalidInput", /indexType.*BTREE.*NGRAM.*FTS.*IVF_PQ.*"TREE"/],
  [{ column: "id", indexType: "" }, "InvalidInput", /indexType/],
  [{ column: "id", indexType: 5 }, "InvalidInput", /indexType/],
  // The message lists the kinds that the column supports.
  [
    { column: "id", indexType: "NGRAM" },
    "InvalidInput",
    /column: id.*NGRAM.*it can have BTREE, BITMAP, ZONEMAP, BLOOMFILTER$/,
  ],
  [{ column: "text", indexType: "LABEL_LIST" }, "InvalidInput", /can have BTREE, BITMAP.*NGRAM, FTS, FM$/],
  [{ column: "labels", indexType: "BTREE" }, "InvalidInput", /labels.*it can have LABEL_LIST, FTS$/],
  [{ column: "vector", indexType: "BTREE" }, "InvalidInput", /vector.*it can have IVF_FLAT.*IVF_HNSW_PQ$/],
  [{ column: "flag", indexType: "FTS" }, "InvalidInput", /flag.*FTS.*it can have BTREE/],
  [{ column: "id", indexType: "FM" }, "InvalidInput", /id.*FM.*it can have BTREE/],
  [{ column: "id", indexType: "IVF_PQ" }, "InvalidInput", /id.*IVF_PQ.*it can have BTREE/],
  [{ column: "point", indexType: "BTREE" }, "InvalidInput", /point.*it can have no index/],
  [{ column: "points.item.x", indexType: "BTREE" }, "InvalidInput", /part of what is no struct.*no index/],
  [{ column: "id", name: "" }, "InvalidInput", /name/],
  [{ column: "id", name: "a\u0000b" }, "InvalidInput", /name/],
  [{ column: "id", name: "n".repeat(201) }, "InvalidInput", /name.*200/],
  [{ column: "id", name: "__lance_frag_reuse" }, "InvalidInput", /name/],
  [{ column: "id", replace: "yes" }, "InvalidInput", /replace/],
  [{ column: "id", indexType: "ZONEMAP", rowsPerZone: 0 }, "InvalidInput", /^rowsPerZone/],
  [{ column: "id", indexType: "ZONEMAP", rowsPerZone: 1.5 }, "InvalidInput", /^rowsPerZone/],
  [{ column: "id", indexType: "ZONEMAP", rowsPerZone: 2 ** 20 + 1 }, "InvalidInput", /rowsPerZone/],
  [{ column: "id", branch: "none" }, "TableBranchNotFound", /none/],
  [{ column: "text", indexType: "FTS", baseTokenizer: "words" }, "InvalidInput", /baseTokenizer.*simple/],
  [{ column: "text", indexType: "FTS", baseTokenizer: "jieba/" }, "InvalidInput", /baseTokenizer/],
  [{ column: "text", indexType: "FTS", language: "Klingon" }, "InvalidInput", /language.*English.*Klingon/],
  [{ column: "text", indexType: "FTS", maxTokenLength: -1 }, "InvalidInput", /maxTokenLength/],
  [{ column: "text", indexType: "FTS", lowerCase: "no" }, "InvalidInput", /lowerCase/],
  [{ column: "text", indexType: "FTS", withPosition: 1 }, "InvalidInput", /withPosition/],
  [{ column: "text", indexType: "FTS", stem: 1 }, "InvalidInput", /stem/],
  [
    { column: "text", indexType: "FTS", minNgramLength: 5, maxNgramLength: 3 },
    "InvalidInput",
    /minNgramLength.*3.*5/,
  ],
  [{ column: "text", indexType: "FTS", minNgramLength: 0 }, "InvalidInput", /minNgramLength/],
  [{ column: "text", indexType: "FTS", blockSize: 100 }, "InvalidInput", /blockSize.*128 or 256/],
  [{ column: "text", indexType: "FTS", customStopWords: ["a", 1] }, "InvalidInput", /customStopWords/],
  [{ column: "text", indexType: "FTS", minNgramLength: 5 }, "InvalidInput", /minNgramLength/],
  [{ column: "text", indexType: "inverted", baseTokenizer: "lindera/ipadic" }, "Unsupported", /lindera/],
  ...["code", "jieba", "jieba/default"].map((name): (typeof REFUSED)[number] => [
    { column: "text", indexType: "FTS", baseTokenizer: name },
    "Unsupported",
    new RegExp(name),
  ]),
  [{ column: "text", indexType: "FTS", baseTokenizer: "icu/x" }, "InvalidInput", /baseTokenizer.*icu\/x/],
  [{ column: "text", indexType: "FTS", baseTokenizer: "lindera" }, "InvalidInput", /baseTokenizer/],
  [{ column: "vector", distanceType: "l3" }, "InvalidInput", /distanceType.*l2, cosine, dot, hamming.*l3/],
  [
    { column: "vector", indexType: "IVF_FLAT", distanceType: "hamming" },
    "InvalidInput",
    /distanceType.*hamming/,
  ],
  [{ column: "vector", indexType: "IVF_PQ", numBits: 9 }, "InvalidInput", /numBits/],
  [{ column: "vector", indexType: "IVF_PQ", numBits: 5 }, "InvalidInput", /numBits.*4 or 8.*5/],
  [{ column: "vector", indexType: "IVF_PQ", numSubVectors: 3 }, "InvalidInput", /numSubVectors.*divide 8/],
  [{ column: "vector", indexType: "IVF_PQ", numPartitions: 0 }, "InvalidInput", /numPartitions/],
  [{ column: "vector", indexType: "IVF_FLAT", sampleRate: 0 }, "InvalidInput", /sampleRate/],
  [{ column: "vector", indexType: "IVF_FLAT", maxIterations: 1.5 }, "InvalidInput", /maxIterations/],
  [{ column: "vector", indexType: "IVF_HNSW_SQ", m: 0 }, "InvalidInput", /^m: /],
  [{ column: "vector", indexType: "IVF_HNSW_SQ", efConstruction: -3 }, "InvalidInput", /efConstruction/],
  [{ column: "odd", indexType: "IVF_RQ" }, "InvalidInput", /multiple of 8 values, not 3/],
  [{ column: "vector", indexType: "ivf_rq", numBits: 10 }, "InvalidInput", /numBits/],
  [{ column: "many", indexType: "IVF_PQ", distanceType: "l2" }, "InvalidInput", /cosine for column many/],
  [{ column: "many", indexType: "IVF_FLAT", distanceType: "dot" }, "InvalidInput", /cosine for column many/],
  [{ column: "labels", indexType: "IVF_FLAT" }, "InvalidInput", /labels.*is no fixed-size list/],
  [{ column: "vector", indexType: "ivfhnswsq", m: 2049 }, "InvalidInput", /^m: .*2048/],
  [{ column: "vector", indexType: "ivfrq", distanceType: "hamming" }, "InvalidInput", /distanceType/],
];

describe.each(WORLDS)("indexes by %s", (_, open) => {
  let namespace: DirectoryNamespace;
  const id = ["t"];
  beforeAll(async () => {
    namespace = open(await makeTempDir());
    await namespace.createTable({ id }, rows());
    await namespace.declareTable({ id: ["declared"] });
  });
  afterAll(() => namespace.close());

  /** Requests over HTTP require the kind of the index. */
  const create = (request: Request) =>
    namespace.createTableIndex({ id, indexType: "BTREE", ...request } as never);
  const errorOf = async (call: Promise<unknown>): Promise<{ type: string; message: string }> => {
    const error = await call.then(
      () => ({ type: "none", message: "" }),
      (thrown: { type: string; message: string }) => thrown,
    );
    const member = /^\w+/.exec(error.message)?.[0] ?? "";
    const name = member.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
    return { type: error.type, message: name + error.message.slice(member.length) };
  };
  const namesNow = async () =>
    (await namespace.listTableIndices({ id })).indexes.map(({ indexName }) => indexName);

  it.each(REFUSED)("the request %j is refused: %s", async (request, type, told) => {
    const before = await namespace.table(id).version();
    const error = await errorOf(create(request));
    expect(error).toEqual({ type, message: expect.stringMatching(told) });
    expect(await namespace.table(id).version()).toBe(before);
    expect((await namespace.listJobs({ id })).jobs).toEqual([]);
    expect(await namesNow()).toEqual([]);
  });

  it("createTableScalarIndex refuses vector kinds", async () => {
    const error = await errorOf(
      namespace.createTableScalarIndex({ id, column: "vector", indexType: "IVF_PQ" }),
    );
    expect(error).toEqual({
      type: "InvalidInput",
      message: expect.stringMatching(/BTREE.*FTS, FM, not "IVF_PQ"/),
    });
  });

  it("index operations report missing and declared tables", async () => {
    const requests = {
      createTableIndex: { column: "id", indexType: "BTREE" },
      describeTableIndexStats: { indexName: "id_idx" },
      dropTableIndex: { indexName: "id_idx" },
    } as const;
    for (const operation of Object.keys(requests) as (keyof typeof requests)[]) {
      const call = (name: string) => namespace[operation]({ id: [name], ...requests[operation] } as never);
      expect(await errorOf(call("none")), operation).toMatchObject({ type: "TableNotFound" });
      expect(await errorOf(call("declared")), operation).toMatchObject({ type: "InvalidTableState" });
    }
    expect(await errorOf(namespace.listTableIndices({ id: ["none"] }))).toMatchObject({
      type: "TableNotFound",
    });
    expect(await namespace.listTableIndices({ id: ["declared"] })).toEqual({ indexes: [] });
  });

  it("an index is named after its column and replaced only on request", async () => {
    const table = ["named"];
    await namespace.createTable({ id: table }, rows());
    const build = (request: Request) =>
      buildIndex(namespace, { id: table, indexType: "BTREE", ...request } as never);
    await build({ column: "id" });
    await build({ column: "id", indexType: "bitmap" });
    await build({ column: "point.`a.b`", indexType: "zone_map", rowsPerZone: 16 });
    await build({ column: "text", indexType: "Scalar", name: "mine / ä" });
    const list = async (request: Request = {}) =>
      (await namespace.listTableIndices({ id: table, ...request })).indexes;
    expect(
      (await list()).map(({ indexName, columns, indexType }) => [indexName, columns, indexType]),
    ).toEqual([
      ["id_idx", ["id"], "BTREE"],
      ["id_idx_2", ["id"], "BITMAP"],
      ["mine / ä", ["text"], "BTREE"],
      ["point.`a.b`_idx", ["point.`a.b`"], "ZONEMAP"],
    ]);
    const before = await list();
    for (const request of [
      { column: "id" },
      { column: "text", name: "id_idx" },
      { column: "text", name: "id_idx", replace: true },
    ]) {
      const call = namespace.createTableIndex({ id: table, indexType: "BTREE", ...request });
      expect(await errorOf(call), JSON.stringify(request)).toEqual({
        type: "TableIndexAlreadyExists",
        message: expect.stringContaining("id_idx"),
      });
    }
    expect(await list()).toEqual(before);
    const version = await namespace.table(table).version();
    await build({ column: "id", replace: true });
    const after = await list();
    expect(after[0]).toMatchObject({ indexName: "id_idx", indexType: "BTREE", numIndexedRows: ROWS });
    expect(after[0].indexUuid).not.toBe(before[0].indexUuid);
    expect(after.slice(1)).toEqual(before.slice(1));
    expect(await list({ version })).toEqual(before);

    const first = await namespace.listTableIndices({ id: table, limit: 3 });
    expect(first.indexes.map(({ indexName }) => indexName)).toEqual(["id_idx", "id_idx_2", "mine / ä"]);
    const rest = await namespace.listTableIndices({ id: table, limit: 3, pageToken: first.pageToken });
    expect(rest).toEqual({ indexes: [after[3]] });
    for (const request of [{ limit: -1 }, { version: -1 }, { version: 1.5 }, { pageToken: 7 }]) {
      const call = namespace.listTableIndices({ id: table, ...request } as never);
      expect(await errorOf(call), JSON.stringify(request)).toMatchObject({ type: "InvalidInput" });
    }
    expect(await errorOf(namespace.listTableIndices({ id: table, version: 99 }))).toMatchObject({
      type: "TableVersionNotFound",
    });

    // Statistics of any version; rows added later are not covered.
    await namespace.insertIntoTable({ id: table }, rows());
    const stats = (request: Request) =>
      namespace.describeTableIndexStats({ id: table, indexName: "id_idx", ...request } as never);
    expect(await stats({})).toEqual({
      ...{ indexType: "BTREE", numIndexedRows: ROWS, numUnindexedRows: ROWS, numIndices: 1 },
    });
    expect(await stats({ version })).toMatchObject({ numIndexedRows: ROWS, numUnindexedRows: 0 });
    expect(await errorOf(stats({ version: 1 }))).toMatchObject({ type: "TableIndexNotFound" });
    expect(await errorOf(stats({ indexName: "none" }))).toMatchObject({ type: "TableIndexNotFound" });
    expect(await errorOf(stats({ branch: "none" }))).toMatchObject({ type: "TableBranchNotFound" });

    const drop = (indexName: unknown) => namespace.dropTableIndex({ id: table, indexName } as never);
    expect(await errorOf(drop("none"))).toMatchObject({ type: "TableIndexNotFound" });
    const latest = await namespace.table(table).version();
    await drop("mine / ä");
    expect(await namespace.table(table).version()).toBe(latest + 1);
    expect(await errorOf(drop("mine / ä"))).toMatchObject({ type: "TableIndexNotFound" });
    expect((await list()).map(({ indexName }) => indexName)).toEqual([
      "id_idx",
      "id_idx_2",
      "point.`a.b`_idx",
    ]);
    expect((await list({ version: latest })).map(({ indexName }) => indexName)).toContain("mine / ä");
    expect(await namespace.table(table).countRows("text = '7'")).toBe(2);
  });

  it("indexes of a branch are separate from those of the table", async () => {
    const table = ["branched"];
    await namespace.createTable({ id: table }, rows());
    await buildIndex(namespace, { id: table, column: "id", indexType: "BTREE" });
    await namespace.createTableBranch({ id: table, name: "dev" });
    await buildIndex(namespace, { id: table, column: "text", indexType: "BTREE", branch: "dev" });
    const list = async (request: Request) =>
      (await namespace.listTableIndices({ id: table, ...request })).indexes.map(({ indexName }) => indexName);
    expect(await list({})).toEqual(["id_idx"]);
    expect(await list({ branch: "dev" })).toEqual(["id_idx", "text_idx"]);
    await namespace.dropTableIndex({ id: table, indexName: "id_idx", branch: "dev" });
    expect(await list({})).toEqual(["id_idx"]);
    expect(await list({ branch: "dev" })).toEqual(["text_idx"]);
    const stats = { id: table, indexName: "text_idx" };
    expect(await namespace.describeTableIndexStats({ ...stats, branch: "dev" })).toMatchObject({
      numIndexedRows: ROWS,
    });
    expect(await errorOf(namespace.describeTableIndexStats(stats))).toMatchObject({
      type: "TableIndexNotFound",
    });
  });
});

it("the default kind suits the column", async ({ ns }) => {
  await ns.createTable({ id: ["t"] }, rows());
  await buildIndex(ns, { id: ["t"], column: "vector" });
  const ofVectors = await ns.describeTableIndexStats({ id: ["t"], indexName: "vector_idx" });
  expect(ofVectors).toMatchObject({ indexType: "IVF_PQ", distanceType: "l2" });
  await expect(ns.createTableIndex({ id: ["t"], column: "point" })).rejects.toMatchObject({
    type: "InvalidInput",
    message: expect.stringMatching(/indexType/),
  });
  await buildIndex(ns, { id: ["t"], column: "flag" });
  expect((await ns.table("t").indexes())[0]).toMatchObject({ indexType: "BTREE" });
});
