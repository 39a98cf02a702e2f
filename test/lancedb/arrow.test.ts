/** Arrow tables of rows, against those of LanceDB's native package, and tables of other copies of apache-arrow. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as ours from "../../src/lancedb/arrow.js";
import { blob } from "../../src/lancedb/blob.js";
import { EmbeddingFunction } from "../../src/lancedb/embedding/index.js";
import { rowsToAdd, rowsToCreate, schemaToCreate } from "../../src/lancedb/engineRows.js";
import { Scannable } from "../../src/lancedb/scannable.js";
import { runsOf } from "../support/effort.js";
import { nativeModule, outcomeOf, schemaText, settledOutcome, tableText } from "../support/nativeLancedb.js";

const native = nativeModule<typeof ours>("arrow");
const { EmbeddingFunction: NativeFunction } = nativeModule<{ EmbeddingFunction: typeof EmbeddingFunction }>(
  "embedding/embedding_function",
);

type Arrow = typeof ours;
type TypeOf = (arrow: Arrow) => ours.DataType;
type Rows = Record<string, unknown>[];

const listOf =
  (type: TypeOf): TypeOf =>
  (arrow) =>
    new arrow.List(new arrow.Field("item", type(arrow), true));
const vectorOf =
  (size: number, type: TypeOf): TypeOf =>
  (arrow) =>
    new arrow.FixedSizeList(size, new arrow.Field("item", type(arrow), true));
const int32: TypeOf = ({ Int32 }) => new Int32();

/** Types, and values that both take: what they make of them is the same. */
const VALUES: Record<string, [TypeOf, readonly unknown[]]> = {
  int8: [({ Int8 }) => new Int8(), [1, -3, 1.7, "5", true, 2n]],
  int32: [int32, [1, -2.5, "5", false, 7n]],
  int64: [({ Int64 }) => new Int64(), [1, -(2n ** 63n), "5", true]],
  uint64: [({ Uint64 }) => new Uint64(), [1, 2n ** 64n - 1n]],
  float16: [({ Float16 }) => new Float16(), [1.5, "3", true]],
  float32: [({ Float32 }) => new Float32(), [0.1, "1.5", false]],
  float64: [({ Float64 }) => new Float64(), [0.1, "1e3", true, new Date(5)]],
  text: [({ Utf8 }) => new Utf8(), ["é", "\ud800", 5, true, 7n, new Date(5)]],
  largeText: [({ LargeUtf8 }) => new LargeUtf8(), ["a", 5]],
  bool: [({ Bool }) => new Bool(), [true, false, 1, 0]],
  binary: [({ Binary }) => new Binary(), [Buffer.from("ab"), new Uint8Array(1), "aGk=", [1, 2]]],
  sizedBinary: [({ FixedSizeBinary }) => new FixedSizeBinary(2), [Buffer.from("ab"), new Uint8Array(2)]],
  seconds: [({ TimestampSecond }) => new TimestampSecond(), [new Date(5000), 5000]],
  milliseconds: [({ TimestampMillisecond }) => new TimestampMillisecond(), [new Date(5), 5, 5n]],
  microseconds: [({ TimestampMicrosecond }) => new TimestampMicrosecond("UTC"), [new Date(5), 5]],
  nanoseconds: [({ TimestampNanosecond }) => new TimestampNanosecond(), [new Date(5), 5]],
  day: [({ DateDay }) => new DateDay(), [new Date(86_400_005), 86_400_000, 86_400_001]],
  date: [({ DateMillisecond }) => new DateMillisecond(), [new Date(5), 5, 5n]],
  time: [({ TimeMillisecond }) => new TimeMillisecond(), [5]],
  duration: [({ DurationMillisecond }) => new DurationMillisecond(), [2n ** 40n]],
  decimal: [({ Decimal }) => new Decimal(2, 10, 128), [new Uint32Array([1234, 0, 0, 0])]],
  dictionary: [({ Dictionary, Utf8, Int32 }) => new Dictionary(new Utf8(), new Int32()), ["a", "b"]],
  nothing: [({ Null }) => new Null(), [null]],
  list: [listOf(int32), [[1, null], [], new Int32Array(2)]],
  lists: [listOf(listOf(({ Utf8 }) => new Utf8())), [[["a"], []], []]],
  vector: [
    vectorOf(2, ({ Float32 }) => new Float32()),
    [[1, null], new Float32Array(2), new Float64Array([0.5, 2]), ["1", "2"]],
  ],
  halves: [vectorOf(2, ({ Float16 }) => new Float16()), [[1, 2.5], new Float32Array(2)]],
  bytes: [vectorOf(2, ({ Uint8 }) => new Uint8()), [[1, 255], Buffer.from("ab")]],
  struct: [
    ({ Struct, Field, Int32, Utf8, Bool }) =>
      new Struct([
        new Field("a", new Int32(), true),
        new Field("b", new Utf8(), true),
        new Field("c", new Struct([new Field("d", new Bool(), true)]), true),
      ]),
    [{ a: 1 }, { b: "x", c: { d: true } }, { c: null }, { b: null }],
  ],
  map: [
    ({ Map_, Field, Struct, Utf8, Int32 }) =>
      new Map_(
        new Field(
          "entries",
          new Struct([new Field("key", new Utf8(), false), new Field("value", new Int32(), true)]),
          false,
        ) as never,
      ),
    [new Map([["a", 1]]), new Map()],
  ],
};

