/** CSV in and out: forms of the file, types, and errors that name line, row and column. */

import * as arrow from "apache-arrow";
import { InvalidInputError, TableSchemaValidationError } from "tiltyard";
import { type ReadCsvOptions, readCsv, type WriteCsvOptions, writeCsv } from "tiltyard/files";
import { describe, expect, it } from "vitest";
import { fieldOf } from "../support/arrowColumns.js";
import { sharedNamespace } from "../support/fixtures.js";
import { bytesOfText, rejection, textTarget } from "./support.js";

const namespace = sharedNamespace();

const batchesOf = async (text: string, options?: ReadCsvOptions) => {
  const batches: arrow.RecordBatch[] = [];
  for await (const batch of readCsv(bytesOfText(text), options)) batches.push(batch);
  return batches;
};

/** Types and rows of a file, as JSON. */
const read = async (text: string, options?: ReadCsvOptions) => {
  const table = new arrow.Table(await batchesOf(text, options));
  const types = Object.fromEntries(table.schema.fields.map(({ name, type }) => [name, `${type}`]));
  const rows = table.toArray().map((row) => Object.values(row.toJSON()));
  return { types, rows };
};

const written = async (rows: object[] | arrow.Table, options?: WriteCsvOptions) => {
  const { target, text } = textTarget();
  const result = await writeCsv(rows, target, options);
  expect(result.byteCount).toBe(bytesOfText(text()).byteLength);
  return text();
};

describe("types without a schema", () => {
  it.each([
    ["true\nFALSE", "Bool", [true, false]],
    ["1\n-9223372036854775808", "Int64", [1n, -9223372036854775808n]],
    ["9223372036854775808\n1", "Float64", [2 ** 63, 1]],
    ["1.5\n-2e3\nNaN", "Float64", [1.5, -2000, Number.NaN]],
    ["01234\n99999", "Utf8", ["01234", "99999"]],
    ["2024-03-10\n1969-12-31", "Date32<DAY>", [Date.UTC(2024, 2, 10), -86_400_000]],
    ["2024-02-30", "Utf8", ["2024-02-30"]],
    ["2024-03-10 10:00:00", "Timestamp<MICROSECOND>", [Date.UTC(2024, 2, 10, 10)]],
    ["2024-03-10T10:00:00+01:00", "Timestamp<MICROSECOND, UTC>", [Date.UTC(2024, 2, 10, 9)]],
    ["2024-03-10T10:00:00Z\n2024-03-10", "Utf8", ["2024-03-10T10:00:00Z", "2024-03-10"]],
    ["a\n1", "Utf8", ["a", "1"]],
    [",\n,", "Utf8", [null, null]],
  ])("%j is of type %s", async (texts, type, values) => {
    const lines = texts.split("\n").map((text) => (text === "," ? ",x" : `${text},x`));
    const { types, rows } = await read(`c,x\n${lines.join("\n")}`);
    expect(types.c).toBe(type);
    expect(rows.map(([value]) => value)).toEqual(values);
  });

  it("come from a later row while a column has only nulls", async () => {
    const text = `a,b\n${"1,\n".repeat(20_000)}1,2.5\n`;
    expect((await batchesOf(text))[0].schema.fields.map(({ type }) => `${type}`)).toEqual([
      "Int64",
      "Float64",
    ]);
  });

  it("are named in the error for a later row that does not fit", async () => {
    const error = await rejection(batchesOf(`a\n${"1\n".repeat(50_000)}x\n`));
    expect(error).toBeInstanceOf(TableSchemaValidationError);
    expect((error as Error).message).toMatch(
      /^row 50000 \(line 50002\), column a: the text "x" where a value of type Int64 is wanted; the types are those of the first \d+ rows; pass a schema$/,
    );
  });
});

