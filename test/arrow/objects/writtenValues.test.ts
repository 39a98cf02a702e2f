/** Rows accept moments and large integers as texts, and texts as Dates: the stored value equals CAST's. */

import * as arrow from "apache-arrow";
import { TableSchemaValidationError } from "tiltyard";
import { describe, expect, it } from "vitest";
import { fieldOf, listOf } from "../../support/arrowColumns.js";
import { sharedNamespace } from "../../support/fixtures.js";

const namespace = sharedNamespace();

const TIMESTAMPS = [
  "2024-03-10",
  "2024-03-10T10:11",
  " 2024-03-10 10:11:12 ",
  "2024-03-10T10:11:12.123456789",
  "1969-12-31T23:59:59.999999999",
  "2024-03-10T00:00:00Z",
  "2024-03-10T00:00:00+02:00",
  "2024-03-10T00:00:00 UTC",
  // Exists once, never and twice in Oslo's local time.
  "2024-07-01T12:00:00",
  "2024-03-31T02:30:00",
  "2024-10-27T02:30:00",
];
const TIMES = ["10:11", "10:11:12", "23:59:59.123456789"];
const CASES: readonly (readonly [string, arrow.DataType, readonly unknown[]])[] = [
  ["day", new arrow.DateDay(), [...TIMESTAMPS, "-0001-01-01", "+12024-01-01"]],
  ["day_ms", new arrow.DateMillisecond(), TIMESTAMPS],
  ["s", new arrow.TimestampSecond(), TIMESTAMPS],
  ["ms", new arrow.TimestampMillisecond(), TIMESTAMPS],
  ["us", new arrow.TimestampMicrosecond(), TIMESTAMPS],
  ["ns", new arrow.TimestampNanosecond(), TIMESTAMPS],
  ["utc", new arrow.TimestampMillisecond("UTC"), TIMESTAMPS],
  ["fixed", new arrow.TimestampMicrosecond("-0330"), TIMESTAMPS],
  ["oslo", new arrow.TimestampNanosecond("Europe/Oslo"), TIMESTAMPS],
  ["time_s", new arrow.TimeSecond(), TIMES],
  ["time_ms", new arrow.TimeMillisecond(), TIMES],
  ["time_us", new arrow.TimeMicrosecond(), TIMES],
  ["time_ns", new arrow.TimeNanosecond(), TIMES],
  ["int64", new arrow.Int64(), ["9007199254740993", "-9223372036854775808", "+7"]],
  ["uint64", new arrow.Uint64(), ["18446744073709551615", "0"]],
  [
    "text",
    new arrow.Utf8(),
    [new Date(0), new Date("2024-03-10T10:11:12.5Z"), new Date(-62_198_755_200_000)],
  ],
];

it.each(CASES)("%s columns store what CAST makes of the same value", async (name, type, values) => {
  const isDate = values[0] instanceof Date;
  const schema = new arrow.Schema([
    fieldOf("source", isDate ? new arrow.TimestampMillisecond("UTC") : new arrow.Utf8()),
    fieldOf("inserted", type),
    fieldOf("updated", type),
  ]);
  const rows = values.map((value) => ({ source: value, inserted: value }));
  await namespace.createTable({ id: [name], schema }, rows);
  const table = namespace.table(name);
  await table.update({ valuesSql: { updated: "source" } });
  const stored = await table.scan().toArray();
  expect(stored.map(({ inserted }) => inserted)).toEqual(stored.map(({ updated }) => updated));
  expect(stored.map(({ inserted }) => inserted === null)).toEqual(values.map(() => false));
});

it("merges take what inserts take", async () => {
  const schema = new arrow.Schema([
    fieldOf("n", new arrow.Int64(), false),
    fieldOf("day", new arrow.DateDay()),
    fieldOf("text", new arrow.Utf8()),
  ]);
  await namespace.createTable({ id: ["merged"], schema }, [{ n: "1", day: "2024-03-10" }]);
  const merged = await namespace.mergeInsertIntoTable(
    { id: ["merged"], on: "n", whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true },
    [
      { n: "1", day: "2024-03-11" },
      { n: "2", text: new Date(0) },
    ],
  );
  expect(merged).toMatchObject({ numUpdatedRows: 1, numInsertedRows: 1 });
  expect(
    await namespace
      .table("merged")
      .scan({ orderBy: [{ columnName: "n" }] })
      .toArray(),
  ).toEqual([
    { n: 1n, day: new Date("2024-03-11"), text: null },
    { n: 2n, day: null, text: "1970-01-01T00:00:00Z" },
  ]);
});