const schemaOf = (arrow: Arrow, names: readonly string[]): ours.Schema =>
  new arrow.Schema(names.map((name) => new arrow.Field(name, VALUES[name][0](arrow), true)));

describe("makeArrowTable", () => {
  it.each(Object.keys(VALUES))("with a schema converts values of type %s as LanceDB does", (name) => {
    const rows = [...VALUES[name][1].map((value) => ({ [name]: value })), { [name]: null }];
    const outcome = (arrow: Arrow) =>
      outcomeOf(() => arrow.makeArrowTable(rows, { schema: schemaOf(arrow, [name]) }));
    expect(outcome(ours)).toBe(outcome(native));
  });

  it("with a schema agrees with LanceDB on generated rows", () => {
    const names = fc.uniqueArray(fc.constantFrom(...Object.keys(VALUES)), { minLength: 1, maxLength: 4 });
    const cases = names.chain((chosen) => {
      const values = chosen.map((name) => [name, fc.constantFrom(...VALUES[name][1], null)] as const);
      const row = fc.record(Object.fromEntries(values), { requiredKeys: [], noNullPrototype: true });
      return fc.tuple(fc.constant(chosen), fc.array(row, { minLength: 1, maxLength: 5 }));
    });
    fc.assert(
      fc.property(cases, ([chosen, rows]) => {
        const outcome = (arrow: Arrow) =>
          outcomeOf(() => arrow.makeArrowTable(rows as Rows, { schema: schemaOf(arrow, chosen) }));
        // LanceDB refuses a struct after a null of it; the drop-in takes both.
        const expected = outcome(native);
        if (!/^throws .* but found Struct for field/.test(expected)) expect(outcome(ours)).toBe(expected);
      }),
      { numRuns: runsOf("ARROW_RUNS", 2000) },
    );
  });

  it.each([
    [int32, 2 ** 40],
    [int32, "abc"],
    [int32, Number.NaN],
    [({ Int64 }: Arrow) => new Int64(), 2n ** 63n],
    [({ Uint8 }: Arrow) => new Uint8(), -1],
    [({ Float32 }: Arrow) => new Float32(), "abc"],
    [({ Bool }: Arrow) => new Bool(), "true"],
    [listOf(int32), 5],
    [vectorOf(2, ({ Float32 }) => new Float32()), [1, 2, 3]],
    [vectorOf(2, ({ Float32 }) => new Float32()), ["a", "b"]],
    [vectorOf(2, ({ Float32 }) => new Float32()), "ab"],
    [({ FixedSizeBinary }: Arrow) => new FixedSizeBinary(2), Buffer.from("abc")],
    [({ Utf8 }: Arrow) => new Utf8(), new Map()],
  ])("refuses a value of %s that LanceDB would store as another: %s", (type, value) => {
    const schema = new ours.Schema([new ours.Field("x", type(ours), true)]);
    expect(() => ours.makeArrowTable([{ x: null }, { x: value }], { schema })).toThrow(/^row 1, column x/);
    expect(() =>
      native.makeArrowTable([{ x: value }], {
        schema: new native.Schema([new native.Field("x", type(native), true)]),
      }),
    ).not.toThrow();
  });

  it("takes values that LanceDB fails on", () => {
    const { Decimal, Field, Schema, TimestampMicrosecond, Float64 } = ours;
    const schema = new Schema([
      new Field("a", new TimestampMicrosecond(), true),
      new Field("b", new Decimal(2, 10, 128), true),
      new Field("c", new Float64(), true),
    ]);
    const table = ours.makeArrowTable([{ a: 5n, b: "1.25", c: 3n }], { schema });
    expect(table.getChild("c")?.get(0)).toBe(3);
    expect(table.getChild("a")?.data[0].values[0]).toBe(5n);
    expect(table.getChild("b")?.data[0].values[0]).toBe(125);
  });

  it("takes vectors and rows of another table", () => {
    const first = ours.makeArrowTable([{ id: 1, vector: [1, 2], s: { x: "a" } }]);
    const again = ours.makeArrowTable(first.toArray() as Rows);
    expect(tableText(again)).toBe(tableText(first));
    expect(tableText(ours.makeArrowTable(first.toArray() as Rows, { schema: first.schema }))).toBe(
      tableText(first),
    );
  });

  it("completes values of blobs", () => {
    const schema = new ours.Schema([blob("b")]);
    const rows = [{ b: Buffer.from("x") }, { b: "s3://x" }, { b: { data: Buffer.from("y") } }, { b: null }];
    const table = ours.makeArrowTable(rows, { schema });
    expect(schemaText(table.schema)).toBe(
      "b: Struct<{data:LargeBinary, uri:Utf8}>?{data: LargeBinary?, uri: Utf8?}",
    );
    const values = table
      .getChild("b")
      ?.toArray()
      .map((row: { uri: string } | null) => row?.uri ?? null);
    expect(values).toEqual([null, "s3://x", null, null]);
    expect(() => ours.makeArrowTable([{ b: { uri: "x", z: 1 } }], { schema })).toThrow(
      "Found field not in schema: b.z at row 0",
    );
  });

  it("merges metadata as LanceDB does", () => {
    const outcome = (arrow: Arrow) =>
      outcomeOf(() => {
        const schema = new arrow.Schema(
          [new arrow.Field("x", new arrow.Int32(), true)],
          new Map([["a", "b"]]),
        );
        return arrow.makeArrowTable([{ x: 1 }], { schema }, new Map([["c", "d"]]));
      });
    expect(outcome(ours)).toBe(outcome(native));
    expect(ours.makeArrowTable([{ x: 1 }], {}, new Map([["c", "d"]])).schema.metadata.get("c")).toBe("d");
  });
});

