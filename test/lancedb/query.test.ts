/** Queries of the drop-in give what LanceDB's give for the same calls. */

import fc from "fast-check";
import * as reference from "tiltyard-reference/session.js";
import { beforeAll, describe, expect, it } from "vitest";
import { searchTable, searchVectors } from "../../src/lancedb/queries/tableSearch.js";
import * as ours from "../../src/lancedb/query.js";
import { openBothEngines } from "../support/bothEngines.js";
import { runsOf } from "../support/effort.js";
import { readerOf } from "../support/tableReader.js";

const ROWS = 60;
const NAME = "rows";
const { namespace, connection } = await openBothEngines();
const { arrow } = reference;

/** Texts of different lengths, so that no two scores of a word are equal. */
const textOf = (row: number): string =>
  [
    ...Array(1 + (row % 4)).fill("common"),
    ...(row % 3 === 0 ? ["red apple"] : ["green pear"]),
    ...Array(5 * row).fill("filler"),
  ].join(" ");

beforeAll(async () => {
  const { Bool, Field, FixedSizeList, Float32, Float64, Int64, Schema, Struct, Utf8 } = arrow;
  const vector = (size: number) => new FixedSizeList(size, new Field("item", new Float32(), true));
  const schema = new Schema([
    new Field("id", new Int64(), true),
    new Field("price", new Float64(), true),
    new Field("text", new Utf8(), true),
    new Field("even", new Bool(), true),
    new Field(
      "place",
      new Struct([new Field("city", new Utf8(), true), new Field("zip", new Int64(), true)]),
      true,
    ),
    new Field("vector", vector(3), true),
    new Field("other", vector(2), true),
  ]);
  const data = Array.from({ length: ROWS }, (_, row) => ({
    id: BigInt(row),
    price: row % 7 === 0 ? null : (row * 37) % 101,
    text: textOf(row),
    even: row % 2 === 0,
    place: { city: `city ${row % 5}`, zip: BigInt(row % 11) },
    vector: [row / 3, (row * 7) % 13, row % 5],
    other: [row * 1.5, 100 - row],
  }));
  const table = await connection.createTable(NAME, reference.makeArrowTable(data.slice(0, 40), { schema }));
  await table.add(reference.makeArrowTable(data.slice(40), { schema }));
  await table.createIndex("text", { config: reference.Index.fts({ withPosition: true }) });
  await table.createIndex("id", { config: reference.Index.btree() });
  await table.delete("id in (5, 41)");
});

type Library = Pick<
  typeof ours,
  "MatchQuery" | "PhraseQuery" | "BoostQuery" | "MultiMatchQuery" | "BooleanQuery"
>;
// biome-ignore lint/suspicious/noExplicitAny: the same calls on objects of two libraries
type Any = any;
interface Searched {
  query(): Any;
  search(...args: readonly Any[]): Any;
  vectorSearch(vector: Any): Any;
  takeOffsets(offsets: readonly number[]): Any;
  takeRowIds(rowIds: readonly bigint[]): Any;
}
type Build = (table: Searched, library: Library) => Any;

const reader = readerOf(namespace, NAME);
const here: Searched = {
  query: () => new ours.Query(reader),
  search: (query, type, columns) => searchTable(reader, query, type, columns),
  vectorSearch: (vector) => searchVectors(reader, vector),
  takeOffsets: (offsets) => new ours.TakeQuery(reader, { offsets }),
  takeRowIds: (rowIds) => new ours.TakeQuery(reader, { rowIds }),
};

const jsonOf = (rows: unknown): unknown =>
  JSON.parse(JSON.stringify(rows, (_, value) => (typeof value === "bigint" ? Number(value) : value)));

/** Returns a value with the numbers of another one where they are close: sums depend on the order of additions. */
function near(value: Any, model: Any): Any {
  if (typeof value === "number" && typeof model === "number") {
    return Math.abs(value - model) <= 1e-4 * Math.max(1e-2, Math.abs(model)) ? model : value;
  }
  if (Array.isArray(value)) return value.map((item, index) => near(item, model?.[index]));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, near(item, model?.[name])]));
}

/** Returns names, types and rows; `failed` for an error. The reference has no schema of no rows. */
async function answerOf(build: Build, table: Searched, library: Library): Promise<unknown> {
  try {
    const result = await build(table, library).toArrow();
    if (result.numRows === 0) return { rows: [] };
    const fields = result.schema.fields.map(
      ({ name, type, nullable }: Any) => `${name}: ${type} ${nullable}`,
    );
    const rows = jsonOf(result.toArray()) as Any[];
    // The reference returns the rows of several vectors in any order of the vectors.
    return {
      fields,
      rows: rows.sort((first, second) => (first.query_index ?? 0) - (second.query_index ?? 0)),
    };
  } catch (error) {
    return { failed: (error as Error).message };
  }
}

