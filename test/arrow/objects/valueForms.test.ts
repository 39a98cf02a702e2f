/** Options say how objects hold dates and 64-bit integers; rows that were read can be created again. */

import * as arrow from "apache-arrow";
import fc from "fast-check";
import { InvalidInputError } from "tiltyard";
import { describe, expect, it } from "vitest";
import { objectsOfBatch } from "../../../src/arrow/exchange/objectsOfBatch.js";
import { fieldOf, listOf } from "../../support/arrowColumns.js";
import { sharedNamespace } from "../../support/fixtures.js";
import { VALUE_TYPES } from "../../support/valueTypes.js";

const namespace = sharedNamespace();
const schema = new arrow.Schema(Object.entries(VALUE_TYPES).map(([name, { type }]) => fieldOf(name, type)));
const row = fc.record(
  Object.fromEntries(Object.entries(VALUE_TYPES).map(([name, { value }]) => [name, fc.option(value)])),
);
const rowsOfAllTypes = fc.array(row, { minLength: 1, maxLength: 6 });

/** Types that objects tell apart. Maps and arrays that hold nulls only have no type. */
const KEPT = [
  "bool",
  "int64",
  "float64",
  "utf8",
  "binary",
  "utcMs",
  "list",
  "struct",
  "vector32",
  "vector64",
];
const keptStruct = new arrow.Struct([
  fieldOf("at", new arrow.TimestampMillisecond("UTC")),
  fieldOf("n", new arrow.Int64()),
  fieldOf("xs", listOf(new arrow.Float64())),
]);
const keptSchema = new arrow.Schema(
  KEPT.map((name) =>
    fieldOf(
      name,
      name === "utcMs"
        ? new arrow.TimestampMillisecond("UTC")
        : name === "struct"
          ? keptStruct
          : VALUE_TYPES[name].type,
    ),
  ),
);
const keptRow = fc.record(
  Object.fromEntries(
    KEPT.map((name) => [
      name,
      name === "utcMs"
        ? VALUE_TYPES.milliseconds.value
        : name === "struct"
          ? fc.record({
              at: VALUE_TYPES.milliseconds.value,
              n: VALUE_TYPES.int64.value,
              xs: fc.array(fc.double(), { minLength: 1, maxLength: 3 }),
            })
          : name === "list"
            ? fc.array(VALUE_TYPES.int64.value, { minLength: 1, maxLength: 3 })
            : VALUE_TYPES[name].value,
    ]),
  ),
);

it("a copy of a table by objects has its schema and rows, where objects tell the types apart", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(keptRow, { minLength: 1, maxLength: 6 }), async (rows) => {
      await namespace.createTable({ id: ["kept"], schema: keptSchema, mode: "Overwrite" }, rows);
      const read = await namespace.table("kept").scan().toArray();
      await namespace.createTable({ id: ["copy"], mode: "Overwrite" }, read);
      expect(`${await namespace.table("copy").schema()}`).toBe(`${await namespace.table("kept").schema()}`);
      expect(await namespace.table("copy").scan().toArray()).toEqual(read);
    }),
    { numRuns: 20 },
  );
});

/** Types of a copy by objects, where they differ; as docs/values.md lists them. */
const BECOMES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ["int8", "uint8", "int16", "uint16", "int32", "uint32", "float16", "float32", "timeSecond", "timeMs"].map(
      (name) => [name, "Float64"],
    ),
  ),
  ...Object.fromEntries(["uint64", "duration", "timeUs", "timeNs"].map((name) => [name, "Int64"])),
  ...Object.fromEntries(
    ["dateDay", "dateMs", "seconds", "milliseconds", "microseconds", "nanoseconds"].map((name) => [
      name,
      "Timestamp<MILLISECOND, UTC>",
    ]),
  ),
  ...Object.fromEntries(["decimal", "dictionary", "largeUtf8"].map((name) => [name, "Utf8"])),
  ...Object.fromEntries(["largeBinary", "fixedBinary", "vector8"].map((name) => [name, "Binary"])),
};