describe("dataTypeToJson and tests of types", () => {
  it.each(Object.keys(VALUES))("of %s are those of LanceDB", (name) => {
    const type = VALUES[name][0];
    const outcome = (arrow: Arrow) => outcomeOf(() => arrow.dataTypeToJson(type(arrow)));
    expect(outcome(ours)).toBe(outcome(native));
    const guardsOf = (arrow: Arrow) =>
      Object.entries(arrow).filter(
        ([key]) => /^is[A-Z]/.test(key) && key in native && key !== "isArrowTable",
      );
    const answers = (arrow: Arrow, value: unknown) =>
      guardsOf(arrow).map(([key, guard]) => [key, (guard as (value: unknown) => boolean)(value)]);
    const inOrder = (list: unknown[][]) => list.sort(([left], [right]) => (`${left}` < `${right}` ? -1 : 1));
    expect(inOrder(answers(ours, type(ours)))).toEqual(inOrder(answers(native, type(ours))));
    expect(answers(ours, null).filter(([, answer]) => answer)).toEqual([]);
  });

  it.each([
    [[1]],
    [[[1]]],
    [[]],
    new Float32Array(1),
    new Int8Array(1),
    "a",
    null,
    [[new Float64Array(1)]],
    [["a"]],
  ])("tell vectors as LanceDB does: %j", (value) => {
    expect(ours.isIntoVector(value)).toBe(native.isIntoVector(value));
    expect(ours.isMultiVector(value)).toBe(native.isMultiVector(value));
  });

  it.each([
    new Float32Array(1),
    new Float64Array([1]),
    new Uint8Array([1]),
    Buffer.from("a"),
  ])("extract the bytes of vectors as LanceDB does: %s", (vector) => {
    const plain = (value: ReturnType<Arrow["extractVectorBuffer"]>) =>
      value && { ...value, data: [...value.data] };
    expect(plain(ours.extractVectorBuffer(vector as Uint8Array))).toEqual(
      plain(native.extractVectorBuffer(vector as Uint8Array)),
    );
  });
});

