/** Parquet in and out: DuckDB reads ours and we read DuckDB's, and errors of damaged files are typed. */

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import * as arrow from "apache-arrow";
import fc from "fast-check";
import { InvalidInputError, NamespaceError, TableSchemaValidationError, UnsupportedError } from "tiltyard";
import { readCsv, readParquet, writeCsv, writeParquet } from "tiltyard/files";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { fieldOf } from "../support/arrowColumns.js";
import { type Oracle, openDuckDb } from "../support/duckdb.js";
import { runsOf } from "../support/effort.js";
import { it, sharedDirectory } from "../support/fixtures.js";
import { batchesOf, bytesTarget, rejection } from "./support.js";

const directory = sharedDirectory();
let duckdb: Oracle;
beforeAll(async () => {
  duckdb = await openDuckDb();
});
afterAll(() => duckdb.close());

/** Columns of a query of DuckDB, and the types that its files have here. */
const COLUMNS: Readonly<Record<string, readonly [string, string]>> = {
  b: ["i % 3 = 0", "Bool"],
  i8: ["(i % 100)::TINYINT", "Int8"],
  u16: ["(i % 1000)::USMALLINT", "Uint16"],
  i32: ["i::INTEGER", "Int32"],
  u32: ["(4294967295 - i)::UINTEGER", "Uint32"],
  i64: ["i * 1000000007", "Int64"],
  u64: ["(18446744073709551615 - i)::UBIGINT", "Uint64"],
  f32: ["(i / 7)::FLOAT", "Float32"],
  f64: ["i / 7", "Float64"],
  text: ["CASE WHEN i % 10 = 0 THEN '' ELSE 'é' || i END", "Utf8"],
  bytes: ["encode('b' || i)", "Binary"],
  d9: ["(i / 100)::DECIMAL(9, 2)", "Decimal[9e+2]"],
  d18: ["(i / 100)::DECIMAL(18, 4)", "Decimal[18e+4]"],
  d38: ["(-i / 100)::DECIMAL(38, 6)", "Decimal[38e+6]"],
  day: ["DATE '2024-01-01' - i::INTEGER", "Date32<DAY>"],
  us: ["TIMESTAMP '2024-01-01 10:11:12.123456' - INTERVAL (i) MINUTE", "Timestamp<MICROSECOND>"],
  ns: ["(TIMESTAMP '2024-01-01 10:11:12' + INTERVAL (i) SECOND)::TIMESTAMP_NS", "Timestamp<NANOSECOND>"],
  utc: ["TIMESTAMPTZ '2024-01-01 10:11:12+00' + INTERVAL (i) HOUR", "Timestamp<MICROSECOND, UTC>"],
  time: ["TIME '10:11:12.5'", "Time64<MICROSECOND>"],
  list: ["CASE WHEN i % 5 = 0 THEN NULL ELSE range(i % 4) END", "List<Int64>"],
  texts: ["[NULL, 'a' || i]", "List<Utf8>"],
  lists: ["[[i], [], NULL]", "List<List<Int64>>"],
  struct: ["{ 'a': i, 'b': { 'c': 'x' || i } }", "Struct<{a:Int64, b:Struct<{c:Utf8}>}>"],
  structs: ["[{ 'a': i, 'd': DATE '2024-01-01' }, NULL]", "List<Struct<{a:Int64, d:Date32<DAY>}>>"],
};

const selected = (where = "true"): string =>
  `SELECT ${Object.entries(COLUMNS)
    .map(([name, [sql]]) => `CASE WHEN i % 11 = 3 THEN NULL ELSE ${sql} END AS "${name}"`)
    .join(", ")} FROM range(20000) t(i) WHERE ${where}`;

const quoted = (path: string): string => `'${path.replaceAll("'", "''")}'`;

/** Counts rows that differ between two queries of DuckDB. */
const differences = async (first: string, second: string): Promise<unknown> => {
  const [[count]] = await duckdb.rows(
    `SELECT count(*) FROM ((${first} EXCEPT ALL ${second}) UNION ALL (${second} EXCEPT ALL ${first}))`,
  );
  return Number(count);
};

