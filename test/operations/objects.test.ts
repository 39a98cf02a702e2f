/** Rows as plain objects read back as they were written, in this engine and the reference. */

import * as arrow from "apache-arrow";
import fc from "fast-check";
import { describe, expect } from "vitest";
import type { DirectoryNamespace } from "../../src/DirectoryNamespace.js";
import { InvalidInputError, TableSchemaValidationError } from "../../src/errors.js";
import type { RowObject } from "../../src/namespace/request.js";
import { it } from "../support/fixtures.js";
import { reference } from "../support/reference.js";

const typesOf = async (ns: DirectoryNamespace, name: string) =>
  Object.fromEntries((await ns.table(name).schema()).fields.map((field) => [field.name, `${field.type}`]));

describe("types are inferred", () => {
  it("each kind of value has its type", async ({ root, ns }) => {
    const rows = [
      {
        id: 1,
        big: 2n ** 60n,
        ok: true,
        name: "å",
        at: new Date(1_700_000_000_123),
        bytes: Uint8Array.of(1, 2),
        vector: [1],
        pair: [0.5, 2],
        tags: ["a", "b"],
        floats: Float64Array.of(1, 2),
        who: { first: "A", age: null as number | null },
      },
      {
        id: 2.5,
        big: null,
        ok: null,
        name: null,
        at: undefined,
        bytes: new ArrayBuffer(0),
        vector: [2],
        pair: null,
        tags: [],
        floats: Float64Array.of(3, 4),
        who: { age: 7 },
      },
    ];
    await ns.createTable({ id: ["t"] }, rows);
    expect(await typesOf(ns, "t")).toEqual({
      id: "Float64",
      big: "Int64",
      ok: "Bool",
      name: "Utf8",
      at: "Timestamp<MILLISECOND, UTC>",
      bytes: "Binary",
      vector: "FixedSizeList[1]<Float32>",
      pair: "List<Float64>",
      tags: "List<Utf8>",
      floats: "FixedSizeList[2]<Float64>",
      who: "Struct<{first:Utf8, age:Float64}>",
    });
    expect(await ns.table("t").scan().toArray()).toEqual([
      {
        ...rows[0],
        vector: Float32Array.of(1),
      },
      {
        ...rows[1],
        at: null,
        bytes: new Uint8Array(0),
        vector: Float32Array.of(2),
        who: { first: null, age: 7 },
      },
    ]);
    const theirs = arrow.tableFromIPC(await reference.readTable(root, "t"));
    expect([theirs.get(0)?.id, theirs.get(1)?.id]).toEqual([1, 2.5]);
    expect(Array.from(theirs.get(0)?.vector)).toEqual([1]);
  });

  it("arrays of different lengths are lists", async ({ ns }) => {
    await ns.createTable({ id: ["t"] }, [{ xs: [1, 2] }, { xs: [3] }]);
    expect(await typesOf(ns, "t")).toEqual({ xs: "List<Float64>" });
    expect(await ns.table("t").scan().toArray()).toEqual([{ xs: [1, 2] }, { xs: [3] }]);
  });

  it.for([
    [
      "of several types",
      [{ a: 1 }, { a: "x" }],
      'row 1, column a: the text "x" in a column whose value in row 0 is a number',
    ],
    ["in members of objects", [{ a: { b: 1 } }, { a: { b: true } }], "row 1, column a.b: true"],
    ["in items of arrays", [{ a: [1, "x"] }], "row 0, column a[]"],
    ["that are all null", [{ a: 1, b: null }], "column b: its type is unknown because it has only nulls"],
    ["in lists that are all empty", [{ a: [] }], "column a[]: its type is unknown"],
    ["that no type is known of", [{ a: 1, f: () => 1 }], "row 0, column f: no type is known for a function"],
    [
      "that name a type of their own",
      [{ a: { [Symbol.toStringTag]: "constructor" } }],
      "row 0, column a: no type is known",
    ],
    ["of vectors of different lengths", [{ vector: [1, 2] }, { vector: [1] }], "column vector: its vectors"],
    ["in rows that are none", [{ a: 1 }, 7], "row 1: 7 where an object is wanted"],
    ["of rows without members", [{}], "the rows have no members"],
    ["of no rows", [], "there are no rows, and no schema"],
  ])("but not for values %s", async ([_, rows, message], { ns }) => {
    const creation = ns.createTable({ id: ["t"] }, rows as Record<string, unknown>[]);
    await expect(creation).rejects.toThrow(message);
    await expect(creation).rejects.toBeInstanceOf(InvalidInputError);
    expect((await ns.listTables({ id: [] })).tables).toEqual([]);
  });
});