it("a moment counts as its day and its second, in rows and in updates, as a Date and as a text", async () => {
  const schema = new arrow.Schema([
    fieldOf("day", new arrow.DateDay()),
    fieldOf("s", new arrow.TimestampSecond()),
    fieldOf("ms", new arrow.TimestampMillisecond()),
  ]);
  const moments = ["2024-03-10T23:59:59.999Z", "1969-12-31T23:59:59.999Z", "1969-12-30T00:00:00.001Z"];
  const wanted = moments.map((text) => {
    const ms = Date.parse(text);
    const floor = (unit: number) => new Date(Math.floor(ms / unit) * unit);
    return { day: floor(86_400_000), s: floor(1000), ms: new Date(ms) };
  });
  const id = ["moments"];
  const table = namespace.table(id);
  for (const asMoment of [(text: string): string | Date => text, (text: string) => new Date(text)]) {
    const rows = moments.map(asMoment).map((moment) => ({ day: moment, s: moment, ms: moment }));
    await namespace.createTable({ id, schema, mode: "Overwrite" }, rows);
    expect(await table.scan().toArray()).toEqual(wanted);
    for (const [index, values] of rows.entries()) {
      await table.update({ values });
      expect((await table.scan({ limit: 1 }).toArray())[0]).toEqual(wanted[index]);
    }
  }
});

describe("a column of a stream whose values come late", () => {
  const stream = async function* (count: number, late: (n: number) => object) {
    for (let n = 0; n < count; n++) yield { n, ...late(n) };
  };

  it.each([
    [20_000, 19_999],
    [131_072, 131_071],
    [8193, 8192],
  ])("gives the column its type: %i rows, the value in row %i", async (count, last) => {
    const id = ["later"];
    const rows = stream(count, (n) => ({ late: n < last ? null : { s: ["x"] }, l: n < last ? [] : [1] }));
    await namespace.createTable({ id, mode: "Overwrite" }, rows);
    const table = namespace.table("later");
    expect((await table.scan({ offset: last }).toArray())[0]).toEqual({
      n: last,
      late: { s: ["x"] },
      l: [1],
    });
    expect(await table.countRows("late IS NULL")).toBe(count - 1);
  });

  it.each([
    [200_000, "the first 131072 rows", 8],
    // Rows of 20 kB fill the memory that they may take.
    [20_000, "the first 16384 rows", 10_000],
    [8191, "all 8191 rows", 8],
    [1, "the only row", 8],
  ])("is refused with how many of %i rows were looked at: %s", async (count, looked, length) => {
    let made = 0;
    const text = "x".repeat(length);
    const rows = stream(count, () => {
      made++;
      return { late: null, text };
    });
    await expect(namespace.createTable({ id: ["late"] }, rows)).rejects.toThrow(
      `column late: its type is unknown because it has only nulls in ${looked}; pass a schema`,
    );
    expect(made).toBeLessThanOrEqual(131_072);
  });

  it("is refused with the rows that should have named it", async () => {
    const rows = stream(9000, (n) => (n < 8999 ? {} : { late: "x" }));
    await expect(namespace.createTable({ id: ["unnamed"] }, rows)).rejects.toThrow(
      "row 8999: the first 8192 rows have no column late, only n; set late to null in one of them, or pass a schema",
    );
  });

  it.each([
    [
      "a member",
      (n: number) => ({ o: n < 8999 ? { a: 1 } : { a: 1, b: 2 } }),
      "column o: the type, Struct<{a:Float64}>, has no member b",
    ],
    [
      "a length",
      (n: number) => ({ vector: n < 8999 ? [1, 2] : [1] }),
      "column vector: an array of 1 where a value of type FixedSizeList[2]<Float32> with 2 items is wanted",
    ],
    [
      "a kind in a list",
      (n: number) => ({ l: n < 8999 ? ["a"] : [1] }),
      "column l[]: 1 where a value of type Utf8 is wanted",
    ],
  ])("is refused with why %s is not one of its type", async (_, late, reason) => {
    const rows = stream(9000, late);
    await expect(namespace.createTable({ id: ["guessed"] }, rows)).rejects.toThrow(
      `row 8999, ${reason}; the types are those of the first 8192 rows; pass a schema`,
    );
  });

  it("is refused by the type alone where a table has it", async () => {
    await namespace.createTable({ id: ["typed"] }, [{ n: 1, o: "x" }]);
    const rows = stream(9000, (n) => ({ o: n < 8999 ? null : 1 }));
    await expect(namespace.insertIntoTable({ id: ["typed"] }, rows)).rejects.toThrow(
      /row 8999, column o: 1 where a value of type Utf8 is wanted$/,
    );
  });

  it("is told from nulls where it is in lists that have no items", async () => {
    await expect(
      namespace.createTable(
        { id: ["lists"] },
        stream(2, () => ({ l: [] })),
      ),
    ).rejects.toThrow(
      "column l[]: its type is unknown because it has no values but nulls in all 2 rows; pass a schema",
    );
  });

  it("is stored where a schema says what it is", async () => {
    const schema = new arrow.Schema([fieldOf("n", new arrow.Float64()), fieldOf("late", new arrow.Utf8())]);
    await namespace.createTable(
      { id: ["told"], schema },
      stream(9000, (n) => (n < 8999 ? {} : { late: "x" })),
    );
    expect(await namespace.table("told").countRows("late = 'x'")).toBe(1);
  });
});