describe("large columns", () => {
  it("of one row group are read by DuckDB, and again by readParquet, as they were written", async () => {
    const count = 90_000;
    const rows = function* () {
      for (let i = 0; i < count; i++) {
        yield {
          i,
          f: i % 13 === 0 ? null : i / 8,
          city: i % 7 === 0 ? null : `city ${i % 300}`,
          note: `${i} `.repeat(12),
          vector: i < 60_000 ? Float32Array.of(i, i + 0.5, -i, 0) : null,
          place: { lat: i / 4, names: i % 5 === 0 ? [] : [`n${i % 9}`, null] },
        };
      }
    };
    const path = join(directory, "large.parquet");
    expect(await writeParquet(rows(), path, { rowGroupRows: count })).toMatchObject({ rowCount: count });
    const [[groups]] = await duckdb.rows(
      `SELECT count(DISTINCT row_group_id) FROM parquet_metadata(${quoted(path)})`,
    );
    expect(Number(groups)).toBe(1);
    const expected = `SELECT i::DOUBLE i, CASE WHEN i % 13 <> 0 THEN i / 8 END f,
      CASE WHEN i % 7 <> 0 THEN 'city ' || (i % 300) END city, repeat(i || ' ', 12) note,
      CASE WHEN i < 60000 THEN [i, i + 0.5, -i, 0]::FLOAT[] END vector,
      { 'lat': i / 4, 'names': CASE WHEN i % 5 = 0 THEN [] ELSE ['n' || (i % 9), NULL] END } place
      FROM range(${count}) t(i)`;
    expect(await differences(`SELECT * FROM ${quoted(path)}`, expected)).toBe(0);
    expect(
      await differences(
        `SELECT i, f FROM ${quoted(path)} WHERE f > 11000`,
        `SELECT i, f FROM (${expected}) WHERE f > 11000`,
      ),
    ).toBe(0);
    const again = join(directory, "again.parquet");
    await writeParquet(readParquet(path, { batchRows: 5000 }), again, { compression: "none" });
    expect(await differences(`SELECT * FROM ${quoted(again)}`, expected)).toBe(0);
  });

  it("of DuckDB, with dictionaries and many pages in a row group, are read", async () => {
    const path = join(directory, "pages.parquet");
    const source = `SELECT i, i / 7 f, 'city ' || (i % 3000) city, [i, NULL] list FROM range(250000) t(i)`;
    await duckdb.rows(`COPY (${source}) TO ${quoted(path)} (FORMAT parquet, ROW_GROUP_SIZE 250000)`);
    const again = join(directory, "pages-again.parquet");
    await writeParquet(readParquet(path), again);
    expect(await differences(`SELECT * FROM ${quoted(again)}`, source)).toBe(0);
  });
});

