import { tableFromArrays } from "apache-arrow";
import {
  binary,
  bool,
  DirectoryNamespace,
  date,
  decimal,
  defineTable,
  dictionary,
  duration,
  fixedSizeBinary,
  fixedSizeList,
  float16,
  float32,
  float64,
  type InferRow,
  int8,
  int16,
  int32,
  int64,
  json,
  largeBinary,
  largeList,
  largeUtf8,
  list,
  map,
  nullable,
  nulls,
  struct,
  time,
  timestamp,
  uint8,
  uint16,
  uint32,
  uint64,
  utf8,
  vector,
} from "tiltyard";
import { beforeEach, describe, expect, expectTypeOf, it } from "vitest";
import { makeTempDir } from "../support/tempDir.js";

let ns: DirectoryNamespace;
beforeEach(async () => {
  ns = new DirectoryNamespace({ root: await makeTempDir(), durability: "none", workers: 0 });
});

const ORDERS = defineTable({
  id: int64(),
  tags: list(utf8()),
  vector: vector(3),
  note: nullable(utf8()),
  place: struct({ lat: float64(), name: nullable(utf8()) }),
  placed: timestamp(),
});

/** One column of every type, with a value to insert and the value that is read. */
const EVERY = {
  i8: [int8(), -3, -3],
  i16: [int16(), -300, -300],
  i32: [int32(), 70_000, 70_000],
  i64: [int64(), 5, 5n],
  u8: [uint8(), 200, 200],
  u16: [uint16(), 60_000, 60_000],
  u32: [uint32(), 4_000_000_000, 4_000_000_000],
  u64: [uint64(), "18446744073709551615", 18446744073709551615n],
  f16: [float16(), 0.5, 0.5],
  f32: [float32(), 0.25, 0.25],
  f64: [float64(), 0.1, 0.1],
  flag: [bool(), true, true],
  text: [utf8(), "ä", "ä"],
  longText: [largeUtf8(), "b", "b"],
  bytes: [binary(), new Uint8Array([1, 2]), new Uint8Array([1, 2])],
  longBytes: [largeBinary(), new Uint8Array([3]), new Uint8Array([3])],
  hash: [fixedSizeBinary(2), new Uint8Array([4, 5]), new Uint8Array([4, 5])],
  doc: [json(), '{"a":1}', '{"a":1}'],
  nothing: [nulls(), null, null],
  price: [decimal(12, 2), "1.50", "1.50"],
  big: [decimal(60, 1), "2.5", "2.5"],
  day: [date(), "2026-03-01", new Date("2026-03-01")],
  moment: [timestamp("us"), "2026-03-01T10:00:00Z", new Date("2026-03-01T10:00:00Z")],
  local: [timestamp("ms", null), new Date(5), new Date(5)],
  clock: [time("ms"), 1000, 1000],
  fine: [time("us"), 1000, 1000n],
  span: [duration("ms"), 7, 7n],
  tags: [list(nullable(utf8())), ["a", null], ["a", null]],
  longTags: [largeList(int32()), [1], [1]],
  place: [struct({ lat: float64(), name: nullable(utf8()) }), { lat: 1 }, { lat: 1, name: null }],
  counts: [map(utf8(), int32()), new Map([["a", 1]]), new Map([["a", 1]])],
  kind: [dictionary(utf8()), "x", "x"],
  vector: [vector(2), [1, 2], new Float32Array([1, 2])],
  double: [vector(2, "float64"), [1, 2], new Float64Array([1, 2])],
  small: [vector(2, "int8"), [1, 2], new Int8Array([1, 2])],
  code: [vector(2, "uint8"), [1, 2], new Uint8Array([1, 2])],
  pair: [fixedSizeList(2, struct({ a: int32() })), [{ a: 1 }, { a: 2 }], [{ a: 1 }, { a: 2 }]],
} as const;