describe("no rows", () => {
  it("an insert without rows changes no row of an existing table", async ({ ns }) => {
    await ns.createTable({ id: ["t"] }, [{ a: 1 }]);
    expect(await ns.insertIntoTable({ id: ["t"] }, [])).toMatchObject({ numInsertedRows: 0 });
    expect(await ns.table("t").scan().toArray()).toEqual([{ a: 1 }]);
    await expect(ns.insertIntoTable({ id: ["t"], mode: "Overwrite" }, [])).rejects.toThrow(
      "there are no rows",
    );
  });
});

async function* streamed(): AsyncGenerator<RowObject> {
  yield {};
  yield {};
}

describe("rows without members", () => {
  it.for([
    ["an array", [{}, {}]],
    ["a stream", streamed()],
  ] as const)("are rows of nulls in an existing table, from %s", async ([_, rows], { root, ns }) => {
    await ns.createTable({ id: ["t"] }, [{ s: { x: 1 }, a: 1 }]);
    expect(await ns.insertIntoTable({ id: ["t"] }, rows)).toMatchObject({ numInsertedRows: 2 });
    const none = { s: null, a: null };
    expect(await ns.table("t").scan().toArray()).toEqual([{ s: { x: 1 }, a: 1 }, none, none]);
    const theirs = arrow.tableFromIPC(await reference.readTable(root, "t"));
    expect(theirs.numRows).toBe(3);
  });
  it("are refused if a column must not be null", async ({ ns }) => {
    const schema = new arrow.Schema([new arrow.Field("a", new arrow.Int32(), false)]);
    await ns.createTable({ id: ["t"], schema }, [{ a: 1 }]);
    await expect(ns.insertIntoTable({ id: ["t"] }, [{}])).rejects.toThrow(/column a/);
  });
});

