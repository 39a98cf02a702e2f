/** Casts of columns between all types give the same rows in both engines, or a table here says why not. */

import { cp } from "node:fs/promises";
import { join } from "node:path";
import {
  type DataType,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Table,
  tableFromIPC,
  vectorFromArray,
} from "apache-arrow";
import { InvalidInputError, TableSchemaValidationError } from "tiltyard";
import { describe, expect, it } from "vitest";
import { arrowTypeFromLogical } from "../../src/arrow/types/logicalTypes.js";
import { parseType } from "../../src/arrow/types/type.js";
import { fieldOf } from "../support/arrowColumns.js";
import { directorySnapshot } from "../support/directorySnapshot.js";
import { sharedDirectory, sharedNamespace } from "../support/fixtures.js";
import { compareTables, reference } from "../support/reference.js";

const DAY_MS = 86_400_000;

/** Values by type name. Every target type holds all of them but the last, which is null. */
const SAMPLES: Record<string, readonly unknown[]> = {
  null: [null, null],
  bool: [true, false, null],
  int8: [1, 100, null],
  int32: [1, 100, null],
  uint8: [1, 100, null],
  uint64: [1n, 100n, null],
  halffloat: [1, -0.5, null],
  double: [1, -0.5, null],
  string: ["1", "", "1", null],
  large_string: ["1", "", "1", null],
  binary: [Uint8Array.of(49), Uint8Array.of(0, 255), null],
  large_binary: [Uint8Array.of(49), Uint8Array.of(0, 255), null],
  "date32:day": [2 * DAY_MS, -DAY_MS, null],
  "date64:ms": [2 * DAY_MS, -DAY_MS, null],
  "timestamp:s:-": [2 * DAY_MS, -DAY_MS, null],
  "timestamp:us:UTC": [2 * DAY_MS, -DAY_MS, null],
  "timestamp:ns:America/New_York": [2 * DAY_MS, -DAY_MS, null],
  "timestamp:ms:Europe/Berlin": [2 * DAY_MS, -DAY_MS, null],
  "time32:ms": [5000, 0, null],
  "time64:ns": [5_000_000_000n, 0n, null],
  "duration:s": [5n, -5n, null],
  "duration:us": [5_000_000n, -5_000_000n, null],
  "decimal:128:10:2": [100n, -200n, null],
  "decimal:256:40:4": [10_000n, -20_000n, null],
  "dict:string:int32:false": ["1", "", "1", null],
  "dict:string:int8:false": ["1", "", "1", null],
};
const TYPES = Object.keys(SAMPLES);

const DECIMAL_WORDS: Record<string, number> = { "128": 2, "256": 4 };

function inArrow(type: string, value: unknown): unknown {
  const decimal = /^decimal:(128|256)/.exec(type);
  if (decimal === null || typeof value !== "bigint") return value;
  const words = Array.from({ length: DECIMAL_WORDS[decimal[1]] }, (_, index) => value >> BigInt(64 * index));
  return new Uint32Array(new BigInt64Array(words.map((word) => BigInt.asIntN(64, word))).buffer);
}

/** A table with the same values in `count` columns c0, c1 … */
function columnsOf(type: string, values: readonly unknown[], count: number): Table {
  const arrow: DataType = arrowTypeFromLogical(parseType(type), "c");
  const cells = values.map((value) => inArrow(type, value));
  const [data] = vectorFromArray(cells as never[], arrow as never).data;
  const fields = Array.from({ length: count }, (_, index) => fieldOf(`c${index}`, arrow));
  const schema = new Schema(fields);
  const children = fields.map(() => data) as never;
  const rows = makeData({ type: new Struct(fields), length: values.length, children });
  return new Table(schema, new RecordBatch(schema, rows as never));
}

const isZoned = (type: string) => /^timestamp:.*[a-z]:\w+\/\w+$/.test(type);
const isInstant = (type: string) => /^(date|timestamp)/.test(type);
const isNumber = (type: string, kinds: readonly string[]) => kinds.some((kind) => type.startsWith(kind));