describe("the form of a file", () => {
  it("has delimiter, quote and names of the caller", async () => {
    expect(await read("1|'a|''b'\n2|c", { delimiter: "|", quote: "'", header: ["n", "t"] })).toEqual({
      types: { n: "Int64", t: "Utf8" },
      rows: [
        [1n, "a|'b"],
        [2n, "c"],
      ],
    });
    expect((await read("1,2", { header: false })).types).toEqual({ column0: "Int64", column1: "Int64" });
  });

  it("may have any line ends, a byte order mark and empty lines", async () => {
    const { rows } = await read('\ufeffa,b\r\n1,"x\r\ny"\r\n\r\n2,z\n3,""\r4,');
    expect(rows).toEqual([
      [1n, "x\r\ny"],
      [2n, "z"],
      [3n, ""],
      [4n, null],
    ]);
  });

  it("tells an empty text from a null by its quotes, also after quotes and characters of several bytes", async () => {
    const { rows } = await read('\ufeffa,b,c\n"é""😀","",\n,"",x\n"a\n""",,""', { nullValues: ["", "é"] });
    expect(rows).toEqual([
      ['é"😀', "", null],
      [null, "", "x"],
      ['a\n"', null, ""],
    ]);
    expect((await read('a,b\n"NA",NA\n', { nullValues: ["NA"] })).rows).toEqual([["NA", null]]);
  });

  it("has nulls in quotes only in columns of text", async () => {
    expect((await read('a,b\n"1","x"\n"",""')).rows).toEqual([
      [1n, "x"],
      [null, ""],
    ]);
  });

  it("may have one column with nulls", async () => {
    expect((await read("a\n1\n\n2\n")).rows).toEqual([[1n], [null], [2n]]);
  });

  it("gives one empty batch if it has only names", async () => {
    const batches = await batchesOf("a,b\n");
    expect(batches.map(({ numRows, schema }) => [numRows, schema.fields.length])).toEqual([[0, 2]]);
  });

  it("decides the size of batches with batchRows", async () => {
    const batches = await batchesOf("a\n1\n2\n3\n", { batchRows: 2 });
    expect(batches.map(({ numRows }) => numRows)).toEqual([2, 1]);
  });
});

describe("a file for a table", () => {
  const schema = new arrow.Schema([
    fieldOf("id", new arrow.Int64()),
    fieldOf("small", new arrow.Int16()),
    fieldOf("f", new arrow.Float32()),
    fieldOf("ok", new arrow.Bool()),
    fieldOf("price", new arrow.Decimal(2, 9)),
    fieldOf("day", new arrow.DateDay()),
    fieldOf("at", new arrow.TimestampMillisecond("UTC")),
    fieldOf("bytes", new arrow.Binary()),
    fieldOf("tags", new arrow.List(fieldOf("item", new arrow.Utf8()))),
    fieldOf("v", new arrow.FixedSizeList(2, fieldOf("item", new arrow.Float32()))),
  ]);

  it("is fitted to the columns that it names, in inserts and merges", async () => {
    const table = namespace.table("fitted");
    await table.create([], { schema });
    const text = [
      "price,id,ok,small,f,day,at,bytes,tags,v",
      '12.3,9007199254740993,1,-3,inf,2024-03-10,2024-03-10T10:00:00+01:00,AQI=,"[""a"",null]","[1,2.5]"',
      ",2,,,,,,,,",
    ].join("\n");
    await table.insert(readCsv(bytesOfText(text)));
    const full = {
      id: 9007199254740993n,
      small: -3,
      f: Number.POSITIVE_INFINITY,
      ok: true,
      price: "12.30",
      day: new Date("2024-03-10"),
      at: new Date("2024-03-10T09:00:00Z"),
      bytes: Uint8Array.of(1, 2),
      tags: ["a", null],
      v: Float32Array.of(1, 2.5),
    };
    const empty = Object.fromEntries(Object.keys(full).map((name) => [name, null]));
    expect(await table.scan().toArray()).toEqual([full, { ...empty, id: 2n }]);
    await table.mergeInsert("id", readCsv(bytesOfText("small,id\n7,2\n8,3\n")), {
      whenMatchedUpdateAll: true,
      whenNotMatchedInsertAll: true,
    });
    expect(
      await table.scan({ columns: ["id", "small"], orderBy: [{ columnName: "small" }] }).toArray(),
    ).toEqual([
      { id: 9007199254740993n, small: -3 },
      { id: 2n, small: 7 },
      { id: 3n, small: 8 },
    ]);
  });

  it("without names has the table's columns in order", async () => {
    const table = namespace.table("ordered");
    await table.create([], { schema: new arrow.Schema(schema.fields.slice(0, 2)) });
    await table.insert(readCsv(bytesOfText("5,6\n"), { header: false }));
    expect(await table.scan().toArray()).toEqual([{ id: 5n, small: 6 }]);
    const error = await rejection(table.insert(readCsv(bytesOfText("5,6,7\n"), { header: false })));
    expect((error as Error).message).toBe(
      "readCsv: the file has 3 columns without names, but 2 are wanted: id, small",
    );
  });

  it("makes a table with the schema of the request, and null columns that it lacks", async () => {
    const table = namespace.table("made");
    await table.create(readCsv(bytesOfText("small\n5\n")), {
      schema: new arrow.Schema(schema.fields.slice(0, 2)),
    });
    expect(await table.scan().toArray()).toEqual([{ id: null, small: 5 }]);
  });

  it.each([
    [
      "id,small\n1,2\n3,x\n",
      'row 1 (line 3), column small: the text "x" where a value of type Int16 is wanted',
    ],
    ["id,small\n1,40000\n", "row 0 (line 2), column small: 40000 where a value of type Int16 is wanted"],
    ["id,small\n1.5,1\n", "row 0 (line 2), column id: 1.5 where a value of type Int64 is wanted"],
    ['tags\n"[1]"\n', "row 0 (line 2), column tags[]: 1 where a value of type Utf8 is wanted"],
    ['tags\n"[1"\n', 'row 0 (line 2), column tags: the text "[1" where a value of type List<Utf8> is wanted'],
    [
      "id,other\n1,2\n",
      "readCsv: there is no column other; the columns are id, small, f, ok, price, day, at, bytes, tags, v",
    ],
  ])("changes nothing if it does not fit: %j", async (text, message) => {
    const table = namespace.table("unchanged");
    if (!(await namespace.listTables({ id: [] })).tables.includes("unchanged"))
      await table.create([], { schema });
    const version = await table.version();
    const error = await rejection(table.insert(readCsv(bytesOfText(text))));
    expect(error).toBeInstanceOf(TableSchemaValidationError);
    expect((error as Error).message).toBe(message);
    expect(await table.version()).toBe(version);
  });
});

