/** The bytes of CSV: cut like csv-parse and DuckDB cut them, whatever the pieces in which they come. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as arrow from "apache-arrow";
import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { readCsv } from "tiltyard/files";
import { describe, expect } from "vitest";
import { CsvRecords } from "../../src/files/csvRecords.js";
import { openDuckDb } from "../support/duckdb.js";
import { runsOf } from "../support/effort.js";
import { it } from "../support/fixtures.js";
import { batchesOf, bytesOfText, rejection } from "./support.js";

const RUNS = { numRuns: runsOf("FILE_RUNS", 300) };
const LINE_ENDS = ["\n", "\r\n", "\r"];
/** Texts of a few characters, among them those that end values. */
const text = fc.string({
  unit: fc.constantFrom("a", "7", " ", ",", '"', "\n", "\r", "é", "😀"),
  maxLength: 6,
});

interface Cell {
  readonly value: string;
  readonly isQuoted: boolean;
}

const needsQuotes = (value: string): boolean => /[",\r\n]/.test(value);
const cell = fc
  .record({ value: text, isQuoted: fc.boolean() })
  .map(({ value, isQuoted }): Cell => ({ value, isQuoted: isQuoted || needsQuotes(value) }));
const written = ({ value, isQuoted }: Cell): string =>
  isQuoted ? `"${value.replaceAll('"', '""')}"` : value;

/** Some records of at least two cells, and their text in any form. */
const file = fc
  .integer({ min: 2, max: 4 })
  .chain((width) =>
    fc.record({
      width: fc.constant(width),
      records: fc.array(fc.array(cell, { minLength: width, maxLength: width }), { maxLength: 8 }),
      lineEnd: fc.constantFrom(...LINE_ENDS),
      endsWithLine: fc.boolean(),
      hasMark: fc.boolean(),
    }),
  )
  .map(({ width, records, lineEnd, endsWithLine, hasMark }) => {
    const header = Array.from({ length: width }, (_, index) => `c${index}`);
    const lines = [header.join(","), ...records.map((record) => record.map(written).join(","))];
    const body = lines.join(lineEnd) + (endsWithLine ? lineEnd : "");
    return { width, records, bytes: bytesOfText(`${hasMark ? "\ufeff" : ""}${body}`) };
  });

/** Cuts bytes into pieces of some lengths. */
function* pieces(bytes: Uint8Array, lengths: readonly number[]): Generator<Uint8Array> {
  let start = 0;
  for (let index = 0; start < bytes.length; index++) {
    const length = lengths[index % lengths.length];
    yield bytes.subarray(start, start + length);
    start += length;
  }
}

const textSchema = (width: number) =>
  new arrow.Schema(
    Array.from({ length: width }, (_, index) => new arrow.Field(`c${index}`, new arrow.Utf8(), true)),
  );

async function rowsOf(source: Iterable<Uint8Array>, width: number): Promise<(string | null)[][]> {
  const batches = await batchesOf(readCsv(source, { schema: textSchema(width), batchRows: 3 }));
  return batches.flatMap((batch) => batch.toArray().map((row) => Object.values(row.toJSON())));
}

describe("the records of a file", () => {
  it("are those that were written, in pieces of any length", async () => {
    const lengths = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(file, lengths, async ({ width, records, bytes }, pieceLengths) => {
        const wanted = records.map((record) =>
          record.map(({ value, isQuoted }) => (value === "" && !isQuoted ? null : value)),
        );
        expect(await rowsOf(pieces(bytes, pieceLengths), width)).toEqual(wanted);
      }),
      RUNS,
    );
  });

  it("are those of csv-parse for any text, and both refuse the same texts", async () => {
    const lines = fc.array(text, { maxLength: 12 }).map((texts) => texts.join(""));
    await fc.assert(
      fc.asyncProperty(lines, async (body) => {
        const bytes = bytesOfText(`c0,c1\n${body}`);
        const read = rowsOf(pieces(bytes, [3]), 2);
        const wanted = recordsOfPeer(bytes);
        if (wanted === null) {
          expect(await rejection(read)).toMatchObject({ name: "InvalidInputError" });
        } else {
          const texts = (await read).map((row) => row.map((value) => value ?? ""));
          expect(texts).toEqual(wanted);
        }
      }),
      RUNS,
    );
  });

  it("are those of DuckDB for generated files", async ({ root }) => {
    const duckdb = await openDuckDb();
    const path = join(root, "peer.csv");
    await fc.assert(
      fc.asyncProperty(file, async ({ width, records, bytes }) => {
        // DuckDB takes a line of nulls for an empty one, and needs line ends of one kind.
        fc.pre(records.length > 0 && records.every((record) => record.some(({ value }) => value !== "")));
        await writeFile(path, bytes);
        const columns = Array.from({ length: width }, (_, index) => `'c${index}': 'VARCHAR'`).join(", ");
        const options = `header = true, delim = ',', quote = '"', escape = '"', columns = {${columns}}`;
        const theirs = await duckdb.rows(
          `SELECT * FROM read_csv('${path}', ${options}, allow_quoted_nulls = false, auto_detect = false)`,
        );
        expect(await rowsOf([bytes], width)).toEqual(theirs);
      }),
      { numRuns: runsOf("FILE_RUNS", 150) },
    );
    duckdb.close();
  });

  it("may be longer than any piece", async () => {
    const long = "x".repeat(300_000);
    const bytes = bytesOfText(`c0,c1\n${long},"${long}"\n1,2\n`);
    expect(await rowsOf(pieces(bytes, [1000]), 2)).toEqual([
      [long, long],
      ["1", "2"],
    ]);
  });
});

it("memory holds the records of a batch, however long the file is", async () => {
  const piece = bytesOfText("1,one\n".repeat(5000));
  let left = 200;
  const next = async () => ({ done: left-- === 0, value: piece });
  const form = { name: "test", delimiter: ",", quote: '"', maxLength: 1e6 };
  const records = new CsvRecords({ next } as AsyncIterator<Uint8Array>, form);
  let count = 0;
  for (;;) {
    await records.fill(8192);
    const { recordCount, bytes, forms } = records.take(8192);
    if (recordCount === 0) break;
    count += recordCount;
    expect(bytes.length).toBeLessThan(2 ** 19);
    expect(forms.length).toBeLessThan(2 ** 16);
  }
  expect(count).toBe(1_000_000);
});

/** Returns the records after the header, without empty lines; null for a text that csv-parse or the width refuses. */
function recordsOfPeer(bytes: Uint8Array): string[][] | null {
  let records: string[][];
  try {
    records = parse(bytes, { bom: true, record_delimiter: ["\r\n", "\n", "\r"], relax_column_count: true });
  } catch {
    return null;
  }
  const others = records.slice(1).filter((record) => record.length > 1 || record[0] !== "");
  return others.every(({ length }) => length === 2) ? others : null;
}