const TEXTS = ["string", "large_string", "dict:string"];
const PARSED = ["int", "uint", "halffloat", "double", "decimal", "date", "timestamp", "time"];

/** True if only we cast: exact values only, and what has a text. The texts of the samples are none of these. */
const onlyWe = (from: string, to: string): boolean =>
  (isNumber(from, ["int", "uint"]) && isNumber(to, ["halffloat", "double"])) ||
  (isNumber(from, PARSED) && isNumber(to, TEXTS)) ||
  (from === "null" && to === "null");

/** True if only we cast, but the sample has a value that does not fit. */
const isFitted = (from: string, to: string): boolean =>
  (isNumber(from, TEXTS) && isNumber(to, PARSED)) ||
  (isNumber(from, ["halffloat", "double"]) && isNumber(to, ["int", "uint"]));

function onlyThey(from: string, to: string): boolean {
  // Local time has no instant: only the program knows its zone.
  if (isInstant(from) && isInstant(to)) {
    const local = [from, to].some((type) => !isZoned(type) && type !== "timestamp:us:UTC");
    return [from, to].some(isZoned) && local;
  }
  return from.startsWith("timestamp") && to.startsWith("time") && !isInstant(to);
}

const root = sharedDirectory();
const namespace = sharedNamespace({ root });
let tables = 0;

async function twins(rows: Table): Promise<{ ours: string; theirs: string }> {
  const ours = `t${tables++}`;
  await namespace.createTable({ id: [ours] }, rows);
  const theirs = `${ours}b`;
  await cp(join(root, `${ours}.lance`), join(root, `${theirs}.lance`), { recursive: true });
  return { ours, theirs };
}

const castHere = (name: string, path: string, type: string): Promise<unknown> =>
  namespace.alterTableAlterColumns({ id: [name], alterations: [{ path, dataType: { type } }] }).then(
    () => "cast",
    (error: unknown) => error,
  );
const castThere = (name: string, path: string, type: string): Promise<unknown> =>
  reference.alterColumns(root, name, [{ path, dataType: { type } }]).then(
    () => "cast",
    (error: unknown) => error,
  );

async function expectSameRows(ours: string, theirs: string, columns: string[]): Promise<void> {
  const expected = await reference.readTable(root, theirs, { columns });
  compareTables(expected, await namespace.table([ours]).scan({ columns }).toArrow());
  compareTables(expected, await reference.readTable(root, ours, { columns }));
}

describe("every pair of types", () => {
  it.each(TYPES)("of %s", async (from) => {
    const { ours, theirs } = await twins(columnsOf(from, SAMPLES[from], TYPES.length));
    const both: string[] = [];
    for (const [index, to] of TYPES.entries()) {
      const column = `c${index}`;
      const here = await castHere(ours, column, to);
      const there = await castThere(theirs, column, to);
      const what = `${from} → ${to}: here ${String(here)}, there ${String(there)}`;
      const refusal = isFitted(from, to) ? TableSchemaValidationError : InvalidInputError;
      if (here !== "cast") expect(here, what).toBeInstanceOf(refusal);
      expect(here === "cast", what).toBe((there === "cast" && !onlyThey(from, to)) || onlyWe(from, to));
      if (onlyThey(from, to)) expect(there, what).toBe("cast");
      if (here === "cast" && there === "cast") both.push(column);
    }
    if (both.length > 0) await expectSameRows(ours, theirs, both);
    if (from !== "null") expect(both.length).toBeGreaterThan(0);
  });
});

const manyTexts = Array.from({ length: 129 }, (_, index) => `text ${index}`);

/** "theirs loses": the reference changes the value. */
type Outcome = "same" | "refused" | "theirs loses";