it("a text with a carriage return stays in its row", async () => {
  const text = await written([{ a: "x\ry", b: "z" }]);
  expect(text).toBe('a,b\n"x\ry",z\n');
  expect((await read(text)).rows).toEqual([["x\ry", "z"]]);
});

describe("an empty file", () => {
  it("replaces no rows, because even its header is missing", async () => {
    const table = namespace.table("replaced");
    const schema = new arrow.Schema([new arrow.Field("id", new arrow.Int64())]);
    await table.create([{ id: 1n }], { schema });
    const replacing = table.insert(readCsv(bytesOfText("")), { mode: "Overwrite" });
    expect((await rejection(replacing)) as Error).toMatchObject({ name: "InvalidInputError" });
    const typed = table.insert(readCsv(bytesOfText(""), { schema }), { mode: "Overwrite" });
    expect((await rejection(typed)) as Error).toMatchObject({ name: "InvalidInputError" });
    expect(await table.countRows()).toBe(1);
  });
});

describe("a hostile file", () => {
  it.each([
    ["", "readCsv: the file is empty: it names no columns"],
    ["a,a\n1,2", "readCsv: line 1: two columns are named a"],
    [",b\n1,2", "readCsv: line 1: column 1 has no name; pass header: [names]"],
    ["a,b\n1,2\n3\n", "readCsv: line 3: 1 value in a file of 2 columns"],
    ["a\n1,2\n", "readCsv: line 2: 2 values in a file of 1 columns"],
    ['a,b\n1,"2\n3,4', /^readCsv: the file ends inside a quoted value/],
    ['a,b\n1,"2"x\n', /^readCsv: line 2: text follows the closing quote/],
    ['a,b\n1,2"x"\n', /^readCsv: line 2: a quote stands inside a value/],
  ])("gives a typed error: %j", async (text, message) => {
    const error = await rejection(batchesOf(text));
    expect(error).toBeInstanceOf(InvalidInputError);
    expect((error as Error).message).toMatch(
      typeof message === "string" ? new RegExp(`^${escaped(message)}$`) : message,
    );
  });

  it("with half a million columns is refused at once for a name that it repeats", async () => {
    const names = Array.from({ length: 500_000 }, (_, index) => `c${index}`);
    const started = performance.now();
    const error = await rejection(drain(readCsv(bytesOfText(`${names},c499999\n`))));
    expect((error as Error).message).toBe("readCsv: line 1: two columns are named c499999");
    expect(performance.now() - started).toBeLessThan(20_000);
  });

  it("with a number beyond float64 is refused, or has texts", async () => {
    const schema = new arrow.Schema([new arrow.Field("a", new arrow.Float64())]);
    const error = await rejection(batchesOf("a\n1\n1e400\n", { schema }));
    expect((error as Error).message).toMatch(/^row 1 \(line 3\), column a: the text "1e400" where/);
    const { rows } = await read("a\n1\n1e400\n");
    expect(rows).toEqual([["1"], ["1e400"]]);
  });

  it("gives a typed error for bytes that are not UTF-8", async () => {
    const bytes = new Uint8Array([...bytesOfText("a\n1\n"), 0xff, 0x0a]);
    const error = await rejection(drain(readCsv(bytes)));
    expect((error as Error).message).toBe(
      "readCsv: bytes 4 to 6 of the file are not UTF-8, the only encoding that is read",
    );
  });

  it.each(["a\nx", 'a\n"x'])("ends with an error at a record that never ends: %j", async (start) => {
    let given = 0;
    const source = (function* () {
      yield bytesOfText(start);
      for (;;) {
        given++;
        yield new Uint8Array(65_536).fill(0x61);
      }
    })();
    const error = await rejection(drain(readCsv(source, { maxRecordLength: 200_000 })));
    expect(error).toBeInstanceOf(InvalidInputError);
    expect((error as Error).message).toContain("is longer than 200000 bytes; set maxRecordLength to take it");
    expect(given).toBeLessThan(6);
  });

  it.each([
    [{ delimiter: ",," }, "readCsv.delimiter: must be one ASCII character, not "],
    [{ delimiter: '"' }, "readCsv.quote: must differ from the delimiter"],
    [{ header: 1 }, "readCsv.header: must be a list of texts, not 1"],
    [{ batchRows: 0 }, "readCsv.batchRows: must be a whole number above 0, not 0"],
    [{ seperator: ";" }, "readCsv.seperator: there is no such option"],
    [{ schema: "a" }, "readCsv.schema: must be an Arrow schema"],
  ])("refuses the options %j", (options, message) => {
    expect(() => readCsv(bytesOfText("a\n1"), options as object)).toThrowError(message);
  });
});