/** A function that both make, as each has its own base class. */
function functionOf(
  Base: typeof EmbeddingFunction,
  arrow: Arrow,
  choices: { size?: number; answer?: unknown },
) {
  const Mock = class Mock extends Base<string> {
    override ndims() {
      return choices.size;
    }
    embeddingDataType() {
      return new arrow.Float32();
    }
    async computeSourceEmbeddings(data: string[]) {
      const answer = "answer" in choices ? choices.answer : data.map((text) => [text?.length ?? 0, 1]);
      return answer as number[][];
    }
  };
  return new Mock();
}

describe("convertToTable", () => {
  const text = (arrow: Arrow) => new arrow.Field("text", new arrow.Utf8(), true);
  const vector = (arrow: Arrow, size = 2) =>
    new arrow.Field(
      "vector",
      new arrow.FixedSizeList(size, new arrow.Field("item", new arrow.Float64(), true)),
      true,
    );

  it.each<[string, Rows, { size?: number; answer?: unknown }, ((arrow: Arrow) => ours.Field[])?]>([
    ["adds the vectors last", [{ text: "a" }, { text: "bcd", q: 1 }], {}],
    ["embeds null as null", [{ text: "a" }, { text: null }], {}],
    [
      "keeps vectors that are there",
      [
        { text: "a", vector: [5, 6] },
        { text: "b", vector: null },
      ],
      {},
    ],
    ["follows the order of a schema", [{ text: "a" }], {}, (arrow) => [vector(arrow), text(arrow)]],
    [
      "replaces vectors that are all null",
      [{ text: "a", vector: null }],
      {},
      (arrow) => [vector(arrow), text(arrow)],
    ],
    ["refuses a schema without the column", [{ text: "a" }], {}, (arrow) => [text(arrow)]],
    ["refuses rows without the source", [{ q: 1 }], {}],
    ["refuses too few vectors", [{ text: "a" }, { text: "b" }], { answer: [[1, 2]] }],
    ["refuses no rows and no schema", [], { size: 2 }],
  ])("%s as LanceDB does", async (_, rows, choices, fields) => {
    const outcome = (arrow: Arrow, Base: typeof EmbeddingFunction) => {
      const config = { sourceColumn: "text", function: functionOf(Base, arrow, choices) };
      const schema = fields && new arrow.Schema(fields(arrow));
      return settledOutcome(() => arrow.convertToTable(rows, config, schema && { schema }));
    };
    expect(await outcome(ours, EmbeddingFunction)).toBe(await outcome(native, NativeFunction));
  });

  it("makes an empty table that records the function", async () => {
    const config = { sourceColumn: "text", function: functionOf(EmbeddingFunction, ours, {}) };
    const schema = new ours.Schema([text(ours), vector(ours)]);
    const table = await ours.convertToTable([], config, { schema });
    expect(schemaText(table.schema)).toBe(schemaText(schema));
    expect(table.schema.metadata.has("embedding_functions")).toBe(true);
  });

  it("refuses vectors that do not fit the schema", async () => {
    const config = { sourceColumn: "text", function: functionOf(EmbeddingFunction, ours, {}) };
    const schema = new ours.Schema([text(ours), vector(ours, 3)]);
    await expect(ours.convertToTable([{ text: "a" }], config, { schema })).rejects.toThrow(
      /^row 0, column vector: an array of 2/,
    );
  });

  it("passes on what a function throws, and refuses an answer that is not an array", async () => {
    const failing = functionOf(EmbeddingFunction, ours, {});
    const down = new Error("model is down");
    failing.computeSourceEmbeddings = () => Promise.reject(down);
    await expect(
      ours.convertToTable([{ text: "a" }], { sourceColumn: "text", function: failing }),
    ).rejects.toBe(down);
    for (const answer of [undefined, "ab", [null], {}]) {
      const mute = functionOf(EmbeddingFunction, ours, { answer });
      const made = ours.convertToTable([{ text: "a" }], { sourceColumn: "text", function: mute });
      await expect(made).rejects.toThrow("did not return an embedding for each input element");
    }
  });

  it("fills columns of a schema that records functions, as LanceDB does", async () => {
    const outcome = (arrow: Arrow, rows: Rows) => {
      const inner = new arrow.Struct([new arrow.Field("v", new arrow.Int32(), true)]);
      const nested = new arrow.Struct([
        new arrow.Field("w", inner, true),
        new arrow.Field("q", new arrow.Utf8(), true),
      ]);
      const fields = [
        text(arrow),
        new arrow.Field("s", nested, true),
        new arrow.Field("n", new arrow.Utf8(), true),
      ];
      const schema = new arrow.Schema(fields, new Map([["embedding_functions", "[]"]]));
      return settledOutcome(() => arrow.convertToTable(rows, undefined, { schema }));
    };
    for (const rows of [
      [{ text: "a" }],
      [{ text: "a", s: { q: "b" } }, { s: null }],
      [{ s: { w: { v: 1 } }, extra: 1 }],
    ]) {
      expect(await outcome(ours, rows)).toBe(await outcome(native, rows));
    }
  });

  it("makes batches that step by step become one table", async () => {
    const rows = Array.from({ length: 5000 }, (_, id) => ({ id, vector: [id, 1] }));
    const table = await ours.convertToTable(rows);
    expect(table.batches.length).toBeGreaterThan(1);
    expect(table.numRows).toBe(5000);
    expect(table.getChild("id")?.get(4999)).toBe(4999);
    expect(ours.makeArrowTable(rows).batches).toHaveLength(1);
  });
});