describe("a definition of a table", () => {
  it("gives the type of the rows", () => {
    type Order = InferRow<typeof ORDERS>;
    expectTypeOf<Order["id"]>().toEqualTypeOf<bigint>();
    expectTypeOf<Order["tags"]>().toEqualTypeOf<string[]>();
    expectTypeOf<Order["vector"]>().toEqualTypeOf<Float32Array>();
    expectTypeOf<Order["note"]>().toEqualTypeOf<string | null>();
    expectTypeOf<Order["place"]>().toEqualTypeOf<{ lat: number; name: string | null }>();
    expectTypeOf<Order["placed"]>().toEqualTypeOf<Date>();
  });

  it("gives a handle its rows and its columns", async () => {
    const table = ns.table("orders", { schema: ORDERS });
    await table.create([
      { id: 1, tags: ["a"], vector: [1, 2, 3], place: { lat: 1 }, placed: "2026-01-02T00:00:00Z" },
    ]);
    const [row] = await table.scan({ columns: ["id", "place.name", "placed"] }).toArray();
    expectTypeOf(row).toEqualTypeOf<{ id: bigint; "place.name": string | null; placed: Date } & object>();
    expect(row).toEqual({ id: 1n, "place.name": null, placed: new Date("2026-01-02") });
    const names = (await table.schema()).fields.map(({ name, nullable }) => [name, nullable]);
    expect(names).toEqual(Object.entries(ORDERS.fields).map(([, field]) => [field.name, field.nullable]));
    await expect(table.insert([{ ...row, id: null } as never])).rejects.toThrow(/id|tags/);
  });

  it.each(Object.entries(EVERY))("writes and reads a column of the type of %s", async (name, [
    column,
    value,
    read,
  ]) => {
    const schema = defineTable({ [name]: column });
    await ns.createTable({ id: "t", schema }, [{ [name]: value }]);
    const [row] = await ns.table("t").scan().toArray();
    expect(row[name]).toEqual(read);
    const field = (await ns.table("t").schema()).fields[0];
    expect(field.nullable).toBe(column.nullable);
    // Null is refused unless the column allows it.
    const nothing = ns.insertIntoTable({ id: "t" }, [{ [name]: null }]);
    if (column.nullable) await nothing;
    else await expect(nothing).rejects.toThrow(name);
    await ns.createTable({ id: "n", schema: defineTable({ [name]: nullable<unknown>(column) }) }, [
      { [name]: null },
      {},
    ]);
    expect(await ns.table("n").countRows()).toBe(2);
  });

  it("types the rows of the first insert into a declared table", async () => {
    await ns.declareTable({ id: "d" });
    const table = ns.table("d", { schema: defineTable({ id: int32(), at: nullable(date()) }) });
    await table.insert([{ id: 1 }]);
    await table.insert([{ id: 2, at: "2026-01-02" }]);
    expect(await table.scan().toArray()).toEqual([
      { id: 1, at: null },
      { id: 2, at: new Date("2026-01-02") },
    ]);
  });

  it("creates an empty table", async () => {
    const table = ns.table("e", { schema: ORDERS });
    await table.create([]);
    expect((await table.schema()).names).toEqual(["id", "tags", "vector", "note", "place", "placed"]);
  });

  it("types rows that have a column called schema", async () => {
    const table = ns.table("s", { schema: defineTable({ schema: struct({ n: int64() }) }) });
    await table.create([{ schema: { n: 1 } }]);
    await table.insert([{ schema: { n: 2 } }]);
    expect(await table.scan().toArray()).toEqual([{ schema: { n: 1n } }, { schema: { n: 2n } }]);
  });

  it("leaves Arrow data its own schema", async () => {
    const table = ns.table("arrow", { schema: ORDERS });
    await table.create(tableFromArrays({ other: [1, 2] }));
    expect((await table.schema()).names).toEqual(["other"]);
  });

  it.each([
    [() => defineTable({ id: int64 as never }), /^id: .*call it, as in int64\(\)/],
    [() => defineTable({ id: "int64" as never }), /^id: must be a column/],
    [() => defineTable(null as never), /^defineTable: must be an object of columns/],
    [() => list(utf8 as never), /^item: .*call it/],
    [() => nullable(5 as never), /^nullable: must be a column/],
    [() => vector(0), /^vector: the length must be an integer of at least 1, not 0/],
    [() => vector(2, "text" as never), /^vector: items must be float16, float32/],
    [() => timestamp("m" as never), /^timestamp: the unit must be one of s, ms, us, ns/],
    [() => fixedSizeBinary(1.5), /^fixedSizeBinary: /],
  ])("refuses a mistake: %s", (make, message) => {
    expect(make).toThrow(message);
  });
});