it("types that objects do not tell apart become those that the page on values lists", async () => {
  const whole = fc.record(
    Object.fromEntries(
      Object.entries(VALUE_TYPES)
        .filter(([name]) => !["struct", "list", "map", "uint64"].includes(name))
        .map(([name, { value }]) => [name, value]),
    ),
  );
  await fc.assert(
    fc.asyncProperty(whole, async (values) => {
      await namespace.createTable({ id: ["typed"], schema, mode: "Overwrite" }, [{ ...values, uint64: 7n }]);
      const columns = [...Object.keys(values), "uint64"];
      const read = await namespace.table("typed").scan({ columns }).toArray();
      await namespace.createTable({ id: ["copied"], mode: "Overwrite" }, read);
      const types = (await namespace.table("copied").schema()).fields.map(({ name, type }) => [
        name,
        `${type}`,
      ]);
      expect(types).toEqual(columns.map((name) => [name, BECOMES[name] ?? `${VALUE_TYPES[name].type}`]));
    }),
    { numRuns: 8 },
  );
});

/** Forms in which an existing schema takes back each value that it gave. */
const EXACT = [
  { dates: "iso" },
  { dates: "iso", bigints: "string" },
  { bigints: "string", dates: undefined },
] as const;

it.each(
  EXACT,
)("rows in the form of %o fill a table of the same schema with the same values", async (options) => {
  await fc.assert(
    fc.asyncProperty(rowsOfAllTypes, async (rows) => {
      await namespace.createTable({ id: ["source"], schema, mode: "Overwrite" }, rows);
      const source = namespace.table("source");
      await namespace.createTable(
        { id: ["again"], schema, mode: "Overwrite" },
        await source.scan().toArray(options),
      );
      const all = { dates: "iso", bigints: "bigint" } as const;
      expect(await namespace.table("again").scan().toArray(all)).toEqual(await source.scan().toArray(all));
    }),
    { numRuns: 8 },
  );
}, 60_000);

it("values of JSON fill a table of the same schema with the same values", async () => {
  const forms = { dates: "iso", bigints: "safe", json: { nonFinite: "text" } } as const;
  await fc.assert(
    fc.asyncProperty(rowsOfAllTypes, async (rows) => {
      await namespace.createTable({ id: ["source"], schema, mode: "Overwrite" }, rows);
      const texts: object[] = [];
      for await (const batch of namespace.table("source").scan()) {
        for await (const slice of objectsOfBatch(batch, forms))
          texts.push(...JSON.parse(JSON.stringify(slice)));
      }
      await namespace.createTable(
        { id: ["again"], schema, mode: "Overwrite" },
        texts as Record<string, unknown>[],
      );
      const [before, after] = await Promise.all(
        ["source", "again"].map((name) => namespace.table(name).scan().toArray({ dates: "iso" })),
      );
      expect(after).toEqual(before);
    }),
    { numRuns: 12 },
  );
}, 60_000);