describe("a file of DuckDB", () => {
  it.for(["uncompressed", "snappy", "zstd", "gzip", "lz4_raw", "brotli"])("in %s is read", async (codec) => {
    const path = join(directory, `${codec}.parquet`);
    await duckdb.rows(
      `COPY (${selected()}) TO ${quoted(path)} (FORMAT parquet, COMPRESSION ${codec}, ROW_GROUP_SIZE 6000)`,
    );
    const batches = await batchesOf(readParquet(path, { batchRows: 1000 }));
    expect(Object.fromEntries(batches[0].schema.fields.map(({ name, type }) => [name, `${type}`]))).toEqual(
      Object.fromEntries(Object.entries(COLUMNS).map(([name, [, type]]) => [name, type])),
    );
    expect(batches.reduce((sum, { numRows }) => sum + numRows, 0)).toBe(20_000);
    const copy = join(directory, `${codec}-copy.parquet`);
    await writeParquet(batches, copy);
    expect(await differences(selected(), `SELECT * FROM read_parquet(${quoted(copy)})`)).toBe(0);
  });

  it("is read from bytes, a Blob and a stream of limited length", async () => {
    const path = join(directory, "small.parquet");
    await duckdb.rows(`COPY (SELECT i FROM range(10) t(i)) TO ${quoted(path)} (FORMAT parquet)`);
    const bytes = new Uint8Array(await readFile(path));
    for (const source of [
      bytes,
      new Blob([bytes]),
      new File([bytes], "rows.parquet"),
      Readable.from([bytes]),
      new Response(bytes).body,
    ]) {
      const [batch] = await batchesOf(readParquet(source as Uint8Array));
      expect(batch.numRows).toBe(10);
    }
    const error = await rejection(batchesOf(readParquet(Readable.from([bytes]), { maxStreamBytes: 100 })));
    expect(error).toBeInstanceOf(InvalidInputError);
    expect((error as Error).message).toBe(
      "readParquet: the stream has more than 100 bytes, and the end of Parquet is read first; pass a path, or set maxStreamBytes",
    );
  });

  it("is read in part, and fitted to a table's columns", async ({ ns }) => {
    const path = join(directory, "part.parquet");
    await duckdb.rows(
      `COPY (SELECT i, 'x' t, i::VARCHAR n FROM range(3) t(i)) TO ${quoted(path)} (FORMAT parquet)`,
    );
    const table = ns.table("t");
    const schema = new arrow.Schema([
      fieldOf("n", new arrow.Int64()),
      fieldOf("i", new arrow.Int16()),
      fieldOf("other", new arrow.Utf8()),
    ]);
    await table.create([], { schema });
    await table.insert(readParquet(path, { columns: ["i", "n"] }));
    expect(await table.scan().toArray()).toEqual([0, 1, 2].map((i) => ({ n: BigInt(i), i, other: null })));
    const unknown = await rejection(table.insert(readParquet(path)));
    expect(unknown).toBeInstanceOf(TableSchemaValidationError);
    expect((unknown as Error).message).toBe("readParquet: there is no column t; the columns are n, i, other");
    expect(await rejection(batchesOf(readParquet(path, { columns: ["a"] })))).toMatchObject({
      message: "readParquet.columns: the file has no column a, only i, t, n",
    });
    await duckdb.rows(`COPY (SELECT 70000 + i AS i FROM range(3) t(i)) TO ${quoted(path)} (FORMAT parquet)`);
    expect(await rejection(table.insert(readParquet(path)))).toMatchObject({
      message: "row 0, column i: 70000n where a value of type Int16 is wanted",
    });
  });

  it("has maps with keys of any type, and INTERVAL is refused by name", async () => {
    const path = join(directory, "maps.parquet");
    await duckdb.rows(
      `COPY (SELECT MAP([i, i + 1], ['a', NULL]) m, NULL::MAP(INTEGER, INTEGER) n FROM range(2) t(i)) TO ${quoted(path)} (FORMAT parquet)`,
    );
    const [batch] = await batchesOf(readParquet(path));
    expect(batch.schema.fields.map(({ type }) => type.typeId)).toEqual([arrow.Type.Map, arrow.Type.Map]);
    const copy = join(directory, "maps-copy.parquet");
    await writeParquet(batch, copy);
    const [own, copied] = [path, copy].map((each) => `SELECT * FROM read_parquet(${quoted(each)})`);
    expect(await differences(own, copied)).toBe(0);
    await duckdb.rows(`COPY (SELECT INTERVAL 1 DAY v) TO ${quoted(path)} (FORMAT parquet)`);
    const error = await rejection(batchesOf(readParquet(path)));
    expect(error).toBeInstanceOf(UnsupportedError);
    expect((error as Error).message).toBe("readParquet: column v: the type INTERVAL is not read");
  });
});

describe("CSV", () => {
  const flat = `SELECT i, i / 7 f, CASE WHEN i % 3 = 0 THEN NULL ELSE 'a,"' || i || chr(10) END t,
    DATE '2024-01-01' + i::INTEGER d, TIMESTAMP '2024-01-01 10:11:12.5' + INTERVAL (i) DAY ts, i % 2 = 0 b FROM range(3000) t(i)`;

  it("of DuckDB is read, and DuckDB reads ours", async () => {
    const path = join(directory, "rows.csv");
    await duckdb.rows(`COPY (${flat}) TO ${quoted(path)} (FORMAT csv, HEADER)`);
    const batches = await batchesOf(readCsv(path));
    expect(batches[0].schema.fields.map(({ type }) => `${type}`)).toEqual([
      "Int64",
      "Float64",
      "Utf8",
      "Date32<DAY>",
      "Timestamp<MICROSECOND>",
      "Bool",
    ]);
    const copy = join(directory, "copy.csv");
    await writeCsv(batches, copy);
    expect(await differences(flat, `SELECT * FROM read_csv(${quoted(copy)})`)).toBe(0);
  });
});