async function bothAnswers(build: Build): Promise<{ readonly hereAnswer: Any; readonly thereAnswer: Any }> {
  const there = await connection.openTable(NAME);
  const [hereAnswer, thereAnswer] = await Promise.all([
    answerOf(build, here, ours),
    answerOf(build, there as unknown as Searched, reference as unknown as Library),
  ]);
  return { hereAnswer, thereAnswer };
}

/** Failures of the reference that are its faults: an order by columns that are not selected. */
const FAULTS = /TakeExec requires the input plan/;

async function expectEqual(build: Build): Promise<void> {
  const { hereAnswer, thereAnswer } = await bothAnswers(build);
  if (FAULTS.test(thereAnswer.failed)) return;
  if (thereAnswer.failed !== undefined) expect(hereAnswer).toEqual({ failed: expect.any(String) });
  else expect(near(hereAnswer, thereAnswer)).toEqual(thereAnswer);
}

/** A call of a method, with its arguments. */
interface Call {
  readonly method: string;
  readonly args: readonly unknown[];
}
const call = (method: string, ...args: readonly fc.Arbitrary<unknown>[]): fc.Arbitrary<Call> =>
  fc.tuple(...args).map((values) => ({ method, args: values }));

const conditions = fc.constantFrom(
  "id > 20",
  "price < 60",
  "price IS NULL",
  "even",
  "text LIKE '%apple%'",
  "place.zip = 3",
  "id < 0",
  "id > 10 OR even",
);
const selections = fc.constantFrom<unknown>(
  ["id"],
  ["price", "id"],
  "id",
  ["place", "id"],
  { twice: "id * 2", id: "id" },
  { low: "lower(text)", id: "id" },
  ["_rowid", "id"],
  ["nope"],
  ["*"],
);
const orders = fc.constantFrom<unknown>(
  { columnName: "id", ascending: false },
  [{ columnName: "price" }, { columnName: "id" }],
  [
    { columnName: "even", ascending: false, nullsFirst: true },
    { columnName: "id", nullsFirst: true },
  ],
  { columnName: "nope" },
);
const COMMON = [
  call("where", conditions),
  call("select", selections),
  call("limit", fc.constantFrom(1, 3, 5, 20, 100, -1, 2.5)),
  call("offset", fc.constantFrom(0, 1, 4, 100)),
  call("withRowId"),
  call("orderBy", orders),
] as const;
const PLAIN = [...COMMON, call("filter", conditions)] as const;
const VECTOR = [
  ...COMMON,
  call("distanceType", fc.constantFrom("l2", "dot", "L2", "bad")),
  call("distanceRange", fc.constantFrom(undefined, 5), fc.constantFrom(undefined, 200)),
  call("postfilter"),
  call("column", fc.constantFrom("vector", "id")),
  call("nprobes", fc.constantFrom(1, 30)),
  call("minimumNprobes", fc.constantFrom(0, 5, 30)),
  call("maximumNprobes", fc.constantFrom(0, 5, 30)),
  call("refineFactor", fc.constantFrom(1, 5)),
  call("ef", fc.constantFrom(0, 50)),
  call("bypassVectorIndex"),
  call("fastSearch"),
  call("addQueryVector", fc.constantFrom([3.5, 1, 2], [0.25, 9, 9])),
] as const;

const applied = (query: Any, calls: readonly Call[]): Any =>
  calls.reduce((built, { method, args }) => built[method](...args), query);
const callsOf = (calls: readonly fc.Arbitrary<Call>[]): fc.Arbitrary<Call[]> =>
  fc.array(fc.oneof(...calls), { maxLength: 6 });

/** Leaves out further vectors if the first one has other dimensions. */
const fitting = (calls: readonly Call[], vector: unknown): readonly Call[] =>
  calls.filter(({ method }) => method !== "addQueryVector" || (vector as Any).length === 3);

const runs = runsOf("LANCEDB_QUERIES", 300);