describe("rows are fitted", () => {
  const entries = new arrow.Struct<{ key: arrow.Utf8; value: arrow.Int32 }>([
    new arrow.Field("key", new arrow.Utf8(), false),
    new arrow.Field("value", new arrow.Int32(), true),
  ]);
  const schema = new arrow.Schema([
    new arrow.Field("i8", new arrow.Int8(), true),
    new arrow.Field("u64", new arrow.Uint64(), true),
    new arrow.Field("half", new arrow.Float16(), true),
    new arrow.Field("day", new arrow.DateDay(), true),
    new arrow.Field("us", new arrow.TimestampMicrosecond(), true),
    new arrow.Field("time", new arrow.TimeMicrosecond(), true),
    new arrow.Field("price", new arrow.Decimal(2, 10, 128), true),
    new arrow.Field("code", new arrow.FixedSizeBinary(2), true),
    new arrow.Field("text", new arrow.LargeUtf8(), true),
    new arrow.Field("kind", new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32()), true),
    new arrow.Field("flags", new arrow.List(new arrow.Field("item", new arrow.Bool(), true)), true),
    new arrow.Field(
      "v",
      new arrow.FixedSizeList(2, new arrow.Field("item", new arrow.Float32(), true)),
      true,
    ),
    new arrow.Field("m", new arrow.Map_(new arrow.Field("entries", entries, false)), true),
  ]);
  const full = {
    i8: -128,
    u64: 2n ** 64n - 1n,
    half: 0.5,
    day: new Date("2024-02-29"),
    us: 1_700_000_000_000_001n,
    time: 5n,
    price: "-12.3",
    code: Uint8Array.of(7, 8),
    text: "x",
    kind: "red",
    flags: [true, null, false],
    v: Float32Array.of(1, 2),
    m: { a: 1, b: null },
  };

  it("rows are converted to a schema, and columns without values are null", async ({ root, ns }) => {
    await ns.createTable({ id: ["t"], schema }, [full, {}, { kind: "blue", m: new Map([["c", 3]]) }]);
    const rows = await ns.table("t").scan().toArray();
    const empty = Object.fromEntries(schema.fields.map(({ name }) => [name, null]));
    expect(rows).toEqual([
      {
        ...full,
        us: new Date(1_700_000_000_000),
        price: "-12.30",
        m: new Map<string, number | null>([
          ["a", 1],
          ["b", null],
        ]),
      },
      empty,
      { ...empty, kind: "blue", m: new Map([["c", 3]]) },
    ]);
    expect(await reference.countRows(root, "t", "kind = 'red' AND price < 0")).toBe(1);
  });

  it("inserted and merged rows are converted to the table's types", async ({ ns }) => {
    await ns.createTable(
      {
        id: ["t"],
        schema: new arrow.Schema([
          new arrow.Field("id", new arrow.Int32()),
          new arrow.Field("n", new arrow.Int64(), true),
          new arrow.Field("s", new arrow.Utf8(), true),
        ]),
      },
      [],
    );
    await ns.insertIntoTable({ id: ["t"] }, [{ id: 1, n: 5 }, { id: 2 }]);
    await ns.mergeInsertIntoTable(
      { id: ["t"], on: "id", whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true },
      [
        { id: 2, s: "two" },
        { id: 3, s: "three" },
      ],
    );
    expect(
      await ns
        .table("t")
        .scan({ orderBy: [{ columnName: "id" }] })
        .toArray(),
    ).toEqual([
      { id: 1, n: 5n, s: null },
      { id: 2, n: null, s: "two" },
      { id: 3, n: null, s: "three" },
    ]);
  });

  it.for<[string, unknown]>([
    ["i8", 128],
    ["i8", 0.5],
    ["i8", "1"],
    ["u64", -1n],
    ["u64", 2 ** 53],
    ["day", 1],
    ["us", new Date(Number.NaN)],
    ["price", "1.234"],
    ["price", "123456789.00"],
    ["code", Uint8Array.of(1)],
    ["text", "\ud800"],
    ["text", 7],
    ["kind", 7],
    ["flags", true],
    ["flags", "xy"],
    ["v", [1]],
    ["v", [1, "x"]],
    ["m", 7],
    ["nope", 1],
  ])("or refused: column %s does not take %o", async ([name, value], { ns }) => {
    await ns.createTable({ id: ["t"], schema }, [full]);
    const insert = ns.insertIntoTable({ id: ["t"] }, [full, { [name]: value }]);
    await expect(insert).rejects.toBeInstanceOf(TableSchemaValidationError);
    await expect(insert).rejects.toThrow(/row 1.*column/);
    expect(await ns.table("t").countRows()).toBe(1);
  });

  it("a column that forbids nulls requires a value in each row", async ({ ns }) => {
    const strict = new arrow.Schema([
      new arrow.Field("a", new arrow.Int32(), false),
      new arrow.Field("b", new arrow.Int32(), true),
    ]);
    await ns.createTable({ id: ["t"], schema: strict }, [{ a: 1 }]);
    await expect(ns.insertIntoTable({ id: ["t"] }, [{ a: 1 }, { b: 2 }])).rejects.toThrow("row 1, column a");
  });

  it("Arrow rows may have a schema beside them only if it equals theirs", async ({ ns }) => {
    const table = await ns.createTable({ id: ["s"] }, [{ a: 1 }]).then(() => ns.table("s").scan().toArrow());
    await ns.createTable({ id: ["t"], schema: table.schema }, table);
    const schema = new arrow.Schema([new arrow.Field("a", new arrow.Int32(), true)]);
    await expect(ns.createTable({ id: ["u"], schema }, table)).rejects.toThrow(
      "schema: applies only to rows that are objects; Arrow data has its own schema, which differs",
    );
  });
});

it("streams of objects are read as they arrive, and the first rows decide the columns", async ({ ns }) => {
  let made = 0;
  async function* rows(count: number, last: RowObject = {}): AsyncGenerator<RowObject> {
    for (let id = 0; id < count; id++) {
      made++;
      yield { id, name: `row ${id}` };
    }
    yield last;
  }
  await ns.createTable({ id: ["t"] }, rows(20_000, { id: -1 }));
  expect(made).toBe(20_000);
  expect(await ns.table("t").countRows("name IS NULL")).toBe(1);
  const late = ns.insertIntoTable({ id: ["t"] }, rows(10_000, { id: 1, more: 2 }));
  await expect(late).rejects.toThrow("row 10000: the first 8192 rows have no column more");
  const failing = (async function* () {
    yield { id: 1 };
    throw new Error("the source is gone");
  })();
  await expect(ns.insertIntoTable({ id: ["t"] }, failing)).rejects.toThrow("the source is gone");
  expect(await ns.table("t").countRows()).toBe(20_001);
  await expect(ns.insertIntoTable({ id: ["t"], maxRows: 5 }, rows(10))).rejects.toThrow("more than 5 rows");
});