it("instants of texts are those that their offsets and zones say", async () => {
  const schema = new arrow.Schema([
    fieldOf("local", new arrow.TimestampMillisecond()),
    fieldOf("oslo", new arrow.TimestampMillisecond("Europe/Oslo")),
    fieldOf("day", new arrow.DateDay()),
    fieldOf("time", new arrow.TimeMillisecond()),
    fieldOf("text", new arrow.Utf8()),
  ]);
  const rows = [
    { local: "2024-03-10T10:00:00", oslo: "2024-03-10T10:00:00", day: "2024-03-10", time: "00:00:01.5" },
    { local: "2024-03-10T10:00:00+01:00", oslo: "2024-03-10T10:00:00Z", text: new Date(0) },
  ];
  await namespace.createTable({ id: ["instants"], schema }, rows);
  expect(await namespace.table("instants").scan().toArray()).toEqual([
    {
      local: new Date("2024-03-10T10:00:00Z"),
      oslo: new Date("2024-03-10T09:00:00Z"),
      day: new Date("2024-03-10"),
      time: 1500,
      text: null,
    },
    {
      local: new Date("2024-03-10T09:00:00Z"),
      oslo: new Date("2024-03-10T10:00:00Z"),
      day: null,
      time: null,
      text: "1970-01-01T00:00:00Z",
    },
  ]);
});

it("texts are taken in structs and lists too, and in streams of many rows", async () => {
  const moments = listOf(new arrow.TimestampMillisecond("Europe/Oslo"));
  const schema = new arrow.Schema([
    fieldOf("s", new arrow.Struct([fieldOf("day", new arrow.DateDay())])),
    fieldOf("l", moments),
  ]);
  async function* rows() {
    for (let n = 0; n < 1000; n++)
      yield { s: { day: "2024-03-10" }, l: [`2024-0${1 + (n % 9)}-01T01:00:00`] };
  }
  await namespace.createTable({ id: ["nested"], schema }, rows());
  const table = namespace.table("nested");
  expect(await table.countRows("s.day = date '2024-03-10'")).toBe(1000);
  expect((await table.scan({ offset: 999, limit: 1 }).toArray())[0].l).toEqual([new Date("2024-01-01")]);
});

it.each([
  ["day", new arrow.DateDay(), "2024-13-01", 'the text "2024-13-01"', "Date32<DAY>"],
  ["day", new arrow.DateDay(), "10/3/2024", 'the text "10/3/2024"', "Date32<DAY>"],
  ["ms", new arrow.TimestampMillisecond(), "", 'the text ""', "Timestamp<MILLISECOND>"],
  [
    "ms",
    new arrow.TimestampMillisecond(),
    "1710028800000",
    'the text "1710028800000"',
    "Timestamp<MILLISECOND>",
  ],
  ["ns", new arrow.TimestampNanosecond(), "1677-01-01", 'the text "1677-01-01"', "Timestamp<NANOSECOND>"],
  ["time", new arrow.TimeSecond(), "25:00:00", 'the text "25:00:00"', "Time32<SECOND>"],
  ["time", new arrow.TimeNanosecond(), "soon", 'the text "soon"', "Time64<NANOSECOND>"],
  ["i", new arrow.Int64(), "9223372036854775808", 'the text "9223372036854775808"', "Int64"],
  ["i", new arrow.Int64(), "1.0", 'the text "1.0"', "Int64"],
  ["u", new arrow.Uint64(), "-1", 'the text "-1"', "Uint64"],
  ["s", new arrow.Utf8(), new Date(Number.NaN), "an object of class Date", "Utf8"],
] as const)("a value that %s does not have is refused by row, column and type: %#", async (name, type, value, shown, typeText) => {
  const id = ["refused"];
  await namespace.createTable({ id, schema: new arrow.Schema([fieldOf(name, type)]), mode: "Overwrite" }, []);
  const error = await namespace.insertIntoTable({ id }, [{}, { [name]: value }]).catch((thrown) => thrown);
  expect(error).toBeInstanceOf(TableSchemaValidationError);
  expect(error.message).toContain(
    `row 1, column ${name}: ${shown} where a value of type ${typeText} is wanted`,
  );
  expect(await namespace.countTableRows({ id })).toBe(0);
});