describe("a written file", () => {
  it("of no rows has its columns", async ({ ns }) => {
    const table = ns.table("t");
    await table.create([{ a: 1, v: [1, 2], s: { x: "a" } }]);
    const { target, bytes } = bytesTarget();
    expect((await writeParquet(table.scan({ filter: "a > 1" }), target)).rowCount).toBe(0);
    const [batch] = await batchesOf(readParquet(bytes()));
    expect([batch.numRows, batch.schema.fields.map(({ name }) => name)]).toEqual([0, ["a", "v", "s"]]);
  });

  it("has row groups of the wanted size, whatever the batches", async () => {
    const path = join(directory, "groups.parquet");
    const table = arrow.tableFromArrays({ a: Int32Array.from({ length: 30_000 }, (_, index) => index) });
    await writeParquet(table, path, { rowGroupRows: 10_000, compression: "none" });
    const groups = await duckdb.rows(
      `SELECT DISTINCT row_group_num_rows, compression FROM parquet_metadata(${quoted(path)})`,
    );
    expect(groups).toEqual([[10_000n, "UNCOMPRESSED"]]);
  });

  it("is about as short if the rows come in many small batches", async () => {
    const numbers = Float64Array.from({ length: 20_000 }, (_, index) => index / 7);
    const inOne = new arrow.Table({ f: arrow.vectorFromArray(numbers) });
    const inMany = Array.from(
      { length: numbers.length / 10 },
      (_, index) => inOne.slice(10 * index, 10 * index + 10).batches[0],
    );
    const path = join(directory, "small-batches.parquet");
    const { byteCount } = await writeParquet(inOne, join(directory, "one-batch.parquet"));
    const small = await writeParquet(inMany, path);
    expect(small.byteCount).toBeLessThan(1.1 * byteCount);
    expect(small.rowCount).toBe(numbers.length);
    const [[sum]] = await duckdb.rows(`SELECT sum(f) FROM ${quoted(path)}`);
    expect(sum).toBeCloseTo(
      numbers.reduce((total, number) => total + number, 0),
      3,
    );
  });

  it("is refused with column and type for what Parquet lacks, and leaves no file", async () => {
    const empty = new arrow.Schema([fieldOf("s", new arrow.Struct([fieldOf("e", new arrow.Struct([]))]))]);
    const { target } = bytesTarget();
    const error = await rejection(writeParquet([], target, { schema: empty }));
    expect(error).toBeInstanceOf(NamespaceError);
    const day = new arrow.Schema([fieldOf("d", new arrow.DateMillisecond())]);
    const vector = new arrow.Vector([
      arrow.makeData({ type: new arrow.DateMillisecond(), data: new BigInt64Array([1n]) as never }),
    ]);
    const table = new arrow.Table(day, { d: vector as never });
    expect(await rejection(writeParquet(table, bytesTarget().target))).toMatchObject({
      message:
        "writeParquet: column d: 1 ms after 1970 is not midnight, and dates of Parquet have no time of day",
    });
  });
});

describe("a damaged file", () => {
  it("gives a typed error, wherever it is cut or changed", async () => {
    const { target, bytes } = bytesTarget();
    const rows = Array.from({ length: 300 }, (_, a) => ({
      a,
      t: `text ${a % 7}`,
      l: [a, null, "x"].slice(0, 1),
    }));
    await writeParquet(rows, target, { rowGroupRows: 100 });
    const whole = bytes();
    const seen = async (file: Uint8Array): Promise<void> => {
      try {
        await batchesOf(readParquet(file));
      } catch (error) {
        expect(error).toBeInstanceOf(NamespaceError);
      }
    };
    for (const length of [0, 3, 8, 12, 100, whole.length - 1, whole.length - 9]) {
      expect(await rejection(batchesOf(readParquet(whole.subarray(0, length))))).toBeInstanceOf(
        InvalidInputError,
      );
    }
    await fc.assert(
      fc.asyncProperty(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }), async (offset, change) => {
        const file = whole.slice();
        file[offset] ^= change;
        await seen(file);
      }),
      { numRuns: runsOf("DAMAGE_RUNS", 2000) },
    );
  });

  it("of another kind is refused", async () => {
    const path = join(directory, "text.parquet");
    await writeFile(path, "a,b\n1,2\n".repeat(10));
    const error = await rejection(batchesOf(readParquet(path)));
    expect(error).toBeInstanceOf(InvalidInputError);
    expect((error as Error).message).toBe(
      "readParquet: the file is not Parquet, or damaged: parquet file invalid (footer != PAR1)",
    );
  });
});