describe("values at the edges", () => {
  const cases: [from: string, values: readonly unknown[], to: string, outcome: Outcome][] = [
    ["int8", [127, -128], "int64", "same"],
    ["int32", [127, -128], "int8", "same"],
    ["int32", [0, 255], "uint8", "same"],
    ["int32", [128], "int8", "refused"],
    ["int32", [1, -1], "uint64", "refused"],
    ["int64", [2n ** 63n - 1n, 0n], "uint64", "same"],
    ["int64", [2n ** 31n], "int32", "refused"],
    ["int64", [-(2n ** 63n)], "uint32", "refused"],
    ["uint64", [2n ** 63n], "int64", "refused"],
    ["halffloat", [Number.NaN, -0, 65504, Number.NEGATIVE_INFINITY], "double", "same"],
    ["double", [Number.NaN, -0, 0.1, Number.POSITIVE_INFINITY, 1e-320], "float", "same"],
    ["float", [65504, 1e-8, 0.1, -0], "halffloat", "same"],
    ["float", [65520], "halffloat", "theirs loses"],
    ["double", [1e300], "float", "theirs loses"],
    ["date32:day", [Date.UTC(1900, 0, 1), Date.UTC(9999, 11, 31)], "timestamp:us:-", "same"],
    ["date32:day", [Date.UTC(9999, 11, 31)], "timestamp:ns:-", "theirs loses"],
    ["timestamp:s:-", [Date.UTC(9999, 11, 31)], "timestamp:ns:-", "refused"],
    ["timestamp:s:-", [DAY_MS - 1000], "date32:day", "theirs loses"],
    ["timestamp:ms:UTC", [-1], "timestamp:s:UTC", "theirs loses"],
    ["timestamp:ms:UTC", [Date.UTC(2020, 6, 1, 12, 30)], "timestamp:ns:America/New_York", "same"],
    ["timestamp:us:Europe/Berlin", [Date.UTC(2020, 2, 29, 1, 30)], "timestamp:ms:UTC", "same"],
    ["time32:ms", [1], "time32:s", "theirs loses"],
    ["time32:ms", [86_399_999], "time64:ns", "same"],
    ["duration:us", [-1n], "duration:s", "theirs loses"],
    ["duration:s", [2n ** 63n - 1n], "duration:ns", "refused"],
    ["decimal:128:20:4", [100n, -(10n ** 11n)], "decimal:128:12:2", "same"],
    ["decimal:128:20:4", [50n], "decimal:128:20:2", "theirs loses"],
    ["decimal:128:20:4", [10n ** 19n], "decimal:128:10:2", "refused"],
    ["decimal:128:10:2", [9_999_999_999n], "decimal:256:40:6", "same"],
    ["string", ["é", "", "\u0000"], "large_string", "same"],
    ["string", manyTexts.slice(0, 128), "dict:string:int8:false", "same"],
    ["string", manyTexts, "dict:string:int8:false", "refused"],
    ["dict:string:int32:false", manyTexts, "dict:string:int8:false", "refused"],
    ["dict:string:int32:false", manyTexts, "string", "same"],
  ];
  it.each(
    cases.map(([from, values, to, outcome]) => ({ from, values, to, outcome, first: values[0] })),
  )("$first of $from → $to: $outcome", async ({ from, values, to, outcome }) => {
    const { ours, theirs } = await twins(columnsOf(from, values, 1));
    const before = await directorySnapshot(join(root, `${ours}.lance`));
    const here = await castHere(ours, "c0", to);
    const there = await castThere(theirs, "c0", to);
    if (outcome === "same") {
      expect([here, there]).toEqual(["cast", "cast"]);
      await expectSameRows(ours, theirs, ["c0"]);
      return;
    }
    expect(here).toBeInstanceOf(TableSchemaValidationError);
    expect(String(here)).toContain("c0");
    expect(await directorySnapshot(join(root, `${ours}.lance`))).toEqual(before);
    if (outcome === "refused") expect(there).toBeInstanceOf(Error);
    else expect(there).toBe("cast");
  });
});