describe("each form", () => {
  const moment = "2024-03-10T10:00:00.123456Z";
  const typed = new arrow.Schema([
    fieldOf("us", new arrow.TimestampMicrosecond("Europe/Oslo")),
    fieldOf("plain", new arrow.TimestampSecond()),
    fieldOf("day", new arrow.DateDay()),
    fieldOf("dayMs", new arrow.DateMillisecond()),
    fieldOf("time", new arrow.TimeNanosecond()),
    fieldOf("n", new arrow.Uint64()),
    fieldOf("v", new arrow.FixedSizeList(2, fieldOf("item", new arrow.Int64(), false))),
    fieldOf("l", listOf(new arrow.Struct([fieldOf("n", new arrow.Int64())]))),
  ]);
  const values = {
    ...{ us: moment, plain: moment, day: moment, dayMs: "2024-03-10T12:00:00Z", time: "10:11:12.5" },
    ...{ n: 7n, v: [1, 2], l: [{ n: -1n }, null] },
  };

  it.each([
    [
      {},
      {
        us: new Date("2024-03-10T10:00:00.123Z"),
        plain: new Date("2024-03-10T10:00:00Z"),
        day: new Date("2024-03-10"),
        dayMs: new Date("2024-03-10T12:00:00Z"),
        time: 36_672_500_000_000n,
        n: 7n,
        v: BigInt64Array.of(1n, 2n),
        l: [{ n: -1n }, null],
      },
    ],
    [
      { dates: "number", bigints: "number" },
      {
        us: Date.parse(moment) + 0.456,
        plain: Date.parse("2024-03-10T10:00:00Z"),
        day: Date.UTC(2024, 2, 10),
        dayMs: Date.UTC(2024, 2, 10, 12),
        time: 36_672_500_000_000,
        n: 7,
        v: [1, 2],
        l: [{ n: -1 }, null],
      },
    ],
    [
      { dates: "iso", bigints: "string" },
      {
        us: "2024-03-10T11:00:00.123456+01:00",
        plain: "2024-03-10T10:00:00",
        day: "2024-03-10",
        dayMs: "2024-03-10T12:00:00",
        time: "10:11:12.500",
        n: "7",
        v: ["1", "2"],
        l: [{ n: "-1" }, null],
      },
    ],
  ] as const)("of %o reaches columns, lists and members", async (options, wanted) => {
    await namespace.createTable({ id: ["forms"], schema: typed, mode: "Overwrite" }, [values, {}]);
    const table = namespace.table("forms");
    const nulls = Object.fromEntries(typed.fields.map(({ name }) => [name, null]));
    const rows: unknown[] = [];
    for await (const row of table.scan().rows(options)) rows.push(row);
    expect(rows).toEqual([wanted, nulls]);
    expect(await table.scan().toArray(options)).toEqual(rows);
    expect(await table.query().toArray(options)).toEqual(rows);
    expect(await (await namespace.queryTable({ id: ["forms"] })).toArray(options)).toEqual(rows);
  });

  it("refuses what it cannot hold, and names column and remedy", async () => {
    const far = new arrow.Schema([
      fieldOf("at", new arrow.TimestampSecond()),
      fieldOf("n", new arrow.Int64()),
    ]);
    await namespace.createTable({ id: ["far"], schema: far }, [{ at: 2n ** 60n, n: 2n ** 60n }, {}]);
    const scan = (column: string) => namespace.table("far").scan({ columns: [column] });
    await expect(scan("at").toArray()).rejects.toThrow(
      /^column at: .* is beyond what a Date holds; pass \{ dates: "number" \}/,
    );
    await expect(scan("n").toArray({ bigints: "number" })).rejects.toThrow(
      /^column n: .* 1152921504606846976 .*"string"/,
    );
    expect(await scan("at").toArray({ dates: "iso" })).toEqual([
      { at: "+36534630048-05-13T13:56:16" },
      { at: null },
    ]);
    expect(await scan("n").toArray({ bigints: "string" })).toEqual([
      { n: "1152921504606846976" },
      { n: null },
    ]);
  });

  it.each([
    [{ date: "iso" }, "toArray.date: there is no such option; did you mean dates?"],
    [{ bigint: "string" }, "toArray.bigint: there is no such option; did you mean bigints?"],
    [{ dates: "ISO" }, 'toArray.dates: must be one of "Date", "number", "iso", not "ISO"'],
    [{ bigints: null }, "toArray.bigints: must be one of"],
    ["iso", "toArray: must be an object"],
  ])("refuses %o", async (options, message) => {
    await namespace.createTable({ id: ["options"], mode: "Overwrite" }, [{ n: 1 }]);
    const scan = namespace.table("options").scan();
    await expect(scan.toArray(options as never)).rejects.toThrow(message);
    await expect(scan.toArray(options as never)).rejects.toBeInstanceOf(InvalidInputError);
    const first = scan
      .rows(options as never)
      [Symbol.asyncIterator]()
      .next();
    await expect(first).rejects.toThrow(message.replace("toArray", "rows"));
  });
});