describe("generated queries", () => {
  it("plain queries give the rows, order and columns of LanceDB", async () => {
    await fc.assert(
      fc.asyncProperty(callsOf(PLAIN), (calls) => expectEqual((table) => applied(table.query(), calls))),
      { numRuns: runs },
    );
  });

  it("vector queries give the rows, order and columns of LanceDB", async () => {
    const vectors = fc.constantFrom<unknown>(
      [1.125, 2, 3],
      Float64Array.of(7, 3.5, 1),
      [9.5, 11.25],
      [1, 2, 3, 4],
      Float32Array.of(50, 60),
    );
    await fc.assert(
      fc.asyncProperty(vectors, callsOf(VECTOR), (vector, calls) =>
        expectEqual((table) => applied(table.query().nearestTo(vector), fitting(calls, vector))),
      ),
      { numRuns: runs },
    );
  });

  it("text queries give the rows, order and columns of LanceDB", async () => {
    const texts = fc.constantFrom<(library: Library) => unknown>(
      () => "common",
      () => "apple pear",
      () => "nothing",
      () => "",
      (library) => new library.MatchQuery("apple common", "text", { operator: ours.Operator.And }),
      (library) => new library.MatchQuery("common", "text", { boost: 2.5 }),
      (library) => new library.MatchQuery("pear", "nope"),
      (library) => new library.PhraseQuery("green pear", "text"),
      (library) => new library.PhraseQuery("common pear", "text", { slop: 1 }),
      (library) => new library.MultiMatchQuery("pear", ["text"]),
      (library) =>
        new library.BoostQuery(
          new library.MatchQuery("common", "text"),
          new library.MatchQuery("apple", "text"),
        ),
      (library) =>
        new library.BooleanQuery([
          [ours.Occur.Must, new library.MatchQuery("common", "text")],
          [ours.Occur.MustNot, new library.MatchQuery("apple", "text")],
        ]),
      (library) =>
        new library.BooleanQuery([
          [ours.Occur.Should, new library.MatchQuery("pear", "text")],
          [ours.Occur.Should, new library.MatchQuery("apple", "text")],
        ]),
    );
    await fc.assert(
      fc.asyncProperty(texts, callsOf(COMMON), (text, calls) =>
        expectEqual((table, library) => applied(table.query().fullTextSearch(text(library)), calls)),
      ),
      { numRuns: runs },
    );
  });
});