it("numbers as floats are cast where they are exact, and otherwise not", async () => {
  const { ours } = await twins(columnsOf("int64", [2n ** 53n, -(2n ** 62n), null], 2));
  expect(await castHere(ours, "c0", "double")).toBe("cast");
  const seen = tableFromIPC(await reference.readTable(root, ours, { columns: ["c0"] }));
  expect(Array.from(seen.getChild("c0") ?? [])).toEqual([2 ** 53, -(2 ** 62), null]);
  const { ours: inexact } = await twins(columnsOf("int64", [2n ** 53n + 1n], 1));
  expect(await castHere(inexact, "c0", "double")).toBeInstanceOf(TableSchemaValidationError);
});

it.each([
  ["double", [1, -0, 2 ** 53, null], "int64", [1n, 0n, 2n ** 53n, null]],
  ["double", [1, 255, null], "uint8", [1, 255, null]],
  ["halffloat", [1, -2048], "int16", [1, -2048]],
  ["double", [1, 0.1, 1e300, -0.5, null], "string", ["1", "0.1", "1e+300", "-0.5", null]],
  ["float", [0.1, 16777216], "large_string", ["0.1", "16777216"]],
  ["int64", [2n ** 62n, -1n], "string", ["4611686018427387904", "-1"]],
  ["uint8", [7, null, 7], "dict:string:int8:false", ["7", null, "7"]],
  ["decimal:128:10:2", [100n, -250n], "string", ["1.00", "-2.50"]],
  ["date32:day", [2 * DAY_MS, -DAY_MS], "string", ["1970-01-03", "1969-12-31"]],
  ["timestamp:us:UTC", [DAY_MS], "string", ["1970-01-02T00:00:00Z"]],
  ["timestamp:ms:Europe/Berlin", [DAY_MS], "string", ["1970-01-02T01:00:00+01:00"]],
  ["time32:ms", [5500], "string", ["00:00:05.500"]],
  ["string", ["1", "-7", "+8", null], "int32", [1, -7, 8, null]],
  ["string", ["9007199254740993"], "int64", [9007199254740993n]],
  ["dict:string:int32:false", ["18446744073709551615", null], "uint64", [2n ** 64n - 1n, null]],
  ["large_string", ["1.5", "-.5", "1e3"], "double", [1.5, -0.5, 1000]],
  ["string", ["NaN", "-Infinity"], "float", [Number.NaN, Number.NEGATIVE_INFINITY]],
  ["string", ["12.3", "-1"], "decimal:128:10:2", ["12.30", "-1.00"]],
  [
    "string",
    ["2024-03-10", "2024-03-10T23:00:00Z"],
    "date32:day",
    [new Date("2024-03-10"), new Date("2024-03-10")],
  ],
  ["string", ["2024-03-10T10:00:00+01:00"], "timestamp:ms:UTC", [new Date("2024-03-10T09:00:00Z")]],
  ["string", ["2024-03-10 10:00:00"], "timestamp:ms:Europe/Berlin", [new Date("2024-03-10T09:00:00Z")]],
  ["string", ["10:11:12.5", null], "time32:ms", [36_672_500, null]],
] as const)("%s of %s are cast to %s", async (from, values, to, wanted) => {
  const { ours } = await twins(columnsOf(from, values, 1));
  expect(await castHere(ours, "c0", to)).toBe("cast");
  expect((await namespace.table([ours]).scan().toArray()).map(({ c0 }) => c0)).toEqual(wanted);
  compareTables(
    tableFromIPC(await reference.readTable(root, ours)),
    await namespace.table([ours]).scan().toArrow(),
  );
});