describe("written CSV", () => {
  it("quotes what needs it, and tells empty texts from nulls", async () => {
    const rows = [
      { a: 'x"y', b: "l\n", c: "," },
      { a: "", b: null, c: " s " },
    ];
    expect(await written(rows)).toBe('a,b,c\n"x""y","l\n",","\n"",, s \n');
    const schema = new arrow.Schema(["a", "b", "c"].map((name) => fieldOf(name, new arrow.Utf8())));
    expect(await written(rows.slice(1), { schema, header: false, delimiter: ";", quote: "'" })).toBe(
      "'';; s \n",
    );
  });

  it("has numbers, dates, bytes and nested values as the reader takes them", async () => {
    const rows = [
      {
        i: 2n ** 62n,
        f: -0,
        n: Number.NaN,
        d: new Date(0),
        b: Uint8Array.of(255),
        l: ["a", null],
        s: { x: 1n, y: 2n ** 62n },
      },
    ];
    expect(await written(rows)).toBe(
      'i,f,n,d,b,l,s\n4611686018427387904,-0,NaN,1970-01-01T00:00:00Z,/w==,"[""a"",null]","{""x"":1,""y"":""4611686018427387904""}"\n',
    );
  });

  it("guards texts that spreadsheets run, if told", async () => {
    const rows = [
      { t: "=1+1", n: -5 },
      { t: "@x", n: 1 },
    ];
    expect(await written(rows)).toBe("t,n\n=1+1,-5\n@x,1\n");
    expect(await written(rows, { formulas: "escape" })).toBe("t,n\n'=1+1,-5\n'@x,1\n");
  });

  it("names the columns of an empty scan", async () => {
    const table = namespace.table("none");
    await table.create([{ a: 1 }]);
    const { target, text } = textTarget();
    expect(await writeCsv(table.scan({ filter: "a > 1" }), target)).toEqual({ rowCount: 0, byteCount: 2 });
    expect(text()).toBe("a\n");
  });
});

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

async function drain(rows: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of rows);
}