describe("batches of rows", () => {
  it("are small where rows are large, and turn the event loop between them", async () => {
    const rows = Array.from({ length: 40 }, (_, id) => ({
      id,
      text: "x".repeat(200_000),
      list: Array(20_000).fill(id),
    }));
    let turns = 0;
    const timer = setInterval(() => turns++, 0);
    const table = await ours.convertToTable(rows);
    clearInterval(timer);
    expect(Math.max(...table.batches.map(({ numRows }) => numRows))).toBeLessThan(5);
    expect(turns).toBeGreaterThan(0);
    expect([table.numRows, table.getChild("list")?.get(39)?.get(19_999)]).toEqual([40, 39]);
  });

  it("share one dictionary", async () => {
    const rows = Array.from({ length: 5000 }, (_, id) => ({ text: `${id % 3}` }));
    const table = await ours.convertToTable(rows, undefined, { dictionaryEncodeStrings: true });
    expect(table.batches).toHaveLength(1);
    expect(table.getChild("text")?.get(4999)).toBe("1");
  });
});

describe("bytes of Arrow IPC", () => {
  it("come back as the rows that they were made of", async () => {
    const rows = [{ id: 1, tags: ["a"] }];
    const expected = tableText(ours.makeArrowTable(rows));
    const table = ours.makeArrowTable(rows);
    const forms = [
      ours.fromRecordsToBuffer(rows),
      ours.fromRecordsToStreamBuffer(rows),
      ours.fromTableToBuffer(table),
      ours.fromTableToStreamBuffer(table),
      ours.fromDataToBuffer(native.makeArrowTable(rows)),
      ours.fromRecordBatchToBuffer(table.batches[0]),
      ours.fromRecordBatchToStreamBuffer(table.batches[0]),
    ];
    for (const bytes of await Promise.all(forms)) {
      expect(Buffer.isBuffer(bytes)).toBe(true);
      expect(tableText(ours.tableFromIPC(bytes))).toBe(expected);
      expect((await ours.fromBufferToRecordBatch(bytes))?.numRows).toBe(1);
    }
    expect(await ours.fromBufferToRecordBatch(Buffer.from([1, 2]))).toBeNull();
  });
});

describe("ensureNestedFieldsExist", () => {
  it("completes rows as LanceDB does", () => {
    const outcome = (arrow: Arrow) => {
      const inner = new arrow.Struct([new arrow.Field("c", new arrow.Utf8(), true)]);
      const struct = new arrow.Struct([
        new arrow.Field("a", new arrow.Int32(), true),
        new arrow.Field("b", inner, true),
      ]);
      const schema = new arrow.Schema([
        new arrow.Field("s", struct, true),
        new arrow.Field("z", new arrow.Int32(), true),
      ]);
      return JSON.stringify(
        arrow.ensureNestedFieldsExist([{ s: { a: 1 } }, {}, { s: null }, { q: 1 }], schema),
      );
    };
    expect(outcome(ours)).toBe(outcome(native));
  });
});