it.each([
  ["double", [1, 1.5], "int32", "row 1, column c0: value 1.5 does not fit type int32"],
  ["double", [Number.NaN], "int64", "row 0, column c0: value NaN does not fit type int64"],
  ["double", [0, 0, 2 ** 31], "int32", "row 2, column c0: value 2147483648 does not fit type int32"],
  ["float", [Number.POSITIVE_INFINITY], "int8", "row 0, column c0: value Infinity does not fit type int8"],
  ["decimal:128:20:4", [100n, 50n], "decimal:128:20:2", "row 1, column c0: value 0.0050 does not fit"],
  ["string", ["1", "1.0"], "int32", 'row 1, column c0: the text "1.0" where a value of type Int32 is wanted'],
  ["string", ["1", "", "2"], "double", 'row 1, column c0: the text ""'],
  ["string", ["1e400"], "double", 'row 0, column c0: the text "1e400"'],
  ["string", ["2024-02-30"], "date32:day", 'row 0, column c0: the text "2024-02-30"'],
  [
    "dict:string:int32:false",
    ["300"],
    "uint8",
    "row 0, column c0: 300n where a value of type Uint8 is wanted",
  ],
] as const)("%s of %s are not cast to %s: the error names row and value", async (from, values, to, message) => {
  const { ours } = await twins(columnsOf(from, values, 1));
  const before = await directorySnapshot(join(root, `${ours}.lance`));
  const error = await castHere(ours, "c0", to);
  expect(error).toBeInstanceOf(TableSchemaValidationError);
  expect(String(error)).toContain(message);
  expect(await directorySnapshot(join(root, `${ours}.lance`))).toEqual(before);
});

it("the row of a refused value is its offset in the table, also inside lists", async () => {
  const rows = Array.from({ length: 30 }, (_, n) => ({
    n,
    list: Array.from({ length: n % 4 }, () => n),
    o: { s: `${n}` },
  }));
  await namespace.createTable({ id: ["many"] }, rows.slice(0, 10));
  await namespace.insertIntoTable({ id: ["many"] }, rows.slice(10));
  const table = namespace.table("many");
  await table.insert([{ n: 30.5, list: [1, 2, 0.5], o: { s: "x" } }]);
  await table.delete("n IN (2, 3, 15)");
  const types = {
    n: { type: "int32" },
    list: { type: "list", fields: [{ name: "item", type: { type: "int32" }, nullable: true }] },
  };
  for (const [path, dataType] of Object.entries(types)) {
    await expect(table.alterColumns({ path, dataType })).rejects.toThrow(
      new RegExp(`^row 27, column ${path}: value .*0?.5`),
    );
  }
  await expect(table.alterColumns({ path: "o.s", dataType: { type: "int32" } })).rejects.toThrow(
    'row 27, column o.s: the text "x"',
  );
  await table.delete("n = 30.5");
  for (const [path, dataType] of Object.entries(types)) await table.alterColumns({ path, dataType });
  await table.alterColumns({ path: "o.s", dataType: { type: "int64" } });
  expect((await table.scan({ filter: "n = 7" }).toArray())[0]).toEqual({
    n: 7,
    list: [7, 7, 7],
    o: { s: 7n },
  });
});

it("what deleted rows hold does not stand against a cast", async () => {
  const { ours, theirs } = await twins(columnsOf("int32", [300, 1, null, 400, 2], 2));
  for (const name of [ours, theirs]) await reference.deleteRows(root, name, "c0 >= 300");
  expect(await castHere(ours, "c0", "int8")).toBe("cast");
  expect(await castThere(theirs, "c0", "int8")).toBe("cast");
  await expectSameRows(ours, theirs, ["c0", "c1"]);
  const tight = { path: "c1", nullable: false, dataType: { type: "int8" } };
  await reference.deleteRows(root, ours, "c0 is null");
  await namespace.alterTableAlterColumns({ id: [ours], alterations: [tight] });
  const rows = tableFromIPC(await reference.readTable(root, ours));
  expect(rows.toArray().map((row) => row.toJSON())).toEqual([
    { c0: 1, c1: 1 },
    { c0: 2, c1: 2 },
  ]);
  compareTables(rows, await namespace.table([ours]).scan().toArrow());
});