it("columns may have the names of built-in object members", async ({ ns }) => {
  const row = Object.defineProperty({ constructor: "c", toString: "t" }, "__proto__", {
    value: "p",
    enumerable: true,
  }) as Record<string, unknown>;
  await ns.createTable({ id: ["t"] }, [row, { constructor: "d" }]);
  const [first, second] = await ns.table("t").scan().toArray();
  expect(Object.entries(first)).toEqual(Object.entries(row));
  expect(second.constructor).toBe("d");
  expect(Object.getOwnPropertyDescriptor(second, "toString")?.value).toBeNull();
  expect(Object.getPrototypeOf(first)).toBe(Object.prototype);
});

it("rows are returned one by one, as an array, and as IPC for any release of apache-arrow", async ({
  ns,
}) => {
  const count = 30_000;
  await ns.createTable(
    { id: ["t"] },
    Array.from({ length: count }, (_, id) => ({ id, tags: [`t${id % 3}`] })),
  );
  const scan = ns.table("t").scan({ filter: "id % 2 = 0" });
  let next = 0;
  for await (const row of scan.rows()) {
    expect(row).toEqual({ id: next, tags: [`t${next % 3}`] });
    next += 2;
    if (next === 100) break;
  }
  const all = await scan.toArray();
  expect(all.length).toBe(count / 2);
  expect(all.at(-1)).toEqual({ id: count - 2, tags: [`t${(count - 2) % 3}`] });
  const table = arrow.tableFromIPC(await scan.toIPC());
  expect([table.numRows, table.get(7)?.id]).toEqual([count / 2, 14]);
  const pieces: Uint8Array[] = [];
  for await (const piece of scan.toIPCStream() as unknown as AsyncIterable<Uint8Array>) pieces.push(piece);
  const stream = new Uint8Array(await new Blob(pieces as BlobPart[]).arrayBuffer());
  expect(arrow.tableFromIPC(stream).numRows).toBe(count / 2);
  await scan.toIPCStream().cancel();
  await expect(ns.table("t").scan({ filter: "nope = 1" }).toArray()).rejects.toThrow("nope");
  expect((await scan.schema()).fields.map(({ name }) => name)).toEqual(["id", "tags"]);
});

it("rows equal those that apache-arrow makes of the table", async ({ ns }) => {
  const item = <Value>(type: fc.Arbitrary<Value>) => fc.option(type);
  const moment = fc.integer({ min: -8e12, max: 8e12 });
  const row = fc.record({
    f: item(fc.double()),
    i: item(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
    s: item(fc.string({ unit: "binary" })),
    b: item(fc.uint8Array({ maxLength: 9 })),
    at: item(moment.map((ms) => new Date(ms))),
    l: item(fc.array(item(fc.string({ unit: "grapheme" })), { maxLength: 4 })),
    o: item(fc.record({ x: item(fc.double()), y: item(fc.boolean()) })),
    v: item(fc.array(fc.float(), { minLength: 3, maxLength: 3 })),
  });
  const schema = new arrow.Schema([
    new arrow.Field("f", new arrow.Float64(), true),
    new arrow.Field("i", new arrow.Int64(), true),
    new arrow.Field("s", new arrow.Utf8(), true),
    new arrow.Field("b", new (await import("apache-arrow")).Binary(), true),
    new arrow.Field("at", new arrow.TimestampMillisecond(), true),
    new arrow.Field("l", new arrow.List(new arrow.Field("item", new arrow.Utf8(), true)), true),
    new arrow.Field(
      "o",
      new arrow.Struct([
        new arrow.Field("x", new arrow.Float64(), true),
        new arrow.Field("y", new arrow.Bool(), true),
      ]),
      true,
    ),
    new arrow.Field(
      "v",
      new arrow.FixedSizeList(3, new arrow.Field("item", new arrow.Float32(), true)),
      true,
    ),
  ]);
  let number = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 40 }), async (rows) => {
      const name = `t${number++}`;
      await ns.createTable({ id: [name], schema }, rows);
      const read = await ns.table(name).scan().toArray();
      expect(read).toEqual(
        rows.map((row) => ({
          ...row,
          v: row.v === null ? null : Float32Array.from(row.v),
        })),
      );
      const table: arrow.Table = await ns.table(name).scan().toArrow();
      expect(table.batches[0]).toBeInstanceOf(arrow.RecordBatch);
      for (const [index, plain] of read.entries()) {
        const theirs = table.get(index);
        for (const column of ["f", "i", "s"]) expect(plain[column]).toEqual(theirs?.[column]);
        expect((plain.at as Date | null)?.getTime()).toEqual(theirs?.at ?? undefined);
      }
    }),
    { numRuns: 40 },
  );
});