describe("input of the engine", () => {
  const rows = [{ id: 1, text: "a" }];

  it("is a table of objects, and a table of another copy as it is", async () => {
    const { schema } = ours.makeArrowTable(rows);
    const table = native.makeArrowTable(rows);
    expect(await rowsToAdd(table, schema)).toBe(table);
    expect(await rowsToCreate(table)).toBe(table);
    expect(tableText((await rowsToAdd([{ id: "2" }], schema)) as ours.Table)).toBe(
      'id: Float64? [] 1 [{"id":2}]',
    );
    await expect(rowsToAdd([{ x: 1 }], schema)).rejects.toThrow("Found field not in schema: x at row 0");
  });

  it("is cast for an append as LanceDB casts, and stays for other changes", async () => {
    const {
      Field,
      FixedSizeList,
      Float32,
      Float64,
      Int32,
      Int64,
      List,
      Schema,
      Struct,
      Table,
      Utf8,
      vectorFromArray,
    } = ours;
    const schema = new Schema([
      new Field("n", new Float64(), true),
      new Field("v", new FixedSizeList(2, new Field("item", new Float32(), true)), true),
      new Field("t", new Utf8(), true),
      new Field("s", new Struct([new Field("x", new Int64(), true)]), true),
      new Field("same", new Utf8(), true),
    ]);
    const same = vectorFromArray(["q", "r"], new Utf8());
    const table = new Table({
      n: vectorFromArray([5n, 2n ** 60n + 1n], new Int64()),
      v: vectorFromArray([[1, 2], null], new List(new Field("item", new Float64(), true))),
      t: vectorFromArray(["a", null]),
      s: vectorFromArray([{ x: 1 }, { x: null }], new Struct([new Field("x", new Int32(), true)])),
      same,
    });
    const cast = (await rowsToAdd(table, schema, true)) as ours.Table;
    expect(schemaText(cast.schema)).toBe(schemaText(schema));
    expect(JSON.stringify(cast.toArray().map((row) => ({ ...row?.toJSON(), s: Number(row?.s.x) })))).toBe(
      '[{"n":5,"v":[1,2],"t":"a","s":1,"same":"q"},{"n":1152921504606847000,"v":null,"t":null,"s":0,"same":"r"}]',
    );
    expect(cast.getChild("same")?.data[0].values).toBe(same.data[0].values);
    expect(await rowsToAdd(table, schema)).toBe(table);
    const wrong = new Table({
      v: vectorFromArray([[1, 2, 3]], new List(new Field("item", new Float64(), true))),
    });
    await expect(rowsToAdd(wrong, schema, true)).rejects.toThrow("row 0, column v: an array of 3");
    const dates = new Table({ n: vectorFromArray([new Date(0)], new ours.TimestampMillisecond()) });
    expect(await rowsToAdd(dates, schema, true)).toBe(dates);
  });

  it("has the vectors and the record of a function", async () => {
    const config = { sourceColumn: "text", function: functionOf(EmbeddingFunction, ours, {}) };
    const table = (await rowsToCreate(native.makeArrowTable(rows), {
      embeddingFunction: config,
    })) as ours.Table;
    expect(table.schema.metadata.get("embedding_functions")).toBe(
      '[{"sourceColumn":"text","vectorColumn":"vector","name":"Mock","model":{}}]',
    );
    expect(table.getChild("vector")?.get(0)?.toJSON()).toEqual([1, 1]);
    const schema = schemaToCreate({ fields: [], metadata: new Map(), names: [] }, config);
    expect([...schema.metadata.keys()]).toEqual(["embedding_functions"]);
  });

  it("is one scan of batches, closed when it ends early", async () => {
    const table = ours.makeArrowTable(rows);
    let isClosed = false;
    async function* batches() {
      try {
        for (;;) yield table.batches[0];
      } finally {
        isClosed = true;
      }
    }
    const input = await rowsToAdd(await Scannable.fromIterable(table.schema, batches()), table.schema);
    let count = 0;
    for await (const _ of input as AsyncIterable<unknown>) if (++count === 3) break;
    expect([count, isClosed]).toEqual([3, true]);
    const empty = await rowsToCreate(await Scannable.fromIterable(table.schema, []));
    expect(schemaText((empty as ours.Table).schema)).toBe(schemaText(table.schema));
  });

  it.each([undefined, null, 5, "a", {}])("refuses %s", async (data) => {
    await expect(rowsToCreate(data as never)).rejects.toThrow(
      /data is required|Expected an array of objects/,
    );
  });
});