describe("calls", () => {
  const vector = [1.125, 2, 3];
  it.each<[string, Build]>([
    ["offsets come in the table's order", (table) => table.takeOffsets([7, 3, 3, 50, 900]).select(["id"])],
    ["row ids come once", (table) => table.takeRowIds([7n, 3n, 3n, 5n, 900n]).select(["id"]).withRowId()],
    [
      "expressions of taken rows are computed",
      (table) => table.takeOffsets([7, 3]).select({ next: "id + 1" }),
    ],
    ["no offsets give no rows", (table) => table.takeOffsets([])],
    ["a limit of 0 gives no rows", (table) => table.query().limit(0)],
    ["the vector may be a promise", (table) => table.query().nearestTo(Promise.resolve(vector))],
    ["NaN is near nothing", (table) => table.query().nearestTo([Number.NaN, 1, 2])],
    ["letters are numbers that are near nothing", (table) => table.query().nearestTo("abc")],
    [
      "several vectors are searched",
      (table) =>
        table
          .search([vector, [7, 1, 1]])
          .limit(3)
          .select(["id"]),
    ],
    ["vectorSearch takes several vectors", (table) => table.vectorSearch([vector, [7, 1, 1]]).limit(3)],
    ["search of words has ten rows", (table) => table.search("common", "fts").select(["id"])],
    ["search without a type searches words", (table) => table.search("pear").where("id > 9").limit(4)],
    ["search takes query objects", (table, library) => table.search(new library.MatchQuery("pear", "text"))],
    ["search names columns", (table) => table.search("pear", "fts", "text").limit(3)],
    ["a quoted text is a phrase", (table) => table.search('"red apple"', "fts", ["text"])],
    [
      "words go before vectors",
      (table) => table.query().fullTextSearch("common").nearestTo(vector).select(["id"]),
    ],
  ])("%s", (_, build) => expectEqual(build));

  it("a vector query keeps what the query said when it was made", async () => {
    const query = here.query().limit(4);
    const near = query.nearestTo(vector);
    query.limit(2);
    expect([(await near.toArray()).length, (await query.toArray()).length]).toEqual([4, 2]);
  });

  it("steps change the query and return it", async () => {
    const query = here.query();
    expect(query.where("id > 3").limit(2)).toBe(query);
    expect((await query.toArray()).length).toBe(2);
  });

  it("steps after a run has begun change later runs only", async () => {
    for (const query of [
      here.query().limit(4),
      here.query().nearestTo(vector).limit(4),
      here.search("pear").limit(4),
    ]) {
      const running = query.toArray();
      query.limit(1).where("id < 0");
      expect([(await running).length, (await query.toArray()).length]).toEqual([4, 0]);
    }
  });

  it("a condition cannot end the parenthesis of another one", async () => {
    await expect(here.query().where("id > 3) OR (true").where("id < 2").toArray()).rejects.toThrow(/filter/);
  });

  it("rows are Arrow rows", async () => {
    const [row] = await here.query().limit(1).toArray();
    expect(Object.keys(row)).toEqual(["id", "price", "text", "even", "place", "vector", "other"]);
    expect([row.id, Array.isArray(row.vector), row.vector.toArray()]).toEqual([
      0n,
      false,
      Float32Array.of(0, 0, 0),
    ]);
  });

  it("batches have at most the rows that were asked for", async () => {
    const lengths = async (query: Any) =>
      (await query.toArrow({ maxBatchLength: 7 })).batches.map(({ numRows }: Any) => numRows);
    const search = here.query().nearestTo(vector).limit(16);
    expect(await lengths(search)).toEqual([7, 7, 2]);
    expect(await lengths(search.fullTextSearch("common"))).toEqual([7, 7, 2]);
    expect(await lengths(here.takeOffsets([1, 2, 3, 4, 5, 6, 7, 8]))).toEqual([7, 1]);
    let rows = 0;
    for await (const batch of here.query().limit(9)) rows += batch.numRows;
    expect(rows).toBe(9);
  });

  it("a time limit ends a query", async () => {
    const ended = { timeoutMs: 0 };
    const expectations = [
      here.query(),
      here.query().nearestTo(vector),
      here.takeOffsets([1]),
      here.search("pear"),
    ];
    for (const query of expectations) await expect(query.toArray(ended)).rejects.toThrow("Query timeout");
    expect((await here.query().toArray({ timeoutMs: 2 ** 31 + 5 })).length).toBe(ROWS - 2);
  });

  it("the schema of a query is that of its rows", async () => {
    const queries = [
      here.query().select({ next: "id + 1" }).withRowId(),
      here.query().nearestTo(vector).select(["id"]),
      here.query().nearestTo(vector).fullTextSearch("common").select(["id"]),
      here.takeOffsets([1]).select(["text"]),
    ];
    for (const query of queries) {
      expect(String(await query.outputSchema())).toBe(String((await query.toArrow()).schema));
    }
  });

  it("a rejected vector fails with its own error", async () => {
    const error = new Error("no embedding");
    await expect(here.query().nearestTo(Promise.reject(error)).toArray()).rejects.toBe(error);
    await expect(here.search("red", "vector").toArray()).rejects.toThrow(
      "No embedding functions are defined",
    );
  });

  it("plans name LanceDB's steps", async () => {
    expect(await here.query().nearestTo(vector).explainPlan(true)).toMatch(
      /KNNVectorDistance.*\n.*LanceScan/,
    );
    expect(await here.query().nearestTo(vector).analyzePlan()).toMatch(
      /^AnalyzeExec.*\n[\s\S]*metrics=\[output_rows=/,
    );
    expect(await here.takeOffsets([1, 2]).analyzePlan("full")).toMatch(/TakeExec: .*output_rows=2/);
    await expect(here.query().analyzePlan("none")).rejects.toThrow("Invalid distributedMetrics value 'none'");
  });

  it.each<[string, () => unknown]>([
    ["limit: must be a number", () => here.query().limit("3")],
    ["offset: must be a number", () => here.query().offset(undefined)],
    ["where: must be a text", () => here.query().where(undefined)],
    ["Invalid full text search query object", () => here.query().fullTextSearch(5)],
    [
      "Phrase queries cannot be used with multiple columns.",
      () => here.query().fullTextSearch('"a b"', { columns: ["a", "b"] }),
    ],
    ["Missing field `columnName`", () => here.query().orderBy("id")],
    ["Invalid distance type 'foo'", () => here.query().nearestTo(vector).distanceType("foo")],
    ["select: must be a text", () => here.query().select([1])],
    ["boosts must match", () => new ours.MultiMatchQuery("a", ["x", "y"], { boosts: [1] })],
    ["no columns", () => new ours.MultiMatchQuery("a", [])],
    [
      "Invalid occur value: X",
      () => new ours.BooleanQuery([["X" as ours.Occur, new ours.MatchQuery("a", "b")]]),
    ],
    ["Invalid operator: XOR", () => new ours.MatchQuery("a", "b", { operator: "XOR" as ours.Operator })],
  ])("a wrong argument fails at once: %s", (sentence, build) => expect(build).toThrow(sentence));

  it("reading rows of a log is refused", async () => {
    await expect(here.query().useLsm(true).toArray()).rejects.toThrow("has no MemWAL write spec");
    expect((await here.query().useLsm(false).limit(1).toArray()).length).toBe(1);
  });
});
