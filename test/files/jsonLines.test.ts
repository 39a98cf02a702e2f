/** JSON lines in and out: lines, types, and errors that name line, row and column. */

import * as arrow from "apache-arrow";
import { InvalidInputError, TableSchemaValidationError } from "tiltyard";
import { readJsonLines, writeJsonLines } from "tiltyard/files";
import { describe, expect, it } from "vitest";
import { fieldOf } from "../support/arrowColumns.js";
import { sharedNamespace } from "../support/fixtures.js";
import { batchesOf, bytesOfText, rejection, textTarget } from "./support.js";

const namespace = sharedNamespace();

const rowsOf = async (text: string) =>
  new arrow.Table(await batchesOf(readJsonLines(bytesOfText(text)))).toArray().map((row) => row.toJSON());

describe("a file of JSON lines", () => {
  it("has inferred types, and may have blank lines, any line ends and a byte order mark", async () => {
    expect(await rowsOf('\ufeff{"a":1,"b":"é"}\r\n\n  \n{"b":null,"a":2}')).toEqual([
      { a: 1, b: "é" },
      { a: 2, b: null },
    ]);
  });

  it("with a number beyond float64 is refused", async () => {
    const error = await rejection(rowsOf('{"a":[1]}\n{"a":[2,1e400]}'));
    expect((error as Error).message).toMatch(/^row 1, column a\[\]: the number is beyond the range of type/);
  });

  it("may come in pieces of any length", async () => {
    const bytes = bytesOfText('{"a":"é😀"}\n\n{"a":"x"}\n');
    for (const length of [1, 2, 3, 5, 7]) {
      const pieces = (async function* () {
        for (let start = 0; start < bytes.length; start += length)
          yield bytes.subarray(start, start + length);
      })();
      const [batch] = await batchesOf(readJsonLines(pieces));
      expect(batch.toArray().map((row) => row.a)).toEqual(["é😀", "x"]);
    }
  });

  it("is fitted to the columns of a table, in inserts and merges", async () => {
    const table = namespace.table("visits");
    const schema = new arrow.Schema([
      fieldOf("n", new arrow.Int64()),
      fieldOf("at", new arrow.TimestampMicrosecond("UTC")),
      fieldOf("b", new arrow.Binary()),
    ]);
    await table.create([], { schema });
    await table.insert(
      readJsonLines(bytesOfText('{"n":"9007199254740993","at":"2024-03-10T10:00:00Z","b":"AQ=="}')),
    );
    await table.mergeInsert("n", readJsonLines(bytesOfText('{"n":7,"b":null}')), {
      whenNotMatchedInsertAll: true,
    });
    expect(await table.scan({ orderBy: [{ columnName: "n" }] }).toArray()).toEqual([
      { n: 7n, at: null, b: null },
      { n: 9007199254740993n, at: new Date("2024-03-10T10:00:00Z"), b: Uint8Array.of(1) },
    ]);
    const version = await table.version();
    const error = await rejection(table.insert(readJsonLines(bytesOfText('{"n":1}\n{"n":1.5}'))));
    expect(error).toBeInstanceOf(TableSchemaValidationError);
    expect((error as Error).message).toBe("row 1, column n: 1.5 where a value of type Int64 is wanted");
    expect(await table.version()).toBe(version);
  });

  it("may be empty for a table or with a schema, and adds no rows", async () => {
    const table = namespace.table("visits2");
    await table.create(readJsonLines(bytesOfText("")), {
      schema: new arrow.Schema([fieldOf("a", new arrow.Int8())]),
    });
    expect(await table.insert(readJsonLines(bytesOfText("\n")))).toMatchObject({ numInsertedRows: 0 });
    expect((await rejection(rowsOf(""))) as Error).toMatchObject({
      message: "there are no rows, and no schema: the input is empty",
    });
  });

  it("has small batches if its rows are large", async () => {
    const line = bytesOfText(`{"t":"${"x".repeat(3e6)}"}\n`);
    const lines = (function* () {
      for (let index = 0; index < 20; index++) yield line;
    })();
    let rows = 0;
    for await (const batch of readJsonLines(lines)) {
      expect(batch.numRows).toBeLessThan(8);
      rows += batch.numRows;
    }
    expect(rows).toBe(20);
  });

  it.each([
    ['{"a":1}\n\n{"a":', /^readJsonLines: line 3: /],
    ['{"a":1}\n[1]', /^readJsonLines: line 2 is an array, not an object$/],
    ["null", /^readJsonLines: line 1 is null, not an object$/],
    ['{"a":1}\n"x"', /^readJsonLines: line 2 is a string, not an object$/],
    ["{}", /^the rows have no members/],
  ])("gives a typed error if it is wrong: %j", async (text, message) => {
    const error = await rejection(rowsOf(text));
    expect(error).toBeInstanceOf(InvalidInputError);
    expect((error as Error).message).toMatch(message);
  });

  it("ends with an error at a line that never ends", async () => {
    const source = (function* () {
      yield bytesOfText('{"a":1}\n{"b":"');
      for (;;) yield new Uint8Array(65_536).fill(0x61);
    })();
    const error = await rejection(batchesOf(readJsonLines(source, { maxRecordLength: 200_000 })));
    expect(error).toBeInstanceOf(InvalidInputError);
    expect((error as Error).message).toBe(
      "readJsonLines: line 2 is longer than 200000 characters; set maxRecordLength to take it",
    );
  });

  it("gives a typed error for bytes that are not UTF-8", async () => {
    const error = await rejection(batchesOf(readJsonLines(Uint8Array.of(0x22, 0xc3))));
    expect(error).toBeInstanceOf(InvalidInputError);
    expect((error as Error).message).toContain("the last bytes of the file are not UTF-8");
  });
});

describe("written JSON lines", () => {
  it("map values as JSON over HTTP does", async () => {
    const { target, text } = textTarget();
    const rows = [
      {
        n: 2n ** 62n,
        m: 5n,
        f: Number.NaN,
        at: new Date(0),
        b: Uint8Array.of(255),
        v: Float32Array.of(1, 2.5),
      },
    ];
    expect(await writeJsonLines(rows, target)).toEqual({
      rowCount: 1,
      byteCount: bytesOfText(text()).length,
    });
    expect(text()).toBe(
      '{"n":"4611686018427387904","m":5,"f":null,"at":"1970-01-01T00:00:00Z","b":"/w==","v":[1,2.5]}\n',
    );
    const texts = textTarget();
    await writeJsonLines([{ f: Number.NaN }], texts.target, { nonFinite: "text" });
    expect(texts.text()).toBe('{"f":"NaN"}\n');
  });

  it("are empty for an empty scan", async () => {
    const table = namespace.table("none");
    await table.create([{ a: 1 }]);
    const { target, text } = textTarget();
    expect(await writeJsonLines(table.scan({ filter: "a > 1" }), target)).toEqual({
      rowCount: 0,
      byteCount: 0,
    });
    expect(text()).toBe("");
  });
});
